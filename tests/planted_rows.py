"""A table with keys of its own and twelve faults, and the ontology that tells them."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import shiq as command

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD = "http://www.w3.org/2001/XMLSchema#"
TBOX = (
    "Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>) Declaration(Class(<urn:C>)) Declaration(ObjectProperty(<urn:r>)) "
    f"DataPropertyRange(<urn:n> <{XSD}integer>) Declaration(DataProperty(<urn:n>)) FunctionalDataProperty(<urn:n>))"
)
Row = tuple[int, str | None, str | None, str | None, str | None, bytes | None]
GOOD: list[Row] = [
    (1, "<urn:b>", TYPE, "<urn:A>", None, b"x"),
    (2, "<urn:b>", TYPE, "<urn:A>", None, None),  # says the same again
    (3, "<urn:b>", "<urn:r>", "_:x", "<urn:g>", b"y"),
    (4, "_:x", "<urn:n>", f'"7"^^<{XSD}integer>', None, b"z"),
    (5, "<urn:c>", TYPE, "<urn:C>", "", b""),
]
#: Each with the cause, or how that of its conflict begins.
FAULTS: list[tuple[Row, str]] = [
    ((11, "<urn:a>", TYPE, "<urn:A>", None, b"1"), "cax-dw-"),  # contradicts the base
    ((12, "<urn:a>", TYPE, "<urn:A>", "<urn:g>", b"2"), "cax-dw-"),  # in another graph again
    ((13, "<urn:e>", TYPE, "<urn:A>", None, b"3"), "cax-dw-"),  # contradicts the next one
    ((14, "<urn:e>", TYPE, "<urn:B>", None, b"4"), "cax-dw-"),
    ((15, "<urn:f>", "<urn:n>", f'"seven"^^<{XSD}integer>', None, b"5"), "dt-not-type-"),
    ((16, None, TYPE, "<urn:A>", None, b"6"), "malformed"),
    ((17, "<urn:c>", "<urn:r>", None, None, b"7"), "malformed"),
    ((18, "<urn:c", TYPE, "<urn:A>", None, b"8"), "malformed"),
    ((19, "<urn:c>", "<urn:n>", '"7', None, b"9"), "malformed"),
    ((20, "<urn:c>", "<urn:rr>", "<urn:b>", None, b"10"), "undeclared"),
    ((21, "<urn:c>", TYPE, "<urn:A>", "g", b"11"), "malformed"),
    ((22, "<urn:c>", "<urn:r>", '"b"', None, b"12"), "malformed"),
]
ROWS = [*GOOD[:3], *(row for row, _ in FAULTS), *GOOD[3:]]
COLUMNS = ("id", "s", "p", "o", "graph", "raw")


def store_in(folder: Path) -> Path:
    """A store of one assertion, which the first fault contradicts."""
    (folder / "t.ofn").write_text(TBOX)
    (folder / "a.nt").write_text(f"<urn:a> {TYPE} <urn:B> .\n")
    assert (
        command(
            "index", "--tbox", folder / "t.ofn", folder / "a.nt", "--store", folder / "kg", "-q"
        ).returncode
        == 0
    )
    return folder / "kg"

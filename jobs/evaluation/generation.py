"""What the generators of benchmark data share: how the data is written, counted and reported."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from shiq.functional import parse_functional
from shiq.model import RDF, XSD, Axiom

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TripleCounts:
    """Triples by kind, of N-Triples lines whose literals are plain strings."""

    triples: int = 0
    class_assertions: int = 0
    data_assertions: int = 0

    @property
    def role_assertions(self) -> int:
        return self.triples - self.class_assertions - self.data_assertions

    def plus(self, lines: list[str]) -> TripleCounts:
        """With what ``lines`` say."""
        classes, data = (
            sum(RDF_TYPE in line for line in lines),
            sum(line.endswith('" .\n') for line in lines),
        )
        return TripleCounts(
            self.triples + len(lines), self.class_assertions + classes, self.data_assertions + data
        )


@dataclass(frozen=True, kw_only=True)
class GenerationReport(TripleCounts):
    """What a generator wrote. Counts are of distinct triples; the ``culprits`` are among the
    ``insertions``.
    """

    out: Path
    departments: int
    files: tuple[str, ...]
    seconds: float
    insertions: int = 0
    faults: int = 0
    culprits: int = 0


def write_triples(
    path: Path, parts: Iterable[list[str]], total: int, progress: Progress | None
) -> TripleCounts:
    """Writes N-Triples lines part by part, gzipped: the same bytes for the same lines, with the
    same zlib.
    """
    counts = TripleCounts()
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0) as file,
    ):
        for done, lines in enumerate(parts, 1):
            file.write("".join(lines).encode())
            counts = counts.plus(lines)
            if progress is not None:
                progress(done, total)
    return counts


def stated(namespace: str, axioms: Iterable[str]) -> tuple[Axiom, ...]:
    """``axioms`` in functional syntax, in which ``:`` stands for ``namespace``."""
    text = f"Prefix(:=<{namespace}>) Prefix(xsd:=<{XSD}>) Ontology({' '.join(axioms)})"
    return parse_functional(text, namespace, "").tbox.axioms

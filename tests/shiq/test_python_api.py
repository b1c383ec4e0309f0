"""What `import shiq` gives: calls, inputs of every kind, and results as they are shown."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib

import shiq
from shiq.answers.display import COLUMNS
from shiq.testing import assert_consistent

ROOT = Path(__file__).resolve().parents[2]
TURTLE = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Cat a owl:Class ; owl:disjointWith :Dog ; rdfs:label "<cat>" . :Dog a owl:Class ."""
TBOX = shiq.TextInput(TURTLE)
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ROWS = [("<urn:t#tom>", TYPE, "<urn:t#Cat>"), ("<urn:t#tom>", TYPE, "<urn:t#Dog>")]
LINES = "".join(" ".join(row) + " .\n" for row in ROWS)


def of_rdflib() -> list[Any]:
    return list(rdflib.Graph().parse(data=LINES, format="nt"))


def of_pyoxigraph() -> list[Any]:
    return list(ox.parse(LINES, ox.RdfFormat.N_TRIPLES))


class Lazy:
    """As polars' LazyFrame is seen."""

    def collect(self) -> Any:
        import pyarrow

        return pyarrow.table({name: [row[i] for row in ROWS] for i, name in enumerate("spo")})


Lazy.__name__ = "LazyFrame"
BOTH = {
    "text": lambda: shiq.TextInput(LINES, "ntriples"),
    "binary file": lambda: io.BytesIO(LINES.encode()),
    "text file": lambda: io.StringIO(LINES),
    "list of texts": lambda: ROWS,
    "list of rdflib's terms": of_rdflib,
    "list of pyoxigraph's quads": of_pyoxigraph,
    "list of pyoxigraph's triples": lambda: [quad.triple for quad in of_pyoxigraph()],
    "lazy frame": Lazy,
}


@pytest.mark.parametrize("kind", BOTH)
def test_inputs_of_every_kind_say_the_same(kind: str) -> None:
    result = shiq.check_insertions(TBOX, None, BOTH[kind](), reasoner="own")
    (conflict,) = result.conflicts
    assert sorted(conflict.insertions) == sorted(" ".join(row) + " ." for row in ROWS)


def test_an_open_file_can_be_read_again(tmp_path: Path) -> None:
    """An index reads its inputs more than once."""
    with (tmp_path / "a.nt").open("w+") as file:
        file.write(LINES)
        file.seek(0)
        for _ in range(2):
            assert shiq.certify(TBOX, file, reasoner="own").verdict.value == "inconsistent"
    reader = io.BufferedReader(Once(b""))
    with pytest.raises(shiq.InputError, match="gave no byte"):
        shiq.certify(TBOX, reader, reasoner="own")


class Once(io.BytesIO, io.RawIOBase):  # type: ignore[misc]
    """A stream that cannot go back."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "an input has an empty name"),
        (TURTLE, "a text where a path is expected"),
        (3, "a builtins.int is not a source"),
        ([("a", 3, "b")], "holds what is no term"),
        ([(*ROWS[0],), (*ROWS[0], "<urn:g>")], "triples and quads"),
        (shiq.TextInput("", "n3"), "unknown format 'n3'"),
    ],
)
def test_what_is_no_input_is_refused(given: Any, message: str) -> None:
    with pytest.raises(shiq.ShiqError, match=message):
        shiq.check_insertions(TBOX, None, given)


def test_terms_without_marks_are_not_passed_over() -> None:
    result = shiq.check_insertions(TBOX, None, [("urn:t#tom", "a", "urn:t#Cat")], reasoner="own")
    assert result.verdict.value == "undetermined"


def test_time_that_is_none_is_refused() -> None:
    for seconds in (0, -1):
        with pytest.raises(shiq.UsageError, match="is not possible"):
            shiq.check_insertions(TBOX, None, ROWS, timeout=seconds)


def test_results_are_shown() -> None:
    result = shiq.check_insertions(TBOX, None, ROWS, reasoner="own")
    assert repr(result) == "<Result inconsistent: 1 conflict of 1 cause>"
    page = result._repr_html_()
    assert "INCONSISTENT" in page and "&lt;cat&gt;" in page and "<cat>" not in page
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    frame = result.to_pandas()
    assert list(frame.columns) == list(COLUMNS) and len(frame) == 1
    clean = shiq.check_insertions(TBOX, None, ROWS[:1], reasoner="own")
    assert repr(clean) == "<Result consistent>" and len(clean.to_pandas()) == 0


def test_causes_are_in_the_message() -> None:
    result = shiq.check_insertions(TBOX, None, ROWS, reasoner="own")
    with pytest.raises(shiq.NotConsistent, match="nothing can be both") as raised:
        result.raise_for_verdict()
    assert isinstance(raised.value, shiq.ShiqError) and raised.value.result is result
    with pytest.raises(AssertionError, match="nothing can be both"):
        assert_consistent(result)
    assert_consistent(TBOX, ROWS[:1], reasoner="own")


def test_calls_of_stores(tmp_path: Path) -> None:
    store = tmp_path / "kg"
    assert shiq.index(TBOX, ROWS[:1], store, reasoner="own").verdict.value == "consistent"
    assert shiq.check(ROWS[1:], store).verdict.value == "inconsistent"
    (tmp_path / "c.nt").write_text(
        (line := LINES.splitlines(keepends=True)[1]) + line.replace("tom", "eve")
    )
    with shiq.open_store(store) as session:
        assert repr(session) == f"<Session {store}: snapshot 1>"
        answer = shiq.gate(tmp_path / "c.nt", session)
        assert (answer.decision, len(answer.set_aside)) == ("split", 1)
        new = [("<urn:t#eve>", TYPE, "<urn:t#Cat>")]
        assert shiq.check(new, session, commit=True).committed == 2
    assert repr(session) == f"<Session {store}: closed>"
    shiq.report(answer, str(tmp_path / "gate.html"))
    shiq.report(shiq.check(ROWS[1:], store), str(tmp_path / "out/"), str(tmp_path / "a.md"))
    assert (tmp_path / "gate.html").stat().st_size > 1000
    assert (tmp_path / "out" / "verdict.json").is_file() and (tmp_path / "a.md").is_file()
    (tmp_path / "t.ttl").write_text(TURTLE)
    assert shiq.lint(tmp_path / "t.ttl").ledger["axiom"] == 1


def test_calls_stay_callable_whatever_is_imported() -> None:
    names = [
        m.name for m in pkgutil.iter_modules(shiq.__path__, "shiq.") if "__main__" not in m.name
    ]
    assert "shiq.api" in names
    for name in names:
        importlib.import_module(name)
    calls = [
        "check",
        "check_insertions",
        "index",
        "certify",
        "gate",
        "lint",
        "open_store",
        "report",
    ]
    assert [name for name in calls if not callable(getattr(shiq, name))] == []


@pytest.mark.slow
def test_what_is_no_input_fails_in_mypy(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import shiq\nshiq.check_insertions(1, 2, 3)\nshiq.check_insertions('t.ttl', None, [('a', 'b', 'c')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(tmp_path / "mine.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count("error:") == 3 and done.stdout.count("mine.py:2:") == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [("asides", "quarantine"), ("above", "checker_above"), ("left", "blocking_leftovers")],
)
def test_attributes_of_an_open_store_have_their_older_names(
    old: str, new: str, tmp_path: Path
) -> None:
    (tmp_path / "t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    (tmp_path / "a.nt").write_text(
        "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:A> .\n"
    )
    shiq.index(tmp_path / "t.ofn", tmp_path / "a.nt", tmp_path / "kg", reasoner="own")
    with shiq.open_store(tmp_path / "kg") as store:
        with pytest.warns(DeprecationWarning, match=f"Session.{new} now"):
            found = getattr(store, old)
        assert found == getattr(store, new)
        with pytest.raises(AttributeError, match="no attribute 'beside'"):
            store.beside  # noqa: B018

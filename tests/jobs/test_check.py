"""`check_insertions` and `open_store` as Python callers meet them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq import ABox, Verdict, check_insertions, open_store
from shiq.answers.result import NotConsistent
from shiq.api import index
from shiq.errors import InputError, UsageError
from shiq.model import (
    XSD,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DisjointClasses,
    Literal,
    ObjectIntersectionOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyRange,
    Signature,
    TBox,
)
from shiq.model.abox import abox_of

CAT, DOG, CHASES = Class("urn:t#Cat"), Class("urn:t#Dog"), ObjectProperty("urn:t#chases")
TBOX = TBox(
    (DisjointClasses((CAT, DOG)), ObjectPropertyRange(CHASES, CAT)),
    Signature(frozenset((CAT.iri, DOG.iri)), frozenset((CHASES.iri,))),
)
BASE = abox_of([ClassAssertion(CAT, "urn:t#tom"), ClassAssertion(DOG, "urn:t#rex")])
BAD = ObjectPropertyAssertion(CHASES, "urn:t#tom", "urn:t#rex")
LINE = "<urn:t#tom> <urn:t#chases> <urn:t#rex> ."


@pytest.mark.parametrize("engine", ["local", "spec"])
@pytest.mark.parametrize("criterion", ["clausal", "definition7", "none"])
def test_our_own_values(criterion: str, engine: str) -> None:
    result = check_insertions(
        TBOX, BASE, abox_of([BAD]), criterion=criterion, engine=engine, reasoner="own"
    )
    assert result.verdict is Verdict.INCONSISTENT
    [conflict] = result.conflicts
    assert conflict.insertions == (LINE,)
    assert len(conflict.axioms) == 2
    assert result.statistics.assertions == 2
    assert result.statistics.insertions == 1
    with pytest.raises(NotConsistent):
        result.raise_for_verdict()
    with pytest.raises(TypeError):
        bool(result.verdict)


def test_every_minimal_conflict_is_found_and_nothing_else_is_blamed() -> None:
    batch = abox_of(
        [
            BAD,
            ClassAssertion(DOG, "urn:t#x"),
            ClassAssertion(CAT, "urn:t#x"),
            ClassAssertion(CAT, "urn:t#y"),
            ObjectPropertyAssertion(CHASES, "urn:t#tom", "urn:t#x"),
        ]
    )
    result = check_insertions(TBOX, BASE, batch, reasoner="own")
    found = {frozenset(c.insertions) for c in result.conflicts}
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    dog, cat = f"<urn:t#x> {kind} <urn:t#Dog> .", f"<urn:t#x> {kind} <urn:t#Cat> ."
    chased = "<urn:t#tom> <urn:t#chases> <urn:t#x> ."
    assert found == {frozenset({LINE}), frozenset({dog, cat}), frozenset({dog, chased})}
    assert result.complete


def test_a_limit_on_conflicts_counts_the_rest() -> None:
    batch = abox_of(
        [
            c
            for i in range(5)
            for c in (ClassAssertion(CAT, f"urn:t#n{i}"), ClassAssertion(DOG, f"urn:t#n{i}"))
        ]
    )
    result = check_insertions(TBOX, BASE, batch, reasoner="own", max_conflicts=2)
    assert len(result.conflicts) == 2
    assert result.more_conflicts == 3
    assert not result.complete


def test_an_intersection_is_taken_apart_by_the_reasoner() -> None:
    batch = abox_of([ClassAssertion(ObjectIntersectionOf((CAT, DOG)), "urn:t#z")])
    assert check_insertions(TBOX, None, batch, reasoner="own").verdict is Verdict.INCONSISTENT


def test_rdflib_and_pyoxigraph(tmp_path: Path) -> None:
    import pyoxigraph
    import rdflib

    graph = rdflib.Graph()
    graph.parse(data=LINE, format="nt")
    assert check_insertions(TBOX, BASE, graph, reasoner="own").verdict is Verdict.INCONSISTENT
    store = pyoxigraph.Store()
    store.load(LINE.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert check_insertions(TBOX, BASE, store, reasoner="own").verdict is Verdict.INCONSISTENT
    path = tmp_path / "batch.nt"
    path.write_text(LINE + "\n")
    assert check_insertions(TBOX, BASE, [path], reasoner="own").verdict is Verdict.INCONSISTENT


def test_a_session_checks_several_batches(tmp_path: Path) -> None:
    assert index(TBOX, BASE, tmp_path / "kg", reasoner="own").verdict is Verdict.CONSISTENT
    with open_store(tmp_path / "kg") as session:
        good = abox_of([ObjectPropertyAssertion(CHASES, "urn:t#rex", "urn:t#tom")])
        assert session.check(good, reasoner="own").verdict is Verdict.CONSISTENT
        assert session.check(abox_of([BAD]), reasoner="own").verdict is Verdict.INCONSISTENT
        gone = abox_of([ClassAssertion(DOG, "urn:t#rex")])
        assert session.check(abox_of([BAD]), gone, reasoner="own").verdict is Verdict.CONSISTENT
        assert (
            check_insertions(None, session, abox_of([BAD]), reasoner="own").verdict
            is Verdict.INCONSISTENT
        )
        assert session.check(ABox(), reasoner="own").statistics.insertions == 0


def test_blank_nodes_of_batch_and_base_are_different(tmp_path: Path) -> None:
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    (tmp_path / "base.nt").write_text(f"_:b {kind} <urn:t#Cat> .\n")
    (tmp_path / "batch.nt").write_text(f"_:b {kind} <urn:t#Dog> .\n")
    result = check_insertions(TBOX, tmp_path / "base.nt", tmp_path / "batch.nt", reasoner="own")
    assert result.verdict is Verdict.CONSISTENT


def test_unknown_names_and_missing_files() -> None:
    with pytest.raises(UsageError, match="clausal"):
        check_insertions(TBOX, BASE, BASE, criterion="clausall")
    with pytest.raises(UsageError, match="own"):
        check_insertions(TBOX, BASE, BASE, reasoner="owm")
    with pytest.raises(InputError, match="nowhere"):
        check_insertions("nowhere.owl", BASE, BASE)


def test_importing_shiq_loads_nothing_heavy() -> None:
    heavy = "{'pyspark', 'py4j', 'pandas', 'numpy', 'pyarrow', 'deltalake', 'owlready2', 'rdflib'}"
    code = f"import sys, shiq; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_store_holds_no_literal_that_was_set_aside(tmp_path: Path) -> None:
    age = DataProperty("urn:t#age")
    tbox = TBox(
        TBOX.axioms,
        Signature(TBOX.signature.classes, TBOX.signature.object_properties, frozenset((age.iri,))),
    )
    bad = DataPropertyAssertion(age, "urn:t#tom", Literal("old", XSD + "integer"))
    base = abox_of([ClassAssertion(CAT, "urn:t#tom"), bad])
    assert (
        index(tbox, base, tmp_path / "kg", allow=("ill-typed",), reasoner="own").verdict
        is Verdict.CONSISTENT
    )
    with open_store(tmp_path / "kg") as session:
        result = session.check(
            abox_of(
                [
                    ClassAssertion(CAT, "urn:t#x"),
                    ObjectPropertyAssertion(CHASES, "urn:t#x", "urn:t#tom"),
                ]
            )
        )
    (told,) = result.evidence.leftovers
    assert (result.verdict, told.kind, told.agreed) == (Verdict.CONSISTENT, "ill-typed", True)
    with open_store(tmp_path / "kg") as session:
        result = session.check(
            abox_of([ClassAssertion(CAT, "urn:t#x")]), fail_on=("ill-typed",), reasoner="own"
        )
        assert (result.verdict, "ill-typed" in result.reason) == (Verdict.UNDETERMINED, True)

"""Repairs: verified, smallest, and read by others as they are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from command_line import shiq as run

import shiq
from shiq.answers.repair import RepairPlan
from shiq.answers.verdict import Verdict
from shiq.jobs.gate.answer import GateAnswer
from shiq.jobs.gate.decide import gate
from shiq.jobs.gate.repairing import gate_with_repair
from shiq.jobs.reports.repairs import update_text
from shiq.model import Assertion, Axiom, TBox
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.model.walk import signature_of
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.repairs import MOST_BRUTE, cases_of, repaired

TBOX = """Prefix(:=<urn:t#>)
Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(<urn:t>
DisjointClasses(:Cat :Dog)
FunctionalObjectProperty(:owner)
DisjointClasses(:Person :Shop)
DataPropertyRange(:age xsd:integer)
)
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "base.nt").write_text(
        f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n<urn:t#tom> <urn:t#owner> <urn:t#ann> .\n<urn:t#ann> {TYPE} <urn:t#Person> .\n"
    )
    (tmp_path / "i.nt").write_text(
        f"<urn:t#tom> {TYPE} <urn:t#Dog> .\n<urn:t#tom> <urn:t#owner> <urn:t#x> .\n<urn:t#x> {TYPE} <urn:t#Shop> .\n"
        '<urn:t#tom> <urn:t#age> "3" .\n'
    )
    return tmp_path


def check(folder: Path, **settings: object) -> shiq.Result:
    given = (str(folder / name) for name in ("t.ofn", "base.nt", "i.nt"))
    return shiq.check_insertions(*given, repairs=True, **settings)


def test_a_literal_is_spelt_anew_and_the_rest_is_removed(folder: Path) -> None:
    plan = check(folder).repairs
    assert plan is not None
    assert (plan.is_verified, plan.is_smallest, len(plan.changes)) == (True, True, 3)
    changed = [(x.side, x.places[0].line, x.added_lines) for x in plan.changes]
    three = '<urn:t#tom> <urn:t#age> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    assert changed == [
        ("insertions", 1, ()),
        ("insertions", 4, (three,)),
        ("insertions", 2, ()),
    ]


def test_others_apply_the_file(folder: Path) -> None:
    ended = run(
        "check", "-t", "t.ofn", "-a", "base.nt", "-i", "i.nt", "--repairs", "r.ru", cwd=folder
    )
    assert ended.returncode == 1
    assert "would be consistent with 3 changes (checked and no fewer would do):" in ended.stdout
    both = (folder / "base.nt").read_text() + (folder / "i.nt").read_text()
    store = ox.Store()
    store.load(input=both.encode(), format=ox.RdfFormat.N_TRIPLES)
    store.update((folder / "r.ru").read_text())
    mended = sorted(f"{quad.triple} ." for quad in store)
    (folder / "mended.nt").write_text("\n".join(mended) + "\n")
    assert run("certify", "t.ofn", "mended.nt", cwd=folder).returncode == 0
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=both, format="nt")
    graph.update((folder / "r.ru").read_text())
    assert sorted(graph.serialize(format="nt").split("\n")[:-1]) == mended
    own = shiq.update_changes(str(folder / "r.ru"))
    before = set(both.splitlines())
    read = {
        f"{quad.triple} ."
        for side in (own.deletions, own.insertions)
        for document in side
        for quad in ox.parse(document.text, format=ox.RdfFormat.TRIG)
    }
    assert read == {*mended} ^ before


@pytest.mark.parametrize("name", ["i.nt", "i.ttl"])
def test_the_gate_accepts_corrected_lines_and_keeps_them_as_they_came(
    folder: Path, name: str
) -> None:
    (folder / name).write_text((folder / "i.nt").read_text())
    assert run("index", "-t", "t.ofn", "--store", "kg", "base.nt", cwd=folder).returncode == 0
    sides = ("--accepted", "good.nt", "--quarantine", "bad.nt", "--repair", "least", "--commit")
    ended = run("gate", "--store", "kg", "-i", name, *sides, cwd=folder)
    assert ended.returncode == 5, ended.stdout
    good, bad, batch = (
        {*(folder / file).read_text().splitlines()} for file in ("good.nt", "bad.nt", "i.nt")
    )
    three = '<urn:t#tom> <urn:t#age> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    assert three in good
    assert good - {three} | bad == batch
    assert len(bad) == 3
    held = run("export", "--store", "kg", cwd=folder).stdout.splitlines()
    assert good <= {*held}
    why = json.loads((folder / "bad.nt.why.json").read_text())
    assert [x["kind"] for x in why["set_aside"]].count("corrected") == 1
    others = ("--accepted", "again.nt", "--quarantine", "none.nt", "--repair", "least")
    again = run("gate", "--store", "kg", "-i", "good.nt", *others, cwd=folder)
    assert again.returncode == 0


def test_what_is_consistent_needs_no_repair(folder: Path) -> None:
    (folder / "i.nt").write_text(f"<urn:t#rex> {TYPE} <urn:t#Dog> .\n")
    assert check(folder).repairs is None
    run("check", "-t", "t.ofn", "-a", "base.nt", "-i", "i.nt", "--repairs", "r.ru", cwd=folder)
    assert (folder / "r.ru").read_text() == "# No repair: base and batch are consistent.\n"


def test_without_an_explanation_there_is_none(folder: Path) -> None:
    plan = check(folder, explain_seconds=0).repairs
    assert plan is not None
    assert not plan.is_verified
    assert plan.reason


def test_leftovers_keep_a_repair_from_being_verified(folder: Path) -> None:
    with (folder / "i.nt").open("a") as file:
        file.write("<urn:t#tom> <urn:t#ownr> <urn:t#y> .\n")
    plan = check(folder, fail_on=["uninterpreted"]).repairs
    assert plan is not None
    assert not plan.changes
    assert "it is not decided whether the rest is consistent" in plan.reason


def test_an_ontology_that_contradicts_itself_has_no_repair(folder: Path) -> None:
    (folder / "t.ofn").write_text(
        "Prefix(:=<urn:t#>)\nOntology(<urn:t>\nDisjointClasses(:Cat :Dog)\n"
        "SubClassOf(owl:Thing :Cat)\nSubClassOf(owl:Thing :Dog)\n"
        "Declaration(Class(:Person))\nDeclaration(ObjectProperty(:owner))\n)\n"
    )
    plan = shiq.certify([folder / "t.ofn", folder / "base.nt"], repairs=True).repairs
    assert plan is not None
    assert plan.reason == "the ontology contradicts itself: no change of data mends it"


def test_a_blank_node_is_changed_where_it_stands(folder: Path) -> None:
    (folder / "i.nt").write_text(f"_:b {TYPE} <urn:t#Dog> .\n_:b {TYPE} <urn:t#Cat> .\n")
    plan = check(folder).repairs
    assert plan is not None
    text = update_text(plan)
    assert "# About a blank node" in text
    assert not [line for line in text.splitlines() if not line.startswith("#") and line]


def test_a_repair_names_the_graph(folder: Path) -> None:
    (folder / "i.nq").write_text(f"<urn:t#tom> {TYPE} <urn:t#Dog> <urn:g> .\n")
    result = shiq.check_insertions(
        folder / "t.ofn", folder / "base.nt", folder / "i.nq", repairs=True
    )
    assert result.repairs is not None
    assert (
        f"DELETE DATA {{ GRAPH <urn:g> {{ <urn:t#tom> {TYPE} <urn:t#Dog> . }} }} ;"
        in update_text(result.repairs)
    )


def test_a_graph_without_a_name_is_no_update(folder: Path) -> None:
    (folder / "i.nq").write_text(f"<urn:t#tom> {TYPE} <urn:t#Dog> _:g .\n")
    given = (folder / name for name in ("t.ofn", "base.nt", "i.nq"))
    plan = shiq.check_insertions(*given, repairs=True).repairs
    assert plan is not None
    text = update_text(plan)
    assert "# In a graph that is a blank node" in text
    ox.Store().update(text)
    assert all(line.startswith("#") for line in text.splitlines() if line)


def test_what_named_graphs_of_the_base_say_has_an_update_too(folder: Path) -> None:
    (folder / "base.nq").write_text(
        f"<urn:t#tom> {TYPE} <urn:t#Cat> <urn:g1> .\n<urn:t#tom> {TYPE} <urn:t#Cat> <urn:g2> .\n"
        f'<urn:t#tom> {TYPE} <urn:t#Dog> <urn:g3> .\n<urn:t#tom> <urn:t#age> "3" <urn:g4> .\n'
    )
    plan = shiq.certify([folder / "t.ofn", folder / "base.nq"], repairs=True).repairs
    assert plan is not None
    store = ox.Store()
    store.load(path=folder / "base.nq")
    lines = update_text(plan).splitlines()
    added = [line.removeprefix("# ") for line in lines if line.startswith("# DELETE { GRAPH ?g")]
    assert len(added) == len(plan.changes) == 2
    store.update("\n".join(added))
    (folder / "mended.nq").write_text("".join(f"{quad} .\n" for quad in store))
    assert shiq.certify([folder / "t.ofn", folder / "mended.nq"]).verdict is Verdict.CONSISTENT
    assert '"3"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:g4>' in {
        str(quad).split(" ", 2)[2] for quad in store
    }


def test_a_pair_of_a_list_is_changed_in_the_list(folder: Path) -> None:
    pairs = "".join(f":x{i} :owner :a, :b . " for i in range(3))
    (folder / "base.ttl").write_text(
        "@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        f"[] a owl:AllDifferent ; owl:distinctMembers ( :a :b :c ) . {pairs}\n"
    )
    plan = shiq.certify([folder / "t.ofn", folder / "base.ttl"], repairs=True).repairs
    assert plan is not None
    assert "differentFrom" in plan.changes[0].removed_lines[0]
    assert "# If an owl:AllDifferent says it, take one of the two out" in update_text(plan)


def test_a_batch_that_changes_between_the_two_runs_is_not_gated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = folder / "i.nt"
    batch.write_text(
        '<urn:t#ann> <urn:t#age> "3" .\n<urn:t#bob> <urn:t#owner> <urn:t#ann> .\n'
        "<urn:t#rex> <urn:t#owner> <urn:t#ann> .\n"
    )
    assert run("index", "-t", "t.ofn", "--store", "kg", "base.nt", cwd=folder).returncode == 0
    runs, delivered = list[GateAnswer](), list[GateAnswer]()

    def gate_then_write(*given: Any, **settings: Any) -> GateAnswer:
        runs.append(gate(*given, **settings))
        first, *others = batch.read_text().splitlines(keepends=True)
        batch.write_text("".join([*others, first]))
        return runs[-1]

    monkeypatch.setattr("shiq.jobs.gate.repairing.gate", gate_then_write)
    with (
        shiq.open_store(folder / "kg") as session,
        pytest.raises(shiq.InputError, match=r"i\.nt:1: changed while it was gated"),
    ):
        gate_with_repair(session, [str(batch)], deliver=delivered.append, commit=True)
    assert (len(runs), delivered) == (1, [])


def test_lines_of_a_document_are_found_again(folder: Path) -> None:
    (folder / "i.ttl").write_text(
        "@prefix : <urn:t#> .\n[] :age '3' , '4' . :tom a :Dog . [ :owner [ :age '5' ] ] a :Cat ."
    )
    assert run("index", "-t", "t.ofn", "--store", "kg", "base.nt", cwd=folder).returncode == 0
    with shiq.open_store(folder / "kg") as session:
        answer = gate_with_repair(session, [str(folder / "i.ttl")])
    kinds = sorted(row.kind for row in answer.set_aside)
    assert kinds == ["conflict", "corrected", "corrected", "corrected"]


@pytest.mark.parametrize("line", ["", '<urn:t#ann> <urn:t#age> "3" .\n'])
def test_an_undeclared_name_that_is_corrected_is_no_contradiction(folder: Path, line: str) -> None:
    (folder / "i.nt").write_text(
        f"<urn:t#ann> <urn:t#Owner> <urn:t#zed> .\n<urn:t#bob> <urn:t#owner> <urn:t#zed> .\n{line}"
    )
    assert run("index", "-t", "t.ofn", "--store", "kg", "base.nt", cwd=folder).returncode == 0
    with shiq.open_store(folder / "kg") as session:
        answer = gate_with_repair(session, [str(folder / "i.nt")])
    assert {row.kind for row in answer.set_aside} == {"corrected"}
    assert answer.verdict is (Verdict.INCONSISTENT if line else Verdict.UNDETERMINED)


def test_a_repair_of_an_inconsistent_base_says_that_it_is_not_for_the_batch(folder: Path) -> None:
    with (folder / "base.nt").open("a") as file:
        file.write('<urn:t#ann> <urn:t#age> "3" .\n')
    plan = check(folder).repairs
    assert plan is not None
    assert (plan.is_verified, plan.is_for_base, plan.to_dict()["scope"]) == (True, True, "base")
    assert {change.side for change in plan.changes} == {"base"}
    assert "the batch was not looked at" in update_text(plan).splitlines()[0]
    files = ("-a", "base.nt", "-i", "i.nt", "--repairs", "r.ru", "--json", "r.json")
    ended = run("check", "-t", "t.ofn", *files, cwd=folder)
    assert "the base alone would be consistent with 1 change (" in ended.stdout
    assert json.loads((folder / "r.json").read_text())["repairs"]["scope"] == "base"


def test_text_of_no_repair_is_one_comment() -> None:
    assert update_text(RepairPlan(reason="two\nlines")) == "# No repair: two lines.\n"


def decide_by_own(axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> bool | None:
    tbox = TBox(tuple(axioms), signature_of([*axioms, *assertions]))
    verdict = shiq.certify([tbox, abox_of(assertions)], reasoner="own", verdict_only=True).verdict
    return None if verdict is Verdict.UNDETERMINED else verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("seed", [12, 17, 20])
def test_random_bases(seed: int) -> None:
    cases = [case for case in cases_of(seed) if len(case.assertions) <= MOST_BRUTE]
    for case in cases:
        assert case.faults(decide_by_own) == []
    assert cases


def test_late_in_its_time_any_repair_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiq.jobs.checking.repairing.MOST_EXACT_ROUNDS", 0)
    for case in cases_of(20):
        assert case.plan.is_verified
        assert not case.plan.is_smallest
        assert decide_by_own(case.axioms, repaired(case.assertions, case.plan))


def test_removing_everything_is_no_repair_of_an_ontology() -> None:
    reasons = {case.plan.reason for case in cases_of(208)}
    assert reasons == {"the ontology contradicts itself: no change of data mends it"}


@pytest.mark.slow
@pytest.mark.jvm
def test_random_bases_by_hermit() -> None:
    hermit = HermitReasoner(timeout=20)

    def decide(axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> bool | None:
        verdict = hermit.decide_consistency(axioms, assertions).verdict
        return None if verdict is Verdict.UNDETERMINED else verdict is Verdict.CONSISTENT

    counted = 0
    for seed in range(30):
        for case in cases_of(seed):
            assert case.faults(decide) == [], (seed, case.name)
            assert case.plan.is_verified
            mended = {
                line for x in repaired(case.assertions, case.plan) for line in assertion_lines(x)
            }
            assert mended
            counted += 1
    assert counted > 30

"""Nobody waits in silence: the verdict comes when it is certain, explaining is bounded, an
interruption keeps what is known.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pathways
import pytest
from command_line import shiq

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.abox_ops.conflicts.explain import Explainer
from shiq.abox_ops.conflicts.refuter import Refuter
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.columns.rows import remove_assertions
from shiq.errors import UsageError
from shiq.jobs.reports.write import answer_problems
from shiq.model import (
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    DifferentIndividuals,
    FunctionalObjectProperty,
    ObjectProperty,
    ObjectPropertyAssertion,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.clause import ClausalTBox
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from tests.builders import tbox
from tests.killing import killed_at_last
from tests.time_limits import pass_time_at_call
from tests.tools.random_ontologies.kb import random_kb

CAT, DOG = Class("urn:t#Cat"), Class("urn:t#Dog")
TBOX = tbox("Disjoint(Cat, Dog)")


def both(count: int) -> list[Assertion]:
    """So many individuals that are a cat and a dog."""
    return [ClassAssertion(c, f"urn:t#i{i}") for i in range(count) for c in (CAT, DOG)]


@pytest.mark.parametrize("engine", ["local", "spec"])
@pytest.mark.parametrize("criterion", ["auto", "model", "clausal", "none"])
def test_the_verdict_is_told_before_the_conflicts(engine: str, criterion: str) -> None:
    heard: list[Result] = []
    base = abox_of([ClassAssertion(CAT, "urn:t#tom")])
    result = check_insertions(
        TBOX,
        base,
        abox_of([ClassAssertion(DOG, "urn:t#tom")]),
        engine=engine,
        criterion=criterion,
        reasoner="own",
        certain=heard.append,
    )
    assert [(early.verdict, early.ended, early.complete, early.conflicts) for early in heard] == [
        (Verdict.INCONSISTENT, False, False, ())
    ]
    assert (result.verdict, result.ended, result.complete, len(result.conflicts)) == (
        Verdict.INCONSISTENT,
        True,
        True,
        1,
    )
    assert answer_problems(heard[0].to_dict()) == []


def test_it_is_told_of_a_base_by_itself_and_never_of_one_that_is_consistent() -> None:
    heard: list[Result] = []
    certify(TBOX, abox_of(both(1)), reasoner="own", certain=heard.append)
    assert [early.verdict for early in heard] == [Verdict.INCONSISTENT]
    check_insertions(
        TBOX,
        None,
        abox_of([ClassAssertion(DOG, "urn:t#rex")]),
        reasoner="own",
        certain=heard.append,
    )
    assert len(heard) == 1


def test_no_time_for_explaining_is_none_and_the_rest_is_counted() -> None:
    result = check_insertions(TBOX, None, abox_of([*both(3)]), reasoner="own", explain_seconds=0)
    assert (result.verdict, result.conflicts, result.more_conflicts, result.complete) == (
        Verdict.INCONSISTENT,
        (),
        3,
        False,
    )
    assert result.ended
    with pytest.raises(UsageError):
        check_insertions(TBOX, None, abox_of([]), explain_seconds=-1)


def test_what_ends_by_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pass_time_at_call(monkeypatch, Explainer, "_explain_next_groups", 4)
    result = check_insertions(TBOX, None, abox_of(both(100)), reasoner="own", explain_seconds=600)
    assert (result.verdict, result.complete) == (Verdict.INCONSISTENT, False)
    assert (len(result.conflicts), result.more_conflicts) == (7, 93)
    assert any("--explain-seconds 600" in note for note in result.evidence.notes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("waiting")
    (made / "t.ofn").write_text(f"Ontology(<urn:t> DisjointClasses(<{CAT.iri}> <{DOG.iri}>))")
    (made / "base.nt").write_text(
        f"<urn:t#tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{CAT.iri}> .\n"
    )
    (made / "many.ttl").write_text(
        "".join(f"<{a.individual}> a <{a.expression.iri}> .\n" for a in both(100))
    )  # type: ignore[union-attr]
    assert (
        shiq("index", "-q", "--tbox", "t.ofn", "--store", "kg", "base.nt", cwd=made).returncode == 0
    )
    return made


#: The command line, whose fourth turn of explaining waits to be interrupted.
WAITS = """
import itertools, sys, time
from pathlib import Path
from shiq.abox_ops.conflicts.explain import Explainer
turn, turns = Explainer._explain_next_groups, itertools.count(1)
def explain(*values):
    if next(turns) == 4:
        Path(sys.argv[-1] + ".waits").touch()
        time.sleep(600)
    return turn(*values)
Explainer._explain_next_groups = explain
from shiq.jobs.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_on_a_pipe_the_verdict_comes_at_once_and_an_interruption_keeps_it(
    folder: Path, sent: signal.Signals
) -> None:
    report = folder / f"{sent.name}.json"
    command = [sys.executable, "-c", WAITS, "check", "--store", "kg", "--insert", "many.ttl", "-q"]
    command += ["--reasoner", "own", "--explain-seconds", "3600", "--json", report.name]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    started = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with killed_at_last(started) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "INCONSISTENT\n"
        while not (folder / f"{report.name}.waits").exists():
            assert run.poll() is None
            time.sleep(0.01)
        early = json.loads(report.read_text())
        assert (early["verdict"], early["complete"], early["conflicts"]) == (
            "inconsistent",
            False,
            [],
        )
        run.send_signal(sent)
        rest, errors = run.communicate(timeout=300)
    assert (run.returncode, errors) == (1, "")
    assert "interrupted" in rest
    answer = json.loads(report.read_text())
    assert (answer["verdict"], answer["complete"], answer["conflicts_complete"]) == (
        "inconsistent",
        False,
        False,
    )
    assert (len(answer["conflicts"]), answer["more_conflicts"]) == (7, 93)


def test_the_whole_text_is_printed_once(folder: Path) -> None:
    (folder / "one.ttl").write_text(f"<urn:t#tom> a <{DOG.iri}> .\n")
    found = shiq(
        "check",
        "--store",
        "kg",
        "--insert",
        "one.ttl",
        "-q",
        "--reasoner",
        "own",
        "--json",
        "one.json",
        cwd=folder,
    )
    assert found.returncode == 1
    assert found.stdout.splitlines()[:2] == ["INCONSISTENT", "1 minimal conflict:"]
    assert found.stdout.count("INCONSISTENT") == 1
    assert json.loads((folder / "one.json").read_text())["complete"] is True
    only_json = shiq(
        "check",
        "--store",
        "kg",
        "--insert",
        "one.ttl",
        "-q",
        "--reasoner",
        "own",
        "--json",
        "-",
        cwd=folder,
    )
    assert json.loads(only_json.stdout)["complete"] is True


@pytest.mark.parametrize("criterion", ["auto", "none"])
def test_a_conflict_in_one_large_module_is_found_from_the_clash(criterion: str) -> None:
    data = pathways.pathways(1_500)
    bad = pathways.faults(data, 5)
    asked: list[int] = []

    class Counting(OwnReasoner):
        """Notes how large the modules are that it is asked about."""

        def decide(
            self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
        ) -> list[Answer]:
            asked.extend(len(module.positive) for module in modules)
            return super().decide(tbox, modules, timeout)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shiq.jobs.checking.deciders.create_reasoner", lambda *_, **__: Counting())
        result = check_insertions(
            pathways.tbox(),
            abox_of(data),
            abox_of(bad),
            criterion=criterion,
            reasoner="own",
            explain_seconds=None,
        )
    assert result.complete
    assert {line for conflict in result.conflicts for line in conflict.insertions} == {
        line for assertion in bad for line in assertion_lines(assertion)
    }
    assert all(
        len(conflict.insertions) == 1 and conflict.base and conflict.axioms
        for conflict in result.conflicts
    )
    # UnionView modules are decided when the batch is checked, and checked again; all that is tried
    # out in explaining is small.
    assert sum(size > 50 for size in asked) <= 20


def test_a_batch_less_some_assertions_is_what_is_left() -> None:
    for seed in range(40):
        kb = random_kb(seed)
        whole = abox_of([*kb.abox, *kb.insertions])
        everything = list(whole)
        gone = [*everything[seed % 3 :: 3], ClassAssertion(CAT, "urn:t#nobody")]
        assert list(remove_assertions(whole, gone)) == [a for a in everything if a not in set(gone)]


# --- what explaining does not ask again -----------------------------------------------------------


def test_what_is_different_from_many_is_explained_without_what_is_said_about_those(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[str] = []

    def about_all(self: LocalAddSet, individuals: Sequence[str]) -> dict[str, Sequence[Assertion]]:
        fetched.extend(individuals)
        return _ABOUT_ALL(self, individuals)

    monkeypatch.setattr(LocalAddSet, "all_assertions_about", about_all)
    role = ObjectProperty("urn:t#r")
    apart = [
        DifferentIndividuals(f"urn:t#i{i:02}", f"urn:t#i{j:02}")
        for i in range(40)
        for j in range(i)
    ]
    batch = [ObjectPropertyAssertion(role, "urn:t#x", f"urn:t#i0{i}") for i in (1, 2)]
    found = check_insertions(
        TBox((FunctionalObjectProperty(role),)), abox_of(apart), abox_of(batch), reasoner="own"
    )
    assert [len(c.base) for c in found.conflicts] == [1]
    assert len(set(fetched)) <= 3


_ABOUT_ALL = LocalAddSet.all_assertions_about


def test_a_session_remembers_the_axioms_behind_a_conflict_of_one_form(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []

    def refutes_with(self: Refuter, axioms: Sequence[Axiom], assertions: list[Assertion]) -> bool:
        asked.append(len(axioms))
        return _REFUTES_WITH(self, axioms, assertions)

    monkeypatch.setattr(Refuter, "is_refuted_by", refutes_with)
    index(
        TBOX, abox_of(ClassAssertion(CAT, f"urn:t#c{i}") for i in range(3)), store=tmp_path / "kg"
    )
    with open_store(tmp_path / "kg") as session:
        for i in range(3):
            found = session.check(abox_of([ClassAssertion(DOG, f"urn:t#c{i}")]))
            assert [c.axioms for c in found.conflicts] == [
                ("DisjointClasses(<urn:t#Cat> <urn:t#Dog>)",)
            ]
            if not i:
                assert asked
                asked.clear()
    assert not asked


_REFUTES_WITH = Refuter.is_refuted_by

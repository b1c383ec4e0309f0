"""The engine `graphframes`: equal to `memory`, and never a wrong answer from below.

What needs GraphFrames' JVM core is skipped unless SHIQ_GRAPHFRAMES_JAR names it; `make test-graphframes JAR=…` runs it all. A
round of message passing costs Spark jobs, so most cases are checked side by side, as one knowledge base with names kept apart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from abox_ops.engine import AddSet, Inquiry
from abox_ops.local import LocalKnowledgeBase
from abox_ops.memory import MemoryKnowledgeBase
from abox_ops.modules.decide import Decider
from jobs.store.upkeep import write_store
from shiq import model as owl
from shiq.abox import ABox, abox_of
from shiq.errors import OperationalError
from shiq.model import Assertion, TBox
from shiq.rdf import read_ontology
from shiq.reasoner import create
from shiq.reasoner.protocol import Answer
from tests.conftest import CASES
from tests.tools.random_ontologies.gadgets import renamed
from tests.tools.random_ontologies.kb import random_kb
from tests.tools.random_ontologies.tbox import PREFIX

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = sorted(p.name for p in CASES.iterdir() if p.is_dir())
Parts = tuple[TBox, list[Assertion], list[Assertion], list[Assertion]]


@pytest.fixture(scope="module")
def core() -> Iterator[SparkSession]:
    """A Spark session with GraphFrames' JVM core."""
    from jobs.graphframes.core import JAR, has_core, running, session

    if not os.environ.get(JAR):
        pytest.skip(f"{JAR} names no jar of GraphFrames' JVM core")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and not has_core(active):
        pytest.skip("the Spark session of the other tests was started without the core: run `make test-graphframes`")
    # What is compiled here runs but a few times.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
        spark = session("local[2]")
    with running(spark, 100):
        yield spark


# --- without the core ------------------------------------------------------------------------------


def test_a_jar_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.graphframes.core import JAR, session

    monkeypatch.setenv(JAR, "/no/such.jar")
    with pytest.raises(OperationalError, match="no such jar") as caught:
        session()
    assert "spark.jars.packages=io.graphframes:graphframes-spark4_2.13" in caught.value.remedy


def test_the_command_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.cli import main

    monkeypatch.setenv("SHIQ_GRAPHFRAMES_JAR", "")
    folder = CASES / "PaperExample2"
    arguments = ["check", "-t", f"{folder}/tbox.ofn", "-a", f"{folder}/abox.ofn", "-i", f"{folder}/insertions.ofn"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--engine", "graphframes", "--graphframes-jar", str(tmp_path / "none.jar")])
    said = capsys.readouterr().err
    assert ended.value.code == 4
    assert "--graphframes-jar" in said
    assert "spark.jars.packages" in said


def test_a_package_that_cannot_be_resolved(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.sql import SparkSession

    from jobs.graphframes import core

    asked: list[Mapping[str, str]] = []

    def refused(*, settings: Mapping[str, str], **_: Any) -> None:
        asked.append(settings)
        os.write(2, b":: unresolved dependency: io.graphframes#graphframes-spark4_2.13;0.12.3: not found\n")
        raise OperationalError("no Spark session could be started: [JAVA_GATEWAY_EXITED]")

    monkeypatch.setenv(core.JAR, "")
    monkeypatch.setattr(core, "_failed", [])
    monkeypatch.setattr(core, "spark_session", refused)
    monkeypatch.setattr(SparkSession, "getActiveSession", staticmethod(lambda: None))
    for _ in range(2):
        with pytest.raises(OperationalError, match="could not be resolved") as caught:
            core.session()
        assert "--graphframes-jar" in caught.value.remedy
    assert asked == [{"spark.jars.packages": core.COORDINATES}]
    assert capfd.readouterr().err == ""


def test_the_master_is_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobs.cli import main
    from jobs.graphframes import engine as graphframes

    asked: list[str | None] = []

    def refused(master: str | None = None) -> None:
        asked.append(master)
        raise OperationalError("no session here")

    monkeypatch.setattr(graphframes, "session", refused)
    folder = CASES / "PaperExample2"
    write_store(tmp_path / "kg", golden("PaperExample2")[0], abox_of([]))
    given = ["-i", f"{folder}/insertions.ofn", "--engine", "graphframes", "--master", "local[3]"]
    for base in (["-t", f"{folder}/tbox.ofn", "-a", f"{folder}/abox.ofn"], ["-s", str(tmp_path / "kg")]):
        with pytest.raises(SystemExit) as ended:
            main(["check", *base, *given])
        assert ended.value.code == 4 and "no session here" in capsys.readouterr().err
    assert asked == ["local[3]", "local[3]"]


FIRST, SECOND = np.array([1, 2, 5, 6]), np.array([2, 3, 6, 5])
VERTICES = np.array([1, 2, 3, 5, 6, 9])


def test_right_components_pass() -> None:
    from jobs.graphframes.certificate import certify_components

    least = certify_components(VERTICES, FIRST, SECOND, VERTICES[::-1], np.array([9, 6, 6, 2, 2, 2]))
    assert least.tolist() == [1, 1, 1, 5, 5, 9]


@pytest.mark.parametrize(
    ("member", "component"),
    [
        ([1, 2, 3, 5, 6, 9], [1, 1, 3, 5, 5, 9]),  # split
        ([1, 2, 3, 5, 6, 9], [1, 1, 1, 1, 1, 9]),  # joined
        ([1, 2, 3, 5, 6, 9], [1, 1, 1, 5, 5, 5]),  # a vertex without edges joined
        ([1, 2, 3, 5, 6, 9], [7, 7, 7, 5, 5, 9]),  # named by nobody
        ([1, 2, 3, 5, 6, 9], [5, 5, 5, 1, 1, 9]),  # named by one of another
        ([1, 2, 3, 5, 6], [1, 1, 1, 5, 5]),  # one lost
        ([1, 2, 3, 5, 6, 9, 9], [1, 1, 1, 5, 5, 9, 9]),  # one twice
    ],
)
def test_wrong_components_are_caught(member: list[int], component: list[int]) -> None:
    from jobs.graphframes.certificate import CertificateError, certify_components

    with pytest.raises(CertificateError):
        certify_components(VERTICES, FIRST, SECOND, np.array(member), np.array(component))


# --- certificates on Spark -------------------------------------------------------------------------


@pytest.mark.graphframes
def test_components(core: SparkSession) -> None:
    from jobs.graphframes.components import components
    from jobs.graphframes.frames import frame

    vertex, least = components(frame(core, {"src": FIRST, "dst": SECOND}))
    assert dict(zip(vertex.tolist(), least.tolist())) == {1: 1, 2: 1, 3: 1, 5: 5, 6: 5}


@pytest.mark.graphframes
def test_wrong_components_from_below_end_the_check(core: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.graphframes.frames import frame

    from jobs.graphframes import components as module
    from jobs.graphframes.certificate import CertificateError

    edges = frame(core, {"src": FIRST, "dst": SECOND})
    for wrong in (
        {1: 1, 2: 1, 3: 5, 5: 5, 6: 5},  # an edge joins two
        {1: 1, 2: 1, 3: 1, 5: 1, 6: 1},  # two are one
        {1: 1, 2: 1, 3: 3, 5: 5, 6: 5},  # one is two
        {1: 1, 2: 1, 5: 5, 6: 5},  # one lost
        {1: 1, 2: 1, 3: 1, 5: 7, 6: 7},  # named by nobody
    ):
        given = frame(core, {"id": np.array(list(wrong)), "component": np.array(list(wrong.values()))})
        monkeypatch.setattr(module, "run", lambda *_, given=given: given)
        with pytest.raises(CertificateError, match="components"):
            module.components(edges)


@pytest.mark.graphframes
def test_what_is_reached(core: SparkSession) -> None:
    from jobs.graphframes.frames import frame
    from jobs.graphframes.reach import reached

    from jobs.graphframes.certificate import CertificateError, certify_reached

    arcs = frame(core, {"src": np.array([1, 2, 3, 7, 3]), "dst": np.array([2, 3, 1, 1, 4])})
    start = np.array([2, 9])
    assert reached(start, arcs).tolist() == [1, 2, 3, 4, 9]
    certify_reached(start, arcs, np.array([2, 9, 3, 1, 4]), np.array([0, 0, 1, 2, 2]))
    for wrong in (
        {2: 0, 9: 0, 3: 1, 1: 2},  # one missing
        {2: 0, 9: 0, 3: 1, 1: 2, 4: 2, 7: 3},  # one that nothing leads to
        {2: 0, 9: 0, 3: 1, 1: 2, 4: 2, 7: 0},  # one that is no start
        {2: 0, 3: 1, 1: 2, 4: 2},  # a start missing
        {2: 0, 9: 0, 3: 2, 1: 3, 4: 3},  # a distance too far
    ):
        with pytest.raises(CertificateError, match="reached"):
            certify_reached(start, arcs, np.array(list(wrong)), np.array(list(wrong.values())))


@pytest.mark.graphframes
def test_wrong_told_literals_are_caught(core: SparkSession) -> None:
    from jobs.graphframes.frames import collected, frame
    from jobs.graphframes.rules import THEN, WorkerCalculus, label_text
    from jobs.graphframes.told import history
    from pyspark.sql import functions as F

    from jobs.graphframes.certificate import CertificateError, certify_told
    from shiq.model import Class, ObjectAllValuesFrom, ObjectProperty, SubClassOf
    from shiq.roles import Role
    from simplify import simplify

    a, b, r = Class("urn:A"), Class("urn:B"), ObjectProperty("urn:r")
    axioms = (SubClassOf(a, ObjectAllValuesFrom(r, b)), SubClassOf(b, ObjectAllValuesFrom(r, a)))
    tbox = simplify(TBox(axioms), (a, b)).clauses
    rules = WorkerCalculus(tbox, (Role("urn:r"), Role("urn:r", True)))
    told_a, told_b = (label_text((1 << tbox.atom_ids[x.iri], 0)) for x in (a, b))
    edges = frame(core, {"src": np.array([1, 2]), "dst": np.array([2, 3]), "role": np.array([0, 0])})
    start = frame(core, {"id": np.array([1, 2, 3]), "start": [told_a, "0 0", "0 0"]})
    vertices = history(rules, start.withColumn("history", rules.column("close", "string", F.col("start"))), edges)
    certify_told(rules, vertices, edges)
    found = collected(vertices)
    right = {i: history.split(THEN) for i, history in zip(found["id"].tolist(), found["history"])}
    assert [right[i][-1] for i in (1, 2, 3)] == [told_a, told_b, told_a]

    def planted(changed: Mapping[int, list[str]]) -> None:
        histories = {**right, **changed}
        rows = core.createDataFrame(
            [(i, told_a if i == 1 else "0 0", THEN.join(histories[i])) for i in (1, 2, 3)],
            "id bigint, start string, history string",
        )
        with pytest.raises(CertificateError, match="told"):
            certify_told(rules, rows, edges)

    planted({3: [right[3][0]] * len(right[3])})  # a lost message
    planted({2: [told_b] * len(right[2])})  # there from the start, derived from nothing
    planted({3: [*right[3][:-1], label_text((3, 0))]})  # more than was sent
    planted({i: h[:-1] for i, h in right.items()})  # stopped a round too early


# --- side by side with memory ----------------------------------------------------------------------


class Apart(dict[str, str]):
    """Gives every name that begins with ``prefix`` a number."""

    def __init__(self, prefix: str, number: int) -> None:
        super().__init__()
        self.prefix, self.number = prefix, number

    def get(self, key: str, default: Any = None) -> Any:
        return f"{key}.{self.number}" if key.startswith(self.prefix) else default


def side_by_side(cases: Iterable[Parts], prefix: str) -> Parts:
    """One knowledge base of many, their names kept apart."""
    axioms: list[Any] = []
    base: list[Assertion] = []
    insertions: list[Assertion] = []
    deletions: list[Assertion] = []
    for number, (tbox, a, i, d) in enumerate(cases):
        names = Apart(prefix, number)
        axioms += (renamed(axiom, names) for axiom in tbox.axioms)
        for mine, theirs in ((base, a), (insertions, i), (deletions, d)):
            mine += (renamed(assertion, names) for assertion in theirs)
    return TBox(tuple(dict.fromkeys(axioms))), base, insertions, deletions


def golden(name: str) -> Parts:
    folder = CASES / name
    tbox = folder / "tbox.ofn"

    def assertions(file: str) -> list[Assertion]:
        return list(read_ontology([tbox, folder / file]).abox) if (folder / file).exists() else []

    return read_ontology([tbox]).tbox, assertions("abox.ofn"), assertions("insertions.ofn"), assertions("deletions.ofn")


def equal_to_memory(parts: Parts, criterion: str) -> AddSet:
    from jobs.graphframes.engine import GraphFramesKnowledgeBase

    tbox, base, insertions, deletions = parts
    arguments = abox_of(insertions), abox_of(deletions), criterion
    found = GraphFramesKnowledgeBase.build(tbox, abox_of(base)).add_set(*arguments)
    wanted = MemoryKnowledgeBase.build(tbox, abox_of(base)).add_set(*arguments)
    assert set(found.kept()) == set(wanted.kept())
    assert (found.insertions, found.size, found.pulled_in) == (wanted.insertions, wanted.size, wanted.pulled_in)
    assert list(found.contradictory) == list(wanted.contradictory)
    assert [(m.elements, m.module) for m in found.modules] == [(m.elements, m.module) for m in wanted.modules]
    return found


def random_parts(seed: int) -> Parts:
    kb = random_kb(seed)
    return kb.tbox, list(kb.abox), list(kb.insertions), list(kb.deletions)


def two_classes_made_one() -> Parts:
    """A batch that makes two stored classes one: r(d, a1) is met by what is asserted of b1, so d stays out."""
    top, filler, r = owl.Class(f"{PREFIX}A"), owl.Class(f"{PREFIX}B"), owl.ObjectProperty(f"{PREFIX}r")
    a, a2, b, b2, d = (f"{PREFIX}{name}" for name in ("a1", "a2", "b1", "b2", "d"))
    base = [owl.SameIndividual(a, a2), owl.SameIndividual(b, b2), owl.ClassAssertion(filler, b)]
    base.append(owl.ObjectPropertyAssertion(r, d, a))
    return TBox((owl.SubClassOf(top, owl.ObjectAllValuesFrom(r, filler)),)), base, [owl.SameIndividual(a, b)], []


@pytest.mark.slow
def test_what_enters_without_the_core(spark: SparkSession) -> None:
    """The same elements enter, over role assertions as a table, as over columns."""
    from jobs.graphframes.published import entered

    from abox_ops.elements.columns import Graph
    from abox_ops.index.columns import alone
    from abox_ops.index.touched import touched_by
    from abox_ops.labels.columns import Calculus
    from abox_ops.published.columns import PublishedProcedure

    parts = [*map(golden, (n for n in NAMES if n.startswith(("Definition7", "Paper")))), *map(random_parts, range(40, 70))]
    parts.append(two_classes_made_one())
    tbox, base, insertions, deletions = side_by_side(parts, PREFIX)
    kb = LocalKnowledgeBase.build(tbox, abox_of(base)).without(abox_of(deletions), abox_of(insertions))
    whole = kb.whole(abox_of(insertions))
    simplified = kb.calculi.simplified_with(whole)
    calculus, touched = Calculus(simplified.definition4_clauses, whole.names), touched_by(whole, kb.roles)

    def published() -> PublishedProcedure:
        graph, before = (
            Graph(view, kb.roles, kb.index.same, lambda keys: np.zeros(len(keys), np.int64), by_node=True)
            for view in (whole, alone(kb.base))
        )
        return PublishedProcedure(kb.index, simplified, calculus, graph, before, touched)

    wanted, made = published().run(), published()
    nodes = entered(spark, kb.index, calculus, whole, kb.roles, made)
    found = made.entered(nodes)
    assert len(nodes) > len(parts)
    assert set(kb.add_set_on(calculus, whole, found).kept()) == set(kb.add_set_on(calculus, whole, wanted).kept())
    assert len(found.seen) == len(wanted.seen) and set(found.contradictory) == set(wanted.contradictory)
    assert len(found.remedies) == len(wanted.remedies) > 0


@pytest.mark.graphframes
@pytest.mark.parametrize("criterion", ["clausal", "definition7", "none"])
def test_all_golden_cases_at_once(core: SparkSession, criterion: str) -> None:
    found = equal_to_memory(side_by_side(map(golden, NAMES), "urn:case#"), criterion)
    assert found.size > len(NAMES)
    assert len(found.modules) > 10


@pytest.mark.graphframes
@pytest.mark.parametrize(("criterion", "seeds"), [("clausal", range(20)), ("definition7", range(20, 40))])
def test_random_knowledge_bases_at_once(core: SparkSession, criterion: str, seeds: range) -> None:
    found = equal_to_memory(side_by_side(map(random_parts, seeds), PREFIX), criterion)
    assert found.insertions
    assert found.size


def patch_facts(found: AddSet, answers: Sequence[Answer]) -> object:
    modules = sorted(((m.elements, m.module, a.verdict.value) for m, a in zip(found.modules, answers)), key=repr)
    figures = found.insertions, found.size, found.pulled_in, sorted(found.contradictory)
    return frozenset(found.kept()), figures, modules


def patches_equal(parts: Parts) -> None:
    """The same patch, module by module and answer by answer, as the reference."""
    from jobs.graphframes.engine import GraphFramesKnowledgeBase

    tbox, base, insertions, deletions = parts
    reasoner = create("own")
    told = []
    for kind in (GraphFramesKnowledgeBase, MemoryKnowledgeBase):
        decider = Decider(reasoner)
        knowledge_base: Any = kind.build(tbox, abox_of(base))
        arguments = abox_of(insertions), abox_of(deletions), Inquiry(decider.decide)
        told.append(patch_facts(*knowledge_base.patched(*arguments)))
    reasoner.close()
    assert told[0] == told[1]


def is_consistent(parts: Parts) -> bool:
    reasoner = create("own")
    base = LocalKnowledgeBase.build(parts[0], abox_of(parts[1]))
    found = base.certified(Inquiry(Decider(reasoner).decide))
    reasoner.close()
    return found.completion.is_guessed


@pytest.mark.graphframes
def test_patches_of_the_model(core: SparkSession) -> None:
    tbox, base, insertions, _ = side_by_side(map(golden, NAMES[::2]), "urn:case#")
    patches_equal((tbox, base, insertions, []))


@pytest.mark.graphframes
def test_patches_of_random_knowledge_bases(core: SparkSession) -> None:
    patches_equal(side_by_side((p for p in map(random_parts, range(20)) if is_consistent(p)), PREFIX))


@pytest.mark.graphframes
def test_patches_less_deletions_of_a_stored_model(core: SparkSession, tmp_path: Path) -> None:
    """N goes on for what is left of the base, as with the engine local."""
    from jobs.graphframes.engine import GraphFramesKnowledgeBase
    from jobs.store import open_store
    from shiq.check import index

    sound = (p for p in map(random_parts, range(40)) if not abox_of(p[3]).complex and is_consistent(p))
    tbox, base, insertions, deletions = side_by_side(sound, PREFIX)
    index(tbox, abox_of(base), tmp_path / "kg", reasoner="own", allow=("undeclared", "empty-tbox"))
    reasoner = create("own")
    told = []
    with open_store(tmp_path / "kg") as store:
        for kind in (GraphFramesKnowledgeBase, LocalKnowledgeBase):
            opened = kind.from_store(store)
            assert opened.is_completed and deletions
            arguments = abox_of(insertions), abox_of(deletions), Inquiry(Decider(reasoner).decide)
            told.append(patch_facts(*opened.patched(*arguments)))
    reasoner.close()
    assert told[0] == told[1]


@pytest.mark.graphframes
def test_a_conflict(core: SparkSession) -> None:
    from shiq import check_insertions

    folder = CASES / "ClassesOfTheWhole"
    given = [folder / f"{file}.ofn" for file in ("tbox", "abox", "insertions")]
    found, wanted = (check_insertions(*given, engine=engine, reasoner="own") for engine in ("graphframes", "memory"))
    assert found.verdict.value == json.loads((folder / "expected.json").read_text())["verdict"]
    assert found.conflicts == wanted.conflicts
    assert set(found.a_add) == set(wanted.a_add)


@pytest.mark.graphframes
def test_from_a_store(core: SparkSession, tmp_path: Path) -> None:
    from jobs.graphframes.engine import GraphFramesKnowledgeBase
    from jobs.store import open_store

    tbox, base, insertions, _ = side_by_side(map(golden, NAMES[::5]), "urn:case#")
    write_store(tmp_path / "kg", tbox, abox_of(base))
    with open_store(tmp_path / "kg") as store:
        found = GraphFramesKnowledgeBase.from_store(store).add_set(abox_of(insertions), ABox())
        wanted = MemoryKnowledgeBase.build(tbox, abox_of(base)).add_set(abox_of(insertions), ABox())
        assert set(found.kept()) == set(wanted.kept())
        assert found.pulled_in == wanted.pulled_in
        assert [(m.elements, m.module) for m in found.modules] == [(m.elements, m.module) for m in wanted.modules]


@pytest.mark.graphframes
def test_a_wrong_answer_from_below_ends_the_command_with_4(
    core: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyspark.sql import functions as F

    from jobs.cli import main
    from jobs.graphframes import components as module

    apart = F.col("id").alias("component")
    ends = F.explode(F.array("src", "dst")).alias("id")
    monkeypatch.setattr(module, "run", lambda edges, _: edges.select(ends).distinct().select("id", apart))
    folder = CASES / "SameAndDifferent"
    arguments = ["check", "-t", f"{folder}/tbox.ofn", "-a", f"{folder}/abox.ofn", "-i", f"{folder}/insertions.ofn"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--engine", "graphframes", "--reasoner", "own"])
    assert ended.value.code == 4
    assert "does not hold" in capsys.readouterr().err

"""The engine `graphframes`: equal to `memory`, and never a wrong answer from below.

It runs on DataFrames; where SHIQ_GRAPHFRAMES_JAR names GraphFrames' JVM core, by GraphFrames too
(`make test-graphframes JAR=…`). A round of messages costs Spark jobs, so most cases are checked
side by side, as one knowledge base with names kept apart.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from shiq import model as owl
from shiq.abox_ops.published.part_of import m_part
from shiq.abox_ops.published.remedies import Definition7, Outcome
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.errors import OperationalError
from shiq.jobs.checking.answer import _LazyAddSet
from shiq.jobs.checking.options import PUBLISHED
from shiq.jobs.reduced_ontology import write_reduced
from shiq.jobs.store.upkeep import write_store
from shiq.model import Assertion, TBox
from shiq.model.abox import ABox, abox_of
from shiq.model.ntriples import assertion_lines
from shiq.rdf import read_ontology
from tests.command_line import shiq
from tests.conftest import CASES
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.gadgets import renamed
from tests.tools.random_ontologies.kb import random_kb
from tests.tools.random_ontologies.side_by_side import (
    Apart,
    Parts,
    modules_of,
    parts_of,
    same_add_set,
    side_by_side,
)
from tests.tools.random_ontologies.tbox import PREFIX

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from shiq.jobs.graphframes.add_set import GraphFramesAddSet
    from shiq.jobs.spark.session import TemporaryTables

NAMES = sorted(p.name for p in CASES.iterdir() if p.is_dir())


@pytest.fixture(params=["DataFrames", pytest.param("GraphFrames", marks=pytest.mark.graphframes)])
def calls(
    request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """What serves messages and components: each of the two, where it is at hand."""
    from shiq.jobs.graphframes import engine
    from shiq.jobs.graphframes.core import has_core, tuned_session
    from shiq.jobs.graphframes.messages import DataFrameCalls, GraphFramesCalls

    by_graphframes = request.param == GraphFramesCalls.name
    if by_graphframes and not has_core(spark):
        pytest.skip("SHIQ_GRAPHFRAMES_JAR names no jar of GraphFrames' JVM core")
    monkeypatch.setattr(
        engine, "graph_calls", lambda _: GraphFramesCalls() if by_graphframes else DataFrameCalls()
    )
    with tuned_session(spark, 100):
        yield request.param


@pytest.fixture
def files(spark: SparkSession) -> Iterator[TemporaryTables]:
    """The files of a run."""
    from shiq.jobs.spark.session import temporary_tables

    made = temporary_tables(spark)
    yield made
    made.remove()


# --- what is asked for ----------------------------------------------------------------------------


def test_a_jar_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiq.jobs.graphframes.core import JAR_VARIABLE, open_session

    monkeypatch.setenv(JAR_VARIABLE, "/no/such.jar")
    with pytest.raises(OperationalError, match="no such jar") as caught:
        open_session()
    assert "runs on DataFrames" in caught.value.remedy


@pytest.mark.parametrize("criterion", ["model", "clausal", "none"])
def test_it_has_one_criterion(criterion: str, capsys: pytest.CaptureFixture[str]) -> None:
    from shiq.jobs.cli import main

    with pytest.raises(SystemExit) as ended:
        main(command("PaperExample2", "--engine", "graphframes", "--criterion", criterion))
    assert ended.value.code == 2
    assert f"--engine spark for {criterion}" in capsys.readouterr().err


def test_the_master_is_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from shiq.jobs.cli import main
    from shiq.jobs.graphframes import engine as graphframes

    asked: list[str | None] = []

    def refused(master: str | None = None) -> None:
        asked.append(master)
        raise OperationalError("no session here")

    monkeypatch.setattr(graphframes, "open_session", refused)
    folder = CASES / "PaperExample2"
    write_store(tmp_path / "kg", golden("PaperExample2")[0], abox_of([]))
    given = ["-i", f"{folder}/insertions.ofn", "--engine", "graphframes", "--master", "local[3]"]
    for base in (
        ["-t", f"{folder}/tbox.ofn", "-a", f"{folder}/abox.ofn"],
        ["-s", str(tmp_path / "kg")],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["check", *base, *given])
        assert ended.value.code == 4 and "no session here" in capsys.readouterr().err
    assert asked == ["local[3]", "local[3]"]


FIRST, SECOND = np.array([1, 2, 5, 6, 7]), np.array([2, 3, 6, 5, 7])


def test_right_components_pass(spark: SparkSession, calls: str, files: TemporaryTables) -> None:
    from shiq.jobs.graphframes.messages import certify_components, graph_calls
    from shiq.jobs.graphframes.tables import driver_frame

    edges = driver_frame(spark, {"src": FIRST, "dst": SECOND})
    found = graph_calls(spark).components(edges, files)
    assert {row.id: row.component for row in found.collect()} == {
        1: 1,
        2: 1,
        3: 1,
        5: 5,
        6: 5,
        7: 7,
    }
    certify_components(edges, found)


@pytest.mark.slow
def test_components_of_random_graphs(
    spark: SparkSession, calls: str, files: TemporaryTables
) -> None:
    from shiq.abox_ops.elements.quotient import component_minima
    from shiq.jobs.graphframes.messages import graph_calls
    from shiq.jobs.graphframes.tables import driver_frame

    chance = np.random.default_rng(5)
    # A long path under shuffled names, beside random edges.
    path = chance.permutation(40)
    first = np.concatenate([path[:-1], 40 + chance.integers(0, 60, 40)])
    second = np.concatenate([path[1:], 40 + chance.integers(0, 60, 40)])
    found = graph_calls(spark).components(driver_frame(spark, {"src": first, "dst": second}), files)
    wanted = component_minima(100, first, second)
    ids = {*first.tolist(), *second.tolist()}
    assert {row.id: row.component for row in found.collect()} == {i: int(wanted[i]) for i in ids}


@pytest.mark.parametrize(
    ("member", "component"),
    [
        ([1, 2, 3, 5, 6, 7], [1, 1, 3, 5, 5, 7]),  # split
        ([1, 2, 3, 5, 6, 7], [8, 8, 8, 5, 5, 7]),  # named by nobody
        ([1, 2, 3, 5, 6, 7], [5, 5, 5, 1, 1, 7]),  # named by one of another
        ([1, 2, 3, 5, 6], [1, 1, 1, 5, 5]),  # one lost
        ([1, 2, 3, 5, 6, 7, 7], [1, 1, 1, 5, 5, 7, 7]),  # one twice
        ([1, 2, 3, 5, 6, 7, 9], [1, 1, 1, 5, 5, 7, 9]),  # one too many
    ],
)
def test_wrong_components_are_caught(
    spark: SparkSession, member: list[int], component: list[int]
) -> None:
    from shiq.jobs.graphframes.messages import CertificateError, certify_components
    from shiq.jobs.graphframes.tables import driver_frame

    found = driver_frame(spark, {"id": np.array(member), "component": np.array(component)})
    with pytest.raises(CertificateError, match="components"):
        certify_components(driver_frame(spark, {"src": FIRST, "dst": SECOND}), found)


def test_what_enters_wrongly_is_caught(spark: SparkSession) -> None:
    from shiq.jobs.graphframes.messages import CertificateError, certify_reached
    from shiq.jobs.graphframes.tables import driver_frame

    # 1 → 2 → 3, and 4 → 3 the other way alone.
    dealt = driver_frame(
        spark,
        {
            "subject": np.array([1, 2, 4]),
            "role": np.array([0, 0, 0]),
            "object": np.array([2, 3, 3]),
            "src": np.array([1, 2, 4]),
            "dst": np.array([2, 3, 3]),
            "outcome": ["D", "KSD", "D"],
        },
    )
    start = driver_frame(spark, {"id": np.array([1])})

    def certify(rounds: Mapping[int, int], wanted: int = 2) -> None:
        entered = driver_frame(
            spark, {"id": np.array([*rounds]), "round": np.array([*rounds.values()])}
        )
        certify_reached(
            start, entered, dealt, dealt.limit(wanted).select("subject", "role", "object")
        )

    certify({1: 0, 2: 1, 3: 2})
    for wrong in (
        {1: 0, 2: 1},  # one missing
        {1: 0, 2: 1, 3: 2, 4: 3},  # one that nothing leads to
        {1: 0, 2: 1, 3: 2, 4: 0},  # one that is no start
        {2: 0, 3: 1},  # the start missing
        {1: 0, 2: 2, 3: 3},  # a round too late
    ):
        with pytest.raises(CertificateError, match="enters"):
            certify(wrong)
    lost = dealt.selectExpr("subject", "role", "CAST(9 AS BIGINT) AS object")
    entered = driver_frame(spark, {"id": np.array([1, 2, 3]), "round": np.array([0, 1, 2])})
    with pytest.raises(CertificateError, match="enters"):
        certify_reached(start, entered, dealt, lost)


# --- side by side with memory ---------------------------------------------------------------------


def golden(name: str) -> Parts:
    folder = CASES / name
    tbox = folder / "tbox.ofn"

    def assertions(file: str) -> list[Assertion]:
        return list(read_ontology([tbox, folder / file]).abox) if (folder / file).exists() else []

    return (
        read_ontology([tbox]).tbox,
        assertions("abox.ofn"),
        assertions("insertions.ofn"),
        assertions("deletions.ofn"),
    )


def equal_to_memory(parts: Parts) -> GraphFramesAddSet:
    from shiq.jobs.graphframes.engine import GraphFramesKnowledgeBase

    tbox, base, insertions, deletions = parts
    arguments = abox_of(insertions), abox_of(deletions)
    found = GraphFramesKnowledgeBase.build(tbox, abox_of(base)).graph_add_set(*arguments)
    wanted = SpecKnowledgeBase.build(tbox, abox_of(base)).add_set(*arguments, "definition7")
    same_add_set(found, wanted)
    return found


def random_parts(seed: int) -> Parts:
    return parts_of(random_kb(seed))


def two_classes_made_one() -> Parts:
    """A batch that makes two stored classes one: r(d, a1) is met by what is asserted of b1, so d
    stays out.
    """
    top, filler, r = (
        owl.Class(f"{PREFIX}A"),
        owl.Class(f"{PREFIX}B"),
        owl.ObjectProperty(f"{PREFIX}r"),
    )
    a, a2, b, b2, d = (f"{PREFIX}{name}" for name in ("a1", "a2", "b1", "b2", "d"))
    base = [owl.SameIndividual(a, a2), owl.SameIndividual(b, b2), owl.ClassAssertion(filler, b)]
    base.append(owl.ObjectPropertyAssertion(r, d, a))
    return (
        TBox((owl.SubClassOf(top, owl.ObjectAllValuesFrom(r, filler)),)),
        base,
        [owl.SameIndividual(a, b)],
        [],
    )


def same_reduced(found: GraphFramesAddSet, parts: Parts, folder: Path) -> None:
    """Assert that executors write the reduced ontology of ``parts`` as the engine memory does,
    as text and as tables.
    """
    from pyarrow.parquet import read_table

    tbox, base, insertions, deletions = parts
    wanted = SpecKnowledgeBase.build(tbox, abox_of(base)).add_set(
        abox_of(insertions), abox_of(deletions), "definition7"
    )
    for name, add_set in (("found", found), ("wanted", wanted)):
        write_reduced(
            Result(Verdict.UNDETERMINED, a_add=_LazyAddSet(add_set, "graphframes")),
            folder / f"{name}.nt",
        )
    lines = sorted((folder / "wanted.nt").read_text().splitlines())
    assert sorted((folder / "found.nt").read_text().splitlines()) == lines
    write_reduced(
        Result(Verdict.UNDETERMINED, a_add=_LazyAddSet(found, "graphframes")),
        folder / "found.parquet",
    )
    assert (
        sorted(
            " ".join((*row.values(), "."))
            for row in read_table(folder / "found.parquet").to_pylist()
        )
        == lines
    )


@pytest.mark.slow
def test_all_golden_cases_at_once(calls: str, tmp_path: Path) -> None:
    parts = side_by_side(map(golden, NAMES), "urn:case#")
    found = equal_to_memory(parts)
    same_reduced(found, parts, tmp_path)
    assert found.size > len(NAMES) and len(modules_of(found)) > 10
    lines = {" ".join((row.s, row.p, row.o, ".")) for row in found.frame().collect()}
    assert lines == {
        line for assertion in found.kept_assertions() for line in assertion_lines(assertion)
    }


@pytest.mark.slow
def test_random_knowledge_bases_at_once(calls: str) -> None:
    cases = [
        *map(random_parts, range(20, 20 + int(os.environ.get("SHIQ_GRAPHFRAMES_SEEDS", "30")))),
        two_classes_made_one(),
    ]
    found = equal_to_memory(side_by_side(cases, PREFIX))
    assert found.insertions and found.size and not found.tables.elements.isEmpty()


@pytest.mark.slow
def test_example_2_of_the_paper(calls: str) -> None:
    tbox, base, insertions, _ = golden("PaperExample2")
    found = equal_to_memory((tbox, base, insertions, []))
    names = {
        line.replace("urn:case#", "")
        for assertion in found.kept_assertions()
        for line in assertion_lines(assertion)
    }
    assert any("differentFrom" in line for line in names) and any(
        "<Prof>" in line for line in names
    )
    assert not any("supervise" in line or "<Stud>" in line for line in names)
    assert sum("<teach>" in line for line in names) == 2


class RemediesAtTheOtherEnd(Definition7):
    """Rules with a mistake: a remedy is put at the wrong end of its role assertion."""

    def outcome(self, *given: Any) -> Outcome:
        found = super().outcome(*given)
        placed = tuple((not at_object, *literal) for at_object, *literal in found.remedies)
        return found._replace(remedies=placed)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("planted", ["u_part", "m_part", "remedies", "remedy ends", "features"])
def test_a_planted_mistake_is_found(
    spark: SparkSession, planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shiq.jobs.graphframes import engine

    rules_of = engine.make_definition7

    def wrong(index: Any, tbox: Any, touched: Any) -> Definition7:
        rules = rules_of(index, tbox, touched)
        if planted == "remedy ends":
            return RemediesAtTheOtherEnd(**vars(rules))
        changed: dict[str, Any] = {
            "u_part": {"axioms": {}},
            "m_part": {"always_relevant_roles": rules.always_relevant_roles - m_part(tbox)},
            "remedies": {"axioms": {role: axioms[1:] for role, axioms in rules.axioms.items()}},
            "features": {"features": frozenset()},
        }[planted]
        return replace(rules, **changed)

    monkeypatch.setattr(engine, "make_definition7", wrong)
    with pytest.raises(AssertionError):
        equal_to_memory(side_by_side([*map(golden, NAMES)], "urn:case#"))


@pytest.mark.slow
def test_from_a_store_with_deletions(calls: str, tmp_path: Path) -> None:
    from shiq.jobs.graphframes.engine import GraphFramesKnowledgeBase
    from shiq.jobs.store import open_store

    cases = [*map(golden, NAMES[::5]), *(renamed_case(seed) for seed in range(60, 70))]
    tbox, base, insertions, deletions = side_by_side(cases, "urn:case#")
    write_store(tmp_path / "kg", tbox, abox_of(base))
    with open_store(tmp_path / "kg") as store:
        found = GraphFramesKnowledgeBase.from_store(store).graph_add_set(
            abox_of(insertions), abox_of(deletions)
        )
        wanted = SpecKnowledgeBase.build(tbox, abox_of(base)).add_set(
            abox_of(insertions), abox_of(deletions), "definition7"
        )
        same_add_set(found, wanted)


@pytest.mark.scale
@pytest.mark.slow
def test_an_executor_that_is_killed_in_a_round_changes_nothing(tmp_path: Path) -> None:
    import tests.spark_cluster as cluster

    tbox, base, insertions, deletions = side_by_side(map(golden, NAMES), "urn:case#")
    write_store(tmp_path / "kg", tbox, abox_of(base))
    given = [
        "--store",
        f"{tmp_path}/kg",
        "--criterion",
        PUBLISHED,
        "--reasoner",
        "own",
        "--max-conflicts",
        "0",
        "-q",
    ]
    for option, assertions in (("insert", insertions), ("delete", deletions)):
        file = tmp_path / f"{option}.nt"
        file.write_text("".join(f"{line}\n" for a in assertions for line in assertion_lines(a)))
        given += [f"--{option}", str(file)]
    assert shiq("check", *given, "--reduced", tmp_path / "here.nt").returncode == 1
    with cluster.cluster(tmp_path) as made:
        far = ["check", *given, "--engine", "graphframes", "--reduced", f"{tmp_path}/far.nt"]
        job = cluster.nightly(made, far, {"spark.checkpoint.dir": str(tmp_path / "rounds")}, "job")
        while not [*tmp_path.glob("rounds/*/shiq-rounds-*/edges1/*/_SUCCESS")]:
            assert job.poll() is None, made.log("job")[-3000:]
            time.sleep(0.1)
        cluster.kill_a_worker(made)
        assert job.wait(900) == 1, made.log("job")[-3000:]
        assert cluster.lost_executors(made, "job") == 1
    lines = (sorted((tmp_path / f"{name}.nt").read_text().splitlines()) for name in ("here", "far"))
    assert next(lines) == next(lines)


def renamed_case(seed: int) -> Parts:
    """A random knowledge base under names of its own."""
    tbox, *parts = random_parts(seed)
    names = Apart(PREFIX, seed)
    axioms = tuple(renamed(axiom, names) for axiom in tbox.axioms)
    base, insertions, deletions = (
        [renamed(assertion, names) for assertion in part] for part in parts
    )
    return TBox(axioms), base, insertions, deletions


# --- checks ---------------------------------------------------------------------------------------


def command(folder: str, *options: str) -> list[str]:
    case = CASES / folder
    return [
        "check",
        "-t",
        f"{case}/tbox.ofn",
        "-a",
        f"{case}/abox.ofn",
        "-i",
        f"{case}/insertions.ofn",
        *options,
    ]


def test_a_conflict(calls: str) -> None:
    from shiq import check_insertions

    folder = CASES / "ClassesOfTheWhole"
    given = [folder / f"{file}.ofn" for file in ("tbox", "abox", "insertions")]
    found = check_insertions(*given, engine="graphframes", reasoner="own")
    wanted = check_insertions(*given, engine="spec", criterion="definition7", reasoner="own")
    assert found.verdict.value == json.loads((folder / "expected.json").read_text())["verdict"]
    assert found.evidence.criterion == "definition7"
    assert f"messages and components: {calls}" in found.evidence.notes
    assert found.conflicts == wanted.conflicts
    assert set(found.a_add) == set(wanted.a_add)


@pytest.mark.slow
def test_a_commit(calls: str, tmp_path: Path) -> None:
    from shiq.api import index
    from shiq.api import open_store as opened
    from shiq.jobs.store import open_store

    tbox, base, insertions, _ = two_classes_made_one()
    index(tbox, abox_of(base), tmp_path / "kg", reasoner="own", allow=("undeclared", "empty-tbox"))
    with opened(tmp_path / "kg") as session:
        found = session.check(
            abox_of(insertions),
            commit=True,
            engine="graphframes",
            reasoner="own",
            allow=("undeclared",),
        )
        assert found.committed == 2, found.reason
    with open_store(tmp_path / "kg") as store:
        assert set(store.export()) == {*base, *insertions}


@pytest.mark.slow
def test_a_module_that_is_too_large_stays_undecided(calls: str) -> None:
    from shiq import check_insertions

    folder = CASES / "PaperExample2"
    given = [folder / f"{file}.ofn" for file in ("tbox", "abox", "insertions")]
    found = check_insertions(*given, engine="graphframes", reasoner="own", most_module=3)
    assert found.verdict is Verdict.UNDETERMINED
    assert "larger than a task is given (--most-module 3)" in found.reason
    assert (
        len(found.evidence.undecided_modules) == 1
        and len(found.evidence.undecided_modules[0].individuals) == 3
    )


@pytest.mark.slow
def test_a_wrong_answer_from_below_ends_the_command_with_4(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pyspark.sql import functions as F

    from shiq.jobs.cli import main
    from shiq.jobs.graphframes.messages import DataFrameCalls, edge_ends

    apart, joined = F.col("id"), F.lit(0).cast("bigint")
    for wrong in (apart, joined):
        name = wrong.alias("component")
        monkeypatch.setattr(
            DataFrameCalls,
            "components",
            lambda _, edges, files, name=name: edge_ends(edges).select("id", name),
        )
        with pytest.raises(SystemExit) as ended:
            main(command("PaperExample2", "--engine", "graphframes", "--reasoner", "own"))
        assert ended.value.code == 4
        assert "does not hold" in capsys.readouterr().err


@pytest.mark.slow
def test_joined_components_are_caught_where_they_are_laid_out(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions as F

    from shiq.jobs.graphframes.engine import GraphFramesKnowledgeBase
    from shiq.jobs.graphframes.messages import CertificateError, DataFrameCalls, edge_ends

    def joined(_: Any, edges: Any, files: Any) -> Any:
        ids = edge_ends(edges)
        return ids.crossJoin(ids.agg(F.min("id").alias("component")))

    monkeypatch.setattr(DataFrameCalls, "components", joined)
    tbox, base, insertions, _ = side_by_side(
        [golden("PaperExample2"), golden("PaperExample2")], "urn:case#"
    )
    engine = GraphFramesKnowledgeBase.build(tbox, abox_of(base))
    with pytest.raises(CertificateError, match="components"):
        engine.graph_add_set(abox_of(insertions), ABox())

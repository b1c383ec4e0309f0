"""The engine `spark` against the engine `local`: batches that tasks have read, and shapes that
executors have decided.
"""

from __future__ import annotations

import gzip
import itertools
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.errors import UsageError
from shiq.jobs.spark import executor_reasoner, reading
from shiq.jobs.store import open_store as open_opened
from shiq.jobs.store.schema import COMPLETION
from shiq.model import (
    THING,
    Assertion,
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectAllValuesFrom,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from tests.tools.random_ontologies.kb import RandomKB, random_kb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS: dict[str, Any] = {"reasoner": "own", "allow": ("undeclared", "empty-tbox")}


@dataclass(frozen=True)
class Case:
    tbox: TBox
    abox: tuple[Assertion, ...]
    insertions: tuple[Assertion, ...]


def chains(count: int) -> Case:
    """Far-apart chains; the batch touches many of them, joins two by a fresh individual, and
    contradicts one.
    """
    cat, dog, likes = Class("urn:Cat"), Class("urn:Dog"), ObjectProperty("urn:likes")
    tbox = TBox(
        (
            DisjointClasses((cat, dog)),
            SubClassOf(cat, ObjectAllValuesFrom(likes, cat)),
            SubClassOf(cat, ObjectMaxCardinality(2, likes, THING)),
        )
    )
    abox: list[Assertion] = []
    insertions: list[Assertion] = []
    for i in range(count):
        names = [f"urn:{i}/{j}" for j in range(4)]
        abox += (ObjectPropertyAssertion(likes, a, b) for a, b in itertools.pairwise(names))
        abox.append(ClassAssertion(dog, names[3]))
        insertions.append(ClassAssertion(dog, f"urn:{i}/0"))
    insertions += [
        ObjectPropertyAssertion(likes, "urn:0/1", "urn:new"),
        ObjectPropertyAssertion(likes, "urn:new", f"urn:{count - 1}/0"),
        ClassAssertion(cat, "urn:0/1"),
    ]
    return Case(tbox, tuple(abox), tuple(insertions))


def less_of(seed: int) -> tuple[RandomKB, list[Assertion]]:
    """A random knowledge base, and some of what it asserts."""
    kb = random_kb(seed)
    return kb, random.Random(seed).sample(
        sorted(kb.abox, key=repr), min(len(kb.abox), 1 + seed % 4)
    )


def answer(result: Result) -> dict[str, Any]:
    """What the engines have to agree on."""
    value = result.to_dict()
    value["statistics"] = {
        k: v for k, v in value["statistics"].items() if k not in ("seconds", "spark")
    }
    value["evidence"] = {k: v for k, v in value["evidence"].items() if k not in ("engine", "run")}
    return {k: v for k, v in value.items() if k != "about"}


def written(path: Path, assertions: Sequence[Assertion]) -> str:
    """``assertions`` as a file of lines."""
    path.write_text(
        "".join(f"{line}\n" for assertion in assertions for line in assertion_lines(assertion))
    )
    return str(path)


def same_answers(
    path: Path,
    insertions: Sequence[Assertion],
    criterion: str = "auto",
    deletions: Sequence[Assertion] = (),
    **more: Any,
) -> Result:
    """The result of the engine spark for one batch, given as files, which is that of `local`."""
    given = (
        written(path.parent / "i.nt", insertions),
        written(path.parent / "d.nt", deletions) if deletions else None,
    )
    asked = {**_SETTINGS, "criterion": criterion, "explain_seconds": None, **more}
    with open_store(path) as session:
        local, far = (
            session.check(*given, engine=engine, **asked) for engine in ("local", "spark")
        )
        assert answer(far) == answer(local)
        assert sorted(far.modules) == sorted(local.modules)
        assert Counter(far.a_add) == Counter(local.a_add)
        return far


def descriptions(spark: SparkSession) -> list[str]:
    """Of the jobs with the tag of checks, ascending."""
    context = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
    found = sorted(context.statusTracker().getJobIdsForTag("shiq"))
    return [context.statusStore().job(job).description().get() for job in found]


@pytest.mark.spark
def test_a_small_batch_is_one_job(spark: SparkSession, tmp_path: Path) -> None:
    """The caller's session is as it was; reasons and questions are told as with `local`."""
    case, store = chains(6), tmp_path / "kg"
    assert index(case.tbox, abox_of(case.abox), store, **_SETTINGS).verdict is Verdict.CONSISTENT
    before, said = len(descriptions(spark)), "what the caller does"
    spark.sparkContext.setJobDescription(said)
    links = [a for a in case.insertions if isinstance(a, ObjectPropertyAssertion)]
    clean = same_answers(store, links, why_pulled=True)
    assert (
        clean.verdict is Verdict.CONSISTENT and clean.why_pulled is not None and not clean.conflicts
    )
    cost = clean.statistics.spark
    assert (
        (cost["jobs"], cost["shuffled_bytes"]) == (1, 0) and cost["tasks"] and cost["result_bytes"]
    )
    faulty = same_answers(store, case.insertions)
    assert (
        faulty.conflicts and faulty.complete and faulty.a_add.frame().count() == len(faulty.a_add)
    )  # type: ignore[attr-defined]
    assert same_answers(store, case.insertions, "clausal", case.abox[:3]).conflicts
    assert not same_answers(store, case.insertions, explain_seconds=0).conflicts
    assert same_answers(store, case.insertions, verdict_only=True).verdict is Verdict.INCONSISTENT
    assert set(descriptions(spark)[before:]) >= {"shiq: reading the batch"}
    assert spark.sparkContext.getLocalProperty("spark.job.description") == said
    assert not spark.sparkContext.getJobTags()
    spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    with open_store(store) as session:
        runs = [
            session.check(abox_of(batch), engine="spark", **_SETTINGS).evidence.run
            for batch in (case.insertions, case.insertions[::-1], case.insertions[1:])
        ]
        assert runs[0] == runs[1] != runs[2]
        # Nothing to read, and nothing hard.
        assert not session.check(abox_of(links), engine="spark", **_SETTINGS).statistics.spark
        assert session.check(abox_of(links), **_SETTINGS).statistics.spark == {}
        with pytest.raises(UsageError, match="only the engines spark"):
            session.check(abox_of(links), **_SETTINGS).a_add.frame()  # type: ignore[attr-defined]


@pytest.mark.spark
@pytest.mark.parametrize(
    "seeds", [range(2, 5), pytest.param(range(5, 40), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_random_knowledge_bases(
    spark: SparkSession, tmp_path: Path, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every shape is decided by executors; `auto` is `model`, unless what is deleted is complex."""
    monkeypatch.setattr(executor_reasoner, "MOST_HERE", 0)
    monkeypatch.setattr(executor_reasoner, "LEAST_OUT", 1)
    used: Counter[str] = Counter()
    for seed in seeds:
        kb, deletions = less_of(seed)
        store = tmp_path / str(seed) / "kg"
        if (
            index(kb.tbox, abox_of(kb.abox), store, max_conflicts=0, **_SETTINGS).verdict
            is Verdict.CONSISTENT
        ):
            for criterion in ("auto", "clausal"):
                found = same_answers(store, kb.insertions, criterion, deletions if seed % 2 else ())
                used[found.evidence.criterion] += 1
    assert used["model"] and used["clausal"]


@pytest.mark.spark
def test_executors_decide_what_is_many_or_hard(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One shape alone is decided here."""
    case, store = chains(4), tmp_path / "kg"
    assert index(case.tbox, abox_of(case.abox), store, **_SETTINGS).verdict is Verdict.CONSISTENT
    before = descriptions(spark).count("shiq: deciding shapes")
    for tried, is_out in ((100, False), (1, False), (0, True)):
        monkeypatch.setattr(executor_reasoner, "MOST_HERE", tried)
        found = same_answers(store, case.insertions[:-1], "none")
        assert found.verdict is Verdict.CONSISTENT and found.statistics.reasoner_calls == 2
        assert (descriptions(spark).count("shiq: deciding shapes") > before) == is_out
    # Explaining asks on the driver.
    out = descriptions(spark).count("shiq: deciding shapes") - before
    assert same_answers(store, case.insertions, "none").conflicts
    assert descriptions(spark).count("shiq: deciding shapes") == before + 2 * out


@pytest.mark.spark
def test_a_commit_by_spark_writes_the_tables_of_local(spark: SparkSession, tmp_path: Path) -> None:
    case = chains(3)
    cats = [
        a
        for a in case.insertions
        if isinstance(a, ClassAssertion) and a.expression == Class("urn:Dog")
    ]
    first, second = (written(tmp_path / f"{i}.nt", cats[i : i + 1]) for i in (0, 1))
    gone = written(tmp_path / "gone.nt", case.abox[:2])
    for engine in ("local", "spark"):
        index(case.tbox, abox_of(case.abox), tmp_path / engine, **_SETTINGS)
        with open_store(tmp_path / engine) as session:
            assert session.check(first, engine=engine, commit=True, **_SETTINGS).committed == 2
            less = session.check(second, gone, engine=engine, commit=True, **_SETTINGS)
            assert (less.committed, less.evidence.criterion) == (3, "model")
    with open_opened(tmp_path / "local") as local, open_opened(tmp_path / "spark") as far:
        assert far.is_completed and [*far.export()] == [*local.export()]
        for name in COMPLETION:
            assert {c: list(x) for c, x in far.table(name).all().items()} == {
                c: list(x) for c, x in local.table(name).all().items()
            }


#: A store, a batch, what is read first and by which call; what that tells whose time is over while the
#: JVM starts, whether a process of it is left, and the verdict of the next check.
_STARTING = """
import os, subprocess, sys, time
from functools import partial
from shiq.api import open_store
from shiq.jobs.gate import gate
with open_store(sys.argv[1]) as session:
    call = session.check if sys.argv[4] == "check" else partial(gate, session)
    print(call([sys.argv[3]], engine="spark", timeout=0.5).reason)
    time.sleep(1)
    ps = subprocess.run(["ps", "-o", "stat=", "--ppid", str(os.getpid())], capture_output=True)
    print(sum(not state.startswith(("Z", "R")) for state in ps.stdout.decode().split()))
    print(session.check(sys.argv[2], engine="spark", reasoner="own").verdict.value)
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("call", "first"),
    [("check", "batch.nt"), ("check", "table:of.facts"), ("gate", "table:of.facts")],
)
def test_the_time_is_over_while_the_jvm_starts(call: str, first: str, tmp_path: Path) -> None:
    """Java waits for 3 s before it starts: on a fast machine it would be there in time."""
    slow = tmp_path / "slow" / "bin" / "java"
    slow.parent.mkdir(parents=True)
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    slow.write_text(f'#!/bin/sh\nsleep 3\nexec "{java}" "$@"\n', "utf-8")
    slow.chmod(0o755)
    case = chains(3)
    index(case.tbox, abox_of(case.abox), tmp_path / "kg", max_conflicts=0, **_SETTINGS)
    batch = tmp_path / "batch.nt"
    batch.write_text("".join(line + "\n" for a in case.insertions for line in assertion_lines(a)))
    ran = subprocess.run(
        [sys.executable, "-c", _STARTING, str(tmp_path / "kg"), str(batch), first, call],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(slow.parent.parent)},
    )
    assert ran.returncode == 0, ran.stderr
    over, alive, verdict = ran.stdout.splitlines()
    assert over.startswith("not decided: the time of 0.5 s was over while ")
    assert (alive, verdict) == ("0", "inconsistent")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tbox", "data"),
    [("lubm/univ-bench.owl", "lubm/L1.nt.gz"), ("uobm/univ-bench-dl.owl", "uobm/U1.nt.gz")],
)
def test_real_data(
    spark: SparkSession, data_path: Path, tmp_path: Path, tbox: str, data: str, monkeypatch: Any
) -> None:
    """5 % of the data, its subjects exchanged, half of them for fresh ones; read in parts of
    some kilobytes.
    """
    for file in (tbox, data):
        if not (data_path / file).is_file():
            pytest.skip(f"no {file} in the test data")
    monkeypatch.setattr(reading, "PART_BYTES", 50_000)
    monkeypatch.setattr(reading, "LEAST_BYTES", 0)
    lines = gzip.decompress((data_path / data).read_bytes()).decode().splitlines()
    dice = random.Random(0)
    batch = tmp_path / "batch.nt"
    chosen = [line.split(" ", 1)[1] for line in dice.sample(lines, len(lines) // 20)]
    subjects = [
        dice.choice(lines).split(" ", 1)[0]
        if dice.random() < 0.5
        else f"<urn:{dice.randrange(2000)}>"
        for _ in chosen
    ]
    batch.write_text("".join(f"{s} {rest}\n" for s, rest in zip(subjects, chosen)))
    index(str(data_path / tbox), str(data_path / data), tmp_path / "kg")
    with open_store(tmp_path / "kg") as session:
        results = [
            session.check(str(batch), engine=engine, max_conflicts=5)
            for engine in ("local", "spark")
        ]
        assert answer(results[0]) == answer(results[1])
        assert sorted(results[0].modules) == sorted(results[1].modules)
        assert Counter(results[0].a_add) == Counter(results[1].a_add)

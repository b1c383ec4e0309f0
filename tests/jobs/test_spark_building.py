"""Building a store on Spark: the store equals the one that the embedded writer makes, table by
table, and so does what is known of it.
"""

from __future__ import annotations

import gzip
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from pyspark import cloudpickle

from shiq.abox_ops.modules.decide import Decider
from shiq.answers.verdict import Verdict
from shiq.api import certify, index
from shiq.api import open_store as open_session
from shiq.errors import InputError, OperationalError, StoreError
from shiq.inputs.reading import Reading, select_data_leftovers
from shiq.inputs.sources import TextInput
from shiq.jobs.building import worker
from shiq.jobs.building.build import BuildSettings, BuiltStore, build
from shiq.jobs.building.exchange import Executor
from shiq.jobs.building.executor import ProcessExecutor
from shiq.jobs.checking import calls
from shiq.jobs.spark import executor as spark_executor
from shiq.jobs.spark.executor import SparkExecutor
from shiq.jobs.store import Certificate, Store, numbering, open_store
from shiq.jobs.store.schema import ALWAYS, COMPLETION
from shiq.jobs.store.upkeep import prepare, write_store
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DisjointClasses,
    FunctionalObjectProperty,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    Signature,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, abox_of
from shiq.model.ntriples import assertion_lines
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.vocabulary import RDF
from shiq.reasoner import create_reasoner
from tests.command_line import shiq
from tests.killing import killed_at_last
from tests.tools.random_ontologies.kb import random_kb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Here:
    """Stands for a Spark session: tasks run in this process, one after the other, with what they
    take and give pickled.
    """

    defaultParallelism = 2
    master = "here"

    def __init__(self) -> None:
        self.environment = dict[str, str]()
        self.conf = dict[str, str]()

    @property
    def sparkContext(self) -> Here:
        return self

    def setJobDescription(self, text: str | None) -> None:
        pass

    def getLocalProperty(self, name: str) -> None:
        pass

    def setLocalProperty(self, name: str, value: str | None) -> None:
        pass

    tasks: type[Tasks]

    def range(self, start: int, end: int, step: int, count: int) -> Tasks:
        return self.tasks(_numbers(range(start, end, step)))

    def createDataFrame(self, rows: pa.Table) -> Tasks:
        return self.tasks([rows])


@dataclass
class Tasks:
    """A DataFrame by its partitions, and what is still to be made of each."""

    parts: Sequence[pa.Table]
    task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None
    schema: pa.Schema = None

    def mapInArrow(
        self, task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], ddl: str
    ) -> Tasks:
        kinds = {
            "int": pa.int32(),
            "bigint": pa.int64(),
            "string": pa.string(),
            "binary": pa.binary(),
        }
        return replace(
            self,
            task=task,
            schema=pa.schema(
                [(name, kinds[kind]) for name, kind in map(str.split, ddl.split(","))]
            ),
        )

    def repartitionById(self, count: int, column: str) -> Tasks:
        rows = pa.concat_tables(self.made())
        rows = rows.take(random.Random(count).sample(range(len(rows)), len(rows)))
        return replace(
            self, parts=[rows.filter(pc.equal(rows[column], i)) for i in range(count)], task=None
        )

    def sortWithinPartitions(self, column: str) -> Tasks:
        return replace(self, parts=[rows.sort_by(column) for rows in self.made()], task=None)

    def made(self) -> list[pa.Table]:
        if self.task is None:
            return list(self.parts)
        sent = cloudpickle.dumps(self.task)
        found = ([*pickle.loads(sent)(iter(rows.to_batches()))] for rows in self.parts)
        return [pa.Table.from_batches(batches, self.schema) for batches in found]

    def toArrow(self) -> pa.Table:
        return pa.concat_tables(self.made())


Here.tasks = Tasks


def _numbers(numbers: Sequence[int]) -> list[pa.Table]:
    return [pa.table({"id": pa.array([i], pa.int64())}) for i in numbers]


class Older(Tasks):
    """As in Spark 4.0, which parts rows by a hash: several parts meet in one task, and one has
    none.
    """

    def __getattribute__(self, name: str) -> Any:
        if name == "repartitionById":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def repartition(self, count: int, column: str) -> Tasks:
        rows = pa.concat_tables(self.made())
        odd = pc.equal(pc.bit_wise_and(rows[column], 1), 1)
        return replace(
            self, parts=[rows.filter(odd), rows.filter(pc.invert(odd)), rows.slice(0, 0)], task=None
        )


class HereOlder(Here):
    tasks = Older


HERE = ProcessExecutor()
OLDER = SparkExecutor(cast("SparkSession", HereOlder()))


class Twice(ProcessExecutor):
    """Every task runs twice, as if by two workers that know nothing yet; some are lost after the
    first run.
    """

    def _run_in_workers(self, tasks: Sequence[bytes]) -> list[bytes]:
        turns = []
        for _ in range(2):
            found = []
            for task in reversed(tasks):
                worker._cache.clear()
                found += super()._run_in_workers([task])
            turns.append(found[::-1])
        return [turns[i % 2][i] for i in range(len(tasks))]


class Weighed(ProcessExecutor):
    """Adds up the bytes that tasks give to the driver."""

    def __init__(self) -> None:
        super().__init__()
        self.collected = 0

    def _run_in_workers(self, tasks: Sequence[bytes]) -> list[bytes]:
        found = super()._run_in_workers(tasks)
        self.collected += sum(map(len, found))
        return found


TBOX = TBox(
    (
        DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),
        FunctionalObjectProperty(ObjectProperty("urn:owner")),
    ),
    Signature(frozenset({"urn:Cat", "urn:Dog"}), frozenset({"urn:owner"}), frozenset({"urn:name"})),
)


def built(
    executor: Executor,
    path: Path,
    ontology: Reading,
    sources: Sequence[object],
    settings: BuildSettings,
) -> tuple[Store, BuiltStore]:
    """The store as Spark builds it, and what the build knows of it."""
    told: list[BuiltStore] = []

    def certifying(found: BuiltStore) -> Certificate:
        told.append(found)
        return Certificate.create(verdict="undetermined", reasoner="own")

    build(executor, path, ontology, sources, certifying, settings=settings)
    return open_store(path), told[0]


@dataclass(frozen=True)
class Embedded:
    """What the embedded writer makes: its store, what it was read from, and (size of what is
    kept, modules, shapes) of the certificate by a model, if there is one.
    """

    store: Store
    given: Reading
    certificate: tuple[int, int, int] | None


def embedded(
    path: Path,
    ontology: Reading,
    sources: Sequence[object],
    *,
    completes: bool = True,
    width: int | None = None,
) -> Embedded:
    assert not len(ontology.abox)
    given = read_assertions(
        list(sources),
        ontology.tbox.signature,
        ontologies=ontology.ontologies,
        axioms=ontology.tbox.axioms,
    )
    leftovers = (*ontology.leftovers, *given.leftovers)
    decider = Decider(create_reasoner("own"))
    prepared = prepare(ontology.tbox, given.abox, width)
    found = (
        prepared.certify(decider.decide, lambda: False) if completes and len(given.abox) else None
    )
    prepared = found[0] if found else prepared
    left_out, names = select_data_leftovers(given.left_out), ontology.ontologies
    store = write_store(
        path,
        ontology.tbox,
        given.abox,
        leftovers=leftovers,
        ontologies=names,
        left_out=left_out,
        prepared=prepared,
    )
    if found is None:
        return Embedded(store, given, None)
    modules = [m.module for m in found[1].modules]
    return Embedded(
        store, given, (found[1].size, len(modules), decider.count_shapes(found[1].tbox, modules))
    )


def rows(store: Store, name: str) -> dict[str, list[Any]]:
    table = store.table(name).all()
    return {
        c: column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        for c, column in table.items()
    }


def assert_equal(ours: Store, theirs: Store) -> None:
    """Equal row by row, in order, in every table and document."""
    assert ours.is_completed == theirs.is_completed
    assert not (ours.is_completed and len(ours.table("merged"))), (
        "merge classes of told beside those of the model"
    )
    for name in (*ALWAYS, *(COMPLETION if theirs.is_completed else ())):
        assert rows(ours, name) == rows(theirs, name), name
    assert ours.index_document == theirs.index_document
    assert ours.leftovers == theirs.leftovers
    assert ours.tbox == theirs.tbox
    assert dict(ours.manifest.facts) == dict(theirs.manifest.facts)
    assert sorted(ours.left_out(), key=repr) == sorted(theirs.left_out(), key=repr)
    assert len(ours) == len(theirs)


def assert_same_answer(found: BuiltStore, ontology: Reading, theirs: Embedded) -> None:
    """The verdict by modules, their number and shapes, and what is kept, as the engine `local`
    has them. Without a completion the builder counts by the stored merge classes, coarser than
    those of a check: it may keep more, in larger modules.
    """
    certified = found.certificate_figures
    assert found.is_completed == (theirs.certificate is not None)
    if theirs.certificate:
        assert (found.kept_assertions, certified.modules, certified.shapes) == theirs.certificate
        assert certified.verdicts == {"consistent": certified.modules} and not certified.clashes
        return
    result = certify([ontology.tbox], [theirs.given.abox], reasoner="own", max_conflicts=0)
    decided = dict(result.evidence.decided)
    assert decided.pop("contradictory") == certified.clashes
    assert decided.keys() - {"consistent"} == certified.verdicts.keys() - {"consistent"}
    assert sum(certified.verdicts.values()) == certified.modules >= certified.shapes
    assert result.statistics.modules >= certified.modules
    assert result.statistics.add_set <= found.kept_assertions


def write(path: Path, assertions: Iterable[Assertion]) -> Path:
    text = "".join(f"{line}\n" for assertion in assertions for line in assertion_lines(assertion))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def compare(
    executor: Executor,
    tmp_path: Path,
    ontology: Reading,
    sources: Sequence[object],
    *,
    width: int,
    chunk_bytes: int = 2000,
    completes: bool = True,
) -> tuple[Store, BuiltStore]:
    settings = BuildSettings(
        width=width, chunk_bytes=chunk_bytes, reasoner="own", certifies_by_model=completes
    )
    ours, found = built(executor, tmp_path / "spark", ontology, sources, settings)
    theirs = embedded(tmp_path / "local", ontology, sources, completes=completes, width=width)
    assert_equal(ours, theirs.store)
    assert found.chunks.ledger == theirs.given.ledger
    assert_same_answer(found, ontology, theirs)
    return ours, found


# --- random ones ----------------------------------------------------------------------------------


def random_base(seed: int, tmp_path: Path) -> tuple[Reading, list[Path]]:
    kb = random_kb(seed)
    assertions = [*kb.abox, *kb.insertions]
    random.Random(seed).shuffle(assertions)
    half = len(assertions) // 2
    files = [
        write(tmp_path / "a.nt", assertions[:half]),
        write(tmp_path / "b.nt.gz", assertions[half:] + assertions[:2]),
    ]
    return read_ontology([kb.tbox]), files


def one_random(
    executor: Executor, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    width = random.Random(seed).choice([1, 2, 3, 5])
    monkeypatch.setattr(numbering, "RANGE", width)
    ontology, files = random_base(seed, tmp_path)
    _, found = compare(
        executor, tmp_path, ontology, files, width=width, chunk_bytes=300, completes=seed % 3 > 0
    )
    if seed % 3 == 0:
        monkeypatch.setattr(numbering, "RANGE", 1 << 20)
        settings = BuildSettings(
            width=1 << 20, chunk_bytes=300, reasoner="own", certifies_by_model=False
        )
        _, whole = built(executor, tmp_path / "one_range", ontology, files, settings)
        assert figures(found) == figures(whole)


def figures(found: BuiltStore) -> tuple[object, ...]:
    certified = found.certificate_figures
    return (
        found.kept_assertions,
        certified.modules,
        certified.shapes,
        certified.clashes,
        certified.verdicts,
    )


@pytest.mark.parametrize("seed", range(14))
def test_random_bases(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_random(HERE, seed, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_random_bases_at_length(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        one_random(HERE, seed, tmp_path, monkeypatch)
        for entry in list(tmp_path.iterdir()):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@pytest.mark.parametrize("seed", [2, 11, 17])
def test_tasks_that_run_twice_change_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_random(Twice(), seed, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", [2, 11])
def test_parts_that_meet_in_one_task_change_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_random(OLDER, seed, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "session", [Here(), HereOlder()], ids=lambda session: type(session).__name__
)
def test_many_parts_go_to_their_own_tasks_alone(
    session: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each task is sent does not grow with the parts, and the store is the same."""
    monkeypatch.setattr(spark_executor, "MOST_BYTES_PER_TASK", 0)
    one_random(SparkExecutor(cast("SparkSession", session)), 11, tmp_path, monkeypatch)
    rows, along = spark_executor.make_task_rows(cast("SparkSession", session), ["a", "b", "c"])
    given = [*spark_executor.unpickle_arguments(along, iter(rows.toArrow().to_batches()))]
    assert along == () and sorted(set(given)) == [(0, "a"), (1, "b"), (2, "c")]


def test_nothing(tmp_path: Path) -> None:
    """No source, and a TBox without axioms."""
    compare(HERE, tmp_path, read_ontology([TBox()]), [], width=4)


@pytest.mark.parametrize("completes", [True, False])
def test_shapes_are_drawn_for_an_audit(tmp_path: Path, completes: bool) -> None:
    """All of them, or those of a share, with what was said of them; whether by a model, or range
    by range.
    """
    names = [Class(f"urn:C{i}") for i in range(4)]
    axioms = (
        SubClassOf(name, ObjectUnionOf((Class("urn:D"), Class(f"urn:E{i}"))))
        for i, name in enumerate(names)
    )
    file = write(
        tmp_path / "a.nt",
        [
            ClassAssertion(c, f"urn:{k}")
            for k in range(16)
            for i, c in enumerate(names)
            if k >> i & 1
        ],
    )
    ontology, counts = read_ontology([TBox(tuple(axioms))]), []
    for share in (1.0, 0.5, 0.0):
        settings = BuildSettings(width=4, reasoner="own", certifies_by_model=completes, audit=share)
        _, found = built(HERE, tmp_path / "kg", ontology, [file], settings)
        asked = found.certificate_figures.audit_sample
        counts.append(len(asked.modules) if asked else 0)
        if asked:
            decider = Decider(create_reasoner("own"))
            said = [
                x.verdict.value
                for x in decider.decide(asked.tbox, [module for module, _ in asked.modules])
            ]
            assert said == [verdict for _, verdict in asked.modules]
    assert counts[0] == found.certificate_figures.shapes > counts[1] > counts[2] == 0


def test_what_the_driver_collects_does_not_grow_with_the_data(tmp_path: Path) -> None:
    """Eight times the assertions in as many tasks: the driver is told as much."""
    told = []
    for size in (600, 4800):
        pairs = [
            (f"urn:{i // 20:04d}/{i % 20}", f"urn:{i // 20:04d}/{i * 7 % 20}") for i in range(size)
        ]
        assertions: list[Assertion] = [
            ObjectPropertyAssertion(ObjectProperty("urn:knows"), a, b) for a, b in pairs
        ]
        assertions += [ClassAssertion(Class("urn:Cat"), a) for a, _ in pairs]
        file = write(tmp_path / f"{size}.nt", assertions)
        executor = Weighed()
        settings = BuildSettings(
            width=size // 4, chunk_bytes=file.stat().st_size // 2 + 1, reasoner="own"
        )
        store, _ = built(
            executor,
            tmp_path / f"kg{size}",
            read_ontology([TBOX]),
            [file],
            settings,
        )
        assert len(store) == len(set(assertions))
        told.append(executor.collected)
    assert told[1] < 1.2 * told[0]


@pytest.mark.parametrize("near", [True, False])
def test_files_that_are_opened_grow_with_the_data(
    near: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times the chunks and the ranges: not sixty-four times the files, also where what
    belongs together is far apart by its terms, and so is clustered.
    """
    opened, opens = [], pa.memory_map
    monkeypatch.setattr(pa, "memory_map", lambda path: opened.append(path) or opens(path))
    counts = []
    for size in (1, 8):
        terms = [
            f"urn:{i if near else random.Random(i).randrange(1 << 40):04d}"
            for i in range(200 * size)
        ]
        pairs = [(term, terms[i ^ 1]) for i, term in enumerate(terms)]
        file = write(
            tmp_path / f"{size}.nt",
            [ObjectPropertyAssertion(ObjectProperty("urn:owner"), a, b) for a, b in pairs],
        )
        settings = BuildSettings(
            width=50, near_distance=9, single_task_links=0, chunk_bytes=2000, reasoner="own"
        )
        store, _ = built(HERE, tmp_path / f"kg{size}", read_ontology([TBOX]), [file], settings)
        assert near == (store.terms_of(store.table("individuals").all()["node"]) == sorted(terms))
        counts.append(len(opened))
        opened.clear()
    assert 50 < counts[1] < 9 * counts[0]


# --- numbering ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "width", "finish"),
    [(0, 7, 0), (1, 64, 0), (2, 16, 300), (3, 1000, 0), (4, 9, 1 << 20)],
)
def test_the_clustered_numbering(
    seed: int, width: int, finish: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms that do not tell what belongs together; parts and levels of several sizes; hubs and
    loops.
    """
    rng = random.Random(seed)
    terms = [f"urn:{rng.randrange(1 << 40)}" for _ in range(150)]
    groups = [terms[i : i + 10] for i in range(0, len(terms), 10)]
    pairs = [(rng.choice(group), rng.choice(group)) for group in groups for _ in range(25)]
    pairs += [(rng.choice(terms), rng.choice(terms)) for _ in range(30)] + [
        (terms[0], term) for term in terms[::4]
    ]
    r = [ObjectProperty(f"urn:r{i}") for i in range(3)]
    ontology = read_ontology(
        [
            TBox(
                (FunctionalObjectProperty(r[0]),),
                Signature(object_properties=frozenset(x.iri for x in r)),
            )
        ]
    )
    file = write(
        tmp_path / "a.nt", [ObjectPropertyAssertion(rng.choice(r[1:]), a, b) for a, b in pairs]
    )
    for module, name, value in ((numbering, "RANGE", width), (numbering, "NEAR", 9)):
        monkeypatch.setattr(module, name, value)
    settings = BuildSettings(
        width=width, near_distance=9, single_task_links=finish, chunk_bytes=4000, reasoner="own"
    )
    ours, _ = built(HERE, tmp_path / "spark", ontology, [file], settings)
    assert_equal(ours, embedded(tmp_path / "local", ontology, [file], width=width).store)
    assert ours.terms_of(ours.table("individuals").all()["node"]) != sorted(set(terms)), (
        "it was clustered"
    )


# --- workers of this machine ----------------------------------------------------------------------


def children() -> set[int]:
    """The processes that this one has started, by their numbers."""
    return {
        int(pid)
        for tasks in Path("/proc/self/task").iterdir()
        for pid in (tasks / "children").read_text().split()
    }


def kill_the_worker(part: int) -> int:
    """A task: ends its process where ``part`` is 3."""
    if part == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return part


def refuse(part: int) -> int:
    """A task that cannot use its part."""
    raise InputError(f"no {part}", "Give another.")


def ends_early(part: int) -> None:
    """A task: leaves its number, prints, and waits."""
    print("printed by a task")
    Path(f"begun-{os.getpid()}").touch()
    time.sleep(600)


def test_worker_processes_make_the_same_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    with ProcessExecutor(2) as executor:
        assert executor.run(str, [], "nothing") == [] and children() == before
        one_random(executor, 7, tmp_path, monkeypatch)
        assert len(children() - before) == 2
    assert children() == before


def test_what_a_task_raises_is_raised_here() -> None:
    with ProcessExecutor(2) as executor, pytest.raises(InputError) as caught:
        executor.run(refuse, [1], "refusing")
    assert (caught.value.message, caught.value.remedy) == ("no 1", "Give another.")


def test_a_worker_that_dies_ends_the_build_and_leaves_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    with ProcessExecutor(2) as executor, pytest.raises(OperationalError, match="ended by signal 9"):
        executor.run(kill_the_worker, range(9), "dying")
    assert children() == before
    file = write(
        tmp_path / "a.nt", [ClassAssertion(Class("urn:Cat"), f"urn:{i}") for i in range(9)]
    )
    monkeypatch.setattr(
        "shiq.jobs.building.build.saturate_told",
        lambda executor, *_: executor.run(kill_the_worker, range(9), "dying"),
    )
    with pytest.raises(OperationalError), ProcessExecutor(2) as executor:
        built(executor, tmp_path / "kg", read_ontology([TBOX]), [file], BuildSettings(width=4))
    with pytest.raises(StoreError):
        open_store(tmp_path / "kg")
    assert not (tmp_path / "kg" / "building").exists() and children() == before


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        *(pytest.param(x, marks=pytest.mark.slow) for x in (signal.SIGINT, signal.SIGTERM)),
    ],
)
def test_workers_end_with_the_process_that_started_them(number: int, tmp_path: Path) -> None:
    """Also in the middle of a task; and the caller's main module need not guard itself."""
    program = (
        "from shiq.jobs.building.executor import ProcessExecutor\n"
        f"from {ends_early.__module__} import ends_early\n"
        "with ProcessExecutor(2) as executor:\n"
        "    executor.run(ends_early, range(2), 'waiting')\n"
    )
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    started = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import signal\nsignal.signal(2, signal.default_int_handler)\n{program}",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with killed_at_last(started) as run:
        wait_until(lambda: len([*tmp_path.glob("begun-*")]) == 2 or run.poll() is not None)
        workers = [int(file.name.partition("-")[2]) for file in tmp_path.glob("begun-*")]
        run.send_signal(number)
        out, _ = run.communicate(timeout=300)
    assert len(workers) == 2 and not out
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits until ``holds`` does; fails where it has not within two minutes."""
    for _ in range(2400):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("it did not come to that")


# --- large bases of the engine local ---------------------------------------------------------------


def by_both_ways(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tbox: object,
    files: list[Path],
    **settings: Any,
) -> tuple[list[dict[str, Any]], int]:
    """The results of the engine `local` as for a large base and as for a small one, but for what
    it cost, with their equal stores; and how often ranges settled it.
    """
    results, settled = list[dict[str, Any]](), list[object]()
    here = calls.index_distributed

    def counted(*given: Any) -> Any:
        settled.append(here(*given))
        return settled[-1]

    for name, least in (("ranges", 0), ("whole", 1 << 60)):
        monkeypatch.setattr(calls, "LARGE_BASE_BYTES", least)
        monkeypatch.setattr(calls, "index_distributed", counted)
        result = index(
            tbox, files, tmp_path / name, reasoner="own", max_conflicts=0, range_size=3, **settings
        )
        monkeypatch.setattr(calls, "index_distributed", here)
        told = result.to_dict()
        for cost in ("seconds", "reasoner_calls"):
            told["statistics"].pop(cost)
        results.append(told)
    with open_store(tmp_path / "ranges") as ours, open_store(tmp_path / "whole") as theirs:
        assert_equal(ours, theirs)
        mine, other = ours.certificate, theirs.certificate
        assert mine and other and replace(mine, date="") == replace(other, date="")
    return results, sum(found is not None for found in settled)


@pytest.fixture
def tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges, chunks of a few lines, and no worker processes."""
    monkeypatch.setattr(
        "shiq.jobs.building.indexing.BuildSettings", partial(BuildSettings, chunk_bytes=300)
    )
    monkeypatch.setattr("shiq.jobs.building.indexing.ProcessExecutor", lambda _: ProcessExecutor())


@pytest.mark.usefixtures("tasks_here")
def test_large_bases_have_the_results_of_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether ranges settle it, or not; consistent or not."""
    settled, verdicts = 0, set()
    for seed in range(9):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kb = random_kb(seed)
        assertions = [*kb.abox, *kb.insertions] if seed % 2 else [*kb.abox]
        files = [
            write(folder / "a.nt", assertions[::2]),
            write(folder / "b.nt.gz", assertions[1::2]),
        ]
        if seed % 4 == 0:
            with files[0].open("a") as file:
                file.write("<urn:broken> <urn:line\n<urn:a> <urn:not-declared> <urn:b> .\n")
        allow = {"malformed", "undeclared"} if seed % 8 == 0 else set()
        (ours, theirs), count = by_both_ways(folder, monkeypatch, kb.tbox, files, allow=allow)
        assert ours == theirs, seed
        settled += count
        verdicts.add(ours["verdict"])
    assert settled > 2 and len(verdicts) > 1


@pytest.mark.usefixtures("tasks_here")
def test_what_is_told_of_a_base_is_told_of_large_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Classes that can have no member; hubs; what lies outside SHIQ(D), which HermiT is not asked
    about here.
    """
    monkeypatch.setattr("shiq.jobs.checking.answer.OVERSIZE", 20)
    monkeypatch.setattr("shiq.jobs.building.indexing.OVERSIZE", 20)
    monkeypatch.setattr("shiq.jobs.building.model_search.OVERSIZE", 20)
    prefix = "Prefix(:=<urn:t#>) Ontology(Declaration(Class(:A)) Declaration(Class(:B)) "
    prefix += "Declaration(Class(:C)) Declaration(ObjectProperty(:r)) "
    texts = {
        "impossible": "SubClassOf(:A :B) SubClassOf(:A ObjectComplementOf(:B))",
        "hub": "SubClassOf(:B ObjectAllValuesFrom(ObjectInverseOf(:r) ObjectUnionOf(:A :C))) "
        "SubClassOf(:A ObjectAllValuesFrom(:r ObjectUnionOf(:D :E))) SubClassOf(:D ObjectComplementOf(:B)) "
        "SubClassOf(:E ObjectAllValuesFrom(ObjectInverseOf(:r) ObjectComplementOf(:A)))",
        "outside": "SubClassOf(:A ObjectOneOf(<urn:t#x>))",
        "empty": "",
    }
    lines = [
        f"<urn:t#hub> <urn:t#r> <urn:t#x{i}> .\n<urn:t#x{i}> <{RDF}type> <urn:t#B> .\n"
        for i in range(40)
    ]
    (tmp_path / "a.nt").write_text("".join(lines))
    counts = {}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        tbox = TextInput(f"{prefix}{text})", "functional")
        (ours, theirs), counts[name] = by_both_ways(
            tmp_path / name, monkeypatch, tbox, [tmp_path / "a.nt"], outside="undetermined"
        )
        assert ours == theirs, name
    assert counts == {"impossible": 1, "hub": 0, "outside": 0, "empty": 0}


def test_a_large_base_is_built_by_workers_and_small_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ontology, files = random_base(3, tmp_path)
    started = list[int]()

    class Counted(ProcessExecutor):
        def __init__(self, processes: int) -> None:
            started.append(processes)
            super().__init__(processes)

    monkeypatch.setattr("shiq.jobs.building.indexing.ProcessExecutor", Counted)
    index(ontology.tbox, files, tmp_path / "small", reasoner="own")
    assert not started
    size = files[0].stat().st_size + 10 * files[1].stat().st_size
    monkeypatch.setattr(calls, "LARGE_BASE_BYTES", size + 1)
    index(ontology.tbox, files, tmp_path / "less", reasoner="own")
    assert not started
    monkeypatch.setattr(calls, "LARGE_BASE_BYTES", size)
    assert calls.bytes_of_lines(files) == size
    assert not calls.bytes_of_lines([*files, abox_of([])])
    index(ontology.tbox, files, tmp_path / "one", reasoner="own")
    monkeypatch.setattr("shiq.jobs.building.indexing._BYTES_OF_WORKER", size // 2)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    index(ontology.tbox, files, tmp_path / "large", reasoner="own")
    assert started == [1, 2]
    with open_store(tmp_path / "small") as ours, open_store(tmp_path / "large") as theirs:
        assert_equal(ours, theirs)


# --- real Spark -----------------------------------------------------------------------------------


@pytest.mark.spark
def test_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks in other processes, several ranges and chunks: the store, and a second snapshot in
    its place.
    """
    monkeypatch.setattr(numbering, "RANGE", 3)
    ontology, files = random_base(3, tmp_path)
    compare(SparkExecutor(spark), tmp_path, ontology, files, width=3, chunk_bytes=800)
    monkeypatch.setattr(spark_executor, "MOST_BYTES_PER_TASK", 0)
    again, _ = built(
        SparkExecutor(spark),
        tmp_path / "spark",
        ontology,
        files,
        BuildSettings(width=3, reasoner="own"),
    )
    assert again.snapshot == 2
    with open_store(tmp_path / "local") as theirs:
        assert_equal(again, theirs)
    assert not (tmp_path / "spark" / "building").exists()


@pytest.mark.spark
@pytest.mark.slow
def test_lubm_on_spark(spark: SparkSession, data_path: Path, tmp_path: Path) -> None:
    ontology = read_ontology([str(data_path / "lubm" / "univ-bench.owl")])
    compare(
        SparkExecutor(spark),
        tmp_path,
        ontology,
        [data_path / "lubm" / "L1.nt.gz"],
        width=numbering.RANGE,
        chunk_bytes=1 << 22,
    )


@pytest.mark.slow
def test_uobm(data_path: Path, tmp_path: Path) -> None:
    """Merge classes, entailed equality, modules of several ranges."""
    ontology = replace(read_ontology([str(data_path / "uobm" / "univ-bench-dl.owl")]), abox=ABox())
    compare(
        HERE,
        tmp_path,
        ontology,
        [data_path / "uobm" / "U1.nt.gz"],
        width=numbering.RANGE,
        chunk_bytes=1 << 23,
    )


# --- lines ----------------------------------------------------------------------------------------


def test_bad_lines_are_found_and_located(tmp_path: Path) -> None:
    """In any chunk of any file, whatever its packing; and so is all that `shiq.rdf` reports."""
    rng = random.Random(7)
    good = [
        f"<urn:i{rng.randrange(50)}> <urn:owner> <urn:i{rng.randrange(50)}> ." for _ in range(300)
    ]
    odd = [
        "<urn:i1> <urn:owner> .",
        "not a triple",
        "# a comment",
        "",
        "<urn:i1>  <urn:owner>\t<urn:i2> . # spaces",
        "<urn:i1> <urn:colour> <urn:red> .",
        '<urn:i1> <urn:owner> "a literal" .',
        "<urn:i1> <urn:name> <urn:i2> .",
        '<urn:i1> <urn:name> "\\u00e4" .',
        "<urn:i1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Bird> .",
        "_:b <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> .",
        "<urn:o> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Ontology> .",
        "<urn:o> <urn:made> <urn:yesterday> .",
        '<urn:Dog> <urn:note> "a dog" .',
        "<urn:Cat> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> .",
        '<urn:Cat> <urn:note> "is an individual, too" .',
        "<urn:i1> <http://www.w3.org/2002/07/owl#sameas> <urn:i2> .",
        "<urn:i3> <http://www.w3.org/2002/07/owl#sameAs> <urn:i4> .",
        "<urn:i3> <http://www.w3.org/2002/07/owl#differentFrom> <urn:Cat> .",
        "<urn:Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:Dog> .",
        "<urn:i5> <http://www.w3.org/2002/07/owl#topObjectProperty> <urn:i6> .",
    ]
    files = []
    for name in ("a.nt", "b.nt.gz", "c.nt"):
        lines = [*good, *odd, *odd[:3]]
        rng.shuffle(lines)
        text = "\n".join(lines).encode() + (b"\n" if name == "c.nt" else b"")
        files.append(tmp_path / name)
        files[-1].write_bytes(
            gzip.compress(text) if name.endswith("gz") else b"\xef\xbb\xbf" + text
        )
    ours, _ = compare(HERE, tmp_path, read_ontology([TBOX]), files, width=16, chunk_bytes=500)
    malformed = [x for x in ours.leftovers if x.kind == "malformed" and x.line and x.count == 1]
    for leftover in malformed:
        data = Path(leftover.source).read_bytes()
        lines_ = (
            (gzip.decompress(data) if leftover.source.endswith("gz") else data)
            .decode("utf-8-sig")
            .split("\n")
        )
        assert leftover.text in lines_[leftover.line - 1]
    assert sum("not a triple" in x.text for x in malformed) == 6


@pytest.mark.parametrize("executor", [HERE, Twice()], ids=["once", "twice"])
def test_all_that_is_left_out_is_kept_however_much(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a verdict tells, of one chunk and of several, where the chunks have to be judged
    again, and of what the driver reads; by source and line, and nothing twice. Ill-typed
    literals have their places too.
    """
    for name in ("triples", "ledger", "range_reports"):
        monkeypatch.setattr(f"shiq.rdf.{name}.MOST_SHOWN", 5)
    monkeypatch.setattr("shiq.jobs.building.chunks.MOST_SHOWN", 5)
    broken = [f"<urn:broken{i}> <urn:owner> <urn:Cat" for i in range(40)]
    resources = [f"<urn:i{i}> <urn:name> <urn:a{i}> ." for i in range(30)]
    ill_typed = [
        f'<urn:i{i}> <urn:name> "x{i}"^^<http://www.w3.org/2001/XMLSchema#integer> .'
        for i in range(20)
    ]
    header = "<urn:o> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Ontology> ."
    lines = [*broken, *resources, *ill_typed, header, "<urn:o> <urn:made> <urn:yesterday> ."]
    random.Random(3).shuffle(lines)
    plain, packed, turtle = tmp_path / "a.nt", tmp_path / "b.nt.gz", tmp_path / "c.ttl"
    plain.write_text("\n".join(lines[:50]))
    packed.write_bytes(gzip.compress("\n".join(lines[50:]).encode()))
    turtle.write_text("".join(f"<urn:t{i}> <urn:name> <urn:a{i}> .\n" for i in range(9)))
    ours, read = built(
        executor,
        tmp_path / "spark",
        read_ontology([TBOX]),
        [plain, packed, turtle],
        BuildSettings(width=8, reasoner="own", chunk_bytes=900, drops_ill_typed=True),
    )
    assert len(read.chunks.chunks) > 5
    assert ours.left_out_counts == ({"ill-typed": 20, "malformed": 79}, 0)
    every = list(enumerate(lines[:50], 1)), list(enumerate(lines[50:], 1))

    def of(wanted: Sequence[str]) -> list[tuple[str, int, str]]:
        return [
            (str(file), i, line)
            for file, some in zip((plain, packed), every)
            for i, line in some
            if line in wanted
        ]

    by_driver = [
        (str(turtle), i, text) for i, text in enumerate(turtle.read_text().splitlines(), 1)
    ]
    found = [(x.source, x.line, x.text) for x in ours.left_out()]
    assert found == [*of(broken), *of(resources), *of(ill_typed), *by_driver]


@pytest.mark.spark
def test_spark_keeps_the_broken_lines_that_the_embedded_builder_keeps(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"<urn:broken{i}>\t<urn:owner> <urn:Cat" for i in range(2500)]
    lines += [f"<urn:i{i}> <urn:owner> <urn:i{i + 1}> ." for i in range(200)]
    random.Random(5).shuffle(lines)
    (tmp_path / "a.nt").write_text("\n".join(lines[:1900]))
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress("\n".join(lines[1900:]).encode()))
    (tmp_path / "t.ofn").write_text(
        "Ontology(Declaration(ObjectProperty(<urn:owner>)) FunctionalObjectProperty(<urn:owner>))"
    )
    monkeypatch.setattr(
        "shiq.jobs.building.indexing.BuildSettings",
        partial(BuildSettings, chunk_bytes=20_000),
    )
    printed = {}
    for engine in ("spark", "local"):
        asked = (
            "index",
            "--tbox",
            "t.ofn",
            "--store",
            engine,
            "a.nt",
            "b.nt.gz",
            "--allow",
            "malformed",
            "--reasoner",
            "own",
        )
        assert shiq(*asked, "-q", "--engine", engine, cwd=tmp_path).returncode == 0
        told = shiq("status", "--store", engine, cwd=tmp_path).stdout
        assert "in no check: 2,500 malformed (" in told and "only counted" not in told
        printed[engine] = shiq("export", "--store", engine, "--aside", cwd=tmp_path).stdout
    assert printed["spark"] == printed["local"] and printed["local"].count("\n") == 5000


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    ontology = read_ontology([TBOX])
    broken = tmp_path / "broken.nt.gz"
    broken.write_bytes(
        gzip.compress(
            "\n".join(f"<urn:i{i}> <urn:owner> <urn:j{i}> ." for i in range(5000)).encode()
        )[:-20]
    )
    prose = tmp_path / "prose.nt"
    prose.write_text("Once upon a time\nthere was a graph.\n")
    for file, words in (
        (broken, "broken gzip"),
        (prose, "not N-Triples"),
        (tmp_path / "none.nt", "does not exist"),
    ):
        with pytest.raises(InputError, match=words):
            built(HERE, tmp_path / "kg", ontology, [file], BuildSettings(chunk_bytes=300))
    with pytest.raises(StoreError, match="never finished"):
        open_store(tmp_path / "kg")


@pytest.mark.parametrize("seed", range(6))
def test_tables_and_files_are_cut_alike(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Parquet folder, a Delta table and packed lines after two byte order marks, with what
    speaks of other triples in each.
    """
    from deltalake import write_deltalake

    dice = random.Random(seed)
    kind, sort = (
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<http://www.w3.org/2002/07/owl#sameAs>",
    )
    monkeypatch.setattr("shiq.jobs.building.chunks.ROW_BYTES", dice.choice([60, 300]))

    def some(count: int) -> dict[str, list[str]]:
        pairs = [
            (kind, "<urn:Cat>"),
            (kind, "<urn:Bird>"),
            ("<urn:owner>", "_:b"),
            ("<urn:owner>", '"no"'),
            (sort, "<urn:i1>"),
        ]
        rows = [
            (f"<urn:i{dice.randrange(5)}>", *dice.choice([*pairs, pairs[0], ("broken", "<urn:x>")]))
            for _ in range(count)
        ]
        return {name: [row[i] for row in rows] for i, name in enumerate("spo")}

    folder, delta, packed = tmp_path / "folder", tmp_path / "delta", tmp_path / "lines.nt.gz"
    folder.mkdir()
    for name in ("1.parquet", "2.parquet", "_SUCCESS"):
        pq.write_table(
            pa.table(some(dice.randrange(1, 30))),
            folder / name,
            row_group_size=dice.randrange(1, 9),
        )
    for _ in range(2):
        write_deltalake(str(delta), pa.table(some(5)), mode="append")
    lines = [" ".join(row) + " ." for row in zip(*some(40).values())]
    packed.write_bytes(
        gzip.compress(
            "\n".join(["\ufeff\ufeff", *lines[:20], "\ufeff" + lines[20], *lines[20:]]).encode()
        )
    )
    compare(
        HERE,
        tmp_path,
        read_ontology([TBOX]),
        [folder, packed, delta],
        width=4,
        chunk_bytes=dice.choice([100, 400]),
    )


def test_an_import_is_answered_by_what_another_source_says_it_is(tmp_path: Path) -> None:
    owl = "http://www.w3.org/2002/07/owl#"
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    files = [tmp_path / "a.nt", tmp_path / "b.nt", tmp_path / "c.nq"]
    files[2].write_text(
        f"<urn:o3> {kind} <{owl}Ontology> <urn:graph> .\n<urn:i> <urn:owner> <urn:k> <urn:graph> .\n"
    )
    files[0].write_text(f"<urn:o1> {kind} <{owl}Ontology> .\n<urn:i> <urn:owner> <urn:j> .\n")
    files[1].write_text(
        f"<urn:o2> {kind} <{owl}Ontology> .\n<urn:o2> <{owl}imports> <urn:o1> .\n<urn:o2> <{owl}imports> <urn:o3> .\n"
    )
    ours, _ = compare(HERE, tmp_path, read_ontology([TBOX]), files, width=4, chunk_bytes=40)
    assert [(x.kind, x.line) for x in ours.leftovers] == [("missing-import", 3)]


def test_other_sources_are_read_by_the_driver(tmp_path: Path) -> None:
    """Turtle, and an ABox of ours, beside N-Triples; assertions that come with the TBox."""
    turtle = tmp_path / "a.ttl"
    turtle.write_text('@prefix : <urn:> . :tom a :Cat ; :owner :ann ; :name "Tom" .')
    lines = write(tmp_path / "b.nt", [ClassAssertion(Class("urn:Dog"), "urn:rex")])
    abox = abox_of([ObjectPropertyAssertion(ObjectProperty("urn:owner"), "urn:rex", "urn:ann")])
    settings = BuildSettings(width=2, reasoner="own")
    ours, _ = built(
        HERE, tmp_path / "spark", read_ontology([TBOX]), [turtle, lines, abox], settings
    )
    theirs = embedded(tmp_path / "local", read_ontology([TBOX]), [turtle, lines, abox]).store
    assert set(ours.export()) == set(theirs.export()) and len(ours) == 5


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_tbox_that_contradicts_itself_is_found_without_an_individual(
    spark: SparkSession, tmp_path: Path
) -> None:
    ontology = "Ontology(Declaration(Class(<urn:A>)) SubClassOf(owl:Thing <urn:A>) SubClassOf(<urn:A> owl:Nothing))"
    (tmp_path / "tbox.ofn").write_text(
        f"Prefix(owl:=<http://www.w3.org/2002/07/owl#>)\n{ontology}\n"
    )
    (tmp_path / "none.nt").touch()
    for engine in ("local", "spark"):
        result = index(
            tmp_path / "tbox.ofn",
            tmp_path / "none.nt",
            tmp_path / engine,
            engine=engine,
            reasoner="own",
        )
        assert result.verdict is Verdict.INCONSISTENT
        with open_store(tmp_path / engine) as store:
            assert (
                store.certificate is not None and store.certificate.verdict is Verdict.INCONSISTENT
            )


@pytest.mark.spark
def test_index_by_the_public_call(spark: SparkSession, tmp_path: Path) -> None:
    """Verdict, figures, conflicts and certificate; a store to check against."""
    tbox = tmp_path / "t.ofn"
    tbox.write_text(
        "Ontology(Declaration(Class(<urn:Cat>)) Declaration(Class(<urn:Dog>)) Declaration(ObjectProperty(<urn:owner>))"
        " DisjointClasses(<urn:Cat> <urn:Dog>) ObjectPropertyRange(<urn:owner> <urn:Cat>))"
    )
    cats = [ClassAssertion(Class("urn:Cat"), f"urn:{i}") for i in range(20)]
    owners = [
        ObjectPropertyAssertion(ObjectProperty("urn:owner"), "urn:ann", f"urn:{i}")
        for i in range(20)
    ]
    good = write(tmp_path / "good.nt", [*cats, *owners])
    result = index(tbox, good, tmp_path / "kg", engine="spark", reasoner="own")
    assert result.verdict is Verdict.CONSISTENT
    theirs = index(tbox, good, tmp_path / "local", reasoner="own")
    ours_, theirs_ = result.to_dict(), theirs.to_dict()
    for figures in (ours_["statistics"], theirs_["statistics"]):
        del figures["seconds"]
    ours_["evidence"]["engine"] = "local"
    assert ours_ == theirs_
    with open_session(tmp_path / "kg") as session:
        assert (
            session.check([abox_of([ClassAssertion(Class("urn:Dog"), "urn:7")])]).verdict
            is Verdict.INCONSISTENT
        )
        assert (
            session.check([abox_of([ClassAssertion(Class("urn:Dog"), "urn:ann")])]).verdict
            is Verdict.CONSISTENT
        )
    bad = write(tmp_path / "bad.nt", [*cats, *owners, ClassAssertion(Class("urn:Dog"), "urn:3")])
    result = index(
        tbox, bad, tmp_path / "kg", replace_store="always", engine="spark", reasoner="own"
    )
    assert result.verdict is Verdict.INCONSISTENT and not result.complete
    assert any("urn:3" in line for conflict in result.conflicts for line in conflict.base)
    with open_store(tmp_path / "kg") as store:
        assert store.certificate is not None and store.certificate.verdict is Verdict.INCONSISTENT

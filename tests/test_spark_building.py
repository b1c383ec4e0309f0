"""Building a store on Spark: the store equals the one that the embedded writer makes, table by
table, and so does what is known of it.
"""

from __future__ import annotations

import gzip
import pickle
import random
import shutil
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

from abox_ops.modules.decide import Decider
from jobs.spark import worker
from jobs.spark.building import files as building_files
from jobs.spark.building.build import BuildSettings, BuiltStore, build
from jobs.spark.building.reading import Chunks
from jobs.store import Certificate, Store, numbering, open_store
from jobs.store.schema import ALWAYS, COMPLETION
from jobs.store.upkeep import prepare, write_store
from shiq.abox import ABox, abox_of
from shiq.check import certify, index
from shiq.check import open_store as open_session
from shiq.errors import InputError, StoreError
from shiq.left_out import of_data
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
from shiq.ntriples import assertion_lines
from shiq.rdf import read_assertions, read_ontology
from shiq.reading import Reading
from shiq.reasoner import create
from shiq.verdict import Leftover, Verdict
from tests.command_line import shiq
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


class Twice(Tasks):
    """Every task runs twice, as if by two workers that know nothing yet; some are lost after the
    first run.
    """

    def made(self) -> list[pa.Table]:
        first = []
        for _ in range(2):
            found = []
            for rows in reversed(self.parts):
                worker._kept.clear()
                found += Tasks([rows], self.task, self.schema).made()
            first.append(found[::-1])
        return [first[i % 2][i] for i in range(len(self.parts))]


class HereTwice(Here):
    tasks = Twice


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


class Weighed(Here):
    """Adds up the bytes that tasks give to the driver."""

    def __init__(self) -> None:
        super().__init__()
        self.collected = 0

    def range(self, start: int, end: int, step: int, count: int) -> Tasks:
        session = self

        class Weighing(Tasks):
            def toArrow(self) -> pa.Table:
                found = super().toArrow()
                session.collected += found.nbytes
                return found

        return Weighing(_numbers(range(start, end, step)))


HERE = cast("SparkSession", Here())


TBOX = TBox(
    (
        DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),
        FunctionalObjectProperty(ObjectProperty("urn:owner")),
    ),
    Signature(frozenset({"urn:Cat", "urn:Dog"}), frozenset({"urn:owner"}), frozenset({"urn:name"})),
)


def built(
    session: SparkSession,
    path: Path,
    ontology: Reading,
    sources: Sequence[object],
    settings: BuildSettings,
) -> tuple[Store, BuiltStore]:
    """The store as Spark builds it, and what the build knows of it."""
    told: list[BuiltStore] = []

    def certifying(found: BuiltStore) -> Certificate:
        told.append(found)
        return Certificate.now(verdict="undetermined", reasoner="own")

    def leftovers(found: Chunks) -> tuple[Leftover, ...]:
        return (*ontology.leftovers, *found.leftovers)

    build(session, path, ontology, sources, certifying, leftovers=leftovers, settings=settings)
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
    decider = Decider(create("own"))
    prepared = prepare(ontology.tbox, given.abox, width)
    found = (
        prepared.certified(decider.decide, lambda: False) if completes and len(given.abox) else None
    )
    prepared = found[0] if found else prepared
    left_out, names = of_data(given.left_out), ontology.ontologies
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
        store, given, (found[1].size, len(modules), decider.shapes(found[1].tbox, modules))
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
    certified = found.certified
    assert found.is_completed == (theirs.certificate is not None)
    if theirs.certificate:
        assert (found.kept, certified.modules, certified.shapes) == theirs.certificate
        assert certified.verdicts == {"consistent": certified.modules} and not certified.clashes
        return
    result = certify([ontology.tbox], [theirs.given.abox], reasoner="own", max_conflicts=0)
    decided = dict(result.evidence.decided)
    assert decided.pop("contradictory") == certified.clashes
    assert decided.keys() - {"consistent"} == certified.verdicts.keys() - {"consistent"}
    assert sum(certified.verdicts.values()) == certified.modules >= certified.shapes
    assert result.statistics.modules >= certified.modules
    assert result.statistics.add_set <= found.kept


def write(path: Path, assertions: Iterable[Assertion]) -> Path:
    text = "".join(f"{line}\n" for assertion in assertions for line in assertion_lines(assertion))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def compare(
    session: SparkSession,
    tmp_path: Path,
    ontology: Reading,
    sources: Sequence[object],
    *,
    width: int,
    chunk_bytes: int = 2000,
    completes: bool = True,
) -> tuple[Store, BuiltStore]:
    settings = BuildSettings(
        width=width, chunk_bytes=chunk_bytes, reasoner="own", completes=completes
    )
    ours, found = built(session, tmp_path / "spark", ontology, sources, settings)
    theirs = embedded(tmp_path / "local", ontology, sources, completes=completes, width=width)
    assert_equal(ours, theirs.store)
    assert found.read.ledger == theirs.given.ledger
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
    session: SparkSession, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    width = random.Random(seed).choice([1, 2, 3, 5])
    monkeypatch.setattr(numbering, "RANGE", width)
    ontology, files = random_base(seed, tmp_path)
    _, found = compare(
        session, tmp_path, ontology, files, width=width, chunk_bytes=300, completes=seed % 3 > 0
    )
    if seed % 3 == 0:
        monkeypatch.setattr(numbering, "RANGE", 1 << 20)
        settings = BuildSettings(width=1 << 20, chunk_bytes=300, reasoner="own", completes=False)
        _, whole = built(session, tmp_path / "one_range", ontology, files, settings)
        assert figures(found) == figures(whole)


def figures(found: BuiltStore) -> tuple[object, ...]:
    certified = found.certified
    return found.kept, certified.modules, certified.shapes, certified.clashes, certified.verdicts


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
    one_random(cast("SparkSession", HereTwice()), seed, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", [2, 11])
def test_parts_that_meet_in_one_task_change_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_random(cast("SparkSession", HereOlder()), seed, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "session", [Here(), HereTwice(), HereOlder()], ids=lambda session: type(session).__name__
)
def test_many_parts_go_to_their_own_tasks_alone(
    session: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each task is sent does not grow with the parts, and the store is the same."""
    monkeypatch.setattr(building_files, "MOST_ALONG", 0)
    one_random(cast("SparkSession", session), 11, tmp_path, monkeypatch)
    rows, along = building_files.tasks_of(cast("SparkSession", session), ["a", "b", "c"])
    given = [*building_files.parts_of(along, iter(rows.toArrow().to_batches()))]
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
        settings = BuildSettings(width=4, reasoner="own", completes=completes, audit=share)
        _, found = built(HERE, tmp_path / "kg", ontology, [file], settings)
        asked = found.certified.drawn
        counts.append(len(asked.modules) if asked else 0)
        if asked:
            decider = Decider(create("own"))
            said = [
                x.verdict.value
                for x in decider.decide(asked.tbox, [module for module, _ in asked.modules])
            ]
            assert said == [verdict for _, verdict in asked.modules]
    assert counts[0] == found.certified.shapes > counts[1] > counts[2] == 0


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
        session = Weighed()
        settings = BuildSettings(
            width=size // 4, chunk_bytes=file.stat().st_size // 2 + 1, reasoner="own"
        )
        store, _ = built(
            cast("SparkSession", session),
            tmp_path / f"kg{size}",
            read_ontology([TBOX]),
            [file],
            settings,
        )
        assert len(store) == len(set(assertions))
        told.append(session.collected)
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
        settings = BuildSettings(width=50, near=9, finish=0, chunk_bytes=2000, reasoner="own")
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
    settings = BuildSettings(width=width, near=9, finish=finish, chunk_bytes=4000, reasoner="own")
    ours, _ = built(HERE, tmp_path / "spark", ontology, [file], settings)
    assert_equal(ours, embedded(tmp_path / "local", ontology, [file], width=width).store)
    assert ours.terms_of(ours.table("individuals").all()["node"]) != sorted(set(terms)), (
        "it was clustered"
    )


# --- real Spark -----------------------------------------------------------------------------------


@pytest.mark.spark
def test_on_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks in other processes, several ranges and chunks: the store, and a second snapshot in
    its place.
    """
    monkeypatch.setattr(numbering, "RANGE", 3)
    ontology, files = random_base(3, tmp_path)
    compare(spark, tmp_path, ontology, files, width=3, chunk_bytes=800)
    monkeypatch.setattr(building_files, "MOST_ALONG", 0)
    again, _ = built(
        spark, tmp_path / "spark", ontology, files, BuildSettings(width=3, reasoner="own")
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
        spark,
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


@pytest.mark.parametrize("session", [Here(), HereTwice()], ids=["once", "twice"])
def test_all_that_is_left_out_is_kept_however_much(
    session: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a verdict tells, of one chunk and of several, where the chunks have to be judged
    again, and of what the driver reads; by source and line, and nothing twice. Ill-typed
    literals have their places too.
    """
    for name in ("triples", "accounts", "judging"):
        monkeypatch.setattr(f"shiq.rdf.{name}.MOST_SHOWN", 5)
    monkeypatch.setattr("jobs.spark.building.chunks.MOST_SHOWN", 5)
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
        cast("SparkSession", session),
        tmp_path / "spark",
        read_ontology([TBOX]),
        [plain, packed, turtle],
        BuildSettings(width=8, reasoner="own", chunk_bytes=900, aside=True),
    )
    assert len(read.read.chunks) > 5
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
        "jobs.spark.building.indexing.BuildSettings", partial(BuildSettings, chunk_bytes=20_000)
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
    monkeypatch.setattr("jobs.spark.building.chunks.ROW_BYTES", dice.choice([60, 300]))

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

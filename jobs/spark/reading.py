"""Reading a batch on Spark: N-Triples by byte ranges, Parquet and Delta tables and DataFrames of triples by their partitions.

Every other format, and whatever cannot be judged line by line (`jobs.spark.splits`), is read by the driver as the other engines
read it. The result is the same: assertions, ledger, leftovers with file and line.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.spark import rows as rows_
from jobs.spark.rows import ASSERTIONS, DDL, ROLE, Origins
from jobs.spark.splits import FAILURE, LEFTOVER, REPORT, Report, Split, TableSource, Vocabulary, read_rows, read_split
from jobs.spark.worker import StoreKey, opened_store
from shiq.abox import ABox
from shiq.catalog import Catalog
from shiq.errors import InputError
from shiq.formats import LINE_FORMATS, Format
from shiq.model import TBox
from shiq.model_json import decode
from shiq.place import Places, nowhere
from shiq.rdf import read_assertions
from shiq.rdf.accounts import MOST_SHOWN, capped
from shiq.rdf.tables import COLUMNS, footer_of, table_files
from shiq.reading import Reading
from shiq.sources import FileSource, source_of, table_kind
from shiq.sources import TableSource as GivenTable
from shiq.verdict import Leftover

#: Bytes of N-Triples for one task, unless the files are so small that every core gets a part.
SPLIT_BYTES = 16 << 20
#: Less than this is not worth a task.
LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class BatchRows:
    """Assertions as rows of `jobs.spark.rows.SCHEMA`, held by Spark; the ``names`` of classes, object and data properties in
    them; ``others``: those of kind `OTHER`; how much was read of the store to look terms up; ``places``: of what the driver
    read; ``origins``: of what tasks did."""

    frame: DataFrame
    leftovers: tuple[Leftover, ...]
    ledger: Counter[str]
    names: tuple[set[str], set[str], set[str]]
    others: ABox
    rows: int = 0
    held: tuple[DataFrame, ...] = ()
    places: Places = nowhere
    origins: Origins = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not any(self.names) and not len(self.others)

    def release(self) -> None:
        for frame in self.held:
            frame.unpersist()


@dataclass
class _Parts:
    """What parallel reading is made of: splits of files, frames of tables, and the ``leftovers`` that are known before."""

    splits: list[Split] = field(default_factory=list)
    tables: list[tuple[TableSource, DataFrame]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    driver: bool = False


def read_batch(
    spark: SparkSession,
    sources: Sequence[object],
    tbox: TBox,
    store: StoreKey,
    *,
    scope: str,
    aside: bool,
    catalog: Catalog | None = None,
    ontologies: Collection[str] = (),
) -> BatchRows:
    """Reads ``sources``. ``scope`` begins the names of blank nodes; ``aside``: ill-typed data assertions are set aside;
    ``catalog``, ``ontologies``: see `shiq.rdf.read_assertions`.

    Raises: InputError, UsageError.
    """
    parts = _parts(spark, sources, scope)
    if not parts.driver:
        found = _parallel(spark, parts, tbox, store, sources, aside)
        if found is not None:
            return found
    reading = read_assertions(sources, tbox.signature, axioms=tbox.axioms, scope=scope, catalog=catalog, ontologies=ontologies)
    return _by_driver(spark, reading, store, aside)


# --- what the sources are -------------------------------------------------------------------------


def _parts(spark: SparkSession, sources: Sequence[object], scope: str) -> _Parts:
    parts = _Parts()
    cores = max(1, spark.sparkContext.defaultParallelism)
    for i, source in enumerate(sources):
        own, name = f"{scope}{i}", _name(source)
        table = _table_of(spark, source)
        if table is not None:
            number = len(parts.splits) + len(parts.tables)
            parts.tables.append((TableSource(name, own, number, table.before), table.frame))
            parts.leftovers += table.leftovers
            continue
        known = source_of(source)
        if not isinstance(known, FileSource) or known.format not in LINE_FORMATS or known.content is not None:
            parts.driver = True
            continue
        size = known.path.stat().st_size
        width = size if known.compressed else max(LEAST_BYTES, min(SPLIT_BYTES, -(-size // cores)))
        for start in range(0, max(size, 1), max(width, 1)):
            number = len(parts.splits) + len(parts.tables)
            end = min(start + width, size)
            path = str(known.path.absolute())
            quads = known.format is Format.NQUADS
            parts.splits.append(Split(number, known.name, path, own, start, end, size, known.packing, quads))
    return parts


def _name(source: object) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "DataFrame"


@dataclass(frozen=True)
class _Table:
    """The rows of a table as a frame with the columns s, p, o, graph, key and row, which counts by file. ``before``: how many
    rows stand before those of each file, whose address is the column ``file`` where there are several; ``leftovers``: for the
    files that are not read."""

    frame: DataFrame
    before: Mapping[str, int] = field(default_factory=dict)
    leftovers: tuple[Leftover, ...] = ()


def _table_of(spark: SparkSession, source: object) -> _Table | None:
    """A DataFrame, a Parquet file or folder, or a Delta table; None for any other source, and for what the driver has to read.

    Raises: InputError for a table without s, p, o, for a folder that is not one table, or of a Delta table's feature that
    files do not show."""
    if isinstance(source, DataFrame):
        return _Table(_triples_of(source, "DataFrame"))
    if not isinstance(source, str | os.PathLike):
        return None
    name = os.fsdecode(os.fspath(source))
    table = source_of(name) if table_kind(name) else None
    if not isinstance(table, GivenTable):
        return None
    files, passed_over = table_files(table)
    if not files:
        frame = spark.createDataFrame([], "s string, p string, o string")
        return _Table(_triples_of(frame, name), leftovers=passed_over)
    footers = [footer_of(file) for file in files]
    types = {(column, str(schema.field(column).type)) for schema, _ in footers for column in COLUMNS if column in schema.names}
    if any(file.values for file in files) or len({column for column, _ in types}) < len(types):
        return None  # columns that folders stand for, or of several types, are read as the other engines read them
    paths = [os.path.abspath(file.path) for file in files]
    before = dict(zip(paths, accumulate((rows for _, rows in footers), initial=0)))
    frame = spark.read.option("mergeSchema", str(len(paths) > 1).lower()).parquet(*paths)
    columns = [(F.col("_metadata.row_index") + 1).alias("row")]
    if len(paths) > 1:
        columns.append(F.col("_metadata.file_path").alias("file"))
    return _Table(_triples_of(frame, name, columns), before if len(paths) > 1 else {}, passed_over)


def _triples_of(frame: DataFrame, name: str, more: Sequence[Column] = ()) -> DataFrame:
    missing = [column for column in ("s", "p", "o") if column not in frame.columns]
    if missing:
        raise InputError(
            f"{name}: no column {missing[0]!r} (it has {', '.join(frame.columns)})",
            "A table of triples has the columns s, p, o (N-Triples terms as texts), and may have graph and key.",
        )
    texts = ((F.col(c) if c in frame.columns else F.lit(None)).cast("string").alias(c) for c in COLUMNS)
    return frame.select(*texts, *(more or (F.lit(0).cast("bigint").alias("row"),)))


# --- in parallel ----------------------------------------------------------------------------------


def _parallel(
    spark: SparkSession, parts: _Parts, tbox: TBox, store: StoreKey, sources: Sequence[object], aside: bool
) -> BatchRows | None:
    """The batch, or None where it has to be read as a whole."""
    vocabulary = Vocabulary(tbox.signature, aside)
    frames = []
    if parts.splits:
        count = len(parts.splits)
        task = partial(_split_task, parts.splits, vocabulary, store)
        frames.append(spark.range(0, count, 1, count).mapInArrow(task, DDL))
    for source, frame in parts.tables:
        frames.append(frame.mapInArrow(partial(_table_task, source, vocabulary, store), DDL))
    whole = frames[0] if frames else spark.createDataFrame([], DDL)
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    whole = whole.persist()
    told = whole.where(~F.col("kind").isin(*ASSERTIONS)).select("kind", "o").collect()
    messages = {kind: [json.loads(row.o) for row in told if row.kind == kind] for kind in (REPORT, LEFTOVER, FAILURE)}
    splits = {row_["split"]: row_ for row_ in messages[REPORT]}
    if messages[FAILURE]:
        whole.unpersist()
        raise InputError(**messages[FAILURE][0])
    reports = [Report(**message) for message in messages[REPORT]]
    if any(report.whole for report in reports):
        whole.unpersist()
        return None
    _refuse_what_is_no_triples(parts.splits, reports)
    assert len(splits) >= len(parts.splits)
    located = _located(spark, whole, parts, reports)
    names = (set[str](), set[str](), set[str]())
    ledger: Counter[str] = Counter()
    for report in reports:
        ledger.update(report.ledger)
        for found, kind in zip(names, (report.classes, report.object_properties, report.data_properties)):
            found.update(kind)
    return BatchRows(
        whole.where(F.col("kind").isin(*ASSERTIONS)),
        tuple(capped([*located, *parts.leftovers])),
        +ledger,
        names,
        ABox(),
        sum(r.rows for r in reports),
        (whole,),
        origins=_origins(parts, reports),
    )


def _origins(parts: _Parts, reports: Sequence[Report]) -> Origins:
    first = _first_lines(parts.splits, reports)
    return {s.number: (s.name, first[s.number]) for s in parts.splits} | {t.number: (t.name, 0) for t, _ in parts.tables}


def _split_task(
    splits: Sequence[Split], vocabulary: Vocabulary, store: StoreKey, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for i in batch.column(0).to_pylist():
            yield from read_split(splits[i], vocabulary, store)


def _table_task(
    source: TableSource, vocabulary: Vocabulary, store: StoreKey, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    return read_rows(batches, source, vocabulary, store)


def _refuse_what_is_no_triples(splits: Sequence[Split], reports: Sequence[Report]) -> None:
    """Raises: InputError for a file of which no line looks like a triple, as reading it in one piece does."""
    name_of = {split.number: split.name for split in splits}
    for name in dict.fromkeys(name_of.values()):
        own = [report for report in reports if name_of.get(report.split) == name]
        rejected = sum(report.rejected for report in own)
        if rejected and sum(r.unsure for r in own) == rejected and not any(r.triples for r in own):
            raise InputError(
                f"{name} is not N-Triples or N-Quads: no line of it is a triple",
                "Check the file and the format that its name stands for.",
            )


def _located(spark: SparkSession, whole: DataFrame, parts: _Parts, reports: Sequence[Report]) -> list[Leftover]:
    """The leftovers of all tasks with their lines in the file; those of one name are one, as in a file read in one piece."""
    first = _first_lines(parts.splits, reports)
    source = {split.number: i for i, split in enumerate(parts.splits)} | {t.number: t.number for t, _ in parts.tables}
    told = whole.where(F.col("kind") == LEFTOVER).select("split", "o").collect()
    found: list[tuple[tuple[int, int, int], Leftover, int]] = []
    for row in told:
        value = json.loads(row.o)
        order, leftover = value["order"], decode(value["leftover"])
        if leftover.line and row.split in first:
            leftover = replace(leftover, line=leftover.line + first[row.split])
        found.append(((order, source.get(row.split, 0), leftover.line), leftover, order))
    found.sort(key=lambda item: item[0])
    merged: dict[tuple[object, ...], Leftover] = {}
    shown: Counter[str] = Counter()
    for i, (_, leftover, order) in enumerate(found):
        if order == 0:
            shown[leftover.source] += 1
            more = not leftover.line or shown[leftover.source] > MOST_SHOWN
            key: tuple[object, ...] = ("more", leftover.source) if more else (i,)
            if more:
                before = merged.get(key)
                count = leftover.count + (before.count if before else 0)
                leftover = Leftover("malformed", f"{count} more lines like those above", leftover.source, count=count)
                merged[key] = leftover
                continue
        else:
            key = (i,) if order == 2 else (leftover.kind, leftover.message)
        if key in merged:
            merged[key] = replace(merged[key], count=merged[key].count + leftover.count)
        else:
            merged[key] = leftover
    return sorted(merged.values(), key=_rank)


def _rank(leftover: Leftover) -> int:
    kinds = ("malformed", "undeclared", "unknown-vocabulary", "ill-typed")
    return kinds.index(leftover.kind) if leftover.kind in kinds else len(kinds)


def _first_lines(splits: Sequence[Split], reports: Sequence[Report]) -> dict[int, int]:
    """How many lines of its file stand before each split."""
    lines = {report.split: report.lines for report in reports}
    before: dict[str, int] = {}
    found = {}
    for split in splits:
        found[split.number] = before.get(split.scope, 0)
        before[split.scope] = found[split.number] + lines.get(split.number, 0)
    return found


# --- by the driver --------------------------------------------------------------------------------


def _by_driver(spark: SparkSession, reading: Reading, store: StoreKey, aside: bool) -> BatchRows:
    """The batch as the other engines read it."""
    from jobs.checking.inputs import without_ill_typed

    abox, set_aside = without_ill_typed(reading.abox) if aside else (reading.abox, ())
    leftovers, ledger = (*reading.leftovers, *set_aside), Counter(reading.ledger)
    return replace(rows_of_abox(spark, abox, store), leftovers=leftovers, ledger=ledger, places=reading.places)


def rows_of_abox(spark: SparkSession, abox: ABox, store: StoreKey) -> BatchRows:
    """An ABox as rows; terms are looked up in tasks."""
    table = rows_.rows_of(abox)
    frame = spark.createDataFrame(table) if table.num_rows else spark.createDataFrame([], DDL)
    count = max(1, min(spark.sparkContext.defaultParallelism, -(-table.num_rows // 10_000)))
    frame = frame.repartition(count, "s").mapInArrow(partial(_look_up, store), DDL).persist()
    others = ABox(individuals=abox.individuals, same=abox.same, different=abox.different, complex=abox.complex)
    names = (set(abox.classes), set(abox.object_properties), set(abox.data_properties))
    return BatchRows(frame, (), Counter(), names, others, held=(frame,))


def _look_up(store: StoreKey, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    base = opened_store(store)
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        columns: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
        kinds = np.array(rows["kind"].to_pylist(), object)
        roles = kinds == ROLE
        subjects = rows["s"].to_pylist()
        objects = np.array(rows["o"].to_pylist(), object)
        columns["s_node"] = pa.array(base.nodes_of(subjects))
        o_node = np.full(len(kinds), -1, np.int64)
        o_node[roles] = base.nodes_of(list(objects[roles]))
        columns["o_node"] = pa.array(o_node)
        yield rows_.batch_of(columns, batch.num_rows)

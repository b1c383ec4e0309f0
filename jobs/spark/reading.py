"""Reading a batch on Spark: files of lines and tables of files by ranges (`shiq.rdf.ranges`), DataFrames by their partitions.

Every other format, and whatever cannot be judged range by range (`shiq.rdf.judging`), is read by the driver as the other engines
read it. The result is the same: assertions, ledger, leftovers with file and line.
"""

from __future__ import annotations

import base64
import pickle
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.checking.inputs import told_by_label, without_ill_typed
from jobs.spark import rows as rows_
from jobs.spark.rows import ASSERTIONS, DDL, Origins
from jobs.spark.session import width_of
from jobs.spark.worker import StoreKey
from shiq.abox import ABox
from shiq.catalog import Catalog
from shiq.errors import InputError
from shiq.model import TBox
from shiq.rdf import read_assertions
from shiq.rdf.accounts import capped
from shiq.rdf.assertion_rows import assertion_rows
from shiq.rdf.bulk import distinct
from shiq.rdf.judging import (
    Judging,
    RangeReport,
    entities_of,
    first_lines,
    judge,
    located,
    merged,
    refuse_no_triples,
    rejects_of,
    survey,
)
from shiq.rdf.ranges import ByteRange, ParsedRange, Range, byte_ranges, is_cut, table_ranges
from shiq.rdf.table_terms import COLUMNS
from shiq.rdf.tables import check_columns, read_rows
from shiq.rdf.triples import column
from shiq.reading import Places, Reading, nowhere
from shiq.sources import FileSource, TableKind, TableSource, source_of
from shiq.verdict import Leftover

#: Bytes of N-Triples for one task, unless the files are so small that every core gets a part.
SPLIT_BYTES = 16 << 20
#: Less than this is not worth a task.
LEAST_BYTES = 1 << 20
#: Rows of a table for one task.
SPLIT_ROWS = 1 << 17
#: The kind of a row that is no assertion: what a task tells, in ``o``.
REPORT = "report"


@dataclass(frozen=True)
class BatchRows:
    """Assertions as rows of `jobs.spark.rows.SCHEMA`, held by Spark; the ``names`` of classes, object and data properties in
    them; ``others``: those of kind `OTHER`; how much was read of the store to look terms up; ``places``: of what the driver
    read; ``origins``: of what tasks did; ``count`` rows."""

    frame: DataFrame
    leftovers: tuple[Leftover, ...]
    ledger: Counter[str]
    names: tuple[set[str], set[str], set[str]]
    others: ABox
    rows: int = 0
    held: tuple[DataFrame, ...] = ()
    places: Places = nowhere
    origins: Origins = field(default_factory=dict)
    count: int = 0

    @property
    def is_empty(self) -> bool:
        return not any(self.names) and not len(self.others)

    def release(self) -> None:
        for frame in self.held:
            frame.unpersist()


def read_batch(
    spark: SparkSession,
    sources: Sequence[object],
    tbox: TBox,
    store: StoreKey,
    *,
    scope: str,
    aside: bool,
    by_label: bool = False,
    catalog: Catalog | None = None,
    ontologies: Collection[str] = (),
) -> BatchRows:
    """Reads ``sources``. ``scope`` begins the names of blank nodes, unless they go ``by_label`` (`told_by_label`); ``aside``:
    ill-typed data assertions are set aside; ``catalog``, ``ontologies``: see `shiq.rdf.read_assertions`.

    Raises: InputError, UsageError.
    """
    parts = _parts(spark, sources, scope)
    if not parts.driver:
        judging = Judging(tbox.signature, asked=entities_of(tbox.signature), aside=aside, by_label=by_label)
        found = _parallel(spark, parts, judging, store)
        if found is not None:
            return found
    reading = read_assertions(sources, tbox.signature, axioms=tbox.axioms, scope=scope, catalog=catalog, ontologies=ontologies)
    return _by_driver(spark, told_by_label(reading, scope) if by_label else reading, store, aside)


# --- what the sources are -------------------------------------------------------------------------


@dataclass
class _Parts:
    """What parallel reading is made of, by number: ranges, and frames with scope and name of each; the ``leftovers`` that are
    known before; whether the ``driver`` has to read everything."""

    ranges: dict[int, Range] = field(default_factory=dict)
    frames: dict[int, tuple[str, str, DataFrame]] = field(default_factory=dict)
    leftovers: list[Leftover] = field(default_factory=list)
    driver: bool = False

    def add(self, ranges: Sequence[Range]) -> None:
        self.ranges.update(enumerate(ranges, len(self.ranges) + len(self.frames)))


def _parts(spark: SparkSession, sources: Sequence[object], scope: str) -> _Parts:
    """Raises: InputError for a table without s, p, o, or that is none."""
    parts = _Parts()
    cores = width_of(spark)
    for i, source in enumerate(sources):
        own = f"{scope}{i}"
        known = source_of(source)
        if isinstance(known, TableSource) and known.kind is TableKind.SPARK and known.is_plain:
            parts.frames[len(parts.ranges) + len(parts.frames)] = own, known.name, triples_of(known)
        elif not is_cut(known):
            parts.driver = True
        elif isinstance(known, TableSource):
            tables, passed_over = table_ranges(known, own, SPLIT_ROWS)
            parts.add(tables)
            parts.leftovers += passed_over
        elif isinstance(known, FileSource):
            size = known.path.stat().st_size
            parts.add(byte_ranges(known, own, max(LEAST_BYTES, min(SPLIT_BYTES, -(-size // cores)))))
    return parts


def triples_of(source: TableSource) -> DataFrame:
    """The columns `COLUMNS` of a DataFrame, as texts. Raises: InputError."""
    frame: DataFrame = source.value
    check_columns(source.name, frame.columns)
    return frame.select(*((F.col(c) if c in frame.columns else F.lit(None)).cast("string").alias(c) for c in COLUMNS))


# --- in tasks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    """What a task tells of what it read: the names of classes, object and data properties, how much it read of the store, and how
    many assertions it gives."""

    report: RangeReport
    names: tuple[list[str], ...] = ((), (), ())  # type: ignore[assignment]
    rows: int = 0
    count: int = 0


def read_range(number: int, part: Range, judging: Judging, store: StoreKey) -> Iterator[pa.RecordBatch]:
    """The rows of a range, and what is told of it."""
    report = RangeReport(part.source, part.scope, number)
    try:
        parsed = part.parse()
    except InputError as error:
        report.error = error.message, error.remedy
        yield _message(_Told(report))
        return
    yield from _rows(parsed, report, judging, store)


def read_frame(
    batches: Iterator[pa.RecordBatch], number: int, scope: str, judging: Judging, store: StoreKey, source: str = "DataFrame"
) -> Iterator[pa.RecordBatch]:
    """The same of rows of a DataFrame ``source``, with the columns `COLUMNS`; where they stand in it cannot be said."""
    for batch in batches:
        parsed = ParsedRange.of(source)
        read_rows([values.to_pylist() for values in batch.columns], 0, parsed.triples, scope, parsed.rejects)
        yield from _rows(parsed, RangeReport(parsed.rejects.source, scope, number), judging, store, has_lines=False)


def _rows(
    parsed: ParsedRange, report: RangeReport, judging: Judging, store: StoreKey, *, has_lines: bool = True
) -> Iterator[pa.RecordBatch]:
    told = _Told(report)
    survey(parsed, judging, report)
    if report.needs_whole:
        yield _message(replace(told, report=replace(report, rare=report.rare[:1])))
        return
    bulk = judge(parsed, judging, report)
    keys = {parsed.triples.line[row]: key for row, key in parsed.triples.keys.items()}
    report.leftovers = [_keyed(leftover, keys.get(leftover.line, "")) for leftover in report.leftovers]
    rows = assertion_rows(parsed, bulk)
    rows = rows.append_column("split", pa.array([report.number] * len(rows), pa.int64()))
    if not has_lines:
        report.leftovers, report.rejects = ([replace(x, line=0) for x in some] for some in (report.leftovers, report.rejects))
        rows = rows.set_column(rows.column_names.index("line"), "line", pa.array([0] * len(rows), pa.int64()))
    found, read = rows_.numbered(rows, store)
    yield from found.to_batches()
    triples = parsed.triples
    used = column(triples.object)[bulk.classes], *(column(triples.predicate)[some] for some in (bulk.roles, bulk.data))
    names = [[str(triples.terms[i]) for i in distinct(ids)] for ids in used]
    yield _message(replace(told, names=tuple(names), rows=read, count=len(found)))


def _keyed(leftover: Leftover, key: str) -> Leftover:
    return replace(leftover, hint="; ".join(x for x in (leftover.hint, f"row key {key}") if x)) if key else leftover


def _message(told: _Told) -> pa.RecordBatch:
    text = base64.b64encode(pickle.dumps(told)).decode()
    return rows_.batch_of({"kind": [REPORT], "o": [text], "split": [told.report.number]}, 1)


def told_in(rows: pa.Table) -> list[_Told]:
    """What the tasks told that gave ``rows``, in the order of what they read."""
    texts = rows.filter(pc.equal(rows["kind"], REPORT))["o"].to_pylist()
    return sorted((pickle.loads(base64.b64decode(text)) for text in texts), key=lambda told: told.report.number)


# --- in parallel ----------------------------------------------------------------------------------


def _parallel(spark: SparkSession, parts: _Parts, judging: Judging, store: StoreKey) -> BatchRows | None:
    """The batch, or None where it has to be read as a whole."""
    frames = []
    if count := len(parts.ranges):
        task = partial(_range_task, list(parts.ranges.items()), judging, store)
        frames.append(spark.range(0, count, 1, count).mapInArrow(task, DDL))
    for number, (scope, name, frame) in parts.frames.items():
        own = partial(read_frame, number=number, scope=scope, judging=judging, store=store, source=name)
        frames.append(frame.mapInArrow(own, DDL))
    whole = reduce(DataFrame.unionAll, frames) if frames else spark.createDataFrame([], DDL)
    whole = whole.persist()
    found = None
    try:
        found = _joined(whole, parts, told_in(whole.where(F.col("kind") == REPORT).toArrow()))
    finally:
        if found is None:
            whole.unpersist()
    return found


def _range_task(
    ranges: Sequence[tuple[int, Range]], judging: Judging, store: StoreKey, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for i in batch.column(0).to_pylist():
            number, part = ranges[i]
            yield from read_range(number, part, judging, store)


def _joined(whole: DataFrame, parts: _Parts, told: Sequence[_Told]) -> BatchRows | None:
    reports = [x.report for x in told]
    for report in reports:
        if report.error is not None:
            raise InputError(*report.error)
    if any(report.needs_whole for report in reports):
        return None
    assert [x.number for x in reports if x.number in parts.ranges] == list(parts.ranges), "each range tells once"
    origins = {x.number: (x.source, first) for x, first in zip(reports, first_lines(reports))}
    leftovers, ledger = account(parts.ranges, reports)
    names = tuple(set[str]().union(*(x.names[kind] for x in told)) for kind in range(3))
    return BatchRows(
        whole.where(F.col("kind").isin(*ASSERTIONS)),
        tuple(capped([*leftovers, *parts.leftovers])),
        ledger,
        (names[0], names[1], names[2]),
        ABox(),
        sum(x.rows for x in told),
        (whole,),
        origins=origins,
        count=sum(x.count for x in told),
    )


def account(ranges: dict[int, Range], reports: Sequence[RangeReport]) -> tuple[list[Leftover], Counter[str]]:
    """Leftovers and ledger of everything that was read in tasks, which come in the order of their numbers.

    Raises: InputError for a file of which no line looks like a triple."""
    leftovers: list[Leftover] = []
    ledger: Counter[str] = Counter()
    reports = located(reports)
    for _, some in groupby(reports, key=lambda report: report.scope):
        own = list(some)
        if isinstance(ranges.get(own[0].number), ByteRange):
            refuse_no_triples(own)
        shown, total = rejects_of(own)
        leftovers += shown
        ledger["leftover:malformed"] += total
    for report in reports:
        ledger.update(report.ledger)
    return [*leftovers, *merged(reports)], +ledger


# --- by the driver --------------------------------------------------------------------------------


def _by_driver(spark: SparkSession, reading: Reading, store: StoreKey, aside: bool) -> BatchRows:
    """The batch as the other engines read it."""
    abox, set_aside = without_ill_typed(reading.abox) if aside else (reading.abox, ())
    leftovers, ledger = (*reading.leftovers, *set_aside), Counter(reading.ledger)
    return replace(rows_of_abox(spark, abox, store), leftovers=leftovers, ledger=ledger, places=reading.places)


def rows_of_abox(spark: SparkSession, abox: ABox, store: StoreKey) -> BatchRows:
    """An ABox as rows; terms are looked up in tasks."""
    table = rows_.rows_of(abox)
    frame = spark.createDataFrame(table) if table.num_rows else spark.createDataFrame([], DDL)
    count = max(1, min(width_of(spark), -(-table.num_rows // 10_000)))
    spread = frame.repartition(count, "s") if count > 1 else frame.coalesce(1)
    frame = spread.mapInArrow(partial(_look_up, store), DDL).persist()
    others = ABox(individuals=abox.individuals, same=abox.same, different=abox.different, complex=abox.complex)
    names = (set(abox.classes), set(abox.object_properties), set(abox.data_properties))
    return BatchRows(frame, (), Counter(), names, others, held=(frame,), count=table.num_rows)


def _look_up(store: StoreKey, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from rows_.numbered(pa.Table.from_batches([batch]), store)[0].to_batches()

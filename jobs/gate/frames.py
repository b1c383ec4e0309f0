"""Gate for DataFrames: return accepted and quarantined rows with all their columns.

Executors write the batch to files once, so that the decision and the output concern the same rows.
The driver reads the terms only and decides as `shiq.jobs.gate.decide` does. Outputs are joins of
the written rows with the decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import NullType

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import Session, index, session_of
from shiq.errors import UsageError
from shiq.inputs.sources import TABLE, Given, TableKind, TableSource, classify_input
from shiq.jobs.checking.options import NTRIPLES_TERMS, Clock, options_from_settings
from shiq.jobs.gate.answer import (
    BatchNotReadError,
    GateAnswer,
    limit_batch_reading,
    refuse_unread_batch,
)
from shiq.jobs.gate.appending import AppendRun
from shiq.jobs.gate.decide import gate
from shiq.jobs.gate.output_frames import FrameOutputs, content_hash_of_frame
from shiq.jobs.gate.output_tables import (
    REASON_COLUMNS,
    REFUSED_ROW,
    RowDecisions,
    conflict_table,
    make_append_run,
    reason_table,
    refuse_reason_columns,
    row_decisions,
)
from shiq.jobs.spark import engine as spark_engine
from shiq.jobs.spark.session import TemporaryTables, is_connect, temporary_tables
from shiq.jobs.spark.session_tables import SessionTable, hidden_version, unreadable_error
from shiq.rdf.tables import AllColumns, check_columns, table_files
from shiq.rdf.terms import COLUMNS
from shiq.rml.inputs import mapped_sources
from shiq.rml.tables import referenced_columns

#: What of a triple a column may hold.
TRIPLE_COLUMNS: Final = COLUMNS[:4]
#: What a DataFrame is called, unless it has a name.
DEFAULT_NAME: Final = "DataFrame"
#: The number of a row, beside its columns, which are kept by their places.
_ROW_COLUMN: Final = "row"
#: What Spark calls a query in whose midst it is, the same after a restart from its checkpoint, and
#: the number of its batch.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
#: Rows of a change data feed have it.
_CHANGE_COLUMN: Final = "_change_type"
#: What is written down for frames that are not closed: as long as this process runs.
_open_files: set[TemporaryTables] = set()


@dataclass(eq=False)
class GatedFrames:
    """Answer of a gate as DataFrames of accepted rows, quarantined rows and conflicts; valid until
    `close`.

    answer: the decision.
    accepted: rows with the columns of the input.
    quarantine: rows with the columns of the input and `REASON_COLUMNS`.
    conflicts: rows of `CONFLICT_COLUMNS`.
    """

    answer: GateAnswer
    accepted: DataFrame
    quarantine: DataFrame
    conflicts: DataFrame
    _files: TemporaryTables = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the whole batch."""
        return self.answer.verdict

    @property
    def outcome(self) -> str:
        """Decision: "accepted", "split" or "refused"."""
        return self.answer.decision

    def __iter__(self) -> Iterator[DataFrame]:
        return iter((self.accepted, self.quarantine, self.conflicts))

    def __enter__(self) -> GatedFrames:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Delete the files behind the DataFrames, which cannot be read afterwards."""
        _open_files.discard(self._files)
        self._files.remove()


def gate_frame(
    frame: DataFrame,
    store: str | Path | Session,
    *,
    mode: str = "split",
    commit: bool = False,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    accepted: str | None = None,
    quarantine: str | None = None,
    name: str = DEFAULT_NAME,
    deletions: Sequence[str] = (),
    clock: Clock | None = None,
    **settings: Any,
) -> GatedFrames:
    """Decide which rows of ``frame`` the ``store`` can accept; see `shiq.spark.gate`.

    clock: see `shiq.jobs.gate.decide.gate`.

    Raises: UsageError, InputError, OperationalError; BatchNotReadError if the time is over first.
    """
    spark, options, clock = frame.sparkSession, options_from_settings(settings), clock or Clock()
    _refuse_frame(frame, spark, name)
    sides = FrameOutputs.open(spark, frame.schema, accepted, quarantine)
    reading = _term_columns(frame, columns, mapping, name, settings.pop("terms", NTRIPLES_TERMS))
    if mapping is not None and settings.setdefault("unit", "row") != "row":
        raise UsageError(
            "a row that a mapping reads goes to one side as a whole",
            "Leave unit out, or say unit='row'.",
        )
    with ExitStack() as stack:
        session = stack.enter_context(session_of(store))
        taken = _query_batch_number(spark)
        files = temporary_tables(spark, "the rows of a gate")
        _open_files.add(files)
        made: list[GatedFrames] = []

        def frames_of(answer: GateAnswer) -> GatedFrames:
            if not made:
                made.append(_make_frames(answer, frame, kept, rows, files))
            return replace(made[0], answer=answer)

        @cache
        def hash_rows() -> int:
            return content_hash_of_frame(kept.drop(_ROW_COLUMN))

        def make_run(side: str, answer: GateAnswer) -> AppendRun:
            """Run id of a side; in a streaming query the query id and the batch number, whatever
            the rows.
            """
            of_query = [
                AppendRun(f"shiq-gate-{query}-{side}", number) for query, number in taken.items()
            ]
            return (
                of_query[0]
                if of_query
                else make_append_run(answer, session.path, side, hash_rows())
            )

        def deliver(answer: GateAnswer) -> None:
            found = frames_of(answer)
            sides.append(
                {"accepted": found.accepted, "quarantine": found.quarantine},
                partial(make_run, answer=answer),
            )

        try:
            with limit_batch_reading(options, clock):
                kept = _write_input_rows(frame, files)
                terms = (
                    kept.select(_ROW_COLUMN, *reading.term_expressions(kept))
                    .sort(_ROW_COLUMN)
                    .toArrow()
                )
            rows = terms.column(_ROW_COLUMN)
            table = replace(reading.source, value=terms.drop_columns([_ROW_COLUMN]))
            commit = commit and not _is_applied(session, taken)
            answer = gate(
                session,
                [table],
                deletions,
                mode=mode,
                commit=commit,
                taken=taken,
                deliver=deliver,
                hints_first=True,
                clock=clock,
                **settings,
            )
            return frames_of(answer)
        except BaseException as error:
            _open_files.discard(files)
            files.remove()
            if isinstance(error, PySparkException | Py4JError):
                raise unreadable_error(name, error) from error
            raise


def check_frame(
    frame: DataFrame,
    store: str | Path | Session,
    *,
    commit: bool = False,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Check the triples of ``frame`` against ``store``; see `shiq.spark.check`."""
    rows = _triple_columns(frame, columns, mapping)
    settings = {"engine": "spark", **settings, "mapping": mapping}
    with session_of(store) as session:
        taken = _query_batch_number(frame.sparkSession)
        return session.check(
            rows, commit=commit and not _is_applied(session, taken), taken=taken, **settings
        )


def index_frame(
    frame: DataFrame,
    tbox: Given,
    store: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Build a store of the triples of ``frame``; see `shiq.spark.index`."""
    return index(
        tbox,
        _triple_columns(frame, columns, mapping),
        store,
        **{"engine": "spark", **settings, "mapping": mapping},
    )


def _triple_columns(
    frame: DataFrame, columns: Mapping[str, str] | None, mapping: str | Path | None
) -> DataFrame:
    """Select the columns of ``frame`` for subject, predicate, object and graph, renamed as
    `TRIPLE_COLUMNS`. Raises: UsageError.
    """
    if columns is None:
        return frame
    _refuse_columns_and_mapping(mapping)
    places = column_positions(frame, columns, DEFAULT_NAME)
    by_place = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return by_place.select(*(F.col(f"c{place}").alias(part) for part, place in places.items()))


def _refuse_columns_and_mapping(mapping: str | Path | None) -> None:
    """Refuse a mapping in addition to column names. Raises: UsageError."""
    if mapping is not None:
        raise UsageError(
            "columns= and mapping= both say what the columns mean", "Give one of them."
        )


def _refuse_frame(frame: DataFrame, spark: SparkSession, name: str) -> None:
    """Refuse DataFrames that a gate cannot process. Raises: UsageError."""
    if is_connect(spark):
        raise UsageError(
            "a gate of DataFrames needs a classic session of Spark", "Unset SPARK_REMOTE."
        )
    if frame.isStreaming:
        raise UsageError(
            f"{name} is a stream",
            "Gate each micro-batch: writeStream.foreachBatch(…), docs/GATE.md.",
        )
    if _CHANGE_COLUMN in frame.columns:
        raise UsageError(
            f"{name} has the column {_CHANGE_COLUMN}: some of its rows are deletions",
            "Give its insertions alone, or check the table's versions by shiq.table_changes.",
        )
    refuse_reason_columns(name, frame.columns)


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TermColumns:
    """Columns of a DataFrame that hold RDF terms.

    source: the description of the table for the gate's reader.
    names: position in the DataFrame of each column that ``source`` reads.
    is_text: the columns are cast to strings.
    """

    source: TableSource
    names: Mapping[str, int]
    is_text: bool

    def term_expressions(self, kept: DataFrame) -> list[Any]:
        """Column expressions that select the terms from the numbered rows ``kept``, for the driver."""
        columns = {name: F.col(f"c{place}") for name, place in self.names.items()}
        return [
            (column.cast("string") if self.is_text else column).alias(name)
            for name, column in columns.items()
        ]


def _term_columns(
    frame: DataFrame,
    columns: Mapping[str, str] | None,
    mapping: str | Path | None,
    name: str,
    terms: str,
) -> _TermColumns:
    """Find the columns that hold terms, before any row is read. Raises: UsageError, InputError."""
    bare = terms != NTRIPLES_TERMS
    if mapping is None:
        return _TermColumns(
            TableSource(name, TableKind.ARROW, None, has_bare_terms=bare),
            column_positions(frame, columns, name),
            is_text=True,
        )
    if columns is not None:
        _refuse_columns_and_mapping(mapping)
    empty = TableSource(name, TableKind.ARROW, to_arrow_schema(frame.schema).empty_table())
    (source,) = mapped_sources([empty], mapping)
    assert isinstance(source, TableSource)
    if source.mapping is None:
        return _TermColumns(
            replace(source, has_bare_terms=bare), column_positions(frame, None, name), is_text=True
        )
    wanted = referenced_columns(source.mapping.maps)
    return _TermColumns(
        source, {column: frame.columns.index(column) for column in wanted}, is_text=False
    )


def column_positions(
    frame: DataFrame, columns: Mapping[str, str] | None, name: str
) -> dict[str, int]:
    """Find the position of the column for subject, predicate, object and graph (`TRIPLE_COLUMNS`).
    Raises: UsageError, InputError.
    """
    asked = dict(columns or {})
    if unknown := [part for part in asked if part not in TRIPLE_COLUMNS]:
        raise UsageError(
            f"columns= names {unknown[0]!r}", f"Its keys are {', '.join(TRIPLE_COLUMNS)}."
        )
    called = {
        part: asked.get(part, part)
        for part in TRIPLE_COLUMNS
        if part in asked or part != "graph" or part in frame.columns
    }
    for part, column in called.items():
        if column not in frame.columns and columns is not None:
            raise UsageError(
                f"{name} has no column {column!r}, which is to hold {part}",
                f"It has {', '.join(frame.columns)}.",
            )
    if columns is None:
        check_columns(name, frame.columns, wanted=TRIPLE_COLUMNS[:3])
    return {part: frame.columns.index(column) for part, column in called.items()}


def _write_input_rows(frame: DataFrame, files: TemporaryTables) -> DataFrame:
    """Write the rows of ``frame`` to files on the executors, numbered, with columns named by
    position.
    """
    columns = [f"c{i}" for i in range(len(frame.columns))]
    # A column of nothing has no type that files know.
    empty = [f.name for f in frame.toDF(*columns).schema if isinstance(f.dataType, NullType)]
    numbered = frame.toDF(*columns).withColumn(_ROW_COLUMN, F.monotonically_increasing_id())
    return files.write(
        "batch",
        numbered.withColumns({c: F.lit(None).cast("string") for c in empty}) if empty else numbered,
    )


def _query_batch_number(spark: SparkSession) -> dict[str, int]:
    """Number of the current micro-batch as {id of its streaming query: number}; empty outside a
    streaming query.
    """
    query, number = (spark.sparkContext.getLocalProperty(key) for key in (_QUERY, _BATCH))
    return {query: int(number)} if query and number else {}


def _is_applied(session: Session, batch: Mapping[str, int]) -> bool:
    """Decide whether the store has committed this micro-batch already, as after a restart of the
    streaming query.
    """
    return any(session.taken.get(query, -1) >= number for query, number in batch.items())


# --- sides ----------------------------------------------------------------------------------------


def _make_frames(
    answer: GateAnswer,
    frame: DataFrame,
    kept: DataFrame,
    rows: pa.ChunkedArray,
    files: TemporaryTables,
) -> GatedFrames:
    """Make the DataFrames of a gate's answer. ``kept``: the numbered input rows; ``rows``: their
    numbers in the order that the gate read them.
    """
    sides = row_decisions(answer)
    own = [_input_column(i, f) for i, f in enumerate(frame.schema)]
    decided = _decision_frame(frame.sparkSession, sides, rows)
    return GatedFrames(
        answer,
        _accepted_rows(kept, decided, sides).select(*own),
        _quarantined_rows(kept, decided, sides).select(*own, *REASON_COLUMNS.names),
        frame.sparkSession.createDataFrame(conflict_table(answer)),
        files,
    )


def _input_column(place: int, column: Any) -> Any:
    """Column expression for the input column at position ``place``, with its original name and
    metadata.
    """
    kept = F.col(f"c{place}")
    found = F.lit(None) if isinstance(column.dataType, NullType) else kept
    return (
        found.alias(column.name, metadata=column.metadata)
        if column.metadata
        else found.alias(column.name)
    )


def _decision_frame(spark: SparkSession, sides: RowDecisions, rows: pa.ChunkedArray) -> DataFrame:
    """Make a DataFrame of the quarantined row numbers with `REASON_COLUMNS`."""
    numbers = sorted(sides.reasons)
    of_rows = rows.take(pa.array([number - 1 for number in numbers], pa.int64())).combine_chunks()
    reasons = reason_table([sides.reasons[number] for number in numbers])
    return spark.createDataFrame(reasons.add_column(0, pa.field(_ROW_COLUMN, pa.int64()), of_rows))


def _accepted_rows(kept: DataFrame, decided: DataFrame, sides: RowDecisions) -> DataFrame:
    """Select the input rows ``kept`` that are not quarantined."""
    if sides.refuses_all:
        return kept.where(F.lit(False))
    return (
        kept.join(F.broadcast(decided.select(_ROW_COLUMN)), _ROW_COLUMN, "left_anti")
        if sides.reasons
        else kept
    )


def _quarantined_rows(kept: DataFrame, decided: DataFrame, sides: RowDecisions) -> DataFrame:
    """Select the quarantined input rows and append the reasons; all rows if the batch is refused."""
    if not sides.refuses_all:
        return kept.join(F.broadcast(decided), _ROW_COLUMN)
    none = F.array().cast("array<string>")
    others = {
        "reason": F.lit(REFUSED_ROW.reason),
        "cause": F.lit(REFUSED_ROW.cause),
        "conflict": none,
        "axioms": none,
    }
    joined = kept.join(F.broadcast(decided), _ROW_COLUMN, "left")
    return joined.withColumns(
        {column: F.coalesce(column, value) for column, value in others.items()}
    )


# ``shiq gate --engine spark`` with one table as input and tables as outputs.


def gate_tables(session: Session, insertions: Sequence[str], **settings: Any) -> GateAnswer:
    """Gate the batch that is the one table of ``insertions``; settings as in `gate_frame`. Raises:
    UsageError, InputError, OperationalError.
    """
    if len(insertions) != 1:
        raise UsageError(
            "a side that is a table has the rows of one table", "Name one table with --insert."
        )
    options, clock = options_from_settings(settings), Clock()
    try:
        with limit_batch_reading(options, clock):
            frame = _load_frame(spark_engine.obtain_session(options), insertions[0])
        with gate_frame(frame, session, name=insertions[0], clock=clock, **settings) as frames:
            return frames.answer
    except BatchNotReadError:
        return refuse_unread_batch(insertions, options, clock, **settings)


def _load_frame(spark: SparkSession, name: str) -> DataFrame:
    """Load all columns of a table: in Spark's catalog, Delta or Parquet. Raises: UsageError,
    InputError.
    """
    try:
        if name.startswith(TABLE):
            return SessionTable.open_present(spark, name).frame
        source = classify_input(name)
        if not isinstance(source, TableSource) or source.kind not in (
            TableKind.PARQUET,
            TableKind.DELTA,
        ):
            raise UsageError(
                f"{name} is no table that executors read row by row",
                "Give Parquet, Delta or table:NAME, or leave out --engine spark.",
            )
        if (version := hidden_version(name)) is not None:
            return (
                spark.read.format("delta")
                .option("versionAsOf", version)
                .load(str(Path(name).absolute()))
            )
        files = [
            Path(file.path).absolute().as_uri() for file in table_files(source, AllColumns())[0]
        ]
        whole = spark.read.option("mergeSchema", "true")
        path = Path(source.value).absolute()
        return (whole.option("basePath", path.as_uri()) if path.is_dir() else whole).parquet(*files)
    except (PySparkException, Py4JError) as error:
        raise unreadable_error(name, error) from error

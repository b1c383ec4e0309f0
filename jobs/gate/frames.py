"""DataFrames through a gate: rows in, rows accepted and rows set aside out, each with all
columns that it had.

Executors read the batch and write it down once, so that what is decided about is what comes out.
The driver is given the terms alone, and decides as `jobs.gate.decide` does for files. Sides are
joins of the written rows with the decision.
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

from jobs.checking.options import NTRIPLES_TERMS
from jobs.gate.appending import AppendRun
from jobs.gate.decide import gate
from jobs.gate.frame_sides import FrameSides, content_of_frame
from jobs.gate.gated import GateAnswer
from jobs.gate.row_sides import (
    REASON_COLUMNS,
    REFUSED_ROW,
    RowSides,
    conflict_table,
    reason_table,
    refuse_reason_columns,
    row_sides,
)
from jobs.gate.table_sides import side_run
from jobs.spark.lake import unreadable
from jobs.spark.round_files import RoundFiles, round_files
from jobs.spark.session import is_connect
from shiq.check import Session, index, open_store
from shiq.errors import UsageError
from shiq.rdf.table_terms import COLUMNS
from shiq.rdf.tables import check_columns
from shiq.result import Result
from shiq.rml.inputs import mapped_sources
from shiq.rml.tables import columns_wanted
from shiq.sources import TableKind, TableSource
from shiq.verdict import Verdict

#: What of a triple a column may hold.
PARTS: Final = COLUMNS[:4]
#: What a DataFrame is called, unless it has a name.
NAME: Final = "DataFrame"
#: The number of a row, beside its columns, which are kept by their places.
_ROW: Final = "row"
#: What Spark calls a query in whose midst it is, the same after a restart from its checkpoint, and
#: the number of its batch.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
#: Rows of a change data feed have it.
_CHANGE: Final = "_change_type"
#: What is written down for frames that are not closed: as long as this process runs.
_open: set[RoundFiles] = set()


@dataclass(eq=False)
class GatedFrames:
    """The answer of a gate as three DataFrames, which rest on files until `close`: ``accepted``,
    with the columns of the input; ``quarantine``, with `REASON_COLUMNS` beside them;
    ``conflicts``. ``answer``: what was decided, for programs.
    """

    answer: GateAnswer
    accepted: DataFrame
    quarantine: DataFrame
    conflicts: DataFrame
    _files: RoundFiles = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole batch."""
        return self.answer.verdict

    @property
    def outcome(self) -> str:
        """accepted, split or refused."""
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
        """Remove what the frames rest on; they cannot be read any more."""
        _open.discard(self._files)
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
    name: str = NAME,
    deletions: Sequence[str] = (),
    **settings: Any,
) -> GatedFrames:
    """Decide which rows of ``frame`` ``store`` can take, as ``shiq gate`` does for files; see
    `shiq.spark.gate`.

    Raises: UsageError, InputError, OperationalError.
    """
    spark = frame.sparkSession
    _refuse(frame, spark, name)
    sides = FrameSides.of(spark, frame.schema, accepted, quarantine)
    reading = _reading(frame, columns, mapping, name, settings.pop("terms", NTRIPLES_TERMS))
    if mapping is not None and settings.setdefault("unit", "row") != "row":
        raise UsageError(
            "a row that a mapping reads goes to one side as a whole",
            "Leave unit out, or say unit='row'.",
        )
    with ExitStack() as stack:
        session = store if isinstance(store, Session) else stack.enter_context(open_store(store))
        taken = _batch_of_query(spark)
        files = round_files(spark, "the rows of a gate")
        _open.add(files)
        made: list[GatedFrames] = []

        def frames_of(answer: GateAnswer) -> GatedFrames:
            if not made:
                made.append(_frames(answer, frame, kept, rows, files))
            return replace(made[0], answer=answer)

        @cache
        def content() -> int:
            return content_of_frame(kept.drop(_ROW))

        def run_of(side: str, answer: GateAnswer) -> AppendRun:
            """Of a micro-batch its number says what it is, whatever rows it has."""
            of_query = [
                AppendRun(f"shiq-gate-{query}-{side}", number) for query, number in taken.items()
            ]
            return of_query[0] if of_query else side_run(answer, session.path, side, content())

        def deliver(answer: GateAnswer) -> None:
            found = frames_of(answer)
            sides.append(
                {"accepted": found.accepted, "quarantine": found.quarantine},
                partial(run_of, answer=answer),
            )

        try:
            kept = _write_down(frame, files)
            terms = kept.select(_ROW, *reading.terms(kept)).sort(_ROW).toArrow()
            rows = terms.column(_ROW)
            table = replace(reading.source, value=terms.drop_columns([_ROW]))
            commit = commit and not _is_taken(session, taken)
            answer = gate(
                session,
                [table],
                deletions,
                mode=mode,
                commit=commit,
                taken=taken,
                deliver=deliver,
                hints_first=True,
                **settings,
            )
            return frames_of(answer)
        except BaseException as error:
            _open.discard(files)
            files.remove()
            if isinstance(error, PySparkException | Py4JError):
                raise unreadable(name, error) from error
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
    rows = _renamed(frame, columns, mapping)
    settings = {"engine": "spark", **settings, "mapping": mapping}
    with ExitStack() as stack:
        session = store if isinstance(store, Session) else stack.enter_context(open_store(store))
        taken = _batch_of_query(frame.sparkSession)
        return session.check(
            rows, commit=commit and not _is_taken(session, taken), taken=taken, **settings
        )


def index_frame(
    frame: DataFrame,
    tbox: object,
    store: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Build a store of the triples of ``frame``; see `shiq.spark.index`."""
    return index(
        tbox,
        _renamed(frame, columns, mapping),
        store,
        **{"engine": "spark", **settings, "mapping": mapping},
    )


def _renamed(
    frame: DataFrame, columns: Mapping[str, str] | None, mapping: str | Path | None
) -> DataFrame:
    """The columns of ``frame`` that hold triples, by the names of `PARTS`, where ``columns``
    says which. Raises: UsageError.
    """
    if columns is None:
        return frame
    _refuse_both(mapping)
    places = places_of(frame, columns, NAME)
    by_place = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return by_place.select(*(F.col(f"c{place}").alias(part) for part, place in places.items()))


def _refuse_both(mapping: str | Path | None) -> None:
    if mapping is not None:
        raise UsageError(
            "columns= and mapping= both say what the columns mean", "Give one of them."
        )


def _refuse(frame: DataFrame, spark: SparkSession, name: str) -> None:
    """Raises: UsageError for a DataFrame that no gate takes."""
    if is_connect(spark):
        raise UsageError(
            "a gate of DataFrames needs a classic session of Spark", "Unset SPARK_REMOTE."
        )
    if frame.isStreaming:
        raise UsageError(
            f"{name} is a stream",
            "Gate each micro-batch: writeStream.foreachBatch(…), docs/GATE.md.",
        )
    if _CHANGE in frame.columns:
        raise UsageError(
            f"{name} has the column {_CHANGE}: some of its rows are deletions",
            "Give its insertions alone, or check the table's versions by shiq.table_changes.",
        )
    refuse_reason_columns(name, frame.columns)


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """The terms of a DataFrame as the driver is given them: ``names``, by the names that
    ``source`` has for them, of columns.
    """

    source: TableSource
    names: Mapping[str, int]
    is_text: bool

    def terms(self, kept: DataFrame) -> list[Any]:
        columns = {name: F.col(f"c{place}") for name, place in self.names.items()}
        return [
            (column.cast("string") if self.is_text else column).alias(name)
            for name, column in columns.items()
        ]


def _reading(
    frame: DataFrame,
    columns: Mapping[str, str] | None,
    mapping: str | Path | None,
    name: str,
    terms: str,
) -> _Reading:
    """Raises: UsageError, InputError before any row is read."""
    bare = terms != NTRIPLES_TERMS
    if mapping is None:
        return _Reading(
            TableSource(name, TableKind.ARROW, None, bare=bare),
            places_of(frame, columns, name),
            is_text=True,
        )
    if columns is not None:
        _refuse_both(mapping)
    empty = TableSource(name, TableKind.ARROW, to_arrow_schema(frame.schema).empty_table())
    (source,) = mapped_sources([empty], mapping)
    assert isinstance(source, TableSource)
    if source.mapping is None:
        return _Reading(replace(source, bare=bare), places_of(frame, None, name), is_text=True)
    wanted = columns_wanted(source.mapping.maps)
    return _Reading(
        source, {column: frame.columns.index(column) for column in wanted}, is_text=False
    )


def places_of(frame: DataFrame, columns: Mapping[str, str] | None, name: str) -> dict[str, int]:
    """The place of the column of ``frame`` that holds each of `PARTS`. Raises: UsageError,
    InputError.
    """
    asked = dict(columns or {})
    if unknown := [part for part in asked if part not in PARTS]:
        raise UsageError(f"columns= names {unknown[0]!r}", f"Its keys are {', '.join(PARTS)}.")
    called = {
        part: asked.get(part, part)
        for part in PARTS
        if part in asked or part != "graph" or part in frame.columns
    }
    for part, column in called.items():
        if column not in frame.columns and columns is not None:
            raise UsageError(
                f"{name} has no column {column!r}, which is to hold {part}",
                f"It has {', '.join(frame.columns)}.",
            )
    if columns is None:
        check_columns(name, frame.columns, wanted=PARTS[:3])
    return {part: frame.columns.index(column) for part, column in called.items()}


def _write_down(frame: DataFrame, files: RoundFiles) -> DataFrame:
    """The rows of ``frame`` as files, written by executors, each with a number; columns by their
    places, whatever their names.
    """
    columns = [f"c{i}" for i in range(len(frame.columns))]
    # A column of nothing has no type that files know.
    empty = [f.name for f in frame.toDF(*columns).schema if isinstance(f.dataType, NullType)]
    numbered = frame.toDF(*columns).withColumn(_ROW, F.monotonically_increasing_id())
    return files.write(
        "batch",
        numbered.withColumns({c: F.lit(None).cast("string") for c in empty}) if empty else numbered,
    )


def _batch_of_query(spark: SparkSession) -> dict[str, int]:
    """The number of the micro-batch that is at work, by its query; empty outside of one."""
    query, number = (spark.sparkContext.getLocalProperty(key) for key in (_QUERY, _BATCH))
    return {query: int(number)} if query and number else {}


def _is_taken(session: Session, batch: Mapping[str, int]) -> bool:
    """Whether the store took the micro-batch in before the query was interrupted."""
    return any(session.taken.get(query, -1) >= number for query, number in batch.items())


# --- sides ----------------------------------------------------------------------------------------


def _frames(
    answer: GateAnswer, frame: DataFrame, kept: DataFrame, rows: pa.ChunkedArray, files: RoundFiles
) -> GatedFrames:
    sides = row_sides(answer)
    own = [_own_column(i, f) for i, f in enumerate(frame.schema)]
    decided = _decision(frame.sparkSession, sides, rows)
    return GatedFrames(
        answer,
        _accepted(kept, decided, sides).select(*own),
        _quarantine(kept, decided, sides).select(*own, *REASON_COLUMNS.names),
        frame.sparkSession.createDataFrame(conflict_table(answer)),
        files,
    )


def _own_column(place: int, column: Any) -> Any:
    """A column of the input, as it was."""
    kept = F.col(f"c{place}")
    found = F.lit(None) if isinstance(column.dataType, NullType) else kept
    return (
        found.alias(column.name, metadata=column.metadata)
        if column.metadata
        else found.alias(column.name)
    )


def _decision(spark: SparkSession, sides: RowSides, rows: pa.ChunkedArray) -> DataFrame:
    """The numbers of the rows that are set aside, each with `REASON_COLUMNS`."""
    numbers = sorted(sides.reasons)
    of_rows = rows.take(pa.array([number - 1 for number in numbers], pa.int64())).combine_chunks()
    reasons = reason_table([sides.reasons[number] for number in numbers])
    return spark.createDataFrame(reasons.add_column(0, pa.field(_ROW, pa.int64()), of_rows))


def _accepted(kept: DataFrame, decided: DataFrame, sides: RowSides) -> DataFrame:
    if sides.refuses_all:
        return kept.where(F.lit(False))
    return (
        kept.join(F.broadcast(decided.select(_ROW)), _ROW, "left_anti") if sides.reasons else kept
    )


def _quarantine(kept: DataFrame, decided: DataFrame, sides: RowSides) -> DataFrame:
    if not sides.refuses_all:
        return kept.join(F.broadcast(decided), _ROW)
    none = F.array().cast("array<string>")
    others = {
        "reason": F.lit(REFUSED_ROW.reason),
        "cause": F.lit(REFUSED_ROW.cause),
        "conflict": none,
        "axioms": none,
    }
    joined = kept.join(F.broadcast(decided), _ROW, "left")
    return joined.withColumns(
        {column: F.coalesce(column, value) for column, value in others.items()}
    )

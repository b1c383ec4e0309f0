"""Read tables that only a Spark session knows, as sources of triples and as changes of a batch.

These are `table:catalog.schema.t`, and Delta tables with deletion vectors or column mapping
where delta-spark is on the session. Of a table with versions the newest one is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from shiq.errors import BUILD_ANEW, InputError
from shiq.inputs.sources import TABLE, TableKind, TableSource, table_kind
from shiq.jobs.checking.options import Options
from shiq.jobs.spark.engine import obtain_session
from shiq.rdf.delta_changes import TableChanges, last_committed_version
from shiq.rdf.tables import (
    BATCH_ROWS,
    check_columns,
    delta_log,
    hidden_features,
    read_rows,
    summarise_error,
)
from shiq.rdf.terms import COLUMNS
from shiq.rdf.triples import Rejects, Triples, term_text

_SNAPSHOT = re.compile(r"\bcurrent-snapshot-id=(\d+)")


def spark_tables(
    sources: Sequence[object], options: Options, *, builds: bool = False
) -> list[object]:
    """Replace names of tables that only Spark can read by the tables of its session.

    builds: whether the tables are read once, for a store. Raises: InputError, OperationalError.
    """
    return [
        _find_table(str(os.fspath(s)), options, builds) or s
        if isinstance(s, (str, os.PathLike))
        else s
        for s in sources
    ]


def _find_table(name: str, options: Options, builds: bool) -> TableSource | None:
    """Find the table ``name`` in Spark's session; None if it can be read without Spark, or if Spark
    lacks Delta.
    """
    version = None if name.startswith(TABLE) else hidden_version(name)
    if version is None and not name.startswith(TABLE):
        return None
    session = obtain_session(options, brief=not builds)
    try:
        if version is not None:
            reader = session.read.format("delta").option("versionAsOf", version)
            return triple_source(
                name, reader.load(str(Path(name).absolute())), f"Delta version {version}"
            )
        known = SessionTable.open_present(session, name)
        found = triple_source(name, known.frame, known.description)
        if known.version is None and not builds:
            found = replace(found, kind=TableKind.ARROW, value=found.value.toArrow())
        return found
    except (PySparkException, Py4JError) as error:
        if version is not None and error_condition(error) == "DATA_SOURCE_NOT_FOUND":
            return None
        raise unreadable_error(name, error) from error


def hidden_version(name: str) -> int | None:
    """Newest version of a Delta table with features (such as deletion vectors) that only Spark
    reads; None for any other table.
    """
    if table_kind(name) is not TableKind.DELTA:
        return None
    # Loaded where there is a Delta table.
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(str(Path(name).absolute()))
        return table.version() if hidden_features(table) else None
    except (DeltaError, OSError, ValueError):
        return None  # said by whoever reads it


def triple_source(name: str, frame: DataFrame, taken: str) -> TableSource:
    """Make a table source of the columns s, p, o (and graph) of ``frame``. ``taken``: version, for
    messages. Raises: InputError.
    """
    check_columns(name, frame.columns)
    columns = [column for column in COLUMNS if column in frame.columns]
    return TableSource(name, TableKind.SPARK, frame.select(*columns), f"{name}: {taken}")


def unreadable_error(name: str, error: Exception) -> InputError:
    """Error for a table that Spark cannot read, with Spark's reason."""
    return InputError(
        f"{name}: Spark's session cannot read it: {summarise_error(error)}",
        "Does the session have the catalog and the jars of the table? docs/OPERATING.md has the settings for Delta and Iceberg.",
    )


def error_condition(error: Exception) -> str:
    """Spark's name of the condition that caused an error; "" if it has none."""
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


@dataclass(frozen=True)
class SessionTable:
    """Table in a Spark session, by ``name``.

    version: the version that ``frame`` reads; None if it is unknown or the ``format`` keeps none
    """

    name: str
    frame: DataFrame
    format: str = ""
    version: int | None = None

    @classmethod
    def open_present(cls, session: SparkSession, source: str) -> SessionTable:
        """Open the newest version of the table that ``source`` (with `table:`) names.

        Raises: errors of Spark.
        """
        name = source.removeprefix(TABLE)
        now = session.table(name)
        format, version = present_version(session, name)
        known = cls(name, now, format)
        if version is None:
            return known
        try:
            frame = known.read_version(session, version)
        except PySparkException:
            return known  # of a branch, a tag
        # What renames a column of Iceberg's makes no snapshot.
        return cls(name, frame, format, version) if frame.dtypes == now.dtypes else known

    def read_version(self, session: SparkSession, version: int) -> DataFrame:
        """Read one version of the table."""
        return session.sql(f"SELECT * FROM {self.name} VERSION AS OF {version}")

    @property
    def description(self) -> str:
        """Text with the format and version of the table, for reports."""
        if self.version is None:
            return "as it was when it was read; Spark has no version of it"
        return f"{'Delta version' if self.format == 'delta' else 'Iceberg snapshot'} {self.version}"


def present_version(session: SparkSession, name: str) -> tuple[str, int | None]:
    """Return the format of a table and its newest version; None in its place if the format has no
    versions.
    """
    told = {row[0]: str(row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
    match told.get("Provider", "").lower():
        case "delta":
            newest = session.sql(f"DESCRIBE HISTORY {name} LIMIT 1").first()
            return "delta", None if newest is None else int(newest["version"])
        case "iceberg":
            found = _SNAPSHOT.search(told.get("Table Properties", ""))
            return "iceberg", int(found[1]) if found else None
        case other:
            return other, None


#: Kinds of rows of Delta's feed and of Iceberg's changelog.
INSERT_TYPES, DELETE_TYPES = (
    ("insert", "update_postimage", "update_after"),
    ("delete", "update_preimage", "update_before"),
)
_CHANGE_TYPE = "_change_type"
#: What stands behind the name of an Iceberg table where a store keeps what it took of it.
ICEBERG = "#iceberg"
#: Before the first version of a table.
_NO_VERSION = -1
_TRIPLE_COLUMNS = COLUMNS[:4]


@dataclass(frozen=True)
class LakeChanges(TableChanges):
    """Insertions and deletions between versions of a Delta or Iceberg table, computed by Spark.

    first, last: versions of Delta, or snapshots of Iceberg
    commit_time: of the last snapshot of Iceberg, in milliseconds, since snapshot ids do not grow
    """

    commit_time: int | None = None

    def __str__(self) -> str:
        how = (
            "by its change data feed"
            if self.by_feed
            else "by comparing its versions, since its change data feed has gaps"
        )
        return f"{self.insertions.name}: {self.rows:,} rows {how}; the next batch is --after-version {self.last}"

    @property
    def feed(self) -> str:
        """Key under which a store records the last applied version of the table; see
        `TableChanges.feed`.
        """
        return f"{self.path}{ICEBERG}" if self.commit_time is not None else super().feed

    @property
    def number(self) -> int:
        """Number that a store records for the last version of the changes; see
        `TableChanges.number`.
        """
        return self.last if self.commit_time is None else self.commit_time


def lake_changes(
    table: str,
    options: Options,
    first: int | None = None,
    last: int | None = None,
    *,
    after: int | None = None,
) -> LakeChanges:
    """Compute the changes of the table ``table:NAME`` by the versions from ``first`` on, or by
    those after ``after``.

    last: last version; None: the newest. first: 0 is the first snapshot of Iceberg too.

    Raises: InputError where Spark knows no such table or versions, or a version is gone.
    """
    session = obtain_session(options)
    try:
        known, newest = _versioned_table(session, table)
        kept = _available_versions(session, known, newest)
        if first == 0 and known.format == "iceberg":
            first = kept[1]
        at = (
            _version_index(kept, table, after)
            if first is None
            else _version_index([*kept, kept[-1] + 1], table, first) - 1
        )
        end = _version_index(kept, table, newest if last is None else last)
        if end < at:
            raise InputError(
                f"{table}: {kept[end]} comes before the first version asked for",
                "Name the earlier version first.",
            )
        if at == 0 and kept[0] != _NO_VERSION:
            raise InputError(
                f"{table}: what was there before {kept[1]} has expired",
                "Build the store anew from the table.",
            )
        versions = VersionRange(session, known, kept[at], kept[end])
        net, by_feed = ([], True) if at == end else versions.changed_rows()
        came, went = ([row for row in net if (row["n"] > 0) is sign] for sign in (True, False))
        gone = versions.absent_rows(went) if went else []
        is_iceberg = known.format == "iceberg"
        path, ids = (table, ()) if is_iceberg else versions.identity()
        committed = dict(_iceberg_commits(session, known)).get(kept[end]) if is_iceberg else None
    except (PySparkException, Py4JError) as error:
        raise unreadable_error(table, error) from error
    first = kept[min(at + 1, end)]
    taken = f"{table}, {known.description.rpartition(' ')[0]} {first}" + (
        f" to {kept[end]}" if kept[end] != first else ""
    )
    rows = sum(abs(row["n"]) for row in net)
    return LakeChanges(
        _rows_as_source(taken, came),
        _rows_as_source(taken, gone),
        first,
        kept[end],
        rows,
        by_feed,
        path=path,
        ids=ids,
        commit_time=committed,
    )


def applied_version(table: str, options: Options, taken: Mapping[str, int]) -> int | None:
    """Last version of the table ``table:NAME`` that a store has applied; None if it applied none.

    taken: applied versions by feed (`Session.taken`).

    Raises: InputError if the version belongs to another table, or has expired.
    """
    session = obtain_session(options)
    try:
        known, _ = _versioned_table(session, table)
        if known.format == "iceberg":
            number = taken.get(f"{table}{ICEBERG}")
            found = [
                snapshot
                for snapshot, committed in _iceberg_commits(session, known)
                if committed == number
            ]
            if number is not None and not found:
                raise InputError(
                    f"{table}: the snapshot that the store took last has expired, or is of another table that had its name",
                    f"Build the store anew from the table ({BUILD_ANEW}).",
                )
            return found[0] if found else None
        path, present = _delta_log(session, known)
    except (PySparkException, Py4JError) as error:
        raise unreadable_error(table, error) from error
    return last_committed_version(
        taken, path, present, lambda version: _delta_table_id(path, version, present)
    )


def _versioned_table(session: SparkSession, table: str) -> tuple[SessionTable, int]:
    """Open a table and return it with its newest version. Raises: InputError for a table without
    versions.
    """
    known = SessionTable.open_present(session, table)
    if known.version is None:
        raise InputError(
            f"{table} has no versions, so its changes are not recorded",
            "Name one of Delta's or Iceberg's, with rows.",
        )
    return known, known.version


def _iceberg_commits(session: SparkSession, known: SessionTable) -> list[tuple[int, int]]:
    """Snapshots that an Iceberg table still has, each with its commit time in milliseconds,
    earliest first.
    """
    rows = (
        session.table(f"{known.name}.snapshots")
        .select("snapshot_id", F.unix_millis("committed_at").alias("at"))
        .collect()
    )
    return sorted(((row[0], row[1]) for row in rows), key=lambda row: row[1])


def _delta_log(session: SparkSession, known: SessionTable) -> tuple[str, str]:
    """Path of a Delta table, and the table's id in its log; "" for other formats."""
    detail = (
        session.sql(f"DESCRIBE DETAIL {known.name}").first() if known.format == "delta" else None
    )
    if detail is None:
        return "", ""
    scheme, _, path = detail["location"].partition(":")
    return str(Path("/" + path.lstrip("/"))) if scheme == "file" else detail["location"], str(
        detail["id"]
    )


def _delta_table_id(path: str, version: int, present: str) -> str:
    """Id of the table that a Delta log records at a version; the id ``present`` if the log is on
    another machine.

    Raises: InputError.
    """
    return str(delta_log(Path(path), version)[0].metadata().id) if path.startswith("/") else present


def _available_versions(session: SparkSession, known: SessionTable, newest: int) -> list[int]:
    """List the versions of a table from the oldest available to the newest, after the version
    before the oldest.

    The first item is `_NO_VERSION` if no version has expired.
    """
    if known.format == "delta":
        return [*range(_NO_VERSION, newest + 1)]
    snapshots = (
        session.table(f"{known.name}.snapshots").select("snapshot_id", "parent_id").collect()
    )
    parents, found = {row[0]: row[1] for row in snapshots}, [newest]
    while found[-1] in parents:
        parent = parents[found[-1]]
        found.append(_NO_VERSION if parent is None else parent)
    return found[::-1]


def _version_index(kept: Sequence[int], table: str, version: int | None) -> int:
    """Position of a version in the list ``kept`` of `_available_versions`. Raises: InputError."""
    if version is None or version not in kept[1:]:
        raise InputError(
            f"{table} has no version {version} (any more)", "Is it of another table, or expired?"
        )
    return kept.index(version)


@dataclass(frozen=True)
class VersionRange:
    """Versions of a table after ``previous`` (`_NO_VERSION`: from the beginning) up to ``last``."""

    session: SparkSession
    table: SessionTable
    previous: int
    last: int

    def changed_rows(self) -> tuple[list[Any], bool]:
        """Rows that occur more or less often in the last version than before, with the difference
        ``n``.

        Also returns whether the table's change feed was used.
        """
        try:
            found = _sum_signed_rows(self._feed_rows())
            before = (
                self.table.read_version(self.session, self.previous).count()
                if self.previous != _NO_VERSION
                else 0
            )
            if (
                before + sum(row["n"] for row in found)
                == self.table.read_version(self.session, self.last).count()
            ):
                return found, True
        except (PySparkException, Py4JError):
            pass  # there is none for these versions, or it is not whole
        both = [(self.last, 1)] + ([(self.previous, -1)] if self.previous != _NO_VERSION else [])
        signed = [
            _text_rows(self.table, self.table.read_version(self.session, v)).withColumn(
                "n", F.lit(n)
            )
            for v, n in both
        ]
        return _sum_signed_rows(
            reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), signed)
        ), False

    def identity(self) -> tuple[str, tuple[str, ...]]:
        """Path of a Delta table, and its ids in the log at both versions
        (`shiq.rdf.delta_changes`).
        """
        path, present = _delta_log(self.session, self.table)
        versions = sorted({self.last if self.previous == _NO_VERSION else self.previous, self.last})
        try:
            return path, tuple(
                _delta_table_id(path, version, present) for version in versions if path
            )
        except InputError:
            return "", ()  # of a version that only Spark reads

    def _feed_rows(self) -> DataFrame:
        """Rows of the table's change feed between the versions; ``n`` is 1 or -1."""
        reader, name = self.session.read, self.table.name
        if self.table.format == "delta":
            span = {"startingVersion": self.previous + 1, "endingVersion": self.last}
            feed = reader.option("readChangeFeed", "true").options(**span).table(name)
        else:
            begin = {} if self.previous == _NO_VERSION else {"start-snapshot-id": self.previous}
            feed = reader.options(**begin, **{"end-snapshot-id": self.last}).table(
                f"{name}.changes"
            )
        kind = F.lower(_CHANGE_TYPE)
        sign = (
            F.when(kind.isin(*INSERT_TYPES), 1)
            .when(kind.isin(*DELETE_TYPES), -1)
            .otherwise(F.raise_error(F.concat(F.lit("kind "), kind)))
        )
        return _text_rows(self.table, feed, sign.alias("n"))

    def absent_rows(self, rows: Sequence[Any]) -> list[Any]:
        """Select the ``rows`` whose triple is in no row of the last version, in whatever spelling.

        Rows that are no triples are included.
        """
        triples, rejects, ids = (
            Triples(),
            Rejects(self.table.name),
            dict[int, tuple[int, int, int]](),
        )
        for number, row in enumerate(rows):
            begun = len(triples)
            read_rows([[row[c]] if c in row else [None] for c in COLUMNS], 0, triples, "b", rejects)
            if len(triples) > begun:
                ids[number] = triples.row(begun)
        wanted, left = {*ids.values()}, set[tuple[int, int, int]]()
        spelt = {row["s"] for row in rows} - {None} | {
            term_text(triples.terms[s]) for s, _, _ in wanted
        }
        subjects = self.session.createDataFrame([(s,) for s in sorted(spelt)], "s string")
        there = _text_rows(self.table, self.table.read_version(self.session, self.last))
        near = there.join(F.broadcast(subjects), "s", "left_semi").unionByName(
            there.where(F.col("s").contains("\\"))
        )
        for batch in near.toArrow().to_batches(BATCH_ROWS):
            begun, none = len(triples), [None] * batch.num_rows
            columns = [
                batch.column(c).to_pylist() if c in batch.schema.names else none for c in COLUMNS
            ]
            read_rows(columns, 0, triples, "b", rejects)
            left |= wanted & {triples.row(row) for row in range(begun, len(triples))}
            triples.truncate(begun)
        return [row for number, row in enumerate(rows) if ids.get(number) not in left]


def _text_rows(known: SessionTable, frame: DataFrame, *more: Column) -> DataFrame:
    """Select the columns that triples are made of, as texts, and the further columns ``more``.
    Raises: InputError.
    """
    check_columns(known.name, frame.columns)
    return frame.select(
        *(F.col(c).cast("string").alias(c) for c in COLUMNS if c in frame.columns), *more
    )


def _sum_signed_rows(signed: DataFrame) -> list[Any]:
    """Add up ``n`` by triple (`_TRIPLE_COLUMNS`). Returns the rows whose sum is not zero, each with
    the key of one of them.
    """
    row = [column for column in _TRIPLE_COLUMNS if column in signed.columns]
    keys = [F.max("key").alias("key")] if "key" in signed.columns else []
    return (
        signed.groupBy(*row).agg(F.sum("n").alias("n"), *keys).where("n <> 0").sort(*row).collect()
    )


def _rows_as_source(name: str, rows: Sequence[Any]) -> TableSource:
    """Make a table source of rows that the driver holds."""
    columns = [column for column in COLUMNS if not rows or column in rows[0]]
    return TableSource(
        name,
        TableKind.ARROW,
        pa.table({c: pa.array([row[c] for row in rows], pa.string()) for c in columns}),
    )

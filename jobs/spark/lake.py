"""Tables that only a session of Spark's can read, as sources: `table:catalog.schema.t`, and
Delta tables with deletion vectors or column mapping, where delta-spark is on the session.

Of a table that keeps versions, the one that is the newest when it is asked for is read, in
tasks, as often as it is needed. Any other may change meanwhile, so a check takes it once, to the
driver.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from shiq.errors import InputError
from shiq.inputs.sources import TABLE, TableKind, TableSource, table_kind
from shiq.jobs.checking.options import Options
from shiq.jobs.spark.engine import session_of
from shiq.rdf.table_terms import COLUMNS
from shiq.rdf.tables import check_columns, first_line, hidden_features

_SNAPSHOT = re.compile(r"\bcurrent-snapshot-id=(\d+)")


def spark_tables(
    sources: Sequence[object], options: Options, *, builds: bool = False
) -> list[object]:
    """``sources``, with those that only Spark can read as tables of its session. ``builds``:
    they are read once, for a store.

    Raises: InputError, OperationalError.
    """
    return [
        _read(str(os.fspath(s)), options, builds) or s if isinstance(s, (str, os.PathLike)) else s
        for s in sources
    ]


def _read(name: str, options: Options, builds: bool) -> TableSource | None:
    """The table of that name; None for what is read without Spark, or refused."""
    version = None if name.startswith(TABLE) else hidden_version(name)
    if version is None and not name.startswith(TABLE):
        return None
    session = session_of(options, brief=not builds)
    try:
        if version is not None:
            reader = session.read.format("delta").option("versionAsOf", version)
            return triples_in(
                name, reader.load(str(Path(name).absolute())), f"Delta version {version}"
            )
        known = KnownTable.of(session, name)
        found = triples_in(name, known.frame, known.told)
        if known.version is None and not builds:
            found = replace(found, kind=TableKind.ARROW, value=found.value.toArrow())
        return found
    except (PySparkException, Py4JError) as error:
        if version is not None and condition(error) == "DATA_SOURCE_NOT_FOUND":
            return None
        raise unreadable(name, error) from error


def hidden_version(name: str) -> int | None:
    """The newest version of a Delta table that its files alone do not show."""
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


def triples_in(name: str, frame: DataFrame, taken: str) -> TableSource:
    """The columns of ``frame`` that are read. Raises: InputError."""
    check_columns(name, frame.columns)
    columns = [column for column in COLUMNS if column in frame.columns]
    return TableSource(name, TableKind.SPARK, frame.select(*columns), f"{name}: {taken}")


def unreadable(name: str, error: Exception) -> InputError:
    """What to make of what Spark says of a table that it does not read."""
    return InputError(
        f"{name}: Spark's session cannot read it: {first_line(error)}",
        "Does the session have the catalog and the jars of the table? docs/OPERATING.md has the settings for Delta and Iceberg.",
    )


def condition(error: Exception) -> str:
    """The name that Spark has for an error; "" where it has none."""
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


@dataclass(frozen=True)
class KnownTable:
    """A table that a session knows by ``name``. ``version``: the one that ``frame`` reads, of
    those that its ``format`` keeps; None where that cannot be told.
    """

    name: str
    frame: DataFrame
    format: str = ""
    version: int | None = None

    @classmethod
    def of(cls, session: SparkSession, source: str) -> KnownTable:
        """The present version of the table that ``source`` names, `table:` and all. Raises: what
        Spark does.
        """
        name = source.removeprefix(TABLE)
        now = session.table(name)
        format, version = present_version(session, name)
        known = cls(name, now, format)
        if version is None:
            return known
        try:
            frame = known.at(session, version)
        except PySparkException:
            return known  # of a branch, a tag
        # What renames a column of Iceberg's makes no snapshot.
        return cls(name, frame, format, version) if frame.dtypes == now.dtypes else known

    def at(self, session: SparkSession, version: int) -> DataFrame:
        """A version of it."""
        return session.sql(f"SELECT * FROM {self.name} VERSION AS OF {version}")

    @property
    def told(self) -> str:
        """What was taken of it."""
        if self.version is None:
            return "as it was when it was read; Spark tells no version of it"
        return f"{'Delta version' if self.format == 'delta' else 'Iceberg snapshot'} {self.version}"


def present_version(session: SparkSession, name: str) -> tuple[str, int | None]:
    """The format of a table, and its newest version."""
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

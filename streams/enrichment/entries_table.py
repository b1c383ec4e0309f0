"""Cache entries in a Delta table: one commit per batch, with concurrent appending processes.

A key that two processes append occurs twice with equal entries.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from shiq.errors import UsageError
from shiq.streams.enrichment.entries import EntriesFile, EntryRow

_TABLE_SCHEMA: Final = pa.schema(
    {"made_by": pa.string(), "key": pa.string(), "entry": pa.string(), "hash": pa.string()}
)
_LOG_FOLDER: Final = "_delta_log"
_FILE_ACTIONS: Final = ["add", "remove"]


class EntriesTable(EntriesFile):
    """Delta table of cache entries."""

    errors = (DeltaError, OSError, pa.ArrowException, ValueError, TypeError)

    def is_entries_file(self) -> bool:
        """Whether the folder is empty or its Delta log has the columns of cache entries (as
        `EntriesFile.is_entries_file`).
        """
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return self.path.is_dir()
        logs = (
            file.read_bytes()
            for file in sorted(self.path.glob(f"{_LOG_FOLDER}/*"))
            if file.is_file()
        )
        return any(all(name.encode() in log for name in _TABLE_SCHEMA.names) for log in logs)

    def read_rows(self) -> tuple[Collection[str], list[EntryRow]]:
        """Read the digests of the ontology and data that the table was made for, and its rows by
        key.
        """
        if not (self.path / _LOG_FOLDER).is_dir():
            return [self.digest], []
        table = DeltaTable(str(self.path.absolute()))
        names = table.schema().to_arrow().names
        if names != _TABLE_SCHEMA.names:
            raise UsageError(
                f"{self.path} is a table of {', '.join(names)}",
                "Name another place for the entries.",
            )
        rows = table.to_pyarrow_table().to_pylist()
        return {row["made_by"] for row in rows} or {self.digest}, sorted(
            {(row["key"], row["entry"], row["hash"]) for row in rows}
        )

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Append rows in one commit. Raises: OSError."""
        if rows:
            columns = zip(_TABLE_SCHEMA.names, ([self.digest] * len(rows), *map(list, zip(*rows))))
            write_deltalake(
                str(self.path.absolute()),
                pa.table(dict(columns), schema=_TABLE_SCHEMA),
                mode="append",
            )

    def remove(self) -> None:
        """Delete the table's log and the data files that it refers to. Raises: OSError."""
        if (self.path / _LOG_FOLDER).is_dir():
            own = _find_referenced_files(self.path / _LOG_FOLDER)
            shutil.rmtree(self.path / _LOG_FOLDER)
            for name in own:
                (self.path / name).unlink(missing_ok=True)


def _find_referenced_files(log: Path) -> set[str]:
    """Data files that the log refers to; unreadable log files are skipped."""
    found = set[str]()
    for file in log.iterdir():
        with suppress(OSError, ValueError, TypeError, KeyError, pa.ArrowException):
            if file.suffix == ".parquet":
                columns = pq.read_table(file).select(_FILE_ACTIONS).to_pylist()
                found |= {
                    row[kind]["path"]
                    for row in columns
                    for kind in _FILE_ACTIONS
                    if row[kind] is not None
                }
            else:
                actions = map(json.loads, file.read_text().splitlines())
                found |= {
                    action[kind]["path"]
                    for action in actions
                    for kind in _FILE_ACTIONS
                    if kind in action
                }
    return {name for name in found if Path(name).name == name}

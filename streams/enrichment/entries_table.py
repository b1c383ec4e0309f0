"""Entries as a Delta table: what a batch adds is one commit, and processes that run side by side
may all append to it.

A key that two of them append stands there twice, with one entry, since a key has one answer.
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

_COLUMNS: Final = pa.schema(
    {"made_by": pa.string(), "key": pa.string(), "entry": pa.string(), "hash": pa.string()}
)
_LOG: Final = "_delta_log"
_FILES: Final = ["add", "remove"]


class EntriesTable(EntriesFile):
    """The Delta table at ``path``."""

    errors = (DeltaError, OSError, pa.ArrowException, ValueError, TypeError)

    def is_entries_file(self) -> bool:
        """See `EntriesFile.is_entries_file`: whether some file of its log names the columns."""
        if not self.path.is_dir() or not any(self.path.iterdir()):
            return self.path.is_dir()
        logs = (file.read_bytes() for file in sorted(self.path.glob(f"{_LOG}/*")) if file.is_file())
        return any(all(name.encode() in log for name in _COLUMNS.names) for log in logs)

    def read_rows(self) -> tuple[Collection[str], list[EntryRow]]:
        if not (self.path / _LOG).is_dir():
            return [self.digest], []
        table = DeltaTable(str(self.path.absolute()))
        names = table.schema().to_arrow().names
        if names != _COLUMNS.names:
            raise UsageError(
                f"{self.path} is a table of {', '.join(names)}",
                "Name another place for the entries.",
            )
        rows = table.to_pyarrow_table().to_pylist()
        return {row["made_by"] for row in rows} or {self.digest}, sorted(
            {(row["key"], row["entry"], row["hash"]) for row in rows}
        )

    def append(self, rows: Sequence[EntryRow]) -> None:
        if rows:
            columns = zip(_COLUMNS.names, ([self.digest] * len(rows), *map(list, zip(*rows))))
            write_deltalake(
                str(self.path.absolute()), pa.table(dict(columns), schema=_COLUMNS), mode="append"
            )

    def remove(self) -> None:
        if (self.path / _LOG).is_dir():
            own = _referenced_files(self.path / _LOG)
            shutil.rmtree(self.path / _LOG)
            for name in own:
                (self.path / name).unlink(missing_ok=True)


def _referenced_files(log: Path) -> set[str]:
    """The files beside ``log`` that it names; what of it cannot be read names none."""
    found = set[str]()
    for file in log.iterdir():
        with suppress(OSError, ValueError, TypeError, KeyError, pa.ArrowException):
            if file.suffix == ".parquet":
                columns = pq.read_table(file).select(_FILES).to_pylist()
                found |= {
                    row[kind]["path"] for row in columns for kind in _FILES if row[kind] is not None
                }
            else:
                actions = map(json.loads, file.read_text().splitlines())
                found |= {
                    action[kind]["path"] for action in actions for kind in _FILES if kind in action
                }
    return {name for name in found if Path(name).name == name}

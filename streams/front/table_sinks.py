"""Rows as tables: one Parquet file, or a Delta table to which each flush adds a commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.files import naming
from shiq.errors import OperationalError


def _table(rows: Sequence[str]) -> Any:
    """Rows as an Arrow table: texts, integers, booleans and lists of texts as they are; other
    objects as JSON texts.
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    return pa.Table.from_pylist(
        [{name: _plain(value) for name, value in json.loads(row).items()} for row in rows]
    )


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


class ParquetSink:
    """One Parquet file, written whole when the sink is closed; it cannot go on from a checkpoint."""

    def __init__(self, path: Path, length: int | None = None) -> None:
        if length:
            raise OperationalError(
                f"{path}: a Parquet file cannot be gone on with",
                "Write JSON lines or a .delta table with --checkpoint.",
            )
        self.path, self.rows = path, list[str]()

    def write(self, rows: Sequence[str]) -> None:
        self.rows += rows

    def flush(self) -> int:
        return 0

    def close(self) -> None:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        with naming(self.path):
            pq.write_table(_table(self.rows), self.path)


class DeltaSink:
    """A Delta table. ``length`` counts its commits: those behind a checkpoint are taken back by
    restoring that version.
    """

    def __init__(self, path: Path, length: int | None = None) -> None:
        from deltalake import DeltaTable

        self.path, self.rows, self.begun = path, list[str](), bool(length)
        if length:
            DeltaTable(str(path.absolute())).restore(length - 1)
        elif DeltaTable.is_deltatable(str(path.absolute())):
            DeltaTable(
                str(path.absolute())
            ).delete()  # rows of another run, or behind the checkpoint

    def write(self, rows: Sequence[str]) -> None:
        self.rows += rows

    def flush(self) -> int:
        from deltalake import DeltaTable, write_deltalake

        place = str(self.path.absolute())
        if self.rows:
            with naming(self.path):
                write_deltalake(
                    place,
                    _table(self.rows),
                    mode="append" if self.begun else "overwrite",
                    schema_mode="merge" if self.begun else "overwrite",
                )
            self.rows, self.begun = [], True
        return DeltaTable(place).version() + 1 if self.begun else 0

    def close(self) -> None:
        self.flush()

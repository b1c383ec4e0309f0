"""All columns of the rows of a table, with the numbers that a gate knows the rows by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from shiq.errors import UsageError
from shiq.rdf.tables import BATCH_ROWS, EveryColumn, TableFile, opened, table_files
from shiq.rdf.text_tables import read_header, text_rows
from shiq.rdf.triples import Rejects
from shiq.sources import TableKind, TableSource


@dataclass(frozen=True)
class SourceRows:
    """The rows of a table in a file or folder. ``schema``: of all columns; in text every value
    is one.
    """

    source: TableSource
    schema: pa.Schema
    files: tuple[TableFile, ...] = ()

    @classmethod
    def of(cls, source: TableSource) -> SourceRows:
        """Raises: UsageError for a table whose rows have no columns in common, InputError for
        one that cannot be read.
        """
        if source.kind in (TableKind.CSV, TableKind.TSV):
            return cls(source, pa.schema([(name, pa.string()) for name in read_header(source)]))
        if source.kind not in (TableKind.PARQUET, TableKind.DELTA):
            raise UsageError(
                f"{source.name}: rows of {source.kind.value} do not come out as a table",
                "Name files of N-Quads (.nq) for --accepted and --quarantine.",
            )
        files, schemas = table_files(source, EveryColumn())[0], []
        for file in files:
            with opened(file) as parquet:
                folders = [
                    pa.field(name, pa.string())
                    for name in file.values
                    if name not in parquet.schema_arrow.names
                ]
                schemas.append(pa.schema([*parquet.schema_arrow, *folders]).remove_metadata())
        return cls(source, pa.unify_schemas(schemas, promote_options="permissive"), tuple(files))

    def __iter__(self) -> Iterator[tuple[range | list[int], pa.Table]]:
        """Some rows at a time, with their numbers."""
        if not self.files:
            names = self.schema.names
            for lines, columns in text_rows(self.source, names, Rejects(self.source.name)):
                yield (
                    list(lines),
                    pa.table(
                        [pa.array(column, pa.string()) for column in columns], schema=self.schema
                    ),
                )
            return
        before = 0
        for file in self.files:
            with opened(file) as parquet:
                for batch in parquet.iter_batches(BATCH_ROWS):
                    yield (
                        range(before + 1, before + batch.num_rows + 1),
                        self._whole(pa.Table.from_batches([batch]), file),
                    )
                    before += batch.num_rows

    def _whole(self, rows: pa.Table, file: TableFile) -> pa.Table:
        """``rows`` of a file with the columns that it lacks."""
        columns = []
        for field in self.schema:
            if field.name in rows.column_names:
                columns.append(rows.column(field.name).cast(field.type))
            else:
                value = file.values.get(field.name)
                columns.append(pa.array([value] * len(rows), pa.string()).cast(field.type))
        return pa.table(columns, schema=self.schema)

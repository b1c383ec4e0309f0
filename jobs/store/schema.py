"""Tables of a store: their columns, and how their files are written."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import Column, Columns, Ints, array_table, arrow_ints, arrow_texts
from shiq.jobs.store.files import SHARED, TABLES, DataFile, describe_file, stage_file
from shiq.jobs.store.lookup import LookupPart, aligned_offset, make_lookup_part, write_lookups
from shiq.jobs.store.manifest import TableVersion
from shiq.remote.place import StoreLocation

KINDS = KIND_CLASS, KIND_OBJECT_PROPERTY, KIND_DATA_PROPERTY = 0, 1, 2
ROW_GROUP = 16_384
#: More rows than these are a file of their own.
MOST_SHARED = 131_072
#: Columns that have few values.
_FEW_VALUES = (
    "table",
    "kind",
    "class",
    "role",
    "property",
    "label",
    "hash",
    "datatype",
    "language",
)


def _make_schema(**columns: pa.DataType) -> pa.Schema:
    """Make the Arrow schema of a table from its columns; none of them has nulls."""
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


_NODE, _CODE, _TEXT = pa.int64(), pa.int32(), pa.string()

SCHEMAS: dict[str, pa.Schema] = {
    "individuals": _make_schema(node=_NODE, term=_TEXT),
    "terms": _make_schema(hash=pa.int64(), node=_NODE),
    "names": _make_schema(kind=_CODE, id=_CODE, iri=_TEXT),
    "class_assertions": _make_schema(node=_NODE, **{"class": _CODE}),
    "half_edges": _make_schema(node=_NODE, role=_CODE, neighbour=_NODE),
    "data_assertions": _make_schema(node=_NODE, property=_CODE, literal=_NODE, hash=pa.int64()),
    "literals": _make_schema(literal=_NODE, lexical=_TEXT, datatype=_TEXT, language=_TEXT),
    "pairs": _make_schema(node=_NODE, kind=_CODE, neighbour=_NODE),
    "complex": _make_schema(node=_NODE, ordinal=_NODE, value=_TEXT),
    "elements": _make_schema(element=_NODE, label=_NODE),
    "labels": _make_schema(label=_NODE, positive=_TEXT, negative=_TEXT),
    **{name: _make_schema(member=_NODE, group=_NODE) for name in ("same", "equal", "merged")},
    **{
        f"{name}_members": _make_schema(group=_NODE, member=_NODE)
        for name in ("same", "equal", "merged")
    },
    "completed": _make_schema(element=_NODE, label=_NODE),
    **{name: _make_schema(member=_NODE, group=_NODE) for name in ("outside", "certified")},
    **{
        f"{name}_members": _make_schema(group=_NODE, member=_NODE)
        for name in ("outside", "certified")
    },
}

#: The tables of the certified completion; a store has all of them or none.
COMPLETION = ("completed", "outside", "outside_members", "certified", "certified_members")
#: The tables that every store has.
ALWAYS = tuple(name for name in SCHEMAS if name not in COMPLETION)


#: The columns that say which row of a table is meant; the others follow from them.
IDENTITY: dict[str, tuple[str, ...]] = {
    name: tuple(column for column in schema.names if column not in ("term", "hash", "iri", "value"))
    for name, schema in SCHEMAS.items()
} | {"terms": ("hash", "node"), "literals": ("literal",), "labels": ("label",)}


def name_rows(names: Mapping[int, Sequence[str]]) -> Columns:
    """Make the columns of the table ``names`` from the IRIs of each of `KINDS`: kind, number and
    IRI of each class and property.
    """
    return {
        "kind": np.repeat(np.array(KINDS, np.int64), [len(names[kind]) for kind in KINDS]),
        "id": np.concatenate([np.arange(len(names[kind]), dtype=np.int64) for kind in KINDS]),
        "iri": arrow_texts([iri for kind in KINDS for iri in names[kind]]),
    }


def key_of(table: str) -> str:
    """Name of the key column of ``table``, by which its rows are sorted."""
    return str(SCHEMAS[table].names[0])


def write_table(
    store: StoreLocation, name: str, columns: Columns, starts: Ints | None = None
) -> TableVersion:
    """Write sorted ``columns`` as the whole table ``name``, durably, cut as by `write_ranges`."""
    return table_of_files(write_ranges(store, name, columns, starts))


def table_of_files(files: Sequence[DataFile]) -> TableVersion:
    """Make the version of a table that consists of ``files``, in the order of their keys."""
    return TableVersion(tuple(files), ranges=len(files))


def write_ranges(
    store: StoreLocation, name: str, columns: Mapping[str, Column], starts: Ints | None = None
) -> list[DataFile]:
    """Write sorted ``columns`` of the table ``name`` as one file for each range of keys.
    ``starts``: the first key of every range but the first.

    Ranges without rows get no file, but there is at least one file.
    """
    keys = columns[key_of(name)]
    cuts = sorted(
        {0, len(keys), *(np.searchsorted(keys, starts).tolist() if starts is not None else ())}
    )
    spans = list(pairwise(cuts)) or [(0, 0)]
    parts = (
        {column: values[low:high] for column, values in columns.items()} for low, high in spans
    )
    return [
        write_part(store, name, f"part-{uuid.uuid4().hex}.zstd.parquet", part) for part in parts
    ]


def write_part(
    store: StoreLocation, name: str, file_name: str, columns: Mapping[str, Column]
) -> DataFile:
    """Write ``columns`` (sorted) durably as one file of the table ``name``."""
    from concurrent.futures import ThreadPoolExecutor

    schema, file = (
        SCHEMAS[name],
        _describe_data_file(f"{TABLES}/{name}/{file_name}", columns[key_of(name)]),
    )
    with ThreadPoolExecutor(1) as beside:
        lookup = beside.submit(
            _write_lookup, store, file.path, {field.name: columns[field.name] for field in schema}
        )
        data = pa.Table.from_arrays(
            [_arrow_column(columns[field.name], field.type) for field in schema], schema=schema
        )
        return replace(_describe_written(store, file, data), **lookup.result())


def _describe_data_file(path: str, keys: Column) -> DataFile:
    """Describe a data file that is not written yet: path, number of rows, first and last key."""
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (None, None)
    return DataFile(path, 0, len(keys), low=low, high=high)


def _write_lookup(store: StoreLocation, path: str, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Write the look-up file of ``columns`` if the store is a folder; object stores have none.
    Returns its digest fields for the manifest.
    """
    if not isinstance(store, Path):
        return {}
    part = make_lookup_part(columns)
    write_lookups(store, path, [part])
    return {"lookup": part.size, "lookup_digest": part.digest}


def _describe_written(store: StoreLocation, file: DataFile, data: pa.Table) -> DataFile:
    """Complete ``file`` with the digests of ``data``, written durably."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    key = data.column_names[0]
    few = [
        column
        for column in data.column_names
        if column in _FEW_VALUES and (column != key or column == "table")
    ]
    encodings = {
        field.name: "DELTA_BYTE_ARRAY" if field.type == _TEXT else "DELTA_BINARY_PACKED"
        for field in data.schema
        if field.name not in few and not pa.types.is_boolean(field.type)
    }
    with stage_file(store, file.path) as temporary:
        pq.write_table(
            data,
            temporary,
            row_group_size=ROW_GROUP,
            compression="zstd",
            compression_level=3,
            use_dictionary=few,
            column_encoding=encodings,
        )
    found = describe_file(store, file.path)
    return replace(file, bytes=found.bytes, sha256=found.sha256, digests=found.digests)


class SharedFile:
    """Writer of a file with rows of several tables of a ``store``, for tables to which a commit
    adds few rows. It has one look-up file.
    """

    def __init__(self, store: StoreLocation) -> None:
        self._store = store
        self._path = f"{SHARED}/part-{uuid.uuid4().hex}.zstd.parquet"
        self._rows: list[pa.Table] = []
        self._lookups: list[LookupPart] = []
        self._start = self._end = 0

    def add_rows(self, name: str, rows: Columns, *, is_removed: bool = False) -> list[DataFile]:
        """Add ``rows`` of the table ``name`` to the shared file, or to a file of their own if they
        are many. ``is_removed``: these rows name removed ones. Returns the files that hold them.
        """
        columns = array_table(key_of(name), rows).columns
        keys, names = (
            columns[key_of(name)],
            IDENTITY[name] if is_removed else tuple(SCHEMAS[name].names),
        )
        if not len(keys):
            return []
        if len(keys) > MOST_SHARED and not is_removed:
            return write_ranges(self._store, name, columns)
        fields = [SCHEMAS[name].field(column).with_nullable(True) for column in names]
        arrays = [_arrow_column(columns[field.name], field.type) for field in fields]
        flags = pa.py_buffer(bytes([255 * is_removed]) * (len(keys) // 8 + 1))
        of = [
            arrow_texts([name] * len(keys)),
            pa.Array.from_buffers(pa.bool_(), len(keys), [None, flags]),
        ]
        # Made of values that are no arrays, any of these would import pandas where it is installed.
        schema = pa.schema([("table", _TEXT), ("removed", pa.bool_()), *fields])
        self._rows.append(pa.Table.from_arrays([*of, *arrays], schema=schema))
        file = replace(_describe_data_file(self._path, keys), start=self._start)
        self._start += len(keys)
        if isinstance(self._store, Path):
            part = make_lookup_part({column: columns[column] for column in names})
            self._lookups.append(part)
            file = replace(
                file,
                lookup=part.size,
                lookup_digest=part.digest,
                lookup_at=aligned_offset(self._end),
            )
            self._end = file.lookup_at + part.size
        return [file]

    def finish(self, tables: Mapping[str, TableVersion]) -> dict[str, TableVersion]:
        """Write the file durably if it has rows. Returns ``tables`` with the file's size and
        digests.
        """
        if not self._rows:
            return dict(tables)
        written = _describe_written(
            self._store,
            DataFile(self._path, 0),
            pa.concat_tables(self._rows, promote_options="default"),
        )
        if self._lookups:
            write_lookups(self._store, self._path, self._lookups)

        def with_digests(file: DataFile) -> DataFile:
            if file.path != self._path:
                return file
            return replace(
                file, bytes=written.bytes, sha256=written.sha256, digests=written.digests
            )

        return {
            name: replace(
                table,
                files=tuple(map(with_digests, table.files)),
                removed=table.removed and with_digests(table.removed),
            )
            for name, table in tables.items()
        }


def _arrow_column(column: Any, kind: pa.DataType) -> pa.Array:
    """Convert a column to an Arrow array of the type ``kind``."""
    array = arrow_ints(column) if isinstance(column, np.ndarray) else pa.array(column)
    return array if array.type == kind else array.cast(kind)

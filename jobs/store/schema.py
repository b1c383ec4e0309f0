"""The tables of a store, and how one is written.

Every table is some Parquet files under ``tables/NAME``, each sorted by its first column, in
small row groups whose statistics say what they hold; beside each lies a look-up file
(`jobs.store.lookup`). Which files and rows count stands in the manifest. A large table has a
file for each range of its keys. A commit adds one file under ``tables/commit`` that all tables
share, whose keys lie anywhere (`SharedFile`); the ranges take its rows in now and then
(`jobs.store.upkeep.ranges`).

* ``individuals``: node, term.   ``terms``: hash (`term_key`) and node, to find a term.
* ``names``: kind (`KIND_*`), id within the kind, IRI: classes, object properties, data
  properties; known to the TBox or not.
* ``class_assertions``: node, class.
* ``half_edges``: node, role, neighbour; each role assertion from both ends. A role is 2·id of
  the property, + 1 for its inverse.
* ``data_assertions``: node, property, literal, hash of the literal.   ``literals``: literal,
  lexical form, datatype, language; once for each range of individuals that has it
  (`jobs.store.numbering`).
* ``pairs``: node, kind (`shiq.columns.rows`; + 1 where the node was named second), neighbour;
  each from both ends.
* ``complex``: node, ordinal, value: class assertions on complex classes and negative assertions
  as JSON (`shiq.model_json`), once for each individual that they are about.

What (T, A) comes to, and has to be worked out anew for another T (`abox_ops.index.columns`; the
document ``index`` says which atoms the labels are over):

* ``elements``: element (a class of individuals that are equal for certain, named by its least
  node) and its told label.
* ``labels``: label, its positive and negative atoms as hexadecimal bitmasks.
* ``same``, ``equal``, ``merged``: member, group; individuals by asserted and by certain
  equality, elements by merge class of told, where no model certified A (see ``outside``); those
  alone in their group are left out. ``same_members`` and so on: the same rows by group.

What the model that certified A says beyond that (`abox_ops.patch.outside_columns`), in stores
that were certified with it:

* ``completed``: element, label: the certified label where it is not the told one completed.
* ``outside``, ``certified`` (and ``_members``): elements by merge class of that model, and by
  module of the certificate.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.store.files import SHARED, DataFile, described, placed
from jobs.store.lookup import LookupPart, begin_of, lookup_part, write_lookups
from jobs.store.manifest import TABLES, TableVersion
from shiq.columns.arrays import Column, Columns, Ints, array_table, arrow_ints, arrow_texts
from shiq.remote.place import Place

KIND_CLASS, KIND_OBJECT_PROPERTY, KIND_DATA_PROPERTY = 0, 1, 2
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


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


_NODE, _CODE, _TEXT = pa.int64(), pa.int32(), pa.string()

SCHEMAS: dict[str, pa.Schema] = {
    "individuals": _schema(node=_NODE, term=_TEXT),
    "terms": _schema(hash=pa.int64(), node=_NODE),
    "names": _schema(kind=_CODE, id=_CODE, iri=_TEXT),
    "class_assertions": _schema(node=_NODE, **{"class": _CODE}),
    "half_edges": _schema(node=_NODE, role=_CODE, neighbour=_NODE),
    "data_assertions": _schema(node=_NODE, property=_CODE, literal=_NODE, hash=pa.int64()),
    "literals": _schema(literal=_NODE, lexical=_TEXT, datatype=_TEXT, language=_TEXT),
    "pairs": _schema(node=_NODE, kind=_CODE, neighbour=_NODE),
    "complex": _schema(node=_NODE, ordinal=_NODE, value=_TEXT),
    "elements": _schema(element=_NODE, label=_NODE),
    "labels": _schema(label=_NODE, positive=_TEXT, negative=_TEXT),
    **{name: _schema(member=_NODE, group=_NODE) for name in ("same", "equal", "merged")},
    **{
        f"{name}_members": _schema(group=_NODE, member=_NODE)
        for name in ("same", "equal", "merged")
    },
    "completed": _schema(element=_NODE, label=_NODE),
    **{name: _schema(member=_NODE, group=_NODE) for name in ("outside", "certified")},
    **{f"{name}_members": _schema(group=_NODE, member=_NODE) for name in ("outside", "certified")},
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


def key_of(table: str) -> str:
    """The column by which ``table`` is sorted."""
    return str(SCHEMAS[table].names[0])


def write_table(
    store: Place, name: str, columns: Columns, starts: Ints | None = None
) -> TableVersion:
    """Write ``columns`` (sorted already) as the whole of the table ``name``, durably, cut as by
    `write_ranges`.
    """
    return of_ranges(write_ranges(store, name, columns, starts))


def of_ranges(files: Sequence[DataFile]) -> TableVersion:
    """The table that consists of ``files``, in the order of their keys."""
    return TableVersion(tuple(files), ranges=len(files))


def write_ranges(
    store: Place, name: str, columns: Mapping[str, Column], starts: Ints | None = None
) -> list[DataFile]:
    """Writes ``columns`` (sorted already) of the table ``name``, a file for each range of keys
    that begins at one of ``starts``, those without rows left out; one file in any case.
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


def write_part(store: Place, name: str, file_name: str, columns: Mapping[str, Column]) -> DataFile:
    """Writes ``columns`` (sorted already) as one file of the table ``name``, durably; in a
    folder with its look-up file.
    """
    from concurrent.futures import ThreadPoolExecutor

    schema, file = SCHEMAS[name], _file(f"{TABLES}/{name}/{file_name}", columns[key_of(name)])
    with ThreadPoolExecutor(1) as beside:
        lookup = beside.submit(
            _lookup, store, file.path, {field.name: columns[field.name] for field in schema}
        )
        data = pa.Table.from_arrays(
            [_arrow(columns[field.name], field.type) for field in schema], schema=schema
        )
        return replace(_written(store, file, data), **lookup.result())


def _file(path: str, keys: Column) -> DataFile:
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (None, None)
    return DataFile(path, 0, len(keys), low=low, high=high)


def _lookup(store: Place, path: str, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Write the look-up file of ``columns``, where the place is a folder; elsewhere tables are
    read by row groups.
    """
    if not isinstance(store, Path):
        return {}
    part = lookup_part(columns)
    write_lookups(store, path, [part])
    return {"lookup": part.size, "lookup_digest": part.digest}


def _written(store: Place, file: DataFile, data: pa.Table) -> DataFile:
    """``file`` with what its manifest says of it, once ``data`` is written there, durably."""
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
    with placed(store, file.path) as temporary:
        pq.write_table(
            data,
            temporary,
            row_group_size=ROW_GROUP,
            compression="zstd",
            compression_level=3,
            use_dictionary=few,
            column_encoding=encodings,
        )
    found = described(store, file.path)
    return replace(file, bytes=found.bytes, sha256=found.sha256, digests=found.digests)


class SharedFile:
    """Rows of several tables that become one file of a ``store``, and one look-up file beside it.

    A column ``table`` says of which table a row is, and ``removed`` whether it is one that does
    not count any more. What `add` gives is valid once `finish` has written the file.
    """

    def __init__(self, store: Place) -> None:
        self._store = store
        self._path = f"{SHARED}/part-{uuid.uuid4().hex}.zstd.parquet"
        self._rows: list[pa.Table] = []
        self._lookups: list[LookupPart] = []
        self._start = self._end = 0

    def add(self, name: str, rows: Columns, *, is_removed: bool = False) -> list[DataFile]:
        """The files of ``rows`` of the table ``name``: a part of this one, or their own where
        they are many; none for none.
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
        arrays = [_arrow(columns[field.name], field.type) for field in fields]
        flags = pa.py_buffer(bytes([255 * is_removed]) * (len(keys) // 8 + 1))
        of = [
            arrow_texts([name] * len(keys)),
            pa.Array.from_buffers(pa.bool_(), len(keys), [None, flags]),
        ]
        # Made of values that are no arrays, any of these would import pandas where it is installed.
        schema = pa.schema([("table", _TEXT), ("removed", pa.bool_()), *fields])
        self._rows.append(pa.Table.from_arrays([*of, *arrays], schema=schema))
        file = replace(_file(self._path, keys), start=self._start)
        self._start += len(keys)
        if isinstance(self._store, Path):
            part = lookup_part({column: columns[column] for column in names})
            self._lookups.append(part)
            file = replace(
                file, lookup=part.size, lookup_digest=part.digest, lookup_at=begin_of(self._end)
            )
            self._end = file.lookup_at + part.size
        return [file]

    def finish(self, tables: Mapping[str, TableVersion]) -> dict[str, TableVersion]:
        """Write the file, durably, if there is anything in it; ``tables`` with what is known of
        it by then.
        """
        if not self._rows:
            return dict(tables)
        written = _written(
            self._store,
            DataFile(self._path, 0),
            pa.concat_tables(self._rows, promote_options="default"),
        )
        if self._lookups:
            write_lookups(self._store, self._path, self._lookups)

        def known(file: DataFile) -> DataFile:
            if file.path != self._path:
                return file
            return replace(
                file, bytes=written.bytes, sha256=written.sha256, digests=written.digests
            )

        return {
            name: replace(
                table,
                files=tuple(map(known, table.files)),
                removed=table.removed and known(table.removed),
            )
            for name, table in tables.items()
        }


def _arrow(column: Any, kind: pa.DataType) -> pa.Array:
    array = arrow_ints(column) if isinstance(column, np.ndarray) else pa.array(column)
    return array if array.type == kind else array.cast(kind)

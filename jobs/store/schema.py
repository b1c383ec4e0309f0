"""The tables of a store, and how one is written.

Every table is a Delta table under ``tables/NAME``, sorted by its first column, in small row groups whose statistics say what
they hold; so Spark finds one row without a scan, and this package by the look-up file that each file has (`jobs.store.lookup`).
The files of a version may overlap in their keys: each is sorted in itself. A later snapshot can thus add a few sorted files.

* ``individuals``: node, term.   ``terms``: hash (`term_hash`) and node, to find a term.
* ``names``: kind (`KIND_*`), id within the kind, IRI: classes, object properties, data properties; known to the TBox or not.
* ``class_assertions``: node, class.
* ``half_edges``: node, role, neighbour; each role assertion from both ends. A role is 2·id of the property, + 1 for its inverse.
* ``data_assertions``: node, property, literal, hash of the literal.   ``literals``: literal, lexical form, datatype, language;
  once for each range of individuals that has it (`jobs.store.numbering`).
* ``pairs``: node, kind (`shiq.columns.rows`; + 1 where the node was named second), neighbour; each from both ends.
* ``complex``: node, ordinal, value: class assertions on complex classes and negative assertions as JSON (`shiq.model_json`),
  once for each individual that they are about.

What (T, A) comes to, and has to be worked out anew for another T (`abox_ops.index.columns`; the document ``index`` says which
atoms the labels are over):

* ``elements``: element (a class of individuals that are equal for certain, named by its least node) and its told label.
* ``labels``: label, its positive and negative atoms as hexadecimal bitmasks.
* ``same``, ``equal``, ``merged``: member, group; individuals by asserted and by certain equality, elements by merge class; those
  alone in their group are left out. ``same_members`` and so on: the same rows by group.

What the model that certified A says beyond that (`abox_ops.patch.outside_columns`), in stores that were certified with it:

* ``completed``: element, label: the certified label where it is not the told one completed.
* ``outside``, ``certified`` (and ``_members``): elements by merge class of that model, and by module of the certificate.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.store.files import DataFile, described, placed, sync_directory, sync_file
from jobs.store.lookup import write_lookup
from jobs.store.manifest import TABLES, TableVersion
from shiq.columns.arrays import Columns, arrow_ints

KIND_CLASS, KIND_OBJECT_PROPERTY, KIND_DATA_PROPERTY = 0, 1, 2
ROW_GROUP = 16_384


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
    **{f"{name}_members": _schema(group=_NODE, member=_NODE) for name in ("same", "equal", "merged")},
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


def write_table(store: Path, name: str, columns: Columns) -> TableVersion:
    """Overwrites the Delta table ``name`` with ``columns`` (sorted already), durably; the version before stays readable."""
    return commit_parts(store, name, [write_part(store, name, f"part-{uuid.uuid4().hex}.zstd.parquet", columns)])


def write_part(store: Path, name: str, file_name: str, columns: Columns) -> DataFile:
    """Writes ``columns`` (sorted already) as one file of the table ``name``, durably, with its look-up file; `commit_parts`
    makes it part of the table."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    schema = SCHEMAS[name]
    file = DataFile(f"{TABLES}/{name}/{file_name}", 0, len(columns[key_of(name)]))
    with ThreadPoolExecutor(1) as beside:
        lookup = beside.submit(write_lookup, store, file, {field.name: columns[field.name] for field in schema})
        data = pa.Table.from_arrays([_arrow(columns[field.name], field.type) for field in schema], schema=schema)
        with placed(store, file.path) as temporary:
            pq.write_table(
                data,
                temporary,
                row_group_size=ROW_GROUP,
                compression="zstd",
                compression_level=1,
                use_dictionary=[field.name for field in schema if field.type != _TEXT or field.name in ("datatype", "language")],
            )
        size, digest = lookup.result()
        return replace(described(store, file.path, file.rows), lookup=size, lookup_digest=digest)


def commit_parts(store: Path, name: str, files: Sequence[DataFile]) -> TableVersion:
    """Makes ``files``, in the order of their keys, all of the Delta table ``name``, in one transaction."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    folder = store / TABLES / name
    folder.mkdir(exist_ok=True)
    now = int(time.time() * 1000)
    actions = [
        AddAction(file.path.rpartition("/")[2], file.bytes, {}, now, True, json.dumps({"numRecords": file.rows}))
        for file in files
    ]
    schema = Schema.from_arrow(SCHEMAS[name])
    with _by_delta(folder):
        if DeltaTable.is_deltatable(str(folder)):
            DeltaTable(str(folder)).create_write_transaction([*actions], "overwrite", schema)
        else:
            create_table_with_add_actions(str(folder), schema, actions)
    return _durable(folder, tuple(files))


def append_part(store: Path, name: str, columns: Columns) -> TableVersion:
    """One more file of ``columns`` (sorted already) for the Delta table ``name``: its new version, with that file alone."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction

    file = write_part(store, name, f"part-{uuid.uuid4().hex}.parquet", columns)
    folder = store / TABLES / name
    action = AddAction(
        file.path.rpartition("/")[2], file.bytes, {}, int(time.time() * 1000), True, json.dumps({"numRecords": file.rows})
    )
    with _by_delta(folder):
        DeltaTable(str(folder)).create_write_transaction([action], "append", Schema.from_arrow(SCHEMAS[name]))
    return _durable(folder, (file,))


@contextmanager
def _by_delta(folder: Path) -> Iterator[None]:
    """Delta's own error for whatever goes wrong, as one of the system. Raises: OSError."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        code = re.search(r"os error (\d+)", str(error))
        raise OSError(int(code[1]) if code else 0, str(error), str(folder)) from error


def _durable(folder: Path, files: tuple[DataFile, ...]) -> TableVersion:
    """The present version of the Delta table at ``folder``, of ``files``, which are durable already."""
    from deltalake import DeltaTable

    for entry in (folder / "_delta_log").iterdir():
        sync_file(entry)
    sync_directory(folder / "_delta_log")
    return TableVersion(DeltaTable(str(folder)).version(), files)


def delta_files(store: Path, name: str) -> set[str]:
    """The files, within the store, that the Delta table ``name`` consists of now."""
    from deltalake import DeltaTable

    found = DeltaTable(str(store / TABLES / name)).file_uris()
    return {f"{TABLES}/{name}/{uri.rpartition('/')[2]}" for uri in found}


def _arrow(column: Any, kind: pa.DataType) -> pa.Array:
    array = arrow_ints(column) if isinstance(column, np.ndarray) else pa.array(column)
    return array if array.type == kind else array.cast(kind)

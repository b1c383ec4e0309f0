"""The tables of a store, and how one is written.

Every table is a Delta table under ``tables/NAME``, sorted by its first column, in small row groups whose statistics say what
they hold; so Spark finds one row without a scan, and this package by the look-up file that each file has (`jobs.store.lookup`).
A large table has a file for each range of its keys. Commits add small files, each sorted in itself, whose keys lie anywhere; the
ranges take them in now and then (`jobs.store.upkeep.ranges`).

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
* ``same``, ``equal``, ``merged``: member, group; individuals by asserted and by certain equality, elements by merge class of
  told, where no model certified A (see ``outside``); those alone in their group are left out. ``same_members`` and so on: the
  same rows by group.

What the model that certified A says beyond that (`abox_ops.patch.outside_columns`), in stores that were certified with it:

* ``completed``: element, label: the certified label where it is not the told one completed.
* ``outside``, ``certified`` (and ``_members``): elements by merge class of that model, and by module of the certificate.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.store.files import DataFile, described, placed, sync_directory, sync_file
from jobs.store.lookup import write_lookup
from jobs.store.manifest import REMOVED, TABLES, TableVersion
from shiq.columns.arrays import Column, Columns, Ints, array_table, arrow_ints
from shiq.remote.place import Place

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


def write_table(store: Place, name: str, columns: Columns, starts: Ints | None = None) -> TableVersion:
    """Overwrites the Delta table ``name`` with ``columns`` (sorted already), durably, cut as by `write_ranges`; the version
    before stays readable."""
    return commit_parts(store, name, write_ranges(store, name, columns, starts))


def write_ranges(store: Place, name: str, columns: Mapping[str, Column], starts: Ints | None = None) -> list[DataFile]:
    """Writes ``columns`` (sorted already) of the table ``name``, a file for each range of keys that begins at one of ``starts``,
    those without rows left out; one file in any case."""
    keys = columns[key_of(name)]
    cuts = sorted({0, len(keys), *(np.searchsorted(keys, starts).tolist() if starts is not None else ())})
    spans = list(pairwise(cuts)) or [(0, 0)]
    parts = ({column: values[low:high] for column, values in columns.items()} for low, high in spans)
    return [write_part(store, name, f"part-{uuid.uuid4().hex}.zstd.parquet", part) for part in parts]


def write_part(store: Place, name: str, file_name: str, columns: Mapping[str, Column]) -> DataFile:
    """Writes ``columns`` (sorted already) as one file of the table ``name``, durably, with its look-up file; `commit_parts`
    makes it part of the table."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    schema, keys = SCHEMAS[name], columns[key_of(name)]
    low, high = (int(keys[0]), int(keys[-1])) if len(keys) else (None, None)
    file = DataFile(f"{TABLES}/{name}/{file_name}", 0, len(keys), low=low, high=high)
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
        written = described(store, file.path, file.rows)
        return replace(file, bytes=written.bytes, sha256=written.sha256, lookup=size, lookup_digest=digest)


def commit_parts(store: Place, name: str, files: Sequence[DataFile]) -> TableVersion:
    """Makes ``files``, in the order of their keys, all of the Delta table ``name``, in one transaction."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import create_table_with_add_actions

    address, schema, actions, before = _address(store, name), Schema.from_arrow(SCHEMAS[name]), _added(files), -1
    if isinstance(store, Path):
        Path(address).mkdir(exist_ok=True)
    with _by_delta(store, name):
        if DeltaTable.is_deltatable(address):
            table = DeltaTable(address)
            before = table.version()
            table.create_write_transaction(actions, "overwrite", schema)
        else:
            create_table_with_add_actions(address, schema, actions)
        return _durable(store, name, before + 1, tuple(files), len(files))


def exchange_parts(store: Place, name: str, ranges: Sequence[DataFile], small: Sequence[DataFile]) -> TableVersion:
    """Makes ``ranges``, in the order of their keys, and then ``small`` the files of the Delta table ``name``, in one transaction
    that names only those which come and those which go."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import RemoveAction

    files = (*ranges, *small)
    with _by_delta(store, name):
        table = DeltaTable(_address(store, name))
        version, before, now = table.version(), _files_of(table), int(time.time() * 1000)
        come, gone = [file for file in files if _own(file) not in before], before.difference(map(_own, files))
        actions = [*_added(come), *(RemoveAction(path, True, now, None, {}) for path in sorted(gone))]
        if actions:
            table.create_write_transaction(actions, "append", Schema.from_arrow(SCHEMAS[name]))
        return _durable(store, name, version + bool(actions), files, len(ranges))


def _address(store: Place, name: str) -> str:
    """Where the Delta table ``name`` lies."""
    return str(store / f"{TABLES}/{name}")


def _added(files: Iterable[DataFile]) -> list[Any]:
    from deltalake.transaction import AddAction

    now = int(time.time() * 1000)
    return [AddAction(_own(file), file.bytes, {}, now, True, json.dumps({"numRecords": file.rows})) for file in files]


def write_removed(store: Place, name: str, rows: Columns) -> DataFile | None:
    """Writes the file that names ``rows`` of the table ``name``, by their identity, as removed; none where there are none."""
    import pyarrow.parquet as pq

    columns, names = array_table(key_of(name), rows).columns, list(IDENTITY[name])
    if not len(columns[names[0]]):
        return None
    path = f"{REMOVED}/{name}-{uuid.uuid4().hex}.parquet"
    with placed(store, path) as temporary:
        pq.write_table(pa.Table.from_arrays([arrow_ints(columns[c]) for c in names], names=names), temporary, compression="zstd")
    return described(store, path, len(columns[names[0]]))


def _own(file: DataFile) -> str:
    """The name of a ``file`` within the folder of its table."""
    return file.path.rpartition("/")[2]


@contextmanager
def _by_delta(store: Place, name: str) -> Iterator[None]:
    """Delta's own error for whatever goes wrong with the table ``name``, as one of the system; where no lock keeps writers apart,
    that another came first. Raises: OSError, StoreError."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except DeltaError as error:
        if not isinstance(store, Path) and (isinstance(error, CommitFailedError) or "already exists" in str(error)):
            raise store.overtaken() from error
        code = re.search(r"os error (\d+)", str(error))
        raise OSError(int(code[1]) if code else 0, str(error), _address(store, name)) from error


def _durable(store: Place, name: str, version: int, files: tuple[DataFile, ...], ranges: int) -> TableVersion:
    """The ``version`` of the Delta table ``name``, of ``files``, which are durable already; the first ``ranges`` of them follow
    one another.

    Raises: StoreError if it consists of others, since another writer came first: a lock keeps them apart in a folder alone.
    """
    from deltalake import DeltaTable

    if isinstance(store, Path):
        log = store / TABLES / name / "_delta_log"
        for entry in log.iterdir():
            sync_file(entry)
        sync_directory(log)
    elif _files_of(DeltaTable(_address(store, name), version)) != set(map(_own, files)):
        raise store.overtaken()
    return TableVersion(version, files, ranges=ranges)


def _files_of(table: Any) -> set[str]:
    """The names of the files that a Delta ``table`` consists of, within its folder."""
    return {uri.rpartition("/")[2] for uri in table.file_uris()}


def delta_files(store: Place, name: str) -> set[str]:
    """The files, within the store, that the Delta table ``name`` consists of now."""
    from deltalake import DeltaTable

    return {f"{TABLES}/{name}/{file}" for file in _files_of(DeltaTable(_address(store, name)))}


def _arrow(column: Any, kind: pa.DataType) -> pa.Array:
    array = arrow_ints(column) if isinstance(column, np.ndarray) else pa.array(column)
    return array if array.type == kind else array.cast(kind)

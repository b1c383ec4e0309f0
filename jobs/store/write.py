"""Building a store, and replacing its certificate.

Tables and documents are written first; the manifest, which names them, is put in place last and in one step.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.engines.columns import Columns, Ints, sorted_order, take
from jobs.store.lock import LOCK, writing
from jobs.store.manifest import (
    MANIFEST,
    TABLES,
    Certificate,
    DataFile,
    Manifest,
    read_manifest,
    sync_directory,
    tbox_hash,
    write_manifest,
)
from jobs.store.numbering import node_ids
from jobs.store.read import Store, open_store
from jobs.store.schema import (
    DIFFERENT,
    KIND_CLASS,
    KIND_DATA_PROPERTY,
    KIND_OBJECT_PROPERTY,
    SAME,
    SCHEMAS,
    key_of,
    literal_hash,
    term_hash,
    vacuum_table,
    write_table,
)
from jobs.store.values import encode
from shiq.abox import ABox, individuals_of
from shiq.errors import StoreError
from shiq.model import TBox
from shiq.verdict import Leftover

#: Told (stage, steps done, steps in all).
Progress: TypeAlias = Callable[[str, int, int], None]

_DOCUMENTS = "documents"


def write_store(
    path: Path,
    tbox: TBox,
    abox: ABox,
    *,
    leftovers: Iterable[Leftover] = (),
    certificate: Certificate | None = None,
    progress: Progress | None = None,
) -> Store:
    """Builds the store of (``tbox``, ``abox``) at ``path``, or builds the one that is there anew; gives it back, opened.

    A crash leaves the old snapshot or the new one. A new directory without a manifest is an unfinished store, and is said to be
    one by `open_store`.

    Raises: StoreError if ``path`` holds something else, another writer is at work, or ``certificate`` is about another TBox.
    """
    told = progress or (lambda stage, done, total: None)
    hash_, left_over = tbox_hash(tbox), tuple(leftovers)
    if certificate is not None and certificate.tbox_hash not in ("", hash_):
        raise StoreError(f"{path}: the certificate is about another TBox", "Certify this TBox with this ABox first.")
    _claim(path)
    with writing(path):
        old = _previous(path)
        (path / TABLES).mkdir(exist_ok=True)
        sync_directory(path)
        told("numbering", 0, 1)
        columns = _tables(abox)
        told("numbering", 1, 1)
        versions = {}
        for done, name in enumerate(SCHEMAS):
            told("writing tables", done, len(SCHEMAS))
            versions[name] = write_table(path, name, columns.pop(name))
        told("writing tables", len(SCHEMAS), len(SCHEMAS))
        snapshot = old.snapshot + 1 if old else 1
        manifest = Manifest(
            snapshot=snapshot,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            assertions=len(abox),
            tbox_hash=hash_,
            tables=versions,
            documents={
                "tbox": _write_document(path, "tbox", encode(tbox)),
                "leftovers": _write_document(path, "leftovers", [encode(leftover) for leftover in left_over]),
            },
            certificate=_issued(certificate, hash_, snapshot, left_over),
            facts={
                "individuals": len(abox.individuals),
                "class_assertions": len(abox.class_subject),
                "role_assertions": len(abox.role_subject),
                "data_assertions": len(abox.data_subject),
            },
        )
        write_manifest(path, manifest)
        if old:
            _tidy(path, manifest, old)
        return open_store(path)


def certify(path: Path, certificate: Certificate | None) -> None:
    """Replaces the certificate of the store at ``path``, in one step; None takes it away.

    Raises: StoreError if it is about another TBox or snapshot than the store holds (0 stands for the present one), or another
    writer is at work.
    """
    read_manifest(path)
    with writing(path):
        manifest = read_manifest(path)
        if certificate is not None:
            if certificate.tbox_hash not in ("", manifest.tbox_hash) or certificate.snapshot not in (0, manifest.snapshot):
                raise StoreError(
                    f"{path}: the certificate is about another TBox or snapshot than the store holds",
                    "The store was changed meanwhile: certify it again.",
                )
        left_over = open_store(path).leftovers
        issued = _issued(certificate, manifest.tbox_hash, manifest.snapshot, left_over)
        write_manifest(path, replace(manifest, certificate=issued))


def _issued(
    certificate: Certificate | None, tbox_hash: str, snapshot: int, leftovers: tuple[Leftover, ...]
) -> Certificate | None:
    """``certificate`` for this TBox, snapshot and leftovers."""
    if certificate is None:
        return None
    kinds = tuple(sorted({leftover.kind for leftover in leftovers}))
    return replace(certificate, tbox_hash=tbox_hash, snapshot=snapshot, leftovers=kinds)


def _claim(path: Path) -> None:
    """Makes the directory of a store. Raises: StoreError where something else lives."""
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path}: is a file, not a directory", "Name a new directory for the store.")
    if path.exists() and not (path / MANIFEST).exists():
        strange = sorted(
            entry.name for entry in path.iterdir() if entry.name not in (LOCK, TABLES, _DOCUMENTS, MANIFEST + ".tmp")
        )
        if strange:
            raise StoreError(f"{path}: the directory is not empty and not a store (it has {strange[0]})", "Name a new directory.")
    path.mkdir(parents=True, exist_ok=True)


def _previous(path: Path) -> Manifest | None:
    """The manifest to be replaced; a store of another version, or damaged, is replaced as a whole."""
    try:
        return read_manifest(path)
    except StoreError:
        return None


def _write_document(store: Path, name: str, value: object) -> DataFile:
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(content).hexdigest()
    folder = store / _DOCUMENTS
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}-{digest[:16]}.json"
    temporary = file.with_suffix(".tmp")
    with temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    os.replace(temporary, file)
    sync_directory(folder)
    return DataFile(f"{_DOCUMENTS}/{file.name}", len(content), sha256=digest)


def _tidy(store: Path, new: Manifest, old: Manifest) -> None:
    """Frees what neither snapshot names; a reader of ``old`` may still be at work."""
    named = {document.path for manifest in (new, old) for document in manifest.documents.values()}
    for file in (store / _DOCUMENTS).iterdir():
        if f"{_DOCUMENTS}/{file.name}" not in named:
            file.unlink()
    for name in new.tables:
        vacuum_table(store, name)


# --- from an ABox to the columns of the tables -----------------------------------------------------


@dataclass(frozen=True)
class _Numbered:
    abox: ABox
    ids: Ints


def _tables(abox: ABox) -> dict[str, Columns]:
    """The columns of every table, sorted."""
    subjects, objects = np.asarray(abox.role_subject), np.asarray(abox.role_object)
    numbered = _Numbered(abox, node_ids(abox.individuals, subjects, objects))
    data, literals = _data(numbered)
    tables = {
        "individuals": {"node": numbered.ids, "term": pa.array(abox.individuals, pa.string())},
        "terms": {"hash": term_hash(abox.individuals), "node": numbered.ids},
        "names": _names(abox),
        "class_assertions": {"node": numbered.ids[np.asarray(abox.class_subject)], "class": np.asarray(abox.class_name)},
        "half_edges": _half_edges(numbered, subjects, objects),
        "data_assertions": data,
        "literals": literals,
        "pairs": _pairs(numbered),
        "complex": _complex(numbered),
    }
    return {name: _sorted(columns, key_of(name)) for name, columns in tables.items()}


def _sorted(columns: Columns, key: str) -> Columns:
    order = sorted_order(columns, key)
    return {name: take(column, order) for name, column in columns.items()}


def _names(abox: ABox) -> Columns:
    lists = {KIND_CLASS: abox.classes, KIND_OBJECT_PROPERTY: abox.object_properties, KIND_DATA_PROPERTY: abox.data_properties}
    return {
        "kind": np.repeat(np.array(list(lists), np.int64), [len(names) for names in lists.values()]),
        "id": np.concatenate([np.arange(len(names), dtype=np.int64) for names in lists.values()]),
        "iri": pa.array([iri for names in lists.values() for iri in names], pa.string()),
    }


def _half_edges(numbered: _Numbered, subjects: Ints, objects: Ints) -> Columns:
    subject, object_ = numbered.ids[subjects], numbered.ids[objects]
    role = np.asarray(numbered.abox.role_name) * 2
    return {
        "node": np.concatenate([subject, object_]),
        "role": np.concatenate([role, role + 1]),
        "neighbour": np.concatenate([object_, subject]),
    }


def _data(numbered: _Numbered) -> tuple[Columns, Columns]:
    """Data assertions and literals; literals are numbered by the least node that has them, so that they are local too."""
    abox = numbered.abox
    node, property_ = numbered.ids[np.asarray(abox.data_subject)], np.asarray(abox.data_name)
    literal = np.asarray(abox.data_literal)
    by_node = np.argsort(node, kind="stable")
    used, first = np.unique(literal[by_node], return_index=True)
    order = used[np.argsort(first)]
    rank = np.zeros(len(abox.literals), np.int64)
    rank[order] = np.arange(len(order))
    values = [abox.literals[i] for i in order.tolist()]
    hashes = literal_hash(values)
    ranked = rank[literal]
    return (
        {"node": node, "property": property_, "literal": ranked, "hash": hashes[ranked]},
        {
            "literal": np.arange(len(order), dtype=np.int64),
            "lexical": pa.array([x.lexical for x in values], pa.string()),
            "datatype": pa.array([x.datatype for x in values], pa.string()),
            "language": pa.array([x.language for x in values], pa.string()),
        },
    )


def _pairs(numbered: _Numbered) -> Columns:
    abox = numbered.abox
    named = np.array([*abox.same, *abox.different], np.int64).reshape(-1, 2)
    kind = np.repeat(np.array([SAME, DIFFERENT], np.int64), [len(abox.same), len(abox.different)])
    first, second = numbered.ids[named[:, 0]], numbered.ids[named[:, 1]]
    return {
        "node": np.concatenate([first, second]),
        "kind": np.concatenate([kind, kind + 1]),
        "neighbour": np.concatenate([second, first]),
    }


def _complex(numbered: _Numbered) -> Columns:
    abox = numbered.abox
    position = {individual: i for i, individual in enumerate(abox.individuals)} if abox.complex else {}
    rows = [
        (int(numbered.ids[position[individual]]), ordinal, json.dumps(encode(assertion), ensure_ascii=False))
        for ordinal, assertion in enumerate(abox.complex)
        for individual in dict.fromkeys(individuals_of(assertion))
    ]
    return {
        "node": np.array([row[0] for row in rows], np.int64),
        "ordinal": np.array([row[1] for row in rows], np.int64),
        "value": pa.array([row[2] for row in rows], pa.string()),
    }

"""Commit an accepted batch to a store: the next snapshot, as a few sorted files beside the existing
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from shiq.abox_ops.labels.label_tables import complex_text, label_rows
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.snapshot_delta import FreeNumbers, SnapshotDelta, snapshot_delta
from shiq.answers.verdict import Leftover
from shiq.columns.arrays import Columns, arrow_texts, concatenate, is_row_in, take, unique
from shiq.columns.rows import NODES, literal_key, term_key
from shiq.errors import StoreError
from shiq.inputs.reading import QuarantinedAssertion
from shiq.jobs.store.files import DataFile, hold_write_lock, verify
from shiq.jobs.store.left_out import add_left_out, compact_left_out
from shiq.jobs.store.manifest import (
    APPLIED_BATCHES,
    ASIDE,
    LEFT_OUT,
    Certificate,
    Manifest,
    TableVersion,
    read_manifest,
    write_kept_manifest,
    write_manifest,
)
from shiq.jobs.store.read import Store, open_store
from shiq.jobs.store.schema import (
    COMPLETION,
    IDENTITY,
    KIND_CLASS,
    KIND_DATA_PROPERTY,
    KIND_OBJECT_PROPERTY,
    SharedFile,
    key_of,
)
from shiq.jobs.store.upkeep.build import write_store
from shiq.jobs.store.upkeep.ranges import compact_table, renew_changed_ranges
from shiq.jobs.store.verify import verify_lookup
from shiq.jobs.store.write import (
    publish_and_expire,
    quarantine_document,
    require_unchanged,
    stamped_certificate,
    write_document,
)
from shiq.model.abox import ABox, abox_of
from shiq.model.as_json import encode
from shiq.model.ntriples import assertion_lines
from shiq.remote.place import StoreLocation


def commit(
    path: StoreLocation,
    insertions: ABox,
    deletions: ABox,
    *,
    checked: tuple[str, int],
    certificate: Certificate | None = None,
    opened: Store | None = None,
    patch: Patch | None = None,
    asides: Iterable[QuarantinedAssertion] = (),
    leftovers: tuple[Leftover, ...] | None = None,
    left_out: Iterable[Leftover] = (),
    taken: Mapping[str, int] | None = None,
) -> Store:
    """Commit a batch. Returns the store with A = (A less ``deletions``) ∪ ``insertions``, opened."""
    with hold_write_lock(path):
        present = read_manifest(path)
        require_unchanged(path, present, checked)
        store = opened if opened is not None and opened.manifest == present else open_store(path)
        store.manifest = present
        kept = _next_quarantine(store, insertions, deletions, asides)
        leftovers = store.data_leftovers if leftovers is None else leftovers
        free = _free_numbers(store)
        grown = snapshot_delta(store, insertions, deletions, free, patch)
        if grown is not None:
            is_void = not any(
                len(rows[key_of(name)])
                for part in (grown.added_rows, grown.removed_rows)
                for name, rows in part.items()
            )
            is_void = is_void and kept == store.quarantine and leftovers == store.data_leftovers
            # What a feed sends again changes nothing, but may once others have changed the store.
            is_void = is_void and present.applied_batches == present.merge_applied_batches(
                taken or {}
            )
            return (
                store
                if is_void
                else _write_tables(
                    store, grown, free, certificate, kept, leftovers, left_out, taken or {}
                )
            )
        gone, new = frozenset(deletions), list(insertions)
        abox = abox_of([*(a for a in store.export() if a not in gone), *new])
    return write_store(
        path,
        store.tbox,
        abox,
        leftovers=leftovers,
        tbox_leftovers=store.tbox_leftovers,
        certificate=certificate,
        replacing=checked,
        ontologies=store.ontologies,
        asides=kept,
        left_out=left_out,
        labels=store.term_labels,
        taken=taken,
    )


def _next_quarantine(
    store: Store, insertions: ABox, deletions: ABox, asides: Iterable[QuarantinedAssertion]
) -> tuple[QuarantinedAssertion, ...]:
    """Quarantine ledger of the next snapshot: the rows of the present ledger that the batch does
    not touch, and the new rows ``asides``.
    """
    new = list(asides)
    if not store.quarantine:
        return tuple(new)
    renewed = {aside.triples for aside in new}
    gone = {assertion_lines(a) for abox in (insertions, deletions) for a in abox} | renewed
    return (*(aside for aside in store.quarantine if aside.triples not in gone), *new)


def compact(path: StoreLocation) -> Store:
    """Rewrite the tables of the store at ``path`` range by range, without small files and damaged
    parts. Returns the opened store.

    A damaged part is rewritten from its copy. The content stays the same; older snapshots are
    dropped.
    """
    read_manifest(path)
    with hold_write_lock(path):
        store = Store(path, read_manifest(path))
        for file in store.manifest.documents.values():
            verify(path, file)
        shared = SharedFile(path)
        tables = {
            n: compact_table(store, n, _choose_intact_copies(store, n, version), shared)
            for n, version in store.manifest.tables.items()
        }
        tables = shared.finish(tables)
        manifest = replace(
            store.manifest,
            snapshot=store.snapshot + 1,
            created=_timestamp(),
            tables=tables,
            before=None,
        )
        manifest = replace(manifest, documents=compact_left_out(path, manifest.documents))
        if manifest.certificate is not None:
            manifest = replace(
                manifest, certificate=replace(manifest.certificate, snapshot=manifest.snapshot)
            )
        publish_and_expire(path, manifest, store.manifest)
        store.close()
        return open_store(path)


#: What numbers a commit gives, by their dictionary: the fact of a manifest that says which one is
#: next, and the columns of other tables that have them.
_NUMBERED = {
    "individuals": ("next_node", NODES),
    "literals": ("next_literal", ("literal",)),
    "labels": ("next_label", ("label",)),
}


def _free_numbers(store: Store) -> FreeNumbers:
    """Look up the first unused numbers for new individuals, literals, complex assertions and
    labels.
    """
    ordinals = (
        int(rows["ordinal"].max()) for rows in store.table("complex").scan() if len(rows["ordinal"])
    )
    ordinal = store.manifest.facts.get("next_ordinal") or max(ordinals, default=-1) + 1
    node, literal, label = (_next_number(store, *numbered) for numbered in _NUMBERED.items())
    return FreeNumbers(node, literal, ordinal, label)


def _next_number(store: Store, dictionary: str, fact_and_columns: tuple[str, Sequence[str]]) -> int:
    """Find the first unused number in the table ``dictionary`` (individuals, literals or labels).

    A dictionary's last range may have been rewritten without its last rows while other tables still
    name them as removed. So the number follows from a fact of the last commit, or else from all
    columns.
    """
    fact, columns = fact_and_columns
    if fact in store.manifest.facts:
        return int(store.manifest.facts[fact])
    removed = [
        rows[column]
        for rows in (store.table(n).removed_rows for n in store.manifest.tables)
        for column in columns
        if column in rows
    ]
    return (
        max(
            store.table(dictionary).last_key, *(int(numbers.max(initial=-1)) for numbers in removed)
        )
        + 1
    )


def _write_tables(
    store: Store,
    grown: SnapshotDelta,
    free: FreeNumbers,
    certificate: Certificate | None,
    asides: tuple[QuarantinedAssertion, ...],
    leftovers: tuple[Leftover, ...],
    left_out: Iterable[Leftover],
    taken: Mapping[str, int],
) -> Store:
    """Write the tables and documents of the next snapshot, publish its manifest, and open it."""
    added, removed = dict(grown.added_rows), dict(grown.removed_rows)
    nodes = np.arange(free.node, free.node + len(grown.terms), dtype=np.int64)
    hashes = term_key(grown.terms)
    added["individuals"] = {"node": nodes, "term": arrow_texts(grown.terms)}
    added["terms"] = {"hash": hashes, "node": nodes}
    removed["individuals"] = {"node": grown.vanished_nodes}
    removed["terms"] = {
        "hash": term_key(store.terms_of(grown.vanished_nodes)),
        "node": grown.vanished_nodes,
    }
    added["names"] = _new_names(store, grown)
    literal_ids = np.arange(free.literal, free.literal + len(grown.literals), dtype=np.int64)
    added["literals"] = {
        "literal": literal_ids,
        "lexical": arrow_texts([x.lexical for x in grown.literals]),
        "datatype": arrow_texts([x.datatype for x in grown.literals]),
        "language": arrow_texts([x.language for x in grown.literals]),
    }
    data = added["data_assertions"]
    data["hash"] = literal_key(grown.literals)[data["literal"] - free.literal]
    texts = list(map(complex_text, grown.complex))
    added["complex"]["value"] = arrow_texts(
        [texts[i - free.ordinal] for i in added["complex"]["ordinal"].tolist()]
    )
    added["labels"] = label_rows(grown.labels)
    added["labels"]["label"] = added["labels"]["label"] + free.label
    old = store.manifest
    kept = [name for name in store.manifest.tables if name in added or name not in COMPLETION]
    shared = SharedFile(store.path)
    tables = {
        name: _write_table_changes(store, name, added.get(name), removed.get(name), shared)
        for name in kept
    }
    tables = _renew_ranges(store, shared.finish(tables))
    document = store.index_document | {
        "negated_roles": sorted([r.iri, r.is_inverse] for r in grown.negated_roles),
        "negated_properties": sorted(grown.negated_properties),
    }
    facts = _next_facts(old, grown, free)
    left_over = (*store.tbox_leftovers, *leftovers)
    told = (
        {}
        if left_over == store.leftovers
        else {"leftovers": write_document(store.path, "leftovers", list(map(encode, left_over)))}
    )
    aside, counts = add_left_out(store.path, old, left_out)
    manifest = replace(
        old,
        snapshot=old.snapshot + 1,
        created=_timestamp(),
        assertions=facts.pop("assertions"),
        tables=tables,
        documents={
            **{
                name: file
                for name, file in old.documents.items()
                if name != ASIDE and not name.startswith(LEFT_OUT)
            },
            "index": write_document(store.path, "index", document),
            **told,
            **quarantine_document(store.path, asides),
            **aside,
        },
        certificate=stamped_certificate(certificate, old.tbox_hash, old.snapshot + 1, left_over),
        facts=facts
        | counts
        | ({APPLIED_BATCHES: old.merge_applied_batches(taken)} if taken else {}),
        before=write_kept_manifest(store.path, old),
    )
    write_manifest(store.path, manifest)
    store.close()
    return open_store(store.path)


def _new_names(store: Store, grown: SnapshotDelta) -> Columns:
    """Rows of the table ``names`` for classes and properties that are new in the batch."""
    kinds = {
        KIND_CLASS: (store.classes, grown.names.classes.values),
        KIND_OBJECT_PROPERTY: (store.object_properties, grown.names.object_properties.values),
        KIND_DATA_PROPERTY: (store.data_properties, grown.names.data_properties.values),
    }
    rows = [
        (kind, i, now[i])
        for kind, (before, now) in kinds.items()
        for i in range(len(before), len(now))
    ]
    return {
        "kind": np.array([kind for kind, _, _ in rows], np.int64),
        "id": np.array([i for _, i, _ in rows], np.int64),
        "iri": arrow_texts([iri for _, _, iri in rows]),
    }


def _next_facts(old: Manifest, grown: SnapshotDelta, free: FreeNumbers) -> dict[str, Any]:
    """Facts for the manifest of the next snapshot: counts of assertions and individuals, and the
    next unused numbers.
    """

    def added_rows(table: str) -> int:
        key = key_of(table)
        return len(grown.added_rows[table][key]) - (
            len(grown.removed_rows[table][key]) if table in grown.removed_rows else 0
        )

    counts = np.zeros(len(grown.names.classes), np.int64)
    counts[: len(old.facts["class_counts"])] = old.facts["class_counts"]
    counts += np.bincount(grown.added_rows["class_assertions"]["class"], minlength=len(counts))
    if "class_assertions" in grown.removed_rows:
        counts -= np.bincount(
            grown.removed_rows["class_assertions"]["class"], minlength=len(counts)
        )
    roles, data, classes = (
        added_rows("half_edges") // 2,
        added_rows("data_assertions"),
        added_rows("class_assertions"),
    )
    complex_ = len(unique(grown.added_rows["complex"]["ordinal"]))
    return {
        **old.facts,
        "assertions": old.assertions + classes + roles + data + added_rows("pairs") // 2 + complex_,
        "class_assertions": old.facts["class_assertions"] + classes,
        "role_assertions": old.facts["role_assertions"] + roles,
        "data_assertions": old.facts["data_assertions"] + data,
        "individuals": old.facts["individuals"] + len(grown.terms) - len(grown.vanished_nodes),
        "class_counts": counts.tolist(),
        "next_ordinal": free.ordinal + complex_,
        "next_node": free.node + len(grown.terms),
        "next_literal": free.literal + len(grown.literals),
        "next_label": free.label + len(grown.labels),
    }


def _renew_ranges(store: Store, tables: Mapping[str, TableVersion]) -> dict[str, TableVersion]:
    """Rewrite the key ranges of tables of which much has changed; join a table's small files if
    these are many.
    """
    shared = SharedFile(store.path)
    return shared.finish(
        {
            name: renew_changed_ranges(store, name, version, shared)
            if version != store.manifest.tables[name]
            else version
            for name, version in tables.items()
        }
    )


def _write_table_changes(
    store: Store, name: str, added: Columns | None, removed: Columns | None, shared: SharedFile
) -> TableVersion:
    """Write the rows that a commit adds to and removes from the table ``name`` into ``shared``.
    Returns the table's next version. A row that was removed before and is added again is dropped
    from the list of removed rows.
    """
    table, version = store.table(name), store.manifest.tables[name]
    identity = IDENTITY[name]
    gone = table.removed_rows
    before = len(gone[key_of(name)])
    if added is not None and len(added[key_of(name)]) and before:
        back = is_row_in([added[c] for c in identity], [gone[c] for c in identity])
        still = ~is_row_in([gone[c] for c in identity], [added[c] for c in identity])
        added = {c: take(column, np.flatnonzero(~back)) for c, column in added.items()}
        gone = {c: column[still] for c, column in gone.items()}
    if removed is not None and len(removed[key_of(name)]):
        gone = concatenate([gone, {c: removed[c] for c in identity}], gone)
    if added is not None and len(added[key_of(name)]):
        version = replace(version, files=(*version.files, *shared.add_rows(name, added)))
    if len(gone[key_of(name)]) != before or (removed is not None and len(removed[key_of(name)])):
        version = replace(
            version, removed=next(iter(shared.add_rows(name, gone, is_removed=True)), None)
        )
    return version


def _choose_intact_copies(store: Store, name: str, version: TableVersion) -> TableVersion:
    """Choose for each file of a table its undamaged copy, the data file or its look-up file.
    Returns the ``version`` of the table in which damaged copies are marked as unusable.

    Raises: StoreError if both copies of a file are damaged.
    """
    removed = version.removed and _choose_intact_copy(store, name, version.removed)
    return replace(
        version,
        files=tuple(_choose_intact_copy(store, name, file) for file in version.files),
        removed=removed,
    )


def _choose_intact_copy(store: Store, name: str, file: DataFile) -> DataFile:
    """Choose the undamaged copy of a file, as `_choose_intact_copies` does for a table."""
    plain = replace(file, lookup=0, lookup_digest="")
    try:
        verify_lookup(store.path, file, name)
    except StoreError:
        verify(store.path, file)
        return plain
    try:
        verify(store.path, file)
    except StoreError:
        if not file.lookup:
            raise
        return replace(file, sha256="")
    return file


def _timestamp() -> str:
    """Present time in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

"""A store, opened: its TBox, its certificate, and look-ups that read no more than they must."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from jobs.store.files import read_json
from jobs.store.left_out import read_left_out
from jobs.store.manifest import (
    ASIDE,
    LEFT_OUT,
    MANIFEST,
    TERM_LABELS,
    Certificate,
    Manifest,
    TableVersion,
    read_manifest,
)
from jobs.store.row_groups import Decoded
from jobs.store.schema import COMPLETION, KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from jobs.store.snapshots import kept, manifest_at
from jobs.store.table import ParquetTable
from jobs.store.verify import check_sizes
from shiq import model as owl
from shiq.columns.arrays import Columns, Ints, ReadCounter, is_in, positions, take
from shiq.columns.rows import DIFFERENT, SAME, term_key
from shiq.errors import BUILD_ANEW, StoreError
from shiq.model_json import decode
from shiq.remote.place import Place
from shiq.verdict import LEAVING_OUT, Leftover, Verdict

if TYPE_CHECKING:
    from shiq.aside import Aside


def open_store(path: Place, snapshot: int | None = None, *, older: bool = False) -> Store:
    """Opens the snapshot that the store at ``path`` holds now, or an older one that it keeps;
    later writers do not disturb it. ``older``: one of an older version too, for what A and T are
    and nothing else.

    Raises: StoreError if there is no store, it was never finished, is of another version, misses
    files, or does not keep the ``snapshot``.
    """
    stamp = _stamp(path)
    manifest = read_manifest(path, older=older)
    if snapshot is not None and snapshot != manifest.snapshot:
        manifest = manifest_at(path, manifest, snapshot)
    if isinstance(path, Path):
        check_sizes(path, manifest)
    return Store(path, manifest, stamp)


def renewed(store: Store) -> Store:
    """``store``, if it is what its place on disk holds now; else what that holds, opened. Cost,
    where nothing was written: a look at one directory entry.
    """
    if store.stamp and store.stamp == _stamp(store.path):
        return store
    present = open_store(store.path)
    if present.manifest != store.manifest:
        return present
    store.stamp = present.stamp
    return store


def _stamp(path: Place) -> tuple[int | str, ...]:
    """What tells one manifest at ``path`` from the next, before it is read; () if there is none."""
    if not isinstance(path, Path):
        found = path.stamp(MANIFEST)
        return (found,) if found else ()
    try:
        told = (path / MANIFEST).stat()
    except OSError:
        return ()
    return told.st_ino, told.st_size, told.st_mtime_ns


class _NoTables(dict[str, ParquetTable]):
    """The tables of a store that is closed, or in whose place a commit put another."""

    def __missing__(self, name: str) -> ParquetTable:
        told = "What a result tells of it (`Result.a_add`) is read while the session is open, and before it commits."
        raise StoreError(f"the table {name} is not read: the store is closed", told)


class Store:
    """One snapshot of a store. ``reads`` counts what was fetched from its tables; ``stamp``: of
    the manifest on disk that it was opened by, () where that is not known.
    """

    def __init__(self, path: Place, manifest: Manifest, stamp: tuple[int | str, ...] = ()) -> None:
        self.path = path
        self.stamp = stamp
        self.manifest = manifest
        self.reads = ReadCounter()
        self._decoded: Decoded = {}
        self._vocabulary: frozenset[str] | None = None
        self._tables: dict[str, ParquetTable] = {
            name: self.table_of(name, manifest.tables[name]) for name in manifest.tables
        }

    def __len__(self) -> int:
        """|A|, distinct assertions."""
        return self.manifest.assertions

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets the files go; the store is not used any more after that."""
        self._tables = _NoTables()

    @property
    def certificate(self) -> Certificate | None:
        """What is certified of this TBox and this snapshot; one that speaks of others certifies
        nothing.
        """
        found = self.manifest.certificate
        if found is None or (found.tbox_hash, found.snapshot) == (self.tbox_hash, self.snapshot):
            return found
        what = "snapshot" if found.tbox_hash == self.tbox_hash else "TBox"
        reason = f"the certificate in the store is about another {what} than the store holds"
        return replace(found, verdict=Verdict.UNDETERMINED, reason=reason)

    @property
    def snapshot(self) -> int:
        return self.manifest.snapshot

    @property
    def tbox_hash(self) -> str:
        return self.manifest.tbox_hash

    @property
    def identity(self) -> tuple[str, int]:
        """What no other state of any store shares: the building of this one, and the snapshot."""
        return self.manifest.identity, self.manifest.snapshot

    @property
    def ontologies(self) -> frozenset[str]:
        """The IRIs by which batches may import the TBox."""
        return frozenset(self.manifest.facts.get("ontologies", ()))

    @cached_property
    def tbox(self) -> owl.TBox:
        found = decode(self._document("tbox"))
        if not isinstance(found, owl.TBox):
            raise StoreError(
                f"{self.path}: the TBox is damaged",
                f"Build the store again: {BUILD_ANEW}.",
                self.path,
            )
        return found

    @cached_property
    def term_labels(self) -> dict[str, str]:
        """What terms of the TBox are called, by IRI; empty for a store that was written without."""
        return dict(self._document(TERM_LABELS)) if TERM_LABELS in self.manifest.documents else {}

    @cached_property
    def leftovers(self) -> tuple[Leftover, ...]:
        """What was not interpreted when the store was built."""
        return tuple(map(decode, self._document("leftovers")))

    @cached_property
    def asides(self) -> tuple[Aside, ...]:
        """What belongs to the data, is not in A, and was set aside because it contradicts."""
        if ASIDE not in self.manifest.documents:
            return ()
        from shiq.aside import Aside

        return tuple(map(Aside.from_dict, self._document(ASIDE)))

    @property
    def tbox_leftovers(self) -> tuple[Leftover, ...]:
        """The `leftovers` that are known to have come with the TBox."""
        return self.leftovers[: self.manifest.facts.get("tbox_leftovers", 0)]

    @property
    def data_leftovers(self) -> tuple[Leftover, ...]:
        """The other `leftovers`."""
        return self.leftovers[len(self.tbox_leftovers) :]

    def left_out(self, *, unasked: bool = True) -> Iterator[Leftover]:
        """What of the data was not understood when it was read, was allowed or made the
        certificate undetermined, and is not in A, one by one; then, if ``unasked``, what is
        outside SHIQ(D), and allowed. Raises: StoreError.
        """
        yield from read_left_out(self.path, self.manifest.documents)
        yield from self._unasked if unasked else ()

    @property
    def left_out_counts(self) -> tuple[dict[str, int], int]:
        """How many of these there are, by kind; and how many of them are only counted, or
        shortened.
        """
        told = self.manifest.facts.get(LEFT_OUT, {})
        counts = Counter[str](told.get("counts", {}))
        for leftover in self._unasked:
            counts[leftover.kind] += leftover.number
        return dict(sorted(counts.items())), told.get("unkept", 0)

    @property
    def _unasked(self) -> Iterator[Leftover]:
        allowed = self.certificate.allowed if self.certificate else ()
        return (
            x
            for x in self.data_leftovers
            if x.said and x.kind in LEAVING_OUT and x.kind in allowed and not x.asked
        )

    @property
    def read_properties(self) -> frozenset[str]:
        """The object and data properties that the data was read for: there may have been
        assertions on others that did not go into the store.
        """
        return frozenset(
            (
                *self.manifest.facts.get("read_properties", ()),
                *self.object_properties,
                *self.data_properties,
            )
        )

    @cached_property
    def index_document(self) -> dict[str, Any]:
        """What the index says beside its tables (`jobs.store.upkeep.tables.index_document`)."""
        found: dict[str, Any] = self._document("index")
        return found

    def table(self, name: str) -> ParquetTable:
        """A table by its name (see `jobs.store.schema`)."""
        return self._tables[name]

    @property
    def is_completed(self) -> bool:
        """Whether the store holds the certified completion of what it holds."""
        return set(COMPLETION) <= set(self.manifest.tables)

    @property
    def class_counts(self) -> Ints:
        """How many assertions each class name has."""
        return np.array(self.manifest.facts["class_counts"], np.int64)

    def table_of(self, name: str, version: TableVersion) -> ParquetTable:
        """A version of a table."""
        return ParquetTable(name, self.path, version, self.reads, self._decoded)

    # --- dictionaries -----------------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[str]:
        return self._names(KIND_CLASS)

    @cached_property
    def object_properties(self) -> list[str]:
        return self._names(KIND_OBJECT_PROPERTY)

    @cached_property
    def data_properties(self) -> list[str]:
        return self._names(KIND_DATA_PROPERTY)

    def _names(self, kind: int) -> list[str]:
        rows = self.table("names").rows_of(np.array([kind], np.int64))
        names = [""] * len(rows["id"])
        for i, iri in zip(rows["id"].tolist(), rows["iri"].to_pylist()):
            names[i] = iri
        return names

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each term; -1 for a term that the store does not know.

        Cost: the rows of the terms' hashes, and those of the nodes that have them.
        """
        hashes = term_key(terms)
        found = self.table("terms").rows_of(hashes)
        nodes = np.full(len(terms), -1, np.int64)
        if not len(found["hash"]):
            return nodes
        first = positions(found["hash"], hashes)
        known = (found["hash"][np.minimum(first, len(found["hash"]) - 1)] == hashes).nonzero()[0]
        candidates = found["node"][first[known]]
        is_it = [term == terms[i] for i, term in zip(known.tolist(), self.terms_of(candidates))]
        nodes[known[is_it]] = candidates[is_it]
        shared = found["hash"][1:][found["hash"][1:] == found["hash"][:-1]]
        for i in known[is_in(hashes[known], shared)].tolist():
            same_hash = found["node"][first[i] : found["hash"].searchsorted(hashes[i], "right")]
            for node, term in zip(same_hash.tolist(), self.terms_of(same_hash)):
                if term == terms[i]:
                    nodes[i] = node
        return nodes

    def terms_of(self, nodes: Ints) -> list[str]:
        """The term of each node."""
        rows = self.table("individuals").rows_of(nodes)
        return [
            str(term)
            for term in take(rows["term"], _positions(rows["node"], nodes, self.path)).to_pylist()
        ]

    def literals_of(self, literals: Ints) -> list[owl.Literal]:
        """The literal of each id."""
        rows = self.table("literals").rows_of(literals)
        wanted = _positions(rows["literal"], literals, self.path)
        parts = (
            take(rows[name], wanted).to_pylist() for name in ("lexical", "datatype", "language")
        )
        return [owl.Literal(*part) for part in zip(*parts)]

    def vocabulary(self) -> frozenset[str]:
        """The classes and properties that A speaks of, those of assertions that were deleted
        since perhaps among them. Cost: the names, and where there are complex assertions, those.
        """
        if self._vocabulary is None:
            # Loaded where something is outside SHIQ(D).
            from simplify.locality import names_of

            complex_ = names_of(complex_assertions(self.table("complex").all()).values())
            self._vocabulary = frozenset(
                (*self.classes, *self.object_properties, *self.data_properties, *complex_)
            )
        return self._vocabulary

    # --- the assertions ---------------------------------------------------------------------------

    def export(self) -> Iterator[owl.Assertion]:
        """Every assertion of A, once: class, role, data, same, different, complex; by node
        within each kind.

        Cost: one scan; the terms are held in memory, literals are not.
        """
        terms = self._all_terms()
        classes = [owl.Class(iri) for iri in self.classes]
        for rows in self.table("class_assertions").scan():
            for node, name in zip(rows["node"].tolist(), rows["class"].tolist()):
                yield owl.ClassAssertion(classes[name], terms[node])
        properties = [owl.ObjectProperty(iri) for iri in self.object_properties]
        for rows in self.table("half_edges").scan():
            forward = rows["role"] % 2 == 0
            for node, role, neighbour in zip(
                *(rows[name][forward].tolist() for name in ("node", "role", "neighbour"))
            ):
                yield owl.ObjectPropertyAssertion(
                    properties[role // 2], terms[node], terms[neighbour]
                )
        data_properties = [owl.DataProperty(iri) for iri in self.data_properties]
        for rows in self.table("data_assertions").scan():
            literals = self.literals_of(rows["literal"])
            for node, name, literal in zip(
                rows["node"].tolist(), rows["property"].tolist(), literals
            ):
                yield owl.DataPropertyAssertion(data_properties[name], terms[node], literal)
        yield from self._export_rare(terms)

    def _export_rare(self, terms: Sequence[str]) -> Iterator[owl.Assertion]:
        pairs = self.table("pairs").all()
        for kind, make in ((SAME, owl.SameIndividual), (DIFFERENT, owl.DifferentIndividuals)):
            told = pairs["kind"] == kind
            for node, neighbour in zip(
                pairs["node"][told].tolist(), pairs["neighbour"][told].tolist()
            ):
                yield make(terms[node], terms[neighbour])
        yield from complex_assertions(self.table("complex").all()).values()

    def _all_terms(self) -> list[str]:
        rows = self.table("individuals").all()
        if not len(rows["node"]):
            return []
        terms = np.full(int(rows["node"].max()) + 1, None, object)
        terms[rows["node"]] = rows["term"].to_pylist()
        return list(terms)

    def _document(self, name: str) -> Any:
        return read_json(self.path, self.manifest.documents[name])


def status(store: Store) -> dict[str, Any]:
    """What ``store`` holds, as JSON: snapshot, certificate, counts, by table its rows, files and
    bytes, and the snapshots up to this one that are kept, latest first.
    """
    manifest = store.manifest
    tables = {
        name: {
            "rows": len(store.table(name)),
            "files": len(version.files),
            "removed": version.removed.rows if version.removed else 0,
            "bytes": sum(
                file.lookup + (0 if file.is_shared else file.bytes) for file in version.all_files
            ),
        }
        for name, version in manifest.tables.items()
    }
    counts = ("individuals", "class_assertions", "role_assertions", "data_assertions")
    return {
        "store": str(store.path),
        "snapshot": manifest.snapshot,
        "created": manifest.created,
        "assertions": manifest.assertions,
        **{name: manifest.facts[name] for name in counts},
        "tbox_hash": manifest.tbox_hash,
        "axioms": len(store.tbox.axioms),
        "leftovers": sum(leftover.number for leftover in store.leftovers),
        "leftover_triples": sum(leftover.count for leftover in store.leftovers),
        "left_out": store.left_out_counts[0],
        "left_out_unkept": store.left_out_counts[1],
        "taken": dict(manifest.taken),
        "set_aside": dict(Counter(aside.why for aside in store.asides)),
        "certificate": manifest.certificate.to_dict() if manifest.certificate else None,
        "completed": store.is_completed,
        "tables": tables,
        "snapshots": [
            {
                "snapshot": past.snapshot,
                "created": past.created,
                "assertions": past.assertions,
                "verdict": past.certificate.verdict.value if past.certificate else None,
            }
            for past in kept(store.path, manifest)
        ],
    }


def complex_assertions(rows: Columns) -> dict[int, owl.Assertion]:
    """The assertions that ``rows`` of the table ``complex`` hold, by their ordinal, each once,
    in order.
    """
    texts = dict(zip(rows["ordinal"].tolist(), rows["value"].to_pylist()))
    return {ordinal: decode(json.loads(texts[ordinal])) for ordinal in sorted(texts)}


def _positions(keys: Ints, wanted: Ints, store: Place) -> Ints:
    """Where each of ``wanted`` is among the ascending ``keys``. Raises: StoreError if one is
    missing.
    """
    found = positions(keys, wanted)
    if len(wanted) and (not len(keys) or np.any(keys[np.minimum(found, len(keys) - 1)] != wanted)):
        raise StoreError(
            f"{store}: the store names something that its dictionary does not hold",
            f"Build it again: {BUILD_ANEW}.",
            store,
        )
    return found

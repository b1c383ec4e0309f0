"""Open a store: TBox, certificate, and look-ups that read only what they need."""

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

from shiq import model as owl
from shiq.answers.verdict import LEAVING_OUT, Leftover, Verdict
from shiq.columns.arrays import Columns, Ints, ReadCounter, insertion_points, is_in, take
from shiq.columns.rows import DIFFERENT, SAME, term_key
from shiq.errors import BUILD_ANEW, StoreError
from shiq.jobs.store.files import MANIFEST, read_json
from shiq.jobs.store.left_out import read_left_out
from shiq.jobs.store.manifest import (
    ASIDE,
    LEFT_OUT,
    TERM_LABELS,
    Certificate,
    Manifest,
    TableVersion,
    kept_manifests,
    manifest_at,
    read_manifest,
)
from shiq.jobs.store.schema import COMPLETION, KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.jobs.store.table import DecodedGroups, ParquetTable
from shiq.jobs.store.verify import check_sizes
from shiq.model import Literal
from shiq.model.abox import ABox, ClassRows, DataRows, Interner, Pairs, RoleRows, int_array
from shiq.model.as_json import decode
from shiq.remote.place import StoreLocation
from shiq.support import cached_method

if TYPE_CHECKING:
    from shiq.inputs.reading import QuarantinedAssertion


def open_store(path: StoreLocation, snapshot: int | None = None, *, older: bool = False) -> Store:
    """Open the present snapshot of a store, or an older one that it keeps."""
    stamp = _manifest_stamp(path)
    manifest = read_manifest(path, older=older)
    if snapshot is not None and snapshot != manifest.snapshot:
        manifest = manifest_at(path, manifest, snapshot)
    if isinstance(path, Path):
        check_sizes(path, manifest)
    return Store(path, manifest, stamp)


def reopen_if_changed(store: Store) -> Store:
    """Open the present snapshot of the store if its manifest has changed on disk; otherwise return
    ``store`` itself. Without a change this costs one look at a directory entry.
    """
    if store.stamp and store.stamp == _manifest_stamp(store.path):
        return store
    present = open_store(store.path)
    if present.manifest != store.manifest:
        return present
    store.stamp = present.stamp
    return store


def _manifest_stamp(path: StoreLocation) -> tuple[int | str, ...]:
    """Stamp that changes with the manifest at ``path``: its inode, size and time, or its version in
    an object store; () if there is no manifest.
    """
    if not isinstance(path, Path):
        found = path.version_stamp(MANIFEST)
        return (found,) if found else ()
    try:
        told = (path / MANIFEST).stat()
    except OSError:
        return ()
    return told.st_ino, told.st_size, told.st_mtime_ns


class _NoTables(dict[str, ParquetTable]):
    """Tables of a store that was closed or replaced by a commit; every access is an error."""

    def __missing__(self, name: str) -> ParquetTable:
        told = "What a result tells of it (`Result.a_add`) is read while the session is open, and before it commits."
        raise StoreError(f"the table {name} is not read: the store is closed", told)


class Store:
    """One open snapshot of a store.

    reads: counts of what was fetched from its tables.
    """

    def __init__(
        self, path: StoreLocation, manifest: Manifest, stamp: tuple[int | str, ...] = ()
    ) -> None:
        self.path = path
        self.stamp = stamp
        self.manifest = manifest
        self.reads = ReadCounter()
        self._decoded: DecodedGroups = {}
        self._tables: dict[str, ParquetTable] = {
            name: self.table_of(name, manifest.tables[name]) for name in manifest.tables
        }

    def __len__(self) -> int:
        """Number of distinct assertions, |A|."""
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
        """Close the files; the store cannot be used afterwards."""
        self._tables = _NoTables()

    @property
    def certificate(self) -> Certificate | None:
        """Certificate of this snapshot; None if it has none. A certificate about another TBox or
        snapshot is returned with the verdict `undetermined`.
        """
        found = self.manifest.certificate
        if found is None or (found.tbox_hash, found.snapshot) == (self.tbox_hash, self.snapshot):
            return found
        what = "snapshot" if found.tbox_hash == self.tbox_hash else "TBox"
        reason = f"the certificate in the store is about another {what} than the store holds"
        return replace(found, verdict=Verdict.UNDETERMINED, reason=reason)

    @property
    def snapshot(self) -> int:
        """Number of the snapshot."""
        return self.manifest.snapshot

    @property
    def tbox_hash(self) -> str:
        """Hash of the TBox."""
        return self.manifest.tbox_hash

    @property
    def identity(self) -> tuple[str, int]:
        """Pair (id of the store's build, snapshot number), unique among all snapshots of all
        stores.
        """
        return self.manifest.identity, self.manifest.snapshot

    @property
    def ontologies(self) -> frozenset[str]:
        """IRIs of the TBox's ontologies, which a batch may import."""
        return frozenset(self.manifest.facts.get("ontologies", ()))

    @cached_property
    def tbox(self) -> owl.TBox:
        """TBox of the store."""
        found = decode(self._read_document("tbox"))
        if not isinstance(found, owl.TBox):
            raise StoreError(
                f"{self.path}: the TBox is damaged",
                f"Build the store again: {BUILD_ANEW}.",
                self.path,
            )
        return found

    @cached_property
    def term_labels(self) -> dict[str, str]:
        """Labels of the TBox's terms, by IRI; empty for a store without them."""
        return (
            dict(self._read_document(TERM_LABELS)) if TERM_LABELS in self.manifest.documents else {}
        )

    @cached_property
    def leftovers(self) -> tuple[Leftover, ...]:
        """Statements that were not interpreted when the store was built or extended."""
        return tuple(map(decode, self._read_document("leftovers")))

    @cached_property
    def quarantine(self) -> tuple[QuarantinedAssertion, ...]:
        """Quarantine ledger: the assertions that were set aside because they contradict A."""
        if ASIDE not in self.manifest.documents:
            return ()
        from shiq.inputs.reading import QuarantinedAssertion

        return tuple(map(QuarantinedAssertion.from_dict, self._read_document(ASIDE)))

    @property
    def tbox_leftovers(self) -> tuple[Leftover, ...]:
        """Leftovers that are known to come from the TBox."""
        return self.leftovers[: self.manifest.facts.get("tbox_leftovers", 0)]

    @property
    def data_leftovers(self) -> tuple[Leftover, ...]:
        """Leftovers that do not come from the TBox."""
        return self.leftovers[len(self.tbox_leftovers) :]

    def left_out(self, *, unasked: bool = True) -> Iterator[Leftover]:
        """Iterate over the statements of the data that are not in A because they were not
        understood.

        unasked: also those that are outside SHIQ(D) and allowed

        Raises: StoreError.
        """
        yield from read_left_out(self.path, self.manifest.documents)
        yield from self._unasked_leftovers if unasked else ()

    @property
    def left_out_counts(self) -> tuple[dict[str, int], int]:
        """Number of left-out statements (those not understood) by kind, and how many of them were
        counted without being recorded.
        """
        told = self.manifest.facts.get(LEFT_OUT, {})
        counts = Counter[str](told.get("counts", {}))
        for leftover in self._unasked_leftovers:
            counts[leftover.kind] += leftover.number
        return dict(sorted(counts.items())), told.get("unkept", 0)

    @property
    def _unasked_leftovers(self) -> Iterator[Leftover]:
        """Leftovers of the data that the certificate allows, without any reasoner having been asked
        about them.
        """
        allowed = self.certificate.allowed if self.certificate else ()
        return (
            x
            for x in self.data_leftovers
            if x.values and x.kind in LEAVING_OUT and x.kind in allowed and not x.asked
        )

    @property
    def read_properties(self) -> frozenset[str]:
        """Object and data properties for which the data was read; assertions on other properties
        are not in the store.
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
        """Parts of the index that are in no table (`shiq.jobs.store.upkeep.build.index_document`)."""
        return self._read_document("index")

    def table(self, name: str) -> ParquetTable:
        """Return the table ``name`` (see `shiq.jobs.store.schema`), opened."""
        return self._tables[name]

    @property
    def is_completed(self) -> bool:
        """Whether the store holds a certified model of its content."""
        return set(COMPLETION) <= set(self.manifest.tables)

    @property
    def class_counts(self) -> Ints:
        """Number of class assertions of each class, by the class's number."""
        return np.array(self.manifest.facts["class_counts"], np.int64)

    def table_of(self, name: str, version: TableVersion) -> ParquetTable:
        """Open the given ``version`` of the table ``name``."""
        return ParquetTable(name, self.path, version, self.reads, self._decoded)

    # --- dictionaries -----------------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[str]:
        """IRIs of the classes that occur in assertions; the position is the class's number."""
        return self._read_names(KIND_CLASS)

    @cached_property
    def object_properties(self) -> list[str]:
        """IRIs of the object properties that occur in assertions; the position is the property's
        number.
        """
        return self._read_names(KIND_OBJECT_PROPERTY)

    @cached_property
    def data_properties(self) -> list[str]:
        """IRIs of the data properties that occur in assertions; the position is the property's
        number.
        """
        return self._read_names(KIND_DATA_PROPERTY)

    def _read_names(self, kind: int) -> list[str]:
        """IRIs of the classes, object properties or data properties (``kind``); the position is the
        number.
        """
        rows = self.table("names").rows_of(np.array([kind], np.int64))
        names = [""] * len(rows["id"])
        for i, iri in zip(rows["id"].tolist(), rows["iri"].to_pylist()):
            names[i] = iri
        return names

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """Look up the node (numeric id) of each individual in ``terms``; -1 for unknown ones."""
        hashes = term_key(terms)
        found = self.table("terms").rows_of(hashes)
        nodes = np.full(len(terms), -1, np.int64)
        if not len(found["hash"]):
            return nodes
        first = insertion_points(found["hash"], hashes)
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
        """Look up the individual (IRI or blank node) of each of ``nodes``."""
        rows = self.table("individuals").rows_of(nodes)
        return [
            str(term)
            for term in take(
                rows["term"], _find_positions(rows["node"], nodes, self.path)
            ).to_pylist()
        ]

    def literals_of(self, literals: Ints) -> list[owl.Literal]:
        """Look up the literals with these ids."""
        rows = self.table("literals").rows_of(literals)
        wanted = _find_positions(rows["literal"], literals, self.path)
        parts = (
            take(rows[name], wanted).to_pylist() for name in ("lexical", "datatype", "language")
        )
        return [owl.Literal(*part) for part in zip(*parts)]

    @cached_method
    def vocabulary(self) -> frozenset[str]:
        """Classes and properties that occur in assertions; those that occurred only in deleted ones
        may be included.

        Cost: the names, and the complex assertions if there are any.
        """
        # Loaded where something is outside SHIQ(D).
        from shiq.simplify.locality import names_of

        complex_ = names_of(complex_assertions(self.table("complex").all()).values())
        names = *self.classes, *self.object_properties, *self.data_properties
        return frozenset((*names, *complex_))

    # --- the assertions ---------------------------------------------------------------------------

    def export(self) -> Iterator[owl.Assertion]:
        """Iterate over all assertions of A, each once: class, role, data, same, different, complex;
        by node within each kind.

        Cost: one scan; the terms are held in memory, literals are not.
        """
        terms = self._read_all_terms()
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
        """Iterate over equalities, inequalities and complex assertions. ``terms``: individuals by
        node.
        """
        pairs = self.table("pairs").all()
        for kind, make in ((SAME, owl.SameIndividual), (DIFFERENT, owl.DifferentIndividuals)):
            told = pairs["kind"] == kind
            for node, neighbour in zip(
                pairs["node"][told].tolist(), pairs["neighbour"][told].tolist()
            ):
                yield make(terms[node], terms[neighbour])
        yield from complex_assertions(self.table("complex").all()).values()

    def _read_all_terms(self) -> list[str]:
        """Read the names of all individuals into a list by node number; None at numbers that are
        not in use.
        """
        rows = self.table("individuals").all()
        if not len(rows["node"]):
            return []
        terms = np.full(int(rows["node"].max()) + 1, None, object)
        terms[rows["node"]] = rows["term"].to_pylist()
        return list(terms)

    def _read_document(self, name: str) -> Any:
        """Read a JSON document of the snapshot."""
        return read_json(self.path, self.manifest.documents[name])


def status(store: Store) -> dict[str, Any]:
    """Describe ``store`` as JSON: snapshot, certificate, counts, tables and files."""
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
        "taken": dict(manifest.applied_batches),
        "set_aside": dict(Counter(aside.why for aside in store.quarantine)),
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
            for past in kept_manifests(store.path, manifest)
        ],
    }


def complex_assertions(rows: Columns) -> dict[int, owl.Assertion]:
    """Decode the complex assertions in ``rows`` of the table ``complex``, each once, by its ordinal
    number.
    """
    texts = dict(zip(rows["ordinal"].tolist(), rows["value"].to_pylist()))
    return {ordinal: decode(json.loads(texts[ordinal])) for ordinal in sorted(texts)}


def _find_positions(keys: Ints, wanted: Ints, store: StoreLocation) -> Ints:
    """Position of each key in ``wanted`` among the ascending ``keys``. Raises: StoreError if one is
    missing.
    """
    found = insertion_points(keys, wanted)
    if len(wanted) and (not len(keys) or np.any(keys[np.minimum(found, len(keys) - 1)] != wanted)):
        raise StoreError(
            f"{store}: the store names something that its dictionary does not hold",
            f"Build it again: {BUILD_ANEW}.",
            store,
        )
    return found


# Content of a store as an `ABox`, for code that needs all of A.


def stored_abox(store: Store) -> ABox:
    """Read A into memory as an `ABox`, each assertion once. Individuals, names and literals without
    assertions are dropped.
    """
    individuals = store.table("individuals").all()
    nodes: Ints = individuals["node"]
    order = np.argsort(nodes)

    def place(of: Ints) -> Ints:
        return order[np.searchsorted(nodes, of, sorter=order)]

    classes = store.table("class_assertions").all()
    edges = store.table("half_edges").all()
    forward = edges["role"] % 2 == 0
    data = store.table("data_assertions").all()
    pairs = store.table("pairs").all()
    class_names, class_name = _used_names(store.classes, classes["class"])
    roles, role = _used_names(store.object_properties, edges["role"][forward] // 2)
    properties, property_ = _used_names(store.data_properties, data["property"])
    literals, literal = _used_literals(store, data["literal"])

    class_rows = place(classes["node"]), class_name
    role_rows = place(edges["node"][forward]), role, place(edges["neighbour"][forward])
    data_rows = place(data["node"]), property_, literal

    def pairs_of(kind: int) -> Pairs:
        told = pairs["kind"] == kind
        return Pairs(
            int_array(place(pairs["node"][told])), int_array(place(pairs["neighbour"][told]))
        )

    return ABox(
        individuals=list(map(str, individuals["term"].to_pylist())),
        classes=class_names,
        object_properties=roles,
        data_properties=properties,
        literals=literals,
        class_rows=ClassRows(*map(int_array, class_rows)),
        role_rows=RoleRows(*map(int_array, role_rows)),
        data_rows=DataRows(*map(int_array, data_rows)),
        same=tuple(pairs_of(SAME)),
        different=pairs_of(DIFFERENT),
        complex=tuple(complex_assertions(store.table("complex").all()).values()),
    )


def _used_names(names: Sequence[str], column: Ints) -> tuple[list[str], Ints]:
    """Select the ``names`` whose numbers occur in ``column``. Returns them, and ``column`` with
    their new numbers.
    """
    used, place = np.unique(column, return_inverse=True)
    return [names[i] for i in used.tolist()], place


def _used_literals(store: Store, column: Ints) -> tuple[list[Literal], Ints]:
    """Read the literals whose ids occur in ``column``, each once. Returns them, and ``column`` with
    their new numbers.
    """
    used, place = np.unique(column, return_inverse=True)
    known: Interner[Literal] = Interner()
    number = np.fromiter(map(known.intern, store.literals_of(used)), np.int64, len(used))
    return known.values, number[place]

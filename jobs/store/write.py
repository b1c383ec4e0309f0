"""Publish a new snapshot of a store, or replace its certificate.

Tables and documents are written first. The manifest that names them is replaced last, in one step.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from shiq.answers.verdict import Leftover
from shiq.errors import StoreError
from shiq.inputs.reading import QuarantinedAssertion, select_unread_summaries
from shiq.jobs.store.files import (
    LOCK,
    MANIFEST,
    TABLES,
    DataFile,
    hold_write_lock,
    report_store_errors,
    sync_directory,
    write_json,
)
from shiq.jobs.store.left_out import add_left_out
from shiq.jobs.store.lookup import lookup_path
from shiq.jobs.store.manifest import (
    APPLIED_BATCHES,
    ASIDE,
    DOCUMENTS,
    LOOKUPS,
    REMOVED,
    SNAPSHOTS,
    TERM_LABELS,
    Certificate,
    Manifest,
    TableVersion,
    kept_manifests,
    read_manifest,
    tbox_hash,
    write_kept_manifest,
    write_manifest,
)
from shiq.jobs.store.read import Store, open_store
from shiq.jobs.store.replacing import BUILDING, Replacement, refuse_other_content
from shiq.model import TBox
from shiq.model.as_json import encode
from shiq.remote.place import StoreLocation, remove_file


@dataclass(frozen=True)
class AssertionCounts:
    """Numbers of assertions in a store: by kind, in total, and by class number."""

    class_assertions: int
    role_assertions: int
    data_assertions: int
    assertions: int
    class_counts: list[int]


@dataclass(frozen=True)
class Rebuild:
    """Writer of a snapshot with entirely new tables, for a new store or in place of the one that is
    there.

    old: the snapshot that `finish` replaces, if any.
    keeps: keep ``old`` and its predecessors behind the new one.
    labels: of the TBox's terms.
    width: individuals in a range of the tables; None: as in ``old``.
    stamp: version of the replaced manifest in an object store.
    taken: batch numbers by feed, merged with those of ``old``.
    read_properties: properties that the data was read for; None: those of the TBox.
    """

    path: StoreLocation
    tbox: TBox
    tbox_hash: str
    old: Manifest | None
    ontologies: tuple[str, ...] = ()
    keeps: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    width: int | None = None
    stamp: str = ""
    applied_batches: Mapping[str, int] = field(default_factory=dict)
    read_properties: Iterable[str] | None = None

    @property
    def range_size(self) -> int | None:
        """Number of individuals in a range of the tables; None: the default."""
        return self.width or (self.old.range_size if self.old and self.keeps else None)

    def unfinished_manifest(
        self, tables: Mapping[str, TableVersion], counts: AssertionCounts
    ) -> Manifest:
        """Make a manifest of the tables written so far, to read them before the snapshot is
        published.
        """
        return Manifest(
            snapshot=self.old.snapshot + 1 if self.old else 1,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            assertions=counts.assertions,
            tbox_hash=self.tbox_hash,
            tables=tables,
            documents={},
            facts={
                "individuals": sum(file.rows for file in tables["individuals"].files)
                if "individuals" in tables
                else 0,
                **asdict(counts),
                "ontologies": list(self.ontologies),
                **({"range_size": self.range_size} if self.range_size else {}),
            },
            identity=uuid.uuid4().hex,
            stamp=self.stamp,
        )

    def finish(
        self,
        tables: Mapping[str, TableVersion],
        index_document: Mapping[str, object],
        counts: AssertionCounts,
        *,
        leftovers: Iterable[Leftover] = (),
        tbox_leftovers: Iterable[Leftover] = (),
        certificate: Certificate | None = None,
        asides: Iterable[QuarantinedAssertion] | None = None,
        left_out: Iterable[Leftover] | None = None,
    ) -> Store:
        """Publish the snapshot of ``tables`` and open it.

        tbox_leftovers: leftovers of the TBox, where they are known apart from ``leftovers``.
        asides: ledger; None: as in the kept snapshots.
        left_out: leftovers in full, added to those of kept snapshots; None: summaries of
            ``leftovers``.
        """
        path, of_tbox = self.path, tuple(tbox_leftovers)
        of_a = tuple(leftovers)
        left_over = (*of_tbox, *of_a)
        require_same_tbox(certificate, path, self.tbox)
        manifest = self.unfinished_manifest(tables, counts)
        facts = {name: fact for name, fact in manifest.facts.items() if name != "assertions"}
        if left_out is None:
            left_out = () if self.old and self.keeps else select_unread_summaries(of_a)
        files, told = add_left_out(path, self.old if self.keeps else None, left_out)
        manifest = replace(
            manifest,
            documents={
                "tbox": write_document(path, "tbox", encode(self.tbox)),
                "leftovers": write_document(
                    path, "leftovers", [encode(leftover) for leftover in left_over]
                ),
                "index": write_document(path, "index", index_document),
                **self._quarantine_documents(asides),
                **files,
                **(
                    {TERM_LABELS: write_document(path, TERM_LABELS, dict(self.labels))}
                    if self.labels
                    else {}
                ),
            },
            certificate=stamped_certificate(
                certificate, self.tbox_hash, manifest.snapshot, left_over
            ),
            facts={
                **self._unreferenced_fact(),
                **self._applied_fact(),
                **facts,
                **told,
                "tbox_leftovers": len(of_tbox),
                "read_properties": self._read_properties(),
            },
            before=write_kept_manifest(path, self.old) if self.old and self.keeps else None,
        )
        if self.old and not self.keeps:
            publish_and_expire(path, manifest, self.old)
        else:
            write_manifest(path, manifest)
        return open_store(path)

    def _quarantine_documents(
        self, asides: Iterable[QuarantinedAssertion] | None
    ) -> dict[str, DataFile]:
        """Quarantine ledger of the new snapshot as a document: ``asides``, or the ledger of the
        kept snapshots if None.
        """
        if asides is not None:
            return quarantine_document(self.path, asides)
        held = self.old.documents.get(ASIDE) if self.old and self.keeps else None
        return {ASIDE: held} if held else {}

    def _unreferenced_fact(self) -> dict[str, Any]:
        """Fact for the new manifest, copied from the old one: since when files are without
        reference.
        """
        return (
            {UNREFERENCED_SINCE: self.old.facts[UNREFERENCED_SINCE]}
            if self.old and UNREFERENCED_SINCE in self.old.facts
            else {}
        )

    def _applied_fact(self) -> dict[str, Any]:
        """Fact about the last batch applied from each feed, for the new manifest."""
        taken = (
            self.old.merge_applied_batches(self.applied_batches)
            if self.old and self.keeps
            else self.applied_batches
        )
        return {APPLIED_BATCHES: taken} if taken else {}

    def _read_properties(self) -> list[str]:
        """Properties for which the data was read; assertions on other properties were not stored."""
        if self.old and self.keeps:
            return list(self.old.facts.get("read_properties", ()))
        if self.read_properties is not None:
            return sorted(self.read_properties)
        return sorted(self.tbox.signature.object_properties | self.tbox.signature.data_properties)


@contextmanager
def open_rebuild(
    path: StoreLocation,
    tbox: TBox,
    ontologies: Iterable[str] = (),
    *,
    keeps: bool = False,
    labels: Mapping[str, str] | None = None,
    place: Replacement | None = None,
) -> Iterator[Rebuild]:
    """Context manager: hold the writer lock and start a new snapshot about ``tbox``.

    keeps: keep the earlier snapshots. place: what was at ``path`` before, which must still be
        there.

    Raises: StoreError if ``path`` holds something else, or another writer is active.
    """
    refuse_other_content(path)
    if isinstance(path, Path):
        with report_store_errors(path):
            path.mkdir(parents=True, exist_ok=True)
    with hold_write_lock(path):
        stamp = "" if isinstance(path, Path) else path.version_stamp(MANIFEST)
        if place is not None:
            place.confirm()
        old = None
        with suppress(StoreError):  # it is damaged, or of another format
            old = read_manifest(path)
        if isinstance(path, Path):
            (path / TABLES).mkdir(exist_ok=True)
            sync_directory(path)
        else:
            path.check_conditional_writes(LOCK)
        yield Rebuild(
            path,
            tbox,
            tbox_hash(tbox),
            old,
            tuple(sorted(ontologies)),
            keeps,
            labels or {},
            stamp=stamp,
        )


def require_same_tbox(certificate: Certificate | None, path: StoreLocation, tbox: TBox) -> None:
    """Refuse a certificate about another TBox. Raises: StoreError."""
    if certificate is not None and certificate.tbox_hash not in ("", tbox_hash(tbox)):
        raise StoreError(
            f"{path}: the certificate is about another TBox",
            "Certify this TBox with this ABox first.",
        )


def certify(
    path: StoreLocation, certificate: Certificate | None, *, checked: tuple[str, int] | None = None
) -> Store:
    """Replace the certificate of a store in one step and open the store; None removes it.

    checked: `Store.identity` that was certified, None for any.

    Raises: StoreError if the store has changed, the certificate is about another TBox or snapshot,
        or another writer is active.
    """
    read_manifest(path)
    with hold_write_lock(path):
        manifest = read_manifest(path)
        require_unchanged(path, manifest, checked)
        if certificate is not None:
            if certificate.tbox_hash not in (
                "",
                manifest.tbox_hash,
            ) or certificate.snapshot not in (0, manifest.snapshot):
                raise StoreError(
                    f"{path}: the certificate is about another TBox or snapshot than the store holds",
                    "The store was changed meanwhile: certify it again.",
                )
        left_over = open_store(path).leftovers
        now = stamped_certificate(certificate, manifest.tbox_hash, manifest.snapshot, left_over)
        write_manifest(path, replace(manifest, certificate=now))
        return open_store(path)


def require_unchanged(
    path: StoreLocation, present: Manifest | None, checked: tuple[str, int] | None
) -> None:
    """Refuse a store that is not in the state ``checked`` (build id and snapshot; None: any).
    Raises: StoreError.
    """
    if checked is not None and (present is None or (present.identity, present.snapshot) != checked):
        by_now = f" (it holds snapshot {present.snapshot} by now)" if present else ""
        raise StoreError(
            f"{path}: the store was changed since it was checked{by_now}", "Run the same again."
        )


def stamped_certificate(
    certificate: Certificate | None, tbox_hash: str, snapshot: int, leftovers: tuple[Leftover, ...]
) -> Certificate | None:
    """Complete ``certificate`` (None stays None) with the hash of the TBox, the snapshot number,
    and the numbers of ``leftovers`` by kind.
    """
    if certificate is None:
        return None
    counts = Counter[str]()
    for leftover in leftovers:
        counts[leftover.kind] += leftover.number
    known = dict(sorted(counts.items()))
    return replace(
        certificate, tbox_hash=tbox_hash, snapshot=snapshot, leftovers=tuple(known), counts=known
    )


def write_document(store: StoreLocation, name: str, value: object) -> DataFile:
    """Write ``value`` as a JSON document of a snapshot."""
    return write_json(store, DOCUMENTS, name, value)


def quarantine_document(
    store: StoreLocation, asides: Iterable[QuarantinedAssertion]
) -> dict[str, DataFile]:
    """Write the quarantine ledger as a JSON document. Returns it by its name; empty without rows."""
    rows = [aside.to_dict() for aside in asides]
    return {ASIDE: write_document(store, ASIDE, rows)} if rows else {}


#: Seconds for which files that no snapshot needs any more are kept for readers that opened one
#: before.
GRACE_SECONDS = 7 * 24 * 3600.0
#: The fact of a manifest that says since when no snapshot has needed a file.
UNREFERENCED_SINCE = "released"


def publish_and_expire(store: StoreLocation, new: Manifest, old: Manifest) -> None:
    """Publish the manifest ``new`` in place of ``old``, which is not kept. Files that no kept
    manifest names are deleted after `GRACE_SECONDS`.
    """
    needed, before = _files_of(new), time.time() - GRACE_SECONDS
    new = _mark_unreferenced(
        store, new, set[str]().union(*map(_files_of, _readable_manifests(store, old))) - needed
    )
    write_manifest(store, new)
    ours = (DOCUMENTS, REMOVED, SNAPSHOTS, LOOKUPS, TABLES)
    files = (
        (
            (str(file.relative_to(store)), file.stat().st_mtime)
            for folder in ours
            for file in store.glob(f"{folder}/**/*")
            if file.is_file()
        )
        if isinstance(store, Path)
        else store.files_with_times()
    )
    since = new.facts.get(UNREFERENCED_SINCE, {})
    for name, written in list(files):
        is_ours = name.partition("/")[0] in (*ours, BUILDING)
        if is_ours and name not in needed and max(written, since.get(name, 0.0)) < before:
            remove_file(store, name)


def _mark_unreferenced(store: StoreLocation, new: Manifest, gone: set[str]) -> Manifest:
    """Record since when no snapshot names the files ``gone``: by their file times in a folder, by a
    fact in the manifest elsewhere.
    """
    if isinstance(store, Path):
        for name in sorted(gone):
            with suppress(FileNotFoundError):
                os.utime(store / name)
        return new
    now = time.time()
    since: dict[str, Any] = {
        name: at
        for name, at in new.facts.get(UNREFERENCED_SINCE, {}).items()
        if at >= now - 2 * GRACE_SECONDS
    }
    return replace(
        new, facts={**new.facts, UNREFERENCED_SINCE: {**dict.fromkeys(sorted(gone), now), **since}}
    )


def _readable_manifests(store: StoreLocation, manifest: Manifest) -> Iterator[Manifest]:
    """Iterate over ``manifest`` and the kept ones before it, as far as they are readable."""
    with suppress(StoreError):
        yield from kept_manifests(store, manifest)


def _files_of(manifest: Manifest) -> set[str]:
    """Paths of all files of a snapshot, within the store."""
    files = [file for table in manifest.tables.values() for file in table.all_files]
    others = [*manifest.documents.values(), *([manifest.before] if manifest.before else [])]
    return {file.path for file in (*files, *others)} | {
        lookup_path(file.path) for file in files if file.lookup
    }

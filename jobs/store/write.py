"""Putting a new snapshot in place, and replacing a certificate.

Tables and documents are written first; the manifest, which names them, is put in place last and
in one step.
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

from jobs.store.files import DataFile, sync_directory, writable, write_json
from jobs.store.left_out import add_left_out
from jobs.store.lock import LOCK, writing
from jobs.store.lookup import lookup_path
from jobs.store.manifest import (
    ASIDE,
    DOCUMENTS,
    LOOKUPS,
    MANIFEST,
    REMOVED,
    TABLES,
    TAKEN,
    TERM_LABELS,
    Certificate,
    Manifest,
    TableVersion,
    read_manifest,
    tbox_hash,
    write_manifest,
)
from jobs.store.read import Store, open_store
from jobs.store.replacing import BUILDING, Replacement, refuse_other_content
from jobs.store.snapshots import SNAPSHOTS, keep, kept
from shiq.aside import Aside
from shiq.errors import StoreError
from shiq.left_out import of_summaries
from shiq.model import TBox
from shiq.model_json import encode
from shiq.remote.place import Place
from shiq.verdict import Leftover


@dataclass(frozen=True)
class AssertionCounts:
    """Numbers of assertions in a store: of named classes, roles, data properties, in all; and of
    each class name.
    """

    class_assertions: int
    role_assertions: int
    data_assertions: int
    assertions: int
    class_counts: list[int]


@dataclass(frozen=True)
class Rebuild:
    """A store that is being written by this process. ``old`` is the snapshot that `finish`
    replaces, if there is one; ``keeps``: whether it, and those that it keeps, stay behind the
    new one; ``labels``: of the terms of the TBox; ``width``: individuals of a range of its
    tables, None for as many as the old snapshot has; ``stamp``: of what the manifest replaces;
    ``taken``: see `jobs.store.manifest.TAKEN`, beside those of the old snapshot;
    ``read_properties``: those that the data was read for, where these are not those of the TBox.
    """

    path: Place
    tbox: TBox
    tbox_hash: str
    old: Manifest | None
    ontologies: tuple[str, ...] = ()
    keeps: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    width: int | None = None
    stamp: str = ""
    taken: Mapping[str, int] = field(default_factory=dict)
    read_properties: Iterable[str] | None = None

    @property
    def range_size(self) -> int | None:
        """The individuals of a range, where that is not left to the default."""
        return self.width or (self.old.range_size if self.old and self.keeps else None)

    def unfinished(self, tables: Mapping[str, TableVersion], counts: AssertionCounts) -> Manifest:
        """A manifest of what is written so far, to read it by; it is not put in place."""
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
        asides: Iterable[Aside] | None = None,
        left_out: Iterable[Leftover] | None = None,
    ) -> Store:
        """Puts the snapshot of ``tables`` in the place of the old one, and opens it.
        ``tbox_leftovers``: those of reading the TBox, as far as they are told apart from the
        others; ``asides``: what is set aside (None: as before, by the snapshots that are kept);
        ``left_out``: what comes to what these left out (None: ``leftovers``, which only count
        some).
        """
        path, of_tbox = self.path, tuple(tbox_leftovers)
        of_a = tuple(leftovers)
        left_over = (*of_tbox, *of_a)
        about(certificate, path, self.tbox)
        manifest = self.unfinished(tables, counts)
        facts = {name: fact for name, fact in manifest.facts.items() if name != "assertions"}
        if left_out is None:
            left_out = () if self.old and self.keeps else of_summaries(of_a)
        files, told = add_left_out(path, self.old if self.keeps else None, left_out)
        manifest = replace(
            manifest,
            documents={
                "tbox": write_document(path, "tbox", encode(self.tbox)),
                "leftovers": write_document(
                    path, "leftovers", [encode(leftover) for leftover in left_over]
                ),
                "index": write_document(path, "index", index_document),
                **self._asides(asides),
                **files,
                **(
                    {TERM_LABELS: write_document(path, TERM_LABELS, dict(self.labels))}
                    if self.labels
                    else {}
                ),
            },
            certificate=issued(certificate, self.tbox_hash, manifest.snapshot, left_over),
            facts={
                **self._released(),
                **self._taken(),
                **facts,
                **told,
                "tbox_leftovers": len(of_tbox),
                "read_properties": self._read_properties(),
            },
            before=keep(path, self.old) if self.old and self.keeps else None,
        )
        if self.old and not self.keeps:
            succeed(path, manifest, self.old)
        else:
            write_manifest(path, manifest)
        return open_store(path)

    def _asides(self, asides: Iterable[Aside] | None) -> dict[str, DataFile]:
        if asides is not None:
            return aside_document(self.path, asides)
        held = self.old.documents.get(ASIDE) if self.old and self.keeps else None
        return {ASIDE: held} if held else {}

    def _released(self) -> dict[str, Any]:
        return (
            {RELEASED: self.old.facts[RELEASED]} if self.old and RELEASED in self.old.facts else {}
        )

    def _taken(self) -> dict[str, Any]:
        taken = self.old.taken_with(self.taken) if self.old and self.keeps else self.taken
        return {TAKEN: taken} if taken else {}

    def _read_properties(self) -> list[str]:
        """The object and data properties of the TBox that the data was first read with, by the
        snapshots that are kept: what was said by others is not in the store.
        """
        if self.old and self.keeps:
            return list(self.old.facts.get("read_properties", ()))
        if self.read_properties is not None:
            return sorted(self.read_properties)
        return sorted(self.tbox.signature.object_properties | self.tbox.signature.data_properties)


@contextmanager
def rebuilding(
    path: Place,
    tbox: TBox,
    ontologies: Iterable[str] = (),
    *,
    keeps: bool = False,
    labels: Mapping[str, str] | None = None,
    place: Replacement | None = None,
) -> Iterator[Rebuild]:
    """Holds the writer's lock of the store at ``path``, which is made if there is none, for a
    new snapshot about ``tbox``. ``keeps``: whether the snapshots that the store has stay behind
    it; ``labels``: of the terms of ``tbox``; ``place``: what was found at ``path`` before, which
    has to be there still.

    Raises: StoreError if ``path`` holds something else, or another writer is at work.
    """
    _claim(path)
    with writing(path):
        stamp = "" if isinstance(path, Path) else path.stamp(MANIFEST)
        if place is not None:
            place.confirm()
        old = _previous(path)
        if isinstance(path, Path):
            (path / TABLES).mkdir(exist_ok=True)
            sync_directory(path)
        else:
            path.tried(LOCK)
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


def about(certificate: Certificate | None, path: Place, tbox: TBox) -> None:
    if certificate is not None and certificate.tbox_hash not in ("", tbox_hash(tbox)):
        raise StoreError(
            f"{path}: the certificate is about another TBox",
            "Certify this TBox with this ABox first.",
        )


def certify(
    path: Place, certificate: Certificate | None, *, checked: tuple[str, int] | None = None
) -> Store:
    """The store at ``path`` with this ``certificate``, which replaces the old one in one step;
    None takes it away.

    ``checked``: the `Store.identity` that was certified, if it matters. Raises: StoreError if
    the store is another by now, the certificate is about another TBox or snapshot than it holds
    (0 stands for the present one), or another writer is at work.
    """
    read_manifest(path)
    with writing(path):
        manifest = read_manifest(path)
        unchanged(path, manifest, checked)
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
        now = issued(certificate, manifest.tbox_hash, manifest.snapshot, left_over)
        write_manifest(path, replace(manifest, certificate=now))
        return open_store(path)


def unchanged(path: Place, present: Manifest | None, checked: tuple[str, int] | None) -> None:
    """Raises: StoreError if the store at ``path`` is not the one that was ``checked`` (None:
    whichever it is).
    """
    if checked is not None and (present is None or (present.identity, present.snapshot) != checked):
        by_now = f" (it holds snapshot {present.snapshot} by now)" if present else ""
        raise StoreError(
            f"{path}: the store was changed since it was checked{by_now}", "Run the same again."
        )


def issued(
    certificate: Certificate | None, tbox_hash: str, snapshot: int, leftovers: tuple[Leftover, ...]
) -> Certificate | None:
    """``certificate`` for this TBox, snapshot and leftovers."""
    if certificate is None:
        return None
    counts = Counter[str]()
    for leftover in leftovers:
        counts[leftover.kind] += leftover.number
    known = dict(sorted(counts.items()))
    return replace(
        certificate, tbox_hash=tbox_hash, snapshot=snapshot, leftovers=tuple(known), counts=known
    )


def _claim(path: Place) -> None:
    """Makes the directory of a store. Raises: StoreError where something else lives."""
    refuse_other_content(path)
    if isinstance(path, Path):
        with writable(path):
            path.mkdir(parents=True, exist_ok=True)


def _previous(path: Place) -> Manifest | None:
    """The manifest to be replaced; a store of another version, or damaged, is replaced as a whole."""
    try:
        return read_manifest(path)
    except StoreError:
        return None


def write_document(store: Place, name: str, value: object) -> DataFile:
    return write_json(store, DOCUMENTS, name, value)


def aside_document(store: Place, asides: Iterable[Aside]) -> dict[str, DataFile]:
    """The document of what is set aside, by its name; none where nothing is."""
    rows = [aside.to_dict() for aside in asides]
    return {ASIDE: write_document(store, ASIDE, rows)} if rows else {}


#: Seconds for which files that no snapshot needs any more are kept for readers that opened one
#: before.
KEPT = 7 * 24 * 3600.0
#: The fact of a manifest that says since when no snapshot has needed a file.
RELEASED = "released"


def succeed(store: Place, new: Manifest, old: Manifest) -> None:
    """Puts ``new`` in the place of ``old``, which is not kept, nor is what lies behind it. Their
    files stay for a week, for readers that opened them.
    """
    needed, before = _named(new), time.time() - KEPT
    new = _released(store, new, set[str]().union(*map(_named, _readable(store, old))) - needed)
    write_manifest(store, new)
    if isinstance(store, Path):
        for folder in (DOCUMENTS, REMOVED, SNAPSHOTS, LOOKUPS, TABLES):
            for file in store.glob(f"{folder}/**/*"):
                if (
                    file.is_file()
                    and str(file.relative_to(store)) not in needed
                    and file.stat().st_mtime < before
                ):
                    file.unlink()
        return
    since = new.facts[RELEASED]
    for name, put in list(store.names()):
        is_ours = name.partition("/")[0] in (
            DOCUMENTS,
            REMOVED,
            SNAPSHOTS,
            LOOKUPS,
            TABLES,
            BUILDING,
        )
        if is_ours and name not in needed and max(put, since.get(name, 0.0)) < before:
            store.remove(name)


def _released(store: Place, new: Manifest, gone: set[str]) -> Manifest:
    """``new``, and a note that from now on no snapshot needs the files ``gone``: the time that
    they carry in a folder, a fact of the manifest elsewhere.
    """
    if isinstance(store, Path):
        for name in sorted(gone):
            with suppress(FileNotFoundError):
                os.utime(store / name)
        return new
    now = time.time()
    since: dict[str, Any] = {
        name: at for name, at in new.facts.get(RELEASED, {}).items() if at >= now - 2 * KEPT
    }
    return replace(
        new, facts={**new.facts, RELEASED: {**dict.fromkeys(sorted(gone), now), **since}}
    )


def _readable(store: Place, manifest: Manifest) -> Iterator[Manifest]:
    """``manifest`` and those kept behind it, as far as they can be read."""
    with suppress(StoreError):
        yield from kept(store, manifest)


def _named(manifest: Manifest) -> set[str]:
    """The paths of the files of a snapshot, within its store."""
    files = [file for table in manifest.tables.values() for file in table.all_files]
    others = [*manifest.documents.values(), *([manifest.before] if manifest.before else [])]
    return {file.path for file in (*files, *others)} | {
        lookup_path(file.path) for file in files if file.lookup
    }

"""Manifest of a store: one small JSON file that names the snapshot's files, replaced in one step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from shiq.answers.verdict import Verdict
from shiq.errors import BUILD_ANEW, StoreError
from shiq.jobs.store.files import (
    DAMAGED,
    MANIFEST,
    TABLES,
    DataFile,
    read_json,
    stage_file,
    write_json,
)
from shiq.model import TBox
from shiq.model.as_json import encode
from shiq.remote.place import StoreLocation

#: A manifest that is being written.
UNFINISHED = MANIFEST + ".tmp"
FORMAT = "shiq-store"
#: The version that is read and written, and those of which `shiq export` and `shiq index
#: --from-store` read what A and T are, by Parquet files and documents. Version 2 has no look-up
#: files, 3 no digests but of documents, 4 no keys by which files are found, nor ranges; up to 6 a
#: commit writes a file for each table.
VERSION, OLDER = 7, (2, 3, 4, 5, 6)
#: From this version on, a manifest has a digest of itself, "" in those before.
_SEALED = 4
#: The folder of the look-up files, one for each data file (`shiq.jobs.store.lookup`).
LOOKUPS = "lookup"
#: The document of what belongs to the data and is set aside (`shiq.inputs.reading`).
ASIDE = "aside"
#: The folder of the documents.
DOCUMENTS = "documents"
#: The fact that says by feed which of its batches was taken in last.
APPLIED_BATCHES = "taken"
#: The documents of what was left out of the data when it was read, each with a number behind; and
#: what the facts say of it.
LEFT_OUT = "left-out"
#: The folder of the files that name rows which are no longer valid, in older versions.
REMOVED = "removed"
#: The document of the labels of the TBox's terms; not every store has it.
TERM_LABELS = "term-labels"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Verdict on a snapshot of a store, with what it was decided by.

    verdict, reason, reasoner: the decision. Only CONSISTENT makes the store a base for checks.
    date: ISO 8601.
    leftovers, counts: kinds of leftovers, and how many of each.
    allowed: kinds that were allowed; checks do not ask about these again.
    known: kinds that were waived.
    tbox_hash, snapshot: what it is about; "" and 0 are filled in when it is stored.
    """

    verdict: Verdict
    reasoner: str
    date: str
    reason: str = ""
    leftovers: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    tbox_hash: str = ""
    snapshot: int = 0
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    known: tuple[str, ...] = ()

    @staticmethod
    def create(
        *,
        verdict: Verdict | str,
        reasoner: str,
        reason: str = "",
        allowed: Iterable[str] = (),
        known: Iterable[str] = (),
    ) -> Certificate:
        """Make a certificate dated now. The store fills in the hash of the TBox and the number of
        the snapshot later.
        """
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return Certificate(
            Verdict(verdict), reasoner, date, reason, allowed=tuple(allowed), known=tuple(known)
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            **asdict(self),
            "verdict": self.verdict.value,
            "leftovers": list(self.leftovers),
            "allowed": list(self.allowed),
            "known": list(self.known),
        }

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Certificate:
        """Parse the JSON that `to_dict` makes."""
        tuples = {name: tuple(value.get(name, ())) for name in ("leftovers", "allowed", "known")}
        return Certificate(**{**value, **tuples, "verdict": Verdict(value["verdict"])})


@dataclass(frozen=True, slots=True)
class TableVersion:
    """Version of a table in one snapshot: the files that hold its rows.

    files: the first ``ranges`` of them are disjoint and ascending by key; the others are small,
        from commits, and may overlap.
    removed: file with the identities of rows that are no longer valid.
    """

    files: tuple[DataFile, ...]
    removed: DataFile | None = None
    ranges: int = 1

    @property
    def all_files(self) -> tuple[DataFile, ...]:
        """The table's data files and the file that names its removed rows."""
        return self.files if self.removed is None else (*self.files, self.removed)


@dataclass(frozen=True)
class Manifest:
    """Manifest of one snapshot of a store: its tables, documents, counts and certificate.

    tables: by name.
    documents: TBox, leftovers and index, by name.
    facts: counts that need no table.
    identity: of the store's build, the same for all its snapshots.
    before: file of the previous manifest, if it is kept (`shiq.jobs.store.manifest`).
    stamp: version of the manifest in an object store (`shiq.remote.bucket`), else empty.
    """

    snapshot: int
    created: str
    assertions: int
    tbox_hash: str
    tables: Mapping[str, TableVersion]
    documents: Mapping[str, DataFile]
    certificate: Certificate | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""
    before: DataFile | None = None
    stamp: str = field(default="", compare=False)

    @property
    def applied_batches(self) -> Mapping[str, int]:
        """Number of the last committed batch of each feed (a table or a streaming query whose
        batches are numbered).
        """
        return self.facts.get(APPLIED_BATCHES, {})

    def merge_applied_batches(self, taken: Mapping[str, int]) -> Mapping[str, int]:
        """Merge the batch numbers ``taken`` with the recorded ones; for each feed the greater
        number counts.
        """
        return {
            **self.applied_batches,
            **{
                feed: max(number, self.applied_batches.get(feed, number))
                for feed, number in taken.items()
            },
        }

    @property
    def range_size(self) -> int | None:
        """Number of individuals in one range of ids, whose rows of a table are one file; None if
        unknown.
        """
        return self.facts.get("range_size")


def tbox_hash(tbox: TBox) -> str:
    """Hash of a TBox: its vocabulary, and its axioms in order, since the order numbers the clauses."""
    tbox = replace(tbox, signature=replace(tbox.signature, declared=frozenset()))
    text = json.dumps(encode(tbox), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


#: What stands in the JSON of a manifest as it is.
_SCALARS = ("identity", "snapshot", "created", "assertions", "tbox_hash")


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """Convert ``manifest`` to JSON; `parse_manifest` reads it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(manifest, name) for name in _SCALARS},
        "certificate": manifest.certificate.to_dict() if manifest.certificate else None,
        "tables": {
            name: {
                "files": [_file_to_json(file) for file in table.files],
                "ranges": table.ranges,
                **({"removed": _file_to_json(table.removed)} if table.removed else {}),
            }
            for name, table in manifest.tables.items()
        },
        "documents": {name: _file_to_json(file) for name, file in manifest.documents.items()},
        "facts": dict(manifest.facts),
        **({"before": _file_to_json(manifest.before)} if manifest.before else {}),
    }


def write_manifest(store: StoreLocation, manifest: Manifest) -> None:
    """Replace the manifest in one durable step, with a digest of its own content."""
    text = json.dumps({"sha256": "", **manifest_json(manifest)}, indent=1)
    text = text.replace(_SHA256.format(""), _SHA256.format(_digest(text)), 1)
    if not isinstance(store, Path):
        store.compare_and_swap(MANIFEST, text, manifest.stamp)
        return
    with stage_file(store, MANIFEST, store / UNFINISHED) as temporary:
        temporary.write_text(text, encoding="utf-8")


#: The digest of a manifest, as it stands in it; it is taken with an empty one.
_SHA256 = '"sha256": "{}"'


def _digest(text: str) -> str:
    """SHA-256 of the manifest's text, which the manifest itself records."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(store: StoreLocation, *, older: bool = False) -> Manifest:
    """Read the manifest of ``store``. ``older``: accept older formats."""
    try:
        text, stamp = (
            _read_local_text(store) if isinstance(store, Path) else store.read_with_stamp(MANIFEST)
        )
        value = json.loads(text)
        if value["format"] != FORMAT:
            raise ValueError(value["format"])
    except FileNotFoundError as error:
        raise StoreError(
            f"{store}: there is no store here",
            "Build one with `shiq index --tbox T --store DIR ABOX…`.",
            store,
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{store / MANIFEST}: not the manifest of a store ({error!r})",
            f"Build the store again: {BUILD_ANEW}.",
            store,
        ) from error
    version = value.get("version")
    if version in OLDER and not older:
        raise StoreError(
            f"{store}: the store has format version {version}, which no command but export and index --from-store reads",
            f"Make one of the present version of it: shiq index --from-store {store} --store {store}.new",
            store,
        )
    if version not in (VERSION, *OLDER):
        raise StoreError(
            f"{store}: the store has format version {version}, this program reads {VERSION}",
            f"Build it again ({BUILD_ANEW}), or use the program that wrote it.",
            store,
        )
    try:
        told = value.get("sha256", "")
        if (
            value["version"] >= _SEALED
            and _digest(text.replace(_SHA256.format(told), _SHA256.format(""), 1)) != told
        ):
            raise ValueError("it is not as it was written")
        return parse_manifest(value, stamp)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{store / MANIFEST}: the manifest is damaged ({error})", DAMAGED, store
        ) from error


def _read_local_text(store: Path) -> tuple[str, str]:
    """Read the manifest's text from a folder. Returns it and an empty version stamp."""
    file = store / MANIFEST
    if not store.exists():
        raise FileNotFoundError
    if not store.is_dir():
        raise StoreError(
            f"{store}: not a store but a file",
            "Name the directory that `shiq index --store` wrote.",
        )
    if not file.exists():
        if (store / TABLES).exists():
            raise StoreError(
                f"{store}: the store was never finished",
                "Build it again: `shiq index --tbox T --store DIR ABOX…`; what is there is overwritten.",
                store,
            )
        raise StoreError(
            f"{store}: not a store, it has no {MANIFEST}",
            "Name the directory that `shiq index --store` wrote.",
        )
    return file.read_text(encoding="utf-8"), ""


def parse_manifest(value: Mapping[str, Any], stamp: str = "") -> Manifest:
    """Parse the JSON of a manifest of any readable format. ``stamp``: its version in an object
    store.
    """
    passed_over = {"lookup": 0, "lookup_digest": ""} if value["version"] in OLDER else {}
    return Manifest(
        **{name: value[name] for name in _SCALARS},
        tables={
            name: TableVersion(
                tuple(DataFile(**file | passed_over) for file in table["files"]),
                DataFile(**table["removed"]) if "removed" in table else None,
                table.get("ranges", 1),
            )
            for name, table in value["tables"].items()
        },
        documents={name: DataFile(**file) for name, file in value["documents"].items()},
        certificate=Certificate.from_dict(value["certificate"]) if value["certificate"] else None,
        facts=value["facts"],
        before=DataFile(**value["before"]) if "before" in value else None,
        stamp=stamp,
    )


def _file_to_json(file: DataFile) -> dict[str, Any]:
    """Convert the description of a file to JSON; fields with default values are left out."""
    return {
        field.name: value
        for field in fields(file)
        if (value := getattr(file, field.name)) != field.default
    }


# Kept snapshots: a chain in which each manifest names the file of the previous one.
#
# Snapshots share table files, so that a kept snapshot needs only its manifest. The chain begins in
# the present manifest, and is replaced together with it.


SNAPSHOTS = "snapshots"


def write_kept_manifest(store: StoreLocation, manifest: Manifest) -> DataFile:
    """Write ``manifest`` durably as a file that the next manifest can name as its predecessor
    (`Manifest.before`).
    """
    return write_json(store, SNAPSHOTS, str(manifest.snapshot), manifest_json(manifest))


def kept_manifests(store: StoreLocation, present: Manifest) -> Iterator[Manifest]:
    """Iterate over ``present`` and the manifests of older snapshots that the store keeps, latest
    first.

    Raises: StoreError if one is missing or damaged.
    """
    manifest = present
    yield manifest
    while manifest.before is not None:
        manifest = _read_kept_manifest(store, manifest.before)
        yield manifest


def manifest_at(store: StoreLocation, present: Manifest, snapshot: int) -> Manifest:
    """Find the manifest of the snapshot numbered ``snapshot``. Raises: StoreError, with the numbers
    of the kept snapshots.
    """
    known = []
    for manifest in kept_manifests(store, present):
        if manifest.snapshot == snapshot:
            return manifest
        known.append(manifest.snapshot)
    raise StoreError(
        f"{store}: snapshot {snapshot} is not kept; there are: {', '.join(map(str, reversed(known)))}",
        "Name one of these; `shiq status --store DIR` says more about them.",
        store,
    )


def _read_kept_manifest(store: StoreLocation, file: DataFile) -> Manifest:
    """Read the manifest of an older snapshot from its file. Raises: StoreError."""
    try:
        return parse_manifest(read_json(store, file))  # type: ignore[arg-type]
    except (StoreError, ValueError, KeyError, TypeError) as error:
        what = error.message if isinstance(error, StoreError) else f"{store / file.path}: {error}"
        raise StoreError(
            f"a snapshot that was kept cannot be read: {what}",
            "The present one is not concerned; `shiq compact --store DIR` lets the older ones go.",
            store,
        ) from error

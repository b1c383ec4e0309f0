"""Reading every file of a store to see whether it is as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobs.store.files import DAMAGED, DataFile, verify
from jobs.store.lookup import mapped
from jobs.store.manifest import Manifest, read_manifest
from jobs.store.schema import key_of
from jobs.store.snapshots import kept
from shiq.errors import StoreError

#: More damaged files than this are counted.
MOST_SHOWN = 100


@dataclass(frozen=True)
class VerifiedFiles:
    """Extent of a verification: how many ``files`` of a store, of how many ``bytes`` together, are as they were written."""

    files: int
    bytes: int


def verified(path: Path) -> VerifiedFiles:
    """Reads every file of the store at ``path``, those of kept snapshots too.

    Raises: StoreError, which names each damaged file.
    """
    files, size, faults = 0, 0, list[StoreError]()
    checked = set[tuple[str, DataFile]]()
    for manifest in _manifests(path, faults):
        for name, file in _files(manifest):
            if (name, file) in checked:
                continue
            checked.add((name, file))
            files, size = files + 1 + bool(file.lookup), size + file.bytes + file.lookup
            for is_whole in (partial(verify, path, file), partial(verify_lookup, path, file, name)):
                try:
                    is_whole()
                except StoreError as error:
                    faults.append(error)
    if faults:
        told = "\n  ".join(error.message for error in faults[:MOST_SHOWN])
        count = f"{len(faults):,} file{'s are' if len(faults) > 1 else ' is'} damaged or missing"
        raise StoreError(f"{path}: {count}:\n  {told}", DAMAGED)
    return VerifiedFiles(files, size)


def verify_lookup(store: Path, file: DataFile, table: str) -> None:
    """Raises: StoreError unless the look-up file of ``file``, of a ``table``, is as it was written, as far as that is known."""
    if file.lookup:
        blocks = mapped(store, file, key_of(table)).blocks
        if blocks is not None:
            blocks.all()


def _manifests(path: Path, faults: list[StoreError]) -> Iterator[Manifest]:
    try:
        yield from kept(path, read_manifest(path))
    except StoreError as error:
        faults.append(error)


def _files(manifest: Manifest) -> Iterator[tuple[str, DataFile]]:
    """The files of a snapshot, each with the table that it belongs to, or the document that it is."""
    for name, table in manifest.tables.items():
        yield from ((name, file) for file in table.all_files)
    yield from manifest.documents.items()

"""Verify every file of a store by reading it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shiq.errors import StoreError
from shiq.jobs.store.files import DAMAGED, MANIFEST, DataFile, damage_error, verify
from shiq.jobs.store.lookup import lookup_path, map_lookup_file
from shiq.jobs.store.manifest import Manifest, kept_manifests, read_manifest
from shiq.jobs.store.schema import key_of
from shiq.remote.place import StoreLocation

#: More damaged files than this are counted.
MOST_SHOWN = 100


@dataclass(frozen=True)
class VerifiedFiles:
    """Number and total bytes of the files verified."""

    files: int
    bytes: int


def verify_store(path: StoreLocation) -> VerifiedFiles:
    """Read every file of the store, kept snapshots included. Raises: StoreError."""
    files, size, faults = 0, 0, list[StoreError]()
    checked, whole = set[tuple[str, DataFile]](), set[str]()
    if not isinstance(path, Path):
        path.version_stamp(MANIFEST)
    for manifest in _kept_manifests(path, faults):
        for name, file in _snapshot_files(manifest):
            if (name, file) in checked:
                continue
            checked.add((name, file))
            is_new = file.path not in whole
            whole.add(file.path)
            if not isinstance(path, Path) and is_new:
                for told in (file.path, lookup_path(file.path)):
                    path.drop_cached(told)
            files, size = (
                files + is_new * (1 + bool(file.lookup)),
                size + is_new * file.bytes + file.lookup,
            )
            for is_whole in (
                *([partial(verify, path, file)] if is_new else []),
                partial(verify_lookup, path, file, name),
            ):
                try:
                    is_whole()
                except StoreError as error:
                    faults.append(error)
    if faults:
        told = "\n  ".join(error.message for error in faults[:MOST_SHOWN])
        count = f"{len(faults):,} file{'s are' if len(faults) > 1 else ' is'} damaged or missing"
        raise StoreError(f"{path}: {count}:\n  {told}", DAMAGED, path)
    return VerifiedFiles(files, size)


def check_sizes(path: Path, manifest: Manifest) -> None:
    """Check that every file of a snapshot exists and has its size. Raises: StoreError."""
    for name, (written, is_end) in _file_sizes(manifest).items():
        try:
            size = (path / name).stat().st_size
        except OSError:
            raise StoreError(f"{path / name}: the file is missing", DAMAGED, path) from None
        if size < written or (is_end and size != written):
            raise damage_error(
                path / name, f"it has {size:,} bytes and was written with {written:,}", path
            )


def _file_sizes(manifest: Manifest) -> dict[str, tuple[int, bool]]:
    """By path of each file of a snapshot: a number of bytes, and whether the file has exactly that
    length or at least that.

    The last part of a shared look-up file may belong to another snapshot.
    """
    files = [file for table in manifest.tables.values() for file in table.all_files]
    sizes = {file.path: (file.bytes, True) for file in [*files, *manifest.documents.values()]}
    for file in (file for file in files if file.lookup):
        name, end = lookup_path(file.path), file.lookup_at + file.lookup
        sizes[name] = (max(end, sizes.get(name, (0, False))[0]), not file.is_shared)
    return sizes


def verify_lookup(store: StoreLocation, file: DataFile, table: str) -> None:
    """Verify the look-up file of ``file``. Raises: StoreError."""
    if file.lookup:
        map_lookup_file(store, file, key_of(table)).blocks.verify_all()


def _kept_manifests(path: StoreLocation, faults: list[StoreError]) -> Iterator[Manifest]:
    """Iterate over the manifest and the kept older ones; an unreadable one is added to ``faults``."""
    try:
        yield from kept_manifests(path, read_manifest(path))
    except StoreError as error:
        faults.append(error)


def _snapshot_files(manifest: Manifest) -> Iterator[tuple[str, DataFile]]:
    """Iterate over the files of a snapshot, each with the name of its table or document."""
    for name, table in manifest.tables.items():
        yield from ((name, file) for file in table.all_files)
    yield from manifest.documents.items()

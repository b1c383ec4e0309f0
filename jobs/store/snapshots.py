"""Snapshots that are kept behind the present one: each manifest names the file that holds the
one before it.

The tables of a snapshot share their files with those of its neighbours, so that an old manifest,
a small file, is all that a kept snapshot needs of its own. Since the chain begins in the present
manifest, it is put in place, and let go, together with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.store.files import DataFile, read_json, write_json
from jobs.store.manifest import Manifest, manifest_json, manifest_of
from shiq.errors import StoreError
from shiq.remote.place import Place

SNAPSHOTS = "snapshots"


def keep(store: Place, manifest: Manifest) -> DataFile:
    """Writes ``manifest``, durably, where the next one can name it as `Manifest.before`."""
    return write_json(store, SNAPSHOTS, str(manifest.snapshot), manifest_json(manifest))


def kept(store: Place, present: Manifest) -> Iterator[Manifest]:
    """``present`` and the manifests of the snapshots kept before it, latest first.

    Raises: StoreError where one is missing or damaged.
    """
    manifest = present
    yield manifest
    while manifest.before is not None:
        manifest = _read(store, manifest.before)
        yield manifest


def manifest_at(store: Place, present: Manifest, snapshot: int) -> Manifest:
    """The manifest of a ``snapshot`` that is kept. Raises: StoreError, which says which ones
    are, for any other.
    """
    known = []
    for manifest in kept(store, present):
        if manifest.snapshot == snapshot:
            return manifest
        known.append(manifest.snapshot)
    raise StoreError(
        f"{store}: snapshot {snapshot} is not kept; there are: {', '.join(map(str, reversed(known)))}",
        "Name one of these; `shiq status --store DIR` says more about them.",
        store,
    )


def _read(store: Place, file: DataFile) -> Manifest:
    try:
        return manifest_of(read_json(store, file))  # type: ignore[arg-type]
    except (StoreError, ValueError, KeyError, TypeError) as error:
        what = error.message if isinstance(error, StoreError) else f"{store / file.path}: {error}"
        raise StoreError(
            f"a snapshot that was kept cannot be read: {what}",
            "The present one is not concerned; `shiq compact --store DIR` lets the older ones go.",
            store,
        ) from error

"""Prepare the location of a new store: find a store there, and decide by the verdict whether to
replace it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shiq.answers.verdict import Verdict
from shiq.errors import StoreError, UsageError
from shiq.jobs.checking.options import REPLACE_ALWAYS
from shiq.jobs.store.files import HISTORY, LOCK, MANIFEST, TABLES
from shiq.jobs.store.manifest import (
    DOCUMENTS,
    LOOKUPS,
    REMOVED,
    SNAPSHOTS,
    UNFINISHED,
    read_manifest,
)
from shiq.remote.place import StoreLocation, parse_location

#: What a build in many tasks leaves between its steps (`shiq.jobs.building`).
BUILDING = "building"


@dataclass(frozen=True)
class StandingStore:
    """Description of a store that is already at the location of a new one. All fields are empty if
    its manifest is unreadable.
    """

    identity: str = ""
    snapshot: int = 0
    verdict: Verdict | None = None

    def __str__(self) -> str:
        if not self.snapshot:
            return "a store that cannot be read"
        return f"snapshot {self.snapshot}, {'not certified' if self.verdict is None else self.verdict.value}"


@dataclass(frozen=True)
class Replacement:
    """Location of a new store, and the store that it would replace.

    standing: the store there now, if any. always: replace it whatever the verdict.
    """

    path: StoreLocation
    standing: StandingStore | None
    always: bool = False

    def refusal(self, verdict: Verdict) -> str:
        """Reason why a base with this ``verdict`` must not replace the store at the location; empty
        if it may.
        """
        if self.standing is None or self.always:
            return ""
        is_worse = verdict is Verdict.UNDETERMINED and self.standing.verdict is Verdict.CONSISTENT
        if verdict is not Verdict.INCONSISTENT and not is_worse:
            return ""
        return (
            f"{self.path} stays as it was ({self.standing}): the new base is {verdict.value}, and takes its place with "
            "--replace=always only"
        )

    def confirm(self) -> None:
        """Check that the store at the location is still the one that was found at first. Raises:
        StoreError.
        """
        if find_store_at(self.path) != self.standing:
            raise StoreError(
                f"{self.path}: another store was put there meanwhile",
                "Look at it: shiq status, then run the same.",
            )


def claim_place(path: StoreLocation, replace: bool | str) -> Replacement:
    """Prepare the location ``path`` for a new store. ``replace``: whether a store that is there may
    be replaced.
    """
    refuse_other_content(path)
    standing = find_store_at(path)
    if standing is None:
        _refuse_inside(path)
    elif not replace:
        raise UsageError(
            f"{path}: there is a store already ({standing})",
            "Add --replace (in Python replace_store=True) to build it anew, or name another place by --store. The old one stays "
            "until the new one is complete.",
        )
    return Replacement(path, standing, replace == REPLACE_ALWAYS)


def find_store_at(path: StoreLocation) -> StandingStore | None:
    """Find the store at ``path``; None if there is none. Raises: StoreError if the location cannot
    be reached.
    """
    if not ((path / MANIFEST).exists() if isinstance(path, Path) else path.version_stamp(MANIFEST)):
        return None
    try:
        manifest = read_manifest(path, older=True)
    except StoreError:
        return StandingStore()
    return StandingStore(
        manifest.identity,
        manifest.snapshot,
        manifest.certificate.verdict if manifest.certificate is not None else None,
    )


def refuse_other_content(path: StoreLocation) -> None:
    """Refuse a location with content that is no store. Raises: StoreError."""
    if isinstance(path, Path) and path.exists() and not path.is_dir():
        raise StoreError(
            f"{path}: is a file, not a directory", "Name a new directory for the store."
        )
    there = (
        path.top_level_names()
        if not isinstance(path, Path)
        else [entry.name for entry in path.iterdir()]
        if path.exists()
        else []
    )
    if MANIFEST not in there:
        ours = (LOCK, TABLES, LOOKUPS, DOCUMENTS, REMOVED, SNAPSHOTS, BUILDING, UNFINISHED, HISTORY)
        strange = sorted(set(there).difference(ours))
        if strange:
            raise StoreError(
                f"{path}: the directory is not empty and not a store (it has {strange[0]})",
                "Name a new directory.",
            )


def _refuse_inside(path: StoreLocation) -> None:
    """Refuse an address that lies inside a store. Raises: UsageError."""
    if isinstance(path, Path):
        return  # the command line has seen to it
    above = path.address
    while (above := above.rpartition("/")[0]).count("/") > 2:
        with suppress(
            StoreError, UsageError
        ):  # who may write here need not be allowed to look there
            if find_store_at(parse_location(above)) is not None:
                break
    else:
        return
    raise UsageError(
        f"{path} lies in the store {above}, which it would damage",
        "Name another place for --store.",
    )

"""Persistent cache entries: an SQLite file or Delta table, valid for one ontology, data and
program.

A file of another ontology or data, or a damaged one, is replaced by a new one, with a note. Each
row has a hash to detect damage. A file that this program did not make is refused. Its content is
JSON and is never executed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import shiq
from shiq.answers.verdict import Verdict
from shiq.errors import UsageError
from shiq.files import report_write_errors
from shiq.streams.enrichment.cache import CacheEntry
from shiq.streams.enrichment.key import Key

#: Of what is in the file, and of how keys are made.
SCHEMA_VERSION: Final = 3
#: How SQLite's files begin; by what a program marks its own, and where.
_SQLITE_HEADER: Final = b"SQLite format 3\0"
_APPLICATION_MARK: Final = b"shiq"
_MARK_OFFSET: Final = 68
_CREATE_STATEMENTS: Final = (
    f"pragma application_id = {int.from_bytes(_APPLICATION_MARK, 'big')}",
    "create table if not exists made (by text not null)",
    "create table if not exists entries (key text primary key, entry text not null, hash text not null) without rowid",
)


def serialise_key(key: Key) -> str:
    """Serialise a key as JSON."""
    return json.dumps(key, ensure_ascii=False, separators=(",", ":"))


def parse_key(text: str) -> Key:
    """Parse the JSON of a key."""
    nodes, edges, of_fixed = json.loads(text)
    return tuple(map(tuple, nodes)), tuple(map(tuple, edges)), tuple(of_fixed)


def serialise_entry(entry: CacheEntry) -> str:
    """Serialise an entry as JSON."""
    at = [None if types is None else sorted(types) for types in entry.types_at]
    beside = [None if some is None else sorted(some) for some in (entry.touches, entry.changes)]
    held = [
        entry.verdict.value,
        at,
        _to_sorted_lists(entry.named_types),
        _to_sorted_lists(entry.static_types),
        *beside,
        entry.reason,
    ]
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def parse_entry(text: str) -> CacheEntry:
    """Parse the JSON of an entry."""
    verdict, at, named, static, touches, changes, reason = json.loads(text)
    return CacheEntry(
        Verdict(verdict),
        tuple(None if types is None else frozenset(types) for types in at),
        _to_frozen_sets(named),
        _to_frozen_sets(static),
        None if touches is None else frozenset(touches),
        None if changes is None else frozenset(changes),
        reason,
    )


def _to_sorted_lists(types: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    """Convert sets of types to sorted lists."""
    return {one: sorted(names) for one, names in sorted(types.items())}


def _to_frozen_sets(types: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Convert lists of types to frozen sets."""
    return {one: frozenset(names) for one, names in types.items()}


#: A row of a file: key, entry, hash.
EntryRow = tuple[str, str, str]


class EntriesFile:
    """SQLite file of cache entries, valid for one ``digest`` of ontology and static data, and for
    this version of the program.

    note: why the file was replaced, or "".
    Raises: UsageError if another file is there.
    """

    #: What reading a damaged file raises.
    errors: tuple[type[Exception], ...] = (sqlite3.Error, ValueError, TypeError)

    def __init__(self, path: Path, digest: str) -> None:
        self.path, self.digest, self.note = (
            path,
            f"{digest} {shiq.__version__} {SCHEMA_VERSION}",
            "",
        )
        self._saved_keys: set[Key] = set()
        if path.exists() and not self.is_entries_file():
            raise UsageError(
                f"{path} is there, and holds no entries",
                "Name another place for the entries, or remove it.",
            )

    def is_entries_file(self) -> bool:
        """Whether the existing file is empty or was made by this program."""
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            head = file.read(_MARK_OFFSET + len(_APPLICATION_MARK))
        return not head or (
            head.startswith(_SQLITE_HEADER) and head[_MARK_OFFSET:] == _APPLICATION_MARK
        )

    def load(self) -> Iterator[tuple[Key, CacheEntry]]:
        """Load all entries; a damaged or outdated file is removed and gives none."""
        found: list[tuple[Key, CacheEntry]] = []
        if self.path.exists():
            try:
                found = self._check_rows(*self.read_rows())
            except self.errors as error:
                self.note = f"{self.path} is damaged ({error}): it is begun anew"
            if self.note:
                found = []
                with report_write_errors(self.path):
                    self.remove()
        self._saved_keys = {key for key, _ in found}
        return iter(found)

    def _check_rows(
        self, made: Collection[str], rows: Sequence[EntryRow]
    ) -> list[tuple[Key, CacheEntry]]:
        """Check that the digests ``made``, from which the file was made, are this file's digest,
        and the hashes of its rows. Return the parsed rows; none if outdated.
        """
        if {*made} != {self.digest}:
            self.note = f"{self.path} is of another ontology, other static data or another version: it is begun anew"
            return []
        if any(self._hash_row(key, entry) != hashed for key, entry, hashed in rows):
            raise ValueError("a row is not as it was written")
        return [(parse_key(key), parse_entry(entry)) for key, entry, _ in rows]

    def read_rows(self) -> tuple[Collection[str], list[EntryRow]]:
        """Read the digests of the ontology and data that the file was made for, and its rows by
        key.
        """
        with closing(sqlite3.connect(self.path)) as file:
            if file.execute("pragma quick_check").fetchone() != ("ok",):
                raise ValueError("its pages do not fit together")
            made = [by for (by,) in file.execute("select by from made")]
            return made, file.execute(
                "select key, entry, hash from entries order by key"
            ).fetchall()

    def _hash_row(self, key: str, entry: str) -> str:
        """Hash of a row and the file's digest."""
        return hashlib.sha256(
            "\n".join((self.digest, key, entry)).encode("utf-8", "surrogatepass")
        ).hexdigest()

    def save(self, entries: Iterable[tuple[Key, CacheEntry]]) -> None:
        """Append the entries that the file does not contain yet, in one transaction. Raises:
        OperationalError.
        """
        new = {key: entry for key, entry in entries if key not in self._saved_keys}
        texts = ((serialise_key(key), serialise_entry(entry)) for key, entry in new.items())
        with report_write_errors(self.path):
            self.append([(key, entry, self._hash_row(key, entry)) for key, entry in texts])
        self._saved_keys.update(new)

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Append rows in one transaction. Raises: OSError."""
        try:
            with closing(sqlite3.connect(self.path)) as file, file:
                for statement in _CREATE_STATEMENTS:
                    file.execute(statement)
                if file.execute("select by from made").fetchone() is None:
                    file.execute("insert into made values (?)", (self.digest,))
                file.executemany("insert or replace into entries values (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise OSError(str(error)) from error

    def remove(self) -> None:
        """Delete the file. Raises: OSError."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def reset(self, digest: str) -> None:
        """Delete the file and continue with another ``digest``, since the static data changed."""
        self.digest, self._saved_keys = f"{digest} {shiq.__version__} {SCHEMA_VERSION}", set()
        self.remove()

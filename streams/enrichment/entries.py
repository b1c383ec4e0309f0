"""Entries as JSON texts, and a file of them that outlives the process: SQLite or a Delta table,
under a hash of T, B and the program.

A file of another T or B, or one that is damaged in a single letter, is begun anew, and that is
said: each row has a hash, since neither form has. What this program has not made is refused.
Nothing in it is ever executed: it is JSON.
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
from shiq.streams.enrichment.cache import Entry
from shiq.streams.enrichment.key import Key

#: Of what is in the file, and of how keys are made.
SCHEMA: Final = 3
#: How SQLite's files begin; by what a program marks its own, and where.
_SQLITE: Final = b"SQLite format 3\0"
_MARK: Final = b"shiq"
_MARK_AT: Final = 68
_BEGINNING: Final = (
    f"pragma application_id = {int.from_bytes(_MARK, 'big')}",
    "create table if not exists made (by text not null)",
    "create table if not exists entries (key text primary key, entry text not null, hash text not null) without rowid",
)


def key_text(key: Key) -> str:
    return json.dumps(key, ensure_ascii=False, separators=(",", ":"))


def parse_key(text: str) -> Key:
    nodes, edges, of_fixed = json.loads(text)
    return tuple(map(tuple, nodes)), tuple(map(tuple, edges)), tuple(of_fixed)


def entry_text(entry: Entry) -> str:
    at = [None if types is None else sorted(types) for types in entry.types_at]
    beside = [None if some is None else sorted(some) for some in (entry.touches, entry.changes)]
    held = [
        entry.verdict.value,
        at,
        _sorted_lists(entry.named_types),
        _sorted_lists(entry.static_types),
        *beside,
        entry.reason,
    ]
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def parse_entry(text: str) -> Entry:
    verdict, at, named, static, touches, changes, reason = json.loads(text)
    return Entry(
        Verdict(verdict),
        tuple(None if types is None else frozenset(types) for types in at),
        _frozen_sets(named),
        _frozen_sets(static),
        None if touches is None else frozenset(touches),
        None if changes is None else frozenset(changes),
        reason,
    )


def _sorted_lists(types: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {one: sorted(names) for one, names in sorted(types.items())}


def _frozen_sets(types: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    return {one: frozenset(names) for one, names in types.items()}


#: A row of a file: key, entry, hash.
EntryRow = tuple[str, str, str]


class EntriesFile:
    """The file at ``path``, made by ``digest`` and this program; ``note``: why it was begun
    anew, if it was.

    Raises: UsageError where something else is there.
    """

    #: What reading a damaged file raises.
    errors: tuple[type[Exception], ...] = (sqlite3.Error, ValueError, TypeError)

    def __init__(self, path: Path, digest: str) -> None:
        self.path, self.digest, self.note = path, f"{digest} {shiq.__version__} {SCHEMA}", ""
        self._saved_keys: set[Key] = set()
        if path.exists() and not self.is_entries_file():
            raise UsageError(
                f"{path} is there, and holds no entries",
                "Name another place for the entries, or remove it.",
            )

    def is_entries_file(self) -> bool:
        """Whether what is there is empty, or was made by this program."""
        if not self.path.is_file():
            return False
        with self.path.open("rb") as file:
            head = file.read(_MARK_AT + len(_MARK))
        return not head or (head.startswith(_SQLITE) and head[_MARK_AT:] == _MARK)

    def load(self) -> Iterator[tuple[Key, Entry]]:
        """What is in the file; nothing where it was made by another T or B, or is damaged: then
        it is begun anew.
        """
        found: list[tuple[Key, Entry]] = []
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
    ) -> list[tuple[Key, Entry]]:
        if {*made} != {self.digest}:
            self.note = f"{self.path} is of another ontology, other static data or another version: it is begun anew"
            return []
        if any(self._row_hash(key, entry) != hashed for key, entry, hashed in rows):
            raise ValueError("a row is not as it was written")
        return [(parse_key(key), parse_entry(entry)) for key, entry, _ in rows]

    def read_rows(self) -> tuple[Collection[str], list[EntryRow]]:
        """By what it was made, and its rows in order of their keys."""
        with closing(sqlite3.connect(self.path)) as file:
            if file.execute("pragma quick_check").fetchone() != ("ok",):
                raise ValueError("its pages do not fit together")
            made = [by for (by,) in file.execute("select by from made")]
            return made, file.execute(
                "select key, entry, hash from entries order by key"
            ).fetchall()

    def _row_hash(self, key: str, entry: str) -> str:
        """Of a row of this file: one of another T or B has another."""
        return hashlib.sha256(
            "\n".join((self.digest, key, entry)).encode("utf-8", "surrogatepass")
        ).hexdigest()

    def save(self, entries: Iterable[tuple[Key, Entry]]) -> None:
        """Adds what is new of ``entries``, in one step. Raises: OperationalError."""
        new = {key: entry for key, entry in entries if key not in self._saved_keys}
        texts = ((key_text(key), entry_text(entry)) for key, entry in new.items())
        with report_write_errors(self.path):
            self.append([(key, entry, self._row_hash(key, entry)) for key, entry in texts])
        self._saved_keys.update(new)

    def append(self, rows: Sequence[EntryRow]) -> None:
        """Adds rows, in one step. Raises: OSError."""
        with _SqliteAsOSError(), closing(sqlite3.connect(self.path)) as file, file:
            for statement in _BEGINNING:
                file.execute(statement)
            if file.execute("select by from made").fetchone() is None:
                file.execute("insert into made values (?)", (self.digest,))
            file.executemany("insert or replace into entries values (?, ?, ?)", rows)

    def remove(self) -> None:
        """Takes it away. Raises: OSError."""
        with suppress(FileNotFoundError):
            self.path.unlink()

    def reset(self, digest: str) -> None:
        """Empties the file, for another B."""
        self.digest, self._saved_keys = f"{digest} {shiq.__version__} {SCHEMA}", set()
        self.remove()


class _SqliteAsOSError:
    """Errors of SQLite as such of files."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise OSError(str(error)) from error

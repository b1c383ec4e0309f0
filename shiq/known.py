"""Leftovers that somebody answers for: told as a number, and in nobody's way, until a day.

>>> entry = KnownEntry("undeclared", "ann@example.org", date(2030, 1, 31), term="urn:t#purs")
>>> known = KnownLeftovers((entry,), date(2030, 1, 1))
>>> met = [Leftover("undeclared", f"the TBox does not know the class <urn:t#{name}>") for name in ("purs", "prus")]
>>> [leftover.known for leftover in known.marked(met)]
['ann@example.org until 2030-01-31', '']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property

from shiq.verdict import LIKE_OTHERS, Leftover


@dataclass(frozen=True, slots=True)
class KnownEntry:
    """A waiver: ``owner`` answers for the leftovers of one ``kind`` about a ``term`` (see
    `Leftover.term`), or all terms of a ``pattern`` (with ``*``, ``?`` and ``[…]``, as for
    files), up to and including the day ``expires``.
    """

    kind: str
    owner: str
    expires: date
    term: str = ""
    pattern: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.owner} until {self.expires}"


@dataclass(frozen=True)
class KnownLeftovers:
    """Entries, as of ``today``."""

    entries: tuple[KnownEntry, ...] = ()
    today: date = field(default_factory=date.today)

    def marked(self, leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
        """``leftovers``, those that an entry covers marked: as known, or as lapsed where all
        such entries have ended.
        """
        return tuple(map(self._marked, leftovers)) if self.entries else tuple(leftovers)

    def _marked(self, leftover: Leftover) -> Leftover:
        last = max(
            self._covering(leftover), key=lambda entry: (entry.expires, entry.owner), default=None
        )
        if last is None:
            return leftover
        return (
            replace(leftover, known=str(last))
            if last.expires >= self.today
            else replace(leftover, lapsed=str(last))
        )

    def _covering(self, leftover: Leftover) -> Iterator[KnownEntry]:
        yield from self._by_term.get((leftover.kind, leftover.term), ())
        shown = leftover.term or ("" if leftover.message.endswith(LIKE_OTHERS) else leftover.text)
        for entry in self._by_pattern.get(leftover.kind, ()):
            if fnmatchcase(shown, entry.pattern):
                yield entry

    @cached_property
    def _by_term(self) -> dict[tuple[str, str], list[KnownEntry]]:
        found: dict[tuple[str, str], list[KnownEntry]] = {}
        for entry in self.entries:
            if entry.term:
                found.setdefault((entry.kind, entry.term), []).append(entry)
        return found

    @cached_property
    def _by_pattern(self) -> dict[str, list[KnownEntry]]:
        found: dict[str, list[KnownEntry]] = {}
        for entry in self.entries:
            if entry.pattern:
                found.setdefault(entry.kind, []).append(entry)
        return found

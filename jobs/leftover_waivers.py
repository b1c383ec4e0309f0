"""File of known leftovers (``--known``): statements that are not understood and may be ignored.
Read it, and draft one from present leftovers.

>>> entry = {"kind": "undeclared", "term": "urn:t#purs", "owner": "ann", "expires": "2030-01-31"}
>>> [str(entry) for entry in parse_waivers({"known": [entry]}, date(2030, 1, 1)).entries]
['ann until 2030-01-31']

Waivers of leftovers: counted, not blocking, until a date.

>>> entry = LeftoverWaiver("undeclared", "ann@example.org", date(2030, 1, 31), term="urn:t#purs")
>>> known = LeftoverWaivers((entry,), date(2030, 1, 1))
>>> met = [Leftover("undeclared", f"the TBox does not know the class <urn:t#{name}>") for name in ("purs", "prus")]
>>> [leftover.known for leftover in known.mark(met)]
['ann@example.org until 2030-01-31', '']
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from shiq.answers.verdict import KINDS, LIKE_OTHERS, Leftover, is_blocking
from shiq.errors import InputError, UsageError
from shiq.files import json_text, write_atomically


@dataclass(frozen=True, slots=True)
class LeftoverWaiver:
    """Waiver of the leftovers of one ``kind`` about one term, or about terms that match a pattern.

    owner: the person responsible.
    expires: the last day on which it holds.
    term: see `Leftover.term`. pattern: with ``*``, ``?`` and ``[…]``, as for files.
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
class LeftoverWaivers:
    """Set of waivers for leftovers, evaluated as of ``today``."""

    entries: tuple[LeftoverWaiver, ...] = ()
    today: date = field(default_factory=date.today)

    def mark(self, leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
        """Mark the leftovers that a waiver covers: ``known``, or ``lapsed`` if all such waivers have
        expired.
        """
        return tuple(map(self._mark_leftover, leftovers)) if self.entries else tuple(leftovers)

    def _mark_leftover(self, leftover: Leftover) -> Leftover:
        """Mark a leftover with the waiver that expires last."""
        last = max(
            self._waivers_of(leftover), key=lambda entry: (entry.expires, entry.owner), default=None
        )
        if last is None:
            return leftover
        return (
            replace(leftover, known=str(last))
            if last.expires >= self.today
            else replace(leftover, lapsed=str(last))
        )

    def _waivers_of(self, leftover: Leftover) -> Iterator[LeftoverWaiver]:
        """Iterate over the waivers that cover a leftover, expired ones included."""
        if leftover.term:
            yield from self._by_term.get((leftover.kind, leftover.term), ())
        shown = leftover.term or ("" if leftover.message.endswith(LIKE_OTHERS) else leftover.text)
        for entry in self._by_term.get((leftover.kind, ""), ()):
            if fnmatchcase(shown, entry.pattern):
                yield entry

    @cached_property
    def _by_term(self) -> dict[tuple[str, str], list[LeftoverWaiver]]:
        """Waivers by kind and term; those for patterns have no term."""
        found: dict[tuple[str, str], list[LeftoverWaiver]] = {}
        for entry in self.entries:
            found.setdefault((entry.kind, entry.term), []).append(entry)
        return found


# Read small TOML or JSON files of keys and values, such as policies and known leftovers.


def read_tables(file: Path, shown_in: str) -> tuple[Mapping[str, Any], str]:
    """Read a TOML or JSON file. Returns its content and its digest.

    shown_in: the document that describes the format, for messages.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", "Name a file that can be read.") from error
    try:
        found = json.loads(data) if file.suffix.lower() == ".json" else _parse_toml(file, data)
        if not isinstance(found, dict):
            raise ValueError("not a table of keys and values")
    except ValueError as error:
        raise UsageError(
            f"{file}: {error}", f"Mend it: {shown_in} shows what it may say."
        ) from error
    return found, hashlib.sha256(data).hexdigest()


def _parse_toml(file: Path, data: bytes) -> Any:
    """Parse TOML. Raises: UsageError on Python before 3.11."""
    if sys.version_info < (3, 11):
        raise UsageError(
            f"{file}: TOML is read with Python 3.11 or newer", "Write the same as JSON (.json)."
        )
    import tomllib

    return tomllib.loads(data.decode("utf-8"))


def parse_day(place: str, value: object) -> date:
    """Parse the date ``value`` at a ``place`` of the file. Raises: UsageError."""
    try:
        return (
            value
            if type(value) is date
            else date.fromisoformat(str(value.date() if isinstance(value, datetime) else value))
        )
    except ValueError:
        raise UsageError(
            f"{place}: expires is no day: {value!r}", "Write it as 2027-01-31."
        ) from None


def refuse_unknown(place: str, names: Iterable[object], known: Collection[str]) -> None:
    """Refuse the first of ``names`` that is not ``known``, and suggest the nearest. Raises:
    UsageError.
    """
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), 1, 0)[0]
            raise UsageError(
                f"{place}: {name!r} is not known",
                f"Did you mean {near!r}? Known: {', '.join(known)}.",
            )


_ENTRY_KEYS: Final = ("kind", "term", "pattern", "owner", "reason", "expires")
#: How long an entry of a draft holds.
_DRAFT_TERM: Final = timedelta(days=90)


def today() -> date:
    """Current day in UTC."""
    return datetime.now(timezone.utc).date()


def read_waivers(file: Path, day: date | None = None) -> LeftoverWaivers:
    """Read known leftovers from a TOML or JSON file, as of ``day``.

    Raises: InputError if the file cannot be read; UsageError for unknown keys or values.
    """
    return parse_waivers(read_tables(file, "docs/EVIDENCE.md")[0], day or today(), str(file))


def parse_waivers(found: Mapping[str, Any], day: date, source: str = "known") -> LeftoverWaivers:
    """Parse known leftovers from keys and values. Raises: UsageError."""
    refuse_unknown(source, found, ("known",))
    entries = found.get("known", [])
    if not isinstance(entries, list):
        raise UsageError(
            f"{source}: known is a list of tables", "Write [[known]], and the keys of each below."
        )
    return LeftoverWaivers(
        tuple(_parse_entry(f"{source}: known {i}", entry) for i, entry in enumerate(entries, 1)),
        day,
    )


def _parse_entry(place: str, found: object) -> LeftoverWaiver:
    """Parse one waiver of the file. ``place``: the file and entry, for messages. Raises:
    UsageError.
    """
    if not isinstance(found, dict):
        raise UsageError(f"{place}: not a table", "Write [[known]], and its keys below.")
    refuse_unknown(place, found, _ENTRY_KEYS)
    texts = {name: value for name, value in found.items() if name != "expires"}
    if not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(f"{place}: {', '.join(texts)} are texts", 'Write them as "…".')
    if lacking := [
        name
        for name in ("kind", "owner", "expires")
        if not (isinstance(v := found.get(name), date) or str(v or "").strip())
    ]:
        raise UsageError(
            f"{place}: lacks {', '.join(lacking)}",
            "An entry names a kind, who answers for it, and until when.",
        )
    refuse_unknown(place, [found["kind"]], KINDS)
    named = [name for name in ("term", "pattern") if found.get(name)]
    if len(named) != 1:
        raise UsageError(
            f"{place}: names {' and '.join(named) or 'nothing'}", "Name a term or a pattern."
        )
    return LeftoverWaiver(**texts, expires=parse_day(place, found["expires"]))


def draft_waivers(
    leftovers: Iterable[Leftover],
    before: LeftoverWaivers,
    owner: str,
    allowed: Collection[str],
    fail_on: Collection[str],
) -> tuple[LeftoverWaiver, ...]:
    """Draft the entries of a file: the waivers of ``before``, and one by ``owner`` for each kind
    and term of the blocking ``leftovers``.
    """
    ends = before.today + _DRAFT_TERM
    new = dict.fromkeys(
        (x.kind, x.term) for x in leftovers if x.term and is_blocking(x, allowed, fail_on)
    )
    return (
        *before.entries,
        *(LeftoverWaiver(kind, owner, ends, term) for kind, term in sorted(new)),
    )


def write_waivers(file: Path, entries: Iterable[LeftoverWaiver]) -> None:
    """Write waivers as TOML, or as JSON by the file's suffix. Raises: InputError."""
    tables = [
        {
            name: str(value)
            for name in _ENTRY_KEYS
            if (value := getattr(x, name)) or name in ("owner", "reason")
        }
        for x in entries
    ]
    if file.suffix.lower() == ".json":
        write_atomically(file, json_text({"known": tables}))
        return
    lines = ["# What is known, who answers for it, and the last day that it is: docs/EVIDENCE.md."]
    for table in tables:
        lines += ["", "[[known]]"]
        for name, value in table.items():
            quoted = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
            lines.append(f"{name} = {value if name == 'expires' else quoted}")
    write_atomically(file, "\n".join(lines) + "\n")

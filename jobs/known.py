"""The file of known leftovers (``--known``): reading it, and drafting it from what is met.

>>> entry = {"kind": "undeclared", "term": "urn:t#purs", "owner": "ann", "expires": "2030-01-31"}
>>> [str(entry) for entry in known_of({"known": [entry]}, date(2030, 1, 1)).entries]
['ann until 2030-01-31']
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

from jobs.files import json_text, write_whole
from jobs.tables import day_of, only, read_tables
from shiq.errors import UsageError
from shiq.known import KnownEntry, KnownLeftovers
from shiq.verdict import KINDS, Leftover, blocks

_OF_ENTRY: Final = ("kind", "term", "pattern", "owner", "reason", "expires")
#: How long an entry of a draft holds.
_DRAFTED: Final = timedelta(days=90)


def today() -> date:
    return datetime.now(timezone.utc).date()


def read_known(file: Path, day: date | None = None) -> KnownLeftovers:
    """The known leftovers in a TOML or JSON file, as of ``day``. Raises: InputError where the
    file cannot be read, UsageError where it says something that is not known.
    """
    return known_of(read_tables(file, "docs/EVIDENCE.md")[0], day or today(), str(file))


def known_of(found: Mapping[str, Any], day: date, source: str = "known") -> KnownLeftovers:
    """The known leftovers that ``found`` says. Raises: UsageError."""
    only(source, found, ("known",))
    entries = found.get("known", [])
    if not isinstance(entries, list):
        raise UsageError(
            f"{source}: known is a list of tables", "Write [[known]], and the keys of each below."
        )
    return KnownLeftovers(
        tuple(_entry(f"{source}: known {i}", entry) for i, entry in enumerate(entries, 1)), day
    )


def _entry(place: str, found: object) -> KnownEntry:
    if not isinstance(found, dict):
        raise UsageError(f"{place}: not a table", "Write [[known]], and its keys below.")
    only(place, found, _OF_ENTRY)
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
    only(place, [found["kind"]], KINDS)
    named = [name for name in ("term", "pattern") if found.get(name)]
    if len(named) != 1:
        raise UsageError(
            f"{place}: names {' and '.join(named) or 'nothing'}", "Name a term or a pattern."
        )
    return KnownEntry(**texts, expires=day_of(place, found["expires"]))


def draft(
    leftovers: Iterable[Leftover],
    before: KnownLeftovers,
    owner: str,
    allowed: Collection[str],
    fail_on: Collection[str],
) -> tuple[KnownEntry, ...]:
    """The entries of ``before``, and one by ``owner`` for each kind and term of the
    ``leftovers`` that stands in the way and has a term.
    """
    ends = before.today + _DRAFTED
    new = dict.fromkeys(
        (x.kind, x.term) for x in leftovers if x.term and blocks(x, allowed, fail_on)
    )
    return (*before.entries, *(KnownEntry(kind, owner, ends, term) for kind, term in sorted(new)))


def write_known(file: Path, entries: Iterable[KnownEntry]) -> None:
    """Writes the file that says ``entries``: TOML, or JSON by its name. Raises: InputError."""
    tables = [
        {
            name: str(value)
            for name in _OF_ENTRY
            if (value := getattr(x, name)) or name in ("owner", "reason")
        }
        for x in entries
    ]
    if file.suffix.lower() == ".json":
        write_whole(file, json_text({"known": tables}))
        return
    lines = ["# What is known, who answers for it, and the last day that it is: docs/EVIDENCE.md."]
    for table in tables:
        lines += ["", "[[known]]"]
        lines += [
            f"{name} = {value if name == 'expires' else _quoted(value)}"
            for name, value in table.items()
        ]
    write_whole(file, "\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    """A string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")

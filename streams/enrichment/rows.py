"""Rows of answers: one JSON object an event."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from streams.enrichment.answers import EnrichedEvent

#: Lists of types as JSON; there are few, however many events.
_LISTS: dict[frozenset[str], str] = {}
_MOST_LISTS = 100_000


def row_text(found: EnrichedEvent, line: int, t: int | None, identifier: str | None) -> str:
    """The row of an event."""
    return whole_row(line, found.hit, *row_halves(found, t, identifier))


def row_halves(found: EnrichedEvent, t: int | None, identifier: str | None) -> tuple[str, str]:
    """What `whole_row` takes: a row but for its line, and whether it was a hit."""
    entry = found.entry
    name = "null" if identifier is None else json.dumps(identifier, ensure_ascii=False)
    first = f'"t": {"null" if t is None else t}, "id": {name}, "verdict": "{entry.verdict.value}"'
    return first, f'{types_text(found)}, "reason": {_quoted(entry.reason)}}}'


def whole_row(line: int, hit: bool, first: str, second: str) -> str:
    return f'{{"line": {line}, {first}, "hit": {"true" if hit else "false"}, {second}'


def types_text(found: EnrichedEvent) -> str:
    """The types of a row, sorted by whose they are."""
    return f'"types": {_object(found.types)}, "static_types": {_object(found.entry.static)}'


def has_type(found: EnrichedEvent, only: Collection[str]) -> bool:
    """Whether somebody is of one of the classes ``only``."""
    types = (*found.types.values(), *found.entry.static.values())
    return any(not names.isdisjoint(only) for names in types)


def _object(types: Mapping[str, frozenset[str]]) -> str:
    if not types:
        return "{}"
    return "{" + ", ".join([f"{_quoted(one)}: {_list(types[one])}" for one in sorted(types)]) + "}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text else '""'


def _list(types: frozenset[str]) -> str:
    found = _LISTS.get(types)
    if found is None:
        if len(_LISTS) >= _MOST_LISTS:
            _LISTS.clear()
        found = _LISTS[types] = json.dumps(sorted(types), ensure_ascii=False)
    return found

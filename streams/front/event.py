"""Records of a source, and the events that are parsed from them.

An event is a JSON object: ``{"t": 5, "triples": ["<s> <p> <o> .", …], "id": "e7"}``. For stream
rules, ``atoms`` may replace or accompany ``triples``. Other members are ignored. ``t`` is an
integer or an ISO date-time, which is rounded down to the unit.

>>> parse_event('{"t": 5, "triples": ["<urn:s> <urn:p> <urn:o> ."]}')
Event(t=5, triples=('<urn:s> <urn:p> <urn:o> .',), atoms=(), id=None, raw=None)
>>> parse_event('{"t": "1970-01-01T00:01:00Z", "triples": []}', unit="min").t
1
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final, NamedTuple

from shiq.rml.model import RepeatedMemberError, require_unique_members

# One record of a source, as it came.


class Record(NamedTuple):
    """One unparsed line, message or table row of a source.

    source: name of the source.
    line: 1-based line number; the offset in a topic.
    data: bytes of the line or message, without line end.
    event: the event of a table row.
    problem: reason why the bytes cannot be a complete record, or "".
    """

    source: str
    line: int
    data: bytes
    event: Event | None = None
    problem: str = ""

    @property
    def text(self) -> str:
        """Bytes of the record as text; invalid UTF-8 is escaped."""
        return self.data.decode("utf-8", "backslashreplace")

    @property
    def source_text(self) -> str:
        """Original text of the record; for a table row, its event as JSON."""
        if self.event is None:
            return self.text
        return json.dumps({"t": self.event.t, "triples": self.event.triples}, ensure_ascii=False)


#: Microseconds of each unit of time.
UNITS: Final[Mapping[str, int]] = {
    "msec": 1_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "hrs": 3_600_000_000,
}
#: Times are below this.
END_OF_TIME: Final = 1 << 63
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


class EventError(ValueError):
    """Error: a record is not an event. ``t`` and ``id`` keep the time and identifier that could be
    read.
    """

    def __init__(self, message: str, t: int | None = None, id: str | None = None) -> None:
        super().__init__(message)
        self.t, self.id = t, id


class Event(NamedTuple):
    """Assertions with a time ``t``: N-Triples statements, or atoms of a rule program.

    id: the sender's identifier, to detect duplicates.
    raw: result of a system's own record reader.
    """

    t: int
    triples: tuple[str, ...] = ()
    atoms: tuple[str, ...] = ()
    id: str | None = None
    raw: Any = None


def event_from_record(record: Record, unit: str = "sec") -> Event:
    """Parse the event of a JSON record; a table row has its event already. Raises: EventError."""
    if record.problem:
        raise EventError(record.problem)
    return record.event or parse_event(record.data, unit)


def parse_event(text: str | bytes, unit: str = "sec") -> Event:
    """Parse an event's JSON text, as {"t": 5, "triples": […]}. Raises: EventError."""
    try:
        whole = text if isinstance(text, str) else text.decode()
        whole = whole.removeprefix("\ufeff").strip(" \t\r\n")
        found, end = _SCAN_JSON(whole, 0)
        if end < len(whole):
            raise EventError(f"no JSON: extra data: {whole[end:][:80]}")
    except StopIteration as at:
        error = json.JSONDecodeError("Expecting value", whole, at.value)
        raise EventError(f"no JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise EventError(
            str(error)
            if isinstance(error, EventError | RepeatedMemberError)
            else f"no JSON: {error}"
        ) from None
    if not isinstance(found, dict):
        raise EventError('a JSON object is needed, as in {"t": 5, "triples": []}')
    if "triples" not in found and "atoms" not in found:
        raise EventError('an event has a list "triples"')
    t = parse_time(found, unit)
    return Event(
        t,
        _parse_text_list(found, "triples"),
        _parse_text_list(found, "atoms"),
        _parse_identifier(found),
    )


def parse_time(members: Mapping[str, Any], unit: str = "sec") -> int:
    """Parse the time of an event, its member ``t``, to an integer in time units. Raises:
    EventError.
    """
    t = members.get("t")
    if type(t) is int and 0 <= t < END_OF_TIME:
        return t
    if t is None:
        raise EventError('an event has a time: "t"')
    if isinstance(t, datetime):
        t = t.isoformat()
    if isinstance(t, str):
        t = _parse_datetime(t, unit)
    if not isinstance(t, int) or isinstance(t, bool):
        raise EventError(f"t is an integer or an ISO date-time, not {json.dumps(t)[:80]}")
    if not 0 <= t < END_OF_TIME:
        raise EventError(f"t is from 0 to 2^63 - 1, not {t}")
    return t


def _parse_datetime(text: str, unit: str) -> int:
    """Convert an ISO date-time to a time in units since 1970."""
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        raise EventError(f"t is an integer or an ISO date-time, not {text[:80]!r}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return (moment - _EPOCH) // timedelta(microseconds=UNITS[unit])


def _parse_text_list(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the member ``name`` of an event, a list of texts; () if absent. Raises: EventError."""
    if name not in members:
        return ()
    found = members[name]
    if not isinstance(found, list) or not set(map(type, found)) <= {str}:
        raise EventError(f'"{name}" is a list of texts')
    return tuple(found)


def _parse_identifier(members: Mapping[str, Any]) -> str | None:
    """Return the member ``id`` of an event as text; None if absent. Raises: EventError."""
    found = members.get("id")
    if found is None or isinstance(found, str):
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    raise EventError('"id" is a text or an integer')


def _refuse_nan(text: str) -> None:
    """Refuse NaN and Infinity, which are not JSON numbers. Raises: EventError."""
    raise EventError(f"{text} is no number of JSON")


#: What `json.JSONDecoder.decode` calls.
_SCAN_JSON: Final[Any] = json.JSONDecoder(
    object_pairs_hook=require_unique_members, parse_constant=_refuse_nan
).scan_once  # type: ignore[attr-defined]

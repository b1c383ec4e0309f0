"""Records of a source as events to be enriched: JSON lines of triples, or raw records of a mapping."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any, NamedTuple

from shiq.rml.compiled import Number, parse_record
from streams.enrichment.questions import EventReader
from streams.front.event import Event, EventError, parse_event, time_of
from streams.front.record import Record


class RecordEvent(NamedTuple):
    """What a record gives: its time and name, if it has any, and what `EventReader.question` takes."""

    t: int | None
    id: str | None
    event: Any


@dataclass
class RecordReader:
    """``unit``: what date-times are floored to; ``form``: triples, jsonld, or of a mapping json
    or csv; ``head``: the names of the columns, once they were met.
    """

    unit: str = "sec"
    form: str = "triples"
    head: list[str] | None = None

    @classmethod
    def of(cls, reader: EventReader, unit: str, *, jsonld: bool = False) -> RecordReader:
        """For what ``reader`` takes; ``jsonld``: records are such objects."""
        return cls(
            unit,
            "jsonld"
            if jsonld
            else "triples"
            if reader.program is None
            else reader.program.maps[0].source.form,
        )

    def takes_head(self, record: Record) -> bool:
        """Whether the record names the columns of a table, and is no event."""
        if self.form != "csv" or self.head is not None:
            return False
        self.head = next(csv.reader([record.data.decode("utf-8-sig", "backslashreplace")]))
        return True

    def given(self, record: Record, reader: EventReader) -> RecordEvent:
        """Raises: EventError."""
        if record.problem:
            raise EventError(record.problem)
        if record.event is not None or self.form == "triples":
            event = record.event or parse_event(record.data, self.unit)
            return RecordEvent(event.t, event.id, [*event.triples])
        if self.form == "jsonld":
            return RecordEvent(*reader.object(record.data, self.unit))
        raw = self._raw(record.data)
        return RecordEvent(_time(raw, self.unit), _name(raw), raw)

    def timed(self, data: bytes, reader: EventReader) -> Event:
        """A record that has a time, as an event. Raises: EventError."""
        t, name, event = self.given(Record("", 0, data), reader)
        if t is None:
            raise EventError('in a window an event has a time: "t"')
        try:
            return Event(t, tuple(reader.lines_of(event)), id=name)
        except ValueError as error:
            raise EventError(str(error)) from None

    def _raw(self, data: bytes) -> dict[str, Any]:
        try:
            found: Any = (
                parse_record(data)
                if self.head is None
                else next(csv.reader([data.decode("utf-8-sig")], strict=True))
            )
        except (ValueError, RecursionError, csv.Error) as error:
            raise EventError(f"no record: {error}") from None
        if self.head is None:
            if not isinstance(found, dict):
                raise EventError("a JSON object is needed")
            return found
        if len(found) != len(self.head):
            raise EventError(f"{len(found)} values for {len(self.head)} columns")
        return {name: value for name, value in zip(self.head, found) if value != ""}


def _time(raw: dict[str, Any], unit: str) -> int | None:
    """The time of a raw record, if it has one."""
    t = raw.get("t")
    try:
        return None if t is None else time_of({"t": int(t) if isinstance(t, Number) else t}, unit)
    except ValueError:
        return None


def _name(raw: dict[str, Any]) -> str | None:
    found = raw.get("id")
    return str(found) if isinstance(found, str) else None

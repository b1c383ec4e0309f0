"""What records of a source say: lines of logs, events, and the rows of other stream commands.

A row of verdicts or conflicts of `shiq stream consistency` holds at each t from its ``from`` to
its ``to``; a row of `shiq stream enrich` says of which classes the individuals of an event are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from shiq.model import RDF
from shiq.rml.tokens import members_once
from streams.front.event import Event, EventError, parse_event, time_of
from streams.front.record import Record
from streams.front.sources import LinesFile, Source
from streams.rules.atoms import AtomError, read_line
from streams.rules.triples import Mapping as Triples
from streams.rules.values import string

#: Rows that span more points than this are no rows of ours.
LONGEST_SPAN = 10_000_000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A text among atoms that is none, and why."""

    text: str
    reason: str


#: What holds at a time, and the id of the event that says it.
Said: TypeAlias = tuple[int, list[str | Unreadable], str | None]


@dataclass
class Reader:
    """Reads records. ``format``: log, jsonl, or auto: a line that begins with { is JSON."""

    triples: Triples
    unit: str = "sec"
    format: str = "auto"

    def said(self, record: Record) -> Iterator[Said]:
        """What a record says, point by point. Raises: EventError."""
        if record.problem:
            raise EventError(record.problem)
        if record.event is not None:
            yield self._event(record.event)
            return
        try:
            text = record.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise EventError(f"no UTF-8: {error.reason} at byte {error.start}") from None
        if self.format == "log" or (self.format != "jsonl" and not text.lstrip().startswith("{")):
            t, atoms = read_line(text, self.unit)
            yield t, list(atoms), None
            return
        row = _row(text)
        if row is None:
            yield self._event(parse_event(text, self.unit))
        elif "types" in row:
            yield time_of(row, self.unit), self._types(row["types"]), None
        else:
            start, end = (
                time_of({"t": row["from"]}, self.unit),
                time_of({"t": row["to"]}, self.unit),
            )
            if end < start:
                raise EventError(f"a row from {start} to {end} ends before it begins")
            if end - start > LONGEST_SPAN:
                raise EventError(f"from {start} to {end} are more than {LONGEST_SPAN:,} points")
            atoms = _span(row)
            for t in range(start, end + 1):
                yield t, list(atoms), None

    def time(self, record: Record) -> int | None:
        """The (first) time of a record, by which sources are merged; None where it has none."""
        try:
            return next(self.said(record))[0]
        except (EventError, StopIteration):
            return None

    def _event(self, event: Event) -> Said:
        return event.t, [*event.atoms, *self._mapped(event.triples)], event.id

    def _mapped(self, triples: tuple[str, ...]) -> Iterator[str | Unreadable]:
        for triple in triples:
            try:
                atom = self.triples.atom(triple)
            except AtomError as error:
                yield Unreadable(triple.encode("utf-8", "backslashreplace").decode(), str(error))
            else:
                if atom is not None:
                    yield atom

    def _types(self, types: Any) -> list[str | Unreadable]:
        if not isinstance(types, dict) or not all(
            isinstance(classes, list) for classes in types.values()
        ):
            raise EventError('"types" is an object of lists')
        found = (
            self.triples.member(str(iri), _node(name))
            for name, classes in types.items()
            for iri in classes
        )
        return [atom for atom in found if atom is not None]


def parse_record(data: bytes, unit: str = "sec") -> Event:
    """The one event of a record, its types as triples. Raises: EventError for what is none, and
    for a row that spans points.
    """
    reader = Reader(Triples((), unit), unit)
    text = data.decode("utf-8-sig", "backslashreplace")
    row = _row(text) if text.lstrip().startswith("{") else None
    if row is not None and "types" in row:
        types = row["types"] if isinstance(row["types"], dict) else {}
        triples = tuple(
            f"{_node(name)} <{RDF}type> <{iri}> ."
            for name, classes in types.items()
            for iri in classes
        )
        return Event(time_of(row, unit), triples)
    if row is not None:
        raise EventError("a row that spans points is read in one process alone (--engine local)")
    if text.lstrip().startswith("{"):
        return parse_event(data, unit)
    ((t, atoms, _),) = reader.said(Record("", 0, data))
    return Event(t, atoms=tuple(str(atom) for atom in atoms))


def _row(text: str) -> dict[str, Any] | None:
    """A row of another stream command; None for anything else."""
    try:
        row = json.loads(text, object_pairs_hook=members_once)
    except (ValueError, RecursionError):
        return None
    is_row = isinstance(row, dict) and (
        ("from" in row and "to" in row) or ("types" in row and "verdict" in row)
    )
    return row if is_row else None


def _span(row: Mapping[str, Any]) -> list[str]:
    """The atoms of a run of verdicts, or of a final conflict."""
    if "verdict" in row:
        return [f"verdict({row['verdict']})"]
    if not row.get("final", True):
        return []
    members = row.get("conflict")
    if not isinstance(row.get("individual"), str) or not isinstance(members, list):
        raise EventError("this is no event, no run of verdicts and no conflict")
    who = _constant(row["individual"])
    return [f"conflict({who},{_constant(str(member))})" for member in members]


def _node(name: str) -> str:
    return name if name.startswith("_:") else f"<{name}>"


def _constant(name: str) -> str:
    return string(name) if name.startswith(("_:", "∃")) else f"<{name}>"


@dataclass
class SortedSource:
    """A finite source whose rows span points: what it says, sorted by time. Position: how many
    of these.
    """

    source: Source
    reader: Reader
    position: int = 0

    @property
    def name(self) -> str:
        return self.source.name

    def read(self, follow: bool) -> Iterator[Record]:
        found: list[tuple[int, int, Record]] = []
        for record in self.source.read(False):
            try:
                parts = list(self.reader.said(record))
            except EventError as error:
                found.append(
                    (
                        -1,
                        len(found),
                        Record(record.source, record.line, record.data, problem=str(error)),
                    )
                )
                continue
            for t, atoms, name in parts:
                event = Event(
                    t, atoms=tuple(atom for atom in atoms if isinstance(atom, str)), id=name
                )
                found.append(
                    (t, len(found), Record(record.source, record.line, record.data, event))
                )
                for wrong in (atom for atom in atoms if isinstance(atom, Unreadable)):
                    record_of_it = Record(
                        record.source, record.line, wrong.text.encode(), problem=wrong.reason
                    )
                    found.append((t, len(found), record_of_it))
        found.sort(key=lambda one: one[:2])
        for number, (_, _, record) in enumerate(found, 1):
            if number > self.position:
                self.position = number
                yield record


def has_spans(path: str) -> bool:
    """Whether the first line of a file is a row that spans points."""
    record = next(LinesFile(Path(path)).read(False), None)
    row = None if record is None else _row(record.data.decode("utf-8-sig", "replace"))
    return row is not None and "from" in row

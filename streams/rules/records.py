"""What records of a source say: lines of logs, events, and the rows of other stream commands.

A row of verdicts or conflicts of `shiq stream consistency` holds at each t from its ``from`` to
its ``to``; a row of `shiq stream enrich` says of which classes the individuals of an event are.

RDF as atoms and back: what ``#rdf`` maps (docs/RULES.md, "RDF").

An IRI is the constant <IRI>. Integers stay; decimals and floats are scaled, and refused where
that is not exact; date-times become units of the timeline; other literals, and blank nodes,
strings.

>>> mapping = TripleMapping([PredicateMapping("temp/2", "urn:temp", 10), PredicateMapping("room/1", "urn:Room")], "sec")
>>> mapping.triple_to_atom('<urn:r1> <urn:temp> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .')
'temp(<urn:r1>,215)'
>>> mapping.atom_to_quad("temp/2", ("<urn:r1>", 215), 7)
'<urn:r1> <urn:temp> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> <urn:shiq:point:7> .'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException, Inexact, localcontext
from pathlib import Path
from typing import Any, Final

from shiq.datatypes.datatype_map import ill_typed_reason
from shiq.model import RDF, XSD, Literal
from shiq.rml.model import unique_members
from shiq.streams.front.event import (
    Event,
    EventError,
    Record,
    event_from_record,
    parse_event,
    parse_time,
)
from shiq.streams.front.sources import LinesFile, Source
from shiq.streams.rules.model import Model
from shiq.streams.rules.syntax import (
    LIMIT,
    PredicateMapping,
    Row,
    Value,
    atom_text,
    constant_content,
    constant_kind,
    string_constant,
)
from shiq.streams.rules.tokens import AtomError, read_line

_IRI: Final = r"""<[^\x00-\x20<>"{}|^`\\]*>"""
_NODE: Final = rf"{_IRI}|_:[^\s<>\"]+"
_TRIPLE: Final = re.compile(
    rf"\s*({_NODE})\s*({_IRI})\s*(?:({_NODE})|\"((?:[^\"\\\r\n]|\\.)*)\"(?:\^\^({_IRI})|@[A-Za-z0-9-]+)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED: Final = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_KINDS_OF_INTEGER: Final = """integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger
    unsignedLong unsignedInt unsignedShort unsignedByte"""
_INTEGERS: Final = frozenset(XSD + name for name in _KINDS_OF_INTEGER.split())
_FRACTIONS: Final = frozenset({XSD + "decimal", XSD + "double", XSD + "float"})
_BLANKS: Final = " \t\r\n"
_TIMES: Final = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
#: The graph of a point, and its time.
GRAPH: Final = "<urn:shiq:point:{t}>"


class TripleMapping:
    """Classes and properties as predicates, both ways. ``unmapped_count``: how many triples were of
    others.
    """

    def __init__(self, mapped: Iterable[PredicateMapping], unit: str) -> None:
        self.unit, self.unmapped_count = unit, 0
        self.by_predicate = {one.predicate: one for one in mapped}
        self.classes = {
            one.iri: one for one in self.by_predicate.values() if one.predicate.endswith("/1")
        }
        self.properties = {
            one.iri: one for one in self.by_predicate.values() if one.predicate.endswith("/2")
        }

    def triple_to_atom(self, triple: str) -> str | None:
        """The atom of an N-Triples statement; None for one that is not mapped. Raises: AtomError
        for what is no statement, and for a number that is not exact.
        """
        found = _TRIPLE.fullmatch(triple)
        if found is None:
            raise AtomError(f"{triple.strip()[:80]!r} is no N-Triples statement")
        subject, predicate, node, literal, datatype = found.groups()
        if predicate[1:-1] == RDF + "type" and node is not None:
            return self.class_atom(node[1:-1], subject)
        mapped = self.properties.get(predicate[1:-1])
        if mapped is None:
            self.unmapped_count += 1
            return None
        value = (
            _node_constant(node)
            if node is not None
            else self._literal_value(literal, (datatype or "")[1:-1], mapped)
        )
        return f"{mapped.predicate[:-2]}({_node_constant(subject)},{value})"

    def class_atom(self, iri: str, node: str) -> str | None:
        """The atom that says of ``node`` (an <IRI> or _:label) that it is a member of a class."""
        mapped = self.classes.get(iri)
        if mapped is None:
            self.unmapped_count += 1
            return None
        return f"{mapped.predicate[:-2]}({_node_constant(node)})"

    def _literal_value(self, literal: str, datatype: str, mapped: PredicateMapping) -> Value:
        text = _ESCAPE.sub(_unescape, literal) if "\\" in literal else literal
        if datatype in _INTEGERS | _FRACTIONS:
            if (wrong := ill_typed_reason(Literal(text, datatype))) is not None:
                raise AtomError(wrong)
            number = text.strip(_BLANKS)
            return _parse_bounded(number if datatype in _INTEGERS else _scale(number, mapped.scale))
        if datatype in _TIMES:
            try:
                return parse_time({"t": text}, self.unit)
            except EventError:
                raise AtomError(f"{text[:80]!r} is not of type {datatype}") from None
        return string_constant(text)

    def atom_to_quad(self, predicate: str, row: Row, t: int) -> str | None:
        """The N-Quads statement of an atom of a mapped predicate; None where its first argument
        is no node.
        """
        mapped, subject = self.by_predicate[predicate], _constant_node(row[0])
        if subject is None:
            return None
        graph = GRAPH.format(t=t)
        if len(row) == 1:
            return f"{subject} <{RDF}type> <{mapped.iri}> {graph} ."
        return f"{subject} <{mapped.iri}> {_object_text(row[1], mapped.scale)} {graph} ."

    def model_quads(self, model: Model, derived: bool) -> tuple[list[str], list[str]]:
        """The statements of a model's mapped atoms, sorted; and the atoms that are none, as texts."""
        quads: list[str] = []
        none: list[str] = []
        for predicate in (
            self.by_predicate
            if model.shown_predicates is None
            else self.by_predicate.keys() & model.shown_predicates
        ):
            for row in model.point.rows(predicate, derived):
                quad = self.atom_to_quad(predicate, row, model.t)
                if quad is None:
                    none.append(atom_text(predicate[:-2], row))
                else:
                    quads.append(quad)
        return sorted(quads), sorted(none)


def _node_constant(node: str) -> str:
    return node if node.startswith("<") else string_constant(node)


def _constant_node(value: Value) -> str | None:
    if not isinstance(value, str):
        return None
    if constant_kind(value) == 3:
        return value
    return (
        constant_content(value)
        if constant_kind(value) == 2 and constant_content(value).startswith("_:")
        else None
    )


def _object_text(value: Value, scale: int | None) -> str:
    if isinstance(value, str):
        node = _constant_node(value)
        return (
            node
            or '"'
            + constant_content(value)
            .replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            + '"'
        )
    if scale is None:
        return f'"{value}"^^<{XSD}integer>'
    with localcontext() as exact:
        exact.prec = 60
        return f'"{format(Decimal(value) / scale, "f")}"^^<{XSD}decimal>'


def _unescape(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or "0", 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise AtomError(f"{found[0]} is no character")
    if found[3] and found[3] not in _ESCAPED:
        raise AtomError(f"{found[0]} is no escape")
    return _ESCAPED[found[3]] if found[3] else chr(code)


def _scale(number: str, scale: int | None) -> str:
    """``number`` times ``scale``, as an integer. Raises: AtomError where it is none."""
    with localcontext() as exact:
        exact.prec = 200
        exact.traps[Inexact] = True
        try:
            found = Decimal(number) * (scale or 1)
            if found.is_finite() and found == found.to_integral_value():
                if found.adjusted() > 20:
                    raise AtomError(f"the integer {number[:40]} is beyond 64 bits")
                return f"{found:.0f}"
        except DecimalException:
            pass
    raise AtomError(
        f"{number[:80]} is no whole number{f' when scaled by {scale}' if scale else ''}"
    )


def _parse_bounded(number: str) -> int:
    found = int(number) if len(number) <= 40 else LIMIT
    if not -LIMIT <= found < LIMIT:
        raise AtomError(f"the integer {number[:40]} is beyond 64 bits")
    return found


#: Rows that span more points than this are no rows of ours.
LONGEST_SPAN = 10_000_000


@dataclass
class RuleRecordReader:
    """Reads records. ``format``: log, jsonl, or auto: a line that begins with { is JSON."""

    triples: TripleMapping
    unit: str = "sec"
    format: str = "auto"

    @staticmethod
    def for_texts(unit: str = "sec") -> RuleRecordReader:
        """A reader for programs that map no triples."""
        return RuleRecordReader(TripleMapping((), unit), unit)

    def read_events(self, record: Record) -> Iterator[Event]:
        """What a record says, point by point. Raises: EventError."""
        if record.problem:
            raise EventError(record.problem)
        if record.event is not None:
            yield record.event
            return
        try:
            text = record.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise EventError(f"no UTF-8: {error.reason} at byte {error.start}") from None
        if self.format == "log" or (self.format != "jsonl" and not text.lstrip().startswith("{")):
            t, atoms = read_line(text, self.unit)
            yield Event(t, atoms=tuple(atoms))
            return
        row = _parse_row(text)
        if row is None:
            yield parse_event(text, self.unit)
        elif "types" in row:
            yield Event(parse_time(row, self.unit), atoms=self._type_atoms(row["types"]))
        else:
            start, end = (
                parse_time({"t": row["from"]}, self.unit),
                parse_time({"t": row["to"]}, self.unit),
            )
            if end < start:
                raise EventError(f"a row from {start} to {end} ends before it begins")
            if end - start > LONGEST_SPAN:
                raise EventError(f"from {start} to {end} are more than {LONGEST_SPAN:,} points")
            span = _span_atoms(row)
            for t in range(start, end + 1):
                yield Event(t, atoms=span)

    def record_time(self, record: Record) -> int | None:
        """The (first) time of a record, by which sources are merged; None where it has none."""
        try:
            return next(self.read_events(record)).t
        except (EventError, StopIteration):
            return None

    def _type_atoms(self, types: Any) -> tuple[str, ...]:
        if not isinstance(types, dict) or not all(
            isinstance(classes, list) for classes in types.values()
        ):
            raise EventError('"types" is an object of lists')
        found = (
            self.triples.class_atom(str(iri), _node_text(name))
            for name, classes in types.items()
            for iri in classes
        )
        return tuple(atom for atom in found if atom is not None)


def parse_record(record: Record, unit: str = "sec") -> Event:
    """The one event of a record, its types as triples. Raises: EventError for what is none, and
    for a row that spans points.
    """
    text = record.data.decode("utf-8-sig", "backslashreplace")
    is_json = record.event is None and not record.problem and text.lstrip().startswith("{")
    row = _parse_row(text) if is_json else None
    if row is not None and "types" in row:
        types = row["types"] if isinstance(row["types"], dict) else {}
        triples = tuple(
            f"{_node_text(name)} <{RDF}type> <{iri}> ."
            for name, classes in types.items()
            for iri in classes
        )
        return Event(parse_time(row, unit), triples)
    if row is not None:
        raise EventError("a row that spans points is read in one process alone (--engine local)")
    return (
        event_from_record(record, unit)
        if is_json
        else next(RuleRecordReader.for_texts(unit).read_events(record))
    )


def _parse_row(text: str) -> dict[str, Any] | None:
    """A row of another stream command; None for anything else."""
    try:
        row = json.loads(text, object_pairs_hook=unique_members)
    except (ValueError, RecursionError):
        return None
    is_row = isinstance(row, dict) and (
        ("from" in row and "to" in row) or ("types" in row and "verdict" in row)
    )
    return row if is_row else None


def _span_atoms(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The atoms of a run of verdicts, or of a final conflict."""
    if "verdict" in row:
        return (f"verdict({row['verdict']})",)
    if not row.get("final", True):
        return ()
    members = row.get("conflict")
    if not isinstance(row.get("individual"), str) or not isinstance(members, list):
        raise EventError("this is no event, no run of verdicts and no conflict")
    who = _name_constant(row["individual"])
    return tuple(f"conflict({who},{_name_constant(str(member))})" for member in members)


def _node_text(name: str) -> str:
    return name if name.startswith("_:") else f"<{name}>"


def _name_constant(name: str) -> str:
    return string_constant(name) if name.startswith(("_:", "∃")) else f"<{name}>"


@dataclass
class SortedSource:
    """A finite source whose rows span points: what it says, sorted by time. Position: how many
    of these.
    """

    source: Source
    reader: RuleRecordReader
    position: int = 0

    @property
    def name(self) -> str:
        return self.source.name

    def read(self, follow: bool) -> Iterator[Record]:
        found: list[tuple[int, int, Record]] = []
        for record in self.source.read(False):
            try:
                parts = list(self.reader.read_events(record))
            except EventError as error:
                found.append(
                    (
                        -1,
                        len(found),
                        Record(record.source, record.line, record.data, problem=str(error)),
                    )
                )
                continue
            for event in parts:
                found.append(
                    (event.t, len(found), Record(record.source, record.line, record.data, event))
                )
        found.sort(key=lambda one: one[:2])
        for number, (_, _, record) in enumerate(found, 1):
            if number > self.position:
                self.position = number
                yield record


def has_spans(path: str) -> bool:
    """Whether the first line of a file is a row that spans points."""
    record = next(LinesFile(Path(path)).read(False), None)
    row = None if record is None else _parse_row(record.data.decode("utf-8-sig", "replace"))
    return row is not None and "from" in row

"""Read records for rules: log lines, events, and rows of other stream commands; map RDF to atoms.

A verdict or conflict row of `shiq stream consistency` holds at each t from its ``from`` to its
``to``. A row of `shiq stream enrich` states the classes of an event's individuals.

``#rdf`` directives map RDF statements to atoms and back (docs/RULES.md, "RDF"). An IRI is the
constant <IRI>. Integers are kept. Decimals and floats are scaled, and refused if the result is not
an integer. Date-times become units of the timeline. Other literals and blank nodes become strings.

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
from shiq.rml.model import require_unique_members
from shiq.streams.front.event import (
    Event,
    EventError,
    Record,
    event_from_record,
    parse_event,
    parse_time,
)
from shiq.streams.front.sources import LinesFileSource, Source
from shiq.streams.rules.model import Model
from shiq.streams.rules.syntax import (
    INTEGER_LIMIT,
    PredicateMapping,
    Row,
    Value,
    atom_text,
    constant_content,
    constant_kind,
    make_string_constant,
)
from shiq.streams.rules.tokens import AtomError, read_log_line

_IRI_PATTERN: Final = r"""<[^\x00-\x20<>"{}|^`\\]*>"""
_NODE_PATTERN: Final = rf"{_IRI_PATTERN}|_:[^\s<>\"]+"
_TRIPLE_PATTERN: Final = re.compile(
    rf"\s*({_NODE_PATTERN})\s*({_IRI_PATTERN})\s*(?:({_NODE_PATTERN})|\"((?:[^\"\\\r\n]|\\.)*)\"(?:\^\^({_IRI_PATTERN})|@[A-Za-z0-9-]+)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE_PATTERN: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED_CHARACTERS: Final = {
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
_INTEGER_TYPES: Final = frozenset(XSD + name for name in _KINDS_OF_INTEGER.split())
_FRACTION_TYPES: Final = frozenset({XSD + "decimal", XSD + "double", XSD + "float"})
_BLANKS: Final = " \t\r\n"
_TIME_TYPES: Final = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
#: The graph of a point, and its time.
POINT_GRAPH: Final = "<urn:shiq:point:{t}>"


class TripleMapping:
    """Two-way mapping between RDF triples and atoms, by the #rdf directives of a program: classes
    and properties are predicates.

    unmapped_count: number of triples without a mapping.
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
        """Convert an N-Triples statement to the text of an atom; None if no directive maps its
        class or property.

        Raises: AtomError for a malformed statement or an inexact number.
        """
        found = _TRIPLE_PATTERN.fullmatch(triple)
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
            _node_to_constant(node)
            if node is not None
            else self._literal_value(literal, (datatype or "")[1:-1], mapped)
        )
        return f"{mapped.predicate[:-2]}({_node_to_constant(subject)},{value})"

    def class_atom(self, iri: str, node: str) -> str | None:
        """Text of the atom that says that ``node`` (<IRI> or _:label) is a member of a class; None
        if no directive maps the class.
        """
        mapped = self.classes.get(iri)
        if mapped is None:
            self.unmapped_count += 1
            return None
        return f"{mapped.predicate[:-2]}({_node_to_constant(node)})"

    def _literal_value(self, literal: str, datatype: str, mapped: PredicateMapping) -> Value:
        """Convert an RDF literal to a constant of the rule language. Raises: AtomError."""
        text = _ESCAPE_PATTERN.sub(_unescape_character, literal) if "\\" in literal else literal
        if datatype in _INTEGER_TYPES | _FRACTION_TYPES:
            if (wrong := ill_typed_reason(Literal(text, datatype))) is not None:
                raise AtomError(wrong)
            number = text.strip(_BLANKS)
            return _parse_64_bit_integer(
                number if datatype in _INTEGER_TYPES else _scale_number(number, mapped.scale)
            )
        if datatype in _TIME_TYPES:
            try:
                return parse_time({"t": text}, self.unit)
            except EventError:
                raise AtomError(f"{text[:80]!r} is not of type {datatype}") from None
        return make_string_constant(text)

    def atom_to_quad(self, predicate: str, row: Row, t: int) -> str | None:
        """Convert an atom to a statement of N-Quads in the graph of its time ``t``; None if its
        first argument is no IRI or blank node.
        """
        mapped, subject = self.by_predicate[predicate], _constant_to_node(row[0])
        if subject is None:
            return None
        graph = POINT_GRAPH.format(t=t)
        if len(row) == 1:
            return f"{subject} <{RDF}type> <{mapped.iri}> {graph} ."
        return f"{subject} <{mapped.iri}> {_constant_to_object(row[1], mapped.scale)} {graph} ."

    def model_quads(self, model: Model, derived: bool) -> tuple[list[str], list[str]]:
        """Convert the mapped atoms of a model to sorted N-Quads; also return the atoms that cannot
        be converted.
        """
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


def _node_to_constant(node: str) -> str:
    """Constant of the rule language for an IRI or blank node."""
    return node if node.startswith("<") else make_string_constant(node)


def _constant_to_node(value: Value) -> str | None:
    """IRI or blank node that a constant stands for; None for other constants."""
    if not isinstance(value, str):
        return None
    if constant_kind(value) == 3:
        return value
    return (
        constant_content(value)
        if constant_kind(value) == 2 and constant_content(value).startswith("_:")
        else None
    )


def _constant_to_object(value: Value, scale: int | None) -> str:
    """N-Quads text of a constant as the object of a statement; integers are divided by ``scale``."""
    if isinstance(value, str):
        node = _constant_to_node(value)
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


def _unescape_character(found: re.Match[str]) -> str:
    """Character for an escape sequence of N-Triples."""
    code = int(found[1] or found[2] or "0", 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise AtomError(f"{found[0]} is no character")
    if found[3] and found[3] not in _ESCAPED_CHARACTERS:
        raise AtomError(f"{found[0]} is no escape")
    return _ESCAPED_CHARACTERS[found[3]] if found[3] else chr(code)


def _scale_number(number: str, scale: int | None) -> str:
    """Multiply a decimal number, as text, by the ``scale`` of an #rdf directive. Raises: AtomError
    if the result is no integer.
    """
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


def _parse_64_bit_integer(number: str) -> int:
    """Parse the text of an integer. Raises: AtomError beyond 64 bits."""
    found = int(number) if len(number) <= 40 else INTEGER_LIMIT
    if not -INTEGER_LIMIT <= found < INTEGER_LIMIT:
        raise AtomError(f"the integer {number[:40]} is beyond 64 bits")
    return found


#: Rows that span more points than this are no rows of ours.
LONGEST_SPAN = 10_000_000


@dataclass
class RuleRecordReader:
    """Reader of input records for rule programs: log lines, JSON events, and output rows of other
    stream commands.

    format: log, jsonl, or auto (a line that begins with { is JSON).
    """

    triples: TripleMapping
    unit: str = "sec"
    format: str = "auto"

    @staticmethod
    def for_texts(unit: str = "sec") -> RuleRecordReader:
        """Make a record reader for programs without #rdf directives."""
        return RuleRecordReader(TripleMapping((), unit), unit)

    def read_events(self, record: Record) -> Iterator[Event]:
        """Yield the events of a record; a row for a period gives one per time point. Raises:
        EventError.
        """
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
            t, atoms = read_log_line(text, self.unit)
            yield Event(t, atoms=tuple(atoms))
            return
        row = _parse_row(text)
        if row is None:
            yield parse_event(text, self.unit)
        elif "types" in row:
            yield Event(parse_time(row, self.unit), atoms=self._class_atoms(row["types"]))
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
        """First time of a record, by which sources are merged; None if it has none."""
        try:
            return next(self.read_events(record)).t
        except (EventError, StopIteration):
            return None

    def _class_atoms(self, types: Any) -> tuple[str, ...]:
        """Atoms for the classes of individuals in an output row of ``shiq stream enrich``.
        ``types``: class IRIs by individual.
        """
        if not isinstance(types, dict) or not all(
            isinstance(classes, list) for classes in types.values()
        ):
            raise EventError('"types" is an object of lists')
        found = (
            self.triples.class_atom(str(iri), _name_to_node(name))
            for name, classes in types.items()
            for iri in classes
        )
        return tuple(atom for atom in found if atom is not None)


def parse_record(record: Record, unit: str = "sec") -> Event:
    """Parse a record as one event; classes of individuals become triples.

    Raises: EventError for a malformed record and for a row that spans several points.
    """
    text = record.data.decode("utf-8-sig", "backslashreplace")
    is_json = record.event is None and not record.problem and text.lstrip().startswith("{")
    row = _parse_row(text) if is_json else None
    if row is not None and "types" in row:
        types = row["types"] if isinstance(row["types"], dict) else {}
        triples = tuple(
            f"{_name_to_node(name)} <{RDF}type> <{iri}> ."
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
    """Parse a JSON record that is an output row of another stream command; None for anything else."""
    try:
        row = json.loads(text, object_pairs_hook=require_unique_members)
    except (ValueError, RecursionError):
        return None
    is_row = isinstance(row, dict) and (
        ("from" in row and "to" in row) or ("types" in row and "verdict" in row)
    )
    return row if is_row else None


def _span_atoms(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Atoms for an output row of ``shiq stream consistency``: a verdict, or a final conflict of an
    individual.
    """
    if "verdict" in row:
        return (f"verdict({row['verdict']})",)
    if not row.get("final", True):
        return ()
    members = row.get("conflict")
    if not isinstance(row.get("individual"), str) or not isinstance(members, list):
        raise EventError("this is no event, no run of verdicts and no conflict")
    who = _name_to_constant(row["individual"])
    return tuple(f"conflict({who},{_name_to_constant(str(member))})" for member in members)


def _name_to_node(name: str) -> str:
    """N-Triples text of an individual's name: an IRI or blank node."""
    return name if name.startswith("_:") else f"<{name}>"


def _name_to_constant(name: str) -> str:
    """Constant of the rule language for the name of an individual or class."""
    return make_string_constant(name) if name.startswith(("_:", "∃")) else f"<{name}>"


@dataclass
class ExpandedSource:
    """Finite source whose rows for periods are expanded to one event per time point, sorted by
    time.

    Position: number of expanded events.
    """

    source: Source
    reader: RuleRecordReader
    position: int = 0

    @property
    def name(self) -> str:
        """Name of the underlying source."""
        return self.source.name

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the expanded events after ``position``."""
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


def has_span_rows(path: str) -> bool:
    """Whether the first line of a file is a row for a period ("from", "to") instead of a time."""
    record = next(LinesFileSource(Path(path)).read(False), None)
    row = None if record is None else _parse_row(record.data.decode("utf-8-sig", "replace"))
    return row is not None and "from" in row

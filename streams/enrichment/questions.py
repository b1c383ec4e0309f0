"""Parse records as questions: an event's key and a way to get its assertions, or the answer itself
if known at once.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.inputs.catalog import Catalog, read_catalog
from shiq.rml.model import TYPE, MappingJoin, ReferencePath, Statement, TermMap, TriplesMap
from shiq.rml.program import (
    JsonNumber,
    MappingProgram,
    MissingValueError,
    lexical_form,
    make_token,
    natural_datatype,
    parse_record,
)
from shiq.streams.enrichment.answers import EnrichedEvent
from shiq.streams.enrichment.cache import CacheEntry
from shiq.streams.enrichment.jsonld import JsonRecord, parse_jsonld_record, parse_optional_time
from shiq.streams.enrichment.key import CountedValue, EventKey, IllTypedError, KeyMaker
from shiq.streams.enrichment.knowledge import StaticKnowledge
from shiq.streams.enrichment.statements import (
    UnkeyableEventError,
    event_lines,
    read_rdf,
    split_lines,
    to_assertions,
)
from shiq.streams.front.event import Event, EventError, Record, event_from_record
from shiq.support import LazySequence


class EventQuestion(NamedTuple):
    """Question for the types of an event, identified by its key.

    assertions: function that makes the assertions when they are needed.
    entry: the answer if it was found elsewhere.
    """

    event_key: EventKey
    lines: Sequence[str] = ()
    assertions: Callable[[], Sequence[owl.Assertion]] = tuple
    entry: CacheEntry | None = None


class EventReader:
    """Reader of events over one ontology and static data; ``program``: mapping for raw records."""

    def __init__(self, knowledge: StaticKnowledge, program: MappingProgram | None = None) -> None:
        self.knowledge, self.program = knowledge, program
        self.keys = KeyMaker(knowledge)
        self.record_keys = None if program is None else MappedRecordKeys(program, self.keys)

    def make_question(self, event: Any) -> EventQuestion | EnrichedEvent:
        """Make the question of an event (N-Triples lines, an `ABox`, an rdflib Graph, or a dict).
        Return an undetermined or inconsistent answer if that is known at once.

        A dict is JSON-LD, or a raw record if there is a mapping.
        """
        # A dict at first sight: the general question costs as much as a look-up.
        if self.record_keys is not None and (type(event) is dict or isinstance(event, Mapping)):
            return self._make_record_question(event, self.record_keys)
        try:
            lines = event if type(event) is list else self.lines_of(event)
        except ValueError as error:
            return undetermined_answer(str(error))
        try:
            statements = split_lines(lines)
            keyed = self.keys.key_of_statements(statements)
        except UnkeyableEventError:
            return self._make_complex_question(lines)
        except IllTypedError as error:
            return self._make_ill_typed_question(lines, str(error))
        return EventQuestion(keyed, lines, lambda: to_assertions(statements, self.keys.vocabulary))

    def lines_of(self, event: Any) -> list[str]:
        """N-Triples lines of an event. Raises: ValueError if a record lacks a value."""
        if not isinstance(event, Mapping):
            return event_lines(event)
        return (
            self.read_jsonld(json.dumps(event)).lines
            if self.program is None
            else _to_ntriples(self.program.statements(event))
        )

    def read_jsonld(self, text: str | bytes, unit: str = "sec") -> JsonRecord:
        """Parse a JSON-LD record. Raises: EventError."""
        return parse_jsonld_record(
            text, unit, self._catalog, lenient="malformed" in self.knowledge.allow
        )

    @cached_property
    def _catalog(self) -> Catalog | None:
        """Catalog for JSON-LD contexts."""
        return read_catalog(self.knowledge.catalog) if self.knowledge.catalog else None

    def _make_record_question(
        self, record: Mapping[str, Any], direct: MappedRecordKeys
    ) -> EventQuestion | EnrichedEvent:
        """Make the question of a raw record."""
        statements: Sequence[Statement]
        try:
            found = direct.find_record_key(record) if direct.is_possible else None
            if found is not None:
                keyed, tokens = found
                lines = LazySequence(
                    direct.statement_count, lambda: _to_ntriples(direct.statements(tokens))
                )
                return EventQuestion(
                    keyed,
                    lines,
                    lambda: to_assertions(direct.statements(tokens), self.keys.vocabulary),
                )
            statements = direct.program.statements(record)
        except MissingValueError as error:
            return undetermined_answer(str(error))
        except IllTypedError:
            statements = direct.program.statements(record)
        except UnkeyableEventError:
            return self._make_complex_question(_to_ntriples(direct.program.statements(record)))
        return self.make_question(_to_ntriples(statements))

    def _make_complex_question(self, lines: Sequence[str]) -> EventQuestion | EnrichedEvent:
        """Make the question of an event whose lines need the full RDF reader."""
        found = read_rdf(lines, self.knowledge)
        if found.reason:
            return undetermined_answer(found.reason, lines)
        try:
            keyed = self.keys.key_of_assertions(found.assertions)
        except IllTypedError as error:
            return self._make_ill_typed_question(lines, str(error), found.assertions)
        return EventQuestion(keyed, lines, lambda: found.assertions)

    def _make_ill_typed_question(
        self, lines: Sequence[str], reason: str, assertions: Sequence[owl.Assertion] | None = None
    ) -> EventQuestion | EnrichedEvent:
        """Answer "inconsistent" for an event with an ill-typed literal. If such literals are
        allowed, make the question of its other assertions.
        """
        if "ill-typed" not in self.knowledge.allow:
            return EnrichedEvent(CacheEntry(Verdict.INCONSISTENT, reason=reason), (), False, lines)
        from shiq.jobs.checking.inputs import drop_ill_typed
        from shiq.model.abox import abox_of

        given = read_rdf(lines, self.knowledge).assertions if assertions is None else assertions
        kept = tuple(drop_ill_typed(abox_of(given))[0])
        return EventQuestion(self.keys.key_of_assertions(kept), lines, lambda: kept)


def undetermined_answer(reason: str, lines: Sequence[str] = ()) -> EnrichedEvent:
    """Answer for an event that cannot be read."""
    return EnrichedEvent(CacheEntry(Verdict.UNDETERMINED, reason=reason), (), False, lines)


def _to_ntriples(statements: Iterable[Statement]) -> list[str]:
    """N-Triples lines of statements."""
    return [f"{subject} {predicate} {object} ." for subject, predicate, object in statements]


# Records of a source as events to be enriched: JSON lines of triples, or raw records of a mapping.


class RecordEvent(NamedTuple):
    """Content of a record: time and name if it has them, and the event as
    `EventReader.make_question` takes it.

    problem: why the record is not an event, with its ``text``.
    """

    t: int | None
    id: str | None
    event: Any = None
    problem: str = ""
    text: str = ""


@dataclass
class RecordReader:
    """Reader of the records of a source.

    unit: unit to which date-times are rounded down.
    form: triples, jsonld, or json or csv for a mapping.
    head: names of CSV columns once they were read.
    """

    unit: str = "sec"
    form: str = "triples"
    head: list[str] | None = None

    @classmethod
    def for_reader(cls, reader: EventReader, unit: str, *, jsonld: bool = False) -> RecordReader:
        """Make the record reader that fits an event reader: for raw records with a mapping,
        JSON-LD, or triples.
        """
        return cls(
            unit,
            "jsonld"
            if jsonld
            else "triples"
            if reader.program is None
            else reader.program.maps[0].source.form,
        )

    def read_header(self, record: Record) -> bool:
        """Whether the record is the CSV header; if so, store the column names."""
        if self.form != "csv" or self.head is not None:
            return False
        self.head = next(csv.reader([record.data.decode("utf-8-sig", "backslashreplace")]))
        return True

    def wrap_untimed(
        self, record: Record, unit: str = "", reader: EventReader | None = None
    ) -> Event:
        """Wrap a record as an event whose time is irrelevant, even if it is malformed."""
        try:
            found = self.read_record(record, reader)
        except EventError as error:
            found = RecordEvent(error.t, error.id, None, str(error), record.text)
        return Event(0, (), (), None, found)

    def read_record(self, record: Record, reader: EventReader | None) -> RecordEvent:
        """Parse a record. Raises: EventError."""
        if record.problem or record.event is not None or self.form == "triples":
            event = event_from_record(record, self.unit)
            return RecordEvent(event.t, event.id, [*event.triples])
        if self.form == "jsonld":
            assert reader is not None
            return RecordEvent(*reader.read_jsonld(record.data, self.unit))
        raw = self._parse_raw(record.data)
        name = raw.get("id")
        return RecordEvent(
            parse_optional_time(raw.get("t"), self.unit),
            str(name) if isinstance(name, str) else None,
            raw,
        )

    def parse_timed(self, record: Record, reader: EventReader) -> Event:
        """Parse a record that must have a time as an event. Raises: EventError."""
        if self.form == "triples":
            return event_from_record(record, self.unit)
        t, name, event, *_ = self.read_record(record, reader)
        if t is None:
            raise EventError('in a window an event has a time: "t"')
        try:
            return Event(t, tuple(reader.lines_of(event)), id=name)
        except ValueError as error:
            raise EventError(str(error)) from None

    def _parse_raw(self, data: bytes) -> dict[str, Any]:
        """Parse a raw JSON or CSV record as a dict. Raises: EventError."""
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


#: Literals of one term, and combinations of what a key rests on, that are remembered.
_MOST_CACHED: Final = 200_000


#: Position in a mapping's statements whose term varies by record: makes its token from a row; and
#: the predicate, if it is a literal.
_TermSlot: TypeAlias = tuple[Callable[[Any], str], str]


class MappedRecordKeys:
    """Fast keys for the records of a mapping, cached by the parts of a record that keys depend on.

    These are names of static individuals, regions of values, and equalities between values.
    """

    def __init__(self, program: MappingProgram, keys: KeyMaker) -> None:
        self.program, self.keys = program, keys
        self._slots, self._pattern = list[_TermSlot](), list[tuple[int | str, str, int | str]]()
        self.keys_by_code: dict[tuple[Hashable, ...], tuple[Any, tuple[int | str | None, ...]]] = {}
        self._codes: list[dict[str, Any] | None] = []
        self._constants: dict[Any, int] = {}
        self.is_possible = all(self._add_map(m, program) for m in program.maps)

    @property
    def statement_count(self) -> int:
        """Number of statements that the mapping makes of a record."""
        return len(self._pattern)

    def _add_map(self, triples_map: TriplesMap, program: MappingProgram) -> bool:
        """Add a triples map. Return whether it gives exactly one statement per record for each
        predicate and class, which fast keys need.
        """
        if any(
            step is None for step in triples_map.source.iterator[1:]
        ) or triples_map.source.iterator not in ((), (None,)):
            return False
        subject = self._add_term(triples_map.subject, program, "")
        self._pattern += [(subject, TYPE, f"<{iri}>") for iri in triples_map.classes]
        for predicate, value in triples_map.predicate_objects:
            term = (
                program.parents[value.parent].subject
                if isinstance(value, MappingJoin) and not value.conditions
                else value
            )
            if not predicate.constant or (
                predicate.constant == TYPE and not (isinstance(term, TermMap) and term.constant)
            ):
                return False
            self._pattern.append(
                (subject, predicate.constant, self._add_term(term, program, predicate.constant))
            )
        return all(place is not None for s, _, o in self._pattern for place in (s, o))

    def _add_term(
        self, term: TermMap | MappingJoin, program: MappingProgram, predicate: str
    ) -> int | str:
        """Add a term map. Return the index of its slot in records' tokens, or its term if that is
        constant.
        """
        if isinstance(term, TermMap) and term.constant:
            if term.kind == "IRI":
                self._constants.setdefault(term.constant, -1 - len(self._constants))
            return term.constant
        is_literal = isinstance(term, TermMap) and term.kind == "Literal"
        self._slots.append((_make_token_function(term, program), predicate if is_literal else ""))
        self._codes.append({} if is_literal else None)
        return len(self._slots) - 1

    def find_record_key(self, record: Any) -> tuple[EventKey, list[str]] | None:
        """Key and tokens of a record; None if a reference has no value or several, so that the
        general reader is needed.
        """
        try:
            tokens = [make_token(record) for make_token, _ in self._slots]
        except (LookupError, TypeError):
            return None
        fixed, seen, codes = self.keys.fixed_tokens, self._constants.copy(), list[Any]()
        for token, memo in zip(tokens, self._codes):
            if memo is None:
                codes.append(token if token in fixed else seen.setdefault(token, len(seen)))
                continue
            said = memo.get(token)
            if type(said) is str:
                codes.append(said)
                continue
            if said is None:
                if len(memo) >= _MOST_CACHED:
                    memo.clear()
                said = memo[token] = self.keys.normalise_statement(
                    self._slots[len(codes)][1], token
                )
            codes.append(
                (said.atom, seen.setdefault(said.value, len(seen)))
                if isinstance(said, CountedValue)
                else said
            )
        code = tuple(codes)
        found = self.keys_by_code.get(code)
        if found is None:
            keyed = self.keys.key_of_statements(self.statements(tokens))
            if len(self.keys_by_code) >= _MOST_CACHED:
                self.keys_by_code.clear()
            where = {token: i for i, token in reversed([*enumerate(tokens)])}
            order = tuple(
                where.get(name, name) if isinstance(name, str) else None for name in keyed.order
            )
            self.keys_by_code[code] = keyed.key, order
            return keyed, tokens
        key, places = found
        return EventKey(
            key, [tokens[place] if type(place) is int else place for place in places]
        ), tokens

    def statements(self, tokens: Sequence[str]) -> list[Statement]:
        """Statements of a record with these tokens."""
        return [
            (_resolve_token(s, tokens), p, _resolve_token(o, tokens)) for s, p, o in self._pattern
        ]


def _resolve_token(slot: int | str, tokens: Sequence[str]) -> str:
    """Token in the slot with index ``slot``, or ``slot`` itself if it is a constant."""
    return tokens[slot] if isinstance(slot, int) else slot


def _make_token_function(
    term: TermMap | MappingJoin, program: MappingProgram
) -> Callable[[Any], str]:
    """Make a function from a row to its token; it raises LookupError unless each reference has one
    value.
    """
    if isinstance(term, MappingJoin):
        index, paths = program.parent_subjects(term), [child for child, _ in term.conditions]

        def join_row(row: Any) -> str:
            """Token of the single parent subject that a row joins with."""
            found = index[tuple([_row_text(row, path) for path in paths])]
            if len(found) != 1:
                raise LookupError
            return found[0]

        return join_row
    paths = [part for part in term.parts if not isinstance(part, str)]
    prefix, path = term.parts[0], paths[0]
    if len(term.parts) == 2 and term.kind == "IRI" and prefix and len(path) == 1:
        begun, name = f"<{prefix}", path[0]

        def make_short_iri(row: Any) -> str:
            """Token of an IRI with a fixed prefix and a plain value."""
            text = row[name]
            if type(text) is not str or not text.isascii() or not text.isalnum():
                return make_token(term, [_row_text(row, path)])
            return f"{begun}{text}>"

        return make_short_iri
    end = f'"^^<{term.datatype}>'
    if (
        term.kind == "Literal"
        and len(term.parts) == 2
        and term.datatype
        and prefix == ""
        and len(path) == 1
    ):
        name = path[0]

        def make_number(row: Any) -> str:
            """Token of a number."""
            text = row[name]
            return (
                f'"{text}{end}'
                if type(text) is JsonNumber
                else make_token(term, [_row_text(row, path)])
            )

        return (
            make_number
            if term.datatype != owl.XSD + "string"
            else lambda row: make_token(term, [_row_text(row, path)])
        )
    by_itself = (
        term.has_natural_datatype and len(paths) == 1 and not term.datatype and not term.language
    )
    return lambda row: make_token(
        term,
        [_row_text(row, path) for path in paths],
        natural_datatype(_row_value(row, paths[0])) if by_itself else "",
    )


def _row_value(row: Any, path: ReferencePath) -> Any:
    """Value at a path of a row. Raises: LookupError."""
    for step in path:
        row = row[step]
    if row is None or isinstance(row, dict | list):
        raise LookupError
    return row


def _row_text(row: Any, path: ReferencePath) -> str:
    """Text of the value at a path of a row."""
    return lexical_form(_row_value(row, path), path)

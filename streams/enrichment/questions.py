"""What an event asks: its key, and its assertions where it was not met before; or its answer,
where nothing has to be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from shiq import model as owl
from shiq.catalog import Catalog, read_catalog
from shiq.lazily import Lazily
from shiq.rml.compiled import MappingProgram, MissingValueError
from shiq.rml.tokens import Statement
from shiq.verdict import Verdict
from streams.enrichment.answers import EnrichedEvent
from streams.enrichment.cache import Entry
from streams.enrichment.direct import Direct
from streams.enrichment.jsonld import JsonRecord, record_of
from streams.enrichment.key import IllTypedError, Keys
from streams.enrichment.knowledge import StaticKnowledge
from streams.enrichment.positions import EventKey
from streams.enrichment.reading import lines_of, read
from streams.enrichment.statements import OddError, assertions_of, split


class EventQuestion(NamedTuple):
    """An event by its key; ``assertions`` are made where they are needed."""

    keyed: EventKey
    lines: Sequence[str]
    assertions: Callable[[], Sequence[owl.Assertion]]


class EventReader:
    """Reads events over one (T, B); raw records by ``program``."""

    def __init__(self, knowledge: StaticKnowledge, program: MappingProgram | None = None) -> None:
        self.knowledge, self.program = knowledge, program
        self.keys = Keys(knowledge)
        self.direct = None if program is None else Direct(program, self.keys)

    def question(self, event: Any) -> EventQuestion | EnrichedEvent:
        """Of N-Triples lines, an `ABox`, an rdflib Graph; of a dict: JSON-LD, and with a mapping
        a raw record.
        """
        # A dict at first sight: the general question costs as much as a look-up.
        if self.direct is not None and (type(event) is dict or isinstance(event, Mapping)):
            return self._of_record(event, self.direct)
        try:
            lines = event if type(event) is list else self.lines_of(event)
        except ValueError as error:
            return undecided(str(error))
        try:
            statements = split(lines)
            keyed = self.keys.key(statements)
        except OddError:
            return self._odd(lines)
        except IllTypedError as error:
            return self._ill_typed(lines, str(error))
        return EventQuestion(keyed, lines, lambda: assertions_of(statements, self.keys.vocabulary))

    def lines_of(self, event: Any) -> list[str]:
        """The N-Triples lines of an event. Raises: ValueError for a record that lacks a value."""
        if not isinstance(event, Mapping):
            return lines_of(event)
        return (
            self.object(json.dumps(event)).lines
            if self.program is None
            else _lines(self.program.statements(event))
        )

    def object(self, text: str | bytes, unit: str = "sec") -> JsonRecord:
        """The record that is a JSON-LD object. Raises: EventError."""
        return record_of(text, unit, self._catalog, lenient="malformed" in self.knowledge.allow)

    @cached_property
    def _catalog(self) -> Catalog | None:
        return read_catalog(self.knowledge.catalog) if self.knowledge.catalog else None

    def _of_record(
        self, record: Mapping[str, Any], direct: Direct
    ) -> EventQuestion | EnrichedEvent:
        statements: Sequence[Statement]
        try:
            found = direct.keyed(record) if direct.is_possible else None
            if found is not None:
                keyed, tokens = found
                lines = Lazily(direct.size, lambda: _lines(direct.statements(tokens)))
                return EventQuestion(
                    keyed,
                    lines,
                    lambda: assertions_of(direct.statements(tokens), self.keys.vocabulary),
                )
            statements = direct.program.statements(record)
        except MissingValueError as error:
            return undecided(str(error))
        except IllTypedError:
            statements = direct.program.statements(record)
        except OddError:
            return self._odd(_lines(direct.program.statements(record)))
        return self.question(_lines(statements))

    def _odd(self, lines: Sequence[str]) -> EventQuestion | EnrichedEvent:
        """An event that is not of plain lines."""
        found = read(lines, self.knowledge)
        if found.reason:
            return undecided(found.reason, lines)
        try:
            keyed = self.keys.key_of(found.assertions)
        except IllTypedError as error:
            return self._ill_typed(lines, str(error), found.assertions)
        return EventQuestion(keyed, lines, lambda: found.assertions)

    def _ill_typed(
        self, lines: Sequence[str], reason: str, assertions: Sequence[owl.Assertion] | None = None
    ) -> EventQuestion | EnrichedEvent:
        """An event with a literal that denotes nothing: it contradicts, unless such are to be
        set aside.
        """
        if "ill-typed" not in self.knowledge.allow:
            return EnrichedEvent(Entry(Verdict.INCONSISTENT, reason=reason), (), False, lines)
        from jobs.checking.inputs import without_ill_typed
        from shiq.abox import abox_of

        given = read(lines, self.knowledge).assertions if assertions is None else assertions
        kept = tuple(without_ill_typed(abox_of(given))[0])
        return EventQuestion(self.keys.key_of(kept), lines, lambda: kept)


def undecided(reason: str, lines: Sequence[str] = ()) -> EnrichedEvent:
    """What is said of an event that cannot be read."""
    return EnrichedEvent(Entry(Verdict.UNDETERMINED, reason=reason), (), False, lines)


def _lines(statements: Iterable[Statement]) -> list[str]:
    return [f"{subject} {predicate} {object} ." for subject, predicate, object in statements]

"""Events enriched one by one: every type that (T, B ∪ E) entails of the individuals of E, exactly, reasoned once a structure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import Any

from shiq import model as owl
from shiq.errors import UsageError
from shiq.lazily import Lazily
from shiq.verdict import Verdict
from streams.enrichment.answers import Counts, Enriched, entry_of
from streams.enrichment.cache import Entries, Entry
from streams.enrichment.direct import Direct
from streams.enrichment.entries import EntriesFile
from streams.enrichment.key import IllTypedError, Keys
from streams.enrichment.knowledge import Knowledge
from streams.enrichment.mapping.compiled import MissingValueError, Program
from streams.enrichment.positions import Keyed
from streams.enrichment.prefill import Combinations, Prefilled
from streams.enrichment.reading import lines_of, read, together
from streams.enrichment.realize import Realizer
from streams.enrichment.statements import OddError, Statement, assertions_of, split


class Enricher:
    """See `open_enricher`. ``waiting`` is entered while an event is decided."""

    def __init__(
        self,
        knowledge: Knowledge,
        realizer: Realizer,
        entries: Entries,
        file: EntriesFile | None = None,
        program: Program | None = None,
    ) -> None:
        self.knowledge, self.realizer, self.entries, self.file, self.program = knowledge, realizer, entries, file, program
        self.keys = Keys(knowledge)
        self.direct = None if program is None else Direct(program, self.keys)
        for key, entry in file.load() if file is not None else ():
            entries.keep(key, entry)
        self.counts = Counts()
        self.prefilled: Prefilled | None = None
        self.waiting: AbstractContextManager[object] = nullcontext()
        self._generation = 0
        self._lock = threading.RLock()

    def __enter__(self) -> Enricher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def enrich(self, event: Any) -> Enriched:
        """The enrichment of ``event``: N-Triples lines, an `ABox`, an rdflib Graph; with a mapping a raw record, a dict."""
        begun = perf_counter()
        if self.direct is not None and isinstance(event, Mapping):
            return self._record(event, self.direct, begun)
        lines = event if type(event) is list else lines_of(event)
        try:
            statements = split(lines)
            keyed = self.keys.key(statements)
        except OddError:
            return self._odd(lines, begun)
        except IllTypedError as error:
            return self._ill_typed(lines, str(error))
        return self._answer(keyed, lines, begun, lambda: assertions_of(statements, self.keys.vocabulary))

    def enrich_all(self, events: Iterable[Any]) -> Iterator[Enriched]:
        """The enrichment of each of ``events``, in their order."""
        return map(self.enrich, events)

    def enrich_window(self, events: Iterable[Any]) -> Enriched:
        """What follows of ``events`` together: of B and all of them, as one event."""
        return self.enrich(together(self._lines_of(event) for event in events))

    def _lines_of(self, event: Any) -> list[str]:
        return self.lines_of_record(event) if isinstance(event, Mapping) else lines_of(event)

    def lines_of_record(self, record: Mapping[str, Any]) -> list[str]:
        """The N-Triples lines of a raw record. Raises: ValueError where it lacks a value."""
        return [] if self.program is None else _lines(self.program.statements(record))

    def _record(self, record: Mapping[str, Any], direct: Direct, begun: float) -> Enriched:
        """A raw record, by the mapping."""
        statements: Sequence[Statement]
        try:
            found = direct.keyed(record) if direct.is_possible else None
            if found is not None:
                keyed, tokens = found
                lines = Lazily(direct.size, lambda: _lines(direct.statements(tokens)))
                return self._answer(keyed, lines, begun, lambda: assertions_of(direct.statements(tokens), self.keys.vocabulary))
            statements = direct.program.statements(record)
        except MissingValueError as error:
            return self.undecided(str(error))
        except IllTypedError:
            statements = direct.program.statements(record)
        except OddError:
            return self._odd(_lines(direct.program.statements(record)), begun)
        return self.enrich(_lines(statements))

    def _odd(self, lines: Sequence[str], begun: float) -> Enriched:
        """An event that is not of plain lines."""
        found = read(lines, self.knowledge)
        if found.reason:
            return self.undecided(found.reason, lines)
        try:
            keyed = self.keys.key_of(found.assertions)
        except IllTypedError as error:
            return self._ill_typed(lines, str(error), found.assertions)
        return self._answer(keyed, lines, begun, lambda: found.assertions)

    def _ill_typed(self, lines: Sequence[str], reason: str, assertions: Sequence[owl.Assertion] | None = None) -> Enriched:
        """An event with a literal that denotes nothing: it contradicts, unless such are to be set aside."""
        if "ill-typed" not in self.knowledge.allow:
            self.counts.events += 1
            self.counts.misses += 1
            return self._told(Enriched(Entry(Verdict.INCONSISTENT, reason=reason), (), False, lines))
        from jobs.checking.inputs import without_ill_typed
        from shiq.abox import abox_of

        given = read(lines, self.knowledge).assertions if assertions is None else assertions
        kept = tuple(without_ill_typed(abox_of(given))[0])
        return self._answer(self.keys.key_of(kept), lines, perf_counter(), lambda: kept)

    def undecided(self, reason: str, lines: Sequence[str] = ()) -> Enriched:
        """What is said of an event that cannot be read."""
        self.counts.events += 1
        self.counts.misses += 1
        return self._told(Enriched(Entry(Verdict.UNDETERMINED, reason=reason), (), False, lines))

    def _answer(
        self, keyed: Keyed, lines: Sequence[str], begun: float, assertions: Callable[[], Sequence[owl.Assertion]]
    ) -> Enriched:
        counts = self.counts
        counts.events += 1
        found = None
        if keyed.key is not None:
            found = self.entries.find(keyed.key)
        looked_up = perf_counter()
        counts.seconds["keys"] += looked_up - begun
        if found is not None:
            counts.hits += 1
            if found.verdict is Verdict.INCONSISTENT:
                counts.inconsistent += 1
            return Enriched(found, keyed.order, True, lines)
        counts.misses += 1
        counts.bypassed += keyed.key is None
        entry = self._decided(keyed, assertions())
        counts.seconds["deciding"] += perf_counter() - looked_up
        return self._told(Enriched(entry, keyed.order, False, lines))

    def _decided(self, keyed: Keyed, assertions: Sequence[owl.Assertion]) -> Entry:
        """The entry of an event not met before; kept, unless B has changed meanwhile."""
        generation = self._generation
        with self.waiting:
            entry = entry_of(self.realizer.types(assertions), keyed)
        with self._lock:
            if keyed.key is not None and generation == self._generation:
                self.entries.keep(keyed.key, entry)
        return entry

    def prefill(self, limit: int | None = None) -> Prefilled:
        """Reasons ahead about all that the mapping can make (SPEC 001, section 7), up to ``limit`` entries, and no more than
        there is room for. Raises: UsageError without a mapping."""
        if self.program is None:
            raise UsageError("there is no mapping that says what events there can be", "Give one by --mapping.")
        room = self.entries.capacity - len(self.entries)
        combinations = Combinations(self.program, self.keys, self.knowledge)
        self.prefilled = combinations.each(room if limit is None else min(room, limit), self._ahead)
        return self.prefilled

    def _ahead(self, statements: Sequence[Statement]) -> Verdict | None:
        """The verdict on an event that did not come yet; None where there is nothing to find out."""
        try:
            keyed = self.keys.key(statements)
        except (OddError, IllTypedError):
            return None
        if keyed.key is None or keyed.key in self.entries or not self.entries.keeps:
            return None
        return self._decided(keyed, assertions_of(statements, self.keys.vocabulary)).verdict

    def _told(self, found: Enriched) -> Enriched:
        self.counts.add(found.verdict)
        return found

    def update_static(self, insertions: object = None, deletions: object = None) -> None:
        """Changes B, deletions first. What was decided under the old B is not kept. Raises: InputError where the new B and T
        contradict each other; the old B stays then."""
        knowledge = self.knowledge.updated(insertions, deletions)
        before = self.knowledge
        self.realizer.renew(knowledge)
        try:
            self.realizer.refuse_contradiction()
        except BaseException:
            self.realizer.renew(before)
            raise
        with self._lock:
            self._generation += 1
            self.knowledge, self.keys = knowledge, Keys(knowledge)
            self.direct = None if self.program is None else Direct(self.program, self.keys)
            self.entries.forget()
            if self.file is not None:
                self.file.begin_anew(self.realizer.made_by)

    @property
    def notes(self) -> list[str]:
        """What there is to say besides."""
        found = [self.file.note] if self.file is not None and self.file.note else []
        if self.prefilled is not None:
            found.append(str(self.prefilled))
        if not self.entries.keeps:
            found.append("below 5 % of 1,000 events in a row were met before: nothing more is kept")
        return found

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts, and seconds by what they went to."""
        counts, entries = self.counts, self.entries
        return {
            "events": counts.events,
            "hits": counts.hits,
            "misses": counts.misses,
            "hit_rate": round(counts.hits / counts.events, 6) if counts.events else 0.0,
            "entries": len(entries),
            "evictions": entries.evictions,
            "keeps": entries.keeps,
            "bypassed": counts.bypassed,
            "undetermined": counts.undetermined,
            "inconsistent": counts.inconsistent,
            "reasoner_calls": self.realizer.calls,
            "bytes": entries.bytes,
            "seconds": {name: round(spent, 3) for name, spent in counts.seconds.items()},
        }

    def close(self) -> None:
        """Lets the reasoners go, and puts the entries into their file; it may be called twice."""
        self.realizer.close()
        if self.file is not None:
            self.file.save(self.entries)


def _lines(statements: Iterable[Statement]) -> list[str]:
    return [f"{subject} {predicate} {object} ." for subject, predicate, object in statements]

"""Events enriched one by one: every type that (T, B ∪ E) entails of the individuals of E,
exactly, reasoned once a structure.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import Any

from shiq.amounts import count
from shiq.errors import UsageError
from shiq.rml.compiled import MappingProgram
from shiq.rml.tokens import Statement
from shiq.verdict import Verdict
from streams.enrichment.answers import EnrichedEvent, EnrichmentCounts, entry_of
from streams.enrichment.cache import Entries, Entry
from streams.enrichment.components import Components, WindowEvent
from streams.enrichment.entries import EntriesFile
from streams.enrichment.key import IllTypedError, Keys
from streams.enrichment.knowledge import StaticKnowledge
from streams.enrichment.prefill import Combinations, PrefillCounts
from streams.enrichment.questions import EventQuestion, EventReader, undecided
from streams.enrichment.reading import together
from streams.enrichment.realize import Realizer
from streams.enrichment.statements import OddError, assertions_of


class Enricher:
    """See `open_enricher`. ``waiting`` is entered while an event is decided."""

    def __init__(
        self,
        knowledge: StaticKnowledge,
        realizer: Realizer,
        entries: Entries,
        file: EntriesFile | None = None,
        program: MappingProgram | None = None,
    ) -> None:
        self.realizer, self.entries, self.file, self.program = realizer, entries, file, program
        #: Another one where B has changed.
        self.reader = EventReader(knowledge, program)
        for key, entry in file.load() if file is not None else ():
            entries.keep(key, entry)
        self.counts = EnrichmentCounts()
        self.prefilled: PrefillCounts | None = None
        self.waiting: AbstractContextManager[object] = nullcontext()
        self.components = Components(self._answer)
        self._lock = threading.RLock()

    def __enter__(self) -> Enricher:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def knowledge(self) -> StaticKnowledge:
        return self.reader.knowledge

    @property
    def keys(self) -> Keys:
        return self.reader.keys

    def enrich(self, event: Any) -> EnrichedEvent:
        """The enrichment of ``event``: N-Triples lines, an `ABox`, an rdflib Graph; with a
        mapping a raw record, a dict.
        """
        begun = perf_counter()
        reader = self.reader
        found = self._answer(reader.question(event), reader)
        self.counts.seconds["keys"] += perf_counter() - begun
        return self.told(found)

    def _answer(self, asked: EventQuestion | EnrichedEvent, reader: EventReader) -> EnrichedEvent:
        """The entry of a question that ``reader`` made; it is reasoned about where none is known."""
        if type(asked) is EnrichedEvent:
            return asked
        assert type(asked) is EventQuestion
        key, order = asked.keyed
        found = None if key is None else self.entries.find(key)
        if found is not None:
            return EnrichedEvent(found, order, True, asked.lines)
        begun = perf_counter()
        self.counts.bypassed += key is None
        entry = self._decided(asked, reader)
        spent, seconds = perf_counter() - begun, self.counts.seconds
        seconds["deciding"] += spent
        seconds["keys"] -= spent
        return EnrichedEvent(entry, order, False, asked.lines)

    def enrich_window(self, events: Iterable[Any]) -> EnrichedEvent:
        """What follows of ``events`` together, of B and all of them; for several windows of one
        stream see `window`.
        """
        return self.window([WindowEvent.of(self.reader.lines_of(event)) for event in events])

    def window(self, events: Sequence[WindowEvent]) -> EnrichedEvent:
        """The same; events that were in the window before are known again."""
        if not self.entries.capacity:
            return self.enrich(together(event.given for event in events))
        begun = perf_counter()
        found = self.components.enriched(events, self.reader)
        self.counts.seconds["keys"] += perf_counter() - begun
        return self.told(found)

    def undecided(self, reason: str) -> EnrichedEvent:
        """What is said of an event that cannot be read."""
        return self.told(undecided(reason))

    def told(self, found: EnrichedEvent) -> EnrichedEvent:
        """Counts an answer."""
        counts = self.counts
        counts.events += 1
        if found.hit:
            counts.hits += 1
        else:
            counts.misses += 1
        counts.undetermined += found.verdict is Verdict.UNDETERMINED
        counts.inconsistent += found.verdict is Verdict.INCONSISTENT
        return found

    def _decided(self, asked: EventQuestion, reader: EventReader) -> Entry:
        """The entry of an event not met before; kept, unless B has changed since its key was made."""
        with self.waiting:
            entry = entry_of(self.realizer.types(asked.assertions()), asked.keyed)
        with self._lock:
            if asked.keyed.key is not None and reader is self.reader:
                self.entries.keep(asked.keyed.key, entry)
        return entry

    def prefill(self, limit: int | None = None) -> PrefillCounts:
        """Reasons ahead about all that the mapping can make (SPEC 001, section 7), up to
        ``limit`` entries, and no more than there is room for. Raises: UsageError without a
        mapping.
        """
        if self.program is None:
            raise UsageError(
                "there is no mapping that says what events there can be", "Give one by --mapping."
            )
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
        if keyed.key is None or keyed.key in self.entries:
            return None
        asked = EventQuestion(keyed, (), lambda: assertions_of(statements, self.keys.vocabulary))
        return self._decided(asked, self.reader).verdict

    def update_static(self, insertions: object = None, deletions: object = None) -> None:
        """Changes B, deletions first. Entries are forgotten that rest on somebody who changes by
        it, and what is being decided is not kept. Raises: InputError where the new B and T
        contradict each other; the old B stays then.
        """
        before = self.knowledge
        middle = before if deletions is None else before.updated(None, deletions)
        after = middle if insertions is None else middle.updated(insertions, None)
        try:
            changed = self.realizer.go_over(before, middle, after)
            self.realizer.refuse_contradiction()
        except BaseException:
            self.realizer.renew(before)
            raise
        with self._lock:
            self.reader = EventReader(after, self.program)
            # Of expressions and negative assertions keys have what they may see.
            self.entries.forget(changed if before.complex == after.complex else None)
            if self.file is not None:
                self.file.begin_anew(self.realizer.made_by)

    @property
    def notes(self) -> list[str]:
        """What there is to say besides."""
        found = [self.file.note] if self.file is not None and self.file.note else []
        if self.prefilled is not None:
            found.append(str(self.prefilled))
        if skipped := self.entries.sampler.skipped:
            found.append(
                f"few events were in the cache, which was full: not kept {count(skipped, 'structure')}"
            )
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
            "skipped": entries.sampler.skipped,
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

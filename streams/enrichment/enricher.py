"""Events enriched one by one: every type that (T, B ∪ E) entails of the individuals of E, exactly, reasoned once a structure."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import Any

from shiq.errors import UsageError
from shiq.verdict import Verdict
from streams.enrichment.answers import Counts, EnrichedEvent, entry_of
from streams.enrichment.cache import Entries, Entry
from streams.enrichment.entries import EntriesFile
from streams.enrichment.key import IllTypedError, Keys
from streams.enrichment.knowledge import Knowledge
from streams.enrichment.mapping.compiled import Program
from streams.enrichment.prefill import Combinations, PrefillCounts
from streams.enrichment.questions import EventReader, Question, undecided
from streams.enrichment.reading import together
from streams.enrichment.realize import Realizer
from streams.enrichment.statements import OddError, Statement, assertions_of


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
        self.realizer, self.entries, self.file, self.program = realizer, entries, file, program
        #: Another one where B has changed.
        self.reader = EventReader(knowledge, program)
        for key, entry in file.load() if file is not None else ():
            entries.keep(key, entry)
        self.counts = Counts()
        self.prefilled: PrefillCounts | None = None
        self.waiting: AbstractContextManager[object] = nullcontext()
        self._lock = threading.RLock()

    def __enter__(self) -> Enricher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def knowledge(self) -> Knowledge:
        return self.reader.knowledge

    @property
    def keys(self) -> Keys:
        return self.reader.keys

    def enrich(self, event: Any) -> EnrichedEvent:
        """The enrichment of ``event``: N-Triples lines, an `ABox`, an rdflib Graph; with a mapping a raw record, a dict."""
        begun = perf_counter()
        counts, reader = self.counts, self.reader
        asked = reader.question(event)
        if type(asked) is EnrichedEvent:
            return self.told(asked)
        assert type(asked) is Question
        key = asked.keyed.key
        found = None if key is None else self.entries.find(key)
        looked_up = perf_counter()
        counts.seconds["keys"] += looked_up - begun
        if found is not None:
            counts.events += 1
            counts.hits += 1
            if found.verdict is Verdict.INCONSISTENT:
                counts.inconsistent += 1
            return EnrichedEvent(found, asked.keyed.order, True, asked.lines)
        counts.bypassed += key is None
        entry = self._decided(asked, reader)
        counts.seconds["deciding"] += perf_counter() - looked_up
        return self.told(EnrichedEvent(entry, asked.keyed.order, False, asked.lines))

    def enrich_all(self, events: Iterable[Any]) -> Iterator[EnrichedEvent]:
        """The enrichment of each of ``events``, in their order."""
        return map(self.enrich, events)

    def enrich_window(self, events: Iterable[Any]) -> EnrichedEvent:
        """What follows of ``events`` together: of B and all of them, as one event."""
        return self.enrich(together(self.reader.lines_of(event) for event in events))

    def undecided(self, reason: str) -> EnrichedEvent:
        """What is said of an event that cannot be read."""
        return self.told(undecided(reason))

    def told(self, found: EnrichedEvent) -> EnrichedEvent:
        """Counts an answer that was not there before."""
        counts = self.counts
        counts.events += 1
        counts.misses += 1
        counts.undetermined += found.verdict is Verdict.UNDETERMINED
        counts.inconsistent += found.verdict is Verdict.INCONSISTENT
        return found

    def _decided(self, asked: Question, reader: EventReader) -> Entry:
        """The entry of an event not met before; kept, unless B has changed since its key was made."""
        with self.waiting:
            entry = entry_of(self.realizer.types(asked.assertions()), asked.keyed)
        with self._lock:
            if asked.keyed.key is not None and reader is self.reader:
                self.entries.keep(asked.keyed.key, entry)
        return entry

    def prefill(self, limit: int | None = None) -> PrefillCounts:
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
        asked = Question(keyed, (), lambda: assertions_of(statements, self.keys.vocabulary))
        return self._decided(asked, self.reader).verdict

    def update_static(self, insertions: object = None, deletions: object = None) -> None:
        """Changes B, deletions first. Entries are forgotten that rest on somebody who changes by it, and what is being decided
        is not kept. Raises: InputError where the new B and T contradict each other; the old B stays then."""
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

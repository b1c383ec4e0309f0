"""Enricher: every type that ontology T, static data B and an event E entail of E's individuals.

Answers are exact and reasoned once per event structure.

>>> from shiq import model as owl
>>> tbox = owl.TBox((owl.SubClassOf(owl.Class("urn:Cat"), owl.Class("urn:Animal")),), owl.Signature(frozenset(["urn:Cat"])))
>>> with open_enricher(tbox, None, reasoner="own") as enricher:
...     events = ([f"<urn:{name}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> ."] for name in ("tom", "kit"))
...     [(found.hit, sorted(found.types["urn:" + name])) for name, found in zip(("tom", "kit"), map(enricher.enrich, events))]
[(False, ['urn:Animal', 'urn:Cat']), (True, ['urn:Animal', 'urn:Cat'])]
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Final

from shiq.abox_ops.entailment.premises import mentioned_individuals
from shiq.answers.verdict import Verdict
from shiq.deprecation import RenamedAttribute
from shiq.errors import InputError, UsageError
from shiq.inputs.catalog import Catalogs
from shiq.inputs.compression import SUFFIXES
from shiq.jobs.checking.options import takes_settings
from shiq.jobs.option_fields import Takes, option
from shiq.rml.inputs import compile_mapping
from shiq.rml.model import Statement
from shiq.rml.program import MappingProgram
from shiq.streams.enrichment.answers import EnrichedEvent, EnrichmentCounts, make_entry
from shiq.streams.enrichment.cache import (
    POLICIES,
    CacheEntry,
    EntryCache,
    parse_capacity,
    parse_policy,
)
from shiq.streams.enrichment.components import WindowAnswerer, WindowEvent
from shiq.streams.enrichment.entries import EntriesFile
from shiq.streams.enrichment.key import IllTypedError, KeyMaker
from shiq.streams.enrichment.knowledge import EventReasoner, StaticKnowledge, read_knowledge
from shiq.streams.enrichment.prefill import PrefillCounts, SampleRecords
from shiq.streams.enrichment.questions import EventQuestion, EventReader, undetermined_answer
from shiq.streams.enrichment.statements import (
    UnkeyableEventError,
    join_events,
    line_in_answer,
    name_in_answer,
    to_assertions,
)
from shiq.support import pluralize

# Signs of life while an event is decided that was not met before.


#: Seconds after which a line is written where none was.
SECONDS_UNTIL_LINE: Final = 8.0


class SlowReasoningLog:
    """Context manager around reasoning that prints a line when it takes long.

    tell: prints a line.
    before: called before reasoning, so that finished rows are written first.
    silent: seconds without output after which a line is printed.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        before: Callable[[], None] = lambda: None,
        silent: float = SECONDS_UNTIL_LINE,
    ) -> None:
        self._write_line, self.before_reasoning, self._seconds_until_line = tell, before, silent
        self._reasoning_since: float | None = None
        self._number = 0
        self._last_line = self._started_at = time.monotonic()
        self._stop_event = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self.before_reasoning()
        self._number += 1
        self._reasoning_since = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._print_while_slow, daemon=True)
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reasoning_since = None

    def _print_while_slow(self) -> None:
        """Body of the thread: print a line each time that reasoning takes long."""
        while not self._stop_event.wait(self._seconds_until_line / 8):
            begun, now = self._reasoning_since, time.monotonic()
            if begun is not None and now - self._last_line >= self._seconds_until_line:
                self._last_line = now
                self._write_line(
                    f"{now - self._started_at:6.1f} s  reasoning about structure {self._number:,}, for {now - begun:,.1f} s"
                )

    def close(self) -> None:
        """Stop the thread that prints; may be called twice."""
        self._stop_event.set()
        if self._thread is not None:
            self._thread.join()


class Enricher:
    """Enricher of events over an ontology and static data; opened by `open_enricher`.

    slow_log: context manager around reasoning.
    """

    # Old names, until 0.3.
    prefilled = RenamedAttribute("prefill_counts")
    folder = RenamedAttribute("static_folder")
    waiting = RenamedAttribute("slow_log")
    window = RenamedAttribute("enrich_next_window")
    undecided = RenamedAttribute("undetermined_answer")
    told = RenamedAttribute("count_answer")

    def __init__(
        self,
        knowledge: StaticKnowledge,
        realizer: EventReasoner,
        entries: EntryCache,
        file: EntriesFile | None = None,
        program: MappingProgram | None = None,
    ) -> None:
        self.realizer, self.entries, self.file, self.program = realizer, entries, file, program
        #: Another one where B has changed.
        self.reader = EventReader(knowledge, program)
        for key, entry in file.load() if file is not None else ():
            entries.store(key, entry)
        self.counts = EnrichmentCounts()
        self.prefill_counts: PrefillCounts | None = None
        #: What changes B while a stream runs, if anything does.
        self.static_folder: StaticFolder | None = None
        self.slow_log: AbstractContextManager[object] = nullcontext()
        self.components = WindowAnswerer(self._answer)
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
        """Ontology and current static data, as the reasoner uses them."""
        return self.reader.knowledge

    @property
    def keys(self) -> KeyMaker:
        """Maker of event keys for the current static data."""
        return self.reader.keys

    def enrich(self, event: Any) -> EnrichedEvent:
        """Enrich ``event``: N-Triples lines, an `ABox` or an rdflib Graph; with a mapping a raw
        record (dict).
        """
        reader = self.reader
        return self._count_timed(perf_counter(), self._answer(reader.make_question(event), reader))

    def answer(self, asked: EventQuestion | EnrichedEvent, reader: EventReader) -> EnrichedEvent:
        """Answer the question about an event, and count the outcome."""
        return self._count_timed(perf_counter(), self._answer(asked, reader))

    def _answer(
        self, question: EventQuestion | EnrichedEvent, reader: EventReader
    ) -> EnrichedEvent:
        """Answer the question about an event, from the cache or by reasoning."""
        if type(question) is EnrichedEvent:
            return question
        assert type(question) is EventQuestion
        key, order = question.event_key
        found = None if key is None else self.entries.find(key)
        if found is not None:
            return EnrichedEvent(found, order, True, question.lines)
        begun = perf_counter()
        self.counts.bypassed += key is None
        entry = self._reason_and_cache(question, reader)
        spent, seconds = perf_counter() - begun, self.counts.seconds
        seconds["deciding"] += spent
        seconds["keys"] -= spent
        return EnrichedEvent(entry, order, False, question.lines)

    def enrich_window(self, events: Iterable[Any]) -> EnrichedEvent:
        """Enrich the union of ``events``; for successive windows of a stream use
        `enrich_next_window`.
        """
        return self.enrich_next_window(
            [WindowEvent.from_lines(self.reader.lines_of(event)) for event in events]
        )

    def enrich_next_window(self, events: Sequence[WindowEvent]) -> EnrichedEvent:
        """Enrich the next window of a stream, reusing the components of the window before."""
        if not self.entries.capacity:
            return self.enrich(join_events(event.given_lines for event in events))
        return self._count_timed(perf_counter(), self.components.enrich_window(events, self.reader))

    def _count_timed(self, begun: float, found: EnrichedEvent) -> EnrichedEvent:
        """Count an answer and the seconds since ``begun``, and return it."""
        self.counts.seconds["keys"] += perf_counter() - begun
        return self.count_answer(found)

    def undetermined_answer(self, reason: str) -> EnrichedEvent:
        """Count and return the answer for an event that cannot be read."""
        return self.count_answer(undetermined_answer(reason))

    def count_answer(self, found: EnrichedEvent) -> EnrichedEvent:
        """Count an answer and return it."""
        counts, verdict = self.counts, found.entry.verdict
        counts.events += 1
        counts.hits += found.hit
        counts.misses += not found.hit
        counts.undetermined += verdict is Verdict.UNDETERMINED
        counts.inconsistent += verdict is Verdict.INCONSISTENT
        return found

    def _reason_and_cache(self, question: EventQuestion, reader: EventReader) -> CacheEntry:
        """Find the entry of an event by reasoning, unless the question has one. It is cached unless
        the static data changed since its key was made.
        """
        entry = question.entry
        if entry is None:
            with self.slow_log:
                entry = make_entry(
                    self.realizer.entailed_types(question.assertions()), question.event_key
                )
        with self._lock:
            if question.event_key.key is not None and reader is self.reader:
                self.entries.store(question.event_key.key, entry)
        return entry

    def explain(
        self, asked: EventQuestion, found: EnrichedEvent, classes: Iterable[str]
    ) -> list[dict[str, object]]:
        """Explain why individuals of an answer have types in ``classes``: one minimal justification
        for each.
        """
        begun = perf_counter()
        types, assertions = {**found.types, **found.static_types}, asked.assertions()
        names = {name_in_answer(name): name for name in mentioned_individuals(assertions)}
        told = [(one, c) for c in classes for one in sorted(types) if c in types[one]]
        reasons = [self.realizer.explain(assertions, names.get(one, one), c) for one, c in told]
        self.counts.seconds["deciding"] += perf_counter() - begun
        return [
            {
                "individual": one,
                "class": c,
                **({} if reason is None else reason.to_dict(line_in_answer)),
            }
            for (one, c), reason in zip(told, reasons)
        ]

    def prefill(self, limit: int | None = None) -> PrefillCounts:
        """Reason in advance about all events that the mapping can produce (docs/ENRICHMENT.md).

        limit: most entries to make, besides the cache's room.
        Raises: UsageError without a mapping.
        """
        if self.program is None:
            raise UsageError(
                "there is no mapping that says what events there can be", "Give one by --mapping."
            )
        room = self.entries.capacity - len(self.entries)
        combinations = SampleRecords(self.program, self.keys, self.knowledge)
        self.prefill_counts = combinations.decide_each(
            room if limit is None else min(room, limit), self._prefill_event
        )
        return self.prefill_counts

    def _prefill_event(self, statements: Sequence[Statement]) -> Verdict | None:
        """Reason about a possible event and cache it; return its verdict, or None if it is cached
        or has no key.
        """
        try:
            keyed = self.keys.key_of_statements(statements)
        except (UnkeyableEventError, IllTypedError):
            return None
        if keyed.key is None or keyed.key in self.entries:
            return None
        asked = EventQuestion(keyed, (), lambda: to_assertions(statements, self.keys.vocabulary))
        return self._reason_and_cache(asked, self.reader).verdict

    def update_static(self, insertions: object = None, deletions: object = None) -> None:
        """Change the static data, deletions first, and drop the cached entries that depend on the
        change.

        Raises: InputError if the new data contradicts the ontology; the old data then stays.
        """
        before = self.knowledge
        middle = before if deletions is None else before.update(None, deletions)
        after = middle if insertions is None else middle.update(insertions, None)
        try:
            changed = self.realizer.change_knowledge(before, middle, after)
            self.realizer.require_consistent()
        except BaseException:
            self.realizer.use_knowledge(before)
            raise
        with self._lock:
            self.reader = EventReader(after, self.program)
            # Of expressions and negative assertions keys have what they may see.
            self.entries.drop_affected(
                changed if before.complex_assertions == after.complex_assertions else None
            )
            if self.file is not None:
                self.file.reset(self.realizer.answers_digest)

    @property
    def notes(self) -> list[str]:
        """Remarks for the user, as sentences."""
        found = [self.file.note] if self.file is not None and self.file.note else []
        if self.prefill_counts is not None:
            found.append(str(self.prefill_counts))
        if skipped := self.entries.sampler.skipped:
            found.append(
                f"few events were in the cache, which was full: not kept {pluralize(skipped, 'structure')}"
            )
        return found

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts, and seconds by activity."""
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
        """Close the reasoners and save the cache file; may be called twice."""
        self.realizer.close()
        if self.file is not None:
            self.file.save(self.entries)


#: How the name of a file ends, before its extensions (also .gz and the like), whose assertions are deleted.
DELETION_SUFFIX: Final = ".delete"


@dataclass
class StaticFolder:
    """Folder whose new files are updates of the static data. They are applied between events, in
    order of their names.

    file_hashes: hashes of the applied files by name.
    report: called with a line for each file.
    """

    path: Path
    report: Callable[[str], None] = lambda line: None
    file_hashes: dict[str, str] = field(default_factory=dict)

    def apply_new_files(self, enricher: Enricher) -> None:
        """Apply the files that were not applied yet, in order of name. Raises: InputError."""
        try:
            names = [entry.name for entry in os.scandir(self.path) if entry.is_file()]
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error})", "Check --static-follow."
            ) from error
        for name in sorted(names):
            if name not in self.file_hashes and not name.startswith((".", "_")):
                self._apply_file(enricher, name)

    def restore(self, enricher: Enricher, taken: Mapping[str, str]) -> None:
        """Apply the files of another run again. Raises: InputError if one is missing or changed."""
        for name, hashed in taken.items():
            file = self.path / name
            if not file.is_file() or _hash_file(file) != hashed:
                raise InputError(
                    f"{file} is not as it was when the checkpoint was written",
                    "Put it back as it was, or begin anew with another --checkpoint.",
                )
            self._apply_file(enricher, name)

    def _apply_file(self, enricher: Enricher, name: str) -> None:
        """Insert the assertions of a file into the static data, or delete them if its name ends
        with ".delete".
        """
        file = self.path / name
        packed = file.suffix.lower() in SUFFIXES
        is_deleted = Path(file.stem if packed else name).stem.lower().endswith(DELETION_SUFFIX)
        before = len(enricher.knowledge.static)
        try:
            enricher.update_static(*((None, str(file)) if is_deleted else (str(file), None)))
        except InputError as error:
            raise InputError(f"{file}: {error.message}", error.remedy) from error
        self.file_hashes[name] = _hash_file(file)
        gone = pluralize(before - len(enricher.knowledge.static), "assertion")
        told = f"taken out of the static data: {gone}" if is_deleted else "put into the static data"
        self.report(f"{file}: {told}")


def _hash_file(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@dataclass(frozen=True)
class EnricherSettings:
    """Settings of an enricher: cache, mapping for raw records, and reasoner. See `open_enricher`."""

    policy: str = option("lru", "Entry to evict first.", choices=tuple(POLICIES))
    capacity: int | str | None = option(
        100_000, "Most entries in the cache; 0: no cache.", metavar="N|none"
    )
    most_bytes: int | None = option(
        None, "Most bytes of entries. [default: no bound]", minimum=0, metavar="N"
    )
    mapping: str | Path | None = option(
        None,
        "RML, or YARRRML (.yml): each line of the source is a raw JSON record (CSV: a row).",
        takes=Takes.INPUT_FILE,
        metavar="FILE",
    )
    stream: str | None = option(
        None, "Of a mapping with several logical sources, the stream's.", metavar="NAME"
    )
    entries: str | Path | None = option(
        None,
        "Entries on disk (.delta: a table), known to the next run over the same T and B.",
        takes=Takes.OUTPUT_ROWS,
        metavar="FILE",
    )
    static_types: bool = option(
        False, "Write also what follows for static individuals that the event does not mention."
    )
    reasoner: str = option("auto", "Reasoner to ask.", choices=("auto", "own", "hermit"))
    timeout: float | None = option(
        60.0, "Seconds of reasoning for an event that is not in the cache.", takes=Takes.TIME
    )
    heap: str = "1g"


@takes_settings(EnricherSettings)
def open_enricher(
    tbox: object,
    static: object = None,
    *,
    allow: Iterable[str] = (),
    catalog: Catalogs | None = None,
    **settings: Any,
) -> Enricher:
    """Open an ontology and static data, each as `shiq.check_insertions` takes it, for enriching
    events.

    allow: kinds of accepted leftovers.
    policy: which entry is evicted when ``capacity`` or ``most_bytes`` (None: no limit) is reached.
    mapping: RML for raw records. Of its sources ``stream`` is the stream; the others are read once,
        as static data.
    entries: file that keeps entries for the next run over the same ontology and data (a Delta table
        if it ends in ``.delta``).
    static_types: whether to report types that events add to unmentioned static individuals.
    timeout: seconds for reasoning about one structure.

    Raises: InputError if ontology and data contradict each other, UsageError.
    """
    asked = EnricherSettings(**settings)
    kept = EntryCache(parse_capacity(asked.capacity), parse_policy(asked.policy), asked.most_bytes)
    knowledge = read_knowledge(tbox, static, allow, catalog)
    program = None
    if asked.mapping is not None:
        program, lines = compile_mapping(
            asked.mapping, asked.stream, lenient="missing-value" in knowledge.allow
        )
        knowledge = knowledge.with_lines(lines)
    realizer = EventReasoner(
        knowledge, asked.reasoner, asked.timeout, asked.heap, asked.static_types
    )
    try:
        realizer.require_consistent()
        path, digest = asked.entries, realizer.answers_digest
        file = None if path is None else _open_entries_file(Path(path), digest)
        return Enricher(knowledge, realizer, kept, file, program)
    except BaseException:
        realizer.close()
        raise


def _open_entries_file(path: Path, digest: str) -> EntriesFile:
    """Open a file or Delta table of cache entries."""
    if path.suffix != ".delta":
        return EntriesFile(path, digest)
    from shiq.streams.enrichment.entries_table import EntriesTable

    return EntriesTable(path, digest)

"""The row ``enrich-peers``: an event of the city and of the university, enriched by us and by
others; CPU seconds, completeness.

The others are given T, B and one event, all at once, as they know no structures; HermiT is warm,
and asked for no more than whether that is consistent, which is the least it has to do. Complete:
the share of the types of the event's individuals that is told; types that do not follow are
counted as wrong.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.errors import OperationalError
from shiq.jobs.evaluation.peers.drivers import (
    PeerEventAnswer,
    PeerLauncher,
    ask_java_peer,
    ask_konclude,
    ask_owl_rl,
    write_with_declarations,
)
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.statements import read_rdf
from tests.tools.bench.process import NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

Types = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class _Benchmark:
    """``tbox``, ``static`` and ``events`` in the folder of OWL2Streams."""

    name: str
    tbox: str
    static: str | None
    events: str
    allow: tuple[str, ...]

    def files(self, data: Path) -> list[Path]:
        return [data / name for name in (self.tbox, self.static) if name is not None]


CITY = _Benchmark(
    "city",
    "officerepository_all_schema.owl",
    "city_SensorRepository.nt.gz",
    "city_events_182955.jsonl.gz",
    ("unknown-vocabulary", "missing-import", "undeclared"),
)
UNIVERSITY = _Benchmark(
    "university",
    "university10_static.owl.gz",
    None,
    "university10_events.jsonl.gz",
    ("undeclared",),
)
JAVA = ("openllet", "elk")
OTHERS = ("konclude", *JAVA, "reasonable", "owlrl")

FIGURES = (
    Figure("city: all events, misses in", "s"),
    Figure("city: HermiT, warm, whether an event is consistent", "s"),
    Figure("city: HermiT on each event over all of it by us", "×", 20_000.0, 1),
    Figure("university: a miss, HermiT's calls apart", "s", 2.0),
    *(
        figure
        for benchmark in (CITY, UNIVERSITY)
        for name in OTHERS
        for figure in (
            Figure(f"{benchmark.name}: {name}, an event", "s"),
            Figure(f"{benchmark.name}: {name}, complete", "%"),
        )
    ),
)


@dataclass(frozen=True)
class _Question:
    """An event of a benchmark, for somebody else."""

    repeat: Repeat
    benchmark: _Benchmark
    data: Path
    enricher: Enricher
    event: list[str]

    def ask(self, name: str) -> PeerEventAnswer:
        """What the peer makes of the event."""
        knowledge, folder = self.enricher.knowledge, self.repeat.bench.folder / "enrich-peers"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run = PeerLauncher(folder, self.repeat.bench.settings.limit)
        event, whole = folder / "event.nt", folder / "whole.ofn"
        event.write_text("\n".join(self.event) + "\n", encoding="utf-8")
        said = read_rdf(self.event, knowledge).assertions
        if name in JAVA:
            write_with_declarations(whole, knowledge.axioms, knowledge.static, said)
            return ask_java_peer(name, whole, [event], run)[0]
        if name == "konclude":
            write_with_declarations(whole, knowledge.axioms, (*knowledge.static, *said))
            return ask_konclude(whole, run)
        return ask_owl_rl(name, [*self.benchmark.files(self.data), event], run)

    def compare(self, name: str, expected: Types) -> None:
        """Asks, and counts what is told of what we have."""
        try:
            found = self.ask(name)
        except OperationalError as error:
            raise NotMeasured(f"{name} on {self.benchmark.name}: {error.message}") from None
        told = {
            pair
            for pair in found.types
            if pair[0] in expected and pair[1] in self.enricher.knowledge.classes
        }
        right = {(one, c) for one, classes in expected.items() for c in classes}
        self.repeat.values[f"{self.benchmark.name}: {name}, an event"] = found.seconds
        self.repeat.values[f"{self.benchmark.name}: {name}, complete"] = (
            100 * len(told & right) / len(right)
        )
        counts = f"{len(told & right)} of {len(right)} types, {len(told - right)} wrong"
        self.repeat.notes.append(f"{self.benchmark.name}, {name}: {counts}")


def _compared(repeat: Repeat, benchmark: _Benchmark, data: Path) -> None:
    with gzip.open(data / benchmark.events, "rt", encoding="utf-8") as stream:
        events = [json.loads(line)["triples"] for line in stream]
    tbox, *static = benchmark.files(data)
    repeat.bench.say(benchmark.name)
    with open_enricher(
        tbox, static or None, allow=benchmark.allow, timeout=repeat.bench.settings.limit
    ) as enricher:
        begun = process_time()
        expected = enricher.enrich(events[0]).types
        if benchmark is CITY:
            for event in events[1:]:
                enricher.enrich(event)
            repeat.values["city: all events, misses in"] = process_time() - begun
            repeat.attempt(lambda: _hermit(repeat, enricher, events))
        else:
            begun = process_time()
            enricher.enrich(events[1])
            repeat.values["university: a miss, HermiT's calls apart"] = process_time() - begun
        asked = _Question(repeat, benchmark, data, enricher, events[0])
        for name in OTHERS:
            repeat.attempt(partial(asked.compare, name, expected))


def _seconds_of_children() -> float:
    """CPU seconds of the processes that this one has, as the JVM."""
    if not Path("/proc/self/stat").exists():
        raise NotMeasured("there is no /proc to tell the JVM's CPU time")
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            said = (folder / "stat").read_text().rpartition(")")[2].split()
            found += int(said[11]) + int(said[12]) if int(said[1]) == os.getpid() else 0
    return found / os.sysconf("SC_CLK_TCK")


def _hermit(repeat: Repeat, enricher: Enricher, events: list[list[str]]) -> None:
    knowledge, reasoners = (
        enricher.knowledge,
        Reasoners("hermit", repeat.bench.settings.limit, "2g"),
    )
    try:
        spent = []
        for place in (0, 100, 200, 300):
            facts = (*knowledge.static, *read_rdf(events[place], knowledge).assertions)
            whole = reasoners.prepare_question(knowledge.axioms, facts)
            begun = _seconds_of_children()
            answer = whole.ask(())
            spent.append(_seconds_of_children() - begun)
            if answer.verdict is not Verdict.CONSISTENT:
                raise NotMeasured(f"HermiT on the city: {answer.verdict.value} {answer.reason}")
    finally:
        reasoners.close()
    # The first starts the JVM.
    least = min(spent[1:])
    repeat.values["city: HermiT, warm, whether an event is consistent"] = least
    ours = repeat.values["city: all events, misses in"]
    repeat.values["city: HermiT on each event over all of it by us"] = least * len(events) / ours


def _measure(repeat: Repeat) -> None:
    data = repeat.bench.settings.data
    if data is None or not (data / "owl2streams").is_dir():
        raise NotMeasured("no real data (SHIQ_DATA)")
    for benchmark in (CITY, UNIVERSITY):
        _compared(repeat, benchmark, data / "owl2streams")


PEER_ROWS = {
    "enrich-peers": Row(
        "enrich-peers",
        "an event enriched by us and by others: CPU, completeness",
        FIGURES,
        _measure,
    )
}

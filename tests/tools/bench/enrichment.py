"""The row ``enrich``: keys, hits, misses and memory of event enrichment, one process, CPU time.

City and university are OWL2Streams'. What lies outside SHIQ(D) of the city's ontology is left
out where its misses are measured; keys and look-ups have an entry that stands in, so that
nothing is reasoned there.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from shiq.answers.verdict import Verdict
from shiq.jobs.evaluation.streams import building
from shiq.rml.model import Statement
from shiq.rml.program import parse_record
from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.cache import CacheEntry, EntryCache, parse_capacity
from shiq.streams.enrichment.key import KeyMaker
from shiq.streams.enrichment.knowledge import read_knowledge
from shiq.streams.enrichment.statements import split_lines
from tests.tools.bench.process import NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

#: Events of a measurement, and structures of a small cache and a large one.
EVENTS, FEW, MANY = 10_000, 100, 100_000
_CITY = {
    "allow": ("unknown-vocabulary", "missing-import", "undeclared", "outside-shiq"),
    "reasoner": "own",
}

FIGURES = (
    Figure("key and look-up: city, 7 triples", "µs", 20.0),
    Figure("key and look-up: university, 16 triples", "µs", 30.0),
    Figure("key and look-up: 30 triples", "µs", 50.0),
    Figure("key and look-up: chain of 12 individuals", "µs"),
    Figure("key and look-up: 100,000 structures over 100", "×", 1.7),
    Figure("hits from N-Triples lines: city", "/s", 20_000.0, 1),
    Figure("hits from raw JSON, direct keys: building", "/s", 50_000.0, 1),
    Figure("miss: city, less what is outside SHIQ(D)", "s", 0.2),
    Figure("miss: building", "s"),
    Figure("memory per entry: city, 7 triples", "bytes", 2_000.0),
)


def _seconds(work: Callable[[], Any]) -> float:
    begun = process_time()
    work()
    return process_time() - begun


def _lines(file: Path) -> list[list[str]]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return [json.loads(line)["triples"] for line in stream]


def look_ups(keys: KeyMaker, events: Sequence[Sequence[Statement]]) -> float:
    """Microseconds for the key of an event and its look-up, all of them met before."""
    entries, stand_in = EntryCache(parse_capacity(None), "lru"), CacheEntry(Verdict.CONSISTENT)
    for event in events:
        key = keys.key_of_statements(event).key
        assert key is not None
        entries.store(key, stand_in)

    def work() -> None:
        for event in events:
            key = keys.key_of_statements(event).key
            assert key is not None and entries.find(key) is not None

    return _seconds(work) / len(events) * 1e6


def _structures(count: int, looked_up: int) -> list[list[Statement]]:
    """Events of 7 triples: ``looked_up`` of them, spread over ``count`` structures."""
    made = []
    for n in range(looked_up):
        place = n * 7919 % count
        said = [
            (f"<urn:o{n}>", f"<urn:p{i}>", f"<urn:k{place // 10**i % 10 + 10 * i}>")
            for i in range(6)
        ]
        made.append(
            [(f"<urn:o{n}>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<urn:A>"), *said]
        )
    return made


def _flat(repeat: Repeat) -> None:
    """Look-ups among few structures and among many, the same number of each, in one run."""
    text = "".join(
        f"SubClassOf(ObjectHasValue(<urn:p{i}> <urn:k{10 * i + n}>) <urn:A>)"
        for i in range(6)
        for n in range(10)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.ofn"
        file.write_text(f"Ontology({text})")
        keys = KeyMaker(read_knowledge(file, None))
    few, many = (look_ups(keys, _structures(count, MANY)) for count in (FEW, MANY))
    repeat.values["key and look-up: 100,000 structures over 100"] = many / few
    x, p = "<urn:x>", "<urn:p{}>"
    wide = [
        [(f"<urn:w{n}>", p.format(i % 6), f"<urn:k{10 * (i % 6) + i // 6}>") for i in range(30)]
        for n in range(EVENTS)
    ]
    repeat.values["key and look-up: 30 triples"] = look_ups(keys, wide)
    chain = [
        [(f"{x[:-1]}{n}-{i}>", p.format(0), f"{x[:-1]}{n}-{i + 1}>") for i in range(11)]
        for n in range(EVENTS)
    ]
    repeat.values["key and look-up: chain of 12 individuals"] = look_ups(keys, chain)


def _city(repeat: Repeat, data: Path) -> None:
    events = _lines(data / "city_events_182955.jsonl.gz")
    with open_enricher(
        data / "officerepository_all_schema.owl", data / "city_SensorRepository.nt.gz", **_CITY
    ) as enricher:  # type: ignore[arg-type]
        enricher.enrich(events[0])
        misses, begun = enricher.counts.misses, process_time()
        for event in events[1:]:
            enricher.enrich(event)
            if enricher.counts.misses - misses >= 3:
                break
        else:
            raise NotMeasured("the city has fewer structures than three")
        repeat.values["miss: city, less what is outside SHIQ(D)"] = (process_time() - begun) / 3
        for event in events:
            enricher.enrich(event)
        hits = enricher.counts.hits
        spent = _seconds(lambda: [enricher.enrich(event) for event in events])
        assert enricher.counts.hits - hits == len(events)
        repeat.values["hits from N-Triples lines: city"] = len(events) / spent
        repeat.values["key and look-up: city, 7 triples"] = look_ups(
            enricher.keys, [split_lines(event) for event in events[:EVENTS]]
        )
        repeat.notes.append(f"city: {len(events):,} events, {len(enricher.entries)} structures")
        repeat.values["memory per entry: city, 7 triples"] = _memory(enricher.keys, events[0])


def _memory(keys: KeyMaker, event: Sequence[str]) -> float:
    """Bytes that a structure of so many triples costs, measured, with what is remembered of its
    statements.
    """
    classes = [
        split_lines([line.replace("CongestionLevel", f"Level{n}") for line in event])
        for n in range(5_000)
    ]
    entries = EntryCache(parse_capacity(None), "lru")
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for statements in classes:
            found = keys.key_of_statements(statements)
            assert found.key is not None
            types = tuple(
                frozenset(("urn:a", "urn:b")) if isinstance(name, str) else None
                for name in found.order
            )
            entries.store(found.key, CacheEntry(Verdict.CONSISTENT, types))
        return (tracemalloc.get_traced_memory()[0] - before) / len(entries)
    finally:
        tracemalloc.stop()


def _building(repeat: Repeat) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = building.BuildingRecipe(20, 10 * EVENTS, repeat.seed)
        building.write_building_files(recipe, folder)
        lines = (folder / "readings.jsonl").read_bytes().splitlines()
        mapping = folder / "mapping.rml.ttl"
        with open_enricher(
            folder / "building.ofn", mapping=mapping, stream="readings", reasoner="own"
        ) as enricher:
            begun = process_time()
            for line in lines[:2_000]:
                enricher.enrich(parse_record(line))
            misses = enricher.counts.misses
            repeat.values["miss: building"] = (process_time() - begun) / misses
            spent = _seconds(
                lambda: [enricher.enrich(parse_record(line)) for line in lines[2_000:]]
            )
            repeat.values["hits from raw JSON, direct keys: building"] = (
                len(lines) - 2_000
            ) / spent
            repeat.notes.append(
                f"building: {enricher.counts.misses} structures, {enricher.counts.misses - misses} of them late"
            )


def _measure(repeat: Repeat) -> None:
    data = repeat.bench.settings.data
    if data is None or not (data / "owl2streams").is_dir():
        raise NotMeasured("no real data (SHIQ_DATA)")
    repeat.bench.say("structures")
    _flat(repeat)
    repeat.bench.say("building")
    _building(repeat)
    repeat.bench.say("city")
    _city(repeat, data / "owl2streams")
    repeat.bench.say("university")
    keys = KeyMaker(
        read_knowledge(data / "owl2streams" / "university10_static.owl.gz", None, ("undeclared",))
    )
    students = _lines(data / "owl2streams" / "university10_events.jsonl.gz")
    events = [
        split_lines([line.replace(event[0].split(" ")[0][1:-1], f"urn:s{n}") for line in event])
        for n in range(40)
        for event in students
    ]
    repeat.values["key and look-up: university, 16 triples"] = look_ups(keys, events)


ENRICHMENT_ROWS = {
    "enrich": Row(
        "enrich", "event enrichment: keys, hits, misses, one process, CPU", FIGURES, _measure
    )
}

"""An ontology and static data opened for events to be enriched.

>>> from shiq import model as owl
>>> tbox = owl.TBox((owl.SubClassOf(owl.Class("urn:Cat"), owl.Class("urn:Animal")),), owl.Signature(frozenset(["urn:Cat"])))
>>> with open_enricher(tbox, None, reasoner="own") as enricher:
...     events = ([f"<urn:{name}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Cat> ."] for name in ("tom", "kit"))
...     [(found.hit, sorted(found.types["urn:" + name])) for name, found in zip(("tom", "kit"), map(enricher.enrich, events))]
[(False, ['urn:Animal', 'urn:Cat']), (True, ['urn:Animal', 'urn:Cat'])]
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shiq.catalog import Catalogs
from shiq.rml.compiled import compiled
from streams.enrichment.cache import Entries
from streams.enrichment.enricher import Enricher
from streams.enrichment.entries import EntriesFile
from streams.enrichment.knowledge import knowledge_of
from streams.enrichment.policies import capacity_of, policy_named
from streams.enrichment.realize import Realizer


def open_enricher(
    tbox: object,
    static: object = None,
    *,
    policy: str = "lru",
    capacity: int | str | None = 100_000,
    most_bytes: int | None = None,
    mapping: str | Path | None = None,
    stream: str | None = None,
    entries: str | Path | None = None,
    static_types: bool = False,
    reasoner: str = "auto",
    allow: Iterable[str] = (),
    timeout: float | None = 60.0,
    heap: str = "1g",
    catalog: Catalogs | None = None,
) -> Enricher:
    """Opens (``tbox``, ``static``), each as `shiq.check_insertions` takes it, for events to be
    enriched.

    ``policy``: which entry goes where ``capacity`` are kept, or ``most_bytes`` (None: no bound);
    ``entries``: a file of them (a Delta table where it ends in ``.delta``), which the next run
    over the same T and B finds. ``static_types``: what an event makes of static individuals that
    it does not mention, too. ``mapping``: RML for raw records, of whose sources ``stream`` is
    the stream's, and the others are read once, into B. ``timeout``: seconds for an event not met
    before. ``allow``: kinds of leftovers that do not matter. Raises: InputError where T and B
    contradict each other, UsageError.
    """
    kept = Entries(capacity_of(capacity), policy_named(policy), most_bytes)
    knowledge = knowledge_of(tbox, static, allow, catalog)
    program = None
    if mapping is not None:
        program, lines = compiled(mapping, stream, lenient="missing-value" in knowledge.allow)
        knowledge = knowledge.with_lines(lines)
    realizer = Realizer(knowledge, reasoner, timeout, heap, static_types)
    try:
        realizer.refuse_contradiction()
        file = None if entries is None else _file(Path(entries), realizer.made_by)
        return Enricher(knowledge, realizer, kept, file, program)
    except BaseException:
        realizer.close()
        raise


def _file(path: Path, digest: str) -> EntriesFile:
    if path.suffix != ".delta":
        return EntriesFile(path, digest)
    from streams.enrichment.entries_table import EntriesTable

    return EntriesTable(path, digest)

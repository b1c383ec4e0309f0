"""Command ``shiq stream enrich``: add to events the types that follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from shiq.api import open_store
from shiq.errors import ShiqError, UsageError
from shiq.jobs.commands.options import (
    catalog_option,
    field_option,
    field_options,
    heap_option,
    refuse_first,
)
from shiq.jobs.commands.places import READS, GuardedCommand, InputParameter
from shiq.jobs.commands.stream.options import (
    StreamArguments,
    require_known,
    static_option,
    store_option,
    stream_options,
    tbox_option,
)
from shiq.jobs.option_fields import declared_names
from shiq.jobs.text.results import leftovers_text, seconds_text
from shiq.rml.reader import read_mapping
from shiq.streams.enrichment import open_enricher
from shiq.streams.enrichment.components import EventWindows
from shiq.streams.enrichment.enricher import EnricherSettings, SlowReasoningLog, StaticFolder
from shiq.streams.enrichment.stream import EnrichmentCollector, RowSettings
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.operator import StreamAnswer
from shiq.support import pluralize


def _mapped_sources(mapping: str) -> Callable[[Path], bool]:
    """Make a test whether a file is one that the RML ``mapping`` reads."""
    try:
        files = {each.source.path.resolve() for each in read_mapping(mapping).values()}
    except ShiqError:
        files = set()  # what is wrong with it is told by the command itself
    return lambda path: path.resolve() in files


@click.command(cls=GuardedCommand)
@tbox_option
@static_option
@store_option
@field_option(EnricherSettings, "policy")
@field_option(EnricherSettings, "capacity", type=str)
@field_option(EnricherSettings, "most_bytes")
@field_option(EnricherSettings, "mapping", type=InputParameter(leads_to=_mapped_sources))
@field_options(EnricherSettings, "stream", "entries")
@click.option(
    "--prefill",
    is_flag=True,
    help="Reason first about all that the mapping can make, as far as the capacity goes.",
)
@field_option(EnricherSettings, "static_types")
@field_options(RowSettings, "window", "slide", "only", "explain", "timings")
@click.option(
    "--static-follow",
    type=READS,
    metavar="DIR",
    help="Each file that comes to this folder is more static data from then on; NAME.delete.nt is taken away.",
)
@field_options(EnricherSettings, "reasoner", "timeout")
@heap_option
@catalog_option
@stream_options(formats=("auto", "jsonl", "table", "jsonld"))
def enrich(
    feed: StreamArguments,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    store: str | None,
    mapping: str | None,
    stream: str | None,
    prefill: bool,
    static_follow: str | None,
    **options: Any,
) -> int:
    """Add to each event the types that follow from it by the whole of an OWL 2 ontology: one row
    for each line of the source.

    \b
    shiq stream enrich --tbox onto.owl --static rooms.ttl --source events.jsonl --only urn:Alert
    shiq stream enrich --store kg/ --source kafka://HOST:9092/events --out types.jsonl --checkpoint state/ --follow

    Exit codes: 0 each event was decided and is consistent; 1 some event contradicts; 3 none
    contradicts, but some was not decided; 2 usage; 4 operational.
    """
    rows = RowSettings(**{name: options.pop(name) for name in declared_names(RowSettings)})
    is_on_spark, is_windowed = feed.engine == "spark", rows.window is not None
    refuse_first(
        (
            (
                is_on_spark and is_windowed,
                UsageError(
                    "windows are not supported on Spark", "Leave out --engine spark, or --window."
                ),
            ),
            (
                is_on_spark and (rows.explain or rows.timings or static_follow),
                UsageError(
                    "--explain, --timings and --static-follow are not supported on Spark",
                    "Leave out --engine spark, or these.",
                ),
            ),
            (
                (store is None) == (not tbox),
                UsageError("name the ontology by --tbox, or a store by --store", "One of the two."),
            ),
            (
                prefill and mapping is None,
                UsageError(
                    "--prefill needs a mapping, which says what events there can be",
                    "Give it by --mapping.",
                ),
            ),
            (
                mapping is not None and feed.format == "jsonld",
                UsageError(
                    "JSON-LD needs no mapping, it says what its records mean",
                    "Leave out --mapping, or --format.",
                ),
            ),
            (
                stream is not None and mapping is None,
                UsageError(
                    "--stream names a logical source of a mapping", "Give the mapping by --mapping."
                ),
            ),
            (
                rows.slide != 1 and not is_windowed,
                UsageError(
                    "--slide is the distance between windows", "Give their width by --window."
                ),
            ),
            (
                rows.explain and is_windowed,
                UsageError(
                    "--explain works on single events, not on windows",
                    "Leave out --window, or --explain.",
                ),
            ),
        )
    )
    told = {
        name.replace("_", "-"): str(options[name])
        for name in ("policy", "capacity", "most_bytes", "static_types")
    }
    settings = {**told, "only": ", ".join(rows.only)}
    # Older checkpoints do not have those that say nothing by default.
    more = {"explain": ", ".join(rows.explain), "timings": rows.timings}
    more |= {"static-follow": static_follow}
    settings |= {name: str(value) for name, value in more.items() if value}
    settings |= {
        "prefill": str(prefill),
        "window": str(rows.window),
        "slide": str(rows.slide),
        "mapping": str(mapping),
    }
    with (
        open_store(store) if store is not None else nullcontext(list(static) or None) as given,
        open_enricher(
            list(tbox) or None, given, mapping=mapping, stream=stream, allow=feed.allow, **options
        ) as enricher,
    ):
        asked = [("--only", name) for name in rows.only]
        asked += [("--explain", name) for name in rows.explain]
        for flag, name in asked:  # no row would have it, mostly for a typo
            require_known(
                name,
                enricher.knowledge.classes,
                f"{flag} {name}: neither the ontology nor the static data knows this class",
            )
        settings["tbox"] = enricher.knowledge.digest[:12]
        tell = (lambda line: None) if feed.summary.quiet else partial(click.echo, err=True)
        with feed.start_run(settings) as run, closing(SlowReasoningLog(tell)) as waiting:
            enricher.slow_log = waiting
            enricher.entries.sampler.notify = tell
            rejects = RejectLog(run.outputs.make_text_writer("rejects"))
            system = EnrichmentCollector(
                enricher,
                run.outputs.make_text_writer("out"),
                rejects,
                feed.unit,
                make_readable=run.outputs.make_readable,
                jsonld=feed.format == "jsonld",
                windows=None if rows.window is None else EventWindows(rows.window, rows.slide),
                tracker=WatermarkTracker(None)
                if rows.window is None
                else feed.make_intake(run).tracker,
                rows=rows,
            )
            run.status.show_rejects(rejects)
            if static_follow is not None:
                enricher.static_folder = StaticFolder(Path(static_follow), tell)
                if run.saved_content is None:
                    enricher.static_folder.apply_new_files(enricher)
            if prefill and run.saved_content is None:
                enricher.prefill()
            waiting.before_reasoning = system.show_rows
            result: StreamAnswer = feed.drive(run, system)
        notes = enricher.notes
    return feed.finish(
        enrichment_text(result, feed.allow, notes, verbose=feed.summary.verbose), result
    )


def enrichment_text(
    result: StreamAnswer, allowed: Collection[str], notes: Sequence[str], *, verbose: bool = False
) -> str:
    """Text of an enrichment's result: verdict, leftovers, figures."""
    figures = result.statistics
    lines = [
        result.verdict.value.upper(),
        *leftovers_text(result.leftovers, allowed, verbose=verbose),
        *notes,
    ]
    told = [
        pluralize(figures["events"], "event"),
        f"{figures['hits']:,} met before ({figures['hit_rate']:.1%})",
    ]
    told += [
        f"{figures[name]:,} {name}"
        for name in ("entries", "evictions", "bypassed", "inconsistent", "undetermined")
        if figures[name]
    ]
    spent = seconds_text(figures["seconds"])
    return "\n".join(
        [
            *lines,
            "",
            f"{', '.join(told)}; {pluralize(figures['reasoner_calls'], 'question')}; {spent}",
        ]
    )

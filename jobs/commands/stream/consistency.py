"""``shiq stream consistency``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from jobs.commands.places import WRITES_ROWS, GuardedCommand
from jobs.commands.stream.options import (
    Feed,
    feeding,
    refuse_idle,
    static_option,
    store_option,
    watching,
)
from shiq.errors import UsageError
from streams.consistency.watch import BATCH


@click.command(cls=GuardedCommand)
@click.option(
    "--window",
    "-w",
    type=click.IntRange(min=0),
    required=True,
    help="At c it holds what came from c-W to c.",
)
@static_option
@store_option
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="K",
    help="With --store: check windows whole each K units.",
)
@click.option(
    "--from",
    "start",
    type=int,
    metavar="M",
    help="Where the stream begins; else with its first time.",
)
@click.option("--to", "end", type=int, metavar="N", help="Where it ends; else with its last time.")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=BATCH,
    show_default=True,
    help="How many events are taken at once; Spark takes what there is.",
)
@click.option(
    "--verdicts", type=WRITES_ROWS, metavar="FILE", help="One row a run of points of one verdict."
)
@click.option(
    "--accepted",
    type=WRITES_ROWS,
    metavar="FILE",
    help="Events that contradict none accepted before, as they stood.",
)
@click.option(
    "--quarantine",
    type=WRITES_ROWS,
    metavar="FILE",
    help="The others; of a conflict the newest event.",
)
@watching
@feeding()
def consistency(
    feed: Feed,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    store: str | None,
    every: int | None,
    verdicts: str | None,
    accepted: str | None,
    quarantine: str | None,
    **options: Any,
) -> int:
    """Which individuals of a stream contradict an ontology, from when to when, by which assertions?

    \b shiq stream consistency --tbox onto.owl --source events.jsonl --window 3 zcat log.gz |
    shiq stream consistency -t onto.owl -s - -w 60 --lateness 5 --out rows.jsonl --verdicts
    runs.jsonl shiq stream consistency --store kg/ --every 10 --source
    kafka://localhost:9092/events --follow --window 60 --checkpoint state

    Exit codes: 0 consistent at every point of time; 1 not; 3 something was left out and nothing
    contradicts; 2; 4.
    """
    from jobs.text.streams import stream_text
    from shiq.check import open_store
    from streams.consistency import plan as planned
    from streams.consistency.embedded import StreamQuestion, watch_run
    from streams.consistency.rate import rate_source

    if options["strategy"] != "ltm":
        refuse_idle(("rates", "grouping"), "--strategy ltm")
    if accepted and not quarantine:
        raise UsageError(
            "--accepted would lose the events that it leaves out",
            "Say by --quarantine where these go.",
        )
    if (every is None) != (store is None):
        raise UsageError("--store and --every go together", "Give both, or neither.")
    if not tbox and store is None:
        raise UsageError("no ontology is given", "Give --tbox, or --store with --every.")
    asked = StreamQuestion(
        **{name: options.pop(name) for name in ("start", "end", "batch")},
        allow=feed.allow,
        follow=feed.follow,
    )
    with ExitStack() as stack:
        session = stack.enter_context(open_store(store)) if store else None
        found = planned(list(tbox) or (session and session.tbox), **options, allow=feed.allow)  # type: ignore[arg-type]
        settings = {
            **found.settings,
            "static": ", ".join(static),
            "from": str(asked.start),
            "to": str(asked.end),
            "store": f"{store} each {every}" if store else "none",
        }
        files = {"verdicts": verdicts, "accepted": accepted, "quarantine": quarantine}
        made = {
            name: rate_source(name, found.view.signature)
            for name in feed.sources
            if name.startswith("rate://")
        }
        run = stack.enter_context(feed.started(settings, made, **files))
        checks = (session, every) if session and every else None
        drive = None
        if feed.engine == "spark":
            from jobs.streaming.consistency import BucketFindings

            drive = lambda run, watch: feed.on_spark(run, BucketFindings(watch))  # noqa: E731
        result = watch_run(
            run, found, feed.arrivals(run), asked, list(static) or None, checks, drive=drive
        )
    return feed.end(stream_text(result, found, feed.allow, verbose=feed.verbose), result)

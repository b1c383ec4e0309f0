"""``shiq stream consistency``."""

from __future__ import annotations

from typing import Any

import click

from jobs.commands.running import write_json
from jobs.commands.stream.options import Feed, feeding, static_option, watching
from shiq.errors import UsageError


@click.command()
@click.option("--window", "-w", type=click.IntRange(min=0), required=True, help="At c it holds what came from c-W to c.")
@static_option
@click.option("--from", "start", type=int, metavar="M", help="Where the stream begins; else with its first time.")
@click.option("--to", "end", type=int, metavar="N", help="Where it ends; else with its last time.")
@click.option("--batch", type=click.IntRange(min=1), default=1000, show_default=True, help="How many events are taken at once.")
@click.option("--verdicts", metavar="FILE", help="One row a run of points of one verdict.")
@watching
@feeding()
def consistency(
    feed: Feed,
    tbox: tuple[str, ...],
    static: tuple[str, ...],
    start: int | None,
    end: int | None,
    batch: int,
    verdicts: str | None,
    **watched: Any,
) -> int:
    """Which individuals of a stream contradict an ontology, from when to when, by which assertions?

    \b
    shiq stream consistency --tbox onto.owl --source events.jsonl --window 3
    zcat log.gz | shiq stream consistency -t onto.owl -s - -w 60 --lateness 5 --out rows.jsonl --verdicts runs.jsonl

    Exit codes: 0 consistent at every point of time; 1 not; 3 something was left out and nothing contradicts; 2; 4.
    """
    from jobs.text.streams import stream_text
    from streams.consistency import plan as planned
    from streams.consistency.watch import Watch

    if feed.engine == "spark":
        raise UsageError("--engine spark is not there yet", "Leave it out.")
    found = planned(list(tbox), **watched, allow=feed.allow)
    settings = {**found.settings, "static": ", ".join(static), "from": str(start), "to": str(end)}
    with feed.started(settings, verdicts=verdicts) as run:
        watch = Watch(found, feed.arrivals(run), start, end, batch, feed.allow, run.outputs.to("out"), feed.follow)
        watch.begin(list(static) or None)
        result = run.drive(watch, follow=feed.follow)
        run.outputs.write("verdicts", result.verdicts)
    feed.tell(stream_text(result, found, feed.allow, verbose=feed.verbose))
    write_json(feed.json_file, result.to_dict())
    return result.exit_code

"""``shiq stream consistency``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import click

from jobs.commands.options import Nearest
from jobs.commands.running import write_json
from jobs.commands.stream.options import watching
from streams.front.event import UNITS
from streams.front.record import Record


@click.command()
@click.option("--source", "-s", "sources", multiple=True, required=True, help="Where events come from; repeatable.")
@click.option("--window", "-w", type=click.IntRange(min=0), required=True, help="At c it holds what came from c-W to c.")
@click.option("--static", multiple=True, metavar="FILE", help="What holds at all times; repeatable.")
@click.option("--from", "start", type=int, metavar="M", help="Where the stream begins; else with its first time.")
@click.option("--to", "end", type=int, metavar="N", help="Where it ends; else with its last time.")
@click.option("--lateness", type=click.IntRange(min=0), default=0, show_default=True, help="How late events may come.")
@click.option("--max-ahead", type=click.IntRange(min=1), default=100_000, show_default=True, help="How far one may be ahead.")
@click.option("--unit", type=Nearest(list(UNITS)), default="sec", show_default=True, help="What date-times are floored to.")
@click.option("--batch", type=click.IntRange(min=1), default=1000, show_default=True, help="How many events are taken at once.")
@click.option("--out", default="-", show_default=True, metavar="FILE", help="One row an individual, conflict and span.")
@click.option("--verdicts", metavar="FILE", help="One row a run of points of one verdict.")
@click.option("--rejects", "rejected", metavar="FILE", help="What was not used, and why.")
@watching
def consistency(
    tbox: tuple[str, ...],
    sources: tuple[str, ...],
    out: str,
    verdicts: str | None,
    rejected: str | None,
    json_file: str | None,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Which individuals of a stream contradict an ontology, from when to when, by which assertions?

    \b
    shiq stream consistency --tbox onto.owl --source events.jsonl --window 3
    zcat log.gz | shiq stream consistency -t onto.owl -s - -w 60 --lateness 5 --out rows.jsonl --verdicts runs.jsonl

    Exit codes: 0 consistent at every point of time; 1 not; 3 something was left out and nothing contradicts; 2; 4.
    """
    from jobs.text.streams import stream_text
    from streams.consistency import check_stream
    from streams.consistency import plan as planned
    from streams.front.rejects import Rejects
    from streams.front.sinks import open_sink, row_text

    watched = {name: options.pop(name) for name in ("window", "strategy", "cut", "grouping", "rates", "assume")}
    found = planned(list(tbox), **watched, allow=options["allow"])
    static = options.pop("static")
    with ExitStack() as stack:

        def sink(target: str | None) -> Any:
            if target is None or (target == "-" and json_file == "-"):
                return None
            opened = open_sink(target)
            stack.callback(opened.close)
            stack.callback(opened.flush)
            return opened

        def write(to: Any, rows: Iterable[dict[str, Any]]) -> None:
            if to is not None:
                to.write([row_text(row) for row in rows])

        rows, runs, rejects = sink(out), sink(verdicts), Rejects(sink(rejected))
        result = check_stream(
            found, _records(sources), list(static) or None, **options, rejects=rejects, heard=lambda told: write(rows, told)
        )
        write(runs, result.verdicts)
    if not quiet:
        # Rows on stdout are read by programs.
        click.echo(stream_text(result, found, options["allow"], verbose=verbose), err="-" in (out, verdicts, json_file))
    write_json(json_file, result.to_dict())
    return result.exit_code


def _records(sources: Iterable[str]) -> Iterator[Record]:
    from streams.front.sources import open_source

    for opened in [open_source(name) for name in sources]:
        yield from opened.read(False)

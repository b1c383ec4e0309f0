"""The options that stream commands share: what goes in and out, ontologies, and how a TBox is
watched.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from jobs.commands.options import Nearest, catalog_option, master_option
from jobs.commands.places import READS, STORE, WRITES, WRITES_ROWS, Writes
from jobs.commands.running import write_json
from jobs.outputs import OutputKind, share_no_stdout
from shiq.errors import InputError, UsageError
from shiq.verdict import KINDS
from streams.consistency.negative_inclusions import GROUPINGS
from streams.consistency.plan import ASSUMPTIONS, STRATEGIES
from streams.front.arrivals import Arrivals
from streams.front.event import UNITS
from streams.front.kafka_options import NO_OPTIONS, KafkaOptions, read_options
from streams.front.lateness import EventClock
from streams.front.rejects import RejectLog
from streams.front.run import StreamRun, started
from streams.front.sources import Source, open_source
from streams.front.status import Status

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Feed:
    """What each command on a stream is asked for: `feeding` gives it as the argument ``feed``."""

    sources: tuple[str, ...]
    format: str
    unit: str
    engine: str
    master: str | None
    follow: bool
    lateness: int
    max_ahead: int
    checkpoint: str | None
    out: str
    rejected: str | None
    allow: tuple[str, ...]
    json_file: str | None
    quiet: bool
    verbose: bool
    require_nonempty: bool
    options: KafkaOptions

    def started(
        self,
        settings: Mapping[str, str],
        made: Mapping[str, Source] | None = None,
        **more: str | None,
    ) -> AbstractContextManager[StreamRun]:
        """A run in this process, to the outputs ``out``, ``rejects``, and ``more``; ``settings``
        of the command, which change rows (see `streams.front.run.started`); ``made``: sources,
        by name, that only the command can open.
        """
        own = {"lateness": str(self.lateness), "max-ahead": str(self.max_ahead), "unit": self.unit}
        own |= {"format": self.format, "engine": self.engine}
        targets = {"out": self.out, "rejects": self.rejected, **more}
        if self.json_file == "-":
            targets["out"] = None if self.out == "-" else self.out
            share_no_stdout(
                [("--json", "-"), *((f"--{name}", target) for name, target in targets.items())]
            )
        if self.options.settings and not any(name.startswith("kafka://") for name in self.sources):
            raise UsageError(
                "--source-option is about topics, and no --source is one",
                "Leave it out, or name kafka://HOST:PORT/TOPIC.",
            )
        options = self.options
        if self.engine == "spark":
            from jobs.streaming.sources import check_targets

            check_targets(
                self.sources, options
            )  # what Spark cannot read is said before outputs are begun
            options = NO_OPTIONS  # Spark reads
        sources = [
            (made or {}).get(name) or open_source(name, self.unit, self.format, options)
            for name in self.sources
        ]
        settings = {**own, **self.options.changing, **settings}
        return started(sources, targets, self.checkpoint, settings, self._status())

    def on_spark(self, run: StreamRun, face: Any, **how: Any) -> Any:
        """What comes of ``run`` by Spark Structured Streaming; ``face``, ``how``: see
        `jobs.streaming.session.on_spark`.
        """
        from jobs.streaming.session import on_spark

        how |= {
            "format": self.format,
            "follow": self.follow,
            "master": self.master,
            "options": self.options,
        }
        return on_spark(face, run, self.sources, **how)

    def _status(self) -> Status:
        """How a followed run goes, on stderr: in a moving line on a terminal, unless rows are
        shown there too.
        """
        if self.quiet or not self.follow:
            return Status()
        is_moving = sys.stderr.isatty() and not (self.out == "-" and sys.stdout.isatty())
        return Status(partial(click.echo, nl=False, err=True, color=True), is_moving)

    def arrivals(self, run: StreamRun, window: int = 0, *, unordered: bool = False) -> Arrivals:
        """What makes events of the records of ``run``, and writes its rejects. ``unordered``:
        nothing is late, unless it is followed.
        """
        lateness = None if unordered and not self.follow else self.lateness
        arrivals = Arrivals(
            EventClock(lateness, self.max_ahead),
            RejectLog(run.outputs.texts("rejects")),
            self.unit,
            window,
        )
        run.status.tell_time(arrivals.clock, self.unit)
        run.status.tell_rejects(arrivals.rejects)
        return arrivals

    def tell(self, text: str) -> None:
        """Prints a summary: to stderr where rows, which programs read, are on stdout."""
        if not self.quiet:
            click.echo(text, err="-" in (self.out, self.json_file))

    def end(self, text: str, result: Any, document: Any = None) -> int:
        """Prints a summary and writes ``--json``; the exit code. Raises: InputError where
        nothing came, and something had to.
        """
        told = result.statistics
        if self.require_nonempty and not told.get("events", told.get("points")):
            raise InputError(
                "the stream held no event",
                "Did its source break off? Leave --require-nonempty out if that is meant.",
            )
        self.tell(text)
        write_json(self.json_file, document or result.to_dict())
        return int(result.exit_code)


def feeding(
    *,
    formats: tuple[str, ...] = ("auto", "jsonl", "table"),
    unit: str = "sec",
    required: bool = True,
) -> Callable[[F], F]:
    """The options of `Feed`. ``formats``: what `--format` takes, the usual first; ``unit``: the
    usual one; ``required``: whether there must be a source.
    """

    def put(command: F) -> F:
        names = [field.name for field in fields(Feed)]

        @wraps(command)
        def call(**given: Any) -> Any:
            return command(feed=Feed(**{name: given.pop(name) for name in names}), **given)

        found: F = _with_options(call, _feed_options(formats, unit, required))
        return found

    return put


def _with_options(command: Any, options: tuple[Callable[[Any], Any], ...]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def _feed_options(
    formats: tuple[str, ...], unit: str, required: bool
) -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option(
            "--source",
            "-s",
            "sources",
            multiple=True,
            type=READS,
            required=required,
            help="Where events come from: a file of JSON lines, a folder, -, a Parquet or Delta table, kafka://HOST:PORT/TOPIC, "
            "socket://HOST:PORT; repeatable.",
        ),
        click.option(
            "--source-option",
            "options",
            multiple=True,
            metavar="KEY=VALUE",
            callback=lambda context, parameter, texts: read_options(texts),
            help="How topics are read, as Spark's connector names it: startingOffsets, maxOffsetsPerTrigger, "
            "kafka.security.protocol, …; a password as env:NAME or file:PATH; repeatable.",
        ),
        click.option(
            "--format",
            type=Nearest(list(formats)),
            default=formats[0],
            show_default=True,
            help="What sources hold.",
        ),
        click.option(
            "--unit",
            type=Nearest(list(UNITS)),
            default=unit,
            show_default=True,
            help="What date-times are floored to.",
        ),
        click.option(
            "--engine",
            type=Nearest(["local", "spark"]),
            default="local",
            show_default=True,
            help="This process, or Spark Structured Streaming.",
        ),
        master_option,
        click.option(
            "--follow", is_flag=True, help="Wait for what is still to come; Ctrl-C ends it."
        ),
        click.option(
            "--lateness",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="How late events may come.",
        ),
        click.option(
            "--max-ahead",
            type=click.IntRange(min=1),
            default=100_000,
            show_default=True,
            help="How far one may be ahead.",
        ),
        click.option(
            "--checkpoint",
            type=Writes(OutputKind.OWN),
            metavar="DIR",
            help="Where a run that was stopped goes on; each row is written once.",
        ),
        click.option(
            "--out",
            type=WRITES_ROWS,
            default="-",
            show_default=True,
            metavar="FILE",
            help="Where rows go: a file, -, a table, a topic.",
        ),
        click.option(
            "--rejects",
            "rejected",
            type=WRITES_ROWS,
            metavar="FILE",
            help="What was not used, and why.",
        ),
        click.option(
            "--require-nonempty",
            is_flag=True,
            help="End with 4 if no event came: a feed that broke off, perhaps.",
        ),
        *_ANSWERS,
    )


#: What commands have that read no stream, too.
_ANSWERS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--allow",
        type=Nearest(list(KINDS)),
        multiple=True,
        metavar="KIND",
        help="Do not let this kind of leftover stand in the way of `consistent`; repeatable.",
    ),
    click.option(
        "--json",
        "json_file",
        type=WRITES,
        metavar="FILE",
        help="Write the result as JSON too; - for stdout, and no rows there.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No summary."),
    click.option(
        "-v", "--verbose", is_flag=True, help="All of it; with errors, where they come from."
    ),
)


def answering(command: F) -> F:
    """The options --allow, --json, -q, -v of a command that reads no stream."""

    @wraps(command)
    def call(**given: Any) -> Any:
        return command(**given)

    found: F = _with_options(call, _ANSWERS)
    return found


def was_given(name: str) -> bool:
    """Whether a parameter of the command that is called has not its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source is not click.core.ParameterSource.DEFAULT


def refuse_idle(names: Sequence[str], where: str) -> None:
    """Raises: UsageError for one of the parameters that was given although it matters only
    ``where``.
    """
    for name in filter(was_given, names):
        raise UsageError(
            f"--{name.replace('_', '-')} does nothing without {where}",
            f"Leave it out, or say {where}.",
        )


def keep_known(name: str, known: Collection[str], unknown: str) -> None:
    """Raises: UsageError, which says ``unknown`` and which known name is nearest, for one that
    is not ``known``.
    """
    if name not in known:
        near = difflib.get_close_matches(name, sorted(known), 1, 0)
        raise UsageError(unknown, f"Did you mean {near[0]}?" if near else "There is none to name.")


tbox_option = click.option(
    "--tbox", "-t", multiple=True, type=READS, help="Ontology file; repeatable."
)
static_option = click.option(
    "--static",
    multiple=True,
    type=READS,
    metavar="FILE",
    help="What holds at all times; repeatable.",
)
store_option = click.option(
    "--store",
    type=STORE,
    metavar="KG",
    help="A store that `shiq index` built, instead of --tbox and --static.",
)


def _cut(context: click.Context, parameter: click.Parameter, value: str) -> str | tuple[int, ...]:
    if value in ("auto", "none"):
        return value if value == "auto" else ()
    try:
        return tuple(int(word) for word in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is none of auto, none, and numbers such as 1,2.", context, parameter
        ) from None


def _rates(file: str | None) -> dict[str, float] | None:
    if file is None:
        return None
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        return {str(iri): float(rate) for iri, rate in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} has no rates: {error}", 'Write a JSON object: {"IRI": events per unit}.'
        ) from error


def watching(command: F) -> F:
    """The options of `streams.consistency.plan`."""

    @wraps(command)
    def call(rates: str | None, **given: Any) -> Any:
        if given["strategy"] != "ltm":
            refuse_idle(("cut",), "--strategy ltm")
        return command(rates=_rates(rates), **given)

    found: F = _with_options(
        call,
        (
            tbox_option,
            click.option(
                "--strategy", type=Nearest(list(STRATEGIES)), default="mask", show_default=True
            ),
            click.option(
                "--cut",
                default="auto",
                show_default=True,
                callback=_cut,
                metavar="auto|none|N,…",
                help="For ltm: after which groups bolts end; none: one bolt; auto: what costs least.",
            ),
            click.option(
                "--grouping", type=Nearest(list(GROUPINGS)), default="printed", show_default=True
            ),
            click.option(
                "--rates",
                type=READS,
                metavar="FILE",
                help="Events a unit by IRI, as JSON; else all alike.",
            ),
            click.option(
                "--assume",
                type=Nearest(list(ASSUMPTIONS)),
                multiple=True,
                help="What the ontology does not say; repeatable.",
            ),
            catalog_option,
        ),
    )
    return found

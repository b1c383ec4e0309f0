"""Options that stream commands share: inputs and outputs, ontologies, and plans for watching a
stream under a TBox.
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
from typing import Any, TypeVar, cast

import click

from shiq.answers.verdict import KINDS
from shiq.errors import InputError, UsageError
from shiq.jobs.commands.options import (
    NearestChoice,
    catalog_option,
    field_option,
    field_options,
    master_option,
    with_options,
)
from shiq.jobs.commands.places import READS, STORE
from shiq.jobs.commands.running import write_json
from shiq.jobs.option_fields import Takes, declared_names, declared_option, option
from shiq.jobs.outputs import refuse_shared_stdout
from shiq.streams.consistency.negative_inclusions import GROUPINGS
from shiq.streams.consistency.plan import ASSUMPTIONS, STRATEGIES
from shiq.streams.front.event import UNITS
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.kafka import NO_OPTIONS, KafkaOptions, parse_kafka_options
from shiq.streams.front.local import LocalRunner, StateOpener, open_bucket_state
from shiq.streams.front.run import RunStatus, StreamRun, open_run
from shiq.streams.front.sources import Source, open_source

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class SummaryOptions:
    """Options for the summary that a stream command prints at its end: JSON, quiet, verbose."""

    json_file: str | None = option(
        None,
        "Write the result as JSON too; - for stdout, and no rows there.",
        flags=("--json",),
        takes=Takes.OUTPUT_FILE,
        metavar="FILE",
    )
    quiet: bool = option(False, "No summary.", flags=("-q", "--quiet"))
    verbose: bool = option(
        False, "All of it; with errors, where they come from.", flags=("-v", "--verbose")
    )


#: A summary as it is told where nothing is asked for.
NO_SUMMARY = SummaryOptions()


@dataclass(frozen=True)
class StreamArguments:
    """Options that all stream commands share; `stream_options` passes them as the argument
    ``feed``.
    """

    sources: tuple[str, ...] = option(
        (),
        "Source of events: a file of JSON lines, a folder, -, a Parquet or Delta table, kafka://HOST:PORT/TOPIC, "
        "socket://HOST:PORT; repeatable.",
        flags=("--source", "-s"),
        takes=Takes.INPUT_FILE,
        is_repeatable=True,
    )
    options: KafkaOptions = option(
        NO_OPTIONS,
        "Option for reading topics, as Spark's connector names it: startingOffsets, maxOffsetsPerTrigger, "
        "kafka.security.protocol, …; a password as env:NAME or file:PATH; repeatable.",
        flags=("--source-option",),
        is_repeatable=True,
        metavar="KEY=VALUE",
    )
    format: str = option("auto", "Format of the sources.", choices=("auto", "jsonl", "table"))
    unit: str = option(
        "sec", "Unit of time: date-times are rounded down to it.", choices=tuple(UNITS)
    )
    engine: str = option(
        "local",
        "Engine: this process, or Spark Structured Streaming.",
        choices=("local", "spark"),
    )
    master: str | None = None
    follow: bool = option(False, "Wait for further events; Ctrl-C ends the run.")
    lateness: int = option(
        0, "Longest time that an event may come after newer ones, in units of time.", minimum=0
    )
    max_ahead: int = option(
        100_000,
        "Most that an event may be ahead of the newest one; others are rejected.",
        minimum=1,
    )
    checkpoint: str | None = option(
        None,
        "Folder of the checkpoint: a stopped run resumes from it, and each row is written once.",
        takes=Takes.STATE_FOLDER,
        metavar="DIR",
    )
    out: str = option(
        "-",
        "Output of the rows: a file, -, a table, a topic.",
        takes=Takes.OUTPUT_ROWS,
        metavar="FILE",
    )
    rejected: str | None = option(
        None,
        "Output of rejected events, with the reason.",
        flags=("--rejects",),
        takes=Takes.OUTPUT_ROWS,
        metavar="FILE",
    )
    require_nonempty: bool = option(
        False, "End with 4 if no event came: a feed that broke off, perhaps."
    )
    allow: tuple[str, ...] = option(
        (),
        "Do not let this kind of leftover stand in the way of `consistent`; repeatable.",
        choices=tuple(KINDS),
        is_repeatable=True,
        metavar="KIND",
    )
    summary: SummaryOptions = NO_SUMMARY

    def start_run(
        self,
        settings: Mapping[str, str],
        made: Mapping[str, Source] | None = None,
        **more: str | None,
    ) -> AbstractContextManager[StreamRun]:
        """Open sources, outputs (rows, rejected events, and further ones in ``more``) and
        checkpoint of a stream command, as a context manager.

        settings: settings of the command that change rows.
        made: sources, by name, that only the command can open.
        """
        own = {"lateness": str(self.lateness), "max-ahead": str(self.max_ahead), "unit": self.unit}
        own |= {"format": self.format, "engine": self.engine}
        targets = {"out": self.out, "rejects": self.rejected, **more}
        if self.summary.json_file == "-":
            targets["out"] = None if self.out == "-" else self.out
            refuse_shared_stdout(
                [("--json", "-"), *((f"--{name}", target) for name, target in targets.items())]
            )
        if self.options.settings and not any(name.startswith("kafka://") for name in self.sources):
            raise UsageError(
                "--source-option is about topics, and no --source is one",
                "Leave it out, or name kafka://HOST:PORT/TOPIC.",
            )
        options = self.options
        if self.engine == "spark":
            from shiq.jobs.streaming.sources import check_targets

            check_targets(
                self.sources, options
            )  # what Spark cannot read is said before outputs are begun
            options = NO_OPTIONS  # Spark reads
        sources = [
            (made or {}).get(name) or open_source(name, self.unit, self.format, options)
            for name in self.sources
        ]
        settings = {**own, **self.options.checkpoint_settings, **settings}
        return open_run(sources, targets, self.checkpoint, settings, self._status())

    def drive(
        self,
        run: StreamRun,
        collector: Any,
        time: Any = None,
        opener: StateOpener = open_bucket_state,
    ) -> Any:
        """Feed all records of ``run`` to ``collector``, which evaluates them, in this process or on
        Spark. Returns the collector's result at the end.

        time: time of a record, by which sources are merged in this process.
        opener: opens the states of buckets in this process.
        """
        if self.engine != "spark":
            return run.feed_system(LocalRunner(collector, opener), follow=self.follow, time=time)
        from shiq.jobs.streaming.session import run_on_spark

        how = {"format": self.format, "follow": self.follow, "master": self.master}
        return run_on_spark(collector, run, self.sources, options=self.options, **how)  # type: ignore[arg-type]

    def _status(self) -> RunStatus:
        """Status display of a run with ``--follow`` on stderr: one moving line on a terminal,
        unless rows go there too.
        """
        if self.summary.quiet or not self.follow:
            return RunStatus()
        is_moving = sys.stderr.isatty() and not (self.out == "-" and sys.stdout.isatty())
        return RunStatus(partial(click.echo, nl=False, err=True, color=True), is_moving)

    def make_intake(
        self, run: StreamRun, make: Callable[..., Any] = EventIntake, *, unordered: bool = False
    ) -> Any:
        """Make the intake of the records of ``run`` (`EventIntake`): it parses them as events, and
        writes those that it rejects to the output of rejected events.

        unordered: no event is late, unless the stream is followed.
        """
        lateness = None if unordered and not self.follow else self.lateness
        clock = WatermarkTracker(lateness, self.max_ahead)
        arrivals = make(clock, RejectLog(run.outputs.make_text_writer("rejects")), self.unit)
        run.status.show_time(arrivals.tracker, self.unit)
        run.status.show_rejects(arrivals.rejects)
        return arrivals

    def print_summary(self, text: str) -> None:
        """Print a summary, to stderr if rows are on stdout."""
        if not self.summary.quiet:
            click.echo(text, err="-" in (self.out, self.summary.json_file))

    def finish(self, text: str, result: Any, document: Any = None) -> int:
        """Print a summary and write ``--json``. Returns the exit code. Raises: InputError if the
        stream was empty and the options forbid that.
        """
        told = result.statistics
        if self.require_nonempty and not told.get("events", told.get("points")):
            raise InputError(
                "the stream held no event",
                "Did its source break off? Leave --require-nonempty out if that is meant.",
            )
        self.print_summary(text)
        write_json(self.summary.json_file, document or result.to_dict())
        return int(result.exit_code)


def stream_options(
    *,
    formats: tuple[str, ...] = declared_option(StreamArguments, "format").choices,
    unit: str = StreamArguments.unit,
    required: bool = True,
) -> Callable[[F], F]:
    """Decorator: add the options of `StreamArguments` to a command.

    formats: choices of ``--format``, the default first.
    unit: default of ``--unit``.
    required: whether a source must be named.
    """

    def decorate(command: F) -> F:
        names = [field.name for field in fields(StreamArguments) if field.name != "summary"]

        @wraps(command)
        def call(**given: Any) -> Any:
            summary = SummaryOptions(
                **{name: given.pop(name) for name in declared_names(SummaryOptions)}
            )
            own = {name: given.pop(name) for name in names}
            return command(feed=StreamArguments(**own, summary=summary), **given)

        changes: dict[str, dict[str, Any]] = {
            "sources": {"required": required},
            "options": {"callback": lambda context, parameter, texts: parse_kafka_options(texts)},
            "format": {"type": NearestChoice(formats), "default": formats[0]},
            "unit": {"default": unit},
        }
        made = (
            master_option
            if name == "master"
            else field_option(StreamArguments, name, **changes.get(name, {}))
            for name in names
        )
        return with_options(cast(F, call), (*made, _summary_options))

    return decorate


_summary_options = field_options(SummaryOptions, *declared_names(SummaryOptions))


def answer_options(command: F) -> F:
    """Decorator: add ``--allow``, ``--json``, ``-q`` and ``-v`` to a command that reads no stream."""
    return with_options(command, (field_option(StreamArguments, "allow"), _summary_options))


def was_given(name: str) -> bool:
    """Decide whether the user gave a parameter of the current command, even if with its default
    value.
    """
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source is not click.core.ParameterSource.DEFAULT


def refuse_ineffective(names: Sequence[str], where: str) -> None:
    """Refuse parameters that the user gave although they matter only together with the option
    ``where``. Raises: UsageError.
    """
    for name in filter(was_given, names):
        raise UsageError(
            f"--{name.replace('_', '-')} does nothing without {where}",
            f"Leave it out, or say {where}.",
        )


def require_known(name: str, known: Collection[str], unknown: str) -> None:
    """Refuse a ``name`` that is not ``known``: report ``unknown`` and the nearest known name.
    Raises: UsageError.
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
    help="Static assertions, true at all times; repeatable.",
)
store_option = click.option(
    "--store",
    type=STORE,
    metavar="KG",
    help="A store that `shiq index` built, instead of --tbox and --static.",
)


def _parse_cut(
    context: click.Context, parameter: click.Parameter, value: str
) -> str | tuple[int, ...]:
    """Parse the value of ``--cut``: auto, none, or comma-separated numbers of groups of labels.
    Raises: BadParameter.
    """
    if value in ("auto", "none"):
        return value if value == "auto" else ()
    try:
        return tuple(int(word) for word in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is none of auto, none, and numbers such as 1,2.", context, parameter
        ) from None


def _read_rates(file: str | None) -> dict[str, float] | None:
    """Read the event rate of each IRI (events per unit of time) from a JSON file; None without a
    file. Raises: InputError.
    """
    if file is None:
        return None
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        return {str(iri): float(rate) for iri, rate in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file} has no rates: {error}", 'Write a JSON object: {"IRI": events per unit}.'
        ) from error


def plan_options(command: F) -> F:
    """Decorator: add to a command the options for how a stream is watched for contradictions
    (`shiq.streams.consistency.plan`): ontology, strategy, cut, grouping and so on.
    """

    @wraps(command)
    def call(rates: str | None, **given: Any) -> Any:
        if given["strategy"] != "ltm":
            refuse_ineffective(("cut",), "--strategy ltm")
        return command(rates=_read_rates(rates), **given)

    return with_options(
        cast(F, call),
        (
            tbox_option,
            click.option(
                "--strategy",
                type=NearestChoice(list(STRATEGIES)),
                default="mask",
                show_default=True,
            ),
            click.option(
                "--cut",
                default="auto",
                show_default=True,
                callback=_parse_cut,
                metavar="auto|none|N,…",
                help="For ltm: after which groups bolts end; none: one bolt; auto: what costs least.",
            ),
            click.option(
                "--grouping",
                type=NearestChoice(list(GROUPINGS)),
                default="printed",
                show_default=True,
            ),
            click.option(
                "--rates",
                type=READS,
                metavar="FILE",
                help="File of rates: events per unit of time by IRI, as JSON. [default: all equal]",
            ),
            click.option(
                "--assume",
                type=NearestChoice(list(ASSUMPTIONS)),
                multiple=True,
                help="Assumption that the ontology does not state; repeatable.",
            ),
            catalog_option,
        ),
    )

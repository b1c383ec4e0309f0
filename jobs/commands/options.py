"""Options that several commands share, and parameter types that suggest near names."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from shiq.answers.verdict import KINDS
from shiq.errors import UsageError
from shiq.inputs.formats import FORMAT_NAMES
from shiq.jobs.checking.options import REMOVED_ENGINES, Options
from shiq.jobs.commands.places import (
    CATALOG,
    FORMAT,
    INPUTS,
    READS,
    READS_PATH,
    STORE,
    WRITES,
    WRITES_ROWS,
    GroupedOption,
    GuardedCommand,
    OutputParameter,
)
from shiq.jobs.option_fields import (
    DeclaredOption,
    Heading,
    Takes,
    declared_option,
    default_value,
    option,
)
from shiq.jobs.outputs import OutputKind

F = TypeVar("F", bound=Callable[..., Any])


def _report_files(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
    """List the files that ``--report NAME`` writes, so that outputs that would replace an input can
    be refused.
    """
    # Loaded where a report is asked for.
    from shiq.jobs.reports.write import FOLDER, read_target

    target = read_target(name)
    own = (name, OutputKind.FOLDER if target.format == FOLDER else OutputKind.FILE)
    return [own, *((str(file), OutputKind.FILE) for file in target.inner_files)]


#: Where a report is written, or a folder of all of them.
REPORTS = OutputParameter(list_outputs=_report_files)


def is_update_file(name: str) -> bool:
    """Decide whether ``name`` is that of a file of SPARQL Update."""
    return name.lower().endswith(".ru")


def refuse_first(rules: Iterable[tuple[object, Exception]]) -> None:
    """Raise the error of the first of ``rules`` that is broken. A rule: whether the command line
    breaks it, and the error.
    """
    for is_broken, error in rules:
        if is_broken:
            raise error


class NearestChoice(click.Choice[str]):
    """Parameter type: a choice whose error for an unknown value suggests the nearest known one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Convert a value; the error for an unknown one suggests the nearest."""
        if value in self.choices:
            return str(value)
        if value in REMOVED_ENGINES:
            self.fail(f"{REMOVED_ENGINES[value]}.", param, ctx)
        near = difflib.get_close_matches(str(value), list(self.choices), 1, 0)
        self.fail(
            f"{value!r} is not known. Did you mean {near[0]!r}? Known: {', '.join(self.choices)}.",
            param,
            ctx,
        )


class Seconds(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # of later versions
    """Parameter type: a duration of ``least`` seconds or more, written as 300, 90s, 5m or 1h30m."""

    name = "time"
    _UNITS: ClassVar = {
        "ms": 0.001,
        "s": 1.0,
        "": 1.0,
        "m": 60.0,
        "min": 60.0,
        "h": 3600.0,
        "d": 86400.0,
    }
    _PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|min|[smhd])?\s*")

    def __init__(self, least: float = 0.0) -> None:
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert a duration such as 1h30m to seconds."""
        if isinstance(value, (int, float)):
            return float(value)
        text, parts = str(value).strip().lower(), []
        while text and (part := self._PART.match(text)):
            parts.append((float(part[1]), part[2] or ""))
            text = text[part.end() :]
        # A number without a unit stands alone: 5m30 may be meant otherwise.
        if text or not parts or (len(parts) > 1 and any(not unit for _, unit in parts)):
            self.fail(f"{value!r} is no time. Say 300 (seconds), 90s, 5m or 1h30m.", param, ctx)
        seconds = sum(number * self._UNITS[unit] for number, unit in parts)
        if seconds < self.least:
            self.fail(f"{value!r} is too short: {self.least:g} seconds at least.", param, ctx)
        return seconds


class WordList(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # of later versions
    """Parameter type: words separated by commas."""

    name = "words"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Split a text at its commas into words."""
        return tuple(word.strip() for word in str(value).split(",") if word.strip())


class NumberList(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # of later versions
    """Parameter type: integers separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Split a text at its commas into integers."""
        try:
            return tuple(int(word) for word in str(value).split(","))
        except ValueError:
            what = getattr(param, "name", None) or "this"
            raise UsageError(f"not numbers of {what}: {value!r}", "Write 1, or 1,5.") from None


class Share(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # of later versions
    """Parameter type: a fraction, written as 0.05 or 5%."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert a fraction or a percentage to a number between 0 and 1."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{value!r} is no share. Say 0.05 or 5%.", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not between 0 and 1 (100%).", param, ctx)
        return share


#: The type of an option's value.
_TYPES: Mapping[Takes, Any] = {
    Takes.TEXT: None,
    Takes.WORDS: WordList(),
    Takes.NUMBERS: NumberList(),
    Takes.INTEGER: click.INT,
    Takes.POSITIVE: click.FloatRange(0, min_open=True),
    Takes.TIME: Seconds(),
    Takes.SHARE: Share(),
    Takes.FRACTION: click.FloatRange(0, 1),
    Takes.AMOUNT: click.FloatRange(0),
    Takes.INPUT_FILE: READS,
    Takes.INPUT_PATH: READS_PATH,
    Takes.CATALOG: CATALOG,
    Takes.OUTPUT_FILE: WRITES,
    Takes.OUTPUT_ROWS: WRITES_ROWS,
    Takes.OUTPUT_FOLDER: OutputParameter(OutputKind.FOLDER, Path),
    Takes.REPORT: REPORTS,
    Takes.STATE_FOLDER: OutputParameter(OutputKind.OWN),
}


def field_option(owner: type, name: str, **changes: Any) -> Callable[[F], F]:
    """Make the Click option for the field ``name`` of a dataclass of options, with its help text,
    type and default. ``changes``: arguments of `click.option` that differ for one command.
    """
    shown, default = declared_option(owner, name), default_value(owner, name)
    how: dict[str, Any] = {"help": shown.help, "metavar": shown.metavar, "heading": shown.heading}
    if isinstance(default, bool):
        how["is_flag"] = True
    else:
        how["type"] = _click_type(shown)
        if shown.is_repeatable:
            how["multiple"] = True
        elif isinstance(default, tuple):
            how |= {"default": ",".join(map(str, default)), "show_default": bool(default)}
        elif default is not None:
            # A share of nothing is what "not at all" is.
            how |= {"default": default, "show_default": shown.takes is not Takes.SHARE}
    flags = shown.flags or (f"--{name.replace('_', '-')}",)
    return click.option(*flags, name, cls=GroupedOption, **(how | changes))


def field_options(owner: type, *names: str) -> Callable[[Any], Any]:
    """Return a decorator that adds to a command the Click options for fields of a dataclass, in the
    order of ``names``.
    """
    return lambda command: with_options(command, (field_option(owner, name) for name in names))


def _click_type(shown: DeclaredOption) -> Any:
    """Choose Click's parameter type for the value of an option that a dataclass field declares, by
    its choices, bounds and kind of value (text, number, time, file).
    """
    if shown.choices:
        return NearestChoice(shown.choices)
    if shown.minimum is None:
        return _TYPES[shown.takes]
    if shown.takes is Takes.TIME:
        return Seconds(shown.minimum)
    return click.IntRange(shown.minimum, shown.maximum)


def with_options(command: F, options: Iterable[Callable[[Any], Any]]) -> F:
    """Add ``options`` (Click's decorators) to a command, so that its help text lists them in this
    order.
    """
    for decorate in reversed([*options]):
        command = decorate(command)
    return command


class CommandGroup(click.Group):
    """Command group that imports a command on first use and suggests the nearest name for an
    unknown one.

    modules: module of each command, by its name
    """

    command_class = GuardedCommand

    def __init__(
        self, *arguments: Any, modules: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if there is none."""
        found = super().get_command(ctx, cmd_name)
        if cmd_name in self._modules:
            found = getattr(import_module(self._modules[cmd_name]), cmd_name.replace("-", "_"))
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Resolve a command line; the error for an unknown command suggests the nearest."""
        if args[:1] == ["help"] and not ctx.resilient_parsing:
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if (
            args
            and not ctx.resilient_parsing
            and self.get_command(ctx, args[0]) is None
            and not args[0].startswith("-")
        ):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1, 0)
            ctx.fail(f"No command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


#: For the end of a help text: what `--allow` and `--fail-on` name.
KINDS_LISTED = "\b\nKinds of leftovers, which is what was not understood:\n" + "\n".join(
    f"  {kind:19} {what}" for kind, what in KINDS.items()
)


def store_option(**how: Any) -> Callable[[F], F]:
    """Make the option ``--store``, which names a store that exists already. ``how``: arguments of
    `click.option` that differ.
    """
    shown: dict[str, Any] = {"type": STORE, "help": "A store that `shiq index` built."}
    return click.option("--store", "-s", **(shown | how))


def insertions_option(kind: Any = INPUTS, **how: Any) -> Callable[[F], F]:
    """Make the option ``--insert``, which names files of insertions. ``kind``: its parameter type;
    ``how``: arguments of `click.option` that differ.
    """
    shown: dict[str, Any] = {
        "multiple": True,
        "type": kind,
        "help": "File of insertions; repeatable.",
    }
    return click.option("--insert", "-i", "insertions", **(shown | how))


def deletions_option(kind: Any = INPUTS) -> Callable[[F], F]:
    """Make the option ``--delete``, which names files of deletions. ``kind``: its parameter type."""
    return click.option(
        "--delete",
        "-d",
        "deletions",
        multiple=True,
        type=kind,
        help="File of deletions, which come first; repeatable.",
    )


known_option = field_option(Options, "known")
catalog_option = field_option(Options, "catalog")
vocabulary_option = field_option(Options, "vocabulary")


def _remember_format(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    """Click callback of ``--format``: keep the syntax of standard input in the command's context,
    where `GuardedCommand` finds it.
    """
    if name is not None:
        context.meta[FORMAT] = name


format_option = click.option(
    "--format",
    cls=GroupedOption,
    heading=Heading.READING,
    type=NearestChoice(FORMAT_NAMES),
    callback=_remember_format,
    expose_value=False,
    help="The syntax of standard input, which an input named - is.  [default: ntriples]",
)


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the outputs of an answer (JSON, reports) and for the amount of text printed."""

    json_file: str | None = option(
        None,
        "Write the result as JSON too; - for stdout.",
        flags=("--json",),
        takes=Takes.OUTPUT_FILE,
        metavar="FILE",
        heading=Heading.ANSWERS,
    )
    reports: tuple[str, ...] = option(
        (),
        "Write a report: .html, .md, .sarif, .junit.xml, .shacl.ttl or .json, by the end of the name; DIR/ for all of them, and "
        "Parquet tables. The JSON comes last. Repeatable.",
        flags=("--report", "-r"),
        takes=Takes.REPORT,
        is_repeatable=True,
        metavar="FILE|DIR",
        heading=Heading.ANSWERS,
    )
    baseline: str | None = option(
        None,
        "An earlier SARIF file or JSON answer: each result of a SARIF report says whether it is new, unchanged or absent now.",
        takes=Takes.INPUT_FILE,
        metavar="FILE",
        heading=Heading.ANSWERS,
    )
    quiet: bool = option(False, "No progress.", flags=("-q", "--quiet"), heading=Heading.ANSWERS)
    verbose: bool = option(
        False,
        "More of everything; with errors, where they come from.",
        flags=("-v", "--verbose"),
        heading=Heading.ANSWERS,
    )


def checking_options(command: F) -> F:
    """Decorator: add to a command the options that all commands with a check share, such as
    ``--reasoner``, ``--allow``, ``--timeout``, ``--report`` and ``--json``.
    """
    before = ("reasoner", "accept_agpl", "audit", "allow", "known", "fail_on", "outside")
    after = ("catalog", "vocabulary", "mapping", "terms", "timeout", "heap", "max_conflicts")
    return with_options(
        command,
        (
            format_option,
            *(field_option(Options, name) for name in before),
            *(field_option(AnswerOptions, name) for name in ("json_file", "reports", "baseline")),
            *(field_option(Options, name) for name in after),
            *(field_option(AnswerOptions, name) for name in ("quiet", "verbose")),
        ),
    )


json_option = field_option(
    AnswerOptions,
    "json_file",
    help="Write it as JSON; - for stdout.",
    heading=Heading.COMMAND,
)
quiet_option = field_option(AnswerOptions, "quiet", heading=Heading.COMMAND)
brief_verbose_option = click.option("-v", "--verbose", is_flag=True, help="More of everything.")
heap_option = field_option(Options, "heap", heading=Heading.COMMAND)
explain_option = field_option(Options, "explain_seconds")
criterion_option = field_option(Options, "criterion")
engine_option = field_option(Options, "engine")
master_option = field_option(Options, "master")
rows_option = field_option(Options, "driver_rows")
module_option = field_option(Options, "most_module")
lineage_option = click.option(
    "--lineage",
    cls=GroupedOption,
    heading=Heading.ANSWERS,
    type=OutputParameter(OutputKind.ROWS),
    metavar="FILE",
    help="Append what is read, written and found to FILE as OpenLineage events, a line each.",
)


@dataclass(frozen=True)
class HistoryOptions:
    """Options for the store's history: whether a run leaves a row in it, and after how many days
    rows are merged into one file.
    """

    keep_history: int = option(
        400,
        "Days after which rows of the store's history are folded into one file.",
        minimum=1,
        metavar="DAYS",
        heading=Heading.ANSWERS,
    )
    no_history: bool = option(
        False, "Leave no row in the history of the store.", heading=Heading.ANSWERS
    )


@dataclass(frozen=True)
class AlertOptions:
    """Options for what follows a run: messages to webhooks, and a file of metrics (OpenMetrics)."""

    notify: tuple[str, ...] = option(
        (),
        "Post a message to this webhook (Slack, Teams, or any that takes JSON) unless all is well (0). Better env:NAME or "
        "file:PATH, as the address is a secret. Repeatable.",
        is_repeatable=True,
        metavar="URL",
        heading=Heading.ANSWERS,
    )
    metrics: str | None = option(
        None,
        "Write figures of the run as OpenMetrics, for a monitor that reads files.",
        takes=Takes.OUTPUT_FILE,
        metavar="FILE",
        heading=Heading.ANSWERS,
    )


def after_run_options(command: F) -> F:
    """Decorator: add to a command the options of `AlertOptions` and `HistoryOptions`."""
    owners = (AlertOptions, "notify", "metrics"), (HistoryOptions, "no_history", "keep_history")
    made = (field_option(owner, name) for owner, *names in owners for name in names)
    return with_options(command, made)


repairs_option = click.option(
    "--repairs",
    type=OutputParameter(),
    metavar="FILE.ru",
    help="Write the smallest changes that make base and batch consistent as SPARQL Update, checked, with their reasons; "
    "within --explain-seconds. Nothing is changed.",
)
snapshot_option = click.option(
    "--snapshot",
    type=click.IntRange(min=1),
    metavar="N",
    help="An older snapshot that the store keeps; `shiq status --store DIR` lists them.",
)


def _export_jar_path(context: click.Context, parameter: click.Parameter, jar: str | None) -> None:
    """Click callback of ``--graphframes-jar``: put the path of the jar into the environment
    variable SHIQ_GRAPHFRAMES_JAR.
    """
    if jar:
        os.environ["SHIQ_GRAPHFRAMES_JAR"] = jar


jar_option = click.option(
    "--graphframes-jar",
    cls=GroupedOption,
    heading=Heading.SPARK,
    type=READS,
    metavar="JAR",
    callback=_export_jar_path,
    expose_value=False,
    help="GraphFrames' JVM core, for the engine graphframes; or SHIQ_GRAPHFRAMES_JAR. Without it, that runs on DataFrames.",
)

"""The options that several commands share, and how unknown names are answered."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import click

from jobs.checking.options import AUTO, ENGINES, GONE, OUTSIDE, TERMS, Options
from jobs.commands.places import CATALOG, FORMAT, READS, WRITES, GuardedCommand, Writes
from jobs.commands.standard_input import FORMATS
from jobs.outputs import OutputKind
from shiq.reasoner import BACKENDS
from shiq.verdict import INFORMATIVE, KINDS, UNINTERPRETED

F = TypeVar("F", bound=Callable[..., Any])


def _report_files(name: str, parameters: Mapping[str, Any]) -> list[tuple[str, OutputKind]]:
    # Loaded where a report is asked for.
    from jobs.reports.write import FOLDER, target_of

    target = target_of(name)
    own = (name, OutputKind.FOLDER if target.format == FOLDER else OutputKind.FILE)
    return [own, *((str(file), OutputKind.FILE) for file in target.inner_files)]


#: Where a report is written, or a folder of all of them.
REPORTS = Writes(written=_report_files)


class Nearest(click.Choice[str]):
    """A choice that answers an unknown value with the nearest known one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        if value in GONE:
            self.fail(f"{GONE[value]}.", param, ctx)
        near = difflib.get_close_matches(str(value), list(self.choices), 1, 0)
        self.fail(
            f"{value!r} is not known. Did you mean {near[0]!r}? Known: {', '.join(self.choices)}.",
            param,
            ctx,
        )


class Seconds(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # of later versions
    """A time in seconds, ``least`` or more: 300, 90s, 5m, 1h30m."""

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


def _share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """0.05, or 5%."""
    try:
        share = float(value.strip().removesuffix("%")) / (100 if value.strip().endswith("%") else 1)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no share. Say 0.05 or 5%.", context, parameter
        ) from None
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{value!r} is not between 0 and 1 (100%).", context, parameter)
    return share


class Commands(click.Group):
    """A group that answers an unknown command with the nearest known one. ``modules``: where
    commands are that are imported when they are asked for, each under its own name there.
    """

    command_class = GuardedCommand

    def __init__(
        self, *arguments: Any, modules: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if cmd_name in self._modules:
            found = getattr(import_module(self._modules[cmd_name]), cmd_name.replace("-", "_"))
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
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


known_option = click.option(
    "--known",
    type=READS,
    metavar="FILE",
    help="Leftovers that somebody answers for, by kind and term, until a day (TOML or JSON, docs/EVIDENCE.md): counted, and not "
    "in the way of `consistent`. `shiq lint TBOX --write-known FILE` drafts it.",
)


catalog_option = click.option(
    "--catalog",
    multiple=True,
    type=CATALOG,
    metavar="FILE|DIR",
    help="What imports are: a folder, below which every ontology is known by its header; or a catalog file (catalog-v001.xml, or "
    "JSON), which goes before folders and has JSON-LD contexts too. Nothing is fetched. Repeatable.",
)


vocabulary_option = click.option(
    "--vocabulary",
    multiple=True,
    metavar="NAME|none",
    help="Let the axioms of a well-known vocabulary count as if the ontology imported it (`shiq vocabularies` lists the names); "
    "none: use neither the kinds of terms nor the axioms that shiq knows of such vocabularies. Repeatable.",
)


def _note_format(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    if name is not None:
        context.meta[FORMAT] = name


format_option = click.option(
    "--format",
    type=Nearest(FORMATS),
    callback=_note_format,
    expose_value=False,
    help="The syntax of standard input, which an input named - is.  [default: ntriples]",
)


def common(command: F) -> F:
    """The options that every checking command has."""
    for option in reversed(
        (
            format_option,
            click.option(
                "--reasoner",
                type=Nearest(list(BACKENDS)),
                default=Options.reasoner,
                show_default=True,
                help="Who decides what is looked at, part by part: own (no Java), hermit, or auto: own first, HermiT for what "
                "own leaves open; or one that you installed: konclude, pellet, openllet.",
            ),
            click.option(
                "--accept-agpl",
                is_flag=True,
                help="A reasoner under the AGPL (pellet, openllet) may be asked; it is printed.",
            ),
            click.option(
                "--audit",
                default="0",
                callback=_share,
                metavar="SHARE",
                help="Let a second reasoner decide this share of the parts again, as 1% or 0.05; a disagreement stops the run.",
            ),
            click.option(
                "--allow",
                type=Nearest(list(KINDS)),
                multiple=True,
                metavar="KIND",
                help="Do not let this kind of leftover stand in the way of `consistent`; repeatable. `shiq check --help` lists "
                "the kinds.",
            ),
            known_option,
            click.option(
                "--fail-on",
                type=Nearest([UNINTERPRETED, *KINDS]),
                multiple=True,
                metavar="KIND",
                help="Let this kind stand in the way of `consistent` though it is for information only "
                f"({', '.join(sorted(INFORMATIVE))}); repeatable. {UNINTERPRETED}: every kind that is not allowed.",
            ),
            click.option(
                "--outside",
                type=Nearest(list(OUTSIDE)),
                default=Options.outside,
                show_default=True,
                help="What to do about axioms and assertions outside SHIQ(D) that the data can reach: ask HermiT about all "
                "data at once, at that cost, and without --timeout only about 20,000 assertions at most; or leave the verdict "
                "undetermined.",
            ),
            click.option(
                "--json",
                "json_file",
                type=WRITES,
                metavar="FILE",
                help="Write the result as JSON too; - for stdout.",
            ),
            click.option(
                "--report",
                "-r",
                "reports",
                multiple=True,
                type=REPORTS,
                metavar="FILE|DIR",
                help="Write a report: .html, .md, .sarif, .junit.xml or .json, by the end of the name; DIR/ for all of them, and "
                "Parquet tables. The JSON comes last. Repeatable.",
            ),
            catalog_option,
            vocabulary_option,
            click.option(
                "--mapping",
                type=READS,
                metavar="FILE",
                help="What the rows of tables (CSV, TSV, JSON lines, Parquet, Delta) mean: RML in Turtle, or YARRRML (.yml). "
                "The command draft-mapping begins one.",
            ),
            click.option(
                "--terms",
                type=Nearest(list(TERMS)),
                default=Options.terms,
                show_default=True,
                help="How tables with the columns s, p, o write their terms: as N-Triples, or also as bare IRIs and texts.",
            ),
            click.option(
                "--timeout",
                type=Seconds(),
                metavar="TIME",
                help="Seconds (or 90s, 5m, 1h) for a check or an index, reading included; what was indexed by then is written.",
            ),
            click.option(
                "--heap",
                default=Options.heap,
                show_default=True,
                metavar="SIZE",
                help="Memory for a JVM, as 512m or 4g.",
            ),
            click.option(
                "--max-conflicts",
                type=click.IntRange(min=0),
                default=Options.max_conflicts,
                show_default=True,
                metavar="N",
                help="How many conflicts to explain; the rest is counted.",
            ),
            click.option("-q", "--quiet", is_flag=True, help="No progress."),
            click.option(
                "-v",
                "--verbose",
                is_flag=True,
                help="More of everything; with errors, where they come from.",
            ),
        )
    ):
        command = option(command)
    return command


explain_option = click.option(
    "--explain-seconds",
    type=Seconds(),
    default=Options.explain_seconds,
    show_default=True,
    metavar="S",
    help="Seconds for explaining conflicts, after the verdict was printed; 0 for no explaining.",
)
criterion_option = click.option(
    "--criterion",
    type=Nearest([AUTO, "clausal", "model", "definition7", "none"]),
    default=Options.criterion,
    show_default=True,
    help="Which part of the data the check looks at: model (least: the model that certified the store is patched), "
    "clausal, definition7 (as published), none (all of it), or auto: model where the store holds one, else clausal; with "
    "--engine graphframes definition7.",
)
engine_option = click.option(
    "--engine",
    type=Nearest(list(ENGINES)),
    default=Options.engine,
    show_default=True,
    help="Who computes what to look at: local (columns, in this process), spark (local, with "
    "tasks that read), or graphframes (the published method on tables, for a night that no machine holds).",
)
lineage_option = click.option(
    "--lineage",
    type=Writes(OutputKind.ROWS),
    metavar="FILE",
    help="Append what is read, written and found to FILE as OpenLineage events, a line each.",
)
snapshot_option = click.option(
    "--snapshot",
    type=click.IntRange(min=1),
    metavar="N",
    help="An older snapshot that the store keeps; `shiq status --store DIR` lists them.",
)
master_option = click.option(
    "--master",
    metavar="URL",
    help="Where the engines spark and graphframes run, as local[4] or spark://HOST:7077; under spark-submit, its own.",
)


def _name_jar(context: click.Context, parameter: click.Parameter, jar: str | None) -> None:
    if jar:
        os.environ["SHIQ_GRAPHFRAMES_JAR"] = jar


jar_option = click.option(
    "--graphframes-jar",
    type=READS,
    metavar="JAR",
    callback=_name_jar,
    expose_value=False,
    help="GraphFrames' JVM core, for the engine graphframes; or SHIQ_GRAPHFRAMES_JAR. Without it, that runs on DataFrames.",
)
rows_option = click.option(
    "--driver-rows",
    type=click.IntRange(min=1),
    default=Options.driver_rows,
    show_default=True,
    metavar="N",
    help="Insertions that the engine spark checks at once; a larger batch is taken in slices, unless it is to be committed.",
)
module_option = click.option(
    "--most-module",
    type=click.IntRange(min=1),
    default=Options.most_module,
    show_default=True,
    metavar="N",
    help="Assertions of a module that a task of the engine graphframes is given; a larger one stays undecided.",
)

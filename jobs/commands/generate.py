"""Commands ``shiq generate …``: make benchmark data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from shiq.jobs.commands.options import (
    CommandGroup,
    brief_verbose_option,
    field_option,
    field_options,
    quiet_option,
)
from shiq.jobs.commands.places import WRITES_FOLDER
from shiq.jobs.commands.running import output_level
from shiq.jobs.evaluation.generation import GenerationReport
from shiq.jobs.evaluation.lubm.generate import generate_lubm_data as generate_lubm
from shiq.jobs.evaluation.streams.building import BuildingRecipe
from shiq.jobs.evaluation.streams.building import write_building_files as write_building
from shiq.jobs.evaluation.streams.dublin import DublinRecipe
from shiq.jobs.evaluation.streams.dublin import generate_city as generate_dublin
from shiq.jobs.evaluation.streams.lubm import StreamRecipe
from shiq.jobs.evaluation.streams.lubm import generate_stream as generate_lubm_stream
from shiq.jobs.evaluation.streams.rules import ContentCaching, HeavyJoin, PhotovoltaicGrid
from shiq.jobs.evaluation.uobm.generate import generate_uobm_data as generate_uobm
from shiq.jobs.option_fields import declared_names
from shiq.jobs.progress import ProgressLine

# Generated data.


def report_text(report: GenerationReport) -> str:
    """Text of a generation report for the terminal."""
    lines = [
        f"{report.directory}: {', '.join(report.files)}",
        f"{report.triples:,} triples (class {report.class_assertions:,}, role {report.role_assertions:,}, "
        f"data {report.data_assertions:,}), {report.departments} departments, {report.seconds:.1f} s",
    ]
    if report.insertions:
        lines.append(
            f"{report.insertions:,} insertions, {report.faults} planted contradictions, {report.culprits} culprits"
        )
    return "\n".join(lines)


_quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
_seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
_out_option = click.option(
    "--out", "-o", type=WRITES_FOLDER, required=True, help="Directory to write to."
)
_universities_option = click.option(
    "--universities", "-n", type=click.IntRange(min=1), default=1, show_default=True
)


@click.group(cls=CommandGroup)
def generate() -> None:
    """Make benchmark data."""


def _rule_benchmark_command(
    recipe: type[PhotovoltaicGrid | HeavyJoin | ContentCaching], *names: str
) -> Callable[[Callable[..., None]], Callable[..., int]]:
    """Make a command `shiq generate …` that writes a benchmark of ``recipe`` for stream rules:
    program.lp and stream.log.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., int]:
        @field_options(recipe, *names, "points", "seed")
        @_out_option
        @_quiet_option
        @wraps(command)
        def run(out: str, quiet: bool, **options: Any) -> int:
            files = recipe(**options).generate_stream().write_files(Path(out))
            if not quiet:
                click.echo(f"{out}: {', '.join(files)}")
            return 0

        return run

    return decorate


@generate.command()
@_rule_benchmark_command(PhotovoltaicGrid, "side", "failing", "links")
def grid() -> None:
    """The photo-voltaic grid for `shiq stream rules`: panels fail and recover.

    \b
    shiq generate grid --out grid/
    """


@generate.command()
@_rule_benchmark_command(HeavyJoin, "facts", "window", "values")
def join() -> None:
    """Heavy Join for `shiq stream rules`: a join through two windows.

    \b
    shiq generate join --out join/
    """


@generate.command()
@_rule_benchmark_command(ContentCaching, "events", "window")
def caching() -> None:
    """Content Caching for `shiq stream rules`: counts, rates, and what was not asked for.

    \b
    shiq generate caching --out caching/
    """


@generate.command()
@_universities_option
@_seed_option
@_out_option
@click.option(
    "--disjointness",
    is_flag=True,
    help="A TBox with disjoint classes, so that data can contradict it.",
)
@click.option(
    "--faults",
    type=click.IntRange(min=0),
    metavar="K",
    help="Also insert.nt, a 5 % batch with K planted contradictions, and culprits.nt, their insertions (implies --disjointness).",
)
@quiet_option
@brief_verbose_option
def lubm(
    universities: int,
    seed: int,
    out: str,
    disjointness: bool,
    faults: int | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """LUBM: tbox.owl and abox.nt.gz with the IRIs of univ-bench.owl.

    \b
    shiq generate lubm --universities 1 --faults 12 --out lubm1/
    """

    make = partial(
        generate_lubm, universities, seed, Path(out), disjointness=disjointness, faults=faults
    )
    return _generate(make, quiet, verbose)


@generate.command()
@_universities_option
@_seed_option
@_out_option
@click.option(
    "--misspelt",
    is_flag=True,
    help="With the class JournalArtical, which the TBox does not know, as the original has it.",
)
@quiet_option
@brief_verbose_option
def uobm(universities: int, seed: int, out: str, misspelt: bool, quiet: bool, verbose: bool) -> int:
    """UOBM: tbox.owl and abox.nt.gz with the IRIs of univ-bench-dl.owl; people and courses
    linked across universities.

    \b
    shiq generate uobm --universities 1 --out uobm1/
    """
    return _generate(
        partial(generate_uobm, universities, seed, Path(out), misspelt=misspelt), quiet, verbose
    )


@generate.command()
@field_options(BuildingRecipe, *declared_names(BuildingRecipe))
@_out_option
@_quiet_option
def building(out: str, quiet: bool, **options: int) -> int:
    """A building whose gateway sends raw readings: ontology, RML mapping, SQLite, JSON.

    \b
    shiq generate building --out building/
    """
    recipe = BuildingRecipe(**options)
    names = write_building(recipe, Path(out))
    if not quiet:
        click.echo(f"{out}: {', '.join(names)}; {recipe.rooms:,} rooms, {recipe.events:,} readings")
        click.echo(
            f"shiq stream enrich -t {out}/building.ofn --mapping {out}/mapping.rml.ttl --stream readings -s {out}/readings.jsonl"
        )
    return 0


@generate.command("lubm-stream")
@field_options(StreamRecipe, *declared_names(StreamRecipe))
@_out_option
@_quiet_option
def lubm_stream(out: str, quiet: bool, **recipe: int) -> int:
    """LUBM as events for `shiq stream consistency`: tbox.owl, events.jsonl, faults.json.

    The TBox has one group of negative inclusions; with --assume siblings-disjoint a plan of it
    has several, which --cut can part.

    \b
    shiq generate lubm-stream --out stream/
    """
    names = generate_lubm_stream(StreamRecipe(**recipe), Path(out))
    if not quiet:
        click.echo(f"{out}: {', '.join(names)}")
    return 0


@generate.command()
@field_options(DublinRecipe, "roads", "snapshots", "seed")
@_out_option
@field_option(DublinRecipe, "faults", show_default=False)
@_quiet_option
def dublin(out: str, quiet: bool, **recipe: int) -> int:
    """A city for `shiq stream discover`: tbox.ofn, static.nt.gz, five streams, and planted.json,
    the causes of jams.

    \b
    shiq generate dublin --roads 40 --snapshots 160 --out dublin/
    """
    counts = generate_dublin(DublinRecipe(**recipe), Path(out))
    if not quiet:
        click.echo(
            f"{out}: {', '.join(f'{name} {count:,}' for name, count in counts.items())} statements"
        )
    return 0


def _generate(make: Callable[..., GenerationReport], quiet: bool, verbose: bool) -> int:
    """Run a generator of benchmark data with progress, and print its report."""
    progress = ProgressLine(output_level(quiet, verbose))
    try:
        report = make(progress=partial(progress, "generating"))
    finally:
        progress.close()
    click.echo(report_text(report))
    return 0

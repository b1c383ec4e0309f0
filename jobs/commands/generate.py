"""``shiq generate``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from jobs.commands.options import Commands
from jobs.commands.running import level
from jobs.evaluation.generation import GenerationReport, Progress
from jobs.progress import ProgressLine
from jobs.text.generated import report_text


@click.group(cls=Commands)
def generate() -> None:
    """Make benchmark data."""


@generate.command()
@click.option("--universities", "-n", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", "-o", required=True, help="Directory to write to.")
@click.option("--disjointness", is_flag=True, help="A TBox with disjoint classes, so that data can contradict it.")
@click.option(
    "--faults",
    type=click.IntRange(min=0),
    metavar="K",
    help="Also insert.nt, a 5 % batch with K planted contradictions, and culprits.nt, their insertions (implies --disjointness).",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="More of everything.")
def lubm(universities: int, seed: int, out: str, disjointness: bool, faults: int | None, quiet: bool, verbose: bool) -> int:
    """LUBM: tbox.owl and abox.nt.gz with the IRIs of univ-bench.owl."""
    from jobs.evaluation.lubm.generate import generate as run

    def make(progress: Progress) -> GenerationReport:
        return run(universities, seed, Path(out), disjointness=disjointness, faults=faults, progress=progress)

    return _generate(make, quiet, verbose)


@generate.command()
@click.option("--universities", "-n", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", "-o", required=True, help="Directory to write to.")
@click.option(
    "--misspelt", is_flag=True, help="With the class JournalArtical, which the TBox does not know, as the original has it."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="More of everything.")
def uobm(universities: int, seed: int, out: str, misspelt: bool, quiet: bool, verbose: bool) -> int:
    """UOBM: tbox.owl and abox.nt.gz with the IRIs of univ-bench-dl.owl; people and courses linked across universities."""
    from jobs.evaluation.uobm.generate import generate as run

    return _generate(lambda progress: run(universities, seed, Path(out), misspelt=misspelt, progress=progress), quiet, verbose)


@generate.command()
@click.option("--rooms", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--events", type=click.IntRange(min=0), default=10_000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", "-o", required=True, help="Directory to write to.")
def building(rooms: int, events: int, seed: int, out: str) -> int:
    """A building whose gateway sends raw readings: ontology, RML mapping, SQLite, JSON."""
    from jobs.evaluation.streams.building import write

    names = write(Path(out), rooms, events, seed)
    click.echo(f"{out}: {', '.join(names)}; {rooms:,} rooms, {events:,} readings")
    click.echo(
        f"shiq stream enrich -t {out}/building.ofn --mapping {out}/mapping.rml.ttl --stream readings -s {out}/readings.jsonl"
    )
    return 0


def _generate(make: Callable[[Progress], GenerationReport], quiet: bool, verbose: bool) -> int:
    """Calls a generator, which is given what to report its progress to, and prints what it wrote."""
    progress = ProgressLine(level(quiet, verbose))
    try:
        report = make(partial(progress, "generating"))
    finally:
        progress.close()
    click.echo(report_text(report))
    return 0

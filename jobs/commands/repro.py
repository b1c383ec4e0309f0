"""Commands ``shiq repro``, which packs a module so that others can decide it, and ``shiq doctor``,
which tests this machine.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from shiq.abox_ops.engine import CRITERIA
from shiq.answers.verdict import Verdict
from shiq.jobs.checking.options import Options
from shiq.jobs.commands.options import (
    CommandGroup,
    NearestChoice,
    Seconds,
    deletions_option,
    field_option,
    heap_option,
    insertions_option,
    json_option,
    master_option,
    store_option,
)
from shiq.jobs.commands.places import READS, READS_PATH, GuardedCommand, OutputParameter
from shiq.jobs.commands.running import write_json
from shiq.jobs.doctor import FAIL, examine, to_dict
from shiq.jobs.option_fields import Heading

_timeout_option = click.option(
    "--timeout", type=Seconds(0.1), metavar="TIME", help="Seconds for each reasoner."
)


@click.group(cls=CommandGroup)
def repro() -> None:
    """Pack a module of a check for a bug report, or decide a packed one again."""


@repro.command()
@store_option(required=True)
@insertions_option(READS, required=True)
@deletions_option(READS)
@click.option(
    "--module",
    "number",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Number of the module in the check.",
)
@click.option(
    "--individual",
    default="",
    metavar="IRI",
    help="The module that this individual is in, instead.",
)
@click.option(
    "--criterion",
    type=NearestChoice(list(CRITERIA)),
    default="clausal",
    show_default=True,
    help="Criterion that selects the data of the modules; none: all data.",
)
@click.option(
    "--output",
    "-o",
    type=OutputParameter(path_type=Path),
    required=True,
    metavar="FILE",
    help="The zip to write.",
)
@heap_option
@_timeout_option
def pack(
    store: str,
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    number: int,
    individual: str,
    criterion: str,
    output: Path,
    heap: str,
    timeout: float | None,
) -> int:
    """Pack one module of a check, with what both reasoners say of it.

    \b
    shiq repro pack --store kg/ --insert tonight.nt --individual urn:it -o bug.zip
    """

    from shiq.jobs.repro import find_module, pack_module, replay, write_reproducer

    tbox, module = find_module(
        store, insertions, deletions, criterion, number=number, individual=individual.strip("<>")
    )
    packed = pack_module(tbox, module, {}, {"heap": heap, "timeout": timeout})
    answers = replay(packed, heap=heap, timeout=timeout)
    packed = replace(
        packed, answers={name: (a.verdict.value, a.reason) for name, a in answers.items()}
    )
    write_reproducer(packed, output)
    click.echo(
        f"{output}: {len(module.positive)} individuals, {'; '.join(f'{n} {v}' for n, (v, _) in packed.answers.items())}"
    )
    return 0


@repro.command()
@click.argument("file", type=READS_PATH)
@heap_option
@_timeout_option
def run(file: Path, heap: str, timeout: float | None) -> int:
    """Decide a packed module again with both reasoners. Exits with 0 if they agree, 1 if they do
    not, 3 if one is undecided.

    \b
    shiq repro run disagreement.zip
    """
    from shiq.jobs.repro import read_reproducer, replay

    packed = read_reproducer(file)
    for name, (verdict, reason) in packed.answers.items():
        click.echo(f"then  {name}: {verdict}{f' ({reason})' if reason else ''}")
    answers = replay(packed, heap=heap, timeout=timeout)
    for name, answer in answers.items():
        click.echo(
            f"now   {name}: {answer.verdict.value}{f' ({answer.reason})' if answer.reason else ''}"
        )
    verdicts = {answer.verdict for answer in answers.values()}
    return 3 if Verdict.UNDETERMINED in verdicts else 0 if len(verdicts) == 1 else 1


# ``shiq doctor``: what works on this machine.


@click.command(cls=GuardedCommand)
@click.option("--spark", is_flag=True, help="Start a Spark session too; takes some seconds.")
@master_option
@field_option(
    Options, "heap", heading=Heading.COMMAND, help="Memory for HermiT's JVM, as 512m or 4g."
)
@json_option
def doctor(spark: bool, master: str | None, heap: str, json_file: str | None) -> int:
    """Test what works on this machine, with a remedy for everything else. Exits with 4 if something
    that every check needs does not work.

    \b
    shiq doctor
    """
    findings = []
    for finding in examine(heap=heap, spark=spark, master=master):
        findings.append(finding)
        if json_file != "-":
            click.echo(f"{finding.state:4}  {finding.what}: {finding.found}")
            if finding.remedy:
                click.echo(f"      {finding.remedy}")
    write_json(json_file, to_dict(findings))
    return 4 if any(finding.state == FAIL for finding in findings) else 0

"""``shiq doctor``: what works on this machine."""

from __future__ import annotations

import click

from jobs.commands.options import master_option
from jobs.commands.places import WRITES, GuardedCommand
from jobs.commands.running import write_json


@click.command(cls=GuardedCommand)
@click.option("--spark", is_flag=True, help="Start a Spark session too; takes some seconds.")
@master_option
@click.option(
    "--heap",
    default="1g",
    show_default=True,
    metavar="SIZE",
    help="Memory for HermiT's JVM, as 512m or 4g.",
)
@click.option(
    "--json", "json_file", type=WRITES, metavar="FILE", help="Write it as JSON; - for stdout."
)
def doctor(spark: bool, master: str | None, heap: str, json_file: str | None) -> int:
    """What works on this machine, and what to do about the rest. Exits with 4 if something that
    every check needs does not.
    """
    from jobs.doctor import FAIL, examine, to_dict

    findings = []
    for finding in examine(heap=heap, spark=spark, master=master):
        findings.append(finding)
        if json_file != "-":
            click.echo(f"{finding.state:4}  {finding.what}: {finding.found}")
            if finding.remedy:
                click.echo(f"      {finding.remedy}")
    write_json(json_file, to_dict(findings))
    return 4 if any(finding.state == FAIL for finding in findings) else 0

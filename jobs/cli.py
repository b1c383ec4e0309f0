"""The command line: ``shiq certify | index | check | gate | report | status | export | compact | simplify | generate …``.

Exit codes: 0 consistent; 1 inconsistent; 2 usage; 3 undetermined; 4 operational; 130 interrupted. Results go to stdout,
progress and errors to stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import click

import shiq
from jobs.commands.doctor import doctor
from jobs.commands.lint import lint
from jobs.commands.options import (
    Commands,
    Nearest,
    common,
    criterion_option,
    engine_option,
    jar_option,
    master_option,
    snapshot_option,
)
from jobs.commands.report import report
from jobs.commands.repro import repro
from jobs.commands.running import level as _level
from jobs.commands.running import write_json as _write_json
from jobs.evaluation.generation import GenerationReport, Progress
from jobs.gate import IDENTITIES, MODES, UNITS, Policy, Sides
from jobs.progress import ProgressLine
from jobs.reports import Asked, completed, prepare, target_of, write_reports
from jobs.text import gated_text, report_text, result_text, simplified_text
from shiq.checking.options import BUILDERS
from shiq.errors import OperationalError, UsageError
from shiq.verdict import EXIT_CODES

USAGE, OPERATIONAL, INTERRUPTED = 2, 4, 130


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(shiq.__version__, "--version", prog_name="shiq")
def cli() -> None:
    """Do tonight's insertions keep a knowledge graph logically consistent? In full SHIQ(D), at the cost of the batch.

    Exit codes: 0 consistent, 1 inconsistent, 2 usage, 3 undetermined, 4 operational (a file, a store, a JVM).
    """


@cli.command()
@click.argument("ontology", nargs=-1)
@click.option("--store", "-s", help="Certify what this store holds, and record the certificate in it.")
@click.option("--tbox", "-t", multiple=True, help="Ontology file that takes the place of the store's TBox; repeatable.")
@common
@engine_option
@jar_option
def certify(ontology: tuple[str, ...], store: str | None, tbox: tuple[str, ...], **options: Any) -> int:
    """Is TBox + ABox consistent by itself? Both may share a file; or they are those of a store.

    \b
    shiq certify onto.owl data.ttl
    shiq certify --store kg/
    shiq certify --store kg/ --tbox new.owl
    """
    from shiq.check import certify as run
    from shiq.check import certify_store

    if bool(store) == bool(ontology):
        raise click.UsageError("Give either files, or --store.")
    if store is None:
        if tbox:
            raise click.UsageError("--tbox goes with --store; name the files without it.")
        return _run(lambda settings: run(list(ontology), **settings), options, Asked("certify", {"ontology": ontology}))
    asked = Asked("certify", {"store": store, "tbox": tbox})
    return _run(lambda settings: certify_store(store, list(tbox) or None, **settings), options, asked)


@cli.command()
@click.option("--tbox", "-t", multiple=True, required=True, help="Ontology file; repeatable.")
@click.option("--store", "-s", required=True, help="Directory of the store; made, or replaced atomically.")
@click.argument("abox", nargs=-1)
@click.option(
    "--set-aside-known",
    "known_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Set aside what the data contradicts by itself, as little as may be, and certify the rest. Written there as N-Triples, "
    "and why in FILE.why.json; the store keeps it as well.",
)
@click.option(
    "--engine",
    type=Nearest(["local", *BUILDERS]),
    default="local",
    show_default=True,
    help="Who builds it: local (in memory), or spark (in tasks; the same store, for an ABox of any size, best as N-Triples).",
)
@master_option
@common
def index(tbox: tuple[str, ...], store: str, abox: tuple[str, ...], known_file: Path | None, **options: Any) -> int:
    """Build a store from a TBox and an ABox, and certify it. Exits as certify does."""
    from shiq.check import index as run

    asked = Asked("index", {"store": store, "tbox": tbox, "abox": abox})
    if known_file is None:
        return _run(lambda settings: run(list(tbox), list(abox), store, **settings), options, asked)
    from jobs.gate.known import Repairing
    from jobs.text import known_text

    repair = Repairing(known_file)
    is_text = options["json_file"] != "-"
    code = _run(lambda settings: run(list(tbox), list(abox), store, repair=repair.during(settings), **settings), options, asked)
    if is_text and repair.known:
        click.echo("\n" + known_text(repair.known))
    return code


@cli.command()
@click.option("--store", "-s", help="A store that `shiq index` built.")
@click.option("--tbox", "-t", multiple=True, help="Ontology file, instead of a store; repeatable.")
@click.option("--abox", "-a", multiple=True, help="ABox file, instead of a store; repeatable. The base is certified first.")
@click.option("--insert", "-i", "insertions", multiple=True, help="File of insertions; repeatable.")
@click.option("--delete", "-d", "deletions", multiple=True, help="File of deletions, which come first; repeatable.")
@click.option("--commit", is_flag=True, help="Take the batch into the store, in one step, if it is consistent.")
@click.option("--require-nonempty", is_flag=True, help="End with 4 if the batch holds nothing: a feed that broke off, perhaps.")
@click.option(
    "--why-pulled", is_flag=True, help="Print, clause by clause, what made the check look at more than the batch touches."
)
@snapshot_option
@criterion_option
@engine_option
@jar_option
@master_option
@common
def check(
    store: str | None,
    tbox: tuple[str, ...],
    abox: tuple[str, ...],
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    commit: bool,
    require_nonempty: bool,
    why_pulled: bool,
    snapshot: int | None,
    **options: Any,
) -> int:
    """Does this batch keep the knowledge base consistent?

    \b
    shiq check --store kg/ --insert tonight.nt --commit
    shiq check --tbox t.owl --abox data.nt.gz --insert tonight.nt --delete gone.nt
    """
    from shiq.check import check_insertions
    from shiq.check import open_store as opened

    if bool(store) == bool(tbox):
        raise click.UsageError("Give either --store, or --tbox (with --abox).")
    if store and abox:
        raise click.UsageError("--abox goes with --tbox; a store has its own ABox.")
    if (commit or snapshot is not None) and not store:
        raise click.UsageError(f"{'--commit' if commit else '--snapshot'} goes with --store.")
    if commit and snapshot is not None:
        raise click.UsageError("A batch can only be committed onto the present snapshot: leave --snapshot or --commit out.")
    if not insertions and not deletions:
        raise click.UsageError("Nothing to check: give --insert, --delete or both.")

    options |= {"require_nonempty": require_nonempty, "why_pulled": why_pulled}

    def run(settings: dict[str, Any]) -> shiq.Result:
        if store is None:
            return check_insertions(list(tbox), list(abox), list(insertions), list(deletions), **settings)
        with opened(store, snapshot) as session:
            return session.check(list(insertions), list(deletions), commit=commit, **settings)

    inputs = {"store": store, "snapshot": snapshot, "tbox": tbox, "abox": abox, "insertions": insertions, "deletions": deletions}
    return _run(run, options, Asked("check", inputs))


@cli.command()
@click.option("--store", "-s", required=True, help="A store that `shiq index` built.")
@click.option(
    "--insert",
    "-i",
    "insertions",
    multiple=True,
    required=True,
    help="File of insertions; repeatable. N-Triples and N-Quads come out line by line as they stand; Turtle, TriG, RDF/XML and "
    "JSON-LD come out as N-Quads.",
)
@click.option("--delete", "-d", "deletions", multiple=True, help="File of deletions, which come first; repeatable.")
@click.option(
    "--mode",
    type=Nearest(MODES),
    default="reject",
    show_default=True,
    help="What to do with a batch that contradicts: reject all of it, or set the culprits aside and accept the rest.",
)
@click.option(
    "--unit",
    type=Nearest(UNITS),
    default="triple",
    show_default=True,
    help="What is set aside with a culprit: it alone, all insertions with its subject, all of its named graph, or its file.",
)
@click.option("--accepted", type=click.Path(path_type=Path), metavar="FILE", help="Write the accepted lines there.")
@click.option(
    "--quarantine",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the lines set aside there, and why in FILE.why.json.",
)
@click.option(
    "--tolerated",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the lines there that contradict and that the policy lets pass; else they go with the quarantine.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Severities and waivers (TOML or JSON, docs/GATE.md): which conflicts do not hold the batch up.",
)
@click.option("--today", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="The day that waivers are held against.")
@click.option(
    "--identities",
    type=Nearest(IDENTITIES),
    default="warn",
    show_default=True,
    help="Individuals that become equal by the batch: no word without -v, a warning, or set aside what makes them equal.",
)
@click.option("--require-nonempty", is_flag=True, help="Fail (4) if a file of insertions has no triple.")
@click.option("--dry-run", is_flag=True, help="Say what would happen; no side is written, the store stays, even with --commit.")
@click.option("--commit", is_flag=True, help="Take what is accepted into the store, in one step.")
@criterion_option
@engine_option
@jar_option
@master_option
@common
def gate(
    store: str,
    insertions: tuple[str, ...],
    deletions: tuple[str, ...],
    accepted: Path | None,
    quarantine: Path | None,
    tolerated: Path | None,
    policy: Path | None,
    today: datetime | None,
    quiet: bool,
    verbose: bool,
    json_file: str | None,
    reports: tuple[str, ...],
    **options: Any,
) -> int:
    """Accept a batch, or the part of it that contradicts nothing; 0 all accepted, 1 something set aside or refused, 3 undecided.

    \b
    shiq gate --store kg/ --insert tonight.nt --mode split --accepted good.nt --quarantine bad.nt --commit
    """
    from jobs.gate import gate as run
    from jobs.gate import read_policy, write_sides
    from shiq.check import open_store as opened

    targets = [target_of(name) for name in reports]
    prepare(targets)
    day = (today or datetime.now(timezone.utc)).date()
    said = read_policy(policy, day) if policy else Policy(today=day)
    deliver = partial(write_sides, sides=Sides(accepted, quarantine, tolerated))
    progress = ProgressLine(_level(quiet, verbose))
    try:
        with opened(store) as session:
            gated = run(session, insertions, deletions, policy=said, deliver=deliver, progress=progress, **options)
            labels = session.labels
    finally:
        progress.close()
    if json_file != "-":
        click.echo(gated_text(gated, verbose=verbose))
    inputs = {"store": store, "insertions": insertions, "deletions": deletions}
    inputs |= {"mode": options["mode"], "unit": options["unit"], "policy": str(policy or "")}
    answer = completed(gated.to_dict(), Asked("gate", inputs), labels)
    write_reports(answer, targets)
    _write_json(json_file, answer)
    return gated.exit_code


@cli.command()
@click.option("--store", "-s", required=True, help="A store that `shiq index` built.")
@snapshot_option
@click.option("--set-aside", is_flag=True, help="What belongs to the data and was set aside because it contradicts, instead.")
def export(store: str, snapshot: int | None, set_aside: bool) -> int:
    """Print the assertions of a store as N-Triples."""
    from jobs.store import open_store as opened
    from shiq.ntriples import assertion_lines

    with opened(Path(store), snapshot) as kept:
        if set_aside:
            click.echo("".join(f"{line}\n" for aside in kept.asides for line in aside.triples), nl=False)
            return 0
        for assertion in kept.export():
            click.echo("\n".join(assertion_lines(assertion)))
    return 0


@cli.command()
@click.option("--store", "-s", required=True, help="A store that `shiq index` built.")
@click.option("--json", "json_file", metavar="FILE", help="Write it as JSON; - for stdout.")
def status(store: str, json_file: str | None) -> int:
    """What a store holds: snapshot, certificate, sizes, and which snapshots it keeps."""
    from jobs.store import open_store as opened
    from jobs.store import status as status_of
    from jobs.text import status_text

    with opened(Path(store)) as kept:
        found = status_of(kept)
    if json_file != "-":
        click.echo(status_text(found))
    _write_json(json_file, found)
    return 0


@cli.command()
@click.option("--store", "-s", required=True, help="A store that `shiq index` built.")
def compact(store: str) -> int:
    """Write each table of a store as one file again, and let older snapshots go.

    Files that no snapshot has needed for a week are removed.
    """
    from jobs.upkeep import compact as run

    click.echo(f"snapshot {run(Path(store)).snapshot}")
    return 0


@cli.command()
@click.argument("tbox", nargs=-1, required=True)
@click.option("--json", "json_file", metavar="FILE", help="Write it as JSON; - for stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="With errors, where they come from.")
@click.option("--catalog", metavar="FILE", help="Which files imported ontologies are: catalog-v001.xml, or JSON.")
def simplify(tbox: tuple[str, ...], json_file: str | None, quiet: bool, verbose: bool, catalog: str | None) -> int:
    """What a TBox says to a checker: simplified TBox, DL-clauses, u-part and m-part roles, Fs(T), what lies outside SHIQ(D)."""
    from shiq.catalog import read_catalog
    from shiq.rdf import read_ontology
    from simplify import simplify as simplified
    from simplify.describe import report

    reading = read_ontology(list(tbox), catalog=read_catalog(catalog) if catalog else None)
    found = report(simplified(reading.tbox))
    found["leftovers"] = [str(leftover) for leftover in reading.leftovers]
    if json_file != "-":
        click.echo(simplified_text(found))
    _write_json(json_file, found)
    return 0


@cli.group(cls=Commands)
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


@cli.command()
@click.argument("family", type=Nearest(["lubm", "uobm", "npd"]))
@click.option("--universities", "-n", default="1", show_default=True, metavar="N[,N…]", help="Sizes of LUBM and UOBM.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Your copy of the data; else it is generated (not NPD)."
)
@click.option("--peers", default="", metavar="P,…", help="Reasoners to run beside: pellet, openllet, hermit, konclude.")
@click.option("--criteria", default="clausal,definition7,none", show_default=True, metavar="C,…")
@click.option("--engines", default="", metavar="E,…", help="Default: local, memory for small data, spark.")
@click.option(
    "--variant", "variants", multiple=True, metavar="PATTERN", help="Only data sets with this in their names; repeatable."
)
@click.option("--batch", "batches", multiple=True, metavar="PATTERN", help="Only batches with this in their names; repeatable.")
@click.option("--slices", type=click.IntRange(0, 20), default=2, show_default=True, help="Twentieths of the data to hold out.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of batches and generated data.")
@click.option("--limit", type=click.FloatRange(min=1), default=300.0, show_default=True, metavar="S", help="Seconds for one run.")
@click.option("--heap", default="4g", show_default=True, metavar="SIZE", help="Memory for a JVM, as 512m or 4g.")
@click.option("--work", type=click.Path(path_type=Path), metavar="DIR", help="Keep intermediate files there.")
@click.option("--with", "earlier", multiple=True, metavar="FILE", help="JSON of an earlier evaluation, for the page; repeatable.")
@click.option("--json", "json_file", required=True, metavar="FILE", help="Write the runs there.")
@click.option("--html", "html_file", metavar="FILE", help="Write a page with plots there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="More of everything.")
def evaluate(json_file: str, html_file: str | None, earlier: tuple[str, ...], quiet: bool, verbose: bool, **options: Any) -> int:
    """Measure checks on benchmark data: how much they look at, how long they take, and other reasoners beside them."""
    from jobs.evaluation.evaluate.command import run_command
    from jobs.evaluation.evaluate.run import settings_of

    progress = ProgressLine(_level(quiet, verbose))
    try:
        shown = run_command(settings_of(options), json_file, html_file, earlier, progress)
    finally:
        progress.close()
    click.echo(shown)
    return 0


for command in (doctor, lint, repro, report):
    cli.add_command(command)


# --- running --------------------------------------------------------------------------------------


def _generate(make: Callable[[Progress], GenerationReport], quiet: bool, verbose: bool) -> int:
    """Calls a generator, which is given what to report its progress to, and prints what it wrote."""
    progress = ProgressLine(_level(quiet, verbose))
    try:
        report = make(partial(progress, "generating"))
    finally:
        progress.close()
    click.echo(report_text(report))
    return 0


def _run(call: Callable[[dict[str, Any]], Any], options: dict[str, Any], asked: Asked) -> int:
    """Calls a check, prints its result, writes its reports, and its JSON last; the exit code."""
    quiet, verbose, json_file = options.pop("quiet"), options.pop("verbose"), options.pop("json_file")
    targets = [target_of(name) for name in options.pop("reports")]
    prepare(targets)
    progress = ProgressLine(_level(quiet, verbose))
    try:
        result = call({**options, "progress": progress})
    finally:
        progress.close()
    if json_file != "-":
        click.echo(result_text(result, verbose=verbose))
    _pack(result, options)
    answer = completed(result.to_dict(), asked, result.labels)
    write_reports(answer, targets)
    _write_json(json_file, answer)
    return EXIT_CODES[result.verdict]


def _pack(result: shiq.Result, options: dict[str, Any]) -> None:
    """Writes a reproducer of each disagreement of an audit into the current folder."""
    if not result.disagreements:
        return
    from jobs.repro import of_disagreement, write

    for found in result.disagreements:
        packed = of_disagreement(found, options)
        click.echo(f"packed: {write(packed, Path(packed.name))}; please report it (shiq repro run decides it again)", err=True)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits. No exception gets out: Python's own exit code 1 would read as `inconsistent`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = cli.main(args=arguments, prog_name="shiq", standalone_mode=False)
        code = code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = USAGE if isinstance(error, click.UsageError) else OPERATIONAL
    except UsageError as error:
        code = _complain(error, USAGE, arguments)
    except OperationalError as error:
        code = _complain(error, OPERATIONAL, arguments)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = OPERATIONAL
    except MemoryError:
        click.echo("shiq: out of memory\n  Give the process more, or check a smaller batch.", err=True)
        code = OPERATIONAL
    except Exception as error:
        code = _complain(error, OPERATIONAL, arguments)
    sys.stdout.flush()
    sys.exit(code)


def _complain(error: Exception, code: int, arguments: list[str]) -> int:
    expected = isinstance(error, UsageError | OperationalError)
    if not expected or {"-v", "--verbose"} & set(arguments):
        traceback.print_exception(error)
    click.echo(f"shiq: {error}", err=True)
    if not expected:
        click.echo("  This is a fault of shiq: please report it with the lines above.", err=True)
    return code


if __name__ == "__main__":
    main()

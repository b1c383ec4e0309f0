"""``shiq stream rules``."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jobs.commands.options import Nearest
from jobs.commands.places import READS, WRITES, GuardedCommand
from jobs.commands.running import write_json
from jobs.commands.stream.options import Feed, feeding, keep_known
from shiq.errors import InputError, UsageError

if TYPE_CHECKING:
    from streams.front.sources import Source
    from streams.rules import Program
    from streams.rules.records import Reader
    from streams.rules.session import EvaluationOptions
    from streams.rules.stream import StreamEvaluation

#: With --engine spark a program that has a key has so many shards, unless asked for others.
SHARDS = 8
_FORMATS = ("auto", "log", "jsonl", "table")


@click.command(cls=GuardedCommand)
@click.argument("programs", nargs=-1, type=READS, required=True, metavar="PROGRAM.lp…")
@click.option(
    "--show",
    type=Nearest(["derived", "all"]),
    default="derived",
    show_default=True,
    help="All: input and facts too.",
)
@click.option(
    "--timeline",
    type=Nearest(["dense", "on-input"]),
    default="dense",
    show_default=True,
    help="Which times are points.",
)
@click.option("--complete-windows", is_flag=True, help="always holds in whole windows only.")
@click.option(
    "--at-most-binds",
    is_flag=True,
    help="at most may bind variables, to atoms that came at least once.",
)
@click.option(
    "--python", type=READS, metavar="F.py", help="The file of the functions that rules call."
)
@click.option(
    "--max-atoms",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    help="Atoms that a point may derive, input and facts apart; more end the run (4).",
)
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Evaluators, where there is a key.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print how the program is split and evaluated; no source is needed.",
)
@click.option("--graph", type=WRITES, metavar="FILE", help="Write its dependencies as FILE.dot.")
@click.option(
    "--why", metavar="ATOM", help="Print why ATOM holds at the point --at, instead of rows."
)
@click.option("--at", "when", type=int, metavar="T", help="The point of --why.")
@feeding(formats=_FORMATS, required=False)
def rules(
    feed: Feed,
    programs: tuple[str, ...],
    show: str,
    timeline: str,
    complete_windows: bool,
    at_most_binds: bool,
    python: str | None,
    max_atoms: int,
    shards: int,
    explain: bool,
    graph: str | None,
    why: str | None,
    when: int | None,
) -> int:
    """What follows, by rules with windows, of a stream: one line a point (docs/RULES.md).

    \b shiq stream rules alarms.lp --source sensors.log shiq stream rules alarms.lp --source
    kafka://HOST:9092/events --out alarms.jsonl --checkpoint state/ --follow shiq stream rules
    alarms.lp --source sensors.log --why 'alarm(3)' --at 1590495357

    Exit codes: 0 all was read and evaluated; 3 something was rejected or late; 4 a program that
    is refused, a fault; 2.
    """
    from jobs.files import write_whole
    from jobs.text.rules import explained_text
    from streams.rules import Program
    from streams.rules.session import EvaluationOptions
    from streams.rules.splitting import dot

    program = Program.read(programs, python, feed.unit, at_most_binds=at_most_binds)
    if not (program.checked.rules or program.checked.facts or program.checked.mapped):
        raise InputError(
            f"{', '.join(programs)}: no rule in it", "Check that it is the program: docs/RULES.md."
        )
    if graph is not None:
        write_whole(Path(graph), dot(program.splitting))
    if explain:
        click.echo(explained_text(program))
    if not feed.sources:
        if not explain and graph is None:
            raise UsageError("no source", "Name one by --source, or ask for --explain or --graph.")
        return 0
    if (why is None) != (when is None):
        raise UsageError("--why and --at go together", "Name an atom and a point.")
    options = EvaluationOptions(
        timeline, complete_windows, feed.lateness, feed.max_ahead, max_atoms
    )
    if why is not None and when is not None:
        return _why(feed, program, options, why, when)
    if shards == 1 and feed.engine == "spark" and program.key.key is not None:
        shards = SHARDS
    if program.key.key is None and (shards > 1 or feed.engine == "spark"):
        feed.tell(f"one shard: {program.key}")
        shards = 1
    return _run(feed, program, options, show, shards, python)


def _run(
    feed: Feed,
    program: Program,
    options: EvaluationOptions,
    show: str,
    shards: int,
    python: str | None,
) -> int:
    from jobs.text.rules import evaluated_text
    from streams.front.rejects import RejectLog
    from streams.rules.session import RuleSession, evaluator_of
    from streams.rules.stream import RuleStream

    settings = {
        **RuleSession(program, options).settings(),
        "show": show,
        "shards": str(shards),
        "python": _digest(python),
    }
    quads, several = feed.out.endswith(".nq"), len(feed.sources) > 1
    result: StreamEvaluation
    if feed.engine == "spark":
        from jobs.streaming.rules import Models, Rules

        text = Path(python).read_text(encoding="utf-8-sig") if python is not None else None
        # Sources that are not merged by time have no order that an event could be late in.
        system = Rules(
            replace(program, functions={}),
            text,
            options,
            several and not feed.follow,
            show,
            quads,
            shards,
        )
        with feed.started(settings) as run:
            result = feed.on_spark(run, Models(run, system))
    else:
        reader, made = _reading(feed, program)
        with feed.started(settings, made) as run:
            session = RuleSession(program, options, RejectLog(run.outputs.texts("rejects")))
            run.status.tell_time(session.clock, feed.unit)
            run.status.tell_rejects(session.rejects)
            if shards > 1:
                session.evaluator = evaluator_of(program, options, shards)
            push = run.outputs.push if feed.follow else None
            stream = RuleStream(
                session, reader, run.outputs.texts("out"), show, quads, shards, push=push
            )
            result = run.drive(stream, follow=feed.follow, time=reader.time if several else None)
    return feed.end(evaluated_text(result, verbose=feed.verbose), result)


def _digest(python: str | None) -> str:
    """What a checkpoint keeps of the file with functions."""
    return "none" if python is None else sha256(Path(python).read_bytes()).hexdigest()[:16]


def _why(feed: Feed, program: Program, options: EvaluationOptions, why: str, when: int) -> int:
    from streams.front.rejects import RejectLog
    from streams.rules.atoms import AtomError, read_atom
    from streams.rules.explanation import Explaining
    from streams.rules.session import RuleSession, evaluator_of
    from streams.rules.stream import RuleStream
    from streams.rules.syntax import windowed

    try:
        predicate, row = read_atom(why)
    except AtomError as error:
        raise UsageError(f"--why: {error}", "Write a ground atom.") from error
    reader, made = _reading(feed, program)
    with replace(feed, out="-", checkpoint=None).started({}, made) as run:
        session = RuleSession(program, options, RejectLog(run.outputs.texts("rejects")))
        settings = program.checked, program.functions, options.complete_windows, options.max_atoms
        explaining = Explaining(*settings, when=when, engine=evaluator_of(program, options))
        session.evaluator = explaining
        result = run.drive(
            RuleStream(session, reader, lambda rows: None),
            time=reader.time if len(feed.sources) > 1 else None,
        )
    if explaining.model is None:
        raise InputError(
            f"the stream has no point {when}", "Name one from its first time to its last."
        )
    found = explaining.because(program, predicate, row)
    if found is None:
        checked = program.checked
        known = {
            *checked.facts,
            *(one.predicate for one in checked.mapped),
            *(rule.head.predicate for rule in checked.rules),
        }
        known |= {
            literal.atom.predicate for rule in checked.rules for literal, _ in windowed(rule.body)
        }
        keep_known(predicate, known, f"--why {why}: the program has no {predicate}")
    if feed.json_file != "-":
        click.echo("\n".join(found.lines()) if found else f"{why} does not hold at {when}")
    write_json(
        feed.json_file, {**result.to_dict(), "explanation": found.to_dict() if found else None}
    )
    return result.exit_code


def _reading(feed: Feed, program: Program) -> tuple[Reader, dict[str, Source]]:
    """What reads records; and files whose rows span points, to be sorted by time first."""
    from streams.front.sources import open_source
    from streams.rules.records import Reader, SortedSource, has_spans
    from streams.rules.triples import Mapping

    reader = Reader(Mapping(program.checked.mapped, feed.unit), feed.unit, feed.format)
    wide = [
        name
        for name in feed.sources
        if not feed.follow and Path(name).is_file() and has_spans(name)
    ]
    return reader, {
        name: SortedSource(open_source(name, feed.unit, feed.format), reader) for name in wide
    }

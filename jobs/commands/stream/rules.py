"""Command ``shiq stream rules``: evaluate rules with windows on a stream."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from shiq.errors import InputError, OperationalError, UsageError
from shiq.files import write_atomically
from shiq.jobs.commands.options import NearestChoice, field_option
from shiq.jobs.commands.places import READS, WRITES, GuardedCommand
from shiq.jobs.commands.running import write_json
from shiq.jobs.commands.stream.options import StreamArguments, require_known, stream_options
from shiq.jobs.text.results import leftovers_text, seconds_text
from shiq.streams.front.local import LocalRunner, StateOpener, open_bucket_state
from shiq.streams.front.sources import open_source
from shiq.streams.rules import Program
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.explanation import ExplainingEvaluator
from shiq.streams.rules.fixpoint import RecursiveStratum
from shiq.streams.rules.model import MaintainedRule
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.operators import Functions
from shiq.streams.rules.plan import CallStep, CheckStep, CompareStep, JoinPlan, JoinStep, Step
from shiq.streams.rules.records import (
    ExpandedSource,
    RuleRecordReader,
    TripleMapping,
    has_span_rows,
)
from shiq.streams.rules.session import EvaluationOptions, make_evaluator
from shiq.streams.rules.splitting import flatten_rules, render_graphviz
from shiq.streams.rules.stream import (
    RuleIntake,
    RulesCollector,
    RulesOperator,
    RulesResult,
    RulesState,
)
from shiq.streams.rules.syntax import CheckedProgram, streaming_literals
from shiq.streams.rules.tokens import AtomError, read_atom
from shiq.support import pluralize

if TYPE_CHECKING:
    from shiq.jobs.building.executor import Worker
    from shiq.streams.front.intake import StreamTime
    from shiq.streams.front.operator import BucketState, Columns, Row
    from shiq.streams.front.run import StreamRun
    from shiq.streams.front.sources import Source

#: With --engine spark a program that has a key has so many shards, unless asked for others.
SHARDS = 8
_FORMATS = ("auto", "log", "jsonl", "table")


@click.command(cls=GuardedCommand)
@click.argument("programs", nargs=-1, type=READS, required=True, metavar="PROGRAM.lp…")
@click.option(
    "--show",
    type=NearestChoice(["derived", "all"]),
    default="derived",
    show_default=True,
    help="Print all atoms, also those of the input and of facts.",
)
@field_option(EvaluationOptions, "timeline")
@field_option(EvaluationOptions, "complete_windows")
@click.option(
    "--at-most-binds",
    is_flag=True,
    help="at most may bind variables, to atoms that came at least once.",
)
@click.option(
    "--python", type=READS, metavar="F.py", help="Python file with the functions that rules call."
)
@field_option(EvaluationOptions, "max_atoms")
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes that evaluate it, where there is a key.",
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
@stream_options(formats=_FORMATS, required=False)
def rules(
    feed: StreamArguments,
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
    """Derive facts from a stream by rules with windows: one line for each point of time
    (docs/RULES.md).

    \b
    shiq stream rules alarms.lp --source sensors.log
    shiq stream rules alarms.lp --source kafka://HOST:9092/events --out alarms.jsonl --checkpoint state/ --follow
    shiq stream rules alarms.lp --source sensors.log --why 'alarm(3)' --at 1590495357

    Exit codes: 0 everything was read and evaluated; 3 something was rejected or late; 4 a program
    that is refused, or a fault; 2 usage.
    """
    program = Program.read(programs, python, feed.unit, at_most_binds=at_most_binds)
    if not (
        program.checked_program.rules
        or program.checked_program.facts
        or program.checked_program.mappings
    ):
        raise InputError(
            f"{', '.join(programs)}: no rule in it", "Check that it is the program: docs/RULES.md."
        )
    if graph is not None:
        write_atomically(Path(graph), render_graphviz(program.splitting))
    if explain:
        click.echo(program_text(program))
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
        return _print_proof(feed, program, options, why, when)
    if shards == 1 and feed.engine == "spark" and program.key.key is not None:
        shards = SHARDS
    if program.key.key is None and (shards > 1 or feed.engine == "spark"):
        feed.print_summary(f"one shard: {program.key}")
        shards = 1
    quads = feed.out.endswith(".nq")
    return _run_rules(
        feed, RulesOperator(program, options, shown_atoms=show, quads=quads, buckets=shards), python
    )


def _run_rules(feed: StreamArguments, asked: RulesOperator, python: str | None) -> int:
    """Evaluate the program ``asked`` on the stream and print the summary. Returns the exit code."""
    settings = {
        **asked.options.settings(asked.program),
        "show": asked.shown_atoms,
        "shards": str(asked.buckets),
        "python": _functions_digest(python),
    }
    if python is not None:
        asked = replace(asked, python=Path(python).read_text(encoding="utf-8-sig"))
    is_on_spark, several = feed.engine == "spark", len(feed.sources) > 1
    reader, made = _make_reader(feed, asked.program)
    with (
        feed.start_run(settings, {} if is_on_spark else made) as run,
        shard_processes(1 if is_on_spark else asked.buckets) as opener,
    ):
        stream = _make_collector(feed, run, asked, reader)
        stream.write = run.outputs.make_text_writer("out")
        if is_on_spark and several and not feed.follow:
            # Sources that are not merged by time have no order that an event could be late in.
            stream.intake.tracker.lateness = None
        elif feed.follow and not is_on_spark:
            stream.make_readable = run.outputs.make_readable
        time = reader.record_time if several else None
        result: RulesResult = feed.drive(run, stream, time, opener)
    return feed.finish(evaluation_text(result, verbose=feed.summary.verbose), result)


def _make_collector(
    feed: StreamArguments, run: StreamRun, asked: RulesOperator, reader: RuleRecordReader
) -> RulesCollector:
    """Make the collector that evaluates the program ``asked`` on the records of ``run``; the caller
    sets its output.
    """
    arrivals = feed.make_intake(run, partial(RuleIntake, reader=reader))
    return RulesCollector(asked, arrivals, lambda rows: None)


# Shards, each in a process of its own.

#: What `Operator.open_state` is asked to begin a shard: the operator, the bucket, and its state.
ShardStart: TypeAlias = tuple[RulesOperator, int, bytes | None]
#: The state of the shard that this process evaluates.
_SHARD: Final[list[RulesState]] = []


@dataclass
class ShardProcess:
    """Proxy for the state of one shard of the rules' atoms (those with certain key values), which a
    child process evaluates (`shiq.streams.front.operator.BucketState`).

    opening: arguments to open the state in the child process; None after the first call.
    """

    worker: Worker
    opening: ShardStart | None
    seen_predicates: set[str] = field(default_factory=set)

    def _send_call(self, *asked: Any) -> None:
        """Send a method call, with its arguments, to the child process."""
        self.worker.begin_task(pickle.dumps((run_in_shard, (self.opening, *asked))))
        self.opening = None

    def _receive_result(self) -> Any:
        """Receive the result and the error of the last call from the child process."""
        found, error, brought = pickle.loads(self.worker.receive_result())
        self.seen_predicates |= brought
        return found, error

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> Iterator[Row]:
        """Send the records of one time point to the child process. Returns the derived rows, which
        are received when the iterator is read.
        """
        self._send_call("step", parts, moment)
        return self._receive_rows()

    def finish(self, moment: StreamTime) -> Iterator[Row]:
        """Tell the child process that the stream has ended. Returns the last rows."""
        self._send_call("finish", moment)
        return self._receive_rows()

    def _receive_rows(self) -> Iterator[Row]:
        """Receive the rows that the last call derived, and raise the error that ended it. Raises:
        OperationalError.
        """
        rows, error = self._receive_result()
        yield from rows
        if error is not None:
            raise OperationalError(*error)

    def to_bytes(self) -> bytes:
        """Serialise the shard's state for a checkpoint."""
        self._send_call("to_bytes")
        return b"".join(self._receive_result()[0])


def run_in_shard(
    opening: ShardStart | None, name: str, *given: Any
) -> tuple[list[Any], tuple[str, str] | None, set[str]]:
    """Call the method ``name`` of the shard's state, inside the child process that evaluates the
    shard.

    Returns: the results, the error that ended them or None, and the predicates of the shard's
        input.
    """
    if opening is not None:
        operator, bucket, before = opening
        _SHARD[:] = [operator.open_state(bucket, before)]
    state, found = _SHARD[0], list[Any]()
    try:
        answer = getattr(state, name)(*given)
        found.extend([answer] if isinstance(answer, bytes) else answer)
    except OperationalError as error:
        return found, (error.message, error.remedy), state.seen_predicates
    return found, None, state.seen_predicates


@contextmanager
def shard_processes(shards: int) -> Iterator[StateOpener]:
    """Context manager: a function that opens the state of each shard in a child process, or in this
    process if ``shards`` is 1.
    """
    if shards == 1:
        yield open_bucket_state
        return
    from shiq.jobs.building.executor import Worker

    workers: dict[int, Worker] = {}

    def open_shard(operator: RulesOperator, bucket: int, state: bytes | None) -> BucketState:
        worker = workers.setdefault(bucket, Worker("of a shard"))
        # Its functions go as a text.
        operator = replace(operator, program=replace(operator.program, functions={}))
        return ShardProcess(worker, (operator, bucket, state))

    try:
        yield open_shard
    finally:
        for worker in workers.values():
            worker.stop(0.0)


def _functions_digest(python: str | None) -> str:
    """Digest of the Python file with the functions that rules call, for checkpoints; "none" without
    a file.
    """
    return "none" if python is None else sha256(Path(python).read_bytes()).hexdigest()[:16]


def _print_proof(
    feed: StreamArguments, program: Program, options: EvaluationOptions, why: str, when: int
) -> int:
    """Print why an atom holds at a point of time, or that it does not."""
    try:
        predicate, row = read_atom(why)
    except AtomError as error:
        raise UsageError(f"--why: {error}", "Write a ground atom.") from error
    reader, made = _make_reader(feed, program)
    with replace(feed, out="-", checkpoint=None).start_run({}, made) as run:
        checked, most = program.checked_program, options.max_atoms
        settings = checked, program.functions, options.complete_windows, most
        naive = NaiveEvaluator(*settings)
        explaining = ExplainingEvaluator(make_evaluator(program, options), naive, when)
        asked = RulesOperator(program, options, evaluator=explaining)
        stream = _make_collector(feed, run, asked, reader)
        time = reader.record_time if len(feed.sources) > 1 else None
        result = run.feed_system(LocalRunner(stream), time=time)
    if explaining.atoms is None:
        raise InputError(
            f"the stream has no point {when}", "Name one from its first time to its last."
        )
    found = explaining.explain_atom(program, predicate, row)
    if found is None:
        checked = program.checked_program
        known = {
            *checked.facts,
            *(one.predicate for one in checked.mappings),
            *(rule.head.predicate for rule in checked.rules),
        }
        known |= {
            literal.atom.predicate
            for rule in checked.rules
            for literal, _ in streaming_literals(rule.body)
        }
        require_known(predicate, known, f"--why {why}: the program has no {predicate}")
    if feed.summary.json_file != "-":
        click.echo("\n".join(found.text_lines()) if found else f"{why} does not hold at {when}")
    write_json(
        feed.summary.json_file,
        {**result.to_dict(), "explanation": found.to_dict() if found else None},
    )
    return result.exit_code


def _make_reader(
    feed: StreamArguments, program: Program
) -> tuple[RuleRecordReader, dict[str, Source]]:
    """Make the reader of records, and sources for files whose rows have time intervals and must be
    sorted by time first.
    """
    reader = RuleRecordReader(
        TripleMapping(program.checked_program.mappings, feed.unit), feed.unit, feed.format
    )
    wide = [
        name
        for name in feed.sources
        if not feed.follow and Path(name).is_file() and has_span_rows(name)
    ]
    return reader, {
        name: ExpandedSource(open_source(name, feed.unit, feed.format), reader) for name in wide
    }


# Plans as texts: how the engine evaluates each rule, and from which literal on it joins what a
# change begins with.


def plan_lines(checked: CheckedProgram, functions: Functions) -> Iterator[str]:
    """Lines about each rule of the program: how it is evaluated, then its join plans."""
    for rules, recursion in Engine(checked, functions).strata:
        for rule in rules:
            yield f"{rule.rule.position.line}: {rule.rule.head}, {_method_of_evaluation(rule, recursion)}"
            if rule.is_incremental or recursion:
                delta = not recursion
                seeds = [i for i, pattern in rule.patterns if pattern.is_positive or delta]
                yield from (
                    f"  {_join_plan_line(rule.cached_plan(seed, delta), 'change of')}"
                    for seed in seeds
                )
            else:
                first = next((i for i, pattern in rule.patterns if pattern.is_positive), None)
                yield f"  {_join_plan_line(rule.cached_plan(first), 'all of')}"


def _method_of_evaluation(rule: MaintainedRule, recursion: RecursiveStratum | None) -> str:
    """Text that says how a rule is evaluated: incrementally, by a fixpoint, or from scratch."""
    if recursion:
        anew = "deleted and derived again" if recursion.is_maintainable else "all anew"
        return f"in rounds to a fixpoint, {anew} where something that its stratum uses changed; from each literal that grew"
    if rule.is_incremental:
        return "derivations counted; from each literal that changed"
    return "again at each point" if rule.is_always_due else "again where a literal changed"


def _join_plan_line(plan: JoinPlan, seed: str) -> str:
    """Line about one join plan of a rule: the literal that it starts from, then each step.
    ``seed``: which atoms of that literal it starts from.
    """
    begin = f"{seed} {plan.seed.literal}" if plan.seed else "nothing"
    return " → ".join([begin, *map(_join_step_text, plan.steps)])


def _join_step_text(step: Step) -> str:
    """Text about one step of a join plan."""
    if isinstance(step, JoinStep):
        return f"join {step.pattern.literal}" + (" (as it was)" if step.reads_before else "")
    if isinstance(step, CheckStep):
        return f"test {step.pattern.literal}" + (" (as it was)" if step.reads_before else "")
    if isinstance(step, CompareStep):
        return (
            f"{step.bound_variable} = {step.comparison.right_term}"
            if step.bound_variable
            else f"test {step.comparison}"
        )
    return f"call {step.external}" if isinstance(step, CallStep) else f"aggregate {step.aggregate}"


def program_text(program: Program) -> str:
    """Text of `shiq stream rules --explain`: rewritten rules, dependencies, components, join plans,
    time horizons, and the key by which atoms are split into shards.
    """
    checked, found = program.checked_program, program.splitting
    flattened, described = flatten_rules(checked.rules)
    names = [", ".join(members) for members in found.members]
    facts = sum(map(len, checked.facts.values()))
    lines = [
        f"{pluralize(len(checked.rules), 'rule')}, {pluralize(facts, 'fact')}; timeline in {program.unit}",
        "",
        "Flat rewriting",
    ]
    lines += [f"  {rule}" for rule in flattened]
    lines += [f"  {name:<20} is {meaning}" for name, meaning in described.items()]
    lines += ["", "Dependencies (→: uses; <: through a window)"]
    lines += [
        f"  {p} {'<' if label else '→'} {q}" for (p, q), label in sorted(found.labels.items())
    ]
    lines += ["", "Components, in order of evaluation"]
    lines += [f"  {number + 1}. {name}" for number, name in enumerate(names)]
    before = [f"{{{names[i]}}} ≺ {{{names[j]}}}" for i, j in sorted(found.precedes)]
    lines += [f"  {'; '.join(before)}" if before else "  none precedes (≺) another"]
    lines += ["", "Macro-nodes"]
    lines += [
        f"  {number}. {'; '.join(names[i] for i in run)}"
        for number, run in enumerate(found.macro_nodes, 1)
    ]
    recursive = ", ".join(
        str(rule.position.line) for rule in checked.rules if found.is_streaming_recursive(rule)
    )
    lines += ["", f"Plans, by line; streaming-recursive: {recursive or 'none'}"]
    lines += [f"  {line}" for line in plan_lines(checked, program.functions)]
    lines += ["", "Horizons: how many points back each predicate is kept"]
    lines += [
        f"  {predicate}: {horizon}" for predicate, horizon in sorted(checked.horizons.items())
    ] or ["  none"]
    return "\n".join([*lines, "", str(program.key)])


def evaluation_text(result: RulesResult, *, verbose: bool = False) -> str:
    """Summary of an evaluation for the terminal, below its rows: leftovers and figures."""
    figures = result.statistics
    told = [pluralize(figures["points"], "point"), pluralize(figures["atoms"], "atom")]
    told += [
        f"{figures[name]:,} {name}"
        for name in ("rejected", "late", "duplicates", "unmapped", "unwritable")
        if figures[name]
    ]
    spent = seconds_text(figures["seconds"])
    left = leftovers_text(result.leftovers, (), verbose=verbose)
    undefined = [f"note: {said}" for said in figures.get("undefined", ())]
    return "\n".join(
        [*left, *undefined, f"{', '.join(told)}; {pluralize(figures['shards'], 'shard')}; {spent}"]
    )

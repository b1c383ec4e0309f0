"""Random stream rules: the engine against the naive evaluator, and clingo on a share.

    python -m tests.tools.rules_differential --seeds 0:10000

For each seed a program with input (`tests.tools.rules.random_programs`) is evaluated by the
reference as it stands, then by each way of `WAYS`: with shuffled rows and rules, in small parts,
saved and restored at a random point, by shards where it has a key; every fifth seed by clingo
too. Whole models and derived parts are compared at every point. A disagreement is printed, and
the command ends with 1.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch

import click

from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.rules import Program, fixpoint, operators, worklist
from shiq.streams.rules.fixpoint import RecursiveStratum
from shiq.streams.rules.naive_evaluation import NaiveEvaluator
from shiq.streams.rules.session import EvaluationOptions, RuleSession
from shiq.streams.rules.stream import RuleIntake, RulesCollector, RulesOperator
from shiq.streams.rules.syntax import EvaluationError, Row, atom_text, is_user_predicate
from shiq.streams.rules.tokens import read_atom
from tests.tools.rules.random_programs import FUNCTIONS, Case, random_case

#: For each point its time, the model, and what is derived.
Answer: TypeAlias = list[tuple[int, list[str], list[str]]]
#: clingo is asked of each so many.
SHARE = 5


def program_of(case: Case) -> Program:
    """The program of a case. Raises: ProgramError."""
    return Program.parse(case.text, FUNCTIONS, at_most_binds=case.at_most_binds)


def _answer(
    session: RuleSession, events: list[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str], list[str]]]:
    for t, atoms in events:
        for model in session.push(t, atoms):
            yield model.t, model.atoms, model.derived
    for model in session.finish():
        yield model.t, model.atoms, model.derived


def naive(case: Case) -> Answer:
    """What the reference says."""
    program = program_of(case)
    session = RuleSession(program, EvaluationOptions(**case.options))
    session.evaluator = NaiveEvaluator(
        program.checked_program, program.functions, session.options.complete_windows
    )
    return list(_answer(session, case.events))


def engine(case: Case) -> Answer:
    """What a session says, with the rows and rules in another order."""
    dice = random.Random(case.seed)
    rules, events = (
        list(case.rules),
        [(t, dice.sample(atoms, len(atoms))) for t, atoms in case.events],
    )
    dice.shuffle(rules)
    program = Program.parse("\n".join(rules), FUNCTIONS, at_most_binds=case.at_most_binds)
    return list(_answer(RuleSession(program, EvaluationOptions(**case.options)), events))


def in_parts(case: Case) -> Answer:
    """What a session says whose joins are made in small parts, and whose recursions go row by row."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(operators, "_ROWS_PER_PART", 2))
        stack.enter_context(patch.object(RecursiveStratum, "_max_narrow_rounds", case.seed % 3))
        stack.enter_context(patch.object(fixpoint, "_LEAST_NARROW_ROUNDS", 0))
        stack.enter_context(patch.object(worklist, "_MOST_PENDING_ROWS", 2 + case.seed % 5))
        return engine(case)


def bounded(case: Case, most: int, by_reference: bool) -> tuple[Answer, bool]:
    """The models before the first point that derives more than ``most`` atoms, and whether there
    is one.
    """
    program = program_of(case)
    session = RuleSession(program, replace(EvaluationOptions(**case.options), max_atoms=most))
    if by_reference:
        session.evaluator = NaiveEvaluator(
            program.checked_program, program.functions, session.options.complete_windows, most
        )
    found: Answer = []
    try:
        found.extend(_answer(session, case.events))
    except EvaluationError as error:
        assert "--max-atoms" in str(error), error
        return found, True
    return found, False


def restarted(case: Case) -> Answer:
    """What a session says that is saved and put back at a random point."""
    program = program_of(case)
    first = program.session(**case.options)
    cut = random.Random(case.seed).randint(0, len(case.events))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        found = [
            (m.t, m.atoms, m.derived)
            for t, atoms in case.events[:cut]
            for m in first.push(t, atoms)
        ]
        first.save(path)
        return [*found, *_answer(program.restore(path), case.events[cut:])]


def sharded(case: Case) -> Answer | None:
    """What three buckets of keys say, where the program has a key."""
    program, options = program_of(case), EvaluationOptions(**case.options)
    if program.key.key is None:
        return None

    def rows(shown: str) -> list[tuple[int, list[str]]]:
        found: list[str] = []
        operator = RulesOperator(program, options, shown_atoms=shown, buckets=3)
        arrivals = RuleIntake(WatermarkTracker(options.lateness, options.max_ahead), RejectLog())
        runner = LocalRunner(RulesCollector(operator, arrivals, found.extend))
        for line, (t, atoms) in enumerate(case.events, 1):
            runner.process(Record("s", line, json.dumps({"t": t, "atoms": atoms}).encode()))
        runner.finish()
        return [(row["t"], row["atoms"]) for row in map(json.loads, found)]

    return [(t, atoms, derived) for (t, atoms), (_, derived) in zip(rows("all"), rows("derived"))]


def by_clingo(case: Case) -> Answer:
    """What clingo says."""
    return clingo_answer(program_of(case), case.events, case.options, case.at_most_binds)


def clingo_answer(
    program: Program,
    events: Sequence[tuple[int, list[str]]],
    options: Mapping[str, Any],
    at_most_binds: bool = False,
) -> Answer:
    """What clingo says of the rules as they are written, unless an at most is to bind."""
    from tests.tools.rules import clingo_twin

    points: dict[int, dict[str, list[Row]]] = {}
    for t, atoms in events:
        point = points.setdefault(t, {})
        for predicate, row in map(read_atom, atoms):
            point.setdefault(predicate, []).append(row)
    on_input = options["timeline"] == "on-input"
    times = sorted(points) if on_input else range(min(points), max(points) + 1)
    checked = program.checked_program
    if not at_most_binds:
        facts = {name: list(rows) for name, rows in program.parsed_program.facts.items()}
        checked = replace(checked, rules=tuple(program.parsed_program.rules), facts=facts, parts={})
    given = [(t, checked.copy_input_to_parts(points.get(t, {}))) for t in times]
    found = clingo_twin.run(checked, program.functions, given, options["complete_windows"])
    return [(t, _texts(program, whole), _texts(program, heads)) for t, whole, heads in found]


def _texts(program: Program, point: dict[str, set[Row]]) -> list[str]:
    shown = program.checked_program.shown_predicates
    return sorted(
        atom_text(predicate.rpartition("/")[0], row)
        for predicate, rows in point.items()
        if (is_user_predicate(predicate) if shown is None else predicate in shown)
        for row in rows
    )


WAYS: dict[str, Callable[[Case], Answer | None]] = {
    "engine": engine,
    "in parts": in_parts,
    "restarted": restarted,
    "shards": sharded,
    "clingo": by_clingo,
}


def disagreement(case: Case, with_clingo: bool, told: Counter[str]) -> str | None:
    """How the ways of evaluating a case differ, if they do; what was compared is counted in
    ``told``.
    """
    wanted = naive(case)
    plain = [rule for rule in case.rules if " in " not in rule]
    told["derived through windows"] += (
        len(plain) < len(case.rules) and naive(replace(case, rules=plain)) != wanted
    )
    for name, way in WAYS.items():
        if name == "clingo" and not with_clingo:
            continue
        try:
            found = way(case)
        except Exception:
            return f"{name}: {traceback.format_exc()}"
        if found is None:
            continue
        told[name] += 1
        if found != wanted:
            return f"{name}: {_difference(wanted, found)}"
    return None


def _difference(wanted: Answer, found: Answer) -> str:
    if [t for t, _, _ in wanted] != [t for t, _, _ in found]:
        return f"points {[t for t, _, _ in found]} instead of {[t for t, _, _ in wanted]}"
    for (t, model, heads), (_, other, derived) in zip(wanted, found):
        if model != other or heads != derived:
            return (
                f"at {t}: model lacks {sorted(set(model) - set(other))}, has {sorted(set(other) - set(model))}; "
                f"derived lacks {sorted(set(heads) - set(derived))}, has {sorted(set(derived) - set(heads))}"
            )
    return ""


@click.command()
@click.option(
    "--seeds", default="0:1000", show_default=True, help="From and to, the latter not included."
)
@click.option("--clingo/--no-clingo", "with_clingo", default=True, show_default=True)
@click.option("--most", default=10, show_default=True, help="End after so many disagreements.")
def main(seeds: str, with_clingo: bool, most: int) -> None:
    """Compares the ways of evaluating random programs."""
    first, last = map(int, seeds.split(":"))
    told, used, wrong, begun = Counter[str](), Counter[str](), 0, time.monotonic()
    for seed in range(first, last):
        case = random_case(seed)
        used.update(case.used)
        found = disagreement(case, with_clingo and seed % SHARE == 0, told)
        if found is not None:
            wrong += 1
            click.echo(
                f"--- seed {seed} {case.options} at_most_binds={case.at_most_binds}\n{case.text}{case.events}\n{found}"
            )
            if wrong >= most:
                break
        if (seed + 1 - first) % 500 == 0:
            click.echo(
                f"{seed + 1 - first:,} programs: {wrong} disagreements; compared: {dict(told)}"
            )
    programs = last - first
    click.echo(
        f"{programs:,} programs, {time.monotonic() - begun:.0f} s: {wrong} disagreements; compared: {dict(told)}"
    )
    rare = {name: count for name, count in used.items() if count < programs / 10}
    click.echo(f"least used: {used.most_common()[:-6:-1]}; in less than a tenth: {rare or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

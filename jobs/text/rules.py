"""Stream rules: how a program is evaluated, what came of a stream."""

from __future__ import annotations

from collections.abc import Iterator

from shiq.jobs.text.results import leftovers_text, seconds_text
from shiq.streams.rules import Program
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.fixpoint import Recursion
from shiq.streams.rules.operators import Functions
from shiq.streams.rules.plan import Call, Check, Compare, JoinPlan, JoinStep, Step
from shiq.streams.rules.predicates import MaintainedRule
from shiq.streams.rules.splitting import flat
from shiq.streams.rules.stream import StreamEvaluation
from shiq.streams.rules.syntax import CheckedProgram
from shiq.support import pluralize

# Plans as texts: how the engine evaluates each rule, and from which literal on it joins what a
# change begins with.


def plan_lines(checked: CheckedProgram, functions: Functions) -> Iterator[str]:
    """For each rule how it is evaluated, then a line for each plan."""
    for rules, recursion in Engine(checked, functions).strata:
        for rule in rules:
            yield f"{rule.rule.position.line}: {rule.rule.head}, {_kind(rule, recursion)}"
            if rule.incremental or recursion:
                delta = not recursion
                seeds = [i for i, pattern in rule.patterns if pattern.positive or delta]
                yield from (f"  {_line(rule.plan(seed, delta), 'change of')}" for seed in seeds)
            else:
                first = next((i for i, pattern in rule.patterns if pattern.positive), None)
                yield f"  {_line(rule.plan(first), 'all of')}"


def _kind(rule: MaintainedRule, recursion: Recursion | None) -> str:
    if recursion:
        anew = "deleted and derived again" if recursion.is_maintained else "all anew"
        return f"in rounds to a fixpoint, {anew} where something that its stratum uses changed; from each literal that grew"
    if rule.incremental:
        return "derivations counted; from each literal that changed"
    return "again at each point" if rule.restless else "again where a literal changed"


def _line(plan: JoinPlan, seed: str) -> str:
    begin = f"{seed} {plan.seed.literal}" if plan.seed else "nothing"
    return " → ".join([begin, *map(_step, plan.steps)])


def _step(step: Step) -> str:
    if isinstance(step, JoinStep):
        return f"join {step.pattern.literal}" + (" (as it was)" if step.before else "")
    if isinstance(step, Check):
        return f"test {step.pattern.literal}" + (" (as it was)" if step.before else "")
    if isinstance(step, Compare):
        return (
            f"{step.gives} = {step.comparison.right}" if step.gives else f"test {step.comparison}"
        )
    return f"call {step.external}" if isinstance(step, Call) else f"aggregate {step.aggregate}"


def explained_text(program: Program) -> str:
    """What `shiq stream rules --explain` prints: rewriting, graphs, plans, horizons, the key."""
    checked, found = program.checked, program.splitting
    flattened, described = flat(checked.rules)
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


def evaluated_text(result: StreamEvaluation, *, verbose: bool = False) -> str:
    """What `shiq stream rules` prints behind the rows: what was left out, figures."""
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

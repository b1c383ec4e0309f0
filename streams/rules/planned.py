"""Plans as texts: how the engine evaluates each rule, and from which literal on it joins what a
change begins with.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.rules.evaluation import Engine
from streams.rules.fixpoint import Recursion
from streams.rules.functions import Functions
from streams.rules.predicates import MaintainedRule
from streams.rules.steps import Call, Check, Compare, JoinPlan, JoinStep, Step
from streams.rules.syntax import CheckedProgram


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

"""The heads of rules: counted by what changed, or all at once (docs/THEORY.md, "Stream rules in columns")."""

from __future__ import annotations

import numpy as np

from shiq.columns.arrays import Ints
from streams.rules.bindings import Bindings, seeded
from streams.rules.operators import StepContext
from streams.rules.predicates import MaintainedRule
from streams.rules.relations import NONE, one_of_each
from streams.rules.steps import SIGN, JoinPlan, StreamingPattern


def maintain(context: StepContext, rule: MaintainedRule) -> None:
    """Adds and takes away the derivations that changed."""
    for i, pattern in rule.patterns:
        went, came = pattern.view.went, pattern.view.came
        if not len(went) and not len(came):
            continue
        plan = rule.plan(i, delta=True)
        columns, found = instances(context, rule, plan, seeded(pattern, np.concatenate([went, came]), plan.keep, len(went)))
        if found.count:
            heads, signs = rule.head.relation.add_any(columns), found.columns[SIGN]
            support = rule.head.relation.of_row[rule.head.support(rule.rule)]
            np.add.at(support, heads, signs if pattern.positive else -signs)
            rule.head.touched.append(heads)


def examples(context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings) -> tuple[Ints, Bindings]:
    """The heads that a plan derives, each once, and an instance for each."""
    columns, found = instances(context, rule, plan, start, once=True)
    if not found.count:
        return NONE, found
    example = one_of_each(columns)
    heads = rule.head.relation.add([column[example] for column in columns])
    return heads, found.take(example, frozenset(found.columns))


def instances(
    context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings, once: bool = False
) -> tuple[list[Ints], Bindings]:
    """The heads of the instances that a plan finds, and what is bound in them; ``once``: how often each is derived does not
    matter."""
    found = context.run(plan.steps, start, rule.rule, once)
    columns, valid = context.head(rule.rule, found) if found.count else ([], None)
    if valid is not None:
        columns, found = [column[valid] for column in columns], found.where(valid, frozenset(found.columns))
    return columns or [np.zeros(found.count, np.int64)], found


def all_heads(context: StepContext, rule: MaintainedRule, point: int) -> tuple[Ints, Bindings]:
    """All heads of a rule at this point, each once, and an instance for each."""
    frequency = rule.rule.frequency
    if frequency is not None and point % frequency:
        return NONE, Bindings({}, 0)
    positive = [(len(pattern.view.rows()), i) for i, pattern in rule.patterns if pattern.positive]
    if not positive:
        return examples(context, rule, rule.plan(None), Bindings({}, 1))
    size, seed = min(positive)
    if not size:
        return NONE, Bindings({}, 0)
    plan, pattern = rule.plan(seed), rule.body[seed]
    assert isinstance(pattern, StreamingPattern)
    return examples(context, rule, plan, seeded(pattern, pattern.view.rows(), plan.keep))


def renew(context: StepContext, rule: MaintainedRule, point: int) -> None:
    """Evaluates a rule again."""
    relation, name = rule.head.relation, ("by", rule.rule.number)
    relation.track(name, np.bool_)
    new = all_heads(context, rule, point)[0]
    rule.has_run = True
    derives = relation.of_row[name]
    old = np.flatnonzero(derives)
    derives[old] = False
    derives[new] = True
    support = relation.of_row[rule.head.support(rule.rule)]
    support[old] -= 1
    support[new] += 1
    rule.head.touched += [old, new]

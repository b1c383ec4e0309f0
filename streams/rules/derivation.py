"""The heads of rules: counted by what changed, or all at once (docs/THEORY.md, "Stream rules in columns")."""

from __future__ import annotations

import numpy as np

from shiq.columns.arrays import Ints
from streams.rules.operators import Bindings, Context, seeded
from streams.rules.predicates import Maintained
from streams.rules.relations import NONE, distinct_rows
from streams.rules.steps import Pattern, Plan


def maintain(context: Context, rule: Maintained) -> None:
    """Adds and takes away the derivations that changed."""
    for i, pattern in rule.patterns:
        view = pattern.view
        for rows, true in ((view.went, False), (view.came, True)):
            if len(rows):
                plan = rule.plan(i, delta=True)
                heads, numbers = heads_of(context, rule, plan, seeded(pattern, rows, plan.keep))
                support = rule.head.relation.of_row[rule.head.support(rule.rule)]
                support[heads] += numbers if true == pattern.positive else -numbers
                rule.head.touched.append(heads)


def heads_of(context: Context, rule: Maintained, plan: Plan, start: Bindings, once: bool = False) -> tuple[Ints, Ints]:
    """The heads that a plan derives, each once, and how often; that is undefined where ``once`` says that it does not matter."""
    found = context.run(plan.steps, start, rule.rule, once)
    if not found.count:
        return NONE, NONE
    columns, valid = context.head(rule.rule, found)
    if valid is not None:
        columns = [column[valid] for column in columns]
    if not columns:
        return rule.head.relation.add([np.zeros(1, np.int64)]), np.array([found.count])
    if not len(columns[0]):
        return NONE, NONE
    distinct_, numbers = distinct_rows(columns)
    return rule.head.relation.add(distinct_), numbers


def all_heads(context: Context, rule: Maintained, point: int) -> Ints:
    """All heads of a rule at this point, each once."""
    frequency = rule.rule.frequency
    if frequency is not None and point % frequency:
        return NONE
    positive = [(len(pattern.view.rows()), i) for i, pattern in rule.patterns if pattern.positive]
    if not positive:
        return heads_of(context, rule, rule.plan(None), Bindings({}, 1), once=True)[0]
    size, seed = min(positive)
    if not size:
        return NONE
    plan, pattern = rule.plan(seed), rule.body[seed]
    assert isinstance(pattern, Pattern)
    return heads_of(context, rule, plan, seeded(pattern, pattern.view.rows(), plan.keep), once=True)[0]


def renew(context: Context, rule: Maintained, point: int) -> None:
    """Evaluates a rule again."""
    relation, name = rule.head.relation, ("by", rule.rule.number)
    relation.track(name, np.bool_)
    new = all_heads(context, rule, point)
    rule.has_run = True
    derives = relation.of_row[name]
    old = np.flatnonzero(derives)
    derives[old] = False
    derives[new] = True
    support = relation.of_row[rule.head.support(rule.rule)]
    support[old] -= 1
    support[new] += 1
    rule.head.touched += [old, new]

"""The heads of rules: counted by what changed, or all at once (docs/THEORY.md, "Stream rules in
columns").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiq.columns.arrays import Ints, is_in
from streams.rules.bindings import Bindings, seeded
from streams.rules.operators import StepContext
from streams.rules.predicates import MaintainedRule, is_derived
from streams.rules.relations import NONE, one_of_each
from streams.rules.steps import SIGN, JoinPlan, StreamingPattern


def maintain(context: StepContext, rule: MaintainedRule) -> None:
    """Add and take away the derivations that changed. Raises: EvaluationError where the point
    derives too many atoms.
    """
    head = rule.head
    # While nothing becomes false, no atom is derived on the way that is not in the end.
    only_grows = not any(
        len(pattern.view.went if pattern.positive else pattern.view.came)
        for _, pattern in rule.patterns
    )
    derived = len(head.derived)
    for i, pattern in rule.patterns:
        went, came = pattern.view.went, pattern.view.came
        if not len(went) and not len(came):
            continue
        plan = rule.plan(i, delta=True)
        start = seeded(pattern, np.concatenate([went, came]), plan.keep, len(went))
        for columns, found in instances(context, rule, plan, start):
            heads, signs = head.relation.add_any(columns), found.columns[SIGN]
            np.add.at(
                head.relation.of_row[head.support(rule.rule)],
                heads,
                signs if pattern.positive else -signs,
            )
            head.touched.append(heads)
            derived += len(heads)
            if only_grows and context.budget.derived + derived > context.budget.most:
                derived = int(np.count_nonzero(is_derived(head, np.arange(head.relation.size))))
                context.budget.check(context.budget.derived + derived, rule.rule)


def examples(
    context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings
) -> tuple[Ints, Bindings]:
    """The heads that a plan derives, each once, and an instance for each. Raises:
    EvaluationError where they are too many.
    """
    heads, found = NONE, Bindings({}, 0)
    for columns, part in instances(context, rule, plan, start, once=True):
        example = one_of_each(columns)
        more = rule.head.relation.add([column[example] for column in columns])
        part = part.take(example, frozenset(part.columns))
        if not len(heads):
            heads, found = more, part
            continue
        new = ~is_in(more, heads)
        heads, found = (
            np.concatenate([heads, more[new]]),
            found.joined(part.where(new, frozenset(part.columns))),
        )
        context.budget.check(len(heads), rule.rule)
    context.budget.check(len(heads), rule.rule)
    return heads, found


def instances(
    context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings, once: bool = False
) -> Iterator[tuple[list[Ints], Bindings]]:
    """The heads of the instances that a plan finds, and what is bound in them, in parts;
    ``once``: how often each is derived does not matter.
    """
    for found in context.run(plan.steps, start, rule.rule, once):
        columns, valid = context.head(rule.rule, found)
        if valid is not None:
            columns, found = (
                [column[valid] for column in columns],
                found.where(valid, frozenset(found.columns)),
            )
        if found.count:
            yield columns or [np.zeros(found.count, np.int64)], found


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

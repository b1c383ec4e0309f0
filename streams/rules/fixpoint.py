"""Recursive strata: least fixpoints in semi-naive rounds (docs/THEORY.md, "Stream rules in columns")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shiq.columns.arrays import Ints, unique
from streams.rules.derivation import all_heads, heads_of
from streams.rules.operators import Context, seeded
from streams.rules.predicates import Maintained, Predicate
from streams.rules.relations import NONE
from streams.rules.windows import View


def fixpoint(context: Context, heads: Mapping[str, Predicate], rules: Sequence[Maintained], point: int) -> list[View]:
    """The least fixpoint of a recursive stratum, where something that it uses changed; gives the views that changed."""
    if not any(rule.is_due() for rule in rules) and not any(map(_is_touched, heads.values())):
        return [view for predicate in heads.values() for view in predicate.settle()]
    views = [view for predicate in heads.values() for view in predicate.views.values()]
    masks = {view: view.mask()[: view.relation.size].copy() for view in views}
    held = {name: predicate.relation.held for name, predicate in heads.items()}
    for predicate in heads.values():
        of_row, relation = predicate.relation.of_row, predicate.relation
        for support in predicate.supports:
            of_row[support][relation.held] = 0
        of_row["holds"][: relation.size] = of_row["given"][: relation.size]
        relation.held = np.flatnonzero(of_row["holds"][: relation.size])
    for view in views:
        view.begin()
    fresh = dict.fromkeys(heads, NONE)
    for rule in rules:
        rule.has_run = True
        _derive(rule, all_heads(context, rule, point), fresh)
    while any(map(len, fresh.values())):
        deltas = _grown(heads, fresh)
        fresh = dict.fromkeys(heads, NONE)
        for rule in rules:
            if rule.rule.frequency is not None and point % rule.rule.frequency:
                continue
            for i, pattern in rule.patterns:
                rows = deltas.get(pattern.view, NONE)
                if len(rows) and pattern.positive:
                    plan = rule.plan(i)
                    _derive(rule, heads_of(context, rule, plan, seeded(pattern, rows, plan.keep), once=True)[0], fresh)
    moved: list[View] = []
    for name, predicate in heads.items():
        relation, old = predicate.relation, held[name]
        before = np.zeros(len(relation.columns[0]), np.bool_)
        before[old] = True
        holds = relation.of_row["holds"]
        relation.came, relation.went = relation.held[~before[relation.held]], old[~holds[old]]
        moved += predicate.settle(masks)
    return moved


def _is_touched(predicate: Predicate) -> bool:
    """Whether its input changed, or a window over it."""
    return bool(predicate.touched) or any(len(one.changed) or one.is_longer for one in predicate.counters.values())


def _derive(rule: Maintained, rows: Ints, fresh: dict[str, Ints]) -> None:
    """Notes heads of a rule in a fixpoint; those that did not hold yet are ``fresh``."""
    relation, name = rule.head.relation, rule.rule.head.predicate
    relation.of_row[rule.head.support(rule.rule)][rows] = 1
    new = rows[~relation.of_row["holds"][rows]]
    if len(new):
        fresh[name] = unique(np.concatenate([fresh[name], new])) if len(fresh[name]) else new


def _grown(heads: Mapping[str, Predicate], fresh: Mapping[str, Ints]) -> dict[View, Ints]:
    """Lets fresh rows hold; what each view gained by that."""
    found: dict[View, Ints] = {}
    for name, rows in fresh.items():
        if len(rows):
            relation = heads[name].relation
            relation.of_row["holds"][rows] = True
            relation.held = np.concatenate([relation.held, rows])
            for view in heads[name].views.values():
                found[view] = view.grow(rows)
    return found

"""Predicates and rules as the engine maintains them: their rows, windows and supports, their
conjuncts and plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.rules.model import HeldRows
from shiq.streams.rules.plan import Conjunct, JoinPlan, Planner, StreamingPattern
from shiq.streams.rules.relations import NONE, Flags, Relation, nothing
from shiq.streams.rules.syntax import ComparisonLiteral, Row, StreamRule
from shiq.streams.rules.windows import History, WindowCounter, WindowView


@dataclass(eq=False)
class Predicate:
    """A relation with its windows: ``facts`` and this point's ``given`` rows, ``derived`` by
    rules with a body.
    """

    relation: Relation
    history: History
    counters: dict[tuple[tuple[int, int], ...], WindowCounter] = field(default_factory=dict)
    views: dict[tuple[object, ...], WindowView] = field(default_factory=dict)
    facts: Ints = field(default_factory=nothing)
    given: Ints = field(default_factory=nothing)
    #: Rows whose input changed, or their support by rules, each once or more.
    touched: list[Ints] = field(default_factory=list)
    supports: list[tuple[str, bool, bool]] = field(default_factory=list)
    derived: Ints = field(default_factory=nothing)
    alive: int = 0
    rows_of: dict[Row, int] = field(default_factory=dict)
    shown: HeldRows | None = None

    def support(self, rule: StreamRule) -> tuple[str, bool, bool]:
        """The name of the array with the number of derivations by rules like this one."""
        name = "support", rule.temporary, bool(rule.body)
        if name not in self.supports:
            self.supports.append(name)
            self.relation.track(name, np.int64)
        return name

    def persistent(self) -> Ints:
        """The rows that later points see."""
        held = self.relation.held
        if not any(temporary for _, temporary, _ in self.supports):
            return held
        kept: Flags = self.relation.of_row["given"][held]
        for name in self.supports:
            if not name[1]:
                kept = kept | (self.relation.of_row[name][held] > 0)
        persistent: Ints = held[kept]
        return persistent

    def settle(self) -> list[WindowView]:
        """Says what holds now that its rules have been evaluated; gives the views that changed."""
        relation = self.relation
        if self.touched:
            touched = relation.each_once(np.concatenate(self.touched))
            holds, of_row = relation.of_row["holds"], relation.of_row
            new = of_row["given"][touched]
            for name in self.supports:
                new = new | (of_row[name][touched] > 0)
            old = holds[touched]
            holds[touched] = new
            relation.came, relation.went = touched[new & ~old], touched[old & ~new]
            if len(relation.went):
                relation.held = relation.held[holds[relation.held]]
            if len(relation.came):
                relation.held = np.concatenate([relation.held, relation.came])
            if self.supports:
                self.derived = supported(self)
            self.touched = []
        for view in self.views.values():
            self.tell(view)
        return [view for view in self.views.values() if view.is_changed]

    def tell(self, view: WindowView) -> None:
        """Lets a view know what changed."""
        counter = view.counter
        parts = [
            counter.changed,
            *((self.relation.came, self.relation.went) if counter.is_now else ()),
        ]
        parts = [part for part in parts if len(part)]
        view.update(
            self.relation.each_once(np.concatenate(parts))
            if len(parts) > 1
            else parts[0]
            if parts
            else NONE
        )


@dataclass(eq=False)
class MaintainedRule:
    """A rule with its conjuncts and plans. ``incremental``: its derivations are counted, literal
    by literal.
    """

    rule: StreamRule
    head: Predicate
    body: list[Conjunct]
    planner: Planner
    incremental: bool
    restless: bool
    plans: dict[tuple[int | None, bool], JoinPlan] = field(default_factory=dict)
    has_run: bool = False
    #: The views of its aggregates.
    inner: tuple[WindowView, ...] = ()

    @cached_property
    def patterns(self) -> list[tuple[int, StreamingPattern]]:
        """The streaming literals of its body, by place."""
        return [
            (i, conjunct)
            for i, conjunct in enumerate(self.body)
            if isinstance(conjunct, StreamingPattern)
        ]

    def is_due(self) -> bool:
        """Whether it may derive other heads than at the last point."""
        if self.restless or not self.has_run:
            return True
        return any(pattern.view.is_changed for _, pattern in self.patterns) or any(
            view.is_changed for view in self.inner
        )

    def plan(self, seed: int | None, delta: bool = False) -> JoinPlan:
        key = seed, delta
        if key not in self.plans:
            self.plans[key] = self.planner.plan(seed, delta=delta)
        return self.plans[key]

    def plan_of_heads(self, head: StreamingPattern) -> JoinPlan:
        """The plan that begins with heads, to find whether they are derived."""
        key = None, True
        if key not in self.plans:
            self.plans[key] = self.planner.plan(bound=head.names, measured=True)
        return self.plans[key]


def is_counted(body: Sequence[Conjunct]) -> bool:
    """Whether derivations can be counted: there are only streaming literals, one of them
    positive, and comparisons, and no negative literal asks for a count that varies.
    """
    patterns = [one for one in body if isinstance(one, StreamingPattern)]
    plain = all(one.positive or one.threshold is None for one in patterns)
    return (
        plain
        and any(one.positive for one in patterns)
        and all(isinstance(one, StreamingPattern | ComparisonLiteral) for one in body)
    )


def supported(predicate: Predicate) -> Ints:
    """The rows that rules with a body derive."""
    held = predicate.relation.held
    found = is_derived(predicate, held)
    return held if found.all() else held[found]


def is_derived(predicate: Predicate, rows: Ints) -> Flags:
    """Which ``rows`` rules with a body derive."""
    found = np.zeros(len(rows), np.bool_)
    for name in predicate.supports:
        if name[2]:
            found |= predicate.relation.of_row[name][rows] > 0
    return found


def compact(predicate: Predicate) -> None:
    """Keeps the rows that hold, are given or stated, and those of the history."""
    relation, history = predicate.relation, predicate.history
    alive = relation.of_row["holds"][: relation.size].copy()
    for rows in (predicate.facts, predicate.given, *history.rows, *predicate.touched):
        alive[rows] = True
    renumber = relation.compact(alive)
    predicate.facts, predicate.given = renumber(predicate.facts), renumber(predicate.given)
    predicate.derived = renumber(predicate.derived)
    predicate.touched = [renumber(rows) for rows in predicate.touched]
    history.rows = [renumber(rows) for rows in history.rows]
    predicate.rows_of.clear()
    predicate.shown, predicate.alive = None, relation.size

"""Recursive strata: least fixpoints in semi-naive rounds, maintained by deleting and deriving
again.

Each derived atom keeps one instance of a rule as its reason: the rows that the positive literals
had when it was derived. They held before it did, so reasons never run in circles. What loses its
reason is deleted, and what had that as a reason; then what can still be derived is, and what is
new is added in rounds. The proof is in docs/THEORY.md, "Stream rules in columns".

The heads of rules: counted by what changed, or all at once (docs/THEORY.md, "Stream rules in
columns").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from shiq.columns.arrays import Ints, is_in
from shiq.streams.rules.model import MaintainedRule, Predicate, derived_flags, find_derived_rows
from shiq.streams.rules.operators import StepContext
from shiq.streams.rules.plan import SIGN, Bindings, JoinPlan, StreamingPattern, seed_bindings
from shiq.streams.rules.relations import NONE, Flags, first_of_each
from shiq.streams.rules.windows import WindowView
from shiq.streams.rules.worklist import NARROW, Worklist


def maintain_counts(context: StepContext, rule: MaintainedRule) -> None:
    """Add and take away the derivations that changed. Raises: EvaluationError where the point
    derives too many atoms.
    """
    head = rule.head
    # While nothing becomes false, no atom is derived on the way that is not in the end.
    only_grows = not any(
        len(pattern.view.lost_rows if pattern.is_positive else pattern.view.gained_rows)
        for _, pattern in rule.patterns
    )
    derived = len(head.derived_rows)
    for i, pattern in rule.patterns:
        went, came = pattern.view.lost_rows, pattern.view.gained_rows
        if not len(went) and not len(came):
            continue
        plan = rule.plan(i, delta=True)
        start = seed_bindings(pattern, np.concatenate([went, came]), plan.keep, len(went))
        for columns, found in rule_instances(context, rule, plan, start):
            heads, signs = head.relation.add_repeated(columns), found.columns[SIGN]
            np.add.at(
                head.relation.row_arrays[head.support_array(rule.rule)],
                heads,
                signs if pattern.is_positive else -signs,
            )
            head.touched_rows.append(heads)
            derived += len(heads)
            if only_grows and context.budget.derived_count + derived > context.budget.most_derived:
                derived = int(np.count_nonzero(derived_flags(head, np.arange(head.relation.size))))
                context.budget.check_derived(context.budget.derived_count + derived, rule.rule)


def one_instance_each(
    context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings
) -> tuple[Ints, Bindings]:
    """The heads that a plan derives, each once, and an instance for each. Raises:
    EvaluationError where they are too many.
    """
    heads, found = NONE, Bindings({}, 0)
    for columns, part in rule_instances(context, rule, plan, start, once=True):
        example = first_of_each(columns)
        more = rule.head.relation.add([column[example] for column in columns])
        part = part.select(example, frozenset(part.columns))
        if not len(heads):
            heads, found = more, part
            continue
        new = ~is_in(more, heads)
        heads, found = (
            np.concatenate([heads, more[new]]),
            found.concatenate(part.filter(new, frozenset(part.columns))),
        )
        context.budget.check_derived(len(heads), rule.rule)
    context.budget.check_derived(len(heads), rule.rule)
    return heads, found


def rule_instances(
    context: StepContext, rule: MaintainedRule, plan: JoinPlan, start: Bindings, once: bool = False
) -> Iterator[tuple[list[Ints], Bindings]]:
    """The heads of the instances that a plan finds, and what is bound in them, in parts;
    ``once``: how often each is derived does not matter.
    """
    for found in context.run_steps(plan.steps, start, rule.rule, once):
        columns, valid = context.head_columns(rule.rule, found)
        if valid is not None:
            columns, found = (
                [column[valid] for column in columns],
                found.filter(valid, frozenset(found.columns)),
            )
        if found.count:
            yield columns or [np.zeros(found.count, np.int64)], found


def all_heads(context: StepContext, rule: MaintainedRule, point: int) -> tuple[Ints, Bindings]:
    """All heads of a rule at this point, each once, and an instance for each."""
    frequency = rule.rule.frequency
    if frequency is not None and point % frequency:
        return NONE, Bindings({}, 0)
    positive = [
        (len(pattern.view.rows()), i) for i, pattern in rule.patterns if pattern.is_positive
    ]
    if not positive:
        return one_instance_each(context, rule, rule.plan(None), Bindings({}, 1))
    size, seed = min(positive)
    if not size:
        return NONE, Bindings({}, 0)
    plan, pattern = rule.plan(seed), rule.body[seed]
    assert isinstance(pattern, StreamingPattern)
    return one_instance_each(
        context, rule, plan, seed_bindings(pattern, pattern.view.rows(), plan.keep)
    )


def reevaluate(context: StepContext, rule: MaintainedRule, point: int) -> None:
    """Evaluates a rule again."""
    relation, name = rule.head.relation, ("by", rule.rule.number)
    relation.add_array(name, np.bool_)
    new = all_heads(context, rule, point)[0]
    rule.has_run = True
    derives = relation.row_arrays[name]
    old = np.flatnonzero(derives)
    derives[old] = False
    derives[new] = True
    support = relation.row_arrays[rule.head.support_array(rule.rule)]
    support[old] -= 1
    support[new] += 1
    rule.head.touched_rows += [old, new]


#: Narrow rounds in columns before rows are taken one by one, at least.
_LEAST_NARROW_ROUNDS: Final = 32


@dataclass(eq=False)
class Recursion:
    """A recursive stratum: the predicates of its ``heads``, and its rules."""

    heads: Mapping[str, Predicate]
    rules: Sequence[MaintainedRule]
    #: For each rule its head, as a pattern.
    patterns: Sequence[StreamingPattern]
    #: How often the rows of each relation have been renumbered, when reasons were last noted.
    _versions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for rule in self.rules if self.is_maintained else ():
            traces = {pattern.trace for _, pattern in rule.patterns if pattern.is_positive}
            rule.planner = replace(
                rule.planner, wanted_variables=rule.planner.wanted_variables | traces
            )
            rule.head.relation.add_array("by", np.int64)
            for i, _ in rule.patterns:
                rule.head.relation.add_array(("reason", i), np.int64)

    @cached_property
    def is_maintained(self) -> bool:
        """Whether changes are followed: bodies are streaming literals with fixed counts and
        comparisons, each head has one kind of rules, and windows over the stratum's own
        predicates see the past alone.
        """
        return (
            all(
                rule.is_incremental
                and all(pattern.threshold is None for _, pattern in rule.patterns)
                for rule in self.rules
            )
            and all(len(predicate.supports) == 1 for predicate in self.heads.values())
            and all(view.is_current_point or not view.counter.is_now for view in self._own_views)
        )

    @cached_property
    def _own_views(self) -> set[WindowView]:
        """The views that its rules have of its own predicates."""
        own = {id(predicate.relation) for predicate in self.heads.values()}
        return {
            pattern.view
            for rule in self.rules
            for _, pattern in rule.patterns
            if id(pattern.view.relation) in own
        }

    @property
    def _narrow_rounds(self) -> int:
        """How many narrow rounds there are before rows are taken one by one: these cost about
        what its look-ups will.
        """
        relations = {
            id(pattern.view.relation): pattern.view.relation
            for rule in self.rules
            for _, pattern in rule.patterns
        }
        return _LEAST_NARROW_ROUNDS + sum(relation.size for relation in relations.values()) // 64

    @cached_property
    def _reasons(self) -> list[tuple[MaintainedRule, int, StreamingPattern]]:
        return [
            (rule, i, pattern)
            for rule in self.rules
            for i, pattern in rule.patterns
            if pattern.is_positive
        ]

    def evaluate(self, context: StepContext, point: int) -> list[WindowView]:
        """Brings the stratum to its least fixpoint, if something that it uses changed; gives the
        views that changed.
        """
        if not any(rule.is_due() for rule in self.rules) and not any(
            map(_is_touched, self.heads.values())
        ):
            return [view for predicate in self.heads.values() for view in predicate.close_point()]
        versions = [
            pattern.view.relation.version for rule in self.rules for _, pattern in rule.patterns
        ]
        versions += [predicate.relation.version for predicate in self.heads.values()]
        if self.is_maintained and versions == self._versions:
            return self._maintain(context)
        self._versions = versions
        return self._evaluate_afresh(context, point)

    # --- from nothing -----------------------------------------------------------------------------

    def _evaluate_afresh(self, context: StepContext, point: int) -> list[WindowView]:
        masks = {
            view: view.mask()[: view.relation.size].copy()
            for view in self._own_views
            if not view.is_current_point
        }
        held = {name: predicate.relation.held_rows for name, predicate in self.heads.items()}
        for predicate in self.heads.values():
            of_row, relation = predicate.relation.row_arrays, predicate.relation
            for support in predicate.supports:
                of_row[support][relation.held_rows] = 0
            of_row["holds"][: relation.size] = of_row["given"][: relation.size]
            relation.held_rows = np.flatnonzero(of_row["holds"][: relation.size])
        for view in masks:
            view.test_all()
        fresh = dict.fromkeys(self.heads, NONE)
        for rule in self.rules:
            rule.has_run = True
            self._derive(context, rule, all_heads(context, rule, point), fresh)
        self._rounds(
            context,
            fresh,
            [
                rule
                for rule in self.rules
                if not rule.rule.frequency or point % rule.rule.frequency == 0
            ],
        )
        for name, predicate in self.heads.items():
            relation, old = predicate.relation, held[name]
            before = np.zeros(relation.size, np.bool_)
            before[old] = True
            relation.gained_rows = relation.held_rows[~before[relation.held_rows]]
            relation.lost_rows = old[~relation.row_arrays["holds"][old]]
        return list(self._close_changes(masks))

    def _rounds(
        self, context: StepContext, fresh: dict[str, Ints], rules: Sequence[MaintainedRule]
    ) -> None:
        """Derives what follows from ``fresh`` rows, which do not hold yet."""
        narrow, patience = 0, 1
        while width := sum(map(len, fresh.values())):
            narrow = narrow + 1 if width <= NARROW else 0
            if (
                narrow > _LEAST_NARROW_ROUNDS
                and self.is_maintained
                and narrow > patience * self._narrow_rounds
            ):
                # What is left was wide: the look-ups were of little use, so they are made again
                # later and later.
                fresh, narrow, patience = (
                    Worklist(context, self.heads, rules, self._own_views).run(fresh),
                    0,
                    4 * patience,
                )
            deltas = self._hold_fresh(fresh)
            fresh = dict.fromkeys(self.heads, NONE)
            for rule in rules:
                for i, pattern in rule.patterns:
                    if pattern.is_positive:
                        self._derive_from(
                            context, rule, i, pattern, deltas.get(pattern.view, NONE), fresh
                        )

    def _derive_from(
        self,
        context: StepContext,
        rule: MaintainedRule,
        i: int,
        pattern: StreamingPattern,
        rows: Ints,
        fresh: dict[str, Ints],
    ) -> None:
        if len(rows):
            plan = rule.plan(i)
            self._derive(
                context,
                rule,
                one_instance_each(context, rule, plan, seed_bindings(pattern, rows, plan.keep)),
                fresh,
            )

    def _derive(
        self,
        context: StepContext,
        rule: MaintainedRule,
        found: tuple[Ints, Bindings],
        fresh: dict[str, Ints],
    ) -> None:
        """Notes heads of a rule, with their reasons where they had none; those that did not hold
        yet are ``fresh``.
        """
        heads, instances = found
        if not len(heads):
            return
        relation, name = rule.head.relation, rule.rule.head.predicate
        support = relation.row_arrays[rule.head.support_array(rule.rule)]
        if not self.is_maintained:
            context.budget.count_derived(
                int(np.count_nonzero(~derived_flags(rule.head, heads))) if rule.rule.body else 0,
                rule.rule,
            )
        else:
            without = (support[heads] == 0).nonzero()[0]
            context.budget.count_derived(len(without) if rule.rule.body else 0, rule.rule)
            relation.row_arrays["by"][heads[without]] = rule.rule.number + 1
            for i, pattern in rule.patterns:
                if pattern.is_positive:
                    relation.row_arrays["reason", i][heads[without]] = instances.columns[
                        pattern.trace
                    ][without]
        support[heads] = 1
        new = heads[~relation.row_arrays["holds"][heads]]
        if len(new):
            fresh[name] = (
                relation.distinct_numbers(np.concatenate([fresh[name], new]))
                if len(fresh[name])
                else new
            )

    # --- from what changed ------------------------------------------------------------------------

    def _maintain(self, context: StepContext) -> list[WindowView]:
        fresh, lost = dict.fromkeys(self.heads, NONE), dict.fromkeys(self.heads, NONE)
        for view in self._own_views:
            if not view.is_current_point:
                view.update(view.counter.changed_rows)
        for name, predicate in self.heads.items():
            if predicate.touched_rows:
                of_row, touched = (
                    predicate.relation.row_arrays,
                    predicate.relation.distinct_numbers(np.concatenate(predicate.touched_rows)),
                )
                given = of_row["given"][touched]
                fresh[name], lost[name] = (
                    touched[given & ~of_row["holds"][touched]],
                    touched[~given],
                )
                predicate.touched_rows = []
        for name, rows in self._lost_by_negation(context):
            lost[name] = np.concatenate([lost[name], rows])
        suspects, gone = self._delete_unreasoned(lost)
        for name, predicate in self.heads.items():
            derived = predicate.derived_rows
            context.budget.derived_count += (
                int(np.count_nonzero(derived_flags(predicate, derived)))
                if len(suspects[name])
                else len(derived)
            )
        kept = {name: len(predicate.relation.held_rows) for name, predicate in self.heads.items()}
        for rule, head in zip(self.rules, self.patterns):
            rows = suspects[rule.rule.head.predicate]
            if len(rows):
                plan = rule.head_plan(head)
                self._derive(
                    context,
                    rule,
                    one_instance_each(context, rule, plan, seed_bindings(head, rows, plan.keep)),
                    fresh,
                )
            for i, pattern in rule.patterns:
                view = pattern.view
                if not (view.is_current_point and view in self._own_views):
                    self._derive_from(
                        context,
                        rule,
                        i,
                        pattern,
                        view.gained_rows if pattern.is_positive else view.lost_rows,
                        fresh,
                    )
        self._rounds(context, fresh, self.rules)
        for name, predicate in self.heads.items():
            relation = predicate.relation
            added = relation.held_rows[kept[name] :]
            relation.gained_rows, relation.lost_rows = (
                added[~is_in(added, gone[name])],
                gone[name][~relation.row_arrays["holds"][gone[name]]],
            )
        return list(self._close_changes({}))

    def _lost_by_negation(self, context: StepContext) -> Iterator[tuple[str, Ints]]:
        """The heads that had an instance with a negative literal that is no longer true."""
        for rule in self.rules:
            for i, pattern in rule.patterns:
                if not pattern.is_positive and len(pattern.view.gained_rows):
                    plan = rule.plan(i, delta=True)
                    rows, _ = one_instance_each(
                        context,
                        rule,
                        plan,
                        seed_bindings(pattern, pattern.view.gained_rows, plan.keep),
                    )
                    relation = rule.head.relation
                    yield (
                        rule.rule.head.predicate,
                        rows[relation.row_arrays["by"][rows] == rule.rule.number + 1],
                    )

    def _delete_unreasoned(self, lost: dict[str, Ints]) -> tuple[dict[str, Ints], dict[str, Ints]]:
        """Deletes what is ``lost`` and what had it as a reason; gives the heads without reason,
        and those that hold no more.
        """
        suspects, gone = dict.fromkeys(self.heads, NONE), dict.fromkeys(self.heads, NONE)
        shrunk = {pattern.view for _, _, pattern in self._reasons if len(pattern.view.lost_rows)}
        while True:
            for rule, i, pattern in self._reasons:
                if pattern.view in shrunk:
                    name, of_row = rule.rule.head.predicate, rule.head.relation.row_arrays
                    mine = rule.head.derived_rows[
                        of_row["by"][rule.head.derived_rows] == rule.rule.number + 1
                    ]
                    rows = mine[~pattern.view.mask()[of_row["reason", i][mine]]]
                    lost[name] = np.concatenate([lost[name], rows])
            shrunk = set()
            for name, predicate in self.heads.items():
                if not len(lost[name]):
                    continue
                rows, of_row = (
                    predicate.relation.distinct_numbers(lost[name]),
                    predicate.relation.row_arrays,
                )
                of_row[predicate.supports[0]][rows], of_row["by"][rows] = 0, 0
                less = rows[of_row["holds"][rows] & ~of_row["given"][rows]]
                of_row["holds"][less] = False
                suspects[name], gone[name] = (
                    np.concatenate([suspects[name], rows]),
                    np.concatenate([gone[name], less]),
                )
                lost[name] = NONE
                if len(less):
                    shrunk |= {
                        view
                        for view in self._own_views
                        if view.is_current_point and view.relation is predicate.relation
                    }
            if not shrunk:
                break
        for name, predicate in self.heads.items():
            if len(gone[name]):
                relation = predicate.relation
                relation.held_rows = relation.held_rows[
                    relation.row_arrays["holds"][relation.held_rows]
                ]
        return suspects, gone

    # --- what both do -----------------------------------------------------------------------------

    def _hold_fresh(self, fresh: Mapping[str, Ints]) -> dict[WindowView, Ints]:
        """Lets fresh rows hold; what each of its own views gained by that."""
        found: dict[WindowView, Ints] = {}
        for name, rows in fresh.items():
            if len(rows):
                self.heads[name].relation.mark_held(rows)
                for view in self.heads[name].views.values():
                    if view in self._own_views:
                        found[view] = view.add_fresh(rows)
        return found

    def _close_changes(self, masks: Mapping[WindowView, Flags]) -> Iterator[WindowView]:
        """The views that changed, now that relations know what came and went; of those in
        ``masks``, what was before is known.
        """
        for predicate in self.heads.values():
            predicate.touched_rows, predicate.derived_rows = [], find_derived_rows(predicate)
            for view in predicate.views.values():
                if view in masks:
                    view.finish_fixpoint(masks[view])
                elif view.is_current_point or view not in self._own_views:
                    predicate.update_view(view)
                if view.is_changed:
                    yield view


def _is_touched(predicate: Predicate) -> bool:
    """Whether its input changed, or a window over it."""
    return bool(predicate.touched_rows) or any(
        len(one.changed_rows) or one.is_longer for one in predicate.counters.values()
    )

"""Evaluate the rules of a stratum: by derivation counts without recursion, by delete-and-rederive
with recursion.

Each derived atom of a recursive stratum stores one rule instance as its reason: the rows of the
instance's positive literals. These held before the atom did, so reasons are never circular. An atom
that loses its reason is deleted, and so is each atom that depends on it by reasons. Then the
deleted atoms that still have a derivation are derived again, and new atoms are added in rounds. The
proof is in docs/THEORY.md, "Stream rules in columns".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np

from shiq.columns.arrays import Ints, is_in
from shiq.streams.rules.model import (
    MaintainedRule,
    PredicateState,
    find_derived_rows,
    flag_derived_rows,
)
from shiq.streams.rules.operators import StepExecutor
from shiq.streams.rules.plan import SIGN, Bindings, JoinPlan, StreamingPattern, make_seed_bindings
from shiq.streams.rules.relations import NO_ROWS, Flags, distinct_row_indexes
from shiq.streams.rules.windows import WindowView
from shiq.streams.rules.worklist import MOST_NARROW_ROWS, Worklist


def may_lose_heads(rule: MaintainedRule) -> bool:
    """Whether a rule may derive fewer heads than at the last time point."""
    if not rule.is_incremental:
        return rule.is_due()
    return any(
        len(pattern.view.lost_rows if pattern.is_positive else pattern.view.gained_rows)
        for _, pattern in rule.patterns
    )


def update_derivation_counts(
    context: StepExecutor, rule: MaintainedRule, head_only_grows: bool
) -> None:
    """Update the number of derivations of each head of a rule by the rows that its body literals
    gained and lost.

    Raises: EvaluationError if the point derives too many atoms.

    head_only_grows: no rule with this head may lose heads, so an atom that is derived on the way is
        derived in the end.
    """
    head = rule.head
    derived = len(head.derived_rows)
    for i, pattern in rule.patterns:
        went, came = pattern.view.lost_rows, pattern.view.gained_rows
        if not len(went) and not len(came):
            continue
        plan = rule.cached_plan(i, delta=True)
        start = make_seed_bindings(pattern, np.concatenate([went, came]), plan.keep, len(went))
        for columns, found in find_rule_instances(context, rule, plan, start):
            heads, signs = head.relation.add_rows_with_duplicates(columns), found.columns[SIGN]
            np.add.at(
                head.relation.row_arrays[head.support_array_name(rule.rule)],
                heads,
                signs if pattern.is_positive else -signs,
            )
            head.touched_rows.append(heads)
            derived += len(heads)
            if (
                head_only_grows
                and context.budget.derived_count + derived > context.budget.max_derived_atoms
            ):
                derived = int(
                    np.count_nonzero(flag_derived_rows(head, np.arange(head.relation.size)))
                )
                context.budget.check_derived_atoms(
                    context.budget.derived_count + derived, rule.rule
                )


def derive_distinct_heads(
    context: StepExecutor, rule: MaintainedRule, plan: JoinPlan, start: Bindings
) -> tuple[Ints, Bindings]:
    """Derive the heads that a join plan finds from the rows ``start``. Return their distinct row
    numbers, and one rule instance for each.

    Raises: EvaluationError if they are too many.
    """
    heads, found = NO_ROWS, Bindings({}, 0)
    for columns, part in find_rule_instances(context, rule, plan, start, once=True):
        example = distinct_row_indexes(columns)
        more = rule.head.relation.add_rows([column[example] for column in columns])
        part = part.select_rows(example, frozenset(part.columns))
        if not len(heads):
            heads, found = more, part
            continue
        new = ~is_in(more, heads)
        heads, found = (
            np.concatenate([heads, more[new]]),
            found.append_rows(part.filter_rows(new, frozenset(part.columns))),
        )
        context.budget.check_derived_atoms(len(heads), rule.rule)
    context.budget.check_derived_atoms(len(heads), rule.rule)
    return heads, found


def find_rule_instances(
    context: StepExecutor, rule: MaintainedRule, plan: JoinPlan, start: Bindings, once: bool = False
) -> Iterator[tuple[list[Ints], Bindings]]:
    """Run a join plan from the rows ``start``; yield head columns and variable bindings of the rule
    instances, batch by batch.

    once: duplicates may be dropped.
    """
    for found in context.run_steps(plan.steps, start, rule.rule, once):
        columns, valid = context.evaluate_heads(rule.rule, found)
        if valid is not None:
            columns, found = (
                [column[valid] for column in columns],
                found.filter_rows(valid, frozenset(found.columns)),
            )
        if found.count:
            yield columns or [np.zeros(found.count, np.int64)], found


def derive_all_heads(
    context: StepExecutor, rule: MaintainedRule, point: int
) -> tuple[Ints, Bindings]:
    """Evaluate a rule from scratch at this time point: distinct head rows, and one rule instance
    for each.
    """
    frequency = rule.rule.frequency
    if frequency is not None and point % frequency:
        return NO_ROWS, Bindings({}, 0)
    positive = [
        (len(pattern.view.true_rows()), i) for i, pattern in rule.patterns if pattern.is_positive
    ]
    if not positive:
        return derive_distinct_heads(context, rule, rule.cached_plan(None), Bindings({}, 1))
    size, seed = min(positive)
    if not size:
        return NO_ROWS, Bindings({}, 0)
    plan, pattern = rule.cached_plan(seed), rule.body[seed]
    assert isinstance(pattern, StreamingPattern)
    return derive_distinct_heads(
        context, rule, plan, make_seed_bindings(pattern, pattern.view.true_rows(), plan.keep)
    )


def reevaluate_rule(context: StepExecutor, rule: MaintainedRule, point: int) -> None:
    """Evaluate a rule from scratch, and update the derivation counts of the heads that it derived
    before and derives now.
    """
    relation, name = rule.head.relation, ("by", rule.rule.number)
    relation.add_row_array(name, np.bool_)
    new = derive_all_heads(context, rule, point)[0]
    rule.has_run = True
    derives = relation.row_arrays[name]
    old = np.flatnonzero(derives)
    derives[old] = False
    derives[new] = True
    support = relation.row_arrays[rule.head.support_array_name(rule.rule)]
    support[old] -= 1
    support[new] += 1
    rule.head.touched_rows += [old, new]


#: Narrow rounds in columns before rows are taken one by one, at least.
_LEAST_NARROW_ROUNDS: Final = 32


@dataclass(eq=False)
class RecursiveStratum:
    """Evaluator of a recursive stratum: updates its least fixpoint by delete-and-rederive, or
    computes it from scratch.

    heads: the predicates that its rules derive, by name.
    """

    heads: Mapping[str, PredicateState]
    rules: Sequence[MaintainedRule]
    #: For each rule its head, as a pattern.
    patterns: Sequence[StreamingPattern]
    #: How often the rows of each relation have been renumbered, when reasons were last noted.
    _versions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        for rule in self.rules if self.is_maintainable else ():
            traces = {pattern.trace for _, pattern in rule.patterns if pattern.is_positive}
            rule.planner = replace(
                rule.planner, wanted_variables=rule.planner.wanted_variables | traces
            )
            rule.head.relation.add_row_array("by", np.int64)
            for i, _ in rule.patterns:
                rule.head.relation.add_row_array(("reason", i), np.int64)

    @cached_property
    def is_maintainable(self) -> bool:
        """Whether the stratum's fixpoint can be updated from changes of its input instead of being
        computed from scratch.

        Required: bodies are comparisons and streaming literals with fixed counts; each head has one
        kind of rules; windows over the stratum's own predicates see only the past.
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
        """Window views over predicates that the stratum itself derives."""
        own = {id(predicate.relation) for predicate in self.heads.values()}
        return {
            pattern.view
            for rule in self.rules
            for _, pattern in rule.patterns
            if id(pattern.view.relation) in own
        }

    @property
    def _max_narrow_rounds(self) -> int:
        """Number of consecutive fixpoint rounds with few new rows after which evaluation row by row
        (`Worklist`) becomes cheaper.
        """
        relations = {
            id(pattern.view.relation): pattern.view.relation
            for rule in self.rules
            for _, pattern in rule.patterns
        }
        return _LEAST_NARROW_ROUNDS + sum(relation.size for relation in relations.values()) // 64

    @cached_property
    def _reason_patterns(self) -> list[tuple[MaintainedRule, int, StreamingPattern]]:
        """Positive body literals of all rules, as (rule, index, literal). A derived head stores the
        rows that they matched as its reason.
        """
        return [
            (rule, i, pattern)
            for rule in self.rules
            for i, pattern in rule.patterns
            if pattern.is_positive
        ]

    def evaluate(self, context: StepExecutor, point: int) -> list[WindowView]:
        """Compute the stratum's least fixpoint at this time point, unless nothing that it reads
        changed; return the window views that gained or lost rows.
        """
        if not any(rule.is_due() for rule in self.rules) and not any(
            map(_has_changed_input, self.heads.values())
        ):
            return [
                view for predicate in self.heads.values() for view in predicate.update_true_rows()
            ]
        versions = [
            pattern.view.relation.version for rule in self.rules for _, pattern in rule.patterns
        ]
        versions += [predicate.relation.version for predicate in self.heads.values()]
        if self.is_maintainable and versions == self._versions:
            return self._update_fixpoint(context)
        self._versions = versions
        return self._evaluate_from_scratch(context, point)

    # --- from nothing -----------------------------------------------------------------------------

    def _evaluate_from_scratch(self, context: StepExecutor, point: int) -> list[WindowView]:
        """Compute the stratum's least fixpoint from input and facts alone; return the window views
        that gained or lost rows.
        """
        masks = {
            view: view.truth_flags()[: view.relation.size].copy()
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
            view.retest_all_rows()
        fresh = dict.fromkeys(self.heads, NO_ROWS)
        for rule in self.rules:
            rule.has_run = True
            self._record_heads(context, rule, derive_all_heads(context, rule, point), fresh)
        self._run_semi_naive_rounds(
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
        return list(self._record_view_changes(masks))

    def _run_semi_naive_rounds(
        self, context: StepExecutor, fresh: dict[str, Ints], rules: Sequence[MaintainedRule]
    ) -> None:
        """Add the ``fresh`` rows and derive all their consequences, by semi-naive rounds.
        ``fresh``: new row numbers by predicate.
        """
        narrow, patience = 0, 1
        while width := sum(map(len, fresh.values())):
            narrow = narrow + 1 if width <= MOST_NARROW_ROWS else 0
            if (
                narrow > _LEAST_NARROW_ROUNDS
                and self.is_maintainable
                and narrow > patience * self._max_narrow_rounds
            ):
                # What is left was wide: the look-ups were of little use, so they are made again
                # later and later.
                fresh, narrow, patience = (
                    Worklist(context, self.heads, rules, self._own_views).derive_consequences(
                        fresh
                    ),
                    0,
                    4 * patience,
                )
            deltas = self._mark_rows_true(fresh)
            fresh = dict.fromkeys(self.heads, NO_ROWS)
            for rule in rules:
                for i, pattern in rule.patterns:
                    if pattern.is_positive:
                        self._derive_from_rows(
                            context, rule, i, pattern, deltas.get(pattern.view, NO_ROWS), fresh
                        )

    def _derive_from_rows(
        self,
        context: StepExecutor,
        rule: MaintainedRule,
        i: int,
        pattern: StreamingPattern,
        rows: Ints,
        fresh: dict[str, Ints],
    ) -> None:
        """Derive the heads of the rule instances in which body literal ``i`` matches one of
        ``rows``; add new heads to ``fresh``.
        """
        if len(rows):
            plan = rule.cached_plan(i)
            self._record_heads(
                context,
                rule,
                derive_distinct_heads(
                    context, rule, plan, make_seed_bindings(pattern, rows, plan.keep)
                ),
                fresh,
            )

    def _record_heads(
        self,
        context: StepExecutor,
        rule: MaintainedRule,
        found: tuple[Ints, Bindings],
        fresh: dict[str, Ints],
    ) -> None:
        """Record derived heads together with the rows that derived them; add the heads that were
        not true yet to ``fresh``.
        """
        heads, instances = found
        if not len(heads):
            return
        relation, name = rule.head.relation, rule.rule.head.predicate
        support = relation.row_arrays[rule.head.support_array_name(rule.rule)]
        if not self.is_maintainable:
            context.budget.charge_derived_atoms(
                int(np.count_nonzero(~flag_derived_rows(rule.head, heads)))
                if rule.rule.body
                else 0,
                rule.rule,
            )
        else:
            without = (support[heads] == 0).nonzero()[0]
            context.budget.charge_derived_atoms(len(without) if rule.rule.body else 0, rule.rule)
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
                relation.distinct_row_numbers(np.concatenate([fresh[name], new]))
                if len(fresh[name])
                else new
            )

    # --- from what changed ------------------------------------------------------------------------

    def _update_fixpoint(self, context: StepExecutor) -> list[WindowView]:
        """Update the least fixpoint by the changes of this time point: delete, derive again, then
        add new rows.
        """
        fresh, lost = dict.fromkeys(self.heads, NO_ROWS), dict.fromkeys(self.heads, NO_ROWS)
        for view in self._own_views:
            if not view.is_current_point:
                view.retest_rows(view.counter.changed_rows)
        for name, predicate in self.heads.items():
            if predicate.touched_rows:
                of_row, touched = (
                    predicate.relation.row_arrays,
                    predicate.relation.distinct_row_numbers(np.concatenate(predicate.touched_rows)),
                )
                given = of_row["given"][touched]
                fresh[name], lost[name] = (
                    touched[given & ~of_row["holds"][touched]],
                    touched[~given],
                )
                predicate.touched_rows = []
        for name, rows in self._heads_lost_by_negation(context):
            lost[name] = np.concatenate([lost[name], rows])
        suspects, gone = self._delete_with_dependents(lost)
        for name, predicate in self.heads.items():
            derived = predicate.derived_rows
            context.budget.derived_count += (
                int(np.count_nonzero(flag_derived_rows(predicate, derived)))
                if len(suspects[name])
                else len(derived)
            )
        kept = {name: len(predicate.relation.held_rows) for name, predicate in self.heads.items()}
        for rule, head in zip(self.rules, self.patterns):
            rows = suspects[rule.rule.head.predicate]
            if len(rows):
                plan = rule.cached_head_plan(head)
                self._record_heads(
                    context,
                    rule,
                    derive_distinct_heads(
                        context, rule, plan, make_seed_bindings(head, rows, plan.keep)
                    ),
                    fresh,
                )
            for i, pattern in rule.patterns:
                view = pattern.view
                if not (view.is_current_point and view in self._own_views):
                    self._derive_from_rows(
                        context,
                        rule,
                        i,
                        pattern,
                        view.gained_rows if pattern.is_positive else view.lost_rows,
                        fresh,
                    )
        self._run_semi_naive_rounds(context, fresh, self.rules)
        for name, predicate in self.heads.items():
            relation = predicate.relation
            added = relation.held_rows[kept[name] :]
            relation.gained_rows, relation.lost_rows = (
                added[~is_in(added, gone[name])],
                gone[name][~relation.row_arrays["holds"][gone[name]]],
            )
        return list(self._record_view_changes({}))

    def _heads_lost_by_negation(self, context: StepExecutor) -> Iterator[tuple[str, Ints]]:
        """Yield, by predicate, the heads whose stored derivation relies on a negative literal that
        became false.
        """
        for rule in self.rules:
            for i, pattern in rule.patterns:
                if not pattern.is_positive and len(pattern.view.gained_rows):
                    plan = rule.cached_plan(i, delta=True)
                    rows, _ = derive_distinct_heads(
                        context,
                        rule,
                        plan,
                        make_seed_bindings(pattern, pattern.view.gained_rows, plan.keep),
                    )
                    relation = rule.head.relation
                    yield (
                        rule.rule.head.predicate,
                        rows[relation.row_arrays["by"][rows] == rule.rule.number + 1],
                    )

    def _delete_with_dependents(
        self, lost: dict[str, Ints]
    ) -> tuple[dict[str, Ints], dict[str, Ints]]:
        """Delete the ``lost`` rows and, transitively, the rows whose stored derivation used them.

        Returns: the rows left without a reason, and those of them that no longer hold.
        """
        suspects, gone = dict.fromkeys(self.heads, NO_ROWS), dict.fromkeys(self.heads, NO_ROWS)
        shrunk = {
            pattern.view for _, _, pattern in self._reason_patterns if len(pattern.view.lost_rows)
        }
        while True:
            for rule, i, pattern in self._reason_patterns:
                if pattern.view in shrunk:
                    name, of_row = rule.rule.head.predicate, rule.head.relation.row_arrays
                    mine = rule.head.derived_rows[
                        of_row["by"][rule.head.derived_rows] == rule.rule.number + 1
                    ]
                    rows = mine[~pattern.view.truth_flags()[of_row["reason", i][mine]]]
                    lost[name] = np.concatenate([lost[name], rows])
            shrunk = set()
            for name, predicate in self.heads.items():
                if not len(lost[name]):
                    continue
                rows, of_row = (
                    predicate.relation.distinct_row_numbers(lost[name]),
                    predicate.relation.row_arrays,
                )
                of_row[predicate.supports[0]][rows], of_row["by"][rows] = 0, 0
                less = rows[of_row["holds"][rows] & ~of_row["given"][rows]]
                of_row["holds"][less] = False
                suspects[name], gone[name] = (
                    np.concatenate([suspects[name], rows]),
                    np.concatenate([gone[name], less]),
                )
                lost[name] = NO_ROWS
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

    def _mark_rows_true(self, fresh: Mapping[str, Ints]) -> dict[WindowView, Ints]:
        """Mark newly derived rows as true; return the rows that each of the stratum's own window
        views gained.
        """
        found: dict[WindowView, Ints] = {}
        for name, rows in fresh.items():
            if len(rows):
                self.heads[name].relation.mark_rows_true(rows)
                for view in self.heads[name].views.values():
                    if view in self._own_views:
                        found[view] = view.add_new_rows(rows)
        return found

    def _record_view_changes(self, masks: Mapping[WindowView, Flags]) -> Iterator[WindowView]:
        """Pass the relations' changes on to their window views, and yield the views that gained or
        lost rows.

        masks: former masks of views whose changes are found by comparison.
        """
        for predicate in self.heads.values():
            predicate.touched_rows, predicate.derived_rows = [], find_derived_rows(predicate)
            for view in predicate.views.values():
                if view in masks:
                    view.record_fixpoint_changes(masks[view])
                elif view.is_current_point or view not in self._own_views:
                    predicate.update_view(view)
                if view.is_changed:
                    yield view


def _has_changed_input(predicate: PredicateState) -> bool:
    """Whether a predicate's input, or a window over it, changed at this time point."""
    return bool(predicate.touched_rows) or any(
        len(one.changed_rows) or one.is_longer for one in predicate.counters.values()
    )

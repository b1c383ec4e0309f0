"""Interfaces between rule programs and engines, and the engine's own data: predicates with windows,
rules with join plans.

**The interface to the engine.** `CheckedProgram` is safe, stratified, and has its units
converted. An `Evaluator` is built from it as ``Engine(checked, functions,
complete_windows=False, max_atoms=MOST_DERIVED)`` and called point by point:

* ``step(t, rows)``: t is greater than that of the step before. Points between the two exist, are
  empty (facts do not hold there either) and count in windows. The first step's t is t0. ``rows``
  has the point's input by predicate (``"p/2"``), as a list of rows, or as a tuple of equally
  long numpy columns (int64, or objects); the same row may come twice. It gives a `PointModel`.
* A rule (`StreamRule`) without a body holds as a fact does, where its ``frequency`` lets it;
  facts proper are in ``CheckedProgram.facts`` and are never temporary. ``frequency`` f:
  the rule is applied only where t - t0 is a multiple of f.
* ``strata``: components of rules in an order that satisfies all arcs; each is evaluated to its
  least fixpoint before the next. Non-harmless literals are about lower strata only.
  ``recursive`` where rules of the stratum use what it defines.
* `WindowedLiteral` is every streaming literal. ``window`` None: the degenerate form, this point
  only. ``operator`` is "at least" (also for ``in``), "always", "count", "at most"; ``count`` the
  counting term (None for always). Let m and N be as in section 2: at least c: m ≥ c; always: m =
  N > 0 (with ``complete_windows``: N = |D|); count c: m = c; at most c: m ≤ c. ``negated`` is
  the opposite of each, in the order of terms (`syntax.constant_sort_key`) where c is no integer. A
  positive
  at least or count with a c that is no integer ≥ 1 is false. A counting variable of a positive
  count that nothing else binds is bound to m ≥ 1. ``binds`` (only at most, option
  at_most_binds): it ranges over the atoms with m ≥ 1, and binds its variables.
* `Aggregate`: ``guards`` are read "value relation term". The body of an element has degenerate
  literals, comparisons, externals.
* persistent part: input, facts, and heads of instances of rules that are not ``temporary``,
  on the final stream; it is what later windows see. `CheckedProgram.horizons` has for each
  predicate the largest offset that any window asks for.
* Each variable has one name; ``_`` has become ``_1``, ``_2``, … in each rule. ``body`` of a rule
  is in an order in which every literal is bound when it is reached, from left to right
  (`safety`); the engine may plan anew.
* Arithmetic without a value (division by zero, no integers): no instance. Overflow, a function
  that fails, more atoms derived at a point than ``max_atoms``: `syntax.EvaluationError` with
  the rule. Functions are called by `operators.call_function`, once for each distinct arguments and
  point.
* ``state()``: bytes, JSON or Arrow, never pickle; ``restore(state)`` puts an evaluator of the
  same program where that one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints, distinct_with_inverse
from shiq.deprecation import RenamedAttribute, accept_old_arguments
from shiq.streams.rules.plan import Conjunct, JoinPlan, Planner, StreamingPattern
from shiq.streams.rules.relations import (
    FIRST_CODE,
    NO_ROWS,
    Flags,
    Relation,
    decode_codes,
    empty_rows,
)
from shiq.streams.rules.syntax import (
    ComparisonLiteral,
    Row,
    StreamRule,
    Value,
    atom_text,
    is_user_predicate,
)
from shiq.streams.rules.windows import History, WindowCounter, WindowView
from shiq.support import cached_method


class PointModel(Protocol):
    """Interface of a model: the atoms that are true at one time point."""

    @property
    def t(self) -> int:
        """Time of the model."""

    def predicates(self) -> Iterable[str]:
        """Predicates with at least one true atom."""

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """Rows of a predicate, without duplicates; ``derived``: only heads of rules with a body."""

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """Atoms of a predicate as texts such as ``p(a,1)``; ``derived``: only heads of rules with a
        body.
        """

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        """Rows of a predicate as numpy arrays, one per argument: int64, or objects unless all are
        integers.
        """


class Evaluator(Protocol):
    """Interface of an evaluator that computes a program's model, one time point after the other."""

    def step(self, t: int, rows: Mapping[str, Any]) -> PointModel:
        """Evaluate the time point ``t`` with its input ``rows`` and return its model. Raises:
        EvaluationError.
        """

    def state(self) -> bytes:
        """Serialise everything that the evaluation of later time points depends on."""

    def restore(self, state: bytes) -> None:
        """Continue from the `state` that another evaluator saved. Raises: OperationalError if it is
        not one.
        """


@accept_old_arguments(shown="shown_predicates")
@dataclass(frozen=True)
class Model:
    """Atoms of a program that are true at the time ``t``, as users see them.

    shown_predicates: the predicates of #show; None for all.
    """

    point: PointModel
    shown_predicates: frozenset[str] | None = None

    # Old names, until 0.3.
    shown = RenamedAttribute("shown_predicates")

    @property
    def t(self) -> int:
        """Time of the model."""
        return self.point.t

    @cached_property
    def atoms(self) -> list[str]:
        """All true atoms as sorted texts: input, facts and derived atoms."""
        return self._shown_texts(self.point.predicates(), False)

    @cached_property
    def derived(self) -> list[str]:
        """Atoms derived by rules with a body, as sorted texts."""
        return self._shown_texts(self.point.predicates(), True)

    def _shown_texts(self, predicates: Iterable[str], derived: bool) -> list[str]:
        """Sorted texts of the atoms of those predicates that #show selects."""
        found: list[str] = []
        for predicate in predicates:
            if (
                predicate in self.shown_predicates
                if self.shown_predicates is not None
                else is_user_predicate(predicate)
            ):
                found += self.point.texts(predicate, derived)
        return sorted(found)

    def columns(self, predicate: str) -> tuple[Any, ...]:
        """Rows of a predicate ``p/2`` as arrays, one per argument; empty if no atom of it is true."""
        return self.point.columns(predicate)


# The model of a point, as an engine in columns gives it: rows and columns are made when they
# are asked for.
#
# It stays as it is while the engine goes on: it holds on to arrays that nobody writes to, and to
# entries of growing ones that keep their place.


@dataclass(frozen=True)
class PointRows:
    """Rows of one predicate that are true at a time point, decoded when first read and cached.

    held_numbers: row numbers of all true rows.
    derived_numbers: row numbers of those that rules with a body derive.
    row_cache, text_cache: decoded rows and texts by row number.
    """

    arity: int
    columns: Sequence[Ints]
    values: Sequence[Value | None]
    row_cache: npt.NDArray[np.object_]
    text_cache: npt.NDArray[np.object_]
    held_numbers: Ints
    derived_numbers: Ints

    @cached_property
    def true_rows(self) -> list[Row]:
        """All rows of the predicate that are true at the time point."""
        return self._decode_rows(self.held_numbers)

    @cached_property
    def derived_rows(self) -> list[Row]:
        """True rows that rules with a body derive; the others are input or facts."""
        return (
            self.true_rows
            if self.derived_numbers is self.held_numbers
            else self._decode_rows(self.derived_numbers)
        )

    def _decode_rows(self, numbers: Ints) -> list[Row]:
        """Rows with these row numbers, as tuples of constants."""
        if not self.arity:
            return [()] * len(numbers)
        found = self.row_cache[numbers]
        new = np.flatnonzero(found == 0)
        if len(new):
            rows = np.empty(len(new), object)
            rows[:] = list(
                zip(*(decode_codes(self.values, column[numbers[new]]) for column in self.columns))
            )
            self.row_cache[numbers[new]] = found[new] = rows
        return found.tolist()

    @cached_method
    def atom_texts(self, name: str, derived: bool) -> list[str]:
        """True rows as texts of atoms of the predicate ``name``; ``derived``: only heads of rules
        with a body.
        """
        numbers = self.derived_numbers if derived else self.held_numbers
        found = self.text_cache[numbers]
        new = np.flatnonzero(found == 0)
        if len(new):
            self.text_cache[numbers[new]] = found[new] = [
                atom_text(name, row) for row in self._decode_rows(numbers[new])
            ]
        texts: list[str] = found.tolist()
        return texts

    def decode_columns(self, numbers: Ints) -> tuple[Any, ...]:
        """Rows with these row numbers as arrays of constants, one per argument."""
        return (
            tuple(self._decode_column(column[numbers]) for column in self.columns)
            if self.arity
            else ()
        )

    def _decode_column(self, codes: Ints) -> Any:
        """Array of the constants with these integer codes."""
        if not len(codes) or int(codes.max()) < FIRST_CODE:
            return codes
        numbers, inverse, _ = distinct_with_inverse(codes)
        found = np.empty(len(numbers), object)
        found[:] = decode_codes(self.values, numbers)
        return found[inverse]


@dataclass(frozen=True)
class ColumnModel:
    """Model of the time point ``t``, read from the engine's columns (implements `PointModel`)."""

    t: int
    rows_by_predicate: Mapping[str, PointRows] = field(repr=False)

    def predicates(self) -> Iterable[str]:
        """Predicates with at least one true atom."""
        return [name for name, held in self.rows_by_predicate.items() if len(held.held_numbers)]

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """Rows of a predicate, without duplicates; ``derived``: only heads of rules with a body."""
        found = self.rows_by_predicate.get(predicate)
        return () if found is None else found.derived_rows if derived else found.true_rows

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """Atoms of a predicate as texts such as ``p(a,1)``; ``derived``: only heads of rules with a
        body.
        """
        found = self.rows_by_predicate.get(predicate)
        return () if found is None else found.atom_texts(predicate.rpartition("/")[0], derived)

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        """Rows of a predicate as arrays, one per argument: int64, or objects unless all are
        integers.
        """
        found = self.rows_by_predicate.get(predicate)
        if found is None:
            return (np.zeros(0, np.int64),) * int(predicate.rpartition("/")[2])
        return found.decode_columns(found.derived_numbers if derived else found.held_numbers)


@dataclass(eq=False)
class PredicateState:
    """Engine's data of one predicate: its relation, past rows, windows, and the rows of the current
    time point.

    facts, input_rows, derived_rows: row numbers of facts, of this point's input, and of rows that
    rules with a body derive.
    """

    relation: Relation
    history: History
    counters: dict[tuple[tuple[int, int], ...], WindowCounter] = field(default_factory=dict)
    views: dict[tuple[object, ...], WindowView] = field(default_factory=dict)
    facts: Ints = field(default_factory=empty_rows)
    input_rows: Ints = field(default_factory=empty_rows)
    #: Rows whose input changed, or their support by rules, each once or more.
    touched_rows: list[Ints] = field(default_factory=list)
    supports: list[tuple[str, bool, bool]] = field(default_factory=list)
    derived_rows: Ints = field(default_factory=empty_rows)
    live_size: int = 0
    row_numbers: dict[Row, int] = field(default_factory=dict)
    row_view: PointRows | None = None

    def support_array_name(self, rule: StreamRule) -> tuple[str, bool, bool]:
        """Name of the row array that counts the derivations by rules of this rule's kind (temporary
        or not, with or without body).
        """
        name = "support", rule.is_temporary, bool(rule.body)
        if name not in self.supports:
            self.supports.append(name)
            self.relation.add_row_array(name, np.int64)
        return name

    def persistent_rows(self) -> Ints:
        """True rows that windows of later time points see: all but those that only temporary rules
        derive.
        """
        held = self.relation.held_rows
        if not any(temporary for _, temporary, _ in self.supports):
            return held
        kept: Flags = self.relation.row_arrays["given"][held]
        for name in self.supports:
            if not name[1]:
                kept = kept | (self.relation.row_arrays[name][held] > 0)
        return held[kept]

    def update_true_rows(self) -> list[WindowView]:
        """Determine the predicate's true rows once its rules are evaluated; return the window views
        that gained or lost rows.
        """
        relation = self.relation
        if self.touched_rows:
            touched = relation.distinct_row_numbers(np.concatenate(self.touched_rows))
            holds, of_row = relation.row_arrays["holds"], relation.row_arrays
            new = of_row["given"][touched]
            for name in self.supports:
                new = new | (of_row[name][touched] > 0)
            old = holds[touched]
            holds[touched] = new
            relation.gained_rows, relation.lost_rows = touched[new & ~old], touched[old & ~new]
            if len(relation.lost_rows):
                relation.held_rows = relation.held_rows[holds[relation.held_rows]]
            if len(relation.gained_rows):
                relation.held_rows = np.concatenate([relation.held_rows, relation.gained_rows])
            if self.supports:
                self.derived_rows = find_derived_rows(self)
            self.touched_rows = []
        for view in self.views.values():
            self.update_view(view)
        return [view for view in self.views.values() if view.is_changed]

    def update_view(self, view: WindowView) -> None:
        """Pass this time point's changed rows and window counts on to a window view."""
        counter = view.counter
        parts = [
            counter.changed_rows,
            *((self.relation.gained_rows, self.relation.lost_rows) if counter.is_now else ()),
        ]
        parts = [part for part in parts if len(part)]
        view.retest_rows(
            self.relation.distinct_row_numbers(np.concatenate(parts))
            if len(parts) > 1
            else parts[0]
            if parts
            else NO_ROWS
        )


@dataclass(eq=False)
class MaintainedRule:
    """Rule as the engine evaluates it: its body as join conjuncts, with cached join plans.

    is_incremental: whether its derivations are counted, literal by literal.
    """

    rule: StreamRule
    head: PredicateState
    body: list[Conjunct]
    planner: Planner
    is_incremental: bool
    is_always_due: bool
    plans: dict[tuple[int | None, bool], JoinPlan] = field(default_factory=dict)
    has_run: bool = False
    #: The views of its aggregates.
    aggregate_views: tuple[WindowView, ...] = ()

    @cached_property
    def patterns(self) -> list[tuple[int, StreamingPattern]]:
        """Streaming literals of the body, with their indexes."""
        return [
            (i, conjunct)
            for i, conjunct in enumerate(self.body)
            if isinstance(conjunct, StreamingPattern)
        ]

    def is_due(self) -> bool:
        """Whether something that the rule reads changed, so that it may derive other heads than at
        the last time point.
        """
        if self.is_always_due or not self.has_run:
            return True
        return any(pattern.view.is_changed for _, pattern in self.patterns) or any(
            view.is_changed for view in self.aggregate_views
        )

    def cached_plan(self, seed: int | None, delta: bool = False) -> JoinPlan:
        """Join plan that begins with the rows of body literal ``seed``, made once. ``delta``:
        literals after the seed are read as before this time point.
        """
        key = seed, delta
        if key not in self.plans:
            self.plans[key] = self.planner.plan_join(seed, delta=delta)
        return self.plans[key]

    def cached_head_plan(self, head: StreamingPattern) -> JoinPlan:
        """Join plan, made once, that begins with given head rows and tests whether the rule derives
        them.
        """
        key = None, True
        if key not in self.plans:
            self.plans[key] = self.planner.plan_join(bound=head.variable_names, measured=True)
        return self.plans[key]


def has_countable_derivations(body: Sequence[Conjunct]) -> bool:
    """Whether the engine can count the derivations of a rule body incrementally, by changes.

    Required: only comparisons and streaming literals, at least one of them positive, and no
    negative literal with a varying count.
    """
    patterns = [one for one in body if isinstance(one, StreamingPattern)]
    plain = all(one.is_positive or one.threshold is None for one in patterns)
    return (
        plain
        and any(one.is_positive for one in patterns)
        and all(isinstance(one, StreamingPattern | ComparisonLiteral) for one in body)
    )


def find_derived_rows(predicate: PredicateState) -> Ints:
    """True rows of a predicate that rules with a body derive."""
    held = predicate.relation.held_rows
    found = flag_derived_rows(predicate, held)
    return held if found.all() else held[found]


def flag_derived_rows(predicate: PredicateState, rows: Ints) -> Flags:
    """Flags of those ``rows`` that some rule with a body derives."""
    found = np.zeros(len(rows), np.bool_)
    for name in predicate.supports:
        if name[2]:
            found |= predicate.relation.row_arrays[name][rows] > 0
    return found


def compact_predicate(predicate: PredicateState) -> None:
    """Drop the rows of a predicate that nothing uses: they are neither true nor input nor facts,
    and in no window.
    """
    relation, history = predicate.relation, predicate.history
    alive = relation.row_arrays["holds"][: relation.size].copy()
    for rows in (predicate.facts, predicate.input_rows, *history.rows, *predicate.touched_rows):
        alive[rows] = True
    renumber = relation.compact_rows(alive)
    predicate.facts, predicate.input_rows = (
        renumber(predicate.facts),
        renumber(predicate.input_rows),
    )
    predicate.derived_rows = renumber(predicate.derived_rows)
    predicate.touched_rows = [renumber(rows) for rows in predicate.touched_rows]
    history.rows = [renumber(rows) for rows in history.rows]
    predicate.row_numbers.clear()
    predicate.row_view, predicate.live_size = None, relation.size

"""Fixpoint evaluation row by row, for rounds with few new rows, where operations on columns have a
high fixed cost.

New rows are taken from a worklist one by one; the rows derived from them and from earlier rows are
appended. A rule becomes a chain of functions over one assignment of its variables. Rows are tuples
of constants here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.rules.model import MaintainedRule, PredicateState
from shiq.streams.rules.operators import StepExecutor
from shiq.streams.rules.plan import CheckStep, CompareStep, JoinStep, Source, Step, StreamingPattern
from shiq.streams.rules.relations import ConstantDictionary, Relation
from shiq.streams.rules.syntax import (
    Arithmetic,
    Constant,
    EvaluationError,
    IntegerOverflow,
    Row,
    Term,
    Value,
    Variable,
    apply_arithmetic,
    compare_constants,
)
from shiq.streams.rules.windows import WindowView

#: A round with no more rows than these is narrow, and one with more than the second, or with so
#: many rows joined, is wide.
MOST_NARROW_ROWS: Final = 32
_MOST_PENDING_ROWS: Final = 512
_MOST_JOINED_ROWS: Final = 512

#: Values of variables, and the number of the row of each literal.
Assignment: TypeAlias = dict[str, Any]
#: Goes on with an assignment.
Continuation: TypeAlias = Callable[[Assignment], None]


class RowLookup:
    """Hash index from the values at some argument positions to rows with their row numbers."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.key: Callable[[Row], Any] = itemgetter(*positions) if positions else lambda row: ()
        self.rows: defaultdict[Any, list[tuple[Row, int]]] = defaultdict(list)

    def add_row(self, row: Row, number: int) -> None:
        """Add a row with its row number."""
        self.rows[self.key(row)].append((row, number))


@dataclass(eq=False)
class HeadReasons:
    """Heads that one rule was the first to derive, each with the row numbers of the body rows that
    derived it.
    """

    rule: MaintainedRule
    places: list[tuple[int, str]]
    heads: list[int] = field(default_factory=list)
    bodies: list[list[int]] = field(default_factory=list)


@dataclass(eq=False)
class GrowingRelation:
    """Copy of a relation in dicts, to which a worklist adds rows.

    numbers: number of every row.
    holds: by number, whether the row holds or is in the worklist.
    is_derived: by number, whether a rule derives the row.
    held_numbers: rows that began to hold.
    """

    relation: Relation
    numbers: dict[Row, int]
    holds: bytearray
    is_derived: bytearray
    rows: list[Row] = field(default_factory=list)
    held_numbers: list[int] = field(default_factory=list)
    lookups: dict[tuple[int, ...], RowLookup] = field(default_factory=dict)
    seeds: list[Callable[[Row, int], None]] = field(default_factory=list)
    held_rows: dict[Row, int] = field(default_factory=dict)


class Worklist:
    """Row-by-row evaluator of a recursive stratum: takes new rows from a worklist and appends the
    rows that they derive.

    own_views: views that its rules have of its own predicates.
    """

    def __init__(
        self,
        context: StepExecutor,
        heads: Mapping[str, PredicateState],
        rules: Sequence[MaintainedRule],
        own: set[WindowView],
    ) -> None:
        self.context, self.dictionary, self.own_views = context, context.dictionary, own
        self.relations = {name: self._copy_relation(predicate) for name, predicate in heads.items()}
        self._by_relation = {id(one.relation): one for one in self.relations.values()}
        self._fixed_lookups: dict[tuple[WindowView, tuple[int, ...]], RowLookup] = {}
        self._fixed_view_rows: dict[WindowView, dict[Row, int]] = {}
        self._pending: list[tuple[GrowingRelation, Row, int]] = []
        self._reasons: list[HeadReasons] = []
        self._join_count = 0
        for rule in rules:
            emit = self._compile_head(rule)
            for i, pattern in rule.patterns:
                if pattern.is_positive and self._shows_growing_relation(pattern.view):
                    self._by_relation[id(pattern.view.relation)].seeds.append(
                        self._compile_rule(rule, i, pattern, emit)
                    )

    def derive_consequences(self, fresh: Mapping[str, Ints]) -> dict[str, Ints]:
        """Derive the consequences of ``fresh`` rows (row numbers by predicate), which are not true
        yet.

        Stops when a round has many rows and returns them. Raises: EvaluationError.
        """
        for name, numbers in fresh.items():
            one = self.relations[name]
            for row, number in zip(
                _decode_rows(self.dictionary, one.relation, numbers), numbers.tolist()
            ):
                one.holds[number] = True
                self._pending.append((one, row, number))
        while (
            self._pending
            and len(self._pending) <= _MOST_PENDING_ROWS
            and self._join_count <= _MOST_JOINED_ROWS
        ):
            level, self._pending, self._join_count = self._pending, [], 0
            for place, (one, row, number) in enumerate(level, 1):
                one.held_numbers.append(number)
                one.held_rows[row] = number
                for lookup in one.lookups.values():
                    lookup.add_row(row, number)
                for seed in one.seeds:
                    seed(row, number)
                if self._join_count > _MOST_JOINED_ROWS:
                    self._pending = level[place:] + self._pending
                    break
        return self._write_results_back()

    # --- what is known when it begins -------------------------------------------------------------

    def _copy_relation(self, predicate: PredicateState) -> GrowingRelation:
        """Copy a predicate's relation into dicts and byte arrays."""
        relation = predicate.relation
        numbers = {
            row: n
            for n, row in enumerate(
                _decode_rows(self.dictionary, relation, np.arange(relation.size))
            )
        }
        holds = bytearray(relation.row_arrays["holds"][: relation.size].tobytes())
        derived = bytearray(
            (relation.row_arrays[predicate.supports[0]][: relation.size] > 0).tobytes()
        )
        one = GrowingRelation(relation, numbers, holds, derived)
        one.held_rows = {row: n for row, n in numbers.items() if holds[n]}
        return one

    def _shows_growing_relation(self, view: WindowView) -> bool:
        """Whether a window view shows the current rows of a predicate that the worklist extends."""
        return view.is_current_point and view in self.own_views

    def _find_or_fill_lookup(
        self, view: WindowView, positions: tuple[int, ...]
    ) -> Mapping[Any, list[tuple[Row, int]]]:
        """Hash index of a window view's rows by the argument ``positions``; it grows with the view."""
        if self._shows_growing_relation(view):
            one = self._by_relation[id(view.relation)]
            if positions not in one.lookups:
                one.lookups[positions] = _fill_lookup(RowLookup(positions), one.held_rows.items())
            return one.lookups[positions].rows
        if (view, positions) not in self._fixed_lookups:
            self._fixed_lookups[view, positions] = _fill_lookup(
                RowLookup(positions), self._view_rows(view).items()
            )
        return self._fixed_lookups[view, positions].rows

    def _view_rows(self, view: WindowView) -> Mapping[Row, int]:
        """Rows of a window view with their row numbers."""
        if self._shows_growing_relation(view):
            return self._by_relation[id(view.relation)].held_rows
        if view not in self._fixed_view_rows:
            numbers = view.true_rows()
            self._fixed_view_rows[view] = dict(
                zip(_decode_rows(self.dictionary, view.relation, numbers), numbers.tolist())
            )
        return self._fixed_view_rows[view]

    # --- rules as functions -----------------------------------------------------------------------

    def _compile_rule(
        self, rule: MaintainedRule, i: int, pattern: StreamingPattern, emit: Continuation
    ) -> Callable[[Row, int], None]:
        """Compile a rule to a function of one new row of ``pattern``, its body literal ``i``; it
        passes each rule instance to ``emit``.
        """
        go = emit
        for step in reversed(rule.cached_plan(i).steps):
            go = self._compile_step(step, go)
        names, trace = tuple(pattern.arguments), pattern.trace
        first = {
            source: place
            for place, source in reversed([*enumerate(names)])
            if isinstance(source, str)
        }
        same = [
            (place, first[source])
            for place, source in enumerate(names)
            if isinstance(source, str) and first[source] != place
        ]
        fixed = [
            (place, self._decode_code(source))
            for place, source in enumerate(names)
            if isinstance(source, int)
        ]

        def run_for_row(row: Row, number: int) -> None:
            """Run the compiled rule for a row of the seed pattern."""
            if any(row[place] != value for place, value in fixed) or any(
                row[one] != row[other] for one, other in same
            ):
                return
            found: Assignment = dict(zip(names, row))  # type: ignore[arg-type]
            found[trace], before = number, self._join_count
            try:
                go(found)
            except IntegerOverflow as error:
                raise EvaluationError(rule.rule, str(error), "Use smaller numbers.") from error
            if self._join_count > before:
                self.context.budget.charge_joined_rows(self._join_count - before, rule.rule)

        return run_for_row

    def _compile_step(self, step: Step, go: Continuation) -> Continuation:
        """Compile a plan step to a function of an assignment of variables, which calls ``go`` for
        each extension that passes.
        """
        if isinstance(step, JoinStep):
            return self._compile_join(step, go)
        if isinstance(step, CheckStep):
            return self._compile_check(step, go)
        assert isinstance(step, CompareStep), (
            "a maintained recursion has streaming literals and comparisons alone"
        )
        return self._compile_comparison(step, go)

    def _compile_join(self, step: JoinStep, go: Continuation) -> Continuation:
        """Compile a join step to a function that calls ``go`` for each row that matches an
        assignment.
        """
        found, key = (
            self._find_or_fill_lookup(step.pattern.view, step.positions),
            self._compile_key(step.sources),
        )
        new, equal, trace = step.new, step.equal, step.pattern.trace

        def join_rows(values: Assignment) -> None:
            """Continue with each row that joins with an assignment."""
            rows = found.get(key(values), ())
            self._join_count += len(rows)
            for row, number in rows:
                if equal and any(row[one] != row[other] for one, other in equal):
                    continue
                for place, name in new:
                    values[name] = row[place]
                values[trace] = number
                go(values)

        return join_rows

    def _compile_check(self, step: CheckStep, go: Continuation) -> Continuation:
        """Compile a check step to a function that calls ``go`` if the assigned row is in the window
        view (for a negated literal: if not).
        """
        members, trace, positive = (
            self._view_rows(step.pattern.view),
            step.pattern.trace,
            step.pattern.is_positive,
        )
        sources = [self._compile_argument(source) for source in step.pattern.arguments]

        def check_row(values: Assignment) -> None:
            """Continue if the row is in the view, or is not."""
            number = members.get(tuple([source(values) for source in sources]))
            if (number is not None) is positive:
                values[trace] = number
                go(values)

        return check_row

    def _compile_comparison(self, step: CompareStep, go: Continuation) -> Continuation:
        """Compile a comparison step to a function that binds its unbound variable, if any, and
        calls ``go`` if the comparison is true.
        """
        asked, gives = step.comparison, step.bound_variable
        left, right = _compile_term(asked.left_term), _compile_term(asked.right_term)
        relation, negated = asked.relation, asked.is_negated

        def bind_value(values: Assignment) -> None:
            """Bind a variable to the value of a term and continue."""
            value = right(values)
            if value is not None:
                values[gives] = value  # type: ignore[index]
                go(values)

        def test_comparison(values: Assignment) -> None:
            """Continue if a comparison is true."""
            one, other = left(values), right(values)
            if (
                one is not None
                and other is not None
                and compare_constants(one, relation, other) != negated
            ):
                go(values)

        return test_comparison if gives is None else bind_value

    def _compile_head(self, rule: MaintainedRule) -> Continuation:
        """Compile a rule's head to a function that records each derived row and adds a new one to
        the worklist.
        """
        one, budget, body = (
            self.relations[rule.rule.head.predicate],
            self.context.budget,
            bool(rule.rule.body),
        )
        terms = [_compile_term(argument) for argument in rule.rule.head.arguments]
        reasons = HeadReasons(
            rule, [(i, pattern.trace) for i, pattern in rule.patterns if pattern.is_positive]
        )
        self._reasons.append(reasons)
        traces = [trace for _, trace in reasons.places]
        heads, bodies, numbers, holds, derived = (
            reasons.heads,
            reasons.bodies,
            one.numbers,
            one.holds,
            one.is_derived,
        )

        def record_head(values: Assignment) -> None:
            """Record a head that is derived for the first time."""
            row = tuple([term(values) for term in terms]) or (0,)
            if None in row:
                return
            number = numbers.get(row)  # type: ignore[arg-type]
            if number is None:
                number = numbers[row] = len(holds)  # type: ignore[index]
                one.rows.append(row)  # type: ignore[arg-type]
                holds.append(False)
                derived.append(False)
            if derived[number]:
                return
            derived[number] = True
            if body:
                budget.charge_derived_atoms(1, rule.rule)
            heads.append(number)
            bodies.append([values[trace] for trace in traces])
            if not holds[number]:
                holds[number] = True
                self._pending.append((one, row, number))  # type: ignore[arg-type]

        return record_head

    def _compile_key(self, sources: Sequence[Source]) -> Callable[[Assignment], Any]:
        """Compile variables and constants to a function from an assignment to the key of a
        `RowLookup`.
        """
        if not sources:
            return lambda values: ()
        parts = [self._compile_argument(source) for source in sources]
        if len(parts) == 1:
            return parts[0]
        return lambda values: tuple([part(values) for part in parts])

    def _compile_argument(self, source: Source) -> Callable[[Assignment], Any]:
        """Compile a variable or constant to a function from an assignment to its value."""
        if isinstance(source, str):
            return itemgetter(source)
        value = self._decode_code(source)
        return lambda values: value

    def _decode_code(self, code: int) -> Value:
        """Constant with this integer code."""
        return self.dictionary.decode_constants(np.array([code], np.int64))[0]

    # --- back into columns ------------------------------------------------------------------------

    def _write_results_back(self) -> dict[str, Ints]:
        """Write rows and reasons back to the column store; return the rows that still wait in the
        worklist.
        """
        left: dict[str, Ints] = {}
        for name, one in self.relations.items():
            if one.rows:
                columns = [self.dictionary.encode_column(column) for column in zip(*one.rows)]
                one.relation.add_rows(columns)
            if one.held_numbers:
                one.relation.mark_rows_true(np.array(one.held_numbers, np.int64))
            left[name] = np.array(
                [number for other, _, number in self._pending if other is one], np.int64
            )
        for reasons in self._reasons:
            if reasons.heads:
                rule, heads = reasons.rule, np.array(reasons.heads, np.int64)
                of_row, bodies = rule.head.relation.row_arrays, np.array(reasons.bodies, np.int64)
                of_row[rule.head.support_array_name(rule.rule)][heads] = 1
                of_row["by"][heads] = rule.rule.number + 1
                for column, (i, _) in enumerate(reasons.places):
                    of_row["reason", i][heads] = bodies[:, column]
        return left


def _decode_rows(
    dictionary: ConstantDictionary, relation: Relation, numbers: Ints
) -> Iterable[Row]:
    """Decode rows of a relation, given by row numbers, to tuples of constants."""
    return zip(*map(dictionary.decode_constants, relation.columns_at(numbers)))


def _fill_lookup(lookup: RowLookup, rows: Iterable[tuple[Row, int]]) -> RowLookup:
    """Add rows with their row numbers to a hash index and return it."""
    for row, number in rows:
        lookup.add_row(row, number)
    return lookup


def _compile_term(term: Term) -> Callable[[Assignment], Value | None]:
    """Compile a term to a function from an assignment to its value; None if the term has none.

    The function raises IntegerOverflow.
    """
    if isinstance(term, Variable):
        return itemgetter(term.name)
    if isinstance(term, Constant):
        value = term.value
        return lambda values: value
    assert isinstance(term, Arithmetic), "a maintained recursion has no @now"
    operator, left, right = (
        term.operator,
        _compile_term(term.left_operand),
        _compile_term(term.right_operand),
    )

    def calculate(values: Assignment) -> Value | None:
        """Apply an operator to the values of its operands."""
        one, other = left(values), right(values)
        return None if one is None or other is None else apply_arithmetic(operator, one, other)

    return calculate

"""Join plans: the order in which the literals of a rule are joined, for each one to begin with.

`Planner.plan_join` orders conjuncts greedily. Filters come first, then the join with the most bound
arguments; functions and aggregates follow joins that have a bound argument. Each step keeps only
the columns that later steps need. `Bindings` are partial instances of a body as columns by
variable; duplicates count derivations.

A body is first converted to conjuncts: `StreamingPattern` (a streaming literal over constants and
variables), comparisons, externals and aggregates. Arithmetic in an argument becomes a variable and
an equation. Source: docs/RULES.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints, distinct_with_inverse, row_codes
from shiq.streams.rules.relations import NO_ROWS, Flags, distinct_row_indexes
from shiq.streams.rules.safety import is_literal_ready, literal_terms, variable_occurrences
from shiq.streams.rules.syntax import (
    ALWAYS,
    AT_LEAST,
    AT_MOST,
    COUNT,
    Aggregate,
    ComparisonLiteral,
    Constant,
    CurrentTime,
    FunctionCall,
    Literal,
    StreamRule,
    Term,
    Value,
    Variable,
    WindowedLiteral,
    names_of_variables,
    term_leaves,
)
from shiq.streams.rules.windows import WindowView

#: The code of a constant, or the name of a variable.
Source: TypeAlias = int | str
#: The view of a streaming literal: its operator, its count, and whether m itself is asked for.
ViewLookup: TypeAlias = Callable[[WindowedLiteral, str, int, bool], WindowView]
#: At most, where it ranges over the rows that are in the window.
BETWEEN: Final = "between"
#: Columns beside variables: the rows of a pattern, the m of those that a plan begins with, whether
#: they came (1) or went (-1).
TRACE: Final = "@"
COUNTED: Final = "@m"
SIGN: Final = "@sign"


@dataclass(frozen=True, eq=False)
class CountThreshold:
    """Test of a window count m against a term that is no constant, as in "at least X"."""

    operator: str
    term: Term
    is_negated: bool


@dataclass(frozen=True, eq=False)
class StreamingPattern:
    """Streaming literal prepared for joins: arguments to match with rows of a window view.

    is_positive: whether matching rows are in the view; otherwise none may be. threshold: test of
    the window count, if it varies.
    """

    literal: WindowedLiteral
    view: WindowView
    arguments: tuple[Source, ...]
    is_positive: bool
    threshold: CountThreshold | None = None
    #: The name of the column with its rows, where these are wanted; no variable is called so.
    trace: str = ""

    @property
    def variable_names(self) -> set[str]:
        """Names of the literal's argument variables."""
        return {source for source in self.arguments if isinstance(source, str)}


Conjunct: TypeAlias = StreamingPattern | ComparisonLiteral | FunctionCall | Aggregate


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanStep:
    """Step of a join plan.

    reads: columns that it reads. binds: variables that it binds. keep: columns that later steps or
    the result need.
    """

    reads: frozenset[str]
    binds: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class JoinStep(PlanStep):
    """Plan step that joins variable bindings with the rows of a literal's window view.

    positions, sources: bound arguments by index, with their variable or code. new: indexes and
    variables that the step binds. equal: pairs of indexes with the same new variable.
    count: variable of the window count m. reads_before: whether the view is read as it was before
    this point.
    """

    pattern: StreamingPattern
    positions: tuple[int, ...]
    sources: tuple[Source, ...]
    new: tuple[tuple[int, str], ...]
    equal: tuple[tuple[int, int], ...]
    count: str | None
    reads_before: bool
    #: Whether it is what the plan begins with, of which only m is asked.
    is_seed: bool = False


@dataclass(frozen=True, eq=False)
class CheckStep(PlanStep):
    """Plan step that keeps bindings whose row is in a window view (or is not), or by its count."""

    pattern: StreamingPattern
    reads_before: bool


@dataclass(frozen=True, eq=False)
class CompareStep(PlanStep):
    """Plan step that tests a comparison or, if given, binds its variable ``bound_variable``."""

    comparison: ComparisonLiteral
    bound_variable: str | None = None


@dataclass(frozen=True, eq=False)
class CallStep(PlanStep):
    """Plan step that calls a Python function and binds its new output variables."""

    external: FunctionCall


@dataclass(frozen=True, eq=False)
class AggregateStep(PlanStep):
    """Plan step that computes an aggregate for each distinct binding of ``shared_variables``, and
    binds its value.
    """

    aggregate: Aggregate
    shared_variables: tuple[str, ...]
    elements: tuple[tuple[tuple[Step, ...], tuple[Term, ...]], ...]


Step: TypeAlias = JoinStep | CheckStep | CompareStep | CallStep | AggregateStep

#: Which of the distinct ``shared_variables`` bindings a row of an element belongs to.
GROUP: Final = "#group"


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """Ordered steps of a join that begins with rows of the literal ``seed`` (None: without)."""

    seed: StreamingPattern | None
    steps: tuple[Step, ...]
    keep: frozenset[str]


def make_conjuncts(
    body: Iterable[Literal], view: ViewLookup, code: Callable[[Value], int], fresh: str = "#"
) -> list[Conjunct]:
    """Convert the literals of a rule body to conjuncts for a join plan, streaming ones first.

    view: look-up of a literal's view. code: code of a constant. fresh: prefix for names of new
    variables.
    """
    patterns: list[Conjunct] = []
    others: list[Conjunct] = []
    for literal in body:
        if not isinstance(literal, WindowedLiteral):
            others.append(literal)
            continue
        sources: list[Source] = []
        for argument in literal.atom.arguments:
            if isinstance(argument, Constant):
                sources.append(code(argument.value))
            elif isinstance(argument, Variable):
                sources.append(argument.name)
            else:
                name = f"{fresh}{len(patterns)}.{len(sources)}"
                sources.append(name)
                others.append(ComparisonLiteral(Variable(name), "=", argument))
        pattern = _make_streaming_pattern(literal, tuple(sources) or (0,), view)
        patterns.append(replace(pattern, trace=f"{TRACE}{len(patterns)}"))
    return patterns + others


def _make_streaming_pattern(
    literal: WindowedLiteral, arguments: tuple[Source, ...], view: ViewLookup
) -> StreamingPattern:
    """Convert a streaming literal to a join pattern: choose its window view and threshold."""
    operator, negated = literal.operator, literal.is_negated
    number = literal.count.value if isinstance(literal.count, Constant) else None
    if operator == ALWAYS:
        return StreamingPattern(literal, view(literal, ALWAYS, 0, False), arguments, not negated)
    if isinstance(number, int):
        if operator == AT_MOST and number >= 0:
            if literal.binds:
                return StreamingPattern(
                    literal, view(literal, BETWEEN, number, False), arguments, not negated
                )
            return StreamingPattern(
                literal, view(literal, AT_LEAST, number + 1, False), arguments, negated
            )
        if operator != AT_MOST and number >= 1:
            return StreamingPattern(
                literal, view(literal, operator, number, False), arguments, not negated
            )
    assert literal.count is not None
    threshold = CountThreshold(operator, literal.count, negated)
    binds = not negated and (operator != AT_MOST or literal.binds)
    return StreamingPattern(literal, view(literal, AT_LEAST, 1, True), arguments, binds, threshold)


def conjunct_variables(conjunct: Conjunct) -> set[str]:
    """Names of the variables in a conjunct, with those inside an aggregate's elements."""
    if isinstance(conjunct, StreamingPattern):
        return conjunct.variable_names | (
            names_of_variables(conjunct.threshold.term) if conjunct.threshold else set()
        )
    return {variable.name for variable in variable_occurrences(conjunct)}


def uses_current_time(rule: StreamRule) -> bool:
    """Whether a rule contains @now, the time of the current time point."""
    terms = [
        *rule.head.arguments,
        *(term for literal in rule.body for term in literal_terms(literal)),
    ]
    return any(isinstance(leaf, CurrentTime) for term in terms for leaf in term_leaves(term))


@dataclass(frozen=True, eq=False)
class Planner:
    """Planner of join orders for the conjuncts of one rule body.

    elements: conjuncts of an aggregate element's body. wanted_variables: variables that the result
    must have.
    global_variables: variables that occur outside aggregates.
    """

    body: Sequence[Conjunct]
    wanted_variables: frozenset[str]
    elements: Callable[[tuple[Literal, ...]], list[Conjunct]]
    global_variables: frozenset[str]

    def plan_join(
        self,
        seed: int | None = None,
        bound: Iterable[str] = (),
        delta: bool = False,
        measured: bool = False,
    ) -> JoinPlan:
        """Order all conjuncts but ``seed`` greedily into a join plan.

        bound: variables that are bound at the start.
        delta: patterns after the seed are read as they were before this point.
        measured: among joins with equally many bound arguments, prefer fewer rows per binding.
        """
        known = set(bound)
        first = self.body[seed] if seed is not None else None
        assert first is None or isinstance(first, StreamingPattern)
        if first is not None:
            known |= first.variable_names
        # The m of a seed is asked for again, in its turn.
        left = [
            i
            for i in range(len(self.body))
            if i != seed or (first is not None and first.threshold is not None)
        ]
        steps: list[Step] = []
        while left:
            chosen = self._choose_next_conjunct(left, known, measured)
            left.remove(chosen)
            step = self._make_step(chosen, known, delta and seed is not None and chosen > seed)
            if chosen == seed and isinstance(step, JoinStep):
                step = replace(step, is_seed=True, reads=step.reads | {COUNTED})
            known |= step.binds
            steps.append(step)
        return self._trim_columns(first, steps, {SIGN} if delta else set())

    def _trim_columns(
        self, seed: StreamingPattern | None, steps: list[Step], needed: set[str]
    ) -> JoinPlan:
        """Let each step keep only the columns that later steps or the result need."""
        needed = needed | self.wanted_variables
        trimmed: list[Step] = []
        for step in reversed(steps):
            trimmed.append(replace(step, keep=frozenset(needed)))
            needed |= step.reads
        return JoinPlan(seed, tuple(reversed(trimmed)), frozenset(needed))

    def _choose_next_conjunct(self, left: Sequence[int], known: set[str], measured: bool) -> int:
        """Index of the conjunct to join next, one of ``left``; ``known``: bound variables."""
        ready = [
            (
                *self._join_priority(self.body[i], known),
                self._mean_matching_rows(self.body[i], known) if measured else 0.0,
                i,
            )
            for i in left
        ]
        rank, _, _, chosen = min(ready)
        assert rank < 9, "a checked rule is safe"
        return chosen

    def _mean_matching_rows(self, conjunct: Conjunct, known: set[str]) -> float:
        """Mean number of a literal's rows that match one binding of the variables ``known``."""
        if not isinstance(conjunct, StreamingPattern):
            return 0.0
        return conjunct.view.relation.mean_rows_per_key(
            tuple(i for i, _ in _bound_arguments(conjunct, known))
        )

    def _join_priority(self, conjunct: Conjunct, known: set[str]) -> tuple[int, int]:
        """Priority of a conjunct in the join order, smallest first; (9, …) cannot run yet."""
        if isinstance(conjunct, StreamingPattern):
            open_ = len(conjunct.variable_names - known)
            asked = conjunct.threshold
            unknown = (
                names_of_variables(asked.term)
                - known
                - (conjunct.variable_names if conjunct.is_positive else set())
                if asked
                else set()
            )
            if (
                unknown
                and asked
                and not (
                    asked.operator == COUNT
                    and isinstance(asked.term, Variable)
                    and not asked.is_negated
                )
            ):
                return 9, 0
            if not open_:
                return 1, 0
            if not conjunct.is_positive:
                return 9, 0
            fixed = len(_bound_arguments(conjunct, known))
            return (2 if fixed else 5), -fixed
        if not is_literal_ready(conjunct, known, self.global_variables):
            return 9, 0
        return {ComparisonLiteral: 0, FunctionCall: 3, Aggregate: 4}[type(conjunct)], 0

    def _make_step(self, chosen: int, known: set[str], before: bool) -> Step:
        """Plan step for a conjunct. ``before``: read its rows as before this time point."""
        conjunct = self.body[chosen]
        if isinstance(conjunct, StreamingPattern):
            return _make_join_step(conjunct, known, before)
        if isinstance(conjunct, ComparisonLiteral):
            return _make_compare_step(conjunct, known)
        if isinstance(conjunct, FunctionCall):
            new = frozenset(names_of_variables(*conjunct.outputs) - known)
            return CallStep(conjunct, reads=frozenset(conjunct_variables(conjunct)), binds=new)
        inside = conjunct_variables(replace(conjunct, guards=()))
        shared = tuple(sorted(inside & self.global_variables))
        elements = []
        for element in conjunct.elements:
            wanted = frozenset({GROUP, *names_of_variables(*element.terms)})
            inner = Planner(
                self.elements(element.body), wanted, self.elements, self.global_variables
            )
            elements.append((inner.plan_join(bound=(GROUP, *shared)).steps, element.terms))
        reads = frozenset((*shared, *names_of_variables(*(term for _, term in conjunct.guards))))
        binds = _variables_bound_by_aggregate(conjunct, known)
        return AggregateStep(conjunct, shared, tuple(elements), reads=reads, binds=binds)


def _variable_bound_by_comparison(comparison: ComparisonLiteral, known: set[str]) -> str | None:
    """Unbound variable (not in ``known``) to which an equation gives a value; None if none."""
    if comparison.relation == "=" and not comparison.is_negated:
        for one, other in (
            (comparison.left_term, comparison.right_term),
            (comparison.right_term, comparison.left_term),
        ):
            if (
                isinstance(one, Variable)
                and one.name not in known
                and names_of_variables(other) <= known
            ):
                return one.name
    return None


def _variables_bound_by_aggregate(aggregate: Aggregate, known: set[str]) -> frozenset[str]:
    """Variables outside ``known`` that the equality guards of an aggregate bind to its value."""
    equal = [
        term for relation, term in aggregate.guards if relation == "=" and not aggregate.is_negated
    ]
    return frozenset(
        term.name for term in equal if isinstance(term, Variable) and term.name not in known
    )


def _make_compare_step(comparison: ComparisonLiteral, known: set[str]) -> CompareStep:
    """Plan step for a comparison; a variable that it binds is moved to the left side."""
    gives = _variable_bound_by_comparison(comparison, known)
    if gives is not None and not (
        isinstance(comparison.left_term, Variable) and comparison.left_term.name == gives
    ):
        comparison = replace(
            comparison, left_term=comparison.right_term, right_term=comparison.left_term
        )
    reads = frozenset(conjunct_variables(comparison))
    return CompareStep(comparison, gives, reads=reads, binds=frozenset({gives} if gives else ()))


def _make_join_step(
    pattern: StreamingPattern, known: set[str], before: bool
) -> JoinStep | CheckStep:
    """Plan step for a streaming literal: a check if all its variables are bound, or a join."""
    asked, reads = pattern.threshold, frozenset(conjunct_variables(pattern))
    if (asked is None or not pattern.is_positive) and pattern.variable_names <= known:
        return CheckStep(pattern, before, reads=reads)
    fixed = _bound_arguments(pattern, known)
    equal: list[tuple[int, int]] = []
    place: dict[str, int] = {}
    for i, source in enumerate(pattern.arguments):
        if isinstance(source, str) and source not in known:
            if source in place:
                equal.append((place[source], i))
            else:
                place[source] = i
    count = None
    if (
        asked
        and asked.operator == COUNT
        and isinstance(asked.term, Variable)
        and asked.term.name not in known | set(place)
    ):
        count = asked.term.name
    positions, sources = tuple(i for i, _ in fixed), tuple(source for _, source in fixed)
    new = tuple((i, source) for source, i in place.items())
    binds = frozenset((*place, *([count] if count else ())))
    return JoinStep(
        pattern, positions, sources, new, tuple(equal), count, before, reads=reads, binds=binds
    )


def _bound_arguments(pattern: StreamingPattern, known: set[str]) -> list[tuple[int, Source]]:
    """Arguments of a literal that are constants or bound variables, with their indexes."""
    return [
        (i, source)
        for i, source in enumerate(pattern.arguments)
        if isinstance(source, int) or source in known
    ]


@dataclass(frozen=True)
class Bindings:
    """Table of ``count`` partial rule instances: a column of constant codes per bound variable."""

    columns: Mapping[str, Ints]
    count: int

    def column_for(self, source: Source) -> Ints:
        """Column of a variable; for a constant's code, a column that repeats it."""
        return (
            self.columns[source]
            if isinstance(source, str)
            else np.full(self.count, source, np.int64)
        )

    def select_rows(self, rows: Ints, keep: frozenset[str]) -> Bindings:
        """Rows with these indexes, with only the columns ``keep``."""
        return Bindings(
            {name: column[rows] for name, column in self.columns.items() if name in keep}, len(rows)
        )

    def split_into_parts(self) -> Iterator[Bindings]:
        """Yield the table in at most eight consecutive parts."""
        size = -(-self.count // 8)
        for first in range(0, self.count, size):
            columns = {name: column[first : first + size] for name, column in self.columns.items()}
            yield Bindings(columns, min(size, self.count - first))

    def append_rows(self, other: Bindings) -> Bindings:
        """Append the rows of ``other``, which has the same variables."""
        columns = {
            name: np.concatenate([column, other.columns[name]])
            for name, column in self.columns.items()
        }
        return Bindings(columns, self.count + other.count)

    def drop_duplicates(self) -> Bindings:
        """Drop rows with equal variable values."""
        columns = [column for name, column in self.columns.items() if not name.startswith(TRACE)]
        example = distinct_row_indexes(columns) if columns else np.zeros(1, np.int64)
        return Bindings(
            {name: column[example] for name, column in self.columns.items()}, len(example)
        )

    def filter_rows(self, flags: Flags | None, keep: frozenset[str]) -> Bindings:
        """Rows with a true flag, with only the columns ``keep``; None keeps all rows."""
        if flags is None or flags.all():
            return Bindings(
                {name: column for name, column in self.columns.items() if name in keep}, self.count
            )
        return self.select_rows(flags.nonzero()[0], keep)


def distinct_rows(columns: Sequence[Ints], count: int) -> tuple[list[Ints], Ints]:
    """Distinct rows of a table of columns, and for each row its index among them."""
    if not columns:
        return [], np.zeros(count, np.int64)
    if not count:
        return list(columns), NO_ROWS
    _, inverse, example = distinct_with_inverse(row_codes(*columns))
    return [column[example] for column in columns], inverse


def make_seed_bindings(
    pattern: StreamingPattern, rows: Ints, keep: frozenset[str], lost_count: int = 0
) -> Bindings:
    """Bindings of ``rows`` with which a join plan begins; the first ``lost_count`` were lost."""
    view, relation = pattern.view, pattern.view.relation
    more: dict[str, Ints] = {}
    if pattern.trace in keep:
        more[pattern.trace] = rows
    if COUNTED in keep:
        more[COUNTED] = np.concatenate(
            [view.previous_counts(rows[:lost_count]), view.counter.point_counts(rows[lost_count:])]
        )
    if SIGN in keep:
        more[SIGN] = np.where(np.arange(len(rows)) < lost_count, -1, 1)
    place: dict[str, int] = {}
    fits: Flags | None = None
    for i, source in enumerate(pattern.arguments):
        column = relation.columns[i][rows]
        if isinstance(source, int):
            fits = and_flags(fits, column == source)
        elif source in place:
            fits = and_flags(fits, column == relation.columns[place[source]][rows])
        else:
            place[source] = i
    if fits is not None and not fits.all():
        rows, more = rows[fits], {name: column[fits] for name, column in more.items()}
    return Bindings(
        {name: relation.columns[i][rows] for name, i in place.items() if name in keep} | more,
        len(rows),
    )


def and_flags(left: Flags | None, right: Flags | None) -> Flags | None:
    """Conjunction of two flag arrays, where None means all true."""
    if left is None or right is None:
        return right if left is None else left
    return left & right

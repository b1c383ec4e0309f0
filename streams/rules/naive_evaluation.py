"""Naive evaluator, written from docs/RULES.md alone, as the reference for the engine.

A point is a set of atoms. All rules are applied to it again and again until nothing new is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shiq.streams.rules.operators import Functions, call_function
from shiq.streams.rules.safety import global_variables
from shiq.streams.rules.syntax import (
    ALWAYS,
    AT_LEAST,
    AT_MOST,
    COUNT,
    MOST_DERIVED,
    Aggregate,
    CheckedProgram,
    ComparisonLiteral,
    Constant,
    CurrentTime,
    EvaluationError,
    FunctionCall,
    IntegerOverflow,
    Literal,
    Row,
    StreamRule,
    Term,
    Value,
    Variable,
    WindowedLiteral,
    apply_arithmetic,
    atom_text,
    compare_constants,
    constant_sort_key,
    make_too_many_atoms_error,
    require_64_bits,
)
from shiq.streams.rules.tokens import copy_as_rows

Binding: TypeAlias = dict[str, Value]
Point: TypeAlias = dict[str, set[Row]]
DerivationCallback: TypeAlias = Callable[[StreamRule, Row, Binding], None]


@dataclass(frozen=True)
class NaiveModel:
    """Model of a time point as plain sets: all true atoms, and those derived by rules with a body."""

    t: int
    atoms: Mapping[str, set[Row]]
    derived_atoms: Mapping[str, set[Row]]

    def predicates(self) -> Iterable[str]:
        """Predicates with at least one true atom."""
        return [predicate for predicate, rows in self.atoms.items() if rows]

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        """Rows of a predicate; ``derived``: only heads of rules with a body."""
        return list((self.derived_atoms if derived else self.atoms).get(predicate, ()))

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        """Atoms of a predicate as texts such as ``p(a,1)``; ``derived``: only heads of rules with a
        body.
        """
        return [
            atom_text(predicate.rpartition("/")[0], row) for row in self.rows(predicate, derived)
        ]


@dataclass
class NaiveEvaluator:
    """Slow reference evaluator that computes the model of each time point from scratch.

    points: persistent atoms of earlier points, by time.
    """

    program: CheckedProgram
    functions: Functions = field(default_factory=dict)
    complete_windows: bool = False
    max_atoms: int = MOST_DERIVED
    first_point: int | None = None
    points: dict[int, Point] = field(default_factory=dict)

    def step(
        self, t: int, rows: Mapping[str, Any], on_derived: DerivationCallback = lambda *_: None
    ) -> NaiveModel:
        """Compute the model of the time point ``t``; store its persistent atoms for the windows of
        later ones.

        on_derived: called with each new atom, with those of a rule's body before its head.
        """
        self.first_point = t if self.first_point is None else self.first_point
        given: Point = {
            predicate: set(copy_as_rows(found))
            for predicate, found in self.program.copy_input_to_parts(rows).items()
        }
        for predicate, facts in self.program.facts.items():
            given.setdefault(predicate, set()).update(facts)
        now: Point = {predicate: set(found) for predicate, found in given.items()}
        step = _PointEvaluation(self, t, now)
        heads: Point = {}
        for stratum in self.program.strata:
            rules = [rule for rule in stratum.rules if step.is_rule_due(rule)]
            while True:
                found = [
                    (rule, head, binding)
                    for rule in rules
                    for head, binding in step.find_instances(rule)
                ]
                new = [one for one in found if one[1] not in now.get(one[0].head.predicate, ())]
                for rule, head, binding in new:
                    on_derived(rule, head, binding)
                    now.setdefault(rule.head.predicate, set()).add(head)
                for rule, head, _ in found:
                    if rule.body:
                        heads.setdefault(rule.head.predicate, set()).add(head)
                        if sum(map(len, heads.values())) > self.max_atoms:
                            raise make_too_many_atoms_error(rule, t, self.max_atoms)
                if not new:
                    break
            for rule, head, _ in found:
                if not rule.is_temporary:
                    given.setdefault(rule.head.predicate, set()).add(head)
        self.points[t] = given
        self._drop_old_points(t)
        return NaiveModel(t, now, heads)

    def _drop_old_points(self, t: int) -> None:
        """Drop the atoms of time points that no window reaches any more."""
        horizon = max(self.program.horizons.values(), default=0)
        for past in [past for past in self.points if past < t - horizon]:
            del self.points[past]


class _PointEvaluation:
    """Evaluation of one time point: matches rule bodies against ``atoms``, those known to be true
    so far.
    """

    def __init__(self, run: NaiveEvaluator, t: int, now: Point) -> None:
        self.run, self.t, self.atoms = run, t, now
        self.calls: dict[tuple[str, Row, int], Row | None] = {}

    def is_rule_due(self, rule: StreamRule) -> bool:
        """Whether a rule's #trigger_frequency applies it at this time point."""
        return (
            rule.frequency is None or (self.t - (self.run.first_point or 0)) % rule.frequency == 0
        )

    def find_instances(self, rule: StreamRule) -> list[tuple[Row, Binding]]:
        """Rule instances with a true body, as (head row, variable values)."""
        outer = global_variables(rule)
        try:
            bindings = self.match_body(rule, rule.body, {}, outer)
            found = (
                (self.evaluate_row(rule.head.arguments, binding), binding) for binding in bindings
            )
            return [(row, binding) for row, binding in found if row is not None]
        except IntegerOverflow as error:
            raise EvaluationError(
                rule, f"at {self.t}: {error}", "Keep integers within 64 bits."
            ) from error

    def match_body(
        self, rule: StreamRule, body: Sequence[Literal], binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        """Yield the extensions of ``binding`` that make all literals of ``body`` true."""
        if not body:
            yield binding
            return
        for found in self.match_literal(rule, body[0], binding, outer):
            yield from self.match_body(rule, body[1:], found, outer)

    def match_literal(
        self, rule: StreamRule, literal: Literal, binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        """Yield the extensions of ``binding`` that make a body literal true. ``outer``: the rule's
        global variables.
        """
        if isinstance(literal, WindowedLiteral):
            return self.match_streaming_literal(literal, binding)
        if isinstance(literal, ComparisonLiteral):
            return self.match_comparison(literal, binding)
        if isinstance(literal, FunctionCall):
            return self.match_function_call(rule, literal, binding)
        return self.match_aggregate(rule, literal, binding, outer)

    # --- terms

    def evaluate_term(self, term: Term, binding: Binding) -> Value | None:
        """Value of a term under ``binding``; None if its arithmetic is undefined."""
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Variable):
            return binding[term.name]
        if isinstance(term, CurrentTime):
            return term.value_at(self.t)
        left, right = (
            self.evaluate_term(term.left_operand, binding),
            self.evaluate_term(term.right_operand, binding),
        )
        return (
            None if left is None or right is None else apply_arithmetic(term.operator, left, right)
        )

    def evaluate_row(self, terms: Iterable[Term], binding: Binding) -> Row | None:
        """Values of terms under ``binding``; None if the arithmetic of one is undefined."""
        found: list[Value] = []
        for term in terms:
            value = self.evaluate_term(term, binding)
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    def match_row(self, terms: Sequence[Term], row: Row, binding: Binding) -> Binding | None:
        """Extend ``binding`` so that the argument ``terms`` have the values of ``row``; None if
        that is impossible.
        """
        found = dict(binding)
        for term, value in zip(terms, row):
            if isinstance(term, Variable) and found.setdefault(term.name, value) != value:
                return None
        for term, value in zip(terms, row):
            if not isinstance(term, Variable) and self.evaluate_term(term, found) != value:
                return None
        return found

    # --- streaming literals

    def window_times(self, literal: WindowedLiteral) -> list[int]:
        """Times of a literal's window, from the first time point of the stream on."""
        assert self.run.first_point is not None
        offsets = (
            [0]
            if literal.window is None
            else [d for low, high in literal.window.intervals for d in range(low, high + 1)]
        )
        return [self.t - d for d in offsets if self.t - d >= self.run.first_point]

    def window_points(self, literal: WindowedLiteral) -> list[Point]:
        """Atoms that are true at each time of a literal's window, by predicate."""
        return [
            self.atoms if t == self.t else self.run.points.get(t, {})
            for t in self.window_times(literal)
        ]

    def match_streaming_literal(
        self, literal: WindowedLiteral, binding: Binding
    ) -> Iterator[Binding]:
        """Yield the extensions of ``binding`` that make a streaming literal true."""
        points, terms = self.window_points(literal), literal.atom.arguments
        seen = [point.get(literal.atom.predicate, set()) for point in points]
        if literal.is_negated or (literal.operator == AT_MOST and not literal.binds):
            row = self.evaluate_row(terms, binding)
            if row is not None and self.is_count_satisfied(
                literal, sum(row in rows for rows in seen), len(points), binding
            ):
                yield binding
            return
        for row in set().union(*seen):
            found = self.match_row(terms, row, binding)
            if found is None:
                continue
            m = sum(row in rows for rows in seen)
            if literal.operator == COUNT and isinstance(literal.count, Variable):
                found.setdefault(literal.count.name, m)
            if self.is_count_satisfied(literal, m, len(points), found):
                yield found

    def is_count_satisfied(
        self, literal: WindowedLiteral, m: int, n: int, binding: Binding
    ) -> bool:
        """Whether an atom that is true at ``m`` of the window's ``n`` observed time points
        satisfies a literal's counting operator (docs/RULES.md, section 2).

        m: number of window points with the atom.
        n: number of observed window points.
        """
        if literal.operator == ALWAYS:
            size = 1 if literal.window is None else literal.window.size
            return (
                m == n > 0 and (n == size or not self.run.complete_windows)
            ) != literal.is_negated
        assert literal.count is not None
        c = self.evaluate_term(literal.count, binding)
        if c is None:
            return False
        if literal.operator == AT_MOST:
            return compare_constants(m, "<=", c) != literal.is_negated
        relation = ">=" if literal.operator == AT_LEAST else "="
        if literal.is_negated:
            return not compare_constants(m, relation, c)
        return isinstance(c, int) and c >= 1 and compare_constants(m, relation, c)

    # --- other literals

    def match_comparison(self, literal: ComparisonLiteral, binding: Binding) -> Iterator[Binding]:
        """Yield the extension of ``binding`` that makes a comparison true, if there is one."""
        for term, other in (
            (literal.left_term, literal.right_term),
            (literal.right_term, literal.left_term),
        ):
            if isinstance(term, Variable) and term.name not in binding:
                value = self.evaluate_term(other, binding)
                if value is not None:
                    yield {**binding, term.name: value}
                return
        left, right = (
            self.evaluate_term(literal.left_term, binding),
            self.evaluate_term(literal.right_term, binding),
        )
        if (
            left is not None
            and right is not None
            and compare_constants(left, literal.relation, right) != literal.is_negated
        ):
            yield binding

    def match_function_call(
        self, rule: StreamRule, literal: FunctionCall, binding: Binding
    ) -> Iterator[Binding]:
        """Yield the extension of ``binding`` that makes a call of a Python function true, if there
        is one.
        """
        inputs = self.evaluate_row(literal.inputs, binding)
        if inputs is None:
            return
        asked = (literal.function, inputs, len(literal.outputs))
        if asked not in self.calls:
            self.calls[asked] = call_function(self.run.functions, rule, literal, inputs)
        outputs = self.calls[asked]
        if not literal.outputs:
            if (outputs is not None) != literal.is_negated:
                yield binding
        elif (
            outputs is not None
            and (found := self.match_row(literal.outputs, outputs, binding)) is not None
        ):
            yield found

    def aggregate_tuples(
        self, rule: StreamRule, literal: Aggregate, binding: Binding, outer: set[str]
    ) -> set[Row]:
        """Distinct tuples that an aggregate counts, sums or compares under ``binding``."""
        inner = {name: value for name, value in binding.items() if name in outer}
        tuples: set[Row] = set()
        for element in literal.elements:
            for found in self.match_body(rule, element.body, inner, outer):
                row = self.evaluate_row(element.terms, found)
                if row is not None:
                    tuples.add(row)
        return tuples

    def match_aggregate(
        self, rule: StreamRule, literal: Aggregate, binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        """Yield the extension of ``binding`` that makes an aggregate true, if there is one."""
        value = _AGGREGATES[literal.function](self.aggregate_tuples(rule, literal, binding, outer))
        if value is None:
            return
        found = dict(binding)
        for relation, term in literal.guards:
            if isinstance(term, Variable) and relation == "=" and not literal.is_negated:
                found.setdefault(term.name, value)
        sides = [(relation, self.evaluate_term(term, found)) for relation, term in literal.guards]
        if any(side is None for _, side in sides):
            return
        if (
            all(
                compare_constants(value, relation, side)
                for relation, side in sides
                if side is not None
            )
            != literal.is_negated
        ):
            yield found


def _make_extremum_function(choose: Callable[..., Row]) -> Callable[[set[Row]], Value | None]:
    """Make the #min or #max of an aggregate from Python's ``min`` or ``max``."""
    return lambda tuples: (
        choose(tuples, key=lambda row: constant_sort_key(row[0]))[0] if tuples else None
    )


_AGGREGATES: Mapping[str, Callable[[set[Row]], Value | None]] = {
    "count": len,
    "sum": lambda tuples: require_64_bits(sum(row[0] for row in tuples if isinstance(row[0], int))),
    "min": _make_extremum_function(min),
    "max": _make_extremum_function(max),
}

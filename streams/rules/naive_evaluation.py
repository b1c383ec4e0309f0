"""The naive evaluator, written from docs/RULES.md, alone: the obvious twin of the engine.

A point is a set of atoms (predicate, row); each rule is tried on all of them, again and again
until nothing is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shiq.errors import OperationalError
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
    External,
    IntegerOverflow,
    Literal,
    Row,
    StreamRule,
    Term,
    Value,
    Variable,
    WindowedLiteral,
    arithmetic,
    atom_text,
    compare,
    constant_order,
    in_range,
    too_many_derived,
)
from shiq.streams.rules.tokens import rows_to_columns, to_rows

Binding: TypeAlias = dict[str, Value]
Point: TypeAlias = dict[str, set[Row]]
DerivationCallback: TypeAlias = Callable[[StreamRule, Row, Binding], None]


@dataclass(frozen=True)
class NaiveModel:
    """The model of a point: all that holds, and what is the head of a rule with a body."""

    t: int
    atoms: Mapping[str, set[Row]]
    derived_atoms: Mapping[str, set[Row]]

    def predicates(self) -> Iterable[str]:
        return [predicate for predicate, rows in self.atoms.items() if rows]

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        return list((self.derived_atoms if derived else self.atoms).get(predicate, ()))

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        return [
            atom_text(predicate.rpartition("/")[0], row) for row in self.rows(predicate, derived)
        ]

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        return rows_to_columns(self.rows(predicate, derived), predicate)


@dataclass
class NaiveEvaluator:
    """Evaluates a program point by point. ``points``: the persistent parts so far, by time."""

    program: CheckedProgram
    functions: Functions = field(default_factory=dict)
    complete_windows: bool = False
    most_atoms: int = MOST_DERIVED
    first_point: int | None = None
    points: dict[int, Point] = field(default_factory=dict)

    def step(
        self, t: int, rows: Mapping[str, Any], heard: DerivationCallback = lambda *_: None
    ) -> NaiveModel:
        """R(P, Σ) at ``t``, and the persistent part for later points. ``heard``: called with
        each new atom, in an order in which bodies are before heads.
        """
        self.first_point = t if self.first_point is None else self.first_point
        given: Point = {
            predicate: set(to_rows(found))
            for predicate, found in self.program.with_parts(rows).items()
        }
        for predicate, facts in self.program.facts.items():
            given.setdefault(predicate, set()).update(facts)
        now: Point = {predicate: set(found) for predicate, found in given.items()}
        step = _PointEvaluation(self, t, now)
        heads: Point = {}
        for stratum in self.program.strata:
            rules = [rule for rule in stratum.rules if step.is_applied(rule)]
            while True:
                found = [
                    (rule, head, binding)
                    for rule in rules
                    for head, binding in step.instances(rule)
                ]
                new = [one for one in found if one[1] not in now.get(one[0].head.predicate, ())]
                for rule, head, binding in new:
                    heard(rule, head, binding)
                    now.setdefault(rule.head.predicate, set()).add(head)
                for rule, head, _ in found:
                    if rule.body:
                        heads.setdefault(rule.head.predicate, set()).add(head)
                        if sum(map(len, heads.values())) > self.most_atoms:
                            raise too_many_derived(rule, t, self.most_atoms)
                if not new:
                    break
            for rule, head, _ in found:
                if not rule.is_temporary:
                    given.setdefault(rule.head.predicate, set()).add(head)
        self.points[t] = given
        self._drop_old_points(t)
        return NaiveModel(t, now, heads)

    def _drop_old_points(self, t: int) -> None:
        horizon = max(self.program.horizons.values(), default=0)
        for past in [past for past in self.points if past < t - horizon]:
            del self.points[past]

    def state(self) -> bytes:
        """The persistent parts, as JSON."""
        points = {
            t: {predicate: sorted(rows, key=_row_order) for predicate, rows in p.items()}
            for t, p in self.points.items()
        }
        return json.dumps({"first": self.first_point, "points": points}).encode()

    def restore(self, state: bytes) -> None:
        try:
            found = json.loads(state)
            self.first_point = found["first"]
            self.points = {
                int(t): {predicate: set(map(tuple, rows)) for predicate, rows in point.items()}
                for t, point in found["points"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OperationalError(
                f"this is no state of an evaluator ({error})", "Start anew."
            ) from error


def _row_order(row: Row) -> list[tuple[int, int, str]]:
    return [constant_order(value) for value in row]


class _PointEvaluation:
    """One point being evaluated: ``atoms`` is what is known of it."""

    def __init__(self, run: NaiveEvaluator, t: int, now: Point) -> None:
        self.run, self.t, self.atoms = run, t, now
        self.calls: dict[tuple[str, Row, int], Row | None] = {}

    def is_applied(self, rule: StreamRule) -> bool:
        return (
            rule.frequency is None or (self.t - (self.run.first_point or 0)) % rule.frequency == 0
        )

    def instances(self, rule: StreamRule) -> list[tuple[Row, Binding]]:
        """The heads of all instances of ``rule`` whose bodies hold, with their bindings."""
        outer = global_variables(rule)
        try:
            bindings = self.bindings(rule, rule.body, {}, outer)
            found = (
                (self.ground_row(rule.head.arguments, binding), binding) for binding in bindings
            )
            return [(row, binding) for row, binding in found if row is not None]
        except IntegerOverflow as error:
            raise EvaluationError(
                rule, f"at {self.t}: {error}", "Keep integers within 64 bits."
            ) from error

    def bindings(
        self, rule: StreamRule, body: Sequence[Literal], binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        """The extensions of ``binding`` that make each literal true."""
        if not body:
            yield binding
            return
        for found in self.match_literal(rule, body[0], binding, outer):
            yield from self.bindings(rule, body[1:], found, outer)

    def match_literal(
        self, rule: StreamRule, literal: Literal, binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        if isinstance(literal, WindowedLiteral):
            return self.match_windowed(literal, binding)
        if isinstance(literal, ComparisonLiteral):
            return self.match_comparison(literal, binding)
        if isinstance(literal, External):
            return self.match_external(rule, literal, binding)
        return self.match_aggregate(rule, literal, binding, outer)

    # --- terms

    def term_value(self, term: Term, binding: Binding) -> Value | None:
        """The value of a term; None where arithmetic has none."""
        if isinstance(term, Constant):
            return term.value
        if isinstance(term, Variable):
            return binding[term.name]
        if isinstance(term, CurrentTime):
            return term.value_at(self.t)
        left, right = (
            self.term_value(term.left_operand, binding),
            self.term_value(term.right_operand, binding),
        )
        return None if left is None or right is None else arithmetic(term.operator, left, right)

    def ground_row(self, terms: Iterable[Term], binding: Binding) -> Row | None:
        found: list[Value] = []
        for term in terms:
            value = self.term_value(term, binding)
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    def match_row(self, terms: Sequence[Term], row: Row, binding: Binding) -> Binding | None:
        """``binding`` with the variables of ``terms`` bound so that they are ``row``; None where
        they cannot.
        """
        found = dict(binding)
        for term, value in zip(terms, row):
            if isinstance(term, Variable) and found.setdefault(term.name, value) != value:
                return None
        for term, value in zip(terms, row):
            if not isinstance(term, Variable) and self.term_value(term, found) != value:
                return None
        return found

    # --- streaming literals

    def times(self, literal: WindowedLiteral) -> list[int]:
        """The observed points of the literal's window: those from the first on."""
        assert self.run.first_point is not None
        offsets = (
            [0]
            if literal.window is None
            else [d for low, high in literal.window.intervals for d in range(low, high + 1)]
        )
        return [self.t - d for d in offsets if self.t - d >= self.run.first_point]

    def observed_points(self, literal: WindowedLiteral) -> list[Point]:
        """What is known of these points."""
        return [
            self.atoms if t == self.t else self.run.points.get(t, {}) for t in self.times(literal)
        ]

    def match_windowed(self, literal: WindowedLiteral, binding: Binding) -> Iterator[Binding]:
        points, terms = self.observed_points(literal), literal.atom.arguments
        seen = [point.get(literal.atom.predicate, set()) for point in points]
        if literal.is_negated or (literal.operator == AT_MOST and not literal.binds):
            row = self.ground_row(terms, binding)
            if row is not None and self.is_true(
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
            if self.is_true(literal, m, len(points), found):
                yield found

    def is_true(self, literal: WindowedLiteral, m: int, n: int, binding: Binding) -> bool:
        """The table of section 2."""
        if literal.operator == ALWAYS:
            size = 1 if literal.window is None else literal.window.size
            return (
                m == n > 0 and (n == size or not self.run.complete_windows)
            ) != literal.is_negated
        assert literal.count is not None
        c = self.term_value(literal.count, binding)
        if c is None:
            return False
        if literal.operator == AT_MOST:
            return compare(m, "<=", c) != literal.is_negated
        relation = ">=" if literal.operator == AT_LEAST else "="
        if literal.is_negated:
            return not compare(m, relation, c)
        return isinstance(c, int) and c >= 1 and compare(m, relation, c)

    # --- other literals

    def match_comparison(self, literal: ComparisonLiteral, binding: Binding) -> Iterator[Binding]:
        for term, other in (
            (literal.left_term, literal.right_term),
            (literal.right_term, literal.left_term),
        ):
            if isinstance(term, Variable) and term.name not in binding:
                value = self.term_value(other, binding)
                if value is not None:
                    yield {**binding, term.name: value}
                return
        left, right = (
            self.term_value(literal.left_term, binding),
            self.term_value(literal.right_term, binding),
        )
        if (
            left is not None
            and right is not None
            and compare(left, literal.relation, right) != literal.is_negated
        ):
            yield binding

    def match_external(
        self, rule: StreamRule, literal: External, binding: Binding
    ) -> Iterator[Binding]:
        inputs = self.ground_row(literal.inputs, binding)
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

    def elements(
        self, rule: StreamRule, literal: Aggregate, binding: Binding, outer: set[str]
    ) -> set[Row]:
        """The set of tuples that an aggregate ranges over."""
        inner = {name: value for name, value in binding.items() if name in outer}
        tuples: set[Row] = set()
        for element in literal.elements:
            for found in self.bindings(rule, element.body, inner, outer):
                row = self.ground_row(element.terms, found)
                if row is not None:
                    tuples.add(row)
        return tuples

    def match_aggregate(
        self, rule: StreamRule, literal: Aggregate, binding: Binding, outer: set[str]
    ) -> Iterator[Binding]:
        value = _AGGREGATES[literal.function](self.elements(rule, literal, binding, outer))
        if value is None:
            return
        found = dict(binding)
        for relation, term in literal.guards:
            if isinstance(term, Variable) and relation == "=" and not literal.is_negated:
                found.setdefault(term.name, value)
        sides = [(relation, self.term_value(term, found)) for relation, term in literal.guards]
        if any(side is None for _, side in sides):
            return
        if (
            all(compare(value, relation, side) for relation, side in sides if side is not None)
            != literal.is_negated
        ):
            yield found


def _extreme(choose: Callable[..., Row]) -> Callable[[set[Row]], Value | None]:
    return lambda tuples: (
        choose(tuples, key=lambda row: constant_order(row[0]))[0] if tuples else None
    )


_AGGREGATES: Mapping[str, Callable[[set[Row]], Value | None]] = {
    "count": len,
    "sum": lambda tuples: in_range(sum(row[0] for row in tuples if isinstance(row[0], int))),
    "min": _extreme(min),
    "max": _extreme(max),
}

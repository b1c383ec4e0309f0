"""Plans: in which order the literals of a rule are joined, for each literal that a change may
begin with.

`Planner.plan` orders conjuncts greedily: what only filters comes first, then the join with the
most bound arguments; functions and aggregates wait for joins that have one. Each step keeps only
the columns that later ones need; equal rows stay as often as they were derived. Source: SPEC
004, sections 1 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from streams.rules.steps import (
    COUNTED,
    GROUP,
    SIGN,
    AggregateStep,
    Call,
    Check,
    Compare,
    Conjunct,
    JoinPlan,
    JoinStep,
    Source,
    Step,
    StreamingPattern,
    names_of,
)
from streams.rules.syntax import (
    COUNT,
    Aggregate,
    ComparisonLiteral,
    External,
    Literal,
    Variable,
    names_in,
)


@dataclass(frozen=True, eq=False)
class Planner:
    """Plans over one list of conjuncts; ``elements`` gives those of an aggregate's element,
    ``outer`` are global variables.
    """

    body: Sequence[Conjunct]
    wanted: frozenset[str]
    elements: Callable[[Iterable[Literal]], list[Conjunct]]
    outer: frozenset[str]

    def plan(
        self,
        seed: int | None = None,
        bound: Iterable[str] = (),
        delta: bool = False,
        measured: bool = False,
    ) -> JoinPlan:
        """Steps for all conjuncts but the ``seed``; with ``delta``, patterns behind it are as
        they were before this point. ``measured``: of joins with equally many bound arguments,
        that with the fewest rows for each comes first.
        """
        known = set(bound)
        first = self.body[seed] if seed is not None else None
        assert first is None or isinstance(first, StreamingPattern)
        if first is not None:
            known |= first.names
        # The m of a seed is asked for again, in its turn.
        left = [
            i
            for i in range(len(self.body))
            if i != seed or (first is not None and first.threshold is not None)
        ]
        steps: list[Step] = []
        while left:
            chosen = self._next(left, known, measured)
            left.remove(chosen)
            step = self._step(chosen, known, delta and seed is not None and chosen > seed)
            if chosen == seed and isinstance(step, JoinStep):
                step = replace(step, own=True)
            known |= _given(step)
            steps.append(step)
        return self._trimmed(first, steps, {SIGN} if delta else set())

    def _trimmed(
        self, seed: StreamingPattern | None, steps: list[Step], needed: set[str]
    ) -> JoinPlan:
        needed = needed | self.wanted
        trimmed: list[Step] = []
        for step in reversed(steps):
            trimmed.append(replace(step, keep=frozenset(needed)))
            needed |= _asked(step)
        return JoinPlan(seed, tuple(reversed(trimmed)), frozenset(needed))

    def _next(self, left: Sequence[int], known: set[str], measured: bool) -> int:
        ready = [
            (
                *self._rank(self.body[i], known),
                self._rows(self.body[i], known) if measured else 0.0,
                i,
            )
            for i in left
        ]
        rank, _, _, chosen = min(ready)
        assert rank < 9, "a checked rule is safe"
        return chosen

    def _rows(self, conjunct: Conjunct, known: set[str]) -> float:
        """How many rows a pattern has for what is bound, as a mean."""
        if not isinstance(conjunct, StreamingPattern):
            return 0.0
        return conjunct.view.relation.mean_matches(tuple(i for i, _ in _fixed(conjunct, known)))

    def _rank(self, conjunct: Conjunct, known: set[str]) -> tuple[int, int]:
        """Least first: what comes next."""
        if isinstance(conjunct, ComparisonLiteral):
            return (0 if _is_ready(conjunct, known) else 9), 0
        if isinstance(conjunct, StreamingPattern):
            open_ = len(conjunct.names - known)
            asked = conjunct.threshold
            unknown = (
                names_in(asked.term) - known - (conjunct.names if conjunct.positive else set())
                if asked
                else set()
            )
            if (
                unknown
                and asked
                and not (
                    asked.operator == COUNT
                    and isinstance(asked.term, Variable)
                    and not asked.negated
                )
            ):
                return 9, 0
            if not open_:
                return 1, 0
            if not conjunct.positive:
                return 9, 0
            fixed = len(_fixed(conjunct, known))
            return (2 if fixed else 5), -fixed
        if isinstance(conjunct, External):
            return (3 if names_in(*conjunct.inputs) <= known else 9), 0
        shared = self._shared(conjunct)
        opens = _opened(conjunct, known)
        guards = names_in(*(term for _, term in conjunct.guards)) - opens
        return (4 if shared | guards <= known else 9), 0

    def _shared(self, aggregate: Aggregate) -> set[str]:
        """The global variables of an aggregate."""
        return names_of(replace(aggregate, guards=())) & self.outer

    def _step(self, chosen: int, known: set[str], before: bool) -> Step:
        conjunct = self.body[chosen]
        if isinstance(conjunct, StreamingPattern):
            return _join(conjunct, known, before)
        if isinstance(conjunct, ComparisonLiteral):
            return _compare(conjunct, known)
        if isinstance(conjunct, External):
            return Call(conjunct, frozenset(names_in(*conjunct.outputs) - known))
        shared = tuple(sorted(self._shared(conjunct)))
        elements = []
        for element in conjunct.elements:
            wanted = frozenset({GROUP, *names_in(*element.terms)})
            inner = Planner(self.elements(element.body), wanted, self.elements, self.outer)
            elements.append((inner.plan(bound=(GROUP, *shared)).steps, element.terms))
        return AggregateStep(conjunct, shared, tuple(elements), _opened(conjunct, known))


def _is_ready(comparison: ComparisonLiteral, known: set[str]) -> bool:
    return (
        names_in(comparison.left, comparison.right) <= known
        or _assigned(comparison, known) is not None
    )


def _assigned(comparison: ComparisonLiteral, known: set[str]) -> str | None:
    """The variable that a comparison binds."""
    if comparison.relation == "=" and not comparison.negated:
        for one, other in (
            (comparison.left, comparison.right),
            (comparison.right, comparison.left),
        ):
            if isinstance(one, Variable) and one.name not in known and names_in(other) <= known:
                return one.name
    return None


def _opened(aggregate: Aggregate, known: set[str]) -> frozenset[str]:
    """The variables that an aggregate binds."""
    equal = [
        term for relation, term in aggregate.guards if relation == "=" and not aggregate.negated
    ]
    return frozenset(
        term.name for term in equal if isinstance(term, Variable) and term.name not in known
    )


def _compare(comparison: ComparisonLiteral, known: set[str]) -> Compare:
    gives = _assigned(comparison, known)
    if gives is not None and not (
        isinstance(comparison.left, Variable) and comparison.left.name == gives
    ):
        comparison = replace(comparison, left=comparison.right, right=comparison.left)
    return Compare(comparison, gives)


def _join(pattern: StreamingPattern, known: set[str], before: bool) -> JoinStep | Check:
    asked = pattern.threshold
    if asked is None or not pattern.positive:
        if pattern.names <= known:
            return Check(pattern, before)
    fixed = _fixed(pattern, known)
    new: list[tuple[int, str]] = []
    equal: list[tuple[int, int]] = []
    place: dict[str, int] = {}
    for i, source in enumerate(pattern.arguments):
        if isinstance(source, str) and source not in known:
            if source in place:
                equal.append((place[source], i))
            else:
                place[source] = i
                new.append((i, source))
    count = None
    if (
        asked
        and asked.operator == COUNT
        and isinstance(asked.term, Variable)
        and asked.term.name not in known | set(place)
    ):
        count = asked.term.name
    positions, sources = tuple(i for i, _ in fixed), tuple(source for _, source in fixed)
    return JoinStep(pattern, positions, sources, tuple(new), tuple(equal), count, before)


def _fixed(pattern: StreamingPattern, known: set[str]) -> list[tuple[int, Source]]:
    """The arguments that are bound, by place."""
    return [
        (i, source)
        for i, source in enumerate(pattern.arguments)
        if isinstance(source, int) or source in known
    ]


def _given(step: Step) -> set[str]:
    """The variables that a step binds."""
    if isinstance(step, JoinStep):
        return {name for _, name in step.new} | ({step.count} if step.count else set())
    if isinstance(step, Call):
        return set(step.new)
    if isinstance(step, AggregateStep):
        return set(step.gives)
    return {step.gives} if isinstance(step, Compare) and step.gives else set()


def _asked(step: Step) -> set[str]:
    """The variables that a step needs."""
    if isinstance(step, JoinStep | Check):
        own = isinstance(step, JoinStep) and step.own
        return names_of(step.pattern) | ({COUNTED} if own else set())
    if isinstance(step, Compare):
        return names_of(step.comparison)
    if isinstance(step, Call):
        return names_of(step.external)
    return set(step.shared) | names_in(*(term for _, term in step.aggregate.guards))

"""Safety: every variable that must be bound is, and in which order of the body (docs/RULES.md).

`ordered` gives the body in an order in which, from left to right, each literal has what it
needs. The engine and the reference take it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from shiq.streams.rules.syntax import (
    AT_MOST,
    COUNT,
    Aggregate,
    AggregateElement,
    ComparisonLiteral,
    External,
    Literal,
    ProgramProblem,
    StreamRule,
    Term,
    Variable,
    WindowedLiteral,
    names_in,
    variables,
)


def occurrences(literal: Literal) -> list[Variable]:
    """The variables of a literal, as they occur in its text."""
    if isinstance(literal, WindowedLiteral):
        terms = [*literal.atom.arguments, *((literal.count,) if literal.count else ())]
    elif isinstance(literal, ComparisonLiteral):
        terms = [literal.left, literal.right]
    elif isinstance(literal, External):
        terms = [*literal.inputs, *literal.outputs]
    else:
        inner = [variable for element in literal.elements for variable in _of_element(element)]
        found = [*inner, *(variable for _, term in literal.guards for variable in variables(term))]
        return sorted(found, key=lambda variable: variable.position)
    return [variable for term in terms for variable in variables(term)]


def _of_element(element: AggregateElement) -> list[Variable]:
    inside = [variable for literal in element.body for variable in occurrences(literal)]
    return [*(variable for term in element.terms for variable in variables(term)), *inside]


def global_names(rule: StreamRule) -> set[str]:
    """The variables that occur outside the elements of aggregates."""
    found = names_in(*rule.head.arguments)
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            found |= names_in(*(term for _, term in literal.guards))
        else:
            found |= {variable.name for variable in occurrences(literal)}
    return found


def _plain(terms: Iterable[Term]) -> set[str]:
    return {term.name for term in terms if isinstance(term, Variable)}


def needed_and_bound(literal: Literal, outer: Set[str]) -> tuple[set[str], set[str]]:
    """The variables that must be bound before ``literal`` is reached, and those that it binds;
    of an equation where either side may be bound, those of the right. ``outer``: the global
    variables of the rule.
    """
    if isinstance(literal, WindowedLiteral):
        arguments, counted = (
            names_in(*literal.atom.arguments),
            names_in(*([literal.count] if literal.count else [])),
        )
        if literal.negated or (literal.operator == AT_MOST and not literal.binds):
            return arguments | counted, set()
        bound = _plain(literal.atom.arguments)
        if literal.operator == COUNT and isinstance(literal.count, Variable):
            return arguments - bound, bound | counted
        return (arguments | counted) - bound, bound
    if isinstance(literal, ComparisonLiteral):
        return names_in(literal.left, literal.right), set()
    if isinstance(literal, External):
        outputs = names_in(*literal.outputs)
        return names_in(*literal.inputs) | (outputs - _plain(literal.outputs)), _plain(
            literal.outputs
        )
    inside = {variable.name for element in literal.elements for variable in _of_element(element)}
    needed = inside & outer
    bound = set[str]()
    for relation, term in literal.guards:
        if relation == "=" and isinstance(term, Variable) and not literal.negated:
            bound.add(term.name)
        else:
            needed |= names_in(term)
    return needed, bound - needed


def is_ready(literal: Literal, bound: Set[str], outer: Set[str]) -> bool:
    """Whether ``literal`` has what it needs."""
    if isinstance(literal, ComparisonLiteral) and literal.relation == "=" and not literal.negated:
        left, right = names_in(literal.left) - bound, names_in(literal.right) - bound
        if not right and left:
            return isinstance(literal.left, Variable)
        if not left and right:
            return isinstance(literal.right, Variable)
    return needed_and_bound(literal, outer)[0] <= bound


def sequence(
    body: Sequence[Literal], bound: Set[str], outer: Set[str]
) -> tuple[list[Literal], list[Literal], set[str]]:
    """``body`` in an order in which each literal is ready, tests first; the literals that never
    are; what is bound then.
    """
    order: list[Literal] = []
    waiting, known = list(body), set(bound)
    while True:
        ready = [literal for literal in waiting if is_ready(literal, known, outer)]
        if not ready:
            return order, waiting, known
        following = next(
            (literal for literal in ready if not _own(literal, outer) - known), ready[0]
        )
        order.append(following)
        waiting.remove(following)
        known |= _own(following, outer)


def _own(literal: Literal, outer: Set[str]) -> set[str]:
    """The variables that are bound once ``literal`` held."""
    if isinstance(literal, Aggregate):
        return needed_and_bound(literal, outer)[1]
    return {variable.name for variable in occurrences(literal)}


def ordered(rule: StreamRule, at_most_binds: bool, problems: list[ProgramProblem]) -> StreamRule:
    """``rule`` with its body in order; its unsafe variables are told to ``problems``, each where
    it occurs first.

    ``at_most_binds``: a positive at most whose variables nothing else binds ranges over the
    atoms with m ≥ 1.
    """
    outer = global_names(rule)
    order, stuck, known = sequence(rule.body, set(), outer)
    while at_most_binds and (binding := _binding(stuck)) is not None:
        marked = [
            replace(binding, binds=True) if literal is binding else literal
            for literal in (*order, *stuck)
        ]
        order, stuck, known = sequence(marked, set(), outer)
    needed = (needed_and_bound(literal, outer)[0] for literal in stuck)
    unsafe = names_in(*rule.head.arguments).union(*needed) - known
    whole = [variable for term in rule.head.arguments for variable in variables(term)]
    could = {
        variable.name
        for literal in stuck
        if _may_bind(literal)
        for variable in occurrences(literal)
    }
    _tell(
        unsafe,
        [*whole, *(variable for literal in rule.body for variable in occurrences(literal))],
        problems,
        could,
    )
    done = [_inside(literal, known | unsafe, problems) for literal in order]
    return replace(rule, body=tuple(done))


def _binding(stuck: Iterable[Literal]) -> WindowedLiteral | None:
    return next(
        (
            literal
            for literal in stuck
            if isinstance(literal, WindowedLiteral) and _may_bind(literal)
        ),
        None,
    )


def _may_bind(literal: Literal) -> bool:
    """Whether it is an at most that could bind its variables, and does not."""
    if not isinstance(literal, WindowedLiteral):
        return False
    return literal.operator == AT_MOST and not literal.negated and not literal.binds


def _inside(literal: Literal, known: Set[str], problems: list[ProgramProblem]) -> Literal:
    """An aggregate with the bodies of its elements in order."""
    if not isinstance(literal, Aggregate):
        return literal
    elements = []
    for element in literal.elements:
        order, stuck, bound = sequence(element.body, known, set())
        needed = (needed_and_bound(inner, set())[0] for inner in stuck)
        _tell(names_in(*element.terms).union(*needed) - bound, _of_element(element), problems)
        body = tuple(inner for inner in order if not isinstance(inner, Aggregate))
        elements.append(replace(element, body=body))
    return replace(literal, elements=tuple(elements))


def _tell(
    unsafe: Set[str],
    places: Iterable[Variable],
    problems: list[ProgramProblem],
    could: Set[str] = frozenset(),
) -> None:
    """Name the ``unsafe`` variables, each where it is first; ``could``: those that an at most
    would bind if it might.
    """
    for name in sorted(unsafe):
        first = min(
            (variable for variable in places if variable.name == name),
            key=lambda variable: variable.position,
        )
        if first.is_anonymous:
            said = (
                "unsafe: _ is bound by nothing here; use it in positive literals only, "
                "or leave the argument to a rule of its own"
            )
        else:
            said = f"unsafe: the variable {name} is bound by no positive literal; add one that has it as an argument"
            said += ", or let at most bind it (--at-most-binds)" if name in could else ""
        problems.append(ProgramProblem(first.position, said))

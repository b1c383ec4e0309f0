"""Rewriting: ``_`` under ``not`` and ``at most``, and predicates whose arguments tell their
rules apart.

Both add predicates that no program can name: ``p#x_`` is p without its second argument; ``p#1``
is what of p rule 1, input and facts give. docs/THEORY.md, "Stream rules in columns", has what is
shown of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shiq.streams.rules.splitting import arcs, components
from shiq.streams.rules.syntax import (
    AT_MOST,
    COUNT,
    FLIPPED,
    Aggregate,
    Atom,
    ComparisonLiteral,
    Constant,
    Literal,
    ProgramProblem,
    StreamRule,
    Term,
    Value,
    Variable,
    WindowedLiteral,
    compare,
)

#: Programs are given no more predicates that divide others.
_MOST_PARTS = 256
#: A comparison of a variable with a constant, as (relation, constant).
Bound = tuple[str, Value]
Change = Callable[[WindowedLiteral, Mapping[str, Sequence[Bound]]], WindowedLiteral]


def rewrite(rule: StreamRule, change: Change) -> StreamRule:
    """``rule`` with each streaming literal changed, those of aggregates too, by what bounds its
    variables.
    """
    outer = _bounds(rule.body)

    def changed(literal: Literal) -> Literal:
        if isinstance(literal, WindowedLiteral):
            return change(literal, outer)
        if not isinstance(literal, Aggregate):
            return literal
        elements = []
        for element in literal.elements:
            inner = _bounds((*rule.body, *element.body))
            body = tuple(
                change(one, inner) if isinstance(one, WindowedLiteral) else one
                for one in element.body
            )
            elements.append(replace(element, body=body))
        return replace(literal, elements=tuple(elements))

    return replace(rule, body=tuple(map(changed, rule.body)))


def _bounds(body: Iterable[Literal]) -> dict[str, list[Bound]]:
    """What the comparisons of a body say of single variables; a counted variable is an integer
    from 1 on.
    """
    found: dict[str, list[Bound]] = {}
    for literal in body:
        if isinstance(literal, ComparisonLiteral) and not literal.negated:
            for one, other, relation in (
                (literal.left, literal.right, literal.relation),
                (literal.right, literal.left, FLIPPED[literal.relation]),
            ):
                if isinstance(one, Variable) and isinstance(other, Constant):
                    found.setdefault(one.name, []).append((relation, other.value))
        elif (
            isinstance(literal, WindowedLiteral)
            and literal.operator == COUNT
            and not literal.negated
        ):
            if isinstance(literal.count, Variable):
                found.setdefault(literal.count.name, []).append((">=", 1))
    return found


# --- the anonymous variable -----------------------------------------------------------------------


def project(
    rules: Iterable[StreamRule], at_most_binds: bool, problems: list[ProgramProblem]
) -> list[StreamRule]:
    """``rules`` in which no negated literal and no at most has ``_`` as an argument: they are
    about projections.

    ``at_most_binds``: an at most ranges over atoms, and stays as it is.
    """
    rules, added = list(rules), dict[str, StreamRule]()
    temporary = {rule.head.predicate for rule in rules if rule.temporary}

    def projected(literal: WindowedLiteral, _: object) -> WindowedLiteral:
        arguments = literal.atom.arguments
        anonymous = [
            isinstance(argument, Variable) and argument.is_anonymous for argument in arguments
        ]
        if not any(anonymous) or not (
            literal.negated or (literal.operator == AT_MOST and not at_most_binds)
        ):
            return literal
        if literal.window is not None and literal.atom.predicate in temporary:
            said = f"_ in a window over {literal.atom.predicate}, of which a rule is #temp; give the projection a rule of its own"
            problems.append(ProgramProblem(literal.position, said))
            return literal
        name = f"{literal.atom.name}#{''.join('_' if skipped else 'x' for skipped in anonymous)}"
        kept = tuple(argument for argument, skipped in zip(arguments, anonymous) if not skipped)
        if name not in added:
            own = tuple(
                Variable(f"_{i}" if skipped else f"A{i}") for i, skipped in enumerate(anonymous, 1)
            )
            head = Atom(
                name, tuple(variable for variable, skipped in zip(own, anonymous) if not skipped)
            )
            body = (WindowedLiteral(Atom(literal.atom.name, own), position=literal.position),)
            added[name] = StreamRule(
                head, body, number=len(rules) + len(added), position=literal.position
            )
        return replace(literal, atom=replace(literal.atom, name=name, arguments=kept))

    return [*(rewrite(rule, projected) for rule in rules), *added.values()]


# --- predicates by their arguments ----------------------------------------------------------------


@dataclass
class SeparatedRules:
    """``rules`` with parts of predicates in the place of these; ``parts``: for each predicate
    those that hold its input, too.
    """

    rules: list[StreamRule]
    parts: dict[str, list[str]] = field(default_factory=dict)


def separate(rules: Sequence[StreamRule]) -> SeparatedRules:
    """``rules`` in which a literal on a cycle is about a part of its predicate, where its
    arguments exclude some rules' heads.
    """
    recursive = _recursive(rules)
    by_head: dict[str, list[StreamRule]] = {}
    for rule in rules:
        by_head.setdefault(rule.head.predicate, []).append(rule)
    heads = {rule.number: _bounds(rule.body) for rule in rules}
    wanted: dict[tuple[str, tuple[int, ...]], str] = {}

    def divided(literal: WindowedLiteral, bounds: Mapping[str, Sequence[Bound]]) -> WindowedLiteral:
        own = by_head.get(literal.atom.predicate, [])
        fitting = tuple(
            rule.number
            for rule in own
            if all(
                _may_be_equal(one, bounds, other, heads[rule.number])
                for one, other in zip(literal.atom.arguments, rule.head.arguments)
            )
        )
        if (
            literal.atom.predicate not in recursive
            or len(fitting) == len(own)
            or len(wanted) >= _MOST_PARTS
        ):
            return literal
        name = wanted.setdefault(
            (literal.atom.predicate, fitting),
            f"{literal.atom.name}#{','.join(map(str, fitting)) or '-'}",
        )
        return replace(literal, atom=replace(literal.atom, name=name))

    found = SeparatedRules([rewrite(rule, divided) for rule in rules])
    by_number = {rule.number: rule for rule in found.rules}
    for (predicate, fitting), name in wanted.items():
        part = f"{name}/{predicate.rpartition('/')[2]}"
        found.parts.setdefault(predicate, []).append(part)
        for number in fitting:
            rule = by_number[number]
            found.rules.append(
                replace(rule, head=replace(rule.head, name=name), number=len(found.rules))
            )
    return found


def _recursive(rules: Sequence[StreamRule]) -> set[str]:
    """The predicates on cycles."""
    following: dict[str, list[str]] = {}
    every = arcs(rules)
    for arc in every:
        following.setdefault(arc.source, []).append(arc.target)
    found = {arc.source for arc in every if arc.source == arc.target}
    for members in components(list(following), following):
        found |= set(members) if len(members) > 1 else set()
    return found


def _may_be_equal(
    one: Term,
    bounds: Mapping[str, Sequence[Bound]],
    other: Term,
    others: Mapping[str, Sequence[Bound]],
) -> bool:
    """Whether two arguments may have one value, by the constants that they are or are compared
    with.
    """
    if isinstance(one, Constant) and isinstance(other, Constant):
        return one.value == other.value
    if isinstance(one, Constant) and isinstance(other, Variable):
        return _fits(one.value, others.get(other.name, ()))
    if isinstance(one, Variable) and isinstance(other, Constant):
        return _fits(other.value, bounds.get(one.name, ()))
    return True


def _fits(value: Value, bounds: Collection[Bound]) -> bool:
    return all(compare(value, relation, bound) for relation, bound in bounds)

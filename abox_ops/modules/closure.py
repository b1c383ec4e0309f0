"""A_add by element, and written back as assertions: what was kept of A ∪ A⁺, and the remedies
(THEORY, "The add set":
|A_add|).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.abox_ops.elements.normal import normalise
from shiq.abox_ops.elements.quotient import Partition
from shiq.abox_ops.labels.calculus import Label
from shiq.abox_ops.modules.components import KeptAssertions
from shiq.model.roles import RoleBox, role_of


@dataclass(frozen=True)
class Closure:
    """``seen``: I; ``labels``: told⁺ of I and of the touched; ``touched``: elements of A⁺;
    ``contradictory``: elements of I whose label clashes; ``kept``: A_add without them;
    ``remedies``: (element, name, positive) that stand for role assertions which were dropped
    (definition7).
    """

    seen: frozenset[str]
    labels: dict[str, Label]
    touched: frozenset[str]
    contradictory: frozenset[str]
    kept: KeptAssertions
    remedies: frozenset[tuple[str, str, bool]] = field(default=frozenset())


def kept_assertions(
    closure: Closure,
    elements: Partition[str],
    about: Callable[[str], Sequence[owl.Assertion]],
    roles: RoleBox,
) -> Iterator[owl.Assertion]:
    """The distinct assertions of A ∪ A⁺ that are kept, by individual, then remedies that are not
    asserted anyway.

    Class assertions, sameAs and what cannot be decided at an element of I are kept; role and
    data assertions where the closure keeps them (not at elements that contradict themselves);
    literals that are merely derived are not counted.
    """
    find = elements.find
    asserted: set[tuple[str, str, bool]] = set()
    for element in sorted(closure.seen):
        for individual in elements.members(element):
            for assertion in about(individual):
                match assertion:
                    case owl.ClassAssertion():
                        asserted |= {
                            (element, *literal)
                            for plain in normalise(assertion, roles).assertions
                            if isinstance(plain, owl.ClassAssertion)
                            and (literal := _literal(plain)) is not None
                        }
                        yield assertion
                    case owl.ObjectPropertyAssertion(property, subject, object):
                        if (
                            individual == subject
                            and (element, role_of(property), find(object)) in closure.kept.edges
                        ):
                            yield assertion
                    case owl.DataPropertyAssertion(property, _, literal):
                        if (element, property.iri, literal) in closure.kept.data:
                            yield assertion
                    case owl.NegativeDataPropertyAssertion():
                        yield assertion
                    case owl.NegativeObjectPropertyAssertion(
                        _, first, second
                    ) | owl.DifferentIndividuals(first, second):
                        if individual == first and find(second) in closure.seen:
                            yield assertion
                    case owl.SameIndividual(first, second):
                        if individual == first:
                            yield assertion
    for element, name, positive in sorted(closure.remedies):
        if (element, name, positive) not in asserted:
            concept = owl.Class(name) if positive else owl.ObjectComplementOf(owl.Class(name))
            yield owl.ClassAssertion(concept, element)


def _literal(assertion: owl.ClassAssertion) -> tuple[str, bool] | None:
    match assertion.expression:
        case owl.Class(iri):
            return (iri, True)
        case owl.ObjectComplementOf(owl.Class(iri)):
            return (iri, False)
    return None

"""A_add written back as assertions: what was kept of A ∪ A⁺, and the remedies (THEORY.md 2.4, |A_add|)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from abox_ops.clausal.reference import Closure
from abox_ops.elements.normal import normalise
from abox_ops.elements.quotient import Partition
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DataPropertyAssertion,
    DifferentIndividuals,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectComplementOf,
    ObjectPropertyAssertion,
    SameIndividual,
)
from shiq.roles import RoleBox, role_of


def kept_assertions(
    closure: Closure, elements: Partition[str], about: Callable[[str], Sequence[Assertion]], roles: RoleBox
) -> Iterator[Assertion]:
    """The distinct assertions of A ∪ A⁺ that are kept, by individual, then remedies that are not asserted anyway.

    Class assertions, sameAs and what cannot be decided at an element of I are kept; role and data assertions where the closure
    keeps them (not at elements that contradict themselves); literals that are merely derived are not counted.
    """
    find = elements.find
    asserted: set[tuple[str, str, bool]] = set()
    for element in sorted(closure.seen):
        for individual in elements.members(element):
            for assertion in about(individual):
                match assertion:
                    case ClassAssertion():
                        asserted |= {
                            (element, *literal)
                            for plain in normalise(assertion, roles).assertions
                            if isinstance(plain, ClassAssertion) and (literal := _literal(plain)) is not None
                        }
                        yield assertion
                    case ObjectPropertyAssertion(property, subject, object):
                        if individual == subject and (element, role_of(property), find(object)) in closure.kept.edges:
                            yield assertion
                    case DataPropertyAssertion(property, _, literal):
                        if (element, property.iri, literal) in closure.kept.data:
                            yield assertion
                    case NegativeDataPropertyAssertion():
                        yield assertion
                    case NegativeObjectPropertyAssertion(_, first, second) | DifferentIndividuals(first, second):
                        if individual == first and find(second) in closure.seen:
                            yield assertion
                    case SameIndividual(first, second):
                        if individual == first:
                            yield assertion
    for element, name, positive in sorted(closure.remedies):
        if (element, name, positive) not in asserted:
            concept = Class(name) if positive else ObjectComplementOf(Class(name))
            yield ClassAssertion(concept, element)


def _literal(assertion: ClassAssertion) -> tuple[str, bool] | None:
    match assertion.expression:
        case Class(iri):
            return (iri, True)
        case ObjectComplementOf(Class(iri)):
            return (iri, False)
    return None

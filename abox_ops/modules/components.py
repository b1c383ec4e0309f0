"""Modules: connected components of the kept assertions (THEORY, "Modules"), and A_add as assertions
with its size (THEORY, "The add set").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiq import model as owl
from shiq.abox_ops.elements.element_graph import ElementGraph
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.model import Literal
from shiq.model.roles import Role, RoleBox, role_of
from shiq.partition import Partition
from shiq.reasoner.protocol import Module


@dataclass
class KeptAssertions:
    """A_add as sets of assertions over elements: labels, role assertions (subject, named role,
    object), inequalities, negative assertions, data.
    """

    labels: Mapping[str, Label]
    edges: set[tuple[str, Role, str]] = field(default_factory=set)
    negative_edges: set[tuple[str, Role, str]] = field(default_factory=set)
    different: set[tuple[str, str]] = field(default_factory=set)
    data: set[tuple[str, str, Literal]] = field(default_factory=set)
    negative_data: set[tuple[str, str, Literal]] = field(default_factory=set)

    def keep_negative(self, graph: ElementGraph, element: str) -> None:
        """Add the negative assertions and inequalities of ``element``; those with another element
        only if that is in A_add too.
        """
        self.negative_edges |= {
            (element, r, b)
            for r, b in graph.negative_neighbours(element)
            if not r.is_inverse and b in self.labels
        }
        self.different |= {
            (min(element, b), max(element, b))
            for b in graph.unequal_elements(element)
            if b in self.labels
        }
        self.negative_data |= {(element, p, v) for p, v in graph.negative_values(element)}


def component_modules(
    kept: KeptAssertions, members: Mapping[str, tuple[str, ...]] | None = None
) -> list[NamedModule]:
    """Split ``kept`` into the components of its role assertions, ordered by their least elements.

    Between components, inequalities and negative role assertions hold anyway: the domains of the
    components' models are disjoint, since there are no nominals. Inside a component they are kept.
    """
    components: Partition[str] = Partition()
    for subject, _, object in kept.edges:
        components.union(subject, object)
    names = sorted({components.find(e) for e in kept.labels})
    node = {e: i for name in names for i, e in enumerate(components.members(name))}
    facts: dict[str, dict[str, set[Any]]] = {name: defaultdict(set) for name in names}
    for kind, rows in (("edges", kept.edges), ("negative_edges", kept.negative_edges)):
        for a, role, b in rows:
            if components.find(a) == components.find(b):
                facts[components.find(a)][kind].add((node[a], role, node[b]))
    for a, b in kept.different:
        if components.find(a) == components.find(b):
            ends = min(node[a], node[b]), max(node[a], node[b])
            facts[components.find(a)]["different"].add(ends)
    for kind, values in (("data", kept.data), ("negative_data", kept.negative_data)):
        for a, property, literal in values:
            facts[components.find(a)][kind].add((node[a], property, literal))
    found = []
    for name in names:
        elements, parts = components.members(name), facts[name]
        labels = [kept.labels.get(e, EMPTY) for e in elements]
        module = Module(
            tuple(label[0] for label in labels),
            tuple(label[1] for label in labels),
            tuple(sorted(parts["edges"])),
            tuple(sorted(parts["negative_edges"])),
            tuple(sorted(parts["different"])),
            tuple(sorted(parts["data"], key=repr)),
            tuple(sorted(parts["negative_data"], key=repr)),
        )
        found.append(NamedModule(module, tuple(members[e] if members else (e,) for e in elements)))
    return found


@dataclass(frozen=True)
class Closure:
    """A_add and the elements of one check as dictionaries, in the form of the executable
    specification.

    region: I. labels: told⁺ of I and of the touched elements. touched_elements: elements of A⁺.
    contradictory: elements of I whose label clashes. add_set: A_add without these.
    remedies: (element, name, positive), in place of dropped role assertions (definition7).
    """

    region: frozenset[str]
    labels: dict[str, Label]
    touched_elements: frozenset[str]
    contradictory: frozenset[str]
    add_set: KeptAssertions
    remedies: frozenset[tuple[str, str, bool]] = field(default=frozenset())


def kept_assertions(
    closure: Closure,
    elements: Partition[str],
    about: Callable[[str], Sequence[owl.Assertion]],
    roles: RoleBox,
) -> Iterator[owl.Assertion]:
    """Iterate over the assertions of A ∪ A⁺ that are kept, by individual, then the remedies that
    are not asserted.

    Class assertions, sameAs and what cannot be decided at an element of I are kept; role and
    data assertions where the closure keeps them (not at elements that contradict themselves);
    literals that are merely derived are not counted.
    """
    find = elements.find
    asserted: set[tuple[str, str, bool]] = set()
    for element in sorted(closure.region):
        for individual in elements.members(element):
            for assertion in about(individual):
                match assertion:
                    case owl.ClassAssertion():
                        asserted |= {
                            (element, *literal)
                            for plain in normalise(assertion, roles).assertions
                            if isinstance(plain, owl.ClassAssertion)
                            and (literal := _literal_of_assertion(plain)) is not None
                        }
                        yield assertion
                    case owl.ObjectPropertyAssertion(property, subject, object):
                        if (
                            individual == subject
                            and (element, role_of(property), find(object)) in closure.add_set.edges
                        ):
                            yield assertion
                    case owl.DataPropertyAssertion(property, _, literal):
                        if (element, property.iri, literal) in closure.add_set.data:
                            yield assertion
                    case owl.NegativeDataPropertyAssertion():
                        yield assertion
                    case owl.NegativeObjectPropertyAssertion(
                        _, first, second
                    ) | owl.DifferentIndividuals(first, second):
                        if individual == first and find(second) in closure.region:
                            yield assertion
                    case owl.SameIndividual(first, second):
                        if individual == first:
                            yield assertion
    for element, name, positive in sorted(closure.remedies):
        if (element, name, positive) not in asserted:
            concept = owl.Class(name) if positive else owl.ObjectComplementOf(owl.Class(name))
            yield owl.ClassAssertion(concept, element)


def _literal_of_assertion(assertion: owl.ClassAssertion) -> tuple[str, bool] | None:
    """The literal (name, positive) of a class assertion on a (negated) name; None for others."""
    match assertion.expression:
        case owl.Class(iri):
            return (iri, True)
        case owl.ObjectComplementOf(owl.Class(iri)):
            return (iri, False)
    return None

"""Modules: connected components of the kept assertions (THEORY, "Modules"), and A_add as assertions
with its size (THEORY, "The add set").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiq import model as owl
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.model import Literal
from shiq.model.roles import Role, role_of
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


def kept_assertions(
    kept: KeptAssertions,
    region: Collection[str],
    elements: Partition[str],
    about: Callable[[str], Sequence[owl.Assertion]],
) -> Iterator[owl.Assertion]:
    """Iterate over the assertions of A ∪ A⁺ that are kept, by individual.

    Class assertions, sameAs and what cannot be decided at an element of ``region`` are kept; role
    and data assertions where ``kept`` has them (not at elements that contradict themselves);
    literals that are merely derived are not counted.
    """
    find = elements.find
    for element in sorted(region):
        for individual in elements.members(element):
            for assertion in about(individual):
                match assertion:
                    case owl.ClassAssertion() | owl.NegativeDataPropertyAssertion():
                        yield assertion
                    case owl.ObjectPropertyAssertion(property, subject, object):
                        edge = (element, role_of(property), find(object))
                        if individual == subject and edge in kept.edges:
                            yield assertion
                    case owl.DataPropertyAssertion(property, _, literal):
                        if (element, property.iri, literal) in kept.data:
                            yield assertion
                    case owl.NegativeObjectPropertyAssertion(
                        _, first, second
                    ) | owl.DifferentIndividuals(first, second):
                        if individual == first and find(second) in region:
                            yield assertion
                    case owl.SameIndividual(first, second):
                        if individual == first:
                            yield assertion

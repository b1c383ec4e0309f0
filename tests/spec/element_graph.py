"""Graph of elements: normalised assertions seen from each element.

An *element* is a class of individuals that are equal for certain (THEORY, "Beyond SHIQ(D), at no
loss"), named by its least member. `ElementGraph` maps each element to its asserted literals, its
role assertions from either end, and its data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.abox_ops.labels.label_calculus import EMPTY, Label, contradiction_label, join
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, role_of
from shiq.partition import Partition


@dataclass
class ElementGraph:
    """Graph over the elements of a small ABox: normalised assertions by individual, with a
    partition into equal individuals.

    ``literals``: asserted label by individual; ``half_edges``: (role, neighbour) by individual,
    each role assertion from both ends (roles signed: R from the subject, R⁻ from the object);
    ``data``/``negative_data``: (property, literal) by individual;
    ``different``/``negative_edges``: by individual likewise from both ends. Neighbours are
    individuals: look them up through ``elements``.
    """

    tbox: ClausalTBox
    elements: Partition[str] = field(default_factory=Partition)
    individuals: set[str] = field(default_factory=set)
    literals: dict[str, Label] = field(default_factory=dict)
    half_edges: dict[str, set[tuple[Role, str]]] = field(default_factory=lambda: defaultdict(set))
    negative_edges: dict[str, set[tuple[Role, str]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    data: dict[str, set[tuple[str, owl.Literal]]] = field(default_factory=lambda: defaultdict(set))
    negative_data: dict[str, set[tuple[str, owl.Literal]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    different: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, assertion: owl.Assertion) -> None:
        """Add one normalised assertion (see `shiq.abox_ops.elements.normal_assertions`)."""
        ids = self.tbox.atom_ids
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                self.individuals.add(individual)
                label = (
                    contradiction_label(self.tbox) if iri == owl.NOTHING.iri else (1 << ids[iri], 0)
                )
                self.literals[individual] = join(self.literals.get(individual, EMPTY), label)
            case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), individual):
                self.individuals.add(individual)
                self.literals[individual] = join(
                    self.literals.get(individual, EMPTY), (0, 1 << ids[iri])
                )
            case owl.ObjectPropertyAssertion(property, subject, object):
                self._add_both_ways(self.half_edges, role_of(property), subject, object)
            case owl.NegativeObjectPropertyAssertion(property, subject, object):
                self._add_both_ways(self.negative_edges, role_of(property), subject, object)
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                self.individuals.add(subject)
                self.data[subject].add((iri, literal))
            case owl.NegativeDataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                self.individuals.add(subject)
                self.negative_data[subject].add((iri, literal))
            case owl.SameIndividual(first, second):
                self.individuals |= {first, second}
                self.elements.union(first, second)
            case owl.DifferentIndividuals(first, second):
                self.individuals |= {first, second}
                self.different[first].add(second)
                self.different[second].add(first)
            case _:
                raise TypeError(assertion)

    def _add_both_ways(
        self, table: dict[str, set[tuple[Role, str]]], role: Role, subject: str, object: str
    ) -> None:
        """Record a pair of individuals under ``role`` at both ends."""
        self.individuals |= {subject, object}
        table[subject].add((role, object))
        table[object].add((role.inverse, subject))

    # --- by element -------------------------------------------------------------------------------

    def element_names(self) -> Iterable[str]:
        """The elements, each by its name."""
        find = self.elements.find
        return {find(i) for i in self.individuals}

    def asserted_label(self, element: str) -> Label:
        """The literals asserted at the members of ``element``; a clash where two of its members are
        asserted to be different.
        """
        label = EMPTY
        for member in self.elements.members(element):
            label = join(label, self.literals.get(member, EMPTY))
            if any(
                self.elements.find(other) == element for other in self.different.get(member, ())
            ):
                label = join(label, contradiction_label(self.tbox))
        return label

    def neighbours(self, element: str) -> set[tuple[Role, str]]:
        """(role, element) for every role assertion at ``element``, from its point of view."""
        find = self.elements.find
        return {
            (role, find(other))
            for m in self.elements.members(element)
            for role, other in self.half_edges.get(m, ())
        }

    def negative_neighbours(self, element: str) -> set[tuple[Role, str]]:
        """(role, element) for every negative role assertion at ``element``, from its point of view."""
        find = self.elements.find
        return {
            (role, find(other))
            for m in self.elements.members(element)
            for role, other in self.negative_edges.get(m, ())
        }

    def unequal_elements(self, element: str) -> set[str]:
        """The elements asserted to be different from ``element``."""
        find = self.elements.find
        return {
            find(other)
            for m in self.elements.members(element)
            for other in self.different.get(m, ())
        }

    def values(self, element: str) -> set[tuple[str, owl.Literal]]:
        """(property, literal) for every data assertion at ``element``."""
        return {v for m in self.elements.members(element) for v in self.data.get(m, ())}

    def negative_values(self, element: str) -> set[tuple[str, owl.Literal]]:
        """(property, literal) for every negative data assertion at ``element``."""
        return {v for m in self.elements.members(element) for v in self.negative_data.get(m, ())}

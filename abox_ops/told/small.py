"""The told literals of a small ABox as one function: nothing is opened, stored or remembered.

The fixpoint is `abox_ops.told.reference` (THEORY, "Told literals"), over dictionaries; the engines do the same in columns.

>>> from shiq import model as owl
>>> cat, pet, owns = owl.Class("urn:Cat"), owl.Class("urn:Pet"), owl.ObjectProperty("urn:owns")
>>> tbox = owl.TBox((owl.ObjectPropertyRange(owns, pet), owl.DisjointClasses((cat, pet))))
>>> told = told_fixpoint(tbox, [owl.ObjectPropertyAssertion(owns, "urn:ann", "urn:tom")])
>>> told.literals("urn:tom")
(frozenset({'urn:Pet'}), frozenset({'urn:Cat'}))
>>> told.contradictory
()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from abox_ops.elements.normal import normalise, vocabulary
from abox_ops.elements.reference import ElementGraph
from abox_ops.labels.calculus import Label, LabelSpace, clashes
from abox_ops.labels.data import DataView
from abox_ops.told.reference import told_labels
from shiq.abox import individuals_of
from shiq.clause import Atom, ClausalTBox
from shiq.model import Assertion, TBox
from shiq.roles import role_box
from simplify import simplify


@dataclass(frozen=True)
class ToldFixpoint:
    """What is told of each individual.

    ``clauses``: what the bits of labels refer to (bit i is ``clauses.atoms[i]``);
    ``elements``: by individual, the least of those that are equal to it for certain;
    ``labels``: by element, the told literals (positive, negative).
    """

    clauses: ClausalTBox
    elements: Mapping[str, str]
    labels: Mapping[str, Label]

    def literals(self, individual: str) -> tuple[frozenset[Atom], frozenset[Atom]]:
        """The atoms that are told of ``individual``, and those that are refuted."""
        positive, negative = self.labels[self.elements[individual]]
        atoms = self.clauses.atoms
        return (
            frozenset(atom for i, atom in enumerate(atoms) if positive >> i & 1),
            frozenset(atom for i, atom in enumerate(atoms) if negative >> i & 1),
        )

    @property
    def contradictory(self) -> tuple[str, ...]:
        """The elements that told literals alone refute, ascending; where there are some, the ABox is inconsistent."""
        return tuple(sorted(element for element, label in self.labels.items() if clashes(label)))


def told_fixpoint(tbox: TBox, assertions: Iterable[Assertion]) -> ToldFixpoint:
    """The told literals of (``tbox``, ``assertions``), with the equalities that they entail. The ``tbox`` has to lie in SHIQ(D).

    Takes time in the size of both: TBox and ABox are worked through from scratch.
    """
    given = tuple(dict.fromkeys(assertions))
    roles = role_box(tbox.axioms)
    clauses = simplify(tbox, vocabulary(given, roles)).clauses
    graph = ElementGraph(clauses)
    for assertion in given:
        for plain in normalise(assertion, roles).assertions:
            graph.add(plain)
        graph.individuals.update(individuals_of(assertion))
    space = LabelSpace(clauses)
    labels = told_labels(space, DataView(space), graph)
    return ToldFixpoint(clauses, {i: graph.elements.find(i) for i in sorted(graph.individuals)}, labels)

"""Decide a small ABox from scratch, with asserted labels and all assertions kept: the criterion
`none` on dictionaries. It answers single questions, such as whether a conflict is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shiq import model as owl
from shiq.abox_ops.elements.normal_assertions import collect_vocabulary, name_literal, normalise
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    Label,
    clashes,
    contradiction_label,
    join,
    literal_label,
)
from shiq.abox_ops.modules.components import KeptAssertions, component_modules
from shiq.datatypes import DataTheory
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import role_box, role_of
from shiq.partition import Partition
from shiq.reasoner.protocol import Module
from shiq.simplify import simplify

#: What a normalised assertion says: its kind (a field of `KeptAssertions`), the elements that it is
#: about, and its row there; of the kind ``labels``, an element with a label of one literal.
Fact: TypeAlias = tuple[str, tuple[str, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class ScratchQuestion:
    """The question whether a small ABox is consistent, split into modules that keep every
    assertion.

    tbox: the clauses over which the modules are written.
    elements: the individuals by asserted equality.
    contradictory: elements that contradict by themselves; with any, there is nothing to ask.
    modules: those of the other elements; consistent together if each of them is.
    """

    tbox: ClausalTBox
    elements: Partition[str]
    contradictory: frozenset[str]
    modules: tuple[NamedModule, ...]

    @property
    def unnamed_modules(self) -> list[Module]:
        """The modules without the names of their individuals."""
        return [named.module for named in self.modules]

    @classmethod
    def build(cls, tbox: owl.TBox, assertions: Iterable[owl.Assertion]) -> ScratchQuestion:
        """Build the question whether (``tbox``, ``assertions``), which lies in SHIQ(D), is
        consistent.
        """
        batch = sorted(set(assertions), key=repr)
        vocabulary = collect_vocabulary(batch, role_box(tbox.axioms))
        return cls.over_clauses(simplify(tbox, vocabulary).clauses, batch)

    @classmethod
    def over_clauses(
        cls, tbox: ClausalTBox, assertions: Sequence[owl.Assertion]
    ) -> ScratchQuestion:
        """Build the question over clauses that have the names and definitions of ``assertions``."""
        elements: Partition[str] = Partition()
        plain = [p for a in assertions for p in normalise(a, tbox.roles).assertions]
        for assertion in plain:
            if isinstance(assertion, owl.SameIndividual):
                elements.union(assertion.first, assertion.second)
        facts = {fact for p in plain if (fact := fact_of_assertion(tbox, elements.find, p))}
        labels = {elements.find(i): EMPTY for a in assertions for i in individuals_of(a)}
        theory = DataTheory(tbox.definitions, tbox.roles)
        for kind, ends, row in facts:
            if kind == "labels":
                labels[ends[0]] = join(labels[ends[0]], row[1])
            elif (kind == "different" and ends[0] == ends[1]) or (
                kind == "data" and theory.is_ill_typed(row[2])
            ):
                labels[ends[0]] = join(labels[ends[0]], contradiction_label(tbox))
        contradictory = frozenset(e for e, label in labels.items() if clashes(label))
        rest = {e: label for e, label in labels.items() if e not in contradictory}
        kept = _kept_facts(tbox, facts, rest)
        members = {e: elements.members(e) for e in rest}
        return cls(tbox, elements, contradictory, tuple(component_modules(kept, members)))


def _kept_facts(
    tbox: ClausalTBox, facts: Iterable[Fact], labels: dict[str, Label]
) -> KeptAssertions:
    """Keep the ``facts`` about the elements that ``labels`` has, with these labels; data on the
    properties that T or a negative assertion can see.
    """
    kept = KeptAssertions(labels)
    for kind, ends, row in facts:
        if kind != "labels" and all(end in labels for end in ends):
            getattr(kept, kind).add(row)
    negated = {row[1] for kind, _, row in facts if kind == "negative_data"}
    features = tbox.data_properties | tbox.roles.data_subproperties_of_any(negated)
    kept.data = {row for row in kept.data if row[1] in features}
    return kept


def fact_of_assertion(
    tbox: ClausalTBox, find: Callable[[str], str], plain: owl.Assertion
) -> Fact | None:
    """Translate a normalised assertion to a fact about elements; None for an equality. ``find``:
    gives the element of an individual.
    """
    match plain:
        case owl.ClassAssertion(expression, x):
            return "labels", (find(x),), (find(x), literal_label(tbox, *name_literal(expression)))
        case owl.ObjectPropertyAssertion(property, x, y) | owl.NegativeObjectPropertyAssertion(
            property, x, y
        ):
            kind = "edges" if isinstance(plain, owl.ObjectPropertyAssertion) else "negative_edges"
            role, ends = role_of(property), (find(x), find(y))
            if role.is_inverse:
                role, ends = role.inverse, ends[::-1]
            return kind, ends, (ends[0], role, ends[1])
        case owl.DataPropertyAssertion(property, x, value) | owl.NegativeDataPropertyAssertion(
            property, x, value
        ):
            kind = "data" if isinstance(plain, owl.DataPropertyAssertion) else "negative_data"
            return kind, (find(x),), (find(x), property.iri, value)
        case owl.DifferentIndividuals(x, y):
            pair = tuple(sorted((find(x), find(y))))
            return "different", pair, pair
    return None

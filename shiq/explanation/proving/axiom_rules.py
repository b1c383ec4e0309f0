"""Rules of an axiom: properties, inclusions, disjointness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from shiq import model as owl
from shiq.datatypes import IllTyped
from shiq.explanation.proving.class_rules import ClassRules
from shiq.explanation.proving.steps import (
    Clash,
    Step,
    inclusion_rule,
    inverse_of,
    is_positive,
    negated,
    role_assertion,
)


class AxiomRules(ClassRules):
    """What follows from an axiom and the facts of a round."""

    def _consequences(self) -> Iterator[Step]:
        for axiom in self.axioms:
            yield from self._of_axiom(axiom)
        for sub, sup, axiom in self.inclusions:
            if is_positive(sub):
                for individual in list(self.individuals):
                    premises = self._satisfied(individual, sub)
                    if premises is not None:
                        yield Step(
                            owl.ClassAssertion(sup, individual),
                            inclusion_rule(axiom),
                            premises,
                            axiom,
                        )
            elif self.depth:
                for individual in list(self.individuals):
                    either = owl.ObjectUnionOf((negated(sub), sup))
                    yield Step(owl.ClassAssertion(either, individual), "", (), axiom)
        for fact in list(self.steps):
            match fact:
                case owl.ClassAssertion():
                    yield from self._of_class(fact)
                case owl.SameIndividual():
                    yield from self._of_same(fact)
                case owl.DifferentIndividuals(first, second) if first == second:
                    yield Step(Clash((fact,)), "eq-diff1", (fact,))
                case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), subject, other):
                    for role in self.out[iri, subject]:
                        if role.object == other:
                            yield Step(Clash((role, fact)), "prp-npa1", (role, fact))
                case owl.NegativeDataPropertyAssertion(property, subject, literal):
                    for data in self.values[property.iri, subject]:
                        if self.theory.same(data.literal, literal):
                            yield Step(Clash((data, fact)), "prp-npa2", (data, fact))
                case owl.DataPropertyAssertion(_, _, literal) if isinstance(
                    self.theory.value(literal), IllTyped
                ):
                    yield Step(Clash((fact,)), "dt-not-type", (fact,))

    def _of_axiom(self, axiom: owl.Axiom) -> Iterator[Step]:
        match axiom:
            case owl.SubObjectPropertyOf(sub, sup):
                yield from self._roles(sub, sup, "prp-spo1", axiom)
            case owl.EquivalentObjectProperties(members):
                for first in members:
                    for second in members:
                        if first != second:
                            yield from self._roles(first, second, "prp-eqp1", axiom)
            case owl.InverseObjectProperties(first, second):
                yield from self._roles(first, inverse_of(second), "prp-inv1", axiom)
                yield from self._roles(second, inverse_of(first), "prp-inv2", axiom)
            case owl.SymmetricObjectProperty(property):
                yield from self._roles(property, inverse_of(property), "prp-symp", axiom)
            case owl.TransitiveObjectProperty(property):
                for fact, subject, other in list(self._links(property)):
                    for further, middle, last in self._links(property, other):
                        if middle == other:
                            yield Step(
                                role_assertion(property, subject, last),
                                "prp-trp",
                                (fact, further),
                                axiom,
                            )
            case owl.ObjectPropertyDomain(property, domain):
                for fact, subject, _ in self._links(property):
                    yield Step(owl.ClassAssertion(domain, subject), "prp-dom", (fact,), axiom)
            case owl.ObjectPropertyRange(property, range):
                for fact, _, other in self._links(property):
                    yield Step(owl.ClassAssertion(range, other), "prp-rng", (fact,), axiom)
            case owl.IrreflexiveObjectProperty(property):
                for fact, subject, other in self._links(property):
                    if subject == other:
                        yield Step(Clash((fact,)), "prp-irp", (fact,), axiom)
            case owl.AsymmetricObjectProperty(property):
                for fact, subject, other in self._links(property):
                    for back, _, end in self._links(property, other):
                        if end == subject:
                            yield Step(Clash((fact, back)), "prp-asyp", (fact, back), axiom)
            case owl.DisjointObjectProperties(members):
                rule = "prp-pdw" if len(members) == 2 else "prp-adp"
                for one, two in combinations(members, 2):
                    for fact, subject, other in self._links(one):
                        for again, _, same in self._links(two, subject):
                            if same == other:
                                yield Step(Clash((fact, again)), rule, (fact, again), axiom)
            case owl.FunctionalObjectProperty(property):
                yield from self._at_most(
                    1, property, owl.THING, list(self.individuals), (), axiom, "prp-fp"
                )
            case owl.InverseFunctionalObjectProperty(property):
                yield from self._at_most(
                    1, inverse_of(property), owl.THING, list(self.individuals), (), axiom, "prp-ifp"
                )
            case owl.SubDataPropertyOf(lower, upper):
                yield from self._data(lower.iri, upper, "prp-spo1", axiom)
            case owl.EquivalentDataProperties(properties):
                for lower in properties:
                    for upper in properties:
                        if lower != upper:
                            yield from self._data(lower.iri, upper, "prp-eqp1", axiom)
            case owl.DataPropertyDomain(data_property, domain):
                for data in self.data[data_property.iri]:
                    yield Step(owl.ClassAssertion(domain, data.subject), "prp-dom", (data,), axiom)
            case owl.DataPropertyRange(data_property, data_range):
                for data in self.data[data_property.iri]:
                    if self.theory.contains(data_range, data.literal) is False:
                        yield Step(Clash((data,)), "dt-not-type", (data,), axiom)
            case owl.FunctionalDataProperty(data_property):
                for individual in list(self.individuals):
                    yield from self._data_at_most(
                        1, data_property.iri, owl.TOP_DATATYPE, individual, (), axiom, "prp-fp"
                    )
            case owl.DisjointDataProperties(properties):
                rule = "prp-pdw" if len(properties) == 2 else "prp-adp"
                for lower, upper in combinations(properties, 2):
                    for data in self.data[lower.iri]:
                        for more in self.values[upper.iri, data.subject]:
                            if self.theory.same(data.literal, more.literal):
                                yield Step(Clash((data, more)), rule, (data, more), axiom)
            case owl.DisjointClasses(expressions):
                yield from self._disjoint(expressions, axiom)
            case owl.DisjointUnion(_, expressions):
                yield from self._disjoint(expressions, axiom)

    def _disjoint(
        self, expressions: Sequence[owl.ClassExpression], axiom: owl.Axiom
    ) -> Iterator[Step]:
        rule = "cax-dw" if len(expressions) == 2 else "cax-adc"
        for first, second in combinations(expressions, 2):
            for individual in list(self.individuals):
                one = self._satisfied(individual, first)
                two = self._satisfied(individual, second) if one is not None else None
                if one is not None and two is not None:
                    about = (
                        owl.ClassAssertion(first, individual),
                        owl.ClassAssertion(second, individual),
                    )
                    yield Step(Clash(about), rule, (*one, *two), axiom)

    def _roles(self, sub: Any, sup: Any, rule: str, axiom: owl.Axiom) -> Iterator[Step]:
        for fact, subject, other in self._links(sub):
            yield Step(role_assertion(sup, subject, other), rule, (fact,), axiom)

    def _data(self, sub: str, sup: Any, rule: str, axiom: owl.Axiom) -> Iterator[Step]:
        for data in self.data[sub]:
            yield Step(
                owl.DataPropertyAssertion(sup, data.subject, data.literal), rule, (data,), axiom
            )

"""Rules by which facts follow from facts and axioms: those of OWL 2 RL, with witnesses beyond them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

from shiq import model as owl
from shiq.datatypes import DataTheory, IllTyped
from shiq.explanation.proof_steps import (
    WITNESS,
    Clash,
    Fact,
    Step,
    inclusion_rule,
    inclusions_of,
    inverse_of,
    is_positive,
    max_rule,
    negation,
    replace_individual,
    role_assertion,
)
from shiq.model.abox import individuals_of

# Facts of a proof, indexed, and what holds by them.


class DerivedFacts:
    """The facts that a proof search has derived so far, indexed by class, property and individual.

    depth: how deep fresh witnesses, and cases of disjunctions, may be nested.
    """

    def __init__(self, axioms: Sequence[owl.Axiom], theory: DataTheory, depth: int) -> None:
        self.axioms, self.theory, self.depth = axioms, theory, depth
        self.inclusions = [inclusion for axiom in axioms for inclusion in inclusions_of(axiom)]
        self.steps: dict[Fact, Step] = {}
        self.witnesses: dict[str, int] = {}
        self.numbers: dict[Fact, int] = {}

    def rebuild_indexes(self) -> None:
        """Rebuild all indexes from the derived facts."""
        self.out: dict[tuple[str, str], list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.into: dict[tuple[str, str], list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.roles: dict[str, list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.data: dict[str, list[owl.DataPropertyAssertion]] = defaultdict(list)
        self.values: dict[tuple[str, str], list[owl.DataPropertyAssertion]] = defaultdict(list)
        self.individuals: dict[str, None] = {}
        for fact in self.steps:
            match fact:
                case owl.ClassAssertion(_, individual):
                    self.individuals[individual] = None
                case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, other):
                    self.roles[iri].append(fact)
                    self.out[iri, subject].append(fact)
                    self.into[iri, other].append(fact)
                    self.individuals.update({subject: None, other: None})
                case owl.DataPropertyAssertion(property, subject, _):
                    self.data[property.iri].append(fact)
                    self.values[property.iri, subject].append(fact)
                    self.individuals[subject] = None
                case (
                    owl.SameIndividual(first, second)
                    | owl.DifferentIndividuals(first, second)
                    | owl.NegativeObjectPropertyAssertion(_, first, second)
                ):
                    self.individuals.update({first: None, second: None})

    def inequality(self, first: str, second: str) -> Fact | None:
        """Return the fact that two individuals differ; None if it is not derived."""
        pairs = ((first, second), (second, first))
        facts = (owl.DifferentIndividuals(a, b) for a, b in pairs)
        return next((fact for fact in facts if fact in self.steps), None)

    def role_assertions(
        self, property: Any, subject: str | None = None
    ) -> list[tuple[owl.ObjectPropertyAssertion, str, str]]:
        """Return the role assertions on a property or inverse property, each with its subject and
        object in that direction.
        """
        inverted = isinstance(property, owl.ObjectInverseOf)
        iri = property.property.iri if inverted else property.iri
        if subject is None:
            facts = self.roles[iri]
        else:
            facts = self.into[iri, subject] if inverted else self.out[iri, subject]
        return [(f, f.object, f.subject) if inverted else (f, f.subject, f.object) for f in facts]

    def premises_for(self, x: str, expression: owl.ClassExpression) -> tuple[Fact, ...] | None:
        """Find facts from which it follows that ``x`` is a member of ``expression``; None if there
        are none.
        """
        if expression == owl.THING:
            return ()
        fact = owl.ClassAssertion(expression, x)
        if fact in self.steps:
            return (fact,)
        match expression:
            case owl.ObjectIntersectionOf(operands):
                parts = [self.premises_for(x, operand) for operand in operands]
                return None if None in parts else tuple(f for part in parts if part for f in part)
            case owl.ObjectUnionOf(operands):
                return next(
                    (p for o in operands if (p := self.premises_for(x, o)) is not None), None
                )
            case owl.ObjectSomeValuesFrom(property, filler):
                return self._premises_for_fillers(1, x, property, filler)
            case owl.ObjectMinCardinality(n, property, filler):
                return self._premises_for_fillers(n, x, property, filler)
            case owl.DataSomeValuesFrom(property, range) | owl.DataMinCardinality(
                1, property, range
            ):
                for data in self.values[property.iri, x]:
                    if self.theory.contains(range, data.literal):
                        return (data,)
            case owl.DataHasValue(property, literal):
                for data in self.values[property.iri, x]:
                    if self.theory.denote_same(data.literal, literal):
                        return (data,)
        return None

    def _premises_for_fillers(
        self, n: int, x: str, property: Any, filler: owl.ClassExpression
    ) -> tuple[Fact, ...] | None:
        """Find facts from which it follows that x has n different ``property``-neighbours in
        ``filler``; None if there are none.
        """
        found = self.fillers(x, property, filler)
        if n > 4:
            return None
        for several in combinations(found, n):
            if (apart := self.inequalities(several)) is not None:
                return (*(f for other in several for f in found[other]), *apart)
        return None

    def fillers(
        self, x: str, property: Any, filler: owl.ClassExpression
    ) -> dict[str, tuple[Fact, ...]]:
        """Return the ``property``-neighbours of x that are known to be in ``filler``, each with the
        facts that show it.
        """
        found: dict[str, tuple[Fact, ...]] = {}
        for link, _, other in self.role_assertions(property, x):
            premises = self.premises_for(other, filler)
            if premises is not None:
                found.setdefault(other, (link, *premises))
        return found

    def inequalities(self, several: Sequence[str]) -> list[Fact] | None:
        """Return the facts that make ``several`` individuals pairwise different; None if two may be
        equal.
        """
        apart = [self.inequality(a, b) for a, b in combinations(several, 2)]
        return [fact for fact in apart if fact] if all(apart) else None


def consequences(facts: DerivedFacts) -> Iterator[Step]:
    """Yield the proof steps that one round of all rules derives."""
    for axiom in facts.axioms:
        yield from axiom_steps(facts, axiom)
    for sub, sup, axiom in facts.inclusions:
        if is_positive(sub):
            for individual in list(facts.individuals):
                premises = facts.premises_for(individual, sub)
                if premises is not None:
                    yield Step(
                        owl.ClassAssertion(sup, individual),
                        inclusion_rule(axiom),
                        premises,
                        axiom,
                    )
        elif facts.depth:
            for individual in list(facts.individuals):
                either = owl.ObjectUnionOf((negation(sub), sup))
                yield Step(owl.ClassAssertion(either, individual), "", (), axiom)
    for fact in list(facts.steps):
        match fact:
            case owl.ClassAssertion():
                yield from class_steps(facts, fact)
            case owl.SameIndividual():
                yield from equality_steps(facts, fact)
            case owl.DifferentIndividuals(first, second) if first == second:
                yield Step(Clash((fact,)), "eq-diff1", (fact,))
            case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), subject, other):
                for role in facts.out[iri, subject]:
                    if role.object == other:
                        yield Step(Clash((role, fact)), "prp-npa1", (role, fact))
            case owl.NegativeDataPropertyAssertion(property, subject, literal):
                for data in facts.values[property.iri, subject]:
                    if facts.theory.denote_same(data.literal, literal):
                        yield Step(Clash((data, fact)), "prp-npa2", (data, fact))
            case owl.DataPropertyAssertion(_, _, literal) if isinstance(
                facts.theory.value(literal), IllTyped
            ):
                yield Step(Clash((fact,)), "dt-not-type", (fact,))


def axiom_steps(facts: DerivedFacts, axiom: owl.Axiom) -> Iterator[Step]:
    """Yield the proof steps that an axiom and the facts so far derive."""
    match axiom:
        case owl.SubObjectPropertyOf(sub, sup):
            yield from role_steps(facts, sub, sup, "prp-spo1", axiom)
        case owl.EquivalentObjectProperties(members):
            for first, second in permutations(members, 2):
                if first != second:
                    yield from role_steps(facts, first, second, "prp-eqp1", axiom)
        case owl.InverseObjectProperties(first, second):
            yield from role_steps(facts, first, inverse_of(second), "prp-inv1", axiom)
            yield from role_steps(facts, second, inverse_of(first), "prp-inv2", axiom)
        case owl.SymmetricObjectProperty(property):
            yield from role_steps(facts, property, inverse_of(property), "prp-symp", axiom)
        case owl.TransitiveObjectProperty(property):
            for fact, subject, other in list(facts.role_assertions(property)):
                for further, middle, last in facts.role_assertions(property, other):
                    if middle == other:
                        yield Step(
                            role_assertion(property, subject, last),
                            "prp-trp",
                            (fact, further),
                            axiom,
                        )
        case owl.ObjectPropertyDomain(property, domain):
            for fact, subject, _ in facts.role_assertions(property):
                yield Step(owl.ClassAssertion(domain, subject), "prp-dom", (fact,), axiom)
        case owl.ObjectPropertyRange(property, range):
            for fact, _, other in facts.role_assertions(property):
                yield Step(owl.ClassAssertion(range, other), "prp-rng", (fact,), axiom)
        case owl.IrreflexiveObjectProperty(property):
            for fact, subject, other in facts.role_assertions(property):
                if subject == other:
                    yield Step(Clash((fact,)), "prp-irp", (fact,), axiom)
        case owl.AsymmetricObjectProperty(property):
            for fact, subject, other in facts.role_assertions(property):
                for back, _, end in facts.role_assertions(property, other):
                    if end == subject:
                        yield Step(Clash((fact, back)), "prp-asyp", (fact, back), axiom)
        case owl.DisjointObjectProperties(members):
            rule = "prp-pdw" if len(members) == 2 else "prp-adp"
            for one, two in combinations(members, 2):
                for fact, subject, other in facts.role_assertions(one):
                    for again, _, same in facts.role_assertions(two, subject):
                        if same == other:
                            yield Step(Clash((fact, again)), rule, (fact, again), axiom)
        case owl.FunctionalObjectProperty(property):
            yield from at_most_steps(
                facts, 1, property, owl.THING, list(facts.individuals), (), axiom, "prp-fp"
            )
        case owl.InverseFunctionalObjectProperty(property):
            yield from at_most_steps(
                facts,
                1,
                inverse_of(property),
                owl.THING,
                list(facts.individuals),
                (),
                axiom,
                "prp-ifp",
            )
        case owl.SubDataPropertyOf(lower, upper):
            yield from data_steps(facts, lower.iri, upper, "prp-spo1", axiom)
        case owl.EquivalentDataProperties(properties):
            for lower, upper in permutations(properties, 2):
                if lower != upper:
                    yield from data_steps(facts, lower.iri, upper, "prp-eqp1", axiom)
        case owl.DataPropertyDomain(data_property, domain):
            for data in facts.data[data_property.iri]:
                yield Step(owl.ClassAssertion(domain, data.subject), "prp-dom", (data,), axiom)
        case owl.DataPropertyRange(data_property, data_range):
            for data in facts.data[data_property.iri]:
                if facts.theory.contains(data_range, data.literal) is False:
                    yield Step(Clash((data,)), "dt-not-type", (data,), axiom)
        case owl.FunctionalDataProperty(data_property):
            for individual in list(facts.individuals):
                yield from data_at_most_steps(
                    facts, 1, data_property.iri, owl.TOP_DATATYPE, individual, (), axiom, "prp-fp"
                )
        case owl.DisjointDataProperties(properties):
            rule = "prp-pdw" if len(properties) == 2 else "prp-adp"
            for lower, upper in combinations(properties, 2):
                for data in facts.data[lower.iri]:
                    for more in facts.values[upper.iri, data.subject]:
                        if facts.theory.denote_same(data.literal, more.literal):
                            yield Step(Clash((data, more)), rule, (data, more), axiom)
        case owl.DisjointClasses(expressions) | owl.DisjointUnion(_, expressions):
            yield from disjoint_steps(facts, expressions, axiom)


def disjoint_steps(
    facts: DerivedFacts, expressions: Sequence[owl.ClassExpression], axiom: owl.Axiom
) -> Iterator[Step]:
    """Yield a contradiction for each individual in two of the disjoint ``expressions``."""
    rule = "cax-dw" if len(expressions) == 2 else "cax-adc"
    for first, second in combinations(expressions, 2):
        for individual in list(facts.individuals):
            one = facts.premises_for(individual, first)
            two = facts.premises_for(individual, second) if one is not None else None
            if one is not None and two is not None:
                about = (
                    owl.ClassAssertion(first, individual),
                    owl.ClassAssertion(second, individual),
                )
                yield Step(Clash(about), rule, (*one, *two), axiom)


def role_steps(
    facts: DerivedFacts, sub: Any, sup: Any, rule: str, axiom: owl.Axiom
) -> Iterator[Step]:
    """Yield the proof steps that lift role assertions along the inclusion ``sub`` ⊑ ``sup``."""
    for fact, subject, other in facts.role_assertions(sub):
        yield Step(role_assertion(sup, subject, other), rule, (fact,), axiom)


def data_steps(
    facts: DerivedFacts, sub: str, sup: Any, rule: str, axiom: owl.Axiom
) -> Iterator[Step]:
    """Yield the proof steps that lift data assertions along the inclusion ``sub`` ⊑ ``sup``."""
    for data in facts.data[sub]:
        yield Step(owl.DataPropertyAssertion(sup, data.subject, data.literal), rule, (data,), axiom)


def equality_steps(facts: DerivedFacts, fact: owl.SameIndividual) -> Iterator[Step]:
    """Yield the proof steps by which facts about an individual hold of an equal one too."""
    for this, that in ((fact.first, fact.second), (fact.second, fact.first)):
        for other in list(facts.steps):
            if other == fact:
                continue
            match other:
                case owl.DifferentIndividuals(first, second) if {first, second} == {this, that}:
                    made = facts.steps[fact].rule
                    rule = made if made.startswith(("prp-", "cls-max")) else "eq-diff1"
                    yield Step(Clash((fact, other)), rule, (fact, other), None)
                case owl.SameIndividual(first, second) if this in (first, second):
                    third = second if first == this else first
                    if third not in (this, that):
                        yield Step(owl.SameIndividual(that, third), "eq-trans", (fact, other))
                case _ if not isinstance(
                    other, owl.SameIndividual | Clash
                ) and this in individuals_of(other):
                    yield Step(replace_individual(other, this, that), "eq-rep", (fact, other))


def class_steps(facts: DerivedFacts, fact: owl.ClassAssertion) -> Iterator[Step]:
    """Yield the proof steps that follow from a class assertion by the structure of its class
    expression.
    """
    x = fact.individual
    match fact.expression:
        case expression if expression == owl.NOTHING:
            yield Step(Clash((fact,)), "cls-nothing2", (fact,))
        case owl.ObjectIntersectionOf(operands):
            for operand in operands:
                yield Step(owl.ClassAssertion(operand, x), "cls-int2", (fact,))
        case owl.ObjectComplementOf(operand):
            premises = facts.premises_for(x, operand)
            if premises is not None:
                yield Step(
                    Clash((owl.ClassAssertion(operand, x), fact)), "cls-com", (*premises, fact)
                )
            pushed = negation(operand)
            if pushed != fact.expression:
                yield Step(owl.ClassAssertion(pushed, x), "", (fact,))
        case owl.ObjectAllValuesFrom(property, filler):
            for link, _, other in facts.role_assertions(property, x):
                yield Step(owl.ClassAssertion(filler, other), "cls-avf", (fact, link))
        case owl.DataAllValuesFrom(property, range):
            for data in facts.values[property.iri, x]:
                if facts.theory.contains(range, data.literal) is False:
                    yield Step(Clash((data, fact)), "dt-not-type", (data, fact))
        case owl.DataHasValue(property, literal):
            yield Step(owl.DataPropertyAssertion(property, x, literal), "cls-hv1", (fact,))
        case owl.ObjectSomeValuesFrom(property, filler):
            yield from witness_steps(facts, 1, property, filler, fact)
        case owl.ObjectMinCardinality(n, property, filler):
            yield from witness_steps(facts, n, property, filler, fact)
        case owl.ObjectExactCardinality(n, property, filler):
            for bound in (owl.ObjectMinCardinality, owl.ObjectMaxCardinality):
                yield Step(owl.ClassAssertion(bound(n, property, filler), x), "", (fact,))
        case owl.ObjectMaxCardinality(n, property, filler):
            yield from at_most_steps(
                facts, n, property, filler, [x], (fact,), None, max_rule(n, filler == owl.THING)
            )
        case owl.DataExactCardinality(n, data_property, range):
            yield Step(
                owl.ClassAssertion(owl.DataMaxCardinality(n, data_property, range), x),
                "",
                (fact,),
            )
        case owl.DataMaxCardinality(n, data_property, range):
            rule = max_rule(n, range == owl.TOP_DATATYPE)
            yield from data_at_most_steps(
                facts, n, data_property.iri, range, x, (fact,), None, rule
            )


def witness_steps(
    facts: DerivedFacts,
    n: int,
    property: Any,
    filler: owl.ClassExpression,
    fact: owl.ClassAssertion,
) -> Iterator[Step]:
    """Yield the proof steps that introduce ``n`` fresh, pairwise different witnesses of a ≥n
    restriction.

    None if one is needed and one is known.
    """
    x = fact.individual
    behind = facts.witnesses.get(x, 0) + 1
    if behind > facts.depth or n > 4:
        return
    if n == 1 and any(
        facts.premises_for(other, filler) is not None
        for _, _, other in facts.role_assertions(property, x)
    ):
        return
    number = facts.numbers.setdefault(fact, len(facts.numbers))
    names = [f"{WITNESS}{number}.{i}" for i in range(n)]
    for name in names:
        facts.witnesses[name] = behind
        yield Step(role_assertion(property, x, name), "", (fact,))
        yield Step(owl.ClassAssertion(filler, name), "", (fact,))
    for first, second in combinations(names, 2):
        yield Step(owl.DifferentIndividuals(first, second), "", (fact,))


def at_most_steps(
    facts: DerivedFacts,
    n: int,
    property: Any,
    filler: owl.ClassExpression,
    individuals: Iterable[str],
    because: tuple[Fact, ...],
    axiom: owl.Axiom | None,
    rule: str,
) -> Iterator[Step]:
    """Yield the equality of fillers, or the contradiction, that ≤n on an object property forces."""
    for x in individuals:
        found = facts.fillers(x, property, filler)
        if len(found) <= n:
            continue
        if n == 0:
            for premises in found.values():
                yield Step(Clash((*because, premises[0])), rule, (*because, *premises), axiom)
        elif n == 1:
            for first, second in combinations(found, 2):
                yield Step(
                    owl.SameIndividual(first, second),
                    rule,
                    (*because, *found[first], *found[second]),
                    axiom,
                )
        else:
            for several in combinations(found, n + 1):
                if (apart := facts.inequalities(several)) is not None:
                    links = [fact for other in several for fact in found[other]]
                    premises = tuple(dict.fromkeys([*because, *links, *apart]))
                    yield Step(
                        Clash((*because, *(found[o][0] for o in several))), rule, premises, axiom
                    )
                    return


def data_at_most_steps(
    facts: DerivedFacts,
    n: int,
    property: str,
    range: Any,
    x: str,
    because: tuple[Fact, ...],
    axiom: owl.Axiom | None,
    rule: str,
) -> Iterator[Step]:
    """Yield the contradiction between ≤n on a data property and more than n different values."""
    counted = [
        d
        for d in facts.values[property, x]
        if range == owl.TOP_DATATYPE or facts.theory.contains(range, d.literal)
    ]
    if len(counted) <= n or n > 4:
        return
    for several in combinations(counted, n + 1):
        if all(
            facts.theory.denote_same(a.literal, b.literal) is False
            for a, b in combinations(several, 2)
        ):
            yield Step(Clash((*because, *several)), rule, (*because, *several), axiom)
            return

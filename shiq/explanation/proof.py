"""From the assertions and axioms of a conflict to its contradiction, step by step.

Forward chaining with the rules of OWL 2 RL, beyond them with witnesses for ∃ and ≥, and with cases for ⊔ and ≤. What needs more
than that (data ranges without values, large conflicts) has no proof here; the conflict is right all the same.

Source: OWL 2 Web Ontology Language Profiles, section 4.3, tables 4 to 9, whose rule ids the steps carry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

from shiq.datatypes import DataTheory, IllTyped
from shiq.explanation.structures import with_individuals
from shiq.model import (
    NOTHING,
    THING,
    TOP_DATATYPE,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataPropertyAssertion,
    DataPropertyDomain,
    DataPropertyRange,
    DataSomeValuesFrom,
    DatatypeDefinition,
    DifferentIndividuals,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentDataProperties,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)

#: More facts than this are not derived, and no deeper cases or witnesses looked at.
MOST_FACTS = 600
MOST_ROUNDS = 40
DEEPEST = 3

#: Individuals that nobody named begin with this.
WITNESS = "_:witness"


@dataclass(frozen=True, slots=True)
class Clash:
    """The contradiction: ``about`` are the facts that cannot be together."""

    about: tuple[Any, ...]


Fact: TypeAlias = Assertion | Clash


@dataclass(frozen=True, slots=True)
class Step:
    """``fact`` follows by ``rule`` ("" for one that OWL 2 RL does not have) from ``premises`` and, if there is one, ``axiom``.
    ``cases``: for a disjunction, the proof that each of its cases is impossible."""

    fact: Fact
    rule: str
    premises: tuple[Fact, ...] = ()
    axiom: Axiom | None = None
    cases: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """``steps``: premises before conclusions, the last one a `Clash`; ``given``: the assertions it begins with, in their order;
    ``assumed``: what holds in this case, of a proof by cases."""

    steps: tuple[Step, ...]
    given: tuple[Assertion, ...]
    assumed: Assertion | None = None

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def axioms(self) -> tuple[Axiom, ...]:
        """All that the proof uses, each once."""
        found: dict[Axiom, None] = {}
        for step in self.steps:
            if step.axiom is not None:
                found[step.axiom] = None
            for case in step.cases:
                found.update(dict.fromkeys(case.axioms))
        return tuple(found)


def prove(assertions: Sequence[Assertion], axioms: Sequence[Axiom], depths: Sequence[int] = (0, 1, DEEPEST)) -> Proof | None:
    """A short proof that ``assertions`` and ``axioms`` contradict each other, or None if none is found here. ``depths``: of
    witnesses and cases, one after the other; 0 for none of either, which is fast with thousands of axioms too."""
    given = tuple(dict.fromkeys(_plain(a) for a in assertions))
    if len(given) > MOST_FACTS // 4:
        return None
    theory = DataTheory({a.datatype.iri: a.range for a in axioms if isinstance(a, DatatypeDefinition)})
    for depth in depths:
        found = _Chain(axioms, theory, depth).run({a: Step(a, "") for a in given})
        if found is not None:
            return found
    return None


def _plain(assertion: Assertion) -> Assertion:
    """``assertion`` without inverses."""
    match assertion:
        case ObjectPropertyAssertion(ObjectInverseOf(property), subject, other):
            return ObjectPropertyAssertion(property, other, subject)
        case NegativeObjectPropertyAssertion(ObjectInverseOf(property), subject, other):
            return NegativeObjectPropertyAssertion(property, other, subject)
    return assertion


class _Chain:
    """One search. ``depth``: how many witnesses behind each other, and cases inside each other, are looked at."""

    def __init__(self, axioms: Sequence[Axiom], theory: DataTheory, depth: int) -> None:
        self.axioms, self.theory, self.depth = axioms, theory, depth
        self.inclusions = [inclusion for axiom in axioms for inclusion in _inclusions(axiom)]
        self.steps: dict[Fact, Step] = {}
        self.witnesses: dict[str, int] = {}
        self.numbers: dict[Fact, int] = {}

    def run(self, begun: dict[Fact, Step], assumed: Assertion | None = None) -> Proof | None:
        """Derives, round by round, until facts clash."""
        self.steps = dict(begun)
        for _ in range(MOST_ROUNDS):
            self._index()
            new: dict[Fact, Step] = {}
            clashes: list[Step] = []
            for step in self._consequences():
                if isinstance(step.fact, Clash):
                    clashes.append(step)
                elif step.fact not in self.steps:
                    new.setdefault(step.fact, step)
            if clashes:
                return min((self._proof(step, assumed) for step in clashes), key=lambda p: len(p.steps))
            if not new:
                return self._by_cases(assumed) if self.depth else None
            self.steps.update(new)
            if len(self.steps) > MOST_FACTS:
                return None
        return None

    def _proof(self, clash: Step, assumed: Assertion | None) -> Proof:
        """What ``clash`` rests on, premises first."""
        order: dict[Fact, None] = {}
        stack: list[tuple[Fact, bool]] = [(premise, False) for premise in reversed(clash.premises)]
        while stack:
            fact, ready = stack.pop()
            if ready:
                order[fact] = None
            elif fact not in order:
                stack.append((fact, True))
                stack.extend((premise, False) for premise in reversed(self.steps[fact].premises))
        steps = tuple(self.steps[fact] for fact in order)
        given = {
            step.fact: None for step in steps if not (step.premises or step.axiom or step.rule or isinstance(step.fact, Clash))
        }
        for case in clash.cases:
            given.update(dict.fromkeys(case.given))
        return Proof((*steps, clash), tuple(given), assumed)

    # --- one round ---------------------------------------------------------------------------------

    def _index(self) -> None:
        self.classes: dict[str, list[ClassAssertion]] = defaultdict(list)
        self.out: dict[tuple[str, str], list[ObjectPropertyAssertion]] = defaultdict(list)
        self.into: dict[tuple[str, str], list[ObjectPropertyAssertion]] = defaultdict(list)
        self.roles: dict[str, list[ObjectPropertyAssertion]] = defaultdict(list)
        self.data: dict[str, list[DataPropertyAssertion]] = defaultdict(list)
        self.values: dict[tuple[str, str], list[DataPropertyAssertion]] = defaultdict(list)
        self.individuals: dict[str, None] = {}
        for fact in self.steps:
            match fact:
                case ClassAssertion(_, individual):
                    self.classes[individual].append(fact)
                    self.individuals[individual] = None
                case ObjectPropertyAssertion(ObjectProperty(iri), subject, other):
                    self.roles[iri].append(fact)
                    self.out[iri, subject].append(fact)
                    self.into[iri, other].append(fact)
                    self.individuals.update({subject: None, other: None})
                case DataPropertyAssertion(property, subject, _):
                    self.data[property.iri].append(fact)
                    self.values[property.iri, subject].append(fact)
                    self.individuals[subject] = None
                case SameIndividual(first, second) | DifferentIndividuals(first, second):
                    self.individuals.update({first: None, second: None})
                case NegativeObjectPropertyAssertion(_, first, second):
                    self.individuals.update({first: None, second: None})

    def _consequences(self) -> Iterator[Step]:
        for axiom in self.axioms:
            yield from self._of_axiom(axiom)
        for sub, sup, axiom in self.inclusions:
            if _is_positive(sub):
                for individual in list(self.individuals):
                    premises = self._satisfied(individual, sub)
                    if premises is not None:
                        yield Step(ClassAssertion(sup, individual), _inclusion_rule(axiom), premises, axiom)
            elif self.depth:
                for individual in list(self.individuals):
                    either = ObjectUnionOf((_negated(sub), sup))
                    yield Step(ClassAssertion(either, individual), "", (), axiom)
        for fact in list(self.steps):
            match fact:
                case ClassAssertion():
                    yield from self._of_class(fact)
                case SameIndividual():
                    yield from self._of_same(fact)
                case DifferentIndividuals(first, second) if first == second:
                    yield Step(Clash((fact,)), "eq-diff1", (fact,))
                case NegativeObjectPropertyAssertion(ObjectProperty(iri), subject, other):
                    for role in self.out[iri, subject]:
                        if role.object == other:
                            yield Step(Clash((role, fact)), "prp-npa1", (role, fact))
                case NegativeDataPropertyAssertion(property, subject, literal):
                    for data in self.values[property.iri, subject]:
                        if self.theory.same(data.literal, literal):
                            yield Step(Clash((data, fact)), "prp-npa2", (data, fact))
                case DataPropertyAssertion(_, _, literal) if isinstance(self.theory.value(literal), IllTyped):
                    yield Step(Clash((fact,)), "dt-not-type", (fact,))

    def _of_axiom(self, axiom: Axiom) -> Iterator[Step]:
        match axiom:
            case SubObjectPropertyOf(sub, sup):
                yield from self._roles(sub, sup, "prp-spo1", axiom)
            case EquivalentObjectProperties(members):
                for first in members:
                    for second in members:
                        if first != second:
                            yield from self._roles(first, second, "prp-eqp1", axiom)
            case InverseObjectProperties(first, second):
                yield from self._roles(first, _inverse(second), "prp-inv1", axiom)
                yield from self._roles(second, _inverse(first), "prp-inv2", axiom)
            case SymmetricObjectProperty(property):
                yield from self._roles(property, _inverse(property), "prp-symp", axiom)
            case TransitiveObjectProperty(property):
                for fact, subject, other in list(self._links(property)):
                    for further, middle, last in self._links(property, other):
                        if middle == other:
                            yield Step(_role(property, subject, last), "prp-trp", (fact, further), axiom)
            case ObjectPropertyDomain(property, domain):
                for fact, subject, _ in self._links(property):
                    yield Step(ClassAssertion(domain, subject), "prp-dom", (fact,), axiom)
            case ObjectPropertyRange(property, range):
                for fact, _, other in self._links(property):
                    yield Step(ClassAssertion(range, other), "prp-rng", (fact,), axiom)
            case IrreflexiveObjectProperty(property):
                for fact, subject, other in self._links(property):
                    if subject == other:
                        yield Step(Clash((fact,)), "prp-irp", (fact,), axiom)
            case AsymmetricObjectProperty(property):
                for fact, subject, other in self._links(property):
                    for back, _, end in self._links(property, other):
                        if end == subject:
                            yield Step(Clash((fact, back)), "prp-asyp", (fact, back), axiom)
            case DisjointObjectProperties(members):
                rule = "prp-pdw" if len(members) == 2 else "prp-adp"
                for one, two in combinations(members, 2):
                    for fact, subject, other in self._links(one):
                        for again, _, same in self._links(two, subject):
                            if same == other:
                                yield Step(Clash((fact, again)), rule, (fact, again), axiom)
            case FunctionalObjectProperty(property):
                yield from self._at_most(1, property, THING, list(self.individuals), (), axiom, "prp-fp")
            case InverseFunctionalObjectProperty(property):
                yield from self._at_most(1, _inverse(property), THING, list(self.individuals), (), axiom, "prp-ifp")
            case SubDataPropertyOf(lower, upper):
                yield from self._data(lower.iri, upper, "prp-spo1", axiom)
            case EquivalentDataProperties(properties):
                for lower in properties:
                    for upper in properties:
                        if lower != upper:
                            yield from self._data(lower.iri, upper, "prp-eqp1", axiom)
            case DataPropertyDomain(data_property, domain):
                for data in self.data[data_property.iri]:
                    yield Step(ClassAssertion(domain, data.subject), "prp-dom", (data,), axiom)
            case DataPropertyRange(data_property, data_range):
                for data in self.data[data_property.iri]:
                    if self.theory.contains(data_range, data.literal) is False:
                        yield Step(Clash((data,)), "dt-not-type", (data,), axiom)
            case FunctionalDataProperty(data_property):
                for individual in list(self.individuals):
                    yield from self._data_at_most(1, data_property.iri, TOP_DATATYPE, individual, (), axiom, "prp-fp")
            case DisjointDataProperties(properties):
                rule = "prp-pdw" if len(properties) == 2 else "prp-adp"
                for lower, upper in combinations(properties, 2):
                    for data in self.data[lower.iri]:
                        for more in self.values[upper.iri, data.subject]:
                            if self.theory.same(data.literal, more.literal):
                                yield Step(Clash((data, more)), rule, (data, more), axiom)
            case DisjointClasses(expressions):
                yield from self._disjoint(expressions, axiom)
            case DisjointUnion(_, expressions):
                yield from self._disjoint(expressions, axiom)

    def _disjoint(self, expressions: Sequence[ClassExpression], axiom: Axiom) -> Iterator[Step]:
        rule = "cax-dw" if len(expressions) == 2 else "cax-adc"
        for first, second in combinations(expressions, 2):
            for individual in list(self.individuals):
                one = self._satisfied(individual, first)
                two = self._satisfied(individual, second) if one is not None else None
                if one is not None and two is not None:
                    about = (ClassAssertion(first, individual), ClassAssertion(second, individual))
                    yield Step(Clash(about), rule, (*one, *two), axiom)

    def _roles(self, sub: Any, sup: Any, rule: str, axiom: Axiom) -> Iterator[Step]:
        for fact, subject, other in self._links(sub):
            yield Step(_role(sup, subject, other), rule, (fact,), axiom)

    def _data(self, sub: str, sup: Any, rule: str, axiom: Axiom) -> Iterator[Step]:
        for data in self.data[sub]:
            yield Step(DataPropertyAssertion(sup, data.subject, data.literal), rule, (data,), axiom)

    def _of_same(self, fact: SameIndividual) -> Iterator[Step]:
        for this, that in ((fact.first, fact.second), (fact.second, fact.first)):
            for other in list(self.steps):
                if other == fact:
                    continue
                match other:
                    case DifferentIndividuals(first, second) if {first, second} == {this, that}:
                        made = self.steps[fact].rule
                        rule = made if made.startswith(("prp-", "cls-max")) else "eq-diff1"
                        yield Step(Clash((fact, other)), rule, (fact, other), None)
                    case SameIndividual(first, second) if this in (first, second):
                        third = second if first == this else first
                        if third not in (this, that):
                            yield Step(SameIndividual(that, third), "eq-trans", (fact, other))
                    case _ if not isinstance(other, SameIndividual | Clash) and this in _individuals(other):
                        yield Step(_replaced(other, this, that), "eq-rep", (fact, other))

    def _of_class(self, fact: ClassAssertion) -> Iterator[Step]:
        x = fact.individual
        match fact.expression:
            case expression if expression == NOTHING:
                yield Step(Clash((fact,)), "cls-nothing2", (fact,))
            case ObjectIntersectionOf(operands):
                for operand in operands:
                    yield Step(ClassAssertion(operand, x), "cls-int2", (fact,))
            case ObjectComplementOf(operand):
                premises = self._satisfied(x, operand)
                if premises is not None:
                    yield Step(Clash((ClassAssertion(operand, x), fact)), "cls-com", (*premises, fact))
                pushed = _negated(operand)
                if pushed != fact.expression:
                    yield Step(ClassAssertion(pushed, x), "", (fact,))
            case ObjectAllValuesFrom(property, filler):
                for link, _, other in self._links(property, x):
                    yield Step(ClassAssertion(filler, other), "cls-avf", (fact, link))
            case DataAllValuesFrom(property, range):
                for data in self.values[property.iri, x]:
                    if self.theory.contains(range, data.literal) is False:
                        yield Step(Clash((data, fact)), "dt-not-type", (data, fact))
            case DataHasValue(property, literal):
                yield Step(DataPropertyAssertion(property, x, literal), "cls-hv1", (fact,))
            case ObjectSomeValuesFrom(property, filler):
                yield from self._witnesses(1, property, filler, fact)
            case ObjectMinCardinality(n, property, filler):
                yield from self._witnesses(n, property, filler, fact)
            case ObjectExactCardinality(n, property, filler):
                yield Step(ClassAssertion(ObjectMinCardinality(n, property, filler), x), "", (fact,))
                yield Step(ClassAssertion(ObjectMaxCardinality(n, property, filler), x), "", (fact,))
            case ObjectMaxCardinality(n, property, filler):
                yield from self._at_most(n, property, filler, [x], (fact,), None, _max_rule(n, filler == THING))
            case DataExactCardinality(n, data_property, range):
                yield Step(ClassAssertion(DataMaxCardinality(n, data_property, range), x), "", (fact,))
            case DataMaxCardinality(n, data_property, range):
                rule = _max_rule(n, range == TOP_DATATYPE)
                yield from self._data_at_most(n, data_property.iri, range, x, (fact,), None, rule)

    def _witnesses(self, n: int, property: Any, filler: ClassExpression, fact: ClassAssertion) -> Iterator[Step]:
        """``n`` different individuals that nobody named, unless there is one already and one is enough."""
        x = fact.individual
        behind = self.witnesses.get(x, 0) + 1
        if behind > self.depth or n > 4:
            return
        if n == 1 and any(self._satisfied(other, filler) is not None for _, _, other in self._links(property, x)):
            return
        number = self.numbers.setdefault(fact, len(self.numbers))
        names = [f"{WITNESS}{number}.{i}" for i in range(n)]
        for name in names:
            self.witnesses[name] = behind
            yield Step(_role(property, x, name), "", (fact,))
            yield Step(ClassAssertion(filler, name), "", (fact,))
        for first, second in combinations(names, 2):
            yield Step(DifferentIndividuals(first, second), "", (fact,))

    def _at_most(
        self,
        n: int,
        property: Any,
        filler: ClassExpression,
        individuals: Iterable[str],
        because: tuple[Fact, ...],
        axiom: Axiom | None,
        rule: str,
    ) -> Iterator[Step]:
        for x in individuals:
            found: dict[str, tuple[Fact, ...]] = {}
            for link, _, other in self._links(property, x):
                premises = self._satisfied(other, filler)
                if premises is not None:
                    found.setdefault(other, (link, *premises))
            if len(found) <= n:
                continue
            if n == 0:
                for premises in found.values():
                    yield Step(Clash((*because, premises[0])), rule, (*because, *premises), axiom)
            elif n == 1:
                for first, second in combinations(found, 2):
                    yield Step(SameIndividual(first, second), rule, (*because, *found[first], *found[second]), axiom)
            else:
                for several in combinations(found, n + 1):
                    apart = [self._different(a, b) for a, b in combinations(several, 2)]
                    if all(apart):
                        links = [fact for other in several for fact in found[other]]
                        facts = tuple(dict.fromkeys([*because, *links, *(d for d in apart if d)]))
                        yield Step(Clash((*because, *(found[o][0] for o in several))), rule, facts, axiom)
                        return

    def _data_at_most(
        self, n: int, property: str, range: Any, x: str, because: tuple[Fact, ...], axiom: Axiom | None, rule: str
    ) -> Iterator[Step]:
        facts = [d for d in self.values[property, x] if range == TOP_DATATYPE or self.theory.contains(range, d.literal)]
        if len(facts) <= n or n > 4:
            return
        for several in combinations(facts, n + 1):
            if all(self.theory.same(a.literal, b.literal) is False for a, b in combinations(several, 2)):
                yield Step(Clash((*because, *several)), rule, (*because, *several), axiom)
                return

    def _different(self, first: str, second: str) -> Fact | None:
        for fact in (DifferentIndividuals(first, second), DifferentIndividuals(second, first)):
            if fact in self.steps:
                return fact
        return None

    # --- what holds --------------------------------------------------------------------------------

    def _links(self, property: Any, subject: str | None = None) -> list[tuple[ObjectPropertyAssertion, str, str]]:
        """The facts on a property or inverse, with their ends as it sees them."""
        inverted = isinstance(property, ObjectInverseOf)
        iri = property.property.iri if inverted else property.iri
        if subject is None:
            facts = self.roles[iri]
        else:
            facts = self.into[iri, subject] if inverted else self.out[iri, subject]
        return [(f, f.object, f.subject) if inverted else (f, f.subject, f.object) for f in facts]

    def _satisfied(self, x: str, expression: ClassExpression) -> tuple[Fact, ...] | None:
        """The facts that make ``x`` one of ``expression``; None if there are none."""
        if expression == THING:
            return ()
        fact = ClassAssertion(expression, x)
        if fact in self.steps:
            return (fact,)
        match expression:
            case ObjectIntersectionOf(operands):
                parts = [self._satisfied(x, operand) for operand in operands]
                return None if None in parts else tuple(f for part in parts if part for f in part)
            case ObjectUnionOf(operands):
                return next((p for o in operands if (p := self._satisfied(x, o)) is not None), None)
            case ObjectSomeValuesFrom(property, filler):
                return self._linked(1, x, property, filler)
            case ObjectMinCardinality(n, property, filler):
                return self._linked(n, x, property, filler)
            case DataSomeValuesFrom(property, range) | DataMinCardinality(1, property, range):
                for data in self.values[property.iri, x]:
                    if self.theory.contains(range, data.literal):
                        return (data,)
            case DataHasValue(property, literal):
                for data in self.values[property.iri, x]:
                    if self.theory.same(data.literal, literal):
                        return (data,)
        return None

    def _linked(self, n: int, x: str, property: Any, filler: ClassExpression) -> tuple[Fact, ...] | None:
        found: dict[str, tuple[Fact, ...]] = {}
        for link, _, other in self._links(property, x):
            premises = self._satisfied(other, filler)
            if premises is not None:
                found.setdefault(other, (link, *premises))
        if n > 4:
            return None
        for several in combinations(found, n):
            apart = [self._different(a, b) for a, b in combinations(several, 2)]
            if all(apart):
                return (*(f for other in several for f in found[other]), *(d for d in apart if d))
        return None

    # --- cases -------------------------------------------------------------------------------------

    def _by_cases(self, assumed: Assertion | None) -> Proof | None:
        """A proof that each case of one disjunction is impossible."""
        for fact in list(self.steps):
            cases = self._cases(fact)
            if len(cases) < 2:
                continue
            proofs: list[Proof] = []
            for case in cases:
                chain = _Chain(self.axioms, self.theory, self.depth - 1)
                chain.witnesses, chain.numbers = dict(self.witnesses), dict(self.numbers)
                found = chain.run({**self.steps, case: Step(case, "assumed")}, case)
                if found is None:
                    break
                if case not in {step.fact for step in found.steps}:
                    return found  # impossible whatever the case
                proofs.append(found)
            else:
                clash = Step(Clash((fact,)), "", (fact,), None, tuple(proofs))
                return self._proof(clash, assumed)
        return None

    def _cases(self, fact: Fact) -> list[Assertion]:
        match fact:
            case ClassAssertion(ObjectUnionOf(operands), x):
                settled = any(self._satisfied(x, operand) is not None for operand in operands)
                return [] if settled else [ClassAssertion(operand, x) for operand in operands]
            case ClassAssertion(ObjectMaxCardinality(n, property, filler), x) if n > 1:
                others = [o for _, _, o in self._links(property, x) if self._satisfied(o, filler) is not None]
                for several in combinations(dict.fromkeys(others), n + 1):
                    pairs = [(a, b) for a, b in combinations(several, 2) if self._different(a, b) is None]
                    return [SameIndividual(a, b) for a, b in pairs]
        return []


# --- values -----------------------------------------------------------------------------------------


def _inverse(property: Any) -> Any:
    return property.property if isinstance(property, ObjectInverseOf) else ObjectInverseOf(property)


def _role(property: Any, subject: str, other: str) -> ObjectPropertyAssertion:
    if isinstance(property, ObjectInverseOf):
        return ObjectPropertyAssertion(property.property, other, subject)
    return ObjectPropertyAssertion(property, subject, other)


def _individuals(fact: Fact) -> tuple[str, ...]:
    match fact:
        case ClassAssertion(_, individual):
            return (individual,)
        case ObjectPropertyAssertion(_, first, second) | NegativeObjectPropertyAssertion(_, first, second):
            return first, second
        case DataPropertyAssertion(_, subject, _) | NegativeDataPropertyAssertion(_, subject, _):
            return (subject,)
        case SameIndividual(first, second) | DifferentIndividuals(first, second):
            return first, second
    return ()


def _replaced(fact: Fact, this: str, that: str) -> Fact:
    """``fact`` with ``that`` in the place of ``this``."""

    def of(individual: str) -> str:
        return that if individual == this else individual

    match fact:
        case ClassAssertion(expression, individual):
            return ClassAssertion(expression, of(individual))
        case ObjectPropertyAssertion(property, first, second):
            return ObjectPropertyAssertion(property, of(first), of(second))
        case NegativeObjectPropertyAssertion(property, first, second):
            return NegativeObjectPropertyAssertion(property, of(first), of(second))
        case DataPropertyAssertion(data_property, subject, literal):
            return DataPropertyAssertion(data_property, of(subject), literal)
        case NegativeDataPropertyAssertion(data_property, subject, literal):
            return NegativeDataPropertyAssertion(data_property, of(subject), literal)
        case DifferentIndividuals(first, second):
            return DifferentIndividuals(of(first), of(second))
    return fact


def renamed(assertion: Assertion, names: Mapping[str, str]) -> Assertion:
    """``assertion`` with its individuals called by ``names``."""
    match assertion:
        case ObjectPropertyAssertion(property, first, second):
            return ObjectPropertyAssertion(property, names[first], names[second])
        case NegativeObjectPropertyAssertion(property, first, second):
            return NegativeObjectPropertyAssertion(property, names[first], names[second])
        case SameIndividual(first, second):
            return SameIndividual(names[first], names[second])
        case DifferentIndividuals(first, second):
            return DifferentIndividuals(names[first], names[second])
        case ClassAssertion(expression, individual):
            return ClassAssertion(with_individuals(expression, lambda i: names.get(i, i)), names[individual])
    return replace(assertion, subject=names[assertion.subject])


def _inclusions(axiom: Axiom) -> list[tuple[ClassExpression, ClassExpression, Axiom]]:
    match axiom:
        case SubClassOf(sub, sup):
            return [(sub, sup, axiom)]
        case EquivalentClasses(members):
            return [(a, b, axiom) for a in members for b in members if a != b]
        case DisjointUnion(cls, members):
            return [(cls, ObjectUnionOf(members), axiom), *((member, cls, axiom) for member in members)]
    return []


def _inclusion_rule(axiom: Axiom) -> str:
    return "cax-sco" if isinstance(axiom, SubClassOf) else "cax-eqc1"


def _max_rule(n: int, unqualified: bool) -> str:
    """The rule for at most ``n``; OWL 2 RL has none for more than one."""
    if n > 1:
        return ""
    if unqualified:
        return "cls-maxc1" if n == 0 else "cls-maxc2"
    return "cls-maxqc1" if n == 0 else "cls-maxqc3"


def _is_positive(expression: ClassExpression) -> bool:
    """Whether `_Chain._satisfied` sees every way of being one of ``expression``."""
    match expression:
        case ObjectIntersectionOf(operands) | ObjectUnionOf(operands):
            return all(map(_is_positive, operands))
        case ObjectSomeValuesFrom(_, filler) | ObjectMinCardinality(_, _, filler):
            return _is_positive(filler)
        case ObjectComplementOf() | ObjectAllValuesFrom() | ObjectMaxCardinality() | ObjectExactCardinality():
            return False
        case DataAllValuesFrom() | DataMaxCardinality() | DataExactCardinality():
            return False
    return True


def _negated(expression: ClassExpression) -> ClassExpression:
    """¬``expression``, one level pushed in."""
    match expression:
        case ObjectComplementOf(operand):
            return operand
        case ObjectIntersectionOf(operands):
            return ObjectUnionOf(tuple(map(_negated, operands)))
        case ObjectUnionOf(operands):
            return ObjectIntersectionOf(tuple(map(_negated, operands)))
        case ObjectSomeValuesFrom(property, filler):
            return ObjectAllValuesFrom(property, _negated(filler))
        case ObjectAllValuesFrom(property, filler):
            return ObjectSomeValuesFrom(property, _negated(filler))
        case ObjectMinCardinality(n, property, filler) if n > 0:
            return ObjectMaxCardinality(n - 1, property, filler)
        case ObjectMaxCardinality(n, property, filler):
            return ObjectMinCardinality(n + 1, property, filler)
        case DataSomeValuesFrom(data_property, range):
            return DataAllValuesFrom(data_property, DataComplementOf(range))
        case DataAllValuesFrom(data_property, range):
            return DataSomeValuesFrom(data_property, DataComplementOf(range))
    return ObjectComplementOf(expression)

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

from shiq import model as owl
from shiq.datatypes import DataTheory, IllTyped
from shiq.explanation.structures import with_individuals

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


Fact: TypeAlias = owl.Assertion | Clash


@dataclass(frozen=True, slots=True)
class Step:
    """``fact`` follows by ``rule`` ("" for one that OWL 2 RL does not have) from ``premises`` and, if there is one, ``axiom``.
    ``cases``: for a disjunction, the proof that each of its cases is impossible."""

    fact: Fact
    rule: str
    premises: tuple[Fact, ...] = ()
    axiom: owl.Axiom | None = None
    cases: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """``steps``: premises before conclusions, the last one a `Clash`; ``given``: the assertions it begins with, in their order;
    ``assumed``: what holds in this case, of a proof by cases."""

    steps: tuple[Step, ...]
    given: tuple[owl.Assertion, ...]
    assumed: owl.Assertion | None = None

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def axioms(self) -> tuple[owl.Axiom, ...]:
        """All that the proof uses, each once."""
        found: dict[owl.Axiom, None] = {}
        for step in self.steps:
            if step.axiom is not None:
                found[step.axiom] = None
            for case in step.cases:
                found.update(dict.fromkeys(case.axioms))
        return tuple(found)


def prove(
    assertions: Sequence[owl.Assertion], axioms: Sequence[owl.Axiom], depths: Sequence[int] = (0, 1, DEEPEST)
) -> Proof | None:
    """A short proof that ``assertions`` and ``axioms`` contradict each other, or None if none is found here. ``depths``: of
    witnesses and cases, one after the other; 0 for none of either, which is fast with thousands of axioms too."""
    given = tuple(dict.fromkeys(_plain(a) for a in assertions))
    if len(given) > MOST_FACTS // 4:
        return None
    theory = DataTheory({a.datatype.iri: a.range for a in axioms if isinstance(a, owl.DatatypeDefinition)})
    for depth in depths:
        found = _Chain(axioms, theory, depth).run({a: Step(a, "") for a in given})
        if found is not None:
            return found
    return None


def _plain(assertion: owl.Assertion) -> owl.Assertion:
    """``assertion`` without inverses."""
    match assertion:
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, other):
            return owl.ObjectPropertyAssertion(property, other, subject)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, other):
            return owl.NegativeObjectPropertyAssertion(property, other, subject)
    return assertion


class _Chain:
    """One search. ``depth``: how many witnesses behind each other, and cases inside each other, are looked at."""

    def __init__(self, axioms: Sequence[owl.Axiom], theory: DataTheory, depth: int) -> None:
        self.axioms, self.theory, self.depth = axioms, theory, depth
        self.inclusions = [inclusion for axiom in axioms for inclusion in _inclusions(axiom)]
        self.steps: dict[Fact, Step] = {}
        self.witnesses: dict[str, int] = {}
        self.numbers: dict[Fact, int] = {}

    def run(self, begun: dict[Fact, Step], assumed: owl.Assertion | None = None) -> Proof | None:
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

    def _proof(self, clash: Step, assumed: owl.Assertion | None) -> Proof:
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
        self.classes: dict[str, list[owl.ClassAssertion]] = defaultdict(list)
        self.out: dict[tuple[str, str], list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.into: dict[tuple[str, str], list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.roles: dict[str, list[owl.ObjectPropertyAssertion]] = defaultdict(list)
        self.data: dict[str, list[owl.DataPropertyAssertion]] = defaultdict(list)
        self.values: dict[tuple[str, str], list[owl.DataPropertyAssertion]] = defaultdict(list)
        self.individuals: dict[str, None] = {}
        for fact in self.steps:
            match fact:
                case owl.ClassAssertion(_, individual):
                    self.classes[individual].append(fact)
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
                case owl.SameIndividual(first, second) | owl.DifferentIndividuals(first, second):
                    self.individuals.update({first: None, second: None})
                case owl.NegativeObjectPropertyAssertion(_, first, second):
                    self.individuals.update({first: None, second: None})

    def _consequences(self) -> Iterator[Step]:
        for axiom in self.axioms:
            yield from self._of_axiom(axiom)
        for sub, sup, axiom in self.inclusions:
            if _is_positive(sub):
                for individual in list(self.individuals):
                    premises = self._satisfied(individual, sub)
                    if premises is not None:
                        yield Step(owl.ClassAssertion(sup, individual), _inclusion_rule(axiom), premises, axiom)
            elif self.depth:
                for individual in list(self.individuals):
                    either = owl.ObjectUnionOf((_negated(sub), sup))
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
                case owl.DataPropertyAssertion(_, _, literal) if isinstance(self.theory.value(literal), IllTyped):
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
                yield from self._roles(first, _inverse(second), "prp-inv1", axiom)
                yield from self._roles(second, _inverse(first), "prp-inv2", axiom)
            case owl.SymmetricObjectProperty(property):
                yield from self._roles(property, _inverse(property), "prp-symp", axiom)
            case owl.TransitiveObjectProperty(property):
                for fact, subject, other in list(self._links(property)):
                    for further, middle, last in self._links(property, other):
                        if middle == other:
                            yield Step(_role(property, subject, last), "prp-trp", (fact, further), axiom)
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
                yield from self._at_most(1, property, owl.THING, list(self.individuals), (), axiom, "prp-fp")
            case owl.InverseFunctionalObjectProperty(property):
                yield from self._at_most(1, _inverse(property), owl.THING, list(self.individuals), (), axiom, "prp-ifp")
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
                    yield from self._data_at_most(1, data_property.iri, owl.TOP_DATATYPE, individual, (), axiom, "prp-fp")
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

    def _disjoint(self, expressions: Sequence[owl.ClassExpression], axiom: owl.Axiom) -> Iterator[Step]:
        rule = "cax-dw" if len(expressions) == 2 else "cax-adc"
        for first, second in combinations(expressions, 2):
            for individual in list(self.individuals):
                one = self._satisfied(individual, first)
                two = self._satisfied(individual, second) if one is not None else None
                if one is not None and two is not None:
                    about = (owl.ClassAssertion(first, individual), owl.ClassAssertion(second, individual))
                    yield Step(Clash(about), rule, (*one, *two), axiom)

    def _roles(self, sub: Any, sup: Any, rule: str, axiom: owl.Axiom) -> Iterator[Step]:
        for fact, subject, other in self._links(sub):
            yield Step(_role(sup, subject, other), rule, (fact,), axiom)

    def _data(self, sub: str, sup: Any, rule: str, axiom: owl.Axiom) -> Iterator[Step]:
        for data in self.data[sub]:
            yield Step(owl.DataPropertyAssertion(sup, data.subject, data.literal), rule, (data,), axiom)

    def _of_same(self, fact: owl.SameIndividual) -> Iterator[Step]:
        for this, that in ((fact.first, fact.second), (fact.second, fact.first)):
            for other in list(self.steps):
                if other == fact:
                    continue
                match other:
                    case owl.DifferentIndividuals(first, second) if {first, second} == {this, that}:
                        made = self.steps[fact].rule
                        rule = made if made.startswith(("prp-", "cls-max")) else "eq-diff1"
                        yield Step(Clash((fact, other)), rule, (fact, other), None)
                    case owl.SameIndividual(first, second) if this in (first, second):
                        third = second if first == this else first
                        if third not in (this, that):
                            yield Step(owl.SameIndividual(that, third), "eq-trans", (fact, other))
                    case _ if not isinstance(other, owl.SameIndividual | Clash) and this in _individuals(other):
                        yield Step(_replaced(other, this, that), "eq-rep", (fact, other))

    def _of_class(self, fact: owl.ClassAssertion) -> Iterator[Step]:
        x = fact.individual
        match fact.expression:
            case expression if expression == owl.NOTHING:
                yield Step(Clash((fact,)), "cls-nothing2", (fact,))
            case owl.ObjectIntersectionOf(operands):
                for operand in operands:
                    yield Step(owl.ClassAssertion(operand, x), "cls-int2", (fact,))
            case owl.ObjectComplementOf(operand):
                premises = self._satisfied(x, operand)
                if premises is not None:
                    yield Step(Clash((owl.ClassAssertion(operand, x), fact)), "cls-com", (*premises, fact))
                pushed = _negated(operand)
                if pushed != fact.expression:
                    yield Step(owl.ClassAssertion(pushed, x), "", (fact,))
            case owl.ObjectAllValuesFrom(property, filler):
                for link, _, other in self._links(property, x):
                    yield Step(owl.ClassAssertion(filler, other), "cls-avf", (fact, link))
            case owl.DataAllValuesFrom(property, range):
                for data in self.values[property.iri, x]:
                    if self.theory.contains(range, data.literal) is False:
                        yield Step(Clash((data, fact)), "dt-not-type", (data, fact))
            case owl.DataHasValue(property, literal):
                yield Step(owl.DataPropertyAssertion(property, x, literal), "cls-hv1", (fact,))
            case owl.ObjectSomeValuesFrom(property, filler):
                yield from self._witnesses(1, property, filler, fact)
            case owl.ObjectMinCardinality(n, property, filler):
                yield from self._witnesses(n, property, filler, fact)
            case owl.ObjectExactCardinality(n, property, filler):
                yield Step(owl.ClassAssertion(owl.ObjectMinCardinality(n, property, filler), x), "", (fact,))
                yield Step(owl.ClassAssertion(owl.ObjectMaxCardinality(n, property, filler), x), "", (fact,))
            case owl.ObjectMaxCardinality(n, property, filler):
                yield from self._at_most(n, property, filler, [x], (fact,), None, _max_rule(n, filler == owl.THING))
            case owl.DataExactCardinality(n, data_property, range):
                yield Step(owl.ClassAssertion(owl.DataMaxCardinality(n, data_property, range), x), "", (fact,))
            case owl.DataMaxCardinality(n, data_property, range):
                rule = _max_rule(n, range == owl.TOP_DATATYPE)
                yield from self._data_at_most(n, data_property.iri, range, x, (fact,), None, rule)

    def _witnesses(self, n: int, property: Any, filler: owl.ClassExpression, fact: owl.ClassAssertion) -> Iterator[Step]:
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
            yield Step(owl.ClassAssertion(filler, name), "", (fact,))
        for first, second in combinations(names, 2):
            yield Step(owl.DifferentIndividuals(first, second), "", (fact,))

    def _at_most(
        self,
        n: int,
        property: Any,
        filler: owl.ClassExpression,
        individuals: Iterable[str],
        because: tuple[Fact, ...],
        axiom: owl.Axiom | None,
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
                    yield Step(owl.SameIndividual(first, second), rule, (*because, *found[first], *found[second]), axiom)
            else:
                for several in combinations(found, n + 1):
                    apart = [self._different(a, b) for a, b in combinations(several, 2)]
                    if all(apart):
                        links = [fact for other in several for fact in found[other]]
                        facts = tuple(dict.fromkeys([*because, *links, *(d for d in apart if d)]))
                        yield Step(Clash((*because, *(found[o][0] for o in several))), rule, facts, axiom)
                        return

    def _data_at_most(
        self, n: int, property: str, range: Any, x: str, because: tuple[Fact, ...], axiom: owl.Axiom | None, rule: str
    ) -> Iterator[Step]:
        facts = [d for d in self.values[property, x] if range == owl.TOP_DATATYPE or self.theory.contains(range, d.literal)]
        if len(facts) <= n or n > 4:
            return
        for several in combinations(facts, n + 1):
            if all(self.theory.same(a.literal, b.literal) is False for a, b in combinations(several, 2)):
                yield Step(Clash((*because, *several)), rule, (*because, *several), axiom)
                return

    def _different(self, first: str, second: str) -> Fact | None:
        for fact in (owl.DifferentIndividuals(first, second), owl.DifferentIndividuals(second, first)):
            if fact in self.steps:
                return fact
        return None

    # --- what holds --------------------------------------------------------------------------------

    def _links(self, property: Any, subject: str | None = None) -> list[tuple[owl.ObjectPropertyAssertion, str, str]]:
        """The facts on a property or inverse, with their ends as it sees them."""
        inverted = isinstance(property, owl.ObjectInverseOf)
        iri = property.property.iri if inverted else property.iri
        if subject is None:
            facts = self.roles[iri]
        else:
            facts = self.into[iri, subject] if inverted else self.out[iri, subject]
        return [(f, f.object, f.subject) if inverted else (f, f.subject, f.object) for f in facts]

    def _satisfied(self, x: str, expression: owl.ClassExpression) -> tuple[Fact, ...] | None:
        """The facts that make ``x`` one of ``expression``; None if there are none."""
        if expression == owl.THING:
            return ()
        fact = owl.ClassAssertion(expression, x)
        if fact in self.steps:
            return (fact,)
        match expression:
            case owl.ObjectIntersectionOf(operands):
                parts = [self._satisfied(x, operand) for operand in operands]
                return None if None in parts else tuple(f for part in parts if part for f in part)
            case owl.ObjectUnionOf(operands):
                return next((p for o in operands if (p := self._satisfied(x, o)) is not None), None)
            case owl.ObjectSomeValuesFrom(property, filler):
                return self._linked(1, x, property, filler)
            case owl.ObjectMinCardinality(n, property, filler):
                return self._linked(n, x, property, filler)
            case owl.DataSomeValuesFrom(property, range) | owl.DataMinCardinality(1, property, range):
                for data in self.values[property.iri, x]:
                    if self.theory.contains(range, data.literal):
                        return (data,)
            case owl.DataHasValue(property, literal):
                for data in self.values[property.iri, x]:
                    if self.theory.same(data.literal, literal):
                        return (data,)
        return None

    def _linked(self, n: int, x: str, property: Any, filler: owl.ClassExpression) -> tuple[Fact, ...] | None:
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

    def _by_cases(self, assumed: owl.Assertion | None) -> Proof | None:
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

    def _cases(self, fact: Fact) -> list[owl.Assertion]:
        match fact:
            case owl.ClassAssertion(owl.ObjectUnionOf(operands), x):
                settled = any(self._satisfied(x, operand) is not None for operand in operands)
                return [] if settled else [owl.ClassAssertion(operand, x) for operand in operands]
            case owl.ClassAssertion(owl.ObjectMaxCardinality(n, property, filler), x) if n > 1:
                others = [o for _, _, o in self._links(property, x) if self._satisfied(o, filler) is not None]
                for several in combinations(dict.fromkeys(others), n + 1):
                    pairs = [(a, b) for a, b in combinations(several, 2) if self._different(a, b) is None]
                    return [owl.SameIndividual(a, b) for a, b in pairs]
        return []


# --- values -----------------------------------------------------------------------------------------


def _inverse(property: Any) -> Any:
    return property.property if isinstance(property, owl.ObjectInverseOf) else owl.ObjectInverseOf(property)


def _role(property: Any, subject: str, other: str) -> owl.ObjectPropertyAssertion:
    if isinstance(property, owl.ObjectInverseOf):
        return owl.ObjectPropertyAssertion(property.property, other, subject)
    return owl.ObjectPropertyAssertion(property, subject, other)


def _individuals(fact: Fact) -> tuple[str, ...]:
    match fact:
        case owl.ClassAssertion(_, individual):
            return (individual,)
        case owl.ObjectPropertyAssertion(_, first, second) | owl.NegativeObjectPropertyAssertion(_, first, second):
            return first, second
        case owl.DataPropertyAssertion(_, subject, _) | owl.NegativeDataPropertyAssertion(_, subject, _):
            return (subject,)
        case owl.SameIndividual(first, second) | owl.DifferentIndividuals(first, second):
            return first, second
    return ()


def _replaced(fact: Fact, this: str, that: str) -> Fact:
    """``fact`` with ``that`` in the place of ``this``."""

    def of(individual: str) -> str:
        return that if individual == this else individual

    match fact:
        case owl.ClassAssertion(expression, individual):
            return owl.ClassAssertion(expression, of(individual))
        case owl.ObjectPropertyAssertion(property, first, second):
            return owl.ObjectPropertyAssertion(property, of(first), of(second))
        case owl.NegativeObjectPropertyAssertion(property, first, second):
            return owl.NegativeObjectPropertyAssertion(property, of(first), of(second))
        case owl.DataPropertyAssertion(data_property, subject, literal):
            return owl.DataPropertyAssertion(data_property, of(subject), literal)
        case owl.NegativeDataPropertyAssertion(data_property, subject, literal):
            return owl.NegativeDataPropertyAssertion(data_property, of(subject), literal)
        case owl.DifferentIndividuals(first, second):
            return owl.DifferentIndividuals(of(first), of(second))
    return fact


def renamed(assertion: owl.Assertion, names: Mapping[str, str]) -> owl.Assertion:
    """``assertion`` with its individuals called by ``names``."""
    match assertion:
        case owl.ObjectPropertyAssertion(property, first, second):
            return owl.ObjectPropertyAssertion(property, names[first], names[second])
        case owl.NegativeObjectPropertyAssertion(property, first, second):
            return owl.NegativeObjectPropertyAssertion(property, names[first], names[second])
        case owl.SameIndividual(first, second):
            return owl.SameIndividual(names[first], names[second])
        case owl.DifferentIndividuals(first, second):
            return owl.DifferentIndividuals(names[first], names[second])
        case owl.ClassAssertion(expression, individual):
            return owl.ClassAssertion(with_individuals(expression, lambda i: names.get(i, i)), names[individual])
    return replace(assertion, subject=names[assertion.subject])


def _inclusions(axiom: owl.Axiom) -> list[tuple[owl.ClassExpression, owl.ClassExpression, owl.Axiom]]:
    match axiom:
        case owl.SubClassOf(sub, sup):
            return [(sub, sup, axiom)]
        case owl.EquivalentClasses(members):
            return [(a, b, axiom) for a in members for b in members if a != b]
        case owl.DisjointUnion(cls, members):
            return [(cls, owl.ObjectUnionOf(members), axiom), *((member, cls, axiom) for member in members)]
    return []


def _inclusion_rule(axiom: owl.Axiom) -> str:
    return "cax-sco" if isinstance(axiom, owl.SubClassOf) else "cax-eqc1"


def _max_rule(n: int, unqualified: bool) -> str:
    """The rule for at most ``n``; OWL 2 RL has none for more than one."""
    if n > 1:
        return ""
    if unqualified:
        return "cls-maxc1" if n == 0 else "cls-maxc2"
    return "cls-maxqc1" if n == 0 else "cls-maxqc3"


def _is_positive(expression: owl.ClassExpression) -> bool:
    """Whether `_Chain._satisfied` sees every way of being one of ``expression``."""
    match expression:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            return all(map(_is_positive, operands))
        case owl.ObjectSomeValuesFrom(_, filler) | owl.ObjectMinCardinality(_, _, filler):
            return _is_positive(filler)
        case owl.ObjectComplementOf() | owl.ObjectAllValuesFrom() | owl.ObjectMaxCardinality() | owl.ObjectExactCardinality():
            return False
        case owl.DataAllValuesFrom() | owl.DataMaxCardinality() | owl.DataExactCardinality():
            return False
    return True


def _negated(expression: owl.ClassExpression) -> owl.ClassExpression:
    """¬``expression``, one level pushed in."""
    match expression:
        case owl.ObjectComplementOf(operand):
            return operand
        case owl.ObjectIntersectionOf(operands):
            return owl.ObjectUnionOf(tuple(map(_negated, operands)))
        case owl.ObjectUnionOf(operands):
            return owl.ObjectIntersectionOf(tuple(map(_negated, operands)))
        case owl.ObjectSomeValuesFrom(property, filler):
            return owl.ObjectAllValuesFrom(property, _negated(filler))
        case owl.ObjectAllValuesFrom(property, filler):
            return owl.ObjectSomeValuesFrom(property, _negated(filler))
        case owl.ObjectMinCardinality(n, property, filler) if n > 0:
            return owl.ObjectMaxCardinality(n - 1, property, filler)
        case owl.ObjectMaxCardinality(n, property, filler):
            return owl.ObjectMinCardinality(n + 1, property, filler)
        case owl.DataSomeValuesFrom(data_property, range):
            return owl.DataAllValuesFrom(data_property, owl.DataComplementOf(range))
        case owl.DataAllValuesFrom(data_property, range):
            return owl.DataSomeValuesFrom(data_property, owl.DataComplementOf(range))
    return owl.ObjectComplementOf(expression)

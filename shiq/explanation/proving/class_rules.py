"""Rules of a fact: classes, equality, existence and cardinality."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from shiq import model as owl
from shiq.explanation.proving.facts import Facts
from shiq.explanation.proving.steps import (
    WITNESS,
    Clash,
    Fact,
    Step,
    individuals_of,
    max_rule,
    negated,
    replaced,
    role_assertion,
)


class ClassRules(Facts):
    """What follows from a fact on classes or equality: its constructs, witnesses, and what
    at-most restrictions merge.
    """

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
                    case _ if not isinstance(
                        other, owl.SameIndividual | Clash
                    ) and this in individuals_of(other):
                        yield Step(replaced(other, this, that), "eq-rep", (fact, other))

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
                    yield Step(
                        Clash((owl.ClassAssertion(operand, x), fact)), "cls-com", (*premises, fact)
                    )
                pushed = negated(operand)
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
                yield Step(
                    owl.ClassAssertion(owl.ObjectMinCardinality(n, property, filler), x),
                    "",
                    (fact,),
                )
                yield Step(
                    owl.ClassAssertion(owl.ObjectMaxCardinality(n, property, filler), x),
                    "",
                    (fact,),
                )
            case owl.ObjectMaxCardinality(n, property, filler):
                yield from self._at_most(
                    n, property, filler, [x], (fact,), None, max_rule(n, filler == owl.THING)
                )
            case owl.DataExactCardinality(n, data_property, range):
                yield Step(
                    owl.ClassAssertion(owl.DataMaxCardinality(n, data_property, range), x),
                    "",
                    (fact,),
                )
            case owl.DataMaxCardinality(n, data_property, range):
                rule = max_rule(n, range == owl.TOP_DATATYPE)
                yield from self._data_at_most(n, data_property.iri, range, x, (fact,), None, rule)

    def _witnesses(
        self, n: int, property: Any, filler: owl.ClassExpression, fact: owl.ClassAssertion
    ) -> Iterator[Step]:
        """``n`` different individuals that nobody named, unless there is one already and one is
        enough.
        """
        x = fact.individual
        behind = self.witnesses.get(x, 0) + 1
        if behind > self.depth or n > 4:
            return
        if n == 1 and any(
            self._satisfied(other, filler) is not None for _, _, other in self._links(property, x)
        ):
            return
        number = self.numbers.setdefault(fact, len(self.numbers))
        names = [f"{WITNESS}{number}.{i}" for i in range(n)]
        for name in names:
            self.witnesses[name] = behind
            yield Step(role_assertion(property, x, name), "", (fact,))
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
            found = self._fillers(x, property, filler)
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
                    if (apart := self._apart(several)) is not None:
                        links = [fact for other in several for fact in found[other]]
                        facts = tuple(dict.fromkeys([*because, *links, *apart]))
                        yield Step(
                            Clash((*because, *(found[o][0] for o in several))), rule, facts, axiom
                        )
                        return

    def _data_at_most(
        self,
        n: int,
        property: str,
        range: Any,
        x: str,
        because: tuple[Fact, ...],
        axiom: owl.Axiom | None,
        rule: str,
    ) -> Iterator[Step]:
        facts = [
            d
            for d in self.values[property, x]
            if range == owl.TOP_DATATYPE or self.theory.contains(range, d.literal)
        ]
        if len(facts) <= n or n > 4:
            return
        for several in combinations(facts, n + 1):
            if all(
                self.theory.same(a.literal, b.literal) is False for a, b in combinations(several, 2)
            ):
                yield Step(Clash((*because, *several)), rule, (*because, *several), axiom)
                return

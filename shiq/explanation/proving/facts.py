"""Facts of a proof, indexed, and what holds by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.explanation.proving.steps import Fact, Step, inclusions_of


class Facts:
    """The facts derived so far, by class, property and end; ``depth``: how many witnesses behind
    each other, and cases inside each other, are looked at.
    """

    def __init__(self, axioms: Sequence[owl.Axiom], theory: DataTheory, depth: int) -> None:
        self.axioms, self.theory, self.depth = axioms, theory, depth
        self.inclusions = [inclusion for axiom in axioms for inclusion in inclusions_of(axiom)]
        self.steps: dict[Fact, Step] = {}
        self.witnesses: dict[str, int] = {}
        self.numbers: dict[Fact, int] = {}

    def index(self) -> None:
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
                case owl.SameIndividual(first, second) | owl.DifferentIndividuals(first, second):
                    self.individuals.update({first: None, second: None})
                case owl.NegativeObjectPropertyAssertion(_, first, second):
                    self.individuals.update({first: None, second: None})

    def inequality(self, first: str, second: str) -> Fact | None:
        for fact in (
            owl.DifferentIndividuals(first, second),
            owl.DifferentIndividuals(second, first),
        ):
            if fact in self.steps:
                return fact
        return None

    def links(
        self, property: Any, subject: str | None = None
    ) -> list[tuple[owl.ObjectPropertyAssertion, str, str]]:
        """The facts on a property or inverse, with their ends as it sees them."""
        inverted = isinstance(property, owl.ObjectInverseOf)
        iri = property.property.iri if inverted else property.iri
        if subject is None:
            facts = self.roles[iri]
        else:
            facts = self.into[iri, subject] if inverted else self.out[iri, subject]
        return [(f, f.object, f.subject) if inverted else (f, f.subject, f.object) for f in facts]

    def premises_for(self, x: str, expression: owl.ClassExpression) -> tuple[Fact, ...] | None:
        """The facts that make ``x`` one of ``expression``; None if there are none."""
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
                    if self.theory.same(data.literal, literal):
                        return (data,)
        return None

    def _premises_for_fillers(
        self, n: int, x: str, property: Any, filler: owl.ClassExpression
    ) -> tuple[Fact, ...] | None:
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
        """The ``property``-neighbours of x that are known to be in ``filler``, each with why."""
        found: dict[str, tuple[Fact, ...]] = {}
        for link, _, other in self.links(property, x):
            premises = self.premises_for(other, filler)
            if premises is not None:
                found.setdefault(other, (link, *premises))
        return found

    def inequalities(self, several: Sequence[str]) -> list[Fact] | None:
        """Why ``several`` are different from each other; None where two of them may be equal."""
        apart = [self.inequality(a, b) for a, b in combinations(several, 2)]
        return [fact for fact in apart if fact] if all(apart) else None

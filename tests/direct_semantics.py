"""OWL 2's direct semantics over small finite interpretations, nominals, chains and the top and
bottom roles included.

Data is left out. Shares no code with what it judges.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from shiq import model as m

TOP, BOTTOM = m.OWL + "topObjectProperty", m.OWL + "bottomObjectProperty"
Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class World:
    size: int
    classes: dict[str, frozenset[int]]
    roles: dict[str, Pairs]
    individuals: dict[str, int]

    @property
    def domain(self) -> frozenset[int]:
        return frozenset(range(self.size))

    def pairs(self, role: m.ObjectPropertyExpression) -> Pairs:
        if isinstance(role, m.ObjectInverseOf):
            return frozenset((y, x) for x, y in self.pairs(role.property))
        if role.iri == TOP:
            return frozenset((x, y) for x in self.domain for y in self.domain)
        return frozenset() if role.iri == BOTTOM else self.roles.get(role.iri, frozenset())

    def counted(
        self, role: m.ObjectPropertyExpression, filler: m.ClassExpression, low: float, high: float
    ) -> frozenset[int]:
        pairs, inside = self.pairs(role), self.extension(filler)
        return frozenset(
            x for x in self.domain if low <= sum((x, y) in pairs for y in inside) <= high
        )

    def extension(self, expression: m.ClassExpression) -> frozenset[int]:
        many = float("inf")
        match expression:
            case m.THING:
                return self.domain
            case m.NOTHING:
                return frozenset()
            case m.Class(iri):
                return self.classes.get(iri, frozenset())
            case m.ObjectIntersectionOf(operands):
                return frozenset.intersection(*map(self.extension, operands))
            case m.ObjectUnionOf(operands):
                return frozenset.union(*map(self.extension, operands))
            case m.ObjectComplementOf(operand):
                return self.domain - self.extension(operand)
            case m.ObjectOneOf(individuals):
                return frozenset(self.individuals[a] for a in individuals)
            case m.ObjectHasValue(role, individual):
                return frozenset(
                    x for x, y in self.pairs(role) if y == self.individuals[individual]
                )
            case m.ObjectHasSelf(role):
                return frozenset(x for x, y in self.pairs(role) if x == y)
            case m.ObjectSomeValuesFrom(role, filler):
                return self.counted(role, filler, 1, many)
            case m.ObjectAllValuesFrom(role, filler):
                return self.counted(role, m.ObjectComplementOf(filler), 0, 0)
            case m.ObjectMinCardinality(n, role, filler):
                return self.counted(role, filler, n, many)
            case m.ObjectMaxCardinality(n, role, filler):
                return self.counted(role, filler, 0, n)
            case m.ObjectExactCardinality(n, role, filler):
                return self.counted(role, filler, n, n)
        raise TypeError(expression)

    def holds(self, value: m.Axiom | m.Assertion) -> bool:
        place = self.individuals
        match value:
            case m.SubClassOf(sub, sup):
                return self.extension(sub) <= self.extension(sup)
            case m.EquivalentClasses(members):
                return len(set(map(self.extension, members))) == 1
            case m.DisjointClasses(members):
                return all(
                    not self.extension(a) & self.extension(b) for a, b in combinations(members, 2)
                )
            case m.DisjointUnion(cls, members):
                return self.holds(m.DisjointClasses(members)) and self.extension(
                    cls
                ) == self.extension(m.ObjectUnionOf(members))
            case m.SubObjectPropertyOf(sub, sup):
                return self.pairs(sub) <= self.pairs(sup)
            case m.SubObjectPropertyChain(chain, sup):
                return reduce(_composed, map(self.pairs, chain)) <= self.pairs(sup)
            case m.EquivalentObjectProperties(members):
                return len(set(map(self.pairs, members))) == 1
            case m.DisjointObjectProperties(members):
                return all(not self.pairs(a) & self.pairs(b) for a, b in combinations(members, 2))
            case m.InverseObjectProperties(first, second):
                return self.pairs(first) == frozenset((y, x) for x, y in self.pairs(second))
            case m.ObjectPropertyDomain(role, filler):
                return {x for x, _ in self.pairs(role)} <= self.extension(filler)
            case m.ObjectPropertyRange(role, filler):
                return {y for _, y in self.pairs(role)} <= self.extension(filler)
            case m.FunctionalObjectProperty(role):
                return len({x for x, _ in self.pairs(role)}) == len(self.pairs(role))
            case m.InverseFunctionalObjectProperty(role):
                return len({y for _, y in self.pairs(role)}) == len(self.pairs(role))
            case m.SymmetricObjectProperty(role):
                return all((y, x) in self.pairs(role) for x, y in self.pairs(role))
            case m.AsymmetricObjectProperty(role):
                return not any((y, x) in self.pairs(role) for x, y in self.pairs(role))
            case m.ReflexiveObjectProperty(role):
                return all((x, x) in self.pairs(role) for x in self.domain)
            case m.IrreflexiveObjectProperty(role):
                return not any((x, x) in self.pairs(role) for x in self.domain)
            case m.TransitiveObjectProperty(role):
                return _composed(self.pairs(role), self.pairs(role)) <= self.pairs(role)
            case m.ClassAssertion(expression, a):
                return place[a] in self.extension(expression)
            case m.ObjectPropertyAssertion(role, a, b):
                return (place[a], place[b]) in self.pairs(role)
            case m.NegativeObjectPropertyAssertion(role, a, b):
                return (place[a], place[b]) not in self.pairs(role)
            case m.SameIndividual(a, b):
                return place[a] == place[b]
            case m.DifferentIndividuals(a, b):
                return place[a] != place[b]
        raise TypeError(value)


def _composed(first: Pairs, second: Pairs) -> Pairs:
    return frozenset((x, z) for x, y in first for y2, z in second if y == y2)


class Random:
    """Seeded random worlds and values over the names A, B; r, s; a, b, c."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def world(self, closed: tuple[str, ...] = ()) -> World:
        """The roles ``closed`` are transitive."""
        rng = self.rng
        size = rng.randint(1, 3)
        spots = [(x, y) for x in range(size) for y in range(size)]
        density = rng.choice([0.0, 0.3, 0.5, 0.8, 1.0])
        roles = {f"urn:{r}": frozenset(p for p in spots if rng.random() < density) for r in "rs"}
        for name in closed:
            while not _composed(roles[name], roles[name]) <= roles[name]:
                roles[name] |= _composed(roles[name], roles[name])
        return World(
            size,
            {f"urn:{c}": frozenset(x for x in range(size) if rng.random() < 0.5) for c in "AB"},
            roles,
            {f"urn:{a}": rng.randrange(size) for a in "abc"},
        )

    def individual(self) -> str:
        return f"urn:{self.rng.choice('abc')}"

    def role(self, built_in: float) -> m.ObjectPropertyExpression:
        name = (
            self.rng.choice([TOP, BOTTOM])
            if self.rng.random() < built_in
            else f"urn:{self.rng.choice('rs')}"
        )
        role = m.ObjectProperty(name)
        return m.ObjectInverseOf(role) if self.rng.random() < 0.3 else role

    def expression(
        self, depth: int, built_in: float = 0.0, nominals: float = 0.0
    ) -> m.ClassExpression:
        rng = self.rng

        def inner() -> m.ClassExpression:
            return self.expression(depth - 1, built_in, nominals)

        if rng.random() < nominals:
            kind = rng.randrange(3)
            if kind == 0:
                return m.ObjectOneOf(tuple({self.individual() for _ in range(rng.randint(1, 2))}))
            role = self.role(built_in)
            return m.ObjectHasValue(role, self.individual()) if kind == 1 else m.ObjectHasSelf(role)
        if depth == 0 or rng.random() < 0.2:
            return rng.choice([m.Class("urn:A"), m.Class("urn:B"), m.THING, m.NOTHING])
        match rng.randrange(8):
            case 0:
                return m.ObjectIntersectionOf((inner(), inner()))
            case 1:
                return m.ObjectUnionOf((inner(), inner()))
            case 2:
                return m.ObjectComplementOf(inner())
            case 3:
                return m.ObjectSomeValuesFrom(self.role(built_in), inner())
            case 4:
                return m.ObjectAllValuesFrom(self.role(built_in), inner())
            case kind:
                make = [m.ObjectMinCardinality, m.ObjectMaxCardinality, m.ObjectExactCardinality][
                    kind - 5
                ]
                return make(rng.randint(0, 2), self.role(built_in), inner())

    def axiom(self, built_in: float) -> m.Axiom:
        rng = self.rng

        def roles() -> tuple[m.ObjectPropertyExpression, ...]:
            return tuple(self.role(built_in) for _ in range(rng.randint(2, 3)))

        def expression() -> m.ClassExpression:
            return self.expression(2, built_in)

        characteristics = [
            m.FunctionalObjectProperty,
            m.InverseFunctionalObjectProperty,
            m.SymmetricObjectProperty,
            m.AsymmetricObjectProperty,
            m.ReflexiveObjectProperty,
            m.IrreflexiveObjectProperty,
            m.TransitiveObjectProperty,
        ]
        match rng.randrange(12):
            case 0:
                return m.SubClassOf(expression(), expression())
            case 1:
                return m.EquivalentClasses((expression(), expression()))
            case 2:
                return m.DisjointClasses((expression(), expression()))
            case 3:
                return m.DisjointUnion(m.Class("urn:A"), (expression(), expression()))
            case 4:
                return m.SubObjectPropertyOf(self.role(built_in), self.role(built_in))
            case 5:
                return m.SubObjectPropertyChain(roles(), self.role(built_in))
            case 6:
                return m.EquivalentObjectProperties(roles())
            case 7:
                return m.DisjointObjectProperties(roles())
            case 8:
                return m.InverseObjectProperties(self.role(built_in), self.role(built_in))
            case 9:
                return m.ObjectPropertyDomain(self.role(built_in), expression())
            case 10:
                return m.ObjectPropertyRange(self.role(built_in), expression())
        return rng.choice(characteristics)(self.role(built_in))

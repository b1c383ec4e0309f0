"""Random ontologies of OWL 2 DL with nominals, chains, keys and Self, some out of reach of the
data; a function of the seed.

Roles `s` are simple. Class `Z` and the property `unused` occur in few assertions or none.
"""

from __future__ import annotations

import random
from itertools import pairwise

from shiq import model as m

_CLASSES = [m.Class(f"urn:t:C{i}") for i in range(4)]
_RARE = [m.Class(f"urn:t:Z{i}") for i in range(2)]
_ROLES = [m.ObjectProperty(f"urn:t:r{i}") for i in range(3)]
_SIMPLE = [m.ObjectProperty(f"urn:t:s{i}") for i in range(2)]
_UNUSED = m.ObjectProperty("urn:t:unused")
_DATA = [m.DataProperty(f"urn:t:d{i}") for i in range(2)]
_INDIVIDUALS = [f"urn:t:i{i}" for i in range(5)]


def random_owl(seed: int) -> tuple[list[m.Axiom], list[m.Assertion], list[m.Assertion]]:
    """T, A and A⁺."""
    made = _Made(random.Random(f"outside {seed}"))
    axioms = made.axioms()
    facts = made.rng.randrange(2, 12)
    return (
        axioms,
        [made.fact() for _ in range(facts)],
        [made.fact() for _ in range(made.rng.randrange(1, 4))],
    )


def random_life(seed: int, batches: int) -> tuple[list[list[m.Axiom]], list[list[m.Assertion]]]:
    """A TBox and one that takes its place; and A with as many ``batches``. What they say of
    nominals lies outside SHIQ(D).
    """
    made = _Made(random.Random(f"life {seed}"))
    one_of = [m.ObjectOneOf(pair) for pair in pairwise(_INDIVIDUALS)]

    def fact() -> m.Assertion:
        if made.rng.random() < 0.8:
            return made.fact()
        return m.ClassAssertion(made.rng.choice(one_of), made.rng.choice(_INDIVIDUALS))

    first = list(dict.fromkeys((*made.axioms(), *made.axioms())))
    second = [axiom for axiom in first if made.rng.random() < 0.8] + made.axioms()[:1]
    sizes = [made.rng.randrange(2, 7), *(made.rng.randrange(5) for _ in range(batches))]
    return [first, list(dict.fromkeys(second))], [[fact() for _ in range(size)] for size in sizes]


class _Made:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def name(self) -> m.Class:
        return self.rng.choice(_CLASSES + (_RARE if self.rng.random() < 0.3 else []))

    def value(self) -> m.Literal:
        return m.Literal(str(self.rng.randrange(2)), m.XSD + "integer")

    def role(self, *, simple: bool = False) -> m.ObjectPropertyExpression:
        rng = self.rng
        role = rng.choice(
            _SIMPLE if simple else [*_ROLES, *_SIMPLE, *([_UNUSED] if rng.random() < 0.15 else [])]
        )
        return m.ObjectInverseOf(role) if rng.random() < 0.3 else role

    def expression(self, depth: int) -> m.ClassExpression:
        rng, kind = self.rng, self.rng.random()
        if depth == 0 or kind < 0.3:
            return self.name() if rng.random() < 0.75 else m.ObjectComplementOf(self.name())
        inner = depth - 1
        if kind < 0.4:
            return m.ObjectIntersectionOf((self.expression(inner), self.expression(inner)))
        if kind < 0.5:
            return m.ObjectUnionOf((self.expression(inner), self.expression(inner)))
        if kind < 0.6:
            return m.ObjectSomeValuesFrom(self.role(), self.expression(inner))
        if kind < 0.7:
            return m.ObjectAllValuesFrom(self.role(), self.expression(inner))
        if kind < 0.76:
            return m.ObjectMaxCardinality(
                rng.choice((1, 2)), self.role(simple=True), rng.choice((m.THING, self.name()))
            )
        if kind < 0.83:
            return m.ObjectHasValue(self.role(), rng.choice(_INDIVIDUALS))
        if kind < 0.9:
            return m.ObjectOneOf(tuple(rng.sample(_INDIVIDUALS, rng.choice((1, 2)))))
        if kind < 0.95:
            return m.ObjectHasSelf(self.role(simple=True))
        return m.DataHasValue(rng.choice(_DATA), self.value())

    def axioms(self) -> list[m.Axiom]:
        rng = self.rng
        found = [self._about_classes() for _ in range(rng.randrange(3, 8))]
        r, s, inverse = _ROLES, _SIMPLE, m.ObjectInverseOf
        if rng.random() < 0.4:
            keyed = rng.choice([rng.choice(_RARE), self.expression(1)])
            found.append(
                m.HasKey(keyed, tuple(rng.sample(s, rng.randrange(2))), (rng.choice(_DATA),))
            )
        if rng.random() < 0.6:
            words = [
                (r[0], s[0]),
                (s[0], r[0]),
                (s[0], s[1]),
                (inverse(s[0]), s[1]),
                (r[0], r[0]),
                (s[0], _UNUSED),
            ]
            found.append(m.SubObjectPropertyChain(rng.choice(words), r[0]))
        if rng.random() < 0.4:
            words = [(r[0], s[1]), (r[1], r[1]), (r[0], r[0]), (s[1], r[1]), (inverse(r[0]), s[0])]
            found.append(m.SubObjectPropertyChain(rng.choice(words), r[1]))
        if rng.random() < 0.3:
            found.append(m.TransitiveObjectProperty(r[0]))
        if rng.random() < 0.3:
            found.append(
                m.SubObjectPropertyOf(rng.choice([s[0], inverse(s[1]), r[0], inverse(r[0])]), r[2])
            )
        if rng.random() < 0.25:
            found.append(m.ReflexiveObjectProperty(rng.choice([*s, *r, _UNUSED])))
        if rng.random() < 0.25:
            found.append(m.FunctionalObjectProperty(self.role(simple=True)))
        if rng.random() < 0.15:
            found.append(m.InverseObjectProperties(*s))
        if rng.random() < 0.15:
            found.append(m.IrreflexiveObjectProperty(self.role(simple=True)))
        return list(dict.fromkeys(found))

    def _about_classes(self) -> m.Axiom:
        kind = self.rng.random()
        if kind < 0.55:
            return m.SubClassOf(self.expression(1), self.expression(2))
        if kind < 0.65:
            return m.DisjointClasses((self.expression(0), self.expression(1)))
        if kind < 0.72:
            return m.EquivalentClasses((self.name(), self.expression(2)))
        make = m.ObjectPropertyDomain if kind < 0.8 else m.ObjectPropertyRange
        return make(self.role(), self.expression(1))

    def fact(self) -> m.Assertion:
        rng, kind = self.rng, self.rng.random()
        one, other = rng.choice(_INDIVIDUALS), rng.choice(_INDIVIDUALS)
        if kind < 0.3:
            return m.ClassAssertion(rng.choice(_CLASSES), one)
        if kind < 0.45:
            return m.ClassAssertion(self.expression(1), one)
        if kind < 0.75:
            return m.ObjectPropertyAssertion(rng.choice(_ROLES + _SIMPLE), one, other)
        if kind < 0.83:
            return m.DataPropertyAssertion(rng.choice(_DATA), one, self.value())
        if kind < 0.9:
            return m.DifferentIndividuals(*rng.sample(_INDIVIDUALS, 2))
        if kind < 0.95:
            return m.NegativeObjectPropertyAssertion(rng.choice(_ROLES + _SIMPLE), one, other)
        return m.SameIndividual(*rng.sample(_INDIVIDUALS, 2))

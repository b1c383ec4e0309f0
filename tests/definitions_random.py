"""Random TBoxes that are mostly definitions, some cyclic, doubled, or of a property that only
says "has some"; and modules.

Used by the tests of lazy unfolding. A case is a function of its seed.
"""

from __future__ import annotations

import random
from dataclasses import replace

from shiq.model import (
    NOTHING,
    THING,
    Axiom,
    Class,
    ClassExpression,
    DataExactCardinality,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataSomeValuesFrom,
    EquivalentClasses,
    FunctionalObjectProperty,
    Literal,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyExpression,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, ClausalTBox, DataAtLeast, DataAtMost
from shiq.model.roles import Role
from shiq.reasoner.protocol import Module
from shiq.simplify import simplify

_DEFINED = tuple(Class(f"urn:t:D{i}") for i in range(6))
_PRIMITIVE = tuple(Class(f"urn:t:A{i}") for i in range(3))
_ROLES = tuple(ObjectProperty(f"urn:t:r{i}") for i in range(2))
_TRANSITIVE = ObjectProperty("urn:t:t")
_SOME = tuple(ObjectProperty(f"urn:t:some{i}") for i in range(2))
_VALUE = DataProperty("urn:t:value")


def random_case(seed: int) -> tuple[ClausalTBox, Module]:
    """The case of ``seed``."""
    rng = random.Random(f"definitions {seed}")
    axioms = _axioms(rng)
    clauses = simplify(TBox(tuple(axioms))).clauses
    if rng.random() < 0.2:
        clauses = replace(clauses, clauses=tuple(c for c in clauses.clauses if rng.random() < 0.9))
    return clauses, _module(rng, clauses)


def _axioms(rng: random.Random) -> list[Axiom]:
    axioms: list[Axiom] = []
    for i, name in enumerate(_DEFINED):
        if rng.random() < 0.85:
            names = (*_PRIMITIVE, *(_DEFINED if rng.random() < 0.1 else _DEFINED[:i]))
            axioms.append(_either_way(rng, name, _concept(rng, names, 2)))
        if rng.random() < 0.25:
            axioms.append(_either_way(rng, name, _existence(rng)))
        elif rng.random() < 0.1:
            axioms.append(EquivalentClasses((name, ObjectComplementOf(rng.choice(_DEFINED)))))
    everything = (*_PRIMITIVE, *_DEFINED)
    for _ in range(rng.choice((0, 1, 2))):
        axioms.append(SubClassOf(_concept(rng, everything, 1), _concept(rng, everything, 1)))
    if rng.random() < 0.2:
        axioms.append(FunctionalObjectProperty(_ROLES[0]))
    if rng.random() < 0.3:
        axioms.append(TransitiveObjectProperty(_TRANSITIVE))
    if rng.random() < 0.4:
        axioms.append(SubObjectPropertyOf(rng.choice((_ROLES[0], _SOME[0])), _ROLES[1]))
    rng.shuffle(axioms)
    return axioms


def _either_way(rng: random.Random, name: Class, concept: ClassExpression) -> EquivalentClasses:
    return EquivalentClasses((name, concept) if rng.random() < 0.7 else (concept, name))


def _existence(rng: random.Random) -> ClassExpression:
    role = rng.choice(_SOME)
    return rng.choice(
        (
            ObjectSomeValuesFrom(role, THING),
            ObjectMinCardinality(1, role),
            ObjectMaxCardinality(0, role),
            ObjectExactCardinality(0, role),
            ObjectAllValuesFrom(role, NOTHING),
            DataSomeValuesFrom(_VALUE, DataMinCardinality(1, _VALUE).range),
            DataMinCardinality(1, _VALUE),
            DataMaxCardinality(0, _VALUE),
            DataExactCardinality(0, _VALUE),
        )
    )


def _concept(rng: random.Random, names: tuple[Class, ...], depth: int) -> ClassExpression:
    kind = rng.random() if depth else rng.random() * 0.3
    if kind < 0.2:
        return rng.choice(names)
    if kind < 0.3:
        return ObjectComplementOf(rng.choice(names))

    def inner() -> ClassExpression:
        return _concept(rng, names, depth - 1)

    if kind < 0.5:
        return ObjectIntersectionOf((inner(), inner()))
    if kind < 0.65:
        return ObjectUnionOf((inner(), inner()))
    if kind < 0.7:
        return ObjectComplementOf(inner())
    property = rng.choice((*_ROLES, *_ROLES, _TRANSITIVE))
    role: ObjectPropertyExpression = ObjectInverseOf(property) if rng.random() < 0.25 else property
    if kind < 0.85:
        return ObjectSomeValuesFrom(role, inner())
    if kind < 0.95 or property == _TRANSITIVE:
        return ObjectAllValuesFrom(role, inner())
    return rng.choice((ObjectMinCardinality, ObjectMaxCardinality))(
        rng.choice((1, 2)), role, inner()
    )


def _module(rng: random.Random, tbox: ClausalTBox) -> Module:
    n = rng.choice((1, 1, 2, 3))
    names = [i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a not in tbox.fresh]
    others = [
        i
        for i, a in enumerate(tbox.atoms)
        if isinstance(a, AtLeast | DataAtLeast | DataAtMost) or a in tbox.fresh
    ]
    positive, negative = [], []
    for _ in range(n):
        sides: tuple[set[int], set[int]] = (set(), set())
        for _ in range(rng.choice((1, 2, 3)) if names else 0):
            rng.choice(sides).add(rng.choice(names))
        if others and rng.random() < 0.5:
            rng.choice(sides).add(rng.choice(others))
        positive.append(sum(1 << i for i in sides[0]))
        negative.append(sum(1 << i for i in sides[1] - sides[0]))
    roles = [Role(p.iri, rng.random() < 0.3) for p in (*_ROLES, *_ROLES, _TRANSITIVE, *_SOME)]
    edges = tuple(
        (rng.randrange(n), rng.choice(roles), rng.randrange(n))
        for _ in range(rng.choice((0, n - 1, n)))
    )
    data = tuple(
        (rng.randrange(n), _VALUE.iri, Literal(str(i))) for i in range(rng.random() < 0.15)
    )
    return Module(tuple(positive), tuple(negative), edges, data=data)

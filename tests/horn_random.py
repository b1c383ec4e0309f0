"""Random Horn ontologies without counting, with inverse and transitive roles; a function of the
seed.
"""

from __future__ import annotations

import random

from shiq import model as m

CLASSES = [m.Class(f"urn:h:C{i}") for i in range(6)]
ROLES = [m.ObjectProperty(f"urn:h:r{i}") for i in range(4)]
_INDIVIDUALS = [f"urn:h:i{i}" for i in range(6)]


def random_horn(seed: int) -> tuple[list[m.Axiom], list[m.Assertion], list[list[m.Assertion]]]:
    """T, B, and events."""
    rng = random.Random(f"horn {seed}")
    axioms = [_inclusion(rng) for _ in range(rng.randrange(3, 10))]
    if rng.random() < 0.4:
        axioms.append(m.TransitiveObjectProperty(rng.choice(ROLES)))
    if rng.random() < 0.5:
        axioms.append(m.SubObjectPropertyOf(_role(rng), rng.choice(ROLES)))
    if rng.random() < 0.3:
        axioms.append(
            rng.choice((m.ObjectPropertyDomain, m.ObjectPropertyRange))(
                _role(rng), rng.choice(CLASSES)
            )
        )
    events = [[_fact(rng, "urn:h:e") for _ in range(rng.randrange(1, 5))] for _ in range(3)]
    return (
        list(dict.fromkeys(axioms)),
        [_fact(rng, "urn:h:i") for _ in range(rng.randrange(0, 9))],
        events,
    )


def _role(rng: random.Random) -> m.ObjectPropertyExpression:
    role = rng.choice(ROLES)
    return m.ObjectInverseOf(role) if rng.random() < 0.25 else role


def expression(rng: random.Random, depth: int) -> m.ClassExpression:
    """A class of ELI."""
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        return rng.choice(CLASSES)
    if kind < 0.6:
        return m.ObjectIntersectionOf((expression(rng, depth - 1), expression(rng, depth - 1)))
    return m.ObjectSomeValuesFrom(_role(rng), expression(rng, depth - 1))


def _inclusion(rng: random.Random) -> m.Axiom:
    kind = rng.random()
    if kind < 0.1:
        return m.DisjointClasses((rng.choice(CLASSES), expression(rng, 1)))
    if kind < 0.2:
        return m.EquivalentClasses((rng.choice(CLASSES), expression(rng, 2)))
    return m.SubClassOf(expression(rng, 2), expression(rng, 1))


def _fact(rng: random.Random, own: str) -> m.Assertion:
    names = [*_INDIVIDUALS, *(f"{own}{i}" for i in range(2)), "_:b"]
    if rng.random() < 0.45:
        return m.ClassAssertion(rng.choice([*CLASSES, m.Class("urn:h:Other")]), rng.choice(names))
    return m.ObjectPropertyAssertion(rng.choice(ROLES), rng.choice(names), rng.choice(names))

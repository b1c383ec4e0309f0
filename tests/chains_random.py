"""Random ontologies with chains, Self and reflexive roles, and nothing else beyond SHIQ(D); a
function of the seed.
"""

from __future__ import annotations

import random

from shiq import model as m
from shiq.model.walk import parts
from tests.outside_random import random_owl

_BEYOND = (m.ObjectOneOf, m.ObjectHasValue, m.HasKey)
_PLAIN = (m.ObjectPropertyAssertion, m.DataPropertyAssertion, m.DifferentIndividuals)


def random_chains(seed: int) -> tuple[list[m.Axiom], list[m.Assertion], list[m.Assertion]]:
    """T, B and an event."""
    rng = random.Random(f"chains {seed}")
    axioms: list[m.Axiom] = []
    for i in range(2):
        axioms += [
            a
            for a in random_owl(100_000 + 2 * seed + i)[0]
            if not any(isinstance(p, _BEYOND) for p in parts(a))
        ]
    r, s = (
        [m.ObjectProperty(f"urn:t:{kind}{i}") for i in range(n)] for kind, n in (("r", 3), ("s", 2))
    )
    if rng.random() < 0.5:
        axioms = [
            a
            for a in axioms
            if not isinstance(a, m.SubObjectPropertyChain | m.ReflexiveObjectProperty)
        ]
        axioms.append(m.SubObjectPropertyChain((rng.choice(s), rng.choice([*s, r[1]])), r[0]))
        axioms.append(m.ReflexiveObjectProperty(rng.choice([*s, *r])))
    some = rng.choice(s)
    mine = [
        m.SubClassOf(m.ObjectHasSelf(some), m.Class("urn:t:C0")),
        m.SubClassOf(m.Class("urn:t:C1"), m.ObjectHasSelf(some)),
    ]
    axioms += [a for a in mine if rng.random() < 0.5]
    axioms.append(
        m.SubClassOf(
            m.Class(f"urn:t:C{rng.randrange(4)}"), m.ObjectAllValuesFrom(r[0], m.Class("urn:t:C2"))
        )
    )
    _, static, event = random_owl(300_000 + seed)
    facts = [a for a in (*static, *event) if isinstance(a, _PLAIN) or _is_named(a)]
    if rng.random() < 0.5:
        facts.append(m.ObjectPropertyAssertion(some, "urn:t:i0", "urn:t:i0"))
    cut = rng.randrange(len(facts) + 1)
    return list(dict.fromkeys(axioms)), facts[:cut], facts[cut:]


def _is_named(assertion: m.Assertion) -> bool:
    return isinstance(assertion, m.ClassAssertion) and isinstance(assertion.expression, m.Class)

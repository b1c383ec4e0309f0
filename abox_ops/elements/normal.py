"""Assertions in normal form: literals, role and data assertions on names, (in)equalities; complex ones by definition.

A complex class assertion a:C becomes a:Q with Q ⊑ C; ¬R(a, b) with R not simple becomes a:∀R.¬N, b:N with N for b alone
(THEORY.md 2.1). The names are a function of C and of b, so that A and A⁺ agree on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from shiq.functional.writer import axiom_text
from shiq.model import (
    NOTHING,
    THING,
    Assertion,
    Class,
    ClassAssertion,
    ClassExpression,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    SubClassOf,
)
from shiq.roles import RoleBox, role_of

DEFINED = "urn:shiq:fresh:assertion:"
NAMED = "urn:shiq:fresh:individual:"


@dataclass(frozen=True, slots=True)
class Normalised:
    """``assertions``: class assertions on a (negated) name, and every other kind but non-simple negative role assertions;
    a:⊤ is gone, a:¬⊤ is a:⊥. ``definitions``: the Q ⊑ C that they need."""

    assertions: tuple[Assertion, ...]
    definitions: tuple[SubClassOf, ...] = field(default=())


def normalise(assertion: Assertion, roles: RoleBox) -> Normalised:
    """``assertion`` in normal form."""
    match assertion:
        case ClassAssertion(Class() as name, _):
            return Normalised(() if name == THING else (assertion,))
        case ClassAssertion(ObjectComplementOf(Class() as name), individual):
            if name == THING:
                return Normalised((ClassAssertion(NOTHING, individual),))
            return Normalised(() if name == NOTHING else (assertion,))
        case ClassAssertion(expression, individual):
            return _defined(expression, individual)
        case NegativeObjectPropertyAssertion(property, subject, object) if not roles.is_simple(role_of(property)):
            target = Class(NAMED + object)
            rest = _defined(ObjectAllValuesFrom(property, ObjectComplementOf(target)), subject)
            return Normalised((*rest.assertions, ClassAssertion(target, object)), rest.definitions)
    return Normalised((assertion,))


def _defined(expression: ClassExpression, individual: str) -> Normalised:
    name = Class(DEFINED + hashlib.sha256(axiom_text(expression).encode()).hexdigest()[:24])
    return Normalised((ClassAssertion(name, individual),), (SubClassOf(name, expression),))


def definitions(assertions: Iterable[Assertion], roles: RoleBox) -> tuple[SubClassOf, ...]:
    """The definitions that ``assertions`` need, each once, in order."""
    return tuple(dict.fromkeys(d for a in assertions for d in normalise(a, roles).definitions))

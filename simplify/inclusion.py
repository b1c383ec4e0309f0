"""What the passes hand on: an inclusion with the axioms it follows from, and what a pass may know of the whole TBox.

>>> Inclusion(Class("urn:A"), Class("urn:B"), frozenset({0})).disjuncts
(Class(iri='urn:B'),)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shiq.model import (
    NOTHING,
    THING,
    Class,
    ClassExpression,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectMinCardinality,
    ObjectPropertyExpression,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
)
from shiq.roles import RoleBox
from simplify.fresh import FreshNames
from simplify.role_origins import RoleOrigins


@dataclass(frozen=True, slots=True)
class Inclusion:
    """sub ⊑ sup, with one set of axiom indexes that suffices for it.

    The set is empty for the definition of a fresh name: such a definition extends every TBox conservatively, whichever axioms
    of it are taken, so it follows from nothing and blames no axiom.
    """

    sub: ClassExpression
    sup: ClassExpression
    origins: frozenset[int] = frozenset()

    @property
    def disjuncts(self) -> tuple[ClassExpression, ...]:
        """The operands of ``sup`` seen as a disjunction; none for ⊥."""
        return disjuncts(self.sup)


@dataclass(frozen=True)
class Context:
    """What is fixed before the passes run. ``taken`` are names that no fresh name may have; ``scope`` keeps the fresh names of
    the two forms (clausal, Definition 4) apart."""

    roles: RoleBox = field(default_factory=RoleBox)
    role_origins: RoleOrigins = field(default_factory=RoleOrigins)
    datatype_origins: Mapping[str, frozenset[int]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    scope: str = ""

    def fresh(self, label: str) -> FreshNames:
        return FreshNames(self.scope + label, self.taken)


def disjuncts(expression: ClassExpression) -> tuple[ClassExpression, ...]:
    """The operands of ``expression`` seen as a disjunction; none for ⊥."""
    if isinstance(expression, ObjectUnionOf):
        return expression.operands
    return () if isinstance(expression, Class) and expression.iri == NOTHING.iri else (expression,)


def union_of(operands: Iterable[ClassExpression]) -> ClassExpression:
    """⊔ operands: flat, ⊥ left out, ⊤ as soon as one operand is ⊤."""
    flat: list[ClassExpression] = []
    for operand in operands:
        if operand == THING:
            return THING
        flat += disjuncts(operand)
    return flat[0] if len(flat) == 1 else ObjectUnionOf(tuple(flat)) if flat else NOTHING


def intersection_of(operands: Iterable[ClassExpression]) -> ClassExpression:
    """⊓ operands: flat, ⊤ left out, ⊥ as soon as one operand is ⊥."""
    flat: list[ClassExpression] = []
    for operand in operands:
        if operand == NOTHING:
            return NOTHING
        if isinstance(operand, ObjectIntersectionOf):
            flat += operand.operands
        elif operand != THING:
            flat.append(operand)
    return flat[0] if len(flat) == 1 else ObjectIntersectionOf(tuple(flat)) if flat else THING


def at_least(n: int, role: ObjectPropertyExpression, filler: ClassExpression) -> ClassExpression:
    """≥n role.filler for n ≥ 1, in the one form that the passes use: ∃ where n is 1."""
    return ObjectSomeValuesFrom(role, filler) if n == 1 else ObjectMinCardinality(n, role, filler)


def complement_of(literal: ClassExpression) -> ClassExpression:
    """The literal that says the opposite of ``literal``, a name or a negated name."""
    return literal.operand if isinstance(literal, ObjectComplementOf) else ObjectComplementOf(literal)


def is_literal(expression: ClassExpression) -> bool:
    """Whether ``expression`` is a name or a negated name."""
    return isinstance(expression, Class | ObjectComplementOf)

"""Definition 4 of the published method: give every ∀ and ≤ an inclusion of its own, L₁ ⊑ ∀S.L₂ or
L₁ ⊑ ≤n S.L₂.

Source: THEORY, "Simplified TBox": step 2. Inside a larger disjunction ∀S.C is replaced by a fresh
A₁ with A₁ ⊑ ∀S.A₂, A₂ ⊑ C, and ≤n S.C by A₁ with A₁ ⊑ ≤n S.C. Fillers of ≤ are already named by
`normal_form`. If the restriction stands alone with at most one literal, the complement of that
literal is L₁ and no name is needed. A domain, C ⊔ ∀S.⊥, is written ⊤ ⊑ ∀S⁻.C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shiq import model as owl
from shiq.model.roles import Role, expression_of, role_of
from shiq.simplify.inclusion import (
    Context,
    FreshNames,
    Inclusion,
    complement_of,
    disjuncts,
    intersection_of,
    is_literal,
    restriction_of,
    union_of,
)

LABEL = "restrictions"

#: (name, whether it is positive).
Lit: TypeAlias = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Universal:
    """The inclusion premise ⊑ ∀role.filler; a missing premise is ⊤."""

    premise: Lit | None
    role: Role
    filler: Lit


@dataclass(frozen=True, slots=True)
class AtMost:
    """The inclusion premise ⊑ ≤n role.filler, n ≥ 1; a missing premise or filler is ⊤."""

    premise: Lit | None
    n: int
    role: Role
    filler: Lit | None


def name_restrictions(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Rewrite inclusions in normal form to those of Definition 4 of the published method: each ∀
    and ≤ gets one of its own.

    Definitions of fresh names follow their first use.
    """
    names = context.fresh_names(LABEL)
    result: list[Inclusion] = []
    for inclusion in inclusions:
        restriction = restriction_of(inclusion)
        if restriction is None:
            result.append(inclusion)
        else:
            result += _name_restriction(inclusion, restriction, names)
    return result


def _name_restriction(
    inclusion: Inclusion,
    restriction: owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality,
    names: FreshNames,
) -> list[Inclusion]:
    """Split an inclusion so that its ∀ or ≤ is alone in L₁ ⊑ ∀S.L₂ or L₁ ⊑ ≤n S.L₂; literals get
    names.
    """
    written = restriction
    others = [d for d in inclusion.disjuncts if d is not restriction]
    definitions: list[Inclusion] = []
    if isinstance(restriction, owl.ObjectAllValuesFrom):
        if others and not disjuncts(restriction.filler):
            # C ⊔ ∀S.⊥ is a domain: ⊤ ⊑ ∀S⁻.C has a remedy for every role assertion.
            restriction = owl.ObjectAllValuesFrom(
                expression_of(role_of(restriction.property).inverse), union_of(others)
            )
            others = []
        literals = disjuncts(restriction.filler)
        if len(literals) != 1 or not is_literal(literals[0]):
            filler, is_new = names.literal(
                frozenset(literals),
                not all(isinstance(d, owl.ObjectComplementOf) for d in literals),
            )
            if is_new:
                definitions.append(
                    Inclusion(owl.THING, union_of((complement_of(filler), *literals)))
                )
            restriction = owl.ObjectAllValuesFrom(restriction.property, filler)
    if len(others) > 1 or not all(map(is_literal, others)):
        literal, is_new = names.literal(
            restriction, not isinstance(restriction.filler, owl.ObjectComplementOf)
        )
        if is_new:
            definitions.insert(
                0, Inclusion(owl.THING, union_of((complement_of(literal), restriction)))
            )
        return [Inclusion(owl.THING, union_of((*others, literal)), inclusion.origins), *definitions]
    if restriction is written:
        return [inclusion]
    return [Inclusion(owl.THING, union_of((*others, restriction)), inclusion.origins), *definitions]


def definition4_axiom(inclusion: Inclusion) -> owl.SubClassOf:
    """Write ⊤ ⊑ C readably: L₁ ⊑ ∀S.L₂, L₁ ⊑ ≤n S.L₂, or negated names moved to the left."""
    restriction = restriction_of(inclusion)
    if restriction is not None:
        premise = [complement_of(d) for d in inclusion.disjuncts if d is not restriction]
        return owl.SubClassOf(premise[0] if premise else owl.THING, restriction)
    body: list[owl.ClassExpression] = []
    head: list[owl.ClassExpression] = []
    for disjunct in inclusion.disjuncts:
        if isinstance(disjunct, owl.ObjectComplementOf):
            body.append(disjunct.operand)
        else:
            head.append(disjunct)
    return owl.SubClassOf(intersection_of(body), union_of(head))


def universals_of(axioms: Sequence[owl.SubClassOf]) -> tuple[Universal, ...]:
    """Collect the axioms of the form L₁ ⊑ ∀S.L₂, each once."""
    found = (
        Universal(_as_literal(axiom.sub), role_of(axiom.sup.property), filler)
        for axiom in axioms
        if isinstance(axiom.sup, owl.ObjectAllValuesFrom)
        and (filler := _as_literal(axiom.sup.filler)) is not None
    )
    return tuple(dict.fromkeys(found))


def at_mosts_of(axioms: Sequence[owl.SubClassOf]) -> tuple[AtMost, ...]:
    """Collect the axioms of the form L₁ ⊑ ≤n S.L₂, each once."""
    found = (
        AtMost(
            _as_literal(axiom.sub),
            axiom.sup.cardinality,
            role_of(axiom.sup.property),
            _as_literal(axiom.sup.filler),
        )
        for axiom in axioms
        if isinstance(axiom.sup, owl.ObjectMaxCardinality)
    )
    return tuple(dict.fromkeys(found))


def _as_literal(literal: owl.ClassExpression) -> Lit | None:
    """Return a name or negated name as a pair (name, positive); None for ⊤."""
    match literal:
        case owl.ObjectComplementOf(owl.Class(iri)):
            return iri, False
        case owl.Class(iri):
            return None if literal == owl.THING else (iri, True)
    raise TypeError(literal)

"""Express Self and reflexive roles by names: ℓ_R is the class of all x with (x,x) ∈ R.

See THEORY, "Chains and loops".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from shiq import model as owl
from shiq.model.roles import Role, RoleBox, expression_of, loop_name, role_of
from shiq.model.walk import parts
from shiq.simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)


def contract_loops(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Add the consequences that inclusions and role axioms have for elements x with R(x, x).

    Each L₁ ⊑ ∀S.L₂ gives L₁ ⊓ ℓ_R ⊑ L₂. Each ≤n S.C gives ℓ_R ⊑ ∃R.ℓ_R, a need that x itself
    satisfies, so that counting sees the loop.

    inclusions: in normal form, transitivity eliminated.
    """
    roles, counted = context.roles, set[tuple[str, Role]]()
    if not roles.loop_properties:
        return list(inclusions)
    above = {iri: roles.loops_above(iri) for iri in roles.loop_properties}
    result = list(_role_axioms_on_loops(context))
    for inclusion in inclusions:
        result.append(inclusion)
        restriction = restriction_of(inclusion)
        if restriction is None:
            continue
        role = role_of(restriction.property)
        for iri in roles.loop_properties:
            if role not in above[iri]:
                continue
            no_loop = complement_of(loop_class(iri))
            if isinstance(restriction, owl.ObjectAllValuesFrom):
                others = [d for d in inclusion.disjuncts if d is not restriction]
                local = dict.fromkeys((*others, no_loop, *disjuncts(restriction.filler)))
                result.append(
                    Inclusion(
                        owl.THING,
                        union_of(local),
                        inclusion.origins | _origins_of_loop(context, iri, role),
                    )
                )
                continue
            for own in (Role(iri), Role(iri, True)):
                if role in roles.superroles(own) and (iri, own) not in counted:
                    counted.add((iri, own))
                    need = owl.ObjectSomeValuesFrom(expression_of(own), loop_class(iri))
                    result.append(Inclusion(owl.THING, union_of((no_loop, need))))
    return result


def _role_axioms_on_loops(context: Context) -> Iterator[Inclusion]:
    """Yield the consequences of role axioms for elements x with R(x, x).

    ℓ_R ⊑ ℓ_S for R below S or its inverse, ℓ_R ⊑ ⊥ below irreflexive and asymmetric roles, ℓ_R ⊓
    ℓ_S ⊑ ⊥ for disjoint roles.
    """
    roles, about = context.roles, context.role_origins.constraint_origins
    for iri in roles.loop_properties:
        above, no_loop = roles.loops_above(iri), complement_of(loop_class(iri))
        for other in roles.loop_properties:
            if other != iri and Role(other) in above:
                implied = union_of((no_loop, loop_class(other)))
                yield Inclusion(owl.THING, implied, _origins_of_loop(context, iri, Role(other)))
        for role in sorted(above & (roles.irreflexive | roles.asymmetric)):
            yield Inclusion(
                owl.THING,
                no_loop,
                _origins_of_loop(context, iri, role).union(about.get(role.iri, ())),
            )
    for r, s in sorted(roles.disjoint):
        if r.iri in roles.loop_properties and s.iri in roles.loop_properties:
            apart = dict.fromkeys(complement_of(loop_class(role.iri)) for role in (r, s))
            yield Inclusion(
                owl.THING,
                union_of(apart),
                frozenset(about.get(r.iri, ())) & frozenset(about.get(s.iri, ())),
            )


def _origins_of_loop(context: Context, iri: str, above: Role) -> frozenset[int]:
    """Return the indexes of axioms by which `iri`(x, x) implies `above`(x, x); empty without
    recorded origins.
    """
    origins, roles = context.role_origins, context.roles
    for role, found in product((Role(iri), Role(iri, True)), (above, above.inverse)):
        if origins.steps and found in roles.superroles(role):
            return origins.inclusion(role, found)
    return frozenset()


def loop_class(iri: str) -> owl.Class:
    """Return the class ℓ_R of all x with R(x, x); the inverse of R has the same one."""
    return owl.Class(loop_name(iri))


def inexpressible_reason(
    named: Iterable[str], roles: RoleBox, inclusions: Iterable[Inclusion]
) -> str:
    """Explain why class names cannot express the loops R(x, x) of the properties ``named`` in these
    inclusions; "" if they can.

    An at-most restriction may count them, or disjoint roles may see them.
    """
    concerned = frozenset(role for iri in named for role in roles.loops_above(iri))
    if any(concerned & {*pair} for pair in roles.disjoint):
        return "disjoint properties may hold of one individual and itself"
    for inclusion in inclusions:
        restriction = restriction_of(inclusion)
        if (
            isinstance(restriction, owl.ObjectMaxCardinality)
            and role_of(restriction.property) in concerned
        ):
            return "an at-most restriction may count an individual as its own neighbour"
    return ""


def required_loops(named: Iterable[str], inclusions: Iterable[Inclusion]) -> frozenset[str]:
    """Return the properties R among ``named`` for which some inclusion negates ℓ_R, the class of all
    x with R(x, x).
    """
    negated: set[object] = set()
    for inclusion in inclusions:
        for part in parts(inclusion.sup):
            if isinstance(part, owl.ObjectComplementOf):
                negated.add(part.operand)
            elif isinstance(part, owl.ObjectMaxCardinality):
                negated.add(part.filler)
    return frozenset(iri for iri in named if loop_class(iri) in negated)

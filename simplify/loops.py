"""Self and reflexive roles as names: ℓ_R for (x,x) ∈ R (THEORY, "Chains and loops")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from shiq import model as owl
from shiq.reasoner.structure import rewritten
from shiq.roles import Role, RoleBox, expression_of, loop_name, role_of
from shiq.signature import parts
from simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)


def contract_loops(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """``inclusions`` (in normal form, transitivity eliminated) with what they say of loops, and
    what role axioms say of these.

    For each L₁ ⊑ ∀S.L₂ L₁ ⊓ ℓ_R ⊑ L₂; for each ≤n S.C ℓ_R ⊑ ∃R.ℓ_R, a need that x meets itself,
    so that counting knows of it.
    """
    roles, counted = context.roles, set[tuple[str, Role]]()
    if not roles.looped:
        return list(inclusions)
    above = {iri: roles.loops_above(iri) for iri in roles.looped}
    result = list(_role_axioms_on_loops(context))
    for inclusion in inclusions:
        result.append(inclusion)
        restriction = restriction_of(inclusion)
        if restriction is None:
            continue
        role = role_of(restriction.property)
        for iri in roles.looped:
            if role not in above[iri]:
                continue
            no_loop = complement_of(loop_class(iri))
            if isinstance(restriction, owl.ObjectAllValuesFrom):
                others = [d for d in inclusion.disjuncts if d is not restriction]
                local = dict.fromkeys((*others, no_loop, *disjuncts(restriction.filler)))
                result.append(
                    Inclusion(
                        owl.THING, union_of(local), inclusion.origins | _between(context, iri, role)
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
    """ℓ_R ⊑ ℓ_S for R below S or its inverse, ℓ_R ⊑ ⊥ below irreflexive and asymmetric roles,
    ℓ_R ⊓ ℓ_S ⊑ ⊥ for disjoint ones.
    """
    roles, about = context.roles, context.role_origins.about
    for iri in roles.looped:
        above, no_loop = roles.loops_above(iri), complement_of(loop_class(iri))
        for other in roles.looped:
            if other != iri and Role(other) in above:
                implied = union_of((no_loop, loop_class(other)))
                yield Inclusion(owl.THING, implied, _between(context, iri, Role(other)))
        for role in sorted(above & (roles.irreflexive | roles.asymmetric)):
            yield Inclusion(
                owl.THING, no_loop, _between(context, iri, role).union(about.get(role.iri, ()))
            )
    for r, s in sorted(roles.disjoint):
        if r.iri in roles.looped and s.iri in roles.looped:
            apart = dict.fromkeys(complement_of(loop_class(role.iri)) for role in (r, s))
            yield Inclusion(
                owl.THING,
                union_of(apart),
                frozenset(about.get(r.iri, ())) & frozenset(about.get(s.iri, ())),
            )


def _between(context: Context, iri: str, above: Role) -> frozenset[int]:
    """Which axioms make a loop of ``iri`` one of ``above``; none are told where the context
    knows of none.
    """
    origins, roles = context.role_origins, context.roles
    for role, found in product((Role(iri), Role(iri, True)), (above, above.inverse)):
        if origins.steps and found in roles.superroles(role):
            return origins.inclusion(role, found)
    return frozenset()


def loop_class(iri: str) -> owl.Class:
    """ℓ_R, which is ℓ of the inverse too."""
    return owl.Class(loop_name(iri))


def named_loops(axiom: owl.Axiom) -> owl.Axiom:
    """``axiom`` with names for Self; that R is reflexive as ⊤ ⊑ ℓ_R."""
    if isinstance(axiom, owl.ReflexiveObjectProperty):
        return owl.SubClassOf(owl.THING, loop_class(role_of(axiom.property).iri))
    named: owl.Axiom = rewritten(axiom, _name_of)
    return named


def _name_of(part: object) -> object | None:
    return loop_class(role_of(part.property).iri) if isinstance(part, owl.ObjectHasSelf) else None


@dataclass(frozen=True)
class Loops:
    """The properties ``looped`` that have a name for their loops, under ``roles``."""

    looped: tuple[str, ...]
    roles: RoleBox

    @classmethod
    def of(cls, axioms: Iterable[owl.Axiom], roles: RoleBox) -> Loops:
        """The loops that ``axioms`` speak of."""
        found: set[str] = set()
        for axiom in axioms:
            if isinstance(axiom, owl.ReflexiveObjectProperty):
                found.add(role_of(axiom.property).iri)
            found.update(
                role_of(part.property).iri
                for part in parts(axiom)
                if isinstance(part, owl.ObjectHasSelf)
            )
        return cls(tuple(sorted(found)), roles)

    def above(self, iri: str) -> frozenset[Role]:
        """The roles that a loop of ``iri`` is a loop of."""
        found = self.roles.superroles(Role(iri)) | self.roles.superroles(Role(iri, True))
        return found | {role.inverse for role in found}

    def obstacle(self, inclusions: Iterable[Inclusion]) -> str:
        """Why loops cannot be read as names here, or "": a bound counts them, or they bear on
        disjoint roles.
        """
        concerned = frozenset(role for iri in self.looped for role in self.above(iri))
        if any(concerned & {*pair} for pair in self.roles.disjoint):
            return "a disjointness axiom may see loops"
        for inclusion in inclusions:
            restriction = restriction_of(inclusion)
            if (
                isinstance(restriction, owl.ObjectMaxCardinality)
                and role_of(restriction.property) in concerned
            ):
                return "a bound may count loops"
        return ""

    def asked(self, inclusions: Iterable[Inclusion]) -> frozenset[str]:
        """The properties whose loops one of ``inclusions``, without those of this, asks for: ℓ_R
        stands negated there.
        """
        negated: set[object] = set()
        for inclusion in inclusions:
            for part in parts(inclusion.sup):
                if isinstance(part, owl.ObjectComplementOf):
                    negated.add(part.operand)
                elif isinstance(part, owl.ObjectMaxCardinality):
                    negated.add(part.filler)
        return frozenset(iri for iri in self.looped if loop_class(iri) in negated)

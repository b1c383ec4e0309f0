"""Self and reflexive roles as names: ℓ_R for (x,x) ∈ R (THEORY, "Chains and loops as clauses")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.reasoner.structure import rewritten
from shiq.roles import Role, RoleBox, role_of
from shiq.signature import parts
from simplify.inclusion import PREFIX, Inclusion, complement_of, disjuncts, restriction_of, union_of


def loop_name(iri: str) -> owl.Class:
    """ℓ_R, which is ℓ of the inverse too."""
    return owl.Class(f"{PREFIX}loop:{iri}")


def named_loops(axiom: owl.Axiom) -> owl.Axiom:
    """``axiom`` with names for Self; that R is reflexive as ⊤ ⊑ ℓ_R."""
    if isinstance(axiom, owl.ReflexiveObjectProperty):
        return owl.SubClassOf(owl.THING, loop_name(role_of(axiom.property).iri))
    named: owl.Axiom = rewritten(axiom, _name_of)
    return named


def _name_of(part: object) -> object | None:
    return loop_name(role_of(part.property).iri) if isinstance(part, owl.ObjectHasSelf) else None


@dataclass(frozen=True)
class Loops:
    """The properties ``looped`` that have a name for their loops, under ``roles``."""

    looped: tuple[str, ...]
    roles: RoleBox

    @classmethod
    def of(cls, axioms: Iterable[owl.Axiom], roles: RoleBox) -> Loops:
        """Those of ``axioms`` as given."""
        found: set[str] = set()
        for axiom in axioms:
            if isinstance(axiom, owl.ReflexiveObjectProperty):
                found.add(role_of(axiom.property).iri)
            found.update(role_of(part.property).iri for part in parts(axiom) if isinstance(part, owl.ObjectHasSelf))
        return cls(tuple(sorted(found)), roles)

    def above(self, iri: str) -> frozenset[Role]:
        """The roles that a loop of ``iri`` is a loop of."""
        found = self.roles.superroles(Role(iri)) | self.roles.superroles(Role(iri, True))
        return found | {role.inverse for role in found}

    def obstacle(self, inclusions: Iterable[Inclusion]) -> str:
        """Why loops cannot be read as names here, or "": a bound counts them, or they bear on disjoint roles."""
        concerned = frozenset(role for iri in self.looped for role in self.above(iri))
        if any(concerned & {*pair} for pair in self.roles.disjoint):
            return "a disjointness axiom may see loops"
        for inclusion in inclusions:
            restriction = restriction_of(inclusion)
            if isinstance(restriction, owl.ObjectMaxCardinality) and role_of(restriction.property) in concerned:
                return "a bound may count loops"
        return ""

    def inclusions(self) -> list[Inclusion]:
        """ℓ_R ⊑ ℓ_S for R below S or its inverse; ℓ_R ⊑ ⊥ below irreflexive and asymmetric roles."""
        found: list[Inclusion] = []
        for iri in self.looped:
            above = self.above(iri)
            start = complement_of(loop_name(iri))
            if above & (self.roles.irreflexive | self.roles.asymmetric):
                found.append(Inclusion(owl.THING, start))
            found += [Inclusion(owl.THING, union_of((start, loop_name(s)))) for s in self.looped if s != iri and Role(s) in above]
        return found

    def contracted(self, inclusions: Sequence[Inclusion]) -> list[Inclusion]:
        """What each L₁ ⊑ ∀S.L₂ says of a loop: L₁ ⊓ ℓ_R ⊑ L₂."""
        found: list[Inclusion] = []
        for inclusion in inclusions:
            restriction = restriction_of(inclusion)
            if isinstance(restriction, owl.ObjectAllValuesFrom):
                role = role_of(restriction.property)
                others = [d for d in inclusion.disjuncts if d is not restriction]
                for iri in self.looped:
                    if role in self.above(iri):
                        local = (*others, complement_of(loop_name(iri)), *disjuncts(restriction.filler))
                        found.append(Inclusion(owl.THING, union_of(dict.fromkeys(local)), inclusion.origins))
        return found

    def asked(self, inclusions: Iterable[Inclusion]) -> frozenset[str]:
        """The properties whose loops one of ``inclusions``, without those of this, asks for: ℓ_R stands negated there."""
        negated: set[object] = set()
        for inclusion in inclusions:
            for part in parts(inclusion.sup):
                if isinstance(part, owl.ObjectComplementOf):
                    negated.add(part.operand)
                elif isinstance(part, owl.ObjectMaxCardinality):
                    negated.add(part.filler)
        return frozenset(iri for iri in self.looped if loop_name(iri) in negated)

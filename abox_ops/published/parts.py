"""Part-of: which roles carry a ∀ or a ≤n (Definition 5 of Wu and Lécué, CIKM 2014)."""

from __future__ import annotations

from abox_ops.labels.seen import below
from shiq.roles import Role
from simplify import SimplifiedTBox


def u_part(tbox: SimplifiedTBox) -> frozenset[Role]:
    """The roles S with some L₁ ⊑ ∀S'.L₂ or L₁ ⊑ ∀S'⁻.L₂ and S ⊑* S'. S is among them iff S⁻ is."""
    return below((axiom.role for axiom in tbox.universals), tbox.definition4_clauses.roles)


def m_part(tbox: SimplifiedTBox) -> frozenset[Role]:
    """The same with ≤n in place of ∀."""
    return below((axiom.role for axiom in tbox.at_mosts), tbox.definition4_clauses.roles)

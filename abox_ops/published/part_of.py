"""Part-of: the roles through which a ∀ or a ≤n may reach an individual: Definition 5 of Wu and Lécué,
CIKM 2014 (THEORY, "Part-of").
"""

from __future__ import annotations

from shiq.abox_ops.labels.irrelevance import roles_below_any
from shiq.model.roles import Role
from shiq.simplify import SimplifiedTBox


def u_part(tbox: SimplifiedTBox) -> frozenset[Role]:
    """The roles S that are part of a ∀: some L₁ ⊑ ∀S'.L₂ or L₁ ⊑ ∀S'⁻.L₂ with S ⊑* S'.

    S is among them iff S⁻ is.
    """
    return roles_below_any(
        (axiom.role for axiom in tbox.universals), tbox.definition4_clauses.roles
    )


def m_part(tbox: SimplifiedTBox) -> frozenset[Role]:
    """The roles S that are part of a ≤n: some L₁ ⊑ ≤n S'.L₂ or L₁ ⊑ ≤n S'⁻.L₂ with S ⊑* S'.

    S is among them iff S⁻ is.
    """
    return roles_below_any((axiom.role for axiom in tbox.at_mosts), tbox.definition4_clauses.roles)

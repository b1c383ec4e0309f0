"""How basic concepts and roles are written: a label is a name, ∃P, ∃P⁻, ∃U, or a role P, P⁻
between the two of a pair.

An IRI begins with a letter, so that none looks like a label of another kind. Some labels stand
in for others and are shown as these: →P is P between the two of a pair, ↺P what P(a,a) has, !U
what a value outside the range of U has; and ∃R.B belongs to witnesses alone.

>>> existential(Role("urn:p", True)), shown(loop("urn:p")), shown(misfit("urn:u"))
('∃urn:p⁻', 'urn:p', '∃urn:u')
"""

from __future__ import annotations

from shiq.roles import Role

EXISTS, INVERSE, PAIR, LOOP, MISFIT = "∃", "⁻", "→", "↺", "!"


def role_label(role: Role) -> str:
    return PAIR + role.iri + INVERSE * role.inverted


def existential(role: Role) -> str:
    return EXISTS + role.iri + INVERSE * role.inverted


def loop(iri: str) -> str:
    return LOOP + iri


def misfit(iri: str) -> str:
    return MISFIT + iri


def shown(label: str) -> str:
    """As rows show it: what was asserted."""
    return (
        EXISTS + label[1:]
        if label[0] == MISFIT
        else label[1:]
        if label[0] in (PAIR, LOOP)
        else label
    )

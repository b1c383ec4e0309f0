"""Which role assertions a disjointness, asymmetry, irreflexivity axiom or a negative assertion can see (THEORY.md 2.6)."""

from __future__ import annotations

from collections.abc import Iterable

from shiq.roles import Role, RoleBox


def seen_roles(roles: RoleBox) -> frozenset[Role]:
    """The roles, closed under inverses, that lie below a role of a disjointness, asymmetry or irreflexivity axiom."""
    named = {r for pair in roles.disjoint for r in pair} | roles.asymmetric | roles.irreflexive
    return below(named, roles)


def below(named: Iterable[Role], roles: RoleBox) -> frozenset[Role]:
    """All roles below one of ``named``, with their inverses."""
    found = {r for s in named for r in roles.subroles(s)}
    return frozenset(found | {r.inverse for r in found})

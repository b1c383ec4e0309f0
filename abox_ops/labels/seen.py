"""Which role assertions a disjointness, asymmetry, irreflexivity axiom or a negative assertion
can see (THEORY, "Beyond SHIQ(D), at no loss"), or a class that asks for loops (THEORY, "Chains
and loops").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shiq.roles import Role, RoleBox


def seen_roles(roles: RoleBox) -> frozenset[Role]:
    """The roles, closed under inverses, that lie below a role of a disjointness, asymmetry or
    irreflexivity axiom, or below one for whose loops it matters whether they are there.
    """
    named = (
        {r for pair in roles.disjoint for r in pair}
        | roles.asymmetric
        | roles.irreflexive
        | {*map(Role, roles.asked_loops)}
    )
    return below(named, roles)


def below(named: Iterable[Role], roles: RoleBox) -> frozenset[Role]:
    """All roles below one of ``named``, with their inverses."""
    found = {r for s in named for r in roles.subroles(s)}
    return frozenset(found | {r.inverse for r in found})


def is_violated(
    asserted: Collection[Role], negated: Collection[Role], is_loop: bool, roles: RoleBox
) -> bool:
    """Whether role assertions ``asserted`` of one pair contradict a disjointness, asymmetry or
    irreflexivity axiom, or a negative assertion ``negated`` of the same pair, or may contradict
    what T says of loops; all of them as seen from the first of the pair; ``is_loop``: it is one
    element.
    """
    closed = {s for r in asserted for s in roles.superroles(r)}
    if is_loop:
        closed |= {s.inverse for s in closed}
    return (
        any(
            (r in closed and s in closed) or (r.inverse in closed and s.inverse in closed)
            for r, s in roles.disjoint
        )
        or any(r in closed and r.inverse in closed for r in roles.asymmetric)
        or (
            is_loop
            and (
                any(r in closed for r in roles.irreflexive)
                or any(r.iri in roles.asked_loops for r in closed)
            )
        )
        or any(r in closed for r in negated)
    )

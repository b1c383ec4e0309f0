"""The closure of role inclusions, against reachability looked for from each role by itself."""

from __future__ import annotations

import random

from shiq.model import SubObjectPropertyOf, TransitiveObjectProperty
from shiq.model.roles import Role, RoleBox, expression_of, role_box


def reached(role: Role, pairs: set[tuple[Role, Role]]) -> frozenset[Role]:
    seen = {role}
    while more := {target for source, target in pairs if source in seen} - seen:
        seen |= more
    return frozenset(seen)


def test_the_hierarchy_is_what_can_be_reached() -> None:
    for seed in range(2_000):
        rng = random.Random(seed)
        roles = [
            Role(f"urn:{i}", inverted)
            for i in range(rng.randint(1, 5))
            for inverted in (False, True)
        ]
        asserted = {(rng.choice(roles), rng.choice(roles)) for _ in range(rng.randint(0, 10))}
        pairs = asserted | {(r.inverse, s.inverse) for r, s in asserted}
        box = RoleBox(frozenset(asserted))
        for role in roles:
            assert box.superroles(role) == reached(role, pairs), seed
            assert box.subroles(role) == reached(role, {(s, r) for r, s in pairs}), seed


def test_what_lies_on_a_cycle_shares_one_set() -> None:
    roles = [Role(f"urn:{i}") for i in range(1_000)]
    box = RoleBox(frozenset({*zip(roles, [*roles[1:], roles[0]]), (roles[5], Role("urn:above"))}))
    assert len({id(box.superroles(r)) for r in roles}) == 1
    assert box.superroles(roles[0]) == {*roles, Role("urn:above")}


def test_what_is_equivalent_to_a_transitive_role_is_transitive() -> None:
    for seed in range(500):
        rng = random.Random(seed)
        roles = [Role(f"urn:{i}") for i in range(5)]
        pairs = {(rng.choice(roles), rng.choice(roles)) for _ in range(rng.randint(0, 10))}
        transitive = set(rng.sample(roles, 2))
        axioms = [SubObjectPropertyOf(expression_of(r), expression_of(s)) for r, s in pairs]
        box = role_box([*axioms, *(TransitiveObjectProperty(expression_of(r)) for r in transitive)])
        expected = {
            s
            for r in transitive
            for s in roles
            if s in reached(r, pairs) and r in reached(s, pairs)
        }
        assert {r for r in box.transitive if not r.is_inverse} == expected, seed

"""Random clausal TBoxes and modules, near the threshold between consistent and inconsistent.

Used by the tests of `own` and by its comparison with HermiT. A case is a function of its seed
and profile.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from shiq.model import (
    XSD,
    DataComplementOf,
    DataOneOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    Literal,
)
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.protocol import Module


@dataclass(frozen=True)
class Profile:
    """How large cases are, and how often each construct occurs."""

    names: int = 5
    roles: int = 3
    clauses: tuple[int, int] = (10, 18)
    nodes: tuple[int, int] = (1, 4)
    edges: float = 1.2
    role_constraints: float = 0.15
    max_n: int = 3
    data: bool = False
    weights: tuple[tuple[str, int], ...] = (
        ("subsumption", 2),
        ("disjunction", 3),
        ("disjoint", 3),
        ("exists", 4),
        ("at_least", 2),
        ("universal", 3),
        ("backward", 3),
        ("u_disjunction", 2),
        ("functional", 2),
        ("at_most", 3),
    )


#: Small cases with few successors: brute force finds most of their models.
SMALL = Profile(names=3, roles=2, clauses=(6, 11), nodes=(1, 2), max_n=2)

#: Cases that live from generated successors and from what those send back.
CYCLIC = Profile(
    names=4,
    roles=2,
    clauses=(11, 18),
    nodes=(1, 2),
    edges=0.6,
    role_constraints=0.1,
    max_n=2,
    weights=(
        ("disjunction", 2),
        ("disjoint", 3),
        ("exists", 7),
        ("at_least", 1),
        ("backward", 5),
        ("universal", 2),
        ("functional", 3),
        ("at_most", 1),
    ),
)

#: Little Horn and much disjunction: choices that have to be taken back.
DISJUNCTIVE = Profile(
    names=6,
    roles=2,
    clauses=(22, 34),
    nodes=(1, 3),
    max_n=2,
    weights=(
        ("subsumption", 1),
        ("disjunction", 8),
        ("disjoint", 7),
        ("exists", 4),
        ("universal", 3),
        ("backward", 4),
        ("u_disjunction", 5),
        ("functional", 2),
        ("at_most", 2),
    ),
)

#: Data restrictions and values, with ranges that overlap, and nodes that merge.
DATA = Profile(
    names=4,
    roles=2,
    clauses=(9, 16),
    nodes=(1, 4),
    data=True,
    weights=(
        ("disjunction", 4),
        ("disjoint", 2),
        ("exists", 3),
        ("universal", 2),
        ("backward", 2),
        ("functional", 2),
        ("at_most", 2),
        ("data", 10),
    ),
)

#: Many named neighbours under ≤n, with inequalities.
COUNTING = Profile(
    names=4,
    roles=2,
    clauses=(6, 12),
    nodes=(3, 6),
    edges=2.0,
    weights=(
        ("disjunction", 2),
        ("disjoint", 3),
        ("exists", 2),
        ("at_least", 3),
        ("universal", 2),
        ("functional", 2),
        ("at_most", 6),
    ),
)

PROFILES = {
    "default": Profile(),
    "small": SMALL,
    "cyclic": CYCLIC,
    "counting": COUNTING,
    "disjunctive": DISJUNCTIVE,
    "data": DATA,
}


PROPERTIES = ("urn:t:d0", "urn:t:d1")


def _integer(n: int) -> Literal:
    return Literal(str(n), XSD + "integer")


_INT = Datatype(XSD + "integer")
_SMALL = DatatypeRestriction(
    _INT, ((XSD + "minInclusive", _integer(1)), (XSD + "maxInclusive", _integer(3)))
)
RANGES: tuple[DataRange, ...] = (
    _INT,
    _SMALL,
    DatatypeRestriction(_INT, ((XSD + "minInclusive", _integer(3)),)),
    Datatype(XSD + "string"),
    DataComplementOf(_INT),
    DataComplementOf(_SMALL),
    DataOneOf((_integer(1), _integer(5), Literal("a"))),
)
LITERALS = (*map(_integer, range(1, 6)), Literal("a"), Literal("b"))


def random_case(seed: int, profile: Profile) -> tuple[ClausalTBox, Module]:
    """The case of ``seed``."""
    rng = random.Random(f"{seed}")
    names = [f"urn:t:A{i}" for i in range(profile.names)]
    roles = [
        Role(f"urn:t:r{i}", inverted) for i in range(profile.roles) for inverted in (False, True)
    ]
    tbox = _tbox(rng, profile, names, roles)
    return tbox, _module(rng, profile, tbox, names, roles)


def _tbox(rng: random.Random, profile: Profile, names: list[str], roles: list[Role]) -> ClausalTBox:
    kinds, weights = zip(*profile.weights)
    clauses = [
        _clause(rng, rng.choices(kinds, weights)[0], profile, names, roles)
        for _ in range(rng.randint(*profile.clauses))
    ]
    some = rng.random() < profile.role_constraints
    sub = frozenset({PROPERTIES}) if profile.data and rng.random() < 0.4 else frozenset()
    apart = (
        frozenset({PROPERTIES}) if profile.data and not sub and rng.random() < 0.2 else frozenset()
    )
    box = RoleBox(
        inclusions=frozenset(
            (rng.choice(roles), rng.choice(roles)) for _ in range(rng.choice((0, 0, 1, 1, 2)))
        ),
        disjoint=frozenset(
            (rng.choice(roles), rng.choice(roles)) for _ in range(some * rng.choice((0, 1, 1)))
        ),
        asymmetric=frozenset(rng.choice(roles) for _ in range(some * rng.choice((0, 0, 1)))),
        irreflexive=frozenset(rng.choice(roles) for _ in range(some * rng.choice((0, 1)))),
        data_inclusions=sub,
        disjoint_data=apart,
    )
    extra: list[Atom] = [
        AtLeast(rng.randint(1, profile.max_n), rng.choice(roles), rng.choice([None, *names]))
    ]
    atoms = dict.fromkeys(names + [a for c in clauses for a in c.head] + extra)
    return ClausalTBox(tuple(clauses), box, atoms=tuple(atoms))


def _clause(
    rng: random.Random, kind: str, profile: Profile, names: list[str], roles: list[Role]
) -> Clause:
    def pick(low: int, high: int) -> tuple[str, ...]:
        return tuple(sorted(rng.sample(names, rng.randint(low, high))))

    role = rng.choice(roles)
    filler = rng.choice([None, *names, *names])
    match kind:
        case "subsumption":
            return Clause(body=pick(1, 2), head=pick(1, 1))
        case "disjunction":
            return Clause(body=pick(0, 1) if rng.random() < 0.4 else pick(1, 2), head=pick(2, 3))
        case "disjoint":
            return Clause(body=pick(2, 2) if rng.random() < 0.7 else pick(3, 3))
        case "exists":
            more = pick(0, 1) if rng.random() < 0.2 else ()
            return Clause(body=pick(1, 1), head=(AtLeast(1, role, filler), *more))
        case "at_least":
            n = rng.randint(min(2, profile.max_n), profile.max_n)
            return Clause(body=pick(1, 1), head=(AtLeast(n, role, filler),))
        case "universal":
            strict = rng.random() < 0.15
            return Clause(
                body=pick(1 if strict else 0, 1),
                role=role,
                branch_body=pick(strict, 1),
                branch_head=pick(1 - strict, 1),
            )
        case "backward":
            return Clause(body=pick(0, 1), role=role, branch_body=pick(1, 1), head=pick(1, 1))
        case "u_disjunction":
            return Clause(
                body=pick(0, 1),
                role=role,
                branch_body=pick(0, 1),
                branch_head=pick(1, 2),
                head=pick(0, 1),
            )
        case "functional":
            return Clause(body=pick(0, 1) if rng.random() < 0.5 else (), role=role, at_most=1)
        case "at_most":
            head: tuple[Atom, ...] = pick(0, 1) if rng.random() < 0.2 else ()
            n = rng.randint(1, profile.max_n)
            return Clause(body=pick(0, 1), role=role, branch_body=pick(0, 1), at_most=n, head=head)
        case "data":
            more = pick(0, 1) if rng.random() < 0.4 else ()
            return Clause(body=pick(1, 1), head=(_data_atom(rng), *more))
    raise ValueError(kind)


def _data_atom(rng: random.Random) -> DataAtLeast | DataAtMost:
    if rng.random() < 0.5:
        return DataAtLeast(rng.choice((1, 1, 2, 3)), rng.choice(PROPERTIES), rng.choice(RANGES))
    return DataAtMost(rng.choice((0, 0, 1, 1, 2)), rng.choice(PROPERTIES), rng.choice(RANGES))


def _module(
    rng: random.Random, profile: Profile, tbox: ClausalTBox, names: list[str], roles: list[Role]
) -> Module:
    n = rng.randint(*profile.nodes)
    ids = tbox.atom_ids
    needs = [i for a, i in ids.items() if isinstance(a, AtLeast)]
    restrictions = [i for a, i in ids.items() if isinstance(a, DataAtLeast | DataAtMost)]
    positive, negative = [], []
    for _ in range(n):
        pos = {ids[rng.choice(names)] for _ in range(rng.choice((0, 1, 1)))}
        neg = {ids[rng.choice(names)] for _ in range(rng.random() < 0.12)}
        if rng.random() < 0.25:
            pos.add(rng.choice(needs))
        if rng.random() < 0.1:
            neg.add(rng.choice(needs))
        if restrictions and rng.random() < 0.3:
            rng.choice((pos, neg)).add(rng.choice(restrictions))
        positive.append(sum(1 << i for i in pos))
        negative.append(sum(1 << i for i in neg - pos))

    def pair(loop: float) -> tuple[int, int]:
        i = rng.randrange(n)
        return (
            (i, i)
            if n == 1 or rng.random() < loop
            else (i, rng.choice([j for j in range(n) if j != i]))
        )

    many = round(rng.random() * profile.edges * n) if n > 1 else rng.random() < 0.2
    edges = tuple((i, rng.choice(roles), j) for i, j in (pair(0.08) for _ in range(many)))
    forbidden = tuple(
        (i, rng.choice(roles), j) for i, j in (pair(0.1) for _ in range(rng.random() < 0.12))
    )
    different = tuple(pair(0.0) for _ in range(rng.choice((0, 0, 1, 3)) if n > 1 else 0))
    data, negative_data = (
        tuple(
            (rng.randrange(n), rng.choice(PROPERTIES), rng.choice(LITERALS))
            for _ in range(profile.data * rng.randint(0, most))
        )
        for most in (4, 1)
    )
    return Module(
        tuple(positive), tuple(negative), edges, forbidden, different, data, negative_data
    )

"""A large module of the kind that UOBM gives: students, courses, hubs, one choice and one bound
for every other individual.
"""

from __future__ import annotations

import random

from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.protocol import Module

TAKES, TEACHES, DEGREE, MEMBER, KNOWS, HEADS = (
    Role(f"urn:t:{name}")
    for name in ("takes", "teaches", "degreeFrom", "memberOf", "knows", "headOf")
)


def university_tbox() -> ClausalTBox:
    clauses = (
        Clause(body=("Student",), head=("Leisure", AtLeast(4, TAKES))),
        Clause(body=("Leisure",), role=TAKES, at_most=3),
        Clause(body=("Graduate",), role=TAKES, branch_head=("GraduateCourse",)),
        Clause(body=("Graduate",), head=("Student",)),
        Clause(body=("GraduateCourse",), head=("Course",)),
        Clause(body=("Student", "Course")),
        Clause(role=TAKES, head=("Person",)),
        Clause(role=DEGREE, branch_head=("University",)),
        Clause(role=MEMBER, branch_head=("Organisation",)),
        Clause(role=HEADS.inverse, at_most=1),
        Clause(role=TEACHES.inverse, at_most=1),
        Clause(body=("Course",), head=(AtLeast(1, TEACHES.inverse, "Person"),)),
        Clause(body=("Person",), head=("Busy", "Idle")),
        Clause(body=("Busy", "Idle")),
        Clause(body=("Idle",), role=HEADS, head=()),
        Clause(body=("Person",), role=KNOWS, branch_head=("Person",)),
        Clause(body=("University",), head=("Organisation",)),
        Clause(body=("University",), head=(AtLeast(1, HEADS.inverse, "Person"),)),
    )
    names = dict.fromkeys(
        a for c in clauses for a in (*c.body, *c.head, *c.branch_body, *c.branch_head)
    )
    box = RoleBox(inclusions=frozenset({(KNOWS, KNOWS.inverse), (HEADS, MEMBER)}))
    atoms: tuple[Atom, ...] = tuple(names)
    return ClausalTBox(clauses, box, atoms=atoms)


def university_module(tbox: ClausalTBox, size: int, seed: int = 0, fault: bool = False) -> Module:
    """About ``size`` individuals in one component; with ``fault`` one student is a course."""
    rng = random.Random(seed)
    bit = {a: 1 << i for i, a in enumerate(tbox.atoms)}
    universities, courses = max(1, size // 2000), size // 4
    positive = [0] * size
    edges = []
    first_student = universities + courses
    for i in range(first_student, size):
        positive[i] = bit["Graduate"] if rng.random() < 0.3 else bit["Student"]
        edges += [
            (i, TAKES, rng.randrange(universities, first_student))
            for _ in range(rng.choice((0, 1, 2, 2, 3, 3)))
        ]
        edges.append((i, MEMBER, rng.randrange(universities)))
        if rng.random() < 0.3:
            edges.append((i, DEGREE, rng.randrange(universities)))
        if rng.random() < 0.4:
            edges.append((i, KNOWS, rng.randrange(first_student, size)))
    for c in range(universities, first_student):
        if rng.random() < 0.7:
            edges.append((rng.randrange(first_student, size), TEACHES, c))
            if rng.random() < 0.1:
                edges.append((rng.randrange(first_student, size), TEACHES, c))
    if fault:
        positive[size - 1] |= bit["Student"]
        edges.append((size - 2, KNOWS, size - 1))
        edges += [(size - 3, TAKES, size - 1)]
        positive[size - 3] |= bit["Graduate"]
    return Module(tuple(positive), (0,) * size, tuple(edges))

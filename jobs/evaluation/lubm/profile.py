"""The published profile of the generator UBA (Guo, Pan, Heflin: *LUBM: A Benchmark for OWL
Knowledge Base Systems*, 2005).

A range of the profile is drawn from evenly, by `jobs.evaluation.draws`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from jobs.evaluation.draws import deck, shuffle

#: Departments of a university.
DEPARTMENTS = (15, 25)
#: Faculty of a department, by rank.
FACULTY = {
    "FullProfessor": (7, 10),
    "AssociateProfessor": (10, 14),
    "AssistantProfessor": (8, 11),
    "Lecturer": (5, 7),
}
#: Publications of one member of the faculty, by rank; and how many of those a graduate student has
#: a hand in.
PUBLICATIONS = {
    "FullProfessor": (15, 20),
    "AssociateProfessor": (10, 18),
    "AssistantProfessor": (5, 10),
    "Lecturer": (0, 5),
}
GRADUATE_PUBLICATIONS = (0, 5)
#: Courses that one member of the faculty teaches, of each of the two levels; nobody else teaches
#: them.
COURSES = (1, 2)
RESEARCH_GROUPS = (10, 20)
#: Students per member of the faculty, drawn once per department.
UNDERGRADUATES_PER_FACULTY = (8.0, 14.0)
GRADUATES_PER_FACULTY = (3.0, 4.0)
#: Courses that one student takes.
UNDERGRADUATE_TAKES = (2, 4)
GRADUATE_TAKES = (1, 3)
#: Shares of the graduate students that assist in teaching (one course each, nobody else's) or
#: research; disjoint.
TEACHING_ASSISTANTS = (1 / 5, 1 / 4)
RESEARCH_ASSISTANTS = (1 / 4, 1 / 3)
#: One undergraduate in so many has a professor as advisor; every graduate student has.
ADVISED = 5
#: Degrees come from this many universities, whether their own data is generated or not.
UNIVERSITIES = 1000
RESEARCH_INTERESTS = 30

# Two figures of the reference data that the profile's ranges alone do not fix: its first university
# has 15 departments, its first five have 93 together.
_FIRST = 15
_FIRST_FIVE = (91, 95)


def departments(rng: random.Random) -> Iterator[int]:
    """How many departments the universities have, in their order.

    Every eleven universities have each number of the profile's range once. The first has 15, the
    first five between 91 and 95 together, as the reference data of 1 and 5 universities has.
    """
    low, high = DEPARTMENTS
    rest = [n for n in range(low, high + 1) if n != _FIRST]
    while True:
        first = [_FIRST, *shuffle(rng, rest)]
        if _FIRST_FIVE[0] <= sum(first[:5]) <= _FIRST_FIVE[1]:
            break
    yield from first
    yield from deck(rng, DEPARTMENTS)

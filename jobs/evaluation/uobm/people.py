"""Where UOBM's people are: everybody in a department or women's college by number, so that links
need no data of other places.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from jobs.evaluation.uobm.profile import (
    FACULTY,
    FRIENDS_ANYWHERE,
    IN_CIRCLE,
    DepartmentPlan,
    UniversityPlan,
)

#: The kinds of people of a department as their IRIs name them, in the order in which they are
#: numbered.
KINDS = (
    "UndergraduateStudent",
    "GraduateStudent",
    *FACULTY,
    "SystemsStaff",
    "ClericalStaff",
    "other_staff",
)
_FACULTY_END = 2 + len(FACULTY)
#: The circles that friends are picked in: from one kind up to before another; other staff and
#: women's colleges have none.
STUDENTS, PROFESSORS, STAFF, EVERYBODY = (
    (0, 2),
    (2, _FACULTY_END),
    (_FACULTY_END, _FACULTY_END + 2),
    (0, len(KINDS)),
)


def host(plan: DepartmentPlan) -> str:
    return f"Department{plan.number}.University{plan.university}.edu"


@dataclass(frozen=True, slots=True)
class Workplace:
    """A department or a women's college: the beginnings of its people's IRIs, and before which
    number each kind begins.
    """

    stems: tuple[str, ...]
    starts: tuple[int, ...]

    def person(self, number: int) -> str:
        """The term of the person of that number."""
        starts = self.starts
        kind = 0
        while number >= starts[kind + 1]:
            kind += 1
        return f"{self.stems[kind]}{number - starts[kind]}>"

    def kind(self, kind: int) -> list[str]:
        """The terms of all people of a kind."""
        return [f"{self.stems[kind]}{i}>" for i in range(self.starts[kind + 1] - self.starts[kind])]


def department_place(plan: DepartmentPlan) -> Workplace:
    """
    >>> from jobs.evaluation.uobm.profile import universities
    >>> plan = next(universities(random.Random(1))).departments[3]
    >>> department_place(plan).person(plan.undergraduates)
    '<http://www.Department3.University0.edu/GraduateStudent0>'
    """
    sizes = (
        plan.undergraduates,
        plan.graduates,
        *plan.faculty,
        plan.systems_staff,
        plan.clerical_staff,
        plan.other_staff,
    )
    stem = f"<http://www.{host(plan)}/"
    return Workplace(tuple(stem + kind for kind in KINDS), tuple(accumulate(sizes, initial=0)))


def women_place(plan: UniversityPlan) -> Workplace:
    """The women's college of a university that has one: students only."""
    stem = f"<http://www.College0.University{plan.number}.edu/woman_student"
    return Workplace((stem,) * len(KINDS), (0, *(plan.women,) * len(KINDS)))


class UobmWorld:
    """All places of all universities, for links from one to another."""

    def __init__(self, plans: Sequence[UniversityPlan], rng: random.Random) -> None:
        self._plans = plans
        self._random = rng.random
        # A place is a few dozen short strings: kept for some universities, made anew for the
        # others.
        self.place: Callable[[int, int], Workplace] = lru_cache(maxsize=4096)(self._place)

    def _place(self, university: int, number: int) -> Workplace:
        plan = self._plans[university]
        return (
            department_place(plan.departments[number])
            if number < len(plan.departments)
            else women_place(plan)
        )

    def anywhere(self) -> Workplace:
        """A place of any university: a department or the women's college, all alike."""
        university = int(self._random() * len(self._plans))
        plan = self._plans[university]
        return self.place(
            university, int(self._random() * (len(plan.departments) + (plan.women > 0)))
        )

    def department(self) -> DepartmentPlan:
        """A department of any university."""
        departments = self._plans[int(self._random() * len(self._plans))].departments
        return departments[int(self._random() * len(departments))]

    def friends(
        self, place: Workplace, person: str, circle: tuple[int, int], many: int
    ) -> dict[str, None]:
        """Draws ``many`` other people, half of them anywhere, most of them of the circle; in the
        order drawn.
        """
        found: dict[str, None] = {}
        while len(found) < many:
            where = self.anywhere() if self._random() < FRIENDS_ANYWHERE else place
            first, end = circle if self._random() < IN_CIRCLE else EVERYBODY
            self._draw(where, first, end, person, found)
        return found

    def neighbours(self, person: str, many: int) -> dict[str, None]:
        """Draws ``many`` other people from anywhere."""
        found: dict[str, None] = {}
        while len(found) < many:
            self._draw(self.anywhere(), 0, len(KINDS), person, found)
        return found

    def _draw(
        self, where: Workplace, first: int, end: int, person: str, found: dict[str, None]
    ) -> None:
        low, high = where.starts[first], where.starts[end]
        if low == high:  # no faculty in a women's college: the friend is drawn again
            return
        other = where.person(low + int(self._random() * (high - low)))
        if other != person:
            found[other] = None

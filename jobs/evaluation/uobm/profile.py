"""Profile of UOBM: how many of everything there are, and the sizes of all universities, drawn
before any data is generated.

The numbers are those measured in the usual reference data of one university, 19 departments:
data/uobm/README.md has the table. A pair is a range, drawn from evenly; a longer tuple is a deck
of cards that stand for the measured shares.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from shiq.jobs.evaluation.generation import (
    draw_in_rounds,
    draw_range_in_rounds,
    draw_stratified,
    shuffle,
)
from shiq.jobs.evaluation.uobm.tbox import INTERESTS

#: Departments of a university; the first one has those of the reference.
DEPARTMENTS = (15, 25)
FIRST_DEPARTMENTS = 19
#: Colleges, a women's college apart; one university in so many has one, the first always.
COLLEGES = (1, 5)
FIRST_COLLEGES = 4
WOMEN = (250, 278)
WITH_WOMEN = 5

#: Faculty of a department, by rank.
FACULTY = {
    "FullProfessor": (7, 10),
    "AssociateProfessor": (10, 14),
    "AssistantProfessor": (7, 10),
    "Lecturer": (5, 7),
}
VISITING = (0, 5)
SYSTEMS_STAFF = (15, 19)
CLERICAL_STAFF = (1, 2, 2, 2)
OTHER_STAFF = (13, 17)
RESEARCH_GROUPS = (10, 15)
#: Students per member of the faculty.
UNDERGRADUATES_PER_FACULTY = (12.3, 16.0)
GRADUATES_PER_FACULTY = (4.0, 5.0)
#: Shares of the graduates that assist in teaching and in research, drawn independently.
TEACHING_ASSISTANTS = (0.0, 0.38)
RESEARCH_ASSISTANTS = (0.21, 0.5)
#: Courses that one member of the faculty teaches, of each level.
COURSES = (1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3)
GRADUATE_COURSES = (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3)
#: One course in so many is also said to be taught by somebody under another name.
RENAMED = 87

#: Publications of a member of the faculty: a base by rank, and as many more as a card says; those
#: of a graduate.
PUBLICATIONS = {
    "FullProfessor": 12,
    "AssociateProfessor": 8,
    "AssistantProfessor": 4,
    "Lecturer": 0,
}
MORE_PUBLICATIONS = (0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3)
GRADUATE_PUBLICATIONS = (0, 0, 0, 1, 1, 1, 1, 1, 2, 2)
AUTHORS = (2, 5)
_GENRES = (
    *("Publication", "Article", "Book", "ConferencePaper", "JournalArticle"),
    *("Manual", "Software", "Specification", "TechnicalReport", "UnofficialPublication"),
)
GENRES = (*_GENRES * 7, "Book")

UNDERGRADUATE_TAKES = (2, 4)
GRADUATE_TAKES = (2, 3)
#: Shares of the courses taken: graduate courses among those of undergraduates; courses of some
#: department anywhere.
GRADUATE_LEVEL = 1 / 10
ELSEWHERE = 1 / 6
#: One undergraduate in so many has an advisor; every graduate has.
ADVISED = 6
#: One member of the faculty in so many works for the department, the others are members of it;
#: clerical staff the other way.
WORKING = 3
#: Degrees come from so many times the universities that there is data of.
DEGREES = 5

#: Friends that one person names. Half of them are anywhere, in a department or women's college of
#: any university; by four fifths, faculty, students and staff keep to their own circle.
FRIENDS = (0, 5)
FRIENDS_ANYWHERE = 0.5
IN_CIRCLE = 0.8
#: People anywhere whom one person names as being of the same home town.
HOME_TOWN = (0,) * 90 + (1,) * 9 + (2,)
INTERESTS_OF_ONE = (0,) * 16 + (1,) * 8 + (2,) * 4 + (3,) * 2 + (4, 5)
#: Of the interests only sports and music are anybody's.
INTERESTING = tuple(
    interest
    for name, interests in INTERESTS.items()
    if name != "Insterest"
    for interest in interests
)
LIKING = ("like", "like", "love", "isCrazyAbout") * 8
#: Classes of fans and lovers that one person is said to be in, and how often which.
FAN_CLASSES = (0,) * 12 + (1,) * 3 + (2,)
FANS = (
    *("BaseballLover", "SportsLover", "SwimmingLover") * 30,
    *("BasketBallLover",) * 28,
    *("BaseballFan", "BasketBallFan") * 17,
    *("SwimmingFan", "TennisFan") * 16,
    *("SportsFan",) * 15,
)


@dataclass(frozen=True, slots=True)
class DepartmentPlan:
    """Sizes of a department to be generated: numbers of people by kind, of courses, of research
    groups and so on.

    faculty: numbers by rank, in the order of `FACULTY`
    courses, graduate_courses: number of courses that each member of the faculty teaches
    """

    number: int
    university: int
    college: int
    undergraduates: int
    graduates: int
    faculty: tuple[int, ...]
    systems_staff: int
    clerical_staff: int
    other_staff: int
    visiting: int
    research_groups: int
    teaching_assistants: int
    research_assistants: int
    courses: bytes
    graduate_courses: bytes


@dataclass(frozen=True, slots=True)
class UniversityPlan:
    """Sizes of a university to be generated: its number of colleges, and the sizes of its
    departments.

    women: number of students of its women's college, which is College0; 0 if it has none
    """

    number: int
    colleges: int
    women: int
    departments: tuple[DepartmentPlan, ...]


class _SizeDraws:
    """Random sizes of departments (faculty, staff, students, courses, research groups), by
    iterators that all departments share. The draws are stratified: each value or part of a range
    comes equally often.
    """

    def __init__(self, rng: random.Random) -> None:
        self._faculty = [draw_range_in_rounds(rng, bounds) for bounds in FACULTY.values()]
        self._systems_staff, self._other_staff, self._visiting, self._groups = (
            draw_range_in_rounds(rng, bounds)
            for bounds in (SYSTEMS_STAFF, OTHER_STAFF, VISITING, RESEARCH_GROUPS)
        )
        self._clerical_staff = draw_in_rounds(rng, CLERICAL_STAFF)
        self._courses = draw_in_rounds(rng, COURSES)
        self._graduate_courses = draw_in_rounds(rng, GRADUATE_COURSES)
        self._undergraduates, self._graduates, self._teaching, self._research = (
            draw_stratified(rng, bounds, FIRST_DEPARTMENTS)
            for bounds in (
                UNDERGRADUATES_PER_FACULTY,
                GRADUATES_PER_FACULTY,
                TEACHING_ASSISTANTS,
                RESEARCH_ASSISTANTS,
            )
        )

    def draw_department_plan(self, number: int, university: int, college: int) -> DepartmentPlan:
        """Draw the sizes of a department: number ``number`` of its university, inside the given
        college.
        """
        faculty = tuple(map(next, self._faculty))
        members = sum(faculty)
        graduates = round(next(self._graduates) * members)
        courses = bytes(next(self._courses) for _ in range(members))
        return DepartmentPlan(
            number,
            university,
            college,
            undergraduates=round(next(self._undergraduates) * members),
            graduates=graduates,
            faculty=faculty,
            systems_staff=next(self._systems_staff),
            clerical_staff=next(self._clerical_staff),
            other_staff=next(self._other_staff),
            visiting=next(self._visiting),
            research_groups=next(self._groups),
            teaching_assistants=min(round(next(self._teaching) * graduates), sum(courses)),
            research_assistants=round(next(self._research) * graduates),
            courses=courses,
            graduate_courses=bytes(next(self._graduate_courses) for _ in range(members)),
        )


def _draw_with_first(rng: random.Random, bounds: tuple[int, int], first: int) -> Iterator[int]:
    """Draw integers between two bounds without end, in rounds that have each integer once; the very
    first draw is ``first``.
    """
    yield first
    yield from shuffle(rng, [n for n in range(bounds[0], bounds[1] + 1) if n != first])
    yield from draw_range_in_rounds(rng, bounds)


def draw_university_plans(rng: random.Random) -> Iterator[UniversityPlan]:
    """Draw the sizes of universities and their departments, one university after the other without
    end.
    """
    sizes = _SizeDraws(rng)
    departments = _draw_with_first(rng, DEPARTMENTS, FIRST_DEPARTMENTS)
    colleges = _draw_with_first(rng, COLLEGES, FIRST_COLLEGES)
    with_women = _draw_with_first(rng, (1, WITH_WOMEN), 1)
    women = draw_range_in_rounds(rng, WOMEN)
    number = 0
    while True:
        has_women = next(with_women) == 1
        many = next(colleges)
        college = draw_range_in_rounds(rng, (int(has_women), many - 1 + int(has_women)))
        yield UniversityPlan(
            number,
            colleges=many + int(has_women),
            women=next(women) if has_women else 0,
            departments=tuple(
                sizes.draw_department_plan(i, number, next(college))
                for i in range(next(departments))
            ),
        )
        number += 1


# Where UOBM's people are: everybody in a department or women's college by number, so that links
# need no data of other places.


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


def host_name(plan: DepartmentPlan) -> str:
    """Host name in the IRIs of a department's people."""
    return f"Department{plan.number}.University{plan.university}.edu"


@dataclass(frozen=True, slots=True)
class Workplace:
    """People of a department or women's college, as ranges of person numbers: kind by kind
    (students, faculty, staff).

    stems: beginning of the IRIs of each kind
    starts: number of the first person of each kind, and the total
    """

    stems: tuple[str, ...]
    starts: tuple[int, ...]

    def person_term(self, number: int) -> str:
        """N-Triples term of the person with this number."""
        starts = self.starts
        kind = 0
        while number >= starts[kind + 1]:
            kind += 1
        return f"{self.stems[kind]}{number - starts[kind]}>"

    def terms_of_kind(self, kind: int) -> list[str]:
        """N-Triples terms of all people of a kind, given as an index into `KINDS`."""
        return [f"{self.stems[kind]}{i}>" for i in range(self.starts[kind + 1] - self.starts[kind])]


def department_workplace(plan: DepartmentPlan) -> Workplace:
    """People of a department, numbered by kind.

    >>> from shiq.jobs.evaluation.uobm.profile import draw_university_plans
    >>> plan = next(draw_university_plans(random.Random(1))).departments[3]
    >>> department_workplace(plan).person_term(plan.undergraduates)
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
    stem = f"<http://www.{host_name(plan)}/"
    return Workplace(tuple(stem + kind for kind in KINDS), tuple(accumulate(sizes, initial=0)))


def women_college_workplace(plan: UniversityPlan) -> Workplace:
    """People of a university's women's college: students only."""
    stem = f"<http://www.College0.University{plan.number}.edu/woman_student"
    return Workplace((stem,) * len(KINDS), (0, *(plan.women,) * len(KINDS)))


class UobmWorkplaces:
    """All departments and women's colleges of all universities with their people, from which
    friends and people of the same home town are drawn.
    """

    def __init__(self, plans: Sequence[UniversityPlan], rng: random.Random) -> None:
        self._plans = plans
        self._random = rng.random
        # A place is a few dozen short strings: kept for some universities, made anew for the
        # others.
        self.workplace: Callable[[int, int], Workplace] = lru_cache(maxsize=4096)(
            self._make_workplace
        )

    def _make_workplace(self, university: int, index: int) -> Workplace:
        """Make a workplace of a university: the department with this index, or after the last one
        the women's college.
        """
        plan = self._plans[university]
        return (
            department_workplace(plan.departments[index])
            if index < len(plan.departments)
            else women_college_workplace(plan)
        )

    def choose_workplace(self) -> Workplace:
        """Choose a random department or women's college of a random university."""
        university = int(self._random() * len(self._plans))
        plan = self._plans[university]
        return self.workplace(
            university, int(self._random() * (len(plan.departments) + (plan.women > 0)))
        )

    def choose_department(self) -> DepartmentPlan:
        """Choose a random department of a random university."""
        departments = self._plans[int(self._random() * len(self._plans))].departments
        return departments[int(self._random() * len(departments))]

    def draw_friends(
        self, workplace: Workplace, person: str, kinds: tuple[int, int], count: int
    ) -> dict[str, None]:
        """Draw ``count`` friends of a person of this workplace: about half of them from any
        department or women's college, most of them of the given kinds of people.

        kinds: first kind of people, and the one after the last
        Returns: terms in the order drawn
        """
        found: dict[str, None] = {}
        while len(found) < count:
            where = self.choose_workplace() if self._random() < FRIENDS_ANYWHERE else workplace
            first, end = kinds if self._random() < IN_CIRCLE else EVERYBODY
            self._draw_person(where, first, end, person, found)
        return found

    def draw_people(self, person: str, count: int) -> dict[str, None]:
        """Draw ``count`` other people from all workplaces, such as people of the same home town."""
        found: dict[str, None] = {}
        while len(found) < count:
            self._draw_person(self.choose_workplace(), 0, len(KINDS), person, found)
        return found

    def _draw_person(
        self, workplace: Workplace, first: int, end: int, person: str, found: dict[str, None]
    ) -> None:
        """Draw a random person of a workplace, of the kinds from ``first`` to before ``end``, and
        add its term to ``found``. Nothing is added if there is none, or if it is ``person`` itself.
        """
        low, high = workplace.starts[first], workplace.starts[end]
        if low == high:  # no faculty in a women's college: the friend is drawn again
            return
        other = workplace.person_term(low + int(self._random() * (high - low)))
        if other != person:
            found[other] = None

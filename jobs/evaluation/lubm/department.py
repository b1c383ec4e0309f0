"""Generate one department of LUBM: its triples as N-Triples lines, and its individuals by role, for
planting faults.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from shiq.jobs.evaluation.generation import (
    RDF_TYPE,
    draw_below,
    draw_range_in_rounds,
    draw_stratified,
    sample_distinct,
    shuffle,
    university_term,
)
from shiq.jobs.evaluation.lubm.tbox import NAMESPACE

# The published profile of the generator UBA (Guo, Pan, Heflin: *LUBM: A Benchmark for OWL
# Knowledge Base Systems*, 2005).
#
# A range of the profile is drawn from evenly, by `shiq.jobs.evaluation.generation`.


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


def draw_department_counts(rng: random.Random) -> Iterator[int]:
    """Yield a random number of departments for each university, in order and without end.

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
    yield from draw_range_in_rounds(rng, DEPARTMENTS)


def vocabulary_term(name: str) -> str:
    """N-Triples term of a class or property of LUBM."""
    return f"<{NAMESPACE}{name}>"


def _type_suffix(name: str) -> str:
    """N-Triples text " rdf:type CLASS ." that follows an individual to state its class."""
    return f" {RDF_TYPE} {vocabulary_term(name)} .\n"


_TYPE = {
    name: _type_suffix(name)
    for name in (
        *FACULTY,
        *("University", "Department", "ResearchGroup", "Course", "GraduateCourse", "Publication"),
        *("UndergraduateStudent", "GraduateStudent", "TeachingAssistant", "ResearchAssistant"),
    )
}
_NAME, _EMAIL, _INTEREST = (
    f" {vocabulary_term(p)} " for p in ("name", "emailAddress", "researchInterest")
)
_TELEPHONE = f' {vocabulary_term("telephone")} "xxx-xxx-xxxx" .\n'
_TEACHER_OF, _TAKES, _ASSISTS, _ADVISOR, _AUTHOR, _WORKS_FOR, _MEMBER_OF, _HEAD_OF, _INSIDE = (
    f" {vocabulary_term(p)} "
    for p in (
        *("teacherOf", "takesCourse", "teachingAssistantOf", "advisor", "publicationAuthor"),
        *("worksFor", "memberOf", "headOf", "subOrganizationOf"),
    )
)
_UNDERGRADUATE_DEGREE, _MASTERS_DEGREE, _DOCTORAL_DEGREE = (
    f" {vocabulary_term(p)} "
    for p in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom")
)


@dataclass
class DepartmentDraws:
    """Random sizes of departments, by iterators that all departments of a data set share: numbers
    of faculty by rank, of their publications and courses, of students per member of the faculty,
    and so on. The draws are stratified: each value or part of a published range comes equally
    often, so that sums over departments hardly vary with the seed.
    """

    rng: random.Random
    faculty: dict[str, Iterator[int]] = field(init=False)
    publications: dict[str, Iterator[int]] = field(init=False)

    def __post_init__(self) -> None:
        rng = self.rng
        self.faculty = {rank: draw_range_in_rounds(rng, bounds) for rank, bounds in FACULTY.items()}
        self.publications = {
            rank: draw_range_in_rounds(rng, bounds) for rank, bounds in PUBLICATIONS.items()
        }
        self.courses = draw_range_in_rounds(rng, COURSES)
        self.graduate_courses = draw_range_in_rounds(rng, COURSES)
        self.research_groups = draw_range_in_rounds(rng, RESEARCH_GROUPS)
        self.undergraduates = draw_stratified(rng, UNDERGRADUATES_PER_FACULTY)
        self.graduates = draw_stratified(rng, GRADUATES_PER_FACULTY)
        self.teaching_assistants = draw_stratified(rng, TEACHING_ASSISTANTS)
        self.research_assistants = draw_stratified(rng, RESEARCH_ASSISTANTS)
        self.undergraduate_takes = draw_range_in_rounds(rng, UNDERGRADUATE_TAKES)
        self.graduate_takes = draw_range_in_rounds(rng, GRADUATE_TAKES)
        self.graduate_publications = draw_range_in_rounds(rng, GRADUATE_PUBLICATIONS)
        self.advisees = draw_range_in_rounds(rng, (1, ADVISED))


@dataclass
class Department:
    """Generated department: its triples as N-Triples lines, and lists of its individuals (N-Triples
    terms) by what they are, such as professors or courses.
    """

    term: str
    university: str
    lines: list[str] = field(default_factory=list)
    head: str = ""
    teachers: list[tuple[str, str]] = field(
        default_factory=list
    )  # with one course each of them teaches
    professors: list[str] = field(default_factory=list)
    courses: list[str] = field(default_factory=list)
    graduate_courses: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    undergraduates: list[str] = field(default_factory=list)
    graduates: list[str] = field(default_factory=list)
    assistants: list[tuple[str, str]] = field(default_factory=list)  # with the course
    advisees: list[tuple[str, str]] = field(
        default_factory=list
    )  # undergraduates with their advisor


class DegreeUniversities:
    """Universities from which people have degrees, whether or not their own data is generated. It
    remembers which were mentioned, so that each has its class asserted once.
    """

    def __init__(self, universities: int) -> None:
        self._seen = bytearray(max(universities, UNIVERSITIES))

    def mention_university(self, number: int, lines: list[str]) -> str:
        """Return the term of a university; at its first mention, also append its class assertion to
        ``lines``.
        """
        term = university_term(number)
        if not self._seen[number]:
            self._seen[number] = 1
            lines.append(term + _TYPE["University"])
        return term

    def random_university(self, rng: random.Random, lines: list[str]) -> str:
        """Return the term of a random university; at its first mention, also append its class
        assertion to ``lines``.
        """
        return self.mention_university(draw_below(rng, len(self._seen)), lines)


def generate_department(
    number: int, university: int, draws: DepartmentDraws, universities: DegreeUniversities
) -> Department:
    """Generate the triples of a department from the random sizes ``draws``; the first one of a
    university also has the university's own triples.
    """
    host = f"Department{number}.University{university}.edu"
    made = Department(f"<http://www.{host}>", university_term(university))
    lines = made.lines
    if number == 0:
        universities.mention_university(university, lines)
        lines.append(f'{made.university}{_NAME}"University{university}" .\n')
    lines += (
        made.term + _TYPE["Department"],
        f'{made.term}{_NAME}"Department{number}" .\n',
        f"{made.term}{_INSIDE}{made.university} .\n",
    )
    publications = _add_faculty(made, host, draws, universities)
    for i in range(next(draws.research_groups)):
        group = f"<http://www.{host}/ResearchGroup{i}>"
        lines += (group + _TYPE["ResearchGroup"], f"{group}{_INSIDE}{made.term} .\n")
        made.groups.append(group)
    members = len(made.teachers)
    _add_undergraduates(made, host, draws, round(next(draws.undergraduates) * members))
    _add_graduates(
        made, host, draws, universities, round(next(draws.graduates) * members), publications
    )
    return made


def _add_faculty(
    made: Department, host: str, draws: DepartmentDraws, universities: DegreeUniversities
) -> list[str]:
    """Add the faculty with courses, degrees and publications to the department ``made``. Returns
    the terms of all publications, of which graduate students can be made co-authors.
    """
    rng, lines = draws.rng, made.lines
    shared: list[str] = []
    numbers = {rank: next(draws.faculty[rank]) for rank in FACULTY}
    head = draw_below(rng, numbers["FullProfessor"])
    for rank, many in numbers.items():
        for i in range(many):
            name = f"{rank}{i}"
            person = f"<http://www.{host}/{name}>"
            lines += (person + _TYPE[rank], f'{person}{_NAME}"{name}" .\n')
            for level, courses, many_courses in (
                ("Course", made.courses, next(draws.courses)),
                ("GraduateCourse", made.graduate_courses, next(draws.graduate_courses)),
            ):
                for _ in range(many_courses):
                    title = f"{level}{len(courses)}"
                    course = f"<http://www.{host}/{title}>"
                    lines += (
                        f"{person}{_TEACHER_OF}{course} .\n",
                        course + _TYPE[level],
                        f'{course}{_NAME}"{title}" .\n',
                    )
                    courses.append(course)
            made.teachers.append((person, made.courses[-1]))
            for degree in (_UNDERGRADUATE_DEGREE, _MASTERS_DEGREE, _DOCTORAL_DEGREE):
                source = universities.random_university(rng, lines)
                lines.append(f"{person}{degree}{source} .\n")
            lines += (
                f"{person}{_WORKS_FOR}{made.term} .\n",
                f'{person}{_EMAIL}"{name}@{host}" .\n',
                person + _TELEPHONE,
            )
            if rank != "Lecturer":
                made.professors.append(person)
                lines.append(
                    f'{person}{_INTEREST}"Research{draw_below(rng, RESEARCH_INTERESTS)}" .\n'
                )
                if rank == "FullProfessor" and i == head:
                    made.head = person
                    lines.append(f"{person}{_HEAD_OF}{made.term} .\n")
            for k in range(next(draws.publications[rank])):
                publication = f"<http://www.{host}/{name}/Publication{k}>"
                shared.append(publication)
                lines += (
                    publication + _TYPE["Publication"],
                    f'{publication}{_NAME}"Publication{k}" .\n',
                    f"{publication}{_AUTHOR}{person} .\n",
                )
    return shared


def _add_undergraduates(made: Department, host: str, draws: DepartmentDraws, count: int) -> None:
    """Add ``count`` undergraduates with their courses and advisors to the department ``made``.
    ``host``: host name in its IRIs.
    """
    rng, lines = draws.rng, made.lines
    for i in range(count):
        student = _add_student(made, host, f"UndergraduateStudent{i}", "UndergraduateStudent")
        made.undergraduates.append(student)
        lines += (
            f"{student}{_TAKES}{course} .\n"
            for course in sample_distinct(rng, made.courses, next(draws.undergraduate_takes))
        )
        if next(draws.advisees) == 1:
            advisor = made.professors[draw_below(rng, len(made.professors))]
            lines.append(f"{student}{_ADVISOR}{advisor} .\n")
            made.advisees.append((student, advisor))


def _add_graduates(
    made: Department,
    host: str,
    draws: DepartmentDraws,
    universities: DegreeUniversities,
    count: int,
    publications: list[str],
) -> None:
    """Add ``count`` graduate students to the department ``made``: courses, advisors, posts as
    assistants, and co-authorship of some of the faculty's ``publications``.
    """
    rng, lines = draws.rng, made.lines
    teaching = min(round(next(draws.teaching_assistants) * count), len(made.courses))
    research = round(next(draws.research_assistants) * count)
    assisted = sample_distinct(rng, made.courses, teaching)
    for i, place in enumerate(shuffle(rng, list(range(count)))):
        student = _add_student(made, host, f"GraduateStudent{i}", "GraduateStudent")
        made.graduates.append(student)
        lines += (
            f"{student}{_TAKES}{course} .\n"
            for course in sample_distinct(rng, made.graduate_courses, next(draws.graduate_takes))
        )
        degree = universities.random_university(rng, lines)
        advisor = made.professors[draw_below(rng, len(made.professors))]
        lines += (
            f"{student}{_UNDERGRADUATE_DEGREE}{degree} .\n",
            f"{student}{_ADVISOR}{advisor} .\n",
        )
        if place < teaching:
            lines += (
                student + _TYPE["TeachingAssistant"],
                f"{student}{_ASSISTS}{assisted[place]} .\n",
            )
            made.assistants.append((student, assisted[place]))
        elif place < teaching + research:
            lines.append(student + _TYPE["ResearchAssistant"])
        for publication in sample_distinct(rng, publications, next(draws.graduate_publications)):
            lines.append(f"{publication}{_AUTHOR}{student} .\n")


def _add_student(made: Department, host: str, name: str, kind: str) -> str:
    """Add a student with name and contact data; return its term."""
    student = f"<http://www.{host}/{name}>"
    made.lines += (
        student + _TYPE[kind],
        f'{student}{_NAME}"{name}" .\n',
        f"{student}{_MEMBER_OF}{made.term} .\n",
        f'{student}{_EMAIL}"{name}@{host}" .\n',
        student + _TELEPHONE,
    )
    return student

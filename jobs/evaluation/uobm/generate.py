"""UOBM data of any size, from a seed: the TBox, and the data after the proportions of the usual
reference data.

`generate` writes into a directory

* ``tbox.owl``: UOBM's TBox without nominals, and the subjects and interests that its file names,
  as RDF/XML;
* ``abox.nt.gz``: the data, distinct N-Triples, the same bytes for the same arguments.

All sizes are drawn first, so that people and courses of one department can be linked to those of
any other, in any university; then it keeps the lines of one department at a time. The recipe is
told in data/uobm/README.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import (
    RDF_TYPE,
    GenerationReport,
    Progress,
    deal,
    deck,
    draw_below,
    sample,
    tbox_as_rdfxml,
    write_triples,
)
from shiq.jobs.evaluation.uobm import profile
from shiq.jobs.evaluation.uobm.profile import (
    EVERYBODY,
    KINDS,
    PROFESSORS,
    STAFF,
    STUDENTS,
    DepartmentPlan,
    UniversityPlan,
    UobmWorld,
    Workplace,
    department_place,
    host,
    women_place,
)
from shiq.jobs.evaluation.uobm.tbox import NAMESPACE, SUBJECTS, uobm_individuals, uobm_tbox

# UOBM's data, part by part as N-Triples lines: one department, or one university with its
# colleges.


#: The class that the original generator writes for journal articles, which the TBox does not know.
MISSPELT = "JournalArtical"


def _types(*names: str) -> dict[str, str]:
    return {name: f" {RDF_TYPE} <{NAMESPACE}{name}> .\n" for name in names}


def _predicates(*names: str) -> tuple[str, ...]:
    return tuple(f" <{NAMESPACE}{name}> " for name in names)


_TYPE = _types(
    *(
        "University",
        "College",
        "WomanCollege",
        "Department",
        "ResearchGroup",
        "Course",
        "Man",
        "Woman",
        "Person",
    ),
    *(
        "UndergraduateStudent",
        "GraduateStudent",
        "TeachingAssistant",
        "ResearchAssistant",
        "Chair",
        "VisitingProfessor",
    ),
    *profile.FACULTY,
    *("SystemsStaff", "ClericalStaff"),
)
_GENRE = _types(*profile.GENRES, MISSPELT)
_FAN = _types(*profile.FANS)
_TELEPHONE = f' <{NAMESPACE}telephone> "xxx-xxx-xxxx" .\n'
_NAME, _EMAIL, _FIRST, _LAST = _predicates("name", "emailAddress", "firstName", "lastName")
_FRIEND, _HOME_TOWN, _INSIDE, _HEAD_OF, _MEMBER_OF, _WORKS_FOR, _STUDENT_OF, _ENROLLED, _MAJOR = (
    _predicates(
        *(
            "isFriendOf",
            "hasSameHomeTownWith",
            "subOrganizationOf",
            "isHeadOf",
            "isMemberOf",
            "worksFor",
            "isStudentOf",
            "enrollIn",
        ),
        "hasMajor",
    )
)
_TEACHER_OF, _TAUGHT_BY, _TAKES, _ASSISTS, _ADVISED, _AUTHOR, _RESEARCH = _predicates(
    "teacherOf",
    "isTaughtBy",
    "takesCourse",
    "teachingAssistantOf",
    "isAdvisedBy",
    "publicationAuthor",
    "researchInterest",
)
_UNDERGRADUATE_DEGREE, _MASTER_DEGREE, _DOCTORAL_DEGREE = _predicates(
    "hasUndergraduateDegreeFrom", "hasMasterDegreeFrom", "hasDoctoralDegreeFrom"
)
_LIKING = _predicates(*profile.LIKING)
_INTERESTS = tuple(f"<{NAMESPACE}{name}> .\n" for name in profile.INTERESTING)
_MAJORS = tuple(
    f"{_MAJOR}<{NAMESPACE}{subject}> .\n" for subjects in SUBJECTS.values() for subject in subjects
)


def university_term(number: int) -> str:
    """N-Triples term of a university."""
    return f"<http://www.University{number}.edu>"


def college_term(university: int, number: int) -> str:
    """N-Triples term of a college."""
    return f"<http://www.College{number}.University{university}.edu>"


class PersonDraws(NamedTuple):
    """Draws for a person: of a class, a number of others, or what is liked."""

    gender: Iterator[str]
    friends: Iterator[int]
    home_town: Iterator[int]
    interests: Iterator[int]
    liking: Iterator[str]
    fan_classes: Iterator[int]
    fans: Iterator[str]


class PublicationDraws(NamedTuple):
    """Draws for publications: their classes, numbers by author, numbers of authors."""

    genres: Iterator[str]
    extra_publications: Iterator[int]
    of_graduate: Iterator[int]
    authors: Iterator[int]


class CourseDraws(NamedTuple):
    """Draws for courses and posts: how many a student takes; 1 for one of so many."""

    undergraduate: Iterator[int]
    graduate: Iterator[int]
    advised_share: Iterator[int]
    working: Iterator[int]
    clerical: Iterator[int]
    renamed_share: Iterator[int]


class Writer:
    """Writes parts; its stratified draws run on from part to part. ``misspelt``: with the
    original's `MISSPELT`.
    """

    def __init__(
        self, world: UobmWorld, universities: int, rng: random.Random, misspelt: bool
    ) -> None:
        self._world = world
        self._universities = universities
        self._rng = rng
        genres = [MISSPELT if misspelt and g == "JournalArticle" else g for g in profile.GENRES]
        self._people = PersonDraws(
            gender=deal(rng, (_TYPE["Man"], _TYPE["Woman"])),
            friends=deck(rng, profile.FRIENDS),
            home_town=deal(rng, profile.HOME_TOWN),
            interests=deal(rng, profile.INTERESTS_OF_ONE),
            liking=deal(rng, _LIKING),
            fan_classes=deal(rng, profile.FAN_CLASSES),
            fans=deal(rng, [_FAN[name] for name in profile.FANS]),
        )
        self._publications = PublicationDraws(
            genres=deal(rng, [_GENRE[genre] for genre in genres]),
            extra_publications=deal(rng, profile.MORE_PUBLICATIONS),
            of_graduate=deal(rng, profile.GRADUATE_PUBLICATIONS),
            authors=deck(rng, profile.AUTHORS),
        )
        self._courses = CourseDraws(
            undergraduate=deck(rng, profile.UNDERGRADUATE_TAKES),
            graduate=deck(rng, profile.GRADUATE_TAKES),
            advised_share=deck(rng, (1, profile.ADVISED)),
            working=deck(rng, (1, profile.WORKING)),
            clerical=deck(rng, (1, profile.WORKING)),
            renamed_share=deck(rng, (1, profile.RENAMED)),
        )

    def university(self, plan: UniversityPlan) -> list[str]:
        """A university, its colleges and the students of its women's college."""
        term = university_term(plan.number)
        lines = [term + _TYPE["University"], f'{term}{_NAME}"University{plan.number}" .\n']
        for i in range(plan.colleges):
            kind = "WomanCollege" if plan.women and i == 0 else "College"
            college = college_term(plan.number, i)
            lines += (college + _TYPE[kind], f"{college}{_INSIDE}{term} .\n")
        if plan.women:
            place = women_place(plan)
            enrolled = f"{_STUDENT_OF}{college_term(plan.number, 0)} .\n"
            for student in place.kind(0):
                lines += (student + _TYPE["Person"], student + enrolled)
                self._names(student, lines)
                self._links(student, place, EVERYBODY, lines)
        return lines

    def department(self, plan: DepartmentPlan) -> list[str]:
        """A department with all that is in it."""
        term = f"<http://www.{host(plan)}>"
        place = department_place(plan)
        undergraduates, graduates, *faculty, systems_staff, clerical_staff, other_staff = map(
            place.kind, range(len(KINDS))
        )
        lines = [
            term + _TYPE["Department"],
            f'{term}{_NAME}"Department{plan.number}" .\n',
            f"{term}{_INSIDE}{college_term(plan.university, plan.college)} .\n",
        ]
        chair = f"{term[:-1]}/Chair0>"
        lines += (chair + _TYPE["Chair"], f"{chair}{_HEAD_OF}{term} .\n")
        self._links(chair, place, PROFESSORS, lines)
        self._faculty(plan, term, place, faculty, lines)
        lines += (
            f"{term[:-1]}/VisitingProfessor{i}>{_TYPE['VisitingProfessor']}"
            for i in range(plan.visiting)
        )
        self._students(plan, term, place, undergraduates, graduates, lines)
        self._write_publications(term, faculty, graduates, lines)
        for i in range(plan.research_groups):
            group = f"{term[:-1]}/ResearchGroup{i}>"
            lines += (group + _TYPE["ResearchGroup"], f"{group}{_INSIDE}{term} .\n")
        for staff, kind, circle in (
            (systems_staff, "SystemsStaff", STAFF),
            (clerical_staff, "ClericalStaff", STAFF),
            (other_staff, "Person", EVERYBODY),
        ):
            for person in staff:
                self._person(person, kind, place, circle, lines)
                member = kind == "ClericalStaff" and next(self._courses.clerical) == 1
                lines.append(f"{person}{_MEMBER_OF if member else _WORKS_FOR}{term} .\n")
        return lines

    def _names(self, person: str, lines: list[str]) -> None:
        where, _, name = person[len("<http://www.") : -1].partition("/")
        lines += (
            f'{person}{_EMAIL}"{name}@{where}" .\n',
            f'{person}{_FIRST}"{name}.first" .\n',
            f'{person}{_LAST}"{name}.last" .\n',
            person + _TELEPHONE,
        )

    def _person(
        self, person: str, kind: str, place: Workplace, circle: tuple[int, int], lines: list[str]
    ) -> None:
        lines += (person + _TYPE[kind], person + next(self._people.gender))
        self._names(person, lines)
        self._links(person, place, circle, lines)

    def _links(
        self, person: str, place: Workplace, circle: tuple[int, int], lines: list[str]
    ) -> None:
        """Home town, friends, hobbies; the fan or lover of what."""
        if many := next(self._people.home_town):
            lines += (
                f"{person}{_HOME_TOWN}{other} .\n" for other in self._world.neighbours(person, many)
            )
        self._befriend(person, place, circle, lines)
        if many := next(self._people.interests):
            lines += (
                person + next(self._people.liking) + interest
                for interest in sample(self._rng, _INTERESTS, many)
            )
        if many := next(self._people.fan_classes):
            found: dict[str, None] = {}
            while len(found) < many:
                found[next(self._people.fans)] = None
            lines += (person + cls for cls in found)

    def _befriend(
        self, person: str, place: Workplace, circle: tuple[int, int], lines: list[str]
    ) -> None:
        friends = self._world.friends(place, person, circle, next(self._people.friends))
        lines += (f"{person}{_FRIEND}{other} .\n" for other in friends)

    def _any_university(self) -> str:
        return university_term(draw_below(self._rng, profile.DEGREES * self._universities))

    def _faculty(
        self,
        plan: DepartmentPlan,
        term: str,
        place: Workplace,
        faculty: Iterable[list[str]],
        lines: list[str],
    ) -> None:
        many_courses, many_graduate_courses = iter(plan.courses), iter(plan.graduate_courses)
        courses = (f"{term[:-1]}/Course{i}>" for i in range(sum(plan.courses)))
        graduate_courses = (
            f"{term[:-1]}/GraduateCourse{i}>" for i in range(sum(plan.graduate_courses))
        )
        head = draw_below(self._rng, plan.faculty[0])
        aliases = 0
        for rank, members in zip(profile.FACULTY, faculty):
            for i, person in enumerate(members):
                self._person(person, rank, place, PROFESSORS, lines)
                if rank == "FullProfessor" and i == head:
                    lines.append(f"{person}{_HEAD_OF}{term} .\n")
                works = next(self._courses.working) == 1
                lines += (
                    f"{person}{_WORKS_FOR if works else _MEMBER_OF}{term} .\n",
                    f"{person}{_UNDERGRADUATE_DEGREE}{self._any_university()} .\n",
                    f"{person}{_MASTER_DEGREE}{self._any_university()} .\n",
                    f"{person}{_DOCTORAL_DEGREE}{self._any_university()} .\n",
                )
                if rank != "Lecturer":
                    lines.append(f"{person}{_RESEARCH}{term[:-1]}/Research29> .\n")
                for course in (
                    *islice(courses, next(many_courses)),
                    *islice(graduate_courses, next(many_graduate_courses)),
                ):
                    title = course[course.rfind("/") + 1 : -1]
                    lines += (
                        f"{person}{_TEACHER_OF}{course} .\n",
                        course + _TYPE["Course"],
                        f'{course}{_NAME}"{title}" .\n',
                    )
                    if next(self._courses.renamed_share) == 1:
                        alias = f"{term[:-1]}/SameIndividual{aliases}>"
                        aliases += 1
                        lines += (f"{course}{_TAUGHT_BY}{alias} .\n", alias + _TYPE["Person"])
                        self._befriend(alias, place, PROFESSORS, lines)

    def _course(self, plan: DepartmentPlan, graduate: bool) -> str:
        if self._rng.random() < profile.ELSEWHERE:
            plan = self._world.department()
        many = sum(plan.graduate_courses if graduate else plan.courses)
        return f"<http://www.{host(plan)}/{'GraduateCourse' if graduate else 'Course'}{draw_below(self._rng, many)}>"

    def _students(
        self,
        plan: DepartmentPlan,
        term: str,
        place: Workplace,
        undergraduates: list[str],
        graduates: list[str],
        lines: list[str],
    ) -> None:
        rng = self._rng
        enrolled = f"{_ENROLLED}{term} .\n"
        first_advisor, advisors = place.starts[PROFESSORS[0]], sum(plan.faculty)
        assisted = iter(sample(rng, range(sum(plan.courses)), plan.teaching_assistants))
        assistants = {*sample(rng, graduates, plan.teaching_assistants)}
        researchers = {*sample(rng, graduates, plan.research_assistants)}
        for graduate, students in ((False, undergraduates), (True, graduates)):
            takes = self._courses.graduate if graduate else self._courses.undergraduate
            for student in students:
                self._person(student, KINDS[graduate], place, STUDENTS, lines)
                lines += (student + enrolled, student + _MAJORS[draw_below(rng, len(_MAJORS))])
                many = next(takes)
                courses: dict[str, None] = {}
                while len(courses) < many:
                    courses[
                        self._course(plan, graduate or rng.random() < profile.GRADUATE_LEVEL)
                    ] = None
                lines += (f"{student}{_TAKES}{course} .\n" for course in courses)
                if graduate or next(self._courses.advised_share) == 1:
                    lines.append(
                        f"{student}{_ADVISED}{place.person(first_advisor + draw_below(rng, advisors))} .\n"
                    )
                if graduate:
                    lines.append(f"{student}{_UNDERGRADUATE_DEGREE}{self._any_university()} .\n")
                    if student in assistants:
                        course = f"{term[:-1]}/Course{next(assisted)}>"
                        lines += (
                            student + _TYPE["TeachingAssistant"],
                            f"{student}{_ASSISTS}{course} .\n",
                        )
                    if student in researchers:
                        lines.append(student + _TYPE["ResearchAssistant"])

    def _write_publications(
        self, term: str, faculty: list[list[str]], graduates: list[str], lines: list[str]
    ) -> None:
        authors = [*(person for members in faculty for person in members), *graduates]
        ranks = [
            base for base, members in zip(profile.PUBLICATIONS.values(), faculty) for _ in members
        ]
        number = 0
        for i, author in enumerate(authors):
            many = (
                ranks[i] + next(self._publications.extra_publications)
                if i < len(ranks)
                else next(self._publications.of_graduate)
            )
            for _ in range(many):
                publication = f"{term[:-1]}/Publication{number}>"
                number += 1
                lines += (
                    publication + next(self._publications.genres),
                    f"{publication}{_AUTHOR}{author} .\n",
                )
                together, all_of = {author: None}, next(self._publications.authors)
                while len(together) < all_of:
                    other = authors[draw_below(self._rng, len(authors))]
                    if other not in together:
                        together[other] = None
                        lines.append(f"{publication}{_AUTHOR}{other} .\n")


ONTOLOGY = NAMESPACE.rstrip("#")


def tbox_file() -> str:
    """UOBM's TBox with its individuals, as RDF/XML."""
    return tbox_as_rdfxml(uobm_tbox(), ONTOLOGY, uobm_individuals())


def plan(universities: int, seed: int) -> list[UniversityPlan]:
    """The sizes of all universities."""
    return list(islice(profile.universities(random.Random(f"uobm sizes {seed}")), universities))


def parts(plans: list[UniversityPlan], seed: int, *, misspelt: bool = False) -> Iterator[list[str]]:
    """The data as N-Triples lines, each triple once: every university with its colleges, then
    its departments one by one.
    """
    rng = random.Random(f"uobm data {seed}")
    writer = Writer(UobmWorld(plans, rng), len(plans), rng, misspelt)
    for university in plans:
        yield writer.university(university)
        for department in university.departments:
            yield writer.department(department)


def generate(
    universities: int,
    seed: int,
    out: Path,
    *,
    misspelt: bool = False,
    progress: Progress | None = None,
) -> GenerationReport:
    """Writes UOBM data of so many universities into the directory ``out``, which is made if need
    be.

    ``misspelt``: journal articles are in the class that the original generator writes,
    JournalArtical, which no TBox of UOBM knows; else in JournalArticle. Raises UsageError for
    numbers out of range.
    """
    if universities < 1:
        raise UsageError(
            f"{universities} universities cannot be generated", "Ask for at least one."
        )
    started = time.perf_counter()
    plans = plan(universities, seed)
    departments = sum(len(university.departments) for university in plans)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tbox.owl").write_text(tbox_file(), encoding="utf-8")
    counts = write_triples(
        out / "abox.nt.gz",
        parts(plans, seed, misspelt=misspelt),
        departments + universities,
        progress,
    )
    files, seconds = ("tbox.owl", "abox.nt.gz"), time.perf_counter() - started
    return GenerationReport(
        **asdict(counts), directory=out, departments=departments, files=files, seconds=seconds
    )

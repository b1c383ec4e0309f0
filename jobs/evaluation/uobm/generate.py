"""Generate UOBM data of any size from a seed: TBox, and data with the proportions of the usual
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
    draw_below,
    draw_in_rounds,
    draw_range_in_rounds,
    sample_distinct,
    tbox_as_rdfxml,
    university_term,
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
    UobmWorkplaces,
    Workplace,
    department_workplace,
    host_name,
    women_college_workplace,
)
from shiq.jobs.evaluation.uobm.tbox import NAMESPACE, SUBJECTS, uobm_individuals, uobm_tbox

# UOBM's data, part by part as N-Triples lines: one department, or one university with its
# colleges.


#: The class that the original generator writes for journal articles, which the TBox does not know.
MISSPELT = "JournalArtical"


def _type_suffixes(*names: str) -> dict[str, str]:
    """N-Triples texts that follow an individual to state its class, by class name."""
    return {name: f" {RDF_TYPE} <{NAMESPACE}{name}> .\n" for name in names}


def _predicate_texts(*names: str) -> tuple[str, ...]:
    """N-Triples terms of properties, with a blank before and after."""
    return tuple(f" <{NAMESPACE}{name}> " for name in names)


_TYPE = _type_suffixes(
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
_GENRE = _type_suffixes(*profile.GENRES, MISSPELT)
_FAN = _type_suffixes(*profile.FANS)
_TELEPHONE = f' <{NAMESPACE}telephone> "xxx-xxx-xxxx" .\n'
_NAME, _EMAIL, _FIRST, _LAST = _predicate_texts("name", "emailAddress", "firstName", "lastName")
_FRIEND, _HOME_TOWN, _INSIDE, _HEAD_OF, _MEMBER_OF, _WORKS_FOR, _STUDENT_OF, _ENROLLED, _MAJOR = (
    _predicate_texts(
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
_TEACHER_OF, _TAUGHT_BY, _TAKES, _ASSISTS, _ADVISED, _AUTHOR, _RESEARCH = _predicate_texts(
    "teacherOf",
    "isTaughtBy",
    "takesCourse",
    "teachingAssistantOf",
    "isAdvisedBy",
    "publicationAuthor",
    "researchInterest",
)
_UNDERGRADUATE_DEGREE, _MASTER_DEGREE, _DOCTORAL_DEGREE = _predicate_texts(
    "hasUndergraduateDegreeFrom", "hasMasterDegreeFrom", "hasDoctoralDegreeFrom"
)
_LIKING = _predicate_texts(*profile.LIKING)
_INTERESTS = tuple(f"<{NAMESPACE}{name}> .\n" for name in profile.INTERESTING)
_MAJORS = tuple(
    f"{_MAJOR}<{NAMESPACE}{subject}> .\n" for subjects in SUBJECTS.values() for subject in subjects
)


def college_term(university: int, number: int) -> str:
    """N-Triples term of a college."""
    return f"<http://www.College{number}.University{university}.edu>"


class PersonDraws(NamedTuple):
    """Iterators of random values for people, which all people of a data set share.

    gender: class of gender
    friends, home_town: numbers of friends, and of people named as of the same home town
    interests, liking: number of interests, and the property for each (such as love)
    fan_classes, fans: number of classes of fans that a person is in, and which
    """

    gender: Iterator[str]
    friends: Iterator[int]
    home_town: Iterator[int]
    interests: Iterator[int]
    liking: Iterator[str]
    fan_classes: Iterator[int]
    fans: Iterator[str]


class PublicationDraws(NamedTuple):
    """Iterators of random values for publications, which all departments of a data set share:
    class, number of publications of a member of the faculty (beyond that of its rank) and of a
    graduate student, number of authors.
    """

    genres: Iterator[str]
    extra_publications: Iterator[int]
    of_graduate: Iterator[int]
    authors: Iterator[int]


class CourseDraws(NamedTuple):
    """Iterators of random values about courses and posts, which all departments of a data set
    share: numbers of courses that a student takes; and draws of 1 if a person has an advisor, a
    post or an alias.

    undergraduate, graduate: number of courses that such a student takes
    advised_share: 1 if an undergraduate has an advisor
    working: 1 if a member of the faculty works for the department, else it is a member of it
    clerical: 1 if one of the clerical staff is a member of the department, else it works for it
    renamed_share: 1 if a course is also taught by an alias of its teacher
    """

    undergraduate: Iterator[int]
    graduate: Iterator[int]
    advised_share: Iterator[int]
    working: Iterator[int]
    clerical: Iterator[int]
    renamed_share: Iterator[int]


class UobmGenerator:
    """Generator of the N-Triples lines of universities and departments. The iterators of random
    values go on from one department to the next, so that totals hardly vary with the seed.

    misspelt: whether to use the original generator's class `MISSPELT`
    """

    def __init__(
        self, world: UobmWorkplaces, universities: int, rng: random.Random, misspelt: bool
    ) -> None:
        self._world = world
        self._universities = universities
        self._rng = rng
        genres = [MISSPELT if misspelt and g == "JournalArticle" else g for g in profile.GENRES]
        self._people = PersonDraws(
            gender=draw_in_rounds(rng, (_TYPE["Man"], _TYPE["Woman"])),
            friends=draw_range_in_rounds(rng, profile.FRIENDS),
            home_town=draw_in_rounds(rng, profile.HOME_TOWN),
            interests=draw_in_rounds(rng, profile.INTERESTS_OF_ONE),
            liking=draw_in_rounds(rng, _LIKING),
            fan_classes=draw_in_rounds(rng, profile.FAN_CLASSES),
            fans=draw_in_rounds(rng, [_FAN[name] for name in profile.FANS]),
        )
        self._publications = PublicationDraws(
            genres=draw_in_rounds(rng, [_GENRE[genre] for genre in genres]),
            extra_publications=draw_in_rounds(rng, profile.MORE_PUBLICATIONS),
            of_graduate=draw_in_rounds(rng, profile.GRADUATE_PUBLICATIONS),
            authors=draw_range_in_rounds(rng, profile.AUTHORS),
        )
        self._courses = CourseDraws(
            undergraduate=draw_range_in_rounds(rng, profile.UNDERGRADUATE_TAKES),
            graduate=draw_range_in_rounds(rng, profile.GRADUATE_TAKES),
            advised_share=draw_range_in_rounds(rng, (1, profile.ADVISED)),
            working=draw_range_in_rounds(rng, (1, profile.WORKING)),
            clerical=draw_range_in_rounds(rng, (1, profile.WORKING)),
            renamed_share=draw_range_in_rounds(rng, (1, profile.RENAMED)),
        )

    def generate_university(self, plan: UniversityPlan) -> list[str]:
        """N-Triples lines of a university, its colleges and the students of its women's college."""
        term = university_term(plan.number)
        lines = [term + _TYPE["University"], f'{term}{_NAME}"University{plan.number}" .\n']
        for i in range(plan.colleges):
            kind = "WomanCollege" if plan.women and i == 0 else "College"
            college = college_term(plan.number, i)
            lines += (college + _TYPE[kind], f"{college}{_INSIDE}{term} .\n")
        if plan.women:
            place = women_college_workplace(plan)
            enrolled = f"{_STUDENT_OF}{college_term(plan.number, 0)} .\n"
            for student in place.terms_of_kind(0):
                lines += (student + _TYPE["Person"], student + enrolled)
                self._add_names(student, lines)
                self._add_personal_links(student, place, EVERYBODY, lines)
        return lines

    def generate_department(self, plan: DepartmentPlan) -> list[str]:
        """N-Triples lines of a department with its people, courses and publications."""
        term = f"<http://www.{host_name(plan)}>"
        place = department_workplace(plan)
        undergraduates, graduates, *faculty, systems_staff, clerical_staff, other_staff = map(
            place.terms_of_kind, range(len(KINDS))
        )
        lines = [
            term + _TYPE["Department"],
            f'{term}{_NAME}"Department{plan.number}" .\n',
            f"{term}{_INSIDE}{college_term(plan.university, plan.college)} .\n",
        ]
        chair = f"{term[:-1]}/Chair0>"
        lines += (chair + _TYPE["Chair"], f"{chair}{_HEAD_OF}{term} .\n")
        self._add_personal_links(chair, place, PROFESSORS, lines)
        self._add_faculty(plan, term, place, faculty, lines)
        lines += (
            f"{term[:-1]}/VisitingProfessor{i}>{_TYPE['VisitingProfessor']}"
            for i in range(plan.visiting)
        )
        self._add_students(plan, term, place, undergraduates, graduates, lines)
        self._add_publications(term, faculty, graduates, lines)
        for i in range(plan.research_groups):
            group = f"{term[:-1]}/ResearchGroup{i}>"
            lines += (group + _TYPE["ResearchGroup"], f"{group}{_INSIDE}{term} .\n")
        for staff, kind, circle in (
            (systems_staff, "SystemsStaff", STAFF),
            (clerical_staff, "ClericalStaff", STAFF),
            (other_staff, "Person", EVERYBODY),
        ):
            for person in staff:
                self._add_person(person, kind, place, circle, lines)
                member = kind == "ClericalStaff" and next(self._courses.clerical) == 1
                lines.append(f"{person}{_MEMBER_OF if member else _WORKS_FOR}{term} .\n")
        return lines

    def _add_names(self, person: str, lines: list[str]) -> None:
        """Add the lines with names and contact data of a person."""
        where, _, name = person[len("<http://www.") : -1].partition("/")
        lines += (
            f'{person}{_EMAIL}"{name}@{where}" .\n',
            f'{person}{_FIRST}"{name}.first" .\n',
            f'{person}{_LAST}"{name}.last" .\n',
            person + _TELEPHONE,
        )

    def _add_person(
        self,
        person: str,
        kind: str,
        workplace: Workplace,
        friend_kinds: tuple[int, int],
        lines: list[str],
    ) -> None:
        """Add the lines of a person: classes, names, friends, home town and interests.

        friend_kinds: range of the kinds of people that its friends mostly are of
        """
        lines += (person + _TYPE[kind], person + next(self._people.gender))
        self._add_names(person, lines)
        self._add_personal_links(person, workplace, friend_kinds, lines)

    def _add_personal_links(
        self, person: str, workplace: Workplace, friend_kinds: tuple[int, int], lines: list[str]
    ) -> None:
        """Add the lines with home town, friends, interests and fan classes of a person."""
        if many := next(self._people.home_town):
            lines += (
                f"{person}{_HOME_TOWN}{other} .\n"
                for other in self._world.draw_people(person, many)
            )
        self._add_friends(person, workplace, friend_kinds, lines)
        if many := next(self._people.interests):
            lines += (
                person + next(self._people.liking) + interest
                for interest in sample_distinct(self._rng, _INTERESTS, many)
            )
        if many := next(self._people.fan_classes):
            found: dict[str, None] = {}
            while len(found) < many:
                found[next(self._people.fans)] = None
            lines += (person + cls for cls in found)

    def _add_friends(
        self, person: str, workplace: Workplace, friend_kinds: tuple[int, int], lines: list[str]
    ) -> None:
        """Add the lines with random friends of a person."""
        friends = self._world.draw_friends(
            workplace, person, friend_kinds, next(self._people.friends)
        )
        lines += (f"{person}{_FRIEND}{other} .\n" for other in friends)

    def _choose_university(self) -> str:
        """Term of a random university for a degree; four of five such universities have no data of
        their own.
        """
        return university_term(draw_below(self._rng, profile.DEGREES * self._universities))

    def _add_faculty(
        self,
        plan: DepartmentPlan,
        term: str,
        workplace: Workplace,
        faculty: Iterable[list[str]],
        lines: list[str],
    ) -> None:
        """Add the lines of a department's faculty with degrees and courses."""
        many_courses, many_graduate_courses = iter(plan.courses), iter(plan.graduate_courses)
        courses = (f"{term[:-1]}/Course{i}>" for i in range(sum(plan.courses)))
        graduate_courses = (
            f"{term[:-1]}/GraduateCourse{i}>" for i in range(sum(plan.graduate_courses))
        )
        head = draw_below(self._rng, plan.faculty[0])
        aliases = 0
        for rank, members in zip(profile.FACULTY, faculty):
            for i, person in enumerate(members):
                self._add_person(person, rank, workplace, PROFESSORS, lines)
                if rank == "FullProfessor" and i == head:
                    lines.append(f"{person}{_HEAD_OF}{term} .\n")
                works = next(self._courses.working) == 1
                lines += (
                    f"{person}{_WORKS_FOR if works else _MEMBER_OF}{term} .\n",
                    f"{person}{_UNDERGRADUATE_DEGREE}{self._choose_university()} .\n",
                    f"{person}{_MASTER_DEGREE}{self._choose_university()} .\n",
                    f"{person}{_DOCTORAL_DEGREE}{self._choose_university()} .\n",
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
                        self._add_friends(alias, workplace, PROFESSORS, lines)

    def _choose_course(self, plan: DepartmentPlan, graduate: bool) -> str:
        """Term of a random course for a student: of this department, or in one of six cases of any
        department.
        """
        if self._rng.random() < profile.ELSEWHERE:
            plan = self._world.choose_department()
        many = sum(plan.graduate_courses if graduate else plan.courses)
        return f"<http://www.{host_name(plan)}/{'GraduateCourse' if graduate else 'Course'}{draw_below(self._rng, many)}>"

    def _add_students(
        self,
        plan: DepartmentPlan,
        term: str,
        workplace: Workplace,
        undergraduates: list[str],
        graduates: list[str],
        lines: list[str],
    ) -> None:
        """Add the lines of a department's students with courses, advisors and posts."""
        rng = self._rng
        enrolled = f"{_ENROLLED}{term} .\n"
        first_advisor, advisors = workplace.starts[PROFESSORS[0]], sum(plan.faculty)
        assisted = iter(sample_distinct(rng, range(sum(plan.courses)), plan.teaching_assistants))
        assistants = {*sample_distinct(rng, graduates, plan.teaching_assistants)}
        researchers = {*sample_distinct(rng, graduates, plan.research_assistants)}
        for graduate, students in ((False, undergraduates), (True, graduates)):
            takes = self._courses.graduate if graduate else self._courses.undergraduate
            for student in students:
                self._add_person(student, KINDS[graduate], workplace, STUDENTS, lines)
                lines += (student + enrolled, student + _MAJORS[draw_below(rng, len(_MAJORS))])
                many = next(takes)
                courses: dict[str, None] = {}
                while len(courses) < many:
                    courses[
                        self._choose_course(plan, graduate or rng.random() < profile.GRADUATE_LEVEL)
                    ] = None
                lines += (f"{student}{_TAKES}{course} .\n" for course in courses)
                if graduate or next(self._courses.advised_share) == 1:
                    lines.append(
                        f"{student}{_ADVISED}{workplace.person_term(first_advisor + draw_below(rng, advisors))} .\n"
                    )
                if graduate:
                    lines.append(f"{student}{_UNDERGRADUATE_DEGREE}{self._choose_university()} .\n")
                    if student in assistants:
                        course = f"{term[:-1]}/Course{next(assisted)}>"
                        lines += (
                            student + _TYPE["TeachingAssistant"],
                            f"{student}{_ASSISTS}{course} .\n",
                        )
                    if student in researchers:
                        lines.append(student + _TYPE["ResearchAssistant"])

    def _add_publications(
        self, term: str, faculty: list[list[str]], graduates: list[str], lines: list[str]
    ) -> None:
        """Add the lines of a department's publications with their authors."""
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


def uobm_rdfxml() -> str:
    """UOBM's TBox with its individuals, as RDF/XML text."""
    return tbox_as_rdfxml(uobm_tbox(), ONTOLOGY, uobm_individuals())


def plan_universities(universities: int, seed: int) -> list[UniversityPlan]:
    """Draw the sizes of all universities and departments, before any data is generated."""
    return list(
        islice(profile.draw_university_plans(random.Random(f"uobm sizes {seed}")), universities)
    )


def generate_parts(
    plans: list[UniversityPlan], seed: int, *, misspelt: bool = False
) -> Iterator[list[str]]:
    """Yield the data as lists of N-Triples lines: each university with its colleges, then each of
    its departments.
    """
    rng = random.Random(f"uobm data {seed}")
    writer = UobmGenerator(UobmWorkplaces(plans, rng), len(plans), rng, misspelt)
    for university in plans:
        yield writer.generate_university(university)
        for department in university.departments:
            yield writer.generate_department(department)


def generate_uobm_data(
    universities: int,
    seed: int,
    out: Path,
    *,
    misspelt: bool = False,
    progress: Progress | None = None,
) -> GenerationReport:
    """Write UOBM data with this number of universities to the directory ``out``.

    ``misspelt``: journal articles are in the class that the original generator writes,
    JournalArtical, which no TBox of UOBM knows; else in JournalArticle.
    Raises: UsageError for numbers out of range.
    """
    if universities < 1:
        raise UsageError(
            f"{universities} universities cannot be generated", "Ask for at least one."
        )
    started = time.perf_counter()
    plans = plan_universities(universities, seed)
    departments = sum(len(university.departments) for university in plans)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tbox.owl").write_text(uobm_rdfxml(), encoding="utf-8")
    counts = write_triples(
        out / "abox.nt.gz",
        generate_parts(plans, seed, misspelt=misspelt),
        departments + universities,
        progress,
    )
    files, seconds = ("tbox.owl", "abox.nt.gz"), time.perf_counter() - started
    return GenerationReport(
        **asdict(counts), directory=out, departments=departments, files=files, seconds=seconds
    )

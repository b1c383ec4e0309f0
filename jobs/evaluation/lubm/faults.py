"""Contradictions planted into an insertion batch, each known with all its minimal conflicts.

A fault is a set X of insertions with (T, A ∪ X) inconsistent, where T is the disjointness variant and A the generated data, and
(T, A ∪ Y) consistent for each proper subset Y. It speaks of individuals of its own (fresh ones, and old ones that nothing else in
the batch mentions), so no insertion outside X can stand in for one inside: the minimal conflicts of the whole batch are the
faults, and the culprits their union.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from jobs.evaluation.draws import below, shuffle
from jobs.evaluation.generation import RDF_TYPE
from jobs.evaluation.lubm.department import Department, predicate
from shiq.errors import UsageError
from shiq.model import OWL, XSD

#: How many faults one department can carry without two of them meeting.
PER_DEPARTMENT = 40

_SAME = f"<{OWL}sameAs>"
_DIFFERENT = f"<{OWL}differentFrom>"


@dataclass(frozen=True)
class Fault:
    """``kind``: what it takes to see it: ``batch`` (the batch alone), ``base`` (one old assertion or individual), ``chain`` (old
    role assertions in a chain), ``identity``, ``cardinality``, ``data``. ``form`` names the recipe; ``insertions`` are N-Triples
    lines."""

    kind: str
    form: str
    insertions: tuple[str, ...]


class _Exhausted(Exception):
    """The department has no unused individual of the sort left."""


class _Cast:
    """Hands out the individuals of one department, each for one fault only, and fresh ones."""

    def __init__(self, made: Department, rng: random.Random) -> None:
        self.made = made
        self.taken: set[str] = set()
        self._rng = rng
        self._fresh = 0

    def fresh(self) -> str:
        self._fresh += 1
        return f"{self.made.term[:-1]}/Planted{self._fresh}>"

    def _take(self, candidates: list[tuple[str, ...]]) -> tuple[str, ...]:
        start = below(self._rng, len(candidates)) if candidates else 0
        for candidate in candidates[start:] + candidates[:start]:
            if self.taken.isdisjoint(candidate):
                self.taken.update(candidate)
                return candidate
        raise _Exhausted

    def _one(self, candidates: Iterable[str]) -> str:
        return self._take([(term,) for term in candidates])[0]

    def undergraduate(self) -> str:
        return self._one(self.made.undergraduates)

    def graduate(self) -> str:
        return self._one(self.made.graduates)

    def course(self) -> str:
        return self._one(self.made.courses)

    def graduate_course(self) -> str:
        return self._one(self.made.graduate_courses)

    def group(self) -> str:
        return self._one(self.made.groups)

    def teacher(self) -> tuple[str, str]:
        teacher, course = self._take([*self.made.teachers])
        return teacher, course

    def assistant(self) -> tuple[str, str]:
        assistant, course = self._take([*self.made.assistants])
        return assistant, course

    def advised(self) -> tuple[str, str]:
        student, advisor = self._take([*self.made.advised])
        return student, advisor

    def head(self) -> str:
        return self._take([(self.made.head, self.made.term)])[0]


def _is(term: str, cls: str) -> str:
    return f"{term} {RDF_TYPE} {predicate(cls)} .\n"


def _role(subject: str, role: str, object: str) -> str:
    return f"{subject} {predicate(role)} {object} .\n"


def _same(first: str, second: str) -> str:
    return f"{first} {_SAME} {second} .\n"


def _different(first: str, second: str) -> str:
    return f"{first} {_DIFFERENT} {second} .\n"


def _value(subject: str, property: str, lexical: str) -> str:
    return f'{subject} {predicate(property)} "{lexical}"^^<{XSD}integer> .\n'


# --- visible in the batch alone ------------------------------------------------------------------


def _two_disjoint_classes(cast: _Cast) -> Iterator[str]:
    it = cast.fresh()
    yield _is(it, "Course")
    yield _is(it, "Book")


def _range_against_class(cast: _Cast) -> Iterator[str]:
    author = cast.fresh()
    yield _role(cast.fresh(), "publicationAuthor", author)
    yield _is(author, "Department")


def _inverse_of_domain(cast: _Cast) -> Iterator[str]:
    club = cast.fresh()
    yield _role(cast.fresh(), "memberOf", club)
    yield _is(club, "Research")


def _superrole_range(cast: _Cast) -> Iterator[str]:
    led = cast.fresh()
    yield _role(cast.fresh(), "headOf", led)
    yield _is(led, "Manual")


# --- visible with one old assertion --------------------------------------------------------------


def _old_person_as_publication(cast: _Cast) -> Iterator[str]:
    yield _is(cast.undergraduate(), "Software")


def _old_member_of_old_course(cast: _Cast) -> Iterator[str]:
    yield _role(cast.graduate(), "memberOf", cast.course())


def _written_by_old_course(cast: _Cast) -> Iterator[str]:
    yield _role(cast.fresh(), "publicationAuthor", cast.course())


def _advises_own_advisor(cast: _Cast) -> Iterator[str]:
    student, advisor = cast.advised()
    yield _role(advisor, "advisor", student)


def _takes_own_course(cast: _Cast) -> Iterator[str]:
    teacher, course = cast.teacher()
    yield _role(teacher, "takesCourse", course)


# --- visible along chains of old role assertions -------------------------------------------------


def _institute_inside_university(cast: _Cast) -> Iterator[str]:
    yield _is(cast.group(), "Institute")


def _institute_inside_group(cast: _Cast) -> Iterator[str]:
    institute = cast.fresh()
    yield _role(institute, "subOrganizationOf", cast.group())
    yield _is(institute, "Institute")


def _department_inside_group(cast: _Cast) -> Iterator[str]:
    between = cast.fresh()
    yield _role(cast.made.term, "subOrganizationOf", between)
    yield _role(between, "subOrganizationOf", cast.group())


def _visitor_with_undergraduates(cast: _Cast) -> Iterator[str]:
    _, advisor = cast.advised()
    yield _is(advisor, "VisitingProfessor")


# --- identity ------------------------------------------------------------------------------------


def _second_teacher(cast: _Cast) -> Iterator[str]:
    teacher, course = cast.teacher()
    other = cast.fresh()
    yield _role(other, "teacherOf", course)
    yield _different(other, teacher)


def _alias_of_another_sort(cast: _Cast) -> Iterator[str]:
    alias = cast.fresh()
    yield _same(alias, cast.undergraduate())
    yield _is(alias, "Manual")


def _person_is_course(cast: _Cast) -> Iterator[str]:
    yield _same(cast.graduate(), cast.course())


def _chain_of_aliases(cast: _Cast) -> Iterator[str]:
    first, second, third = cast.fresh(), cast.fresh(), cast.fresh()
    yield _same(first, second)
    yield _same(third, second)
    yield _different(first, third)


def _head_of_two(cast: _Cast) -> Iterator[str]:
    head, other = cast.head(), cast.fresh()
    yield _role(head, "headOf", other)
    yield _different(cast.made.term, other)


# --- cardinality ---------------------------------------------------------------------------------


def _assists_in_three(cast: _Cast) -> Iterator[str]:
    assistant, old = cast.assistant()
    second, third = cast.fresh(), cast.fresh()
    yield _role(assistant, "teachingAssistantOf", second)
    yield _role(assistant, "teachingAssistantOf", third)
    yield from (_different(old, second), _different(old, third), _different(second, third))


def _three_advisors(cast: _Cast) -> Iterator[str]:
    student, old = cast.advised()
    second, third = cast.fresh(), cast.fresh()
    yield _role(student, "advisor", second)
    yield _role(student, "advisor", third)
    yield from (_different(second, old), _different(third, old), _different(third, second))


def _two_graduate_courses(cast: _Cast) -> Iterator[str]:
    student, first, second = cast.undergraduate(), cast.graduate_course(), cast.graduate_course()
    yield _role(student, "takesCourse", first)
    yield _role(student, "takesCourse", second)
    yield _different(first, second)


# --- data ----------------------------------------------------------------------------------------


def _two_ages(cast: _Cast) -> Iterator[str]:
    it = cast.fresh()
    yield _value(it, "age", "30")
    yield _value(it, "age", "31")


def _out_of_range(cast: _Cast) -> Iterator[str]:
    yield _value(cast.undergraduate(), "age", "200")


def _word_for_number(cast: _Cast) -> Iterator[str]:
    # A string, not an ill-typed integer: reasoners refuse to read those, and could not confirm the conflict.
    yield f'{cast.fresh()} {predicate("age")} "twelve" .\n'


def _number_for_string(cast: _Cast) -> Iterator[str]:
    yield _value(cast.undergraduate(), "telephone", "5550100")


def _young_graduate(cast: _Cast) -> Iterator[str]:
    yield _value(cast.graduate(), "age", "12")


def _ages_of_one_teacher(cast: _Cast) -> Iterator[str]:
    teacher, course = cast.teacher()
    other = cast.fresh()
    yield _role(other, "teacherOf", course)
    yield _value(other, "age", "40")
    yield _value(teacher, "age", "41")


_Recipe = Callable[[_Cast], Iterator[str]]

#: The forms by kind. Faults go round the kinds, and within a kind round its forms.
FORMS: dict[str, tuple[_Recipe, ...]] = {
    "batch": (_two_disjoint_classes, _range_against_class, _inverse_of_domain, _superrole_range),
    "base": (
        _old_person_as_publication,
        _old_member_of_old_course,
        _written_by_old_course,
        _advises_own_advisor,
        _takes_own_course,
    ),
    "chain": (_institute_inside_university, _institute_inside_group, _department_inside_group, _visitor_with_undergraduates),
    "identity": (_second_teacher, _alias_of_another_sort, _person_is_course, _chain_of_aliases, _head_of_two),
    "cardinality": (_assists_in_three, _two_graduate_courses, _three_advisors),
    "data": (_two_ages, _young_graduate, _ages_of_one_teacher, _out_of_range, _number_for_string, _word_for_number),
}


class Planting:
    """Deals so many faults over so many departments, evenly. Raises UsageError if they do not fit."""

    def __init__(self, faults: int, departments: int, rng: random.Random) -> None:
        if not 0 <= faults <= PER_DEPARTMENT * departments:
            raise UsageError(
                f"{faults} faults do not fit into {departments} departments",
                f"Ask for 0 to {PER_DEPARTMENT * departments}, or for more universities.",
            )
        self._rng = rng
        self._numbers = {place: i for i, place in enumerate(shuffle(rng, list(range(departments))))}
        self._departments = departments
        self._faults = faults
        self._done = 0

    def plant(self, made: Department) -> tuple[tuple[Fault, ...], frozenset[str]]:
        """The faults of the next department, and the old individuals that the rest of the batch has to leave alone."""
        cast = _Cast(made, self._rng)
        first = self._numbers[self._done]
        self._done += 1
        faults = tuple(_fault(number, cast) for number in range(first, self._faults, self._departments))
        return faults, frozenset(cast.taken)


def _fault(number: int, cast: _Cast) -> Fault:
    """Fault number ``number``, of the form whose turn it is, or of the next one that the department has individuals for."""
    kinds = list(FORMS)
    kind = kinds[number % len(kinds)]
    forms = FORMS[kind]
    turn = number // len(kinds) % len(forms)
    for recipe in forms[turn:] + forms[:turn]:
        try:
            return Fault(kind, recipe.__name__.strip("_"), tuple(recipe(cast)))
        except _Exhausted:
            continue
    raise UsageError(f"{cast.made.term} has no room for another fault of the kind {kind}", "Ask for fewer faults.")

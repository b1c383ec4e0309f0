"""Draw a consistent random insertion batch: 5 % of the data, half of it about fresh individuals.

An assertion of the data is drawn evenly. Its subject stays, or is replaced by a fresh individual of
the same kind. Its object is exchanged for that of another assertion of the same predicate about the
same kinds of things. A class is exchanged for one that goes with the kind. The result follows the
data's own mix of predicates, and contradicts nothing: data/lubm/README.md has the argument.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import RDF_TYPE, draw_below, shuffle
from shiq.jobs.evaluation.lubm.department import Department, vocabulary_term
from shiq.model import OWL, XSD

FRACTION = 0.05
FRESH = 0.5

_FACULTY = (
    "Professor",
    "Faculty",
    "Employee",
    "Person",
    "FullProfessor",
    "AssociateProfessor",
    "AssistantProfessor",
    "Lecturer",
    "PostDoc",
)
_PUBLICATION = (
    "Article",
    "Book",
    "ConferencePaper",
    "JournalArticle",
    "Manual",
    "Software",
    "Specification",
    "TechnicalReport",
)
#: Classes that can be asserted of an individual of each kind, whatever else the data or a batch
#: says of it. UndergraduateStudent, GraduateCourse, Institute and VisitingProfessor stay with whom
#: they are: the variant restricts them.
_CLASSES = {
    "FullProfessor": _FACULTY,
    "AssociateProfessor": _FACULTY,
    "AssistantProfessor": _FACULTY,
    "Lecturer": _FACULTY,
    "UndergraduateStudent": ("Student", "Person", "Employee", "ResearchAssistant"),
    "GraduateStudent": ("Student", "Person", "Employee", "ResearchAssistant", "TeachingAssistant"),
    "Course": ("Work",),
    "GraduateCourse": ("Work", "Course"),
    "Publication": _PUBLICATION,
    "ResearchGroup": ("Organization",),
    "Department": ("Organization",),
    "University": ("Organization",),
}
#: Classes that a fresh individual of a kind may have besides.
_OWN = {kind: (kind, *classes) for kind, classes in _CLASSES.items()}
#: Roles that the variant counts: a fresh subject of one is used once, so that no bound is ever
#: exceeded.
_COUNTED = frozenset(
    map(vocabulary_term, ("advisor", "headOf", "teacherOf", "teachingAssistantOf"))
)
_KEPT = 256
_ATTEMPTS = 8


def kind_of_individual(term: str) -> str:
    """Read from the IRI of an individual of LUBM's data its kind, the name before the number (such
    as FullProfessor); "" for a literal.

    >>> kind_of_individual("<http://www.Department3.University0.edu/FullProfessor12>"), kind_of_individual("<http://www.University7.edu>")
    ('FullProfessor', 'University')
    """
    if term[0] == '"':
        return ""
    name = term[term.rfind("/") + 1 : -1]
    return name.removeprefix("www.").split(".")[0].rstrip("0123456789")


class BatchSampler:
    """Sampler of the random insertions of a batch, called department by department. It remembers up
    to 256 objects for each predicate and pair of kinds of individuals, as replacements in other
    lines.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._objects: dict[tuple[str, str, str], list[str]] = {}
        self._owed = 0.0
        self._fresh = 0

    def draw_insertions(
        self, department: Department, reserved: frozenset[str], planted: list[str]
    ) -> list[str]:
        """Draw the batch's insertions about a department, with the ``planted`` lines at random
        positions among them.

        No line is about ``reserved`` individuals, occurs in the data or occurs twice.
        """
        self._owed += FRACTION * len(department.lines)
        wanted = int(self._owed)
        self._owed -= wanted
        have = set(department.lines)
        pools: dict[str, list[str]] = {}
        lines: list[str] = []
        drawn: set[int] = set()
        while len(lines) < wanted and len(drawn) < len(department.lines):
            i = draw_below(self._rng, len(department.lines))
            if i in drawn:
                continue
            drawn.add(i)
            line = self._draw_insertion(department, i, reserved, have, pools)
            if line:
                have.add(line)
                lines.append(line)
        return shuffle(self._rng, lines + planted)

    def _draw_insertion(
        self,
        department: Department,
        line_index: int,
        reserved: frozenset[str],
        known_lines: set[str],
        pools: dict[str, list[str]],
    ) -> str:
        """Make a random insertion from a line of a department: exchange its object and, half of the
        time, replace its subject by a fresh individual. "" if none is possible.

        line_index: the line; known_lines: lines that must not occur again; pools: fresh individuals
        by kind
        """
        subject, role, object = department.lines[line_index][:-3].split(" ", 2)
        if subject in reserved or object in reserved:
            return ""
        kind = kind_of_individual(subject)
        fresh = self._rng.random() < FRESH
        for _ in range(_ATTEMPTS):
            filler = self._exchange_object(kind, role, object, fresh)
            who = self._choose_fresh_individual(department, kind, role, pools) if fresh else subject
            line = f"{who} {role} {filler} .\n"
            if filler and line not in known_lines:
                return line
        return ""

    def _exchange_object(self, kind: str, role: str, object: str, fresh: bool) -> str:
        """Choose the new object for an insertion that is made from a line of the data: the object
        of an earlier line with the same role and kinds of individuals; in a class assertion, a
        class that fits the subject's kind. "" if none other is found.

        fresh: whether the insertion's subject is a fresh individual
        """
        if role == RDF_TYPE:
            classes = (_OWN if fresh else _CLASSES)[kind]
            return vocabulary_term(classes[draw_below(self._rng, len(classes))])
        known = self._objects.setdefault((kind, role, kind_of_individual(object)), [])
        other = known[draw_below(self._rng, len(known))] if known else ""
        if object not in known:
            if len(known) < _KEPT:
                known.append(object)
            else:
                known[draw_below(self._rng, _KEPT)] = object
        return other if other != object else ""

    def _choose_fresh_individual(
        self, department: Department, kind: str, role: str, pools: dict[str, list[str]]
    ) -> str:
        """Choose a fresh individual (one that the data does not mention) of a kind as the subject
        of an insertion: half of the time one that the batch mentions already.
        """
        pool = pools.setdefault(kind, [])
        counted = role in _COUNTED
        if pool and not counted and self._rng.random() < 0.5:
            return pool[draw_below(self._rng, len(pool))]
        self._fresh += 1
        term = f"{department.term[:-1]}/Inserted{kind}{self._fresh}>"
        if not counted:
            pool.append(term)
        return term


# Contradictions planted into an insertion batch, each known with all its minimal conflicts.
#
# A fault is a set X of insertions with (T, A ∪ X) inconsistent, where T is the disjointness
# variant and A the generated data, and (T, A ∪ Y) consistent for each proper subset Y. It speaks
# of individuals of its own (fresh ones, and old ones that nothing else in the batch mentions), so
# no insertion outside X can stand in for one inside: the minimal conflicts of the whole batch are
# the faults, and the culprits their union.


#: How many faults one department can carry without two of them meeting.
PER_DEPARTMENT = 40

_VERBS = {"a": RDF_TYPE, "=": f"<{OWL}sameAs>", "≠": f"<{OWL}differentFrom>"}


@dataclass(frozen=True)
class PlantedFault:
    """Contradiction that was planted into a batch: a minimal set of insertions that is inconsistent
    with TBox and data.

    kind: what is needed to see it: ``batch`` (the batch alone), ``base`` (one old assertion),
    ``chain`` (old role assertions in a chain), ``identity``, ``cardinality`` or ``data``
    form: name of the template in `FORMS` that it was made from
    insertions: its N-Triples lines
    """

    kind: str
    form: str
    insertions: tuple[str, ...]


class _ExhaustedError(Exception):
    """Error: a department has no unused individuals left that a planted fault needs."""


class _UnusedIndividuals:
    """Supply of individuals for the planted faults of one department: those of its data that no
    fault uses yet, and freshly named ones.
    """

    def __init__(self, department: Department, rng: random.Random) -> None:
        self.made = department
        self.taken: set[str] = set()
        self._rng = rng
        self._fresh = 0

    def take(self, sort: str) -> tuple[str, ...]:
        """Take an unused entry of the department's list named ``sort`` (such as professors) for a
        planted fault, or a fresh individual if ``sort`` is "new".

        An entry is one individual, or several that the data link. Raises: _ExhaustedError.
        """
        if sort == "new":
            self._fresh += 1
            return (f"{self.made.term[:-1]}/Planted{self._fresh}>",)
        listed = [(self.made.head, self.made.term)] if sort == "head" else getattr(self.made, sort)
        candidates = [(one,) if isinstance(one, str) else one for one in listed]
        start = draw_below(self._rng, len(candidates)) if candidates else 0
        for candidate in candidates[start:] + candidates[:start]:
            if self.taken.isdisjoint(candidate):
                self.taken.update(candidate)
                return candidate
        raise _ExhaustedError


#: The forms by kind, each by name: which individuals are drawn, in this order (see `_UnusedIndividuals.take`),
#: and what is said of them; "here" is the department. Faults go round the kinds, and within a kind
#: round its forms.
FORMS: dict[str, dict[str, str]] = {
    # Visible in the batch alone.
    "batch": {
        "two_disjoint_classes": "it: new; it a Course; it a Book",
        "range_against_class": "author: new; it: new; it publicationAuthor author; author a Department",
        "inverse_of_domain": "club: new; it: new; it memberOf club; club a Research",
        "superrole_range": "led: new; it: new; it headOf led; led a Manual",
    },
    # Visible with one old assertion.
    "base": {
        "old_person_as_publication": "it: undergraduates; it a Software",
        "old_member_of_old_course": "it: graduates; old: courses; it memberOf old",
        "written_by_old_course": "it: new; old: courses; it publicationAuthor old",
        "advises_own_advisor": "student teacher: advisees; teacher advisor student",
        "takes_own_course": "it course: teachers; it takesCourse course",
    },
    # Visible along chains of old role assertions.
    "chain": {
        "institute_inside_university": "it: groups; it a Institute",
        "institute_inside_group": "it: new; group: groups; it subOrganizationOf group; it a Institute",
        "department_inside_group": "it: new; group: groups; here subOrganizationOf it; it subOrganizationOf group",
        "visitor_with_undergraduates": "student it: advisees; it a VisitingProfessor",
    },
    "identity": {
        "second_teacher": "old course: teachers; it: new; it teacherOf course; it ≠ old",
        "alias_of_another_sort": "alias: new; it: undergraduates; alias = it; alias a Manual",
        "person_is_course": "it: graduates; course: courses; it = course",
        "chain_of_aliases": "a: new; b: new; c: new; a = b; c = b; a ≠ c",
        "head_of_two": "it here: head; other: new; it headOf other; here ≠ other",
    },
    "cardinality": {
        "assists_in_three": "it a: assistants; b: new; c: new; it teachingAssistantOf b; it teachingAssistantOf c; "
        "a ≠ b; a ≠ c; b ≠ c",
        "two_graduate_courses": "it: undergraduates; a: graduate_courses; b: graduate_courses; it takesCourse a; "
        "it takesCourse b; a ≠ b",
        "three_advisors": "it a: advisees; b: new; c: new; it advisor b; it advisor c; b ≠ a; c ≠ a; c ≠ b",
    },
    "data": {
        "two_ages": "it: new; it age 30; it age 31",
        "young_graduate": "it: graduates; it age 12",
        "ages_of_one_teacher": "it course: teachers; alias: new; alias teacherOf course; alias age 40; it age 41",
        "out_of_range": "it: undergraduates; it age 200",
        "number_for_string": "it: undergraduates; it telephone 5550100",
        # A string, not an ill-typed integer: reasoners refuse to read those, and could not confirm
        # the conflict.
        "word_for_number": 'it: new; it age "twelve"',
    },
}


def _instantiate_form(form: str, cast: _UnusedIndividuals) -> Iterator[str]:
    """Yield the N-Triples lines of a planted fault, made from the template ``form`` (such as "it:
    new; it a Course; it a Book", see `FORMS`): its variables are replaced by unused individuals of
    a department, which ``cast`` supplies. Raises: _ExhaustedError.
    """
    individuals = {"here": cast.made.term}
    for part in form.split("; "):
        names, drawn, sort = part.partition(": ")
        if drawn:
            individuals.update(zip(names.split(), cast.take(sort)))
            continue
        subject, verb, said = part.split()
        value = (
            f'"{said}"^^<{XSD}integer>'
            if said.isdigit()
            else said
            if said.startswith('"')
            else individuals.get(said)
        )
        yield f"{individuals[subject]} {_VERBS.get(verb) or vocabulary_term(verb)} {value or vocabulary_term(said)} .\n"


class FaultPlanter:
    """Planter of the contradictions of a data set's batch: makes ``faults`` of them, distributed
    evenly over the departments. Raises: UsageError if they do not fit.
    """

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

    def plant_faults(
        self, department: Department
    ) -> tuple[tuple[PlantedFault, ...], frozenset[str]]:
        """Make the contradictions that are planted into the insertions about the next department.
        Returns them, and the individuals that they use and that no other insertion may mention.
        """
        cast = _UnusedIndividuals(department, self._rng)
        first = self._numbers[self._done]
        self._done += 1
        faults = tuple(
            _make_fault(number, cast) for number in range(first, self._faults, self._departments)
        )
        return faults, frozenset(cast.taken)


def _make_fault(index: int, individuals: _UnusedIndividuals) -> PlantedFault:
    """Make the contradiction with this index. The index chooses a template of `FORMS`, by turns; if
    the department has too few unused individuals for it, the next template of the same kind is
    tried.
    """
    kinds = list(FORMS)
    kind = kinds[index % len(kinds)]
    forms = list(FORMS[kind].items())
    turn = index // len(kinds) % len(forms)
    for name, form in forms[turn:] + forms[:turn]:
        try:
            return PlantedFault(kind, name, tuple(_instantiate_form(form, individuals)))
        except _ExhaustedError:
            continue
    raise UsageError(
        f"{individuals.made.term} has no room for another fault of the kind {kind}",
        "Ask for fewer faults.",
    )

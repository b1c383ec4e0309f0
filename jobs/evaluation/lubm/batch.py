"""A consistent random insertion batch: 5 % of the data, half of it about fresh individuals.

An assertion of the data is drawn evenly; its subject stays, or is replaced by a fresh individual
of the same kind, and its object is exchanged for that of another assertion of the same predicate
about the same kinds of things. A class is exchanged for one that goes with the kind. The result
follows the data's own mix of predicates, and contradicts nothing: data/lubm/README.md has the
argument.
"""

from __future__ import annotations

import random

from jobs.evaluation.draws import below, shuffle
from jobs.evaluation.generation import RDF_TYPE
from jobs.evaluation.lubm.department import Department, predicate

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
_COUNTED = frozenset(map(predicate, ("advisor", "headOf", "teacherOf", "teachingAssistantOf")))
_KEPT = 256
_ATTEMPTS = 8


def kind_of(term: str) -> str:
    """The kind of one of the data's individuals, which its IRI tells; "" for a literal.

    >>> kind_of("<http://www.Department3.University0.edu/FullProfessor12>"), kind_of("<http://www.University7.edu>")
    ('FullProfessor', 'University')
    """
    if term[0] == '"':
        return ""
    name = term[term.rfind("/") + 1 : -1]
    return name.removeprefix("www.").split(".")[0].rstrip("0123456789")


class BatchDealer:
    """Deals the batch department by department; remembers some objects of each predicate, never
    the data.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._objects: dict[tuple[str, str, str], list[str]] = {}
        self._owed = 0.0
        self._fresh = 0

    def insertions(
        self, made: Department, reserved: frozenset[str], planted: list[str]
    ) -> list[str]:
        """The batch's lines for this department, the planted ones among them in places drawn
        evenly.

        Nothing is said of ``reserved`` individuals; no line is in the data, and none comes twice.
        """
        self._owed += FRACTION * len(made.lines)
        wanted = int(self._owed)
        self._owed -= wanted
        have = set(made.lines)
        pools: dict[str, list[str]] = {}
        lines: list[str] = []
        drawn: set[int] = set()
        while len(lines) < wanted and len(drawn) < len(made.lines):
            i = below(self._rng, len(made.lines))
            if i in drawn:
                continue
            drawn.add(i)
            line = self._insertion(made, i, reserved, have, pools)
            if line:
                have.add(line)
                lines.append(line)
        return shuffle(self._rng, lines + planted)

    def _insertion(
        self,
        made: Department,
        i: int,
        reserved: frozenset[str],
        have: set[str],
        pools: dict[str, list[str]],
    ) -> str:
        subject, role, object = made.lines[i][:-3].split(" ", 2)
        if subject in reserved or object in reserved:
            return ""
        kind = kind_of(subject)
        fresh = self._rng.random() < FRESH
        for _ in range(_ATTEMPTS):
            filler = self._exchanged(kind, role, object, fresh)
            who = self._fresh_individual(made, kind, role, pools) if fresh else subject
            line = f"{who} {role} {filler} .\n"
            if filler and line not in have:
                return line
        return ""

    def _exchanged(self, kind: str, role: str, object: str, fresh: bool) -> str:
        """Another object of the role, from among those met lately; "" if there is none yet."""
        if role == RDF_TYPE:
            classes = (_OWN if fresh else _CLASSES)[kind]
            return predicate(classes[below(self._rng, len(classes))])
        known = self._objects.setdefault((kind, role, kind_of(object)), [])
        other = known[below(self._rng, len(known))] if known else ""
        if object not in known:
            if len(known) < _KEPT:
                known.append(object)
            else:
                known[below(self._rng, _KEPT)] = object
        return other if other != object else ""

    def _fresh_individual(
        self, made: Department, kind: str, role: str, pools: dict[str, list[str]]
    ) -> str:
        """A fresh individual: one that is in use already, as often as not."""
        pool = pools.setdefault(kind, [])
        counted = role in _COUNTED
        if pool and not counted and self._rng.random() < 0.5:
            return pool[below(self._rng, len(pool))]
        self._fresh += 1
        term = f"{made.term[:-1]}/Inserted{kind}{self._fresh}>"
        if not counted:
            pool.append(term)
        return term

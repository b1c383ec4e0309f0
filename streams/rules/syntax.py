"""Programs as values: terms, atoms, windows, literals, rules, each with the place where it was
read.

Source: SPEC 004, section 1. The text of each is what `str` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from streams.rules.problems import Position
from streams.rules.values import Row, Value, date_part

_NOWHERE: Final = Position()
#: What is asked of the date of a point; Monday is weekday 1.
NOW_PARTS: Final = tuple(
    f"@now.{part}" for part in ("year", "month", "day", "hour", "minute", "second", "weekday")
)


# --- terms ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant."""

    value: Value
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; ``_`` is numbered; that of an interval is called ``1..3#0``."""

    name: str
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    @property
    def is_anonymous(self) -> bool:
        return self.name.startswith("_")

    def __str__(self) -> str:
        return "_" if self.is_anonymous else self.name.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Now:
    """``@now``, the time of the point; ``@now.hour``: a ``part`` of its date, in UTC. ``unit``:
    microseconds of a time unit.
    """

    part: str = ""
    unit: int = 1
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def at(self, t: int) -> int | None:
        """The value at the time ``t``; None for a part where no calendar has the date."""
        return date_part(t * self.unit, self.part) if self.part else t

    def __str__(self) -> str:
        return f"@now.{self.part}" if self.part else "@now"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left operator right, with + - * / \\; ``-term`` is 0 - term."""

    operator: str
    left: Term
    right: Term
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        if self.operator == "-" and self.left == Constant(0):
            return f"-{_inner(self.right)}"
        return f"{_inner(self.left)}{self.operator}{_inner(self.right)}"


Term: TypeAlias = Constant | Variable | Now | Arithmetic


def _inner(term: Term) -> str:
    return f"({term})" if isinstance(term, Arithmetic) else str(term)


def variables(term: Term) -> list[Variable]:
    """The variables of a term, as they occur."""
    found, waiting = [], [term]
    while waiting:
        last = waiting.pop()
        if isinstance(last, Variable):
            found.append(last)
        elif isinstance(last, Arithmetic):
            waiting += (last.right, last.left)
    return found


def names_in(*terms: Term) -> set[str]:
    """The names of the variables in ``terms``."""
    return {variable.name for term in terms for variable in variables(term)}


# --- atoms and literals ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atom:
    """name(arguments)."""

    name: str
    arguments: tuple[Term, ...] = ()
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    @property
    def predicate(self) -> str:
        """Name and arity: predicates of one name and different arities are different."""
        return f"{self.name}/{len(self.arguments)}"

    def __str__(self) -> str:
        name, _, kept = self.name.partition("#")
        arguments = [str(argument) for argument in self.arguments]
        if "_" in kept:
            left = iter(arguments)
            arguments = ["_" if skipped == "_" else next(left) for skipped in kept]
        return f"{name}({','.join(arguments)})" if arguments else name


@dataclass(frozen=True, slots=True)
class Window:
    """Offsets into the past, as maximal disjoint intervals (from, to), ascending, in timeline
    units. ``text``: as written.
    """

    intervals: tuple[tuple[int, int], ...]
    text: str = field(compare=False)

    @property
    def size(self) -> int:
        """|D|."""
        return sum(high - low + 1 for low, high in self.intervals)

    @property
    def horizon(self) -> int:
        """The largest offset."""
        return self.intervals[-1][1]

    def __contains__(self, offset: int) -> bool:
        return any(low <= offset <= high for low, high in self.intervals)

    def __str__(self) -> str:
        return self.text


def window(offsets: Iterable[int], text: str = "") -> Window:
    """The window of these offsets.

    >>> window([3, 0, 1]).intervals
    ((0, 1), (3, 3))
    """
    found: list[tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if found and found[-1][1] == offset - 1:
            found[-1] = found[-1][0], offset
        else:
            found.append((offset, offset))
    return Window(tuple(found), text or "{" + ",".join(map(str, sorted(set(offsets)))) + "}")


AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"
ALWAYS: Final = "always"
COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class WindowedLiteral:
    """A streaming literal; see the head of this file."""

    atom: Atom
    operator: str = AT_LEAST
    count: Term | None = Constant(1)
    window: Window | None = None
    negated: bool = False
    binds: bool = False
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    @property
    def is_harmless(self) -> bool:
        """Positive, and at least or always: more atoms now make it no less true."""
        return not self.negated and self.operator in (AT_LEAST, ALWAYS)

    def __str__(self) -> str:
        negation = "not " if self.negated else ""
        if self.window is None:
            return f"{negation}{self.atom}"
        if self.operator == AT_LEAST and self.count == Constant(1):
            return f"{negation}{self.atom} in {self.window}"
        counted = "" if self.count is None else f" {self.count}"
        return f"{negation}{self.atom} {self.operator}{counted} in {self.window}"


@dataclass(frozen=True, slots=True)
class ComparisonLiteral:
    """left relation right; relation is one of = != < <= > >=."""

    left: Term
    relation: str
    right: Term
    negated: bool = False
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.left}{self.relation}{self.right}"


@dataclass(frozen=True, slots=True)
class External:
    """&function(inputs; outputs): without outputs a truth value."""

    function: str
    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...] = ()
    negated: bool = False
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        inputs, outputs = ",".join(map(str, self.inputs)), ",".join(map(str, self.outputs))
        return f"{'not ' if self.negated else ''}&{self.function}({inputs};{outputs})"


def is_own(predicate: str) -> bool:
    """Whether a program can name ``predicate``: it is not about an interval, a projection or a
    part (`rewriting`).
    """
    return "#" not in predicate and ".." not in predicate


def written_literals(body: Iterable[Literal]) -> list[Literal]:
    """The literals of a body, but for those that bind the variables of intervals: an interval
    stands where its variable does.
    """
    return [
        literal
        for literal in body
        if not (isinstance(literal, WindowedLiteral) and ".." in literal.atom.name)
    ]


@dataclass(frozen=True, slots=True)
class AggregateElement:
    """terms : body, of an aggregate."""

    terms: tuple[Term, ...]
    body: tuple[WindowedLiteral | ComparisonLiteral | External, ...] = ()

    def __str__(self) -> str:
        terms, body = (
            ",".join(map(str, part)) for part in (self.terms, written_literals(self.body))
        )
        return f"{terms}:{body}" if body else terms


@dataclass(frozen=True, slots=True)
class Aggregate:
    """function{elements} relation term, for each of ``guards``; function is one of count, sum,
    min, max.
    """

    function: str
    elements: tuple[AggregateElement, ...]
    guards: tuple[tuple[str, Term], ...]
    negated: bool = False
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        inner = ";".join(map(str, self.elements))
        guards = ", ".join(
            f"#{self.function}{{{inner}}}{relation}{term}" for relation, term in self.guards
        )
        return f"{'not ' if self.negated else ''}{guards}"


Literal: TypeAlias = WindowedLiteral | ComparisonLiteral | External | Aggregate


# --- rules and programs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamRule:
    """head :- body. ``number``: its place in the program, from 0; ``temporary``: of form 2;
    ``frequency``: in timeline units.
    """

    head: Atom
    body: tuple[Literal, ...] = ()
    temporary: bool = False
    frequency: int | None = None
    number: int = 0
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        before = "#temp " if self.temporary else ""
        if self.frequency is not None:
            before += f"#trigger_frequency({self.frequency}) "
        body = ", ".join(map(str, written_literals(self.body)))
        return f"{before}{self.head}{' :- ' + body if body else ''}."


@dataclass(frozen=True)
class PredicateMapping:
    """``#rdf name/arity = <iri> [scale K]``: a class (arity 1) or property (arity 2) as a
    predicate.
    """

    predicate: str
    iri: str
    scale: int | None = None


@dataclass(frozen=True)
class Stratum:
    """Rules that are evaluated together; ``recursive``: some use what others of them define."""

    rules: tuple[StreamRule, ...]
    recursive: bool = False

    @property
    def heads(self) -> frozenset[str]:
        return frozenset(rule.head.predicate for rule in self.rules)


@dataclass(frozen=True)
class CheckedProgram:
    """A program that was checked: see the head of this file. ``shown``: the predicates of #show,
    None where there is none. ``parts``: predicates that hold all input of another one, by that
    one.
    """

    rules: tuple[StreamRule, ...]
    facts: Mapping[str, Sequence[Row]]
    strata: tuple[Stratum, ...]
    horizons: Mapping[str, int]
    shown: frozenset[str] | None = None
    mapped: tuple[PredicateMapping, ...] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def given(self, rows: Mapping[str, Any]) -> Mapping[str, Any]:
        """The input of a point, for the parts of predicates too."""
        if not self.parts:
            return rows
        return {
            **rows,
            **{
                part: rows[name]
                for name, parts in self.parts.items()
                if name in rows
                for part in parts
            },
        }

    @property
    def derived(self) -> frozenset[str]:
        """Predicates that are the head of a rule with a body."""
        return frozenset(rule.head.predicate for rule in self.rules if rule.body)


def windowed(body: Iterable[Literal]) -> list[tuple[WindowedLiteral, bool]]:
    """The streaming literals of a body, those inside aggregates too; True for harmless ones."""
    found: list[tuple[WindowedLiteral, bool]] = []
    for literal in body:
        if isinstance(literal, WindowedLiteral):
            found.append((literal, literal.is_harmless))
        elif isinstance(literal, Aggregate):
            inner = (inside for element in literal.elements for inside in element.body)
            found += [(inside, False) for inside in inner if isinstance(inside, WindowedLiteral)]
    return found

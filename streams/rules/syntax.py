"""Programs as values: terms, atoms, windows, literals, rules, each with the place where it was read.

Source: SPEC 004, section 1. The text of each is what `str` gives.

**The interface to the engine.** `CheckedProgram` is safe, stratified, and has its units converted. An `Evaluator` is
built from it as ``Engine(checked, functions, complete_windows=False, most_atoms=MOST_DERIVED)`` and called point by point:

* ``step(t, rows)``: t is greater than that of the step before. Points between the two exist, are empty (facts do not hold there
  either) and count in windows. The first step's t is t0. ``rows`` has the point's input by predicate (``"p/2"``), as a list of
  rows, or as a tuple of equally long numpy columns (int64, or objects); the same row may come twice. It gives a `PointModel`.
* A rule (`StreamRule`) without a body holds as a fact does, where its ``frequency`` lets it; facts proper are in
  ``CheckedProgram.facts`` and are `plain`: never temporary. ``frequency`` f: the rule is applied
  only where t - t0 is a multiple of f.
* ``strata``: components of rules in an order that satisfies all arcs; each is evaluated to its least fixpoint before the next.
  Non-harmless literals are about lower strata only. ``recursive`` where rules of the stratum use what it defines.
* `WindowedLiteral` is every streaming literal. ``window`` None: the degenerate form, this point only. ``operator`` is "at least"
  (also for ``in``), "always", "count", "at most"; ``count`` the counting term (None for always). Let m and N be as in section 2:
  at least c: m ≥ c; always: m = N > 0 (with ``complete_windows``: N = |D|); count c: m = c; at most c: m ≤ c.
  ``negated`` is the opposite of each, in the order of terms (`values.order`) where c is no integer. A positive at least or count
  with a c that is no integer ≥ 1 is false. A counting variable of a positive count that nothing else binds is bound to m ≥ 1.
  ``binds`` (only at most, option at_most_binds): it ranges over the atoms with m ≥ 1, and binds its variables.
* `Aggregate`: ``guards`` are read "value relation term". The body of an element has degenerate literals, comparisons, externals.
* ``persistent`` part: input, facts, and heads of instances of rules that are not ``temporary``, on the final stream; it is what
  later windows see. `CheckedProgram.horizons` has for each predicate the largest offset that any window asks for.
* Each variable has one name; ``_`` has become ``_1``, ``_2``, … in each rule. ``body`` of a rule is in an order in which every
  literal is bound when it is reached, from left to right (`safety`); the engine may plan anew.
* Arithmetic without a value (division by zero, no integers): no instance. Overflow, a function that fails, more atoms derived
  at a point than ``most_atoms``: `problems.EvaluationError` with the rule. Functions are called by `functions.call`, once for
  each distinct arguments and point.
* ``state()``: bytes, JSON or Arrow, never pickle; ``restore(state)`` puts an evaluator of the same program where that one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from streams.rules.problems import Position
from streams.rules.values import Row, Value

_NOWHERE: Final = Position()


# --- terms -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant."""

    value: Value
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; ``_`` is numbered."""

    name: str
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    @property
    def is_anonymous(self) -> bool:
        return self.name.startswith("_")

    def __str__(self) -> str:
        return "_" if self.is_anonymous else self.name


@dataclass(frozen=True, slots=True)
class Now:
    """``@now``, the time of the point."""

    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return "@now"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left operator right, with + - * /; ``-term`` is 0 - term."""

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


# --- atoms and literals ----------------------------------------------------------------------------


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
        return f"{self.name}({','.join(map(str, self.arguments))})" if self.arguments else self.name


@dataclass(frozen=True, slots=True)
class Window:
    """Offsets into the past, as maximal disjoint intervals (from, to), ascending, in timeline units. ``text``: as written."""

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


@dataclass(frozen=True, slots=True)
class AggregateElement:
    """terms : body, of an aggregate."""

    terms: tuple[Term, ...]
    body: tuple[WindowedLiteral | ComparisonLiteral | External, ...] = ()

    def __str__(self) -> str:
        terms = ",".join(map(str, self.terms))
        return f"{terms}:{','.join(map(str, self.body))}" if self.body else terms


@dataclass(frozen=True, slots=True)
class Aggregate:
    """function{elements} relation term, for each of ``guards``; function is one of count, sum, min, max."""

    function: str
    elements: tuple[AggregateElement, ...]
    guards: tuple[tuple[str, Term], ...]
    negated: bool = False
    position: Position = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        inner = ";".join(map(str, self.elements))
        guards = ", ".join(f"#{self.function}{{{inner}}}{relation}{term}" for relation, term in self.guards)
        return f"{'not ' if self.negated else ''}{guards}"


Literal: TypeAlias = WindowedLiteral | ComparisonLiteral | External | Aggregate


# --- rules and programs ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamRule:
    """head :- body. ``number``: its place in the program, from 0; ``temporary``: of form 2; ``frequency``: in timeline units."""

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
        return f"{before}{self.head}{' :- ' + ', '.join(map(str, self.body)) if self.body else ''}."


@dataclass(frozen=True)
class PredicateMapping:
    """``#rdf name/arity = <iri> [scale K]``: a class (arity 1) or property (arity 2) as a predicate."""

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
    """A program that was checked: see the head of this file. ``shown``: the predicates of #show, None where there is none."""

    rules: tuple[StreamRule, ...]
    facts: Mapping[str, Sequence[Row]]
    strata: tuple[Stratum, ...]
    horizons: Mapping[str, int]
    shown: frozenset[str] | None = None
    mapped: tuple[PredicateMapping, ...] = ()

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

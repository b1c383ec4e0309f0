"""What plans are made of: conjuncts of a body, and the steps that they become.

A body is first made of conjuncts: `StreamingPattern` (a streaming literal over constants and
variables; arithmetic in arguments becomes a variable and an equation), comparisons, externals
and aggregates. Source: SPEC 004, sections 1 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from streams.rules.safety import occurrences
from streams.rules.syntax import (
    ALWAYS,
    AT_LEAST,
    AT_MOST,
    Aggregate,
    Arithmetic,
    Atom,
    ComparisonLiteral,
    Constant,
    External,
    Literal,
    Now,
    StreamRule,
    Term,
    Variable,
    WindowedLiteral,
    names_in,
)
from streams.rules.windows import WindowView

#: The code of a constant, or the name of a variable.
Source: TypeAlias = int | str
#: The view of a streaming literal: its operator, its count, and whether m itself is asked for.
ViewOf: TypeAlias = Callable[[WindowedLiteral, str, int, bool], WindowView]
#: At most, where it ranges over the rows that are in the window.
BETWEEN: Final = "between"
#: Columns beside variables: the rows of a pattern, the m of those that a plan begins with, whether
#: they came (1) or went (-1).
TRACE: Final = "@"
COUNTED: Final = "@m"
SIGN: Final = "@sign"


@dataclass(frozen=True, eq=False)
class Threshold:
    """How m is tested where the counting term is no constant."""

    operator: str
    term: Term
    negated: bool


@dataclass(frozen=True, eq=False)
class StreamingPattern:
    """A streaming literal: rows that ``view`` has (``positive``) or has not, with their
    ``arguments``.
    """

    literal: WindowedLiteral
    view: WindowView
    arguments: tuple[Source, ...]
    positive: bool
    threshold: Threshold | None = None
    #: The name of the column with its rows, where these are wanted; no variable is called so.
    trace: str = ""

    @property
    def names(self) -> set[str]:
        return {source for source in self.arguments if isinstance(source, str)}


Conjunct: TypeAlias = StreamingPattern | ComparisonLiteral | External | Aggregate


@dataclass(frozen=True, eq=False)
class JoinStep:
    """Rows of a view that agree with what is bound. ``equal``: positions with one new variable;
    ``count``: the variable of m.
    """

    pattern: StreamingPattern
    positions: tuple[int, ...]
    sources: tuple[Source, ...]
    new: tuple[tuple[int, str], ...]
    equal: tuple[tuple[int, int], ...]
    count: str | None
    before: bool
    #: Whether it is what the plan begins with, of which only m is asked.
    own: bool = False
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Check:
    """Whether a view has the bound row, or not; or the test of its m."""

    pattern: StreamingPattern
    before: bool
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Compare:
    """A comparison of bound terms; a variable ``gives`` its value to, if it is not bound."""

    comparison: ComparisonLiteral
    gives: str | None = None
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Call:
    """A function; outputs that are not bound are ``new``."""

    external: External
    new: frozenset[str]
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class AggregateStep:
    """An aggregate: for each binding of ``shared``, the tuples of all elements; variables that
    it ``gives`` its value to.
    """

    aggregate: Aggregate
    shared: tuple[str, ...]
    elements: tuple[tuple[tuple[Step, ...], tuple[Term, ...]], ...]
    gives: frozenset[str]
    keep: frozenset[str] = frozenset()


Step: TypeAlias = JoinStep | Check | Compare | Call | AggregateStep

#: Which of the distinct ``shared`` bindings a row of an element belongs to.
GROUP: Final = "#group"


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """Steps that begin with rows of the ``seed`` (None: with nothing)."""

    seed: StreamingPattern | None
    steps: tuple[Step, ...]
    keep: frozenset[str]


def conjuncts(
    body: Iterable[Literal], view: ViewOf, code: Callable[[Constant], int], fresh: str = "#"
) -> list[Conjunct]:
    """The conjuncts of a body; streaming literals come first, in their order."""
    patterns: list[Conjunct] = []
    others: list[Conjunct] = []
    for literal in body:
        if not isinstance(literal, WindowedLiteral):
            others.append(literal)
            continue
        sources: list[Source] = []
        for argument in literal.atom.arguments:
            if isinstance(argument, Constant):
                sources.append(code(argument))
            elif isinstance(argument, Variable):
                sources.append(argument.name)
            else:
                name = f"{fresh}{len(patterns)}.{len(sources)}"
                sources.append(name)
                others.append(ComparisonLiteral(Variable(name), "=", argument))
        pattern = _pattern(literal, tuple(sources) or (0,), view)
        patterns.append(replace(pattern, trace=f"{TRACE}{len(patterns)}"))
    return patterns + others


def _pattern(
    literal: WindowedLiteral, arguments: tuple[Source, ...], view: ViewOf
) -> StreamingPattern:
    operator, negated = literal.operator, literal.negated
    number = literal.count.value if isinstance(literal.count, Constant) else None
    if operator == ALWAYS:
        return StreamingPattern(literal, view(literal, ALWAYS, 0, False), arguments, not negated)
    if isinstance(number, int):
        if operator == AT_MOST and number >= 0:
            if literal.binds:
                return StreamingPattern(
                    literal, view(literal, BETWEEN, number, False), arguments, not negated
                )
            return StreamingPattern(
                literal, view(literal, AT_LEAST, number + 1, False), arguments, negated
            )
        if operator != AT_MOST and number >= 1:
            return StreamingPattern(
                literal, view(literal, operator, number, False), arguments, not negated
            )
    assert literal.count is not None
    threshold = Threshold(operator, literal.count, negated)
    binds = not negated and (operator != AT_MOST or literal.binds)
    return StreamingPattern(literal, view(literal, AT_LEAST, 1, True), arguments, binds, threshold)


def names_of(conjunct: Conjunct) -> set[str]:
    """The variables of a conjunct; of an aggregate, those of its elements too."""
    if isinstance(conjunct, StreamingPattern):
        return conjunct.names | (names_in(conjunct.threshold.term) if conjunct.threshold else set())
    return {variable.name for variable in occurrences(conjunct)}


def has_now(rule: StreamRule) -> bool:
    """Whether @now occurs in a rule."""
    return "@now" in str(rule) and any(_is_now(term) for term in _terms(rule.head, rule.body))


def _terms(head: Atom | None, body: Iterable[Literal]) -> list[Term]:
    found: list[Term] = list(head.arguments) if head else []
    for literal in body:
        if isinstance(literal, WindowedLiteral):
            found += [*literal.atom.arguments, *([literal.count] if literal.count else [])]
        elif isinstance(literal, ComparisonLiteral):
            found += [literal.left, literal.right]
        elif isinstance(literal, External):
            found += [*literal.inputs, *literal.outputs]
        else:
            found += [term for _, term in literal.guards]
            for element in literal.elements:
                found += [*element.terms, *_terms(None, element.body)]
    return found


def _is_now(term: Term) -> bool:
    return isinstance(term, Now) or (
        isinstance(term, Arithmetic) and (_is_now(term.left) or _is_now(term.right))
    )

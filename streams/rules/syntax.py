"""Abstract syntax of rule programs: constants, terms, atoms, windows, literals, rules, with
positions.

`str` gives the text of each. Source: docs/RULES.md.

A constant is an int or its text: ``on`` is a symbol, ``"on"`` a string, ``<urn:on>`` an IRI. So
equal constants are equal values and need no conversion for output.

>>> sorted(['"a"', 'b', 7, '<urn:a>', 'a', -1], key=constant_sort_key)
[-1, 7, 'a', 'b', '"a"', '<urn:a>']
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from shiq.errors import InputError, OperationalError

#: The atoms that a point may derive, input and facts apart, unless said otherwise.
MOST_DERIVED: Final = 1_000_000


class Position(NamedTuple):
    """Position of a token in a program; lines and columns count from 1."""

    file: str = "program"
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class ProgramProblem:
    """Fault of a program text at a position; ``message`` states it and the remedy."""

    position: Position
    message: str

    @property
    def line(self) -> int:
        """Line of the fault."""
        return self.position.line

    @property
    def column(self) -> int:
        """Column of the fault."""
        return self.position.column

    def __str__(self) -> str:
        return f"{self.position}: {self.message}"


class ProgramError(InputError):
    """Error: a program is refused; ``problems`` lists every fault in order of position."""

    def __init__(self, problems: Iterable[ProgramProblem]) -> None:
        self.problems = sorted(
            set(problems), key=lambda problem: (problem.position, problem.message)
        )
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class EvaluationError(OperationalError):
    """Error: a rule fails at a time point, by overflow, its function, or too many atoms."""

    def __init__(self, rule: StreamRule | str, message: str, remedy: str = "") -> None:
        where = rule if isinstance(rule, str) else f"{rule.position}: {rule}"
        super().__init__(f"{where}\n  {message}", remedy)


def make_too_many_atoms_error(rule: StreamRule, t: int, max_atoms: int) -> EvaluationError:
    """Make the error for a time point that derives more than ``max_atoms`` atoms."""
    return EvaluationError(
        rule,
        f"more than {max_atoms:,} atoms are derived at t = {t} (--max-atoms {max_atoms})",
        "See that the rule comes to an end, by a bound such as X < 1000; or raise --max-atoms.",
    )


Value: TypeAlias = int | str
#: The arguments of a ground atom.
Row: TypeAlias = tuple[Value, ...]

#: Integers are from -LIMIT to LIMIT - 1.
INTEGER_LIMIT: Final = 1 << 63
#: Relations as they are from the other side.
FLIPPED_RELATIONS: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: What relations say of numbers and places in the order, and of arrays of them.
COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ESCAPE_PATTERN: Final = re.compile(r'\\(["\\n])')
_ESCAPED_CHARACTERS: Final = {"n": "\n", '"': '"', "\\": "\\"}


class IntegerOverflow(ArithmeticError):
    """Error: the result of arithmetic does not fit into 64 bits."""


def atom_text(name: str, row: Row) -> str:
    """Text of the ground atom name(row), without blanks.

    >>> atom_text("p", (1, "a", '"b c"')), atom_text("q", ())
    ('p(1,a,"b c")', 'q')
    """
    return f"{name}({','.join(map(str, row))})" if row else name


def make_string_constant(content: str) -> str:
    r"""Make the string constant with this content: quoted and escaped.

    >>> print(make_string_constant('say "a"'))
    "say \"a\""
    """
    return '"' + content.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def constant_content(value: str) -> str:
    """Content of a symbol, string or IRI constant, without quotes, escapes and angle brackets."""
    if value[:1] == '"':
        inner = value[1:-1]
        return (
            _ESCAPE_PATTERN.sub(lambda found: _ESCAPED_CHARACTERS[found[1]], inner)
            if "\\" in inner
            else inner
        )
    return value[1:-1] if value[:1] == "<" else value


def constant_kind(value: Value) -> int:
    """Kind of a constant: 0 integer, 1 symbol, 2 string, 3 IRI."""
    if not isinstance(value, str):
        return 0
    first = value[:1]
    return 2 if first == '"' else 3 if first == "<" else 1


def constant_sort_key(value: Value) -> tuple[int, int, str]:
    """Sort key of a constant: integers, symbols, strings, IRIs; then by value or text."""
    return (
        (0, value, "")
        if not isinstance(value, str)
        else (constant_kind(value), 0, constant_content(value))
    )


def compare_constants(left: Value, relation: str, right: Value) -> bool:
    """Whether two constants of any kind satisfy the comparison operator ``relation``."""
    if relation in ("=", "!="):
        return (left == right) is (relation == "=")
    return COMPARISONS[relation](constant_sort_key(left), constant_sort_key(right))


def apply_arithmetic(operator: str, left: Value, right: Value) -> int | None:
    r"""Result of an arithmetic operator; None if an operand is no integer, or for division by 0.
    Raises: IntegerOverflow.

    >>> apply_arithmetic("/", -7, 2), apply_arithmetic("\\", -7, 2), apply_arithmetic("/", 7, 0), apply_arithmetic("+", 1, "a")
    (-3, -1, None, None)
    """
    if isinstance(left, str) or isinstance(right, str):
        return None
    if operator in ("/", "\\"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        found = quotient if operator == "/" else left - quotient * right
    else:
        found = (
            left + right if operator == "+" else left - right if operator == "-" else left * right
        )
    return require_64_bits(found)


def date_part(microseconds: int, part: str) -> int | None:
    """Part of a UTC date, as "hour", at a time since 1970; None beyond the calendar.

    part: year, month, day, hour, minute, second or weekday (Monday is 1).

    >>> date_part(90_061_000_000, "hour"), date_part(0, "weekday"), date_part(-1, "year"), date_part(1 << 63, "year")
    (1, 4, 1969, None)
    """
    try:
        date = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    return date.isoweekday() if part == "weekday" else int(getattr(date, part))


def require_64_bits(number: int) -> int:
    """Return ``number``. Raises: IntegerOverflow if it does not fit into 64 bits."""
    if not -INTEGER_LIMIT <= number < INTEGER_LIMIT:
        raise IntegerOverflow(f"{number} is beyond 64 bits")
    return number


_NO_POSITION: Final = Position()
#: What is asked of the date of a point; Monday is weekday 1.
NOW_PARTS: Final = tuple(
    f"@now.{part}" for part in ("year", "month", "day", "hour", "minute", "second", "weekday")
)


# --- terms ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """Term that is a constant: an integer, or the text of a symbol, string or IRI."""

    value: Value
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Variable:
    """Term that is a variable. Each ``_`` gets a name of its own, such as ``_1``; an interval
    becomes a variable with a name such as ``1..3#0``.
    """

    name: str
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    @property
    def is_anonymous(self) -> bool:
        """Whether the variable was written as ``_``."""
        return self.name.startswith("_")

    def __str__(self) -> str:
        return "_" if self.is_anonymous else self.name.partition("#")[0]


@dataclass(frozen=True, slots=True)
class CurrentTime:
    """Term ``@now``, the current time, or ``@now.hour``: the given ``part`` of its UTC date.

    unit: microseconds of a time unit.
    """

    part: str = ""
    unit: int = 1
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def value_at(self, t: int) -> int | None:
        """Value of the term at the time ``t``; None for a part of a date beyond the calendar."""
        return date_part(t * self.unit, self.part) if self.part else t

    def __str__(self) -> str:
        return f"@now.{self.part}" if self.part else "@now"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    r"""Term "left operator right" with + - * / \\ (remainder); ``-term`` is 0 - term."""

    operator: str
    left_operand: Term
    right_operand: Term
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        if self.operator == "-" and self.left_operand == Constant(0):
            return f"-{_operand_text(self.right_operand)}"
        return (
            f"{_operand_text(self.left_operand)}{self.operator}{_operand_text(self.right_operand)}"
        )


Term: TypeAlias = Constant | Variable | CurrentTime | Arithmetic


def _operand_text(term: Term) -> str:
    """Text of an operand of arithmetic, in parentheses if it is arithmetic itself."""
    return f"({term})" if isinstance(term, Arithmetic) else str(term)


def term_leaves(term: Term) -> list[Constant | Variable | CurrentTime]:
    """Constants, variables and @now inside a term, in text order."""
    found, waiting = list[Constant | Variable | CurrentTime](), [term]
    while waiting:
        last = waiting.pop()
        if isinstance(last, Arithmetic):
            waiting += (last.right_operand, last.left_operand)
        else:
            found.append(last)
    return found


def term_variables(term: Term) -> list[Variable]:
    """Occurrences of variables inside a term, in text order."""
    return [leaf for leaf in term_leaves(term) if isinstance(leaf, Variable)]


def names_of_variables(*terms: Term) -> set[str]:
    """Names of the variables inside ``terms``."""
    return {variable.name for term in terms for variable in term_variables(term)}


# --- atoms and literals ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atom:
    """Atom of the rule language: a predicate name with argument terms."""

    name: str
    arguments: tuple[Term, ...] = ()
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    @property
    def predicate(self) -> str:
        """Predicate as name/arity, such as ``p/2``."""
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
    """Set of offsets into the past, as maximal disjoint intervals (from, to), ascending, in time
    units.

    text: as written.
    """

    intervals: tuple[tuple[int, int], ...]
    text: str = field(compare=False)

    @property
    def size(self) -> int:
        """Number of offsets in the window, |D|."""
        return sum(high - low + 1 for low, high in self.intervals)

    @property
    def horizon(self) -> int:
        """Largest offset of the window: how far it looks back."""
        return self.intervals[-1][1]

    def __contains__(self, offset: int) -> bool:
        return any(low <= offset <= high for low, high in self.intervals)

    def __str__(self) -> str:
        return self.text


def make_window(offsets: Iterable[int]) -> Window:
    """Make the window with these offsets into the past.

    >>> make_window([3, 0, 1]).intervals
    ((0, 1), (3, 3))
    """
    found: list[tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if found and found[-1][1] == offset - 1:
            found[-1] = found[-1][0], offset
        else:
            found.append((offset, offset))
    return Window(tuple(found), "{" + ",".join(map(str, sorted(set(offsets)))) + "}")


AT_LEAST: Final = "at least"
AT_MOST: Final = "at most"
ALWAYS: Final = "always"
COUNT: Final = "count"


@dataclass(frozen=True, slots=True)
class WindowedLiteral:
    """Streaming literal: an atom counted over a window, as "p(X) at least 2 in [3]" (semantics:
    head of `model`).

    window: None for the current point only.
    count: the counting term; None for "always".
    binds: whether "at most" ranges over the atoms in the window and binds its variables.
    """

    atom: Atom
    operator: str = AT_LEAST
    count: Term | None = Constant(1)
    window: Window | None = None
    is_negated: bool = False
    binds: bool = False
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    @property
    def is_harmless(self) -> bool:
        """Whether more atoms never make it false: a positive "at least" or "always"."""
        return not self.is_negated and self.operator in (AT_LEAST, ALWAYS)

    def __str__(self) -> str:
        negation = "not " if self.is_negated else ""
        if self.window is None:
            return f"{negation}{self.atom}"
        if self.operator == AT_LEAST and self.count == Constant(1):
            return f"{negation}{self.atom} in {self.window}"
        counted = "" if self.count is None else f" {self.count}"
        return f"{negation}{self.atom} {self.operator}{counted} in {self.window}"


@dataclass(frozen=True, slots=True)
class ComparisonLiteral:
    """Body literal that compares two terms by = != < <= > or >=."""

    left_term: Term
    relation: str
    right_term: Term
    is_negated: bool = False
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        return (
            f"{'not ' if self.is_negated else ''}{self.left_term}{self.relation}{self.right_term}"
        )


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """Body literal that calls a Python function: &function(inputs; outputs)."""

    function: str
    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...] = ()
    is_negated: bool = False
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        inputs, outputs = ",".join(map(str, self.inputs)), ",".join(map(str, self.outputs))
        return f"{'not ' if self.is_negated else ''}&{self.function}({inputs};{outputs})"


def is_user_predicate(predicate: str) -> bool:
    """Whether a program can contain the name ``predicate``; rewriting (`safety`) adds predicates
    with other names.
    """
    return "#" not in predicate and ".." not in predicate


def written_literals(body: Iterable[Literal]) -> list[Literal]:
    """Literals of a body as the user wrote them, without those that were added for intervals."""
    return [
        literal
        for literal in body
        if not (isinstance(literal, WindowedLiteral) and ".." in literal.atom.name)
    ]


@dataclass(frozen=True, slots=True)
class AggregateElement:
    """Element of an aggregate, "terms : body": the tuples of terms for which the body is true."""

    terms: tuple[Term, ...]
    body: tuple[WindowedLiteral | ComparisonLiteral | FunctionCall, ...] = ()

    def __str__(self) -> str:
        terms, body = (
            ",".join(map(str, part)) for part in (self.terms, written_literals(self.body))
        )
        return f"{terms}:{body}" if body else terms


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Body literal function{elements} relation term; functions: count, sum, min and max."""

    function: str
    elements: tuple[AggregateElement, ...]
    guards: tuple[tuple[str, Term], ...]
    is_negated: bool = False
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        inner = ";".join(map(str, self.elements))
        guards = ", ".join(
            f"#{self.function}{{{inner}}}{relation}{term}" for relation, term in self.guards
        )
        return f"{'not ' if self.is_negated else ''}{guards}"


Literal: TypeAlias = WindowedLiteral | ComparisonLiteral | FunctionCall | Aggregate


# --- rules and programs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamRule:
    """Rule of a program: head :- body.

    number: index in the program.
    is_temporary: whether it has #temp, so that later points do not see its heads.
    frequency: of #trigger_frequency, in time units.
    """

    head: Atom
    body: tuple[Literal, ...] = ()
    is_temporary: bool = False
    frequency: int | None = None
    number: int = 0
    position: Position = field(default=_NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        before = "#temp " if self.is_temporary else ""
        if self.frequency is not None:
            before += f"#trigger_frequency({self.frequency}) "
        body = ", ".join(map(str, written_literals(self.body)))
        return f"{before}{self.head}{' :- ' + body if body else ''}."


@dataclass(frozen=True)
class PredicateMapping:
    """Directive ``#rdf name/arity = <iri> [scale K]``: maps a predicate to a class or property."""

    predicate: str
    iri: str
    scale: int | None = None


@dataclass(frozen=True)
class Stratum:
    """Rules that are evaluated together, to a fixpoint if ``is_recursive``."""

    rules: tuple[StreamRule, ...]
    is_recursive: bool = False

    @property
    def heads(self) -> frozenset[str]:
        """Predicates that the rules of the stratum derive."""
        return frozenset(rule.head.predicate for rule in self.rules)


@dataclass(frozen=True)
class CheckedProgram:
    """Program whose rules are safe and stratified, ready for an evaluator (see `model`).

    shown_predicates: predicates of #show; None without #show.
    parts: by predicate, its parts that receive all of its input.
    """

    rules: tuple[StreamRule, ...]
    facts: Mapping[str, Sequence[Row]]
    strata: tuple[Stratum, ...]
    horizons: Mapping[str, int]
    shown_predicates: frozenset[str] | None = None
    mappings: tuple[PredicateMapping, ...] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def copy_input_to_parts(self, rows: Mapping[str, Any]) -> Mapping[str, Any]:
        """Copy the input rows of each split predicate to the predicates that it was split into."""
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


def streaming_literals(body: Iterable[Literal]) -> list[tuple[WindowedLiteral, bool]]:
    """Streaming literals of a body and of its aggregates, each with whether it is harmless: more
    atoms never make it false.
    """
    found: list[tuple[WindowedLiteral, bool]] = []
    for literal in body:
        if isinstance(literal, WindowedLiteral):
            found.append((literal, literal.is_harmless))
        elif isinstance(literal, Aggregate):
            inner = (inside for element in literal.elements for inside in element.body)
            found += [(inside, False) for inside in inner if isinstance(inside, WindowedLiteral)]
    return found

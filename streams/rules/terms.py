"""Terms and windows, read from tokens (SPEC 004, section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from streams.front.event import UNITS
from streams.rules.problems import ProgramProblem
from streams.rules.syntax import (
    NOW_PARTS,
    Arithmetic,
    Constant,
    Now,
    Term,
    Variable,
    Window,
    window,
)
from streams.rules.tokens import (
    AT,
    INTEGER,
    IRI,
    NAME,
    PUNCTUATION,
    STRING,
    VARIABLE,
    Cursor,
    RuleToken,
    Text,
    TokenFault,
)
from streams.rules.values import LIMIT, IntegerOverflow, Value, arithmetic

#: Terms have no more operators and parentheses.
_MOST_OPERATORS: Final = 100
#: Windows reach no farther back, in timeline units.
_FARTHEST: Final = 1 << 40
#: Intervals have no more numbers.
MOST_IN_INTERVAL: Final = 1_000_000


class Terms(Cursor):
    """Reads terms and windows from the tokens of one text."""

    def __init__(
        self, text: Text, unit: str, problems: list[ProgramProblem], constants: Mapping[str, Value]
    ) -> None:
        """``constants``: the values of names, by ``#const``."""
        super().__init__(text, problems)
        self.unit = unit
        self.constants = constants
        #: Variables that stand for the intervals of the statement or aggregate element.
        self.intervals: list[Variable] = []
        self._operators = self._anonymous = 0

    def begin_rule(self) -> None:
        self._anonymous = 0
        self.intervals = []

    def term(self) -> Term:
        self._operators = 0
        return self._sum()

    def _operator(self, token: RuleToken) -> None:
        self._operators += 1
        if self._operators > _MOST_OPERATORS:
            raise TokenFault(
                token,
                f"a term has no more than {_MOST_OPERATORS} operators and parentheses; split it by X = …",
            )

    def _sum(self) -> Term:
        found = self._product()
        while self.sees("+") or self.sees("-"):
            found = self._combined(self.take(), found, self._product())
        return found

    def _product(self) -> Term:
        found = self._factor()
        while self.sees("*") or self.sees("/") or self.sees("\\"):
            found = self._combined(self.take(), found, self._factor())
        return found

    def _combined(self, operator: RuleToken, left: Term, right: Term) -> Term:
        self._operator(operator)
        if isinstance(left, Constant) and isinstance(right, Constant):
            try:
                value = arithmetic(operator.text, left.value, right.value)
            except IntegerOverflow as error:
                raise TokenFault(operator, f"{error}; integers have 64 bits") from None
            if value is not None:
                return Constant(value, left.position)
        return Arithmetic(operator.text, left, right, left.position)

    def _factor(self) -> Term:
        token = self.take()
        place = self.text.place(token.offset)
        if token.kind == INTEGER:
            return Constant(_integer(token), place)
        if token.kind == VARIABLE:
            return Variable(self._fresh() if token.text == "_" else token.text, place)
        if token.kind == NAME:
            if self.sees("("):
                raise TokenFault(
                    token, f"function symbols are not supported: {token}; use more arguments"
                )
            return Constant(self.constants.get(token.text, token.text), place)
        if token.kind in (STRING, IRI):
            return Constant(token.text, place)
        if token.kind == AT:
            word, _, part = token.text.partition(".")
            if word != "@now":
                raise TokenFault(
                    token, f"{token} is no term; those of its kind are @now, {', '.join(NOW_PARTS)}"
                )
            return Now(part, UNITS[self.unit], place)
        if token.text in ("(", "-") and token.kind == PUNCTUATION:
            self._operator(token)
            if token.text == "-":
                if self.peek().kind == INTEGER:
                    return Constant(_integer(self.take(), -1), place)
                return self._combined(token, Constant(0, place), self._factor())
            found = self._sum()
            if self.sees(","):
                raise TokenFault(self.peek(), "tuples are not supported; use more arguments")
            self.expect(")", "')'")
            return found
        if token.text in ("#inf", "#sup"):
            raise TokenFault(
                token,
                f"{token} is not supported; constants are integers, symbols, strings and IRIs",
            )
        raise TokenFault(token, f"expected a term, found {token}")

    def _fresh(self) -> str:
        self._anonymous += 1
        return f"_{self._anonymous}"

    def term_or_interval(self) -> Term:
        """A term, or low..high: then a variable, which `intervals` has too."""
        token = self.peek()
        low = self.term()
        if not self.accept(".."):
            return low
        high = self.term()
        bounds = [
            end.value
            for end in (low, high)
            if isinstance(end, Constant) and not isinstance(end.value, str)
        ]
        if len(bounds) < 2:
            raise TokenFault(
                token,
                "the bounds of an interval are integers or names of #const; compare a variable with <= and >=",
            )
        if bounds[1] - bounds[0] >= MOST_IN_INTERVAL:
            raise TokenFault(token, f"an interval has no more than {MOST_IN_INTERVAL:,} numbers")
        interval = Variable(
            f"{bounds[0]}..{bounds[1]}#{len(self.intervals)}", self.text.place(token.offset)
        )
        self.intervals.append(interval)
        return interval

    def terms(self, *ends: str) -> tuple[Term, ...]:
        """Terms with commas between, up to one of ``ends``, which stays."""
        found: list[Term] = []
        if any(map(self.sees, ends)):
            return ()
        while True:
            found.append(self.term_or_interval())
            if any(map(self.sees, ends)):
                return tuple(found)
            if self.sees(";"):
                raise TokenFault(self.peek(), "pooling is not supported; write a rule for each")
            self.expect(",", f"',' or '{ends[0]}'")

    # --- windows

    def window(self) -> Window:
        begun = self.take()
        if begun.text == "{" and begun.kind == PUNCTUATION:
            if self.sees("}"):
                raise TokenFault(
                    begun, "an empty window holds for nothing; name at least one offset, as in {0}"
                )
            offsets = [self._offset()]
            while self.accept(","):
                offsets.append(self._offset())
            self.expect("}", "',' or '}'")
            return window(offsets)
        if begun.text != "[" or begun.kind != PUNCTUATION:
            raise TokenFault(
                begun, f"expected a window, as in [5], [5 sec] or {{0,2}}, found {begun}"
            )
        length, text = self.duration("]")
        self.take()
        if length == 0:
            raise TokenFault(
                begun, "[0] is refused; write [w] with w of at least 1, or {0} for this point"
            )
        return Window(((0, length),), f"[{text}]")

    def _offset(self) -> int:
        token = self.take()
        return self._bounded(token, self._natural(token, "an offset, a natural number"))

    def _natural(self, token: RuleToken, what: str) -> int:
        """The number that a token is or is the name of."""
        named = self.constants.get(token.text) if token.kind == NAME else None
        if isinstance(named, int) and named >= 0:
            return named
        if token.kind != INTEGER:
            raise TokenFault(token, f"expected {what}, found {token}")
        return _integer(token)

    def _bounded(self, token: RuleToken, number: int) -> int:
        if number > _FARTHEST:
            raise TokenFault(
                token, f"{number} timeline units are too many; no window reaches beyond {_FARTHEST}"
            )
        return number

    def duration(self, end: str) -> tuple[int, str]:
        """An integer with or without a unit, up to ``end``, which stays: in timeline units, and
        as written.
        """
        token = self.take()
        number = self._natural(token, "a natural number")
        if self.sees(end):
            return self._bounded(token, number), str(number)
        unit = self.take()
        if unit.kind != NAME or unit.text not in UNITS:
            raise TokenFault(unit, f"unknown unit {unit}; the units are {', '.join(UNITS)}")
        if not self.sees(end):
            raise TokenFault(self.peek(), f"expected '{end}', found {self.peek()}")
        parts = number * UNITS[unit.text]
        if parts % UNITS[self.unit] or not parts:
            said = f"{number} {unit.text} is no multiple of the timeline unit, {self.unit}"
            raise TokenFault(
                token, f"{said}; choose another --unit, or a whole number of at least 1 of them"
            )
        return self._bounded(token, parts // UNITS[self.unit]), f"{number} {unit.text}"


def _integer(token: RuleToken, sign: int = 1) -> int:
    number = int(token.text) if len(token.text) <= 20 else LIMIT * 2
    if not -LIMIT <= sign * number < LIMIT:
        shown = (
            token.text
            if len(token.text) <= 40
            else f"{token.text[:20]}… of {len(token.text)} digits"
        )
        raise TokenFault(token, f"{shown} is beyond 64 bits; write it as a string")
    return sign * number

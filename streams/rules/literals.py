"""Atoms and literals, read from tokens (SPEC 004, section 1)."""

from __future__ import annotations

from typing import Final

from streams.rules.syntax import (
    ALWAYS,
    AT_LEAST,
    AT_MOST,
    COUNT,
    Aggregate,
    AggregateElement,
    Atom,
    ComparisonLiteral,
    Constant,
    External,
    Literal,
    Term,
    WindowedLiteral,
)
from streams.rules.terms import Terms
from streams.rules.tokens import HASH, INTEGER, NAME, RuleToken, TokenFault
from streams.rules.values import FLIPPED

RELATIONS: Final = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
#: Signs behind a name that is a term of a comparison, and no atom.
_GOES_ON: Final = frozenset({*RELATIONS, "+", "-", "*", "/", "\\", ".."})
_FUNCTIONS: Final = ("#count", "#sum", "#min", "#max")


class Literals(Terms):
    """Reads atoms and literals from the tokens of one text."""

    def is_between_statements(self) -> bool:
        return not self._ahead

    def atom(self) -> Atom:
        token = self.take()
        if token.kind != NAME or token.text == "not":
            if token.text == "-":
                raise TokenFault(
                    token, "strong negation is not supported; use a predicate of its own, or not"
                )
            raise TokenFault(token, f"expected an atom, found {token}")
        arguments: tuple[Term, ...] = ()
        if self.accept("("):
            arguments = self.terms(")")
            self.take()
        return Atom(token.text, arguments, self.text.place(token.offset))

    def body(self) -> tuple[Literal, ...]:
        found = [self.literal()]
        while self.accept(","):
            found.append(self.literal())
        return tuple(found)

    def interval_literals(self) -> list[WindowedLiteral]:
        """Literals that bind the variables of `intervals`: each is about the facts of its interval."""
        return [
            WindowedLiteral(Atom(str(interval), (interval,), interval.position))
            for interval in self.intervals
        ]

    def literal(self) -> Literal:
        begun = self.peek()
        negated = self.accept("not")
        if negated and self.sees("not"):
            raise TokenFault(self.peek(), "not not is not supported; leave both away")
        if self.sees("&"):
            return self._external(negated)
        if self.peek().kind == HASH:
            return self._aggregate(negated, None, begun)
        if self.sees("-") and self.peek(1).kind == NAME and self.peek(2).text not in _GOES_ON:
            raise TokenFault(
                self.peek(), "strong negation is not supported; use a predicate of its own, or not"
            )
        if self.sees("{") or (self.peek().kind == INTEGER and self.peek(1).text == "{"):
            raise TokenFault(
                self.peek(), "choice and cardinality atoms are not supported; count with #count"
            )
        if self.peek().kind == NAME and self.peek(1).text not in _GOES_ON:
            return self._windowed(negated, begun)
        left = self.term_or_interval()
        token = self.peek()
        if token.text not in RELATIONS:
            raise TokenFault(token, f"expected a comparison (= != < <= > >=), found {token}")
        relation = RELATIONS[self.take().text]
        if self.peek().kind == HASH:
            return self._aggregate(negated, (FLIPPED[relation], left), begun)
        right = self.term_or_interval()
        if self.peek().text in RELATIONS:
            raise TokenFault(self.peek(), "a comparison has two sides; write two comparisons")
        return ComparisonLiteral(left, relation, right, negated, self.text.place(begun.offset))

    def _windowed(self, negated: bool, begun: RuleToken) -> WindowedLiteral:
        place = self.text.place(begun.offset)
        atom = self.atom()
        if self.peek().text in RELATIONS:
            raise TokenFault(
                self.peek(), "function symbols are not supported: an atom is not compared"
            )
        count: Term | None = Constant(1)
        operator = AT_LEAST
        if self.accept("at", "least"):
            count = self._counting(1, AT_LEAST)
        elif self.accept("at", "most"):
            operator, count = AT_MOST, self._counting(0, AT_MOST)
        elif self.accept("count"):
            operator, count = COUNT, self._counting(1, COUNT)
        elif self.accept("always"):
            operator, count = ALWAYS, None
        elif not self.sees("in"):
            if self.sees("at"):
                raise TokenFault(self.peek(1), f"expected 'least' or 'most', found {self.peek(1)}")
            return WindowedLiteral(atom, negated=negated, position=place)
        self.expect("in", "'in' and a window")
        found = self.window()
        degenerate = operator == AT_LEAST and count == Constant(1) and found.intervals == ((0, 0),)
        return WindowedLiteral(
            atom, operator, count, None if degenerate else found, negated, position=place
        )

    def _counting(self, least: int, operator: str) -> Term:
        token = self.peek()
        found = self.term()
        if isinstance(found, Constant) and (isinstance(found.value, str) or found.value < least):
            raise TokenFault(
                token, f"'{operator} {found}': write an integer from {least} on, or a variable"
            )
        return found

    def _external(self, negated: bool) -> External:
        place = self.text.place(self.take().offset)
        name = self.take()
        if name.kind != NAME:
            raise TokenFault(name, f"expected the name of a function, found {name}")
        self.expect("(", "'('")
        inputs = self.terms(";", ")")
        outputs = self.terms(")") if self.accept(";") else ()
        self.expect(")", "')'")
        if negated and outputs:
            raise TokenFault(
                name, "not needs a function without outputs; leave them away, or compare them"
            )
        return External(name.text, inputs, outputs, negated, place)

    def _aggregate(
        self, negated: bool, guard: tuple[str, Term] | None, begun: RuleToken
    ) -> Aggregate:
        token = self.take()
        if token.text not in _FUNCTIONS:
            raise TokenFault(
                token, f"{token} is not supported here; the aggregates are {', '.join(_FUNCTIONS)}"
            )
        self.expect("{", "'{'")
        elements = [self._element()]
        while self.accept(";"):
            elements.append(self._element())
        self.expect("}", "',', ';' or '}'")
        guards = [guard] if guard else []
        if self.peek().text in RELATIONS:
            relation = RELATIONS[self.take().text]
            guards.append((relation, self.term()))
        if not guards:
            raise TokenFault(
                self.peek(),
                "an aggregate is compared with something; write X = before it, or = X behind it",
            )
        return Aggregate(
            token.text[1:], tuple(elements), tuple(guards), negated, self.text.place(begun.offset)
        )

    def _element(self) -> AggregateElement:
        outer, self.intervals = self.intervals, []
        terms = self.terms(":", ";", "}")
        if not terms:
            raise TokenFault(self.peek(), f"expected a term, found {self.peek()}")
        inner: list[WindowedLiteral | ComparisonLiteral | External] = []
        while self.accept(":" if not inner else ","):
            token = self.peek()
            literal = self.literal()
            if isinstance(literal, Aggregate):
                raise TokenFault(
                    token,
                    "an aggregate within an aggregate is not supported; give it a rule of its own",
                )
            if isinstance(literal, WindowedLiteral) and literal.window is not None:
                raise TokenFault(
                    token,
                    "an aggregate has no streaming literals with windows; give it a rule of its own",
                )
            inner.append(literal)
        inner += self.interval_literals()
        self.intervals = outer
        return AggregateElement(terms, tuple(inner))

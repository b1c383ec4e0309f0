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
from streams.rules.terms import read_term, read_term_or_interval, read_terms, read_window
from streams.rules.tokens import HASH, INTEGER, NAME, Cursor, RuleToken, TokenFault
from streams.rules.values import FLIPPED

RELATIONS: Final = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
#: Signs behind a name that is a term of a comparison, and no atom.
_GOES_ON: Final = frozenset({*RELATIONS, "+", "-", "*", "/", "\\", ".."})
_FUNCTIONS: Final = ("#count", "#sum", "#min", "#max")


def is_between_statements(tokens: Cursor) -> bool:
    return not tokens.ahead


def read_atom(tokens: Cursor) -> Atom:
    token = tokens.take()
    if token.kind != NAME or token.text == "not":
        if token.text == "-":
            raise TokenFault(
                token, "strong negation is not supported; use a predicate of its own, or not"
            )
        raise TokenFault(token, f"expected an atom, found {token}")
    arguments: tuple[Term, ...] = ()
    if tokens.accept("("):
        arguments = read_terms(tokens, ")")
        tokens.take()
    return Atom(token.text, arguments, tokens.text.place(token.offset))


def read_body(tokens: Cursor) -> tuple[Literal, ...]:
    found = [read_literal(tokens)]
    while tokens.accept(","):
        found.append(read_literal(tokens))
    return tuple(found)


def interval_literals(tokens: Cursor) -> list[WindowedLiteral]:
    """Literals that bind the variables of `intervals`: each is about the facts of its interval."""
    return [
        WindowedLiteral(Atom(str(interval), (interval,), interval.position))
        for interval in tokens.intervals
    ]


def read_literal(tokens: Cursor) -> Literal:
    begun = tokens.peek()
    negated = tokens.accept("not")
    if negated and tokens.sees("not"):
        raise TokenFault(tokens.peek(), "not not is not supported; leave both away")
    if tokens.sees("&"):
        return _read_external(tokens, negated)
    if tokens.peek().kind == HASH:
        return _read_aggregate(tokens, negated, None, begun)
    if tokens.sees("-") and tokens.peek(1).kind == NAME and tokens.peek(2).text not in _GOES_ON:
        raise TokenFault(
            tokens.peek(), "strong negation is not supported; use a predicate of its own, or not"
        )
    if tokens.sees("{") or (tokens.peek().kind == INTEGER and tokens.peek(1).text == "{"):
        raise TokenFault(
            tokens.peek(), "choice and cardinality atoms are not supported; count with #count"
        )
    if tokens.peek().kind == NAME and tokens.peek(1).text not in _GOES_ON:
        return _read_windowed(tokens, negated, begun)
    left = read_term_or_interval(tokens)
    token = tokens.peek()
    if token.text not in RELATIONS:
        raise TokenFault(token, f"expected a comparison (= != < <= > >=), found {token}")
    relation = RELATIONS[tokens.take().text]
    if tokens.peek().kind == HASH:
        return _read_aggregate(tokens, negated, (FLIPPED[relation], left), begun)
    right = read_term_or_interval(tokens)
    if tokens.peek().text in RELATIONS:
        raise TokenFault(tokens.peek(), "a comparison has two sides; write two comparisons")
    return ComparisonLiteral(left, relation, right, negated, tokens.text.place(begun.offset))


def _read_windowed(tokens: Cursor, negated: bool, begun: RuleToken) -> WindowedLiteral:
    place = tokens.text.place(begun.offset)
    atom = read_atom(tokens)
    if tokens.peek().text in RELATIONS:
        raise TokenFault(
            tokens.peek(), "function symbols are not supported: an atom is not compared"
        )
    count: Term | None = Constant(1)
    operator = AT_LEAST
    if tokens.accept("at", "least"):
        count = _read_counting(tokens, 1, AT_LEAST)
    elif tokens.accept("at", "most"):
        operator, count = AT_MOST, _read_counting(tokens, 0, AT_MOST)
    elif tokens.accept("count"):
        operator, count = COUNT, _read_counting(tokens, 1, COUNT)
    elif tokens.accept("always"):
        operator, count = ALWAYS, None
    elif not tokens.sees("in"):
        if tokens.sees("at"):
            raise TokenFault(tokens.peek(1), f"expected 'least' or 'most', found {tokens.peek(1)}")
        return WindowedLiteral(atom, negated=negated, position=place)
    tokens.expect("in", "'in' and a window")
    found = read_window(tokens)
    degenerate = operator == AT_LEAST and count == Constant(1) and found.intervals == ((0, 0),)
    return WindowedLiteral(
        atom, operator, count, None if degenerate else found, negated, position=place
    )


def _read_counting(tokens: Cursor, least: int, operator: str) -> Term:
    token = tokens.peek()
    found = read_term(tokens)
    if isinstance(found, Constant) and (isinstance(found.value, str) or found.value < least):
        raise TokenFault(
            token, f"'{operator} {found}': write an integer from {least} on, or a variable"
        )
    return found


def _read_external(tokens: Cursor, negated: bool) -> External:
    place = tokens.text.place(tokens.take().offset)
    name = tokens.take()
    if name.kind != NAME:
        raise TokenFault(name, f"expected the name of a function, found {name}")
    tokens.expect("(", "'('")
    inputs = read_terms(tokens, ";", ")")
    outputs = read_terms(tokens, ")") if tokens.accept(";") else ()
    tokens.expect(")", "')'")
    if negated and outputs:
        raise TokenFault(
            name, "not needs a function without outputs; leave them away, or compare them"
        )
    return External(name.text, inputs, outputs, negated, place)


def _read_aggregate(
    tokens: Cursor, negated: bool, guard: tuple[str, Term] | None, begun: RuleToken
) -> Aggregate:
    token = tokens.take()
    if token.text not in _FUNCTIONS:
        raise TokenFault(
            token, f"{token} is not supported here; the aggregates are {', '.join(_FUNCTIONS)}"
        )
    tokens.expect("{", "'{'")
    elements = [_read_element(tokens)]
    while tokens.accept(";"):
        elements.append(_read_element(tokens))
    tokens.expect("}", "',', ';' or '}'")
    guards = [guard] if guard else []
    if tokens.peek().text in RELATIONS:
        relation = RELATIONS[tokens.take().text]
        guards.append((relation, read_term(tokens)))
    if not guards:
        raise TokenFault(
            tokens.peek(),
            "an aggregate is compared with something; write X = before it, or = X behind it",
        )
    return Aggregate(
        token.text[1:], tuple(elements), tuple(guards), negated, tokens.text.place(begun.offset)
    )


def _read_element(tokens: Cursor) -> AggregateElement:
    outer, tokens.intervals = tokens.intervals, []
    terms = read_terms(tokens, ":", ";", "}")
    if not terms:
        raise TokenFault(tokens.peek(), f"expected a term, found {tokens.peek()}")
    inner: list[WindowedLiteral | ComparisonLiteral | External] = []
    while tokens.accept(":" if not inner else ","):
        token = tokens.peek()
        literal = read_literal(tokens)
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
    inner += interval_literals(tokens)
    tokens.intervals = outer
    return AggregateElement(terms, tuple(inner))

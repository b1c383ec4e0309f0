"""Names for constants: ``#const n = 10.``, wherever it stands in the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.rules.problems import Position
from streams.rules.syntax import Constant, Term
from streams.rules.terms import read_term
from streams.rules.tokens import END, NAME, Cursor, RuleToken, Text, TokenFault
from streams.rules.values import Value


def constant_definition(tokens: Cursor) -> tuple[RuleToken, Term]:
    """The name and the value of a ``#const``, which comes next. Raises: TokenFault."""
    tokens.take()
    name = tokens.take()
    if name.kind != NAME:
        raise TokenFault(name, f"expected a name, found {name}; write #const name = value.")
    tokens.expect("=", "'='")
    return name, read_term(tokens)


def read_constants(texts: Iterable[Text], unit: str) -> dict[str, tuple[Value, Position]]:
    """The values of all names that ``texts`` define, with their places; a value may use names
    that are defined later.

    A definition with a fault is left out: who reads the statements tells it. Each round settles
    a name at least, or is the last.
    """
    some = [text for text in texts if "#const" in text.text]
    found: dict[str, tuple[Value, Position]] = {}
    while some:
        known = {name: value for name, (value, _) in found.items()}
        definitions = [one for text in some for one in _definitions(text, unit, known)]
        names = {name for name, _, _ in definitions}
        before = len(found)
        for name, term, place in definitions:
            if isinstance(term, Constant) and term.value not in names - {*found}:
                found.setdefault(name, (term.value, place))
        if len(found) == before:
            break
    return found


def _definitions(
    text: Text, unit: str, known: Mapping[str, Value]
) -> list[tuple[str, Term, Position]]:
    tokens, found = Cursor(text, [], unit, known), []
    while tokens.peek().kind != END:
        if not tokens.sees("#const"):
            tokens.take()
            continue
        try:
            name, term = constant_definition(tokens)
        except TokenFault:
            continue
        found.append((name.text, term, text.place(name.offset)))
    return found

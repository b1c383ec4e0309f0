"""Parser of terms, windows, atoms and literals (docs/RULES.md)."""

from __future__ import annotations

from typing import Final

from shiq.streams.front.event import UNITS
from shiq.streams.rules.syntax import (
    ALWAYS,
    AT_LEAST,
    AT_MOST,
    COUNT,
    FLIPPED_RELATIONS,
    INTEGER_LIMIT,
    NOW_PARTS,
    Aggregate,
    AggregateElement,
    Arithmetic,
    Atom,
    ComparisonLiteral,
    Constant,
    CurrentTime,
    FunctionCall,
    IntegerOverflow,
    Literal,
    Term,
    Variable,
    Window,
    WindowedLiteral,
    apply_arithmetic,
    make_window,
)
from shiq.streams.rules.tokens import (
    AT,
    HASH,
    INTEGER,
    IRI,
    NAME,
    PUNCTUATION,
    STRING,
    VARIABLE,
    RuleToken,
    TokenCursor,
    TokenFault,
)

# Terms and windows, read from tokens (docs/RULES.md).


#: Terms have no more operators and parentheses.
_MOST_OPERATORS: Final = 100
#: Windows reach no farther back, in timeline units.
_FARTHEST_OFFSET: Final = 1 << 40
#: Intervals have no more numbers.
MOST_IN_INTERVAL: Final = 1_000_000


def read_term(tokens: TokenCursor) -> Term:
    """Parse a term of a rule: a constant, a variable, or arithmetic over them."""
    tokens.operators = 0
    return _read_sum(tokens)


def _count_operator(tokens: TokenCursor, token: RuleToken) -> None:
    """Count one more operator or parenthesis of the current term. Raises: TokenFault if the term
    has too many.
    """
    tokens.operators += 1
    if tokens.operators > _MOST_OPERATORS:
        raise TokenFault(
            token,
            f"a term has no more than {_MOST_OPERATORS} operators and parentheses; split it by X = …",
        )


def _read_sum(tokens: TokenCursor) -> Term:
    """Parse a sum or difference of products."""
    found = _read_product(tokens)
    while tokens.is_next("+") or tokens.is_next("-"):
        found = _apply_operator(tokens, tokens.take_token(), found, _read_product(tokens))
    return found


def _read_product(tokens: TokenCursor) -> Term:
    """Parse a product or quotient of factors."""
    found = _read_factor(tokens)
    while tokens.is_next("*") or tokens.is_next("/") or tokens.is_next("\\"):
        found = _apply_operator(tokens, tokens.take_token(), found, _read_factor(tokens))
    return found


def _apply_operator(tokens: TokenCursor, operator: RuleToken, left: Term, right: Term) -> Term:
    """Combine two terms by an arithmetic operator; two constants are calculated at once."""
    _count_operator(tokens, operator)
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            value = apply_arithmetic(operator.text, left.value, right.value)
        except IntegerOverflow as error:
            raise TokenFault(operator, f"{error}; integers have 64 bits") from None
        if value is not None:
            return Constant(value, left.position)
    return Arithmetic(operator.text, left, right, left.position)


def _read_factor(tokens: TokenCursor) -> Term:
    """Parse a constant, a variable, @now, or a term in parentheses."""
    token = tokens.take_token()
    place = tokens.text.position_at(token.offset)
    if token.kind == INTEGER:
        return Constant(_parse_integer(token), place)
    if token.kind == VARIABLE:
        return Variable(_make_anonymous_name(tokens) if token.text == "_" else token.text, place)
    if token.kind == NAME:
        if tokens.is_next("("):
            raise TokenFault(
                token, f"function symbols are not supported: {token}; use more arguments"
            )
        return Constant(tokens.constants.get(token.text, token.text), place)
    if token.kind in (STRING, IRI):
        return Constant(token.text, place)
    if token.kind == AT:
        word, _, part = token.text.partition(".")
        if word != "@now":
            raise TokenFault(
                token, f"{token} is no term; those of its kind are @now, {', '.join(NOW_PARTS)}"
            )
        return CurrentTime(part, UNITS[tokens.unit], place)
    if token.text in ("(", "-") and token.kind == PUNCTUATION:
        _count_operator(tokens, token)
        if token.text == "-":
            if tokens.peek().kind == INTEGER:
                return Constant(_parse_integer(tokens.take_token(), -1), place)
            return _apply_operator(tokens, token, Constant(0, place), _read_factor(tokens))
        found = _read_sum(tokens)
        if tokens.is_next(","):
            raise TokenFault(tokens.peek(), "tuples are not supported; use more arguments")
        tokens.expect(")", "')'")
        return found
    if token.text in ("#inf", "#sup"):
        raise TokenFault(
            token,
            f"{token} is not supported; constants are integers, symbols, strings and IRIs",
        )
    raise TokenFault(token, f"expected a term, found {token}")


def _make_anonymous_name(tokens: TokenCursor) -> str:
    """Make a unique name (``_1``, ``_2``, …) for an anonymous variable ``_`` of the current
    statement.
    """
    tokens.anonymous += 1
    return f"_{tokens.anonymous}"


def read_term_or_interval(tokens: TokenCursor) -> Term:
    """Parse a term, or an interval low..high: a new variable, also added to ``tokens.intervals``,
    stands for it.
    """
    token = tokens.peek()
    low = read_term(tokens)
    if not tokens.accept(".."):
        return low
    high = read_term(tokens)
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
        f"{bounds[0]}..{bounds[1]}#{len(tokens.intervals)}", tokens.text.position_at(token.offset)
    )
    tokens.intervals.append(interval)
    return interval


def read_terms(tokens: TokenCursor, *ends: str) -> tuple[Term, ...]:
    """Parse terms separated by commas up to one of the tokens ``ends``, which is not consumed."""
    found: list[Term] = []
    if any(map(tokens.is_next, ends)):
        return ()
    while True:
        found.append(read_term_or_interval(tokens))
        if any(map(tokens.is_next, ends)):
            return tuple(found)
        if tokens.is_next(";"):
            raise TokenFault(tokens.peek(), "pooling is not supported; write a rule for each")
        tokens.expect(",", f"',' or '{ends[0]}'")


def read_window(tokens: TokenCursor) -> Window:
    """Parse the window of a streaming literal: its length [5 min], or its set of offsets {0, 60,
    …}.
    """
    begun = tokens.take_token()
    if begun.text == "{" and begun.kind == PUNCTUATION:
        if tokens.is_next("}"):
            raise TokenFault(
                begun, "an empty window holds for nothing; name at least one offset, as in {0}"
            )
        offsets = [_read_window_offset(tokens)]
        while tokens.accept(","):
            offsets.append(_read_window_offset(tokens))
        tokens.expect("}", "',' or '}'")
        return make_window(offsets)
    if begun.text != "[" or begun.kind != PUNCTUATION:
        raise TokenFault(begun, f"expected a window, as in [5], [5 sec] or {{0,2}}, found {begun}")
    length, text = read_duration(tokens, "]")
    tokens.take_token()
    if length == 0:
        raise TokenFault(
            begun, "[0] is refused; write [w] with w of at least 1, or {0} for this point"
        )
    return Window(((0, length),), f"[{text}]")


def _read_window_offset(tokens: TokenCursor) -> int:
    """Parse one offset of a window {offset, …}, in time units."""
    token = tokens.take_token()
    return _check_window_offset(
        tokens, token, _read_natural_number(tokens, token, "an offset, a natural number")
    )


def _read_natural_number(tokens: TokenCursor, token: RuleToken, what: str) -> int:
    """Natural number that a token is, or names by a ``#const`` definition."""
    named = tokens.constants.get(token.text) if token.kind == NAME else None
    if isinstance(named, int) and named >= 0:
        return named
    if token.kind != INTEGER:
        raise TokenFault(token, f"expected {what}, found {token}")
    return _parse_integer(token)


def _check_window_offset(tokens: TokenCursor, token: RuleToken, number: int) -> int:
    """Return a window offset. Raises: TokenFault if it is farther than a window may reach."""
    if number > _FARTHEST_OFFSET:
        raise TokenFault(
            token,
            f"{number} timeline units are too many; no window reaches beyond {_FARTHEST_OFFSET}",
        )
    return number


def read_duration(tokens: TokenCursor, end: str) -> tuple[int, str]:
    """Parse an integer with an optional time unit, up to the token ``end``; return its length in
    units of the timeline, and its text.
    """
    token = tokens.take_token()
    number = _read_natural_number(tokens, token, "a natural number")
    if tokens.is_next(end):
        return _check_window_offset(tokens, token, number), str(number)
    unit = tokens.take_token()
    if unit.kind != NAME or unit.text not in UNITS:
        raise TokenFault(unit, f"unknown unit {unit}; the units are {', '.join(UNITS)}")
    if not tokens.is_next(end):
        raise TokenFault(tokens.peek(), f"expected '{end}', found {tokens.peek()}")
    parts = number * UNITS[unit.text]
    if parts % UNITS[tokens.unit] or not parts:
        said = f"{number} {unit.text} is no multiple of the timeline unit, {tokens.unit}"
        raise TokenFault(
            token, f"{said}; choose another --unit, or a whole number of at least 1 of them"
        )
    return _check_window_offset(tokens, token, parts // UNITS[tokens.unit]), f"{number} {unit.text}"


def _parse_integer(token: RuleToken, sign: int = 1) -> int:
    """Convert an integer token to int, with its ``sign``. Raises: TokenFault beyond 64 bits."""
    number = int(token.text) if len(token.text) <= 20 else INTEGER_LIMIT * 2
    if not -INTEGER_LIMIT <= sign * number < INTEGER_LIMIT:
        shown = (
            token.text
            if len(token.text) <= 40
            else f"{token.text[:20]}… of {len(token.text)} digits"
        )
        raise TokenFault(token, f"{shown} is beyond 64 bits; write it as a string")
    return sign * number


RELATIONS: Final = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
#: Signs behind a name that is a term of a comparison, and no atom.
_TERM_SIGNS: Final = frozenset({*RELATIONS, "+", "-", "*", "/", "\\", ".."})
_AGGREGATE_FUNCTIONS: Final = ("#count", "#sum", "#min", "#max")


def read_atom(tokens: TokenCursor) -> Atom:
    """Parse an atom: a predicate name with argument terms in parentheses."""
    token = tokens.take_token()
    if token.kind != NAME or token.text == "not":
        if token.text == "-":
            raise TokenFault(
                token, "strong negation is not supported; use a predicate of its own, or not"
            )
        raise TokenFault(token, f"expected an atom, found {token}")
    arguments: tuple[Term, ...] = ()
    if tokens.accept("("):
        arguments = read_terms(tokens, ")")
        tokens.take_token()
    return Atom(token.text, arguments, tokens.text.position_at(token.offset))


def read_body(tokens: TokenCursor) -> tuple[Literal, ...]:
    """Parse the literals of a rule body up to the final dot."""
    found = [read_literal(tokens)]
    while tokens.accept(","):
        found.append(read_literal(tokens))
    return tuple(found)


def interval_literals(tokens: TokenCursor) -> list[WindowedLiteral]:
    """Literals that let each variable in ``tokens.intervals`` range over the integers of its
    interval.
    """
    return [
        WindowedLiteral(Atom(str(interval), (interval,), interval.position))
        for interval in tokens.intervals
    ]


def read_literal(tokens: TokenCursor) -> Literal:
    """Parse a body literal: a streaming literal, comparison, function call or aggregate, perhaps
    under ``not``.
    """
    begun = tokens.peek()
    negated = tokens.accept("not")
    if negated and tokens.is_next("not"):
        raise TokenFault(tokens.peek(), "not not is not supported; leave both away")
    if tokens.is_next("&"):
        return _read_function_call(tokens, negated)
    if tokens.peek().kind == HASH:
        return _read_aggregate(tokens, negated, None, begun)
    if (
        tokens.is_next("-")
        and tokens.peek(1).kind == NAME
        and tokens.peek(2).text not in _TERM_SIGNS
    ):
        raise TokenFault(
            tokens.peek(), "strong negation is not supported; use a predicate of its own, or not"
        )
    if tokens.is_next("{") or (tokens.peek().kind == INTEGER and tokens.peek(1).text == "{"):
        raise TokenFault(
            tokens.peek(), "choice and cardinality atoms are not supported; count with #count"
        )
    if tokens.peek().kind == NAME and tokens.peek(1).text not in _TERM_SIGNS:
        return _read_windowed_literal(tokens, negated, begun)
    left = read_term_or_interval(tokens)
    token = tokens.peek()
    if token.text not in RELATIONS:
        raise TokenFault(token, f"expected a comparison (= != < <= > >=), found {token}")
    relation = RELATIONS[tokens.take_token().text]
    if tokens.peek().kind == HASH:
        return _read_aggregate(tokens, negated, (FLIPPED_RELATIONS[relation], left), begun)
    right = read_term_or_interval(tokens)
    if tokens.peek().text in RELATIONS:
        raise TokenFault(tokens.peek(), "a comparison has two sides; write two comparisons")
    return ComparisonLiteral(left, relation, right, negated, tokens.text.position_at(begun.offset))


#: Smallest count that may be written behind each counting operator; None if it has no count.
_LEAST_COUNTS: Final = {AT_LEAST: 1, AT_MOST: 0, COUNT: 1, ALWAYS: None}


def _read_windowed_literal(tokens: TokenCursor, negated: bool, begun: RuleToken) -> WindowedLiteral:
    """Parse an atom with its counting operator ("at least 2") and window."""
    place = tokens.text.position_at(begun.offset)
    atom = read_atom(tokens)
    if tokens.peek().text in RELATIONS:
        raise TokenFault(
            tokens.peek(), "function symbols are not supported: an atom is not compared"
        )
    operator = next((one for one in _LEAST_COUNTS if tokens.accept(*one.split())), "")
    if not operator and not tokens.is_next("in"):
        if tokens.is_next("at"):
            raise TokenFault(tokens.peek(1), f"expected 'least' or 'most', found {tokens.peek(1)}")
        return WindowedLiteral(atom, is_negated=negated, position=place)
    count: Term | None = None if operator == ALWAYS else Constant(1)
    minimum = _LEAST_COUNTS.get(operator)
    if minimum is not None:
        count = _read_operator_count(tokens, minimum, operator)
    operator = operator or AT_LEAST
    tokens.expect("in", "'in' and a window")
    found = read_window(tokens)
    degenerate = operator == AT_LEAST and count == Constant(1) and found.intervals == ((0, 0),)
    return WindowedLiteral(
        atom, operator, count, None if degenerate else found, negated, position=place
    )


def _read_operator_count(tokens: TokenCursor, minimum: int, operator: str) -> Term:
    """Parse the count of an operator, as the 2 of "at least 2". Raises: TokenFault for an integer
    below ``minimum``.
    """
    token = tokens.peek()
    found = read_term(tokens)
    if isinstance(found, Constant) and (isinstance(found.value, str) or found.value < minimum):
        raise TokenFault(
            token, f"'{operator} {found}': write an integer from {minimum} on, or a variable"
        )
    return found


def _read_function_call(tokens: TokenCursor, negated: bool) -> FunctionCall:
    """Parse a call of a Python function: &name(inputs; outputs)."""
    place = tokens.text.position_at(tokens.take_token().offset)
    name = tokens.take_token()
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
    return FunctionCall(name.text, inputs, outputs, negated, place)


def _read_aggregate(
    tokens: TokenCursor, negated: bool, guard: tuple[str, Term] | None, begun: RuleToken
) -> Aggregate:
    """Parse an aggregate: #count, #sum, #min or #max over elements in braces, compared with up to
    two guards.
    """
    token = tokens.take_token()
    if token.text not in _AGGREGATE_FUNCTIONS:
        raise TokenFault(
            token,
            f"{token} is not supported here; the aggregates are {', '.join(_AGGREGATE_FUNCTIONS)}",
        )
    tokens.expect("{", "'{'")
    elements = [_read_aggregate_element(tokens)]
    while tokens.accept(";"):
        elements.append(_read_aggregate_element(tokens))
    tokens.expect("}", "',', ';' or '}'")
    guards = [guard] if guard else []
    if tokens.peek().text in RELATIONS:
        relation = RELATIONS[tokens.take_token().text]
        guards.append((relation, read_term(tokens)))
    if not guards:
        raise TokenFault(
            tokens.peek(),
            "an aggregate is compared with something; write X = before it, or = X behind it",
        )
    return Aggregate(
        token.text[1:],
        tuple(elements),
        tuple(guards),
        negated,
        tokens.text.position_at(begun.offset),
    )


def _read_aggregate_element(tokens: TokenCursor) -> AggregateElement:
    """Parse an element of an aggregate: terms, a colon, and a condition."""
    outer, tokens.intervals = tokens.intervals, []
    terms = read_terms(tokens, ":", ";", "}")
    if not terms:
        raise TokenFault(tokens.peek(), f"expected a term, found {tokens.peek()}")
    inner: list[WindowedLiteral | ComparisonLiteral | FunctionCall] = []
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

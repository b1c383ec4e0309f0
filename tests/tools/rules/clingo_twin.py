"""One step of a program as a logic program for clingo (MIT), with what windows see as facts.

`run` gives for each point what an evaluator gives: the whole model, and the heads of rules with
a body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shiq.streams.rules.operators import call_function
from shiq.streams.rules.syntax import (
    ALWAYS,
    AT_MOST,
    COUNT,
    Aggregate,
    Arithmetic,
    Atom,
    CheckedProgram,
    ComparisonLiteral,
    Constant,
    CurrentTime,
    FunctionCall,
    Literal,
    Row,
    StreamRule,
    Term,
    Variable,
    WindowedLiteral,
    constant_content,
    make_string_constant,
)

Point = dict[str, set[Row]]
#: Signs of predicates that programs cannot name, as clingo can.
_WORDS = {"#": "HASH", "..": "TO", ",": "AND", "-": "MINUS"}


def run(
    program: CheckedProgram,
    functions: Mapping[str, Callable[..., Any]],
    events: Iterable[tuple[int, Mapping[str, Iterable[Row]]]],
    complete_windows: bool,
) -> Iterable[tuple[int, Point, Point]]:
    """(t, model, derived) of each point; ``events`` are the points that are evaluated."""
    past: dict[int, Point] = {}
    first: int | None = None
    for t, given in events:
        first = t if first is None else first
        text = _Step(program, t, first, complete_windows).text(given, past)
        whole, kept, heads = _solved(text, functions, program)
        past[t] = kept
        yield t, whole, heads


class _Step:
    def __init__(self, program: CheckedProgram, t: int, first: int, complete: bool) -> None:
        self.program, self.t, self.first, self.complete = program, t, first, complete
        self.lines: list[str] = []
        self.windows: dict[Any, int] = {}
        self.names: set[str] = set()
        self.fresh = 0
        #: Whether ``_`` is clingo's own.
        self.projects = False

    def text(self, given: Mapping[str, Iterable[Row]], past: Mapping[int, Point]) -> str:
        for rule in self.program.rules:
            if rule.frequency is None or (self.t - self.first) % rule.frequency == 0:
                self._rule(rule)
        for rows in (given, self.program.facts):
            for predicate, found in rows.items():
                self.names.add(predicate)
                self.lines += [f"{_named('in', predicate, map(str, row))}." for row in found]
        for s, point in past.items():
            for predicate, found in point.items():
                self.lines += [
                    f"{_named('seen', predicate, [str(self.t - s), *map(str, row)])}."
                    for row in found
                    if s < self.t
                ]
        for predicate in self.names:
            arguments = [f"A{i}" for i in range(int(predicate.rpartition("/")[2]))]
            for kind in ("cur", "per"):
                self.lines.append(
                    f"{_named(kind, predicate, arguments)} :- {_named('in', predicate, arguments)}."
                )
            self.lines.append(
                f"{_named('seen', predicate, ['0', *arguments])} :- {_named('cur', predicate, arguments)}."
            )
        return "\n".join(self.lines)

    def _rule(self, rule: StreamRule) -> None:
        body = (
            ", ".join(part for literal in rule.body for part in self._literal(literal)) or "#true"
        )
        kinds = ["cur", *(() if rule.is_temporary else ("per",)), *(("der",) if rule.body else ())]
        for kind in kinds:
            self.lines.append(f"{self._atom(kind, rule.head)} :- {body}.")

    def _atom(self, kind: str, atom: Atom, *before: str) -> str:
        self.names.add(atom.predicate)
        return _named(kind, atom.predicate, [*before, *map(self._term, atom.arguments)])

    def _term(self, term: Term) -> str:
        if isinstance(term, CurrentTime):
            return str(term.value_at(self.t))
        if isinstance(term, Arithmetic):
            left, right = self._term(term.left_operand), self._term(term.right_operand)
            # clingo's division is not ours for negative numbers.
            return (
                f"@divided({left},{right})"
                if term.operator == "/"
                else f"({left}{term.operator}{right})"
            )
        if self.projects and isinstance(term, Variable) and term.is_anonymous:
            return "_"
        return (
            f"V{re.sub(r'[^A-Za-z0-9]', '_', term.name)}"
            if isinstance(term, Variable)
            else str(term)
        )

    def _literal(self, literal: Literal) -> list[str]:
        if isinstance(literal, WindowedLiteral):
            self.projects = literal.is_negated or (
                literal.operator == AT_MOST and not literal.binds
            )
            found = self._windowed(literal)
            self.projects = False
            return found
        if isinstance(literal, ComparisonLiteral):
            left, right = self._term(literal.left_term), self._term(literal.right_term)
            return [f"{'not ' if literal.is_negated else ''}{left}{literal.relation}{right}"]
        if isinstance(literal, FunctionCall):
            return self._external(literal)
        elements = ";".join(
            f"{','.join(map(self._term, element.terms))}:{','.join(p for inner in element.body for p in self._literal(inner))}"
            for element in literal.elements
        )
        return self._aggregate(literal, elements)

    def _aggregate(self, literal: Aggregate, elements: str) -> list[str]:
        guards = [
            f"#{literal.function}{{{elements}}}{relation}{self._term(term)}"
            for relation, term in literal.guards
        ]
        some = [f"#count{{{elements}}}>=1"] if literal.function in ("min", "max") else []
        if not literal.is_negated:
            return [*some, *guards]
        assert len(guards) == 1
        return [*some, f"not {guards[0]}"]

    def _external(self, literal: FunctionCall) -> list[str]:
        inputs = ",".join(map(self._term, literal.inputs))
        outputs = [self._term(term) for term in literal.outputs]
        if not outputs:
            return [f"@called_{literal.function}({inputs}){'!=' if literal.is_negated else '='}1"]
        return [
            f"({','.join(outputs)}{',' if len(outputs) == 1 else ''})=@called_{literal.function}({inputs})"
        ]

    def _windowed(self, literal: WindowedLiteral) -> list[str]:
        if literal.window is None:
            return [f"{'not ' if literal.is_negated else ''}{self._atom('cur', literal.atom)}"]
        key = literal.window.intervals
        if key not in self.windows:
            self.windows[key] = len(self.windows)
            offsets = [
                d for low, high in key for d in range(low, high + 1) if self.t - d >= self.first
            ]
            self.lines += [f"w{self.windows[key]}({d})." for d in offsets]
            self.lines += [f"c{self.windows[key]}({c})." for c in range(1, literal.window.size + 1)]
            self.lines.append(f"#defined w{self.windows[key]}/1.")
        number = self.windows[key]
        self.fresh += 1
        one, each = f"D{self.fresh}", f"E{self.fresh}"
        m = f"#count{{{each}:w{number}({each}),{self._atom('seen', literal.atom, each)}}}"
        some = [f"w{number}({one})", self._atom("seen", literal.atom, one)]
        observed = sum(
            1 for low, high in key for d in range(low, high + 1) if self.t - d >= self.first
        )
        if literal.operator == ALWAYS:
            can = observed > 0 and (not self.complete or observed == literal.window.size)
            if literal.is_negated:
                return [self._defined(literal.atom), f"{m}<{observed}" if can else "#true"]
            return [*some, f"{m}>={observed}"] if can else ["#false", *some]
        assert literal.count is not None
        c = self._term(literal.count)
        if literal.operator == AT_MOST:
            return [
                *(some if literal.binds else [self._defined(literal.atom)]),
                f"{m}{'>' if literal.is_negated else '<='}{c}",
            ]
        relation, opposite = ("=", "!=") if literal.operator == COUNT else (">=", "<")
        if literal.is_negated:
            return [self._defined(literal.atom), f"{m}{opposite}{c}"]
        if literal.operator == COUNT and isinstance(literal.count, Variable):
            return [*some, f"{c}={m}", f"c{number}({c})"]
        return [
            *some,
            f"{m}{relation}{c}",
            f"c{number}({c})" if not isinstance(literal.count, Constant) else "#true",
        ]

    def _defined(self, atom: Atom) -> str:
        """True, where the arithmetic of the arguments has a value."""
        return ", ".join(
            [
                f"{self._term(term)}={self._term(term)}"
                for term in atom.arguments
                if not (isinstance(term, Variable) and term.is_anonymous)
            ]
            or ["#true"]
        )


def _named(kind: str, predicate: str, arguments: Iterable[str]) -> str:
    name, arity = predicate.rsplit("/", 1)
    for sign, word in _WORDS.items():
        name = name.replace(sign, word)
    inner = ",".join(arguments)
    return f"{kind}_{name}_{arity}({inner})" if inner else f"{kind}_{name}_{arity}"


class _Context:
    """What clingo calls while it grounds."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], rule: StreamRule) -> None:
        for name, function in functions.items():
            setattr(self, f"called_{name}", self._calling(name, function, rule, functions))

    def _calling(
        self,
        name: str,
        function: Callable[..., Any],
        rule: StreamRule,
        functions: Mapping[str, Any],
    ) -> Callable[..., Any]:
        import clingo

        def called(*arguments: Any) -> Any:
            inputs = tuple(_value(argument) for argument in arguments)
            plain = function(
                *(value if isinstance(value, int) else constant_content(value) for value in inputs)
            )
            if isinstance(plain, bool):
                return clingo.Number(int(plain))
            width = len(plain) if isinstance(plain, tuple) else 1
            literal = FunctionCall(name, (), tuple(Variable("X") for _ in range(width)))
            outputs = call_function(functions, rule, literal, inputs)
            assert outputs is not None
            return clingo.Tuple_([clingo.parse_term(str(value)) for value in outputs])

        return called

    def divided(self, left: Any, right: Any) -> Any:
        import clingo

        number = clingo.SymbolType.Number
        if left.type != number or right.type != number or right.number == 0:
            return []
        found = abs(left.number) // abs(right.number)
        return clingo.Number(found if (left.number < 0) == (right.number < 0) else -found)


def _value(symbol: Any) -> int | str:
    import clingo

    if symbol.type == clingo.SymbolType.Number:
        return int(symbol.number)
    return (
        make_string_constant(symbol.string)
        if symbol.type == clingo.SymbolType.String
        else str(symbol)
    )


def _solved(
    text: str, functions: Mapping[str, Any], program: CheckedProgram
) -> tuple[Point, Point, Point]:
    import clingo

    control = clingo.Control(["--warn=none"], logger=lambda *_: None)
    control.add("base", [], text)
    control.ground(
        [("base", [])], context=_Context(functions, program.rules[0]) if program.rules else None
    )
    found: dict[str, Point] = {"cur": {}, "per": {}, "der": {}}
    models = 0
    with control.solve(yield_=True) as handle:
        for model in handle:
            models += 1
            for symbol in model.symbols(atoms=True):
                kind, _, rest = symbol.name.partition("_")
                if kind in found:
                    name, _, arity = rest.rpartition("_")
                    for sign, word in _WORDS.items():
                        name = name.replace(word, sign)
                    row = tuple(_value(argument) for argument in symbol.arguments)
                    found[kind].setdefault(f"{name}/{arity}", set()).add(row)
    assert models == 1, f"{models} models"
    return found["cur"], found["per"], found["der"]

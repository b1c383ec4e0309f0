"""Parser of rule programs; it reports all syntax errors in one pass, with their positions
(docs/RULES.md).

>>> read = read_programs([("a(X) :- b(X) always in [2].  b(1).", "program")], "sec")
>>> str(read.rules[0]), list(read.facts["b/1"])
('a(X) :- b(X) always in [2].', [(1,)])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final

from shiq.streams.rules.literals import (
    MOST_IN_INTERVAL,
    RELATIONS,
    interval_literals,
    read_atom,
    read_body,
    read_duration,
    read_term,
)
from shiq.streams.rules.syntax import (
    Atom,
    Constant,
    Literal,
    Position,
    PredicateMapping,
    ProgramProblem,
    Row,
    StreamRule,
    Term,
    Value,
    streaming_literals,
)
from shiq.streams.rules.tokens import (
    END,
    HASH,
    INTEGER,
    IRI,
    NAME,
    PUNCTUATION,
    WRONG,
    ProgramText,
    RuleToken,
    TokenCursor,
    TokenFault,
)

# Names for constants: ``#const n = 10.``, wherever it stands in the program.


def read_constant_definition(tokens: TokenCursor) -> tuple[RuleToken, Term]:
    """Parse ``#const name = value`` as the name's token and the value's term. Raises: TokenFault."""
    tokens.take_token()
    name = tokens.take_token()
    if name.kind != NAME:
        raise TokenFault(name, f"expected a name, found {name}; write #const name = value.")
    tokens.expect("=", "'='")
    return name, read_term(tokens)


def read_constants(texts: Iterable[ProgramText], unit: str) -> dict[str, tuple[Value, Position]]:
    """Evaluate the ``#const`` definitions of all program texts; a value may use names that are
    defined later.

    Definitions with a fault are skipped here and reported when statements are parsed. Each round
    settles at least one name or is the last.
    """
    some = [text for text in texts if "#const" in text.text]
    found: dict[str, tuple[Value, Position]] = {}
    while some:
        known = {name: value for name, (value, _) in found.items()}
        definitions = [one for text in some for one in _read_definitions(text, unit, known)]
        names = {name for name, _, _ in definitions}
        before = len(found)
        for name, term, place in definitions:
            if isinstance(term, Constant) and term.value not in names - {*found}:
                found.setdefault(name, (term.value, place))
        if len(found) == before:
            break
    return found


def _read_definitions(
    text: ProgramText, unit: str, known: Mapping[str, Value]
) -> list[tuple[str, Term, Position]]:
    """Parse the ``#const`` definitions of one program text, as (name, value, position); faulty ones
    are skipped.
    """
    tokens, found = TokenCursor(text, [], unit, known), []
    while tokens.peek().kind != END:
        if not tokens.is_next("#const"):
            tokens.take_token()
            continue
        try:
            name, term = read_constant_definition(tokens)
        except TokenFault:
            continue
        found.append((name.text, term, text.position_at(name.offset)))
    return found


_CONSTANT_PATTERN: Final = r"(?:-?[0-9]{1,18}|[a-z][A-Za-z0-9_]*)"
#: A fact of integers and symbols; programs have many.
_FACT_PATTERN: Final = re.compile(
    rf"\s*(?!not\s*\()([a-z][A-Za-z0-9_]*)\(\s*({_CONSTANT_PATTERN}(?:\s*,\s*{_CONSTANT_PATTERN})*)\s*\)\s*\.(?!\.)",
    re.ASCII,
)
_DIRECTIVES: Final = "#temp, #trigger_frequency, #show, #rdf, #const"


@dataclass
class ParsedProgram:
    """Rules, facts and directives of a program as parsed, before the safety check.

    facts: rows by predicate, with their positions.
    shown_predicates: predicates of #show; None without #show.
    constants: values of ``#const`` names, with their positions.
    problems: syntax errors.
    """

    rules: list[StreamRule] = field(default_factory=list)
    facts: dict[str, dict[Row, tuple[ProgramText, int]]] = field(default_factory=dict)
    shown_predicates: set[str] | None = None
    mappings: dict[str, tuple[PredicateMapping, Position]] = field(default_factory=dict)
    constants: dict[str, tuple[Value, Position]] = field(default_factory=dict)
    problems: list[ProgramProblem] = field(default_factory=list)


def read_programs(texts: Iterable[tuple[str, str]], unit: str) -> ParsedProgram:
    """Parse several program texts, each with its file name, as one program; syntax errors are in
    its ``problems``.
    """
    found, parts = ParsedProgram(), [ProgramText(file, text) for text, file in texts]
    found.constants = read_constants(parts, unit)
    for text in parts:
        _StatementReader(text, unit, found).read_statements()
    return found


class _StatementReader:
    """Parser of the statements of one program text; adds them to ``program``."""

    def __init__(self, text: ProgramText, unit: str, program: ParsedProgram) -> None:
        values = {name: value for name, (value, _) in program.constants.items()}
        self.tokens = TokenCursor(text, program.problems, unit, values)
        self.program = program

    def read_statements(self) -> None:
        """Parse all statements; after a syntax error continue behind the faulty statement."""
        while True:
            if not self.tokens.lookahead:
                self._read_simple_facts()
            begun = self.tokens.peek()
            if begun.kind == END:
                return
            try:
                self._read_statement(begun)
            except TokenFault as fault:
                self._recover_from_fault(fault)

    def _read_simple_facts(self) -> None:
        """Parse facts of integers and symbols quickly, by a regular expression."""
        source, facts = self.tokens.text.text, self.program.facts
        while (found := _FACT_PATTERN.match(source, self.tokens.lexer.offset)) is not None:
            name, arguments = found.groups()
            row = tuple(map(_parse_constant, arguments.split(",")))
            if self.tokens.constants:
                row = tuple(
                    self.tokens.constants.get(value, value) if isinstance(value, str) else value
                    for value in row
                )
            facts.setdefault(f"{name}/{len(row)}", {}).setdefault(
                row, (self.tokens.text, found.start(1))
            )
            self.tokens.lexer.offset = found.end()

    def _recover_from_fault(self, fault: TokenFault) -> None:
        """Report a syntax error and skip the rest of the statement.

        If a dot is missing, continue with the token that begins a line; otherwise behind the next
        dot.
        """
        if fault.token.kind != WRONG:
            self.tokens.problems.append(
                ProgramProblem(self.tokens.text.position_at(fault.token.offset), fault.message)
            )
        before = self.tokens.text.text[: fault.token.offset].rpartition("\n")[2]
        if fault.expected == "." and not before.strip() and fault.token.kind in (NAME, HASH):
            # The token itself may have been taken or only looked at.
            self.tokens.lookahead, self.tokens.lexer.offset = [], fault.token.offset
            return
        if (
            fault.token.text == "."
            and fault.token.kind == PUNCTUATION
            and all(token.offset != fault.token.offset for token in self.tokens.lookahead)
        ):
            return
        self._skip_tokens_past(".")
        if self.tokens.is_next("["):
            self._skip_tokens_past("]")  # the weight of a weak constraint

    def _skip_tokens_past(self, end: str) -> None:
        """Skip tokens up to and including ``end``."""
        while self.tokens.peek().kind != END and not self.tokens.accept(end):
            self.tokens.take_token()

    # --- statements

    def _read_statement(self, begun: RuleToken) -> None:
        """Parse the statement that begins with the token ``begun``: a directive, a rule or a fact."""
        self.tokens.begin_statement()
        if begun.text == "#show":
            self._read_show_directive()
        elif begun.text == "#rdf":
            self._read_rdf_directive()
        elif begun.text == "#const":
            self._check_constant_definition()
        elif begun.kind == HASH and begun.text not in ("#temp", "#trigger_frequency"):
            raise TokenFault(begun, f"{begun} is not supported; the directives are {_DIRECTIVES}")
        else:
            self._read_rule(begun)

    def _read_rule(self, begun: RuleToken) -> None:
        """Parse a rule or fact with its #temp and #trigger_frequency directives."""
        temporary, frequency = False, None
        while self.tokens.peek().kind == HASH:
            token = self.tokens.take_token()
            if token.text == "#temp" and not temporary:
                temporary = True
            elif token.text == "#trigger_frequency" and frequency is None:
                frequency = self._read_trigger_frequency(token)
            else:
                raise TokenFault(token, f"expected an atom, found {token}")
        self._refuse_unsupported_head()
        head = read_atom(self.tokens)
        self._refuse_syntax_after_head()
        body: tuple[Literal, ...] = ()
        if self.tokens.accept(":-"):
            if self.tokens.is_next("."):
                raise TokenFault(
                    self.tokens.peek(), "expected a literal behind ':-'; leave ':-' away for a fact"
                )
            body = read_body(self.tokens)
        if not self.tokens.is_next("."):
            wanted = "',' or '.'" if body else "':-' or '.'"
            raise TokenFault(
                self.tokens.peek(), f"expected {wanted}, found {self.tokens.peek()}", "."
            )
        self.tokens.take_token()
        if self.tokens.intervals and not body:
            self._add_interval_facts(head, begun, temporary or frequency is not None)
            return
        body += tuple(interval_literals(self.tokens))
        for literal, _ in streaming_literals(body):
            if ".." in literal.atom.name:
                low, high = map(int, literal.atom.name.split(".."))
                if literal.atom.predicate not in self.program.facts:
                    rows: Iterable[Row] = ((number,) for number in range(low, high + 1))
                    self.program.facts[literal.atom.predicate] = dict.fromkeys(
                        rows, (self.tokens.text, begun.offset)
                    )
        row = tuple(argument.value for argument in head.arguments if isinstance(argument, Constant))
        if body or temporary or frequency is not None or len(row) < len(head.arguments):
            number = len(self.program.rules)
            place = self.tokens.text.position_at(begun.offset)
            self.program.rules.append(StreamRule(head, body, temporary, frequency, number, place))
        else:
            self.program.facts.setdefault(head.predicate, {}).setdefault(
                row, (self.tokens.text, begun.offset)
            )

    def _add_interval_facts(self, head: Atom, begun: RuleToken, is_special: bool) -> None:
        """Add all facts that a fact with intervals stands for, as p(1..3) for p(1), p(2), p(3).
        ``is_special``: it has a directive, which is refused.
        """
        columns: list[Sequence[Value]] = []
        for argument in head.arguments:
            if argument in self.tokens.intervals:
                low, high = map(int, str(argument).split(".."))
                columns.append(range(low, high + 1))
            elif isinstance(argument, Constant):
                columns.append((argument.value,))
        if is_special or len(columns) < len(head.arguments):
            raise TokenFault(
                begun,
                "an interval stands in a fact of constants, or in a rule; give this one a body",
            )
        if prod(map(len, columns)) > MOST_IN_INTERVAL:
            raise TokenFault(
                begun, f"the intervals of a fact stand for no more than {MOST_IN_INTERVAL:,} facts"
            )
        rows = self.program.facts.setdefault(head.predicate, {})
        for row in product(*columns):
            rows.setdefault(row, (self.tokens.text, begun.offset))

    def _check_constant_definition(self) -> None:
        """Check a ``#const`` definition: its value is a constant, and the name is defined once."""
        name, value = read_constant_definition(self.tokens)
        self.tokens.expect(".", "'.'")
        if not isinstance(value, Constant) or value.value in self.program.constants.keys() - {
            *self.tokens.constants
        }:
            raise TokenFault(name, f"#const {name.text}: its value is no constant")
        known = self.program.constants.get(name.text)
        if known is None:
            raise TokenFault(name, f"#const {name.text} is defined by itself")
        if known[1] != self.tokens.text.position_at(name.offset):
            raise TokenFault(
                name,
                f"#const {name.text} is defined twice, before in {known[1].file}, line {known[1].line}; keep one",
            )

    def _read_trigger_frequency(self, token: RuleToken) -> int:
        """Parse the duration of #trigger_frequency(…), in time units."""
        self.tokens.expect("(", "'('")
        frequency, _ = read_duration(self.tokens, ")")
        self.tokens.take_token()
        if frequency == 0:
            raise TokenFault(token, "#trigger_frequency(0): write a whole number of at least 1")
        return frequency

    def _refuse_unsupported_head(self) -> None:
        """Raise TokenFault for heads of ASP-Core-2 that stream rules do not have: constraints and
        choices.
        """
        token = self.tokens.peek()
        if token.text == ":-":
            raise TokenFault(
                token, "constraints are not supported; give the rule a head, as in alarm :- …"
            )
        if token.text == ":~":
            raise TokenFault(
                token,
                "weak constraints are not supported; there is one model, nothing is optimised",
            )
        if token.text == "{" or (
            token.kind == INTEGER and self.tokens.peek(1).text in ("{", *RELATIONS)
        ):
            raise TokenFault(
                token, "choice rules are not supported; there is one model, nothing is chosen"
            )

    def _refuse_syntax_after_head(self) -> None:
        """Raise TokenFault for ASP-Core-2 syntax after a head that stream rules do not have, as
        disjunction and queries.
        """
        token = self.tokens.peek()
        if token.text in ("|", ";") or (
            token.text == "v" and token.kind == NAME and self.tokens.peek(1).kind == NAME
        ):
            raise TokenFault(
                token,
                "disjunction is not supported; write a rule for each head, with conditions that tell them apart",
            )
        if token.text == "?":
            raise TokenFault(
                token, "queries are not supported; --show and #show select what is printed"
            )
        if token.text == ":":
            raise TokenFault(
                token,
                "conditional literals are not supported; give the condition a rule of its own",
            )
        if token.text in RELATIONS:
            raise TokenFault(token, "a head is an atom, no comparison")

    def _read_show_directive(self) -> None:
        """Parse a #show directive, which selects a predicate for output."""
        self.tokens.take_token()
        name = self.tokens.take_token()
        if name.kind != NAME:
            raise TokenFault(
                name, f"expected the name of a predicate, found {name}; write #show name/arity."
            )
        self.tokens.expect("/", "'/' and the arity")
        self.program.shown_predicates = {
            *(self.program.shown_predicates or ()),
            f"{name.text}/{self._read_arity()}",
        }
        self.tokens.accept(".")

    def _read_arity(self) -> int:
        """Parse the arity of a predicate in a directive, as the 2 of p/2."""
        token = self.tokens.take_token()
        if token.kind != INTEGER or len(token.text) > 4:
            raise TokenFault(token, f"expected an arity, found {token}")
        return int(token.text)

    def _read_rdf_directive(self) -> None:
        """Parse an #rdf directive, which maps a predicate to a class or property."""
        place = self.tokens.text.position_at(self.tokens.take_token().offset)
        name = self.tokens.take_token()
        if name.kind != NAME:
            raise TokenFault(
                name,
                f"expected the name of a predicate, found {name}; write #rdf name/arity = <IRI>.",
            )
        self.tokens.expect("/", "'/' and the arity, 1 for a class or 2 for a property")
        token, scale = self.tokens.peek(), None
        arity = self._read_arity()
        if arity not in (1, 2):
            raise TokenFault(token, "a class has 1 argument, a property 2")
        self.tokens.expect("=", "'='")
        iri = self.tokens.take_token()
        if iri.kind != IRI:
            raise TokenFault(iri, f"expected an <IRI>, found {iri}")
        if arity == 2 and self.tokens.accept("scale"):
            factor = self.tokens.take_token()
            if factor.kind != INTEGER or not 1 <= len(factor.text) <= 18 or int(factor.text) < 1:
                raise TokenFault(factor, f"expected a whole number of at least 1, found {factor}")
            scale = int(factor.text)
        self.tokens.expect(".", "'.'" if arity == 1 or scale else "'.' or 'scale'")
        predicate = f"{name.text}/{arity}"
        mapped = PredicateMapping(predicate, iri.text[1:-1], scale)
        for other, where in self.program.mappings.values():
            if (other.predicate == predicate or other.iri == mapped.iri) and other != mapped:
                same = predicate if other.predicate == predicate else f"<{mapped.iri}>"
                self.tokens.problems.append(
                    ProgramProblem(
                        place, f"{same} is mapped twice, before in line {where.line}; keep one"
                    )
                )
        self.program.mappings[predicate] = mapped, place


def _parse_constant(text: str) -> Value:
    """Convert the text of an integer or symbol to a constant."""
    text = text.strip()
    return text if text[0].isalpha() else int(text)

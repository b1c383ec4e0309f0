"""Parsed and checked rule programs, ready to run, and the key by which a program can be split into
shards.

>>> program = Program.parse("d(X) :- b(X) in [1].")
>>> [(model.t, model.derived) for model in program.run([(0, ["b(1)"]), (2, [])])]
[(0, ['d(1)']), (1, ['d(1)']), (2, [])]

A key is an argument position for each predicate. In every rule, the head and all streaming literals
have the same variable there. The model is then the union of the models of the key's values.
Predicates defined only by facts need no key: every shard has all of their facts. Each rule needs a
positive literal with the variable; otherwise a shard would derive atoms that belong to other shards
(docs/RULES.md).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiq.deprecation import RenamedAttribute, accept_old_arguments
from shiq.errors import InputError, UsageError
from shiq.streams.front.event import UNITS
from shiq.streams.rules.model import Model
from shiq.streams.rules.operators import Functions, read_functions
from shiq.streams.rules.reader import ParsedProgram, read_programs
from shiq.streams.rules.safety import (
    all_literals,
    global_variables,
    order_rule_body,
    project_anonymous_variables,
    split_recursive_predicates,
)
from shiq.streams.rules.splitting import DependencyGraphs, build_dependency_graphs, make_strata
from shiq.streams.rules.syntax import (
    AT_MOST,
    Aggregate,
    Atom,
    CheckedProgram,
    FunctionCall,
    Position,
    ProgramError,
    ProgramProblem,
    StreamRule,
    Value,
    Variable,
    WindowedLiteral,
    is_user_predicate,
    streaming_literals,
)

if TYPE_CHECKING:
    from shiq.streams.rules.session import RuleSession


@accept_old_arguments(checked="checked_program", read_as="parsed_program")
@dataclass(frozen=True)
class Program:
    """Checked program of stream rules, ready to run.

    parsed_program: the program as parsed, for the positions of facts.
    """

    checked_program: CheckedProgram
    functions: Functions
    unit: str
    parsed_program: ParsedProgram

    # Old names, until 0.3.
    checked = RenamedAttribute("checked_program")
    read_as = RenamedAttribute("parsed_program")
    undefined = RenamedAttribute("undefined_predicates")

    @classmethod
    def parse(
        cls,
        text: str,
        functions: Functions | None = None,
        unit: str = "sec",
        *,
        file: str = "program",
        at_most_binds: bool = False,
    ) -> Program:
        """Parse and check the program in ``text``.

        Raises: ProgramError with every fault, UsageError for an unknown unit.
        """
        return cls._from_texts(
            [(text, file)], {} if functions is None else functions, unit, at_most_binds
        )

    @classmethod
    def read(
        cls,
        path: str | Path | Iterable[str | Path],
        python: str | Path | None = None,
        unit: str = "sec",
        *,
        at_most_binds: bool = False,
    ) -> Program:
        """Read and check the program in one file or in several files together.

        Raises: ProgramError, InputError.
        """
        paths = [path] if isinstance(path, str | Path) else list(path)
        functions = read_functions(python) if python is not None else {}
        return cls._from_texts(
            [(_read_text(Path(one)), str(one)) for one in paths], functions, unit, at_most_binds
        )

    @classmethod
    def _from_texts(
        cls, texts: Iterable[tuple[str, str]], functions: Functions, unit: str, at_most_binds: bool
    ) -> Program:
        """Parse and check the program that several texts form, each with its file name."""
        if unit not in UNITS:
            raise UsageError(f"unknown unit {unit!r}", f"The units are {', '.join(UNITS)}.")
        found = read_programs(texts, unit)
        return cls(check_program(found, functions, at_most_binds), functions, unit, found)

    @cached_property
    def key(self) -> ProgramKey:
        """Argument positions by which the program's atoms can be split into independent shards, or
        the obstacle.
        """
        return find_key(self.checked_program.rules, set(self.checked_program.facts))

    @property
    def horizon(self) -> int:
        """Length of the longest window, in time units."""
        return max(self.checked_program.horizons.values(), default=0)

    def undefined_predicates(self, brought: Set[str]) -> list[str]:
        """Warnings, a sentence each, about body predicates without rules, facts or input
        (``brought``: predicates that had input).

        brought: the predicates that the input had.
        """
        heads = {rule.head.predicate for rule in self.checked_program.rules}
        known = {
            *heads,
            *self.checked_program.facts,
            *brought,
            *(mapped.predicate for mapped in self.checked_program.mappings),
        }
        missing: dict[str, Position] = {}
        for rule in self.checked_program.rules:
            for literal, _ in streaming_literals(rule.body):
                if literal.atom.predicate not in known and is_user_predicate(
                    literal.atom.predicate
                ):
                    missing.setdefault(literal.atom.predicate, literal.position)
        found = []
        for predicate, position in missing.items():
            near = get_close_matches(predicate, sorted(filter(is_user_predicate, known)), 1, 0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            found.append(f"{position}: nothing defines {predicate}, and no input brought it{hint}")
        return found

    @cached_property
    def splitting(self) -> DependencyGraphs:
        """Dependency graph, component graph and macro-nodes (groups of predicates that are
        evaluated together) of the program.
        """
        return build_dependency_graphs(self.checked_program.rules)

    @cached_property
    def digest(self) -> str:
        """Hash of the program's content, independent of comments and positions."""
        told = [
            *map(str, self.checked_program.rules),
            *(f"{name}{row}" for name, rows in self.checked_program.facts.items() for row in rows),
        ]
        shown = (
            []
            if self.checked_program.shown_predicates is None
            else ["#show", *self.checked_program.shown_predicates]
        )
        lines = [*told, *shown, *map(str, self.checked_program.mappings), self.unit]
        return hashlib.sha256(
            "\n".join(sorted(lines)).encode("utf-8", "surrogatepass")
        ).hexdigest()[:16]

    def session(self, **options: Any) -> RuleSession:
        """Open a session: rows are pushed into it, and it returns the models of closed time points.

        options: fields of `shiq.streams.rules.session.EvaluationOptions`.
        Raises: UsageError.
        """
        from shiq.streams.rules.session import EvaluationOptions, RuleSession

        known = [one.name for one in fields(EvaluationOptions)]
        if unknown := sorted(options.keys() - {*known}):
            said = f"a session has no option {unknown[0]!r}"
            raise UsageError(
                said,
                f"Its options are {', '.join(known)}; the unit is given where the program is parsed.",
            )
        return RuleSession(self, EvaluationOptions(**options))

    def run(self, events: Iterable[tuple[int, Any]], **options: Any) -> Iterator[Model]:
        """Yield the models of the time points of ``events``, each a pair (t, atoms) as
        `RuleSession.push` takes them.
        """
        session = self.session(**options)
        for t, atoms in events:
            yield from session.push_lazily(t, atoms)
        yield from session.finish_lazily()

    def restore(self, path: str | Path) -> RuleSession:
        """Load a session that `RuleSession.save` wrote.

        Raises: OperationalError if it is damaged or of another program.
        """
        from shiq.streams.rules.session import load_session

        return load_session(self, Path(path))


def check_program(
    parsed: ParsedProgram, functions: Mapping[str, Any], at_most_binds: bool = False
) -> CheckedProgram:
    """Check that the rules of a parsed program are safe and stratified, and prepare them for
    evaluation.

    Raises: ProgramError with every fault.
    """
    problems = list(parsed.problems)
    rules = tuple(
        order_rule_body(rule, at_most_binds, problems)
        for rule in project_anonymous_variables(parsed.rules, at_most_binds, problems)
    )
    cycles: list[ProgramProblem] = []
    layers = make_strata(rules, cycles)
    parts: Mapping[str, Sequence[str]] = {}
    if cycles:
        separated, left = split_recursive_predicates(rules), list[ProgramProblem]()
        layers = make_strata(separated.rules, left)
        if left:
            problems += cycles
        else:
            rules, parts = tuple(separated.rules), separated.parts
    horizons: dict[str, int] = {}
    for rule in rules:
        for literal in all_literals(rule.body):
            if isinstance(literal, FunctionCall) and literal.function not in functions:
                said = f"no file defines the function {literal.function}; name the file that defines it (--python)"
                problems.append(ProgramProblem(literal.position, said))
        for windowed_literal, _ in streaming_literals(rule.body):
            if windowed_literal.window is not None:
                predicate = windowed_literal.atom.predicate
                horizons[predicate] = max(
                    horizons.get(predicate, 0), windowed_literal.window.horizon
                )
    if problems:
        raise ProgramError(problems)
    facts = {predicate: list(rows) for predicate, rows in parsed.facts.items()}
    facts |= {part: facts[name] for name, those in parts.items() if name in facts for part in those}
    shown = None if parsed.shown_predicates is None else frozenset(parsed.shown_predicates)
    mapped = tuple(one for one, _ in parsed.mappings.values())
    return CheckedProgram(rules, facts, layers, horizons, shown, mapped, parts)


def _read_text(path: Path) -> str:
    """Read a UTF-8 file. Raises: InputError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error})", "Check the path."
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}:{line}: this is no UTF-8 (byte {error.object[error.start]:#04x})",
            "Save it as UTF-8.",
        ) from error


#: The position of the key by predicate, from 0.
Key = Mapping[str, int]


@accept_old_arguments(why="obstacle")
@dataclass(frozen=True)
class ProgramKey:
    """Sharding key of a program: by predicate, the argument position whose value selects the shard.
    ``key`` is None if an ``obstacle`` prevents one.
    """

    key: Key | None
    obstacle: str = ""

    # Old names, until 0.3.
    why = RenamedAttribute("obstacle")

    def __str__(self) -> str:
        if self.key is None:
            return f"no key: {self.obstacle}"
        return "key: " + ", ".join(
            f"argument {at + 1} of {predicate}" for predicate, at in sorted(self.key.items())
        )


def compute_shard(value: Value, shards: int) -> int:
    """Index of the shard that owns a key value, the same on every machine.

    >>> compute_shard(7, 3) == compute_shard(7, 3) != compute_shard("k4", 3)
    True
    """
    return zlib.crc32(str(value).encode("utf-8", "surrogatepass")) % shards


def find_key(rules: Sequence[StreamRule], facts: Set[str]) -> ProgramKey:
    """Find argument positions by which the rules can be evaluated in independent shards, or the
    rule that prevents it.

    facts: predicates that have facts.
    """
    apart = facts - {rule.head.predicate for rule in rules}
    for rule in rules:
        if not any(
            isinstance(x, WindowedLiteral)
            and _needs_present_atom(x)
            and x.atom.predicate not in apart
            for x in rule.body
        ):
            return ProgramKey(
                None, f"{rule.position}: {rule} has no positive literal that could hold it"
            )
    key: dict[str, int] = {}
    for group in _group_connected_rules(
        [(rule, _atoms_needing_key(rule, apart)) for rule in rules]
    ):
        found = _choose_key_positions(group, apart)
        if isinstance(found, StreamRule):
            return ProgramKey(
                None,
                f"{found.position}: {found} holds no variable at the same places as the rules before it",
            )
        key.update(found)
    return ProgramKey(key) if rules else ProgramKey(None, "there are no rules")


def _needs_present_atom(literal: WindowedLiteral) -> bool:
    """Whether a literal can be true only through atoms in its window, so only in the shard that
    holds them.
    """
    return not literal.is_negated and (literal.operator != AT_MOST or literal.binds)


def _atoms_needing_key(rule: StreamRule, fact_predicates: Set[str]) -> list[Atom]:
    """Head and streaming atoms of a rule that need a key position: all but those of predicates
    defined by facts alone (``fact_predicates``).
    """
    return [
        rule.head,
        *(
            x.atom
            for x, _ in streaming_literals(rule.body)
            if x.atom.predicate not in fact_predicates
        ),
    ]


def _group_connected_rules(
    rules: list[tuple[StreamRule, list[Atom]]],
) -> Iterator[list[tuple[StreamRule, list[Atom]]]]:
    """Group the rules that are connected by shared predicates. In a group, each rule shares a
    predicate with an earlier one.
    """
    having: dict[str, list[int]] = {}
    for number, (_, atoms) in enumerate(rules):
        for atom in atoms:
            having.setdefault(atom.predicate, []).append(number)
    seen = set[int]()
    for first in range(len(rules)):
        group = [] if first in seen else [first]
        seen.add(first)
        for number in group:
            for other in (i for atom in rules[number][1] for i in having.pop(atom.predicate, ())):
                if other not in seen:
                    seen.add(other)
                    group.append(other)
        if group:
            yield [rules[number] for number in group]


def _choose_key_positions(
    group: list[tuple[StreamRule, list[Atom]]], fact_predicates: Set[str]
) -> Key | StreamRule:
    """Choose a key position for each predicate in a group of connected rules; return the
    obstructing rule if that is impossible.
    """
    waiting: list[tuple[int, dict[str, int]]] = [(0, {})]
    farthest = 0
    while waiting:
        at, key = waiting.pop()
        if at == len(group):
            return key
        farthest = max(farthest, at)
        rule, atoms = group[at]
        for name in sorted(global_variables(rule), reverse=True):
            if not any(
                _spans_several_keys(literal, name, fact_predicates)
                for literal in rule.body
                if isinstance(literal, Aggregate)
            ):
                waiting += [
                    (at + 1, {**key, **chosen}) for chosen in _list_key_placements(atoms, name, key)
                ]
    return group[farthest][0]


def _spans_several_keys(literal: Aggregate, name: str, fact_predicates: Set[str]) -> bool:
    """Whether an aggregate ranges over atoms of several shards, when the shard is chosen by the
    variable ``name``.
    """
    inside = [
        x.atom
        for element in literal.elements
        for x in element.body
        if isinstance(x, WindowedLiteral)
    ]
    return any(
        atom.predicate not in fact_predicates and not _variable_positions(atom, name)
        for atom in inside
    )


def _variable_positions(atom: Atom, name: str) -> list[int]:
    """Indexes of the arguments of an atom that are the variable ``name``."""
    return [
        i
        for i, term in enumerate(atom.arguments)
        if isinstance(term, Variable) and term.name == name
    ]


def _list_key_placements(
    atoms: Sequence[Atom], name: str, key: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Yield all choices of a key position for each atom, at the variable ``name``, that agree with
    the positions ``key`` chosen before.
    """
    if not atoms:
        yield {}
        return
    first, rest = atoms[0], atoms[1:]
    for position in _variable_positions(first, name):
        if key.get(first.predicate, position) == position:
            for chosen in _list_key_placements(rest, name, {**key, first.predicate: position}):
                yield {first.predicate: position, **chosen}

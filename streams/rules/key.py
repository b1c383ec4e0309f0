"""By key: whether a program's model is the union of those of its keys (docs/RULES.md).

A key is an argument position for each predicate, such that in every rule the head and all
streaming literals hold one variable there. Predicates of facts alone are apart: every shard has
them whole. Each rule needs one positive literal with the variable, or shards would derive atoms
of others' keys.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from shiq.streams.rules.safety import global_names
from shiq.streams.rules.syntax import (
    AT_MOST,
    Aggregate,
    Atom,
    StreamRule,
    Value,
    Variable,
    WindowedLiteral,
    windowed,
)

#: The position of the key by predicate, from 0.
Key = Mapping[str, int]


@dataclass(frozen=True)
class ProgramKey:
    """``key``: None where there is none, and ``why`` says which rule prevents one."""

    key: Key | None
    why: str = ""

    def __str__(self) -> str:
        if self.key is None:
            return f"no key: {self.why}"
        return "key: " + ", ".join(
            f"argument {at + 1} of {predicate}" for predicate, at in sorted(self.key.items())
        )


def shard_of(value: Value, shards: int) -> int:
    """Which of ``shards`` has this key; the same on every machine.

    >>> shard_of(7, 3) == shard_of(7, 3) != shard_of("k4", 3)
    True
    """
    return zlib.crc32(str(value).encode("utf-8", "surrogatepass")) % shards


def find_key(rules: Sequence[StreamRule], facts: Set[str]) -> ProgramKey:
    """A key of the program, or the rule that prevents one. ``facts``: the predicates that facts
    are given of.
    """
    apart = facts - {rule.head.predicate for rule in rules}
    for rule in rules:
        if not any(
            isinstance(x, WindowedLiteral) and _has_come(x) and x.atom.predicate not in apart
            for x in rule.body
        ):
            return ProgramKey(
                None, f"{rule.position}: {rule} has no positive literal that could hold it"
            )
    key: dict[str, int] = {}
    for group in _connected([(rule, _atoms(rule, apart)) for rule in rules]):
        found = _solved(group, apart)
        if isinstance(found, StreamRule):
            return ProgramKey(
                None,
                f"{found.position}: {found} holds no variable at the same places as the rules before it",
            )
        key.update(found)
    return ProgramKey(key) if rules else ProgramKey(None, "there are no rules")


def _has_come(literal: WindowedLiteral) -> bool:
    """Whether the literal is true of atoms in its window alone, so that no other shard than
    theirs has it true.
    """
    return not literal.negated and (literal.operator != AT_MOST or literal.binds)


def _atoms(rule: StreamRule, apart: Set[str]) -> list[Atom]:
    return [rule.head, *(x.atom for x, _ in windowed(rule.body) if x.atom.predicate not in apart)]


def _connected(
    rules: list[tuple[StreamRule, list[Atom]]],
) -> Iterator[list[tuple[StreamRule, list[Atom]]]]:
    """The rules by groups that share predicates, in each one after those that it shares some with."""
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


def _solved(group: list[tuple[StreamRule, list[Atom]]], apart: Set[str]) -> Key | StreamRule:
    """The positions of the predicates of a group, or the rule farthest on that none agree with."""
    waiting: list[tuple[int, dict[str, int]]] = [(0, {})]
    farthest = 0
    while waiting:
        at, key = waiting.pop()
        if at == len(group):
            return key
        farthest = max(farthest, at)
        rule, atoms = group[at]
        for name in sorted(global_names(rule), reverse=True):
            if not any(
                _hides(literal, name, apart)
                for literal in rule.body
                if isinstance(literal, Aggregate)
            ):
                waiting += [(at + 1, {**key, **chosen}) for chosen in _places(atoms, name, key)]
    return group[farthest][0]


def _hides(literal: Aggregate, name: str, apart: Set[str]) -> bool:
    """Whether an aggregate counts over more than one key."""
    inside = [
        x.atom
        for element in literal.elements
        for x in element.body
        if isinstance(x, WindowedLiteral)
    ]
    return any(atom.predicate not in apart and not _holding(atom, name) for atom in inside)


def _holding(atom: Atom, name: str) -> list[int]:
    return [
        i
        for i, term in enumerate(atom.arguments)
        if isinstance(term, Variable) and term.name == name
    ]


def _places(atoms: Sequence[Atom], name: str, key: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The ways to put the key of each atom's predicate where the variable is, in agreement with
    ``key``.
    """
    if not atoms:
        yield {}
        return
    first, rest = atoms[0], atoms[1:]
    for position in _holding(first, name):
        if key.get(first.predicate, position) == position:
            for chosen in _places(rest, name, {**key, first.predicate: position}):
                yield {first.predicate: position, **chosen}

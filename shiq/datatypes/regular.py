"""Regular sets of strings: expressions with complement and intersection, decided by derivatives.

Expressions are interned, so that ``is`` is equality and equal derivatives are found again: the derivatives of an
expression are the states of a deterministic automaton, built only as far as a question needs it. Every question that would
take more than `FUEL` steps is left undecided (None).
Source: Brzozowski, *Derivatives of Regular Expressions*, JACM 1964.

>>> word = sequence(text("a"), choice([text("b"), text("c")]))
>>> Automaton(word).count(math.inf), Automaton(word).accepts("ac"), Automaton(both([word, negation(text("ab"))])).count(9)
(2, True, 1)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from itertools import count as counter
from typing import Any, Final
from weakref import WeakValueDictionary

from shiq.datatypes.characters import LAST, Ranges, ranges_of, size

#: Steps after which a question is given up: a second or two.
FUEL: Final = 400_000


class Regex:
    """An interned node: ``kind`` with ``parts`` (nodes, character ranges or numbers)."""

    __slots__ = ("__weakref__", "kind", "nullable", "parts", "serial")
    kind: str
    parts: tuple[Any, ...]
    nullable: bool
    serial: int


_interned: WeakValueDictionary[tuple[Any, ...], Regex] = WeakValueDictionary()
_serials = counter()


def _node(kind: str, nullable: bool, *parts: Any) -> Regex:
    key = (kind, *parts)
    found = _interned.get(key)
    if found is None:
        found = Regex()
        found.kind, found.parts, found.nullable, found.serial = kind, parts, nullable, next(_serials)
        _interned[key] = found
    return found


EMPTY: Final = _node("or", False)
EPSILON: Final = _node("epsilon", True)
EVERYTHING: Final = _node("and", True)


def characters(ranges: Ranges) -> Regex:
    """One character out of ``ranges``."""
    return _node("characters", False, ranges) if ranges else EMPTY


def sequence(*parts: Regex) -> Regex:
    result = EPSILON
    for part in reversed(parts):
        result = _pair(part, result)
    return result


def _pair(first: Regex, rest: Regex) -> Regex:
    if first is EMPTY or rest is EMPTY:
        return EMPTY
    if first is EPSILON:
        return rest
    if rest is EPSILON:
        return first
    if first.kind == "sequence":
        return _pair(first.parts[0], _pair(first.parts[1], rest))
    return _node("sequence", first.nullable and rest.nullable, first, rest)


def text(string: str) -> Regex:
    return sequence(*(characters(ranges_of([(ord(c), ord(c))])) for c in string))


def _flat(kind: str, parts: Iterable[Regex]) -> list[Regex]:
    distinct: dict[int, Regex] = {}
    for part in parts:
        for inner in part.parts if part.kind == kind else (part,):
            distinct[inner.serial] = inner
    return [distinct[serial] for serial in sorted(distinct)]


def choice(parts: Iterable[Regex]) -> Regex:
    """The union."""
    flat = _flat("or", parts)
    if EVERYTHING in flat:
        return EVERYTHING
    if len(flat) == 1:
        return flat[0]
    return _node("or", any(p.nullable for p in flat), *flat)


def both(parts: Iterable[Regex]) -> Regex:
    """The intersection."""
    flat = _merge_lengths(_flat("and", parts))
    if EMPTY in flat:
        return EMPTY
    if len(flat) == 1:
        return flat[0]
    return _node("and", all(p.nullable for p in flat), *flat)


def _merge_lengths(parts: list[Regex]) -> list[Regex]:
    """One repetition for all repetitions of the same characters, and for complements of such: they only bound the length."""
    spans: dict[Regex, list[tuple[int, float]]] = {}
    for node in parts:
        if _is_length(node):
            part, low, high = node.parts
            spans[part] = [(max(low, a), b if high is None else min(high, b)) for a, b in spans.get(part, [(0, math.inf)])]
    others = []
    for node in parts:
        inner = node.parts[0] if node.kind == "not" else None
        if inner is not None and _is_length(inner) and inner.parts[0] in spans:
            part, low, high = inner.parts
            outside = [(0, low - 1)] if high is None else [(0, low - 1), (high + 1, math.inf)]
            spans[part] = [(max(a, c), min(b, d)) for a, b in spans[part] for c, d in outside]
        elif not _is_length(node):
            others.append(node)
    for part, pieces in spans.items():
        lengths = [repeat(part, a, None if b == math.inf else int(b)) for a, b in pieces if a <= b]
        others.append(choice(lengths))
    return sorted(others, key=lambda node: node.serial)


def _is_length(node: Regex) -> bool:
    return node.kind == "repeat" and node.parts[0].kind == "characters"


def negation(part: Regex) -> Regex:
    """Every other string of code points."""
    if part.kind == "not":
        inner: Regex = part.parts[0]
        return inner
    if part is EMPTY or part is EVERYTHING:
        return EVERYTHING if part is EMPTY else EMPTY
    return _node("not", not part.nullable, part)


def repeat(part: Regex, low: int = 0, high: int | None = None) -> Regex:
    """The expression for ``low`` to ``high`` copies of ``part``; None for no upper bound."""
    if part.nullable:
        low = 0
    if high == 0 or part is EPSILON:
        return EPSILON
    if part is EMPTY:
        return EMPTY if low else EPSILON
    if (low, high) == (1, 1):
        return part
    if part.kind == "repeat" and part.parts[1] <= 1:
        inner, inner_low, inner_high = part.parts  # the numbers of copies that arise have no gaps
        return repeat(inner, inner_low * low, None if high is None or inner_high is None else inner_high * high)
    return _node("repeat", low == 0, part, low, high)


def _classes(node: Regex) -> set[Ranges]:
    found: set[Ranges] = set()
    seen: set[int] = set()
    stack = [node]
    while stack:
        here = stack.pop()
        if here.serial in seen:
            continue
        seen.add(here.serial)
        for part in here.parts:
            if isinstance(part, Regex):
                stack.append(part)
            elif here.kind == "characters":
                found.add(part)
    return found


class _OutOfFuelError(Exception):
    """The question takes too many steps."""


class Automaton:
    """The automaton of one expression, built as it is walked. Its letters are the blocks of characters that no class of the
    expression tells apart."""

    def __init__(self, start: Regex) -> None:
        self.start = start
        signatures: dict[int, set[int]] = {}
        for index, ranges in enumerate(_classes(start)):
            for low, high in ranges:
                for flip in (low, high + 1):
                    signatures.setdefault(flip, set()).symmetric_difference_update((index,))
        self._starts = sorted({0, *signatures})
        self._letter: list[int] = []
        self.weights: list[int] = []
        self._example: list[int] = []
        known: dict[frozenset[int], int] = {}
        state: frozenset[int] = frozenset()
        for low, following in zip(self._starts, [*self._starts[1:], LAST + 1]):
            state ^= signatures.get(low, set())
            letter = known.setdefault(state, len(self.weights))
            if letter == len(self.weights):
                self.weights.append(0)
                self._example.append(low)
            self.weights[letter] += max(0, following - low)
            self._letter.append(letter)
        self._moves: dict[Regex, list[Regex | None]] = {}
        self._fuel = 0

    def _move(self, state: Regex, letter: int) -> Regex:
        """The derivative of ``state``: the strings that may follow ``letter`` in it."""
        row = self._moves.get(state)
        if row is None:
            row = self._moves[state] = [None] * len(self.weights)
        target = row[letter]
        if target is None:
            target = row[letter] = self._derivative(state, letter)
            self._fuel -= 1 + len(state.parts) + len(target.parts)
            if self._fuel < 0:
                raise _OutOfFuelError
        return target

    def _derivative(self, node: Regex, letter: int) -> Regex:
        match node.kind:
            case "characters":
                ranges: Ranges = node.parts[0]
                code = self._example[letter]
                at = bisect_right(ranges, (code, LAST + 1)) - 1
                return EPSILON if at >= 0 and code <= ranges[at][1] else EMPTY
            case "sequence":
                first, rest = node.parts
                left = _pair(self._move(first, letter), rest)
                return choice([left, self._move(rest, letter)]) if first.nullable else left
            case "or":
                return choice([self._move(part, letter) for part in node.parts])
            case "and":
                return both([self._move(part, letter) for part in node.parts])
            case "not":
                return negation(self._move(node.parts[0], letter))
            case "repeat":
                part, low, high = node.parts
                return _pair(self._move(part, letter), repeat(part, max(low - 1, 0), None if high is None else high - 1))
        return EMPTY

    def accepts(self, string: str) -> bool | None:
        """Whether ``string`` is in the set; None if undecided."""
        state = self.start
        self._fuel = FUEL
        try:
            for character in string:
                letter = self._letter[bisect_right(self._starts, ord(character)) - 1]
                state = self._move(state, letter)
                if state is EMPTY:
                    return False
        except (RecursionError, _OutOfFuelError):
            return None
        finally:
            self._forget()
        return state.nullable

    def _forget(self) -> None:
        if len(self._moves) > FUEL:
            self._moves.clear()

    def count(self, limit: float) -> float | None:
        """min(number of strings, limit); None if undecided."""
        closed = self._closed_form(limit) if limit > 0 else 0
        if closed is not None:
            return closed
        self._fuel = FUEL
        try:
            if self._has_short_strings(limit, FUEL // 200):
                return limit
            return self._count(limit)
        except (RecursionError, _OutOfFuelError):
            return self._count_at_length(limit)
        finally:
            self._forget()

    def _closed_form(self, limit: float) -> float | None:
        """The count where lengths alone decide, by the sum of a geometric series; None elsewhere."""
        if not _is_length(self.start):
            return None
        letters = size(self.start.parts[0].parts[0])
        low: int = self.start.parts[1]
        high: int | None = self.start.parts[2]
        if high is None or (letters > 1 and low > math.log2(limit)):
            return limit
        if letters == 1:
            return min(high - low + 1, limit)
        if high > math.log2(limit) and limit < math.inf:
            high = math.ceil(math.log2(limit)) + 1
        if high > FUEL:
            return None
        found: float = (letters ** (high + 1) - letters**low) // (letters - 1)
        return min(found, limit)

    def _count_at_length(self, limit: float) -> float | None:
        """The last resort: ``limit`` if there are so many strings that one length has them."""
        self._fuel = FUEL
        try:
            return limit if self._has_short_strings(limit, FUEL) else None
        except (RecursionError, _OutOfFuelError):
            return None

    def _count(self, limit: float) -> float:
        edges = self._explore()
        useful = _reaching(edges, [state for state in edges if state.nullable])
        order = _topological({s: [t for t, _ in edges[s] if t in useful] for s in useful})
        if order is None:
            return limit  # a cycle through useful states: infinitely many strings
        ways: dict[Regex, int] = {}
        for state in reversed(order):
            ways[state] = state.nullable + sum(weight * ways[t] for t, weight in edges[state] if t in useful)
        return min(ways.get(self.start, 0), limit)

    def _explore(self) -> dict[Regex, list[tuple[Regex, int]]]:
        edges: dict[Regex, list[tuple[Regex, int]]] = {}
        stack = [self.start]
        while stack:
            state = stack.pop()
            if state in edges:
                continue
            out: dict[Regex, int] = {}
            for letter, weight in enumerate(self.weights):
                target = self._move(state, letter)
                if target is not EMPTY:
                    out[target] = out.get(target, 0) + weight
            edges[state] = list(out.items())
            stack.extend(out)
        return edges

    def _has_short_strings(self, limit: float, budget: int) -> bool:
        """Whether ``limit`` strings are found among the shortest, within ``budget`` steps."""
        layer: dict[Regex, float] = {self.start: 1}
        total: float = 0
        work = 0
        while layer and work <= budget and limit < math.inf:
            total += sum(ways for state, ways in layer.items() if state.nullable)
            if total >= limit:
                return True
            work += len(layer) * len(self.weights)
            following: dict[Regex, float] = {}
            for state, ways in layer.items():
                for letter, weight in enumerate(self.weights):
                    target = self._move(state, letter)
                    if target is not EMPTY:
                        following[target] = min(following.get(target, 0) + ways * weight, limit)
            layer = following
        return False


def _reaching(edges: dict[Regex, list[tuple[Regex, int]]], targets: Iterable[Regex]) -> set[Regex]:
    sources: dict[Regex, list[Regex]] = {}
    for state, out in edges.items():
        for target, _ in out:
            sources.setdefault(target, []).append(state)
    seen = set(targets)
    stack = list(seen)
    while stack:
        for source in sources.get(stack.pop(), ()):
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return seen


def _topological(successors: dict[Regex, list[Regex]]) -> list[Regex] | None:
    """An order in which every state stands before its successors; None if there is a cycle."""
    entering = dict.fromkeys(successors, 0)
    for targets in successors.values():
        for target in targets:
            entering[target] += 1
    order = [state for state, degree in entering.items() if not degree]
    for state in order:
        for target in successors[state]:
            entering[target] -= 1
            if not entering[target]:
                order.append(target)
    return order if len(order) == len(successors) else None

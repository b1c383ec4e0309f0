"""Regular sets decided by derivatives.

The derivatives of an expression are the states of a deterministic automaton, built only as far
as a question needs it. A question that would take more than `FUEL` steps is left undecided
(None); all automata of one question share these (`shiq.datatypes.fuel`). Source: Brzozowski,
*Derivatives of Regular Expressions*, JACM 1964.

>>> from shiq.datatypes.regular import sequence, text
>>> word = sequence(text("a"), choice([text("b"), text("c")]))
>>> Automaton(word).count(math.inf), Automaton(word).accepts("ac"), Automaton(both([word, negation(text("ab"))])).count(9)
(2, True, 1)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from shiq.datatypes.characters import LAST, Ranges, size
from shiq.datatypes.fuel import FUEL, Fuel, OutOfFuelError, current_fuel
from shiq.datatypes.regular import (
    EMPTY,
    EPSILON,
    Regex,
    after_one,
    both,
    choice,
    is_length,
    join,
    negation,
)


class Automaton:
    """The automaton of one expression, built as it is walked. Its letters are the blocks of
    characters that no class of the expression tells apart.
    """

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
        self.fuel = Fuel()
        self._floor = 0
        self._undecided: set[float] = set()

    def move(self, state: Regex, letter: int) -> Regex:
        """The derivative of ``state``: the strings that may follow ``letter`` in it."""
        row = self._moves.get(state)
        if row is None:
            row = self._moves[state] = [None] * len(self.weights)
        target = row[letter]
        if target is None:
            target = row[letter] = self._derivative(state, letter)
            self.fuel.burn(1 + len(state.parts) + len(target.parts), self._floor)
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
                left = join(self.move(first, letter), rest)
                return choice([left, self.move(rest, letter)]) if first.nullable else left
            case "or":
                return choice([self.move(part, letter) for part in node.parts])
            case "and":
                return both([self.move(part, letter) for part in node.parts])
            case "not":
                return negation(self.move(node.parts[0], letter))
            case "repeat":
                return join(self.move(node.parts[0], letter), after_one(node))
        return EMPTY

    def accepts(self, string: str) -> bool | None:
        """Whether ``string`` is in the set; None if undecided."""
        state = self.start
        self.fuel, self._floor = Fuel(), 0
        try:
            for character in string:
                letter = self._letter[bisect_right(self._starts, ord(character)) - 1]
                state = self.move(state, letter)
                if state is EMPTY:
                    return False
        except (RecursionError, OutOfFuelError):
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
        self.fuel = current_fuel()
        if limit in self._undecided:
            self.fuel.ran_out = True
            return None
        try:
            for stage, share in self._stages(limit):
                self._floor = max(0, self.fuel.left - share)
                try:
                    found = stage()
                except (RecursionError, OutOfFuelError):
                    continue
                if found is not None:
                    return found
            self.fuel.ran_out = True
            if not self.fuel.is_spent:  # else other automata took the steps
                self._undecided.add(limit)
            return None
        finally:
            self._floor = 0
            self._forget()

    def _stages(self, limit: float) -> Iterator[tuple[Callable[[], float | None], int]]:
        """Ways to count, the cheap ones first, and the steps that each may take."""
        yield (lambda: self._short_strings(limit, FUEL // 100)), FUEL // 100
        yield (lambda: self._whether_any(limit)), FUEL // 20
        yield (lambda: self._count(limit)), FUEL // 4
        yield (lambda: self._whether_any(limit)), FUEL // 4
        yield (lambda: self._short_strings(limit, FUEL)), FUEL // 4

    def _whether_any(self, limit: float) -> float | None:
        """0 if there is no string, 1 if that is the limit and there is one."""
        from shiq.datatypes.branches import has_string

        found = has_string(self, self._floor)
        return None if found and limit > 1 else int(found)

    def _closed_form(self, limit: float) -> float | None:
        """The count where lengths alone decide, by the sum of a geometric series; None elsewhere."""
        if not is_length(self.start):
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

    def _count(self, limit: float) -> float:
        edges = self._explore()
        useful = _reaching(edges, [state for state in edges if state.nullable])
        order = _topological({s: [t for t, _ in edges[s] if t in useful] for s in useful})
        if order is None:
            return limit  # a cycle through useful states: infinitely many strings
        ways: dict[Regex, int] = {}
        for state in reversed(order):
            ways[state] = state.nullable + sum(
                weight * ways[t] for t, weight in edges[state] if t in useful
            )
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
                target = self.move(state, letter)
                if target is not EMPTY:
                    out[target] = out.get(target, 0) + weight
            edges[state] = list(out.items())
            stack.extend(out)
        return edges

    def _short_strings(self, limit: float, budget: int) -> float | None:
        """``limit`` if there are so many strings among the shortest, within ``budget`` steps;
        else None.
        """
        layer: dict[Regex, float] = {self.start: 1}
        total: float = 0
        work = 0
        while layer and work <= budget and limit < math.inf:
            total += sum(ways for state, ways in layer.items() if state.nullable)
            if total >= limit:
                return limit
            work += len(layer) * len(self.weights)
            self.fuel.burn(len(layer), self._floor)
            following: dict[Regex, float] = {}
            for state, ways in layer.items():
                for letter, weight in enumerate(self.weights):
                    target = self.move(state, letter)
                    if target is not EMPTY:
                        following[target] = min(following.get(target, 0) + ways * weight, limit)
            layer = following
        return None


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

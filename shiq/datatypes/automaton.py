"""Decide regular sets of strings by derivatives (Brzozowski, JACM 1964).

The derivatives of an expression are the states of a deterministic automaton, built on demand. All
automata of one question share a budget of `FUEL` steps (`shiq.datatypes.regular_expressions`); when it is used up,
the answer is None (undecided).

>>> from shiq.datatypes.regular_expressions import concatenate, exact_string
>>> word = concatenate(exact_string("a"), alternation([exact_string("b"), exact_string("c")]))
>>> Automaton(word).count(math.inf), Automaton(word).accepts("ac")
(2, True)
>>> Automaton(intersect([word, negation(exact_string("ab"))])).count(9)
1

Decide emptiness of a regular set by partial derivatives, without the subset construction.

The derivative of an expression is a union; each of its branches is followed separately (Antimirov,
*Partial Derivatives of Regular Expressions*, TCS 1996). Only complements are made deterministic.
``(a|b)*a(a|b){25}`` has 27 branches, where its automaton has 2^26 states. Branches that may be
nearest to the end of a string come first.

>>> from shiq.datatypes.patterns import read_pattern
>>> from shiq.datatypes.automaton import Automaton
>>> from shiq.datatypes.regular_expressions import negation
>>> ends_a, ends_b = (read_pattern(f"(a|b)*{letter}(a|b){{25}}") for letter in "ab")
>>> [is_nonempty(Automaton(intersect(parts)), 0) for parts in ([ends_a, ends_b], [ends_a, negation(ends_b)])]
[False, True]
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import product

from shiq.datatypes.regular_expressions import (
    EMPTY,
    EPSILON,
    FUEL,
    LAST,
    Fuel,
    OutOfFuelError,
    Ranges,
    Regex,
    alternation,
    concatenate_two,
    count_characters,
    current_fuel,
    intersect,
    is_length_constraint,
    negation,
    remaining_repeats,
)


class Automaton:
    """The deterministic automaton of one regular expression, built on demand. Its states are
    derivatives of the expression.

    A letter is a block of characters that no class in the expression distinguishes.
    """

    def __init__(self, start: Regex) -> None:
        self.start = start
        signatures: dict[int, set[int]] = {}
        for index, ranges in enumerate(_character_classes(start)):
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

    def derivative(self, state: Regex, letter: int) -> Regex:
        """Return the derivative of `state` by `letter`: the expression for all strings s such that
        letter·s matches `state`. Cached.
        """
        row = self._moves.get(state)
        if row is None:
            row = self._moves[state] = [None] * len(self.weights)
        target = row[letter]
        if target is None:
            target = row[letter] = self._compute_derivative(state, letter)
            self.fuel.burn(1 + len(state.parts) + len(target.parts), self._floor)
        return target

    def _compute_derivative(self, node: Regex, letter: int) -> Regex:
        """Compute the derivative of the expression `node` by `letter`, without the cache."""
        match node.kind:
            case "characters":
                ranges: Ranges = node.parts[0]
                code = self._example[letter]
                at = bisect_right(ranges, (code, LAST + 1)) - 1
                return EPSILON if at >= 0 and code <= ranges[at][1] else EMPTY
            case "sequence":
                first, rest = node.parts
                left = concatenate_two(self.derivative(first, letter), rest)
                return (
                    alternation([left, self.derivative(rest, letter)]) if first.nullable else left
                )
            case "or":
                return alternation([self.derivative(part, letter) for part in node.parts])
            case "and":
                return intersect([self.derivative(part, letter) for part in node.parts])
            case "not":
                return negation(self.derivative(node.parts[0], letter))
            case "repeat":
                return concatenate_two(
                    self.derivative(node.parts[0], letter), remaining_repeats(node)
                )
        return EMPTY

    def accepts(self, string: str) -> bool | None:
        """Decide whether `string` matches the expression; None if the step budget runs out."""
        state = self.start
        self.fuel, self._floor = Fuel(), 0
        try:
            for character in string:
                letter = self._letter[bisect_right(self._starts, ord(character)) - 1]
                state = self.derivative(state, letter)
                if state is EMPTY:
                    return False
        except (RecursionError, OutOfFuelError):
            return None
        finally:
            self._limit_cache()
        return state.nullable

    def _limit_cache(self) -> None:
        """Empty the cache of derivatives if it has too many states."""
        if len(self._moves) > FUEL:
            self._moves.clear()

    def count(self, limit: float) -> float | None:
        """Count the accepted strings, at most up to `limit`; None if the step budget runs out."""
        closed = self._count_by_length(limit) if limit > 0 else 0
        if closed is not None:
            return closed
        self.fuel = current_fuel()
        if limit in self._undecided:
            self.fuel.ran_out = True
            return None
        try:
            for stage, share in self._counting_methods(limit):
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
            self._limit_cache()

    def _counting_methods(self, limit: float) -> Iterator[tuple[Callable[[], float | None], int]]:
        """Yield the methods that `count` tries, cheapest first, each with its share of the step
        budget.
        """
        yield (lambda: self._count_short_strings(limit, FUEL // 100)), FUEL // 100
        yield (lambda: self._count_nonempty(limit)), FUEL // 20
        yield (lambda: self._count_paths(limit)), FUEL // 4
        yield (lambda: self._count_nonempty(limit)), FUEL // 4
        yield (lambda: self._count_short_strings(limit, FUEL)), FUEL // 4

    def _count_nonempty(self, limit: float) -> float | None:
        """Decide whether any string is accepted: return 0 if none is. If some is, return 1 if
        `limit` is 1, else None (not counted).
        """

        found = is_nonempty(self, self._floor)
        return None if found and limit > 1 else int(found)

    def _count_by_length(self, limit: float) -> float | None:
        """Count the strings of an expression that bounds only the length, by a geometric series;
        None for other expressions.
        """
        if not is_length_constraint(self.start):
            return None
        letters = count_characters(self.start.parts[0].parts[0])
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

    def _count_paths(self, limit: float) -> float:
        """Count the accepted strings, at most `limit`, as paths through all states of the
        automaton; `limit` if a cycle repeats.
        """
        edges = self._explore_states()
        useful = _states_that_reach(edges, [state for state in edges if state.nullable])
        try:
            order = [
                *TopologicalSorter(
                    {s: [t for t, _ in edges[s] if t in useful] for s in useful}
                ).static_order()
            ]
        except CycleError:
            return limit  # a cycle through useful states: infinitely many strings
        ways: dict[Regex, int] = {}
        for state in order:  # targets first
            ways[state] = state.nullable + sum(
                weight * ways[t] for t, weight in edges[state] if t in useful
            )
        return min(ways.get(self.start, 0), limit)

    def _explore_states(self) -> dict[Regex, list[tuple[Regex, int]]]:
        """Explore all reachable states. Return the edges of each: (target state, number of
        characters that lead to it).
        """
        edges: dict[Regex, list[tuple[Regex, int]]] = {}
        stack = [self.start]
        while stack:
            state = stack.pop()
            if state in edges:
                continue
            out: dict[Regex, int] = {}
            for letter, weight in enumerate(self.weights):
                target = self.derivative(state, letter)
                if target is not EMPTY:
                    out[target] = out.get(target, 0) + weight
            edges[state] = list(out.items())
            stack.extend(out)
        return edges

    def _count_short_strings(self, limit: float, budget: int) -> float | None:
        """Count strings by increasing length until `limit` are found, then return `limit`; None
        after `budget` steps.
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
                    target = self.derivative(state, letter)
                    if target is not EMPTY:
                        following[target] = min(following.get(target, 0) + ways * weight, limit)
            layer = following
        return None


def _states_that_reach(
    edges: dict[Regex, list[tuple[Regex, int]]], targets: Iterable[Regex]
) -> set[Regex]:
    """Return the states from which one of `targets` can be reached."""
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


def _character_classes(node: Regex) -> set[Ranges]:
    """Collect the character classes that occur in the expression `node`."""
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


def is_nonempty(automaton: Automaton, floor: int) -> bool:
    """Decide whether the automaton accepts any string, by partial derivatives.

    Raises: OutOfFuelError when fewer than `floor` steps are left.
    """
    start = automaton.start
    walk = _BranchSearch(automaton, floor)
    seen, heap = {start}, [(start.shortest, start.serial, start)]
    while heap:
        _, _, state = heappop(heap)
        if state.nullable:
            return True
        for letter in range(len(automaton.weights)):
            for branch in walk.partial_derivatives(state, letter):
                if branch not in seen:
                    seen.add(branch)
                    heappush(heap, (branch.shortest, branch.serial, branch))
    return False


class _BranchSearch:
    """Search for an accepted string by partial derivatives: each branch of a union is followed
    separately.
    """

    def __init__(self, automaton: Automaton, floor: int) -> None:
        self.automaton = automaton
        self.floor = floor
        self._after: dict[tuple[Regex, int], frozenset[Regex]] = {}

    def partial_derivatives(self, node: Regex, letter: int) -> frozenset[Regex]:
        """Return the partial derivatives of `node` by `letter`: expressions whose union is the
        derivative. Cached.
        """
        found = self._after.get((node, letter))
        if found is None:
            found = self._after[node, letter] = frozenset(
                self._branch_derivatives(node, letter)
            ) - {EMPTY}
            self.automaton.fuel.burn(1 + len(node.parts) + len(found), self.floor)
        return found

    def _branch_derivatives(self, node: Regex, letter: int) -> set[Regex]:
        """Compute the partial derivatives of `node` by `letter`, without the cache."""
        match node.kind:
            case "or":
                return set().union(*(self.partial_derivatives(part, letter) for part in node.parts))
            case "sequence":
                first, rest = node.parts
                found = {
                    concatenate_two(branch, rest)
                    for branch in self.partial_derivatives(first, letter)
                }
                return found | self.partial_derivatives(rest, letter) if first.nullable else found
            case "repeat":
                return {
                    concatenate_two(branch, remaining_repeats(node))
                    for branch in self.partial_derivatives(node.parts[0], letter)
                }
            case "and" if node.parts:
                choices = [self.partial_derivatives(part, letter) for part in node.parts]
                return {intersect(chosen) for chosen in product(*choices)}
        return {self.automaton.derivative(node, letter)}

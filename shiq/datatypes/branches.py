"""Whether a regular set has a string at all, without the subset construction where nothing is
complemented.

The derivative of an expression is a union; each of its branches is followed by itself
(Antimirov, *Partial Derivatives of Regular Expressions and Finite Automaton Constructions*, TCS
1996). Complements alone are still made deterministic. ``(a|b)*a(a|b){25}`` has 27 branches,
where its automaton has 2^26 states. Branches that may be nearest to the end of a string come
first.

>>> from shiq.datatypes.patterns import read_pattern
>>> from shiq.datatypes.automaton import Automaton
>>> from shiq.datatypes.regular import negation
>>> ends_a, ends_b = (read_pattern(f"(a|b)*{letter}(a|b){{25}}") for letter in "ab")
>>> [has_string(Automaton(both(parts)), 0) for parts in ([ends_a, ends_b], [ends_a, negation(ends_b)])]
[False, True]
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import product
from typing import TYPE_CHECKING

from shiq.datatypes.regular import EMPTY, Regex, after_one, both, join

if TYPE_CHECKING:
    from shiq.datatypes.automaton import Automaton


def has_string(automaton: Automaton, floor: int) -> bool:
    """Whether the language of ``automaton`` is not empty. Raises OutOfFuelError where fewer than
    ``floor`` steps are left.
    """
    start = automaton.start
    walk = _Branches(automaton, floor)
    seen, heap = {start}, [(start.shortest, start.serial, start)]
    while heap:
        _, _, state = heappop(heap)
        if state.nullable:
            return True
        for letter in range(len(automaton.weights)):
            for branch in walk.after(state, letter):
                if branch not in seen:
                    seen.add(branch)
                    heappush(heap, (branch.shortest, branch.serial, branch))
    return False


class _Branches:
    def __init__(self, automaton: Automaton, floor: int) -> None:
        self.automaton = automaton
        self.floor = floor
        self._after: dict[tuple[Regex, int], frozenset[Regex]] = {}

    def after(self, node: Regex, letter: int) -> frozenset[Regex]:
        """Expressions that together have the strings which may follow ``letter`` in ``node``."""
        found = self._after.get((node, letter))
        if found is None:
            found = self._after[node, letter] = frozenset(self._branches(node, letter)) - {EMPTY}
            self.automaton.fuel.burn(1 + len(node.parts) + len(found), self.floor)
        return found

    def _branches(self, node: Regex, letter: int) -> set[Regex]:
        match node.kind:
            case "or":
                return set().union(*(self.after(part, letter) for part in node.parts))
            case "sequence":
                first, rest = node.parts
                found = {join(branch, rest) for branch in self.after(first, letter)}
                return found | self.after(rest, letter) if first.nullable else found
            case "repeat":
                return {
                    join(branch, after_one(node)) for branch in self.after(node.parts[0], letter)
                }
            case "and" if node.parts:
                choices = [self.after(part, letter) for part in node.parts]
                return {both(chosen) for chosen in product(*choices)}
        return {self.automaton.move(node, letter)}

"""Pairs of named individuals in roles, where no role has a bound and no two individuals are one
(THEORY, "Entailment").

Then R(a, b) follows iff an assertion of a role below R says it, or a path of assertions of roles
below a transitive role below R.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq.model.roles import Role, RoleBox

#: An asked role, and two individuals.
NumberPair = tuple[str, int, int]


class RoleGraph:
    """Role assertions between numbers, for the roles ``asked``; ``below``: what this one adds to."""

    def __init__(
        self, box: RoleBox, asked: tuple[str, ...], below: RoleGraph | None = None
    ) -> None:
        self._below = below
        if below is None:
            steps = [(iri, Role(iri), False) for iri in asked]
            steps += [
                (iri, role, True)
                for iri in asked
                for role in sorted(box.subroles(Role(iri)) & box.transitive)
            ]
            self.steps: list[tuple[str, Role, bool]] = steps
            self.along: dict[str, list[tuple[int, bool]]] = {}
            self._box = box
        else:
            self.steps, self.along, self._box = below.steps, below.along, below._box
        #: For each step, the neighbours of each individual, forwards and backwards.
        self.forward: list[dict[int, set[int]]] = [{} for _ in self.steps]
        self.backward: list[dict[int, set[int]]] = [{} for _ in self.steps]

    def add(self, iri: str, x: int, y: int) -> None:
        """An assertion of the property ``iri``."""
        along = self.along.get(iri)
        if along is None:
            above = self._box.superroles(Role(iri)), self._box.superroles(Role(iri, True))
            turned = (
                (i, inverted)
                for i, step in enumerate(self.steps)
                for inverted in (False, True)
                if step[1] in above[inverted]
            )
            along = self.along[iri] = list(turned)
        for step, inverted in along:
            a, b = (y, x) if inverted else (x, y)
            self.forward[step].setdefault(a, set()).add(b)
            self.backward[step].setdefault(b, set()).add(a)

    def pairs(self, among: set[int], *, static: bool) -> tuple[set[NumberPair], set[NumberPair]]:
        """All pairs ``among`` these; and where ``static`` asks for it, those with another end
        that what is below lacks.
        """
        within: set[NumberPair] = set()
        beyond: set[NumberPair] = set()
        for step, (iri, _, is_closed) in enumerate(self.steps):
            for x in self._starts(step, among):
                reached = self._reached(step, x, is_closed=is_closed) & among
                within.update((iri, x, y) for y in reached)
            if static and is_closed and self._below is not None:
                beyond.update(
                    (iri, x, y) for x, y in self._new(step) if not (x in among and y in among)
                )
        if self._below is None:
            return within, beyond
        return within, {pair for pair in beyond if not self._below.leads(pair)}

    def _starts(self, step: int, among: set[int]) -> set[int]:
        """Those of ``among`` from which an edge leads."""
        own = among & self.forward[step].keys()
        return own if self._below is None else own | (among & self._below.forward[step].keys())

    def leads(self, pair: NumberPair) -> bool:
        """Whether a pair follows."""
        iri, x, y = pair
        return any(
            y in self._reached(step, x, is_closed=is_closed)
            for step, (asked, _, is_closed) in enumerate(self.steps)
            if asked == iri
        )

    def _new(self, step: int) -> Iterator[tuple[int, int]]:
        """The pairs that a path along an assertion of this one makes."""
        for a, ends in self.forward[step].items():
            starts = {a} | self._reached(step, a, is_closed=True, backward=True)
            for b in ends:
                for y in {b} | self._reached(step, b, is_closed=True):
                    yield from ((x, y) for x in starts)

    def _reached(self, step: int, x: int, *, is_closed: bool, backward: bool = False) -> set[int]:
        found = self._next(step, x, backward=backward)
        if not is_closed:
            return found
        waiting = list(found)
        found = set(found)
        while waiting:
            fresh = self._next(step, waiting.pop(), backward=backward) - found
            found |= fresh
            waiting += fresh
        return found

    def _next(self, step: int, x: int, *, backward: bool) -> set[int]:
        own = (self.backward if backward else self.forward)[step].get(x, _NOBODY)
        if self._below is None:
            return own
        other = self._below._next(step, x, backward=backward)
        return own | other if own and other else own or other


_NOBODY: set[int] = set()

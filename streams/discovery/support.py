"""For whom a body holds, and when: joint bindings as semi-joins on bits.

A body is an ELI concept over named individuals. Its extension is a set of individuals for each snapshot: an individual is in it
if it belongs to the classes at the root and has, for each branch, a neighbour in the extension of what is below. Since the parts
of a tree share nothing but the root, that is a joint binding of all variables (SPEC 3).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiq.columns.arrays import Ints
from streams.discovery.atomsets import Binding, Tree, size, variable
from streams.discovery.columns import Columns, Edges, Extension, present


class Support:
    """The extensions of bodies in some ``words`` of the columns, as these are now. Those of classes and of branches of at most
    ``kept`` atoms are kept."""

    def __init__(self, columns: Columns, words: Ints, kept: int = 2) -> None:
        self.columns, self.words, self.kept = columns, words, kept
        self._classes: dict[str, Extension] = {}
        self._branches: dict[tuple[str, bool, Tree], Extension] = {}
        self._edges: dict[tuple[str, bool], Edges] = {}
        self._below: dict[Tree, Extension] = {}
        self._lacking: dict[tuple[Tree, str], Extension] = {}

    def body(self, tree: Tree) -> Extension:
        """Of a body with at least one atom."""
        parts = [self.branch(*branch) for branch in tree.branches] + [self.name(name) for name in tree.classes]
        parts.sort(key=lambda part: len(part.rows))
        found = parts[0]
        for part in parts[1:]:
            found = meet(found, part)
        return found

    def name(self, name: str) -> Extension:
        """Of a class."""
        found = self._classes.get(name)
        if found is None:
            found = self._classes[name] = self.columns.of_class(name, self.words)
        return found

    def branch(self, role: str, inverse: bool, below: Tree) -> Extension:
        """Of a role to something below."""
        key = (role, inverse, below)
        found = self._branches.get(key)
        if found is None:
            found = self._branch(role, inverse, below)
            if size(below) < self.kept:
                self._branches[key] = found
        return found

    def edges(self, role: str, inverse: bool) -> Edges:
        """Of a role, by its end at the root."""
        found = self._edges.get((role, inverse))
        if found is None:
            found = self._edges[role, inverse] = self.columns.of_role(role, inverse, self.words)
        return found

    def _branch(self, role: str, inverse: bool, below: Tree) -> Extension:
        near, far, bits = self.edges(role, inverse)
        if below != Tree():
            other = self.body(below)
            hit, place = _found(far, other.rows)
            near, bits = near[hit], bits[hit] & other.bits[place]
        if not len(near):
            return Extension(near, bits)
        starts = np.flatnonzero(np.concatenate([[True], near[1:] != near[:-1]]))
        return present(near[starts], np.bitwise_or.reduceat(bits, starts, axis=0))

    def bindings(self, tree: Tree, bit: np.uint64) -> Iterator[Binding]:
        """The bindings of a body in the snapshot of ``bit`` (of the one word that is looked at), in order of the texts of ?x0,
        ?x1, …; there is no dead end, since each variable takes only what its own subtree holds of."""
        yield from self._bound([(tree, self._members(self.body(tree), bit))], bit, {})

    def lacking(self, tree: Tree, name: str, bit: np.uint64) -> list[str]:
        """Who a body holds of in the snapshot of ``bit`` (of the one word that is looked at), without belonging to a class."""
        found = self._lacking.get((tree, name))
        if found is None:
            body, own = self.body(tree), self.name(name)
            hit, place = _found(body.rows, own.rows)
            bits = body.bits.copy()
            bits[hit] &= ~own.bits[place]
            found = self._lacking[tree, name] = present(body.rows, bits)
        return [self.columns.individuals[number] for number in self._members(found, bit)]

    def _members(self, extension: Extension, bit: np.uint64) -> list[int]:
        return self._ordered(extension.rows[(extension.bits[:, 0] & bit) != 0])

    def _ordered(self, rows: Ints) -> list[int]:
        return sorted(set(rows.tolist()), key=self.columns.individuals.__getitem__)

    def _bound(self, waiting: list[tuple[Tree, list[int]]], bit: np.uint64, binding: Binding) -> Iterator[Binding]:
        if not waiting:
            yield dict(binding)
            return
        (tree, choices), rest = waiting[0], waiting[1:]
        own = variable(len(binding))
        for number in choices:
            binding[own] = self.columns.individuals[number]
            below = [(under, self._reached(number, role, inverse, under, bit)) for role, inverse, under in tree.branches]
            yield from self._bound([*below, *rest], bit, binding)
            del binding[own]

    def _reached(self, number: int, role: str, inverse: bool, below: Tree, bit: np.uint64) -> list[int]:
        near, far, bits = self.edges(role, inverse)
        low, high = np.searchsorted(near, [number, number + 1])
        ends = far[low:high][(bits[low:high, 0] & bit) != 0]
        if below == Tree():
            return self._ordered(ends)
        if below not in self._below:
            self._below[below] = self.body(below)
        members = self._below[below]
        hit, place = _found(ends, members.rows)
        return self._ordered(ends[hit][(members.bits[place, 0] & bit) != 0])


def _found(values: Ints, ordered: Ints) -> tuple[Ints, Ints]:
    """Which of ``values`` are among ``ordered`` (ascending), and where."""
    if not len(ordered) or not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = np.searchsorted(ordered, values)
    place[place == len(ordered)] = 0
    hit = np.flatnonzero(ordered[place] == values)
    return hit, place[hit]


def meet(first: Extension, second: Extension) -> Extension:
    """Where both hold."""
    hit, place = _found(first.rows, second.rows)
    return present(first.rows[hit], first.bits[hit] & second.bits[place])

"""For whom a body holds, and when: joint bindings as semi-joins on bits.

A body is an ELI concept over named individuals. Its extension is a set of individuals for each
snapshot: an individual is in it if it belongs to the classes at the root and has, for each
branch, a neighbour in the extension of what is below. Since the parts of a tree share nothing
but the root, that is a joint binding of all variables (SPEC 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiq.columns.arrays import Ints
from streams.discovery.atomsets import Tree, size
from streams.discovery.columns import Bits, Extension, RootEdges, SnapshotColumns, popcount, present


class Support:
    """The extensions of bodies in some ``words`` of the columns, as these are now, in the
    snapshots ``among`` alone if these are given. Those of classes and of branches of at most
    ``kept`` atoms are kept.
    """

    def __init__(
        self, columns: SnapshotColumns, words: Ints, kept: int = 2, among: Bits | None = None
    ) -> None:
        self.columns, self.words, self.kept = columns, words, kept
        self._among = None if among is None else among[words]
        self._each: tuple[Sequence[str], Ints, Ints, Bits] | None = None
        self._classes: dict[str, Extension] = {}
        self._branches: dict[tuple[str, bool, Tree], Extension] = {}
        self._edges: dict[tuple[str, bool], RootEdges] = {}
        self._lacking: dict[tuple[Tree, str], Extension] = {}

    def body(self, tree: Tree) -> Extension:
        """Of a body with at least one atom."""
        parts = [self.branch(*branch) for branch in tree.branches] + [
            self.name(name) for name in tree.classes
        ]
        parts.sort(key=lambda part: len(part.rows))
        found = parts[0]
        for part in parts[1:]:
            found = meet(found, part)
        return found

    def name(self, name: str) -> Extension:
        """Of a class."""
        found = self._classes.get(name)
        if found is None:
            found = self.columns.of_class(name, self.words)
            if self._among is not None:
                found = present(found.rows, found.bits & self._among)
            self._classes[name] = found
        return found

    def with_each(self, extension: Extension, names: Sequence[str]) -> tuple[Bits, Ints]:
        """For each class in which snapshots something of an extension belongs to it, and how
        many do in each word.
        """
        if self._each is None or self._each[0] != names:
            each = [self.name(name) for name in names]
            of = np.repeat(np.arange(len(names)), [len(one.rows) for one in each])
            self._each = (
                names,
                of,
                np.concatenate([one.rows for one in each]),
                np.concatenate([one.bits for one in each]),
            )
        _, of, rows, bits = self._each
        joint, pairs = (
            np.zeros((len(names), len(self.words)), np.uint64),
            np.zeros((len(names), len(self.words)), np.int64),
        )
        place = np.full(len(self.columns.individuals), -1)
        place[extension.rows] = np.arange(len(extension.rows))
        place = place[rows]
        hit = np.flatnonzero(place >= 0)
        if len(hit):
            both, of = bits[hit] & extension.bits[place[hit]], of[hit]
            starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
            joint[of[starts]] = np.bitwise_or.reduceat(both, starts, axis=0)
            pairs[of[starts]] = np.add.reduceat(popcount(both), starts, axis=0)
        return joint, pairs

    def branch(self, role: str, inverse: bool, below: Tree) -> Extension:
        """Of a role to something below."""
        key = (role, inverse, below)
        found = self._branches.get(key)
        if found is None:
            found = self._branch(role, inverse, below)
            if size(below) < self.kept:
                self._branches[key] = found
        return found

    def edges(self, role: str, inverse: bool) -> RootEdges:
        """Of a role, by its end at the root."""
        found = self._edges.get((role, inverse))
        if found is None:
            found = self.columns.of_role(role, inverse, self.words)
            if self._among is not None:
                found = RootEdges(found.near, found.far, found.bits & self._among)
            self._edges[role, inverse] = found
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

    def lacking(self, tree: Tree, name: str, bit: np.uint64) -> list[str]:
        """Who a body holds of in the snapshot of ``bit`` (of the one word that is looked at),
        without belonging to a class.
        """
        found = self._lacking.get((tree, name))
        if found is None:
            body, own = self.body(tree), self.name(name)
            hit, place = _found(body.rows, own.rows)
            bits = body.bits.copy()
            bits[hit] &= ~own.bits[place]
            found = self._lacking[tree, name] = present(body.rows, bits)
        return sorted(
            self.columns.individuals[number]
            for number in found.rows[(found.bits[:, 0] & bit) != 0].tolist()
        )


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

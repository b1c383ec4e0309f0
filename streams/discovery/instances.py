"""The bindings of a body in one snapshot, one after the other in the order of their texts.

There is no dead end, since each variable takes only what its own subtree holds of; nothing is
worked out beyond what is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np

from streams.discovery.atomsets import Binding, Tree, variable
from streams.discovery.columns import SnapshotColumns

#: A role, whether it leads to the variable, the body at its other end.
Branch: TypeAlias = tuple[str, bool, Tree]


class SnapshotBindings:
    """The first ``most`` bindings of bodies in snapshot ``index`` of the columns, as it is now."""

    def __init__(self, columns: SnapshotColumns, index: int, most: int) -> None:
        self._most, place = most, index % columns.size
        self._columns, self._words, self._bit = (
            columns,
            np.array([place >> 6]),
            np.uint64(1 << (place & 63)),
        )
        self._classes: dict[str, set[int]] = {}
        self._edges: dict[tuple[str, bool], dict[int, list[int]]] = {}
        self._starts: dict[Branch, set[int]] = {}
        self._bodies: dict[Tree, set[int] | None] = {Tree(): None}
        self._first: dict[Tree, list[Binding]] = {}

    def first(self, tree: Tree) -> list[Binding]:
        """Of a body, in order of the texts of ?x0, ?x1, …"""
        if tree not in self._first:
            self._first[tree] = list(
                islice(self._bound([(tree, self._members(tree))], {}), self._most)
            )
        return self._first[tree]

    def _bound(
        self, waiting: list[tuple[Tree, Iterable[int]]], binding: Binding
    ) -> Iterator[Binding]:
        if not waiting:
            yield dict(binding)
            return
        (tree, choices), rest = waiting[0], waiting[1:]
        own = variable(len(binding))
        for x in choices:
            binding[own] = self._columns.individuals[x]
            yield from self._bound(
                [*((branch[2], self._reached(x, *branch)) for branch in tree.branches), *rest],
                binding,
            )
            del binding[own]

    def _members(self, tree: Tree) -> list[int]:
        """Of whom a body holds."""
        classes, branches = map(self._class, tree.classes), map(self._start, tree.branches)
        return self._ordered(set.intersection(*classes, *branches))

    def _start(self, branch: Branch) -> set[int]:
        """Of whom a branch holds."""
        if branch not in self._starts:
            near, below = self._near(*branch[:2]), self._below(branch[2])
            self._starts[branch] = {
                x for x, ends in near.items() if below is None or not below.isdisjoint(ends)
            }
        return self._starts[branch]

    def _below(self, tree: Tree) -> set[int] | None:
        """Of whom the body of a branch holds; None: of anybody."""
        if tree not in self._bodies:
            self._bodies[tree] = set(self._members(tree))
        return self._bodies[tree]

    def _reached(self, x: int, role: str, inverse: bool, tree: Tree) -> Iterable[int]:
        """Whom a branch leads to from x."""
        ends, below = self._near(role, inverse).get(x, ()), self._below(tree)
        return ends if below is None else [y for y in ends if y in below]

    def _class(self, name: str) -> set[int]:
        if name not in self._classes:
            rows, bits = self._columns.of_class(name, self._words)
            self._classes[name] = set(rows[(bits[:, 0] & self._bit) != 0].tolist())
        return self._classes[name]

    def _near(self, role: str, inverse: bool) -> dict[int, list[int]]:
        if (role, inverse) not in self._edges:
            near, far, bits = self._columns.of_role(role, inverse, self._words)
            here = (bits[:, 0] & self._bit) != 0
            edges: dict[int, list[int]] = {}
            for x, y in zip(near[here].tolist(), far[here].tolist()):
                edges.setdefault(x, []).append(y)
            self._edges[role, inverse] = {x: self._ordered(ends) for x, ends in edges.items()}
        return self._edges[role, inverse]

    def _ordered(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=self._columns.individuals.__getitem__)

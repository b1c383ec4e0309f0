"""Partitions that grow: union-find.

>>> classes = Partition()
>>> classes.union("b", "a"), classes.find("b"), classes.find("c")
('a', 'a', 'c')
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Partition(Generic[V]):
    """Union-find over hashable values, each alone at first. A class is named by its least member,
    so names do not depend on the order of unions.
    """

    __slots__ = ("_least", "_members", "_root")

    def __init__(self, copied: Partition[V] | None = None) -> None:
        self._root: dict[V, V] = dict(copied._root) if copied else {}
        self._least: dict[V, V] = dict(copied._least) if copied else {}
        self._members: dict[V, list[V]] = (
            {k: list(m) for k, m in copied._members.items()} if copied else {}
        )

    def find(self, value: V) -> V:
        """The name (least member) of the class of ``value``."""
        root = self._root.get(value)
        return value if root is None else self._least[root]

    def members(self, value: V) -> tuple[V, ...]:
        """The sorted members of the class of ``value``."""
        root = self._root.get(value)
        return (value,) if root is None else tuple(sorted(self._members[root], key=_natural_order))

    def union(self, first: V, second: V) -> V:
        """Unite two classes and return the name of the result.

        The smaller class is relabelled: O(log n) times per value in all.
        """
        a, b = self._root_of_new(first), self._root_of_new(second)
        if a != b:
            if len(self._members[a]) < len(self._members[b]):
                a, b = b, a
            smaller = self._members.pop(b)
            for member in smaller:
                self._root[member] = a
            self._members[a].extend(smaller)
            self._least[a] = min(self._least[a], self._least.pop(b), key=_natural_order)
        return self._least[a]

    def _root_of_new(self, value: V) -> V:
        """The root of ``value``, which becomes a class of its own if it is new."""
        root = self._root.get(value)
        if root is None:
            root = self._root[value] = self._least[value] = value
            self._members[value] = [value]
        return root

    def union_all(self, values: Iterable[V]) -> bool:
        """Unite the classes of all ``values``; return whether anything changed."""
        iterator = iter(values)
        first = next(iterator, None)
        if first is None:
            return False
        changed = False
        for value in iterator:
            if self.find(first) != self.find(value):
                self.union(first, value)
                changed = True
        return changed

    def classes(self) -> Iterator[tuple[V, tuple[V, ...]]]:
        """Yield (name, members) for each class of several members."""
        for root, members in self._members.items():
            if len(members) > 1:
                yield self._least[root], tuple(sorted(members, key=_natural_order))


def _natural_order(value: Any) -> Any:
    """Sort key by the value itself."""
    return value

"""Equal individuals as one element: union-find over individuals, and over whatever else may have
to be one.

>>> classes = Partition()
>>> classes.union("b", "a"), classes.find("b"), classes.find("c")
('a', 'a', 'c')
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Partition(Generic[V]):
    """A partition, grown by `union`. Every value is in it, alone at first; a class is named by
    its least member, so that the names do not depend on the order of the unions.
    """

    __slots__ = ("_least", "_members", "_root")

    def __init__(self, copied: Partition[V] | None = None) -> None:
        self._root: dict[V, V] = dict(copied._root) if copied else {}
        self._least: dict[V, V] = dict(copied._least) if copied else {}
        self._members: dict[V, list[V]] = (
            {k: list(m) for k, m in copied._members.items()} if copied else {}
        )

    def find(self, value: V) -> V:
        """The name of the class of ``value``."""
        root = self._root.get(value)
        return value if root is None else self._least[root]

    def members(self, value: V) -> tuple[V, ...]:
        """The sorted members of the class of ``value``."""
        root = self._root.get(value)
        return (value,) if root is None else tuple(sorted(self._members[root], key=_key))

    def union(self, first: V, second: V) -> V:
        """Makes one class of two; gives its name. The smaller class is relabelled: O(log n)
        times per value in all.
        """
        a, b = self._own_root(first), self._own_root(second)
        if a != b:
            if len(self._members[a]) < len(self._members[b]):
                a, b = b, a
            smaller = self._members.pop(b)
            for member in smaller:
                self._root[member] = a
            self._members[a].extend(smaller)
            self._least[a] = min(self._least[a], self._least.pop(b), key=_key)
        return self._least[a]

    def _own_root(self, value: V) -> V:
        root = self._root.get(value)
        if root is None:
            root = self._root[value] = self._least[value] = value
            self._members[value] = [value]
        return root

    def union_all(self, values: Iterable[V]) -> bool:
        """Makes one class of all ``values``; whether anything changed."""
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
        """The classes of more than one member, by name."""
        for root, members in self._members.items():
            if len(members) > 1:
                yield self._least[root], tuple(sorted(members, key=_key))


def _key(value: Any) -> Any:
    return value

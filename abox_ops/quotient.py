"""Equal individuals as one element: union-find over individuals, and over whatever else may have to be one.

>>> classes = Partition()
>>> classes.union("b", "a"), classes.find("b"), classes.find("c")
('a', 'a', 'c')
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Partition(Generic[V]):
    """A partition, grown by `union`. Every value is in it, alone at first; a class is named by its least member, so that
    the names do not depend on the order of the unions."""

    __slots__ = ("_members", "_parent")

    def __init__(self, copied: Partition[V] | None = None) -> None:
        self._parent: dict[V, V] = dict(copied._parent) if copied else {}
        self._members: dict[V, tuple[V, ...]] = dict(copied._members) if copied else {}

    def find(self, value: V) -> V:
        """The name of the class of ``value``."""
        return self._parent.get(value, value)

    def members(self, name: V) -> tuple[V, ...]:
        """The sorted members of the class called ``name``."""
        return self._members.get(name, (name,))

    def union(self, first: V, second: V) -> V:
        """Makes one class of two; gives its name. The smaller class is relabelled, O(log n) times per value."""
        a, b = self.find(first), self.find(second)
        if a == b:
            return a
        joined = tuple(sorted(self.members(a) + self.members(b), key=_key))
        name = joined[0]
        for member in joined if name not in (a, b) else self.members(b if name == a else a):
            self._parent[member] = name
        self._parent[name] = name
        self._members.pop(a, None)
        self._members.pop(b, None)
        self._members[name] = joined
        return name

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

    def classes(self) -> Iterable[tuple[V, tuple[V, ...]]]:
        """The classes of more than one member, by name."""
        return self._members.items()


def _key(value: Any) -> Any:
    return value

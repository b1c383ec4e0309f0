"""Partitions into elements: union-find over individuals, and stored partitions in which few classes
have several members.

>>> classes = Partition()
>>> classes.union("b", "a"), classes.find("b"), classes.find("c")
('a', 'a', 'c')
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from shiq.columns.arrays import (
    Columns,
    Ints,
    Table,
    array_table,
    distinct_with_inverse,
    follow_pointers,
    group_minimum,
    insertion_points,
    is_in,
    overlay_changes,
    set_difference,
    unique,
)

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


@dataclass(frozen=True, eq=False)
class StoredPartition:
    """Partition of node ids as two sorted tables; it has rows for groups of several members only. A
    group is named by one of its members.

    by_member: table (member, group). by_group: table (group, member).
    """

    by_member: Table
    by_group: Table

    def __len__(self) -> int:
        return len(self.by_member)

    def group_of(self, ids: Ints) -> Ints:
        """The name of the group of each id; the id itself where it is alone."""
        if not len(self):
            return ids
        rows = self.by_member.rows_of(ids)
        if not len(rows["member"]):
            return ids
        position = np.minimum(insertion_points(rows["member"], ids), len(rows["member"]) - 1)
        found: Ints = np.where(rows["member"][position] == ids, rows["group"][position], ids)
        return found

    def members(self, groups: Ints) -> tuple[Ints, Ints]:
        """(group, member) for every member of the (distinct) ``groups``, sorted by group."""
        rows = (
            self.by_group.rows_of(groups)
            if len(self)
            else {"group": groups[:0], "member": groups[:0]}
        )
        alone = set_difference(groups, rows["group"])
        group, member = (
            np.concatenate([rows["group"], alone]),
            np.concatenate([rows["member"], alone]),
        )
        order = np.lexsort((member, group))
        return group[order], member[order]

    def change_rows(self, added: Columns, removed: Columns) -> StoredPartition:
        """Overlay both tables with (member, group) rows to be ``added`` and ``removed``."""
        return StoredPartition(
            overlay_changes(self.by_member, added, removed),
            overlay_changes(self.by_group, added, removed),
        )

    def assign_groups(self, members: Ints, groups: Ints) -> StoredPartition:
        """Move ``members``, which make up complete groups, to the group at the same position in
        ``groups``.
        """
        member, group = drop_single_groups(members, groups)
        return self.change_rows({"member": member, "group": group}, self.by_member.rows_of(members))


def make_partition(member: Ints, group: Ints) -> StoredPartition:
    """Build the partition that puts each ``member`` into its ``group``; singletons may be among
    them.
    """
    members, groups = drop_single_groups(member, group)
    columns = {"member": members, "group": groups}
    return StoredPartition(array_table("member", columns), array_table("group", columns))


def drop_single_groups(member: Ints, group: Ints) -> tuple[Ints, Ints]:
    """Drop the rows of groups with one member; each group is named by its least member."""
    if not len(member):
        return member, group
    _, which, _ = distinct_with_inverse(group)
    least = group_minimum(which, member, int(which.max()) + 1)
    crowded = np.bincount(which)[which] > 1
    return member[crowded], least[which[crowded]]


def component_minima(count: int, first: Ints, second: Ints) -> Ints:
    """Compute the least node of each node's connected component, for nodes 0 … count-1 with edges
    first[i] – second[i].

    Stops because every round with an open pair makes two components one.
    """
    least = np.arange(count, dtype=np.int64)
    while True:
        a, b = least[first], least[second]
        open_ = a != b
        if not open_.any():
            return least
        first, second = a[open_], b[open_]
        np.minimum.at(least, np.maximum(first, second), np.minimum(first, second))
        least = follow_pointers(least)


def regroup_after_deletion(
    partition: StoredPartition, lost: Ints, remaining: Ints, origin: Ints
) -> StoredPartition:
    """Replace the groups ``lost`` in ``partition`` by those that remain: left[i] is a remaining
    part of the group origin[i].
    """
    group, member = partition.members(unique(partition.group_of(lost)))
    gone = partition.by_member.rows_of(member)
    stays = ~is_in(member, lost)
    members, groups = drop_single_groups(
        np.concatenate([member[stays], remaining]),
        np.concatenate([group[stays], partition.group_of(origin)]),
    )
    return partition.change_rows({"member": members, "group": groups}, gone)

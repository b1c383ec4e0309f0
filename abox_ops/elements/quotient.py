"""Partitions into elements as a store has them: few classes have several members."""

from __future__ import annotations

from dataclasses import dataclass

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
        return np.where(rows["member"][position] == ids, rows["group"][position], ids)

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

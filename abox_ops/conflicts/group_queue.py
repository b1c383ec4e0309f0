"""Queue of contradictory groups that still have to be explained: alternates between causes.

The cause of a group is known once one of its conflicts is. Until then, groups with the same told
labels count as of one cause. The largest kind of groups comes first, then always the kind that is
least like those before it. So different causes are met early, however many groups the first of them
has.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

from shiq.abox_ops.labels.label_calculus import EMPTY, Label, join, label_difference, literal_count

#: The individuals of one contradiction.
Group: TypeAlias = tuple[str, ...]
#: The told labels of a group, which tell presumed causes apart.
Kind: TypeAlias = frozenset[Label]

#: Individuals of a group whose labels are looked at.
SAMPLE = 16
#: Kinds that are put in order by how unlike they are; further ones follow by size.
ORDERED = 300


class GroupQueue:
    """Queue of inconsistent groups of individuals that wait for an explanation: a sub-queue for
    each known cause and each kind of labels.
    """

    def __init__(self, groups: Sequence[Group], labels: Mapping[str, Label]) -> None:
        self._kinds = {
            group: frozenset(labels[individual] for individual in group[:SAMPLE])
            for group in groups
        }
        waiting: dict[Kind, deque[Group]] = {}
        for group in groups:
            waiting.setdefault(self._kinds[group], deque()).append(group)
        order = _order_by_dissimilarity(waiting)
        self._lines = [deque([waiting[kind]]) for kind in order]
        self._draw_counts = [0] * len(order)
        self._heap = [(0, line) for line in range(len(order))]
        self._lines_without_cause = {kind: line for line, kind in enumerate(order)}
        self._causes: dict[Hashable, int] = {}
        self._waiting_count = len(groups)

    def __len__(self) -> int:
        return self._waiting_count

    def take_groups(self, max_count: int) -> list[Group]:
        """Remove and return at most ``max_count`` groups, each from the sub-queue that was served least
        so far.
        """
        found: list[Group] = []
        while self._heap and len(found) < max_count:
            drawn, number = heapq.heappop(self._heap)
            line = self._lines[number]
            if not line or drawn != self._draw_counts[number]:
                continue  # its groups have gone, or it is in the heap with another count too
            alike = line.popleft()
            found.append(alike.popleft())
            if alike:
                line.append(alike)
            self._draw_counts[number] += 1
            heapq.heappush(self._heap, (self._draw_counts[number], number))
        self._waiting_count -= len(found)
        return found

    def is_cause_known(self, group: Group) -> bool:
        """Decide whether a conflict of a group with the same labels is known, and so the presumed
        cause.
        """
        return self._kinds[group] not in self._lines_without_cause

    def learn_cause(self, group: Group, cause: Hashable, core: Label) -> None:
        """Record the ``cause`` of all groups with the labels of ``group``. Unless ``core`` is
        empty, groups whose single label contains it have this cause too. Known causes stay.
        """
        kinds = [
            kind
            for kind in self._lines_without_cause
            if core != EMPTY and len(kind) == 1 and _contains_core(kind, core)
        ]
        for kind in dict.fromkeys([self._kinds[group], *kinds]):
            own = self._lines_without_cause.pop(kind, None)
            number = self._causes.setdefault(cause, own) if own is not None else None
            if own is None or number is None or number == own:
                continue
            self._lines[number] += self._lines[own]
            self._lines[own] = deque()
            self._draw_counts[number] += self._draw_counts[own]
            heapq.heappush(self._heap, (self._draw_counts[number], number))


def _contains_core(kind: Kind, core: Label) -> bool:
    """Decide whether every label of a kind contains all literals of ``core``."""
    return all(label_difference(core, label) == EMPTY for label in kind)


def _order_by_dissimilarity(waiting: Mapping[Kind, Sequence[Group]]) -> list[Kind]:
    """Order kinds of groups: the most frequent first, then always the one whose labels differ most
    from those before it.
    """
    by_size = sorted(waiting, key=lambda kind: -len(waiting[kind]))
    joined = {kind: _join_labels(kind) for kind in by_size[:ORDERED]}
    found, left = by_size[:1], dict.fromkeys(by_size[1:ORDERED], 1 << 62)
    while left:
        last = joined[found[-1]]
        left = {
            kind: min(distance, _label_distance(joined[kind], last))
            for kind, distance in left.items()
        }
        found.append(max(left, key=left.__getitem__))
        del left[found[-1]]
    return found + by_size[ORDERED:]


def _join_labels(kind: Kind) -> Label:
    """Join the labels of a kind into one."""
    label = EMPTY
    for one in kind:
        label = join(label, one)
    return label


def _label_distance(one: Label, other: Label) -> int:
    """Count the literals in which two labels differ."""
    return literal_count((one[0] ^ other[0], one[1] ^ other[1]))

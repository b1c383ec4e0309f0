"""Which axioms make labels contradict."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from streams.consistency.dl_lite import Negative, Origins, View
from streams.consistency.negative_inclusions import conflicts


def origins_of(view: View, negatives: Mapping[Negative, Origins], conflict: Negative) -> Origins:
    """The axioms of one negative inclusion that makes ``conflict`` contradict, and of the shortest ways up to it."""
    for negative, origins in negatives.items():
        if conflict in conflicts(view, negative, conflict):
            ways = (_way_up(view, label, negative) for label in sorted(conflict))
            return origins.union(*ways)
    return frozenset()


def _way_up(view: View, label: str, tops: Iterable[str]) -> Origins:
    """The axioms of shortest chains of inclusions from ``label`` to each of ``tops`` above it."""
    came: dict[str, str | None] = {label: None}
    queue = deque((label,))
    while queue:
        sub = queue.popleft()
        for sup in view.upwards.get(sub, ()):
            if sup not in came:
                came[sup] = sub
                queue.append(sup)
    origins: Origins = frozenset()
    for top in tops:
        at = top if top in came else label
        while (before := came[at]) is not None:
            origins |= view.positive[before, at]
            at = before
    return origins

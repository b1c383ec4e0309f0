"""Node ids with locality: neighbours get near ids, so that what a check walks lies in few row groups.

Clusters are grown as in Borůvka's algorithm: in each round every cluster joins the neighbour that it is tied to most closely
for their sizes. The clusters of the last round order those of the round before, down to the individuals. Where the order in
which the individuals were first named, or that of their terms, is local already (files are often written that way), it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from jobs.engines.columns import Ints

#: After every `BLOCK` individuals, `GAP` ids are left for newcomers that belong beside them.
BLOCK, GAP = 4096, 512
#: Two ids are near if they are likely to lie in one row group.
_NEAR = 2048
_ROUNDS = 40
#: An order with this share of near pairs is kept without trying others.
_GOOD = 0.9


def spread(rank: Ints) -> Ints:
    """The id of each rank: the same order, with gaps."""
    return rank + rank // BLOCK * GAP


def local_rank(terms: Sequence[str], subjects: Ints, objects: Ints) -> Ints:
    """The rank of each of the individuals ``terms``, which the pairs (subjects[i], objects[i]) of positions connect.

    Cost: O(m log m) a round for m pairs; the clusters with ties at least halve each round, so O(log count) rounds.
    """
    count = len(terms)
    best = np.arange(count, dtype=np.int64)
    nearness = _nearness(best, subjects, objects)
    others: list[Callable[[], Ints]] = [lambda: _term_rank(terms), lambda: _clustered_rank(count, subjects, objects)]
    for make in others:
        if nearness < _GOOD:
            other = make()
            other_nearness = _nearness(other, subjects, objects)
            if other_nearness > nearness:
                best, nearness = other, other_nearness
    return best


def _term_rank(terms: Sequence[str]) -> Ints:
    order = pc.sort_indices(pa.array(terms, pa.large_string())).to_numpy()
    rank = np.empty(len(terms), np.int64)
    rank[order] = np.arange(len(terms))
    return rank


def _nearness(rank: Ints, subjects: Ints, objects: Ints) -> float:
    """The share of pairs with near ids, among those that no order could always keep together (a hub's pairs) left out."""
    if not len(subjects):
        return 1.0
    degree = np.bincount(subjects, minlength=len(rank)) + np.bincount(objects, minlength=len(rank))
    counted = np.maximum(degree[subjects], degree[objects]) <= _NEAR
    if not counted.any():
        return 1.0
    return float(np.mean(np.abs(rank[subjects[counted]] - rank[objects[counted]]) <= _NEAR))


def _clustered_rank(count: int, subjects: Ints, objects: Ints) -> Ints:
    """The order of a clustering; starts from a shuffle (seeded), so that ties do not chain up along the given order."""
    cluster = np.random.default_rng(0).permutation(count)
    levels = [cluster]
    size = np.ones(count)
    subjects, objects = cluster[subjects], cluster[objects]
    loop = subjects == objects
    low, high = np.minimum(subjects, objects)[~loop], np.maximum(subjects, objects)[~loop]
    weight = np.ones(len(low))
    for _ in range(_ROUNDS):
        low, high, weight = _bundled(low, high, weight, len(size))
        if not len(low):
            break
        joined, size = _join(low, high, weight, size)
        cluster = joined[cluster]
        levels.append(cluster)
        low, high = joined[low], joined[high]
        apart = low != high
        low, high, weight = low[apart], high[apart], weight[apart]
        low, high = np.minimum(low, high), np.maximum(low, high)
    rank = np.empty(count, np.int64)
    rank[np.lexsort(levels)] = np.arange(count, dtype=np.int64)
    return rank


def _bundled(low: Ints, high: Ints, weight: npt.NDArray[np.float64], count: int) -> tuple[Ints, Ints, npt.NDArray[np.float64]]:
    """Parallel ties as one tie of their common weight."""
    ties, inverse = np.unique(low * count + high, return_inverse=True)
    return ties // count, ties % count, np.bincount(inverse, weight, minlength=len(ties)).astype(np.float64)


def _join(
    low: Ints, high: Ints, weight: npt.NDArray[np.float64], size: npt.NDArray[np.float64]
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Each cluster with its closest neighbour; new numbers by old cluster, and the new sizes.

    Follows pointers by doubling; ties are broken by number, so that pointers form no cycle longer than two.
    """
    count = len(size)
    here, there = np.concatenate([low, high]), np.concatenate([high, low])
    closeness = np.tile(weight / (size[low] * size[high]), 2)
    order = np.lexsort((np.tile(low * count + high, 2), -closeness, here))
    first = np.unique(here[order], return_index=True)[1]
    target = np.arange(count, dtype=np.int64)
    target[here[order][first]] = there[order][first]
    mutual = (target[target] == np.arange(count)) & (target > np.arange(count))
    target[mutual] = np.flatnonzero(mutual)
    while True:
        further = target[target]
        if np.array_equal(further, target):
            break
        target = further
    joined = np.unique(target, return_inverse=True)[1].astype(np.int64)
    return joined, np.bincount(joined, size).astype(np.float64)

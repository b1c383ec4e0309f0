"""Number individuals so that neighbours get near ids; then a check reads few row groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    Floats,
    Ints,
    arrow_texts,
    distinct_with_inverse,
    follow_pointers,
    group_minimum,
    numpy_ints,
)
from shiq.columns.rows import literal_text, term_key
from shiq.model import Literal

#: After every `BLOCK` individuals, `GAP` ids are left for newcomers that belong beside them.
BLOCK, GAP = 4096, 512
#: Individuals of a range, unless others are asked for: their literals are numbered together, their
#: rows are a file of each table, and Spark treats them in one task.
RANGE = 32 * BLOCK
#: Two ids are near if they are likely to lie in one row group.
NEAR = 2048
ROUNDS = 40
#: An order with this share of near pairs is kept without trying others.
GOOD = 0.9


def spread(rank: Ints) -> Ints:
    """Convert ranks to ids: ascending, with `GAP` unused ids after every `BLOCK` individuals."""
    return rank + rank // BLOCK * GAP


def local_rank(terms: Sequence[str], subjects: Ints, objects: Ints) -> Ints:
    """Order the individuals ``terms`` so that individuals joined by a role assertion (subjects[i],
    objects[i]) get near ranks. Returns the rank of each.

    Cost: O(m log m) a round for m pairs; the clusters with ties at least halve each round, so
    O(log count) rounds.
    """
    rank = term_rank(terms)
    near = nearness(rank, subjects, objects)
    if near >= GOOD:
        return rank
    by_rank = np.empty(len(terms), np.int64)
    by_rank[rank] = np.arange(len(terms))
    hashes = term_key([terms[i] for i in by_rank.tolist()])
    clustered = clustered_rank(hashes, rank[subjects], rank[objects])[rank]
    return clustered if nearness(clustered, subjects, objects) > near else rank


def term_rank(terms: Sequence[str]) -> Ints:
    """Position of each term in the order of their UTF-8 bytes."""
    order = numpy_ints(pc.sort_indices(arrow_texts(terms)))
    rank = np.empty(len(terms), np.int64)
    rank[order] = np.arange(len(terms))
    return rank


def literal_ids(
    node_rank: Ints, literal: Ints, literals: Sequence[Literal], width: int | None = None
) -> tuple[Ints, Ints]:
    """Number the literals of data assertions so that literals used in the same id range of
    individuals get near numbers.

    Returns: the literal's number for each assertion, and the position of the literal that each
    number stands for. ``width``: individuals of a range, if not `RANGE`.
    """
    count = max(len(literals), 1)
    _, which, example = distinct_with_inverse(node_rank // (width or RANGE) * count + literal)
    value = literal[example]
    least = group_minimum(which, node_rank, len(value))
    used, of_used, _ = distinct_with_inverse(value)
    text_rank = term_rank([literal_text(literals[i]) for i in used.tolist()])[of_used]
    order = np.lexsort((text_rank, least))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[which], value[order]


def nearness(rank: Ints, subjects: Ints, objects: Ints) -> float:
    """Share of role assertions whose subject and object have ranks at most `NEAR` apart. Assertions
    at individuals with more than `NEAR` neighbours do not count.
    """
    if not len(subjects):
        return 1.0
    degree = np.bincount(subjects, minlength=len(rank)) + np.bincount(objects, minlength=len(rank))
    counted = np.maximum(degree[subjects], degree[objects]) <= NEAR
    if not counted.any():
        return 1.0
    return float(np.mean(np.abs(rank[subjects[counted]] - rank[objects[counted]]) <= NEAR))


def clustered_rank(hashes: Ints, subjects: Ints, objects: Ints) -> Ints:
    """Order individuals by hierarchical clustering along their role assertions. ``hashes`` breaks
    ties. Returns the rank of each individual.
    """
    count = len(hashes)
    cluster = np.empty(count, np.int64)
    cluster[np.argsort(hashes, kind="stable")] = np.arange(count)
    subjects, objects = cluster[subjects], cluster[objects]
    loop = subjects == objects
    low, high = np.minimum(subjects, objects)[~loop], np.maximum(subjects, objects)[~loop]
    levels = cluster_rounds(cluster, low, high, np.ones(len(low)), np.ones(count), ROUNDS)
    rank = np.empty(count, np.int64)
    rank[np.lexsort(levels)] = np.arange(count, dtype=np.int64)
    return rank


def cluster_rounds(
    cluster: Ints, low: Ints, high: Ints, weight: Floats, size: Floats, rounds: int
) -> list[Ints]:
    """Merge clusters of linked individuals for at most ``rounds`` rounds, or until no links between
    clusters are left.

    cluster: cluster of each individual at the start.
    low, high, weight: links between clusters, with their weights.
    size: number of individuals of each cluster.

    Returns: the cluster of each individual at the start and after each round.
    """
    levels = [cluster]
    for _ in range(rounds):
        low, high, weight = merge_ties(low, high, weight, len(size))
        if not len(low):
            break
        joined, size = join_clusters(low, high, weight, size)
        cluster = joined[cluster]
        levels.append(cluster)
        low, high = joined[low], joined[high]
        apart = low != high
        low, high, weight = low[apart], high[apart], weight[apart]
        low, high = np.minimum(low, high), np.maximum(low, high)
    return levels


def merge_ties(low: Ints, high: Ints, weight: Floats, count: int) -> tuple[Ints, Ints, Floats]:
    """Merge links between the same two clusters, and add their weights. ``count``: number of
    clusters.
    """
    ties, inverse = np.unique(low * count + high, return_inverse=True)
    return (
        ties // count,
        ties % count,
        np.bincount(inverse, weight, minlength=len(ties)).astype(np.float64),
    )


def join_clusters(low: Ints, high: Ints, weight: Floats, size: Floats) -> tuple[Ints, Floats]:
    """Merge each cluster with its closest neighbour, where closeness is the weight of their link
    divided by the product of their sizes. Returns the new cluster number by the old one, and the
    new sizes.
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
    joined = np.unique(follow_pointers(target), return_inverse=True)[1].astype(np.int64)
    return joined, np.bincount(joined, size).astype(np.float64)

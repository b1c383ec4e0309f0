"""Renumber individuals by hierarchical clustering of their role assertions, in tasks:
`shiq.jobs.store.numbering`, level by level.

It is for an ABox whose terms do not show which individuals belong together.

A level is a set of clusters, numbered from 0, with their links, in parts. A round joins each
cluster with its closest neighbour. It chooses neighbours, follows the choices to their ends, and
numbers the ends. The next level's parts then get the links and sizes by the new numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from itertools import count as count_up
from typing import TypeVar

import numpy as np

from shiq.columns.arrays import NONE, Columns, Ints, unique
from shiq.columns.rows import term_key
from shiq.jobs.building.dictionary import Dictionary, rank_chunks
from shiq.jobs.building.exchange import (
    Executor,
    IncomingColumns,
    OutgoingColumns,
    Scratch,
    columns_from_senders,
    concatenate_rows,
    load_column,
    load_columns,
    look_up,
    save_columns,
    scatter,
    split_rows,
)
from shiq.jobs.building.tables import (
    NumberedChunk,
    Ranges,
    measure_nearness,
    merge_edges,
    merge_hash_rows,
    send_hashes,
)
from shiq.jobs.store.numbering import ROUNDS, cluster_rounds

R = TypeVar("R")

#: So many links (from both ends) are left to one task.
SINGLE_TASK_LINKS = 1 << 22


def renumber(
    executor: Executor,
    ranges: Ranges,
    dictionary: Dictionary,
    chunks: Sequence[NumberedChunk],
    nearness: float,
    finish: int = SINGLE_TASK_LINKS,
) -> Ranges:
    """Renumber the individuals of ``ranges`` by clusters, if that brings neighbours nearer together
    than ``nearness``.
    """
    clustered = replace(ranges, is_renumbered=True)
    _write_clustered_ranks(executor, ranges, dictionary, finish)
    rank_chunks(
        executor,
        dictionary,
        range(len(chunks)),
        clustered.numbering_folder,
        partial(clustered_ranks, clustered),
    )
    hubs = merge_edges(executor, clustered, chunks)
    return clustered if measure_nearness(executor, clustered, hubs) > nearness else ranges


def clustered_ranks(ranges: Ranges, ranks: Ints) -> Ints:
    """Look up the clustered rank of individuals, given by their rank in the dictionary.

    Opens one file for each range that ``ranks`` touch.
    """
    found = np.zeros(len(ranks), np.int64)
    owner = ranks // ranges.width
    for i in unique(owner).tolist():
        mine = owner == i
        rank = load_column(ranges.scratch / "clusters" / "new" / i / "rank")
        found[mine] = rank[ranks[mine] - i * ranges.width]
    return found


@dataclass(frozen=True)
class _ClusterLevel:
    """One level of the hierarchical clustering of individuals: clusters 0 … count-1, stored in
    parts of ``width`` clusters each.

    Below ``folder``, ``I/links`` has here, there and weight of part I, and ``I/sizes`` the sizes.
    """

    folder: Scratch
    number: int
    count: int
    width: int

    def __len__(self) -> int:
        return max(1, -(-self.count // self.width))

    @property
    def level_folder(self) -> Scratch:
        """The folder with the files of the level."""
        return self.folder / self.number

    def bounds(self, i: int) -> tuple[int, int]:
        """The first cluster of part ``i`` of the level, and the one after its last."""
        return i * self.width, min((i + 1) * self.width, self.count)

    def messages_by_part(self, name: str, rows: Columns, key: str) -> Iterator[OutgoingColumns]:
        """Split ``rows``, sorted by the cluster number in column ``key``, into messages to the
        parts that hold those clusters.
        """
        return ((i, name, part) for i, part in split_rows(rows, rows[key], self.width))

    def look_up(
        self,
        executor: Executor,
        ask: Callable[[int], Ints],
        column: Callable[[int], Ints],
        receive: Callable[[int, Callable[[Ints], Ints]], R],
        what: str,
    ) -> list[R]:
        """Look up values of clusters that other parts of the level hold, by two shuffles as
        `exchange.look_up` does.
        """
        return look_up(executor, ask, column, self.width, receive, len(self), f"clustering: {what}")

    def read_values(self, i: int, name: str) -> Ints:
        """Read the column of values in the file ``name`` of part ``i`` of the level."""
        return load_column(self.level_folder / i / name)


def _write_clustered_ranks(
    executor: Executor, ranges: Ranges, dictionary: Dictionary, finish: int
) -> None:
    """Write the clustered rank of each individual, and the individual of each clustered rank."""
    folder = ranges.scratch / "clusters"
    level = _make_first_level(executor, ranges, dictionary, folder)
    levels = [level]
    links = sum(_collect_parts(executor, level, ranges.folder, len(ranges)))
    while finish < links and len(levels) <= ROUNDS:
        level, links = _join_level(executor, level)
        levels.append(level)
    executor.run(
        partial(_cluster_rest_in_one_task, rounds=ROUNDS + 1 - len(levels)),
        [level],
        "clustering: the rest",
    )
    for lower, upper in reversed(list(pairwise(levels))):
        scatter(
            executor,
            partial(_first_child_ranks, level=upper),
            range(len(upper)),
            lower.width,
            lower.level_folder,
            "begins",
            len(lower),
            "clustering: handing down",
        )
    begins, settle = (
        partial(levels[0].read_values, name="begins"),
        partial(_write_new_ranks, ranges=ranges),
    )
    levels[0].look_up(
        executor, partial(_first_level_positions, ranges=ranges), begins, settle, "new ranks"
    )
    scatter(
        executor,
        partial(_old_ranks, ranges=ranges),
        range(len(ranges)),
        ranges.width,
        folder / "old",
        "rank",
        len(ranges),
        "clustering: individuals of new ranks",
    )


# --- the individuals as clusters of one -----------------------------------------------------------


def _make_first_level(
    executor: Executor, ranges: Ranges, dictionary: Dictionary, folder: Scratch
) -> _ClusterLevel:
    """Make level 0, in which every individual is a cluster by itself, in the order of the hashes of
    their names.
    """
    count = range(len(ranges))
    executor.run(
        partial(_write_hashes, ranges=ranges, dictionary=dictionary), count, "clustering: hashes"
    )
    send, receive = partial(send_hashes, ranges=ranges), partial(_sort_hashes, ranges=ranges)
    sizes = executor.exchange(send, count, receive, len(ranges), "clustering: sorting hashes")
    first = list(zip(count, accumulate(sizes, initial=0)))
    scatter(
        executor,
        partial(_hash_positions, ranges=ranges),
        first,
        ranges.width,
        folder / "start",
        "place",
        len(ranges),
        "clustering: places",
    )
    level = _ClusterLevel(folder, 0, ranges.nodes, ranges.width)
    neighbours, places = (
        partial(_half_edge_targets, ranges=ranges),
        partial(_first_level_positions, ranges=ranges),
    )
    level.look_up(executor, neighbours, places, partial(_write_first_links, ranges=ranges), "links")
    return level


def _write_hashes(i: int, *, ranges: Ranges, dictionary: Dictionary) -> None:
    """Task: write the hash of each term of id range ``i``, sorted."""
    low, high = ranges.bounds(i)
    hashes = term_key(dictionary.terms_of(low, high).to_pylist())
    order = np.argsort(hashes, kind="stable")
    save_columns(ranges.folder(i) / "hashes", {"hash": hashes[order], "node": order + low})


def _sort_hashes(i: int, received: IncomingColumns, *, ranges: Ranges) -> int:
    """Task: sort the hashes received for the ``i``-th interval of hash values. Returns their
    number.
    """
    node = merge_hash_rows(received)["node"]
    save_columns(ranges.folder(i) / "hashed", {"node": node})
    return len(node)


def _hash_positions(task: tuple[int, int], *, ranges: Ranges) -> tuple[Ints, Ints]:
    """Read the individuals of an interval of hash values, each with its position in level 0."""
    i, first = task
    node = load_column(ranges.folder(i) / "hashed", "node")
    return node, first + np.arange(len(node), dtype=np.int64)


def _first_level_positions(i: int, *, ranges: Ranges) -> Ints:
    """Read the position in level 0 of each individual of id range ``i``."""
    return load_column(ranges.scratch / "clusters" / "start" / i / "place")


def _half_edge_targets(i: int, *, ranges: Ranges) -> Ints:
    """Read the neighbour of each half edge (one direction of a role assertion) of id range ``i``."""
    return load_column(ranges.folder(i) / "half_edges", "neighbour")


def _write_first_links(i: int, position_of: Callable[[Ints], Ints], *, ranges: Ranges) -> None:
    """Task: write the links between clusters of level 0, one for each half edge between different
    nodes.

    position_of: looks up the level-0 position of nodes.
    """
    rows = load_columns(ranges.folder(i) / "half_edges")
    apart = rows["node"] != rows["neighbour"]
    here = _first_level_positions(i, ranges=ranges)[rows["node"][apart] - ranges.bounds(i)[0]]
    there = position_of(rows["neighbour"][apart])
    links = _bundle_links(here, there, np.ones(len(here), np.int64))
    save_columns(ranges.folder(i) / "loose", links)
    save_columns(ranges.folder(i) / "children", dict.fromkeys(("parent", "child", "size"), NONE))


def _bundle_links(here: Ints, there: Ints, weight: Ints) -> Columns:
    """Merge links (``here``, ``there``) with the same two ends and add their weights."""
    order = np.lexsort((there, here))
    here, there, weight = here[order], there[order], weight[order]
    first = np.ones(len(here), np.bool_)
    first[1:] = (here[1:] != here[:-1]) | (there[1:] != there[:-1])
    at = np.flatnonzero(first)
    return {
        "here": here[at],
        "there": there[at],
        "weight": np.add.reduceat(weight, at) if len(at) else weight,
    }


# --- a round --------------------------------------------------------------------------------------


def _join_level(executor: Executor, level: _ClusterLevel) -> tuple[_ClusterLevel, int]:
    """Join each cluster with its closest neighbour. Returns the next level and its number of links.

    A link counts twice, once for each end.
    """
    count, others = range(len(level)), partial(_linked_clusters, level=level)
    level.look_up(
        executor,
        others,
        partial(level.read_values, name="sizes"),
        partial(_choose_neighbours, level=level),
        "closest",
    )
    targets = partial(level.read_values, name="targets")
    roots = level.look_up(
        executor, targets, targets, partial(_follow_choices, level=level), "following"
    )
    for n in count_up():
        ends = partial(level.read_values, name=f"ends-{n}")
        if not any(
            level.look_up(
                executor, ends, ends, partial(_double_steps, level=level, n=n), "following"
            )
        ):
            break
    first = list(zip(count, accumulate(roots, initial=0)))
    executor.run(partial(_number_roots, level=level), first, "clustering: numbering")
    level.look_up(
        executor,
        ends,
        partial(level.read_values, name="numbers"),
        partial(_write_parents, level=level, ends=ends),
        "numbering",
    )
    level.look_up(
        executor,
        others,
        partial(level.read_values, name="parents"),
        partial(_renumber_links, level=level),
        "renaming",
    )
    upper = replace(level, number=level.number + 1, count=sum(roots))
    return upper, sum(_collect_parts(executor, upper, level.level_folder.__truediv__, len(level)))


def _linked_clusters(i: int, *, level: _ClusterLevel) -> Ints:
    """Read the clusters to which the clusters of part ``i`` of the level are linked, one entry for
    each link.
    """
    return load_column(level.level_folder / i / "links", "there")


def _choose_neighbours(i: int, size_of: Callable[[Ints], Ints], *, level: _ClusterLevel) -> None:
    """Task: choose the closest neighbour of each cluster of part ``i`` of the level; without links
    the cluster itself.
    """
    low, high = level.bounds(i)
    links = load_columns(level.level_folder / i / "links")
    here, there = links["here"], links["there"]
    size = level.read_values(i, "sizes")[here - low].astype(np.float64) * size_of(there).astype(
        np.float64
    )
    closeness = links["weight"].astype(np.float64) / size
    order = np.lexsort((np.maximum(here, there), np.minimum(here, there), -closeness, here))
    chosen, first = np.unique(here[order], return_index=True)
    target = np.arange(low, high, dtype=np.int64)
    target[chosen - low] = there[order][first]
    save_columns(level.level_folder / i / "targets", {"value": target})


def _follow_choices(i: int, target_of: Callable[[Ints], Ints], *, level: _ClusterLevel) -> int:
    """Task: begin to follow the chains in which each cluster of part ``i`` of the level chose a
    neighbour. Returns the number of clusters at which chains end.

    Choices form no cycles except pairs; the lesser of a pair is an end.
    """
    own, target = np.arange(*level.bounds(i), dtype=np.int64), level.read_values(i, "targets")
    end = np.where((target_of(target) == own) & (target > own), own, target)
    save_columns(level.level_folder / i / "ends-0", {"value": end})
    save_columns(level.level_folder / i / "is_root", {"value": (end == own).astype(np.int64)})
    return int((end == own).sum())


def _double_steps(i: int, end_of: Callable[[Ints], Ints], *, level: _ClusterLevel, n: int) -> bool:
    """Task: double the number of choices followed from each cluster of part ``i`` of the level.
    Returns True if that has changed the end of any chain.
    """
    before = level.read_values(i, f"ends-{n}")
    end = end_of(before)
    save_columns(level.level_folder / i / f"ends-{n + 1}", {"value": end})
    return not np.array_equal(before, end)


def _number_roots(task: tuple[int, int], *, level: _ClusterLevel) -> None:
    """Task: number consecutively the clusters of a part at which chains of choices end; they become
    the clusters of the next level.

    task: the part, and the first number.
    """
    i, first = task
    is_root = level.read_values(i, "is_root")
    save_columns(level.level_folder / i / "numbers", {"value": first + np.cumsum(is_root) - 1})


def _write_parents(
    i: int, number_of: Callable[[Ints], Ints], *, level: _ClusterLevel, ends: Callable[[int], Ints]
) -> None:
    """Task: write the cluster of the next level that contains each cluster of part ``i`` of the
    level.
    """
    save_columns(level.level_folder / i / "parents", {"value": number_of(ends(i))})


def _renumber_links(i: int, parent_of: Callable[[Ints], Ints], *, level: _ClusterLevel) -> None:
    """Task: write links and sizes of part ``i`` of the level with the cluster numbers of the next
    level.
    """
    folder = level.level_folder / i
    low, high = level.bounds(i)
    parent, links = level.read_values(i, "parents"), load_columns(folder / "links")
    here, there = parent[links["here"] - low], parent_of(links["there"])
    apart = here != there
    weight = np.asarray(links["weight"])[apart]
    save_columns(folder / "loose", _bundle_links(here[apart], there[apart], weight))
    own, size = np.arange(low, high, dtype=np.int64), level.read_values(i, "sizes")
    order = np.lexsort((own, parent))
    save_columns(
        folder / "children", {"parent": parent[order], "child": own[order], "size": size[order]}
    )


def _collect_parts(
    executor: Executor, level: _ClusterLevel, folder: Callable[[int], Scratch], count: int
) -> list[int]:
    """Make the parts of ``level`` from the files that ``count`` parts of the level below wrote.
    Returns the number of links of each.
    """
    folders = [folder(i) for i in range(count)]
    send, receive = partial(_send_links, level=level), partial(_receive_links, level=level)
    return executor.exchange(send, folders, receive, len(level), "clustering: gathering")


def _send_links(folder: Scratch, *, level: _ClusterLevel) -> Iterator[OutgoingColumns]:
    """Task: send links and child clusters to the parts of the level that hold their clusters."""
    yield from level.messages_by_part("loose", load_columns(folder / "loose"), "here")
    yield from level.messages_by_part("children", load_columns(folder / "children"), "parent")


def _receive_links(i: int, received: IncomingColumns, *, level: _ClusterLevel) -> int:
    """Task: write the links, children and sizes of the clusters of part ``i`` of the level. Returns
    the number of links.
    """
    low, high = level.bounds(i)
    names = ("here", "there", "weight")
    rows = concatenate_rows(columns_from_senders(received, "loose"), names)
    links = _bundle_links(*(rows[name] for name in names))
    save_columns(level.level_folder / i / "links", links)
    rows = concatenate_rows(columns_from_senders(received, "children"), ("parent", "child", "size"))
    order = np.lexsort((rows["child"], rows["parent"]))
    parent, child, size = (rows[name][order] for name in ("parent", "child", "size"))
    total = (
        np.bincount(parent - low, size, minlength=high - low).astype(np.int64)
        if level.number
        else np.ones(high - low, np.int64)
    )
    before = np.cumsum(size) - size
    offset = before - (np.cumsum(total) - total)[parent - low]
    by_child = np.argsort(child)
    save_columns(level.level_folder / i / "sizes", {"value": total})
    save_columns(
        level.level_folder / i / "offsets",
        {"child": child[by_child], "parent": parent[by_child], "offset": offset[by_child]},
    )
    return len(links["here"])


# --- positions ------------------------------------------------------------------------------------


def _cluster_rest_in_one_task(level: _ClusterLevel, *, rounds: int) -> None:
    """Task: do all remaining rounds of clustering in memory, as `clustered_rank` does, once the
    level is small.

    Writes the first rank of each cluster of ``level``.
    """
    files = [level.level_folder / i / "links" for i in range(len(level))]
    rows = concatenate_rows([load_columns(path) for path in files], ("here", "there", "weight"))
    size = np.concatenate([level.read_values(i, "sizes") for i in range(len(level))])
    forward = rows["here"] < rows["there"]
    low, high, weight = (
        rows["here"][forward],
        rows["there"][forward],
        rows["weight"][forward].astype(np.float64),
    )
    cluster = np.arange(level.count, dtype=np.int64)
    order = np.lexsort(cluster_rounds(cluster, low, high, weight, size.astype(np.float64), rounds))
    begins = np.empty(level.count, np.int64)
    begins[order] = np.cumsum(size[order]) - size[order]
    for i in range(len(level)):
        first, last = level.bounds(i)
        save_columns(level.level_folder / i / "begins", {"value": begins[first:last]})


def _first_child_ranks(i: int, *, level: _ClusterLevel) -> tuple[Ints, Ints]:
    """Compute the rank of the first individual of each child cluster (of the level below)."""
    rows = load_columns(level.level_folder / i / "offsets")
    begin = level.read_values(i, "begins")[rows["parent"] - level.bounds(i)[0]]
    return rows["child"], begin + rows["offset"]


def _write_new_ranks(i: int, begin_of: Callable[[Ints], Ints], *, ranges: Ranges) -> None:
    """Task: write the clustered rank of the individuals of id range ``i``."""
    save_columns(
        ranges.scratch / "clusters" / "new" / i / "rank",
        {"value": begin_of(_first_level_positions(i, ranges=ranges))},
    )


def _old_ranks(i: int, *, ranges: Ranges) -> tuple[Ints, Ints]:
    """Read the new rank of each individual of id range ``i``, with its dictionary rank."""
    old = np.arange(*ranges.bounds(i), dtype=np.int64)
    return load_column(ranges.scratch / "clusters" / "new" / i / "rank"), old

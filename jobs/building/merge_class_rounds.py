"""Compute the merge classes of A (elements that restrictions may make equal; THEORY, "Irrelevant
role assertions") by rounds of tasks over id ranges.

Ranges report pairs of elements that an overfull element may merge, and the driver unites them.
Then the range of its least element asks each class that grew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shiq.abox_ops.counting.merge_classes import missing_merges, outside_merge_classes
from shiq.abox_ops.elements.base import StoreBase
from shiq.abox_ops.elements.graph import Graph
from shiq.abox_ops.elements.quotient import StoredPartition, component_minima, make_partition
from shiq.abox_ops.index.index import Index, ToldLabelTable, view_without_batch
from shiq.abox_ops.labels.label_tables import read_labels
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.columns.arrays import NONE, Columns, Ints, row_changes, unique
from shiq.jobs.building.exchange import Executor, Scratch, load_columns, save_columns
from shiq.jobs.building.tables import Ranges, rank_of
from shiq.jobs.building.told_labels import CalculusRecipe
from shiq.jobs.building.worker import cached_value
from shiq.jobs.store import Store
from shiq.jobs.store.manifest import Manifest
from shiq.jobs.store.numbering import spread
from shiq.jobs.store.table import ParquetTable
from shiq.model.roles import Role, RoleBox, role_box
from shiq.remote.place import parse_location
from shiq.simplify import simplify


@dataclass(frozen=True)
class IndexedStore:
    """A store whose tables of told labels are written but that is not published yet; tasks open it
    by this value.

    manifest: of the tables written so far
    """

    path: str
    manifest: Manifest
    rules: CalculusRecipe
    stage: str
    negated_roles: frozenset[Role] = frozenset()
    negated_properties: frozenset[str] = frozenset()

    def open_cached(self) -> tuple[StoreBase, Index, RoleBox]:
        """Open the base, its index and its roles; each worker process keeps them in a cache."""
        return cached_value("index", (self.rules.build, self.stage), self._open)

    def _open(self) -> tuple[StoreBase, Index, RoleBox]:
        """Open the base, its index and its roles from the tables that the build has written so far."""
        store = Store(parse_location(self.path), self.manifest)
        base = StoreBase(store)
        simplified = simplify(self.rules.tbox, self.rules.extra)
        labels = read_labels(store.table("labels").all())
        index = Index(
            self.rules.extra,
            simplified,
            NumberedCalculus(simplified.clauses, base.names, labels),
            _open_grouping(store, "same"),
            _open_grouping(store, "equal"),
            _open_grouping(store, "merged"),
            ToldLabelTable(store.table("elements")),
            self.negated_roles,
            self.negated_properties,
            False,
            len(labels),
        )
        return base, index, role_box(self.rules.tbox.axioms)


def _open_grouping(store: Store, name: str) -> StoredPartition:
    """Open the stored partition ``name`` of a store's elements; it has two tables."""
    return StoredPartition(store.table(name), store.table(f"{name}_members"))


def range_elements(base: StoreBase, ranges: Ranges, i: int) -> Ints:
    """List the elements whose least node is in id range ``i``."""
    table = base.store.table("elements")
    if not isinstance(table, ParquetTable):
        raise TypeError(table)
    low, high = spread(np.array(ranges.bounds(i), np.int64)).tolist()
    return table.rows_between(low, high)["element"]


MergePairs = tuple[Ints, Ints]


def merge_classes(executor: Executor, ranges: Ranges, indexed: IndexedStore) -> StoredPartition:
    """Compute the merge classes that have several elements (THEORY, "Irrelevant role assertions"),
    by rounds of tasks over id ranges.
    """
    if not indexed.rules.calculus().space.m_type:
        return make_partition(NONE, NONE)
    task = partial(_element_merge_pairs, ranges=ranges, indexed=indexed)
    found = executor.run(task, range(len(ranges)), "merge classes")

    def ask(classes: Scratch, parts: list[Ints]) -> list[MergePairs]:
        task = partial(_class_merge_pairs, indexed=indexed, classes=classes)
        return executor.run(task, parts, "merge classes")

    return load_classes(unite_pairs_by_rounds(ranges, found, ask, lambda i: f"told-classes-{i}"))


def unite_pairs_by_rounds(
    ranges: Ranges,
    found: list[MergePairs],
    ask: Callable[[Scratch, list[Ints]], list[MergePairs]],
    name: Callable[[int], str],
) -> Scratch | None:
    """Unite the elements of each pair into merge classes, then ask the classes that grew for more
    pairs, round by round, until there are none.

    Classes that grew are asked again. Stops because classes only grow together.

    Args:
        found: pairs of elements that single elements may merge, by range.
        ask: given the file of all classes, and by range the names of those that grew, the pairs
            that each range's classes make one.
        name: of the file of each round's classes.

    Returns:
        The file of the classes that have several elements; None if there are none.
    """
    path, before, turn = None, make_partition(NONE, NONE), 0
    while any(len(first) for first, _ in found):
        first, second = (np.concatenate([pair[k] for pair in found]) for k in (0, 1))
        classes = _unite_pairs(before, first, second)
        path, turn = ranges.scratch / name(turn), turn + 1
        save_columns(path, dict(next(iter(classes.by_member.scan()))))
        names = grown_classes(before, classes)
        owner = rank_of(names) // ranges.width
        found = ask(path, [names[owner == i] for i in unique(owner).tolist()])
        before = classes
    return path


def load_classes(path: Scratch | None) -> StoredPartition:
    """Read the merge classes that `unite_pairs_by_rounds` wrote."""
    rows = load_columns(path) if path else {"member": NONE, "group": NONE}
    return make_partition(rows["member"], rows["group"])


def grown_classes(before: StoredPartition, now: StoredPartition) -> Ints:
    """Find the classes, by name (least element), of ``now`` that have other members than in
    ``before``.
    """
    old, new = (dict(next(iter(classes.by_member.scan()))) for classes in (before, now))
    come, _ = row_changes(old, new)
    gone = row_changes(new, old)[0]
    return unique(np.concatenate([come["group"], now.group_of(gone["member"])]))


def _unite_pairs(classes: StoredPartition, first: Ints, second: Ints) -> StoredPartition:
    """Unite the classes of first[i] and second[i] in ``classes``, for each i."""
    known = next(iter(classes.by_member.scan()))
    member = unique(np.concatenate([known["member"], first, second]))
    ends = [
        member.searchsorted(np.concatenate([known[name], more]))
        for name, more in (("member", first), ("group", second))
    ]
    return make_partition(member, member[component_minima(len(member), *ends)])


def _element_merge_pairs(i: int, *, ranges: Ranges, indexed: IndexedStore) -> MergePairs:
    """Task: find the pairs of elements that must share a merge class because of the restrictions at
    a single element of id range ``i``.
    """
    return _merge_pairs(
        range_elements(indexed.open_cached()[0], ranges, i), indexed, make_partition(NONE, NONE)
    )


def _class_merge_pairs(names: Ints, *, indexed: IndexedStore, classes: Scratch) -> MergePairs:
    """Task: find the pairs of elements that must share a merge class because of the merge classes
    in ``names``.
    """
    return _merge_pairs(names, indexed, load_classes(classes))


def _merge_pairs(elements: Ints, indexed: IndexedStore, classes: StoredPartition) -> MergePairs:
    """Find the pairs of elements that must share a merge class because of ``elements``, given the
    present ``classes``.
    """
    base, index, roles = indexed.open_cached()
    graph = Graph(view_without_batch(base), roles, index.base_elements(classes))
    asked = graph.locate(elements)
    asked = asked[~index.calculus.table.clashes(graph.label[asked])]
    known = outside_merge_classes(index.calculus, graph, lambda: graph.label)
    first, second = missing_merges(known, asked)
    pairs = np.unique(np.stack([graph.key[first], graph.key[second]], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def grouping_tables(name: str, found: StoredPartition) -> dict[str, Columns]:
    """Make the columns of the two tables of a partition: one sorted by member, one by group."""
    by_member, by_group = (next(iter(table.scan())) for table in (found.by_member, found.by_group))
    return {name: by_member, f"{name}_members": by_group}

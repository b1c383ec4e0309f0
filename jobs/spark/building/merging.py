"""Merge classes of A (THEORY, "Irrelevant role assertions"): ranges report what overfull
elements make one class, the driver goes on from there.

As long as every class has one element, each range is asked by itself. Where some are united, the
driver asks the classes that grew, over the rows of their members alone, with the same code as
the engine `local`. That is little where a TBox bounds little; where most of A falls into one
class (UOBM under the clausal criterion) it is most of A's role assertions, and the driver's
memory has to hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from abox_ops.counting.columns import Counts
from abox_ops.elements.base import StoreBase
from abox_ops.elements.columns import Graph
from abox_ops.elements.partition import StoredPartition, grouping
from abox_ops.index.columns import ElementLabels, Index, alone
from abox_ops.labels.columns import Calculus
from abox_ops.labels.documents import read_labels
from jobs.spark.building.files import run
from jobs.spark.building.tables import Ranges
from jobs.spark.building.told import TaskRules
from jobs.spark.worker import StoreKey, kept
from jobs.store import Store
from shiq.columns.arrays import NONE, Columns, Ints, distinct, least_by
from shiq.remote.place import file_at, place_of
from shiq.roles import Role, RoleBox, role_box
from simplify import simplify


@dataclass(frozen=True)
class IndexedStore:
    """A store whose index is on disk, but not its manifest: what a task opens to ask for more
    than labels.
    """

    store: StoreKey
    rules: TaskRules
    stage: str
    negated_roles: frozenset[Role] = frozenset()
    negated_properties: frozenset[str] = frozenset()

    def opened(self) -> tuple[StoreBase, Index, RoleBox]:
        """The base, its index, and the roles; a worker keeps them."""
        return kept("index", (self.rules.build, self.stage), self._open)

    def _open(self) -> tuple[StoreBase, Index, RoleBox]:
        store = Store(place_of(self.store.path), self.store.manifest)
        base = StoreBase(store)
        simplified = simplify(self.rules.tbox, self.rules.extra)
        labels = read_labels(store.table("labels").all())
        index = Index(
            self.rules.extra,
            simplified,
            Calculus(simplified.clauses, base.names, labels),
            _grouping(store, "same"),
            _grouping(store, "equal"),
            _grouping(store, "merged"),
            ElementLabels(store.table("elements")),
            self.negated_roles,
            self.negated_properties,
            False,
            len(labels),
        )
        return base, index, role_box(self.rules.tbox.axioms)


def _grouping(store: Store, name: str) -> StoredPartition:
    return StoredPartition(store.table(name), store.table(f"{name}_members"))


def elements_of(base: StoreBase, ranges: Ranges, i: int) -> Ints:
    """The elements whose least node is in range ``i``."""
    store = base.store
    if not isinstance(store, Store):
        raise TypeError(store)
    table = store.table("elements")
    name = ranges.file(i)
    for file in table.version.files:
        if file.path.endswith(name):
            found: Ints = pq.read_table(file_at(store.path, file.path), columns=["element"])[
                "element"
            ].to_numpy()
            return found
    return NONE


class _Asked(Counts):
    """Merge classes from given unions on."""

    def pairs(self, classes: Ints) -> tuple[Ints, Ints]:
        """What ``classes``, asked one by one, make one class: elements by key."""
        self.graph.expand(self.members(classes))
        self._sync()
        found = [self._together(clause, classes) for clause in self.calculus.space.m_type]
        first, second = (np.concatenate([NONE, *(pair[k] for pair in found)]) for k in (0, 1))
        return self.graph.key[first], self.graph.key[second]

    def close(self, first: Ints, second: Ints) -> StoredPartition:
        """The classes that follow from first[i] and second[i] being in one."""
        numbers = self.graph.locate(first), self.graph.locate(second)
        self._sync()
        self._merge(self._union(*numbers))
        reps = self.graph.reps()
        class_, key = self.class_of[reps], self.graph.key[reps]
        _, which, _ = distinct(class_)
        return grouping(key, least_by(which, key, int(which.max(initial=-1)) + 1)[which])


def merge_classes(session: SparkSession, ranges: Ranges, indexed: IndexedStore) -> StoredPartition:
    """The merge classes that have several elements."""
    calculus = indexed.rules.calculus()
    if not calculus.space.m_type:
        return grouping(NONE, NONE)
    found = run(
        session,
        partial(_overfull, ranges=ranges, indexed=indexed),
        range(len(ranges)),
        "merge classes",
    )
    first, second = (np.concatenate([pair[k] for pair in found]) for k in (0, 1))
    if not len(first):
        return grouping(NONE, NONE)
    base, index, roles = indexed.opened()
    return _Asked(index.calculus, _graph(base, index, roles)).close(first, second)


def _graph(base: StoreBase, index: Index, roles: RoleBox) -> Graph:
    return Graph(alone(base), roles, index.equal, index.labels.of, index.merged)


def _overfull(i: int, *, ranges: Ranges, indexed: IndexedStore) -> tuple[Ints, Ints]:
    base, index, roles = indexed.opened()
    graph = _graph(base, index, roles)
    elements = graph.locate(elements_of(base, ranges, i))
    first, second = _Asked(index.calculus, graph).pairs(elements)
    apart = first != second
    pairs = np.unique(np.stack([first[apart], second[apart]], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def grouping_tables(name: str, found: StoredPartition) -> dict[str, Columns]:
    """The columns of a grouping's two tables."""
    by_member, by_group = (next(iter(table.scan())) for table in (found.by_member, found.by_group))
    return {name: by_member, f"{name}_members": by_group}

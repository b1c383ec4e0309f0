"""Compute the rows that an accepted batch adds to and removes from the tables of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shiq.abox_ops.counting.merge_classes import grow_classes, outside_merge_classes
from shiq.abox_ops.elements.base import FRESH, StoredSnapshot, as_overlay
from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.elements.quotient import component_minima, drop_single_groups
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.index.index import Index, TouchedNodes, merge_classes, touched_nodes
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.patch.renewal import ElementRenames, Renewal, renew_model
from shiq.abox_ops.told.maintenance import saturate_insertions
from shiq.columns.arrays import (
    NONE,
    ArrayTable,
    Columns,
    Ints,
    OverlayTable,
    Table,
    group_minimum,
    is_in,
    overlay_changes,
    row_changes,
    set_difference,
    unique,
)
from shiq.columns.rows import NODES, SAME, NameNumbering
from shiq.model import Assertion, Literal
from shiq.model.abox import ABox
from shiq.model.roles import Role


@dataclass(frozen=True)
class FreeNumbers:
    """The first unused id of a store for each of node, literal, complex assertion (ordinal) and
    label.
    """

    node: int
    literal: int
    ordinal: int
    label: int


@dataclass(frozen=True)
class SnapshotDelta:
    """The rows by which a snapshot differs from the one before it, with the store's ids.

    added_rows, removed_rows: rows by table, in the columns that identify them.
    terms, literals, complex, labels: values of the new numbers, which follow on those of the store.
    vanished_nodes: nodes that no assertion mentions any more.
    names: all dictionaries, stored names first.
    """

    added_rows: dict[str, Columns]
    removed_rows: dict[str, Columns]
    terms: list[str]
    literals: list[Literal]
    complex: list[Assertion]
    labels: list[Label]
    vanished_nodes: Ints
    names: NameNumbering
    negated_roles: frozenset[Role]
    negated_properties: frozenset[str]


def snapshot_delta(
    store: StoredSnapshot,
    insertions: ABox,
    deletions: ABox,
    free: FreeNumbers,
    patch: Patch | None = None,
) -> SnapshotDelta | None:
    """Compute the rows that a batch adds and removes; deletions are applied first.

    patch: the accepted patch, from which the certified model is renewed; None under other criteria.
    """
    stored = LocalKnowledgeBase.from_store(store)
    if isinstance(stored.index.labels.table, ArrayTable):
        return None
    after = stored.after_deletions(deletions, insertions)
    if stored.index.is_contradictory or len(as_overlay(after.base).removed_rows["complex"]["node"]):
        return None
    whole = after.union_with(insertions)
    # An N that only this process has made is not stored, and merge classes of told go on.
    renews = store.is_completed and patch is not None and patch.region.input.model.is_guessed
    counting = not store.is_completed
    told = compute_told_union(after, whole, counting=counting)
    if told is None or told.calculus.table.clashes(told.graph.label).any():
        return None
    changes = whole.insertion_count > 0 or after is not stored
    classes = None
    if changes and not renews and told.calculus.space.m_type:
        classes = grow_merge_classes(after.index, told) if counting else make_merge_classes(told)
    return _DeltaBuilder(
        stored.index,
        after.index,
        whole,
        told,
        free,
        patch if renews else None,
        store.table("merged"),
        classes,
    ).build()


@dataclass(frozen=True)
class ToldUnion:
    """Told labels and equalities of A ∪ A⁺, held by ``graph`` for the elements that differ from A
    without the deletions.
    """

    calculus: NumberedCalculus
    graph: Graph
    touched_nodes: TouchedNodes
    detached_elements: Ints


def compute_told_union(
    after: LocalKnowledgeBase, union: UnionView, *, counting: bool = True
) -> ToldUnion | None:
    """Compute the told literals of ``union``, starting from A without the deletions (``after``).

    ``counting``: with merge classes. None if ``union`` brings clauses of its own.
    """
    index = after.index
    if after.calculi.tbox_with_insertions(union) is not index.simplified_tbox:
        return None
    calculus = after.calculi.calculus_for(index.simplified_tbox, "clausal", union.names)
    graph = Graph(
        union,
        after.roles,
        index.base_elements(index.merge_classes if counting else None),
    )
    touched = touched_nodes(union, after.roles)
    saturate_insertions(calculus, graph, touched.nodes)
    vanished = as_overlay(union.base).vanished_nodes
    detached = unique(graph.elements_of(set_difference(index.detached_nodes, vanished)))
    graph.fetch_members(detached)
    return ToldUnion(calculus, graph, touched, detached)


def grow_merge_classes(index: Index, told: ToldUnion) -> Ints:
    """Grow the stored merge classes to those of A ∪ A⁺, around the elements of ``told`` that
    changed.

    Changed are those whose members or role assertions are not those of A; ``index``: that of A less
    the deletions.

    Returns:
        The class of each element, by number: one of its numbers.
    """
    graph = told.graph
    # With those that a vanished one was in a class with.
    if isinstance(index.merge_classes.by_member, OverlayTable):
        regrouped = index.merge_classes.by_member.removed_rows.columns["member"]
        graph.locate(set_difference(regrouped, index.detached_nodes))
    ends = graph.elements_of(graph.union.inserted_tables["half_edges"].columns["node"])
    changed = flags(len(graph), ends) | graph.is_new()
    classes = outside_merge_classes(told.calculus, graph, lambda: graph.label)
    return grow_classes(classes, np.flatnonzero(changed), told.detached_elements)


def make_merge_classes(told: ToldUnion) -> Ints:
    """Compute the merge classes of all of A ∪ A⁺ from scratch, in place of `grow_merge_classes`."""
    graph = told.graph
    graph.locate_nodes(graph.union.nodes())
    graph.fetch_edges(graph.representatives())
    return merge_classes(told.calculus, graph)


class _DeltaBuilder:
    """Builder of the difference between two snapshots, table by table."""

    def __init__(
        self,
        old: Index,
        index: Index,
        whole: UnionView,
        told: ToldUnion,
        free: FreeNumbers,
        patch: Patch | None,
        merged: Table,
        classes: Ints | None,
    ) -> None:
        self.patch, self.stored_classes, self.classes = patch, merged, classes
        self.old_index, self.index, self.whole, self.told, self.free = old, index, whole, told, free
        self.graph = told.graph
        base = as_overlay(whole.base)
        self.vanished_nodes, self.removed_rows = base.vanished_nodes, base.removed_rows

    def build(self) -> SnapshotDelta:
        """Build the difference."""
        graph = self.graph
        added = {
            name: self._number_nodes(dict(table.columns))
            for name, table in self.whole.inserted_tables.items()
        }
        literals, added["data_assertions"]["literal"] = self._number_values(
            added["data_assertions"]["literal"], self.whole.batch.literals, self.free.literal
        )
        complex_, added["complex"]["ordinal"] = self._number_values(
            added["complex"]["ordinal"], list(self.whole.batch.complex), self.free.ordinal
        )
        removed = dict(self.removed_rows)
        node, element = graph.members.node, graph.rep[graph.members.element]
        alive = ~is_in(node, self.vanished_nodes)
        self.node, self.element = node[alive], element[alive]
        self.name = self._element_names()
        self.touched_nodes = unique(np.concatenate([node[node < FRESH], self.index.detached_nodes]))
        renewal = self._model_changes()
        labels, elements = self._element_changes(renewal)
        for name, (more, fewer) in {
            "elements": elements,
            **self._rows_of_both_tables("equal", self._equality_changes()),
            **self._rows_of_both_tables("merged", self._merge_class_changes()),
            **self._rows_of_both_tables("same", self._asserted_equality_changes()),
            **renewal,
        }.items():
            added[name], removed[name] = more, fewer
        touched = self.told.touched_nodes
        return SnapshotDelta(
            added,
            removed,
            self.whole.batch.terms,
            literals,
            complex_,
            labels,
            self.vanished_nodes,
            self.whole.names,
            self.index.negated_roles | touched.negated_roles,
            self.index.negated_properties | touched.negated_properties,
        )

    # --- numbers ----------------------------------------------------------------------------------

    def _number_nodes(self, rows: Columns) -> Columns:
        """Replace the ids of fresh nodes in ``rows`` by those they get in the store."""
        return {
            name: self._stored_numbers(column) if name in NODES else column
            for name, column in rows.items()
        }

    def _stored_numbers(self, nodes: Ints) -> Ints:
        """Replace the ids of fresh nodes by those they get in the store."""
        return np.where(nodes >= FRESH, nodes - FRESH + self.free.node, nodes)

    @staticmethod
    def _number_values(ids: Ints, values: list, first: int) -> tuple[list, Ints]:  # type: ignore[type-arg]
        """Select the values in use with ids from `FRESH` on, and renumber these ids from ``first``
        on.
        """
        used = unique(ids[ids >= FRESH])
        found = ids.copy()
        found[ids >= FRESH] = first + np.searchsorted(used, ids[ids >= FRESH])
        return [values[i] for i in (used - FRESH).tolist()], found

    def _element_names(self) -> Ints:
        """The name of each element in the store, by element number: its least remaining node."""
        graph = self.graph
        least = group_minimum(self.element, self.node, len(graph))
        return np.where(least < np.iinfo(np.int64).max, least, graph.key)

    # --- the index --------------------------------------------------------------------------------

    def _model_changes(self) -> Renewal:
        """Compute the changed rows of the certified model, by table, with label ids of the delta's
        calculus.
        """
        if self.patch is None:
            return {}
        reps, first = np.unique(self.element, return_index=True)
        keys = unique(self.old_index.equality.group_of(self.touched_nodes))
        names = self._stored_numbers(self.name[reps])
        left = np.flatnonzero(self.node < FRESH)
        key, example = np.unique(self.index.equality.group_of(self.node[left]), return_index=True)
        into = self._stored_numbers(self.name[self.element[left[example]]])
        gone = keys[~is_in(keys, names)]
        renamed = ElementRenames(
            names, self.graph.label[reps], self.node[first], key, into, gone, self.free.node
        )
        outside, rows = (
            self.patch.region.input.model,
            renew_model(self.patch, self.told.calculus, renamed),
        )
        tables = {
            "completed": outside.exceptional_labels,
            "outside": outside.classes.by_member,
            "certified": outside.modules.by_member,
        }
        found = {
            name: overlay_changes(table, *rows[name]).changes() for name, table in tables.items()
        }
        return found | {f"{name}_members": found[name] for name in ("outside", "certified")}

    def _element_changes(self, renewal: Renewal) -> tuple[list[Label], tuple[Columns, Columns]]:
        """Compute the new labels, and the changed rows of the table ``elements``.

        Numbers the labels of ``renewal`` too.
        """
        reps = unique(self.element)
        label = self.graph.label[reps]
        others = renewal["completed"][0]["label"] if renewal else NONE
        used = np.concatenate([label, others])
        new = unique(used[used >= self.free.label])

        def stored_labels(labels: Ints) -> Ints:
            """Renumber labels as in the store."""
            return np.where(
                labels < self.free.label, labels, self.free.label + np.searchsorted(new, labels)
            )

        label = stored_labels(label)
        if renewal:
            renewal["completed"][0]["label"] = stored_labels(others)
        keys = unique(self.old_index.equality.group_of(self.touched_nodes))
        rows = self._number_nodes({"element": self.name[reps], "label": label})
        known = self.told.calculus.table.labels
        return [known[i] for i in new.tolist()], row_changes(
            self.old_index.labels.table.rows_of(keys), rows
        )

    def _equality_changes(self) -> tuple[Columns, Columns]:
        """Compute the changed rows of the table of certain equality: the members of elements."""
        return self._grouping_changes(
            self.old_index.equality.by_member,
            self.touched_nodes,
            self.node,
            self.name[self.element],
        )

    def _merge_class_changes(self) -> tuple[Columns, Columns]:
        """Compute the changed rows of the merge classes."""
        graph = self.graph
        if self.classes is None:
            return self._grouping_changes(self.stored_classes, NONE, NONE, NONE)
        reps = graph.representatives()
        class_ = self.classes[reps]
        alive = ~is_in(self.name[reps], self.vanished_nodes)
        reps, class_ = reps[alive], class_[alive]
        least = group_minimum(class_, self.name[reps], len(graph))
        keys = [graph.key[graph.key < FRESH], self.old_index.equality.group_of(self.touched_nodes)]
        if self.stored_classes is not self.old_index.merge_classes.by_member:
            # Nobody has kept them since N was there.
            keys += [rows["member"] for rows in self.stored_classes.scan()]
        return self._grouping_changes(
            self.stored_classes, unique(np.concatenate(keys)), self.name[reps], least[class_]
        )

    def _asserted_equality_changes(self) -> tuple[Columns, Columns]:
        """Compute the changed rows of asserted equality, for classes at which a pair came or went."""
        pairs = [self.whole.inserted_tables["pairs"].columns, self.removed_rows["pairs"]]
        ends = unique(
            np.concatenate([rows["node"][rows["kind"] // 2 * 2 == SAME] for rows in pairs])
        )
        old = self.old_index.asserted_equality
        groups = unique(old.group_of(ends[ends < FRESH]))
        nodes = unique(np.concatenate([ends, old.members(groups)[1]]))
        rows = self.whole.rows_of("pairs", set_difference(nodes, self.vanished_nodes))
        told = rows["kind"] // 2 * 2 == SAME
        first, second = (np.searchsorted(nodes, rows[name][told]) for name in ("node", "neighbour"))
        least = nodes[component_minima(len(nodes), first, second)]
        return self._grouping_changes(old.by_member, nodes[nodes < FRESH], nodes, least)

    def _grouping_changes(
        self, table: Table, members: Ints, member: Ints, group: Ints
    ) -> tuple[Columns, Columns]:
        """Compute the changed rows (member, group) of a stored grouping if ``members`` get these
        groups.
        """
        several, groups = drop_single_groups(member, group)
        return row_changes(
            table.rows_of(members), self._number_nodes({"member": several, "group": groups})
        )

    @staticmethod
    def _rows_of_both_tables(
        name: str, rows: tuple[Columns, Columns]
    ) -> Mapping[str, tuple[Columns, Columns]]:
        """Assign the changed rows of a grouping to its two tables, by member and by group."""
        return {name: rows, f"{name}_members": rows}

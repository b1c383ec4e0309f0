"""What an accepted batch changes in the tables of a store: rows that come and rows that go
(THEORY, "Irrelevant role assertions" and "Maintenance of the told sets").

Told literals and equalities of (A less the deletions) ∪ A⁺ differ from those of A only where
their maintenance has been: delete and rederive, then outward from what was inserted. Where N
goes on, its merge classes serve N = told too; else those of the store are counted again around
what changed, or of all of A where N is lost. So the work grows with the batch and what it
changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from abox_ops.counting.columns import Counts
from abox_ops.elements.base import FRESH, LessBase, StoredSnapshot
from abox_ops.elements.columns import Graph, flags
from abox_ops.elements.partition import components, of_several
from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import Index
from abox_ops.index.touched import TouchedNodes, touched_by
from abox_ops.labels.calculus import Label
from abox_ops.labels.columns import Calculus
from abox_ops.local import LocalKnowledgeBase
from abox_ops.patch.columns import Patch
from abox_ops.patch.renewal import ElementRenames, Renewal, renewed
from abox_ops.told.maintenance import insert
from shiq.abox import ABox
from shiq.columns.arrays import (
    NONE,
    ArrayTable,
    Columns,
    Ints,
    Table,
    come_and_go,
    is_in,
    least_by,
    unique,
    without,
)
from shiq.columns.rows import NODES, ROW_COLUMNS, SAME, Names
from shiq.model import Assertion, Literal
from shiq.roles import Role


@dataclass(frozen=True)
class Numbers:
    """The first free node, literal, ordinal and label of a store."""

    node: int
    literal: int
    ordinal: int
    label: int


@dataclass(frozen=True)
class SnapshotDelta:
    """Difference of two snapshots. ``added`` and ``removed``: rows by table, in the store's
    numbers, in the columns that identify them. The values of new numbers, which follow on those
    of the store: ``terms``, ``literals``, ``complex``, ``labels``. ``vanished``: nodes that
    nothing mentions any more. ``names``: all, the stored ones first.
    """

    added: dict[str, Columns]
    removed: dict[str, Columns]
    terms: list[str]
    literals: list[Literal]
    complex: list[Assertion]
    labels: list[Label]
    vanished: Ints
    names: Names
    negated_roles: frozenset[Role]
    negated_properties: frozenset[str]


def snapshot_delta(
    store: StoredSnapshot,
    insertions: ABox,
    deletions: ABox,
    free: Numbers,
    patch: Patch | None = None,
) -> SnapshotDelta | None:
    """What a batch changes in a ``store``; the deletions come first. ``patch``: by which the
    batch was accepted, if it was.

    None where that is no small change: the batch brings vocabulary or axioms into the clauses,
    or takes complex assertions away, or labels clash, or the store's index is of other clauses
    than this version of the program reads in the TBox.
    """
    stored = LocalKnowledgeBase.from_store(store)
    if isinstance(stored.index.labels.table, ArrayTable):
        return None
    after = stored.without(deletions, insertions)
    if stored.index.contradictory or (
        isinstance(after.base, LessBase) and len(after.base.removed["complex"]["node"])
    ):
        return None
    whole = after.whole(insertions)
    # An N that only this process has made is not stored, and merge classes of told go on.
    renews = store.is_completed and patch is not None and patch.outside.is_guessed
    counting = not store.is_completed
    told = told_of(after, whole, counting=counting)
    if told is None or told.calculus.table.clashes(told.graph.label).any():
        return None
    changes = whole.insertions > 0 or after is not stored
    counts = (
        None
        if renews or not changes
        else counted(after.index, told)
        if counting
        else counted_anew(told)
    )
    return _Growth(
        stored.index,
        after.index,
        whole,
        told,
        free,
        patch if renews else None,
        store.table("merged"),
        counts,
    ).found()


@dataclass(frozen=True)
class ToldUnion:
    """Told literals and equalities of A ∪ A⁺, where they are not those of A less the deletions,
    as labels of ``graph``.
    """

    calculus: Calculus
    graph: Graph
    touched: TouchedNodes
    detached: Ints


def told_of(
    after: LocalKnowledgeBase, whole: UnionView, *, counting: bool = True
) -> ToldUnion | None:
    """Told of ``whole``, from A less the deletions (``after``); with the merge classes of what
    it meets, for ``counting``. None where ``whole`` brings clauses of its own.
    """
    index = after.index
    if after.calculi.simplified_with(whole) is not index.simplified:
        return None
    calculus = after.calculi.of(index.simplified, "clausal", whole.names)
    graph = Graph(
        whole, after.roles, index.equal, index.labels.of, index.merged if counting else None
    )
    touched = touched_by(whole, after.roles)
    insert(calculus, graph, touched.nodes)
    vanished = whole.base.vanished if isinstance(whole.base, LessBase) else NONE
    detached = unique(graph.elements_of(without(index.detached, vanished)))
    graph.gather(detached)
    return ToldUnion(calculus, graph, touched, detached)


def counted(index: Index, told: ToldUnion) -> Counts:
    """The merge classes of A ∪ A⁺ in the graph of ``told``, counted again where labels, members
    or role assertions are not those of A less the deletions, whose ``index`` has changed itself
    where it is detached.
    """
    graph = told.graph
    # With those that a vanished one was in a class with.
    graph.locate(index.merged.overrides[0])
    ends = graph.elements_of(graph.whole.inserted["half_edges"].columns["node"])
    counts = Counts(told.calculus, graph)
    reps = graph.reps()
    changed = flags(len(graph), reps[graph.label[reps] != graph.old[reps]]) | graph.is_new()
    changed[ends] = True
    counts.of_batch(np.flatnonzero(changed), told.detached)
    return counts


def counted_anew(told: ToldUnion) -> Counts:
    """The merge classes of all of A ∪ A⁺."""
    graph = told.graph
    graph.locate_nodes(graph.whole.nodes())
    counts = Counts(told.calculus, graph)
    counts.of_batch(NONE, NONE, everywhere=True)
    return counts


class _Growth:
    def __init__(
        self,
        old: Index,
        index: Index,
        whole: UnionView,
        told: ToldUnion,
        free: Numbers,
        patch: Patch | None,
        merged: Table,
        counts: Counts | None,
    ) -> None:
        self.patch, self.merged, self.counts = patch, merged, counts
        self.old, self.index, self.whole, self.told, self.free = old, index, whole, told, free
        self.graph = told.graph
        self.calculus = told.calculus
        base = whole.base
        self.vanished = base.vanished if isinstance(base, LessBase) else NONE
        self.gone = base.removed if isinstance(base, LessBase) else {}

    def found(self) -> SnapshotDelta:
        graph = self.graph
        added = {
            name: self._mapped(dict(table.columns)) for name, table in self.whole.inserted.items()
        }
        literals, added["data_assertions"]["literal"] = self._numbered(
            added["data_assertions"]["literal"], self.whole.batch.literals, self.free.literal
        )
        complex_, added["complex"]["ordinal"] = self._numbered(
            added["complex"]["ordinal"], list(self.whole.batch.complex), self.free.ordinal
        )
        removed = {
            name: {c: rows[c] for c in ROW_COLUMNS[name]} for name, rows in self.gone.items()
        }
        node, element = graph.member_node, graph.rep[graph.member_element]
        alive = ~is_in(node, self.vanished)
        self.node, self.element = node[alive], element[alive]
        self.name = self._element_names()
        self.touched = unique(np.concatenate([node[node < FRESH], self.index.detached]))
        renewal = self._renewal()
        labels, elements = self._elements(renewal)
        for name, (more, fewer) in {
            "elements": elements,
            **self._both_ways("equal", self._equal()),
            **self._both_ways("merged", self._merged()),
            **self._both_ways("same", self._same()),
        }.items():
            added[name], removed[name] = more, fewer
        if renewal:
            added |= renewal.added
            removed |= renewal.removed
        touched = self.told.touched
        return SnapshotDelta(
            added,
            removed,
            self.whole.batch.terms,
            literals,
            complex_,
            labels,
            self.vanished,
            self.whole.names,
            self.index.negated_roles | touched.negated_roles,
            self.index.negated_properties | touched.negated_properties,
        )

    # --- numbers ----------------------------------------------------------------------------------

    def _mapped(self, rows: Columns) -> Columns:
        """``rows`` with the fresh nodes as the store will number them."""
        return {
            name: self._stored(column) if name in NODES else column for name, column in rows.items()
        }

    def _stored(self, nodes: Ints) -> Ints:
        return np.where(nodes >= FRESH, nodes - FRESH + self.free.node, nodes)

    @staticmethod
    def _numbered(ids: Ints, values: list, first: int) -> tuple[list, Ints]:  # type: ignore[type-arg]
        """The values of the ids from `FRESH` on that are in use, and ``ids`` with those numbered
        from ``first`` on.
        """
        used = unique(ids[ids >= FRESH])
        found = ids.copy()
        found[ids >= FRESH] = first + np.searchsorted(used, ids[ids >= FRESH])
        return [values[i] for i in (used - FRESH).tolist()], found

    def _element_names(self) -> Ints:
        """The least node of each element that is still there, by number; the base's number where
        it was not gathered.
        """
        graph = self.graph
        least = least_by(self.element, self.node, len(graph))
        return np.where(least < np.iinfo(np.int64).max, least, graph.key)

    # --- the index --------------------------------------------------------------------------------

    def _renewal(self) -> Renewal | None:
        if self.patch is None:
            return None
        reps, first = np.unique(self.element, return_index=True)
        keys = unique(self.old.equal.of(self.touched))
        names = self._stored(self.name[reps])
        left = np.flatnonzero(self.node < FRESH)
        key, example = np.unique(self.index.equal.of(self.node[left]), return_index=True)
        into = self._stored(self.name[self.element[left[example]]])
        gone = keys[~is_in(keys, names)]
        renamed = ElementRenames(
            names, self.graph.label[reps], self.node[first], key, into, gone, self.free.node
        )
        return renewed(self.patch, self.calculus, renamed)

    def _elements(self, renewal: Renewal | None) -> tuple[list[Label], tuple[Columns, Columns]]:
        """The new labels, and the rows of ``elements`` that come and go. Those of ``renewal``
        are numbered on the way.
        """
        reps = unique(self.element)
        label = self.graph.label[reps]
        others = renewal.added["completed"]["label"] if renewal else NONE
        used = np.concatenate([label, others])
        new = unique(used[used >= self.free.label])

        def stored(labels: Ints) -> Ints:
            return np.where(
                labels < self.free.label, labels, self.free.label + np.searchsorted(new, labels)
            )

        label = stored(label)
        if renewal:
            renewal.added["completed"]["label"] = stored(others)
        keys = unique(self.old.equal.of(self.touched))
        rows = self._mapped({"element": self.name[reps], "label": label})
        known = self.calculus.table.labels
        return [known[i] for i in new.tolist()], come_and_go(
            self.old.labels.table.rows_of(keys), rows
        )

    def _equal(self) -> tuple[Columns, Columns]:
        return self._difference(
            self.old.equal.by_member, self.touched, self.node, self.name[self.element]
        )

    def _merged(self) -> tuple[Columns, Columns]:
        graph = self.graph
        if self.counts is None or not self.calculus.space.m_type:
            return self._difference(self.merged, NONE, NONE, NONE)
        reps = graph.reps()
        class_ = self.counts.classes(reps)
        alive = ~is_in(self.name[reps], self.vanished)
        reps, class_ = reps[alive], class_[alive]
        least = least_by(class_, self.name[reps], len(graph))
        keys = [graph.key[graph.key < FRESH], self.old.equal.of(self.touched)]
        if self.merged is not self.old.merged.by_member:
            # Nobody has kept them since N was there.
            keys += [rows["member"] for rows in self.merged.scan()]
        return self._difference(
            self.merged, unique(np.concatenate(keys)), self.name[reps], least[class_]
        )

    def _same(self) -> tuple[Columns, Columns]:
        """Asserted equality, anew for the classes at which a pair came or went."""
        pairs = [self.whole.inserted["pairs"].columns, *([self.gone["pairs"]] if self.gone else [])]
        ends = unique(
            np.concatenate([rows["node"][rows["kind"] // 2 * 2 == SAME] for rows in pairs])
        )
        old = self.old.same
        groups = unique(old.of(ends[ends < FRESH]))
        nodes = unique(np.concatenate([ends, old.members(groups)[1]]))
        rows = self.whole.rows_of("pairs", without(nodes, self.vanished))
        told = rows["kind"] // 2 * 2 == SAME
        first, second = (np.searchsorted(nodes, rows[name][told]) for name in ("node", "neighbour"))
        least = nodes[components(len(nodes), first, second)]
        return self._difference(old.by_member, nodes[nodes < FRESH], nodes, least)

    def _difference(
        self, table: Table, members: Ints, member: Ints, group: Ints
    ) -> tuple[Columns, Columns]:
        """The rows (member, group) that come and go if ``members`` of a stored grouping are
        grouped so now.
        """
        several, groups = of_several(member, group)
        return come_and_go(
            table.rows_of(members), self._mapped({"member": several, "group": groups})
        )

    @staticmethod
    def _both_ways(
        name: str, rows: tuple[Columns, Columns]
    ) -> Mapping[str, tuple[Columns, Columns]]:
        """The rows of a grouping's two tables."""
        return {name: rows, f"{name}_members": rows}

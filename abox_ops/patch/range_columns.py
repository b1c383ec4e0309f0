"""The certificate of a base, range by range: what `abox_ops.patch.certificate_columns` finds of
all elements at once (THEORY, "By ranges of ids").

A range is certified as a part of all of A put into nothing: its elements are in I, and of the
others it takes for granted what is known of them so far. It tells what it has read, so that it
is certified again where that turns out otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from abox_ops.counting.range_columns import RangeCounts
from abox_ops.elements.base import Base
from abox_ops.elements.columns import Graph, flags
from abox_ops.elements.partition import StoredPartition, grouping
from abox_ops.index.columns import Index, alone
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools, by_distinct
from abox_ops.modules.found_columns import AddSetColumns
from abox_ops.patch.certificate_columns import NOTHING_TOUCHED, Certification, of_told
from abox_ops.patch.effort import next_effort
from abox_ops.patch.state_columns import PatchInput
from abox_ops.patch.stride_columns import InnerEdges
from shiq.columns.arrays import NONE, Columns, Ints, is_in, positions, unique
from shiq.roles import RoleBox


class KnownOfOthers(Protocol):
    """What is known of elements, by key, beyond what is told."""

    def are_plain(self, keys: Ints) -> Bools:
        """Which of them nothing is assumed of."""

    def turns_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """The turns and elements that each of them has (`abox_ops.patch.effort`)."""

    def labels_of(self, keys: Ints, calculus: Calculus) -> tuple[Ints, Ints]:
        """Positions in ``keys`` of those that have another label than the completed told one,
        and the numbers of these labels.
        """


@dataclass(frozen=True)
class CertifiedRange:
    """What came of a range, by key: its elements with ``other`` labels than the completed told
    ones; all that was ``read``; pairs of elements that single ones make one class (``first``,
    ``second``), unless classes are known; its elements of which more is kept than a label
    (``open``), and the role assertions kept there (``source``, ``target``), seen from its own
    end; the others (``alone``) with what their modules say; how many role and data assertions
    are kept (``size``).
    """

    other: Ints
    label: Ints
    read: Ints
    first: Ints
    second: Ints
    open: Ints
    source: Ints
    target: Ints
    alone: Ints
    alone_label: Ints
    size: int


@dataclass(frozen=True)
class FailedModules:
    """What modules that failed change, by key: the elements that become ``plain``; those that
    have another effort, with it.
    """

    plain: Ints
    element: Ints
    turns: Ints
    elements: Ints


@dataclass(frozen=True, eq=False)
class RangeCertifier:
    """Certifies parts of ``base``, with what is ``known`` of the rest of it, and the merge
    ``classes`` so far.
    """

    index: Index
    base: Base
    roles: RoleBox
    known: KnownOfOthers
    classes: StoredPartition = field(default_factory=lambda: grouping(NONE, NONE))

    def certified(self, elements: Ints) -> CertifiedRange:
        """What comes of a range, which has these ``elements``."""
        patch = self._patch(elements)
        patch.assume()
        patch.settle()
        graph, table, own = patch.graph, patch.calculus.table, patch.own
        mu = patch.mu[own]
        completed = by_distinct(
            graph.label[own], lambda i: table.id(patch.calculus.completions.of(table.labels[i]))
        )
        other = mu != completed
        rows = patch.edges()
        mine = flags(len(graph), own)
        keeps = patch.keeps(*rows)
        source, target = (rows[end][keeps & (rows[1] % 2 == 0)] for end in (0, 2))
        data = patch.kept_data(own)
        size = int(mine[source].sum()) + len(data["node"])
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        source, target = source[mine[source]], target[mine[source]]
        rare = [e for e, *_ in (*graph.rare.negative_edges, *graph.rare.negative_data)]
        is_open = flags(
            len(graph), np.concatenate([source, data["element"], np.array(rare, np.int64)])
        )[own]
        first, second = (
            patch.counts.ties(own)
            if patch.calculus.space.m_type and not len(self.classes)
            else (NONE, NONE)
        )
        key = graph.key
        return CertifiedRange(
            key[own[other]],
            mu[other],
            np.sort(key),
            key[first],
            key[second],
            key[own[is_open]],
            key[source],
            key[target],
            key[own[~is_open]],
            table.visible(mu[~is_open]),
            size,
        )

    def ties(self, classes: Ints) -> tuple[Ints, Ints]:
        """Pairs of elements that ``classes``, named by one of their elements each, make one class."""
        patch = self._patch(classes)
        patch.settle()
        first, second = patch.counts.ties(patch.own)
        return patch.graph.key[first], patch.graph.key[second]

    def kept(self, elements: Ints) -> AddSetColumns:
        """What is kept of ``elements``, all of some components, with what is assumed of them."""
        patch = self._patch(elements)
        patch.settle()
        graph, own = patch.graph, patch.own
        mine = flags(len(graph), own)
        source, role, target = rows = patch.edges()
        keeps = patch.keeps(*rows) & (role % 2 == 0) & mine[source] & mine[target]
        edges: Columns = {"source": source[keeps], "role": role[keeps], "target": target[keeps]}
        labels = graph.label.copy()
        labels[own] = patch.calculus.table.visible(patch.mu[own])
        data = patch.kept_data(own)
        mine = flags(len(graph), own)
        return AddSetColumns(graph, own, mine, graph.label, labels, own, NONE, edges, data)

    def widen(self, modules: Sequence[Ints]) -> FailedModules:
        """What ``modules`` that failed change: see
        `abox_ops.patch.widening_columns.WidenedState.widen`. Nothing, where nothing is assumed
        of their elements.
        """
        every = unique(np.concatenate([NONE, *modules]))
        assumed = self._assumed(every)
        turns, laid_out = self.known.turns_of(every)
        inner = InnerEdges(self._graph(), self.index.calculus, None)
        plain, rows = [NONE], [np.zeros((3, 0), np.int64)]
        for elements in modules:
            guessed = elements[is_in(elements, assumed)]
            if not len(guessed):
                continue
            at = positions(every, elements)
            effort = next_effort(int(turns[at].max()), int(laid_out[at].max()), len(elements))
            around = inner.surroundings(elements, effort)
            near = np.array(list(around.plain), np.int64)
            plain.append(near if effort.reach else guessed)
            near = np.concatenate([near, np.array(list(around.rim), np.int64)])
            rows.append(
                np.array(
                    [
                        near,
                        *(
                            np.full(len(near), n)
                            for n in (around.effort.turns, around.effort.elements)
                        ),
                    ]
                )
            )
        return FailedModules(unique(np.concatenate(plain)), *np.concatenate(rows, axis=1))

    def _assumed(self, elements: Ints) -> Ints:
        """Those of ``elements`` that are assumed to be more than they are told."""
        patch = self._patch(elements)
        patch.settle()
        more = patch.mu[patch.own] != patch.graph.label[patch.own]
        found: Ints = patch.graph.key[patch.own[more]]
        return np.sort(found[~self.known.are_plain(found)])

    def _graph(self) -> Graph:
        return Graph(
            alone(self.base), self.roles, self.index.equal, self.index.labels.of, self.classes
        )

    def _patch(self, elements: Ints) -> RangeCertification:
        graph = self._graph()
        own = unique(graph.locate(elements))
        graph.expand(own)
        return RangeCertification(self.index, graph, own, self.known)


class RangeCertification(Certification):
    """The elements ``own``, in I, and what is read of others."""

    counts: RangeCounts

    def __init__(self, index: Index, graph: Graph, own: Ints, known: KnownOfOthers) -> None:
        calculus = index.calculus
        super().__init__(
            PatchInput(index, calculus, graph, NOTHING_TOUCHED, of_told(calculus), lambda found: [])
        )
        self.own, self.known, self._is_settled = own, known, False
        self.inside = self.active = flags(len(graph), own)
        self.plain = flags(len(graph), own[known.are_plain(graph.key[own])])
        self._first = own

    def settle(self) -> None:
        """From here on, all elements have the labels that are known of them; its own those that
        were assumed, if any were.
        """
        assumed = self._mu[self.own] if len(self._mu) else None
        self._certified, self._mu, self._is_settled = NONE, NONE, True
        if assumed is not None:
            self.mu[self.own] = assumed
        self.counts = RangeCounts(self.calculus, self.graph, self.labels)
        self.joined = self._joined()

    def edges(self) -> tuple[Ints, Ints, Ints]:
        """The role assertions at its elements, from either end."""
        mine = flags(len(self.graph), self.own)
        source, role, target = self.graph.half_edges(mine)
        out = ~mine[target]
        return (
            np.concatenate([source, target[out]]),
            np.concatenate([role, role[out] ^ 1]),
            np.concatenate([target, source[out]]),
        )

    def may_clash(self, first: Ints, second: Ints) -> Bools:
        self.graph.gather(unique(np.concatenate([first, second])))
        self.joined = self._joined()
        return super().may_clash(first, second)

    def _label_more(self) -> None:
        """Takes in elements that were met meanwhile: until the labels are settled, guessed
        without triggers.
        """
        known, graph, table = len(self._certified), self.graph, self.calculus.table
        if known == len(graph):
            return
        keys, told = graph.key[known:], graph.old[known:]
        more = by_distinct(told, lambda i: table.id(self.calculus.completions.of(table.labels[i])))
        if self._is_settled:
            at, label = self.known.labels_of(keys, self.calculus)
            more[at] = label
        else:
            plain = self.known.are_plain(keys)
            more[plain] = told[plain]
        self._certified, self._mu = (
            np.concatenate([self._certified, more]),
            np.concatenate([self._mu, more]),
        )

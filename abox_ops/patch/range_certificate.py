"""Certify a base range by range, with the result of `shiq.abox_ops.patch.certificate` (THEORY, "By
ranges of ids").

In the certificate of a range its elements are in I, and the latest known labels of other elements
are assumed. The range lists the elements that it has read. It is certified again if an assumption
about one of them turns out wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from shiq.abox_ops.counting.merge_classes import missing_merges, outside_merge_classes
from shiq.abox_ops.elements.base import Base
from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.elements.quotient import StoredPartition, make_partition
from shiq.abox_ops.index.index import Index, view_without_batch
from shiq.abox_ops.labels.label_numbers import Bools, apply_to_distinct
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import AddSetColumns
from shiq.abox_ops.patch.certificate import (
    NOTHING_TOUCHED,
    assume_everywhere,
    have_several_parts,
    told_only_model,
)
from shiq.abox_ops.patch.effort import next_effort
from shiq.abox_ops.patch.inside_region import (
    PatchContext,
    PatchRegion,
    RegionLabels,
    may_clash,
    open_assertions,
)
from shiq.abox_ops.patch.patch import is_edge_kept
from shiq.abox_ops.patch.strides import OpenEdges
from shiq.columns.arrays import NONE, Columns, Ints, insertion_points, is_in, unique
from shiq.model.roles import RoleBox


class ElementAssumptions(Protocol):
    """Protocol: what a range-by-range certificate currently assumes of each element beyond its told
    label, by key.
    """

    def are_plain(self, keys: Ints) -> Bools:
        """Decide whether each element is plain: nothing is assumed of it."""

    def turns_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """For each element, how often modules of it failed, and how many elements these had in all
        (`shiq.abox_ops.patch.effort`).
        """

    def labels_of(self, keys: Ints, calculus: NumberedCalculus) -> tuple[Ints, Ints]:
        """Find the elements whose label is not the completed told one: their positions in ``keys``,
        and their label ids.
        """


@dataclass(frozen=True)
class CertifiedRange:
    """Result of certifying one range; elements by key.

    exceptional_elements, exceptional_labels: elements whose label is not the completed told one.
    read_elements: all elements that were read.
    first, second: pairs that single elements make one class, unless classes are known.
    open_elements: elements of the range of which more than a label is kept.
    source, target: role assertions kept there, seen from the end in the range.
    single_elements, single_labels: the other elements of the range, with the labels of their
        modules.
    size: the number of kept role and data assertions.
    """

    exceptional_elements: Ints
    exceptional_labels: Ints
    read_elements: Ints
    first: Ints
    second: Ints
    open_elements: Ints
    source: Ints
    target: Ints
    single_elements: Ints
    single_labels: Ints
    size: int


@dataclass(frozen=True)
class FailedModules:
    """Changes of the assumptions because modules failed; elements by key.

    plain: elements that become plain.
    element, turns, elements: elements with another effort, and that effort.
    """

    plain: Ints
    element: Ints
    turns: Ints
    elements: Ints


@dataclass(frozen=True, eq=False)
class RangeCertifier:
    """Certifies ranges of ``base``, given the ``assumptions`` about elements of other ranges and
    the merge ``classes`` so far.
    """

    index: Index
    base: Base
    roles: RoleBox
    assumptions: ElementAssumptions
    classes: StoredPartition = field(default_factory=lambda: make_partition(NONE, NONE))

    def certify_range(self, elements: Ints) -> CertifiedRange:
        """Compute the labels, merges and kept assertions of the range with these ``elements``."""
        region, own = self._make_region(elements)
        assume_everywhere(region)
        settle_labels(region, own, self.assumptions)
        graph, calculus = region.graph, region.calculus
        mu = region.labels.mu[own]
        other = mu != complete_labels(calculus, graph.label[own])
        rows = fetch_edges_at(graph, own)
        mine = flags(len(graph), own)
        kept = is_edge_kept(region, *rows, may_clash_across)
        source, target = (rows[end][kept & (rows[1] % 2 == 0)] for end in (0, 2))
        data = open_assertions(region).kept_data(own)
        size = int(mine[source].sum()) + len(data["node"])
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        source, target = source[mine[source]], target[mine[source]]
        rare = [
            e for e, *_ in (*graph.complex_facts.negative_edges, *graph.complex_facts.negative_data)
        ]
        is_open = flags(
            len(graph), np.concatenate([source, data["element"], np.array(rare, np.int64)])
        )[own]
        first, second = (
            missing_merges(region.counts, own)
            if calculus.space.m_type and not len(self.classes)
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
            calculus.table.drop_data_literals(mu[~is_open]),
            size,
        )

    def find_merges(self, classes: Ints) -> tuple[Ints, Ints]:
        """Find pairs of elements that must share a merge class because of ``classes``, each named
        by one of its elements.
        """
        region, own = self._make_region(classes)
        settle_labels(region, own, self.assumptions)
        first, second = missing_merges(region.counts, own)
        return region.graph.key[first], region.graph.key[second]

    def kept_columns(self, elements: Ints) -> AddSetColumns:
        """Compute A_add of ``elements``, which make up complete components, with their assumed
        labels.
        """
        region, own = self._make_region(elements)
        settle_labels(region, own, self.assumptions)
        graph = region.graph
        mine = flags(len(graph), own)
        source, role, target = rows = fetch_edges_at(graph, own)
        inner = is_edge_kept(region, *rows, may_clash_across) & (role % 2 == 0)
        inner &= mine[source] & mine[target]
        edges: Columns = {"source": source[inner], "role": role[inner], "target": target[inner]}
        labels = graph.label.copy()
        labels[own] = region.calculus.table.drop_data_literals(region.labels.mu[own])
        data = open_assertions(region).kept_data(own)
        mine = flags(len(graph), own)
        return AddSetColumns(graph, own, mine, graph.label, labels, own, NONE, edges, data)

    def widen(self, modules: Sequence[Ints]) -> FailedModules:
        """Compute the changes of the assumptions because ``modules`` failed, as
        `shiq.abox_ops.patch.widening_loop.widen_region` does. Modules without assumptions change
        nothing.
        """
        every = unique(np.concatenate([NONE, *modules]))
        assumed = self._assumed_elements(every)
        turns, laid_out = self.assumptions.turns_of(every)
        inner = OpenEdges(self._new_graph(), self.index.calculus, None)
        plain, rows = [NONE], [np.zeros((3, 0), np.int64)]
        for elements in modules:
            guessed = elements[is_in(elements, assumed)]
            if not len(guessed):
                continue
            at = insertion_points(every, elements)
            effort = next_effort(int(turns[at].max()), int(laid_out[at].max()), len(elements))
            around = inner.surroundings(elements, effort)
            near = np.array(list(around.plain), np.int64)
            plain.append(near if effort.is_closed else guessed)
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

    def _assumed_elements(self, elements: Ints) -> Ints:
        """Select the ``elements`` whose assumed label has literals that are not told."""
        region, own = self._make_region(elements)
        settle_labels(region, own, self.assumptions)
        more = region.labels.mu[own] != region.graph.label[own]
        found: Ints = region.graph.key[own[more]]
        return np.sort(found[~self.assumptions.are_plain(found)])

    def _new_graph(self) -> Graph:
        """Make an empty graph of the base."""
        return Graph(
            view_without_batch(self.base),
            self.roles,
            self.index.base_elements(self.classes),
        )

    def _make_region(self, elements: Ints) -> tuple[PatchRegion, Ints]:
        """Make a region whose elements I are ``elements``; return it and their element numbers."""
        graph = self._new_graph()
        own = unique(graph.locate(elements))
        graph.fetch_edges(own)
        return make_range_region(self.index, graph, own, self.assumptions), own


def make_range_region(
    index: Index, graph: Graph, own: Ints, known: ElementAssumptions
) -> PatchRegion:
    """Make the region whose elements I are ``own``, those of one range.

    Other elements get guessed labels without triggers, unless they are plain.
    """
    calculus = index.calculus

    def guess_labels(keys: Ints, told: Ints) -> Ints:
        more, plain = complete_labels(calculus, told), known.are_plain(keys)
        more[plain] = told[plain]
        return more

    region = PatchRegion(
        PatchContext(index, calculus, graph, NOTHING_TOUCHED, told_only_model(calculus)),
        RegionLabels(graph, guess_labels),
    )
    region.is_inside = region.is_active = flags(len(graph), own)
    region.is_plain = flags(len(graph), own[known.are_plain(graph.key[own])])
    region.touched_elements = own
    return region


def settle_labels(region: PatchRegion, own: Ints, known: ElementAssumptions) -> None:
    """Set the labels of elements of other ranges to the ``known`` ones; ``own`` elements keep their
    assumed labels.

    Writes the labels, ``counts`` and ``is_joined``.
    """
    calculus, graph = region.calculus, region.graph

    def known_labels(keys: Ints, told: Ints) -> Ints:
        """The known label of each element, or its told one completed."""
        more = complete_labels(calculus, told)
        at, label = known.labels_of(keys, calculus)
        more[at] = label
        return more

    assumed = None if region.labels.is_empty else region.labels.mu[own]
    region.labels = RegionLabels(graph, known_labels)
    if assumed is not None:
        region.labels.mu[own] = assumed
    region.counts = outside_merge_classes(calculus, graph, lambda: region.labels.mu)
    region.is_joined = have_several_parts(graph)


def complete_labels(calculus: NumberedCalculus, told: Ints) -> Ints:
    """Complete told labels by guesses, for arrays of label ids."""
    table = calculus.table
    return apply_to_distinct(
        told, lambda i: table.id(calculus.label_guesses.guess_model_label(table.labels[i]))
    )


def fetch_edges_at(graph: Graph, own: Ints) -> tuple[Ints, Ints, Ints]:
    """Fetch the role assertions of which an end is one of ``own``, as columns source, role, target."""
    mine = flags(len(graph), own)
    source, role, target = graph.edges.half_edges(mine)
    out = ~mine[target]
    return (
        np.concatenate([source, target[out]]),
        np.concatenate([role, role[out] ^ 1]),
        np.concatenate([target, source[out]]),
    )


def may_clash_across(region: PatchRegion, first: Ints, second: Ints) -> Bools:
    """Test as `may_clash` does, after fetching the members of elements of other ranges."""
    region.graph.fetch_members(unique(np.concatenate([first, second])))
    region.is_joined = have_several_parts(region.graph)
    return may_clash(region, first, second)

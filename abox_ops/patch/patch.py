"""The steps of a round that let I grow, and the part of I that becomes A_add (THEORY, "The add
set", "Inside" and "Border rules"; `tests.spec.patch`).

Each step runs over all elements or role assertions at once, and asks `abox_ops` once per distinct
combination of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.engine import InconsistencyCallback, NamedModule, ignore_inconsistency
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools
from shiq.abox_ops.modules.add_set import AddSetColumns, AddSetModules
from shiq.abox_ops.patch.assumptions import assume_labels, initial_elements, uncovered_insertions
from shiq.abox_ops.patch.border_rules import Crossings, find_crossings
from shiq.abox_ops.patch.inside_region import (
    PatchRegion,
    count_region,
    is_contradictory,
    may_clash,
    open_assertions,
)
from shiq.abox_ops.patch.strides import raise_stride_efforts
from shiq.abox_ops.patch.told_plus import settle_told
from shiq.abox_ops.patch.widening_loop import can_widen, widen_region
from shiq.columns.arrays import NONE, Columns, Ints, is_in, row_codes, unique
from shiq.model.clause import ClausalTBox


class RoundSteps(NamedTuple):
    """The steps of one round in which the region I grows, in order; each documents the fields of
    the region that it writes.

    settle_told: saturates told⁺ and brings in what it asks for; returns whether the round ends
        there with a clash.
    assume_labels: finds new elements, and assumes labels in I.
    count_classes: counts merge classes under these labels.
    find_crossings: asks the border rules.
    find_initial_region: finds what insertions bring in, role assertions apart.
    find_uncovered: finds the ends of inserted role assertions that no rule covers; asked last.
    """

    settle_told: Callable[[PatchRegion, bool, InconsistencyCallback], bool]
    assume_labels: Callable[[PatchRegion], None]
    count_classes: Callable[[PatchRegion], MergeClasses]
    find_crossings: Callable[[PatchRegion], Crossings]
    find_initial_region: Callable[[PatchRegion], Ints]
    find_uncovered: Callable[[PatchRegion], Ints]


#: The round of a batch onto a certified model.
ROUND = RoundSteps(
    settle_told, assume_labels, count_region, find_crossings, initial_elements, uncovered_insertions
)


def _is_stable(region: PatchRegion, grown: Ints, unassumed: Ints) -> bool:
    """Decide whether a round changed nothing: all of ``grown`` were in the region I before, nothing
    was assumed of ``unassumed``.
    """
    return bool(region.is_inside[grown].all() and region.is_plain[unassumed].all())


def _round_columns(region: PatchRegion) -> tuple[Ints | Bools, ...]:
    """The columns of the region that a round reads, by element number."""
    return (
        region.graph.label,
        region.labels.mu,
        region.counts.classes_by_element(),
        region.is_inside,
        region.is_active,
        region.is_new,
        region.is_joined,
    )


def _grow_region(region: PatchRegion, grown: Ints, crossings: Crossings) -> None:
    """Put into the region I the elements ``grown`` and those that ``crossings`` bring in, further
    ones by strides where rounds repeat.
    """
    target, effort = crossings.target, region.effort
    effort.pass_to_neighbours(crossings.source, target, deeper=True)
    if deep := effort.deep_elements(target):
        target = np.concatenate([target, raise_stride_efforts(region, deep)])
    region.is_inside[grown] = True
    region.is_inside[target] = True
    region.is_plain[crossings.unassumed_elements] = True
    region.is_plain[target[effort.are_closed(target)]] = True


@dataclass(eq=False)
class Patch:
    """The region I of one batch with the ``steps`` by which it grows, for the widening loop.
    Individuals stand for their elements (`tests.spec.patch`).
    """

    region: PatchRegion
    steps: RoundSteps = field(default_factory=lambda: ROUND)
    _assumed_modules: Sequence[NamedModule] | None = None
    _kept_rows: tuple[Columns, Columns] | None = None

    @property
    def tbox(self) -> ClausalTBox:
        """The clauses, with names for residuals, over which modules are decided."""
        return self.region.calculus.residuals.tbox

    def close(
        self, *, to_clash: bool = False, certain: InconsistencyCallback = ignore_inconsistency
    ) -> bool:
        """Grow the region I round by round until no step brings in more. With ``to_clash``, stop
        once told literals of elements clash; these are all of I then.

        ``certain`` is called if there are such elements, in both cases. Stops because I and the
        plain elements grow, and elements merge, in finite sets.

        Returns: whether it stopped at elements that clash.
        """
        self._assumed_modules = self._kept_rows = None
        region = self.region
        while True:
            if self.steps.settle_told(region, to_clash, certain):
                return True
            self.steps.assume_labels(region)
            region.counts = self.steps.count_classes(region)
            graph, frontier = region.graph, region.memory.frontier
            region.is_stale = frontier.stale_elements(graph, region.counts, *_round_columns(region))
            region.is_uncertain |= region.is_stale
            crossings = self.steps.find_crossings(region)
            region.kept_out = crossings.kept_out
            grown = unique(
                np.concatenate([crossings.target, self.steps.find_initial_region(region)])
            )
            if _is_stable(region, grown, crossings.unassumed_elements):
                # Last, since a pair that crosses by then has the border rules.
                grown = self.steps.find_uncovered(region)
                region.is_uncertain = np.zeros(len(graph), np.bool_)
            frontier.take_snapshot(graph, region.counts, *_round_columns(region))
            if _is_stable(region, grown, crossings.unassumed_elements):
                return False
            _grow_region(region, grown, crossings)

    def add_set_columns(self, *, is_bare: bool = True) -> AddSetColumns:
        """Compute A_add: with told literals alone if ``is_bare``, else with assumptions and
        residuals.
        """
        if self._kept_rows is None:
            self._kept_rows = kept_rows(self.region)
        return make_add_set_columns(self.region, self._kept_rows, is_bare=is_bare)

    def assumed_modules(self) -> Sequence[NamedModule]:
        """The modules of the region I, with assumptions and residuals."""
        if self._assumed_modules is None:
            columns = self.add_set_columns(is_bare=False)
            self._assumed_modules = AddSetModules(self.region.calculus, columns).modules
        return self._assumed_modules

    def bare_modules(self) -> Sequence[NamedModule]:
        """The modules of the region I with told literals alone, in the order of `assumed_modules`."""
        return AddSetModules(self.region.calculus, self.add_set_columns()).modules

    def can_widen(self, modules: Sequence[Sequence[str]]) -> list[bool]:
        """Decide for each of ``modules`` whether anything is assumed of it, or a residual in it
        keeps an element out of the region I.
        """
        return [can_widen(self.region, elements) for elements in map(self._elements_of, modules)]

    def widen(self, modules: Sequence[Sequence[str]]) -> None:
        """Drop the assumptions about the elements of each of ``modules``; where there are none, put
        into the region I the elements that residuals kept out.
        """
        widen_region(self.region, list(map(self._elements_of, modules)))

    def closed_count(self) -> int:
        """Count the elements of the region I that have had their share of questions (closed,
        `shiq.abox_ops.patch.effort`).
        """
        region = self.region
        return int(region.effort.are_closed(region.is_inside.nonzero()[0]).sum())

    def _elements_of(self, individuals: Sequence[str]) -> Ints:
        """The element number of each of ``individuals``."""
        graph = self.region.graph
        return unique(graph.elements_of(graph.union.nodes_of(individuals)))


#: Whether a negative statement may contradict what stands between two elements (`may_clash`).
MayClash = Callable[[PatchRegion, Ints, Ints], Bools]


def is_edge_kept(
    region: PatchRegion,
    source: Ints,
    role: Ints,
    target: Ints,
    may_clash_between: MayClash = may_clash,
) -> Bools:
    """Decide whether each role assertion within the region I is kept in A_add.

    The rows contain all assertions between their ends, seen from the source.
    """
    judged = open_assertions(region)
    open_ = judged.is_relevant(source, role, target)
    seen = judged.is_constrained(source, role, target) & ~open_
    code = row_codes(source, target)
    linked = is_in(code, code[open_])
    also = (seen & ~linked).nonzero()[0]
    seen[also] = may_clash_between(region, source[also], target[also])
    return open_ | seen


def kept_rows(region: PatchRegion) -> tuple[Columns, Columns]:
    """Select the role assertions and data of the region I that are kept."""
    rest = region.is_inside & ~is_contradictory(region)
    source, role, target = region.graph.edges.half_edges(rest)
    inner = rest[target]
    source, role, target = source[inner], role[inner], target[inner]
    kept = is_edge_kept(region, source, role, target) & (role % 2 == 0)
    data = open_assertions(region).kept_data(rest.nonzero()[0])
    return {"source": source[kept], "role": role[kept], "target": target[kept]}, data


def make_add_set_columns(
    region: PatchRegion, rows: tuple[Columns, Columns], *, is_bare: bool
) -> AddSetColumns:
    """Build A_add with the kept ``rows``: with told literals alone if ``is_bare``, else with
    assumptions and residuals.
    """
    graph, table = region.graph, region.calculus.table
    clash = is_contradictory(region)
    labels = graph.label.copy()
    elements = region.is_inside.nonzero()[0]
    if is_bare:
        labels[elements] = table.drop_data_literals(graph.label[elements])
    else:
        here, _, residuals, _ = region.kept_out
        start = np.full(len(graph), EMPTY_ID, np.int64)
        labels[elements] = table.join(
            table.drop_data_literals(region.labels.mu[elements]),
            table.accumulate(start, here, residuals)[elements],
        )
    touched = (
        unique(graph.rep[region.touched_elements]) if region.touched_elements is not None else NONE
    )
    edges, data = rows
    return AddSetColumns(
        graph,
        elements,
        region.is_active,
        graph.label,
        labels,
        touched,
        np.flatnonzero(clash),
        edges,
        data,
        pulled_in=region.pulled_in,
    )

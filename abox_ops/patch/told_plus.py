"""told⁺: told literals of the touched elements and of I, and the elements that these bring into I
(THEORY, "The loop").
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.graph import flags
from shiq.abox_ops.engine import InconsistencyCallback
from shiq.abox_ops.labels.label_calculus import clashes
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.patch.inside_region import PatchRegion, is_clashing
from shiq.abox_ops.patch.told_turns import NEW, ToldTurns
from shiq.abox_ops.told.element_cache import ElementCache, HalfEdge
from shiq.abox_ops.told.told_literals import (
    RoundSizes,
    add_inserted_literals,
    combine_part_labels,
    saturate,
)
from shiq.abox_ops.told.work_list import WorkList, active_after_merges, write_back_work_list
from shiq.columns.arrays import Ints, unique


class ToldPlusWorkList:
    """Work list that grows the region I by told literals, element after element, from those that
    have just entered.

    walk: saturates told literals of A ∪ A⁺. codes: by key of an element that entered, the code of
    its reason.
    """

    def __init__(self, state: PatchRegion, asking: ToldTurns) -> None:
        graph = state.graph
        self.state, self.asking = state, asking
        self.cache = ElementCache(graph, state.model_labels_of)
        self.walk = WorkList(state.calculus, self.cache, set(graph.key[state.is_active].tolist()))
        self.inside_keys: set[int] = set(graph.key[state.is_inside].tolist())
        self.codes: dict[int, int] = {}
        self._changed_keys: dict[int, None] = {}

    def run(self, elements: Ints) -> None:
        """Continue from ``elements`` until told literals bring no more elements into the region I.

        Stops early at an element with many role assertions, or after a clash.
        """
        walk, frontier = self.walk, self.state.graph.key[elements].tolist()
        while frontier:
            walk.active_keys.update(frontier)
            walk.todo.update(dict.fromkeys(frontier))
            walk.run_until_done()
            changed, walk.changed_keys = walk.changed_keys, {}
            self._changed_keys.update(dict.fromkeys((*frontier, *changed)))
            if walk.has_stopped or walk.has_clash:
                return
            self.inside_keys.update(
                walk.representative_of(key) for key, _ in walk.unions if key in self.inside_keys
            )
            frontier = self._take_turn(
                dict.fromkeys(map(walk.representative_of, (*frontier, *changed)))
            )

    def _take_turn(self, elements: Iterable[int]) -> list[int]:
        """Find the elements that told literals bring into the region I because ``elements`` have
        entered it or changed.
        """
        found: dict[int, int] = {}
        for key in elements:
            if key in self.inside_keys:
                edges = self.cache.edges_of(key)
                if key in self.cache.wide_keys:
                    self.walk.has_stopped = True
                elif not clashes(self.state.calculus.table.labels[self.cache.label[key]]):
                    self._collect_requests(key, edges, found)
            elif self._differs_from_base(key) or self.asking.exceeds_model(
                self.cache.label[key], self.cache.model_label[key]
            ):
                found[key] = 0
        if self.walk.has_stopped:
            return []
        self.codes.update(found)
        self.inside_keys.update(found)
        return list(found)

    def _collect_requests(self, a: int, edges: list[HalfEdge], found: dict[int, int]) -> None:
        """Add to ``found`` the neighbours of ``a``, in the region I, that its role assertions bring
        in, each with its reason code.
        """
        region, inside, find, code = (
            self.cache,
            self.inside_keys,
            self.walk.representative_of,
            self.asking.asking_code,
        )
        label, certified = region.label[a], region.model_label
        is_new = self._differs_from_base(a)
        for role, b, inserted in edges:
            b = find(b)
            if b in inside or b in found:
                continue
            asks = code(role, label, NEW, certified[b])
            if (
                asks
                and not is_new
                and not self._differs_from_base(b)
                and (not inserted or (role, b, False) in edges)
            ):
                asks = code(role, label, certified[a], certified[b])
            if asks:
                found[b] = asks

    def _differs_from_base(self, key: int) -> bool:
        """Decide whether the element is new, or the batch made it of several elements."""
        return key >= FRESH or key in self.walk.merged_keys or self.cache.is_joined(key)

    def write_back(self) -> Bools:
        """Write labels, new elements and reasons back into the region I; return the elements that
        have changed or entered.
        """
        state, graph, walk = self.state, self.state.graph, self.walk
        reps = write_back_work_list(graph, walk, [*self._changed_keys, *self.codes])
        state.is_active = active_after_merges(graph, state.is_active, reps)
        inside = np.array(list(self.codes), np.int64)
        number = graph.rep[graph.locate(inside)]
        state.pulled_in.note(number, np.array(list(self.codes.values()), np.int64))
        state.is_inside[number] = True
        found = np.zeros(len(graph), np.bool_)
        found[reps] = True
        return found


def settle_told(region: PatchRegion, to_clash: bool, certain: InconsistencyCallback) -> bool:
    """Widen the region I by the elements that told literals of A ∪ A⁺ require, up to a fixpoint.

    Writes ``is_active``, ``is_inside``, ``is_plain``, ``effort``, ``pulled_in`` and the labels of
    the graph.

    Returns:
        Whether I is just the elements that told⁺ contradicts: with ``to_clash``, if there are any.
        ``certain`` is called if there are, with and without.
    """
    pace = RoundSizes()
    while True:
        saturate_region(region)
        if report_told_clash(region, to_clash, certain):
            return True
        region.effort.merge(region.graph.rep)
        elements, source, target = find_told_requests(region)
        if not len(elements):
            return False
        region.is_inside[elements] = True
        region.effort.pass_to_neighbours(source, target, deeper=False)
        region.is_plain[target[region.effort.are_closed(target)]] = True
        if pace.should_use_work_list(len(elements), len(region.graph)):
            pace.note_list_steps(_grow_by_work_list(region, elements))


def report_told_clash(region: PatchRegion, to_clash: bool, certain: InconsistencyCallback) -> bool:
    """Call ``certain`` if told literals of some element clash; with ``to_clash``, make these
    elements all of the region I. Returns whether to stop.
    """
    clash = is_clashing(region)
    if not clash.any():
        return False
    certain()
    if to_clash:
        region.is_inside = clash
    return to_clash


def saturate_region(region: PatchRegion) -> None:
    """Compute the told literals in A ∪ A⁺ (told⁺) of the touched elements and of the region I."""
    graph, given, fresh = region.graph, region.input, None
    if region.touched_elements is None:
        touched = region.touched_elements = graph.locate_nodes(given.touched_nodes.nodes)
        if given.has_grown_tbox:
            graph.fetch_edges(touched)
        else:
            graph.add_inserted_edges()
            graph.fetch_members(touched)
        combine_part_labels(region.calculus, graph, unique(graph.rep))
        add_inserted_literals(
            region.calculus,
            graph,
            unique(graph.rep[touched]),
            inserted_only=not given.has_grown_tbox,
        )
        region.is_active = flags(len(graph), graph.rep[touched])
    else:
        fresh = region.is_inside.nonzero()[0]
        fresh = fresh[~region.is_active[fresh]]
        if not len(fresh):
            return
        graph.fetch_edges(fresh)
        region.is_active[fresh] = True
        if given.has_grown_tbox:
            add_inserted_literals(region.calculus, graph, fresh, inserted_only=False)
    _saturate_from(region, None if fresh is None else flags(len(graph), fresh))


def _saturate_from(region: PatchRegion, changed: Bools | None) -> None:
    """Saturate the told literals of the active elements, starting from those flagged in ``changed``
    (None: all).
    """
    graph = region.graph
    # Where T grew, what A asserts may mean more than it did.
    add_all = (
        partial(add_inserted_literals, region.calculus, graph, inserted_only=False)
        if region.input.has_grown_tbox
        else None
    )
    region.is_active = saturate(region.calculus, graph, region.is_active, add_all, changed=changed)
    region.is_inside = flags(len(graph), graph.rep[region.is_inside.nonzero()[0]])
    region.is_plain = flags(len(graph), graph.rep[region.is_plain.nonzero()[0]])


def find_told_requests(region: PatchRegion) -> tuple[Ints, Ints, Ints]:
    """Find the elements outside the region I that told literals of elements inside require to enter
    it.

    Returns: these elements; and pairs of an element in I and a requested one. Writes ``is_new`` and
    ``pulled_in``.
    """
    # Those that the batch touches come in without their role assertions in A.
    region.graph.fetch_edges(region.is_inside.nonzero()[0])
    region.is_new = region.graph.is_new()
    return region.memory.turns.take_turn(region)


def _grow_by_work_list(region: PatchRegion, elements: Ints) -> int:
    """Grow the region I by a work list from ``elements`` that have just entered; return the number
    of its steps.
    """
    if region.input.has_grown_tbox or region.effort.has_any:
        return 0
    turns = ToldPlusWorkList(region, region.memory.turns)
    turns.run(elements)
    _saturate_from(region, turns.write_back())
    return turns.walk.steps

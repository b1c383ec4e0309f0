"""What a batch brings into I by itself, in columns: the start, and the inserted role assertions that no rule covers (THEORY,
"Inside: assumed and plain elements")."""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import flags
from abox_ops.patch.border_columns import Border
from abox_ops.patch.state_columns import PatchState
from shiq.columns.arrays import NONE, Ints, contained, unique
from shiq.columns.rows import DIFFERENT, SAME


def started(state: PatchState, border: Border) -> Ints:
    """The stale elements of which the insertions say what is not part of the certified model, role assertions apart."""
    graph = state.graph
    found = [graph.elements_of(state.touched.negative)]
    if len(graph.whole.inserted["pairs"]):
        found += _paired(state, border)
    data = state.touched.data
    if len(data["node"]):
        element = graph.elements_of(data["node"])
        outside = state.stale[element] & ~state.inside[element]
        element = element[outside]
        found.append(element[~state.is_decided(element, data["property"][outside], data["literal"][outside])])
    return unique(np.concatenate(found))


def _paired(state: PatchState, border: Border) -> list[Ints]:
    """The ends of the inserted equalities, and of those inequalities that the certified model does not have."""
    graph = state.graph
    pairs = graph.whole.inserted["pairs"].columns
    same = pairs["kind"] // 2 * 2 == SAME
    apart = pairs["kind"] == DIFFERENT
    a, b = (graph.elements_of(pairs[end][apart]) for end in ("node", "neighbour"))
    open_ = ~(state.inside[a] & state.inside[b])
    a, b = a[open_], b[open_]
    known = ~state.is_new[a] & ~state.is_new[b] & border.are_different(a, b)
    return [graph.elements_of(pairs["node"][same]), a[~known], b[~known]]


def uncovered(state: PatchState) -> Ints:
    """The ends of inserted role assertions, of uncertain elements, that no rule covers as things are. Those of contradictory
    elements ask for nothing."""
    graph = state.graph
    if not len(graph.whole.inserted["half_edges"]):
        return NONE
    source, role, target = graph.half_edges()
    rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
    rows &= (state.uncertain[source] | state.uncertain[target]) & ~(state.inside[source] & state.inside[target])
    clash = state.contradictory()
    rows &= ~(clash[source] | clash[target])
    source, role, target = source[rows], role[rows], target[rows]
    open_ = np.zeros(len(source), np.bool_)
    seen = state.seen(source, role, target)
    at = seen.nonzero()[0]
    open_[at] = state.may_clash(source[at], target[at])
    beyond = ~(state.inside[source] | state.inside[target])
    open_ |= beyond & (state.is_new[source] | state.is_new[target])
    rest = (beyond & ~open_).nonzero()[0]
    # What A asserts at the ends of those that are seen was fetched to see whether they clash.
    asked = rest[seen[rest]]
    old = ~graph.edges["inserted"] & flags(len(graph), source[asked])[graph.edges["source"]]
    pairs = [graph.edges[end][old] for end in ("source", "target")]
    open_[asked] = contained([source[asked], target[asked]], pairs)
    rest = rest[~open_[rest]]
    open_[rest] = state.relevant(source[rest], role[rest], target[rest])
    return unique(np.concatenate([source[open_], target[open_]]))

"""Choose the labels that a patch assumes at the elements of I, once per distinct combination
(THEORY, "Inside: assumed and plain elements").
"""

from __future__ import annotations

import numpy as np

from shiq.abox_ops.counting.groups import CountedGraph, is_within_bound_alone
from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.elements.graph import flags
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools, apply_to_distinct, distinct_rows
from shiq.abox_ops.patch.border_rules import are_different
from shiq.abox_ops.patch.inside_region import (
    PatchRegion,
    is_contradictory,
    may_clash,
    open_assertions,
)
from shiq.columns.arrays import NONE, Ints, is_row_in, unique
from shiq.columns.rows import DIFFERENT, SAME


def assume_labels(region: PatchRegion) -> None:
    """Choose a label for every element of the region I.

    Writes ``is_new``, ``is_joined`` and the labels ``mu``.
    """
    assume_labels_for(region, region.graph.is_new(), region.graph.is_joined())


def assume_labels_for(region: PatchRegion, is_new: Bools, joined: Bools) -> None:
    """Choose a label for every element of the region I, given which elements are new and which are
    merged.

    Labels are guessed first without triggers, then with those of clauses left overfull.
    """
    graph, table = region.graph, region.calculus.table
    region.is_new, region.is_joined = is_new, joined
    region.labels.reset()
    members = region.is_inside.nonzero()[0]
    if not len(members):
        return
    graph.fetch_edges(members)
    told = graph.label[members]
    mu, certified = region.labels.mu, region.labels.model_label
    mu[members] = told
    if region.input.all_plain:
        return
    guessed = ~region.is_plain[members] & ~table.clashes(told)
    members, told = members[guessed], told[guessed]
    start = told.copy()
    old = (~region.is_new[members]).nonzero()[0]
    both = table.close(table.join(told[old], certified[members[old]]))
    start[old] = np.where(table.clashes(both), told[old], both)
    completed = region.calculus.label_guesses.guess_model_label
    mu[members] = apply_to_distinct(start, lambda i: table.id(completed(table.labels[i])))
    mask = _trigger_labels(region, members)
    has_any = mask != EMPTY_ID
    keys, inverse = distinct_rows(told[has_any], mask[has_any])
    labels = [table.id(completed(table.labels[i], table.labels[m][0])) for i, m in keys]
    region.labels.mu[members[has_any]] = np.array(labels, np.int64)[inverse]


def _trigger_labels(region: PatchRegion, elements: Ints) -> Ints:
    """Choose for each of ``elements`` (ascending) the head atoms that guesses try as true first, as
    a label id.
    """
    graph, calculus, memory, counts = region.graph, region.calculus, region.memory.triggers, None
    if calculus.bounded_names:
        counted = CountedGraph(calculus, graph, lambda: region.labels.mu, memory.answers)
        counts = MergeClasses(counted, np.zeros(len(graph), np.bool_))
    stale = memory.frontier.changed_elements(graph, counts, region.labels.mu)
    unknown = np.full(len(graph) - len(memory.label), -1, np.int64)
    memory.label = np.concatenate([memory.label, unknown])
    asked = elements[stale[elements] | (memory.label[elements] < 0)]
    memory.label[asked] = _compute_triggers(region, asked, counts)
    memory.frontier.take_snapshot(graph, counts, region.labels.mu)
    return memory.label[elements]


def _compute_triggers(region: PatchRegion, elements: Ints, counts: MergeClasses | None) -> Ints:
    """Compute the head atoms that guesses try as true first: unmet heads of clauses on role
    assertions, and of overfull at-most restrictions.
    """
    graph, calculus, table = region.graph, region.calculus, region.calculus.table
    mu = region.labels.mu
    source, role, target = graph.edges.half_edges(flags(len(graph), elements))
    keys, inverse = calculus.role_propagation.distinct_edges(role, mu[source], mu[target])
    heads = np.array([calculus.role_propagation.unmet_heads(*key) for key in keys], np.int64)[
        inverse
    ]
    said = heads != EMPTY_ID
    at, received = [np.searchsorted(elements, source[said])], [heads[said]]
    if counts is not None:
        for c, names in calculus.bounded_names:
            broken = np.flatnonzero(~is_within_bound_alone(counts.counted, elements, c))
            at.append(broken)
            received.append(np.full(len(broken), table.id((names, 0)), np.int64))
    start = np.full(len(elements), EMPTY_ID, np.int64)
    return table.accumulate(start, np.concatenate(at), np.concatenate(received))


# Elements that the insertions bring into I: the start, and the ends of inserted role assertions
# that no rule covers (THEORY, "Inside: assumed and plain elements").


def initial_elements(region: PatchRegion) -> Ints:
    """Find the elements that the region I starts from: those at which insertions, role assertions
    apart, go beyond the certified model.
    """
    graph, given, judged = region.graph, region.input, open_assertions(region)
    found = [graph.elements_of(given.touched_nodes.negative_nodes)]
    if len(graph.union.inserted_tables["pairs"]):
        found += _ends_of_new_pairs(region)
    data = given.touched_nodes.data_rows
    if len(data["node"]):
        element = graph.elements_of(data["node"])
        outside = region.is_stale[element] & ~region.is_inside[element]
        element = element[outside]
        found.append(
            element[
                ~judged.is_decided(element, data["property"][outside], data["literal"][outside])
            ]
        )
    return unique(np.concatenate(found))


def _ends_of_new_pairs(region: PatchRegion) -> list[Ints]:
    """The ends of inserted equalities, and of inserted inequalities that the certified model does
    not have.
    """
    graph = region.graph
    pairs = graph.union.inserted_tables["pairs"].columns
    same = pairs["kind"] // 2 * 2 == SAME
    apart = pairs["kind"] == DIFFERENT
    a, b = (graph.elements_of(pairs[end][apart]) for end in ("node", "neighbour"))
    open_ = ~(region.is_inside[a] & region.is_inside[b])
    a, b = a[open_], b[open_]
    known = ~region.is_new[a] & ~region.is_new[b] & are_different(region, a, b)
    return [graph.elements_of(pairs["node"][same]), a[~known], b[~known]]


def uncovered_insertions(region: PatchRegion) -> Ints:
    """Find the ends of inserted role assertions, outside the region I, that no border rule covers.

    Contradictory elements ask for nothing.
    """
    graph = region.graph
    if not len(graph.union.inserted_tables["half_edges"]):
        return NONE
    source, role, target = graph.edges.half_edges()
    rows = graph.edges.columns["inserted"] & (graph.edges.columns["role"] % 2 == 0)
    rows &= (region.is_uncertain[source] | region.is_uncertain[target]) & ~(
        region.is_inside[source] & region.is_inside[target]
    )
    clash = is_contradictory(region)
    rows &= ~(clash[source] | clash[target])
    source, role, target = source[rows], role[rows], target[rows]
    open_ = np.zeros(len(source), np.bool_)
    judged = open_assertions(region)
    seen = judged.is_constrained(source, role, target)
    at = seen.nonzero()[0]
    open_[at] = may_clash(region, source[at], target[at])
    beyond = ~(region.is_inside[source] | region.is_inside[target])
    open_ |= beyond & (region.is_new[source] | region.is_new[target])
    rest = (beyond & ~open_).nonzero()[0]
    # What A asserts at the ends of those that are seen was fetched to see whether they clash.
    asked = rest[seen[rest]]
    old = (
        ~graph.edges.columns["inserted"]
        & flags(len(graph), source[asked])[graph.edges.columns["source"]]
    )
    pairs = [graph.edges.columns[end][old] for end in ("source", "target")]
    open_[asked] = is_row_in([source[asked], target[asked]], pairs)
    rest = rest[~open_[rest]]
    open_[rest] = judged.is_relevant(source[rest], role[rest], target[rest])
    return unique(np.concatenate([source[open_], target[open_]]))

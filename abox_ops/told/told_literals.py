"""Compute the told literals of many elements at once, in columns (THEORY, "Told literals" and
"Beyond SHIQ(D), at no loss"; `tests.spec.told`).

Each round sends along all role assertions of the elements that changed, once per distinct (role,
label, label). Where round after round changes few, a work list goes on
(`shiq.abox_ops.told.work_list`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shiq.abox_ops.elements.graph import Graph, extend_flags, flags, rows_of_elements
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus, distinct_values
from shiq.abox_ops.told.work_list import saturate_active_by_list
from shiq.columns.arrays import Ints, distinct_with_inverse, unique

#: How many small rounds, one after another, make it a chain.
_PATIENCE = 6
#: Elements that a small round changes, and of how many elements of the graph there may be one more:
#: a round looks at all.
_FEW, _SHARE = 64, 256


class RoundSizes:
    """Policy: decides when rounds have become so small that a work list is cheaper.

    It waits longer after each list that did little.
    """

    def __init__(self) -> None:
        self._small, self._patience = 0, _PATIENCE

    def should_use_work_list(self, changed: int, everything: int) -> bool:
        """Record a round that changed this many elements, of ``everything`` in the graph; decide
        whether to use a work list now.
        """
        self._small = self._small + 1 if changed <= _FEW + everything // _SHARE else 0
        return self._small >= self._patience

    def note_list_steps(self, steps: int) -> None:
        """Record the number of steps that a work list took."""
        self._small = 0
        self._patience = _PATIENCE if steps > 8 * self._patience else 2 * self._patience


def saturate(
    calculus: NumberedCalculus,
    graph: Graph,
    active: Bools,
    take_in: Callable[[Ints], None] | None = None,
    *,
    changed: Bools | None = None,
    from_outside: bool = False,
) -> Bools:
    """Saturate the told labels of the ``active`` elements (a flag by number) and join elements that
    become equal, to the fixpoint.

    Stops because labels grow within finitely many literals and elements only merge.

    Args:
            take_in: called with the elements that entailed equalities made.
            changed: all other elements are at the fixpoint already.
            from_outside: inactive neighbours send literals and force equalities too, but keep their
            labels.

    Returns:
            The active elements then; merged elements replace their parts.
    """
    changed = active if changed is None else changed
    close_labels(calculus, graph, changed)
    pace = RoundSizes()
    while True:
        reached = changed
        while changed.any():
            if take_in is None and pace.should_use_work_list(
                int(np.count_nonzero(changed)), len(graph)
            ):
                active, changed, steps = saturate_active_by_list(
                    calculus, graph, active, changed, from_outside=from_outside
                )
                pace.note_list_steps(steps)
            graph.fetch_changed_edges(changed)
            active, changed = extend_flags(active, len(graph)), extend_flags(changed, len(graph))
            changed = _send_round(calculus, graph, active, changed, from_outside)
            reached = extend_flags(reached, len(changed)) | changed
        centres = extend_flags(active, len(graph)) & graph.edges.with_neighbours(reached)
        grown = _merge_round(
            calculus, graph, _with_neighbours(graph, centres) if from_outside else centres
        )
        if not len(grown):
            return extend_flags(active, len(graph))
        active = _add_grown(graph, active, grown)
        if take_in is not None:
            take_in(grown)
        changed = flags(len(graph), grown)
        _source, _, target = graph.edges.half_edges(changed)
        changed[target] |= active[target]
        close_labels(calculus, graph, flags(len(graph), grown))


def close_labels(calculus: NumberedCalculus, graph: Graph, chosen: Bools) -> None:
    """Close the labels of the ``chosen`` elements under local clauses. Elements with two members
    asserted different get a clash.
    """
    apart = graph.elements_with_unequal_members()
    apart = apart[chosen[apart]]
    graph.label[apart] = calculus.table.join(
        graph.label[apart], np.full(len(apart), calculus.table.clash_id, np.int64)
    )
    graph.label[chosen] = calculus.table.close(graph.label[chosen])


def _with_neighbours(graph: Graph, active: Bools) -> Bools:
    """Fetch the role assertions of active elements; return a flag for these elements and their
    neighbours.
    """
    _, _, target = graph.edges.half_edges(active)
    graph.fetch_edges(unique(target))
    found = extend_flags(active, len(graph))
    found[target] = True
    return found


def _send_round(
    calculus: NumberedCalculus, graph: Graph, active: Bools, changed: Bools, from_outside: bool
) -> Bools:
    """Send literals along the role assertions of the ``changed`` elements; return the active
    elements whose label grew.
    """
    source, role, target = graph.edges.half_edges(changed & active)
    inside = active[target]
    if not from_outside:
        source, role, target, inside = source[inside], role[inside], target[inside], inside[inside]
    to_source, to_target = calculus.role_propagation.send(
        role, graph.label[source], graph.label[target]
    )
    got_source, got_target = to_source != EMPTY_ID, (to_target != EMPTY_ID) & inside
    element = np.concatenate([source[got_source], target[got_target]])
    sent = np.concatenate([to_source[got_source], to_target[got_target]])
    return flags(len(graph), receive_labels(calculus, graph, element, sent))


def receive_labels(calculus: NumberedCalculus, graph: Graph, element: Ints, label: Ints) -> Ints:
    """Join label[i] to the label of element[i], for every i, and close these; return the elements
    that changed.
    """
    said = label != EMPTY_ID
    reached, position, _ = distinct_with_inverse(element[said])
    before = graph.label[reached]
    graph.label[reached] = calculus.table.close(
        calculus.table.accumulate(before, position, label[said])
    )
    return reached[graph.label[reached] != before]


def _merge_round(calculus: NumberedCalculus, graph: Graph, centres: Bools) -> Ints:
    """Join the told neighbours that a ≤1 S.C in force at one of ``centres`` makes equal; return the
    elements that grew.
    """
    asked = centres.nonzero()[0]
    label = graph.label[asked]
    forced = [asked[calculus.is_in_force(label, clause)] for clause in calculus.functional_clauses]
    everyone = np.concatenate(forced) if forced else asked[:0]
    if not len(everyone):
        return everyone
    for clause, centre in zip(calculus.functional_clauses, forced):
        graph.fetch_pending_edges(
            flags(len(graph), centre),
            partial(calculus.is_role_in, roles=calculus.space.roles_below(clause)),
        )
    edges = graph.edges.half_edges(flags(len(graph), everyone))
    pairs = [
        forced_pairs(calculus, graph, c, centre, edges)
        for c, centre in zip(calculus.functional_clauses, forced)
    ]
    first, second = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
    if not len(first):
        return first
    grown = graph.join(first, second)
    combine_part_labels(calculus, graph, grown)
    return grown


def forced_pairs(
    calculus: NumberedCalculus,
    graph: Graph,
    clause: CompiledClause,
    centres: Ints,
    edges: tuple[Ints, Ints, Ints],
) -> tuple[Ints, Ints]:
    """Find the pairs of told neighbours that ``clause``, a ≤1 S.C in force at ``centres``, makes
    equal.

    Each told neighbour by ``edges`` is paired with the next one.
    """
    rows = (
        calculus.is_role_in(edges[1], calculus.space.roles_below(clause))
        & flags(len(graph), centres)[edges[0]]
    )
    source, target = edges[0][rows], edges[2][rows]
    told = calculus.table.test_labels(graph.label[target], lambda x: not clause.branch_body & ~x[0])
    source, target = source[told], target[told]
    order = np.lexsort((target, source))
    source, target = source[order], target[order]
    together = source[1:] == source[:-1]
    return target[:-1][together], target[1:][together]


def combine_part_labels(calculus: NumberedCalculus, graph: Graph, grown: Ints) -> None:
    """Join into the label of each of the ``grown`` elements (ascending) the labels of the elements
    merged into it.
    """
    parts = graph.parts(grown)
    whole = grown.searchsorted(graph.rep[parts])
    graph.label[grown] = calculus.table.accumulate(graph.label[grown], whole, graph.label[parts])


def _add_grown(graph: Graph, active: Bools, grown: Ints) -> Bools:
    """Add the grown elements to the active ones, and fetch their role assertions."""
    graph.fetch_edges(grown)
    now = np.zeros(len(graph), np.bool_)
    now[: len(active)] = active
    now[grown] = True
    now &= graph.rep == np.arange(len(graph))
    return now


def add_inserted_literals(
    calculus: NumberedCalculus, graph: Graph, elements: Ints, *, inserted_only: bool = True
) -> None:
    """Join the literals asserted at ``elements`` (ascending) to their labels; with
    ``inserted_only``, what A asserts is left out.
    """
    for labels in (asserted_labels, refuted_labels):
        more = labels(calculus, graph, elements, inserted_only=inserted_only)
        graph.label[elements] = calculus.table.join(graph.label[elements], more)


def asserted_labels(
    calculus: NumberedCalculus, graph: Graph, elements: Ints, *, inserted_only: bool = False
) -> Ints:
    """Compute the asserted literals of each of the ``elements`` (ascending), as a label.

    A clash where two members are different.
    """
    rows = rows_of_elements(graph, "class_assertions", elements, inserted_only=inserted_only)
    target, received = [rows["element"]], [calculus.class_labels(rows["class"])]
    chosen = flags(len(graph), elements)
    rare = [
        (int(graph.rep[i]), calculus.literal_label(*literal))
        for i, literal, inserted in graph.complex_facts.literals
        if chosen[graph.rep[i]] and (inserted or not inserted_only)
    ]
    apart = graph.elements_with_unequal_members()
    apart = apart[chosen[apart]]
    target += [np.array([i for i, _ in rare], np.int64), apart]
    received += [
        np.array([label for _, label in rare], np.int64),
        np.full(len(apart), calculus.table.clash_id, np.int64),
    ]
    start = np.full(len(elements), EMPTY_ID, np.int64)
    return calculus.table.accumulate(
        start, elements.searchsorted(np.concatenate(target)), np.concatenate(received)
    )


def refuted_labels(
    calculus: NumberedCalculus, graph: Graph, elements: Ints, *, inserted_only: bool = False
) -> Ints:
    """Compute the data restrictions that the data assertions of each of the ``elements``
    (ascending) refute, as a label.
    """
    rows = rows_of_elements(graph, "data_assertions", elements, inserted_only=inserted_only)
    values, inverse = distinct_values(rows)
    labels = calculus.refuted_labels(values, graph.union.literals_of(values["literal"]))[inverse]
    said = labels != EMPTY_ID
    start = np.full(len(elements), EMPTY_ID, np.int64)
    return calculus.table.accumulate(
        start, elements.searchsorted(rows["element"][said]), labels[said]
    )

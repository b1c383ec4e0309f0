"""The told literals of many elements at once: the least fixpoint along role assertions, with entailed equalities.

Literals travel along role assertions between *active* elements only; the labels of the others are read, never changed
(THEORY.md 2.2, 2.4). Where a ≤1 S.C is in force at an active element, its told neighbours become one element (2.6).
"""

from __future__ import annotations

from collections.abc import Callable

from abox_ops.data import DataView
from abox_ops.elements import ElementGraph
from abox_ops.told import EMPTY, CompiledClause, Label, LabelSpace, clashes, join
from shiq.roles import Role


def saturate(
    space: LabelSpace,
    data: DataView,
    graph: ElementGraph,
    labels: dict[str, Label],
    otherwise: Callable[[str], Label] = lambda element: EMPTY,
) -> None:
    """Brings ``labels`` to the fixpoint, in place; its keys are the active elements, ``otherwise`` labels the others.

    Elements that an entailed equality makes are active too and replace those that they are made of; ``graph.elements`` is
    updated with them.
    Stops because labels grow within finitely many literals and elements only merge.
    """
    find = graph.elements.find
    queue = sorted(labels)
    queued = set(queue)
    settled: dict[str, Label] = {}
    functional = [c for c in space.m_type if c.n == 1]
    roles = space.tbox.roles
    counted = {r for c in functional if (s := space.tbox.clauses[c.index].role) for r in roles.subroles(s)}

    def label(element: str) -> Label:
        found = labels.get(element)
        return otherwise(element) if found is None else found

    def wake(element: str) -> None:
        if element not in queued:
            queued.add(element)
            queue.append(element)

    def grow(element: str, received: Label) -> None:
        new = space.close(join(labels[element], received))
        if new != labels[element]:
            labels[element] = new
            wake(element)

    def merge(group: set[str]) -> None:
        joined = EMPTY
        for element in group:
            joined = join(joined, label(element))
            labels.pop(element, None)
        graph.elements.union_all(sorted(group))
        name = find(next(iter(group)))
        labels[name] = joined
        wake(name)
        for _, y in graph.neighbours(name):
            if y in labels:
                wake(y)

    while queue:
        x = queue.pop()
        queued.discard(x)
        if x not in labels:
            continue
        labels[x] = space.close(join(join(labels[x], graph.asserted(x)), data.refuted(graph.values(x))))
        neighbours = graph.neighbours(x)
        if functional and labels[x] != settled.get(x):
            for role, y in neighbours:  # a new literal here may make a ≤1 at y merge
                if role.inverse in counted and y in labels:
                    wake(y)
        settled[x] = labels[x]
        for role, y in neighbours:
            if y in labels:
                sent = space.sent(role, labels[x], labels[y])
                if sent.object != EMPTY:
                    grow(y, sent.object)
                if sent.subject != EMPTY:
                    grow(x, sent.subject)
        if functional and not clashes(labels[x]):
            for c in functional:
                group = _forced_equal(space, c, labels[x], label, neighbours)
                if len(group) > 1:
                    merge(group)
                    wake(find(x))
                    break


def _forced_equal(
    space: LabelSpace,
    clause: CompiledClause,
    centre: Label,
    label: Callable[[str], Label],
    neighbours: set[tuple[Role, str]],
) -> set[str]:
    """The told neighbours of an element with label ``centre`` that ``clause``, a ≤1 S.C in force there, makes equal."""
    role = space.tbox.clauses[clause.index].role
    if role is None or clause.body & ~centre[0] or clause.head & ~centre[1]:
        return set()
    below = space.tbox.roles.subroles(role)
    return {y for r, y in neighbours if r in below and not clause.branch_body & ~label(y)[0]}

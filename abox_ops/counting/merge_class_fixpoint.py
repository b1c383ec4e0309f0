"""Compute the merge classes of I as a least fixpoint: a class that may violate an at-most
restriction absorbs the neighbours it counts (THEORY, "Border rules").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shiq.abox_ops.counting.groups import (
    CountedGraph,
    counted_edges,
    edges_to_potential_parents,
    has_own_witness,
    is_clause_open,
    is_within_bound_alone,
    may_exceed_bound,
    member_edges,
    potential_witness_groups,
)
from shiq.abox_ops.elements.graph import flags, flags_at
from shiq.abox_ops.elements.quotient import component_minima
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.columns.arrays import NONE, Ints, unique

#: Reasons why neighbours become one class: an at-most restriction counts them; there are witnesses
#: of their own; and a bit for each kind of taker.
_TIED, _OWN = 1, 2


class OverfullClasses:
    """State of the fixpoint for one clause: the elements whose class may exceed the clause's bound.

    elements: elements of a class over which the clause may be broken; that is final.
    reasons: the reasons for which its neighbours are one class already, a bit for each.
    representative: one of these neighbours, or -1.
    """

    def __init__(self, elements: Bools) -> None:
        self.elements = elements
        self.reasons = np.zeros(len(elements), np.int64)
        self.representative = np.full(len(elements), -1, np.int64)


def merge_inside(counted: CountedGraph, inside: Bools, contradictory: Bools) -> Ints:
    """Compute the merge classes of the region I: the least equivalence in which the neighbours that
    an overfull class counts are one class.

    Stops because classes only grow together.

    Returns:
        By element number, the class: the number of one of its elements.
    """
    class_ = np.arange(len(counted.graph), dtype=np.int64)
    clauses = counted.calculus.space.m_type
    members = (inside & ~contradictory).nonzero()[0] if clauses else NONE
    if not len(members):
        return class_
    tieable = partial(may_be_merged, inside, contradictory)
    states = {
        clause: OverfullClasses(
            flags(len(class_), members[~is_within_bound_alone(counted, members, clause)])
        )
        for clause in clauses
    }
    group, count = np.arange(len(members)), len(members)
    are_alone = True
    while count:
        ties = []
        for clause, state in states.items():
            full = flags(count, group[state.elements[members]])
            if not are_alone:
                open_ = ~full[group]
                full |= may_exceed_bound(counted, clause, members[open_], group[open_], count)
            chosen = full[group]
            if chosen.any():
                ties.append(
                    pairs_to_merge(
                        counted, clause, members[chosen], group[chosen], count, state, tieable
                    )
                )
        if not ties:
            break
        class_, grown = _unite_pairs(class_, ties)
        members = (flags(len(class_), grown)[class_] & inside).nonzero()[0]
        group, count, are_alone = grown.searchsorted(class_[members]), len(grown), False
    return class_


def may_be_merged(inside: Bools, contradictory: Bools, elements: Ints) -> Bools:
    """Decide whether each of ``elements`` may be in a merge class of the region I; False for
    elements numbered later.
    """
    return flags_at(inside, elements) & ~flags_at(contradictory, elements)


def pairs_to_merge(
    counted: CountedGraph,
    clause: CompiledClause,
    members: Ints,
    group: Ints,
    count: int,
    state: OverfullClasses,
    tieable: Callable[[Ints], Bools],
) -> tuple[Ints, Ints]:
    """Pair the elements that must share a class because ``clause`` may be violated over each of
    ``count`` groups.

    ``group[i]`` is the group of ``members[i]``. The elements are ∪E and what may take a member for
    its witness; if a member has witnesses of its own, all its neighbours.

    A member whose neighbours were tied for all these reasons before stands for them by its hub;
    ``state`` is brought up to date. ``tieable``: whether elements may be of a class at all.
    """
    state.elements[members] = True
    own = flags(count, group[has_own_witness(counted, clause, members)])
    reasons = np.where(own, _TIED | _OWN, _TIED)
    taken = {}
    for i, atom in enumerate(counted.label_bits.inverse_needs(clause)):
        taken[atom] = potential_witness_groups(counted, atom, members, group, count) & ~own
        reasons[taken[atom]] |= _OWN << i + 1
    done = reasons[group] & ~state.reasons[members] == 0
    rest, rest_group = members[~done], group[~done]
    active, edges = (
        rest[is_clause_open(counted, clause, rest)],
        member_edges(counted, rest, rest_group),
    )
    chosen = counted_edges(counted, clause, active, edges)
    chosen |= own[edges.group] & flags(len(counted.graph), active)[edges.source]
    chosen |= edges_to_potential_parents(counted, taken, edges)
    chosen &= tieable(edges.target)
    before = done & (state.representative[members] >= 0)
    looping = own[group] & ~done & counted.calculus.space.may_loop(clause)
    themselves = np.flatnonzero(looping & flags(len(counted.graph), active)[members])
    groups = np.concatenate([edges.group[chosen], group[before], group[themselves]])
    elements = np.concatenate(
        [edges.target[chosen], state.representative[members[before]], members[themselves]]
    )
    hub = np.full(count, -1, np.int64)
    hub[groups] = elements
    state.reasons[members], state.representative[members] = reasons[group], hub[group]
    return hub[groups], elements


def _unite_pairs(class_: Ints, pairs: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Unite classes by ``pairs`` of elements; return the class of each element, and the classes
    that grew.
    """
    first, second = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
    apart = class_[first] != class_[second]
    first, second = first[apart], second[apart]
    if not len(first):
        return class_, NONE
    number = np.arange(len(class_))
    united = component_minima(
        len(class_), np.concatenate([number, first]), np.concatenate([class_, second])
    )
    return united, unique(united[first])

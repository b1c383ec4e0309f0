"""I, the inside of a batch, as columns over the elements of a graph (THEORY, "Inside: assumed and
plain elements").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shiq.abox_ops.counting.groups import CountedGraph, ElementAnswers
from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.elements.graph import ElementFlags, Graph, flags
from shiq.abox_ops.index.index import Index, TouchedNodes
from shiq.abox_ops.labels.irrelevance import violates_role_axioms
from shiq.abox_ops.labels.label_numbers import Bools, distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import PulledInReasons
from shiq.abox_ops.modules.open_assertions import (
    NegatedProperties,
    OpenAssertions,
    negated_properties,
)
from shiq.abox_ops.patch.certified_model import CertifiedModel
from shiq.abox_ops.patch.effort import EffortColumns
from shiq.abox_ops.patch.told_turns import ToldTurns
from shiq.columns.arrays import NONE, Ints, distinct_with_inverse, is_row_in, row_codes
from shiq.model.roles import Role

# Elements that a round of a patch has to look at again: those that changed since they were last
# read, and those whose answers rest on them. `tests.spec.patch` walks all of I in every round.


class RoundSnapshot:
    """Snapshot of the columns and merge classes that a round has read, for finding what changed
    since.
    """

    def __init__(self) -> None:
        self._rep: Ints | None = None
        self._columns: list[npt.NDArray[np.generic]] = []
        self._counts: MergeClasses | None = None

    def take_snapshot(
        self, graph: Graph, counts: MergeClasses | None, *columns: Ints | Bools
    ) -> None:
        """Store copies of the columns and merge classes read."""
        self._rep, self._counts = graph.rep, counts
        # Numbers of labels and elements are small: half the memory.
        self._columns = [
            column.astype(np.int32 if column.dtype == np.int64 else np.bool_) for column in columns
        ]

    def changed_elements(
        self, graph: Graph, counts: MergeClasses | None, *columns: Ints | Bools
    ) -> Bools:
        """Find the elements that are new or have changed since the snapshot, and their neighbours.

        Counting reads the fillers of ≥-atoms one step further. All elements, if some were joined.
        """
        if self._rep is None or not np.array_equal(self._rep, graph.rep[: len(self._rep)]):
            return np.ones(len(graph), np.bool_)
        changed = np.zeros(len(graph), np.bool_)
        changed[len(self._rep) :] = True
        for column, before in zip(columns, self._columns):
            changed[: len(before)] |= column[: len(before)] != before
        if counts is not None and self._counts is not None:
            fillers, known = (
                counts.counted.counted_labels().fillers,
                self._counts.counted.counted_labels().fillers[: len(self._rep)],
            )
            further = np.zeros(len(graph), np.bool_)
            further[: len(known)] = fillers[: len(known)] != known
            changed |= graph.edges.with_neighbours(further)
        return graph.edges.with_neighbours(changed)

    def stale_elements(self, graph: Graph, counts: MergeClasses, *columns: Ints | Bools) -> Bools:
        """Find the changed elements, and all that are or were in a merge class with one of them."""
        found = self.changed_elements(graph, counts, *columns)
        if self._counts is None or found.all():
            return found
        return counts.with_class_mates(found) | self._counts.with_class_mates(found)


@dataclass(frozen=True, eq=False)
class PatchContext:
    """The fixed inputs of a patch: index, calculus, graph, batch and certified model.

    index: (T, A). model: the certified model of A. graph: A ∪ A⁺.
    absent: names that T does not have without the batch, as a mask.
    all_plain: whether every element of I is plain (criterion `clausal`).
    """

    index: Index
    calculus: NumberedCalculus
    graph: Graph
    touched_nodes: TouchedNodes
    model: CertifiedModel
    absent: int = 0
    all_plain: bool = False

    @cached_property
    def negated_properties(self) -> NegatedProperties:
        """The roles and data properties of negative assertions in A ∪ A⁺, and of role axioms."""
        return negated_properties(self.index, self.calculus, self.touched_nodes)

    @cached_property
    def has_grown_tbox(self) -> bool:
        """Decide whether the batch brings names, and with them clauses that the index was not
        computed with.
        """
        known = self.index.simplified_tbox.clauses.clauses
        return len(self.calculus.tbox.clauses) > len(known)

    def certified_labels(self, keys: Ints, told: Ints) -> Ints:
        """The labels of elements in the certified model (told_N), given their keys and told labels
        in A.
        """
        return self.model.model_labels(self.calculus, keys, told, self.absent)


class RegionLabels:
    """Two label ids of each element: its label in the certified model, and the label μ that the
    current round uses.

    model_label: told_N, in the certified model.
    mu: in I the assumed label or told⁺, outside told_N. Elements numbered later are outside, with
    the label that ``outside_labels`` gives for key and told label.
    """

    def __init__(self, graph: Graph, outside_labels: Callable[[Ints, Ints], Ints]) -> None:
        self._graph, self._outside_labels = graph, outside_labels
        self._model_label = self._mu = NONE

    @property
    def model_label(self) -> Ints:
        """The label of each element in the certified model (told_N)."""
        self._lengthen()
        return self._model_label

    @property
    def mu(self) -> Ints:
        """The label μ of each element in this round; entries of the region I are written by
        element.
        """
        self._lengthen()
        return self._mu

    @property
    def is_empty(self) -> bool:
        """Decide whether no label was computed yet."""
        return not len(self._mu)

    def reset(self) -> None:
        """Set the label μ of every element back to its label in the certified model."""
        self._mu = self.model_label.copy()

    def _lengthen(self) -> None:
        """Extend the columns to the present number of elements of the graph."""
        known, graph = len(self._model_label), self._graph
        if known < len(graph):
            more = self._outside_labels(graph.key[known:], graph.base_label[known:])
            self._model_label = np.concatenate([self._model_label, more])
            self._mu = np.concatenate([self._mu, more])


@dataclass
class TriggerCache:
    """Cache of the triggers of each element: the head atoms that guesses try as true first.

    label: by element the number of a label of such atoms, or -1.
    frontier, answers: the columns and counts that they depend on.
    """

    label: Ints = field(default_factory=lambda: NONE)
    frontier: RoundSnapshot = field(default_factory=RoundSnapshot)
    answers: ElementAnswers = field(default_factory=ElementAnswers)


@dataclass
class RoundCache:
    """Cache passed from round to round, so that unchanged elements are not examined again.

    An empty one gives the same results.

    frontier: the columns that the last round has read. answers: its counts.
    """

    turns: ToldTurns
    frontier: RoundSnapshot = field(default_factory=RoundSnapshot)
    answers: ElementAnswers = field(default_factory=ElementAnswers)
    triggers: TriggerCache = field(default_factory=TriggerCache)


#: Role assertions that residuals keep out, a row each: element inside and outside, what is
#: asserted inside instead, clause.
KeptOut = tuple[Ints, Ints, Ints, Ints]


class PatchRegion:
    """State of a patch: the elements of the region I (those that the check looks at), their labels
    and merge classes, in columns by element number.

    Columns lengthen with the graph. The steps of a round read and write it.

    is_inside: whether an element is in I. is_plain: whether nothing is assumed of it. is_active:
        whether it has told⁺.
    is_new: whether A lacks it, or has it otherwise. is_joined: whether it is made of several.
    is_stale: whether this round examines it again. is_uncertain: whether some round did since
        inserted role assertions were last examined.
    labels, counts: the labels, and the merge classes under them; a first round that ends with a
        clash makes none.
    effort: the cost of questions about each element. pulled_in: why it came in.
    touched_elements: the elements of the batch; None at first.
    """

    is_inside, is_plain, is_active = ElementFlags(), ElementFlags(), ElementFlags()
    is_new, is_joined = ElementFlags(), ElementFlags()
    is_stale, is_uncertain = ElementFlags(), ElementFlags()

    def __init__(self, given: PatchContext, labels: RegionLabels | None = None) -> None:
        self.input = given
        nothing = np.zeros(0, np.bool_)
        self.is_inside = self.is_plain = self.is_active = nothing
        self.is_new = self.is_joined = self.is_stale = self.is_uncertain = nothing
        self.labels = labels or RegionLabels(given.graph, given.certified_labels)
        self.counts: MergeClasses
        self.effort = EffortColumns()
        self.pulled_in = PulledInReasons()
        self.kept_out: KeptOut = (NONE, NONE, NONE, NONE)
        self.touched_elements: Ints | None = None
        self.memory = RoundCache(ToldTurns(given.calculus, all_plain=given.all_plain))

    @property
    def graph(self) -> Graph:
        """The graph of A ∪ A⁺, as far as it is fetched."""
        return self.input.graph

    @property
    def calculus(self) -> NumberedCalculus:
        """The calculus of T extended by the names of the batch."""
        return self.input.calculus

    def model_labels_of(self, keys: Ints, labels: Ints, numbers: Ints) -> Ints:
        """The model labels of elements, given their key, told label in A, and number in the graph
        (-1 if not there).
        """
        known = numbers >= 0
        found = np.zeros(len(keys), np.int64)
        found[known] = self.labels.model_label[numbers[known]]
        found[~known] = self.input.certified_labels(keys[~known], labels[~known])
        return found


def open_assertions(region: PatchRegion) -> OpenAssertions:
    """Make the test for open assertions under the current labels and merge classes of the region."""
    given = region.input
    return OpenAssertions(
        given.calculus,
        given.graph,
        given.negated_properties,
        lambda: region.labels.mu,
        lambda: region.counts,
    )


def count_region(region: PatchRegion) -> MergeClasses:
    """Compute the merge classes of the region I under its current labels."""
    counted = CountedGraph(
        region.calculus, region.graph, lambda: region.labels.mu, region.memory.answers
    )
    return MergeClasses(counted, region.is_inside, is_contradictory(region))


def is_clashing(region: PatchRegion) -> Bools:
    """Decide for every element whether its told literals in A ∪ A⁺ clash."""
    return _select_clashing(region, region.is_active)


def is_contradictory(region: PatchRegion) -> Bools:
    """Decide for every element whether it is in the region I and its told literals in A ∪ A⁺ clash."""
    return _select_clashing(region, region.is_inside)


def _select_clashing(region: PatchRegion, elements: Bools) -> Bools:
    """Select the flagged ``elements`` whose label clashes."""
    found = elements.copy()
    found[found] = region.calculus.table.clashes(region.graph.label[found])
    return found


def may_clash(region: PatchRegion, first: Ints, second: Ints) -> Bools:
    """Decide for each pair of elements whether a role axiom or negative assertion may contradict
    the assertions between the two.

    The role axioms are disjointness, asymmetry and irreflexivity.

    So it is if either may be equal to another element, or if their assertions contradict as they
    are.
    """
    if not len(first):
        return np.zeros(0, np.bool_)
    found: Bools = _may_share_individuals(region, first) | _may_share_individuals(region, second)
    rest = (~found).nonzero()[0]
    found[rest] = violate_role_axioms(region.calculus, region.graph, first[rest], second[rest])
    return found


def _may_share_individuals(region: PatchRegion, elements: Ints) -> Bools:
    """Decide whether each element is merged, or in a merge class with others."""
    return region.is_joined[elements] | (region.counts.class_sizes(elements) > 1)


def violate_role_axioms(
    calculus: NumberedCalculus, graph: Graph, first: Ints, second: Ints
) -> Bools:
    """Decide for each pair of elements whether the assertions between the two violate a role axiom
    or a negative assertion.

    The role axioms are disjointness, asymmetry and irreflexivity.
    """
    if not len(first):
        return np.zeros(0, np.bool_)
    graph.fetch_edges(first)
    box = calculus.tbox.roles
    asserted, sets = roles_between(calculus, graph, first, second)
    keys, inverse = distinct_rows(asserted, (first == second).astype(np.int64))
    found: Bools = np.array(
        [violates_role_axioms(sets[i], (), bool(loop), box) for i, loop in keys], np.bool_
    )[inverse]
    negated: dict[tuple[int, int], set[Role]] = {}
    for x, named, y in graph.complex_facts.negative_edges:
        negated.setdefault((int(graph.rep[x]), int(graph.rep[y])), set()).add(named)
    for i, *pair in zip(range(len(first)), first.tolist(), second.tolist()) if negated else ():
        if against := negated.get((pair[0], pair[1])):
            found[i] |= violates_role_axioms(sets[asserted[i]], against, pair[0] == pair[1], box)
    return found


def roles_between(
    calculus: NumberedCalculus, graph: Graph, first: Ints, second: Ints
) -> tuple[Ints, list[frozenset[Role]]]:
    """Collect the asserted roles between the two elements of each pair.

    Returns: for each pair, the position of its roles in a list of distinct sets; and that list.
    """
    roles = calculus.roles
    source, role, target = graph.edges.half_edges(flags(len(graph), first))
    between = is_row_in([source, target], [first, second])
    source, role, target = source[between], role[between], target[between]
    _, pair, _ = distinct_with_inverse(
        row_codes(np.concatenate([first, source]), np.concatenate([second, target]))
    )
    edge, pair = pair[len(first) :], pair[: len(first)]
    once = distinct_with_inverse(row_codes(edge, role))[2]
    edge, role = edge[once], role[once]
    order = np.lexsort((role, edge))
    edge, role = edge[order], role[order]
    start = edge.searchsorted(np.arange(pair.max() + 2))
    size = np.diff(start)
    sets: list[frozenset[Role]] = [frozenset()]
    number = {sets[0]: 0}
    found = np.zeros(len(size), np.int64)
    for i in range(int(size.max(initial=0))):
        longer_ = (size > i).nonzero()[0]
        keys, inverse = distinct_rows(found[longer_], role[start[longer_] + i])
        grown = [sets[s] | {roles[r]} for s, r in keys]
        for roles_ in grown:
            if roles_ not in number:
                number[roles_] = len(sets)
                sets.append(roles_)
        found[longer_] = np.array([number[roles_] for roles_ in grown], np.int64)[inverse]
    return found[pair], sets

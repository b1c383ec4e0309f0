"""What comes into I before anything is asked, in columns: the start, the inserted role
assertions that no rule covers (THEORY, "Inside: assumed and plain elements"), and turn by turn
what told⁺ alone brings in: `abox_ops.patch.asking` for all elements that changed (THEORY, "The
loop": turns of told⁺).
"""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import flags, longer
from abox_ops.labels.calculus import clashes
from abox_ops.labels.numbered import Bools, combinations
from abox_ops.modules.found_columns import code_of
from abox_ops.patch.asking import asking_clause
from abox_ops.patch.border_columns import Border
from abox_ops.patch.state_columns import PatchState
from shiq.columns.arrays import NONE, Ints, contained, unique
from shiq.columns.rows import DIFFERENT, SAME

#: In the place of a label: an assertion that is not one of A between elements as they are now.
NEW = -1


def started(state: PatchState, border: Border) -> Ints:
    """The stale elements of which the insertions say what is not part of the certified model,
    role assertions apart.
    """
    graph = state.graph
    found = [graph.elements_of(state.touched.negative)]
    if len(graph.whole.inserted["pairs"]):
        found += _paired(state, border)
    data = state.touched.data
    if len(data["node"]):
        element = graph.elements_of(data["node"])
        outside = state.stale[element] & ~state.inside[element]
        element = element[outside]
        found.append(
            element[~state.is_decided(element, data["property"][outside], data["literal"][outside])]
        )
    return unique(np.concatenate(found))


def _paired(state: PatchState, border: Border) -> list[Ints]:
    """The ends of the inserted equalities, and of those inequalities that the certified model
    does not have.
    """
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
    """The ends of inserted role assertions, of uncertain elements, that no rule covers as things
    are. Those of contradictory elements ask for nothing.
    """
    graph = state.graph
    if not len(graph.whole.inserted["half_edges"]):
        return NONE
    source, role, target = graph.half_edges()
    rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
    rows &= (state.uncertain[source] | state.uncertain[target]) & ~(
        state.inside[source] & state.inside[target]
    )
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


class ToldTurns:
    """Elements that come in, turn after turn, and what asks for each. Of an element that is as
    it was when its role assertions were last looked at, nothing is asked again.
    """

    def __init__(self, state: PatchState) -> None:
        self.state = state
        self._label = NONE
        self._inside = self._new = np.zeros(0, np.bool_)
        self._codes: dict[tuple[int, int, int, int], int] = {}
        self._more: dict[tuple[int, int], bool] = {}

    def turn(self) -> tuple[Ints, Ints, Ints]:
        """The elements that told⁺ asks for as it stands, and over which role assertions: pairs
        of an element in I and one of these. Notes for what clauses they come in.
        """
        state, graph = self.state, self.state.graph
        is_new, count = state.is_new, len(graph)
        label = np.full(count, -1, np.int64)
        label[: len(self._label)] = self._label
        todo = label != graph.label
        todo |= (state.inside & ~longer(self._inside, count)) | (is_new & ~longer(self._new, count))
        todo &= state.active
        self.note(todo)
        outside = np.flatnonzero(todo & ~state.inside)
        own = outside[is_new[outside] | self._says_more(outside)]
        todo &= state.inside
        todo[todo] = ~state.calculus.table.clashes(graph.label[todo])
        source, target, codes = self._neighbours(todo)
        state.pulled_in.note(target, codes)
        return unique(np.concatenate([own, target])), source, target

    def note(self, looked_at: Bools) -> None:
        """Says that the role assertions of the elements ``looked_at`` (a flag by number) were
        looked at as they are now.
        """
        state, graph = self.state, self.state.graph
        label = np.full(len(graph), -1, np.int64)
        label[: len(self._label)] = self._label
        label[looked_at] = graph.label[looked_at]
        self._label, self._inside, self._new = label, state.inside.copy(), state.is_new.copy()

    def _says_more(self, elements: Ints) -> Bools:
        """Whether told⁺ of each element goes beyond told_N."""
        keys, inverse = combinations(
            self.state.graph.label[elements], self.state.certified[elements]
        )
        found = [self.says_more(*key) for key in keys]
        return np.array(found, np.bool_)[inverse] if keys else np.zeros(0, np.bool_)

    def says_more(self, told: int, known: int) -> bool:
        """Whether a label goes beyond that of told_N. Where every element is plain, a clash that
        A has by itself is nothing new.
        """
        found = self._more.get((told, known))
        if found is None:
            calculus = self.state.calculus
            label, certified = calculus.table.labels[told], calculus.table.labels[known]
            positive, negative = calculus.space.visible(label)
            is_clash = clashes(label) and not (self.state.all_plain and clashes(certified))
            found = is_clash or bool(positive & ~certified[0] or negative & ~certified[1])
            self._more[told, known] = found
        return found

    def _neighbours(self, centres: Bools) -> tuple[Ints, Ints, Ints]:
        """The role assertions of ``centres``, elements of I, on which clauses ask for the other
        end, and the code of each.
        """
        state, graph = self.state, self.state.graph
        source, role, target = graph.half_edges(centres)
        out = ~state.inside[target]
        source, role, target = source[out], role[out], target[out]
        reduced = state.calculus.role_calculus.reduced
        here, there = reduced(role, graph.label[source]), reduced(role ^ 1, state.certified[target])
        before = np.full(len(source), NEW, np.int64)
        asks = self._asks(role, here, before, there) > 0
        source, role, target, here, there = (
            source[asks],
            role[asks],
            target[asks],
            here[asks],
            there[asks],
        )
        if not len(source):
            return NONE, NONE, NONE
        old = flags(len(graph), source)[graph.edges["source"]] & ~graph.edges["inserted"]
        stood = contained(
            [source, role, target],
            [graph.edges[name][old] for name in ("source", "role", "target")],
        )
        stood &= ~state.is_new[source] & ~state.is_new[target]
        before = np.where(stood, reduced(role, state.certified[source]), NEW)
        codes = self._asks(role, here, before, there)
        asks = codes > 0
        return source[asks], target[asks], codes[asks]

    def _asks(self, role: Ints, here: Ints, before: Ints, there: Ints) -> Ints:
        keys, inverse = combinations(role, here, before, there)
        return np.array([self.code(*key) for key in keys], np.int64)[inverse]

    def code(self, role: int, inside: int, before: int, outside: int) -> int:
        """The code of what asks for the far end of a role assertion, by the numbers of the role
        and of the labels that `asking_clause` takes; 0 where nothing does.
        """
        key = (role, inside, before, outside)
        found = self._codes.get(key)
        if found is None:
            calculus = self.state.calculus
            labels = calculus.table.labels
            stood = None if before == NEW else labels[before]
            clause = asking_clause(
                calculus.space,
                calculus.roles[role],
                labels[inside],
                labels[outside],
                stood,
                all_plain=self.state.all_plain,
            )
            found = self._codes[key] = 0 if clause is None else code_of(clause)
        return found

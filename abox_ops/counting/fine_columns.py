"""The finer G of the criterion `model` in columns: `abox_ops.counting.reference` with ``fine`` (THEORY, "Border rules").

Merge classes exist twice: those of I, made here from the labels that a patch gives its elements, and those that the certified
model knows outside, which are stored. A class is named by a *code*: twice a number, and one more inside I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from abox_ops.counting.remembered import Read, Remembered
from abox_ops.elements.columns import Graph, flag_of, flags
from abox_ops.elements.partition import components
from abox_ops.labels.calculus import CompiledClause
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from shiq.bits import bits
from shiq.clause import AtLeast
from shiq.columns.arrays import Ints, contained, distinct, distinct_pairs, row_codes, unique

_NONE = np.zeros(0, np.int64)
#: Why neighbours are made one class: they are counted; there are witnesses of their own; and a bit for each kind of taker.
_TIED, _OWN = 1, 2


@dataclass(frozen=True)
class Edges:
    """Role assertions from members, and the ``group`` that the member of each is in."""

    source: Ints
    role: Ints
    target: Ints
    group: Ints


class _Overfull:
    """What is known of one clause while classes grow, by element. ``elements``: those of a class over which it may be broken, as
    it then may for good; ``tied``: by what reasons its neighbours were made one class already, a bit for each; ``hub``: one of
    those, or -1; ``owns``: whether it may have witnesses of its own there."""

    def __init__(self, elements: Bools, owns: Bools) -> None:
        self.elements, self.owns = elements, owns
        self.tied = np.zeros(len(elements), np.int64)
        self.hub = np.full(len(elements), -1, np.int64)


class CountingView:
    """Labels as rows of bits, of the atoms that counting depends on: what `abox_ops.counting.reference` asks of one label, asked
    of all."""

    def __init__(self, calculus: Calculus) -> None:
        self.calculus = calculus
        self._column = {atom: i for i, atom in enumerate(bits(calculus.counting_bits))}
        self._of: dict[int, int] = {}
        self._positive = np.zeros((0, len(self._column)), np.bool_)
        self._negative = np.zeros((0, len(self._column)), np.bool_)
        self._known: dict[object, Bools] = {}
        needs = calculus.needs
        self._heads: dict[AtLeast, list[tuple[int, int, int]]] = {}
        for i, body, names in needs.heads:
            self._heads.setdefault(calculus.space.at_least[i], []).append((i, body, names))
        self._atoms: dict[AtLeast, list[int]] = {}
        for i, need in calculus.space.at_least.items():
            self._atoms.setdefault(need, []).append(i)

    def rows(self, labels: Ints) -> Ints:
        """The row of each label; new ones are added."""
        found, inverse, _ = distinct(labels)
        new = [i for i in found.tolist() if i not in self._of]
        if new:
            self._of.update(zip(new, range(len(self._of), len(self._of) + len(new))))
            known = self.calculus.table.labels
            self._positive = np.concatenate([self._positive, self._matrix([known[i][0] for i in new])])
            self._negative = np.concatenate([self._negative, self._matrix([known[i][1] for i in new])])
            self._known.clear()
        return np.fromiter((self._of[i] for i in found.tolist()), np.int64, len(found))[inverse]

    def _matrix(self, masks: list[int]) -> Bools:
        size = (max(len(self.calculus.tbox.atoms), *(mask.bit_length() for mask in masks)) + 8) // 8
        data = np.frombuffer(b"".join([mask.to_bytes(size, "little") for mask in masks]), np.uint8).reshape(len(masks), size)
        found: Bools = np.unpackbits(data, axis=1, bitorder="little")[:, list(self._column)].astype(np.bool_)
        return found

    def told(self, mask: int) -> Bools:
        """By row: whether any of the atoms is told."""
        return self._any(self._positive, mask)

    def denied(self, mask: int) -> Bools:
        """By row: whether any of the atoms is told to be false."""
        return self._any(self._negative, mask)

    def _any(self, matrix: Bools, mask: int) -> Bools:
        chosen: Bools = matrix[:, [self._column[i] for i in bits(mask)]]
        found: Bools = np.logical_or.reduce(chosen, axis=1)
        return found

    def decided_at_centre(self, clause: CompiledClause) -> Bools:
        """By row: `CompiledClause.decided_at_centre`."""
        key = ("decided", clause.index)
        if key not in self._known:
            self._known[key] = self.told(clause.head) | self.denied(clause.body)
        return self._known[key]

    def needs(self, need: AtLeast) -> Bools:
        """By row: whether `abox_ops.counting.reference.Needs.needed` has ``need``."""
        if need not in self._known:
            found = self.told(sum(1 << i for i in self._atoms[need]))
            for _, body, names in self._heads.get(need, ()):
                found |= ~self.denied(body) & ~self.told(names)
            self._known[need] = found
        return self._known[need]


class FineCounts:
    """Counts of ``graph`` under ``labels()`` (by number, as many as the graph has by now); classes of the ``inside`` elements.
    ``view`` and ``remembered``: what earlier counts of the graph have left."""

    def __init__(
        self,
        calculus: Calculus,
        graph: Graph,
        labels: Callable[[], Ints],
        inside: Bools,
        view: CountingView | None = None,
        remembered: Remembered | None = None,
    ) -> None:
        self.calculus, self.graph, self._labels = calculus, graph, labels
        self._inside = inside
        self._class = np.arange(len(graph), dtype=np.int64)
        self._outside = _NONE
        self._row = _NONE
        self._was_read = Read(_NONE, _NONE)
        self._view = view or CountingView(calculus)
        self._remembered = remembered or Remembered()
        self._within: dict[int, dict[int, bool]] = {}
        if calculus.space.m_type:
            self._remembered.forget(graph, self._read())
            self._merge()

    # --- labels and classes ------------------------------------------------------------------------

    def _read(self) -> Read:
        """By number: what counting reads of the labels."""
        known = len(self._was_read.label)
        if known < len(self.graph):
            calculus, label = self.calculus, self._labels()[known:]
            masks = [calculus.counting_bits, calculus.filler_bits]
            more = [calculus.table.masked(label, np.full(len(label), i, np.int64), masks) for i in range(len(masks))]
            self._was_read = Read(*(np.concatenate(columns) for columns in zip(self._was_read, more)))
        return self._was_read

    def _seen(self, elements: Ints, asked: Callable[[], Bools]) -> Bools:
        """What the view says, by row, of the label of each element."""
        rows = self._rows(elements)
        found: Bools = asked()[rows]
        return found

    def _rows(self, elements: Ints) -> Ints:
        """Where the label of each element stands in the view."""
        known = len(self._row)
        if known < len(self.graph):
            self._row = np.concatenate([self._row, self._view.rows(self._read().label[known:])])
        return self._row[elements]

    def inside(self, elements: Ints) -> Bools:
        """Which elements are in I; those met since are not."""
        return flag_of(self._inside, elements)

    def outside_classes(self) -> Ints:
        """By number: the merge class that the certified model knows, by one of its numbers."""
        known = len(self._outside)
        if known < len(self.graph):
            number = np.arange(known, len(self.graph), dtype=np.int64)
            _, inverse, example = distinct(self.graph.group[known:])
            self._outside = np.concatenate([self._outside, number[example][inverse]])
        return self._outside

    def classes(self, elements: Ints) -> Ints:
        """The code of the class of each element, in its part."""
        inside = self.inside(elements)
        found = self.outside_classes()[elements] * 2
        found[inside] = self._class[elements[inside]] * 2 + 1
        return found

    def pairs(self, classes: Ints) -> tuple[Ints, Ints]:
        """(code, element) for every element of the classes; of those outside, elements that are in I now are among them."""
        codes, rep = unique(classes), self.graph.rep
        reps = self.graph.reps()
        own = reps[self.inside(reps)]
        in_ = self._class[own] * 2 + 1
        # By every number: an element of a class may be part of a larger one by now, which another of its parts stands for.
        out = self.outside_classes() * 2
        chosen_in, chosen_out = np.isin(in_, codes), np.flatnonzero(np.isin(out, codes))
        element = rep[chosen_out]
        if len(reps) < len(rep):
            once = distinct(row_codes(out[chosen_out], element))[2]
            chosen_out, element = chosen_out[once], element[once]
        return np.concatenate([in_[chosen_in], out[chosen_out]]), np.concatenate([own[chosen_in], element])

    def sizes(self, elements: Ints) -> Ints:
        """How many elements the class of each of ``elements`` has."""
        codes = self.classes(elements)
        code, _ = self.pairs(codes)
        found, count = np.unique(code, return_counts=True)
        sizes: Ints = count[np.searchsorted(found, codes)] if len(codes) else codes
        return sizes

    # --- counts ------------------------------------------------------------------------------------

    def is_within(self, elements: Ints, clause: CompiledClause) -> Bools:
        """Whether ``clause`` cannot be broken at each element of I: over its merge class, or outside over that of the certified
        model less what is in I."""
        known = self._within.setdefault(clause.index, {})
        codes, inverse, _ = distinct(self.classes(elements))
        new = np.array([c for c in codes.tolist() if c not in known], np.int64)
        if len(new):
            code, member = self.pairs(new)
            kept = (code % 2 == 1) | ~self.inside(member)
            group = np.searchsorted(new, code[kept])
            member = member[kept]
            single = np.bincount(group, minlength=len(new))[group] == 1
            full = self._full(clause, member[~single], group[~single], len(new))
            full[group[single]] = ~self.is_within_alone(member[single], clause)
            known.update(zip(new.tolist(), (~full).tolist()))
        return np.fromiter((known[c] for c in codes.tolist()), np.bool_, len(codes))[inverse]

    def is_within_alone(self, elements: Ints, clause: CompiledClause) -> Bools:
        """The same over each element by itself."""
        new = elements[self._remembered.of(clause, self.graph)[elements] < 0]
        if len(new):
            full = self._full(clause, new, np.arange(len(new)), len(new))
            self._remembered.learn(clause, self.graph, new, full, self._read())
        found: Bools = self._remembered.of(clause, self.graph)[elements] == 0
        return found

    def _full(self, clause: CompiledClause, members: Ints, group: Ints, count: int) -> Bools:
        """Over which of ``count`` groups ``clause`` may be broken, ``group[i]`` being that of ``members[i]``."""
        active = self._active(clause, members)
        is_active = flags(count, group[active])
        if not active.any():
            return is_active
        chosen = is_active[group]
        members, group, active = members[chosen], group[chosen], active[chosen]
        edges = self._edges(members, group)
        counted = self._counted(clause, members[active], edges)
        pair_group, pair_element = distinct_pairs(edges.group[counted], edges.target[counted])
        known = np.bincount(pair_group, minlength=count) + self._own(clause, members, group, count)
        full: Bools = is_active & (known > clause.n)
        taken = {atom: self._taken(atom, members, group, count) for atom in self._takers(clause)}
        takers = np.logical_or.reduce([np.zeros(count, np.bool_), *taken.values()])
        if takers.any():
            asked = self._asked(taken, edges)
            children = np.bincount(group, self._needed(members, self._at_least()), minlength=count).astype(np.int64)
            asked_group, asked_element = distinct_pairs(edges.group[asked], edges.target[asked])
            more = ~_contained(asked_group, asked_element, pair_group, pair_element)
            extra = np.bincount(asked_group[more], minlength=count)
            full |= is_active & takers & (known + children + extra > clause.n)
        return full

    def _active(self, clause: CompiledClause, members: Ints) -> Bools:
        """Which members leave ``clause`` open."""
        return ~self._seen(members, lambda: self._view.decided_at_centre(clause))

    def _edges(self, members: Ints, group: Ints) -> Edges:
        graph = self.graph
        graph.expand(members)
        source, role, target = graph.half_edges(flags(len(graph), members))
        where = np.zeros(len(graph), np.int64)
        where[members] = group
        return Edges(source, role, target, where[source])

    def _counted(self, clause: CompiledClause, active: Ints, edges: Edges) -> Bools:
        """Which ``edges`` make E of the ``active`` members."""
        found = self.calculus.among(edges.role, self.calculus.below(clause))
        found = found & flags(len(self.graph), active)[edges.source]
        found[found] = ~self._seen(edges.target[found], lambda: self._view.denied(clause.branch_body))
        return found

    def _own(self, clause: CompiledClause, members: Ints, group: Ints, count: int) -> Ints:
        """How many witnesses of its own a member of each group may have below the role of ``clause``, at most."""
        below = self.calculus.below(clause)
        own = np.zeros(count, np.int64)
        np.maximum.at(own, group, self._needed(members, [a for a in self._at_least() if a.role in below]))
        return own

    def _at_least(self) -> list[AtLeast]:
        return list(dict.fromkeys(self.calculus.space.at_least.values()))

    def _has(self, need: AtLeast, elements: Ints) -> Bools:
        return self._seen(elements, lambda: self._view.needs(need))

    def _needed(self, members: Ints, needs: list[AtLeast]) -> Ints:
        """Σ k over those ``needs`` ≥k R.D of each member that may take a witness beyond its told ones."""
        found = np.zeros(len(members), np.int64)
        for need in needs:
            found += need.n * self._unmet(need, members)
        return found

    def _unmet(self, need: AtLeast, elements: Ints) -> Bools:
        """Which elements have ``need``, and, if it is for one witness, no told neighbour that meets it."""
        found = self._has(need, elements)
        if need.n > 1 or not found.any():
            return found
        asked = elements[found]
        new = asked[self._remembered.of(need, self.graph)[asked] < 0]
        if len(new):
            self._remembered.learn(need, self.graph, new, ~self._is_met(need, new), self._read())
        found[found] = self._remembered.of(need, self.graph)[asked] == 1
        return found

    def _is_met(self, need: AtLeast, elements: Ints) -> Bools:
        """Which elements have a told neighbour that is a witness of ``need``."""
        self.graph.expand(elements)
        source, role, target = self.graph.half_edges(flags(len(self.graph), elements))
        met = self.calculus.among(role, self.calculus.tbox.roles.subroles(need.role))
        if need.filler is not None:
            bit = 1 << self.calculus.tbox.atom_ids[need.filler]
            met[met] = self._seen(target[met], lambda: self._view.told(bit))
        found: Bools = flags(len(self.graph), source[met])[elements]
        return found

    def _takers(self, clause: CompiledClause) -> list[AtLeast]:
        """The ≥k R.D of which a witness is an S-neighbour, by R⁻ ⊑* S."""
        below = self.calculus.below(clause)
        return [a for a in self._at_least() if a.role.inverse in below]

    def _taken(self, atom: AtLeast, members: Ints, group: Ints, count: int) -> Bools:
        """Which of ``count`` groups have a member that may be a witness of ``atom``."""
        bit = 0 if atom.filler is None else 1 << self.calculus.tbox.atom_ids[atom.filler]
        return flags(count, group[~self._seen(members, lambda: self._view.denied(bit))])

    def _asked(self, taken: dict[AtLeast, Bools], edges: Edges) -> Bools:
        """Which ``edges`` lead to those that may take a member for their witness and so become its S-neighbours; ``taken``: which
        groups may be taken at all."""
        asked = np.zeros(len(edges.source), np.bool_)
        if not taken:
            return asked
        apart = edges.source != edges.target
        others = unique(edges.target[apart])
        for atom, groups in taken.items():
            unmet = self._unmet(atom, others)
            if unmet.any():
                asked |= groups[edges.group] & flags(len(self.graph), others[unmet])[edges.target]
        asked &= apart
        return asked

    # --- merging -----------------------------------------------------------------------------------

    def _merge(self) -> None:
        """The least equivalence on I such that an overfull class makes its E, and what may be generated there, one class.

        Stops because classes only grow together.
        """
        members = np.flatnonzero(self._inside)
        if not len(members):
            return
        states = {clause: self._overfull(clause, members) for clause in self.calculus.space.m_type}
        group, count = np.arange(len(members)), len(members)
        are_alone = True
        while count:
            ties = []
            for clause, state in states.items():
                full = flags(count, group[state.elements[members]])
                if not are_alone:
                    open_ = ~full[group]
                    full |= self._full(clause, members[open_], group[open_], count)
                chosen = full[group]
                ties.append(self._ties(clause, members[chosen], group[chosen], count, state))
            grown = self._union(ties)
            members = np.flatnonzero(flags(len(self._class), grown)[self._class] & self._inside)
            group, count, are_alone = np.searchsorted(grown, self._class[members]), len(grown), False
        self._within.clear()

    def _overfull(self, clause: CompiledClause, members: Ints) -> _Overfull:
        count = len(self._class)
        full = members[~self.is_within_alone(members, clause)]
        owns = members[self._own(clause, members, np.arange(len(members)), len(members)) > 0]
        return _Overfull(flags(count, full), flags(count, owns))

    def _ties(self, clause: CompiledClause, members: Ints, group: Ints, count: int, state: _Overfull) -> tuple[Ints, Ints]:
        """Pairs of elements of I that have to be of one class, since ``clause`` may be broken over all of these groups: ∪E, and
        what may take a member for its witness, or, if a member has witnesses of its own there, every neighbour.

        A member whose neighbours were tied for all these reasons before stands for them by its hub."""
        state.elements[members] = True
        own = flags(count, group[state.owns[members]])
        reasons = np.where(own, _TIED | _OWN, _TIED)
        taken = {}
        for i, atom in enumerate(self._takers(clause)):
            taken[atom] = self._taken(atom, members, group, count) & ~own
            reasons[taken[atom]] |= _OWN << i + 1
        done = reasons[group] & ~state.tied[members] == 0
        rest, rest_group = members[~done], group[~done]
        active, edges = rest[self._active(clause, rest)], self._edges(rest, rest_group)
        chosen = self._counted(clause, active, edges)
        chosen |= own[edges.group] & flags(len(self.graph), active)[edges.source]
        chosen |= self._asked(taken, edges)
        chosen &= self.inside(edges.target)
        before = done & (state.hub[members] >= 0)
        groups = np.concatenate([edges.group[chosen], group[before]])
        elements = np.concatenate([edges.target[chosen], state.hub[members[before]]])
        hub = np.full(count, -1, np.int64)
        hub[groups] = elements
        state.tied[members], state.hub[members] = reasons[group], hub[group]
        return hub[groups], elements

    def _union(self, pairs: list[tuple[Ints, Ints]]) -> Ints:
        """Unites; the classes that grew."""
        first, second = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
        before = self._class
        apart = before[first] != before[second]
        first, second = first[apart], second[apart]
        if not len(first):
            return _NONE
        everyone = np.arange(len(before))
        self._class = components(len(before), np.concatenate([everyone, first]), np.concatenate([before, second]))
        return unique(self._class[first])


def _contained(first: Ints, second: Ints, among_first: Ints, among_second: Ints) -> Bools:
    return contained([first, second], [among_first, among_second])

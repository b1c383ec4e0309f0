"""The finer G of the criterion `model` in columns: `abox_ops.counting` with ``fine`` (THEORY.md 3.3).

Merge classes exist twice: those of I, made here from the labels that a patch gives its elements, and those that the certified
model knows outside, which are stored. A class is named by a *code*: twice a number, and one more inside I.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from abox_ops.told import CompiledClause, bits
from jobs.columns import Ints, contained, distinct, row_codes, unique
from jobs.engines.calculus import Calculus
from jobs.engines.graph import Graph, flag_of, flags
from jobs.engines.grouping import components
from jobs.engines.labels import Bools
from shiq.clause import AtLeast

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Tally:
    """What one m-type clause sees of groups of elements. ``full``: the bound can be broken there; (``pair_group``,
    ``pair_element``): ∪E, and what else has to be of one class with it where the bound can be broken."""

    full: Bools
    pair_group: Ints
    pair_element: Ints


class CountingView:
    """Labels as rows of bits, of the atoms that counting depends on: what `abox_ops.counting` asks of one label, asked of all."""

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
        """By row: whether `abox_ops.counting.Needs.needed` has ``need``."""
        if need not in self._known:
            found = self.told(sum(1 << i for i in self._atoms[need]))
            for _, body, names in self._heads.get(need, ()):
                found |= ~self.denied(body) & ~self.told(names)
            self._known[need] = found
        return self._known[need]


class FineCounts:
    """Counts of ``graph`` under ``labels()`` (by number, as many as the graph has by now); classes of the ``inside`` elements."""

    def __init__(self, calculus: Calculus, graph: Graph, labels: Callable[[], Ints], inside: Bools) -> None:
        self.calculus, self.graph, self._labels = calculus, graph, labels
        self._inside = inside
        self._class = np.arange(len(graph), dtype=np.int64)
        self._outside = _NONE
        self._row = _NONE
        self._view = CountingView(calculus)
        self._known_unmet: dict[AtLeast, npt.NDArray[np.int8]] = {}
        self._within: dict[int, dict[int, bool]] = {}
        if calculus.space.m_type:
            self._merge()

    # --- labels and classes ------------------------------------------------------------------------

    def _seen(self, elements: Ints, asked: Callable[[], Bools]) -> Bools:
        """What the view says, by row, of the label of each element."""
        rows = self._rows(elements)
        found: Bools = asked()[rows]
        return found

    def _rows(self, elements: Ints) -> Ints:
        """Where the label of each element stands in the view."""
        known = len(self._row)
        if known < len(self.graph):
            self._row = np.concatenate([self._row, self._view.rows(self._labels()[known:])])
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
        codes = unique(classes)
        reps = self.graph.reps()
        own = reps[self.inside(reps)]
        in_ = self._class[own] * 2 + 1
        out = self.outside_classes()[reps] * 2
        chosen_in, chosen_out = np.isin(in_, codes), np.isin(out, codes)
        return np.concatenate([in_[chosen_in], out[chosen_out]]), np.concatenate([own[chosen_in], reps[chosen_out]])

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
            full = self._tally(clause, member[kept], group, len(new)).full
            known.update(zip(new.tolist(), (~full).tolist()))
        return np.fromiter((known[c] for c in codes.tolist()), np.bool_, len(codes))[inverse]

    def is_within_alone(self, elements: Ints, clause: CompiledClause) -> Bools:
        """The same over each element by itself."""
        return ~self._tally(clause, elements, np.arange(len(elements)), len(elements)).full

    def _tally(self, clause: CompiledClause, members: Ints, group: Ints, count: int) -> Tally:
        """E and G of ``count`` groups, ``group[i]`` being that of ``members[i]``."""
        graph = self.graph
        graph.expand(members)
        where = np.zeros(len(graph), np.int64)
        where[members] = group
        active = ~self._seen(members, lambda: self._view.decided_at_centre(clause))
        is_active = flags(count, group[active])
        source, role, target = graph.half_edges(flags(len(graph), members))
        at_active = flags(len(graph), members[active])[source]
        counted = at_active & self.calculus.among(role, self.calculus.below(clause))
        counted[counted] = ~self._seen(target[counted], lambda: self._view.denied(clause.branch_body))
        pair_group, pair_element = _pairs(where[source[counted]], target[counted])
        everyone = np.bincount(pair_group, minlength=count)
        own = np.zeros(count, np.int64)
        below = self.calculus.below(clause)
        np.maximum.at(own, group, self._needed(members, [a for a in self._at_least() if a.role in below]))
        known = everyone + own
        full = is_active & (known > clause.n)
        asked_group, asked_element, takers = self._asking(clause, members, group, count, (source, role, target), where)
        if takers.any():
            children = np.bincount(group, self._needed(members, self._at_least()), minlength=count).astype(np.int64)
            more = ~_contained(asked_group, asked_element, pair_group, pair_element)
            extra = np.bincount(asked_group[more], minlength=count)
            full |= is_active & takers & (known + children + extra > clause.n)
        alone = own[asked_group] == 0
        near = at_active & (own[where[source]] > 0)
        together = [
            (pair_group, pair_element),
            (asked_group[alone], asked_element[alone]),
            (where[source[near]], target[near]),
        ]
        return Tally(full, np.concatenate([g for g, _ in together]), np.concatenate([e for _, e in together]))

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
        known = self._known_unmet.get(need)
        if known is None or len(known) < len(self.graph):
            more = np.full(len(self.graph) - (0 if known is None else len(known)), -1, np.int8)
            known = self._known_unmet[need] = more if known is None else np.concatenate([known, more])
        asked = elements[found]
        new = asked[known[asked] < 0]
        if len(new):
            known[new] = ~self._is_met(need, new)
        found[found] = known[asked] == 1
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

    def _asking(
        self, clause: CompiledClause, members: Ints, group: Ints, count: int, edges: tuple[Ints, Ints, Ints], where: Ints
    ) -> tuple[Ints, Ints, Bools]:
        """(group, neighbour) for those that may take a member for their witness and so become its S-neighbours, and which groups
        may be taken at all."""
        below = self.calculus.below(clause)
        atoms = [a for a in self._at_least() if a.role.inverse in below]
        takers = np.zeros(count, np.bool_)
        if not atoms:
            return _NONE, _NONE, takers
        source, _, target = edges
        apart = source != target
        groups, neighbours = _pairs(where[source[apart]], target[apart])
        asked = np.zeros(len(groups), np.bool_)
        others = unique(neighbours)
        for atom in atoms:
            bit = 0 if atom.filler is None else 1 << self.calculus.tbox.atom_ids[atom.filler]
            may_be = ~self._seen(members, lambda b=bit: self._view.denied(b))  # type: ignore[misc]
            taken = flags(count, group[may_be])
            takers |= taken
            unmet = self._unmet(atom, others)
            if unmet.any():
                asked |= taken[groups] & unmet[np.searchsorted(others, neighbours)]
        return groups[asked], neighbours[asked], takers

    # --- merging -----------------------------------------------------------------------------------

    def _merge(self) -> None:
        """The least equivalence on I such that an overfull class makes its E, and what may be generated there, one class.

        Stops because classes only grow together.
        """
        inside = np.flatnonzero(self._inside)
        queue = inside
        while len(queue):
            here = flags(len(self._class), queue)[self._class] & self._inside
            members = np.flatnonzero(here)
            group = np.searchsorted(queue, self._class[members])
            first, second = [_NONE], [_NONE]
            for clause in self.calculus.space.m_type:
                tally = self._tally(clause, members, group, len(queue))
                kept = tally.full[tally.pair_group] & self.inside(tally.pair_element)
                groups, elements = tally.pair_group[kept], tally.pair_element[kept]
                hub = np.zeros(len(queue), np.int64)
                hub[groups] = elements
                first.append(hub[groups])
                second.append(elements)
            queue = self._union(np.concatenate(first), np.concatenate(second))
        self._within.clear()

    def _union(self, first: Ints, second: Ints) -> Ints:
        """Unites; the classes that grew."""
        before = self._class
        apart = before[first] != before[second]
        first, second = first[apart], second[apart]
        if not len(first):
            return _NONE
        everyone = np.arange(len(before))
        self._class = components(len(before), np.concatenate([everyone, first]), np.concatenate([before, second]))
        return unique(self._class[first])


def _pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The distinct pairs (first[i], second[i])."""
    if not len(first):
        return first, second
    kept = distinct(row_codes(first, second))[2]
    return first[kept], second[kept]


def _contained(first: Ints, second: Ints, among_first: Ints, among_second: Ints) -> Bools:
    return contained([first, second], [among_first, among_second])

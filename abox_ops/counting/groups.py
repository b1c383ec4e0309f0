"""Count the neighbours that an at-most restriction may see (E) and that may be generated (G), for
many groups at once (THEORY, "Border rules"; `tests.spec.counting` with ``fine``).

Labels are rows of bits, of the atoms that counting depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shiq.abox_ops.elements.graph import Graph, extend_flags, flags
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import Bools, LabelMemo
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.columns.arrays import NONE, Ints, distinct_pairs, is_row_in, unique
from shiq.model.clause import AtLeast
from shiq.support import bits, cached_method


class CountedLabels(NamedTuple):
    """The part of each element's label that counting for at-most restrictions depends on, as label
    ids by element number.

    label: bits read at the element and its neighbours.
    fillers: bits read two steps away, at possible witnesses.
    """

    label: Ints
    fillers: Ints

    def first_rows(self, count: int) -> CountedLabels:
        """Restrict the columns to the first ``count`` elements."""
        return CountedLabels(self.label[:count], self.fillers[:count])


@dataclass
class ElementAnswers:
    """Cache of counting answers by question and element number: 1 yes, 0 no, -1 unknown."""

    _labels_read: CountedLabels = field(default_factory=lambda: CountedLabels(NONE, NONE))
    _rep: Ints = field(default_factory=lambda: NONE)
    _answers: dict[Hashable, npt.NDArray[np.int8]] = field(default_factory=dict)

    def lookup(self, question: Hashable, graph: Graph) -> npt.NDArray[np.int8]:
        """The known answers of ``question``, for all elements of ``graph``; -1 where unknown."""
        known = self._answers.get(question, np.zeros(0, np.int8))
        if len(known) < len(graph):
            known = np.concatenate([known, np.full(len(graph) - len(known), -1, np.int8)])
            self._answers[question] = known
        return known

    def note_answers(
        self, question: Hashable, graph: Graph, elements: Ints, answers: Bools, read: CountedLabels
    ) -> None:
        """Cache the answers for ``elements``, which depend on the parts of labels ``read``."""
        self.lookup(question, graph)[elements] = answers
        self._labels_read, self._rep = read, graph.rep

    def drop_answers(self, graph: Graph, read: CountedLabels) -> None:
        """Drop the answers that a change of ``read`` may have changed; all of them if elements were
        merged.
        """
        before, now = self._labels_read, read.first_rows(len(self._labels_read.label))
        count = len(before.label)
        if not np.array_equal(self._rep, graph.rep[:count]):
            self._answers.clear()
            return
        other = extend_flags(now.label != before.label, len(graph))
        if not other.any():
            return
        source, _, target = graph.edges.half_edges()
        stale = extend_flags(now.fillers != before.fillers, len(graph))
        stale[source[stale[target]]] = True
        stale |= other
        stale[source[stale[target]]] = True
        for known in self._answers.values():
            known[stale[: len(known)]] = -1


@dataclass(frozen=True)
class GroupedEdges:
    """Role assertions from the members of groups, in columns; ``group`` is the group of the source."""

    source: Ints
    role: Ints
    target: Ints
    group: Ints


class CountedGraph:
    """An element graph with the parts of labels that counting for at-most restrictions reads; it
    grows with the graph.

    labels: gives the label of each element, by number.
    answers: what earlier counts of the graph have found out about single elements.
    """

    def __init__(
        self,
        calculus: NumberedCalculus,
        graph: Graph,
        labels: Callable[[], Ints],
        answers: ElementAnswers | None = None,
    ) -> None:
        self.calculus, self.graph, self.labels = calculus, graph, labels
        self.answers = answers or ElementAnswers()
        self._row = NONE
        self._counted_labels = CountedLabels(NONE, NONE)
        if calculus.space.m_type:
            self.answers.drop_answers(graph, self.counted_labels())

    @cached_property
    def label_bits(self) -> LabelBits:
        """The labels as rows of bits, shared by all counts of the calculus."""
        return self.calculus.make_once(LabelBits)

    def counted_labels(self) -> CountedLabels:
        """Restrict the label of every element to the part that counting for at-most restrictions
        depends on.
        """
        known = len(self._counted_labels.label)
        if known < len(self.graph):
            calculus, label = self.calculus, self.labels()[known:]
            more = [
                calculus.table.restrict_all(label, mask)
                for mask in (calculus.counting_mask, calculus.filler_mask)
            ]
            self._counted_labels = CountedLabels(
                *(np.concatenate(columns) for columns in zip(self._counted_labels, more))
            )
        return self._counted_labels

    def lookup_by_label(self, elements: Ints, by_row: Callable[[], Bools]) -> Bools:
        """Look up the answer of ``by_row`` for each element, by the row of its label in
        `label_bits`.

        ``by_row`` is called last, because labels that the view does not know become rows of it
        first.
        """
        rows = self._label_rows(elements)
        return by_row()[rows]

    def _label_rows(self, elements: Ints) -> Ints:
        """The row in `label_bits` of the label of each element."""
        known = len(self._row)
        if known < len(self.graph):
            self._row = np.concatenate(
                [self._row, self.label_bits.row_indices(self.counted_labels().label[known:])]
            )
        return self._row[elements]


def is_within_bound_alone(counted: CountedGraph, elements: Ints, clause: CompiledClause) -> Bools:
    """Decide whether the bound of ``clause`` certainly holds at each element, if no other element
    becomes equal to it.
    """
    new = elements[counted.answers.lookup(clause, counted.graph)[elements] < 0]
    if len(new):
        full = may_exceed_bound(counted, clause, new, np.arange(len(new)), len(new))
        counted.answers.note_answers(clause, counted.graph, new, full, counted.counted_labels())
    return counted.answers.lookup(clause, counted.graph)[elements] == 0


def may_exceed_bound(
    counted: CountedGraph, clause: CompiledClause, members: Ints, group: Ints, count: int
) -> Bools:
    """Decide whether the bound of ``clause`` may be exceeded over each of ``count`` groups: |∪E| +
    max G > n. ``group[i]`` is the group of ``members[i]``.
    """
    active = is_clause_open(counted, clause, members)
    if not active.any():
        return np.zeros(count, np.bool_)
    is_active = flags(count, group[active])
    chosen = is_active[group]
    members, group, active = members[chosen], group[chosen], active[chosen]
    edges = member_edges(counted, members, group)
    in_e = counted_edges(counted, clause, members[active], edges)
    pair_group, pair_element = distinct_pairs(edges.group[in_e], edges.target[in_e])
    known = np.bincount(pair_group, minlength=count) + own_witnesses(
        counted, clause, members, group, count
    )
    full: Bools = is_active & (known > clause.n)
    taken = {
        atom: potential_witness_groups(counted, atom, members, group, count)
        for atom in counted.label_bits.inverse_needs(clause)
    }
    takers = np.logical_or.reduce([*taken.values()]) if taken else np.zeros(count, np.bool_)
    if taken and takers.any():
        asked = edges_to_potential_parents(counted, taken, edges)
        children = np.bincount(
            group,
            open_witnesses(counted, members, counted.label_bits.at_least_atoms),
            minlength=count,
        ).astype(np.int64)
        asked_group, asked_element = distinct_pairs(edges.group[asked], edges.target[asked])
        more = ~_are_pairs_in(asked_group, asked_element, pair_group, pair_element)
        extra = np.bincount(asked_group[more], minlength=count)
        full |= is_active & takers & (known + children + extra > clause.n)
    return full


def is_clause_open(counted: CountedGraph, clause: CompiledClause, members: Ints) -> Bools:
    """Decide whether the label of each member leaves ``clause`` undecided."""
    return ~counted.lookup_by_label(
        members, lambda: counted.label_bits.is_decided_at_centre(clause)
    )


def member_edges(counted: CountedGraph, members: Ints, group: Ints) -> GroupedEdges:
    """Fetch the role assertions from ``members``, each with the group of its source."""
    graph = counted.graph
    graph.fetch_edges(members)
    source, role, target = graph.edges.half_edges(flags(len(graph), members))
    where = np.zeros(len(graph), np.int64)
    where[members] = group
    return GroupedEdges(source, role, target, where[source])


def counted_edges(
    counted: CountedGraph, clause: CompiledClause, active: Ints, edges: GroupedEdges
) -> Bools:
    """Select the ``edges`` from ``active`` members to E, the neighbours that ``clause`` may count."""
    found = counted.calculus.is_role_in(edges.role, counted.calculus.space.roles_below(clause))
    found = found & flags(len(counted.graph), active)[edges.source]
    found[found] = ~counted.lookup_by_label(
        edges.target[found], lambda: counted.label_bits.has_any_negated(clause.branch_body)
    )
    return found


def own_witnesses(
    counted: CountedGraph, clause: CompiledClause, members: Ints, group: Ints, count: int
) -> Ints:
    """Compute for each group the maximal number of generated witnesses that one member may have
    below the role of ``clause``.
    """
    own = np.zeros(count, np.int64)
    needs = counted.label_bits.needs_below(clause)
    if needs:
        np.maximum.at(own, group, open_witnesses(counted, members, needs))
    return own


def has_own_witness(counted: CountedGraph, clause: CompiledClause, elements: Ints) -> Bools:
    """Decide whether each element, alone in its class, may have a generated witness below the role
    of ``clause``.
    """
    question = ("owns", clause.index)
    new = elements[counted.answers.lookup(question, counted.graph)[elements] < 0]
    if len(new):
        found = own_witnesses(counted, clause, new, np.arange(len(new)), len(new)) > 0
        counted.answers.note_answers(question, counted.graph, new, found, counted.counted_labels())
    return counted.answers.lookup(question, counted.graph)[elements] == 1


def has_need(counted: CountedGraph, need: AtLeast, elements: Ints) -> Bools:
    """Decide whether the label of each element may need a witness for the restriction ``need``."""
    return counted.lookup_by_label(elements, lambda: counted.label_bits.has_need(need))


def open_witnesses(counted: CountedGraph, members: Ints, needs: Sequence[AtLeast]) -> Ints:
    """Sum k over the ``needs`` ≥k R.D of each member for which told neighbours may not be enough."""
    found = np.zeros(len(members), np.int64)
    for need in needs:
        found += need.n * is_unmet(counted, need, members)
    return found


def is_unmet(counted: CountedGraph, need: AtLeast, elements: Ints) -> Bools:
    """Decide whether each element has ``need`` and may take a generated witness: for ≥1 R.D, no
    told neighbour is one.
    """
    found = has_need(counted, need, elements)
    if need.n > 1 or need.is_loop or not found.any():
        return found
    asked = elements[found]
    new = asked[counted.answers.lookup(need, counted.graph)[asked] < 0]
    if len(new):
        counted.answers.note_answers(
            need, counted.graph, new, ~has_witness(counted, need, new), counted.counted_labels()
        )
    found[found] = counted.answers.lookup(need, counted.graph)[asked] == 1
    return found


def has_witness(counted: CountedGraph, need: AtLeast, elements: Ints) -> Bools:
    """Decide whether each element has a told neighbour that is a witness of ``need``."""
    counted.graph.fetch_edges(elements)
    source, role, target = counted.graph.edges.half_edges(flags(len(counted.graph), elements))
    met = counted.calculus.is_role_in(role, counted.calculus.tbox.roles.subroles(need.role))
    if need.filler is not None:
        bit = 1 << counted.calculus.tbox.atom_ids[need.filler]
        met[met] = counted.lookup_by_label(
            target[met], lambda: counted.label_bits.has_any_positive(bit)
        )
    return flags(len(counted.graph), source[met])[elements]


def potential_witness_groups(
    counted: CountedGraph, atom: AtLeast, members: Ints, group: Ints, count: int
) -> Bools:
    """Decide whether each of ``count`` groups has a member that may be a witness of ``atom``."""
    bit = 0 if atom.filler is None else 1 << counted.calculus.tbox.atom_ids[atom.filler]
    return flags(
        count,
        group[~counted.lookup_by_label(members, lambda: counted.label_bits.has_any_negated(bit))],
    )


def edges_to_potential_parents(
    counted: CountedGraph, taken: dict[AtLeast, Bools], edges: GroupedEdges
) -> Bools:
    """Select the ``edges`` to neighbours that could use a group member as witness of an at-least
    restriction.

    Such a neighbour becomes an S-neighbour. ``taken``: by restriction, whether each group has a
    possible witness.
    """
    asked = np.zeros(len(edges.source), np.bool_)
    if not taken:
        return asked
    apart = edges.source != edges.target
    others = unique(edges.target[apart])
    for atom, groups in taken.items():
        unmet = is_unmet(counted, atom, others)
        if unmet.any():
            asked |= groups[edges.group] & flags(len(counted.graph), others[unmet])[edges.target]
    asked &= apart
    return asked


def _are_pairs_in(first: Ints, second: Ints, among_first: Ints, among_second: Ints) -> Bools:
    """Decide whether each pair (first, second) occurs among the given pairs."""
    return is_row_in([first, second], [among_first, among_second])


_NO_ROWS = np.zeros(0, np.bool_)


class LabelBits:
    """Labels as rows of bits over the atoms that counting depends on.

    It answers the questions that `tests.spec.counting` asks of one label for all labels at once,
    and remembers the answers. There is one instance for each calculus.
    """

    def __init__(self, calculus: NumberedCalculus) -> None:
        self.calculus = calculus
        self._column = {atom: i for i, atom in enumerate(bits(calculus.counting_mask))}
        self._row_of_label = LabelMemo()
        self._positive = np.zeros((0, len(self._column)), np.bool_)
        self._negative = np.zeros((0, len(self._column)), np.bool_)
        self._answers_by_row: dict[tuple[str, object], Bools] = {}
        needs = calculus.needs
        self._heads: dict[AtLeast, list[tuple[int, int, int]]] = {}
        for i, body, names in needs.heads:
            self._heads.setdefault(calculus.space.at_least[i], []).append((i, body, names))
        self._atoms: dict[AtLeast, list[int]] = {}
        for i, need in calculus.space.at_least.items():
            self._atoms.setdefault(need, []).append(i)

    def row_indices(self, labels: Ints) -> Ints:
        """The row of each label, by label number; rows for new labels are added."""
        new: list[int] = []

        def add_row(label: int) -> int:
            """Add a row for a new label; return its position."""
            new.append(label)
            return len(self._positive) + len(new) - 1

        found = self._row_of_label.get_or_compute(labels, add_row)
        if new:
            known = self.calculus.table.labels
            self._positive = np.concatenate(
                [self._positive, self._bit_matrix([known[i][0] for i in new])]
            )
            self._negative = np.concatenate(
                [self._negative, self._bit_matrix([known[i][1] for i in new])]
            )
        return found

    def _bit_matrix(self, masks: list[int]) -> Bools:
        """Convert bit masks to a boolean matrix, a row for each mask."""
        size = (max(len(self.calculus.tbox.atoms), *(mask.bit_length() for mask in masks)) + 8) // 8
        data = np.frombuffer(
            b"".join([mask.to_bytes(size, "little") for mask in masks]), np.uint8
        ).reshape(len(masks), size)
        return np.unpackbits(data, axis=1, bitorder="little")[:, list(self._column)].astype(
            np.bool_
        )

    def has_any_positive(self, mask: int) -> Bools:
        """Decide for each row whether the label contains any of the atoms in ``mask``."""
        return self._answer_by_row(
            "told", mask, lambda rows: self._has_any_bit(self._positive[rows], mask)
        )

    def has_any_negated(self, mask: int) -> Bools:
        """Decide for each row whether the label contains the negation of any of the atoms in
        ``mask``.
        """
        return self._answer_by_row(
            "denied", mask, lambda rows: self._has_any_bit(self._negative[rows], mask)
        )

    def _has_any_bit(self, matrix: Bools, mask: int) -> Bools:
        """Decide whether each row of ``matrix`` has a bit of ``mask``."""
        chosen: Bools = matrix[:, [self._column[i] for i in bits(mask)]]
        return np.logical_or.reduce(chosen, axis=1)

    def _answer_by_row(self, kind: str, of: object, answer: Callable[[slice], Bools]) -> Bools:
        """Answer a question about labels for every row, computing only rows that are new;
        (``kind``, ``of``) is the key of the cache.
        """
        known = self._answers_by_row.get((kind, of), _NO_ROWS)
        if len(known) < len(self._positive):
            rows = slice(len(known), len(self._positive))
            known = self._answers_by_row[kind, of] = np.concatenate([known, answer(rows)])
        return known

    def is_decided_at_centre(self, clause: CompiledClause) -> Bools:
        """Decide for each row whether a literal of the label satisfies ``clause`` at its centre."""
        return self._answer_by_row(
            "decided",
            clause.index,
            lambda rows: (
                self.has_any_positive(clause.head)[rows] | self.has_any_negated(clause.body)[rows]
            ),
        )

    def has_need(self, need: AtLeast) -> Bools:
        """Decide for each row whether the label may need a witness for ``need``; see
        `shiq.abox_ops.labels.irrelevance.Needs`.
        """

        def is_needed(rows: slice) -> Bools:
            found = self.has_any_positive(sum(1 << i for i in self._atoms[need]))[rows].copy()
            for _, body, names in self._heads.get(need, ()):
                found |= ~self.has_any_negated(body)[rows] & ~self.has_any_positive(names)[rows]
            return found

        return self._answer_by_row("needs", need, is_needed)

    # --- what does not depend on labels -----------------------------------------------------------

    @cached_property
    def at_least_atoms(self) -> tuple[AtLeast, ...]:
        """The distinct at-least restrictions ≥k R.D of the TBox."""
        return tuple(self._atoms)

    def inverse_needs(self, clause: CompiledClause) -> tuple[AtLeast, ...]:
        """The ≥k R.D with R⁻ ⊑* S, S being the role of ``clause``: the parent of such a witness is
        its S-neighbour.
        """
        return self._split_needs_by_direction(clause)[0]

    def needs_below(self, clause: CompiledClause) -> tuple[AtLeast, ...]:
        """The ≥k R.D with R ⊑* S, S being the role of ``clause``: their witnesses are S-neighbours."""
        return self._split_needs_by_direction(clause)[1]

    @cached_method
    def _split_needs_by_direction(
        self, clause: CompiledClause
    ) -> tuple[tuple[AtLeast, ...], tuple[AtLeast, ...]]:
        """Select the ≥-atoms whose witnesses have their parent as S-neighbour, and those whose
        witnesses are S-neighbours; S is the clause's role.
        """
        below = self.calculus.space.roles_below(clause)
        return (
            tuple(a for a in self.at_least_atoms if a.role.inverse in below),
            tuple(a for a in self.at_least_atoms if a.role in below),
        )

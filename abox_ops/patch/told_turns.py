"""Turns of told⁺: find the elements it brings into I before labels are assumed (THEORY, "The
loop").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shiq.abox_ops.elements.graph import extend_flags, flags
from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    CompiledClause,
    Label,
    LabelCalculus,
    clashes,
    is_refuted,
    is_satisfied,
    label_difference,
)
from shiq.abox_ops.labels.label_numbers import Bools, distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import clause_code
from shiq.columns.arrays import NONE, Ints, is_row_in, unique
from shiq.model.roles import Role
from shiq.support import cached_method

if TYPE_CHECKING:
    from shiq.abox_ops.patch.inside_region import PatchRegion


# A u-type clause that the label of an end in I leaves to the other end, whatever is guessed there,
# and that the certified model does not meet: the border rules would pull the other end in when the
# labels are next made. Doing so at once makes a chain of such elements a matter of told⁺.


def asking_clause(
    space: LabelCalculus,
    role: Role,
    inside: Label,
    outside: Label,
    before: Label | None,
    *,
    all_plain: bool,
) -> CompiledClause | None:
    """Find the first u-type clause on role(a, b), a in the region I and b outside, that told
    literals of a leave open, so that b must enter.

    Args:
            inside: told⁺ of a.
            outside: told_N of b.
            before: told_N of a if the assertion is one of A between unchanged elements, else None.
    """
    for clause, _, here, there in space.clause_ends(role):
        if clause.n or is_satisfied(here, inside) or is_satisfied(there, outside):
            continue
        if (all_plain or is_refuted(here, inside)) and not (
            before is not None and is_refuted(here, before)
        ):
            return clause
    return None


#: In the place of a label: an assertion that is not one of A between elements as they are now.
NEW = -1


class ToldTurns:
    """Search, turn after turn, for the elements outside the region I that told literals require to
    enter it.

    Elements unchanged since their role assertions were last examined are skipped.
    """

    def __init__(self, calculus: NumberedCalculus, *, all_plain: bool) -> None:
        self._calculus, self._all_plain = calculus, all_plain
        self._label = NONE
        self._was_inside = self._was_new = np.zeros(0, np.bool_)

    def take_turn(self, region: PatchRegion) -> tuple[Ints, Ints, Ints]:
        """Find the elements that told literals require to enter the region I now.

        Returns: these elements; and pairs of an element in I and a requested one. Notes the clauses
        as reasons.
        """
        graph = region.graph
        is_new, count = region.is_new, len(graph)
        todo = self._label_column(count) != graph.label
        todo |= (region.is_inside & ~extend_flags(self._was_inside, count)) | (
            is_new & ~extend_flags(self._was_new, count)
        )
        todo &= region.is_active
        self.note_examined(region, todo)
        outside = np.flatnonzero(todo & ~region.is_inside)
        own = outside[is_new[outside] | self._exceeds_model(region, outside)]
        todo &= region.is_inside
        todo[todo] = ~self._calculus.table.clashes(graph.label[todo])
        source, target, codes = self._requested_neighbours(region, todo)
        region.pulled_in.note(target, codes)
        return unique(np.concatenate([own, target])), source, target

    def note_examined(self, region: PatchRegion, looked_at: Bools) -> None:
        """Record that the role assertions of the elements ``looked_at`` (a flag by number) were
        examined in their current state.
        """
        label = self._label_column(len(region.graph))
        label[looked_at] = region.graph.label[looked_at]
        self._label, self._was_inside, self._was_new = (
            label,
            region.is_inside.copy(),
            region.is_new.copy(),
        )

    def _label_column(self, count: int) -> Ints:
        """The label of each element when it was last examined; -1 where it was not."""
        return np.concatenate([self._label, np.full(count - len(self._label), -1, np.int64)])

    def _exceeds_model(self, region: PatchRegion, elements: Ints) -> Bools:
        """Decide whether each element has a told literal in A ∪ A⁺ that its label in the certified
        model lacks.
        """
        keys, inverse = distinct_rows(
            region.graph.label[elements], region.labels.model_label[elements]
        )
        found = [self.exceeds_model(*key) for key in keys]
        return np.array(found, np.bool_)[inverse] if keys else np.zeros(0, np.bool_)

    @cached_method
    def exceeds_model(self, told: int, known: int) -> bool:
        """Decide whether the label ``told`` has a literal that the label ``known`` of the certified
        model lacks; both by id.

        If every element is plain, a clash that A has already does not count.
        """
        calculus = self._calculus
        label, certified = calculus.table.labels[told], calculus.table.labels[known]
        is_clash = clashes(label) and not (self._all_plain and clashes(certified))
        more = label_difference(calculus.space.drop_data_literals(label), certified)
        return is_clash or more != EMPTY

    def _requested_neighbours(self, region: PatchRegion, centres: Bools) -> tuple[Ints, Ints, Ints]:
        """Find the role assertions from ``centres``, in the region I, whose other end must enter
        it: both ends, and the reason code.
        """
        graph = region.graph
        source, role, target = graph.edges.half_edges(centres)
        out = ~region.is_inside[target]
        source, role, target = source[out], role[out], target[out]
        reduced = self._calculus.role_propagation.reduce_labels
        here, there = (
            reduced(role, graph.label[source]),
            reduced(role ^ 1, region.labels.model_label[target]),
        )
        before = np.full(len(source), NEW, np.int64)
        asks = self._codes_of(role, here, before, there) > 0
        source, role, target, here, there = (
            source[asks],
            role[asks],
            target[asks],
            here[asks],
            there[asks],
        )
        if not len(source):
            return NONE, NONE, NONE
        old = (
            flags(len(graph), source)[graph.edges.columns["source"]]
            & ~graph.edges.columns["inserted"]
        )
        stood = is_row_in(
            [source, role, target],
            [graph.edges.columns[name][old] for name in ("source", "role", "target")],
        )
        stood &= ~region.is_new[source] & ~region.is_new[target]
        before = np.where(stood, reduced(role, region.labels.model_label[source]), NEW)
        codes = self._codes_of(role, here, before, there)
        asks = codes > 0
        return source[asks], target[asks], codes[asks]

    def _codes_of(self, role: Ints, here: Ints, before: Ints, there: Ints) -> Ints:
        """The code of the clause that brings in the far end, for each role assertion, given by role
        and labels.
        """
        keys, inverse = distinct_rows(role, here, before, there)
        return np.array([self.asking_code(*key) for key in keys], np.int64)[inverse]

    @cached_method
    def asking_code(self, role: int, inside: int, before: int, outside: int) -> int:
        """The code of the clause that requires the far end of a role assertion to enter the region
        I; 0 if there is none.

        Arguments are numbers of the arguments of `asking_clause`.
        """
        calculus = self._calculus
        labels = calculus.table.labels
        stood = None if before == NEW else labels[before]
        clause = asking_clause(
            calculus.space,
            calculus.roles[role],
            labels[inside],
            labels[outside],
            stood,
            all_plain=self._all_plain,
        )
        return 0 if clause is None else clause_code(clause)

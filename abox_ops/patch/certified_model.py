"""The certified model N in columns (THEORY, "Outside completion"; `tests.spec.certified_model`).

The model label of an element is its told label completed by a guess, which depends on that label
alone. Only the exceptions are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shiq.abox_ops.elements.base import FRESH, StoredSnapshot
from shiq.abox_ops.elements.quotient import StoredPartition, regroup_after_deletion
from shiq.abox_ops.index.index import Index
from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.abox_ops.labels.label_guesses import LabelGuesses
from shiq.abox_ops.labels.label_numbers import Bools, apply_to_distinct
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.columns.arrays import Ints, Table, insertion_points, replace_rows, set_difference, unique


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """The certified model N of a base, by element: model labels, merge classes, and modules of the
    certificate.

    is_guessed: whether it says more than told.
    exceptional_labels: table (element, label) of the model labels that are not the completed told
        label.
    classes: the merge classes of the model. modules: elements by module of the certificate.
    label_of: gives the label of each number in ``exceptional_labels``. completions: guesses over
        these labels.
    """

    is_guessed: bool
    exceptional_labels: Table
    classes: StoredPartition
    modules: StoredPartition
    label_of: Callable[[int], Label]
    completions: LabelGuesses

    def model_labels(
        self, calculus: NumberedCalculus, keys: Ints, told: Ints, absent: int = 0
    ) -> Ints:
        """Compute the closed labels of elements in the certified model (told_N), given their keys
        and told labels.

        ``absent``: names that T and A do not have, which are false.

        Individuals that are not in the base get the label that holds of every individual.
        """
        table = calculus.table
        nothing: Label = (0, absent)

        def completed_number(label: Label) -> int:
            """The number of a label closed with the absent names as false."""
            closed = calculus.space.close(label)
            return table.id(calculus.space.close((closed[0], closed[1] | absent)))

        found = apply_to_distinct(
            told, lambda i: completed_number(self.complete_label(table.labels[i]))
        )
        found[keys >= FRESH] = table.id(calculus.space.close(nothing if absent else EMPTY))
        old = (keys < FRESH).nonzero()[0]
        if len(self.exceptional_labels) and len(old):
            rows = self.exceptional_labels.rows_of(keys[old])
            label = apply_to_distinct(rows["label"], lambda i: completed_number(self.label_of(i)))
            at = insertion_points(rows["element"], keys[old])
            here = at < len(rows["element"])
            here[here] = rows["element"][at[here]] == keys[old][here]
            found[old[here]] = label[at[here]]
        return found

    def after_deletion(self, before: Index, after: Index, vanished: Ints) -> CertifiedModel:
        """Adapt the certified model to A without deletions (THEORY, "N in a store, and its
        renewal").

        Each remaining part of an element keeps its label. The parts of one element share their
        merge class and their module.

        Args:
                before, after: the indexes.
                vanished: the individuals that nothing mentions any more.
        """
        lost = unique(before.equality.group_of(after.detached_nodes))
        left = unique(after.equality.group_of(set_difference(after.detached_nodes, vanished)))
        origin = before.equality.group_of(left)
        label = self.model_labels(before.calculus, origin, before.labels.label_of(origin))
        return replace(
            self,
            exceptional_labels=replace_rows(
                self.exceptional_labels,
                np.concatenate([lost, left]),
                {"element": left, "label": label},
            ),
            classes=regroup_after_deletion(self.classes, lost, left, origin),
            modules=regroup_after_deletion(self.modules, lost, left, origin),
        )

    def complete_label(self, label: Label) -> Label:
        """Complete a told ``label`` by guesses for the names that it leaves undecided."""
        return self.completions.guess_model_label(label) if self.is_guessed else label

    def are_in_different_modules(self, first: Ints, second: Ints) -> Bools:
        """Decide whether the two elements of each pair are in different modules of the certificate,
        and so different in the model.
        """
        if not self.is_guessed:
            return np.zeros(len(first), np.bool_)
        old = (first < FRESH) & (second < FRESH)
        return old & (self.modules.group_of(first) != self.modules.group_of(second))


def read_stored_model(index: Index, store: StoredSnapshot) -> CertifiedModel | None:
    """Read the certified model from ``store``, with the label ids of its ``index``; None if there
    is none.
    """
    if not store.is_completed or not isinstance(index.labels.table, type(store.table("elements"))):
        return None
    calculus = index.calculus
    return CertifiedModel(
        True,
        store.table("completed"),
        StoredPartition(store.table("outside"), store.table("outside_members")),
        StoredPartition(store.table("certified"), store.table("certified_members")),
        calculus.table.labels.__getitem__,
        calculus.label_guesses,
    )

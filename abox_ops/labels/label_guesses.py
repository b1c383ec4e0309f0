"""Guess the undetermined literals of an element from its label alone, for a candidate model
(THEORY, "Outside completion").

Guesses are not entailed. Names are taken for false as far as unit propagation allows, original ones
before fresh ones. What that makes true is added, ≥-atoms included. Propagation covers the local
clauses and what the witness of a ≥-atom sends back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shiq.abox_ops.labels.label_calculus import Label, LabelCalculus, clashes, join
from shiq.model.clause import AtLeast
from shiq.support import bits, cached_method

#: How deep witnesses of witnesses are looked at.
DEPTH = 2


@dataclass
class LabelGuesses:
    """Guesses of complete labels for a candidate model, by the label calculus; cached."""

    space: LabelCalculus

    def __post_init__(self) -> None:
        tbox = self.space.tbox
        original = [
            i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a not in tbox.fresh
        ]
        fresh = [i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a in tbox.fresh]
        self._groups = (NameHalves(original), NameHalves(fresh))
        self._needs = sum(1 << i for i in self.space.at_least)
        self._masks = {
            i: self.space.atoms_at_subject(need.role) for i, need in self.space.at_least.items()
        }
        self._close_memo: dict[tuple[Label, int], Label] = {}
        self._send_memo: dict[tuple[int, int, int, int], Label] = {}

    @cached_method
    def guess_model_label(self, label: Label, triggers: int = 0) -> Label:
        """Complete ``label`` with a guess for every name, as far as unit propagation allows. Atoms
        in ``triggers`` are tried as true first.

        The result contains the closed ``label``, and clashes only if that does.
        """
        closed = self.space.close(label)
        label = self._close_with_witnesses(label, DEPTH)
        if clashes(label):
            return closed
        for bit in bits(triggers & ~label[1]):
            grown = self._extend_with_witnesses(label, (1 << bit, 0), DEPTH)
            if not clashes(grown):
                label = grown
        for group in self._groups:
            label = self._falsify_names(label, group)
        return label

    def _falsify_names(self, label: Label, names: NameHalves) -> Label:
        """Add the negations of as many of ``names`` as possible; a name that cannot be false
        becomes true.

        The names are halved where they cannot all be false, so that a few exceptions cost little.
        """
        mask = names.mask & ~(label[0] | label[1])
        if not mask:
            return label
        grown = self._extend_with_witnesses(label, (0, mask), DEPTH)
        if not clashes(grown):
            return grown
        if names.halves is None:
            grown = self._extend_with_witnesses(label, (mask, 0), DEPTH)
            return label if clashes(grown) else grown
        first, second = names.halves
        return self._falsify_names(self._falsify_names(label, first), second)

    def _close_with_witnesses(self, label: Label, depth: int) -> Label:
        """Close ``label`` under unit propagation and what witnesses of its ≥-atoms send back."""
        key = (label, depth)
        found = self._close_memo.get(key)
        if found is None:
            found = self._close_memo[key] = self._add_sent_back(self.space.close(label), depth)
        return found

    def _extend_with_witnesses(self, closed: Label, more: Label, depth: int) -> Label:
        """Close a ``closed`` label with ``more`` literals under unit propagation and what witnesses
        of its ≥-atoms send back.
        """
        key = (join(closed, more), depth)
        found = self._close_memo.get(key)
        if found is None:
            found = self._close_memo[key] = self._add_sent_back(
                self.space.extend_to_clash(closed, more), depth
            )
        return found

    def _add_sent_back(self, label: Label, depth: int) -> Label:
        """Add the literals that witnesses of the label's ≥-atoms send back, and close again, until
        nothing changes or a clash.

        Stops because every round adds a literal of finitely many.
        """
        while depth and not clashes(label):
            positive, negative = label
            for i in bits(label[0] & self._needs):
                sent = self._sent_back_by_witness(i, label, depth)
                positive |= sent[0]
                negative |= sent[1]
            if (positive, negative) == label:
                break
            label = self.space.extend_to_clash(label, (positive, negative))
        return label

    def _sent_back_by_witness(self, i: int, label: Label, depth: int) -> Label:
        """Compute the literals that a witness of the ≥-atom ``i`` sends to an element with
        ``label``; a clash if no witness is possible.
        """
        mask = self._masks[i]
        positive, negative = label[0] & mask, label[1] & mask
        key = (i, positive, negative, depth)
        found = self._send_memo.get(key)
        if found is None:
            found = self._send_memo[key] = self._label_after_witness(
                self.space.at_least[i], (positive, negative), depth
            )
        return found

    def _label_after_witness(self, need: AtLeast, label: Label, depth: int) -> Label:
        """Close the label of an element together with that of a witness of ``need``, exchanging
        literals until nothing changes.
        """
        witness = self._close_with_witnesses(
            (0 if need.filler is None else 1 << self.space.tbox.atom_ids[need.filler], 0), depth - 1
        )
        while True:
            sent = self.space.send(need.role, label, witness)
            told = self._extend_with_witnesses(witness, sent.object, depth - 1)
            if clashes(told):
                return self.space.clash
            if told == witness:
                return sent.subject
            witness = told


@dataclass(frozen=True)
class NameHalves:
    """Binary tree over class names, to find by halving the names that cannot be false. Masks and
    halves are made on demand.
    """

    positions: list[int]

    @cached_property
    def mask(self) -> int:
        """Bitmask of the atoms."""
        return sum(1 << i for i in self.positions)

    @cached_property
    def halves(self) -> tuple[NameHalves, NameHalves] | None:
        """First and second half; None for a single atom."""
        middle = len(self.positions) // 2
        return (
            (NameHalves(self.positions[:middle]), NameHalves(self.positions[middle:]))
            if middle
            else None
        )

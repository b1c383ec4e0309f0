"""Completion of a label: a guess at the other literals of an element, by its label alone (THEORY,
"Outside completion").

Guesses are not entailed. Names are taken for false as far as unit propagation allows, original ones
before fresh ones. What that makes true is added, ≥-atoms included. Propagation covers the local
clauses and what the witness of a ≥-atom sends back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shiq.abox_ops.labels.label_calculus import Label, LabelCalculus, clashes, join
from shiq.model.clause import AtLeast
from shiq.model.roles import Role
from shiq.support import bits

#: How deep witnesses of witnesses are looked at.
DEPTH = 2


@dataclass
class Completions:
    """Guessed labels of one label calculus, memoised."""

    space: LabelCalculus

    def __post_init__(self) -> None:
        tbox = self.space.tbox
        original = [
            i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a not in tbox.fresh
        ]
        fresh = [i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a in tbox.fresh]
        self._groups = (NameHalves(original), NameHalves(fresh))
        self._needs = sum(1 << i for i in self.space.at_least)
        self._masks = {i: self._mask(need.role) for i, need in self.space.at_least.items()}
        self._guess_memo: dict[tuple[Label, int], Label] = {}
        self._close_memo: dict[tuple[Label, int], Label] = {}
        self._send_memo: dict[tuple[int, int, int, int], Label] = {}

    def guess_model_label(self, label: Label, triggers: int = 0) -> Label:
        """Complete ``label`` with a guess for every name, as far as unit propagation allows. Atoms
        in ``triggers`` are tried as true first.

        The result contains the closed ``label``, and clashes only if that does.
        """
        key = (label, triggers)
        found = self._guess_memo.get(key)
        if found is None:
            found = self._guess_memo[key] = self._complete(label, triggers)
        return found

    def _complete(self, label: Label, triggers: int) -> Label:
        closed = self.space.close(label)
        label = self._close(label, DEPTH)
        if clashes(label):
            return closed
        for bit in bits(triggers & ~label[1]):
            grown = self._extend(label, (1 << bit, 0), DEPTH)
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
        grown = self._extend(label, (0, mask), DEPTH)
        if not clashes(grown):
            return grown
        if names.halves is None:
            grown = self._extend(label, (mask, 0), DEPTH)
            return label if clashes(grown) else grown
        first, second = names.halves
        return self._falsify_names(self._falsify_names(label, first), second)

    def _close(self, label: Label, depth: int) -> Label:
        """``label`` under unit propagation, with what witnesses of its ≥-atoms send back."""
        key = (label, depth)
        found = self._close_memo.get(key)
        if found is None:
            found = self._close_memo[key] = self._with_witnesses(self.space.close(label), depth)
        return found

    def _extend(self, closed: Label, more: Label, depth: int) -> Label:
        """The same for a label ``closed`` so already, with ``more``."""
        key = (join(closed, more), depth)
        found = self._close_memo.get(key)
        if found is None:
            found = self._close_memo[key] = self._with_witnesses(
                self.space.extend_to_clash(closed, more), depth
            )
        return found

    def _with_witnesses(self, label: Label, depth: int) -> Label:
        """The closed ``label`` with what witnesses of its ≥-atoms send back, closed again, as
        far as there is no clash.

        Stops because every round adds a literal of finitely many.
        """
        while depth and not clashes(label):
            positive, negative = label
            for i in bits(label[0] & self._needs):
                sent = self._sent_back(i, label, depth)
                positive |= sent[0]
                negative |= sent[1]
            if (positive, negative) == label:
                break
            label = self.space.extend_to_clash(label, (positive, negative))
        return label

    def _sent_back(self, i: int, label: Label, depth: int) -> Label:
        """The literals that a witness of the ≥-atom ``i`` sends to an element with ``label``; a
        clash if there can be no witness.
        """
        mask = self._masks[i]
        positive, negative = label[0] & mask, label[1] & mask
        key = (i, positive, negative, depth)
        found = self._send_memo.get(key)
        if found is None:
            found = self._send_memo[key] = self._from_witness(
                self.space.at_least[i], (positive, negative), depth
            )
        return found

    def _mask(self, role: Role) -> int:
        """The atoms that the clauses on a role assertion speak of at its first end."""
        found = 0
        for c in self.space.clauses_of(role):
            found |= c.body | c.head
        for c in self.space.clauses_of(role.inverse):
            found |= c.branch_body | c.branch_head
        return found

    def _from_witness(self, need: AtLeast, label: Label, depth: int) -> Label:
        witness = self._close(
            (0 if need.filler is None else 1 << self.space.tbox.atom_ids[need.filler], 0), depth - 1
        )
        while True:
            sent = self.space.send(need.role, label, witness)
            told = self._extend(witness, sent.object, depth - 1)
            if clashes(told):
                return self.space.clash
            if told == witness:
                return sent.subject
            witness = told


@dataclass(frozen=True)
class NameHalves:
    """Binary tree over atoms: their positions and, if there are several, the two halves. Halves and
    masks are made on demand.
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

"""Completing a label: a guess at which other literals hold at an element, by its label alone (THEORY.md 3.1).

Nothing that is guessed is entailed. Names are taken for false as far as unit propagation allows, original ones before fresh ones;
what that makes true, ≥-atoms included, is taken over. Propagation goes over the local clauses and over what the witness of a
≥-atom, itself closed so, sends back.
"""

from __future__ import annotations

from dataclasses import dataclass

from abox_ops.told import Label, LabelSpace, bits, clashes, join
from shiq.clause import AtLeast
from shiq.roles import Role

#: How deep witnesses of witnesses are looked at.
DEPTH = 2


@dataclass
class Completions:
    """Completed labels of one label calculus, memoised."""

    space: LabelSpace

    def __post_init__(self) -> None:
        tbox = self.space.tbox
        original = [i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a not in tbox.fresh]
        fresh = [i for i, a in enumerate(tbox.atoms) if isinstance(a, str) and a in tbox.fresh]
        self._groups = (original, fresh)
        self._completed: dict[tuple[Label, int], Label] = {}
        self._closed: dict[tuple[Label, int], Label] = {}
        self._sent: dict[tuple[AtLeast, Label, int], Label] = {}
        self._masks: dict[Role, int] = {}

    def of(self, label: Label, triggers: int = 0) -> Label:
        """``label`` with a guess for every name that unit propagation can live with; the atoms in ``triggers`` are tried as
        true first. Contains the closed ``label``; does not clash unless that does."""
        key = (label, triggers)
        found = self._completed.get(key)
        if found is None:
            found = self._completed[key] = self._complete(label, triggers)
        return found

    def _complete(self, label: Label, triggers: int) -> Label:
        closed = self.space.close(label)
        label = self._close(label, DEPTH)
        if clashes(label):
            return closed
        for bit in bits(triggers & ~label[1]):
            grown = self._grown(label, (1 << bit, 0), DEPTH)
            if not clashes(grown):
                label = grown
        for group in self._groups:
            label = self._without(label, group)
        return label

    def _without(self, label: Label, names: list[int]) -> Label:
        """``label`` with as many of ``names`` false as go; a name that cannot be false is true.

        Halves the names where not all of them go at once, so that a few exceptions cost little.
        """
        mask = sum(1 << i for i in names if not (label[0] | label[1]) >> i & 1)
        if not mask:
            return label
        grown = self._grown(label, (0, mask), DEPTH)
        if not clashes(grown):
            return grown
        if len(names) == 1:
            grown = self._grown(label, (mask, 0), DEPTH)
            return label if clashes(grown) else grown
        middle = len(names) // 2
        return self._without(self._without(label, names[:middle]), names[middle:])

    def _close(self, label: Label, depth: int) -> Label:
        """``label`` under unit propagation, with what witnesses of its ≥-atoms send back."""
        key = (label, depth)
        found = self._closed.get(key)
        if found is None:
            found = self._closed[key] = self._with_witnesses(self.space.close(label), depth)
        return found

    def _grown(self, closed: Label, more: Label, depth: int) -> Label:
        """The same for a label ``closed`` so already, with ``more``."""
        key = (join(closed, more), depth)
        found = self._closed.get(key)
        if found is None:
            found = self._closed[key] = self._with_witnesses(self.space.grown(closed, more), depth)
        return found

    def _with_witnesses(self, label: Label, depth: int) -> Label:
        """The closed ``label`` with what witnesses of its ≥-atoms send back, closed again.

        Stops because every round adds a literal of finitely many.
        """
        while depth and not clashes(label):
            grown = label
            for i, need in self.space.at_least.items():
                if label[0] >> i & 1:
                    grown = join(grown, self._sent_back(need, label, depth))
            if grown == label:
                break
            label = self.space.grown(label, grown)
        return label

    def _sent_back(self, need: AtLeast, label: Label, depth: int) -> Label:
        """What a witness of ``need`` sends to an element with ``label``; a clash if there can be none."""
        mask = self._mask(need.role)
        label = (label[0] & mask, label[1] & mask)
        key = (need, label, depth)
        found = self._sent.get(key)
        if found is None:
            found = self._sent[key] = self._from_witness(need, label, depth)
        return found

    def _mask(self, role: Role) -> int:
        """The atoms that the clauses on a role assertion speak of at its first end."""
        found = self._masks.get(role)
        if found is None:
            found = 0
            for c in self.space.clauses_of(role):
                found |= c.body | c.head
            for c in self.space.clauses_of(role.inverse):
                found |= c.branch_body | c.branch_head
            self._masks[role] = found
        return found

    def _from_witness(self, need: AtLeast, label: Label, depth: int) -> Label:
        witness = self._close((0 if need.filler is None else 1 << self.space.tbox.atom_ids[need.filler], 0), depth - 1)
        while True:
            sent = self.space.sent(need.role, label, witness)
            told = self._grown(witness, sent.object, depth - 1)
            if clashes(told):
                return self.space.clash
            if told == witness:
                return sent.subject
            witness = told

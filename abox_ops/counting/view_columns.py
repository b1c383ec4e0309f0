"""Labels as rows of bits, of the atoms that counting depends on."""

from __future__ import annotations

import numpy as np

from abox_ops.labels.calculus import CompiledClause
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools, LabelMemo
from shiq.bits import bits
from shiq.clause import AtLeast
from shiq.columns.arrays import Ints


class CountingView:
    """Labels as rows of bits, of the atoms that counting depends on: what `abox_ops.counting.reference` asks of one label, asked
    of all."""

    def __init__(self, calculus: Calculus) -> None:
        self.calculus = calculus
        self._column = {atom: i for i, atom in enumerate(bits(calculus.counting_bits))}
        self._of = LabelMemo()
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
        new: list[int] = []

        def row(label: int) -> int:
            new.append(label)
            return len(self._positive) + len(new) - 1

        found = self._of.of(labels, row)
        if new:
            known = self.calculus.table.labels
            self._positive = np.concatenate([self._positive, self._matrix([known[i][0] for i in new])])
            self._negative = np.concatenate([self._negative, self._matrix([known[i][1] for i in new])])
            self._known.clear()
        return found

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

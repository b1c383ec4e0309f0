"""Labels as rows of bits, of the atoms that counting depends on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from shiq.abox_ops.labels.calculus import CompiledClause
from shiq.abox_ops.labels.numbered import Bools, LabelMemo
from shiq.abox_ops.labels.numbered_calculus import Calculus
from shiq.bits import bits
from shiq.columns.arrays import Ints
from shiq.model.clause import AtLeast

_NO_ROWS = np.zeros(0, np.bool_)


class CountingView:
    """Labels as rows of bits, of the atoms that counting depends on: what
    `tests.spec.counting` asks of one label, asked of all, and remembered: there is one
    for a calculus.
    """

    def __init__(self, calculus: Calculus) -> None:
        self.calculus = calculus
        self._column = {atom: i for i, atom in enumerate(bits(calculus.counting_bits))}
        self._of = LabelMemo()
        self._positive = np.zeros((0, len(self._column)), np.bool_)
        self._negative = np.zeros((0, len(self._column)), np.bool_)
        self._known: dict[tuple[str, object], Bools] = {}
        self._sides: dict[int, tuple[tuple[AtLeast, ...], tuple[AtLeast, ...]]] = {}
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
            self._positive = np.concatenate(
                [self._positive, self._matrix([known[i][0] for i in new])]
            )
            self._negative = np.concatenate(
                [self._negative, self._matrix([known[i][1] for i in new])]
            )
        return found

    def _matrix(self, masks: list[int]) -> Bools:
        size = (max(len(self.calculus.tbox.atoms), *(mask.bit_length() for mask in masks)) + 8) // 8
        data = np.frombuffer(
            b"".join([mask.to_bytes(size, "little") for mask in masks]), np.uint8
        ).reshape(len(masks), size)
        found: Bools = np.unpackbits(data, axis=1, bitorder="little")[:, list(self._column)].astype(
            np.bool_
        )
        return found

    def told(self, mask: int) -> Bools:
        """Whether any of the atoms is told, by row."""
        return self._by_row("told", mask, lambda rows: self._any(self._positive[rows], mask))

    def denied(self, mask: int) -> Bools:
        """Whether any of the atoms is told to be false, by row."""
        return self._by_row("denied", mask, lambda rows: self._any(self._negative[rows], mask))

    def _any(self, matrix: Bools, mask: int) -> Bools:
        chosen: Bools = matrix[:, [self._column[i] for i in bits(mask)]]
        found: Bools = np.logical_or.reduce(chosen, axis=1)
        return found

    def _by_row(self, kind: str, of: object, answer: Callable[[slice], Bools]) -> Bools:
        """What ``answer`` says of each row, asked of each once."""
        known = self._known.get((kind, of), _NO_ROWS)
        if len(known) < len(self._positive):
            rows = slice(len(known), len(self._positive))
            known = self._known[kind, of] = np.concatenate([known, answer(rows)])
        return known

    def decided_at_centre(self, clause: CompiledClause) -> Bools:
        """What `CompiledClause.decided_at_centre` says, by row."""
        return self._by_row(
            "decided",
            clause.index,
            lambda rows: self.told(clause.head)[rows] | self.denied(clause.body)[rows],
        )

    def needs(self, need: AtLeast) -> Bools:
        """Whether `tests.spec.counting.Needs.needed` has ``need``, by row."""

        def needed(rows: slice) -> Bools:
            found = self.told(sum(1 << i for i in self._atoms[need]))[rows].copy()
            for _, body, names in self._heads.get(need, ()):
                found |= ~self.denied(body)[rows] & ~self.told(names)[rows]
            return found

        return self._by_row("needs", need, needed)

    # --- what does not depend on labels -----------------------------------------------------------

    @cached_property
    def at_least(self) -> tuple[AtLeast, ...]:
        """The ≥k R.D, each once."""
        return tuple(self._atoms)

    def takers(self, clause: CompiledClause) -> tuple[AtLeast, ...]:
        """The ≥k R.D of which a witness is an S-neighbour of whoever ``clause`` is about, by R⁻
        ⊑* S.
        """
        return self._among(clause)[0]

    def givers(self, clause: CompiledClause) -> tuple[AtLeast, ...]:
        """The ≥k R.D with R ⊑* S, S being the role of ``clause``."""
        return self._among(clause)[1]

    def _among(self, clause: CompiledClause) -> tuple[tuple[AtLeast, ...], tuple[AtLeast, ...]]:
        found = self._sides.get(clause.index)
        if found is None:
            below = self.calculus.below(clause)
            found = self._sides[clause.index] = (
                tuple(a for a in self.at_least if a.role.inverse in below),
                tuple(a for a in self.at_least if a.role in below),
            )
        return found

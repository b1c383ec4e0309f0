"""One module, loaded once and asked many times: which literals follow at its individuals
(THEORY, "Entailment").

What follows without a choice is found once. Each question assumes something beside it, as a
first choice point for which nothing else is tried, and is taken back afterwards. A model that is
found for one question answers all others that it denies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from shiq.bits import bits
from shiq.reasoner.hypertableau.rules import ADD
from shiq.reasoner.hypertableau.search import Search
from shiq.reasoner.hypertableau.state import TableauClash
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module

#: (node, atom, whether it holds).
Literal: TypeAlias = tuple[int, int, bool]
#: Atoms by node, as bitmasks.
Atoms: TypeAlias = dict[int, int]


class UndecidedDataError(Exception):
    """A question that the datatype layer leaves open; the argument says of what."""


class Questions(Search):
    """``steps`` are for each question. Where these or the time are used up a call raises
    `OutOfBudget`, and no further one makes sense; `UndecidedDataError` where data is opaque.
    """

    def __init__(self, tables: Tables, module: Module, steps: int, deadline: float | None) -> None:
        super().__init__(tables, module, steps, deadline)
        self._steps = steps
        self._into: dict[int, tuple[int, int]] = {}
        #: Of the atoms that `entailed` was asked about, those of the first model.
        self.held: Atoms = {}

    def merge(self, x: int, y: int, rest: int) -> None:
        target, source = (x, y) if x < y else (y, x)
        super().merge(x, y, rest)
        self.write(self._into, source, (target, rest))

    def begin(self) -> bool:
        """Loads the module, with all that follows without a choice; False where that contradicts."""
        try:
            self.load()
            while True:
                self.saturate()
                if self.pending or not self.expand():
                    return True
        except TableauClash:
            return False

    def place(self, x: int) -> tuple[int, int]:
        """The node that x has become, and what that rests on."""
        rest = 0
        while x in self._into:
            x, more = self._into[x]
            rest |= more
        return x, rest

    def asked(self, literals: Iterable[Literal], see: Callable[[], None] = lambda: None) -> bool:
        """Whether the module is consistent with ``literals``. ``see`` is called while a model of
        them stands.
        """
        self.saturate()
        nodes, self.opaque = len(self.pos), ""
        self.limit, self.checkpoint = self.steps + self._steps, 0
        bit, self.assumed = 1 << self.inputs, 1
        self.choices.append((0, nodes, (ADD, -1, -1), (-1, -1, -1)))
        try:
            for x, atom, holds in literals:
                (self.add if holds else self.deny)(self.place(x)[0], atom, bit)
            found = self.search()
            if found:
                see()
        except TableauClash:
            found = False
        self.undo(0, nodes)
        self.choices.clear()
        self.assumed = 0
        if not found and self.opaque:
            raise UndecidedDataError(self.opaque)
        return found

    def holding(self, x: int, atoms: int) -> tuple[int, int]:
        """The ``atoms`` that hold at x in the present state, and those of them that rest on no
        choice.
        """
        node, rest = self.place(x)
        holds, certain = self.pos[node] & atoms, 0
        for at, merged in ((x, 0), (node, rest)):
            if not merged:
                for a in bits(self.pos[at] & atoms):
                    if not self.pos_rest.get(at * self.width + a, 0):
                        certain |= 1 << a
        return holds, certain

    def met(self) -> None:
        """Called while the first model stands, that of no question."""

    def entailed(self, wanted: Mapping[int, int]) -> Atoms | None:
        """The ``wanted`` atoms (names) that follow at each node; None where the module is
        inconsistent.
        """
        if not self.begin():
            return None
        found: Atoms = {}
        doubtful: Atoms = {}

        def first() -> None:
            for x, atoms in wanted.items():
                self.held[x], found[x] = self.holding(x, atoms)
                doubtful[x] = self.held[x] & ~found[x]
            self.met()

        def further() -> None:
            for x, atoms in doubtful.items():
                doubtful[x] = self.holding(x, atoms)[0]

        if not self.asked((), first):
            return None
        if any(doubtful.values()):
            # Often nothing of it follows, and one model shows that.
            self.asked(
                [(x, a, False) for x, atoms in doubtful.items() for a in bits(atoms)], further
            )
        for x in wanted:
            while doubtful[x]:
                atom = (doubtful[x] & -doubtful[x]).bit_length() - 1
                if self.asked([(x, atom, False)], further):
                    continue
                found[x] |= 1 << atom
                doubtful[x] &= ~(1 << atom)
                self.add(self.place(x)[0], atom, 0)
        return found

"""Many questions about one module that is loaded once: the literals that follow at its individuals
(THEORY, "Entailment").

Consequences without a choice are derived once. Each question adds an assumption, as a first choice
point without alternatives, and is undone afterwards. A model found for one question answers all
others that it denies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from shiq.reasoner.hypertableau.rules import Search, load, saturate
from shiq.reasoner.hypertableau.search import expand, find_model, undo
from shiq.reasoner.hypertableau.state import ADD, State, TableauClash
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.support import bits

#: (node, atom, whether it holds).
Literal: TypeAlias = tuple[int, int, bool]
#: Atoms by node, as bitmasks.
Atoms: TypeAlias = dict[int, int]


class UndecidedDataError(Exception):
    """The datatype layer cannot decide a question; the argument is the reason."""


def atoms_at(state: State, x: int, atoms: int) -> tuple[int, int]:
    """Find the ``atoms`` that hold at x in the present state, and those of them that depend on no
    choice.
    """
    node, merged_by = state.place(x)
    holds, certain = state.pos[node] & atoms, 0
    for at, depends_on in ((x, 0), (node, merged_by)):
        if not depends_on:
            for a in bits(state.pos[at] & atoms):
                if not state.dependencies.names.get(at * state.width + a, 0):
                    certain |= 1 << a
    return holds, certain


class ModuleSession:
    """A module that is loaded once and asked many questions.

    steps: for each question. Where these or the time are used up a call raises `OutOfBudget`, and
        no further one makes sense; `UndecidedDataError` where data is opaque.
    number: how many were asked. first_model: of the atoms that `find_entailed` was asked about,
        those of the first model.
    """

    def __init__(self, tables: Tables, module: Module, steps: int, deadline: float | None) -> None:
        self.search = Search(tables, module, steps, deadline)
        self.steps = steps
        self.number = 0
        self.first_model: Atoms = {}

    def begin(self) -> bool:
        """Load the module, with all that follows without a choice; False where that contradicts."""
        try:
            load(self.search)
            while True:
                saturate(self.search)
                if self.search.agenda.pending or not expand(self.search):
                    return True
        except TableauClash:
            return False

    def ask(self, literals: Iterable[Literal], observe: Callable[[], None] | None = None) -> bool:
        """Decide whether the module is consistent with ``literals``. ``observe`` is called while
        a model of them stands.
        """
        self.number += 1
        search, state = self.search, self.search.state
        saturate(search)
        nodes, search.opaque = len(state.pos), ""
        search.limit, search.checkpoint = search.steps + self.steps, 0
        bit, search.assumed = 1 << state.dependencies.inputs, 1
        state.trail.choices.append((0, nodes, (ADD, -1, -1), (-1, -1, -1)))
        try:
            for x, atom, holds in literals:
                (state.add if holds else state.deny)(state.place(x)[0], atom, bit)
            found = find_model(search)
            if found and observe is not None:
                observe()
        except TableauClash:
            found = False
        undo(search, 0, nodes)
        state.trail.choices.clear()
        search.assumed = 0
        if not found and search.opaque:
            raise UndecidedDataError(search.opaque)
        return found

    def find_entailed(
        self, wanted: Mapping[int, int], observe: Callable[[], None] | None = None
    ) -> Atoms | None:
        """Find the ``wanted`` atoms (names) that follow at each node; None where the module is
        inconsistent. ``observe`` is called while the first model stands, that of no question.
        """
        if not self.begin():
            return None
        state = self.search.state
        found: Atoms = {}
        doubtful: Atoms = {}

        def note_first() -> None:
            """Note the atoms that hold in the first model."""
            for x, atoms in wanted.items():
                self.first_model[x], found[x] = atoms_at(state, x, atoms)
                doubtful[x] = self.first_model[x] & ~found[x]
            if observe is not None:
                observe()

        def note_further() -> None:
            """Note the doubtful atoms that hold in a further model too."""
            for x, atoms in doubtful.items():
                doubtful[x] = atoms_at(state, x, atoms)[0]

        if not self.ask((), note_first):
            return None
        if any(doubtful.values()):
            # Often nothing of it follows, and one model shows that.
            denied = [(x, a, False) for x, atoms in doubtful.items() for a in bits(atoms)]
            self.ask(denied, note_further)
        for x in wanted:
            while doubtful[x]:
                atom = (doubtful[x] & -doubtful[x]).bit_length() - 1
                if self.ask([(x, atom, False)], note_further):
                    continue
                found[x] |= 1 << atom
                doubtful[x] &= ~(1 << atom)
                state.add(state.place(x)[0], atom, 0)
        return found

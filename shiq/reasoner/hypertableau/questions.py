"""Many questions about one module that is loaded once: the literals that follow at its individuals
(THEORY, "Entailment").

Consequences without a choice are derived once. Each question adds an assumption, as a first choice
point without alternatives, and is undone afterwards. A model found for one question answers all
others that it denies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from shiq.reasoner.hypertableau.rules import TableauSearch, load_assertions, saturate
from shiq.reasoner.hypertableau.search import expand_needs, find_model, undo_to
from shiq.reasoner.hypertableau.state import ADD, TableauClash, TableauState
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.support import bits

#: (node, atom, whether it holds).
Literal: TypeAlias = tuple[int, int, bool]
#: Atoms by node, as bitmasks.
Atoms: TypeAlias = dict[int, int]


class UndecidedDataError(Exception):
    """Error: the datatype reasoner cannot decide a question; the argument is the reason."""


def read_atoms(state: TableauState, x: int, atoms: int) -> tuple[int, int]:
    """Return which ``atoms`` hold at node x in the present state, and which of these depend on no
    choice, as masks.
    """
    node, merged_by = state.resolve_merged(x)
    holds, certain = state.pos[node] & atoms, 0
    for at, depends_on in ((x, 0), (node, merged_by)):
        if not depends_on:
            for a in bits(state.pos[at] & atoms):
                if not state.dependencies.names.get(at * state.width + a, 0):
                    certain |= 1 << a
    return holds, certain


class ModuleSession:
    """A module that is loaded into a tableau once, for many questions about its consistency with
    further literals.

    steps: limit for each question. When these or the time are used up, a call raises `OutOfBudget`,
    and no further one makes sense; `UndecidedDataError` where data is opaque.
    number: how many questions were asked.
    first_model: of the atoms that `find_entailed` was asked about, those that hold in the first
    model.
    """

    def __init__(self, tables: Tables, module: Module, steps: int, deadline: float | None) -> None:
        self.search = TableauSearch(tables, module, steps, deadline)
        self.steps = steps
        self.number = 0
        self.first_model: Atoms = {}

    def load(self) -> bool:
        """Load the module and derive what follows without a choice; False if that is a
        contradiction.
        """
        try:
            load_assertions(self.search)
            while True:
                saturate(self.search)
                if self.search.agenda.pending or not expand_needs(self.search):
                    return True
        except TableauClash:
            return False

    def is_consistent_with(
        self, literals: Iterable[Literal], observe: Callable[[], None] | None = None
    ) -> bool:
        """Decide whether the module is consistent with ``literals``. ``observe`` is called while a
        pre-model of them stands.
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
                (state.add_atom if holds else state.deny_atom)(
                    state.resolve_merged(x)[0], atom, bit
                )
            found = find_model(search)
            if found and observe is not None:
                observe()
        except TableauClash:
            found = False
        undo_to(search, 0, nodes)
        state.trail.choices.clear()
        search.assumed = 0
        if not found and search.opaque:
            raise UndecidedDataError(search.opaque)
        return found

    def find_entailed(
        self, wanted: Mapping[int, int], observe: Callable[[], None] | None = None
    ) -> Atoms | None:
        """Find which of the ``wanted`` atoms are entailed at each node: node → mask. None if the
        module is inconsistent.

        observe: called while the first pre-model stands.
        """
        if not self.load():
            return None
        state = self.search.state
        found: Atoms = {}
        doubtful: Atoms = {}

        def note_first() -> None:
            """Note the atoms that hold in the first model."""
            for x, atoms in wanted.items():
                self.first_model[x], found[x] = read_atoms(state, x, atoms)
                doubtful[x] = self.first_model[x] & ~found[x]
            if observe is not None:
                observe()

        def note_further() -> None:
            """Note the doubtful atoms that hold in a further model too."""
            for x, atoms in doubtful.items():
                doubtful[x] = read_atoms(state, x, atoms)[0]

        if not self.is_consistent_with((), note_first):
            return None
        if any(doubtful.values()):
            # Often nothing of it follows, and one model shows that.
            denied = [(x, a, False) for x, atoms in doubtful.items() for a in bits(atoms)]
            self.is_consistent_with(denied, note_further)
        for x in wanted:
            while doubtful[x]:
                atom = (doubtful[x] & -doubtful[x]).bit_length() - 1
                if self.is_consistent_with([(x, atom, False)], note_further):
                    continue
                found[x] |= 1 << atom
                doubtful[x] &= ~(1 << atom)
                state.add_atom(state.resolve_merged(x)[0], atom, 0)
        return found

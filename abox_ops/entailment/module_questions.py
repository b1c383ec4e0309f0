"""Find the consequences in one module: by the own tableau, or question by question if that does not
end (THEORY, "Entailment").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.reasoner.hypertableau.questions import Atoms, ModuleSession, UndecidedDataError
from shiq.reasoner.hypertableau.rules import OutOfBudget
from shiq.reasoner.hypertableau.state import TableauState
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.support import bits


class OpenQuestion(Exception):
    """Signal: a question stayed undecided; the argument is the reason."""


class Contradiction(Exception):
    """Signal: a module is inconsistent."""


@dataclass(frozen=True)
class AskedRole:
    """A role that questions are about.

    ends: the atoms D_R and N_R, which contradict where the role leads (`AskedVocabulary`).
    is_visible: whether the edges of a model show everywhere that the role may lead.
    """

    role: Role
    is_simple: bool
    is_visible: bool
    ends: tuple[int, int]


#: A role (by its place among those asked about), and two nodes.
NodePair: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class ModuleAnswer:
    """Consequences found in one module.

    types: by node, the entailed atoms.
    pairs: the entailed role pairs.
    model_types: by node, the atoms of one model.
    """

    types: Atoms
    pairs: frozenset[NodePair]
    model_types: Atoms


class ModuleQuestions:
    """Questions about the consequences of modules, over one TBox at a time.

    ``steps``, and ``steps_per_node`` for each individual: the budget of one question.
    """

    def __init__(
        self, reasoners: Reasoners, steps: int = 20_000, steps_per_node: int = 200
    ) -> None:
        self._reasoners = reasoners
        self._steps, self._steps_per_node = steps, steps_per_node
        self._tables: Tables | None = None

    def answer(
        self,
        tbox: ClausalTBox,
        module: Module,
        wanted: Mapping[int, int],
        roles: Sequence[AskedRole] = (),
        deadline: float | None = None,
    ) -> ModuleAnswer:
        """Find the ``wanted`` names that follow at each node, and the ``roles`` that lead from one
        of these nodes to another.

        wanted: by node, a bitmask of atoms. Raises: Contradiction, OpenQuestion.
        """
        if self._tables is None or self._tables.tbox is not tbox:
            self._tables = Tables(tbox)
        limit = self._steps + self._steps_per_node * len(module.positive)
        questions = ModuleSession(self._tables, module, limit, deadline)
        candidates: list[NodePair] = []

        def note_candidates() -> None:
            """Note the pairs of the standing model as candidates."""
            candidates.extend(candidate_pairs(questions.search.state, roles, wanted))

        try:
            types = questions.find_entailed(wanted, note_candidates)
            if types is None:
                raise Contradiction
            pairs = {
                (i, a, b) for i, a, b in candidates if is_pair_entailed(questions, roles[i], a, b)
            }
            return ModuleAnswer(types, frozenset(pairs), questions.first_model)
        except (OutOfBudget, UndecidedDataError):
            return self._ask_one_by_one(tbox, module, wanted, roles, deadline)
        finally:
            self._reasoners.question_count += max(1, questions.number)

    def _ask_one_by_one(
        self,
        tbox: ClausalTBox,
        module: Module,
        wanted: Mapping[int, int],
        roles: Sequence[AskedRole],
        deadline: float | None,
    ) -> ModuleAnswer:
        """Answer by one module for each denied consequence, for any reasoner that can decide
        modules.
        """
        if self._is_refuted(tbox, module, deadline):
            raise Contradiction
        types = {
            x: sum(
                1 << a
                for a in bits(atoms)
                if self._is_refuted(tbox, add_literals(module, (x, a, False)), deadline)
            )
            for x, atoms in wanted.items()
        }
        pairs = {
            (i, a, b)
            for (i, asked), a, b in product(enumerate(roles), wanted, wanted)
            if self._is_refuted(tbox, add_literals(module, *denial_of_pair(asked, a, b)), deadline)
        }
        return ModuleAnswer(types, frozenset(pairs), types)

    def _is_refuted(self, tbox: ClausalTBox, module: Module, deadline: float | None) -> bool:
        """Decide whether a module is inconsistent. Raises: OpenQuestion."""
        [answer] = self._reasoners.decide(tbox, [module], deadline)
        if answer.verdict is Verdict.UNDETERMINED:
            raise OpenQuestion(answer.reason)
        return answer.verdict is Verdict.INCONSISTENT


def candidate_pairs(
    state: TableauState, roles: Sequence[AskedRole], nodes: Iterable[int]
) -> list[NodePair]:
    """Select the pairs of ``nodes`` that ``roles`` may link: those linked in one model, which
    ``state`` holds.
    """
    at: dict[int, list[int]] = {}
    for x in nodes:
        at.setdefault(state.resolve_merged(x)[0], []).append(x)
    found: list[NodePair] = []
    for i, asked in enumerate(roles):
        bit = 1 << state.tables.roles.role_code(asked.role)
        for node, starts in at.items():
            reached = {*at}
            if asked.is_visible:
                reached = _nodes_by_role(state, node, bit, is_simple=asked.is_simple)
            found += [(i, a, b) for other in reached for a in starts for b in at.get(other, ())]
    return found


def _nodes_by_role(state: TableauState, node: int, bit: int, *, is_simple: bool) -> set[int]:
    """Find the nodes that a role may lead to in a model; by any number of edges if the role is not
    simple.
    """
    found = {y for y, roles in state.near[node].items() if roles & bit}
    waiting = [] if is_simple else list(found)
    while waiting:
        fresh = {y for y, roles in state.near[waiting.pop()].items() if roles & bit} - found
        found |= fresh
        waiting += fresh
    return found


def is_pair_entailed(questions: ModuleSession, asked: AskedRole, first: int, second: int) -> bool:
    """Decide whether the role links the first node to the second in every model."""
    state = questions.search.state
    roles = state.near[state.resolve_merged(first)[0]].get(state.resolve_merged(second)[0], 0)
    if roles & 1 << state.tables.roles.role_code(asked.role):
        return True
    return not questions.is_consistent_with(denial_of_pair(asked, first, second))


def denial_of_pair(
    asked: AskedRole, first: int, second: int
) -> tuple[tuple[int, int, bool], tuple[int, int, bool]]:
    """Make the literals at both ends that contradict if and only if the role links ``first`` to
    ``second``.
    """
    return (first, asked.ends[0], True), (second, asked.ends[1], True)


def add_literals(module: Module, *literals: tuple[int, int, bool]) -> Module:
    """Copy ``module`` with further literals (node, atom, is positive)."""
    positive, negative = list(module.positive), list(module.negative)
    for x, atom, holds in literals:
        (positive if holds else negative)[x] |= 1 << atom
    return replace(module, positive=tuple(positive), negative=tuple(negative))

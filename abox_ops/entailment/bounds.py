"""What follows in a module: by our own tableau, and question by question where that does not end
(THEORY, "Entailment").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from abox_ops.entailment.reasoners import Reasoners
from shiq.bits import bits
from shiq.clause import ClausalTBox
from shiq.reasoner.hypertableau.questions import Atoms, Literal, Questions, UndecidedDataError
from shiq.reasoner.hypertableau.rules import OutOfBudget
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.roles import Role
from shiq.verdict import Verdict


class OpenQuestion(Exception):
    """Something is not decided; the argument says why."""


class Contradiction(Exception):
    """A module is inconsistent."""


@dataclass(frozen=True)
class AskedRole:
    """A role that is asked about; ``ends``: the atoms D_R and N_R, which contradict where it
    leads (`AskedVocabulary`). If it is not ``is_seen``, the edges of a model do not say where it
    may lead.
    """

    role: Role
    is_simple: bool
    is_seen: bool
    ends: tuple[int, int]


#: A role (by its place among those asked about), and two nodes.
NodePair: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class ModuleAnswer:
    """``types``: by node, the atoms that follow; ``pairs``: which roles lead where; ``held``: by
    node, the atoms of one model.
    """

    types: Atoms
    pairs: frozenset[NodePair]
    held: Atoms


class ModuleQuestions:
    """Asks about modules over one TBox at a time. ``steps``, and ``steps_per_node`` for each
    individual, are for one question.
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
        """Which of the ``wanted`` names follow at each node, and which ``roles`` lead from one
        of these nodes to another. Raises: Contradiction, OpenQuestion.
        """
        if self._tables is None or self._tables.tbox is not tbox:
            self._tables = Tables(tbox)
        limit = self._steps + self._steps_per_node * len(module.positive)
        questions = PairQuestions(self._tables, module, limit, deadline, roles, tuple(wanted))
        try:
            types = questions.entailed(wanted)
            if types is None:
                raise Contradiction
            return ModuleAnswer(
                types, frozenset(filter(questions.leads, questions.candidates)), questions.held
            )
        except (OutOfBudget, UndecidedDataError):
            return self._one_by_one(tbox, module, wanted, roles, deadline)
        finally:
            self._reasoners.asked += max(1, questions.number)

    def _one_by_one(
        self,
        tbox: ClausalTBox,
        module: Module,
        wanted: Mapping[int, int],
        roles: Sequence[AskedRole],
        deadline: float | None,
    ) -> ModuleAnswer:
        """The same, each denial a module of its own, for whoever can decide it."""
        if self._is_refuted(tbox, module, deadline):
            raise Contradiction
        types = {
            x: sum(
                1 << a
                for a in bits(atoms)
                if self._is_refuted(tbox, with_literals(module, (x, a, False)), deadline)
            )
            for x, atoms in wanted.items()
        }
        pairs = {
            (i, a, b)
            for (i, asked), a, b in product(enumerate(roles), wanted, wanted)
            if self._is_refuted(tbox, with_literals(module, *both_ends(asked, a, b)), deadline)
        }
        return ModuleAnswer(types, frozenset(pairs), types)

    def _is_refuted(self, tbox: ClausalTBox, module: Module, deadline: float | None) -> bool:
        [answer] = self._reasoners.decide(tbox, [module], deadline)
        if answer.verdict is Verdict.UNDETERMINED:
            raise OpenQuestion(answer.reason)
        return answer.verdict is Verdict.INCONSISTENT


class PairQuestions(Questions):
    """Questions about ``roles`` between ``nodes`` too: after `entailed`, ``candidates`` are the
    pairs that one model has.
    """

    def __init__(
        self,
        tables: Tables,
        module: Module,
        steps: int,
        deadline: float | None,
        roles: Sequence[AskedRole],
        nodes: Sequence[int],
    ) -> None:
        super().__init__(tables, module, steps, deadline)
        self._asked_roles, self._nodes = roles, nodes
        self.candidates: list[NodePair] = []
        #: How many were asked.
        self.number = 0

    def asked(self, literals: Iterable[Literal], see: Callable[[], None] = lambda: None) -> bool:
        self.number += 1
        return super().asked(literals, see)

    def met(self) -> None:
        """Takes the pairs of the model that stands."""
        at: dict[int, list[int]] = {}
        for x in self._nodes:
            at.setdefault(self.place(x)[0], []).append(x)
        for i, asked in enumerate(self._asked_roles):
            bit = 1 << self.tables.role(asked.role)
            for node, starts in at.items():
                reached = (
                    self._led_to(node, bit, is_simple=asked.is_simple) if asked.is_seen else {*at}
                )
                self.candidates += [
                    (i, a, b) for other in reached for a in starts for b in at.get(other, ())
                ]

    def _led_to(self, node: int, bit: int, *, is_simple: bool) -> set[int]:
        """The nodes that a role of a model may lead to: a role that is not simple, by any number
        of edges.
        """
        found = {y for y, roles in self.near[node].items() if roles & bit}
        waiting = [] if is_simple else list(found)
        while waiting:
            fresh = {y for y, roles in self.near[waiting.pop()].items() if roles & bit} - found
            found |= fresh
            waiting += fresh
        return found

    def leads(self, pair: NodePair) -> bool:
        """Whether the role leads from the first node to the second in every model."""
        i, first, second = pair
        asked = self._asked_roles[i]
        roles = self.near[self.place(first)[0]].get(self.place(second)[0], 0)
        return bool(roles & 1 << self.tables.role(asked.role)) or not self.asked(
            both_ends(asked, first, second)
        )


def both_ends(
    asked: AskedRole, first: int, second: int
) -> tuple[tuple[int, int, bool], tuple[int, int, bool]]:
    """What contradicts iff the role leads from ``first`` to ``second``."""
    return (first, asked.ends[0], True), (second, asked.ends[1], True)


def with_literals(module: Module, *literals: tuple[int, int, bool]) -> Module:
    """``module`` with more literals at its nodes."""
    positive, negative = list(module.positive), list(module.negative)
    for x, atom, holds in literals:
        (positive if holds else negative)[x] |= 1 << atom
    return replace(module, positive=tuple(positive), negative=tuple(negative))

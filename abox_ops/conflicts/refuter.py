"""Ask whether a set of assertions contradicts the TBox, or some of its axioms, within budgets of
time and questions.

What explaining conflicts asks again and again, within the time and the number of questions that
one conflict has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from shiq import model as owl
from shiq.abox_ops.conflicts.derivation import has_told_clash
from shiq.abox_ops.conflicts.minimal_subsets import (
    HARD_SECONDS,
    SMALL,
    QuestionBudget,
    minimal_sublist,
)
from shiq.abox_ops.elements.normal_assertions import atom_names, collect_definitions, normalise
from shiq.abox_ops.engine import Decide
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import LabelCalculus
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.modules.from_scratch import ScratchQuestion
from shiq.answers.verdict import Verdict
from shiq.model.axioms import READ_BY_FORM
from shiq.model.clause import ClausalTBox
from shiq.model.roles import role_box
from shiq.reasoner.protocol import Answer, Module
from shiq.simplify import simplify
from shiq.simplify.desugar import ROLE_AXIOMS

V = TypeVar("V")
T = TypeVar("T")
#: Answers for modules, in order, within so many seconds.
DecideInTime: TypeAlias = Callable[..., Sequence[Answer]]


@dataclass
class Refuter:
    """Oracle for the inconsistency of assertions with axioms. An undetermined answer counts as
    consistent and is noted.

    tbox: the TBox as given, before it is simplified.
    deadline: `time.monotonic` after which every answer is consistent and in doubt.
    in_doubt: whether something counted as consistent that was not decided.
    conflict_deadline: the same as ``deadline`` for the conflict that is made minimal just now.
    budget: the questions that may still be asked about that conflict.
    """

    tbox: owl.TBox
    decider: Decider
    deadline: float | None = None
    in_doubt: bool = False
    conflict_deadline: float | None = None
    budget: QuestionBudget = field(default_factory=QuestionBudget)
    _view: DataRestrictions | None = None

    # --- doubt and time ---------------------------------------------------------------------------

    def isolate_doubt(self, question: Callable[[], T]) -> tuple[T, bool]:
        """Ask ``question``; return its answer and whether that answer rests on something undecided.
        The field ``in_doubt`` stays as it was.
        """
        before, self.in_doubt = self.in_doubt, False
        try:
            return question(), self.in_doubt
        finally:
            self.in_doubt = before

    def is_out_of_time(self) -> bool:
        """Decide whether the time for all conflicts, or for the current one, is over."""
        ends = [end for end in (self.deadline, self.conflict_deadline) if end is not None]
        return bool(ends) and time.monotonic() > min(ends)

    def exceeds_budget(self, assertions: Sequence[owl.Assertion]) -> bool:
        """Decide whether a question about ``assertions`` exceeds the time or the budget of one
        conflict; note the doubt.
        """
        if self.is_out_of_time() or self.budget.is_exceeded_by(len(assertions)):
            self.in_doubt = True
            return True
        return False

    def minimal_sublist(self, items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
        """Find a minimal sublist of ``items`` for which ``holds`` is true; try again where an
        answer was undecided.
        """
        before, self.in_doubt = self.in_doubt, False
        kept = minimal_sublist(items, holds)
        if self.in_doubt and not self.is_out_of_time() and not self.budget.is_empty:
            self.in_doubt = False
            for i in range(len(kept)):
                holds(kept[:i] + kept[i + 1 :])
        self.in_doubt = self.in_doubt or before
        return kept

    # --- under the clauses of a TBox --------------------------------------------------------------

    def data_restrictions(self, tbox: ClausalTBox) -> DataRestrictions:
        """The data restrictions of ``tbox``; the last one is cached."""
        space = self.decider.label_calculus(tbox)
        if self._view is None or self._view.space is not space:
            self._view = DataRestrictions(space)
        return self._view

    def has_told_clash(self, tbox: ClausalTBox, assertions: Iterable[owl.Assertion]) -> bool:
        """Whether told literals alone show that (T, ``assertions``) is inconsistent."""
        return has_told_clash(self.data_restrictions(tbox), assertions)

    def is_inconsistent(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> bool:
        """Whether (T, ``assertions``) is inconsistent; False where time or budget have run out."""
        if self.exceeds_budget(assertions):
            return False
        is_told_first = (
            self.budget.is_told_first if self.budget.is_counted else len(assertions) > SMALL
        )
        if is_told_first and self.has_told_clash(tbox, assertions):
            return True
        question = ScratchQuestion.over_clauses(tbox, assertions)
        return bool(question.contradictory) or self._are_refuted(
            self._answer_modules(question, self.decider.decide, self._attempt_modules),
            self.data_restrictions(tbox),
            assertions,
        )

    def is_quickly_refuted(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> bool:
        """Decide by told literals, or by the own reasoner within a small budget, whether (T,
        ``assertions``) is inconsistent.
        """
        if self.is_out_of_time():
            return False
        question = ScratchQuestion.over_clauses(tbox, assertions)
        return bool(question.contradictory) or any(
            a.verdict is Verdict.INCONSISTENT
            for a in self._attempt_modules(tbox, question.unnamed_modules)
        )

    def used_axioms(
        self, tbox: ClausalTBox, assertions: list[owl.Assertion]
    ) -> set[owl.Axiom] | None:
        """The axioms behind the clauses that a refutation used, with the role axioms; None if
        they are not known.
        """
        question = ScratchQuestion.over_clauses(tbox, assertions)
        for answer in self._answer_modules(question, self.decider.decide, self._attempt_modules):
            if answer.verdict is Verdict.INCONSISTENT:
                if answer.used_clauses is None:
                    return None
                found = {a for a in tbox.axioms if is_about_roles(a)}
                found |= {
                    tbox.axioms[i] for c in answer.used_clauses for i in tbox.clauses[c].origins
                }
                return found
        return set()

    # --- under some axioms ------------------------------------------------------------------------

    def is_refuted_by(self, axioms: Sequence[owl.Axiom], assertions: list[owl.Assertion]) -> bool:
        """Whether ``axioms`` alone contradict ``assertions``. Asked of many small TBoxes, so
        nothing is cached.
        """
        if self.exceeds_budget(assertions):
            return False
        roles = role_box(axioms)
        plain = [p for a in assertions for p in normalise(a, roles).assertions]
        extra: list[owl.SubClassOf | owl.Class] = [
            *collect_definitions(assertions, roles),
            *map(owl.Class, atom_names(plain)),
        ]
        tbox = simplify(owl.TBox(tuple(axioms)), extra).clauses
        data = DataRestrictions(LabelCalculus(tbox))
        if self.budget.is_told_first and has_told_clash(data, assertions):
            return True
        question = ScratchQuestion.over_clauses(tbox, assertions)
        before = self.in_doubt
        refuted = bool(question.contradictory) or self._are_refuted(
            self._answer_modules(question, self.decider.reasoner.decide, self.decider.attempt_once),
            data,
            assertions,
        )
        if not refuted and READ_BY_FORM in self.tbox.axioms[-1:] and READ_BY_FORM not in axioms:
            self.in_doubt = before  # what is open without that decision rests on it
        return refuted

    # --- answers ----------------------------------------------------------------------------------

    def _attempt_modules(self, tbox: ClausalTBox, modules: Sequence[Module]) -> Sequence[Answer]:
        """Decide modules within a small budget; answers about large modules are not cached, since
        they hardly recur.
        """
        is_small = all(len(module.positive) <= SMALL for module in modules)
        return (self.decider.attempt if is_small else self.decider.attempt_once)(tbox, modules)

    def _answer_modules(
        self, question: ScratchQuestion, decide: DecideInTime, attempt: Decide
    ) -> Sequence[Answer]:
        """Decide the modules of ``question`` by ``decide``, or by the cheaper ``attempt`` while
        questions are counted.

        ``attempt`` counts if it decides every module, or if no harder question is allowed.
        """
        tbox, modules = question.tbox, question.unnamed_modules
        if not self.budget.is_counted:
            return decide(tbox, modules)
        answers = attempt(tbox, modules)
        verdicts = {answer.verdict for answer in answers}
        if (
            Verdict.INCONSISTENT in verdicts
            or Verdict.UNDETERMINED not in verdicts
            or not self.budget.may_ask_hard()
        ):
            return answers
        return decide(tbox, modules, HARD_SECONDS)

    def _are_refuted(
        self, answers: Sequence[Answer], data: DataRestrictions, assertions: Sequence[owl.Assertion]
    ) -> bool:
        """Decide whether the answers about the modules of ``assertions`` refute them; where these
        are undetermined, told literals are tried.
        """
        verdicts = {answer.verdict for answer in answers}
        if Verdict.INCONSISTENT in verdicts:
            return True
        if Verdict.UNDETERMINED in verdicts:
            self.budget.charge_undecided()
            if has_told_clash(data, assertions):
                return True
            self.in_doubt = True
        return False


def is_about_roles(axiom: owl.Axiom) -> bool:
    """Decide whether an axiom relates properties only. Clauses do not record such axioms as their
    origins.
    """
    return isinstance(axiom, ROLE_AXIOMS | owl.DatatypeDefinition | owl.ReflexiveObjectProperty)

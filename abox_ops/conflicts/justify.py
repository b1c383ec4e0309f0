"""Reasons of one conflict: the part of the base, and the axioms, without which its insertions
contradict nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias, TypeVar

from abox_ops.conflicts.budget import HARD_SECONDS, QuestionBudget
from abox_ops.conflicts.derivation import has_told_clash
from abox_ops.conflicts.raw_conflict import RawConflict
from abox_ops.conflicts.shrink import SMALL, connected, shrink
from abox_ops.conflicts.told_cores import HiddenCores
from abox_ops.elements.normal import atom_names, definitions, normalise
from abox_ops.elements.reference import ElementGraph
from abox_ops.engine import AddSet, Decide
from abox_ops.labels.calculus import LabelSpace
from abox_ops.labels.data import DataView
from abox_ops.modules.components import modules
from abox_ops.modules.decide import Decider, KnownReasons
from abox_ops.modules.from_scratch import closure_of_all
from shiq import model as owl
from shiq.abox import ABox, abox_of
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory
from shiq.explanation.canonical import canonical_rows, rows_of
from shiq.explanation.parsed import line_of
from shiq.explanation.proof import prove
from shiq.model.axioms import READ_BY_FORM
from shiq.ntriples import assertion_lines
from shiq.reasoner.protocol import Answer, Module
from shiq.roles import role_box
from shiq.signature import parts
from shiq.verdict import Verdict
from simplify import simplify
from simplify.desugar import ROLE_AXIOMS
from simplify.locality import relevant

V = TypeVar("V")
#: Seconds for making what stands behind the insertions of one conflict minimal.
PATIENCE = 60.0
#: Forms of conflicts with more rows are not compared up to the names of individuals.
LONG = 60
#: Checks a part of the batch: the add set, and its contradictory or inconsistent groups of
#: individuals.
Checker = Callable[[ABox], tuple[AddSet, list[tuple[str, ...]]]]
#: Answers for modules, in order, within so many seconds.
DecideInTime: TypeAlias = Callable[..., Sequence[Answer]]


@dataclass
class Justifier:
    """What stands behind one set of insertions: a minimal part of the base, and the axioms; with
    the state of explaining a batch.

    ``tbox`` is the TBox as given; ``check`` decides (T, A ∪ X) for X ⊆ A⁺ incrementally.

    ``limit``: how many conflicts at most; ``deadline``: `time.monotonic` by which to stop
    looking for more. What was left is in ``unexplained`` (groups known to be inconsistent) and
    ``complete`` (whether every minimal conflict was found). ``unsure`` is set where something
    was taken to be consistent that was not decided. ``patience``: seconds for making the base
    and the axioms of one conflict minimal; what is left by then is given as it is, and marked.
    Insertions are not bounded by it: who is blamed does not depend on the machine's speed.
    ``above`` gives what checks on top of a part of the batch that was accepted, where that is
    cheaper.
    """

    tbox: owl.TBox
    decider: Decider
    check: Checker
    limit: int = 1000
    deadline: float | None = None
    progress: Callable[[str, int, int], None] | None = None
    patience: float = field(default_factory=lambda: PATIENCE)
    above: Callable[[AddSet], Checker | None] = lambda _: None
    found: dict[frozenset[owl.Assertion], RawConflict] = field(default_factory=dict)
    unexplained: int = 0
    complete: bool = True
    unsure: bool = False
    _doubtful: set[frozenset[owl.Assertion]] = field(default_factory=set)
    _unsure_axioms: KnownReasons = field(default_factory=dict)
    _patient_until: float | None = None
    _budget: QuestionBudget = field(default_factory=QuestionBudget)
    _view: DataView | None = None
    _by_signature: dict[frozenset[object], list[owl.Axiom]] = field(default_factory=dict)
    _hidden: HiddenCores = field(default_factory=HiddenCores)

    @cached_property
    def is_base_consistent(self) -> bool:
        """Whether (T, A) is consistent for certain."""
        before, self.unsure = self.unsure, False
        _, groups = self.check(abox_of(()))
        found, self.unsure = not groups and not self.unsure, before
        return found

    def _data(self, tbox: ClausalTBox) -> DataView:
        """The data restrictions of ``tbox`` with its label space, remembered like that."""
        space = self.decider.space(tbox)
        if self._view is None or self._view.space is not space:
            self._view = DataView(space)
        return self._view

    def _justified(
        self, tbox: ClausalTBox, insertions: frozenset[owl.Assertion], base: list[owl.Assertion]
    ) -> RawConflict:
        self.unsure = insertions in self._doubtful
        self._patient_until = time.monotonic() + self.patience
        try:
            return self._with_its_reasons(tbox, insertions, base)
        finally:
            self._patient_until = None
            self._budget.end()

    def _with_its_reasons(
        self, tbox: ClausalTBox, insertions: frozenset[owl.Assertion], base: list[owl.Assertion]
    ) -> RawConflict:
        fixed = sorted(insertions, key=repr)
        is_told = has_told_clash(self._data(tbox), [*fixed, *base])
        self._budget.begin(is_told=is_told)
        # What hangs together with no insertion is consistent, as A is.
        near = (
            partial(connected, fixed) if fixed and self.is_base_consistent else list[owl.Assertion]
        )

        def is_enough(part: list[owl.Assertion]) -> bool:
            self.unsure = self.unsure or self._budget.is_empty
            return not self._budget.is_empty and self._refutes(tbox, [*fixed, *near(part)])

        needed = self._shrunk(base, is_enough)
        assertions = [*fixed, *needed]
        self._budget.begin(is_told=is_told)
        axioms = self._axioms(tbox, assertions)
        return RawConflict(tuple(fixed), tuple(needed), tuple(axioms), not self.unsure)

    def _axioms(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> list[owl.Axiom]:
        """A minimal set of axioms that contradicts ``assertions``. Conflicts that differ only in
        individuals share it; where they may differ in literals that the axioms tell apart, that
        is verified.
        """
        rows, terms = rows_of(
            [line for a in assertions for text in assertion_lines(a) if (line := line_of(text))]
        )
        # Long ones come once each.
        form = canonical_rows(rows)[0] if len(rows) <= LONG else tuple(rows)
        reasons = self.decider.reasons(self.tbox)
        known, is_sure = reasons.get(form) or self._unsure_axioms.get(form) or (None, False)
        if known is not None and not (
            any(t.startswith('"') for t in terms) and _may_tell_apart(known, assertions)
        ):
            self.unsure = self.unsure or not is_sure
            return known
        if known is not None and is_sure and self._is_minimal(known, assertions):
            return known
        named = frozenset(
            part
            for part in parts(tuple(assertions))
            if isinstance(part, owl.Class | owl.ObjectProperty | owl.DataProperty)
        )
        guess = self._by_signature.get(named)
        candidates = (
            guess
            if guess and self._refutes_with(guess, assertions)
            else self._candidates(tbox, assertions)
        )
        found = self._shrunk(candidates, lambda part: self._refutes_with(part, assertions))
        # What there was no time to make minimal is looked at again for the next batch.
        (self._unsure_axioms if self.unsure else reasons)[form] = found, not self.unsure
        self._by_signature[named] = found
        return found

    def _candidates(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> list[owl.Axiom]:
        """Axioms that contradict ``assertions``, not many more than it takes."""
        used = self._used(tbox, assertions)
        candidates = [a for a in self.tbox.axioms if a in used] if used else []
        without_roles = [a for a in candidates if not _is_about_roles(a)]
        # Clauses do not tell which axioms about roles they rest on; mostly it is none.
        if len(without_roles) < len(candidates) and self._refutes_with(without_roles, assertions):
            candidates = without_roles
        elif not candidates or not self._refutes_with(candidates, assertions):
            candidates = relevant(self.tbox.axioms, assertions)
        # A proof is a good guess, which makes what follows ten times as fast. It is verified like
        # any other; where there is no time for that, it is what is told, as not shown to be
        # minimal.
        proof, before = prove(assertions, candidates, (0,)), self.unsure
        if proof is not None and (
            self._refutes_with(proof.axioms, assertions) or self._is_too_much(assertions)
        ):
            return list(proof.axioms)
        self.unsure = before
        return candidates

    def _is_minimal(self, axioms: list[owl.Axiom], assertions: list[owl.Assertion]) -> bool:
        """Whether ``axioms`` contradict ``assertions``, and none can be left out."""
        return self._refutes_with(axioms, assertions) and not any(
            self._refutes_with(axioms[:i] + axioms[i + 1 :], assertions) for i in range(len(axioms))
        )

    def _shrunk(self, items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
        """`shrink`; where it met something undecided, what came out is looked at once more."""
        before, self.unsure = self.unsure, False
        kept = shrink(items, holds)
        if self.unsure and not self._is_over() and not self._budget.is_empty:
            self.unsure = False
            for i in range(len(kept)):
                holds(kept[:i] + kept[i + 1 :])
        self.unsure = self.unsure or before
        return kept

    def _modules(
        self, tbox: ClausalTBox, assertions: Iterable[owl.Assertion]
    ) -> tuple[bool, list[Module]]:
        graph = ElementGraph(tbox)
        for assertion in assertions:
            for plain in normalise(assertion, tbox.roles).assertions:
                graph.add(plain)
        closure = closure_of_all(tbox, DataTheory(tbox.definitions, tbox.roles), graph)
        return bool(closure.contradictory), [m.module for m in modules(closure.kept)]

    def _refutes(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> bool:
        """Whether (T, ``assertions``) is inconsistent; an undetermined answer is not, and none
        is given when time has run out.
        """
        if self._is_too_much(assertions):
            return False
        is_counted = self._budget.is_counted
        if (
            self._budget.is_told_first if is_counted else len(assertions) > SMALL
        ) and has_told_clash(self._data(tbox), assertions):
            return True
        contradictory, parts = self._modules(tbox, assertions)
        answers = (
            () if contradictory else self._answers(tbox, parts, self.decider.decide, self._attempts)
        )
        return contradictory or self._refuted(answers, self._data(tbox), assertions)

    def _attempted(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> bool:
        """Whether told literals, or the own reasoner within a small budget, show that (T,
        ``assertions``) is inconsistent.
        """
        if self._is_over():
            return False
        contradictory, parts = self._modules(tbox, assertions)
        return contradictory or any(
            a.verdict is Verdict.INCONSISTENT for a in self._attempts(tbox, parts)
        )

    def _attempts(self, tbox: ClausalTBox, parts: Sequence[Module]) -> Sequence[Answer]:
        """Answers within a small budget; those about large modules are not remembered, since
        hardly one comes twice.
        """
        is_small = all(len(module.positive) <= SMALL for module in parts)
        return (self.decider.attempt if is_small else self.decider.attempt_once)(tbox, parts)

    def _answers(
        self, tbox: ClausalTBox, parts: Sequence[Module], decide: DecideInTime, attempt: Decide
    ) -> Sequence[Answer]:
        """The answers of ``decide``; while questions are counted those of ``attempt``, within a
        small budget, where these say all or no question may go beyond it.
        """
        if not self._budget.is_counted:
            return decide(tbox, parts)
        answers = attempt(tbox, parts)
        verdicts = {answer.verdict for answer in answers}
        if (
            Verdict.INCONSISTENT in verdicts
            or Verdict.UNDETERMINED not in verdicts
            or not self._budget.takes_hard()
        ):
            return answers
        return decide(tbox, parts, HARD_SECONDS)

    def _is_too_much(self, assertions: Sequence[owl.Assertion]) -> bool:
        """Whether there is no time for a question about ``assertions``, or it goes beyond what
        is asked of one conflict.
        """
        if self._is_over() or self._budget.is_spent(len(assertions)):
            self.unsure = True
            return True
        return False

    def _refuted(
        self, answers: Sequence[Answer], data: DataView, assertions: Sequence[owl.Assertion]
    ) -> bool:
        """Whether ``answers`` about ``assertions`` refute; where they leave it open, told
        literals may.
        """
        verdicts = {answer.verdict for answer in answers}
        if Verdict.INCONSISTENT in verdicts:
            return True
        if Verdict.UNDETERMINED in verdicts:
            self._budget.count_open()
            if has_told_clash(data, assertions):
                return True
            self.unsure = True
        return False

    def _used(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> set[owl.Axiom] | None:
        """The axioms behind the clauses that the refutation used, with the role axioms; None if
        they are not known.
        """
        _, parts = self._modules(tbox, assertions)
        for answer in self._answers(tbox, parts, self.decider.decide, self._attempts):
            if answer.verdict is Verdict.INCONSISTENT:
                if answer.used is None:
                    return None
                found = {a for a in tbox.axioms if _is_about_roles(a)}
                found |= {tbox.axioms[i] for c in answer.used for i in tbox.clauses[c].origins}
                return found
        return set()

    def _refutes_with(self, axioms: Sequence[owl.Axiom], assertions: list[owl.Assertion]) -> bool:
        """Whether ``axioms`` alone contradict ``assertions``. Asked of many small TBoxes, so
        nothing is remembered.
        """
        if self._is_too_much(assertions):
            return False
        roles = role_box(axioms)
        plain = [p for a in assertions for p in normalise(a, roles).assertions]
        extra: list[owl.SubClassOf | owl.Class] = [
            *definitions(assertions, roles),
            *map(owl.Class, atom_names(plain)),
        ]
        tbox = simplify(owl.TBox(tuple(axioms)), extra).clauses
        data = DataView(LabelSpace(tbox))
        if self._budget.is_told_first and has_told_clash(data, assertions):
            return True
        contradictory, parts = self._modules(tbox, assertions)
        before = self.unsure
        answers = (
            ()
            if contradictory
            else self._answers(tbox, parts, self.decider.reasoner.decide, self.decider.attempt_once)
        )
        refuted = contradictory or self._refuted(answers, data, assertions)
        if not refuted and READ_BY_FORM in self.tbox.axioms[-1:] and READ_BY_FORM not in axioms:
            self.unsure = before  # what is open without that decision rests on it
        return refuted

    def _is_over(self) -> bool:
        ends = [end for end in (self.deadline, self._patient_until) if end is not None]
        return bool(ends) and time.monotonic() > min(ends)


def _may_tell_apart(axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]) -> bool:
    """Whether what ``axioms`` say of ``assertions`` may depend on which literals these have. It
    does not where no axiom is about values, each literal denotes one, and no assertion says more
    of it. A contradiction without axioms rests on such a literal.
    """
    theory = DataTheory()
    more = (a for a in assertions if not isinstance(a, owl.DataPropertyAssertion))
    return (
        not axioms
        or any(map(_is_about_values, (*axioms, *more)))
        or any(
            theory.is_ill_typed(part)
            for part in parts(tuple(assertions))
            if isinstance(part, owl.Literal)
        )
    )


def _is_about_values(said: owl.Axiom | owl.Assertion) -> bool:
    match said:
        case owl.SubDataPropertyOf() | owl.EquivalentDataProperties():
            return False
        case owl.DataPropertyDomain(_, domain):
            return any(isinstance(part, owl.DataProperty) for part in parts(domain))
    return any(isinstance(part, owl.DataProperty | owl.Datatype) for part in parts(said))


def _is_about_roles(axiom: owl.Axiom) -> bool:
    return isinstance(axiom, ROLE_AXIOMS | owl.DatatypeDefinition | owl.ReflexiveObjectProperty)

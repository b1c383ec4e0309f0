"""Reasoners for entailment, started once: one for modules of clauses, and HermiT for ontologies of
OWL 2 DL.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shiq import model as owl
from shiq.abox_ops.modules.from_scratch import ScratchQuestion
from shiq.abox_ops.outside_question import ask_question, write_question
from shiq.answers.verdict import Verdict
from shiq.errors import ReasonerError, UsageError
from shiq.model.clause import ClausalTBox
from shiq.model.role_words import IrregularRolesError
from shiq.reasoner import create_reasoner
from shiq.reasoner.data_proxies import OpaqueData
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.ontology_text import CommonOntology, OntologyText, Unsendable
from shiq.reasoner.protocol import Answer, Module, Reasoner

_INCONSISTENT = Answer(Verdict.INCONSISTENT)
_CONSISTENT = Answer(Verdict.CONSISTENT)


@dataclass
class Reasoners:
    """Reasoners that are started when needed and kept running.

    name: the reasoner for modules (`shiq.reasoner.BACKENDS`). Ontologies go to HermiT, unless it is
        `own`.
    timeout: seconds for one question. question_count: number of questions so far.
    """

    name: str = "auto"
    timeout: float | None = 60.0
    heap: str = "1g"
    question_count: int = 0
    _modules: Reasoner | None = field(default=None, repr=False)
    _hermit: HermitReasoner | None = field(default=None, repr=False)
    #: Of all whole questions: (T, B), as far as no event changes how it is written.
    common: CommonOntology = field(default_factory=CommonOntology, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Without what runs: another process starts its own."""
        return {**vars(self), "_modules": None, "_hermit": None}

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], deadline: float | None = None
    ) -> list[Answer]:
        """Decide whether each module is consistent.

        ``deadline``: see `seconds_left`.
        """
        left = self.seconds_left(deadline)
        if left is not None and left <= 0:
            return [_OVER] * len(modules)
        if self._modules is None:
            self._modules = create_reasoner(self.name, heap=self.heap, timeout=self.timeout)
        self.question_count += len(modules)
        return self._modules.decide(tbox, modules, left)

    def decide_ontology(
        self,
        axioms: Sequence[owl.Axiom],
        assertions: Iterable[owl.Assertion],
        deadline: float | None = None,
    ) -> Answer:
        """Decide whether an ontology of OWL 2 DL is consistent."""
        left = self.seconds_left(deadline)
        if left is not None and left <= 0:
            return _OVER
        if self.name == "own":
            return Answer(
                Verdict.UNDETERMINED,
                "it lies outside SHIQ(D), and only `own` is to be asked; `auto` asks HermiT",
            )
        return ask_question(
            axioms,
            assertions,
            lambda put, facts: self._ask_hermit(put, facts, self.seconds_left(deadline)),
        )

    def prepare_question(
        self, axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]
    ) -> FullQuestion:
        """Prepare an ontology to be asked about repeatedly, with further class assertions on names."""
        return FullQuestion(self, axioms, assertions)

    def hermit(self) -> HermitReasoner:
        """Start HermiT on first use, and return it."""
        if self._hermit is None:
            self._hermit = HermitReasoner(self.heap)
        return self._hermit

    def seconds_left(self, deadline: float | None) -> float | None:
        """Compute the seconds for the next question: until ``deadline`` (`time.monotonic`), and at
        most ``timeout``.
        """
        if deadline is None:
            return self.timeout
        left = deadline - time.monotonic()
        return left if self.timeout is None else min(left, self.timeout)

    def close(self) -> None:
        """Stop the reasoners; may be called twice. A later question starts them again."""
        for reasoner in (self._modules, self._hermit):
            if reasoner is not None:
                reasoner.close()
        self._modules = self._hermit = None

    def _ask_hermit(
        self,
        axioms: Sequence[owl.Axiom],
        assertions: Sequence[owl.Assertion],
        seconds: float | None,
    ) -> Answer:
        """Ask HermiT whether an ontology is consistent, within ``seconds`` seconds, and count the
        question.
        """
        self.question_count += 1
        return self.hermit().decide_consistency(
            axioms, assertions, seconds and max(0.01, seconds), is_normal=True
        )


class FullQuestion:
    """An OWL 2 DL ontology that is sent to the reasoner once and then asked about with different
    class assertions added.
    """

    def __init__(
        self, reasoners: Reasoners, axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]
    ) -> None:
        self._reasoners, self._axioms, self._assertions = reasoners, axioms, assertions

    def ask(self, more: Sequence[owl.ClassAssertion], deadline: float | None = None) -> Answer:
        """Decide whether the ontology is consistent together with ``more``: assertions A(x) or
        ¬A(x), A a class name.
        """
        left = self._reasoners.seconds_left(deadline)
        if left is not None and left <= 0:
            return _OVER
        kept = None if self._reasoners.name == "own" else self._shared_texts
        if kept is None:
            return self._reasoners.decide_ontology(
                self._axioms, (*self._assertions, *more), deadline
            )
        said = [a for a in more if a not in self._assertion_set]
        try:
            hermit = self._reasoners.hermit()
            self._reasoners.question_count += 1
            return hermit.consistency_with_background(kept, said, left and max(0.01, left))
        except ReasonerError as error:
            return Answer(Verdict.UNDETERMINED, " ".join(str(error).split()))

    @cached_property
    def _assertion_set(self) -> frozenset[owl.Assertion]:
        """The assertions of the ontology as a set."""
        return frozenset(self._assertions)

    @cached_property
    def _shared_texts(self) -> tuple[OntologyText, ...] | None:
        """The ontology's texts to be sent once; None if each question must be written anew."""
        try:
            put = write_question(self._axioms, self._assertions)
            return (
                None
                if put.weaker is not None
                else self._reasoners.common.split_into_texts(put.axioms, put.assertions)
            )
        except (IrregularRolesError, UsageError, OpaqueData, Unsendable):
            return None


_OVER = Answer(Verdict.UNDETERMINED, "no answer within the time limit")


def decide_consistency(
    tbox: owl.TBox,
    assertions: Iterable[owl.Assertion],
    reasoners: Reasoners,
    deadline: float | None = None,
) -> Answer:
    """Decide whether (``tbox``, ``assertions``), both in SHIQ(D), is consistent, module by module."""
    asked = ScratchQuestion.build(tbox, assertions)
    if asked.contradictory:
        return _INCONSISTENT
    answers = reasoners.decide(asked.tbox, asked.unnamed_modules, deadline)
    if any(answer.verdict is Verdict.INCONSISTENT for answer in answers):
        return _INCONSISTENT
    return next(
        (answer for answer in answers if answer.verdict is Verdict.UNDETERMINED), _CONSISTENT
    )

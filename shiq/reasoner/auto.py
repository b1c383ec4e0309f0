"""First `own`, in this process; HermiT only for the modules that it leaves undetermined."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property

from shiq.answers.verdict import Verdict
from shiq.deadline import report_stage
from shiq.errors import ReasonerError
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import (
    LARGE_NUMBER,
    OPAQUE,
    Answer,
    CoreFinder,
    Module,
    Reasoner,
    SendingReasoner,
    SentQuestions,
)
from shiq.support import supports


class AutoReasoner:
    """A reasoner that asks ``own`` first, and ``hermit`` for the modules that it leaves
    undetermined. Each is created on first use.

    If HermiT cannot be used at all (no Java), own's answer stands: undetermined, with both reasons.
    Two kinds of questions are never passed on. For opaque data, own has tried both extreme readings
    already (`replace_data`; THEORY, "Deciding a shape without a JVM": data). Large numbers HermiT
    would have to build.
    """

    def __init__(self, own: Callable[[], Reasoner], hermit: Callable[[], Reasoner]) -> None:
        self.name = "auto"
        self._factories = own, hermit
        self._hermit: Reasoner | None = None
        self.deciders: Sequence[str] = ()

    @cached_property
    def _own_reasoner(self) -> Reasoner:
        """Return the built-in reasoner, made on first use."""
        return self._factories[0]()

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide each module, in order. ``timeout``: seconds for all modules together."""
        deadline = None if timeout is None else time.monotonic() + timeout
        answers = list(self._own_reasoner.decide(tbox, modules, timeout))
        by = [self._own_reasoner.name] * len(answers)
        asked = [
            i
            for i, answer in enumerate(answers)
            if answer.verdict is Verdict.UNDETERMINED and not _is_final_answer(answer)
        ]
        left = None if deadline is None else deadline - time.monotonic()
        # What the first one had no time for, the second one has none for either.
        if asked and (left is None or left > 0):
            for i, answer in zip(asked, self._ask_hermit(tbox, [modules[i] for i in asked], left)):
                answers[i] = (
                    _join_reasons(answers[i], answer)
                    if answer.verdict is Verdict.UNDETERMINED
                    else answer
                )
                by[i] = "hermit"
        self.deciders = tuple(by)
        return answers

    def core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """Ask the built-in reasoner for an inconsistent part of a module; see
        `shiq.reasoner.protocol.CoreFinder`.
        """
        return (
            self._own_reasoner.core(tbox, module, timeout)
            if isinstance(self._own_reasoner, CoreFinder)
            else None
        )

    @property
    def sent_questions(self) -> SentQuestions:
        """Return the counters of what was sent to HermiT."""
        return (
            self._hermit.sent_questions
            if self._hermit is not None and supports(self._hermit, SendingReasoner)
            else SentQuestions()
        )

    def close(self) -> None:
        """Close the reasoners that were created."""
        if "_own_reasoner" in vars(self):
            self._own_reasoner.close()
        if self._hermit is not None:
            self._hermit.close()

    def _ask_hermit(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None
    ) -> list[Answer]:
        """Ask HermiT about the modules that the built-in reasoner left undetermined."""
        report_stage("asking HermiT", 0, len(modules))
        try:
            if self._hermit is None:
                self._hermit = self._factories[1]()
            return self._hermit.decide(tbox, modules, timeout)
        except ReasonerError as error:
            return [Answer(Verdict.UNDETERMINED, f"hermit: {' '.join(str(error).split())}")] * len(
                modules
            )


def _is_final_answer(answer: Answer) -> bool:
    """Decide whether an undetermined answer stays, because HermiT would not decide the module
    either.
    """
    return answer.reason.startswith((OPAQUE, LARGE_NUMBER))


def _join_reasons(first: Answer, second: Answer) -> Answer:
    """Make one undetermined answer with the reasons of two."""
    return Answer(
        Verdict.UNDETERMINED,
        "; ".join(reason for reason in (first.reason, second.reason) if reason),
    )

"""First `own`, in this process; HermiT only for the modules that it leaves undetermined (ARCHITECTURE, "The reasoner")."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from shiq.clause import ClausalTBox
from shiq.errors import ReasonerError
from shiq.reasoner.protocol import Answer, Module, Reasoner, Sending, Sent
from shiq.verdict import Verdict


class AutoReasoner:
    """``own`` decides; what it cannot decide goes to the reasoner that ``hermit_factory`` makes when it is first needed.

    Where that one cannot be used at all (no Java), own's answer stands: undetermined, with both reasons.
    """

    def __init__(self, own: Reasoner, hermit_factory: Callable[[], Reasoner]) -> None:
        self.name = "auto"
        self._own = own
        self._factory = hermit_factory
        self._hermit: Reasoner | None = None
        self.by: Sequence[str] = ()

    def decide(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None) -> list[Answer]:
        deadline = None if timeout is None else time.monotonic() + timeout
        answers = list(self._own.decide(tbox, modules, timeout))
        by = [self._own.name] * len(answers)
        open_questions = [i for i, answer in enumerate(answers) if answer.verdict is Verdict.UNDETERMINED]
        if open_questions:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            second = self._second_opinions(tbox, [modules[i] for i in open_questions], left)
            for i, answer in zip(open_questions, second):
                answers[i] = answer if answer.verdict is not Verdict.UNDETERMINED else _both(answers[i], answer)
                by[i] = "hermit"
        self.by = tuple(by)
        return answers

    @property
    def sent(self) -> Sent:
        """What the second one was sent."""
        return self._hermit.sent if isinstance(self._hermit, Sending) else Sent()

    def close(self) -> None:
        self._own.close()
        if self._hermit is not None:
            self._hermit.close()

    def _second_opinions(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None) -> list[Answer]:
        try:
            if self._hermit is None:
                self._hermit = self._factory()
            return self._hermit.decide(tbox, modules, timeout)
        except ReasonerError as error:
            return [Answer(Verdict.UNDETERMINED, f"hermit: {' '.join(str(error).split())}")] * len(modules)


def _both(first: Answer, second: Answer) -> Answer:
    return Answer(Verdict.UNDETERMINED, "; ".join(reason for reason in (first.reason, second.reason) if reason))

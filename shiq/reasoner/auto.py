"""First `own`, in this process; HermiT only for the modules that it leaves undetermined (ARCHITECTURE, "The reasoner")."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from shiq.clause import ClausalTBox
from shiq.errors import ReasonerError
from shiq.reasoner.protocol import OPAQUE, Answer, Module, Reasoner, Sending, Sent
from shiq.verdict import Verdict


class AutoReasoner:
    """``own`` decides; what it cannot decide goes to the reasoner that ``hermit_factory`` makes when it is first needed.

    Where that one cannot be used at all (no Java), own's answer stands: undetermined, with both reasons. What rests on opaque
    data both leave open as a rule, and a base may have as many such modules as individuals: where the first `TRIED` that own
    leaves open for one such reason stay open, own's answers stand for the others.
    """

    TRIED = 20

    def __init__(self, own: Reasoner, hermit_factory: Callable[[], Reasoner]) -> None:
        self.name = "auto"
        self._own = own
        self._factory = hermit_factory
        self._hermit: Reasoner | None = None
        self._in_vain: defaultdict[str, int] = defaultdict(int)
        self.by: Sequence[str] = ()

    def decide(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None) -> list[Answer]:
        deadline = None if timeout is None else time.monotonic() + timeout
        answers = list(self._own.decide(tbox, modules, timeout))
        by = [self._own.name] * len(answers)
        open_questions = [i for i, answer in enumerate(answers) if answer.verdict is Verdict.UNDETERMINED]
        while asked := self._worth_asking(open_questions, answers):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            for i, answer in zip(asked, self._second_opinions(tbox, [modules[i] for i in asked], left)):
                is_open, reason = answer.verdict is Verdict.UNDETERMINED, answers[i].reason
                self._in_vain[reason] = self._in_vain[reason] + 1 if is_open and self._in_vain[reason] >= 0 else -1
                answers[i] = _both(answers[i], answer) if is_open else answer
                by[i] = "hermit"
            open_questions = sorted({*open_questions}.difference(asked))
        self.by = tuple(by)
        return answers

    def _worth_asking(self, places: Sequence[int], answers: Sequence[Answer]) -> list[int]:
        """Those of ``places`` that go to the second one next: of a reason that rests on opaque data no more than may be in vain,
        unless one of that reason was decided (-1)."""
        room: dict[str, int] = {}
        found = []
        for i in places:
            reason = answers[i].reason
            if reason.startswith(OPAQUE) and self._in_vain[reason] >= 0:
                room.setdefault(reason, self.TRIED - self._in_vain[reason])
                room[reason] -= 1
                if room[reason] < 0:
                    continue
            found.append(i)
        return found

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

"""What is entailed of an event that was not met before: its individuals' types, by
`shiq.abox_ops.entailment`, this event alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from shiq import model as owl
from shiq.abox_ops.entailment import Entailer, Entailment, Premises, union_of
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.errors import InputError, UsageError
from shiq.streams.enrichment.knowledge import StaticKnowledge

#: Who may be asked.
REASONERS: Final = ("auto", "own", "hermit")


@dataclass
class Realizer:
    """Asks about one event after another; ``calls`` counts the questions, ``before`` those of
    a run that is gone on with. Reasoners stay warm until `close`."""

    knowledge: StaticKnowledge
    reasoner: str = "auto"
    timeout: float | None = 60.0
    heap: str = "1g"
    static: bool = False
    before: int = 0
    _entailer: Entailer = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.reasoner not in REASONERS:
            raise UsageError(
                f"unknown reasoner {self.reasoner!r}", f"Known here are {', '.join(REASONERS)}."
            )
        self._reasoners = Reasoners(self.reasoner, self.timeout, self.heap)
        self._open()

    def _open(self) -> None:
        premises = Premises.of(self.knowledge.axioms, self.knowledge.static)
        self._entailer = Entailer(premises, static=self.static, reasoners=self._reasoners)

    @property
    def calls(self) -> int:
        return self.before + self._reasoners.asked

    @property
    def made_by(self) -> str:
        """What answers rest on."""
        return f"{self.knowledge.digest} {self.static}"

    def renew(self, knowledge: StaticKnowledge) -> None:
        """Goes on with another B."""
        self.knowledge = knowledge
        self._open()

    def go_over(
        self, before: StaticKnowledge, middle: StaticKnowledge, after: StaticKnowledge
    ) -> frozenset[str] | None:
        """Goes on with ``after``, which has more in B than ``middle``, as ``before`` has. Who
        changes between them: entries that rest on nobody else stay true (THEORY, "Entailment").
        None: anybody may.
        """
        changed: list[frozenset[str] | None] = []
        for larger in (before, after):
            held = {*middle.static}
            if more := [assertion for assertion in larger.static if assertion not in held]:
                if self.knowledge is not middle:
                    self.renew(middle)
                changed.append(self._entailer.changed(more))
        self.renew(after)
        return union_of(changed)

    def refuse_contradiction(self) -> None:
        """Raises InputError where (T, B) is inconsistent by itself: of it everything would follow."""
        if self._entailer.is_consistent(self._deadline()).verdict is Verdict.INCONSISTENT:
            raise InputError(
                "the ontology and its static data contradict each other",
                "shiq certify says where; nothing can be enriched so.",
            )

    def types(self, assertions: Sequence[owl.Assertion]) -> Entailment:
        """What (T, B) and the event entail of its individuals."""
        if self.knowledge.obstacle:
            return Entailment(Verdict.UNDETERMINED, reason=self.knowledge.obstacle)
        deadline = self._deadline()
        found = self._entailer.entailed(assertions, deadline)
        if (
            found.verdict is Verdict.UNDETERMINED
            and deadline is not None
            and time.monotonic() >= deadline
        ):
            return Entailment(
                Verdict.UNDETERMINED, reason=f"{found.reason}; a longer --timeout may decide it"
            )
        return found

    def _deadline(self) -> float | None:
        return None if self.timeout is None else time.monotonic() + self.timeout

    def close(self) -> None:
        self._entailer.close()

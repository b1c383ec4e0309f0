"""The answer of a gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from jobs.gate.identities import EqualIndividuals
from jobs.gate.lines import Line
from jobs.gate.waivers import Judgement
from shiq.conflict import Conflict
from shiq.explanation import Pattern
from shiq.result import Result
from shiq.verdict import Verdict

ACCEPTED, SPLIT, REFUSED = "accepted", "split", "refused"
#: Why a line is out of which nothing else is known.
WITH_THE_BATCH: Final = "the batch was refused"
SCHEMA_VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class SetAsideLine:
    """Line that was set aside: ``conflicts``: the places, in `GateAnswer.conflicts`, of those
    that the line takes part in; none for one that is no triple, or that goes with a culprit
    (`UNITS`). ``kind``: of what was not understood, one of `shiq.verdict.KINDS`; else
    "conflict", "undecided", "unit", "identity" or "batch"; of what is tolerated, what the policy
    says. ``hint``: what to do about it.
    """

    line: Line
    reason: str
    conflicts: tuple[int, ...] = ()
    kind: str = ""
    hint: str = ""


@dataclass(frozen=True, eq=False)
class GateAnswer:
    """Answer of a gate: ``verdict``: on the whole batch; ``result``: of the last check, which
    for `ACCEPTED` and `SPLIT` is that of ``accepted`` and says consistent; ``reason``: why a
    batch was refused; ``conflicts``: all that were met, each with its pattern, sentence and
    judgement; ``tolerated``: lines that the policy, or the store's ledger, keeps beside;
    ``identities``: what becomes equal by what is accepted, None where a batch is refused before
    that is known. ``run``: the same for the same question about the same store and batch.
    ``disputes``: what is accepted contradicts of what the store has set aside. ``is_proven``:
    where as little as may be was to be set aside, that no smaller set of lines breaks the
    conflicts. ``unexamined_lines``: lines set aside for which another spelling was not looked
    for to the end; ``ended``: whether this is the last word, not so while such spellings are
    still looked for. Everything else stands in either case.
    """

    decision: str
    verdict: Verdict
    result: Result
    files: tuple[str, ...]
    accepted: tuple[Line, ...]
    set_aside: tuple[SetAsideLine, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    reason: str = ""
    rounds: int = 1
    tolerated: tuple[SetAsideLine, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    sentences: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    identities: tuple[EqualIndividuals, ...] | None = None
    run: str = ""
    dry_run: bool = False
    identity_policy: str = "warn"
    disputes: tuple[Conflict, ...] = ()
    is_proven: bool = True
    unexamined_lines: int = 0
    ended: bool = True

    @property
    def exit_code(self) -> int:
        """0 everything accepted but what is tolerated; 5 a part accepted; 1 refused; 3 refused
        because the last check left open whether the rest is consistent, and no contradiction was
        found.
        """
        if self.decision != REFUSED:
            return 0 if self.decision == ACCEPTED else 5
        return 3 if self.verdict is self.result.verdict is Verdict.UNDETERMINED else 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "outcome": self.decision,
            "decision": self.decision,
            "verdict": self.verdict.value,
            "complete": self.ended,
            "reason": self.reason,
            "dry_run": self.dry_run,
            "rounds": self.rounds,
            "proven_least": self.is_proven,
            "accepted": len(self.accepted),
            "set_aside": [self._row(x) for x in self.set_aside],
            "unexamined_lines": self.unexamined_lines,
            "tolerated": [self._row(x) for x in self.tolerated],
            "conflicts": [
                {
                    **c.to_dict(),
                    "pattern": p.id,
                    "rule": p.rule,
                    "title": p.title,
                    "sentence": sentence,
                    "judgement": j.to_dict(),
                }
                for c, p, sentence, j in zip(
                    self.conflicts, self.patterns, self.sentences, self.judgements
                )
            ],
            "disputes": [conflict.to_dict() for conflict in self.disputes],
            "identities": None
            if self.identities is None
            else [x.to_dict() for x in self.identities],
            "result": self.result.to_dict(),
        }

    def _row(self, x: SetAsideLine) -> dict[str, Any]:
        place = {"source": self.files[x.line.file], "line": x.line.at, "text": x.line.text}
        hint = {"hint": x.hint} if x.hint else {}
        place |= {"column": x.line.column} if x.line.column else {}
        return {**place, "kind": x.kind, "reason": x.reason, **hint, "conflicts": list(x.conflicts)}

"""Answer of a gate, and its form as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from shiq.abox_ops.conflicts import identities as entailed
from shiq.answers.result import Conflict, Result
from shiq.answers.verdict import Verdict
from shiq.deadline import DeadlineExceeded
from shiq.errors import OperationalError
from shiq.explanation import Pattern
from shiq.functional.writer import axiom_text
from shiq.jobs.checking.answer import time_limit_reason, timeout_result
from shiq.jobs.checking.certifying import limit_reading_time
from shiq.jobs.checking.options import Clock, Options
from shiq.jobs.gate.lines import Line
from shiq.jobs.gate.waivers import Judgement
from shiq.model.ntriples import assertion_lines, individual_term

# Individuals that a batch makes equal, as a gate reports them.


@dataclass(frozen=True, slots=True)
class EqualIndividuals:
    """Individuals that a batch makes equal, with one reason.

    individuals: N-Triples terms, one for each class of individuals that was distinct before.
    insertions, base, axioms: the reason, as in a conflict; no ``insertions`` if the reason is
        indirect.
    """

    individuals: tuple[str, ...]
    insertions: tuple[str, ...]
    base: tuple[str, ...]
    axioms: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON object in a gate's answer."""
        return {
            "individuals": list(self.individuals),
            "insertions": list(self.insertions),
            "base": list(self.base),
            "axioms": list(self.axioms),
        }


@runtime_checkable
class _RemoteIdentities(Protocol):
    """Add set on Spark whose executors compute the equalities between individuals that the batch
    entails.
    """

    def identities(self) -> list[entailed.Identity]:
        """List the equalities between individuals that the batch entails, with reasons."""


def identities_of(result: Result) -> tuple[EqualIndividuals, ...]:
    """List the individuals that become equal by the batch that ``result`` is about."""
    add_set: _RemoteIdentities | entailed.MergingAddSet = result.a_add.add_set  # type: ignore[attr-defined]
    found = (
        add_set.identities()
        if isinstance(add_set, _RemoteIdentities)
        else entailed.find_identities(add_set)
    )
    return tuple(map(_equal_individuals, found))


def _equal_individuals(identity: entailed.Identity) -> EqualIndividuals:
    """Convert an entailed equality and its reasons to N-Triples lines and axioms in functional
    syntax.
    """
    insertions, base, axioms = dict[str, None](), dict[str, None](), dict[str, None]()
    for reason in identity.reasons:
        for assertion in reason.assertions:
            (insertions if assertion in reason.insertions else base).update(
                dict.fromkeys(assertion_lines(assertion))
            )
        axioms.update(dict.fromkeys(map(axiom_text, reason.axioms)))
    return EqualIndividuals(
        tuple(individual_term(part[0]) for part in identity.parts),
        tuple(insertions),
        tuple(base),
        tuple(axioms),
    )


ACCEPTED, SPLIT, REFUSED = "accepted", "split", "refused"
#: Why a line is out of which nothing else is known.
WITH_THE_BATCH: Final = "the batch was refused"
SCHEMA_VERSION: Final = 3


@dataclass(frozen=True, slots=True)
class SetAsideLine:
    """Line of a batch that is not accepted (in quarantine, or tolerated without blocking the
    batch), with the reason.

    line: the line.
    reason: a sentence for the report.
    conflicts: positions in `GateAnswer.conflicts` of the conflicts that the line takes part in;
        empty if it is malformed or goes with another line of its unit (`UNITS`).
    kind: a kind of `shiq.answers.verdict.KINDS` for a line that was not understood; else
    "conflict",
        "undecided", "unit", "identity", "corrected" or "batch"; for a tolerated line, the effect of
        the policy.
    hint: what to do about it, empty if nothing is known.
    correction: the line that the hint suggests, if it suggests one.
    """

    line: Line
    reason: str
    conflicts: tuple[int, ...] = ()
    kind: str = ""
    hint: str = ""
    correction: Line | None = None


@dataclass(frozen=True, slots=True)
class JudgedConflict:
    """Conflict of a batch with its cause (pattern) and the judgement of the gate's policy: fail,
    warn, info, waived or known.

    conflict: the conflict; pattern: its cause; sentence: the cause with the conflict's names.
    judgement: whether it blocks the batch.
    """

    conflict: Conflict
    pattern: Pattern
    sentence: str
    judgement: Judgement

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON object in a gate's answer."""
        return {
            **self.conflict.to_dict(),
            "pattern": self.pattern.id,
            "rule": self.pattern.rule,
            "title": self.pattern.title,
            "sentence": self.sentence,
            "judgement": self.judgement.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class BatchPartition:
    """Lines of a batch by the gate's decision: accepted, set aside or tolerated.

    files: names of the files, by `Line.file`.
    accepted_lines, set_aside_lines: lines that are accepted, and lines that are not.
    tolerated_lines: lines that the policy or the store's ledger keeps out without blocking the
    batch.
    """

    files: tuple[str, ...]
    accepted_lines: tuple[Line, ...] = ()
    set_aside_lines: tuple[SetAsideLine, ...] = ()
    tolerated_lines: tuple[SetAsideLine, ...] = ()


@dataclass(frozen=True, eq=False)
class GateAnswer:
    """Decision of a gate about one batch: accepted, split or refused, with the reasons.

    decision: `ACCEPTED`, `SPLIT` or `REFUSED`.
    verdict: of the whole batch.
    result: of the last check; for `ACCEPTED` and `SPLIT` that of the accepted lines, and
        consistent.
    lines: the lines of the batch, by what was decided.
    judged_conflicts: every conflict found in any round. ``conflicts``, ``patterns``, ``sentences``
    and
        ``judgements`` are its parts.
    reason: why the batch was refused, else empty.
    run: hash of the question, the store and the batch; the same for a repeated run.
    identities: individuals that the accepted part makes equal; None if the batch was refused before
        they were computed.
    disputes: conflicts of the accepted lines with assertions that the store has set aside.
    is_proven: with ``--aside least``, no smaller set of lines breaks the conflicts.
    unexamined_lines: lines without a hint whose other spellings were not all tried.
    is_final: False while hints are still to be searched for. All other fields are final in either
        case.
    """

    decision: str
    verdict: Verdict
    result: Result
    lines: BatchPartition
    judged_conflicts: tuple[JudgedConflict, ...] = ()
    reason: str = ""
    rounds: int = 1
    identities: tuple[EqualIndividuals, ...] | None = None
    run: str = ""
    dry_run: bool = False
    identity_policy: str = "warn"
    disputes: tuple[Conflict, ...] = ()
    is_proven: bool = True
    unexamined_lines: int = 0
    is_final: bool = True

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the batch files; `Line.file` is an index into them."""
        return self.lines.files

    @property
    def accepted(self) -> tuple[Line, ...]:
        """Lines of the batch that are accepted."""
        return self.lines.accepted_lines

    @property
    def set_aside(self) -> tuple[SetAsideLine, ...]:
        """Lines in quarantine, which are not accepted."""
        return self.lines.set_aside_lines

    @property
    def tolerated(self) -> tuple[SetAsideLine, ...]:
        """Lines that are kept out of the store without blocking the batch, because a policy or the
        ledger tolerates their conflicts.
        """
        return self.lines.tolerated_lines

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Conflicts found in all rounds of checking the batch."""
        return tuple(x.conflict for x in self.judged_conflicts)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Pattern (cause) of each conflict, in the order of `conflicts`."""
        return tuple(x.pattern for x in self.judged_conflicts)

    @property
    def sentences(self) -> tuple[str, ...]:
        """English sentence about each conflict, in the order of `conflicts`."""
        return tuple(x.sentence for x in self.judged_conflicts)

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """Judgement of the policy (fail, warn, info, waived or known) on each conflict, in the
        order of `conflicts`.
        """
        return tuple(x.judgement for x in self.judged_conflicts)

    @property
    def exit_code(self) -> int:
        """Exit code of ``shiq gate``.

        0: everything was accepted, except tolerated lines.
        5: a part was accepted.
        1: refused.
        3: refused because the last check was undetermined, and no contradiction was found.
        """
        if self.decision != REFUSED:
            return 0 if self.decision == ACCEPTED else 5
        return 3 if self.verdict is self.result.verdict is Verdict.UNDETERMINED else 1

    def to_dict(self) -> dict[str, Any]:
        """Convert the answer to the JSON object of ``--json`` and of the ``.why.json`` file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run,
            "outcome": self.decision,
            "decision": self.decision,
            "verdict": self.verdict.value,
            "complete": self.is_final,
            "reason": self.reason,
            "dry_run": self.dry_run,
            "rounds": self.rounds,
            "proven_least": self.is_proven,
            "accepted": len(self.accepted),
            "set_aside": [self._row(x) for x in self.set_aside],
            "unexamined_lines": self.unexamined_lines,
            "tolerated": [self._row(x) for x in self.tolerated],
            "conflicts": [x.to_dict() for x in self.judged_conflicts],
            "disputes": [conflict.to_dict() for conflict in self.disputes],
            "identities": None
            if self.identities is None
            else [x.to_dict() for x in self.identities],
            "result": self.result.to_dict(),
        }

    def _row(self, x: SetAsideLine) -> dict[str, Any]:
        """Convert a line that is not accepted to JSON."""
        place = {"source": self.files[x.line.file], "line": x.line.position, "text": x.line.text}
        hint = {"hint": x.hint} if x.hint else {}
        place |= {"column": x.line.column} if x.line.column else {}
        return {**place, "kind": x.kind, "reason": x.reason, **hint, "conflicts": list(x.conflicts)}


class BatchNotReadError(OperationalError):
    """Error: the time limit ended before the batch was read."""


@contextmanager
def limit_batch_reading(options: Options, clock: Clock) -> Iterator[None]:
    """Context manager: apply the time limit of ``options`` while a batch is read. Raises:
    BatchNotReadError.
    """
    clock.step = "reading the batch"
    try:
        with limit_reading_time(options, clock):
            yield
    except DeadlineExceeded as over:
        raise BatchNotReadError(
            time_limit_reason(options, clock.step), "Allow more time, or leave the limit out."
        ) from over
    clock.end_stage(clock.step)


def refuse_unread_batch(
    names: Sequence[str],
    options: Options,
    clock: Clock,
    *,
    dry_run: bool = False,
    identities: str = "warn",
    **_: Any,
) -> GateAnswer:
    """Make the answer that refuses a batch of the files ``names`` because it was not read within
    the time limit.
    """
    result = timeout_result(options, clock, ())
    return GateAnswer(
        REFUSED,
        result.verdict,
        result,
        BatchPartition(tuple(names)),
        reason=result.reason,
        rounds=0,
        dry_run=dry_run,
        identity_policy=identities,
    )

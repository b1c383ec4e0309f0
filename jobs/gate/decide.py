"""Decide a gate: set lines of a batch aside until the remaining lines are consistent, and commit
those.

Lines that contradict are removed round by round until a check of the others says `consistent`. So
acceptance does not depend on having found every culprit. Every line goes to one output as it was
written.

The choice of lines depends on the set of triples alone, not on their order. Lines that were not
understood or not decided are set aside. Of conflicts, all insertions are set aside, or a smallest
set of lines that breaks each (`shiq.jobs.gate.culprits`). A line with only conflicts that a policy
lets pass (`shiq.jobs.gate.waivers`) is tolerated: neither accepted nor blocking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from shiq.answers.result import Conflict, Result
from shiq.answers.verdict import Leftover, Verdict
from shiq.api import Session
from shiq.errors import InputError
from shiq.explanation import distinguish_titles
from shiq.inputs.reading import Place, QuarantinedAssertion
from shiq.inputs.sources import TextInput
from shiq.jobs.checking.answer import with_note
from shiq.jobs.checking.inputs import input_sources, with_leftovers, with_source_notes
from shiq.jobs.checking.options import (
    EXPLAIN_SECONDS,
    Clock,
    Options,
    is_unsliced_note,
    option_arguments,
)
from shiq.jobs.checking.session import Approval
from shiq.jobs.gate.answer import (
    ACCEPTED,
    REFUSED,
    SPLIT,
    WITH_THE_BATCH,
    BatchNotReadError,
    BatchPartition,
    EqualIndividuals,
    GateAnswer,
    SetAsideLine,
    identities_of,
    limit_batch_reading,
    refuse_unread_batch,
)
from shiq.jobs.gate.batch import GateBatch, assertions_in
from shiq.jobs.gate.culprits import Culprits, find_ledger_conflicts
from shiq.jobs.gate.hints import add_hints, with_pending_hints
from shiq.jobs.gate.lines import (
    BatchSource,
    Line,
    batch_source,
    hash_content,
    read_lines,
    read_result_triple,
)
from shiq.jobs.gate.settings import GateOptions
from shiq.jobs.gate.waivers import Policy
from shiq.jobs.undecided_insertions import undecided_insertions
from shiq.remote.inputs import pin_inputs
from shiq.support import pluralize

Deliver: TypeAlias = Callable[[GateAnswer], None]


@pin_inputs()
def gate(
    session: Session,
    insertions: Sequence[BatchSource | TextInput],
    deletions: Sequence[BatchSource | TextInput] = (),
    *,
    policy: Policy | None = None,
    require_nonempty: bool = False,
    deliver: Deliver | None = None,
    announce: Deliver | None = None,
    explain_seconds: float | None = EXPLAIN_SECONDS,
    taken: Mapping[str, int] | None = None,
    hints_first: bool = False,
    clock: Clock | None = None,
    corrections: Sequence[tuple[Line, Line]] = (),
    **settings: Any,
) -> GateAnswer:
    """Accept the batch of ``insertions`` and ``deletions``, or with ``mode`` "split" its consistent
    part.

    insertions: files and documents that `read_lines` can read; with the engine spark also tables,
        which are read once.
    deliver: callback, called once before the commit, to write the decision.
    announce: callback, called before the search for hints with an answer that is otherwise final.
        From then on Ctrl-C ends the search only.
    hints_first: search for hints before ``deliver`` is called.
    explain_seconds: time limit of the search for hints; None: no limit.
    taken: see `Session.check`.
    clock: runs since the batch was first read; None: it begins here. Reading counts to the time
        limit of the first check.
    corrections: lines of the batch, each with the line to take in its place.
    settings: see `GateOptions` and `check_insertions`.

    The batch is refused as a whole in these cases: the time is over before it is read, and then
        ``deliver`` is not called; a check is undetermined by the base or the TBox;
        a contradiction has no line of the batch to blame; the mode is "reject" and there is a
        blocking conflict; no line is left to accept; or ``max_quarantine`` is exceeded. The rounds
        end because each removes a line or finds a new conflict. Remote inputs are read as of one
        moment.

    Raises: UsageError for unknown names or syntaxes; InputError for unreadable files, and with
        ``require_nonempty`` for files without a triple, with ``corrections`` for a batch that has
        not the lines that they mend.
    """
    own = GateOptions.pop_from(settings)
    limit = own.limit
    options = Options(**option_arguments({**settings, "explain_seconds": explain_seconds}))
    # Which lines go must not hang on time: every conflict is explained, however long it takes.
    asked_for = {**settings, "explain_seconds": None}
    called = [source if isinstance(source, str) else source.name for source in insertions]
    clock = clock or Clock(progress=options.progress)
    try:
        with limit_batch_reading(options, clock):
            coming, going = (
                list(map(batch_source, input_sources(list(given), options)))
                for given in (insertions, deletions)
            )
            read = [read_lines(source, i) for i, source in enumerate(coming)]
    except BatchNotReadError:
        return refuse_unread_batch(
            called, options, clock, dry_run=own.dry_run, identities=own.identities
        )
    lines, told = (
        [line for some, _ in read for line in some],
        [x for _, beside in read for x in beside],
    )
    if require_nonempty:
        _require_triples(called, lines)
    policy = policy or Policy()
    asked = repr(
        (
            session.identity,
            own.mode,
            own.unit,
            own.aside,
            own.identities,
            policy.digest,
            [*map(hash_content, going)],
            limit,
        )
    )
    run = hashlib.sha256(asked.encode())
    for line in lines:
        run.update(b"%d %d " % (line.file, line.number) + line.raw)
    if corrections:
        lines = _correct_lines(called, lines, corrections)
    batch = GateBatch(called, lines, coming, is_corrected=bool(corrections))
    culprits = Culprits(batch, policy, own.unit, own.aside)

    def find_blocking(
        files: Sequence[object], **more: str
    ) -> Sequence[tuple[Leftover, tuple[Place, ...]]]:
        # Before the first check reading counts to its limit, later each reading has its own.
        with limit_batch_reading(options, Clock() if gating.rounds else clock):
            return session.blocking_leftovers(files, **{**asked_for, **more})

    whole: dict[str, None] = {}

    def check(files: Sequence[object], before_commit: Approval, **more: Any) -> Result:
        def approve(result: Result) -> Collection[QuarantinedAssertion] | None:
            return before_commit(with_leftovers(result, told, options))

        # The time of reading counts once.
        begun = None if gating.rounds > 1 else clock
        result = session.check(
            files, going, before_commit=approve, taken=taken, clock=begun, **{**asked_for, **more}
        )
        # What one round says of slices is said of the run.
        here = dict.fromkeys(x for x in result.evidence.notes if is_unsliced_note(x))
        for note in whole.keys() - here.keys():
            result = with_note(result, note)
        whole.update(here)
        return with_leftovers(with_source_notes(result, coming), told, options)

    name = run.hexdigest()[:16]
    mark = partial(with_pending_hints, options=options)
    question = _GateQuestion(name, own, options.timeout)
    gating = _GateRun(batch, culprits, check, find_blocking, question, mark)
    if session.quarantine:
        rows = [row for row in session.quarantine if row.alone != session.tbox_hash]
        gating.find_ledger_conflicts = partial(
            find_ledger_conflicts,
            session.tbox,
            ledger=rows,
            reasoner=settings.get("reasoner", "auto"),
        )
        gating.load_ledger(session.quarantine, session.tbox_hash)

    def search_hints(answer: GateAnswer) -> GateAnswer:
        return add_hints(answer, session, batch, going, options, announce)

    def deliver_with_hints(answer: GateAnswer) -> GateAnswer:
        found = search_hints(answer) if hints_first else answer
        if deliver:
            deliver(found)
        return found

    try:
        decided = gating.decide(
            own.commit and not own.dry_run, None if own.dry_run else deliver_with_hints
        )
    except BatchNotReadError:
        return refuse_unread_batch(
            called, options, clock, dry_run=own.dry_run, identities=own.identities
        )
    return search_hints(decided)


def _require_triples(names: Sequence[str], lines: Sequence[Line]) -> None:
    """Refuse a batch if one of its files has no triple. Raises: InputError."""
    full = {line.file for line in lines if line.triple}
    for i, name in enumerate(names):
        if i not in full:
            raise InputError(
                f"{name}: has no triple",
                "Was it delivered whole? Leave --require-nonempty out if that is meant.",
            )


def _correct_lines(
    names: Sequence[str], lines: Sequence[Line], corrections: Sequence[tuple[Line, Line]]
) -> list[Line]:
    """Replace lines by their corrections. Raises: InputError if a line to correct is gone."""
    corrected = {(old.file, old.number, old.raw): new for old, new in corrections}
    made = [corrected.pop((x.file, x.number, x.raw), x) for x in lines]
    for file, number, _ in corrected:
        raise InputError(
            f"{names[file]}:{number}: changed while it was gated: the line to correct is gone",
            "Gate it again when nothing writes to it. Nothing was accepted.",
        )
    return made


@dataclass(frozen=True)
class _GateQuestion:
    """Settings of one gate decision. ``run``: a hash of batch, store and settings."""

    run: str
    settings: GateOptions
    timeout: float | None


@dataclass
class _GateRun:
    """State of one gate decision: the lines set aside so far, and the conflicts. Each round checks
    the remaining lines.

    check, find_blocking: calls of the session with the run's settings.
    removed_lines: lines set aside for other reasons than conflicts, by index.
    known_lines: lines that contradict the TBox alone and are in the ledger, by index.
    first_result: result of the first round.
    add_pending_hints: adds to an answer how many hints are still to be searched for.
    """

    batch: GateBatch
    culprits: Culprits
    check: Callable[..., Result]
    find_blocking: Callable[..., Sequence[tuple[Leftover, tuple[Place, ...]]]]
    question: _GateQuestion
    add_pending_hints: Callable[[GateAnswer], GateAnswer]
    removed_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    known_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    find_ledger_conflicts: Callable[[list[Line]], tuple[Conflict, ...]] = lambda lines: ()
    identities: tuple[EqualIndividuals, ...] | None = None
    first_result: Result | None = None
    rounds: int = 0

    @property
    def quarantined_lines(self) -> Mapping[int, SetAsideLine]:
        """Lines that are set aside, by index in the batch."""
        return {**self.culprits.quarantined_lines, **self.removed_lines}

    @property
    def tolerated_lines(self) -> Mapping[int, SetAsideLine]:
        """Lines that the policy or the ledger tolerates and that are not set aside, by index in the
        batch.
        """
        return {
            i: x
            for i, x in {**self.culprits.tolerated_lines, **self.known_lines}.items()
            if i not in self.removed_lines
        }

    @property
    def remaining_lines(self) -> list[int]:
        """Indices of the lines that are neither quarantined nor tolerated."""
        gone = self.quarantined_lines.keys() | self.tolerated_lines.keys()
        return [i for i in range(len(self.batch.lines)) if i not in gone]

    def load_ledger(self, ledger: Iterable[QuarantinedAssertion], tbox_hash: str) -> None:
        """Load the store's quarantine ledger; keep out the lines that repeat assertions known to
        contradict the TBox by themselves.
        """
        held = {}
        for row in ledger:
            for text in row.triples:
                triple = read_result_triple(text)
                # A blank node of a batch is none of the base.
                if (
                    triple
                    and "_:" not in (triple[0][:2], triple[2][:2])
                    and not row.is_expired(self.culprits.policy.today)
                ):
                    held[triple] = row
        self.culprits.ledger = held
        for i, line in enumerate(self.batch.lines):
            said_before = held.get(line.triple) if line.triple else None
            if said_before and said_before.alone == tbox_hash:
                self.known_lines[i] = SetAsideLine(
                    line, "known: it contradicts the ontology by itself", kind="known"
                )
        if self.culprits.unit == "row" and self.known_lines:
            for i in self.batch.with_linked(self.known_lines, "row").difference(self.known_lines):
                self.known_lines[i] = SetAsideLine(
                    self.batch.lines[i], "goes with what is known: the same row", kind="unit"
                )

    def decide(
        self, commit: bool, deliver: Callable[[GateAnswer], GateAnswer] | None
    ) -> GateAnswer:
        """Repeat the check until the remaining lines are consistent or the batch is refused.

        deliver: called with the answer before the commit; returns the answer as delivered.
        """
        if self.question.settings.mode == "split":
            self._remove_lines(
                {
                    i: SetAsideLine(x, f"not a triple: {x.problem}", kind="malformed")
                    for i, x in enumerate(self.batch.lines)
                    if x.problem
                }
            )
            self._remove_not_understood()
        delivered: list[GateAnswer] = []

        def approve(result: Result) -> Collection[QuarantinedAssertion] | None:
            is_open = result.verdict is not Verdict.CONSISTENT
            answer = (
                None
                if is_open or self._forbidden_identities(result)
                else self._accept_remaining(result)
            )
            if answer is None or answer.decision == REFUSED:
                return None
            delivered.append(deliver(answer) if deliver else answer)
            return list(self.culprits.ledger_rows.values())

        while True:
            self.rounds += 1
            result = self.check(
                self.batch.check_inputs(self.remaining_lines), commit=commit, before_commit=approve
            )
            self.first_result = self.first_result or result
            if delivered:
                return replace(delivered[0], result=self.batch.with_source_positions(result))
            gated = self.decide_after_check(result)
            if gated:
                return deliver(gated) if deliver else gated

    def decide_after_check(self, result: Result) -> GateAnswer | None:
        """Decide by the ``result`` of one round: accept, refuse, or remove lines. Returns None if
        another round is needed.
        """
        if result.verdict is Verdict.UNDETERMINED:
            limit = self.question.timeout
            # What time left open may be open or not the next time.
            in_time = limit is None or sum(result.statistics.seconds.values()) < limit
            is_again = self.question.settings.mode == "split" and in_time
            if is_again and self._remove_open_lines(result):
                return None
            return self._refuse_batch(result, result.reason)
        if result.verdict is Verdict.CONSISTENT:
            blocked = self._forbidden_identities(result)
            if not blocked:
                return self._accept_remaining(result)
            if self.question.settings.mode == "reject":
                return self._refuse_batch(
                    result, "individuals become equal, and --identities block was asked for"
                )
            if not self._remove_identifying_lines(blocked):
                return self._refuse_batch(
                    result, "individuals become equal, and no line of the batch is to blame"
                )
            return None
        fresh = self.culprits.judge_conflicts(result, {*self.remaining_lines})
        if self.question.settings.mode == "reject" and any(
            self.culprits.judged_conflicts[i].judgement.blocks for i in fresh
        ):
            return self._refuse_batch(result, "")
        if not self.culprits.choose_lines():
            return self._refuse_batch(result, _no_culprit_reason(result))
        return None

    # --- what goes whatever else there is ---------------------------------------------------------

    def _remove_lines(self, out: Mapping[int, SetAsideLine]) -> None:
        """Set the lines ``out`` aside, by index; with ``--unit row``, all lines of their rows too."""
        self.removed_lines = {**out, **self.removed_lines}
        if self.culprits.unit == "row" and out:
            for i in self.batch.with_linked(out, "row").difference(self.removed_lines):
                self.removed_lines[i] = SetAsideLine(
                    self.batch.lines[i], "goes with a culprit: the same row", kind="unit"
                )

    def _remove_not_understood(self, **settings: str) -> bool:
        """Set aside the lines that were not understood and would block the verdict; repeat until
        there are none. Returns whether there were any.

        Repeats, because removing a line may change how others are understood.
        """
        begun = len(self.removed_lines)
        while True:
            before, out = len(self.removed_lines), dict[int, SetAsideLine]()
            for leftover, places in self.find_blocking(
                self.batch.check_inputs(self.remaining_lines), **settings
            ):
                for place in places:
                    for i in self.batch.with_linked(self.batch.lines_at_place(place)):
                        why = SetAsideLine(
                            self.batch.lines[i], leftover.message, (), leftover.kind, leftover.hint
                        )
                        out.setdefault(i, why)
            self._remove_lines(out)
            if len(self.removed_lines) == before:
                return before > begun

    def _remove_open_lines(self, result: Result) -> bool:
        """Set aside the lines that an undetermined check did not understand or decide. Returns True
        if there are any; False also if the time ended first.
        """
        try:
            is_reduced = self._remove_not_understood(outside="undetermined")
        except BatchNotReadError:
            return False
        return is_reduced or self._remove_undecided(result)

    def _remove_undecided(self, result: Result) -> bool:
        """Set aside the lines that the check left undecided. Returns whether there are any."""
        inside = {*self.remaining_lines}
        for candidates in undecided_insertions(result):
            found = {
                i: why
                for stated, why in candidates
                for i in self.batch.lines_stating(stated, inside) & inside
            }
            if found:
                lines = self.batch.lines
                self._remove_lines(
                    {
                        i: SetAsideLine(lines[i], f"not decided: {why}", (), "undecided")
                        for i, why in found.items()
                    }
                )
                return True
        return False

    def _forbidden_identities(self, result: Result) -> tuple[EqualIndividuals, ...]:
        """Record the individuals that the batch makes equal. Returns them if ``--identities block``
        forbids that, else an empty tuple.
        """
        self.identities = identities_of(result)
        return self.identities if self.question.settings.identities == "block" else ()

    def _remove_identifying_lines(self, found: Iterable[EqualIndividuals]) -> bool:
        """Set aside the lines that cause the equalities ``found``. Returns True if there are any."""
        inside = {*self.remaining_lines}
        said = {assertion for identity in found for assertion in assertions_in(identity.insertions)}
        lines = (
            frozenset().union(*(self.batch.lines_stating(assertion, inside) for assertion in said))
            & inside
        )
        unit = self.culprits.unit
        for i in self.batch.with_linked(lines, unit).difference(self.removed_lines):
            reason = (
                "makes individuals equal"
                if i in lines
                else f"goes with what makes individuals equal: the same {unit}"
            )
            self.removed_lines[i] = SetAsideLine(self.batch.lines[i], reason, kind="identity")
        return bool(lines)

    # --- the answer -------------------------------------------------------------------------------

    def _accept_remaining(self, result: Result) -> GateAnswer:
        """Accept the remaining lines, consistent by ``result``, unless too many are set aside."""
        if not self.quarantined_lines:
            return self._make_answer(
                ACCEPTED, result, self.remaining_lines, {}, self.tolerated_lines, ""
            )
        if reason := self._excess_reason():
            return self._refuse_batch(result, reason)
        return self._make_answer(
            SPLIT, result, self.remaining_lines, self.quarantined_lines, self.tolerated_lines, ""
        )

    def _excess_reason(self) -> str:
        """Reason why too much of the batch would be set aside; empty if it is within the limit."""
        if not any(self.batch.lines[i].triple for i in self.remaining_lines):
            return "nothing of the batch is left to accept"
        if (limit := self.question.settings.limit) is None:
            return ""
        quarantined, of = map(
            self.batch.count_assertions, (self.quarantined_lines, range(len(self.batch.lines)))
        )
        if limit.allows(quarantined, of=of):
            return ""
        return f"{quarantined:,} of {pluralize(of, 'assertion')} would be set aside, and --max-quarantine is {limit}"

    def _refuse_batch(self, result: Result, reason: str) -> GateAnswer:
        """Refuse the whole batch for ``reason``. Reasons for single lines are still reported."""
        known = {**self.tolerated_lines, **self.quarantined_lines}
        rows = {
            i: known.get(i) or SetAsideLine(line, WITH_THE_BATCH, kind="batch")
            for i, line in enumerate(self.batch.lines)
        }
        return self._make_answer(REFUSED, result, (), rows, {}, reason)

    def _verdict_on_batch(self, result: Result) -> Verdict:
        """Verdict on the batch as it came, lines set aside included; ``result`` is the last check."""
        verdicts = {result.verdict, (self.first_result or result).verdict}
        if self.culprits.judged_conflicts or Verdict.INCONSISTENT in verdicts:
            return Verdict.INCONSISTENT
        is_open = any(x.kind not in ("identity", "unit") for x in self.quarantined_lines.values())
        return (
            Verdict.UNDETERMINED
            if is_open or Verdict.UNDETERMINED in verdicts
            else Verdict.CONSISTENT
        )

    def _make_answer(
        self,
        decision: str,
        result: Result,
        accepted: Iterable[int],
        out: Mapping[int, SetAsideLine],
        beside: Mapping[int, SetAsideLine],
        reason: str,
    ) -> GateAnswer:
        """Make the gate's answer. ``out``: lines set aside, ``beside``: tolerated ones, by index."""
        found, lines = self.culprits, self.batch.lines
        inside = [lines[i] for i in self.remaining_lines]
        patterns = distinguish_titles([x.pattern for x in found.judged_conflicts])
        answer = GateAnswer(
            decision,
            self._verdict_on_batch(result),
            self.batch.with_source_positions(result),
            BatchPartition(
                self.batch.names,
                tuple(lines[i] for i in accepted),
                tuple(out[i] for i in sorted(out)),
                tuple(beside[i] for i in sorted(beside)),
            ),
            tuple(
                replace(
                    x,
                    conflict=self.batch.conflict_with_source_positions(x.conflict),
                    pattern=pattern,
                )
                for x, pattern in zip(found.judged_conflicts, patterns)
            ),
            reason,
            self.rounds,
            self.identities,
            self.question.run,
            self.question.settings.dry_run,
            self.question.settings.identities,
            self.find_ledger_conflicts(inside) if decision != REFUSED else (),
            found.is_proven,
        )
        return self.add_pending_hints(answer)


def _no_culprit_reason(result: Result) -> str:
    """Reason for refusing a batch that is inconsistent although no line of it can be blamed."""
    if not result.conflicts:
        return (
            "no conflict was explained, so that no culprit is known: allow more time or conflicts"
        )
    return result.reason or "a conflict has no line of the batch to blame: see conflicts"

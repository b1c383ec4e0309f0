"""Taking the good part of a batch: what ``shiq gate`` does.

A batch is accepted as a whole, or the insertions that take part in a contradiction are set aside
and the rest is accepted: every line goes to one side, as it was written. What is accepted has
been checked as it is then written, so it does not rest on the culprits being all of them: they
are taken out, round by round, until a check says `consistent`.

Which lines are set aside follows from the set of triples alone, not from their order: what was
not understood or not decided, and all insertions of all minimal conflicts, since nothing tells
which of them is the wrong one, or a smallest set of lines that breaks every conflict
(`jobs.gate.culprits`). A line that takes part in conflicts alone that a policy lets pass
(`jobs.gate.waivers`) is tolerated: not accepted, since what contradicts is never certified, and
no reason to hold the batch up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

from jobs.checking.inputs import input_sources, noted, with_leftovers
from jobs.checking.options import EXPLAIN_SECONDS, Options, settings_of
from jobs.checking.session import Approval
from jobs.gate.batch import UNITS, GateBatch, assertions_in
from jobs.gate.culprits import ALL, LEAST, Culprits
from jobs.gate.disputes import disputes
from jobs.gate.gated import ACCEPTED, REFUSED, SPLIT, WITH_THE_BATCH, GateAnswer, SetAsideLine
from jobs.gate.hints import expecting_hints, with_hints
from jobs.gate.identities import EqualIndividuals, identities_of
from jobs.gate.lines import Line, digest_of, read_lines, said_by
from jobs.gate.quarantine_limit import QuarantineLimit, parse_limit
from jobs.gate.waivers import Policy
from jobs.repair.undecided import undecided_insertions
from shiq.amounts import count
from shiq.aside import Aside
from shiq.check import Session
from shiq.conflict import Conflict
from shiq.errors import InputError, UsageError
from shiq.explanation import told_apart
from shiq.reading import Place
from shiq.remote.inputs import at_one_moment
from shiq.result import Result
from shiq.sources import TableSource
from shiq.verdict import Leftover, Verdict

MODES: Final = ("reject", "split")
ASIDES: Final = (ALL, LEAST)
#: What to do about individuals that the batch makes equal: say so with -v alone, say so, or set
#: aside what makes them equal.
IDENTITIES: Final = ("allow", "warn", "block")
Deliver: TypeAlias = Callable[[GateAnswer], None]


@at_one_moment()
def gate(
    session: Session,
    insertions: Sequence[str | TableSource],
    deletions: Sequence[str | TableSource] = (),
    *,
    mode: str = "reject",
    unit: str = "triple",
    aside: str = ALL,
    max_quarantine: QuarantineLimit | int | str | None = None,
    commit: bool = False,
    policy: Policy | None = None,
    identities: str = "warn",
    require_nonempty: bool = False,
    dry_run: bool = False,
    deliver: Deliver | None = None,
    announce: Deliver | None = None,
    explain_seconds: float | None = EXPLAIN_SECONDS,
    taken: Mapping[str, int] | None = None,
    hints_first: bool = False,
    **settings: Any,
) -> GateAnswer:
    """Accepts the batch of ``insertions`` (files that `read_lines` knows; with the engine spark
    tables, which are read once) and ``deletions``; with ``mode`` ``split`` the part of the
    insertions that is left when what was not understood or not decided is set aside, and of
    conflicts what ``aside`` says, each line with its ``unit``. ``commit``: what is accepted goes
    into the store, and what is tolerated into its ledger; ``deliver`` is called once before
    that, to write what was decided down. ``dry_run``: neither. ``taken``: see `Session.check`.
    What is far away is read at one moment. Settings: `check_insertions`.

    Last, other spellings are looked for of lines that were set aside, for ``explain_seconds``
    (None: as long as it takes). Where there is something to look for, ``announce`` is called
    before with the answer, which stands from then on: Ctrl-C ends the search, not the call.
    ``hints_first``: they are looked for before ``deliver`` is called.

    Refused as a whole where a check stays undetermined by what is not in the batch, where a
    contradiction has no line of the batch to blame, with ``mode`` ``reject``, where no line is
    left to accept, and where more would be set aside than ``max_quarantine`` allows
    (`parse_limit`). Stops because each round takes a line out, or meets a conflict for the first
    time.

    Raises: UsageError for unknown names or syntaxes, InputError for files that cannot be read,
    or that ``require_nonempty`` and have no triple.
    """
    names = (
        ("mode", mode, MODES),
        ("unit", unit, UNITS),
        ("aside", aside, ASIDES),
        ("identities", identities, IDENTITIES),
    )
    for what, value, known in names:
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", f"Known: {', '.join(known)}.")
    if max_quarantine is not None and mode != "split":
        raise UsageError(
            "--max-quarantine bounds what --mode split sets aside",
            "Ask for --mode split, or leave --max-quarantine out.",
        )
    limit = (
        max_quarantine
        if isinstance(max_quarantine, QuarantineLimit | None)
        else parse_limit(max_quarantine)
    )
    options = Options(**settings_of({**settings, "explain_seconds": explain_seconds}))
    # Which lines go must not hang on time: every conflict is explained, however long it takes.
    asked_for = {**settings, "explain_seconds": None}
    coming, going = (
        [
            source if isinstance(source, TableSource) else str(source)
            for source in input_sources(list(given), options)
        ]
        for given in (insertions, deletions)
    )
    called = [source.name if isinstance(source, TableSource) else source for source in insertions]
    read = [read_lines(source, i) for i, source in enumerate(coming)]
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
            mode,
            unit,
            aside,
            identities,
            policy.digest,
            [*map(digest_of, going)],
            limit,
        )
    )
    run = hashlib.sha256(asked.encode())
    for line in lines:
        run.update(b"%d %d " % (line.file, line.number) + line.raw)
    batch = GateBatch(called, lines)
    culprits = Culprits(batch, policy, unit, aside)
    left = partial(session.left, **asked_for)

    def check(files: Sequence[object], before_commit: Approval, **more: Any) -> Result:
        def approve(result: Result) -> Collection[Aside] | None:
            return before_commit(with_leftovers(result, told, options))

        result = session.check(
            files, going, before_commit=approve, taken=taken, **{**asked_for, **more}
        )
        return with_leftovers(noted(result, coming), told, options)

    name = run.hexdigest()[:16]
    mark = partial(expecting_hints, options=options)
    gating = _Gating(
        batch, culprits, check, left, options.timeout, mode, identities, name, dry_run, mark, limit
    )
    if session.asides:
        rows = [row for row in session.asides if row.alone != session.tbox_hash]
        gating.against = partial(
            disputes, session.tbox, ledger=rows, reasoner=settings.get("reasoner", "auto")
        )
        gating.know(session.asides, session.tbox_hash)

    def add_hints(answer: GateAnswer) -> GateAnswer:
        return with_hints(answer, session, batch, going, options, announce)

    def deliver_with_hints(answer: GateAnswer) -> GateAnswer:
        found = add_hints(answer) if hints_first else answer
        if deliver:
            deliver(found)
        return found

    return add_hints(gating.decide(commit and not dry_run, None if dry_run else deliver_with_hints))


def _require_triples(names: Sequence[str], lines: Sequence[Line]) -> None:
    full = {line.file for line in lines if line.triple}
    for i, name in enumerate(names):
        if i not in full:
            raise InputError(
                f"{name}: has no triple",
                "Was it delivered whole? Leave --require-nonempty out if that is meant.",
            )


@dataclass
class _Gating:
    """State of a gate at work: what was taken out and why, beside what conflicts cost;
    ``check``, ``left``: of the session, with the settings; ``mark``: says in the answer what is
    still to be looked for.
    """

    batch: GateBatch
    culprits: Culprits
    check: Callable[..., Result]
    left: Callable[..., Sequence[tuple[Leftover, tuple[Place, ...]]]]
    timeout: float | None
    mode: str
    merging: str
    run: str
    dry_run: bool
    mark: Callable[[GateAnswer], GateAnswer]
    limit: QuarantineLimit | None = None
    taken: dict[int, SetAsideLine] = field(default_factory=dict)
    known: dict[int, SetAsideLine] = field(default_factory=dict)
    against: Callable[[list[Line]], tuple[Conflict, ...]] = lambda lines: ()
    identities: tuple[EqualIndividuals, ...] | None = None
    first: Result | None = None
    rounds: int = 0

    @property
    def outside(self) -> Mapping[int, SetAsideLine]:
        return {**self.culprits.out, **self.taken}

    @property
    def beside(self) -> Mapping[int, SetAsideLine]:
        return {
            i: x for i, x in {**self.culprits.beside, **self.known}.items() if i not in self.taken
        }

    @property
    def inside(self) -> list[int]:
        """The places of the lines that are still in."""
        gone = self.outside.keys() | self.beside.keys()
        return [i for i in range(len(self.batch.lines)) if i not in gone]

    def know(self, ledger: Iterable[Aside], tbox_hash: str) -> None:
        """Takes note of what the store has set aside; a line that says again what contradicts
        the axioms alone stays so.
        """
        held = {}
        for row in ledger:
            for text in row.triples:
                triple = said_by(text)
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
                self.known[i] = SetAsideLine(
                    line, "known: it contradicts the ontology by itself", kind="known"
                )
        if self.culprits.unit == "row" and self.known:
            for i in self.batch.around(self.known, "row").difference(self.known):
                self.known[i] = SetAsideLine(
                    self.batch.lines[i], "goes with what is known: the same row", kind="unit"
                )

    def decide(
        self, commit: bool, deliver: Callable[[GateAnswer], GateAnswer] | None
    ) -> GateAnswer:
        """Rounds of checks, until what is left is consistent or the batch is refused.
        ``deliver`` gives what it delivered.
        """
        if self.mode == "split":
            self._take_broken()
            self._take_not_understood()
        delivered: list[GateAnswer] = []

        def approve(result: Result) -> Collection[Aside] | None:
            is_open = result.verdict is not Verdict.CONSISTENT
            answer = None if is_open or self._blocked(result) else self._settled(result)
            if answer is None or answer.decision == REFUSED:
                return None
            delivered.append(deliver(answer) if deliver else answer)
            return list(self.culprits.asides.values())

        while True:
            self.rounds += 1
            result = self.check(
                self.batch.sources(self.inside), commit=commit, before_commit=approve
            )
            self.first = self.first or result
            if delivered:
                return replace(delivered[0], result=self.batch.with_rows(result))
            gated = self._round(result)
            if gated:
                return deliver(gated) if deliver else gated

    def _round(self, result: Result) -> GateAnswer | None:
        """What is decided after a check; None if it takes another one."""
        if result.verdict is Verdict.UNDETERMINED:
            # What time left open may be open or not the next time.
            in_time = self.timeout is None or sum(result.statistics.seconds.values()) < self.timeout
            if (
                self.mode == "split"
                and in_time
                and (
                    self._take_not_understood(outside="undetermined")
                    or self._take_undecided(result)
                )
            ):
                return None
            return self._refused(result, result.reason)
        if result.verdict is Verdict.CONSISTENT:
            blocked = self._blocked(result)
            if not blocked:
                return self._settled(result)
            if self.mode == "reject":
                return self._refused(
                    result, "individuals become equal, and --identities block was asked for"
                )
            if not self._take_merging(blocked):
                return self._refused(
                    result, "individuals become equal, and no line of the batch is to blame"
                )
            return None
        fresh = self.culprits.judge(result, {*self.inside})
        if self.mode == "reject" and any(self.culprits.judgements[i].blocks for i in fresh):
            return self._refused(result, "")
        if not self.culprits.choose():
            return self._refused(result, _nobody(result))
        return None

    # --- what goes whatever else there is ---------------------------------------------------------

    def _take_broken(self) -> None:
        lines = enumerate(self.batch.lines)
        self._take(
            {
                i: SetAsideLine(x, f"not a triple: {x.problem}", kind="malformed")
                for i, x in lines
                if x.problem
            }
        )

    def _take(self, out: Mapping[int, SetAsideLine]) -> None:
        """Takes lines out; of a row of a table, if rows go whole, the others as well."""
        self.taken = {**out, **self.taken}
        if self.culprits.unit == "row" and out:
            for i in self.batch.around(out, "row").difference(self.taken):
                self.taken[i] = SetAsideLine(
                    self.batch.lines[i], "goes with a culprit: the same row", kind="unit"
                )

    def _take_not_understood(self, **settings: str) -> bool:
        """Takes the lines out that stand in the way of `consistent` as they are read, until none
        does; whether there were any. Whether a line is understood may depend on others.
        """
        begun = len(self.taken)
        while True:
            before, out = len(self.taken), dict[int, SetAsideLine]()
            for leftover, places in self.left(self.batch.sources(self.inside), **settings):
                for place in places:
                    for i in self.batch.around(self.batch.at(place)):
                        why = SetAsideLine(
                            self.batch.lines[i], leftover.message, (), leftover.kind, leftover.hint
                        )
                        out.setdefault(i, why)
            self._take(out)
            if len(self.taken) == before:
                return before > begun

    def _take_undecided(self, result: Result) -> bool:
        """Takes the lines out of what a check left undecided; whether there are any."""
        inside = {*self.inside}
        for candidates in undecided_insertions(result):
            found = {
                i: why
                for stated, why in candidates
                for i in self.batch.stated(stated, inside) & inside
            }
            if found:
                lines = self.batch.lines
                self._take(
                    {
                        i: SetAsideLine(lines[i], f"not decided: {why}", (), "undecided")
                        for i, why in found.items()
                    }
                )
                return True
        return False

    def _blocked(self, result: Result) -> tuple[EqualIndividuals, ...]:
        """The identities that may not be; takes note of all."""
        self.identities = identities_of(result)
        return self.identities if self.merging == "block" else ()

    def _take_merging(self, found: Iterable[EqualIndividuals]) -> bool:
        """Takes the lines of the batch out that make individuals equal; whether there are any."""
        inside = {*self.inside}
        said = {assertion for identity in found for assertion in assertions_in(identity.insertions)}
        lines = (
            frozenset().union(*(self.batch.stated(assertion, inside) for assertion in said))
            & inside
        )
        unit = self.culprits.unit
        for i in self.batch.around(lines, unit).difference(self.taken):
            reason = (
                "makes individuals equal"
                if i in lines
                else f"goes with what makes individuals equal: the same {unit}"
            )
            self.taken[i] = SetAsideLine(self.batch.lines[i], reason, kind="identity")
        return bool(lines)

    # --- the answer -------------------------------------------------------------------------------

    def _settled(self, result: Result) -> GateAnswer:
        """Decide about a batch of which the rest is consistent, as ``result`` says."""
        if not self.outside:
            return self._answer(ACCEPTED, result, self.inside, {}, self.beside, "")
        if reason := self._too_much():
            return self._refused(result, reason)
        return self._answer(SPLIT, result, self.inside, self.outside, self.beside, "")

    def _too_much(self) -> str:
        """Why what is set aside is too much of the batch; empty where it is not."""
        if not any(self.batch.lines[i].triple for i in self.inside):
            return "nothing of the batch is left to accept"
        if self.limit is None:
            return ""
        quarantined, of = map(
            self.batch.count_assertions, (self.outside, range(len(self.batch.lines)))
        )
        if self.limit.allows(quarantined, of=of):
            return ""
        return f"{quarantined:,} of {count(of, 'assertion')} would be set aside, and --max-quarantine is {self.limit}"

    def _refused(self, result: Result, reason: str) -> GateAnswer:
        """Nothing is accepted; what is known of single lines is told all the same."""
        known = {**self.beside, **self.outside}
        rows = {
            i: known.get(i) or SetAsideLine(line, WITH_THE_BATCH, kind="batch")
            for i, line in enumerate(self.batch.lines)
        }
        return self._answer(REFUSED, result, (), rows, {}, reason)

    def _verdict(self, result: Result) -> Verdict:
        """The verdict on the whole batch, of which ``result`` is the last check."""
        verdicts = {result.verdict, (self.first or result).verdict}
        if self.culprits.conflicts or Verdict.INCONSISTENT in verdicts:
            return Verdict.INCONSISTENT
        is_open = any(x.kind not in ("identity", "unit") for x in self.outside.values())
        return (
            Verdict.UNDETERMINED
            if is_open or Verdict.UNDETERMINED in verdicts
            else Verdict.CONSISTENT
        )

    def _answer(
        self,
        decision: str,
        result: Result,
        accepted: Iterable[int],
        out: Mapping[int, SetAsideLine],
        beside: Mapping[int, SetAsideLine],
        reason: str,
    ) -> GateAnswer:
        found, lines = self.culprits, self.batch.lines
        inside = [lines[i] for i in self.inside]
        answer = GateAnswer(
            decision,
            self._verdict(result),
            self.batch.with_rows(result),
            self.batch.names,
            tuple(lines[i] for i in accepted),
            tuple(out[i] for i in sorted(out)),
            tuple(map(self.batch.with_row, found.conflicts)),
            reason,
            self.rounds,
            tuple(beside[i] for i in sorted(beside)),
            tuple(told_apart(found.patterns)),
            tuple(found.sentences),
            tuple(found.judgements),
            self.identities,
            self.run,
            self.dry_run,
            self.merging,
            self.against(inside) if decision != REFUSED else (),
            found.is_proven,
        )
        return self.mark(answer)


def _nobody(result: Result) -> str:
    if not result.conflicts:
        return (
            "no conflict was explained, so that no culprit is known: allow more time or conflicts"
        )
    return result.reason or "a conflict has no line of the batch to blame: see conflicts"

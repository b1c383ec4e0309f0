"""Taking the good part of a batch: what ``shiq gate`` does.

A batch is accepted as a whole, or the insertions that take part in a contradiction are set aside and the rest is accepted: every
line goes to one side, as it was written. What is accepted has been checked as it is then written, so it does not rest on the
culprits being all of them: they are taken out, round by round, until a check says `consistent`.

Which lines are set aside follows from the set of triples alone, not from their order: all insertions of all minimal conflicts,
since nothing tells which of them is the wrong one. A line that takes part in conflicts alone that a policy lets pass
(`jobs.gate.waivers`) is tolerated: not accepted, since what contradicts is never certified, and no reason to hold the batch up.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from jobs.gate.disputes import disputes
from jobs.gate.gated import ACCEPTED, REFUSED, SPLIT, WITH_THE_BATCH, Gated, SetAside
from jobs.gate.identities import Identity, identities_of
from jobs.gate.lines import Line, Triple, bare_name, file_of, is_plain, key_of, read_lines, said_by, spaced_text
from jobs.gate.waivers import KNOWN, WAIVED, Judgement, Policy
from shiq import aside
from shiq.aside import Aside
from shiq.check import Session
from shiq.conflict import Conflict
from shiq.errors import InputError, UsageError
from shiq.explanation import Pattern
from shiq.result import Result
from shiq.verdict import Verdict

MODES: Final = ("reject", "split")
#: What is set aside together with a culprit: the triple alone, all triples with its subject, its named graph, or its document.
UNITS: Final = ("triple", "subject", "graph", "document")
#: What to do about individuals that the batch makes equal: say so with -v alone, say so, or set aside what makes them equal.
IDENTITIES: Final = ("allow", "warn", "block")
Deliver: TypeAlias = Callable[[Gated], None]


def gate(
    session: Session,
    insertions: Sequence[str],
    deletions: Sequence[str] = (),
    *,
    mode: str = "reject",
    unit: str = "triple",
    commit: bool = False,
    policy: Policy | None = None,
    identities: str = "warn",
    require_nonempty: bool = False,
    dry_run: bool = False,
    deliver: Deliver | None = None,
    **settings: Any,
) -> Gated:
    """Accepts the batch of ``insertions`` (files that `read_lines` knows) and ``deletions``; with ``mode`` ``split`` the part of
    the insertions that is left when culprits are set aside, each with its ``unit``. ``commit``: what is accepted goes into the
    store, and what is tolerated into its ledger; ``deliver`` is called once before that, to write what was decided down.
    ``dry_run``: neither. Settings as in `check_insertions`.

    Refused as a whole where a check stays undetermined, where a contradiction has no single triple of the batch to blame, and
    with ``mode`` ``reject``. Stops because each round takes a line out.

    Raises: UsageError for unknown names or syntaxes, InputError for files that cannot be read, or that ``require_nonempty`` and
    have no triple.
    """
    for what, value, known in (("mode", mode, MODES), ("unit", unit, UNITS), ("identities", identities, IDENTITIES)):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", f"Known: {', '.join(known)}.")
    lines = [line for i, name in enumerate(insertions) for line in read_lines(name, i)]
    if require_nonempty:
        _require_triples(insertions, lines)
    policy = policy or Policy()
    # Which lines go must not hang on time: every conflict is explained, however long it takes.
    asked_for = {"explain_seconds": None, **settings}
    asked = repr((session.identity, mode, unit, identities, policy.digest, [_digest(name) for name in deletions]))
    run = hashlib.sha256(asked.encode())
    for line in lines:
        run.update(b"%d %d " % (line.file, line.number) + line.raw)
    gating = _Gating(tuple(insertions), lines, mode, unit, policy, identities, run.hexdigest()[:16], dry_run)
    if session.asides:
        rows = [row for row in session.asides if row.alone != session.tbox_hash]
        gating.against = partial(disputes, session.tbox, ledger=rows, reasoner=settings.get("reasoner", "auto"))
        gating.know(session.asides, session.tbox_hash)
    return gating.decide(partial(session.check, deletions=list(deletions), **asked_for), commit and not dry_run, deliver)


def _require_triples(names: Sequence[str], lines: Sequence[Line]) -> None:
    full = {line.file for line in lines if line.triple}
    for i, name in enumerate(names):
        if i not in full:
            raise InputError(f"{name}: has no triple", "Was it delivered whole? Leave --require-nonempty out if that is meant.")


def _digest(name: str) -> str:
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}", "Name a file that can be read.") from error


@dataclass
class _Gating:
    """What is still in, and what was taken out and why."""

    names: tuple[str, ...]
    lines: list[Line]
    mode: str
    unit: str
    policy: Policy
    merging: str
    run: str
    dry_run: bool
    inside: list[Line] = field(default_factory=list)
    outside: dict[Line, SetAside] = field(default_factory=dict)
    beside: dict[Line, SetAside] = field(default_factory=dict)
    asides: dict[str, Aside] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    patterns: list[Pattern] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    ledger: dict[Triple, Aside] = field(default_factory=dict)
    against: Callable[[list[Line]], tuple[Conflict, ...]] = lambda lines: ()
    identities: tuple[Identity, ...] | None = None
    first: Result | None = None
    rounds: int = 0

    def __post_init__(self) -> None:
        self.inside = list(self.lines)

    def know(self, ledger: Iterable[Aside], tbox_hash: str) -> None:
        """Takes note of what the store has set aside; a line that says again what contradicts the axioms alone stays so."""
        for row in ledger:
            for text in row.triples:
                triple = said_by(text)
                # A blank node of a batch is none of the base.
                if triple and "_:" not in (triple[0][:2], triple[2][:2]) and not row.is_expired(self.policy.today):
                    self.ledger[triple] = row
        for line in self.inside:
            said_before = self.ledger.get(line.triple) if line.triple else None
            if said_before and said_before.alone == tbox_hash:
                self.beside[line] = SetAside(line, "known: it contradicts the ontology by itself")
        self._leave()

    def decide(self, check: Callable[..., Result], commit: bool, deliver: Deliver | None) -> Gated:
        """Rounds of checks, until what is left is consistent or the batch is refused."""
        if self.mode == "split":
            self._take_out(SetAside(line, f"not a triple: {line.problem}") for line in self.lines if line.problem)
        delivered: list[Gated] = []

        def approve(result: Result) -> Collection[Aside] | None:
            if self._blocked(result):
                return None
            delivered.append(self._gated(result))
            if deliver:
                deliver(delivered[0])
            return list(self.asides.values())

        while True:
            self.rounds += 1
            result = self._checked(partial(check, commit=commit, before_commit=approve))
            self.first = self.first or result
            if delivered:
                return replace(delivered[0], result=result)
            gated = self._round(result)
            if gated:
                if deliver and not self.dry_run:
                    deliver(gated)
                return gated

    def _round(self, result: Result) -> Gated | None:
        """What is decided after a check; None if it takes another one."""
        if result.verdict is Verdict.UNDETERMINED:
            return self._refused(result, result.reason)
        if result.verdict is Verdict.CONSISTENT:
            blocked = self._blocked(result)
            if not blocked:
                return self._gated(result)
            if self.mode == "reject":
                return self._refused(result, "individuals become equal, and --identities block was asked for")
            found = self._merging_lines(blocked)
            if not found:
                return self._refused(result, "individuals become equal, and no single triple of the batch is to blame")
            self._take_out(self._with_units(found, "goes with what makes individuals equal"))
            return None
        fresh = self._judge(result)
        if self.mode == "reject" and any(self.judgements[i].blocks for i in fresh):
            return self._refused(result, "")
        if not self._take_culprits(fresh):
            return self._refused(result, _nobody(result))
        return None

    # --- conflicts ---------------------------------------------------------------------------------

    def _judge(self, result: Result) -> range:
        """Takes note of the conflicts of ``result``; gives their places."""
        begun = len(self.conflicts)
        for i, conflict in enumerate(result.conflicts):
            pattern = result.explained.pattern(i)
            self.sentences.append(result.explained.sentence(i))
            insertions = [triple for text in conflict.insertions if (triple := said_by(text))]
            judged = self.policy.judge(insertions, pattern.id, pattern.rule)
            if any(triple in self.ledger for triple in insertions):
                judged = Judgement(KNOWN)
            self.conflicts.append(conflict)
            self.patterns.append(pattern)
            self.judgements.append(judged)
        return range(begun, len(self.conflicts))

    def _take_culprits(self, places: Iterable[int]) -> bool:
        """Takes the lines of the conflicts at ``places`` out, and what goes with them; whether there are any. Of a known conflict
        the line that the store had set aside goes, no other."""
        by_triple: dict[tuple[int, Triple], list[Line]] = defaultdict(list)
        for line in self.inside:
            if line.triple:
                by_triple[key_of(line)].append(line)
        out: dict[Line, list[int]] = defaultdict(list)
        beside: dict[Line, list[int]] = defaultdict(list)
        texts: dict[Line, str] = {}
        for i in places:
            for text in self.conflicts[i].insertions:
                triple, file = said_by(text), file_of(text)
                if not triple or (self.judgements[i].effect == KNOWN and triple not in self.ledger):
                    continue
                for line in by_triple.get((file, triple), ()):
                    (out if self.judgements[i].blocks else beside)[line].append(i)
                    texts[line] = text
        self._take_out(self._with_units([SetAside(x, "takes part in a contradiction", tuple(n)) for x, n in out.items()], ""))
        for line, numbers in beside.items():
            if line not in self.outside:
                judged = self.judgements[numbers[0]]
                self.beside[line] = SetAside(line, str(judged), tuple(numbers))
                self.asides[texts[line]] = self._aside(texts[line], numbers[0])
        self._leave()
        return bool(out or beside)

    def _aside(self, text: str, place: int) -> Aside:
        """The row of the store's ledger for a tolerated line."""
        judged, pattern = self.judgements[place], self.patterns[place]
        triple = said_by(text)
        if judged.effect == KNOWN and triple in self.ledger:
            return self.ledger[triple]
        why = aside.WAIVED if judged.effect == WAIVED else aside.WARNED
        waiver = judged.waiver
        if waiver is None:
            return Aside((text,), why, pattern.id, pattern.rule)
        return Aside((text,), why, pattern.id, pattern.rule, waiver.owner, waiver.reason, waiver.expires.isoformat())

    def _with_units(self, found: list[SetAside], reason: str) -> list[SetAside]:
        """``found``, and what is set aside together with it."""
        if self.unit == "triple":
            return found
        culprits = {x.line for x in found}
        units = {self._unit(line) for line in culprits}
        reason = reason or "goes with a culprit"
        others = (x for x in self.inside if x not in culprits and x.triple and self._unit(x) in units)
        return [*found, *(SetAside(line, f"{reason}: the same {self.unit}") for line in others)]

    def _unit(self, line: Line) -> object:
        if self.unit == "graph":
            return (line.file, line.graph) if line.graph.startswith("_:") else line.graph
        if self.unit == "document" or not line.triple:
            return line.file
        return (line.file, line.triple[0]) if line.triple[0].startswith("_:") else line.triple[0]

    def _take_out(self, found: Iterable[SetAside]) -> None:
        for x in found:
            self.outside.setdefault(x.line, x)
        self._leave()

    def _leave(self) -> None:
        self.inside = [line for line in self.inside if line not in self.outside and line not in self.beside]

    # --- identities --------------------------------------------------------------------------------

    def _blocked(self, result: Result) -> tuple[Identity, ...]:
        """The identities that may not be; takes note of all."""
        self.identities = identities_of(result)
        return self.identities if self.merging == "block" else ()

    def _merging_lines(self, found: Iterable[Identity]) -> list[SetAside]:
        """The lines of the batch that make individuals equal."""
        wanted = {(file_of(text), said_by(text)) for identity in found for text in identity.insertions}
        lines = [line for line in self.inside if line.triple and key_of(line) in wanted]
        return [SetAside(line, "makes individuals equal") for line in lines]

    # --- the check and the answer ------------------------------------------------------------------

    def _checked(self, check: Callable[..., Result]) -> Result:
        """The check of what is still inside. An untouched batch of lines is checked as it stands."""
        if all(map(is_plain, self.names)) and not self.outside and not self.beside:
            return check(list(self.names))
        with tempfile.TemporaryDirectory(prefix="shiq-gate-") as folder:
            files = []
            for i, name in enumerate(self.names):
                file = Path(folder) / f"{i}-{bare_name(name)}"
                file.write_bytes(b"".join(spaced_text(line for line in self.inside if line.file == i)))
                files.append(str(file))
            return _renamed(check(files), dict(zip(files, self.names)))

    def _gated(self, result: Result) -> Gated:
        first = self.first or result
        decision = SPLIT if self.outside else ACCEPTED
        return self._answer(decision, first.verdict, result, self.inside, self.outside.values(), self.beside.values(), "")

    def _refused(self, result: Result, reason: str) -> Gated:
        """Nothing is accepted; what is known of single lines is told all the same."""
        first = self.first or result
        known = {**self.beside, **self.outside}
        rows = [known.get(line) or SetAside(line, WITH_THE_BATCH) for line in self.lines]
        verdicts = (first.verdict, result.verdict)
        verdict = Verdict.INCONSISTENT if Verdict.INCONSISTENT in verdicts or self.conflicts else Verdict.UNDETERMINED
        if result.verdict is Verdict.CONSISTENT and not self.conflicts:
            verdict = Verdict.CONSISTENT
        return self._answer(REFUSED, verdict, result, (), rows, (), reason)

    def _answer(
        self,
        decision: str,
        verdict: Verdict,
        result: Result,
        accepted: Iterable[Line],
        out: Iterable[SetAside],
        beside: Iterable[SetAside],
        reason: str,
    ) -> Gated:
        return Gated(
            decision,
            verdict,
            result,
            self.names,
            tuple(accepted),
            tuple(sorted(out, key=_place)),
            tuple(self.conflicts),
            reason,
            self.rounds,
            tuple(sorted(beside, key=_place)),
            tuple(self.patterns),
            tuple(self.sentences),
            tuple(self.judgements),
            self.identities,
            self.run,
            self.dry_run,
            self.merging,
            self.against(self.inside) if decision != REFUSED else (),
        )


def _place(x: SetAside) -> tuple[int, int]:
    return x.line.file, x.line.number


def _nobody(result: Result) -> str:
    if not result.conflicts:
        return "no conflict was explained, so that no culprit is known: allow more time or conflicts"
    return result.reason or "a conflict has no single triple of the batch to blame: see conflicts"


def _renamed(result: Result, names: dict[str, str]) -> Result:
    """``result`` with the names that the caller knows, instead of those of files that were made for the check."""

    def told(text: str) -> str:
        for file, name in names.items():
            text = text.replace(file, name)
        return text

    leftovers = tuple(replace(x, source=told(x.source), message=told(x.message)) for x in result.evidence.leftovers)
    conflicts = tuple(
        replace(c, places=tuple(tuple(replace(p, source=told(p.source)) for p in places) for places in c.places))
        for c in result.conflicts
    )
    evidence = replace(result.evidence, leftovers=leftovers)
    return replace(result, reason=told(result.reason), conflicts=conflicts, evidence=evidence)

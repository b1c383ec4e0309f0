"""Settle axioms and assertions outside SHIQ(D): find out whether the data can reach them, and if so
ask HermiT about all of T and A.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from shiq.abox_ops.conflicts.subset_search import SubsetSearch
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.outside_question import ask_question, write_question
from shiq.answers.result import Conflict
from shiq.answers.verdict import UNKNOWN_DATATYPE, Leftover, Verdict, is_blocking
from shiq.errors import UsageError
from shiq.jobs.checking.base import Explanation, Findings, InputBatch, OpenBase
from shiq.jobs.checking.inputs import (
    OUT_OF_REACH_KIND,
    OUTSIDE_KIND,
    is_outside_shiq,
    remove_deleted_assertions,
    vocabulary_of,
)
from shiq.jobs.checking.options import ASK_HERMIT, Options
from shiq.model import Assertion, Axiom
from shiq.model.role_words import IrregularRolesError
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.protocol import OPAQUE, Answer, SendingReasoner
from shiq.simplify.locality import ReachableAxioms, names_of, select_reachable_axioms
from shiq.support import pluralize as count_of

#: Seconds for the whole question where no time-out is given; and how many assertions it has at most
#: then. HermiT seldom ends with more in that time.
HERMIT_SECONDS = 600.0
MOST_ASSERTIONS = 20_000

#: For that many vocabularies of batches what they reach is kept.
MOST_CACHED_REACHES = 32


def settle_outside(
    base: OpenBase,
    batch: InputBatch,
    found: Findings,
    leftovers: tuple[Leftover, ...],
    options: Options,
    decider: Decider,
    seconds: float | None,
    announce: Callable[[], None],
) -> tuple[Findings, tuple[Leftover, ...], tuple[Leftover, ...]]:
    """Settle in ``found`` each axiom and assertion outside SHIQ(D): it is irrelevant, decided by
    HermiT, or a reason for `undetermined`.

    Returns: the findings, and the leftovers of base and of batch that remain.
    """
    of_base = [
        x
        for x in (
            remove_deleted_assertions(x, batch.deleted_left_out)
            for x in options.known.mark(base.leftovers)
        )
        if x is not None
    ]
    leftovers = options.known.mark(leftovers)
    if not any(map(is_outside_shiq, (*of_base, *leftovers))):
        return found, tuple(of_base), leftovers
    axioms = tuple(
        dict.fromkeys(
            v for x in of_base if is_outside_shiq(x) for v in x.values if isinstance(v, Axiom)
        )
    )
    assertions = [
        v
        for x in (*of_base, *leftovers)
        if is_outside_shiq(x)
        for v in x.values
        if not isinstance(v, Axiom)
    ]
    everything = (*base.tbox.axioms, *axioms)
    places = _find_reachable(
        base, axioms, vocabulary_of(batch.insertions) | names_of(assertions)
    ).places
    within = frozenset(everything[i] for i in places if i >= len(base.tbox.axioms))
    of_base = [_mark_out_of_reach(x, within) for x in of_base]
    of_batch = [_mark_out_of_reach(x, within) for x in leftovers]
    open_ = [
        x
        for x in (*of_base, *of_batch)
        if is_outside_shiq(x) and is_blocking(x, options.allow, options.fail_on)
    ]
    if not open_ or found.refuted_count or options.outside != ASK_HERMIT:
        return found, tuple(of_base), tuple(of_batch)
    said = frozenset(v for x in open_ for v in x.values)
    asked = [everything[i] for i in places if i < len(base.tbox.axioms) or everything[i] in said]
    whole = _FullQuestion(
        base,
        batch,
        [*asked],
        [v for v in assertions if v in said],
        options,
        decider,
        seconds,
        announce,
    )
    settled = () if OUTSIDE_KIND in options.fail_on else open_
    of_base, of_batch = ([x for x in told if x not in settled] for told in (of_base, of_batch))
    return whole.settle(found, open_), tuple(of_base), tuple(of_batch)


def _find_reachable(
    base: OpenBase, axioms: tuple[Axiom, ...], names: frozenset[str]
) -> ReachableAxioms:
    """Select from T and ``axioms`` what can matter to data that uses the vocabulary of A and
    ``names``.
    """
    everything, key = (*base.tbox.axioms, *axioms), (len(base.tbox.axioms), axioms)
    if key not in base.reach:
        base.reach[key] = select_reachable_axioms(everything, base.vocabulary())
    known = base.reach[key]
    more = names - known.names
    if not more:
        return known
    further = (*key, more)
    if further not in base.reach:
        if len(base.reach) >= MOST_CACHED_REACHES:
            base.reach.clear()
        base.reach[further] = select_reachable_axioms(everything, known.names | more)
    return base.reach[further]


@dataclass(frozen=True)
class CheckForecast:
    """Forecast of a check: leftovers outside SHIQ(D) that will block it, or about which HermiT will
    be asked.

    leftovers: with those out of reach marked.
    for_hermit: those that HermiT would be asked about.
    obstacle: why it cannot be asked, else empty.
    """

    leftovers: tuple[Leftover, ...]
    for_hermit: tuple[Leftover, ...] = ()
    obstacle: str = ""


def forecast_check(
    axioms: Sequence[Axiom],
    leftovers: tuple[Leftover, ...],
    vocabulary: frozenset[str] | None,
    options: Options,
) -> CheckForecast:
    """Forecast how axioms and assertions outside SHIQ(D) will affect checks of data in
    ``vocabulary`` (None: data in any vocabulary).
    """
    said = dict.fromkeys(v for x in leftovers if is_outside_shiq(x) for v in x.values)
    everything = (*axioms, *(v for v in said if isinstance(v, Axiom)))
    assertions = [v for v in said if not isinstance(v, Axiom)]
    places = (
        range(len(everything))
        if vocabulary is None
        else select_reachable_axioms(everything, vocabulary | names_of(assertions)).places
    )
    asking = [everything[i] for i in places]
    leftovers = tuple(_mark_out_of_reach(x, frozenset(asking)) for x in leftovers)
    asked = tuple(
        x
        for x in leftovers
        if is_outside_shiq(x) and is_blocking(x, options.allow, options.fail_on)
    )
    if not asked or options.outside != ASK_HERMIT:
        return CheckForecast(leftovers)
    try:
        write_question(asking, assertions)
    except (IrregularRolesError, UsageError) as obstacle:
        return CheckForecast(leftovers, asked, " ".join(str(obstacle).split()))
    return CheckForecast(leftovers, asked)


def _mark_out_of_reach(leftover: Leftover, within: frozenset[Axiom]) -> Leftover:
    """Mark ``leftover`` as informative (not blocking) if it leaves out only axioms that are not
    ``within`` reach of the data.
    """
    if not is_outside_shiq(leftover) or any(
        not isinstance(v, Axiom) or v in within for v in leftover.values
    ):
        return leftover
    message = f"{leftover.message}; nothing in the data can reach it"
    return replace(leftover, kind=OUT_OF_REACH_KIND, message=message, agreed=False)


class _FullQuestion:
    """Question to HermiT about all of T and A, including axioms and assertions outside SHIQ(D)."""

    def __init__(
        self,
        base: OpenBase,
        batch: InputBatch,
        axioms: Sequence[Axiom],
        said: Sequence[Assertion],
        options: Options,
        decider: Decider,
        left: float | None,
        announce: Callable[[], None],
    ) -> None:
        self.base, self.batch, self.axioms, self.left_out_assertions = base, batch, axioms, said
        self.options, self.decider, self.announce = options, decider, announce
        self.deadline = time.monotonic() + (HERMIT_SECONDS if left is None else left)

    def settle(self, found: Findings, open_: Sequence[Leftover]) -> Findings:
        """Ask HermiT, unless a certificate already covers the question. Returns the findings with
        its answer.
        """
        count = sum(len(x.values) for x in open_)
        about = f"{count:,} outside SHIQ(D) and within reach of the data, first: {open_[0].located_message}"
        if self._is_certified():
            note = f"the base is certified, and a part of it is consistent too: HermiT need not be asked again for {about}"
            return replace(found, undecided_reasons=(), notes=(*found.notes, note))
        kept = self._remaining_assertions()
        inserted = [
            *self.batch.insertions,
            *(a for a in self.left_out_assertions if a not in self._base_statements()),
        ]
        if kept is None:
            reason = f"the engine {self.options.engine} cannot ask HermiT about the whole, which this needs: {about}"
            return self._add_undecided_reason(found, f"{reason} (check with --engine local)")
        everything = [*kept, *inserted]
        whole = (
            f"{count_of(len(self.axioms), 'axiom')} and {count_of(len(everything), 'assertion')}"
        )
        if self.options.timeout is None and len(everything) > MOST_ASSERTIONS:
            bound = f"without a --timeout it is not asked about more than {count_of(MOST_ASSERTIONS, 'assertion')}"
            way_out = f"--timeout {HERMIT_SECONDS:.0f} asks, for as many seconds"
            return self._add_undecided_reason(
                found,
                f"HermiT was not asked about the whole, {whole}, for {about}: {bound} ({way_out})",
            )
        if self.decider.progress:
            self.decider.progress("asking HermiT about the whole", 0, 0)
        answer = self.ask(self.axioms, everything)
        asked = f"HermiT was asked about the whole, {whole}, for {about}"
        if answer.verdict is Verdict.UNDETERMINED:
            is_short = any(
                word in answer.reason for word in ("within", "time limit", "memory", "JVM")
            )
            way_out = "more --timeout or --heap may help, " if is_short else ""
            if OPAQUE in answer.reason:
                way_out = f"--allow {UNKNOWN_DATATYPE} reads it as a value space of its own, "
            way_out += "--outside undetermined does not ask"
            return self._add_undecided_reason(found, f"{asked}: {answer.reason} ({way_out})")
        decided = {**found.verdict_counts, f"whole {answer.verdict.value}": 1}
        found = replace(
            found,
            notes=(*found.notes, asked),
            verdict_counts=decided,
            sent_counts=self._count_sent(found),
        )
        if answer.verdict is Verdict.CONSISTENT:
            return replace(found, undecided_reasons=())
        self.announce()
        conflicts: list[Conflict] = []
        complete, ended = False, True
        try:
            complete = self._explain(kept, inserted, conflicts)
        except KeyboardInterrupt:
            if self.options.certain is None:
                raise
            ended = False
        conflicts.sort(key=lambda c: (len(c.insertion_values), repr(c.insertion_values)))
        explained = Explanation(conflicts, 0 if conflicts else 1, complete, ended)
        return replace(
            found, refuted_count=1, sent_counts=self._count_sent(found), explanation=explained
        )

    def _count_sent(self, found: Findings) -> dict[str, int]:
        """Numbers of questions that were sent to other processes, including those about all of T
        and A.
        """
        beside = self.decider.full_reasoner
        more: dict[str, int] = (
            beside.sent_questions.to_dict() if isinstance(beside, SendingReasoner) else {}
        )
        return {
            name: found.sent_counts.get(name, 0) + more.get(name, 0)
            for name in {**found.sent_counts, **more}
        }

    def _add_undecided_reason(self, found: Findings, reason: str) -> Findings:
        """Add a reason for `undetermined` to ``found``."""
        return replace(found, undecided_reasons=(*found.undecided_reasons, reason))

    def _base_statements(self) -> frozenset[Axiom | Assertion]:
        """Axioms and assertions of the base that are outside SHIQ(D)."""
        return frozenset(v for x in self.base.leftovers if is_outside_shiq(x) for v in x.values)

    def _is_certified(self) -> bool:
        """Whether the store's certificate already covers all that lies outside SHIQ(D), so that
        HermiT need not be asked.
        """
        of_base = self._base_statements()
        certificate = self.base.certificate
        return (
            self.base.is_certified
            and "snapshot" in certificate
            and OUTSIDE_KIND not in (*certificate.get("allowed", ()), *certificate.get("known", ()))
            and not len(self.batch.insertions)
            and all(a in of_base for a in self.left_out_assertions)
        )

    def _remaining_assertions(self) -> list[Assertion] | None:
        """List the assertions of A without the deleted ones. Returns None if this process cannot
        list A.
        """
        if self.base.assertions is None:
            return None
        deleted = frozenset(self.batch.deletions) | self.batch.deleted_left_out
        of_base = self._base_statements()
        stored = (a for a in self.base.assertions() if a not in deleted)
        return [*stored, *(a for a in self.left_out_assertions if a in of_base)]

    def ask(self, axioms: Sequence[Axiom], assertions: Iterable[Assertion]) -> Answer:
        """Ask HermiT whether ``axioms`` and ``assertions`` are consistent, within the time left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return Answer(Verdict.UNDETERMINED, "no answer within the time limit")
        return ask_question(axioms, assertions, self._ask_hermit)

    def _ask_hermit(self, axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> Answer:
        """Send one question to HermiT, within the time left. The decider keeps its process."""
        if self.decider.full_reasoner is None:
            self.decider.full_reasoner = HermitReasoner(self.options.heap)
        assert isinstance(self.decider.full_reasoner, HermitReasoner)
        return self.decider.full_reasoner.decide_consistency(
            axioms, assertions, max(0.01, self.deadline - time.monotonic()), is_normal=True
        )

    def _explain(
        self, kept: list[Assertion], inserted: list[Assertion], conflicts: list[Conflict]
    ) -> bool:
        """Find minimal conflicts and append them to ``conflicts``. Returns whether all were found."""
        options = self.options
        if options.verdict_only or not options.max_conflicts or options.explain_seconds == 0:
            return False
        if options.explain_seconds is not None:
            self.deadline = min(self.deadline, time.monotonic() + options.explain_seconds)
        is_over = lambda: time.monotonic() > self.deadline  # noqa: E731
        blame = SubsetSearch(self.axioms, kept, self.ask, is_over, conflicts, self.decider.progress)
        return blame.run(inserted, options.max_conflicts)

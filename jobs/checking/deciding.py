"""Deciding one batch against an opened base, and the deciders that are asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from abox_ops.engine import MODEL, AddSet, Inquiry, ModelKnowledgeBase, Settling, unheard
from abox_ops.modules.decide import Decider
from abox_ops.modules.from_scratch import ScratchQuestion
from abox_ops.modules.named import (
    NamedModules,
    asked,
    distinct_answers,
    inconsistent_groups,
    individuals_in,
    positions,
    tally,
)
from jobs.checking.answer import (
    STOPPED,
    crowd_counts,
    crowds,
    refuted_result,
    result_of,
    time_over,
)
from jobs.checking.base import (
    Asserting,
    DistributedEngine,
    Explanation,
    Findings,
    InputBatch,
    OpenBase,
)
from jobs.checking.inputs import is_outside, read_batch, refuse_nothing, sources_of
from jobs.checking.options import EXPLAIN_SECONDS, Clock, Options, resolved
from shiq.abox import ABox, abox_of
from shiq.clause import ClausalTBox
from shiq.deadline import is_past, seconds_left
from shiq.lazily import Lazily
from shiq.model import THING, Assertion, ClassAssertion, TBox
from shiq.offers import offers
from shiq.rdf.vocabulary import VALUE_LINK, VALUE_ROLE
from shiq.reading import Place, Places, nowhere
from shiq.reasoner import BACKENDS, create
from shiq.reasoner.protocol import Answer, Module, Sending
from shiq.result import Result, UndecidedModule
from shiq.verdict import Leftover, Verdict

#: The reason of a result that is about the base alone.
BASE_INCONSISTENT = "the base is inconsistent by itself"


def check_batch(
    base: OpenBase | Result,
    insertions: object,
    deletions: object,
    options: Options,
    decider: Decider,
    clock: Clock,
    *,
    read: InputBatch | None = None,
) -> Result:
    """The check of a batch against an opened base; ``read``: the batch, where that was read before."""
    if isinstance(base, Result):
        return replace(base, reason=BASE_INCONSISTENT)
    engine = base.knowledge_base
    if offers(engine, DistributedEngine):
        if read is not None:
            far, _, _ = engine.check(
                base, _given(read.insertions), _given(read.deletions), options, decider, clock
            )
        else:
            far, counts, told = engine.check(
                base, sources_of(insertions), sources_of(deletions), options, decider, clock
            )
            refuse_nothing(counts, options)
            if not any(map(is_outside, (*base.leftovers, *told))):
                return result_of(base, far, counts, told, options, clock)
            # What lies outside takes all of the batch: which of it is deleted, or the TBox's own,
            # too.
            read = read_batch(base, insertions, deletions, options)
        told = (
            *read.leftovers,
            *unmatched_deletions(base.knowledge_base, read.deletions, read.deleted_at),
        )
        return answered_outside(base, read, far, told, options, decider, clock, options.timeout)
    batch = timed_batch(base, insertions, deletions, options, clock) if read is None else read
    return decided(base, batch, options, decider, clock)


def _given(abox: ABox) -> list[object]:
    return [abox] if len(abox) else []


def timed_batch(
    base: OpenBase, insertions: object, deletions: object, options: Options, clock: Clock
) -> InputBatch:
    """`read_batch`, a stage of ``clock``."""
    clock.doing = "reading the batch"
    batch = read_batch(base, insertions, deletions, options)
    clock.stage("reading the batch")
    return batch


def decided(
    base: OpenBase, batch: InputBatch, options: Options, decider: Decider, clock: Clock
) -> Result:
    """The check of a batch that was read, by an engine of this process."""
    insertions, deletions = batch.insertions, batch.deletions
    before, sent = decider.asked, sent_by(decider)
    options, notes = resolved(options, base.knowledge_base, deletions)
    if base.tbox.has_readings:
        # A contradiction counts once it is explained: it may rest on reading a property in both
        # ways.
        options = replace(options, verdict_only=False, max_conflicts=options.max_conflicts or 1)
        options = replace(
            options,
            explain_seconds=EXPLAIN_SECONDS
            if options.explain_seconds == 0
            else options.explain_seconds,
        )
    deadline, left, is_over = deadline_of(options, clock.begun)
    clock.doing, clock.certain = _LOOKING, None

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        before, clock.doing = clock.doing, _ASKING
        answers = decider.decide(tbox, modules, left())
        clock.doing = before
        return answers

    def attempt(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        before, clock.doing = clock.doing, _ASKING
        answers = decider.attempt(tbox, modules, left())
        clock.doing = before
        return answers

    def announce() -> None:
        if clock.certain is None:
            _announce(base, batch.ledger, batch.leftovers, options, clock)

    # What an audit has yet to see is not certain.
    certain = announce if decider.audit is None else unheard

    def answered(
        part: ABox, stage: Callable[[str], None], onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, Sequence[Answer]]:
        if onto is not None:
            return onto.patched(part, abox_of(()), Inquiry(decide, is_over, attempt=attempt))
        knowledge_base = base.knowledge_base
        if options.criterion == MODEL and offers(knowledge_base, ModelKnowledgeBase):
            found = knowledge_base.patched(
                part, deletions, Inquiry(decide, is_over, options.verdict_only, certain, attempt)
            )
            stage("patching")
            return found
        add_set = knowledge_base.add_set(part, deletions, options.criterion)
        modules = add_set.modules
        stage("add set")
        if add_set.contradictory:
            certain()
        is_settled = options.verdict_only and add_set.contradictory
        answers = (
            [] if is_settled else asked(modules, lambda distinct: decide(add_set.tbox, distinct))
        )
        stage("deciding")
        return add_set, answers

    def of_run(notes: tuple[str, ...]) -> dict[str, Any]:
        far = batch.far
        run, cost = (
            (far.run(insertions, deletions, options.criterion), far.cost()) if far else ("", {})
        )
        return {"run": run, "cost": cost, "sent": sent_since(decider, sent), "notes": notes}

    if batch.far and options.driver_rows is not None and len(insertions) > options.driver_rows:
        # Loaded where a batch is that large.
        from jobs.checking.slices import find_by_slices

        inquiry = Inquiry(decide, is_over, options.verdict_only, certain, attempt)
        with batch.far.deciding(decider):
            sliced, note, told = find_by_slices(
                base, batch, options, inquiry, decider, OpenedDecider
            )
        clock.stage("patching")
        if sliced is not None:
            found = replace(sliced, calls=decider.asked - before, **of_run(notes))
            return answered_outside(
                base, batch, found, (*batch.leftovers, *told), options, decider, clock, left()
            )
        notes = (*notes, note)
    with batch.far.deciding(decider) if batch.far else nullcontext():
        add_set, answers = answered(insertions, clock.stage)
    modules = add_set.modules
    groups = inconsistent_groups(add_set, answers)
    calls = decider.asked - before
    reasons = dict.fromkeys(
        a.reason for a in distinct_answers(answers) if a.verdict is Verdict.UNDETERMINED
    )
    if reasons and is_over():
        reasons = {time_over(options, _ASKING): None, **reasons}
    clock.doing = "explaining" if groups else _ASKING
    explanation = Explanation(unexplained=len(groups), complete=not groups)
    # While conflicts are explained, that is the stage, whatever is asked for it.
    progress, decider.progress, clock.progress = decider.progress, None, None
    if groups and not has_disagreed(decider):
        announce()
        if options.max_conflicts and options.explain_seconds != 0 and not options.verdict_only:
            # Loaded where there is something to explain: most batches are consistent.
            from jobs.checking.explaining import explained

            # Nobody goes on from what contradicts, and explaining it takes memory of its own.
            add_set = add_set.settled() if offers(add_set, Settling) else add_set
            seconds, limit = explaining_limit(options, left())
            deadline, left, is_over = deadline_of(
                replace(options, timeout=seconds), time.monotonic()
            )
            explanation = explained(
                base, insertions, add_set, groups, answered, decider, options, deadline, limit
            )
            # What was broken off may be half updated.
            clock.is_over = clock.is_over or explanation.broken_off
    decider.progress, clock.progress = progress, options.progress
    clock.stage("explaining")
    found = replace(
        found_of(options.criterion, add_set, answers, decider),
        refuted=len(groups),
        undecided=tuple(reasons),
        calls=calls,
        conflicts=explanation.conflicts,
        unexplained=explanation.unexplained,
        complete=explanation.complete,
        ended=explanation.ended,
        **of_run((*notes, *([STOPPED] if groups and options.verdict_only else explanation.notes))),
        undetermined=tuple(
            UndecidedModule(individuals_in(modules[k]), answers[k].reason)
            for k in positions(answers, lambda answer: answer.verdict is Verdict.UNDETERMINED)
        ),
    )
    unmatched = unmatched_deletions(base.knowledge_base, deletions, batch.deleted_at)
    leftovers = (*batch.leftovers, *unmatched, *crowds(crowd_counts(add_set)))
    return answered_outside(base, batch, found, leftovers, options, decider, clock, left())


def answered_outside(
    base: OpenBase,
    batch: InputBatch,
    found: Findings,
    leftovers: tuple[Leftover, ...],
    options: Options,
    decider: Decider,
    clock: Clock,
    left: float | None,
) -> Result:
    """The result of a batch of which the part inside SHIQ(D) was ``found``, once the rest is
    looked at; ``left``: seconds.
    """
    if any(map(is_outside, (*base.leftovers, *leftovers))):
        # Loaded where something is outside: most TBoxes have nothing there.
        from jobs.checking.outside import with_outside

        announce = partial(_announce, base, batch.ledger, leftovers, options, clock)
        clock.doing = "asking HermiT about the whole"
        told = with_outside(base, batch, found, leftovers, options, decider, left, announce)
        base, found, leftovers = replace(base, leftovers=told.base), told.found, told.batch
        clock.stage("what is outside SHIQ(D)")
    return result_of(
        base,
        found,
        batch.ledger,
        leftovers,
        options,
        clock,
        batch.places,
        partial(_refutes, decider, left),
    )


def _refutes(
    decider: Decider, seconds: float | None, tbox: TBox, assertions: Sequence[Assertion]
) -> bool:
    """Whether the reasoner refutes ``tbox`` with ``assertions``; without any, whether nothing
    can exist.
    """
    something = ClassAssertion(THING, "urn:shiq:something")
    asked = ScratchQuestion.build(tbox, [something, *assertions])
    modules = [named.module for named in asked.modules]
    return asked.contradictory or any(
        answer.verdict is Verdict.INCONSISTENT
        for answer in decider.decide(asked.tbox, modules, seconds)
    )


def _announce(
    base: OpenBase,
    ledger: Mapping[str, int],
    leftovers: tuple[Leftover, ...],
    options: Options,
    clock: Clock,
) -> None:
    """Tells that the batch is inconsistent for certain, to whoever asked to hear it at once. Not
    where the contradiction may rest on reading a property in both ways.
    """
    if base.tbox.has_readings:
        return
    clock.certain = refuted_result(base, ledger, leftovers, options, clock)
    if options.certain is not None:
        options.certain(clock.certain)


#: What is under way, for where the time is over.
_LOOKING, _ASKING = "working out what has to be looked at", "deciding modules"


def explaining_limit(options: Options, left: float | None) -> tuple[float | None, str]:
    """How many seconds explaining may take where so many are ``left`` of the check, and the
    option that says so.
    """
    named = {
        "--explain-seconds": (options.explain_seconds,) * 2,
        "--timeout": (left, options.timeout),
    }
    limits = [
        (s, f"{option} {whole:g}")
        for option, (s, whole) in named.items()
        if s is not None and whole is not None
    ]
    return min(limits, default=(None, ""))


def deadline_of(
    options: Options, begun: float
) -> tuple[float | None, Callable[[], float | None], Callable[[], bool]]:
    """When the time is over that counts since ``begun``, how many seconds are left, and whether
    none are.
    """
    deadline = None if options.timeout is None else begun + options.timeout
    return deadline, partial(seconds_left, deadline), partial(is_past, deadline)


def found_of(
    criterion: str, add_set: AddSet, answers: Sequence[Answer], decider: Decider
) -> Findings:
    """What the ``answers`` for the modules of ``add_set`` come to, by ``criterion``."""
    modules = add_set.modules
    return Findings(
        criterion=criterion,
        add_set=add_set,
        modules=individuals_of(add_set),
        module_count=len(modules),
        contradictory=len(add_set.contradictory),
        decided={verdict.value: count for verdict, count in tally(answers).items()},
        shapes=decider.shapes(add_set.tbox, NamedModules.of(modules).distinct),
        calls=decider.asked,
        audit=decider.audit,
    )


def individuals_of(add_set: AddSet) -> Sequence[tuple[str, ...]]:
    """The individuals of each contradictory element and each module."""
    clashing, modules = add_set.contradictory, add_set.modules
    return Lazily(len(clashing) + len(modules), lambda: [*clashing, *map(individuals_in, modules)])


def unmatched_deletions(
    knowledge_base: Asserting, deletions: ABox, places: Places = nowhere
) -> tuple[Leftover, ...]:
    """What to say of ``deletions``, read at ``places``, that delete nothing."""
    if VALUE_LINK in deletions.object_properties or any(
        iri.startswith(VALUE_ROLE) for iri in deletions.object_properties
    ):
        from shiq.rdf.values_as_nodes import without_nodes

        deletions = without_nodes(deletions)
    if not len(deletions):
        return ()
    count, some = knowledge_base.absent(deletions, 1)
    if not count:
        return ()
    from shiq.ntriples import assertion_lines

    place = next(iter(places(some).get(some[0], ())), Place())
    return (
        Leftover(
            "unmatched-deletion",
            "the base does not assert this"
            if count == 1
            else f"{count:,} deletions of what the base does not assert, as this",
            place.source,
            place.line,
            " ".join(assertion_lines(some[0])),
            "was it spelt otherwise, inferred, or deleted before? A blank node goes by the label that `shiq export` prints",
            count,
        ),
    )


def sent_by(decider: Decider) -> Mapping[str, int]:
    """What the reasoner has sent elsewhere so far (`shiq.result.Evidence`); empty if nothing."""
    sending = decider.reasoner
    return sending.sent.to_dict() if offers(sending, Sending) and sending.sent.questions else {}


def sent_since(decider: Decider, before: Mapping[str, int]) -> Mapping[str, int]:
    """The same, less what was sent ``before``."""
    return {name: now - before.get(name, 0) for name, now in sent_by(decider).items()}


def has_disagreed(decider: Decider) -> bool:
    """Whether an audit has found two reasoners of different opinions."""
    return decider.audit is not None and bool(decider.audit.disagreements)


def new_decider(options: Options) -> Decider:
    """A decider as ``options`` ask for, with an audit if they do; `close_decider` frees it.
    Raises `UsageError`.
    """
    reasoner = create(options.reasoner, heap=options.heap, accept_agpl=options.accept_agpl)
    if not options.audit:
        return Decider(reasoner, options.progress)
    # Loaded where it is asked for.
    from abox_ops.modules.audit import Audit

    by_hermit = partial(create, "hermit", heap=options.heap)
    by_own = partial(create, "own")
    seconds = {name: by_hermit if name == "own" else by_own for name in BACKENDS}
    return Decider(reasoner, options.progress, audit=Audit(options.audit, seconds))


def close_decider(decider: Decider) -> None:
    """Frees the reasoners; may be called twice."""
    decider.reasoner.close()
    if decider.beside is not None:
        decider.beside.close()
    if decider.audit is not None:
        decider.audit.close()


class OpenedDecider:
    """A decider for one call, closed at its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._decider: Decider | None = None

    def __enter__(self) -> Decider:
        self._decider = new_decider(self._options)
        return self._decider

    def __exit__(self, *_: object) -> None:
        if self._decider is not None:
            close_decider(self._decider)


_Key: TypeAlias = tuple[str, str, float, bool]


class DeciderPool:
    """Deciders by what they ask, and how."""

    def __init__(self) -> None:
        self._known: dict[_Key, Decider] = {}

    def lookup(self, options: Options) -> Decider:
        """The decider that ``options`` ask for, ready for one more check; a new one in place of
        one whose audit disagreed.
        """
        key = _key(options)
        if key in self._known and has_disagreed(self._known[key]):
            self.drop(options)
        if key not in self._known:
            self._known[key] = new_decider(options)
        decider = self._known[key]
        decider.asked, decider.progress = 0, options.progress
        return decider

    def drop(self, options: Options) -> None:
        """Close and forget the decider that ``options`` ask for."""
        close_decider(self._known.pop(_key(options)))

    def forget_answers(self) -> None:
        """Forget the answers, which are about clauses that are worked out for each snapshot."""
        for decider in self._known.values():
            decider.forget()

    def close(self) -> None:
        """Free the reasoners; it may be called twice."""
        for decider in self._known.values():
            close_decider(decider)
        self._known.clear()


def _key(options: Options) -> _Key:
    return options.reasoner, options.heap, options.audit, options.accept_agpl

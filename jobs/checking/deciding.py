"""Check one batch against an open base."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from shiq.abox_ops.engine import (
    MODEL,
    AddSet,
    Inquiry,
    ModelKnowledgeBase,
    ReleasableAddSet,
    ignore_inconsistency,
)
from shiq.abox_ops.modules.add_set import (
    NamedModules,
    answer_positions,
    ask_distinct,
    count_verdicts,
    distinct_answers,
    inconsistent_groups,
    individuals_in,
)
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.result import Result, UndecidedModule
from shiq.answers.verdict import Leftover, Verdict
from shiq.deadline import is_past, seconds_left
from shiq.inputs.reading import Place, Places, no_positions
from shiq.jobs.checking.answer import (
    PARTIAL_NOTE,
    count_oversize,
    make_result,
    oversize_leftovers,
    refuted_result,
    time_limit_reason,
)
from shiq.jobs.checking.base import (
    DeletionLookup,
    DistributedEngine,
    Explanation,
    Findings,
    InputBatch,
    ModuleFindings,
    OpenBase,
)
from shiq.jobs.checking.deciders import has_disagreed
from shiq.jobs.checking.inputs import is_outside_shiq, list_sources, read_batch, refuse_empty_batch
from shiq.jobs.checking.options import EXPLAIN_SECONDS, Clock, Options, resolve_criterion
from shiq.model import THING, Assertion, ClassAssertion, TBox
from shiq.model.abox import ABox, abox_of
from shiq.model.clause import ClausalTBox
from shiq.rdf.vocabulary import VALUE_LINK, VALUE_ROLE
from shiq.reasoner.protocol import Answer, Module, SendingReasoner
from shiq.support import LazySequence, supports

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
    """Check a batch against an opened base. ``read``: the batch, if it has been read already.

    read: the batch if it was read before; then ``insertions`` and ``deletions`` are ignored.
    """
    if isinstance(base, Result):
        plan = base.repairs and replace(base.repairs, is_for_base=True)
        return replace(base, reason=BASE_INCONSISTENT, repairs=plan)
    engine = base.knowledge_base
    if supports(engine, DistributedEngine):
        if read is not None:
            far, _, _ = engine.check(
                base,
                _sources_of_abox(read.insertions),
                _sources_of_abox(read.deletions),
                options,
                decider,
                clock,
            )
        else:
            far, counts, told = engine.check(
                base, list_sources(insertions), list_sources(deletions), options, decider, clock
            )
            refuse_empty_batch(counts, options)
            if not any(map(is_outside_shiq, (*base.leftovers, *told))):
                return make_result(base, far, counts, told, options, clock)
            # What lies outside takes all of the batch: which of it is deleted, or the TBox's own,
            # too.
            read = read_batch(base, insertions, deletions, options)
        told = (
            *read.leftovers,
            *unmatched_deletions(base.knowledge_base, read.deletions, read.deleted_at),
        )
        return settle_and_make_result(
            base, read, far, told, options, decider, clock, options.timeout
        )
    batch = read_batch_timed(base, insertions, deletions, options, clock) if read is None else read
    return decide_batch(base, batch, options, decider, clock)


def _sources_of_abox(abox: ABox) -> list[object]:
    """Return ``abox`` as a list of one source; empty if it has no assertions."""
    return [abox] if len(abox) else []


def read_batch_timed(
    base: OpenBase, insertions: object, deletions: object, options: Options, clock: Clock
) -> InputBatch:
    """Read a batch, and add the time to the stages of ``clock``."""
    clock.step = "reading the batch"
    batch = read_batch(base, insertions, deletions, options)
    clock.end_stage("reading the batch")
    return batch


def decide_batch(
    base: OpenBase, batch: InputBatch, options: Options, decider: Decider, clock: Clock
) -> Result:
    """Check a batch that was read, by an engine in this process. Returns the result."""
    options, notes = resolve_criterion(options, base.knowledge_base, batch.deletions)
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
    found, leftovers, left = decide_and_explain(base, batch, options, decider, clock, notes)
    result = settle_and_make_result(base, batch, found, leftovers, options, decider, clock, left())
    if not options.repairs or result.verdict is not Verdict.INCONSISTENT:
        return result
    # Loaded where repairs are asked for.
    from shiq.jobs.checking.repairing import add_repairs

    def check_changed(changed: InputBatch, settings: Options) -> Result:
        return decide_batch(base, changed, settings, decider, Clock(progress=clock.progress))

    return add_repairs(result, batch, base.tbox.signature, options, clock, check_changed)


def decide_and_explain(
    base: OpenBase,
    batch: InputBatch,
    options: Options,
    decider: Decider,
    clock: Clock,
    notes: tuple[str, ...] = (),
) -> tuple[Findings, tuple[Leftover, ...], Callable[[], float | None]]:
    """Decide a batch in this process and explain its conflicts.

    Returns: the findings with ``notes``, the leftovers, and a function for the seconds left.
    """
    insertions, deletions = batch.insertions, batch.deletions
    before, sent = decider.question_count, sent_counts(decider)
    deadline, left, is_over = deadline_of(options, clock.start)
    clock.step, clock.certain_result = _LOOKING, None

    def ask(
        way: Callable[..., list[Answer]], tbox: ClausalTBox, modules: Sequence[Module]
    ) -> list[Answer]:
        before, clock.step = clock.step, _ASKING
        answers = way(tbox, modules, left())
        clock.step = before
        return answers

    decide, attempt = partial(ask, decider.decide), partial(ask, decider.attempt)

    def announce() -> None:
        if clock.certain_result is None:
            announce_refuted(base, batch.ledger, batch.leftovers, options, clock)

    # What an audit has yet to see is not certain.
    certain = announce if decider.audit is None else ignore_inconsistency

    def check_part(
        part: ABox, stage: Callable[[str], None], onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, Sequence[Answer]]:
        if onto is not None:
            return onto.decide_by_patch(
                part, abox_of(()), Inquiry(decide, is_over, attempt=attempt)
            )
        knowledge_base = base.knowledge_base
        if options.criterion == MODEL and supports(knowledge_base, ModelKnowledgeBase):
            found = knowledge_base.decide_by_patch(
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
            []
            if is_settled
            else ask_distinct(modules, lambda distinct: decide(add_set.tbox, distinct))
        )
        stage("deciding")
        return add_set, answers

    def describe_run(notes: tuple[str, ...]) -> dict[str, Any]:
        far = batch.distributed_work
        run, cost = (
            (far.check_id(insertions, deletions, options.criterion), far.cost())
            if far
            else ("", {})
        )
        return {
            "check_id": run,
            "cost": cost,
            "sent_counts": sent_counts_since(decider, sent),
            "notes": notes,
        }

    if (
        batch.distributed_work
        and options.driver_rows is not None
        and len(insertions) > options.driver_rows
    ):
        # Loaded where a batch is that large.
        from shiq.jobs.checking.slices import decide_by_slices

        inquiry = Inquiry(decide, is_over, options.verdict_only, certain, attempt)
        with batch.distributed_work.distribute_questions(decider):
            sliced, note, told = decide_by_slices(base, batch, options, inquiry, decider)
        clock.end_stage("patching")
        if sliced is not None:
            modules_there = replace(sliced.modules, calls=decider.question_count - before)
            found = replace(sliced, modules=modules_there, **describe_run(notes))
            return found, (*batch.leftovers, *told), left
        notes = (*notes, note)
    with (
        batch.distributed_work.distribute_questions(decider)
        if batch.distributed_work
        else nullcontext()
    ):
        add_set, answers = check_part(insertions, clock.end_stage)
    modules = add_set.modules
    groups = inconsistent_groups(add_set, answers)
    calls = decider.question_count - before
    reasons = dict.fromkeys(
        a.reason for a in distinct_answers(answers) if a.verdict is Verdict.UNDETERMINED
    )
    if reasons and is_over():
        reasons = {time_limit_reason(options, _ASKING): None, **reasons}
    clock.step = "explaining" if groups else _ASKING
    explanation = Explanation(unexplained_count=len(groups), is_complete=not groups)
    # While conflicts are explained, that is the stage, whatever is asked for it.
    progress, decider.progress, clock.progress = decider.progress, None, None
    if groups and not has_disagreed(decider):
        announce()
        if options.max_conflicts and options.explain_seconds != 0 and not options.verdict_only:
            # Loaded where there is something to explain: most batches are consistent.
            from shiq.jobs.checking.explaining import explain_groups

            # Nobody goes on from what contradicts, and explaining it takes memory of its own.
            add_set = add_set.release_memory() if supports(add_set, ReleasableAddSet) else add_set
            seconds, limit = explanation_limit(options, left())
            deadline, left, is_over = deadline_of(
                replace(options, timeout=seconds), time.monotonic()
            )
            explanation = explain_groups(
                base, insertions, add_set, groups, check_part, decider, options, deadline, limit
            )
            # What was broken off may be half updated.
            clock.is_over = clock.is_over or explanation.was_interrupted
    decider.progress, clock.progress = progress, options.progress
    clock.end_stage("explaining")
    found = summarise_answers(options.criterion, add_set, answers, decider)
    found = replace(
        found,
        modules=replace(found.modules, calls=calls),
        refuted_count=len(groups),
        undecided_reasons=tuple(reasons),
        explanation=explanation,
        **describe_run(
            (*notes, *([PARTIAL_NOTE] if groups and options.verdict_only else explanation.notes))
        ),
        undetermined_modules=tuple(
            UndecidedModule(individuals_in(modules[k]), answers[k].reason)
            for k in answer_positions(
                answers, lambda answer: answer.verdict is Verdict.UNDETERMINED
            )
        ),
    )
    unmatched = unmatched_deletions(base.knowledge_base, deletions, batch.deleted_at)
    return found, (*batch.leftovers, *unmatched, *oversize_leftovers(count_oversize(add_set))), left


def settle_and_make_result(
    base: OpenBase,
    batch: InputBatch,
    found: Findings,
    leftovers: tuple[Leftover, ...],
    options: Options,
    decider: Decider,
    clock: Clock,
    seconds: float | None,
) -> Result:
    """Make the result from ``found``, after axioms and assertions outside SHIQ(D), which it does
    not cover, are settled.
    """
    if any(map(is_outside_shiq, (*base.leftovers, *leftovers))):
        # Loaded where something is outside: most TBoxes have nothing there.
        from shiq.jobs.checking.outside_shiq import settle_outside

        announce = partial(announce_refuted, base, batch.ledger, leftovers, options, clock)
        clock.step = "asking HermiT about the whole"
        told = settle_outside(base, batch, found, leftovers, options, decider, seconds, announce)
        found, of_base, leftovers = told
        base = replace(base, leftovers=of_base)
        clock.end_stage("what is outside SHIQ(D)")
    return make_result(
        base,
        found,
        batch.ledger,
        leftovers,
        options,
        clock,
        batch.places,
        partial(_refutes, decider, seconds),
    )


def _refutes(
    decider: Decider, seconds: float | None, tbox: TBox, assertions: Sequence[Assertion]
) -> bool:
    """Decide whether the reasoner refutes ``tbox`` with ``assertions`` (and at least one
    individual).
    """
    something = ClassAssertion(THING, "urn:shiq:something")
    # Few bases ask this; what it loads costs as much as a small check.
    from shiq.abox_ops.modules.from_scratch import ScratchQuestion

    asked = ScratchQuestion.build(tbox, [something, *assertions])
    return bool(asked.contradictory) or any(
        answer.verdict is Verdict.INCONSISTENT
        for answer in decider.decide(asked.tbox, asked.unnamed_modules, seconds)
    )


def announce_refuted(
    base: OpenBase,
    ledger: Mapping[str, int],
    leftovers: tuple[Leftover, ...],
    options: Options,
    clock: Clock,
) -> None:
    """Call the callback ``options.certain`` with the early result `inconsistent`, before conflicts
    are explained.
    """
    if base.tbox.has_readings:
        return
    clock.certain_result = refuted_result(base, ledger, leftovers, options, clock)
    if options.certain is not None:
        options.certain(clock.certain_result)


#: What is under way, for where the time is over.
_LOOKING, _ASKING = "working out what has to be looked at", "deciding modules"


def explanation_limit(options: Options, seconds: float | None) -> tuple[float | None, str]:
    """Seconds that explaining conflicts may take when ``seconds`` of the check remain (None: no
    limit), and the option that sets this limit.
    """
    named = {
        "--explain-seconds": (options.explain_seconds,) * 2,
        "--timeout": (seconds, options.timeout),
    }
    limits = [
        (s, f"{option} {whole:g}")
        for option, (s, whole) in named.items()
        if s is not None and whole is not None
    ]
    return min(limits, default=(None, ""))


def deadline_of(
    options: Options, start: float
) -> tuple[float | None, Callable[[], float | None], Callable[[], bool]]:
    """Time limit of ``options``, counted from ``start`` (None: no limit): the deadline, a function
    for the remaining seconds, and a function that says whether it is over.

    Returns: the deadline, a function for the seconds left, and a function that tells whether it is
    over.
    """
    deadline = None if options.timeout is None else start + options.timeout
    return deadline, partial(seconds_left, deadline), partial(is_past, deadline)


def summarise_answers(
    criterion: str, add_set: AddSet, answers: Sequence[Answer], decider: Decider
) -> Findings:
    """Summarise the ``answers`` about the modules of ``add_set`` as findings."""
    modules = add_set.modules
    return Findings(
        criterion=criterion,
        add_set=add_set,
        modules=ModuleFindings(
            members=group_individuals(add_set),
            count=len(modules),
            contradictory_elements=len(add_set.contradictory),
            shapes=decider.count_shapes(add_set.tbox, NamedModules.from_modules(modules).distinct),
            calls=decider.question_count,
        ),
        verdict_counts={verdict.value: count for verdict, count in count_verdicts(answers).items()},
        audit=decider.audit,
    )


def group_individuals(add_set: AddSet) -> Sequence[tuple[str, ...]]:
    """List the individuals of each contradictory element and each module of ``add_set``."""
    clashing, modules = add_set.contradictory, add_set.modules
    return LazySequence(
        len(clashing) + len(modules), lambda: [*clashing, *map(individuals_in, modules)]
    )


def unmatched_deletions(
    knowledge_base: DeletionLookup, deletions: ABox, places: Places = no_positions
) -> tuple[Leftover, ...]:
    """Make leftovers for deletions that match no assertion of A."""
    if VALUE_LINK in deletions.object_properties or any(
        iri.startswith(VALUE_ROLE) for iri in deletions.object_properties
    ):
        from shiq.rdf.values_as_nodes import drop_value_nodes

        deletions = drop_value_nodes(deletions)
    if not len(deletions):
        return ()
    count, some = knowledge_base.find_absent(deletions, 1)
    if not count:
        return ()
    from shiq.model.ntriples import assertion_lines

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


def sent_counts(decider: Decider) -> Mapping[str, int]:
    """Numbers of questions that the reasoner has sent to other processes since it was made
    (`shiq.answers.result.Evidence`).
    """
    sending = decider.reasoner
    return (
        sending.sent_questions.to_dict()
        if supports(sending, SendingReasoner) and sending.sent_questions.questions
        else {}
    )


def sent_counts_since(decider: Decider, before: Mapping[str, int]) -> Mapping[str, int]:
    """Numbers of questions that were sent to other processes after the counts ``before`` were
    taken.
    """
    return {name: now - before.get(name, 0) for name, now in sent_counts(decider).items()}

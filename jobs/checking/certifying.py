"""Certify a base: from files, prepared as a store, or read again from a store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from shiq.abox_ops.engine import MODEL
from shiq.abox_ops.labels.label_calculus import unsatisfiable_classes
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.result import Conflict, Evidence, Result
from shiq.answers.verdict import Leftover, Verdict, is_blocking
from shiq.deadline import DeadlineExceeded, interrupt_after
from shiq.errors import BUILD_ANEW, InputError
from shiq.inputs.reading import QuarantinedAssertion, Reading
from shiq.jobs.checking.answer import (
    count_oversize,
    oversize_leftovers,
    run_in_time,
    timeout_result,
)
from shiq.jobs.checking.base import InputBatch, OpenBase
from shiq.jobs.checking.deciding import (
    deadline_of,
    decide_batch,
    sent_counts,
    sent_counts_since,
    settle_and_make_result,
    summarise_answers,
)
from shiq.jobs.checking.inputs import (
    NON_SIMPLE_KIND,
    OUT_OF_REACH_KIND,
    OUTSIDE_KIND,
    drop_ill_typed_if_allowed,
    empty_tbox_leftover,
    imported_vocabularies,
    is_outside_shiq,
    make_reading_callback,
    read_abox,
    read_by_form,
    read_catalogs,
    vocabulary_of,
)
from shiq.jobs.checking.options import (
    AUTO,
    STORE,
    Clock,
    Options,
    import_by_name,
    import_engine,
    open_engine,
)
from shiq.model import Assertion, Class, ClassAssertion, Signature
from shiq.model.abox import ABox, abox_of
from shiq.model.clause import ClausalTBox
from shiq.rdf import read_ontology
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module

V = TypeVar("V")

#: Splits A into what is certified and what is set aside, by T, its labels, and a decider.
Repair = Callable[[Reading, ABox, Decider], "tuple[ABox, tuple[QuarantinedAssertion, ...]]"]


def open_certified_base(
    ontology: Reading,
    data: Reading,
    options: Options,
    decider: Decider,
    clock: Clock,
    *,
    require_axioms: bool,
) -> OpenBase | Result:
    """Certify the base (T, A) and index it for checks; if it is inconsistent, return the result in
    place of the base.
    """
    ontology = replace(ontology, tbox=read_by_form(ontology.tbox, options.allow))
    leftovers = (*ontology.leftovers, *data.leftovers)
    clock.step = "certifying the base"
    if require_axioms:
        leftovers += empty_tbox_leftover(ontology)
    ledger = Counter(ontology.ledger) + Counter(data.ledger)
    question, result = certify_question(
        BaseQuestion(ontology, data.abox, leftovers, ledger, options, decider, clock)
    )
    ontology, leftovers = question.ontology, question.leftovers
    if result.verdict is Verdict.INCONSISTENT:
        return result
    abox, _ = drop_ill_typed_if_allowed(data.abox, options)
    clock.step = "indexing the base"
    opened = open_engine(options).build(ontology.tbox, abox)
    clock.end_stage("indexing the base")
    is_undecided = bool(result.evidence.undecided)
    certificate = {
        "verdict": Verdict.UNDETERMINED.value if is_undecided else result.verdict.value,
        "reason": result.reason,
        "reasoner": result.evidence.reasoner,
    }
    labels = ontology.labels
    return OpenBase(
        ontology.tbox,
        opened,
        # What is outside, as it was before some was found to be out of reach of A.
        (
            *filter(is_outside_shiq, leftovers),
            *(
                x
                for x in result.evidence.leftovers
                if not x.values or x.kind not in (OUTSIDE_KIND, OUT_OF_REACH_KIND)
            ),
        ),
        certificate,
        ontology.ontologies,
        labels=lambda: labels,
        assertions=lambda: abox,
        vocabulary=lambda: vocabulary_of(abox),
    )


@dataclass(frozen=True)
class BaseQuestion:
    """The question whether (T, A) is consistent without any batch, and how to decide it.

    ontology: T, with the labels of its terms.
    abox: A.
    leftovers, ledger: of reading both.
    options, decider, clock: how to decide, and in what time.
    """

    ontology: Reading
    abox: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Mapping[str, int]
    options: Options
    decider: Decider
    clock: Clock

    @property
    def with_datatypes_by_form(self) -> BaseQuestion:
        """This question with unknown datatypes read by form (literals are equal only if spelt
        alike), if that is allowed.
        """
        tbox = read_by_form(self.ontology.tbox, allowed_kinds(self.leftovers, self.options))
        return replace(self, ontology=replace(self.ontology, tbox=tbox))

    @property
    def with_assumptions(self) -> BaseQuestion | None:
        """This question with doubtful axioms in place of statements that block the verdict (THEORY,
        "Axioms that were not understood"); None if there is nothing to assume.
        """
        assumed = {one.leftover: one.axioms for one in self.ontology.assumptions}
        options = self.options
        blocking = dict.fromkeys(
            x
            for x in self.leftovers
            if is_blocking(x, options.allow, options.fail_on)
            and not (is_outside_shiq(x) and x not in assumed)
        )
        if not blocking or not assumed.keys() >= blocking.keys():
            return None
        more = dict.fromkeys(axiom for x in blocking for axiom in assumed[x])
        tbox = self.ontology.tbox
        tbox = replace(
            tbox,
            axioms=tuple(dict.fromkeys((*tbox.axioms, *more))),
            doubtful=tbox.doubtful | (more.keys() - {*tbox.axioms}),
        )

        def mark_in_doubt(leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
            return tuple(
                replace(
                    x,
                    kind="in-doubt",
                    message=f"{x.message}: consistent holds whatever it says",
                    values=(),
                )
                if x in blocking
                else x
                for x in leftovers
            )

        ontology = replace(
            self.ontology,
            tbox=tbox,
            leftovers=mark_in_doubt(self.ontology.leftovers),
            assumptions=(),
        )
        return replace(self, ontology=ontology, leftovers=mark_in_doubt(self.leftovers))

    def open_base(self, knowledge_base: Any, *more: Leftover) -> OpenBase:
        """Make the base that batches of this (T, A) are checked against: T and the index
        ``knowledge_base``, with a certificate that says `consistent`.
        """
        ontology, certificate = self.ontology, {"verdict": Verdict.CONSISTENT.value}
        return OpenBase(
            ontology.tbox,
            knowledge_base,
            (*self.leftovers, *more),
            certificate,
            labels=lambda: ontology.labels,
        )


def certify_question(question: BaseQuestion) -> tuple[BaseQuestion, Result]:
    """Decide whether (T, A) is consistent, by checking all of A as insertions into an empty base
    (THEORY, "Beyond SHIQ(D), at no loss").

    If only axioms that were not understood block the verdict, show that they are harmless where
    they are.

    Returns: the question that was answered (with assumptions, if they were needed), and the result.
    """
    return _ask_with_assumptions(question, _certify_as_read, lambda result: result)


def _ask_with_assumptions(
    question: BaseQuestion, ask: Callable[[BaseQuestion], V], result_of: Callable[[V], Result]
) -> tuple[BaseQuestion, V]:
    """Ask ``question``; if undetermined, ask it again with assumptions about doubtful axioms, and
    use that answer only if it is `consistent`.
    """
    found = ask(question)
    assuming = (
        question.with_assumptions if result_of(found).verdict is Verdict.UNDETERMINED else None
    )
    if assuming is not None:
        more = ask(assuming)
        if result_of(more).verdict is Verdict.CONSISTENT:
            return assuming, more
    return question, found


def _certify_as_read(question: BaseQuestion) -> Result:
    """Certify the base without assumptions about doubtful axioms."""
    question = question.with_datatypes_by_form
    options, decider, clock = question.options, question.decider, question.clock
    empty = open_engine(options).build(question.ontology.tbox, ABox())
    abox, aside = drop_ill_typed_if_allowed(question.abox, options)
    asked: Evidence | None = None
    if not len(abox):
        something = decide_tbox_alone(question)
        if something.verdict is Verdict.INCONSISTENT or something.evidence.undecided:
            return something
        if any(map(is_outside_shiq, question.leftovers)):
            # HermiT was asked about the whole, if that was needed.
            asked = something.evidence
            question, options = (
                replace(question, leftovers=asked.leftovers),
                replace(options, outside="undetermined"),
            )
    base = question.open_base(
        empty, *aside, *unsatisfiable_class_leftovers(empty.simplified_tbox.clauses, options)
    )
    batch = InputBatch(abox, ABox(), (), question.ledger)
    result = decide_batch(base, batch, replace(options, repairs=False), decider, clock)
    if asked is not None:
        notes, counts = (
            (*asked.notes, *result.evidence.notes),
            {**asked.decided, **result.evidence.decided},
        )
        result = replace(
            result, evidence=replace(result.evidence, notes=notes, decided=counts, sent=asked.sent)
        )
    statistics = replace(result.statistics, assertions=result.statistics.insertions)
    result = _move_insertions_to_base(replace(result, statistics=statistics))
    if not options.repairs or result.verdict is not Verdict.INCONSISTENT:
        return result
    # Loaded where repairs are asked for.
    from shiq.jobs.checking.repairing import add_repairs

    def check_changed(changed: InputBatch, settings: Options) -> Result:
        timed = Clock(progress=clock.progress)
        return _certify_as_read(
            replace(question, abox=changed.insertions, options=settings, clock=timed)
        )

    return add_repairs(
        result, batch, question.ontology.tbox.signature, options, clock, check_changed
    )


def _move_insertions_to_base(result: Result) -> Result:
    """Move the conflicts' insertions to the base, since all of A was asked about as insertions."""
    conflicts = tuple(
        replace(_tbox_conflict(c), base_values=(*c.insertion_values, *c.base_values))
        for c in result.conflicts
    )
    return replace(result, conflicts=conflicts)


def _tbox_conflict(conflict: Conflict) -> Conflict:
    """Reduce a conflict to its axioms of the TBox, without assertions."""
    return replace(
        conflict,
        insertion_values=(),
        base_values=(),
        origin="base",
        keys=(),
        places=(),
        base_places=(),
    )


def decide_tbox_alone(question: BaseQuestion) -> Result:
    """Decide whether T has a model with one unnamed individual."""
    something = abox_of([ClassAssertion(Class("urn:shiq:Something"), "urn:shiq:something")])
    options = question.options
    base = question.open_base(import_engine("local").build(question.ontology.tbox, ABox()))
    plain = replace(options, criterion="none", engine="local", repairs=False)
    result = decide_batch(
        base,
        InputBatch(something, ABox(), (), question.ledger),
        plain,
        question.decider,
        question.clock,
    )
    conflicts = tuple(map(_tbox_conflict, result.conflicts))
    reason = (
        "the TBox contradicts itself: nothing can exist"
        if result.verdict is Verdict.INCONSISTENT
        else result.reason
    )
    evidence = replace(result.evidence, engine=options.engine, criterion=options.criterion)
    statistics = replace(result.statistics, assertions=0, insertions=0, add_set=0)
    return replace(
        result,
        reason=reason,
        conflicts=conflicts,
        evidence=evidence,
        statistics=statistics,
        a_add=(),
        modules=(),
    )


def prepare_and_certify(question: BaseQuestion) -> tuple[BaseQuestion, Any, Result]:
    """Index (T, A) for a store and certify it. Returns the question answered, the prepared store
    and the result.

    By a certified model that the store keeps (THEORY, "Outside completion"). If there is none, or
    another criterion is asked for, all of A is decided as one question.

    Raises: DeadlineExceeded if the time is over before the index is built.
    """
    asked, (prepared, result) = _ask_with_assumptions(
        question, _prepare_as_read, lambda found: found[1]
    )
    return asked, prepared, result


def _prepare_as_read(question: BaseQuestion) -> tuple[Any, Result]:
    """Index and certify the base without assumptions about doubtful axioms."""
    question = question.with_datatypes_by_form
    tbox, abox, options = question.ontology.tbox, question.abox, question.options
    decider, clock = question.decider, question.clock
    clock.step = "indexing"
    with limit_reading_time(options, clock):
        prepared = import_by_name(STORE).prepare(tbox, abox, options.range_size)
    clock.end_stage("indexing")
    clock.step = "certifying"

    def certify_as_one_question(rest: Options) -> Result:
        return run_in_time(
            rest,
            clock,
            lambda: _certify_as_read(replace(question, options=rest)),
            question.leftovers,
        )

    if not len(abox) or options.criterion not in (AUTO, MODEL):
        return prepared, certify_as_one_question(options)
    sent = sent_counts(decider)
    deadline, left, is_over = deadline_of(options, clock.start)
    try:
        with interrupt_after(deadline):
            found = prepared.certify(
                lambda tbox, modules: decider.decide(tbox, modules, left()), is_over
            )
    except DeadlineExceeded:
        # The index was there before, and labels beyond its own are not written.
        return prepared, timeout_result(options, clock, question.leftovers)
    clock.end_stage("certifying")
    if found is None:
        return prepared, certify_as_one_question(options)
    prepared, add_set, answers = found
    told = replace(
        summarise_answers(MODEL, add_set, answers, decider),
        sent_counts=sent_counts_since(decider, sent),
    )
    base = question.open_base(
        range(len(abox)),
        *unsatisfiable_class_leftovers(add_set.tbox, options),
        *oversize_leftovers(count_oversize(add_set)),
    )
    result = settle_and_make_result(
        base,
        InputBatch(abox, ABox(), (), question.ledger),
        told,
        (),
        options,
        decider,
        clock,
        left(),
    )
    return prepared, _move_insertions_to_base(
        replace(result, statistics=replace(result.statistics, insertions=len(abox)))
    )


def limit_reading_time(options: Options, clock: Clock) -> AbstractContextManager[None]:
    """Context manager: raise `DeadlineExceeded` when the time limit of ``options`` is over, counted from
    the start of ``clock``.
    """
    return interrupt_after(deadline_of(options, clock.start)[0])


def allowed_kinds(leftovers: Iterable[Leftover], options: Options) -> frozenset[str]:
    """The kinds of leftovers that ``options`` allow, and those that were allowed when the base was
    certified.
    """
    return options.allow | {x.kind for x in leftovers if x.agreed}


def make_certificate(result: Result, options: Options) -> Any:
    """Make the store's certificate from ``result``, dated now."""
    store = import_by_name(STORE)
    leftovers = result.evidence.leftovers
    return store.Certificate.create(
        verdict=result.verdict.value,
        reason=result.reason,
        reasoner=options.reasoner,
        allowed=sorted(allowed_kinds(leftovers, options)),
        known=sorted({x.kind for x in leftovers if x.known}),
    )


#: Seconds for finding the classes that can have no member; what is not asked about by then is not
#: told.
SECONDS_FOR_CLASSES = 2.0


def unsatisfiable_class_leftovers(tbox: ClausalTBox, options: Options) -> tuple[Leftover, ...]:
    """Make a leftover for each unsatisfiable class that the own reasoner finds within a short time."""
    seconds = (
        SECONDS_FOR_CLASSES
        if options.timeout is None
        else min(SECONDS_FOR_CLASSES, options.timeout / 4)
    )
    deadline = time.monotonic() + seconds
    own = OwnReasoner(steps=2_000)

    def decide(modules: Sequence[Module]) -> Sequence[Answer]:
        return own.decide(tbox, modules, max(0.01, deadline - time.monotonic()))

    names, _ = unsatisfiable_classes(tbox, decide, lambda: time.monotonic() > deadline)
    own.close()
    return tuple(
        Leftover(
            "unsatisfiable-class",
            f"<{name}> can have no member",
            hint="is an axiom about it wrong?",
        )
        for name in names
    )


def read_store_content(store: Any) -> tuple[Reading, Reading]:
    """Read the content of an open store, as if from files: T, and A, each with its leftovers."""
    abox = import_by_name(STORE).stored_abox(store)
    ontology = Reading(
        tbox=store.tbox,
        leftovers=store.tbox_leftovers,
        ontologies=store.ontologies,
        labels=store.term_labels,
    )
    return ontology, Reading(
        abox=abox, leftovers=store.data_leftovers, ledger={"assertion": len(abox)}
    )


@dataclass(frozen=True)
class InheritedFacts:
    """Facts, besides T and A, that a store made from another store takes over from it."""

    applied_batches: Mapping[str, int]
    quarantine: tuple[QuarantinedAssertion, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=dict)
    read_properties: frozenset[str] | None = None
    range_size: int | None = None


def read_inherited(store: Any) -> tuple[InheritedFacts, tuple[Reading, Reading]]:
    """Read T, A and the facts to take over from an open store of any format."""
    (ontology, data), manifest = read_store_content(store), store.manifest
    certificate = store.certificate.to_dict() if store.certificate else {}
    old = InheritedFacts(
        manifest.applied_batches,
        store.quarantine,
        certificate,
        store.read_properties,
        manifest.range_size,
    )
    return old, (ontology, replace(data, left_out=store.left_out(unasked=False)))


def reread_store(store: Any, tbox: list[object], options: Options) -> tuple[Reading, Reading]:
    """Read a new TBox, and the store's A as it is understood under that TBox."""
    ontology = read_ontology(
        tbox,
        progress=make_reading_callback(options),
        scope=f"t{store.snapshot}x",
        catalog=read_catalogs(options),
        vocabulary=imported_vocabularies(options),
        doubt=True,
    )
    if empty_tbox_leftover(ontology) and "empty-tbox" not in options.allow:
        raise InputError(
            "the new TBox has no axioms: the store keeps its own",
            "Name an ontology file, not one of data; --allow empty-tbox if that is meant.",
        )
    unsaid = _unread_properties(store.read_properties, ontology.tbox.signature)
    ontology = replace(
        ontology, leftovers=(*ontology.leftovers, *empty_tbox_leftover(ontology), *unsaid)
    )
    data = _with_readmitted_assertions(read_store_content(store)[1])
    return ontology, read_abox([data], ontology, options, "a", keeps_left_out=True)


def _with_readmitted_assertions(data: Reading) -> Reading:
    """Add the assertions that were left out because the previous TBox's roles were not simple;
    under the new TBox they may be allowed.
    """
    left = [x for x in data.leftovers if x.kind == NON_SIMPLE_KIND and x.values]
    if not left:
        return data
    abox = abox_of([*data.abox, *(v for x in left for v in x.values if isinstance(v, Assertion))])
    leftovers = tuple(x for x in data.leftovers if x not in left)
    return replace(data, abox=abox, leftovers=leftovers, ledger={"assertion": len(abox)})


def _unread_properties(read: frozenset[str], now: Signature) -> tuple[Leftover, ...]:
    """Make a leftover for each property that the new TBox declares but the data was not read for."""
    return tuple(
        Leftover(
            "lossy-input",
            f"<{iri}> was no object or data property when the data was read: what it was used for is not in the store",
            hint=f"build the store anew ({BUILD_ANEW}), or allow it if the data does not use the property",
        )
        for iri in sorted((now.object_properties | now.data_properties) - read)
    )

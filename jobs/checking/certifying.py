"""Certifying a base by itself: given as files, prepared as a store, or read from a store again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from abox_ops.engine import MODEL
from abox_ops.labels.coherence import unsatisfiable_classes
from abox_ops.modules.decide import Decider
from jobs.checking.answer import crowd_counts, crowds, in_time, out_of_time, result_of
from jobs.checking.base import Findings, InputBatch, OpenBase
from jobs.checking.deciding import (
    OpenedDecider,
    answered_outside,
    deadline_of,
    decided,
    found_of,
    sent_by,
    sent_since,
)
from jobs.checking.inputs import (
    NON_SIMPLE,
    OUT_OF_REACH,
    OUTSIDE,
    assertions_of,
    catalog_of,
    empty_tbox,
    is_outside,
    on_reading,
    ontology_of,
    read_by_form,
    sources_of,
    tables_of,
    vocabulary_of,
    well_typed,
)
from jobs.checking.options import AUTO, BUILDERS, STORE, Clock, Options, begun, engine_named, load
from shiq.abox import ABox, abox_of
from shiq.aside import Aside
from shiq.clause import ClausalTBox
from shiq.conflict import Conflict
from shiq.deadline import TimeIsOver, until
from shiq.errors import BUILD_ANEW, InputError
from shiq.model import Assertion, Class, ClassAssertion, Signature
from shiq.rdf import read_ontology
from shiq.reading import Reading
from shiq.reasoner.own import OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from shiq.result import Evidence, Result
from shiq.verdict import Leftover, Verdict, blocks

V = TypeVar("V")

#: Splits A into what is certified and what is set aside, by T, its labels, and a decider.
Repair = Callable[[Reading, ABox, Decider], "tuple[ABox, tuple[Aside, ...]]"]


def certified(
    ontology: Reading,
    given: Reading,
    options: Options,
    decider: Decider,
    clock: Clock,
    *,
    require_axioms: bool,
) -> OpenBase | Result:
    """The base (T, A) opened and certified, or the result that says why it is inconsistent."""
    ontology = replace(ontology, tbox=read_by_form(ontology.tbox, options.allow))
    leftovers = (*ontology.leftovers, *given.leftovers)
    clock.doing = "certifying the base"
    if require_axioms:
        leftovers += empty_tbox(ontology)
    ledger = Counter(ontology.ledger) + Counter(given.ledger)
    question, result = certified_as(
        BaseQuestion(ontology, given.abox, leftovers, ledger, options, decider, clock)
    )
    ontology, leftovers = question.ontology, question.leftovers
    if result.verdict is Verdict.INCONSISTENT:
        return result
    abox, _ = well_typed(given.abox, options)
    clock.doing = "indexing the base"
    opened = begun(options).build(ontology.tbox, abox)
    clock.stage("indexing the base")
    certificate, labels = _base_certificate(result), ontology.labels
    return OpenBase(
        ontology.tbox,
        opened,
        # What is outside, as it was before some was found to be out of reach of A.
        (
            *filter(is_outside, leftovers),
            *(
                x
                for x in result.evidence.leftovers
                if not x.said or x.kind not in (OUTSIDE, OUT_OF_REACH)
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
    """Whether (T, A) is consistent by itself.

    ``ontology``: T, and what its terms are called.
    ``abox``: A.
    ``leftovers``, ``ledger``: of reading both.
    ``decider``, ``clock``: what is asked, and in what time, by ``options``.
    """

    ontology: Reading
    abox: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Mapping[str, int]
    options: Options
    decider: Decider
    clock: Clock

    @property
    def by_form(self) -> BaseQuestion:
        """The same with T as it is read by what is allowed."""
        tbox = read_by_form(self.ontology.tbox, allowed_of(self.leftovers, self.options))
        return replace(self, ontology=replace(self.ontology, tbox=tbox))

    @property
    def assuming(self) -> BaseQuestion | None:
        """The same with assumptions under which all that stands in the way holds, whatever it
        says, as axioms in doubt (THEORY, "Axioms that were not understood"); None where there
        is nothing in the way, or something without an assumption.
        """
        assumed = {one.leftover: one.axioms for one in self.ontology.assumptions}
        options = self.options
        blocking = dict.fromkeys(
            x
            for x in self.leftovers
            if blocks(x, options.allow, options.fail_on)
            and not (is_outside(x) and x not in assumed)
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

        def told(leftovers: Iterable[Leftover]) -> tuple[Leftover, ...]:
            return tuple(
                replace(
                    x,
                    kind="in-doubt",
                    message=f"{x.message}: consistent holds whatever it says",
                    said=(),
                )
                if x in blocking
                else x
                for x in leftovers
            )

        ontology = replace(
            self.ontology, tbox=tbox, leftovers=told(self.ontology.leftovers), assumptions=()
        )
        return replace(self, ontology=ontology, leftovers=told(self.leftovers))

    def opened(self, knowledge_base: Any, *more: Leftover) -> OpenBase:
        """T with ``knowledge_base``, taken for certified."""
        ontology, certificate = self.ontology, {"verdict": Verdict.CONSISTENT.value}
        return OpenBase(
            ontology.tbox,
            knowledge_base,
            (*self.leftovers, *more),
            certificate,
            labels=lambda: ontology.labels,
        )


def certify_base(question: BaseQuestion) -> Result:
    """Certify (T, A) by itself: all of A as insertions into nothing (THEORY, "Beyond SHIQ(D), at no
    loss"). Where nothing but axioms that were not understood is in the way, these are shown to be
    harmless, if they are.
    """
    return certified_as(question)[1]


def certified_as(question: BaseQuestion) -> tuple[BaseQuestion, Result]:
    """Certify as `certify_base` does; return the question that was answered, too."""
    return _answered(question, _certify_as_read, lambda result: result)


def _answered(
    question: BaseQuestion, ask: Callable[[BaseQuestion], V], result_of: Callable[[V], Result]
) -> tuple[BaseQuestion, V]:
    """Ask ``question``, and where that leaves it open, with assumptions: only `consistent` counts
    of those.
    """
    found = ask(question)
    assuming = question.assuming if result_of(found).verdict is Verdict.UNDETERMINED else None
    if assuming is not None:
        more = ask(assuming)
        if result_of(more).verdict is Verdict.CONSISTENT:
            return assuming, more
    return question, found


def _certify_as_read(question: BaseQuestion) -> Result:
    question = question.by_form
    options, decider, clock = question.options, question.decider, question.clock
    empty = begun(options).build(question.ontology.tbox, ABox())
    abox, aside = well_typed(question.abox, options)
    asked: Evidence | None = None
    if not len(abox):
        something = _something_at_all(question)
        if something.verdict is Verdict.INCONSISTENT or something.evidence.undecided:
            return something
        if any(map(is_outside, question.leftovers)):
            # HermiT was asked about the whole, if that was needed.
            asked = something.evidence
            question, options = (
                replace(question, leftovers=asked.leftovers),
                replace(options, outside="undetermined"),
            )
    base = question.opened(empty, *aside, *impossible_classes(empty.simplified.clauses, options))
    result = decided(base, InputBatch(abox, ABox(), (), question.ledger), options, decider, clock)
    if asked is not None:
        notes, counts = (
            (*asked.notes, *result.evidence.notes),
            {**asked.decided, **result.evidence.decided},
        )
        result = replace(
            result, evidence=replace(result.evidence, notes=notes, decided=counts, sent=asked.sent)
        )
    return _of_base(
        replace(
            result, statistics=replace(result.statistics, assertions=result.statistics.insertions)
        )
    )


def _of_base(result: Result) -> Result:
    """``result`` of asking about A as insertions into nothing, with conflicts that are the base's."""
    conflicts = tuple(
        replace(_of_axioms(c), base=(*c.insertions, *c.base)) for c in result.conflicts
    )
    return replace(result, conflicts=conflicts)


def _of_axioms(conflict: Conflict) -> Conflict:
    """What a conflict says of the TBox alone."""
    return replace(
        conflict, insertions=(), base=(), origin="base", keys=(), places=(), base_places=()
    )


def _something_at_all(question: BaseQuestion) -> Result:
    """Where there is no individual: whether there can be one, since no domain is empty."""
    something = abox_of([ClassAssertion(Class("urn:shiq:Something"), "urn:shiq:something")])
    options = question.options
    base = question.opened(engine_named("local").build(question.ontology.tbox, ABox()))
    plain = replace(options, criterion="none", engine="local")
    result = decided(
        base,
        InputBatch(something, ABox(), (), question.ledger),
        plain,
        question.decider,
        question.clock,
    )
    conflicts = tuple(map(_of_axioms, result.conflicts))
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
    """Prepare (T, A) as a store will hold it, and certify it; return the question that was
    answered, too, whose TBox the store gets.

    By a model whose completion the store keeps (THEORY, "Outside completion"); where that is not
    to be had, or another criterion is asked for, by asking about A as a whole, in the time that
    is left. Raises: TimeIsOver where there is none for preparing it.
    """
    asked, (prepared, result) = _answered(question, _prepare_as_read, lambda found: found[1])
    return asked, prepared, result


def _prepare_as_read(question: BaseQuestion) -> tuple[Any, Result]:
    question = question.by_form
    tbox, abox, options = question.ontology.tbox, question.abox, question.options
    decider, clock = question.decider, question.clock
    clock.doing = "indexing"
    with reading_in_time(options, clock):
        prepared = load(STORE).prepare(tbox, abox, options.range_size)
    clock.stage("indexing")
    clock.doing = "certifying"

    def asked_as_a_whole(rest: Options) -> Result:
        return in_time(
            rest,
            clock,
            lambda: _certify_as_read(replace(question, options=rest)),
            question.leftovers,
        )

    if not len(abox) or options.criterion not in (AUTO, MODEL):
        return prepared, asked_as_a_whole(options)
    sent = sent_by(decider)
    deadline, left, is_over = deadline_of(options, clock.begun)
    try:
        with until(deadline):
            found = prepared.certified(
                lambda tbox, modules: decider.decide(tbox, modules, left()), is_over
            )
    except TimeIsOver:
        # The index was there before, and labels beyond its own are not written.
        return prepared, out_of_time(options, clock, question.leftovers)
    clock.stage("certifying")
    if found is None:
        return prepared, asked_as_a_whole(options)
    prepared, add_set, answers = found
    told = replace(found_of(MODEL, add_set, answers, decider), sent=sent_since(decider, sent))
    base = question.opened(
        range(len(abox)), *impossible_classes(add_set.tbox, options), *crowds(crowd_counts(add_set))
    )
    result = answered_outside(
        base,
        InputBatch(abox, ABox(), (), question.ledger),
        told,
        (),
        options,
        decider,
        clock,
        left(),
    )
    return prepared, _of_base(
        replace(result, statistics=replace(result.statistics, insertions=len(abox)))
    )


def reading_in_time(options: Options, clock: Clock) -> AbstractContextManager[None]:
    """Raises `TimeIsOver` in the body where the time of ``options``, which counts since
    ``clock`` began, is over.
    """
    return until(deadline_of(options, clock.begun)[0])


def index_far(
    tbox: object,
    abox: object,
    store: Path,
    options: Options,
    repair: Repair | None,
    taken: Mapping[str, int],
    place: Any,
) -> Result:
    """`index` by an engine that reads, stores and decides by itself. ``taken``: the versions of
    Delta tables that are about to be read, by feed; ``place``: what is at ``store`` now
    (`jobs.store.replacing`).
    """
    clock = Clock(progress=options.progress)
    ontology = ontology_of(sources_of(tbox), options)
    clock.stage("reading the TBox")

    def answer(
        found: Findings, size: int, counts: Mapping[str, int], told: tuple[Leftover, ...]
    ) -> tuple[Result, Any]:
        leftovers = (*ontology.leftovers, *told, *empty_tbox(ontology))
        if not size:
            with OpenedDecider(options) as decider:
                something = _something_at_all(
                    BaseQuestion(
                        ontology, ABox(), leftovers, counts, options, decider, clock
                    ).by_form
                )
            if something.verdict is Verdict.INCONSISTENT or something.evidence.undecided:
                return something, certificate_of(something, options)
        certificate = {"verdict": Verdict.CONSISTENT.value}
        base = OpenBase(
            ontology.tbox,
            range(size),  # type: ignore[arg-type]
            leftovers,
            certificate,
            labels=lambda: ontology.labels,
        )
        ledger = Counter(ontology.ledger) + Counter(counts)
        result = result_of(base, found, ledger, (), options, clock)
        return result, certificate_of(result, options)

    result: Result = load(BUILDERS[options.engine])(
        ontology, sources_of(abox), store, options, answer, repair, taken, place
    )
    return result


def _base_certificate(result: Result) -> dict[str, Any]:
    return {
        "verdict": result.verdict.value
        if not result.evidence.undecided
        else Verdict.UNDETERMINED.value,
        "reason": result.reason,
        "reasoner": result.evidence.reasoner,
    }


def allowed_of(leftovers: Iterable[Leftover], options: Options) -> frozenset[str]:
    """The kinds that are allowed by ``options``, or were when a base was certified."""
    return options.allow | {x.kind for x in leftovers if x.agreed}


def certificate_of(result: Result, options: Options) -> Any:
    """The certificate that a store keeps of ``result``, dated now."""
    store = load(STORE)
    leftovers = result.evidence.leftovers
    return store.Certificate.now(
        verdict=result.verdict.value,
        reason=result.reason,
        reasoner=options.reasoner,
        allowed=sorted(allowed_of(leftovers, options)),
        known=sorted({x.kind for x in leftovers if x.known}),
    )


#: Seconds for finding the classes that can have no member; what is not asked about by then is not
#: told.
SECONDS_FOR_CLASSES = 2.0


def impossible_classes(tbox: ClausalTBox, options: Options) -> tuple[Leftover, ...]:
    """A leftover for each class that can have no member, as far as `own` finds them in a short
    time.
    """
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


@dataclass(frozen=True)
class StoreContent:
    """What a store holds, as it was read: ``ontology`` with its leftovers, ``data`` with A and
    all other leftovers.
    """

    ontology: Reading
    data: Reading


def own_reading(store: Any) -> StoreContent:
    """What an open store holds."""
    abox = load(STORE).stored_abox(store)
    ontology = Reading(
        tbox=store.tbox,
        leftovers=store.tbox_leftovers,
        ontologies=store.ontologies,
        labels=store.term_labels,
    )
    return StoreContent(
        ontology,
        Reading(abox=abox, leftovers=store.data_leftovers, ledger={"assertion": len(abox)}),
    )


@dataclass(frozen=True)
class StoredBase:
    """Facts of a store, beside T and A, for one that is made of it.

    taken: the numbers of the last batches, by feed.
    asides: what belongs to the data and contradicts.
    certificate: by which leftovers were agreed.
    read_properties: the properties that the data was read for.
    range_size: the individuals of a range.
    """

    taken: Mapping[str, int]
    asides: tuple[Aside, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=dict)
    read_properties: frozenset[str] | None = None
    range_size: int | None = None


def stored_base(store: Any) -> tuple[StoredBase, tuple[Reading, Reading]]:
    """Read from an open store, of any version, what another one takes over; and its T and A."""
    held, manifest = own_reading(store), store.manifest
    certificate = store.certificate.to_dict() if store.certificate else {}
    old = StoredBase(
        manifest.taken, store.asides, certificate, store.read_properties, manifest.range_size
    )
    return old, (held.ontology, replace(held.data, left_out=store.left_out(unasked=False)))


def read_again(store: Any, tbox: list[object], options: Options) -> StoreContent:
    """A new TBox, and what the store holds as it reads with that one."""
    ontology = read_ontology(
        tbox,
        progress=on_reading(options),
        scope=f"t{store.snapshot}x",
        catalog=catalog_of(options),
        vocabulary=tables_of(options),
        doubt=True,
    )
    if empty_tbox(ontology) and "empty-tbox" not in options.allow:
        raise InputError(
            "the new TBox has no axioms: the store keeps its own",
            "Name an ontology file, not one of data; --allow empty-tbox if that is meant.",
        )
    unsaid = _not_in_the_store(store.read_properties, ontology.tbox.signature)
    ontology = replace(ontology, leftovers=(*ontology.leftovers, *empty_tbox(ontology), *unsaid))
    data = _said_again(own_reading(store).data)
    return StoreContent(
        ontology, assertions_of([data], ontology, options, "a", keeps_left_out=True)
    )


def _said_again(data: Reading) -> Reading:
    """``data`` with the assertions that roles of the TBox before left out, which may be simple
    by now.
    """
    left = [x for x in data.leftovers if x.kind == NON_SIMPLE and x.said]
    if not left:
        return data
    abox = abox_of([*data.abox, *(v for x in left for v in x.said if isinstance(v, Assertion))])
    leftovers = tuple(x for x in data.leftovers if x not in left)
    return replace(data, abox=abox, leftovers=leftovers, ledger={"assertion": len(abox)})


def _not_in_the_store(read: frozenset[str], now: Signature) -> tuple[Leftover, ...]:
    """A leftover for each object and data property that the data was not ``read`` for:
    annotations are not kept.
    """
    return tuple(
        Leftover(
            "lossy-input",
            f"<{iri}> was no object or data property when the data was read: what it was used for is not in the store",
            hint=f"build the store anew ({BUILD_ANEW}), or allow it if the data does not use the property",
        )
        for iri in sorted((now.object_properties | now.data_properties) - read)
    )

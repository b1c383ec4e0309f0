"""Public calls of `shiq.check` about a base given as files, and calls that make a store."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiq.answers.result import Result
from shiq.answers.verdict import Leftover, Verdict
from shiq.errors import UsageError
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource, Given, classify_input
from shiq.jobs.checking.answer import (
    MakeResult,
    make_result,
    run_in_time,
    timeout_result,
    with_note,
)
from shiq.jobs.checking.base import Findings, OpenBase, mark_allowed
from shiq.jobs.checking.deciders import make_decider
from shiq.jobs.checking.deciding import check_batch
from shiq.jobs.checking.inputs import (
    drop_ill_typed_if_allowed,
    empty_tbox_leftover,
    input_sources,
    list_sources,
    read_abox,
    read_tbox,
    refuse_named_vocabularies,
    with_source_notes,
)
from shiq.jobs.checking.options import (
    BUILDERS,
    LOCAL_BUILDER,
    STORE,
    Clock,
    Options,
    import_by_name,
    option_arguments,
    takes_settings,
)
from shiq.jobs.checking.session import Session
from shiq.model.abox import ABox

if TYPE_CHECKING:
    from shiq.abox_ops.modules.decide import Decider
    from shiq.inputs.reading import QuarantinedAssertion
    from shiq.jobs.checking.certifying import Repair


@takes_settings(Options)
def check_insertions(
    tbox: Given,
    abox: Given | Session = None,
    insertions: Given = None,
    deletions: Given = None,
    **settings: Any,
) -> Result:
    """Check whether (T, (A less ``deletions``) ∪ ``insertions``) is consistent, with T = ``tbox``
    and A = ``abox``.

    tbox, abox, insertions, deletions: one of these, or a list of them:

        - a path, an open file, or a `shiq.TextInput`
        - a list of triples: terms of rdflib or pyoxigraph, or N-Triples texts
        - a TBox or ABox of shiq, an rdflib Graph, an owlready2 Ontology or World, a pyoxigraph Store
        - a table with the columns s, p, o [, graph, key]: Parquet, Delta, Arrow, pandas, polars,
          DuckDB or Spark

    abox: also None, or a store opened by `open_store`; ``tbox`` may then be None.
    settings: fields of `Options` by name.

    A base that is not a store is certified first. Deletions are applied before insertions.

    Raises: UsageError for unknown names; OperationalError for inputs that cannot be used.
    """
    options = Options(**option_arguments(settings))
    if isinstance(abox, Session):
        return abox.check(insertions, deletions, options=options)
    # Loaded where something is certified: most checks are of a store.
    from shiq.jobs.checking.certifying import open_certified_base

    with closing(make_decider(options)) as asked:
        clock = Clock(progress=options.progress)
        data: list[object] = []
        added: list[object] = []
        removed: list[object] = []

        def check() -> Result:
            # A table may start a Spark session, which counts as time of the check.
            for sources, given in ((data, abox), (added, insertions), (removed, deletions)):
                sources.extend(input_sources(given, options))
            ontology = read_tbox([*list_sources(tbox)], options)
            read = read_abox(data, ontology, options, "a")
            clock.end_stage("reading the base")
            base = open_certified_base(ontology, read, options, asked, clock, require_axioms=True)
            return check_batch(base, added, removed, options, asked, clock)

        return with_source_notes(run_in_time(options, clock, check), data, added, removed)


@takes_settings(Options)
def certify(sources: Given, more: Given = None, **settings: Any) -> Result:
    """Check whether T and A, read from ``sources`` and ``more``, are consistent without any batch.

    Settings as in `check_insertions`.
    """
    from shiq.jobs.checking.certifying import BaseQuestion, certify_question

    options = Options(**option_arguments(settings))
    given: list[object] = []
    with closing(make_decider(options)) as asked:
        clock = Clock(progress=options.progress)

        def check() -> Result:
            given.extend(input_sources([*list_sources(sources), *list_sources(more)], options))
            ontology = read_tbox(given, options, closed=True)
            clock.end_stage("reading")
            leftovers = (*ontology.leftovers, *empty_tbox_leftover(ontology))
            allowing = replace(options, allow=options.allow | {"empty-tbox"})
            question = BaseQuestion(
                ontology, ontology.abox, leftovers, ontology.ledger, allowing, asked, clock
            )
            return certify_question(question)[1]

        return with_source_notes(run_in_time(options, clock, check), given)


@takes_settings(Options)
def certify_store(store: str | Path, tbox: Given = None, **settings: Any) -> Result:
    """Check again whether the content of a store is consistent, and record the new certificate in
    one step.

    tbox: a new TBox for the store, else None. Everything that depends on it is computed anew as the
        next snapshot; earlier snapshots are kept. Its assertions are added to A; those of the old
        TBox stay.

    Settings as in `check_insertions`. Raises: StoreError if the store was changed meanwhile.
    """
    from shiq.inputs.reading import quarantine_notice
    from shiq.jobs.checking.certifying import (
        BaseQuestion,
        limit_reading_time,
        make_certificate,
        prepare_and_certify,
        read_store_content,
        reread_store,
    )

    def recertify(options: Options, clock: Clock, asked: Decider) -> Result:
        clock.step = "reading the store"
        with limit_reading_time(options, clock), keeper.open_store(path) as opened:
            checked, is_completed, asides = opened.identity, opened.is_completed, opened.quarantine
            options = replace(options, range_size=options.range_size or opened.manifest.range_size)
            if tbox is None:
                refuse_named_vocabularies(options, opened.ontologies)
            ontology, data = (
                read_store_content(opened)
                if tbox is None
                else reread_store(opened, list_sources(tbox), options)
            )
            before = opened.certificate.to_dict() if opened.certificate else {}
        clock.end_stage("reading the store")
        abox, aside = drop_ill_typed_if_allowed(data.abox, options)
        of_tbox, of_data = ontology.leftovers, data.leftovers
        # What was allowed of the data stays so; of a new TBox nothing was.
        known = (
            *(mark_allowed(of_tbox, before) if tbox is None else of_tbox),
            *mark_allowed(of_data, before),
        )
        leftovers = (*known, *aside, *quarantine_notice(asides, path))
        question = BaseQuestion(ontology, abox, leftovers, data.ledger, options, asked, clock)
        question, prepared, result = prepare_and_certify(question)
        certificate = make_certificate(result, options)
        if tbox is None and not aside and is_completed == (prepared.completion is not None):
            held = keeper.certify(path, certificate, checked=checked)
        else:
            held = keeper.write_store(
                path,
                question.ontology.tbox,
                abox,
                leftovers=(*of_data, *aside),
                tbox_leftovers=question.ontology.leftovers,
                certificate=certificate,
                ontologies=ontology.ontologies,
                labels=ontology.labels,
                left_out=chain(data.left_out, aside),
                replacing=checked,
                prepared=prepared,
                progress=options.progress,
            )
        held.close()
        clock.end_stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))

    keeper = import_by_name(STORE)
    path = keeper.parse_location(store)
    return _build_in_time(Options(**option_arguments(settings)), recertify)


@takes_settings(Options)
def index(
    tbox: Given,
    abox: Given,
    store: str | Path,
    *,
    repair: Repair | None = None,
    replace_store: bool | str = False,
    from_store: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Build a store from T and A and certify it. An inconsistent base is stored, too, without a
    valid certificate.

    repair: removes conflicting assertions from A first; they are kept in the store's ledger.
    replace_store: False: refuse a path with a store (UsageError). True: replace it if the new base
        is consistent, or undetermined where the old one was not consistent; else keep it and add a
        note. "always": replace it.
    from_store: take T, A, ledger, leftovers and table versions from this store, of any format;
        ``tbox`` and ``abox`` are None.

    Settings as in `check_insertions`.
    """
    from shiq.jobs.checking.certifying import (
        BaseQuestion,
        InheritedFacts,
        limit_reading_time,
        make_certificate,
        prepare_and_certify,
        read_inherited,
    )

    options, keeper = Options(**option_arguments(settings)), import_by_name(STORE)
    path = keeper.parse_location(store)
    place = keeper.claim_place(path, replace_store)
    # Loaded where something is read.
    from shiq.rdf.delta_changes import newest_versions

    sources = input_sources(abox, options, builds=options.engine in BUILDERS)
    if from_store is not None and (options.engine in BUILDERS or list_sources(tbox) or sources):
        raise UsageError(
            "the new store is made of another store and of nothing else",
            "Name neither ontology, data nor engine.",
        )
    size = bytes_of_lines(sources) if options.engine not in BUILDERS else 0
    if options.engine in BUILDERS or (
        from_store is None and repair is None and size >= LARGE_BASE_BYTES
    ):
        taken = newest_versions(list_sources(abox))
        built = index_distributed(tbox, sources, path, options, repair, taken, place, size)
        if built is not None:
            return with_source_notes(built, sources)

    def build_and_certify(options: Options, clock: Clock, asked: Decider) -> Result:
        with limit_reading_time(options, clock):
            if from_store is None:
                old = InheritedFacts(applied_batches=newest_versions(list_sources(abox)))
                ontology = read_tbox(list_sources(tbox), options)
                given = read_abox(sources, ontology, options, "a", keeps_left_out=True)
                ontology = replace(
                    ontology, leftovers=(*ontology.leftovers, *empty_tbox_leftover(ontology))
                )
            else:
                with keeper.open_store(keeper.parse_location(from_store), older=True) as opened:
                    old, (ontology, given) = read_inherited(opened)
                options = replace(options, range_size=options.range_size or old.range_size)
            clock.end_stage("reading")
            given_abox, aside = drop_ill_typed_if_allowed(given.abox, options)
            of_tbox, of_data = ontology.leftovers, (*given.leftovers, *aside)
            ledger = Counter(ontology.ledger) + Counter(given.ledger)
            asides: tuple[QuarantinedAssertion, ...] = old.quarantine
            if repair:
                clock.step = "setting conflicts aside"
                given_abox, more = repair(ontology, given_abox, asked)
                asides += more
                clock.end_stage("setting conflicts aside")
        from shiq.inputs.reading import quarantine_notice

        told = (
            *mark_allowed(of_tbox, old.certificate),
            *mark_allowed(of_data, old.certificate),
            *quarantine_notice(asides, path),
        )
        question, prepared, result = prepare_and_certify(
            BaseQuestion(ontology, given_abox, told, ledger, options, asked, clock)
        )
        if refusal := place.refusal(result.verdict):
            return with_note(result, refusal)
        keeper.write_store(
            path,
            question.ontology.tbox,
            given_abox,
            leftovers=of_data,
            tbox_leftovers=question.ontology.leftovers,
            certificate=make_certificate(result, options),
            ontologies=ontology.ontologies,
            asides=asides,
            left_out=chain(given.left_out, aside),
            labels=ontology.labels,
            prepared=prepared,
            taken=old.applied_batches,
            place=place,
            read_properties=old.read_properties,
            progress=options.progress,
        )
        clock.end_stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))

    return with_source_notes(_build_in_time(options, build_and_certify), sources)


def _build_in_time(options: Options, build: Callable[[Options, Clock, Decider], Result]) -> Result:
    """Call ``build``, which writes a store, within the time limit; at the limit, make a result
    about the interrupted step.
    """
    from shiq.deadline import DeadlineExceeded

    clock = Clock(progress=options.progress)
    with closing(make_decider(options)) as asked:
        try:
            return build(options, clock, asked)
        except DeadlineExceeded:
            return with_note(timeout_result(options, clock, ()), "no store was written")


@dataclass(frozen=True)
class BuildRequest:
    """Request to a builder that reads, stores and decides outside this process.

    ontology, sources: T, and the inputs that A is read from.
    store, place: where to build, and what is there now (`shiq.jobs.store.replacing`).
    answer: makes the result and the certificate from the findings.
    repair: puts conflicting assertions into quarantine.
    applied_batches: versions of the Delta tables to read, by feed.
    size: bytes of the sources, where that decided that the builder is asked.
    """

    ontology: Reading
    sources: list[object]
    store: Any
    options: Options
    answer: MakeResult
    repair: Repair | None = None
    applied_batches: Mapping[str, int] = field(default_factory=dict)
    place: Any = None
    size: int = 0


def index_distributed(
    tbox: object,
    abox: object,
    store: Any,
    options: Options,
    repair: Repair | None,
    taken: Mapping[str, int],
    place: Any,
    size: int,
) -> Result | None:
    """Build a store outside this process; see `index` and `BuildRequest`. Returns None if the
    request cannot be served that way.
    """
    from shiq.jobs.checking.certifying import BaseQuestion, decide_tbox_alone, make_certificate

    clock = Clock(progress=options.progress)
    ontology = read_tbox(list_sources(tbox), options)
    ontology = replace(ontology, leftovers=(*ontology.leftovers, *empty_tbox_leftover(ontology)))
    clock.end_stage("reading the TBox")

    def make_answer(
        found: Findings, size: int, counts: Mapping[str, int], told: tuple[Leftover, ...]
    ) -> tuple[Result, Any]:
        leftovers = (*ontology.leftovers, *told)
        if not size:
            with closing(make_decider(options)) as decider:
                something = decide_tbox_alone(
                    BaseQuestion(
                        ontology, ABox(), leftovers, counts, options, decider, clock
                    ).with_datatypes_by_form
                )
            if something.verdict is Verdict.INCONSISTENT or something.evidence.undecided:
                return something, make_certificate(something, options)
        certificate = {"verdict": Verdict.CONSISTENT.value}
        base = OpenBase(
            ontology.tbox,
            range(size),  # type: ignore[arg-type]
            leftovers,
            certificate,
            labels=lambda: ontology.labels,
        )
        ledger = Counter(ontology.ledger) + Counter(counts)
        result = make_result(base, found, ledger, (), options, clock)
        return result, make_certificate(result, options)

    build = import_by_name(BUILDERS.get(options.engine, LOCAL_BUILDER))
    return build(
        BuildRequest(
            ontology, list_sources(abox), store, options, make_answer, repair, taken, place, size
        )
    )


#: Bytes of N-Triples from which on a base is built by worker processes, range by range: less memory
#: and more cores, where starting them does not count.
LARGE_BASE_BYTES = 256 << 20
#: How many times its packed size a file of triples has at least, as a rule.
_UNPACKING_FACTOR = 10


def bytes_of_lines(sources: Sequence[object]) -> int:
    """Estimate the unpacked size of ``sources`` in bytes; 0 unless all are files with one triple a
    line.

    Returns at once if they may be smaller than `LARGE_BASE_BYTES`.
    """
    paths = [source for source in sources if isinstance(source, (str, os.PathLike))]
    if len(paths) != len(sources) or not all(map(os.path.isfile, paths)):
        return 0
    sizes = list(map(os.path.getsize, paths))
    if sum(sizes) * _UNPACKING_FACTOR < LARGE_BASE_BYTES:
        return 0
    # Loaded where there is much to read.
    from shiq.rdf.source_ranges import can_be_cut

    total = 0
    for path, size in zip(paths, sizes):
        source = classify_input(path)
        if not isinstance(source, FileSource) or not can_be_cut(source):
            return 0
        total += size * (_UNPACKING_FACTOR if source.is_compressed else 1)
    return total

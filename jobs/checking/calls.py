"""The public calls of `shiq.check`, which are about a base that is given whole, or make a store
of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.checking.answer import in_time, out_of_time, with_note
from jobs.checking.base import agreed
from jobs.checking.deciding import OpenedDecider, check_batch
from jobs.checking.inputs import (
    assertions_of,
    empty_tbox,
    input_sources,
    noted,
    ontology_of,
    refuse_named,
    sources_of,
    well_typed,
)
from jobs.checking.options import BUILDERS, STORE, Clock, Options, load, settings_of, takes_settings
from jobs.checking.session import Session
from shiq.errors import UsageError
from shiq.result import Result

if TYPE_CHECKING:
    from abox_ops.modules.decide import Decider
    from jobs.checking.certifying import Repair
    from shiq.aside import Aside


@takes_settings
def check_insertions(
    tbox: object,
    abox: object = None,
    insertions: object = None,
    deletions: object = None,
    **settings: Any,
) -> Result:
    """Whether (T, (A less ``deletions``) ∪ ``insertions``) is consistent, given T = ``tbox`` and
    A = ``abox``.

    Each of the four is a path, a list of paths, a TBox or ABox of ours, an rdflib Graph, an
    owlready2 Ontology or World, or a pyoxigraph Store, or a table with the columns s, p, o [,
    graph, key]: Parquet, Delta, Arrow, pandas, Spark; ``abox`` may be None, or a store opened by
    `open_store` (``tbox`` is then ignored if None). A base that is not a store is certified
    first. Deletions come first. The settings are the fields of `Options`, by name. ``allow``
    names kinds of leftovers (`shiq.verdict.KINDS`) that may not stand in the way of
    `consistent`; ``fail_on`` those that shall, though they are for information; ``known``: a
    file of leftovers that somebody answers for (docs/EVIDENCE.md); ``catalog``: a catalog of
    imports, a file or a folder of ontologies, or a list of these (`shiq.catalog`).

    Raises `UsageError` for unknown names, `OperationalError` for inputs that cannot be used at all.
    """
    options = Options(**settings_of(settings))
    if isinstance(abox, Session):
        return abox.check(insertions, deletions, options=options)
    # Loaded where something is certified: most checks are of a store.
    from jobs.checking.certifying import certified

    with OpenedDecider(options) as asked:
        clock = Clock(progress=options.progress)
        data, added, removed = (
            input_sources(given, options) for given in (abox, insertions, deletions)
        )

        def check() -> Result:
            ontology = ontology_of([*sources_of(tbox)], options)
            given = assertions_of(data, ontology, options, "a")
            clock.stage("reading the base")
            base = certified(ontology, given, options, asked, clock, require_axioms=True)
            return check_batch(base, added, removed, options, asked, clock)

        return noted(in_time(options, clock, check), data, added, removed)


@takes_settings
def certify(sources: object, more: object = None, **settings: Any) -> Result:
    """Whether T and A, read from ``sources`` (and ``more``), are consistent by themselves.
    Settings as in `check_insertions`.
    """
    from jobs.checking.certifying import BaseQuestion, certify_base

    options = Options(**settings_of(settings))
    given = input_sources([*sources_of(sources), *sources_of(more)], options)
    with OpenedDecider(options) as asked:
        clock = Clock(progress=options.progress)

        def check() -> Result:
            ontology = ontology_of(given, options, closed=True)
            clock.stage("reading")
            leftovers = (*ontology.leftovers, *empty_tbox(ontology))
            allowing = replace(options, allow=options.allow | {"empty-tbox"})
            return certify_base(
                BaseQuestion(
                    ontology, ontology.abox, leftovers, ontology.ledger, allowing, asked, clock
                )
            )

        return noted(in_time(options, clock, check), given)


@takes_settings
def certify_store(store: str | Path, tbox: object = None, **settings: Any) -> Result:
    """Certifies the A of the store at ``store`` again, by itself, and records the certificate,
    in one step.

    A ``tbox`` takes the place of the store's own: all that rests on it is worked out anew, as
    the next snapshot, which keeps the ones before. Assertions that come with it are added to A;
    those that came with the old one stay. Settings as in `check_insertions`.

    Raises `StoreError` if the store was changed meanwhile.
    """
    from jobs.checking.certifying import (
        BaseQuestion,
        certificate_of,
        own_reading,
        prepare_and_certify,
        read_again,
        reading_in_time,
    )
    from shiq.aside import told_aside

    def certified_again(options: Options, clock: Clock, asked: Decider) -> Result:
        clock.doing = "reading the store"
        with reading_in_time(options, clock), keeper.open_store(path) as opened:
            checked, is_completed, asides = opened.identity, opened.is_completed, opened.asides
            options = replace(options, range_size=options.range_size or opened.manifest.range_size)
            if tbox is None:
                refuse_named(options, opened.ontologies)
            now = (
                own_reading(opened)
                if tbox is None
                else read_again(opened, sources_of(tbox), options)
            )
            before = opened.certificate.to_dict() if opened.certificate else {}
        clock.stage("reading the store")
        abox, aside = well_typed(now.data.abox, options)
        of_tbox, of_data = now.ontology.leftovers, now.data.leftovers
        # What was allowed of the data stays so; of a new TBox nothing was.
        known = (*(agreed(of_tbox, before) if tbox is None else of_tbox), *agreed(of_data, before))
        leftovers = (*known, *aside, *told_aside(asides, path))
        question = BaseQuestion(
            now.ontology, abox, leftovers, now.data.ledger, options, asked, clock
        )
        question, prepared, result = prepare_and_certify(question)
        certificate = certificate_of(result, options)
        if tbox is None and not aside and is_completed == (prepared.completion is not None):
            held = keeper.certify(path, certificate, checked=checked)
        else:
            held = keeper.write_store(
                path,
                question.ontology.tbox,
                abox,
                leftovers=(*now.data.leftovers, *aside),
                tbox_leftovers=question.ontology.leftovers,
                certificate=certificate,
                ontologies=now.ontology.ontologies,
                labels=now.ontology.labels,
                left_out=chain(now.data.left_out, aside),
                replacing=checked,
                prepared=prepared,
                progress=options.progress,
            )
        held.close()
        clock.stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))

    keeper = load(STORE)
    path = keeper.place_of(store)
    return _in_time_to_write(Options(**settings_of(settings)), certified_again)


@takes_settings
def index(
    tbox: object,
    abox: object,
    store: str | Path,
    *,
    repair: Repair | None = None,
    replace_store: bool | str = False,
    from_store: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Builds a store at ``store`` from T and A and certifies it. A base that is not consistent
    is stored all the same, marked uncertified. ``repair`` takes out of A what is set aside
    first, and is kept beside it in the store.

    ``replace_store``: what becomes of a store that is there already. False: `UsageError`, as
    without --replace; True: it is replaced by a base that is consistent, or undetermined where
    the old one was not consistent, and else stays as it was, with a note in the result;
    "always": it is replaced.

    ``from_store``: another store, of any format, whose T and A are taken, with what is set aside
    or left out there and the versions of tables that it has taken; ``tbox`` and ``abox`` are
    None then. Settings as in `check_insertions`.
    """
    from jobs.checking.certifying import (
        BaseQuestion,
        StoredBase,
        certificate_of,
        index_far,
        prepare_and_certify,
        reading_in_time,
        stored_base,
    )

    options, keeper = Options(**settings_of(settings)), load(STORE)
    path = keeper.place_of(store)
    place = keeper.claim_place(path, replace_store)
    # Loaded where something is read.
    from shiq.rdf.changes import feeds_of

    sources = input_sources(abox, options, builds=options.engine in BUILDERS)
    if from_store is not None and (options.engine in BUILDERS or sources_of(tbox) or sources):
        raise UsageError(
            "the new store is made of another store and of nothing else",
            "Name neither ontology, data nor engine.",
        )
    if options.engine in BUILDERS:
        taken = feeds_of(sources_of(abox))
        return noted(index_far(tbox, sources, path, options, repair, taken, place), sources)

    def indexed(options: Options, clock: Clock, asked: Decider) -> Result:
        with reading_in_time(options, clock):
            if from_store is None:
                old = StoredBase(taken=feeds_of(sources_of(abox)))
                ontology = ontology_of(sources_of(tbox), options)
                given = assertions_of(sources, ontology, options, "a", keeps_left_out=True)
                ontology = replace(ontology, leftovers=(*ontology.leftovers, *empty_tbox(ontology)))
            else:
                with keeper.open_store(keeper.place_of(from_store), older=True) as opened:
                    old, (ontology, given) = stored_base(opened)
                options = replace(options, range_size=options.range_size or old.range_size)
            clock.stage("reading")
            given_abox, aside = well_typed(given.abox, options)
            of_tbox, of_data = ontology.leftovers, (*given.leftovers, *aside)
            ledger = Counter(ontology.ledger) + Counter(given.ledger)
            asides: tuple[Aside, ...] = old.asides
            if repair:
                clock.doing = "setting conflicts aside"
                given_abox, more = repair(ontology, given_abox, asked)
                asides += more
                clock.stage("setting conflicts aside")
        from shiq.aside import told_aside

        told = (
            *agreed(of_tbox, old.certificate),
            *agreed(of_data, old.certificate),
            *told_aside(asides, path),
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
            certificate=certificate_of(result, options),
            ontologies=ontology.ontologies,
            asides=asides,
            left_out=chain(given.left_out, aside),
            labels=ontology.labels,
            prepared=prepared,
            taken=old.taken,
            place=place,
            read_properties=old.read_properties,
            progress=options.progress,
        )
        clock.stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))

    return noted(_in_time_to_write(options, indexed), sources)


def _in_time_to_write(
    options: Options, build: Callable[[Options, Clock, Decider], Result]
) -> Result:
    """What ``build`` gives, which writes a store; where the time is over before there is
    something to write, a result that says what was under way.
    """
    from shiq.deadline import TimeIsOver

    clock = Clock(progress=options.progress)
    with OpenedDecider(options) as asked:
        try:
            return build(options, clock, asked)
        except TimeIsOver:
            return with_note(out_of_time(options, clock, ()), "no store was written")

"""Read the TBox, the assertions and the batch of a check, with their leftovers."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from shiq.answers.verdict import LEAVING_OUT, UNKNOWN_DATATYPE, Leftover, Verdict, is_blocking
from shiq.errors import InputError, UsageError
from shiq.inputs.reading import (
    LeftoverSpool,
    Place,
    Reading,
    no_leftover_places,
    no_positions,
    select_data_leftovers,
)
from shiq.inputs.sources import FileSource, TableSource, are_triples, classify_input, triples_source
from shiq.jobs.checking.base import DistributedWork, InputBatch, OpenBase
from shiq.jobs.checking.options import (
    ASK_HERMIT,
    DISTRIBUTED_WORK,
    NTRIPLES_TERMS,
    SPARK_TABLES,
    Options,
    import_by_name,
)
from shiq.model import Assertion, Axiom, DataPropertyAssertion, NegativeDataPropertyAssertion, TBox
from shiq.model.abox import ABox, abox_of
from shiq.model.axioms import READ_BY_FORM
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.vocabulary import VALUE_LINK
from shiq.remote.place import is_address, is_endpoint

if TYPE_CHECKING:
    from shiq.answers.result import Result
    from shiq.inputs.catalog import Catalog
    from shiq.vocabularies import VocabularyChoice


#: The kind of what is said of a role that would have to be simple.
NON_SIMPLE_KIND = "non-simple-role"
#: The kind of what SHIQ(D) cannot say.
OUTSIDE_KIND = "outside-shiq"
#: The kind of what of that no data can reach.
OUT_OF_REACH_KIND = "out-of-reach"


def list_sources(given: object) -> list[object]:
    """Convert an input of a public call, one value or a list, to a list of sources."""
    if given is None:
        return []
    found = list(given) if isinstance(given, list | tuple) else [given]
    if isinstance(given, list) and are_triples(given):
        return [triples_source(given)]
    return (
        expand_folders(found)
        if any(isinstance(one, str) and is_address(one) for one in found)
        else found
    )


def expand_folders(sources: Sequence[Any]) -> list[Any]:
    """Replace addresses of remote folders by the files below them; other sources stay. Raises:
    InputError.
    """
    # Loaded where something is far away.
    from shiq.remote.inputs import inputs_at

    return [
        own
        for one in sources
        for own in (inputs_at(one) if isinstance(one, str) and is_address(one) else [one])
    ]


def input_sources(given: object, options: Options, *, builds: bool = False) -> list[object]:
    """Convert an input to a list of sources; tables get their mapping, and Spark's tables are
    resolved.

    builds: the sources are for a new store. Raises: InputError, UsageError, OperationalError.
    """
    sources = [
        classify_input(x) if isinstance(x, str) and is_endpoint(x) else x
        for x in list_sources(given)
    ]
    if options.mapping is not None or options.terms != NTRIPLES_TERMS:
        # Loaded where a table is not one of triples.
        from shiq.rml.inputs import mapped_sources

        sources = mapped_sources(sources, options.mapping, bare=options.terms != NTRIPLES_TERMS)
    if options.engine != "spark" or not any(
        isinstance(source, (str, os.PathLike)) for source in sources
    ):
        return sources
    return import_by_name(SPARK_TABLES)(sources, options, builds=builds)


def with_source_notes(result: Result, *sources: Iterable[object]) -> Result:
    """Note in ``result`` which versions of tables were read, and at which time endpoints were
    queried.
    """
    told = result.evidence.notes
    taken = tuple(
        s.version
        for some in sources
        for s in some
        if isinstance(s, TableSource | FileSource) and s.version and s.version not in told
    )
    return (
        replace(result, evidence=replace(result.evidence, notes=(*result.evidence.notes, *taken)))
        if taken
        else result
    )


def with_leftovers(result: Result, leftovers: Sequence[Leftover], options: Options) -> Result:
    """Add leftovers about the batch that did not come from the check; blocking ones make the
    verdict undetermined.
    """
    if not leftovers:
        return result
    marked = options.known.mark(leftovers)
    result = replace(
        result, evidence=replace(result.evidence, leftovers=(*marked, *result.evidence.leftovers))
    )
    first = next((x for x in marked if is_blocking(x, options.allow, options.fail_on)), None)
    if first is None or result.verdict is not Verdict.CONSISTENT:
        return result
    return replace(result, verdict=Verdict.UNDETERMINED, reason=f"{first.source}: {first.message}")


def read_tbox(
    sources: list[object], options: Options, *, closed: bool = False, doubt: bool = True
) -> Reading:
    """Read ``sources`` as an ontology.

    closed: no data is read later. doubt: see `read_ontology`. Raises: InputError, OperationalError.
    """
    reading = read_ontology(
        sources,
        progress=make_reading_callback(options),
        catalog=read_catalogs(options),
        closed=closed,
        vocabulary=imported_vocabularies(options),
        doubt=doubt,
    )
    return replace(reading, places=no_positions, leftover_places=no_leftover_places, left_out=())


def read_catalogs(options: Options) -> Catalog | None:
    """Read the catalogs of imports that ``options`` name; None if they name none. Raises:
    InputError.
    """
    if not options.catalog:
        return None
    # Loaded where one is named.
    from shiq.inputs.catalog import read_catalog

    return read_catalog(options.catalog)


def imported_vocabularies(options: Options) -> VocabularyChoice | None:
    """The well-known vocabularies that ``options`` count as imported; None: only those that the
    ontology itself imports.
    """
    if not options.vocabulary:
        return None
    # Loaded where one is named.
    from shiq.vocabularies import choose_tables

    return choose_tables(options.vocabulary)


def refuse_named_vocabularies(options: Options, ontologies: Collection[str]) -> None:
    """Refuse named vocabularies if the store's TBox was read without them. Raises: UsageError."""
    tables = imported_vocabularies(options)
    if tables and (missing := sorted({*tables.ontology_iris} - {*ontologies})):
        name = next(
            name
            for name in tables.imported_tables
            if replace(tables, imported_tables=(name,)).ontology_iris == (missing[0],)
        )
        raise UsageError(
            f"the store has its own TBox, which was read without the vocabulary {name}",
            f"Read it again with --vocabulary {name}: shiq certify --store STORE --tbox FILE, or shiq index.",
        )


def read_abox(
    sources: list[object],
    ontology: Reading,
    options: Options,
    scope: str,
    *,
    keeps_left_out: bool = False,
) -> Reading:
    """Read the ABox of ``sources``, together with the assertions in the ontology. ``scope``: prefix
    that keeps its blank nodes apart from others.
    """
    reading = Reading()
    if sources:
        reading = read_assertions(
            sources,
            ontology.tbox.signature,
            progress=make_reading_callback(options),
            ontologies=ontology.ontologies,
            axioms=ontology.tbox.axioms,
            beside=ontology.leftovers,
            scope=scope,
            catalog=read_catalogs(options),
            vocabulary=replace(tables, imported_tables=())
            if (tables := imported_vocabularies(options))
            else None,
        )
    if scope == "a":
        # The columns of a base need not be held on to.
        left_out = LeftoverSpool(select_data_leftovers(reading.left_out)) if keeps_left_out else ()
        reading = replace(
            reading, places=no_positions, leftover_places=no_leftover_places, left_out=left_out
        )
    if not len(ontology.abox):
        return reading
    if not len(reading.abox):
        return replace(reading, abox=ontology.abox)
    return replace(reading, abox=abox_of([*ontology.abox, *reading.abox]))


def read_batch(
    base: OpenBase, insertions: object, deletions: object, options: Options
) -> InputBatch:
    """Read a batch for ``base``. Raises: InputError, OperationalError."""
    reading = Reading(tbox=base.tbox, ontologies=base.ontologies, leftovers=base.leftovers)
    far: DistributedWork | None = (
        import_by_name(DISTRIBUTED_WORK[options.engine])(base, options)
        if options.engine in DISTRIBUTED_WORK
        else None
    )
    coming, going = (
        far.distribute_sources(list_sources(given)) if far else list_sources(given)
        for given in (insertions, deletions)
    )
    added = read_abox(coming, reading, options, f"i{base.scope}")
    removed = resolve_blank_labels(
        read_abox(going, reading, options, f"d{base.scope}"), f"d{base.scope}"
    )
    ledger = Counter(added.ledger) + Counter(removed.ledger)
    refuse_empty_batch(ledger, options)
    abox, aside = drop_ill_typed_if_allowed(added.abox, options)
    unsaid = frozenset(
        v for x in removed.leftovers if is_left_out(x) for v in x.values if isinstance(v, Assertion)
    )
    held = frozenset(v for x in base.leftovers if is_left_out(x) for v in x.values)
    return InputBatch(
        abox,
        removed.abox,
        (
            *added.leftovers,
            *(y for x in removed.leftovers for y in _deletion_leftovers(x, held)),
            *aside,
        ),
        ledger,
        added.places,
        removed.places,
        added.leftover_places,
        unsaid & held,
        (
            added.left_out,
            (replace(x, message=f"a deletion: {x.message}") for x in removed.left_out),
            aside,
        ),
        far,
    )


def _deletion_leftovers(
    leftover: Leftover, left_out: frozenset[Axiom | Assertion]
) -> Iterator[Leftover]:
    """Convert a ``leftover`` of reading the deletions: assertions that A leaves out anyway
    (``left_out``) need none; others become unmatched deletions.
    """
    if not is_left_out(leftover) or any(isinstance(v, Axiom) for v in leftover.values):
        yield leftover
    elif not left_out.issuperset(leftover.values):
        yield replace(
            leftover,
            kind="unmatched-deletion",
            message="the base does not assert this",
            hint="",
            values=(),
        )


def is_left_out(leftover: Leftover) -> bool:
    """Decide whether the leftover stands for axioms or assertions that were understood but are left
    out of T or A.
    """
    return leftover.kind in LEAVING_OUT and bool(leftover.values)


def is_outside_shiq(leftover: Leftover) -> bool:
    """Decide whether the leftover stands for axioms or assertions that were understood but lie
    outside SHIQ(D).
    """
    return leftover.kind == OUTSIDE_KIND and bool(leftover.values)


def blocks_beyond_hermit(leftover: Leftover, options: Options) -> bool:
    """Decide whether the leftover blocks `consistent` even if HermiT is asked about all of T and A."""
    is_asked = (
        options.outside == ASK_HERMIT
        and is_outside_shiq(leftover)
        and OUTSIDE_KIND not in options.fail_on
    )
    return is_blocking(leftover, options.allow, options.fail_on) and not is_asked


def remove_deleted_assertions(leftover: Leftover, deleted: frozenset[Assertion]) -> Leftover | None:
    """Remove the assertions ``deleted`` from those that ``leftover`` stands for; None if none
    remain.
    """
    if not deleted or not is_left_out(leftover):
        return leftover
    kept = tuple(v for v in leftover.values if v not in deleted)
    return replace(leftover, values=kept) if kept else None


def vocabulary_of(abox: ABox) -> frozenset[str]:
    """Collect the classes and properties that occur in ``abox``."""
    # Loaded where something is outside SHIQ(D).
    from shiq.simplify.locality import names_of

    return frozenset(
        (*abox.classes, *abox.object_properties, *abox.data_properties, *names_of(abox.complex))
    )


def refuse_empty_batch(ledger: Mapping[str, int], options: Options) -> None:
    """Refuse an empty batch if ``require_nonempty`` is set. Raises: InputError."""
    if options.require_nonempty and not sum(ledger.values()):
        raise InputError(
            "the batch holds nothing",
            "Did its source break off? Without --require-nonempty it is consistent.",
        )


def make_reading_callback(options: Options) -> Callable[[str, int], None] | None:
    """Make the callback (source, done) that reports reading to ``options.progress``; None without
    progress.
    """
    progress = options.progress
    return None if progress is None else lambda source, done: progress(f"reading {source}", done, 0)


def read_by_form(tbox: TBox, allowed: Collection[str]) -> TBox:
    """Mark ``tbox`` so that unknown datatypes are read by form (literals are equal only if spelt
    alike), if they are ``allowed``.
    """
    if UNKNOWN_DATATYPE not in allowed or not tbox.axioms or is_read_by_form(tbox):
        return tbox
    return replace(tbox, axioms=(*tbox.axioms, READ_BY_FORM))


def is_read_by_form(tbox: TBox) -> bool:
    """Decide whether unknown datatypes of ``tbox`` are read by form: literals are equal only if
    spelt alike.
    """
    return tbox.axioms[-1:] == (READ_BY_FORM,)


def empty_tbox_leftover(ontology: Reading) -> tuple[Leftover, ...]:
    """Make a leftover for a TBox without axioms, with the names of its sources."""
    if ontology.tbox.axioms or any(map(is_outside_shiq, ontology.leftovers)):
        return ()
    message = "the TBox has no axioms: nothing could ever be refuted"
    return (
        Leftover("empty-tbox", message, ", ".join(ontology.sources), hint="is it the right file?"),
    )


def drop_ill_typed_if_allowed(abox: ABox, options: Options) -> tuple[ABox, tuple[Leftover, ...]]:
    """Remove ill-typed data assertions if they are allowed. Returns the ABox and leftovers for the
    removed ones.
    """
    return drop_ill_typed(abox) if "ill-typed" in options.allow else (abox, ())


def drop_ill_typed(abox: ABox) -> tuple[ABox, tuple[Leftover, ...]]:
    """Remove (negative) data assertions with literals that denote no value. Returns the ABox and
    leftovers.
    """
    from shiq.datatypes import DataTheory

    is_ill_typed = DataTheory().is_ill_typed
    aside: list[Assertion] = []
    rest: list[Assertion] = []
    for assertion in abox:
        match assertion:
            case DataPropertyAssertion(_, _, literal) | NegativeDataPropertyAssertion(
                _, _, literal
            ) if is_ill_typed(literal):
                aside.append(assertion)
            case _:
                rest.append(assertion)
    if not aside:
        return abox, ()
    from shiq.model.ntriples import assertion_lines

    leftovers = tuple(
        Leftover(
            "ill-typed", "an ill-typed literal was set aside", text=" ".join(assertion_lines(a))
        )
        for a in aside
    )
    return abox_of(rest), leftovers


def resolve_blank_labels(deletions: Reading, scope: str) -> Reading:
    """Replace the blank-node labels that occur in ``deletions`` by the nodes of the base that they
    name.
    """
    if VALUE_LINK in deletions.abox.object_properties:
        from shiq.rdf.values_as_nodes import drop_value_links

        # Others may assert the same value.
        deletions = replace(deletions, abox=drop_value_links(deletions.abox))
    written = re.compile(rf"_:{re.escape(scope)}\d+\.(?P<label>[^.].*)", re.DOTALL)
    if not any(map(written.fullmatch, deletions.abox.individuals)):
        return deletions
    from shiq.model.ntriples import parse_blank_label

    def resolve_node(individual: str) -> str:
        match = written.fullmatch(individual)
        return parse_blank_label(match["label"]) if match else individual

    def resolve_assertion(assertion: Assertion) -> Assertion:
        ends = {
            f.name: resolve_node(end)
            for f in fields(assertion)
            if isinstance(end := getattr(assertion, f.name), str)
        }
        return replace(assertion, **ends)  # type: ignore[arg-type]

    read: dict[Assertion, list[Assertion]] = {}
    for assertion in deletions.abox:
        read.setdefault(resolve_assertion(assertion), []).append(assertion)

    def find_places(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
        asked = {a: read.get(a, [a]) for a in assertions}
        known = deletions.places(as_read for some in asked.values() for as_read in some)
        return {
            a: tuple(place for as_read in some for place in known.get(as_read, ()))
            for a, some in asked.items()
        }

    return replace(deletions, abox=abox_of(read), places=find_places)

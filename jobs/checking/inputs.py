"""Reading what is checked: TBox, assertions and batches, with the leftovers that are told of them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from jobs.checking.base import FarWork, InputBatch, OpenBase
from jobs.checking.options import ASK, FAR_WORK, NTRIPLES_TERMS, SPARK_TABLES, Options, load
from shiq.abox import ABox, abox_of
from shiq.errors import InputError, UsageError
from shiq.left_out import Spool, of_data
from shiq.model import Assertion, Axiom, DataPropertyAssertion, NegativeDataPropertyAssertion, TBox
from shiq.model.axioms import READ_BY_FORM
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.vocabulary import VALUE_LINK
from shiq.reading import Place, Reading, nothing_left, nowhere
from shiq.remote.place import is_address
from shiq.sources import TableSource
from shiq.verdict import LEAVING_OUT, UNKNOWN_DATATYPE, Leftover, Verdict, blocks

if TYPE_CHECKING:
    from shiq.catalog import Catalog
    from shiq.result import Result
    from shiq.vocabularies import VocabularyChoice


#: The kind of what is said of a role that would have to be simple.
NON_SIMPLE = "non-simple-role"
#: The kind of what SHIQ(D) cannot say.
OUTSIDE = "outside-shiq"
#: The kind of what of that no data can reach.
OUT_OF_REACH = "out-of-reach"


def sources_of(given: object) -> list[object]:
    """What a public call was given for one of its inputs, as a list."""
    if given is None:
        return []
    found = list(given) if isinstance(given, list | tuple) else [given]
    return (
        spread(found) if any(isinstance(one, str) and is_address(one) for one in found) else found
    )


def spread(sources: Sequence[Any]) -> list[Any]:
    """``sources``, with the files below it for each prefix of an object store, or folder of
    Hadoop's. Raises: InputError.
    """
    # Loaded where something is far away.
    from shiq.remote.inputs import inputs_at

    return [
        own
        for one in sources
        for own in (inputs_at(one) if isinstance(one, str) and is_address(one) else [one])
    ]


def input_sources(given: object, options: Options, *, builds: bool = False) -> list[object]:
    """``given`` as a list; tables with the mapping that says what their rows mean; with the
    engine spark, tables that only Spark can read are those of its session. ``builds``: a store.

    Raises: InputError, UsageError, OperationalError.
    """
    sources = sources_of(given)
    if options.mapping is not None or options.terms != NTRIPLES_TERMS:
        # Loaded where a table is not one of triples.
        from shiq.rml.inputs import mapped_sources

        sources = mapped_sources(sources, options.mapping, bare=options.terms != NTRIPLES_TERMS)
    if options.engine != "spark" or not any(
        isinstance(source, (str, os.PathLike)) for source in sources
    ):
        return sources
    found: list[object] = load(SPARK_TABLES)(sources, options, builds=builds)
    return found


def noted(result: Result, *sources: Iterable[object]) -> Result:
    """``result``, with which versions of tables were taken."""
    taken = tuple(
        s.taken for some in sources for s in some if isinstance(s, TableSource) and s.taken
    )
    return (
        replace(result, evidence=replace(result.evidence, notes=(*result.evidence.notes, *taken)))
        if taken
        else result
    )


def with_leftovers(result: Result, told: Sequence[Leftover], options: Options) -> Result:
    """``result`` with what was ``told`` of the batch before it was checked; what of that stands
    in the way leaves it open.
    """
    if not told:
        return result
    marked = options.known.marked(told)
    result = replace(
        result, evidence=replace(result.evidence, leftovers=(*marked, *result.evidence.leftovers))
    )
    first = next((x for x in marked if blocks(x, options.allow, options.fail_on)), None)
    if first is None or result.verdict is not Verdict.CONSISTENT:
        return result
    return replace(result, verdict=Verdict.UNDETERMINED, reason=f"{first.source}: {first.message}")


def ontology_of(
    sources: list[object], options: Options, *, closed: bool = False, doubt: bool = True
) -> Reading:
    """``sources`` read as an ontology; ``closed``: no data comes later; ``doubt``: see
    `read_ontology`.

    Raises: InputError, OperationalError.
    """
    reading = read_ontology(
        sources,
        progress=on_reading(options),
        catalog=catalog_of(options),
        closed=closed,
        vocabulary=tables_of(options),
        doubt=doubt,
    )
    return replace(reading, places=nowhere, left_at=nothing_left, left_out=())


def catalog_of(options: Options) -> Catalog | None:
    """The catalogs that are named, read. Raises: InputError."""
    if not options.catalog:
        return None
    # Loaded where one is named.
    from shiq.catalog import read_catalog

    return read_catalog(options.catalog)


def tables_of(options: Options) -> VocabularyChoice | None:
    """Which tables of known vocabularies count; None for those that are imported."""
    if not options.vocabulary:
        return None
    # Loaded where one is named.
    from shiq.vocabularies import choose

    return choose(options.vocabulary)


def refuse_named(options: Options, ontologies: Collection[str]) -> None:
    """Raises: UsageError where a vocabulary is named, and the TBox of a store was read without it."""
    tables = tables_of(options)
    if tables and (missing := sorted({*tables.imports} - {*ontologies})):
        name = next(
            name for name in tables.named if replace(tables, named=(name,)).imports == (missing[0],)
        )
        raise UsageError(
            f"the store has its own TBox, which was read without the vocabulary {name}",
            f"Read it again with --vocabulary {name}: shiq certify --store STORE --tbox FILE, or shiq index.",
        )


def assertions_of(
    sources: list[object],
    ontology: Reading,
    options: Options,
    scope: str,
    *,
    keeps_left_out: bool = False,
) -> Reading:
    """The ABox of ``sources``, with the assertions that came with the ontology; ``scope`` keeps
    blank nodes of different inputs apart. ``keeps_left_out``: of a base too.
    """
    reading = Reading()
    if sources:
        reading = read_assertions(
            sources,
            ontology.tbox.signature,
            progress=on_reading(options),
            ontologies=ontology.ontologies,
            axioms=ontology.tbox.axioms,
            beside=ontology.leftovers,
            scope=scope,
            catalog=catalog_of(options),
            vocabulary=replace(tables, named=()) if (tables := tables_of(options)) else None,
        )
    if scope == "a":
        # The columns of a base need not be held on to.
        left_out = Spool(of_data(reading.left_out)) if keeps_left_out else ()
        reading = replace(reading, places=nowhere, left_at=nothing_left, left_out=left_out)
    if not len(ontology.abox):
        return reading
    if not len(reading.abox):
        return replace(reading, abox=ontology.abox)
    return replace(reading, abox=abox_of([*ontology.abox, *reading.abox]))


def read_batch(
    base: OpenBase, insertions: object, deletions: object, options: Options
) -> InputBatch:
    """A batch read for ``base``. Raises: InputError, OperationalError."""
    reading = Reading(tbox=base.tbox, ontologies=base.ontologies, leftovers=base.leftovers)
    far: FarWork | None = (
        load(FAR_WORK[options.engine])(base, options) if options.engine in FAR_WORK else None
    )
    coming, going = (
        far.sources(sources_of(given)) if far else sources_of(given)
        for given in (insertions, deletions)
    )
    added = assertions_of(coming, reading, options, f"i{base.scope}")
    removed = told_by_label(
        assertions_of(going, reading, options, f"d{base.scope}"), f"d{base.scope}"
    )
    ledger = Counter(added.ledger) + Counter(removed.ledger)
    refuse_nothing(ledger, options)
    abox, aside = well_typed(added.abox, options)
    unsaid = frozenset(
        v for x in removed.leftovers if leaves_out(x) for v in x.said if isinstance(v, Assertion)
    )
    held = frozenset(v for x in base.leftovers if leaves_out(x) for v in x.said)
    return InputBatch(
        abox,
        removed.abox,
        (*added.leftovers, *(y for x in removed.leftovers for y in _of_deletion(x, held)), *aside),
        ledger,
        added.places,
        removed.places,
        added.left_at,
        unsaid & held,
        (
            added.left_out,
            (replace(x, message=f"a deletion: {x.message}") for x in removed.left_out),
            aside,
        ),
        far,
    )


def _of_deletion(leftover: Leftover, held: frozenset[Axiom | Assertion]) -> Iterator[Leftover]:
    """What is left of a ``leftover`` of deletions where the base leaves out what is ``held``: to
    delete something else that is left out deletes nothing, and says nothing.
    """
    if not leaves_out(leftover) or any(isinstance(v, Axiom) for v in leftover.said):
        yield leftover
    elif not held.issuperset(leftover.said):
        yield replace(
            leftover,
            kind="unmatched-deletion",
            message="the base does not assert this",
            hint="",
            said=(),
        )


def leaves_out(leftover: Leftover) -> bool:
    """Whether it keeps axioms or assertions that it leaves out."""
    return leftover.kind in LEAVING_OUT and bool(leftover.said)


def is_outside(leftover: Leftover) -> bool:
    """Whether it leaves out axioms or assertions that only SHIQ(D) cannot say."""
    return leftover.kind == OUTSIDE and bool(leftover.said)


def stands_whatever_hermit_says(leftover: Leftover, options: Options) -> bool:
    """Whether it keeps a check from `consistent`, and no answer to the whole question could
    change that.
    """
    is_asked = options.outside == ASK and is_outside(leftover) and OUTSIDE not in options.fail_on
    return blocks(leftover, options.allow, options.fail_on) and not is_asked


def less(leftover: Leftover, unsaid: frozenset[Assertion]) -> Leftover | None:
    """``leftover`` without what is deleted; None if that is all."""
    if not unsaid or not leaves_out(leftover):
        return leftover
    kept = tuple(v for v in leftover.said if v not in unsaid)
    return replace(leftover, said=kept) if kept else None


def vocabulary_of(abox: ABox) -> frozenset[str]:
    """The classes and properties that ``abox`` speaks of."""
    # Loaded where something is outside SHIQ(D).
    from simplify.locality import names_of

    return frozenset(
        (*abox.classes, *abox.object_properties, *abox.data_properties, *names_of(abox.complex))
    )


def refuse_nothing(ledger: Mapping[str, int], options: Options) -> None:
    """Raises InputError for a batch of nothing where one is not wanted."""
    if options.require_nonempty and not sum(ledger.values()):
        raise InputError(
            "the batch holds nothing",
            "Did its source break off? Without --require-nonempty it is consistent.",
        )


def on_reading(options: Options) -> Callable[[str, int], None] | None:
    """What readers call as (source, done), to tell of progress; None if nobody listens."""
    progress = options.progress
    return None if progress is None else lambda source, done: progress(f"reading {source}", done, 0)


def read_by_form(tbox: TBox, allowed: Collection[str]) -> TBox:
    """``tbox``; where unknown datatypes are ``allowed``, each is a value space of its own, whose
    values are its lexical forms.
    """
    if UNKNOWN_DATATYPE not in allowed or not tbox.axioms or is_read_by_form(tbox):
        return tbox
    return replace(tbox, axioms=(*tbox.axioms, READ_BY_FORM))


def is_read_by_form(tbox: TBox) -> bool:
    return tbox.axioms[-1:] == (READ_BY_FORM,)


def empty_tbox(ontology: Reading) -> tuple[Leftover, ...]:
    """The leftover for a TBox without axioms, which names what it was read from."""
    if ontology.tbox.axioms or any(map(is_outside, ontology.leftovers)):
        return ()
    message = "the TBox has no axioms: nothing could ever be refuted"
    return (
        Leftover("empty-tbox", message, ", ".join(ontology.sources), hint="is it the right file?"),
    )


def well_typed(abox: ABox, options: Options) -> tuple[ABox, tuple[Leftover, ...]]:
    """``abox`` without its ill-typed data assertions where those are allowed, and what was set
    aside.
    """
    return without_ill_typed(abox) if "ill-typed" in options.allow else (abox, ())


def without_ill_typed(abox: ABox) -> tuple[ABox, tuple[Leftover, ...]]:
    """``abox`` without its (negative) data assertions on literals that denote nothing, and a
    leftover for each.
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
    from shiq.ntriples import assertion_lines

    leftovers = tuple(
        Leftover(
            "ill-typed", "an ill-typed literal was set aside", text=" ".join(assertion_lines(a))
        )
        for a in aside
    )
    return abox_of(rest), leftovers


def told_by_label(deletions: Reading, scope: str) -> Reading:
    """``deletions``, which were read with ``scope``, about the nodes of the base: ``_:x`` is
    what `shiq export` prints so.

    A blank node is named by nothing else, and a label in a file of deletions could stand for
    nothing but a new node, about which nothing is asserted that could be deleted.
    """
    if VALUE_LINK in deletions.abox.object_properties:
        from shiq.rdf.values_as_nodes import without_links

        # Others may assert the same value.
        deletions = replace(deletions, abox=without_links(deletions.abox))
    written = re.compile(rf"_:{re.escape(scope)}\d+\.(?P<label>[^.].*)", re.DOTALL)
    if not any(map(written.fullmatch, deletions.abox.individuals)):
        return deletions
    from shiq.ntriples import blank_node

    def meant(individual: str) -> str:
        match = written.fullmatch(individual)
        return blank_node(match["label"]) if match else individual

    def about(assertion: Assertion) -> Assertion:
        ends = {
            f.name: meant(end)
            for f in fields(assertion)
            if isinstance(end := getattr(assertion, f.name), str)
        }
        return replace(assertion, **ends)  # type: ignore[arg-type]

    read: dict[Assertion, list[Assertion]] = {}
    for assertion in deletions.abox:
        read.setdefault(about(assertion), []).append(assertion)

    def places(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
        asked = {a: read.get(a, [a]) for a in assertions}
        known = deletions.places(as_read for some in asked.values() for as_read in some)
        return {
            a: tuple(place for as_read in some for place in known.get(as_read, ()))
            for a, some in asked.items()
        }

    return replace(deletions, abox=abox_of(read), places=places)

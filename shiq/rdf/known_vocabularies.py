"""What an import of a well-known vocabulary brings: the axioms, assertions and kinds of its
table (`shiq.vocabularies`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from shiq.amounts import count
from shiq.built_in import without_built_in
from shiq.functional import axiom_text
from shiq.functional.reader import read_document
from shiq.model import (
    Axiom,
    DataProperty,
    DisjointUnion,
    InverseObjectProperties,
    ObjectProperty,
    Signature,
)
from shiq.rdf.kinds import DATA, OBJECT, Kinds
from shiq.rdf.load import AssumedKinds, LoadedSources, StatedValue, add_assertions
from shiq.signature import entities
from shiq.verdict import Leftover
from shiq.vocabularies import VocabularyTable


def take_table(table: VocabularyTable, loaded: LoadedSources) -> None:
    """Adds the axioms and kinds of a known vocabulary, and tells that they come from shiq's own
    table.
    """
    name = table.file_name
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", name, f"v{table.name}")
    for term in sorted(table.beyond.keys() & loaded.triples.ids.keys()):
        message = (
            f"{table.label} says of <{term}> what OWL 2 DL cannot say: it is {table.beyond[term]}"
        )
        loaded.leftovers.append(Leftover("outside-shiq", message, name))
    loaded.leftovers += (
        Leftover("outside-shiq", f"{table.label} has {text}", name) for text in table.outside
    )
    loaded.sources.append(name)
    loaded.triples.begin(name)
    loaded.of_tables += (StatedValue(axiom, name) for _, axiom in document.axioms)
    add_assertions((StatedValue(assertion, name) for _, assertion in document.assertions), loaded)
    names = {
        kind: frozenset(iri for iri, of in table.kinds.items() if of == kind)
        for kind in {*table.kinds.values()}
    }
    either, none = names.get("property", frozenset()), frozenset[str]()
    brought = document.signature | Signature(
        names.get("class", none),
        names.get("object", none) | either,
        names.get("data", none) | either,
        names.get("annotation", none),
        names.get("datatype", none),
        frozenset(table.kinds),
    )
    before = loaded.signature
    loaded.signature = _settle(before | brought, before, brought.open_properties)
    loaded.signature = _settle(
        loaded.signature, document.signature, before.open_properties & loaded.both, either
    )
    loaded.both |= brought.open_properties | (
        document.signature.classes & document.signature.datatypes
    )
    assumed: dict[str, list[str]] = {iri: [] for iri in table.of_annotations}
    for kind, of_kind in (
        (OBJECT, document.signature.object_properties),
        (DATA, document.signature.data_properties),
    ):
        for iri in of_kind:
            assumed.setdefault(iri, []).append(kind)
    message = f"but not in {name}, which lacks what {table.title} says of such a property"
    hint = "give the vocabulary's own file, by --catalog or as a source"
    loaded.assumed.append(AssumedKinds(assumed, Leftover("punning", message, name, hint=hint)))
    loaded.ontologies.update(
        (*table.ontologies, *(iri + end for iri in table.ontologies for end in "#/"))
    )
    message = f"{table.label}: from shiq's table, {len(table.axioms):,} axioms"
    loaded.leftovers.append(Leftover("vocabulary", message, name))
    loaded.imports += (
        (iri, Leftover("missing-import", f"<{iri}> is imported, but not read", name))
        for iri in table.imports
    )


def _settle(
    united: Signature, by: Signature, left_open: Collection[str], either: Collection[str] = ()
) -> Signature:
    """``united`` with the kind alone that ``by`` has, of each property that is ``left_open``
    elsewhere, and not among ``either`` where it is left open as well.
    """
    objects = (by.object_properties - by.data_properties).intersection(left_open).difference(either)
    values = (by.data_properties - by.object_properties).intersection(left_open).difference(either)
    return replace(
        united,
        object_properties=united.object_properties - values,
        data_properties=united.data_properties - objects,
    )


def differences(
    table: VocabularyTable, source: str, here: Collection[Axiom], kinds: Kinds
) -> Iterator[Leftover]:
    """What a ``source`` that is the vocabulary says otherwise than the table; ``here``: its
    axioms. What is of open kind is not compared: other sources may have settled it.
    """
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", source, "v")
    open_names = {
        iri for iri, kind in table.kinds.items() if kind == "property"
    } | document.signature.open_properties
    open_names |= table.beyond.keys()
    known = [axiom for _, axiom in document.axioms]

    def comparable(axioms: Collection[Axiom], others: Collection[Axiom]) -> list[str]:
        there = set(map(_without_order, others))
        new = (x for x in axioms if _without_order(x) not in there)
        return sorted(
            axiom_text(x) for x in new if open_names.isdisjoint(e.iri for e in entities(x))
        )

    # A table has no axioms that the top and bottom properties meet.
    here = [plain for axiom in here for plain in without_built_in(axiom)]
    new, absent = comparable(here, known), comparable(known, here)
    terms = sorted(iri for iri in table.kinds if not kinds.is_entity(iri) and iri not in open_names)
    counts = (
        (new, "axiom", "here"),
        (absent, "axiom", "in the table"),
        (terms, "term", "in the table"),
    )
    if new or absent or terms:
        what = ", ".join(
            f"{count(len(found), text)} only {where}" for found, text, where in counts if found
        )
        first = (new or absent or terms)[0]
        message = f"it replaces shiq's table of {table.label}, and differs from it: {what}, first: {first}"
        yield Leftover("vocabulary", message, source)


def _without_order(axiom: Axiom) -> object:
    """The axiom, such that two which differ in the order of equivalent, disjoint or inverse
    members are the same.
    """
    is_symmetric = isinstance(axiom, InverseObjectProperties) or type(axiom).__name__.startswith(
        ("Equivalent", "Disjoint")
    )
    fields = [getattr(axiom, name) for name in type(axiom).__match_args__]
    members = fields[0] if isinstance(fields[0], tuple) else fields
    return (
        (type(axiom), frozenset(members))
        if is_symmetric and not isinstance(axiom, DisjointUnion)
        else axiom
    )


def drop_other_readings(loaded: LoadedSources, kinds: Kinds) -> Iterator[StatedValue[Axiom]]:
    """The axioms of tables but for the reading that a declaration of the ontology's own, or a
    use, rules out.
    """
    dropped: set[object] = set()
    for iri in loaded.both:
        found = kinds.logical_kinds(iri)
        if len(found) == 1:
            dropped.add(DataProperty(iri) if found == {OBJECT} else ObjectProperty(iri))
    for item in loaded.of_tables:
        if not dropped or dropped.isdisjoint(entities(item.value)):
            yield item

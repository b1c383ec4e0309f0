"""Import of a well-known vocabulary: axioms, assertions and kinds of its table
(`shiq.vocabularies`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from shiq.answers.verdict import Leftover
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
from shiq.model.built_in import remove_built_in
from shiq.model.walk import entities
from shiq.rdf.kinds import DATA, OBJECT, Kinds
from shiq.rdf.load import AssumedKinds, LoadedSources, StatedValue, add_assertions
from shiq.support import pluralize
from shiq.vocabularies import VocabularyTable


def add_vocabulary_table(table: VocabularyTable, loaded: LoadedSources) -> None:
    """Add the axioms and kinds of a known vocabulary, with a leftover that names shiq's table."""
    name = table.file_name
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", name, f"v{table.name}")
    for term in sorted(table.non_dl_terms.keys() & loaded.triples.ids.keys()):
        message = f"{table.label} says of <{term}> what OWL 2 DL cannot say: it is {table.non_dl_terms[term]}"
        loaded.leftovers.append(Leftover("outside-shiq", message, name))
    loaded.leftovers += (
        Leftover("outside-shiq", f"{table.label} has {text}", name)
        for text in table.non_dl_statements
    )
    loaded.sources.append(name)
    loaded.triples.begin_source(name)
    loaded.table_axioms += (StatedValue(axiom, name) for _, axiom in document.axioms)
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
    loaded.signature = _resolve_open_kinds(before | brought, before, brought.open_properties)
    loaded.signature = _resolve_open_kinds(
        loaded.signature, document.signature, before.open_properties & loaded.dual_names, either
    )
    loaded.dual_names |= brought.open_properties | (
        document.signature.classes & document.signature.datatypes
    )
    assumed: dict[str, list[str]] = {iri: [] for iri in table.annotation_properties}
    for kind, of_kind in (
        (OBJECT, document.signature.object_properties),
        (DATA, document.signature.data_properties),
    ):
        for iri in of_kind:
            assumed.setdefault(iri, []).append(kind)
    message = f"but not in {name}, which lacks what {table.title} says of such a property"
    hint = "give the vocabulary's own file, by --catalog or as a source"
    loaded.assumed_kinds.append(
        AssumedKinds(assumed, Leftover("punning", message, name, hint=hint))
    )
    loaded.ontologies.update(
        (*table.ontologies, *(iri + end for iri in table.ontologies for end in "#/"))
    )
    message = f"{table.label}: from shiq's table, {len(table.axioms):,} axioms"
    loaded.leftovers.append(Leftover("vocabulary", message, name))
    loaded.imports += (
        (iri, Leftover("missing-import", f"<{iri}> is imported, but not read", name))
        for iri in table.imports
    )


def _resolve_open_kinds(
    united: Signature, by: Signature, left_open: Collection[str], either: Collection[str] = ()
) -> Signature:
    """Reduce ``united`` to the kind in ``by`` for each property in ``left_open``, except those in
    ``either`` that ``by`` leaves open too.
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
    """Leftovers on differences between a vocabulary's own document and shiq's table of it.

    Names of open kind are not compared, since other sources may decide their kind.

    Args:
    here: axioms of the ``source``
    """
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", source, "v")
    open_names = {
        iri for iri, kind in table.kinds.items() if kind == "property"
    } | document.signature.open_properties
    open_names |= table.non_dl_terms.keys()
    known = [axiom for _, axiom in document.axioms]

    def comparable(axioms: Collection[Axiom], others: Collection[Axiom]) -> list[str]:
        there = set(map(_without_order, others))
        new = (x for x in axioms if _without_order(x) not in there)
        return sorted(
            axiom_text(x) for x in new if open_names.isdisjoint(e.iri for e in entities(x))
        )

    # A table has no axioms that the top and bottom properties meet.
    here = [plain for axiom in here for plain in remove_built_in(axiom)]
    new, absent = comparable(here, known), comparable(known, here)
    terms = sorted(iri for iri in table.kinds if not kinds.is_entity(iri) and iri not in open_names)
    counts = (
        (new, "axiom", "here"),
        (absent, "axiom", "in the table"),
        (terms, "term", "in the table"),
    )
    if new or absent or terms:
        what = ", ".join(
            f"{pluralize(len(found), text)} only {where}" for found, text, where in counts if found
        )
        first = (new or absent or terms)[0]
        message = f"it replaces shiq's table of {table.label}, and differs from it: {what}, first: {first}"
        yield Leftover("vocabulary", message, source)


def _without_order(axiom: Axiom) -> object:
    """Axiom in a form that is equal for any order of equivalent, disjoint or inverse members."""
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
    """Axioms of tables without the reading that a declaration or use of the ontology excludes."""
    dropped: set[object] = set()
    for iri in loaded.dual_names:
        found = kinds.logical_kinds(iri)
        if len(found) == 1:
            dropped.add(DataProperty(iri) if found == {OBJECT} else ObjectProperty(iri))
    for item in loaded.table_axioms:
        if not dropped or dropped.isdisjoint(entities(item.value)):
            yield item

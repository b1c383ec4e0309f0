"""Bulk interpretation of assertions on named classes and properties, column by column.

Each row gets a bucket by the kinds of its predicate (or class) and object. A row with an undeclared
name is kept and reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiq.answers.verdict import Leftover
from shiq.model import NOTHING, Literal, Signature
from shiq.model.walk import is_reserved
from shiq.rdf.namespaces import unknown_name_message
from shiq.rdf.ontology_header import unknown_word_leftover
from shiq.rdf.triples import (
    IRI,
    LITERAL,
    Flags,
    Rows,
    Triples,
    distinct_ids,
    flags_of,
    name_flags,
    numpy_view,
)
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    DATATYPES,
    INDIVIDUAL_TYPES,
    KNOWN,
    TYPE,
    VALUE_LINK,
    VALUE_ROLE,
    KindOf,
    NearMisses,
    is_misspelt,
    is_odd_type,
    is_structural,
)

if TYPE_CHECKING:
    from shiq.vocabularies import VocabularyChoice


# What a predicate or a class is.
_UNKNOWN, _OBJECT, _DATA, _EITHER, _ANNOTATION, _CLASS, _DATATYPE, _INDIVIDUAL, _GRAPH = range(9)
# Where a row goes.
_BUCKETS = (
    "graph",
    "assertion",
    "annotation",
    "declaration",
    "leftover:undeclared",
    "leftover:malformed",
    "leftover:unknown-vocabulary",
    "leftover:foreign",
    "leftover:other-language",
)
(
    _TO_GRAPH,
    _ASSERTED,
    _ANNOTATED,
    _DECLARED,
    _UNDECLARED,
    _MALFORMED,
    _MISSPELT,
    _FOREIGN,
    _BESIDE,
) = range(9)


#: What all reserved names begin with.
_RESERVED = "http://www.w3.org/"
_LENGTH = len(_RESERVED)


@dataclass
class RowsByKind:
    """Indexes of a source's rows by the kind of assertion (class, role, data, …), and the
    leftovers: rows that were not interpreted.
    """

    classes: Rows
    roles: Rows
    data: Rows
    built_in: Rows  # assertions on top and bottom properties
    annotations: Flags  # rows that say nothing a model could see
    known_rows: Flags  # rows whose property or class is known, here or in a language beside OWL
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    ill_typed: list[int] = field(
        default_factory=list
    )  # data assertions that were set aside, see `shiq.rdf.bulk_assertions`


def axiom_rows(triples: Triples) -> Rows:
    """Select the rows that do not stand for plain assertions: declarations, axioms, lists. They go
    to the vocabulary graph.
    """
    predicates, values = numpy_view(triples.predicate), numpy_view(triples.object)
    structural = flags_of(triples, distinct_ids(predicates), lambda term: is_structural(str(term)))
    types = predicates == triples.id_of(TYPE)
    odd_types = flags_of(triples, distinct_ids(values[types]), is_odd_type)
    return np.flatnonzero(np.where(types, odd_types[values], structural[predicates]))


def typed_individuals(triples: Triples) -> set[str]:
    """Collect the names that are typed as members of named classes."""
    predicates, values, subjects = (
        numpy_view(c) for c in (triples.predicate, triples.object, triples.subject)
    )
    rows = predicates == triples.id_of(TYPE)
    plain = flags_of(
        triples,
        distinct_ids(values[rows]),
        lambda term: isinstance(term, str) and not is_odd_type(term),
    )
    return {str(triples.terms[i]) for i in distinct_ids(subjects[rows & plain[values]])}


def sort_rows_by_kind(
    triples: Triples,
    known: Signature,
    *,
    headers: Collection[str],
    nodes: Collection[str],
    individuals: Callable[[], Collection[str]],
    counted: int,
    vocabulary: VocabularyChoice | None = None,
    notes: bool = False,
) -> RowsByKind:
    """Classify all rows outside the vocabulary graph as class, role or data assertions, annotations
    or leftovers, by the kinds of their names.

    Args:
    known: signature of the TBox
    headers: IRIs of ontologies
    nodes: axioms that are nodes
    individuals: gives the names that are individuals, whatever else they are
    counted: number of rows for the ledger; rows after them are implied ones
    vocabulary: known vocabularies that count; None for all
    notes: see `shiq.rdf.undeclared_names.documenting_rows`
    """
    kind_in_table = partial(_kind_in_table, vocabulary)
    subjects, predicates, values = (
        numpy_view(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    kinds = (
        np.frombuffer(bytes(triples.kinds), dtype=np.uint8)
        if triples.kinds
        else np.zeros(0, np.uint8)
    )
    literal = kinds[values] == LITERAL
    types = predicates == triples.id_of(TYPE)
    what = np.zeros(len(triples.terms), dtype=np.int8)
    for i in distinct_ids(predicates):
        what[i] = _predicate_kind(str(triples.terms[i]), known, kind_in_table)
    kind = what[predicates]
    for i in distinct_ids(values[types]):
        what[i] = _class_kind(triples.terms[i], known, kind_in_table)
    kind[types] = what[values[types]]

    bucket = np.full(len(triples), _ASSERTED, dtype=np.int8)
    bucket[kind == _GRAPH] = _TO_GRAPH
    bucket[kind == _ANNOTATION] = _ANNOTATED
    bucket[kind == _INDIVIDUAL] = _DECLARED
    bucket[kind == _UNKNOWN] = _UNDECLARED
    bucket[(kind == _DATATYPE) | ((kind == _OBJECT) & literal) | ((kind == _DATA) & ~literal)] = (
        _MALFORMED
    )
    names = np.where(types, values, predicates)
    only_in_table = flags_of(
        triples,
        distinct_ids(names),
        lambda term: _is_only_in_table(str(term), known, kind_in_table),
    )
    language = _language_index_of_rows(triples, names, (kind == _UNKNOWN) | only_in_table[names])
    foreign = _foreign_rows(triples, known, kind == _UNKNOWN, names, vocabulary)
    beside = (language >= 0) & ((bucket == _ASSERTED) | foreign)
    unknown = ((kind == _UNKNOWN) | only_in_table[predicates]) & ~types & ~beside
    if unknown.any():
        # Loaded where a name is unknown.
        from shiq.rdf.undeclared_names import documenting_rows

        bucket[
            unknown
            & documenting_rows(
                triples, known, headers, individuals(), unknown, kind_in_table, notes
            )
        ] = _ANNOTATED
    on_axiom = name_flags(triples, nodes)[subjects] & ~types & (bucket != _TO_GRAPH)
    if on_axiom.any():
        noted = (kind[on_axiom] == _UNKNOWN) | (kind[on_axiom] == _ANNOTATION)
        noted |= (name_flags(triples, known.annotation_properties) | only_in_table)[
            predicates[on_axiom]
        ]
        # A value that fits is an assertion about the node too, which has no name.
        fits = literal[on_axiom] & (bucket[on_axiom] == _ASSERTED)
        bucket[on_axiom] = np.where(noted, _ANNOTATED, np.where(fits, _ASSERTED, _MALFORMED))
    # Of a document that its header names: a value of the other kind is an annotation, for no axiom
    # sees such a property.
    bucket[(bucket == _MALFORMED) & ~types & name_flags(triples, headers)[subjects]] = _ANNOTATED
    misspelt = _misspelt_terms(triples)
    kept = (bucket == _ASSERTED) | (bucket == _UNDECLARED)
    beside &= kept
    bucket[kept & (misspelt[subjects] | (misspelt[values] & (literal | ~beside)))] = _MISSPELT

    built_in = name_flags(triples, BUILT_IN_OBJECT | BUILT_IN_DATA)[predicates] & kept
    kept &= ~built_in
    bucket[foreign & (bucket == _UNDECLARED)] = _FOREIGN
    bucket[beside & (bucket != _MISSPELT)] = _BESIDE
    bucket[built_in] = _TO_GRAPH  # counted with the other assertions that are values
    counts = np.bincount(bucket[:counted], minlength=len(_BUCKETS))
    result = RowsByKind(
        (kept & types).nonzero()[0],
        (kept & ~types & ~literal).nonzero()[0],
        (kept & ~types & literal).nonzero()[0],
        built_in.nonzero()[0],
        bucket == _ANNOTATED,
        np.isin(bucket, (_ASSERTED, _ANNOTATED, _BESIDE)),
        ledger=Counter({name: int(n) for name, n in zip(_BUCKETS[1:], counts[1:]) if n}),
    )
    result.leftovers += _undeclared_leftovers(
        triples, known, (bucket == _UNDECLARED).nonzero()[0], types
    )
    result.leftovers += _foreign_name_leftovers(triples, (bucket == _FOREIGN).nonzero()[0], types)
    result.leftovers += _language_leftovers(triples, (bucket == _BESIDE).nonzero()[0], language)
    if (misfits := (bucket == _MALFORMED).nonzero()[0]).size:
        result.leftovers += range_misfit_leftovers(
            triples, misfits, types, kind == _OBJECT, on_axiom
        )
    result.leftovers += _unknown_word_leftovers(
        triples, (bucket == _MISSPELT).nonzero()[0], misspelt
    )
    del subjects, predicates, values  # what is looked at cannot grow
    if VALUE_LINK in known.object_properties:
        # Loaded where a data property is inverse functional.
        from shiq.rdf.values_as_nodes import add_nodes

        add_nodes(triples, result, known)
    return result


def _predicate_kind(iri: str, known: Signature, kind_in_table: KindOf) -> int:
    """Return the kind (object, data, annotation property, …) of a predicate, as a code of this
    module.
    """
    if iri == TYPE or is_structural(iri):
        return _GRAPH
    is_object = iri in known.object_properties or iri in BUILT_IN_OBJECT
    is_data = iri in known.data_properties or iri in BUILT_IN_DATA
    if is_object or is_data:
        return _EITHER if is_object and is_data else _OBJECT if is_object else _DATA
    if (
        iri in known.annotation_properties
        or iri in ANNOTATIONS
        or iri.startswith(VALUE_ROLE)
        or iri == VALUE_LINK
    ):
        return _ANNOTATION
    # No axiom sees what only a table knows, so it takes values and individuals alike.
    return {"": _UNKNOWN, "annotation": _ANNOTATION}.get(kind_in_table(iri), _EITHER)


def _kind_in_table(vocabulary: VocabularyChoice | None, iri: str) -> str:
    """Return the kind of a term in the tables of well-known vocabularies; "" for other terms."""
    # Loaded where the ontology does not know a name.
    from shiq.vocabularies import kind_of

    return vocabulary.kind_of(iri) if vocabulary else kind_of(iri)


def _is_only_in_table(iri: str, known: Signature, kind_in_table: KindOf) -> bool:
    """Decide whether a property is unknown to the ontology and a term of a well-known
    vocabulary.
    """
    return not is_reserved(iri) and not _is_declared_name(known, iri) and bool(kind_in_table(iri))


def _is_declared_name(known: Signature, iri: str) -> bool:
    """Decide whether the ontology uses the IRI as a class, property or datatype."""
    names = (
        known.object_properties,
        known.data_properties,
        known.annotation_properties,
        known.classes,
        known.datatypes,
    )
    return any(iri in some for some in names)


def _class_kind(term: object, known: Signature, kind_in_table: KindOf) -> int:
    """Return the kind (class, datatype, …) of the object of an rdf:type triple, as a code of this
    module.
    """
    if not isinstance(term, str) or is_odd_type(term):
        return _GRAPH
    if term in INDIVIDUAL_TYPES:
        return _INDIVIDUAL
    if term in known.classes or term == NOTHING.iri:
        return _CLASS
    if term in known.datatypes or term in DATATYPES:
        return _DATATYPE
    return {"class": _CLASS, "datatype": _DATATYPE}.get(kind_in_table(term), _UNKNOWN)


def _foreign_rows(
    triples: Triples,
    known: Signature,
    unknown: Flags,
    names: npt.NDArray[Any],
    vocabulary: VocabularyChoice | None,
) -> Flags:
    """Select those of the ``unknown`` rows whose name is in a namespace that the ontology does not
    use (THEORY, "Foreign terms").

    Args:
    names: property of each row, or class of its subject
    """
    if not unknown.any():
        return unknown
    # Loaded where a name is unknown: most batches have none.
    from shiq.rdf.namespaces import OwnNamespaces
    from shiq.vocabularies import VocabularyChoice

    in_axioms = known.classes | known.object_properties | known.data_properties | known.datatypes
    declared = (known.declared & in_axioms if known.declared else in_axioms) | KNOWN
    own = OwnNamespaces(in_axioms | KNOWN, declared, (vocabulary or VocabularyChoice()).kinds_in)
    foreign = flags_of(
        triples,
        distinct_ids(names[unknown]),
        lambda term: is_reserved(str(term)) or own.is_foreign(str(term)),
    )
    return unknown & foreign[names]


def _language_index_of_rows(
    triples: Triples, names: npt.NDArray[Any], rows: Flags
) -> npt.NDArray[np.int8]:
    """Return, for each row, the index in `LANGUAGES` of the language (SHACL, SWRL, …) of its name;
    -1 for OWL and for rows outside ``rows``.
    """
    found = np.full(len(triples.terms), -1, np.int8)
    if rows.any():
        # Loaded where the ontology does not know a name.
        from shiq.rdf.other_languages import language_index

        for i in distinct_ids(names[rows]):
            found[i] = language_index(str(triples.terms[i]))
    return np.where(rows, found[names], np.int8(-1))


def _misspelt_terms(triples: Triples) -> Flags:
    """Return a boolean array by term id: True for undefined terms of OWL's namespaces, and for
    literals of undefined datatypes there.
    """
    flags = np.zeros(len(triples.terms), dtype=bool)
    terms: Sequence[Any] = triples.terms
    reserved = (
        i for i, kind in enumerate(triples.kinds) if kind == IRI and terms[i][:_LENGTH] == _RESERVED
    )
    flags[[i for i in reserved if is_misspelt(terms[i])]] = True
    datatypes = {iri for iri in triples.datatypes if is_misspelt(iri)}
    if datatypes:
        flags[
            [
                i
                for i, term in enumerate(triples.terms)
                if isinstance(term, Literal) and term.datatype in datatypes
            ]
        ] = True
    return flags


# --- leftovers -----------------------------------------------------------------------------------


def group_rows(rows: Rows, keys: npt.NDArray[Any]) -> Iterable[tuple[int, Rows]]:
    """Yield each distinct key with the ``rows`` that have it, in the order of first occurrence."""
    if not len(rows):
        return
    order = keys.argsort(kind="stable")
    starts = np.diff(keys[order], prepend=-1).nonzero()[0]
    parts = np.split(rows[order], starts[1:])
    for j in sorted(range(len(parts)), key=lambda j: int(parts[j][0])):
        yield int(keys[order[starts[j]]]), parts[j]


def _groups_by_name(triples: Triples, rows: Rows, types: Flags) -> Iterator[tuple[str, str, Rows]]:
    """Yield each class ("class") and each property ("property") of ``rows``, with its rows.

    Args:
    types: rows of rdf:type
    """
    for what, some, ids in (
        ("class", rows[types[rows]], triples.object),
        ("property", rows[~types[rows]], triples.predicate),
    ):
        for term, of_name in group_rows(some, numpy_view(ids)[some]):
            yield what, str(triples.terms[term]), of_name


def _leftover_on_rows(
    triples: Triples, kind: str, message: str, rows: Rows, hint: str = ""
) -> Leftover:
    """Make the leftover that reports all ``rows``, at the first of them."""
    return triples.make_leftover(
        kind, message, int(rows[0]), hint=hint, count=len(rows), rows=rows.tolist()
    )


def _undeclared_leftovers(
    triples: Triples, known: Signature, rows: Rows, types: Flags
) -> Iterable[Leftover]:
    """Report the rows whose class or property the ontology does not declare, one leftover for each
    name.
    """
    properties = known.object_properties | known.data_properties | known.annotation_properties
    near = {"class": NearMisses(known.classes), "property": NearMisses(properties)}
    for what, iri, some in _groups_by_name(triples, rows, types):
        message, hint = unknown_name_message(what, iri, near[what])
        yield _leftover_on_rows(triples, "undeclared", message, some, hint)


def _foreign_name_leftovers(triples: Triples, rows: Rows, types: Flags) -> Iterable[Leftover]:
    """Report the rows whose class or property is in a foreign namespace, one leftover for each
    name.
    """
    for what, iri, some in _groups_by_name(triples, rows, types):
        message = f"the {what} <{iri}> lies in a namespace of which the ontology defines nothing"
        yield _leftover_on_rows(triples, "foreign", message, some)


def _language_leftovers(
    triples: Triples, rows: Rows, language: npt.NDArray[np.int8]
) -> Iterable[Leftover]:
    """Report the rows in languages other than OWL, one leftover for each language."""
    if not len(rows):
        return
    from shiq.rdf.other_languages import LANGUAGES

    for i, some in group_rows(rows, language[rows]):
        spoken = LANGUAGES[i]
        message = f"statements of {spoken.name} (<{spoken.namespaces[0]}>), a language beside OWL: no axiom speaks of its terms"
        yield _leftover_on_rows(triples, "other-language", message, some)


def _unknown_word_leftovers(triples: Triples, rows: Rows, misspelt: Flags) -> Iterable[Leftover]:
    """Report the rows with undefined terms of OWL's namespaces, one leftover for each term."""
    subjects, values = numpy_view(triples.subject)[rows], numpy_view(triples.object)[rows]
    for term, some in group_rows(rows, np.where(misspelt[values], values, subjects)):
        found = triples.terms[term]
        yield unknown_word_leftover(
            found.datatype if isinstance(found, Literal) else found,
            triples,
            some.tolist(),
            len(some),
        )


# Leftovers on triples whose value does not fit the kind of their property.


def range_misfit_leftovers(
    triples: Triples, rows: Rows, types: Flags, of_objects: Flags, on_axiom: Flags
) -> Iterable[Leftover]:
    """Report rows whose value does not fit: literals of object properties, individuals of data
    properties, datatypes as rdf:type of an individual.

    Args:
    of_objects: rows of object properties
    """
    for what, iri, some in _groups_by_name(triples, rows, types):
        if what == "class":
            message = f"the datatype <{iri}> as type of an individual"
        elif on_axiom[some[0]]:
            message = f"<{iri}> is no annotation property, but stands at an axiom"
        elif of_objects[some[0]]:
            message = f"a literal as value of the object property <{iri}>"
        else:
            message = f"an individual as value of the data property <{iri}>"
        yield _leftover_on_rows(triples, "malformed", message, some)

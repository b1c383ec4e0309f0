"""Find undeclared names in axioms that look misspelt (THEORY, "Foreign terms").

>>> from shiq.model import Signature
>>> declared = frozenset(["urn:x:Cat", "urn:x:Person"])
>>> known = Signature(classes=declared | {"owl:Nothing", "urn:x:Persn"}, declared=declared)
>>> [(iri, near) for iri, _, near in find_slips(known)]
[('owl:Nothing', 'http://www.w3.org/2002/07/owl#Nothing'), ('urn:x:Persn', 'urn:x:Person')]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from shiq.model import Literal, Signature
from shiq.model.walk import is_reserved
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.name_kinds import NameProblem
from shiq.rdf.namespaces import (
    OwnNamespaces,
    SlipFinder,
    is_language_word,
    is_unexpanded,
    namespace_of,
    vocabulary_finder,
)
from shiq.rdf.triples import (
    IRI,
    LITERAL,
    Flags,
    Triples,
    distinct_ids,
    flags_of,
    name_flags,
    numpy_view,
)
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    KNOWN,
    KindOf,
    NearMisses,
    is_structural,
    known_word,
    local_name,
)
from shiq.vocabularies import VocabularyChoice


def find_slips(
    known: Signature, vocabulary: VocabularyChoice | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield the undeclared names that are probably misspelt, as (name, kind, name that was probably
    meant).

    Such a name is a prefixed name that was not expanded, or a word of OWL in a similar namespace.
    Or it is similar to a declared name or known term of its kind and namespace, or has the local
    name of a declared one in a similar namespace.

    Args:
    vocabulary: known vocabularies that count; None for all
    """
    spaces = set(map(namespace_of, known.declared))
    tables = (vocabulary or VocabularyChoice()).kinds_in
    properties = known.object_properties | known.data_properties
    for what, names in (
        ("class", known.classes),
        ("property", properties),
        ("datatype", known.datatypes),
    ):
        declared = names & known.declared
        near = NearMisses(declared)
        finders: dict[str, tuple[set[str], SlipFinder]] = {}
        by_local: dict[str, list[str]] = {}
        for iri in sorted(declared):
            by_local.setdefault(local_name(iri).lower(), []).append(iri)
        for iri in sorted(names - known.declared):
            if is_reserved(iri):
                continue
            space = namespace_of(iri)
            if is_language_word(iri):
                yield iri, what, known_word(iri)
                continue
            if spaces and is_unexpanded(iri) and space not in spaces:
                yield iri, what, near.nearest(iri)
                continue
            if space not in finders:
                terms = {
                    term
                    for term, kind in tables(space).items()
                    if (what == "property") == (kind in _PROPERTIES)
                }
                local = {
                    name[len(space) :]
                    for name in {*terms, *declared}
                    if namespace_of(name) == space
                }
                finders[space] = terms, SlipFinder(local)
            terms, finder = finders[space]
            if iri not in terms and (meant := finder.nearest(iri[len(space) :])):
                yield iri, what, space + meant
            elif iri not in terms and space not in spaces:
                others = by_local.get(local_name(iri).lower(), ())
                other = next((name for name in others if OwnNamespaces([name]).nearest(iri)), "")
                by_http = iri.replace("https://", "http://", 1)
                if other := other or (by_http if by_http in tables(namespace_of(by_http)) else ""):
                    yield iri, what, other


_PROPERTIES = ("object", "data", "annotation", "property")


def slip_problems(
    graph: VocabularyGraph,
    triples: Triples,
    known: Signature,
    vocabulary: VocabularyChoice | None = None,
) -> Iterator[NameProblem]:
    """Yield a problem for each name of `find_slips`, at the first triple of ``graph`` that has the
    name.

    A name that is only similar to another is no slip if it has a label or other description in
    ``triples``, or if both names occur side by side.
    """
    for iri, what, nearest in find_slips(known, vocabulary):
        is_other_word = is_language_word(iri) or (
            is_unexpanded(iri) and namespace_of(nearest) != namespace_of(iri)
        )
        if not is_other_word and (
            _is_described(triples, iri) or _are_siblings(graph, iri, nearest)
        ):
            continue
        index = next(
            (i for i, pair in enumerate(zip(graph.subjects, graph.objects)) if iri in pair), -1
        )
        place = None if index >= 0 else ("", 0)
        hint = (
            f"did you mean <{nearest}>?"
            if nearest
            else "write the name in full, or declare its prefix"
        )
        yield NameProblem(
            index,
            "undeclared",
            f"nothing declares the {what} <{iri}> of an axiom",
            hint,
            1,
            iri,
            place,
        )


def _is_described(triples: Triples, iri: str) -> bool:
    """Decide whether a triple that is no axiom describes ``iri``, such as a label or comment."""
    rows = np.flatnonzero(numpy_view(triples.subject) == triples.ids.get(iri, -1)).tolist()
    return any(not is_structural(str(triples.terms[triples.predicate[row]])) for row in rows)


def _are_siblings(graph: VocabularyGraph, first: str, second: str) -> bool:
    """Decide whether the author tells the two names apart: both are values of one property at one
    subject, or one is a value of the other.
    """
    pair = {first, second}
    return any(
        {subject, value} == pair
        or (value == first and second in graph.objects_of(subject, predicate))
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
        if not isinstance(value, Literal)
    )


def documenting_rows(
    triples: Triples,
    known: Signature,
    headers: Collection[str],
    individuals: Collection[str],
    rows: Flags,
    kind_of: KindOf,
    notes: bool,
) -> Flags:
    """Select the rows that document an ontology, class or property by a property that is not
    declared.

    At a header these are all rows. At a class or property that is no individual these are literals,
    well-known vocabularies, and names in other namespaces (``notes``). An own name as object could
    be a slip for owl:disjointWith and the like.
    """
    subjects, predicates, values = (
        numpy_view(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    entity = name_flags(triples, known.all_terms.difference(individuals))
    usual = flags_of(triples, distinct_ids(predicates[rows]), lambda term: bool(kind_of(str(term))))
    literal = np.frombuffer(bytes(triples.kinds), dtype=np.uint8)[values] == LITERAL
    word = flags_of(
        triples, distinct_ids(predicates[rows]), lambda term: is_language_word(str(term))
    )
    found: Flags = name_flags(triples, headers)[subjects] | (
        entity[subjects] & (literal | usual[predicates])
    )
    if notes:
        found |= _rows_with_foreign_objects(triples, known, rows & ~found & ~literal, entity)
    found &= ~word[predicates]
    return found


def _rows_with_foreign_objects(
    triples: Triples, known: Signature, rows: Flags, entity: Flags
) -> Flags:
    """Select the rows that document a class or property by a name of another namespace.

    The property must document a class or property this way, and be no slip of an own property,
    known term or word of axioms.

    Args:
    entity: classes and properties that are no individuals, by term id
    """
    subjects, predicates, values = (
        numpy_view(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    spaces = {*map(namespace_of, known.all_terms)}
    found = np.zeros(len(triples), bool)
    for predicate in np.unique(predicates[rows & entity[subjects]]).tolist():
        if _resembles_own_property(str(triples.terms[predicate]), known):
            for row in np.flatnonzero(rows & (predicates == predicate)).tolist():
                found[row] = (
                    triples.kinds[values[row]] == IRI
                    and namespace_of(str(triples.terms[values[row]])) not in spaces
                )
            if not (found & (predicates == predicate) & entity[subjects]).any():
                found[predicates == predicate] = False
    return found


def _resembles_own_property(iri: str, known: Signature) -> bool:
    """Decide whether the local name of ``iri`` resembles that of a property of the ontology."""
    space = namespace_of(iri)
    local = iri[len(space) :]
    properties = known.object_properties | known.data_properties | known.annotation_properties
    own = SlipFinder(name[len(space) :] for name in properties if namespace_of(name) == space)
    is_word = local.lower() in _AXIOM_WORDS or _WORDS.nearest(local)
    return not is_word and not own.nearest(local) and not vocabulary_finder(space).nearest(local)


_AXIOM_WORDS = {local_name(word).lower() for word in KNOWN - ANNOTATIONS}
_WORDS = SlipFinder(local_name(word) for word in KNOWN - ANNOTATIONS)

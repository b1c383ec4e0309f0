"""Names in axioms that nothing declares and that look like a slip (THEORY, "Foreign terms").

>>> from shiq.model import Signature
>>> declared = frozenset(["urn:x:Cat", "urn:x:Person"])
>>> known = Signature(classes=declared | {"owl:Nothing", "urn:x:Persn"}, declared=declared)
>>> [(iri, near) for iri, _, near in slips(known)]
[('owl:Nothing', 'http://www.w3.org/2002/07/owl#Nothing'), ('urn:x:Persn', 'urn:x:Person')]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

import numpy as np

from shiq.model import Literal, Signature
from shiq.rdf.bulk import Flags, KindOf, distinct, flags_of, is_structural, marked
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.kinds import Problem
from shiq.rdf.namespaces import (
    OwnNamespaces,
    SlipFinder,
    is_language_word,
    is_unexpanded,
    namespace_of,
)
from shiq.rdf.triples import IRI, LITERAL, Triples, column
from shiq.rdf.vocabulary import ANNOTATIONS, KNOWN, NearMisses, is_reserved, known_word, local_name
from shiq.vocabularies import VocabularyChoice


def slips(
    known: Signature, vocabulary: VocabularyChoice | None = None
) -> Iterator[tuple[str, str, str]]:
    """(name, what it is, the name that was probably meant) for each undeclared name of an axiom
    in ``known`` that is a prefix which was not expanded, a word of OWL in a namespace that only
    looks like its own, nearly a declared name or a term of a known vocabulary, of the same kind
    and namespace, or has the local name of a declared one in a namespace that is nearly that
    one's. ``vocabulary``: which tables count, None for all.
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
) -> Iterator[Problem]:
    """What is to be told of `slips`, at the first triple of ``graph`` that has the name. A name
    that only is near another is no slip where ``triples`` say of it what no axiom does, as by a
    label, or where both names stand beside each other.
    """
    for iri, what, nearest in slips(known, vocabulary):
        is_other_word = is_language_word(iri) or (
            is_unexpanded(iri) and namespace_of(nearest) != namespace_of(iri)
        )
        if not is_other_word and (_is_described(triples, iri) or _are_beside(graph, iri, nearest)):
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
        yield Problem(
            index,
            "undeclared",
            f"nothing declares the {what} <{iri}> of an axiom",
            hint,
            1,
            iri,
            place,
        )


def _is_described(triples: Triples, iri: str) -> bool:
    """Whether a triple says something of ``iri`` that is no axiom: by a property that is no word
    of axioms.
    """
    rows = np.flatnonzero(column(triples.subject) == triples.ids.get(iri, -1)).tolist()
    return any(not is_structural(str(triples.terms[triples.predicate[row]])) for row in rows)


def _are_beside(graph: VocabularyGraph, first: str, second: str) -> bool:
    """Whether one subject has both names as values of one property, or one as a value of the
    other: their author tells them apart.
    """
    pair = {first, second}
    return any(
        {subject, value} == pair or (value == first and second in graph.values(subject, predicate))
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
        if not isinstance(value, Literal)
    )


@cache
def _finder(space: str) -> SlipFinder:
    """Finds slips of the terms of the known vocabulary that has this namespace."""
    return SlipFinder(
        term[len(space) :] for term in VocabularyChoice().kinds_in(space) if term.startswith(space)
    )


def unknown_name(what: str, iri: str, near: NearMisses) -> tuple[str, str]:
    """Message and hint for a class or property that the TBox does not know."""
    space = namespace_of(iri)
    meant = _finder(space).nearest(iri[len(space) :])
    nearest = (meant and space + meant) or near.nearest(iri) or known_word(iri)
    hint = f"did you mean <{nearest}>?" if nearest else f"declare the {what} in the TBox"
    return f"the TBox does not know the {what} <{iri}>", hint


def documentation(
    triples: Triples,
    known: Signature,
    headers: Collection[str],
    individuals: Collection[str],
    rows: Flags,
    kind_of: KindOf,
    notes: bool,
) -> Flags:
    """Which rows document an ontology, class or property by a property that nobody declared.

    All about a header; about a class or property that is no individual: literals, well-known
    vocabularies, and names elsewhere (``notes``). A name of the ontology as object could be a
    slip for owl:disjointWith and the like.
    """
    subjects, predicates, values = (
        column(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    entities = (
        known.classes
        | known.object_properties
        | known.data_properties
        | known.annotation_properties
        | known.datatypes
    )
    entity = marked(triples, entities.difference(individuals))
    usual = flags_of(triples, distinct(predicates[rows]), lambda term: bool(kind_of(str(term))))
    literal = np.frombuffer(bytes(triples.kinds), dtype=np.uint8)[values] == LITERAL
    word = flags_of(triples, distinct(predicates[rows]), lambda term: is_language_word(str(term)))
    found: Flags = marked(triples, headers)[subjects] | (
        entity[subjects] & (literal | usual[predicates])
    )
    if notes:
        found |= _notes_elsewhere(triples, known, rows & ~found & ~literal, entity)
    found &= ~word[predicates]
    return found


def _notes_elsewhere(triples: Triples, known: Signature, rows: Flags, entity: Flags) -> Flags:
    """Which ``rows`` document something by a name that ``known`` has not, in a namespace in
    which it has none: those of a property that so documents a class or property, and is no slip
    of an own property, a known term or a word of axioms.

    entity: the classes and properties that are no individuals, by number of the term.
    """
    subjects, predicates, values = (
        column(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    spaces = {*map(namespace_of, known.named)}
    found = np.zeros(len(triples), bool)
    for predicate in np.unique(predicates[rows & entity[subjects]]).tolist():
        if _is_plain(str(triples.terms[predicate]), known):
            for row in np.flatnonzero(rows & (predicates == predicate)).tolist():
                found[row] = (
                    triples.kinds[values[row]] == IRI
                    and namespace_of(str(triples.terms[values[row]])) not in spaces
                )
            if not (found & (predicates == predicate) & entity[subjects]).any():
                found[predicates == predicate] = False
    return found


def _is_plain(iri: str, known: Signature) -> bool:
    space = namespace_of(iri)
    local = iri[len(space) :]
    properties = known.object_properties | known.data_properties | known.annotation_properties
    own = SlipFinder(name[len(space) :] for name in properties if namespace_of(name) == space)
    is_word = local.lower() in _AXIOM_WORDS or _WORDS.nearest(local)
    return not is_word and not own.nearest(local) and not _finder(space).nearest(local)


_AXIOM_WORDS = {local_name(word).lower() for word in KNOWN - ANNOTATIONS}
_WORDS = SlipFinder(local_name(word) for word in KNOWN - ANNOTATIONS)

"""Names in axioms that nothing declares and that look like a slip (THEORY, "Foreign terms").

>>> from shiq.model import Signature
>>> known = Signature(classes=frozenset(["urn:x:Cat", "owl:Nothing"]), declared=frozenset(["urn:x:Cat"]))
>>> [iri for iri, _, _ in slips(known)]
['owl:Nothing']
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq.model import Signature
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.kinds import Problem
from shiq.rdf.namespaces import is_language_word, is_unexpanded, namespace_of
from shiq.rdf.vocabulary import NearMisses, is_reserved, known_word


def slips(known: Signature) -> Iterator[tuple[str, str, str]]:
    """(name, what it is, the name that was probably meant) for each name of an axiom in ``known`` that is a prefix which was
    not expanded, or a word of OWL in a namespace that only looks like its own."""
    spaces = set(map(namespace_of, known.declared))
    properties = known.object_properties | known.data_properties
    for what, names in (("class", known.classes), ("property", properties), ("datatype", known.datatypes)):
        near = NearMisses(names & known.declared)
        for iri in sorted(names - known.declared):
            if is_reserved(iri):
                continue
            if is_language_word(iri):
                yield iri, what, known_word(iri)
            elif spaces and is_unexpanded(iri) and namespace_of(iri) not in spaces:
                yield iri, what, near.nearest(iri)


def slip_problems(graph: VocabularyGraph, known: Signature) -> Iterator[Problem]:
    """What is to be told of `slips`, at the first triple of ``graph`` that has the name."""
    for iri, what, nearest in slips(known):
        index = next((i for i, pair in enumerate(zip(graph.subjects, graph.objects)) if iri in pair), -1)
        place = None if index >= 0 else ("", 0)
        hint = f"did you mean <{nearest}>?" if nearest else "write the name in full, or declare its prefix"
        yield Problem(index, "undeclared", f"nothing declares the {what} <{iri}> of an axiom", hint, 1, iri, place)

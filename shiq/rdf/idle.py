"""Triples that every model can meet, however they are meant, and that nothing else uses: they
are told, but in nobody's way.

Whether anything uses a name can only be said where all there is was read: data that comes later
may use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq.model import OWL
from shiq.rdf.graph import UnmappedError, VocabularyGraph, read_list
from shiq.rdf.vocabulary import FIRST, REST, TYPE, is_reserved

_MONOTONE = frozenset({OWL + "intersectionOf", OWL + "unionOf"})
_LIST = frozenset({FIRST, REST})


def is_idle_expression(graph: VocabularyGraph, group: Sequence[int]) -> bool:
    """Whether ``group``, blank class expressions that no axiom uses, only defines itself, by
    itself, in a way that always has a solution: intersections and unions are monotone, so by
    Knaster and Tarski there is one in every model. Each node is defined once: two definitions of
    one node would be an axiom.

    An expression whose outermost node nobody mentions is none: there the triple that uses it may
    have been lost.
    """
    subjects = {graph.subjects[i] for i in group}
    objects = {graph.objects[i] for i in group}
    if not all(subject.startswith("_:") for subject in subjects) or not subjects <= objects:
        return False
    listed: set[int] = set()
    defined: set[str] = set()
    for i in group:
        subject, predicate, value = graph.subjects[i], graph.predicates[i], graph.objects[i]
        if predicate in _MONOTONE:
            if subject in defined:
                return False
            defined.add(subject)
            try:
                members, triples = read_list(graph, value)
            except UnmappedError:
                return False
            if not all(isinstance(member, str) and not is_reserved(member) for member in members):
                return False
            listed.update(triples)
        elif predicate not in _LIST and (predicate, value) != (TYPE, OWL + "Class"):
            return False
    return all(i in listed for i in group if graph.predicates[i] in _LIST)

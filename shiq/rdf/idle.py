"""Triples that every model can meet, however they are meant, and that nothing else uses: they are told, but in nobody's way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from shiq.model import OWL, RDFS
from shiq.rdf.graph import Graph
from shiq.rdf.vocabulary import FIRST, FUNCTIONAL, NIL, REST, TYPE, is_reserved

_PAIRS = frozenset({OWL + "equivalentProperty", RDFS + "subPropertyOf"})
_EMPTY_WILL_DO = frozenset({RDFS + "domain"})
_MONOTONE = frozenset(
    {FIRST, REST, *(OWL + name for name in ("intersectionOf", "unionOf", "someValuesFrom", "allValuesFrom", "onProperty"))}
)
_STRUCTURE = frozenset({OWL + "Class", OWL + "Restriction"})


def idle_properties(graph: Graph, mains: Iterable[int], is_used: Callable[[str], bool]) -> set[int]:
    """Of ``mains``, triples that say something of properties of which nothing says whether they are object or data properties:
    those that hold whatever these are, because each of the properties may be empty.

    That is so for FunctionalProperty, a domain, and subPropertyOf and equivalentProperty between such properties, where nothing
    else mentions them; ``is_used`` says whether a name is the predicate of a triple.
    """
    names = {i: found for i in mains if (found := _names(graph, i))}
    mentioned: dict[str, set[int]] = {name: set() for found in names.values() for name in found}
    for i, (subject, value) in enumerate(zip(graph.subjects, graph.objects)):
        for node in (subject, value):
            if isinstance(node, str) and node in mentioned:
                mentioned[node].add(i)
    used = [name for name, places in mentioned.items() if places - names.keys() or is_used(name)]
    while used:
        for i in mentioned[used.pop()]:
            used += names.pop(i, ())
    return set(names)


def _names(graph: Graph, main: int) -> tuple[str, ...]:
    """The properties of which triple ``main`` says what their being empty meets; none for another triple."""
    subject, predicate, value = graph.subjects[main], graph.predicates[main], graph.objects[main]
    pair = predicate in _PAIRS
    if not (pair or predicate in _EMPTY_WILL_DO or (predicate == TYPE and value == FUNCTIONAL)):
        return ()
    found = (subject, value) if pair else (subject,)
    plain = all(isinstance(node, str) and not node.startswith("_:") and not is_reserved(node) for node in found)
    return tuple(map(str, found)) if plain else ()


def is_idle_expression(graph: Graph, group: Sequence[int]) -> bool:
    """Whether ``group``, blank class expressions that no axiom uses, only defines itself, by itself, in a way that always has a
    solution: every operator is monotone, so by Knaster and Tarski there is one in every model.

    An expression whose outermost node nobody mentions is none: there the triple that uses it may have been lost.
    """
    subjects = {graph.subjects[i] for i in group}
    objects = {graph.objects[i] for i in group}
    if not all(subject.startswith("_:") for subject in subjects) or not subjects <= objects:
        return False
    for i in group:
        predicate, value = graph.predicates[i], graph.objects[i]
        is_structure = predicate in _MONOTONE or (predicate == TYPE and value in _STRUCTURE)
        if not is_structure or not isinstance(value, str) or (predicate != REST and value == NIL):
            return False
    return True

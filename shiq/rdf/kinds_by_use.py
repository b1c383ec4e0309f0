"""Kinds of undeclared properties, as their use shows: what a restriction, a range, an inverse or a chain says of a property."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from shiq.model import OWL, RDFS, Literal
from shiq.rdf.graph import UnmappedError, VocabularyGraph, read_list
from shiq.rdf.kinds import ANNOTATION, DATA, OBJECT, Kinds, kinds_of
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import ANNOTATIONS, BUILT_IN_DATA, BUILT_IN_OBJECT, DECLARATIONS, TYPE, is_reserved
from shiq.vocabularies import kind_of

_BOTH_CLASSES = (RDFS + "subClassOf", OWL + "disjointWith")
_OBJECT_CLASS = (RDFS + "domain", OWL + "onClass")
_SAME_KIND = (RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "propertyDisjointWith")
_RESTRICTING = (OWL + "someValuesFrom", OWL + "allValuesFrom")


def used_as_classes(graph: VocabularyGraph) -> Iterator[str]:
    """Names in places where only a class can stand."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate in _BOTH_CLASSES or predicate == OWL + "disjointUnionOf":
            if not subject.startswith("_:"):
                yield subject
        if predicate in _BOTH_CLASSES or predicate in _OBJECT_CLASS:
            if isinstance(value, str) and not value.startswith("_:"):
                yield value


def infer(graph: VocabularyGraph, kinds: Kinds) -> None:
    """Gives a kind to undeclared properties whose use leaves one; spreads it along inclusions, equivalences and disjointness.

    Stops because each property is visited once.
    """
    evidence: dict[str, set[str]] = defaultdict(set)
    links: dict[str, set[str]] = defaultdict(set)
    for iri, kind in _uses(graph, kinds, links):
        if not is_reserved(iri):
            evidence[iri].add(kind)
    pending = [iri for iri in evidence if not kinds_of(kinds, iri)]
    known = [*kinds.object_properties, *kinds.data_properties, *kinds.annotation_properties]
    known += [*BUILT_IN_OBJECT, *BUILT_IN_DATA, *ANNOTATIONS]
    # Sorted, so that a name between two kinds is settled the same way each time.
    for iri in pending:
        _settle(kinds, iri, evidence[iri])
    stack = [*sorted(iri for iri in known if iri in links), *pending]
    while stack:
        iri = stack.pop()
        if iri in kinds.punned:
            continue
        kind = kinds.property_kind(iri)
        for other in sorted(links[iri]):
            if kind in (OBJECT, DATA) and not is_reserved(other) and not kinds_of(kinds, other) and other not in kinds.punned:
                _settle(kinds, other, {kind})
                stack.append(other)
    kinds.components.clear()
    bearing: set[str] | None = None
    for iri in sorted(links):
        if iri not in kinds.components and _is_open(kinds, iri):
            members = _linked(kinds, links, iri)
            if bearing is None:
                bearing = set(_bearing_axioms(graph))
            beside = {other for member in members for other in links[member]}
            if bearing.isdisjoint(members) and kinds.two.isdisjoint(members) and any(map(kinds.is_annotation, beside)):
                kinds.annotation_properties.update(members)
            else:
                kinds.components.update(dict.fromkeys(members, members))


def _bearing_axioms(graph: VocabularyGraph) -> Iterator[str]:
    """The subjects and objects of what an annotation property would lose: all but declarations and plain inclusions."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate == RDFS + "subPropertyOf" or (predicate == TYPE and value in DECLARATIONS):
            continue
        yield subject
        if isinstance(value, str):
            yield value


def _is_open(kinds: Kinds, iri: str) -> bool:
    return not is_reserved(iri) and not kinds_of(kinds, iri) and iri not in kinds.punned


def _linked(kinds: Kinds, links: dict[str, set[str]], start: str) -> tuple[str, ...]:
    """All of open kind that is linked with ``start``, directly or not, in order. Stops because each is visited once."""
    found, stack = {start}, [start]
    while stack:
        new = {iri for iri in links[stack.pop()] - found if _is_open(kinds, iri)}
        found |= new
        stack += new
    return tuple(sorted(found))


def take_known(graph: VocabularyGraph, kinds: Kinds) -> bool:
    """Gives the names of known vocabularies whose kind neither a declaration nor any use shows the kind that their table has;
    whether there are any."""
    names = {node for nodes in (graph.subjects, graph.objects) for node in nodes if isinstance(node, str)}
    found = False
    for iri in sorted(names):
        if is_reserved(iri) or iri.startswith("_:") or kinds.is_entity(iri):
            continue
        match kind_of(iri):
            case "class":
                kinds.classes.add(iri)
            case "datatype":
                kinds.datatypes.add(iri)
            case "object":
                kinds.object_properties.add(iri)
            case "data":
                kinds.data_properties.add(iri)
            case "annotation":
                kinds.annotation_properties.add(iri)
            case _:
                continue
        found = True
    return found


def _settle(kinds: Kinds, iri: str, found: set[str]) -> None:
    if iri in kinds.two:
        return
    if found == {OBJECT}:
        kinds.object_properties.add(iri)
    elif found == {DATA}:
        kinds.data_properties.add(iri)
    elif found == {ANNOTATION}:
        kinds.annotation_properties.add(iri)
    elif iri not in kinds.punned:
        kinds.punned.add(iri)


def _uses(graph: VocabularyGraph, kinds: Kinds, links: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """(property, kind) for every use that shows a kind; ``links`` is filled with properties that must be of one kind."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        named = not subject.startswith("_:")
        other = value if isinstance(value, str) and not value.startswith("_:") else ""
        if predicate == OWL + "inverseOf":
            yield from ((iri, OBJECT) for iri in (subject if named else "", other) if iri)
        elif predicate in _SAME_KIND:
            if named and other:
                links[subject].add(other)
                links[other].add(subject)
            elif (named or other) and not isinstance(value, Literal):
                yield (subject if named else other), OBJECT
        elif predicate == RDFS + "range" and named:
            yield from ((subject, kind) for kind in _value_kind(graph, kinds, value))
        elif predicate == OWL + "propertyChainAxiom":
            members = [member for member in _members(graph, value) if isinstance(member, str)]
            yield from ((iri, OBJECT) for iri in (subject, *members) if not iri.startswith("_:"))
        elif predicate == OWL + "onProperty" and other:
            yield from ((other, kind) for kind in _restriction_kind(graph, kinds, subject))
        elif predicate == OWL + "assertionProperty" and other:
            yield from ((other, OBJECT) for _ in graph.find(subject, OWL + "targetIndividual"))
            yield from ((other, DATA) for _ in graph.find(subject, OWL + "targetValue"))
        elif predicate == OWL + "members" and OWL + "AllDisjointProperties" in graph.types(subject):
            group = [member for member in _members(graph, value) if isinstance(member, str)]
            for iri in group:
                if iri.startswith("_:"):
                    yield from ((each, OBJECT) for each in group if not each.startswith("_:"))
                elif group[0] != iri and not group[0].startswith("_:"):
                    links[iri].add(group[0])
                    links[group[0]].add(iri)


def _restriction_kind(graph: VocabularyGraph, kinds: Kinds, node: str) -> Iterator[str]:
    if graph.find(node, OWL + "onClass") or graph.find(node, OWL + "hasSelf"):
        yield OBJECT
    if graph.find(node, OWL + "onDataRange"):
        yield DATA
    for value in graph.values(node, OWL + "hasValue"):
        yield DATA if isinstance(value, Literal) else OBJECT
    for predicate in _RESTRICTING:
        for filler in graph.values(node, predicate):
            yield from _value_kind(graph, kinds, filler)


def _value_kind(graph: VocabularyGraph, kinds: Kinds, node: Term) -> Iterator[str]:
    """Whether ``node`` is certainly a class (so that its property is an object property) or a data range."""
    seen: set[str] = set()
    while isinstance(node, str) and node not in seen:
        seen.add(node)
        if not node.startswith("_:"):
            if kinds.is_datatype(node) and not kinds.is_class(node):
                yield DATA
            elif kinds.is_class(node) and not kinds.is_datatype(node):
                yield OBJECT
            return
        types = graph.types(node)
        if RDFS + "Datatype" in types or OWL + "DataRange" in types or graph.find(node, OWL + "onDatatype"):
            yield DATA
            return
        if OWL + "Class" in types or OWL + "Restriction" in types or graph.find(node, OWL + "onProperty"):
            yield OBJECT
            return
        for member in graph.values(node, OWL + "oneOf"):
            literals = {isinstance(each, Literal) for each in _members(graph, member)}
            if len(literals) == 1:
                yield DATA if literals.pop() else OBJECT
            return
        inner = [
            *graph.values(node, OWL + "complementOf"),
            *graph.values(node, OWL + "datatypeComplementOf"),
            *(
                _members(graph, v)[0]
                for p in ("intersectionOf", "unionOf")
                for v in graph.values(node, OWL + p)
                if _members(graph, v)
            ),
        ]
        if not inner:
            return
        node = inner[0]


def _members(graph: VocabularyGraph, head: Term) -> list[Term]:
    try:
        return read_list(graph, head)[0]
    except UnmappedError:
        return []

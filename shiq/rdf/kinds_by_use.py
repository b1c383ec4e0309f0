"""Kinds of undeclared properties from their use in restrictions, ranges, inverses and chains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from shiq.model import OWL, RDFS, TOP_DATATYPE, Literal
from shiq.rdf.graph import UnmappedError, VocabularyGraph, read_list
from shiq.rdf.kinds import ANNOTATION, DATA, OBJECT, Kinds, kinds_of
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    CHARACTERISTICS,
    DECLARATIONS,
    INVERSE_FUNCTIONAL,
    ORDINARY_CLASSES,
    TYPE,
    is_reserved,
)
from shiq.vocabularies import VocabularyChoice

_BOTH_CLASSES = (RDFS + "subClassOf", OWL + "disjointWith")
_OBJECT_CLASS = (RDFS + "domain", OWL + "onClass")
_SAME_KIND = (RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "propertyDisjointWith")
_RESTRICTING = (OWL + "someValuesFrom", OWL + "allValuesFrom")


@dataclass(frozen=True)
class _Links:
    """Axioms between two properties.

    same_kind: properties that must have the kind of the key
    superproperties: properties that include the key
    """

    same_kind: dict[str, set[str]]
    superproperties: dict[str, set[str]]


def used_as_classes(graph: VocabularyGraph) -> Iterator[str]:
    """Names in positions where only a class can be."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate in _BOTH_CLASSES or predicate == OWL + "disjointUnionOf":
            if not subject.startswith("_:"):
                yield subject
        if predicate in _BOTH_CLASSES or predicate in _OBJECT_CLASS:
            if isinstance(value, str) and not value.startswith("_:"):
                yield value


def infer_kinds(graph: VocabularyGraph, kinds: Kinds, *, mixed: bool) -> None:
    """Give undeclared properties the kind that their use shows, also along inclusions, equivalences
    and disjointness.

    Terminates: each property is visited once.

    Args:
    mixed: whether a property becomes object and data property both if its axioms show an undeclared
        kind
    """
    evidence: dict[str, set[str]] = defaultdict(set)
    links = _Links(defaultdict(set), defaultdict(set))
    for iri, kind in _uses(graph, kinds, links):
        if not is_reserved(iri) or (mixed and iri in ANNOTATIONS):
            evidence[iri].add(kind)
    pending = [iri for iri in evidence if not kinds_of(kinds, iri) and iri not in kinds.punned]
    known = [*kinds.object_properties, *kinds.data_properties, *kinds.annotation_properties]
    known += [*BUILT_IN_OBJECT, *BUILT_IN_DATA, *ANNOTATIONS]
    # Sorted, so that a name between two kinds is settled the same way each time.
    for iri in pending:
        _choose_kind(kinds, iri, evidence[iri])
    stack = [*sorted(iri for iri in known if iri in links.same_kind), *pending]
    while stack:
        iri = stack.pop()
        if iri in kinds.punned:
            continue
        kind = kinds.property_kind(iri)
        for other in sorted(links.same_kind[iri]):
            if (
                kind in (OBJECT, DATA)
                and not is_reserved(other)
                and not kinds_of(kinds, other)
                and other not in kinds.punned
            ):
                _choose_kind(kinds, other, {kind})
                stack.append(other)
    if mixed:
        _mix(kinds, evidence, links.superproperties)
    _group(graph, kinds, links.same_kind)


def _mix(kinds: Kinds, evidence: dict[str, set[str]], above: dict[str, set[str]]) -> None:
    """Add the kinds that axioms show to properties of another kind, and to their superproperties.

    Terminates: a property gets each kind once.
    """
    for iri, found in evidence.items():
        if kinds_of(kinds, iri):
            for kind in found:
                kinds.add_kind(iri, kind)
    below: dict[str, set[str]] = defaultdict(set)
    for iri, over in above.items():
        for other in over:
            below[other].add(iri)
    stack = sorted({*above, *below})
    while stack:
        iri = stack.pop()
        mine = kinds.logical_kinds(iri)
        # What is declared for annotations alone is of the kind of what includes it, unless that is
        # for annotations too.
        under = below[iri] if not kinds.is_annotation(iri) else ()
        notes = {
            other
            for other in under
            if kinds.is_annotation(other) and not kinds.logical_kinds(other)
        }
        others = (
            {other for other in above[iri] if kinds.logical_kinds(other)} if iri in above else set()
        )
        for other in sorted(notes | others):
            if not is_reserved(other):
                for kind in mine - kinds.logical_kinds(other):
                    kinds.add_kind(other, kind)
                    stack.append(other)


def _group(graph: VocabularyGraph, kinds: Kinds, alike: dict[str, set[str]]) -> None:
    """Group the properties of open kind that must have one kind."""
    kinds.components.clear()
    bearing: set[str] | None = None
    for iri in sorted(alike):
        if iri not in kinds.components and _is_open(kinds, iri):
            members = _component(kinds, alike, iri)
            if bearing is None:
                bearing = set(_bearing_axioms(graph))
            beside = {other for member in members for other in alike[member]}
            if (
                bearing.isdisjoint(members)
                and kinds.dual_properties.isdisjoint(members)
                and any(map(kinds.is_annotation, beside))
            ):
                kinds.annotation_properties.update(members)
            else:
                kinds.components.update(dict.fromkeys(members, members))


def _bearing_axioms(graph: VocabularyGraph) -> Iterator[str]:
    """Subjects and objects of triples that an annotation property would lose: all but declarations
    and plain inclusions.
    """
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate == RDFS + "subPropertyOf" or (predicate == TYPE and value in DECLARATIONS):
            continue
        yield subject
        if isinstance(value, str):
            yield value


def _is_open(kinds: Kinds, iri: str) -> bool:
    return not is_reserved(iri) and not kinds_of(kinds, iri) and iri not in kinds.punned


def _component(kinds: Kinds, links: dict[str, set[str]], start: str) -> tuple[str, ...]:
    """Properties of open kind that are linked with ``start``, directly or not, in order.

    Terminates: each property is visited once.
    """
    found, stack = {start}, [start]
    while stack:
        new = {iri for iri in links[stack.pop()] - found if _is_open(kinds, iri)}
        found |= new
        stack += new
    return tuple(sorted(found))


def assign_known_kinds(
    graph: VocabularyGraph, kinds: Kinds, vocabulary: VocabularyChoice | None = None
) -> bool:
    """Give names of known vocabularies the kind in their table, unless a declaration or use shows
    one.

    A name in axioms does not become an annotation property: it stays open. Returns: False if there
        were no such names.
    """
    kind_of, constrained = (
        (vocabulary or VocabularyChoice()).kind_of,
        set(_constrained_properties(graph)),
    )
    names = {
        node for nodes in (graph.subjects, graph.objects) for node in nodes if isinstance(node, str)
    }
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
            case "annotation" if iri not in constrained:
                kinds.annotation_properties.add(iri)
            case _:
                continue
        found = True
    return found


def _constrained_properties(graph: VocabularyGraph) -> Iterator[str]:
    """Properties in axioms other than their own superproperties."""
    of_subject = (
        RDFS + "domain",
        RDFS + "range",
        OWL + "inverseOf",
        OWL + "equivalentProperty",
        OWL + "propertyDisjointWith",
    )
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate in of_subject or (
            predicate == TYPE and value in (*CHARACTERISTICS, OWL + "FunctionalProperty")
        ):
            yield subject
        elif predicate == OWL + "onProperty" and isinstance(value, str):
            yield value


def _choose_kind(kinds: Kinds, iri: str, found: set[str]) -> None:
    if iri in kinds.dual_properties:
        return
    if found == {OBJECT}:
        kinds.object_properties.add(iri)
    elif found == {DATA}:
        kinds.data_properties.add(iri)
    elif found == {ANNOTATION}:
        kinds.annotation_properties.add(iri)
    elif iri not in kinds.punned:
        kinds.punned.add(iri)


def _uses(graph: VocabularyGraph, kinds: Kinds, links: _Links) -> Iterator[tuple[str, str]]:
    """(property, kind) of every use that shows a kind; ``links`` is filled."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        named = not subject.startswith("_:")
        other = value if isinstance(value, str) and not value.startswith("_:") else ""
        if predicate == OWL + "inverseOf":
            yield from ((iri, OBJECT) for iri in (subject if named else "", other) if iri)
        elif predicate in _SAME_KIND:
            if named and other:
                links.same_kind[subject].add(other)
                links.same_kind[other].add(subject)
                if predicate != OWL + "propertyDisjointWith":
                    links.superproperties[subject].add(other)
                if predicate == OWL + "equivalentProperty":
                    links.superproperties[other].add(subject)
            elif (named or other) and not isinstance(value, Literal):
                yield (subject if named else other), OBJECT
        elif predicate == RDFS + "range" and named:
            if kinds.property_kind(subject) != ANNOTATION and (
                value != TOP_DATATYPE.iri or subject not in kinds.object_properties
            ):
                yield from ((subject, kind) for kind in _value_kind(graph, kinds, value))
        elif (
            predicate == TYPE and named and value in CHARACTERISTICS and value != INVERSE_FUNCTIONAL
        ):
            yield subject, OBJECT
        elif predicate == OWL + "propertyChainAxiom":
            members = [member for member in _members(graph, value) if isinstance(member, str)]
            yield from ((iri, OBJECT) for iri in (subject, *members) if not iri.startswith("_:"))
        elif predicate == OWL + "onProperty" and other:
            shown = list(_restriction_kind(graph, kinds, subject))
            if not shown and kinds.is_annotation(other) and not kinds.logical_kinds(other):
                shown = [OBJECT, DATA]
            yield from ((other, kind) for kind in shown)
        elif predicate == OWL + "assertionProperty" and other:
            yield from ((other, OBJECT) for _ in graph.find(subject, OWL + "targetIndividual"))
            yield from ((other, DATA) for _ in graph.find(subject, OWL + "targetValue"))
        elif predicate == OWL + "members" and OWL + "AllDisjointProperties" in graph.types(subject):
            group = [member for member in _members(graph, value) if isinstance(member, str)]
            for iri in group:
                if iri.startswith("_:"):
                    yield from ((each, OBJECT) for each in group if not each.startswith("_:"))
                elif group[0] != iri and not group[0].startswith("_:"):
                    links.same_kind[iri].add(group[0])
                    links.same_kind[group[0]].add(iri)


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
    """Kind of a property by its filler ``node``: a class, a data range, or a union of both.

    Terminates: each node is visited once.
    """
    seen: set[str] = set()
    stack = [node]
    while stack:
        node = stack.pop()
        if not isinstance(node, str) or node in seen:
            continue
        seen.add(node)
        types = graph.types(node)
        if not node.startswith("_:"):
            is_class = kinds.is_class(node) or node in ORDINARY_CLASSES
            if kinds.is_datatype(node) != is_class:
                yield OBJECT if is_class else DATA
        elif (
            RDFS + "Datatype" in types
            or OWL + "DataRange" in types
            or graph.find(node, OWL + "onDatatype")
        ):
            yield DATA
        elif unions := graph.values(node, OWL + "unionOf"):
            stack += (member for head in unions for member in _members(graph, head))
        elif lists := graph.values(node, OWL + "oneOf"):
            literals = {
                isinstance(each, Literal) for head in lists for each in _members(graph, head)
            }
            if len(literals) == 1:
                yield DATA if literals.pop() else OBJECT
        elif (
            OWL + "Class" in types
            or OWL + "Restriction" in types
            or graph.find(node, OWL + "onProperty")
        ):
            yield OBJECT
        else:
            stack += graph.values(node, OWL + "complementOf") + graph.values(
                node, OWL + "datatypeComplementOf"
            )
            stack += (
                m
                for head in graph.values(node, OWL + "intersectionOf")
                for m in _members(graph, head)[:1]
            )


def _members(graph: VocabularyGraph, head: Term) -> list[Term]:
    try:
        return read_list(graph, head)[0]
    except UnmappedError:
        return []

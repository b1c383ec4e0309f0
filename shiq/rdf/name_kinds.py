"""The kind of each name: class, datatype, object property, data property or annotation property.

Kinds come from declarations (`shiq.rdf.declarations`), from older vocabularies, then from use in
restrictions, ranges, inverses and chains. Source: OWL 2 Mapping to RDF
Graphs, section 3.1 (declarations, OWL 1 compatibility); Structural Specification, section 5.8.1. A
name may be an individual and a class or property at once, but not two kinds of property, nor class
and datatype.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shiq.model import OWL, RDFS, TOP_DATATYPE, Literal, Signature
from shiq.model.walk import is_reserved
from shiq.rdf.graph import UnmappedError, VocabularyGraph, read_list
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_CLASSES,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    CHARACTERISTICS,
    DATATYPES,
    DECLARATIONS,
    INVERSE_FUNCTIONAL,
    ORDINARY_CLASSES,
    TYPE,
    is_unknown_datatype,
)
from shiq.vocabularies import VocabularyChoice

if TYPE_CHECKING:
    from shiq.vocabularies import VocabularyChoice

OBJECT, DATA, ANNOTATION = "object", "data", "annotation"


@dataclass
class NameKinds:
    """The names of an ontology by kind (class, datatype, object, data, annotation property),
    without built-in ones.

    An annotation property that is also an object or data property is in both sets and read as the
    latter.

    punned_properties: properties that are object and data property both, as declared or by their
    axioms
        (THEORY, "Terms that may be object or data"); in neither of those sets
    components: for each property of open kind, those that axioms force to have its kind
    dual_properties: properties whose axioms were read in both readings before; only a declaration
        decides their kind
    declared: names with a declaration
    """

    classes: set[str] = field(default_factory=set)
    datatypes: set[str] = field(default_factory=set)
    object_properties: set[str] = field(default_factory=set)
    data_properties: set[str] = field(default_factory=set)
    annotation_properties: set[str] = field(default_factory=set)
    punned_properties: set[str] = field(default_factory=set)
    components: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dual_properties: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()

    def mark_dual_properties(self) -> None:
        """Put each of the ``dual_properties`` that has no kind into both the object and the data
        properties.
        """
        left = [
            iri
            for iri in self.dual_properties
            if iri not in self.object_properties and iri not in self.data_properties
        ]
        self.object_properties.update(left)
        self.data_properties.update(left)

    def mark_open(self, iri: str) -> None:
        """Mark a property as both object and data property, because its kind is undecided."""
        self.punned_properties.add(iri)
        self.object_properties.discard(iri)
        self.data_properties.discard(iri)

    def logical_kinds(self, iri: str) -> set[str]:
        """Return the kinds of a property other than annotation: `OBJECT`, `DATA`, both or none."""
        if iri in self.punned_properties:
            return {OBJECT, DATA}
        return kinds_of(self, iri) - {ANNOTATION}

    def add_kind(self, iri: str, kind: str) -> None:
        """Add ``kind`` to the kinds of a property."""
        if self.logical_kinds(iri) - {kind}:
            self.mark_open(iri)
        else:
            self.names_by_kind[kind].add(iri)

    @cached_property
    def names_by_kind(self) -> Mapping[str, set[str]]:
        """The names of each kind: class, datatype, object, data and annotation."""
        return {
            "class": self.classes,
            "datatype": self.datatypes,
            OBJECT: self.object_properties,
            DATA: self.data_properties,
            ANNOTATION: self.annotation_properties,
        }

    def component_of(self, iri: str) -> str:
        """Return the first property of the component of ``iri``, the set of properties that must
        have the same kind as it.
        """
        return self.components.get(iri, (iri,))[0]

    def members_of(self, component: str) -> tuple[str, ...]:
        """Return the properties of the component whose first property is ``component``."""
        return self.components.get(component, (component,))

    def is_class(self, iri: str) -> bool:
        """Decide whether ``iri`` is a class, built-in ones included."""
        return iri in self.classes or iri in BUILT_IN_CLASSES

    def is_datatype(self, iri: str) -> bool:
        """Decide whether ``iri`` is a datatype, built-in and unknown reserved ones included."""
        return iri in self.datatypes or iri in DATATYPES or is_unknown_datatype(iri)

    def property_kind(self, iri: str) -> str:
        """Return the kind of a property: `OBJECT`, `DATA` or `ANNOTATION`; "" if unknown or both
        object and data.
        """
        if iri in self.object_properties or iri in BUILT_IN_OBJECT:
            return OBJECT
        if iri in self.data_properties or iri in BUILT_IN_DATA:
            return DATA
        if iri not in self.punned_properties and (
            iri in self.annotation_properties or iri in ANNOTATIONS
        ):
            return ANNOTATION
        return ""

    def is_annotation(self, iri: str) -> bool:
        """Decide whether ``iri`` is an annotation property, built-in ones included."""
        return iri in self.annotation_properties or iri in ANNOTATIONS

    def is_entity(self, iri: str) -> bool:
        """Decide whether ``iri`` is a class, a property or a datatype."""
        return iri in self.punned_properties or any(
            iri in names for names in self.names_by_kind.values()
        )

    def signature(self) -> Signature:
        """Return the signature with these kinds; properties of two kinds are in both sets."""
        return Signature(
            frozenset(self.classes),
            frozenset(self.object_properties | self.punned_properties),
            frozenset(self.data_properties | self.punned_properties),
            frozenset(self.annotation_properties),
            frozenset(self.datatypes),
            self.declared,
        )

    def data_signature(self, tbox: Signature) -> Signature:
        """Return the signature that data may use, given the signature of the TBox.

        It has the data's own annotation properties, and gives the TBox's annotation properties the
        further kinds that the data shows.
        """
        notes = tbox.annotation_properties
        unknown = (
            (self.object_properties | self.data_properties)
            - tbox.object_properties
            - tbox.data_properties
        )
        return replace(
            tbox,
            object_properties=tbox.object_properties | (self.object_properties & notes),
            data_properties=tbox.data_properties | (self.data_properties & notes),
            annotation_properties=notes | (self.annotation_properties - unknown),
        )


def kinds_of(known: NameKinds | Signature, iri: str) -> set[str]:
    """Return the kinds (object, data, annotation) of a property; empty for one that `NameKinds` has
    as object and data property both.
    """
    pairs = (
        (OBJECT, known.object_properties),
        (DATA, known.data_properties),
        (ANNOTATION, known.annotation_properties),
    )
    return {kind for kind, names in pairs if iri in names}


# --- what use shows ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NameProblem:
    """A problem with the declaration or kind of a name, to be reported as a leftover.

    index: of the first triple
    count: number of triples
    place: source and line, if it did not come as triples
    """

    index: int
    kind: str
    message: str
    hint: str
    count: int
    term: str = ""
    place: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """A use or declaration of ``iri`` as a property of ``kind`` in a source that is not RDF: first
    position and count.
    """

    iri: str
    kind: str
    source: str
    line: int
    count: int = 1


_BOTH_CLASSES = (RDFS + "subClassOf", OWL + "disjointWith")
_OBJECT_CLASS = (RDFS + "domain", OWL + "onClass")
_SAME_KIND = (RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "propertyDisjointWith")
_RESTRICTING = (OWL + "someValuesFrom", OWL + "allValuesFrom")


def used_as_classes(graph: VocabularyGraph) -> Iterator[str]:
    """Yield the names in positions where only a class can be."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate in _BOTH_CLASSES or predicate == OWL + "disjointUnionOf":
            if not subject.startswith("_:"):
                yield subject
        if predicate in _BOTH_CLASSES or predicate in _OBJECT_CLASS:
            if isinstance(value, str) and not value.startswith("_:"):
                yield value


def infer_kinds(graph: VocabularyGraph, kinds: NameKinds, *, mixed: bool) -> None:
    """Give undeclared properties the kind that their use shows, also along inclusions, equivalences
    and disjointness.

    Terminates: each property is visited once.

    Args:
    mixed: whether a property becomes object and data property both if its axioms show an undeclared
        kind
    """
    evidence: dict[str, set[str]] = defaultdict(set)
    same_kind: dict[str, set[str]] = defaultdict(set)
    superproperties: dict[str, set[str]] = defaultdict(set)
    for iri, kind in _uses_that_show_kind(graph, kinds, same_kind, superproperties):
        if not is_reserved(iri) or (mixed and iri in ANNOTATIONS):
            evidence[iri].add(kind)
    pending = [
        iri for iri in evidence if not kinds_of(kinds, iri) and iri not in kinds.punned_properties
    ]
    known = [*kinds.object_properties, *kinds.data_properties, *kinds.annotation_properties]
    known += [*BUILT_IN_OBJECT, *BUILT_IN_DATA, *ANNOTATIONS]
    # Sorted, so that a name between two kinds is settled the same way each time.
    for iri in pending:
        _set_only_kind(kinds, iri, evidence[iri])
    stack = [*sorted(iri for iri in known if iri in same_kind), *pending]
    while stack:
        iri = stack.pop()
        if iri in kinds.punned_properties:
            continue
        kind = kinds.property_kind(iri)
        for other in sorted(same_kind[iri]):
            if (
                kind in (OBJECT, DATA)
                and not is_reserved(other)
                and not kinds_of(kinds, other)
                and other not in kinds.punned_properties
            ):
                _set_only_kind(kinds, other, {kind})
                stack.append(other)
    if mixed:
        _add_mixed_kinds(kinds, evidence, superproperties)
    _group_open_properties(graph, kinds, same_kind)


def _add_mixed_kinds(
    kinds: NameKinds, evidence: dict[str, set[str]], above: dict[str, set[str]]
) -> None:
    """Add kinds that axioms show to properties that already have another kind, and to their
    superproperties.

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


def _group_open_properties(
    graph: VocabularyGraph, kinds: NameKinds, alike: dict[str, set[str]]
) -> None:
    """Group the undecided properties that must have the same kind into components."""
    kinds.components.clear()
    bearing: set[str] | None = None
    for iri in sorted(alike):
        if iri not in kinds.components and _has_no_kind(kinds, iri):
            members = _linked_open_properties(kinds, alike, iri)
            if bearing is None:
                bearing = set(_names_bearing_axioms(graph))
            beside = {other for member in members for other in alike[member]}
            if (
                bearing.isdisjoint(members)
                and kinds.dual_properties.isdisjoint(members)
                and any(map(kinds.is_annotation, beside))
            ):
                kinds.annotation_properties.update(members)
            else:
                kinds.components.update(dict.fromkeys(members, members))


def _names_bearing_axioms(graph: VocabularyGraph) -> Iterator[str]:
    """Yield the subjects and objects of axioms that would be lost if the name were an annotation
    property.
    """
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate == RDFS + "subPropertyOf" or (predicate == TYPE and value in DECLARATIONS):
            continue
        yield subject
        if isinstance(value, str):
            yield value


def _has_no_kind(kinds: NameKinds, iri: str) -> bool:
    """Decide whether a property has no kind yet."""
    return not is_reserved(iri) and not kinds_of(kinds, iri) and iri not in kinds.punned_properties


def _linked_open_properties(
    kinds: NameKinds, links: dict[str, set[str]], start: str
) -> tuple[str, ...]:
    """Return the properties of undecided kind that are linked with ``start``, directly or not, in
    order.

    Terminates: each property is visited once.
    """
    found, stack = {start}, [start]
    while stack:
        new = {iri for iri in links[stack.pop()] - found if _has_no_kind(kinds, iri)}
        found |= new
        stack += new
    return tuple(sorted(found))


def assign_known_kinds(
    graph: VocabularyGraph, kinds: NameKinds, vocabulary: VocabularyChoice | None = None
) -> bool:
    """Give names of well-known vocabularies the kind in the built-in table, unless a declaration or
    use shows one.

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
    found, names_by_kind = False, kinds.names_by_kind
    for iri in sorted(names):
        if is_reserved(iri) or iri.startswith("_:") or kinds.is_entity(iri):
            continue
        kind = kind_of(iri)
        if kind in names_by_kind and not (kind == ANNOTATION and iri in constrained):
            names_by_kind[kind].add(iri)
            found = True
    return found


def _constrained_properties(graph: VocabularyGraph) -> Iterator[str]:
    """Yield the properties that occur in axioms, other than as superproperties alone."""
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


def _set_only_kind(kinds: NameKinds, iri: str, found: set[str]) -> None:
    """Add a property to the kind in ``found``; to the properties of two kinds if that has more than
    one.
    """
    if iri in kinds.dual_properties:
        return
    names = [kinds.names_by_kind[kind] for kind in found]
    (names[0] if len(names) == 1 else kinds.punned_properties).add(iri)


def _uses_that_show_kind(
    graph: VocabularyGraph,
    kinds: NameKinds,
    same_kind: dict[str, set[str]],
    superproperties: dict[str, set[str]],
) -> Iterator[tuple[str, str]]:
    """Yield (property, kind) for every axiom that shows a kind, and link the other properties.

    Args:
    same_kind: filled with the properties that have the kind of the key
    superproperties: filled with the properties that include the key
    """
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        named = not subject.startswith("_:")
        other = value if isinstance(value, str) and not value.startswith("_:") else ""
        if predicate == OWL + "inverseOf":
            yield from ((iri, OBJECT) for iri in (subject if named else "", other) if iri)
        elif predicate in _SAME_KIND:
            if named and other:
                same_kind[subject].add(other)
                same_kind[other].add(subject)
                if predicate != OWL + "propertyDisjointWith":
                    superproperties[subject].add(other)
                if predicate == OWL + "equivalentProperty":
                    superproperties[other].add(subject)
            elif (named or other) and not isinstance(value, Literal):
                yield (subject if named else other), OBJECT
        elif predicate == RDFS + "range" and named:
            if kinds.property_kind(subject) != ANNOTATION and (
                value != TOP_DATATYPE.iri or subject not in kinds.object_properties
            ):
                yield from ((subject, kind) for kind in _kind_by_filler(graph, kinds, value))
        elif (
            predicate == TYPE and named and value in CHARACTERISTICS and value != INVERSE_FUNCTIONAL
        ):
            yield subject, OBJECT
        elif predicate == OWL + "propertyChainAxiom":
            members = [member for member in _list_members(graph, value) if isinstance(member, str)]
            yield from ((iri, OBJECT) for iri in (subject, *members) if not iri.startswith("_:"))
        elif predicate == OWL + "onProperty" and other:
            shown = list(_kinds_shown_by_restriction(graph, kinds, subject))
            if not shown and kinds.is_annotation(other) and not kinds.logical_kinds(other):
                shown = [OBJECT, DATA]
            yield from ((other, kind) for kind in shown)
        elif predicate == OWL + "assertionProperty" and other:
            yield from ((other, OBJECT) for _ in graph.find(subject, OWL + "targetIndividual"))
            yield from ((other, DATA) for _ in graph.find(subject, OWL + "targetValue"))
        elif predicate == OWL + "members" and OWL + "AllDisjointProperties" in graph.types_of(
            subject
        ):
            group = [member for member in _list_members(graph, value) if isinstance(member, str)]
            for iri in group:
                if iri.startswith("_:"):
                    yield from ((each, OBJECT) for each in group if not each.startswith("_:"))
                elif group[0] != iri and not group[0].startswith("_:"):
                    same_kind[iri].add(group[0])
                    same_kind[group[0]].add(iri)


def _kinds_shown_by_restriction(
    graph: VocabularyGraph, kinds: NameKinds, node: str
) -> Iterator[str]:
    """Yield the kinds that a restriction shows of its property."""
    if graph.find(node, OWL + "onClass") or graph.find(node, OWL + "hasSelf"):
        yield OBJECT
    if graph.find(node, OWL + "onDataRange"):
        yield DATA
    for value in graph.objects_of(node, OWL + "hasValue"):
        yield DATA if isinstance(value, Literal) else OBJECT
    for predicate in _RESTRICTING:
        for filler in graph.objects_of(node, predicate):
            yield from _kind_by_filler(graph, kinds, filler)


def _kind_by_filler(graph: VocabularyGraph, kinds: NameKinds, node: Term) -> Iterator[str]:
    """Yield the kinds of property that a filler ``node`` shows: a class, a data range, or a union
    of both.

    Terminates: each node is visited once.
    """
    seen: set[str] = set()
    stack = [node]
    while stack:
        node = stack.pop()
        if not isinstance(node, str) or node in seen:
            continue
        seen.add(node)
        types = graph.types_of(node)
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
        elif unions := graph.objects_of(node, OWL + "unionOf"):
            stack += (member for head in unions for member in _list_members(graph, head))
        elif lists := graph.objects_of(node, OWL + "oneOf"):
            literals = {
                isinstance(each, Literal) for head in lists for each in _list_members(graph, head)
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
            stack += graph.objects_of(node, OWL + "complementOf") + graph.objects_of(
                node, OWL + "datatypeComplementOf"
            )
            stack += (
                m
                for head in graph.objects_of(node, OWL + "intersectionOf")
                for m in _list_members(graph, head)[:1]
            )


def _list_members(graph: VocabularyGraph, head: Term) -> list[Term]:
    """Return the members of an RDF list; none if it is malformed."""
    try:
        return read_list(graph, head)[0]
    except UnmappedError:
        return []

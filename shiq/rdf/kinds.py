"""What the names are: classes, datatypes, object, data and annotation properties, as declared, or as their use shows.

Source: OWL 2 Mapping to RDF Graphs, section 3.1 (declarations, OWL 1 compatibility); Structural Specification, section 5.8.1
(a name may be an individual and a class or property at once, but not two kinds of property, nor class and datatype).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from shiq.model import OWL, RDFS, Literal, Signature
from shiq.rdf.graph import Graph, UnmappedError, read_list
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_CLASSES,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    CHARACTERISTICS,
    DATATYPES,
    DECLARATIONS,
    KNOWN,
    TYPE,
    is_member_property,
    is_reserved,
)

OBJECT, DATA, ANNOTATION = "object", "data", "annotation"


@dataclass
class Kinds:
    """Names by kind, built-in ones left out. A property in ``punned`` is declared as object and data property both; one in
    ``also_annotations`` as annotation property beside its kind."""

    classes: set[str] = field(default_factory=set)
    datatypes: set[str] = field(default_factory=set)
    object_properties: set[str] = field(default_factory=set)
    data_properties: set[str] = field(default_factory=set)
    annotation_properties: set[str] = field(default_factory=set)
    punned: set[str] = field(default_factory=set)
    also_annotations: set[str] = field(default_factory=set)

    def is_class(self, iri: str) -> bool:
        return iri in self.classes or iri in BUILT_IN_CLASSES

    def is_datatype(self, iri: str) -> bool:
        return iri in self.datatypes or iri in DATATYPES

    def property_kind(self, iri: str) -> str:
        """`OBJECT`, `DATA`, `ANNOTATION`, or "" where nothing tells. Raises: UnmappedError for illegal punning."""
        if iri in self.punned:
            raise UnmappedError("punning", f"<{iri}> is an object property and a data property", "use two names")
        if iri in self.object_properties or iri in BUILT_IN_OBJECT:
            return OBJECT
        if iri in self.data_properties or iri in BUILT_IN_DATA:
            return DATA
        if iri in self.annotation_properties or iri in ANNOTATIONS:
            return ANNOTATION
        return ""

    def is_annotation(self, iri: str) -> bool:
        return iri in self.annotation_properties or iri in self.also_annotations or iri in ANNOTATIONS

    def is_entity(self, iri: str) -> bool:
        """Whether ``iri`` is a class, a property or a datatype."""
        return (
            iri in self.classes
            or iri in self.object_properties
            or iri in self.data_properties
            or iri in self.annotation_properties
            or iri in self.datatypes
            or iri in self.punned
        )

    def signature(self) -> Signature:
        return Signature(
            frozenset(self.classes),
            frozenset(self.object_properties | self.punned),
            frozenset(self.data_properties | self.punned),
            frozenset(self.annotation_properties),
            frozenset(self.datatypes),
        )


@dataclass(frozen=True)
class Problem:
    """Declarations that cannot be taken: the first triple's index, and how many triples."""

    index: int
    kind: str
    message: str
    hint: str
    count: int


def find_kinds(graph: Graph, base: Signature) -> tuple[Kinds, list[Problem]]:
    """The kinds of all names: those of ``base`` first, then the graph's declarations, then what use shows. Declarations are
    accounted for; illegal ones become problems."""
    declared: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    characterised: set[str] = set()
    for i, (subject, predicate, value) in enumerate(zip(graph.subjects, graph.predicates, graph.objects)):
        if predicate == TYPE and not subject.startswith("_:") and not graph.bucket[i]:
            kind = DECLARATIONS.get(value) if isinstance(value, str) else None
            if kind is not None:
                declared[subject][kind].append(i)
            elif value in CHARACTERISTICS:
                characterised.add(subject)
    kinds = Kinds(
        set(base.classes),
        set(base.datatypes),
        set(base.object_properties),
        set(base.data_properties),
        set(base.annotation_properties),
    )
    problems = [problem for iri, by_kind in declared.items() for problem in _declare(graph, kinds, iri, by_kind)]
    kinds.object_properties.update(
        iri for iri in characterised if not is_reserved(iri) and not _held(kinds, iri) | ({iri} & kinds.punned)
    )
    kinds.classes.update(iri for iri in _used_as_classes(graph) if not is_reserved(iri) and iri not in kinds.datatypes)
    _infer(graph, kinds)
    return kinds, problems


def _declare(graph: Graph, kinds: Kinds, iri: str, by_kind: dict[str, list[int]]) -> Iterator[Problem]:
    triples = [i for indexes in by_kind.values() for i in indexes]
    if is_reserved(iri):
        bad = [i for kind, indexes in by_kind.items() if not _is_built_in(iri, kind) for i in indexes]
        count = graph.assign(bad, "leftover:punning")
        graph.assign(triples, "declaration")
        if bad:
            yield Problem(
                bad[0], "punning", f"the built-in term <{iri}> is declared as something else", "use a name of your own", count
            )
        return
    classes, datatypes = "class" in by_kind, "datatype" in by_kind
    rdfs_only = all(graph.objects[i] == RDFS + "Class" for i in by_kind.get("class", ()))
    if datatypes and classes and rdfs_only:
        classes = False
    held = {kind for kind in (OBJECT, DATA, ANNOTATION) if kind in by_kind} | _held(kinds, iri)
    two = []
    if len(held) > 1:
        two.append(" and ".join(f"{kind} property" for kind in sorted(held)))
    if (classes or iri in kinds.classes) and (datatypes or iri in kinds.datatypes):
        two.append("class and datatype")
    if classes:
        kinds.classes.add(iri)
    if datatypes:
        kinds.datatypes.add(iri)
    if {OBJECT, DATA} <= held and not _held(kinds, iri):
        kinds.punned.add(iri)
    elif not _held(kinds, iri):
        # An annotation property that is an object or data property too is taken for the latter: no axiom is lost.
        if ANNOTATION in held and len(held) > 1:
            kinds.also_annotations.add(iri)
        for kind, names in (
            (OBJECT, kinds.object_properties),
            (DATA, kinds.data_properties),
            (ANNOTATION, kinds.annotation_properties),
        ):
            if kind in held:
                names.add(iri)
                break
    if two and triples:
        count = graph.assign(triples, "leftover:punning")
        yield Problem(triples[0], "punning", f"<{iri}> is declared as {', '.join(two)}", "use two names", count)
    graph.assign(triples, "declaration")


def _held(kinds: Kinds, iri: str) -> set[str]:
    pairs = ((OBJECT, kinds.object_properties), (DATA, kinds.data_properties), (ANNOTATION, kinds.annotation_properties))
    return {kind for kind, names in pairs if iri in names}


def _is_built_in(iri: str, kind: str) -> bool:
    """Whether declaring the reserved ``iri`` so changes nothing: it is that already, or no entity of an ontology at all."""
    if (iri in KNOWN or is_member_property(iri)) and not (iri in BUILT_IN_CLASSES or iri in DATATYPES or _is_property(iri)):
        return True
    match kind:
        case "class":
            return iri in BUILT_IN_CLASSES
        case "datatype":
            return iri in DATATYPES
        case "object":
            return iri in BUILT_IN_OBJECT
        case "data":
            return iri in BUILT_IN_DATA
        case "annotation":
            return iri in ANNOTATIONS
    return _is_property(iri)


def _is_property(iri: str) -> bool:
    return iri in BUILT_IN_OBJECT or iri in BUILT_IN_DATA or iri in ANNOTATIONS


# --- what use shows ------------------------------------------------------------------------------

_BOTH_CLASSES = (RDFS + "subClassOf", OWL + "disjointWith")
_OBJECT_CLASS = (RDFS + "domain", OWL + "onClass")
_SAME_KIND = (RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "propertyDisjointWith")
_RESTRICTING = (OWL + "someValuesFrom", OWL + "allValuesFrom")


def _used_as_classes(graph: Graph) -> Iterator[str]:
    """Names in places where only a class can stand."""
    for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects):
        if predicate in _BOTH_CLASSES or predicate == OWL + "disjointUnionOf":
            if not subject.startswith("_:"):
                yield subject
        if predicate in _BOTH_CLASSES or predicate in _OBJECT_CLASS:
            if isinstance(value, str) and not value.startswith("_:"):
                yield value


def _infer(graph: Graph, kinds: Kinds) -> None:
    """Gives a kind to undeclared properties whose use leaves one; spreads it along inclusions, equivalences and disjointness.

    Stops because each property is visited once.
    """
    evidence: dict[str, set[str]] = defaultdict(set)
    links: dict[str, set[str]] = defaultdict(set)
    for iri, kind in _uses(graph, kinds, links):
        if not is_reserved(iri):
            evidence[iri].add(kind)
    pending = [iri for iri in evidence if not _held(kinds, iri)]
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
            if kind and not is_reserved(other) and not _held(kinds, other) and other not in kinds.punned:
                _settle(kinds, other, {kind})
                stack.append(other)


def _settle(kinds: Kinds, iri: str, found: set[str]) -> None:
    if found == {OBJECT}:
        kinds.object_properties.add(iri)
    elif found == {DATA}:
        kinds.data_properties.add(iri)
    elif found == {ANNOTATION}:
        kinds.annotation_properties.add(iri)
    elif iri not in kinds.punned:
        kinds.punned.add(iri)


def _uses(graph: Graph, kinds: Kinds, links: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
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


def _restriction_kind(graph: Graph, kinds: Kinds, node: str) -> Iterator[str]:
    if graph.find(node, OWL + "onClass") or graph.find(node, OWL + "hasSelf"):
        yield OBJECT
    if graph.find(node, OWL + "onDataRange"):
        yield DATA
    for value in graph.values(node, OWL + "hasValue"):
        yield DATA if isinstance(value, Literal) else OBJECT
    for predicate in _RESTRICTING:
        for filler in graph.values(node, predicate):
            yield from _value_kind(graph, kinds, filler)


def _value_kind(graph: Graph, kinds: Kinds, node: Term) -> Iterator[str]:
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


def _members(graph: Graph, head: Term) -> list[Term]:
    try:
        return read_list(graph, head)[0]
    except UnmappedError:
        return []

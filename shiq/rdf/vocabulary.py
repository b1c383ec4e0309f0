"""The reserved vocabulary of OWL 2, RDF, RDFS and XML Schema, in sets by what a reader does with a
word.

Source: OWL 2 Structural Specification, section 2.4 and 4; OWL 2 Mapping to RDF Graphs, sections 3.1
    to 3.3; terms of OWL 1 that are still in use (section 3.1.1 and 3.2.1 there).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TypeAlias

from shiq.model import NOTHING, OWL, RDF, RDFS, XSD
from shiq.model.walk import is_reserved

#: The kind of a term in the tables of known vocabularies.
KindOf: TypeAlias = Callable[[str], str]


TYPE = RDF + "type"
FIRST, REST, NIL = RDF + "first", RDF + "rest", RDF + "nil"
#: Datatypes that a literal without a language tag cannot have.
TAGGED = frozenset((RDF + "langString", RDF + "dirLangString"))
SWRL = "http://www.w3.org/2003/11/swrl#"
NAMESPACES = (OWL, RDF, RDFS, XSD)


def _names_in(namespace: str, text: str) -> frozenset[str]:
    """Return the IRIs in ``namespace`` of the local names that ``text`` lists."""
    return frozenset(namespace + name for name in text.split())


DATATYPES = (
    _names_in(
        XSD,
        "string normalizedString token language Name NCName NMTOKEN boolean decimal integer nonNegativeInteger positiveInteger "
        "nonPositiveInteger negativeInteger long int short byte unsignedLong unsignedInt unsignedShort unsignedByte double float "
        "date time dateTime dateTimeStamp gYear gYearMonth gMonthDay gMonth gDay duration yearMonthDuration dayTimeDuration "
        "hexBinary base64Binary anyURI QName NOTATION ID IDREF IDREFS ENTITY ENTITIES NMTOKENS anyType anySimpleType "
        "anyAtomicType",
    )
    | _names_in(RDF, "PlainLiteral XMLLiteral HTML JSON langString dirLangString")
    | _names_in(OWL, "real rational")
    | {RDFS + "Literal"}
)
FACETS = _names_in(
    XSD,
    "length minLength maxLength pattern minInclusive maxInclusive minExclusive maxExclusive totalDigits fractionDigits",
) | {RDF + "langRange"}
#: Annotation properties that need no declaration.
ANNOTATIONS = _names_in(RDFS, "label comment seeAlso isDefinedBy") | _names_in(
    OWL, "versionInfo deprecated priorVersion backwardCompatibleWith incompatibleWith versionIRI"
)
BUILT_IN_OBJECT = _names_in(OWL, "topObjectProperty bottomObjectProperty")
BUILT_IN_DATA = _names_in(OWL, "topDataProperty bottomDataProperty")
BUILT_IN_CLASSES = _names_in(OWL, "Thing Nothing")

#: What ``x rdf:type …`` may declare, by the kind declared.
DECLARATIONS = {
    OWL + "Class": "class",
    RDFS + "Class": "class",
    OWL + "DeprecatedClass": "class",
    RDFS + "Datatype": "datatype",
    OWL + "DataRange": "datatype",
    OWL + "ObjectProperty": "object",
    OWL + "DatatypeProperty": "data",
    OWL + "AnnotationProperty": "annotation",
    OWL + "OntologyProperty": "annotation",
    OWL + "DeprecatedProperty": "property",
    RDF + "Property": "property",
    RDFS + "ContainerMembershipProperty": "property",
}
#: ``x rdf:type …`` that is an axiom about a property, and says that it is an object property;
#: FunctionalProperty does not.
CHARACTERISTICS = _names_in(
    OWL,
    "InverseFunctionalProperty TransitiveProperty SymmetricProperty AsymmetricProperty ReflexiveProperty IrreflexiveProperty",
)
FUNCTIONAL, INVERSE_FUNCTIONAL = OWL + "FunctionalProperty", OWL + "InverseFunctionalProperty"
ONTOLOGY = OWL + "Ontology"
IMPORTS = OWL + "imports"
REIFICATIONS = _names_in(OWL, "Axiom Annotation")
#: Nodes that are axioms themselves; what else is said of them annotates the axiom.
AXIOM_NODES = _names_in(
    OWL, "AllDisjointClasses AllDisjointProperties AllDifferent NegativePropertyAssertion"
)
#: Predicates that build class expressions and data ranges.
CARDINALITIES = {
    OWL + word + suffix: bound
    for bound, word in (("exact", ""), ("min", "min"), ("max", "max"))
    for suffix in (
        ("cardinality", "qualifiedCardinality")
        if not word
        else ("Cardinality", "QualifiedCardinality")
    )
}
FILLERS = _names_in(OWL, "someValuesFrom allValuesFrom hasValue hasSelf") | CARDINALITIES.keys()
#: What a data range follows.
BEFORE_RANGES = _names_in(OWL, "someValuesFrom allValuesFrom onDataRange onDatatype") | {
    RDFS + "range"
}
OPERATORS = _names_in(OWL, "intersectionOf unionOf complementOf oneOf datatypeComplementOf")
#: RDF vocabulary that OWL 2 gives no meaning: ordinary properties and classes that nothing
#: declares.
PLAIN_PROPERTIES = _names_in(RDF, "value subject predicate object language direction reifies") | {
    RDFS + "member"
}
PLAIN_CLASSES = _names_in(RDF, "Bag Seq Alt Statement CompoundLiteral") | _names_in(
    RDFS, "Container Proposition"
)
#: Reserved classes that may stand in axioms like any other: to be one of them has no consequence
#: that an axiom could state.
ORDINARY_CLASSES = (
    PLAIN_CLASSES
    | {RDF + "List", ONTOLOGY}
    | _names_in(
        OWL, "Class ObjectProperty DatatypeProperty AnnotationProperty NamedIndividual Restriction"
    )
    | _names_in(RDFS, "Class Datatype")
    | {RDF + "Property"}
)
#: ``x rdf:type …`` that says no more than that x is an individual.
INDIVIDUAL_TYPES = frozenset((OWL + "Thing", OWL + "NamedIndividual", RDFS + "Resource"))
_STRUCTURE = _names_in(
    OWL,
    "Restriction equivalentClass disjointWith disjointUnionOf equivalentProperty propertyDisjointWith inverseOf "
    "propertyChainAxiom hasKey sameAs differentFrom members distinctMembers annotatedSource annotatedProperty annotatedTarget "
    "assertionProperty sourceIndividual targetIndividual targetValue onProperty onProperties onClass onDataRange onDatatype "
    "withRestrictions",
) | _names_in(RDFS, "subClassOf subPropertyOf domain range")
KNOWN = (
    DATATYPES
    | FACETS
    | ANNOTATIONS
    | BUILT_IN_OBJECT
    | BUILT_IN_DATA
    | BUILT_IN_CLASSES
    | DECLARATIONS.keys()
    | CHARACTERISTICS
    | REIFICATIONS
    | AXIOM_NODES
    | FILLERS
    | OPERATORS
    | PLAIN_PROPERTIES
    | PLAIN_CLASSES
    | INDIVIDUAL_TYPES
    | _STRUCTURE
    | {FUNCTIONAL, ONTOLOGY, IMPORTS, TYPE, FIRST, REST, NIL, RDF + "List"}
)
#: Classes and properties of the language that give others a meaning: an axiom about them is none of
#: OWL 2 DL.
_PLAIN = (
    DATATYPES
    | FACETS
    | ANNOTATIONS
    | BUILT_IN_OBJECT
    | BUILT_IN_DATA
    | BUILT_IN_CLASSES
    | PLAIN_PROPERTIES
    | ORDINARY_CLASSES
)
LANGUAGE = KNOWN - _PLAIN - INDIVIDUAL_TYPES - {NIL}
LANGUAGE_CLASSES = frozenset(iri for iri in LANGUAGE if iri[iri.index("#") + 1].isupper())
LANGUAGE_PROPERTIES = LANGUAGE - LANGUAGE_CLASSES
#: Roles to nodes that stand for values, and what ties these to their values
#: (`shiq.rdf.values_as_nodes`).
VALUE_ROLE, VALUE_LINK = "urn:shiq:values-of:", "urn:shiq:has-value"
#: Documents that describe the language itself: importing them adds nothing.
LANGUAGE_DOCUMENTS = frozenset(namespace.rstrip("#") for namespace in NAMESPACES)


def local_name(iri: str) -> str:
    """Return the part of an IRI after its last ``#``, ``/`` or ``:``."""
    return iri[max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1 :]


_DATATYPE_WORDS = frozenset(map(str.lower, map(local_name, DATATYPES)))


def is_misspelt(iri: str) -> bool:
    """Decide whether ``iri`` is in one of these reserved namespaces but not defined there."""
    return (
        iri.startswith(NAMESPACES)
        and iri not in KNOWN
        and iri not in NAMESPACES
        and not is_member_property(iri)
    )


def is_unknown_datatype(iri: str) -> bool:
    """Decide whether ``iri`` is an undefined reserved name that can only mean a datatype, such as
    ``xsd:Double`` or ``rdfs:string``.

    A name similar to a datatype in more than its case is misspelt.
    """
    if not is_misspelt(iri):
        return False
    return local_name(iri).lower() in _DATATYPE_WORDS or (
        iri.startswith(XSD) and not nearest_known(iri)
    )


def is_member_property(iri: str) -> bool:
    """Decide whether ``iri`` is rdf:_1, rdf:_2, …"""
    return iri.startswith(RDF + "_") and iri[len(RDF) + 1 :].isdecimal()


def nearest_known(iri: str) -> str:
    """Return the reserved term that ``iri`` was probably meant to be, as ``owl:name``; "" if none.
    Its own namespace is searched first.
    """
    name = local_name(iri).lower()
    own = next(namespace for namespace in NAMESPACES if iri.startswith(namespace))
    for cutoff in (1.0, 0.75):
        for namespace in (own, *NAMESPACES):
            names = {
                local_name(term).lower(): term
                for term in sorted(KNOWN)
                if term.startswith(namespace)
            }
            near = get_close_matches(name, names, 1, cutoff)
            if near:
                return short_iri(names[near[0]])
    return ""


def known_word(iri: str) -> str:
    """Return the reserved term with the local name of ``iri``, as for ``owl:AllDisjointClasses``
    behind a wrong prefix; "" if none.
    """
    return next((term for term in sorted(KNOWN) if local_name(term) == local_name(iri)), "")


def short_iri(iri: str) -> str:
    """Abbreviate an IRI by its reserved prefix."""
    for prefix, namespace in zip(("owl", "rdf", "rdfs", "xsd"), NAMESPACES):
        if iri.startswith(namespace):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"


class NearMisses:
    """Search for known names that resemble an unknown one: the same local name elsewhere, then
    close spellings.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = known
        self.nearest = lru_cache(1024)(self._nearest_name)

    @cached_property
    def _known_by_local_name(self) -> dict[str, str]:
        """The known names by local name in lower case."""
        found: dict[str, str] = {}
        for iri in sorted(self._known):
            found.setdefault(local_name(iri).lower(), iri)
        return found

    def _nearest_name(self, iri: str) -> str:
        """Return the known name that resembles ``iri`` most; "" if there is none."""
        name = local_name(iri).lower()
        if name in self._known_by_local_name:
            return self._known_by_local_name[name]
        near = get_close_matches(name, self._known_by_local_name, 1, 0.8 if len(name) > 5 else 0.6)
        return self._known_by_local_name[near[0]] if near else ""


def is_for_graph(predicate: str, value: object) -> bool:
    """Decide whether a triple forms part of an axiom, so that it belongs to the vocabulary graph."""
    return is_odd_type(value) if predicate == TYPE else is_structural(predicate)


def is_structural(iri: str) -> bool:
    """Decide whether triples with this predicate form axioms (of rdf:type only some do)."""
    if iri.startswith(SWRL):
        return True
    plain = (
        iri in ANNOTATIONS
        or iri in BUILT_IN_OBJECT
        or iri in BUILT_IN_DATA
        or iri in PLAIN_PROPERTIES
    )
    return is_reserved(iri) and not plain and not is_member_property(iri)


def is_odd_type(term: object) -> bool:
    """Decide whether the object of an rdf:type triple is no class name, so that the triple is no
    plain assertion.
    """
    if not isinstance(term, str) or term.startswith(("_:", SWRL)):
        return True
    return (
        is_reserved(term)
        and term != NOTHING.iri
        and term not in PLAIN_CLASSES
        and term not in INDIVIDUAL_TYPES
    )

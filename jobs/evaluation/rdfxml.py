"""A TBox written as RDF/XML, after the OWL 2 mapping to RDF graphs: the axioms that our generators make, no others.

>>> from shiq.model import Class, SubClassOf, TBox
>>> "rdfs:subClassOf" in tbox_as_rdfxml(TBox((SubClassOf(Class("urn:A"), Class("urn:B")),)), "urn:o")
True
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from shiq.model import (
    OWL,
    RDF,
    RDFS,
    XSD,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataPropertyDomain,
    DataPropertyRange,
    DataRange,
    Datatype,
    DatatypeRestriction,
    DisjointClasses,
    DisjointObjectProperties,
    EquivalentClasses,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    Literal,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TBox,
    TransitiveObjectProperty,
)

_CHARACTERISTICS: dict[type[Axiom], str] = {
    AsymmetricObjectProperty: "AsymmetricProperty",
    FunctionalDataProperty: "FunctionalProperty",
    FunctionalObjectProperty: "FunctionalProperty",
    InverseFunctionalObjectProperty: "InverseFunctionalProperty",
    SymmetricObjectProperty: "SymmetricProperty",
    TransitiveObjectProperty: "TransitiveProperty",
}


def _reference(tag: str, iri: str) -> str:
    return f"<{tag} rdf:resource={quoteattr(iri)}/>"


def _number(tag: str, n: int) -> str:
    return f'<{tag} rdf:datatype="{XSD}nonNegativeInteger">{n}</{tag}>'


def _role(tag: str, role: ObjectPropertyExpression) -> str:
    if isinstance(role, ObjectInverseOf):
        return f"<{tag}><rdf:Description>{_reference('owl:inverseOf', role.property.iri)}</rdf:Description></{tag}>"
    return _reference(tag, role.iri)


def _collection(tag: str, members: Iterable[str]) -> str:
    return f'<{tag} rdf:parseType="Collection">{"".join(members)}</{tag}>'


def _filler(tag: str, expression: ClassExpression) -> str:
    return _reference(tag, expression.iri) if isinstance(expression, Class) else f"<{tag}>{_node(expression)}</{tag}>"


def _restriction(role: ObjectPropertyExpression, *parts: str) -> str:
    return f"<owl:Restriction>{_role('owl:onProperty', role)}{''.join(parts)}</owl:Restriction>"


def _node(expression: ClassExpression) -> str:
    match expression:
        case Class(iri):
            return f"<owl:Class rdf:about={quoteattr(iri)}/>"
        case ObjectIntersectionOf(operands):
            return f"<owl:Class>{_collection('owl:intersectionOf', map(_node, operands))}</owl:Class>"
        case ObjectUnionOf(operands):
            return f"<owl:Class>{_collection('owl:unionOf', map(_node, operands))}</owl:Class>"
        case ObjectComplementOf(operand):
            return f"<owl:Class>{_filler('owl:complementOf', operand)}</owl:Class>"
        case ObjectSomeValuesFrom(role, filler):
            return _restriction(role, _filler("owl:someValuesFrom", filler))
        case ObjectAllValuesFrom(role, filler):
            return _restriction(role, _filler("owl:allValuesFrom", filler))
        case ObjectMinCardinality(n, role, Class(iri)) if iri == OWL + "Thing":
            return _restriction(role, _number("owl:minCardinality", n))
        case ObjectMaxCardinality(n, role, Class(iri)) if iri == OWL + "Thing":
            return _restriction(role, _number("owl:maxCardinality", n))
        case ObjectMaxCardinality(n, role, filler):
            return _restriction(role, _number("owl:maxQualifiedCardinality", n), _filler("owl:onClass", filler))
        case DataAllValuesFrom(data, range):
            return _restriction(ObjectProperty(data.iri), _range("owl:allValuesFrom", range))
    raise TypeError(f"no RDF/XML for {expression!r}")


def _range(tag: str, range: DataRange) -> str:
    match range:
        case Datatype(iri):
            return _reference(tag, iri)
        case DatatypeRestriction(datatype, facets):
            members = (
                f"<rdf:Description>{_facet(facet.replace(XSD, 'xsd:'), value)}</rdf:Description>" for facet, value in facets
            )
            restrictions = _collection("owl:withRestrictions", members)
            return f"<{tag}><rdfs:Datatype>{_reference('owl:onDatatype', datatype.iri)}{restrictions}</rdfs:Datatype></{tag}>"
    raise TypeError(f"no RDF/XML for {range!r}")


def _facet(tag: str, value: Literal) -> str:
    return f"<{tag} rdf:datatype={quoteattr(value.datatype)}>{escape(value.lexical)}</{tag}>"


def _axiom(axiom: Axiom) -> tuple[str, str]:
    """The subject of an axiom and what is said there; subject "" for a node of its own."""
    match axiom:
        case SubClassOf(Class(iri), sup):
            return iri, _filler("rdfs:subClassOf", sup)
        case EquivalentClasses((Class(iri), other)):
            return iri, _filler("owl:equivalentClass", other)
        case DisjointClasses(expressions):
            members = _collection("owl:members", map(_node, expressions))
            return "", f"<owl:AllDisjointClasses>{members}</owl:AllDisjointClasses>"
        case DisjointObjectProperties((ObjectProperty(iri), other)):
            return iri, _role("owl:propertyDisjointWith", other)
        case EquivalentObjectProperties((ObjectProperty(iri), other)):
            return iri, _role("owl:equivalentProperty", other)
        case SubObjectPropertyOf(ObjectProperty(iri), sup):
            return iri, _role("rdfs:subPropertyOf", sup)
        case InverseObjectProperties(ObjectProperty(iri), second):
            return iri, _role("owl:inverseOf", second)
        case ObjectPropertyDomain(ObjectProperty(iri), cls):
            return iri, _filler("rdfs:domain", cls)
        case ObjectPropertyRange(ObjectProperty(iri), cls):
            return iri, _filler("rdfs:range", cls)
        case DataPropertyDomain(data, cls):
            return data.iri, _filler("rdfs:domain", cls)
        case DataPropertyRange(data, range):
            return data.iri, _range("rdfs:range", range)
    characteristic = _CHARACTERISTICS.get(type(axiom))
    property = getattr(axiom, "property", None)
    if characteristic is None or property is None or isinstance(property, ObjectInverseOf):
        raise TypeError(f"no RDF/XML for {axiom!r}")
    return property.iri, _reference("rdf:type", OWL + characteristic)


def tbox_as_rdfxml(tbox: TBox, ontology: str, assertions: Iterable[ClassAssertion] = ()) -> str:
    """``tbox`` with its declarations, as the ontology of that IRI, and the classes of some individuals that come with it.

    Raises TypeError for an axiom, or a class asserted, outside what is handled here.
    """
    said: dict[str, list[str]] = {}
    for axiom in tbox.axioms:
        subject, text = _axiom(axiom)
        said.setdefault(subject, []).append(text)
    for assertion in assertions:
        said.setdefault(assertion.individual, []).append(_filler("rdf:type", assertion.expression))
    entities = dict.fromkeys(tbox.signature.classes, "owl:Class")
    entities |= dict.fromkeys(tbox.signature.object_properties, "owl:ObjectProperty")
    entities |= dict.fromkeys(tbox.signature.data_properties, "owl:DatatypeProperty")
    entities |= {iri: "rdf:Description" for iri in said if iri and iri not in entities}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:rdfs="{RDFS}" xmlns:owl="{OWL}" xmlns:xsd="{XSD}">',
        f"<owl:Ontology rdf:about={quoteattr(ontology)}/>",
    ]
    for iri, kind in sorted(entities.items(), key=lambda item: (item[1], item[0])):
        lines.append(f"<{kind} rdf:about={quoteattr(iri)}>")
        lines += (f"  {text}" for text in said.get(iri, ()))
        lines.append(f"</{kind}>")
    lines += said.get("", ())
    return "\n".join([*lines, "</rdf:RDF>", ""])

"""Axioms and assertions in the manner of OWL 2 Manchester syntax, with labels.

Keywords are those of the W3C note on the syntax; names are labels, so that the text is for
reading, not for parsing.

>>> not_b = owl.ObjectComplementOf(owl.Class("urn:B"))
>>> some = owl.ObjectSomeValuesFrom(owl.ObjectProperty("urn:r"), not_b)
>>> manchester(owl.SubClassOf(owl.Class("urn:A"), some))
'A SubClassOf: r some (not B)'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from shiq import model as owl
from shiq.explanation.labels import Labels

_FACETS = {
    "length": "length",
    "minLength": "minLength",
    "maxLength": "maxLength",
    "pattern": "pattern",
    "langRange": "langRange",
    "minInclusive": ">=",
    "maxInclusive": "<=",
    "minExclusive": ">",
    "maxExclusive": "<",
}
_CHARACTERISTICS = {
    owl.FunctionalObjectProperty: "Functional",
    owl.FunctionalDataProperty: "Functional",
    owl.InverseFunctionalObjectProperty: "InverseFunctional",
    owl.InverseFunctionalDataProperty: "InverseFunctional",
    owl.SymmetricObjectProperty: "Symmetric",
    owl.AsymmetricObjectProperty: "Asymmetric",
    owl.IrreflexiveObjectProperty: "Irreflexive",
    owl.ReflexiveObjectProperty: "Reflexive",
    owl.TransitiveObjectProperty: "Transitive",
}
_CARDINALITIES: Final[Mapping[type, str]] = {
    owl.ObjectMinCardinality: "min",
    owl.DataMinCardinality: "min",
    owl.ObjectMaxCardinality: "max",
    owl.DataMaxCardinality: "max",
    owl.ObjectExactCardinality: "exactly",
    owl.DataExactCardinality: "exactly",
}
_PLAIN_NAME = re.compile(r"\S+\Z")


def manchester(value: owl.Axiom | owl.Assertion, labels: Labels | None = None) -> str:
    """Write an axiom or assertion in Manchester syntax."""
    return _ManchesterWriter(labels or Labels()).write_statement(value)


def expression_text(value: object, labels: Labels) -> str:
    """Write a class expression, property or data range in Manchester syntax."""
    return _ManchesterWriter(labels).write_expression(value)


class _ManchesterWriter:
    """Writer of axioms and expressions in Manchester syntax, with labels for IRIs."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def write_statement(self, value: owl.Axiom | owl.Assertion) -> str:
        """Write an axiom or assertion."""
        text, joined = self.write_expression, self._join_operands
        match value:
            case owl.SubClassOf(sub, sup):
                return f"{text(sub)} SubClassOf: {text(sup)}"
            case (
                owl.EquivalentClasses(members)
                | owl.EquivalentObjectProperties(members)
                | owl.EquivalentDataProperties(members)
            ):
                return self._mutual_frame(
                    "EquivalentTo:", self._frame_keyword(value, "Equivalent"), members
                )
            case (
                owl.DisjointClasses(members)
                | owl.DisjointObjectProperties(members)
                | owl.DisjointDataProperties(members)
            ):
                return self._mutual_frame(
                    "DisjointWith:", self._frame_keyword(value, "Disjoint"), members
                )
            case owl.DisjointUnion(cls, members):
                return f"{text(cls)} DisjointUnionOf: {joined(members, ', ')}"
            case owl.SubObjectPropertyOf(sub, sup) | owl.SubDataPropertyOf(sub, sup):
                return f"{text(sub)} SubPropertyOf: {text(sup)}"
            case owl.SubObjectPropertyChain(chain, sup):
                return f"{text(sup)} SubPropertyChain: {joined(chain, ' o ')}"
            case owl.InverseObjectProperties(first, second):
                return f"{text(first)} InverseOf: {text(second)}"
            case owl.ObjectPropertyDomain(property, domain) | owl.DataPropertyDomain(
                property, domain
            ):
                return f"{text(property)} Domain: {text(domain)}"
            case owl.ObjectPropertyRange(property, range) | owl.DataPropertyRange(property, range):
                return f"{text(property)} Range: {text(range)}"
            case owl.DatatypeDefinition(datatype, range):
                return f"{text(datatype)} EquivalentTo: {text(range)}"
            case owl.HasKey(expression, object_properties, data_properties):
                return f"{text(expression)} HasKey: {joined((*object_properties, *data_properties), ', ')}"
            case owl.ClassAssertion(expression, individual):
                return f"{self._quoted_label(individual)} Types: {text(expression)}"
            case owl.ObjectPropertyAssertion(property, subject, other):
                return f"{self._quoted_label(subject)} Facts: {text(property)} {self._quoted_label(other)}"
            case owl.NegativeObjectPropertyAssertion(property, subject, other):
                return f"{self._quoted_label(subject)} Facts: not {text(property)} {self._quoted_label(other)}"
            case owl.DataPropertyAssertion(property, subject, literal):
                return f"{self._quoted_label(subject)} Facts: {text(property)} {text(literal)}"
            case owl.NegativeDataPropertyAssertion(property, subject, literal):
                return f"{self._quoted_label(subject)} Facts: not {text(property)} {text(literal)}"
            case owl.SameIndividual(first, second):
                return f"{self._quoted_label(first)} SameAs: {self._quoted_label(second)}"
            case owl.DifferentIndividuals(first, second):
                return f"{self._quoted_label(first)} DifferentFrom: {self._quoted_label(second)}"
        return f"{text(value.property)} Characteristics: {_CHARACTERISTICS[type(value)]}"

    def write_expression(self, value: object) -> str:
        """Write a class expression, property, data range or literal."""
        text, inner, joined = self.write_expression, self._write_operand, self._join_operands
        match value:
            case (
                owl.Class(iri) | owl.ObjectProperty(iri) | owl.DataProperty(iri) | owl.Datatype(iri)
            ):
                return self._quoted_label(iri)
            case owl.ObjectInverseOf(property):
                return f"inverse {inner(property)}"
            case owl.Literal():
                return literal_text(value)
            case owl.ObjectIntersectionOf(operands) | owl.DataIntersectionOf(operands):
                return joined(operands, " and ")
            case owl.ObjectUnionOf(operands) | owl.DataUnionOf(operands):
                return joined(operands, " or ")
            case owl.ObjectComplementOf(operand) | owl.DataComplementOf(operand):
                return f"not {inner(operand)}"
            case owl.ObjectSomeValuesFrom(property, filler) | owl.DataSomeValuesFrom(
                property, filler
            ):
                return f"{inner(property)} some {inner(filler)}"
            case owl.ObjectAllValuesFrom(property, filler) | owl.DataAllValuesFrom(
                property, filler
            ):
                return f"{inner(property)} only {inner(filler)}"
            case owl.ObjectHasValue(property, individual):
                return f"{inner(property)} value {self._quoted_label(individual)}"
            case owl.DataHasValue(property, literal):
                return f"{inner(property)} value {text(literal)}"
            case owl.ObjectHasSelf(property):
                return f"{inner(property)} Self"
            case (
                owl.ObjectMinCardinality(n, property, filler)
                | owl.DataMinCardinality(n, property, filler)
                | owl.ObjectMaxCardinality(n, property, filler)
                | owl.DataMaxCardinality(n, property, filler)
                | owl.ObjectExactCardinality(n, property, filler)
                | owl.DataExactCardinality(n, property, filler)
            ):
                is_qualified = filler not in (owl.THING, owl.TOP_DATATYPE)
                number = f"{inner(property)} {_CARDINALITIES[type(value)]} {n}"
                return f"{number} {inner(filler)}" if is_qualified else number
            case owl.ObjectOneOf(individuals):
                return "{" + ", ".join(map(self._quoted_label, individuals)) + "}"
            case owl.DataOneOf(literals):
                return "{" + ", ".join(map(literal_text, literals)) + "}"
            case owl.DatatypeRestriction(datatype, facets):
                limits = (
                    f"{_FACETS.get(_local_name(facet), _local_name(facet))} {_facet_value(value)}"
                    for facet, value in facets
                )
                return f"{text(datatype)}[{', '.join(limits)}]"
        raise TypeError(value)

    def _mutual_frame(self, keyword: str, sort: str, members: tuple[object, ...]) -> str:
        """Write an axiom that several members are equivalent or disjoint."""
        if len(members) == 2:
            return (
                f"{self.write_expression(members[0])} {keyword} {self.write_expression(members[1])}"
            )
        return f"{sort}: {self._join_operands(members, ', ')}"

    def _frame_keyword(self, value: object, word: str) -> str:
        """Return the keyword of an axiom on several classes or properties: ``word`` with "Classes"
        or "Properties" behind it.
        """
        return word + (
            "Classes"
            if isinstance(value, owl.EquivalentClasses | owl.DisjointClasses)
            else "Properties"
        )

    def _join_operands(self, members: tuple[object, ...], between: str) -> str:
        """Write several expressions with the word ``between`` between them."""
        inner = self.write_expression if between == ", " else self._write_operand
        return between.join(map(inner, members))

    def _write_operand(self, value: object) -> str:
        """Write an expression as an operand: in parentheses, unless it is a name."""
        text = self.write_expression(value)
        is_atom = isinstance(
            value,
            owl.Class
            | owl.ObjectProperty
            | owl.DataProperty
            | owl.Datatype
            | owl.ObjectOneOf
            | owl.DataOneOf
            | owl.DatatypeRestriction,
        )
        return text if is_atom else f"({text})"

    def _quoted_label(self, iri: str) -> str:
        """Write a label, quoted if it has spaces."""
        if iri in (owl.OWL + "Thing", owl.OWL + "Nothing"):
            return "owl:" + _local_name(iri)
        if iri.startswith(owl.XSD) or iri == owl.RDFS + "Literal":
            return ("xsd:" if iri.startswith(owl.XSD) else "rdfs:") + _local_name(iri)
        name = self._labels.name_of(iri)
        return name if _PLAIN_NAME.match(name) else f"'{name}'"


def literal_text(value: owl.Literal) -> str:
    """Write a literal in quotes, followed by its language tag or shortened datatype."""
    text = '"' + value.lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if value.language:
        return f"{text}@{value.language}"
    if value.datatype == owl.XSD + "string":
        return text
    known = {owl.XSD: "xsd:", owl.RDF: "rdf:", owl.RDFS: "rdfs:", owl.OWL: "owl:"}
    for namespace, prefix in known.items():
        if value.datatype.startswith(namespace):
            return f"{text}^^{prefix}{value.datatype[len(namespace) :]}"
    return f"{text}^^{_local_name(value.datatype)}"


def _facet_value(value: owl.Literal) -> str:
    """Write the value of a facet: a number without quotes, anything else with them."""
    return (
        value.lexical if re.fullmatch(r"[-+]?\d+(\.\d+)?", value.lexical) else literal_text(value)
    )


def _local_name(iri: str) -> str:
    """Return the part of an IRI after its last # or /."""
    return re.split(r"[#/]", iri)[-1]

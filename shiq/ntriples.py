"""Assertions as N-Triples: terms, literals, and the RDF mapping of OWL 2 for complex ones.

>>> assertion_lines(owl.ClassAssertion(owl.Class("urn:A"), "urn:a"))
('<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:A> .',)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from shiq import model as owl

_TYPE = f"<{owl.RDF}type>"
# Beside what the grammar asks for: characters at which some tools end a line.
_IN_LITERALS = re.compile('["\\\\\x00-\x1f\x7f\x85\u2028\u2029]')
_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# What blank node labels may not have in N-Triples, Turtle and functional syntax alike, and "_"
# where it would begin an escape.
_IN_LABELS = re.compile(r"_(?=x)|[^A-Za-z0-9_.\-]|^[.\-]|\.\Z|^\Z")
# Its escapes: of any character but half a surrogate pair.
_ESCAPED = re.compile("_x((?!d[89a-f][0-9a-f]{2}_)(?:10|[0-9a-f])?[0-9a-f]{0,4})_")


def term(individual: str) -> str:
    """An individual as an N-Triples term: ``<IRI>``, or ``_:label`` with a label that is valid
    and stays distinct.
    """
    return blank_term(individual) if individual.startswith("_:") else iri_term(individual)


def blank_term(individual: str) -> str:
    """``_:label`` with every character that a label cannot have as ``_x…_`` (its code in
    hexadecimal).

    Injective: different blank nodes stay different; a label that is valid already and has no
    "_x" stays as it is.
    """
    return "_:" + _IN_LABELS.sub(
        lambda match: f"_x{ord(match[0]):x}_" if match[0] else "_x_", individual[2:]
    )


def blank_node(label: str) -> str:
    """The blank node that `blank_term` writes with ``label``.

    >>> blank_term("_:a0.x y"), blank_node("a0.x_x20_y")
    ('_:a0.x_x20_y', '_:a0.x y')
    """
    return "_:" + _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "", label)


def literal(value: owl.Literal) -> str:
    """A literal as an N-Triples term. The datatype xsd:string is left out."""
    text = (
        f'"{_IN_LITERALS.sub(lambda match: _SHORT.get(match[0]) or _code(match), value.lexical)}"'
    )
    if value.language:
        return f"{text}@{value.language}"
    return text if value.datatype == owl.XSD + "string" else f"{text}^^{iri_term(value.datatype)}"


def assertion_lines(assertion: owl.Assertion) -> tuple[str, ...]:
    """The triples of ``assertion`` as N-Triples lines, the one that says it first.

    An assertion on an inverse property is turned round. Class expressions and negative
    assertions are written by the OWL 2 mapping to RDF graphs (section 2); their blank nodes are
    named after a hash of the assertion, so that the same assertion always gives the same lines,
    and different ones share no node.
    """
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), individual):
            return (f"{term(individual)} {_TYPE} {iri_term(iri)} .",)
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, object):
            return assertion_lines(owl.ObjectPropertyAssertion(property, object, subject))
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
            return (f"{term(subject)} {iri_term(iri)} {term(object)} .",)
        case owl.DataPropertyAssertion(property, subject, value):
            return (f"{term(subject)} {iri_term(property.iri)} {literal(value)} .",)
        case owl.SameIndividual(first, second):
            return (f"{term(first)} <{owl.OWL}sameAs> {term(second)} .",)
        case owl.DifferentIndividuals(first, second):
            return (f"{term(first)} <{owl.OWL}differentFrom> {term(second)} .",)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, object):
            return assertion_lines(owl.NegativeObjectPropertyAssertion(property, object, subject))
        case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
            return TripleWriter().negative(subject, iri, "targetIndividual", term(object))
        case owl.NegativeDataPropertyAssertion(property, subject, value):
            return TripleWriter().negative(subject, property.iri, "targetValue", literal(value))
        case owl.ClassAssertion(expression, individual):
            graph = TripleWriter()
            return graph.related(term(individual), f"{owl.RDF}type", graph.expression(expression))
    raise TypeError(assertion)


def iri_term(iri: str) -> str:
    """``iri`` as an N-Triples term."""
    return f"<{_IN_IRIS.sub(_code, iri)}>"


def _code(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04X}"


class TripleWriter:
    """Writes the triples of one assertion or axiom. Until `triples` names them after a hash of
    all lines, blank nodes are numbered behind a NUL, which no term contains.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._nodes = 0

    def triples(self) -> tuple[str, ...]:
        name = sha256("\n".join(self._lines).encode("utf-8", "surrogatepass")).hexdigest()[:24]
        return tuple(line.replace("\0", f"n{name}.") for line in self._lines)

    def related(self, subject: str, predicate: str, object: str) -> tuple[str, ...]:
        """The triples so far and one of two nodes, by the IRI of a property, which comes first."""
        self._line(subject, f"<{predicate}>", object)
        self._lines.insert(0, self._lines.pop())
        return self.triples()

    def negative(self, subject: str, property: str, target: str, value: str) -> tuple[str, ...]:
        self._node(
            ("type", f"<{owl.OWL}NegativePropertyAssertion>"),
            ("sourceIndividual", term(subject)),
            ("assertionProperty", iri_term(property)),
            (target, value),
        )
        return self.triples()

    def expression(self, expression: owl.ClassExpression) -> str:
        """The node of a class expression; its triples are added."""
        match expression:
            case owl.Class(iri):
                return iri_term(iri)
            case owl.ObjectIntersectionOf(operands):
                return self._class("intersectionOf", self._list(map(self.expression, operands)))
            case owl.ObjectUnionOf(operands):
                return self._class("unionOf", self._list(map(self.expression, operands)))
            case owl.ObjectComplementOf(operand):
                return self._class("complementOf", self.expression(operand))
            case owl.ObjectOneOf(individuals):
                return self._class("oneOf", self._list(map(term, individuals)))
            case owl.ObjectSomeValuesFrom(property, filler):
                return self._restriction(property, ("someValuesFrom", self.expression(filler)))
            case owl.ObjectAllValuesFrom(property, filler):
                return self._restriction(property, ("allValuesFrom", self.expression(filler)))
            case owl.ObjectHasValue(property, individual):
                return self._restriction(property, ("hasValue", term(individual)))
            case owl.ObjectHasSelf(property):
                return self._restriction(property, ("hasSelf", f'"true"^^<{owl.XSD}boolean>'))
            case owl.ObjectMinCardinality(n, property, filler):
                return self._object_cardinality("min", n, property, filler)
            case owl.ObjectMaxCardinality(n, property, filler):
                return self._object_cardinality("max", n, property, filler)
            case owl.ObjectExactCardinality(n, property, filler):
                return self._object_cardinality("", n, property, filler)
            case owl.DataSomeValuesFrom(data_property, range):
                return self._restriction(data_property, ("someValuesFrom", self.range(range)))
            case owl.DataAllValuesFrom(data_property, range):
                return self._restriction(data_property, ("allValuesFrom", self.range(range)))
            case owl.DataHasValue(data_property, value):
                return self._restriction(data_property, ("hasValue", literal(value)))
            case owl.DataMinCardinality(n, data_property, range):
                return self._data_cardinality("min", n, data_property, range)
            case owl.DataMaxCardinality(n, data_property, range):
                return self._data_cardinality("max", n, data_property, range)
            case owl.DataExactCardinality(n, data_property, range):
                return self._data_cardinality("", n, data_property, range)
        raise TypeError(expression)

    def range(self, range: owl.DataRange) -> str:
        """The node of a data range; its triples are added."""
        match range:
            case owl.Datatype(iri):
                return iri_term(iri)
            case owl.DataIntersectionOf(operands):
                return self._datatype("intersectionOf", self._list(map(self.range, operands)))
            case owl.DataUnionOf(operands):
                return self._datatype("unionOf", self._list(map(self.range, operands)))
            case owl.DataComplementOf(operand):
                return self._datatype("datatypeComplementOf", self.range(operand))
            case owl.DataOneOf(literals):
                return self._datatype("oneOf", self._list(map(literal, literals)))
            case owl.DatatypeRestriction(base, facets):
                nodes = []
                for facet, value in facets:
                    node = self._node()
                    self._line(node, iri_term(facet), literal(value))
                    nodes.append(node)
                return self._node(
                    ("type", f"<{owl.RDFS}Datatype>"),
                    ("onDatatype", iri_term(base.iri)),
                    ("withRestrictions", self._list(nodes)),
                )
        raise TypeError(range)

    def _class(self, predicate: str, object: str) -> str:
        return self._node(("type", f"<{owl.OWL}Class>"), (predicate, object))

    def _datatype(self, predicate: str, object: str) -> str:
        return self._node(("type", f"<{owl.RDFS}Datatype>"), (predicate, object))

    def property(
        self, property: owl.ObjectProperty | owl.ObjectInverseOf | owl.DataProperty
    ) -> str:
        """The node of a property; the triple of an inverse is added."""
        if isinstance(property, owl.ObjectInverseOf):
            return self._node(("inverseOf", iri_term(property.property.iri)))
        return iri_term(property.iri)

    def _restriction(
        self,
        property: owl.ObjectProperty | owl.ObjectInverseOf | owl.DataProperty,
        *rest: tuple[str, str],
    ) -> str:
        return self._node(
            ("type", f"<{owl.OWL}Restriction>"), ("onProperty", self.property(property)), *rest
        )

    def _object_cardinality(
        self,
        bound: str,
        n: int,
        property: owl.ObjectProperty | owl.ObjectInverseOf,
        filler: owl.ClassExpression,
    ) -> str:
        qualifier = None if filler == owl.THING else ("onClass", self.expression(filler))
        return self._restriction(property, *_cardinality(bound, n, qualifier))

    def _data_cardinality(
        self, bound: str, n: int, property: owl.DataProperty, range: owl.DataRange
    ) -> str:
        qualifier = None if range == owl.TOP_DATATYPE else ("onDataRange", self.range(range))
        return self._restriction(property, *_cardinality(bound, n, qualifier))

    def _list(self, members: Iterable[str]) -> str:
        """An RDF list of the nodes ``members``, which are made first."""
        rest = f"<{owl.RDF}nil>"
        for member in reversed(list(members)):
            node = self._node()
            self._line(node, f"<{owl.RDF}first>", member)
            self._line(node, f"<{owl.RDF}rest>", rest)
            rest = node
        return rest

    def _node(self, *pairs: tuple[str, str]) -> str:
        """A fresh blank node with triples: names in owl:, but for ``type``."""
        self._nodes += 1
        node = f"_:\0{self._nodes}"
        for name, object in pairs:
            self._line(node, _TYPE if name == "type" else f"<{owl.OWL}{name}>", object)
        return node

    def _line(self, subject: str, predicate: str, object: str) -> None:
        self._lines.append(f"{subject} {predicate} {object} .")


def _cardinality(bound: str, n: int, qualifier: tuple[str, str] | None) -> list[tuple[str, str]]:
    word = ("Qualified" if qualifier else "") + "Cardinality"
    name = bound + word if bound else word[0].lower() + word[1:]
    number = f'"{n}"^^<{owl.XSD}nonNegativeInteger>'
    return [(name, number), *([qualifier] if qualifier else [])]

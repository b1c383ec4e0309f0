"""Write assertions as N-Triples; class expressions by the OWL 2 mapping to RDF graphs.

>>> assertion_lines(owl.ClassAssertion(owl.Class("urn:A"), "urn:a"))
('<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:A> .',)

Axioms and declarations as N-Triples, by the OWL 2 mapping to RDF graphs.

>>> axiom_lines(owl.SubClassOf(owl.Class("urn:A"), owl.Class("urn:B")))
('<urn:A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:B> .',)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TypeAlias

from shiq import model as owl

#: A node of RDF: an IRI, a blank node (begins with "_:"), or a literal.
Node: TypeAlias = str | owl.Literal
#: Subject, predicate (an IRI) and object.
NodeTriple: TypeAlias = tuple[str, str, Node]

# Beside what the grammar asks for: characters at which some tools end a line.
_IN_LITERALS = re.compile('["\\\\\x00-\x1f\x7f\x85\u2028\u2029]')
_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# What blank node labels may not have in N-Triples, Turtle and functional syntax alike, and "_"
# where it would begin an escape.
_IN_LABELS = re.compile(r"_(?=x)|[^A-Za-z0-9_.\-]|^[.\-]|\.\Z|^\Z")
# Its escapes: of any character but half a surrogate pair.
_ESCAPED = re.compile("_x((?!d[89a-f][0-9a-f]{2}_)(?:10|[0-9a-f])?[0-9a-f]{0,4})_")


def individual_term(individual: str) -> str:
    """Write an individual as an N-Triples term: ``<IRI>``, or ``_:label`` with a valid, distinct
    label.
    """
    return blank_term(individual) if individual.startswith("_:") else iri_term(individual)


def blank_term(individual: str) -> str:
    """Write a blank node as ``_:label``; illegal characters become ``_x…_`` with the code in
    hexadecimal.

    Injective: different blank nodes stay different. A valid label without "_x" is unchanged.
    """
    return "_:" + _IN_LABELS.sub(
        lambda match: f"_x{ord(match[0]):x}_" if match[0] else "_x_", individual[2:]
    )


def parse_blank_label(label: str) -> str:
    """Return the blank node that `blank_term` writes with this label; the inverse of `blank_term`.

    >>> blank_term("_:a0.x y"), parse_blank_label("a0.x_x20_y")
    ('_:a0.x_x20_y', '_:a0.x y')
    """
    return "_:" + _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "", label)


def literal_term(value: owl.Literal) -> str:
    """Write a literal as an N-Triples term, without the datatype xsd:string."""
    text = f'"{_IN_LITERALS.sub(lambda match: _SHORT.get(match[0]) or _unicode_escape(match), value.lexical)}"'
    if value.language:
        return f"{text}@{value.language}"
    return text if value.datatype == owl.XSD + "string" else f"{text}^^{iri_term(value.datatype)}"


def assertion_lines(assertion: owl.Assertion) -> tuple[str, ...]:
    """Write `assertion` as N-Triples lines, the main triple first.

    An assertion on an inverse property is turned round. Class expressions and negative assertions
    follow the OWL 2 mapping to RDF graphs (section 2). Their blank nodes are named by a hash of the
    assertion. So equal assertions give equal lines, and different ones share no node.
    """
    main = single_triple(assertion)
    if main is None:
        return _triples_of_assertion(assertion).lines()
    subject, predicate, object = main
    return (f"{_numbered_term(subject)} {_predicate(predicate)} {_numbered_term(object)} .",)


def assertion_triples(assertion: owl.Assertion) -> tuple[NodeTriple, ...]:
    """Convert an assertion to RDF triples; those that `assertion_lines` writes.

    >>> assertion_triples(owl.SameIndividual("urn:a", "urn:b"))
    (('urn:a', 'http://www.w3.org/2002/07/owl#sameAs', 'urn:b'),)
    """
    main = single_triple(assertion)
    return _triples_of_assertion(assertion).triples() if main is None else (main,)


def single_triple(assertion: owl.Assertion) -> NodeTriple | None:
    """Return the triple of an assertion that is a single one; None if it needs several."""
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), individual):
            return individual, f"{owl.RDF}type", iri
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, object):
            return object, property.iri, subject
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
            return subject, iri, object
        case owl.DataPropertyAssertion(property, subject, value):
            return subject, property.iri, value
        case owl.SameIndividual(first, second):
            return first, f"{owl.OWL}sameAs", second
        case owl.DifferentIndividuals(first, second):
            return first, f"{owl.OWL}differentFrom", second
    return None


def _triples_of_assertion(assertion: owl.Assertion) -> TripleWriter:
    """Make the triples of an assertion that needs several."""
    graph = TripleWriter()
    match assertion:
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, object):
            return graph.write_negative(object, property.iri, "targetIndividual", subject)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
            return graph.write_negative(subject, iri, "targetIndividual", object)
        case owl.NegativeDataPropertyAssertion(property, subject, value):
            return graph.write_negative(subject, property.iri, "targetValue", value)
        case owl.ClassAssertion(expression, individual):
            return graph.write_triple(individual, f"{owl.RDF}type", graph.write_node(expression))
    raise TypeError(assertion)


def iri_term(iri: str) -> str:
    """Write `iri` as an N-Triples term."""
    return f"<{_IN_IRIS.sub(_unicode_escape, iri)}>"


#: The terms of predicates, of which there are few.
_predicate = lru_cache(maxsize=4096)(iri_term)


def _unicode_escape(match: re.Match[str]) -> str:
    r"""Return the N-Triples escape (\\uXXXX) of the character that was matched."""
    return f"\\u{ord(match[0]):04X}"


#: A node of a graph that is being written; a number stands for a blank node.
_Open: TypeAlias = Node | int


class TripleWriter:
    """Writer of the RDF triples of one assertion or axiom. Blank nodes are named by a hash of all
    triples.
    """

    def __init__(self) -> None:
        self._triples: list[tuple[_Open, str, _Open]] = []
        self._nodes = 0

    def lines(self) -> tuple[str, ...]:
        """Return the N-Triples lines."""
        lines, name = self._numbered_lines()
        return tuple(line.replace("\0", f"n{name}.") for line in lines)

    def triples(self) -> tuple[NodeTriple, ...]:
        """Return the RDF triples as tuples."""
        _, name = self._numbered_lines()

        def node_label(value: _Open) -> Node:
            """The label of a node: of a numbered one by the hash of all triples."""
            return f"_:n{name}.{value}" if isinstance(value, int) else value

        return tuple((str(node_label(s)), p, node_label(o)) for s, p, o in self._triples)

    def _numbered_lines(self) -> tuple[list[str], str]:
        """Return the lines with blank nodes as numbers after a NUL character, and the hash that
        will name them.
        """
        lines = [
            f"{_numbered_term(s)} {_predicate(p)} {_numbered_term(o)} ."
            for s, p, o in self._triples
        ]
        return lines, sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def write_triple(self, subject: _Open, predicate: str, object: _Open) -> TripleWriter:
        """Add the main triple, before all others.

        predicate: an IRI.
        """
        self._triples.insert(0, (subject, predicate, object))
        return self

    def write_negative(self, subject: str, property: str, target: str, value: Node) -> TripleWriter:
        """Add the triples of a negative property assertion."""
        self._new_node(
            ("type", f"{owl.OWL}NegativePropertyAssertion"),
            ("sourceIndividual", subject),
            ("assertionProperty", property),
            (target, value),
        )
        return self

    def write_disjoint_classes(self, expressions: Iterable[owl.ClassExpression]) -> None:
        """Add the triples of classes that are disjoint in pairs."""
        members = self._list_node(map(self.write_node, expressions))
        self._new_node(("type", f"{owl.OWL}AllDisjointClasses"), ("members", members))

    def write_node(
        self,
        value: owl.ClassExpression
        | owl.DataRange
        | owl.ObjectPropertyExpression
        | owl.DataProperty,
    ) -> _Open:
        """Add the triples of a class, a datatype or a property, and return its node."""
        match value:
            case (
                owl.Class(iri) | owl.Datatype(iri) | owl.ObjectProperty(iri) | owl.DataProperty(iri)
            ):
                return iri
            case owl.ObjectInverseOf(property):
                return self._new_node(("inverseOf", property.iri))
            case owl.ObjectIntersectionOf(operands) | owl.DataIntersectionOf(operands):
                members = self._list_node(map(self.write_node, operands))
                return self._definition_node(value, "intersectionOf", members)
            case owl.ObjectUnionOf(operands) | owl.DataUnionOf(operands):
                members = self._list_node(map(self.write_node, operands))
                return self._definition_node(value, "unionOf", members)
            case owl.ObjectComplementOf(operand):
                return self._definition_node(value, "complementOf", self.write_node(operand))
            case owl.DataComplementOf(operand):
                return self._definition_node(
                    value, "datatypeComplementOf", self.write_node(operand)
                )
            case owl.ObjectOneOf(listed) | owl.DataOneOf(listed):
                return self._definition_node(value, "oneOf", self._list_node(listed))
            case owl.ObjectHasSelf(on):
                truth = owl.Literal("true", f"{owl.XSD}boolean")
                return self._restriction_node(on, ("hasSelf", truth))
            case owl.ObjectSomeValuesFrom(on, filler) | owl.DataSomeValuesFrom(on, filler):
                return self._restriction_node(on, ("someValuesFrom", self.write_node(filler)))
            case owl.ObjectAllValuesFrom(on, filler) | owl.DataAllValuesFrom(on, filler):
                return self._restriction_node(on, ("allValuesFrom", self.write_node(filler)))
            case owl.ObjectHasValue(on, one) | owl.DataHasValue(on, one):
                return self._restriction_node(on, ("hasValue", one))
            case owl.ObjectMinCardinality(n, on, filler) | owl.DataMinCardinality(n, on, filler):
                return self._cardinality_node("min", n, on, filler)
            case owl.ObjectMaxCardinality(n, on, filler) | owl.DataMaxCardinality(n, on, filler):
                return self._cardinality_node("max", n, on, filler)
            case owl.ObjectExactCardinality(n, on, filler) | owl.DataExactCardinality(
                n, on, filler
            ):
                return self._cardinality_node("", n, on, filler)
            case owl.DatatypeRestriction(base, facets):
                nodes = []
                for facet, limit in facets:
                    node = self._new_node()
                    self._triples.append((node, facet, limit))
                    nodes.append(node)
                return self._new_node(
                    ("type", f"{owl.RDFS}Datatype"),
                    ("onDatatype", base.iri),
                    ("withRestrictions", self._list_node(nodes)),
                )
        raise TypeError(value)

    def _definition_node(
        self, value: owl.ClassExpression | owl.DataRange, predicate: str, object: _Open
    ) -> _Open:
        """Add a class or datatype defined by one triple, and return its blank node."""
        kind = (
            f"{owl.OWL}Class" if isinstance(value, owl.ClassExpression) else f"{owl.RDFS}Datatype"
        )
        return self._new_node(("type", kind), (predicate, object))

    def _restriction_node(
        self,
        property: owl.ObjectProperty | owl.ObjectInverseOf | owl.DataProperty,
        *rest: tuple[str, _Open],
    ) -> _Open:
        """Add the triples of a restriction on a property, and return its blank node."""
        return self._new_node(
            ("type", f"{owl.OWL}Restriction"), ("onProperty", self.write_node(property)), *rest
        )

    def _cardinality_node(
        self,
        bound: str,
        n: int,
        property: owl.ObjectProperty | owl.ObjectInverseOf | owl.DataProperty,
        filler: owl.ClassExpression | owl.DataRange,
    ) -> _Open:
        """Add the triples of a cardinality restriction, and return its blank node."""
        on = "onClass" if isinstance(filler, owl.ClassExpression) else "onDataRange"
        is_trivial = filler in (owl.THING, owl.TOP_DATATYPE)
        qualifier = None if is_trivial else (on, self.write_node(filler))
        return self._restriction_node(property, *_cardinality_triples(bound, n, qualifier))

    def _list_node(self, members: Iterable[_Open]) -> _Open:
        """Add an RDF list of nodes, and return its first node. The nodes are made before it."""
        rest: _Open = f"{owl.RDF}nil"
        for member in reversed(list(members)):
            node = self._new_node()
            self._triples.append((node, f"{owl.RDF}first", member))
            self._triples.append((node, f"{owl.RDF}rest", rest))
            rest = node
        return rest

    def _new_node(self, *pairs: tuple[str, _Open]) -> _Open:
        """Add a blank node with these triples, and return it. Predicates are local names in owl:,
        except ``type``.
        """
        self._nodes += 1
        node = self._nodes
        for name, object in pairs:
            self._triples.append((node, (owl.RDF if name == "type" else owl.OWL) + name, object))
        return node


def _numbered_term(node: _Open) -> str:
    """Write a node as an N-Triples term; a blank node's number stands after a NUL character."""
    if isinstance(node, str):
        return blank_term(node) if node.startswith("_:") else iri_term(node)
    return f"_:\0{node}" if isinstance(node, int) else literal_term(node)


def _cardinality_triples(
    bound: str, n: int, qualifier: tuple[str, _Open] | None
) -> list[tuple[str, _Open]]:
    """Make the predicates and objects of a cardinality restriction, with or without a qualifying
    filler.
    """
    word = ("Qualified" if qualifier else "") + "Cardinality"
    name = bound + word if bound else word[0].lower() + word[1:]
    number = owl.Literal(str(n), f"{owl.XSD}nonNegativeInteger")
    return [(name, number), *([qualifier] if qualifier else [])]


_RDF_TYPE = f"<{owl.RDF}type>"
_KINDS = {"Datatype": owl.RDFS + "Datatype"}


def declaration_line(kind: str, iri: str) -> str:
    """Write the declaration of a class, property or datatype as an N-Triples line.

    kind: Class, ObjectProperty, DataProperty, Datatype or NamedIndividual.
    """
    name = "DatatypeProperty" if kind == "DataProperty" else kind
    return f"{iri_term(iri)} {_RDF_TYPE} <{_KINDS.get(kind, owl.OWL + name)}> ."


#: The predicate between the two sides of an axiom.
_PREDICATES: Mapping[type[owl.Axiom], str] = {
    owl.SubClassOf: f"{owl.RDFS}subClassOf",
    owl.EquivalentClasses: f"{owl.OWL}equivalentClass",
    owl.SubObjectPropertyOf: f"{owl.RDFS}subPropertyOf",
    owl.EquivalentObjectProperties: f"{owl.OWL}equivalentProperty",
    owl.DisjointObjectProperties: f"{owl.OWL}propertyDisjointWith",
    owl.InverseObjectProperties: f"{owl.OWL}inverseOf",
    owl.ObjectPropertyDomain: f"{owl.RDFS}domain",
    owl.ObjectPropertyRange: f"{owl.RDFS}range",
    owl.SubDataPropertyOf: f"{owl.RDFS}subPropertyOf",
    owl.EquivalentDataProperties: f"{owl.OWL}equivalentProperty",
    owl.DisjointDataProperties: f"{owl.OWL}propertyDisjointWith",
    owl.DataPropertyDomain: f"{owl.RDFS}domain",
    owl.DataPropertyRange: f"{owl.RDFS}range",
    owl.DatatypeDefinition: f"{owl.OWL}equivalentClass",
}
#: The class of properties that an axiom on one property puts it into.
_CHARACTERISTICS: Mapping[type[owl.Axiom], str] = {
    owl.FunctionalObjectProperty: "FunctionalProperty",
    owl.InverseFunctionalObjectProperty: "InverseFunctionalProperty",
    owl.SymmetricObjectProperty: "SymmetricProperty",
    owl.AsymmetricObjectProperty: "AsymmetricProperty",
    owl.IrreflexiveObjectProperty: "IrreflexiveProperty",
    owl.TransitiveObjectProperty: "TransitiveProperty",
    owl.ReflexiveObjectProperty: "ReflexiveProperty",
    owl.FunctionalDataProperty: "FunctionalProperty",
}


def axiom_lines(axiom: owl.Axiom) -> tuple[str, ...]:
    """Write `axiom` as N-Triples lines.

    Blank nodes are named as in `shiq.model.ntriples.assertion_lines`.

    Raises: TypeError for a kind of axiom, or a number of members, that is not written.
    """
    graph, kind = TripleWriter(), type(axiom)
    parts = [getattr(axiom, name) for name in axiom.__match_args__]
    sides = parts[0] if isinstance(parts[0], tuple) else parts
    if kind in _PREDICATES and len(sides) == 2:
        first, second = map(graph.write_node, sides)
        graph.write_triple(first, _PREDICATES[kind], second)
    elif kind in _CHARACTERISTICS:
        name = f"{owl.OWL}{_CHARACTERISTICS[kind]}"
        graph.write_triple(graph.write_node(parts[0]), f"{owl.RDF}type", name)
    elif isinstance(axiom, owl.DisjointClasses):
        graph.write_disjoint_classes(axiom.expressions)
    else:
        raise TypeError(axiom)
    return graph.lines()

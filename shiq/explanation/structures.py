"""Assertions that RDF spreads over several triples, put together again: the inverse of `shiq.ntriples.assertion_lines`.

Only for lines that this module's counterpart has written; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shiq.explanation.parsed import Line, assertion_of, line_of, literal_of, term_of
from shiq.model import (
    OWL,
    RDF,
    RDFS,
    THING,
    TOP_DATATYPE,
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataIntersectionOf,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataSomeValuesFrom,
    Datatype,
    DatatypeRestriction,
    DataUnionOf,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
)
from shiq.reasoner.structure import rewritten

#: A node that `assertion_lines` made, and the assertion that it belongs to.
NODE = re.compile(r"_:n([0-9a-f]{24})\.\d+\Z")
_CARDINALITIES: dict[str, tuple[Any, Any]] = {
    "min": (ObjectMinCardinality, DataMinCardinality),
    "max": (ObjectMaxCardinality, DataMaxCardinality),
    "": (ObjectExactCardinality, DataExactCardinality),
}


def node_of(line: Line) -> str:
    """Which assertion of several triples ``line`` is part of; "" for one that stands alone."""
    match = NODE.match(line.subject) or NODE.match(line.object)
    return match[1] if match else ""


def assertions_of(texts: Sequence[str]) -> tuple[tuple[int, Assertion], ...]:
    """The assertions of ``texts``, each behind the place of its first line; what cannot be read is left out."""
    found: dict[int, Assertion] = {}
    together: dict[str, tuple[int, list[Line]]] = {}
    for i, text in enumerate(texts):
        line = line_of(text)
        node = node_of(line) if line else ""
        if line and node:
            together.setdefault(node, (i, []))[1].append(line)
        elif line:
            found[i] = assertion_of(line)
    for i, lines in together.values():
        value = assertion_of_lines(lines)
        if value is not None:
            found[i] = value
    return tuple(sorted(found.items()))


def with_individuals(expression: ClassExpression, of: Callable[[str], str]) -> ClassExpression:
    """``expression`` with ``of`` each individual in its nominals."""

    def change(part: object) -> object | None:
        match part:
            case ObjectOneOf(individuals):
                return ObjectOneOf(tuple(map(of, individuals)))
            case ObjectHasValue(property, individual):
                return ObjectHasValue(property, of(individual))
        return None

    return rewritten(expression, change)


def assertion_of_lines(lines: list[Line]) -> Assertion | None:
    """The assertion that ``lines`` say together; None if they are not of a form known here."""
    graph: dict[str, dict[str, str]] = {}
    for line in lines:
        graph.setdefault(line.subject, {})[term_of(line.predicate)] = line.object
    try:
        return _assertion(lines, graph)
    except (KeyError, ValueError, IndexError, TypeError):
        return None


def _assertion(lines: list[Line], graph: Mapping[str, dict[str, str]]) -> Assertion:
    for line in lines:
        if not NODE.match(line.subject):
            return ClassAssertion(_expression(line.object, graph), term_of(line.subject))
    node = next(of for of in graph.values() if OWL + "sourceIndividual" in of)
    subject, property = term_of(node[OWL + "sourceIndividual"]), term_of(node[OWL + "assertionProperty"])
    if OWL + "targetValue" in node:
        return NegativeDataPropertyAssertion(DataProperty(property), subject, literal_of(node[OWL + "targetValue"]))
    return NegativeObjectPropertyAssertion(ObjectProperty(property), subject, term_of(node[OWL + "targetIndividual"]))


def _expression(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    make: Any
    if not NODE.match(term):
        return Class(term_of(term))
    node = graph[term]
    for name, make in (("intersectionOf", ObjectIntersectionOf), ("unionOf", ObjectUnionOf)):
        if OWL + name in node:
            return make(tuple(_expression(m, graph) for m in _list(node[OWL + name], graph)))
    if OWL + "complementOf" in node:
        return ObjectComplementOf(_expression(node[OWL + "complementOf"], graph))
    if OWL + "oneOf" in node:
        return ObjectOneOf(tuple(term_of(m) for m in _list(node[OWL + "oneOf"], graph)))
    return _restriction(node, graph)


def _restriction(node: Mapping[str, str], graph: Mapping[str, dict[str, str]]) -> Any:
    on = node[OWL + "onProperty"]
    inverted = NODE.match(on) is not None
    iri = term_of(graph[on][OWL + "inverseOf"]) if inverted else term_of(on)
    role: Any = ObjectInverseOf(ObjectProperty(iri)) if inverted else ObjectProperty(iri)
    of_role: Any
    of_data: Any
    for name, of_role, of_data in (
        ("someValuesFrom", ObjectSomeValuesFrom, DataSomeValuesFrom),
        ("allValuesFrom", ObjectAllValuesFrom, DataAllValuesFrom),
    ):
        filler = node.get(OWL + name)
        if filler is not None:
            if not inverted and _is_range(filler, graph):
                return of_data(DataProperty(iri), _range(filler, graph))
            return of_role(role, _expression(filler, graph))
    if OWL + "hasSelf" in node:
        return ObjectHasSelf(role)
    if OWL + "hasValue" in node and not node[OWL + "hasValue"].startswith('"'):
        return ObjectHasValue(role, term_of(node[OWL + "hasValue"]))
    if OWL + "hasValue" in node:
        return DataHasValue(DataProperty(iri), literal_of(node[OWL + "hasValue"]))
    for key, value in node.items():
        match = re.fullmatch(re.escape(OWL) + r"(min|max)?(?:Qualified|qualified)?[cC]ardinality", key)
        if match:
            of_role, of_data = _CARDINALITIES[match[1] or ""]
            n = int(literal_of(value).lexical)
            if OWL + "onDataRange" in node:
                return of_data(n, DataProperty(iri), _range(node[OWL + "onDataRange"], graph))
            if OWL + "onClass" in node:
                return of_role(n, role, _expression(node[OWL + "onClass"], graph))
            # An unqualified one does not say whether its property has objects or data: objects, as the text reads the same.
            return of_role(n, role, THING)
    raise ValueError(node)


def _is_range(term: str, graph: Mapping[str, dict[str, str]]) -> bool:
    if NODE.match(term):
        return graph[term].get(RDF + "type") == f"<{RDFS}Datatype>"
    return term_of(term).startswith(XSD) or term_of(term) in (TOP_DATATYPE.iri, RDF + "PlainLiteral", RDF + "langString")


def _range(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    if not NODE.match(term):
        return Datatype(term_of(term))
    node = graph[term]
    make: Any
    for name, make in (("intersectionOf", DataIntersectionOf), ("unionOf", DataUnionOf)):
        if OWL + name in node:
            return make(tuple(_range(m, graph) for m in _list(node[OWL + name], graph)))
    if OWL + "datatypeComplementOf" in node:
        return DataComplementOf(_range(node[OWL + "datatypeComplementOf"], graph))
    if OWL + "oneOf" in node:
        return DataOneOf(tuple(literal_of(m) for m in _list(node[OWL + "oneOf"], graph)))
    facets = [next(iter(graph[m].items())) for m in _list(node[OWL + "withRestrictions"], graph)]
    return DatatypeRestriction(
        Datatype(term_of(node[OWL + "onDatatype"])), tuple((facet, literal_of(value)) for facet, value in facets)
    )


def _list(term: str, graph: Mapping[str, dict[str, str]]) -> Iterator[str]:
    while term != f"<{RDF}nil>":
        yield graph[term][RDF + "first"]
        term = graph[term][RDF + "rest"]

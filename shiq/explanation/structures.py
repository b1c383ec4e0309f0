"""Assertions that RDF spreads over several triples, put together again: the inverse of
`shiq.ntriples.assertion_lines`.

Only for lines that this module's counterpart has written; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiq import model as owl
from shiq.explanation.parsed import TripleLine, assertion_of, line_of, literal_of, term_of

#: A node that `assertion_lines` made, and the assertion that it belongs to.
NODE = re.compile(r"_:n([0-9a-f]{24})\.\d+\Z")
_CARDINALITIES: dict[str, tuple[Any, Any]] = {
    "min": (owl.ObjectMinCardinality, owl.DataMinCardinality),
    "max": (owl.ObjectMaxCardinality, owl.DataMaxCardinality),
    "": (owl.ObjectExactCardinality, owl.DataExactCardinality),
}


def node_of(line: TripleLine) -> str:
    """Which assertion of several triples ``line`` is part of; "" for one that stands alone."""
    match = NODE.match(line.subject) or NODE.match(line.object)
    return match[1] if match else ""


def assertions_of(texts: Sequence[str]) -> tuple[tuple[int, owl.Assertion], ...]:
    """The assertions of ``texts``, each behind the place of its first line; what cannot be read
    is left out.
    """
    found: dict[int, owl.Assertion] = {}
    together: dict[str, tuple[int, list[TripleLine]]] = {}
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


def assertion_of_lines(lines: list[TripleLine]) -> owl.Assertion | None:
    """The assertion that ``lines`` say together; None if they are not of a form known here."""
    graph: dict[str, dict[str, str]] = {}
    for line in lines:
        graph.setdefault(line.subject, {})[term_of(line.predicate)] = line.object
    try:
        return _assertion(lines, graph)
    except (KeyError, ValueError, IndexError, TypeError):
        return None


def _assertion(lines: list[TripleLine], graph: Mapping[str, dict[str, str]]) -> owl.Assertion:
    for line in lines:
        if not NODE.match(line.subject):
            return owl.ClassAssertion(_expression(line.object, graph), term_of(line.subject))
    node = next(of for of in graph.values() if owl.OWL + "sourceIndividual" in of)
    subject, property = (
        term_of(node[owl.OWL + "sourceIndividual"]),
        term_of(node[owl.OWL + "assertionProperty"]),
    )
    if owl.OWL + "targetValue" in node:
        return owl.NegativeDataPropertyAssertion(
            owl.DataProperty(property), subject, literal_of(node[owl.OWL + "targetValue"])
        )
    return owl.NegativeObjectPropertyAssertion(
        owl.ObjectProperty(property), subject, term_of(node[owl.OWL + "targetIndividual"])
    )


def _expression(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    make: Any
    if not NODE.match(term):
        return owl.Class(term_of(term))
    node = graph[term]
    for name, make in (
        ("intersectionOf", owl.ObjectIntersectionOf),
        ("unionOf", owl.ObjectUnionOf),
    ):
        if owl.OWL + name in node:
            return make(tuple(_expression(m, graph) for m in _list(node[owl.OWL + name], graph)))
    if owl.OWL + "complementOf" in node:
        return owl.ObjectComplementOf(_expression(node[owl.OWL + "complementOf"], graph))
    if owl.OWL + "oneOf" in node:
        return owl.ObjectOneOf(tuple(term_of(m) for m in _list(node[owl.OWL + "oneOf"], graph)))
    return _restriction(node, graph)


def _restriction(node: Mapping[str, str], graph: Mapping[str, dict[str, str]]) -> Any:
    on = node[owl.OWL + "onProperty"]
    inverted = NODE.match(on) is not None
    iri = term_of(graph[on][owl.OWL + "inverseOf"]) if inverted else term_of(on)
    role: Any = (
        owl.ObjectInverseOf(owl.ObjectProperty(iri)) if inverted else owl.ObjectProperty(iri)
    )
    of_role: Any
    of_data: Any
    for name, of_role, of_data in (
        ("someValuesFrom", owl.ObjectSomeValuesFrom, owl.DataSomeValuesFrom),
        ("allValuesFrom", owl.ObjectAllValuesFrom, owl.DataAllValuesFrom),
    ):
        filler = node.get(owl.OWL + name)
        if filler is not None:
            if not inverted and _is_range(filler, graph):
                return of_data(owl.DataProperty(iri), _range(filler, graph))
            return of_role(role, _expression(filler, graph))
    if owl.OWL + "hasSelf" in node:
        return owl.ObjectHasSelf(role)
    if owl.OWL + "hasValue" in node and not node[owl.OWL + "hasValue"].startswith('"'):
        return owl.ObjectHasValue(role, term_of(node[owl.OWL + "hasValue"]))
    if owl.OWL + "hasValue" in node:
        return owl.DataHasValue(owl.DataProperty(iri), literal_of(node[owl.OWL + "hasValue"]))
    for key, value in node.items():
        match = re.fullmatch(
            re.escape(owl.OWL) + r"(min|max)?(?:Qualified|qualified)?[cC]ardinality", key
        )
        if match:
            of_role, of_data = _CARDINALITIES[match[1] or ""]
            n = int(literal_of(value).lexical)
            if owl.OWL + "onDataRange" in node:
                return of_data(
                    n, owl.DataProperty(iri), _range(node[owl.OWL + "onDataRange"], graph)
                )
            if owl.OWL + "onClass" in node:
                return of_role(n, role, _expression(node[owl.OWL + "onClass"], graph))
            # An unqualified one does not say whether its property has objects or data: objects, as
            # the text reads the same.
            return of_role(n, role, owl.THING)
    raise ValueError(node)


def _is_range(term: str, graph: Mapping[str, dict[str, str]]) -> bool:
    if NODE.match(term):
        return graph[term].get(owl.RDF + "type") == f"<{owl.RDFS}Datatype>"
    return term_of(term).startswith(owl.XSD) or term_of(term) in (
        owl.TOP_DATATYPE.iri,
        owl.RDF + "PlainLiteral",
        owl.RDF + "langString",
    )


def _range(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    if not NODE.match(term):
        return owl.Datatype(term_of(term))
    node = graph[term]
    make: Any
    for name, make in (("intersectionOf", owl.DataIntersectionOf), ("unionOf", owl.DataUnionOf)):
        if owl.OWL + name in node:
            return make(tuple(_range(m, graph) for m in _list(node[owl.OWL + name], graph)))
    if owl.OWL + "datatypeComplementOf" in node:
        return owl.DataComplementOf(_range(node[owl.OWL + "datatypeComplementOf"], graph))
    if owl.OWL + "oneOf" in node:
        return owl.DataOneOf(tuple(literal_of(m) for m in _list(node[owl.OWL + "oneOf"], graph)))
    facets = [
        next(iter(graph[m].items())) for m in _list(node[owl.OWL + "withRestrictions"], graph)
    ]
    return owl.DatatypeRestriction(
        owl.Datatype(term_of(node[owl.OWL + "onDatatype"])),
        tuple((facet, literal_of(value)) for facet, value in facets),
    )


def _list(term: str, graph: Mapping[str, dict[str, str]]) -> Iterator[str]:
    while term != f"<{owl.RDF}nil>":
        yield graph[term][owl.RDF + "first"]
        term = graph[term][owl.RDF + "rest"]

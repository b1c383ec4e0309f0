"""Parse the axioms and assertions in a JSON answer: the inverse of `shiq.functional.axiom_text` and
`shiq.model.ntriples.assertion_lines`.

Only for texts that these have written; of anything else what cannot be read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from shiq import model as owl
from shiq.answers.result import Conflict
from shiq.errors import ShiqError
from shiq.explanation import Labels, manchester, value_clause
from shiq.functional import parse_functional

TYPE, SAME, DIFFERENT = f"<{owl.RDF}type>", f"<{owl.OWL}sameAs>", f"<{owl.OWL}differentFrom>"

_LINE = re.compile(
    r'\s*(<[^>]*>|_:\S+)\s+(<[^>]*>)\s+(<[^>]*>|_:\S+|".*"(?:@[\w-]+|\^\^<[^>]*>)?)\s*\.\s*\Z',
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


class TripleLine(NamedTuple):
    """A triple whose parts are N-Triples terms."""

    subject: str
    predicate: str
    object: str


def read_line(text: str) -> TripleLine | None:
    """Split an N-Triples line into terms; None if it is not one."""
    match = _LINE.match(text)
    return TripleLine(match[1], match[2], match[3]) if match else None


def iri_or_node(text: str) -> str:
    """IRI without its brackets, or a blank node as it is."""
    return _unescape(text[1:-1]) if text.startswith("<") else text


def read_literal(text: str) -> owl.Literal:
    """Parse an N-Triples literal."""
    end = text.rindex('"')
    lexical, suffix = _unescape(text[1:end]), text[end + 1 :]
    if suffix.startswith("@"):
        return owl.Literal(lexical, owl.RDF + "langString", suffix[1:].lower())
    return owl.Literal(lexical, suffix[3:-1] if suffix else owl.XSD + "string")


def read_triple_assertion(line: TripleLine) -> owl.Assertion:
    """Read the assertion that a single triple states. For assertions of several triples see
    `read_structure`.
    """
    subject = iri_or_node(line.subject)
    if line.object.startswith('"'):
        return owl.DataPropertyAssertion(
            owl.DataProperty(iri_or_node(line.predicate)), subject, read_literal(line.object)
        )
    value = iri_or_node(line.object)
    if line.predicate == TYPE:
        return owl.ClassAssertion(owl.Class(value), subject)
    if line.predicate == SAME:
        return owl.SameIndividual(subject, value)
    if line.predicate == DIFFERENT:
        return owl.DifferentIndividuals(subject, value)
    return owl.ObjectPropertyAssertion(
        owl.ObjectProperty(iri_or_node(line.predicate)), subject, value
    )


@lru_cache(maxsize=65536)
def read_axiom(text: str) -> owl.Axiom | owl.Assertion | None:
    """Parse an axiom or assertion in functional syntax; None if it cannot be parsed."""
    try:
        reading = parse_functional(f"Ontology({text})", "axiom", "", verbatim=True)
    except ShiqError:
        return None
    found: list[owl.Axiom | owl.Assertion] = [*reading.tbox.axioms, *reading.abox]
    return found[0] if len(found) == 1 else None


def manchester_text(text: str, labels: Labels) -> str:
    """Convert an axiom from functional to Manchester syntax; unchanged if it cannot be parsed."""
    value = read_axiom(text)
    return text if value is None else manchester(value, labels)


def english_text(text: str, labels: Labels) -> str:
    """Convert an axiom in functional syntax to an English sentence; unchanged if it cannot be
    parsed.
    """
    value = read_axiom(text)
    return text if value is None else value_clause(value, labels)


def _unescape(text: str) -> str:
    """Replace the escapes of N-Triples by their characters."""
    return _ESCAPE.sub(_unescape_character, text) if "\\" in text else text


def _unescape_character(match: re.Match[str]) -> str:
    """Decode one escape sequence of N-Triples."""
    code = match[1]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _SHORT.get(code, code)


#: A node that `assertion_lines` made, and the assertion that it belongs to.
NODE = re.compile(r"_:n([0-9a-f]{24})\.\d+\Z")
_CARDINALITIES: dict[str, tuple[Any, Any]] = {
    "min": (owl.ObjectMinCardinality, owl.DataMinCardinality),
    "max": (owl.ObjectMaxCardinality, owl.DataMaxCardinality),
    "": (owl.ObjectExactCardinality, owl.DataExactCardinality),
}


def structure_id(line: TripleLine) -> str:
    """Id of the group of lines that state one assertion together; "" if ``line`` states one by
    itself.
    """
    match = NODE.match(line.subject) or NODE.match(line.object)
    return match[1] if match else ""


def read_conflict(raw: Mapping[str, Any]) -> Conflict:
    """Read a conflict from its JSON; assertions and axioms that cannot be parsed are left out."""
    axioms = (cast(owl.Axiom, value) for text in raw["axioms"] if (value := read_axiom(text)))
    return Conflict(
        read_assertions(raw["insertions"]),
        read_assertions(raw["base"]),
        tuple(axioms),
        raw.get("origin", "insertions"),
    )


def read_assertions(texts: Sequence[str]) -> tuple[owl.Assertion, ...]:
    """Parse the assertions that the lines ``texts`` state, in the order of their first lines."""
    found: dict[int, owl.Assertion] = {}
    together: dict[str, tuple[int, list[TripleLine]]] = {}
    for i, text in enumerate(texts):
        line = read_line(text)
        node = structure_id(line) if line else ""
        if line and node:
            together.setdefault(node, (i, []))[1].append(line)
        elif line:
            found[i] = read_triple_assertion(line)
    for i, lines in together.values():
        value = read_structure(lines)
        if value is not None:
            found[i] = value
    return tuple(found[i] for i in sorted(found))


def read_structure(lines: list[TripleLine]) -> owl.Assertion | None:
    """Read the assertion that several triples state together; None for an unknown form."""
    graph: dict[str, dict[str, str]] = {}
    for line in lines:
        graph.setdefault(line.subject, {})[iri_or_node(line.predicate)] = line.object
    try:
        return _parse_assertion(lines, graph)
    except (KeyError, ValueError, IndexError, TypeError):
        return None


def _parse_assertion(lines: list[TripleLine], graph: Mapping[str, dict[str, str]]) -> owl.Assertion:
    """Parse an assertion of several triples. ``lines``: its main ones; ``graph``: properties of
    each blank node.
    """
    for line in lines:
        if not NODE.match(line.subject):
            return owl.ClassAssertion(
                _parse_expression(line.object, graph), iri_or_node(line.subject)
            )
    node = next(of for of in graph.values() if owl.OWL + "sourceIndividual" in of)
    subject, property = (
        iri_or_node(node[owl.OWL + "sourceIndividual"]),
        iri_or_node(node[owl.OWL + "assertionProperty"]),
    )
    if owl.OWL + "targetValue" in node:
        return owl.NegativeDataPropertyAssertion(
            owl.DataProperty(property), subject, read_literal(node[owl.OWL + "targetValue"])
        )
    return owl.NegativeObjectPropertyAssertion(
        owl.ObjectProperty(property), subject, iri_or_node(node[owl.OWL + "targetIndividual"])
    )


def _parse_expression(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    """Parse the class expression that ``term`` stands for, an IRI or a blank node of ``graph``."""
    make: Any
    if not NODE.match(term):
        return owl.Class(iri_or_node(term))
    node = graph[term]
    for name, make in (
        ("intersectionOf", owl.ObjectIntersectionOf),
        ("unionOf", owl.ObjectUnionOf),
    ):
        if owl.OWL + name in node:
            return make(
                tuple(
                    _parse_expression(m, graph) for m in _list_members(node[owl.OWL + name], graph)
                )
            )
    if owl.OWL + "complementOf" in node:
        return owl.ObjectComplementOf(_parse_expression(node[owl.OWL + "complementOf"], graph))
    if owl.OWL + "oneOf" in node:
        return owl.ObjectOneOf(
            tuple(iri_or_node(m) for m in _list_members(node[owl.OWL + "oneOf"], graph))
        )
    return _parse_restriction(node, graph)


def _parse_restriction(node: Mapping[str, str], graph: Mapping[str, dict[str, str]]) -> Any:
    """Parse the OWL restriction with these properties of its blank node."""
    on = node[owl.OWL + "onProperty"]
    inverted = NODE.match(on) is not None
    iri = iri_or_node(graph[on][owl.OWL + "inverseOf"]) if inverted else iri_or_node(on)
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
            if not inverted and _is_data_range(filler, graph):
                return of_data(owl.DataProperty(iri), _parse_range(filler, graph))
            return of_role(role, _parse_expression(filler, graph))
    if owl.OWL + "hasSelf" in node:
        return owl.ObjectHasSelf(role)
    if owl.OWL + "hasValue" in node and not node[owl.OWL + "hasValue"].startswith('"'):
        return owl.ObjectHasValue(role, iri_or_node(node[owl.OWL + "hasValue"]))
    if owl.OWL + "hasValue" in node:
        return owl.DataHasValue(owl.DataProperty(iri), read_literal(node[owl.OWL + "hasValue"]))
    for key, value in node.items():
        match = re.fullmatch(
            re.escape(owl.OWL) + r"(min|max)?(?:Qualified|qualified)?[cC]ardinality", key
        )
        if match:
            of_role, of_data = _CARDINALITIES[match[1] or ""]
            n = int(read_literal(value).lexical)
            if owl.OWL + "onDataRange" in node:
                return of_data(
                    n, owl.DataProperty(iri), _parse_range(node[owl.OWL + "onDataRange"], graph)
                )
            if owl.OWL + "onClass" in node:
                return of_role(n, role, _parse_expression(node[owl.OWL + "onClass"], graph))
            # An unqualified one does not say whether its property has objects or data: objects, as
            # the text reads the same.
            return of_role(n, role, owl.THING)
    raise ValueError(node)


def _is_data_range(term: str, graph: Mapping[str, dict[str, str]]) -> bool:
    """Decide whether ``term`` stands for a data range."""
    if NODE.match(term):
        return graph[term].get(owl.RDF + "type") == f"<{owl.RDFS}Datatype>"
    return iri_or_node(term).startswith(owl.XSD) or iri_or_node(term) in (
        owl.TOP_DATATYPE.iri,
        owl.RDF + "PlainLiteral",
        owl.RDF + "langString",
    )


def _parse_range(term: str, graph: Mapping[str, dict[str, str]]) -> Any:
    """Parse the data range that ``term`` stands for, an IRI or a blank node of ``graph``."""
    if not NODE.match(term):
        return owl.Datatype(iri_or_node(term))
    node = graph[term]
    make: Any
    for name, make in (("intersectionOf", owl.DataIntersectionOf), ("unionOf", owl.DataUnionOf)):
        if owl.OWL + name in node:
            return make(
                tuple(_parse_range(m, graph) for m in _list_members(node[owl.OWL + name], graph))
            )
    if owl.OWL + "datatypeComplementOf" in node:
        return owl.DataComplementOf(_parse_range(node[owl.OWL + "datatypeComplementOf"], graph))
    if owl.OWL + "oneOf" in node:
        return owl.DataOneOf(
            tuple(read_literal(m) for m in _list_members(node[owl.OWL + "oneOf"], graph))
        )
    facets = [
        next(iter(graph[m].items()))
        for m in _list_members(node[owl.OWL + "withRestrictions"], graph)
    ]
    return owl.DatatypeRestriction(
        owl.Datatype(iri_or_node(node[owl.OWL + "onDatatype"])),
        tuple((facet, read_literal(value)) for facet, value in facets),
    )


def _list_members(term: str, graph: Mapping[str, dict[str, str]]) -> Iterator[str]:
    """Iterate over the members of the RDF list that begins at ``term``."""
    while term != f"<{owl.RDF}nil>":
        yield graph[term][owl.RDF + "first"]
        term = graph[term][owl.RDF + "rest"]

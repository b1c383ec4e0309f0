"""Parse the axioms and assertions in a JSON answer: the inverse of `shiq.functional.axiom_text` and
`shiq.model.ntriples.assertion_lines`.

Only for texts that these have written; of anything else what cannot be read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


def read_structure(lines: Sequence[TripleLine]) -> owl.Assertion | None:
    """Read the assertion that several triples state together; None for an unknown form."""
    # Loaded where an assertion takes several triples.
    from shiq.rdf.declarations import determine_kinds
    from shiq.rdf.expressions import Expressions
    from shiq.rdf.graph import VocabularyGraph
    from shiq.rdf.mapping import map_graph
    from shiq.vocabularies import VocabularyChoice

    graph = VocabularyGraph()
    try:
        for line in lines:
            value = read_literal(line.object) if line.object[0] == '"' else iri_or_node(line.object)
            graph.add(iri_or_node(line.subject), iri_or_node(line.predicate), value, 0)
    except ValueError:  # no character has such a number
        return None
    # The answer's own TBox may use a term of a known vocabulary otherwise.
    unknown = VocabularyChoice(is_enabled=False)
    kinds, _ = determine_kinds(graph, owl.Signature(), vocabulary=unknown)
    for predicate, property in zip(graph.predicates, graph.objects):
        # An unqualified cardinality does not say whether its property has objects or data: objects,
        # as the text reads the same.
        if predicate == owl.OWL + "onProperty" and not kinds.property_kind(str(property)):
            kinds.object_properties.add(str(property))
    mapped = map_graph(graph, kinds, Expressions(graph, kinds), lambda name: True, whole=False)
    return mapped.assertions[0].value if mapped.assertions else None

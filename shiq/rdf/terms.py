"""Terms of pyoxigraph as ours, and what of RDF 1.2 is refused."""

from __future__ import annotations

from collections.abc import Callable

import pyoxigraph as ox

from shiq.model import Literal
from shiq.rdf.triples import Labels, Triples

_NESTED = "a triple inside a triple: RDF 1.2 (RDF-star) is not supported"


class RefusedTermError(Exception):
    """A term that RDF 1.1 does not have."""


def quad_adder(triples: Triples, label: Labels) -> Callable[[ox.Quad, int], None]:
    """A function that adds a triple that pyoxigraph read, with its graph and line. It raises
    RefusedTermError, and then adds nothing.
    """
    ids, new, add = triples.ids, triples.id, triples.add_ids

    def resource(term: object) -> int:
        if isinstance(term, ox.NamedNode):
            value = term.value
        elif isinstance(term, ox.BlankNode):
            value = label(term.value)
        else:
            raise RefusedTermError(_NESTED)
        found = ids.get(value)
        return new(value) if found is None else found

    def add_quad(quad: ox.Quad, line: int) -> None:
        value = quad.object
        target = new(literal_of(value)) if isinstance(value, ox.Literal) else resource(value)
        name = quad.graph_name
        graph = -1 if isinstance(name, ox.DefaultGraph) else resource(name)
        add(resource(quad.subject), resource(quad.predicate), target, line, graph)

    return add_quad


def refuse_new_terms(quad: ox.Quad) -> None:
    """Raises RefusedTermError for a term that RDF 1.1 does not have."""
    if isinstance(quad.object, ox.Literal):
        literal_of(quad.object)
    elif not isinstance(quad.object, ox.NamedNode | ox.BlankNode):
        raise RefusedTermError(_NESTED)


def literal_of(value: ox.Literal) -> Literal:
    """The literal with its lexical form as written. Raises: RefusedTermError."""
    if value.direction is not None:
        raise RefusedTermError("a literal with a base direction: RDF 1.2 is not supported")
    if "\0" in value.value:
        raise RefusedTermError("a literal with the character U+0000")
    return Literal(value.value, value.datatype.value, (value.language or "").lower())

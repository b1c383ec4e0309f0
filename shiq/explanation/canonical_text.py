"""A canonical text of assertions, independent of the names of individuals and literals and of their
order.

It keeps classes, properties, datatypes of literals, and equalities between individuals or literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from shiq import model as owl
from shiq.model.canonical_graphs import canonical_order, node_positions
from shiq.model.ntriples import Node, assertion_triples, iri_term

#: A triple with numbers for its individuals and literals: (predicate, fixed class or datatype,
#: subject, object or -1).
Row: TypeAlias = tuple[str, str, int, int]


def number_triples(assertions: Iterable[owl.Assertion]) -> tuple[tuple[Row, ...], tuple[Node, ...]]:
    """Write assertions as triples in which individuals and literals are replaced by numbers.

    Returns: the rows, with individuals and literals numbered in the order of their first
        occurrence; and these nodes by number.
    """
    numbers: dict[Node, int] = {}
    rows: list[Row] = []
    for assertion in assertions:
        for subject, predicate, object in assertion_triples(assertion):
            s = numbers.setdefault(subject, len(numbers))
            if (
                predicate == _TYPE
                and not isinstance(object, owl.Literal)
                and not object.startswith("_:")
            ):
                rows.append((iri_term(predicate), iri_term(object), s, -1))
            else:
                o = numbers.setdefault(object, len(numbers))
                rows.append((iri_term(predicate), _datatype_suffix(object), s, o))
    return tuple(rows), tuple(numbers)


def canonicalise_rows(rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[int, ...]]:
    """Renumber and sort numbered triples, so that isomorphic ones become equal.

    Returns: the rows, and the new number of each individual or literal.
    """
    count = 1 + max((max(s, o) for _, _, s, o in rows), default=-1)
    place = node_positions(
        canonical_order(
            [0] * count, [((predicate, fixed), s, o) for predicate, fixed, s, o in rows]
        )
    )
    return tuple(
        sorted((p, fixed, place[s], place[o] if o >= 0 else -1) for p, fixed, s, o in rows)
    ), tuple(place)


def canonical_text(rows: Sequence[Row]) -> str:
    """Write numbered triples as text, one a line."""
    return "\n".join(
        f"{s} {predicate} {fixed}{f' {o}' if o >= 0 else ''}" for predicate, fixed, s, o in rows
    )


_TYPE = owl.RDF + "type"


def _datatype_suffix(node: Node) -> str:
    """Return the datatype of a literal as an N-Triples suffix, "@" for any language; "" for an
    individual.
    """
    if not isinstance(node, owl.Literal):
        return ""
    if node.language:
        return "@"
    return '""' if node.datatype == owl.XSD + "string" else f"^^{iri_term(node.datatype)}"

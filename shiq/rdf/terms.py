"""Convert terms: pyoxigraph's values, cells of tables, and relative IRIs to absolute ones. Terms of
RDF 1.2 are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Final, TypeAlias

import pyoxigraph as ox

from shiq.model import XSD, Literal
from shiq.model.ntriples import literal_term
from shiq.rdf.triples import Labels, Triples, shorten_text

_NESTED = "a triple inside a triple: RDF 1.2 (RDF-star) is not supported"


class RefusedTermError(Exception):
    """A term that RDF 1.1 does not have, or that is malformed."""


def quad_adder(triples: Triples, label: Labels) -> Callable[[ox.Quad, int], None]:
    """Make a function that adds a pyoxigraph quad to ``triples``, with its line.

    It raises RefusedTermError and then adds nothing.
    """
    ids, new, add = triples.ids, triples.id_of, triples.add_ids

    def resource_id(term: object) -> int:
        """Id of an IRI or blank node. Raises: RefusedTermError."""
        if isinstance(term, ox.NamedNode):
            value = term.value
        elif isinstance(term, ox.BlankNode):
            value = label(term.value)
        else:
            raise RefusedTermError(_NESTED)
        found = ids.get(value)
        return new(value) if found is None else found

    def add_quad(quad: ox.Quad, line: int) -> None:
        """Add a quad. Raises: RefusedTermError."""
        value = quad.object
        target = new(literal_of(value)) if isinstance(value, ox.Literal) else resource_id(value)
        name = quad.graph_name
        graph = -1 if isinstance(name, ox.DefaultGraph) else resource_id(name)
        add(resource_id(quad.subject), resource_id(quad.predicate), target, line, graph)

    return add_quad


def refuse_new_terms(quad: ox.Quad) -> None:
    """Refuse a quad that has a term of RDF 1.2. Raises: RefusedTermError."""
    if isinstance(quad.object, ox.Literal):
        literal_of(quad.object)
    elif not isinstance(quad.object, ox.NamedNode | ox.BlankNode):
        raise RefusedTermError(_NESTED)


def literal_of(value: ox.Literal) -> Literal:
    """Convert a pyoxigraph literal, with its lexical form as written. Raises: RefusedTermError."""
    if value.direction is not None:
        raise RefusedTermError("a literal with a base direction: RDF 1.2 is not supported")
    if "\0" in value.value:
        raise RefusedTermError("a literal with the character U+0000")
    return Literal(value.value, value.datatype.value, (value.language or "").lower())


_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")


def resolve_reference(base: str, reference: str) -> str:
    """Resolve ``reference`` against the absolute IRI ``base`` (RFC 3986, section 5.2).

    An absolute reference is returned unchanged. The result may still be an illegal IRI.

    Raises: ValueError for a relative reference with a colon in its first segment.
    """
    scheme, authority, path, query, fragment = _iri_parts(reference)
    if scheme is not None:
        if not _SCHEME.fullmatch(scheme):
            raise ValueError(f"{reference!r} begins with no scheme of IRIs")
        return reference
    if authority is None and ":" in path.partition("/")[0]:
        raise ValueError(f"{reference!r} has a colon in its first segment, and no scheme before it")
    base_scheme, base_authority, base_path, base_query, _ = _iri_parts(base)
    if authority is not None:
        path = _remove_dot_segments(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = base_query if query is None else query
        elif path.startswith("/"):
            path = _remove_dot_segments(path)
        elif base_authority is not None and not base_path:
            path = _remove_dot_segments("/" + path)
        else:
            path = _remove_dot_segments(base_path[: base_path.rfind("/") + 1] + path)
    if authority is None and path.startswith("//"):
        raise ValueError(f"{reference!r} leads to a path that would read as a host")
    begin = f"{base_scheme}:" + ("" if authority is None else f"//{authority}")
    return (
        begin
        + path
        + ("" if query is None else f"?{query}")
        + ("" if fragment is None else f"#{fragment}")
    )


def _iri_parts(text: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    """Scheme, authority, path, query and fragment of an IRI."""
    match = _PARTS.fullmatch(text)
    assert match is not None
    return match[1], match[2], match[3], match[4], match[5]


def _remove_dot_segments(path: str) -> str:
    """Remove the segments "." and ".." from ``path``."""
    found: list[str] = []
    segments = path.split("/")
    for at, segment in enumerate(segments):
        if segment == "..":
            if len(found) > 1 or (found and found[0]):
                found.pop()
        elif segment != ".":
            found.append(segment)
            continue
        if at == len(segments) - 1:
            found.append("")
    return "/".join(found)


COLUMNS: Final = ("s", "p", "o", "graph", "key")

#: A few rows: the values of each of `COLUMNS`, None where there is none.
Rows: TypeAlias = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class UnreadableValue:
    """Placeholder of a value in a table that Python cannot represent, with the reason."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def arrow_values(column: Any) -> list[Any]:
    """Return the values of an Arrow column as Python values; a placeholder for one that Python
    cannot hold, such as a year above 9999.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_python_value(value) for value in column]


def _python_value(value: Any) -> Any:
    """The Python value of an Arrow scalar; a placeholder if Python cannot hold it."""
    try:
        return value.as_py()
    except (ValueError, OverflowError) as error:
        return UnreadableValue(f"a value of type {value.type} that cannot be read: {error}")


def texts_of(values: Sequence[Any]) -> list[str | None]:
    """Return the values of a column as texts; None for a missing value."""
    return [
        value if value is None or isinstance(value, str) else _text_of(value) for value in values
    ]


def _text_of(value: Any) -> str | None:
    """Return the text of a table value; None for a missing one."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return (
        None if isinstance(value, float) and isnan(value) else str(value)
    )  # pandas has NaN for nothing


_RESOURCE = re.compile(r"<\S+>|_:\S+")
_LITERAL = re.compile(r'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"(?:\^\^<\S*>|@\S+)?')


def quad_line(s: str | None, p: str | None, o: str | None, graph: str | None = None) -> str:
    """Write a row (subject, predicate, object, graph) as a line of N-Quads. If a term is missing or
    is no single term, the line is malformed.
    """
    if (
        s is not None
        and p is not None
        and o is not None
        and _RESOURCE.fullmatch(s)
        and _RESOURCE.fullmatch(p)
    ):
        if (_LITERAL if o.startswith('"') else _RESOURCE).fullmatch(o):
            if not graph:
                return f"{s} {p} {o} ."
            if _RESOURCE.fullmatch(graph):
                return f"{s} {p} {o} {graph} ."
    return re.sub(r"[\r\n]", " ", f"? {s} {p} {o} {graph or ''} .")


_MARKED = re.compile(r'<\S+>|_:\S+|".*"(?:\^\^<\S*>|@\S+)?', re.DOTALL)
_BARE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')


def add_syntax_to_rows(rows: Rows) -> Rows:
    """Add the syntax of N-Triples to bare terms: angle brackets to an absolute IRI, quotes to a
    plain literal in the column o.
    """
    return [
        *(
            [_add_term_syntax(text, i == 2) for text in texts_of(column)]
            for i, column in enumerate(rows[:4])
        ),
        rows[4],
    ]


def _add_term_syntax(text: str | None, is_value: bool) -> str | None:
    """Add the syntax of N-Triples to a bare IRI or, if ``is_value``, to a plain literal."""
    if not text or _MARKED.fullmatch(text):
        return text
    if _BARE_IRI.fullmatch(text):
        return f"<{text}>"
    return literal_term(Literal(text, XSD + "string")) if is_value else text


def term_problem(terms: Sequence[str | None]) -> str:
    """Explain why the terms of a row form no triple; "" if each is a term."""
    for name, term in zip(COLUMNS, terms):
        if not term and name != "graph":
            return f"a row without {name}"
        pattern = _LITERAL if name == "o" and term and term.startswith('"') else _RESOURCE
        if term and not pattern.fullmatch(term):
            return f"{name} is not one N-Triples term: {shorten_text(term)!r}"
    return ""

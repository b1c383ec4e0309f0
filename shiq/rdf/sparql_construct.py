"""Rewrite a CONSTRUCT query so that its triples can be counted and fetched page by page.

SPARQL pages solutions, and not the triples of a CONSTRUCT query. So its template becomes a query of
its own: each distinct row (?s, ?p, ?o) is a triple that the query constructs. These rows have an
order that no two of them share (STR of the terms, language, datatype), but for blank nodes.

Source: W3C, SPARQL 1.1 Query, sections 15 and 16.2.

>>> query = read_construct("CONSTRUCT { ?x a <urn:A> } WHERE { ?x <urn:p> 1 }")
>>> query.rows  # doctest: +NORMALIZE_WHITESPACE
'SELECT DISTINCT ?row_s ?row_p ?row_o WHERE { { ?x <urn:p> 1 }
  BIND(?x AS ?row_s) BIND(<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> AS ?row_p) BIND(<urn:A> AS ?row_o)
  FILTER(!isLiteral(?row_s) && isIRI(?row_p) && BOUND(?row_o)) }'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyoxigraph as ox

from shiq.errors import UsageError
from shiq.rdf.sparql_tokens import blank_out, tokens

#: The query for all triples of the default graph.
ALL_TRIPLES: Final = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
_VARIABLE: Final = re.compile(r"[?$](\w+)")
#: What stands for a variable where a template is read as Turtle.
_PLACEHOLDER: Final = "urn:x-shiq-variable:"
_REMEDY: Final = "Give CONSTRUCT { … } WHERE { … }, with PREFIX, BASE and FROM; all else goes into a sub-select: { SELECT … }."


@dataclass(frozen=True, slots=True)
class TripleQuery:
    """A CONSTRUCT query in the form of a select query for its distinct triples.

    prologue, dataset: prefixes and base; FROM clauses.
    rows: the select query, for a variable each of subject, predicate and object.
    mark: what the names of these and of other variables begin with.
    """

    prologue: str
    dataset: str
    rows: str
    mark: str

    @property
    def count(self) -> str:
        """Query for the number of triples (?n), and for how many of them have a blank node
        (?blank).
        """
        s, o = f"?{self.mark}s", f"?{self.mark}o"
        return (
            f"{self.prologue} SELECT (COUNT(*) AS ?n) "
            f"(SUM(IF(isBlank({s}) || isBlank({o}), 1, 0)) AS ?blank) {self.dataset} "
            f"WHERE {{ {self.rows} }}"
        )

    def page(self, limit: int = 0, offset: int = 0) -> str:
        """Return the query for ``limit`` triples after the first ``offset``; for all triples if
        ``limit`` is 0.
        """
        s, p, o = (f"?{self.mark}{name}" for name in "spo")
        order = (
            f"ORDER BY STR({s}) STR({p}) isLiteral({o}) STR({o}) LANG({o}) STR(DATATYPE({o})) "
            f"LIMIT {limit} OFFSET {offset}"
        )
        return (
            f"{self.prologue} CONSTRUCT {{ {s} {p} {o} }} {self.dataset} "
            f"WHERE {{ {self.rows} {order if limit else ''} }}"
        )


def read_construct(text: str) -> TripleQuery:
    """Parse a CONSTRUCT query.

    Raises: UsageError for other queries, for solution modifiers, and for blank nodes in the
    template, which differ in each solution.
    """
    found = tokens(text)
    prologue, word = _text_before(found, "construct")
    if not word:
        raise UsageError(f"the query constructs no triples: {text.strip()[:60]!r}", _REMEDY)
    between, _ = _text_before(found, "{")
    template = _block_text(found)
    if between.strip():  # the short form: its pattern is the template
        dataset, group = between, template
    else:
        dataset, _ = _text_before(found, "{")
        group = _block_text(found)
    dataset = re.sub(r"\bWHERE\s*\Z", "", dataset.strip(), flags=re.IGNORECASE)
    tail = "".join(
        blank_out(piece) if kind == "space" else piece for kind, piece, _ in found
    ).strip()
    if tail or not re.fullmatch(r"(?:FROM\b.*)?", dataset, re.I | re.S):
        raise UsageError(
            f"the query has what is not read here: {(tail or dataset)[:60]!r}",
            _REMEDY,
        )
    mark = "row_"
    while mark in text:
        mark += "_"
    triples = _template_triples(prologue, template)
    return TripleQuery(prologue.strip(), dataset, _select_query(group.strip(), triples, mark), mark)


def _text_before(found: Iterator[tuple[str, str, int]], end: str) -> tuple[str, str]:
    """Return the text before the word or brace ``end``, and that word; the word is empty if it does
    not occur.
    """
    parts: list[str] = []
    for kind, piece, _ in found:
        if piece.lower() == end:
            return "".join(parts), end
        parts.append(blank_out(piece) if kind == "space" else piece)
    return "".join(parts), ""


def _block_text(found: Iterable[tuple[str, str, int]]) -> str:
    """Return the text of a block up to its closing brace. Raises: UsageError."""
    depth, parts = 1, list[str]()
    for kind, piece, _ in found:
        depth += (kind == "open") - (kind == "close")
        if not depth:
            return "".join(parts)
        parts.append(blank_out(piece) if kind == "space" else piece)
    raise UsageError("the query has no block { … } that is closed", _REMEDY)


def _template_triples(prologue: str, template: str) -> list[tuple[str, str, str]]:
    """Parse the triples of a template, as SPARQL terms. Raises: UsageError."""
    text = "".join(
        piece if kind == "text" else _VARIABLE.sub(rf"<{_PLACEHOLDER}\1>", piece)
        for kind, piece, _ in tokens(template)
    )
    try:
        quads = list(ox.parse(input=f"{prologue}\n{{ {text} }}".encode(), format=ox.RdfFormat.TRIG))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the template of the query cannot be read: {error}", _REMEDY) from error
    terms = list(chain.from_iterable((q.subject, q.predicate, q.object) for q in quads))
    if not terms or any(isinstance(term, ox.BlankNode) for term in terms):
        raise UsageError(
            "the template of the query has "
            + ("blank nodes, which are new ones each time" if terms else "no triple"),
            "Give it triples of IRIs, literals and variables.",
        )
    names = [re.sub(rf"<{_PLACEHOLDER}(\w+)>", r"?\1", str(term)) for term in terms]
    return list(zip(names[::3], names[1::3], names[2::3]))


def _select_query(group: str, triples: list[tuple[str, str, str]], mark: str) -> str:
    """Write the select query for the triples of a template. With several triples, the variable ?i
    selects one of them.
    """
    number = f"?{mark}i"
    values = " ".join(map(str, range(len(triples))))
    numbers = f"VALUES {number} {{ {values} }} " if len(triples) > 1 else ""
    binds = []
    for name, terms in zip("spo", zip(*triples)):
        chosen = terms[-1]
        for i in reversed(range(len(terms) - 1)):
            chosen = f"IF({number} = {i}, {terms[i]}, {chosen})"
        binds.append(f"BIND({chosen} AS ?{mark}{name})")
    s, p, o = (f"?{mark}{name}" for name in "spo")
    return (
        f"SELECT DISTINCT {s} {p} {o} WHERE {{ {{ {group} }} {numbers}{' '.join(binds)} "
        f"FILTER(!isLiteral({s}) && isIRI({p}) && BOUND({o})) }}"
    )

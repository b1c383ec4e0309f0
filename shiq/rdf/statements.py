"""The triples of a source one by one, as N-Quads: for what sorts statements instead of
interpreting them.

Read as everywhere else, so whatever is refused or told there is refused or told here: formats,
archives, limits, contexts.
"""

from __future__ import annotations

from dataclasses import dataclass

from shiq.catalog import Catalog
from shiq.errors import UsageError
from shiq.rdf.load import load
from shiq.rdf.triples import shown
from shiq.sources import ObjectSource, source_of
from shiq.verdict import Leftover


@dataclass(frozen=True, slots=True)
class Statement:
    """N-Triples terms; ``graph`` is "" for the default graph; ``line``, ``key`` and ``column``:
    see `shiq.reading.Place`.
    """

    subject: str
    predicate: str
    object: str
    graph: str = ""
    line: int = 0
    key: str = ""
    column: str = ""

    @property
    def text(self) -> str:
        """The line of N-Quads that says it."""
        return " ".join(
            part for part in (self.subject, self.predicate, self.object, self.graph, ".") if part
        )


def read_statements(
    value: object, *, catalog: Catalog | None = None
) -> tuple[list[Statement], tuple[Leftover, ...]]:
    """The statements of a file or table in the order in which they stand, and what of it is no
    triple, however many lines, each whole. Blank nodes are named ``_:b0.label``, always in the
    same way. Imports are not followed.

    Raises: InputError; UsageError for functional syntax and values of our own, which are no
    triples.
    """
    source = source_of(value)
    if isinstance(source, ObjectSource):
        raise UsageError(f"a {source.name} is not read triple by triple", "Give a file or a table.")
    loaded = load([value], "b", None, catalog, follow=False)
    if loaded.axioms or loaded.assertions or loaded.apart:
        raise UsageError(
            f"{source.name} is no RDF, and not read triple by triple", "Convert it to Turtle."
        )
    triples = loaded.triples
    rows = range(len(triples))
    terms = [shown(term) for term in triples.terms]
    columns, key = zip(triples.subject, triples.predicate, triples.object), triples.keys.get
    found = [
        Statement(
            terms[s],
            terms[p],
            terms[o],
            triples.graph_of(row),
            triples.line[row],
            key(row, ""),
            triples.columns_of(row),
        )
        for row, (s, p, o) in zip(rows, columns)
    ]
    summed = {id(leftover) for told, _ in loaded.whole for leftover in told}
    others = (leftover for leftover in loaded.leftovers if id(leftover) not in summed)
    return found, (*others, *(leftover for _, each in loaded.whole for leftover in each))

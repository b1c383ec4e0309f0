"""Parsed assertions as plain rows of terms, one assertion each, that know of no store.

``kind`` is `CLASS` (s, p: class), `ROLE` (s, p: property, o) or `DATA` (s, p, o with datatype and language); ``graph`` the named
graph (an N-Triples term), ``key`` what the caller calls the row, "" where nothing; ``line`` counts in what was parsed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.model import Literal
from shiq.rdf.bulk import Bulk, Rows
from shiq.rdf.ranges import ParsedRange
from shiq.rdf.triples import column

CLASS, ROLE, DATA = "class", "role", "data"
_PIECE = 1 << 17


def assertion_rows(parsed: ParsedRange, bulk: Bulk) -> pa.Table:
    """The assertions that ``bulk`` has of ``parsed``."""
    triples, terms = parsed.triples, parsed.triples.terms
    rows = np.concatenate([bulk.classes, bulk.roles, bulk.data])
    counts = (len(bulk.classes), len(bulk.roles), len(bulk.data))
    kinds = np.repeat(np.arange(3), counts)
    ids = (triples.subject, triples.predicate, triples.object)
    subjects, predicates, values = (column(c)[rows].astype(np.int64) for c in ids)
    texts = pa.array([*(t.lexical if isinstance(t, Literal) else t for t in terms), ""], pa.string())
    nothing = len(terms)
    # Most data has few literals: their parts are taken of the distinct ones.
    used, place = np.unique(np.where(kinds == 2, values, nothing), return_inverse=True)
    literals = [terms[i] if i < nothing else None for i in used.tolist()]
    columns = {
        "kind": _taken([CLASS, ROLE, DATA], kinds),
        "s": _taken(texts, subjects),
        "p": _taken(texts, np.where(kinds == 0, values, predicates)),
        "o": _taken(texts, np.where(kinds == 0, nothing, values)),
        "datatype": _taken([getattr(x, "datatype", "") for x in literals], place),
        "language": _taken([getattr(x, "language", "") for x in literals], place),
    }
    given = rows.tolist()
    columns["key"] = pa.array([triples.keys.get(row, "") for row in given] if triples.keys else [""] * len(rows), pa.string())
    columns["graph"] = pa.array([triples.graph_of(row) for row in given] if triples.graph else [""] * len(rows), pa.string())
    columns["line"] = pa.array(column(triples.line)[rows].astype(np.int64))
    return pa.table(columns)


def _taken(texts: pa.Array | list[str], ids: Rows) -> pa.ChunkedArray:
    """The text of each id, in pieces: one array holds 2 GB at most."""
    values = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
    return pa.chunked_array([values.take(pa.array(ids[at : at + _PIECE])) for at in range(0, len(ids), _PIECE)], pa.string())

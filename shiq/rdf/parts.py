"""Parts of a source that were parsed away from this process, put together to what reading the
source in one piece gives.

Parsing is what costs in reading lines, and each line is parsed by itself. So tasks elsewhere may
parse ranges of a source (`shiq.rdf.ranges`) into columns over terms of their own. Here the terms
are numbered anew, and the lines counted on; everything later (vocabulary, axioms among data,
leftovers, places) sees one source, as if it had been read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shiq.errors import InputError
from shiq.model import Literal
from shiq.rdf.ranges import ParsedRange
from shiq.rdf.triples import BLANK, IRI, LITERAL, Rejects, Triples, column

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ParsedPart:
    """A parsed range, ready to be sent. ``iris``, ``blank`` (labels, without a scope) and
    ``literals`` are its terms, numbered in that order by the columns; ``rejected``: the lines
    that are no triples, of which ``unsure`` do not even look like one; ``marks``: see
    `Triples.column_marks`; ``error``: why the source cannot be used at all, and what to do.
    """

    lines: int = 0
    iris: list[str] = field(default_factory=list)
    blank: list[str] = field(default_factory=list)
    literals: list[tuple[str, str, str]] = field(default_factory=list)
    columns: tuple[bytes, ...] = (b"",) * 5
    keys: dict[int, str] = field(default_factory=dict)
    rejected: list[tuple[str, int, str, str]] = field(default_factory=list)
    unsure: int = 0
    marks: list[tuple[int, str]] = field(default_factory=list)
    error: tuple[str, str] | None = None


def part_of(parsed: ParsedRange) -> ParsedPart:
    """What was parsed with the scope ""."""
    triples, rejects = parsed.triples, parsed.rejects
    kinds = np.frombuffer(bytes(triples.kinds), np.uint8)
    number = np.empty(len(kinds), np.int32)
    number[np.argsort(kinds, kind="stable")] = np.arange(len(kinds), dtype=np.int32)
    terms = triples.terms
    by_kind = {kind: (kinds == kind).nonzero()[0].tolist() for kind in (IRI, BLANK, LITERAL)}
    literals = [value for i in by_kind[LITERAL] if isinstance(value := terms[i], Literal)]
    graph = column(triples.graph)
    columns = (
        *(
            number[column(ids)].tobytes()
            for ids in (triples.subject, triples.predicate, triples.object)
        ),
        triples.line.tobytes(),
        np.where(graph < 0, np.int32(-1), number[graph]).astype(np.int32).tobytes()
        if len(graph)
        else b"",
    )
    return ParsedPart(
        parsed.lines,
        [str(terms[i]) for i in by_kind[IRI]],
        [str(terms[i]).removeprefix("_:.") for i in by_kind[BLANK]],
        [(x.lexical, x.datatype, x.language) for x in literals],
        columns,
        triples.keys,
        [(x.message, x.line, x.text, x.hint) for x in rejects.whole] if rejects.total else [],
        rejects.unsure,
        triples.column_marks,
    )


def read_parts(
    parts: Iterable[ParsedPart],
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Put the ``parts`` of one source, in their order, into ``triples``; broken lines become
    ``rejects``.

    Raises: InputError where a part says so.
    """
    before, begun = 0, len(triples)
    for part in parts:
        if part.error is not None:
            raise InputError(*part.error)
        _add(part, triples, scope, before)
        for message, line, text, hint in part.rejected:
            rejects.add(message, line + before if line else 0, text, hint)
        rejects.unsure += part.unsure
        before += part.lines
        if progress is not None:
            progress(rejects.source, len(triples) - begun)


def _add(part: ParsedPart, triples: Triples, scope: str, before: int) -> None:
    names = triples.new_names(part.iris) if part.iris else []
    blank = [triples.id(f"_:{scope}.{label}") for label in part.blank]
    literals = [triples.id(Literal(*parts)) for parts in part.literals]
    number = np.array([*names, *blank, *literals], np.int32)
    *terms, lines, graphs = part.columns
    graph = np.frombuffer(graphs, np.int32)
    if len(graph):
        triples.add_graphs(np.where(graph < 0, np.int32(-1), number[graph]).tolist())
    begun = len(triples)
    for ids, own in zip((triples.subject, triples.predicate, triples.object), terms):
        ids.frombytes(number[np.frombuffer(own, np.int32)].tobytes())
    line = np.frombuffer(lines, np.uint32)
    triples.line.frombytes(
        np.where(line > 0, line + np.uint32(before), line).astype(np.uint32).tobytes()
    )
    triples.add_column_marks(begun, part.marks)
    triples.keys.update((begun + row, key) for row, key in part.keys.items())

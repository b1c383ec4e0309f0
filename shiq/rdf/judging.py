"""What ranges of sources say, judged by a vocabulary one by one; and the one account of all of
them, as of a source in one piece.

A range is judged by itself but for what speaks of other triples (OWL vocabulary among
assertions) and for classes and properties that are individuals too: these it tells, and whoever
reads all ranges knows what to make of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge

import numpy as np

from shiq.errors import InputError
from shiq.model import Signature
from shiq.rdf.accounts import one_by_one
from shiq.rdf.bulk import Bulk, graph_rows, individuals_of, resolve
from shiq.rdf.ranges import ParsedRange
from shiq.rdf.triples import MOST_SHOWN, Term, Triples, column
from shiq.rdf.vocabulary import BUILT_IN_DATA, BUILT_IN_OBJECT
from shiq.verdict import IN_DATA, LIKE_OTHERS, Leftover


def entities_of(known: Signature) -> frozenset[str]:
    return (
        known.classes
        | known.object_properties
        | known.data_properties
        | known.annotation_properties
        | known.datatypes
    )


@dataclass(frozen=True)
class Judging:
    """What a range is judged by: the vocabulary; names of ontologies, and of axioms that are
    nodes (see `resolve`); the names that are ``asked`` for as individuals, and those of them
    that are; whether ill-typed data assertions are set ``aside``.
    """

    known: Signature
    headers: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()
    aside: bool = False


@dataclass
class RangeReport:
    """What is told of a range: its lines and triples; how many lines were rejected (``unsure``:
    those that do not even look like a triple), of which some are shown; the other leftovers; the
    ledger of its triples; ``rare``: triples that speak of others, with their lines and graphs;
    ``typed``: the names that were asked for and are individuals here; ``error``: why the source
    cannot be used at all, and what to do. Lines are those of the range until `located`.
    """

    source: str
    scope: str
    number: int = 0
    lines: int = 0
    triples: int = 0
    rejected: int = 0
    unsure: int = 0
    rejects: list[Leftover] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    rare: list[tuple[str, str, Term, int, str]] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)
    error: tuple[str, str] | None = None


# --- one range ------------------------------------------------------------------------------------


def survey(parsed: ParsedRange, judging: Judging, report: RangeReport) -> None:
    """Tells ``report`` what there is, before it is judged."""
    triples, rejects = parsed.triples, parsed.rejects
    report.lines, report.triples = parsed.lines, len(triples)
    report.rejected, report.unsure, report.rejects = rejects.total, rejects.unsure, rejects.shown
    report.typed = _typed(triples, judging.asked)
    built_in = [
        i for name in BUILT_IN_OBJECT | BUILT_IN_DATA if (i := triples.ids.get(name)) is not None
    ]
    rows = np.union1d(
        graph_rows(triples), np.flatnonzero(np.isin(column(triples.predicate), built_in))
    )
    for row in rows.tolist():
        subject, predicate, value = (
            triples.terms[c[row]] for c in (triples.subject, triples.predicate, triples.object)
        )
        graph = triples.graph[row] if row < len(triples.graph) else -1
        name = str(triples.terms[graph]) if graph >= 0 else ""
        report.rare.append((str(subject), str(predicate), value, triples.line[row], name))


def _typed(triples: Triples, asked: Collection[str]) -> set[str]:
    """The individuals among the ``asked`` names."""
    ids = [i for i in map(triples.ids.get, asked) if i is not None]
    return (
        individuals_of(triples) & set(asked)
        if np.isin(column(triples.subject), ids).any()
        else set()
    )


def judge(
    parsed: ParsedRange, judging: Judging, report: RangeReport, *, most_aside: int | None = None
) -> Bulk:
    """The assertions in a range, as rows of its triples. Of ill-typed ones that are set aside
    ``most_aside`` are told one by one, and the others counted.
    """
    triples = parsed.triples
    bulk = resolve(
        triples,
        judging.known,
        headers=judging.headers,
        nodes=judging.nodes,
        individuals=lambda: judging.typed,
        counted=len(triples),
    )
    report.leftovers, report.ledger = [*bulk.leftovers], bulk.ledger
    if judging.aside:
        from shiq.rdf.ill_typed import take_ill_typed

        take_ill_typed(triples, bulk)
        shown = bulk.ill_typed[:most_aside]
        report.leftovers += [_ill_typed(triples, row) for row in shown]
        if more := len(bulk.ill_typed) - len(shown):
            report.leftovers.append(
                Leftover(
                    "ill-typed", "more ill-typed literals were set aside", report.source, count=more
                )
            )
    return bulk


def _ill_typed(triples: Triples, row: int) -> Leftover:
    return triples.leftover("ill-typed", "an ill-typed literal was set aside", row)


#: Parts of what ranges leave out: broken lines, triples that are no assertions, ill-typed
#: assertions that are set aside.
LEFT_OUT = ("lines", "triples", "ill-typed")


def left_out(parsed: ParsedRange, bulk: Bulk) -> tuple[Iterator[Leftover], ...]:
    """Each line and triple of a judged range that is left out, as it stands, by the parts
    `LEFT_OUT`, by line. What is said with a name that the TBox does not know is in A.
    """
    triples = parsed.triples
    groups = [
        one_by_one(triples, leftover) for leftover in bulk.leftovers if leftover.kind not in IN_DATA
    ]
    ill_typed = (
        found for row in bulk.ill_typed for found in one_by_one(triples, _ill_typed(triples, row))
    )
    return iter(parsed.rejects.whole), merge(*groups, key=lambda leftover: leftover.line), ill_typed


# --- all ranges -----------------------------------------------------------------------------------


def first_lines(reports: Sequence[RangeReport]) -> list[int]:
    """How many lines of its source stand before each range; the ranges of a source come in order."""
    before: Counter[str] = Counter()
    found = []
    for report in reports:
        found.append(before[report.scope])
        before[report.scope] += report.lines
    return found


def located(reports: Sequence[RangeReport]) -> list[RangeReport]:
    """``reports`` with the lines of their sources."""
    return [
        replace(
            report,
            rejects=[moved(leftover, first) for leftover in report.rejects],
            leftovers=[moved(leftover, first) for leftover in report.leftovers],
            rare=[(s, p, o, line + first, graph) for s, p, o, line, graph in report.rare],
        )
        for report, first in zip(reports, first_lines(reports))
    ]


def moved(leftover: Leftover, lines: int) -> Leftover:
    """A leftover of a range, ``lines`` of its source standing before that."""
    return replace(leftover, line=leftover.line + lines) if leftover.line and lines else leftover


def rejects_of(reports: Collection[RangeReport]) -> tuple[list[Leftover], int]:
    """The broken lines of one source, of which at most `MOST_SHOWN` are shown, and how many
    there are.
    """
    total = sum(report.rejected for report in reports)
    found = sorted(
        (leftover for report in reports for leftover in report.rejects), key=lambda x: x.line
    )
    shown = found[:MOST_SHOWN]
    if total > len(shown):
        more = f"{total - len(shown)} more lines {LIKE_OTHERS}"
        shown.append(Leftover("malformed", more, shown[0].source, count=total - len(shown)))
    return shown, total


def refuse_no_triples(reports: Collection[RangeReport], why: str = "") -> None:
    """Raises: InputError for a file of which no line looks like a triple; ``reports`` are of
    this one.
    """
    total = sum(report.rejected for report in reports)
    if total and sum(x.unsure for x in reports) == total and not any(x.triples for x in reports):
        source = next(iter(reports)).source
        raise InputError(
            f"{source} is not N-Triples or N-Quads: no line of it is a triple{why}",
            "Check the file and the format that its name stands for.",
        )


#: The order in which `shiq.rdf.bulk` tells of rows, by how a message begins.
_ORDER = (
    *(
        "the TBox does not know the class",
        "the TBox does not know the property",
        "the class",
        "the property",
    ),
    *("statements of", "the datatype", "", "there is no"),
)

_LAST = 1 << 62


def _place(leftover: Leftover) -> int:
    if leftover.kind == "ill-typed":
        return len(_ORDER)
    return next(i for i in (0, 1, 2, 3, 4, 5, 7, 6) if leftover.message.startswith(_ORDER[i]))


def is_of_unknown_property(leftover: Leftover) -> bool:
    return leftover.message.startswith(_ORDER[1])


def merged(reports: Sequence[RangeReport]) -> list[Leftover]:
    """The leftovers of all ranges but for broken lines, those about one name or ill-typed
    assertion in one, at the place where it was met first, in the order in which reading in one
    piece tells them.
    """
    told = [
        (_place(x), k, x.line or _LAST, x)
        for k, report in enumerate(reports)
        for x in report.leftovers
    ]
    found: dict[object, Leftover] = {}
    for _, _, _, leftover in sorted(told, key=lambda item: item[:3]):
        of = leftover.text if leftover.kind == "ill-typed" else ""
        before = found.get(key := (leftover.kind, leftover.message, of))
        found[key] = (
            leftover if before is None else replace(before, count=before.count + leftover.count)
        )
    return list(found.values())

"""Interpret a large source in ranges (consecutive lines), one by one, and merge their reports into
one.

A range is interpreted by itself, except for triples that concern other ranges (OWL vocabulary among
assertions, classes and properties that are individuals too). Its report lists these for the code
that reads all ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import cast

import numpy as np

from shiq.answers.verdict import IN_DATA, LIKE_OTHERS, Leftover
from shiq.errors import InputError
from shiq.model import Literal, Signature
from shiq.rdf.bulk_assertions import (
    RowsByKind,
    axiom_rows,
    sort_rows_by_kind,
    typed_individuals,
)
from shiq.rdf.ledger import expand_leftover
from shiq.rdf.source_ranges import ParsedRange
from shiq.rdf.triples import MOST_SHOWN, Term, Triples, numpy_view
from shiq.rdf.vocabulary import BUILT_IN_DATA, BUILT_IN_OBJECT


@dataclass(frozen=True)
class VocabularyContext:
    """Vocabulary of the TBox, and of the whole source, by which each range of lines is interpreted.

    headers, nodes: see `sort_rows_by_kind`
    queried_names: names that may be individuals
    typed_individuals: those of them that are
    drops_ill_typed: whether ill-typed data assertions are left out
    """

    signature: Signature
    headers: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    queried_names: frozenset[str] = frozenset()
    typed_individuals: frozenset[str] = frozenset()
    drops_ill_typed: bool = False


@dataclass
class RangeReport:
    """Report on one range (consecutive lines of a source): counts, malformed lines, leftovers.

    rejected_lines: number of malformed lines, of which ``rejects`` shows some
    unsure: malformed lines that do not even look like a triple
    cross_range_triples: triples that concern other ranges, with lines and graphs
    typed_individuals: queried names that are individuals here
    error: message and remedy if the source cannot be used at all

    Lines are counted in the range until `with_source_lines`.
    """

    source: str
    scope: str
    number: int = 0
    lines: int = 0
    triples: int = 0
    rejected_lines: int = 0
    unsure: int = 0
    rejects: list[Leftover] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    cross_range_triples: list[tuple[str, str, Term, int, str]] = field(default_factory=list)
    typed_individuals: set[str] = field(default_factory=set)
    error: tuple[str, str] | None = None


# --- one range ------------------------------------------------------------------------------------


def scan_range(parsed: ParsedRange, judging: VocabularyContext, report: RangeReport) -> None:
    """Fill ``report`` with what must be known of a range before it can be interpreted: counts, and
    triples that concern other ranges.
    """
    triples, rejects = parsed.triples, parsed.rejects
    report.lines, report.triples = parsed.lines, len(triples)
    report.rejected_lines, report.unsure, report.rejects = (
        rejects.total,
        rejects.unsure,
        rejects.examples,
    )
    report.typed_individuals = _typed_individuals(triples, judging.queried_names)
    built_in = [
        i for name in BUILT_IN_OBJECT | BUILT_IN_DATA if (i := triples.ids.get(name)) is not None
    ]
    rows = np.union1d(
        axiom_rows(triples), np.flatnonzero(np.isin(numpy_view(triples.predicate), built_in))
    )
    for row in rows.tolist():
        subject, predicate, value = (
            triples.terms[c[row]] for c in (triples.subject, triples.predicate, triples.object)
        )
        graph = triples.graph[row] if row < len(triples.graph) else -1
        name = str(triples.terms[graph]) if graph >= 0 else ""
        report.cross_range_triples.append(
            (str(subject), str(predicate), value, triples.line[row], name)
        )


def _typed_individuals(triples: Triples, asked: Collection[str]) -> set[str]:
    """Collect those of the names ``asked`` that are typed as members of a class here."""
    ids = [i for i in map(triples.ids.get, asked) if i is not None]
    return (
        typed_individuals(triples) & set(asked)
        if np.isin(numpy_view(triples.subject), ids).any()
        else set()
    )


def interpret_range(
    parsed: ParsedRange,
    judging: VocabularyContext,
    report: RangeReport,
    *,
    most_aside: int | None = None,
) -> RowsByKind:
    """Interpret the rows of a range as assertions, and add leftovers and counts to ``report``.

    Args:
    most_aside: number of ill-typed assertions that are reported one by one; the others are counted
    """
    triples = parsed.triples
    bulk = sort_rows_by_kind(
        triples,
        judging.signature,
        headers=judging.headers,
        nodes=judging.nodes,
        individuals=lambda: judging.typed_individuals,
        counted=len(triples),
    )
    report.leftovers, report.ledger = [*bulk.leftovers], bulk.ledger
    if judging.drops_ill_typed:
        separate_ill_typed(triples, bulk)
        shown = bulk.ill_typed[:most_aside]
        report.leftovers += [_ill_typed_leftover(triples, row) for row in shown]
        if more := len(bulk.ill_typed) - len(shown):
            report.leftovers.append(
                Leftover(
                    "ill-typed", "more ill-typed literals were set aside", report.source, count=more
                )
            )
    return bulk


def _ill_typed_leftover(triples: Triples, row: int) -> Leftover:
    """Make the leftover for one row with an ill-typed literal."""
    return triples.make_leftover("ill-typed", "an ill-typed literal was set aside", row)


#: Parts of what ranges leave out: broken lines, triples that are no assertions, ill-typed
#: assertions that are set aside.
LEFT_OUT = ("lines", "triples", "ill-typed")


def leftover_records(parsed: ParsedRange, bulk: RowsByKind) -> tuple[Iterator[Leftover], ...]:
    """Yield the unabridged leftovers of an interpreted range by line, in the three parts
    `LEFT_OUT`.

    Assertions with a name unknown to the TBox are in the ABox and not listed.
    """
    triples = parsed.triples
    groups = [
        expand_leftover(triples, leftover)
        for leftover in bulk.leftovers
        if leftover.kind not in IN_DATA
    ]
    ill_typed = (
        found
        for row in bulk.ill_typed
        for found in expand_leftover(triples, _ill_typed_leftover(triples, row))
    )
    return (
        iter(parsed.rejects.all_lines),
        merge(*groups, key=lambda leftover: leftover.line),
        ill_typed,
    )


# --- all ranges -----------------------------------------------------------------------------------


def line_offsets(reports: Sequence[RangeReport]) -> list[int]:
    """Return, for each report, the number of lines before its range in its source. Ranges of a
    source are in order.
    """
    before: Counter[str] = Counter()
    found = []
    for report in reports:
        found.append(before[report.scope])
        before[report.scope] += report.lines
    return found


def with_source_lines(reports: Sequence[RangeReport]) -> list[RangeReport]:
    """Return the reports with line numbers that count from the beginning of their source."""
    return [
        replace(
            report,
            rejects=[shift_lines(leftover, first) for leftover in report.rejects],
            leftovers=[shift_lines(leftover, first) for leftover in report.leftovers],
            cross_range_triples=[
                (s, p, o, line + first, graph)
                for s, p, o, line, graph in report.cross_range_triples
            ],
        )
        for report, first in zip(reports, line_offsets(reports))
    ]


def shift_lines(leftover: Leftover, lines: int) -> Leftover:
    """Add ``lines`` to the line number of a leftover."""
    return replace(leftover, line=leftover.line + lines) if leftover.line and lines else leftover


def merge_rejects(reports: Collection[RangeReport]) -> tuple[list[Leftover], int]:
    """Return the malformed lines of one source as leftovers, at most `MOST_SHOWN`, and their total
    number.
    """
    total = sum(report.rejected_lines for report in reports)
    found = sorted(
        (leftover for report in reports for leftover in report.rejects), key=lambda x: x.line
    )
    shown = found[:MOST_SHOWN]
    if total > len(shown):
        more = f"{total - len(shown)} more lines {LIKE_OTHERS}"
        shown.append(Leftover("malformed", more, shown[0].source, count=total - len(shown)))
    return shown, total


def refuse_if_no_triples(reports: Collection[RangeReport], why: str = "") -> None:
    """Refuse a file in which no line at all looks like a triple, by the reports on its ranges.
    Raises: InputError.
    """
    total = sum(report.rejected_lines for report in reports)
    if total and sum(x.unsure for x in reports) == total and not any(x.triples for x in reports):
        source = next(iter(reports)).source
        raise InputError(
            f"{source} is not N-Triples or N-Quads: no line of it is a triple{why}",
            "Check the file and the format that its name stands for.",
        )


#: The order in which `shiq.rdf.bulk_assertions` tells of rows, by how a message begins.
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


def _report_order(leftover: Leftover) -> int:
    """Return the position of a leftover's kind in the order of reports."""
    if leftover.kind == "ill-typed":
        return len(_ORDER)
    return next(i for i in (0, 1, 2, 3, 4, 5, 7, 6) if leftover.message.startswith(_ORDER[i]))


def is_about_unknown_property(leftover: Leftover) -> bool:
    """Decide whether a leftover reports a property that the TBox does not know."""
    return leftover.message.startswith(_ORDER[1])


def merge_leftovers(reports: Sequence[RangeReport]) -> list[Leftover]:
    """Merge the leftovers of all ranges, except malformed lines, into one for each name and kind.

    Leftovers on one name or ill-typed assertion become one, at its first place. The order is that
    of reading the source in one piece.
    """
    told = [
        (_report_order(x), k, x.line or _LAST, x)
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


def separate_ill_typed(triples: Triples, bulk: RowsByKind) -> None:
    """Move the data assertions with an ill-typed literal from the data rows of ``bulk`` to its list
    ``ill_typed``.
    """
    # Loaded where a range is read for its literals.
    from shiq.datatypes import DataTheory, IllTyped

    theory = DataTheory()
    values = numpy_view(triples.object)[bulk.data]
    bad = [
        i
        for i in np.unique(values).tolist()
        if isinstance(theory.value(cast(Literal, triples.terms[i])), IllTyped)
    ]
    gone = np.isin(values, np.array(bad, np.int64))
    bulk.ill_typed = bulk.data[gone].tolist()
    bulk.data = bulk.data[~gone]

"""A report as Markdown, for the summary of a build step or a message; its length is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from shiq.explanation import Labels
from shiq.jobs.pages import escape_and_cut
from shiq.jobs.reports.report import Report, ReportedConflict
from shiq.jobs.reports.statement_reader import manchester_text
from shiq.jobs.reports.words import (
    answer_word,
    headline,
    input_rows,
    next_steps,
    other_reasons,
    summary,
    tone,
)
from shiq.support import pluralize

#: Causes in the table, causes with a sample, rows of other tables, characters of one piece.
CAUSES: Final = 50
CAUSES_WITH_SAMPLE: Final = 10
ROWS: Final = 25
CHARACTERS: Final = 300

_MARKS: Final = {"good": "✅", "bad": "❌", "open": "⚠️"}
# What Markdown (with tables and autolinks), or HTML within it, could take for more than text.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$@:^=-]")
_TICKS = re.compile(r"`+")


def markdown(report: Report) -> str:
    """Render ``report`` as Markdown."""
    lines = [
        f"## {_MARKS[tone(report)]} {_escape_markdown(headline(report))}",
        "",
        f"**{_escape_markdown(answer_word(report))}** {_escape_markdown(summary(report))}",
        "",
    ]
    lines += (
        [*(f"* {_escape_markdown(part)}" for part in other_reasons(report)), ""]
        if other_reasons(report)
        else []
    )
    lines += [
        f"{i}. {_escape_markdown(s.text)}{f' {_code_span(s.command)}' if s.command else ''}"
        for i, s in enumerate(next_steps(report), 1)
    ]
    lines += (
        _causes_section(report)
        + _quarantine_section(report)
        + _leftovers_section(report)
        + _figures_section(report)
    )
    return "\n".join(lines).rstrip() + "\n"


def _causes_section(report: Report) -> list[str]:
    """Section about the causes of contradictions, as lines."""
    if not report.causes:
        return []
    rows = [
        (
            _escape_markdown(g.pattern.title or g.pattern.sentence),
            f"{len(g.conflicts):,}",
            _code_span(g.pattern.id),
        )
        for g in report.causes[:CAUSES]
    ]
    lines = [
        "",
        "### What contradicts what",
        "",
        *_table_lines(("cause", "contradictions", "pattern"), rows),
    ]
    lines += _more_lines(len(report.causes) - CAUSES, "cause")
    for g in report.causes[:CAUSES_WITH_SAMPLE]:
        lines += ["", f"#### {_escape_markdown(g.pattern.title or g.pattern.id)}", ""]
        lines += _sample_lines(report.conflict_at(g.conflicts[0]), report.labels)
    return lines


def _sample_lines(found: ReportedConflict, labels: Labels) -> list[str]:
    """Lines about one contradiction, as a sample of its cause."""
    lines = [_escape_markdown(found.sentence), ""]
    for title, facts in (("new", found.insertions), ("known", found.base)):
        lines += [
            f"* {title}: {_code_span(fact.text)}"
            + (f" at {_code_span(str(fact.places[0]))}" if fact.places else "")
            for fact in facts[:CAUSES_WITH_SAMPLE]
        ]
    return lines + [
        f"* rule: {_code_span(manchester_text(axiom, labels))}"
        for axiom in found.axioms[:CAUSES_WITH_SAMPLE]
    ]


def _quarantine_section(report: Report) -> list[str]:
    """Section about lines in quarantine, as lines."""
    lines = report.lines_with_own_reason
    if not lines:
        return []
    rows = [
        (_code_span(str(x.place)), _code_span(x.text), _escape_markdown(x.reason))
        for x in lines[:ROWS]
    ]
    return [
        *("", f"### Set aside: {pluralize(len(lines), 'line')}", ""),
        *_table_lines(("where", "what it says", "why"), rows),
        *_more_lines(len(lines) - ROWS, "line"),
    ]


def _leftovers_section(report: Report) -> list[str]:
    """Section about statements that were not understood, as lines."""
    if not report.leftovers:
        return []
    rows = [
        (
            _code_span(str(x.place)) if x.place.source else "",
            _escape_markdown(x.kind),
            _escape_markdown(x.message),
            f"{x.number:,}",
            _escape_markdown(x.hint),
        )
        for x in sorted(report.leftovers, key=lambda x: not x.blocks)[:ROWS]
    ]
    return [
        *("", "### What was not understood", ""),
        *_table_lines(("where", "kind", "what", "how often", "what to do"), rows),
        *_more_lines(len(report.leftovers) - ROWS, "row"),
    ]


def _figures_section(report: Report) -> list[str]:
    """Section about sizes and times, as lines."""
    s, e = report.statistics, report.evidence
    given = [
        f"{_escape_markdown(title)} {_code_span(which)}" for title, which in input_rows(report)
    ]
    seconds = sum(s.get("seconds", {}).values())
    said = f"{s.get('insertions', 0):,} inserted, {s.get('assertions', 0):,} known, {s.get('add_set', 0):,} looked at; "
    said += f"{seconds:,.1f} s; {e.get('criterion')}, {e.get('engine')}, {e.get('reasoner')}"
    if e.get("known"):
        said += f"; known: {', '.join(f'{n:,} {kind}' for kind, n in e['known'].items())}"
    return ["", "<sub>" + "; ".join([*given, _escape_markdown(said)]) + "</sub>"]


def _more_lines(n: int, what: str) -> list[str]:
    """Line that says how many more ``what`` there are; empty if none."""
    return ["", f"… and {pluralize(n, 'more ' + what)}."] if n > 0 else []


def _table_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Format a Markdown table, as lines."""
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _escape_markdown(text: str) -> str:
    """Escape text for Markdown. Special characters become entities, since some hosts ignore
    backslashes.
    """
    return _SPECIAL.sub(
        lambda match: match[0] if match[0] in "-:()=+" else f"&#{ord(match[0])};",
        escape_and_cut(text, CHARACTERS),
    )


def _code_span(text: str) -> str:
    """Format a Markdown code span that is also safe in a table: the fence is longer than any
    within, and a bar would end the cell.
    """
    shown = escape_and_cut(text, CHARACTERS).replace("|", "¦")
    fence = "`" * (max((len(ticks) for ticks in _TICKS.findall(shown)), default=0) + 1)
    space = " " if "`" in shown[:1] + shown[-1:] else ""
    return f"{fence}{space}{shown}{space}{fence}"

"""What a gate set aside or kept beside, what becomes one and the same, and what was not understood."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobs.pages import escaped
from jobs.reports.html.causes import shown
from jobs.reports.html.pieces import (
    ELSEWHERE,
    FACTS,
    ROWS,
    iris_in,
    narrow,
    said,
    section,
    short,
    term,
    with_names,
)
from jobs.reports.report import Leftovers, Report, ReportedLine
from jobs.reports.words import in_plain_words
from shiq.amounts import count
from shiq.explanation import Labels, manchester


def set_aside(report: Report) -> str:
    parts = [_lines(report, report.singled_out)] if report.singled_out else []
    if report.tolerated:
        parts.append(f"<h3>Kept beside by the policy</h3>{_lines(report, report.tolerated)}")
    return section("aside", "What was set aside", "".join(parts)) if parts else ""


def _lines(report: Report, lines: Sequence[ReportedLine]) -> str:
    at_hand = shown(report)
    rows = "".join(
        f'<tr><td{narrow(x.place)} data-title="line">{escaped(x.place)}</td><td>{said(x.text, report.labels)}</td>'
        f'<td data-title="why">{escaped(x.reason)}{_links(at_hand, x.conflicts)}</td></tr>'
        for x in lines[:ROWS]
    )
    hidden = len(lines) - ROWS
    more = (
        f'<p class="more">{hidden:,} more lines: {ELSEWHERE} has them all.</p>'
        if hidden > 0
        else ""
    )
    return (
        f"<p>{count(len(lines), 'line')} of the batch.</p>"
        '<div class="card scroll"><table class="stack"><thead><tr><th scope="col">file and line</th>'
        '<th scope="col">what it says</th><th scope="col">why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>"
    )


def _links(at_hand: Collection[int], numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    named = ", ".join(
        f'<a href="#c{n}">{n:,}</a>' if n in at_hand else f"{n:,}" for n in numbers[:10]
    ) + (" …" if len(numbers) > 10 else "")
    return f" ({named})"


def identities(report: Report) -> str:
    """What becomes equal by a batch: a slip in one number can merge two things for good."""
    if not report.identities:
        return ""
    labels = report.labels
    rows = "".join(
        f'<tr><td data-title="the same">{" = ".join(term(x, labels) for x in found["individuals"][:FACTS])}</td>'
        f'<td data-title="because of">{"<br>".join(said(x, labels) for x in found["insertions"][:FACTS])}</td>'
        f'<td data-title="and">{"<br>".join(said(x, labels) for x in found["base"][:FACTS])}</td>'
        f'<td data-title="rule">{"<br>".join(escaped(short(manchester(x, labels))) for x in found["axioms"][:FACTS])}</td></tr>'
        for found in report.identities[:ROWS]
    )
    hidden = len(report.identities) - ROWS
    more = f'<p class="more">{hidden:,} more: {ELSEWHERE} has them all.</p>' if hidden > 0 else ""
    return section(
        "same",
        "What becomes one and the same",
        "<p>By the rules and this batch, these names are names of one thing. If they are two things, something is wrong.</p>"
        '<div class="card scroll"><table class="stack"><thead><tr><th scope="col">the same</th><th scope="col">because of</th>'
        f'<th scope="col">and what was known</th><th scope="col">rule</th></tr></thead><tbody>{rows}</tbody></table>{more}</div>',
    )


def _leftover(left: Leftovers) -> str:
    """A row. Names are the ends of their IRIs, as they are spelt: a label would hide a slip in
    the spelling. What is malformed stands as it is.
    """
    names = Labels(terms=iris_in(f"{left.message} {left.hint} {left.text}"))
    line = (
        f"<code>{escaped(short(left.text))}</code>"
        if left.kind == "malformed"
        else said(left.text, names)
    )
    times = f" <span class=chip>× {left.number:,}</span>" if left.number > 1 else ""
    return (
        f'<tr><td{narrow(left.place)} data-title="where">{escaped(left.place)}</td>'
        f"<td>{with_names(in_plain_words(left.message), names)}{times}{f'<br>{line}' if left.text else ''}</td>"
        f'<td data-title="what to do">{with_names(in_plain_words(left.hint), names)}</td>'
        f'<td class="narrow" data-title="kind">{escaped(left.kind)}'
        f"{'' if left.blocks else ' <span class=soft>(does not block)</span>'}</td></tr>"
    )


def leftovers(report: Report) -> str:
    if not report.leftovers:
        return ""
    ordered = sorted(report.leftovers, key=lambda x: not x.blocks)
    rows = "".join(map(_leftover, ordered[:ROWS]))
    hidden = len(ordered) - ROWS
    more = (
        f'<p class="more">{hidden:,} more rows: {ELSEWHERE} has them all.</p>' if hidden > 0 else ""
    )
    blocking = sum(x.number for x in ordered if x.blocks)
    many = count(blocking, "statement or line", "statements or lines")
    intro = f"{many} {'stands' if blocking == 1 else 'stand'} in the way of a yes: what was not understood could contradict."
    if not blocking:
        intro = "Nothing here stands in the way."
    return section(
        "left",
        "What was not understood",
        f'<p>{intro}</p><div class="card scroll"><table class="stack"><thead><tr><th scope="col">where</th>'
        '<th scope="col">what</th><th scope="col">what to do</th><th scope="col">kind</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>",
    )

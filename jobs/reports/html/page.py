"""A report as one HTML page: nothing fetched, readable without the script, the answer in words
first.

Many contradictions with one cause are one row and a few samples, so that the page stays small
however many there are.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from jobs.pages import escaped, framed
from jobs.reports.html.causes import causes, disputes
from jobs.reports.html.evidence import evidence
from jobs.reports.html.lines import identities, leftovers, set_aside
from jobs.reports.html.pieces import section, short
from jobs.reports.html.style import SCRIPT, STYLE
from jobs.reports.report import CERTIFY, GATE, INDEX, Report
from jobs.reports.words import NextStep, headline, lead, reasons, steps, tone, word

_MARKS = {
    "good": '<path d="M6.5 12.5l3.6 3.6 7.4-8.2"/>',
    "bad": '<path d="M8 8l8 8M16 8l-8 8"/>',
    "open": '<path d="M9.2 9.3a2.9 2.9 0 1 1 4.2 2.6c-1 .5-1.4 1-1.4 2.1M12 16.8v.3"/>',
    "split": '<path d="M12 6.8v6.6M12 16.8v.3"/>',
}


def page(report: Report) -> str:
    """The page."""
    parts = [
        ("next", "What to do", _steps(report)),
        ("causes", "Causes", causes(report)),
        ("aside", "Set aside", set_aside(report)),
        ("disputes", "Facts set aside before", disputes(report)),
        ("same", "The same", identities(report)),
        ("left", "Not understood", leftovers(report)),
        ("evidence", "Evidence", evidence(report)),
    ]
    shown = [(name, title, html) for name, title, html in parts if html]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in shown)
    body = (
        f'<a class="skip" href="#main">To the report</a>{_header(report)}'
        f'<nav aria-label="On this page"><ul>{links}</ul></nav><main id="main">{"".join(html for _, _, html in shown)}</main>'
        f"{_footer(report)}"
    )
    return framed(f"{word(report)}: {_subject(report)}", body, style=STYLE, script=SCRIPT)


def _subject(report: Report) -> str:
    given = (
        report.about.get("insertions")
        or report.about.get("abox")
        or report.about.get("ontology")
        or ()
    )
    names = [PurePath(name).name for name in given]
    return ", ".join(names[:3]) + ("…" if len(names) > 3 else "") if names else "shiq"


def _header(report: Report) -> str:
    mood = tone(report)
    sign = _MARKS.get(report.decision, _MARKS[mood])
    mark = (
        '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" '
        f'stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="12" r="10.3"/>{sign}</svg>'
    )
    figures = "".join(
        f"<div><dt>{escaped(title)}</dt><dd>{escaped(value)}</dd></div>"
        for title, value in _figures(report)
    )
    return (
        f'<header class="{mood}-tone"><div class="wide"><p class="verdict">{mark}{escaped(word(report).capitalize())}</p>'
        f'<h1>{escaped(headline(report))}</h1><p class="lead">{escaped(lead(report))}</p>'
        f'<dl class="figures">{figures}</dl></div></header>'
    )


def _figures(report: Report) -> list[tuple[str, str]]:
    s = report.statistics
    found = []
    if report.command == GATE:
        accepted, aside = report.document.get("accepted", 0), len(report.set_aside)
        found += [("lines accepted", f"{accepted:,}"), ("lines set aside", f"{aside:,}")]
    elif report.command not in (CERTIFY, INDEX):
        found.append(
            ("new facts" if s.get("insertions") != 1 else "new fact", f"{s.get('insertions', 0):,}")
        )
    found.append(
        (
            "facts known" if report.command not in (CERTIFY, INDEX) else "facts",
            f"{s.get('assertions', 0):,}",
        )
    )
    if report.conflicts or report.more:
        plus = "+" if report.more else ""
        found.append(
            (
                "contradiction" + ("s" if len(report.conflicts) != 1 else ""),
                f"{len(report.conflicts):,}{plus}",
            )
        )
        found.append(
            ("cause" + ("s" if len(report.causes) != 1 else ""), f"{len(report.causes):,}{plus}")
        )
    left = sum(x.number for x in report.leftovers if x.blocks)
    if left:
        found.append(("not understood", f"{left:,}"))
    seconds = sum(s.get("seconds", {}).values())
    return [*found, ("seconds", f"{seconds:,.1f}")] if seconds else found


def _steps(report: Report) -> str:
    told = [
        escaped(step.text) + (f"<pre><code>{_command(step)}</code></pre>" if step.command else "")
        for step in steps(report)
    ]
    items = "".join(f"<li>{text}</li>" for text in told)
    items = (
        f'<ol class="steps">{items}</ol>'
        if len(told) > 1
        else "".join(f"<div>{text}</div>" for text in told)
    )
    why = "".join(f"<li>{escaped(short(part))}</li>" for part in reasons(report))
    if why:
        why = f"<h3>{'Why there is no verdict' if tone(report) == 'open' else 'Also to be known'}</h3><ul>{why}</ul>"
    return (
        section("next", "What to do next", f'<div class="card">{why}{items}</div>') if items else ""
    )


def _command(step: NextStep) -> str:
    """A command that is broken before its options only."""
    return " ".join(
        f'<span class="option">{escaped(part)}</span>'
        for part in re.split(r" (?=--)", step.command)
    )


def _footer(report: Report) -> str:
    about = report.about
    made = " ".join(
        filter(
            None,
            [f"shiq {about['shiq']}" if about.get("shiq") else "shiq", str(about.get("made", ""))],
        )
    )
    terms = (
        "<details><summary>Words used here</summary><dl>"
        "<dt>fact</dt><dd>one statement of the data: a triple.</dd>"
        "<dt>ontology, rule</dt><dd>what must hold of all data, such as that nothing is both a person and a course.</dd>"
        "<dt>contradiction</dt><dd>facts and rules that cannot all be true, and none of which could be left out.</dd>"
        "<dt>cause</dt><dd>what contradictions have in common that differ only in the things they are about.</dd>"
        "<dt>undetermined</dt><dd>no contradiction was found, and yet nobody can say that there is none.</dd></dl></details>"
    )
    return f'<footer><div class="wide">{terms}<p>{escaped(made)}</p></div></footer>'

"""What contradicts what: a row for each cause, and a few samples of each."""

from __future__ import annotations

from typing import Final

from jobs.pages import escaped
from jobs.reports.html.pieces import CHARACTERS, ELSEWHERE, FACTS, axioms, facts, section, short
from jobs.reports.report import Report, ReportedConflict
from jobs.reports.words import RULES
from shiq.amounts import count
from shiq.explanation import ConflictGroup, Labels
from shiq.explanation.parsed import line_of, term_of

#: Contradictions shown of one cause; causes shown with samples, and in the list of causes.
SAMPLES: Final = 5
CAUSES: Final = 100
CAUSE_ROWS: Final = 1000
#: If there are no more contradictions than this, all are shown.
FEW: Final = 25
#: Causes that are unfolded at first.
UNFOLDED: Final = 3


def causes(report: Report) -> str:
    if not report.conflicts:
        return ""
    total, causes = len(report.conflicts), report.causes
    intro = (
        f"<p>{count(total, 'contradiction')}, {count(len(causes), 'cause')}. Contradictions have one cause if they differ only "
        "in whom or what they are about. Each is minimal, but for those that say otherwise: take away any one of its facts or "
        "rules, and it is gone.</p>"
        if total > 1
        else "<p>Take away any one of its facts or rules, and it is gone.</p>"
        if report.conflicts[0].get("minimal", True)
        else ""
    )
    table = _cause_table(report) if len(causes) > 1 else ""
    tools = (
        '<div class="tools"><input id="find" type="search" placeholder="Find in causes and samples" '
        'aria-label="Find in causes and samples"><button id="fold" type="button">Unfold all</button>'
        '<span id="found" role="status" class="note"></span></div>'
        if len(causes) > 1
        else ""
    )
    cards = "".join(_cause(report, i, group) for i, group in enumerate(causes[:CAUSES]))
    rest = len(causes) - CAUSES
    more = (
        f'<p class="more">{count(rest, "more cause")}: {ELSEWHERE} has them all.</p>'
        if rest > 0
        else ""
    )
    return section("causes", "What contradicts what", intro + table + tools + cards + more)


def disputes(report: Report) -> str:
    """What was accepted and contradicts what the store has set aside."""
    found = report.disputes
    if not found:
        return ""
    cards = "".join(_contradiction(one, report.labels, "d") for one in found[:FEW])
    more = (
        f'<p class="more">{len(found) - FEW:,} more: {ELSEWHERE} has them all.</p>'
        if len(found) > FEW
        else ""
    )
    intro = "<p>These facts were accepted. They contradict facts that the store keeps beside, and not what it holds.</p>"
    return section(
        "disputes",
        "What contradicts facts set aside before",
        f'{intro}<div class="card">{cards}{more}</div>',
    )


def shown(report: Report) -> frozenset[int]:
    """The numbers of the contradictions that the page shows."""
    return frozenset(
        i + 1
        for group in report.causes[:CAUSES]
        for i in group.conflicts[: _samples(report, group)]
    )


def _samples(report: Report, group: ConflictGroup) -> int:
    """How many contradictions of a cause are shown."""
    n = len(group.conflicts)
    return n if len(report.conflicts) <= FEW else min(n, SAMPLES)


def _cause_table(report: Report) -> str:
    largest = len(report.causes[0].conflicts)
    rows = []
    for i, group in enumerate(report.causes[:CAUSE_ROWS]):
        n = len(group.conflicts)
        title = escaped(short(group.pattern.title or group.pattern.sentence, 200))
        name = f'<a href="#cause-{i + 1}">{title}</a>' if i < CAUSES else title
        name += (
            f'<br><span class="note">{escaped(short(group.pattern.sentence, 260))}</span>'
            if group.pattern.title
            else ""
        )
        bar = (
            f'<span class="bar" style="width:{max(1.0, 100 * n / largest):.1f}%"></span>'
            if largest > 1
            else ""
        )
        rule = _rule_chip(group.pattern.rule)
        rows.append(
            f'<tr><td>{name}</td><td class="n" data-title="contradictions">{n:,}</td>'
            + (f'<td class="share" aria-hidden="true">{bar}</td>' if largest > 1 else "")
            + f'<td class="narrow" data-title="rule">{rule}</td></tr>'
        )
    head = '<th scope="col">cause</th><th scope="col" class="n">contradictions</th>'
    head += ('<th aria-hidden="true"></th>' if largest > 1 else "") + '<th scope="col">rule</th>'
    hidden = len(report.causes) - CAUSE_ROWS
    note = f'<p class="note">and {count(hidden, "more cause")}</p>' if hidden > 0 else ""
    return (
        f'<div class="card scroll"><table class="causes stack"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{note}</div>"
    )


def _rule_chip(rule: str) -> str:
    said = RULES.get(rule, "")
    return (
        f'<span class="chip" title="OWL 2 RL rule {escaped(rule)}: {escaped(said)}">{escaped(rule)}</span>'
        if rule
        else ""
    )


def _cause(report: Report, number: int, group: ConflictGroup) -> str:
    pattern, n = group.pattern, len(group.conflicts)
    few = _samples(report, group)
    samples = "".join(
        _contradiction(report.contradiction(i), report.labels) for i in group.conflicts[:few]
    )
    more = (
        f'<p class="more">{n - few:,} more of this kind are not shown here: {ELSEWHERE} has them all.</p>'
        if n > few
        else ""
    )
    meaning = (
        f'<p class="meaning">{escaped(short(pattern.sentence))}</p>'
        if n > 1 and pattern.sentence
        else ""
    )
    is_open = " open" if number < UNFOLDED or len(report.conflicts) <= UNFOLDED else ""
    return (
        f'<details class="cause" id="cause-{number + 1}"{is_open}><summary>'
        f"<h3>{escaped(short(pattern.title or pattern.id, 200))}</h3>{_rule_chip(pattern.rule)}"
        f'<span class="chip">{count(n, "contradiction")}</span></summary>'
        f"{meaning}{samples}{more}"
        f'<p class="note">Pattern <code>{escaped(pattern.id)}</code></p></details>'
    )


def _contradiction(found: ReportedConflict, labels: Labels, name: str = "c") -> str:
    terms = {
        term_of(t)
        for f in (*found.insertions, *found.base)
        if (line := line_of(f.text))
        for t in line
        if t[0] in "<_"
    }
    labels = labels.among(terms)
    old = "The data says" if not found.insertions else "Already known"
    sides = "".join(
        f'<div class="side {css}"><h5>{title}</h5><ul>{items}</ul></div>'
        for css, title, items in (
            ("new", "Tonight’s data says", facts(found.insertions, labels)),
            ("old", old, facts(found.base, labels)),
            ("rule", "The ontology says", axioms(found.axioms, labels)),
        )
        if items
    )
    keys = (
        f'<p class="note">Rows: {escaped(", ".join(found.keys[:FACTS]))}</p>' if found.keys else ""
    )
    remarks = "".join(f'<p class="remark">{escaped(remark)}</p>' for remark in found.remarks)
    texts = [
        *(f.text for f in found.insertions[:FACTS]),
        *(f.text for f in found.base[:FACTS]),
        *found.axioms[:FACTS],
    ]
    written = escaped("\x00".join(map(short, texts))).replace("\\u0000", "\n")
    return (
        f'<article class="conflict" id="{name}{found.number}"><h4>Contradiction {found.number:,}</h4>'
        f'<p class="sentence">{escaped(short(found.sentence, 4 * CHARACTERS))}</p>'
        f'<div class="sides">{sides}</div>{keys}{remarks}'
        '<details class="written"><summary>As written (N-Triples, OWL 2 functional syntax)</summary>'
        f"<pre><code>{written}</code></pre></details></article>"
    )

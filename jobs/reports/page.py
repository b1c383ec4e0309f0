"""A report as one HTML page: nothing fetched, readable without the script, the answer in words first.

Many contradictions with one cause are one row and a few samples, so that the page stays small however many there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from jobs.pages import escaped, framed
from jobs.reports.report import CERTIFY, GATE, INDEX, Contradiction, Fact, Place, Report, SetAside
from jobs.reports.style import SCRIPT, STYLE
from jobs.reports.words import RULES, bucket, count, headline, inputs, lead, reasons, steps, tone, word
from shiq.explanation import Group, Labels, manchester
from shiq.explanation.parsed import TYPE, line_of, literal_of, term_of
from shiq.model import RDF, XSD

#: Contradictions shown of one cause; causes shown with samples, and in the list of causes; rows of other tables.
SAMPLES, CAUSES, CAUSE_ROWS, ROWS = 5, 100, 1000, 200
#: If there are no more contradictions than this, all are shown.
FEW = 25
#: Facts shown of one side of a contradiction; characters of a value or a line.
FACTS, CHARACTERS = 30, 600
#: Causes that are unfolded at first.
UNFOLDED = 3

# Between the parts of a name; what an escape begins with is none.
_JOINTS = re.compile(r"(?<=\w)[/.#_:-](?=\w)")
_MARKS = {
    "good": '<path d="M6.5 12.5l3.6 3.6 7.4-8.2"/>',
    "bad": '<path d="M8 8l8 8M16 8l-8 8"/>',
    "open": '<path d="M9.2 9.3a2.9 2.9 0 1 1 4.2 2.6c-1 .5-1.4 1-1.4 2.1M12 16.8v.3"/>',
}


def page(report: Report) -> str:
    """The page."""
    parts = [
        ("next", "What to do", _steps(report)),
        ("causes", "Causes", _causes(report)),
        ("aside", "Set aside", _set_aside(report)),
        ("same", "The same", _identities(report)),
        ("left", "Not understood", _leftovers(report)),
        ("evidence", "Evidence", _evidence(report)),
    ]
    shown = [(name, title, html) for name, title, html in parts if html]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in shown)
    body = (
        f'<a class="skip" href="#main">To the report</a>{_header(report)}'
        f'<nav aria-label="On this page"><ul>{links}</ul></nav><main id="main">{"".join(html for _, _, html in shown)}</main>'
        f"{_footer(report)}"
    )
    return framed(f"{word(report)}: {_subject(report)}", body, style=STYLE, script=SCRIPT)


# --- sections -------------------------------------------------------------------------------------


def _subject(report: Report) -> str:
    given = report.about.get("insertions") or report.about.get("abox") or report.about.get("ontology") or ()
    names = [PurePath(name).name for name in given]
    return ", ".join(names[:3]) + ("…" if len(names) > 3 else "") if names else "shiq"


def _header(report: Report) -> str:
    mood = tone(report)
    mark = (
        '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" '
        f'stroke-linejoin="round" aria-hidden="true"><circle cx="12" cy="12" r="10.3"/>{_MARKS[mood]}</svg>'
    )
    figures = "".join(f"<div><dt>{escaped(title)}</dt><dd>{escaped(value)}</dd></div>" for title, value in _figures(report))
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
        found.append(("new facts" if s.get("insertions") != 1 else "new fact", f"{s.get('insertions', 0):,}"))
    found.append(("facts known" if report.command not in (CERTIFY, INDEX) else "facts", f"{s.get('assertions', 0):,}"))
    if report.conflicts or report.more:
        plus = "+" if report.more else ""
        found.append(("contradiction" + ("s" if len(report.conflicts) != 1 else ""), f"{len(report.conflicts):,}{plus}"))
        found.append(("cause" + ("s" if len(report.causes) != 1 else ""), f"{len(report.causes):,}{plus}"))
    left = sum(x.count for x in report.leftovers if x.blocks)
    if left:
        found.append(("not understood", f"{left:,}"))
    seconds = sum(s.get("seconds", {}).values())
    return [*found, ("seconds", f"{seconds:,.1f}")] if seconds else found


def _steps(report: Report) -> str:
    told = [
        f"{escaped(step.text)}{f'<pre><code>{escaped(step.command)}</code></pre>' if step.command else ''}"
        for step in steps(report)
    ]
    items = "".join(f"<li>{text}</li>" for text in told)
    items = f'<ol class="steps">{items}</ol>' if len(told) > 1 else "".join(f"<div>{text}</div>" for text in told)
    why = "".join(f"<li>{escaped(_short(part))}</li>" for part in reasons(report))
    if why:
        why = f"<h3>{'Why there is no verdict' if tone(report) == 'open' else 'Also to be known'}</h3><ul>{why}</ul>"
    return _section("next", "What to do next", f'<div class="card">{why}{items}</div>') if items else ""


def _causes(report: Report) -> str:
    if not report.conflicts:
        return ""
    total, causes = len(report.conflicts), report.causes
    intro = (
        f"<p>{count(total, 'contradiction')}, {count(len(causes), 'cause')}. Contradictions have one cause if they differ only "
        "in whom or what they are about. Each is minimal: take away any one of its facts or rules, and it is gone.</p>"
        if total > 1
        else "<p>The contradiction is minimal: take away any one of its facts or rules, and it is gone.</p>"
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
    more = f'<p class="more">{count(rest, "more cause")}: {_elsewhere(report)} has them all.</p>' if rest > 0 else ""
    return _section("causes", "What contradicts what", intro + table + tools + cards + more)


def _cause_table(report: Report) -> str:
    largest = len(report.causes[0].conflicts)
    rows = []
    for i, group in enumerate(report.causes[:CAUSE_ROWS]):
        n = len(group.conflicts)
        title = escaped(_short(group.pattern.title or group.pattern.sentence, 200))
        name = f'<a href="#cause-{i + 1}">{title}</a>' if i < CAUSES else title
        name += f'<br><span class="note">{escaped(_short(group.pattern.sentence, 220))}</span>' if group.pattern.title else ""
        bar = f'<span class="bar" style="width:{max(1.0, 100 * n / largest):.1f}%"></span>' if largest > 1 else ""
        rule = _rule_chip(group.pattern.rule)
        rows.append(
            f'<tr><td data-title="">{name}</td><td class="n" data-title="contradictions">{n:,}</td>'
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
    return f'<span class="chip" title="OWL 2 RL rule {escaped(rule)}: {escaped(said)}">{escaped(rule)}</span>' if rule else ""


def _cause(report: Report, number: int, group: Group) -> str:
    pattern, n = group.pattern, len(group.conflicts)
    shown = n if len(report.conflicts) <= FEW else min(n, SAMPLES)
    samples = "".join(_contradiction(report.contradiction(i), report.labels) for i in group.conflicts[:shown])
    more = (
        f'<p class="more">{n - shown:,} more of this kind are not shown here: {_elsewhere(report)} has them all.</p>'
        if n > shown
        else ""
    )
    meaning = f'<p class="meaning">{escaped(_short(pattern.sentence))}</p>' if n > 1 and pattern.sentence else ""
    is_open = " open" if number < UNFOLDED or len(report.conflicts) <= UNFOLDED else ""
    return (
        f'<details class="cause" id="cause-{number + 1}"{is_open}><summary>'
        f"<h3>{escaped(_short(pattern.title or pattern.id, 200))}</h3>{_rule_chip(pattern.rule)}"
        f'<span class="chip">{count(n, "contradiction")}</span></summary>'
        f"{meaning}{samples}{more}"
        f'<p class="note">Pattern <code>{escaped(pattern.id)}</code></p></details>'
    )


def _contradiction(found: Contradiction, labels: Labels) -> str:
    terms = {term_of(t) for f in (*found.insertions, *found.base) if (line := line_of(f.text)) for t in line if t[0] in "<_"}
    labels = labels.among(terms)
    old = "The data says" if not found.insertions else "Already known"
    sides = "".join(
        f'<div class="side {css}"><h5>{title}</h5><ul>{items}</ul></div>'
        for css, title, items in (
            ("new", "Tonight’s data says", _facts(found.insertions, labels)),
            ("old", old, _facts(found.base, labels)),
            ("rule", "The ontology says", _axioms(found.axioms, labels)),
        )
        if items
    )
    keys = f'<p class="note">Rows: {escaped(", ".join(found.keys[:FACTS]))}</p>' if found.keys else ""
    remarks = "".join(f'<p class="note">{escaped(remark)}</p>' for remark in found.remarks)
    texts = [*(f.text for f in found.insertions[:FACTS]), *(f.text for f in found.base[:FACTS]), *found.axioms[:FACTS]]
    written = escaped("\x00".join(map(_short, texts))).replace("\\u0000", "\n")
    return (
        f'<article class="conflict" id="c{found.number}"><h4>Contradiction {found.number:,}</h4>'
        f'<p class="sentence">{escaped(_short(found.sentence, 4 * CHARACTERS))}</p>'
        f'<div class="sides">{sides}</div>{keys}{remarks}'
        '<details class="written"><summary>As written (N-Triples, OWL 2 functional syntax)</summary>'
        f"<pre><code>{written}</code></pre></details></article>"
    )


def _facts(facts: Sequence[Fact], labels: Labels) -> str:
    items = "".join(f"<li>{_said(fact.text, labels)}{_places(fact)}</li>" for fact in facts[:FACTS])
    return items + (f"<li>… {len(facts) - FACTS:,} more</li>" if len(facts) > FACTS else "")


def _said(text: str, labels: Labels) -> str:
    """A triple in words, each name with its IRI as title."""
    line = line_of(text)
    if line is None:
        return f"<code>{escaped(_short(text))}</code>"
    subject, value = _term(line.subject, labels), _term(line.object, labels)
    said = "is a" if line.predicate == TYPE else escaped(labels.of(term_of(line.predicate)))
    return f'{subject} <span class="by" title="{escaped(term_of(line.predicate))}"><bdi>{said}</bdi></span> {value}'


def _term(text: str, labels: Labels) -> str:
    if not text.startswith('"'):
        iri = term_of(text)
        return f'<b class="term" title="{escaped(iri)}"><bdi>{_breakable(labels.of(iri))}</bdi></b>'
    value = literal_of(text)
    datatype = "" if value.datatype in (XSD + "string", RDF + "langString") else value.datatype
    kind = f' <span class="by" title="{escaped(datatype)}">({escaped(labels.of(datatype))})</span>' if datatype else ""
    return f'<b class="term"><bdi>“{escaped(_short(value.lexical))}”</bdi></b>{kind}'


def _places(fact: Fact) -> str:
    if not fact.places:
        return ""
    names = ", ".join(escaped(place) for place in fact.places[:3]) + (" …" if len(fact.places) > 3 else "")
    return f' <span class="where">{names}</span>'


def _axioms(axioms: Sequence[str], labels: Labels) -> str:
    return "".join(f"<li>{escaped(_short(manchester(axiom, labels)))}</li>" for axiom in axioms[:FACTS])


def _set_aside(report: Report) -> str:
    parts = [_lines(report, report.set_aside)] if report.set_aside else []
    if report.tolerated:
        parts.append(f"<h3>Kept beside by the policy</h3>{_lines(report, report.tolerated)}")
    return _section("aside", "What was set aside", "".join(parts)) if parts else ""


def _lines(report: Report, lines: Sequence[SetAside]) -> str:
    rows = "".join(
        f'<tr><td{_narrow(x.place)} data-title="line">{escaped(x.place)}</td><td>{_said(x.text, report.labels)}</td>'
        f'<td data-title="why">{escaped(x.reason)}{_links(report, x.conflicts)}</td></tr>'
        for x in lines[:ROWS]
    )
    hidden = len(lines) - ROWS
    more = f'<p class="more">{hidden:,} more lines: {_elsewhere(report)} has them all.</p>' if hidden > 0 else ""
    return (
        f"<p>{count(len(lines), 'line')} of the batch.</p>"
        '<div class="card scroll"><table class="stack"><thead><tr><th scope="col">file and line</th>'
        '<th scope="col">what it says</th><th scope="col">why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>"
    )


def _identities(report: Report) -> str:
    """What becomes equal by a batch: a slip in one number can merge two things for good."""
    if not report.identities:
        return ""
    labels = report.labels
    rows = "".join(
        f'<tr><td data-title="the same">{" = ".join(_term(x, labels) for x in found["individuals"][:FACTS])}</td>'
        f'<td data-title="because of">{"<br>".join(_said(x, labels) for x in found["insertions"][:FACTS])}</td>'
        f'<td data-title="and">{"<br>".join(_said(x, labels) for x in found["base"][:FACTS])}</td>'
        f'<td data-title="rule">{"<br>".join(escaped(_short(manchester(x, labels))) for x in found["axioms"][:FACTS])}</td></tr>'
        for found in report.identities[:ROWS]
    )
    hidden = len(report.identities) - ROWS
    more = f'<p class="more">{hidden:,} more: {_elsewhere(report)} has them all.</p>' if hidden > 0 else ""
    return _section(
        "same",
        "What becomes one and the same",
        "<p>By the rules and this batch, these names are names of one thing. If they are two things, something is wrong.</p>"
        '<div class="card scroll"><table class="stack"><thead><tr><th scope="col">the same</th><th scope="col">because of</th>'
        f'<th scope="col">and what was known</th><th scope="col">rule</th></tr></thead><tbody>{rows}</tbody></table>{more}</div>',
    )


def _links(report: Report, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    named = ", ".join(f'<a href="#c{n}">{n:,}</a>' for n in numbers[:10]) + (" …" if len(numbers) > 10 else "")
    return f" ({named})"


def _leftovers(report: Report) -> str:
    if not report.leftovers:
        return ""
    ordered = sorted(report.leftovers, key=lambda x: not x.blocks)
    rows = "".join(
        f'<tr><td{_narrow(x.place)} data-title="where">{escaped(x.place)}</td>'
        f"<td>{escaped(_short(x.message))}{f' <span class=chip>× {x.count:,}</span>' if x.count > 1 else ''}"
        f"{f'<br><code>{escaped(_short(x.text))}</code>' if x.text else ''}</td>"
        f'<td data-title="what to do">{escaped(_short(x.hint))}</td><td class="narrow" data-title="kind">{escaped(x.kind)}'
        f"{'' if x.blocks else ' <span class=soft>(does not block)</span>'}</td></tr>"
        for x in ordered[:ROWS]
    )
    hidden = len(ordered) - ROWS
    more = f'<p class="more">{hidden:,} more rows: {_elsewhere(report)} has them all.</p>' if hidden > 0 else ""
    blocking = sum(x.count for x in ordered if x.blocks)
    intro = (
        f"{count(blocking, 'triple or line', 'triples or lines')} {'stands' if blocking == 1 else 'stand'} in the way of a yes: "
        "what was not understood could contradict."
        if blocking
        else "Nothing here stands in the way."
    )
    return _section(
        "left",
        "What was not understood",
        f'<p>{intro}</p><div class="card scroll"><table class="stack"><thead><tr><th scope="col">where</th>'
        '<th scope="col">what</th><th scope="col">what to do</th><th scope="col">kind</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</div>",
    )


# --- evidence -------------------------------------------------------------------------------------


def _evidence(report: Report) -> str:
    e, s = report.evidence, report.statistics
    cards = [
        ("What was asked", _pairs(inputs(report))),
        ("What was read", _bars([(bucket(name), n) for name, n in e.get("ledger", {}).items()], "")),
        ("What was looked at", _pairs(_looked_at(report))),
        ("How it was decided", _pairs(_decided(report))),
        ("Certificate of what was known before", _pairs(_certificate(report))),
        ("Where the time went", _bars([(name, v) for name, v in s.get("seconds", {}).items() if v >= 0.005], "s")),
    ]
    html = "".join(f'<div class="card"><h3>{title}</h3>{inside}</div>' for title, inside in cards if inside)
    intro = (
        "<p>A yes is given only on evidence: every line read, every rule understood, every part decided. "
        "A contradiction is exact whatever else was not understood.</p>"
    )
    return _section("evidence", "Why this can be believed", f'{intro}<div class="grid">{html}</div>')


def _looked_at(report: Report) -> list[tuple[str, str]]:
    s = report.statistics
    if not s.get("add_set"):
        return []
    share = f", {s['add_set'] / s['assertions']:.2%} of those known" if s.get("assertions") else ""
    return [
        ("facts", f"{s['add_set']:,}{share}: the others are proven not to matter"),
        (
            "independent parts",
            f"{s.get('modules', 0):,}, of {s.get('shapes', 0):,} shapes; {s.get('reasoner_calls', 0):,} reasoned about",
        ),
        ("chosen by", str(report.evidence.get("criterion", ""))),
    ]


def _decided(report: Report) -> list[tuple[str, str]]:
    e = report.evidence
    found = [("engine", str(e.get("engine", ""))), ("reasoner", str(e.get("reasoner", "")))]
    found += [(f"parts {name}", f"{n:,}") for name, n in sorted(e.get("decided", {}).items()) if n]
    found += [(f"HermiT: {name.replace('_', ' ')}", f"{n:,}") for name, n in e.get("sent", {}).items()]
    found += [("not decided", why) for why in e.get("undecided", ())[:5]]
    if e.get("allowed"):
        found.append(("left out of account, as asked", ", ".join(e["allowed"])))
    found += [("also", note) for note in e.get("notes", ())]
    if e.get("run"):
        found.append(("run", str(e["run"])))
    return found


def _certificate(report: Report) -> list[tuple[str, str]]:
    names = {
        "verdict": "verdict",
        "snapshot": "snapshot",
        "date": "given on",
        "reasoner": "reasoner",
        "reason": "because",
        "tbox_hash": "ontology (hash)",
    }
    certificate = report.evidence.get("certificate", {})
    if report.command in (CERTIFY, INDEX):
        return []
    found = [(title, str(certificate[key])) for key, title in names.items() if certificate.get(key) not in (None, "", [])]
    return found or [("verdict", "none: nothing was certified")]


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{escaped(title)}</dt><dd>{escaped(_short(value))}</dd>" for title, value in pairs)
    return f'<dl class="pairs">{items}</dl>' if items else ""


def _bars(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """A table of amounts with a bar for each."""
    if not rows:
        return ""
    largest = max(value for _, value in rows) or 1
    items = "".join(
        f'<tr><td>{escaped(_short(title, 120))}</td><td class="n">{f"{value:,.2f} {unit}" if unit else f"{value:,}"}</td>'
        '<td style="width:34%" aria-hidden="true">'
        f'<span class="bar" style="--tone-bar:var(--new);width:{100 * value / largest:.1f}%"></span></td></tr>'
        for title, value in rows
    )
    return f'<table class="amounts"><tbody>{items}</tbody></table>'


# --- pieces ---------------------------------------------------------------------------------------


def _footer(report: Report) -> str:
    about = report.about
    made = " ".join(filter(None, [f"shiq {about['shiq']}" if about.get("shiq") else "shiq", str(about.get("made", ""))]))
    terms = (
        "<details><summary>Words used here</summary><dl>"
        "<dt>fact</dt><dd>one statement of the data: a triple.</dd>"
        "<dt>ontology, rule</dt><dd>what must hold of all data, such as that nothing is both a person and a course.</dd>"
        "<dt>contradiction</dt><dd>facts and rules that cannot all be true, and none of which could be left out.</dd>"
        "<dt>cause</dt><dd>what contradictions have in common that differ only in the things they are about.</dd>"
        "<dt>undetermined</dt><dd>no contradiction was found, and yet nobody can say that there is none.</dd></dl></details>"
    )
    return f'<footer><div class="wide">{terms}<p>{escaped(made)}</p></div></footer>'


def _section(name: str, title: str, html: str) -> str:
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{html}</section>'


def _elsewhere(report: Report) -> str:
    return "the JSON (and the Parquet tables)"


def _narrow(place: Place) -> str:
    """The attribute of a cell that need not be broken."""
    return ' class="narrow"' if len(str(place)) <= 32 else ""


def _breakable(name: str) -> str:
    """A name, escaped, that may be broken where its parts meet."""
    return _JOINTS.sub("\\g<0><wbr>", escaped(_short(name)))


def _short(text: str, most: int = CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

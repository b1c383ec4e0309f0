"""Why an answer can be believed: what was read, looked at and decided, by whom, and how long it
took.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobs.pages import escaped
from jobs.reports.html.pieces import section, short
from jobs.reports.report import CERTIFY, INDEX, Report
from jobs.reports.words import bucket, inputs


def evidence(report: Report) -> str:
    e, s = report.evidence, report.statistics
    cards = [
        ("What was asked", _pairs(inputs(report))),
        (
            "What was read",
            _bars([(bucket(name), n) for name, n in e.get("ledger", {}).items()], ""),
        ),
        ("What was looked at", _pairs(_looked_at(report))),
        ("How it was decided", _pairs(_decided(report))),
        ("Certificate of what was known before", _pairs(_certificate(report))),
        (
            "Where the time went",
            _bars([(name, v) for name, v in s.get("seconds", {}).items() if v >= 0.005], "s"),
        ),
    ]
    html = "".join(
        f'<div class="card"><h3>{title}</h3>{inside}</div>' for title, inside in cards if inside
    )
    intro = (
        "<p>A yes is given only on evidence: every line read, every rule understood, every part decided. "
        "A contradiction is exact whatever else was not understood.</p>"
    )
    return section("evidence", "Why this can be believed", f'{intro}<div class="grid">{html}</div>')


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
    found += [
        (f"HermiT: {name.replace('_', ' ')}", f"{n:,}") for name, n in e.get("sent", {}).items()
    ]
    found += [("not decided", why) for why in e.get("undecided", ())[:5]]
    if e.get("allowed"):
        found.append(("left out of account, as asked", ", ".join(e["allowed"])))
    if e.get("known"):
        found.append(
            (
                "known, and answered for",
                ", ".join(f"{n:,} {kind}" for kind, n in e["known"].items()),
            )
        )
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
    found = [
        (title, str(certificate[key]))
        for key, title in names.items()
        if certificate.get(key) not in (None, "", [])
    ]
    return found or [("verdict", "none: nothing was certified")]


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    items = "".join(
        f"<dt>{escaped(title)}</dt><dd>{escaped(short(value))}</dd>" for title, value in pairs
    )
    return f'<dl class="pairs">{items}</dl>' if items else ""


def _bars(rows: Sequence[tuple[str, float]], unit: str) -> str:
    """A table of amounts with a bar for each."""
    if not rows:
        return ""
    largest = max(value for _, value in rows) or 1
    items = "".join(
        f'<tr><td>{escaped(short(title, 120))}</td><td class="n">{f"{value:,.2f} {unit}" if unit else f"{value:,}"}</td>'
        '<td style="width:34%" aria-hidden="true">'
        f'<span class="bar" style="--tone-bar:var(--new);width:{100 * value / largest:.1f}%"></span></td></tr>'
        for title, value in rows
    )
    return f'<table class="amounts"><tbody>{items}</tbody></table>'

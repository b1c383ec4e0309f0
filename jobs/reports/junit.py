"""A report as JUnit XML, for build servers: one case for each cause, which failed; an error
where there is no verdict.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shiq.answers.verdict import KINDS, Verdict
from shiq.jobs.pages import visible
from shiq.jobs.reports.report import FAIL, Leftovers, Report, ReportedConflict, effect_of
from shiq.jobs.reports.words import headline, lead, steps

#: Contradictions told in a case; cases; rows of a kind of leftovers.
SAMPLES: Final = 3
CASES: Final = 1000
ROWS: Final = 20


def junit(report: Report) -> str:
    """The document. Causes that a gate set aside before it accepted the rest fail as well."""
    suite = Element("testsuite", name=f"shiq {report.command}")
    for group in report.causes[:CASES]:
        pattern, n = group.pattern, len(group.conflicts)
        case = _case(suite, visible(pattern.title or pattern.id), pattern.id)
        if all(effect_of(report.conflicts[i]) != FAIL for i in group.conflicts):
            remark = visible(" ".join(report.contradiction(group.conflicts[0]).remarks))
            SubElement(case, "skipped", message=f"{remark} ({n:,})")
            continue
        said = f"{visible(pattern.sentence)} ({n:,} contradiction{'s' if n != 1 else ''})"
        failure = SubElement(case, "failure", message=said, type=pattern.rule or "contradiction")
        samples = "\n\n".join(_told(report.contradiction(i)) for i in group.conflicts[:SAMPLES])
        failure.text = samples + (f"\n\n… and {n - SAMPLES:,} more" if n > SAMPLES else "")
    if report.verdict is Verdict.INCONSISTENT and not report.causes:
        _failed(suite, "contradictions that were not explained", headline(report), lead(report))
    if report.verdict is Verdict.UNDETERMINED:
        _undetermined(suite, report)
    if not len(suite):
        _case(suite, visible(headline(report)), report.command)
    failures, errors, skipped = (
        len(suite.findall(f"*/{what}")) for what in ("failure", "error", "skipped")
    )
    seconds = f"{sum(report.statistics.get('seconds', {}).values()):.3f}"
    counts = {
        "tests": str(len(suite)),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(skipped),
        "time": seconds,
    }
    suite.attrib.update(counts)
    if report.about.get("made"):
        suite.set("timestamp", str(report.about["made"])[:19])
    output = SubElement(suite, "system-out")
    output.text = "\n".join(
        [
            visible(headline(report)),
            visible(lead(report)),
            *(visible(s.text) for s in steps(report)),
        ]
    )
    root = Element("testsuites", {"name": "shiq", **counts})
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _case(suite: Element, name: str, of: str) -> Element:
    return SubElement(suite, "testcase", name=name, classname=f"shiq.{of}")


def _failed(suite: Element, name: str, message: str, text: str) -> None:
    failure = SubElement(
        _case(suite, name, "contradiction"),
        "failure",
        message=visible(message),
        type="contradiction",
    )
    failure.text = visible(text)


def _undetermined(suite: Element, report: Report) -> None:
    """An error for each kind of leftover that stands in the way, and for whatever else does."""
    kinds: dict[str, list[Leftovers]] = defaultdict(list)
    for left in report.leftovers:
        if left.blocks:
            kinds[left.kind].append(left)
    for kind, found in kinds.items():
        error = SubElement(
            _case(suite, kind, f"undetermined.{kind}"),
            "error",
            message=KINDS.get(kind, kind),
            type=kind,
        )
        rows = [
            visible(f"{x.place}: {x.message}{f' ({x.hint})' if x.hint else ''} × {x.number:,}")
            for x in found[:ROWS]
        ]
        error.text = "\n".join(
            [*rows, *([f"… and {len(found) - ROWS:,} more"] if len(found) > ROWS else [])]
        )
    for why in report.evidence.get("undecided", ())[:ROWS]:
        SubElement(
            _case(suite, "not decided", "undetermined.undecided"),
            "error",
            message=visible(why),
            type="undecided",
        )
    if not len(suite):
        reason = report.reason or headline(report)
        SubElement(
            _case(suite, "no verdict", "undetermined"),
            "error",
            message=visible(reason),
            type="undetermined",
        )


def _told(found: ReportedConflict) -> str:
    rows = [visible(found.sentence)]
    for title, facts in (("new", found.insertions), ("known", found.base)):
        rows += [
            f"  {title}: {visible(f.text)}{f'  ({visible(str(f.places[0]))})' if f.places else ''}"
            for f in facts
        ]
    return "\n".join([*rows, *(f"  rule: {visible(axiom)}" for axiom in found.axioms)])

"""A report as JUnit XML, for build servers: a failed case for each cause of contradictions, an
error where there is no verdict.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shiq.answers.verdict import KINDS, Verdict
from shiq.jobs.pages import escape_invisible
from shiq.jobs.reports.report import FAIL, Report, ReportedConflict, ReportedLeftover, policy_effect
from shiq.jobs.reports.words import headline, next_steps, summary

#: Contradictions told in a case; cases; rows of a kind of leftovers.
SAMPLES: Final = 3
CASES: Final = 1000
ROWS: Final = 20


def junit(report: Report) -> str:
    """Render ``report`` as JUnit XML. Causes of lines that a gate set aside count as failures even
    if the rest was accepted.
    """
    suite = Element("testsuite", name=f"shiq {report.command}")
    for group in report.causes[:CASES]:
        pattern, n = group.pattern, len(group.conflicts)
        case = _add_case(suite, escape_invisible(pattern.title or pattern.id), pattern.id)
        if all(policy_effect(report.conflicts[i]) != FAIL for i in group.conflicts):
            remark = escape_invisible(" ".join(report.conflict_at(group.conflicts[0]).remarks))
            SubElement(case, "skipped", message=f"{remark} ({n:,})")
            continue
        said = f"{escape_invisible(pattern.sentence)} ({n:,} contradiction{'s' if n != 1 else ''})"
        failure = SubElement(case, "failure", message=said, type=pattern.rule or "contradiction")
        samples = "\n\n".join(
            _conflict_text(report.conflict_at(i)) for i in group.conflicts[:SAMPLES]
        )
        failure.text = samples + (f"\n\n… and {n - SAMPLES:,} more" if n > SAMPLES else "")
    if report.verdict is Verdict.INCONSISTENT and not report.causes:
        case = _add_case(suite, "contradictions that were not explained", "contradiction")
        message = escape_invisible(headline(report))
        failure = SubElement(case, "failure", message=message, type="contradiction")
        failure.text = escape_invisible(summary(report))
    if report.verdict is Verdict.UNDETERMINED:
        _add_errors(suite, report)
    if not len(suite):
        _add_case(suite, escape_invisible(headline(report)), report.command)
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
    if report.request.get("made"):
        suite.set("timestamp", str(report.request["made"])[:19])
    output = SubElement(suite, "system-out")
    output.text = "\n".join(
        [
            escape_invisible(headline(report)),
            escape_invisible(summary(report)),
            *(escape_invisible(s.text) for s in next_steps(report)),
        ]
    )
    # The element of all suites has no count of what was skipped in the schema that servers use.
    totals = {name: counts[name] for name in ("tests", "failures", "errors", "time")}
    root = Element("testsuites", {"name": "shiq", **totals})
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _add_case(suite: Element, name: str, of: str) -> Element:
    """Add a test case to ``suite``. ``of``: the class name under which it is listed."""
    return SubElement(suite, "testcase", name=name, classname=f"shiq.{of}")


def _add_errors(suite: Element, report: Report) -> None:
    """Add a JUnit error for each kind of blocking leftover, and for each other reason why there is
    no verdict.
    """
    kinds: dict[str, list[ReportedLeftover]] = defaultdict(list)
    for left in report.leftovers:
        if left.blocks:
            kinds[left.kind].append(left)
    for kind, found in kinds.items():
        error = SubElement(
            _add_case(suite, kind, f"undetermined.{kind}"),
            "error",
            message=KINDS.get(kind, kind),
            type=kind,
        )
        rows = [
            escape_invisible(
                f"{x.place}: {x.message}{f' ({x.hint})' if x.hint else ''} × {x.number:,}"
            )
            for x in found[:ROWS]
        ]
        error.text = "\n".join(
            [*rows, *([f"… and {len(found) - ROWS:,} more"] if len(found) > ROWS else [])]
        )
    for why in report.evidence.get("undecided", ())[:ROWS]:
        SubElement(
            _add_case(suite, "not decided", "undetermined.undecided"),
            "error",
            message=escape_invisible(why),
            type="undecided",
        )
    if not len(suite):
        reason = report.reason or headline(report)
        SubElement(
            _add_case(suite, "no verdict", "undetermined"),
            "error",
            message=escape_invisible(reason),
            type="undetermined",
        )


def _conflict_text(found: ReportedConflict) -> str:
    """Text of a contradiction."""
    rows = [escape_invisible(found.sentence)]
    for title, facts in (("new", found.insertions), ("known", found.base)):
        rows += [
            f"  {title}: {escape_invisible(f.text)}{f'  ({escape_invisible(str(f.places[0]))})' if f.places else ''}"
            for f in facts
        ]
    return "\n".join([*rows, *(f"  rule: {escape_invisible(axiom)}" for axiom in found.axioms)])

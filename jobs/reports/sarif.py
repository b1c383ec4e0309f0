"""A report as SARIF 2.1.0, for code hosts and editors: a rule for each cause, a result for each
contradiction.

Hosts cap what they take in, so that no more than `PER_RULE` results of a rule and `RESULTS` in
all are written; what was left out is told by a notification.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from shiq.answers.verdict import KINDS, Verdict
from shiq.explanation import ConflictGroup
from shiq.inputs.reading import Place
from shiq.jobs.pages import escape_and_cut, escape_invisible
from shiq.jobs.reports.report import (
    Report,
    ReportedConflict,
    ReportedLeftover,
    StatedFact,
)
from shiq.jobs.reports.words import RULES, bucket_text, headline, summary

PER_RULE: Final = 50
RESULTS: Final = 1000
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
#: Of relatedLocations of one result; characters of a message.
_RELATED, _CHARACTERS = 20, 1000
_LEVELS: Final = {"warn": "warning", "info": "note"}


@dataclass(frozen=True, slots=True)
class Baseline:
    """Results of an earlier run, by fingerprint. ``is_complete``: whether the earlier report listed
    all of its results.
    """

    results: Mapping[str, Mapping[str, Any]]
    is_complete: bool


def baseline_of(document: Mapping[str, Any]) -> Baseline:
    """Read the results of a SARIF document as a baseline; results that were marked absent in it are
    left out.

    Raises: LookupError, TypeError, AttributeError where it is none.
    """
    runs = document["runs"]
    return Baseline(
        {
            fingerprint: result
            for run in runs
            for result in run["results"]
            if result.get("baselineState") != "absent"
            for fingerprint in result.get("partialFingerprints", {}).values()
        },
        not any(run.get("properties", {}).get("omitted") for run in runs),
    )


def sarif(report: Report, baseline: Baseline | None = None, *, is_capped: bool = True) -> str:
    """Render ``report`` as SARIF."""
    shown = (
        _select_conflicts(report.causes)
        if is_capped
        else {group.pattern.id: group.conflicts for group in report.causes}
    )
    kinds = list(dict.fromkeys(left.kind for left in report.leftovers))
    rules = [_cause_rule(group) for group in report.causes if group.pattern.id in shown] + [
        _kind_rule(kind) for kind in kinds
    ]
    index = {rule["id"]: i for i, rule in enumerate(rules)}
    results = [
        _conflict_result(report.conflict_at(i), group.pattern.id, index[group.pattern.id])
        for group in report.causes
        for i in shown.get(group.pattern.id, ())
    ]
    room = max(0, RESULTS - len(results)) if is_capped else len(report.leftovers)
    results += [
        _leftover_result(left, index[f"leftover/{left.kind}"]) for left in report.leftovers[:room]
    ]
    hidden = len(report.conflicts) + len(report.leftovers) - len(results)
    if baseline is not None:
        results = _compare_to_baseline(report, results, rules, baseline)
    notes = [
        _notification(
            "note" if report.verdict is not Verdict.UNDETERMINED else "error",
            f"{headline(report)} {summary(report)}",
        )
    ]
    if report.reason:
        notes.append(_notification("warning", report.reason))
    if hidden:
        notes.append(
            _notification("note", f"{hidden:,} results are left out here; the JSON has them all.")
        )
    driver: dict[str, Any] = {"name": "shiq", "rules": rules}
    if report.request.get("shiq"):
        driver["semanticVersion"] = str(report.request["shiq"])
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": _category(report)},
                # Whether the question was answered; what the answer is, the results say.
                "invocations": [
                    {
                        "executionSuccessful": report.verdict is not Verdict.UNDETERMINED,
                        "toolExecutionNotifications": notes,
                        **(
                            {"endTimeUtc": report.request["made"]}
                            if report.request.get("made")
                            else {}
                        ),
                    }
                ],
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    "verdict": report.verdict.value,
                    **({"omitted": hidden} if hidden else {}),
                    **({"decision": report.decision} if report.decision else {}),
                },
            }
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _category(report: Report) -> str:
    """Id of the category of a SARIF run, by command and input; hosts keep only the latest run of
    each category.
    """
    about = report.request
    given = about.get("store") or about.get("ontology") or about.get("tbox") or ""
    name = str(given if isinstance(given, str) else next(iter(given), ""))
    return f"shiq/{report.command}/{quote(PurePath(name).name, safe='', errors='replace')}/"


def _compare_to_baseline(
    report: Report,
    results: Iterable[dict[str, Any]],
    rules: list[dict[str, Any]],
    baseline: Baseline,
) -> list[dict[str, Any]]:
    """Mark ``results`` as new or unchanged against the baseline, and append the baseline's results
    that are gone. Adds the rules of those to ``rules``.
    """
    compared = []
    for result in results:
        is_known = baseline.results.keys() & result["partialFingerprints"].values()
        if is_known or baseline.is_complete:
            result["baselineState"] = "unchanged" if is_known else "new"
        compared.append(result)
    # Of a report with too many results some are not written: these are not absent.
    present = {_conflict_fingerprint(report.conflict_at(i)) for i in range(len(report.conflicts))}
    present |= {_leftover_fingerprint(left) for left in report.leftovers}
    index = {rule["id"]: i for i, rule in enumerate(rules)}
    absent = [found for key, found in baseline.results.items() if key not in present]
    for found in absent[: max(0, RESULTS - len(compared))]:
        rule = str(found.get("ruleId", "contradiction"))
        if rule not in index:
            index[rule] = len(rules)
            rules.append({"id": rule, "shortDescription": {"text": _message_text(rule)}})
        compared.append({**found, "ruleIndex": index[rule], "baselineState": "absent"})
    return compared


def _select_conflicts(causes: Sequence[ConflictGroup]) -> dict[str, tuple[int, ...]]:
    """Select the contradictions to report, by pattern, at most `RESULTS`: some of every cause
    rather than many of one.
    """
    shown: dict[str, tuple[int, ...]] = {}
    left = RESULTS
    share = max(1, min(PER_RULE, RESULTS // max(1, len(causes))))
    for group in causes[:RESULTS]:
        shown[group.pattern.id] = group.conflicts[: min(share, left)]
        left -= len(shown[group.pattern.id])
    return shown


def _cause_rule(group: ConflictGroup) -> dict[str, Any]:
    """SARIF rule for a cause (pattern) of contradictions."""
    pattern = group.pattern
    rules = "\n".join(escape_invisible(x) for x in pattern.manchester)
    said = RULES.get(pattern.rule)
    return {
        "id": pattern.id,
        "name": _camel_case(pattern.rule or "contradiction"),
        "shortDescription": {"text": _message_text(pattern.title or pattern.id)},
        "fullDescription": {"text": _message_text(pattern.sentence or pattern.title or pattern.id)},
        "help": {
            "text": f"The ontology says:\n{rules}"
            + (f"\nOWL 2 RL rule {pattern.rule}: {said}." if said else "")
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "contradictions": len(group.conflicts),
            **({"owl2rl": pattern.rule} if pattern.rule else {}),
        },
    }


def _kind_rule(kind: str) -> dict[str, Any]:
    """SARIF rule for a kind of leftovers."""
    return {
        "id": f"leftover/{kind}",
        "name": _camel_case(kind),
        "shortDescription": {"text": _message_text(bucket_text(f"leftover:{kind}"))},
        "fullDescription": {"text": _message_text(KINDS.get(kind, kind))},
        "defaultConfiguration": {"level": "warning"},
    }


def _conflict_result(found: ReportedConflict, rule: str, index: int) -> dict[str, Any]:
    """SARIF result for a contradiction. ``index``: position of its rule."""
    new = [*_sarif_locations(found.insertions)]
    old = [*_sarif_locations(found.base)]
    main = (new or old)[:1]
    suppression = {
        "kind": "external",
        "status": "accepted",
        "justification": _message_text(" ".join(found.remarks)),
    }
    related = [*(new or old)[1:], *(old if new else [])][:_RELATED]
    return {
        "ruleId": rule,
        "ruleIndex": index,
        "level": _LEVELS.get(found.effect, "error"),
        "message": {"text": _message_text(found.sentence)},
        **({"suppressions": [suppression]} if found.effect in ("waived", "known") else {}),
        **({"locations": main} if main else {}),
        **(
            {"relatedLocations": [{"id": i, **place} for i, place in enumerate(related)]}
            if related
            else {}
        ),
        "partialFingerprints": {"shiqConflict/v1": _conflict_fingerprint(found)},
        "properties": {
            "insertions": [escape_invisible(f.text) for f in found.insertions[:_RELATED]]
        },
    }


def _conflict_fingerprint(found: ReportedConflict) -> str:
    """Hash of a contradiction's facts and axioms, by which a later run recognises it."""
    new, old = ([fact.text for fact in facts] for facts in (found.insertions, found.base))
    return _hash_texts([*new, "", *old, "", *found.axioms])


def _leftover_fingerprint(left: ReportedLeftover) -> str:
    """Hash of a leftover, by which a later run recognises it."""
    return _hash_texts([f"leftover/{left.kind}", left.message, left.text])


def _hash_texts(parts: Iterable[str]) -> str:
    """SHA-256 of texts, joined by newlines."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _leftover_result(left: ReportedLeftover, index: int) -> dict[str, Any]:
    """SARIF result for a leftover. ``index``: position of its rule."""
    kind = f"leftover/{left.kind}"
    said = (
        left.message
        + (f" ({left.hint})" if left.hint else "")
        + (f" × {left.number:,}" if left.number > 1 else "")
    )
    return {
        "ruleId": kind,
        "ruleIndex": index,
        "level": "warning" if left.blocks else "note",
        "message": {"text": _message_text(said)},
        **({"locations": [_sarif_location(left.place, left.text)]} if left.place.source else {}),
        "partialFingerprints": {"shiqLeftover/v1": _leftover_fingerprint(left)},
    }


def _sarif_locations(facts: Iterable[StatedFact]) -> Iterable[dict[str, Any]]:
    """SARIF locations of the files and lines where facts were read."""
    return (_sarif_location(place, fact.text) for fact in facts for place in fact.places)


def _sarif_location(place: Place, text: str) -> dict[str, Any]:
    """SARIF location of one file and line, with the fact's ``text``."""
    region = (
        {"region": {"startLine": place.line, "snippet": {"text": _message_text(text)}}}
        if place.line
        else {}
    )
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri_reference(place.source)}, **region},
        "message": {"text": _message_text(text or place.source)},
    }


def _uri_reference(source: str) -> str:
    """Convert a path to a URI reference; relative paths stay relative, so that a host finds them in
    its checkout.
    """
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), safe="/@,;=+$!*'()~-._")


def _notification(level: str, text: str) -> dict[str, Any]:
    """SARIF notification of a ``level`` ("note", "warning", "error")."""
    return {"level": level, "message": {"text": _message_text(text)}}


def _camel_case(text: str) -> str:
    """Convert a name with separators to camel case, as SARIF requires for rules."""
    return "".join(part.capitalize() for part in text.replace("_", "-").split("-"))


def _message_text(text: str) -> str:
    """Prepare a text for a SARIF message: invisible characters escaped, length bounded."""
    return escape_and_cut(text, _CHARACTERS)

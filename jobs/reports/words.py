"""Describe a report in plain words, for readers who know their data but no logic. Each report
format escapes the texts itself.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shiq.answers.verdict import KINDS, Verdict
from shiq.jobs.reports.report import CERTIFY, CHECK, GATE, INDEX, Report
from shiq.support import pluralize

#: What the buckets of the ledger are called.
BUCKETS: Final = {
    "assertion": "facts",
    "axiom": "rules of the ontology",
    "annotation": "annotations (labels, comments and the like: no logical meaning)",
    "declaration": "declarations of names",
    "expression": "parts of rules and of class expressions",
    "header": "ontology headers",
}
#: What the rules of OWL 2 RL say, by their ids.
RULES: Final = {
    "cax-dw": "nothing may belong to two classes that exclude each other",
    "cax-adc": "nothing may belong to two classes that exclude each other",
    "cls-com": "nothing may belong to a class and to its opposite",
    "cls-nothing2": "nothing may belong to a class that must stay empty",
    "cls-maxc1": "a relation that nothing may have",
    "cls-maxc2": "at most one value is allowed",
    "cls-maxqc1": "a relation that nothing may have",
    "cls-maxqc2": "a relation that nothing may have",
    "cls-maxqc3": "at most one value is allowed",
    "cls-maxqc4": "at most one value is allowed",
    "dt-diff": "two values that differ where there may be one",
    "dt-not-type": "a value that its datatype does not have",
    "eq-diff1": "the same, and different",
    "eq-diff2": "the same, and different",
    "eq-diff3": "the same, and different",
    "prp-asyp": "a relation that may not hold both ways",
    "prp-fp": "at most one value is allowed",
    "prp-ifp": "a value that belongs to one thing only",
    "prp-irp": "nothing may have this relation to itself",
    "prp-npa1": "said to hold, and said not to hold",
    "prp-npa2": "said to hold, and said not to hold",
    "prp-pdw": "two relations that exclude each other",
    "prp-adp": "two relations that exclude each other",
}


@dataclass(frozen=True, slots=True)
class NextStep:
    """Recommendation to the user. ``command``: a shell command that carries it out; may be empty."""

    text: str
    command: str = ""


def answer_word(report: Report) -> str:
    """Answer in one word: the decision of a gate (accepted, split, refused), else the verdict."""
    return report.decision or report.verdict.value


def tone(report: Report) -> str:
    """Colour class of the answer: ``good`` (consistent or accepted), ``bad`` (inconsistent or
    refused for a contradiction) or ``open``.
    """
    if report.decision == "accepted" or (
        not report.decision and report.verdict is Verdict.CONSISTENT
    ):
        return "good"
    return (
        "bad" if report.verdict is Verdict.INCONSISTENT and report.decision != "split" else "open"
    )


def headline(report: Report) -> str:
    """Sentence that gives the answer of the command."""
    committed = report.result.get("committed", 0)
    if report.command == GATE:
        if (
            report.quarantined_lines
            and len(report.lines_with_own_reason) == len(report.quarantined_lines)
            and not report.document.get("accepted")
        ):
            return "Nothing of the batch was left to accept: all of it was set aside."
        return {
            "accepted": "The whole batch was accepted.",
            "split": "A part of the batch was accepted, and the rest was set aside.",
            "refused": "The batch was refused.",
        }.get(report.decision, f"The batch was {report.decision}.")
    if report.command in (CERTIFY, INDEX):
        return {
            Verdict.CONSISTENT: "The data is free of contradictions.",
            Verdict.INCONSISTENT: "The data contradicts itself.",
            Verdict.UNDETERMINED: "No verdict: it is not known whether this data is free of contradictions.",
        }[report.verdict]
    if report.verdict is Verdict.CONSISTENT:
        return (
            "The batch was added: nothing contradicts."
            if committed
            else "The batch can be added: nothing contradicts."
        )
    if report.verdict is Verdict.INCONSISTENT:
        return (
            "The knowledge base contradicts itself already."
            if _is_base_inconsistent(report)
            else "The batch cannot be added."
        )
    return "No verdict: do not add the batch yet."


def summary(report: Report) -> str:
    """Summary of the findings in two or three sentences."""
    s = report.statistics
    known, new = s.get("assertions", 0), s.get("insertions", 0)
    if report.command == GATE:
        return _gate_summary(report)
    if report.command in (CERTIFY, INDEX) or _is_base_inconsistent(report):
        looked = f"{pluralize(known, 'fact')} and the rules of the ontology were checked"
    else:
        looked = (
            f"{pluralize(new, 'new fact')} were checked against {pluralize(known, 'known fact')}"
            " and the rules of the ontology"
        )
        looked = looked.replace("new fact were", "new fact was")
    if report.verdict is Verdict.CONSISTENT:
        added = report.result.get("committed", 0)
        return f"{looked}. Everything was read, understood and decided." + (
            f" The knowledge base is now at snapshot {added}." if added else ""
        )
    if report.verdict is Verdict.INCONSISTENT:
        return f"{looked}. {_findings_text(report)}"
    return (
        f"{looked}. No contradiction was found in what was understood; but not everything was read, understood and decided: "
        "this is no proof of consistency."
    )


def _gate_summary(report: Report) -> str:
    """Summary of a gate's decision."""
    accepted, aside = int(report.document.get("accepted", 0)), len(report.quarantined_lines)
    broken = sum(
        1
        for x in report.quarantined_lines
        if not x.conflicts and x.reason.startswith("not a triple")
    )
    if report.decision == "refused":
        said = f"Nothing of its {pluralize(aside, 'line')} was taken in. "
        if report.conflicts:
            said += _findings_text(report)
        if report.result["verdict"] == Verdict.UNDETERMINED.value:
            rest = "what is left without the culprits" if report.conflicts else "the batch"
            said += f" Whether {rest} is free of contradictions is not known: not everything was read, understood and decided."
        return said.replace("  ", " ")
    beside = (
        f", {len(report.tolerated_lines):,} kept separately by the policy"
        if report.tolerated_lines
        else ""
    )
    said = f"{pluralize(accepted, 'line')} accepted, {aside:,} set aside{beside}. "
    said += "What was accepted has been checked as it was written, and contradicts nothing. "
    if report.document.get("dry_run"):
        said = f"This was a dry run: nothing was written. {said}"
    if report.conflicts:
        said += _findings_text(report)
    if broken:
        said += f" {pluralize(broken, 'line')} could not be read."
    committed = report.result.get("committed", 0)
    return said.strip() + (
        f" The knowledge base is now at snapshot {committed}." if committed else ""
    )


def _findings_text(report: Report) -> str:
    """Summary of what a check found."""
    n = len(report.conflicts)
    if not n:
        return (
            "Contradictions were found, and none was explained: allow more time, or more conflicts."
        )
    said = pluralize(n, "contradiction")
    if len(report.causes) < n:
        said += f" with {pluralize(len(report.causes), 'cause')}"
    said = f"{'At least ' if report.unexplained_count or not report.result.get('conflicts_complete', True) else ''}{said} "
    said += "was found" if n == 1 else "were found"
    culprits = len({line for conflict in report.conflicts for line in conflict["insertions"]})
    if culprits:
        said += (
            f"; {pluralize(culprits, 'inserted fact')} {'takes' if culprits == 1 else 'take'} part in "
            f"{'it' if n == 1 else 'them'}"
        )
    said += "."
    if report.unexplained_count:
        said += (
            f" {pluralize(report.unexplained_count, 'more contradiction')}"
            f" {'is' if report.unexplained_count == 1 else 'are'} known and not explained here."
        )
    return said


def _is_base_inconsistent(report: Report) -> bool:
    """Is the base inconsistent without the batch?"""
    return bool(report.conflicts) and all(c.get("origin") == "base" for c in report.conflicts)


#: Changes that a step names.
MOST_REPAIRS = 10

# --- what to do -----------------------------------------------------------------------------------


def next_steps(report: Report) -> tuple[NextStep, ...]:
    """Next steps for the user, the most useful first."""
    if report.command == GATE:
        return _steps_after_gate(report)
    if report.verdict is Verdict.CONSISTENT:
        return _steps_if_consistent(report)
    if report.verdict is Verdict.UNDETERMINED:
        return _steps_if_undetermined(report)
    return (*_repair_steps(report), *_steps_if_inconsistent(report))


def _repair_steps(report: Report) -> tuple[NextStep, ...]:
    """Recommend the verified repairs, if they were asked for."""
    plan = report.result.get("repairs") or {}
    if not plan.get("verified"):
        return ()
    parts = [
        *(f"remove {line}" for change in plan["changes"] for line in change["remove"]),
        *(f"write {line}" for change in plan["changes"] for line in change.get("add", ())),
    ]
    more = len(parts) - MOST_REPAIRS
    shown = "; ".join([*parts[:MOST_REPAIRS], *([f"{more:,} more"] if more > 0 else [])])
    least = ", and no fewer would do" if plan["smallest"] else ""
    whole = "the base alone" if plan.get("scope") else "it"
    return (
        NextStep(
            f"{pluralize(len(plan['changes']), 'change')} would make {whole} consistent, as a check has shown{least}: {shown}"
        ),
    )


def _steps_if_inconsistent(report: Report) -> tuple[NextStep, ...]:
    """Next steps after the verdict `inconsistent`."""
    if report.command in (CERTIFY, INDEX) or _is_base_inconsistent(report):
        found = [
            NextStep(
                "Go through the causes below. In each, one of the facts is wrong, or the rule is stricter than the world."
            ),
            NextStep(
                "Correct or delete the wrong facts at their source, and build the store anew from what is left."
            ),
        ]
        if report.command == INDEX:
            aside = shlex.join([*_command_line(report, INDEX), "--set-aside-known", "known.nt"])
            found.append(
                NextStep(
                    "Or set aside what contradicts, as little as may be, and begin with the rest:",
                    aside,
                )
            )
        return tuple(found)
    found = [
        NextStep(
            "Go through the causes below. In each, a new fact is wrong, or an old one is, or the rule is stricter than the world."
        ),
        NextStep(
            "If a new fact is wrong: correct it in the file and line that is named, and check again."
        ),
        NextStep(
            "If an old fact is wrong: put it into a file of deletions, which come first.",
            shlex.join([*_command_line(report, CHECK), "--delete", "wrong.nt"]),
        ),
    ]
    if report.request.get("store"):
        found.append(
            NextStep(
                "To take in tonight what contradicts nothing, and set the rest aside:",
                _split_command(report),
            )
        )
    return tuple(found)


def _steps_if_consistent(report: Report) -> tuple[NextStep, ...]:
    """Next steps after the verdict `consistent`."""
    if report.command in (CERTIFY, INDEX):
        store = report.request.get("store")
        said = "Batches can now be checked against it."
        return (
            (
                NextStep(
                    said, shlex.join(["shiq", "check", "--store", store, "--insert", "tonight.nt"])
                ),
            )
            if store
            else ()
        )
    if report.result.get("committed", 0):
        return (NextStep("Nothing. The batch is in the store."),)
    if not report.request.get("store"):
        return (NextStep("Nothing. The batch can be loaded."),)
    return (
        NextStep(
            "To take the batch into the store:",
            shlex.join([*_command_line(report, CHECK), "--commit"]),
        ),
    )


def _steps_if_undetermined(report: Report) -> tuple[NextStep, ...]:
    """Next steps after the verdict `undetermined`."""
    found = _steps_for_leftovers(report)
    if report.evidence.get("undecided"):
        reasoner = report.evidence.get("reasoner")
        found.append(
            NextStep(
                "Some parts were not decided: give more time (--timeout) or memory (--heap)"
                + (", or let HermiT try (--reasoner auto)." if reasoner == "own" else ".")
            )
        )
    if "not certified" in report.reason:
        certify = shlex.join(
            ["shiq", "certify", "--store", str(report.request.get("store", "DIR"))]
        )
        found.append(
            NextStep(
                "The knowledge base itself has no certificate that it is free of contradictions:",
                certify,
            )
        )
    return tuple(found or [NextStep("The reason says what is missing.")])


def _steps_after_gate(report: Report) -> tuple[NextStep, ...]:
    """Next steps for the user after a gate."""
    committed = report.result.get("committed", 0)
    if report.decision == "accepted":
        return (
            NextStep(
                "Nothing. The batch is in the store."
                if committed
                else "Nothing. The batch can be loaded."
            ),
        )
    again = shlex.join(
        [
            *_command_line(report, GATE, "corrected.nt"),
            *_split_options(report, "quarantine"),
            "--commit",
        ]
    )
    found = []
    if report.conflicts:
        found.append(
            NextStep(
                "Go through the causes below, and correct the new fact, the old one, or the rule."
            )
        )
    if report.decision == "refused" and report.result["verdict"] != Verdict.CONSISTENT.value:
        if report.verdict is Verdict.UNDETERMINED or report.request.get("mode") == "split":
            # Without its culprits the batch could still not be decided.
            return (*found, *_steps_if_undetermined(report))
        found.append(
            NextStep(
                "To take in what contradicts nothing, and set only the rest aside:",
                _split_command(report),
            )
        )
    else:
        found.append(NextStep("Correct what was set aside, and hand it in again:", again))
    return tuple(found)


def _split_command(report: Report) -> str:
    """Command line to suggest: a gate that accepts the consistent part of the batch."""
    return shlex.join(
        [*_command_line(report, GATE), *_split_options(report, "accepted", "quarantine")]
    )


def _split_options(report: Report, *sides: str) -> list[str]:
    """Options ``--mode split`` and, for each of ``sides`` (accepted, quarantine), an output file
    with an unused name, for a suggested command of `shiq gate`.
    """
    about = report.request
    end = "" if len(about.get("insertions") or ()) > 1 and len(sides) > 1 else ".nq"
    values = (
        value
        for known in about.values()
        for value in ([known] if isinstance(known, str) else known)
    )
    taken = {os.path.normpath(value) for value in values}
    found = ["--mode", "split"]
    for side in sides:
        names = (f"{side}{i or ''}{end}" for i in itertools.count())
        found += [f"--{side}", next(name for name in names if name not in taken)]
    return found


#: What description logic says, and what people say; in this order.
_PLAIN_WORDS = (
    (
        "a TBox axiom among assertions: insertions may not change the TBox",
        "a rule among facts: a batch may not change the ontology",
    ),
    ("a TBox without axioms", "an ontology without rules"),
    ("TBox", "ontology"),
    ("an axiom", "a rule"),
    ("axiom", "rule"),
    ("assertions", "facts"),
)


def _steps_for_leftovers(report: Report) -> list[NextStep]:
    """Next steps for each kind of leftover that blocks the verdict."""
    counts = Counter[str]()
    for left in report.leftovers:
        if left.blocks:
            counts[left.kind] += left.number
    if not counts:
        return []
    kinds = [kind for kind, _ in counts.most_common()]
    steps = [
        NextStep(
            f"{counts[kind]:,} × {kind}: {in_plain_words(KINDS[kind])}. Correct each where the table below says."
        )
        for kind in kinds
    ]
    allowing = [part for kind in kinds for part in ("--allow", kind)]
    leaving = "Or, if all that is meant so, leave it out of account, by your decision:"
    return [
        *steps,
        NextStep(leaving, shlex.join([*_command_line(report, report.command), *allowing])),
    ]


def in_plain_words(text: str) -> str:
    """Replace description-logic terms in ``text`` by everyday ones."""
    for technical, plain in _PLAIN_WORDS:
        text = text.replace(technical, plain)
    return text


def other_reasons(report: Report) -> tuple[str, ...]:
    """Parts of the verdict's reason that are not about leftovers (for those there are next steps)."""
    told = tuple(f" × {left.kind}, first: " for left in report.leftovers if left.blocks)
    return tuple(
        part
        for part in report.reason.split("; ")
        if part and not any(start in part for start in told)
    )


def _command_line(report: Report, command: str, insertions: str = "") -> list[str]:
    """Words of a command line for ``command`` with the same inputs as the reported one.
    ``insertions``: names a batch instead of the one checked.
    """
    about = report.request
    found = ["shiq", command, *about.get("ontology", ())]
    if command == INDEX:
        known = [part for file in about.get("tbox", ()) for part in ("--tbox", str(file))]
        # What this run wrote is there by now.
        return [
            *found,
            *known,
            "--store",
            str(about.get("store", "DIR")),
            "--replace",
            *about.get("abox", ()),
        ]
    for name, option in (
        ("store", "--store"),
        ("tbox", "--tbox"),
        ("abox", "--abox"),
        ("insertions", "--insert"),
    ):
        if name == "insertions" and insertions:
            found += [option, insertions]
            continue
        given = about.get(name) or ()
        for value in [given] if isinstance(given, str) else given:
            found += [option, str(value)]
    for value in () if insertions else about.get("deletions") or ():
        found += ["--delete", str(value)]
    return found if about else ["shiq", command, "--store", "DIR", "--insert", "FILE"]


# --- parts ----------------------------------------------------------------------------------------


def bucket_text(name: str) -> str:
    """Describe in words one category of the count of triples, such as "leftover:undeclared"."""
    kind = name.removeprefix("leftover:")
    if kind != name:
        return f"not understood: {kind}"
    return BUCKETS.get(name, name.replace("-", " "))


def input_rows(report: Report) -> Sequence[tuple[str, str]]:
    """Inputs of the command: (title, value)."""
    names = {
        "store": "knowledge base",
        "snapshot": "snapshot",
        "tbox": "ontology",
        "ontology": "ontology and data",
        "abox": "known facts",
        "insertions": "new facts",
        "deletions": "deleted facts",
        "mode": "mode",
        "unit": "set aside together",
        "policy": "policy",
    }
    found = []
    for key, title in names.items():
        given = report.request.get(key)
        if given:
            found.append(
                (
                    title,
                    ", ".join(map(str, given)) if isinstance(given, list | tuple) else str(given),
                )
            )
    return found

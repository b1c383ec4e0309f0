"""Text of a gate's answer, and of `shiq index --set-aside-known`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shiq.inputs.reading import Place
from shiq.jobs.gate import REFUSED, WITH_THE_BATCH, GateAnswer, SetAsideLine
from shiq.jobs.gate.waivers import INFO, Judgement
from shiq.jobs.known_conflicts import KnownConflicts
from shiq.jobs.text.results import (
    SHOWN,
    conflict_lines,
    escape_controls,
    figure_lines,
    leftover_lines,
)
from shiq.support import pluralize


def headline(gated: GateAnswer) -> str:
    """One line with the gate's decision about the batch."""
    dry = " (dry run: nothing is written, and the store stays as it is)" if gated.dry_run else ""
    return f"{gated.decision.upper()}{dry}"


def gate_text(gated: GateAnswer, *, verbose: bool = False) -> str:
    """Text of a gate's answer: decision, reasons, quarantined and tolerated lines, figures of the
    last check.
    """
    lines = [headline(gated)]
    if gated.reason:
        lines += [f"  {gated.reason}"]
    triples = sum(line.triple is not None for line in gated.accepted)
    beside = f", {len(gated.tolerated):,} tolerated and kept separately" if gated.tolerated else ""
    aside = f"{pluralize(triples, 'triple')} accepted, {pluralize(len(gated.set_aside), 'line')} set aside{beside}"
    if gated.decision == REFUSED:
        aside = f"none of its {pluralize(len(gated.set_aside), 'line')} is accepted"
    lines += [f"{aside} ({pluralize(gated.rounds, 'check')})"]
    if not gated.is_proven:
        lines += ["  fewer lines might resolve these conflicts: the search was cut short"]
    lines += _line_texts(gated, [x for x in gated.set_aside if x.reason != WITH_THE_BATCH], verbose)
    if n := gated.unexamined_lines:
        were = "line was" if n == 1 else "lines were"
        lines += [f"  {n:,} {were} left without a suggestion: give more time by --explain-seconds"]
    if gated.tolerated:
        lines += [
            "",
            "tolerated: contradicts, does not block the batch, and is not part of what was certified",
        ]
        lines += _line_texts(gated, gated.tolerated, verbose)
    lines += _judgement_lines(gated, verbose)
    if gated.disputes:
        lines += ["", "what is accepted contradicts assertions that the store has set aside:"]
        for i, conflict in enumerate(gated.disputes if verbose else gated.disputes[:SHOWN], 1):
            lines += [row.replace("base  ", "aside ", 1) for row in conflict_lines(i, conflict)]
    lines += _identity_lines(gated, verbose)
    leftovers = [
        x
        for x in gated.result.evidence.leftovers
        if gated.decision == REFUSED or x.kind == "set-aside"
    ]
    lines += leftover_lines(replace(gated.result.evidence, leftovers=tuple(leftovers)), verbose)
    lines += ["", *figure_lines(gated.result)]
    if gated.result.committed:
        lines += [f"committed: the store holds snapshot {gated.result.committed}"]
    return "\n".join(lines)


def known_text(known: KnownConflicts, *, is_refuted: bool = False) -> str:
    """Text about known conflicts that were set aside, by cause. ``is_refuted``: the remaining
    assertions are still inconsistent.
    """
    if is_refuted:
        said = f"{known_text(known)}\n" if known.quarantine else ""
        return f"{said}what is left contradicts too: conflicts by axioms outside SHIQ(D) are not set aside; remove them by hand"
    if not known.quarantine:
        return "nothing had to be set aside"
    groups = known.groups
    lines = [
        f"{len(known.quarantine):,} assertions set aside, {len(known.conflicts):,} minimal conflicts of {len(groups):,} causes:"
    ]
    for found in groups:
        lines += [
            f"  {len(found.conflicts):>9,}  {escape_controls(found.pattern.title)}  [{found.pattern.id}]"
        ]
        lines += [f"  {'':9}  {escape_controls(found.pattern.sentence)}"]
    if known.undecided_count:
        lines.append(
            f"  {known.undecided_count:,} of them are values that have to be of a datatype that nothing defines: not decided"
        )
    if known.unexplained_count:
        lines.append(
            f"{known.unexplained_count:,} groups are known to be inconsistent and were not explained"
        )
    return "\n".join(lines)


def _line_texts(gated: GateAnswer, rows: Sequence[SetAsideLine], verbose: bool) -> list[str]:
    """Text about each line in quarantine or tolerated: file and line, reason, content. The first
    `SHOWN`, or all with ``verbose``.
    """
    lines = []
    for x in rows if verbose else rows[:SHOWN]:
        numbers = f" ({', '.join(f'conflict {n + 1}' for n in x.conflicts)})" if x.conflicts else ""
        place = str(Place(gated.files[x.line.file], x.line.position, column=x.line.column))
        hint = f" ({escape_controls(x.hint)})" if x.hint else ""
        lines += [
            f"  {escape_controls(place)}: {escape_controls(x.reason)}{numbers}{hint}",
            f"    {escape_controls(x.line.text.strip())}",
        ]
    if not verbose and len(rows) > SHOWN:
        lines += [f"  … {len(rows) - SHOWN:,} more: -v shows them, --json FILE writes them."]
    return lines


def _judgement_lines(gated: GateAnswer, verbose: bool) -> list[str]:
    """Lines about the conflicts by cause and by effect of the policy (fail, warn, info, waived,
    known), one sample each; all with ``verbose``.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for i, found in enumerate(gated.judged_conflicts):
        if verbose or found.judgement.effect != INFO:
            groups.setdefault((found.pattern.id, str(found.judgement)), []).append(i)
    lines: list[str] = []
    for places in list(groups.values())[: None if verbose else SHOWN]:
        first = gated.judged_conflicts[places[0]]
        pattern, judged = first.pattern, first.judgement
        times = f"{len(places):,} × " if len(places) > 1 else ""
        lines += ["", f"{times}{escape_controls(pattern.title)}  [{pattern.id}]"]
        if judged != Judgement():
            lines.append(f"  {escape_controls(str(judged))}")
        for i in places if verbose else places[:1]:
            found = gated.judged_conflicts[i]
            title, *rows = conflict_lines(i + 1, found.conflict)
            lines += [title, f"  {escape_controls(found.sentence)}", *rows]
    if not verbose and len(groups) > SHOWN:
        lines += [
            "",
            f"… {len(groups) - SHOWN:,} more causes: -v shows them, --json FILE writes them.",
        ]
    return lines


def _identity_lines(gated: GateAnswer, verbose: bool) -> list[str]:
    """Lines about individuals that become equal."""
    found = gated.identities or ()
    if not found or (gated.identity_policy == "allow" and not verbose):
        return []
    becomes = "becomes" if len(found) == 1 else "become"
    lines = ["", f"{pluralize(len(found), 'group')} of individuals {becomes} equal by the batch:"]
    for identity in found if verbose else found[:SHOWN]:
        lines.append(f"  {escape_controls(' = '.join(identity.individuals))}")
        rows = [*identity.insertions, *identity.base, *identity.axioms] or [
            "by several assertions together"
        ]
        lines += [
            f"    {'because' if i == 0 else '':9}{escape_controls(row)}"
            for i, row in enumerate(rows)
        ]
    if not verbose and len(found) > SHOWN:
        lines.append(f"  … {len(found) - SHOWN:,} more: -v shows them, --json FILE writes them.")
    return lines

"""Results as plain text, for people at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.evaluation.generation import GenerationReport
from jobs.gate import REFUSED, Gated, SetAside
from jobs.gate.known import Known
from jobs.gate.waivers import INFO, Judgement
from shiq.conflict import Conflict
from shiq.explanation import Group
from shiq.result import Evidence, Result, Statistics
from shiq.verdict import INFORMATIVE, UNINTERPRETED, Leftover, Verdict

#: Kinds of leftovers that were interpreted, and are told all the same.
NOTES = frozenset({"unmatched-deletion", "unsatisfiable-class", "set-aside", "many-equal", "hub"})

#: Conflicts and leftovers shown without --verbose.
SHOWN = 10


def result_text(result: Result, *, verbose: bool = False) -> str:
    """The verdict first, then why, then figures."""
    lines = [result.verdict.value.upper()]
    if result.reason:
        lines += [f"  {part}" for part in result.reason.split("; ")]
    if result.verdict is Verdict.INCONSISTENT:
        lines += _conflicts(result, verbose)
    lines += _leftovers(result.evidence, verbose)
    lines += ["", *_figures(result)]
    lines += _why_pulled(result, verbose)
    if result.committed:
        lines += [f"committed: the store holds snapshot {result.committed}"]
    return "\n".join(lines)


def gated_text(gated: Gated, *, verbose: bool = False) -> str:
    """The decision first, then why, what was set aside and what is tolerated, and the last check's figures."""
    lines = [gated.decision.upper()]
    if gated.dry_run:
        lines[0] += " (dry run: nothing is written, and the store stays as it is)"
    if gated.reason:
        lines += [f"  {gated.reason}"]
    triples = sum(line.triple is not None for line in gated.accepted)
    beside = f", {len(gated.tolerated):,} tolerated and kept beside" if gated.tolerated else ""
    lines += [f"{triples:,} triples accepted, {len(gated.set_aside):,} lines set aside{beside} ({gated.rounds} checks)"]
    lines += _rows(gated, gated.set_aside, verbose)
    if gated.tolerated:
        lines += ["", "tolerated: contradicts, does not hold the batch up, and is not in what was certified"]
        lines += _rows(gated, gated.tolerated, verbose)
    lines += _judged(gated, verbose)
    if gated.disputes:
        lines += ["", "what is accepted contradicts assertions that the store has set aside:"]
        for i, conflict in enumerate(gated.disputes if verbose else gated.disputes[:SHOWN], 1):
            lines += [row.replace("base  ", "aside ", 1) for row in _conflict(i, conflict)]
    lines += _identities(gated, verbose)
    leftovers = [x for x in gated.result.evidence.leftovers if gated.decision == REFUSED or x.kind == "set-aside"]
    lines += _leftovers(replace(gated.result.evidence, leftovers=tuple(leftovers)), verbose)
    lines += ["", *_figures(gated.result)]
    if gated.result.committed:
        lines += [f"committed: the store holds snapshot {gated.result.committed}"]
    return "\n".join(lines)


def known_text(known: Known) -> str:
    """What `shiq index --set-aside-known` prints below its verdict: what was set aside, by cause."""
    if not known.asides:
        return "nothing had to be set aside"
    groups = known.groups
    lines = [f"{len(known.asides):,} assertions set aside, {len(known.conflicts):,} minimal conflicts of {len(groups):,} causes:"]
    for found in groups:
        lines += [f"  {len(found.conflicts):>9,}  {_safe(found.pattern.title)}  [{found.pattern.id}]"]
        lines += [f"  {'':9}  {_safe(found.pattern.sentence)}"]
    if known.undecided:
        lines.append(f"  {known.undecided:,} of them are values that have to be of a datatype that nothing defines: not decided")
    if known.unexplained:
        lines.append(f"{known.unexplained:,} groups are known to be inconsistent and were not explained")
    return "\n".join(lines)


def _rows(gated: Gated, rows: Sequence[SetAside], verbose: bool) -> list[str]:
    lines = []
    for x in rows if verbose else rows[:SHOWN]:
        numbers = f" ({', '.join(f'conflict {n + 1}' for n in x.conflicts)})" if x.conflicts else ""
        place = f"{gated.files[x.line.file]}:{x.line.number}"
        lines += [f"  {_safe(place)}: {_safe(x.reason)}{numbers}", f"    {_safe(x.line.text.strip())}"]
    if not verbose and len(rows) > SHOWN:
        lines += [f"  … {len(rows) - SHOWN:,} more: --quarantine FILE writes them."]
    return lines


def _judged(gated: Gated, verbose: bool) -> list[str]:
    """The conflicts, by cause and by what the policy says of them, one of each; all with ``verbose``."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, judged in enumerate(gated.judgements):
        if verbose or judged.effect != INFO:
            groups.setdefault((gated.patterns[i].id, str(judged)), []).append(i)
    lines: list[str] = []
    for places in list(groups.values())[: None if verbose else SHOWN]:
        pattern, judged = gated.patterns[places[0]], gated.judgements[places[0]]
        count = f"{len(places):,} × " if len(places) > 1 else ""
        lines += ["", f"{count}{_safe(pattern.title)}  [{pattern.id}]"]
        if judged != Judgement():
            lines.append(f"  {_safe(str(judged))}")
        for i in places if verbose else places[:1]:
            title, *rows = _conflict(i + 1, gated.conflicts[i])
            lines += [title, f"  {_safe(gated.sentences[i])}", *rows]
    if not verbose and len(groups) > SHOWN:
        lines += ["", f"… {len(groups) - SHOWN:,} more causes: -v shows them, --json FILE writes them."]
    return lines


def _identities(gated: Gated, verbose: bool) -> list[str]:
    if gated.identities is None and gated.decision != REFUSED and gated.identity_policy != "allow":
        engine = gated.result.evidence.engine
        return ["", f"which individuals become equal is not told by the engine {engine}: --engine local tells it"]
    found = gated.identities or ()
    if not found or (gated.identity_policy == "allow" and not verbose):
        return []
    count = len(found)
    lines = ["", f"{count:,} group{'s' if count != 1 else ''} of individuals become equal by the batch:"]
    for identity in found if verbose else found[:SHOWN]:
        lines.append(f"  {_safe(' = '.join(identity.individuals))}")
        rows = [*identity.insertions, *identity.base, *identity.axioms] or ["by several assertions together"]
        lines += [f"    {'because' if i == 0 else '':9}{_safe(row)}" for i, row in enumerate(rows)]
    if not verbose and count > SHOWN:
        lines.append(f"  … {count - SHOWN:,} more: -v shows them, --json FILE writes them.")
    return lines


def _why_pulled(result: Result, verbose: bool) -> list[str]:
    """What made the check look at individuals that the batch does not touch, where that was asked for."""
    if result.why_pulled is None:
        return []
    if not result.why_pulled:
        return ["", "nothing was pulled in: the check looked at what the batch touches alone"]
    lines = ["", f"{sum(x.count for x in result.why_pulled):,} pulled in, by what asked for them first:"]
    for x in result.why_pulled if verbose else result.why_pulled[:SHOWN]:
        lines += [f"  {x.count:>9,}  {_safe(x.text) or _PULLED[x.reason]}", *(f"  {'':9}    {_safe(a)}" for a in x.axioms)]
        lines += [f"  {'':9}    such as {_safe(', '.join(x.examples))}"]
    if not verbose and len(result.why_pulled) > SHOWN:
        lines += [f"  … {len(result.why_pulled) - SHOWN:,} more reasons: -v shows them, --json FILE writes them."]
    return lines


_PULLED = {
    "roles": "an axiom on roles, or a negative assertion",
    "equality": "individuals that the batch makes equal",
}


def _conflicts(result: Result, verbose: bool) -> list[str]:
    count = len(result.conflicts)
    more = f", and {result.more_conflicts:,} more not explained" if result.more_conflicts else ""
    groups = result.groups
    causes = f" with {len(groups):,} cause{'s' if len(groups) != 1 else ''}" if count > 1 else ""
    minimal = "minimal " if all(conflict.is_minimal for conflict in result.conflicts) else ""
    lines = [f"{count:,} {minimal}conflict{'s' if count != 1 else ''}{causes}{more}:"]
    for group in groups if verbose else groups[:SHOWN]:
        lines += ["", *_group(result, group, verbose)]
    if not verbose and len(groups) > SHOWN:
        left = sum(len(group.conflicts) for group in groups[SHOWN:])
        lines += ["", f"… {len(groups) - SHOWN:,} more causes, {left:,} conflicts: -v shows them, --json FILE writes them."]
    return lines


def _group(result: Result, group: Group, verbose: bool) -> list[str]:
    """A cause: its title and sentence, and one of its conflicts; all of them with ``verbose``."""
    count, pattern = len(group.conflicts), group.pattern
    lines = [f"{f'{count:,} × ' if count > 1 else ''}{_safe(pattern.title)}  [{pattern.id}]"]
    if count > 1:
        lines.append(f"  {_safe(pattern.sentence)}")
    for place in group.conflicts if verbose else group.conflicts[:1]:
        title, *rows = _conflict(place + 1, result.conflicts[place])
        lines += [title, f"  {_safe(result.explained.sentence(place))}", *rows]
    return lines


def _conflict(number: int, conflict: Conflict) -> list[str]:
    lines = [f"conflict {number}{'' if conflict.is_minimal else ' (not shown to be minimal)'}"]
    for title, rows in (
        ("inserted", conflict.insertions),
        ("base", conflict.base),
        ("axioms", conflict.axioms),
    ):
        lines += [f"  {title if i == 0 else '':9}{_safe(row)}" for i, row in enumerate(rows)]
        if title == "inserted":
            lines += [f"  {'in' if i == 0 else '':9}{_safe(graph)}" for i, graph in enumerate(conflict.graphs)]
    return lines


def _leftovers(evidence: Evidence, verbose: bool) -> list[str]:
    fail_on = INFORMATIVE if UNINTERPRETED in evidence.fail_on else frozenset(evidence.fail_on)
    return leftovers_text(evidence.leftovers, evidence.allowed, fail_on, verbose)


def leftovers_text(
    leftovers: Sequence[Leftover], allowed: Collection[str], fail_on: frozenset[str] = frozenset(), verbose: bool = False
) -> list[str]:
    """How many leftovers there are of each kind, then the first of them."""
    if not leftovers:
        return []
    kinds = Counter[tuple[str, str]]()
    for leftover in leftovers:
        kind = leftover.kind
        standing = ""
        if kind in allowed:
            standing = " (allowed)"
        elif kind in INFORMATIVE - fail_on:
            standing = " (for information)"
        elif leftover.agreed and kind not in fail_on:
            standing = " (of the base, allowed when it was certified)"
        kinds[kind, standing] += leftover.count
    parts = [f"{count:,} {kind}{standing}" for (kind, standing), count in sorted(kinds.items())]
    lines = ["", f"{'not interpreted' if {kind for kind, _ in kinds} - NOTES else 'to be known'}: {', '.join(parts)}"]
    shown = leftovers if verbose else leftovers[:SHOWN]
    for leftover in shown:
        times = f" × {leftover.count:,}" if leftover.count > 1 else ""
        # Where there is no line to look at, the text is all that says what is meant.
        text = f": {leftover.text}" if leftover.text and not leftover.line else ""
        lines.append(f"  {_safe(str(leftover))}{times}{_safe(text)}")
    if len(shown) < len(leftovers):
        lines.append(f"  … {len(leftovers) - len(shown):,} more: -v shows them.")
    return lines


def _figures(result: Result) -> list[str]:
    s = result.statistics
    seconds = "  ".join(f"{stage} {value:.2f} s" for stage, value in s.seconds.items() if value >= 0.005)
    share = f" ({s.add_set / s.assertions:.2%} of the base)" if s.add_set <= s.assertions and s.assertions else ""
    return [
        f"base {s.assertions:,} assertions, {s.insertions:,} inserted; looked at {s.add_set:,}{share}, {s.pulled_in:,} pulled in"
        + _amplification(s),
        f"{s.modules:,} modules of {s.shapes:,} shapes, {s.reasoner_calls:,} put to the reasoner "
        f"({result.evidence.criterion}, {result.evidence.engine}, {result.evidence.reasoner})",
        *_sent(result.evidence),
        *result.evidence.notes,
        seconds,
    ]


def _amplification(statistics: Statistics) -> str:
    """|A_add| for each assertion of the batch."""
    if not statistics.insertions or statistics.assertions == statistics.insertions:
        return ""
    return f" ({statistics.add_set / statistics.insertions:.1f} for each inserted)"


def _sent(evidence: Evidence) -> list[str]:
    sent = evidence.sent
    if not sent.get("questions"):
        return []
    return [
        f"{sent['questions']:,} questions to a reasoner outside: {sent['axioms_sent']:,} axioms sent, "
        + (f"{sent['axioms_parsed']:,} seen to be read" if sent["axioms_parsed"] else "how many it read it does not say")
    ]


def _safe(text: str) -> str:
    """``text`` without characters that could move the cursor or hide."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04X}" for c in text)


def simplified_text(report: dict[str, Any]) -> str:
    """What `shiq simplify` prints: each part under its name."""
    lines: list[str] = []
    for name, part in report.items():
        if isinstance(part, list):
            lines.append(f"{name} ({len(part)})")
            lines += [
                f"  {row if isinstance(row, str) else ', '.join(map(str, row.values())) if isinstance(row, dict) else row}"
                for row in part
            ]
        else:
            lines.append(f"{name}: {part}")
        lines.append("")
    return "\n".join(lines).rstrip()


def report_text(report: GenerationReport) -> str:
    """What `shiq generate` prints."""
    lines = [
        f"{report.out}: {', '.join(report.files)}",
        f"{report.triples:,} triples (class {report.class_assertions:,}, role {report.role_assertions:,}, "
        f"data {report.data_assertions:,}), {report.departments} departments, {report.seconds:.1f} s",
    ]
    if report.insertions:
        lines.append(f"{report.insertions:,} insertions, {report.faults} planted contradictions, {report.culprits} culprits")
    return "\n".join(lines)


def status_text(found: Mapping[str, Any]) -> str:
    """`jobs.store.status` for people."""
    certificate = found["certificate"]
    certified = "not certified"
    if certificate:
        certified = f"{certificate['verdict']}, decided by {certificate['reasoner']} on {certificate['date']}"
        certified += f": {certificate['reason']}" if certificate["reason"] else ""
    tables = found["tables"].values()
    kinds = ", ".join(f"{kind} {found[f'{kind}_assertions']:,}" for kind in ("class", "role", "data"))
    return "\n".join(
        [
            f"snapshot {found['snapshot']}, made {found['created']}",
            f"certificate: {certified}",
            "the model that certified it is kept: checks patch it (criterion model)"
            if found["completed"]
            else "no model is kept: checks use the criterion clausal (`shiq certify --store DIR` makes one)",
            f"{found['assertions']:,} assertions ({kinds}) about {found['individuals']:,} individuals",
            f"{found['axioms']:,} axioms; {found['leftovers']:,} leftovers{_agreed(certificate or {})}",
            *_asides(found["set_aside"]),
            f"{sum(t['files'] for t in tables):,} files, {sum(t['bytes'] for t in tables) / 2**20:,.1f} MiB, "
            f"{sum(t['removed'] for t in tables):,} removed rows",
            *_snapshots(found["snapshots"]),
        ]
    )


def _agreed(certificate: Mapping[str, Any]) -> str:
    """Which leftovers of the base were allowed when it was certified."""
    counts, allowed = certificate.get("counts", {}), certificate.get("allowed", ())
    parts = [f"{counts[kind]:,} {kind}" for kind in sorted(allowed) if counts.get(kind)]
    return f", of which allowed, once for all: {', '.join(parts)}" if parts else ""


def _asides(counts: Mapping[str, int]) -> list[str]:
    """What belongs to the data and was set aside because it contradicts, where there is any."""
    parts = ", ".join(f"{count:,} {why}" for why, count in sorted(counts.items()))
    return [f"set aside, and in no check: {parts} (`shiq export --set-aside` prints them)"] if parts else []


def _snapshots(kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """The snapshots that are kept, latest first."""
    lines = [f"{len(kept):,} snapshot{'s' if len(kept) != 1 else ''} kept:"]
    for past in kept[:SHOWN]:
        verdict = past["verdict"] or "not certified"
        lines.append(f"  {past['snapshot']}, made {past['created']}: {past['assertions']:,} assertions, {verdict}")
    if len(kept) > SHOWN:
        lines.append(f"  … down to {kept[-1]['snapshot']}: --json FILE lists them all.")
    return lines

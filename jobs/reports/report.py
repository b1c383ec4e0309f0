"""Report: the JSON answer of a command, read into values.

Every format is made from it, so `shiq report` makes the same reports again from the JSON alone.
Unknown keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiq.answers.result import Conflict
from shiq.answers.verdict import Verdict, is_blocking_kind
from shiq.explanation import ConflictGroup, ExplainedConflicts, Labels
from shiq.inputs.reading import Place
from shiq.jobs.reports.statement_reader import read_conflict

CHECK, CERTIFY, INDEX, GATE = "check", "certify", "index", "gate"
#: The reason of a line that is out only because all of its batch is.
WITH_THE_BATCH = "the batch was refused"
#: What a contradiction does that no policy says anything about.
FAIL = "fail"


@dataclass(frozen=True, slots=True)
class StatedFact:
    """Assertion as an N-Triples line, with the files and lines where it was read."""

    text: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedConflict:
    """Conflict (minimal contradiction) as reports show it.

    number: its position in the list, from 1.
    effect: effect of the gate's policy (fail, warn, info, waived, known).
    remarks: further sentences about it.
    """

    number: int
    insertions: tuple[StatedFact, ...]
    base: tuple[StatedFact, ...]
    axioms: tuple[str, ...]
    sentence: str
    keys: tuple[str, ...] = ()
    effect: str = FAIL
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedLine:
    """Line of the batch that a gate set aside. ``conflicts``: numbers of its contradictions, from
    1.
    """

    place: Place
    text: str
    reason: str
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedLeftover:
    """Statement that was not interpreted, as reports show it.

    blocks: whether it blocks the verdict `consistent`.
    count: number of triples or lines. number: of axioms, assertions and lines.
    """

    kind: str
    message: str
    place: Place
    text: str
    hint: str
    count: int
    blocks: bool
    number: int = 1


@dataclass(frozen=True, eq=False)
class Report:
    """Answer of a command, read from its JSON.

    document: the JSON as it is.
    result: the JSON of the check, for a gate of its last check.
    decision: of a gate, else "".
    tolerated_lines: lines that the gate's policy keeps separately.
    identities: individuals that become equal by what the gate accepts.
    request: command, time, version and inputs.
    """

    document: Mapping[str, Any]
    result: Mapping[str, Any]
    command: str
    verdict: Verdict
    reason: str
    decision: str
    conflicts: Sequence[Mapping[str, Any]]
    explained_conflicts: ExplainedConflicts
    leftovers: tuple[ReportedLeftover, ...]
    quarantined_lines: tuple[ReportedLine, ...] = ()
    tolerated_lines: tuple[ReportedLine, ...] = ()
    identities: tuple[Mapping[str, Any], ...] = ()
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Statistics of the check, by JSON key."""
        return self.result["statistics"]

    @property
    def evidence(self) -> Mapping[str, Any]:
        """Evidence of the check, by JSON key."""
        return self.result["evidence"]

    @property
    def causes(self) -> tuple[ConflictGroup, ...]:
        """Conflicts grouped by their pattern (cause), most frequent first."""
        return self.explained_conflicts.groups

    @property
    def labels(self) -> Labels:
        """Labels of the terms that occur in conflicts, for display."""
        return self.explained_conflicts.labels

    @property
    def unexplained_count(self) -> int:
        """Number of contradictions that are known but not explained."""
        return int(self.result.get("more_conflicts", 0))

    @property
    def lines_with_own_reason(self) -> tuple[ReportedLine, ...]:
        """Lines that were set aside for a reason of their own, not only because the whole batch was
        refused.
        """
        return tuple(x for x in self.quarantined_lines if x.reason != WITH_THE_BATCH)

    def conflict_at(self, place: int) -> ReportedConflict:
        """Read the conflict at a position of ``conflicts``."""
        raw = self.conflicts[place]
        return _read_conflict(
            raw, place + 1, raw.get("sentence") or self.explained_conflicts.sentence(place)
        )

    @property
    def disputes(self) -> tuple[ReportedConflict, ...]:
        """Conflicts of accepted lines with assertions that the store had set aside in its
        quarantine ledger.
        """
        found = self.document.get("disputes", ())
        explained = ExplainedConflicts(
            [read_conflict(raw) for raw in found], self.document.get("labels", {})
        )
        return tuple(
            _read_conflict(raw, i + 1, explained.sentence(i)) for i, raw in enumerate(found)
        )


def read_report(document: Mapping[str, Any], values: Sequence[Conflict] | None = None) -> Report:
    """Read the JSON answer of `shiq check`, `certify`, `index` or `gate`, which must fit the
    schema. ``values``: its conflicts as objects, if the caller has them.
    """
    result = document.get("result", document)
    evidence = result["evidence"]
    conflicts = document["conflicts"]
    about = document.get("about", {})
    of_base = any(c.get("origin") == "base" for c in conflicts)
    return Report(
        document,
        result,
        about.get("command") or (GATE if "decision" in document else CERTIFY if of_base else CHECK),
        Verdict(document["verdict"]),
        document.get("reason", ""),
        document.get("decision", ""),
        conflicts,
        ExplainedConflicts(
            [*map(read_conflict, conflicts)] if values is None else values,
            document.get("labels", {}),
        ),
        tuple(_read_leftover(x, evidence) for x in evidence["leftovers"] if not x.get("known")),
        tuple(map(_read_line, document.get("set_aside", ()))),
        tuple(map(_read_line, document.get("tolerated", ()))),
        tuple(document.get("identities") or ()),
        about,
    )


def policy_effect(raw: Mapping[str, Any]) -> str:
    """Effect of a gate's policy on the conflict ``raw``: fail, warn, info, waived or known."""
    return str(raw.get("judgement", {}).get("effect", FAIL))


def _read_place(raw: Mapping[str, Any]) -> Place:
    """Read file, line and columns of a table from an object of a JSON answer."""
    return Place(raw.get("source", ""), raw.get("line", 0), column=raw.get("column", ""))


def _read_line(raw: Mapping[str, Any]) -> ReportedLine:
    """Read a line in quarantine from its JSON."""
    reason = f"{raw['reason']} ({raw['hint']})" if raw.get("hint") else raw["reason"]
    return ReportedLine(
        _read_place(raw), raw["text"], reason, tuple(n + 1 for n in raw["conflicts"])
    )


def _read_conflict(raw: Mapping[str, Any], number: int, sentence: str) -> ReportedConflict:
    """Read a conflict from its JSON."""
    places: dict[tuple[str, int], list[Place]] = {}
    for found in raw.get("locations", ()):
        places.setdefault((found["side"], found["index"]), []).append(_read_place(found))
    for i, known in enumerate(raw.get("places", ())):
        told = [_read_place(x) for x in known if x.get("source")]
        if told:
            places.setdefault(("insertions", i), told)

    def read_facts(side: str) -> tuple[StatedFact, ...]:
        return tuple(
            StatedFact(text, tuple(places.get((side, i), ()))) for i, text in enumerate(raw[side])
        )

    return ReportedConflict(
        number,
        read_facts("insertions"),
        read_facts("base"),
        tuple(raw["axioms"]),
        sentence,
        tuple(raw.get("keys", ())),
        policy_effect(raw),
        _conflict_remarks(raw),
    )


def _read_leftover(raw: Mapping[str, Any], evidence: Mapping[str, Any]) -> ReportedLeftover:
    """Read a leftover from its JSON, and from that of the ``evidence`` whether it blocks."""
    settled = [raw["kind"]] if raw.get("agreed") or raw.get("known") else []
    allowed = [*evidence.get("allowed", ()), *settled]
    return ReportedLeftover(
        raw["kind"],
        raw["message"],
        Place(raw.get("source", ""), raw.get("line", 0)),
        raw.get("text", ""),
        raw.get("hint", ""),
        raw.get("count", 1),
        is_blocking_kind(raw["kind"], allowed, evidence.get("fail_on", ())),
        raw.get("items") or raw.get("count", 1),
    )


def _conflict_remarks(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Remarks about a conflict: that it may not be minimal, and what a policy or waiver says of it."""
    found = []
    if raw.get("minimal") is False:
        found.append(
            "Time ran out while this was narrowed down: not everything listed need be part of the contradiction."
        )
    judgement = raw.get("judgement", {})
    owner, until, why = (judgement.get(key, "") for key in ("owner", "expires", "reason"))
    if judgement.get("expired"):
        found.append(f"A waiver of {owner} ended on {until}: {why}")
    elif owner:
        found.append(f"Waived by {owner} until {until}: {why}")
    elif policy_effect(raw) != FAIL:
        found.append(_EFFECTS.get(policy_effect(raw), policy_effect(raw)))
    return tuple(found)


_EFFECTS = {
    "warn": "A warning, by the policy: it does not block the batch. Its lines are kept separately.",
    "info": "For information, by the policy: it does not block the batch. Its lines are kept separately.",
    "known": "Known: with a fact that was set aside in the store before.",
}

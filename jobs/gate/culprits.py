"""Choose the lines to set aside for the conflicts: all of them, or a smallest set that breaks every
conflict.

The choice is made from all conflicts found so far, each time anew. With `LEAST` a line may
therefore return when a later conflict makes another choice cheaper.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path

from shiq.answers.result import Conflict, Result
from shiq.api import certify
from shiq.inputs import reading as quarantine
from shiq.inputs.reading import QuarantinedAssertion
from shiq.jobs.gate.answer import JudgedConflict, SetAsideLine
from shiq.jobs.gate.batch import AssertionLines, GateBatch
from shiq.jobs.gate.lines import Line, Triple, read_result_triple
from shiq.jobs.gate.waivers import KNOWN, WAIVED, Judgement, Policy
from shiq.jobs.hitting_sets import smallest_hitting_set
from shiq.model import TBox
from shiq.model.ntriples import assertion_lines

#: What is set aside of conflicts: all insertions of each, since nothing tells which is the wrong
#: one; or as few lines as will do.
ALL, LEAST = "all", "least"


@dataclass
class Culprits:
    """Conflicts of a batch found so far, and the lines chosen to be set aside to break them.

    choice: `ALL` insertions of each conflict, or as few lines as possible (`LEAST`).
    unit: what is set aside together with a line (`UNITS`).
    ledger: rows of the store's ledger, by triple.
    quarantined_lines: lines of blocking conflicts, by index.
    tolerated_lines: lines of conflicts that the policy or the ledger lets pass, by index.
    ledger_rows: rows to write to the ledger for tolerated assertions.
    is_proven: no smaller set of lines breaks the conflicts.
    """

    batch: GateBatch
    policy: Policy
    unit: str = "triple"
    choice: str = ALL
    ledger: Mapping[Triple, QuarantinedAssertion] = field(default_factory=dict)
    judged_conflicts: list[JudgedConflict] = field(default_factory=list)
    quarantined_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    tolerated_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    ledger_rows: dict[AssertionLines, QuarantinedAssertion] = field(default_factory=dict)
    is_proven: bool = True
    _blamed_assertions: list[list[AssertionLines]] = field(default_factory=list)
    _lines: dict[AssertionLines, frozenset[int]] = field(default_factory=dict)

    def judge_conflicts(self, result: Result, inside: Collection[int]) -> range:
        """Record the conflicts of ``result``, a check of the lines ``inside`` (indices), with the
        policy's judgement. Returns their positions in ``judged_conflicts``.
        """
        begun = len(self.judged_conflicts)
        for i, conflict in enumerate(result.conflicts):
            pattern = result.explained.pattern(i)
            sentence = result.explained.sentence(i)
            triples = [
                triple for text in conflict.insertions if (triple := read_result_triple(text))
            ]
            judged = self.policy.judge(triples, pattern.id, pattern.rule)
            blamed = [*map(assertion_lines, conflict.insertion_values)]
            if known := [assertion for assertion in blamed if self._ledger_entry(assertion)]:
                # Of a known conflict what the store had set aside goes, nothing else.
                judged, blamed = Judgement(KNOWN), known
            self.judged_conflicts.append(JudgedConflict(conflict, pattern, sentence, judged))
            self._blamed_assertions.append(blamed)
            places = dict(zip(conflict.insertions, conflict.places))
            for assertion in blamed:
                lines = self.batch.lines_stating(assertion, inside, places.get(assertion[0], ()))
                self._lines[assertion] = self._lines.get(assertion, frozenset()) | lines
        return range(begun, len(self.judged_conflicts))

    def _ledger_entry(self, assertion: AssertionLines) -> QuarantinedAssertion | None:
        """Find the row of the store's quarantine ledger for an assertion; None if it has none."""
        triple = read_result_triple(assertion[0])
        return self.ledger.get(triple) if triple and len(assertion) == 1 else None

    def choose_lines(self) -> bool:
        """Choose anew the lines to set aside for all recorded conflicts. Returns whether the choice
        has changed.
        """
        before = {*self.quarantined_lines, *self.tolerated_lines}
        prices = [
            {a: self._lines_to_remove(a, found.judgement) for a in blamed if self._lines[a]}
            for blamed, found in zip(self._blamed_assertions, self.judged_conflicts)
        ]
        if self.choice == LEAST:
            chosen, self.is_proven = smallest_hitting_set(
                [list(p.values()) for p in prices], self._rank_lines()
            )
            self.is_proven = self.is_proven and all(
                found.conflict.is_minimal for found in self.judged_conflicts
            )
        else:
            chosen = frozenset().union(
                *(price for of_conflict in prices for price in of_conflict.values())
            )
        self._assign_lines(prices, chosen)
        return before != {*self.quarantined_lines, *self.tolerated_lines}

    def _lines_to_remove(self, assertion: AssertionLines, judged: Judgement) -> frozenset[int]:
        """Indices of the lines to remove so that the batch no longer states ``assertion``, with
        other lines of the same unit.
        """
        return self.batch.with_linked(
            self._lines[assertion], self.unit if judged.blocks or self.unit == "row" else "triple"
        )

    def _assign_lines(
        self, prices: list[dict[AssertionLines, frozenset[int]]], chosen: Collection[int]
    ) -> None:
        """Record the ``chosen`` lines as quarantined (conflict blocks the batch) or tolerated (it
        does not). ``prices``: for each conflict, the lines to remove by assertion.
        """
        out: dict[int, list[int]] = {}
        beside: dict[int, list[int]] = {}
        goes_with, beside_with = set[int](), set[int]()
        self.ledger_rows = {}
        judgements = [found.judgement for found in self.judged_conflicts]
        for n, of_conflict in enumerate(prices):
            for assertion, price in of_conflict.items():
                if not price <= {*chosen}:
                    continue
                for line in self._lines[assertion]:
                    (out if judgements[n].blocks else beside).setdefault(line, []).append(n)
                along = goes_with if judgements[n].blocks else beside_with
                along |= price - self._lines[assertion]
        lines = self.batch.lines
        self.quarantined_lines = {
            i: SetAsideLine(lines[i], "takes part in a contradiction", tuple(n), "conflict")
            for i, n in out.items()
        }
        reason = f"goes with a culprit: the same {self.unit}"
        self.quarantined_lines |= {
            i: SetAsideLine(lines[i], reason, kind="unit") for i in goes_with - out.keys()
        }
        self.tolerated_lines = {
            i: SetAsideLine(lines[i], str(judgements[n[0]]), tuple(n), judgements[n[0]].effect)
            for i, n in beside.items()
            if i not in self.quarantined_lines
        }
        reason = f"goes with what is tolerated: the same {self.unit}"
        for i in beside_with - self.quarantined_lines.keys() - self.tolerated_lines.keys():
            self.tolerated_lines[i] = SetAsideLine(lines[i], reason, kind="unit")
        for n, of_conflict in enumerate(prices):
            for assertion in of_conflict:
                if (
                    self._lines[assertion] & self.tolerated_lines.keys()
                    and assertion not in self.ledger_rows
                ):
                    self.ledger_rows[assertion] = self._ledger_row(assertion, n)

    def _ledger_row(self, assertion: AssertionLines, place: int) -> QuarantinedAssertion:
        """Make the quarantine ledger's row for a tolerated assertion, which takes part in the
        conflict at position ``place``.
        """
        judged = self.judged_conflicts[place].judgement
        pattern = self.judged_conflicts[place].pattern
        if judged.effect == KNOWN and (known := self._ledger_entry(assertion)):
            return known
        why = quarantine.WAIVED if judged.effect == WAIVED else quarantine.WARNED
        waiver = judged.waiver
        if waiver is None:
            return QuarantinedAssertion(assertion, why, pattern.id, pattern.rule)
        return QuarantinedAssertion(
            assertion,
            why,
            pattern.id,
            pattern.rule,
            waiver.owner,
            waiver.reason,
            waiver.expires.isoformat(),
        )

    # --- an order of lines that does not follow from theirs ---------------------------------------

    def _rank_lines(self) -> dict[int, int]:
        """Rank the lines of conflicts by content, so that the choice does not depend on their order
        in the batch.
        """
        lines = self.batch.lines
        involved = {
            i
            for blamed in self._blamed_assertions
            for a in blamed
            for i in self.batch.with_linked(self._lines[a], self.unit)
        }
        names = {
            i: (lines[i].triple or (), lines[i].graph, lines[i].file, lines[i].text)
            for i in involved
        }
        return {i: rank for rank, i in enumerate(sorted(involved, key=lambda i: names[i]))}


# Conflicts of a batch with assertions in the store's ledger, which the check itself does not see.


#: More rows of a ledger than this are not held against one batch.
MOST = 2000


def find_ledger_conflicts(
    tbox: TBox,
    lines: Iterable[Line],
    ledger: Sequence[QuarantinedAssertion],
    reasoner: str = "auto",
) -> tuple[Conflict, ...]:
    """Find the minimal conflicts between lines of a batch and rows of the store's quarantine ledger
    about the same individuals.

    The rest of the base is left out, since ledger rows contradict it anyway. Rows about blank nodes
    are skipped. In each conflict ``insertions`` are of the batch and ``base`` is of the ledger.
    """
    rows = [triples for aside in ledger if (triples := _ledger_triples(aside))]
    mentioned = {term for triples in rows for triple in triples for term in _individuals(triple)}
    near = [
        line for line in lines if line.triple and mentioned.intersection(_individuals(line.triple))
    ]
    wanted = {term for line in near if line.triple for term in _individuals(line.triple)}
    held = [
        triple
        for triples in rows
        for triple in triples
        if wanted.intersection(_individuals(triple))
    ][:MOST]
    if not near or not held:
        return ()
    said = {line.triple for line in near if line.triple}
    with tempfile.TemporaryDirectory(prefix="shiq-gate-") as folder:
        files = [Path(folder) / name for name in ("batch.nt", "ledger.nt")]
        for file, triples in zip(files, (sorted(said), held)):
            file.write_text(
                "".join(f"{' '.join(triple)} .\n" for triple in triples), encoding="utf-8"
            )
        found = certify(tbox, list(map(str, files)), reasoner=reasoner).conflicts
    is_new = [
        [read_result_triple(assertion_lines(a)[0]) in said for a in c.base_values] for c in found
    ]
    return tuple(
        Conflict(
            tuple(compress(c.base_values, of_batch)),
            tuple(a for a, new in zip(c.base_values, of_batch) if not new),
            c.axiom_values,
        )
        for c, of_batch in zip(found, is_new)
        if any(of_batch) and not all(of_batch)
    )


def _ledger_triples(aside: QuarantinedAssertion) -> list[Triple]:
    """Triples of a row of the quarantine ledger; empty if they have blank nodes."""
    found = [triple for text in aside.triples if (triple := read_result_triple(text))]
    return [] if any(term.startswith("_:") for triple in found for term in triple) else found


def _individuals(triple: Triple) -> tuple[str, ...]:
    """Individuals in a triple: its subject, and its object unless that is a class or literal."""
    s, p, o = triple
    return (s,) if o.startswith('"') or p.endswith("#type>") else (s, o)

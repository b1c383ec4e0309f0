"""Choose the lines to set aside for the conflicts: all of them, or a smallest set that breaks every
conflict.

The choice is made from all conflicts found so far, each time anew. With `LEAST` a line may
therefore return when a later conflict makes another choice cheaper.

Minimum hitting set of conflicts, where one hit may cost several lines.

>>> smallest_hitting_set([[frozenset({1}), frozenset({2})], [frozenset({2}), frozenset({3})]], {1: 0, 2: 1, 3: 2})
(frozenset({2}), True)
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Final, TypeAlias

from shiq.answers.result import Conflict, Result
from shiq.api import certify
from shiq.explanation import Pattern
from shiq.inputs import reading as quarantine
from shiq.inputs.reading import QuarantinedAssertion
from shiq.jobs.gate.answer import SetAsideLine
from shiq.jobs.gate.batch import AssertionLines, GateBatch
from shiq.jobs.gate.lines import Line, Triple, read_result_triple
from shiq.jobs.gate.waivers import KNOWN, WAIVED, Judgement, Policy
from shiq.model import Assertion, TBox
from shiq.model.ntriples import assertion_lines

#: The ways to break a conflict: each a set of lines of which all have to go.
Repairs: TypeAlias = list[frozenset[int]]
#: Choices that are looked at for conflicts that hang together, before the best set known is taken.
SEARCH_STEPS: Final = 20_000


def smallest_hitting_set(
    conflicts: Iterable[Sequence[frozenset[int]]], rank: Mapping[int, int]
) -> tuple[frozenset[int], bool]:
    """Choose a smallest set of lines that breaks every conflict.

    conflicts: each a list of ways to break it; a way is a set of lines that all have to go.
    rank: total order of the lines; the result depends on it and not on the order of the arguments.

    Returns: the lines, and whether the set is proven to be smallest. It is always irredundant.
    """
    named = {
        frozenset(frozenset(rank[i] for i in way) for way in ways) for ways in conflicts if ways
    }
    line_at = {place: line for line, place in rank.items()}
    todo = sorted({tuple(_minimal_repairs(ways)) for ways in named}, key=_repairs_key)
    chosen: set[int] = set()
    is_proven = True
    for part in _components(list(map(list, todo))):
        search = _HittingSetSearch(part)
        chosen |= search.run()
        is_proven = is_proven and search.budget > 0
    return frozenset(line_at[i] for i in chosen), is_proven


def _minimal_repairs(ways: Iterable[frozenset[int]]) -> Repairs:
    """Drop ways that contain another way."""
    kept: Repairs = []
    for way in sorted(ways, key=_sort_key):
        if not any(other <= way for other in kept):
            kept.append(way)
    return kept


def _sort_key(way: Iterable[int]) -> tuple[int, list[int]]:
    found = sorted(way)
    return len(found), found


def _repairs_key(ways: Iterable[frozenset[int]]) -> list[tuple[int, list[int]]]:
    return [_sort_key(way) for way in ways]


def _components(conflicts: list[Repairs]) -> list[list[Repairs]]:
    """Group conflicts that share lines."""
    parts: list[tuple[set[int], list[Repairs]]] = []
    for ways in conflicts:
        lines, together = set().union(*ways), [ways]
        apart = []
        for known, part in parts:
            if known & lines:
                lines |= known
                together = part + together
            else:
                apart.append((known, part))
        parts = [*apart, (lines, together)]
    return [part for _, part in parts]


class _HittingSetSearch:
    """Branch and bound over the ways to break each conflict.

    The conflict with the fewest ways is branched on first. Conflicts without common lines give the
    lower bound.
    """

    def __init__(self, conflicts: list[Repairs]) -> None:
        self._conflicts = conflicts
        self.budget = SEARCH_STEPS
        self._best = self._greedy()

    def run(self) -> set[int]:
        self._extend(set(), self._conflicts)
        return self._without_redundant(self._best, sorted(self._best))

    def _extend(self, chosen: set[int], conflicts: list[Repairs]) -> None:
        stack = [(chosen, conflicts)]
        while stack and self.budget > 0:
            chosen, conflicts = stack.pop()
            self.budget -= 1
            todo = [ways for ways in conflicts if not any(way <= chosen for way in ways)]
            if len(chosen) + self._lower_bound(chosen, todo) >= len(self._best):
                continue
            if not todo:
                self._best = chosen
                continue
            ways = min(todo, key=len)
            stack += [
                (chosen | way, todo)
                for way in sorted(ways, key=lambda way: _sort_key(way - chosen), reverse=True)
            ]

    def _lower_bound(self, chosen: set[int], todo: Sequence[Repairs]) -> int:
        met: set[int] = set()
        cost = 0
        for ways in sorted(todo, key=len):
            lines = set().union(*ways) - chosen
            if not lines & met:
                met |= lines
                cost += min(len(way - chosen) for way in ways)
        return cost

    def _greedy(self) -> set[int]:
        """First solution: take the way that breaks most conflicts per line, then drop redundant
        lines, last first.
        """
        chosen: set[int] = set()
        order: list[int] = []
        todo = self._conflicts
        while todo:
            gain: dict[frozenset[int], int] = {}
            for ways in todo:
                for way in ways:
                    gain[way] = gain.get(way, 0) + 1
            best = min(gain, key=lambda way: (-gain[way] / len(way - chosen), _sort_key(way)))
            order += sorted(best - chosen)
            chosen |= best
            todo = [ways for ways in todo if not any(way <= chosen for way in ways)]
        return self._without_redundant(chosen, order)

    def _without_redundant(self, chosen: set[int], order: Sequence[int]) -> set[int]:
        for line in reversed(order):
            fewer = chosen - {line}
            if all(any(way <= fewer for way in ways) for ways in self._conflicts):
                chosen = fewer
        return chosen


#: What is set aside of conflicts: all insertions of each, since nothing tells which is the wrong
#: one; or as few lines as will do.
ALL, LEAST = "all", "least"


@dataclass
class Culprits:
    """Conflicts found so far, and the lines that are set aside for them.

    unit: what is set aside together with a line (`UNITS`).
    aside: `ALL` or `LEAST`.
    ledger: the store's ledger, by triple.
    quarantined: lines of blocking conflicts, by line number.
    tolerated: lines of conflicts that the policy or the ledger lets pass, by line number.
    ledger_rows: rows to write to the ledger for tolerated assertions.
    is_proven: no smaller set of lines breaks the conflicts.
    """

    batch: GateBatch
    policy: Policy
    unit: str = "triple"
    choice: str = ALL
    ledger: Mapping[Triple, QuarantinedAssertion] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    patterns: list[Pattern] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    quarantined_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    tolerated_lines: dict[int, SetAsideLine] = field(default_factory=dict)
    ledger_rows: dict[AssertionLines, QuarantinedAssertion] = field(default_factory=dict)
    is_proven: bool = True
    _blamed_assertions: list[list[AssertionLines]] = field(default_factory=list)
    _lines: dict[AssertionLines, frozenset[int]] = field(default_factory=dict)

    def judge(self, result: Result, inside: Collection[int]) -> range:
        """Record the conflicts of ``result``, the check of the lines ``inside``. Returns their
        positions.
        """
        begun = len(self.conflicts)
        for i, conflict in enumerate(result.conflicts):
            pattern = result.explained.pattern(i)
            self.sentences.append(result.explained.sentence(i))
            triples = [
                triple for text in conflict.insertions if (triple := read_result_triple(text))
            ]
            judged = self.policy.judge(triples, pattern.id, pattern.rule)
            blamed = [*map(assertion_lines, conflict.insertion_values)]
            if known := [assertion for assertion in blamed if self._ledger_entry(assertion)]:
                # Of a known conflict what the store had set aside goes, nothing else.
                judged, blamed = Judgement(KNOWN), known
            self.conflicts.append(conflict)
            self.patterns.append(pattern)
            self.judgements.append(judged)
            self._blamed_assertions.append(blamed)
            places = dict(zip(conflict.insertions, conflict.places))
            for assertion in blamed:
                lines = self.batch.lines_stating(assertion, inside, places.get(assertion[0], ()))
                self._lines[assertion] = self._lines.get(assertion, frozenset()) | lines
        return range(begun, len(self.conflicts))

    def _ledger_entry(self, assertion: AssertionLines) -> QuarantinedAssertion | None:
        triple = read_result_triple(assertion[0])
        return self.ledger.get(triple) if triple and len(assertion) == 1 else None

    def choose(self) -> bool:
        """Choose the lines to set aside. Returns whether the choice has changed."""
        before = {*self.quarantined_lines, *self.tolerated_lines}
        prices = [
            {a: self._lines_to_remove(a, judged) for a in blamed if self._lines[a]}
            for blamed, judged in zip(self._blamed_assertions, self.judgements)
        ]
        if self.choice == LEAST:
            chosen, self.is_proven = smallest_hitting_set(
                [list(p.values()) for p in prices], self._rank_lines()
            )
            self.is_proven = self.is_proven and all(
                conflict.is_minimal for conflict in self.conflicts
            )
        else:
            chosen = frozenset().union(
                *(price for of_conflict in prices for price in of_conflict.values())
            )
        self._assign_lines(prices, chosen)
        return before != {*self.quarantined_lines, *self.tolerated_lines}

    def _lines_to_remove(self, assertion: AssertionLines, judged: Judgement) -> frozenset[int]:
        """Lines that have to go so that ``assertion`` is no longer stated."""
        return self.batch.with_linked(
            self._lines[assertion], self.unit if judged.blocks or self.unit == "row" else "triple"
        )

    def _assign_lines(
        self, prices: list[dict[AssertionLines, frozenset[int]]], chosen: Collection[int]
    ) -> None:
        out: dict[int, list[int]] = {}
        beside: dict[int, list[int]] = {}
        goes_with, beside_with = set[int](), set[int]()
        self.ledger_rows = {}
        for n, of_conflict in enumerate(prices):
            for assertion, price in of_conflict.items():
                if not price <= {*chosen}:
                    continue
                for line in self._lines[assertion]:
                    (out if self.judgements[n].blocks else beside).setdefault(line, []).append(n)
                along = goes_with if self.judgements[n].blocks else beside_with
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
            i: SetAsideLine(
                lines[i], str(self.judgements[n[0]]), tuple(n), self.judgements[n[0]].effect
            )
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
        """Ledger row for a tolerated assertion."""
        judged, pattern = self.judgements[place], self.patterns[place]
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
    """Find the minimal conflicts between lines of a batch and ledger rows about the same
    individuals.

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
    is_new = [[_is_stated_by(a, said) for a in c.base_values] for c in found]
    return tuple(
        Conflict(
            tuple(compress(c.base_values, of_batch)),
            tuple(a for a, new in zip(c.base_values, of_batch) if not new),
            c.axiom_values,
        )
        for c, of_batch in zip(found, is_new)
        if any(of_batch) and not all(of_batch)
    )


def _is_stated_by(assertion: Assertion, triples: Collection[Triple]) -> bool:
    """Whether one of ``triples`` states ``assertion``."""
    return read_result_triple(assertion_lines(assertion)[0]) in triples


def _ledger_triples(aside: QuarantinedAssertion) -> list[Triple]:
    found = [triple for text in aside.triples if (triple := read_result_triple(text))]
    return [] if any(term.startswith("_:") for triple in found for term in triple) else found


def _individuals(triple: Triple) -> tuple[str, ...]:
    s, p, o = triple
    return (s,) if o.startswith('"') or p.endswith("#type>") else (s, o)

"""The lines that conflicts cost: all of them, or a smallest set that breaks every conflict.

What is chosen follows from the conflicts that were met so far, all of them each time, so that
with `LEAST` a line that was set aside for one conflict comes back in where a later one makes
another choice cheaper.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.gate.batch import GateBatch, Stated, assertions_in
from jobs.gate.gated import SetAsideLine
from jobs.gate.lines import Triple, said_by
from jobs.gate.smallest import smallest
from jobs.gate.waivers import KNOWN, WAIVED, Judgement, Policy
from shiq import aside
from shiq.aside import Aside
from shiq.conflict import Conflict
from shiq.explanation import Pattern
from shiq.result import Result

#: What is set aside of conflicts: all insertions of each, since nothing tells which is the wrong
#: one; or as few lines as will do.
ALL, LEAST = "all", "least"


@dataclass
class Culprits:
    """The conflicts met so far, each with its pattern, sentence and judgement, and what they
    cost: ``out``, and ``beside`` where the policy lets the conflict pass. ``is_proven``: that no
    smaller set of lines breaks the conflicts.
    """

    batch: GateBatch
    policy: Policy
    unit: str = "triple"
    aside: str = ALL
    ledger: Mapping[Triple, Aside] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    patterns: list[Pattern] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    out: dict[int, SetAsideLine] = field(default_factory=dict)
    beside: dict[int, SetAsideLine] = field(default_factory=dict)
    asides: dict[Stated, Aside] = field(default_factory=dict)
    is_proven: bool = True
    _blamed: list[list[Stated]] = field(default_factory=list)
    _lines: dict[Stated, frozenset[int]] = field(default_factory=dict)

    def judge(self, result: Result, inside: Collection[int]) -> range:
        """Takes note of the conflicts of ``result``, the check of the lines ``inside``; gives
        their places.
        """
        begun = len(self.conflicts)
        for i, conflict in enumerate(result.conflicts):
            pattern = result.explained.pattern(i)
            self.sentences.append(result.explained.sentence(i))
            triples = [triple for text in conflict.insertions if (triple := said_by(text))]
            judged = self.policy.judge(triples, pattern.id, pattern.rule)
            blamed = assertions_in(conflict.insertions)
            if known := [assertion for assertion in blamed if self._known(assertion)]:
                # Of a known conflict what the store had set aside goes, nothing else.
                judged, blamed = Judgement(KNOWN), known
            self.conflicts.append(conflict)
            self.patterns.append(pattern)
            self.judgements.append(judged)
            self._blamed.append(blamed)
            places = dict(zip(conflict.insertions, conflict.places))
            for assertion in blamed:
                lines = self.batch.stated(assertion, inside, places.get(assertion[0], ()))
                self._lines[assertion] = self._lines.get(assertion, frozenset()) | lines
        return range(begun, len(self.conflicts))

    def _known(self, assertion: Stated) -> Aside | None:
        triple = said_by(assertion[0])
        return self.ledger.get(triple) if triple and len(assertion) == 1 else None

    def choose(self) -> bool:
        """Chooses what the conflicts cost; whether that is anything else than before."""
        before = {*self.out, *self.beside}
        prices = [
            {a: self._price(a, judged) for a in blamed if self._lines[a]}
            for blamed, judged in zip(self._blamed, self.judgements)
        ]
        if self.aside == LEAST:
            chosen, self.is_proven = smallest([list(p.values()) for p in prices], self._rank())
            self.is_proven = self.is_proven and all(
                conflict.is_minimal for conflict in self.conflicts
            )
        else:
            chosen = frozenset().union(
                *(price for of_conflict in prices for price in of_conflict.values())
            )
        self._set_aside(prices, chosen)
        return before != {*self.out, *self.beside}

    def _price(self, assertion: Stated, judged: Judgement) -> frozenset[int]:
        """The lines that go so that ``assertion`` is not said any more."""
        return self.batch.around(
            self._lines[assertion], self.unit if judged.blocks or self.unit == "row" else "triple"
        )

    def _set_aside(
        self, prices: list[dict[Stated, frozenset[int]]], chosen: Collection[int]
    ) -> None:
        out: dict[int, list[int]] = {}
        beside: dict[int, list[int]] = {}
        goes_with, beside_with = set[int](), set[int]()
        self.asides = {}
        for n, of_conflict in enumerate(prices):
            for assertion, price in of_conflict.items():
                if not price <= {*chosen}:
                    continue
                for line in self._lines[assertion]:
                    (out if self.judgements[n].blocks else beside).setdefault(line, []).append(n)
                along = goes_with if self.judgements[n].blocks else beside_with
                along |= price - self._lines[assertion]
        lines = self.batch.lines
        self.out = {
            i: SetAsideLine(lines[i], "takes part in a contradiction", tuple(n), "conflict")
            for i, n in out.items()
        }
        reason = f"goes with a culprit: the same {self.unit}"
        self.out |= {i: SetAsideLine(lines[i], reason, kind="unit") for i in goes_with - out.keys()}
        self.beside = {
            i: SetAsideLine(
                lines[i], str(self.judgements[n[0]]), tuple(n), self.judgements[n[0]].effect
            )
            for i, n in beside.items()
            if i not in self.out
        }
        reason = f"goes with what is tolerated: the same {self.unit}"
        for i in beside_with - self.out.keys() - self.beside.keys():
            self.beside[i] = SetAsideLine(lines[i], reason, kind="unit")
        for n, of_conflict in enumerate(prices):
            for assertion in of_conflict:
                if self._lines[assertion] & self.beside.keys() and assertion not in self.asides:
                    self.asides[assertion] = self._aside(assertion, n)

    def _aside(self, assertion: Stated, place: int) -> Aside:
        """The row of the store's ledger for what is tolerated."""
        judged, pattern = self.judgements[place], self.patterns[place]
        if judged.effect == KNOWN and (known := self._known(assertion)):
            return known
        why = aside.WAIVED if judged.effect == WAIVED else aside.WARNED
        waiver = judged.waiver
        if waiver is None:
            return Aside(assertion, why, pattern.id, pattern.rule)
        return Aside(
            assertion,
            why,
            pattern.id,
            pattern.rule,
            waiver.owner,
            waiver.reason,
            waiver.expires.isoformat(),
        )

    # --- an order of lines that does not follow from theirs ---------------------------------------

    def _rank(self) -> dict[int, int]:
        lines = self.batch.lines
        involved = {
            i
            for blamed in self._blamed
            for a in blamed
            for i in self.batch.around(self._lines[a], self.unit)
        }
        names = {
            i: (lines[i].triple or (), lines[i].graph, lines[i].file, lines[i].text)
            for i in involved
        }
        return {i: rank for rank, i in enumerate(sorted(involved, key=lambda i: names[i]))}

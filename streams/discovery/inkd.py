"""The approximating method of the source: A1, A2 and A3 corrected (docs/papers/CORRECTIONS.md),
behind the gate.

It carries rules from window to window. A rule that begins to hold is found if it holds of what
arrives alone, or if its head or body was not there before; all others are missed
(docs/DISCOVERY.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from shiq.streams.discovery.atomsets import Tree
from shiq.streams.discovery.columns import Bits, popcount
from shiq.streams.discovery.counting import BodyCounter, MinedRule, MiningLimits
from shiq.streams.discovery.mining import MinedRules, best, bodies, mine
from shiq.streams.discovery.ontology import Theory


@dataclass(frozen=True)
class Gate:
    """What is decided before a slide: ``similarity`` Φ(Δ⁻,Δ⁺), ``rarity`` ϱ₁(Δ⁺),
    ``kept_similarity`` Φ(S,Δ⁺).
    """

    similarity: Fraction | None
    rarity: Fraction | None
    kept_similarity: Fraction | None

    def acts(self, gate: str, max_similarity: Fraction, min_rarity: Fraction) -> bool:
        """Whether rules are looked at. ``printed``: Φ < Φmin and ϱ₁ > ϱmin; ``prose``: Φ < Φmin
        and 1 - ϱ₁ > ϱmin; ``off``: always. What has no basis stands in no way.
        """
        if gate == "off":
            return True
        rarity = self.rarity if gate == "printed" or self.rarity is None else 1 - self.rarity
        differs = self.similarity is None or self.similarity < max_similarity
        return differs and (rarity is None or rarity > min_rarity)


def a1(counts: tuple[int, int], joint: int, body: int, sign: int) -> tuple[int, int]:
    """A1: n and d of a rule after Δ left (-1) or came (+1), of which ``joint`` snapshots have
    body and head and ``body`` the body. Always both: a snapshot with the body alone counts in d.
    """
    return counts[0] + sign * joint, counts[1] + sign * body


def a2(
    counter: BodyCounter,
    came: BodyCounter,
    theory: Theory,
    limits: MiningLimits,
    stayed: Bits,
    occurrences: Collection[int],
) -> Iterable[tuple[Tree, str]]:
    """A2: the rules with γ > γmin over the window of ``counter``, bound in Δ⁺, which ``came``
    counts, of whose body and head one is not in S and the other so often as ``occurrences`` (E)
    has it.
    """

    def times(tree: Tree) -> int:
        return int(popcount(counter.counts(tree).body & stayed).sum())

    heads = {name: times(Tree((name,))) for name in theory.classes}
    absent = frozenset(name for name, often in heads.items() if not often)
    for tree, (arrived, bound) in bodies(came, theory, limits, 1).heads.items():
        if absent.isdisjoint(bound) and counter.if_often(tree, arrived.support + 1):
            continue
        own = times(tree)
        new = [
            h
            for h in bound
            if (own in occurrences and h in absent) or (heads[h] in occurrences and own == 0)
        ]
        counts = counter.counts(tree, new)
        yield from (
            (tree, head)
            for head in new
            if limits.is_confident(counts.times[counts.heads[head]], counts.support)
        )


@dataclass
class CarriedRules:
    """The rules that are carried, with the counts of the window they belong to; what was last
    reported.
    """

    rules: dict[tuple[Tree, str], tuple[int, int]] = field(default_factory=dict)
    reported: MinedRules | None = None
    #: Of each rule, in which snapshots it bound when it was last counted.
    bits: dict[tuple[Tree, str], tuple[Bits, Bits]] = field(default_factory=dict)
    #: What was told of them: with lift, whether they are refuted, instances.
    shown: Sequence[Any] = ()

    def copy(self) -> CarriedRules:
        """The same, which may go on by itself."""
        return CarriedRules(dict(self.rules), self.reported, dict(self.bits), self.shown)

    def slide(
        self,
        counter: BodyCounter,
        theory: Theory,
        limits: MiningLimits,
        window: int,
        gate: Gate | None,
        acts: bool,
        stayed: Bits,
        arrived: Bits,
        occurrences: Collection[int],
    ) -> MinedRules:
        """A3: the rules of the next window. ``gate``: None for the first window, which is mined
        from scratch; ``acts``: what it says.
        """
        if self.reported is None or gate is None:
            self.reported = mine(counter, theory, limits, window)
            self._count(counter, [(rule.body, rule.head) for rule in self.reported.rules])
            return self.reported
        if not acts:
            return self.reported
        self._count(counter, list(self.rules))
        came = BodyCounter(counter.columns, arrived)
        more = (
            set(a2(counter, came, theory, limits, stayed, occurrences))
            if gate.kept_similarity
            else set()
        )
        found = bodies(came, theory, limits, limits.least(int(popcount(arrived).sum())))
        for tree, (counts, heads) in found.heads.items():
            more.update((rule.body, rule.head) for rule in came.rules(tree, counts, heads, limits))
        self._count(counter, sorted(more - self.rules.keys()))
        self.rules = {key: counts for key, counts in self.rules.items() if counts[1]}
        self.bits = {key: self.bits[key] for key in self.rules}
        least = limits.least(window)
        rules = [
            self._rule(counter, key)
            for key, (n, d) in self.rules.items()
            if n >= least and limits.is_confident(n, d)
        ]
        self.reported = MinedRules(
            best(rules, limits.max_rules), found.by_tbox, len(rules) > limits.max_rules
        )
        counter.forget()
        return self.reported

    def _count(self, counter: BodyCounter, keys: Sequence[tuple[Tree, str]]) -> None:
        """Brings the counts of ``keys`` to the window that ``counter`` looks at: what left since
        is taken away, what came is put to them (A1, composed).
        """
        nothing = np.zeros(counter.columns.words, np.uint64)
        for key in keys:
            tree, head = key
            found = counter.counts(tree, [head])
            joint, body = found.joint[found.heads[head]].copy(), found.body.copy()
            old_joint, old_body = self.bits.get(key, (nothing, nothing))
            counts = self.rules.get(key, (0, 0))
            counts = a1(counts, _less(old_joint, joint), _less(old_body, body), -1)
            counts = a1(counts, _less(joint, old_joint), _less(body, old_body), 1)
            self.rules[key], self.bits[key] = counts, (joint, body)

    def _rule(self, counter: BodyCounter, key: tuple[Tree, str]) -> MinedRule:
        counts = counter.counts(key[0], [key[1]])
        return counts.rule(*key)


def _less(bits: Bits, others: Bits) -> int:
    """How many snapshots ``bits`` have and ``others`` have not."""
    return int(popcount(bits & ~others).sum())

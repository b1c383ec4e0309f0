"""Counts of bodies over the columns, kept between windows.

A snapshot that is put changes a count by one at most, so most bodies are seen to be frequent or
not, and most rules not to be confident, without counting; of those that must be known only the
words that changed are counted anew. Since support is a sum over disjoint sets of snapshots, that
is exact (THEORY, "Rules discovered in a stream").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shiq.columns.arrays import Ints
from streams.discovery.atomsets import Tree
from streams.discovery.columns import Bits, SnapshotColumns, popcount, row_counts
from streams.discovery.support import Support


@dataclass(frozen=True)
class MiningLimits:
    """What is mined: how much of the window supports a rule, how often it holds, how large
    bodies are.
    """

    min_support: Fraction = Fraction(2, 5)
    min_confidence: Fraction = Fraction(4, 5)
    max_atoms: int = 3
    max_variables: int = 3
    max_rules: int = 100_000

    def least(self, window: int) -> int:
        """How many snapshots of ``window`` a rule needs."""
        return max(1, -(-self.min_support.numerator * window // self.min_support.denominator))

    def is_confident(self, joint: int, body: int) -> bool:
        """γ > γmin, strictly, in integers."""
        return joint * self.min_confidence.denominator > self.min_confidence.numerator * body


@dataclass(frozen=True, order=True)
class MinedRule:
    """A body and a class of its root, with n and d of SPEC 3, and the same by binding."""

    body: Tree
    head: str
    support: int
    body_support: int
    binding_support: int
    binding_body: int


@dataclass
class BodyCounts:
    """Of one body, as of ``version`` of the columns: in how many snapshots it binds
    (``support``), by word in which, and how many pairs of snapshot and root there are; the same
    jointly with each of some heads (``heads``: their rows).
    """

    version: int
    body: Bits
    pairs: Ints
    joint: Bits
    joint_pairs: Ints
    support: int = 0
    heads: dict[str, int] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)

    def rule(self, tree: Tree, head: str) -> MinedRule:
        """The rule with ``head``, which was counted."""
        row = self.heads[head]
        return MinedRule(
            tree,
            head,
            self.times[row],
            self.support,
            int(self.joint_pairs[row].sum()),
            int(self.pairs.sum()),
        )


class BodyCounter:
    """Counts of bodies over ``columns``, kept; of the snapshots ``among`` alone, as the columns
    are now.
    """

    def __init__(self, columns: SnapshotColumns, among: Bits | None = None) -> None:
        self.columns, self._among = columns, among
        self.known: dict[Tree, BodyCounts] = {}
        #: Bodies of one atom more than a body, as long as those of one atom are the same.
        self.grown: dict[Tree, Sequence[Tree]] = {}
        self.singles: tuple[object, ...] = ()
        self._words = np.arange(columns.words) if among is None else np.flatnonzero(among)
        #: Each class that was asked for, by number.
        self._numbers: dict[str, int] = {}
        self._asked: set[Tree] = set()
        self._supports: dict[bytes, Support] = {}
        self._version = -1

    def counts(self, tree: Tree, heads: Iterable[str] = ()) -> BodyCounts:
        """The counts of a body with ``heads``, for the columns as they are."""
        columns = self.columns
        self._asked.add(tree)
        found = self.known.get(tree)
        if found is None:
            empty = np.zeros((0, columns.words), np.uint64), np.zeros((0, columns.words), np.int64)
            body, pairs = np.zeros(columns.words, np.uint64), np.zeros(columns.words, np.int64)
            found = self.known[tree] = BodyCounts(-1, body, pairs, *empty)
        if found.version < columns.version:
            self._count(
                tree, found, columns.stale(found.version) if found.version >= 0 else self._words, 0
            )
            found.version = columns.version
        old, new = len(found.heads), [head for head in heads if head not in found.heads]
        if new:
            found.joint = np.concatenate(
                [found.joint, np.zeros((len(new), columns.words), np.uint64)]
            )
            found.joint_pairs = np.concatenate(
                [found.joint_pairs, np.zeros((len(new), columns.words), np.int64)]
            )
            found.heads.update(zip(new, range(old, old + len(new))))
            for head in new:
                self._numbers.setdefault(head, len(self._numbers))
            self._count(tree, found, self._words, old)
        return found

    def _count(self, tree: Tree, found: BodyCounts, words: Ints, first: int) -> None:
        """Counts ``words`` anew, with the heads from a row on."""
        support = self.support(words)
        extension = support.body(tree)
        found.body[words] = np.bitwise_or.reduce(extension.bits, axis=0)
        found.pairs[words] = popcount(extension.bits).sum(axis=0)
        found.support = int(popcount(found.body).sum())
        if len(found.heads) > first:
            joint, pairs = support.with_each(extension, tuple(self._numbers))
            rows = [self._numbers[head] for head in list(found.heads)[first:]]
            found.joint[first:, words], found.joint_pairs[first:, words] = joint[rows], pairs[rows]
            found.times[first:] = row_counts(found.joint[first:]).tolist()

    def slack(self, found: BodyCounts) -> int:
        """By how much a count may differ from what it was: what was put since is one snapshot each."""
        return self.columns.version - found.version

    def if_often(self, tree: Tree, least: int) -> BodyCounts | None:
        """The counts of a body, maybe older ones, if at least so many snapshots bind it; nothing
        is counted where that is clear.
        """
        found = self.known.get(tree)
        self._asked.add(tree)
        if found is None or abs(found.support - least + 0.5) < self.slack(found):
            found = self.counts(tree)
        return found if found.support >= least else None

    def often(self, tree: Tree, found: BodyCounts, heads: Iterable[str], least: int) -> list[str]:
        """Those of ``heads`` that at least so many snapshots have jointly with a body."""
        heads, rows, slack = list(heads), found.heads, self.slack(found)
        if any(
            head not in rows or abs(found.times[rows[head]] - least + 0.5) < slack for head in heads
        ):
            self.counts(tree, heads)
        return [head for head in heads if found.times[rows[head]] >= least]

    def rules(
        self, tree: Tree, found: BodyCounts, heads: Iterable[str], limits: MiningLimits
    ) -> list[MinedRule]:
        """The rules of a body with those of ``heads`` that are confident enough."""
        slack = self.slack(found)
        times, least = found.times, max(found.support - slack, 1)
        maybe = [
            head for head in heads if limits.is_confident(times[found.heads[head]] + slack, least)
        ]
        if not maybe:
            return []
        self.counts(tree)
        return [
            found.rule(tree, head)
            for head in maybe
            if limits.is_confident(times[found.heads[head]], found.support)
        ]

    def support(self, words: Ints) -> Support:
        """Extensions in ``words``, which are worked out once for the columns as they are."""
        if self._version != self.columns.version:
            self._supports.clear()
            self._version = self.columns.version
        key = words.tobytes()
        if key not in self._supports:
            self._supports[key] = Support(self.columns, words, among=self._among)
        return self._supports[key]

    def forget(self) -> None:
        """Lets go what was not asked for since the last call."""
        self.known = {tree: counts for tree, counts in self.known.items() if tree in self._asked}
        self.grown = {tree: larger for tree, larger in self.grown.items() if tree in self._asked}
        self._asked.clear()
        self._supports.clear()

"""Exact rules of a window, by levels: a body is looked at if all that lack one of its atoms are frequent.

Counts are kept between windows; of those that are asked for again only the words that changed are counted anew. Since support is
a sum over disjoint sets of snapshots, that is exact (THEORY, "Rules of a stream").

Source: SPEC 3 and 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shiq.columns.arrays import Ints
from streams.discovery.atomsets import Tree, atoms_of, nodes_of, size, smaller, text_of, width, with_branch, with_class
from streams.discovery.columns import Bits, Columns, popcount
from streams.discovery.support import Support, meet
from streams.discovery.theory import Theory


@dataclass(frozen=True)
class Limits:
    """What is mined: how much of the window supports a rule, how often it holds, how large bodies are."""

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
class Rule:
    """A body and a class of its root, with n and d of SPEC 3, and the same by binding."""

    body: Tree
    head: str
    support: int
    body_support: int
    binding_support: int
    binding_body: int


@dataclass
class Counts:
    """Of one body, by word: in which snapshots it binds, how many pairs of snapshot and root there are; the same jointly with
    each of some heads."""

    version: int
    body: Bits
    pairs: Ints
    heads: dict[str, int] = field(default_factory=dict)
    joint: Bits = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    joint_pairs: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))

    @property
    def support(self) -> int:
        return int(popcount(self.body).sum())

    def rule(self, tree: Tree, head: str) -> Rule:
        """The rule with ``head``, which was counted."""
        row = self.heads[head]
        n, pairs = int(popcount(self.joint[row]).sum()), int(self.joint_pairs[row].sum())
        return Rule(tree, head, n, self.support, pairs, int(self.pairs.sum()))


class Counter:
    """Counts of bodies over ``columns``, kept."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.known: dict[Tree, Counts] = {}
        self._asked: set[Tree] = set()
        self._supports: dict[bytes, Support] = {}
        self._version = -1

    def counts(self, tree: Tree, heads: Iterable[str] = ()) -> Counts:
        """The counts of a body with ``heads``, for the columns as they are."""
        columns = self.columns
        self._asked.add(tree)
        found = self.known.get(tree)
        if found is None:
            zero = np.zeros(columns.words, np.int64)
            found = self.known[tree] = Counts(-1, np.zeros(columns.words, np.uint64), zero)
            found.joint = np.zeros((0, columns.words), np.uint64)
            found.joint_pairs = np.zeros((0, columns.words), np.int64)
        old, new = list(found.heads), [head for head in heads if head not in found.heads]
        if found.version < columns.version:
            words = columns.stale(found.version) if found.version >= 0 else np.arange(columns.words)
            extension = self.support(words).body(tree)
            found.body[words] = np.bitwise_or.reduce(extension.bits, axis=0)
            found.pairs[words] = popcount(extension.bits).sum(axis=0)
            for head, row in found.heads.items():
                self._head(extension, head, found, row, words)
            found.version = columns.version
        if new:
            more = len(old) + len(new)
            found.joint = np.concatenate([found.joint, np.zeros((len(new), columns.words), np.uint64)])
            found.joint_pairs = np.concatenate([found.joint_pairs, np.zeros((len(new), columns.words), np.int64)])
            found.heads.update(zip(new, range(len(old), more)))
            words = np.arange(columns.words)
            extension = self.support(words).body(tree)
            for head in new:
                self._head(extension, head, found, found.heads[head], words)
        return found

    def _head(self, extension: object, head: str, into: Counts, row: int, words: Ints) -> None:
        both = meet(extension, self.support(words).name(head))  # type: ignore[arg-type]
        into.joint[row, words] = np.bitwise_or.reduce(both.bits, axis=0)
        into.joint_pairs[row, words] = popcount(both.bits).sum(axis=0)

    def support(self, words: Ints) -> Support:
        """Extensions in ``words``, which are worked out once for the columns as they are."""
        if self._version != self.columns.version:
            self._supports.clear()
            self._version = self.columns.version
        return self._supports.setdefault(words.tobytes(), Support(self.columns, words))

    def forget(self) -> None:
        """Lets go what was not asked for since the last call."""
        self.known = {tree: counts for tree, counts in self.known.items() if tree in self._asked}
        self._asked.clear()
        self._supports.clear()


@dataclass(frozen=True)
class MinedRules:
    """The rules of a window, those that T entails only counted. ``stopped``: there are more than the limit allows, or as many
    bodies."""

    rules: tuple[Rule, ...] = ()
    by_tbox: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class Bodies:
    """Bodies with their counts, each of equivalent ones once, and the heads that they have often enough and not by T.
    ``by_tbox``: the pairs that T entails, counted alone."""

    heads: dict[Tree, tuple[Counts, Sequence[str]]]
    by_tbox: int
    stopped: bool


def mine(counter: Counter, theory: Theory, limits: Limits, window: int) -> MinedRules:
    """The rules of the snapshots that ``counter`` looks at, ``window`` of them (inconsistent and missing ones included)."""
    found = bodies(counter, theory, limits, limits.least(window), np.full(counter.columns.words, -1, np.int64).view(np.uint64))
    rules = [
        rule
        for tree, (counts, heads) in found.heads.items()
        for rule in (counts.rule(tree, head) for head in heads)
        if limits.is_confident(rule.support, rule.body_support)
    ]
    counter.forget()
    return MinedRules(best(rules, limits.max_rules), found.by_tbox, found.stopped or len(rules) > limits.max_rules)


def best(rules: Iterable[Rule], most: int) -> tuple[Rule, ...]:
    """By confidence of bindings, support, text."""

    def order(rule: Rule) -> tuple[float, int, str, str]:
        return -rule.binding_support / rule.binding_body, -rule.support, text_of(atoms_of(rule.body)), rule.head

    return tuple(sorted(rules, key=order)[:most])


def bodies(counter: Counter, theory: Theory, limits: Limits, least: int, among: Bits) -> Bodies:
    """The bodies that at least ``least`` of the snapshots ``among`` have."""
    frequent, stopped = _frequent(counter, theory, limits, least, among)
    keyed = (
        ((counts.body.tobytes(), counts.pairs.tobytes(), theory.heads(tree)), tree) for tree, (counts, _) in frequent.items()
    )
    kept = theory.one_each(keyed)
    by_tbox = sum(head in theory.heads(tree) for tree in kept for head in theory.classes)
    return Bodies({tree: frequent[tree] for tree in kept}, by_tbox, stopped)


def _frequent(
    counter: Counter, theory: Theory, limits: Limits, least: int, among: Bits
) -> tuple[dict[Tree, tuple[Counts, Sequence[str]]], bool]:
    """The bodies none of whose atoms follows from the others, and of each the heads that so many have jointly and T does not
    entail."""
    found: dict[Tree, tuple[Counts, Sequence[str]]] = {}
    level = [Tree((name,)) for name in theory.classes]
    roles = [name for name in counter.columns.names() if name not in theory.vocabulary]
    if limits.max_variables > 1:
        level += [with_branch(Tree(), 0, role, inverse) for role in roles for inverse in (False, True)]
    for atoms in range(1, limits.max_atoms + 1):
        for tree in level:
            below = [found[less][1] for less in smaller(tree) if atoms > 1]
            heads = sorted(set(below[0]).intersection(*below[1:]) if below else theory.classes)
            counts = counter.counts(tree)
            if int(popcount(counts.body & among).sum()) < least:
                continue
            heads = [head for head in heads if head not in theory.heads(tree)]
            counts = counter.counts(tree, heads)
            joint = popcount(counts.joint & among).sum(axis=1)
            found[tree] = counts, [head for head in heads if joint[counts.heads[head]] >= least]
            if len(found) > 10 * limits.max_rules:
                return found, True
        if atoms < limits.max_atoms:
            level = sorted(set(_larger([tree for tree in found if size(tree) == atoms], found, theory, limits.max_variables)))
    return found, False


def _larger(
    level: Sequence[Tree], found: dict[Tree, tuple[Counts, Sequence[str]]], theory: Theory, variables: int
) -> Iterator[Tree]:
    """The bodies with one atom more than those of ``level``, all of whose parts were ``found``."""
    classes = [tree.classes[0] for tree in found if size(tree) == 1 and tree.classes]
    roles = [tree.branches[0][:2] for tree in found if size(tree) == 1 and tree.branches]
    for tree in level:
        for place in range(width(tree)):
            known = theory.classes_at(tree, place)
            candidates = [with_class(tree, place, name) for name in classes if name not in known]
            if width(tree) < variables:
                candidates += [with_branch(tree, place, *role) for role in roles]
            for larger in candidates:
                if all(less in found for less in smaller(larger)) and all(
                    node == Tree() or node in found for node in nodes_of(larger) if node is not larger
                ):
                    yield larger

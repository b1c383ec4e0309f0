"""Counts of bodies over the columns, kept between windows.

A snapshot that is put changes a count by one at most, so most bodies are seen to be frequent or
not, and most rules not to be confident, without counting; of those that must be known only the
words that changed are counted anew. Since support is a sum over disjoint sets of snapshots, that
is exact (THEORY, "Rules discovered in a stream").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.discovery.atomsets import Binding, Tree, atom_count, variable
from shiq.streams.discovery.columns import (
    Bits,
    Extension,
    RootEdges,
    SnapshotColumns,
    drop_empty_rows,
    popcount,
    row_counts,
)

# For whom a body holds, and when: joint bindings as semi-joins on bits.
#
# A body is an ELI concept over named individuals. Its extension is a set of individuals for each
# snapshot: an individual is in it if it belongs to the classes at the root and has, for each
# branch, a neighbour in the extension of what is below. Since the parts of a tree share nothing
# but the root, that is a joint binding of all variables (docs/DISCOVERY.md).


class BodyExtensions:
    """The extensions of bodies in some ``words`` of the columns, as these are now, in the
    snapshots ``among`` alone if these are given. Those of classes and of branches of at most
    ``cached_size`` atoms are kept. ``tag``: before the names of heads in the columns.
    """

    def __init__(
        self,
        columns: SnapshotColumns,
        words: Ints,
        kept: int = 2,
        among: Bits | None = None,
        tag: str = "",
    ) -> None:
        self.columns, self.words, self.cached_size, self.tag = columns, words, kept, tag
        self._snapshot_mask = None if among is None else among[words]
        self._joined_classes: tuple[Sequence[str], Ints, Ints, Bits] | None = None
        self._classes: dict[str, Extension] = {}
        self._branches: dict[tuple[str, bool, Tree], Extension] = {}
        self._edges: dict[tuple[str, bool], RootEdges] = {}
        self._counterexamples: dict[tuple[Tree, str], Extension] = {}

    def body_extension(self, tree: Tree) -> Extension:
        """Of a body with at least one atom."""
        parts = [self.branch_extension(*branch) for branch in tree.branches] + [
            self.class_extension(name) for name in tree.classes
        ]
        parts.sort(key=lambda part: len(part.rows))
        found = parts[0]
        for part in parts[1:]:
            found = intersect_extensions(found, part)
        return found

    def class_extension(self, name: str) -> Extension:
        """Of a class."""
        found = self._classes.get(name)
        if found is None:
            found = self.columns.class_extension(name, self.words)
            if self._snapshot_mask is not None:
                found = drop_empty_rows(found.rows, found.bits & self._snapshot_mask)
            self._classes[name] = found
        return found

    def joint_with_each(self, extension: Extension, names: Sequence[str]) -> tuple[Bits, Ints]:
        """For each class in which snapshots something of an extension belongs to it, and how
        many do in each word.
        """
        if self._joined_classes is None or self._joined_classes[0] != names:
            each = [self.class_extension(self.tag + name) for name in names]
            of = np.repeat(np.arange(len(names)), [len(one.rows) for one in each])
            self._joined_classes = (
                names,
                of,
                np.concatenate([one.rows for one in each]),
                np.concatenate([one.bits for one in each]),
            )
        _, of, rows, bits = self._joined_classes
        joint, pairs = (
            np.zeros((len(names), len(self.words)), np.uint64),
            np.zeros((len(names), len(self.words)), np.int64),
        )
        place = np.full(len(self.columns.individuals), -1)
        place[extension.rows] = np.arange(len(extension.rows))
        place = place[rows]
        hit = np.flatnonzero(place >= 0)
        if len(hit):
            both, of = bits[hit] & extension.bits[place[hit]], of[hit]
            starts = np.flatnonzero(np.concatenate([[True], of[1:] != of[:-1]]))
            joint[of[starts]] = np.bitwise_or.reduceat(both, starts, axis=0)
            pairs[of[starts]] = np.add.reduceat(popcount(both), starts, axis=0)
        return joint, pairs

    def branch_extension(self, role: str, inverse: bool, below: Tree) -> Extension:
        """Of a role to something below."""
        key = (role, inverse, below)
        found = self._branches.get(key)
        if found is None:
            found = self._compute_branch(role, inverse, below)
            if atom_count(below) < self.cached_size:
                self._branches[key] = found
        return found

    def role_edges(self, role: str, inverse: bool) -> RootEdges:
        """Of a role, by its end at the root."""
        found = self._edges.get((role, inverse))
        if found is None:
            found = self.columns.role_edges(role, inverse, self.words)
            if self._snapshot_mask is not None:
                found = RootEdges(
                    found.root_ends, found.other_ends, found.bits & self._snapshot_mask
                )
            self._edges[role, inverse] = found
        return found

    def _compute_branch(self, role: str, inverse: bool, below: Tree) -> Extension:
        near, far, bits = self.role_edges(role, inverse)
        if below != Tree():
            other = self.body_extension(below)
            hit, place = _positions_in(far, other.rows)
            near, bits = near[hit], bits[hit] & other.bits[place]
        if not len(near):
            return Extension(near, bits)
        starts = np.flatnonzero(np.concatenate([[True], near[1:] != near[:-1]]))
        return drop_empty_rows(near[starts], np.bitwise_or.reduceat(bits, starts, axis=0))

    def counterexamples(self, tree: Tree, name: str, bit: np.uint64) -> list[str]:
        """Who a body holds of in the snapshot of ``bit`` (of the one word that is looked at),
        without belonging to a class.
        """
        found = self._counterexamples.get((tree, name))
        if found is None:
            body, own = self.body_extension(tree), self.class_extension(self.tag + name)
            hit, place = _positions_in(body.rows, own.rows)
            bits = body.bits.copy()
            bits[hit] &= ~own.bits[place]
            found = self._counterexamples[tree, name] = drop_empty_rows(body.rows, bits)
        return sorted(
            self.columns.individuals[number]
            for number in found.rows[(found.bits[:, 0] & bit) != 0].tolist()
        )


def _positions_in(values: Ints, ordered: Ints) -> tuple[Ints, Ints]:
    """Which of ``values`` are among ``ordered`` (ascending), and where."""
    if not len(ordered) or not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = np.searchsorted(ordered, values)
    place[place == len(ordered)] = 0
    hit = np.flatnonzero(ordered[place] == values)
    return hit, place[hit]


def intersect_extensions(first: Extension, second: Extension) -> Extension:
    """Where both hold."""
    hit, place = _positions_in(first.rows, second.rows)
    return drop_empty_rows(first.rows[hit], first.bits[hit] & second.bits[place])


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

    def least_support(self, window: int) -> int:
        """How many snapshots of ``window`` a rule needs."""
        return max(1, -(-self.min_support.numerator * window // self.min_support.denominator))

    def is_confident(self, joint: int, body: int) -> bool:
        """γ > γmin, strictly, in integers."""
        return joint * self.min_confidence.denominator > self.min_confidence.numerator * body


@dataclass(frozen=True, order=True)
class MinedRule:
    """A body and a class of its root, with n and d, and the same by binding."""

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
    joint_support: list[int] = field(default_factory=list)

    def mined_rule(self, tree: Tree, head: str) -> MinedRule:
        """The rule with ``head``, which was counted."""
        row = self.heads[head]
        return MinedRule(
            tree,
            head,
            self.joint_support[row],
            self.support,
            int(self.joint_pairs[row].sum()),
            int(self.pairs.sum()),
        )


class BodyCounter:
    """Counts of bodies over ``columns``, kept; of the snapshots ``among`` alone, as the columns
    are now.
    """

    def __init__(self, columns: SnapshotColumns, among: Bits | None = None, tag: str = "") -> None:
        self.columns, self._snapshot_mask, self._tag = columns, among, tag
        self.counts_by_body: dict[Tree, BodyCounts] = {}
        #: Bodies of one atom more than a body, as long as those of one atom are the same.
        self.larger_bodies: dict[Tree, Sequence[Tree]] = {}
        self.single_atoms: tuple[object, ...] = ()
        self._words = np.arange(columns.words) if among is None else np.flatnonzero(among)
        #: Each class that was asked for, by number.
        self._numbers: dict[str, int] = {}
        self._requested: set[Tree] = set()
        self._extensions: dict[bytes, BodyExtensions] = {}
        self._version = -1

    def counts(self, tree: Tree, heads: Iterable[str] = ()) -> BodyCounts:
        """The counts of a body with ``heads``, for the columns as they are."""
        columns = self.columns
        self._requested.add(tree)
        found = self.counts_by_body.get(tree)
        if found is None:
            empty = np.zeros((0, columns.words), np.uint64), np.zeros((0, columns.words), np.int64)
            body, pairs = np.zeros(columns.words, np.uint64), np.zeros(columns.words, np.int64)
            found = self.counts_by_body[tree] = BodyCounts(-1, body, pairs, *empty)
        if found.version < columns.version:
            self._recount(
                tree,
                found,
                columns.changed_words(found.version) if found.version >= 0 else self._words,
                0,
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
            self._recount(tree, found, self._words, old)
        return found

    def _recount(self, tree: Tree, found: BodyCounts, words: Ints, first: int) -> None:
        """Counts ``words`` anew, with the heads from a row on."""
        support = self.extensions(words)
        extension = support.body_extension(tree)
        found.body[words] = np.bitwise_or.reduce(extension.bits, axis=0)
        found.pairs[words] = popcount(extension.bits).sum(axis=0)
        found.support = int(popcount(found.body).sum())
        if len(found.heads) > first:
            joint, pairs = support.joint_with_each(extension, tuple(self._numbers))
            rows = [self._numbers[head] for head in list(found.heads)[first:]]
            found.joint[first:, words], found.joint_pairs[first:, words] = joint[rows], pairs[rows]
            found.joint_support[first:] = row_counts(found.joint[first:]).tolist()

    def slack(self, found: BodyCounts) -> int:
        """By how much a count may differ from what it was: what was put since is one snapshot each."""
        return self.columns.version - found.version

    def counts_if_frequent(self, tree: Tree, least: int) -> BodyCounts | None:
        """The counts of a body, maybe older ones, if at least so many snapshots bind it; nothing
        is counted where that is clear.
        """
        found = self.counts_by_body.get(tree)
        self._requested.add(tree)
        if found is None or abs(found.support - least + 0.5) < self.slack(found):
            found = self.counts(tree)
        return found if found.support >= least else None

    def frequent_heads(
        self, tree: Tree, found: BodyCounts, heads: Iterable[str], least: int
    ) -> list[str]:
        """Those of ``heads`` that at least so many snapshots have jointly with a body."""
        heads, rows, slack = list(heads), found.heads, self.slack(found)
        if any(
            head not in rows or abs(found.joint_support[rows[head]] - least + 0.5) < slack
            for head in heads
        ):
            self.counts(tree, heads)
        return [head for head in heads if found.joint_support[rows[head]] >= least]

    def confident_rules(
        self, tree: Tree, found: BodyCounts, heads: Iterable[str], limits: MiningLimits
    ) -> list[MinedRule]:
        """The rules of a body with those of ``heads`` that are confident enough."""
        slack = self.slack(found)
        times, least = found.joint_support, max(found.support - slack, 1)
        maybe = [
            head for head in heads if limits.is_confident(times[found.heads[head]] + slack, least)
        ]
        if not maybe:
            return []
        self.counts(tree)
        return [
            found.mined_rule(tree, head)
            for head in maybe
            if limits.is_confident(times[found.heads[head]], found.support)
        ]

    def extensions(self, words: Ints) -> BodyExtensions:
        """Extensions in ``words``, which are worked out once for the columns as they are."""
        if self._version != self.columns.version:
            self._extensions.clear()
            self._version = self.columns.version
        key = words.tobytes()
        if key not in self._extensions:
            self._extensions[key] = BodyExtensions(
                self.columns, words, among=self._snapshot_mask, tag=self._tag
            )
        return self._extensions[key]

    def drop_unused(self) -> None:
        """Lets go what was not asked for since the last call."""
        self.counts_by_body = {
            tree: counts for tree, counts in self.counts_by_body.items() if tree in self._requested
        }
        self.larger_bodies = {
            tree: larger for tree, larger in self.larger_bodies.items() if tree in self._requested
        }
        self._requested.clear()
        self._extensions.clear()


# The bindings of a body in one snapshot, one after the other in the order of their texts.
#
# There is no dead end, since each variable takes only what its own subtree holds of; nothing is
# worked out beyond what is taken.


#: A role, whether it leads to the variable, the body at its other end.
Branch: TypeAlias = tuple[str, bool, Tree]


class SnapshotBindings:
    """The first ``most`` bindings of bodies in snapshot ``index`` of the columns, as it is now."""

    def __init__(self, columns: SnapshotColumns, index: int, most: int) -> None:
        self._most, place = most, index % columns.size
        self._columns, self._words, self._bit = (
            columns,
            np.array([place >> 6]),
            np.uint64(1 << (place & 63)),
        )
        self._classes: dict[str, set[int]] = {}
        self._edges: dict[tuple[str, bool], dict[int, list[int]]] = {}
        self._starts: dict[Branch, set[int]] = {}
        self._bodies: dict[Tree, set[int] | None] = {Tree(): None}
        self._first: dict[Tree, list[Binding]] = {}

    def first_bindings(self, tree: Tree) -> list[Binding]:
        """Of a body, in order of the texts of ?x0, ?x1, …"""
        if tree not in self._first:
            self._first[tree] = list(
                islice(self._bind_next([(tree, self._body_members(tree))], {}), self._most)
            )
        return self._first[tree]

    def _bind_next(
        self, waiting: list[tuple[Tree, Iterable[int]]], binding: Binding
    ) -> Iterator[Binding]:
        if not waiting:
            yield dict(binding)
            return
        (tree, choices), rest = waiting[0], waiting[1:]
        own = variable(len(binding))
        for x in choices:
            binding[own] = self._columns.individuals[x]
            yield from self._bind_next(
                [*((branch[2], self._branch_ends(x, *branch)) for branch in tree.branches), *rest],
                binding,
            )
            del binding[own]

    def _body_members(self, tree: Tree) -> list[int]:
        """Of whom a body holds."""
        classes, branches = (
            map(self._class_members, tree.classes),
            map(self._branch_members, tree.branches),
        )
        return self._sort_by_text(set.intersection(*classes, *branches))

    def _branch_members(self, branch: Branch) -> set[int]:
        """Of whom a branch holds."""
        if branch not in self._starts:
            near, below = self._role_ends(*branch[:2]), self._filler_members(branch[2])
            self._starts[branch] = {
                x for x, ends in near.items() if below is None or not below.isdisjoint(ends)
            }
        return self._starts[branch]

    def _filler_members(self, tree: Tree) -> set[int] | None:
        """Of whom the body of a branch holds; None: of anybody."""
        if tree not in self._bodies:
            self._bodies[tree] = set(self._body_members(tree))
        return self._bodies[tree]

    def _branch_ends(self, x: int, role: str, inverse: bool, tree: Tree) -> Iterable[int]:
        """Whom a branch leads to from x."""
        ends, below = self._role_ends(role, inverse).get(x, ()), self._filler_members(tree)
        return ends if below is None else [y for y in ends if y in below]

    def _class_members(self, name: str) -> set[int]:
        if name not in self._classes:
            rows, bits = self._columns.class_extension(name, self._words)
            self._classes[name] = set(rows[(bits[:, 0] & self._bit) != 0].tolist())
        return self._classes[name]

    def _role_ends(self, role: str, inverse: bool) -> dict[int, list[int]]:
        if (role, inverse) not in self._edges:
            near, far, bits = self._columns.role_edges(role, inverse, self._words)
            here = (bits[:, 0] & self._bit) != 0
            edges: dict[int, list[int]] = {}
            for x, y in zip(near[here].tolist(), far[here].tolist()):
                edges.setdefault(x, []).append(y)
            self._edges[role, inverse] = {x: self._sort_by_text(ends) for x, ends in edges.items()}
        return self._edges[role, inverse]

    def _sort_by_text(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=self._columns.individuals.__getitem__)

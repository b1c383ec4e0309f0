"""Count the snapshots in which rule bodies bind, reusing counts between windows.

A new snapshot changes a count by at most one. So most decisions (frequent or not, confident or not)
follow from old counts. Where a count is needed, only changed words are counted again. Support is a
sum over disjoint sets of snapshots, so this is exact (THEORY, "Rules discovered in a stream").

A body is an ELI concept over individuals. Its extension has the individuals that belong to the
root's classes and have, for each branch, a neighbour in the extension of the subtree. The parts of
a tree share only the root, so this is a joint binding of all variables (docs/DISCOVERY.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.streams.discovery.atomsets import Binding, BodyTree, atom_count, variable_name
from shiq.streams.discovery.columns import (
    Bits,
    Extension,
    RootEdges,
    SnapshotColumns,
    count_bits,
    count_row_bits,
    drop_empty_rows,
)
from shiq.support import cached_method

# For whom a body holds, and when: joint bindings as semi-joins on bits.
#
# A body is an ELI concept over named individuals. Its extension is a set of individuals for each
# snapshot: an individual is in it if it belongs to the classes at the root and has, for each
# branch, a neighbour in the extension of what is below. Since the parts of a tree share nothing
# but the root, that is a joint binding of all variables (docs/DISCOVERY.md).


class BodyExtensions:
    """Extensions (individuals with the bits of snapshots) of rule bodies in some 64-bit words of
    the snapshot columns, computed once each.

    among: bits of the only snapshots that count; None for all.
    kept: largest number of atoms of a branch whose extension is cached.
    tag: prefix of head classes in the columns.
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
        self._branches: dict[tuple[str, bool, BodyTree], Extension] = {}

    def body_extension(self, tree: BodyTree) -> Extension:
        """Individuals to which the root of a body with at least one atom can be bound, each with
        the bits of the snapshots in which it can.
        """
        parts = [self.branch_extension(*branch) for branch in tree.branches] + [
            self.class_extension(name) for name in tree.classes
        ]
        parts.sort(key=lambda part: len(part.rows))
        found = parts[0]
        for part in parts[1:]:
            found = intersect_extensions(found, part)
        return found

    @cached_method
    def class_extension(self, name: str) -> Extension:
        """Extension of a class: its individuals, with the bits of the snapshots in which they are
        members.
        """
        found = self.columns.class_extension(name, self.words)
        if self._snapshot_mask is not None:
            found = drop_empty_rows(found.rows, found.bits & self._snapshot_mask)
        return found

    def intersect_with_classes(
        self, extension: Extension, names: Sequence[str]
    ) -> tuple[Bits, Ints]:
        """Snapshot bits and number of pairs of the intersection of an extension with each class."""
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
            pairs[of[starts]] = np.add.reduceat(count_bits(both), starts, axis=0)
        return joint, pairs

    def branch_extension(self, role: str, inverse: bool, below: BodyTree) -> Extension:
        """Individuals with a ``role`` edge to a member of the body ``below``, each with the bits of
        the snapshots in which that holds.
        """
        key = (role, inverse, below)
        found = self._branches.get(key)
        if found is None:
            found = self._compute_branch(role, inverse, below)
            if atom_count(below) < self.cached_size:
                self._branches[key] = found
        return found

    @cached_method
    def role_edges(self, role: str, inverse: bool) -> RootEdges:
        """Edges of a role with the bits of their snapshots, sorted by the individual at the root
        end.
        """
        found = self.columns.role_edges(role, inverse, self.words)
        if self._snapshot_mask is not None:
            found = found._replace(bits=found.bits & self._snapshot_mask)
        return found

    def _compute_branch(self, role: str, inverse: bool, below: BodyTree) -> Extension:
        """Compute the extension of a branch without the cache."""
        near, far, bits = self.role_edges(role, inverse)
        if below != BodyTree():
            other = self.body_extension(below)
            hit, place = _find_positions(far, other.rows)
            near, bits = near[hit], bits[hit] & other.bits[place]
        if not len(near):
            return Extension(near, bits)
        starts = np.flatnonzero(np.concatenate([[True], near[1:] != near[:-1]]))
        return drop_empty_rows(near[starts], np.bitwise_or.reduceat(bits, starts, axis=0))

    def counterexamples(self, tree: BodyTree, name: str, bit: np.uint64) -> list[str]:
        """Individuals in a body but not in the class ``name``, in the snapshot whose bit is
        ``bit``. Only one word of columns may be loaded.
        """
        found = self._counterexample_extension(tree, name)
        return sorted(
            self.columns.individuals[number]
            for number in found.rows[(found.bits[:, 0] & bit) != 0].tolist()
        )

    @cached_method
    def _counterexample_extension(self, tree: BodyTree, name: str) -> Extension:
        """Individuals in a body, with the bits of the snapshots in which they are not in the class
        ``name``.
        """
        body, own = self.body_extension(tree), self.class_extension(self.tag + name)
        hit, place = _find_positions(body.rows, own.rows)
        bits = body.bits.copy()
        bits[hit] &= ~own.bits[place]
        return drop_empty_rows(body.rows, bits)


def _find_positions(values: Ints, ordered: Ints) -> tuple[Ints, Ints]:
    """Indexes of those ``values`` that occur in ``ordered`` (ascending), and their positions in
    ``ordered``.
    """
    if not len(ordered) or not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = np.searchsorted(ordered, values)
    place[place == len(ordered)] = 0
    hit = np.flatnonzero(ordered[place] == values)
    return hit, place[hit]


def intersect_extensions(first: Extension, second: Extension) -> Extension:
    """Intersect two extensions: the individuals in both, with the snapshot bits that both have."""
    hit, place = _find_positions(first.rows, second.rows)
    return drop_empty_rows(first.rows[hit], first.bits[hit] & second.bits[place])


@dataclass(frozen=True)
class MiningLimits:
    """Thresholds of mining: minimal support and confidence, size of bodies, number of rules."""

    min_support: Fraction = Fraction(2, 5)
    min_confidence: Fraction = Fraction(4, 5)
    max_atoms: int = 3
    max_variables: int = 3
    max_rules: int = 100_000

    def min_support_count(self, window: int) -> int:
        """Number of snapshots in a window that must support a rule."""
        return max(1, -(-self.min_support.numerator * window // self.min_support.denominator))

    def is_confident(self, joint: int, body: int) -> bool:
        """Whether joint / body > ``min_confidence``, compared in integers."""
        return joint * self.min_confidence.denominator > self.min_confidence.numerator * body


@dataclass(frozen=True, order=True)
class MinedRule:
    """Mined rule: body, head class, and its counts by snapshot and by binding of the root.

    support, body_support: snapshots in which body and head, or the body, bind.
    binding_support, binding_body: the same, counted by pairs of snapshot and individual.
    """

    body: BodyTree
    head: str
    support: int
    body_support: int
    binding_support: int
    binding_body: int


@dataclass
class BodyCounts:
    """Counts of a body and of its joint occurrences with heads, valid for ``version`` of the
    columns.

    support: number of snapshots in which it binds; ``body``: their bits.
    pairs: by word, number of pairs of snapshot and root.
    heads: row of each counted head in ``joint``, ``joint_pairs`` and ``joint_support``.
    """

    version: int
    body: Bits
    pairs: Ints
    joint: Bits
    joint_pairs: Ints
    support: int = 0
    heads: dict[str, int] = field(default_factory=dict)
    joint_support: list[int] = field(default_factory=list)

    def mined_rule(self, tree: BodyTree, head: str) -> MinedRule:
        """Rule of this body and a ``head`` whose joint count is known."""
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
    """Counter of the snapshots in which bodies bind; counts are kept from window to window.

    among: bits of the only snapshots that count; None for all.
    """

    def __init__(self, columns: SnapshotColumns, among: Bits | None = None, tag: str = "") -> None:
        self.columns, self._snapshot_mask, self._tag = columns, among, tag
        self.counts_by_body: dict[BodyTree, BodyCounts] = {}
        #: Bodies of one atom more than a body, as long as those of one atom are the same.
        self.larger_bodies: dict[BodyTree, Sequence[BodyTree]] = {}
        self.single_atoms: tuple[object, ...] = ()
        self._words = np.arange(columns.words) if among is None else np.flatnonzero(among)
        #: Each class that was asked for, by number.
        self._numbers: dict[str, int] = {}
        self._requested: set[BodyTree] = set()
        self._extensions: dict[bytes, BodyExtensions] = {}
        self._version = -1

    def counts(self, tree: BodyTree, heads: Iterable[str] = ()) -> BodyCounts:
        """Current counts of a body and of its joint occurrences with ``heads``."""
        columns = self.columns
        self._requested.add(tree)
        found = self.counts_by_body.get(tree)
        if found is None:
            empty = np.zeros((0, columns.words), np.uint64), np.zeros((0, columns.words), np.int64)
            body, pairs = np.zeros(columns.words, np.uint64), np.zeros(columns.words, np.int64)
            found = self.counts_by_body[tree] = BodyCounts(-1, body, pairs, *empty)
        if found.version < columns.version:
            self._recount_body(
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
            self._recount_body(tree, found, self._words, old)
        return found

    def _recount_body(
        self, tree: BodyTree, counts: BodyCounts, words: Ints, first_row: int
    ) -> None:
        """Count a body again in the given 64-bit words, jointly with its heads from row ``first_row``
        of the counts on.
        """
        support = self.extensions(words)
        extension = support.body_extension(tree)
        counts.body[words] = np.bitwise_or.reduce(extension.bits, axis=0)
        counts.pairs[words] = count_bits(extension.bits).sum(axis=0)
        counts.support = int(count_bits(counts.body).sum())
        if len(counts.heads) > first_row:
            joint, pairs = support.intersect_with_classes(extension, tuple(self._numbers))
            rows = [self._numbers[head] for head in list(counts.heads)[first_row:]]
            counts.joint[first_row:, words], counts.joint_pairs[first_row:, words] = (
                joint[rows],
                pairs[rows],
            )
            counts.joint_support[first_row:] = count_row_bits(counts.joint[first_row:]).tolist()

    def max_count_change(self, counts: BodyCounts) -> int:
        """Upper bound of the difference between a count in ``found`` and the current one: the
        number of snapshots stored since it was made.
        """
        return self.columns.version - counts.version

    def counts_if_frequent(self, tree: BodyTree, min_count: int) -> BodyCounts | None:
        """Counts of a body if at least ``min_count`` snapshots bind it, else None. The counts may
        be outdated where they suffice to decide that.
        """
        found = self.counts_by_body.get(tree)
        self._requested.add(tree)
        if found is None or abs(found.support - min_count + 0.5) < self.max_count_change(found):
            found = self.counts(tree)
        return found if found.support >= min_count else None

    def frequent_heads(
        self, tree: BodyTree, counts: BodyCounts, heads: Iterable[str], min_count: int
    ) -> list[str]:
        """Select the heads that hold together with a body in at least ``min_count`` snapshots;
        outdated counts are used where they suffice.
        """
        heads, rows, slack = list(heads), counts.heads, self.max_count_change(counts)
        if any(
            head not in rows or abs(counts.joint_support[rows[head]] - min_count + 0.5) < slack
            for head in heads
        ):
            self.counts(tree, heads)
        return [head for head in heads if counts.joint_support[rows[head]] >= min_count]

    def confident_rules(
        self, tree: BodyTree, counts: BodyCounts, heads: Iterable[str], limits: MiningLimits
    ) -> list[MinedRule]:
        """Make the rules of a body with those ``heads`` that reach the minimal confidence."""
        slack = self.max_count_change(counts)
        times, least = counts.joint_support, max(counts.support - slack, 1)
        maybe = [
            head for head in heads if limits.is_confident(times[counts.heads[head]] + slack, least)
        ]
        if not maybe:
            return []
        self.counts(tree)
        return [
            counts.mined_rule(tree, head)
            for head in maybe
            if limits.is_confident(times[counts.heads[head]], counts.support)
        ]

    def extensions(self, words: Ints) -> BodyExtensions:
        """Extensions of bodies in the given 64-bit words, cached while the columns do not change."""
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
        """Drop the counts of bodies that were not requested since the last call of this method."""
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
Branch: TypeAlias = tuple[str, bool, BodyTree]


class SnapshotBindings:
    """Bindings of bodies in one snapshot, in the order of the bound individuals' texts.

    Every partial binding can be completed, since each variable only takes individuals of its
    subtree.
    most: number of bindings.
    """

    def __init__(self, columns: SnapshotColumns, index: int, most: int) -> None:
        self._most, place = most, index % columns.size
        self._columns, self._words, self._bit = (
            columns,
            np.array([place >> 6]),
            np.uint64(1 << (place & 63)),
        )
        self._edges: dict[tuple[str, bool], dict[int, list[int]]] = {}
        self._bodies: dict[BodyTree, set[int] | None] = {BodyTree(): None}

    @cached_method
    def first_bindings(self, tree: BodyTree) -> list[Binding]:
        """First bindings of a body, ordered by the texts of ?x0, ?x1, …"""
        found = self._extend_binding([(tree, self._body_members(tree))], {})
        return list(islice(found, self._most))

    def _extend_binding(
        self, waiting: list[tuple[BodyTree, Iterable[int]]], binding: Binding
    ) -> Iterator[Binding]:
        """Yield the bindings that extend ``binding`` to the variables of the ``waiting`` subtrees."""
        if not waiting:
            yield dict(binding)
            return
        (tree, choices), rest = waiting[0], waiting[1:]
        own = variable_name(len(binding))
        for x in choices:
            binding[own] = self._columns.individuals[x]
            yield from self._extend_binding(
                [*((branch[2], self._branch_ends(x, *branch)) for branch in tree.branches), *rest],
                binding,
            )
            del binding[own]

    def _body_members(self, tree: BodyTree) -> list[int]:
        """Individuals that a body's root can be bound to, sorted by text."""
        classes, branches = (
            map(self._class_members, tree.classes),
            map(self._branch_members, tree.branches),
        )
        return self._sort_by_text(set.intersection(*classes, *branches))

    @cached_method
    def _branch_members(self, branch: Branch) -> set[int]:
        """Individuals with a role edge that satisfies a branch of a body."""
        near, below = self._role_ends(*branch[:2]), self._filler_members(branch[2])
        return {x for x, ends in near.items() if below is None or not below.isdisjoint(ends)}

    def _filler_members(self, tree: BodyTree) -> set[int] | None:
        """Individuals to which the variable at the root of ``tree``, below a role edge, can be
        bound; None if it has no atom, so that any individual fits.
        """
        if tree not in self._bodies:
            self._bodies[tree] = set(self._body_members(tree))
        return self._bodies[tree]

    def _branch_ends(self, x: int, role: str, inverse: bool, tree: BodyTree) -> Iterable[int]:
        """Individuals to which the role edge of a branch leads from ``x`` and that satisfy the
        branch's subtree ``tree``.
        """
        ends, below = self._role_ends(role, inverse).get(x, ()), self._filler_members(tree)
        return ends if below is None else [y for y in ends if y in below]

    @cached_method
    def _class_members(self, name: str) -> set[int]:
        """Individuals of a class in this snapshot."""
        rows, bits = self._columns.class_extension(name, self._words)
        return set(rows[(bits[:, 0] & self._bit) != 0].tolist())

    def _role_ends(self, role: str, inverse: bool) -> dict[int, list[int]]:
        """By individual, the individuals to which a role leads from it, sorted by text."""
        if (role, inverse) not in self._edges:
            near, far, bits = self._columns.role_edges(role, inverse, self._words)
            here = (bits[:, 0] & self._bit) != 0
            edges: dict[int, list[int]] = {}
            for x, y in zip(near[here].tolist(), far[here].tolist()):
                edges.setdefault(x, []).append(y)
            self._edges[role, inverse] = {x: self._sort_by_text(ends) for x, ends in edges.items()}
        return self._edges[role, inverse]

    def _sort_by_text(self, individuals: Iterable[int]) -> list[int]:
        """Sort individuals, given by id, by their texts."""
        return sorted(individuals, key=self._columns.individuals.__getitem__)

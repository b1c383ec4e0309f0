"""Ground rules, which itemset miners know: at most L assertions C(a) ⇒ C'(b); support is the AND
of bit columns (docs/DISCOVERY.md).

What T ∪ A alone entails is in no rule: it would be in all of them. Sets of assertions are rows
of columns, a table for each size, and all of one size are counted together. T speaks of each
individual by itself, since no roles are in them: a set is the least spelling iff what it says of
each individual is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints
from shiq.streams.discovery.atomsets import Atom, Tree, text_of
from shiq.streams.discovery.columns import Bits, SnapshotColumns, row_counts
from shiq.streams.discovery.counting import MiningLimits
from shiq.streams.discovery.ontology import Theory

#: So many sets are counted at once.
_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class GroundRule:
    """``snapshot_bits``: the snapshots with body and head, as bits of the columns."""

    body: tuple[Atom, ...]
    head: Atom
    support: int
    body_support: int
    head_support: int
    snapshot_bits: Bits


class FrequentSets(NamedTuple):
    """Frequent sets of one size. ``parent``: the place, among those with an item less, of the
    same without its last item; ``items``: of a row, ascending; ``statement``: what it says of the
    individual of its last item (`Statements`); ``is_least_before``: whether what it says of the
    individuals before is in the least spelling.
    """

    parent: Ints
    items: Ints
    support: Ints
    bits: Bits
    statement: Ints
    is_least_before: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MinedGroundRules:
    """See `shiq.streams.discovery.mining.MinedRules`. ``table``: a row for each rule, best first:
    support, that of the body, head, body; the last two by places in ``atoms``, whose columns are
    ``bits``; -1 is none.
    """

    atoms: Sequence[Atom]
    bits: Bits
    table: Ints
    entailed_by_tbox: int
    is_truncated: bool

    @property
    def rules(self) -> Iterator[GroundRule]:
        """One after the other."""
        whole = row_counts(self.bits).tolist()
        for n, d, head, *texts in self.table.tolist():
            body = [item for item in texts if item >= 0]
            places = np.bitwise_and.reduce(self.bits[[*body, head]], axis=0)
            yield GroundRule(
                tuple(self.atoms[i] for i in body), self.atoms[head], n, d, whole[head], places
            )


def mine_ground(
    columns: SnapshotColumns, theory: Theory, limits: MiningLimits, window: int
) -> MinedGroundRules:
    """The ground rules of the snapshots that ``columns`` hold."""
    atoms, bits = _frequent_items(columns, theory, limits.least_support(window))
    statements = Statements(atoms, theory)
    levels, stopped = _frequent_sets(bits, statements, limits, window)
    found, by_tbox = list[Ints](), 0
    without = [np.zeros(len(atoms), np.int64)]
    for smaller, sets in pairwise(levels):
        without = _subset_rows(without, smaller, sets, len(atoms))
        least = smaller.is_least_before & statements.is_least[smaller.statement]
        for at, body in enumerate(without):
            entailed = least[body] & statements.entails_item(sets.items, at)
            by_tbox += int(entailed.sum())
            n, d = sets.support, smaller.support[body]
            confident = n * limits.min_confidence.denominator > limits.min_confidence.numerator * d
            rows = np.flatnonzero(least[body] & ~entailed & confident)
            none = np.full((len(rows), limits.max_atoms + 1 - sets.items.shape[1]), -1, np.int64)
            texts = np.sort(statements.rank[np.delete(sets.items[rows], at, axis=1)], axis=1)
            found.append(
                np.column_stack(
                    [n[rows], d[rows], statements.rank[sets.items[rows, at]], texts, none]
                )
            )
    rules = np.concatenate([np.empty((0, limits.max_atoms + 3), np.int64), *found])
    n, d, head = rules.T[:3]
    best = np.lexsort((head, *rules.T[:2:-1], -n, -n / d))
    by_text = np.argsort(statements.rank)
    atoms, bits = [atoms[i] for i in by_text.tolist()], bits[by_text]
    return MinedGroundRules(
        atoms,
        bits,
        rules[best[: limits.max_rules]],
        by_tbox,
        stopped or len(rules) > limits.max_rules,
    )


def _frequent_items(
    columns: SnapshotColumns, theory: Theory, least: int
) -> tuple[list[Atom], Bits]:
    """The assertions that so many snapshots entail and T ∪ A does not, by individual and class;
    and in which.
    """
    names = set(theory.classes)
    numbers = [i for i in columns.class_atoms().tolist() if columns.atoms[i][0] in names]
    bits = columns.atom_bits(np.array(numbers, np.int64))
    often = np.flatnonzero(row_counts(bits) >= least)
    order = sorted(often.tolist(), key=lambda i: columns.atoms[numbers[i]][::-1])
    return [columns.atoms[numbers[i]] for i in order], bits[order]


def _frequent_sets(
    bits: Bits, statements: Statements, limits: MiningLimits, window: int
) -> tuple[list[FrequentSets], bool]:
    """The sets that enough snapshots have jointly, by size; whether there are too many of a size
    to go on. A set grows by the last items of those that come later and have the same parent.
    """
    least, rows = limits.least_support(window), np.arange(len(bits))
    said = statements.extend(statements.empty_statement, rows)
    found = [
        FrequentSets(
            np.zeros(len(bits), np.int64),
            rows[:, None],
            row_counts(bits),
            bits,
            said,
            np.ones(len(bits), bool),
        )
    ]
    for atoms in range(limits.max_atoms):
        sets = found[-1]
        later = (
            np.searchsorted(sets.parent, sets.parent, side="right")
            - np.arange(len(sets.parent))
            - 1
        )
        starts = np.concatenate([[0], np.cumsum(later)])
        parts, many = list[tuple[Ints, Ints, Ints, Bits]](), 0
        for low in range(0, int(starts[-1]), _AT_ONCE):
            parts.append(
                _join_pairs(sets.bits, starts, low, least, keep=atoms + 1 < limits.max_atoms)
            )
            many += len(parts[-1][0])
            if many > 10 * limits.max_rules:
                return found, True
        if not many:
            break
        parent, other, support, joint = (np.concatenate(columns) for columns in zip(*parts))
        item, last = sets.items[other, -1], sets.items[parent, -1]
        same = statements.individual[item] == statements.individual[last]
        said = statements.extend(
            np.where(same, sets.statement[parent], statements.empty_statement[item]), item
        )
        settled = sets.is_least_before[parent] & (
            same | statements.is_least[sets.statement[parent]]
        )
        found.append(
            FrequentSets(
                parent, np.column_stack([sets.items[parent], item]), support, joint, said, settled
            )
        )
    return found, False


def _join_pairs(
    bits: Bits, starts: Ints, low: int, least: int, *, keep: bool
) -> tuple[Ints, Ints, Ints, Bits]:
    """Of the pairs of sets from number ``low`` on, the frequent ones: both, how often, and where
    if that is to be ``kept``. ``starts``: the numbers of the pairs that a set is the first of.
    """
    numbers = np.arange(low, min(low + _AT_ONCE, int(starts[-1])))
    first = np.searchsorted(starts, numbers, side="right") - 1
    second = first + 1 + numbers - starts[first]
    joint = bits[first] & bits[second]
    support = row_counts(joint)
    often = np.flatnonzero(support >= least)
    return first[often], second[often], support[often], joint[often] if keep else joint[:0]


def _subset_rows(
    before: Sequence[Ints], smaller: FrequentSets, sets: FrequentSets, items: int
) -> list[Ints]:
    """For each place the sets without the item there, as rows of ``smaller``, which ``before``
    is the same of.
    """
    keys = smaller.parent * items + smaller.items[:, -1]
    last = sets.items[:, -1]
    return [
        *(np.searchsorted(keys, each[sets.parent] * items + last) for each in before),
        sets.parent,
    ]


class Statements:
    """What sets of ``atoms``, which are ordered by individual, say of one individual, by number.
    Individuals that have the same classes have the same statements. ``is_least``: whether no
    shorter or earlier one is equivalent under T.
    """

    def __init__(self, atoms: Sequence[Atom], theory: Theory) -> None:
        self._theory = theory
        self.rank = np.argsort(
            np.array(sorted(range(len(atoms)), key=lambda i: text_of([atoms[i]])), np.int64)
        )
        groups, names = dict[tuple[str, ...], int](), list[tuple[int, int]]()
        self.individual = np.zeros(len(atoms), np.int64)
        for number, (_, own) in enumerate(groupby(atoms, key=lambda atom: atom[1])):
            classes = tuple(atom[0] for atom in own)
            self.individual[len(names) : len(names) + len(classes)] = number
            group = groups.setdefault(classes, len(groups))
            names += [(group, place) for place in range(len(classes))]
        self._classes = list(groups)
        self._places = max(map(len, groups), default=0)
        #: Of each item the statement that says nothing, and its place among the classes of its
        #: individual.
        self.empty_statement, self._class_place = np.array(names, np.int64).reshape(-1, 2).T
        self._statements: list[tuple[int, tuple[int, ...]]] = [
            (group, ()) for group in range(len(groups))
        ]
        self._next: Ints = np.full((len(groups), self._places), -1, np.int64)
        self._heads: npt.NDArray[np.bool_] = np.zeros((len(groups), self._places), bool)
        self.is_least: npt.NDArray[np.bool_] = np.ones(len(groups), bool)
        self._first: dict[tuple[int, frozenset[str]], int] = {}

    def extend(self, said: Ints, items: Ints) -> Ints:
        """The statements that say also ``items``, whose individuals they are about; all smaller
        ones are known.
        """
        place = self._class_place[items]
        found = self._next[said, place]
        codes = np.unique((said * self._places + place)[found < 0])
        if not len(codes):
            return found
        parts, places = np.divmod(codes, self._places)
        self._next[parts, places] = np.arange(len(codes)) + len(self._statements)
        self._next = np.concatenate([self._next, np.full((len(codes), self._places), -1, np.int64)])
        heads, least = zip(
            *(self._add_statement(*pair) for pair in zip(parts.tolist(), places.tolist()))
        )
        self._heads = np.concatenate([self._heads, np.array(heads, bool)])
        self.is_least = np.concatenate([self.is_least, np.array(least, bool)])
        return self._next[said, place]

    def _add_statement(self, before: int, place: int) -> tuple[list[bool], bool]:
        """Takes down a statement: which places T makes true of it, whether it is the least."""
        group, said = self._statements[before]
        number, classes = len(self._statements), self._classes[group]
        self._statements.append((group, (*said, place)))
        heads = self._theory.root_classes(Tree(tuple(classes[at] for at in (*said, place))))
        own = [at < len(classes) and classes[at] in heads for at in range(self._places)]
        return own, self._first.setdefault((group, heads), number) == number

    def entails_item(self, sets: Ints, at: int) -> npt.NDArray[np.bool_]:
        """Of which of ``sets`` the others entail the item of number ``at``, with T."""
        head = sets[:, at]
        said = self.empty_statement[head]
        for place in range(sets.shape[1]):
            if place != at:
                item = sets[:, place]
                same = self.individual[item] == self.individual[head]
                said = np.where(same, self._next[said, self._class_place[item] * same], said)
        return self._heads[said, self._class_place[head]]

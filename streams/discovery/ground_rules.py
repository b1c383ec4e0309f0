"""Mine ground rules C(a) ⇒ C'(b) over assertions, as itemset miners do, by bit columns.

A body has at most L assertions; support is the AND of their bit columns (docs/DISCOVERY.md).
Assertions that T ∪ A entails are left out: they would be in every rule. Sets of one size are a
table and are counted together. There are no roles, so T constrains each individual separately.
Hence a set has the minimal spelling exactly if its part about each individual has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints
from shiq.streams.discovery.atomsets import Atom, BodyTree, atoms_to_text
from shiq.streams.discovery.columns import Bits, SnapshotColumns, count_row_bits
from shiq.streams.discovery.counting import MiningLimits
from shiq.streams.discovery.ontology import BodyTheory

#: So many sets are counted at once.
_PAIRS_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class GroundRule:
    """Mined ground rule with its counts.

    snapshot_bits: bits of the snapshots with body and head.
    """

    body: tuple[Atom, ...]
    head: Atom
    support: int
    body_support: int
    head_support: int
    snapshot_bits: Bits


class FrequentItemsets(NamedTuple):
    """Frequent itemsets of one size; an item is a class assertion.

    parent: row of the set without its last item, in the table of the smaller size.
    items: items of each set, ascending.
    statement: number of the set's part about the individual of its last item (`ClassConjunctions`).
    is_least_before: whether the parts about earlier individuals have the minimal spelling.
    """

    parent: Ints
    items: Ints
    support: Ints
    bits: Bits
    statement: Ints
    is_least_before: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MinedGroundRules:
    """Ground rules of a window, in the form of `shiq.streams.discovery.mining.MinedRules`.

    table: one row per rule, best first: support, body support, head, body items, padded with -1.
    Items are indexes into ``atoms`` and ``bits``.
    """

    atoms: Sequence[Atom]
    bits: Bits
    table: Ints
    entailed_by_tbox: int
    is_truncated: bool

    @property
    def rules(self) -> Iterator[GroundRule]:
        """Yield the rules one by one."""
        whole = count_row_bits(self.bits).tolist()
        for n, d, head, *texts in self.table.tolist():
            body = [item for item in texts if item >= 0]
            places = np.bitwise_and.reduce(self.bits[[*body, head]], axis=0)
            yield GroundRule(
                tuple(self.atoms[i] for i in body), self.atoms[head], n, d, whole[head], places
            )


def mine_ground_rules(
    columns: SnapshotColumns, theory: BodyTheory, limits: MiningLimits, window: int
) -> MinedGroundRules:
    """Mine the ground rules of the snapshots in ``columns``."""
    atoms, bits = _find_frequent_items(columns, theory, limits.min_support_count(window))
    statements = ClassConjunctions(atoms, theory)
    levels, stopped = _find_frequent_itemsets(bits, statements, limits, window)
    found, by_tbox = list[Ints](), 0
    without = [np.zeros(len(atoms), np.int64)]
    for smaller, sets in pairwise(levels):
        without = _find_subset_rows(without, smaller, sets, len(atoms))
        least = smaller.is_least_before & statements.is_least[smaller.statement]
        for at, body in enumerate(without):
            entailed = least[body] & statements.entails_item(sets.items, at)
            by_tbox += int(entailed.sum())
            n, d = sets.support, smaller.support[body]
            confident = n * limits.min_confidence.denominator > limits.min_confidence.numerator * d
            rows = np.flatnonzero(least[body] & ~entailed & confident)
            none = np.full((len(rows), limits.max_atoms + 1 - sets.items.shape[1]), -1, np.int64)
            texts = np.sort(statements.text_rank[np.delete(sets.items[rows], at, axis=1)], axis=1)
            found.append(
                np.column_stack(
                    [n[rows], d[rows], statements.text_rank[sets.items[rows, at]], texts, none]
                )
            )
    rules = np.concatenate([np.empty((0, limits.max_atoms + 3), np.int64), *found])
    n, d, head = rules.T[:3]
    best = np.lexsort((head, *rules.T[:2:-1], -n, -n / d))
    by_text = np.argsort(statements.text_rank)
    atoms, bits = [atoms[i] for i in by_text.tolist()], bits[by_text]
    return MinedGroundRules(
        atoms,
        bits,
        rules[best[: limits.max_rules]],
        by_tbox,
        stopped or len(rules) > limits.max_rules,
    )


def _find_frequent_items(
    columns: SnapshotColumns, theory: BodyTheory, min_count: int
) -> tuple[list[Atom], Bits]:
    """Find the frequent class assertions that the ontology T with the static data A does not
    entail, by individual and class, with their snapshot bits.
    """
    names = set(theory.classes)
    numbers = [i for i in columns.class_assertion_rows().tolist() if columns.atoms[i][0] in names]
    bits = columns.atom_bits(np.array(numbers, np.int64))
    often = np.flatnonzero(count_row_bits(bits) >= min_count)
    order = sorted(often.tolist(), key=lambda i: columns.atoms[numbers[i]][::-1])
    return [columns.atoms[numbers[i]] for i in order], bits[order]


def _find_frequent_itemsets(
    bits: Bits, statements: ClassConjunctions, limits: MiningLimits, window: int
) -> tuple[list[FrequentItemsets], bool]:
    """Find the frequent itemsets by size. Also return whether the search stopped because they are
    too many.

    A set is extended by the last items of later sets with the same parent.
    """
    least, rows = limits.min_support_count(window), np.arange(len(bits))
    said = statements.extend_conjunctions(statements.empty_statement, rows)
    found = [
        FrequentItemsets(
            np.zeros(len(bits), np.int64),
            rows[:, None],
            count_row_bits(bits),
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
        for low in range(0, int(starts[-1]), _PAIRS_AT_ONCE):
            parts.append(
                _join_itemset_pairs(
                    sets.bits, starts, low, least, keep=atoms + 1 < limits.max_atoms
                )
            )
            many += len(parts[-1][0])
            if many > 10 * limits.max_rules:
                return found, True
        if not many:
            break
        parent, other, support, joint = (np.concatenate(columns) for columns in zip(*parts))
        item, last = sets.items[other, -1], sets.items[parent, -1]
        same = statements.individual[item] == statements.individual[last]
        said = statements.extend_conjunctions(
            np.where(same, sets.statement[parent], statements.empty_statement[item]), item
        )
        settled = sets.is_least_before[parent] & (
            same | statements.is_least[sets.statement[parent]]
        )
        found.append(
            FrequentItemsets(
                parent, np.column_stack([sets.items[parent], item]), support, joint, said, settled
            )
        )
    return found, False


def _join_itemset_pairs(
    bits: Bits, starts: Ints, first_pair: int, min_count: int, *, keep: bool
) -> tuple[Ints, Ints, Ints, Bits]:
    """Join pairs of itemsets from pair number ``first_pair`` on; return frequent pairs with support and
    bits.

    starts: number of the first pair of each set.
    keep: whether bits are needed.
    """
    numbers = np.arange(first_pair, min(first_pair + _PAIRS_AT_ONCE, int(starts[-1])))
    first = np.searchsorted(starts, numbers, side="right") - 1
    second = first + 1 + numbers - starts[first]
    joint = bits[first] & bits[second]
    support = count_row_bits(joint)
    often = np.flatnonzero(support >= min_count)
    return first[often], second[often], support[often], joint[often] if keep else joint[:0]


def _find_subset_rows(
    before: Sequence[Ints], smaller: FrequentItemsets, sets: FrequentItemsets, items: int
) -> list[Ints]:
    """For each position of an itemset, the rows in ``smaller`` of the itemsets without the item at
    that position.

    before: the same for the next smaller size.
    """
    keys = smaller.parent * items + smaller.items[:, -1]
    last = sets.items[:, -1]
    return [
        *(np.searchsorted(keys, each[sets.parent] * items + last) for each in before),
        sets.parent,
    ]


class ClassConjunctions:
    """Numbered conjunctions of classes that itemsets assert of one individual.

    Individuals with the same candidate classes share conjunctions, which the code calls statements.
    is_least: whether no shorter or earlier conjunction is equivalent under T.
    """

    def __init__(self, atoms: Sequence[Atom], theory: BodyTheory) -> None:
        self._theory = theory
        self.text_rank = np.argsort(
            np.array(sorted(range(len(atoms)), key=lambda i: atoms_to_text([atoms[i]])), np.int64)
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
        self._extended_statements: Ints = np.full((len(groups), self._places), -1, np.int64)
        self._entailed_classes: npt.NDArray[np.bool_] = np.zeros((len(groups), self._places), bool)
        self.is_least: npt.NDArray[np.bool_] = np.ones(len(groups), bool)
        self._first_equivalent: dict[tuple[int, frozenset[str]], int] = {}

    def extend_conjunctions(self, conjunctions: Ints, items: Ints) -> Ints:
        """Numbers of the conjunctions ``conjunctions``, each extended by the class of an item; new ones are
        added.
        """
        place = self._class_place[items]
        found = self._extended_statements[conjunctions, place]
        codes = np.unique((conjunctions * self._places + place)[found < 0])
        if not len(codes):
            return found
        parts, places = np.divmod(codes, self._places)
        self._extended_statements[parts, places] = np.arange(len(codes)) + len(self._statements)
        self._extended_statements = np.concatenate(
            [self._extended_statements, np.full((len(codes), self._places), -1, np.int64)]
        )
        heads, least = zip(
            *(self._add_conjunction(*pair) for pair in zip(parts.tolist(), places.tolist()))
        )
        self._entailed_classes = np.concatenate([self._entailed_classes, np.array(heads, bool)])
        self.is_least = np.concatenate([self.is_least, np.array(least, bool)])
        return self._extended_statements[conjunctions, place]

    def _add_conjunction(self, before: int, place: int) -> tuple[list[bool], bool]:
        """Add the conjunction ``before`` extended by the class with index ``place``. Return flags
        of the classes that the ontology T entails from it, and whether it is the minimal spelling.
        """
        group, said = self._statements[before]
        number, classes = len(self._statements), self._classes[group]
        self._statements.append((group, (*said, place)))
        heads = self._theory.root_classes(BodyTree(tuple(classes[at] for at in (*said, place))))
        own = [at < len(classes) and classes[at] in heads for at in range(self._places)]
        return own, self._first_equivalent.setdefault((group, heads), number) == number

    def entails_item(self, sets: Ints, at: int) -> npt.NDArray[np.bool_]:
        """Flag the itemsets whose other items, with the ontology T, entail the item at position
        ``at``.
        """
        head = sets[:, at]
        said = self.empty_statement[head]
        for place in range(sets.shape[1]):
            if place != at:
                item = sets[:, place]
                same = self.individual[item] == self.individual[head]
                said = np.where(
                    same, self._extended_statements[said, self._class_place[item] * same], said
                )
        return self._entailed_classes[said, self._class_place[head]]

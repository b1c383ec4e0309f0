"""Ground rules, which itemset miners know: at most L assertions C(a) ⇒ C'(b); support is the AND of bit columns (SPEC 3).

What T ∪ A alone entails is in no rule: it would be in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from shiq.columns.arrays import Ints
from streams.discovery.atomsets import Atom, Tree, text_of
from streams.discovery.columns import Bits, Columns, popcount
from streams.discovery.mining import Limits
from streams.discovery.theory import Theory


@dataclass(frozen=True)
class GroundRule:
    """``places``: the snapshots with body and head, as bits of the columns."""

    body: tuple[Atom, ...]
    head: Atom
    support: int
    body_support: int
    head_support: int
    places: Bits


@dataclass(frozen=True)
class GroundMined:
    """See `streams.discovery.mining.Mined`."""

    rules: tuple[GroundRule, ...]
    by_tbox: int
    stopped: bool


def mine_ground(columns: Columns, theory: Theory, limits: Limits, window: int) -> GroundMined:
    """The ground rules of the snapshots that ``columns`` hold."""
    least = limits.least(window)
    atoms, bits = _items(columns, theory, least)
    sets = dict(_frequent(bits, least, limits.max_atoms + 1))
    whole = [int(n) for n in popcount(bits).sum(axis=1)]
    least_spelling = _minimal(sets, atoms, theory)
    rules, by_tbox = [], 0
    for items, (support, places) in sets.items():
        for at in range(len(items)) if len(items) > 1 else ():
            body, head = items[:at] + items[at + 1 :], items[at]
            if body not in least_spelling:
                continue
            if atoms[head][0] in _heads(body, atoms, theory, atoms[head][1]):
                by_tbox += 1
                continue
            d = sets[body][0]
            if limits.is_confident(support, d):
                rules.append(GroundRule(tuple(atoms[i] for i in body), atoms[head], support, d, whole[head], places))
    by_tbox += len(least_spelling)
    rules.sort(key=lambda rule: (-rule.support / rule.body_support, -rule.support, text_of(rule.body), text_of([rule.head])))
    return GroundMined(tuple(rules[: limits.max_rules]), by_tbox, len(rules) > limits.max_rules)


def _items(columns: Columns, theory: Theory, least: int) -> tuple[list[Atom], Bits]:
    """The assertions that so many snapshots entail and T ∪ A does not, by text; and in which."""
    names = set(theory.classes)
    numbers = [i for i in columns.class_atoms().tolist() if columns.atoms[i][0] in names]
    bits = columns.of_numbers(np.array(numbers, np.int64))
    often = np.flatnonzero(popcount(bits).sum(axis=1) >= least)
    order = sorted(often.tolist(), key=lambda i: text_of([columns.atoms[numbers[i]]]))
    return [columns.atoms[numbers[i]] for i in order], bits[order]


def _frequent(bits: Bits, least: int, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, Bits]]]:
    """Sets of rows that so many snapshots have jointly: how many, and which. A set grows by later rows alone, among those that
    its parent could grow by."""

    def grow(items: tuple[int, ...], own: Bits, later: Ints) -> Iterator[tuple[tuple[int, ...], tuple[int, Bits]]]:
        joint = bits[later] & own
        counts = popcount(joint).sum(axis=1)
        kept = np.flatnonzero(counts >= least)
        for place, row in enumerate(kept.tolist()):
            larger = (*items, int(later[row]))
            yield larger, (int(counts[row]), joint[row])
            if len(larger) < most:
                yield from grow(larger, joint[row], later[kept[place + 1 :]])

    everything = np.full(bits.shape[1:], -1, np.int64).view(np.uint64)
    yield from grow((), everything, np.arange(len(bits)))


def _minimal(sets: dict[tuple[int, ...], Any], atoms: Sequence[Atom], theory: Theory) -> set[tuple[int, ...]]:
    """Of equivalent sets under T the one with fewest atoms, then the least text; there are no roles in them, so T speaks of each
    individual by itself."""
    first: dict[object, tuple[int, ...]] = {}
    for items in sorted(sets, key=lambda items: (len(items), items)):
        own = _by_individual(items, atoms)
        key = frozenset((individual, theory.heads(Tree(names))) for individual, names in own)
        first.setdefault(key, items)
    return set(first.values())


def _by_individual(items: Sequence[int], atoms: Sequence[Atom]) -> list[tuple[str, tuple[str, ...]]]:
    """The classes that a set says of each individual."""
    own = sorted((atoms[i][1], atoms[i][0]) for i in items)
    return [(individual, tuple(name for _, name in said)) for individual, said in groupby(own, key=lambda pair: pair[0])]


def _heads(items: Sequence[int], atoms: Sequence[Atom], theory: Theory, individual: str) -> frozenset[str]:
    """The classes of an individual that follow from a set by T."""
    names = dict(_by_individual(items, atoms)).get(individual)
    return frozenset() if names is None else theory.heads(Tree(names))

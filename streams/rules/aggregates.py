"""Aggregates over columns: the value of each group of distinct tuples (SPEC 004, section 2,
"Built-ins").
"""

from __future__ import annotations

import numpy as np

from shiq.columns.arrays import Ints
from streams.rules.dictionary import ConstantDictionary, Flags
from streams.rules.values import LIMIT, IntegerOverflow


def aggregated(
    dictionary: ConstantDictionary, function: str, group: Ints, first: Ints, count: int
) -> tuple[Ints, Flags]:
    """The value of each of ``count`` groups of distinct tuples, by their first components; and
    which groups have one.
    """
    size = np.bincount(group, minlength=count)
    if function == "count":
        return size, np.ones(count, np.bool_)
    if function == "sum":
        numbers, are = dictionary.numbers(first)
        if are is not None:
            group, numbers = group[are], numbers[are]
        return dictionary.of_numbers(_sums(group, numbers, count)), np.ones(count, np.bool_)
    (rank,) = dictionary.ranks(first)
    order = np.lexsort((rank if function == "min" else -rank, group))
    found = np.zeros(count, np.int64)
    begins = np.cumsum(size) - size
    found[size > 0] = first[order[begins[size > 0]]]
    return found, size > 0


def _sums(group: Ints, numbers: Ints, count: int) -> Ints:
    found = np.zeros(count, np.int64)
    if not len(numbers):
        return found
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    if largest * len(numbers) < LIMIT:
        np.add.at(found, group, numbers)
        return found
    exact = [0] * count
    for i, number in zip(group.tolist(), numbers.tolist()):
        exact[i] += number
    for total in exact:
        if not -LIMIT <= total < LIMIT:
            raise IntegerOverflow(f"the sum {total} is beyond 64 bits")
    return np.array(exact, np.int64)

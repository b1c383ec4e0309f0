"""Columns: what is asked of few numbers and of many is the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from jobs.columns import TINY, contained, distinct, is_in, unique
from jobs.engines.labels import by_distinct, combinations

SIZES = (0, 1, 2, TINY - 1, TINY, TINY + 1, 5 * TINY)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("values", (3, 40, 1 << 50))
def test_few_and_many(size: int, values: int) -> None:
    of = random.Random(f"{size} {values}")
    for _ in range(30):
        rows = [(of.randrange(values), of.randrange(values)) for _ in range(size)]
        others = [(of.randrange(values), of.randrange(values)) for _ in range(of.choice(SIZES))]
        first, second = np.array(rows, np.int64).reshape(-1, 2).T
        among_first, among_second = np.array(others, np.int64).reshape(-1, 2).T
        expected = sorted({a for a, _ in rows})
        assert unique(first).tolist() == expected
        found, inverse, example = distinct(first)
        assert found.tolist() == expected and found[inverse].tolist() == first.tolist() == [a for a, _ in rows]
        assert first[example].tolist() == expected
        assert is_in(first, among_first).tolist() == [a in {x for x, _ in others} for a, _ in rows]
        assert contained([first, second], [among_first, among_second]).tolist() == [row in others for row in rows]
        combination, which = combinations(first, second)
        assert combination == sorted(set(rows)) and [combination[i] for i in which.tolist()] == rows
        assert by_distinct(first, lambda a: a // 2).tolist() == [a // 2 for a, _ in rows]

"""Columns: what is asked of few numbers and of many is the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from shiq.abox_ops.labels.label_numbers import apply_to_distinct, distinct_rows
from shiq.columns.arrays import (
    TINY,
    distinct_with_inverse,
    insertion_points,
    is_in,
    is_row_in,
    matching_rows,
    row_codes,
    run_lengths,
    unique,
)

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
        found, inverse, example = distinct_with_inverse(first)
        assert found.tolist() == expected and found[inverse].tolist() == first.tolist() == [
            a for a, _ in rows
        ]
        assert first[example].tolist() == expected
        assert is_in(first, among_first).tolist() == [a in {x for x, _ in others} for a, _ in rows]
        assert is_row_in([first, second], [among_first, among_second]).tolist() == [
            row in others for row in rows
        ]
        combination, which = distinct_rows(first, second)
        assert combination == sorted(set(rows)) and [combination[i] for i in which.tolist()] == rows
        assert apply_to_distinct(first, lambda a: a // 2).tolist() == [a // 2 for a, _ in rows]


@pytest.mark.parametrize("far", [0, 1 << 30, 1 << 48, 1 << 62])
def test_rows_of_a_base_and_of_a_batch(far: int) -> None:
    """Columns whose numbers lie in two places far apart, or anywhere."""
    dice = np.random.default_rng(far % 7)
    for size in (1, 5, 300, 3_000):
        near = dice.integers(-3, 900, size)
        spread = dice.integers(-(1 << 63), (1 << 63) - 1, 40)
        columns = [
            near + far * dice.integers(0, 2, size),
            dice.integers(0, 4, size),
            spread[dice.integers(0, 40, size)],
        ]
        for chosen in (columns[:2], columns, [columns[2]], [columns[0], columns[0][::-1]]):
            rows = list(zip(*(column.tolist() for column in chosen)))
            by_code: dict[int, set[object]] = {}
            for code, row in zip(row_codes(*chosen).tolist(), rows):
                by_code.setdefault(code, set()).add(row)
            assert all(len(found) == 1 for found in by_code.values())
            assert len(by_code) == len(set(rows))
            assert [rows[i] for i in np.argsort(row_codes(*chosen)).tolist()] == sorted(rows)
            half = [column[: size // 2] for column in chosen]
            among = set(rows[: size // 2])
            assert is_row_in(chosen, half).tolist() == [row in among for row in rows]


def test_rows_of_keys_that_are_there_never_once_or_often() -> None:
    dice = np.random.default_rng(3)
    for size in (0, 1, 2, 40, 500):
        keys = np.sort(np.repeat(dice.integers(0, 2 * size + 1, size), dice.integers(1, 4, size)))
        for wanted in (
            np.arange(-1, 2 * size + 3),
            np.unique(dice.integers(0, 2 * size + 1, size)),
            np.zeros(0, np.int64),
        ):
            expected = [i for i, key in enumerate(keys.tolist()) if key in set(wanted.tolist())]
            assert matching_rows(keys, wanted).tolist() == expected
            assert run_lengths(keys, wanted).tolist() == [
                keys.tolist().count(key) for key in wanted.tolist()
            ]


def test_positions_are_those_of_searching() -> None:
    dice = np.random.default_rng(5)
    for size in (0, 1, 100, 5_000):
        ordered = np.sort(dice.integers(0, 1 << 40, 1_000))
        values = dice.permutation(
            np.concatenate([dice.choice(ordered, size), dice.integers(0, 1 << 40, size)])
        )
        assert np.array_equal(insertion_points(ordered, values), np.searchsorted(ordered, values))
        assert np.array_equal(
            insertion_points(ordered, np.sort(values)), np.searchsorted(ordered, np.sort(values))
        )

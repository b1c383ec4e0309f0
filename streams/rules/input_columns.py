"""Rows that come as columns: numpy or pyarrow arrays of integers or texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shiq.errors import InputError
from streams.rules.atoms import AtomError, is_predicate, read_constant
from streams.rules.values import IntegerOverflow, Row, in_range


def columns_of(given: Mapping[str, Any]) -> Iterator[tuple[str, tuple[np.ndarray[Any, Any], ...]]]:
    """For each predicate ``p/2`` its columns: int64, or objects (constants). Raises: InputError."""
    for predicate, columns in given.items():
        if not is_predicate(predicate) or int(predicate.rpartition("/")[2]) != len(columns):
            raise InputError(
                f"{predicate}: {len(columns)} columns",
                "Name predicates as p/2, and give a column an argument.",
            )
        found = tuple(_column(predicate, column) for column in columns)
        if len({len(column) for column in found}) > 1:
            raise InputError(
                f"{predicate}: columns of different lengths", "Give as many values in each."
            )
        yield predicate, found


def _column(predicate: str, column: Any) -> np.ndarray[Any, Any]:
    array = (
        column.to_numpy(zero_copy_only=False)
        if hasattr(column, "to_pylist")
        else np.asarray(column)
    )
    if array.ndim == 1 and (
        array.size == 0
        or array.dtype.kind == "i"
        or (array.dtype.kind == "u" and array.max() < 1 << 63)
    ):
        return array.astype(np.int64)
    if (
        array.ndim != 1
        or array.dtype.kind not in "OUS"
        or not all(isinstance(value, str | int) for value in array.tolist())
    ):
        raise InputError(
            f"{predicate}: a column of {array.dtype}", "Give integers, or texts of constants."
        )
    found = np.empty(len(array), object)
    try:
        found[:] = [
            read_constant(value) if isinstance(value, str) else in_range(int(value))
            for value in array.tolist()
        ]
    except (AtomError, IntegerOverflow) as error:
        raise InputError(
            f"{predicate}: {error}", 'Write constants as in atoms: 5, on, "a text", <urn:x>.'
        ) from error
    return found


def columns_from(rows: Sequence[Row], predicate: str) -> tuple[np.ndarray[Any, Any], ...]:
    """The columns of rows, one an argument: int64 where all are integers, else of objects."""
    columns = list(zip(*rows)) if rows else [()] * int(predicate.rpartition("/")[2])
    return tuple(
        np.array(column, object if any(isinstance(value, str) for value in column) else np.int64)
        for column in columns
    )


def rows_of(rows: Any) -> list[Row]:
    """Rows, from rows or a tuple of columns."""
    if isinstance(rows, tuple):
        return list(zip(*(column.tolist() for column in rows)))
    found: Sequence[Row] = rows
    return list(found)

"""Select and remove assertions of a large ABox by operations on its columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints
from shiq.model import Assertion
from shiq.model.abox import COLUMNS, ABox, abox_of, int_array

_Mask: TypeAlias = Any  # numpy array of bool
_VALUES: Final = {
    "name": "",
    "subject": "individuals",
    "object": "individuals",
    "literal": "literals",
}
#: The kinds of assertions that have columns, and what they are about.
FAMILIES: Final = {"class": "classes", "role": "object_properties", "data": "data_properties"}


def names_in_use(abox: ABox, family: str) -> list[str]:
    """Return the names that the assertions of a family are about, sorted.

    family: a key of `FAMILIES`.
    """
    values: list[str] = getattr(abox, FAMILIES[family])
    return sorted(values[i] for i in np.unique(_column(abox, f"{family}_name")).tolist())


def _column(abox: ABox, name: str) -> Ints:
    return np.asarray(getattr(abox, name), np.int64)


def row_masks(abox: ABox, names: Mapping[str, Collection[str]]) -> list[_Mask]:
    """Return one mask per family: the rows about a class or property in `names`.

    names: by family, the names wanted.
    """
    masks = []
    for family, wanted in names.items():
        values = getattr(abox, FAMILIES[family])
        chosen = np.fromiter((value in wanted for value in values), np.bool_, len(values))
        masks.append(chosen[_column(abox, f"{family}_name")])
    return masks


def select_rows(abox: ABox, masks: Sequence[_Mask], rare: Mapping[str, Any] | None = None) -> ABox:
    """Build the ABox of the rows that `masks` select.

    masks: one per family, in the order of `COLUMNS`.
    rare: replacements for the fields without columns (same, different, complex); by default they
        stay.
    """
    columns: dict[str, Any] = {
        name: int_array(_column(abox, name)[mask])
        for mask, family in zip(masks, COLUMNS)
        for name in family
    }
    return replace(abox, **columns, **(rare or {}))


def remove_assertions(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """Return `abox` without the assertions in `gone`."""
    less = abox_of(gone)
    ids: dict[str, list[int]] = {}
    for values in ("individuals", "literals", *FAMILIES.values()):
        wanted = {value: i for i, value in enumerate(getattr(less, values))}
        ids[values] = [-1] * len(wanted)
        for i, value in enumerate(getattr(abox, values)):
            if value in wanted:
                ids[values][wanted[value]] = i
    masks = []
    for family in COLUMNS:
        places = [
            ids[_VALUES[name.split("_")[1]] or FAMILIES[name.split("_")[0]]] for name in family
        ]
        rows = {
            tuple(place[i] for place, i in zip(places, row))
            for row in zip(*(getattr(less, name) for name in family))
        }
        columns = [_column(abox, name) for name in family]
        keep = np.ones(len(columns[0]), np.bool_)
        near = np.flatnonzero(np.isin(columns[0], [row[0] for row in rows]))
        keep[near] = [
            row not in rows for row in zip(*(column[near].tolist() for column in columns))
        ]
        masks.append(keep)
    pairs = ids["individuals"]
    same = {(pairs[a], pairs[b]) for a, b in less.same}
    complex_ = set(less.complex)
    rare = {
        "same": tuple(x for x in abox.same if x not in same),
        "different": abox.different.difference({(pairs[a], pairs[b]) for a, b in less.different}),
        "complex": tuple(x for x in abox.complex if x not in complex_),
    }
    return select_rows(abox, masks, rare)

"""Parts of an ABox, by its columns: for ABoxes too large to look at each assertion."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from shiq.abox import COLUMNS, ABox, abox_of, int_array
from shiq.columns.arrays import Ints
from shiq.model import Assertion

_Mask: TypeAlias = Any  # numpy array of bool
_VALUES: Final = {
    "name": "",
    "subject": "individuals",
    "object": "individuals",
    "literal": "literals",
}
#: The kinds of assertions that have columns, and what they are about.
FAMILIES: Final = {"class": "classes", "role": "object_properties", "data": "data_properties"}


def used(abox: ABox, family: str) -> list[str]:
    """The classes or properties that the assertions of a family are about."""
    values: list[str] = getattr(abox, FAMILIES[family])
    return sorted(values[i] for i in np.unique(_column(abox, f"{family}_name")).tolist())


def _column(abox: ABox, name: str) -> Ints:
    return np.asarray(getattr(abox, name), np.int64)


def rows_on(abox: ABox, names: Mapping[str, Collection[str]]) -> list[_Mask]:
    """The assertions about a class or property of ``names``, as a mask by family."""
    masks = []
    for family, wanted in names.items():
        values = getattr(abox, FAMILIES[family])
        chosen = np.fromiter((value in wanted for value in values), np.bool_, len(values))
        masks.append(chosen[_column(abox, f"{family}_name")])
    return masks


def chosen(abox: ABox, masks: Sequence[_Mask], rare: Mapping[str, Any] | None = None) -> ABox:
    """The assertions that ``masks`` choose, one for each family; ``rare``: the other ones, as
    they are by default.
    """
    columns: dict[str, Any] = {
        name: int_array(_column(abox, name)[mask])
        for mask, family in zip(masks, COLUMNS)
        for name in family
    }
    return replace(abox, **columns, **(rare or {}))


def without(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """``abox`` less ``gone``."""
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
        "different": abox.different.without({(pairs[a], pairs[b]) for a, b in less.different}),
        "complex": tuple(x for x in abox.complex if x not in complex_),
    }
    return chosen(abox, masks, rare)

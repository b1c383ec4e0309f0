"""Values of merge classes, counted for a data restriction (THEORY, "The add set": data)."""

from __future__ import annotations

from collections.abc import Hashable

from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import Label
from shiq.model import Literal
from shiq.model.clause import DataAtLeast, DataAtMost


def count_values(
    data: DataRestrictions, atom: DataAtMost, members: list[tuple[Label, set[tuple[str, Literal]]]]
) -> int:
    """|V| + G for ``atom``: the number of distinct asserted values in its range, and of values that
    may have to be generated.

    ``members``: the label and the data of every member of a merge class.
    """
    theory, below = data.theory, data.subproperties(atom.property)
    distinct: set[Hashable] = set()
    generated = 0
    for label, values in members:
        for p, v in values:
            if p in below and theory.contains(atom.range, v) is not False:
                distinct.add(v if theory.is_ill_typed(v) else theory.value(v))
        for i, need in data.needs_below(atom.property):
            if data.is_in_force(i, label) and not (need.n == 1 and _is_met(data, need, values)):
                generated += need.n
    return len(distinct) + generated


def _is_met(data: DataRestrictions, need: DataAtLeast, values: set[tuple[str, Literal]]) -> bool:
    """Whether one of ``values`` meets ``need``."""
    below = data.subproperties(need.property)
    return any(p in below and data.theory.contains(need.range, v) is True for p, v in values)

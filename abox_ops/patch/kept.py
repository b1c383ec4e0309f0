"""A_add of a region: the labels, role assertions and data that are kept at the elements of I."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shiq.abox_ops.labels.numbered import EMPTY_ID, Bools
from shiq.abox_ops.modules.add_set import AddSetColumns
from shiq.abox_ops.patch.region import PatchRegion, contradictory, may_clash, open_assertions
from shiq.columns.arrays import NONE, Columns, Ints, is_in, row_codes, unique

#: Whether a negative statement may contradict what stands between two elements (`may_clash`).
MayClash = Callable[[PatchRegion, Ints, Ints], Bools]


def keeps(
    region: PatchRegion,
    source: Ints,
    role: Ints,
    target: Ints,
    may_clash_between: MayClash = may_clash,
) -> Bools:
    """Whether each role assertion is kept; all between their ends are among them, from the first
    to the second.
    """
    judged = open_assertions(region)
    open_ = judged.relevant(source, role, target)
    seen = judged.seen(source, role, target) & ~open_
    code = row_codes(source, target)
    linked = is_in(code, code[open_])
    also = (seen & ~linked).nonzero()[0]
    seen[also] = may_clash_between(region, source[also], target[also])
    kept: Bools = open_ | seen
    return kept


def kept_rows(region: PatchRegion) -> tuple[Columns, Columns]:
    """The role assertions and data of I that are kept."""
    rest = region.inside & ~contradictory(region)
    source, role, target = region.graph.half_edges(rest)
    inner = rest[target]
    source, role, target = source[inner], role[inner], target[inner]
    kept = keeps(region, source, role, target) & (role % 2 == 0)
    data = open_assertions(region).kept_data(rest.nonzero()[0])
    return {"source": source[kept], "role": role[kept], "target": target[kept]}, data


def add_set_of(
    region: PatchRegion, rows: tuple[Columns, Columns], *, is_bare: bool
) -> AddSetColumns:
    """A_add with its kept ``rows``; ``is_bare``: with told⁺ alone, else with what is assumed and
    the residuals.
    """
    graph, table = region.graph, region.calculus.table
    clash = contradictory(region)
    labels = graph.label.copy()
    elements = region.inside.nonzero()[0]
    if is_bare:
        labels[elements] = table.visible(graph.label[elements])
    else:
        here, _, residuals, _ = region.kept_out
        start = np.full(len(graph), EMPTY_ID, np.int64)
        labels[elements] = table.join(
            table.visible(region.labels.mu[elements]),
            table.accumulate(start, here, residuals)[elements],
        )
    touched = unique(graph.rep[region.touched]) if region.touched is not None else NONE
    edges, data = rows
    return AddSetColumns(
        graph,
        elements,
        region.active,
        graph.label,
        labels,
        touched,
        np.flatnonzero(clash),
        edges,
        data,
        pulled_in=region.pulled_in,
    )

"""The assertions that a refutation depends on: the search once more, with what the module asserts
traced like choice points (THEORY, "Deciding a shape without a JVM").
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from shiq.bits import bits
from shiq.reasoner.hypertableau.rules import OutOfBudget, Search
from shiq.reasoner.hypertableau.search import run
from shiq.reasoner.hypertableau.state import State
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module

#: The parts of a module that are lists.
LISTS = ("data", "negative_data", "different", "negative_edges", "edges")


def trace_inputs(state: State, module: Module) -> None:
    """Number every assertion of ``module``, and make each the dependency set of itself: literals
    by node, then the rows of the lists.
    """
    sets = state.dependencies
    for known, masks in ((sets.names, module.positive), (sets.denials, module.negative)):
        for x, mask in enumerate(masks):
            for a in bits(mask):
                known[x * state.width + a] = 1 << sets.inputs
                sets.inputs += 1
    for kind in LISTS:
        sets.first_input[kind] = sets.inputs
        sets.inputs += len(getattr(module, kind))


def part_of(module: Module, inputs: int) -> Module:
    """Keep the assertions whose numbers by `trace_inputs` are among the bits ``inputs``."""
    number = count()

    def literals(masks: Iterable[int]) -> tuple[int, ...]:
        return tuple(
            sum(1 << a for a in bits(mask) if inputs >> next(number) & 1) for mask in masks
        )

    positive, negative = literals(module.positive), literals(module.negative)
    rows: dict[str, Any] = {
        kind: tuple(row for row in getattr(module, kind) if inputs >> next(number) & 1)
        for kind in LISTS
    }
    return Module(positive, negative, **rows)


def core_of(tables: Tables, module: Module, limit: int, deadline: float | None) -> Module | None:
    """Find a part of ``module``, over the same nodes, that contradicts the TBox of ``tables`` by
    itself; small, not always minimal. None where there is none, or ``limit`` steps or the time
    until ``deadline`` do not show one.
    """
    search = Search(tables, module, limit, deadline)
    trace_inputs(search.state, module)
    try:
        found = run(search)
    except OutOfBudget:
        return None
    return None if found or search.opaque else part_of(module, search.clash.depends_on)

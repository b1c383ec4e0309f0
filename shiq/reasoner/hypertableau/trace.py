"""What a refutation rests on: the search once more, with what the module asserts traced like
choice points (THEORY, "Deciding a shape without a JVM").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from shiq.bits import bits
from shiq.reasoner.hypertableau.rules import OutOfBudget
from shiq.reasoner.hypertableau.search import Search
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module

V = TypeVar("V")

#: The parts of a module that are lists.
LISTS = ("data", "negative_data", "different", "negative_edges", "edges")


class TracedSearch(Search):
    """A `Search` in which every assertion of the module is an input: a literal of a node, or a
    row of a list.
    """

    def __init__(self, tables: Tables, module: Module, limit: int, deadline: float | None) -> None:
        super().__init__(tables, module, limit, deadline)
        for rests, masks in ((self.pos_rest, module.positive), (self.neg_rest, module.negative)):
            for x, mask in enumerate(masks):
                for a in bits(mask):
                    rests[x * self.width + a] = 1 << self.inputs
                    self.inputs += 1
        self._first: dict[str, int] = {}
        for kind in LISTS:
            self._first[kind] = self.inputs
            self.inputs += len(getattr(module, kind))
        self._literals = dict(self.pos_rest), dict(self.neg_rest)

    def rest_of(self, kind: str, position: int) -> int:
        return 1 << (self._first[kind] + position)

    def core(self) -> Module:
        """The part of the module that the refutation rests on, after a failed search."""
        module, rests_on = self.module, self.rests_on

        def literals(rests: dict[int, int], masks: Iterable[int]) -> tuple[int, ...]:
            base = self.width
            return tuple(
                sum(1 << a for a in bits(mask) if rests[x * base + a] & rests_on)
                for x, mask in enumerate(masks)
            )

        def rows(kind: str, given: Sequence[V]) -> tuple[V, ...]:
            return tuple(row for i, row in enumerate(given) if self.rest_of(kind, i) & rests_on)

        positive, negative = self._literals
        return Module(
            literals(positive, module.positive),
            literals(negative, module.negative),
            rows("edges", module.edges),
            rows("negative_edges", module.negative_edges),
            rows("different", module.different),
            rows("data", module.data),
            rows("negative_data", module.negative_data),
        )


def core_of(tables: Tables, module: Module, limit: int, deadline: float | None) -> Module | None:
    """A part of ``module``, over the same nodes, that contradicts the TBox of ``tables`` by
    itself; small, not always minimal. None where there is none, or ``limit`` steps or the time
    until ``deadline`` do not show one.
    """
    search = TracedSearch(tables, module, limit, deadline)
    try:
        found = search.run()
    except OutOfBudget:
        return None
    return None if found or search.opaque else search.core()

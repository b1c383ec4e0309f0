"""Element graphs of the specification: extended by a batch, and only read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields, replace

from shiq.abox_ops.elements.element_graph import ElementGraph
from shiq.model import Assertion
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.partition import Partition

_SETS = ("half_edges", "negative_edges", "data", "negative_data", "different")


def extend_graph(
    graph: ElementGraph, tbox: ClausalTBox, assertions: Iterable[Assertion]
) -> ElementGraph:
    """``graph`` with normalised ``assertions`` added; ``tbox`` has its atoms as a prefix. ``graph``
    stays as it is.
    """
    copies = {
        name: defaultdict(set, {i: set(found) for i, found in getattr(graph, name).items()})
        for name in _SETS
    }
    grown = replace(
        graph,
        tbox=tbox,
        elements=Partition(graph.elements),
        individuals=set(graph.individuals),
        literals=dict(graph.literals),
        **copies,
    )
    for assertion in assertions:
        grown.add(assertion)
    return grown


class ReadOnlyGraph(ElementGraph):
    """An element graph that is only read from here on: it remembers the neighbours of each element."""

    def __init__(self, graph: ElementGraph) -> None:
        super().__init__(**{f.name: getattr(graph, f.name) for f in fields(graph)})
        self._neighbours: dict[str, set[tuple[Role, str]]] = {}

    def neighbours(self, element: str) -> set[tuple[Role, str]]:
        found = self._neighbours.get(element)
        if found is None:
            found = self._neighbours[element] = super().neighbours(element)
        return found

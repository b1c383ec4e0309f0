"""Element graphs of the specification: extended by a batch, and only read; and what is kept of
one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.modules.components import KeptAssertions
from shiq.model import Assertion
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.partition import Partition
from tests.spec.element_graph import ElementGraph

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


@dataclass(frozen=True)
class Closure:
    """A_add and the elements of one check as dictionaries.

    region: I. labels: told⁺ of I and of the touched elements. touched_elements: elements of A⁺.
    contradictory: elements of I whose label clashes. add_set: A_add without these.
    remedies: (element, name, positive), in place of dropped role assertions (definition7).
    """

    region: frozenset[str]
    labels: dict[str, Label]
    touched_elements: frozenset[str]
    contradictory: frozenset[str]
    add_set: KeptAssertions
    remedies: frozenset[tuple[str, str, bool]] = frozenset()


def keep_negative(kept: KeptAssertions, graph: ElementGraph, element: str) -> None:
    """Add to ``kept`` the negative assertions and inequalities of ``element``; those with another
    element only if that is in A_add too.
    """
    kept.negative_edges |= {
        (element, r, b)
        for r, b in graph.negative_neighbours(element)
        if not r.is_inverse and b in kept.labels
    }
    kept.different |= {
        (min(element, b), max(element, b))
        for b in graph.unequal_elements(element)
        if b in kept.labels
    }
    kept.negative_data |= {(element, p, v) for p, v in graph.negative_values(element)}


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

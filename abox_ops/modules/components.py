"""Modules: the connected components of what is kept (THEORY, "Modules")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shiq.abox_ops.elements.element_graph import ElementGraph
from shiq.abox_ops.elements.quotient import Partition
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.calculus import EMPTY, Label
from shiq.model import Literal
from shiq.model.roles import Role
from shiq.reasoner.protocol import Module


@dataclass
class KeptAssertions:
    """A_add by element: labels, role assertions (subject, named role, object), inequalities,
    negative assertions, data.
    """

    labels: Mapping[str, Label]
    edges: set[tuple[str, Role, str]] = field(default_factory=set)
    negative_edges: set[tuple[str, Role, str]] = field(default_factory=set)
    different: set[tuple[str, str]] = field(default_factory=set)
    data: set[tuple[str, str, Literal]] = field(default_factory=set)
    negative_data: set[tuple[str, str, Literal]] = field(default_factory=set)

    def keep_negative(self, graph: ElementGraph, element: str) -> None:
        """Keeps every negative assertion and inequality of ``element``; of those with another
        element, where that is kept too.
        """
        self.negative_edges |= {
            (element, r, b)
            for r, b in graph.negatives(element)
            if not r.inverted and b in self.labels
        }
        self.different |= {
            (min(element, b), max(element, b)) for b in graph.unequal(element) if b in self.labels
        }
        self.negative_data |= {(element, p, v) for p, v in graph.negative_values(element)}


def modules(
    kept: KeptAssertions, members: Mapping[str, tuple[str, ...]] | None = None
) -> list[NamedModule]:
    """The components of ``kept`` under its role assertions, in the order of their least elements.

    Inequalities and negative role assertions between components hold of themselves, since the
    domains of the components' models are disjoint (no nominals); inside a component they are
    kept.
    """
    components: Partition[str] = Partition()
    for subject, _, object in kept.edges:
        components.union(subject, object)
    names = sorted({components.find(e) for e in kept.labels})
    node = {e: i for name in names for i, e in enumerate(components.members(name))}
    by_component: dict[str, _Parts] = {name: _Parts() for name in names}
    for a, role, b in kept.edges:
        by_component[components.find(a)].edges.append((node[a], role, node[b]))
    for a, role, b in kept.negative_edges:
        if components.find(a) == components.find(b):
            by_component[components.find(a)].negative_edges.append((node[a], role, node[b]))
    for a, b in kept.different:
        if components.find(a) == components.find(b):
            by_component[components.find(a)].different.append(
                (min(node[a], node[b]), max(node[a], node[b]))
            )
    for a, property, literal in kept.data:
        by_component[components.find(a)].data.append((node[a], property, literal))
    for a, property, literal in kept.negative_data:
        by_component[components.find(a)].negative_data.append((node[a], property, literal))
    found = []
    for name in names:
        elements = components.members(name)
        parts = by_component[name]
        labels = [kept.labels.get(e, EMPTY) for e in elements]
        found.append(
            NamedModule(
                Module(
                    tuple(label[0] for label in labels),
                    tuple(label[1] for label in labels),
                    tuple(sorted(parts.edges)),
                    tuple(sorted(parts.negative_edges)),
                    tuple(sorted(set(parts.different))),
                    tuple(sorted(parts.data, key=repr)),
                    tuple(sorted(parts.negative_data, key=repr)),
                ),
                tuple(members[e] if members else (e,) for e in elements),
            )
        )
    return found


@dataclass
class _Parts:
    edges: list[tuple[int, Role, int]] = field(default_factory=list)
    negative_edges: list[tuple[int, Role, int]] = field(default_factory=list)
    different: list[tuple[int, int]] = field(default_factory=list)
    data: list[tuple[int, str, Literal]] = field(default_factory=list)
    negative_data: list[tuple[int, str, Literal]] = field(default_factory=list)

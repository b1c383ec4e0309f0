"""The patch of the criteria `model` and `clausal` (THEORY, "Inside", "Border rules", "The loop" and "The add set") with told⁺ and
entailed equality by message passing.

Border rules, assumed labels, counts and modules are those of `local`, over the role assertions of I and its neighbours.
"""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import flags
from abox_ops.patch.columns import Patch
from abox_ops.patch.state_columns import PatchInput
from jobs.graphframes.frames import collected
from jobs.graphframes.rules import label_of
from jobs.graphframes.world import World
from shiq.columns.arrays import Ints, is_in, unique


class MessagePatch(Patch):
    """I of one batch, growing; ``world`` is A ∪ A⁺, whose active elements are those that have told⁺ here."""

    def __init__(self, given: PatchInput, world: World) -> None:
        super().__init__(given)
        self.world = world

    def _saturate(self) -> None:
        graph, world = self.graph, self.world
        if self._first is None:
            self._first = graph.locate_nodes(self.touched.nodes)
            nodes = self.touched.nodes
        else:
            fresh = self._members()
            fresh = fresh[~self.active[fresh]]
            if not len(fresh):
                return
            graph.gather(fresh)
            nodes = graph.nodes_of(fresh)[1]
        world.activate(world.of(nodes))
        world.saturate()
        self._adopt()
        self.inside = flags(len(graph), graph.rep[self._members()])
        self.plain = flags(len(graph), graph.rep[np.flatnonzero(self.plain)])

    def _walk(self, elements: Ints) -> int:
        return 0

    def _adopt(self) -> None:
        """Takes over the active elements of the world, with their labels."""
        graph, world, table = self.graph, self.world, self.calculus.table
        rows = collected(world.active)
        elements = rows["id"]
        node, name = world.names
        merged = is_in(name, unique(elements))
        first, second = graph.locate_nodes(node[merged]), graph.locate_nodes(name[merged])
        graph.join(first, second)
        graph.expand(unique(graph.elements_of(elements)))
        number = graph.elements_of(elements)
        graph.label[number] = np.array([table.id(label_of(text)) for text in rows["label"]], np.int64)
        self.active = flags(len(graph), number)

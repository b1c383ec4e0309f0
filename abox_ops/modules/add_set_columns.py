"""A_add by element, in columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from abox_ops.elements.columns import Graph
from abox_ops.elements.pulled_in import PulledInReasons
from abox_ops.labels.numbered import Bools
from shiq.columns.arrays import Columns, Ints


@dataclass
class Found:
    """A closure in columns, by element number of ``graph`` (elements by their `rep`, ascending).

    ``seen``: I; ``labelled``: elements that ``labels`` are given for; ``labels``: by number; ``kept_labels``: what modules hold;
    ``contradictory``: elements of I that clash; ``edges``: kept role assertions (source, role, target), roles not inverted, each
    once; ``data``: kept data rows (element, node, property, literal); ``remedies``: (element, name, positive); ``pulled_in``: why
    elements are there, under the criteria `clausal` and `model`.
    """

    graph: Graph
    seen: Ints
    labelled: Bools
    labels: Ints
    kept_labels: Ints
    touched: Ints
    contradictory: Ints
    edges: Columns
    data: Columns
    remedies: list[tuple[int, str, bool]] = field(default_factory=list)
    pulled_in: PulledInReasons = field(default_factory=PulledInReasons)

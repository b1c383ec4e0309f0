"""What a batch touches: the individuals of its normalised assertions, and what it brings that is
rare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abox_ops.elements.normal import normalise
from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import negated
from shiq.abox import individuals_of
from shiq.columns.arrays import Columns, Ints, unique
from shiq.model import THING, NegativeDataPropertyAssertion, NegativeObjectPropertyAssertion
from shiq.roles import Role, RoleBox


@dataclass(frozen=True)
class TouchedNodes:
    """``nodes``: of all inserted assertions once normalised (a:⊤ is none). ``other``: the same
    without role and data assertions; ``negative``: of negative assertions alone. ``data``: the
    inserted data rows.
    """

    nodes: Ints
    other: Ints
    negative: Ints
    data: Columns
    negated_roles: frozenset[Role]
    negated_properties: frozenset[str]


def touched_by(whole: UnionView, roles: RoleBox) -> TouchedNodes:
    """What the insertions of ``whole`` touch."""
    tables = {name: table.columns for name, table in whole.inserted.items()}
    classes = tables["class_assertions"]
    thing = whole.names.classes.ids.get(THING.iri, -1)
    complex_ = whole.inserted_complex()
    plain = [p for a in complex_ for p in normalise(a, roles).assertions]
    negative = [
        p
        for p in plain
        if isinstance(p, NegativeObjectPropertyAssertion | NegativeDataPropertyAssertion)
    ]
    denied = whole.nodes_of([i for p in negative for i in individuals_of(p)])
    named = whole.nodes_of([i for p in plain for i in individuals_of(p)])
    other = [classes["node"][classes["class"] != thing], named, tables["pairs"]["node"], denied]
    return TouchedNodes(
        unique(
            np.concatenate(
                [tables["half_edges"]["node"], tables["data_assertions"]["node"], *other]
            )
        ),
        unique(np.concatenate(other)),
        unique(denied),
        dict(tables["data_assertions"]),
        *negated(complex_, roles),
    )

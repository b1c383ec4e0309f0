"""What a store holds as an `ABox`, column by column: for what looks at all of A, such as
certifying it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jobs.store.read import Store, complex_assertions
from shiq.abox import ABox, Interner, Pairs, columns_of, int_array
from shiq.columns.arrays import Ints
from shiq.columns.rows import DIFFERENT, SAME
from shiq.model import Literal


def stored_abox(store: Store) -> ABox:
    """A, each assertion once. Individuals, names and literals are those that A mentions.

    Cost: one scan; |A| integers, and the terms and literals, are held in memory.
    """
    individuals = store.table("individuals").all()
    nodes: Ints = individuals["node"]
    order = np.argsort(nodes)

    def place(of: Ints) -> Ints:
        found: Ints = order[np.searchsorted(nodes, of, sorter=order)]
        return found

    classes = store.table("class_assertions").all()
    edges = store.table("half_edges").all()
    forward = edges["role"] % 2 == 0
    data = store.table("data_assertions").all()
    pairs = store.table("pairs").all()
    class_names, class_name = _used(store.classes, classes["class"])
    roles, role = _used(store.object_properties, edges["role"][forward] // 2)
    properties, property_ = _used(store.data_properties, data["property"])
    literals, literal = _literals(store, data["literal"])

    class_rows = place(classes["node"]), class_name
    role_rows = place(edges["node"][forward]), role, place(edges["neighbour"][forward])
    data_rows = place(data["node"]), property_, literal

    def pairs_of(kind: int) -> Pairs:
        told = pairs["kind"] == kind
        return Pairs(
            int_array(place(pairs["node"][told])), int_array(place(pairs["neighbour"][told]))
        )

    return ABox(
        individuals=list(map(str, individuals["term"].to_pylist())),
        classes=class_names,
        object_properties=roles,
        data_properties=properties,
        literals=literals,
        **columns_of(map(int_array, (*class_rows, *role_rows, *data_rows))),
        same=tuple(pairs_of(SAME)),
        different=pairs_of(DIFFERENT),
        complex=tuple(complex_assertions(store.table("complex").all()).values()),
    )


def _used(names: Sequence[str], column: Ints) -> tuple[list[str], Ints]:
    """The ``names`` that ``column`` mentions, and ``column`` in terms of them."""
    used, place = np.unique(column, return_inverse=True)
    return [names[i] for i in used.tolist()], place


def _literals(store: Store, column: Ints) -> tuple[list[Literal], Ints]:
    """The literals that ``column`` mentions, each once, though the store may have several
    numbers for one; and ``column`` in terms of them.
    """
    used, place = np.unique(column, return_inverse=True)
    known: Interner[Literal] = Interner()
    number = np.fromiter(map(known.id, store.literals_of(used)), np.int64, len(used))
    return known.values, number[place]

"""The assertions about individuals of a graph, as OWL values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.union_view import UnionView
from shiq.columns.arrays import Ints, unique
from shiq.columns.rows import SAME

#: The tables that say something about an individual, complex assertions apart.
_TABLES = ("class_assertions", "half_edges", "data_assertions", "pairs")


def assertions_about(
    whole: UnionView, nodes: Ints, *, with_old: bool = True
) -> Iterator[tuple[str, owl.Assertion]]:
    """Yield (individual, assertion about it) for all ``nodes``, fetched together: those that are
    inserted, and, ``with_old``, those of the base.
    """
    if not len(nodes):
        return
    names = whole.names
    types, edges, data, pairs = (whole.rows_of(name, nodes, with_old=with_old) for name in _TABLES)
    mentioned = unique(np.concatenate([nodes, edges["neighbour"], pairs["neighbour"]]))
    known = dict(zip(mentioned.tolist(), whole.terms_of(mentioned)))

    def terms(column: Ints) -> Iterator[str]:
        return map(known.__getitem__, column.tolist())

    for term, c in zip(terms(types["node"]), types["class"].tolist()):
        yield term, owl.ClassAssertion(owl.Class(names.classes.values[c]), term)
    for term, r, other in zip(
        terms(edges["node"]), edges["role"].tolist(), terms(edges["neighbour"])
    ):
        property_ = owl.ObjectProperty(names.object_properties.values[r // 2])
        if r % 2 == 0:
            yield term, owl.ObjectPropertyAssertion(property_, term, other)
        elif other != term:
            yield term, owl.ObjectPropertyAssertion(property_, other, term)
    for term, p, value in zip(
        terms(data["node"]), data["property"].tolist(), whole.literals_of(data["literal"])
    ):
        yield (
            term,
            owl.DataPropertyAssertion(
                owl.DataProperty(names.data_properties.values[p]), term, value
            ),
        )
    for term, kind, other in zip(
        terms(pairs["node"]), pairs["kind"].tolist(), terms(pairs["neighbour"])
    ):
        make = owl.SameIndividual if kind // 2 * 2 == SAME else owl.DifferentIndividuals
        if kind % 2 == 0:
            yield term, make(term, other)
        elif other != term:
            yield term, make(other, term)
    for node, assertion, is_inserted in whole.complex_of(nodes):
        if not (with_old or is_inserted):
            continue
        yield known[node], assertion

"""Which elements a run of one group has to name to the others, and what of its insertions the others could count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from abox_ops.elements.base import FRESH
from abox_ops.elements.columns import Graph
from abox_ops.elements.union_view import UnionView
from abox_ops.labels.columns import Calculus
from shiq.columns.arrays import Ints
from shiq.columns.rows import term_hash


def element_names(graph: Graph, whole: UnionView) -> Ints:
    """By number of ``graph``: what names the element in every task: its number in the store, or a hash of a fresh individual's
    name, with the lowest negative numbers (two that share one are only run together)."""
    ids = graph.key.copy()
    fresh = np.flatnonzero(ids >= FRESH)
    if len(fresh):
        terms = [whole.batch.terms[i] for i in (ids[fresh] - FRESH).tolist()]
        ids[fresh] = term_hash(terms) | np.int64(-(1 << 63))
    return ids


class CountedEnds(NamedTuple):
    """The nodes of inserted assertions that a ≤n can count: of role assertions, and of values."""

    roles: Ints
    values: Ints


def counted_ends(calculus: Calculus, whole: UnionView) -> CountedEnds:
    """Those of ``whole``."""
    edges, data = whole.inserted["half_edges"].columns, whole.inserted["data_assertions"].columns
    counted = calculus.among(edges["role"], counted_roles(calculus)) if len(edges["node"]) else np.zeros(0, np.bool_)
    names = calculus.names.data_properties.values
    bounded = np.fromiter((p in calculus.bounded_properties for p in names), np.bool_, len(names))
    return CountedEnds(edges["node"][counted], data["node"][bounded[data["property"]]])


def counted_roles(calculus: Calculus) -> frozenset[Any]:
    """The roles of which an assertion, seen from either end, can change what a ≤n counts: those below its role; all roles where
    something can be generated there, since then any neighbour may be taken for a witness (THEORY, "Irrelevant role
    assertions")."""
    space = calculus.space
    found: set[Any] = set()
    for clause in space.m_type:
        below = calculus.below(clause)
        if any(atom.role in below or atom.role.inverse in below for atom in space.at_least.values()):
            return frozenset(calculus.roles)
        found |= below | {role.inverse for role in below}
    return frozenset(found)

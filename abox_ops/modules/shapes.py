"""Shapes: keys that are equal for modules that are equal up to renaming, and so have the same
answer (THEORY, "Modules").

The key of a shape is the module with its nodes in canonical order (`shiq.model.canonical_graphs`). Equal
keys mean isomorphic modules; a poor order only costs a cache hit. Literals are replaced by what the
TBox can distinguish.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from shiq.cache import Cache
from shiq.model import Literal
from shiq.model.canonical_graphs import canonical_order, node_positions
from shiq.model.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.model.roles import Role
from shiq.reasoner.protocol import Module

if TYPE_CHECKING:
    from shiq.datatypes import DataTheory

Shape: TypeAlias = tuple[Hashable, ...]

#: Literals whose cells are kept.
KEPT_LITERALS = 100_000
#: Modules of several elements whose shapes are kept: parts of a batch are checked one after the
#: other, and have most in common.
KEPT_MODULES = 10_000
#: Larger modules are compared as they stand.
ORDERED_NODES = 200


class Shapes:
    """Computes shapes over one clausal TBox: keys that are equal for modules which are equal up to
    renaming.
    """

    def __init__(self, tbox: ClausalTBox) -> None:
        self.tbox = tbox
        self._ranges = tuple(
            dict.fromkeys(a.range for a in tbox.atoms if isinstance(a, DataAtLeast | DataAtMost))
        )
        self._tokens: Cache[Literal, Hashable] = Cache(KEPT_LITERALS)
        self._shapes: Cache[Module, Shape] = Cache(KEPT_MODULES)

    @cached_property
    def _data_theory(self) -> DataTheory:
        """The datatype reasoner for the TBox's definitions."""
        from shiq.datatypes import DataTheory

        return DataTheory(self.tbox.definitions, self.tbox.roles)

    def shape_of(self, module: Module) -> Shape:
        """Compute the shape of ``module``."""
        if len(module.positive) == 1 and not (module.edges or module.data or module.negative_data):
            return (module.positive, module.negative, module.different, module.negative_edges)
        if len(module.positive) > ORDERED_NODES:
            return self._canonical_key(module)
        return self._shapes.get_or_make(module, lambda: self._canonical_key(module))

    def _canonical_key(self, module: Module) -> Shape:
        """Compute the shape from a canonical order of the module's nodes."""
        data = self._data_by_node(module)
        order = _canonical_node_order(module, data)
        found = _in_order(module, order)
        return (
            found.positive,
            found.negative,
            found.edges,
            found.negative_edges,
            found.different,
            tuple(data[n] for n in order),
        )

    def canonical_module(self, module: Module) -> tuple[Module, Sequence[int]]:
        """Reorder the nodes of ``module`` as in its key; return also the original node of each.

        A search on the result depends on the shape alone.
        """
        order = _canonical_node_order(module, self._data_by_node(module))
        if len(order) == 1:
            return module, order
        place = node_positions(order)
        data, negative_data = (
            tuple(sorted(((place[a], p, value) for a, p, value in rows), key=repr))
            for rows in (module.data, module.negative_data)
        )
        found = replace(_in_order(module, order), data=data, negative_data=negative_data)
        return found, order

    def _data_by_node(self, module: Module) -> list[Hashable]:
        """For each node, a key of its (negative) data: each literal is replaced by a token for what
        the TBox distinguishes.
        """
        rows: list[list[tuple[bool, str, Literal]]] = [[] for _ in module.positive]
        for node, property, literal in module.data:
            rows[node].append((True, property, literal))
        for node, property, literal in module.negative_data:
            rows[node].append((False, property, literal))
        return [self._tokens_of_node(row) if row else () for row in rows]

    def _tokens_of_node(self, row: list[tuple[bool, str, Literal]]) -> Hashable:
        """Replace the literals of one node by tokens, equal for equal values. A literal that may or
        may not equal an earlier one is its own token.

        One pass, since a node may have thousands (`shiq.datatypes.DataTheory.denote_same`).
        """
        row = sorted(
            row,
            key=lambda x: (
                x[0],
                x[1],
                repr(self._token_of(x[2])),
                x[2].lexical,
                x[2].datatype,
                x[2].language,
            ),
        )
        numbers: dict[Hashable, int] = {}
        first_vague = len(row)
        found: list[Hashable] = []
        for positive, property, literal in row:
            number = numbers.setdefault(self._data_theory.identity_key(literal), len(numbers))
            is_incomparable = self._data_theory.is_incomparable(literal)
            by_itself = number > 0 if is_incomparable else first_vague < number
            if is_incomparable:
                first_vague = min(first_vague, number)
            found.append(
                (positive, property, literal if by_itself else self._token_of(literal), number)
            )
        return tuple(found)

    def _token_of(self, literal: Literal) -> Hashable:
        """The token of a literal: the cell of the TBox's data ranges that contains it."""
        return self._tokens.get_or_make(
            literal, lambda: self._data_theory.cell_key(literal, self._ranges)
        )


def _in_order(module: Module, order: Sequence[int]) -> Module:
    """``module`` without its data, and with its nodes in ``order``."""
    place = node_positions(order)
    ends = ((place[a], place[b]) for a, b in module.different)
    return Module(
        tuple(module.positive[n] for n in order),
        tuple(module.negative[n] for n in order),
        tuple(sorted((place[a], role, place[b]) for a, role, b in module.edges)),
        tuple(sorted((place[a], role, place[b]) for a, role, b in module.negative_edges)),
        tuple(sorted((min(pair), max(pair)) for pair in ends)),
    )


def _canonical_node_order(module: Module, data: list[Hashable]) -> list[int]:
    """Order the nodes of a module canonically; keep the given order for a very large module."""
    nodes = range(len(data))
    if len(nodes) > ORDERED_NODES:
        return list(nodes)
    arcs = [((True, role), a, b) for a, role, b in module.edges] + [
        ((False, role), a, b) for a, role, b in module.negative_edges
    ]
    arcs += [((True, _DIFFERENT), *pair) for a, b in module.different for pair in ((a, b), (b, a))]
    return canonical_order(
        [(module.positive[n], module.negative[n], repr(data[n])) for n in nodes], arcs
    )


_DIFFERENT = Role("≠")

"""Shapes: modules that are equal up to renaming have the same answer (THEORY.md 2.5).

The key of a shape is the module itself, its nodes put in an order that colour refinement gives: equal keys mean isomorphic
modules, whatever the order; a poor order only costs a hit. Literals are replaced by what the TBox can tell of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from shiq.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.datatypes import DataTheory
from shiq.model import Literal
from shiq.reasoner.protocol import Module
from shiq.roles import Role

Shape: TypeAlias = tuple[Hashable, ...]

#: Larger modules are compared as they stand.
REFINED_NODES = 200


class Shapes:
    """Shape keys of the modules over one clausal TBox."""

    def __init__(self, tbox: ClausalTBox, theory: DataTheory) -> None:
        self._theory = theory
        self._ranges = tuple(dict.fromkeys(a.range for a in tbox.atoms if isinstance(a, DataAtLeast | DataAtMost)))
        self._tokens: dict[Literal, Hashable] = {}

    def shape(self, module: Module) -> Shape:
        """The key of ``module``."""
        if len(module.positive) == 1 and not (module.edges or module.data or module.negative_data):
            return (module.positive, module.negative, module.different, module.negative_edges)
        data = self._node_data(module)
        order = self._order(module, data)
        place = {node: i for i, node in enumerate(order)}
        return (
            tuple(module.positive[n] for n in order),
            tuple(module.negative[n] for n in order),
            tuple(sorted((place[a], r, place[b]) for a, r, b in module.edges)),
            tuple(sorted((place[a], r, place[b]) for a, r, b in module.negative_edges)),
            tuple(sorted((min(place[a], place[b]), max(place[a], place[b])) for a, b in module.different)),
            tuple(data[n] for n in order),
        )

    def _node_data(self, module: Module) -> list[Hashable]:
        """Per node: its (negative) data, each literal as what the TBox tells of it and which others of the node it equals."""
        rows: list[list[tuple[bool, str, Literal]]] = [[] for _ in module.positive]
        for node, property, literal in module.data:
            rows[node].append((True, property, literal))
        for node, property, literal in module.negative_data:
            rows[node].append((False, property, literal))
        return [self._tokenised(row) if row else () for row in rows]

    def _tokenised(self, row: list[tuple[bool, str, Literal]]) -> Hashable:
        row = sorted(row, key=lambda x: (x[0], x[1], repr(self._token(x[2])), x[2].lexical, x[2].datatype, x[2].language))
        distinct: list[Literal] = []
        found: list[Hashable] = []
        for positive, property, literal in row:
            token = self._token(literal)
            for i, other in enumerate(distinct):
                same = self._theory.same(literal, other)
                if same is None:
                    token = literal
                elif same:
                    found.append((positive, property, token, i))
                    break
            else:
                found.append((positive, property, token, len(distinct)))
                distinct.append(literal)
        return tuple(found)

    def _token(self, literal: Literal) -> Hashable:
        token = self._tokens.get(literal)
        if token is None:
            row = tuple(self._theory.contains(r, literal) for r in self._ranges)
            token = self._tokens[literal] = literal if None in row else row
        return token

    def _order(self, module: Module, data: list[Hashable]) -> list[int]:
        nodes = range(len(module.positive))
        if len(nodes) > REFINED_NODES:
            return list(nodes)
        colours = _ranks([(module.positive[n], module.negative[n], repr(data[n])) for n in nodes])
        around: list[list[tuple[Role, bool, int]]] = [[] for _ in nodes]
        for (a, role, b), positive in [(e, True) for e in module.edges] + [(e, False) for e in module.negative_edges]:
            around[a].append((role, positive, b))
            around[b].append((role.inverse, positive, a))
        for a, b in module.different:
            around[a].append((Role("≠"), True, b))
            around[b].append((Role("≠"), True, a))
        for _ in nodes:
            refined = _ranks([(colours[n], sorted((r, p, colours[m]) for r, p, m in around[n])) for n in nodes])
            if refined == colours:
                break
            colours = refined
        return sorted(nodes, key=lambda n: (colours[n], n))


def _ranks(keys: list[Any]) -> list[int]:
    order = {repr(k): i for i, k in enumerate(sorted({repr(k): k for k in keys}.values()))}
    return [order[repr(k)] for k in keys]

"""The fields of a tableau's state, the trail by which changes are taken back, and what facts
rest on.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from shiq.bits import bits
from shiq.reasoner.hypertableau.data import DataStatement
from shiq.reasoner.hypertableau.tables import Rule, Tables
from shiq.reasoner.protocol import Module

#: An asserted data restriction, value or negated value, with what it rests on.
DataFact: TypeAlias = tuple[DataStatement, int]

#: A match of a rule: rule number, centre, branch (-1 for none).
Match: TypeAlias = tuple[int, int, int]

#: (unnamed, number of alternatives, kind of the first), then the order of arrival, then the match.
Pending: TypeAlias = tuple[int, int, int, int, Match]

_MISSING = object()


class Trail:
    """What can be taken back: the state's fields, each change of them behind a choice point, and
    what facts rest on.
    """

    def __init__(self, tables: Tables, module: Module) -> None:
        self.tables = tables
        self.named = len(module.positive)
        self.module = module
        negated = [a for mask in set(module.negative) for a in bits(mask & tables.need_mask)]
        self.helpers = {a: 1 << tables.negated(a) for a in negated}
        self.width = len(tables.atoms)
        self.inputs = 0
        self.pos: list[int] = list(module.positive)
        self.neg: list[int] = list(module.negative)
        self.near: list[dict[int, int]] = [{} for _ in self.pos]
        self.reach: list[int] = [0] * self.named
        self.parent: list[int] = [-1] * self.named
        self.alive: list[bool] = [True] * self.named
        self.unequal: dict[int, dict[int, int]] = {}
        self.forbidden: dict[int, dict[int, tuple[tuple[int, int], ...]]] = {}
        self.data: dict[int, tuple[DataFact, ...]] = {}
        self.pos_rest: dict[int, int] = {}
        self.neg_rest: dict[int, int] = {}
        self.edge_rest: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self.open: dict[int, bool] = {}
        self.new_names: list[tuple[int, int]] = []
        self.new_edges: list[tuple[int, int, int]] = []
        self.new_denials: list[tuple[int, int]] = []
        self.dirty: dict[int, None] = {}
        self.choices: list[Any] = []
        self.trail: list[tuple[Any, Any, Any]] = []
        self.repending: list[Pending] = []
        self.used: set[int] = set()

    def write(self, container: Any, key: Any, value: Any) -> None:
        """``container[key] = value`` in a list or dict, so that `undo` takes it back."""
        if self.choices:
            old = container[key] if type(container) is list else container.get(key, _MISSING)
            self.trail.append((container, key, old))
        container[key] = value

    def remove(self, container: dict[Any, Any], key: Any) -> None:
        if self.choices:
            self.trail.append((container, key, container[key]))
        del container[key]

    def undo(self, mark: int, nodes: int) -> None:
        """Takes back all writes after ``mark``, and the nodes from ``nodes`` on; pending matches
        that were looked at since come to ``repending``. The queues must be empty, or worthless.
        """
        trail = self.trail
        while len(trail) > mark:
            container, key, old = trail.pop()
            if old is _MISSING:
                del container[key]
            elif container is None:
                self.repending.append(key)
            else:
                container[key] = old
        for column in (self.pos, self.neg, self.near, self.reach, self.parent, self.alive):
            del column[nodes:]
        self.new_names.clear()
        self.new_edges.clear()
        self.new_denials.clear()
        self.dirty.clear()

    def edge_rests(self, x: int, y: int, roles: int) -> int:
        """What the lowest of ``roles`` from x to y rests on."""
        if not self.edge_rest:
            return 0
        bit = roles & -roles
        if x > y:
            x, y, bit = y, x, self.tables.inverse(bit)
        for mask, rest in self.edge_rest.get((x, y), ()):
            if mask & bit:
                return rest
        return 0

    def names_rest(self, x: int, names: int) -> int:
        """What ``names``, all holding at x, rest on."""
        rests, base, total = self.pos_rest, x * self.width, 0
        if rests:
            for a in bits(names):
                total |= rests.get(base + a, 0)
        return total

    def denials_rest(self, x: int, names: int) -> int:
        """What the denials of ``names`` at x rest on together, as one bit mask."""
        rests, base, total = self.neg_rest, x * self.width, 0
        if rests:
            for a in bits(names):
                total |= rests.get(base + a, 0)
        return total

    def match_rest(self, rule: Rule, x: int, y: int) -> int:
        """What a match of a local or u-type rule rests on, with the denials that took disjuncts
        away.
        """
        if not (self.choices or self.inputs):
            return 0
        rest = self.names_rest(x, rule.body) | self.denials_rest(x, rule.head & self.neg[x])
        if y >= 0:
            rest |= self.edge_rests(x, y, rule.role_bit) | self.names_rest(y, rule.branch_body)
            rest |= self.denials_rest(y, rule.branch_head & self.neg[y])
        return rest

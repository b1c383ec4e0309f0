"""A partial model: nodes, facts, what each fact rests on, and the trail that takes writes back."""

from __future__ import annotations

from shiq.bits import bits
from shiq.clause import AtLeast, DataAtLeast, DataAtMost
from shiq.reasoner.hypertableau.trail import DataFact, Trail

_NOTHING: dict[int, int] = {}


class TableauClash(Exception):
    """A contradiction; ``rests_on`` is the set of choice points that its premises rest on, as
    bits (`State.inputs`); ``nodes``: where it is.
    """

    def __init__(self, rests_on: int, *nodes: int) -> None:
        super().__init__(rests_on, nodes)
        self.rests_on = rests_on
        self.nodes = nodes


class State(Trail):
    """Nodes are integers by age: the individuals of the module first, parents before children.

    Per node: ``pos`` and ``neg`` (atoms that hold, that do not), ``near`` (neighbour → mask of
    the roles that lead to it, closed under ⊑* and kept from both ends; a loop holds both
    directions), ``reach`` (a superset of all these roles), ``parent`` (-1 for individuals),
    ``alive`` (not merged away or pruned). Sparse: ``unequal``, ``forbidden`` (negative edges),
    ``data``. What a fact rests on is kept only where it is not nothing. While there is no choice
    point, nothing can be taken back, and nothing is put on the trail. Where what is asserted is
    traced, it has the lowest bits, ``inputs`` of them, and choice points those above (`trace`).

    Every new fact is queued for the rules that it can wake (``new_names``, ``new_edges``,
    ``new_denials``, ``dirty`` data); ``open`` holds the nodes with a ≥-atom that is not known to
    be met.
    """

    def load(self) -> None:
        """Takes over what the module asserts."""
        tables, module, helpers = self.tables, self.module, self.helpers
        for x in range(self.named):
            neg = self.neg[x]
            if both := self.pos[x] & neg:
                first = both & -both
                raise TableauClash(self.names_rest(x, first) | self.denials_rest(x, first), x)
            for a in bits(neg & (tables.need_mask | tables.data_mask)):
                if a in helpers:
                    self.pos[x] |= helpers[a]
                    if self.inputs:
                        self.pos_rest[x * self.width + tables.negated(a)] = self.denials_rest(
                            x, 1 << a
                        )
                else:
                    self._add_data(x, (_complement(tables.atoms[a]), self.denials_rest(x, 1 << a)))
            if self.pos[x] & tables.need_mask:
                self.open[x] = True
            if self.pos[x] & tables.data_mask:
                self.dirty[x] = None
                for a in bits(self.pos[x] & tables.data_mask & ~tables.limit_mask):
                    self._add_all(x, tables.brought[a], self.names_rest(x, 1 << a))
        for i, (x, p, literal) in enumerate(module.data):
            self._add_data(x, ((p, literal, True), self.rest_of("data", i)))
        for i, (x, p, literal) in enumerate(module.negative_data):
            self._add_data(x, ((p, literal, False), self.rest_of("negative_data", i)))
        for i, (x, y) in enumerate(module.different):
            self.separate(x, y, self.rest_of("different", i))
        for i, (x, role, y) in enumerate(module.negative_edges):
            self.forbid(x, y, 1 << tables.role(role), self.rest_of("negative_edges", i))
        for i, (x, role, y) in enumerate(module.edges):
            code = tables.role(role)
            self.link(x, y, tables.up[code], self.rest_of("edges", i))
        for atom, roles in tables.loop_roles.items():
            for x in range(self.named):
                if self.pos[x] >> atom & 1:
                    self.link(x, x, roles, self.names_rest(x, 1 << atom))

    def rest_of(self, kind: str, position: int) -> int:
        """What an assertion of the module rests on: itself, where that is traced."""
        return 0

    # --- facts ------------------------------------------------------------------------------------

    def add(self, x: int, atom: int, rest: int) -> None:
        """The atom holds at x."""
        bit = 1 << atom
        old = self.pos[x]
        if old & bit:
            return
        if self.neg[x] & bit:
            raise TableauClash(rest | self.neg_rest.get(x * self.width + atom, 0), x)
        if self.choices:
            self.trail.append((self.pos, x, old))
        if rest:
            self.write(self.pos_rest, x * self.width + atom, rest)
        self.pos[x] = old | bit
        if atom in self.tables.loop_roles:
            self.link(x, x, self.tables.loop_roles[atom], rest)
        if atom in self.tables.on_name:
            self.new_names.append((x, atom))
        elif bit & self.tables.need_mask:
            self.write(self.open, x, True)
        elif bit & self.tables.data_mask:
            self.dirty[x] = None
            self._add_all(x, self.tables.brought.get(atom, 0), rest)

    def _add_all(self, x: int, atoms: int, rest: int) -> None:
        for a in bits(atoms & ~self.pos[x]):
            self.add(x, a, rest)

    def deny(self, x: int, atom: int, rest: int) -> None:
        """Records ¬``atom`` at x, which rests on ``rest``, a bit mask of choice points and
        traced assertions.
        """
        bit = 1 << atom
        if self.neg[x] & bit:
            return
        if self.pos[x] & bit:
            raise TableauClash(rest | self.pos_rest.get(x * self.width + atom, 0), x)
        self.write(self.neg, x, self.neg[x] | bit)
        if rest:
            self.write(self.neg_rest, x * self.width + atom, rest)
        if atom in self.tables.on_denial:
            self.new_denials.append((x, atom))

    def separate(self, x: int, y: int, rest: int) -> None:
        """x ≠ y."""
        if x == y:
            raise TableauClash(rest, x)
        known = self.unequal.setdefault(x, {})
        if y not in known:
            self.write(known, y, rest)
            self.write(self.unequal.setdefault(y, {}), x, rest)

    def link(self, x: int, y: int, roles: int, rest: int) -> None:
        """All of ``roles`` (closed under ⊑*) lead from x to y."""
        tables, near = self.tables, self.near
        if x == y:
            roles |= tables.inverse(roles)
        old = near[x].get(y, 0)
        new = roles & ~old
        if not new:
            return
        full = old | new
        self.write(near[x], y, full)
        if x != y:
            self.write(near[y], x, tables.inverse(full))
            self.reach[y] |= tables.inverse(new)
        self.reach[x] |= new
        if rest:
            low, high, mask = (x, y, new) if x <= y else (y, x, tables.inverse(new))
            self.write(
                self.edge_rest, (low, high), (*self.edge_rest.get((low, high), ()), (mask, rest))
            )
        if new & tables.conflicting:
            self._check_conflicts(x, y, new, full)
        if x == y and new & tables.irreflexive:
            raise TableauClash(self.edge_rests(x, y, new & tables.irreflexive), x)
        if x == y and new & tables.asking_loops:
            for role, atom in tables.loop_atoms:
                if new & role:
                    self.add(x, atom, self.edge_rests(x, y, new & role))
        if self.forbidden:
            self._check_forbidden(x, y)
        self.new_edges.append((x, y, new))

    def _check_conflicts(self, x: int, y: int, new: int, full: int) -> None:
        for r in bits(new & self.tables.conflicting):
            against = self.tables.conflicts[r] & full
            if against:
                raise TableauClash(
                    self.edge_rests(x, y, 1 << r) | self.edge_rests(x, y, against), x, y
                )

    def forbid(self, x: int, y: int, roles: int, rest: int) -> None:
        """Asserts that none of ``roles`` leads from x to y."""
        for a, b, mask in ((x, y, roles), (y, x, self.tables.inverse(roles))):
            known = self.forbidden.setdefault(a, {})
            self.write(known, b, (*known.get(b, ()), (mask, rest)))
        self._check_forbidden(x, y)

    def _check_forbidden(self, x: int, y: int) -> None:
        roles = self.near[x].get(y, 0)
        for mask, rest in self.forbidden.get(x, {}).get(y, ()):
            if mask & roles:
                raise TableauClash(rest | self.edge_rests(x, y, mask & roles), x, y)

    def _add_data(self, x: int, *facts: DataFact) -> None:
        self.write(self.data, x, (*self.data.get(x, ()), *facts))
        self.dirty[x] = None
        for fact, rest in facts:
            if isinstance(fact, DataAtLeast):
                self._add_all(x, self.tables.supplied(fact.property), rest)
            elif isinstance(fact, tuple) and fact[2]:
                self._add_all(x, self.tables.supplied(fact[0]), rest)

    # --- nodes ------------------------------------------------------------------------------------

    def grow(self, parent: int) -> int:
        """A fresh node without facts."""
        self.pos.append(0)
        self.neg.append(0)
        self.near.append({})
        self.reach.append(0)
        self.parent.append(parent)
        self.alive.append(True)
        return len(self.pos) - 1

    def merge(self, x: int, y: int, rest: int) -> None:
        """x and y are one: the younger is moved into the older, its unnamed subtree pruned."""
        target, source = (x, y) if x < y else (y, x)
        known = self.unequal.get(source, _NOTHING)
        if target in known:
            raise TableauClash(rest | known[target], x, y)
        base = source * self.width
        for a in bits(self.pos[source] & ~self.pos[target]):
            self.add(target, a, rest | self.pos_rest.get(base + a, 0))
        for a in bits(self.neg[source] & ~self.neg[target]):
            self.deny(target, a, rest | self.neg_rest.get(base + a, 0))
        self._prune_below(source)
        self.write(self.alive, source, False)
        self._move_edges(source, target, rest)
        for other, other_rest in list(known.items()):
            self.remove(self.unequal[other], source)
            self.separate(target, other, rest | other_rest)
        for other, facts in list(self.forbidden.get(source, {}).items()):
            for mask, mask_rest in facts:
                self.forbid(target, target if other == source else other, mask, rest | mask_rest)
        if source in self.data:
            self._add_data(
                target, *((fact, rest | fact_rest) for fact, fact_rest in self.data[source])
            )
        if self.pos[target] & self.tables.data_mask:
            self.dirty[target] = None

    def _move_edges(self, source: int, target: int, rest: int) -> None:
        """Moves the edges of ``source``; whoever loses a neighbour by that has its ≥-atoms
        looked at again.
        """
        need_mask = self.tables.need_mask
        for other, roles in list(self.near[source].items()):
            if other != source:
                if not self.alive[other]:
                    continue
                self.remove(self.near[other], source)
                if self.pos[other] & need_mask:
                    self.write(self.open, other, True)
            end = target if other == source else other
            for mask, mask_rest in self._edge_parts(source, other, roles):
                self.link(target, end, mask, rest | mask_rest)

    def _edge_parts(self, x: int, y: int, roles: int) -> list[tuple[int, int]]:
        """The roles from x to y, grouped by what they rest on."""
        parts = []
        for mask, rest in self.edge_rest.get((x, y) if x <= y else (y, x), ()):
            own = mask if x <= y else self.tables.inverse(mask)
            parts.append((own, rest))
            roles &= ~own
        if roles:
            parts.append((roles, 0))
        return parts

    def _prune_below(self, x: int) -> None:
        """Takes the unnamed descendants of x away."""
        stack = [x]
        while stack:
            node = stack.pop()
            for child in self.near[node]:
                if self.parent[child] == node and self.alive[child]:
                    self.write(self.alive, child, False)
                    stack.append(child)


def _complement(atom: object) -> DataAtLeast | DataAtMost:
    """The restriction that holds where ``atom`` does not."""
    match atom:
        case DataAtLeast(n, p, data_range):
            return DataAtMost(n - 1, p, data_range)
        case DataAtMost(n, p, data_range):
            return DataAtLeast(n + 1, p, data_range)
        case AtLeast():
            raise AssertionError("negated ≥-atoms over objects are rules")
    raise TypeError(atom)

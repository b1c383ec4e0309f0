"""A tableau's state: nodes and facts, the dependency set of each fact, and the trail that undoes
changes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from shiq.model.clause import AtLeast, DataAtLeast, DataAtMost
from shiq.reasoner.hypertableau.node_data import DataStatement
from shiq.reasoner.hypertableau.tables import Rule, Tables
from shiq.reasoner.protocol import Module
from shiq.support import bits

#: An asserted data restriction, value or negated value, with its dependency set.
DataFact: TypeAlias = tuple[DataStatement, int]

#: A match of a rule: rule number, centre, branch (-1 for none).
Match: TypeAlias = tuple[int, int, int]

#: One disjunct: (ADD, node, atom) or (MERGE, node, node).
Alternative: TypeAlias = tuple[int, int, int]
ADD, MERGE = 0, 1

#: A choice point: length of the trail and number of nodes before, the alternative tried, the match
#: that it comes from.
Choice: TypeAlias = tuple[int, int, Alternative, Match]

#: (unnamed, number of alternatives, kind of the first), then the order of arrival, then the match.
Pending: TypeAlias = tuple[int, int, int, int, Match]

_MISSING = object()
_NOTHING: dict[int, int] = {}


class TableauClash(Exception):
    """Signal: a contradiction in the tableau.

    depends_on: the dependency set of its premises (`Dependencies`).
    nodes: where it is.
    """

    def __init__(self, depends_on: int, *nodes: int) -> None:
        super().__init__(depends_on, nodes)
        self.depends_on = depends_on
        self.nodes = nodes


class Trail:
    """An undo log: the old values of everything overwritten since the first open choice point.

    choices: the open choice points. While there is none, nothing can be undone or is logged.
    entries: (container, key, old value); without a container, the key is a pending match that
        was looked at.
    """

    __slots__ = ("choices", "entries")

    def __init__(self) -> None:
        self.choices: list[Choice] = []
        self.entries: list[tuple[Any, Any, Any]] = []

    def write(self, container: Any, key: Any, value: Any) -> None:
        """Set ``container[key]`` of a list or dict, and log the old value for `rewind`."""
        if self.choices:
            old = container[key] if type(container) is list else container.get(key, _MISSING)
            self.entries.append((container, key, old))
        container[key] = value

    def remove(self, container: dict[Any, Any], key: Any) -> None:
        """Delete ``container[key]``, and log the old value for `rewind`."""
        if self.choices:
            self.entries.append((container, key, container[key]))
        del container[key]

    def rewind(self, mark: int) -> list[Pending]:
        """Undo all writes after the first ``mark`` log entries. Return the pending matches that
        were looked at since.
        """
        entries, reopened = self.entries, []
        while len(entries) > mark:
            container, key, old = entries.pop()
            if old is _MISSING:
                del container[key]
            elif container is None:
                reopened.append(key)
            else:
                container[key] = old
        return reopened


class Dependencies:
    """The dependency sets of facts: the choice points and traced assertions that each was derived
    from, as bits.

    inputs: number of traced assertions; they have the lowest bits, choice points those above.
    first_input: by list of the module, the bit of its first row, where assertions are traced.
    names, denials: by node · width + atom. edges: by pair of nodes, younger last.
    merges: by node that was merged away, the node that it became, and the dependency set.
    """

    __slots__ = ("denials", "edges", "first_input", "inputs", "merges", "names")

    def __init__(self) -> None:
        self.inputs = 0
        self.first_input: dict[str, int] = {}
        self.names: dict[int, int] = {}
        self.denials: dict[int, int] = {}
        self.edges: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self.merges: dict[int, tuple[int, int]] = {}

    def of_input(self, kind: str, position: int) -> int:
        """Return the dependency set of an assertion (row ``position`` of the module's list
        ``kind``): itself if traced, else empty.
        """
        return 1 << (self.first_input[kind] + position) if self.first_input else 0


class WorkQueue:
    """New facts of a tableau to which no rules have been applied yet.

    names, denials: (node, atom)
    edges: (node, node, roles)
    dirty: nodes with new data
    open: nodes with an at-least atom that may be unsatisfied
    """

    __slots__ = ("denials", "dirty", "edges", "names", "open")

    def __init__(self) -> None:
        self.names: list[tuple[int, int]] = []
        self.edges: list[tuple[int, int, int]] = []
        self.denials: list[tuple[int, int]] = []
        self.dirty: dict[int, None] = {}
        self.open: dict[int, bool] = {}

    def clear(self) -> None:
        """Drop the new facts, but keep ``open``, which the undo log restores."""
        self.names.clear()
        self.edges.clear()
        self.denials.clear()
        self.dirty.clear()


class TableauState:
    """A tableau: nodes with the atoms that hold and do not hold at them, the role edges between
    them, inequalities and data.

    Nodes are integers by age: the individuals of the module first, parents before children.

    Per node: ``pos`` and ``neg`` (atoms that hold, that do not), ``near`` (neighbour → mask of
    the roles that lead to it, closed under ⊑* and kept from both ends; a loop holds both
    directions), ``reach`` (a superset of all these roles), ``parent`` (-1 for individuals),
    ``alive`` (not merged away or pruned). Sparse: ``unequal``, ``forbidden`` (negative edges),
    ``data``. Every new fact is queued for the rules that it can wake.
    """

    __slots__ = (
        "alive",
        "data",
        "dependencies",
        "forbidden",
        "named",
        "near",
        "neg",
        "parent",
        "pos",
        "queue",
        "reach",
        "tables",
        "trail",
        "unequal",
        "width",
    )

    def __init__(self, tables: Tables, module: Module) -> None:
        self.tables = tables
        self.named = len(module.positive)
        for mask in set(module.negative):
            for a in bits(mask & tables.need_mask):
                tables.negation_atom(a)  # makes an atom: counted in ``width``
        self.width = len(tables.atoms)
        self.pos: list[int] = list(module.positive)
        self.neg: list[int] = list(module.negative)
        self.near: list[dict[int, int]] = [{} for _ in self.pos]
        self.reach: list[int] = [0] * self.named
        self.parent: list[int] = [-1] * self.named
        self.alive: list[bool] = [True] * self.named
        self.unequal: dict[int, dict[int, int]] = {}
        self.forbidden: dict[int, dict[int, tuple[tuple[int, int], ...]]] = {}
        self.data: dict[int, tuple[DataFact, ...]] = {}
        self.trail = Trail()
        self.dependencies = Dependencies()
        self.queue = WorkQueue()

    # --- facts ------------------------------------------------------------------------------------

    def add_atom(self, x: int, atom: int, depends_on: int) -> None:
        """Record that an atom holds at node x, with its dependency set. Raises: TableauClash."""
        bit = 1 << atom
        old = self.pos[x]
        if old & bit:
            return
        if self.neg[x] & bit:
            known = self.dependencies.denials.get(x * self.width + atom, 0)
            raise TableauClash(depends_on | known, x)
        trail, tables = self.trail, self.tables
        if trail.choices:
            trail.entries.append((self.pos, x, old))
        if depends_on:
            trail.write(self.dependencies.names, x * self.width + atom, depends_on)
        self.pos[x] = old | bit
        if atom in tables.loops.roles:
            self.add_edge(x, x, tables.loops.roles[atom], depends_on)
        if atom in tables.rules.on_name:
            self.queue.names.append((x, atom))
        elif bit & tables.need_mask:
            trail.write(self.queue.open, x, True)
        elif bit & tables.data_mask:
            self.queue.dirty[x] = None
            self.add_atoms(x, tables.brought.get(atom, 0), depends_on)

    def add_atoms(self, x: int, atoms: int, depends_on: int) -> None:
        """Record that each of ``atoms`` holds at node x. Raises: TableauClash."""
        for a in bits(atoms & ~self.pos[x]):
            self.add_atom(x, a, depends_on)

    def deny_atom(self, x: int, atom: int, depends_on: int) -> None:
        """Record that an atom does not hold at node x. Raises: TableauClash."""
        bit = 1 << atom
        if self.neg[x] & bit:
            return
        if self.pos[x] & bit:
            known = self.dependencies.names.get(x * self.width + atom, 0)
            raise TableauClash(depends_on | known, x)
        self.trail.write(self.neg, x, self.neg[x] | bit)
        if depends_on:
            self.trail.write(self.dependencies.denials, x * self.width + atom, depends_on)
        if atom in self.tables.rules.on_denial:
            self.queue.denials.append((x, atom))

    def add_inequality(self, x: int, y: int, depends_on: int) -> None:
        """Record that nodes x and y are different. Raises: TableauClash."""
        if x == y:
            raise TableauClash(depends_on, x)
        known = self.unequal.setdefault(x, {})
        if y not in known:
            self.trail.write(known, y, depends_on)
            self.trail.write(self.unequal.setdefault(y, {}), x, depends_on)

    def add_edge(self, x: int, y: int, roles: int, depends_on: int) -> None:
        """Record that all of ``roles`` (closed under ⊑*) lead from node x to node y. Raises:
        TableauClash.
        """
        masks, near, write = self.tables.roles, self.near, self.trail.write
        if x == y:
            roles |= masks.inverse_mask(roles)
        old = near[x].get(y, 0)
        new = roles & ~old
        if not new:
            return
        full = old | new
        write(near[x], y, full)
        if x != y:
            write(near[y], x, masks.inverse_mask(full))
            self.reach[y] |= masks.inverse_mask(new)
        self.reach[x] |= new
        if depends_on:
            edges = self.dependencies.edges
            low, high, mask = (x, y, new) if x <= y else (y, x, masks.inverse_mask(new))
            write(edges, (low, high), (*edges.get((low, high), ()), (mask, depends_on)))
        if new & masks.conflicting:
            self._check_conflicts(x, y, new, full)
        if x == y and new & masks.irreflexive:
            raise TableauClash(self.edge_dependencies(x, y, new & masks.irreflexive), x)
        if x == y and new & self.tables.loops.asking:
            for role, atom in self.tables.loops.atoms:
                if new & role:
                    self.add_atom(x, atom, self.edge_dependencies(x, y, new & role))
        if self.forbidden:
            self._check_forbidden(x, y)
        self.queue.edges.append((x, y, new))

    def _check_conflicts(self, x: int, y: int, new: int, full: int) -> None:
        """Check new roles from x to y for disjointness with others there. Raises: TableauClash."""
        for r in bits(new & self.tables.roles.conflicting):
            against = self.tables.roles.conflicts[r] & full
            if against:
                first, second = (self.edge_dependencies(x, y, m) for m in (1 << r, against))
                raise TableauClash(first | second, x, y)

    def forbid_roles(self, x: int, y: int, roles: int, depends_on: int) -> None:
        """Record that none of ``roles`` leads from node x to node y. Raises: TableauClash."""
        for a, b, mask in ((x, y, roles), (y, x, self.tables.roles.inverse_mask(roles))):
            known = self.forbidden.setdefault(a, {})
            self.trail.write(known, b, (*known.get(b, ()), (mask, depends_on)))
        self._check_forbidden(x, y)

    def _check_forbidden(self, x: int, y: int) -> None:
        """Check that no role from x to y is forbidden. Raises: TableauClash."""
        roles = self.near[x].get(y, 0)
        for mask, depends_on in self.forbidden.get(x, {}).get(y, ()):
            if mask & roles:
                found = depends_on | self.edge_dependencies(x, y, mask & roles)
                raise TableauClash(found, x, y)

    def add_data(self, x: int, *facts: DataFact) -> None:
        """Record data restrictions and values of node x."""
        self.trail.write(self.data, x, (*self.data.get(x, ()), *facts))
        self.queue.dirty[x] = None
        for fact, depends_on in facts:
            if isinstance(fact, DataAtLeast):
                self.add_atoms(x, self.tables.has_data_mask(fact.property), depends_on)
            elif isinstance(fact, tuple) and fact[2]:
                self.add_atoms(x, self.tables.has_data_mask(fact[0]), depends_on)

    # --- nodes ------------------------------------------------------------------------------------

    def add_node(self, parent: int) -> int:
        """Create a child of ``parent`` without facts, and return it."""
        self.pos.append(0)
        self.neg.append(0)
        self.near.append({})
        self.reach.append(0)
        self.parent.append(parent)
        self.alive.append(True)
        return len(self.pos) - 1

    def drop_newest_nodes(self, nodes: int) -> None:
        """Keep only the first ``nodes`` nodes."""
        for column in (self.pos, self.neg, self.near, self.reach, self.parent, self.alive):
            del column[nodes:]

    def merge_nodes(self, x: int, y: int, depends_on: int) -> None:
        """Merge nodes x and y: the younger one's facts move into the older, and its unnamed
        descendants are removed.
        """
        target, source = (x, y) if x < y else (y, x)
        known = self.unequal.get(source, _NOTHING)
        if target in known:
            raise TableauClash(depends_on | known[target], x, y)
        base, sets, trail = source * self.width, self.dependencies, self.trail
        for a in bits(self.pos[source] & ~self.pos[target]):
            self.add_atom(target, a, depends_on | sets.names.get(base + a, 0))
        for a in bits(self.neg[source] & ~self.neg[target]):
            self.deny_atom(target, a, depends_on | sets.denials.get(base + a, 0))
        self._prune_below(source)
        trail.write(self.alive, source, False)
        self._move_edges(source, target, depends_on)
        for other, other_set in list(known.items()):
            trail.remove(self.unequal[other], source)
            self.add_inequality(target, other, depends_on | other_set)
        for other, facts in list(self.forbidden.get(source, {}).items()):
            for mask, mask_set in facts:
                self.forbid_roles(
                    target, target if other == source else other, mask, depends_on | mask_set
                )
        if source in self.data:
            moved = ((fact, depends_on | fact_set) for fact, fact_set in self.data[source])
            self.add_data(target, *moved)
        if self.pos[target] & self.tables.data_mask:
            self.queue.dirty[target] = None
        trail.write(sets.merges, source, (target, depends_on))

    def _move_edges(self, source: int, target: int, depends_on: int) -> None:
        """Move the edges of the merged node ``source`` to ``target``, and reopen the ≥n
        restrictions of nodes that lose a neighbour.
        """
        need_mask, trail = self.tables.need_mask, self.trail
        for other, roles in list(self.near[source].items()):
            if other != source:
                if not self.alive[other]:
                    continue
                trail.remove(self.near[other], source)
                if self.pos[other] & need_mask:
                    trail.write(self.queue.open, other, True)
            end = target if other == source else other
            for mask, mask_set in self._roles_by_dependencies(source, other, roles):
                self.add_edge(target, end, mask, depends_on | mask_set)

    def _roles_by_dependencies(self, x: int, y: int, roles: int) -> list[tuple[int, int]]:
        """Group the roles from x to y by dependency set: pairs (mask of roles, dependency set)."""
        parts = []
        for mask, depends_on in self.dependencies.edges.get((x, y) if x <= y else (y, x), ()):
            own = mask if x <= y else self.tables.roles.inverse_mask(mask)
            parts.append((own, depends_on))
            roles &= ~own
        if roles:
            parts.append((roles, 0))
        return parts

    def _prune_below(self, x: int) -> None:
        """Remove the unnamed descendants of node x."""
        stack = [x]
        while stack:
            node = stack.pop()
            for child in self.near[node]:
                if self.parent[child] == node and self.alive[child]:
                    self.trail.write(self.alive, child, False)
                    stack.append(child)

    def resolve_merged(self, x: int) -> tuple[int, int]:
        """Return the node into which x was merged (x itself if it was not), and the dependency set
        of the merges.
        """
        merges, depends_on = self.dependencies.merges, 0
        while x in merges:
            x, more = merges[x]
            depends_on |= more
        return x, depends_on

    # --- dependency sets --------------------------------------------------------------------------

    def edge_dependencies(self, x: int, y: int, roles: int) -> int:
        """Return the dependency set of one role edge from x to y: that of the lowest of ``roles``."""
        edges = self.dependencies.edges
        if not edges:
            return 0
        bit = roles & -roles
        if x > y:
            x, y, bit = y, x, self.tables.roles.inverse_mask(bit)
        for mask, depends_on in edges.get((x, y), ()):
            if mask & bit:
                return depends_on
        return 0

    def name_dependencies(self, x: int, names: int) -> int:
        """Return the union of the dependency sets of ``names``, all holding at node x."""
        sets, base, total = self.dependencies.names, x * self.width, 0
        if sets:
            for a in bits(names):
                total |= sets.get(base + a, 0)
        return total

    def denial_dependencies(self, x: int, names: int) -> int:
        """Return the union of the dependency sets of the denials of ``names`` at node x."""
        sets, base, total = self.dependencies.denials, x * self.width, 0
        if sets:
            for a in bits(names):
                total |= sets.get(base + a, 0)
        return total

    def match_dependencies(self, rule: Rule, x: int, y: int) -> int:
        """Return the dependency set of a rule's conclusion at x and y: body, role edge, and denials
        of the other disjuncts.

        rule: local or u-type.
        """
        if not (self.trail.choices or self.dependencies.inputs):
            return 0
        found = self.name_dependencies(x, rule.body)
        found |= self.denial_dependencies(x, rule.head & self.neg[x])
        if y >= 0:
            found |= self.edge_dependencies(x, y, rule.role_bit)
            found |= self.name_dependencies(y, rule.branch_body)
            found |= self.denial_dependencies(y, rule.branch_head & self.neg[y])
        return found


def load_module(state: TableauState, module: Module) -> None:
    """Record the assertions of ``module`` in the tableau made for it. Raises: TableauClash."""
    tables, sets = state.tables, state.dependencies
    for x in range(state.named):
        neg = state.neg[x]
        if both := state.pos[x] & neg:
            first = both & -both
            known = state.name_dependencies(x, first) | state.denial_dependencies(x, first)
            raise TableauClash(known, x)
        for a in bits(neg & (tables.need_mask | tables.data_mask)):
            denial = state.denial_dependencies(x, 1 << a)
            if tables.need_mask >> a & 1:
                helper = tables.negation_atom(a)
                state.pos[x] |= 1 << helper
                if sets.inputs:
                    sets.names[x * state.width + helper] = denial
            else:
                state.add_data(x, (_complement_of_data(tables.atoms[a]), denial))
        if state.pos[x] & tables.need_mask:
            state.queue.open[x] = True
        if state.pos[x] & tables.data_mask:
            state.queue.dirty[x] = None
            for a in bits(state.pos[x] & tables.data_mask & ~tables.limit_mask):
                state.add_atoms(x, tables.brought[a], state.name_dependencies(x, 1 << a))
    for i, (x, p, literal) in enumerate(module.data):
        state.add_data(x, ((p, literal, True), sets.of_input("data", i)))
    for i, (x, p, literal) in enumerate(module.negative_data):
        state.add_data(x, ((p, literal, False), sets.of_input("negative_data", i)))
    for i, (x, y) in enumerate(module.different):
        state.add_inequality(x, y, sets.of_input("different", i))
    for i, (x, role, y) in enumerate(module.negative_edges):
        state.forbid_roles(
            x, y, 1 << tables.roles.role_code(role), sets.of_input("negative_edges", i)
        )
    for i, (x, role, y) in enumerate(module.edges):
        state.add_edge(
            x, y, tables.roles.up[tables.roles.role_code(role)], sets.of_input("edges", i)
        )
    for atom, roles in tables.loops.roles.items():
        for x in range(state.named):
            if state.pos[x] >> atom & 1:
                state.add_edge(x, x, roles, state.name_dependencies(x, 1 << atom))


def _complement_of_data(atom: object) -> DataAtLeast | DataAtMost:
    """Return the data restriction that holds where ``atom`` does not."""
    match atom:
        case DataAtLeast(n, p, data_range):
            return DataAtMost(n - 1, p, data_range)
        case DataAtMost(n, p, data_range):
            return DataAtLeast(n + 1, p, data_range)
        case AtLeast():
            raise AssertionError("negated ≥-atoms over objects are rules")
    raise TypeError(atom)

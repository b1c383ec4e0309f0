"""Finite models by brute force: a second, independent reading of what clauses and modules mean.

For each domain of at most ``size`` elements and each way to place the individuals in it, everything is grounded to
propositional clauses, and a plain DPLL looks for a solution. Data is not covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from shiq.clause import AtLeast, ClausalTBox, Clause
from shiq.reasoner.protocol import Module
from shiq.roles import Role

#: A propositional literal: a variable's number, negated or not.
Ground = frozenset[int]


def has_model(tbox: ClausalTBox, module: Module, size: int) -> bool:
    """Whether some model with at most ``size`` elements exists."""
    return any(
        solve(_Grounding(tbox, module, domain, places).clauses)
        for domain in range(1, size + 1)
        for places in _placements(len(module.positive), domain)
        if all(places[i] != places[j] for i, j in module.different)
    )


def _placements(individuals: int, domain: int) -> Iterator[tuple[int, ...]]:
    """Maps of individuals to elements, one of each kind up to renaming elements."""
    for places in product(range(domain), repeat=individuals):
        if all(p <= max(places[:i], default=-1) + 1 for i, p in enumerate(places)):
            yield places


class _Grounding:
    def __init__(self, tbox: ClausalTBox, module: Module, domain: int, places: tuple[int, ...]) -> None:
        self.variables: dict[object, int] = {}
        self.clauses: list[Ground] = []
        self.elements = range(domain)
        self.box = tbox.roles
        self._ground_roles(tbox)
        for clause in tbox.clauses:
            for x in self.elements:
                self._ground(clause, x)
        for i, x in enumerate(places):
            for k, atom in enumerate(tbox.atoms):
                if module.positive[i] >> k & 1:
                    self.add(self.holds(atom, x))
                if module.negative[i] >> k & 1:
                    self._ground_negated(atom, x)
        for i, role, j in module.edges:
            self.add(self.role(role, places[i], places[j]))
        for i, role, j in module.negative_edges:
            self.add(-self.role(role, places[i], places[j]))

    def variable(self, key: object) -> int:
        return self.variables.setdefault(key, len(self.variables) + 1)

    def add(self, *literals: int) -> None:
        clause = frozenset(literals)
        if not any(-literal in clause for literal in clause):
            self.clauses.append(clause)

    def role(self, role: Role, x: int, y: int) -> int:
        return self.variable(("role", role.iri, y, x) if role.inverted else ("role", role.iri, x, y))

    def holds(self, atom: object, x: int) -> int:
        """A variable that implies the atom at x; for a name it is the name."""
        if not isinstance(atom, AtLeast):
            return self.variable((atom, x))
        known = (atom, x) in self.variables
        variable = self.variable((atom, x))
        if not known:
            witnesses = []
            for y in self.elements:
                witness = self.variable((atom, x, y))
                witnesses.append(witness)
                self.add(-witness, self.role(atom.role, x, y))
                if atom.filler is not None:
                    self.add(-witness, self.variable((atom.filler, y)))
            # n of them hold iff each choice of all but n - 1 holds one that does
            for some in combinations(witnesses, max(0, len(witnesses) - atom.n + 1)):
                self.add(-variable, *some)
        return variable

    def _ground_negated(self, atom: object, x: int) -> None:
        if not isinstance(atom, AtLeast):
            self.add(-self.variable((atom, x)))
            return
        for some in combinations(self.elements, atom.n):
            counted = [-self.role(atom.role, x, y) for y in some]
            if atom.filler is not None:
                counted += [-self.variable((atom.filler, y)) for y in some]
            self.add(*counted)

    def _ground(self, clause: Clause, x: int) -> None:
        local = [-self.variable((a, x)) for a in clause.body] + [self.holds(a, x) for a in clause.head]
        if clause.role is None:
            self.add(*local)
            return
        for ys in combinations(self.elements, max(1, clause.at_most + 1)):
            star = [-self.role(clause.role, x, y) for y in ys]
            star += [-self.variable((a, y)) for y in ys for a in clause.branch_body]
            star += [self.variable((a, y)) for y in ys for a in clause.branch_head]
            self.add(*local, *star)

    def _ground_roles(self, tbox: ClausalTBox) -> None:
        pairs = list(product(self.elements, repeat=2))
        for r, s in self.box.inclusions:
            for x, y in pairs:
                self.add(-self.role(r, x, y), self.role(s, x, y))
        for r, s in self.box.disjoint:
            for x, y in pairs:
                self.add(-self.role(r, x, y), -self.role(s, x, y))
        for r in self.box.asymmetric:
            for x, y in pairs:
                self.add(-self.role(r, x, y), -self.role(r, y, x))
        for r in self.box.irreflexive:
            for x in self.elements:
                self.add(-self.role(r, x, x))


def solve(clauses: list[Ground]) -> bool:
    """Whether propositional clauses are satisfiable: DPLL with unit propagation."""
    stack = [clauses]
    while stack:
        reduced = _propagate(stack.pop())
        if reduced is None:
            continue
        if not reduced:
            return True
        shortest = min(reduced, key=len)
        literal = min(shortest)
        stack.append([*reduced, frozenset((-literal,))])
        stack.append([*reduced, frozenset((literal,))])
    return False


def _propagate(clauses: list[Ground]) -> list[Ground] | None:
    while True:
        units = {next(iter(c)) for c in clauses if len(c) == 1}
        if any(-u in units for u in units):
            return None
        if not units:
            return clauses
        negated = {-u for u in units}
        reduced = []
        for clause in clauses:
            if clause & units:
                continue
            left = clause - negated
            if not left:
                return None
            reduced.append(left)
        clauses = reduced

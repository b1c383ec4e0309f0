"""Finite models by brute force: a second, independent reading of what clauses and modules mean.

For each domain of at most ``size`` elements and each way to place the individuals in it,
everything is grounded to propositional clauses, and a plain DPLL looks for a solution. Data
values are taken from a finite set (`VALUES`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from shiq.model import (
    XSD,
    DataComplementOf,
    DataOneOf,
    DataRange,
    Datatype,
    DatatypeRestriction,
    Literal,
)
from shiq.model.clause import AtLeast, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role
from shiq.reasoner.protocol import Module

#: A clause of propositional literals: numbers of variables, negated or not.
Ground = frozenset[int]

#: The data values that models are built from: a model over these is a model.
VALUES: tuple[int | str, ...] = (*range(6), "a", "b", "c")


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
    def __init__(
        self, tbox: ClausalTBox, module: Module, domain: int, places: tuple[int, ...]
    ) -> None:
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
        for i, p, literal in module.data:
            self.add(self.data(p, places[i], value_of(literal)))
        for i, p, literal in module.negative_data:
            self.add(-self.data(p, places[i], value_of(literal)))

    def variable(self, key: object) -> int:
        return self.variables.setdefault(key, len(self.variables) + 1)

    def add(self, *literals: int) -> None:
        clause = frozenset(literals)
        if not any(-literal in clause for literal in clause):
            self.clauses.append(clause)

    def role(self, role: Role, x: int, y: int) -> int:
        return self.variable(
            ("role", role.iri, y, x) if role.is_inverse else ("role", role.iri, x, y)
        )

    def data(self, property: str, x: int, value: int | str) -> int:
        return self.variable(("data", property, x, value))

    def holds(self, atom: object, x: int) -> int:
        """A variable that implies the atom at x; for a name it is the name."""
        known = (atom, x) in self.variables
        variable = self.variable((atom, x))
        if known:
            return variable
        match atom:
            case AtLeast(n, role, filler):
                goals = [
                    [self.role(role, x, y)] + ([self.variable((filler, y))] if filler else [])
                    for y in self.elements
                ]
                self._at_least(variable, n, goals)
            case DataAtLeast(n, p, data_range):
                self._at_least(
                    variable, n, [[self.data(p, x, v)] for v in VALUES if contains(data_range, v)]
                )
            case DataAtMost(n, p, data_range):
                values = [v for v in VALUES if contains(data_range, v)]
                for some in combinations(values, n + 1):
                    self.add(-variable, *(-self.data(p, x, v) for v in some))
        return variable

    def _at_least(self, variable: int, n: int, goals: list[list[int]]) -> None:
        """The variable implies that n of the goals, conjunctions, hold."""
        witnesses = [self.variable((variable, i)) for i in range(len(goals))]
        for witness, goal in zip(witnesses, goals):
            for literal in goal:
                self.add(-witness, literal)
        # n of them hold iff each choice of all but n - 1 holds one that does
        for some in combinations(witnesses, max(0, len(witnesses) - n + 1)):
            self.add(-variable, *some)

    def _ground_negated(self, atom: object, x: int) -> None:
        match atom:
            case AtLeast(n, role, filler):
                for some in combinations(self.elements, n):
                    counted = [-self.role(role, x, y) for y in some]
                    self.add(*counted, *(-self.variable((filler, y)) for y in some if filler))
            case DataAtLeast(n, p, data_range):
                self.add(self.holds(DataAtMost(n - 1, p, data_range), x))
            case DataAtMost(n, p, data_range):
                self.add(self.holds(DataAtLeast(n + 1, p, data_range), x))
            case _:
                self.add(-self.variable((atom, x)))

    def _ground(self, clause: Clause, x: int) -> None:
        local = [-self.variable((a, x)) for a in clause.body] + [
            self.holds(a, x) for a in clause.head
        ]
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
        for x, v in product(
            self.elements, VALUES if self.box.data_inclusions or self.box.disjoint_data else ()
        ):
            for p, q in self.box.data_inclusions:
                self.add(-self.data(p, x, v), self.data(q, x, v))
            for p, q in self.box.disjoint_data:
                self.add(-self.data(p, x, v), -self.data(q, x, v))


def value_of(literal: Literal) -> int | str:
    return int(literal.lexical) if literal.datatype == XSD + "integer" else literal.lexical


def contains(data_range: DataRange, value: int | str) -> bool:
    """Whether an integer or a string lies in a range made of integers and strings."""
    match data_range:
        case Datatype(iri):
            return isinstance(value, int if iri == XSD + "integer" else str)
        case DataComplementOf(operand):
            return not contains(operand, value)
        case DataOneOf(literals):
            return value in map(value_of, literals)
        case DatatypeRestriction(datatype, facets):
            bounds = {facet.removeprefix(XSD): int(literal.lexical) for facet, literal in facets}
            low, high = bounds.get("minInclusive", -1000), bounds.get("maxInclusive", 1000)
            return contains(datatype, value) and isinstance(value, int) and low <= value <= high
    raise ValueError(data_range)


def solve(clauses: list[Ground]) -> bool:
    """Whether propositional clauses are satisfiable: DPLL with unit propagation and pure literals."""
    stack = [clauses]
    while stack:
        reduced = _propagate(stack.pop())
        if reduced is None:
            continue
        if not reduced:
            return True
        literal = min(min(reduced, key=len))
        stack.append([*reduced, frozenset((-literal,))])
        stack.append([*reduced, frozenset((literal,))])
    return False


def _propagate(clauses: list[Ground]) -> list[Ground] | None:
    while True:
        sure = {next(iter(c)) for c in clauses if len(c) == 1}
        if any(-u in sure for u in sure):
            return None
        if not sure:
            literals = frozenset().union(*clauses)
            sure = {u for u in literals if -u not in literals}
            if not sure:
                return clauses
        negated = {-u for u in sure}
        reduced = []
        for clause in clauses:
            if clause & sure:
                continue
            left = clause - negated
            if not left:
                return None
            reduced.append(left)
        clauses = reduced

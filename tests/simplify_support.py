"""For the tests of `simplify`: random TBoxes inside SHIQ(D), finite interpretations, and what
holds in them.

`satisfies` reads axioms by the semantics of OWL 2 (direct semantics, tables 4 to 9), `extends`
decides by search whether the fresh names of a clausal TBox can be interpreted such that its
clauses hold: neither shares code with what they judge.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from shiq.model import (
    NOTHING,
    THING,
    TOP_DATATYPE,
    XSD,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataIntersectionOf,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyDomain,
    DataPropertyRange,
    DataRange,
    DataSomeValuesFrom,
    Datatype,
    DataUnionOf,
    DisjointClasses,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    Literal,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, role_box, role_of

NAMES = ("A", "B", "C")
ROLES = ("R", "S", "T")
DATA = ("p", "q")
#: The values of data properties in `Interpretation`: two booleans and a string.
VALUES = ("true", "false", "text")
BOOLEAN = Datatype(XSD + "boolean")
RANGES: dict[DataRange, frozenset[str]] = {
    TOP_DATATYPE: frozenset(VALUES),
    BOOLEAN: frozenset(("true", "false")),
    Datatype(XSD + "string"): frozenset(("text",)),
    DataOneOf((Literal("true", XSD + "boolean"),)): frozenset(("true",)),
    DataOneOf((Literal("false", XSD + "boolean"), Literal("text"))): frozenset(("false", "text")),
}


# --- interpretations ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interpretation:
    """A finite interpretation: elements 0 … size - 1, extensions of names, object and data
    properties.
    """

    size: int
    names: dict[str, frozenset[int]]
    roles: dict[str, frozenset[tuple[int, int]]]
    data: dict[str, frozenset[tuple[int, str]]]

    def neighbours(self, role: Role, x: int) -> frozenset[int]:
        pairs = self.roles.get(role.iri, frozenset())
        return frozenset(
            a if role.is_inverse else b for a, b in pairs if (b if role.is_inverse else a) == x
        )

    def values(self, property: str, x: int) -> frozenset[str]:
        return frozenset(v for a, v in self.data.get(property, frozenset()) if a == x)

    def extension(self, expression: ClassExpression) -> frozenset[int]:
        everything = frozenset(range(self.size))

        def counted(
            property: ObjectPropertyExpression, filler: ClassExpression, test: Callable[[int], bool]
        ) -> frozenset[int]:
            inner = self.extension(filler)
            return frozenset(
                x for x in everything if test(len(self.neighbours(role_of(property), x) & inner))
            )

        def counted_data(
            property: DataProperty, data_range: DataRange, test: Callable[[int], bool]
        ) -> frozenset[int]:
            inner = range_extension(data_range)
            return frozenset(
                x for x in everything if test(len(self.values(property.iri, x) & inner))
            )

        match expression:
            case Class(iri):
                if expression in (THING, NOTHING):
                    return everything if expression == THING else frozenset()
                return self.names.get(iri, frozenset())
            case ObjectComplementOf(operand):
                return everything - self.extension(operand)
            case ObjectIntersectionOf(operands):
                return everything.intersection(*map(self.extension, operands))
            case ObjectUnionOf(operands):
                return frozenset().union(*map(self.extension, operands))
            case ObjectSomeValuesFrom(property, filler):
                return counted(property, filler, lambda k: k >= 1)
            case ObjectAllValuesFrom(property, filler):
                return counted(property, ObjectComplementOf(filler), lambda k: k == 0)
            case ObjectMinCardinality(n, property, filler):
                return counted(property, filler, lambda k: k >= n)
            case ObjectMaxCardinality(n, property, filler):
                return counted(property, filler, lambda k: k <= n)
            case ObjectExactCardinality(n, property, filler):
                return counted(property, filler, lambda k: k == n)
            case DataSomeValuesFrom(data_property, data_range):
                return counted_data(data_property, data_range, lambda k: k >= 1)
            case DataAllValuesFrom(data_property, data_range):
                return counted_data(data_property, DataComplementOf(data_range), lambda k: k == 0)
            case DataHasValue(data_property, literal):
                return counted_data(data_property, DataOneOf((literal,)), lambda k: k >= 1)
            case DataMinCardinality(n, data_property, data_range):
                return counted_data(data_property, data_range, lambda k: k >= n)
            case DataMaxCardinality(n, data_property, data_range):
                return counted_data(data_property, data_range, lambda k: k <= n)
            case DataExactCardinality(n, data_property, data_range):
                return counted_data(data_property, data_range, lambda k: k == n)
        raise TypeError(expression)

    def pairs(self, property: ObjectPropertyExpression) -> frozenset[tuple[int, int]]:
        role = role_of(property)
        pairs = self.roles.get(role.iri, frozenset())
        return frozenset((b, a) for a, b in pairs) if role.is_inverse else pairs


def range_extension(data_range: DataRange) -> frozenset[str]:
    match data_range:
        case DataComplementOf(operand):
            return frozenset(VALUES) - range_extension(operand)
        case DataIntersectionOf(operands):
            return frozenset(VALUES).intersection(*map(range_extension, operands))
        case DataUnionOf(operands):
            return frozenset().union(*map(range_extension, operands))
        case DataOneOf(literals):
            return frozenset(literal.lexical for literal in literals)
    return RANGES[data_range]


def satisfies(i: Interpretation, axiom: Axiom) -> bool:
    """Whether ``axiom`` holds in ``i``, read as OWL 2 defines it."""
    match axiom:
        case SubClassOf(sub, sup):
            return i.extension(sub) <= i.extension(sup)
        case EquivalentClasses(expressions):
            return len(set(map(i.extension, expressions))) == 1
        case DisjointClasses(expressions):
            return all(
                i.extension(c).isdisjoint(i.extension(d)) for c, d in combinations(expressions, 2)
            )
        case DisjointUnion(cls, expressions):
            return satisfies(i, DisjointClasses(expressions)) and i.extension(cls) == i.extension(
                ObjectUnionOf(expressions)
            )
        case SubObjectPropertyOf(sub, sup):
            return i.pairs(sub) <= i.pairs(sup)
        case InverseObjectProperties(first, second):
            return i.pairs(first) == frozenset((b, a) for a, b in i.pairs(second))
        case SymmetricObjectProperty(property):
            return i.pairs(property) == frozenset((b, a) for a, b in i.pairs(property))
        case TransitiveObjectProperty(property):
            pairs = i.pairs(property)
            return all((a, d) in pairs for a, b in pairs for c, d in pairs if b == c)
        case DisjointObjectProperties(properties):
            return all(i.pairs(r).isdisjoint(i.pairs(s)) for r, s in combinations(properties, 2))
        case AsymmetricObjectProperty(property):
            return not any((b, a) in i.pairs(property) for a, b in i.pairs(property))
        case ObjectPropertyDomain(property, domain):
            return {a for a, _ in i.pairs(property)} <= i.extension(domain)
        case ObjectPropertyRange(property, filler):
            return {b for _, b in i.pairs(property)} <= i.extension(filler)
        case FunctionalObjectProperty(property):
            return len({a for a, _ in i.pairs(property)}) == len(i.pairs(property))
        case InverseFunctionalObjectProperty(property):
            return len({b for _, b in i.pairs(property)}) == len(i.pairs(property))
        case SubDataPropertyOf(p, q):
            return i.data[p.iri] <= i.data[q.iri]
        case DataPropertyDomain(data_property, domain):
            return {a for a, _ in i.data[data_property.iri]} <= i.extension(domain)
        case DataPropertyRange(data_property, data_range):
            return {v for _, v in i.data[data_property.iri]} <= range_extension(data_range)
        case FunctionalDataProperty(data_property):
            return len({a for a, _ in i.data[data_property.iri]}) == len(i.data[data_property.iri])
    raise TypeError(axiom)


# --- clauses in interpretations -------------------------------------------------------------------

#: A propositional clause: (fresh name, element) → sign.
Ground = dict[tuple[str, int], bool]


def extends(i: Interpretation, tbox: ClausalTBox) -> dict[str, frozenset[int]] | None:
    """An interpretation of the fresh names with which every clause holds in ``i``, if there is one."""
    ground: list[Ground] = []
    for clause in tbox.clauses:
        for x in range(i.size):
            ground += _instances(i, tbox, clause, x)
    found = _solve(ground, {})
    if found is None:
        return None
    return {
        name: frozenset(x for x in range(i.size) if found.get((name, x))) for name in tbox.fresh
    }


#: (name, element, sign) of an old or fresh name.
Instance = tuple[str, int, bool]


def _instances(i: Interpretation, tbox: ClausalTBox, clause: Clause, x: int) -> list[Ground]:
    """The instances of ``clause`` at ``x`` as propositional clauses over fresh names; true ones
    are left out.
    """
    alternatives: list[list[list[Instance]]] = [[[(name, x, False) for name in clause.body]]]
    for atom in clause.head:
        alternatives.append(_conjuncts(i, atom, x))
    near = sorted(i.neighbours(clause.role, x)) if clause.role is not None else []
    branches = combinations(near, clause.at_most + 1) if clause.role is not None else [()]
    results = []
    for ys in branches:
        at_branches = [(name, y, False) for y in ys for name in clause.branch_body]
        at_branches += [(name, y, True) for y in ys for name in clause.branch_head]
        for chosen in product(*alternatives):
            ground = _ground(
                i, tbox, [*at_branches, *(literal for part in chosen for literal in part)]
            )
            if ground is not None:
                results.append(ground)
    return results


def _conjuncts(i: Interpretation, atom: Atom, x: int) -> list[list[Instance]]:
    """``atom`` at ``x`` as a conjunction of disjunctions of names."""
    match atom:
        case AtLeast(n, role, filler):
            near = sorted(i.neighbours(role, x))
            if len(near) < n:
                return [[]]
            # ≥n of them hold iff any len - n + 1 of them hold one.
            return (
                []
                if filler is None
                else [
                    [(filler, y, True) for y in ys] for ys in combinations(near, len(near) - n + 1)
                ]
            )
        case DataAtLeast(n, property, data_range):
            return [] if len(i.values(property, x) & range_extension(data_range)) >= n else [[]]
        case DataAtMost(n, property, data_range):
            return [] if len(i.values(property, x) & range_extension(data_range)) <= n else [[]]
    return [[(atom, x, True)]]


def _ground(i: Interpretation, tbox: ClausalTBox, literals: Iterable[Instance]) -> Ground | None:
    ground: Ground = {}
    for name, element, sign in literals:
        if name in tbox.fresh:
            if ground.setdefault((name, element), sign) is not sign:
                return None
        elif (element in i.names.get(name, frozenset())) is sign:
            return None
    return ground


def _solve(
    clauses: list[Ground], model: dict[tuple[str, int], bool]
) -> dict[tuple[str, int], bool] | None:
    """Davis-Putnam-Logemann-Loveland."""
    while True:
        left = []
        unit = None
        for clause in clauses:
            if any(model.get(v) is s for v, s in clause.items()):
                continue
            rest = {v: s for v, s in clause.items() if v not in model}
            if not rest:
                return None
            if len(rest) == 1:
                unit = rest
            left.append(rest)
        if unit is None:
            break
        model = {**model, **unit}
        clauses = left
    if not left:
        return model
    variable, sign = next(iter(left[0].items()))
    for value in (sign, not sign):
        found = _solve(left, {**model, variable: value})
        if found is not None:
            return found
    return None


# --- random TBoxes and interpretations ------------------------------------------------------------


def random_axioms(
    rng: random.Random, size: int, depth: int, *, transitive: bool, data: bool = True
) -> tuple[Axiom, ...]:
    """``size`` axioms about classes over a random role box, with number restrictions on simple
    roles only.
    """
    roles: list[Axiom] = []
    for _ in range(rng.randint(0, 2)):
        sub, sup = _role(rng, ROLES), _role(rng, ROLES)
        kind = rng.choice((SubObjectPropertyOf, SubObjectPropertyOf, InverseObjectProperties))
        roles.append(kind(sub, sup))
    if rng.random() < 0.15:
        roles.append(SymmetricObjectProperty(ObjectProperty(rng.choice(ROLES))))
    if transitive:
        roles.append(TransitiveObjectProperty(_role(rng, ROLES)))
    if data and rng.random() < 0.3:
        roles.append(SubDataPropertyOf(DataProperty("p"), DataProperty("q")))
    box = role_box(roles)
    simple = [name for name in ROLES if box.is_simple(Role(name))]
    grow = _Grow(rng, simple, data)
    return (*roles, *(grow.axiom(depth) for _ in range(size)))


def _role(rng: random.Random, names: Sequence[str]) -> ObjectPropertyExpression:
    property = ObjectProperty(rng.choice(names))
    return ObjectInverseOf(property) if rng.random() < 0.3 else property


@dataclass
class _Grow:
    rng: random.Random
    simple: list[str]
    data: bool

    def axiom(self, depth: int) -> Axiom:
        rng = self.rng
        kind = rng.choices(
            ("sub", "equivalent", "disjoint", "union", "domain", "range", "functional", "data"),
            (50, 15, 5, 3, 5, 5, 5, 8),
        )[0]
        if kind == "functional" and self.simple:
            return rng.choice((FunctionalObjectProperty, InverseFunctionalObjectProperty))(
                _role(rng, self.simple)
            )
        if kind == "data" and self.data:
            property = DataProperty(rng.choice(DATA))
            return rng.choice(
                (
                    FunctionalDataProperty(property),
                    DataPropertyRange(property, random_range(rng, 2)),
                    DataPropertyDomain(property, self.concept(1)),
                )
            )
        if kind == "equivalent":
            return EquivalentClasses(
                tuple(self.concept(depth) for _ in range(rng.choice((2, 2, 3))))
            )
        if kind == "disjoint":
            return DisjointClasses(tuple(self.concept(1) for _ in range(rng.choice((2, 3)))))
        if kind == "union":
            return DisjointUnion(Class(rng.choice(NAMES)), (self.concept(1), self.concept(1)))
        if kind == "domain":
            return ObjectPropertyDomain(_role(rng, ROLES), self.concept(depth))
        if kind == "range":
            return ObjectPropertyRange(_role(rng, ROLES), self.concept(depth))
        return SubClassOf(self.concept(depth), self.concept(depth))

    def concept(self, depth: int) -> ClassExpression:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return (
                THING
                if rng.random() < 0.05
                else NOTHING
                if rng.random() < 0.05
                else Class(rng.choice(NAMES))
            )
        kind = rng.choices(
            ("not", "and", "or", "some", "all", "count", "data"), (12, 18, 18, 16, 16, 12, 8)
        )[0]
        inner = depth - 1
        if kind == "not":
            return ObjectComplementOf(self.concept(inner))
        if kind in ("and", "or"):
            operands = tuple(self.concept(inner) for _ in range(rng.choice((2, 2, 3))))
            return ObjectIntersectionOf(operands) if kind == "and" else ObjectUnionOf(operands)
        if kind == "count" and self.simple:
            restriction = rng.choice(
                (
                    ObjectMinCardinality,
                    ObjectMaxCardinality,
                    ObjectMaxCardinality,
                    ObjectExactCardinality,
                )
            )
            return restriction(rng.randint(0, 2), _role(rng, self.simple), self.concept(inner))
        if kind == "data" and self.data:
            property = DataProperty(rng.choice(DATA))
            if rng.random() < 0.5:
                return rng.choice((DataSomeValuesFrom, DataAllValuesFrom))(
                    property, random_range(rng, 2)
                )
            if rng.random() < 0.2:
                return DataHasValue(property, Literal("true", XSD + "boolean"))
            bound = rng.choice((DataMinCardinality, DataMaxCardinality, DataExactCardinality))
            return bound(rng.randint(0, 2), property, random_range(rng, 2))
        quantifier = ObjectAllValuesFrom if kind == "all" else ObjectSomeValuesFrom
        return quantifier(_role(rng, ROLES), self.concept(inner))


def random_range(rng: random.Random, depth: int) -> DataRange:
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(list(RANGES))
    if rng.random() < 0.5:
        return DataComplementOf(random_range(rng, depth - 1))
    kind = rng.choice((DataIntersectionOf, DataUnionOf))
    return kind((random_range(rng, depth - 1), random_range(rng, depth - 1)))


def random_interpretation(
    rng: random.Random, size: int, axioms: Sequence[Axiom], *, transitive: bool
) -> Interpretation:
    """A random interpretation in which the inclusions between properties hold; with
    ``transitive`` also transitivity.
    """
    box = role_box(axioms)
    density = rng.choice((0.15, 0.3, 0.5, 0.8))
    elements = range(size)
    pairs: dict[Role, set[tuple[int, int]]] = {
        Role(r, v): set() for r in ROLES for v in (False, True)
    }
    drawn = [
        (role, pair)
        for role in ROLES
        for pair in product(elements, elements)
        if rng.random() < density * 0.6
    ]
    data = {
        p: {(x, v) for x in elements for v in VALUES if rng.random() < density * 0.6} for p in DATA
    }
    for property in DATA:
        for sup in box.data_superproperties(property):
            data[sup] |= data[property]
    for iri, pair in drawn:
        pairs[Role(iri)].add(pair)
        pairs[Role(iri, True)].add(pair[::-1])
    closed = close_roles(
        {role: frozenset(p) for role, p in pairs.items()}, axioms, transitive=transitive
    )
    return Interpretation(
        size,
        {
            name: frozenset(x for x in elements if rng.random() < rng.choice((0.2, 0.5, 0.8)))
            for name in NAMES
        },
        {iri: closed[Role(iri)] for iri in ROLES},
        {p: frozenset(values) for p, values in data.items()},
    )


def close_roles(
    pairs: dict[Role, frozenset[tuple[int, int]]], axioms: Sequence[Axiom], *, transitive: bool
) -> dict[Role, frozenset[tuple[int, int]]]:
    """The least extension of ``pairs`` (each role with its inverse) that is closed under ⊑* and,
    if asked for, transitivity.
    """
    box = role_box(axioms)
    current = dict(pairs)
    while True:
        larger = dict(current)
        for role, known in current.items():
            for sup in box.superroles(role):
                larger[sup] |= known
            if transitive and role in box.transitive:
                larger[role] |= {(a, d) for a, b in known for c, d in known if b == c}
        if larger == current:
            return current
        current = larger


def with_roles(
    i: Interpretation, roles: dict[str, frozenset[tuple[int, int]]], axioms: Sequence[Axiom]
) -> Interpretation:
    """``i`` with the least extension of ``roles`` in which the role inclusions hold."""
    return _closed(i, roles, axioms, transitive=False)


def transitively_closed(i: Interpretation, axioms: Sequence[Axiom]) -> Interpretation:
    return _closed(i, i.roles, axioms, transitive=True)


def _closed(
    i: Interpretation,
    roles: dict[str, frozenset[tuple[int, int]]],
    axioms: Sequence[Axiom],
    *,
    transitive: bool,
) -> Interpretation:
    pairs = {Role(iri): given for iri, given in roles.items()}
    pairs |= {role.inverse: frozenset((b, a) for a, b in given) for role, given in pairs.items()}
    closed = close_roles(pairs, axioms, transitive=transitive)
    return Interpretation(i.size, i.names, {iri: closed[Role(iri)] for iri in roles}, i.data)

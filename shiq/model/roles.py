"""The role box: inverses, the hierarchy ⊑*, simple roles, loops, and the data property hierarchy.

A role is a property name or its inverse. ⊑* is the reflexive transitive closure of role inclusions,
closed under inverses. A role is simple if no transitive role, and none implied by a chain, lies
below it (OWL 2 structural specification, section 11.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeVar

from shiq import model as owl
from shiq.model.walk import parts

T = TypeVar("T")

#: What the names of loops begin with.
LOOPS = "urn:shiq:fresh:loop:"


class Role(NamedTuple):
    """A role: an object property, or the inverse of one."""

    iri: str
    is_inverse: bool = False

    @property
    def inverse(self) -> Role:
        """Return the inverse role."""
        return Role(self.iri, not self.is_inverse)


def role_of(expression: owl.ObjectPropertyExpression) -> Role:
    """Return the role that an object property expression denotes."""
    if isinstance(expression, owl.ObjectInverseOf):
        return Role(expression.property.iri, True)
    return Role(expression.iri)


def expression_of(role: Role) -> owl.ObjectPropertyExpression:
    """Return the object property expression of a role."""
    return (
        owl.ObjectInverseOf(owl.ObjectProperty(role.iri))
        if role.is_inverse
        else owl.ObjectProperty(role.iri)
    )


def loop_name(iri: str) -> str:
    """Return the name of the class of all x with `iri`(x, x). An inverse property has the same one."""
    return f"{LOOPS}{iri}"


@dataclass(frozen=True)
class RoleBox:
    """The role axioms of a TBox: inclusions, inverses, transitivity, disjointness and so on; also
    of data properties.

    Methods accept roles that occur in no axiom.

    inclusions: as asserted, not closed.
    transitive: closed under inverses and equivalence.
    disjoint: pairs as asserted.
    composite: roles implied by property chains, and their inverses.
    self_properties: properties in Self restrictions.
    reflexive: properties of which every element has a loop.
    """

    inclusions: frozenset[tuple[Role, Role]] = frozenset()
    transitive: frozenset[Role] = frozenset()
    disjoint: frozenset[tuple[Role, Role]] = frozenset()
    asymmetric: frozenset[Role] = frozenset()
    irreflexive: frozenset[Role] = frozenset()
    data_inclusions: frozenset[tuple[str, str]] = frozenset()
    disjoint_data: frozenset[tuple[str, str]] = frozenset()
    composite: frozenset[Role] = frozenset()
    self_properties: frozenset[str] = frozenset()
    reflexive: frozenset[str] = frozenset()

    @cached_property
    def _superroles(self) -> Mapping[Role, frozenset[Role]]:
        """Return for each role the roles above it."""
        pairs = {pair for r, s in self.inclusions for pair in ((r, s), (r.inverse, s.inverse))}
        return transitive_closure(pairs)

    @cached_property
    def _subroles(self) -> Mapping[Role, frozenset[Role]]:
        """Return for each role the roles below it."""
        pairs = {pair for r, s in self.inclusions for pair in ((s, r), (s.inverse, r.inverse))}
        return transitive_closure(pairs)

    @cached_property
    def _data_superproperties(self) -> Mapping[str, frozenset[str]]:
        """Return for each data property those above it."""
        return transitive_closure(self.data_inclusions)

    @cached_property
    def _data_subproperties(self) -> Mapping[str, frozenset[str]]:
        """Return for each data property those below it."""
        return transitive_closure({(q, p) for p, q in self.data_inclusions})

    def superroles(self, role: Role) -> frozenset[Role]:
        """Return all S with role ⊑* S, including `role`."""
        return self._superroles.get(role) or frozenset((role,))

    def subroles(self, role: Role) -> frozenset[Role]:
        """Return all R with R ⊑* role, including `role`."""
        return self._subroles.get(role) or frozenset((role,))

    def is_simple(self, role: Role) -> bool:
        """Decide whether a role is simple: no role below it is transitive or implied by a chain."""
        below = self.subroles(role)
        return below.isdisjoint(self.transitive) and below.isdisjoint(self.composite)

    def loops_above(self, iri: str) -> frozenset[Role]:
        """Return the roles R for which `iri`(x, x) implies R(x, x)."""
        found = self.superroles(Role(iri)) | self.superroles(Role(iri, True))
        return found | {role.inverse for role in found}

    @cached_property
    def relevant_loops(self) -> frozenset[str]:
        """Return the properties whose loops R(x, x) can matter: those in Self restrictions, and of
        disjoint roles that may have loops.
        """
        found, apart = set(self.self_properties), [(r.iri, s.iri) for r, s in self.disjoint]
        while apart:
            above = {role.iri for iri in found | self.reflexive for role in self.loops_above(iri)}
            met = [pair for pair in apart if not above.isdisjoint(pair)]
            if not met:
                break
            apart = [pair for pair in apart if pair not in met]
            found.update(iri for pair in met for iri in pair)
        return frozenset(found)

    @cached_property
    def loop_properties(self) -> tuple[str, ...]:
        """Return the properties whose loops R(x, x) get a class name (`loop_name`), sorted."""
        return tuple(sorted(self.relevant_loops | self.reflexive))

    @cached_property
    def roles_with_loops(self) -> frozenset[Role]:
        """Return the roles R for which a loop R(x, x) is implied by a loop that has a class name."""
        return frozenset(role for iri in self.loop_properties for role in self.loops_above(iri))

    def data_superproperties(self, property: str) -> frozenset[str]:
        """Return all data properties above `property`, including it."""
        return self._data_superproperties.get(property) or frozenset((property,))

    def data_subproperties(self, property: str) -> frozenset[str]:
        """Return all data properties below `property`, including it."""
        return self._data_subproperties.get(property) or frozenset((property,))

    def data_subproperties_of_any(self, properties: Iterable[str]) -> frozenset[str]:
        """Return all data properties below one of `properties`, including these."""
        return frozenset(q for p in properties for q in self.data_subproperties(p))


def transitive_closure(pairs: Iterable[tuple[T, T]]) -> dict[T, frozenset[T]]:
    """Return the reflexive transitive closure of `pairs`, by source. A cycle shares one set."""
    successors: dict[T, list[T]] = {}
    for source, target in pairs:
        successors.setdefault(source, []).append(target)
        successors.setdefault(target, [])
    closure: dict[T, frozenset[T]] = {}
    for members in strong_components(successors):
        beyond = {
            id(closure[t]): closure[t] for s in members for t in successors[s] if t in closure
        }
        reached = frozenset(members).union(*beyond.values())
        closure |= dict.fromkeys(members, reached)
    return closure


def strong_components(successors: Mapping[T, Sequence[T]]) -> Iterator[list[T]]:
    """Yield the strongly connected components, successors first (Tarjan, without recursion)."""
    order: dict[T, int] = {}
    low: dict[T, int] = {}
    open_: list[T] = []
    is_open: set[T] = set()
    for root in successors:
        path = [] if root in order else [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                open_.append(node)
                is_open.add(node)
            for target in rest:
                if target not in order:
                    path.append((target, iter(successors[target])))
                    break
                if target in is_open:
                    low[node] = min(low[node], order[target])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == order[node]:
                    members = [open_.pop()]
                    while members[-1] != node:
                        members.append(open_.pop())
                    is_open.difference_update(members)
                    yield members


def role_box(axioms: Iterable[owl.Axiom]) -> RoleBox:
    """Collect the role axioms among `axioms`, and the Self restrictions in class axioms."""
    inclusions: set[tuple[Role, Role]] = set()
    transitive: set[Role] = set()
    disjoint: set[tuple[Role, Role]] = set()
    asymmetric: set[Role] = set()
    irreflexive: set[Role] = set()
    data_inclusions: set[tuple[str, str]] = set()
    disjoint_data: set[tuple[str, str]] = set()
    composite: set[Role] = set()
    selves: set[str] = set()
    reflexive: set[str] = set()
    for axiom in axioms:
        match axiom:
            case owl.SubObjectPropertyChain(_, sup):
                composite |= {role_of(sup), role_of(sup).inverse}
            case owl.ReflexiveObjectProperty(property):
                reflexive.add(role_of(property).iri)
            case owl.SubObjectPropertyOf(sub, sup):
                inclusions.add((role_of(sub), role_of(sup)))
            case owl.EquivalentObjectProperties(properties):
                for first, second in combinations(map(role_of, properties), 2):
                    inclusions |= {(first, second), (second, first)}
            case owl.InverseObjectProperties(first, second):
                r, s = role_of(first), role_of(second)
                inclusions |= {(r, s.inverse), (s.inverse, r)}
            case owl.SymmetricObjectProperty(property):
                r = role_of(property)
                inclusions.add((r, r.inverse))
            case owl.TransitiveObjectProperty(property):
                r = role_of(property)
                transitive |= {r, r.inverse}
            case owl.DisjointObjectProperties(properties):
                disjoint |= set(combinations(map(role_of, properties), 2))
            case owl.AsymmetricObjectProperty(property):
                asymmetric.add(role_of(property))
            case owl.IrreflexiveObjectProperty(property):
                irreflexive.add(role_of(property))
            case owl.SubDataPropertyOf(p, q):
                data_inclusions.add((p.iri, q.iri))
            case owl.EquivalentDataProperties(data_properties):
                for p, q in combinations(data_properties, 2):
                    data_inclusions |= {(p.iri, q.iri), (q.iri, p.iri)}
            case owl.DisjointDataProperties(data_properties):
                disjoint_data |= {(p.iri, q.iri) for p, q in combinations(data_properties, 2)}
            case owl.HasKey():
                pass  # Its class is asked about named individuals only.
            case _:
                selves.update(
                    role_of(part.property).iri
                    for part in parts(axiom)
                    if isinstance(part, owl.ObjectHasSelf)
                )
    return RoleBox(
        frozenset(inclusions),
        _with_equivalents(transitive, inclusions),
        frozenset(disjoint),
        frozenset(asymmetric),
        frozenset(irreflexive),
        frozenset(data_inclusions),
        frozenset(disjoint_data),
        frozenset(composite),
        frozenset(selves),
        frozenset(reflexive),
    )


#: Axioms that say that roles lie below others.
ROLE_INCLUSIONS = (
    owl.SubObjectPropertyOf
    | owl.EquivalentObjectProperties
    | owl.InverseObjectProperties
    | owl.SymmetricObjectProperty
)


def _with_equivalents(transitive: set[Role], inclusions: set[tuple[Role, Role]]) -> frozenset[Role]:
    """Add to the transitive roles those equivalent to one."""
    box = RoleBox(frozenset(inclusions))
    found: set[Role] = set()
    for r in transitive:
        if r not in found:
            found |= {s for s in box.superroles(r) if r in box.superroles(s)}
    return frozenset(found)

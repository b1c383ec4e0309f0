"""The role box: inverses, the role hierarchy ⊑*, transitive, composite and simple roles, loops;
the data property hierarchy.

A role is a property name or its inverse. ⊑* is the reflexive transitive closure of role
inclusions, closed under inverses. A role is simple if no transitive role, and none that a
property chain implies, lies below it (OWL 2 structural specification, section 11.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeVar

from shiq import model as owl

T = TypeVar("T")

#: What the names of loops begin with.
LOOPS = "urn:shiq:fresh:loop:"


class Role(NamedTuple):
    """A property name, or its inverse."""

    iri: str
    inverted: bool = False

    @property
    def inverse(self) -> Role:
        return Role(self.iri, not self.inverted)


def role_of(expression: owl.ObjectPropertyExpression) -> Role:
    if isinstance(expression, owl.ObjectInverseOf):
        return Role(expression.property.iri, True)
    return Role(expression.iri)


def expression_of(role: Role) -> owl.ObjectPropertyExpression:
    return (
        owl.ObjectInverseOf(owl.ObjectProperty(role.iri))
        if role.inverted
        else owl.ObjectProperty(role.iri)
    )


def loop_name(iri: str) -> str:
    """The class of all x with a loop, ``iri``(x, x); it is that of the inverse too."""
    return f"{LOOPS}{iri}"


@dataclass(frozen=True)
class RoleBox:
    """What a TBox says of roles alone.

    ``inclusions`` are as asserted (not closed); ``transitive`` is closed under inverses;
    ``disjoint`` holds unordered pairs as asserted, as ordered tuples; a role outside any axiom
    is known to every method (reflexively). ``composite``: what a property chain implies, and its
    inverse. ``selves``: the properties of which some class expression asks for loops;
    ``reflexive``: those that every element has a loop of.
    """

    inclusions: frozenset[tuple[Role, Role]] = frozenset()
    transitive: frozenset[Role] = frozenset()
    disjoint: frozenset[tuple[Role, Role]] = frozenset()
    asymmetric: frozenset[Role] = frozenset()
    irreflexive: frozenset[Role] = frozenset()
    data_inclusions: frozenset[tuple[str, str]] = frozenset()
    disjoint_data: frozenset[tuple[str, str]] = frozenset()
    composite: frozenset[Role] = frozenset()
    selves: frozenset[str] = frozenset()
    reflexive: frozenset[str] = frozenset()

    @cached_property
    def _superroles(self) -> Mapping[Role, frozenset[Role]]:
        pairs = {pair for r, s in self.inclusions for pair in ((r, s), (r.inverse, s.inverse))}
        return reachable(pairs)

    @cached_property
    def _subroles(self) -> Mapping[Role, frozenset[Role]]:
        pairs = {pair for r, s in self.inclusions for pair in ((s, r), (s.inverse, r.inverse))}
        return reachable(pairs)

    @cached_property
    def _data_superproperties(self) -> Mapping[str, frozenset[str]]:
        return reachable(self.data_inclusions)

    @cached_property
    def _data_subproperties(self) -> Mapping[str, frozenset[str]]:
        return reachable({(q, p) for p, q in self.data_inclusions})

    def superroles(self, role: Role) -> frozenset[Role]:
        """All S with role ⊑* S, ``role`` included."""
        return self._superroles.get(role) or frozenset((role,))

    def subroles(self, role: Role) -> frozenset[Role]:
        """All R with R ⊑* role, ``role`` included."""
        return self._subroles.get(role) or frozenset((role,))

    def is_simple(self, role: Role) -> bool:
        """Whether no transitive role, and none that a chain implies, lies below ``role``."""
        below = self.subroles(role)
        return below.isdisjoint(self.transitive) and below.isdisjoint(self.composite)

    def loops_above(self, iri: str) -> frozenset[Role]:
        """The roles that a loop of ``iri`` is a loop of."""
        found = self.superroles(Role(iri)) | self.superroles(Role(iri, True))
        return found | {role.inverse for role in found}

    @cached_property
    def asked_loops(self) -> frozenset[str]:
        """The properties for whose loops it matters whether they are there: those of Self, and
        those of disjoint roles of which one may have loops.
        """
        found, apart = set(self.selves), [(r.iri, s.iri) for r, s in self.disjoint]
        while apart:
            above = {role.iri for iri in found | self.reflexive for role in self.loops_above(iri)}
            met = [pair for pair in apart if not above.isdisjoint(pair)]
            if not met:
                break
            apart = [pair for pair in apart if pair not in met]
            found.update(iri for pair in met for iri in pair)
        return frozenset(found)

    @cached_property
    def looped(self) -> tuple[str, ...]:
        """The properties that have a name for their loops (`loop_name`), sorted."""
        return tuple(sorted(self.asked_loops | self.reflexive))

    @cached_property
    def roles_with_loops(self) -> frozenset[Role]:
        """The roles above a property that has a name for its loops."""
        return frozenset(role for iri in self.looped for role in self.loops_above(iri))

    def data_superproperties(self, property: str) -> frozenset[str]:
        return self._data_superproperties.get(property) or frozenset((property,))

    def data_subproperties(self, property: str) -> frozenset[str]:
        return self._data_subproperties.get(property) or frozenset((property,))

    def data_below(self, properties: Iterable[str]) -> frozenset[str]:
        """All data properties below one of ``properties``, these included."""
        return frozenset(q for p in properties for q in self.data_subproperties(p))


def reachable(pairs: Iterable[tuple[T, T]]) -> dict[T, frozenset[T]]:
    """The reflexive transitive closure of ``pairs``, by source. What lies on one cycle shares
    one set.
    """
    successors: dict[T, list[T]] = {}
    for source, target in pairs:
        successors.setdefault(source, []).append(target)
        successors.setdefault(target, [])
    closure: dict[T, frozenset[T]] = {}
    for members in components(successors):
        beyond = {
            id(closure[t]): closure[t] for s in members for t in successors[s] if t in closure
        }
        reached = frozenset(members).union(*beyond.values())
        closure |= dict.fromkeys(members, reached)
    return closure


def components(successors: Mapping[T, Sequence[T]]) -> Iterator[list[T]]:
    """The strongly connected components of a graph, each after those that it leads to (Tarjan's
    algorithm, without recursion).
    """
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
    """The role box of ``axioms``; of axioms about classes, what they say of loops."""
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
            case _:
                selves.update(_selves(axiom))
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

#: What a class expression may stand in; no axiom on roles or data is among them.
_HOLDERS = (
    owl.SubClassOf,
    owl.EquivalentClasses,
    owl.DisjointClasses,
    owl.DisjointUnion,
    owl.ObjectPropertyDomain,
    owl.ObjectPropertyRange,
    owl.DataPropertyDomain,
    owl.ObjectIntersectionOf,
    owl.ObjectUnionOf,
    owl.ObjectComplementOf,
    owl.ObjectSomeValuesFrom,
    owl.ObjectAllValuesFrom,
    owl.ObjectMinCardinality,
    owl.ObjectMaxCardinality,
    owl.ObjectExactCardinality,
)


def _selves(axiom: owl.Axiom) -> Iterator[str]:
    """The properties of the Self restrictions in ``axiom``."""
    stack: list[object] = [axiom]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, owl.ObjectHasSelf):
            yield role_of(part.property).iri
        elif isinstance(part, _HOLDERS):
            stack.extend(getattr(part, name) for name in type(part).__match_args__)


def _with_equivalents(transitive: set[Role], inclusions: set[tuple[Role, Role]]) -> frozenset[Role]:
    """``transitive`` with every role that is equivalent to one of them: R ⊑* S ⊑* R and R
    transitive make S transitive.
    """
    box = RoleBox(frozenset(inclusions))
    found: set[Role] = set()
    for r in transitive:
        if r not in found:
            found |= {s for s in box.superroles(r) if r in box.superroles(s)}
    return frozenset(found)

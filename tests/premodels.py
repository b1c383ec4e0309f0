"""Is what `own` calls a pre-model one? It is unravelled for some elements, and each is checked
as the centre of every clause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shiq.datatypes import DataTheory
from shiq.model.clause import AtLeast, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.hypertableau.node_checks import blocked_nodes
from shiq.reasoner.hypertableau.state import TableauState
from shiq.reasoner.protocol import Module

NO_WEIGHTS: Mapping[int, int] = MappingProxyType({})


@dataclass(eq=False)
class Element:
    """An element of the unravelling: a copy of the unblocked node ``node``."""

    node: int
    atoms: frozenset[object]
    near: list[tuple[Element, frozenset[Role]]] = field(default_factory=list)


def unravelling(
    state: TableauState, limit: int, weights: Mapping[int, int] = NO_WEIGHTS
) -> list[Element]:
    """The first ``limit`` elements at least, breadth first, each with all of its neighbours."""
    iris = {code: iri for iri, code in state.tables.roles._codes.items()}
    blocked = blocked_nodes(state)

    box = state.tables.tbox.roles
    limits = {
        a for clause in state.tables.tbox.clauses for a in clause.head if isinstance(a, DataAtMost)
    }

    def atoms(x: int) -> frozenset[object]:
        """What holds at x; with it the limits on properties that nothing at x leads to, which
        the calculus leaves out.
        """
        found = frozenset(a for i, a in enumerate(state.tables.atoms) if state.pos[x] >> i & 1)
        led = {a.property for a in found if isinstance(a, DataAtLeast)}
        for fact, _ in state.data.get(x, ()):
            if isinstance(fact, DataAtLeast) or (isinstance(fact, tuple) and fact[2]):
                led.add(fact.property if isinstance(fact, DataAtLeast) else fact[0])
        reached = {q for p in led for q in box.data_superproperties(p)}
        return found | {limit for limit in limits if limit.property not in reached}

    def roles(mask: int) -> frozenset[Role]:
        return frozenset(
            Role(iris[i & ~1], bool(i & 1)) for i in range(mask.bit_length()) if mask >> i & 1
        )

    named = {x: Element(x, atoms(x)) for x in range(state.named) if state.alive[x]}
    done: list[Element] = []
    queue = list(named.values())
    while len(done) < len(queue) and len(done) < limit + len(named):
        element = queue[len(done)]
        done.append(element)
        for y, mask in state.near[element.node].items():
            if not state.alive[y]:
                raise AssertionError(f"{y} is gone, but a neighbour of {element.node}")
            if y in named and element.node in named:
                element.near.append((named[y], roles(mask)))
            elif state.parent[y] == element.node:
                node = blocked.get(y, y)
                child = Element(node, atoms(node))
                child.near.append((element, roles(state.near[y][element.node])))
                # A node that stands for several elements is as many neighbours, all alike.
                element.near += [(child, roles(mask))] * weights.get(y, 1)
                queue.append(child)
    return done


def check(
    state: TableauState,
    tbox: ClausalTBox,
    module: Module,
    weights: Mapping[int, int] = NO_WEIGHTS,
) -> None:
    """Raise AssertionError if the pre-model is none; its nodes stand for one element each, but for
    ``weights``.
    """
    assert state.alive[: state.named].count(True) >= min(1, state.named)
    elements = unravelling(state, 60, weights)
    theory = DataTheory(tbox.definitions, tbox.roles)
    for element in elements:
        for clause in tbox.clauses:
            assert meets(element, clause), (element.node, clause)
        for atom in element.atoms:
            if isinstance(atom, AtLeast):
                assert suitable(element, atom) >= atom.n, (element.node, atom)
        at_least = [a for a in element.atoms if isinstance(a, DataAtLeast)]
        at_most = [a for a in element.atoms if isinstance(a, DataAtMost)]
        assert theory.satisfiable(at_least, at_most, []) is True, element.node
        for other, roles in element.near:
            check_roles(tbox.roles, roles, other is element)
    _check_module(state, tbox, module, elements)


def suitable(element: Element, atom: AtLeast) -> int:
    return sum(
        atom.role in roles and (atom.filler is None or atom.filler in y.atoms)
        for y, roles in element.near
    )


def meets(element: Element, clause: Clause) -> bool:
    if not set(clause.body) <= element.atoms or element.atoms & set(clause.head):
        return True
    if clause.role is None:
        return False
    ys = [
        y
        for y, roles in element.near
        if clause.role in roles and set(clause.branch_body) <= y.atoms
    ]
    if clause.at_most:
        return len(ys) <= clause.at_most
    return all(y.atoms & set(clause.branch_head) for y in ys)


def check_roles(box: RoleBox, roles: frozenset[Role], loop: bool) -> None:
    for r in roles:
        assert box.superroles(r) <= roles
    for r, s in box.disjoint:
        assert not {r, s} <= roles and not {r.inverse, s.inverse} <= roles
    for r in box.asymmetric:
        assert not {r, r.inverse} <= roles
    assert not (loop and roles & box.irreflexive)
    if loop:
        assert {r.inverse for r in roles} == roles


def _check_module(
    state: TableauState, tbox: ClausalTBox, module: Module, elements: list[Element]
) -> None:
    """Some map of individuals to named elements keeps every assertion: found by search, since
    merges leave no name behind.
    """
    live = [e for e in elements if e.node < state.named]
    theory = DataTheory(tbox.definitions, tbox.roles)

    def fits(i: int, e: Element) -> bool:
        for k, atom in enumerate(tbox.atoms):
            if module.positive[i] >> k & 1 and atom not in e.atoms:
                return False
            if module.negative[i] >> k & 1:
                if atom in e.atoms or (isinstance(atom, AtLeast) and suitable(e, atom) >= atom.n):
                    return False
        return True

    def data_fits(e: Element, individuals: list[int]) -> bool:
        at_least = [a for a in e.atoms if isinstance(a, DataAtLeast)]
        at_most = [a for a in e.atoms if isinstance(a, DataAtMost)]
        for i in individuals:
            for k, atom in enumerate(tbox.atoms):
                if module.negative[i] >> k & 1:
                    match atom:
                        case DataAtLeast(n, p, data_range):
                            at_most.append(DataAtMost(n - 1, p, data_range))
                        case DataAtMost(n, p, data_range):
                            at_least.append(DataAtLeast(n + 1, p, data_range))
        values = [(p, v) for i, p, v in module.data if i in individuals]
        return (
            theory.satisfiable(
                at_least,
                at_most,
                values,
                [(p, v) for i, p, v in module.negative_data if i in individuals],
            )
            is True
        )

    candidates = [[e for e in live if e.node <= i and fits(i, e)] for i in range(state.named)]
    place: list[Element] = []

    def roles(a: Element, b: Element) -> frozenset[Role]:
        return frozenset(r for y, rs in a.near if y is b for r in rs)

    def extend(i: int) -> bool:
        if i == state.named:
            return all(
                data_fits(e, [j for j, other in enumerate(place) if other is e]) for e in live
            )
        for e in [c for c in candidates[i] if c.node == i] if state.alive[i] else candidates[i]:
            place.append(e)
            near = [(a, r, b) for a, r, b in module.edges if max(a, b) == i]
            apart = [(a, r, b) for a, r, b in module.negative_edges if max(a, b) == i]
            if (
                all(r in roles(place[a], place[b]) for a, r, b in near)
                and not any(r in roles(place[a], place[b]) for a, r, b in apart)
                and all(place[a] is not place[b] for a, b in module.different if max(a, b) == i)
                and extend(i + 1)
            ):
                return True
            place.pop()
        return False

    assert extend(0), "an assertion is lost"

"""The reference: all rules of a window from what its snapshots entail, straight from the
definitions, nothing kept.

A snapshot is a bit of an integer. No body is left out for what T says before it was counted.

Source: docs/DISCOVERY.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from shiq.streams.discovery.atomsets import (
    ROOT,
    Atom,
    AtomIndex,
    Tree,
    atoms_of,
    bindings,
    binds,
    width,
    with_branch,
    with_class,
)
from shiq.streams.discovery.counting import MinedRule, MiningLimits
from shiq.streams.discovery.mining import MinedRules, best
from shiq.streams.discovery.ontology import Theory

#: What each snapshot of a window entails, None where it is inconsistent.
Window: TypeAlias = Sequence[AtomIndex | None]
#: For each individual, the snapshots in which something holds of it.
Extent: TypeAlias = Mapping[str, int]


def support(atoms: Sequence[Atom], window: Window) -> int:
    """σ (Definition 6): how many snapshots have a binding of all of ``atoms``."""
    return sum(facts is not None and binds(atoms, facts) for facts in window)


def mine_window(window: Window, theory: Theory, limits: MiningLimits) -> MinedRules:
    """The rules of a window (`shiq.streams.discovery.mining.mine`)."""
    classes, roles = _columns(window, frozenset(theory.vocabulary))
    least = limits.least(len(window))
    extents: dict[Tree, Extent] = {}
    level: Iterable[Tree] = [
        *(Tree((name,)) for name in theory.classes),
        *(
            with_branch(Tree(), 0, role, inverse)
            for role in roles
            for inverse in (False, True)
            if limits.max_variables > 1
        ),
    ]
    for atoms in range(limits.max_atoms):
        found = {tree: _extent(tree, classes, roles) for tree in level}
        found = {tree: extent for tree, extent in found.items() if _snapshots(extent) >= least}
        extents.update(found)
        if atoms + 1 < limits.max_atoms:
            level = {
                more
                for tree in found
                for more in _larger(tree, theory.classes, sorted(roles), limits.max_variables)
            }
    kept = theory.one_each(extents, lambda tree: tuple(sorted(extents[tree].items())))
    rules, by_tbox = [], 0
    for tree in kept:
        for head in theory.classes:
            both = _meet(extents[tree], classes.get(head, {}))
            n, d = _snapshots(both), _snapshots(extents[tree])
            if theory.entails(atoms_of(tree), ((head, ROOT),)):
                by_tbox += 1
            elif n >= least and limits.is_confident(n, d):
                rules.append(MinedRule(tree, head, n, d, _pairs(both), _pairs(extents[tree])))
    return MinedRules(best(rules, limits.max_rules), by_tbox, len(rules) > limits.max_rules)


def instances(
    rule: MinedRule, window: Mapping[int, AtomIndex | None], most: int
) -> list[tuple[int, dict[str, str]]]:
    """The first bindings of a rule: by snapshot, then by the texts of ?x0, ?x1, …"""
    found: list[tuple[int, dict[str, str]]] = []
    atoms = (*atoms_of(rule.body), (rule.head, ROOT))
    for index, facts in sorted(window.items()):
        if len(found) < most and facts is not None:
            found += [
                (index, dict(each))
                for each in sorted(sorted(binding.items()) for binding in bindings(atoms, facts))
            ]
    return found[:most]


def _columns(
    window: Window, names: frozenset[str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[Atom, int]]]:
    """The snapshots of each class and individual, and of each role and pair."""
    classes: dict[str, dict[str, int]] = {}
    roles: dict[str, dict[Atom, int]] = {}
    for i, facts in enumerate(window):
        for atom in facts.atoms if facts is not None else ():
            if len(atom) == 3:
                pairs = roles.setdefault(atom[0], {})
                pairs[atom[1:]] = pairs.get(atom[1:], 0) | 1 << i
            elif atom[0] in names:
                members = classes.setdefault(atom[0], {})
                members[atom[1]] = members.get(atom[1], 0) | 1 << i
    return classes, roles


def _extent(
    tree: Tree, classes: Mapping[str, Extent], roles: Mapping[str, Mapping[Atom, int]]
) -> Extent:
    found: Extent | None = None
    for name in tree.classes:
        found = classes.get(name, {}) if found is None else _meet(found, classes.get(name, {}))
    for role, inverse, below in tree.branches:
        other = _extent(below, classes, roles) if below != Tree() else None
        reached: dict[str, int] = {}
        for (subject, object), bits in roles[role].items():
            near, far = (object, subject) if inverse else (subject, object)
            bits &= -1 if other is None else other.get(far, 0)
            if bits:
                reached[near] = reached.get(near, 0) | bits
        found = reached if found is None else _meet(found, reached)
    return found or {}


def _meet(first: Extent, second: Extent) -> Extent:
    return {a: both for a, bits in first.items() if (both := bits & second.get(a, 0))}


def _snapshots(extent: Extent) -> int:
    union = 0
    for bits in extent.values():
        union |= bits
    return union.bit_count()


def _pairs(extent: Extent) -> int:
    return sum(bits.bit_count() for bits in extent.values())


def _larger(
    tree: Tree, classes: Sequence[str], roles: Sequence[str], variables: int
) -> Iterable[Tree]:
    for place in range(width(tree)):
        yield from (
            with_class(tree, place, name) for name in classes if name not in _at(tree, place)
        )
        if width(tree) < variables:
            yield from (
                with_branch(tree, place, role, inverse)
                for role in roles
                for inverse in (False, True)
            )


def _at(tree: Tree, place: int) -> tuple[str, ...]:
    own = f"?x{place}"
    return tuple(atom[0] for atom in atoms_of(tree) if atom[1:] == (own,))

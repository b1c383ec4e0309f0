"""The rules of a window, by three methods (docs/DISCOVERY.md): `mine_rules` goes by levels over kept
counts, `mine_window` straight by the definitions, `CarriedRules` carries rules from window to
window, as the source does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from shiq.streams.discovery.atomsets import (
    ROOT,
    Atom,
    AtomIndex,
    Tree,
    atom_count,
    atoms_of,
    bindings,
    smaller_bodies,
    sub_bodies,
    text_of,
    variable_count,
    with_branch,
    with_class,
)
from shiq.streams.discovery.columns import HEAD, Bits, popcount
from shiq.streams.discovery.counting import BodyCounter, BodyCounts, MinedRule, MiningLimits
from shiq.streams.discovery.ontology import Theory

#: Bodies with their counts, and heads.
FrequentBodies: TypeAlias = dict[Tree, tuple[BodyCounts, frozenset[str]]]


@dataclass(frozen=True)
class MinedRules:
    """The rules of a window, those that T entails only counted. ``is_truncated``: there are more than
    the limit allows, or as many bodies.
    """

    rules: tuple[MinedRule, ...] = ()
    entailed_by_tbox: int = 0
    is_truncated: bool = False


@dataclass(frozen=True)
class MinedBodies:
    """Bodies with their counts, each of equivalent ones once, and the heads that they have often
    enough and not by T. ``entailed_by_tbox``: the pairs that T entails, counted alone.
    """

    heads: FrequentBodies
    entailed_by_tbox: int
    is_truncated: bool


def mine_rules(
    counter: BodyCounter, theory: Theory, limits: MiningLimits, window: int
) -> MinedRules:
    """The rules of the snapshots that ``counter`` looks at, ``window`` of them (inconsistent and
    missing ones included).
    """
    found = mine_bodies(counter, theory, limits, limits.least_support(window))
    rules = [
        rule
        for tree, (counts, heads) in found.heads.items()
        for rule in counter.confident_rules(tree, counts, heads, limits)
    ]
    counter.drop_unused()
    return MinedRules(
        best_rules(rules, limits.max_rules),
        found.entailed_by_tbox,
        found.is_truncated or len(rules) > limits.max_rules,
    )


def best_rules(rules: Iterable[MinedRule], most: int) -> tuple[MinedRule, ...]:
    """By confidence of bindings, support, text."""

    def order(rule: MinedRule) -> tuple[float, int, str, str]:
        return (
            -rule.binding_support / rule.binding_body,
            -rule.support,
            text_of(atoms_of(rule.body)),
            rule.head,
        )

    return tuple(sorted(rules, key=order)[:most])


def mine_bodies(
    counter: BodyCounter, theory: Theory, limits: MiningLimits, least: int
) -> MinedBodies:
    """The bodies that at least ``least`` of the snapshots of ``counter`` have. Their counts may
    be older, where that is clear.
    """
    frequent, stopped = _frequent_bodies(counter, theory, limits, least)

    def extension(tree: Tree) -> object:
        counts = counter.counts(tree)
        return counts.body.tobytes(), counts.pairs.tobytes()

    kept = theory.minimal_spellings(frequent, extension)
    classes = frozenset(theory.classes)
    return MinedBodies(
        {tree: frequent[tree] for tree in kept},
        sum(len(classes & theory.root_classes(tree)) for tree in kept),
        stopped,
    )


def _frequent_bodies(
    counter: BodyCounter, theory: Theory, limits: MiningLimits, least: int
) -> tuple[FrequentBodies, bool]:
    """The bodies none of whose atoms follows from the others, and of each the heads that so many
    have jointly and T does not entail.
    """
    found: FrequentBodies = {}
    level = [Tree((name,)) for name in theory.classes]
    roles = [
        name
        for name in counter.columns.names()
        if name not in theory.vocabulary and not name.startswith(HEAD)
    ]
    if limits.max_variables > 1:
        level += [
            with_branch(Tree(), 0, role, inverse) for role in roles for inverse in (False, True)
        ]
    for atoms in range(1, limits.max_atoms + 1):
        for tree in level:
            counts = counter.counts_if_frequent(tree, least)
            if counts is None:
                continue
            below = (
                [found[less][1] for less in smaller_bodies(tree)]
                if atoms > 1
                else [frozenset(theory.classes)]
            )
            heads = below[0].intersection(*below[1:]) - theory.root_classes(tree)
            found[tree] = counts, frozenset(counter.frequent_heads(tree, counts, heads, least))
            if len(found) > 10 * limits.max_rules:
                return found, True
        if atoms < limits.max_atoms:
            level = _grow_bodies(
                counter,
                [tree for tree in found if atom_count(tree) == atoms],
                found,
                theory,
                limits.max_variables,
            )
    return found, False


def _grow_bodies(
    counter: BodyCounter,
    level: Sequence[Tree],
    found: FrequentBodies,
    theory: Theory,
    variables: int,
) -> list[Tree]:
    """The bodies with one atom more than those of ``level``, all of whose parts were ``found``."""
    classes = tuple(tree.classes[0] for tree in found if atom_count(tree) == 1 and tree.classes)
    roles = tuple(tree.branches[0][:2] for tree in found if atom_count(tree) == 1 and tree.branches)
    if counter.single_atoms != (classes, roles):
        counter.single_atoms = (classes, roles)
        counter.larger_bodies.clear()
    larger = set[Tree]()
    for tree in level:
        if tree not in counter.larger_bodies:
            grown = [
                with_class(tree, place, name)
                for place in range(variable_count(tree))
                for name in classes
                if name not in theory.classes_at(tree, place)
            ]
            if variable_count(tree) < variables:
                grown += [
                    with_branch(tree, place, *role)
                    for place in range(variable_count(tree))
                    for role in roles
                ]
            counter.larger_bodies[tree] = grown
        larger.update(counter.larger_bodies[tree])
    return sorted(each for each in larger if all(part in found for part in sub_bodies(each)))


#: What each snapshot of a window entails, None where it is inconsistent.
Window: TypeAlias = Sequence[AtomIndex | None]
#: For each individual, the snapshots in which something holds of it.
Extent: TypeAlias = Mapping[str, int]


def mine_window(window: Window, theory: Theory, limits: MiningLimits, tag: str = "") -> MinedRules:
    """The rules of a window; ``tag``: before the names of heads."""
    names = {name for own in theory.vocabulary for name in (own, tag + own)}
    classes, roles = _snapshots_by_name(window, names)
    least = limits.least_support(len(window))
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
        found = {tree: _body_extent(tree, classes, roles) for tree in level}
        found = {
            tree: extent for tree, extent in found.items() if _count_snapshots(extent) >= least
        }
        extents.update(found)
        if atoms + 1 < limits.max_atoms:
            level = {
                more
                for tree in found
                for more in _extend_body(tree, theory.classes, sorted(roles), limits.max_variables)
            }
    kept = theory.minimal_spellings(extents, lambda tree: tuple(sorted(extents[tree].items())))
    rules, by_tbox = [], 0
    for tree in kept:
        for head in theory.classes:
            both = _intersect(extents[tree], classes.get(tag + head, {}))
            n, d = _count_snapshots(both), _count_snapshots(extents[tree])
            if theory.entails(atoms_of(tree), ((head, ROOT),)):
                by_tbox += 1
            elif n >= least and limits.is_confident(n, d):
                rules.append(
                    MinedRule(tree, head, n, d, _count_pairs(both), _count_pairs(extents[tree]))
                )
    return MinedRules(best_rules(rules, limits.max_rules), by_tbox, len(rules) > limits.max_rules)


def first_instances(
    rule: MinedRule, window: Mapping[int, AtomIndex | None], most: int, tag: str = ""
) -> list[tuple[int, dict[str, str]]]:
    """The first bindings of a rule: by snapshot, then by the texts of ?x0, ?x1, …"""
    found: list[tuple[int, dict[str, str]]] = []
    atoms = (*atoms_of(rule.body), (tag + rule.head, ROOT))
    for index, facts in sorted(window.items()):
        if len(found) < most and facts is not None:
            found += [
                (index, dict(each))
                for each in sorted(sorted(binding.items()) for binding in bindings(atoms, facts))
            ]
    return found[:most]


def _snapshots_by_name(
    window: Window, names: Collection[str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[Atom, int]]]:
    """The snapshots of each class and individual, and of each role and pair."""
    classes: dict[str, dict[str, int]] = {}
    roles: dict[str, dict[Atom, int]] = {}
    for i, facts in enumerate(window):
        for atom in facts.atoms if facts is not None else ():
            if len(atom) == 3 and not atom[0].startswith(HEAD):
                pairs = roles.setdefault(atom[0], {})
                pairs[atom[1:]] = pairs.get(atom[1:], 0) | 1 << i
            elif atom[0] in names:
                members = classes.setdefault(atom[0], {})
                members[atom[1]] = members.get(atom[1], 0) | 1 << i
    return classes, roles


def _body_extent(
    tree: Tree, classes: Mapping[str, Extent], roles: Mapping[str, Mapping[Atom, int]]
) -> Extent:
    found: Extent | None = None
    for name in tree.classes:
        found = classes.get(name, {}) if found is None else _intersect(found, classes.get(name, {}))
    for role, inverse, below in tree.branches:
        other = _body_extent(below, classes, roles) if below != Tree() else None
        reached: dict[str, int] = {}
        for (subject, object), bits in roles[role].items():
            near, far = (object, subject) if inverse else (subject, object)
            bits &= -1 if other is None else other.get(far, 0)
            if bits:
                reached[near] = reached.get(near, 0) | bits
        found = reached if found is None else _intersect(found, reached)
    return found or {}


def _intersect(first: Extent, second: Extent) -> Extent:
    return {a: both for a, bits in first.items() if (both := bits & second.get(a, 0))}


def _count_snapshots(extent: Extent) -> int:
    union = 0
    for bits in extent.values():
        union |= bits
    return union.bit_count()


def _count_pairs(extent: Extent) -> int:
    return sum(bits.bit_count() for bits in extent.values())


def _extend_body(
    tree: Tree, classes: Sequence[str], roles: Sequence[str], variables: int
) -> Iterable[Tree]:
    for place in range(variable_count(tree)):
        yield from (
            with_class(tree, place, name)
            for name in classes
            if name not in _classes_at(tree, place)
        )
        if variable_count(tree) < variables:
            yield from (
                with_branch(tree, place, role, inverse)
                for role in roles
                for inverse in (False, True)
            )


def _classes_at(tree: Tree, place: int) -> tuple[str, ...]:
    own = f"?x{place}"
    return tuple(atom[0] for atom in atoms_of(tree) if atom[1:] == (own,))


@dataclass(frozen=True)
class SlideGate:
    """What is decided before a slide: ``similarity`` Φ(Δ⁻,Δ⁺), ``rarity`` ϱ₁(Δ⁺),
    ``kept_similarity`` Φ(S,Δ⁺).
    """

    similarity: Fraction | None
    rarity: Fraction | None
    kept_similarity: Fraction | None

    def is_open(self, gate: str, max_similarity: Fraction, min_rarity: Fraction) -> bool:
        """Whether rules are looked at. ``printed``: Φ < Φmin and ϱ₁ > ϱmin; ``prose``: Φ < Φmin
        and 1 - ϱ₁ > ϱmin; ``off``: always. What has no basis stands in no way.
        """
        if gate == "off":
            return True
        rarity = self.rarity if gate == "printed" or self.rarity is None else 1 - self.rarity
        differs = self.similarity is None or self.similarity < max_similarity
        return differs and (rarity is None or rarity > min_rarity)


def apply_a1(counts: tuple[int, int], joint: int, body: int, sign: int) -> tuple[int, int]:
    """A1: n and d of a rule after Δ left (-1) or came (+1), of which ``joint`` snapshots have
    body and head and ``body`` the body. Always both: a snapshot with the body alone counts in d.
    """
    return counts[0] + sign * joint, counts[1] + sign * body


def rules_by_a2(
    counter: BodyCounter,
    came: BodyCounter,
    theory: Theory,
    limits: MiningLimits,
    stayed: Bits,
    occurrences: Collection[int],
) -> Iterable[tuple[Tree, str]]:
    """A2: the rules with γ > γmin over the window of ``counter``, bound in Δ⁺, which ``came``
    counts, of whose body and head one is not in S and the other so often as ``occurrences`` (E)
    has it.
    """

    def times(tree: Tree) -> int:
        return int(popcount(counter.counts(tree).body & stayed).sum())

    heads = {name: times(Tree((name,))) for name in theory.classes}
    absent = frozenset(name for name, often in heads.items() if not often)
    for tree, (arrived, bound) in mine_bodies(came, theory, limits, 1).heads.items():
        if absent.isdisjoint(bound) and counter.counts_if_frequent(tree, arrived.support + 1):
            continue
        own = times(tree)
        new = [
            h
            for h in bound
            if (own in occurrences and h in absent) or (heads[h] in occurrences and own == 0)
        ]
        counts = counter.counts(tree, new)
        yield from (
            (tree, head)
            for head in new
            if limits.is_confident(counts.joint_support[counts.heads[head]], counts.support)
        )


@dataclass
class CarriedRules:
    """The rules that are carried, with the counts of the window they belong to; what was last
    reported.
    """

    rules: dict[tuple[Tree, str], tuple[int, int]] = field(default_factory=dict)
    last_reported: MinedRules | None = None
    #: Of each rule, in which snapshots it bound when it was last counted.
    bits: dict[tuple[Tree, str], tuple[Bits, Bits]] = field(default_factory=dict)
    #: What was told of them: with lift, whether they are refuted, instances.
    findings: Sequence[Any] = ()

    def copy(self) -> CarriedRules:
        """The same, which may go on by itself."""
        return CarriedRules(dict(self.rules), self.last_reported, dict(self.bits), self.findings)

    def slide(
        self,
        counter: BodyCounter,
        theory: Theory,
        limits: MiningLimits,
        window: int,
        gate: SlideGate | None,
        acts: bool,
        stayed: Bits,
        arrived: Bits,
        occurrences: Collection[int],
    ) -> MinedRules:
        """A3: the rules of the next window. ``gate``: None for the first window, which is mined
        from scratch; ``acts``: what it says.
        """
        if self.last_reported is None or gate is None:
            self.last_reported = mine_rules(counter, theory, limits, window)
            self._update_counts(
                counter, [(rule.body, rule.head) for rule in self.last_reported.rules]
            )
            return self.last_reported
        if not acts:
            return self.last_reported
        self._update_counts(counter, list(self.rules))
        came = BodyCounter(counter.columns, arrived)
        more = (
            set(rules_by_a2(counter, came, theory, limits, stayed, occurrences))
            if gate.kept_similarity
            else set()
        )
        found = mine_bodies(
            came, theory, limits, limits.least_support(int(popcount(arrived).sum()))
        )
        for tree, (counts, heads) in found.heads.items():
            more.update(
                (rule.body, rule.head) for rule in came.confident_rules(tree, counts, heads, limits)
            )
        self._update_counts(counter, sorted(more - self.rules.keys()))
        self.rules = {key: counts for key, counts in self.rules.items() if counts[1]}
        self.bits = {key: self.bits[key] for key in self.rules}
        least = limits.least_support(window)
        rules = [
            self._mined_rule(counter, key)
            for key, (n, d) in self.rules.items()
            if n >= least and limits.is_confident(n, d)
        ]
        self.last_reported = MinedRules(
            best_rules(rules, limits.max_rules),
            found.entailed_by_tbox,
            len(rules) > limits.max_rules,
        )
        counter.drop_unused()
        return self.last_reported

    def _update_counts(self, counter: BodyCounter, keys: Sequence[tuple[Tree, str]]) -> None:
        """Brings the counts of ``keys`` to the window that ``counter`` looks at: what left since
        is taken away, what came is put to them (A1, composed).
        """
        nothing = np.zeros(counter.columns.words, np.uint64)
        for key in keys:
            tree, head = key
            found = counter.counts(tree, [head])
            joint, body = found.joint[found.heads[head]].copy(), found.body.copy()
            old_joint, old_body = self.bits.get(key, (nothing, nothing))
            counts = self.rules.get(key, (0, 0))
            counts = apply_a1(
                counts, _count_difference(old_joint, joint), _count_difference(old_body, body), -1
            )
            counts = apply_a1(
                counts, _count_difference(joint, old_joint), _count_difference(body, old_body), 1
            )
            self.rules[key], self.bits[key] = counts, (joint, body)

    def _mined_rule(self, counter: BodyCounter, key: tuple[Tree, str]) -> MinedRule:
        counts = counter.counts(key[0], [key[1]])
        return counts.mined_rule(*key)


def _count_difference(bits: Bits, others: Bits) -> int:
    """How many snapshots ``bits`` have and ``others`` have not."""
    return int(popcount(bits & ~others).sum())

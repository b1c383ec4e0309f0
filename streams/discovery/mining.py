"""Mine the rules of a window by three methods: incrementally, from scratch, and by algorithm InKD
(docs/DISCOVERY.md).

`mine_rules` goes by levels over cached counts. `mine_window` follows the definitions directly.
`CarriedRules` carries rules from window to window, as the source does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from shiq.streams.discovery.atomsets import (
    ROOT_VARIABLE,
    Atom,
    AtomIndex,
    BodyTree,
    add_branch,
    add_class,
    atom_count,
    atoms_to_text,
    find_bindings,
    smaller_bodies,
    sub_bodies,
    tree_to_atoms,
    variable_count,
)
from shiq.streams.discovery.columns import HEAD_TAG, Bits, count_bits
from shiq.streams.discovery.counting import BodyCounter, BodyCounts, MinedRule, MiningLimits
from shiq.streams.discovery.ontology import BodyTheory

#: Bodies with their counts, and heads.
FrequentBodies: TypeAlias = dict[BodyTree, tuple[BodyCounts, frozenset[str]]]


@dataclass(frozen=True)
class MinedRules:
    """Mined rules of a window; rules that the ontology T alone entails are counted, but not listed.

    is_truncated: whether there are more rules or bodies than the limit.
    """

    rules: tuple[MinedRule, ...] = ()
    entailed_by_tbox: int = 0
    is_truncated: bool = False


@dataclass(frozen=True)
class MinedBodies:
    """Frequent bodies in minimal spelling, with their counts and frequent heads.

    entailed_by_tbox: number of pairs of body and head that T entails.
    """

    heads: FrequentBodies
    entailed_by_tbox: int
    is_truncated: bool


def mine_rules(
    counter: BodyCounter, theory: BodyTheory, limits: MiningLimits, window: int
) -> MinedRules:
    """Mine the rules of the snapshots in ``counter``.

    window: number of snapshots, with inconsistent and missing ones.
    """
    found = mine_bodies(counter, theory, limits, limits.min_support_count(window))
    rules = [
        rule
        for tree, (counts, heads) in found.heads.items()
        for rule in counter.confident_rules(tree, counts, heads, limits)
    ]
    counter.drop_unused()
    return MinedRules(
        select_best_rules(rules, limits.max_rules),
        found.entailed_by_tbox,
        found.is_truncated or len(rules) > limits.max_rules,
    )


def select_best_rules(rules: Iterable[MinedRule], max_count: int) -> tuple[MinedRule, ...]:
    """Select the ``max_count`` best rules, by confidence over bindings, then support, then text."""

    def sort_key(rule: MinedRule) -> tuple[float, int, str, str]:
        """Sort key: confidence over bindings, support, text."""
        return (
            -rule.binding_support / rule.binding_body,
            -rule.support,
            atoms_to_text(tree_to_atoms(rule.body)),
            rule.head,
        )

    return tuple(sorted(rules, key=sort_key)[:max_count])


def mine_bodies(
    counter: BodyCounter, theory: BodyTheory, limits: MiningLimits, min_count: int
) -> MinedBodies:
    """Find the bodies that bind in at least ``min_count`` snapshots; outdated counts are used where
    they suffice to decide that.
    """
    frequent, stopped = _find_frequent_bodies(counter, theory, limits, min_count)

    def counted_extension(tree: BodyTree) -> object:
        """Bytes that are equal for bodies with equal extensions."""
        counts = counter.counts(tree)
        return counts.body.tobytes(), counts.pairs.tobytes()

    kept = theory.select_minimal_spellings(frequent, counted_extension)
    classes = frozenset(theory.classes)
    return MinedBodies(
        {tree: frequent[tree] for tree in kept},
        sum(len(classes & theory.root_classes(tree)) for tree in kept),
        stopped,
    )


def _find_frequent_bodies(
    counter: BodyCounter, theory: BodyTheory, limits: MiningLimits, min_count: int
) -> tuple[FrequentBodies, bool]:
    """Find frequent bodies without redundant atoms, and for each its frequent heads that the
    ontology does not entail. Also return whether the search stopped because there are too many.
    """
    found: FrequentBodies = {}
    level = [BodyTree((name,)) for name in theory.classes]
    roles = [
        name
        for name in counter.columns.class_and_role_names()
        if name not in theory.vocabulary and not name.startswith(HEAD_TAG)
    ]
    if limits.max_variables > 1:
        level += [
            add_branch(BodyTree(), 0, role, inverse) for role in roles for inverse in (False, True)
        ]
    for atoms in range(1, limits.max_atoms + 1):
        for tree in level:
            counts = counter.counts_if_frequent(tree, min_count)
            if counts is None:
                continue
            below = (
                [found[less][1] for less in smaller_bodies(tree)]
                if atoms > 1
                else [frozenset(theory.classes)]
            )
            heads = below[0].intersection(*below[1:]) - theory.root_classes(tree)
            found[tree] = (
                counts,
                frozenset(counter.frequent_heads(tree, counts, heads, min_count)),
            )
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
    level: Sequence[BodyTree],
    found: FrequentBodies,
    theory: BodyTheory,
    variables: int,
) -> list[BodyTree]:
    """Bodies with one atom more than those of ``level`` and only frequent sub-bodies."""
    classes = tuple(tree.classes[0] for tree in found if atom_count(tree) == 1 and tree.classes)
    roles = tuple(tree.branches[0][:2] for tree in found if atom_count(tree) == 1 and tree.branches)
    if counter.single_atoms != (classes, roles):
        counter.single_atoms = (classes, roles)
        counter.larger_bodies.clear()
    larger = set[BodyTree]()
    for tree in level:
        if tree not in counter.larger_bodies:
            grown = [
                add_class(tree, place, name)
                for place in range(variable_count(tree))
                for name in classes
                if name not in theory.classes_at(tree, place)
            ]
            if variable_count(tree) < variables:
                grown += [
                    add_branch(tree, place, *role)
                    for place in range(variable_count(tree))
                    for role in roles
                ]
            counter.larger_bodies[tree] = grown
        larger.update(counter.larger_bodies[tree])
    return sorted(each for each in larger if all(part in found for part in sub_bodies(each)))


#: What each snapshot of a window entails, None where it is inconsistent.
WindowFacts: TypeAlias = Sequence[AtomIndex | None]
#: For each individual, the snapshots in which something holds of it.
SnapshotExtent: TypeAlias = Mapping[str, int]


def mine_window(
    window: WindowFacts, theory: BodyTheory, limits: MiningLimits, tag: str = ""
) -> MinedRules:
    """Mine the rules of a window directly by the definitions, as a reference; ``tag``: prefix of
    head classes.
    """
    names = {name for own in theory.vocabulary for name in (own, tag + own)}
    classes, roles = _index_snapshots(window, names)
    least = limits.min_support_count(len(window))
    extents: dict[BodyTree, SnapshotExtent] = {}
    level: Iterable[BodyTree] = [
        *(BodyTree((name,)) for name in theory.classes),
        *(
            add_branch(BodyTree(), 0, role, inverse)
            for role in roles
            for inverse in (False, True)
            if limits.max_variables > 1
        ),
    ]
    for atoms in range(limits.max_atoms):
        found = {tree: _find_body_extent(tree, classes, roles) for tree in level}
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
    kept = theory.select_minimal_spellings(
        extents, lambda tree: tuple(sorted(extents[tree].items()))
    )
    rules, by_tbox = [], 0
    for tree in kept:
        for head in theory.classes:
            both = _intersect_extents(extents[tree], classes.get(tag + head, {}))
            n, d = _count_snapshots(both), _count_snapshots(extents[tree])
            if theory.entails(tree_to_atoms(tree), ((head, ROOT_VARIABLE),)):
                by_tbox += 1
            elif n >= least and limits.is_confident(n, d):
                rules.append(
                    MinedRule(tree, head, n, d, _count_pairs(both), _count_pairs(extents[tree]))
                )
    return MinedRules(
        select_best_rules(rules, limits.max_rules), by_tbox, len(rules) > limits.max_rules
    )


def find_first_instances(
    rule: MinedRule, window: Mapping[int, AtomIndex | None], max_count: int, tag: str = ""
) -> list[tuple[int, dict[str, str]]]:
    """First ``max_count`` bindings of a rule in a window, ordered by snapshot and then by the texts
    of ?x0, ?x1, …
    """
    found: list[tuple[int, dict[str, str]]] = []
    atoms = (*tree_to_atoms(rule.body), (tag + rule.head, ROOT_VARIABLE))
    for index, facts in sorted(window.items()):
        if len(found) < max_count and facts is not None:
            found += [
                (index, dict(each))
                for each in sorted(
                    sorted(binding.items()) for binding in find_bindings(atoms, facts)
                )
            ]
    return found[:max_count]


def _index_snapshots(
    window: WindowFacts, names: Collection[str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[Atom, int]]]:
    """Index the atoms of a window: snapshot bits by class and individual, and by role and pair."""
    classes: dict[str, dict[str, int]] = {}
    roles: dict[str, dict[Atom, int]] = {}
    for i, facts in enumerate(window):
        for atom in facts.atoms if facts is not None else ():
            if len(atom) == 3 and not atom[0].startswith(HEAD_TAG):
                pairs = roles.setdefault(atom[0], {})
                pairs[atom[1:]] = pairs.get(atom[1:], 0) | 1 << i
            elif atom[0] in names:
                members = classes.setdefault(atom[0], {})
                members[atom[1]] = members.get(atom[1], 0) | 1 << i
    return classes, roles


def _find_body_extent(
    tree: BodyTree, classes: Mapping[str, SnapshotExtent], roles: Mapping[str, Mapping[Atom, int]]
) -> SnapshotExtent:
    """Snapshot bits of a body, by individual at its root."""
    found: SnapshotExtent | None = None
    for name in tree.classes:
        found = (
            classes.get(name, {})
            if found is None
            else _intersect_extents(found, classes.get(name, {}))
        )
    for role, inverse, below in tree.branches:
        other = _find_body_extent(below, classes, roles) if below != BodyTree() else None
        reached: dict[str, int] = {}
        for (subject, object), bits in roles[role].items():
            near, far = (object, subject) if inverse else (subject, object)
            bits &= -1 if other is None else other.get(far, 0)
            if bits:
                reached[near] = reached.get(near, 0) | bits
        found = reached if found is None else _intersect_extents(found, reached)
    return found or {}


def _intersect_extents(first: SnapshotExtent, second: SnapshotExtent) -> SnapshotExtent:
    """Intersect two extents (snapshot bits by individual)."""
    return {a: both for a, bits in first.items() if (both := bits & second.get(a, 0))}


def _count_snapshots(extent: SnapshotExtent) -> int:
    """Number of snapshots in an extent (snapshot bits by individual)."""
    union = 0
    for bits in extent.values():
        union |= bits
    return union.bit_count()


def _count_pairs(extent: SnapshotExtent) -> int:
    """Number of pairs of snapshot and individual in an extent."""
    return sum(bits.bit_count() for bits in extent.values())


def _extend_body(
    tree: BodyTree, classes: Sequence[str], roles: Sequence[str], variables: int
) -> Iterable[BodyTree]:
    """Yield the bodies that have one class or role atom more than a body."""
    for place in range(variable_count(tree)):
        yield from (
            add_class(tree, place, name) for name in classes if name not in _classes_at(tree, place)
        )
        if variable_count(tree) < variables:
            yield from (
                add_branch(tree, place, role, inverse)
                for role in roles
                for inverse in (False, True)
            )


def _classes_at(tree: BodyTree, index: int) -> tuple[str, ...]:
    """Classes that a body states at the variable ?x``index``."""
    own = f"?x{index}"
    return tuple(atom[0] for atom in tree_to_atoms(tree) if atom[1:] == (own,))


@dataclass(frozen=True)
class SlideGate:
    """Similarity and rarity of a slide, which decide whether the next window is searched for new
    rules.

    similarity: Φ(Δ⁻,Δ⁺). rarity: ϱ₁(Δ⁺). kept_similarity: Φ(S,Δ⁺). None means undefined.
    """

    similarity: Fraction | None
    rarity: Fraction | None
    kept_similarity: Fraction | None

    def is_open(self, gate: str, max_similarity: Fraction, min_rarity: Fraction) -> bool:
        """Whether algorithm A3 searches for new rules at this slide. ``gate``: one of "printed",
        "prose" and "off".

        ``printed``: if Φ < Φmin and ϱ₁ > ϱmin; ``prose``: if Φ < Φmin and 1 - ϱ₁ > ϱmin; ``off``:
        always. An undefined measure leaves the gate open.
        """
        if gate == "off":
            return True
        rarity = self.rarity if gate == "printed" or self.rarity is None else 1 - self.rarity
        differs = self.similarity is None or self.similarity < max_similarity
        return differs and (rarity is None or rarity > min_rarity)


def apply_a1(counts: tuple[int, int], joint: int, body: int, sign: int) -> tuple[int, int]:
    """Algorithm A1: update a rule's support n and body support d by snapshots that left or came.

    joint, body: number of these snapshots with body and head, and with the body.
    sign: -1 for snapshots that left, +1 for new ones.
    """
    return counts[0] + sign * joint, counts[1] + sign * body


def find_rules_by_a2(
    counter: BodyCounter,
    came: BodyCounter,
    theory: BodyTheory,
    limits: MiningLimits,
    stayed: Bits,
    occurrences: Collection[int],
) -> Iterable[tuple[BodyTree, str]]:
    """Algorithm A2: find confident rules among the bodies bound in the new snapshots Δ⁺.

    One of body and head must be absent from the snapshots that stayed (S), and the other must occur
    there as often as ``occurrences`` (E) allows.
    counter: counts of the window. came: counts of Δ⁺. stayed: bits of S.
    """

    def count_stayed(tree: BodyTree) -> int:
        """Number of stayed snapshots in which a body binds."""
        return int(count_bits(counter.counts(tree).body & stayed).sum())

    heads = {name: count_stayed(BodyTree((name,))) for name in theory.classes}
    absent = frozenset(name for name, often in heads.items() if not often)
    for tree, (arrived, bound) in mine_bodies(came, theory, limits, 1).heads.items():
        if absent.isdisjoint(bound) and counter.counts_if_frequent(tree, arrived.support + 1):
            continue
        own = count_stayed(tree)
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
    """Rules and their counts, carried from window to window by algorithm A3.

    last_reported: rules of the last report.
    """

    rules: dict[tuple[BodyTree, str], tuple[int, int]] = field(default_factory=dict)
    last_reported: MinedRules | None = None
    #: Of each rule, in which snapshots it bound when it was last counted.
    bits: dict[tuple[BodyTree, str], tuple[Bits, Bits]] = field(default_factory=dict)
    #: What was told of them: with lift, whether they are refuted, instances.
    findings: Sequence[Any] = ()

    def copy(self) -> CarriedRules:
        """Independent copy."""
        return CarriedRules(dict(self.rules), self.last_reported, dict(self.bits), self.findings)

    def slide(
        self,
        counter: BodyCounter,
        theory: BodyTheory,
        limits: MiningLimits,
        window: int,
        gate: SlideGate | None,
        is_searching: bool,
        stayed: Bits,
        arrived: Bits,
        occurrences: Collection[int],
    ) -> MinedRules:
        """Compute the rules of the next window by algorithm A3, from those of the window before.

        gate: None for the first window, which is mined from scratch.
        is_searching: whether the gate is open.
        """
        if self.last_reported is None or gate is None:
            self.last_reported = mine_rules(counter, theory, limits, window)
            self._update_counts(
                counter, [(rule.body, rule.head) for rule in self.last_reported.rules]
            )
            return self.last_reported
        if not is_searching:
            return self.last_reported
        self._update_counts(counter, list(self.rules))
        came = BodyCounter(counter.columns, arrived)
        more = (
            set(find_rules_by_a2(counter, came, theory, limits, stayed, occurrences))
            if gate.kept_similarity
            else set()
        )
        found = mine_bodies(
            came, theory, limits, limits.min_support_count(int(count_bits(arrived).sum()))
        )
        for tree, (counts, heads) in found.heads.items():
            more.update(
                (rule.body, rule.head) for rule in came.confident_rules(tree, counts, heads, limits)
            )
        self._update_counts(counter, sorted(more - self.rules.keys()))
        self.rules = {key: counts for key, counts in self.rules.items() if counts[1]}
        self.bits = {key: self.bits[key] for key in self.rules}
        least = limits.min_support_count(window)
        rules = [
            counter.counts(tree, [head]).mined_rule(tree, head)
            for (tree, head), (n, d) in self.rules.items()
            if n >= least and limits.is_confident(n, d)
        ]
        self.last_reported = MinedRules(
            select_best_rules(rules, limits.max_rules),
            found.entailed_by_tbox,
            len(rules) > limits.max_rules,
        )
        counter.drop_unused()
        return self.last_reported

    def _update_counts(self, counter: BodyCounter, keys: Sequence[tuple[BodyTree, str]]) -> None:
        """Update the counts of rules to the current window by the snapshots that left and came
        (A1).
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


def _count_difference(bits: Bits, others: Bits) -> int:
    """Number of snapshots in ``bits`` but not in ``others``."""
    return int(count_bits(bits & ~others).sum())

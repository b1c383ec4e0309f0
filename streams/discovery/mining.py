"""Exact rules of a window, by levels: a body is looked at if all that lack one of its atoms are
frequent.

Source: docs/DISCOVERY.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shiq.streams.discovery.atomsets import (
    Tree,
    atoms_of,
    parts,
    size,
    smaller,
    text_of,
    width,
    with_branch,
    with_class,
)
from shiq.streams.discovery.counting import BodyCounter, BodyCounts, MinedRule, MiningLimits
from shiq.streams.discovery.ontology import Theory

#: Bodies with their counts, and heads.
FrequentBodies: TypeAlias = dict[Tree, tuple[BodyCounts, frozenset[str]]]


@dataclass(frozen=True)
class MinedRules:
    """The rules of a window, those that T entails only counted. ``stopped``: there are more than
    the limit allows, or as many bodies.
    """

    rules: tuple[MinedRule, ...] = ()
    by_tbox: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class Bodies:
    """Bodies with their counts, each of equivalent ones once, and the heads that they have often
    enough and not by T. ``by_tbox``: the pairs that T entails, counted alone.
    """

    heads: FrequentBodies
    by_tbox: int
    stopped: bool


def mine(counter: BodyCounter, theory: Theory, limits: MiningLimits, window: int) -> MinedRules:
    """The rules of the snapshots that ``counter`` looks at, ``window`` of them (inconsistent and
    missing ones included).
    """
    found = bodies(counter, theory, limits, limits.least(window))
    rules = [
        rule
        for tree, (counts, heads) in found.heads.items()
        for rule in counter.rules(tree, counts, heads, limits)
    ]
    counter.forget()
    return MinedRules(
        best(rules, limits.max_rules), found.by_tbox, found.stopped or len(rules) > limits.max_rules
    )


def best(rules: Iterable[MinedRule], most: int) -> tuple[MinedRule, ...]:
    """By confidence of bindings, support, text."""

    def order(rule: MinedRule) -> tuple[float, int, str, str]:
        return (
            -rule.binding_support / rule.binding_body,
            -rule.support,
            text_of(atoms_of(rule.body)),
            rule.head,
        )

    return tuple(sorted(rules, key=order)[:most])


def bodies(counter: BodyCounter, theory: Theory, limits: MiningLimits, least: int) -> Bodies:
    """The bodies that at least ``least`` of the snapshots of ``counter`` have. Their counts may
    be older, where that is clear.
    """
    frequent, stopped = _frequent(counter, theory, limits, least)

    def extension(tree: Tree) -> object:
        counts = counter.counts(tree)
        return counts.body.tobytes(), counts.pairs.tobytes()

    kept = theory.one_each(frequent, extension)
    classes = frozenset(theory.classes)
    return Bodies(
        {tree: frequent[tree] for tree in kept},
        sum(len(classes & theory.heads(tree)) for tree in kept),
        stopped,
    )


def _frequent(
    counter: BodyCounter, theory: Theory, limits: MiningLimits, least: int
) -> tuple[FrequentBodies, bool]:
    """The bodies none of whose atoms follows from the others, and of each the heads that so many
    have jointly and T does not entail.
    """
    found: FrequentBodies = {}
    level = [Tree((name,)) for name in theory.classes]
    roles = [name for name in counter.columns.names() if name not in theory.vocabulary]
    if limits.max_variables > 1:
        level += [
            with_branch(Tree(), 0, role, inverse) for role in roles for inverse in (False, True)
        ]
    for atoms in range(1, limits.max_atoms + 1):
        for tree in level:
            counts = counter.if_often(tree, least)
            if counts is None:
                continue
            below = (
                [found[less][1] for less in smaller(tree)]
                if atoms > 1
                else [frozenset(theory.classes)]
            )
            heads = below[0].intersection(*below[1:]) - theory.heads(tree)
            found[tree] = counts, frozenset(counter.often(tree, counts, heads, least))
            if len(found) > 10 * limits.max_rules:
                return found, True
        if atoms < limits.max_atoms:
            level = _larger(
                counter,
                [tree for tree in found if size(tree) == atoms],
                found,
                theory,
                limits.max_variables,
            )
    return found, False


def _larger(
    counter: BodyCounter,
    level: Sequence[Tree],
    found: FrequentBodies,
    theory: Theory,
    variables: int,
) -> list[Tree]:
    """The bodies with one atom more than those of ``level``, all of whose parts were ``found``."""
    classes = tuple(tree.classes[0] for tree in found if size(tree) == 1 and tree.classes)
    roles = tuple(tree.branches[0][:2] for tree in found if size(tree) == 1 and tree.branches)
    if counter.singles != (classes, roles):
        counter.singles = (classes, roles)
        counter.grown.clear()
    larger = set[Tree]()
    for tree in level:
        if tree not in counter.grown:
            grown = [
                with_class(tree, place, name)
                for place in range(width(tree))
                for name in classes
                if name not in theory.classes_at(tree, place)
            ]
            if width(tree) < variables:
                grown += [
                    with_branch(tree, place, *role)
                    for place in range(width(tree))
                    for role in roles
                ]
            counter.grown[tree] = grown
        larger.update(counter.grown[tree])
    return sorted(each for each in larger if all(part in found for part in parts(each)))

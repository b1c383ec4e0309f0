"""Negative inclusions closed: the role step, Horn rules unfolded, the product rule, roots, their
groups, and masks over them.

A `Negative` is covered by another if it lies below it: each label of one ⊑* some label of the
other, and the other way round. For pairs that is the order of the two, either way. What is
closed is what is told with what the role step and the rules add (THEORY, "Contradictions are
seen at keys").

Each root DJ(X, Y) is a bit of masks; left[B] has it if B ⊑* X, right[B] if B ⊑* Y. Labels
contradict if (OR left) AND (OR right) over them is not 0: the common bit says that some B ⊑* X
and some B' ⊑* Y are among them, which is the product rule; so the closure is never built. A root
of one label is on both sides, and roots of three and more, which Horn rules bring, have as many
sides (THEORY, "Masks over roots").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints
from shiq.model import NOTHING
from shiq.model.roles import components
from shiq.streams.consistency.dl_lite import PAIR, DLLiteView, Negative, Origins
from shiq.streams.consistency.spans import Flags

#: Those of one step, in order.
Group: TypeAlias = tuple[Negative, ...]
#: ⊥, and with it every value that cannot be: tested beside what is told, and never counted.
ABSURD: Negative = frozenset((NOTHING.iri,))
#: How many sets of labels Horn rules may be unfolded into.
MOST_UNFOLDED = 10_000


class UnfoldingError(Exception):
    """Horn rules unfold into more than `MOST_UNFOLDED` sets."""


def close_negatives(view: DLLiteView) -> dict[Negative, Origins]:
    """The told negative inclusions, those that Horn rules make of them, and {B} for each B that
    the role step makes unsatisfiable; of what the rules make, only what nothing covers. Raises:
    TooManyError.
    """
    found = dict(view.negative)
    while True:
        unfolded = _unfold_rules(view, found)
        added = dict(_apply_role_step(view, unfolded))
        if not added:
            return unfolded
        found = unfolded | added


def _unfold_rules(view: DLLiteView, told: dict[Negative, Origins]) -> dict[Negative, Origins]:
    """Rules applied backwards: who has the body has the head, so what may not meet the head may
    not meet the body.
    """
    found, waiting = dict(told), list(told)
    while waiting if view.horn else ():
        negative = waiting.pop()
        for (body, head), origins in view.horn.items():
            met = negative & view.ancestors(head)
            if met:
                made = frozenset((negative - met) | body)
                if made not in found and not any(
                    covers(view, known, made, loosely=True) for known in found
                ):
                    found[made] = found[negative] | origins | view.path_origins(head, met)
                    waiting.append(made)
        if len(found) > MOST_UNFOLDED:
            raise UnfoldingError
    return found


def _apply_role_step(
    view: DLLiteView, negatives: dict[Negative, Origins]
) -> Iterator[tuple[Negative, Origins]]:
    """{∃R⁻} where ∃R can have no member; both where R can have no pair."""
    for label, inverse in view.existentials:
        why = find_refuting(view, label, negatives)
        between = find_refuting(view, PAIR + label[1:], negatives) if view.has_pair_labels else None
        if between is not None and why is None:
            yield (
                frozenset((label,)),
                negatives[between] | view.path_origins(PAIR + label[1:], between),
            )
        elif why is not None and find_refuting(view, inverse, negatives) is None:
            yield frozenset((inverse,)), negatives[why] | view.path_origins(label, why)


def find_refuting(view: DLLiteView, label: str, negatives: Iterable[Negative]) -> Negative | None:
    """The first of ``negatives`` all of whose labels lie above ``label``."""
    above = view.ancestors(label)
    return next((negative for negative in negatives if negative <= above), None)


def covers(view: DLLiteView, upper: Negative, lower: Negative, *, loosely: bool = False) -> bool:
    """Whether ``lower`` follows from ``upper`` label by label; ``loosely``: it may have more
    labels than it needs.
    """
    above = [view.ancestors(label) for label in lower]
    return all(any(label in a for a in above) for label in upper) and (
        loosely or all(not upper.isdisjoint(a) for a in above)
    )


def select_roots(view: DLLiteView, negatives: Iterable[Negative]) -> Group:
    """Those that no other covers; of equivalent ones the first."""
    ordered = list(negatives)

    def is_spared(i: int) -> bool:
        above = (j for j, other in enumerate(ordered) if i != j and covers(view, other, ordered[i]))
        return all(i < j and covers(view, ordered[i], ordered[j]) for j in above)

    return tuple(negative for i, negative in enumerate(ordered) if is_spared(i))


def conflicts_below(view: DLLiteView, negative: Negative, labels: frozenset[str]) -> set[Negative]:
    """The product rule: what of ``labels`` lies below ``negative``, one label (at least) for
    each of its own.
    """
    below = [sorted(view.descendants(label) & labels) for label in sorted(negative)]
    return {frozenset(choice) for choice in product(*below)}


def negative_closure(
    view: DLLiteView, negatives: Iterable[Negative], labels: frozenset[str]
) -> set[Negative]:
    return set[Negative]().union(
        *(conflicts_below(view, negative, labels) for negative in negatives)
    )


# --- groups --------------------------------------------------------------------------------------


def _is_below(view: DLLiteView, lower: Negative, upper: Negative) -> bool:
    """Whether a label of ``lower`` is strictly below one of ``upper``."""
    return any(y in view.ancestors(x) and x not in view.ancestors(y) for x in lower for y in upper)


def groups_as_printed(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """Again and again those that have none below them and share no label with what remains; at
    last the rest.
    """
    under = {p: {q for q in negatives if q is not p and _is_below(view, q, p)} for p in negatives}
    left, groups = list(negatives), list[Group]()
    while left:
        taken = {p for p in left if under[p].isdisjoint(left)}
        while True:
            used = frozenset[str]().union(*(p for p in left if p not in taken))
            shared = {p for p in taken if p & used}
            if not shared:
                break
            taken -= shared
        groups.append(tuple(p for p in left if p in taken) or tuple(left))
        left = [p for p in left if p not in taken] if taken else []
    return tuple(groups)


def groups_by_depth(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """The topmost last, each other one level before the deepest above it; what is above each
    other is of one level.
    """
    over: dict[Negative, Sequence[Negative]] = {
        p: [q for q in negatives if q is not p and _is_below(view, p, q)] for p in negatives
    }
    level: dict[Negative, int] = {}
    for members in components(over):
        beyond = [level[q] for p in members for q in over[p] if q not in members]
        level |= dict.fromkeys(members, 1 + max(beyond, default=-1))
    last = max(level.values(), default=-1)
    return tuple(tuple(p for p in negatives if level[p] == depth) for depth in range(last, -1, -1))


GROUPINGS = {"printed": groups_as_printed, "depth": groups_by_depth}


def conflict_origins(
    view: DLLiteView, negatives: Mapping[Negative, Origins], conflict: Negative
) -> Origins:
    """The axioms of one negative inclusion that makes the labels of ``conflict`` contradict, and
    of the ways up to it.
    """
    for negative, origins in negatives.items():
        if conflict in conflicts_below(view, negative, conflict):
            return origins.union(*(view.path_origins(label, negative) for label in conflict))
    return frozenset()


# --- masks over roots ----------------------------------------------------------------------------

Words: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RootSides:
    """The sides of some roots: each an array (lane of 64 roots, label)."""

    words: tuple[Words, ...]

    def violated_roots(self, label: Ints, starts: Ints) -> Words:
        """The roots that each run of labels violates, lane by lane."""
        found = (
            [np.bitwise_or.reduceat(lane[label], starts) for lane in side] for side in self.words
        )
        return reduce(
            np.bitwise_and,
            (np.array(side, np.uint64).reshape(len(side), len(starts)) for side in found),
        )

    def self_violating(self) -> Flags:
        """Which labels violate a root by themselves."""
        found: Flags = (reduce(np.bitwise_and, self.words) != 0).any(axis=0)
        return found


@dataclass(frozen=True, eq=False)
class RootMasks:
    """``labels``: those that can be in a conflict, sorted; a code is an individual's number with
    a label's behind it. ``narrow_sides`` are the sides of roots of one and two labels, ``wide_sides``
    of the others, ``wide_roots``.
    """

    view: DLLiteView
    labels: tuple[str, ...]
    narrow_sides: RootSides
    wide_sides: RootSides
    wide_roots: tuple[Negative, ...]

    @cached_property
    def _width(self) -> int:
        return len(self.labels).bit_length()

    def encode(self, key: Ints, label: Ints) -> Ints:
        return key << self._width | label

    def decode(self, code: Ints) -> tuple[Ints, Ints]:
        """The individuals and labels of codes."""
        return code >> self._width, code & (1 << self._width) - 1

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def self_violating(self) -> Flags:
        return (
            self.narrow_sides.self_violating() | self.wide_sides.self_violating()
            if self.wide_roots
            else self.narrow_sides.self_violating()
        )

    def suspect_runs(self, label: Ints, starts: Ints) -> Flags:
        """Which runs of labels violate a root, at whatever times: the others contradict at no time."""
        found: Flags = (self.narrow_sides.violated_roots(label, starts) != 0).any(axis=0)
        return (
            found | (self.wide_sides.violated_roots(label, starts) != 0).any(axis=0)
            if self.wide_roots
            else found
        )


def build_masks(view: DLLiteView, roots: Sequence[Negative]) -> RootMasks:
    """The masks of ``roots``, and of ⊥."""
    roots = (*roots, ABSURD)
    below = {label: view.descendants(label) for root in roots for label in root}
    labels = tuple(
        sorted(frozenset[str]().union(*below.values()) & (view.vocabulary | view.stand_ins))
    )
    wide = tuple(root for root in roots if len(root) > 2)
    narrow = [root for root in roots if len(root) < 3]
    return RootMasks(
        view,
        labels,
        _build_sides(narrow, 2, labels, below),
        _build_sides(wide, max(map(len, wide), default=1), labels, below),
        wide,
    )


def _build_sides(
    roots: Sequence[Negative],
    number: int,
    labels: tuple[str, ...],
    below: dict[str, frozenset[str]],
) -> RootSides:
    """Roots of fewer labels have their last on the sides that are left."""
    numbers = {label: n for n, label in enumerate(labels)}
    words = tuple(np.zeros((-(-len(roots) // 64), len(labels)), np.uint64) for _ in range(number))
    for bit, root in enumerate(roots):
        ordered = sorted(root)
        for side, label in zip(words, ordered + ordered[-1:] * (number - len(ordered))):
            rows = [numbers[lower] for lower in below[label] if lower in numbers]
            side[bit // 64, rows] |= np.uint64(1 << bit % 64)
    return RootSides(words)

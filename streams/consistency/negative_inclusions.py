"""Sets of labels that contradict each other: closure of the TBox's negative inclusions, its roots,
their groups, and bit masks.

A `Negative` is covered by another one if it lies below it: each of its labels is subsumed by some
label of the other, and each label of the other subsumes some label of it. The closure consists of
the TBox's negative inclusions and those that the role step and the rules add (THEORY,
"Negative inclusions are violated at keys").

A root DJ(X, Y) is an uncovered negative inclusion and one bit of the masks. left[B] has the bit if
B ⊑* X, right[B] if B ⊑* Y. Labels contradict if (OR left) AND (OR right) over them is not 0. The
common bit says that they contain some B ⊑* X and some B' ⊑* Y. This is the product rule, so the
closure is never materialised. A root of one label is in both masks; roots of n labels, from Horn
rules, have n masks (THEORY, "Masks over roots").
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
from shiq.model.roles import strong_components
from shiq.streams.consistency.dl_lite import PAIR, DLLiteView, Negative, Origins
from shiq.streams.consistency.spans import Flags

#: Those of one step, in order.
Group: TypeAlias = tuple[Negative, ...]
#: ⊥, and with it every value that cannot be: tested beside what is told, and never counted.
UNSATISFIABLE: Negative = frozenset((NOTHING.iri,))
#: How many sets of labels Horn rules may be unfolded into.
MOST_UNFOLDED = 10_000


class UnfoldingError(Exception):
    """Error: Horn rules turn negative inclusions into more than `MOST_UNFOLDED` sets of labels."""


def close_negative_inclusions(view: DLLiteView) -> dict[Negative, Origins]:
    """Close the negative inclusions of the TBox under its Horn rules and under empty roles. Return
    them with the indexes of the axioms behind each.

    Results of rules that another one covers are left out. Raises: UnfoldingError.
    """
    found = dict(view.negative)
    while True:
        unfolded = _unfold_rules(view, found)
        added = dict(_apply_role_step(view, unfolded))
        if not added:
            return unfolded
        found = unfolded | added


def _unfold_rules(view: DLLiteView, negatives: dict[Negative, Origins]) -> dict[Negative, Origins]:
    """Apply Horn rules backwards: if some labels contradict a rule's head, they also contradict its
    body.
    """
    found, waiting = dict(negatives), list(negatives)
    while waiting if view.horn_rules else ():
        negative = waiting.pop()
        for (body, head), origins in view.horn_rules.items():
            met = negative & view.ancestors(head)
            if met:
                made = frozenset((negative - met) | body)
                if made not in found and not any(
                    negative_covers(view, known, made, loosely=True) for known in found
                ):
                    found[made] = found[negative] | origins | view.chain_axioms(head, met)
                    waiting.append(made)
        if len(found) > MOST_UNFOLDED:
            raise UnfoldingError
    return found


def _apply_role_step(
    view: DLLiteView, negatives: dict[Negative, Origins]
) -> Iterator[tuple[Negative, Origins]]:
    """Yield the new negative inclusions that follow from empty roles: {∃R⁻} if ∃R is unsatisfiable,
    {∃R} if no pair can be in R.
    """
    for label, inverse in view.existential_pairs:
        why = find_refuting_negative(view, label, negatives)
        between = (
            find_refuting_negative(view, PAIR + label[1:], negatives)
            if view.has_pair_labels
            else None
        )
        if between is not None and why is None:
            yield (
                frozenset((label,)),
                negatives[between] | view.chain_axioms(PAIR + label[1:], between),
            )
        elif why is not None and find_refuting_negative(view, inverse, negatives) is None:
            yield frozenset((inverse,)), negatives[why] | view.chain_axioms(label, why)


def find_refuting_negative(
    view: DLLiteView, label: str, negatives: Iterable[Negative]
) -> Negative | None:
    """First of the ``negatives`` (sets of contradicting labels) that makes ``label`` unsatisfiable,
    or None.
    """
    above = view.ancestors(label)
    return next((negative for negative in negatives if negative <= above), None)


def negative_covers(
    view: DLLiteView, upper: Negative, lower: Negative, *, loosely: bool = False
) -> bool:
    """Whether the contradiction between the labels ``lower`` follows from that between ``upper``,
    since ``upper`` subsumes labels of ``lower``. ``loosely``: ``lower`` may have further labels.
    """
    above = [view.ancestors(label) for label in lower]
    return all(any(label in a for a in above) for label in upper) and (
        loosely or all(not upper.isdisjoint(a) for a in above)
    )


def select_roots(view: DLLiteView, negatives: Iterable[Negative]) -> Group:
    """Select the most general negative inclusions: those that follow from no other one. Of
    equivalent ones the first is kept.
    """
    ordered = list(negatives)

    def is_uncovered(i: int) -> bool:
        """Whether no other negative covers this one; of equivalent ones only the first."""
        above = (
            j
            for j, other in enumerate(ordered)
            if i != j and negative_covers(view, other, ordered[i])
        )
        return all(i < j and negative_covers(view, ordered[i], ordered[j]) for j in above)

    return tuple(negative for i, negative in enumerate(ordered) if is_uncovered(i))


def find_conflicts_below(
    view: DLLiteView, negative: Negative, labels: frozenset[str]
) -> set[Negative]:
    """Minimal subsets of ``labels`` that the negative inclusion ``negative`` makes contradictory,
    through subsumption.
    """
    below = [sorted(view.descendants(label) & labels) for label in sorted(negative)]
    return {frozenset(choice) for choice in product(*below)}


def find_minimal_contradictions(
    view: DLLiteView, negatives: Iterable[Negative], labels: frozenset[str]
) -> set[Negative]:
    """All minimal subsets of ``labels`` that the negative inclusions ``negatives`` make
    contradictory.
    """
    return set[Negative]().union(
        *(find_conflicts_below(view, negative, labels) for negative in negatives)
    )


# --- groups --------------------------------------------------------------------------------------


def _is_below(view: DLLiteView, lower: Negative, upper: Negative) -> bool:
    """Whether a label of ``lower`` is strictly subsumed by a label of ``upper``."""
    return any(y in view.ancestors(x) and x not in view.ancestors(y) for x in lower for y in upper)


def group_as_in_paper(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """Order negative inclusions into groups by the paper's algorithm. A group takes those that have
    no remaining one below them and share no label with the remaining ones.

    A remainder without such negatives is the last group.
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


def group_by_depth(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """Order negative inclusions in groups by depth in the label hierarchy: the deepest first, the
    topmost last.

    Negatives that are above each other have the same level.
    """
    over: dict[Negative, Sequence[Negative]] = {
        p: [q for q in negatives if q is not p and _is_below(view, p, q)] for p in negatives
    }
    level: dict[Negative, int] = {}
    for members in strong_components(over):
        beyond = [level[q] for p in members for q in over[p] if q not in members]
        level |= dict.fromkeys(members, 1 + max(beyond, default=-1))
    last = max(level.values(), default=-1)
    return tuple(tuple(p for p in negatives if level[p] == depth) for depth in range(last, -1, -1))


GROUPINGS = {"printed": group_as_in_paper, "depth": group_by_depth}


def find_conflict_origins(
    view: DLLiteView, negatives: Mapping[Negative, Origins], conflict: Negative
) -> Origins:
    """Indexes of the axioms that make the labels of ``conflict`` contradict: a negative inclusion,
    and the inclusions that lead to it.
    """
    for negative, origins in negatives.items():
        if conflict in find_conflicts_below(view, negative, conflict):
            return origins.union(*(view.chain_axioms(label, negative) for label in conflict))
    return frozenset()


# --- masks over roots ----------------------------------------------------------------------------

Words: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RootMatrices:
    """Bit matrices that test the labels of many individuals against all roots (most general
    negative inclusions) at once.

    bit_matrices: each an array (block of 64 roots, label) of bits: whether the label is subsumed by
        the root's label at the position.
    """

    bit_matrices: tuple[Words, ...]

    def violated_roots(self, label: Ints, starts: Ints) -> Words:
        """For each individual, the bits of the roots that its labels violate together.

        label: labels of the individuals, one run per individual; starts: index of each run's first
        label.
        """
        found = (
            [np.bitwise_or.reduceat(lane[label], starts) for lane in side]
            for side in self.bit_matrices
        )
        return reduce(
            np.bitwise_and,
            (np.array(side, np.uint64).reshape(len(side), len(starts)) for side in found),
        )

    def self_violating_labels(self) -> Flags:
        """Flags of the labels that are contradictory alone."""
        return (reduce(np.bitwise_and, self.bit_matrices) != 0).any(axis=0)


@dataclass(frozen=True, eq=False)
class RootMasks:
    """Bit masks of the roots (most general negative inclusions), to find the individuals whose
    labels contradict.

    labels: labels that can be in a conflict, sorted. A code is an individual's number followed by
    the label's bits.
    narrow_matrices: matrices of the roots with one or two labels.
    wide_matrices: matrices of the roots with more, ``wide_roots``.
    """

    view: DLLiteView
    labels: tuple[str, ...]
    narrow_matrices: RootMatrices
    wide_matrices: RootMatrices
    wide_roots: tuple[Negative, ...]

    @cached_property
    def _label_bits(self) -> int:
        """Number of low bits that hold the label index in a code (individual id, label index)."""
        return len(self.labels).bit_length()

    def encode_codes(self, key: Ints, label: Ints) -> Ints:
        """Combine individual ids ``key`` and label indexes into one integer code per row."""
        return key << self._label_bits | label

    def decode_codes(self, code: Ints) -> tuple[Ints, Ints]:
        """Split integer codes into individual ids and label indexes."""
        return code >> self._label_bits, code & (1 << self._label_bits) - 1

    @cached_property
    def label_indexes(self) -> dict[str, int]:
        """Index of each label in the sorted tuple ``labels``."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def self_violating_labels(self) -> Flags:
        """Flags of the labels that are contradictory alone."""
        return (
            self.narrow_matrices.self_violating_labels()
            | self.wide_matrices.self_violating_labels()
            if self.wide_roots
            else self.narrow_matrices.self_violating_labels()
        )

    def flag_suspects(self, label: Ints, starts: Ints) -> Flags:
        """Flag the individuals whose labels contradict when times are ignored; the others are
        consistent at all times.

        label: labels of the individuals, one run per individual; starts: index of each run's first
        label.
        """
        found: Flags = (self.narrow_matrices.violated_roots(label, starts) != 0).any(axis=0)
        return (
            found | (self.wide_matrices.violated_roots(label, starts) != 0).any(axis=0)
            if self.wide_roots
            else found
        )


def build_masks(view: DLLiteView, roots: Sequence[Negative]) -> RootMasks:
    """Build the bit masks of ``roots`` (most general negative inclusions) and of ⊥."""
    roots = (*roots, UNSATISFIABLE)
    below = {label: view.descendants(label) for root in roots for label in root}
    labels = tuple(
        sorted(frozenset[str]().union(*below.values()) & (view.vocabulary | view.auxiliary_labels))
    )
    wide = tuple(root for root in roots if len(root) > 2)
    narrow = [root for root in roots if len(root) < 3]
    return RootMasks(
        view,
        labels,
        _build_matrices(narrow, 2, labels, below),
        _build_matrices(wide, max(map(len, wide), default=1), labels, below),
        wide,
    )


def _build_matrices(
    roots: Sequence[Negative],
    max_labels: int,
    labels: tuple[str, ...],
    below: dict[str, frozenset[str]],
) -> RootMatrices:
    """Build bit matrices for ``roots`` with at most ``max_labels`` labels each; a shorter root
    repeats its last label.
    """
    numbers = {label: n for n, label in enumerate(labels)}
    words = tuple(
        np.zeros((-(-len(roots) // 64), len(labels)), np.uint64) for _ in range(max_labels)
    )
    for bit, root in enumerate(roots):
        ordered = sorted(root)
        for side, label in zip(words, ordered + ordered[-1:] * (max_labels - len(ordered))):
            rows = [numbers[lower] for lower in below[label] if lower in numbers]
            side[bit // 64, rows] |= np.uint64(1 << bit % 64)
    return RootMatrices(words)

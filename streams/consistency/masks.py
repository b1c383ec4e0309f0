"""Masks over roots: each root DJ(X, Y) is a bit; left[B] has it if B ⊑* X, right[B] if B ⊑* Y.

Labels contradict if (OR left) AND (OR right) over them is not 0: the common bit says that some B
⊑* X and some B' ⊑* Y are among them, which is the product rule; so the closure is never built. A
root of one label is on both sides, and roots of three and more, which Horn rules bring, have as
many sides.

THEORY, "Masks over roots", has why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints
from shiq.streams.consistency.dl_lite import DLLiteView, Negative
from shiq.streams.consistency.negative_inclusions import ABSURD
from shiq.streams.consistency.spans import Flags

Words: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RootSides:
    """The sides of some roots: each an array (lane of 64 roots, label)."""

    words: tuple[Words, ...]

    def hits(self, label: Ints, starts: Ints) -> Words:
        """The roots that each run of labels violates, lane by lane."""
        found = (
            [np.bitwise_or.reduceat(lane[label], starts) for lane in side] for side in self.words
        )
        return reduce(
            np.bitwise_and,
            (np.array(side, np.uint64).reshape(len(side), len(starts)) for side in found),
        )

    def alone(self) -> Flags:
        """Which labels violate a root by themselves."""
        found: Flags = (reduce(np.bitwise_and, self.words) != 0).any(axis=0)
        return found


@dataclass(frozen=True, eq=False)
class Masks:
    """``labels``: those that can be in a conflict, sorted; a code is an individual's number with
    a label's behind it. ``pairs`` are the sides of roots of one and two labels, ``wide_sides``
    of the others, ``wide``.
    """

    view: DLLiteView
    labels: tuple[str, ...]
    pairs: RootSides
    wide_sides: RootSides
    wide: tuple[Negative, ...]

    @cached_property
    def _width(self) -> int:
        return len(self.labels).bit_length()

    def code(self, key: Ints, label: Ints) -> Ints:
        return key << self._width | label

    def split(self, code: Ints) -> tuple[Ints, Ints]:
        """The individuals and labels of codes."""
        return code >> self._width, code & (1 << self._width) - 1

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def alone(self) -> Flags:
        return self.pairs.alone() | self.wide_sides.alone() if self.wide else self.pairs.alone()

    def suspects(self, label: Ints, starts: Ints) -> Flags:
        """Which runs of labels violate a root, at whatever times: the others contradict at no time."""
        found: Flags = (self.pairs.hits(label, starts) != 0).any(axis=0)
        return (
            found | (self.wide_sides.hits(label, starts) != 0).any(axis=0) if self.wide else found
        )


def masks(view: DLLiteView, roots: Sequence[Negative]) -> Masks:
    """The masks of ``roots``, and of ⊥."""
    roots = (*roots, ABSURD)
    below = {label: view.descendants(label) for root in roots for label in root}
    labels = tuple(
        sorted(frozenset[str]().union(*below.values()) & (view.vocabulary | view.stand_ins))
    )
    wide = tuple(root for root in roots if len(root) > 2)
    narrow = [root for root in roots if len(root) < 3]
    return Masks(
        view,
        labels,
        _sides(narrow, 2, labels, below),
        _sides(wide, max(map(len, wide), default=1), labels, below),
        wide,
    )


def _sides(
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

"""What asking about an element has cost, and how far a patch goes beyond it at once (THEORY,
"How much is asked, and how far I grows").

Modules that fail are asked again with more in them. The more often that happened, the more comes
in together; past a bound a module is *closed*: nothing is assumed of its elements, no residual
keeps anything out there, nor at what they pull in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

#: Questions about the modules of one element, two for each turn, and elements in these modules,
#: each turn counted again. A module past either is closed.
MOST_QUESTIONS = 4
MOST_ELEMENTS = 20_000

#: The depth from which on an element brings in more (`abox_ops.patch.stride`).
DEEP = 8

#: The reach of an element that is closed.
CLOSED = 1 << 40


@dataclass(frozen=True, slots=True)
class Effort:
    """``turns``: how often modules of an element failed and were widened; ``elements``: how many
    elements these had; ``reach``: over so many role assertions, one behind the other, whatever
    no rule covers is pulled in without a residual; ``depth``: how many role assertions, one
    behind the other, it came in over by border rules (`abox_ops.patch.stride`).
    """

    turns: int = 0
    elements: int = 0
    reach: int = 0
    depth: int = 0

    def joined(self, other: Effort) -> Effort:
        """The greater of each."""
        return Effort(
            max(self.turns, other.turns),
            max(self.elements, other.elements),
            max(self.reach, other.reach),
            max(self.depth, other.depth),
        )

    def after(self, hops: int) -> Effort:
        """The effort of an element that comes in over so many role assertions, beginning at this
        one; of no depth.
        """
        return Effort(
            self.turns,
            self.elements,
            self.reach if self.reach == CLOSED else max(self.reach - hops, 0),
        )

    @property
    def beyond(self) -> Effort:
        """The effort of an element that told⁺ asks for over a role assertion of this one."""
        return self.after(1)

    @property
    def deeper(self) -> Effort:
        """The effort of an element that a border rule asks for over a role assertion of this one."""
        return replace(self.beyond, depth=self.depth + 1)


NO_EFFORT = Effort()


def turn(before: Iterable[Effort], size: int) -> Effort:
    """The effort of what comes in for a module of ``size`` elements, whose efforts were
    ``before``, when it is widened.
    """
    known = NO_EFFORT
    for effort in before:
        known = known.joined(effort)
    return next_effort(known.turns, known.elements, size)


def next_effort(turns: int, elements: int, size: int) -> Effort:
    """`turn` for the greatest ``turns`` and ``elements`` of a module's elements. From the third
    on, four times as far.
    """
    turns, elements = turns + 1, elements + size
    is_past = 2 * turns > MOST_QUESTIONS or elements > MOST_ELEMENTS
    return Effort(turns, elements, CLOSED if is_past else (1 << 2 * max(turns - 2, 0)) - 1)

"""How far a patch goes at once where rounds repeat (THEORY, "Strides").

What border rules ask for comes in one element behind the other, a round each, and a round looks
at all of I. The *depth* of an element says how many role assertions away it began
(`abox_ops.patch.effort`). From `DEEP` on, what role assertions that labels leave open lead to
comes in with it, as many more: so the depth doubles with each round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from abox_ops.patch.effort import CLOSED, DEEP, NO_EFFORT, Effort

E = TypeVar("E", bound=Hashable)

#: Elements next to a module that failed; if there are more they do not know of it.
WIDEST_RIM = 512

#: The elements outside I that role assertions of an element lead to which labels leave open: told_N
#: of the far end, and of the element told_N, or, where it would be plain in I, told⁺.
Onward = Callable[[E, bool], Iterable[E]]


def strides(pulled: Mapping[E, Effort], onward: Onward[E]) -> dict[E, Effort]:
    """What comes in with the elements that border rules have ``pulled`` in."""
    found: dict[E, Effort] = {}
    for begun, effort in pulled.items():
        for element, hops in _stride(begun, effort, onward).items():
            along = replace(effort.after(hops), depth=effort.depth + hops)
            found[element] = found.get(element, NO_EFFORT).joined(along)
    return found


def _stride(begun: E, effort: Effort, onward: Onward[E]) -> dict[E, int]:
    """The elements near ``begun``, and how many role assertions away each is: level by level, as
    many as it is deep, each as a whole, and at most twice as many elements.
    """
    reached = {begun: 0}
    level = [begun]
    for hops in range(effort.depth if effort.depth >= DEEP else 0):
        is_plain = effort.after(hops).reach > 0
        level = list(
            dict.fromkeys(y for x in level for y in onward(x, is_plain) if y not in reached)
        )
        if not level or len(reached) + len(level) > 2 * effort.depth:
            break
        reached.update(dict.fromkeys(level, hops + 1))
    return reached


@dataclass(frozen=True, slots=True)
class ModuleSurroundings(Generic[E]):
    """Changes around a module that failed: the elements that become ``plain``, its own among
    them; those next to these (``rim``); the ``effort`` that both have from then on.
    """

    plain: Collection[E]
    rim: Collection[E]
    effort: Effort


def surroundings(
    elements: Collection[E], effort: Effort, onward: Callable[[E], Iterable[E]]
) -> ModuleSurroundings[E]:
    """The surroundings of a module of ``elements`` with the ``effort`` of its turn; ``onward``:
    see `Onward`, within I.

    Level by level as far as the effort reaches, each as a whole, at most twice the effort's
    elements; around a closed module the first level in any case. A rim of too many elements is
    none.
    """
    reached, level = dict.fromkeys(elements), list(elements)
    most, hops = len(elements) + 2 * effort.elements, 0
    while level := list(dict.fromkeys(y for x in level for y in onward(x) if y not in reached)):
        is_small = len(reached) + len(level) <= most
        if hops >= effort.reach or not (is_small or (effort.reach == CLOSED and not hops)):
            break
        reached.update(dict.fromkeys(level))
        hops += 1
    count = effort.elements + len(reached) - len(elements)
    rim = level if len(level) <= max(most, WIDEST_RIM) else ()
    return ModuleSurroundings(reached, rim, Effort(effort.turns, count))

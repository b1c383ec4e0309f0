"""How far a patch goes at once where rounds repeat (THEORY, "Strides").

What border rules ask for comes in one element behind the other, a round each, and a round looks at all of I. The *depth* of an
element says how many role assertions away it began (`abox_ops.patch.effort`). From `DEEP` on, what role assertions that labels
leave open lead to comes in with it, as many more: so the depth doubles with each round.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from abox_ops.patch.effort import DEEP, NO_EFFORT, Effort

E = TypeVar("E", bound=Hashable)


#: The elements outside I that role assertions of an element lead to which labels leave open: told_N of the far end, and of the
#: element told_N, or, where it would be plain in I, told⁺.
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
    """The elements near ``begun``, and how many role assertions away each is: level by level, as many as it is deep, each as a
    whole, and at most twice as many elements."""
    reached = {begun: 0}
    level = [begun]
    for hops in range(effort.depth if effort.depth >= DEEP else 0):
        is_plain = effort.after(hops).reach > 0
        level = list(dict.fromkeys(y for x in level for y in onward(x, is_plain) if y not in reached))
        if not level or len(reached) + len(level) > 2 * effort.depth:
            break
        reached.update(dict.fromkeys(level, hops + 1))
    return reached

"""The nodes of an event in canonical order: a key, and whose types are at each of its positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from shiq.canonical import canonical_order, places, renumbered

#: What is said of each node by position, the links between positions, what is said of K.
Key: TypeAlias = tuple[tuple[tuple[str, ...], ...], tuple[Any, ...], tuple[str, ...]]

#: Nodes that nothing but their links tells apart, and nodes altogether: with more of them no key is
#: sought.
MOST_TIED: Final = 100
MOST_NODES: Final = 2_000


class EventKey(NamedTuple):
    """``key``: None for an event that is too symmetric to have one; ``order``: whose types are
    at each position: a token, or a value, which has none.
    """

    key: Key | None
    order: Sequence[Any]


def ordered(
    nodes: dict[Any, list[str]], edges: list[tuple[str, Any, Any]], of_fixed: tuple[str, ...]
) -> EventKey:
    """The nodes in canonical order, and the key by it."""
    names = list(nodes)
    colours = [tuple(sorted(set(said).difference(("",)))) for said in nodes.values()]
    if len(names) < 2:
        loops = tuple(sorted({(label, 0, 0) for label, _, _ in edges})) if edges else ()
        return EventKey((tuple(colours), loops, of_fixed), names)
    number = {name: i for i, name in enumerate(names)}
    arcs = sorted({(label, number[a], number[b]) for label, a, b in edges})
    tied = len(names) - len(set(colours))
    if not tied:
        order = sorted(range(len(names)), key=colours.__getitem__)
    elif tied > MOST_TIED or len(names) > MOST_NODES:
        return EventKey(None, names)
    else:
        order = canonical_order(colours, arcs)
    key = tuple(colours[i] for i in order), renumbered(arcs, places(order)), of_fixed
    return EventKey(key, [names[i] for i in order])

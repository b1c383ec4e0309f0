"""N of (A ∪ A⁺), from that of A and the patch by which A⁺ was accepted (THEORY.md 3.5).

The model of the patch is that of I beside the one that certified A: so the labels of I are what its modules were asked with,
those of all others stay, with what is told by now. Elements that the model of A may make one stay together, whatever they are
now.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jobs.columns import Columns, Ints, Table, come_and_go, is_in, unique
from jobs.engines.base import FRESH
from jobs.engines.calculus import Calculus
from jobs.engines.grouping import components
from jobs.engines.patch import Patch

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Renewal:
    """Rows that come and go, by table; the labels are numbers of the calculus that was given."""

    added: dict[str, Columns]
    removed: dict[str, Columns]


def renewed(patch: Patch, calculus: Calculus, name: Ints, told: Ints, node: Ints, gone: Ints, first_new: int) -> Renewal:
    """The change of N. Elements that the batch may have changed are given by ``name`` as the store will number them, with their
    told labels in ``calculus`` and one of their nodes; ``gone``: elements of A that are no more. ``first_new``: the number that
    the first fresh individual gets."""
    graph, outside = patch.graph, patch.outside
    inside = np.flatnonzero(patch.inside)
    element = graph.elements_of(node)
    patch.labels()
    told_of = dict(zip(element.tolist(), told.tolist()))
    name_of = dict(zip(element.tolist(), name.tolist()))
    least = np.full(len(graph), np.iinfo(np.int64).max, np.int64)
    stored = np.where(graph.member_node >= FRESH, graph.member_node - FRESH + first_new, graph.member_node)
    np.minimum.at(least, graph.rep[graph.member_element], stored)
    also = inside[~is_in(inside, element)]
    everyone = np.concatenate([element, also])
    names = np.array([name_of.get(e, int(least[e])) for e in everyone.tolist()], np.int64)
    theirs, ours = patch.calculus.table.labels, calculus.table

    def label(e: int) -> tuple[int, int]:
        """The certified label of an element by now, and the told one completed, as numbers."""
        known = theirs[int(patch.mu[e] if patch.inside[e] else patch.certified[e])]
        now = ours.labels[told_of[e]] if e in told_of else theirs[int(graph.label[e])]
        both = calculus.space.close((known[0] | now[0], known[1] | now[1]))
        return ours.id(both), ours.id(calculus.space.close(outside.completed(now)))

    found = np.array([label(e) for e in everyone.tolist()], np.int64).reshape(-1, 2)
    other = found[:, 0] != found[:, 1]
    other[len(element) :] = True
    keys = unique(np.concatenate([names[names < first_new], gone]))
    parts = {
        "completed": _change(outside.others, keys, {"element": names[other], "label": found[other, 0]}),
    }
    place = np.full(len(graph), -1, np.int64)
    place[everyone] = names
    edges = patch.found().edges
    module = components(len(graph), edges["source"], edges["target"])
    member, group = _crowded(place[inside], module[inside])
    moved = unique(np.concatenate([place[inside], gone]))
    parts["certified"] = _change(outside.modules.by_member, moved[moved < first_new], {"member": member, "group": group})
    parts["outside"] = _classes(patch, place, inside, keys)
    for table in ("certified", "outside"):
        parts[f"{table}_members"] = parts[table]
    return Renewal({name: new for name, (new, _) in parts.items()}, {name: old for name, (_, old) in parts.items()})


def _classes(patch: Patch, place: Ints, inside: Ints, keys: Ints) -> tuple[Columns, Columns]:
    """The merge classes of the elements around: as they were, and those that the patch made."""
    outside = patch.outside.classes
    groups = unique(outside.of(keys))
    group, member = outside.members(groups)
    # An element of A that is part of another one now goes on under that one's name.
    graph = patch.graph
    number = graph.elements_of(member)
    known = number < len(place)
    now = member.copy()
    now[known] = np.where(place[number[known]] >= 0, place[number[known]], member[known])
    code = patch.counts.classes(inside)
    _, first = np.unique(code, return_index=True)
    hub = dict(zip(code[first].tolist(), place[inside[first]].tolist()))
    hubs = np.array([hub[c] for c in code.tolist()], np.int64)
    a, b = np.concatenate([now, place[inside]]), np.concatenate([group, hubs])
    b[: len(group)] = now[np.searchsorted(group, group)]
    everyone = unique(np.concatenate([a, b]))
    least = everyone[components(len(everyone), np.searchsorted(everyone, a), np.searchsorted(everyone, b))]
    members, classes = _crowded(everyone, least)
    return _change(outside.by_member, unique(np.concatenate([keys, member])), {"member": members, "group": classes})


def _crowded(name: Ints, group: Ints) -> tuple[Ints, Ints]:
    """(member, group) of the groups of more than one, each named by its least member."""
    if not len(name):
        return name, name
    _, which, count = np.unique(group, return_inverse=True, return_counts=True)
    least = np.full(len(count), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(least, which, name)
    more = count[which] > 1
    return name[more], least[which[more]]


def _change(table: Table, keys: Ints, new: Columns) -> tuple[Columns, Columns]:
    """The rows of ``new`` that come, and those of ``keys`` in ``table`` that go."""
    old = table.rows_of(keys) if len(table) else dict.fromkeys(new, _NONE)
    return come_and_go(old, new)

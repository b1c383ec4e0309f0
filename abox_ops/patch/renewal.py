"""Renew the certified model after an accepted batch: from that of A and the patch, that of A ∪ A⁺
(THEORY, "N in a store, and its renewal").

The patch's model is that of I beside the certified one. So elements of I get the labels of their
modules. Other elements keep their labels, with the told ones added. Elements that the model of A
may make one stay in one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.quotient import component_minima, drop_single_groups
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.labels.label_numbers import distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.patch.patch import Patch
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    OverlayTable,
    Table,
    group_minimum,
    is_in,
    row_changes,
    unique,
)

#: Rows that come and go, by table; labels are numbers of the calculus that was given.
Renewal: TypeAlias = dict[str, tuple[Columns, Columns]]


@dataclass(frozen=True)
class ElementRenames:
    """Names of the elements that a batch may have changed, before it and after it.

    name, told_label, node: for each current element, its name in the store, its told label and one
        node.
    key, new_name: for each element of A without the deletions, the name of the element that
        contains it now.
    gone_elements: elements of A whose name is no longer used.
    first_new: the number of the first fresh individual.
    """

    name: Ints
    told_label: Ints
    node: Ints
    key: Ints
    new_name: Ints
    gone_elements: Ints
    first_new: int

    def stored_elements(self, names: Ints) -> Ints:
        """Extend ``names`` by all elements for which the store may have rows to be replaced."""
        found = unique(np.concatenate([self.name, names, self.gone_elements, self.key]))
        return found[found < self.first_new]

    def current_names(self, keys: Ints) -> Ints:
        """The name after the batch of each element of A without the deletions."""
        if not len(self.key):
            return keys
        at = np.minimum(self.key.searchsorted(keys), len(self.key) - 1)
        return np.where(self.key[at] == keys, self.new_name[at], keys)


def renew_model(patch: Patch, calculus: NumberedCalculus, renamed: ElementRenames) -> Renewal:
    """Compute the changes of the certified model's tables by ``patch``, with labels numbered in
    ``calculus``.
    """
    region = patch.region
    graph, outside, inside = region.graph, region.input.model, region.is_inside.nonzero()[0]
    element = graph.elements_of(renamed.node)
    name_of = dict(zip(element.tolist(), renamed.name.tolist()))
    stored = np.where(
        graph.members.node >= FRESH,
        graph.members.node - FRESH + renamed.first_new,
        graph.members.node,
    )
    least = group_minimum(graph.rep[graph.members.element], stored, len(graph))
    also = inside[~is_in(inside, element)]
    everyone = np.concatenate([element, also])
    names = np.array([name_of.get(e, int(least[e])) for e in everyone.tolist()], np.int64)
    theirs, ours = region.calculus.table.labels, calculus.table

    def new_labels(known: int, now: Label) -> tuple[int, int]:
        """The certified label of each element now, and the told one completed, as numbers."""
        both = calculus.space.close((theirs[known][0] | now[0], theirs[known][1] | now[1]))
        return ours.id(both), ours.id(calculus.space.close(outside.complete_label(now)))

    certified = np.where(region.is_inside, region.labels.mu, region.labels.model_label)[everyone]
    is_told = (np.arange(len(everyone)) < len(element)).astype(np.int64)
    rows, which = distinct_rows(
        certified, np.concatenate([renamed.told_label, graph.label[also]]), is_told
    )
    now = (ours.labels[told] if is_named else theirs[told] for _, told, is_named in rows)
    found = np.array(
        [new_labels(known, label) for (known, *_), label in zip(rows, now)], np.int64
    ).reshape(-1, 2)[which]
    other = found[:, 0] != found[:, 1]
    other[len(element) :] = True
    place = np.full(len(graph), -1, np.int64)
    place[everyone] = names
    return {
        "completed": _row_changes(
            outside.exceptional_labels,
            renamed.stored_elements(names),
            {"element": names[other], "label": found[other, 0]},
        ),
        "certified": _module_changes(patch, place, inside, renamed),
        "outside": _merge_class_changes(patch, place, inside, renamed),
    }


def _module_changes(
    patch: Patch, names: Ints, inside: Ints, renamed: ElementRenames
) -> tuple[Columns, Columns]:
    """The changed rows of the table of certificate modules: those of the region I, and modules
    outside that deletions changed.
    """
    modules = patch.region.input.model.modules
    edges = patch.add_set_columns().edges
    module = component_minima(len(patch.region.graph), edges["source"], edges["target"])
    member, group = drop_single_groups(names[inside], module[inside])
    left, within = NONE, NONE
    # What deletions lay over a store are whole modules; what layers add are parts of some.
    if len(patch.region.input.index.detached_nodes) and isinstance(modules.by_member, OverlayTable):
        left, within = (modules.by_member.added_rows.columns[c] for c in ("member", "group"))
    stays = (renamed.current_names(left) == left) & ~is_in(left, names[inside])
    others, groups = drop_single_groups(left[stays], within[stays])
    keys = np.concatenate([names[inside], renamed.gone_elements, left])
    new = {"member": np.concatenate([member, others]), "group": np.concatenate([group, groups])}
    return _row_changes(modules.by_member, unique(keys[keys < renamed.first_new]), new)


def _merge_class_changes(
    patch: Patch, names: Ints, inside: Ints, renamed: ElementRenames
) -> tuple[Columns, Columns]:
    """The changed rows of the table of merge classes around the region I: the old classes, united
    by those of the patch.
    """
    outside = patch.region.input.model.classes
    known = patch.region.graph.key[patch.region.graph.parts(inside)]
    keys = unique(np.concatenate([renamed.key, known[known < FRESH]]))
    group, member = outside.members(unique(outside.group_of(keys)))
    now = renamed.current_names(member)
    code = patch.region.counts.class_codes(inside)
    _, first = np.unique(code, return_index=True)
    hub = dict(zip(code[first].tolist(), names[inside[first]].tolist()))
    hubs = np.array([hub[c] for c in code.tolist()], np.int64)
    a, b = np.concatenate([now, names[inside]]), np.concatenate([group, hubs])
    b[: len(group)] = now[group.searchsorted(group)]
    everyone = unique(np.concatenate([a, b]))
    least = everyone[
        component_minima(len(everyone), everyone.searchsorted(a), everyone.searchsorted(b))
    ]
    members, classes = drop_single_groups(everyone, least)
    keys = renamed.stored_elements(np.concatenate([names[inside], member]))
    return _row_changes(outside.by_member, keys, {"member": members, "group": classes})


def _row_changes(table: Table, keys: Ints, new: Columns) -> tuple[Columns, Columns]:
    """Compare the ``new`` rows with those of ``keys`` in ``table``; return the rows to be added and
    to be removed.
    """
    old = table.rows_of(keys) if len(table) else dict.fromkeys(new, NONE)
    return row_changes(old, new)

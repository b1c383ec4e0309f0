"""Lay an accepted batch over A as a further base: nothing is written, nothing of A is copied.

What a commit would write as the next snapshot (`shiq.abox_ops.snapshot_delta`, THEORY, "N in a
store, and its renewal") is laid over the tables of A: the rows of A⁺, told⁺, equalities, and N
renewed from the patch. A layer over a layer is one layer again, in which what is new is numbered
above what the lower one brought. Literals that told⁺ would send to elements which the patch did not look at are not among
the told ones; N has them. So it serves for checks under the criterion `model` alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shiq.abox_ops.elements.base import (
    FRESH,
    LAID,
    Base,
    OverlayBase,
    StoreBase,
    as_overlay,
)
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.index.index import Index, ToldLabelTable
from shiq.abox_ops.patch.certified_model import CertifiedModel
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.patch.renewal import ElementRenames, renew_model
from shiq.columns.arrays import (
    NONE,
    Ints,
    OverlayTable,
    group_minimum,
    is_in,
    overlay_changes,
    replace_rows,
)
from shiq.columns.rows import NODES, ROW_COLUMNS


def _insert_batch(under: OverlayBase, union: UnionView) -> OverlayBase:
    """Lay the insertions of ``union`` over its base ``under``."""
    firsts = dict.fromkeys(NODES, under.next_node) | {"literal": LAID + len(under.literals)}
    tables: dict[str, OverlayTable] = {}
    for name, names in ROW_COLUMNS.items():
        columns = union.inserted_tables[name].columns
        rows = {
            c: renumber_from(columns[c], firsts[c]) if c in firsts else columns[c] for c in names
        }
        tables[name] = overlay_changes(under.tables[name], rows, dict.fromkeys(names, NONE))
    return replace(
        under,
        names=union.names,
        terms=[*under.terms, *union.batch.terms],
        literals=[*under.literals, *union.batch.literals],
        tables=tables,
    )


def renumber_from(ids: Ints, first: int) -> Ints:
    """Renumber the ids that a batch brings so that they start at ``first``; ids of the base stay."""
    return np.where(ids >= FRESH, ids - FRESH + first, ids)


def lay_accepted_batch(
    index: Index, union: UnionView, patch: Patch
) -> tuple[Base, Index, CertifiedModel] | None:
    """Lay A⁺ over A in memory: (T, A ∪ A⁺) with its index and certified model.

    ``index``: of A. ``patch``: found ``union`` = A ∪ A⁺ consistent.

    Returns:
            None if a layer would be no small change. So it is where A⁺ has complex assertions,
        brings axioms or only asserts ⊤ of an individual. It is also where A lacks deletions or has
        no certified model.
    """
    given = patch.region.input
    calculus, graph, outside = given.calculus, given.graph, given.model
    under = as_overlay(union.base)
    # Numbers of labels that a store, or a layer, has are the same in each calculus.
    is_kept = isinstance(union.base, StoreBase | OverlayBase) and not any(
        len(table.removed_rows) for table in under.tables.values()
    )
    is_kept = is_kept and calculus.tbox is index.calculus.tbox
    plain = not len(union.inserted_tables["complex"]) and not len(index.detached_nodes)
    if not plain or not (calculus is index.calculus or is_kept) or not outside.is_guessed:
        return None
    first_node = under.next_node
    node, element = graph.members.node, graph.rep[graph.members.element]
    if not all(
        is_in(table.columns["node"], node).all() for table in union.inserted_tables.values()
    ):
        return None
    name = group_minimum(element, renumber_from(node, first_node), len(graph))
    reps, example = np.unique(element, return_index=True)
    old = (node < FRESH).nonzero()[0]
    key, first = np.unique(index.equality.group_of(node[old]), return_index=True)
    told, gone = graph.label[reps], key[~is_in(key, name[reps])]
    renewal = renew_model(
        patch,
        calculus,
        ElementRenames(
            name[reps], told, node[example], key, name[element[old[first]]], gone, first_node
        ),
    )
    completion = replace(
        outside,
        exceptional_labels=overlay_changes(outside.exceptional_labels, *renewal["completed"]),
        classes=outside.classes.change_rows(*renewal["outside"]),
        modules=outside.modules.change_rows(*renewal["certified"]),
        label_of=calculus.table.labels.__getitem__,
    )
    labels = replace_rows(
        index.labels.table,
        np.concatenate([gone, name[reps]]),
        {"element": name[reps], "label": told},
    )
    after = replace(
        index,
        calculus=calculus,
        equality=index.equality.assign_groups(renumber_from(node, first_node), name[element]),
        labels=ToldLabelTable(labels),
        stored_labels=len(calculus.table.labels),
    )
    return _insert_batch(under, union), after, completion

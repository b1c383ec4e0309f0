"""All that a store says, in a form that does not depend on its numbers: for comparing one store
with another.
"""

from __future__ import annotations

import numpy as np

from shiq.abox_ops.elements.base import StoreBase
from shiq.abox_ops.elements.quotient import StoredPartition
from shiq.abox_ops.index.index import read_stored_index
from shiq.columns.arrays import unique
from shiq.jobs.store import Store
from shiq.model.roles import role_box


def groups(
    grouping: StoredPartition, store: Store, elements: StoredPartition | None = None
) -> set[frozenset[str]]:
    """The classes of more than one, by terms (of the ``elements`` that they hold); both tables
    of the grouping say the same.
    """
    by_member: dict[int, set[int]] = {}
    for rows in grouping.by_member.scan():
        for member, group in zip(rows["member"].tolist(), rows["group"].tolist()):
            by_member.setdefault(group, set()).add(member)
    by_group: dict[int, set[int]] = {}
    for rows in grouping.by_group.scan():
        for member, group in zip(rows["member"].tolist(), rows["group"].tolist()):
            by_group.setdefault(group, set()).add(member)
    assert by_member == by_group
    terms = dict(
        zip(
            store.table("individuals").all()["node"].tolist(),
            store.table("individuals").all()["term"].to_pylist(),
        )
    )
    whole = {
        m: elements.members(np.array([m]))[1].tolist() if elements else [m]
        for group in by_member.values()
        for m in group
    }
    return {
        frozenset(terms[n] for m in members for n in whole[m]) for members in by_member.values()
    }


def said(store: Store) -> dict[str, object]:
    """All that a store says, without its numbers."""
    base = StoreBase(store)
    index = read_stored_index(store.tbox, role_box(store.tbox.axioms), base)
    atoms = index.simplified_tbox.clauses.atoms
    nodes = base.nodes()
    keys = index.equality.group_of(nodes)
    labels = index.calculus.table.labels
    told = {}
    for term, label in zip(base.terms_of(nodes), index.labels.label_of(keys).tolist()):
        positive, negative = labels[label]
        told[term] = tuple(
            frozenset(a for i, a in enumerate(atoms) if mask >> i & 1)
            for mask in (positive, negative)
        )
    assert len(store.table("elements")) == len(unique(keys))
    assert store.nodes_of(list(told)).tolist() == nodes.tolist()
    facts = store.manifest.facts
    exported = list(store.export())
    assert len(exported) == len(set(exported)) == len(store)
    return {
        "assertions": frozenset(exported),
        "told": told,
        "same": groups(index.asserted_equality, store),
        "equal": groups(index.equality, store),
        "merged": groups(index.merge_classes, store, index.equality),
        "negated": (index.negated_roles, index.negated_properties),
        "classes": {name: n for name, n in zip(store.classes, facts["class_counts"]) if n},
        "counts": {
            name: facts[name]
            for name in ("individuals", "class_assertions", "role_assertions", "data_assertions")
        },
    }


def different(grown: Store, anew: Store) -> list[str]:
    """What a store that commits made of an earlier one does not say like one made ``anew``; its
    merge classes may be larger.
    """
    first, second = said(grown), said(anew)
    found = [name for name in first if first[name] != second[name] and name != "merged"]
    if not all(any(small <= large for large in _sets(first)) for small in _sets(second)):
        found.append("merged")
    return found


def _sets(content: dict[str, object]) -> set[frozenset[str]]:
    merged = content["merged"]
    assert isinstance(merged, set)
    return merged

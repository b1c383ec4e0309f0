"""What every task of a check has to know, and how it sees a group of insertions beside the store."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from abox_ops.elements.base import Base, OverBase
from abox_ops.elements.union_view import UnionView, batch_of, split
from abox_ops.index.columns import Extra, Index
from abox_ops.labels.columns import Calculus
from abox_ops.local import LocalKnowledgeBase
from jobs.checking.inputs import read_by_form
from jobs.spark.reasoners import Asking
from jobs.spark.worker import StoreKey, kept, opened_store
from shiq.abox import ABox, Interner
from shiq.columns.arrays import Ints, array_table
from shiq.columns.rows import Names
from shiq.verdict import UNKNOWN_DATATYPE
from simplify import SimplifiedTBox, simplify


@dataclass(frozen=True)
class Plan:
    """What every task of a run has to know: the names of the batch that the store has not, in a fixed order, and what they add to
    the TBox; the criterion; whether the batch is run as a ``whole``; and which reasoner to ask."""

    store: StoreKey
    names: tuple[tuple[str, ...], ...]
    extra: Extra
    asking: Asking
    criterion: str = "clausal"
    whole: bool = False


def knowledge_base(plan: Plan) -> LocalKnowledgeBase:
    """The store of ``plan`` as the engine `local` opens it, once per worker."""

    def opened() -> LocalKnowledgeBase:
        store = opened_store(plan.store)
        allowed = {UNKNOWN_DATATYPE} if plan.store.by_form else ()
        return LocalKnowledgeBase.from_store(store, read_by_form(store.tbox, allowed))

    return kept("base", plan.store.identity, opened)


@dataclass(frozen=True, eq=False)
class PrimedBase(OverBase):
    """A base that need not look up individuals whose nodes are ``known``."""

    known: Mapping[str, int]

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        if not all(term in self.known for term in terms):
            return self.base.nodes_of(terms)
        return np.fromiter((self.known[term] for term in terms), np.int64, len(terms))


def whole_of(kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan) -> tuple[UnionView, Calculus]:
    """``insertions`` beside the base, and the calculus, with the vocabulary of the whole batch. ``known``: nodes of
    individuals."""
    stored = kb.base
    names = _names(stored.names, plan)
    simplified = _simplified(kb, plan)
    base: Base = PrimedBase(stored, known)
    batch = batch_of(base, insertions, names)
    _, lacked = split(base, batch)
    whole = UnionView(base, batch, {name: array_table("node", columns) for name, columns in lacked.items()})
    as_before = simplified is kb.index.simplified and names.sizes() == stored.names.sizes()
    return whole, kb.index.calculus if as_before else _calculus(kb.index, simplified, names, plan)


def _names(names: Names, plan: Plan) -> Names:
    found = names.copy()
    for interner, new in zip((found.classes, found.object_properties, found.data_properties), plan.names):
        for name in new:
            interner.id(name)
    return found


def _simplified(kb: LocalKnowledgeBase, plan: Plan) -> SimplifiedTBox:
    if not plan.extra:
        return kb.index.simplified
    key: Hashable = plan.store.identity, plan.extra
    return kept("simplified", key, lambda: simplify(kb.source, (*kb.index.extra, *plan.extra)))


def _calculus(index: Index, simplified: SimplifiedTBox, names: Names, plan: Plan) -> Calculus:
    key = plan.store.identity, plan.extra, plan.names
    return kept("calculus", key, lambda: Calculus(simplified.clauses, names, index.calculus.table.labels[: index.stored_labels]))


def new_names(known: Names, used: tuple[set[str], ...]) -> tuple[tuple[str, ...], ...]:
    """The names that ``known`` has not, in a fixed order."""
    interners: tuple[Interner[str], ...] = (known.classes, known.object_properties, known.data_properties)
    return tuple(tuple(sorted(name for name in names if name not in interner.ids)) for interner, names in zip(interners, used))

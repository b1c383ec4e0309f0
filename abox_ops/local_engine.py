"""The engine `local`: runs the criteria over columns, in memory or from a store, and fetches what a
batch touches.

Equal to `tests.spec.knowledge_base` on every input; what is done per signature is `abox_ops`, what is done
per individual is numpy.

>>> from shiq.model.abox import abox_of
>>> from shiq.model import Class, ClassAssertion, DisjointClasses, TBox
>>> tbox = TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),))
>>> base = LocalKnowledgeBase.build(tbox, abox_of([ClassAssertion(Class("urn:Cat"), "urn:tom")]))
>>> base.add_set(abox_of([ClassAssertion(Class("urn:Dog"), "urn:tom")]), abox_of([])).contradictory
[('urn:tom',)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from shiq.abox_ops.elements.base import (
    Base,
    OverlayBase,
    StoreBase,
    StoredSnapshot,
    array_base,
    remove_rows,
)
from shiq.abox_ops.elements.graph import BaseElements, Graph, empty_labels
from shiq.abox_ops.elements.normal_assertions import definition_name
from shiq.abox_ops.elements.union_view import UnionView, encode_batch, split_known_rows
from shiq.abox_ops.engine import CRITERIA, MODEL, AddSet, Inquiry
from shiq.abox_ops.index.deletion import index_after_deletion
from shiq.abox_ops.index.index import (
    CalculusCache,
    Index,
    build_index,
    read_stored_index,
    touched_nodes,
    view_without_batch,
)
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.abox_ops.patch.certified_model import CertifiedModel, read_stored_model
from shiq.abox_ops.patch.inside_region import PatchContext, PatchRegion
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.patch.widening_loop import decide_patch
from shiq.columns.arrays import Columns, array_table, is_row_in, unique
from shiq.columns.rows import ROW_COLUMNS
from shiq.errors import UsageError
from shiq.model import NOTHING, THING, Assertion, Class, TBox
from shiq.model.abox import ABox
from shiq.model.roles import RoleBox, role_box
from shiq.reasoner.protocol import Answer
from shiq.simplify import SimplifiedTBox

if TYPE_CHECKING:
    from shiq.abox_ops.patch.certificate import BaseCertificate


@dataclass(frozen=True, eq=False)
class LocalKnowledgeBase:
    """(T, A) on columns, in memory or from a store: the knowledge base of the engine `local`."""

    source: TBox
    base: Base
    roles: RoleBox
    prepared_index: Index | None = None
    _models: list[CertifiedModel] = field(default_factory=list, repr=False)

    @classmethod
    def build(cls, tbox: TBox, abox: ABox) -> LocalKnowledgeBase:
        """Open (``tbox``, ``abox``) in memory. The TBox must lie in SHIQ(D)."""
        return cls(tbox, array_base(abox), role_box(tbox.axioms))

    @classmethod
    def from_store(cls, store: StoredSnapshot, tbox: TBox | None = None) -> LocalKnowledgeBase:
        """Open the snapshot of ``store``. ``tbox`` replaces its own TBox; it must give the same
        clauses.
        """
        return cls(tbox or store.tbox, StoreBase(store), role_box(store.tbox.axioms))

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def index(self) -> Index:
        """The index, read or built on first use."""
        if self.prepared_index is not None:
            return self.prepared_index
        if isinstance(self.base, StoreBase):
            return read_stored_index(self.source, self.roles, self.base)
        return build_index(self.source, self.roles, self.base)

    @property
    def simplified_tbox(self) -> SimplifiedTBox:
        """The TBox in all its simplified forms."""
        return self.index.simplified_tbox

    @cached_property
    def calculi(self) -> CalculusCache:
        """The cached calculi of (T, A)."""
        return CalculusCache(self.source, self.roles, self.index, self.base.names)

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = "clausal") -> LocalAddSet:
        """Compute A_add for ((A less ``deletions``) ∪ ``insertions``) by a criterion."""
        if criterion not in CRITERIA:
            raise UsageError(
                f"unknown criterion {criterion!r}", f"the criteria are {', '.join(CRITERIA)}"
            )
        after = self.after_deletions(deletions, insertions)
        whole = after.union_with(insertions)
        return (
            after._add_set_clausal(whole)
            if criterion == "clausal"
            else after._add_set_by_criterion(whole, criterion)
        )

    def find_absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """Count the ``deletions`` that A does not contain, and list at most ``most`` of them."""
        lacked = self.union_with(deletions)
        return lacked.insertion_count, list(islice(lacked.sample_insertions(most), most))

    def decide_by_patch(
        self, insertions: ABox, deletions: ABox, inquiry: Inquiry
    ) -> tuple[LocalAddSet, Sequence[Answer]]:
        """Compute A_add for ((A less ``deletions``) ∪ ``insertions``) by the criterion `model`,
        with one answer for each of its modules.
        """
        after = self.after_deletions(deletions, insertions)
        known = self._known_model
        if (
            after is not self
            and known is not None
            and known.is_guessed
            and isinstance(after.base, OverlayBase)
            and after.prepared_index
        ):
            after._models.append(
                known.after_deletion(self.index, after.prepared_index, after.base.vanished_nodes)
            )
        return after._patch_batch(after.union_with(insertions), inquiry)

    def with_accepted(self, add_set: AddSet) -> LocalKnowledgeBase | None:
        """Put an accepted batch on top of this knowledge base in memory; None if the add set has no
        patch that allows it.
        """
        if (
            not isinstance(add_set, LocalAddSet)
            or add_set.patch is None
            or add_set.union.base is not self.base
        ):
            return None
        # Loaded where there is something to explain: most batches are consistent.
        from shiq.abox_ops.patch.accepted_layer import lay_accepted_batch

        found = lay_accepted_batch(self.index, add_set.union, add_set.patch)
        if found is None:
            return None
        base, index, outside = found
        return replace(self, base=base, prepared_index=index, _models=[outside])

    def _patch_batch(
        self, union: UnionView, inquiry: Inquiry
    ) -> tuple[LocalAddSet, Sequence[Answer]]:
        """Decide the batch in ``union`` by patching the certified model."""
        patch = self._new_patch(self._certified_model(inquiry), union)
        found = decide_patch(patch, inquiry)
        add_set = LocalAddSet(
            patch.region.calculus,
            patch.add_set_columns(),
            self.index,
            clauses=patch.tbox,
            decided_modules=found.modules,
            patch=patch,
            widening=found.widening,
        )
        return add_set, found.answers

    def _new_patch(
        self, outside: CertifiedModel, union: UnionView, *, all_plain: bool = False
    ) -> Patch:
        """Start a patch of the model ``outside`` for the batch in ``union``, over the TBox with the
        batch's names; its region has not grown yet. all_plain: nothing is assumed in I.
        """
        added = self.calculi.new_vocabulary(union)
        calculus = self.calculi.calculus_for(self.calculi.extended_tbox(added), MODEL, union.names)
        graph = Graph(union, self.roles, self.index.base_elements(outside.classes))
        known = self.index.simplified_tbox.clauses.atom_ids
        brought = {x.iri if isinstance(x, Class) else definition_name(x.sub) for x in added}
        absent = sum(1 << calculus.tbox.atom_ids[name] for name in brought if name not in known)
        touched = touched_nodes(union, self.roles)
        return Patch(
            PatchRegion(
                PatchContext(self.index, calculus, graph, touched, outside, absent, all_plain)
            )
        )

    def _certified_model(self, inquiry: Inquiry) -> CertifiedModel:
        """Return the certified model of (T, A): the stored one, or one certified on first use.

        It is not kept if time ran out.
        """
        if self._known_model is not None:
            return self._known_model
        outside = self.certify(inquiry.for_base).model
        if not inquiry.is_over():
            self._models.append(outside)
        return outside

    @cached_property
    def _stored_model(self) -> CertifiedModel | None:
        """The certified model read from the store; None if there is none."""
        if not isinstance(self.base, StoreBase) or self.prepared_index is not None:
            return None
        return read_stored_model(self.index, self.base.store)

    @property
    def is_completed(self) -> bool:
        """Decide whether a certified model is known."""
        return self._known_model is not None

    @property
    def _known_model(self) -> CertifiedModel | None:
        """The certified model, if it was computed or stored; else None."""
        return self._models[0] if self._models else self._stored_model

    def certify(self, inquiry: Inquiry) -> BaseCertificate:
        """Certify (T, A) by finding a model; see `shiq.abox_ops.patch.certificate.certify_base`."""
        # Loaded where no certificate is stored.
        from shiq.abox_ops.patch.certificate import certify_base

        return certify_base(self.index, self.base, self.roles, inquiry)

    def union_with(self, insertions: ABox) -> UnionView:
        """View A ∪ ``insertions`` as one base. Names of T keep their ids, so that results for one
        batch serve the next.
        """
        names = self.index.calculus.names
        used = chain(insertions.classes, insertions.object_properties, insertions.data_properties)
        batch = encode_batch(
            self.base, insertions, names if self._tbox_names.issuperset(used) else names.copy()
        )
        _, lacked = split_known_rows(self.base, batch)
        return UnionView(
            self.base,
            batch,
            {name: array_table("node", columns) for name, columns in lacked.items()},
        )

    @cached_property
    def _tbox_names(self) -> frozenset[str]:
        """The names of classes and properties in T."""
        named = self.source.signature
        return frozenset((THING.iri, NOTHING.iri)).union(
            named.classes, named.object_properties, named.data_properties
        )

    def after_deletions(self, deletions: ABox, insertions: ABox) -> LocalKnowledgeBase:
        """Open the knowledge base for A without those ``deletions`` that are not inserted again."""
        if not len(deletions):
            return self
        held, _ = split_known_rows(
            self.base, encode_batch(self.base, insertions, self.base.names.copy())
        )
        removed = self._deleted_rows(deletions, held)
        return self if removed is None else self._remove_rows(removed)

    def _deleted_rows(
        self, deletions: ABox, reinserted: dict[str, Columns]
    ) -> dict[str, Columns] | None:
        """The rows of the base that ``deletions`` remove, by table; None if there are none. Rows
        that the batch inserts again (``reinserted``) stay.
        """
        gone, _ = split_known_rows(
            self.base, encode_batch(self.base, deletions, self.base.names.copy())
        )
        for name, rows in gone.items():
            columns = ROW_COLUMNS[name]
            again = is_row_in([rows[c] for c in columns], [reinserted[name][c] for c in columns])
            gone[name] = {c: column[~again] for c, column in rows.items()}
        return gone if any(len(rows["node"]) for rows in gone.values()) else None

    def _remove_rows(self, removed: dict[str, Columns]) -> LocalKnowledgeBase:
        """Open the knowledge base without the ``removed`` rows.

        It is indexed anew in two cases: complex assertions may take definitions with them, or the
        labels of A clash and are no sound start.
        """
        less = remove_rows(self.base, removed)
        touched = unique(np.concatenate([rows["node"] for rows in removed.values()]))
        anew = len(removed["complex"]["node"]) or self.index.is_contradictory
        index = (
            None if anew else index_after_deletion(self.index, self.base, less, touched, self.roles)
        )
        return replace(self, base=less, prepared_index=index, _models=[])

    def _add_set_by_criterion(self, union: UnionView, criterion: str) -> LocalAddSet:
        """Compute A_add for ``union`` by a criterion other than `model`."""
        index = self.index
        simplified = self.calculi.tbox_with_insertions(union)
        touched = touched_nodes(union, self.roles)
        calculus = self.calculi.calculus_for(simplified, criterion, union.names)
        # Loaded where it is asked for.
        from shiq.abox_ops.published.procedure import PublishedProcedure, keep_everything

        unlabelled = BaseElements(index.asserted_equality, empty_labels)
        graph = Graph(union, self.roles, unlabelled, by_node=True)
        match criterion:
            case "definition7":
                old = Graph(view_without_batch(self.base), self.roles, unlabelled)
                found = PublishedProcedure(index, simplified, calculus, graph, old, touched).run()
            case "none":
                found = keep_everything(index, calculus, graph, touched)
            case _:
                raise NotImplementedError(f"no procedure for the criterion {criterion}")
        return LocalAddSet(calculus, found, index)

    def _add_set_clausal(self, union: UnionView) -> LocalAddSet:
        """Compute A_add for ``union`` by the criterion `clausal`.

        The model is told literals alone, and every element is plain (THEORY, "The add set").
        """
        from shiq.abox_ops.patch.certificate import told_only_model

        told = told_only_model(self.index.calculus, self.index.merge_classes)
        patch = self._new_patch(told, union, all_plain=True)
        patch.close()
        return LocalAddSet(patch.region.calculus, patch.add_set_columns(), self.index)

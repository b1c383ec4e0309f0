"""The engine `local`: the criteria over columns, in memory or from a store; a check fetches what
its batch touches.

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
from shiq.abox_ops.elements.graph import Graph
from shiq.abox_ops.elements.normal_assertions import name_of
from shiq.abox_ops.elements.union_view import UnionView, batch_of, split
from shiq.abox_ops.engine import CRITERIA, MODEL, AddSet, Inquiry, NamedModule
from shiq.abox_ops.index.deletion import index_without
from shiq.abox_ops.index.index import Calculi, Index, alone, build_index, stored_index, touched_by
from shiq.abox_ops.labels.numbered_calculus import Calculus
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.abox_ops.modules.add_set import AddSetColumns
from shiq.abox_ops.patch.certified_model import OutsideCompletion, stored_completion
from shiq.abox_ops.patch.patch import Patch
from shiq.abox_ops.patch.region import Named, PatchInput, PatchRegion
from shiq.abox_ops.patch.widening import patched
from shiq.columns.arrays import Columns, Ints, array_table, is_row_in, unique
from shiq.columns.rows import ROW_COLUMNS
from shiq.errors import UsageError
from shiq.model import NOTHING, THING, Assertion, Class, SubClassOf, TBox
from shiq.model.abox import ABox
from shiq.model.roles import RoleBox, role_box
from shiq.reasoner.protocol import Answer
from shiq.simplify import SimplifiedTBox

if TYPE_CHECKING:
    from shiq.abox_ops.patch.certificate import BaseCertificate


@dataclass(frozen=True, eq=False)
class LocalKnowledgeBase:
    """(T, A) on columns. See `shiq.abox_ops.engine.KnowledgeBase`."""

    source: TBox
    base: Base
    roles: RoleBox
    made_index: Index | None = None
    _completions: list[OutsideCompletion] = field(default_factory=list, repr=False)

    @classmethod
    def build(cls, tbox: TBox, abox: ABox) -> LocalKnowledgeBase:
        """Opens (``tbox``, ``abox``) in memory; nothing is assumed of it but that its TBox lies
        in SHIQ(D).
        """
        return cls(tbox, array_base(abox), role_box(tbox.axioms))

    @classmethod
    def from_store(cls, store: StoredSnapshot, tbox: TBox | None = None) -> LocalKnowledgeBase:
        """Opens the snapshot of ``store``; ``tbox``: instead of its own, with the same clauses."""
        return cls(tbox or store.tbox, StoreBase(store), role_box(store.tbox.axioms))

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def index(self) -> Index:
        if self.made_index is not None:
            return self.made_index
        if isinstance(self.base, StoreBase):
            return stored_index(self.source, self.roles, self.base)
        return build_index(self.source, self.roles, self.base)

    @property
    def simplified(self) -> SimplifiedTBox:
        return self.index.simplified

    @cached_property
    def calculi(self) -> Calculi:
        return Calculi(self.source, self.roles, self.index, self.base.names)

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = "clausal") -> LocalAddSet:
        """See `shiq.abox_ops.engine.KnowledgeBase.add_set`."""
        if criterion not in CRITERIA:
            raise UsageError(
                f"unknown criterion {criterion!r}", f"the criteria are {', '.join(CRITERIA)}"
            )
        after = self.without(deletions, insertions)
        whole = after.whole(insertions)
        return (
            after._insert_clausal(whole)
            if criterion == "clausal"
            else after._insert(whole, criterion)
        )

    def absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """See `shiq.abox_ops.engine.KnowledgeBase.absent`."""
        lacked = self.whole(deletions)
        return lacked.insertions, list(islice(lacked.some_inserted(most), most))

    def patched(
        self, insertions: ABox, deletions: ABox, inquiry: Inquiry
    ) -> tuple[LocalAddSet, Sequence[Answer]]:
        """See `shiq.abox_ops.engine.ModelKnowledgeBase.patched`."""
        after = self.without(deletions, insertions)
        known = self._completion
        if (
            after is not self
            and known is not None
            and known.is_guessed
            and isinstance(after.base, OverlayBase)
            and after.made_index
        ):
            after._completions.append(known.less(self.index, after.made_index, after.base.vanished))
        return after._patch(after.whole(insertions), inquiry)

    def with_accepted(self, add_set: AddSet) -> LocalKnowledgeBase | None:
        """See `shiq.abox_ops.engine.Layering`."""
        if (
            not isinstance(add_set, LocalAddSet)
            or add_set.patch is None
            or add_set.whole.base is not self.base
        ):
            return None
        # Loaded where there is something to explain: most batches are consistent.
        from shiq.abox_ops.patch.layer import layer

        found = layer(self.index, add_set.whole, add_set.patch)
        if found is None:
            return None
        base, index, outside = found
        return replace(self, base=base, made_index=index, _completions=[outside])

    def _patch(self, whole: UnionView, inquiry: Inquiry) -> tuple[LocalAddSet, Sequence[Answer]]:
        added = self.calculi.brought(whole)
        calculus = self.calculi.of(self.calculi.simplified(added), MODEL, whole.names)
        return self.patch_with(whole, calculus, added, inquiry)

    def patch_with(
        self,
        whole: UnionView,
        calculus: Calculus,
        added: Sequence[SubClassOf | Class],
        inquiry: Inquiry,
    ) -> tuple[LocalAddSet, Sequence[Answer]]:
        """`patched` for ``whole``, over the ``calculus`` of T with the vocabulary ``added``."""
        outside = self._outside(inquiry)
        patch = self._onto(outside, whole, calculus, added)
        found = patched(patch, inquiry)
        add_set = self.add_set_on(calculus, whole, patch.found())
        add_set = replace(
            add_set, clauses=patch.tbox, decided=found.modules, patch=patch, widening=found.widening
        )
        return add_set, found.answers

    def _onto(
        self,
        outside: OutsideCompletion,
        whole: UnionView,
        calculus: Calculus,
        added: Sequence[SubClassOf | Class],
        *,
        all_plain: bool = False,
    ) -> Patch:
        """The patch of ``whole`` onto N, over the ``calculus`` of T with the vocabulary
        ``added``, not closed yet.
        """
        graph = Graph(whole, self.roles, self.index.equal, self.index.labels.of, outside.classes)
        known = self.index.simplified.clauses.atom_ids
        brought = {x.iri if isinstance(x, Class) else name_of(x.sub) for x in added}
        absent = sum(1 << calculus.tbox.atom_ids[name] for name in brought if name not in known)

        def name(found: AddSetColumns) -> Sequence[NamedModule]:
            return self.add_set_on(calculus, whole, found).modules

        touched = touched_by(whole, self.roles)
        given = PatchInput(self.index, calculus, graph, touched, outside, name, absent, all_plain)
        return Patch(PatchRegion(given))

    def add_set_on(self, calculus: Calculus, whole: UnionView, found: AddSetColumns) -> LocalAddSet:
        """What was ``found`` in ``whole`` under ``calculus``."""
        return LocalAddSet(calculus, self.index, whole, self.roles, found)

    def _outside(self, inquiry: Inquiry) -> OutsideCompletion:
        """N of (T, A): as it is stored, else certified on first use; one that time did not
        suffice for is not kept.
        """
        if self._completion is not None:
            return self._completion
        outside = self.certified(inquiry.of_a_base).completion
        if not inquiry.is_over():
            self._completions.append(outside)
        return outside

    @cached_property
    def _stored_completion(self) -> OutsideCompletion | None:
        if not isinstance(self.base, StoreBase) or self.made_index is not None:
            return None
        return stored_completion(self.index, self.base.store)

    @property
    def is_completed(self) -> bool:
        """Whether N is known already."""
        return self._completion is not None

    @property
    def _completion(self) -> OutsideCompletion | None:
        return self._completions[0] if self._completions else self._stored_completion

    def certified(self, inquiry: Inquiry) -> BaseCertificate:
        """(T, A) by itself, and N: see `shiq.abox_ops.patch.certificate.certified`."""
        # Loaded where no certificate is stored.
        from shiq.abox_ops.patch.certificate import certified

        def named(graph: Graph) -> Named:
            return lambda found: self.add_set_of(graph, found).modules

        return certified(self.index, self.base, self.roles, named, inquiry)

    def add_set_of(self, graph: Graph, found: AddSetColumns) -> LocalAddSet:
        """What was ``found`` on a ``graph`` of A alone."""
        return self.add_set_on(self.index.calculus, graph.whole, found)

    def whole(self, insertions: ABox) -> UnionView:
        """The base beside what ``insertions`` bring. Names of T are numbered once, so that what
        is worked out of labels and roles for one batch serves the next.
        """
        names = self.index.calculus.names
        used = chain(insertions.classes, insertions.object_properties, insertions.data_properties)
        batch = batch_of(
            self.base, insertions, names if self._own_names.issuperset(used) else names.copy()
        )
        _, lacked = split(self.base, batch)
        return UnionView(
            self.base,
            batch,
            {name: array_table("node", columns) for name, columns in lacked.items()},
        )

    @cached_property
    def _own_names(self) -> frozenset[str]:
        """The classes and properties that T speaks of."""
        named = self.source.signature
        return frozenset((THING.iri, NOTHING.iri)).union(
            named.classes, named.object_properties, named.data_properties
        )

    def without(self, deletions: ABox, insertions: ABox) -> LocalKnowledgeBase:
        """This less those of ``deletions`` that are not inserted as well."""
        if not len(deletions):
            return self
        held, _ = split(self.base, batch_of(self.base, insertions, self.base.names.copy()))
        removed = self._removed(deletions, held)
        return self if removed is None else self._less(removed)

    def _removed(self, deletions: ABox, held: dict[str, Columns]) -> dict[str, Columns] | None:
        """The rows of the base that ``deletions`` remove; one that the same batch inserts again
        (``held``) stays. None if no row goes.
        """
        gone, _ = split(self.base, batch_of(self.base, deletions, self.base.names.copy()))
        for name, rows in gone.items():
            columns = ROW_COLUMNS[name]
            again = is_row_in([rows[c] for c in columns], [held[name][c] for c in columns])
            gone[name] = {c: column[~again] for c, column in rows.items()}
        return gone if any(len(rows["node"]) for rows in gone.values()) else None

    def _less(self, removed: dict[str, Columns]) -> LocalKnowledgeBase:
        """This less the ``removed`` rows. All is indexed anew where complex assertions may take
        definitions with them, and where the labels of A are no sound start, since they clash.
        """
        less = remove_rows(self.base, removed)
        touched = unique(np.concatenate([rows["node"] for rows in removed.values()]))
        anew = len(removed["complex"]["node"]) or self.index.contradictory
        index = None if anew else index_without(self.index, self.base, less, touched, self.roles)
        return replace(self, base=less, made_index=index, _completions=[])

    def _insert(self, whole: UnionView, criterion: str) -> LocalAddSet:
        index = self.index
        simplified = self.calculi.simplified_with(whole)
        touched = touched_by(whole, self.roles)
        calculus = self.calculi.of(simplified, criterion, whole.names)
        # Loaded where it is asked for.
        from shiq.abox_ops.published.procedure import PublishedProcedure, everything

        graph = Graph(whole, self.roles, index.same, _no_labels, by_node=True)
        if criterion == "definition7":
            old = Graph(alone(self.base), self.roles, index.same, _no_labels)
            found = PublishedProcedure(index, simplified, calculus, graph, old, touched).run()
        else:
            found = everything(index, calculus, graph, touched)
        return self.add_set_on(calculus, whole, found)

    def _insert_clausal(self, whole: UnionView) -> LocalAddSet:
        added = self.calculi.brought(whole)
        calculus = self.calculi.of(self.calculi.simplified(added), "clausal", whole.names)
        return self.add_set_on(calculus, whole, self.plain_patch(whole, calculus, added).found())

    def plain_patch(
        self, whole: UnionView, calculus: Calculus, added: Sequence[SubClassOf | Class]
    ) -> Patch:
        """The criterion `clausal` for ``whole``, over the ``calculus`` of T with the vocabulary
        ``added``: one patch onto N = told, in which every element is plain (THEORY, "The add
        set").
        """
        from shiq.abox_ops.patch.certificate import of_told

        told = of_told(self.index.calculus, self.index.merged)
        patch = self._onto(told, whole, calculus, added, all_plain=True)
        patch.close()
        return patch


def _no_labels(keys: Ints) -> Ints:
    return np.zeros(len(keys), np.int64)

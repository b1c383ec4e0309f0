"""The calculus of each criterion over T with the vocabulary that a batch brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.index.index import Index, vocabulary_of
from shiq.abox_ops.labels.numbered_calculus import Calculus
from shiq.columns.arrays import unique
from shiq.columns.rows import Names
from shiq.model import Class, SubClassOf, TBox
from shiq.model.roles import RoleBox
from shiq.simplify import SimplifiedTBox, simplify

#: A session that has met more labels than this begins to forget.
_REMEMBERED = 1_000_000


@dataclass(frozen=True, eq=False)
class Calculi:
    """The calculi of one (T, A), remembered from batch to batch. ``source``: T as it is given;
    ``names``: those of A.
    """

    source: TBox
    roles: RoleBox
    index: Index
    names: Names
    _latest: list[Calculus] = field(default_factory=list, repr=False)

    def simplified_with(self, whole: UnionView) -> SimplifiedTBox:
        """The simplified TBox with the vocabulary that the insertions bring."""
        return self.simplified(self.brought(whole))

    def simplified(self, added: Sequence[SubClassOf | Class]) -> SimplifiedTBox:
        """The same with the vocabulary ``added``."""
        return (
            simplify(self.source, (*self.index.extra, *added)) if added else self.index.simplified
        )

    def brought(self, whole: UnionView) -> list[SubClassOf | Class]:
        """The vocabulary that the insertions bring, beyond that of T and A."""
        classes = unique(whole.inserted["class_assertions"].columns["class"])
        brought = vocabulary_of(whole.names, classes, whole.inserted_complex(), self.roles)
        return [x for x in brought if x not in self._vocabulary]

    @cached_property
    def _vocabulary(self) -> frozenset[SubClassOf | Class]:
        """The vocabulary of T and A, and every name that is an atom: one changes neither clauses
        nor atoms.
        """
        index = self.index
        atoms = {*index.simplified.clauses.atoms} & {*index.simplified.definition4_clauses.atoms}
        return frozenset((*index.extra, *(Class(atom) for atom in atoms if isinstance(atom, str))))

    def of(self, simplified: SimplifiedTBox, criterion: str, names: Names) -> Calculus:
        """The calculus of ``criterion``; where the batch brings no name and no axiom, one that
        remembers earlier batches.
        """
        index = self.index
        as_before = simplified is index.simplified and (
            names is index.calculus.names or names.sizes() == self.names.sizes()
        )
        if criterion != "definition7":
            crowded = len(index.calculus.table.labels) > _REMEMBERED
            if as_before and not crowded:
                return index.calculus
            for known in self._latest:
                same = known.tbox is simplified.clauses and (
                    known.names is names or known.names.values() == names.values()
                )
                if same and len(known.table.labels) <= _REMEMBERED:
                    return known
            # Parts of one batch bring the same names again and again while it is explained.
            like = next(
                (
                    c
                    for c in (*self._latest, index.calculus)
                    if c.tbox is simplified.clauses and not crowded
                ),
                None,
            )
            labels = index.calculus.table.labels[: index.stored_labels]
            self._latest[:] = [Calculus(simplified.clauses, names, labels, like)]
            return self._latest[0]
        return self._published if as_before else Calculus(simplified.definition4_clauses, names)

    @cached_property
    def _published(self) -> Calculus:
        return Calculus(self.index.simplified.definition4_clauses, self.index.calculus.names)

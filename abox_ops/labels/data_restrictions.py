"""Data restrictions of the TBox, and the test whether a data assertion must be kept (THEORY, "The
add set": data).

d(a, v) is *decided* when no data restriction that may be in force at a can use v in a
contradiction. The datatype layer answers for values; this file only counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from shiq.abox_ops.labels.label_calculus import EMPTY, Label, LabelCalculus, join
from shiq.model import Literal
from shiq.model.clause import DataAtLeast, DataAtMost
from shiq.support import cached_method

if TYPE_CHECKING:
    from shiq.datatypes import DataTheory


@dataclass
class DataRestrictions:
    """The data restrictions of one TBox, by property."""

    space: LabelCalculus

    def __post_init__(self) -> None:
        tbox = self.space.tbox
        below = tbox.roles.data_subproperties
        self._at_most: dict[str, list[tuple[int, DataAtMost]]] = {}
        self._at_least: dict[str, list[tuple[int, DataAtLeast]]] = {}
        self.subproperties = below
        for i, atom in enumerate(tbox.atoms):
            if isinstance(atom, DataAtMost):
                for p in below(atom.property):
                    self._at_most.setdefault(p, []).append((i, atom))
            elif isinstance(atom, DataAtLeast):
                self._at_least.setdefault(atom.property, []).append((i, atom))
        self.disjoint_properties = tbox.roles.data_subproperties_of_any(
            p for pair in tbox.roles.disjoint_data for p in pair
        )
        self._clauses_with: dict[int, list[tuple[int, int]]] = {}
        for c in self.space.compiled:
            mask = c.head & self.space.data_mask
            while mask:
                low = mask & -mask
                self._clauses_with.setdefault(low.bit_length() - 1, []).append(
                    (c.head & ~low, c.body)
                )
                mask ^= low

    @cached_property
    def theory(self) -> DataTheory:
        """The datatype reasoner; loaded when a value is first looked at."""
        from shiq.datatypes import DataTheory

        return DataTheory(self.space.tbox.definitions, self.space.tbox.roles)

    def refuted_label(self, values: Iterable[tuple[str, Literal]]) -> Label:
        """Compute the label of the ≤0 p.D that these asserted values refute; a clash if a value is
        ill-typed.
        """
        label = EMPTY
        for value in values:
            found = self._refuted_by_value(*value)
            if found is not EMPTY:
                label = join(label, found)
        return label

    @cached_method
    def _refuted_by_value(self, property: str, literal: Literal) -> Label:
        """Compute the literals that one asserted value refutes."""
        if self.theory.is_ill_typed(literal):
            return self.space.clash
        negative = 0
        for i, atom in self._at_most.get(property, ()):
            if atom.n == 0 and self.theory.contains(atom.range, literal) is True:
                negative |= 1 << i
        return (0, negative) if negative else EMPTY

    @cached_method
    def is_in_force(self, atom: int, label: Label) -> bool:
        """Decide whether the data restriction ``atom`` may have to hold at an element with
        ``label``.

        It does if it is told, or if some clause with it in the head is not satisfied by another
        literal of the centre. (A value that refutes it satisfies no clause.)
        """
        return bool(label[0] >> atom & 1) or any(
            not (others & label[0] or body & label[1])
            for others, body in self._clauses_with.get(atom, ())
        )

    def is_decided(
        self,
        property: str,
        literal: Literal,
        label: Label,
        count: Callable[[DataAtMost], int],
        negated: frozenset[str],
    ) -> bool:
        """Decide whether the assertion ``property``(a, ``literal``) can be left out at an element
        with ``label``.

        count: gives |V| + G of a's merge class for a restriction. negated: the properties of
        negative data assertions, closed downwards.
        """
        if property in self.disjoint_properties or property in negated:
            return False
        for i, atom in self._at_most.get(property, ()):
            if self.theory.contains(atom.range, literal) is False or not self.is_in_force(i, label):
                continue
            if atom.n == 0 or count(atom) > atom.n:
                return False
        return True

    def needs_below(self, property: str) -> list[tuple[int, DataAtLeast]]:
        """The ≥n g.D with g below ``property``, each with its atom id."""
        return [need for g in self.subproperties(property) for need in self._at_least.get(g, ())]

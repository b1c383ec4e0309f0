"""The calculus of one clausal TBox on numbered labels and roles. It knows no individuals."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from shiq import model as owl
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.irrelevance import Needs, Residuals
from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    CompiledClause,
    Label,
    LabelCalculus,
    is_refuted,
    literal_label,
)
from shiq.abox_ops.labels.label_guesses import LabelGuesses
from shiq.abox_ops.labels.label_numbers import (
    EMPTY_ID,
    Bools,
    LabelNumbers,
    RolePropagation,
    distinct_rows,
)
from shiq.columns.arrays import Columns, Ints, unique
from shiq.columns.rows import STRING, NameNumbering, are_strings
from shiq.model.clause import ClausalTBox, DataAtMost
from shiq.model.roles import Role

V = TypeVar("V")

#: What no xsd:string holds: the characters outside XML 1.0.


class NumberedCalculus:
    """The label calculus of ``tbox`` with its tables for counting, residuals and guesses, on arrays
    of label and role ids.

    Args:
            labels: labels with numbers already, of a TBox whose atoms are a prefix.
            like: a calculus of the same clauses, with which results are shared.
    """

    def __init__(
        self,
        tbox: ClausalTBox,
        names: NameNumbering,
        labels: Sequence[Label] = (EMPTY,),
        like: NumberedCalculus | None = None,
    ) -> None:
        self.tbox, self.names = tbox, names
        self.space: LabelCalculus = LabelCalculus(tbox) if like is None else like.space
        self.table = LabelNumbers(self.space, list(labels))
        self.data: DataRestrictions = DataRestrictions(self.space) if like is None else like.data
        self.needs: Needs = Needs(self.space) if like is None else like.needs
        self._model_calculus = like
        self._roles: list[Role] = []
        self.role_propagation = RolePropagation(self.table, lambda: self.roles)
        self._class_ids: list[int] = []
        self._flags_by_roles: dict[frozenset[Role], tuple[int, Bools]] = {}
        self._cached_values: dict[Callable[[NumberedCalculus], object], Any] = {}

    def make_once(self, make: Callable[[NumberedCalculus], V]) -> V:
        """Return the value that ``make`` gives for this calculus, computed on first use."""
        if make not in self._cached_values:
            self._cached_values[make] = make(self)
        return self._cached_values[make]

    # --- what the criterion `model` asks of the clauses -------------------------------------------

    @cached_property
    def label_guesses(self) -> LabelGuesses:
        """The guesses of complete labels for candidate models."""
        return (
            LabelGuesses(self.space)
            if self._model_calculus is None
            else self._model_calculus.label_guesses
        )

    @cached_property
    def residuals(self) -> Residuals:
        """The residuals of the clauses."""
        return (
            Residuals(self.space)
            if self._model_calculus is None
            else self._model_calculus.residuals
        )

    # --- roles and names --------------------------------------------------------------------------

    @property
    def roles(self) -> list[Role]:
        """The role of each id."""
        for iri in self.names.object_properties.values[len(self._roles) // 2 :]:
            self._roles += [Role(iri), Role(iri, True)]
        return self._roles

    def is_role_in(self, role: Ints, roles: frozenset[Role]) -> Bools:
        """Decide whether each role, given by id, is one of ``roles``."""
        known = self._flags_by_roles.get(roles)
        if known is None or known[0] < len(self.roles):
            flags = np.fromiter((r in roles for r in self.roles), np.bool_, len(self.roles))
            known = self._flags_by_roles[roles] = (len(flags), flags)
        return known[1][role]

    def is_property_in(self, property: Ints, chosen: Container[str]) -> Bools:
        """Decide whether each data property, given by id, is one of those ``chosen`` by name."""
        names = self.names.data_properties.values
        return np.fromiter((p in chosen for p in names), np.bool_, len(names))[property]

    def literal_label(self, iri: str, positive: bool) -> int:
        """The id of the label that holds one (negated) class name."""
        return self.table.id(literal_label(self.tbox, iri, positive))

    def class_labels(self, classes: Ints) -> Ints:
        """The label id that an assertion of each class gives."""
        for iri in self.names.classes.values[len(self._class_ids) :]:
            known = iri in self.tbox.atom_ids or iri in (owl.NOTHING.iri, owl.THING.iri)
            self._class_ids.append(self.literal_label(iri, True) if known else -1)
        found = np.array(self._class_ids, np.int64)[classes]
        if len(found) and found.min() < 0:
            raise KeyError(self.names.classes.values[int(classes[np.argmin(found)])])
        return found

    # --- labels -----------------------------------------------------------------------------------

    @cached_property
    def functional_clauses(self) -> list[CompiledClause]:
        """The clauses of restrictions ≤1 S.C."""
        return [c for c in self.space.m_type if c.n == 1]

    @cached_property
    def bounded_names(self) -> list[tuple[CompiledClause, int]]:
        """The m-type clauses with class names in the head, each with a bitmask of these names."""
        names = sum(1 << i for i, atom in enumerate(self.tbox.atoms) if isinstance(atom, str))
        return [(c, c.head & names) for c in self.space.m_type if c.head & names]

    @cached_property
    def counting_mask(self) -> int:
        """Bitmask of the atoms that counting for at-most restrictions depends on."""
        at_least = sum(1 << i for i in self.space.at_least)
        found = at_least | self.filler_mask
        for c in self.space.compiled:
            if c.n or c.head & at_least:
                found |= c.body | c.head | c.branch_body
        return found

    @cached_property
    def filler_mask(self) -> int:
        """Bitmask of the names D of the restrictions ≥k R.D."""
        return sum(
            {
                1 << self.tbox.atom_ids[need.filler]
                for need in self.space.at_least.values()
                if need.filler is not None
            }
        )

    def is_in_force(self, labels: Ints, clause: CompiledClause) -> Bools:
        """Decide whether each label satisfies the body of ``clause`` at its centre and refutes its
        head there.
        """
        return self.table.test_labels(labels, partial(is_refuted, clause.literals_at(False)))

    # --- data -------------------------------------------------------------------------------------

    @cached_property
    def bounded_properties(self) -> frozenset[str]:
        """Data properties below one that an at-most restriction bounds."""
        return self.tbox.roles.data_subproperties_of_any(
            atom.property for atom in self.tbox.atoms if isinstance(atom, DataAtMost)
        )

    @cached_property
    def counted_properties(self) -> frozenset[str]:
        """Data properties below one that a restriction ≤n with n ≥ 1 bounds."""
        atoms = (atom for atom in self.tbox.atoms if isinstance(atom, DataAtMost) and atom.n)
        return self.tbox.roles.data_subproperties_of_any(atom.property for atom in atoms)

    @cached_property
    def data_clause_mask(self) -> int:
        """Bitmask of the atoms in clauses with a data restriction."""
        found = self.space.data_mask
        for c in self.space.compiled:
            if c.head & self.space.data_mask:
                found |= c.head | c.body
        return found

    def refuted_labels(self, rows: Columns, literals: Iterable[owl.Literal]) -> Ints:
        """The label id of the data restrictions that each data assertion refutes
        (`DataRestrictions.refuted_label`); ``literals`` are those of the rows.
        """
        properties = self.names.data_properties.values
        values = list(literals)
        found = np.full(len(values), EMPTY_ID, np.int64)
        if not values:
            return found
        alike = self.are_indistinct_strings(rows["property"], are_strings(values))
        for p in unique(rows["property"][alike]).tolist():
            found[alike & (rows["property"] == p)] = self.table.id(
                self.data.refuted_label([(properties[p], owl.Literal("text"))])
            )
        for i in (~alike).nonzero()[0].tolist():
            label = self.data.refuted_label([(properties[rows["property"][i]], values[i])])
            if label != EMPTY:
                found[i] = self.table.id(label)
        return found

    def are_indistinct_strings(self, properties: Ints, strings: Bools) -> Bools:
        """Decide whether each data assertion has a string on a property whose restrictions treat
        all strings alike.

        strings: whether each literal is a legal string.
        """
        return strings & ~self.is_property_in(properties, self._properties_that_distinguish_strings)

    @cached_property
    def _properties_that_distinguish_strings(self) -> frozenset[str]:
        """The data properties with some ≤n f.D whose range D holds some strings and not others, as
        far as known.
        """
        found: set[str] = set()
        for atom in self.tbox.atoms:
            if isinstance(atom, DataAtMost):
                range_ = (
                    atom.range.operand
                    if isinstance(atom.range, owl.DataComplementOf)
                    else atom.range
                )
                if not isinstance(range_, owl.Datatype) or not _treats_strings_alike(range_.iri):
                    found.add(atom.property)
        return self.tbox.roles.data_subproperties_of_any(found)

    def are_ill_typed(self, literals: Iterable[owl.Literal]) -> Bools:
        """Decide whether each literal is ill-typed, so that it denotes no value."""
        values = list(literals)
        found = ~are_strings(values)
        for i in found.nonzero()[0].tolist():
            found[i] = self.data.theory.is_ill_typed(values[i])
        return found


def _treats_strings_alike(datatype: str) -> bool:
    """Decide whether a datatype contains all strings, or none."""
    # Loaded where a clause speaks of a data range.
    from shiq.datatypes.datatype_map import TYPES
    from shiq.datatypes.values import TEXT

    has_all = datatype in (STRING, owl.RDFS + "Literal", owl.RDF + "PlainLiteral")
    return has_all or (datatype in TYPES and TYPES[datatype].space != TEXT)


def distinct_values(rows: Columns) -> tuple[Columns, Ints]:
    """Find the distinct (property, literal) of data ``rows``, and the position of each row among
    them.
    """
    found, inverse = distinct_rows(rows["property"], rows["literal"])
    columns = np.array(found, np.int64).reshape(-1, 2)
    return {"property": columns[:, 0], "literal": columns[:, 1]}, inverse

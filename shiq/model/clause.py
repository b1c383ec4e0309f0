"""DL-clauses as frozen values: written by `simplify`, read by `abox_ops` and `shiq.reasoner`.

A clause stands for  ⋀ body(x) ∧ ⋀ roles(x, y_j) ∧ ⋀ branch_body(y_j)  →  ⋁ head(x) ∨ ⋁
branch_head(y_j) ∨ ⋁ y_i ≈ y_j. Its variables are a centre x and branches y_j; the normal form is
that of THEORY, "DL-clauses":

* *local*: ``role`` is None, ``at_most`` is 0; it constrains x alone.
* *u-type*: one role atom role(x, y), ``at_most`` is 0.
* *m-type*: ``at_most`` = n ≥ 1, and n + 1 role atoms role(x, y_i), each with branch_body(y_i) (at
  most one name). The head has all y_i ≈ y_j besides ``head``; ``branch_head`` is empty. It
  says ≤n role.C at x, or one of ``head``.

⊤ and ⊥ never occur. Transitivity and property chains are already eliminated. The name ℓ_R
(`shiq.model.roles.loop_name`) says that x has a loop of R; its meaning is left to the role box. An
example, A ⊑ ∀r.B:

>>> Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:B",)).kind
'u'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from shiq.model import Axiom, DataRange
from shiq.model.roles import LOOPS, Role, RoleBox, loop_name


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Atom of a clause: the restriction ≥n role.filler on an element, n ≥ 1.

    filler: a class name, or None for ⊤.
    """

    n: int
    role: Role
    filler: str | None = None

    @property
    def is_loop(self) -> bool:
        """Decide whether this atom says that an element is its own role neighbour (THEORY, "Chains
        and loops").

        An element with a loop satisfies it without another witness.
        """
        return (
            self.filler is not None
            and self.filler.startswith(LOOPS)
            and self.filler == loop_name(self.role.iri)
        )


@dataclass(frozen=True, slots=True)
class DataAtLeast:
    """Atom of a clause: the restriction ≥n property.range on an element's data values, n ≥ 1."""

    n: int
    property: str
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataAtMost:
    """Atom of a clause: the restriction ≤n property.range on an element's data values, n ≥ 0.
    ∀property.D is ≤0 property.(¬D).
    """

    n: int
    property: str
    range: DataRange


#: What can hold of one element: a class name, or a restriction. Only names occur in bodies and
#: branches.
Atom: TypeAlias = str | AtLeast | DataAtLeast | DataAtMost


@dataclass(frozen=True, slots=True)
class Clause:
    """A DL-clause: body atoms imply a head atom, at an element and possibly at a role neighbour.
    The module explains the fields.

    origins: indexes into `ClausalTBox.axioms` of axioms that imply the clause. For a clause from
        transitivity elimination: the restriction, the transitivity axiom and the role inclusions.
    """

    body: tuple[str, ...] = ()
    head: tuple[Atom, ...] = ()
    role: Role | None = None
    branch_body: tuple[str, ...] = ()
    branch_head: tuple[str, ...] = ()
    at_most: int = 0
    origins: frozenset[int] = frozenset()

    @property
    def kind(self) -> str:
        """Return the form of the clause: ``local`` (one element), ``u`` (an element and a
        neighbour) or ``m`` (at most n neighbours).
        """
        return "local" if self.role is None else "m" if self.at_most else "u"


@dataclass(frozen=True)
class ClausalTBox:
    """A TBox as DL-clauses: equisatisfiable with ``axioms``, with the same consequences over their
    names.

    Axioms added at the end leave the earlier atoms and clauses unchanged (a prefix).

    atoms: every atom of the clauses, and names added for an ABox, once. Bit i of a mask is
        atoms[i].
    fresh: names introduced by normalisation.
    definitions: datatype IRI → its defining range.
    """

    clauses: tuple[Clause, ...]
    roles: RoleBox
    axioms: tuple[Axiom, ...] = ()
    atoms: tuple[Atom, ...] = ()
    fresh: frozenset[str] = frozenset()
    definitions: Mapping[str, DataRange] = field(default_factory=dict)

    @cached_property
    def atom_ids(self) -> dict[Atom, int]:
        """Return the position of each atom in `atoms`."""
        return {atom: i for i, atom in enumerate(self.atoms)}

    @cached_property
    def data_properties(self) -> frozenset[str]:
        """Return the data properties that can matter to a clause or disjointness axiom, with all
        below them: Fs(T) of THEORY.
        """
        seen = {a.property for a in self.atoms if isinstance(a, DataAtLeast | DataAtMost)}
        seen |= {p for pair in self.roles.disjoint_data for p in pair}
        return self.roles.data_subproperties_of_any(seen)

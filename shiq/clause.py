"""DL-clauses as values: what `simplify` makes, and `abox_ops` and `shiq.reasoner` read.

A clause stands for  ⋀ body(x) ∧ ⋀ roles(x, y_j) ∧ ⋀ branch_body(y_j)  →  ⋁ head(x) ∨ ⋁
branch_head(y_j) ∨ ⋁ y_i ≈ y_j over a centre x and branches y_j, in the normal form of THEORY,
"DL-clauses":

* *local*: ``role`` is None, ``at_most`` is 0; speaks of x alone.
* *u-type*: one role atom role(x, y), ``at_most`` is 0.
* *m-type*: ``at_most`` = n ≥ 1 and n + 1 role atoms role(x, y_i), each with branch_body(y_i) (at
  most one name); all y_i ≈ y_j are in the head, beside ``head``; ``branch_head`` is empty. It
  says ≤n role.C at x, or one of ``head``.

⊤ and ⊥ never occur; transitivity and property chains are already eliminated. The name ℓ_R of
`shiq.roles.loop_name` means that there is a loop of R: the one thing that clauses leave to the
role box. An example, A ⊑ ∀r.B:

>>> Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:B",)).kind
'u'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from shiq.model import Axiom, DataRange
from shiq.roles import LOOPS, Role, RoleBox, loop_name


@dataclass(frozen=True, slots=True)
class AtLeast:
    """≥n role.filler, n ≥ 1; filler is a class name, or None for ⊤."""

    n: int
    role: Role
    filler: str | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it stands for a loop: who has that meets it alone (THEORY, "Chains and loops")."""
        return (
            self.filler is not None
            and self.filler.startswith(LOOPS)
            and self.filler == loop_name(self.role.iri)
        )


@dataclass(frozen=True, slots=True)
class DataAtLeast:
    """≥n property.range, n ≥ 1."""

    n: int
    property: str
    range: DataRange


@dataclass(frozen=True, slots=True)
class DataAtMost:
    """≤n property.range, n ≥ 0; ∀property.D is ≤0 property.(¬D)."""

    n: int
    property: str
    range: DataRange


#: What can hold of one element: a class name, or a restriction. Only names occur in bodies and
#: branches.
Atom: TypeAlias = str | AtLeast | DataAtLeast | DataAtMost


@dataclass(frozen=True, slots=True)
class Clause:
    """See the module. ``origins`` are indexes into `ClausalTBox.axioms`: the axioms that the
    clause follows from (for a clause that transitivity elimination made: the restriction, the
    transitivity axiom and the role inclusions).
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
        """``local``, ``u`` or ``m``."""
        return "local" if self.role is None else "m" if self.at_most else "u"


@dataclass(frozen=True)
class ClausalTBox:
    """A TBox as clauses: equisatisfiable with ``axioms``, with the same consequences over the
    old names.

    ``atoms`` lists every atom of the clauses (and any name added for an ABox) once; a set of
    atoms is an int with bit i for ``atoms[i]``. Adding axioms at the end keeps the atoms and
    clauses of the front as they are (a prefix). ``fresh`` are the names that normalisation made;
    ``definitions`` the defined datatypes.
    """

    clauses: tuple[Clause, ...]
    roles: RoleBox
    axioms: tuple[Axiom, ...] = ()
    atoms: tuple[Atom, ...] = ()
    fresh: frozenset[str] = frozenset()
    definitions: Mapping[str, DataRange] = field(default_factory=dict)

    @cached_property
    def atom_ids(self) -> dict[Atom, int]:
        return {atom: i for i, atom in enumerate(self.atoms)}

    @cached_property
    def data_properties(self) -> frozenset[str]:
        """Fs(T): the data properties that some clause or disjointness axiom can see, closed
        downwards under ⊑*.
        """
        seen = {a.property for a in self.atoms if isinstance(a, DataAtLeast | DataAtMost)}
        seen |= {p for pair in self.roles.disjoint_data for p in pair}
        return self.roles.data_below(seen)

"""Lazy unfolding as a rewriting of clauses: what a definition says is asked for only where the
name, or its complement, holds.

A node where A is not said has ¬A, so the clauses of C ⊑ A make every node choose. Here each
defined name A (`definitions`) gets a complement Ā with A ⊓ Ā ⊑ ⊥, and A ≡ C becomes A ⊑ C and Ā
⊑ ¬C with B̄ for ¬B wherever B is defined:

* in a clause that A's own axiom made, A in the head is Ā in the body;
* any other defined name in a body is its complement in the head.

Exact: THEORY, "Deciding a shape without a JVM".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shiq import model as owl
from shiq.bits import bits
from shiq.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.reasoner.definitions import (
    PREFIX,
    Literal,
    Property,
    acyclic_definitions,
    existence_names,
    literal_of,
)
from shiq.reasoner.protocol import Module
from shiq.roles import ROLE_INCLUSIONS

#: Axioms that say nothing of classes: a clause that one definition made may rest on some of them
#: besides.
_NO_CLASS_AXIOMS = (
    ROLE_INCLUSIONS
    | owl.TransitiveObjectProperty
    | owl.SubObjectPropertyChain
    | owl.ReflexiveObjectProperty
    | owl.DatatypeDefinition
)


class AssertedAtom(NamedTuple):
    """An atom, by its place in `ClausalTBox.atoms`, that a module asserts at a node, or asserts
    not to hold there.
    """

    node: int
    atom: int
    holds: bool


@dataclass(frozen=True)
class Unfolding:
    """``tbox``: the rewritten clauses of ``given``, first and in their order, so that clauses
    refute a module here whose counterparts refute it there. ``complements``: of the defined
    names; ``existences``: the names for ∃P.⊤.
    """

    given: ClausalTBox
    tbox: ClausalTBox
    complements: Mapping[str, str]
    existences: Mapping[Property, str]

    def module(self, module: Module) -> tuple[Module, tuple[AssertedAtom, ...]]:
        """``module`` over the rewritten atoms, and the facts that it lacks there. If it is
        inconsistent without them, it is; if it is consistent without them, it is if they follow
        from the rest of it.
        """
        ids = self.tbox.atom_ids
        positive, negative = [0] * len(module.positive), [0] * len(module.positive)
        lacking = []
        for x in range(len(module.positive)):
            for mask, holds in ((module.positive[x], True), (module.negative[x], False)):
                for a in bits(mask):
                    said = self._said(self.given.atoms[a], holds)
                    if said is None:
                        lacking.append(AssertedAtom(x, a, holds))
                    else:
                        side = positive if said[1] else negative
                        side[x] |= 1 << ids[said[0]]
        for x, name in self._values(module):
            positive[x] |= 1 << ids[name]
        return replace(module, positive=tuple(positive), negative=tuple(negative)), tuple(lacking)

    def _said(self, atom: Atom, holds: bool) -> tuple[Atom, bool] | None:
        """What says over the rewritten clauses that ``atom`` holds, or does not; None if nothing
        does: a fresh name may have to hold wherever its concept does, a defined name may hold
        where nothing tells, and along a transitive role ¬∃R.C speaks of more than the neighbours
        that a pre-model shows.
        """
        literal = literal_of(atom, self.existences)
        if literal is None:
            return (
                None
                if not holds and isinstance(atom, AtLeast) and self._is_open(atom)
                else (atom, holds)
            )
        name, positive = literal
        if name in self.given.fresh:
            return None
        if positive is not holds and name in self.complements:
            return self.complements[name], True
        return name, positive is holds

    def _is_open(self, atom: AtLeast) -> bool:
        """Whether the restriction can be met where a pre-model does not show it."""
        filler = atom.filler
        return (
            filler in self.complements
            or filler in self.given.fresh
            or not self.given.roles.is_simple(atom.role)
        )

    def _values(self, module: Module) -> Iterator[tuple[int, str]]:
        """The nodes that are asserted to have some value of a property that has a name for that."""
        for x, role, y in module.edges:
            if name := self.existences.get(Property(role.iri, False)):
                yield y if role.inverted else x, name
        for x, data_property, _ in module.data:
            if name := self.existences.get(Property(data_property, True)):
                yield x, name


def unfolding(tbox: ClausalTBox) -> Unfolding | None:
    """``tbox`` unfolded; None where no definition makes a node choose, so that nothing is gained."""
    if any(isinstance(atom, str) and atom.startswith(PREFIX) for atom in tbox.atoms):
        return None
    existences = existence_names(tbox)
    defined = acyclic_definitions(tbox, existences)
    owners = {index: name for name, index in defined.items()}
    read = [_Literals.of(clause, existences) for clause in tbox.clauses]
    owned = [
        _owner(clause, literals, owners, tbox.axioms)
        for clause, literals in zip(tbox.clauses, read)
    ]
    if not any(literals.makes_choose(name) for literals, name in zip(read, owned) if name):
        return None
    complements = {name: f"{PREFIX}not:{name}" for name in sorted(defined)}
    clauses = [
        literals.unfolded(name, complements, clause)
        for literals, name, clause in zip(read, owned, tbox.clauses)
    ]
    clauses += [Clause(body=pair) for pair in complements.items()]
    return Unfolding(
        tbox,
        replace(tbox, clauses=tuple(clauses), atoms=_atoms(tbox, clauses, existences)),
        complements,
        existences,
    )


@dataclass(frozen=True)
class _Literals:
    """A clause with names for ∃P.⊤: which names stand negatively in it and which atoms
    positively, at the centre and the branch; ``has_role``: whether its role atom is left.
    """

    body: tuple[str, ...]
    head: tuple[Atom, ...]
    branch_body: tuple[str, ...]
    branch_head: tuple[str, ...]
    has_role: bool

    @classmethod
    def of(cls, clause: Clause, existences: Mapping[Property, str]) -> _Literals:
        body, head = list(clause.body), []
        for atom in clause.head:
            literal: Literal | None = literal_of(atom, existences)
            if literal is None:
                head.append(atom)
            else:
                (head if literal[1] else body).append(literal[0])
        some = None if clause.role is None else existences.get(Property(clause.role.iri, False))
        if some is not None:
            body.append(some)
        return cls(
            tuple(body),
            tuple(head),
            clause.branch_body,
            clause.branch_head,
            clause.role is not None and some is None,
        )

    def mentions(self, name: str) -> bool:
        return any(
            name in atoms for atoms in (self.body, self.head, self.branch_body, self.branch_head)
        )

    def makes_choose(self, name: str) -> bool:
        """Whether ``name`` is one of several disjuncts."""
        return len(self.head) + len(self.branch_head) > 1 and (
            name in self.head or name in self.branch_head
        )

    def unfolded(self, own: str | None, complements: Mapping[str, str], clause: Clause) -> Clause:
        """``clause``, made by the definition of ``own`` if by any, unfolded."""

        def turned(
            negative: Iterable[str], positive: Iterable[Atom]
        ) -> tuple[list[str], list[Atom]]:
            body, head = [], []
            for name in negative:
                if name != own and name in complements:
                    head.append(complements[name])
                else:
                    body.append(name)
            kept: list[Atom] = []
            for atom in positive:
                if atom == own:
                    body.append(complements[own])
                else:
                    kept.append(atom)
            return body, [*kept, *head]

        body, head = turned(self.body, self.head)
        branch_body, branch_head = turned(self.branch_body, self.branch_head)
        return replace(
            clause,
            body=tuple(dict.fromkeys(body)),
            head=tuple(dict.fromkeys(head)),
            role=clause.role if self.has_role else None,
            branch_body=tuple(branch_body),
            branch_head=tuple(name for name in branch_head if isinstance(name, str)),
        )


def _owner(
    clause: Clause, literals: _Literals, owners: Mapping[int, str], axioms: Sequence[owl.Axiom]
) -> str | None:
    """The defined name in ``clause`` whose definition, with axioms about roles and datatypes, is
    all that it follows from.
    """
    made_by = [index for index in clause.origins if not isinstance(axioms[index], _NO_CLASS_AXIOMS)]
    name = owners.get(made_by[0]) if len(made_by) == 1 else None
    return name if name is not None and literals.mentions(name) else None


def _atoms(
    tbox: ClausalTBox, clauses: Iterable[Clause], existences: Mapping[Property, str]
) -> tuple[Atom, ...]:
    """Every atom of ``clauses``, and every one that a module can assert."""
    atoms: dict[Atom, None] = {}
    for atom in tbox.atoms:
        literal = literal_of(atom, existences)
        atoms[atom if literal is None else literal[0]] = None
    atoms |= dict.fromkeys(existences.values())
    for clause in clauses:
        atoms |= dict.fromkeys(
            (*clause.body, *clause.head, *clause.branch_body, *clause.branch_head)
        )
        atoms |= dict.fromkeys(
            a.filler for a in clause.head if isinstance(a, AtLeast) and a.filler is not None
        )
    return tuple(atoms)

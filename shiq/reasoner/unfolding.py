"""Lazy unfolding as a rewriting of clauses: a definition applies only where the name, or its
complement, holds.

A node without A may have ¬A, so the clauses of C ⊑ A force a choice at every node. Here each
defined name A (`acyclic_definitions`) gets a complement Ā with A ⊓ Ā ⊑ ⊥. Then A ≡ C becomes A ⊑ C
and Ā ⊑ ¬C, with B̄ for ¬B wherever B is defined:

* in a clause made by A's own axiom, A in the head is Ā in the body;
* any other defined name in a body is its complement in the head.

Exact: THEORY, "Deciding a shape without a JVM".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from shiq import model as owl
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import ROLE_INCLUSIONS
from shiq.model.walk import parts
from shiq.reasoner.protocol import Module
from shiq.support import bits

# Which class names of a TBox are defined by one axiom A ≡ C, and acyclically so; and which
# properties only say "has some".
#
# A definition can be unfolded lazily (Baader, Hollunder, Nebel, Profitlich, Franconi, *An
# Empirical Analysis of Optimization Techniques for Terminological Representation Systems*, 1994):
# nothing need be known of A where neither A nor ¬A is asked for. A property of which the clauses
# only ask whether an element has some value is a class name in disguise: ∃P.⊤ is given one, and
# may be what an axiom defines.


PREFIX = "urn:shiq:fresh:unfolding:"

_TOP_DATA_PROPERTY = owl.OWL + "topDataProperty"


class Property(NamedTuple):
    """An object property or a data property, by IRI."""

    iri: str
    is_data: bool


#: A name, and whether it is meant or its complement.
Literal: TypeAlias = tuple[str, bool]


def as_literal(atom: Atom, existences: Mapping[Property, str]) -> Literal | None:
    """Return ``atom`` as (name, whether it holds); ∃P.⊤ by its name in ``existences``. None for
    other restrictions.
    """
    match atom:
        case str():
            return atom, True
        case AtLeast(1, role, None) if not role.is_inverse:
            name = existences.get(Property(role.iri, False))
            return None if name is None else (name, True)
        case DataAtLeast(1, data_property, data_range) if data_range == owl.TOP_DATATYPE:
            name = existences.get(Property(data_property, True))
            return None if name is None else (name, True)
        case DataAtMost(0, data_property, data_range) if data_range == owl.TOP_DATATYPE:
            name = existences.get(Property(data_property, True))
            return None if name is None else (name, False)
    return None


def existence_names(tbox: ClausalTBox) -> dict[Property, str]:
    """Make a name for ∃P.⊤, for each property P that the TBox uses in no other way."""
    candidates: set[Property] = set()
    others = {Property(iri, is_data) for iri, is_data in _role_box_properties(tbox)} | {
        Property(_TOP_DATA_PROPERTY, True)
    }
    for clause in tbox.clauses:
        if clause.role is not None:
            bare = not (
                clause.role.is_inverse or clause.at_most or clause.branch_body or clause.branch_head
            )
            (candidates if bare else others).add(Property(clause.role.iri, False))
    everything = {p: p.iri for atom in _all_atoms(tbox) if (p := _property_of_atom(atom))}
    for atom in _all_atoms(tbox):
        if (property := _property_of_atom(atom)) is not None:
            (others if as_literal(atom, everything) is None else candidates).add(property)
    return {
        p: f"{PREFIX}some:{'data' if p.is_data else 'object'}:{p.iri}"
        for p in sorted(candidates - others)
    }


def acyclic_definitions(tbox: ClausalTBox, existences: Mapping[Property, str]) -> dict[str, int]:
    """Select the class names that an axiom A ≡ C defines without a cycle: name → index of the
    axiom.

    No name is defined through itself, and no axiom defines two. Names that a ≤n counts are left
    out.
    """
    counted = {name for clause in tbox.clauses if clause.at_most for name in clause.branch_body}
    choices = [
        (index, names)
        for index, axiom in enumerate(tbox.axioms)
        if isinstance(axiom, owl.EquivalentClasses)
        and (names := _definable_names(axiom, existences))
    ]
    defined: dict[str, int] = {}
    below: dict[str, frozenset[str]] = {}
    # An axiom about two names can define either: it waits for those that have no choice.
    for index, names in sorted(choices, key=lambda choice: len(choice[1])):
        for name, other in names:
            used = frozenset(_names_in(other, existences))
            if name not in defined and name not in counted and not _depends_on(used, name, below):
                defined[name], below[name] = index, used
                break
    return defined


def _definable_names(
    axiom: owl.EquivalentClasses, existences: Mapping[Property, str]
) -> list[tuple[str, owl.ClassExpression]]:
    """List the names that an equivalence ``axiom`` can define, each with its definition."""
    if len(axiom.expressions) != 2:
        return []
    first, second = axiom.expressions
    pairs = (
        (_name_or_negated_name(first, existences), second),
        (_name_or_negated_name(second, existences), first),
    )
    return [(name, other) for name, other in pairs if name is not None]


def _name_or_negated_name(
    expression: owl.ClassExpression, existences: Mapping[Property, str]
) -> str | None:
    """Return the class name that ``expression`` is, or is the complement of; None for other
    expressions.
    """
    match expression:
        case owl.Class(iri):
            return None if expression in (owl.THING, owl.NOTHING) else iri
        case owl.ObjectComplementOf(operand):
            return _name_or_negated_name(operand, existences)
        case (
            owl.ObjectSomeValuesFrom(owl.ObjectProperty(iri), filler)
            | owl.ObjectMinCardinality(1, owl.ObjectProperty(iri), filler)
            | owl.ObjectMaxCardinality(0, owl.ObjectProperty(iri), filler)
            | owl.ObjectExactCardinality(0, owl.ObjectProperty(iri), filler)
        ) if filler == owl.THING:
            return existences.get(Property(iri, False))
        case owl.ObjectAllValuesFrom(owl.ObjectProperty(iri), filler) if filler == owl.NOTHING:
            return existences.get(Property(iri, False))
        case (
            owl.DataSomeValuesFrom(owl.DataProperty(iri), data_range)
            | owl.DataMinCardinality(1, owl.DataProperty(iri), data_range)
            | owl.DataMaxCardinality(0, owl.DataProperty(iri), data_range)
            | owl.DataExactCardinality(0, owl.DataProperty(iri), data_range)
        ) if data_range == owl.TOP_DATATYPE:
            return existences.get(Property(iri, True))
    return None


def _names_in(expression: owl.ClassExpression, existences: Mapping[Property, str]) -> Iterator[str]:
    """Yield the class names, and names for ∃P.⊤, that occur in ``expression``."""
    for part in parts(expression):
        match part:
            case owl.Class(iri):
                yield iri
            case owl.ObjectProperty(iri) if name := existences.get(Property(iri, False)):
                yield name
            case owl.DataProperty(iri) if name := existences.get(Property(iri, True)):
                yield name


def _depends_on(names: Iterable[str], goal: str, below: Mapping[str, frozenset[str]]) -> bool:
    """Decide whether ``goal`` is one of ``names`` or occurs in their definitions, directly or not.

    below: defined name → names in its definition.
    """
    stack, seen = list(names), set(names)
    while stack:
        name = stack.pop()
        if name == goal:
            return True
        new = below.get(name, frozenset()) - seen
        seen |= new
        stack.extend(new)
    return False


def _all_atoms(tbox: ClausalTBox) -> Iterator[Atom]:
    """Yield the atoms of the TBox and of the heads of its clauses."""
    yield from tbox.atoms
    for clause in tbox.clauses:
        yield from clause.head


def _property_of_atom(atom: Atom) -> Property | None:
    """Return the property of a restriction atom; None for a class name."""
    if isinstance(atom, str):
        return None
    return (
        Property(atom.role.iri, False)
        if isinstance(atom, AtLeast)
        else Property(atom.property, True)
    )


def _role_box_properties(tbox: ClausalTBox) -> Iterator[tuple[str, bool]]:
    """Yield (IRI, whether it is a data property) for the properties that role axioms mention."""
    box = tbox.roles
    yield from ((iri, False) for iri in box.self_properties | box.reflexive)
    for roles in (
        *box.inclusions,
        *box.disjoint,
        box.transitive,
        box.composite,
        box.asymmetric,
        box.irreflexive,
    ):
        yield from ((role.iri, False) for role in roles)
    for properties in (*box.data_inclusions, *box.disjoint_data):
        yield from ((iri, True) for iri in properties)


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
    """An atom that a module asserts at a node to hold, or not to hold. ``atom``: position in
    `ClausalTBox.atoms`.
    """

    node: int
    atom: int
    holds: bool


@dataclass(frozen=True)
class Unfolding:
    """A TBox whose acyclic definitions apply only where the defined name or its complement is
    asserted or derived.

    original: the TBox before
    tbox: the rewritten clauses; those of ``original`` come first, in their order, so that clauses
        which refute a module here have counterparts that refute it there
    complements: names for the complements of defined names
    existences: names for ∃P.⊤
    """

    original: ClausalTBox
    tbox: ClausalTBox
    complements: Mapping[str, str]
    existences: Mapping[Property, str]

    def rewrite_module(self, module: Module) -> tuple[Module, tuple[AssertedAtom, ...]]:
        """Rewrite ``module`` to the atoms of the unfolded TBox. Return it, and the asserted facts
        that these cannot express.

        If the rewritten module is inconsistent, so is the original. If it is consistent, so is the
        original, provided that the facts left out follow from the rest.
        """
        ids = self.tbox.atom_ids
        positive, negative = [0] * len(module.positive), [0] * len(module.positive)
        lacking = []
        for x in range(len(module.positive)):
            for mask, holds in ((module.positive[x], True), (module.negative[x], False)):
                for a in bits(mask):
                    said = self._rewrite_atom(self.original.atoms[a], holds)
                    if said is None:
                        lacking.append(AssertedAtom(x, a, holds))
                    else:
                        side = positive if said[1] else negative
                        side[x] |= 1 << ids[said[0]]
        for x, name in self._asserted_existences(module):
            positive[x] |= 1 << ids[name]
        return replace(module, positive=tuple(positive), negative=tuple(negative)), tuple(lacking)

    def _rewrite_atom(self, atom: Atom, holds: bool) -> tuple[Atom, bool] | None:
        """Express that ``atom`` holds, or does not, by (atom of the unfolded TBox, whether it
        holds). None if that is impossible.

        A fresh name may have to hold wherever its concept does. A defined name may hold without
        being derived. Along a transitive role, ¬∃R.C concerns more than the neighbours in a
        pre-model.
        """
        literal = as_literal(atom, self.existences)
        if literal is None:
            return (
                None
                if not holds and isinstance(atom, AtLeast) and self._may_be_met_invisibly(atom)
                else (atom, holds)
            )
        name, positive = literal
        if name in self.original.fresh:
            return None
        if positive is not holds and name in self.complements:
            return self.complements[name], True
        return name, positive is holds

    def _may_be_met_invisibly(self, atom: AtLeast) -> bool:
        """Decide whether the restriction ``atom`` can hold although no neighbour in the pre-model
        shows it.
        """
        filler = atom.filler
        return (
            filler in self.complements
            or filler in self.original.fresh
            or not self.original.roles.is_simple(atom.role)
        )

    def _asserted_existences(self, module: Module) -> Iterator[tuple[int, str]]:
        """Yield (node, name of ∃P.⊤) for the nodes that have an asserted edge or value of a
        property P with such a name.
        """
        for x, role, y in module.edges:
            if name := self.existences.get(Property(role.iri, False)):
                yield y if role.is_inverse else x, name
        for x, data_property, _ in module.data:
            if name := self.existences.get(Property(data_property, True)):
                yield x, name


def unfold_lazily(tbox: ClausalTBox) -> Unfolding | None:
    """Rewrite ``tbox`` for lazy unfolding of its definitions; None if that would save no choice."""
    if any(isinstance(atom, str) and atom.startswith(PREFIX) for atom in tbox.atoms):
        return None
    existences = existence_names(tbox)
    defined = acyclic_definitions(tbox, existences)
    owners = {index: name for name, index in defined.items()}
    read = [_SplitClause.from_clause(clause, existences) for clause in tbox.clauses]
    owned = [
        _defined_name_of(clause, literals, owners, tbox.axioms)
        for clause, literals in zip(tbox.clauses, read)
    ]
    if not any(literals.is_choice(name) for literals, name in zip(read, owned) if name):
        return None
    complements = {name: f"{PREFIX}not:{name}" for name in sorted(defined)}
    clauses = [
        literals.unfold(name, complements, clause)
        for literals, name, clause in zip(read, owned, tbox.clauses)
    ]
    clauses += [Clause(body=pair) for pair in complements.items()]
    return Unfolding(
        tbox,
        replace(tbox, clauses=tuple(clauses), atoms=_atoms_of_unfolding(tbox, clauses, existences)),
        complements,
        existences,
    )


@dataclass(frozen=True)
class _SplitClause:
    """A clause with names for ∃P.⊤ in place of restrictions, split into negative names and positive
    atoms, at centre and branch.

    has_role: whether the clause still has its role atom.
    """

    body: tuple[str, ...]
    head: tuple[Atom, ...]
    branch_body: tuple[str, ...]
    branch_head: tuple[str, ...]
    has_role: bool

    @classmethod
    def from_clause(cls, clause: Clause, existences: Mapping[Property, str]) -> _SplitClause:
        """Split a clause into negative names and positive atoms."""
        body, head = list(clause.body), []
        for atom in clause.head:
            literal: Literal | None = as_literal(atom, existences)
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
        """Decide whether a name occurs in the clause."""
        return any(
            name in atoms for atoms in (self.body, self.head, self.branch_body, self.branch_head)
        )

    def is_choice(self, name: str) -> bool:
        """Decide whether ``name`` is one of several disjuncts of the clause."""
        return len(self.head) + len(self.branch_head) > 1 and (
            name in self.head or name in self.branch_head
        )

    def unfold(self, own: str | None, complements: Mapping[str, str], clause: Clause) -> Clause:
        """Rewrite ``clause`` with complements of defined names. ``own``: the name whose definition
        made the clause, or None.
        """

        def complement_names(
            negative: Iterable[str], positive: Iterable[Atom]
        ) -> tuple[list[str], list[Atom]]:
            """Replace names on the negative end by their complements."""
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

        body, head = complement_names(self.body, self.head)
        branch_body, branch_head = complement_names(self.branch_body, self.branch_head)
        return replace(
            clause,
            body=tuple(dict.fromkeys(body)),
            head=tuple(dict.fromkeys(head)),
            role=clause.role if self.has_role else None,
            branch_body=tuple(branch_body),
            branch_head=tuple(name for name in branch_head if isinstance(name, str)),
        )


def _defined_name_of(
    clause: Clause, literals: _SplitClause, owners: Mapping[int, str], axioms: Sequence[owl.Axiom]
) -> str | None:
    """Find the defined name whose definition alone implies ``clause``, apart from axioms on roles
    and datatypes; None if none does.
    """
    made_by = [index for index in clause.origins if not isinstance(axioms[index], _NO_CLASS_AXIOMS)]
    name = owners.get(made_by[0]) if len(made_by) == 1 else None
    return name if name is not None and literals.mentions(name) else None


def _atoms_of_unfolding(
    tbox: ClausalTBox, clauses: Iterable[Clause], existences: Mapping[Property, str]
) -> tuple[Atom, ...]:
    """Collect the atoms of an unfolded TBox: those of ``clauses``, and those that a module can
    assert.
    """
    atoms: dict[Atom, None] = {}
    for atom in tbox.atoms:
        literal = as_literal(atom, existences)
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

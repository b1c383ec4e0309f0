"""Which class names of a TBox are defined by one axiom A ≡ C, and acyclically so; and which
properties only say "has some".

A definition can be unfolded lazily (Baader, Hollunder, Nebel, Profitlich, Franconi, *An
Empirical Analysis of Optimization Techniques for Terminological Representation Systems*, 1994):
nothing need be known of A where neither A nor ¬A is asked for. A property of which the clauses
only ask whether an element has some value is a class name in disguise: ∃P.⊤ is given one, and
may be what an axiom defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from shiq import model as owl
from shiq.clause import AtLeast, Atom, ClausalTBox, DataAtLeast, DataAtMost
from shiq.reasoner.structure import parts

PREFIX = "urn:shiq:fresh:unfolding:"

_TOP_DATA_PROPERTY = owl.OWL + "topDataProperty"


class Property(NamedTuple):
    """An object or a data property."""

    iri: str
    is_data: bool


#: A name, and whether it is meant or its complement.
Literal: TypeAlias = tuple[str, bool]


def literal_of(atom: Atom, existences: Mapping[Property, str]) -> Literal | None:
    """``atom`` as a name or its complement; None where it is a restriction."""
    match atom:
        case str():
            return atom, True
        case AtLeast(1, role, None) if not role.inverted:
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
    """A name for ∃P.⊤ for each P of which clauses and atoms only say ∃P.⊤ or its complement, and
    the role box nothing.
    """
    candidates: set[Property] = set()
    others = {Property(iri, is_data) for iri, is_data in _of_role_box(tbox)} | {
        Property(_TOP_DATA_PROPERTY, True)
    }
    for clause in tbox.clauses:
        if clause.role is not None:
            bare = not (
                clause.role.inverted or clause.at_most or clause.branch_body or clause.branch_head
            )
            (candidates if bare else others).add(Property(clause.role.iri, False))
    everything = {p: p.iri for atom in _atoms(tbox) if (p := _property_of(atom))}
    for atom in _atoms(tbox):
        if (property := _property_of(atom)) is not None:
            (others if literal_of(atom, everything) is None else candidates).add(property)
    return {
        p: f"{PREFIX}some:{'data' if p.is_data else 'object'}:{p.iri}"
        for p in sorted(candidates - others)
    }


def acyclic_definitions(tbox: ClausalTBox, existences: Mapping[Property, str]) -> dict[str, int]:
    """Names, each with the index of one axiom that says A ≡ C of it, such that no name is
    defined by way of itself; no axiom defines two. Names that a ≤n counts are left out.
    """
    counted = {name for clause in tbox.clauses if clause.at_most for name in clause.branch_body}
    choices = [
        (index, names)
        for index, axiom in enumerate(tbox.axioms)
        if isinstance(axiom, owl.EquivalentClasses) and (names := _definable(axiom, existences))
    ]
    defined: dict[str, int] = {}
    below: dict[str, frozenset[str]] = {}
    # An axiom about two names can define either: it waits for those that have no choice.
    for index, names in sorted(choices, key=lambda choice: len(choice[1])):
        for name, other in names:
            used = frozenset(_names_in(other, existences))
            if name not in defined and name not in counted and not _reaches(used, name, below):
                defined[name], below[name] = index, used
                break
    return defined


def _definable(
    axiom: owl.EquivalentClasses, existences: Mapping[Property, str]
) -> list[tuple[str, owl.ClassExpression]]:
    """The names that ``axiom`` is a definition of, each with what it is defined by."""
    if len(axiom.expressions) != 2:
        return []
    first, second = axiom.expressions
    pairs = ((_name_of(first, existences), second), (_name_of(second, existences), first))
    return [(name, other) for name, other in pairs if name is not None]


def _name_of(expression: owl.ClassExpression, existences: Mapping[Property, str]) -> str | None:
    """The name that ``expression`` is, or is the complement of."""
    match expression:
        case owl.Class(iri):
            return None if expression in (owl.THING, owl.NOTHING) else iri
        case owl.ObjectComplementOf(operand):
            return _name_of(operand, existences)
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
    """Every name that ``expression`` can depend on."""
    for part in parts(expression):
        match part:
            case owl.Class(iri):
                yield iri
            case owl.ObjectProperty(iri) if name := existences.get(Property(iri, False)):
                yield name
            case owl.DataProperty(iri) if name := existences.get(Property(iri, True)):
                yield name


def _reaches(names: Iterable[str], goal: str, below: Mapping[str, frozenset[str]]) -> bool:
    """Whether ``goal`` is one of ``names``, or one of those that they are defined by."""
    stack, seen = list(names), set(names)
    while stack:
        name = stack.pop()
        if name == goal:
            return True
        new = below.get(name, frozenset()) - seen
        seen |= new
        stack.extend(new)
    return False


def _atoms(tbox: ClausalTBox) -> Iterator[Atom]:
    yield from tbox.atoms
    for clause in tbox.clauses:
        yield from clause.head


def _property_of(atom: Atom) -> Property | None:
    if isinstance(atom, str):
        return None
    return (
        Property(atom.role.iri, False)
        if isinstance(atom, AtLeast)
        else Property(atom.property, True)
    )


def _of_role_box(tbox: ClausalTBox) -> Iterator[tuple[str, bool]]:
    box = tbox.roles
    yield from ((iri, False) for iri in box.selves | box.reflexive)
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

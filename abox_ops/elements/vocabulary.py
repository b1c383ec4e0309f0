"""What a batch brings that a TBox does not speak of: names, and definitions of complex classes (THEORY, "Beyond SHIQ(D), at no
loss")."""

from __future__ import annotations

from collections.abc import Iterable

from abox_ops.elements.normal import definitions, normalise
from shiq import model as owl
from shiq.roles import RoleBox


def vocabulary(assertions: Iterable[owl.Assertion], roles: RoleBox) -> tuple[owl.SubClassOf | owl.Class, ...]:
    """What a TBox has to be extended by so that normalised ``assertions`` speak its atoms: definitions, then class names.

    In an order that depends on the set of assertions alone.
    """
    complex_: list[owl.Assertion] = []
    names: set[str] = set()
    for assertion in assertions:
        for plain in (assertion,) if type(assertion) in _PLAIN else normalise(assertion, roles).assertions:
            names.update(atom_names((plain,)))
            if plain is not assertion:
                complex_.append(assertion)
    ordered = sorted(complex_, key=repr)
    return (*definitions(ordered, roles), *map(owl.Class, sorted(names)))


#: What normal form leaves alone, and no class name stands in.
_PLAIN = (owl.ObjectPropertyAssertion, owl.DataPropertyAssertion, owl.SameIndividual, owl.DifferentIndividuals)


def name_of(defined: owl.ClassExpression) -> str:
    """The name that a definition defines."""
    if not isinstance(defined, owl.Class):
        raise TypeError(defined)
    return defined.iri


def atom_names(assertions: Iterable[owl.Assertion]) -> tuple[str, ...]:
    """The class names in normalised ``assertions``, in order: they have to be atoms."""
    found: dict[str, None] = {}
    for assertion in assertions:
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), _) | owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), _) if (
                iri != owl.NOTHING.iri
            ):
                found[iri] = None
    return tuple(found)

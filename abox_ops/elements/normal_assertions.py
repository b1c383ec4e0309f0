"""Normalise assertions to literals, role and data assertions on names, and (in)equalities; complex
ones get a defined name.

A complex class assertion a:C becomes a:Q with Q ⊑ C; ¬R(a, b) with R not simple, or above one
that may have loops without an assertion that says so, becomes a:∀R.¬N, b:N with N for b alone
(THEORY, "DL-clauses"). The names are a function of C and of b, so that A and A⁺ agree on them.
`collect_vocabulary`: what a batch brings that a TBox does not speak of (THEORY, "Beyond SHIQ(D), at no
loss").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.model.roles import Role, RoleBox, role_of

DEFINED = "urn:shiq:fresh:assertion:"
NAMED = "urn:shiq:fresh:individual:"


@dataclass(frozen=True, slots=True)
class NormalAssertions:
    """Result of normalising an assertion: simple ``assertions``, and the ``definitions`` Q ⊑ C of
    fresh names in them.

    Class assertions are on a (negated) name; negative role assertions are on simple roles. a:⊤ is
    dropped, a:¬⊤ becomes a:⊥.
    """

    assertions: tuple[owl.Assertion, ...]
    definitions: tuple[owl.SubClassOf, ...] = field(default=())


def normalise(assertion: owl.Assertion, roles: RoleBox) -> NormalAssertions:
    """Normalise ``assertion`` to assertions on names, with the definitions that these need."""
    match assertion:
        case owl.ClassAssertion(owl.Class() as name, _):
            return NormalAssertions(() if name == owl.THING else (assertion,))
        case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class() as name), individual):
            if name == owl.THING:
                return NormalAssertions((owl.ClassAssertion(owl.NOTHING, individual),))
            return NormalAssertions(() if name == owl.NOTHING else (assertion,))
        case owl.ClassAssertion(expression, individual):
            return _name_complex_expression(expression, individual)
        case owl.NegativeObjectPropertyAssertion(property, subject, object) if (
            _is_implied_by_others(role_of(property), roles)
        ):
            target = owl.Class(NAMED + object)
            rest = _name_complex_expression(
                owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(target)), subject
            )
            return NormalAssertions(
                (*rest.assertions, owl.ClassAssertion(target, object)), rest.definitions
            )
    return NormalAssertions((assertion,))


def _is_implied_by_others(role: Role, roles: RoleBox) -> bool:
    """Decide whether a pair may be in ``role`` without an asserted or needed role below it, as by
    transitivity.
    """
    return not roles.is_simple(role) or role in roles.roles_with_loops


def _name_complex_expression(expression: owl.ClassExpression, individual: str) -> NormalAssertions:
    """Replace the class expression of an assertion by a defined name, which is derived from the
    expression's text alone.
    """
    # Loaded where a class expression is asserted: most assertions are plain.
    from shiq.functional.writer import axiom_text

    name = owl.Class(DEFINED + hashlib.sha256(axiom_text(expression).encode()).hexdigest()[:24])
    return NormalAssertions(
        (owl.ClassAssertion(name, individual),), (owl.SubClassOf(name, expression),)
    )


def collect_definitions(
    assertions: Iterable[owl.Assertion], roles: RoleBox
) -> tuple[owl.SubClassOf, ...]:
    """Collect the definitions that ``assertions`` need, each once, in order."""
    return tuple(dict.fromkeys(d for a in assertions for d in normalise(a, roles).definitions))


def collect_vocabulary(
    assertions: Iterable[owl.Assertion], roles: RoleBox
) -> tuple[owl.SubClassOf | owl.Class, ...]:
    """Collect the definitions and class names that normalised ``assertions`` add to a TBox.

    Definitions come first; the order depends on the set of assertions alone.
    """
    complex_: list[owl.Assertion] = []
    names: set[str] = set()
    for assertion in assertions:
        for plain in (
            (assertion,) if type(assertion) in _PLAIN else normalise(assertion, roles).assertions
        ):
            names.update(atom_names((plain,)))
            if plain is not assertion:
                complex_.append(assertion)
    ordered = sorted(complex_, key=repr)
    return (*collect_definitions(ordered, roles), *map(owl.Class, sorted(names)))


#: What normal form leaves alone, and no class name stands in.
_PLAIN = (
    owl.ObjectPropertyAssertion,
    owl.DataPropertyAssertion,
    owl.SameIndividual,
    owl.DifferentIndividuals,
)


def definition_name(defined: owl.ClassExpression) -> str:
    """The name that a definition introduces."""
    if not isinstance(defined, owl.Class):
        raise TypeError(defined)
    return defined.iri


def name_literal(expression: owl.ClassExpression) -> tuple[str, bool]:
    """The literal (name, positive) that a normalised class assertion states."""
    match expression:
        case owl.Class(iri):
            return iri, True
        case owl.ObjectComplementOf(owl.Class(iri)):
            return iri, False
    raise TypeError(expression)


def literal_expression(iri: str, positive: bool) -> owl.ClassExpression:
    """The class expression of a literal: a name, or its negation."""
    return owl.Class(iri) if positive else owl.ObjectComplementOf(owl.Class(iri))


def atom_names(assertions: Iterable[owl.Assertion]) -> tuple[str, ...]:
    """The class names in normalised ``assertions``, in order; each must be an atom of the clauses."""
    names = (name_literal(a.expression)[0] for a in assertions if isinstance(a, owl.ClassAssertion))
    return tuple(dict.fromkeys(name for name in names if name != owl.NOTHING.iri))


def half_edges_of(
    individual: str, assertions: Iterable[owl.Assertion]
) -> Iterator[tuple[Role, str, owl.Assertion]]:
    """Yield (role, neighbour, assertion) for each role assertion about ``individual``, the role as
    seen from it.
    """
    for assertion in assertions:
        if isinstance(assertion, owl.ObjectPropertyAssertion):
            role = role_of(assertion.property)
            if assertion.subject == individual:
                yield role, assertion.object, assertion
            if assertion.object == individual:
                yield role.inverse, assertion.subject, assertion

"""Check axioms and assertions against SHIQ(D), and rewrite what has an equivalent in it.

Source: OWL 2 structural specification, section 11 (simple roles, datatypes); THEORY, "Beyond
SHIQ(D), at no loss".

>>> r, s, A = owl.ObjectProperty("urn:r"), owl.ObjectProperty("urn:s"), owl.Class("urn:A")
>>> inside, outside = split_axioms([owl.SubObjectPropertyChain((r, r), r), owl.HasKey(A, (s,), ())])
>>> inside
[TransitiveObjectProperty(property=ObjectProperty(iri='urn:r'))]
>>> [(kind, message) for _, kind, message in outside]
[('outside-shiq', 'HasKey is outside SHIQ(D)')]

Rewrite class assertions with nominals to assertions of SHIQ(D), where that is exact.

a:∃r.{b} is r(a,b); a:{b} is a = b; a:¬{b,c} is a ≠ b and a ≠ c; a:∃r.Self is r(a,a). An assertion
without an equivalent, such as a:{b,c}, keeps its nominal, so that it can be reported by name.

>>> from shiq.model import ObjectProperty
>>> inside = rewrite_nominals(owl.ClassAssertion(owl.ObjectHasValue(ObjectProperty("urn:r"), "urn:b"), "urn:a"))
>>> list(inside) == [owl.ObjectPropertyAssertion(ObjectProperty("urn:r"), "urn:a", "urn:b")]
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from shiq import model as owl
from shiq.model.built_in import BOTTOM, TOP, remove_built_in, remove_built_in_from_assertion
from shiq.model.roles import Role, RoleBox, role_box, role_of
from shiq.model.walk import ENTITY_KINDS, OF_INDIVIDUALS, entities, parts, rebuild
from shiq.rdf.vocabulary import LANGUAGE, VALUE_LINK

_NOMINALS = (owl.ObjectOneOf, owl.ObjectHasValue, owl.ObjectHasSelf)


def rewrite_nominals(assertion: owl.Assertion) -> Iterator[owl.Assertion]:
    """Rewrite an assertion to equivalent ones in which nominals remain only where necessary."""
    if not isinstance(assertion, owl.ClassAssertion) or not any(
        isinstance(part, _NOMINALS) for part in parts(assertion)
    ):
        yield assertion
        return
    subject = assertion.individual
    match _push_negation(assertion.expression):
        case owl.ObjectIntersectionOf(operands):
            for operand in operands:
                yield from rewrite_nominals(owl.ClassAssertion(operand, subject))
        case owl.ObjectUnionOf((operand,)):
            yield from rewrite_nominals(owl.ClassAssertion(operand, subject))
        case owl.ObjectOneOf(individuals) if subject in individuals:
            return
        case owl.ObjectOneOf(individuals) if len(set(individuals)) == 1:
            yield owl.SameIndividual(subject, individuals[0])
        case owl.ObjectComplementOf(owl.ObjectOneOf(individuals)):
            yield from (
                owl.DifferentIndividuals(subject, other) for other in dict.fromkeys(individuals)
            )
        case owl.ObjectHasValue(property, other):
            yield owl.ObjectPropertyAssertion(property, subject, other)
        case owl.ObjectComplementOf(owl.ObjectHasValue(property, other)):
            yield owl.NegativeObjectPropertyAssertion(property, subject, other)
        case owl.ObjectHasSelf(property):
            yield owl.ObjectPropertyAssertion(property, subject, subject)
        case owl.ObjectComplementOf(owl.ObjectHasSelf(property)):
            yield owl.NegativeObjectPropertyAssertion(property, subject, subject)
        case owl.ObjectSomeValuesFrom(property, filler) | owl.ObjectMinCardinality(
            1, property, filler
        ) if _sole_member(filler):
            yield owl.ObjectPropertyAssertion(property, subject, _sole_member(filler))
            yield from rewrite_nominals(owl.ClassAssertion(filler, _sole_member(filler)))
        case owl.ObjectAllValuesFrom(property, filler):
            yield from _rewrite_universal(subject, property, _push_negation(filler))
        case expression:
            yield owl.ClassAssertion(expression, subject)


def _rewrite_universal(
    subject: str, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> Iterator[owl.Assertion]:
    """Rewrite the assertion that ``subject`` is in ∀property.filler, conjunct by conjunct of the
    filler.
    """
    match filler:
        case owl.ObjectIntersectionOf(operands):
            for operand in operands:
                yield from _rewrite_universal(subject, property, _push_negation(operand))
        case owl.ObjectComplementOf(owl.ObjectOneOf(individuals)):
            yield from (
                owl.NegativeObjectPropertyAssertion(property, subject, other)
                for other in dict.fromkeys(individuals)
            )
        case _:
            yield owl.ClassAssertion(owl.ObjectAllValuesFrom(property, filler), subject)


def _sole_member(expression: owl.ClassExpression) -> str:
    """Return the only individual that can be a member of `expression`, or "" if there may be
    others.
    """
    match expression:
        case owl.ObjectOneOf(individuals) if len(set(individuals)) == 1:
            return individuals[0]
        case owl.ObjectIntersectionOf(operands):
            return next(filter(None, map(_sole_member, operands)), "")
    return ""


def _push_negation(expression: owl.ClassExpression) -> owl.ClassExpression:
    """Move the outermost negation of an expression inwards, to a name, nominal or cardinality
    restriction.
    """
    match expression:
        case owl.ObjectComplementOf(owl.ObjectComplementOf(operand)):
            return _push_negation(operand)
        case owl.ObjectComplementOf(owl.ObjectUnionOf(operands)):
            return owl.ObjectIntersectionOf(tuple(map(owl.ObjectComplementOf, operands)))
        case owl.ObjectComplementOf(owl.ObjectIntersectionOf(operands)):
            return owl.ObjectUnionOf(tuple(map(owl.ObjectComplementOf, operands)))
        case owl.ObjectComplementOf(
            owl.ObjectSomeValuesFrom(property, filler)
            | owl.ObjectMinCardinality(1, property, filler)
        ):
            return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(filler))
        case owl.ObjectComplementOf(owl.ObjectAllValuesFrom(property, filler)):
            return owl.ObjectSomeValuesFrom(
                property, _push_negation(owl.ObjectComplementOf(filler))
            )
        case owl.ObjectMaxCardinality(0, property, filler) | owl.ObjectExactCardinality(
            0, property, filler
        ):
            return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(filler))
    return expression


__all__ = ["rewrite_for_simple_roles", "roles_required_simple", "split_assertions", "split_axioms"]

V = TypeVar("V")

#: A kind of `shiq.answers.verdict.KINDS` and what is wrong.
Finding: TypeAlias = tuple[str, str]

_OUTSIDE = {
    owl.ObjectOneOf: "the nominal ObjectOneOf",
    owl.ObjectHasValue: "ObjectHasValue (a nominal)",
    owl.HasKey: "HasKey",
}
#: Stands among the axioms where a data property is inverse functional (`shiq.rdf.values_as_nodes`).
ON_NODES = owl.InverseFunctionalObjectProperty(owl.ObjectProperty(VALUE_LINK))
#: What an axiom may have where chains and loops are read.
_CHAINS_AND_LOOPS = {
    owl.ObjectHasSelf: "ObjectHasSelf",
    owl.ReflexiveObjectProperty: "ReflexiveObjectProperty",
    owl.SubObjectPropertyChain: "a property chain (SubObjectPropertyOf with ObjectPropertyChain)",
}
_CARDINALITIES = (owl.ObjectMinCardinality, owl.ObjectMaxCardinality, owl.ObjectExactCardinality)


def split_axioms(
    axioms: Sequence[owl.Axiom], *, chains: bool = True, in_both_readings: Collection[str] = ()
) -> tuple[list[owl.Axiom], list[tuple[owl.Axiom, str, str]]]:
    """Split axioms into those inside SHIQ(D), in order, and findings (axiom, kind, message) about
    the others.

    Call it on all axioms of all sources together. Rewritten, where that is exact: r∘r ⊑ r to
    transitivity; top and bottom properties (`shiq.model.built_in`); ≥1, ≤0 and =0 on non-simple
    roles to
    ∃ and ∀¬. Other axioms are returned unchanged. A finding has the axiom as given.

    An axiom with an unknown datatype is inside and also reported. So is the first axiom that uses
    an IRI as a second kind of property, or as class and datatype.

    chains: accept regular property chains, Self and reflexive roles (THEORY, "Chains and loops").
    in_both_readings: names that may occur as two kinds (`shiq.rdf.mapping`).

    Kinds: ``outside-shiq``, ``non-simple-role``, ``malformed``, ``ill-typed``,
    ``unknown-datatype``, ``punning``.
    """
    reported: list[tuple[owl.Axiom, str, str]] = []
    candidates: list[tuple[owl.Axiom, owl.Axiom]] = []
    if any(
        isinstance(axiom, owl.InverseFunctionalDataProperty) or axiom == ON_NODES
        for axiom in axioms
    ):
        axioms, reported = _rewrite_inverse_functional_data(axioms)
    for axiom in axioms:
        for plain in remove_built_in(_simplify_role_axiom(axiom)):
            outside = _reason_outside_shiq(plain, chains=chains)
            if outside:
                reported.append((axiom, "outside-shiq", outside))
            else:
                candidates.append((axiom, plain))
    candidates, beyond = _split_chains_and_loops(candidates) if chains else (candidates, [])
    reported += beyond
    roles = role_box(plain for _, plain in candidates)
    data = _DataChecks(plain for _, plain in candidates)
    inside: list[tuple[owl.Axiom, owl.Axiom]] = []
    for axiom, candidate in candidates:
        plain = rewrite_for_simple_roles(candidate, roles)
        refusal = _simplicity_violation(plain, roles) or data.find_range_fault(plain)
        if refusal and plain is not axiom and (term := _owl_vocabulary_term(axiom)):
            reported.append(
                (axiom, "outside-shiq", f"<{term}> in an axiom is outside SHIQ(D): {refusal[1]}")
            )
        elif refusal:
            reported.append((axiom, *refusal))
        else:
            inside.append((axiom, plain))
    data = _DataChecks(plain for _, plain in inside)
    reported += [
        (axiom, *finding)
        for axiom, plain in inside
        for finding in data.report_unknown_datatypes(plain)
    ]
    reported += _report_punning(inside, in_both_readings)
    return [plain for _, plain in inside], list(dict.fromkeys(reported))


def split_assertions(
    assertions: Sequence[owl.Assertion], axioms: Sequence[owl.Axiom] = ()
) -> tuple[list[owl.Assertion], list[tuple[owl.Assertion, str, str]]]:
    """Split assertions into those inside SHIQ(D), in order, and findings (assertion, kind, message)
    about the others.

    Nominals that only name another individual are rewritten (`shiq.model.profile`); of a
    conjunction,
    the conjuncts inside SHIQ(D) are kept. A finding has the assertion as given. An assertion with
    an unknown datatype is inside and also reported. Literals of plain data assertions are not
    checked.

    axioms: they determine which roles are simple and which datatypes are defined.
    """
    if not assertions:
        return [], []
    roles = role_box(axioms)
    data = _DataChecks(axioms)
    watches = ON_NODES in axioms
    inside: list[owl.Assertion] = []
    reported: list[tuple[owl.Assertion, str, str]] = []
    for assertion in assertions:
        if isinstance(assertion, OF_INDIVIDUALS):
            inside.append(assertion)
            continue
        for plain in remove_built_in_from_assertion(assertion):
            for part in rewrite_nominals(plain):
                if isinstance(part, owl.ClassAssertion) and not isinstance(
                    part.expression, owl.Class
                ):
                    part = rewrite_for_simple_roles(part, roles)
                outside = _reason_outside_shiq(part) or (
                    _value_query_reason(part, axioms) if watches else ""
                )
                refusal = (
                    ("outside-shiq", outside)
                    if outside
                    else _simplicity_violation(part, roles) or data.find_range_fault(part)
                )
                if refusal:
                    reported.append((assertion, *refusal))
                    continue
                inside.append(part)
                if not isinstance(part, owl.DataPropertyAssertion):
                    reported += [
                        (assertion, *finding) for finding in data.report_unknown_datatypes(part)
                    ]
    return inside, list(dict.fromkeys(reported))


def _rewrite_inverse_functional_data(
    axioms: Sequence[owl.Axiom],
) -> tuple[list[owl.Axiom], list[tuple[owl.Axiom, str, str]]]:
    """Rewrite inverse functional data properties: each value becomes an individual, linked by a
    role (`shiq.rdf.values_as_nodes`).

    They are also reported if axioms require values that no assertion gives. Individuals that share
    such a value are not recognised.
    """
    from shiq.rdf.values_as_nodes import (
        inverse_functional_properties,
        properties_needing_values,
        value_role_axioms,
    )

    plain = [axiom for axiom in axioms if not isinstance(axiom, owl.InverseFunctionalDataProperty)]
    asked = sorted(properties_needing_values(axioms))
    message = (
        f"<{asked[0]}> is, or is below, an inverse functional data property, and axioms ask for its values"
        if asked
        else ""
    )
    tops = (
        [
            owl.InverseFunctionalDataProperty(owl.DataProperty(iri))
            for iri in sorted(inverse_functional_properties(axioms))
        ]
        if asked
        else []
    )
    return [*dict.fromkeys([*plain, *value_role_axioms(axioms)])], [
        (top, "outside-shiq", message) for top in tops
    ]


def _value_query_reason(assertion: owl.Assertion, axioms: Sequence[owl.Axiom]) -> str:
    """Explain why an assertion demands some value of an inverse functional data property, which is
    unsupported; "" if it does not.
    """
    if not isinstance(assertion, owl.ClassAssertion) or isinstance(assertion.expression, owl.Class):
        return ""
    from shiq.rdf.values_as_nodes import properties_needing_values

    asked = properties_needing_values(axioms, [assertion.expression]) - properties_needing_values(
        axioms
    )
    return (
        f"<{min(asked)}> is, or is below, an inverse functional data property, and is asked for"
        if asked
        else ""
    )


# --- constructs -----------------------------------------------------------------------------------


def _simplify_role_axiom(axiom: owl.Axiom) -> owl.Axiom:
    """Rewrite a property axiom to a simpler one: r∘r ⊑ r to transitivity, a chain of one to an
    inclusion.
    """
    match axiom:
        case owl.SubObjectPropertyChain(chain, sup) if len(chain) == 2 and set(chain) == {sup}:
            return owl.TransitiveObjectProperty(sup)
        case owl.SubObjectPropertyChain((sub,), sup):
            return owl.SubObjectPropertyOf(sub, sup)
        case owl.SubObjectPropertyOf(sub, owl.ObjectProperty(iri)) if (
            iri == owl.OWL + "differentFrom"
        ):
            return owl.IrreflexiveObjectProperty(sub)
    return axiom


def _split_chains_and_loops(
    candidates: list[tuple[owl.Axiom, owl.Axiom]],
) -> tuple[list[tuple[owl.Axiom, owl.Axiom]], list[tuple[owl.Axiom, str, str]]]:
    """Separate the axioms whose chains or Self restrictions are outside SHIQ(D), and report them.

    candidates: (axiom as given, its form inside SHIQ(D)).
    """
    axioms = [plain for _, plain in candidates]
    roles = role_box(axioms)
    if not (roles.composite or roles.self_properties):
        return candidates, []
    without = role_box(
        axiom for axiom in axioms if not isinstance(axiom, owl.SubObjectPropertyChain)
    )
    simple: dict[Role, str] = {}
    for axiom in axioms:
        for property, use in roles_required_simple(rewrite_for_simple_roles(axiom, roles)):
            if without.is_simple(role_of(property)):
                simple.setdefault(role_of(property), f"{use}, {_role_text(role_of(property))},")
    # Loaded where a TBox has property chains.
    from shiq.model.role_words import irregular_chains

    beyond = irregular_chains(axioms, simple) if roles.composite else {}
    inside: list[tuple[owl.Axiom, owl.Axiom]] = []
    reported: list[tuple[owl.Axiom, str, str]] = []
    for axiom, plain in candidates:
        selves = (
            role_of(part.property) for part in parts(plain) if isinstance(part, owl.ObjectHasSelf)
        )
        composite = next((role for role in selves if not without.is_simple(role)), None)
        if plain in beyond:
            message = f"{_CHAINS_AND_LOOPS[owl.SubObjectPropertyChain]} is outside SHIQ(D): {beyond[plain]}"
            reported.append((axiom, "outside-shiq", message))
        elif composite is not None:
            message = (
                f"ObjectHasSelf on {_role_text(composite)}, which is not simple, is outside SHIQ(D)"
            )
            reported.append((axiom, "outside-shiq", message))
        else:
            inside.append((axiom, plain))
    return inside, reported


def _reason_outside_shiq(value: owl.Axiom | owl.Assertion, *, chains: bool = False) -> str:
    """Explain why an axiom or assertion is outside SHIQ(D); "" if it is inside.

    chains: accept chains, Self and reflexive roles.
    """
    for part in parts(value):
        if type(part) in _OUTSIDE:
            return f"{_OUTSIDE[type(part)]} is outside SHIQ(D)"
        if type(part) in _CHAINS_AND_LOOPS and not chains:
            return f"{_CHAINS_AND_LOOPS[type(part)]} is outside SHIQ(D)"
        if isinstance(part, owl.ObjectProperty | owl.DataProperty) and part.iri in TOP | BOTTOM:
            return f"owl:{part.iri.rpartition('#')[2]}, used like this, is outside SHIQ(D)"
    if term := _owl_vocabulary_term(value):
        return f"<{term}> in an axiom is outside SHIQ(D): it is a word of the language, and gives others a meaning"
    return ""


def _owl_vocabulary_term(value: owl.Axiom | owl.Assertion) -> str:
    """Return the first class or property of the OWL vocabulary itself that an axiom or assertion
    constrains, or "".
    """
    terms = (part.iri for part in parts(value) if isinstance(part, owl.ObjectProperty | owl.Class))
    return next((iri for iri in terms if iri in LANGUAGE), "")


def _report_punning(
    axioms: Iterable[tuple[owl.Axiom, owl.Axiom]], in_both_readings: Collection[str]
) -> list[tuple[owl.Axiom, str, str]]:
    """Report each IRI used as two kinds of entity, with the first axiom in which it is of the
    second kind.
    """
    seen: dict[tuple[bool, str], str] = {}
    told: set[str] = {*in_both_readings}
    found: list[tuple[owl.Axiom, str, str]] = []
    for axiom, plain in axioms:
        for part in entities(plain):
            kind = ENTITY_KINDS[type(part)]
            before = seen.setdefault((kind.endswith("property"), part.iri), kind)
            if before != kind and part.iri not in told:
                told.add(part.iri)
                found.append((axiom, "punning", f"<{part.iri}> is used as {before} and as {kind}"))
    return found


# --- simple roles ---------------------------------------------------------------------------------


def rewrite_for_simple_roles(axiom: V, roles: RoleBox) -> V:
    """Rewrite ≥1, ≥0, ≤0 and =0 on non-simple roles to ∃, ⊤ and ∀¬, for which the role need not be
    simple.
    """
    if not any(
        isinstance(part, _CARDINALITIES) and not roles.is_simple(role_of(part.property))
        for part in parts(axiom)
    ):
        return axiom

    def rewrite_restriction(expression: Any) -> Any:
        """Rewrite a trivial cardinality on a non-simple role; None for other parts."""
        match expression:
            case owl.ObjectMinCardinality(n, property, filler) if n < 2 and not roles.is_simple(
                role_of(property)
            ):
                return owl.ObjectSomeValuesFrom(property, filler) if n else owl.THING
            case owl.ObjectMaxCardinality(0, property, filler) | owl.ObjectExactCardinality(
                0, property, filler
            ) if not roles.is_simple(role_of(property)):
                return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(filler))
        return expression

    return rebuild(axiom, rewrite_restriction)


def roles_required_simple(
    value: owl.Axiom | owl.Assertion,
) -> Iterator[tuple[owl.ObjectPropertyExpression, str]]:
    """Yield the roles in ``value`` that must be simple, each with the construct that requires
    it.
    """
    match value:
        case owl.FunctionalObjectProperty(property):
            yield property, "a functional role"
        case owl.InverseFunctionalObjectProperty(property):
            yield property, "an inverse functional role"
        case owl.AsymmetricObjectProperty(property):
            yield property, "an asymmetric role"
        case owl.IrreflexiveObjectProperty(property):
            yield property, "an irreflexive role"
        case owl.DisjointObjectProperties(properties):
            yield from ((property, "a disjoint role") for property in properties)
    for part in parts(value):
        if isinstance(part, _CARDINALITIES):
            yield part.property, f"a role in {type(part).__name__}({part.cardinality} …)"
        elif isinstance(part, owl.ObjectHasSelf):
            yield part.property, "a role in ObjectHasSelf"


def _simplicity_violation(value: owl.Axiom | owl.Assertion, roles: RoleBox) -> Finding | None:
    """Explain why a role that must be simple is not; None if all such roles are."""
    for property, use in roles_required_simple(value):
        role = role_of(property)
        composite = sorted(roles.subroles(role) & roles.composite)
        if composite:
            return (
                "non-simple-role",
                f"{use} must be simple, but {_role_text(role)} is above what a property chain implies",
            )
        transitive = sorted(roles.subroles(role) & roles.transitive)
        if transitive:
            why = (
                "is transitive"
                if role in transitive
                else f"has the transitive subrole {_role_text(transitive[0])}"
            )
            return "non-simple-role", f"{use} must be simple, but {_role_text(role)} {why}"
    return None


def _role_text(role: Role) -> str:
    """Write a role for a message."""
    return f"the inverse of <{role.iri}>" if role.is_inverse else f"<{role.iri}>"


# --- data -----------------------------------------------------------------------------------------


class _DataChecks:
    """Checks of the data ranges and literals in axioms and assertions, under datatype definitions."""

    def __init__(self, axioms: Iterable[owl.Axiom]) -> None:
        from shiq.datatypes import DataTheory, is_known

        self._is_known = is_known
        self._definitions: dict[str, owl.DataRange] = {}
        for axiom in axioms:
            if isinstance(axiom, owl.DatatypeDefinition):
                self._definitions.setdefault(axiom.datatype.iri, axiom.range)
        definitions: Mapping[str, owl.DataRange] = self._definitions
        self._theory = DataTheory(definitions)

    def find_range_fault(self, value: owl.Axiom | owl.Assertion) -> Finding | None:
        """Report a malformed data range in an axiom or assertion; None if there is none.

        Reasons: an ill-typed literal, an illegal facet, a cyclic definition.
        """
        if isinstance(value, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion):
            return None
        from shiq.datatypes import IllTyped

        if isinstance(value, owl.DatatypeDefinition):
            if self._definitions[value.datatype.iri] != value.range:
                return "malformed", f"<{value.datatype.iri}> is defined twice, differently"
            if fault := self._theory.range_fault(value.datatype):
                return "malformed", fault
        for part in parts(value):
            if isinstance(part, owl.Literal) and isinstance(
                typed := self._theory.value(part), IllTyped
            ):
                return "ill-typed", typed.reason
            if isinstance(part, owl.DatatypeRestriction | owl.DataOneOf) and (
                fault := self._theory.range_fault(part)
            ):
                return "malformed", fault
        return None

    def report_unknown_datatypes(self, value: owl.Axiom | owl.Assertion) -> list[Finding]:
        """Report the datatypes in an axiom or assertion that are neither known nor defined."""
        names: dict[str, None] = {}
        for part in parts(value):
            if (
                isinstance(part, owl.Datatype)
                and part.iri not in self._definitions
                and not self._is_known(part.iri)
            ):
                names[part.iri] = None
            elif isinstance(part, owl.Literal) and not self._is_known(part.datatype):
                names[part.datatype] = None
        return [
            ("unknown-datatype", f"nothing defines the datatype <{name}>: its values are opaque")
            for name in names
        ]

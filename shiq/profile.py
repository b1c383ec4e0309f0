"""What lies inside SHIQ(D), what does not, and why; and what can be brought inside without
changing its meaning.

Source: OWL 2 structural specification, section 11 (simple roles, datatypes); THEORY, "Beyond
SHIQ(D), at no loss".

>>> r, s, A = owl.ObjectProperty("urn:r"), owl.ObjectProperty("urn:s"), owl.Class("urn:A")
>>> inside, outside = split_axioms([owl.SubObjectPropertyChain((r, r), r), owl.HasKey(A, (s,), ())])
>>> inside
[TransitiveObjectProperty(property=ObjectProperty(iri='urn:r'))]
>>> [(kind, message) for _, kind, message in outside]
[('outside-shiq', 'HasKey is outside SHIQ(D)')]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from shiq import model as owl
from shiq.built_in import BOTTOM, TOP, assertion_without_built_in, without_built_in
from shiq.nominals import without_nominals
from shiq.rdf.vocabulary import LANGUAGE, VALUE_LINK
from shiq.roles import Role, RoleBox, role_box, role_of
from shiq.signature import OF_INDIVIDUALS, parts

__all__ = ["on_simple_roles", "simple_needed", "split_assertions", "split_axioms"]

V = TypeVar("V")

#: A kind of `shiq.verdict.KINDS` and what is wrong.
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
    """The axioms inside SHIQ(D), in order, and what is wrong with others: (axiom, kind, message).

    Call it once all sources are together. ``chains``: whether regular property chains, Self and
    reflexive roles count as inside too (THEORY, "Chains and loops"). Brought inside where that
    is exact: r∘r ⊑ r is transitivity; the top and bottom properties (`shiq.built_in`); ≥1, ≤0
    and =0 on a role that is not simple, as ∃ and ∀¬. Axioms that these leave alone are returned
    as they are; reported is always the axiom as given. One with an unknown datatype, and the
    first with an IRI as a second kind of property (or as class and datatype), is inside and
    reported too; of others reported, what could be brought inside at most.

    in_both_readings: names that are meant to occur as two kinds (`shiq.rdf.two_readings`).

    Kinds: ``outside-shiq``, ``non-simple-role``, ``malformed``, ``ill-typed``,
    ``unknown-datatype``, ``punning``.
    """
    reported: list[tuple[owl.Axiom, str, str]] = []
    candidates: list[tuple[owl.Axiom, owl.Axiom]] = []
    if any(
        isinstance(axiom, owl.InverseFunctionalDataProperty) or axiom == ON_NODES
        for axiom in axioms
    ):
        axioms, reported = _on_nodes(axioms)
    for axiom in axioms:
        for plain in without_built_in(_plain(axiom)):
            outside = _outside(plain, chains=chains)
            if outside:
                reported.append((axiom, "outside-shiq", outside))
            else:
                candidates.append((axiom, plain))
    candidates, beyond = _readable(candidates) if chains else (candidates, [])
    reported += beyond
    roles = role_box(plain for _, plain in candidates)
    data = _Data(plain for _, plain in candidates)
    inside: list[tuple[owl.Axiom, owl.Axiom]] = []
    for axiom, candidate in candidates:
        plain = on_simple_roles(candidate, roles)
        refusal = _not_simple(plain, roles) or data.refusal(plain)
        if refusal and plain is not axiom and (term := _term_of_language(axiom)):
            reported.append(
                (axiom, "outside-shiq", f"<{term}> in an axiom is outside SHIQ(D): {refusal[1]}")
            )
        elif refusal:
            reported.append((axiom, *refusal))
        else:
            inside.append((axiom, plain))
    data = _Data(plain for _, plain in inside)
    reported += [(axiom, *finding) for axiom, plain in inside for finding in data.unknown(plain)]
    reported += _punning(inside, in_both_readings)
    return [plain for _, plain in inside], list(dict.fromkeys(reported))


def split_assertions(
    assertions: Sequence[owl.Assertion], axioms: Sequence[owl.Axiom] = ()
) -> tuple[list[owl.Assertion], list[tuple[owl.Assertion, str, str]]]:
    """The assertions inside SHIQ(D), in order, and what is wrong with others: (assertion, kind,
    message).

    ``axioms`` say which roles are simple and which datatypes are defined. Nominals that only
    name another individual are rewritten exactly: a:∃r.{b} is r(a,b), a:¬∃r.{b} and a:∀r.¬{b}
    are ¬r(a,b), a:{b} is a = b, a:¬{b,c} is a ≠ b and a ≠ c, a:∃r.Self is r(a,a); of a
    conjunction the parts that can be said are inside. Reported is always the assertion as given;
    one with an unknown datatype is inside too. The literals of plain data assertions are passed
    over here.
    """
    if not assertions:
        return [], []
    roles = role_box(axioms)
    data = _Data(axioms)
    watches = ON_NODES in axioms
    inside: list[owl.Assertion] = []
    reported: list[tuple[owl.Assertion, str, str]] = []
    for assertion in assertions:
        if isinstance(assertion, OF_INDIVIDUALS):
            inside.append(assertion)
            continue
        for plain in assertion_without_built_in(assertion):
            for part in without_nominals(plain):
                if isinstance(part, owl.ClassAssertion) and not isinstance(
                    part.expression, owl.Class
                ):
                    part = owl.ClassAssertion(
                        _expression_on_simple_roles(part.expression, roles), part.individual
                    )
                outside = _outside(part) or (_asks(part, axioms) if watches else "")
                refusal = (
                    ("outside-shiq", outside)
                    if outside
                    else _not_simple(part, roles) or data.refusal(part)
                )
                if refusal:
                    reported.append((assertion, *refusal))
                    continue
                inside.append(part)
                if not isinstance(part, owl.DataPropertyAssertion):
                    reported += [(assertion, *finding) for finding in data.unknown(part)]
    return inside, list(dict.fromkeys(reported))


def _on_nodes(
    axioms: Sequence[owl.Axiom],
) -> tuple[list[owl.Axiom], list[tuple[owl.Axiom, str, str]]]:
    """``axioms`` with those on roles of values for inverse functional data properties; these,
    reported where values are asked for that nothing asserts: that individuals have one of them
    in common is not seen.
    """
    from shiq.rdf.values_as_nodes import asked_for, value_axioms, watched

    plain = [axiom for axiom in axioms if not isinstance(axiom, owl.InverseFunctionalDataProperty)]
    asked = sorted(asked_for(axioms))
    message = (
        f"<{asked[0]}> is, or is below, an inverse functional data property, and axioms ask for its values"
        if asked
        else ""
    )
    tops = (
        [
            owl.InverseFunctionalDataProperty(owl.DataProperty(iri))
            for iri in sorted(watched(axioms))
        ]
        if asked
        else []
    )
    return [*dict.fromkeys([*plain, *value_axioms(axioms)])], [
        (top, "outside-shiq", message) for top in tops
    ]


def _asks(assertion: owl.Assertion, axioms: Sequence[owl.Axiom]) -> str:
    """Why an assertion asks for a value of a property below an inverse functional one; "" if it
    does not.
    """
    if not isinstance(assertion, owl.ClassAssertion) or isinstance(assertion.expression, owl.Class):
        return ""
    from shiq.rdf.values_as_nodes import asked_for

    asked = asked_for(axioms, [assertion.expression]) - asked_for(axioms)
    return (
        f"<{min(asked)}> is, or is below, an inverse functional data property, and is asked for"
        if asked
        else ""
    )


# --- constructs -----------------------------------------------------------------------------------


def _plain(axiom: owl.Axiom) -> owl.Axiom:
    """``axiom`` without a chain that is none, and without owl:differentFrom as what includes a
    role.
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


def _readable(
    candidates: list[tuple[owl.Axiom, owl.Axiom]],
) -> tuple[list[tuple[owl.Axiom, owl.Axiom]], list[tuple[owl.Axiom, str, str]]]:
    """``candidates`` (axioms as given, and as they would be inside) without the chains and the
    Self that cannot be read; these, reported.
    """
    axioms = [plain for _, plain in candidates]
    roles = role_box(axioms)
    if not (roles.composite or roles.selves):
        return candidates, []
    without = role_box(
        axiom for axiom in axioms if not isinstance(axiom, owl.SubObjectPropertyChain)
    )
    simple: dict[Role, str] = {}
    for axiom in axioms:
        for property, use in simple_needed(on_simple_roles(axiom, roles)):
            if without.is_simple(role_of(property)):
                simple.setdefault(role_of(property), f"{use}, {_shown(role_of(property))},")
    # Loaded where a TBox has property chains.
    from shiq.role_words import beyond_reach

    beyond = beyond_reach(axioms, simple) if roles.composite else {}
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
                f"ObjectHasSelf on {_shown(composite)}, which is not simple, is outside SHIQ(D)"
            )
            reported.append((axiom, "outside-shiq", message))
        else:
            inside.append((axiom, plain))
    return inside, reported


def _outside(value: owl.Axiom | owl.Assertion, *, chains: bool = False) -> str:
    """Why ``value`` is outside SHIQ(D), or "". ``chains``: but for chains, Self and reflexive
    roles.
    """
    for part in parts(value):
        if type(part) in _OUTSIDE:
            return f"{_OUTSIDE[type(part)]} is outside SHIQ(D)"
        if type(part) in _CHAINS_AND_LOOPS and not chains:
            return f"{_CHAINS_AND_LOOPS[type(part)]} is outside SHIQ(D)"
        if isinstance(part, owl.ObjectProperty | owl.DataProperty) and part.iri in TOP | BOTTOM:
            return f"owl:{part.iri.rpartition('#')[2]}, used like this, is outside SHIQ(D)"
    if term := _term_of_language(value):
        return f"<{term}> in an axiom is outside SHIQ(D): it is a word of the language, and gives others a meaning"
    return ""


def _term_of_language(value: owl.Axiom | owl.Assertion) -> str:
    """The first term in ``value`` by which OWL itself is written, or ""."""
    terms = (part.iri for part in parts(value) if isinstance(part, owl.ObjectProperty | owl.Class))
    return next((iri for iri in terms if iri in LANGUAGE), "")


def _punning(
    axioms: Iterable[tuple[owl.Axiom, owl.Axiom]], in_both_readings: Collection[str]
) -> list[tuple[owl.Axiom, str, str]]:
    """Each IRI that stands for two kinds, with the first axiom (as given, and as it is inside)
    in which it is the second.
    """
    seen: dict[tuple[str, str], str] = {}
    told: set[str] = {*in_both_readings}
    found: list[tuple[owl.Axiom, str, str]] = []
    for axiom, plain in axioms:
        for part in parts(plain):
            match part:
                case owl.ObjectProperty(iri):
                    group, kind = "property", "object property"
                case owl.DataProperty(iri):
                    group, kind = "property", "data property"
                case owl.Class(iri):
                    group, kind = "", "class"
                case owl.Datatype(iri):
                    group, kind = "", "datatype"
                case _:
                    continue
            before = seen.setdefault((group, iri), kind)
            if before != kind and iri not in told:
                told.add(iri)
                found.append((axiom, "punning", f"<{iri}> is used as {before} and as {kind}"))
    return found


# --- simple roles ---------------------------------------------------------------------------------


def on_simple_roles(axiom: V, roles: RoleBox) -> V:
    """``axiom`` (or an assertion) with ≥1, ≥0, ≤0 and =0 on roles that are not simple written as
    ∃, ⊤ and ∀¬.
    """
    if not any(
        isinstance(part, _CARDINALITIES) and not roles.is_simple(role_of(part.property))
        for part in parts(axiom)
    ):
        return axiom
    changed: dict[str, Any] = {}
    for name in type(axiom).__match_args__:  # type: ignore[attr-defined]
        value = getattr(axiom, name)
        if isinstance(value, tuple):
            changed[name] = tuple(_expression_on_simple_roles(member, roles) for member in value)
        else:
            changed[name] = _expression_on_simple_roles(value, roles)
    return replace(axiom, **changed)  # type: ignore[type-var]


def _expression_on_simple_roles(expression: Any, roles: RoleBox) -> Any:
    """The same for a class expression; anything else is returned as it is."""

    def rewritten(operand: owl.ClassExpression) -> Any:
        return _expression_on_simple_roles(operand, roles)

    match expression:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            return type(expression)(tuple(map(rewritten, operands)))
        case owl.ObjectComplementOf(operand):
            return owl.ObjectComplementOf(rewritten(operand))
        case owl.ObjectSomeValuesFrom(property, filler) | owl.ObjectAllValuesFrom(property, filler):
            return type(expression)(property, rewritten(filler))
        case owl.ObjectMinCardinality(n, property, filler) if n < 2 and not roles.is_simple(
            role_of(property)
        ):
            return owl.ObjectSomeValuesFrom(property, rewritten(filler)) if n else owl.THING
        case owl.ObjectMaxCardinality(0, property, filler) | owl.ObjectExactCardinality(
            0, property, filler
        ) if not roles.is_simple(role_of(property)):
            return owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(rewritten(filler)))
        case (
            owl.ObjectMinCardinality(n, property, filler)
            | owl.ObjectMaxCardinality(n, property, filler)
            | owl.ObjectExactCardinality(n, property, filler)
        ):
            return type(expression)(n, property, rewritten(filler))
    return expression


def simple_needed(
    value: owl.Axiom | owl.Assertion,
) -> Iterator[tuple[owl.ObjectPropertyExpression, str]]:
    """Every role in ``value`` that has to be simple, and for what."""
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


def _not_simple(value: owl.Axiom | owl.Assertion, roles: RoleBox) -> Finding | None:
    for property, use in simple_needed(value):
        role = role_of(property)
        composite = sorted(roles.subroles(role) & roles.composite)
        if composite:
            return (
                "non-simple-role",
                f"{use} must be simple, but {_shown(role)} is above what a property chain implies",
            )
        transitive = sorted(roles.subroles(role) & roles.transitive)
        if transitive:
            why = (
                "is transitive"
                if role in transitive
                else f"has the transitive subrole {_shown(transitive[0])}"
            )
            return "non-simple-role", f"{use} must be simple, but {_shown(role)} {why}"
    return None


def _shown(role: Role) -> str:
    return f"the inverse of <{role.iri}>" if role.inverted else f"<{role.iri}>"


# --- data -----------------------------------------------------------------------------------------


class _Data:
    """What the datatype layer says of data ranges and literals, given the datatype definitions
    among ``axioms``.
    """

    def __init__(self, axioms: Iterable[owl.Axiom]) -> None:
        from shiq.datatypes import DataTheory, is_known

        self._is_known = is_known
        self._definitions: dict[str, owl.DataRange] = {}
        for axiom in axioms:
            if isinstance(axiom, owl.DatatypeDefinition):
                self._definitions.setdefault(axiom.datatype.iri, axiom.range)
        definitions: Mapping[str, owl.DataRange] = self._definitions
        self._theory = DataTheory(definitions)

    def refusal(self, value: owl.Axiom | owl.Assertion) -> Finding | None:
        """Why the data ranges in ``value`` mean nothing: an ill-typed literal, an illegal facet,
        a cyclic definition.
        """
        if isinstance(value, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion):
            return None
        from shiq.datatypes import IllTyped

        if isinstance(value, owl.DatatypeDefinition):
            if self._definitions[value.datatype.iri] != value.range:
                return "malformed", f"<{value.datatype.iri}> is defined twice, differently"
            if fault := self._theory.malformed(value.datatype):
                return "malformed", fault
        for part in parts(value):
            if isinstance(part, owl.Literal) and isinstance(
                typed := self._theory.value(part), IllTyped
            ):
                return "ill-typed", typed.reason
            if isinstance(part, owl.DatatypeRestriction | owl.DataOneOf) and (
                fault := self._theory.malformed(part)
            ):
                return "malformed", fault
        return None

    def unknown(self, value: owl.Axiom | owl.Assertion) -> list[Finding]:
        """The datatypes in ``value`` that are neither known nor defined."""
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

"""Constructs of functional-style syntax: how a keyword and its arguments become a value of the OWL
model.

Source: OWL 2 structural specification, sections 5 to 10 and appendix "Complete Grammar".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Any

from shiq import model as m
from shiq.functional.arguments import (
    Annotation,
    AnnotationAxiom,
    ArgumentGroup,
    Chain,
    Coercion,
    DeclaredEntity,
    DifferentMembers,
    ImportDeclaration,
    RefusedConstruct,
    annotation_property,
    annotation_subject,
    annotation_value,
    cardinality,
    class_expression,
    data_property,
    data_range,
    datatype,
    declared_entity,
    entity_iri,
    individual,
    list_check,
    literal,
    named_class,
    object_property,
    plain_iri,
    role,
)
from shiq.model.walk import MOST_DIFFERENT

_FEW = 8


@dataclass(frozen=True)
class ConstructRule:
    """Syntax rule of a construct: the checks of its arguments, and the function that makes its
    value.

    make: takes the ``positional`` arguments, then the ``optional`` one if present, or all further
    ones
        as a tuple (``variadic``, at least ``min_variadic`` of them)
    takes_annotations: whether annotations may come first, as in axioms
    verbatim: replaces ``make`` for text that shiq wrote itself, and undoes what it wrote
    """

    make: Callable[..., Any]
    positional: tuple[Coercion, ...] = ()
    optional: Coercion | None = None
    variadic: Coercion | None = None
    min_variadic: int = 0
    takes_annotations: bool = False
    verbatim: Callable[..., Any] | None = None

    def build(self, keyword: str, arguments: Sequence[object], *, verbatim: bool = False) -> Any:
        """Check the arguments, and make the value of ``keyword(arguments)``. Raises:
        RefusedConstruct.
        """
        make = self.verbatim if verbatim and self.verbatim else self.make
        if self.takes_annotations:
            skipped = 0
            while skipped < len(arguments) and isinstance(arguments[skipped], Annotation):
                skipped += 1
            arguments = arguments[skipped:]
        count, fixed = len(arguments), len(self.positional)
        most = fixed + (self.optional is not None)
        if count < fixed + self.min_variadic or (self.variadic is None and count > most):
            least = (
                f"at least {fixed + self.min_variadic}"
                if self.variadic
                else f"{fixed} or {most}"
                if most > fixed
                else f"{fixed}"
            )
            raise RefusedConstruct(f"{keyword} takes {least} arguments, here are {count}")
        values = [coerce(argument) for coerce, argument in zip(self.positional, arguments)]
        if self.variadic is not None:
            return make(*values, tuple(map(self.variadic, arguments[fixed:])))
        if self.optional is not None:
            values += map(self.optional, arguments[fixed:])
        return make(*values)


def _axiom_rule(
    make: Callable[..., Any], *fixed: Coercion, rest: Coercion | None = None, least: int = 2
) -> ConstructRule:
    """Make the rule of an axiom, with ``fixed`` arguments and maybe ``least`` or more further ones,
    checked by ``rest``.
    """
    return ConstructRule(
        make, fixed, variadic=rest, min_variadic=least if rest else 0, takes_annotations=True
    )


def _disjointness_rule(make: Callable[..., Any], *fixed: Coercion, rest: Coercion) -> ConstructRule:
    """Make the rule of a disjointness axiom. Repeated members are dropped, as section 2.1 asks.

    A single remaining member is refused, since a contradiction may have been meant. RDF can state
    that contradiction, so text written from RDF is taken verbatim.
    """

    def build_axiom(*arguments: Any) -> Any:
        """Make the axiom of at least two members."""
        *first, members = arguments
        return make(*first, _at_least_two_members(members))

    return ConstructRule(
        build_axiom, fixed, variadic=rest, min_variadic=2, takes_annotations=True, verbatim=make
    )


def _at_least_two_members(members: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop repeated members. Raises: RefusedConstruct if fewer than two remain."""
    distinct = tuple(dict.fromkeys(members))
    if len(distinct) < 2:
        raise RefusedConstruct("all members are the same: its meaning is not defined")
    return distinct


def _same_individuals(members: tuple[str, ...]) -> tuple[m.Assertion, ...]:
    """Make equalities of each individual and the next. Raises: RefusedConstruct if there are too
    many.
    """
    # All pairs, though n - 1 say as much: an axiom that is deleted leaves no pair of its own, in
    # whatever order it is written, and one about some of the members leaves all of them the same,
    # as the whole axiom says.
    if len(members) > MOST_DIFFERENT:
        raise RefusedConstruct(
            f"SameIndividual of {len(members)} is over the limit of {MOST_DIFFERENT}",
            hint="say it in pairs, of each individual and the next",
        )
    return tuple(m.SameIndividual(*pair) for pair in combinations(members, 2))


def _different_individuals(members: tuple[str, ...]) -> DifferentMembers | tuple[m.Assertion, ...]:
    """Make inequalities of all pairs, or one value for many individuals."""
    distinct = _at_least_two_members(members)
    if len(distinct) > MOST_DIFFERENT:
        raise RefusedConstruct(
            f"DifferentIndividuals of {len(distinct)} is over the limit of {MOST_DIFFERENT}",
            hint="split it, or say the differences that matter one by one",
        )
    if len(distinct) > _FEW:
        return DifferentMembers(distinct)
    return tuple(m.DifferentIndividuals(*pair) for pair in combinations(distinct, 2))


def _chain_or_role(value: object) -> Any:
    """Convert an argument to a property chain or a role. Raises: RefusedConstruct."""
    return value if isinstance(value, Chain) else role(value)


def _object_inclusion(
    sub: Chain | m.ObjectPropertyExpression, sup: m.ObjectPropertyExpression
) -> m.Axiom:
    """Make the inclusion axiom of a role, or of a chain, in a role."""
    return (
        m.SubObjectPropertyChain(sub.properties, sup)
        if isinstance(sub, Chain)
        else m.SubObjectPropertyOf(sub, sup)
    )


def _data_restriction_rule(make: Callable[..., Any]) -> ConstructRule:
    """Make the rule of a data restriction (DataSomeValuesFrom, …) on one property."""

    def build_restriction(*arguments: Any) -> Any:
        """Make the restriction. Raises: RefusedConstruct for several properties."""
        if len(arguments[0]) > 2:
            raise RefusedConstruct("a data range over several properties", "outside-shiq")
        property, range = arguments[0]
        return make(data_property(property), data_range(range))

    return ConstructRule(build_restriction, variadic=lambda value: value, min_variadic=2)


def _datatype_restriction(base: m.Datatype, rest: tuple[object, ...]) -> m.DatatypeRestriction:
    """Make a datatype restricted by facets. Raises: RefusedConstruct for a facet without value."""
    if len(rest) % 2:
        raise RefusedConstruct("a facet without a value")
    return m.DatatypeRestriction(
        base, tuple((plain_iri(f), literal(v)) for f, v in zip(rest[::2], rest[1::2]))
    )


def _assertion_rule(make: Callable[..., Any], *fixed: Coercion) -> ConstructRule:
    """Make the rule of a single assertion."""
    return _axiom_rule(lambda *arguments: (make(*arguments),), *fixed)


def _entity_rule(kind: str) -> ConstructRule:
    """Make the rule of an entity of ``kind`` inside a declaration."""
    return ConstructRule(
        lambda name: DeclaredEntity(kind, name), (lambda value: entity_iri(value, kind),)
    )


def _annotation_axiom_rule(*fixed: Coercion, properties: int = 1) -> ConstructRule:
    """Make the rule of an axiom on annotation properties, of which ``properties`` arguments are
    properties.
    """
    return _axiom_rule(lambda *values: AnnotationAxiom(values[:properties]), *fixed)


CONSTRUCTS: dict[str, ConstructRule] = {
    "Class": _entity_rule("class"),
    "ObjectProperty": _entity_rule("object property"),
    "DataProperty": _entity_rule("data property"),
    "AnnotationProperty": _entity_rule("annotation property"),
    "Datatype": _entity_rule("datatype"),
    "NamedIndividual": _entity_rule("individual"),
    "Annotation": ConstructRule(
        lambda property, _: Annotation(property),
        (annotation_property, annotation_value),
        takes_annotations=True,
    ),
    "ObjectInverseOf": ConstructRule(m.ObjectInverseOf, (object_property,)),
    "ObjectPropertyChain": ConstructRule(Chain, variadic=role, min_variadic=2),
    "DataIntersectionOf": ConstructRule(m.DataIntersectionOf, variadic=data_range, min_variadic=1),
    "DataUnionOf": ConstructRule(m.DataUnionOf, variadic=data_range, min_variadic=1),
    "DataComplementOf": ConstructRule(m.DataComplementOf, (data_range,)),
    "DataOneOf": ConstructRule(m.DataOneOf, variadic=literal, min_variadic=1),
    "DatatypeRestriction": ConstructRule(
        _datatype_restriction, (datatype,), variadic=lambda value: value, min_variadic=2
    ),
    "ObjectIntersectionOf": ConstructRule(
        m.ObjectIntersectionOf, variadic=class_expression, min_variadic=1
    ),
    "ObjectUnionOf": ConstructRule(m.ObjectUnionOf, variadic=class_expression, min_variadic=1),
    "ObjectComplementOf": ConstructRule(m.ObjectComplementOf, (class_expression,)),
    "ObjectOneOf": ConstructRule(m.ObjectOneOf, variadic=individual, min_variadic=1),
    "ObjectSomeValuesFrom": ConstructRule(m.ObjectSomeValuesFrom, (role, class_expression)),
    "ObjectAllValuesFrom": ConstructRule(m.ObjectAllValuesFrom, (role, class_expression)),
    "ObjectHasValue": ConstructRule(m.ObjectHasValue, (role, individual)),
    "ObjectHasSelf": ConstructRule(m.ObjectHasSelf, (role,)),
    "ObjectMinCardinality": ConstructRule(
        m.ObjectMinCardinality, (cardinality, role), class_expression
    ),
    "ObjectMaxCardinality": ConstructRule(
        m.ObjectMaxCardinality, (cardinality, role), class_expression
    ),
    "ObjectExactCardinality": ConstructRule(
        m.ObjectExactCardinality, (cardinality, role), class_expression
    ),
    "DataSomeValuesFrom": _data_restriction_rule(m.DataSomeValuesFrom),
    "DataAllValuesFrom": _data_restriction_rule(m.DataAllValuesFrom),
    "DataHasValue": ConstructRule(m.DataHasValue, (data_property, literal)),
    "DataMinCardinality": ConstructRule(
        m.DataMinCardinality, (cardinality, data_property), data_range
    ),
    "DataMaxCardinality": ConstructRule(
        m.DataMaxCardinality, (cardinality, data_property), data_range
    ),
    "DataExactCardinality": ConstructRule(
        m.DataExactCardinality, (cardinality, data_property), data_range
    ),
}

AXIOMS: dict[str, ConstructRule] = {
    "Import": ConstructRule(ImportDeclaration, (plain_iri,)),
    "Declaration": _axiom_rule(lambda entity: entity, declared_entity),
    "SubClassOf": _axiom_rule(m.SubClassOf, class_expression, class_expression),
    "EquivalentClasses": _axiom_rule(m.EquivalentClasses, rest=class_expression),
    "DisjointClasses": _disjointness_rule(m.DisjointClasses, rest=class_expression),
    "DisjointUnion": _disjointness_rule(m.DisjointUnion, named_class, rest=class_expression),
    "SubObjectPropertyOf": _axiom_rule(_object_inclusion, _chain_or_role, role),
    "EquivalentObjectProperties": _axiom_rule(m.EquivalentObjectProperties, rest=role),
    "DisjointObjectProperties": _disjointness_rule(m.DisjointObjectProperties, rest=role),
    "InverseObjectProperties": _axiom_rule(m.InverseObjectProperties, role, role),
    "ObjectPropertyDomain": _axiom_rule(m.ObjectPropertyDomain, role, class_expression),
    "ObjectPropertyRange": _axiom_rule(m.ObjectPropertyRange, role, class_expression),
    "FunctionalObjectProperty": _axiom_rule(m.FunctionalObjectProperty, role),
    "InverseFunctionalObjectProperty": _axiom_rule(m.InverseFunctionalObjectProperty, role),
    "ReflexiveObjectProperty": _axiom_rule(m.ReflexiveObjectProperty, role),
    "IrreflexiveObjectProperty": _axiom_rule(m.IrreflexiveObjectProperty, role),
    "SymmetricObjectProperty": _axiom_rule(m.SymmetricObjectProperty, role),
    "AsymmetricObjectProperty": _axiom_rule(m.AsymmetricObjectProperty, role),
    "TransitiveObjectProperty": _axiom_rule(m.TransitiveObjectProperty, role),
    "SubDataPropertyOf": _axiom_rule(m.SubDataPropertyOf, data_property, data_property),
    "EquivalentDataProperties": _axiom_rule(m.EquivalentDataProperties, rest=data_property),
    "DisjointDataProperties": _disjointness_rule(m.DisjointDataProperties, rest=data_property),
    "DataPropertyDomain": _axiom_rule(m.DataPropertyDomain, data_property, class_expression),
    "DataPropertyRange": _axiom_rule(m.DataPropertyRange, data_property, data_range),
    "FunctionalDataProperty": _axiom_rule(m.FunctionalDataProperty, data_property),
    "InverseFunctionalDataProperty": _axiom_rule(m.InverseFunctionalDataProperty, data_property),
    "DatatypeDefinition": _axiom_rule(m.DatatypeDefinition, datatype, data_range),
    "HasKey": _axiom_rule(m.HasKey, class_expression, list_check(role), list_check(data_property)),
    "SameIndividual": _axiom_rule(_same_individuals, rest=individual),
    "DifferentIndividuals": _axiom_rule(_different_individuals, rest=individual),
    "ClassAssertion": _assertion_rule(m.ClassAssertion, class_expression, individual),
    "ObjectPropertyAssertion": _assertion_rule(
        m.ObjectPropertyAssertion, role, individual, individual
    ),
    "NegativeObjectPropertyAssertion": _assertion_rule(
        m.NegativeObjectPropertyAssertion, role, individual, individual
    ),
    "DataPropertyAssertion": _assertion_rule(
        m.DataPropertyAssertion, data_property, individual, literal
    ),
    "NegativeDataPropertyAssertion": _assertion_rule(
        m.NegativeDataPropertyAssertion, data_property, individual, literal
    ),
    "AnnotationAssertion": _axiom_rule(
        lambda property, *rest: AnnotationAxiom((property,), *rest),
        annotation_property,
        annotation_subject,
        annotation_value,
    ),
    "SubAnnotationPropertyOf": _annotation_axiom_rule(
        annotation_property, annotation_property, properties=2
    ),
    "AnnotationPropertyDomain": _annotation_axiom_rule(annotation_property, plain_iri),
    "AnnotationPropertyRange": _annotation_axiom_rule(annotation_property, plain_iri),
}


def build_construct(keyword: str, arguments: Sequence[object], *, verbatim: bool = False) -> Any:
    """Make the value of ``keyword(arguments)``; without a keyword, a group of arguments.

    Args:
    verbatim: see `ConstructRule`

    Raises: RefusedConstruct.
    """
    if not keyword:
        return ArgumentGroup(tuple(arguments))
    return (CONSTRUCTS.get(keyword) or AXIOMS[keyword]).build(keyword, arguments, verbatim=verbatim)


def unknown_construct(keyword: str, place: str) -> RefusedConstruct:
    """Make the refusal of ``keyword`` at ``place``. A near miss is a typing error; other keywords
    (DLSafeRule, …) are another language's.
    """
    if keyword in CONSTRUCTS or keyword in AXIOMS:
        return RefusedConstruct(f"{keyword} cannot stand {place}")
    near = get_close_matches(keyword, [*AXIOMS, *CONSTRUCTS], 1, 0.8)
    if near:
        return RefusedConstruct(
            f"{keyword} is no construct of OWL 2", hint=f"did you mean {near[0]}?"
        )
    return RefusedConstruct(
        f"{keyword} is no construct of OWL 2 that SHIQ(D) can say", "outside-shiq"
    )

"""The constructs of functional-style syntax: how a keyword and its arguments become a model value.

Position gives an IRI its kind (class, property, datatype, individual), so nothing here depends on declarations.
Source: OWL 2 structural specification, sections 5 to 10 and appendix "Complete Grammar".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

from shiq import model as m
from shiq.signature import is_reserved


class Refused(Exception):
    """A construct that gives no value; ``kind`` is one of `shiq.verdict.KINDS`."""

    def __init__(self, message: str, kind: str = "malformed", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint


# --- what a reader hands over, beside model values -------------------------------------------------


class Iri(str):
    """An IRI whose kind is not known yet."""

    __slots__ = ()


class Blank(str):
    """An anonymous individual, scoped."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses without a keyword, as in HasKey."""

    members: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """``Class(:A)`` and its like, inside a declaration."""

    kind: str
    iri: str


@dataclass(frozen=True, slots=True)
class Chain:
    properties: tuple[m.ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    property: str


@dataclass(frozen=True, slots=True)
class AnnotationAxiom:
    """An axiom about annotations: no logical meaning. ``properties`` are the annotation properties that it is about; ``subject``
    and ``value``: of an assertion."""

    properties: tuple[str, ...]
    subject: str = ""
    value: object = None


@dataclass(frozen=True, slots=True)
class Import:
    iri: str


Item: TypeAlias = m.Axiom | tuple[m.Assertion, ...] | Entity | Annotation | AnnotationAxiom | Import


# --- arguments --------------------------------------------------------------------------------------

_EXPRESSIONS = (
    m.ObjectIntersectionOf,
    m.ObjectUnionOf,
    m.ObjectComplementOf,
    m.ObjectSomeValuesFrom,
    m.ObjectAllValuesFrom,
    m.ObjectMinCardinality,
    m.ObjectMaxCardinality,
    m.ObjectExactCardinality,
    m.DataSomeValuesFrom,
    m.DataAllValuesFrom,
    m.DataHasValue,
    m.DataMinCardinality,
    m.DataMaxCardinality,
    m.DataExactCardinality,
    m.ObjectOneOf,
    m.ObjectHasValue,
    m.ObjectHasSelf,
)
_RANGES = (m.DataIntersectionOf, m.DataUnionOf, m.DataComplementOf, m.DataOneOf, m.DatatypeRestriction)

_BUILT_IN = {
    "class": frozenset({m.OWL + "Thing", m.OWL + "Nothing"}),
    "object property": frozenset({m.OWL + "topObjectProperty", m.OWL + "bottomObjectProperty"}),
    "data property": frozenset({m.OWL + "topDataProperty", m.OWL + "bottomDataProperty"}),
}

# Datatypes that exist, though OWL 2 has no values for them.
_UNREAD_DATATYPES = frozenset(
    [m.XSD + name for name in ("QName", "NOTATION", "ID", "IDREF", "IDREFS", "ENTITY", "ENTITIES", "NMTOKENS")]
    + [m.XSD + name for name in ("anyType", "anySimpleType", "anyAtomicType")]
    + [m.RDF + name for name in ("HTML", "JSON", "dirLangString")]
)


def _shown(value: object) -> str:
    return f"<{value}>" if isinstance(value, Iri) else repr(value) if isinstance(value, str | int) else type(value).__name__


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _named(value: object, kind: str) -> str:
    if not isinstance(value, Iri):
        raise Refused(f"{_shown(value)} where {_a(kind)} is expected")
    if is_reserved(value) and value not in _BUILT_IN[kind]:
        near = get_close_matches(value, _BUILT_IN[kind], 1)
        raise Refused(f"<{value}> is no built-in {kind}", "unknown-vocabulary", f"did you mean <{near[0]}>?" if near else "")
    return str(value)


def named_class(value: object) -> m.Class:
    return m.Class(_named(value, "class"))


def class_expression(value: object) -> Any:
    return value if isinstance(value, _EXPRESSIONS) else named_class(value)


def object_property(value: object) -> m.ObjectProperty:
    return m.ObjectProperty(_named(value, "object property"))


def role(value: object) -> m.ObjectPropertyExpression:
    return value if isinstance(value, m.ObjectInverseOf) else object_property(value)


def data_property(value: object) -> m.DataProperty:
    return m.DataProperty(_named(value, "data property"))


def datatype(value: object) -> m.Datatype:
    iri = _iri(value)
    _refuse_misspelt(iri)
    return m.Datatype(iri)


def data_range(value: object) -> Any:
    return value if isinstance(value, _RANGES) else datatype(value)


def individual(value: object) -> str:
    if not isinstance(value, Iri | Blank):
        raise Refused(f"{_shown(value)} where an individual is expected")
    return str(value)


def literal(value: object) -> m.Literal:
    if not isinstance(value, m.Literal):
        raise Refused(f"{_shown(value)} where a literal is expected")
    _refuse_misspelt(value.datatype)
    return value


def cardinality(value: object) -> int:
    if not isinstance(value, int):
        raise Refused(f"{_shown(value)} where a number is expected")
    return value


def _iri(value: object) -> str:
    if not isinstance(value, Iri):
        raise Refused(f"{_shown(value)} where an IRI is expected")
    return str(value)


@lru_cache(maxsize=256)
def _refuse_misspelt(iri: str) -> None:
    """Refuses a datatype that its reserved namespace does not have."""
    if not is_reserved(iri):
        return
    from shiq.datatypes import KNOWN_FACETS, is_known

    if not is_known(iri) and iri not in _UNREAD_DATATYPES:
        near = get_close_matches(iri, KNOWN_FACETS, 1)
        raise Refused(f"<{iri}> is no datatype", "unknown-vocabulary", f"did you mean <{near[0]}>?" if near else "")


def _annotation_value(value: object) -> object:
    if not isinstance(value, Iri | Blank | m.Literal):
        raise Refused(f"{_shown(value)} where an annotation value is expected")
    return value


def _entity(value: object) -> Entity:
    if not isinstance(value, Entity):
        raise Refused(f"{_shown(value)} where an entity such as Class(...) is expected")
    return value


def _group(member: Coercion) -> Coercion:
    def coerce(value: object) -> tuple[Any, ...]:
        if not isinstance(value, Group):
            raise Refused(f"{_shown(value)} where a list in parentheses is expected")
        return tuple(member(x) for x in value.members)

    return coerce


Coercion: TypeAlias = Callable[[object], Any]


# --- rules ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """``make`` gets the ``fixed`` arguments one by one, then either the ``optional`` one if it is there, or, as one tuple, all
    further ones (``rest``, at least ``least`` of them). Axioms may begin with annotations."""

    make: Callable[..., Any]
    fixed: tuple[Coercion, ...] = ()
    optional: Coercion | None = None
    rest: Coercion | None = None
    least: int = 0
    annotated: bool = False

    def build(self, keyword: str, arguments: Sequence[object]) -> Any:
        """The value of ``keyword(arguments)``. Raises `Refused`."""
        if self.annotated:
            skipped = 0
            while skipped < len(arguments) and isinstance(arguments[skipped], Annotation):
                skipped += 1
            arguments = arguments[skipped:]
        count, fixed = len(arguments), len(self.fixed)
        most = fixed + (self.optional is not None)
        if count < fixed + self.least or (self.rest is None and count > most):
            least = f"at least {fixed + self.least}" if self.rest else f"{fixed} or {most}" if most > fixed else f"{fixed}"
            raise Refused(f"{keyword} takes {least} arguments, here are {count}")
        values = [coerce(argument) for coerce, argument in zip(self.fixed, arguments)]
        if self.rest is not None:
            return self.make(*values, tuple(map(self.rest, arguments[fixed:])))
        if self.optional is not None:
            values += map(self.optional, arguments[fixed:])
        return self.make(*values)


def _axiom(make: Callable[..., Any], *fixed: Coercion, rest: Coercion | None = None, least: int = 2) -> Rule:
    return Rule(make, fixed, rest=rest, least=least if rest else 0, annotated=True)


def _distinct(make: Callable[..., Any]) -> Callable[..., Any]:
    """For disjointness: duplicates are dropped, as section 2.1 asks; a single member is refused, since it may have been meant
    to contradict itself."""

    def build(*arguments: Any) -> Any:
        *first, members = arguments
        return make(*first, _at_least_two(members))

    return build


def _at_least_two(members: tuple[Any, ...]) -> tuple[Any, ...]:
    distinct = tuple(dict.fromkeys(members))
    if len(distinct) < 2:
        raise Refused("all members are the same: its meaning is not defined")
    return distinct


def _chain_or_role(value: object) -> Any:
    return value if isinstance(value, Chain) else role(value)


def _object_inclusion(sub: Chain | m.ObjectPropertyExpression, sup: m.ObjectPropertyExpression) -> m.Axiom:
    return m.SubObjectPropertyChain(sub.properties, sup) if isinstance(sub, Chain) else m.SubObjectPropertyOf(sub, sup)


def _data_restriction(make: Callable[..., Any]) -> Rule:
    def build(*arguments: Any) -> Any:
        if len(arguments[0]) > 2:
            raise Refused("a data range over several properties", "outside-shiq")
        property, range = arguments[0]
        return make(data_property(property), data_range(range))

    return Rule(build, rest=lambda value: value, least=2)


def _restriction(base: m.Datatype, rest: tuple[object, ...]) -> m.DatatypeRestriction:
    if len(rest) % 2:
        raise Refused("a facet without a value")
    return m.DatatypeRestriction(base, tuple((_iri(f), literal(v)) for f, v in zip(rest[::2], rest[1::2])))


def _object_assertion(make: Callable[..., Any]) -> Rule:
    return _axiom(lambda *arguments: (make(*arguments),), role, individual, individual)


def _data_assertion(make: Callable[..., Any]) -> Rule:
    return _axiom(lambda *arguments: (make(*arguments),), data_property, individual, literal)


def _declared(kind: str) -> Rule:
    return Rule(lambda name: Entity(kind, name), (lambda value: _named(value, kind) if kind in _BUILT_IN else _iri(value),))


def _annotation_axiom(*fixed: Coercion, properties: int = 1) -> Rule:
    return _axiom(lambda *values: AnnotationAxiom(values[:properties]), *fixed)


CONSTRUCTS: dict[str, Rule] = {
    "Class": _declared("class"),
    "ObjectProperty": _declared("object property"),
    "DataProperty": _declared("data property"),
    "AnnotationProperty": _declared("annotation property"),
    "Datatype": _declared("datatype"),
    "NamedIndividual": _declared("individual"),
    "Annotation": Rule(lambda property, _: Annotation(property), (_iri, _annotation_value), annotated=True),
    "ObjectInverseOf": Rule(m.ObjectInverseOf, (object_property,)),
    "ObjectPropertyChain": Rule(Chain, rest=role, least=2),
    "DataIntersectionOf": Rule(m.DataIntersectionOf, rest=data_range, least=1),
    "DataUnionOf": Rule(m.DataUnionOf, rest=data_range, least=1),
    "DataComplementOf": Rule(m.DataComplementOf, (data_range,)),
    "DataOneOf": Rule(m.DataOneOf, rest=literal, least=1),
    "DatatypeRestriction": Rule(_restriction, (datatype,), rest=lambda value: value, least=2),
    "ObjectIntersectionOf": Rule(m.ObjectIntersectionOf, rest=class_expression, least=1),
    "ObjectUnionOf": Rule(m.ObjectUnionOf, rest=class_expression, least=1),
    "ObjectComplementOf": Rule(m.ObjectComplementOf, (class_expression,)),
    "ObjectOneOf": Rule(m.ObjectOneOf, rest=individual, least=1),
    "ObjectSomeValuesFrom": Rule(m.ObjectSomeValuesFrom, (role, class_expression)),
    "ObjectAllValuesFrom": Rule(m.ObjectAllValuesFrom, (role, class_expression)),
    "ObjectHasValue": Rule(m.ObjectHasValue, (role, individual)),
    "ObjectHasSelf": Rule(m.ObjectHasSelf, (role,)),
    "ObjectMinCardinality": Rule(m.ObjectMinCardinality, (cardinality, role), class_expression),
    "ObjectMaxCardinality": Rule(m.ObjectMaxCardinality, (cardinality, role), class_expression),
    "ObjectExactCardinality": Rule(m.ObjectExactCardinality, (cardinality, role), class_expression),
    "DataSomeValuesFrom": _data_restriction(m.DataSomeValuesFrom),
    "DataAllValuesFrom": _data_restriction(m.DataAllValuesFrom),
    "DataHasValue": Rule(m.DataHasValue, (data_property, literal)),
    "DataMinCardinality": Rule(m.DataMinCardinality, (cardinality, data_property), data_range),
    "DataMaxCardinality": Rule(m.DataMaxCardinality, (cardinality, data_property), data_range),
    "DataExactCardinality": Rule(m.DataExactCardinality, (cardinality, data_property), data_range),
}

AXIOMS: dict[str, Rule] = {
    "Import": Rule(Import, (_iri,)),
    "Declaration": _axiom(lambda entity: entity, _entity),
    "SubClassOf": _axiom(m.SubClassOf, class_expression, class_expression),
    "EquivalentClasses": _axiom(m.EquivalentClasses, rest=class_expression),
    "DisjointClasses": _axiom(_distinct(m.DisjointClasses), rest=class_expression),
    "DisjointUnion": _axiom(_distinct(m.DisjointUnion), named_class, rest=class_expression),
    "SubObjectPropertyOf": _axiom(_object_inclusion, _chain_or_role, role),
    "EquivalentObjectProperties": _axiom(m.EquivalentObjectProperties, rest=role),
    "DisjointObjectProperties": _axiom(_distinct(m.DisjointObjectProperties), rest=role),
    "InverseObjectProperties": _axiom(m.InverseObjectProperties, role, role),
    "ObjectPropertyDomain": _axiom(m.ObjectPropertyDomain, role, class_expression),
    "ObjectPropertyRange": _axiom(m.ObjectPropertyRange, role, class_expression),
    "FunctionalObjectProperty": _axiom(m.FunctionalObjectProperty, role),
    "InverseFunctionalObjectProperty": _axiom(m.InverseFunctionalObjectProperty, role),
    "ReflexiveObjectProperty": _axiom(m.ReflexiveObjectProperty, role),
    "IrreflexiveObjectProperty": _axiom(m.IrreflexiveObjectProperty, role),
    "SymmetricObjectProperty": _axiom(m.SymmetricObjectProperty, role),
    "AsymmetricObjectProperty": _axiom(m.AsymmetricObjectProperty, role),
    "TransitiveObjectProperty": _axiom(m.TransitiveObjectProperty, role),
    "SubDataPropertyOf": _axiom(m.SubDataPropertyOf, data_property, data_property),
    "EquivalentDataProperties": _axiom(m.EquivalentDataProperties, rest=data_property),
    "DisjointDataProperties": _axiom(_distinct(m.DisjointDataProperties), rest=data_property),
    "DataPropertyDomain": _axiom(m.DataPropertyDomain, data_property, class_expression),
    "DataPropertyRange": _axiom(m.DataPropertyRange, data_property, data_range),
    "FunctionalDataProperty": _axiom(m.FunctionalDataProperty, data_property),
    "DatatypeDefinition": _axiom(m.DatatypeDefinition, datatype, data_range),
    "HasKey": _axiom(m.HasKey, class_expression, _group(role), _group(data_property)),
    "SameIndividual": _axiom(lambda members: tuple(m.SameIndividual(*p) for p in combinations(members, 2)), rest=individual),
    "DifferentIndividuals": _axiom(
        lambda members: tuple(m.DifferentIndividuals(*p) for p in combinations(_at_least_two(members), 2)), rest=individual
    ),
    "ClassAssertion": _axiom(lambda *values: (m.ClassAssertion(*values),), class_expression, individual),
    "ObjectPropertyAssertion": _object_assertion(m.ObjectPropertyAssertion),
    "NegativeObjectPropertyAssertion": _object_assertion(m.NegativeObjectPropertyAssertion),
    "DataPropertyAssertion": _data_assertion(m.DataPropertyAssertion),
    "NegativeDataPropertyAssertion": _data_assertion(m.NegativeDataPropertyAssertion),
    "AnnotationAssertion": _axiom(
        lambda property, *rest: AnnotationAxiom((property,), *rest), _iri, individual, _annotation_value
    ),
    "SubAnnotationPropertyOf": _annotation_axiom(_iri, _iri, properties=2),
    "AnnotationPropertyDomain": _annotation_axiom(_iri, _iri),
    "AnnotationPropertyRange": _annotation_axiom(_iri, _iri),
}


def build(keyword: str, arguments: Sequence[object]) -> Any:
    """The value of ``keyword(arguments)``; "" is a group. Raises `Refused`."""
    if not keyword:
        return Group(tuple(arguments))
    return (CONSTRUCTS.get(keyword) or AXIOMS[keyword]).build(keyword, arguments)


def unknown(keyword: str, place: str) -> Refused:
    """Why ``keyword`` cannot stand here: a near miss is a typing error, anything else (SWRL's DLSafeRule, ...) is foreign."""
    if keyword in CONSTRUCTS or keyword in AXIOMS:
        return Refused(f"{keyword} cannot stand {place}")
    near = get_close_matches(keyword, [*AXIOMS, *CONSTRUCTS], 1, 0.8)
    if near:
        return Refused(f"{keyword} is no construct of OWL 2", hint=f"did you mean {near[0]}?")
    return Refused(f"{keyword} is no construct of OWL 2 that SHIQ(D) can say", "outside-shiq")

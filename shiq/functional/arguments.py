"""Check the arguments of functional-style constructs, and convert them to values of the OWL model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeAlias

from shiq import model as m
from shiq.model.walk import is_reserved
from shiq.rdf.vocabulary import ORDINARY_CLASSES, PLAIN_PROPERTIES, is_unknown_datatype


class RefusedConstruct(Exception):
    """Signal: a construct is malformed or not supported; ``kind`` is one of
    `shiq.answers.verdict.KINDS`.
    """

    def __init__(self, message: str, kind: str = "malformed", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.hint = hint


@dataclass(frozen=True)
class DifferentMembers:
    """Pairwise different individuals, too many for one assertion per pair."""

    individuals: tuple[str, ...]


class Iri(str):
    """An IRI as an argument, whose entity kind the syntax leaves open.

    kind: entity kind that the syntax states ("IRI": none); "" if only its position decides
    """

    __slots__ = ()
    kind = ""


class KindedIri(Iri):
    """An IRI whose entity kind (Class, ObjectProperty, …) the syntax states, as OWL/XML elements
    do.
    """

    def __new__(cls, iri: str, kind: str) -> KindedIri:
        made = super().__new__(cls, iri)
        made.kind = kind
        return made


class BlankIndividual(str):
    """An anonymous individual as an argument, its label prefixed by the scope of its document."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ArgumentGroup:
    """Several arguments in parentheses without a keyword, as in HasKey."""

    members: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class DeclaredEntity:
    """An entity (kind and IRI) inside a declaration, such as ``Class(:A)``."""

    kind: str
    iri: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain of object properties, as the left side of an inclusion."""

    properties: tuple[m.ObjectPropertyExpression, ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation as an argument; only its property is kept."""

    property: str


@dataclass(frozen=True, slots=True)
class AnnotationAxiom:
    """An axiom about annotations, which has no logical meaning.

    properties: annotation properties in it
    subject, value: of an annotation assertion
    """

    properties: tuple[str, ...]
    subject: str = ""
    value: object = None


@dataclass(frozen=True, slots=True)
class ImportDeclaration:
    """An import declaration, by the IRI that it imports."""

    iri: str


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
_RANGES = (
    m.DataIntersectionOf,
    m.DataUnionOf,
    m.DataComplementOf,
    m.DataOneOf,
    m.DatatypeRestriction,
)
BUILT_IN = {
    "class": frozenset({m.OWL + "Thing", m.OWL + "Nothing"}),
    "object property": frozenset({m.OWL + "topObjectProperty", m.OWL + "bottomObjectProperty"}),
    "data property": frozenset({m.OWL + "topDataProperty", m.OWL + "bottomDataProperty"}),
}
# Datatypes that exist, though OWL 2 has no values for them.
_UNREAD_DATATYPES = frozenset(
    [
        m.XSD + name
        for name in ("QName", "NOTATION", "ID", "IDREF", "IDREFS", "ENTITY", "ENTITIES", "NMTOKENS")
    ]
    + [m.XSD + name for name in ("anyType", "anySimpleType", "anyAtomicType")]
    + [m.RDF + name for name in ("HTML", "JSON", "dirLangString")]
)


def _describe_argument(value: object) -> str:
    """Describe an argument for a message, with its article."""
    if isinstance(value, Iri):
        return f"the {value.kind} <{value}>" if value.kind not in ("", "IRI") else f"<{value}>"
    return repr(value) if isinstance(value, str | int) else type(value).__name__


def _with_article(kind: str) -> str:
    """Put the indefinite article before a kind of entity."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _iri_of_kind(value: object, kind: str) -> str:
    """Return the IRI ``value``, after checking that it may be an entity of ``kind``. Raises:
    RefusedConstruct.
    """
    if not isinstance(value, Iri) or value.kind not in ("", kind):
        raise RefusedConstruct(
            f"{_describe_argument(value)} where {_with_article(kind)} is expected"
        )
    return str(value)


def entity_iri(value: object, kind: str) -> str:
    """Return the IRI of an entity of ``kind``. Raises: RefusedConstruct.

    Raises: RefusedConstruct, also for a reserved name that is no such entity.
    """
    value = _iri_of_kind(value, kind)
    if kind not in BUILT_IN:
        return value
    ordinary = ORDINARY_CLASSES if kind == "class" else PLAIN_PROPERTIES
    if is_reserved(value) and value not in BUILT_IN[kind] and value not in ordinary:
        near = get_close_matches(value, BUILT_IN[kind], 1)
        raise RefusedConstruct(
            f"<{value}> is no built-in {kind}",
            "unknown-vocabulary",
            f"did you mean <{near[0]}>?" if near else "",
        )
    return value


def named_class(value: object) -> m.Class:
    """Convert an argument to a named class. Raises: RefusedConstruct."""
    return m.Class(entity_iri(value, "class"))


def class_expression(value: object) -> Any:
    """Convert an argument to a class expression or named class. Raises: RefusedConstruct."""
    return value if isinstance(value, _EXPRESSIONS) else named_class(value)


def object_property(value: object) -> m.ObjectProperty:
    """Convert an argument to a named object property. Raises: RefusedConstruct."""
    return m.ObjectProperty(entity_iri(value, "object property"))


def role(value: object) -> m.ObjectPropertyExpression:
    """Convert an argument to an object property or its inverse. Raises: RefusedConstruct."""
    return value if isinstance(value, m.ObjectInverseOf) else object_property(value)


def data_property(value: object) -> m.DataProperty:
    """Convert an argument to a data property. Raises: RefusedConstruct."""
    return m.DataProperty(entity_iri(value, "data property"))


def datatype(value: object) -> m.Datatype:
    """Convert an argument to a named datatype. Raises: RefusedConstruct for a misspelt reserved
    name.
    """
    iri = _iri_of_kind(value, "datatype")
    if not is_unknown_datatype(iri):
        _refuse_misspelt(iri)
    return m.Datatype(iri)


def data_range(value: object) -> Any:
    """Convert an argument to a data range or named datatype. Raises: RefusedConstruct."""
    return value if isinstance(value, _RANGES) else datatype(value)


def individual(value: object) -> str:
    """Convert an argument to a named or anonymous individual. Raises: RefusedConstruct."""
    return str(value) if isinstance(value, BlankIndividual) else _iri_of_kind(value, "individual")


def annotation_property(value: object) -> str:
    """Convert an argument to the IRI of an annotation property. Raises: RefusedConstruct."""
    return _iri_of_kind(value, "annotation property")


def annotation_subject(value: object) -> str:
    """Convert an argument to the subject of an annotation: an IRI or anonymous individual. Raises:
    RefusedConstruct.
    """
    return str(value) if isinstance(value, BlankIndividual) else _iri_of_kind(value, "IRI")


def literal(value: object) -> m.Literal:
    """Convert an argument to a literal, and check that its datatype is defined. Raises:
    RefusedConstruct.
    """
    if not isinstance(value, m.Literal):
        raise RefusedConstruct(f"{_describe_argument(value)} where a literal is expected")
    _refuse_misspelt(value.datatype)
    return value


def cardinality(value: object) -> int:
    """Convert an argument to a non-negative integer. Raises: RefusedConstruct."""
    if not isinstance(value, int):
        raise RefusedConstruct(f"{_describe_argument(value)} where a number is expected")
    return value


def plain_iri(value: object) -> str:
    """Convert an argument to an IRI that stands for no entity. Raises: RefusedConstruct."""
    return _iri_of_kind(value, "IRI")


@lru_cache(maxsize=256)
def _refuse_misspelt(iri: str) -> None:
    """Refuse a datatype in a reserved namespace that does not define it. Raises: RefusedConstruct."""
    if not is_reserved(iri):
        return
    from shiq.datatypes import KNOWN_FACETS, is_known

    if not is_known(iri) and iri not in _UNREAD_DATATYPES:
        near = get_close_matches(iri, KNOWN_FACETS, 1)
        raise RefusedConstruct(
            f"<{iri}> is no datatype",
            "unknown-vocabulary",
            f"did you mean <{near[0]}>?" if near else "",
        )


def annotation_value(value: object) -> object:
    """Convert an argument to the value of an annotation: an IRI, anonymous individual or literal.
    Raises: RefusedConstruct.
    """
    if isinstance(value, BlankIndividual | m.Literal) or (
        isinstance(value, Iri) and value.kind in ("", "IRI")
    ):
        return value
    raise RefusedConstruct(f"{_describe_argument(value)} where an annotation value is expected")


def declared_entity(value: object) -> DeclaredEntity:
    """Convert an argument to the entity inside a declaration. Raises: RefusedConstruct."""
    if not isinstance(value, DeclaredEntity):
        raise RefusedConstruct(
            f"{_describe_argument(value)} where an entity such as Class(...) is expected"
        )
    return value


def list_check(member: Coercion) -> Coercion:
    """Make the check of an argument that is a list in parentheses, each element checked by
    ``member``.
    """

    def check_list(value: object) -> tuple[Any, ...]:
        """Check a list in parentheses. Raises: RefusedConstruct."""
        if not isinstance(value, ArgumentGroup):
            raise RefusedConstruct(
                f"{_describe_argument(value)} where a list in parentheses is expected"
            )
        return tuple(member(x) for x in value.members)

    return check_list


Coercion: TypeAlias = Callable[[object], Any]

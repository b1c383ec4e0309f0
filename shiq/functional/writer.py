"""Writer of axioms, assertions and expressions in functional-style syntax, with full IRIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from shiq import model as owl
from shiq.model.ntriples import blank_term
from shiq.model.walk import is_reserved, parts

_ENTITIES = (owl.Class, owl.ObjectProperty, owl.DataProperty, owl.Datatype)
_CARDINALITIES = (
    owl.ObjectMinCardinality,
    owl.ObjectMaxCardinality,
    owl.ObjectExactCardinality,
    owl.DataMinCardinality,
    owl.DataMaxCardinality,
    owl.DataExactCardinality,
)
_UNQUALIFIED = (owl.THING, owl.TOP_DATATYPE)
_NOT_IN_IRIS = re.compile(r'[\x00-\x20<>"{}|^`\\]')


class _SyntaxText(str):
    """Text that is already in functional syntax, as opposed to the name of an individual."""

    __slots__ = ()


_SPACE, _OPEN, _CLOSE = _SyntaxText(" "), _SyntaxText("("), _SyntaxText(")")


def axiom_text(value: owl.Axiom | owl.Assertion | owl.ClassExpression | owl.DataRange) -> str:
    """Write a value of the OWL model in functional-style syntax; `parse_functional` reads it back.

    A blank node keeps its scope in its label (`shiq.model.ntriples.blank_term`). Iterative, so
    nesting
    may be deep.

    Raises: ValueError for an IRI with illegal characters, since the syntax has no escapes for them.
    """
    written: list[str] = []
    stack: list[object] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, _SyntaxText):
            written.append(current)
        elif isinstance(current, str):
            written.append(blank_term(current) if current.startswith("_:") else _iri_text(current))
        elif isinstance(current, _ENTITIES):
            written.append(_iri_text(current.iri))
        elif isinstance(current, int):
            written.append(str(current))
        elif isinstance(current, owl.Literal):
            written.append(literal_text(current))
        else:
            written.append(f"{_keyword(current)}(")
            stack.append(_CLOSE)
            for i, argument in enumerate(reversed(_arguments(current))):
                if i:
                    stack.append(_SPACE)
                stack.append(argument)
    return "".join(written)


def ontology_text(axioms: Iterable[owl.Axiom], assertions: Iterable[owl.Assertion]) -> str:
    """Write a document: declarations of all entities, then ``axioms``, then ``assertions``.

    The text has the same meaning for every reasoner. Parsers keep members of a disjointness as a
    set, so a repeated member, which contradicts itself, is written as its meaning. Trivial axioms
    with a single member are left out.
    """
    values: list[owl.Axiom | owl.Assertion] = [*axioms, *assertions]
    declarations: dict[str, None] = {}
    lines: list[str] = []
    for value in values:
        for part in parts(value):
            if declared := declared_term(part):
                declarations[declaration_text(*declared)] = None
        lines += map(axiom_text, _normalise_axiom(value))
    return "\n".join(["Ontology(", *declarations, *lines, ")", ""])


def _keyword(value: object) -> str:
    """Return the keyword of a construct."""
    return (
        "SubObjectPropertyOf"
        if isinstance(value, owl.SubObjectPropertyChain)
        else type(value).__name__
    )


def _arguments(value: object) -> list[object]:
    """Return the arguments of a construct, in the order of the syntax."""
    if isinstance(value, owl.SubObjectPropertyChain):
        return [
            _SyntaxText(f"ObjectPropertyChain({' '.join(map(_role_text, value.chain))})"),
            value.sup,
        ]
    if isinstance(value, owl.HasKey):
        roles, properties = (
            map(_role_text, value.object_properties),
            (_iri_text(p.iri) for p in value.data_properties),
        )
        return [
            value.expression,
            _SyntaxText(f"({' '.join(roles)})"),
            _SyntaxText(f"({' '.join(properties)})"),
        ]
    fields: list[object] = [getattr(value, name) for name in type(value).__match_args__]  # type: ignore[attr-defined]
    if isinstance(value, _CARDINALITIES) and fields[-1] in _UNQUALIFIED:
        fields.pop()
    return list(_flatten_tuples(fields))


def _flatten_tuples(fields: Iterable[object]) -> Iterable[object]:
    """Yield the entries of nested tuples."""
    for entry in fields:
        if isinstance(entry, tuple):
            yield from _flatten_tuples(entry)
        else:
            yield entry


def _role_text(property: object) -> str:
    """Write a role: an object property or its inverse."""
    if isinstance(property, owl.ObjectProperty):
        return _iri_text(property.iri)
    return axiom_text(property)  # type: ignore[arg-type]


@lru_cache(maxsize=65536)
def _iri_text(iri: str) -> str:
    """Write an IRI in angle brackets. Raises: ValueError for an illegal one."""
    if _NOT_IN_IRIS.search(iri):
        raise ValueError(f"not an IRI, functional-style syntax cannot write it: {iri!r}")
    return f"<{iri}>"


def literal_text(value: owl.Literal) -> str:
    """Write a literal in functional-style syntax."""
    text = '"' + value.lexical.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if value.language and value.datatype == owl.RDF + "langString":
        return f"{text}@{value.language}"
    return text if value.datatype == owl.XSD + "string" else f"{text}^^{_iri_text(value.datatype)}"


def declared_term(part: object) -> tuple[str, str] | None:
    """Return kind and IRI of the entity to declare for ``part``: a named individual, the datatype
    of a literal, or an entity itself.

    Returns: None for other parts and for built-in entities.
    """
    if isinstance(part, _ENTITIES):
        return None if is_reserved(part.iri) else (type(part).__name__, part.iri)
    if isinstance(part, str) and not part.startswith("_:"):
        return "NamedIndividual", part
    if isinstance(part, owl.Literal) and not is_reserved(part.datatype):
        return "Datatype", part.datatype
    return None


def declaration_text(kind: str, iri: str) -> str:
    """Write the declaration of an entity in functional-style syntax."""
    return f"Declaration({kind}({_iri_text(iri)}))"


M = TypeVar("M")


def _normalise_disjointness(
    value: owl.Axiom, members: tuple[M, ...], empty: Callable[[M], owl.Axiom]
) -> list[owl.Axiom | owl.Assertion]:
    """Rewrite a disjointness axiom so that no member repeats: a repeated member is empty (``empty``
    makes that axiom).
    """
    distinct = tuple(dict.fromkeys(members))
    if len(distinct) == len(members):
        return [value] if len(members) > 1 else []
    repeated = [empty(member) for member in distinct if members.count(member) > 1]
    return [*repeated, *([type(value)(distinct)] if len(distinct) > 1 else [])]  # type: ignore[call-arg, arg-type]


def _normalise_axiom(value: owl.Axiom | owl.Assertion) -> list[owl.Axiom | owl.Assertion]:
    """Rewrite an axiom to equivalent ones that the syntax can express: without repeated members,
    none with a single one.
    """
    match value:
        case (
            owl.EquivalentClasses(members)
            | owl.EquivalentObjectProperties(members)
            | owl.EquivalentDataProperties(members)
        ):
            return [value] if len(set(members)) > 1 else []
        case owl.SameIndividual(first, second):
            return [value] if first != second else []
        case owl.DifferentIndividuals(first, second):
            return [value] if first != second else [owl.ClassAssertion(owl.NOTHING, first)]
        case owl.DisjointUnion(cls, expressions):
            if len(set(expressions)) == len(expressions) > 1:
                return [value]
            return [
                *(owl.SubClassOf(expression, cls) for expression in expressions),
                owl.SubClassOf(
                    cls, owl.ObjectUnionOf(expressions) if len(expressions) > 1 else expressions[0]
                ),
                *_normalise_axiom(owl.DisjointClasses(expressions)),
            ]
        case owl.DisjointClasses(members):
            return _normalise_disjointness(
                value, members, lambda member: owl.SubClassOf(member, owl.NOTHING)
            )
        case owl.DisjointObjectProperties(roles):
            return _normalise_disjointness(
                value,
                roles,
                lambda role: owl.SubClassOf(owl.THING, owl.ObjectAllValuesFrom(role, owl.NOTHING)),
            )
        case owl.DisjointDataProperties(properties):
            return _normalise_disjointness(
                value,
                properties,
                lambda property: owl.SubClassOf(owl.THING, owl.DataMaxCardinality(0, property)),
            )
    return [value]

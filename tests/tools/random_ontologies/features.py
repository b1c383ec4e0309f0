"""Which features a random knowledge base has: read off what it says, not off what was meant when
it was drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

from shiq.model import (
    Assertion,
    AsymmetricObjectProperty,
    Class,
    ClassAssertion,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataPropertyAssertion,
    DataPropertyRange,
    DatatypeRestriction,
    DifferentIndividuals,
    DisjointDataProperties,
    DisjointObjectProperties,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectPropertyAssertion,
    SameIndividual,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TBox,
    TransitiveObjectProperty,
)

_BY_TYPE: dict[type, tuple[str, ...]] = {
    TransitiveObjectProperty: ("transitivity",),
    InverseObjectProperties: ("inverse",),
    ObjectInverseOf: ("inverse",),
    SymmetricObjectProperty: ("symmetric", "inverse"),
    SubObjectPropertyOf: ("role hierarchy",),
    EquivalentObjectProperties: ("role hierarchy",),
    FunctionalObjectProperty: ("functional",),
    InverseFunctionalObjectProperty: ("inverse functional",),
    DisjointObjectProperties: ("role disjointness",),
    AsymmetricObjectProperty: ("asymmetric",),
    IrreflexiveObjectProperty: ("irreflexive",),
    ObjectMaxCardinality: ("at most",),
    ObjectMinCardinality: ("at least",),
    ObjectExactCardinality: ("at most", "at least"),
    SameIndividual: ("sameAs",),
    DifferentIndividuals: ("differentFrom",),
    NegativeObjectPropertyAssertion: ("negative role assertion",),
    NegativeDataPropertyAssertion: ("negative data assertion", "data"),
    DataPropertyAssertion: ("data",),
    FunctionalDataProperty: ("functional data",),
    DataPropertyRange: ("data range",),
    SubDataPropertyOf: ("sub data property",),
    DisjointDataProperties: ("disjoint data properties",),
    DatatypeRestriction: ("facets",),
    DataHasValue: ("has value",),
    DataMinCardinality: ("data cardinality",),
    DataMaxCardinality: ("data cardinality",),
    DataExactCardinality: ("data cardinality",),
}

#: Every feature that can be found, in a fixed order.
FEATURES: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(name for names in _BY_TYPE.values() for name in names),
            *("qualified at most", "complex class assertion", "deletions", "chain of roles"),
        )
    )
)
CHAIN = 3


def features_of(
    tbox: TBox,
    abox: Iterable[Assertion],
    insertions: Iterable[Assertion],
    deletions: Iterable[Assertion],
) -> frozenset[str]:
    """The features of a knowledge base, among `FEATURES`; "chain of roles" is a path of three
    role assertions in the union.
    """
    assertions = [*abox, *insertions]
    found = {
        name
        for value in [*tbox.axioms, *assertions]
        for part in parts(value)
        for name in _names(part)
    }
    if any(isinstance(a, ClassAssertion) and not _is_literal(a.expression) for a in assertions):
        found.add("complex class assertion")
    if any(True for _ in deletions):
        found.add("deletions")
    if (
        _longest_path(
            (a.subject, a.object) for a in assertions if isinstance(a, ObjectPropertyAssertion)
        )
        >= CHAIN
    ):
        found.add("chain of roles")
    return frozenset(found)


def parts(value: object) -> Iterator[object]:
    """``value`` and every model value inside it."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack += part
        elif is_dataclass(part):
            yield part
            stack += (getattr(part, field.name) for field in fields(part))


def _names(part: object) -> Iterator[str]:
    yield from _BY_TYPE.get(type(part), ())
    if isinstance(part, ObjectMaxCardinality | ObjectExactCardinality) and not (
        isinstance(part.filler, Class)
        and part.filler.iri.startswith("http://www.w3.org/2002/07/owl#")
    ):
        yield "qualified at most"


def _is_literal(expression: object) -> bool:
    return isinstance(
        expression.operand if isinstance(expression, ObjectComplementOf) else expression, Class
    )


def _longest_path(pairs: Iterable[tuple[str, str]]) -> int:
    """The edges of the longest path without a repeated individual, at most `CHAIN`."""
    successors: dict[str, set[str]] = {}
    for first, second in pairs:
        successors.setdefault(first, set()).add(second)

    def longest(path: tuple[str, ...]) -> int:
        if len(path) > CHAIN:
            return CHAIN
        following = successors.get(path[-1], set()).difference(path)
        return max((longest((*path, one)) for one in following), default=len(path) - 1)

    return max((longest((start,)) for start in successors), default=0)

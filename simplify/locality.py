"""The part of a TBox that can matter to what is said in a given vocabulary.

An axiom is ⊥-local in a signature if it holds whenever every name outside the signature is empty; such axioms say nothing about
the names inside. Taking up every axiom that is not, with its names, until nothing changes gives a module that implies
everything over the signature that the whole TBox implies: it contradicts the same assertions, and holds every justification.

Source: Cuenca Grau, Horrocks, Kazakov, Sattler, Modular Reuse of Ontologies: Theory and Practice, JAIR 31 (2008), section 5.
Direction: over-approximates; an axiom that is left out is in no justification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shiq.model import (
    NOTHING,
    THING,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    DataAllValuesFrom,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataPropertyDomain,
    DataPropertyRange,
    DataSomeValuesFrom,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentDataProperties,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    HasKey,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyChain,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)
from shiq.signature import parts


def relevant(axioms: Sequence[Axiom], values: Iterable[object]) -> list[Axiom]:
    """The axioms, in their order, that can take part in a contradiction with ``values`` (assertions or expressions).

    Stops because each round takes an axiom up or is the last. Cost: rounds × size of ``axioms``.
    """
    return [axioms[i] for i in reached(axioms, names_of(values)).places]


@dataclass(frozen=True)
class Reach:
    """``places`` of axioms, ascending; ``names``: a vocabulary with that of these axioms. Data in these names reaches no more;
    what data in others reaches as well is reached from all these names."""

    places: tuple[int, ...]
    names: frozenset[str]


def reached(axioms: Sequence[Axiom], vocabulary: Iterable[str]) -> Reach:
    """The axioms that can say anything about data in ``vocabulary`` (IRIs of classes and properties).

    The others hold once all other names are empty, whatever the domain and wherever the individuals are: so a model of those
    reached and of the data, with other names emptied, is one of all.
    """
    names = set(vocabulary)
    inside: set[int] = set()
    open_ = list(range(len(axioms)))
    while True:
        left: list[int] = []
        taken: list[int] = []
        for i in open_:
            (left if _is_local(axioms[i], names) else taken).append(i)
        if not taken:
            return Reach(tuple(sorted(inside)), frozenset(names))
        inside.update(taken)
        open_ = left
        for i in taken:
            names.update(names_of((axioms[i],)))


def names_of(values: Iterable[object]) -> set[str]:
    """The IRIs of the classes and properties in ``values``."""
    return {part.iri for value in values for part in parts(value) if isinstance(part, Class | ObjectProperty | DataProperty)}


def _is_local(axiom: Axiom, names: set[str]) -> bool:
    match axiom:
        case SubClassOf(sub, sup):
            return _is_empty(sub, names) or _is_full(sup, names)
        case EquivalentClasses(members):
            return all(_is_empty(m, names) for m in members) or all(_is_full(m, names) for m in members)
        case DisjointClasses(members):
            return sum(not _is_empty(m, names) for m in members) < 2
        case DisjointUnion(cls, members):
            return _is_empty(cls, names) and all(_is_empty(m, names) for m in members)
        case SubObjectPropertyOf(sub, _) | SubDataPropertyOf(sub, _):
            return not _is_in(sub, names)
        case EquivalentObjectProperties(members) | EquivalentDataProperties(members):
            return not any(_is_in(m, names) for m in members)
        case InverseObjectProperties(first, second):
            return not _is_in(first, names) and not _is_in(second, names)
        case DisjointObjectProperties(members) | DisjointDataProperties(members):
            return sum(_is_in(m, names) for m in members) < 2
        case ObjectPropertyDomain(property, filler) | ObjectPropertyRange(property, filler):
            return not _is_in(property, names) or _is_full(filler, names)
        case DataPropertyDomain(property, filler):
            return not _is_in(property, names) or _is_full(filler, names)
        case DataPropertyRange(property, _) | FunctionalDataProperty(property):
            return not _is_in(property, names)
        case (
            FunctionalObjectProperty(property)
            | InverseFunctionalObjectProperty(property)
            | SymmetricObjectProperty(property)
            | AsymmetricObjectProperty(property)
            | IrreflexiveObjectProperty(property)
            | TransitiveObjectProperty(property)
        ):
            return not _is_in(property, names)
        case SubObjectPropertyChain(chain, _):
            # No path passes an empty link.
            return not all(_is_in(link, names) for link in chain)
        case HasKey(expression, roles, data):
            # It needs two members, and a value of each property.
            return _is_empty(expression, names) or not all(_is_in(p, names) for p in (*roles, *data))
    # ReflexiveObjectProperty (no domain is empty, so the property is not), DatatypeDefinition, and whatever is not known here.
    return False


def _is_in(property: Any, names: set[str]) -> bool:
    return (property.property if isinstance(property, ObjectInverseOf) else property).iri in names or _is_top(property)


def _is_top(property: Any) -> bool:
    iri: str = (property.property if isinstance(property, ObjectInverseOf) else property).iri
    return iri.startswith("http://www.w3.org/2002/07/owl#")


def _is_empty(expression: Any, names: set[str]) -> bool:
    """Whether ``expression`` has no members if what is not in ``names`` has none."""
    match expression:
        case Class(iri):
            return expression == NOTHING or (iri not in names and expression != THING)
        case ObjectIntersectionOf(operands):
            return any(_is_empty(o, names) for o in operands)
        case ObjectUnionOf(operands):
            return all(_is_empty(o, names) for o in operands)
        case ObjectComplementOf(operand):
            return _is_full(operand, names)
        case ObjectSomeValuesFrom(property, filler):
            return not _is_in(property, names) or _is_empty(filler, names)
        case ObjectMinCardinality(n, property, filler) | ObjectExactCardinality(n, property, filler):
            return n > 0 and (not _is_in(property, names) or _is_empty(filler, names))
        case ObjectHasValue(property, _) | ObjectHasSelf(property):
            return not _is_in(property, names)
        case ObjectOneOf(individuals):
            # An individual denotes something in every model, whether or not it is talked of elsewhere.
            return not individuals
        case DataSomeValuesFrom(property, _) | DataHasValue(property, _):
            return not _is_in(property, names)
        case DataMinCardinality(n, property, _) | DataExactCardinality(n, property, _):
            return n > 0 and not _is_in(property, names)
    return False


def _is_full(expression: Any, names: set[str]) -> bool:
    """Whether everything is in ``expression`` if what is not in ``names`` has no members."""
    match expression:
        case Class():
            return bool(expression == THING)
        case ObjectIntersectionOf(operands):
            return all(_is_full(o, names) for o in operands)
        case ObjectUnionOf(operands):
            return any(_is_full(o, names) for o in operands)
        case ObjectComplementOf(operand):
            return _is_empty(operand, names)
        case ObjectAllValuesFrom(property, filler):
            return not _is_in(property, names) or _is_full(filler, names)
        case DataAllValuesFrom(property, _):
            return not _is_in(property, names)
        case ObjectMaxCardinality(_, property, filler):
            return not _is_in(property, names) or _is_empty(filler, names)
        case ObjectMinCardinality(n, _, _):
            return bool(n == 0)
        case ObjectExactCardinality(0, property, filler):
            return not _is_in(property, names) or _is_empty(filler, names)
        case DataMaxCardinality(_, property, _) | DataExactCardinality(0, property, _):
            return not _is_in(property, names)
        case DataMinCardinality(n, _, _):
            return bool(n == 0)
    return False

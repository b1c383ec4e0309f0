"""Extract the module of a TBox that is relevant to a vocabulary: the axioms that are not ⊥-local.

An axiom is ⊥-local in a signature if it holds whenever every name outside the signature is empty.
Such an axiom says nothing about the names inside. Repeatedly adding the non-local axioms with their
names gives a module. It implies everything over the signature that the TBox implies, so it
contradicts the same assertions and contains every justification.

Source: Cuenca Grau, Horrocks, Kazakov, Sattler, Modular Reuse of Ontologies: Theory and Practice,
JAIR 31 (2008), section 5. Direction: over-approximates; an excluded axiom is in no justification.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shiq import model as owl
from shiq.model.walk import parts
from shiq.rdf.vocabulary import LANGUAGE, VALUE_ROLE


def relevant_axioms(axioms: Sequence[owl.Axiom], values: Iterable[object]) -> list[owl.Axiom]:
    """Select the axioms that can take part in a contradiction with some axioms or assertions
    (`values`), in order.

    values: assertions or expressions.

    Stops because each round adds an axiom or is the last. Cost: rounds × size of `axioms`.
    """
    return [axioms[i] for i in select_reachable_axioms(axioms, names_of(values)).places]


@dataclass(frozen=True)
class ReachableAxioms:
    """The axioms that can matter to data over a vocabulary: those not ⊥-local for it.

    places: indexes of the axioms, ascending.
    names: the vocabulary, with that of these axioms. Data over these names reaches no further
        axiom.
    """

    places: tuple[int, ...]
    names: frozenset[str]


def select_reachable_axioms(
    axioms: Sequence[owl.Axiom], vocabulary: Iterable[str]
) -> ReachableAxioms:
    """Select the axioms that can constrain data over `vocabulary` (IRIs of classes and properties).

    All other axioms hold once all other names are empty, for every domain. So a model of the
    selected axioms and the data, with other names emptied, is a model of all axioms.
    """
    names = set(vocabulary)
    inside: set[int] = set()
    open_ = list(range(len(axioms)))
    while True:
        left: list[int] = []
        taken: list[int] = []
        for i in open_:
            (left if _is_bottom_local(axioms[i], names) else taken).append(i)
        if not taken:
            return ReachableAxioms(tuple(sorted(inside)), frozenset(names))
        inside.update(taken)
        open_ = left
        for i in taken:
            names.update(names_of((axioms[i],)))


def names_of(values: Iterable[object]) -> set[str]:
    """Collect the IRIs of the classes and properties in axioms or assertions."""
    return {
        part.iri
        for value in values
        for part in parts(value)
        if isinstance(part, owl.Class | owl.ObjectProperty | owl.DataProperty)
    }


def _is_bottom_local(axiom: owl.Axiom, names: set[str]) -> bool:
    """Decide whether `axiom` holds in every model in which all names outside of `names` are empty."""
    match axiom:
        case owl.SubClassOf(sub, sup):
            return _is_bottom_equivalent(sub, names) or _is_top_equivalent(sup, names)
        case owl.EquivalentClasses(members):
            return all(_is_bottom_equivalent(m, names) for m in members) or all(
                _is_top_equivalent(m, names) for m in members
            )
        case owl.DisjointClasses(members):
            return sum(not _is_bottom_equivalent(m, names) for m in members) < 2
        case owl.DisjointUnion(cls, members):
            return _is_bottom_equivalent(cls, names) and all(
                _is_bottom_equivalent(m, names) for m in members
            )
        case owl.EquivalentObjectProperties(members) | owl.EquivalentDataProperties(members):
            return not any(_is_in_vocabulary(m, names) for m in members)
        case owl.InverseObjectProperties(first, second):
            return not _is_in_vocabulary(first, names) and not _is_in_vocabulary(second, names)
        case owl.DisjointObjectProperties(members) | owl.DisjointDataProperties(members):
            return sum(_is_in_vocabulary(m, names) for m in members) < 2
        case (
            owl.ObjectPropertyDomain(property, filler)
            | owl.ObjectPropertyRange(property, filler)
            | owl.DataPropertyDomain(property, filler)
        ):
            return not _is_in_vocabulary(property, names) or _is_top_equivalent(filler, names)
        case (
            owl.SubObjectPropertyOf(property, _)
            | owl.SubDataPropertyOf(property, _)
            | owl.DataPropertyRange(property, _)
            | owl.FunctionalDataProperty(property)
            | owl.InverseFunctionalDataProperty(property)
            | owl.FunctionalObjectProperty(property)
            | owl.InverseFunctionalObjectProperty(property)
            | owl.SymmetricObjectProperty(property)
            | owl.AsymmetricObjectProperty(property)
            | owl.IrreflexiveObjectProperty(property)
            | owl.TransitiveObjectProperty(property)
        ):
            return not _is_in_vocabulary(property, names)
        case owl.SubObjectPropertyChain(chain, _):
            # No path passes an empty link.
            return not all(_is_in_vocabulary(link, names) for link in chain)
        case owl.HasKey(expression, roles, data):
            # It needs two members, and a value of each property.
            return _is_bottom_equivalent(expression, names) or not all(
                _is_in_vocabulary(p, names) for p in (*roles, *data)
            )
    # ReflexiveObjectProperty (no domain is empty, so the property is not), DatatypeDefinition, and
    # whatever is not known here.
    return False


def _is_in_vocabulary(property: Any, names: set[str]) -> bool:
    """Decide whether a property is in the vocabulary `names`."""
    iri: str = (property.property if isinstance(property, owl.ObjectInverseOf) else property).iri
    # A role of values stands for its data property.
    return iri in names or iri.removeprefix(VALUE_ROLE) in names or _is_top_property(property)


def _is_top_property(property: Any) -> bool:
    """Decide whether a property is the universal one."""
    iri: str = (property.property if isinstance(property, owl.ObjectInverseOf) else property).iri
    return iri.startswith("http://www.w3.org/2002/07/owl#") or iri in LANGUAGE


def _is_bottom_equivalent(expression: Any, names: set[str]) -> bool:
    """Decide whether `expression` is empty if all names outside of `names` are empty."""
    match expression:
        case owl.Class(iri):
            return expression == owl.NOTHING or (
                iri not in names and expression != owl.THING and iri not in LANGUAGE
            )
        case owl.ObjectIntersectionOf(operands):
            return any(_is_bottom_equivalent(o, names) for o in operands)
        case owl.ObjectUnionOf(operands):
            return all(_is_bottom_equivalent(o, names) for o in operands)
        case owl.ObjectComplementOf(operand):
            return _is_top_equivalent(operand, names)
        case owl.ObjectSomeValuesFrom(property, filler):
            return not _is_in_vocabulary(property, names) or _is_bottom_equivalent(filler, names)
        case owl.ObjectMinCardinality(n, property, filler) | owl.ObjectExactCardinality(
            n, property, filler
        ):
            return n > 0 and (
                not _is_in_vocabulary(property, names) or _is_bottom_equivalent(filler, names)
            )
        case owl.ObjectOneOf(individuals):
            # An individual denotes something in every model, whether or not it is talked of
            # elsewhere.
            return not individuals
        case (
            owl.ObjectHasValue(property, _)
            | owl.ObjectHasSelf(property)
            | owl.DataSomeValuesFrom(property, _)
            | owl.DataHasValue(property, _)
        ):
            return not _is_in_vocabulary(property, names)
        case owl.DataMinCardinality(n, property, _) | owl.DataExactCardinality(n, property, _):
            return n > 0 and not _is_in_vocabulary(property, names)
    return False


def _is_top_equivalent(expression: Any, names: set[str]) -> bool:
    """Decide whether `expression` contains everything if all names outside of `names` are empty."""
    match expression:
        case owl.Class():
            return bool(expression == owl.THING)
        case owl.ObjectIntersectionOf(operands):
            return all(_is_top_equivalent(o, names) for o in operands)
        case owl.ObjectUnionOf(operands):
            return any(_is_top_equivalent(o, names) for o in operands)
        case owl.ObjectComplementOf(operand):
            return _is_bottom_equivalent(operand, names)
        case owl.ObjectAllValuesFrom(property, filler):
            return not _is_in_vocabulary(property, names) or _is_top_equivalent(filler, names)
        case owl.ObjectMaxCardinality(_, property, filler) | owl.ObjectExactCardinality(
            0, property, filler
        ):
            return not _is_in_vocabulary(property, names) or _is_bottom_equivalent(filler, names)
        case (
            owl.DataAllValuesFrom(property, _)
            | owl.DataMaxCardinality(_, property, _)
            | owl.DataExactCardinality(0, property, _)
        ):
            return not _is_in_vocabulary(property, names)
        case owl.ObjectMinCardinality(n, _, _) | owl.DataMinCardinality(n, _, _):
            return bool(n == 0)
    return False

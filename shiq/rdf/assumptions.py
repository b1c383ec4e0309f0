"""Assumptions under which an axiom that was not understood holds, whatever it says (THEORY, "Axioms
that were not understood").

>>> A, p = owl.Class("urn:A"), owl.ObjectProperty("urn:p")
>>> restriction = owl.ObjectExactCardinality(1, p, owl.THING)
>>> is_simple = simplicity([owl.TransitiveObjectProperty(p)])
>>> assumption_for(owl.SubClassOf(A, restriction), is_simple)
(SubClassOf(sub=Class(iri='urn:A'), sup=Class(iri='http://www.w3.org/2002/07/owl#Nothing')),)
>>> assumption_for(owl.EquivalentClasses((A, restriction)), is_simple)
()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shiq import model as owl
from shiq.profile import simple_needed
from shiq.rdf.expressions import Expressions
from shiq.rdf.graph import OpenPropertyError, UnmappedError, VocabularyGraph
from shiq.rdf.kinds import DATA, OBJECT, Kinds
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import FILLERS, FIRST, OPERATORS, REST, SWRL, TYPE, is_reserved
from shiq.roles import role_box, role_of

#: Words that say what a blank node is; several of one for one node would be an axiom.
_DEFINING = OPERATORS | FILLERS | {FIRST, REST, owl.OWL + "onDatatype"}
_ONCE = _DEFINING | {
    owl.OWL + word for word in ("onProperty", "onProperties", "onClass", "onDataRange")
}
_RULE_NAMES = frozenset(SWRL + word for word in ("classPredicate", "propertyPredicate"))
_PROPERTY_WORDS = (owl.RDFS + "domain", owl.RDFS + "range", owl.RDFS + "subPropertyOf")


def empty_property(property: Any, kind: str) -> owl.Axiom:
    """Say that a property has no pair."""
    if kind == DATA:
        return owl.DataPropertyDomain(property, owl.NOTHING)
    return owl.ObjectPropertyDomain(property, owl.NOTHING)


def assumption_for_triple(
    graph: VocabularyGraph, expressions: Expressions, main: int
) -> tuple[owl.Axiom, ...]:
    """Find an assumption under which the axiom of a triple that gave none holds, whatever it
    says; empty if there is none.
    """
    subject, predicate, value = graph.subjects[main], graph.predicates[main], graph.objects[main]
    if not (_is_defined_once(graph, subject) and _is_defined_once(graph, value)):
        return ()
    if predicate in _PROPERTY_WORDS:
        try:
            kind = expressions.property_kind(subject)
            if kind == DATA:
                return (empty_property(expressions.data_property(subject), DATA),)
            if kind == OBJECT:
                return (empty_property(expressions.object_property(subject, []), OBJECT),)
        except OpenPropertyError:
            if isinstance(subject, str) and not subject.startswith("_:"):
                kinds = ((owl.ObjectProperty(subject), OBJECT), (owl.DataProperty(subject), DATA))
                return tuple(empty_property(property, kind) for property, kind in kinds)
        except UnmappedError:
            pass
        return ()
    if predicate not in (owl.RDFS + "subClassOf", owl.OWL + "disjointWith"):
        return ()
    if (sub := _class_at(expressions, subject)) is not None:
        return (owl.SubClassOf(sub, owl.NOTHING),)
    if (other := _class_at(expressions, value)) is None:
        return ()
    if predicate == owl.RDFS + "subClassOf":
        return (owl.SubClassOf(owl.THING, other),)
    return (owl.SubClassOf(other, owl.NOTHING),)


def _class_at(expressions: Expressions, node: Term) -> owl.ClassExpression | None:
    try:
        return expressions.class_expression(node, [])
    except UnmappedError:
        return None


def _is_defined_once(graph: VocabularyGraph, node: Term) -> bool:
    """Tell whether no blank node that ``node`` is made of has two definitions: these would say
    something of each other, whoever uses the node.
    """
    seen, stack = set[str](), [node]
    while stack:
        here = stack.pop()
        if not isinstance(here, str) or not here.startswith("_:") or here in seen:
            continue
        seen.add(here)
        by_predicate = graph.by_subject.get(here, {})
        rows = {p: found for p, found in by_predicate.items() if p in _ONCE}
        if any(len(found) > 1 for found in rows.values()):
            return False
        if sum(p in _DEFINING for p in rows) > (2 if FIRST in rows else 1):
            return False
        stack += (graph.objects[i] for found in by_predicate.values() for i in found)
    return True


def names_in_triples(graph: VocabularyGraph, mains: Iterable[int]) -> set[str]:
    """Collect the names, but for words of OWL, in what hangs on the triples ``mains``."""
    rows = {i for main in mains for i in (main, *graph.reachable(main))}
    terms = {
        term
        for i in rows
        for term in (graph.subjects[i], graph.predicates[i], graph.objects[i])
        if isinstance(term, str)
    }
    return {term for term in terms if not term.startswith("_:") and not is_reserved(term)}


def names_in_rules(graph: VocabularyGraph) -> set[str]:
    """Collect the classes and properties that SWRL rules of the graph name."""
    return {
        value
        for predicate, value in zip(graph.predicates, graph.objects)
        if predicate in _RULE_NAMES and isinstance(value, str) and not value.startswith("_:")
    }


def simplicity(axioms: Iterable[owl.Axiom]) -> Callable[[owl.ObjectPropertyExpression], bool]:
    """Make the test whether a property is simple, given the axioms inside SHIQ(D)."""
    box = role_box(axioms)

    def is_simple(property: owl.ObjectPropertyExpression) -> bool:
        return not box.subroles(role_of(property)) & (box.composite | box.transitive)

    return is_simple


def assumption_for(
    axiom: owl.Axiom, is_simple: Callable[[owl.ObjectPropertyExpression], bool]
) -> tuple[owl.Axiom, ...]:
    """Find an assumption under which an axiom on roles that have to be simple holds; empty if
    there is none.
    """
    match axiom:
        case owl.SubClassOf(sub, sup):
            for assumed in (owl.SubClassOf(sub, owl.NOTHING), owl.SubClassOf(owl.THING, sup)):
                if not any(simple_needed(assumed)):
                    return (assumed,)
        case owl.ObjectPropertyDomain(property, _) | owl.ObjectPropertyRange(property, _):
            return (empty_property(property, OBJECT),)
        case owl.DisjointObjectProperties(members):
            rest = tuple(p for p in members if is_simple(p))
            empty = tuple(empty_property(p, OBJECT) for p in members if not is_simple(p))
            return (*empty, owl.DisjointObjectProperties(rest)) if len(rest) > 1 else empty
        case (
            owl.FunctionalObjectProperty(property)
            | owl.InverseFunctionalObjectProperty(property)
            | owl.AsymmetricObjectProperty(property)
            | owl.IrreflexiveObjectProperty(property)
        ):
            return (empty_property(property, OBJECT),)
    return ()


def assumptions_for_rules(graph: VocabularyGraph, kinds: Kinds) -> tuple[owl.Axiom, ...]:
    """Find assumptions under which no SWRL rule of the graph fires: of each, that one class or
    property of its body is empty. Empty if there is a rule without any.
    """
    rules = [
        subject
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
        if predicate == TYPE and value == SWRL + "Imp"
    ]
    found: dict[owl.Axiom, None] = {}
    for rule in rules:
        possible = list(_empty_bodies(graph, kinds, rule))
        if not possible:
            return ()
        if found.keys().isdisjoint(possible):
            found[possible[-1]] = None
    return tuple(found)


def _empty_bodies(graph: VocabularyGraph, kinds: Kinds, rule: str) -> Iterator[owl.Axiom]:
    """Say of each class and property in the body of a rule that it is empty."""

    def value_of(node: Term, word: str) -> Term | None:
        rows = graph.find(node, word) if isinstance(node, str) else []
        return graph.objects[rows[0]] if len(rows) == 1 else None

    cell, seen = value_of(rule, SWRL + "body"), set[Term]()
    while cell is not None and cell not in seen:
        seen.add(cell)
        atom = value_of(cell, FIRST)
        cell = value_of(cell, REST)
        if atom is None:
            continue
        name = value_of(atom, SWRL + "classPredicate")
        if isinstance(name, str) and not name.startswith("_:") and kinds.is_class(name):
            yield owl.SubClassOf(owl.Class(name), owl.NOTHING)
        name = value_of(atom, SWRL + "propertyPredicate")
        if isinstance(name, str) and not name.startswith("_:"):
            kind = kinds.property_kind(name)
            if kind == OBJECT:
                yield empty_property(owl.ObjectProperty(name), OBJECT)
            elif kind == DATA:
                yield empty_property(owl.DataProperty(name), DATA)

"""Find axioms in doubt: some readings of an ontology have them and others do not (THEORY, "Axioms
in doubt").

Assumptions make an uninterpreted axiom true whatever it means (THEORY, "Axioms that were not
understood").

>>> A, p = owl.Class("urn:A"), owl.ObjectProperty("urn:p")
>>> restriction = owl.ObjectExactCardinality(1, p, owl.THING)
>>> is_simple = make_simplicity_test([owl.TransitiveObjectProperty(p)])
>>> assumption_for_axiom(owl.SubClassOf(A, restriction), is_simple)
(SubClassOf(sub=Class(iri='urn:A'), sup=Class(iri='http://www.w3.org/2002/07/owl#Nothing')),)
>>> assumption_for_axiom(owl.EquivalentClasses((A, restriction)), is_simple)
()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.model import RDFS, Assertion, Axiom, Signature, TBox
from shiq.model.profile import roles_required_simple
from shiq.model.roles import role_box, role_of
from shiq.model.walk import entities, is_reserved
from shiq.rdf.expressions import Expressions
from shiq.rdf.graph import OpenPropertyError, UnmappedError, VocabularyGraph
from shiq.rdf.name_kinds import DATA, OBJECT, NameKinds
from shiq.rdf.namespaces import IN_DOUBT
from shiq.rdf.ontology_header import UNMET
from shiq.rdf.triples import Term, numpy_view
from shiq.rdf.vocabulary import (
    DECLARATIONS,
    FILLERS,
    FIRST,
    OPERATORS,
    REST,
    SWRL,
    TYPE,
)

if TYPE_CHECKING:
    from shiq.inputs.reading import Reading
    from shiq.rdf.loaded_sources import LoadedSources


@dataclass(frozen=True)
class ImportCandidates:
    """Several files that claim to be the same imported ontology but differ in content.

    leftover: reports them
    common_axioms: axioms that are in all files
    partial_assertions: assertions that are not in all files
    vocabularies: signature of each file
    """

    names: tuple[str, ...]
    leftover: Leftover
    common_axioms: frozenset[Axiom]
    partial_assertions: frozenset[Assertion]
    vocabularies: tuple[Signature, ...]


def compare_candidates(
    names: Sequence[str], leftover: Leftover, readings: Sequence[Reading]
) -> ImportCandidates | None:
    """Compare the files ``names`` that claim to be the same ontology, given the ``readings`` of
    each.

    Returns: None if they were not read, differ in imports, or have assertions on blank nodes, which
        differ in each reading.
    """
    if (
        not readings
        or len({frozenset(_imports_without_document(reading)) for reading in readings}) > 1
    ):
        return None
    assertions = [frozenset(reading.abox) for reading in readings]
    asserted = frozenset().union(*assertions) - assertions[0].intersection(*assertions)
    if any(name.startswith("_:") for reading in readings for name in reading.abox.individuals):
        return None
    axioms = [frozenset(reading.tbox.axioms) for reading in readings]
    vocabularies = tuple(reading.tbox.signature for reading in readings)
    return ImportCandidates(
        tuple(names), leftover, axioms[0].intersection(*axioms), asserted, vocabularies
    )


def _imports_without_document(reading: Reading) -> Iterator[str]:
    """Yield the messages on those imports of an ontology that have no document, or only a built-in
    vocabulary table.
    """
    for leftover in reading.leftovers:
        if leftover.kind in UNMET or (
            leftover.kind == "vocabulary" and "from shiq's table" in leftover.message
        ):
            yield leftover.message


def report_candidates(
    candidates: Collection[ImportCandidates], known: Signature, loaded: LoadedSources
) -> Iterator[Leftover]:
    """Report each import with several candidate files. The leftover blocks a verdict if reading one
    file alone could change the kind of a name.
    """
    names = {name for found in candidates for name in found.names}
    for found in candidates:
        if terms := _ambiguous_names(found, known, loaded, names):
            message = f"{found.leftover.message}; with one of them alone <{min(terms)}> may be of another kind"
            yield replace(found.leftover, message=message)
        else:
            message = f"{found.leftover.message}; all were read, and consistent holds for each"
            yield replace(found.leftover, kind=IN_DOUBT, message=message)


def _ambiguous_names(
    found: ImportCandidates, known: Signature, loaded: LoadedSources, names: Collection[str]
) -> set[str]:
    """Collect the names whose kind (class, object property, …) would be open or another if only one
    of the candidate files were read.

    Such a name has another kind in a file, or different kinds in the files and an undeclared use
    outside of them.
    """
    kinds = [dict(_kinds_by_name(vocabulary)) for vocabulary in found.vocabularies]
    here = dict(_kinds_by_name(known))
    other = {
        iri for of in kinds for iri in of if of[iri] - here.get(iri, frozenset()) - {"annotation"}
    }
    open_ = {
        iri for of in kinds for iri in of if any(of.get(iri) != other.get(iri) for other in kinds)
    }
    triples = loaded.triples
    ids = [i for i in map(triples.ids.get, open_) if i is not None]
    rows = np.flatnonzero(
        np.isin([*map(numpy_view, (triples.subject, triples.predicate, triples.object))], ids).any(
            axis=0
        )
    )
    used, declared = set[str](), set[str]()
    for row in (row for row in rows.tolist() if triples.place(row)[0] not in names):
        subject, predicate, value = (
            str(triples.terms[i[row]]) for i in (triples.subject, triples.predicate, triples.object)
        )
        used |= {subject, predicate, value}
        if predicate == RDFS + "subClassOf" or (predicate == TYPE and value in DECLARATIONS):
            declared |= {subject, value}
    for items in (loaded.axioms, loaded.assertions):
        used |= {
            entity.iri
            for item in items
            if item.source not in names
            for entity in entities(item.value)
        }
    return other | (used & open_ - declared)


def _kinds_by_name(known: Signature) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each name with the set of its kinds (class, datatype, object property, …)."""
    groups = {
        "class": known.classes,
        "object": known.object_properties,
        "data": known.data_properties,
        "annotation": known.annotation_properties,
        "datatype": known.datatypes,
    }
    for iri in known.all_terms:
        yield iri, frozenset(kind for kind, names in groups.items() if iri in names)


def mark_doubtful(
    tbox: TBox,
    axioms: Collection[Axiom],
    certain: Collection[Axiom],
    inside: Collection[Axiom],
    candidates: Collection[ImportCandidates],
    loaded: LoadedSources,
) -> TBox:
    """Set `TBox.doubtful`: the axioms of ``tbox`` that some reading of the ontology does not have.

    These are axioms that the ``certain`` ones do not give, axioms of only some ``candidates``, and
    axioms on names whose kind depends on the candidate.

    Args:
    axioms: source of ``tbox``
    inside: certain axioms inside SHIQ(D)
    """
    doubtful = {*tbox.axioms}.difference(inside) | {*axioms}.difference(certain)
    doubtful.difference_update(*(found.common_axioms for found in candidates))
    names = {name for found in candidates for name in found.names}
    if other := {
        iri
        for found in candidates
        for iri in _ambiguous_names(found, tbox.signature, loaded, names)
    }:
        doubtful.update(
            axiom
            for axiom in tbox.axioms
            if not other.isdisjoint(entity.iri for entity in entities(axiom))
        )
    return replace(
        tbox,
        doubtful=frozenset(doubtful).union(*(found.partial_assertions for found in candidates)),
    )


#: Words that say what a blank node is; several of one for one node would be an axiom.
_DEFINING = OPERATORS | FILLERS | {FIRST, REST, owl.OWL + "onDatatype"}
_ONCE = _DEFINING | {
    owl.OWL + word for word in ("onProperty", "onProperties", "onClass", "onDataRange")
}
_RULE_NAMES = frozenset(SWRL + word for word in ("classPredicate", "propertyPredicate"))
_PROPERTY_WORDS = (owl.RDFS + "domain", owl.RDFS + "range", owl.RDFS + "subPropertyOf")


def axiom_of_empty_property(property: Any, kind: str) -> owl.Axiom:
    """Return the axiom that a property of ``kind`` (object or data) holds for no pair."""
    if kind == DATA:
        return owl.DataPropertyDomain(property, owl.NOTHING)
    return owl.ObjectPropertyDomain(property, owl.NOTHING)


def assumption_for_triple(
    graph: VocabularyGraph, expressions: Expressions, main: int
) -> tuple[owl.Axiom, ...]:
    """Find axioms that make an uninterpreted axiom true, whatever it means; ``main`` is the triple
    it begins with. Empty if there are none.
    """
    subject, predicate, value = graph.subjects[main], graph.predicates[main], graph.objects[main]
    if not (_is_defined_once(graph, subject) and _is_defined_once(graph, value)):
        return ()
    if predicate in _PROPERTY_WORDS:
        try:
            kind = expressions.property_kind(subject)
            if kind == DATA:
                return (axiom_of_empty_property(expressions.data_property(subject), DATA),)
            if kind == OBJECT:
                return (axiom_of_empty_property(expressions.object_property(subject, []), OBJECT),)
        except OpenPropertyError:
            if isinstance(subject, str) and not subject.startswith("_:"):
                kinds = ((owl.ObjectProperty(subject), OBJECT), (owl.DataProperty(subject), DATA))
                return tuple(axiom_of_empty_property(property, kind) for property, kind in kinds)
        except UnmappedError:
            pass
        return ()
    if predicate not in (owl.RDFS + "subClassOf", owl.OWL + "disjointWith"):
        return ()
    if (sub := _class_expression_at(expressions, subject)) is not None:
        return (owl.SubClassOf(sub, owl.NOTHING),)
    if (other := _class_expression_at(expressions, value)) is None:
        return ()
    if predicate == owl.RDFS + "subClassOf":
        return (owl.SubClassOf(owl.THING, other),)
    return (owl.SubClassOf(other, owl.NOTHING),)


def _class_expression_at(expressions: Expressions, node: Term) -> owl.ClassExpression | None:
    """Return the class expression at a node; None if there is none."""
    try:
        return expressions.class_expression(node, [])
    except UnmappedError:
        return None


def _is_defined_once(graph: VocabularyGraph, node: Term) -> bool:
    """Decide whether no blank node below ``node`` has two definitions.

    Two definitions would be an axiom by themselves, even if nothing uses the node.
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
    """Collect the names, except OWL's own, in the expressions of the axioms that begin at the
    triples ``mains``.
    """
    rows = {i for main in mains for i in (main, *graph.reachable_triples(main))}
    terms = {
        term
        for i in rows
        for term in (graph.subjects[i], graph.predicates[i], graph.objects[i])
        if isinstance(term, str)
    }
    return {term for term in terms if not term.startswith("_:") and not is_reserved(term)}


def names_in_rules(graph: VocabularyGraph) -> set[str]:
    """Collect the classes and properties in the SWRL rules of the graph."""
    return {
        value
        for predicate, value in zip(graph.predicates, graph.objects)
        if predicate in _RULE_NAMES and isinstance(value, str) and not value.startswith("_:")
    }


def make_simplicity_test(
    axioms: Iterable[owl.Axiom],
) -> Callable[[owl.ObjectPropertyExpression], bool]:
    """Make the test for simple roles under ``axioms``, all of them in SHIQ(D)."""
    box = role_box(axioms)

    def is_simple(property: owl.ObjectPropertyExpression) -> bool:
        """Decide whether a property is simple."""
        return not box.subroles(role_of(property)) & (box.composite | box.transitive)

    return is_simple


def assumption_for_axiom(
    axiom: owl.Axiom, is_simple: Callable[[owl.ObjectPropertyExpression], bool]
) -> tuple[owl.Axiom, ...]:
    """Find axioms that make an axiom on non-simple roles true; empty if there are none."""
    match axiom:
        case owl.SubClassOf(sub, sup):
            for assumed in (owl.SubClassOf(sub, owl.NOTHING), owl.SubClassOf(owl.THING, sup)):
                if not any(roles_required_simple(assumed)):
                    return (assumed,)
        case owl.ObjectPropertyDomain(property, _) | owl.ObjectPropertyRange(property, _):
            return (axiom_of_empty_property(property, OBJECT),)
        case owl.DisjointObjectProperties(members):
            rest = tuple(p for p in members if is_simple(p))
            empty = tuple(axiom_of_empty_property(p, OBJECT) for p in members if not is_simple(p))
            return (*empty, owl.DisjointObjectProperties(rest)) if len(rest) > 1 else empty
        case (
            owl.FunctionalObjectProperty(property)
            | owl.InverseFunctionalObjectProperty(property)
            | owl.AsymmetricObjectProperty(property)
            | owl.IrreflexiveObjectProperty(property)
        ):
            return (axiom_of_empty_property(property, OBJECT),)
    return ()


def assumptions_against_rules(graph: VocabularyGraph, kinds: NameKinds) -> tuple[owl.Axiom, ...]:
    """Find axioms under which no SWRL rule of the graph fires: each makes one class or property of
    a rule body empty.

    Returns: empty if a rule has no such axiom.
    """
    rules = [
        subject
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
        if predicate == TYPE and value == SWRL + "Imp"
    ]
    found: dict[owl.Axiom, None] = {}
    for rule in rules:
        possible = list(_axioms_emptying_body(graph, kinds, rule))
        if not possible:
            return ()
        if found.keys().isdisjoint(possible):
            found[possible[-1]] = None
    return tuple(found)


def _axioms_emptying_body(
    graph: VocabularyGraph, kinds: NameKinds, rule: str
) -> Iterator[owl.Axiom]:
    """Yield the axioms that each make one class or property in the body of ``rule`` empty."""

    def value_of(node: Term, word: str) -> Term | None:
        """The single value of a word at a node; None if there are none or several."""
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
                yield axiom_of_empty_property(owl.ObjectProperty(name), OBJECT)
            elif kind == DATA:
                yield axiom_of_empty_property(owl.DataProperty(name), DATA)

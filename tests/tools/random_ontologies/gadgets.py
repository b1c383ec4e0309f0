"""Small contradictions that need a count, a merge, a choice or a chain to be seen: seeds for
random knowledge bases.

Each is inconsistent as a whole, and consistent without any one of (nearly all of) its
assertions. Some are cases that criteria for leaving assertions out once got wrong. `kb` renames
them, mixes them with random axioms and assertions, thins them out, and splits them into base and
batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from shiq.functional import parse_functional
from shiq.model import OWL, Assertion, Axiom, Class, ObjectProperty, Signature
from shiq.model import DataProperty as Property
from tests.tools.random_ontologies.features import parts

V = TypeVar("V")

_TEXTS = {
    "one neighbour too many": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S))
        DisjointClasses(:B1 :B2 :B3)
        ObjectPropertyAssertion(:S :a :b1) ObjectPropertyAssertion(:S :a :b2) ObjectPropertyAssertion(:S :a :b3)
        ClassAssertion(:B1 :b1) ClassAssertion(:B2 :b2) ClassAssertion(:B3 :b3)
    """,
    "a generated neighbour uses up the bound": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S)) SubClassOf(:A ObjectSomeValuesFrom(:S :C))
        DisjointClasses(:B :C) FunctionalObjectProperty(:R)
        ClassAssertion(:A :c) ObjectPropertyAssertion(:S :c :b1) ObjectPropertyAssertion(:S :c :b2)
        ClassAssertion(:B :b1) ClassAssertion(:B :b2)
        ObjectPropertyAssertion(:R :b1 :d1) ObjectPropertyAssertion(:R :b2 :d2)
        ClassAssertion(ObjectComplementOf(:D) :d2) ClassAssertion(:D :d1)
    """,
    "one class, two individuals": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S)) SubClassOf(owl:Thing ObjectMaxCardinality(2 :T))
        FunctionalObjectProperty(:R) FunctionalObjectProperty(:U)
        ObjectPropertyAssertion(:T :d :e1) ObjectPropertyAssertion(:T :d :e2) ObjectPropertyAssertion(:T :d :f)
        DifferentIndividuals(:e1 :e2)
        ObjectPropertyAssertion(:U :z :p) ObjectPropertyAssertion(:U :z :q)
        ObjectPropertyAssertion(:S :p :e1) ObjectPropertyAssertion(:S :p :e2) ObjectPropertyAssertion(:S :q :e3)
        ObjectPropertyAssertion(:R :e3 :g) ObjectPropertyAssertion(:R :e1 :h) ObjectPropertyAssertion(:R :e2 :h)
        ClassAssertion(ObjectComplementOf(:D) :h) ClassAssertion(:D :g)
    """,
    "two witnesses together": """
        SubObjectPropertyOf(:R :P) SubObjectPropertyOf(:T :P) SubObjectPropertyOf(:R ObjectInverseOf(:S))
        FunctionalObjectProperty(:P) FunctionalObjectProperty(:S) FunctionalObjectProperty(:F) FunctionalObjectProperty(:Q)
        SubClassOf(:B0 ObjectSomeValuesFrom(:R :D)) DisjointClasses(:B1 :B2)
        ClassAssertion(:B0 :e) ClassAssertion(:B0 :e2) ObjectPropertyAssertion(:T :e :a) ObjectPropertyAssertion(:T :e2 :a2)
        ObjectPropertyAssertion(:F :z :a) ObjectPropertyAssertion(:F :z :a2)
        ObjectPropertyAssertion(:Q :e :d) ObjectPropertyAssertion(:Q :e2 :d2)
        ClassAssertion(:B1 :d) ClassAssertion(:B2 :d2)
        ClassAssertion(ObjectComplementOf(:B0) :z) ClassAssertion(ObjectComplementOf(:B0) :a)
        ClassAssertion(ObjectComplementOf(:B0) :a2) ClassAssertion(ObjectComplementOf(:B0) :d)
        ClassAssertion(ObjectComplementOf(:B0) :d2) ClassAssertion(ObjectComplementOf(:D) :d)
        ClassAssertion(ObjectComplementOf(:D) :d2)
    """,
    "taken as a witness by a neighbour": """
        SubObjectPropertyOf(:R :P) SubObjectPropertyOf(:T :P) SubObjectPropertyOf(:R ObjectInverseOf(:S))
        FunctionalObjectProperty(:P) FunctionalObjectProperty(:S) SubClassOf(:A ObjectSomeValuesFrom(:R :D))
        ClassAssertion(:A :b) ObjectPropertyAssertion(:T :b :a) ObjectPropertyAssertion(:S :a :c) DifferentIndividuals(:b :c)
    """,
    "taken as a witness by a child": """
        SubObjectPropertyOf(:R :P) SubObjectPropertyOf(ObjectInverseOf(:Q) :P) SubObjectPropertyOf(:R ObjectInverseOf(:S))
        FunctionalObjectProperty(:P) FunctionalObjectProperty(:S)
        SubClassOf(:A ObjectSomeValuesFrom(:Q :E)) SubClassOf(:E ObjectSomeValuesFrom(:R :D))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:S :a :c) ClassAssertion(ObjectComplementOf(:E) :c)
    """,
    "a neighbour that has to be counted": """
        SubClassOf(:X ObjectMaxCardinality(1 :S :C)) SubClassOf(:V ObjectUnionOf(:C :D))
        SubClassOf(ObjectIntersectionOf(:D :Y) :U) SubClassOf(ObjectIntersectionOf(:D :Y) ObjectComplementOf(:U))
        ClassAssertion(:X :a) ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c) DifferentIndividuals(:b :c)
        ClassAssertion(:C :b) ClassAssertion(:V :c) ClassAssertion(:Y :c)
    """,
    "one clause, both ends": """
        SubObjectPropertyOf(:R3 :R1) SubObjectPropertyOf(:R3 ObjectInverseOf(:R1))
        InverseFunctionalObjectProperty(:R1) FunctionalObjectProperty(:Q) DisjointClasses(:B1 :B2)
        ObjectPropertyAssertion(:R3 :x1 :x0) ObjectPropertyAssertion(:R1 :x2 :x0)
        ObjectPropertyAssertion(:Q :x1 :d1) ObjectPropertyAssertion(:Q :x2 :d2)
        ClassAssertion(:B1 :d2) ClassAssertion(:B2 :d1)
    """,
    "an asserted need": """
        FunctionalObjectProperty(:S)
        ObjectPropertyAssertion(:S :a :b) ClassAssertion(ObjectComplementOf(:D) :b)
        ClassAssertion(ObjectSomeValuesFrom(:S :D) :a)
    """,
    "classes from old edges": """
        SubObjectPropertyOf(:R1 ObjectInverseOf(:R0)) FunctionalObjectProperty(:R0)
        ObjectPropertyAssertion(:R0 :x3 :x2) ObjectPropertyAssertion(:R1 :x4 :x3) DifferentIndividuals(:x1 :x0)
        ObjectPropertyAssertion(:R0 :x4 :x0) ObjectPropertyAssertion(:R0 :x2 :x1)
    """,
    "disjoint roles of one class": """
        DisjointObjectProperties(:R :Q) SubClassOf(owl:Thing ObjectMaxCardinality(2 :S))
        ObjectPropertyAssertion(:R :x :b) ObjectPropertyAssertion(:Q :y :b)
        ObjectPropertyAssertion(:S :a :x) ObjectPropertyAssertion(:S :a :y) ObjectPropertyAssertion(:S :a :z)
        DifferentIndividuals(:z :x) DifferentIndividuals(:z :y)
    """,
    "asymmetry of one class": """
        AsymmetricObjectProperty(:R) SubClassOf(:X ObjectMaxCardinality(1 :S :C))
        ObjectPropertyAssertion(:R :x :b) ObjectPropertyAssertion(:R :b :y) ClassAssertion(:X :a)
        ObjectPropertyAssertion(:S :a :x) ObjectPropertyAssertion(:S :a :y) ClassAssertion(:C :x) ClassAssertion(:C :y)
    """,
    "a negative assertion of one class": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S)) SubObjectPropertyOf(:Q :R)
        ObjectPropertyAssertion(:Q :x :b) NegativeObjectPropertyAssertion(:R :y :b)
        ObjectPropertyAssertion(:S :a :x) ObjectPropertyAssertion(:S :a :y) ObjectPropertyAssertion(:S :a :z)
        DifferentIndividuals(:z :x) DifferentIndividuals(:z :y)
    """,
    "a chain denied": """
        TransitiveObjectProperty(:R) SubObjectPropertyOf(:R :S)
        ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:R :b :c) ObjectPropertyAssertion(:R :c :d)
        NegativeObjectPropertyAssertion(:S :a :d)
    """,
    "chains below a bound": """
        TransitiveObjectProperty(:R) SubClassOf(:A0 ObjectMaxCardinality(1 :S ObjectSomeValuesFrom(:R :A1)))
        ClassAssertion(:A0 :a) ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c) DifferentIndividuals(:b :c)
        ObjectPropertyAssertion(:R :b :e) ObjectPropertyAssertion(:R :e :f) ObjectPropertyAssertion(:R :c :g)
        ClassAssertion(:A1 :f) ClassAssertion(:A1 :g)
    """,
    "chains upwards": """
        TransitiveObjectProperty(:R) SubObjectPropertyOf(:Q ObjectInverseOf(:R)) DisjointClasses(:B :C)
        SubClassOf(:A ObjectAllValuesFrom(:R ObjectUnionOf(:B :D)))
        SubClassOf(:D ObjectAllValuesFrom(:T :E)) SubClassOf(:D ObjectAllValuesFrom(:T ObjectComplementOf(:E)))
        ClassAssertion(:A :a) ClassAssertion(:C :d) ObjectPropertyAssertion(:T :d :e)
        ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:Q :c :b) ObjectPropertyAssertion(:R :c :d)
    """,
    "an odd circle in two colours": """
        SubClassOf(:V ObjectUnionOf(:B :C)) SubClassOf(:B ObjectAllValuesFrom(:S ObjectComplementOf(:B)))
        SubClassOf(:C ObjectAllValuesFrom(:S ObjectComplementOf(:C)))
        ClassAssertion(:V :a) ClassAssertion(:V :b) ClassAssertion(:V :c)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :b :c) ObjectPropertyAssertion(:S :c :a)
    """,
    "a circle of five in two colours": """
        SubClassOf(owl:Thing ObjectUnionOf(:B :C)) SubClassOf(:B ObjectAllValuesFrom(:S :C)) SymmetricObjectProperty(:S)
        DisjointClasses(:B :C)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :b :c) ObjectPropertyAssertion(:S :c :d)
        ObjectPropertyAssertion(:S :d :e) ObjectPropertyAssertion(:S :e :a)
        SubClassOf(:C ObjectAllValuesFrom(:S :B))
    """,
    "two bounds, one of them": """
        SubClassOf(:X ObjectUnionOf(ObjectMaxCardinality(1 :S) ObjectMaxCardinality(1 :T)))
        ClassAssertion(:X :a) DifferentIndividuals(:b :c) DifferentIndividuals(:d :e)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c)
        ObjectPropertyAssertion(:T :a :d) ObjectPropertyAssertion(:T :a :e)
    """,
    "a bound or a value": """
        SubClassOf(:X ObjectUnionOf(ObjectMaxCardinality(1 :S) ObjectAllValuesFrom(:T :D)))
        ClassAssertion(:X :a) DifferentIndividuals(:b :c) ClassAssertion(ObjectComplementOf(:D) :e)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c) ObjectPropertyAssertion(:T :a :e)
    """,
    "a choice at a neighbour": """
        SubClassOf(:K ObjectAllValuesFrom(:S ObjectUnionOf(:B :C)))
        SubClassOf(ObjectIntersectionOf(:D :B) :G) SubClassOf(ObjectIntersectionOf(:D :B) ObjectComplementOf(:G))
        SubClassOf(ObjectIntersectionOf(:D :C) :H) SubClassOf(ObjectIntersectionOf(:D :C) ObjectComplementOf(:H))
        ObjectPropertyAssertion(:S :b :a) ClassAssertion(:D :a) ClassAssertion(:K :b)
    """,
    "a choice by identity": """
        SubClassOf(:X ObjectAllValuesFrom(:S :Y)) SubClassOf(:W ObjectUnionOf(ObjectComplementOf(:Y) :U))
        SubClassOf(:W ObjectUnionOf(ObjectComplementOf(:Y) ObjectComplementOf(:U)))
        ObjectPropertyAssertion(:S :a :c) ClassAssertion(:X :b) ClassAssertion(:W :c) SameIndividual(:a :b)
    """,
    "pigeons unlike for different reasons": """
        SubClassOf(:X ObjectMaxCardinality(2 :S :C)) FunctionalObjectProperty(:R) DisjointClasses(:D :E)
        ClassAssertion(:X :a)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c) ObjectPropertyAssertion(:S :a :d)
        ClassAssertion(:C :b) ClassAssertion(:C :c) ClassAssertion(:C :d) DifferentIndividuals(:b :c)
        ClassAssertion(:D :c) ClassAssertion(:E :d) ObjectPropertyAssertion(:R :b :e) ObjectPropertyAssertion(:R :d :f)
        ClassAssertion(:D :e) ClassAssertion(:E :f)
    """,
    "needs that differ": """
        SubClassOf(:X ObjectMaxCardinality(2 :S)) SubClassOf(:X ObjectMinCardinality(2 :S :C)) DisjointClasses(:C :D)
        SubObjectPropertyOf(:T :S)
        ClassAssertion(:X :a) ObjectPropertyAssertion(:T :b :c) ClassAssertion(:D :c) SameIndividual(:a :b)
    """,
    "a neighbour as witness": """
        SubClassOf(:A ObjectSomeValuesFrom(:R :B)) FunctionalObjectProperty(:R) DisjointClasses(:D :E)
        SubClassOf(:B ObjectMaxCardinality(1 ObjectInverseOf(:R)))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:R :c :b)
        ObjectPropertyAssertion(:Q :c :d) ObjectPropertyAssertion(:Q :a :e) FunctionalObjectProperty(:Q)
        ClassAssertion(:D :d) ClassAssertion(:E :e)
    """,
    "values of one individual": """
        FunctionalObjectProperty(:S) FunctionalDataProperty(:f) SubDataPropertyOf(:g :f)
        ObjectPropertyAssertion(:S :a :x) ObjectPropertyAssertion(:S :a :y)
        DataPropertyAssertion(:f :x "1"^^xsd:integer) DataPropertyAssertion(:g :y "2"^^xsd:integer)
    """,
    "values counted over a class": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S)) SubClassOf(:C DataMaxCardinality(1 :f xsd:integer))
        ObjectPropertyAssertion(:S :a :x) ObjectPropertyAssertion(:S :a :y) ObjectPropertyAssertion(:S :a :z)
        DifferentIndividuals(:z :x) DifferentIndividuals(:z :y) ClassAssertion(:C :x)
        DataPropertyAssertion(:f :x "1"^^xsd:integer) DataPropertyAssertion(:f :y "2"^^xsd:integer)
    """,
    "a value denied to one class": """
        InverseFunctionalObjectProperty(:S) DisjointDataProperties(:f :g)
        ObjectPropertyAssertion(:S :x :a) ObjectPropertyAssertion(:S :y :a)
        DataPropertyAssertion(:f :x "1"^^xsd:integer) DataPropertyAssertion(:g :y "1"^^xsd:integer)
    """,
    "a needed value beside an asserted one": """
        FunctionalDataProperty(:f) SubDataPropertyOf(:g :f)
        SubClassOf(:C DataSomeValuesFrom(:g DatatypeRestriction(xsd:integer xsd:minInclusive "3"^^xsd:integer)))
        SubClassOf(:A ObjectAllValuesFrom(:S :C))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:S :a :b) DataPropertyAssertion(:f :b "2"^^xsd:integer)
    """,
    "a choice of values": """
        SubClassOf(:A ObjectAllValuesFrom(:S ObjectUnionOf(:B :C)))
        SubClassOf(:B DataAllValuesFrom(:f DatatypeRestriction(xsd:integer xsd:maxExclusive "2"^^xsd:integer)))
        SubClassOf(:C DataMaxCardinality(1 :f DatatypeRestriction(xsd:integer xsd:minInclusive "2"^^xsd:integer)))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:S :a :b)
        DataPropertyAssertion(:f :b "3"^^xsd:integer) DataPropertyAssertion(:f :b "4"^^xsd:integer)
    """,
}


@dataclass(frozen=True)
class Gadget:
    name: str
    axioms: tuple[Axiom, ...]
    assertions: tuple[Assertion, ...]
    signature: Signature
    individuals: tuple[str, ...]


_NAMESPACE = "urn:gadget:"
GADGETS: tuple[str, ...] = tuple(_TEXTS)

_PATHS = {
    "a chain in sight": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) SubClassOf(:A ObjectAllValuesFrom(:T :B))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:S :b :c)
        ClassAssertion(ObjectComplementOf(:B) :c)
    """,
    "a chain through witnesses": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) SubClassOf(:A ObjectAllValuesFrom(:T :B))
        SubClassOf(:K ObjectSomeValuesFrom(:R ObjectSomeValuesFrom(:S ObjectComplementOf(:B))))
        ClassAssertion(:K :a) ClassAssertion(:A :a)
    """,
    "a chain into a chain": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) SubObjectPropertyOf(ObjectPropertyChain(:T :U) :V)
        SubClassOf(:A ObjectAllValuesFrom(:V :B))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:S :b :c)
        ObjectPropertyAssertion(:U :c :d) ClassAssertion(ObjectComplementOf(:B) :d)
    """,
    "a part of a part": """
        SubObjectPropertyOf(ObjectPropertyChain(:T :S) :T) SubObjectPropertyOf(ObjectPropertyChain(:S :S) :S)
        ObjectPropertyRange(:T :B)
        ObjectPropertyAssertion(:T :a :b) ObjectPropertyAssertion(:S :b :c) ObjectPropertyAssertion(:S :c :d)
        ClassAssertion(ObjectComplementOf(:B) :d)
    """,
    "a chain that is denied": """
        SubObjectPropertyOf(ObjectPropertyChain(:R ObjectInverseOf(:S)) :T) SubObjectPropertyOf(:T :U)
        ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:S :c :b) NegativeObjectPropertyAssertion(:U :a :c)
    """,
    "a chain between what is one": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) FunctionalObjectProperty(:Q) SubClassOf(ObjectSomeValuesFrom(:T :A) :B)
        ObjectPropertyAssertion(:R :a :b) ObjectPropertyAssertion(:S :b2 :c) ClassAssertion(:A :c)
        ObjectPropertyAssertion(:Q :z :b) ObjectPropertyAssertion(:Q :z :b2) ClassAssertion(ObjectComplementOf(:B) :a)
    """,
    "a chain of a bounded role": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) SubClassOf(:A ObjectAllValuesFrom(:T :B)) FunctionalObjectProperty(:R)
        SubClassOf(:K ObjectSomeValuesFrom(:R :E)) SubClassOf(:E ObjectSomeValuesFrom(:S :D))
        SubClassOf(ObjectIntersectionOf(:B :D) :F) DisjointClasses(:F :D)
        ClassAssertion(:K :a) ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b)
    """,
}
_LOOPS = {
    "a reflexive role in a chain": """
        SubObjectPropertyOf(ObjectPropertyChain(:R :S) :T) ReflexiveObjectProperty(:S) SubClassOf(:A ObjectAllValuesFrom(:T :B))
        ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b) ClassAssertion(ObjectComplementOf(:B) :b)
    """,
    "a loop by merging": """
        FunctionalObjectProperty(:S) SubClassOf(ObjectHasSelf(:R) :B)
        ObjectPropertyAssertion(:S :x :a) ObjectPropertyAssertion(:S :x :b) ObjectPropertyAssertion(:R :a :b)
        ClassAssertion(ObjectComplementOf(:B) :a)
    """,
    "a loop by a choice of merges": """
        SubClassOf(:E ObjectMaxCardinality(2 :S)) SubClassOf(ObjectHasSelf(:R) :B)
        ObjectPropertyAssertion(:S :x :a) ObjectPropertyAssertion(:S :x :b) ObjectPropertyAssertion(:S :x :c)
        ObjectPropertyAssertion(:R :a :b) ClassAssertion(:E :x) DifferentIndividuals(:a :c) DifferentIndividuals(:b :c)
        ClassAssertion(ObjectComplementOf(:B) :a) ClassAssertion(ObjectComplementOf(:B) :b)
    """,
    "a loop that is counted": """
        FunctionalObjectProperty(:R) SubClassOf(:C ObjectHasSelf(:R)) DisjointClasses(:B :D)
        ObjectPropertyAssertion(:R :a :b) ClassAssertion(:D :b) ClassAssertion(:C :a) ClassAssertion(:B :a)
    """,
    "a loop among two": """
        SubClassOf(owl:Thing ObjectMaxCardinality(2 :S)) SubObjectPropertyOf(ObjectInverseOf(:R) :S)
        SubClassOf(:C ObjectHasSelf(:R)) FunctionalObjectProperty(:Q) DisjointClasses(:B :D)
        ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:S :a :c) ClassAssertion(:C :a)
        ObjectPropertyAssertion(:Q :a :x) ObjectPropertyAssertion(:Q :b :y) ObjectPropertyAssertion(:Q :c :z)
        ClassAssertion(:B :x) ClassAssertion(:D :y) ClassAssertion(:D :z) DifferentIndividuals(:b :c)
    """,
    "a counted loop makes two one": """
        FunctionalObjectProperty(:R) SubClassOf(:C ObjectHasSelf(:R)) FunctionalObjectProperty(:Q) DisjointClasses(:B :D)
        ObjectPropertyAssertion(:R :a :b) ClassAssertion(:C :a) ObjectPropertyAssertion(:Q :b :d)
        ObjectPropertyAssertion(:Q :a :e) ClassAssertion(:B :d) ClassAssertion(:D :e)
    """,
    "a loop is a neighbour": """
        SubClassOf(:C ObjectHasSelf(:R)) SubObjectPropertyOf(:R :S) SubClassOf(:A ObjectAllValuesFrom(ObjectInverseOf(:S) :B))
        ClassAssertion(:C :a) ClassAssertion(:A :a) ClassAssertion(ObjectComplementOf(:B) :a)
    """,
    "a loop of disjoint roles": """
        SubClassOf(:C ObjectHasSelf(:R)) DisjointObjectProperties(:R :S) FunctionalObjectProperty(:Q)
        ClassAssertion(:C :a) ObjectPropertyAssertion(:S :a :b) ObjectPropertyAssertion(:Q :x :a)
        ObjectPropertyAssertion(:Q :x :b)
    """,
    "a loop that is denied": """
        SubClassOf(:C ObjectHasSelf(:R)) SubObjectPropertyOf(:R :S) FunctionalObjectProperty(:Q)
        ClassAssertion(:C :a) NegativeObjectPropertyAssertion(:S :b :a)
        ObjectPropertyAssertion(:Q :x :a) ObjectPropertyAssertion(:Q :x :b)
    """,
    "a reflexive role is bounded": """
        ReflexiveObjectProperty(:R) SubClassOf(:A ObjectMaxCardinality(1 :R)) FunctionalObjectProperty(:Q) DisjointClasses(:B :D)
        ClassAssertion(:A :a) ObjectPropertyAssertion(:R :a :b) ClassAssertion(:B :a) ClassAssertion(:D :b)
    """,
    "a loop that two witnesses need": """
        SubClassOf(:C ObjectHasSelf(:R)) SubClassOf(:C ObjectMaxCardinality(2 :R)) SubClassOf(:C ObjectSomeValuesFrom(:R :D))
        DisjointClasses(:C :D :E) ClassAssertion(:C :a) ObjectPropertyAssertion(:R :a :b) ClassAssertion(:E :b)
    """,
}
#: The same for property chains, and for Self and reflexive roles.
PATH_GADGETS: tuple[str, ...] = tuple(_PATHS)
LOOP_GADGETS: tuple[str, ...] = tuple(_LOOPS)


@cache
def gadget(name: str) -> Gadget:
    """The gadget of that name, in names of its own."""
    reading = parse_functional(
        f"Prefix(:=<{_NAMESPACE}>) Ontology({(_TEXTS | _PATHS | _LOOPS)[name]})", name, ""
    )
    assert not reading.leftovers, reading.leftovers
    axioms, assertions = reading.tbox.axioms, tuple(reading.abox)
    return Gadget(
        name, axioms, assertions, signature_of(axioms, assertions), tuple(reading.abox.individuals)
    )


def signature_of(axioms: Iterable[Axiom], assertions: Iterable[Assertion]) -> Signature:
    """The names that occur, but for the built-in ones."""
    used: dict[type, set[str]] = {Class: set(), ObjectProperty: set(), Property: set()}
    for value in (*axioms, *assertions):
        for part in parts(value):
            if isinstance(part, Class | ObjectProperty | Property) and not part.iri.startswith(OWL):
                used[type(part)].add(part.iri)
    return Signature(
        frozenset(used[Class]), frozenset(used[ObjectProperty]), frozenset(used[Property])
    )


def renamed(value: V, names: Mapping[str, str]) -> V:
    """``value`` with names of classes, properties and individuals exchanged."""
    return _renamed(value, names)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Class | ObjectProperty | Property):
        return type(value)(names.get(value.iri, value.iri))
    if isinstance(value, tuple):
        return tuple(_renamed(part, names) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(
            *(_renamed(getattr(value, field.name), names) for field in fields(value))
        )
    return value

"""Every construct of the model, in each reader, writer and pass: it comes through, or it is refused
by its name. A construct that is added to the model alone fails in each of them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from shiq import model as m
from shiq.answers.verdict import Verdict
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.phrases import value_clause
from shiq.functional import parse_functional
from shiq.functional.owl_xml import read_owl_xml
from shiq.functional.writer import ontology_text
from shiq.inputs.sources import TextInput
from shiq.model import as_json, assertions, axioms, expressions
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines, axiom_lines
from shiq.model.profile import split_assertions, split_axioms
from shiq.model.walk import entities, rebuild, rewrite_parts
from shiq.rdf import read_ontology
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.ontology_text import write_ontology_text
from shiq.simplify import simplify
from shiq.simplify.locality import relevant_axioms
from tests.tools.owl_xml_writer import OwlXmlWriter

A, B, R, S = m.Class("urn:t#A"), m.Class("urn:t#B"), m.ObjectProperty("urn:t#r"), "urn:t#s"
D, INTEGER = m.DataProperty("urn:t#d"), m.Datatype(m.XSD + "integer")
#: What stands in a field, by the type that the field has; a tuple has all of them.
SAMPLES: dict[object, tuple[Any, ...]] = {
    m.ClassExpression: (A, B),
    m.ObjectPropertyExpression: (R, m.ObjectProperty(S)),
    m.DataRange: (INTEGER, m.Datatype(m.XSD + "string")),
    m.Class: (m.Class("urn:t#C"),),
    m.ObjectProperty: (R,),
    m.DataProperty: (D, m.DataProperty("urn:t#e")),
    m.Datatype: (INTEGER,),
    m.Literal: (m.Literal("1", m.XSD + "integer"), m.Literal("2", m.XSD + "integer")),
    tuple[str, m.Literal]: ((m.XSD + "minInclusive", m.Literal("1", m.XSD + "integer")),),
    str: ("urn:t#x", "urn:t#y"),
    int: (2,),
}
#: A datatype that is defined has a name of its own.
OWN: dict[type, Any] = {m.DatatypeDefinition: m.DatatypeDefinition(m.Datatype("urn:t#T"), INTEGER)}
PARTS = (m.Class, m.ObjectProperty, m.DataProperty, m.Datatype, m.Literal)


def constructs(*modules: ModuleType) -> list[type]:
    """The dataclasses that the modules define, less entities and literals."""
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and dataclasses.is_dataclass(kind)
        and kind.__module__ == module.__name__
        and kind not in PARTS
    ]


def example(kind: Any) -> Any:
    """A value of ``kind``: fields of one type have different names."""
    if kind in OWN:
        return OWN[kind]
    used: dict[object, int] = {}
    values = []
    for hint in get_type_hints(kind, {**vars(m), "m": m}).values():
        inner = get_args(hint)
        if inner and inner[-1] is Ellipsis:
            values.append(SAMPLES[inner[0]])
        else:
            place = used[hint] = used.get(hint, -1) + 1
            values.append(SAMPLES[hint][place % len(SAMPLES[hint])])
    return kind(*values)


def statement(kind: type, *, as_axiom: bool = False) -> Any:
    """An axiom or assertion that is an example of ``kind``, or that has one."""
    value = example(kind)
    if kind in get_args(m.ObjectPropertyExpression):
        return m.SubObjectPropertyOf(value, m.ObjectProperty(S))
    if kind in get_args(m.DataRange):
        value = m.DataAllValuesFrom(D, value)
    elif kind.__module__ != expressions.__name__:
        return value
    return (
        m.SubClassOf(m.Class("urn:t#z"), value) if as_axiom else m.ClassAssertion(value, "urn:t#z")
    )


def is_assertion(value: object) -> bool:
    return isinstance(value, get_args(m.Assertion)) or type(value).__module__ == assertions.__name__


def split(value: Any) -> tuple[list[Any], list[Any]]:
    """A statement among axioms, or among assertions."""
    return ([], [value]) if is_assertion(value) else ([value], [])


def same(value: Any, found: Iterable[object], leftovers: Iterable[Any] = ()) -> str:
    """ "" where ``value`` is found; else why it is not."""
    complaint = " ".join(leftover.message for leftover in leftovers)
    return "" if [*found] == [value] and not complaint else complaint or f"other: {found}"


def names_in(value: Any) -> set[str]:
    return set(re.findall(r"urn:t#\w+", repr(value)))


def has_names(value: Any, text: str) -> str:
    missing = {name for name in names_in(value) if not re.search(rf"\b{name[6:]}\b", text)}
    return f"{sorted(missing)} is not in {text!r}" if missing else ""


PREFIXES = "".join(
    f"@prefix {name}: <{iri}> .\n"
    for name, iri in (("", "urn:t#"), ("o", m.OWL), ("s", m.RDFS), ("x", m.XSD))
)
DECLARED = """:A a o:Class . :B a o:Class . :C a o:Class . :r a o:ObjectProperty . :s a o:ObjectProperty .
:d a o:DatatypeProperty . :e a o:DatatypeProperty . :T a s:Datatype .
"""
#: What the mapping to RDF says of axioms.
TURTLE: dict[type, str] = {
    m.SubClassOf: ":A s:subClassOf :B .",
    m.EquivalentClasses: ":A o:equivalentClass :B .",
    m.DisjointClasses: ":A o:disjointWith :B .",
    m.DisjointUnion: ":C o:disjointUnionOf (:A :B) .",
    m.SubObjectPropertyOf: ":r s:subPropertyOf :s .",
    m.EquivalentObjectProperties: ":r o:equivalentProperty :s .",
    m.DisjointObjectProperties: ":r o:propertyDisjointWith :s .",
    m.InverseObjectProperties: ":r o:inverseOf :s .",
    m.ObjectPropertyDomain: ":r s:domain :A .",
    m.ObjectPropertyRange: ":r s:range :A .",
    m.FunctionalObjectProperty: ":r a o:FunctionalProperty .",
    m.InverseFunctionalObjectProperty: ":r a o:InverseFunctionalProperty .",
    m.SymmetricObjectProperty: ":r a o:SymmetricProperty .",
    m.AsymmetricObjectProperty: ":r a o:AsymmetricProperty .",
    m.ReflexiveObjectProperty: ":r a o:ReflexiveProperty .",
    m.IrreflexiveObjectProperty: ":r a o:IrreflexiveProperty .",
    m.TransitiveObjectProperty: ":r a o:TransitiveProperty .",
    m.SubDataPropertyOf: ":d s:subPropertyOf :e .",
    m.EquivalentDataProperties: ":d o:equivalentProperty :e .",
    m.DisjointDataProperties: ":d o:propertyDisjointWith :e .",
    m.DataPropertyDomain: ":d s:domain :A .",
    m.DataPropertyRange: ":d s:range x:integer .",
    m.FunctionalDataProperty: ":d a o:FunctionalProperty .",
    m.InverseFunctionalDataProperty: ":d a o:InverseFunctionalProperty .",
    m.DatatypeDefinition: ":T o:equivalentClass x:integer .",
    m.SubObjectPropertyChain: ":r o:propertyChainAxiom (:r :s) .",
    m.HasKey: ":A o:hasKey (:r :s :d :e) .",
}

# --- the faces: "" where the statement comes through; what else it comes to -----------------------


def functional(value: Any) -> str:
    read = parse_functional(ontology_text(*split(value)), "x.ofn", "s")
    return same(value, [*read.tbox.axioms, *read.abox], read.leftovers)


def owl_xml(value: Any) -> str:
    text = OwlXmlWriter(1, "urn:o", {}).document([value])
    read = read_owl_xml(text.encode(), "x.owx", "urn:o", "s")
    return same(value, [x for _, x in (*read.axioms, *read.assertions)], read.leftovers)


def ntriples(value: Any) -> str:
    lines = assertion_lines(value) if is_assertion(value) else axiom_lines(value)
    read = read_ontology([TextInput(f"{PREFIXES}{DECLARED}{' '.join(lines)}", "turtle")])
    return same(value, [*read.tbox.axioms, *read.abox], read.leftovers)


def turtle(value: Any) -> str:
    read = read_ontology([TextInput(f"{PREFIXES}{DECLARED}{TURTLE[type(value)]}", "turtle")])
    return same(value, [*read.tbox.axioms, *read.abox], read.leftovers)


def as_json_and_back(value: Any) -> str:
    return same(value, [as_json.decode(as_json.encode(value))])


def sent_to_java(value: Any) -> str:
    text = write_ontology_text([value]).text
    complaints = [x.message for x in parse_functional(text, "x.ofn", "s").leftovers]
    return " ".join(complaints) or has_names(value, text)


def profile(value: Any) -> str:
    """What is inside SHIQ(D) by the split is then known to the ABox and to simplification."""
    inside, found = split_assertions([value]) if is_assertion(value) else split_axioms([value])
    if found:
        return " ".join(message for _, _, message in found)
    if is_assertion(value):
        expressions = [x.expression for x in abox_of(inside) if isinstance(x, m.ClassAssertion)]
        simplify(m.TBox(tuple(m.SubClassOf(A, expression) for expression in expressions)))
    else:
        simplify(m.TBox(tuple(inside)))
    return same(value, inside)


def simplified(value: Any) -> str:
    return has_names(value, repr(simplify(m.TBox((value,)))).partition("clauses=")[2])


def locality(value: Any) -> str:
    """An axiom is in the module of its own names; it is not in that of no names, or the negation
    of what it includes is not.
    """
    if relevant_axioms([value], [value]) != [value]:
        return "not in its own module"
    turned = [value]
    if isinstance(value, m.SubClassOf) and value.sub == m.Class("urn:t#z"):
        turned = [m.SubClassOf(value.sup, m.NOTHING), m.SubClassOf(m.THING, value.sup)]
    return "in each module" if all(relevant_axioms([axiom], []) for axiom in turned) else ""


def manchester_text(value: Any) -> str:
    return has_names(value, manchester(value, Labels()))


def plain_words(value: Any) -> str:
    return has_names(value, value_clause(value, Labels()))


def walked(value: Any) -> str:
    found = {entity.iri for entity in entities(value)}
    missing = names_in(value) - found - {"urn:t#x", "urn:t#y", "urn:t#z"}
    renamed = rewrite_parts(value, lambda part: B if part == A else None)
    again = rebuild(renamed, lambda part: A if part == B else part)
    return (
        f"{missing} is not met"
        if missing
        else same(again, [rebuild(value, lambda part: A if part == B else part)])
    )


#: What a reader of RDF, or the split, refuses or rewrites.
SPLIT: dict[type, str] = {
    m.InverseFunctionalDataProperty: "values-of:urn:t#d",
    m.HasKey: "HasKey is outside SHIQ(D)",
    m.ObjectOneOf: "the nominal ObjectOneOf is outside SHIQ(D)",
    m.ObjectHasValue: "ObjectPropertyAssertion",
    m.ObjectHasSelf: "ObjectPropertyAssertion",
}
#: Axioms that are not written as N-Triples: no generator and no pass makes one.
UNWRITTEN = {
    kind: kind.__name__
    for kind in (
        m.DisjointUnion,
        m.InverseFunctionalDataProperty,
        m.SubObjectPropertyChain,
        m.HasKey,
    )
}
OUTSIDE = {
    kind: f"{kind.__name__} is outside SHIQ(D)"
    for kind in (m.InverseFunctionalDataProperty, m.HasKey, m.ObjectOneOf, m.ObjectHasValue)
}
#: A loop is not empty, a datatype has its values, and an individual is there, whatever is empty.
GLOBAL = dict.fromkeys(
    (m.ReflexiveObjectProperty, m.DatatypeDefinition, m.ObjectOneOf), "in each module"
)
Face = Callable[[Any], str]
#: What does not come through as it is, by face, and what is told of it: a refusal that names it, or
#: what it becomes.
FACES: dict[Face, dict[type, str]] = {
    functional: {},
    owl_xml: {},
    ntriples: {**SPLIT, **UNWRITTEN},
    turtle: SPLIT,
    as_json_and_back: {},
    sent_to_java: {},
    profile: SPLIT,
    simplified: OUTSIDE,
    locality: GLOBAL,
    manchester_text: {},
    plain_words: {},
    walked: {},
}
OF_AXIOMS = (turtle, simplified, locality)


def check(face: Face, kind: type) -> None:
    """Fail where ``kind`` neither comes through ``face`` nor is refused as the table has it."""
    value = statement(kind, as_axiom=face in OF_AXIOMS)
    try:
        found = face(value)
    except Exception as refusal:
        found = f"{type(refusal).__name__}: {refusal}"
    expected = FACES[face].get(kind, "")
    assert expected in found and bool(expected) == bool(found), f"{kind.__name__}: {found}"


def modules_of(face: Face) -> tuple[ModuleType, ...]:
    if face is turtle:
        return (axioms,)
    return (axioms, expressions) if face in OF_AXIOMS else (axioms, assertions, expressions)


def test_every_construct_has_its_place_in_the_model() -> None:
    placed = {
        *get_args(m.Axiom),
        *get_args(m.Assertion),
        *get_args(m.ClassExpression),
        *get_args(m.DataRange),
        *get_args(m.ObjectPropertyExpression),
    }
    assert {*constructs(axioms, assertions, expressions)} == placed - {*PARTS}


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_every_construct_comes_through_or_is_refused(face: Face) -> None:
    for kind in constructs(*modules_of(face)):
        check(face, kind)


@pytest.mark.jvm
def test_hermit_knows_every_construct() -> None:
    reasoner = HermitReasoner(timeout=60.0)
    try:
        for kind in constructs(axioms, assertions, expressions):
            answer = reasoner.decide_consistency(*split(statement(kind)), proxy_data=False)
            if kind is m.InverseFunctionalDataProperty:
                assert answer.verdict is Verdict.UNDETERMINED and kind.__name__ in answer.reason
            else:
                assert answer.verdict is Verdict.CONSISTENT, (kind, answer.reason)
    finally:
        reasoner.close()


@dataclasses.dataclass(frozen=True)
class PlantedAxiom:
    expression: m.ClassExpression
    property: m.ObjectPropertyExpression


@dataclasses.dataclass(frozen=True)
class PlantedAssertion:
    property: m.ObjectPropertyExpression
    subject: str


@dataclasses.dataclass(frozen=True)
class PlantedExpression:
    property: m.ObjectPropertyExpression
    filler: m.ClassExpression


PLANTED = {axioms: PlantedAxiom, assertions: PlantedAssertion, expressions: PlantedExpression}


@pytest.mark.parametrize(
    ("face", "module"),
    [(face, module) for face in FACES for module in modules_of(face)],
    ids=lambda value: value.__name__,
)
def test_a_construct_of_the_model_alone_is_found_out(
    face: Face, module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = PLANTED[module]
    monkeypatch.setattr(planted, "__module__", module.__name__)
    monkeypatch.setattr(module, planted.__name__, planted, raising=False)
    assert planted in constructs(*modules_of(face))
    if face is walked:
        check(face, planted)  # by the fields alone: there is nothing to be added
    else:
        with pytest.raises(AssertionError, match=f"^{planted.__name__}: "):
            check(face, planted)

"""Hypothesis strategies for values of the OWL 2 model: every constructor, members of sets distinct."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from shiq import model as m

NAMES = [
    "urn:a",
    "http://example.org/ns#B",
    "http://example.org/été/x%20y",
    "urn:x:y.z-1_2;q=(r)'s'",
]
FACETS = [m.XSD + name for name in ("minInclusive", "maxExclusive", "pattern", "length")] + [
    m.RDF + "langRange"
]

iris = st.sampled_from(NAMES) | st.integers(0, 50).map(lambda n: f"urn:n{n}")
labels = st.from_regex(r"[a-wyzA-Z0-9]([a-wyzA-Z0-9.\-]{0,5}[a-wyzA-Z0-9\-])?", fullmatch=True)
individuals = iris | labels.map(lambda label: "_:" + label)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
literals = (
    texts.map(m.Literal)
    | st.builds(
        lambda text, tag: m.Literal(text, m.RDF + "langString", tag),
        texts,
        st.sampled_from(["en", "de-at", "x-1"]),
    )
    | st.builds(
        m.Literal,
        texts,
        st.sampled_from([m.XSD + "integer", m.RDF + "PlainLiteral", "urn:my:type"]),
    )
)

classes = iris.map(m.Class) | st.sampled_from([m.THING, m.NOTHING])
object_properties = iris.map(m.ObjectProperty) | st.just(
    m.ObjectProperty(m.OWL + "topObjectProperty")
)
roles = object_properties | object_properties.map(m.ObjectInverseOf)
data_properties = iris.map(m.DataProperty) | st.just(m.DataProperty(m.OWL + "bottomDataProperty"))
datatypes = st.sampled_from(
    [m.XSD + "integer", m.XSD + "string", m.RDFS + "Literal", "urn:my:type"]
).map(m.Datatype)
numbers = st.integers(0, 12)


def several(
    values: st.SearchStrategy[Any], least: int = 2, most: int = 4
) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, min_size=least, max_size=most, unique=True).map(tuple)


data_ranges: st.SearchStrategy[Any] = st.recursive(
    datatypes
    | several(literals, 1).map(m.DataOneOf)
    | st.builds(
        m.DatatypeRestriction,
        datatypes,
        several(st.tuples(st.sampled_from(FACETS), literals), 1, 2),
    ),
    lambda inner: (
        several(inner).map(m.DataIntersectionOf)
        | several(inner).map(m.DataUnionOf)
        | inner.map(m.DataComplementOf)
    ),
    max_leaves=5,
)


def _compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        several(inner).map(m.ObjectIntersectionOf),
        several(inner).map(m.ObjectUnionOf),
        inner.map(m.ObjectComplementOf),
        st.builds(m.ObjectSomeValuesFrom, roles, inner),
        st.builds(m.ObjectAllValuesFrom, roles, inner),
        st.builds(m.ObjectMinCardinality, numbers, roles, inner),
        st.builds(m.ObjectMaxCardinality, numbers, roles, inner),
        st.builds(m.ObjectExactCardinality, numbers, roles, inner),
    )


class_expressions: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        classes,
        st.builds(m.DataSomeValuesFrom, data_properties, data_ranges),
        st.builds(m.DataAllValuesFrom, data_properties, data_ranges),
        st.builds(m.DataHasValue, data_properties, literals),
        st.builds(m.DataMinCardinality, numbers, data_properties, data_ranges),
        st.builds(m.DataMaxCardinality, numbers, data_properties, data_ranges),
        st.builds(m.DataExactCardinality, numbers, data_properties, data_ranges),
        several(individuals, 1).map(m.ObjectOneOf),
        st.builds(m.ObjectHasValue, roles, individuals),
        roles.map(m.ObjectHasSelf),
    ),
    _compound,
    max_leaves=6,
)

axiom_strategies: dict[type, st.SearchStrategy[Any]] = {
    m.SubClassOf: st.builds(m.SubClassOf, class_expressions, class_expressions),
    m.EquivalentClasses: several(class_expressions).map(m.EquivalentClasses),
    m.DisjointClasses: several(class_expressions).map(m.DisjointClasses),
    m.DisjointUnion: st.builds(m.DisjointUnion, classes, several(class_expressions)),
    m.SubObjectPropertyOf: st.builds(m.SubObjectPropertyOf, roles, roles),
    m.EquivalentObjectProperties: several(roles).map(m.EquivalentObjectProperties),
    m.DisjointObjectProperties: several(roles).map(m.DisjointObjectProperties),
    m.InverseObjectProperties: st.builds(m.InverseObjectProperties, roles, roles),
    m.ObjectPropertyDomain: st.builds(m.ObjectPropertyDomain, roles, class_expressions),
    m.ObjectPropertyRange: st.builds(m.ObjectPropertyRange, roles, class_expressions),
    m.FunctionalObjectProperty: roles.map(m.FunctionalObjectProperty),
    m.InverseFunctionalObjectProperty: roles.map(m.InverseFunctionalObjectProperty),
    m.SymmetricObjectProperty: roles.map(m.SymmetricObjectProperty),
    m.AsymmetricObjectProperty: roles.map(m.AsymmetricObjectProperty),
    m.ReflexiveObjectProperty: roles.map(m.ReflexiveObjectProperty),
    m.IrreflexiveObjectProperty: roles.map(m.IrreflexiveObjectProperty),
    m.TransitiveObjectProperty: roles.map(m.TransitiveObjectProperty),
    m.SubDataPropertyOf: st.builds(m.SubDataPropertyOf, data_properties, data_properties),
    m.EquivalentDataProperties: several(data_properties).map(m.EquivalentDataProperties),
    m.DisjointDataProperties: several(data_properties).map(m.DisjointDataProperties),
    m.DataPropertyDomain: st.builds(m.DataPropertyDomain, data_properties, class_expressions),
    m.DataPropertyRange: st.builds(m.DataPropertyRange, data_properties, data_ranges),
    m.FunctionalDataProperty: data_properties.map(m.FunctionalDataProperty),
    m.InverseFunctionalDataProperty: data_properties.map(m.InverseFunctionalDataProperty),
    m.DatatypeDefinition: st.builds(
        m.DatatypeDefinition, st.just(m.Datatype("urn:my:type")), data_ranges
    ),
    m.SubObjectPropertyChain: st.builds(m.SubObjectPropertyChain, several(roles), roles),
    m.HasKey: st.builds(
        m.HasKey, class_expressions, several(roles, 0, 2), several(data_properties, 0, 2)
    ),
}

assertion_strategies: dict[type, st.SearchStrategy[Any]] = {
    m.ClassAssertion: st.builds(m.ClassAssertion, class_expressions, individuals),
    m.ObjectPropertyAssertion: st.builds(
        m.ObjectPropertyAssertion, roles, individuals, individuals
    ),
    m.NegativeObjectPropertyAssertion: st.builds(
        m.NegativeObjectPropertyAssertion, roles, individuals, individuals
    ),
    m.DataPropertyAssertion: st.builds(
        m.DataPropertyAssertion, data_properties, individuals, literals
    ),
    m.NegativeDataPropertyAssertion: st.builds(
        m.NegativeDataPropertyAssertion, data_properties, individuals, literals
    ),
    m.SameIndividual: several(individuals, 2, 2).map(lambda pair: m.SameIndividual(*pair)),
    m.DifferentIndividuals: several(individuals, 2, 2).map(
        lambda pair: m.DifferentIndividuals(*pair)
    ),
}

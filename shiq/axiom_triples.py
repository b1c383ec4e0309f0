"""Axioms and declarations as N-Triples, by the OWL 2 mapping to RDF graphs: those that
`shiq.clause_axioms` gives.

>>> axiom_lines(owl.SubClassOf(owl.Class("urn:A"), owl.Class("urn:B")))
('<urn:A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:B> .',)
"""

from __future__ import annotations

from shiq import model as owl
from shiq.ntriples import TripleWriter, iri_term

_TYPE = f"<{owl.RDF}type>"
_KINDS = {"Datatype": owl.RDFS + "Datatype"}


def declaration_line(kind: str, iri: str) -> str:
    """The declaration of a term: ``kind`` is Class, ObjectProperty, DataProperty, Datatype or
    NamedIndividual.
    """
    name = "DatatypeProperty" if kind == "DataProperty" else kind
    return f"{iri_term(iri)} {_TYPE} <{_KINDS.get(kind, owl.OWL + name)}> ."


def axiom_lines(axiom: owl.Axiom) -> tuple[str, ...]:
    """The triples of ``axiom``; blank nodes are named as those of
    `shiq.ntriples.assertion_lines` are.

    Raises: TypeError for an axiom that no clause and no role box comes to.
    """
    graph = TripleWriter()
    match axiom:
        case owl.SubClassOf(sub, sup):
            return graph.related(
                graph.expression(sub), f"{owl.RDFS}subClassOf", graph.expression(sup)
            )
        case owl.SubObjectPropertyOf(sub, sup):
            return graph.related(
                graph.property(sub), f"{owl.RDFS}subPropertyOf", graph.property(sup)
            )
        case owl.SubDataPropertyOf(sub, sup):
            return graph.related(
                graph.property(sub), f"{owl.RDFS}subPropertyOf", graph.property(sup)
            )
        case owl.DisjointObjectProperties((one, other)) | owl.DisjointDataProperties((one, other)):
            return graph.related(
                graph.property(one), f"{owl.OWL}propertyDisjointWith", graph.property(other)
            )
        case owl.AsymmetricObjectProperty(property):
            return graph.related(
                graph.property(property), f"{owl.RDF}type", f"<{owl.OWL}AsymmetricProperty>"
            )
        case owl.IrreflexiveObjectProperty(property):
            return graph.related(
                graph.property(property), f"{owl.RDF}type", f"<{owl.OWL}IrreflexiveProperty>"
            )
        case owl.DatatypeDefinition(datatype, range):
            return graph.related(
                iri_term(datatype.iri), f"{owl.OWL}equivalentClass", graph.range(range)
            )
    raise TypeError(axiom)

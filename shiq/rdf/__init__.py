"""RDF to axioms and assertions, every triple accounted for.

>>> from shiq.model import Signature
>>> from shiq.model.abox import abox_of
>>> from shiq.model import Class, ClassAssertion
>>> reading = read_assertions([abox_of([ClassAssertion(Class("urn:Cat"), "urn:tom")])], Signature(frozenset(["urn:Cat"])))
>>> dict(reading.ledger), len(reading.abox)
({'assertion': 1}, 1)
"""

from shiq.rdf.reader import read_assertions, read_ontology

__all__ = ["read_assertions", "read_ontology"]

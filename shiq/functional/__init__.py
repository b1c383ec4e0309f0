"""OWL 2 functional-style syntax, both ways.

>>> reading = parse_functional("Prefix(:=<urn:>) Ontology(SubClassOf(:A :B))", "example.ofn", "e")
>>> [axiom_text(axiom) for axiom in reading.tbox.axioms]
['SubClassOf(<urn:A> <urn:B>)']
"""

from shiq.functional.reader import Document, parse_functional, read_document
from shiq.functional.writer import axiom_text, ontology_text

__all__ = ["Document", "axiom_text", "ontology_text", "parse_functional", "read_document"]

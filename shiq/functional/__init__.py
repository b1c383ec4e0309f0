"""OWL 2 functional-style syntax, both ways.

>>> reading = parse_functional("Prefix(:=<urn:>) Ontology(SubClassOf(:A :B))", "example.ofn", "e")
>>> [axiom_text(axiom) for axiom in reading.tbox.axioms]
['SubClassOf(<urn:A> <urn:B>)']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiq.support import import_on_access

if TYPE_CHECKING:
    from shiq.functional.document import Document
    from shiq.functional.reader import parse_functional, read_document
    from shiq.functional.writer import axiom_text, ontology_text

__all__ = ["Document", "axiom_text", "ontology_text", "parse_functional", "read_document"]

# What writes does not load what reads.
__getattr__ = import_on_access(
    __name__,
    {
        f"{__name__}.reader": ("Document", "parse_functional", "read_document"),
        f"{__name__}.writer": ("axiom_text", "ontology_text"),
    },
)

"""OWL 2 functional-style syntax, both ways.

>>> reading = parse_functional("Prefix(:=<urn:>) Ontology(SubClassOf(:A :B))", "example.ofn", "e")
>>> [axiom_text(axiom) for axiom in reading.tbox.axioms]
['SubClassOf(<urn:A> <urn:B>)']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiq.functional.document import Document
    from shiq.functional.reader import parse_functional, read_document
    from shiq.functional.writer import axiom_text, ontology_text

__all__ = ["Document", "axiom_text", "ontology_text", "parse_functional", "read_document"]


def __getattr__(name: str) -> Any:
    # Who writes does not load what reads.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "writer" if name.endswith("_text") else "reader"
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value

"""Rule ids of OWL 2 RL for the last step of a conflict, where one fits.

Source: OWL 2 Web Ontology Language Profiles, section 4.3, tables 4 to 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiq.explanation.labels import Labels
from shiq.explanation.parsed import axiom_of
from shiq.model import (
    AsymmetricObjectProperty,
    DisjointClasses,
    DisjointObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    IrreflexiveObjectProperty,
)

if TYPE_CHECKING:
    from shiq.result import Conflict

_BY_AXIOM = {
    DisjointClasses: "cax-dw",
    FunctionalDataProperty: "prp-fp",
    FunctionalObjectProperty: "prp-fp",
    InverseFunctionalObjectProperty: "prp-ifp",
    IrreflexiveObjectProperty: "prp-irp",
    AsymmetricObjectProperty: "prp-asyp",
    DisjointObjectProperties: "prp-pdw",
}


def rule_of(conflict: Conflict) -> str:
    for text in conflict.axioms:
        value = axiom_of(text)
        if type(value) in _BY_AXIOM:
            return _BY_AXIOM[type(value)]
    return ""


def title_of(rule: str, axioms: Sequence[object], labels: Labels) -> str:
    return rule or "conflict"

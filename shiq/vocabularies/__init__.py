"""Well-known vocabularies: the kind of each term, and the logical axioms, as tables of facts.

A term has its kind from a table wherever it is used. The axioms count only where the vocabulary is imported.
Labels and documentation are not in the tables. `tests.tools.vocabularies` makes them from the files, and compares.

>>> kind_of("http://www.w3.org/2004/02/skos/core#Concept"), kind_of("http://xmlns.com/foaf/0.1/name"), kind_of("urn:other")
('class', 'data', '')
>>> table = answering("http://www.w3.org/2004/02/skos/core")
>>> table.name, "skos" in NAMES
('skos', True)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

_FOLDER = Path(__file__).parent
#: The namespaces of each vocabulary that has a table.
_NAMESPACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: tuple(spaces) for name, spaces in json.loads((_FOLDER / "namespaces.json").read_text("utf-8")).items()}
)
NAMES: Sequence[str] = tuple(sorted(_NAMESPACES))


@dataclass(frozen=True, eq=False)
class VocabularyTable:
    """One vocabulary.

    version: what its authors call the version, or its date. ontologies: IRIs by which it is imported.
    kinds: the kind of each term: class, datatype, object, data, annotation, or property where it may be object or data.
    axioms: in functional syntax, with whole IRIs; of a property that may be object or data, in both readings.
    left: what the vocabulary says beside these axioms that OWL 2 DL cannot say. An import of such a vocabulary is not answered.
    """

    name: str
    title: str
    version: str
    ontologies: tuple[str, ...]
    imports: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    axioms: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @cached_property
    def label(self) -> str:
        return f"{self.title} {self.version}".strip()


@cache
def table(name: str) -> VocabularyTable:
    """The table of that name, one of `NAMES`."""
    raw: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))
    namespaces = _NAMESPACES[name]
    kinds = {namespaces[0] + term if ":" not in term else term: kind for kind, terms in raw["kinds"].items() for term in terms}
    return VocabularyTable(
        name,
        raw["title"],
        raw["version"],
        tuple(raw["ontologies"]),
        tuple(raw["imports"]),
        kinds,
        tuple(raw["axioms"]),
        tuple(raw["left"]),
    )


def kind_of(iri: str) -> str:
    """The kind of a term of a known vocabulary; "" for any other."""
    for name, namespaces in _NAMESPACES.items():
        if iri.startswith(namespaces):
            return table(name).kinds.get(iri, "")
    return ""


def answering(imported: str) -> VocabularyTable | None:
    """The table of the vocabulary that is imported by this IRI; None where there is none, it is of another version, or does not
    have everything that the vocabulary says."""
    bare = imported.rstrip("#/")
    for name, namespaces in _NAMESPACES.items():
        if bare.startswith(tuple(namespace.rstrip("#/") for namespace in namespaces)):
            found = table(name)
            if bare in {iri.rstrip("#/") for iri in found.ontologies} and not found.left:
                return found
    return None

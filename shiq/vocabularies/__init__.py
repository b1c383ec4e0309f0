"""Well-known vocabularies: the kind of each term, and the logical axioms, as tables of facts.

A term has its kind from a table wherever it is used. The axioms count only where the vocabulary
is imported. Labels and documentation are not in the tables. `tests.tools.vocabularies` makes
them from the files, and compares.

>>> kind_of("http://www.w3.org/2004/02/skos/core#Concept"), kind_of("http://xmlns.com/foaf/0.1/name"), kind_of("urn:other")
('class', 'data', '')
>>> table = table_for_import("http://www.w3.org/2004/02/skos/core")
>>> table.name, "skos" in NAMES
('skos', True)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from pkgutil import get_data
from types import MappingProxyType
from typing import Any

from shiq.errors import UsageError

_INDEX: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType(
    json.loads(get_data(__name__, "index.json") or b"")
)
#: In the place of names: no table counts.
NONE = "none"
NAMES: Sequence[str] = tuple(sorted(_INDEX))
#: The name of the table that knows the terms of a namespace.
_NAMESPACES: Mapping[str, str] = MappingProxyType(
    {space: name for name in _INDEX for space in _INDEX[name]["namespaces"]}
)
#: The name of the table that answers an import.
_ONTOLOGIES: Mapping[str, str] = MappingProxyType(
    {iri.rstrip("#/"): name for name in _INDEX for iri in _INDEX[name]["ontologies"]}
)


@dataclass(frozen=True, eq=False)
class VocabularyTable:
    """Terms and axioms of one well-known vocabulary, such as SKOS or FOAF.

    version: version or date by its authors
    source: file that the table was made from
    ontologies: IRIs under which it is imported
    imports: IRIs that it imports itself
    kinds: kind of each term (class, datatype, object, data, annotation, or property if open)
    axioms: axioms and assertions in functional syntax with full IRIs. Axioms on open properties are
        there in both readings.
    annotation_properties: annotation properties of its axioms that are not among ``axioms``
    non_dl_terms: terms with a meaning outside OWL 2 DL, and that meaning. They have no kind.
    non_dl_statements: messages on other statements that no axiom can express
    """

    name: str
    title: str
    version: str
    source: str
    ontologies: tuple[str, ...]
    imports: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    axioms: tuple[str, ...] = ()
    annotation_properties: tuple[str, ...] = ()
    non_dl_terms: Mapping[str, str] = field(default_factory=dict)
    non_dl_statements: tuple[str, ...] = ()

    @cached_property
    def label(self) -> str:
        """Title and version, for messages."""
        return f"{self.title} {self.version}".strip()

    @property
    def file_name(self) -> str:
        """Name of the table in messages, in place of a file."""
        return f"shiq's table of {self.label}"


@cache
def load_table(name: str) -> VocabularyTable:
    """Load the table of the vocabulary ``name``, one of `NAMES`."""
    raw: dict[str, Any] = json.loads(get_data(__name__, f"{name}.json") or b"")
    first = _INDEX[name]["namespaces"][0]
    kinds = {
        first + term if ":" not in term else term: kind
        for kind, terms in raw["kinds"].items()
        for term in terms
    }
    return VocabularyTable(
        name,
        raw["title"],
        raw["version"],
        raw["source"],
        tuple(_INDEX[name]["ontologies"]),
        tuple(raw["imports"]),
        kinds,
        tuple(raw["axioms"]),
        tuple(raw["of_annotations"]),
        raw["beyond"],
        tuple(raw.get("outside", ())),
    )


def kind_of(iri: str) -> str:
    """Return the kind (class, object, data, …) of a term of a well-known vocabulary; "" for any
    other term.
    """
    name = _NAMESPACES.get(iri[: max(iri.rfind("#"), iri.rfind("/")) + 1])
    return load_table(name).kinds.get(iri, "") if name else ""


def table_for_import(imported: str) -> VocabularyTable | None:
    """Find the table of the vocabulary with the ontology IRI ``imported``; None if there is none or
    the version differs.

    W3C serves each of its documents by https too.
    """
    name = _ONTOLOGIES.get(
        imported.rstrip("#/").replace("https://www.w3.org/", "http://www.w3.org/")
    )
    return load_table(name) if name else None


@dataclass(frozen=True)
class VocabularyChoice:
    """The user's choice of vocabulary tables.

    imported_tables: tables whose axioms count as if imported
    is_enabled: whether tables count at all
    """

    imported_tables: tuple[str, ...] = ()
    is_enabled: bool = True

    def kind_of(self, iri: str) -> str:
        """Return the kind of a term in a well-known vocabulary; "" for other terms, or if tables
        are disabled.
        """
        return kind_of(iri) if self.is_enabled else ""

    def kinds_in(self, namespace: str) -> Mapping[str, str]:
        """Return the kinds of the known terms in a namespace; empty if tables are disabled."""
        name = _NAMESPACES.get(namespace) if self.is_enabled else None
        return load_table(name).kinds if name else {}

    def table_for_import(self, imported: str) -> VocabularyTable | None:
        """Find the table of the vocabulary imported as ``imported``; None if there is none or
        tables are disabled.
        """
        return table_for_import(imported) if self.is_enabled else None

    @property
    def ontology_iris(self) -> tuple[str, ...]:
        """Ontology IRIs of the chosen tables, whose axioms count as imported."""
        return tuple(load_table(name).ontologies[0] for name in self.imported_tables)


def choose_tables(names: Sequence[str]) -> VocabularyChoice:
    """Parse the names of vocabulary tables, or "none" alone, into a choice. Raises: UsageError.

    >>> choose_tables(["skos"]).ontology_iris, choose_tables(["none"]).kind_of("http://xmlns.com/foaf/0.1/name")
    (('http://www.w3.org/2004/02/skos/core',), '')
    """
    for name in names:
        if name not in (NONE, *NAMES):
            near = get_close_matches(name, (NONE, *NAMES), 1, 0)[0]
            raise UsageError(
                f"there is no table of a vocabulary {name!r}",
                f"Did you mean {near}? `shiq vocabularies` lists them.",
            )
    if NONE in names and len(set(names)) > 1:
        raise UsageError("--vocabulary none goes with no other name", "Leave one of the two out.")
    return (
        VocabularyChoice(is_enabled=False)
        if NONE in names
        else VocabularyChoice(tuple(dict.fromkeys(names)))
    )

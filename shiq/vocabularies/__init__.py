"""Well-known vocabularies: the kind of each term, and the logical axioms, as tables of facts.

A term has its kind from a table wherever it is used. The axioms count only where the vocabulary
is imported. Labels and documentation are not in the tables. `tests.tools.vocabularies` makes
them from the files, and compares.

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
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shiq.errors import UsageError

_FOLDER = Path(__file__).parent
_INDEX: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType(
    json.loads((_FOLDER / "index.json").read_text("utf-8"))
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
    """One vocabulary.

    version: what its authors call the version, or its date. source: the file that the table is
    made from. ontologies: IRIs by which it is imported. imports: what it imports itself. kinds:
    the kind of each term: class, datatype, object, data, annotation, or property where it may be
    object or data. axioms: in functional syntax, with whole IRIs; of a property that may be
    object or data, in both readings. Assertions too. of_annotations: annotation properties of
    which its axioms speak. They are not among ``axioms``. beyond: terms of which the vocabulary
    says what OWL 2 DL cannot say, and what that is. They have no kind. outside: what else the
    vocabulary says that no axiom can, as messages.
    """

    name: str
    title: str
    version: str
    source: str
    ontologies: tuple[str, ...]
    imports: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    axioms: tuple[str, ...] = ()
    of_annotations: tuple[str, ...] = ()
    beyond: Mapping[str, str] = field(default_factory=dict)
    outside: tuple[str, ...] = ()

    @cached_property
    def label(self) -> str:
        return f"{self.title} {self.version}".strip()

    @property
    def file_name(self) -> str:
        """What stands in the place of a file's name in messages."""
        return f"shiq's table of {self.label}"


@cache
def table(name: str) -> VocabularyTable:
    """The table of that name, one of `NAMES`."""
    raw: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text("utf-8"))
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
    """The kind of a term of a known vocabulary; "" for any other."""
    name = _NAMESPACES.get(iri[: max(iri.rfind("#"), iri.rfind("/")) + 1])
    return table(name).kinds.get(iri, "") if name else ""


def answering(imported: str) -> VocabularyTable | None:
    """The table of the vocabulary that is imported by this IRI; None where there is none, or it
    is of another version.

    W3C serves each of its documents by https too.
    """
    name = _ONTOLOGIES.get(
        imported.rstrip("#/").replace("https://www.w3.org/", "http://www.w3.org/")
    )
    return table(name) if name else None


@dataclass(frozen=True)
class VocabularyChoice:
    """Which tables count: all of them, or none. ``named``: those whose axioms count as if imported."""

    named: tuple[str, ...] = ()
    is_any: bool = True

    def kind_of(self, iri: str) -> str:
        """As the function of that name; "" where no table counts."""
        return kind_of(iri) if self.is_any else ""

    def kinds_in(self, namespace: str) -> Mapping[str, str]:
        """The kinds of the terms that a table has in a namespace; none where no table counts."""
        name = _NAMESPACES.get(namespace) if self.is_any else None
        return table(name).kinds if name else {}

    def answering(self, imported: str) -> VocabularyTable | None:
        """As the function of that name; None where no table counts."""
        return answering(imported) if self.is_any else None

    @property
    def imports(self) -> tuple[str, ...]:
        """The ontology IRIs of the vocabularies that are named."""
        return tuple(table(name).ontologies[0] for name in self.named)


def choose(names: Sequence[str]) -> VocabularyChoice:
    """The choice that names of tables state, or "none" alone. Raises: UsageError.

    >>> choose(["skos"]).imports, choose(["none"]).kind_of("http://xmlns.com/foaf/0.1/name")
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
        VocabularyChoice(is_any=False)
        if NONE in names
        else VocabularyChoice(tuple(dict.fromkeys(names)))
    )

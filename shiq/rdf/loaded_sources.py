"""Content of all sources: triples as columns, axioms and assertions of other sources as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.inputs.reading import Place
from shiq.rdf.abox_assembly import plain_triple
from shiq.rdf.name_kinds import DATA, OBJECT, NameKinds, PropertyUse
from shiq.rdf.ontology_header import ImportFailure, drop_empty_fragment
from shiq.rdf.triples import Triples
from shiq.rdf.vocabulary import (
    LANGUAGE_DOCUMENTS,
)

if TYPE_CHECKING:
    from shiq.rdf.axioms_in_doubt import ImportCandidates
    from shiq.rdf.graphs_in_memory import RewrittenLiterals
    from shiq.vocabularies import VocabularyChoice

V = TypeVar("V", bound=owl.Axiom | owl.Assertion)


@dataclass(frozen=True)
class StatedValue(Generic[V]):
    """An axiom or assertion from a source that is not RDF, with its source and line."""

    value: V
    source: str
    line: int = 0


@dataclass(frozen=True)
class AssumedKinds:
    """Assumption that properties have no other kinds than ``kinds``: object, data, or none for
    annotation properties.

    leftover: reported if a property has a further kind; its message continues the given one
    """

    kinds: Mapping[str, Collection[str]]
    leftover: Leftover

    def leftovers(self, kinds: NameKinds, either: Collection[str]) -> Iterator[Leftover]:
        """Report the properties that violate the assumption: those with a further kind, and those
        of open kind (``either``) that should have none.
        """
        for iri in sorted(self.kinds):
            further = kinds.logical_kinds(iri).difference(self.kinds[iri])
            if further or (iri in either and not self.kinds[iri]):
                what = " and ".join(
                    f"{kind} property" for kind in sorted(further or (OBJECT, DATA))
                )
                yield replace(
                    self.leftover, message=f"<{iri}> is read as {what}, {self.leftover.message}"
                )


@dataclass
class ImportRecord:
    """Ontologies that were read, and what they import.

    import_leftovers: imports that did not come as triples, each with the leftover for the case that
    nothing
        answers it
    unmet: what a catalog knows of unanswered imports, by IRI without an empty fragment
    documents: ontology IRIs of each source
    candidates: files of one ontology with different contents; None if they are not read
    assumed_kinds: kinds that properties must not exceed
    """

    ontologies: set[str] = field(default_factory=set)
    import_leftovers: list[tuple[str, Leftover]] = field(default_factory=list)
    unmet: dict[str, ImportFailure] = field(default_factory=dict)
    documents: dict[str, set[str]] = field(default_factory=dict)
    candidates: dict[str, ImportCandidates | None] = field(default_factory=dict)
    assumed_kinds: list[AssumedKinds] = field(default_factory=list)


@dataclass
class VocabularyAxioms:
    """Axioms from the built-in tables of well-known vocabularies.

    choice: known vocabularies that count; None for all
    dual_names: names that ``axioms`` have as two kinds, since their kind is open
    """

    choice: VocabularyChoice | None = None
    axioms: list[StatedValue[owl.Axiom]] = field(default_factory=list)
    dual_names: set[str] = field(default_factory=set)


@dataclass
class LoadedSources:
    """Content of all sources.

    signature: of what did not come as triples
    full_leftovers: leftovers of malformed lines, with all these lines
    ledger: buckets of what is accounted for already
    labels: as `Document.labels`
    annotation_axioms: as `Document.annotation_axioms`, with the source
    uses: uses of properties outside of triples
    different_lists: long lists of pairwise different individuals
    """

    triples: Triples = field(default_factory=Triples)
    axioms: list[StatedValue[owl.Axiom]] = field(default_factory=list)
    assertions: list[StatedValue[owl.Assertion]] = field(default_factory=list)
    signature: owl.Signature = field(default_factory=owl.Signature)
    leftovers: list[Leftover] = field(default_factory=list)
    full_leftovers: list[tuple[Sequence[Leftover], Iterable[Leftover]]] = field(
        default_factory=list
    )
    rewritten_literals: list[RewrittenLiterals] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    labels: list[tuple[str, str, owl.Literal]] = field(default_factory=list)
    annotation_axioms: list[tuple[str, int, str, tuple[str, ...]]] = field(default_factory=list)
    uses: list[PropertyUse] = field(default_factory=list)
    different_lists: list[tuple[Place, tuple[str, ...]]] = field(default_factory=list)
    imports: ImportRecord = field(default_factory=ImportRecord)
    tables: VocabularyAxioms = field(default_factory=VocabularyAxioms)


def add_assertions(stated: Iterable[StatedValue[owl.Assertion]], loaded: LoadedSources) -> None:
    """Add assertions from sources that are not RDF, as triples where possible."""
    loaded.assertions += (
        item for item in stated if not add_as_triple(loaded.triples, item.value, item.line)
    )


def add_as_triple(triples: Triples, assertion: owl.Assertion, line: int = 0) -> bool:
    """Add an assertion on a named class or property as a triple. False, with nothing added, for any
    other assertion.
    """
    triple = plain_triple(assertion)
    if triple is None:
        return False
    triples.add(*triple, line)
    return True


def account_imports(loaded: LoadedSources, given: Iterable[str]) -> None:
    """Count the imports of sources that are not RDF in the ledger; imports that nothing answers
    become leftovers.
    """
    known = LANGUAGE_DOCUMENTS | {drop_empty_fragment(iri) for iri in given}
    for iri, leftover in loaded.imports.import_leftovers:
        if drop_empty_fragment(iri) in known:
            loaded.ledger["annotation"] += leftover.count
        else:
            if found := loaded.imports.unmet.get(drop_empty_fragment(iri)):
                leftover = replace(
                    leftover,
                    kind=found.kind,
                    message=f"<{iri}> is imported, but {found.message}",
                    hint=found.hint,
                )
            loaded.ledger[f"leftover:{leftover.kind}"] += leftover.count
            loaded.leftovers.append(leftover)

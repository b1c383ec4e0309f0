"""One ontology document, read: its axioms and assertions with their lines, what it declares, annotates and imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.labelling import PROPERTIES
from shiq.verdict import Leftover


@dataclass(frozen=True)
class Document:
    """One ontology document; axioms and assertions come with the line that they begin on. ``signature`` is what is declared, and
    what axioms (not assertions) use; ``annotations``: (line, property, subject, value); ``of_annotations``: the other axioms on
    annotation properties, as (line, keyword, properties); ``properties``: (kind, IRI, line, number) of what is declared to be an
    "object", "data" or "annotation" property, or stands as such in annotations and assertions: where first, and how often;
    ``apart``: (line, individuals that are different from each other), which are not among the assertions."""

    axioms: tuple[tuple[int, owl.Axiom], ...] = ()
    assertions: tuple[tuple[int, owl.Assertion], ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    left_out: tuple[Leftover, ...] = ()
    ledger: Mapping[str, int] = field(default_factory=Counter)
    signature: owl.Signature = field(default_factory=owl.Signature)
    iri: str = ""
    version: str = ""
    imports: tuple[str, ...] = ()
    annotations: tuple[tuple[int, str, str, str | owl.Literal], ...] = ()
    of_annotations: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    properties: tuple[tuple[str, str, int, int], ...] = ()
    apart: tuple[tuple[int, tuple[str, ...]], ...] = ()

    @property
    def labels(self) -> Iterator[tuple[str, str, owl.Literal]]:
        """(IRI, one of `shiq.labelling.PROPERTIES`, label) as the annotations say."""
        for _, property, subject, value in self.annotations:
            if property in PROPERTIES and isinstance(value, owl.Literal):
                yield subject, property, value

    @property
    def header(self) -> tuple[str, str]:
        """The ontology IRI and version IRI, "" for none. What the document imports is no version IRI of its own."""
        imported = {iri.removesuffix("#") for iri in self.imports}
        return self.iri, self.version if self.iri and self.version.removesuffix("#") not in imported else ""

    @property
    def iris(self) -> frozenset[str]:
        """What an import of this document goes by."""
        return frozenset(filter(None, self.header))

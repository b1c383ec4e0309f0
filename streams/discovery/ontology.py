"""T, A and the vocabulary of a miner, read and opened once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from shiq import model as owl
from shiq.catalog import Catalogs, read_catalog
from shiq.errors import InputError, UsageError
from shiq.functional import axiom_text, parse_functional
from shiq.rdf import read_assertions, read_ontology
from shiq.signature import signature_of
from shiq.verdict import Leftover
from streams.discovery.entailing import MinerKnowledge
from streams.front.checkpoint import fingerprint


@dataclass(frozen=True, eq=False)
class Ontology:
    """``classes``: V, by text; ``labels``: what terms are called, by IRI; ``fingerprint``: a
    short name of T, A and V.
    """

    tbox: owl.TBox
    static: tuple[owl.Assertion, ...]
    classes: Mapping[str, owl.ClassExpression]
    leftovers: tuple[Leftover, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def signature(self) -> owl.Signature:
        """Of T."""
        return self.tbox.signature

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of T, by text."""
        return tuple(f"<{iri}>" for iri in sorted(self.signature.object_properties))

    @property
    def spellings(self) -> dict[str, str]:
        """V by how a class may be written: an IRI also without its brackets."""
        return {
            **{text.strip("<>"): text for text in self.classes if text.startswith("<")},
            **{text: text for text in self.classes},
        }

    @property
    def fingerprint(self) -> str:
        """A short name of T, A and V."""
        texts = {axiom_text(axiom) for axiom in self.tbox.axioms}
        return fingerprint(
            texts
            | {f"a {axiom_text(a)}" for a in self.static}
            | {f"v {text}" for text in self.classes}
        )

    def knowledge(self) -> MinerKnowledge:
        """T and A, to be asked."""
        return MinerKnowledge(
            self.tbox,
            self.static,
            tuple(self.classes.values()),
            sorted(self.signature.object_properties),
        )


def open_ontology(
    tbox: Any, static: Any = None, vocabulary: Any = None, catalog: Catalogs | None = None
) -> Ontology:
    """Reads T and A (each a source or a list of them); ``vocabulary``: a file of class
    expressions, or these, instead of all named classes of T. Raises: InputError, UsageError.
    """
    known = read_catalog(catalog) if catalog else None
    reading = read_ontology(_listed(tbox), catalog=known, chains=False)
    assertions, leftovers = list(reading.abox), list(reading.leftovers)
    if static is not None and _listed(static):
        data = read_assertions(
            _listed(static),
            reading.tbox.signature,
            axioms=reading.tbox.axioms,
            ontologies=reading.ontologies,
            catalog=known,
        )
        assertions += data.abox
        leftovers += data.leftovers
    classes = _named(reading.tbox) if vocabulary is None else _expressions(vocabulary)
    if vocabulary is not None:
        _refuse_unknown(classes, reading.tbox.signature, signature_of(assertions))
    return Ontology(
        reading.tbox,
        tuple(dict.fromkeys(assertions)),
        {axiom_text(c): c for c in classes},
        tuple(leftovers),
        reading.labels,
    )


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _named(tbox: owl.TBox) -> list[owl.ClassExpression]:
    return [owl.Class(iri) for iri in sorted(tbox.signature.classes)]


def _expressions(given: Any) -> list[owl.ClassExpression]:
    """The class expressions of a file, one a line; or of a list of expressions and texts."""
    if not isinstance(given, str | PathLike):
        return [expression_of(one, "vocabulary") if isinstance(one, str) else one for one in given]
    try:
        lines = Path(given).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{given} cannot be read ({error})", "Check the path.") from error
    found: dict[owl.ClassExpression, None] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            found[expression_of(line.strip(), f"{given}:{number}")] = None
    if not found:
        raise UsageError(
            f"{given} names no class", "Write class expressions in functional syntax, one a line."
        )
    return list(found)


def _refuse_unknown(classes: Iterable[owl.ClassExpression], *known: owl.Signature) -> None:
    """Raises: UsageError for a class or property of ``classes`` that is in no ``known``
    signature, mostly for a typo.
    """
    asked = signature_of(classes)
    for kind, title in (
        ("classes", "class"),
        ("object_properties", "role"),
        ("data_properties", "data property"),
    ):
        names = {name for one in known for name in getattr(one, kind)}
        for name in sorted(getattr(asked, kind) - names):
            near = get_close_matches(name, sorted(names), 1, 0)
            raise UsageError(
                f"vocabulary: neither the ontology nor the static data knows the {title} <{name}>",
                f"Did you mean <{near[0]}>?" if near else "There is none to name.",
            )


def expression_of(text: str, place: str) -> owl.ClassExpression:
    try:
        axioms = parse_functional(f"Ontology(SubClassOf({text} <urn:any>))", place, "v").tbox.axioms
    except InputError as error:
        axioms, text = (), f"{text}: {error.message}"
    if len(axioms) != 1 or not isinstance(axioms[0], owl.SubClassOf):
        raise UsageError(
            f"{place}: no class expression of SHIQ(D): {text}",
            "Write it in functional syntax, with full IRIs.",
        )
    return axioms[0].sub

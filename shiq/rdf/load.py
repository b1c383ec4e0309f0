"""All sources into one: triples as columns, and what other sources state as axioms and assertions already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar, cast

from shiq.abox import ABox
from shiq.errors import InputError
from shiq.functional import read_document
from shiq.labelling import PROPERTIES
from shiq.model import (
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    Literal,
    ObjectInverseOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
    TBox,
)
from shiq.rdf.lines import read_lines
from shiq.rdf.objects import Rewritten, read_oxigraph, read_rdflib
from shiq.rdf.owlready import iris_of, read_owlready
from shiq.rdf.rejects import Rejects
from shiq.rdf.surroundings import bare
from shiq.rdf.terms import numbered_labels, written_labels
from shiq.rdf.triples import Triples
from shiq.rdf.turtle import read_turtle
from shiq.rdf.vocabulary import LANGUAGE_DOCUMENTS, TYPE
from shiq.rdf.xml import read_xml
from shiq.reading import Reading
from shiq.sources import FileSource, Format, ObjectKind, ObjectSource, source_of
from shiq.verdict import Leftover

Progress: TypeAlias = Callable[[str, int], None]


V = TypeVar("V", bound=Axiom | Assertion)


@dataclass(frozen=True)
class Stated(Generic[V]):
    """An axiom or assertion that did not come as triples, and where it stands."""

    value: V
    source: str
    line: int = 0


@dataclass
class Loaded:
    """Everything that the sources hold. ``signature`` and ``imports``: of what did not come as triples, the latter with the
    leftover for each if nothing answers it; ``ledger``: what is accounted for already; ``labels``: as `Document.labels`."""

    triples: Triples = field(default_factory=Triples)
    axioms: list[Stated[Axiom]] = field(default_factory=list)
    assertions: list[Stated[Assertion]] = field(default_factory=list)
    signature: Signature = field(default_factory=Signature)
    ontologies: set[str] = field(default_factory=set)
    imports: list[tuple[str, Leftover]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    rewritten: list[Rewritten] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    labels: list[tuple[str, str, Literal]] = field(default_factory=list)


def load(sources: Sequence[object], scope: str, progress: Progress | None) -> Loaded:
    """Reads ``sources``; blank nodes of the i-th become ``_:{scope}{i}.label``. Raises: InputError, UsageError."""
    known = [source_of(source) for source in sources]
    taken = {name for source in known if isinstance(source, ObjectSource) for name in _scopes(source.value)}
    loaded = Loaded()
    for i, source in enumerate(known):
        own = f"{scope}{i}"
        while own in taken:
            own += "x"
        loaded.sources.append(source.name)
        loaded.triples.begin(source.name)
        if isinstance(source, FileSource):
            loaded.ontologies.add(source.iri)
            _file(source, own, loaded, progress)
        else:
            _object(source, own, loaded)
    return loaded


def _scopes(value: object) -> set[str]:
    """The scopes of the blank nodes in a value that is passed through: no file may get them too."""
    abox = value.abox if isinstance(value, Reading) else value
    if not isinstance(abox, ABox):
        return set()
    return {name[2:].partition(".")[0] for name in abox.individuals if name.startswith("_:")}


def _file(source: FileSource, scope: str, loaded: Loaded, progress: Progress | None) -> None:
    if source.format is Format.FUNCTIONAL:
        _functional(source, scope, loaded)
        return
    rejects = Rejects(source.name)
    _triples(source, loaded.triples, scope, rejects, progress)
    _account(rejects, loaded)


def _triples(source: FileSource, triples: Triples, scope: str, rejects: Rejects, progress: Progress | None) -> None:
    if source.format is Format.NTRIPLES:
        with source.open() as stream:
            read_lines(stream, triples, scope, rejects, progress)
    elif source.format is Format.TURTLE:
        read_turtle(source, triples, numbered_labels(scope), rejects, progress)
    else:
        read_xml(source, triples, numbered_labels(scope), rejects, progress)


def _account(rejects: Rejects, loaded: Loaded) -> None:
    loaded.leftovers += rejects.leftovers()
    if rejects.total:
        loaded.ledger["leftover:malformed"] += rejects.total


def _functional(source: FileSource, scope: str, loaded: Loaded) -> None:
    data = source.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source.name}, line {line}: not UTF-8 ({error.reason})", "Convert the file to UTF-8.") from error
    document = read_document(text, source.name, scope)
    loaded.axioms += (Stated(axiom, source.name, line) for line, axiom in document.axioms)
    loaded.signature |= document.signature
    loaded.labels += document.labels
    loaded.ontologies.update(iri for iri in (document.iri, document.version) if iri)
    _assertions((Stated(assertion, source.name, line) for line, assertion in document.assertions), loaded)
    # Counted again one by one: axioms and assertions by what becomes of them, imports once all ontologies are known.
    counts = Counter(document.ledger)
    counts["assertion"] -= len(document.assertions)  # negative where a list was split into pairs
    for key in ("axiom", "leftover:missing-import"):
        del counts[key]
    loaded.ledger.update(counts)
    _leftovers(document.leftovers, loaded)


def _assertions(stated: Iterable[Stated[Assertion]], loaded: Loaded) -> None:
    loaded.assertions += (item for item in stated if not add_row(loaded.triples, item.value, item.line))


def add_row(triples: Triples, assertion: Assertion, line: int = 0) -> bool:
    """Adds an assertion on a named class or property as the triple that says it; False for any other."""
    match assertion:
        case ClassAssertion(Class(iri), individual):
            triples.add(individual, TYPE, iri, line)
        case ObjectPropertyAssertion(ObjectProperty(iri), subject, value):
            triples.add(subject, iri, value, line)
        case ObjectPropertyAssertion(ObjectInverseOf(ObjectProperty(iri)), subject, value):
            triples.add(value, iri, subject, line)
        case DataPropertyAssertion(DataProperty(iri), subject, literal):
            triples.add(subject, iri, literal, line)
        case _:
            return False
    return True


def _object(source: ObjectSource, scope: str, loaded: Loaded) -> None:
    rejects = Rejects(source.name)
    triples, name = loaded.triples, source.name
    match source.kind:
        case ObjectKind.RDFLIB:
            loaded.rewritten.append(read_rdflib(source.value, name, triples, written_labels(scope), rejects))
        case ObjectKind.PYOXIGRAPH:
            loaded.rewritten.append(read_oxigraph(source.value, name, triples, numbered_labels(scope), rejects))
        case ObjectKind.OWLREADY:
            loaded.ontologies.update(iris_of(source.value))
            loaded.leftovers += read_owlready(source.value, name, triples, written_labels(scope), rejects, _reread)
        case ObjectKind.TBOX:
            _tbox(cast(TBox, source.value), name, loaded)
        case ObjectKind.ABOX:
            _abox(cast(ABox, source.value), name, loaded)
        case ObjectKind.READING:
            _reading(cast(Reading, source.value), name, loaded)
    _account(rejects, loaded)


def _reread(path: str) -> tuple[Triples, Rejects]:
    source = source_of(path)
    triples, rejects = Triples(), Rejects(path)
    triples.begin(path)
    if not isinstance(source, FileSource) or source.format is Format.FUNCTIONAL:
        raise InputError(f"{path} holds no triples", "Give the file itself.")
    _triples(source, triples, "f", rejects, None)
    return triples, rejects


def _tbox(tbox: TBox, name: str, loaded: Loaded) -> None:
    loaded.axioms += (Stated(axiom, name) for axiom in tbox.axioms)
    loaded.signature |= tbox.signature


def _abox(abox: ABox, name: str, loaded: Loaded) -> None:
    _assertions((Stated(assertion, name) for assertion in abox), loaded)


def _reading(reading: Reading, name: str, loaded: Loaded) -> None:
    _tbox(reading.tbox, name, loaded)
    _abox(reading.abox, name, loaded)
    loaded.labels += ((iri, PROPERTIES[0], Literal(label)) for iri, label in reading.labels.items())
    loaded.ontologies |= reading.ontologies
    # What was undeclared is looked at anew; triples are not there any more, so their surplus over axioms stays where it was.
    counts = Counter(reading.ledger)
    counts["axiom"] -= len(reading.tbox.axioms)
    counts["assertion"] += counts.pop("leftover:undeclared", 0) - len(reading.abox)
    counts.pop("leftover:missing-import", None)
    loaded.ledger.update(counts)
    _leftovers((leftover for leftover in reading.leftovers if leftover.kind != "undeclared"), loaded)


def _leftovers(leftovers: Iterable[Leftover], loaded: Loaded) -> None:
    for leftover in leftovers:
        if leftover.kind == "missing-import":
            imported = re.search(r"<([^>]*)>", leftover.message)
            loaded.imports.append((imported[1] if imported else "", leftover))
        else:
            loaded.leftovers.append(leftover)


def settle_imports(loaded: Loaded, given: Iterable[str]) -> None:
    """Accounts for the imports of what did not come as triples."""
    known = LANGUAGE_DOCUMENTS | {bare(iri) for iri in given}
    for iri, leftover in loaded.imports:
        if bare(iri) in known:
            loaded.ledger["annotation"] += leftover.count
        else:
            loaded.ledger["leftover:missing-import"] += leftover.count
            loaded.leftovers.append(leftover)

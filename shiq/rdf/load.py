"""All sources into one: triples as columns, and what other sources state as axioms and
assertions already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from shiq import model as owl
from shiq.abox import ABox
from shiq.errors import InputError
from shiq.formats import AXIOM_FORMATS, LINE_FORMATS, Format
from shiq.labelling import PROPERTIES
from shiq.rdf.bulk import is_structural
from shiq.rdf.kinds import DATA, OBJECT, Kinds, Use
from shiq.rdf.lines import read_lines, refuse_no_line
from shiq.rdf.places import plain_triple
from shiq.rdf.surroundings import UNMET, UnmetImport, bare, document_iris
from shiq.rdf.triples import Rejects, Triples, numbered_labels, triple_text, written_labels
from shiq.rdf.vocabulary import (
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    IMPORTS,
    LANGUAGE_DOCUMENTS,
    is_reserved,
)
from shiq.reading import Place, Reading
from shiq.sources import FileSource, ObjectKind, ObjectSource, Source, TableSource, source_of
from shiq.verdict import IN_DATA, Leftover

if TYPE_CHECKING:
    from shiq.catalog import Catalog
    from shiq.functional.document import Document
    from shiq.rdf.doubt import Candidates
    from shiq.rdf.imports import ImportQueue
    from shiq.rdf.objects import RewrittenLiterals
    from shiq.vocabularies import VocabularyChoice

Progress: TypeAlias = Callable[[str, int], None]

V = TypeVar("V", bound=owl.Axiom | owl.Assertion)


@dataclass(frozen=True)
class StatedValue(Generic[V]):
    """An axiom or assertion that did not come as triples, and where it stands."""

    value: V
    source: str
    line: int = 0


@dataclass(frozen=True)
class AssumedKinds:
    """What was taken in on the assumption that properties are of no kind beside ``kinds``:
    object, data, or none of these, as annotation properties are. ``leftover``: what it is where
    one is of a further kind; its message follows on that.
    """

    kinds: Mapping[str, Collection[str]]
    leftover: Leftover

    def leftovers(self, kinds: Kinds, either: Collection[str]) -> Iterator[Leftover]:
        """Tells the properties that are of a further kind, or in ``either``, those of open kind,
        and assumed to be of none.
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
class LoadedSources:
    """Everything that the sources hold. ``signature`` and ``imports``: of what did not come as
    triples, the latter with the leftover for each if nothing answers it; ``whole``: leftovers of
    which each line is at hand, and these lines; ``ledger``: what is accounted for already;
    ``labels``: as `Document.labels`; ``of_annotations``: as `Document.of_annotations`, with the
    source; ``uses``: of properties, other than by triples; ``apart``: individuals that are
    different from each other, in long lists; ``assumed``: kinds that properties must not exceed;
    ``of_tables``: axioms of known vocabularies; ``both``: names that these have as two kinds,
    since nothing says which; ``vocabulary``: which tables count, None for all; ``documents``:
    the ontology IRIs of each source; ``candidates``: files of one ontology that do not hold the
    same, None where they are not read; ``unmet``: what a catalog says of imports that it does
    not meet, by their IRIs without an empty fragment.
    """

    triples: Triples = field(default_factory=Triples)
    axioms: list[StatedValue[owl.Axiom]] = field(default_factory=list)
    assertions: list[StatedValue[owl.Assertion]] = field(default_factory=list)
    signature: owl.Signature = field(default_factory=owl.Signature)
    ontologies: set[str] = field(default_factory=set)
    imports: list[tuple[str, Leftover]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    whole: list[tuple[Sequence[Leftover], Iterable[Leftover]]] = field(default_factory=list)
    rewritten: list[RewrittenLiterals] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    sources: list[str] = field(default_factory=list)
    labels: list[tuple[str, str, owl.Literal]] = field(default_factory=list)
    of_annotations: list[tuple[str, int, str, tuple[str, ...]]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    apart: list[tuple[Place, tuple[str, ...]]] = field(default_factory=list)
    unmet: dict[str, UnmetImport] = field(default_factory=dict)
    of_tables: list[StatedValue[owl.Axiom]] = field(default_factory=list)
    assumed: list[AssumedKinds] = field(default_factory=list)
    both: set[str] = field(default_factory=set)
    vocabulary: VocabularyChoice | None = None
    documents: dict[str, set[str]] = field(default_factory=dict)
    candidates: dict[str, Candidates | None] = field(default_factory=dict)


def load(
    sources: Sequence[object],
    scope: str,
    progress: Progress | None,
    catalog: Catalog | None = None,
    given: Collection[str] = (),
    *,
    follow: bool = True,
    vocabulary: VocabularyChoice | None = None,
    doubt: bool = False,
) -> LoadedSources:
    """Reads ``sources``, and what they import as far as the ``catalog`` has it; blank nodes of
    the i-th become ``_:{scope}{i}.label``. ``given``: IRIs of ontologies that need not be read.
    Without ``follow`` no import is read. ``vocabulary``: which tables of known vocabularies
    count, None for all. ``doubt``: whether all files of one ontology are read that do not hold
    the same.

    Raises: InputError, UsageError.
    """
    known = [source_of(source) for source in sources]
    taken = {
        name
        for source in known
        if isinstance(source, ObjectSource)
        for name in _scopes(source.value)
    }
    loaded = LoadedSources(vocabulary=vocabulary)
    named = vocabulary is not None and vocabulary.named
    read: set[Path] = set()
    imports: ImportQueue | None = None
    for i in count():
        if i < len(known):
            source = known[i]
        else:
            if not follow or not (named or loaded.imports or IMPORTS in loaded.triples.ids):
                return loaded
            # Loaded where something is imported.
            from shiq.rdf.imports import ImportQueue

            imports = imports or ImportQueue(loaded, catalog, read, given, doubt=doubt)
            found = imports.next()
            if found is None:
                return loaded
            source = found
        own = f"{scope}{i}"
        while own in taken:
            own += "x"
        begun = len(loaded.triples)
        loaded.sources.append(source.name)
        loaded.triples.begin(source.name)
        if isinstance(source, FileSource):
            read.add(source.path.resolve())
            loaded.ontologies.add(source.iri)
            _file(source, own, loaded, progress, catalog)
        elif isinstance(source, TableSource):
            from shiq.rdf.tables import read_table

            rejects = Rejects(source.name)
            passed_over = read_table(source, loaded.triples, own, rejects, progress)
            _account(rejects, loaded)
            loaded.leftovers += passed_over
        else:
            _object(source, own, loaded)
        if _is_rdf(source):
            if i >= len(known) and len(loaded.triples) == begun:
                raise InputError(
                    f"{source.name} is imported, but holds no triple",
                    "Is it the right file? Fetch it again.",
                )
            loaded.documents[source.name] = document_iris(loaded.triples, begun)
            loaded.ontologies |= loaded.documents[source.name]
    raise AssertionError


def _is_rdf(source: Source) -> bool:
    """Whether ``source`` is an RDF document or graph, and says which ontology it is by triples."""
    if isinstance(source, FileSource):
        return source.format not in AXIOM_FORMATS
    return isinstance(source, TableSource) or source.kind in (
        ObjectKind.RDFLIB,
        ObjectKind.PYOXIGRAPH,
    )


def _scopes(value: object) -> set[str]:
    """The scopes of the blank nodes in a value that is passed through: no file may get them too."""
    abox = value.abox if isinstance(value, Reading) else value
    if not isinstance(abox, ABox):
        return set()
    return {name[2:].partition(".")[0] for name in abox.individuals if name.startswith("_:")}


def _file(
    source: FileSource,
    scope: str,
    loaded: LoadedSources,
    progress: Progress | None,
    catalog: Catalog | None,
) -> None:
    if source.format in AXIOM_FORMATS:
        _document(_parsed(source, scope), source.name, loaded)
        return
    rejects = Rejects(source.name)
    _triples(source, loaded.triples, scope, rejects, progress, catalog)
    _account(rejects, loaded)


def _triples(
    source: FileSource,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Progress | None,
    catalog: Catalog | None = None,
) -> None:
    # What reads the other formats is loaded where a source is in one: most batches are lines.
    if source.parts is not None:
        from shiq.rdf.parts import read_parts

        begun = len(triples)
        read_parts(source.parts(), triples, scope, rejects, progress)
        if len(triples) == begun:
            refuse_no_line(rejects, source.format is Format.NQUADS)
    elif source.format in LINE_FORMATS:
        with source.open() as stream:
            read_lines(
                stream, triples, scope, rejects, progress, quads=source.format is Format.NQUADS
            )
    elif source.format in (Format.TURTLE, Format.TRIG):
        from shiq.rdf.turtle import read_turtle

        read_turtle(source, triples, numbered_labels(scope), rejects, progress)
    elif source.format is Format.JSONLD:
        from shiq.rdf.jsonld import read_json

        read_json(source, triples, numbered_labels(scope), rejects, catalog)
    else:
        from shiq.rdf.xml import read_xml

        read_xml(source, triples, numbered_labels(scope), rejects, progress)


def _account(rejects: Rejects, loaded: LoadedSources) -> None:
    if rejects.total:
        told = rejects.leftovers()
        loaded.leftovers += told
        loaded.whole.append((told, rejects.whole))
        loaded.ledger["leftover:malformed"] += rejects.total


def _parsed(source: FileSource, scope: str) -> Document:
    """The document in functional-style syntax or OWL/XML that ``source`` is. Raises: InputError."""
    if source.format is Format.OWLXML:
        from shiq.functional.owl_xml import read_owl_xml
        from shiq.rdf.xml_source import utf8_of

        return read_owl_xml(utf8_of(source), source.name, source.iri, scope)
    from shiq.functional.reader import read_document

    data = source.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source.name}, line {line}: not UTF-8 ({error.reason})", "Convert the file to UTF-8."
        ) from error
    return read_document(text, source.name, scope)


def _document(document: Document, name: str, loaded: LoadedSources) -> None:
    loaded.axioms += (StatedValue(axiom, name, line) for line, axiom in document.axioms)
    _add_signature(document.signature, loaded)
    loaded.labels += document.labels
    loaded.ontologies.update(document.iris)
    loaded.documents[name] = {*document.iris}
    add_assertions(
        (StatedValue(assertion, name, line) for line, assertion in document.assertions), loaded
    )
    loaded.of_annotations += ((name, *found) for found in document.of_annotations)
    loaded.uses += (
        Use(iri, kind, name, line, count) for kind, iri, line, count in document.properties
    )
    # Counted again one by one: axioms and assertions by what becomes of them, imports once all
    # ontologies are known.
    counts = Counter(document.ledger)
    counts["assertion"] -= len(document.assertions)  # negative where a list was split into pairs
    loaded.apart += ((Place(name, line), members) for line, members in document.apart)
    counts["annotation"] -= _annotations(document, name, loaded)
    for key in ("axiom", "leftover:missing-import"):
        del counts[key]
    loaded.ledger.update(counts)
    _leftovers(document.leftovers, loaded)
    loaded.whole.append((document.leftovers, document.left_out))


def _annotations(document: Document, name: str, loaded: LoadedSources) -> int:
    """Hands annotations on that may turn out to be assertions, as the triples that they are in
    RDF; how many.
    """
    handed_on = 0
    for line, property, subject, value in document.annotations:
        if is_structural(property):
            message, hint = f"<{property}> is no annotation property", "say it as an axiom"
            loaded.leftovers.append(
                Leftover(
                    "malformed", message, name, line, triple_text(subject, property, value), hint
                )
            )
            loaded.ledger["leftover:malformed"] += 1
        elif not is_reserved(property) or property in BUILT_IN_OBJECT or property in BUILT_IN_DATA:
            loaded.triples.add(subject, property, value, line)
        else:
            continue
        handed_on += 1
    return handed_on


def add_assertions(stated: Iterable[StatedValue[owl.Assertion]], loaded: LoadedSources) -> None:
    """Adds assertions: as triples where one says it."""
    loaded.assertions += (
        item for item in stated if not add_row(loaded.triples, item.value, item.line)
    )


def add_row(triples: Triples, assertion: owl.Assertion, line: int = 0) -> bool:
    """Adds an assertion on a named class or property as the triple that says it; False for any
    other.
    """
    triple = plain_triple(assertion)
    if triple is None:
        return False
    triples.add(*triple, line)
    return True


def _object(source: ObjectSource, scope: str, loaded: LoadedSources) -> None:
    rejects = Rejects(source.name)
    triples, name = loaded.triples, source.name
    match source.kind:
        case ObjectKind.RDFLIB:
            from shiq.rdf.objects import read_rdflib

            loaded.rewritten.append(
                read_rdflib(source.value, name, triples, written_labels(scope), rejects)
            )
        case ObjectKind.PYOXIGRAPH:
            from shiq.rdf.objects import read_oxigraph

            loaded.rewritten.append(
                read_oxigraph(source.value, name, triples, numbered_labels(scope), rejects)
            )
        case ObjectKind.OWLREADY:
            from shiq.rdf.owlready import iris_of, read_owlready

            loaded.ontologies.update(iris_of(source.value))
            loaded.leftovers += read_owlready(
                source.value, name, triples, written_labels(scope), rejects, _reread
            )
        case ObjectKind.TBOX:
            _tbox(cast(owl.TBox, source.value), name, loaded)
        case ObjectKind.ABOX:
            abox = cast(ABox, source.value)
            _abox(abox, name, loaded)
            loaded.uses += (Use(iri, OBJECT, name, 0) for iri in abox.object_properties)
            loaded.uses += (Use(iri, DATA, name, 0) for iri in abox.data_properties)
        case ObjectKind.READING:
            _reading(cast(Reading, source.value), name, loaded)
    _account(rejects, loaded)


def _reread(path: str) -> tuple[Triples, Rejects]:
    source = source_of(path)
    triples, rejects = Triples(), Rejects(path)
    triples.begin(path)
    if not isinstance(source, FileSource) or source.format in AXIOM_FORMATS:
        raise InputError(f"{path} holds no triples", "Give the file itself.")
    _triples(source, triples, "f", rejects, None)
    return triples, rejects


def _tbox(tbox: owl.TBox, name: str, loaded: LoadedSources) -> None:
    loaded.axioms += (StatedValue(axiom, name) for axiom in tbox.axioms)
    _add_signature(tbox.signature, loaded)


def _add_signature(signature: owl.Signature, loaded: LoadedSources) -> None:
    """Adds a vocabulary; one without any declaration counts as declared."""
    loaded.signature |= replace(signature, declared=signature.declared or signature.named)


def _abox(abox: ABox, name: str, loaded: LoadedSources) -> None:
    add_assertions((StatedValue(assertion, name) for assertion in abox), loaded)


def _reading(reading: Reading, name: str, loaded: LoadedSources) -> None:
    _tbox(reading.tbox, name, loaded)
    _abox(reading.abox, name, loaded)
    loaded.labels += (
        (iri, PROPERTIES[0], owl.Literal(label)) for iri, label in reading.labels.items()
    )
    loaded.ontologies |= reading.ontologies
    # What no axiom knows is looked at anew. Triples are not there any more: their surplus over
    # axioms stays.
    counts = Counter(reading.ledger)
    counts["axiom"] -= len(reading.tbox.axioms)
    counts["assertion"] += sum(counts.pop(f"leftover:{kind}", 0) for kind in IN_DATA) - len(
        reading.abox
    )
    for kind in UNMET:
        counts.pop(f"leftover:{kind}", None)
    loaded.ledger.update(counts)
    _leftovers((leftover for leftover in reading.leftovers if leftover.kind not in IN_DATA), loaded)
    loaded.whole.append((reading.leftovers, reading.left_out))


def _leftovers(leftovers: Iterable[Leftover], loaded: LoadedSources) -> None:
    for leftover in leftovers:
        if leftover.kind in UNMET:
            imported = re.search(r"<([^>]*)>", leftover.message)
            loaded.imports.append((imported[1] if imported else "", leftover))
        else:
            loaded.leftovers.append(leftover)


def settle_imports(loaded: LoadedSources, given: Iterable[str]) -> None:
    """Accounts for the imports of what did not come as triples."""
    known = LANGUAGE_DOCUMENTS | {bare(iri) for iri in given}
    for iri, leftover in loaded.imports:
        if bare(iri) in known:
            loaded.ledger["annotation"] += leftover.count
        else:
            if found := loaded.unmet.get(bare(iri)):
                leftover = replace(
                    leftover,
                    kind=found.kind,
                    message=f"<{iri}> is imported, but {found.message}",
                    hint=found.hint,
                )
            loaded.ledger[f"leftover:{leftover.kind}"] += leftover.count
            loaded.leftovers.append(leftover)

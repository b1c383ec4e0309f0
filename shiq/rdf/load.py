"""Load all sources, each by the reader of its format, and the files that they import."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from shiq import model as owl
from shiq.answers.verdict import IN_DATA, Leftover
from shiq.errors import InputError
from shiq.inputs.formats import AXIOM_FORMATS, LINE_FORMATS, Format, decode_utf8
from shiq.inputs.reading import Place, Reading
from shiq.inputs.sources import (
    FileSource,
    ObjectKind,
    ObjectSource,
    Source,
    TableSource,
    classify_input,
)
from shiq.model.abox import ABox
from shiq.model.walk import PROPERTIES, is_reserved
from shiq.rdf.lines import read_lines, refuse_other_syntax
from shiq.rdf.loaded_sources import LoadedSources, StatedValue, VocabularyAxioms, add_assertions
from shiq.rdf.name_kinds import DATA, OBJECT, PropertyUse
from shiq.rdf.ontology_header import UNMET, document_iris
from shiq.rdf.terms import COLUMNS, add_syntax_to_rows
from shiq.rdf.triples import Rejects, Triples, keep_labels, number_labels, triple_text
from shiq.rdf.vocabulary import (
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    IMPORTS,
    is_structural,
)

if TYPE_CHECKING:
    from shiq.functional.document import Document
    from shiq.inputs.catalog import Catalog
    from shiq.rdf.imports import ImportQueue
    from shiq.vocabularies import VocabularyChoice

Progress: TypeAlias = Callable[[str, int], None]


def load_sources(
    sources: Sequence[object],
    scope: str,
    progress: Progress | None,
    catalog: Catalog | None = None,
    given: Collection[str] = (),
    *,
    follow: Callable[[str], Reading] | None = None,
    vocabulary: VocabularyChoice | None = None,
    doubt: bool = False,
) -> LoadedSources:
    """Read ``sources`` and, as far as the ``catalog`` knows them, the files that they import.

    Args:
    scope: blank nodes of the i-th source become ``_:{scope}{i}.label``
    given: IRIs of ontologies that need not be read
    follow: reads one file with its imports, to compare files of one ontology; None: imports are
        not read
    vocabulary: known vocabularies that count; None for all
    doubt: whether all files of one ontology are read if their contents differ

    Raises: InputError, UsageError.
    """
    known = [classify_input(source) for source in sources]
    taken = {
        name
        for source in known
        if isinstance(source, ObjectSource)
        for name in _scopes_in_use(source.value)
    }
    loaded = LoadedSources(tables=VocabularyAxioms(vocabulary))
    named = vocabulary is not None and vocabulary.imported_tables
    read: set[Path] = set()
    imports: ImportQueue | None = None
    for i in count():
        if i < len(known):
            source = known[i]
        else:
            if follow is None or not (
                named or loaded.imports.import_leftovers or IMPORTS in loaded.triples.ids
            ):
                return loaded
            # Loaded where something is imported.
            from shiq.rdf.imports import ImportQueue

            imports = imports or ImportQueue(
                loaded, catalog, read, given, load_sources, follow, doubt=doubt
            )
            found = imports.next_file()
            if found is None:
                return loaded
            source = found
        own = f"{scope}{i}"
        while own in taken:
            own += "x"
        begun = len(loaded.triples)
        loaded.sources.append(source.name)
        loaded.triples.begin_source(source.name)
        if isinstance(source, FileSource):
            read.add(source.path.resolve())
            loaded.imports.ontologies.add(source.iri)
            _load_file(source, own, loaded, progress, catalog)
        elif isinstance(source, TableSource):
            rejects = Rejects(source.name)
            passed_over = read_table(source, loaded.triples, own, rejects, progress)
            _record_rejects(rejects, loaded)
            loaded.leftovers += passed_over
        else:
            _load_object(source, own, loaded)
        if _is_rdf(source):
            if i >= len(known) and len(loaded.triples) == begun:
                raise InputError(
                    f"{source.name} is imported, but holds no triple",
                    "Is it the right file? Fetch it again.",
                )
            loaded.imports.documents[source.name] = document_iris(loaded.triples, begun)
            loaded.imports.ontologies |= loaded.imports.documents[source.name]
    raise AssertionError


def _is_rdf(source: Source) -> bool:
    """Decide whether ``source`` is in an RDF syntax, so that its ontology header consists of
    triples.
    """
    if isinstance(source, FileSource):
        return source.format not in AXIOM_FORMATS
    return isinstance(source, TableSource) or source.kind in (
        ObjectKind.RDFLIB,
        ObjectKind.PYOXIGRAPH,
    )


def _scopes_in_use(value: object) -> set[str]:
    """Collect the scopes (prefixes of blank node labels) in an ABox or reading that is passed
    through, so that no file reuses them.
    """
    abox = value.abox if isinstance(value, Reading) else value
    if not isinstance(abox, ABox):
        return set()
    return {name[2:].partition(".")[0] for name in abox.individuals if name.startswith("_:")}


def _load_file(
    source: FileSource,
    scope: str,
    loaded: LoadedSources,
    progress: Progress | None,
    catalog: Catalog | None,
) -> None:
    """Load a file of axioms or triples into ``loaded``."""
    if source.format in AXIOM_FORMATS:
        _add_document(read_document_of(source, scope), source.name, loaded)
        return
    rejects = Rejects(source.name)
    read_triples(source, loaded.triples, scope, rejects, progress, catalog)
    _record_rejects(rejects, loaded)


def read_triples(
    source: FileSource,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Progress | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Read a file of triples into ``triples``; malformed lines and passages are recorded in
    ``rejects``.
    """
    # What reads the other formats is loaded where a source is in one: most batches are lines.
    if source.parts is not None:
        from shiq.rdf.source_ranges import read_transferred

        begun = len(triples)
        read_transferred(source.parts(), triples, scope, rejects, progress)
        if len(triples) == begun:
            refuse_other_syntax(rejects, source.format is Format.NQUADS)
    elif source.format in LINE_FORMATS:
        with source.open() as stream:
            read_lines(
                stream, triples, scope, rejects, progress, quads=source.format is Format.NQUADS
            )
    elif source.format in (Format.TURTLE, Format.TRIG):
        from shiq.rdf.turtle import read_turtle

        read_turtle(source, triples, number_labels(scope), rejects, progress)
    elif source.format is Format.JSONLD:
        from shiq.rdf.jsonld import read_json

        read_json(source, triples, number_labels(scope), rejects, catalog)
    else:
        from shiq.rdf.xml import read_xml

        read_xml(source, triples, number_labels(scope), rejects, progress)


def read_table(
    source: TableSource,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> tuple[Leftover, ...]:
    """Read a table into ``triples``; malformed rows are recorded in ``rejects`` with row number and
    key.

    Returns: leftover on the files of its folder that are not read.
    Raises: InputError for a table without s, p and o, or an unreadable one; OperationalError if
        Spark fails.
    """
    from shiq.rdf.tables import read_rows, table_files, table_rows

    if source.parts is not None:
        from shiq.rdf.source_ranges import read_transferred

        read_transferred(source.parts(), triples, scope, rejects, progress)
        return table_files(source)[1]
    if source.mapping is not None:
        # Loaded where a mapping says what rows mean.
        from shiq.rml.tables import read_mapped

        return read_mapped(source, triples, scope, rejects, progress)
    begun = len(triples)
    files, passed_over = table_files(source)
    for numbers, rows in table_rows(source, files, COLUMNS, rejects):
        read_rows(
            add_syntax_to_rows(rows) if source.has_bare_terms else rows,
            0,
            triples,
            scope,
            rejects,
            numbers,
        )
        if progress is not None:
            progress(source.name, len(triples) - begun)
    return passed_over


def _record_rejects(rejects: Rejects, loaded: LoadedSources) -> None:
    """Add the malformed lines of a source to the leftovers and the ledger."""
    if rejects.total:
        told = rejects.leftovers()
        loaded.leftovers += told
        loaded.full_leftovers.append((told, rejects.all_lines))
        loaded.ledger["leftover:malformed"] += rejects.total


def read_document_of(source: FileSource, scope: str) -> Document:
    """Parse a source in functional syntax or OWL/XML. Raises: InputError."""
    if source.format is Format.OWLXML:
        from shiq.functional.owl_xml import read_owl_xml
        from shiq.rdf.xml import utf8_of

        return read_owl_xml(utf8_of(source), source.name, source.iri, scope)
    from shiq.functional.reader import read_document

    return read_document(decode_utf8(source.read(), source.name), source.name, scope)


def _add_document(document: Document, name: str, loaded: LoadedSources) -> None:
    """Add the axioms, assertions and declarations of a parsed document."""
    loaded.axioms += (StatedValue(axiom, name, line) for line, axiom in document.axioms)
    _add_signature(document.signature, loaded)
    loaded.labels += document.labels
    loaded.imports.ontologies.update(document.iris)
    loaded.imports.documents[name] = {*document.iris}
    add_assertions(
        (StatedValue(assertion, name, line) for line, assertion in document.assertions), loaded
    )
    loaded.annotation_axioms += ((name, *found) for found in document.annotation_axioms)
    loaded.uses += (
        PropertyUse(iri, kind, name, line, count) for kind, iri, line, count in document.properties
    )
    # Counted again one by one: axioms and assertions by what becomes of them, imports once all
    # ontologies are known.
    counts = Counter(document.ledger)
    counts["assertion"] -= len(document.assertions)  # negative where a list was split into pairs
    loaded.different_lists += (
        (Place(name, line), members) for line, members in document.different_lists
    )
    counts["annotation"] -= _add_annotations(document, name, loaded)
    for key in ("axiom", "leftover:missing-import"):
        del counts[key]
    loaded.ledger.update(counts)
    _add_leftovers(document.leftovers, loaded)
    loaded.full_leftovers.append((document.leftovers, document.left_out))


def _add_annotations(document: Document, name: str, loaded: LoadedSources) -> int:
    """Add annotations as triples if their property may turn out to be an object or data property.

    Returns: their number.
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


def _load_object(source: ObjectSource, scope: str, loaded: LoadedSources) -> None:
    """Load a graph or an ontology object in memory."""
    rejects = Rejects(source.name)
    triples, name = loaded.triples, source.name
    match source.kind:
        case ObjectKind.RDFLIB:
            from shiq.rdf.graphs_in_memory import read_rdflib

            loaded.rewritten_literals.append(
                read_rdflib(source.value, name, triples, keep_labels(scope), rejects)
            )
        case ObjectKind.PYOXIGRAPH:
            from shiq.rdf.graphs_in_memory import read_oxigraph

            loaded.rewritten_literals.append(
                read_oxigraph(source.value, name, triples, number_labels(scope), rejects)
            )
        case ObjectKind.OWLREADY:
            from shiq.rdf.graphs_in_memory import ontology_iris_of, read_owlready

            loaded.imports.ontologies.update(ontology_iris_of(source.value))
            loaded.leftovers += read_owlready(
                source.value, name, triples, keep_labels(scope), rejects, _reread_file
            )
        case ObjectKind.TBOX:
            _add_tbox(cast(owl.TBox, source.value), name, loaded)
        case ObjectKind.ABOX:
            abox = cast(ABox, source.value)
            add_assertions((StatedValue(assertion, name) for assertion in abox), loaded)
            loaded.uses += (PropertyUse(iri, OBJECT, name, 0) for iri in abox.object_properties)
            loaded.uses += (PropertyUse(iri, DATA, name, 0) for iri in abox.data_properties)
        case ObjectKind.READING:
            _add_reading(cast(Reading, source.value), name, loaded)
    _record_rejects(rejects, loaded)


def _reread_file(path: str) -> tuple[Triples, Rejects]:
    """Read a file anew, to compare it with a graph in memory that was loaded from it."""
    source = classify_input(path)
    triples, rejects = Triples(), Rejects(path)
    triples.begin_source(path)
    if not isinstance(source, FileSource) or source.format in AXIOM_FORMATS:
        raise InputError(f"{path} holds no triples", "Give the file itself.")
    read_triples(source, triples, "f", rejects)
    return triples, rejects


def _add_tbox(tbox: owl.TBox, name: str, loaded: LoadedSources) -> None:
    """Add a TBox."""
    loaded.axioms += (StatedValue(axiom, name) for axiom in tbox.axioms)
    _add_signature(tbox.signature, loaded)


def _add_signature(signature: owl.Signature, loaded: LoadedSources) -> None:
    """Add a signature; if it has no declarations, all its names count as declared."""
    loaded.signature |= replace(signature, declared=signature.declared or signature.all_terms)


def _add_reading(reading: Reading, name: str, loaded: LoadedSources) -> None:
    """Add the result of an earlier reading."""
    _add_tbox(reading.tbox, name, loaded)
    add_assertions((StatedValue(assertion, name) for assertion in reading.abox), loaded)
    loaded.labels += (
        (iri, PROPERTIES[0], owl.Literal(label)) for iri, label in reading.labels.items()
    )
    loaded.imports.ontologies |= reading.ontologies
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
    _add_leftovers(
        (leftover for leftover in reading.leftovers if leftover.kind not in IN_DATA), loaded
    )
    loaded.full_leftovers.append((reading.leftovers, reading.left_out))


def _add_leftovers(leftovers: Iterable[Leftover], loaded: LoadedSources) -> None:
    """Add leftovers. Those on imports are kept apart, since a later file may still answer the
    import.
    """
    for leftover in leftovers:
        if leftover.kind in UNMET:
            imported = re.search(r"<([^>]*)>", leftover.message)
            loaded.imports.import_leftovers.append((imported[1] if imported else "", leftover))
        else:
            loaded.leftovers.append(leftover)

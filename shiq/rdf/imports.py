"""Resolve imports: find the local file, or the built-in vocabulary table, that answers each
owl:imports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shiq.answers.verdict import Leftover, is_blocking
from shiq.errors import InputError
from shiq.functional import axiom_text
from shiq.functional.reader import read_document
from shiq.inputs.limits import read_limits
from shiq.inputs.sources import FileSource, classify_input
from shiq.model import (
    Axiom,
    DataProperty,
    DisjointUnion,
    InverseObjectProperties,
    ObjectProperty,
    Signature,
)
from shiq.model.built_in import remove_built_in
from shiq.model.walk import entities
from shiq.rdf.loaded_sources import AssumedKinds, LoadedSources, StatedValue, add_assertions
from shiq.rdf.name_kinds import DATA, OBJECT, NameKinds
from shiq.rdf.ontology_header import UNMET, ImportFailure, drop_empty_fragment
from shiq.rdf.triples import Term, numpy_view
from shiq.rdf.vocabulary import IMPORTS, LANGUAGE_DOCUMENTS
from shiq.remote.place import is_address
from shiq.support import pluralize
from shiq.vocabularies import VocabularyTable

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalog
    from shiq.inputs.reading import Reading
    from shiq.rdf.loaded_sources import LoadedSources

#: Loads sources: names, scope of blank nodes, progress.
Load: TypeAlias = Callable[[Sequence[object], str, None], LoadedSources]

#: Files that a message names one by one.
_SHOWN = 3
#: Files of one ontology that are read, where they do not hold the same.
MOST_CANDIDATES = 4


class ImportQueue:
    """Queue of the owl:imports that are still to be resolved (THEORY, "Which document an import
    means").

    Args:
    read: files that were read
    given: IRIs of ontologies that need not be read, besides those of the sources
    load: reads a file without its imports
    read_file: reads a file with its imports
    """

    def __init__(
        self,
        loaded: LoadedSources,
        catalog: Catalog | None,
        read: set[Path],
        given: Collection[str],
        load: Load,
        read_file: Callable[[str], Reading],
        *,
        doubt: bool = False,
    ) -> None:
        self._load, self._read_file = load, read_file
        self._loaded, self._catalog, self._read_paths, self._doubt = loaded, catalog, read, doubt
        self._answered_iris = {
            *map(drop_empty_fragment, given),
            *map(drop_empty_fragment, loaded.imports.ontologies),
            *LANGUAGE_DOCUMENTS,
        }
        self._queried_iris: set[str] = set()
        self._ambiguous_files: dict[str, list[Path]] = {}
        self._differing_iris: set[str] = set()
        self._last_file = ("", "")

    def next_file(self) -> FileSource | None:
        """Return the next imported file that was not read yet; None if there is none.

        Tables of known vocabularies are added where no file answers.
        """
        self._check_last_header()
        while True:
            found = self._unambiguous_file() or self._identical_file() or self._candidate_file()
            if found is not None:
                return found
            if not self._add_imported_tables():
                self._explain_unanswered()
                return None

    def _imported_iris(self) -> dict[str, None]:
        """Collect the IRIs of all imports, in order."""
        triples = self._loaded.triples
        predicate = triples.ids.get(IMPORTS, -1)
        rows = (
            np.flatnonzero(numpy_view(triples.predicate) == predicate).tolist()
            if predicate >= 0
            else []
        )
        values = [triples.terms[triples.object[row]] for row in rows]
        names = (
            *(value for value in values if isinstance(value, str)),
            *(iri for iri, _ in self._loaded.imports.import_leftovers),
        )
        choice = self._loaded.tables.choice
        return dict.fromkeys(
            map(drop_empty_fragment, (*names, *(choice.ontology_iris if choice else ())))
        )

    def _unanswered_iris(self) -> list[str]:
        """Collect the imported IRIs that no document read so far has as its own."""
        answered = self._answered_iris | {
            drop_empty_fragment(iri) for iri in self._loaded.imports.ontologies
        }
        return [iri for iri in self._imported_iris() if iri not in answered]

    def _unambiguous_file(self) -> FileSource | None:
        """Open the file of an import that exactly one file answers; imports with several files
        wait.
        """
        if self._catalog is None:
            return None
        for iri in self._imported_iris():
            if iri in self._queried_iris or iri in self._answered_iris:
                continue
            self._queried_iris.add(iri)
            if path := self._catalog.find(iri):
                self._loaded.imports.ontologies.add(iri)
                if path.resolve() not in self._read_paths:
                    return self._open_source(iri, path)
                continue
            paths = self._catalog.find_by_header(iri)
            if len(paths) > 1:
                self._ambiguous_files[iri] = paths
            elif paths and paths[0].resolve() not in self._read_paths:
                return self._source_to_verify(iri, paths[0])
        return None

    def _identical_file(self) -> FileSource | None:
        """Open one of several unread files with equal content that answer an import."""
        for iri in sorted(self._ambiguous_files.keys() - self._differing_iris):
            paths = self._ambiguous_files[iri]
            if not self._read_paths.isdisjoint(path.resolve() for path in paths):
                continue
            if (
                kinds := kinds_making_files_equal(
                    self._display_names(paths), self._load, self._read_file
                )
            ) is not None:
                self._record_assumed_kinds(iri, paths, kinds)
                return self._source_to_verify(iri, paths[0])
            self._differing_iris.add(iri)
        return None

    def _candidate_file(self) -> FileSource | None:
        """Open the next of several files with different contents that answer an import.

        The differences are in doubt. None if axioms in doubt are not wanted.
        """
        for iri in sorted(self._differing_iris) if self._doubt else ():
            paths = self._ambiguous_files[iri]
            if iri not in self._loaded.imports.candidates:
                # Loaded where something is in doubt.
                from shiq.rdf.axioms_in_doubt import compare_candidates

                shown, hint = self._candidate_texts(iri, paths)
                message = f"<{iri}> is imported, but {len(paths)} files say that they are it, and do not hold the same: {shown}"
                leftover, names = (
                    Leftover("ambiguous-import", message, hint=hint),
                    self._display_names(paths),
                )
                few = len(paths) <= MOST_CANDIDATES
                self._loaded.imports.candidates[iri] = compare_candidates(
                    names, leftover, [self._read_file(name) for name in names] if few else ()
                )
            if self._loaded.imports.candidates[iri] is not None:
                path = next(
                    (path for path in paths if path.resolve() not in self._read_paths), None
                )
                if path is not None:
                    return self._open_source(iri, path)
        return None

    def _record_assumed_kinds(
        self, iri: str, paths: Sequence[Path], kinds: Mapping[str, Collection[str]]
    ) -> None:
        """Record the kinds that properties must not exceed, so that the files of an import have the
        same content.
        """
        shown, hint = self._candidate_texts(iri, paths)
        message = f"but {len(paths)} files say that they are <{iri}>, and do not hold the same then: {shown}"
        self._loaded.imports.assumed_kinds.append(
            AssumedKinds(kinds, Leftover("ambiguous-import", message, hint=hint))
        )

    def _candidate_texts(self, iri: str, paths: Sequence[Path]) -> tuple[str, str]:
        """Return a message that lists the candidate files of an import, and a remedy."""
        names = self._display_names(paths)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        hint = f'write {{"{iri}": "FILE"}} into a catalog file beside them, and give it by --catalog too'
        return ", ".join(names[:_SHOWN]) + more, hint

    def _display_names(self, paths: Iterable[Path]) -> list[str]:
        """Return the names of files for messages."""
        return [self._catalog.display_name(path) for path in paths] if self._catalog else []

    def _source_to_verify(self, iri: str, path: Path) -> FileSource:
        """Open the file of an import, and remember to check its header once it is read."""
        source = self._open_source(iri, path)
        self._last_file = iri, source.name
        return source

    def _open_source(self, iri: str, path: Path) -> FileSource:
        """Open the file that the catalog gives for an import. Raises: InputError."""
        assert self._catalog is not None
        name = self._catalog.display_name(path)
        address = name if is_address(name) else ""
        source = classify_input(path if address else name)
        if not isinstance(source, FileSource):
            raise InputError(
                f"{name}, which the catalog has for <{iri}>, is no ontology", "Correct the catalog."
            )
        return replace(source, name=name, address=address, max_bytes=read_limits().document)

    def _check_last_header(self) -> None:
        """Check that the file read last still has the header that was found when its folder was
        scanned. Raises: InputError.
        """
        iri, name = self._last_file
        if iri and iri in self._unanswered_iris():
            raise InputError(
                f"{name} is no longer <{iri}>, which its header said before: was it changed meanwhile?",
                "Run the same again; or give the file as a source of its own.",
            )

    def _add_imported_tables(self) -> bool:
        """Add the built-in tables of well-known vocabularies that are imported but not given as
        files. False if there were none.
        """
        missing = [iri for iri in self._unanswered_iris() if iri not in self._ambiguous_files]
        if not missing:
            return False
        from shiq.vocabularies import VocabularyChoice

        choice = self._loaded.tables.choice or VocabularyChoice()
        tables = {
            iri: table for iri in missing if (table := choice.table_for_import(iri)) is not None
        }
        if tables:
            from shiq.rdf.imports import add_vocabulary_table

            for table in dict.fromkeys(tables.values()):
                add_vocabulary_table(table, self._loaded)
            self._loaded.imports.ontologies.update(tables)
        return bool(tables)

    def _explain_unanswered(self) -> None:
        """Record, for each import that no file answers, the hints that the catalog has for it."""
        if self._catalog is None:
            return
        for iri in self._unanswered_iris():
            if paths := self._ambiguous_files.get(iri):
                shown, hint = self._candidate_texts(iri, paths)
                message = (
                    f"{len(paths)} files say that they are it, and do not hold the same: {shown}"
                )
                self._loaded.imports.unmet[iri] = ImportFailure("ambiguous-import", message, hint)
            elif hint := self._catalog.hint(iri):
                self._loaded.imports.unmet[iri] = ImportFailure(
                    "missing-import", "not read: nothing is fetched", hint
                )


def kinds_making_files_equal(
    names: Sequence[str], load: Load, read: Callable[[str], Reading]
) -> dict[str, set[str]] | None:
    """Compare files that claim the same ontology IRI. Find kinds of properties under which their
    contents agree.

    Args:
    load: reads a file without its imports
    read: reads a file with its imports

    Returns: names that only some files annotate or declare, with the kinds of property (object,
        data, none); empty for files with equal bytes. None if axioms, assertions or leftovers
        differ.
    """
    sources = [classify_input(name) for name in names]
    if not all(isinstance(source, FileSource) for source in sources):
        return None
    try:
        if len({source.read() for source in sources if isinstance(source, FileSource)}) == 1:
            return {}
        readings = [read(name) for name in names]
    except InputError:
        return None
    first = _comparable_content(readings[0])
    if first is None or any(_comparable_content(reading) != first for reading in readings[1:]):
        return None
    stated, known = [_document_triples(load, name) for name in names], readings[0].tbox.signature
    different = {
        term
        for row in frozenset().union(*stated) - stated[0].intersection(*stated)
        for term in row
        if isinstance(term, str)
    }
    logical = ((OBJECT, known.object_properties), (DATA, known.data_properties))
    return {iri: {kind for kind, properties in logical if iri in properties} for iri in different}


def _document_triples(load: Load, name: str) -> set[tuple[Term, ...]]:
    """Read the triples of a document, and its axioms on annotation properties."""
    loaded = load([name], "o", None)
    triples, terms = loaded.triples, loaded.triples.terms
    rows = {
        tuple(terms[i] for i in row)
        for row in zip(triples.subject, triples.predicate, triples.object)
    }
    return rows | {(keyword, *properties) for _, _, keyword, properties in loaded.annotation_axioms}


def _comparable_content(reading: Reading) -> tuple[object, ...] | None:
    """Return the content of a document, with its imports, in a form for comparison; None if any of
    it was left out.
    """
    if any(is_blocking(leftover, UNMET) for leftover in reading.leftovers):
        return None
    left = Counter(
        (leftover.kind, leftover.message, leftover.text) for leftover in reading.leftovers
    )
    return frozenset(reading.tbox.axioms), reading.tbox.signature, frozenset(reading.abox), left


def add_vocabulary_table(table: VocabularyTable, loaded: LoadedSources) -> None:
    """Add the axioms and kinds of a built-in vocabulary table, with a leftover that names the
    table.
    """
    name = table.file_name
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", name, f"v{table.name}")
    for term in sorted(table.non_dl_terms.keys() & loaded.triples.ids.keys()):
        message = f"{table.label} says of <{term}> what OWL 2 DL cannot say: it is {table.non_dl_terms[term]}"
        loaded.leftovers.append(Leftover("outside-shiq", message, name))
    loaded.leftovers += (
        Leftover("outside-shiq", f"{table.label} has {text}", name)
        for text in table.non_dl_statements
    )
    loaded.sources.append(name)
    loaded.triples.begin_source(name)
    loaded.tables.axioms += (StatedValue(axiom, name) for _, axiom in document.axioms)
    add_assertions((StatedValue(assertion, name) for _, assertion in document.assertions), loaded)
    names = {
        kind: frozenset(iri for iri, of in table.kinds.items() if of == kind)
        for kind in {*table.kinds.values()}
    }
    either, none = names.get("property", frozenset()), frozenset[str]()
    brought = document.signature | Signature(
        names.get("class", none),
        names.get("object", none) | either,
        names.get("data", none) | either,
        names.get("annotation", none),
        names.get("datatype", none),
        frozenset(table.kinds),
    )
    before = loaded.signature
    loaded.signature = _resolve_open_kinds(before | brought, before, brought.open_properties)
    loaded.signature = _resolve_open_kinds(
        loaded.signature,
        document.signature,
        before.open_properties & loaded.tables.dual_names,
        either,
    )
    loaded.tables.dual_names |= brought.open_properties | (
        document.signature.classes & document.signature.datatypes
    )
    assumed: dict[str, list[str]] = {iri: [] for iri in table.annotation_properties}
    for kind, of_kind in (
        (OBJECT, document.signature.object_properties),
        (DATA, document.signature.data_properties),
    ):
        for iri in of_kind:
            assumed.setdefault(iri, []).append(kind)
    message = f"but not in {name}, which lacks what {table.title} says of such a property"
    hint = "give the vocabulary's own file, by --catalog or as a source"
    loaded.imports.assumed_kinds.append(
        AssumedKinds(assumed, Leftover("punning", message, name, hint=hint))
    )
    loaded.imports.ontologies.update(
        (*table.ontologies, *(iri + end for iri in table.ontologies for end in "#/"))
    )
    message = f"{table.label}: from shiq's table, {len(table.axioms):,} axioms"
    loaded.leftovers.append(Leftover("vocabulary", message, name))
    loaded.imports.import_leftovers += (
        (iri, Leftover("missing-import", f"<{iri}> is imported, but not read", name))
        for iri in table.imports
    )


def _resolve_open_kinds(
    united: Signature, by: Signature, left_open: Collection[str], either: Collection[str] = ()
) -> Signature:
    """Give each property in ``left_open`` the one kind that ``by`` has for it. Properties in
    ``either`` stay object and data property.
    """
    objects = (by.object_properties - by.data_properties).intersection(left_open).difference(either)
    values = (by.data_properties - by.object_properties).intersection(left_open).difference(either)
    return replace(
        united,
        object_properties=united.object_properties - values,
        data_properties=united.data_properties - objects,
    )


def table_differences(
    table: VocabularyTable, source: str, here: Collection[Axiom], kinds: NameKinds
) -> Iterator[Leftover]:
    """Report the differences between a vocabulary's own document and the built-in table of it.

    Names of open kind are not compared, since other sources may decide their kind.

    Args:
    here: axioms of the ``source``
    """
    document = read_document(f"Ontology({chr(10).join(table.axioms)})", source, "v")
    open_names = {
        iri for iri, kind in table.kinds.items() if kind == "property"
    } | document.signature.open_properties
    open_names |= table.non_dl_terms.keys()
    known = [axiom for _, axiom in document.axioms]

    def axioms_missing_in(axioms: Collection[Axiom], others: Collection[Axiom]) -> list[str]:
        """The texts of the axioms that the others lack, without properties of undecided kind."""
        there = set(map(_normalise_order, others))
        new = (x for x in axioms if _normalise_order(x) not in there)
        return sorted(
            axiom_text(x) for x in new if open_names.isdisjoint(e.iri for e in entities(x))
        )

    # A table has no axioms that the top and bottom properties meet.
    here = [plain for axiom in here for plain in remove_built_in(axiom)]
    new, absent = axioms_missing_in(here, known), axioms_missing_in(known, here)
    terms = sorted(iri for iri in table.kinds if not kinds.is_entity(iri) and iri not in open_names)
    counts = (
        (new, "axiom", "here"),
        (absent, "axiom", "in the table"),
        (terms, "term", "in the table"),
    )
    if new or absent or terms:
        what = ", ".join(
            f"{pluralize(len(found), text)} only {where}" for found, text, where in counts if found
        )
        first = (new or absent or terms)[0]
        message = f"it replaces shiq's table of {table.label}, and differs from it: {what}, first: {first}"
        yield Leftover("vocabulary", message, source)


def _normalise_order(axiom: Axiom) -> object:
    """Return a symmetric axiom (equivalent, disjoint, inverse) in a form that ignores the order of
    its members.
    """
    is_symmetric = isinstance(axiom, InverseObjectProperties) or type(axiom).__name__.startswith(
        ("Equivalent", "Disjoint")
    )
    fields = [getattr(axiom, name) for name in type(axiom).__match_args__]
    members = fields[0] if isinstance(fields[0], tuple) else fields
    return (
        (type(axiom), frozenset(members))
        if is_symmetric and not isinstance(axiom, DisjointUnion)
        else axiom
    )


def drop_excluded_readings(loaded: LoadedSources, kinds: NameKinds) -> Iterator[StatedValue[Axiom]]:
    """Yield the axioms of vocabulary tables, without readings (as object or data property) that the
    ontology's own use excludes.
    """
    dropped: set[object] = set()
    for iri in loaded.tables.dual_names:
        found = kinds.logical_kinds(iri)
        if len(found) == 1:
            dropped.add(DataProperty(iri) if found == {OBJECT} else ObjectProperty(iri))
    for item in loaded.tables.axioms:
        if not dropped or dropped.isdisjoint(entities(item.value)):
            yield item

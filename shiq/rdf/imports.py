"""Resolution of imports: the imports still to be read, and the file or table for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shiq.answers.verdict import Leftover, is_blocking
from shiq.errors import InputError
from shiq.inputs.limits import limits
from shiq.inputs.sources import FileSource, source_of
from shiq.rdf.kinds import DATA, OBJECT
from shiq.rdf.ontology_header import UNMET, UnmetImport, without_fragment
from shiq.rdf.triples import Term, column
from shiq.rdf.vocabulary import IMPORTS, LANGUAGE_DOCUMENTS
from shiq.remote.place import is_address

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalog
    from shiq.inputs.reading import Reading
    from shiq.rdf.load import LoadedSources

#: Files that a message names one by one.
_SHOWN = 3
#: Files of one ontology that are read, where they do not hold the same.
MOST_CANDIDATES = 4


class ImportQueue:
    """Queue of imports that are still to be read (THEORY, "Which document an import means").

    Args:
    read: files that were read
    given: IRIs of ontologies that need not be read, besides those of the sources
    """

    def __init__(
        self,
        loaded: LoadedSources,
        catalog: Catalog | None,
        read: set[Path],
        given: Collection[str],
        *,
        doubt: bool = False,
    ) -> None:
        self._loaded, self._catalog, self._read_paths, self._doubt = loaded, catalog, read, doubt
        self._answered_iris = {
            *map(without_fragment, given),
            *map(without_fragment, loaded.ontologies),
            *LANGUAGE_DOCUMENTS,
        }
        self._queried_iris: set[str] = set()
        self._ambiguous_files: dict[str, list[Path]] = {}
        self._differing_iris: set[str] = set()
        self._last_file = ("", "")

    def next(self) -> FileSource | None:
        """Next imported file that was not read yet; None if there is none.

        Tables of known vocabularies are added where no file answers.
        """
        self._check_last()
        while True:
            found = self._unambiguous_file() or self._identical_file() or self._next_candidate()
            if found is not None:
                return found
            if not self._take_tables():
                self._explain()
                return None

    def _imported_iris(self) -> dict[str, None]:
        """IRIs of all imports, in order."""
        triples = self._loaded.triples
        predicate = triples.ids.get(IMPORTS, -1)
        rows = (
            np.flatnonzero(column(triples.predicate) == predicate).tolist()
            if predicate >= 0
            else []
        )
        values = [triples.terms[triples.object[row]] for row in rows]
        names = (
            *(value for value in values if isinstance(value, str)),
            *(iri for iri, _ in self._loaded.imports),
        )
        choice = self._loaded.vocabulary
        return dict.fromkeys(map(without_fragment, (*names, *(choice.imports if choice else ()))))

    def _unanswered_iris(self) -> list[str]:
        """Imports that are the IRI of no document read so far."""
        answered = self._answered_iris | {without_fragment(iri) for iri in self._loaded.ontologies}
        return [iri for iri in self._imported_iris() if iri not in answered]

    def _unambiguous_file(self) -> FileSource | None:
        """File of an import that only one file answers; others are left for later."""
        if self._catalog is None:
            return None
        for iri in self._imported_iris():
            if iri in self._queried_iris or iri in self._answered_iris:
                continue
            self._queried_iris.add(iri)
            if path := self._catalog.find(iri):
                self._loaded.ontologies.add(iri)
                if path.resolve() not in self._read_paths:
                    return self._source(iri, path)
                continue
            paths = self._catalog.find_by_header(iri)
            if len(paths) > 1:
                self._ambiguous_files[iri] = paths
            elif paths and paths[0].resolve() not in self._read_paths:
                return self._headed(iri, paths[0])
        return None

    def _identical_file(self) -> FileSource | None:
        """File of an import that several unread files with the same content answer."""
        for iri in sorted(self._ambiguous_files.keys() - self._differing_iris):
            paths = self._ambiguous_files[iri]
            if not self._read_paths.isdisjoint(path.resolve() for path in paths):
                continue
            if (kinds := kinds_of_the_same(self._names(paths))) is not None:
                self._assume(iri, paths, kinds)
                return self._headed(iri, paths[0])
            self._differing_iris.add(iri)
        return None

    def _next_candidate(self) -> FileSource | None:
        """Next file of an import that several files with different contents answer.

        The differences are in doubt. None if axioms in doubt are not wanted.
        """
        for iri in sorted(self._differing_iris) if self._doubt else ():
            paths = self._ambiguous_files[iri]
            if iri not in self._loaded.candidates:
                # Loaded where something is in doubt.
                from shiq.rdf.doubt import candidates_of

                shown, hint = self._candidate_texts(iri, paths)
                message = f"<{iri}> is imported, but {len(paths)} files say that they are it, and do not hold the same: {shown}"
                leftover, names = (
                    Leftover("ambiguous-import", message, hint=hint),
                    self._names(paths),
                )
                few = len(paths) <= MOST_CANDIDATES
                self._loaded.candidates[iri] = candidates_of(
                    names, leftover, [_read(name) for name in names] if few else ()
                )
            if self._loaded.candidates[iri] is not None:
                path = next(
                    (path for path in paths if path.resolve() not in self._read_paths), None
                )
                if path is not None:
                    return self._source(iri, path)
        return None

    def _assume(
        self, iri: str, paths: Sequence[Path], kinds: Mapping[str, Collection[str]]
    ) -> None:
        """Record the kinds of properties under which the files of an import have the same content."""
        # Here, since loading asks for imports.
        from shiq.rdf.load import AssumedKinds

        shown, hint = self._candidate_texts(iri, paths)
        message = f"but {len(paths)} files say that they are <{iri}>, and do not hold the same then: {shown}"
        self._loaded.assumed_kinds.append(
            AssumedKinds(kinds, Leftover("ambiguous-import", message, hint=hint))
        )

    def _candidate_texts(self, iri: str, paths: Sequence[Path]) -> tuple[str, str]:
        """Text on the candidate files of an import, and the remedy."""
        names = self._names(paths)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        hint = f'write {{"{iri}": "FILE"}} into a catalog file beside them, and give it by --catalog too'
        return ", ".join(names[:_SHOWN]) + more, hint

    def _names(self, paths: Iterable[Path]) -> list[str]:
        return [self._catalog.display_name(path) for path in paths] if self._catalog else []

    def _headed(self, iri: str, path: Path) -> FileSource:
        source = self._source(iri, path)
        self._last_file = iri, source.name
        return source

    def _source(self, iri: str, path: Path) -> FileSource:
        assert self._catalog is not None
        name = self._catalog.display_name(path)
        address = name if is_address(name) else ""
        source = source_of(path if address else name)
        if not isinstance(source, FileSource):
            raise InputError(
                f"{name}, which the catalog has for <{iri}>, is no ontology", "Correct the catalog."
            )
        return replace(source, name=name, address=address, max_bytes=limits().document)

    def _check_last(self) -> None:
        """Check that the last file has the header found when its folder was scanned. Raises:
        InputError.
        """
        iri, name = self._last_file
        if iri and iri in self._unanswered_iris():
            raise InputError(
                f"{name} is no longer <{iri}>, which its header said before: was it changed meanwhile?",
                "Run the same again; or give the file as a source of its own.",
            )

    def _take_tables(self) -> bool:
        """Add the imported tables of known vocabularies. False if there were none."""
        missing = [iri for iri in self._unanswered_iris() if iri not in self._ambiguous_files]
        if not missing:
            return False
        from shiq.vocabularies import VocabularyChoice

        choice = self._loaded.vocabulary or VocabularyChoice()
        tables = {
            iri: table for iri in missing if (table := choice.table_for_import(iri)) is not None
        }
        if tables:
            from shiq.rdf.known_vocabularies import add_vocabulary_table

            for table in dict.fromkeys(tables.values()):
                add_vocabulary_table(table, self._loaded)
            self._loaded.ontologies.update(tables)
        return bool(tables)

    def _explain(self) -> None:
        """Record for unanswered imports what the catalog knows about them."""
        if self._catalog is None:
            return
        for iri in self._unanswered_iris():
            if paths := self._ambiguous_files.get(iri):
                shown, hint = self._candidate_texts(iri, paths)
                message = (
                    f"{len(paths)} files say that they are it, and do not hold the same: {shown}"
                )
                self._loaded.unmet_imports[iri] = UnmetImport("ambiguous-import", message, hint)
            elif hint := self._catalog.hint(iri):
                self._loaded.unmet_imports[iri] = UnmetImport(
                    "missing-import", "not read: nothing is fetched", hint
                )


def kinds_of_the_same(names: Sequence[str]) -> dict[str, set[str]] | None:
    """Compare files of one ontology.

    Returns: names that only some files annotate or declare, with the kinds of property (object,
        data, none); empty for files with equal bytes. None if axioms, assertions or leftovers
        differ.
    """
    sources = [source_of(name) for name in names]
    if not all(isinstance(source, FileSource) for source in sources):
        return None
    try:
        if len({source.read() for source in sources if isinstance(source, FileSource)}) == 1:
            return {}
        readings = [_read(name) for name in names]
    except InputError:
        return None
    first = _content(readings[0])
    if first is None or any(_content(reading) != first for reading in readings[1:]):
        return None
    stated, known = [_document_triples(name) for name in names], readings[0].tbox.signature
    different = {
        term
        for row in frozenset().union(*stated) - stated[0].intersection(*stated)
        for term in row
        if isinstance(term, str)
    }
    logical = ((OBJECT, known.object_properties), (DATA, known.data_properties))
    return {iri: {kind for kind, properties in logical if iri in properties} for iri in different}


def _document_triples(name: str) -> set[tuple[Term, ...]]:
    """Triples of a document, and its axioms on annotation properties."""
    from shiq.rdf.load import load

    loaded = load([name], "o", None, follow=False)
    triples, terms = loaded.triples, loaded.triples.terms
    rows = {
        tuple(terms[i] for i in row)
        for row in zip(triples.subject, triples.predicate, triples.object)
    }
    return rows | {(keyword, *properties) for _, _, keyword, properties in loaded.annotation_axioms}


def _read(name: str) -> Reading:
    # This module is below the reader, which asks it for imports.
    from shiq.rdf.reader import read_ontology

    return read_ontology([name])


def _content(reading: Reading) -> tuple[object, ...] | None:
    """Comparable content of a document, with its imports; None if any of it was left out."""
    if any(is_blocking(leftover, UNMET) for leftover in reading.leftovers):
        return None
    left = Counter(
        (leftover.kind, leftover.message, leftover.text) for leftover in reading.leftovers
    )
    return frozenset(reading.tbox.axioms), reading.tbox.signature, frozenset(reading.abox), left

"""Imports: which are still to be read, and which file or table answers each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shiq.errors import InputError
from shiq.limits import limits
from shiq.rdf.kinds import DATA, OBJECT
from shiq.rdf.surroundings import UNMET, UnmetImport, bare
from shiq.rdf.triples import Term, column
from shiq.rdf.vocabulary import IMPORTS, LANGUAGE_DOCUMENTS
from shiq.remote.place import is_address
from shiq.sources import FileSource, source_of
from shiq.verdict import Leftover, blocks

if TYPE_CHECKING:
    from shiq.catalog import Catalog
    from shiq.rdf.load import LoadedSources
    from shiq.reading import Reading

#: Files that a message names one by one.
_SHOWN = 3
#: Files of one ontology that are read, where they do not hold the same.
MOST_CANDIDATES = 4


class ImportQueue:
    """What of the imports met so far is still to be read; see THEORY, "Which document an import
    means".

    ``read``: the files that were read; ``given``: IRIs of ontologies that need not be read,
    beside those of the sources.
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
        self._loaded, self._catalog, self._read, self._doubt = loaded, catalog, read, doubt
        self._given = {*map(bare, given), *map(bare, loaded.ontologies), *LANGUAGE_DOCUMENTS}
        self._asked: set[str] = set()
        self._several: dict[str, list[Path]] = {}
        self._different: set[str] = set()
        self._last = ("", "")

    def next(self) -> FileSource | None:
        """The next file that is imported and was not read yet; None where no more is to be read.
        Tables of known vocabularies are taken in where no file answers.
        """
        self._check_last()
        while True:
            found = self._single() or self._same() or self._each()
            if found is not None:
                return found
            if not self._take_tables():
                self._explain()
                return None

    def _wanted(self) -> dict[str, None]:
        """All that is imported, in order."""
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
        return dict.fromkeys(map(bare, (*names, *(choice.imports if choice else ()))))

    def _open(self) -> list[str]:
        """What is imported, and no document that was read says that it is it."""
        answered = self._given | {bare(iri) for iri in self._loaded.ontologies}
        return [iri for iri in self._wanted() if iri not in answered]

    def _single(self) -> FileSource | None:
        """The file that answers an import; where several might, the import is left for later."""
        if self._catalog is None:
            return None
        for iri in self._wanted():
            if iri in self._asked or iri in self._given:
                continue
            self._asked.add(iri)
            if path := self._catalog.find(iri):
                self._loaded.ontologies.add(iri)
                if path.resolve() not in self._read:
                    return self._source(iri, path)
                continue
            paths = self._catalog.headed(iri)
            if len(paths) > 1:
                self._several[iri] = paths
            elif paths and paths[0].resolve() not in self._read:
                return self._headed(iri, paths[0])
        return None

    def _same(self) -> FileSource | None:
        """A file of an import that several files answer, where these hold the same and none was
        read.
        """
        for iri in sorted(self._several.keys() - self._different):
            paths = self._several[iri]
            if not self._read.isdisjoint(path.resolve() for path in paths):
                continue
            if (kinds := kinds_of_the_same(self._names(paths))) is not None:
                self._assume(iri, paths, kinds)
                return self._headed(iri, paths[0])
            self._different.add(iri)
        return None

    def _each(self) -> FileSource | None:
        """The next file of an import that several files answer, where these do not hold the
        same: what only some hold is in doubt. None where nothing in doubt is read.
        """
        for iri in sorted(self._different) if self._doubt else ():
            paths = self._several[iri]
            if iri not in self._loaded.candidates:
                # Loaded where something is in doubt.
                from shiq.rdf.doubt import candidates_of

                shown, hint = self._shown(iri, paths)
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
                path = next((path for path in paths if path.resolve() not in self._read), None)
                if path is not None:
                    return self._source(iri, path)
        return None

    def _assume(
        self, iri: str, paths: Sequence[Path], kinds: Mapping[str, Collection[str]]
    ) -> None:
        """Notes the kinds that properties must not exceed, since files of an import would not
        hold the same then.
        """
        # Here, since loading asks for imports.
        from shiq.rdf.load import AssumedKinds

        shown, hint = self._shown(iri, paths)
        message = f"but {len(paths)} files say that they are <{iri}>, and do not hold the same then: {shown}"
        self._loaded.assumed.append(
            AssumedKinds(kinds, Leftover("ambiguous-import", message, hint=hint))
        )

    def _shown(self, iri: str, paths: Sequence[Path]) -> tuple[str, str]:
        """The files that might be an import, and what to do."""
        names = self._names(paths)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        hint = f'write {{"{iri}": "FILE"}} into a catalog file beside them, and give it by --catalog too'
        return ", ".join(names[:_SHOWN]) + more, hint

    def _names(self, paths: Iterable[Path]) -> list[str]:
        return [self._catalog.shown(path) for path in paths] if self._catalog else []

    def _headed(self, iri: str, path: Path) -> FileSource:
        source = self._source(iri, path)
        self._last = iri, source.name
        return source

    def _source(self, iri: str, path: Path) -> FileSource:
        assert self._catalog is not None
        name = self._catalog.shown(path)
        address = name if is_address(name) else ""
        source = source_of(path if address else name)
        if not isinstance(source, FileSource):
            raise InputError(
                f"{name}, which the catalog has for <{iri}>, is no ontology", "Correct the catalog."
            )
        return replace(source, name=name, address=address, most=limits().document)

    def _check_last(self) -> None:
        """Raises: InputError if the file that was read is not what its header said when the
        folder was looked at.
        """
        iri, name = self._last
        if iri and iri in self._open():
            raise InputError(
                f"{name} is no longer <{iri}>, which its header said before: was it changed meanwhile?",
                "Run the same again; or give the file as a source of its own.",
            )

    def _take_tables(self) -> bool:
        """Takes in the tables of known vocabularies that are imported; whether there were any.
        Their own imports are met next.
        """
        missing = [iri for iri in self._open() if iri not in self._several]
        if not missing:
            return False
        from shiq.vocabularies import VocabularyChoice

        choice = self._loaded.vocabulary or VocabularyChoice()
        tables = {iri: table for iri in missing if (table := choice.answering(iri)) is not None}
        if tables:
            from shiq.rdf.known_vocabularies import take_table

            for table in dict.fromkeys(tables.values()):
                take_table(table, self._loaded)
            self._loaded.ontologies.update(tables)
        return bool(tables)

    def _explain(self) -> None:
        """Notes of imports that nothing answers what the catalog says of them."""
        if self._catalog is None:
            return
        for iri in self._open():
            if paths := self._several.get(iri):
                shown, hint = self._shown(iri, paths)
                message = (
                    f"{len(paths)} files say that they are it, and do not hold the same: {shown}"
                )
                self._loaded.unmet[iri] = UnmetImport("ambiguous-import", message, hint)
            elif hint := self._catalog.hint(iri):
                self._loaded.unmet[iri] = UnmetImport(
                    "missing-import", "not read: nothing is fetched", hint
                )


def kinds_of_the_same(names: Sequence[str]) -> dict[str, set[str]] | None:
    """The names in what only some of the files annotate or declare, each with its kinds of
    property (object, data, or none). None if the files differ in axioms or assertions, or
    anything of one is left out; empty if their bytes are the same.
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
    stated, known = [_stated(name) for name in names], readings[0].tbox.signature
    different = {
        term
        for row in frozenset().union(*stated) - stated[0].intersection(*stated)
        for term in row
        if isinstance(term, str)
    }
    logical = ((OBJECT, known.object_properties), (DATA, known.data_properties))
    return {iri: {kind for kind, properties in logical if iri in properties} for iri in different}


def _stated(name: str) -> set[tuple[Term, ...]]:
    """The triples of a document, and its axioms on annotation properties that are none."""
    from shiq.rdf.load import load

    loaded = load([name], "o", None, follow=False)
    triples, terms = loaded.triples, loaded.triples.terms
    rows = {
        tuple(terms[i] for i in row)
        for row in zip(triples.subject, triples.predicate, triples.object)
    }
    return rows | {(keyword, *properties) for _, _, keyword, properties in loaded.of_annotations}


def _read(name: str) -> Reading:
    # This module is below the reader, which asks it for imports.
    from shiq.rdf.reader import read_ontology

    return read_ontology([name])


def _content(reading: Reading) -> tuple[object, ...] | None:
    """What a document says; None where something of it is left out. Its imports are among the
    leftovers.
    """
    if any(blocks(leftover, UNMET) for leftover in reading.leftovers):
        return None
    left = Counter(
        (leftover.kind, leftover.message, leftover.text) for leftover in reading.leftovers
    )
    return frozenset(reading.tbox.axioms), reading.tbox.signature, frozenset(reading.abox), left

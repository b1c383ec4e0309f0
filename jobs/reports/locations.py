"""Find the files and lines that the facts of conflicts were read from.

The check keeps no line numbers. After a conflict the files of the call are read once more for the
few triples in question: N-Triples and N-Quads line by line in constant memory, every other format
as for the check. Without a conflict no file is read again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyoxigraph as ox

from shiq.answers.verdict import drop_empty
from shiq.errors import ShiqError
from shiq.inputs.formats import AXIOM_FORMATS, LINE_FORMATS
from shiq.inputs.sources import FileSource, TableSource, classify_input
from shiq.jobs.reports.statement_reader import NODE
from shiq.model.ntriples import assertion_lines

#: (subject, predicate, object) in one spelling.
Triple: TypeAlias = tuple[str, str, str]
#: (file, line, column): the file's place among those given; the columns of a table.
LinePlaces: TypeAlias = list[tuple[int, int, str]]

#: How many places are kept of a triple that stands there many times.
MOST_PLACES = 10
#: In place of a file's number: a node of an assertion that only a document of axioms has whole.
DOCUMENT = -1
#: What a line without an IRI as subject starts with.
_LABEL = re.compile(rb"_:[^\s<]+")


@dataclass(frozen=True, slots=True)
class SideFiles:
    """Files that insertions, or base assertions, were read from; a file read by a mapping is a
    table source.

    scope: regular expression for the part of a blank node's name before the file number, as a check
    gives it: ``_:<scope><number>.<label>``
    """

    files: Sequence[object]
    scope: str

    def file_name(self, number: int) -> str:
        """Name of the file with this index, as the user gave it."""
        given = self.files[number]
        return given.name if isinstance(given, TableSource) else str(given)


def add_locations(document: dict[str, Any], sides: Mapping[str, SideFiles]) -> dict[str, Any]:
    """Add ``locations`` to each conflict of a JSON answer: for each fact its side (insertions or
    base), index, source and line.

    A fact that is in no file (a triple that the OWL mapping makes) has no location. JSON-LD has no
    lines: its facts are given the file alone.
    """
    conflicts = document.get("conflicts", [])
    if not conflicts:
        return document
    places = {
        side: _find_places(
            (line for c in conflicts if not _has_places(c, side, read) for line in c[side]), read
        )
        for side, read in sides.items()
        if read.files
    }

    def add_to_conflict(conflict: dict[str, Any]) -> dict[str, Any]:
        rows = [
            {
                "side": side,
                "index": i,
                "source": sides[side].file_name(file),
                **drop_empty(line=line, column=column),
            }
            for side, found in places.items()
            for i, text in enumerate(conflict[side])
            for file, line, column in found.get(text, ())
        ]
        return {**conflict, "locations": rows} if rows else conflict

    return {**document, "conflicts": [add_to_conflict(c) for c in conflicts]}


def _has_places(conflict: Mapping[str, Any], side: str, read: SideFiles) -> bool:
    """Decide whether the check itself recorded the files and lines of the insertions of
    ``conflict``.
    """
    told = conflict.get("places", ()) if side == "insertions" else ()
    names = set(map(read.file_name, range(len(read.files))))
    return bool(told) and all(
        any(place.get("source") in names for place in of_line) for of_line in told
    )


def _find_places(texts: Iterable[str], read: SideFiles) -> dict[str, LinePlaces]:
    """Find the files and lines where ``texts``, N-Triples lines of a conflict, stand. Returns them
    by text.
    """
    scoped, files = re.compile(rf"_:{read.scope}(\d+)\.(.*)\Z", re.DOTALL), read.files
    wanted: dict[tuple[int | None, Triple], list[str]] = defaultdict(list)
    for text in dict.fromkeys(texts):
        asked = _parse_sought(text, scoped)
        if asked is not None:
            wanted[asked].append(text)
    found: dict[str, LinePlaces] = defaultdict(list)
    for number, given in enumerate(files):
        source = _readable_source(given)
        is_document = isinstance(source, FileSource) and source.format in AXIOM_FORMATS
        own = (None, number, *[DOCUMENT] * is_document)
        mine = {triple: texts for (file, triple), texts in wanted.items() if file in own}
        if source is None or not mine:
            continue
        for line, column, triple in _rows_about(
            source, f"{read.scope}{number}", {triple[0] for triple in mine}
        ):
            for text in mine.get(triple, ()):
                if len(found[text]) < MOST_PLACES:
                    found[text].append((number, line, column))
    return found


def _readable_source(given: object) -> FileSource | TableSource | None:
    """Convert an input to a source that can be read again; None for values in memory and deleted
    files.
    """
    try:
        source = classify_input(given)
    except ShiqError:
        return None
    return source if isinstance(source, (FileSource, TableSource)) else None


def _parse_sought(text: str, scoped: re.Pattern[str]) -> tuple[int | None, Triple] | None:
    """Parse an N-Triples line of a result to the triple to look for; with blank nodes, also the
    index of its file. Returns None if no single line of a file states it.
    """
    try:
        triple = _parse_triple(text.encode())
    except (SyntaxError, ValueError):
        return None
    if triple is None:
        return None
    file: int | None = None
    terms = list(triple)
    for i in (0, 2):
        if terms[i].startswith("_:"):
            match = scoped.match(terms[i])
            if match is not None:
                file, terms[i] = int(match[1]), f"_:{match[2]}"
            elif NODE.match(terms[i]):
                file = DOCUMENT
            else:
                return None
    return file, (terms[0], terms[1], terms[2])


def _lines_about(source: FileSource, subjects: set[str]) -> Iterator[tuple[int, Triple]]:
    """Read from a line-based file the triples whose subject is in ``subjects``, each with its line
    number. Only lines that seem to match are parsed.
    """
    plain = {subject.encode() for subject in subjects}
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            start = line.lstrip()
            if start.startswith(b"<"):
                subject = start[: start.find(b">") + 1]
            else:
                label = _LABEL.match(start)
                subject = label[0] if label else b""
            if subject not in plain and b"\\" not in subject:
                continue
            try:
                triple = _parse_triple(start)
            except (SyntaxError, ValueError):
                continue
            if triple is not None:
                yield number, triple


def _rows_about(
    source: FileSource | TableSource, scope: str, subjects: set[str]
) -> Iterator[tuple[int, str, Triple]]:
    """Read from any source the triples whose subject is in ``subjects``, each with line and table
    columns. Blank nodes are named as in the source.
    """
    if isinstance(source, FileSource) and source.format in LINE_FORMATS:
        for line, triple in _lines_about(source, subjects):
            yield line, "", triple
        return
    # Loaded where a conflict is about a file without a triple a line.
    from shiq.rdf.load import read_document_of, read_table, read_triples
    from shiq.rdf.triples import Rejects, Triples

    if isinstance(source, FileSource) and source.format in AXIOM_FORMATS:
        for line, assertion in read_document_of(source, scope).assertions:
            for text in assertion_lines(assertion):
                if made := _parse_triple(text.encode()):
                    yield line, "", _without_scope(made, scope)
        return
    triples = Triples()
    rejects = Rejects(source.name)
    if isinstance(source, TableSource):
        read_table(source, triples, scope, rejects)
    else:
        read_triples(source, triples, scope, rejects)
    names = (x[1:-1] if x.startswith("<") else f"_:{scope}.{x[2:]}" for x in subjects)
    ids = {triples.ids[name] for name in names if name in triples.ids}
    for row, subject in enumerate(triples.subject):
        if subject in ids and (made := _parse_triple(triples.full_text(row).encode())):
            yield triples.line[row], triples.columns_of(row), _without_scope(made, scope)


def _without_scope(triple: Triple, scope: str) -> Triple:
    """Remove from the blank nodes of a triple the prefix ``scope`` of this run, so that they are
    named as in the file.
    """
    subject, predicate, value = triple
    own = f"_:{scope}."
    return (
        f"_:{subject[len(own) :]}" if subject.startswith(own) else subject,
        predicate,
        f"_:{value[len(own) :]}" if value.startswith(own) else value,
    )


def _parse_triple(text: bytes) -> Triple | None:
    """Parse an N-Triples line; None if it is empty. Raises: SyntaxError, ValueError."""
    quad = next(iter(ox.parse(input=text, format=ox.RdfFormat.N_QUADS)), None)
    return (str(quad.subject), str(quad.predicate), str(quad.object)) if quad else None

"""N-Triples and N-Quads in bulk: plain lines are split here, everything odd goes to the real parser.

A line is plain if it has single spaces between its terms. Each distinct term is checked once; a line whose terms were all met
before costs three dictionary look-ups. Lines with comments, \\u escapes or other spacing are parsed one by one by pyoxigraph,
and so are broken ones, for their message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeAlias

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.model import RDF, XSD, Literal
from shiq.rdf.rejects import Rejects
from shiq.rdf.terms import RefusedTermError, quad_adder, written_labels
from shiq.rdf.triples import IRI, Triples

BLOCK_BYTES = 1 << 15  # larger blocks were slower: they leave the processor's cache
LONGEST_LINE = 1 << 26
_CACHED_TOKEN_BYTES = 256

_LABEL = rb"_:([A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?)"
_SUBJECT_LABEL = re.compile(_LABEL)
_TERM = (
    rb"(?:<(?P<iri>[^<>\\]+)>|"
    + _LABEL.replace(b"(", b"(?P<label>", 1)
    + rb'|"(?P<lexical>[^"\\\r\n\0]*(?:\\[tbnrf"\'\\][^"\\\r\n\0]*)*)"'
    rb"(?:\^\^<(?P<datatype>[^<>\\]+)>|@(?P<tag>[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*))?)"
)
_OBJECT = re.compile(_TERM)
_OBJECT_AND_END = re.compile(_TERM + rb"[ \t]*\.[ \t]*\r?")
_DOTS = {b".", b".\r"}
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LOOKS_LIKE_TRIPLE = re.compile(rb"[ \t]*(?:<|_:|\"|#)")
# A datatype that a literal without a tag cannot have: left to the parser, for its message.
_TAGGED = {RDF + "langString", RDF + "dirLangString"}


#: Ids of subjects, predicates, objects and graphs; None for the graphs where all are the default graph.
_Columns: TypeAlias = tuple[list[int], list[int], list[int], list[int] | None]


class _OddError(Exception):
    """Not a plain line."""


def read_lines(
    stream: BinaryIO,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
    *,
    quads: bool = False,
) -> None:
    """Reads N-Triples, or N-Quads (``quads``), into ``triples``; broken lines become ``rejects``, and everything else is still
    read.

    Raises: InputError where nothing looks like a triple, or a line is longer than `LONGEST_LINE`.
    """
    terms = _Terms(triples, scope)
    add_quad = quad_adder(triples, written_labels(scope))
    format = ox.RdfFormat.N_QUADS if quads else ox.RdfFormat.N_TRIPLES
    splits = (terms.of_quads, terms.of_triples) if quads else (terms.of_triples,)
    begun, number = len(triples), 0
    for block in _blocks(stream, rejects.source):
        lines = block.split(b"\n")
        found = _first(splits, lines)
        if found is not None:
            _add(triples, found, range(number + 1, number + 1 + len(lines)))
        else:
            for at, line in enumerate(lines, number + 1):
                one = _first(splits, [line])
                if one is not None:
                    _add(triples, one, (at,))
                else:
                    _read_odd(line, at, format, add_quad, rejects)
        number += len(lines)
        if progress is not None:
            progress(rejects.source, len(triples) - begun)
    if rejects.total and rejects.unsure == rejects.total and len(triples) == begun:
        syntax = "N-Quads" if quads else "N-Triples"
        raise InputError(
            f"{rejects.source} is not {syntax}: no line of it is a triple ({rejects.shown[0].message})",
            "Check the file and the format that its name stands for.",
        )


def _first(splits: Sequence[Callable[[list[bytes]], _Columns]], lines: list[bytes]) -> _Columns | None:
    """What the first of ``splits`` makes of plain lines; None where a line is not plain."""
    for split in splits:
        try:
            return split(lines)
        except (ValueError, _OddError):
            continue
    return None


def _add(triples: Triples, found: _Columns, lines: Sequence[int]) -> None:
    subjects, predicates, objects, graphs = found
    if graphs is not None:
        triples.add_graphs(graphs)
    triples.subject.extend(subjects)
    triples.predicate.extend(predicates)
    triples.object.extend(objects)
    triples.line.extend(lines)


def _blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Whole lines, a few hundred at a time, without the last newline."""
    rest: list[bytes] = []
    length = 0
    while data := stream.read(BLOCK_BYTES):
        lines, newline, tail = data.rpartition(b"\n")
        if newline:
            yield b"".join((*rest, lines))
            rest, length = [tail], len(tail)
        else:
            rest.append(data)
            length += len(data)
            if length > LONGEST_LINE:
                raise InputError(f"{name} has a line of over {LONGEST_LINE >> 20} MB", "Is it N-Triples? One line is one triple.")
    yield b"".join(rest)


class _Resources(dict[bytes, int]):
    """Ids of subjects by token."""

    def __init__(self, triples: Triples, scope: str) -> None:
        super().__init__()
        self._triples, self._scope = triples, scope

    def __missing__(self, token: bytes) -> int:
        if token[:1] == b"<" and token[-1:] == b">":
            found = _iri_id(token[1:-1], self._triples)
        elif match := _SUBJECT_LABEL.fullmatch(token):
            found = _blank_id(match[1], self._scope, self._triples)
        else:
            raise _OddError
        self[token] = found
        return found


class _Predicates(_Resources):
    def __missing__(self, token: bytes) -> int:
        if not token.startswith(b"<"):
            raise _OddError
        return super().__missing__(token)


class _Objects(dict[bytes, int]):
    """Ids of objects by token; ``pattern`` says whether the closing dot is part of it. ``resources``: the ids of subjects."""

    def __init__(self, triples: Triples, scope: str, pattern: re.Pattern[bytes], resources: _Resources) -> None:
        super().__init__()
        self._triples, self._scope, self._pattern, self._resources = triples, scope, pattern, resources
        self._datatypes: dict[bytes, str] = {}

    def __missing__(self, token: bytes) -> int:
        if token[:1] == b"<" and token[-3:] == b"> ." and self._pattern is _OBJECT_AND_END:
            found = self[token] = self._resources[token[:-2]]
            return found
        match = self._pattern.fullmatch(token)
        if match is None:
            raise _OddError
        iri, label, lexical, datatype, tag = match.groups()
        if iri is not None:
            found = _iri_id(iri, self._triples)
        elif label is not None:
            found = _blank_id(label, self._scope, self._triples)
        else:
            found = self._triples.id(Literal(*self._literal(lexical, datatype, tag)))
        if len(token) <= _CACHED_TOKEN_BYTES:
            self[token] = found
        return found

    def _literal(self, lexical: bytes, datatype: bytes | None, tag: bytes | None) -> tuple[str, str, str]:
        text = lexical.decode()
        if b"\\" in lexical:
            text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
        if tag is not None:
            return text, RDF + "langString", tag.decode("ascii").lower()
        if datatype is None:
            return text, XSD + "string", ""
        known = self._datatypes.get(datatype)
        if known is None:
            known = datatype.decode()
            ox.NamedNode(known)
            self._datatypes[datatype] = known
        if known in _TAGGED:
            raise _OddError
        return text, known, ""


class _Terms:
    """Ids of the terms of plain lines: all lines at once, or ValueError or _OddError where one is not plain."""

    def __init__(self, triples: Triples, scope: str) -> None:
        self._resources, self._predicates = _Resources(triples, scope), _Predicates(triples, scope)
        self._last = _Objects(triples, scope, _OBJECT_AND_END, self._resources)
        self._third = _Objects(triples, scope, _OBJECT, self._resources)

    def of_triples(self, lines: list[bytes]) -> _Columns:
        first, second, third = zip(*[line.split(b" ", 2) for line in lines], strict=True)
        return (*self._begun(first, second), [self._last[token] for token in third], None)

    def of_quads(self, lines: list[bytes]) -> _Columns:
        first, second, rest = zip(*[line.split(b" ", 2) for line in lines], strict=True)
        third, fourth, dots = zip(*[text.rsplit(b" ", 2) for text in rest], strict=True)
        if not _DOTS.issuperset(dots):
            raise _OddError
        return (*self._begun(first, second), [self._third[t] for t in third], [self._resources[t] for t in fourth])

    def _begun(self, first: Sequence[bytes], second: Sequence[bytes]) -> tuple[list[int], list[int]]:
        return [self._resources[token] for token in first], [self._predicates[token] for token in second]


def _iri_id(iri: bytes, triples: Triples) -> int:
    """Raises: ValueError for what is not UTF-8, or no IRI."""
    text = iri.decode()
    found = triples.ids.get(text)
    if found is None:
        ox.NamedNode(text)
        found = triples.new(text, IRI)
    return found


def _blank_id(label: bytes, scope: str, triples: Triples) -> int:
    return triples.id(f"_:{scope}.{label.decode('ascii')}")


def _read_odd(line: bytes, number: int, format: ox.RdfFormat, add_quad: Callable[[ox.Quad, int], None], rejects: Rejects) -> None:
    text = line.strip(b" \t\r")
    if not text or text.startswith(b"#"):
        return
    if message := not_utf8(line):
        rejects.add(message, number, line.decode("utf-8", "backslashreplace"))
        rejects.unsure += not _LOOKS_LIKE_TRIPLE.match(line)
        return
    try:
        for quad in list(ox.parse(line, format=format)):
            add_quad(quad, number)
    except (SyntaxError, RefusedTermError) as error:
        rejects.add(message_of(error), number, line.decode("utf-8", "backslashreplace"))
        rejects.unsure += not _LOOKS_LIKE_TRIPLE.match(line)


def not_utf8(line: bytes) -> str:
    """What of ``line`` is not UTF-8; "" if all of it is."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{line[error.start]:02X} at column {error.start + 1}"
    return ""


_PLACE = re.compile(r"^Parser error (?:at|between) line \d+.*?: ", re.DOTALL)


def message_of(error: Exception) -> str:
    """What a parser complains of, without its own line numbers."""
    return _PLACE.sub("", error.msg if isinstance(error, SyntaxError) else str(error))

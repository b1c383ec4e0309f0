"""Reader of Turtle and TriG by pyoxigraph, which continues after a broken statement.

Lines are known because the parser is fed line by line. After a broken directive it would continue
with the previous prefix or base. So a document with an error is read again, each directive by
itself: a broken one leaves its prefix undefined, and statements that use it are rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from typing import BinaryIO

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource
from shiq.rdf.lines import LONGEST_LINE, parser_message, utf8_error
from shiq.rdf.terms import RefusedTermError, quad_adder
from shiq.rdf.triples import Labels, Rejects, Triples

_MOST_ERRORS = 1000
_SYNTAX = {Format.TURTLE: ox.RdfFormat.TURTLE, Format.TRIG: ox.RdfFormat.TRIG}

_GAP = rb"(?:[ \t\r\n]|#[^\r\n]*(?:[\r\n]|$))*"
_NAME = rb"([^ \t\r\n:<>\"'#]*):"
_IRI = rb"<[^<>\r\n]*>"
_WORD = (
    rb"@(?:prefix|base)\b|(?<![\w:.%@+\x80-\xff-])(?:prefix"
    + _GAP
    + _NAME
    + rb"|base"
    + _GAP
    + rb"<)"
)
#: What hides or shows directives, names with an escape among it; a string without end is none.
_TOKEN = re.compile(
    rb"\\.[\w:.%@+\x80-\xff-]*|#[^\r\n]*|" + _IRI + rb"|"
    rb"(?P<long>\"\"\"(?:[^\"\\]|\\.|\"{1,2}(?!\"))*\"\"\"|'''(?:[^'\\]|\\.|'{1,2}(?!'))*''')"
    rb"|\"(?:[^\"\\\r\n]|\\.)*\"|'(?:[^'\\\r\n]|\\.)*'|(?P<directive>" + _WORD + rb")",
    re.DOTALL | re.IGNORECASE,
)
_DIRECTIVE = re.compile(
    rb"(?:@prefix"
    + _GAP
    + _NAME
    + rb"|@base)"
    + _GAP
    + _IRI
    + _GAP
    + rb"\.|(?:prefix"
    + _GAP
    + _NAME
    + rb"|base)"
    + _GAP
    + _IRI,
    re.IGNORECASE,
)
_HIDDEN = re.compile(_WORD, re.IGNORECASE)
_BOUND = re.compile(rb"@?prefix" + _GAP + _NAME, re.IGNORECASE)
_LINE_END = re.compile(rb"[\r\n]|$")


class _LineFeed:
    """Stream that gives the parser one line at a time, so that an error has a line.

    Bytes that are not UTF-8 become NUL, which no term may contain: only their statement is refused.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._at = 0
        self._bytes = self.text = b""
        self.line = 0

    def read(self, size: int = -1) -> bytes:
        """Read as a file does, up to the end of a line. Raises: InputError for a line that is too
        long.
        """
        if self._at == len(self._bytes):
            self.text = self._bytes = self._stream.readline(LONGEST_LINE + 1)
            if len(self.text) > LONGEST_LINE:
                raise InputError(
                    f"{self._name} has a line of over {LONGEST_LINE >> 20} MB",
                    "Break it into several lines.",
                )
            self._at = 0
            self.line += bool(self.text)
            try:
                self.text.decode("utf-8")
            except UnicodeDecodeError:
                self._bytes = (
                    self.text.decode("utf-8", "replace").replace("\ufffd", "\0").encode("utf-8")
                )
        end = len(self._bytes) if size < 0 else min(self._at + size, len(self._bytes))
        piece = self._bytes[self._at : end]
        self._at = end
        return piece


def read_turtle(
    source: FileSource,
    triples: Triples,
    label: Labels,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> None:
    """Read Turtle or TriG into ``triples``; each broken statement is recorded in ``rejects`` with
    its line.

    Raises: InputError if not one triple could be read.
    """
    begun = len(triples)
    add_quad = quad_adder(triples, label)

    def add_with_progress(quad: ox.Quad, line: int) -> None:
        """Add a quad, and report progress now and then."""
        add_quad(quad, line)
        if progress is not None and not len(triples) % 65536:
            progress(source.name, len(triples) - begun)

    try:
        with source.open() as stream:
            feed = _LineFeed(stream, source.name)
            for quad in _parse_quads(feed, source.format, source.iri):
                add_with_progress(quad, feed.line)
    except (SyntaxError, RefusedTermError):
        triples.truncate(begun)
        _read_between_directives(source, triples, add_with_progress, rejects)
    if rejects.total and len(triples) == begun:
        first = rejects.examples[0]
        raise InputError(
            f"{source.name}, line {first.line}: not {source.format.value}: not one triple could be read: {first.message}",
            "Check the file and the format that its name stands for.",
        )
    if progress is not None:
        progress(source.name, len(triples) - begun)


def _parse_quads(feed: _LineFeed, format: Format, base: str | None) -> ox.QuadParser:
    """Parse quads from a stream."""
    return ox.parse(feed, format=_SYNTAX[format], base_iri=base)  # type: ignore[arg-type]


# --- documents with an error ---------------------------------------------------------------------


@dataclass(frozen=True)
class _NameContext:
    """Base IRI and prefixes that are in force at a point of a document. ``base`` is None where
    relative IRIs are undefined.
    """

    base: str | None
    prefixes: tuple[tuple[str, str], ...] = ()

    @property
    def directives(self) -> bytes:
        """Write the directives that declare these prefixes, in one line."""
        return (
            " ".join(f"@prefix {name}: <{iri}> ." for name, iri in self.prefixes).encode() + b"\n"
        )

    def drop_binding(self, directive: bytes) -> _NameContext:
        """Remove the prefix that the broken ``directive`` declares; remove all prefixes if that
        cannot be told.
        """
        if b"base" in directive[:5].lower():
            return replace(self, base=None)
        match = _BOUND.match(directive)
        if match is None:
            return replace(self, prefixes=())
        return replace(
            self, prefixes=tuple(pair for pair in self.prefixes if pair[0].encode() != match[1])
        )


def _split_directives(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Split a document into directives and the text between them, as (begin, end, whether it is a
    directive).
    """
    at = 0
    for match in _TOKEN.finditer(data):
        if match["directive"] is None or match.start() < at:
            continue
        begin = match.start()
        whole = _DIRECTIVE.match(data, begin)
        named = whole or _BOUND.match(data, begin) or match
        end = named.end() if whole else _LINE_END.search(data, named.end()).start()  # type: ignore[union-attr]
        yield at, begin, False
        yield begin, end, True
        at = end
    yield at, len(data), False


def _read_between_directives(
    source: FileSource, triples: Triples, add: Callable[[ox.Quad, int], None], rejects: Rejects
) -> None:
    """Read the statements between the directives of a document, each passage under the prefixes in
    force.
    """
    data = source.read()
    meaning = _NameContext(source.iri)
    line = 1
    for begin, end, is_directive in _split_directives(data):
        part = data[begin:end]
        if is_directive:
            meaning = _apply_directive(part, meaning, source, line, rejects)
        elif part.strip():
            errors, sound = _read_statements(part, meaning, source, line, triples, add)
            # They may come from a quotation mark that is missing, so that directives were taken for
            # text.
            if errors and (
                hidden := [
                    m[0]
                    for t in _TOKEN.finditer(part)
                    if t["long"]
                    for m in _HIDDEN.finditer(t["long"])
                ]
            ):
                triples.truncate(sound)
                for directive in hidden:
                    meaning = meaning.drop_binding(directive)
                errors, _ = _read_statements(
                    part, meaning, source, line, triples, add, behind=errors[0][1]
                )
            for message, number, text in errors:
                rejects.add(message, number, text)
        if rejects.total >= _MOST_ERRORS:
            last = max(line, rejects.examples[-1].line + 1)
            rest = b"\n".join(data.split(b"\n")[last - 1 :]).decode("utf-8", "backslashreplace")
            rejects.add(f"over {_MOST_ERRORS} errors: the rest was not read", last, rest)
            return
        line += part.count(b"\n")


def _apply_directive(
    part: bytes, meaning: _NameContext, source: FileSource, line: int, rejects: Rejects
) -> _NameContext:
    """Return the base and prefixes that are in force after the directive ``part``."""
    feed = _LineFeed(BytesIO(meaning.directives + part), source.name)
    parser = _parse_quads(feed, source.format, meaning.base)
    text = part.decode("utf-8", "backslashreplace")
    try:
        if _DIRECTIVE.fullmatch(part) is None:
            raise SyntaxError("this directive is incomplete")
        for _ in parser:
            raise SyntaxError("this is no directive")
    except SyntaxError as error:
        hint = "names with this prefix are undefined until it is declared again"
        rejects.add(utf8_error(part) or parser_message(error), line, text, hint)
        return meaning.drop_binding(part)
    return _NameContext(parser.base_iri, tuple(parser.prefixes.items()))


def _read_statements(
    part: bytes,
    meaning: _NameContext,
    source: FileSource,
    line: int,
    triples: Triples,
    add: Callable[[ox.Quad, int], None],
    behind: int = 0,
) -> tuple[list[tuple[str, int, str]], int]:
    """Read the statements of ``part``, which begins in ``line``. Triples from line ``behind`` on
    are added.

    Returns: errors with line and text, and the number of triples at the first error.
    """
    sound = 0
    found: list[tuple[str, int, str]] = []
    feed = _LineFeed(BytesIO(meaning.directives + part), source.name)
    parser = _parse_quads(feed, source.format, meaning.base)
    shift, last = line - 2, (0, "")
    while len(found) < _MOST_ERRORS:
        try:
            for quad in parser:
                if feed.line + shift >= behind:
                    add(quad, feed.line + shift)
            break
        except (SyntaxError, RefusedTermError) as error:
            at = (isinstance(error, SyntaxError) and error.lineno) or feed.line
            # One broken statement makes a parser complain at each of its remaining tokens.
            message = (at == feed.line and utf8_error(feed.text)) or parser_message(error)
            sound = sound if found else len(triples)
            if (at, message) != last and at + shift >= behind:
                found.append((message, at + shift, feed.text.decode("utf-8", "backslashreplace")))
            last = (at, message)
    return found, sound

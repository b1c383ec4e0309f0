"""Turtle and TriG, read by pyoxigraph, which goes on after a broken statement; lines are known because it is fed line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.formats import Format
from shiq.rdf.lines import LONGEST_LINE, message_of, not_utf8
from shiq.rdf.rejects import Rejects
from shiq.rdf.terms import Labels, RefusedTermError, quad_adder
from shiq.rdf.triples import Triples
from shiq.sources import FileSource

_MOST_ERRORS = 1000
_SYNTAX = {Format.TURTLE: ox.RdfFormat.TURTLE, Format.TRIG: ox.RdfFormat.TRIG}


class _Feed:
    """The lines of a stream, one at a time. Bytes that are not UTF-8 become NUL, which no term may contain: the statement they
    are in is refused, and the others are read."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._at = 0
        self._bytes = self.text = b""
        self.line = 0

    def read(self, size: int = -1) -> bytes:
        if self._at == len(self._bytes):
            self.text = self._bytes = self._stream.readline(LONGEST_LINE + 1)
            if len(self.text) > LONGEST_LINE:
                raise InputError(f"{self._name} has a line of over {LONGEST_LINE >> 20} MB", "Break it into several lines.")
            self._at = 0
            self.line += bool(self.text)
            try:
                self.text.decode("utf-8")
            except UnicodeDecodeError:
                self._bytes = self.text.decode("utf-8", "replace").replace("\ufffd", "\0").encode("utf-8")
        end = len(self._bytes) if size < 0 else min(self._at + size, len(self._bytes))
        piece = self._bytes[self._at : end]
        self._at = end
        return piece


def read_turtle(
    source: FileSource, triples: Triples, label: Labels, rejects: Rejects, progress: Callable[[str, int], None] | None = None
) -> None:
    """Reads Turtle or TriG into ``triples``; each broken statement becomes a reject with its line.

    Raises: InputError where not one triple could be read.
    """
    begun = len(triples)
    last = (0, "")
    add_quad = quad_adder(triples, label)
    with source.open() as stream:
        feed = _Feed(stream, source.name)
        parser = ox.parse(feed, format=_SYNTAX[source.format], base_iri=source.iri)  # type: ignore[arg-type]
        while rejects.total < _MOST_ERRORS:
            try:
                for quad in parser:
                    add_quad(quad, feed.line)
                    if progress is not None and not len(triples) % 65536:
                        progress(source.name, len(triples) - begun)
                break
            except (SyntaxError, RefusedTermError) as error:
                line = (isinstance(error, SyntaxError) and error.lineno) or feed.line
                # One broken statement makes a parser complain at each of its remaining tokens.
                message = (line == feed.line and not_utf8(feed.text)) or message_of(error)
                if (line, message) != last:
                    rejects.add(message, line, feed.text.decode("utf-8", "backslashreplace"))
                last = (line, message)
        else:
            rejects.add(f"over {_MOST_ERRORS} errors: the rest was not read", feed.line)
    if rejects.total and len(triples) == begun:
        first = rejects.shown[0]
        raise InputError(
            f"{source.name}, line {first.line}: not {source.format.value}: not one triple could be read: {first.message}",
            "Check the file and the format that its name stands for.",
        )
    if progress is not None:
        progress(source.name, len(triples) - begun)

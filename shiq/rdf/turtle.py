"""Turtle, read by pyoxigraph, which goes on after a broken statement; lines are known because it is fed line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.rdf.lines import message_of
from shiq.rdf.rejects import Rejects
from shiq.rdf.terms import Labels, RefusedTermError, add_quad
from shiq.rdf.triples import Triples
from shiq.sources import FileSource

_MOST_ERRORS = 1000


class _Feed:
    """The lines of a stream, one at a time. Bytes that are not UTF-8 become NUL, which no term may contain: the statement they
    are in is refused, and the others are read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self.line = 0
        self.text = b""

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = self._stream.readline()
            self.line += bool(self._rest)
            self.text = self._rest
            try:
                self._rest.decode("utf-8")
            except UnicodeDecodeError:
                self._rest = self._rest.decode("utf-8", "replace").replace("\ufffd", "\0").encode("utf-8")
        piece = self._rest if size < 0 else self._rest[:size]
        self._rest = self._rest[len(piece) :]
        return piece


def read_turtle(
    source: FileSource, triples: Triples, label: Labels, rejects: Rejects, progress: Callable[[str, int], None] | None = None
) -> None:
    """Reads Turtle into ``triples``; each broken statement becomes a reject with its line.

    Raises: InputError where not one triple could be read.
    """
    begun = len(triples)
    last = (0, "")
    with source.open() as stream:
        feed = _Feed(stream)
        parser = ox.parse(feed, format=ox.RdfFormat.TURTLE, base_iri=source.iri)  # type: ignore[arg-type]
        while rejects.total < _MOST_ERRORS:
            try:
                for quad in parser:
                    add_quad(triples, quad, label, feed.line)
                    if progress is not None and not len(triples) % 65536:
                        progress(source.name, len(triples) - begun)
                break
            except (SyntaxError, RefusedTermError) as error:
                line = (isinstance(error, SyntaxError) and error.lineno) or feed.line
                # One broken statement makes a parser complain at each of its remaining tokens.
                if (line, message_of(error)) != last:
                    rejects.add(message_of(error), line, feed.text.decode("utf-8", "backslashreplace"))
                last = (line, message_of(error))
        else:
            rejects.add(f"over {_MOST_ERRORS} errors: the rest was not read", feed.line)
    if rejects.total and len(triples) == begun:
        first = rejects.shown[0]
        raise InputError(
            f"{source.name}, line {first.line}: not Turtle, and not one triple of it could be read: {first.message}",
            "Check the file and the format that its name stands for.",
        )
    if progress is not None:
        progress(source.name, len(triples) - begun)

r"""Fast reader of N-Triples and N-Quads: plain lines are split here, and all others are parsed by
pyoxigraph.

A line is plain if single spaces separate its terms. New names of a block are checked together and
other terms once. A line of known terms costs three dictionary look-ups. Lines with comments, \u
escapes or other spacing are parsed one by one by pyoxigraph, and so are broken ones, for their
message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import BinaryIO, TypeAlias

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.model import RDF, XSD, Literal
from shiq.rdf.triples import IRI, Rejects, Triples, keep_labels
from shiq.rdf.vocabulary import TAGGED

BLOCK_BYTES = 1 << 16  # larger blocks were slower: they leave the processor's cache
LONGEST_LINE = 1 << 26
_CACHED_TOKEN = 256

_NAME = re.compile(r"<([^<>\\]+)>")
_LABEL = re.compile(r"_:([A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?)")
_LITERAL = re.compile(
    r'"([^"\\\r\n\0]*(?:\\[tbnrf"\'\\][^"\\\r\n\0]*)*)"'
    r"(?:\^\^<([^<>\\]+)>|@([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*))?"
)
# Most of the names of RFC 3987 that are used: ASCII, a path, and perhaps a query and a fragment.
_CHARACTERS = r"[A-Za-z0-9\-._~!$&'()*+,;=:@/]*"
_WORDS = rf"{_CHARACTERS}(?:%[0-9A-Fa-f]{{2}}{_CHARACTERS})*"
_PLAIN_NAME = rf"<[A-Za-z][A-Za-z0-9+.\-]*:(?://[A-Za-z0-9.\-_~]*(?::[0-9]*)?(?=[/?#>])|(?!//)){_WORDS}(?:\?{_WORDS})?(?:#{_WORDS})?>"
_PLAIN_NAMES = re.compile(rf"{_PLAIN_NAME}(?:\n{_PLAIN_NAME})*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LOOKS_LIKE_TRIPLE = re.compile(rb"[ \t]*(?:<|_:|\"|#)")


#: Ids of subjects, predicates, objects and graphs; None for the graphs where all are the default
#: graph.
_Columns: TypeAlias = tuple[list[int], list[int], list[int], list[int] | None]
#: Subjects, predicates and what follows them.
_Tokens: TypeAlias = tuple[Sequence[str], Sequence[str], Sequence[str]]


class _UnusualLineError(Exception):
    """Signal: a line needs the full parser, because it has escapes, comments, spaces or errors."""


def read_lines(
    stream: BinaryIO,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
    *,
    quads: bool = False,
    part: bool = False,
) -> None:
    """Read N-Triples, or N-Quads (``quads``), into ``triples``. Malformed lines are recorded in
    ``rejects``.

    Args:
    part: whether these are only some lines of a source, so that the caller checks the format

    Raises: InputError if no line looks like a triple, or a line is longer than `LONGEST_LINE`.
    """
    terms = _PlainTerms(triples, scope)
    splits = (terms.quad_columns, terms.triple_columns) if quads else (terms.triple_columns,)
    begun, number = len(triples), 0
    for block in _line_blocks(stream, rejects.source):
        found = _split_plain_lines(splits, block)
        if found is not None:
            count = len(found[0])
            _add_columns(triples, found, range(number + 1, number + 1 + count))
        else:
            lines = block.split(b"\n")
            count = len(lines)
            for at, line in enumerate(lines, number + 1):
                one = _split_plain_lines(splits, line)
                if one is not None:
                    _add_columns(triples, one, (at,))
                else:
                    _read_by_parser(line, at, quads, triples, scope, rejects)
        number += count
        if progress is not None:
            progress(rejects.source, len(triples) - begun)
    if not part and len(triples) == begun:
        refuse_other_syntax(rejects, quads)


def read_statements(texts: Sequence[str], tell: Callable[[int, str], None]) -> Triples:
    """Read N-Triples statements, one per text. Call ``tell(index, reason)`` for each text that is
    no statement; `Triples.line` is index + 1.

    >>> wrong = []
    >>> read_statements(["<urn:s> <urn:p> <urn:o> .", "no triple", ""], lambda *told: wrong.append(told[0])).line
    array('I', [1])
    >>> wrong
    [1, 2]
    """
    triples, broken = Triples(), Rejects("")
    triples.begin_source("")
    whole = "\n".join(texts)
    if whole.count("\n") >= max(len(texts), 1) or "\r" in whole:
        whole = "\n".join("two lines" if "\n" in x or "\r" in x else x for x in texts)
    read_lines(BytesIO(whole.encode("utf-8", "surrogatepass")), triples, "e", broken, part=True)
    known = {*triples.line}
    for leftover in broken.all_lines:
        known.add(leftover.line)
        tell(leftover.line - 1, leftover.message)
    if len(known) < len(texts):
        for line in sorted({*range(1, len(texts) + 1)} - known):
            tell(line - 1, "a triple is expected")
    return triples


def refuse_other_syntax(rejects: Rejects, quads: bool) -> None:
    """Refuse a source in which no line at all looks like a triple. Raises: InputError."""
    if rejects.total and rejects.unsure == rejects.total:
        syntax = "N-Quads" if quads else "N-Triples"
        raise InputError(
            f"{rejects.source} is not {syntax}: no line of it is a triple ({rejects.examples[0].message})",
            "Check the file and the format that its name stands for.",
        )


def _split_plain_lines(
    splits: Sequence[Callable[[_Tokens], _Columns]], block: bytes
) -> _Columns | None:
    """Split a block of plain lines into columns of term ids, by the first of ``splits`` that fits.
    None if a line needs the parser.
    """
    try:
        tokens = _split_terms(block.decode())
    except (ValueError, _UnusualLineError):
        return None
    for split in splits:
        try:
            return split(tokens)
        except (ValueError, _UnusualLineError):
            continue
    return None


def _split_terms(text: str) -> _Tokens:
    """Split lines into term tokens, without checking them."""
    words = text.replace("\n", "\n ").split(" ")
    dots = words[3::4]
    if len(words) == 4 * len(dots) and dots.pop() == "." and dots.count(".\n") == len(dots):
        return words[0::4], words[1::4], words[2::4]
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    if not all(line.endswith(".") for line in lines):
        raise _UnusualLineError
    first, second, rest = zip(
        *[line[:-1].rstrip(" \t").split(" ", 2) for line in lines], strict=True
    )
    return first, second, rest


def _add_columns(triples: Triples, found: _Columns, lines: Sequence[int]) -> None:
    """Append columns of term ids to the triples, with the line of each."""
    subjects, predicates, objects, graphs = found
    if graphs is not None:
        triples.add_graphs(graphs)
    triples.subject.extend(subjects)
    triples.predicate.extend(predicates)
    triples.object.extend(objects)
    triples.line.extend(lines)


def _line_blocks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield blocks of a few hundred complete lines, without the last newline."""
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
                raise InputError(
                    f"{name} has a line of over {LONGEST_LINE >> 20} MB",
                    "Is it N-Triples? One line is one triple.",
                )
    yield b"".join(rest)


class _PlainTerms:
    """Converter of the term tokens of plain lines to term ids.

    Raises ValueError or _UnusualLineError if any line is not plain.
    """

    def __init__(self, triples: Triples, scope: str) -> None:
        self._triples, self._scope = triples, scope
        self._ids: dict[str, int] = {}
        self._datatypes: dict[str, str] = {}
        self._tags: set[str] = set()

    def triple_columns(self, tokens: _Tokens) -> _Columns:
        """Convert the tokens of N-Triples lines to columns of term ids."""
        first, second, third = tokens
        return (*self._subject_predicate_ids(first, second), self._object_ids(third), None)

    def quad_columns(self, tokens: _Tokens) -> _Columns:
        """Convert the tokens of N-Quads lines to columns of term ids."""
        first, second, rest = tokens
        third, fourth = zip(*[text.rsplit(" ", 1) for text in rest], strict=True)
        return (
            *self._subject_predicate_ids(first, second),
            self._object_ids(third),
            self._resource_ids(fourth),
        )

    def _subject_predicate_ids(
        self, first: Sequence[str], second: Sequence[str]
    ) -> tuple[list[int], list[int]]:
        """Convert the tokens of subjects and predicates to term ids. Raises: _UnusualLineError."""
        if not all(token.startswith("<") for token in set(second)):
            raise _UnusualLineError
        return self._resource_ids(first), self._resource_ids(second)

    def _resource_ids(self, tokens: Sequence[str]) -> list[int]:
        """Convert tokens of IRIs and blank nodes to term ids. Raises: _UnusualLineError for a
        literal.
        """
        if min(tokens) < "<":  # a literal begins with a lesser sign
            raise _UnusualLineError
        ids = self._ids
        self._add_terms([token for token in tokens if token not in ids])
        return list(map(ids.__getitem__, tokens))

    def _object_ids(self, tokens: Sequence[str]) -> list[int]:
        """Convert tokens of objects to term ids."""
        ids = self._ids
        new = [token for token in tokens if token not in ids]
        self._add_terms([token for token in new if token[:1] != '"'])
        literals = [token for token in new if token[:1] == '"']
        for token in literals:
            ids[token] = self._literal_id(token)
        found = list(map(ids.__getitem__, tokens))
        for token in literals:
            if len(token) > _CACHED_TOKEN:
                ids.pop(token, None)
        return found

    def _add_terms(self, tokens: list[str]) -> None:
        """Add the names and blank nodes among ``tokens`` (with repetitions) that are new."""
        if not tokens:
            return
        new = dict.fromkeys(tokens)
        text = "\n".join(new)
        if _PLAIN_NAMES.fullmatch(text):
            self._ids.update(zip(new, self._triples.add_names(text[1:-1].split(">\n<"))))
            return
        for token in new:
            if token[:1] == "<":
                self._ids[token] = self._iri_id(token)
            elif match := _LABEL.fullmatch(token):
                self._ids[token] = self._triples.id_of(f"_:{self._scope}.{match[1]}")
            else:
                raise _UnusualLineError

    def _iri_id(self, token: str) -> int:
        """Return the term id of an IRI token. Raises: ValueError for an illegal one."""
        match = _NAME.fullmatch(token)
        if match is None:
            raise _UnusualLineError
        text = match[1]
        found = self._triples.ids.get(text)
        if found is None:
            ox.NamedNode(text)
            found = self._triples.add_term(text, IRI)
        return found

    def _literal_id(self, token: str) -> int:
        """Return the term id of a literal token. Raises: _UnusualLineError, ValueError."""
        match = _LITERAL.fullmatch(token)
        if match is None:
            raise _UnusualLineError
        text, datatype, tag = match.groups()
        if "\\" in text:
            text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)
        if tag is not None:
            if tag not in self._tags:
                ox.Literal("", language=tag)
                self._tags.add(tag)
            return self._triples.id_of(Literal(text, RDF + "langString", tag.lower()))
        if datatype is None:
            return self._triples.id_of(Literal(text, XSD + "string", ""))
        known = self._datatypes.get(datatype)
        if known is None:
            ox.NamedNode(datatype)
            known = self._datatypes[datatype] = datatype
        if known in TAGGED:
            raise _UnusualLineError  # left to the parser, for its message
        return self._triples.id_of(Literal(text, known, ""))


def _read_by_parser(
    line: bytes, number: int, quads: bool, triples: Triples, scope: str, rejects: Rejects
) -> None:
    """Read one line by pyoxigraph; a malformed one is recorded in ``rejects``."""
    text = line.strip(b" \t\r")
    # A bare \r ends a line, and so a comment, too.
    if not text or (text.startswith(b"#") and b"\r" not in text):
        return
    if message := utf8_error(line):
        rejects.add(message, number, line.decode("utf-8", "backslashreplace"))
        rejects.unsure += not _LOOKS_LIKE_TRIPLE.match(line)
        return
    # Loaded where a line is not plain: most files have none.
    from shiq.rdf.terms import RefusedTermError, quad_adder

    add_quad = quad_adder(triples, keep_labels(scope))
    try:
        for quad in list(
            ox.parse(line, format=ox.RdfFormat.N_QUADS if quads else ox.RdfFormat.N_TRIPLES)
        ):
            add_quad(quad, number)
    except (SyntaxError, RefusedTermError) as error:
        shown = line.decode("utf-8", "backslashreplace")
        message = _turtle_message(shown) or _bare_name_message(shown) or parser_message(error)
        rejects.add(message, number, shown)
        rejects.unsure += not _LOOKS_LIKE_TRIPLE.match(line)


def utf8_error(line: bytes) -> str:
    """Return a message on the first byte of ``line`` that is not UTF-8; "" if there is none."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{line[error.start]:02X} at column {error.start + 1}"
    return ""


_WRITTEN_TERM = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|<[^>]*>')
_TURTLE = re.compile(r"(?i)^\s*(@?prefix|@?base)\s|(?:^|\s)(a)\s")
_BARE_NAME = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9+.\-]*:\S+)")


def _turtle_message(line: str) -> str:
    """Return a message for a line that is Turtle and not N-Triples; "" for other lines.

    >>> _turtle_message("<urn:x> a <urn:C> .")
    '“a” is Turtle: the name of a Turtle file ends in .ttl, standard input needs --format turtle'
    """
    found = _TURTLE.search(_WRITTEN_TERM.sub(" _ ", line))
    return (
        f"“{found[1] or found[2]}” is Turtle: the name of a Turtle file ends in .ttl, standard input"
        " needs --format turtle"
        if found
        else ""
    )


def _bare_name_message(line: str) -> str:
    """Return a message for a name without angle brackets; "" if there is none."""
    found = _BARE_NAME.search(_WRITTEN_TERM.sub(" ", line))
    return (
        f"{found[1][:80]} is no term of N-Triples: a name stands whole and in angle brackets, as <urn:t#a>"
        if found
        else ""
    )


_PLACE = re.compile(r"^Parser error (?:at|between) line \d+.*?: ", re.DOTALL)


def parser_message(error: Exception) -> str:
    """Return the message of a parser's error, without the parser's own line numbers."""
    return _PLACE.sub("", error.msg if isinstance(error, SyntaxError) else str(error))

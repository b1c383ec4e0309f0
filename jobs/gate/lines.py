"""The lines of a batch, each as it stands in its file.

N-Triples and N-Quads are split at their line ends and never rewritten. Files of other syntaxes
have no line for each triple: their triples become N-Quads lines here, with blank nodes named in
the order in which they are met.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import pyoxigraph as ox

from shiq.errors import InputError, UsageError
from shiq.formats import EXTENSIONS
from shiq.ntriples import blank_term
from shiq.rdf.statements import Statement, read_statements
from shiq.rdf.terms import RefusedTermError, refuse_new_terms
from shiq.sources import (
    STDIN,
    TABLE,
    FileSource,
    TableKind,
    TableSource,
    source_of,
    table_kind,
    text_table_kind,
)
from shiq.verdict import Leftover

#: What a line says: (subject, predicate, object) in one spelling.
Triple: TypeAlias = tuple[str, str, str]

#: The row of what is none of its table: a broken row of a table that it is joined with.
NO_ROW: Final = -1
_PACKED: Final = re.compile(r"\.(?:gz|bz2|xz|zst)\Z", re.IGNORECASE)
_LINE_FORMATS: Final = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".ntriples": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".nquads": ox.RdfFormat.N_QUADS,
}
_DOCUMENTS: Final = (".ttl", ".turtle", ".trig", ".rdf", ".owl", ".xml", ".jsonld")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line of a batch: ``raw`` as it stands in the file, end of line included; ``triple``:
    None for a comment or a blank line; ``graph``: the name of its graph, "" for the default
    graph; ``problem``: why it is no triple. A bare carriage return ends a line, as N-Triples has
    it, and counts as one. ``row``, ``column``: where a mapping read it in a table, whose rows
    are several lines each; else 0 and "". ``unordered``: its row in a table whose rows have no
    order, as that was read; `NO_ROW` where it is none of its table. Each line is itself alone.
    """

    file: int
    number: int
    raw: bytes
    triple: Triple | None = None
    graph: str = ""
    problem: str = ""
    row: int = 0
    column: str = ""
    unordered: int = 0

    @property
    def table_row(self) -> int:
        """The row of the table that it was read from, as that counts its rows."""
        return self.unordered or self.at

    @property
    def at(self) -> int:
        """Where it stands in its file or table, as people count."""
        return self.row or self.number

    @property
    def text(self) -> str:
        """The line for people and for JSON."""
        return self.raw.decode("utf-8", "replace").rstrip("\r\n")


def read_lines(source: str | TableSource, file: int = 0) -> tuple[list[Line], tuple[Leftover, ...]]:
    """The lines of the file or table ``source``, and what is told of it beside them, as rows
    without a partner.

    Raises: UsageError for a syntax that is not known by the name, InputError for a file that
    cannot be read, or is not one line for each triple and broken.
    """
    if isinstance(source, TableSource) or table_kind(source) or text_table_kind(source):
        return _of_table(source, file)
    return _of_file(source, file), ()


def digest_of(source: str | TableSource) -> str:
    """A hash of the content of a file or table, whatever the order of a table's rows. Raises:
    InputError.
    """
    try:
        if isinstance(source, TableSource) or Path(source).is_dir():
            return hashlib.sha256(
                b"".join(sorted(line.raw for line in read_lines(source)[0]))
            ).hexdigest()
        return hashlib.sha256(Path(source).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}", "Name a file that can be read.") from error


def _of_file(name: str, file: int) -> list[Line]:
    suffix = _suffix(name)
    if suffix in _LINE_FORMATS:
        syntax = _LINE_FORMATS[suffix]
        return [
            _line(file, number, raw, syntax) for number, raw in enumerate(_split(_content(name)), 1)
        ]
    if suffix in _DOCUMENTS:
        return _of_document(name, file)
    raise UsageError(
        f"{name}: not a syntax that the gate knows by its name",
        f"Known: {', '.join((*_LINE_FORMATS, *_DOCUMENTS))}, each also with .gz, .bz2, .xz or .zst, Parquet and Delta. One "
        "line is one triple in N-Triples (.nt) and N-Quads (.nq) alone; others come out as N-Quads.",
    )


def is_plain(name: str) -> bool:
    """Whether the file ``name`` has a line for each triple, so that a check reads it as it stands."""
    return not name.startswith(TABLE) and _suffix(name) in _LINE_FORMATS


def _suffix(name: str) -> str:
    """The end of the name of a file, unpacked; standard input is named after its syntax."""
    source = source_of(name) if name == STDIN else None
    if isinstance(source, FileSource):
        return next((end for end, syntax in EXTENSIONS.items() if syntax is source.format), ".xml")
    return Path(_PACKED.sub("", name)).suffix.lower()


def bare_name(name: str) -> str:
    """The name of the file that a side of ``name`` is written to: not compressed, and N-Quads
    where lines were made.

    >>> bare_name("in/tonight.nt.gz"), bare_name("tonight.ttl")
    ('tonight.nt', 'tonight.nq')
    """
    path = Path(f"stdin{_suffix(name)}" if name == STDIN else _PACKED.sub("", Path(name).name))
    return path.name if path.suffix.lower() in _LINE_FORMATS else f"{path.stem}.nq"


def text_of(lines: Iterable[Line]) -> bytes:
    """``lines`` as a file; where one without an end of line is not the last, it gets one."""
    parts = [line.raw for line in lines]
    return b"".join(
        [part if part.endswith((b"\n", b"\r")) else part + b"\n" for part in parts[:-1]]
        + parts[-1:]
    )


def spaced_text(lines: Iterable[Line]) -> Iterator[bytes]:
    """``lines`` of one file, each at the number that it has in its file, so that messages name
    the right place. Where a carriage return ends one, a newline does, for readers that count
    these alone.
    """
    at = 1
    for line in lines:
        yield b"\n" * (line.number - at)
        yield line.raw[:-1] + b"\n" if line.raw.endswith(b"\r") else line.raw
        at = line.number + line.raw.endswith((b"\n", b"\r"))


def read_triple(text: bytes) -> Triple | None:
    """What an N-Triples line says, whatever its spelling; None if it says nothing. Raises:
    SyntaxError, ValueError.
    """
    found = _quad(text, ox.RdfFormat.N_TRIPLES)
    return _triple(found) if found else None


# --- what a check calls them ----------------------------------------------------------------------

#: What the parser says of a text that is a single line: the line that it names is none of the
#: file's.
_SAID: Final = re.compile(r"Parser error (.*?): (.*?)(?: \(line \d+\))?", re.DOTALL)
_COLUMNS: Final = re.compile(r"at line 1 (column \d+|between columns \d+ and \d+)")

#: What a check puts before the label of a blank node of a batch (as subject or object): where it
#: was read.
_SCOPED: Final = re.compile(r"(?:\A|(?<=> ))_:i\d+\.(\d+)\.")


def said_by(text: str) -> Triple | None:
    """The triple of a line of a result, blank nodes as `key_of` names them. Raises: SyntaxError,
    ValueError.
    """
    return read_triple(_SCOPED.sub("_:", text).encode())


def key_of(line: Line) -> tuple[int, Triple]:
    """What tells the triple of ``line`` from all others of its batch: a blank node is one of its
    file (-1: there is none).
    """
    s, p, o = line.triple or ("", "", "")
    if not (s.startswith("_:") or o.startswith("_:")):
        return -1, (s, p, o)
    # Labels are written with escapes after what tells their file.
    s, o = (f"_:{blank_term(f'_:i.{x[2:]}')[4:]}" if x.startswith("_:") else x for x in (s, o))
    return line.file, (s, p, o)


def file_of(text: str) -> int:
    """The file of a line of a result, as `key_of` has it."""
    found = _SCOPED.search(text)
    return int(found[1]) if found else -1


# --- reading --------------------------------------------------------------------------------------


def _content(name: str) -> bytes:
    source = source_of(name)
    if not isinstance(source, FileSource):
        raise InputError(f"{name}: not a file", "Name a file that can be read.")
    if source.compressed or source.content is not None:
        with source.open() as stream:
            return stream.read()
    try:
        return source.path.read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error}", "Name a file that can be read.") from error


#: A line with its end: a bare carriage return is one.
_ENDED: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def _split(text: bytes) -> list[bytes]:
    if b"\r" in text:
        return _ENDED.findall(text)
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _line(file: int, number: int, raw: bytes, syntax: ox.RdfFormat) -> Line:
    try:
        text = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        quad = _quad(text, syntax) if text.strip() else None
        if quad:
            refuse_new_terms(quad)
    except (SyntaxError, ValueError, RefusedTermError) as error:
        return Line(file, number, raw, problem=_problem(str(error)))
    return Line(file, number, raw, _triple(quad), _graph(quad)) if quad else Line(file, number, raw)


def _problem(said: str) -> str:
    """
    >>> _problem("Parser error at line 1 between columns 1 and 20: Invalid IRI code point ' ' (line 1)")
    "Invalid IRI code point ' ' (between columns 1 and 20)"
    """
    found = _SAID.fullmatch(said)
    if found is None:
        return said
    columns = _COLUMNS.fullmatch(found[1])
    return f"{found[2]} ({columns[1]})" if columns else found[2]


def _quad(text: bytes, syntax: ox.RdfFormat) -> ox.Quad | None:
    return next(iter(ox.parse(input=text, format=syntax)), None)


def _triple(quad: ox.Quad) -> Triple:
    return str(quad.subject), str(quad.predicate), str(quad.object)


def _graph(quad: ox.Quad) -> str:
    return "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)


def _of_document(name: str, file: int) -> list[Line]:
    statements, broken = read_statements(name)
    if broken:
        first = broken[0]
        raise InputError(
            f"{name}, line {first.line}: {first.message}",
            "Mend the file: no line of it can be told from the others.",
        )
    renamed = _numbering()
    return [_stated(file, number, x, renamed) for number, x in enumerate(statements, 1)]


def _of_table(source: str | TableSource, file: int) -> tuple[list[Line], tuple[Leftover, ...]]:
    """The rows of a table, broken ones as lines that are no triple. Tables of a session of
    Spark's have no order: their rows are numbered in that of their texts. Broken rows of a table
    that this one is joined with stand at none of its rows.
    """
    statements, broken = read_statements(source)
    told = tuple(x for x in broken if x.kind != "malformed")
    rows: list[Statement | Leftover] = [*statements, *(x for x in broken if x.kind == "malformed")]
    for x in rows:
        if isinstance(x, Leftover) and not x.line:
            raise InputError(
                f"{x.source}: {x.message}",
                "Is it a table of triples? Its columns s, p, o hold N-Triples terms.",
            )
    renamed = _numbering()
    if isinstance(source, TableSource) and source.mapping is not None:
        # A row is several lines, each with a number of its own.
        joined = [x for x in rows if isinstance(x, Leftover) and x.source != source.name]
        own = sorted(
            (x for x in rows if not isinstance(x, Leftover) or x.source == source.name),
            key=lambda x: x.line,
        )
        lines = [
            replace(_row(file, x, renamed), number=i, row=x.line, column=_column(x))
            for i, x in enumerate(own, 1)
        ]
        for i, x in enumerate(joined, len(lines) + 1):
            line = _row(file, x, renamed)
            lines.append(
                replace(
                    line, number=i, problem=f"{x.source}:{x.line}: {line.problem}", unordered=NO_ROW
                )
            )
        return lines, told
    if isinstance(source, TableSource) and source.kind in (TableKind.SPARK, TableKind.ARROW):
        ordered = enumerate(sorted(rows, key=_text_and_key), 1)
        return [
            replace(_row(file, x, renamed), number=i, unordered=x.line) for i, x in ordered
        ], told
    return [_row(file, x, renamed) for x in sorted(rows, key=lambda x: x.line)], told


def _text_and_key(x: Statement | Leftover) -> tuple[str, str]:
    return x.text, x.key if isinstance(x, Statement) else x.hint


def _column(x: Statement | Leftover) -> str:
    return x.column if isinstance(x, Statement) else ""


def _row(file: int, x: Statement | Leftover, renamed: Callable[[str], str]) -> Line:
    if isinstance(x, Statement):
        return _stated(file, x.line, x, renamed)
    key = f" ({x.hint})" if x.hint else ""
    return Line(
        file, x.line, f"? {x.text.removeprefix('? ')}\n".encode(), problem=f"{x.message}{key}"
    )


def _stated(file: int, number: int, x: Statement, renamed: Callable[[str], str]) -> Line:
    triple, graph = (renamed(x.subject), x.predicate, renamed(x.object)), renamed(x.graph)
    text = " ".join(part for part in (*triple, graph, ".\n") if part)
    return Line(file, number, text.encode(), triple, graph)


def _numbering() -> Callable[[str], str]:
    """A function that renames blank nodes in the order in which it meets them: parsers name some
    of them by chance.
    """
    met: dict[str, str] = {}
    return lambda term: (
        met.setdefault(term, f"_:b{len(met) + 1}") if term.startswith("_:") else term
    )

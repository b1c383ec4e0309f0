"""Read the lines of a batch, each as it is written in its file.

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

from shiq.answers.verdict import Leftover
from shiq.errors import InputError, UsageError
from shiq.inputs.catalog import Catalog
from shiq.inputs.formats import EXTENSIONS, Format
from shiq.inputs.sources import (
    STDIN,
    TABLE,
    FileSource,
    ObjectSource,
    TableKind,
    TableSource,
    TextInput,
    classify_input,
    local_path_of,
    table_kind,
    text_table_kind,
)
from shiq.model.ntriples import blank_term
from shiq.rdf.load import load_sources
from shiq.rdf.terms import RefusedTermError, refuse_new_terms
from shiq.rdf.triples import term_text
from shiq.remote.place import is_endpoint

# Triples of a source one by one, as N-Quads, for code that sorts statements without interpreting
# them.
#
# Formats, archives, limits and contexts are checked as in any reading.


@dataclass(frozen=True, slots=True)
class Statement:
    """RDF statement in N-Triples terms, with its origin.

    graph: "" for the default graph
    line, key, column: see `shiq.inputs.reading.Place`
    """

    subject: str
    predicate: str
    object: str
    graph: str = ""
    line: int = 0
    key: str = ""
    column: str = ""

    @property
    def text(self) -> str:
        """The statement as a line of N-Quads."""
        return " ".join(
            part for part in (self.subject, self.predicate, self.object, self.graph, ".") if part
        )


def read_statements(
    value: object, *, catalog: Catalog | None = None
) -> tuple[list[Statement], tuple[Leftover, ...]]:
    """Read the statements of a file or table in order, and the unabridged leftovers.

    Blank nodes are named ``_:b0.label``. Imports are not followed.

    Raises: InputError; UsageError for functional syntax and objects, which are no triples.
    """
    source = classify_input(value)
    if isinstance(source, ObjectSource):
        raise UsageError(f"a {source.name} is not read triple by triple", "Give a file or a table.")
    loaded = load_sources([value], "b", None, catalog)
    if loaded.axioms or loaded.assertions or loaded.different_lists:
        raise UsageError(
            f"{source.name} is no RDF, and not read triple by triple", "Convert it to Turtle."
        )
    triples = loaded.triples
    rows = range(len(triples))
    terms = [term_text(term) for term in triples.terms]
    columns, key = zip(triples.subject, triples.predicate, triples.object), triples.keys.get
    found = [
        Statement(
            terms[s],
            terms[p],
            terms[o],
            triples.graph_of(row),
            triples.line[row],
            key(row, ""),
            triples.columns_of(row),
        )
        for row, (s, p, o) in zip(rows, columns)
    ]
    summed = {id(leftover) for told, _ in loaded.full_leftovers for leftover in told}
    others = (leftover for leftover in loaded.leftovers if id(leftover) not in summed)
    return found, (*others, *(leftover for _, each in loaded.full_leftovers for leftover in each))


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
    """Line of a batch. Two Line objects are equal only if they are the same object.

    raw: bytes as in the file, with the line end.
    triple: None for a comment or blank line.
    graph: name of its graph, "" for the default graph.
    problem: why the line is malformed, else empty.
    source_line: line of a document (Turtle, RDF/XML, …) at which its triple stands; else 0.
    row, column: where a mapping read it in a table; a row gives several lines. Else 0 and "".
    unordered_row: row number in a table without an order, as read; `NO_ROW` if it belongs to a
        joined table.

    A bare carriage return ends a line, as in N-Triples.
    """

    file: int
    number: int
    raw: bytes
    triple: Triple | None = None
    graph: str = ""
    problem: str = ""
    source_line: int = 0
    row: int = 0
    column: str = ""
    unordered_row: int = 0

    @property
    def table_row(self) -> int:
        """Row of the table that the line was read from, in the numbering of the table's reader."""
        return self.unordered_row or self.position

    @property
    def position(self) -> int:
        """Line number in the file, or row number if a mapping read the line from a table."""
        return self.row or self.source_line or self.number

    @property
    def text(self) -> str:
        """The line as text, without its line end."""
        return self.raw.decode("utf-8", "replace").rstrip("\r\n")


#: A file by its name, or as it is read: a table, or a document that is in memory or was fetched.
BatchSource: TypeAlias = "str | TableSource | FileSource"


def batch_source(given: object) -> BatchSource:
    """Convert an input of a batch (path, source or text) to a source that the gate can read."""
    if isinstance(given, TextInput):
        given = classify_input(given)
    return given if isinstance(given, TableSource | FileSource) else str(given)


def read_lines(source: BatchSource, file: int = 0) -> tuple[list[Line], tuple[Leftover, ...]]:
    """Read the lines of the file or table ``source``. Returns them, and leftovers that belong to no
    line, such as table rows without a join partner.

    Raises: UsageError for an unknown syntax; InputError for a file that cannot be read, or a broken
        document.
    """
    if isinstance(source, TableSource) or (
        isinstance(source, str) and (table_kind(source) or text_table_kind(source))
    ):
        return _read_table(source, file)
    return _read_file(source, file), ()


def hash_content(source: BatchSource) -> str:
    """Hash the content of a file or table, independent of the order of a table's rows. Raises:
    InputError.
    """
    if isinstance(source, FileSource):
        return hashlib.sha256(_read_bytes(source)).hexdigest()
    try:
        if isinstance(source, TableSource) or (path := local_path_of(source)).is_dir():
            return hashlib.sha256(
                b"".join(sorted(line.raw for line in read_lines(source)[0]))
            ).hexdigest()
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}", "Name a file that can be read.") from error


def _read_file(source: str | FileSource, file: int) -> list[Line]:
    """Read the lines of a file, or the triples of a document. Raises: UsageError, InputError."""
    suffix = _syntax_suffix(source)
    if suffix in _LINE_FORMATS:
        syntax = _LINE_FORMATS[suffix]
        return [
            _parse_line(file, number, raw, syntax)
            for number, raw in enumerate(_split_lines(_read_bytes(source)), 1)
        ]
    if suffix in _DOCUMENTS:
        return _read_document(source, file)
    raise UsageError(
        f"{source}: not a syntax that the gate knows by its name",
        f"Known: {', '.join((*_LINE_FORMATS, *_DOCUMENTS))}, each also with .gz, .bz2, .xz or .zst, Parquet and Delta. One "
        "line is one triple in N-Triples (.nt) and N-Quads (.nq) alone; others come out as N-Quads.",
    )


def is_line_based(source: BatchSource) -> bool:
    """Whether the file has one line for each triple (N-Triples, N-Quads), so that a check can read
    it directly.
    """
    if isinstance(source, TableSource) or (isinstance(source, str) and source.startswith(TABLE)):
        return False
    return _syntax_suffix(source) in _LINE_FORMATS


def line_syntax(source: BatchSource) -> Format:
    """Syntax of a source that has one statement a line: N-Triples if its name or content says so,
    else N-Quads.
    """
    name = source.name if isinstance(source, TableSource) else source
    suffix = (
        _syntax_suffix(name)
        if isinstance(name, FileSource)
        else Path(output_file_name(name)).suffix
    )
    return Format.NTRIPLES if suffix in (".nt", ".ntriples") else Format.NQUADS


def _syntax_suffix(source: str | FileSource) -> str:
    """File suffix of a source's syntax, compression ignored. For standard input and documents in
    memory, the suffix of the syntax they were read with.
    """
    known = classify_input(source) if source == STDIN else source
    if isinstance(known, FileSource):
        return next((end for end, syntax in EXTENSIONS.items() if syntax is known.format), ".xml")
    return Path(_PACKED.sub("", str(known))).suffix.lower()


def output_file_name(name: str) -> str:
    """Name of the output file for the input ``name``: uncompressed, and N-Quads if the input's
    syntax is not line-based.

    >>> output_file_name("in/tonight.nt.gz"), output_file_name("tonight.ttl")
    ('tonight.nt', 'tonight.nq')
    """
    if is_endpoint(name):
        return "endpoint.nt"
    path = Path(
        f"stdin{_syntax_suffix(name)}" if name == STDIN else _PACKED.sub("", Path(name).name)
    )
    return path.name if path.suffix.lower() in _LINE_FORMATS else f"{path.stem}.nq"


def join_lines(lines: Iterable[Line]) -> bytes:
    """Content of a file with these ``lines``; a missing line end is added, except for the last
    line.
    """
    parts = [line.raw for line in lines]
    return b"".join(
        [part if part.endswith((b"\n", b"\r")) else part + b"\n" for part in parts[:-1]]
        + parts[-1:]
    )


def numbered_text(lines: Iterable[Line]) -> Iterator[bytes]:
    """Content of a file in which each of ``lines`` keeps its line number; lines of the batch that
    are not among them become blank lines.

    A carriage return at a line's end becomes a newline, for readers that count newlines only.
    """
    at = 1
    for line in lines:
        yield b"\n" * (line.number - at)
        yield line.raw[:-1] + b"\n" if line.raw.endswith(b"\r") else line.raw
        at = line.number + line.raw.endswith((b"\n", b"\r"))


def read_triple(text: bytes) -> Triple | None:
    """Parse an N-Triples line; None for a blank or comment line. Raises: SyntaxError, ValueError."""
    found = _parse_quad(text, ox.RdfFormat.N_TRIPLES)
    return _triple_of(found) if found else None


# --- what a check calls them ----------------------------------------------------------------------

#: What the parser says of a text that is a single line: the line that it names is none of the
#: file's.
_PARSER_ERROR: Final = re.compile(r"Parser error (.*?): (.*?)(?: \(line \d+\))?", re.DOTALL)
_COLUMNS: Final = re.compile(r"at line 1 (column \d+|between columns \d+ and \d+)")

#: What a check puts before the label of a blank node of a batch (as subject or object): where it
#: was read.
_SCOPED: Final = re.compile(r"(?:\A|(?<=> ))_:i\d+\.(\d+)\.")


def read_result_triple(text: str) -> Triple | None:
    """Parse an N-Triples line of a result; None for a blank or comment line. Blank nodes get the
    names that `triple_key` uses. Raises: SyntaxError, ValueError.
    """
    return read_triple(_SCOPED.sub("_:", text).encode())


def triple_key(line: Line) -> tuple[int, Triple]:
    """Key of a line's triple in its batch: file index and triple. The index is -1 without blank
    nodes, whose names differ by file.
    """
    s, p, o = line.triple or ("", "", "")
    if not (s.startswith("_:") or o.startswith("_:")):
        return -1, (s, p, o)
    # Labels are written with escapes after what tells their file.
    s, o = (f"_:{blank_term(f'_:i.{x[2:]}')[4:]}" if x.startswith("_:") else x for x in (s, o))
    return line.file, (s, p, o)


def result_file_index(text: str) -> int:
    """File index of an N-Triples line in a result, by the prefix of its blank nodes; -1 without
    blank nodes.
    """
    found = _SCOPED.search(text)
    return int(found[1]) if found else -1


# --- reading --------------------------------------------------------------------------------------


def _read_bytes(named: str | FileSource) -> bytes:
    """Read the content of a file, decompressed. Raises: InputError."""
    source = classify_input(named)
    if not isinstance(source, FileSource):
        raise InputError(f"{source.name}: not a file", "Name a file that can be read.")
    if source.is_compressed or source.content is not None:
        with source.open() as stream:
            return stream.read()
    try:
        return source.path.read_bytes()
    except OSError as error:
        raise InputError(f"{source.name}: {error}", "Name a file that can be read.") from error


#: A line with its end: a bare carriage return is one.
_LINE_END: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def _split_lines(text: bytes) -> list[bytes]:
    """Split bytes into lines, line ends included."""
    if b"\r" in text:
        return _LINE_END.findall(text)
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _parse_line(file: int, number: int, raw: bytes, syntax: ox.RdfFormat) -> Line:
    """Parse one line of a file; a malformed line has the parser's message as ``problem``."""
    try:
        text = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        quad = _parse_quad(text, syntax) if text.strip() else None
        if quad:
            refuse_new_terms(quad)
    except (SyntaxError, ValueError, RefusedTermError) as error:
        return Line(file, number, raw, problem=_shorten_error(str(error)))
    return (
        Line(file, number, raw, _triple_of(quad), _graph_term(quad))
        if quad
        else Line(file, number, raw)
    )


def _shorten_error(said: str) -> str:
    """Remove the parser's line number from an error message.

    >>> _shorten_error("Parser error at line 1 between columns 1 and 20: Invalid IRI code point ' ' (line 1)")
    "Invalid IRI code point ' ' (between columns 1 and 20)"
    """
    found = _PARSER_ERROR.fullmatch(said)
    if found is None:
        return said
    columns = _COLUMNS.fullmatch(found[1])
    return f"{found[2]} ({columns[1]})" if columns else found[2]


def _parse_quad(text: bytes, syntax: ox.RdfFormat) -> ox.Quad | None:
    """Parse a line to a quad; None for a blank or comment line."""
    return next(iter(ox.parse(input=text, format=syntax)), None)


def _triple_of(quad: ox.Quad) -> Triple:
    """Convert a quad to its triple of N-Triples terms, without the graph."""
    return str(quad.subject), str(quad.predicate), str(quad.object)


def _graph_term(quad: ox.Quad) -> str:
    """N-Quads term of a quad's graph; "" for the default graph."""
    return "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)


def _read_document(source: str | FileSource, file: int) -> list[Line]:
    """Read the triples of a document as lines. Raises: InputError."""
    statements, broken = read_statements(source)
    if broken:
        first = broken[0]
        raise InputError(
            f"{first.source}, line {first.line}: {first.message}",
            "Mend the file: no line of it can be told from the others.",
        )
    renamed = _blank_node_renamer()
    return [
        replace(_make_statement_line(file, number, x, renamed), source_line=x.line)
        for number, x in enumerate(statements, 1)
    ]


def _read_table(source: str | TableSource, file: int) -> tuple[list[Line], tuple[Leftover, ...]]:
    """Read the rows of a table; broken rows become malformed lines.

    Tables of a Spark session have no order, so their rows are sorted by text. Broken rows of a
    joined table have the row number `NO_ROW`.
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
    renamed = _blank_node_renamer()
    if isinstance(source, TableSource) and source.mapping is not None:
        # A row is several lines, each with a number of its own.
        joined = [x for x in rows if isinstance(x, Leftover) and x.source != source.name]
        own = sorted(
            (x for x in rows if not isinstance(x, Leftover) or x.source == source.name),
            key=lambda x: x.line,
        )
        lines = [
            replace(
                _make_row_line(file, x, renamed),
                number=i,
                row=x.line,
                column=x.column if isinstance(x, Statement) else "",
            )
            for i, x in enumerate(own, 1)
        ]
        for i, x in enumerate(joined, len(lines) + 1):
            line = _make_row_line(file, x, renamed)
            lines.append(
                replace(
                    line,
                    number=i,
                    problem=f"{x.source}:{x.line}: {line.problem}",
                    unordered_row=NO_ROW,
                )
            )
        return lines, told
    if isinstance(source, TableSource) and source.kind in (TableKind.SPARK, TableKind.ARROW):
        # By their own text, then by the key of their row in the source.
        rows.sort(key=lambda x: (x.text, x.key if isinstance(x, Statement) else x.hint))
        return [
            replace(_make_row_line(file, x, renamed), number=i, unordered_row=x.line)
            for i, x in enumerate(rows, 1)
        ], told
    return [_make_row_line(file, x, renamed) for x in sorted(rows, key=lambda x: x.line)], told


def _make_row_line(file: int, x: Statement | Leftover, renamed: Callable[[str], str]) -> Line:
    """Make the line of a statement in a table; the leftover of a broken row becomes a malformed
    line.
    """
    if isinstance(x, Statement):
        return _make_statement_line(file, x.line, x, renamed)
    key = f" ({x.hint})" if x.hint else ""
    return Line(
        file, x.line, f"? {x.text.removeprefix('? ')}\n".encode(), problem=f"{x.message}{key}"
    )


def _make_statement_line(
    file: int, number: int, x: Statement, renamed: Callable[[str], str]
) -> Line:
    """Make the N-Quads line of a statement."""
    triple, graph = (renamed(x.subject), x.predicate, renamed(x.object)), renamed(x.graph)
    text = " ".join(part for part in (*triple, graph, ".\n") if part)
    return Line(file, number, text.encode(), triple, graph)


def _blank_node_renamer() -> Callable[[str], str]:
    """Make a function that renames blank nodes in order of first use, since parsers choose some
    names at random.
    """
    met: dict[str, str] = {}
    return lambda term: (
        met.setdefault(term, f"_:b{len(met) + 1}") if term.startswith("_:") else term
    )

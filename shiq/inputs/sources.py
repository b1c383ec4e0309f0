"""Inputs: recognise what an input is and its format, and open it, with clear errors.

A source is a path, an object of rdflib, owlready2 or pyoxigraph, or a value of shiq. Objects are
recognised by modules that are loaded already, so that nothing heavy is imported for a path. Files
are read completely or refused: a broken archive is noticed before its contents are used.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from shiq.errors import InputError, UsageError
from shiq.inputs.compression import (
    MAGIC_BYTES,
    SUFFIXES,
    BrokenArchiveError,
    Compression,
    compression_of,
    decompress,
)
from shiq.inputs.folders import DELTA_LOG, files_below, is_parquet
from shiq.inputs.formats import FORMAT_NAMES, Format, recognise_format
from shiq.inputs.limits import HARMLESS_BYTES, read_limits
from shiq.inputs.reading import Reading
from shiq.model import TBox
from shiq.model.abox import ABox
from shiq.remote.place import is_address, is_endpoint

if TYPE_CHECKING:
    from shiq.rdf.source_ranges import TransferredRange
    from shiq.rml.tables import TableMapping

#: Gives the parts of a source, in order, as they were parsed away from this process.
Parts: TypeAlias = "Callable[[], Iterable[TransferredRange]]"

HEAD_BYTES = 1 << 16
#: What the name of a table begins with that a session of Spark's knows.
TABLE = "table:"
#: The name of standard input.
STDIN = "-"
_standard_input: FileSource | None = None


@dataclass(frozen=True)
class FileSource:
    """An input file with its format and compression.

    name: path as the caller wrote it
    content: of a file that cannot be read twice
    max_bytes: size limit of the unpacked file; 0: no limit
    address: of the remote file that ``path`` is a copy of
    version: of what was read as of one moment, for messages
    parts: its lines, if these are parsed elsewhere
    """

    name: str
    path: Path
    format: Format
    packing: Compression | None = None
    content: bytes | None = None  # of what cannot be read twice, such as a pipe
    max_bytes: int = 0
    address: str = ""  # of what the path is a copy of
    version: str = ""
    parts: Parts | None = None

    @property
    def is_compressed(self) -> bool:
        """Whether the file is an archive of a known compression format."""
        return self.packing is not None

    @property
    def iri(self) -> str:
        """Base IRI of the file, for relative references in it."""
        return self.address or self.path.absolute().as_uri()

    def open(self) -> BinaryIO:
        """Open the decompressed bytes; errors while reading become `InputError` too. Raises:
        InputError.
        """
        return io.BufferedReader(_LimitedReader(self), HEAD_BYTES)

    def read_head(self) -> bytes:
        """Read the first bytes, decompressed. Raises: InputError."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def read(self) -> bytes:
        """Read the complete file. Raises: InputError, also if it exceeds the limit for a document
        (`shiq.inputs.limits`).
        """
        with replace(self, max_bytes=self.max_bytes or read_limits().document).open() as stream:
            return stream.read()


@dataclass(frozen=True)
class TextInput:
    """A document in memory, as an input.

    format: ntriples, nquads, turtle, trig, rdfxml, jsonld, owlxml or functional
    name: for messages
    """

    text: str | bytes
    format: str = "turtle"
    name: str = "text"


class ObjectKind(Enum):
    """Kinds of inputs in memory."""

    RDFLIB = "rdflib graph"
    OWLREADY = "owlready2 object"
    PYOXIGRAPH = "pyoxigraph store"
    TBOX = "TBox"
    ABOX = "ABox"
    READING = "Reading"


@dataclass(frozen=True, eq=False)
class ObjectSource:
    """A graph, ontology or ABox in memory, as an input."""

    name: str
    kind: ObjectKind
    value: object


class TableKind(Enum):
    """Kinds of tables: Parquet, Delta, CSV, DataFrames, …."""

    PARQUET = "Parquet"
    DELTA = "Delta table"
    CSV = "CSV"
    TSV = "TSV"
    JSON_LINES = "JSON lines"
    ARROW = "Arrow table"
    PANDAS = "pandas DataFrame"
    SPARK = "DataFrame"


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table as an input: columns s, p, o [, graph, key], or any columns with a mapping.

    version: of the table, for evidence
    mapping: gives the meaning of rows that are no triples
    has_bare_terms: whether terms may lack the syntax of N-Triples
    parts: its rows, if these are parsed elsewhere
    """

    name: str
    kind: TableKind
    value: Any
    version: str = ""
    mapping: TableMapping | None = None
    has_bare_terms: bool = False
    parts: Parts | None = None

    @property
    def has_ntriples_terms(self) -> bool:
        """Whether its rows are triples whose terms are in N-Triples syntax."""
        return self.mapping is None and not self.has_bare_terms

    @property
    def is_read_row_by_row(self) -> bool:
        """Whether the triples of a row depend on that row alone: rows of triples, or a mapping
        without joins.
        """
        return self.has_ntriples_terms if self.mapping is None else self.mapping.is_without_joins

    def open(self) -> BinaryIO:
        """Open the decompressed bytes of a table that is a text file. Raises: InputError."""
        source = _check_file(self.name, self.value)
        if source.read_head().startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{self.name} is written in UTF-16", "Convert it to UTF-8.")
        return source.open()


Source = FileSource | ObjectSource | TableSource


class ArrowStream(Protocol):
    """Protocol of tables that give Arrow batches: pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class SparkFrame(Protocol):
    """Protocol of a Spark DataFrame."""

    def toLocalIterator(self, prefetchPartitions: bool = ...) -> Iterator[Any]:
        """Iterate over the rows on the driver, one partition at a time."""


class ReadableFile(Protocol):
    """Protocol of an open file."""

    def read(self) -> str | bytes:
        """Read some of the file, or all of it."""


#: One input, or a list of them, as the public calls take it.
Given: TypeAlias = (
    "str | os.PathLike[str] | TextInput | TBox | ABox | Reading | ArrowStream | SparkFrame | ReadableFile"
    " | Iterable[Any] | FileSource | ObjectSource | TableSource | None"
)

_CLASSES = (
    ("rdflib.graph", "Graph", ObjectKind.RDFLIB),
    ("owlready2.namespace", "Ontology", ObjectKind.OWLREADY),
    ("owlready2.namespace", "World", ObjectKind.OWLREADY),
    ("pyoxigraph", "Store", ObjectKind.PYOXIGRAPH),
    ("pyoxigraph", "Dataset", ObjectKind.PYOXIGRAPH),
)
_TABLES = (
    ("pyspark.sql.dataframe", "DataFrame", TableKind.SPARK),
    ("pandas", "DataFrame", TableKind.PANDAS),
    ("pyarrow", "Table", TableKind.ARROW),
    ("pyarrow", "RecordBatch", TableKind.ARROW),
    ("pyarrow.dataset", "Dataset", TableKind.ARROW),
)
_OWN = ((TBox, ObjectKind.TBOX), (ABox, ObjectKind.ABOX), (Reading, ObjectKind.READING))


def classify_input(value: object) -> Source:
    """Classify an input ``value`` as a file, document, graph or table.

    Raises: InputError, naming the file, if it is missing, unreadable or of no known format;
        UsageError for a value that is no source.
    """
    if isinstance(value, Source):
        return value
    if isinstance(value, TextInput):
        return _source_of_text(value)
    if isinstance(value, (str, os.PathLike)):
        name = os.fsdecode(os.fspath(value))
        if not name:
            raise UsageError("an input has an empty name", "Give the path of a file.")
        if is_endpoint(name):
            # Loaded where something is far away.
            from shiq.remote.inputs import endpoint_copy

            copy = endpoint_copy(name)
            return FileSource(name, copy.path, Format.NTRIPLES, address=name, version=copy.note)
        if "\n" in name:
            raise UsageError(
                "an input is a text where a path is expected",
                'Give it as shiq.TextInput(text, "turtle"), or as the format is called.',
            )
        if name == STDIN and _standard_input is not None:
            return _standard_input
        if name.startswith(TABLE):
            raise UsageError(
                f"{name} is a table that a session of Spark's knows, and Spark is not asked here",
                "Check or index it with --engine spark (a file of that name: give its folder too, as ./NAME).",
            )
        path = local_path_of(name)
        kind_of_table = _table_kind_at(path) or text_table_kind(name)
        return (
            _source_of_file(name, path)
            if kind_of_table is None
            else TableSource(name, kind_of_table, path)
        )
    for cls, kind in _OWN:
        if isinstance(value, cls):
            return ObjectSource(kind.value, kind, value)
    for module, name, kind in _CLASSES:
        loaded = getattr(sys.modules.get(module), name, None)
        if isinstance(loaded, type) and isinstance(value, loaded):
            return ObjectSource(kind.value, kind, value)
    for module, name, kind_of_table in _TABLES:
        loaded = getattr(sys.modules.get(module), name, None)
        if isinstance(loaded, type) and isinstance(value, loaded):
            return TableSource(kind_of_table.value, kind_of_table, value)
    if type(value).__name__ == "LazyFrame" and hasattr(value, "collect"):
        value = value.collect()
    if hasattr(value, "read") and hasattr(value, "close"):
        return _source_of_stream(value)
    if hasattr(value, "__arrow_c_stream__"):
        return TableSource(type(value).__name__, TableKind.ARROW, value)
    raise UsageError(
        f"a {type(value).__module__}.{type(value).__qualname__} is not a source of triples",
        "Give a path, an open file, shiq.TextInput, a list of triples, a table (Arrow, pandas, polars, Spark), an rdflib Graph, "
        "an owlready2 Ontology or World, a pyoxigraph Store, or our own TBox, ABox or Reading.",
    )


def are_triples(values: Sequence[object]) -> bool:
    """Decide whether a list holds triples or quads: of terms, or N-Triples texts."""
    return bool(values) and all(
        (isinstance(value, tuple) and len(value) in (3, 4))
        or type(value).__name__ in ("Triple", "Quad")
        for value in values
    )


def triples_source(values: Sequence[Any]) -> object:
    """Make one source of a list of triples or quads, of terms or texts. Raises: UsageError."""
    first, name = values[0], "list of triples"
    if not isinstance(first, tuple):
        import pyoxigraph as ox

        quads = [
            value if isinstance(value, ox.Quad) else ox.Quad(*value)  # a Triple gives its terms
            for value in values
        ]
        return ObjectSource(name, ObjectKind.PYOXIGRAPH, ox.Dataset(quads))
    width = len(first)
    if any(len(value) != width for value in values):
        raise UsageError("a list has triples and quads", "Give two lists.")
    if all(type(term) is str for value in values for term in value):
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

        names = ("s", "p", "o", "graph")[:width]
        columns = {n: [value[i] for value in values] for i, n in enumerate(names)}
        return TableSource(name, TableKind.ARROW, pa.table(columns))
    rdflib = sys.modules.get("rdflib")
    if width == 3 and rdflib is not None:
        graph = rdflib.Graph()
        try:
            for value in values:
                graph.add(value)
        except AssertionError as error:
            raise _not_terms_error(f": {error}") from error
        return ObjectSource(name, ObjectKind.RDFLIB, graph)
    raise _not_terms_error()


def _not_terms_error(why: str = "") -> UsageError:
    """Error: a list of triples has an element that is no triple of terms."""
    return UsageError(
        f"a list of triples holds what is no term{why}",
        "Give terms of rdflib or pyoxigraph, or N-Triples texts: '<urn:a>', '\"x\"'.",
    )


def table_kind(name: str) -> TableKind | None:
    """Return the kind of table at the path ``name``: Delta, or Parquet (also a folder); else None.

    Raises: InputError for a folder that cannot be read as one table.
    """
    return _table_kind_at(local_path_of(name))


def _table_kind_at(path: Path) -> TableKind | None:
    """Return the kind of the table at a path; None if it is none or cannot be read."""
    try:
        if path.is_dir():
            if (path / DELTA_LOG).is_dir():
                return TableKind.DELTA
            return (
                TableKind.PARQUET
                if any(is_data and is_parquet(file) for file, is_data in files_below(path))
                else None
            )
        if not path.is_file():
            return None
        with open(path, "rb") as stream:
            return TableKind.PARQUET if stream.read(4) == b"PAR1" else None
    except (OSError, ValueError):
        return None  # said by whoever opens it


# --- files ---------------------------------------------------------------------------------------


def register_standard_input(path: Path, format: Format) -> None:
    """Make the input name ``-`` refer to the file ``path``, to which standard input was copied."""
    global _standard_input  # noqa: PLW0603 - a process has one
    with open(path, "rb") as stream:
        packing = compression_of(stream.read(MAGIC_BYTES))
    _standard_input = FileSource(
        STDIN, path, format, packing, address=Path(STDIN).absolute().as_uri()
    )


#: Tables in text, by the end of the name.
_TEXT_TABLES = {
    ".csv": TableKind.CSV,
    ".tsv": TableKind.TSV,
    ".jsonl": TableKind.JSON_LINES,
    ".ndjson": TableKind.JSON_LINES,
}


def text_table_kind(name: str) -> TableKind | None:
    """Return the kind of text table that the extension of ``name`` denotes, or None."""
    return _TEXT_TABLES.get(_format_extension(Path(name)))


def _format_extension(path: Path) -> str:
    """Return the extension of a file name that denotes its format, without that of a compression."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in SUFFIXES else suffix


def _source_of_text(value: TextInput) -> FileSource:
    """Classify a document in memory. Raises: UsageError for an unknown format."""
    if value.format not in FORMAT_NAMES:
        raise UsageError(
            f"unknown format {value.format!r}", f"Known: {', '.join(sorted(FORMAT_NAMES))}."
        )
    content = value.text.encode("utf-8") if isinstance(value.text, str) else value.text
    return FileSource(
        value.name, Path(value.name), FORMAT_NAMES[value.format], compression_of(content), content
    )


def _source_of_stream(value: Any) -> FileSource:
    """Classify the rest of an open file by its name or first bytes; the position in it stays.

    Raises: InputError for a stream that is at its end and cannot go back.
    """
    name = value.name if isinstance(getattr(value, "name", None), str) else "file object"
    start = value.tell() if (can_seek := value.seekable()) else 0
    content = value.read()
    content = content.encode("utf-8") if isinstance(content, str) else bytes(content)
    if can_seek:
        value.seek(start)
    elif not content:
        raise InputError(f"{name} gave no byte", "A stream is read once: give it anew, or a path.")
    source = FileSource(name, Path(name), Format.NTRIPLES, compression_of(content), content)
    return replace(
        source, format=recognise_format(name, _format_extension(source.path), source.read_head())
    )


def _source_of_file(text: str, path: Path) -> FileSource:
    """Recognise the format of the file at ``path``, called ``text`` in messages. Raises:
    InputError.
    """
    source = _check_file(text, path)
    return replace(
        source, format=recognise_format(text, _format_extension(source.path), source.read_head())
    )


def _check_file(text: str, path: Path) -> FileSource:
    """Check that a file can be read, and recognise its compression. Raises: InputError."""
    content = _check_readable(text, path)
    try:
        with _open_bytes(path, content) as stream:
            start = stream.read(MAGIC_BYTES)
    except OSError as error:
        raise _explain_read_error(text, error) from error
    packing = compression_of(start)
    suffix = path.suffix.lower()
    expected = SUFFIXES.get(suffix)
    if expected is not None and packing is not expected:
        article = "an" if expected is Compression.XZ else "a"
        raise InputError(
            f"{text} is not {article} {expected.value} file, though its name says so",
            "Fetch it again, or rename it if it is not packed.",
        )
    return FileSource(
        text, path, Format.NTRIPLES, packing, content, address=text if is_address(text) else ""
    )


def local_path_of(text: str) -> Path:
    """Resolve a path, file: or remote address to a local path; a remote file is copied.

    Raises: InputError for any other address, and for a missing file.
    """
    if text == STDIN and _standard_input is not None:
        return _standard_input.path
    if is_address(text):
        # Loaded where something is far away.
        from shiq.remote.inputs import local_copy

        return local_copy(text)
    if text.lower().startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    if re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
        raise InputError(
            f"{text} is an address, and nothing is fetched",
            "Download the file and give its path. An endpoint is sparql:http://… (docs/INPUTS.md).",
        )
    return Path(text)


def _check_readable(name: str, path: Path) -> bytes | None:
    """Check that ``path`` can be read; return the content if it can be read only once (a pipe)."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{name} is a directory without Parquet files", "Give the files in it one by one."
            )
        return None if stat.S_ISREG(mode) else path.read_bytes()
    except (OSError, ValueError) as error:
        raise _explain_read_error(name, error) from error


def _open_bytes(path: Path, content: bytes | None) -> BinaryIO:
    """Open a file, or its content if that was read already."""
    return open(path, "rb") if content is None else io.BytesIO(content)


def _explain_read_error(name: str, error: Exception) -> InputError:
    """Turn an operating system's error into an InputError with a remedy."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{name} does not exist", "Check the path.")
    if isinstance(error, PermissionError):
        return InputError(f"{name} may not be read", "Check its permissions.")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{name} cannot be read: {reason}", "Check the file and the disk it is on.")


class _LimitedReader(io.RawIOBase):
    """Stream of a file's decompressed bytes that enforces the size limits.

    A byte order mark of UTF-8 is dropped, except for XML, where it overrides the encoding that the
    document declares.
    """

    def __init__(self, source: FileSource) -> None:
        self._name, self._packing, self._most = source.name, source.packing, source.max_bytes
        self._limits = read_limits()
        try:
            raw = _open_bytes(source.path, source.content)
        except OSError as error:
            raise _explain_read_error(source.name, error) from error
        self._raw, self._given = raw, 0
        try:
            self._stream = decompress(raw, source.packing)
        except BrokenArchiveError as error:
            raw.close()
            raise InputError(
                f"{source.name} cannot be unpacked: {error}", "Unpack it first."
            ) from error
        self._start: bytes | None = b"" if source.format in (Format.RDFXML, Format.OWLXML) else None

    def readable(self) -> bool:
        """Return True, as the stream interface asks."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill ``buffer`` with decompressed bytes, and return their number. Raises: InputError."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._read_unpacked(len(view))
        if self._start is None:
            self._start = b""
            while 0 < len(data) < 3 and (more := self._read_unpacked(3 - len(data))):
                data += more
            data = data.removeprefix(b"\xef\xbb\xbf") or (
                self._read_unpacked(len(view)) if data else b""
            )
        view[: len(data)] = data
        return len(data)

    def _read_unpacked(self, size: int) -> bytes:
        """Read decompressed bytes. Raises: InputError."""
        try:
            data = self._stream.read(size)
        except BrokenArchiveError as error:
            assert self._packing is not None
            raise InputError(
                f"{self._name} is a broken {self._packing.value} archive: {error}",
                "Fetch or pack it again; nothing of it was used.",
            ) from error
        except OSError as error:
            raise _explain_read_error(self._name, error) from error
        self._given += len(data)
        self._check_size()
        return data

    def _check_size(self) -> None:
        """Check the bytes read so far against the size limits. Raises: InputError."""
        if self._most and self._given > self._most:
            raise InputError(
                f"{self._name} has over {self._most:,} bytes: too much for a document that is held as a whole, or imported",
                "Convert data to N-Triples or N-Quads and give it as a source of its own; or raise SHIQ_MAX_DOCUMENT.",
            )
        if self._packing is not None and self._given > HARMLESS_BYTES:
            if self._given > self._limits.ratio * max(1, self._raw.tell()):
                raise InputError(
                    f"{self._name} unpacks to over {self._limits.ratio} times its size: this may be an archive made to do harm",
                    "If it is not, unpack it yourself, or raise SHIQ_MAX_RATIO.",
                )

    def close(self) -> None:
        """Close the file and its decompressor."""
        if not self.closed:
            self._stream.close()
            self._raw.close()
        super().close()

"""Opening inputs: what a source is, its format, and clear errors for what is not what it should be.

A source is a path, an object of rdflib, owlready2 or pyoxigraph, or a value of our own. Objects are recognised by modules that
are loaded already, so that nothing heavy is imported for a path. Files are read whole or refused: a broken archive is noticed
before its contents are used.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import sys
import zlib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from shiq.abox import ABox
from shiq.errors import InputError, UsageError
from shiq.model import TBox
from shiq.reading import Reading

HEAD_BYTES = 1 << 16


class Format(Enum):
    """The syntaxes that files may have."""

    NTRIPLES = "N-Triples"
    TURTLE = "Turtle"
    RDFXML = "RDF/XML"
    FUNCTIONAL = "OWL 2 functional-style syntax"


@dataclass(frozen=True)
class FileSource:
    """A file whose format is known. ``name`` is the path as the caller wrote it, ``iri`` the base for relative references."""

    name: str
    path: Path
    format: Format
    compressed: bool
    content: bytes | None = None  # of what cannot be read twice, such as a pipe

    @property
    def iri(self) -> str:
        return self.path.absolute().as_uri()

    def open(self) -> BinaryIO:
        """The bytes, unpacked; errors while reading become `InputError`. Raises: InputError."""
        return io.BufferedReader(_Checked(self), HEAD_BYTES)

    def read(self) -> bytes:
        with self.open() as stream:
            return stream.read()


class ObjectKind(Enum):
    RDFLIB = "rdflib graph"
    OWLREADY = "owlready2 object"
    PYOXIGRAPH = "pyoxigraph store"
    TBOX = "TBox"
    ABOX = "ABox"
    READING = "Reading"


@dataclass(frozen=True, eq=False)
class ObjectSource:
    """A value in memory."""

    name: str
    kind: ObjectKind
    value: object


Source = FileSource | ObjectSource

_REMEDY = "Give N-Triples, Turtle, RDF/XML (each also as .gz) or OWL 2 functional-style syntax."
_CLASSES = (
    ("rdflib.graph", "Graph", ObjectKind.RDFLIB),
    ("owlready2.namespace", "Ontology", ObjectKind.OWLREADY),
    ("owlready2.namespace", "World", ObjectKind.OWLREADY),
    ("pyoxigraph", "Store", ObjectKind.PYOXIGRAPH),
    ("pyoxigraph", "Dataset", ObjectKind.PYOXIGRAPH),
)
_OWN = ((TBox, ObjectKind.TBOX), (ABox, ObjectKind.ABOX), (Reading, ObjectKind.READING))


def source_of(value: object) -> Source:
    """What ``value`` is.

    Raises: InputError, naming the file, for one that is missing, unreadable or in no format we read; UsageError for a value
    that is no source at all.
    """
    if isinstance(value, (str, os.PathLike)):
        return _file(os.fspath(value))
    for cls, kind in _OWN:
        if isinstance(value, cls):
            return ObjectSource(kind.value, kind, value)
    for module, name, kind in _CLASSES:
        loaded = getattr(sys.modules.get(module), name, None)
        if isinstance(loaded, type) and isinstance(value, loaded):
            return ObjectSource(kind.value, kind, value)
    raise UsageError(
        f"a {type(value).__module__}.{type(value).__qualname__} is not a source of triples",
        "Give a path, an rdflib Graph, an owlready2 Ontology or World, a pyoxigraph Store, or our own TBox, ABox or Reading.",
    )


# --- files ---------------------------------------------------------------------------------------


def _file(name: str | bytes) -> FileSource:
    text = os.fsdecode(name)
    path = _path(text)
    content = _special(text, path)
    try:
        with _raw(path, content) as stream:
            start = stream.read(6)
    except OSError as error:
        raise _unreadable(text, error) from error
    compressed = start.startswith(b"\x1f\x8b")
    if not compressed and path.suffix.lower() == ".gz":
        raise InputError(
            f"{text} is not a gzip file, though its name says so", "Fetch it again, or rename it if it is not packed."
        )
    source = FileSource(text, path, Format.NTRIPLES, compressed, content)
    with source.open() as stream:
        head = stream.read(HEAD_BYTES)
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return FileSource(text, path, sniff(text, plain.suffix.lower(), head), compressed, content)


def _path(text: str) -> Path:
    if text.lower().startswith("file:"):
        return Path(unquote(urlsplit(text).path))
    if re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
        raise InputError(f"{text} is an address, and nothing is fetched", "Download the file and give its path.")
    return Path(text)


def _special(name: str, path: Path) -> bytes | None:
    """Checks that ``path`` can be read; the content of what can be read only once."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{name} is a directory", "Give the files in it one by one.")
        return None if stat.S_ISREG(mode) else path.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error


def _raw(path: Path, content: bytes | None) -> BinaryIO:
    return open(path, "rb") if content is None else io.BytesIO(content)


def _unreadable(name: str, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{name} does not exist", "Check the path.")
    if isinstance(error, PermissionError):
        return InputError(f"{name} may not be read", "Check its permissions.")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{name} cannot be read: {reason}", "Check the file and the disk it is on.")


class _Checked(io.RawIOBase):
    """The unpacked bytes of a file, without a byte order mark of UTF-8."""

    def __init__(self, source: FileSource) -> None:
        self._name = source.name
        try:
            raw = _raw(source.path, source.content)
        except OSError as error:
            raise _unreadable(source.name, error) from error
        self._raw = raw
        self._stream: BinaryIO = gzip.GzipFile(fileobj=raw) if source.compressed else raw  # type: ignore[assignment]
        self._start: bytes | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._read(len(view))
        if self._start is None:
            self._start = b""
            while 0 < len(data) < 3 and (more := self._read(3 - len(data))):
                data += more
            data = data.removeprefix(b"\xef\xbb\xbf") or (self._read(len(view)) if data else b"")
        view[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = "it ends too early" if isinstance(error, EOFError) else str(error)
            raise InputError(
                f"{self._name} is a broken gzip archive: {reason}", "Fetch or pack it again; nothing of it was used."
            ) from error
        except OSError as error:
            raise _unreadable(self._name, error) from error

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._raw.close()
        super().close()


# --- formats -------------------------------------------------------------------------------------

_PACKED = {
    b"PK\x03\x04": "a zip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x1f\x8b": "a gzip archive inside a gzip archive",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
}
_ELEMENT = re.compile(rb"<(?:\?xml\b|!DOCTYPE\b|!--|[A-Za-z_][\w.-]*(?::[\w.-]+)?\s+[A-Za-z_][\w:.-]*\s*=\s*[\"'])")
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_JSON = re.compile(rb"\{|\[\s*[\{\"]")
_FUNCTIONAL = re.compile(rb"(?:Prefix|Ontology)\s*\(")
_MANCHESTER = re.compile(rb"(?:Prefix|Ontology)\s*:|format-version:")
_DIRECTIVE = re.compile(rb"^[ \t]*(?:@prefix|@base|prefix|base)\s", re.IGNORECASE | re.MULTILINE)
_TRIPLE = re.compile(rb"^[ \t]*(?:<[^>\n]*>|_:\S+)[ \t]*<[^>\n]*>.*\.[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_COMMENTS = re.compile(rb"(?:\s+|#[^\r\n]*)*")
_EXTENSIONS = {
    ".nt": Format.NTRIPLES,
    ".ntriples": Format.NTRIPLES,
    ".ttl": Format.TURTLE,
    ".turtle": Format.TURTLE,
    ".n3": Format.TURTLE,
    ".ofn": Format.FUNCTIONAL,
    ".fss": Format.FUNCTIONAL,
}
_UNSUPPORTED = {
    ".nq": "N-Quads",
    ".trig": "TriG",
    ".jsonld": "JSON-LD",
    ".json": "JSON",
    ".omn": "Manchester syntax",
    ".owx": "OWL/XML",
    ".obo": "OBO",
    ".hdt": "HDT",
}


def sniff(name: str, extension: str, head: bytes) -> Format:
    """The format of a file by its first bytes, and by its extension where these leave it open.

    Raises: InputError for what is certainly something else, with what it seems to be.
    """
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            raise InputError(f"{name} is {what}", "Unpack or convert it first. " + _REMEDY)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        if _ELEMENT.match(head.decode("utf-16", "replace").encode("utf-8", "replace").lstrip()):
            return Format.RDFXML
        raise InputError(f"{name} is written in UTF-16", "Convert it to UTF-8.")
    if head[:1024].count(b"\0") * 50 > len(head[:1024]):
        raise InputError(f"{name} is a binary file", _REMEDY)
    body = head[_COMMENTS.match(head).end() :]  # type: ignore[union-attr]
    if _HTML.match(body):
        raise InputError(f"{name} is an HTML page, not an ontology or data", "Fetch the file itself, not the page about it.")
    if _ELEMENT.match(body):
        return Format.RDFXML
    if _JSON.match(body):
        raise InputError(f"{name} is JSON", "Convert it to N-Triples or Turtle first.")
    if _FUNCTIONAL.match(body):
        return Format.FUNCTIONAL
    if extension in _UNSUPPORTED:
        raise InputError(f"{name} is {_UNSUPPORTED[extension]} by its name, which is not read here", _REMEDY)
    if _MANCHESTER.match(body):
        raise InputError(f"{name} is in Manchester or OBO syntax, which is not read here", _REMEDY)
    if _DIRECTIVE.search(head):
        return Format.TURTLE
    if extension in _EXTENSIONS:
        return _EXTENSIONS[extension]
    if _TRIPLE.search(head):
        return Format.NTRIPLES
    raise InputError(f"{name} is {'empty' if not body else 'in no format that is read here'}", _REMEDY)

"""Reading triples inside a Spark task: a byte range of an N-Triples file, or rows of a table, into rows of a batch.

What a task finds is the same as what `shiq.rdf` finds in the whole file: lines are located within the file, broken ones are
kept, and names are judged by the vocabulary of the TBox. What cannot be judged line by line (OWL vocabulary among assertions,
which speaks of other triples) is only reported, for the driver to read the sources as a whole.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from jobs.spark.rows import CLASS, DATA, ROLE, batch_of
from jobs.spark.worker import StoreKey, opened_store
from shiq.errors import InputError
from shiq.formats import Format
from shiq.model import Literal, Signature
from shiq.model_json import encode
from shiq.packed import Packing
from shiq.rdf.bulk import Bulk, column, graph_rows, individuals_of, resolve
from shiq.rdf.ill_typed import take_ill_typed
from shiq.rdf.lines import read_lines
from shiq.rdf.rejects import Rejects
from shiq.rdf.tables import line_of, name_problems
from shiq.rdf.triples import Triples
from shiq.sources import FileSource
from shiq.verdict import Leftover

#: Kinds of rows that are no assertions: what was found, as JSON in ``o``.
REPORT, LEFTOVER, FAILURE = "report", "leftover", "failure"


@dataclass(frozen=True)
class Split:
    """Bytes ``start`` … ``end`` of a file (of all of it if it has a ``packing``): the lines that begin there. ``scope`` begins
    the names of its blank nodes; ``size`` is what the driver saw of it; ``quads``: N-Quads instead of N-Triples."""

    number: int
    name: str
    path: str
    scope: str
    start: int
    end: int
    size: int
    packing: Packing | None = None
    quads: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """What names mean, and whether ill-typed data assertions are set ``aside``."""

    signature: Signature
    aside: bool = False


@dataclass
class Report:
    """What one task met: how many lines (to locate those of later splits), triples, broken lines and of these such as do not even
    look like triples; the ledger; the names used; whether there is OWL vocabulary that needs the ``whole``."""

    split: int
    lines: int = 0
    triples: int = 0
    rejected: int = 0
    unsure: int = 0
    whole: bool = False
    ledger: dict[str, int] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    object_properties: list[str] = field(default_factory=list)
    data_properties: list[str] = field(default_factory=list)
    rows: int = 0


# --- files ----------------------------------------------------------------------------------------


def read_split(split: Split, vocabulary: Vocabulary, store: StoreKey) -> Iterator[pa.RecordBatch]:
    """The rows of ``split``, its leftovers, and its report."""
    triples, rejects, report = Triples(), Rejects(split.name), Report(split.number)
    triples.begin(split.name)
    try:
        with _opened(split) as stream:
            counted = _Counted(stream)
            read_lines(cast(BinaryIO, counted), triples, split.scope, rejects, quads=split.quads, part=True)
            report.lines = counted.lines
    except (InputError, OSError) as error:
        told = error if isinstance(error, InputError) else InputError(f"{split.name} cannot be read: {error.strerror or error}")
        yield _messages(FAILURE, split.number, [{"message": told.message, "remedy": told.remedy}])
        return
    yield from _resolved(triples, rejects, report, vocabulary, store, None)


def _opened(split: Split) -> BinaryIO:
    """The bytes of ``split``. Raises: InputError, OSError."""
    if split.packing is not None:
        return FileSource(split.name, Path(split.path), Format.NTRIPLES, split.packing).open()
    file = open(split.path, "rb")  # noqa: SIM115 (closed with the part)
    size = file.seek(0, io.SEEK_END)
    if size != split.size:
        file.close()
        raise InputError(
            f"{split.name}: an executor sees {size} bytes of it, the driver saw {split.size}",
            "Put it where driver and executors share files, and do not write to it meanwhile.",
        )
    start, end = (_line_from(file, at, size) for at in (split.start, split.end))
    if start == 0:
        file.seek(0)
        start = 3 if file.read(3) == b"\xef\xbb\xbf" else 0
    return cast(BinaryIO, _Part(file, start, end))


def _line_from(file: BinaryIO, at: int, size: int) -> int:
    """Where the first line begins that begins at ``at`` or later."""
    if at <= 0 or at >= size:
        return min(max(at, 0), size)
    file.seek(at - 1)
    file.readline()
    return file.tell()


class _Part(io.RawIOBase):
    """The bytes ``start`` … ``end`` of ``file``."""

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self._file, self._left = file, max(0, end - start)
        file.seek(start)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


class _Counted:
    """A stream that counts the newlines that pass."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.lines = stream, 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.lines += data.count(b"\n")
        return data


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSource:
    """A table of triples; its ``scope`` begins the names of its blank nodes; ``before``: how many rows stand before those of
    each of its files, by path."""

    name: str
    scope: str
    number: int
    before: Mapping[str, int] = field(default_factory=dict)

    def numbers(self, batch: pa.RecordBatch) -> list[int]:
        """Of each row, its number in the whole table, 0 where that is unknown."""
        rows = [int(row or 0) for row in batch.column("row").to_pylist()]
        if not self.before:
            return rows
        files = batch.column("file").to_pylist()
        before = {file: self.before[unquote(urlsplit(file).path)] for file in set(files)}
        return [row + before[file] for row, file in zip(rows, files)]


def read_rows(
    batches: Iterator[pa.RecordBatch], source: TableSource, vocabulary: Vocabulary, store: StoreKey
) -> Iterator[pa.RecordBatch]:
    """The rows of a table with the columns s, p, o, graph (N-Triples terms), key, and row (its number in its file, 0 where that
    is unknown)."""
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("s", "p", "o", "graph", "key")]
        keys = ["" if key is None else str(key) for key in columns[4]]
        terms = list(zip(*columns[:4]))
        lines = [line_of(*row) for row in terms]
        triples, rejects, report = Triples(), Rejects(source.name), Report(source.number)
        triples.begin(source.name)
        data = "\n".join(lines).encode("utf-8", "surrogatepass")
        read_lines(io.BytesIO(data), triples, source.scope, rejects, quads=True, part=True)
        name_problems(rejects, terms)
        place = _Place(keys, source.numbers(batch))
        yield from _resolved(triples, rejects, report, vocabulary, store, place)


@dataclass(frozen=True)
class _Place:
    """Keys and numbers of the rows that stand in consecutive lines."""

    keys: Sequence[str]
    numbers: Sequence[int]

    def located(self, leftover: Leftover) -> Leftover:
        """``leftover`` with the row's number for its line, and its key told."""
        if not leftover.line:
            return leftover
        key = self.keys[leftover.line - 1]
        hint = "; ".join(x for x in (leftover.hint, f"row key {key}" if key else "") if x)
        return replace(leftover, line=self.numbers[leftover.line - 1], hint=hint)


# --- both -----------------------------------------------------------------------------------------


def _resolved(
    triples: Triples, rejects: Rejects, report: Report, vocabulary: Vocabulary, store: StoreKey, place: _Place | None
) -> Iterator[pa.RecordBatch]:
    report.triples, report.rejected, report.unsure = len(triples), rejects.total, rejects.unsure
    if len(graph_rows(triples)) or _types_entities(triples, vocabulary.signature):
        report.whole = True
        yield _messages(REPORT, report.split, [asdict(report)])
        return
    bulk = resolve(triples, vocabulary.signature, headers=(), nodes=(), individuals=lambda: (), counted=len(triples))
    if len(bulk.built_in):
        report.whole = True
        yield _messages(REPORT, report.split, [asdict(report)])
        return
    leftovers = [(0, x) for x in rejects.leftovers()] + [(1, x) for x in bulk.leftovers]
    if vocabulary.aside:
        leftovers += ((2, x) for x in _set_aside(triples, bulk))
    report.ledger = dict(Counter(bulk.ledger) + Counter({"leftover:malformed": rejects.total}))
    yield from _assertions(triples, bulk, report, store, place)
    told = [{"leftover": encode(place.located(x) if place else x), "order": order} for order, x in leftovers]
    if told:
        yield _messages(LEFTOVER, report.split, told)
    yield _messages(REPORT, report.split, [asdict(report)])


def _types_entities(triples: Triples, known: Signature) -> bool:
    """Whether a class or property of the TBox is also used as an individual: then what documents it has to be seen as a whole."""
    entities = known.classes | known.object_properties | known.data_properties | known.annotation_properties | known.datatypes
    ids = np.array([i for i in (triples.ids.get(name) for name in entities) if i is not None], np.int64)
    if not len(ids) or not np.isin(column(triples.subject), ids).any():
        return False
    return not entities.isdisjoint(individuals_of(triples))


def _set_aside(triples: Triples, bulk: Bulk) -> list[Leftover]:
    """Takes the ill-typed data assertions out."""
    rows = take_ill_typed(triples, bulk)
    return [triples.leftover("ill-typed", "an ill-typed literal was set aside", row) for row in rows]


def _assertions(triples: Triples, bulk: Bulk, report: Report, store: StoreKey, place: _Place | None) -> Iterator[pa.RecordBatch]:
    subjects, predicates, values = (column(c).astype(np.int64) for c in (triples.subject, triples.predicate, triples.object))
    texts = pa.array([t.lexical if isinstance(t, Literal) else t for t in triples.terms], pa.string())
    node = _nodes(
        triples,
        np.concatenate([subjects[bulk.classes], subjects[bulk.roles], values[bulk.roles], subjects[bulk.data]]),
        report,
        store,
    )
    lines = np.frombuffer(triples.line, np.uint32).astype(np.int64) if len(triples) else np.zeros(0, np.int64)
    keys = pa.array(place.keys, pa.string()) if place else None
    named: dict[str, Callable[[], Any]] = {
        CLASS: lambda: report.classes,
        ROLE: lambda: report.object_properties,
        DATA: lambda: report.data_properties,
    }
    for kind, rows in ((CLASS, bulk.classes), (ROLE, bulk.roles), (DATA, bulk.data)):
        if not len(rows):
            continue
        names = values[rows] if kind == CLASS else predicates[rows]
        named[kind]().extend(str(triples.terms[i]) for i in np.unique(names).tolist())
        columns: dict[str, Any] = {
            "kind": pa.repeat(pa.scalar(kind, pa.string()), len(rows)),
            "s": texts.take(pa.array(subjects[rows])),
            "p": texts.take(pa.array(names)),
            "s_node": node[subjects[rows]],
            "split": np.full(len(rows), report.split, np.int64),
            "line": np.array(place.numbers, np.int64)[lines[rows] - 1] if place else lines[rows],
        }
        if kind == ROLE:
            columns |= {"o": texts.take(pa.array(values[rows])), "o_node": node[values[rows]]}
        if kind == DATA:
            literals = cast("list[Literal]", [triples.terms[i] for i in values[rows].tolist()])
            columns |= {
                "o": texts.take(pa.array(values[rows])),
                "datatype": [sys.intern(x.datatype) for x in literals],
                "language": [x.language for x in literals],
            }
        if keys is not None:
            columns["key"] = keys.take(pa.array(lines[rows] - 1))
        if len(triples.graph):
            columns["graph"] = [triples.graph_of(row) for row in rows.tolist()]
        yield batch_of(columns, len(rows))


def _nodes(triples: Triples, ids: Any, report: Report, store: StoreKey) -> Any:
    """By term: its node in the store, -1 for a fresh individual."""
    base = opened_store(store)
    used = np.unique(ids)
    before = base.reads.rows
    node = np.full(len(triples.terms), -1, np.int64)
    if len(used):
        node[used] = base.nodes_of([str(triples.terms[i]) for i in used.tolist()])
    report.rows = base.reads.rows - before
    return node


def _messages(kind: str, split: int, values: list[dict[str, Any]]) -> pa.RecordBatch:
    columns = {
        "kind": [kind] * len(values),
        "o": [json.dumps(value, ensure_ascii=True) for value in values],
        "split": [split] * len(values),
    }
    return batch_of(columns, len(values))

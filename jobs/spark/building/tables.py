"""From the numbered rows of chunks to the sorted table files of a store: one task for each range of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.chunks import folder_of
from jobs.spark.building.dictionary import Dictionary
from jobs.spark.building.files import Scratch, distinct_rows, joined, load, run, save, slices
from jobs.store.files import DataFile
from jobs.store.numbering import BLOCK, GAP, GOOD, NEAR, spread
from jobs.store.place import Place
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY, write_part
from shiq.columns.arrays import Columns, Ints, distinct, is_in, least_by, row_codes
from shiq.columns.rows import term_hash

#: Hashes are cut into as many intervals as there are ranges of ids.
HASHES = 1 << 64


@dataclass(frozen=True)
class Ranges:
    """The ids of a build, in ranges of ``width`` ranks. ``build`` is part of the names of its files; ``near``: see
    `jobs.store.numbering`; ``renumbered``: whether ranks are not those of the dictionary (`jobs.spark.building.clustering`)."""

    scratch: Scratch
    root: Scratch
    build: str
    chunks: int
    nodes: int
    width: int
    near: int = NEAR
    renumbered: bool = False

    def __len__(self) -> int:
        return max(1, -(-self.nodes // self.width))

    def bounds(self, i: int) -> tuple[int, int]:
        return i * self.width, min((i + 1) * self.width, self.nodes)

    def folder(self, i: int) -> Scratch:
        return self.scratch / self.order / i

    @property
    def place(self) -> Place:
        """Where the store lies."""
        return self.scratch.place

    @property
    def order(self) -> str:
        """What the files of one numbering are kept apart by."""
        return "clustered" if self.renumbered else "by-term"

    def file(self, i: int) -> str:
        return f"part-{i:05d}-{self.build}.zstd.parquet"

    def chunk_files(self, name: str) -> list[Scratch]:
        return [folder_of(self.root, chunk) / name for chunk in range(self.chunks)]

    def row_files(self, name: str) -> list[Scratch]:
        """The rows of each chunk by rank."""
        return self.chunk_files(f"{self.order}/{name}")


def rank_of(ids: Ints) -> Ints:
    """The rank of each id: the inverse of `spread`."""
    return ids // (BLOCK + GAP) * BLOCK + ids % (BLOCK + GAP)


# --- role assertions, and whether they are near ---------------------------------------------------


def merge_edges(session: SparkSession, ranges: Ranges) -> Ints:
    """Leaves the half-edges of each range, each once and sorted; gives the hubs, which have over ``near`` of them."""
    found = run(session, partial(_merge_edges, ranges=ranges), range(len(ranges)), "sorting role assertions")
    return np.array(sorted(hub for hubs in found for hub in hubs), np.int64)


def _merge_edges(i: int, *, ranges: Ranges) -> list[int]:
    columns = ("node", "role", "neighbour")
    rows = distinct_rows(joined(slices(ranges.row_files("half_edges"), "node", *ranges.bounds(i)), columns))
    save(ranges.folder(i) / "half_edges", rows)
    low, _ = ranges.bounds(i)
    degree = np.bincount(rows["node"] - low)
    found: list[int] = (np.flatnonzero(degree > ranges.near) + low).tolist()
    return found


def nearness_of(session: SparkSession, ranges: Ranges, hubs: Ints) -> float:
    """What `jobs.store.numbering.nearness` gives for the present ranks."""
    found = run(session, partial(_near, ranges=ranges, hubs=hubs), range(len(ranges)), "measuring nearness")
    near, counted = (sum(x[k] for x in found) for k in (0, 1))
    return near / counted if counted else 1.0


def _near(i: int, *, ranges: Ranges, hubs: Ints) -> tuple[int, int]:
    rows = load(ranges.folder(i) / "half_edges")
    forward = rows["role"] % 2 == 0
    node, neighbour = rows["node"][forward], rows["neighbour"][forward]
    counted = ~(is_in(node, hubs) | is_in(neighbour, hubs))
    return int((np.abs(node - neighbour)[counted] <= ranges.near).sum()), int(counted.sum())


def is_local(nearness: float) -> bool:
    """Whether ranks with this nearness are kept without trying others."""
    return nearness >= GOOD


# --- table files ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenTables:
    """What a range wrote: a file for each table that it has rows of, how many assertions, and how many of each class."""

    files: dict[str, DataFile]
    class_counts: list[int]
    role_assertions: int
    data_assertions: int
    literals: int
    neighbours: list[int]


def write_ranges(
    session: SparkSession, ranges: Ranges, dictionary: Dictionary, names: Mapping[int, Sequence[str]]
) -> list[WrittenTables]:
    """Writes individuals, half-edges, class assertions, data assertions, literals and the terms' hashes."""
    task = partial(_write_range, ranges=ranges, dictionary=dictionary, classes=len(names[KIND_CLASS]))
    written = run(session, task, range(len(ranges)), "writing tables")
    first = list(accumulate((w.literals for w in written), initial=0))
    data = run(session, partial(_write_data, ranges=ranges), list(zip(range(len(ranges)), first)), "writing data assertions")
    terms = run(session, partial(_write_terms, ranges=ranges), range(len(ranges)), "writing hashes")
    for range_, more, hashed in zip(written, data, terms):
        range_.files.update(more)
        range_.files.update(hashed)
    return written


def _write_range(i: int, *, ranges: Ranges, dictionary: Dictionary, classes: int) -> WrittenTables:
    low, high = ranges.bounds(i)
    edges = load(ranges.folder(i) / "half_edges")
    class_rows = distinct_rows(joined(slices(ranges.row_files("class_assertions"), "node", low, high), ("node", "class")))
    terms = _terms(ranges, dictionary, i)
    ids = spread(np.arange(low, high, dtype=np.int64))
    hashes = term_hash(terms.to_pylist())
    by_hash = np.argsort(hashes, kind="stable")
    save(ranges.folder(i) / "hashes", {"hash": hashes[by_hash], "node": ids[by_hash]})
    literals, data = _literals(ranges, i)
    tables = {
        "individuals": {"node": ids, "term": terms.cast(pa.string())},
        "half_edges": {"node": spread(edges["node"]), "role": edges["role"], "neighbour": spread(edges["neighbour"])},
        "class_assertions": {"node": spread(class_rows["node"]), "class": class_rows["class"]},
    }
    return WrittenTables(
        _files(ranges, i, tables),
        np.bincount(class_rows["class"], minlength=classes).tolist(),
        int((edges["role"] % 2 == 0).sum()),
        data,
        literals,
        np.unique(edges["neighbour"] // ranges.width).tolist(),
    )


def _terms(ranges: Ranges, dictionary: Dictionary, i: int) -> pa.Array:
    low, high = ranges.bounds(i)
    if not ranges.renumbered:
        return dictionary.terms_of(low, high)
    old = load(ranges.scratch / "clusters" / "old" / i / "old")["old"]
    order = np.argsort(old)
    parts = []
    for k, start in enumerate(dictionary.starts[:-1]):
        first, last = np.searchsorted(old[order], [start, dictionary.starts[k + 1]])
        if first < last:
            parts.append(dictionary.part(k).take(pa.array(old[order][first:last] - start)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(place)) if parts else pa.array([], pa.large_string())


def _files(ranges: Ranges, i: int, tables: Mapping[str, Columns]) -> dict[str, DataFile]:
    store, file = ranges.place, ranges.file(i)
    return {name: write_part(store, name, file, columns) for name, columns in tables.items() if len(next(iter(columns.values())))}


# --- data -----------------------------------------------------------------------------------------


def _literals(ranges: Ranges, i: int) -> tuple[int, int]:
    """Numbers the literals of range ``i`` from 0 on and leaves them with its data rows; how many literals and rows it has."""
    parts = slices(ranges.row_files("data_rows"), "node", *ranges.bounds(i))
    texts, values, count = [], [], 0
    for path, part in zip(ranges.chunk_files("literals"), parts):
        used, which, _ = distinct(np.asarray(part["literal"]))
        values.append(which + count)
        columns = load(path)
        texts.append({name: column.take(pa.array(used)) for name, column in columns.items()})
        count += len(used)
    columns = {name: pa.concat_arrays([text[name] for text in texts]) for name in ("lexical", "datatype", "language")}
    codes = [_codes(column) for column in columns.values()]
    _, value, example = distinct(row_codes(*codes)) if count else (codes[0],) * 3
    rows = joined(parts, ("node", "property"))
    rows["literal"] = value[np.concatenate([np.zeros(0, np.int64), *values])]
    least = least_by(rows["literal"], rows["node"], len(example))
    found = {name: column.take(pa.array(example)) for name, column in columns.items()}
    key = pc.binary_join_element_wise(*found.values(), pa.scalar("\0", pa.large_string()))
    order = np.lexsort((_codes(key), least))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    rows["literal"] = number[rows["literal"]]
    rows = distinct_rows(rows)
    hashes = term_hash(key.take(pa.array(order)).to_pylist())
    save(ranges.folder(i) / "data_rows", rows)
    save(ranges.folder(i) / "literals", {**{name: c.take(pa.array(order)) for name, c in found.items()}, "hash": hashes})
    return len(order), len(rows["node"])


def _codes(texts: pa.Array) -> Ints:
    """A number for each text, in the order of their bytes."""
    encoded = texts.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found: Ints = place[encoded.indices.to_numpy()]
    return found


def _write_data(task: tuple[int, int], *, ranges: Ranges) -> dict[str, DataFile]:
    """Writes the data rows of a range, whose literals have the numbers from ``first`` on."""
    i, first = task
    rows, literals = load(ranges.folder(i) / "data_rows"), load(ranges.folder(i) / "literals")
    tables = {
        "data_assertions": {
            "node": spread(rows["node"]),
            "property": rows["property"],
            "literal": rows["literal"] + first,
            "hash": literals["hash"][rows["literal"]],
        },
        "literals": {
            "literal": np.arange(first, first + len(literals["hash"]), dtype=np.int64),
            **{name: literals[name].cast(pa.string()) for name in ("lexical", "datatype", "language")},
        },
    }
    return _files(ranges, i, tables)


def _write_terms(i: int, *, ranges: Ranges) -> dict[str, DataFile]:
    """Writes the ``i``-th interval of the hashes of all terms."""
    return _files(ranges, i, {"terms": hash_interval(i, ranges)})


def hash_interval(i: int, ranges: Ranges) -> Columns:
    """(hash, node) of the terms whose hashes lie in the ``i``-th of as many intervals as there are ranges, in order."""
    count = len(ranges)
    low, high = (k * HASHES // count - (HASHES >> 1) for k in (i, i + 1))
    found = []
    for k in range(count):
        columns = load(ranges.folder(k) / "hashes")
        first = int(np.searchsorted(columns["hash"], low)) if i else 0
        last = int(np.searchsorted(columns["hash"], high)) if i + 1 < count else len(columns["hash"])
        found.append({name: column[first:last] for name, column in columns.items()})
    rows = joined(found, ("hash", "node"))
    order = np.lexsort((rows["node"], rows["hash"]))
    return {name: column[order] for name, column in rows.items()}


def name_rows(names: Mapping[int, Sequence[str]]) -> Columns:
    """The columns of the table ``names``."""
    kinds = (KIND_CLASS, KIND_OBJECT_PROPERTY, KIND_DATA_PROPERTY)
    return {
        "kind": np.repeat(np.array(kinds, np.int64), [len(names[kind]) for kind in kinds]),
        "id": np.concatenate([np.arange(len(names[kind]), dtype=np.int64) for kind in kinds]),
        "iri": pa.array([iri for kind in kinds for iri in names[kind]], pa.string()),
    }

"""Sort the rows of chunks into the table files of a store, one task for each range of ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    distinct_with_inverse,
    group_minimum,
    is_in,
    row_codes,
)
from shiq.columns.rows import LITERAL_BITS, TERM_BITS, half_edge_rows, term_key
from shiq.jobs.building.dictionary import Dictionary
from shiq.jobs.building.exchange import (
    Executor,
    IncomingColumns,
    OutgoingColumns,
    Scratch,
    columns_from_senders,
    concatenate_rows,
    distinct_rows,
    load_column,
    load_columns,
    save_columns,
    split_rows,
)
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.numbering import BLOCK, GAP, NEAR, spread
from shiq.jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY, write_part
from shiq.remote.place import StoreLocation

#: Hashes are cut into as many intervals as there are ranges of ids.
HASHES = 1 << TERM_BITS


@dataclass(frozen=True)
class Ranges:
    """The individuals of a build, split into id ranges of ``width`` consecutive ranks, with the
    folders of their files.

    build: part of the names of its files
    near_distance: see `shiq.jobs.store.numbering`
    is_renumbered: whether ranks differ from those of the dictionary
        (`shiq.jobs.building.clustering`)
    """

    scratch: Scratch
    root: Scratch
    build: str
    nodes: int
    width: int
    near_distance: int = NEAR
    is_renumbered: bool = False

    def __len__(self) -> int:
        return max(1, -(-self.nodes // self.width))

    def bounds(self, i: int) -> tuple[int, int]:
        """The first rank of id range ``i``, and the one after its last."""
        return i * self.width, min((i + 1) * self.width, self.nodes)

    def folder(self, i: int) -> Scratch:
        """The folder for intermediate files of id range ``i``."""
        return self.scratch / self.numbering_folder / i

    @property
    def place(self) -> StoreLocation:
        """The location of the store."""
        return self.scratch.place

    @property
    def numbering_folder(self) -> str:
        """Name of the folder for files of this numbering of individuals, since a renumbering makes
        the same files again.
        """
        return "clustered" if self.is_renumbered else "by-term"

    def table_file_name(self, i: int) -> str:
        """File name for the tables of id range ``i``."""
        return f"part-{i:05d}-{self.build}.zstd.parquet"


#: A chunk, and the number of each of its names among all, by kind.
NumberedChunk: TypeAlias = tuple[int, Mapping[int, Ints]]


def rank_of(ids: Ints) -> Ints:
    """Convert ids to ranks: the inverse of `spread`."""
    return ids // (BLOCK + GAP) * BLOCK + ids % (BLOCK + GAP)


# --- role assertions, and whether they are near ---------------------------------------------------


def merge_edges(executor: Executor, ranges: Ranges, chunks: Sequence[NumberedChunk]) -> Ints:
    """Write the half edges (each role assertion in both directions) of each id range, sorted and
    without duplicates.

    Returns the hubs: individuals with more than ``near_distance`` half edges.
    """
    send, receive = partial(_send_edges, ranges=ranges), partial(_merge_edges, ranges=ranges)
    found = executor.exchange(send, chunks, receive, len(ranges), "sorting role assertions")
    return np.array(sorted(hub for hubs in found for hub in hubs), np.int64)


def _send_edges(numbered: NumberedChunk, *, ranges: Ranges) -> Iterator[OutgoingColumns]:
    """Task: send the half edges of a chunk to the id ranges of their nodes."""
    chunk, names = numbered
    roles, rank = (
        load_columns(ranges.root / chunk / "roles"),
        _chunk_ranks(ranges, chunk),
    )
    role = names[KIND_OBJECT_PROPERTY][roles["role"]] * 2
    rows = half_edge_rows(rank[roles["subject"]], "role", role, rank[roles["object"]])
    for i, part in _rows_by_range(rows, ranges):
        yield i, "half_edges", part


def _chunk_ranks(ranges: Ranges, chunk: int) -> Ints:
    """Read the rank of each individual of a chunk, by its number in the chunk."""
    return load_column(ranges.root / chunk / ranges.numbering_folder / "rank", "rank")


def _rows_by_range(rows: Columns, ranges: Ranges) -> Iterator[tuple[int, Columns]]:
    """Split rows by the id range of their node. Yields (range, its rows)."""
    order = np.argsort(rows["node"], kind="stable")
    rows = {name: column[order] for name, column in rows.items()}
    return split_rows(rows, rows["node"], ranges.width)


def _merge_edges(i: int, received: IncomingColumns, *, ranges: Ranges) -> list[int]:
    """Task: write the half edges of id range ``i``, sorted and distinct. Returns its hubs: the
    individuals with more than ``near_distance`` half edges.
    """
    rows = distinct_rows(
        concatenate_rows(
            columns_from_senders(received, "half_edges"), ("node", "role", "neighbour")
        )
    )
    save_columns(ranges.folder(i) / "half_edges", rows)
    low, _ = ranges.bounds(i)
    degree = np.bincount(rows["node"] - low)
    return (np.flatnonzero(degree > ranges.near_distance) + low).tolist()


def measure_nearness(executor: Executor, ranges: Ranges, hubs: Ints) -> float:
    """Measure the share of role assertions whose two individuals have near ranks
    (`shiq.jobs.store.numbering.nearness`). Assertions at ``hubs`` do not count.
    """
    found = executor.run(
        partial(_count_near_ends, ranges=ranges, hubs=hubs),
        range(len(ranges)),
        "measuring nearness",
    )
    near, counted = (sum(x[k] for x in found) for k in (0, 1))
    return near / counted if counted else 1.0


def _count_near_ends(i: int, *, ranges: Ranges, hubs: Ints) -> tuple[int, int]:
    """Task: count the role assertions of id range ``i`` whose two individuals have near ranks, and
    all role assertions. Those at ``hubs`` (individuals with very many neighbours) do not count.
    """
    rows = load_columns(ranges.folder(i) / "half_edges")
    forward = rows["role"] % 2 == 0
    node, neighbour = rows["node"][forward], rows["neighbour"][forward]
    counted = ~(is_in(node, hubs) | is_in(neighbour, hubs))
    return int((np.abs(node - neighbour)[counted] <= ranges.near_distance).sum()), int(
        counted.sum()
    )


# --- table files ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenTables:
    """Report of one task on the table files of its id range: numbers of assertions by kind, and by
    class.
    """

    files: dict[str, DataFile]
    class_counts: list[int]
    role_assertions: int
    data_assertions: int
    literals: int


def write_range_tables(
    executor: Executor,
    ranges: Ranges,
    dictionary: Dictionary,
    chunks: Sequence[NumberedChunk],
    classes: int,
) -> list[WrittenTables]:
    """Write the tables of individuals, half edges, class and data assertions, literals, and hashes
    of names, one file for each id range.

    classes: number of class names
    """
    count = range(len(ranges))
    receive = partial(_write_range, ranges=ranges, dictionary=dictionary, classes=classes)
    written = executor.exchange(
        partial(_send_rows, ranges=ranges), chunks, receive, len(ranges), "writing tables"
    )
    first = list(accumulate((w.literals for w in written), initial=0))
    data = executor.run(
        partial(_write_data, ranges=ranges),
        list(zip(count, first)),
        "writing data assertions",
    )
    send, receive_terms = partial(send_hashes, ranges=ranges), partial(_write_terms, ranges=ranges)
    terms = executor.exchange(send, count, receive_terms, len(ranges), "writing hashes")
    for range_, more, hashed in zip(written, data, terms):
        range_.files.update(more)
        range_.files.update(hashed)
    return written


def _send_rows(numbered: NumberedChunk, *, ranges: Ranges) -> Iterator[OutgoingColumns]:
    """Task: send class and data assertions of a chunk to the id ranges of their nodes."""
    chunk, names = numbered
    classes, data, texts = (
        load_columns(ranges.root / chunk / name) for name in ("classes", "data", "literals")
    )
    rank = _chunk_ranks(ranges, chunk)
    rows = {"node": rank[classes["subject"]], "class": names[KIND_CLASS][classes["class"]]}
    for i, part in _rows_by_range(rows, ranges):
        yield i, "class_assertions", part
    property_ = names[KIND_DATA_PROPERTY][data["property"]]
    rows = {"node": rank[data["subject"]], "property": property_, "literal": data["literal"]}
    for i, part in _rows_by_range(rows, ranges):
        used, which, _ = distinct_with_inverse(part["literal"])
        yield i, "data_rows", {**part, "literal": which}
        yield i, "literals", {name: column.take(pa.array(used)) for name, column in texts.items()}


def _write_range(
    i: int, received: IncomingColumns, *, ranges: Ranges, dictionary: Dictionary, classes: int
) -> WrittenTables:
    """Task: write the table files of id range ``i``."""
    low, high = ranges.bounds(i)
    edges = load_columns(ranges.folder(i) / "half_edges")
    class_rows = distinct_rows(
        concatenate_rows(columns_from_senders(received, "class_assertions"), ("node", "class"))
    )
    save_columns(ranges.folder(i) / "class_assertions", class_rows)
    terms = _range_terms(ranges, dictionary, i)
    ids = spread(np.arange(low, high, dtype=np.int64))
    hashes = term_key(terms.to_pylist())
    order = np.argsort(hashes, kind="stable")
    save_columns(ranges.folder(i) / "hashes", {"hash": hashes[order], "node": ids[order]})
    literals, data = _number_literals(ranges, i, received)
    tables = {
        "individuals": {"node": ids, "term": terms.cast(pa.string())},
        "half_edges": {
            "node": spread(edges["node"]),
            "role": edges["role"],
            "neighbour": spread(edges["neighbour"]),
        },
        "class_assertions": {"node": spread(class_rows["node"]), "class": class_rows["class"]},
    }
    return WrittenTables(
        _write_files(ranges, i, tables),
        np.bincount(class_rows["class"], minlength=classes).tolist(),
        int((edges["role"] % 2 == 0).sum()),
        data,
        literals,
    )


def _range_terms(ranges: Ranges, dictionary: Dictionary, i: int) -> pa.Array:
    """Read the names of the individuals whose ranks lie in id range ``i``, in the order of ranks."""
    low, high = ranges.bounds(i)
    if not ranges.is_renumbered:
        return dictionary.terms_of(low, high)
    old = load_column(ranges.scratch / "clusters" / "old" / i / "rank")
    order = np.argsort(old)
    parts = []
    for k, start in enumerate(dictionary.starts[:-1]):
        first, last = np.searchsorted(old[order], [start, dictionary.starts[k + 1]])
        if first < last:
            parts.append(dictionary.part_terms(k).take(pa.array(old[order][first:last] - start)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return (
        pa.concat_arrays(parts).take(pa.array(place)) if parts else pa.array([], pa.large_string())
    )


def _write_files(ranges: Ranges, i: int, tables: Mapping[str, Columns]) -> dict[str, DataFile]:
    """Write the nonempty ``tables`` of id range ``i`` to the store."""
    store, file = ranges.place, ranges.table_file_name(i)
    return {
        name: write_part(store, name, file, columns)
        for name, columns in tables.items()
        if len(next(iter(columns.values())))
    }


# --- data -----------------------------------------------------------------------------------------


def _number_literals(ranges: Ranges, i: int, received: IncomingColumns) -> tuple[int, int]:
    """Number the literals of id range ``i`` from 0 and write them with its data assertions. Returns
    the numbers of literals and of assertions.
    """
    parts, texts = (
        columns_from_senders(received, "data_rows"),
        columns_from_senders(received, "literals"),
    )
    first = accumulate((len(text["lexical"]) for text in texts), initial=0)
    values = [part["literal"] + before for part, before in zip(parts, first)]
    columns = {
        name: pa.concat_arrays([_NO_TEXT, *(text[name] for text in texts)])
        for name in ("lexical", "datatype", "language")
    }
    count = len(columns["lexical"])
    codes = [_text_codes(column) for column in columns.values()]
    _, value, example = distinct_with_inverse(row_codes(*codes)) if count else (codes[0],) * 3
    rows = concatenate_rows(parts, ("node", "property"))
    rows["literal"] = value[np.concatenate([NONE, *values])]
    least = group_minimum(rows["literal"], rows["node"], len(example))
    found = {name: column.take(pa.array(example)) for name, column in columns.items()}
    key = pc.binary_join_element_wise(*found.values(), pa.scalar("\0", pa.large_string()))
    order = np.lexsort((_text_codes(key), least))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    rows["literal"] = number[rows["literal"]]
    rows = distinct_rows(rows)
    hashes = term_key(key.take(pa.array(order)).to_pylist(), LITERAL_BITS)
    save_columns(ranges.folder(i) / "data_rows", rows)
    save_columns(
        ranges.folder(i) / "literals",
        {**{name: c.take(pa.array(order)) for name, c in found.items()}, "hash": hashes},
    )
    return len(order), len(rows["node"])


_NO_TEXT = pa.array([], pa.large_string())


def _text_codes(texts: pa.Array) -> Ints:
    """Compute for each text its position among the distinct texts, sorted by their bytes."""
    encoded = texts.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[encoded.indices.to_numpy()]


def _write_data(task: tuple[int, int], *, ranges: Ranges) -> dict[str, DataFile]:
    """Task: write the data assertions of an id range to the store.

    task: the range, and the first id of its literals.
    """
    i, first = task
    rows, literals = (
        load_columns(ranges.folder(i) / "data_rows"),
        load_columns(ranges.folder(i) / "literals"),
    )
    tables = {
        "data_assertions": {
            "node": spread(rows["node"]),
            "property": rows["property"],
            "literal": rows["literal"] + first,
            "hash": literals["hash"][rows["literal"]],
        },
        "literals": {
            "literal": np.arange(first, first + len(literals["hash"]), dtype=np.int64),
            **{
                name: literals[name].cast(pa.string())
                for name in ("lexical", "datatype", "language")
            },
        },
    }
    return _write_files(ranges, i, tables)


def send_hashes(k: int, *, ranges: Ranges) -> Iterator[OutgoingColumns]:
    """Task: send the pairs (hash of name, node) of id range ``k`` to intervals of hash values, of
    which there are as many as ranges.
    """
    rows, count = load_columns(ranges.folder(k) / "hashes"), len(ranges)
    limits = [i * HASHES // count - (HASHES >> 1) for i in range(1, count)]
    cuts = [0, *(int(np.searchsorted(rows["hash"], limit)) for limit in limits), len(rows["hash"])]
    for i, (first, last) in enumerate(pairwise(cuts)):
        if first < last:
            yield i, "hashes", {name: column[first:last] for name, column in rows.items()}


def merge_hash_rows(received: IncomingColumns) -> Columns:
    """Merge the rows (hash, node) that one interval of hash values has received, sorted by hash."""
    rows = concatenate_rows(columns_from_senders(received, "hashes"), ("hash", "node"))
    order = np.lexsort((rows["node"], rows["hash"]))
    return {name: column[order] for name, column in rows.items()}


def _write_terms(i: int, received: IncomingColumns, *, ranges: Ranges) -> dict[str, DataFile]:
    """Task: write the rows of the table that finds individuals by the hash of their name, for the
    ``i``-th interval of hashes.
    """
    return _write_files(ranges, i, {"terms": merge_hash_rows(received)})

"""Sort the terms of all chunks into a dictionary, which gives each individual's rank."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.columns.arrays import Ints
from shiq.jobs.building.chunks import ChunkSummary
from shiq.jobs.building.exchange import (
    Executor,
    IncomingColumns,
    OutgoingColumns,
    Scratch,
    columns_from_senders,
    concatenate_rows,
    load_columns,
    save_columns,
)
from shiq.jobs.store.schema import KINDS

#: Terms that one part of the dictionary is meant to have.
PART = 1 << 18


@dataclass(frozen=True)
class Dictionary:
    """The sorted names of all individuals, split into parts on disk; the position of a name is the
    individual's rank.
    """

    scratch: Scratch
    root: Scratch
    bounds: tuple[str, ...]
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    def part_terms(self, i: int) -> pa.Array:
        """Read the sorted names of part ``i``."""
        return load_columns(_part_folder(self.scratch, i) / "terms")["term"]

    def ranks_of(self, terms: Sequence[str]) -> list[int]:
        """Look up the rank of each individual; all must be in the dictionary."""
        keys = [bound.encode() for bound in self.bounds]
        found = []
        for term in terms:
            i = bisect_right(keys, term.encode())
            found.append(self.starts[i] + _first_not_less(self.part_terms(i), term))
        return found

    def terms_of(self, low: int, high: int) -> pa.Array:
        """Read the individuals with the ranks low … high-1."""
        found = []
        for i, start in enumerate(self.starts[:-1]):
            first, last = max(low, start), min(high, self.starts[i + 1])
            if first < last:
                found.append(self.part_terms(i).slice(first - start, last - first))
        return pa.concat_arrays(found) if found else pa.array([], pa.large_string())


def make_dictionary(
    executor: Executor,
    scratch: Scratch,
    root: Scratch,
    chunks: Sequence[int],
    summaries: Sequence[ChunkSummary],
) -> Dictionary:
    """Make the dictionary (sorted names and ranks) of the individuals in ``chunks``, in tasks."""
    samples = sorted((term for s in summaries for term in s.samples), key=str.encode)
    count = max(1, -(-sum(s.terms for s in summaries) // PART))
    bounds = sorted(
        {samples[len(samples) * i // count] for i in range(1, count)} if samples else set(),
        key=str.encode,
    )
    send = partial(_send_terms, root=root, bounds=bounds)
    receive = partial(_sort_part, scratch=scratch)
    sizes = executor.exchange(send, chunks, receive, len(bounds) + 1, "sorting terms")
    return Dictionary(scratch, root, tuple(bounds), tuple(np.cumsum([0, *sizes]).tolist()))


def _part_folder(scratch: Scratch, i: int) -> Scratch:
    """The folder of part ``i`` of the dictionary."""
    return scratch / "terms" / i


def _send_terms(chunk: int, *, root: Scratch, bounds: Sequence[str]) -> Iterator[OutgoingColumns]:
    """Task: send the individuals of a chunk to the dictionary parts between whose bounds they lie."""
    terms = load_columns(root / chunk / "terms")["term"]
    cuts = [0, *(_first_not_less(terms, bound) for bound in bounds), len(terms)]
    for part, (first, last) in enumerate(pairwise(cuts)):
        if first < last:
            yield part, "terms", {"term": terms.slice(first, last - first)}


def _sort_part(i: int, received: IncomingColumns, *, scratch: Scratch) -> int:
    """Task: sort the names between two bounds, drop duplicates, and write them with their positions
    in each chunk.

    Returns how many terms there are.
    """
    mine = [columns["term"] for columns in columns_from_senders(received, "terms")]
    everything = pa.concat_arrays([pa.array([], pa.large_string()), *mine])
    order = pc.sort_indices(everything)
    ordered = everything.take(order)
    differs = np.ones(len(ordered), np.bool_)
    if len(ordered) > 1:
        differs[1:] = pc.not_equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)).to_numpy(
            zero_copy_only=False
        )
    rank = np.empty(len(ordered), np.int64)
    rank[order.to_numpy()] = np.cumsum(differs) - 1
    folder = _part_folder(scratch, i)
    distinct = ordered.filter(pa.array(differs))
    save_columns(folder / "terms", {"term": distinct})
    save_columns(folder / "ranks", {"rank": rank})
    chunks, sizes = (
        [chunk for chunk, _ in received.get("terms", ())],
        [len(terms) for terms in mine],
    )
    save_columns(
        folder / "chunks", {"chunk": np.array(chunks, np.int64), "size": np.array(sizes, np.int64)}
    )
    return len(distinct)


def _first_not_less(terms: pa.Array, term: str) -> int:
    """Position of the first of the sorted ``terms`` that is not less than ``term`` (by bytes)."""
    key, low, high = term.encode(), 0, len(terms)
    while low < high:
        middle = (low + high) // 2
        if terms[middle].as_py().encode() < key:
            low = middle + 1
        else:
            high = middle
    return low


# --- names ----------------------------------------------------------------------------------------


def collect_names(summaries: Sequence[ChunkSummary]) -> dict[int, list[str]]:
    """Collect the names of classes, object properties and data properties that occur in an
    assertion, by kind, sorted.
    """
    return {
        kind: sorted({name for s in summaries for name in s.names.get(kind, ())}) for kind in KINDS
    }


def name_indices(summary: ChunkSummary, names: Mapping[int, Sequence[str]]) -> dict[int, Ints]:
    """Look up the index in ``names`` of each name of a chunk. Names are grouped by kind: class,
    object or data property.
    """
    found = {}
    for kind, known in names.items():
        place = {name: i for i, name in enumerate(known)}
        found[kind] = np.array([place[name] for name in summary.names.get(kind, ())], np.int64)
    return found


# --- ranks ----------------------------------------------------------------------------------------


def rank_chunks(
    executor: Executor,
    dictionary: Dictionary,
    chunks: Sequence[int],
    order: str,
    new: Callable[[Ints], Ints] | None = None,
) -> None:
    """Write the rank of each individual of each chunk to the subfolder ``order`` of the chunk's
    folder.

    new: gives other ranks for those of the dictionary
    """
    send = partial(_send_ranks, dictionary=dictionary, new=new)
    receive = partial(_write_ranks, root=dictionary.root, order=order)
    executor.exchange(send, range(len(dictionary.starts) - 1), receive, len(chunks), "numbering")


def _send_ranks(
    part: int, *, dictionary: Dictionary, new: Callable[[Ints], Ints] | None
) -> Iterator[OutgoingColumns]:
    """Task: send the ranks of a dictionary part's individuals back to the chunks that mention them."""
    folder, own = (
        _part_folder(dictionary.scratch, part),
        np.arange(*dictionary.starts[part : part + 2]),
    )
    rank = (own if new is None else new(own))[load_columns(folder / "ranks")["rank"]]
    chunks = load_columns(folder / "chunks")
    for chunk, ranks in zip(
        chunks["chunk"].tolist(), np.split(rank, np.cumsum(chunks["size"])[:-1])
    ):
        yield chunk, "ranks", {"rank": ranks}


def _write_ranks(chunk: int, received: IncomingColumns, *, root: Scratch, order: str) -> None:
    """Task: write the ranks of the individuals of a chunk, in the order of their numbers within the
    chunk.
    """
    local = load_columns(root / chunk / "terms")["local"]
    rank = np.empty(len(local), np.int64)
    rank[local] = concatenate_rows(columns_from_senders(received, "ranks"), ("rank",))["rank"]
    save_columns(root / chunk / order / "rank", {"rank": rank})

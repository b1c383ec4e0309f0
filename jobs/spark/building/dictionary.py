"""The dictionary of individuals: each term's place among all terms, and the assertions of the chunks in those numbers.

The order of the terms is cut into parts by samples. A task per part sorts what all chunks have of it; a task per chunk then puts
ranks in the place of its own numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from jobs.spark.building.chunks import ChunkSummary, folder_of
from jobs.spark.building.files import Scratch, load, run, save
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.columns.arrays import Columns, Ints
from shiq.columns.rows import both_ends

#: Terms that one part of the dictionary is meant to have.
PART = 1 << 18


@dataclass(frozen=True)
class Dictionary:
    """All terms in order, in parts: part i has the ranks from ``starts[i]`` on, and its terms are not less than
    ``bounds[i-1]``."""

    scratch: Scratch
    root: Scratch
    bounds: tuple[str, ...]
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return self.starts[-1]

    def part(self, i: int) -> pa.Array:
        return load(_part(self.scratch, i) / "terms")["term"]

    def ranks_of(self, terms: Sequence[str]) -> list[int]:
        """The rank of each term, all of which it has."""
        keys = [bound.encode() for bound in self.bounds]
        found = []
        for term in terms:
            i = bisect_right(keys, term.encode())
            found.append(self.starts[i] + _first_not_below(self.part(i), term))
        return found

    def terms_of(self, low: int, high: int) -> pa.Array:
        """The terms of the ranks low … high-1."""
        found = []
        for i, start in enumerate(self.starts[:-1]):
            first, last = max(low, start), min(high, self.starts[i + 1])
            if first < last:
                found.append(self.part(i).slice(first - start, last - first))
        return pa.concat_arrays(found) if found else pa.array([], pa.large_string())


def make_dictionary(
    session: SparkSession, scratch: Scratch, root: Scratch, chunks: Sequence[int], summaries: Sequence[ChunkSummary]
) -> Dictionary:
    """The dictionary of the terms of ``chunks``, which are below ``root``."""
    samples = sorted((term for s in summaries for term in s.samples), key=str.encode)
    count = max(1, -(-sum(s.terms for s in summaries) // PART))
    bounds = sorted({samples[len(samples) * i // count] for i in range(1, count)} if samples else set(), key=str.encode)
    limits = [None, *bounds, None]
    parts = [(i, limits[i], limits[i + 1]) for i in range(len(limits) - 1)]
    sizes = run(session, partial(_sort_part, scratch=scratch, root=root, chunks=list(chunks)), parts, "sorting terms")
    return Dictionary(scratch, root, tuple(bounds), tuple(np.cumsum([0, *sizes]).tolist()))


def _part(scratch: Scratch, i: int) -> Scratch:
    return scratch / "terms" / i


def _sort_part(part: tuple[int, str | None, str | None], *, scratch: Scratch, root: Scratch, chunks: Sequence[int]) -> int:
    """Sorts the terms between two bounds; leaves them, each once, and the place of every chunk's terms; how many there are."""
    number, low, high = part
    mine, ends = [], [0]
    for chunk in chunks:
        terms = load(folder_of(root, chunk) / "terms")["term"]
        first = 0 if low is None else _first_not_below(terms, low)
        last = len(terms) if high is None else _first_not_below(terms, high)
        mine.append(terms.slice(first, last - first))
        ends.append(ends[-1] + last - first)
    everything = pa.concat_arrays(mine)
    order = pc.sort_indices(everything)
    ordered = everything.take(order)
    differs = np.ones(len(ordered), np.bool_)
    if len(ordered) > 1:
        differs[1:] = pc.not_equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1)).to_numpy(zero_copy_only=False)
    rank = np.empty(len(ordered), np.int64)
    rank[order.to_numpy()] = np.cumsum(differs) - 1
    folder = _part(scratch, number)
    distinct = ordered.filter(pa.array(differs))
    save(folder / "terms", {"term": distinct})
    save(folder / "ranks", {"rank": rank})
    save(folder / "ends", {"end": np.array(ends, np.int64)})
    return len(distinct)


def _first_not_below(terms: pa.Array, term: str) -> int:
    """The position of the first of the sorted ``terms`` that is not less than ``term`` (by bytes)."""
    key, low, high = term.encode(), 0, len(terms)
    while low < high:
        middle = (low + high) // 2
        if terms[middle].as_py().encode() < key:
            low = middle + 1
        else:
            high = middle
    return low


# --- names ----------------------------------------------------------------------------------------


def all_names(summaries: Sequence[ChunkSummary]) -> dict[int, list[str]]:
    """The names of classes, object and data properties that some assertion has, sorted."""
    kinds = (KIND_CLASS, KIND_OBJECT_PROPERTY, KIND_DATA_PROPERTY)
    return {kind: sorted({name for s in summaries for name in s.names.get(kind, ())}) for kind in kinds}


def numbers_of(summary: ChunkSummary, names: Mapping[int, Sequence[str]]) -> dict[int, Ints]:
    """The number of each name of a chunk among all ``names``, by kind."""
    found = {}
    for kind, known in names.items():
        place = {name: i for i, name in enumerate(known)}
        found[kind] = np.array([place[name] for name in summary.names.get(kind, ())], np.int64)
    return found


# --- rows -----------------------------------------------------------------------------------------


def number_rows(
    session: SparkSession,
    dictionary: Dictionary,
    chunks: Sequence[int],
    summaries: Sequence[ChunkSummary],
    names: Mapping[int, Sequence[str]],
    order: str,
    new: Callable[[Ints], Ints] | None = None,
) -> None:
    """Leaves the rows of each chunk by rank, sorted: ``half_edges``, ``class_assertions`` and ``data_rows`` (with the chunk's
    own numbers of literals), by chunk and ``order``. ``new`` gives other ranks for those of the dictionary."""
    tasks = [(chunk, numbers_of(summary, names)) for chunk, summary in zip(chunks, summaries)]
    run(session, partial(_number_chunk, dictionary=dictionary, order=order, new=new), tasks, "numbering")


def _number_chunk(
    task: tuple[int, dict[int, Ints]], *, dictionary: Dictionary, order: str, new: Callable[[Ints], Ints] | None
) -> None:
    chunk, names = task
    folder = folder_of(dictionary.root, chunk)
    rank = _ranks(dictionary, chunk, load(folder / "terms")["local"])
    rank = rank if new is None else new(rank)
    classes, roles, data = (load(folder / name) for name in ("classes", "roles", "data"))
    _leave(
        folder / order / "class_assertions",
        {"node": rank[classes["subject"]], "class": names[KIND_CLASS][classes["class"]]},
    )
    role = names[KIND_OBJECT_PROPERTY][roles["role"]] * 2
    _leave(folder / order / "half_edges", both_ends(rank[roles["subject"]], "role", role, rank[roles["object"]]))
    _leave(
        folder / order / "data_rows",
        {
            "node": rank[data["subject"]],
            "property": names[KIND_DATA_PROPERTY][data["property"]],
            "literal": data["literal"],
        },
    )


def _leave(path: Scratch, columns: Columns) -> None:
    order = np.argsort(columns["node"], kind="stable")
    save(path, {name: column[order] for name, column in columns.items()})


def _ranks(dictionary: Dictionary, chunk: int, local: Any) -> Ints:
    """The rank of each of a chunk's terms by its own number."""
    found = []
    for i, start in enumerate(dictionary.starts[:-1]):
        folder = _part(dictionary.scratch, i)
        first, last = load(folder / "ends")["end"][chunk : chunk + 2].tolist()
        found.append(load(folder / "ranks")["rank"][first:last] + start)
    rank = np.empty(len(local), np.int64)
    rank[local] = np.concatenate(found) if found else np.zeros(0, np.int64)
    return rank

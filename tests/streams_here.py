"""The order of a batch on Spark, without Spark: chunks that are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from shiq.jobs.streaming.chunks import HEADER, TIMES, ChunkHeader, decode_table, table_to_columns
from shiq.jobs.streaming.ordering import EventOrderer
from shiq.streams.front.operator import BatchReport


class Here:
    """`shiq.jobs.streaming.ordering.BatchRecords` of chunks; ``texts_of``: the texts of a chunk by
    line; ``asked``: what for.
    """

    def __init__(
        self,
        rows: Sequence[tuple[int, str, bytes]],
        texts_of: Mapping[str, Mapping[int, str]] | None = None,
    ) -> None:
        self.rows, self.texts_of, self.asked = rows, texts_of or {}, list[str]()

    def fetch_times(self) -> dict[str, pa.Table]:
        self.asked.append("times")
        return {place: decode_table(data) for bucket, place, data in self.rows if bucket == TIMES}

    def fetch_texts(self, lines: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], str]:
        self.asked.append("texts")
        return {
            (place, line): self.texts_of[place][line]
            for place, some in lines.items()
            for line in some
        }


def judged(
    order: EventOrderer,
    rows: Iterable[tuple[int, str, bytes]],
    texts_of: Mapping[str, Mapping[int, str]] | None = None,
) -> tuple[BatchReport, dict[int, list[Any]], Here]:
    """What a batch tells, and its parts by bucket, in order, of records that are used."""
    rows = list(rows)
    here = Here(rows, texts_of)
    heads = {
        place: ChunkHeader.from_bytes(data) for bucket, place, data in rows if bucket == HEADER
    }
    ordered = order.order_batch(heads, here)
    parts: dict[int, list[Any]] = {}
    for bucket, place, data in sorted(rows, key=lambda row: ordered.chunk_ranks[row[1]]):
        if bucket >= 0:
            table, mask = decode_table(data), ordered.use_masks.get(place)
            kept = (
                table if mask is None else table.filter(pa.array(mask[table["event"].to_numpy()]))
            )
            parts.setdefault(bucket, []).append(table_to_columns(kept))
    return ordered.report, parts, here

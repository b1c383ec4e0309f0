"""The two stages that keep state, as Spark runs them: one value a key, bytes that the stage reads back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from jobs.streaming.chunks import COLUMNS, SparkSystem, unpacked
from jobs.streaming.ordering import Order, moment_of
from jobs.streaming.shipped import ShippedValue

#: The name of the value; in a plan the operator that comes last has number 0.
STATE: Final = "state"
LAST: Final = 0
_VALUE: Final = "data binary"


class _Stage(StatefulProcessor):
    """Keeps one value for each key."""

    def __init__(self, system: ShippedValue[SparkSystem]) -> None:
        self.system = system

    def init(self, handle: Any) -> None:
        self.value = handle.getValueState(STATE, _VALUE)

    def get(self) -> bytes | None:
        found = self.value.get() if self.value.exists() else None
        return None if found is None else bytes(found[0])

    def close(self) -> None:
        """Nothing."""


class _Ordering(_Stage):
    """`Order`, for all rows of a batch."""

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        order = Order(self.system.value, self.get())
        for row in order.take(row for frame in rows for row in zip(frame["bucket"], frame["place"], map(bytes, frame["data"]))):
            yield _frame([row])
        self.value.update((order.state(),))


class _Buckets(_Stage):
    """A system's step, for the rows of a bucket; what the driver is told and shown goes through."""

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        bucket, parts, moment = int(key[0]), list[tuple[str, bytes]](), None
        for frame in rows:
            for place, data in zip(frame["place"], map(bytes, frame["data"])):
                if bucket < 0:
                    yield _frame([(bucket, place, data)])
                elif place:
                    parts.append((place, data))
                else:
                    moment = moment_of(data)
        if bucket < 0 or moment is None:
            return
        tables = [unpacked(data) for _, data in sorted(parts)]
        state, found = self.system.value.step(bucket, self.get(), tables, moment)
        self.value.update((state,))
        if found:
            yield _frame([(bucket, "", json.dumps(found).encode())])


def _frame(rows: list[tuple[int, str, bytes]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["bucket", "place", "data"])


def staged(chunks: DataFrame, system: ShippedValue[SparkSystem]) -> DataFrame:
    """What buckets find, and what is told to the driver, of chunks' rows."""
    everything = chunks.selectExpr("0 AS one", "*").groupBy("one")
    ordered = everything.transformWithStateInPandas(_Ordering(system), COLUMNS, "Append", "None")
    return ordered.groupBy("bucket").transformWithStateInPandas(_Buckets(system), COLUMNS, "Append", "None")


def finishing(system: ShippedValue[SparkSystem], moment: Any) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What makes the last rows of buckets' states."""

    def finish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for bucket, state in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                if bucket >= 0:
                    found = system.value.finish(bucket, state, moment)
                    yield pa.RecordBatch.from_pydict({"rows": pa.array([json.dumps(found).encode()], pa.binary())})

    return finish

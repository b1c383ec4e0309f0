"""A value that all tasks get once a worker.

Spark asks a stage with state for its state's names in a process of the driver that is given no broadcasts, and there a Broadcast
cannot even be read back. So what tasks hold is its number, which is looked up when the value is asked for.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from pyspark import Broadcast, SparkContext
from pyspark.core.broadcast import _from_id

from jobs.spark.imports import spare_imports

V = TypeVar("V")


class ShippedValue(Generic[V]):
    """The driver's end; tasks get a `ReceivedValue`."""

    def __init__(self, context: SparkContext, value: V) -> None:
        self.value, self._broadcast = value, context.broadcast(value)

    def __reduce__(self) -> tuple[type[ReceivedValue[V]], tuple[int]]:
        # By this Spark learns which tasks need it.
        _, (number,) = Broadcast.__reduce__(self._broadcast)
        return ReceivedValue, (number,)

    def destroy(self) -> None:
        """Frees it everywhere."""
        self._broadcast.destroy()


class ReceivedValue(Generic[V]):
    """A worker's end."""

    def __init__(self, number: int) -> None:
        self._number = number
        spare_imports()

    def __reduce__(self) -> tuple[type[ReceivedValue[V]], tuple[int]]:
        return ReceivedValue, (self._number,)

    @property
    def value(self) -> V:
        found: V = _from_id(self._number).value
        return found

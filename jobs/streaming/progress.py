"""What a batch brought, as a metric of Spark's progress reports: `observedMetrics`, by the
query's name.

The driver knows it only when the batch is over. It is told to a task of the batch as Spark tells
loggers of tasks what they are about (local properties ``mdc.*``, which slf4j's MDC has there),
so that Spark counts it without Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.costs import described

#: The figures of a batch.
FIGURES: Final = ("events", "triples", "duplicates", "rejects", "rows", "hits")
_PROPERTY: Final = "mdc.shiq."


def with_figures(ticks: DataFrame, name: str) -> DataFrame:
    """``ticks`` whose batches have the metric ``name``, of what they are told (`tell`)."""
    told = [
        F.java_method(F.lit("org.slf4j.MDC"), F.lit("get"), F.lit(_PROPERTY + figure))
        for figure in FIGURES
    ]
    found = ticks.select(
        *(value.try_cast("long").alias(figure) for figure, value in zip(FIGURES, told))
    )
    return found.observe(name, *(F.sum(figure).alias(figure) for figure in FIGURES))


def tell(frame: DataFrame, figures: Mapping[str, int], text: str) -> None:
    """Has Spark count the ``figures`` of a batch, whose ``frame`` is `with_figures`, in a job
    that is described by ``text``.
    """
    context = frame.sparkSession.sparkContext
    for name in FIGURES:
        context.setLocalProperty(_PROPERTY + name, str(figures[name]) if name in figures else None)  # type: ignore[arg-type]
    try:
        with described(frame.sparkSession, text):
            frame.collect()
    finally:
        for name in FIGURES:
            context.setLocalProperty(_PROPERTY + name, None)  # type: ignore[arg-type]  # None takes it away

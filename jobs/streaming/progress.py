"""What a batch brought, as a metric of Spark's progress reports: `observedMetrics`, by the
query's name.

The driver knows it only when the batch is over. It is told to a task of the batch as Spark tells
loggers of tasks what they are about (a local property ``mdc.*``, which slf4j's MDC has there), so
that Spark counts it without Python. That task reads a row of the batch once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.costs import described

#: The figures of a batch.
FIGURES: Final = ("events", "triples", "duplicates", "rejects", "rows", "hits")
#: The property that tells a task all figures, and the column that has them.
_PROPERTY: Final = "mdc.shiq.figures"
_COLUMN: Final = "shiq_figures"


def with_figures(rows: DataFrame, name: str) -> DataFrame:
    """``rows`` whose batches have the metric ``name``, of what they are told (`tell`)."""
    told = F.java_method(F.lit("org.slf4j.MDC"), F.lit("get"), F.lit(_PROPERTY))
    found = F.split(F.col(_COLUMN), ",")
    metrics = [
        F.max(F.get(found, F.lit(place)).try_cast("long")).alias(figure)
        for place, figure in enumerate(FIGURES)
    ]
    return rows.select("*", told.alias(_COLUMN)).observe(name, *metrics).select(rows.columns)


def tell(frame: DataFrame, figures: Mapping[str, int], text: str) -> None:
    """Has Spark count the ``figures`` of a batch, whose ``frame`` is `with_figures`, in a job
    that is described by ``text``.
    """
    context = frame.sparkSession.sparkContext
    context.setLocalProperty(_PROPERTY, ",".join(str(figures.get(name, "")) for name in FIGURES))
    try:
        with described(frame.sparkSession, text):
            frame.take(1)
    finally:
        context.setLocalProperty(_PROPERTY, None)  # type: ignore[arg-type]  # None takes it away

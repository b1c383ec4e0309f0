"""The reasoner of a Python worker of Spark, kept from task to task."""

from __future__ import annotations

import atexit
from dataclasses import dataclass

from jobs.spark.worker import kept
from shiq.reasoner import create
from shiq.reasoner.protocol import Reasoner


@dataclass(frozen=True)
class Asking:
    """Which reasoner, and how. ``seconds``: what is left for each task; None for no limit;
    ``audit``: the share of the shapes that are handed to the driver, to be decided again
    (`jobs.spark.auditing`).
    """

    reasoner: str
    heap: str
    seconds: float | None
    audit: float = 0.0


def reasoner_of(asking: Asking) -> Reasoner:
    """This worker's reasoner."""
    return kept(
        "reasoner", (asking.reasoner, asking.heap), lambda: _created(asking), lambda r: r.close()
    )


def _created(asking: Asking) -> Reasoner:
    reasoner = create(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner

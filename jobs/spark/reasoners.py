"""The reasoner of a Python worker of Spark, kept from task to task."""

from __future__ import annotations

import atexit
from dataclasses import dataclass

from abox_ops.decide import Decider
from jobs.spark.worker import kept
from shiq.reasoner import create
from shiq.reasoner.protocol import Reasoner


@dataclass(frozen=True)
class Asking:
    """Which reasoner, and how. ``seconds``: what is left for each task; None for no limit."""

    reasoner: str
    heap: str
    seconds: float | None


def reasoner_of(asking: Asking) -> Reasoner:
    """This worker's reasoner."""
    return kept("reasoner", (asking.reasoner, asking.heap), lambda: _created(asking), lambda r: r.close())


def decider_of(asking: Asking, clauses: object) -> Decider:
    """A decider of this worker with a reasoner of its own, which remembers the shapes over ``clauses``."""
    key = (asking.reasoner, asking.heap, clauses)
    return kept("decider", key, lambda: Decider(_created(asking)), lambda d: d.reasoner.close())


def _created(asking: Asking) -> Reasoner:
    reasoner = create(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner

"""The reasoner of a Python worker of Spark, kept from task to task."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from abox_ops.engine import Inquiry
from abox_ops.modules.decide import Decider
from jobs.spark.worker import kept
from shiq.clause import ClausalTBox
from shiq.deadline import is_past, seconds_left
from shiq.reasoner import create
from shiq.reasoner.protocol import Answer, Module, Reasoner


@dataclass(frozen=True)
class Asking:
    """Which reasoner, and how. ``seconds``: what is left for each task; None for no limit; ``audit``: the share of the shapes
    that are handed to the driver, to be decided again (`jobs.spark.auditing`)."""

    reasoner: str
    heap: str
    seconds: float | None
    audit: float = 0.0


def reasoner_of(asking: Asking) -> Reasoner:
    """This worker's reasoner."""
    return kept("reasoner", (asking.reasoner, asking.heap), lambda: _created(asking), lambda r: r.close())


def decider_of(asking: Asking, clauses: object) -> Decider:
    """A decider of this worker with a reasoner of its own, which remembers the shapes over ``clauses``."""
    key = (asking.reasoner, asking.heap, clauses)
    return kept("decider", key, lambda: Decider(_created(asking)), lambda d: d.reasoner.close())


def inquiry_until(decider: Decider, deadline: float | None) -> Inquiry:
    """Asks ``decider`` until ``deadline`` (`time.monotonic`)."""

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> Sequence[Answer]:
        return decider.decide(tbox, modules, seconds_left(deadline))

    def attempt(tbox: ClausalTBox, modules: Sequence[Module]) -> Sequence[Answer]:
        return decider.attempt(tbox, modules, seconds_left(deadline))

    return Inquiry(decide, partial(is_past, deadline), attempt=attempt)


def _created(asking: Asking) -> Reasoner:
    reasoner = create(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner

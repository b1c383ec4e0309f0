"""The reasoner of a Python worker of Spark, kept from task to task."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from abox_ops.engine import Decide
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


def decided_in_time(decider: Decider, seconds: float | None) -> tuple[Decide, Callable[[], bool]]:
    """What asks ``decider`` for ``seconds`` from now on, and whether they are over."""
    deadline = None if seconds is None else time.monotonic() + seconds

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> Sequence[Answer]:
        return decider.decide(tbox, modules, seconds_left(deadline))

    return decide, partial(is_past, deadline)


def _created(asking: Asking) -> Reasoner:
    reasoner = create(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner

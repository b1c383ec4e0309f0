"""Checks of a few insertions on top of a batch that was accepted, whether it was committed or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from abox_ops.engine import KnowledgeBase, Layering
from jobs.checking.answer import in_time
from jobs.checking.base import OpenBase
from jobs.checking.deciding import DeciderPool, check_batch
from jobs.checking.options import Clock, Options
from shiq.offers import offers
from shiq.result import Result

#: Checks insertions in so many seconds (None: as long as it takes).
CheckAbove: TypeAlias = "Callable[[object, float | None], Result]"


def checker_above(
    base: OpenBase,
    accepted: Result,
    options: Options,
    deciders: DeciderPool,
    forget: Callable[[], None],
) -> CheckAbove | None:
    """A check of insertions on top of the batch that ``accepted`` found consistent. ``base``
    holds that batch where it was committed, and is what it was checked against otherwise. A
    blank node means the same in both batches.

    ``forget`` is called where a check is broken off: ``base`` may be half updated then. None
    where the batch cannot be laid on ``base`` without being written (`Layering.with_accepted`).
    """
    if not accepted.committed:
        layered = _layered(base.knowledge_base, accepted)
        if layered is None:
            return None
        base = replace(base, knowledge_base=layered)
    base = replace(base, scope=f"{accepted.snapshot}.")

    def check(insertions: object, seconds: float | None) -> Result:
        timed, clock = replace(options, timeout=seconds), Clock(progress=options.progress)
        decider = deciders.lookup(timed)
        is_whole = False
        try:
            found = in_time(
                timed, clock, lambda: check_batch(base, insertions, None, timed, decider, clock)
            )
            is_whole = not clock.is_over
            return found
        finally:
            if not is_whole:
                forget()
                deciders.drop(timed)

    return check


def _layered(knowledge_base: KnowledgeBase, accepted: Result) -> KnowledgeBase | None:
    add_set = getattr(accepted.a_add, "add_set", None)
    if add_set is None or not offers(knowledge_base, Layering):
        return None
    found: Any = knowledge_base.with_accepted(add_set)
    return found  # type: ignore[no-any-return]

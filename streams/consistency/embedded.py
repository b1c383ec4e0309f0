"""Streams checked in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from shiq.errors import UsageError
from streams.consistency.plan import StreamPlan
from streams.consistency.set_aside import EventSides
from streams.consistency.store_checks import StoreChecks
from streams.consistency.verdicts import Row, StreamResult
from streams.consistency.watch import BATCH, Watch
from streams.front.arrivals import Arrivals
from streams.front.event import Event
from streams.front.lateness import EventClock
from streams.front.record import Record
from streams.front.rejects import RejectLog
from streams.front.run import StreamRun, started
from streams.front.sources import open_source

if TYPE_CHECKING:
    from jobs.checking.session import Session


def check_stream(
    plan: StreamPlan,
    source: str | PathLike[str] | Iterable[Any],
    static: Any = None,
    start: int | None = None,
    end: int | None = None,
    lateness: int = 0,
    max_ahead: int = 100_000,
    batch: int = BATCH,
    *,
    unit: str = "sec",
    allow: Collection[str] = (),
    heard: Callable[[list[Row]], None] = lambda rows: None,
) -> StreamResult:
    """The contradictions of a stream with the TBox of ``plan``: which individuals, from when to
    when, by what.

    ``source``: a file, folder or other source by name, or events one by one (texts of JSON, or
    what such a text says). ``static``: what holds at all times, as `read_assertions` takes it.
    [``start``, ``end``]: the stream's ends, its first and last times unless given. ``batch``:
    how many events are taken at once. ``allow``: kinds of leftovers that do not matter.
    ``heard``: called with rows as they become final. Raises: UsageError, InputError.
    """
    if min(batch, max_ahead, lateness + 1) < 1:
        raise UsageError(
            "a batch, or how far an event may be ahead, is at least 1; the lateness at least 0",
            "Say so.",
        )
    opened = (
        open_source(fspath(source), unit)
        if isinstance(source, str | PathLike)
        else GivenEvents(source)
    )
    with started([opened], {}) as run:
        arrivals = Arrivals(EventClock(lateness, max_ahead), RejectLog(), unit)
        return watch_run(
            run, plan, arrivals, StreamQuestion(start, end, batch, allow), static, heard=heard
        )


@dataclass(frozen=True)
class StreamQuestion:
    """Of a run: the ends of the stream, how many events are taken at once, which leftovers do
    not matter, and whether rows are to be told before they are final.
    """

    start: int | None = None
    end: int | None = None
    batch: int = BATCH
    allow: Collection[str] = ()
    follow: bool = False

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise UsageError(
                f"the stream begins at {self.start} and ends at {self.end}",
                "Give a later end, or an earlier start.",
            )


def watch_run(
    run: StreamRun,
    plan: StreamPlan,
    arrivals: Arrivals,
    asked: StreamQuestion,
    static: Any = None,
    checks: tuple[Session, int] | None = None,
    heard: Callable[[list[Row]], None] | None = None,
    drive: Callable[[StreamRun, Watch], StreamResult] | None = None,
) -> StreamResult:
    """Checks the stream of ``run``, whose outputs are ``out``, ``verdicts``, ``accepted``,
    ``quarantine``. ``checks``: a store that windows are checked against, and each how many
    units; ``drive``: what feeds the watch, if not this process.
    """
    outputs = run.outputs
    tell = heard or outputs.to("out")
    watch = Watch(
        plan, arrivals, asked.start, asked.end, asked.batch, asked.allow, tell, asked.follow
    )
    if "accepted" in outputs.sinks or "quarantine" in outputs.sinks:
        accept, set_aside = outputs.texts("accepted"), outputs.texts("quarantine")
        watch.beside.append(EventSides(watch.partition.masks, plan.window, accept, set_aside))
    if checks is not None:
        watch.beside.append(StoreChecks(*checks, plan.window, asked.end))
    run.status.figures["inconsistent now"] = lambda: watch.inconsistent
    watch.begin(static)
    result = run.drive(watch, follow=asked.follow) if drive is None else drive(run, watch)
    outputs.write("verdicts", result.verdicts)
    return result


@dataclass
class GivenEvents:
    """Events that a program has."""

    items: Iterable[Any]
    name: str = "events"
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        for number, item in enumerate(self.items, 1):
            self.position = number
            if isinstance(item, Event):
                yield Record(self.name, number, b"", item)
            else:
                text = item if isinstance(item, str | bytes) else json.dumps(item)
                yield Record(
                    self.name,
                    number,
                    text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text,
                )

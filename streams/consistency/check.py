"""Check the consistency of a stream in this process, alone or together with a store of assertions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from shiq.answers.verdict import Verdict
from shiq.errors import UsageError
from shiq.streams.consistency.operator import (
    EVENTS_PER_BATCH,
    ConsistencyCollector,
    ConsistencySettings,
)
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.verdicts import (
    EventObserver,
    ObservedEvent,
    QuarantineObserver,
    Row,
    StreamResult,
)
from shiq.streams.front.event import Event, Record
from shiq.streams.front.intake import EventIntake, RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.run import StreamRun, open_run
from shiq.streams.front.sources import open_source

if TYPE_CHECKING:
    from shiq.answers.result import Result
    from shiq.jobs.checking.session import Session


# Every K units the content of the window checked against a store, in all of SHIQ(D): what lies
# outside DL-Lite is seen there.


@dataclass
class StoreObserver(EventObserver):
    """Observer that checks the events in the window together with a store, by the full reasoner for
    SHIQ(D).

    So it finds contradictions outside DL-Lite. At each multiple c of ``period`` (up to ``end``),
    ``session`` checks the triples from c - ``window`` to c, once no more can come.

    content: triples by time, while a future window contains them.
    next_check: earliest time of the next check.
    """

    session: Session
    period: int
    window: int
    end: int | None = None
    checks: int = 0
    seconds: float = 0.0
    content: dict[int, list[str]] = field(default_factory=dict)
    next_check: int = 0
    name: str = "store"
    _last: tuple[frozenset[str], Result] | None = None

    def observe(self, text: str, event: ObservedEvent) -> None:
        """Remember the triples of an event for the windows that contain it."""
        self.content.setdefault(event.t, []).extend(event.triples)

    def advance_watermark(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Check the windows that end at ``upto`` or before. Return output rows of their conflicts
        with the store, and the end times of the windows whose check stayed undetermined.
        """
        rows, unsure = list[Row](), list[int]()
        for c, result in self._check_due_windows(upto if self.end is None else min(upto, self.end)):
            rows += make_store_conflict_rows(c, result)
            if result.verdict is Verdict.UNDETERMINED:
                unsure.append(c)
        return rows, unsure

    def _check_due_windows(self, upto: int) -> Iterator[tuple[int, Result]]:
        """Yield the end time and check result of each due window up to ``upto``; windows without
        triples are skipped.
        """
        while self.content:
            self.content = {
                t: triples
                for t, triples in self.content.items()
                if t + self.window >= self.next_check
            }
            if not self.content:
                return
            c = max(self.next_check, -(-min(self.content) // self.period) * self.period)
            if c > upto:
                return
            self.next_check = c + self.period
            held = frozenset(
                line
                for t, lines in self.content.items()
                if c - self.window <= t <= c
                for line in lines
            )
            if held:
                yield c, self._check_window(held)

    def _check_window(self, triples: frozenset[str]) -> Result:
        """Check the triples of a window together with the store; if they are those of the last
        call, its result is returned again.
        """
        if self._last is None or self._last[0] != triples:
            begun = perf_counter()
            with tempfile.TemporaryDirectory(prefix="shiq-window-") as folder:
                file = Path(folder, "window.nt")
                file.write_text("".join(f"{line}\n" for line in sorted(triples)), encoding="utf-8")
                self._last = triples, self.session.check(str(file))
            self.checks += 1
            self.seconds += perf_counter() - begun
        return self._last[1]

    def state(self) -> Any:
        """JSON state for a checkpoint; `restore` reads it."""
        return [self.next_check, self.checks, list(self.content.items())]

    def restore(self, state: Any) -> None:
        """Continue from the `state` that an observer of another run saved."""
        self.next_check, self.checks, content = state
        self.content = dict(content)


def make_store_conflict_rows(time: int, result: Result) -> list[Row]:
    """Make output rows for the conflicts between a window that ends at ``time`` and the store.

    Their member ``store`` lists the store's assertions in the conflict.
    """
    rows = []
    for conflict in result.conflicts if result.verdict is Verdict.INCONSISTENT else ():
        who = min(conflict.insertions or conflict.base, default="").split(" ", 1)[0].strip("<>")
        at = {"individual": who, "from": time, "to": time, "conflict": sorted(conflict.insertions)}
        rows.append(
            {**at, "store": sorted(conflict.base), "axioms": list(conflict.axioms), "final": True}
        )
    return rows


def check_stream(
    plan: StreamPlan,
    source: str | PathLike[str] | Iterable[Any],
    static: Any = None,
    start: int | None = None,
    end: int | None = None,
    lateness: int = 0,
    max_ahead: int = 100_000,
    batch: int = EVENTS_PER_BATCH,
    *,
    unit: str = "sec",
    allow: Collection[str] = (),
    heard: Callable[[list[Row]], None] = lambda rows: None,
) -> StreamResult:
    """Check a stream against the TBox of ``plan``: which individuals are inconsistent, when, and
    why.

    source: a file, folder or other source by name, or events one by one (JSON texts or parsed
    JSON).
    static: assertions that hold at all times, as `read_assertions` takes them.
    start, end: first and last time of the stream; by default those of its events.
    batch: number of events processed at once.
    allow: kinds of leftovers that do not affect the verdict.
    heard: called with rows as they become final.
    Raises: UsageError, InputError.
    """
    if min(batch, max_ahead, lateness + 1) < 1:
        raise UsageError(
            "a batch, or how far an event may be ahead, is at least 1; the lateness at least 0",
            "Say so.",
        )
    opened = (
        open_source(fspath(source), unit)
        if isinstance(source, str | PathLike)
        else InMemoryEvents(source)
    )
    with open_run([opened], {}) as run:
        arrivals = EventIntake(WatermarkTracker(lateness, max_ahead), RejectLog(), unit)
        return run_consistency(
            run, plan, arrivals, ConsistencySettings(start, end, batch, allow), static, heard=heard
        )


def run_consistency(
    run: StreamRun,
    plan: StreamPlan,
    arrivals: EventIntake,
    asked: ConsistencySettings,
    static: Any = None,
    checks: tuple[Session, int] | None = None,
    heard: Callable[[list[Row]], None] | None = None,
    drive: Callable[[StreamRun, ConsistencyCollector], StreamResult] | None = None,
) -> StreamResult:
    """Check the stream of ``run`` and write its outputs: conflicts (``out``), ``verdicts``, and the
    texts of ``accepted`` and ``quarantine`` events.

    checks: session of a store for checking windows, and the period of these checks.
    drive: runner that feeds the collector, if not this process.
    """
    outputs = run.outputs
    tell = heard or outputs.make_writer("out")
    watch = ConsistencyCollector(plan, arrivals, asked, tell)
    if "accepted" in outputs.sinks or "quarantine" in outputs.sinks:
        accept, set_aside = (
            outputs.make_text_writer("accepted"),
            outputs.make_text_writer("quarantine"),
        )
        watch.observers.append(
            QuarantineObserver(watch.partition.masks, plan.window, accept, set_aside)
        )
    if checks is not None:
        watch.observers.append(StoreObserver(*checks, plan.window, asked.end))
    run.status.figures["inconsistent now"] = lambda: watch.inconsistent_count
    watch.load_static(static)
    if drive is None:
        result = run.feed_system(LocalRunner(watch), follow=asked.follow)
    else:
        result = drive(run, watch)
    outputs.write_rows("verdicts", result.verdicts)
    return result


@dataclass
class InMemoryEvents:
    """Source of events that a Python program passes as an iterable."""

    items: Iterable[Any]
    name: str = "events"
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the events of the iterable as records."""
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

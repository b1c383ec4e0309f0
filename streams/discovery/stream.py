"""A stream being mined: records in, the reports of windows out.

A finite source may be read in any order: how far its lines are out of order is looked up first,
where it can be read twice, and a window is reported when nothing can come to it any more. A
source that is followed is reported as it comes; what is late is put in its place, for the
windows to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from time import perf_counter
from typing import Any, ClassVar

from shiq.answers.verdict import Leftover, is_blocking
from shiq.bits import bits
from shiq.streams.discovery.ontology import AssertionIntake, Ontology
from shiq.streams.discovery.operator import BUCKETS, WORD, SnapshotOperator
from shiq.streams.discovery.report import WindowReport
from shiq.streams.discovery.saved import restored, stored
from shiq.streams.discovery.windows import Windows
from shiq.streams.front.arrivals import Arrivals, EventClock
from shiq.streams.front.checkpoint import packed, unpacked
from shiq.streams.front.event import EventError, Record, parse_event
from shiq.streams.front.operator import BatchReport, Row, StreamAnswer, verdict_of
from shiq.streams.front.rejects import RejectLog
from shiq.streams.front.sources import Folder, LinesFile, Source, open_source

#: So many inconsistent snapshots are named.
_NAMED = 20
_T = re.compile(rb'\s*\{\s*"t"\s*:\s*(\d+)\s*[,}]')


@dataclass(frozen=True)
class Mining(StreamAnswer):
    """What came of a stream: each report as the JSON has it, or the last alone, and what stands
    beside them. ``inconsistent``: the first snapshots that are; ``stopped``: some window has
    more rules than the limit allows.
    """

    windows: list[dict[str, Any]]
    inconsistent: list[int]
    stopped: bool


@dataclass
class Discovery:
    """Mines windows (`shiq.streams.front.operator.Collector`). ``heard``: takes reports as they are
    made; ``wait``: how many snapshots behind the newest one may still come, None for any number;
    ``kept``: whether the result has all reports, not just the last.
    """

    name: ClassVar[str] = "discover"
    batch: ClassVar[int] = 1_000
    by_point: ClassVar[bool] = True
    patience: ClassVar[float] = inf
    windows: Windows
    ontology: Ontology
    step: int = 1
    allow: Collection[str] = ()
    arrivals: Arrivals = field(default_factory=lambda: Arrivals(EventClock(None), RejectLog()))
    heard: Callable[[WindowReport], None] = lambda report: None
    wait: int | None = None
    kept: bool = True

    def __post_init__(self) -> None:
        self.intake = AssertionIntake(self.ontology.signature)
        self.arrivals.step = self.step
        self.arrivals.window = self.windows.settings.window
        self.reported: int | None = None
        self.told: list[dict[str, Any]] = []
        self.inconsistent, self.stopped = list[int](), False
        self.counts = dict.fromkeys(("events", "triples", "windows", "rules"), 0)
        self.seconds = dict.fromkeys((*self.windows.seconds, "deciding"), 0.0)

    def ordered(
        self, sources: Sequence[Source], unit: str = "sec", format: str = "auto"
    ) -> Callable[[Record], int | None]:
        """What gives the time of a record, to merge finite ``sources`` by; how far they are out
        of order is looked up.
        """
        files = [source for source in sources if isinstance(source, LinesFile | Folder)]
        if len(files) == len(sources):
            self.wait = max(
                (self._disorder(open_source(source.name, unit, format)) for source in files),
                default=0,
            )
        return self._time

    def _time(self, record: Record) -> int | None:
        found = _T.match(record.data)
        if found is not None:
            return int(found[1]) // self.step
        try:
            return (record.event or parse_event(record.data, self.arrivals.unit)).t // self.step
        except EventError:
            return None

    def _disorder(self, source: Source) -> int:
        newest = most = 0
        for record in source.read(False):
            t = self._time(record)
            if t is not None:
                newest, most = max(newest, t), max(most, newest - t)
        return most

    def operator(self, *, in_tasks: bool = False) -> SnapshotOperator:
        """What is done with events; for tasks all is worked out that is done once."""
        knowledge, limits = self.windows.knowledge, self.arrivals.limits()
        if not in_tasks:
            return SnapshotOperator(self.ontology.signature, limits)
        knowledge.entailed(())
        return SnapshotOperator(self.ontology.signature, limits, knowledge, BUCKETS)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Put what came into snapshots, and report on the windows to which nothing can come any
        more.
        """
        report.settle(self.arrivals, self.counts)
        for row in sorted(rows, key=lambda row: row["told"][0][0] if row["told"] else -1):
            self._put(row)
        newest = report.moment.newest
        if self.wait is not None and newest is not None:
            self.report_until(newest - self.wait - 1)

    def _put(self, row: Row) -> None:
        """Put triples into snapshots, with what these entail where that was worked out."""
        begun = perf_counter()
        snapshots = self.windows.snapshots
        for t, texts in row["told"]:
            assertions = self.intake.assertions(texts, lambda *refused: None)
            self.windows.put(t, assertions)
        if "columns" in row:
            undecided = dict(row["out"])
            entailed: dict[int, list[Any]] = {t: [] for t, _ in row["told"]}
            first = row["told"][0][0] // WORD * WORD
            for atom, mask in row["columns"]:
                for place in bits(mask):
                    entailed[first + place].append(tuple(atom))
            for t, found in entailed.items():
                snapshots.learn(t, None if t in undecided else found, undecided.get(t))
        self.windows.seconds["reading"] += perf_counter() - begun

    def report_until(self, last: int) -> None:
        """Tells the reports of the windows that end with ``last`` or before, each once."""
        settings, first = self.windows.settings, self.windows.first
        if first is None or self.windows.knowledge.base is None:
            return
        while True:
            end = (
                first + settings.window - 1
                if self.reported is None
                else self.reported + settings.slide
            )
            if end > last:
                return
            report = self.windows.report(end)
            self.reported = end
            new = (index for index in report.inconsistent if index not in self.inconsistent)
            self.inconsistent += islice(new, _NAMED - len(self.inconsistent))
            self.stopped |= report.stopped
            self.counts["windows"] += 1
            self.counts["rules"] = len(report.found)
            for name, spent in report.seconds.items():
                self.seconds[name] += spent
            if not self.kept:
                self.told.clear()
            self.told.append(report.to_dict())
            self.heard(report)

    def flush(self) -> None:
        """Nothing waits: a window is reported as time goes on."""

    def finish(self, rows: Iterable[Row] = ()) -> Mining:
        """Tells the rest; what came of it. Raises: InputError where no line was an event."""
        newest, rejects = self.windows.newest, self.arrivals.rejects
        rejects.refuse_if_all(newest is None)
        if newest is not None:
            self.report_until(newest)
        leftovers = self.leftovers()
        is_open = self.stopped or any(is_blocking(leftover, self.allow) for leftover in leftovers)
        contradicted = self.inconsistent or self.windows.knowledge.base is None
        verdict = verdict_of(bool(contradicted), bool(is_open))
        statistics = {
            **self.counts,
            "duplicates": self.arrivals.duplicates,
            "rejected": dict(rejects.counts),
            "seconds": {name: round(self.seconds[name], 3) for name in self.windows.seconds},
        }
        return Mining(
            verdict, tuple(leftovers), statistics, self.told, self.inconsistent, self.stopped
        )

    def leftovers(self) -> list[Leftover]:
        """What was not interpreted, of the ontology and of the stream."""
        return [
            *self.ontology.leftovers,
            *self.windows.knowledge.leftovers(),
            *self.arrivals.rejects.leftovers(),
        ]

    def state(self) -> bytes:
        """What `restore` takes."""
        document, columns = stored(self.windows)
        more = {
            "arrivals": self.arrivals.state(),
            "reported": self.reported,
            "told": self.told,
            "found": [self.inconsistent, self.stopped, self.counts, self.seconds],
            "undecided": self.windows.knowledge.undecided,
        }
        return packed({**document, **more}, columns)

    def restore(self, state: bytes) -> None:
        """Goes on where another run was."""
        document, columns = unpacked(state)
        restored(self.windows, self.intake, document, columns)
        self.arrivals.restore(document["arrivals"])
        self.reported, self.told = document["reported"], document["told"]
        self.inconsistent, self.stopped, self.counts, seconds = document["found"]
        self.seconds |= seconds
        self.windows.knowledge.undecided |= document["undecided"]

    def bucket_states(self, state: bytes) -> list[bytes]:
        """Versions that kept all in one had nothing else."""
        return [b""]

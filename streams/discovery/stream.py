"""A stream being mined: records in, the reports of windows out.

A finite source may be read in any order: how far its lines are out of order is looked up first,
where it can be read twice, and a window is reported when nothing can come to it any more. A
source that is followed is reported as it comes; what is late is put in its place, for the
windows to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

from shiq.verdict import Leftover, blocks
from streams.discovery.intake import AssertionIntake
from streams.discovery.ontology import Ontology
from streams.discovery.report import WindowReport
from streams.discovery.saved import restored, stored
from streams.discovery.windows import Windows
from streams.front.arrivals import Arrivals
from streams.front.checkpoint import packed, unpacked
from streams.front.event import Event, EventError, parse_event
from streams.front.lateness import EventClock
from streams.front.record import Record
from streams.front.rejects import RejectLog
from streams.front.result import StreamAnswer, verdict_of
from streams.front.sources import Folder, LinesFile, Source, open_source

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
    """Mines as `streams.front.run.StreamRun` drives it. ``heard``: takes reports as they are
    made; ``wait``: how many snapshots behind the newest one may still come, None for any number;
    ``kept``: whether the result has all reports, not just the last.
    """

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
        self.arrivals.parse = self._parse
        self.arrivals.window = self.windows.settings.window
        self.reported: int | None = None
        self.told: list[dict[str, Any]] = []
        self.inconsistent, self.stopped = list[int](), False
        self.counts = dict.fromkeys(("events", "triples", "windows", "rules"), 0)
        self.seconds = dict.fromkeys(self.windows.seconds, 0.0)

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

    def _parse(self, data: bytes, unit: str) -> Event:
        event = parse_event(data, unit)
        return event._replace(t=event.t // self.step)

    # --- records in -------------------------------------------------------------------------------

    def take(self, record: Record) -> bool:
        """Puts what a record says into its snapshot, behind the reports of the windows to which
        nothing can come any more; whether time went on by it.
        """
        begun = perf_counter()
        points = self.arrivals.points
        if record.event is not None and self.step > 1:
            record = record._replace(event=record.event._replace(t=record.event.t // self.step))
        event = self.arrivals.accept(record)
        if event is None:
            return False

        def tell(kind: str, reason: str, text: str) -> None:
            self.arrivals.rejects.add(kind, record.source, record.line, reason, text)

        self.counts["events"] += 1
        self.counts["triples"] += len(event.triples)
        assertions = self.intake.assertions(event.triples, tell)
        self.windows.seconds["reading"] += perf_counter() - begun
        went = self.arrivals.points > points
        if went and self.wait is not None:
            self.report_until(event.t - self.wait - 1)
        self.windows.put(event.t, assertions)
        return went

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
            self.seconds = {
                name: spent + report.seconds[name] for name, spent in self.seconds.items()
            }
            if not self.kept:
                self.told.clear()
            self.told.append(report.to_dict())
            self.heard(report)

    # --- as a system of `streams.front.run` -------------------------------------------------------

    def flush(self) -> None:
        """Nothing waits: a window is reported as time goes on."""

    def finish(self) -> Mining:
        """Tells the rest; what came of it. Raises: InputError where no line was an event."""
        newest, rejects = self.windows.newest, self.arrivals.rejects
        rejects.refuse_if_all(newest is None)
        if newest is not None:
            self.report_until(newest)
        leftovers = self.leftovers()
        is_open = self.stopped or any(blocks(leftover, self.allow) for leftover in leftovers)
        contradicted = self.inconsistent or self.windows.knowledge.base is None
        verdict = verdict_of(bool(contradicted), bool(is_open))
        statistics = {
            **self.counts,
            "duplicates": self.arrivals.duplicates,
            "rejected": dict(rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
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
        self.inconsistent, self.stopped, self.counts, self.seconds = document["found"]
        self.windows.knowledge.undecided |= document["undecided"]

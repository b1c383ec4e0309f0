"""A stream being mined: records in, the reports of windows out.

A finite source may be read in any order: how far its lines are out of order is looked up first, where it can be read twice, and
a window is reported when nothing can come to it any more. A source that is followed is reported as it comes; what is late is put
in its place, for the windows to come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from shiq.errors import InputError
from shiq.verdict import Leftover, Verdict, blocks
from streams.discovery.intake import Intake
from streams.discovery.ontology import Ontology
from streams.discovery.report import Report
from streams.discovery.saved import restored, stored
from streams.discovery.windows import Windows
from streams.front.arrivals import Arrivals
from streams.front.checkpoint import packed, unpacked
from streams.front.event import Event, EventError, parse_event
from streams.front.lateness import Clock
from streams.front.record import Record
from streams.front.rejects import Rejects
from streams.front.sources import Folder, LinesFile, Source, open_source

_T = re.compile(rb'\s*\{\s*"t"\s*:\s*(\d+)\s*[,}]')


@dataclass
class Mining:
    """What came of a stream: each report as the JSON has it, and what stands beside them."""

    windows: list[dict[str, Any]]
    verdict: Verdict
    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]
    exit_code: int


@dataclass
class Discovery:
    """Mines as `streams.front.run.Run` drives it. ``heard``: takes reports as they are made; ``wait``: how many snapshots behind
    the newest one may still come, None for any number."""

    windows: Windows
    ontology: Ontology
    step: int = 1
    allow: Collection[str] = ()
    arrivals: Arrivals = field(default_factory=lambda: Arrivals(Clock(None), Rejects()))
    heard: Callable[[Report], None] = lambda report: None
    wait: int | None = None

    def __post_init__(self) -> None:
        self.intake = Intake(self.ontology.signature)
        self.arrivals.parse = self._parse
        self.arrivals.window = self.windows.settings.window
        self.reported: int | None = None
        self.told: list[dict[str, Any]] = []
        self.inconsistent = self.windows.knowledge.base is None
        self.counts = dict.fromkeys(("events", "triples"), 0)

    def ordered(self, sources: Sequence[Source], unit: str = "sec", format: str = "auto") -> Callable[[Record], int | None]:
        """What gives the time of a record, to merge finite ``sources`` by; how far they are out of order is looked up."""
        files = [source for source in sources if isinstance(source, LinesFile | Folder)]
        if len(files) == len(sources):
            self.wait = max((self._disorder(open_source(source.name, unit, format)) for source in files), default=0)
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
        """Puts what a record says into its snapshot; whether time went on by it."""
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
        self.windows.put(event.t, self.intake.assertions(event.triples, tell))
        self.windows.seconds["reading"] += perf_counter() - begun
        return self.arrivals.points > points

    def due(self) -> Iterator[Report]:
        """The reports of windows to which nothing can come any more."""
        if self.wait is not None and self.windows.newest is not None:
            yield from self._until(self.windows.newest - self.wait - 1)

    def last(self) -> Iterator[Report]:
        """The reports of all windows that are left. Raises: InputError where no line was an event."""
        newest, rejects = self.windows.newest, self.arrivals.rejects
        if newest is None and rejects.counts:
            why = rejects.leftovers()[0].message
            raise InputError(f"no line of the source is an event ({why})", "Check what it is: one JSON object a line.")
        if newest is not None:
            yield from self._until(newest)

    def _until(self, last: int) -> Iterator[Report]:
        settings, first = self.windows.settings, self.windows.first
        if first is None or self.windows.knowledge.base is None:
            return
        while True:
            end = first + settings.window - 1 if self.reported is None else self.reported + settings.slide
            if end > last:
                return
            report = self.windows.report(end)
            self.reported = end
            self.inconsistent |= bool(report.inconsistent)
            self.told.append(report.to_dict())
            yield report

    # --- as a system of `streams.front.run` -------------------------------------------------------

    def flush(self) -> None:
        """Tells the reports that are due."""
        for report in self.due():
            self.heard(report)

    def finish(self) -> Mining:
        """Tells the rest; what came of it."""
        for report in self.last():
            self.heard(report)
        leftovers = self.leftovers()
        stopped = any(window.get("stopped") for window in self.told)
        open_ = stopped or any(blocks(leftover, self.allow) for leftover in leftovers)
        verdict = Verdict.INCONSISTENT if self.inconsistent else Verdict.UNDETERMINED if open_ else Verdict.CONSISTENT
        seconds = {name: round(sum(window["seconds"][name] for window in self.told), 3) for name in self.windows.seconds}
        statistics = {
            **self.counts,
            "duplicates": self.arrivals.duplicates,
            "windows": len(self.told),
            "rules": len(self.told[-1]["rules"]) if self.told else 0,
            "rejected": dict(self.arrivals.rejects.counts),
            "seconds": seconds,
        }
        code = {Verdict.CONSISTENT: 0, Verdict.INCONSISTENT: 1, Verdict.UNDETERMINED: 3}[verdict]
        return Mining(self.told, verdict, tuple(leftovers), statistics, code)

    def leftovers(self) -> list[Leftover]:
        """What was not interpreted, of the ontology and of the stream."""
        return [*self.ontology.leftovers, *self.windows.knowledge.leftovers(), *self.arrivals.rejects.leftovers()]

    def state(self) -> bytes:
        """What `restore` takes."""
        document, columns = stored(self.windows)
        more = {
            "arrivals": self.arrivals.state(),
            "reported": self.reported,
            "told": self.told,
            "inconsistent": self.inconsistent,
            "counts": self.counts,
            "undecided": self.windows.knowledge.undecided,
        }
        return packed({**document, **more}, columns)

    def restore(self, state: bytes) -> None:
        """Goes on where another run was."""
        document, columns = unpacked(state)
        restored(self.windows, self.intake, document, columns)
        self.arrivals.restore(document["arrivals"])
        self.reported, self.told = document["reported"], document["told"]
        self.inconsistent, self.counts = document["inconsistent"], document["counts"]
        self.windows.knowledge.undecided |= document["undecided"]

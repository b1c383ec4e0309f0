"""A stream of records evaluated by a program: one row a point (`streams.front.run.StreamSystem`)."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from shiq.errors import InputError
from shiq.verdict import Leftover
from streams.front.event import EventError
from streams.front.recent_ids import RecentIds
from streams.front.record import Record
from streams.front.rejects import AHEAD, LATE, MALFORMED, UNWRITABLE, leftover_rows
from streams.front.sinks import row_text
from streams.rules.model import Model
from streams.rules.problems import EvaluationError
from streams.rules.records import Reader
from streams.rules.session import Atoms, RuleSession

_WAITING: Final = 500
NO_NODE: Final = "its first argument is no node, so it is no statement of N-Quads"


@dataclass(frozen=True)
class StreamEvaluation:
    """What came of a stream."""

    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """3 where something was rejected or late."""
        return 3 if self.leftovers else 0

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` writes it."""
        return {
            "verdict": None,
            "leftovers": leftover_rows(self.leftovers),
            "statistics": self.statistics,
        }


@dataclass
class RuleStream:
    """Records in, rows out. ``shown``: derived or all; ``quads``: rows are N-Quads; ``heard``:
    hears each model, too. ``push`` makes rows that were written readable; where it is given,
    each point that is closed is written at once.
    """

    session: RuleSession
    reader: Reader
    write: Callable[[Sequence[str]], None]
    shown: str = "derived"
    quads: bool = False
    shards: int = 1
    heard: Callable[[Model], None] = lambda model: None
    push: Callable[[], None] | None = None
    records: int = 0
    broken: int = 0
    duplicates: int = 0
    ids: RecentIds = field(default_factory=RecentIds)
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    _rows: list[str] = field(default_factory=list)

    def take(self, record: Record) -> bool:
        """Takes a record; whether points were closed by it."""
        begun, before = perf_counter(), self.session.points
        others = self.seconds["deciding"] + self.seconds["writing"]
        self.records += 1
        try:
            for t, atoms, name in self.reader.said(record):
                self._take(t, atoms, name, record)
        except EventError as error:
            self.broken += 1
            self.session.rejects.add(MALFORMED, record.source, record.line, str(error), record.text)
        if self.push is not None and self.session.points > before:
            self.flush()
            self.push()
        others = self.seconds["deciding"] + self.seconds["writing"] - others
        self.seconds["reading"] += perf_counter() - begun - others
        return self.session.points > before

    def _take(self, t: int, atoms: Atoms, name: str | None, record: Record) -> None:
        """Takes what holds at a time, unless an event of the same id said so before."""
        session, span = self.session, self.session.program.horizon + self.session.options.lateness
        if self.ids.has(name, t, span):
            self.duplicates += 1
            return
        refused = session.rejects.counts[LATE] + session.rejects.counts[AHEAD]
        for model in self._timed(session.taken(t, atoms, record.source, record.line, record.text)):
            self._tell(model)
        if session.rejects.counts[LATE] + session.rejects.counts[AHEAD] == refused:
            self.ids.add(name, t)
            self.ids.forget(session.clock.watermark, span)

    def _timed(self, models: Any) -> Any:
        while True:
            begun = perf_counter()
            try:
                model = next(models, None)
            except EvaluationError:
                self.flush()  # what earlier points gave
                raise
            self.seconds["deciding"] += perf_counter() - begun
            if model is None:
                return
            yield model

    def _tell(self, model: Model) -> None:
        begun = perf_counter()
        self.heard(model)
        if self.quads:
            quads, none = self.reader.triples.quads(model, self.shown == "derived")
            self._rows += quads
            for atom in none:
                self.session.rejects.add(UNWRITABLE, f"point {model.t}", 0, NO_NODE, atom)
        else:
            atoms = model.derived if self.shown == "derived" else model.atoms
            self._rows.append(row_text({"t": model.t, "atoms": atoms}))
        self.seconds["writing"] += perf_counter() - begun
        if len(self._rows) >= _WAITING:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that wait."""
        begun = perf_counter()
        if self._rows:
            self.write(self._rows)
            self._rows = []
        self.seconds["writing"] += perf_counter() - begun

    def state(self) -> bytes:
        told: dict[str, Any] = {
            "records": self.records,
            "broken": self.broken,
            "unmapped": self.reader.triples.unmapped,
        }
        told |= {"duplicates": self.duplicates, "ids": self.ids.times}
        return json.dumps(told).encode() + b"\n" + self.session.state()

    def restore(self, state: bytes) -> None:
        told, _, rest = state.partition(b"\n")
        found = json.loads(told)
        self.records, self.broken, self.reader.triples.unmapped = (
            found["records"],
            found["broken"],
            found["unmapped"],
        )
        # Checkpoints of versions that took no notice of ids have none.
        self.duplicates, self.ids = found.get("duplicates", 0), RecentIds(found.get("ids", {}))
        self.session.put_back(rest)

    def finish(self) -> StreamEvaluation:
        """Closes the points that are open. Raises: InputError where no record could be read."""
        for model in self._timed(self.session.finished()):
            self._tell(model)
        self.flush()
        rejects = self.session.rejects
        if self.records and self.broken == self.records:
            raise InputError(
                rejects.none_of("an event or a line of atoms"),
                "Write `time atom; atom; …` a line, or JSON.",
            )
        key = self.session.program.key
        statistics = {
            "points": self.session.points,
            "atoms": self.session.atoms,
            "rejected": rejects.counts[MALFORMED],
            "late": rejects.counts[LATE] + rejects.counts[AHEAD],
            "duplicates": self.duplicates,
            "unmapped": self.reader.triples.unmapped,
            "unwritable": rejects.counts[UNWRITABLE],
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
            "peak_mb": peak_mb(),
            "undefined": self.session.program.undefined(self.session.brought),
            "shards": self.shards,
            "key": None if key.key is None else dict(key.key),
        }
        return StreamEvaluation(tuple(rejects.leftovers()), statistics)


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)

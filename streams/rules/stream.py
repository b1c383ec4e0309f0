"""A stream of records evaluated by a program: one row a point."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import perf_counter
from typing import Any, ClassVar, Final

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.streams.front.arrivals import Arrivals
from shiq.streams.front.event import Event, EventError, Record
from shiq.streams.front.operator import BatchReport, Row
from shiq.streams.front.rejects import AHEAD, LATE, MALFORMED, UNWRITABLE, leftover_rows
from shiq.streams.front.sinks import row_text
from shiq.streams.rules.model import Evaluator
from shiq.streams.rules.program import Program
from shiq.streams.rules.records import Reader, parse_record
from shiq.streams.rules.session import EvaluationOptions, RuleSession, evaluator_of
from shiq.streams.rules.stream_operator import RulesOperator
from shiq.streams.rules.syntax import EvaluationError
from shiq.streams.rules.tokens import END_OF_POINT

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
class RuleArrivals(Arrivals):
    """The intake of stream rules: a record may hold several events. ``reader``: reads them;
    ``records``, ``broken``: how many came, and held none.
    """

    reader: Reader = field(default_factory=Reader.of_texts)
    records: int = 0
    broken: int = 0

    def events(self, record: Record) -> Iterator[Event | None]:
        self.records += 1
        try:
            for event in self.reader.events(record):
                found = self.admit(event, record)
                self.points += found is not None and END_OF_POINT in event.atoms
                yield found
        except EventError as error:
            self.broken += 1
            self.reject(MALFORMED, record, str(error), None)


@dataclass
class RuleStream:
    """Makes rows of models (`shiq.streams.front.operator.Collector`). ``shown``: derived or all;
    ``quads``: rows are N-Quads; ``python``: the text of the program's functions. ``push`` makes
    rows that were written readable; where it is given, each point that is closed is written at
    once. ``evaluator``: what evaluates in this process, unless it is ``shards`` engines.
    """

    name: ClassVar[str] = "rules"
    batch: ClassVar[int] = 1_000
    by_point: ClassVar[bool] = True
    patience: ClassVar[float] = inf
    program: Program
    options: EvaluationOptions
    arrivals: RuleArrivals
    write: Callable[[Sequence[str]], None]
    shown: str = "derived"
    quads: bool = False
    shards: int = 1
    python: str | None = None
    push: Callable[[], None] | None = None
    evaluator: Evaluator | None = None
    points: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"atoms": 0, "unmapped": 0})
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    _rows: list[str] = field(default_factory=list)
    _session: RuleSession | None = None

    def __post_init__(self) -> None:
        self.arrivals.window = self.program.horizon
        self._begun = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> RulesOperator:
        """What is done with events; functions are sent to tasks as text."""
        limits, shown = self.arrivals.limits(), (self.shown, self.quads)
        if in_tasks:
            program, limits = (
                replace(self.program, functions={}),
                replace(limits, parse=parse_record),
            )
            return RulesOperator(program, self.options, limits, *shown, self.shards, self.python)
        evaluator = self.evaluator or evaluator_of(self.program, self.options, self.shards)
        return RulesOperator(self.program, self.options, limits, *shown, evaluator=evaluator)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Write the rows of points, each as it is known where they come from one bucket."""
        report.settle(self.arrivals, self.counts)
        before = self.points
        if report.states:
            self._session = report.states[0].session
        self._write(rows)
        if self._session is not None:
            self.arrivals.clock.closed = self._session.closed
        if self._session is None:
            self.flush()  # a batch of tasks is saved whole
        elif self.push is not None and self.points > before:
            self.flush()
            self.push()

    def _write(self, rows: Iterable[Row]) -> None:
        try:
            for row in rows if self._session is not None else _united(rows):
                self._tell(row)
        except EvaluationError:
            self.flush()  # what earlier points gave
            raise

    def _tell(self, row: Row) -> None:
        begun = perf_counter()
        self.points += 1
        for atom in row.get("unwritable", ()):
            self.arrivals.rejects.add(UNWRITABLE, f"point {row['t']}", 0, NO_NODE, atom)
        self._rows += row["atoms"] if self.quads else [row_text(row)]
        if len(self._rows) >= _WAITING:
            self.flush()
        self.seconds["writing"] += perf_counter() - begun

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._rows:
            self.write(self._rows)
            self._rows = []

    def state(self) -> bytes:
        """What `restore` takes."""
        found = {"arrivals": self.arrivals.state(), "points": self.points, "counts": self.counts}
        more = {"records": self.arrivals.records, "broken": self.arrivals.broken}
        return json.dumps({**found, **more}).encode()

    def restore(self, state: bytes) -> None:
        """Go on from the `state` of another run."""
        found, arrivals = _of_before(state), self.arrivals
        arrivals.records, arrivals.broken = found.get("records", 0), found.get("broken", 0)
        self.points, self.counts = found["points"], found["counts"]
        arrivals.restore(found["arrivals"])

    def bucket_states(self, state: bytes) -> list[bytes]:
        """The session in a checkpoint of a version that kept all in one."""
        return [state.partition(b"\n")[2]]

    def finish(self, rows: Iterable[Row]) -> StreamEvaluation:
        """Write the points that are open. Raises: InputError where no record could be read."""
        self._write(rows)
        self.flush()
        arrivals, rejects = self.arrivals, self.arrivals.rejects
        if arrivals.records and arrivals.broken == arrivals.records:
            raise InputError(
                rejects.none_of("an event or a line of atoms"),
                "Write `time atom; atom; …` a line, or JSON.",
            )
        key, spent = self.program.key.key, perf_counter() - self._begun
        self.seconds["reading"] = spent - self.seconds["deciding"] - self.seconds["writing"]
        is_here = self._session is not None
        seconds = self.seconds if is_here else {"all": spent}
        statistics = {
            "points": self.points,
            "atoms": self.counts["atoms"],
            "rejected": rejects.counts[MALFORMED],
            "late": rejects.counts[LATE] + rejects.counts[AHEAD],
            "duplicates": arrivals.duplicates,
            "unmapped": self.counts["unmapped"] + arrivals.reader.triples.unmapped,
            "unwritable": rejects.counts[UNWRITABLE],
            "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
            "peak_mb": peak_mb(),
            "shards": self.shards,
            "key": None if key is None else dict(key),
        }
        if self._session is not None:
            statistics["undefined"] = self.program.undefined(self._session.brought)
        return StreamEvaluation(tuple(rejects.leftovers()), statistics)


def _united(rows: Iterable[Row]) -> Iterator[Row]:
    """The points of all buckets, in order; the atoms of each together."""
    points: dict[int, tuple[set[str], set[str]]] = {}
    for row in rows:
        atoms, unwritable = points.setdefault(row["t"], (set(), set()))
        atoms.update(row["atoms"])
        unwritable.update(row.get("unwritable", ()))
    for t, (atoms, unwritable) in sorted(points.items()):
        more = {"unwritable": sorted(unwritable)} if unwritable else {}
        yield {"t": t, "atoms": sorted(atoms), **more}


def _of_before(state: bytes) -> dict[str, Any]:
    """A `RuleStream.state`, also of versions that had a state for each runner."""
    head, _, rest = state.partition(b"\n")
    found: dict[str, Any] = json.loads(head)
    if "arrivals" in found:
        return found
    session = json.loads(rest.partition(b"\n")[0]) if rest else found
    # Checkpoints of versions that took no notice of ids have none.
    arrivals = {
        "newest": session.get("newest"),
        "closed": session.get("closed"),
        "first": min(map(int, session.get("open", ())), default=None),
        "points": 0,
        "duplicates": found.get("duplicates", found.get("counts", {}).get("duplicates", 0)),
        "ids": found.get("ids", {}),
        "rejects": session["rejects"],
    }
    counts = found.get("counts", {"atoms": session.get("atoms", 0)})
    unmapped = found.get("unmapped", counts.get("unmapped", 0))
    counts = {"atoms": counts["atoms"], "unmapped": unmapped}
    return {**found, "arrivals": arrivals, "points": session["points"], "counts": counts}


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)

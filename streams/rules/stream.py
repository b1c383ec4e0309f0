"""Stream rules as a stream system: an operator that evaluates one program per bucket of atoms, and
the collector of its models.

Atoms go to buckets by the program's key; without a key there is one bucket. Each point gives a row.
A dense timeline has points without input.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Final

from shiq.answers.verdict import Leftover
from shiq.errors import InputError, OperationalError
from shiq.streams.front.event import Event, EventError, Record
from shiq.streams.front.intake import (
    AHEAD,
    LATE,
    MALFORMED,
    UNWRITABLE,
    EventIntake,
    EventLimits,
    StreamTime,
    leftovers_to_rows,
)
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    Collector,
    Columns,
    Operator,
    PartitionedEvents,
    RejectedEvent,
    Row,
)
from shiq.streams.front.sinks import serialise_row
from shiq.streams.rules.model import Evaluator
from shiq.streams.rules.operators import load_functions
from shiq.streams.rules.program import Program, compute_shard
from shiq.streams.rules.records import RuleRecordReader, TripleMapping, parse_record
from shiq.streams.rules.session import (
    EvaluationOptions,
    RuleSession,
    escape_surrogates,
    shard_programs,
    split_legacy_session,
)
from shiq.streams.rules.tokens import END_OF_POINT, AtomError, read_atom


@dataclass(frozen=True)
class RulesOperator(Operator):
    """Stream operator that evaluates a rule program, split into buckets by the program's key
    (implements `shiq.streams.front.operator.Operator`).

    shown_atoms: derived or all.
    quads: whether rows are N-Quads.
    python: text of the program's functions, for tasks that get the program without them.
    evaluator: evaluator for the single bucket, instead of an engine.
    in_tasks: whether it runs in the tasks of a cluster: atoms are sent as texts, and `@end` is
    ignored.
    """

    program: Program
    options: EvaluationOptions
    limits: EventLimits = field(default_factory=EventLimits)
    shown_atoms: str = "derived"
    quads: bool = False
    buckets: int = 1
    python: str | None = None
    evaluator: Evaluator | None = None
    in_tasks: bool = False

    @cached_property
    def programs(self) -> list[Program]:
        """Program of each bucket, with the facts that the bucket needs."""
        whole = self.program
        if self.python is not None and not whole.functions:
            whole = replace(whole, functions=load_functions(self.python))
        if self.buckets == 1 or (key := whole.key.key) is None:
            return [whole]
        return [
            replace(whole, checked_program=part)
            for part in shard_programs(whole.checked_program, key, self.buckets)
        ]

    @cached_property
    def mapping(self) -> TripleMapping:
        """Mapping between RDF triples and atoms by the program's #rdf directives."""
        return TripleMapping(self.program.checked_program.mappings, self.program.unit)

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Split the atoms of events by bucket. An event's atom "" only says that there is a time
        point at its time.
        """
        key, every = (self.program.key.key or {}) if self.buckets > 1 else {}, range(self.buckets)
        found: list[list[tuple[int, int, Any]]] = [[] for _ in every]
        refused, atoms, before = list[RejectedEvent](), 0, self.mapping.unmapped_count
        has_points = self.options.timeline != "dense"
        for number, event in enumerate(events):
            if event is None:
                continue
            t = event.t
            if has_points:
                for rows in found:
                    rows.append((number, t, ""))
            for place, text in enumerate((*event.atoms, *event.triples)):
                atom: str | None = text
                try:
                    if place >= len(event.atoms):
                        atom = self.mapping.triple_to_atom(text)
                    if atom is None:
                        continue
                    if atom == END_OF_POINT:
                        for rows in () if self.in_tasks else found:
                            rows.append((number, t, atom))
                        continue
                    parsed = read_atom(atom)
                except AtomError as error:
                    refused.append((number, MALFORMED, str(error), escape_surrogates(text)))
                    continue
                atoms += 1
                at = key.get(parsed[0])
                for bucket in (
                    every if at is None else (compute_shard(parsed[1][at], self.buckets),)
                ):
                    found[bucket].append((number, t, atom if self.in_tasks else parsed))
        parts: dict[int, Columns] = {}
        for bucket, rows in enumerate(found):
            if rows:
                numbers, times, own = zip(*rows)
                parts[bucket] = {"event": numbers, "t": times, "atom": own}
        return PartitionedEvents(
            parts, refused, {"atoms": atoms, "unmapped": self.mapping.unmapped_count - before}
        )

    def open_state(self, bucket: int, state: bytes | None) -> RulesState:
        """Open the evaluation session of a bucket, new or from saved bytes."""
        session = RuleSession(self.programs[bucket], self.options)
        if self.evaluator is not None:
            session.evaluator = self.evaluator
        if state is not None:
            session.restore(state)
        return RulesState(self, session)


@dataclass(frozen=True)
class RulesState(BucketState):
    """State of one bucket: the session that evaluates the bucket's program."""

    operator: RulesOperator
    session: RuleSession

    @property
    def seen_predicates(self) -> set[str]:
        """Predicates of which the bucket's input had atoms."""
        return self.session.seen_predicates

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> Iterator[Row]:
        """Add atoms and yield the output rows of the time points before the watermark or up to an
        `@end`.
        """
        before = moment.watermark
        for part in parts:
            for t, atom in zip(map(int, part["t"]), part["atom"]):
                if atom == END_OF_POINT:
                    before = max(before or 0, t + 1)
                else:
                    self.session.add_atom(t, atom)
        return iter(()) if before is None else self._evaluate_points(before, moment)

    def finish(self, moment: StreamTime) -> Iterator[Row]:
        """Yield the output rows of all remaining time points."""
        return (
            iter(()) if moment.newest is None else self._evaluate_points(moment.newest + 1, moment)
        )

    def _evaluate_points(self, before: int, moment: StreamTime) -> Iterator[Row]:
        """Evaluate the time points before ``before`` and yield an output row for each model."""
        derived = self.operator.shown_atoms == "derived"
        for model in self.session.close_points(before, moment.first):
            if self.operator.quads:
                quads, none = self.operator.mapping.model_quads(model, derived)
                yield {"t": model.t, "atoms": quads, "unwritable": none}
            else:
                yield {"t": model.t, "atoms": model.derived if derived else model.atoms}

    def to_bytes(self) -> bytes:
        """Serialise the bucket's session."""
        return self.session.state()


_MOST_BUFFERED_ROWS: Final = 500
NO_NODE_REASON: Final = "its first argument is no node, so it is no statement of N-Quads"


@dataclass(frozen=True)
class RulesResult:
    """Result of a run of stream rules: rejected input and figures."""

    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """Exit code: 3 if input was rejected or late, else 0."""
        return 3 if self.leftovers else 0

    def to_dict(self) -> dict[str, Any]:
        """JSON value as ``--json`` prints it."""
        return {
            "verdict": None,
            "leftovers": leftovers_to_rows(self.leftovers),
            "statistics": self.statistics,
        }


@dataclass
class RuleIntake(EventIntake):
    """Intake of events for stream rules, where one record may hold several events.

    reader: parser of records.
    records, broken_records: number of records read and of those without an event.
    """

    reader: RuleRecordReader = field(default_factory=RuleRecordReader.for_texts)
    records: int = 0
    broken_records: int = 0

    def read_events(self, record: Record) -> Iterator[Event | None]:
        """Yield the accepted events of a record; log a malformed record as rejected."""
        self.records += 1
        try:
            for event in self.reader.read_events(record):
                found = self.admit(event, record)
                self.points += found is not None and END_OF_POINT in event.atoms
                yield found
        except EventError as error:
            self.broken_records += 1
            self.reject(MALFORMED, record, str(error), None)


@dataclass
class RulesCollector(Collector[RulesResult]):
    """Writes the model of each time point as an output row (implements
    `shiq.streams.front.operator.Collector`).

    base_operator: the operator without acceptance limits.
    make_readable: flushes written rows for readers; if given, each closed point is written at once.
    """

    name: ClassVar[str] = "rules"
    steps_by_point: ClassVar[bool] = True
    batch_size = 1_000
    base_operator: RulesOperator
    intake: RuleIntake
    write: Callable[[Sequence[str]], None]
    make_readable: Callable[[], None] | None = None
    points: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"atoms": 0, "unmapped": 0})
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    _rows: list[str] = field(default_factory=list)
    _states: Sequence[Any] = ()

    def __post_init__(self) -> None:
        self.intake.window = self.base_operator.program.horizon
        self._started_at = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> RulesOperator:
        """Operator that evaluates the program in this process, or in cluster tasks, which get the
        functions as text.
        """
        limits = self.intake.make_limits()
        if not in_tasks:
            return replace(self.base_operator, limits=limits)
        program = replace(self.base_operator.program, functions={})
        limits = replace(limits, parse=parse_record)
        return replace(self.base_operator, program=program, limits=limits, in_tasks=True)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Write the output rows of a batch; write them at once if each time point must be readable."""
        report.update_intake(self.intake, self.counts)
        before, self._states = self.points, report.states
        self._write_rows(rows)
        if not self._states:
            self.flush()  # a batch of tasks is saved whole
        elif self.make_readable is not None and self.points > before:
            self.flush()
            self.make_readable()

    def _write_rows(self, rows: Iterable[Row]) -> None:
        """Unite and write the output rows of all buckets; rows that precede an error are still
        written.
        """
        try:
            for row in unite_buckets(rows, self.base_operator.buckets):
                begun = perf_counter()
                self._buffer_row(row)
                self.seconds["writing"] += perf_counter() - begun
        except OperationalError:
            self.flush()  # what earlier points gave
            raise

    def _buffer_row(self, row: Row) -> None:
        """Buffer the output row of a time point; log atoms that N-Quads cannot express."""
        self.points += 1
        if self._states:
            self.intake.tracker.closed_until = row["t"]
        for atom in row.get("unwritable", ()):
            self.intake.rejects.add_reject(UNWRITABLE, f"point {row['t']}", 0, NO_NODE_REASON, atom)
        self._rows += row["atoms"] if self.base_operator.quads else [serialise_row(row)]
        if len(self._rows) >= _MOST_BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the buffered output rows."""
        if self._rows:
            self.write(self._rows)
            self._rows = []

    def state(self) -> bytes:
        """State of the collector for a checkpoint; `restore` reads it."""
        found = {"arrivals": self.intake.state(), "points": self.points, "counts": self.counts}
        more = {"records": self.intake.records, "broken": self.intake.broken_records}
        return json.dumps({**found, **more}).encode()

    def restore(self, state: bytes) -> None:
        """Continue from the `state` that a collector of another run saved."""
        found, arrivals = _read_legacy_state(state), self.intake
        arrivals.records, arrivals.broken_records = found.get("records", 0), found.get("broken", 0)
        self.points, self.counts = found["points"], found["counts"]
        arrivals.restore(found["arrivals"])

    def legacy_bucket_states(self, state: bytes) -> list[bytes]:
        """Split the saved state of an older version, with one session for all buckets, into a state
        per bucket.
        """
        session, key = state.partition(b"\n")[2], self.base_operator.program.key.key
        if self.base_operator.buckets == 1 or key is None:
            return [session]
        return split_legacy_session(session, key, self.base_operator.buckets)

    def finish(self, rows: Iterable[Row]) -> RulesResult:
        """Write the remaining output rows and return the result. Raises: InputError if no record
        could be read.
        """
        self._write_rows(rows)
        self.flush()
        arrivals, rejects = self.intake, self.intake.rejects
        if arrivals.records and arrivals.broken_records == arrivals.records:
            raise InputError(
                rejects.explain_nothing_read("an event or a line of atoms"),
                "Write `time atom; atom; …` a line, or JSON.",
            )
        key, spent = self.base_operator.program.key.key, perf_counter() - self._started_at
        self.seconds["reading"] = spent - self.seconds["deciding"] - self.seconds["writing"]
        seconds = self.seconds if self._states else {"all": spent}
        statistics = {
            "points": self.points,
            "atoms": self.counts["atoms"],
            "rejected": rejects.counts[MALFORMED],
            "late": rejects.counts[LATE] + rejects.counts[AHEAD],
            "duplicates": arrivals.duplicates,
            "unmapped": self.counts["unmapped"] + arrivals.reader.triples.unmapped_count,
            "unwritable": rejects.counts[UNWRITABLE],
            "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
            "peak_mb": peak_memory_mb(),
            "shards": self.base_operator.buckets,
            "key": None if key is None else dict(key),
        }
        if self._states:
            brought = set[str]().union(*(state.seen_predicates for state in self._states))
            statistics["undefined"] = self.base_operator.program.undefined_predicates(brought)
        return RulesResult(tuple(rejects.leftovers()), statistics)


def unite_buckets(rows: Iterable[Row], buckets: int) -> Iterator[Row]:
    """Merge the rows that all buckets give for a time point into one, and yield it when the last
    bucket's row is there.
    """
    points = defaultdict[int, list[Row]](list)
    for row in rows:
        parts = points[row["t"]]
        parts.append(row)
        if len(parts) == buckets:
            del points[row["t"]]
            if buckets > 1:
                names = [name for name in row if name != "t"]
                texts = (sorted({one for part in parts for one in part[name]}) for name in names)
                row = {"t": row["t"], **dict(zip(names, texts))}
            yield row
    if points:
        raise OperationalError(
            f"not all shards gave the points {', '.join(map(str, sorted(points)[:5]))}",
            "Run it again with --shards 1, and please report it.",
        )


def _read_legacy_state(state: bytes) -> dict[str, Any]:
    """Parse a collector's saved state; states of older versions are converted."""
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


def peak_memory_mb() -> float:
    """Peak memory of this process in MB; 0 if the platform does not measure it (Windows)."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)

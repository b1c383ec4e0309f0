"""Stream rules on Spark: atoms by key in buckets, an evaluator each; the models of a point together on the driver.

A program without a key has one bucket. A bucket without input has its points all the same: it hears how far the time is. Rows are
those of one process, except that `@end` closes nothing (time alone does), that nothing is late where there are several finite
sources, which are not merged by time here, and that rows which span points (verdicts, conflicts) are for one process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

import pyarrow as pa  # type: ignore[import-untyped]

from jobs.spark.session import stop
from jobs.streaming.chunks import Limits, Moment, Row, Split
from jobs.streaming.ordering import BatchTold
from jobs.streaming.query import Query
from jobs.streaming.session import streaming_session
from jobs.streaming.sources import is_kafka
from streams.front.event import Event
from streams.front.rejects import AHEAD, LATE, MALFORMED, UNWRITABLE, Rejects
from streams.front.run import Run
from streams.rules.atoms import END_OF_POINT, AtomError, read_atom
from streams.rules.functions import functions_of
from streams.rules.key import shard_of
from streams.rules.program import Program
from streams.rules.records import parse_record
from streams.rules.session import Options, Session
from streams.rules.shards import parts_of
from streams.rules.stream import NO_NODE, StreamEvaluation, peak_mb
from streams.rules.triples import Mapping


@dataclass(frozen=True)
class Rules:
    """`jobs.streaming.chunks.System`. ``program`` is without functions, which no task could be sent: ``python`` is their text."""

    program: Program
    python: str | None
    options: Options
    limits: Limits
    shown: str = "derived"
    quads: bool = False
    buckets: int = 1

    @cached_property
    def _kept(self) -> dict[int, tuple[bytes, Session]]:
        """The sessions of a worker, with the states that they are in."""
        return {}

    @cached_property
    def _parts(self) -> list[Program]:
        functions = functions_of(self.python) if self.python is not None else {}
        whole = replace(self.program, functions=functions)
        key = whole.key.key
        if self.buckets == 1 or key is None:
            return [whole]
        return [replace(whole, checked=part) for part in parts_of(whole.checked, key, self.buckets)]

    def split(self, events: Sequence[Event | None]) -> Split:
        """Texts of atoms by bucket; a text "" says that there is a point."""
        mapping, key = Mapping(self.program.checked.mapped, self.limits.unit), self.program.key.key or {}
        rows: dict[int, list[tuple[int, int, str]]] = {bucket: [] for bucket in range(self.buckets)}
        refused, atoms = list[tuple[int, str, str, str]](), 0
        for number, event in enumerate(events):
            if event is None:
                continue
            if self.options.timeline != "dense":
                for every in rows.values():
                    every.append((number, event.t, ""))
            for text, is_triple in [*((text, False) for text in event.atoms), *((text, True) for text in event.triples)]:
                try:
                    atom = mapping.atom(text) if is_triple else text
                    if atom is None or atom == END_OF_POINT:
                        continue
                    predicate, row = read_atom(atom)
                except AtomError as error:
                    refused.append((number, MALFORMED, str(error), text))
                    continue
                at = key.get(predicate) if self.buckets > 1 else None
                atoms += 1
                for bucket in range(self.buckets) if at is None else (shard_of(row[at], self.buckets),):
                    rows[bucket].append((number, event.t, atom))
        tables = {
            bucket: pa.table({"event": [n for n, _, _ in found], "t": [t for _, t, _ in found], "atom": [a for _, _, a in found]})
            for bucket, found in rows.items()
            if found
        }
        return Split(tables, refused, {"atoms": atoms, "unmapped": mapping.unmapped})

    def step(self, bucket: int, state: bytes | None, parts: Sequence[pa.Table], moment: Moment) -> tuple[bytes, list[Row]]:
        """Takes atoms, and evaluates the points before the watermark."""
        session = self._session(bucket, state)
        for part in parts:
            for t, atom in zip(part["t"].to_pylist(), part["atom"].to_pylist()):
                session.add(t, [atom] if atom else ())
        rows = [] if moment.watermark is None else self._rows(session, moment.watermark, moment)
        after = session.state()
        self._kept[bucket] = after, session
        return after, rows

    def finish(self, bucket: int, state: bytes, moment: Moment) -> list[Row]:
        """The points that are open."""
        return [] if moment.newest is None else self._rows(self._session(bucket, state), moment.newest + 1, moment)

    def _session(self, bucket: int, state: bytes | None) -> Session:
        kept = self._kept.pop(bucket, None)
        if kept is not None and kept[0] == state:
            return kept[1]
        session = Session(self._parts[bucket], self.options)
        if state is not None:
            session.put_back(state)
        return session

    def _rows(self, session: Session, before: int, moment: Moment) -> list[Row]:
        mapping = Mapping(self.program.checked.mapped, self.limits.unit)
        models = session.close(before, moment.first)
        derived = self.shown == "derived"
        if not self.quads:
            return [{"t": model.t, "atoms": model.derived if derived else model.atoms} for model in models]
        found = ((model.t, *mapping.quads(model, derived)) for model in models)
        return [{"t": t, "atoms": quads, "unwritable": none} for t, quads, none in found]


@dataclass
class Models:
    """The models of all buckets as rows of the run; `jobs.streaming.query.Listener`."""

    run: Run
    system: Rules
    rejects: Rejects
    points: int = 0
    counts: dict[str, int] = field(default_factory=lambda: {"events": 0, "atoms": 0, "unmapped": 0})

    def hear(self, told: BatchTold, rows: list[Row]) -> None:
        """Takes a batch: each of its points is there from every bucket."""
        for name in self.counts:
            self.counts[name] += told.counts.get(name, 0)
        for kind, source, line, reason, text, _ in told.rejects:
            self.rejects.add(kind, source, line, reason, text)
        self.take(rows)

    def take(self, rows: Sequence[Row]) -> None:
        """Writes the rows of points, the atoms of all buckets together."""
        points: dict[int, set[str]] = {}
        unwritable = {(row["t"], atom) for row in rows for atom in row.get("unwritable", ())}
        for t, atom in sorted(unwritable):
            self.rejects.add(UNWRITABLE, f"point {t}", 0, NO_NODE, atom)
        for row in rows:
            points.setdefault(row["t"], set()).update(row["atoms"])
        self.points += len(points)
        for t, atoms in sorted(points.items()):
            if self.system.quads:
                self.run.outputs.texts("out")(sorted(atoms))
            else:
                self.run.outputs.write("out", [{"t": t, "atoms": sorted(atoms)}])

    def state(self) -> bytes:
        return json.dumps({"points": self.points, "counts": self.counts, "rejects": self.rejects.state()}).encode()

    def restore(self, state: bytes) -> None:
        held = json.loads(state)
        self.points, self.counts = held["points"], held["counts"]
        self.rejects.restore(held["rejects"])


def on_spark(
    run: Run,
    program: Program,
    python: str | None,
    options: Options,
    targets: Sequence[str],
    *,
    shown: str = "derived",
    quads: bool = False,
    shards: int = 1,
    format: str = "auto",
    follow: bool = False,
    master: str | None = None,
) -> StreamEvaluation:
    """What a program says of a stream, by Spark Structured Streaming. Raises: UsageError, InputError, OperationalError."""
    begun = perf_counter()
    lateness = None if len(targets) > 1 and not follow else options.lateness
    limits = Limits(program.unit, lateness, options.max_ahead, parse=parse_record)
    system = Rules(replace(program, functions={}), python, options, limits, shown, quads, shards)
    models = Models(run, system, Rejects(run.outputs.texts("rejects")))
    session, started = streaming_session(master, kafka=is_kafka(targets))
    try:
        models.take(Query(session, targets, system, models, run, format).drive(follow=follow))
    finally:
        if started:
            stop(session)
    run.outputs.flush()
    key, counts = program.key.key, models.rejects.counts
    told = {
        "points": models.points,
        "atoms": models.counts["atoms"],
        "rejected": counts[MALFORMED],
        "late": counts[LATE] + counts[AHEAD],
        "unmapped": models.counts["unmapped"],
        "unwritable": counts[UNWRITABLE],
        "seconds": {"all": round(perf_counter() - begun, 3)},
        "peak_mb": peak_mb(),
        "shards": shards,
        "key": None if key is None else dict(key),
    }
    return StreamEvaluation(tuple(models.rejects.leftovers()), told)

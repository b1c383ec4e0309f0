"""Stream rules on Spark: atoms by key in buckets, an evaluator each; the models of a point
together on the driver.

A program without a key has one bucket. A bucket without input has its points all the same: it
hears how far the time is. Rows are those of one process, except that `@end` closes nothing (time
alone does), that nothing is late where there are several finite sources, which are not merged by
time here, and that rows which span points (verdicts, conflicts) are for one process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import ClassVar

import pyarrow as pa  # type: ignore[import-untyped]

from jobs.streaming.chunks import EventLimits, Moment, Row, Split, taken
from jobs.streaming.ordering import BatchTold
from streams.front.event import Event
from streams.front.rejects import AHEAD, LATE, MALFORMED, UNWRITABLE, RejectLog
from streams.front.run import StreamRun
from streams.rules.atoms import END_OF_POINT, AtomError, read_atom
from streams.rules.functions import functions_of
from streams.rules.key import shard_of
from streams.rules.program import Program
from streams.rules.records import parse_record
from streams.rules.session import EvaluationOptions, RuleSession
from streams.rules.shards import parts_of
from streams.rules.stream import NO_NODE, StreamEvaluation, peak_mb
from streams.rules.triples import Mapping


@dataclass(frozen=True)
class Rules:
    """`jobs.streaming.chunks.SparkSystem`. ``program`` is without functions, which no task could
    be sent: ``python`` is their text. ``unordered``: nothing is late.
    """

    shows: ClassVar[bool] = False
    program: Program
    python: str | None
    options: EvaluationOptions
    unordered: bool = False
    shown: str = "derived"
    quads: bool = False
    buckets: int = 1

    @property
    def limits(self) -> EventLimits:
        lateness = None if self.unordered else self.options.lateness
        return EventLimits(
            self.program.unit,
            lateness,
            self.options.max_ahead,
            self.program.horizon,
            parse=parse_record,
        )

    @cached_property
    def _kept(self) -> dict[int, tuple[bytes, RuleSession]]:
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
        mapping, key = (
            Mapping(self.program.checked.mapped, self.program.unit),
            self.program.key.key or {},
        )
        rows: dict[int, list[tuple[int, int, str]]] = {bucket: [] for bucket in range(self.buckets)}
        refused, atoms = list[tuple[int, str, str, str]](), 0
        for number, event in enumerate(events):
            if event is None:
                continue
            if self.options.timeline != "dense":
                for every in rows.values():
                    every.append((number, event.t, ""))
            for text, is_triple in [
                *((text, False) for text in event.atoms),
                *((text, True) for text in event.triples),
            ]:
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
                for bucket in (
                    range(self.buckets) if at is None else (shard_of(row[at], self.buckets),)
                ):
                    rows[bucket].append((number, event.t, atom))
        tables = {
            bucket: pa.table(
                {
                    "event": [n for n, _, _ in found],
                    "t": [t for _, t, _ in found],
                    "atom": [a for _, _, a in found],
                }
            )
            for bucket, found in rows.items()
            if found
        }
        return Split(tables, refused, {"atoms": atoms, "unmapped": mapping.unmapped})

    def step(
        self, bucket: int, state: bytes | None, parts: Sequence[pa.Table], moment: Moment
    ) -> tuple[bytes, list[Row]]:
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
        return (
            []
            if moment.newest is None
            else self._rows(self._session(bucket, state), moment.newest + 1, moment)
        )

    def _session(self, bucket: int, state: bytes | None) -> RuleSession:
        kept = taken(self._kept, bucket, state)
        if kept is not None:
            return kept
        session = RuleSession(self._parts[bucket], self.options)
        if state is not None:
            session.put_back(state)
        return session

    def _rows(self, session: RuleSession, before: int, moment: Moment) -> list[Row]:
        mapping = Mapping(self.program.checked.mapped, self.program.unit)
        models = session.close(before, moment.first)
        derived = self.shown == "derived"
        if not self.quads:
            return [
                {"t": model.t, "atoms": model.derived if derived else model.atoms}
                for model in models
            ]
        found = ((model.t, *mapping.quads(model, derived)) for model in models)
        return [{"t": t, "atoms": quads, "unwritable": none} for t, quads, none in found]


@dataclass
class Models:
    """The models of all buckets as rows of the run; `jobs.streaming.query.Listener`."""

    name: ClassVar[str] = "rules"
    run: StreamRun
    system: Rules
    points: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("atoms", "unmapped", "duplicates"), 0)
    )
    begun: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        self.rejects = RejectLog(self.run.outputs.texts("rejects"))

    def hear(self, told: BatchTold, rows: list[Row]) -> None:
        """Takes a batch: each of its points is there from every bucket."""
        for name in self.counts:
            self.counts[name] += told.counts.get(name, 0)
        for reject in told.rejects:
            self.rejects.add(*reject[:5])
        self._write(rows)

    def _write(self, rows: Sequence[Row]) -> None:
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
        return json.dumps(
            {"points": self.points, "counts": self.counts, "rejects": self.rejects.state()}
        ).encode()

    def restore(self, state: bytes) -> None:
        held = json.loads(state)
        self.points, self.counts = held["points"], self.counts | held["counts"]
        self.rejects.restore(held["rejects"])

    def finish(self, rows: Sequence[Row]) -> StreamEvaluation:
        """Writes the last points; what came of the stream."""
        self._write(rows)
        key, counts = self.system.program.key.key, self.rejects.counts
        told = {
            "points": self.points,
            "atoms": self.counts["atoms"],
            "rejected": counts[MALFORMED],
            "late": counts[LATE] + counts[AHEAD],
            "duplicates": self.counts["duplicates"],
            "unmapped": self.counts["unmapped"],
            "unwritable": counts[UNWRITABLE],
            "seconds": {"all": round(perf_counter() - self.begun, 3)},
            "peak_mb": peak_mb(),
            "shards": self.system.buckets,
            "key": None if key is None else dict(key),
        }
        return StreamEvaluation(tuple(self.rejects.leftovers()), told)

"""Rules learnt from streams, on Spark: what a snapshot entails is worked out in tasks, from T
and A saturated once.

A bucket has the snapshots of some words, each of 64 that follow upon each other. It keeps what
they assert, and tells after each batch what those that changed entail, as columns of a word. The
driver puts these together, and reports on windows as one process does; the end of finite sources
is the end of a window's input, since they are not merged by time here. Of a stream that is
followed a window is reported once a batch brought a later snapshot, with all that came so far.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Final

import pyarrow as pa  # type: ignore[import-untyped]

from jobs.streaming.chunks import EventLimits, Moment, Row, Split, taken
from jobs.streaming.ordering import BatchTold
from shiq import model as owl
from shiq.bits import bits
from streams.discovery.atomsets import Atom
from streams.discovery.entailing import MinerKnowledge, UndecidedEntailmentError
from streams.discovery.intake import AssertionIntake
from streams.discovery.stream import Discovery, Mining
from streams.front.event import Event

#: Fixed for a checkpoint; so many tasks work on a batch at most.
BUCKETS: Final = 16
_WORD: Final = 64

#: What snapshots assert, as N-Triples, each once, by index.
Texts = dict[int, dict[str, None]]


@dataclass(frozen=True)
class SnapshotEntailment:
    """`jobs.streaming.chunks.SparkSystem`. ``knowledge``: opened, so that what it saturated once
    is sent along.
    """

    shows: ClassVar[bool] = False
    knowledge: MinerKnowledge
    signature: owl.Signature
    limits: EventLimits
    buckets: int = BUCKETS

    @cached_property
    def _intake(self) -> AssertionIntake:
        return AssertionIntake(self.signature)

    @cached_property
    def _kept(self) -> dict[int, tuple[bytes, Texts]]:
        """What a worker has read of the states of its buckets."""
        return {}

    def split(self, events: Sequence[Event | None]) -> Split:
        """The triples of events that can be used, by the word of their snapshot."""
        found, refused = (
            dict[int, list[tuple[int, int, list[str]]]](),
            list[tuple[int, str, str, str]](),
        )
        for number, event in enumerate(events):
            if event is None:
                continue
            unused = set[str]()

            def tell(
                kind: str, reason: str, text: str, number: int = number, unused: set[str] = unused
            ) -> None:
                refused.append((number, kind, reason, text))
                unused.add(text)

            self._intake.assertions(event.triples, tell)
            texts = [text for text in event.triples if text not in unused]
            found.setdefault(event.t // _WORD % self.buckets, []).append((number, event.t, texts))
        parts = {
            bucket: pa.table(
                {name: [row[at] for row in rows] for at, name in enumerate(("event", "t", "texts"))}
            )
            for bucket, rows in found.items()
        }
        return Split(parts, refused)

    def step(
        self, bucket: int, state: bytes | None, parts: Sequence[pa.Table], moment: Moment
    ) -> tuple[bytes, list[Row]]:
        """Unites snapshots with what came; a row for each word of which some changed."""
        held, new = self._held(bucket, state), Texts()
        for part in parts:
            for t, texts in zip(part["t"].to_pylist(), part["texts"].to_pylist()):
                if t not in held:
                    held[t], new[t] = {}, {}
                more = dict.fromkeys(text for text in texts if text not in held[t])
                if more:
                    held[t].update(more)
                    new.setdefault(t, {}).update(more)
        rows = [
            self._word(held, new, list(changed))
            for _, changed in groupby(sorted(new), lambda t: t // _WORD)
        ]
        for t in [t for t in held if moment.watermark is not None and t < moment.watermark]:
            del held[t]
        after = zlib.compress(
            json.dumps([[t, list(texts)] for t, texts in held.items()]).encode(), 1
        )
        self._kept[bucket] = after, held
        return after, rows

    def finish(self, bucket: int, state: bytes, moment: Moment) -> list[Row]:
        """Nothing: all is told as it comes."""
        return []

    def _held(self, bucket: int, state: bytes | None) -> Texts:
        kept = taken(self._kept, bucket, state)
        if kept is not None or state is None:
            return kept or {}
        return {t: dict.fromkeys(texts) for t, texts in json.loads(zlib.decompress(state))}

    def _word(self, held: Texts, new: Texts, changed: Sequence[int]) -> Row:
        """``told``: what is new of the snapshots that changed; ``out``: those that entail
        nothing usable, and why that is not known; ``columns``: atoms, each with the bits of the
        others that entail it.
        """
        columns, out = dict[Atom, int](), list[tuple[int, str | None]]()
        for t in changed:
            reason = None
            try:
                found = self.knowledge.entailed(
                    self._intake.assertions(list(held[t]), lambda kind, reason, text: None)
                )
            except UndecidedEntailmentError as undecided:
                found, reason = None, undecided.reason
            if found is None:
                out.append((t, reason))
            for atom in found or ():
                columns[atom] = columns.get(atom, 0) | 1 << t % _WORD
        return {
            "told": [(t, list(new[t])) for t in changed],
            "out": out,
            "columns": list(columns.items()),
        }


@dataclass(frozen=True)
class EntailedWindows:
    """Windows of snapshots that tasks looked at; `jobs.streaming.query.Listener`."""

    name: ClassVar[str] = "discover"
    discovery: Discovery

    @cached_property
    def system(self) -> SnapshotEntailment:
        """What tasks do; all is worked out that is done once."""
        knowledge, arrivals = self.discovery.windows.knowledge, self.discovery.arrivals
        knowledge.entailed(())
        clock = arrivals.clock
        limits = EventLimits(
            arrivals.unit,
            clock.lateness,
            clock.max_ahead,
            arrivals.window,
            step=self.discovery.step,
        )
        return SnapshotEntailment(knowledge, self.discovery.ontology.signature, limits)

    def hear(self, told: BatchTold, rows: Sequence[Row]) -> None:
        """Takes a batch, and reports what is due by it."""
        discovery = self.discovery
        told.settle(discovery.arrivals, discovery.counts)
        for row in sorted(rows, key=lambda row: row["told"][0][0]):
            self._take(row)
        newest = told.moment.newest
        if discovery.wait is not None and newest is not None:
            discovery.report_until(newest - discovery.wait - 1)

    def _take(self, row: Row) -> None:
        windows, assertions = self.discovery.windows, self.discovery.intake.assertions
        changed = [t for t, _ in row["told"]]
        entailed: dict[int, list[Any] | None] = {t: [] for t in changed} | {
            t: None for t, _ in row["out"]
        }
        first = changed[0] - changed[0] % _WORD
        for atom, mask in row["columns"]:
            for place in bits(mask):
                entailed[first + place].append(tuple(atom))  # type: ignore[union-attr]
        undecided = dict(row["out"])
        for t, texts in row["told"]:
            windows.put(t, assertions(texts, lambda kind, reason, text: None))
            windows.snapshots.learn(t, entailed[t], undecided.get(t))

    def state(self) -> bytes:
        return self.discovery.state()

    def restore(self, state: bytes) -> None:
        self.discovery.restore(state)

    def finish(self, rows: Sequence[Row]) -> Mining:
        """What the windows that are left bring."""
        return self.discovery.finish()

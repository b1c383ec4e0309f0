"""What a stream is mined from as an operator: the triples of snapshots, by words of 64 snapshots
that follow upon each other; in tasks, what each snapshot entails, too.

A bucket keeps what its snapshots assert, and tells after each batch what those that changed
entail, as columns of a word. In this process that is worked out when a window is reported.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Final

import numpy as np

from shiq import model as owl
from shiq.streams.discovery.atomsets import Atom
from shiq.streams.discovery.entailing import MinerKnowledge, UndecidedEntailmentError
from shiq.streams.discovery.ontology import AssertionIntake
from shiq.streams.front.arrivals import EventLimits, Moment
from shiq.streams.front.event import Event
from shiq.streams.front.operator import Columns, Refused, Row, Split

#: Fixed for a checkpoint; so many tasks work on a batch at most.
BUCKETS: Final = 16
#: Snapshots whose entailments are told together.
WORD: Final = 64

#: What snapshots assert, as N-Triples, each once, by index.
Texts = dict[int, dict[str, None]]


@dataclass(frozen=True)
class SnapshotOperator:
    """`shiq.streams.front.operator.Operator`. ``knowledge``: what works out what is entailed,
    opened, so that what it saturated once is sent along; None where that is not asked.
    """

    shows: ClassVar[bool] = False
    durable: ClassVar[bool] = True
    signature: owl.Signature
    limits: EventLimits
    knowledge: MinerKnowledge | None = None
    buckets: int = 1

    @cached_property
    def intake(self) -> AssertionIntake:
        return AssertionIntake(self.signature)

    def split(self, events: Sequence[Event | None]) -> Split:
        """The triples of events that can be used, by the word of their snapshot."""
        found, refused = dict[int, list[tuple[int, int, list[str]]]](), list[Refused]()
        for number, event in enumerate(events):
            if event is None:
                continue
            unused = set[str]()

            def tell(
                kind: str, reason: str, text: str, number: int = number, unused: set[str] = unused
            ) -> None:
                refused.append((number, kind, reason, text))
                unused.add(text)

            self.intake.assertions(event.triples, tell)
            texts = [text for text in event.triples if text not in unused]
            bucket = event.t // WORD % self.buckets
            found.setdefault(bucket, []).append((number, event.t, texts))
        parts: dict[int, Columns] = {}
        for bucket, rows in found.items():
            numbers, times, own = zip(*rows)
            parts[bucket] = {"event": np.array(numbers), "t": np.array(times), "texts": list(own)}
        return Split(parts, refused)

    def open(self, bucket: int, state: bytes | None) -> SnapshotState:
        """The snapshots of a bucket."""
        found = json.loads(zlib.decompress(state)) if state else ()
        return SnapshotState(self, {t: dict.fromkeys(texts) for t, texts in found})


@dataclass(frozen=True)
class SnapshotState:
    """What the snapshots of a bucket assert, as long as they may change; nothing where it is not
    asked what they entail.
    """

    operator: SnapshotOperator
    held: Texts = field(default_factory=dict)

    def step(self, parts: Sequence[Columns], moment: Moment) -> list[Row]:
        """Unite snapshots with what came; a row for each word of which some changed."""
        came = [(t, texts) for part in parts for t, texts in zip(part["t"].tolist(), part["texts"])]
        if self.operator.knowledge is None:
            return [{"told": came}]
        held, new = self.held, Texts()
        for t, texts in came:
            if t not in held:
                held[t], new[t] = {}, {}
            more = dict.fromkeys(text for text in texts if text not in held[t])
            if more:
                held[t].update(more)
                new.setdefault(t, {}).update(more)
        rows = [
            self._word(self.operator.knowledge, new, list(changed))
            for _, changed in groupby(sorted(new), lambda t: t // WORD)
        ]
        for t in [t for t in held if moment.watermark is not None and t < moment.watermark]:
            del held[t]
        return rows

    def _word(self, knowledge: MinerKnowledge, new: Texts, changed: Sequence[int]) -> Row:
        """``told``: what is new of the snapshots that changed; ``out``: those that entail
        nothing usable, and why that is not known; ``columns``: atoms, each with the bits of the
        others that entail it.
        """
        columns, out = dict[Atom, int](), list[tuple[int, str | None]]()
        for t in changed:
            reason = None
            try:
                found = knowledge.entailed(
                    self.operator.intake.assertions([*self.held[t]], lambda *refused: None)
                )
            except UndecidedEntailmentError as undecided:
                found, reason = None, undecided.reason
            if found is None:
                out.append((t, reason))
            for atom in found or ():
                columns[atom] = columns.get(atom, 0) | 1 << t % WORD
        told = [(t, list(new[t])) for t in changed]
        return {"told": told, "out": out, "columns": list(columns.items())}

    def finish(self, moment: Moment) -> Iterable[Row]:
        """Nothing: all is told as it comes."""
        return ()

    def to_bytes(self) -> bytes:
        texts: Any = [[t, list(texts)] for t, texts in self.held.items()]
        return zlib.compress(json.dumps(texts).encode(), 1) if texts else b""

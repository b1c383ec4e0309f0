"""Stream rules as an operator: atoms by key in buckets, an evaluator each. A program without a
key has one bucket; one without input has its points all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from shiq.streams.front.arrivals import EventLimits, Moment
from shiq.streams.front.event import Event
from shiq.streams.front.operator import Columns, Refused, Row, Split
from shiq.streams.front.rejects import MALFORMED
from shiq.streams.rules.key import shard_of
from shiq.streams.rules.model import Evaluator
from shiq.streams.rules.operators import functions_of
from shiq.streams.rules.program import Program
from shiq.streams.rules.records import TripleMapping
from shiq.streams.rules.session import EvaluationOptions, RuleSession, file_text, parts_of
from shiq.streams.rules.tokens import END_OF_POINT, AtomError, read_atom


@dataclass(frozen=True)
class RulesOperator:
    """`shiq.streams.front.operator.Operator`. ``python``: the text of the program's functions,
    where it has to be sent without them; ``evaluator``: what evaluates it, where it is in this
    process; then atoms need not be sent as texts, and `@end` closes a point.
    """

    shows: ClassVar[bool] = False
    durable: ClassVar[bool] = True
    program: Program
    options: EvaluationOptions
    limits: EventLimits
    shown: str = "derived"
    quads: bool = False
    buckets: int = 1
    python: str | None = None
    evaluator: Evaluator | None = None

    @cached_property
    def programs(self) -> list[Program]:
        """The program of each bucket."""
        whole = self.program
        if self.python is not None:
            whole = replace(whole, functions=functions_of(self.python))
        if self.buckets == 1 or (key := whole.key.key) is None:
            return [whole]
        return [replace(whole, checked=part) for part in parts_of(whole.checked, key, self.buckets)]

    @cached_property
    def mapping(self) -> TripleMapping:
        return TripleMapping(self.program.checked.mapped, self.program.unit)

    def split(self, events: Sequence[Event | None]) -> Split:
        """Atoms by bucket, by event; an atom "" says that there is a point."""
        key, every = (self.program.key.key or {}) if self.buckets > 1 else {}, range(self.buckets)
        found: list[list[tuple[int, int, Any]]] = [[] for _ in every]
        refused, atoms, before = list[Refused](), 0, self.mapping.unmapped
        is_here, has_points = self.evaluator is not None, self.options.timeline != "dense"
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
                        atom = self.mapping.atom(text)
                    if atom is None:
                        continue
                    if atom == END_OF_POINT:
                        if is_here:
                            found[0].append((number, t, atom))
                        continue
                    parsed = read_atom(atom)
                except AtomError as error:
                    refused.append((number, MALFORMED, str(error), file_text(text)))
                    continue
                atoms += 1
                at = key.get(parsed[0])
                for bucket in every if at is None else (shard_of(parsed[1][at], self.buckets),):
                    found[bucket].append((number, t, parsed if is_here else atom))
        parts: dict[int, Columns] = {}
        for bucket, rows in enumerate(found):
            if rows:
                numbers, times, own = zip(*rows)
                parts[bucket] = {"event": numbers, "t": times, "atom": own}
        return Split(parts, refused, {"atoms": atoms, "unmapped": self.mapping.unmapped - before})

    def open(self, bucket: int, state: bytes | None) -> RulesState:
        """The session of a bucket."""
        session = RuleSession(self.programs[bucket], self.options)
        if self.evaluator is not None:
            session.evaluator = self.evaluator
        if state is not None:
            session.put_back(state)
        return RulesState(self, session)


@dataclass(frozen=True)
class RulesState:
    """The open points of a bucket, and its evaluator."""

    operator: RulesOperator
    session: RuleSession

    def step(self, parts: Sequence[Columns], moment: Moment) -> Iterator[Row]:
        """Take atoms, and evaluate the points before the watermark, or up to one that ended."""
        before = moment.watermark
        for part in parts:
            for t, atom in zip(map(int, part["t"]), part["atom"]):
                if atom == END_OF_POINT:
                    before = max(before or 0, t + 1)
                else:
                    self.session.add(t, atom)
        return iter(()) if before is None else self._rows(before, moment)

    def finish(self, moment: Moment) -> Iterator[Row]:
        """The points that are open."""
        return iter(()) if moment.newest is None else self._rows(moment.newest + 1, moment)

    def _rows(self, before: int, moment: Moment) -> Iterator[Row]:
        derived = self.operator.shown == "derived"
        for model in self.session.close(before, moment.first):
            if self.operator.quads:
                quads, none = self.operator.mapping.quads(model, derived)
                yield {"t": model.t, "atoms": quads, "unwritable": none}
            else:
                yield {"t": model.t, "atoms": model.derived if derived else model.atoms}

    def to_bytes(self) -> bytes:
        return self.session.state()

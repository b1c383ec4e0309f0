"""``rate://N``: events drawn over a TBox's vocabulary, to try things out; the same ones for the
same TBox.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shiq.errors import UsageError
from shiq.model import RDF, Signature
from streams.front.event import Event
from streams.front.record import Record

#: Points of time that are drawn where the stream is not followed.
POINTS = 100
#: Individuals, for each event of a point.
_SPREAD = 10


@dataclass
class Rate:
    """``number`` events at each point of time: a class or a role of individuals. Followed, a
    point is a second and there is no end; else all `POINTS` come at once. Position: events.
    """

    name: str
    number: int
    classes: Sequence[str]
    roles: Sequence[str]
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        first, done = divmod(self.position, self.number)
        begun = time.monotonic() - first
        for t in itertools.count(first) if follow else range(first, POINTS):
            if follow:
                time.sleep(max(0.0, begun + t - time.monotonic()))
            draw = random.Random(f"0 {t}")
            triples = [self._triple(draw) for _ in range(self.number)]
            for triple in triples[done if t == first else 0 :]:
                self.position += 1
                yield Record(self.name, self.position, triple.encode(), Event(t, (triple,)))

    def _triple(self, draw: random.Random) -> str:
        who = f"<urn:shiq:rate#{draw.randrange(self.number * _SPREAD)}>"
        number = draw.randrange(len(self.classes) + len(self.roles))
        if number < len(self.classes):
            return f"{who} <{RDF}type> <{self.classes[number]}> ."
        return f"{who} <{self.roles[number - len(self.classes)]}> <urn:shiq:rate#{draw.randrange(self.number * _SPREAD)}> ."


def rate_source(target: str, signature: Signature) -> Rate:
    """The source that ``rate://N`` names. Raises: UsageError."""
    number = target.removeprefix("rate://")
    classes, roles = sorted(signature.classes), sorted(signature.object_properties)
    if not number.isdigit() or not int(number):
        raise UsageError(f"{target}: not a rate", "Write rate://N, N events a second.")
    if not classes and not roles:
        raise UsageError(
            f"{target}: the ontology has no classes and roles to draw from", "Give another source."
        )
    return Rate(target, int(number), classes, roles)

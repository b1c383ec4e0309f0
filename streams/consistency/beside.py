"""What may be done beside deciding: each used event is shown, with what it says, and each time
that has passed for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shiq.columns.arrays import Ints
from streams.consistency.spans import Spans
from streams.consistency.verdicts import Row
from streams.front.event import Event


@dataclass(frozen=True)
class Taken:
    """Of an event: those of its triples that are used, the codes (`masks.Masks`) of what they
    say, and whether that is all.
    """

    t: int
    triples: Sequence[str]
    codes: Ints
    is_whole: bool


class Beside(Protocol):
    """Looks at events."""

    name: str

    def begin(self, static: Spans) -> None:
        """Takes what is live at all times."""

    def take(self, text: str, event: Taken) -> None:
        """Takes an event within the stream's ends, whose record stood as ``text``."""

    def refuse(self, text: str) -> None:
        """Takes the text of a record that is not used."""

    def passed(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """Nothing at ``upto`` or before it comes any more: final rows, and points of time at
        which a verdict is open.
        """

    def keys(self) -> Ints:
        """The numbers of individuals that are needed still."""

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Takes new numbers of the individuals that are left."""

    def state(self) -> Any:
        """What `restore` takes, as JSON."""

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""


def shown(events: Sequence[Event], unused: set[int], owner: Ints, codes: Ints) -> Iterator[Taken]:
    """The events of a batch as `Beside` takes them. ``unused``: which of their triples;
    ``owner``: the event of each code.
    """
    order = np.argsort(owner, kind="stable")
    begins = np.searchsorted(owner[order], np.arange(len(events) + 1))
    place = 0
    for number, event in enumerate(events):
        used = [text for at, text in enumerate(event.triples, place) if at not in unused]
        place += len(event.triples)
        own = codes[order[begins[number] : begins[number + 1]]]
        yield Taken(event.t, used, own, len(used) == len(event.triples))

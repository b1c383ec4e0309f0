"""Several sources as one input: one after the other, merged by time, or, where they are
followed, as records come.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeAlias

from shiq.errors import UsageError
from streams.front.record import Record
from streams.front.sources import Source

#: Records that wait, at most, and seconds until it is said that none came.
_WAITING, _PATIENCE = 1000, 0.2
#: A record, of which source, and how far that source is with it.
_Arrived: TypeAlias = tuple[str, Record, Any]


@dataclass
class Input:
    """The records of ``sources``, which have different names; ``begun``: where each goes on, by
    source.
    """

    sources: Sequence[Source]
    begun: dict[str, Any] = field(default_factory=dict)
    _current: Source | None = None

    def __post_init__(self) -> None:
        twice = [
            name
            for name, count in Counter(source.name for source in self.sources).items()
            if count > 1
        ]
        if twice:
            raise UsageError(f"the source {twice[0]} is given twice", "Give each once.")
        for source in self.sources:
            source.position = self.begun.get(source.name, source.position)

    @property
    def positions(self) -> dict[str, Any]:
        """How far the records yielded so far go, by source."""
        current = self._current
        return self.begun | ({current.name: current.position} if current is not None else {})

    def read(
        self, follow: bool = False, time: Callable[[Record], int | None] | None = None
    ) -> Iterator[Record | None]:
        """The records: source by source, in the order given. With ``time``: of what comes next
        in each source, the one of the least time first; what has no time comes at once. With
        ``follow`` as they come, and None where none came for a while.
        """
        if follow:
            yield from self._followed()
        elif time is not None:
            yield from self._merged(time)
        else:
            for source in self.sources:
                self._current = source
                yield from source.read(False)
                self.begun = self.positions

    def _merged(self, time: Callable[[Record], int | None]) -> Iterator[Record]:
        readers = [source.read(False) for source in self.sources]
        heads: list[tuple[int, int, Record, Any]] = []

        def look(at: int) -> None:
            """Puts what comes next in a source where it belongs; what is equal in time comes in
            order of the sources.
            """
            record = next(readers[at], None)
            if record is not None:
                when = time(record)
                heapq.heappush(
                    heads, (-1 if when is None else when, at, record, self.sources[at].position)
                )

        for at in range(len(readers)):
            look(at)
        while heads:
            _, at, record, position = heapq.heappop(heads)
            self.begun[self.sources[at].name] = position
            yield record
            look(at)

    def _followed(self) -> Iterator[Record | None]:
        arrived: Queue[_Arrived | BaseException | None] = Queue(_WAITING)
        stopped = Event()

        def hand(item: _Arrived | BaseException | None) -> None:
            while not stopped.is_set():
                try:
                    return arrived.put(item, timeout=_PATIENCE)
                except Full:
                    continue

        def feed(source: Source) -> None:
            try:
                for record in source.read(True):
                    hand((source.name, record, source.position))
                    if stopped.is_set():
                        return
                hand(None)
            except BaseException as error:
                hand(error)

        for source in self.sources:
            Thread(target=feed, args=(source,), daemon=True).start()
        left = len(self.sources)
        try:
            while left:
                try:
                    item = arrived.get(timeout=_PATIENCE)
                except Empty:
                    yield None
                    continue
                if item is None:
                    left -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    name, record, self.begun[name] = item
                    yield record
        finally:
            stopped.set()

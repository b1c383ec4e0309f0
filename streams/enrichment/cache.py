"""What is known of events that came before, by their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

from shiq.cache import Cache, Policy
from shiq.verdict import Verdict
from streams.enrichment.positions import Key
from streams.enrichment.sampling import InsertionSampler


@dataclass(frozen=True, slots=True)
class Entry:
    """The enrichment of all events of one key. ``at``: the types at each position (None: of a
    value); ``named``: of those of K that the event mentions; ``static``: what others of K are
    besides; ``touches``: whom of K it rests on, ``changes``: who of K can be something else by
    it (`abox_ops.entailment.Entailment`), None: any of them.
    """

    verdict: Verdict
    at: tuple[frozenset[str] | None, ...] = ()
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)
    static: Mapping[str, frozenset[str]] = field(default_factory=dict)
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None
    reason: str = ""


class Entries(Cache[Key, Entry]):
    """Entries by key, up to ``capacity`` of them and ``most_bytes``. Only what is decided is
    kept: all of it while there is room, and what ``sampler`` admits where an entry must make
    room for it.
    """

    def __init__(self, capacity: int, policy: Policy, most_bytes: int | None = None) -> None:
        super().__init__(capacity, policy)
        self.most_bytes = most_bytes
        self.bytes = 0
        self.sampler = InsertionSampler()

    def find(self, key: Key) -> Entry | None:
        """The entry of ``key``, if there is one."""
        found = self.get(key)
        self.sampler.count(found is not None)
        return found

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def keep(self, key: Key, entry: Entry) -> None:
        """Keep what is decided, if the sampler admits it where the cache is full."""
        if entry.verdict is Verdict.UNDETERMINED or not self.capacity:
            return
        size = size_of(key, entry)
        if self.most_bytes is not None and size > self.most_bytes:
            return  # all others would go for it, and then it too
        if key in self._values or not self._is_full(size) or self.sampler.admits():
            self._put(key, entry, size)

    def _is_full(self, size: int) -> bool:
        """Whether an entry would have to go for a new one of ``size`` bytes."""
        return len(self._values) >= self.capacity or (
            self.most_bytes is not None and self.bytes + size > self.most_bytes
        )

    def _put(self, key: Key, entry: Entry, size: int) -> None:
        known = self._values.get(key)
        self.bytes += size - (size_of(key, known) if known is not None else 0)
        self.put(key, entry)
        while self.most_bytes is not None and self.bytes > self.most_bytes and self._values:
            self._drop()

    def forget(self, touched: Iterable[str] | None = None) -> None:
        """Forgets the entries that rest on somebody in ``touched``; None: all."""
        gone = None if touched is None else frozenset(touched)
        for key, entry in list(self._values.items()):
            if gone is None or entry.touches is None or not gone.isdisjoint(entry.touches):
                self.bytes -= size_of(key, entry)
                del self._values[key]

    def state(self) -> dict[str, Any]:
        """Beside the entries, what `restore` takes, as JSON."""
        return {"evictions": self.evictions, "sampler": self.sampler.state()}

    def restore(
        self, state: dict[str, Any] | list[Any], entries: Iterable[tuple[Key, Entry]]
    ) -> None:
        """Go on with what another had: ``entries`` in its order. A list is the state of versions
        that switched keeping off for good; it is taken as on.
        """
        self.forget()
        for key, entry in entries:
            self._put(key, entry, size_of(key, entry))
        if isinstance(state, list):
            self.evictions = state[1]
        else:
            self.evictions = state["evictions"]
            self.sampler.restore(state["sampler"])

    def __iter__(self) -> Iterator[tuple[Key, Entry]]:
        return iter(list(self._values.items()))

    def _drop(self) -> None:
        self.evictions += 1
        self.bytes -= size_of(*self._values.popitem(last=self.policy in ("lifo", "mru")))


def size_of(key: Key, entry: Entry) -> int:
    """The bytes of an entry and its key, but for the texts and sets that entries share."""
    nodes, edges, of_fixed = key
    parts: list[Any] = [
        key,
        nodes,
        *nodes,
        edges,
        *edges,
        of_fixed,
        *of_fixed,
        entry,
        entry.at,
        entry.named,
        entry.static,
    ]
    return sum(map(getsizeof, parts))

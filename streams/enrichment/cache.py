"""What is known of events that came before, by their keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, Final

from shiq.cache import Cache, Policy
from shiq.verdict import Verdict
from streams.enrichment.positions import Key

#: Where of so many events in a row fewer than the share are hits, nothing more is kept.
LOOKED_AT: Final = 1_000
LEAST_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Entry:
    """The enrichment of all events of one key. ``at``: the types at each position (None: of a value); ``named``: of those of K
    that the event mentions; ``static``: what others of K are besides; ``touches``: whom of K it rests on, ``changes``: who of K
    can be something else by it (`abox_ops.entailment.Entailment`), None: any of them."""

    verdict: Verdict
    at: tuple[frozenset[str] | None, ...] = ()
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)
    static: Mapping[str, frozenset[str]] = field(default_factory=dict)
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None
    reason: str = ""


class Entries(Cache[Key, Entry]):
    """Entries by key, up to ``capacity`` of them and ``most_bytes``. Only what is decided is kept."""

    def __init__(self, capacity: int, policy: Policy, most_bytes: int | None = None) -> None:
        super().__init__(capacity, policy)
        self.most_bytes = most_bytes
        self.bytes = 0
        self.keeps = True
        self._recent: deque[bool] = deque(maxlen=LOOKED_AT)
        self._recent_hits = 0

    def find(self, key: Key) -> Entry | None:
        """The entry of ``key``, if there is one."""
        found = self.get(key)
        if self.keeps:
            self._look(found is not None)
        return found

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def keep(self, key: Key, entry: Entry) -> None:
        """Keeps what is decided."""
        if entry.verdict is Verdict.UNDETERMINED or not self.keeps or not self.capacity:
            return
        known = self._values.get(key)
        self.bytes += size_of(key, entry) - (size_of(key, known) if known is not None else 0)
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

    def state(self) -> list[Any]:
        """Beside the entries, what `restore` takes, as JSON."""
        return [self.keeps, self.evictions, "".join("01"[hit] for hit in self._recent)]

    def restore(self, state: list[Any], entries: Iterable[tuple[Key, Entry]]) -> None:
        """Goes on with what another had: ``entries`` in its order."""
        self.forget()
        self.keeps = True
        for key, entry in entries:
            self.keep(key, entry)
        self.keeps, self.evictions, recent = state
        self._recent.clear()
        self._recent.extend(hit == "1" for hit in recent)
        self._recent_hits = sum(self._recent)

    def __iter__(self) -> Iterator[tuple[Key, Entry]]:
        return iter(list(self._values.items()))

    def _drop(self) -> None:
        self.evictions += 1
        self.bytes -= size_of(*self._values.popitem(last=self.policy in ("lifo", "mru")))

    def _look(self, is_hit: bool) -> None:
        recent = self._recent
        if len(recent) == LOOKED_AT:
            self._recent_hits -= recent[0]
        recent.append(is_hit)
        self._recent_hits += is_hit
        if not is_hit and len(recent) == LOOKED_AT and self._recent_hits < LEAST_SHARE * LOOKED_AT:
            self.keeps = False


def size_of(key: Key, entry: Entry) -> int:
    """The bytes of an entry and its key, but for the texts and sets that entries share."""
    nodes, edges, of_fixed = key
    parts: list[Any] = [key, nodes, *nodes, edges, *edges, of_fixed, *of_fixed, entry, entry.at, entry.named, entry.static]
    return sum(map(getsizeof, parts))

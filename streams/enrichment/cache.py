"""Cache of enrichments by event key, with eviction policies and sampled insertion when it is
useless.

If few look-ups of a full cache are hits, new entries only evict each other. Then for an interval
only one in `SAMPLED_ONE_IN` is inserted, so that others live long enough to be hit. Afterwards all are
inserted again. If that did not help, the next interval is twice as long. Caching is never switched
off for good.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, Final, get_args
from zlib import crc32

from shiq.answers.verdict import Verdict
from shiq.cache import Cache, Policy
from shiq.errors import UsageError
from shiq.streams.enrichment.key import Key

# Decide which new entries a full cache takes in, where hardly any look-up is a hit.
#
# Such entries only push each other out. So for an interval one in `SAMPLED_ONE_IN` is taken in, which
# leaves the others time to be of use; then all are again, and if that did not help the next
# interval is twice as long. Nothing is switched off for good.


#: The look-ups that are judged together, and the share of hits below which a full cache samples.
SAMPLE_WINDOW: Final = 1_000
LEAST_HIT_SHARE: Final = 0.05
#: While a cache samples, one new entry of so many is kept.
SAMPLED_ONE_IN: Final = 20
#: The longest interval, in look-ups.
LONGEST_INTERVAL: Final = 64 * SAMPLE_WINDOW


class InsertionSampler:
    """Sampler that decides which new entries a full cache inserts: all, or few of them while the
    share of hits is low.

    interval: length in look-ups of the last interval with sampling; 0 if there was none or hits
    came back.
    remaining: look-ups left in the current interval.
    skipped: number of entries not inserted.
    notify: called with a sentence when sampling begins.
    """

    def __init__(self, notify: Callable[[str], None] = lambda sentence: None) -> None:
        self.notify = notify
        self.interval = self.remaining = self.skipped = 0
        self._recent: deque[bool] = deque(maxlen=SAMPLE_WINDOW)
        self._hits = self._offer_count = 0

    def count_lookup(self, is_hit: bool) -> None:
        """Count a look-up as hit or miss; the last one of a sampling interval ends it."""
        recent = self._recent
        if self.remaining:
            self.remaining -= 1
            if not self.remaining:
                recent.clear()
                self._hits = 0
            return
        if len(recent) == SAMPLE_WINDOW:
            self._hits -= recent[0]
        recent.append(is_hit)
        self._hits += is_hit

    def admit_entry(self) -> bool:
        """Decide whether a full cache inserts the next new entry; begin an interval of sampling if
        recent look-ups rarely hit.
        """
        if not self.remaining and len(self._recent) == SAMPLE_WINDOW:
            if self._hits >= LEAST_HIT_SHARE * SAMPLE_WINDOW:
                self.interval = 0
            else:
                self._begin_sampling()
        if not self.remaining:
            return True
        self._offer_count += 1
        # Not each 20th: of 20 events in turn that would be the same one for ever.
        is_kept = crc32(self._offer_count.to_bytes(8, "little")) % SAMPLED_ONE_IN == 0
        self.skipped += not is_kept
        return is_kept

    def _begin_sampling(self) -> None:
        """Begin an interval in which only a sample of new entries is inserted."""
        is_first = not self.interval
        self.interval = min(2 * self.interval, LONGEST_INTERVAL) if self.interval else SAMPLE_WINDOW
        self.remaining = self.interval
        if is_first:
            self.notify(
                f"{self._hits:,} of the last {SAMPLE_WINDOW:,} events were in the cache, which is full: one new "
                f"structure of {SAMPLED_ONE_IN} "
                f"is kept for {self.interval:,} events, then all for {SAMPLE_WINDOW:,}. "
                f"A higher --capacity or --most-bytes keeps more."
            )

    def state(self) -> dict[str, Any]:
        """JSON state for a checkpoint; `restore` reads it."""
        recent = "".join("01"[hit] for hit in self._recent)
        return {
            "recent": recent,
            "interval": self.interval,
            "remaining": self.remaining,
            "skipped": self.skipped,
            "offered": self._offer_count,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the `state` of another sampler."""
        self._recent = deque((hit == "1" for hit in state["recent"]), maxlen=SAMPLE_WINDOW)
        self._hits = sum(self._recent)
        self.interval, self.remaining = state["interval"], state["remaining"]
        self.skipped, self._offer_count = state["skipped"], state["offered"]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Cached enrichment of all events with the same key.

    types_at: types at each position (None: a value).
    named_types: types of the static individuals that the event mentions.
    static_types: types that other static individuals gain.
    touches: static individuals that the answer depends on.
    changes: static individuals that the event may give other types
    (`shiq.abox_ops.entailment.Entailment`).
    None in ``touches`` or ``changes`` means any of them.
    """

    verdict: Verdict
    types_at: tuple[frozenset[str] | None, ...] = ()
    named_types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    static_types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None
    reason: str = ""


class EntryCache(Cache[Key, CacheEntry]):
    """Cache of decided entries by key, limited by ``capacity`` and ``most_bytes``.

    Once it is full, ``sampler`` decides which new entries are inserted.
    """

    def __init__(self, capacity: int, policy: Policy, most_bytes: int | None = None) -> None:
        super().__init__(capacity, policy)
        self.most_bytes = most_bytes
        self.bytes = 0
        self.sampler = InsertionSampler()

    def find(self, key: Key) -> CacheEntry | None:
        """Look up the entry of ``key``; None if there is none."""
        found = self.get(key)
        self.sampler.count_lookup(found is not None)
        return found

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def store(self, key: Key, entry: CacheEntry) -> None:
        """Insert an entry, unless it is undetermined or too large, or the cache is full and the
        sampler refuses it.
        """
        if entry.verdict is Verdict.UNDETERMINED or not self.capacity:
            return
        size = estimate_entry_bytes(key, entry)
        if self.most_bytes is not None and size > self.most_bytes:
            return  # all others would go for it, and then it too
        if key in self._values or not self._is_full(size) or self.sampler.admit_entry():
            self._insert(key, entry, size)

    def _is_full(self, size: int) -> bool:
        """Whether inserting an entry of ``size`` bytes would evict another one."""
        return len(self._values) >= self.capacity or (
            self.most_bytes is not None and self.bytes + size > self.most_bytes
        )

    def _insert(self, key: Key, entry: CacheEntry, size: int) -> None:
        """Insert an entry and evict others until the bytes fit."""
        known = self._values.get(key)
        self.bytes += size - (estimate_entry_bytes(key, known) if known is not None else 0)
        self.put(key, entry)
        while self.most_bytes is not None and self.bytes > self.most_bytes and self._values:
            self._evict_entry()

    def drop_affected(self, touched: Iterable[str] | None = None) -> None:
        """Drop the entries that depend on the individuals ``touched``; None drops all."""
        gone = None if touched is None else frozenset(touched)
        for key, entry in list(self._values.items()):
            if gone is None or entry.touches is None or not gone.isdisjoint(entry.touches):
                self.bytes -= estimate_entry_bytes(key, entry)
                del self._values[key]

    def state(self) -> dict[str, Any]:
        """JSON state besides the entries, for a checkpoint; `restore` reads it."""
        return {"evictions": self.evictions, "sampler": self.sampler.state()}

    def restore(
        self, state: dict[str, Any] | list[Any], entries: Iterable[tuple[Key, CacheEntry]]
    ) -> None:
        """Continue from the state and the ``entries`` of another cache, which are inserted in the
        given order.

        A list is the state of versions that could switch caching off; it is read as switched on.
        """
        self.drop_affected()
        for key, entry in entries:
            self._insert(key, entry, estimate_entry_bytes(key, entry))
        if isinstance(state, list):
            self.evictions = state[1]
        else:
            self.evictions = state["evictions"]
            self.sampler.restore(state["sampler"])

    def __iter__(self) -> Iterator[tuple[Key, CacheEntry]]:
        return iter(list(self._values.items()))

    def _evict_entry(self) -> tuple[Key, CacheEntry]:
        """Evict one entry by the eviction policy."""
        evicted = super()._evict_entry()
        self.bytes -= estimate_entry_bytes(*evicted)
        return evicted


def estimate_entry_bytes(key: Key, entry: CacheEntry) -> int:
    """Estimate the bytes of an entry and its key, without the texts and sets that entries share."""
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
        entry.types_at,
        entry.named_types,
        entry.static_types,
    ]
    return sum(map(getsizeof, parts))


# What goes first where no more entries may be kept (docs/ENRICHMENT.md).


#: By name: the one not asked for the longest, the oldest, the newest, the one asked for last.
POLICIES: Final[tuple[Policy, ...]] = ("lru", "fifo", "lifo", "mru")
assert {*POLICIES} <= {*get_args(Policy)}


def parse_policy(name: str) -> Policy:
    """Validate the name of an eviction policy. Raises: UsageError."""
    for policy in POLICIES:
        if policy == name:
            return policy
    raise UsageError(f"unknown policy {name!r}", f"Known are {', '.join(POLICIES)}.")


def parse_capacity(value: int | str | None) -> int:
    """Parse a number of cached entries; None and "none" mean no limit. Raises: UsageError."""
    if value is None or value == "none":
        return sys.maxsize
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    raise UsageError(
        f"a capacity of {value!r}", "Say a number of entries from 0, or none for no bound."
    )

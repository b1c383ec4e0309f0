"""What is known of events that came before, by their keys."""

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
# Such entries only push each other out. So for an interval one in `SAMPLE` is taken in, which
# leaves the others time to be of use; then all are again, and if that did not help the next
# interval is twice as long. Nothing is switched off for good.


#: The look-ups that are judged together, and the share of hits below which a full cache samples.
SAMPLE_WINDOW: Final = 1_000
LEAST_SHARE: Final = 0.05
#: While a cache samples, one new entry of so many is kept.
SAMPLE: Final = 20
#: The longest interval, in look-ups.
LONGEST: Final = 64 * SAMPLE_WINDOW


class InsertionSampler:
    """Count look-ups, and choose the entries that a full cache keeps. ``interval``: look-ups of
    the last one with a sample, 0 where there was none or hits came back; ``remaining``: of
    these, how many are to come; ``skipped``: entries not kept. ``notify`` is called with a
    sentence when sampling begins.
    """

    def __init__(self, notify: Callable[[str], None] = lambda sentence: None) -> None:
        self.notify = notify
        self.interval = self.remaining = self.skipped = 0
        self._recent: deque[bool] = deque(maxlen=SAMPLE_WINDOW)
        self._hits = self._offer_count = 0

    def count(self, is_hit: bool) -> None:
        """Count a look-up."""
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

    def admit(self) -> bool:
        """Whether a full cache keeps the next new entry."""
        if not self.remaining and len(self._recent) == SAMPLE_WINDOW:
            if self._hits >= LEAST_SHARE * SAMPLE_WINDOW:
                self.interval = 0
            else:
                self._begin_sampling()
        if not self.remaining:
            return True
        self._offer_count += 1
        # Not each 20th: of 20 events in turn that would be the same one for ever.
        is_kept = crc32(self._offer_count.to_bytes(8, "little")) % SAMPLE == 0
        self.skipped += not is_kept
        return is_kept

    def _begin_sampling(self) -> None:
        is_first = not self.interval
        self.interval = min(2 * self.interval, LONGEST) if self.interval else SAMPLE_WINDOW
        self.remaining = self.interval
        if is_first:
            self.notify(
                f"{self._hits:,} of the last {SAMPLE_WINDOW:,} events were in the cache, which is full: one new "
                f"structure of {SAMPLE} "
                f"is kept for {self.interval:,} events, then all for {SAMPLE_WINDOW:,}. "
                f"A higher --capacity or --most-bytes keeps more."
            )

    def state(self) -> dict[str, Any]:
        """What `restore` takes, as JSON."""
        recent = "".join("01"[hit] for hit in self._recent)
        return {
            "recent": recent,
            "interval": self.interval,
            "remaining": self.remaining,
            "skipped": self.skipped,
            "offered": self._offer_count,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from the `state` of another."""
        self._recent = deque((hit == "1" for hit in state["recent"]), maxlen=SAMPLE_WINDOW)
        self._hits = sum(self._recent)
        self.interval, self.remaining = state["interval"], state["remaining"]
        self.skipped, self._offer_count = state["skipped"], state["offered"]


@dataclass(frozen=True, slots=True)
class Entry:
    """The enrichment of all events of one key. ``types_at``: the types at each position (None: of a
    value); ``named_types``: of those of K that the event mentions; ``static_types``: what others of K are
    besides; ``touches``: whom of K it rests on, ``changes``: who of K can be something else by
    it (`shiq.abox_ops.entailment.Entailment`), None: any of them.
    """

    verdict: Verdict
    types_at: tuple[frozenset[str] | None, ...] = ()
    named_types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    static_types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None
    reason: str = ""


class EntryCache(Cache[Key, Entry]):
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

    def store(self, key: Key, entry: Entry) -> None:
        """Keep what is decided, if the sampler admits it where the cache is full."""
        if entry.verdict is Verdict.UNDETERMINED or not self.capacity:
            return
        size = entry_size(key, entry)
        if self.most_bytes is not None and size > self.most_bytes:
            return  # all others would go for it, and then it too
        if key in self._values or not self._is_full(size) or self.sampler.admit():
            self._put(key, entry, size)

    def _is_full(self, size: int) -> bool:
        """Whether an entry would have to go for a new one of ``size`` bytes."""
        return len(self._values) >= self.capacity or (
            self.most_bytes is not None and self.bytes + size > self.most_bytes
        )

    def _put(self, key: Key, entry: Entry, size: int) -> None:
        known = self._values.get(key)
        self.bytes += size - (entry_size(key, known) if known is not None else 0)
        self.put(key, entry)
        while self.most_bytes is not None and self.bytes > self.most_bytes and self._values:
            self._drop()

    def forget(self, touched: Iterable[str] | None = None) -> None:
        """Forgets the entries that rest on somebody in ``touched``; None: all."""
        gone = None if touched is None else frozenset(touched)
        for key, entry in list(self._values.items()):
            if gone is None or entry.touches is None or not gone.isdisjoint(entry.touches):
                self.bytes -= entry_size(key, entry)
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
            self._put(key, entry, entry_size(key, entry))
        if isinstance(state, list):
            self.evictions = state[1]
        else:
            self.evictions = state["evictions"]
            self.sampler.restore(state["sampler"])

    def __iter__(self) -> Iterator[tuple[Key, Entry]]:
        return iter(list(self._values.items()))

    def _drop(self) -> None:
        self.evictions += 1
        self.bytes -= entry_size(*self._values.popitem(last=self.policy in ("lifo", "mru")))


def entry_size(key: Key, entry: Entry) -> int:
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
    """Raises: UsageError."""
    for policy in POLICIES:
        if policy == name:
            return policy
    raise UsageError(f"unknown policy {name!r}", f"Known are {', '.join(POLICIES)}.")


def parse_capacity(value: int | str | None) -> int:
    """How many entries are kept; None and "none": any number. Raises: UsageError."""
    if value is None or value == "none":
        return sys.maxsize
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    raise UsageError(
        f"a capacity of {value!r}", "Say a number of entries from 0, or none for no bound."
    )

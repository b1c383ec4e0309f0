"""A cache of bounded size, with counters and a choice of eviction policies.

>>> squares = Cache[int, int](2, "lru")
>>> [squares.put(n, n * n) for n in (1, 2)], squares.get(1), squares.put(3, 9), squares.get(2)
([1, 4], 1, 9, None)
>>> squares.hits, squares.misses, squares.evictions
(1, 1, 1)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Literal, TypeAlias, TypeVar, overload

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")


class _Missing:
    """Sentinel for a missing entry, since None may be a value."""


_MISSING = _Missing()

#: What goes first: the oldest entry, or the one not asked for the longest; lifo: the newest, mru: the
#: one asked for last.
Policy: TypeAlias = Literal["fifo", "lru", "lifo", "mru"]


class Cache(Generic[K, V]):
    """A mapping of at most `capacity` entries.

    hits, misses: results of `get`. evictions: entries that a full cache dropped.
    """

    def __init__(self, capacity: int, policy: Policy = "fifo") -> None:
        self.capacity, self.policy = capacity, policy
        self.hits = self.misses = self.evictions = 0
        self._values: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of `key`, or `default`; count a hit or a miss."""
        try:
            value = self._values[key]
        except KeyError:
            self.misses += 1
            return default
        self.hits += 1
        self._note_use(key)
        return value

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of `key`; if there is none, store the result of `make`."""
        found = self.get(key, _MISSING)
        return self.put(key, make()) if isinstance(found, _Missing) else found

    def put(self, key: K, value: V) -> V:
        """Store `value` and return it. Storing under an existing key counts as a use of it."""
        if key not in self._values and len(self._values) >= self.capacity:
            if self.capacity < 1:
                return value
            self._evict_entry()
        self._values[key] = value
        self._note_use(key)
        return value

    def clear(self) -> None:
        """Remove all entries; the counters stay."""
        self._values.clear()

    def _note_use(self, key: K) -> None:
        """Note the use of a key for the eviction policy."""
        if self.policy in ("lru", "mru"):
            self._values.move_to_end(key)

    def _evict_entry(self) -> tuple[K, V]:
        """Remove one entry by the eviction policy, and return it."""
        self.evictions += 1
        return self._values.popitem(last=self.policy in ("lifo", "mru"))

"""The bounded cache, beside an obvious one."""

from __future__ import annotations

import random

import pytest

from shiq.cache import Cache, Policy


class Obvious:
    """Entries as (key, value, when put, when last used, uses)."""

    def __init__(self, capacity: int, policy: Policy) -> None:
        self.capacity, self.policy, self.entries, self.evictions, self.now = (
            capacity,
            policy,
            list[list[int]](),
            0,
            0,
        )

    def get(self, key: int) -> int | None:
        self.now += 1
        for entry in self.entries:
            if entry[0] == key:
                entry[3:] = [self.now, entry[4] + 1]
                return entry[1]
        return None

    def put(self, key: int, value: int) -> None:
        if self.get(key) is not None:
            next(entry for entry in self.entries if entry[0] == key)[1] = value
            return
        if len(self.entries) == self.capacity:
            first = {"fifo": lambda e: e[2], "lru": lambda e: e[3]}[self.policy]
            self.entries.remove(min(self.entries, key=first))
            self.evictions += 1
        self.entries.append([key, value, self.now, self.now, 1])


@pytest.mark.parametrize("policy", ["fifo", "lru"])
@pytest.mark.parametrize("seed", range(20))
def test_the_cache_keeps_what_its_policy_says(policy: Policy, seed: int) -> None:
    rng = random.Random(seed)
    capacity = rng.randint(1, 6)
    cache, obvious = Cache[int, int](capacity, policy), Obvious(capacity, policy)
    asked = found = 0
    for _ in range(400):
        key = min(rng.randrange(10), rng.randrange(10))
        if rng.random() < 0.5:
            value = rng.randrange(1000)
            assert cache.put(key, value) == value
            obvious.put(key, value)
        else:
            wanted = obvious.get(key)
            assert cache.get(key) == wanted
            asked, found = asked + 1, found + (wanted is not None)
        assert len(cache) == len(obvious.entries) <= capacity
    assert (cache.hits, cache.misses, cache.evictions) == (found, asked - found, obvious.evictions)


def test_policies_differ() -> None:
    """Each policy drops the entry that its name says."""
    left = {}
    for policy in ("fifo", "lru", "lifo", "mru"):
        cache = Cache[str, int](3, policy)  # type: ignore[arg-type]
        for key in "ABC":
            cache.put(key, 1)
        for key in "BCA":
            cache.get(key)
        cache.put("D", 1)
        left[policy] = next(key for key in "ABC" if cache.get(key) is None)
    assert left == {"fifo": "A", "lru": "B", "lifo": "C", "mru": "A"}


def test_a_cache_without_room_keeps_nothing_and_none_is_a_value() -> None:
    empty = Cache[str, int](0)
    assert empty.put("a", 1) == 1
    assert empty.get("a") is None and len(empty) == 0
    one = Cache[str, int | None](1)
    one.put("a", None)
    assert one.get("a", 7) is None and one.get("b", 7) == 7

"""Decide which new entries a full cache takes in, where hardly any look-up is a hit.

Such entries only push each other out. So for an interval one in `SAMPLE` is taken in, which
leaves the others time to be of use; then all are again, and if that did not help the next
interval is twice as long. Nothing is switched off for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

#: The look-ups that are judged together, and the share of hits below which a full cache samples.
JUDGED: Final = 1_000
LEAST_SHARE: Final = 0.05
#: While a cache samples, one new entry of so many is kept.
SAMPLE: Final = 20
#: The longest interval, in look-ups.
LONGEST: Final = 64 * JUDGED


class InsertionSampler:
    """Count look-ups, and choose the entries that a full cache keeps. ``interval``: look-ups of
    the last one with a sample, 0 where there was none or hits came back; ``remaining``: of
    these, how many are to come; ``skipped``: entries not kept. ``notify`` is called with a
    sentence when sampling begins.
    """

    def __init__(self, notify: Callable[[str], None] = lambda sentence: None) -> None:
        self.notify = notify
        self.interval = self.remaining = self.skipped = 0
        self._recent: deque[bool] = deque(maxlen=JUDGED)
        self._hits = self._offered = 0

    def count(self, is_hit: bool) -> None:
        """Count a look-up."""
        recent = self._recent
        if self.remaining:
            self.remaining -= 1
            if not self.remaining:
                recent.clear()
                self._hits = 0
            return
        if len(recent) == JUDGED:
            self._hits -= recent[0]
        recent.append(is_hit)
        self._hits += is_hit

    def admits(self) -> bool:
        """Whether a full cache keeps the next new entry."""
        if not self.remaining and len(self._recent) == JUDGED:
            if self._hits >= LEAST_SHARE * JUDGED:
                self.interval = 0
            else:
                self._begin()
        if not self.remaining:
            return True
        self._offered += 1
        # Not each 20th: of 20 events in turn that would be the same one for ever.
        is_kept = crc32(self._offered.to_bytes(8, "little")) % SAMPLE == 0
        self.skipped += not is_kept
        return is_kept

    def _begin(self) -> None:
        is_first = not self.interval
        self.interval = min(2 * self.interval, LONGEST) if self.interval else JUDGED
        self.remaining = self.interval
        if is_first:
            self.notify(
                f"{self._hits:,} of the last {JUDGED:,} events were in the cache, which is full: one new structure of {SAMPLE} "
                f"is kept for {self.interval:,} events, then all for {JUDGED:,}. A higher --capacity or --most-bytes keeps more."
            )

    def state(self) -> dict[str, Any]:
        """What `restore` takes, as JSON."""
        recent = "".join("01"[hit] for hit in self._recent)
        return {
            "recent": recent,
            "interval": self.interval,
            "remaining": self.remaining,
            "skipped": self.skipped,
            "offered": self._offered,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from the `state` of another."""
        self._recent = deque((hit == "1" for hit in state["recent"]), maxlen=JUDGED)
        self._hits = sum(self._recent)
        self.interval, self.remaining = state["interval"], state["remaining"]
        self.skipped, self._offered = state["skipped"], state["offered"]

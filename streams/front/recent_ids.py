"""Ids of events, known for as long as a second event of one can come and is dropped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

#: Ids are looked through for those that cannot matter any more when so many are known.
_MANY: Final = 10_000


@dataclass
class RecentIds:
    """The newest time of each id. ``span``, in each call: for how long an id is known, a window
    and the lateness.

    >>> ids = RecentIds()
    >>> ids.add("a", 5)
    >>> ids.has("a", 8, span=3), ids.has("a", 9, span=3), ids.has("b", 5, span=3), ids.has(None, 5, span=3)
    (True, False, False, False)
    """

    times: dict[str, int] = field(default_factory=dict)

    def has(self, name: str | None, t: int, span: int) -> bool:
        """Whether an event of this id came before, and can still matter at ``t``."""
        before = None if name is None else self.times.get(name)
        return before is not None and t - before <= span

    def add(self, name: str | None, t: int) -> None:
        """Note an event that was accepted."""
        if name is not None:
            self.times[name] = t

    def forget(self, watermark: int | None, span: int) -> None:
        """Let ids go that no event from ``watermark`` on can be the second of."""
        if len(self.times) >= _MANY and watermark is not None:
            kept = {name: t for name, t in self.times.items() if t >= watermark - span}
            if len(kept) < len(self.times) / 2:
                self.times = kept

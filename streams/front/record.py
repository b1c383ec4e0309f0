"""One record of a source, as it came."""

from __future__ import annotations

import json
from typing import NamedTuple

from streams.front.event import Event


class Record(NamedTuple):
    """``data``: the bytes of a line or message, without its end; ``line``: 1-based, of a topic
    the offset. ``event``: where the source is a table, what the row says; ``problem``: why the
    bytes cannot be a whole record.
    """

    source: str
    line: int
    data: bytes
    event: Event | None = None
    problem: str = ""

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "backslashreplace")

    @property
    def whole(self) -> str:
        """It as it stood; a row of a table as an event."""
        if self.event is None:
            return self.text
        return json.dumps({"t": self.event.t, "triples": self.event.triples}, ensure_ascii=False)

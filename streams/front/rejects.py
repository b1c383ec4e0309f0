"""What of a stream was not used: counted by kind, and written one JSON object a line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shiq.answers.verdict import Leftover
from shiq.errors import InputError

#: Kinds (`shiq.answers.verdict.KINDS`): what could not be read as an event, came behind the watermark, or
#: is too far ahead.
MALFORMED, LATE, AHEAD = "malformed", "late", "ahead"
#: What was derived, and cannot be written.
UNWRITABLE = "unwritable"
#: How many of each kind a result names.
_SHOWN = 20


def leftover_rows(leftovers: Iterable[Leftover]) -> list[dict[str, Any]]:
    """Leftovers as ``--json`` of the stream commands writes them."""
    return [
        {
            "kind": x.kind,
            "message": x.message,
            "source": x.source,
            "line": x.line,
            "text": x.text,
            "count": x.number,
        }
        for x in leftovers
    ]


@dataclass
class RejectLog:
    """The records that were not used. ``write``: takes each as a row; ``shown``: the first of
    each kind, for results.
    """

    write: Callable[[Sequence[str]], None] = lambda rows: None
    counts: Counter[str] = field(default_factory=Counter)
    shown: list[Leftover] = field(default_factory=list)

    def add(self, kind: str, source: str, line: int, reason: str, text: str) -> None:
        """Takes down one record."""
        self.counts[kind] += 1
        if self.counts[kind] <= _SHOWN:
            self.shown.append(Leftover(kind, reason, source, line, text[:200]))
        row = {"kind": kind, "source": source, "line": line, "reason": reason, "text": text}
        self.write([json.dumps(row, ensure_ascii=False)])

    def refuse_if_all(self, is_all: bool) -> None:
        """Raises: InputError where something was rejected, and nothing else came."""
        if is_all and self.counts:
            raise InputError(self.none_of("an event"), "Check what it is: one JSON object a line.")

    def none_of(self, thing: str) -> str:
        """Say that no line of any source is a ``thing``, and why the first of them is not."""
        first = self.shown[0]
        sources = ", ".join(dict.fromkeys(x.source for x in self.shown if x.source)) or "the source"
        return f"no line of {sources} is {thing} (line {first.line}: {first.message})"

    def leftovers(self) -> list[Leftover]:
        """What to tell in a result: the first of each kind, and how many more there are."""
        more = {kind: count - _SHOWN for kind, count in self.counts.items() if count > _SHOWN}
        return [
            *self.shown,
            *(
                Leftover(kind, f"{count:,} more", count=count)
                for kind, count in sorted(more.items())
            ),
        ]

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        told = [[x.kind, x.message, x.source, x.line, x.text] for x in self.shown]
        return {"counts": self.counts, "shown": told}

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.counts = Counter(state["counts"])
        self.shown = [Leftover(*told) for told in state["shown"]]

"""From rows to verdicts: for every point of time whether the content of its window agrees with
the TBox.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streams.front.result import StreamAnswer, verdict_of

Row: TypeAlias = dict[str, Any]
Span: TypeAlias = tuple[int, int]


@dataclass
class Verdicts:
    """When individuals are inconsistent, and when something that was not used could be live (for
    ``window`` more points than its time); ``always``: at all times, as far as anybody knows.

    The spans of an individual are joined while more of them may come; then only their ends
    count: ``changes``, by time.
    """

    window: int
    always: bool = False
    changes: Counter[int] = field(default_factory=Counter)
    doubt: Counter[int] = field(default_factory=Counter)
    spans: dict[str, list[Span]] = field(default_factory=dict)

    def not_used(self, t: int | None) -> None:
        """Something at ``t``, or at no known time, was not used."""
        if t is None:
            self.always = True
        else:
            _add(self.doubt, [(t, t + self.window)])

    def unsure(self, c: int) -> None:
        """At ``c`` it could not be decided."""
        _add(self.doubt, [(c, c)])

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Takes rows that are final."""
        for row in rows:
            for name in {row["individual"], row.get("other", row["individual"])}:
                self.spans.setdefault(name, []).append((row["from"], row["to"]))

    def settle(self, live: Container[str] = ()) -> None:
        """Counts the spans of individuals that are not ``live``."""
        for name in [name for name in self.spans if name not in live]:
            _add(self.changes, _joined(sorted(self.spans.pop(name))))

    def runs(self, first: int, last: int) -> list[Row]:
        """Runs of one verdict and one number of inconsistent individuals; they cover [first, last]."""
        self.settle()
        times = sorted({first, *(c for c in (*self.changes, *self.doubt) if first < c <= last)})
        wrong, doubtful = (
            sum(n for c, n in of.items() if c < first) for of in (self.changes, self.doubt)
        )
        found: list[Row] = []
        for c, following in zip(times, (*times[1:], last + 1)):
            wrong, doubtful = wrong + self.changes[c], doubtful + self.doubt[c]
            unsure = self.always or doubtful
            verdict = verdict_of(bool(wrong), bool(unsure))
            if found and (found[-1]["verdict"], found[-1]["individuals"]) == (verdict.value, wrong):
                found[-1]["to"] = following - 1
            else:
                found.append(
                    {"from": c, "to": following - 1, "verdict": verdict.value, "individuals": wrong}
                )
        return found

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return [self.always, list(self.changes.items()), list(self.doubt.items()), self.spans]

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.always, changes, doubt, spans = state
        self.changes, self.doubt = Counter(dict(changes)), Counter(dict(doubt))
        self.spans = {name: [(start, end) for start, end in found] for name, found in spans.items()}


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _add(changes: Counter[int], spans: Iterable[Span]) -> None:
    for start, end in spans:
        changes[start] += 1
        changes[end + 1] -= 1


@dataclass(frozen=True)
class StreamResult(StreamAnswer):
    """``spans``: the rows of ``--out``; ``verdicts``: runs that cover the stream."""

    spans: tuple[Row, ...]
    verdicts: tuple[Row, ...]

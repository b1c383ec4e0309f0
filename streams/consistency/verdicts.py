"""From rows to verdicts: for every point of time whether the content of its window agrees with the TBox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shiq.verdict import EXIT_CODES, Leftover, Verdict

Row: TypeAlias = dict[str, Any]


@dataclass
class Unused:
    """When something that was not used could be live: from its time for ``window`` more points; ``always`` if nobody knows."""

    window: int
    always: bool = False
    times: set[int] = field(default_factory=set)

    def add(self, t: int | None) -> None:
        if t is None:
            self.always = True
        else:
            self.times.add(t)


def verdict_runs(rows: Sequence[Mapping[str, Any]], unused: Unused, first: int, last: int) -> list[dict[str, Any]]:
    """Runs of one verdict and one number of inconsistent individuals; they cover [first, last]."""
    changes, doubt = Counter[int](), Counter[int]()
    for spans in _by_individual(rows).values():
        _add(changes, spans)
    _add(doubt, [(first, last)] if unused.always else [(max(t, first), min(t + unused.window, last)) for t in unused.times])
    times = sorted({first, *(c for c in (*changes, *doubt) if first < c <= last)})
    found: list[dict[str, Any]] = []
    wrong = doubtful = 0
    for c, following in zip(times, (*times[1:], last + 1)):
        wrong, doubtful = wrong + changes[c], doubtful + doubt[c]
        verdict = Verdict.INCONSISTENT if wrong else Verdict.UNDETERMINED if doubtful else Verdict.CONSISTENT
        if found and (found[-1]["verdict"], found[-1]["individuals"]) == (verdict.value, wrong):
            found[-1]["to"] = following - 1
        else:
            found.append({"from": c, "to": following - 1, "verdict": verdict.value, "individuals": wrong})
    return found


def _by_individual(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """The spans of each individual, joined."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        for name in {row["individual"], row.get("other", row["individual"])}:
            spans.setdefault(name, []).append((row["from"], row["to"]))
    return {name: _joined(sorted(found)) for name, found in spans.items()}


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _add(changes: Counter[int], spans: Iterable[tuple[int, int]]) -> None:
    for start, end in spans:
        if start <= end:
            changes[start] += 1
            changes[end + 1] -= 1


@dataclass(frozen=True)
class StreamResult:
    """``spans``: the rows of ``--out``; ``verdicts``: runs that cover the stream."""

    spans: tuple[Row, ...]
    verdicts: tuple[Row, ...]
    verdict: Verdict
    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` writes it."""
        told = [
            {"kind": x.kind, "message": x.message, "source": x.source, "line": x.line, "text": x.text, "count": x.number}
            for x in self.leftovers
        ]
        return {"verdict": self.verdict.value, "leftovers": told, "statistics": self.statistics}

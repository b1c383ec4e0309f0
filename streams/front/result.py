"""What came of a stream, as systems with a verdict tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiq.verdict import EXIT_CODES, Leftover, Verdict
from streams.front.rejects import leftover_rows


@dataclass(frozen=True)
class StreamAnswer:
    """``leftovers``: what was not understood or not used; ``statistics``: counts, and seconds by
    what they went to.
    """

    verdict: Verdict
    leftovers: tuple[Leftover, ...]
    statistics: dict[str, Any]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` writes it."""
        return {
            "verdict": self.verdict.value,
            "leftovers": leftover_rows(self.leftovers),
            "statistics": self.statistics,
        }


def verdict_of(contradicted: bool, is_open: bool) -> Verdict:
    """That of a stream in which something contradicts, or something could not be told."""
    return (
        Verdict.INCONSISTENT
        if contradicted
        else Verdict.UNDETERMINED
        if is_open
        else Verdict.CONSISTENT
    )

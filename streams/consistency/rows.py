"""Violations as rows: final ones once each, and, where a stream is followed, a row when a
conflict opens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streams.consistency.events import Numbering
from streams.consistency.labels import shown
from streams.consistency.plan import StreamPlan
from streams.consistency.verdicts import Row
from streams.consistency.violations import Finder, Violations


@dataclass
class Rows:
    """``heard`` takes the rows of violations; ``end``: where the stream ends, if that is known.
    What is open and was told is kept in ``told``: by whom and which labels, where it begins.
    """

    plan: StreamPlan
    finder: Finder
    names: Numbering
    end: int | None
    heard: Callable[[list[Row]], None]
    told: dict[str, list[int]] = field(default_factory=dict)
    _conflicts: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict)

    def final(self, found: Violations) -> list[Row]:
        """Tells violations that nothing can change any more."""
        rows = self._rows(found, True)
        for row in rows if self.told else ():
            who = _who(row)
            left = [
                start for start in self.told.pop(who, ()) if not row["from"] <= start <= row["to"]
            ]
            if left:
                self.told[who] = left
        self.heard(rows)
        return rows

    def opened(self, found: Violations, first: int, newest: int) -> None:
        """Tells those of violations that were not told yet; ``first``, ``newest``: the times of
        the stream so far.
        """
        static = found._replace(start=np.maximum(found.start, first))
        rows = []
        for row in self._rows(static, False):
            told = self.told.setdefault(_who(row), [])
            if not any(row["from"] <= start <= row["to"] for start in told):
                told.append(row["from"])
                rows.append(row | {"to": min(row["to"], newest + self.plan.window)})
        self.heard(rows)

    def _rows(self, found: Violations, final: bool) -> list[Row]:
        if self.end is not None:
            found = found._replace(end=np.minimum(found.end, self.end))
        return sorted(
            (
                self._row(*values, final=final)
                for values in zip(*(column.tolist() for column in found))
            ),
            key=order,
        )

    def _row(self, key: int, number: int, start: int, end: int, *, final: bool) -> Row:
        if number not in self._conflicts:
            conflict = self.finder.conflict(number)
            self._conflicts[number] = (
                sorted(set(map(shown, conflict))),
                list(self.plan.axioms_of(conflict)),
            )
        labels, axioms = self._conflicts[number]
        individual, other = self.names.pair(key)
        who = (
            {"individual": individual}
            if other is None
            else {"individual": individual, "other": other}
        )
        return {
            **who,
            "from": start,
            "to": end,
            "conflict": labels,
            "axioms": axioms,
            "final": final,
        }


def _who(row: Row) -> str:
    return "\0".join((row["individual"], row.get("other", ""), *row["conflict"]))


def order(row: Row) -> tuple[Any, ...]:
    """By time, then by name."""
    return row["from"], row["to"], row["individual"], row.get("other", ""), row["conflict"]

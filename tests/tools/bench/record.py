"""What a benchmark run writes down, its table, and what got worse since the last run that was kept.

>>> speed = Figure("speed-up", "×", target=10, better=1)
>>> Measured(speed, (9.0, 12.0, 11.0)).is_met, Measured(speed, ()).is_met
(True, None)
>>> earlier = {"speed-up": 20.0}
>>> [w.text for w in worse({"a": (Measured(speed, (11.0,)),)}, {"a": earlier})]
['a, speed-up: 11.0 ×, was 20.0 × (45 % worse)']
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiq.errors import InputError

#: Version of the JSON form; it changes when a field changes its meaning or goes.
SCHEMA_VERSION = 1
#: A figure that is worse by a larger share than this is told.
TOLERATED = 0.25


@dataclass(frozen=True)
class Figure:
    """A figure of a row. ``better``: 1 where more is better, -1 where less is, 0 where it is
    only for information (a peer's); ``target``: what it has to reach, or stay within.
    """

    name: str
    unit: str
    target: float | None = None
    better: int = -1

    @property
    def target_text(self) -> str:
        return (
            ""
            if self.target is None
            else f"{'≥' if self.better > 0 else '≤'} {self.target:g} {self.unit}".rstrip()
        )


@dataclass(frozen=True)
class Measured:
    """The values of a figure, one for each repeat that gave one."""

    figure: Figure
    values: tuple[float, ...]

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None

    @property
    def is_met(self) -> bool | None:
        """Whether the median reaches the target; None where there is no target or no value."""
        median, target = self.median, self.figure.target
        if median is None or target is None:
            return None
        return median >= target if self.figure.better > 0 else median <= target


@dataclass(frozen=True)
class RowRecord:
    """A row as it was measured. ``notes``: what was left out and why, and what was wrong: a peer
    that is absent, a verdict that is not the known one, a run that reached the limit.
    ``is_right``: no verdict of ours was wrong, no run of ours failed.
    """

    name: str
    title: str
    measured: tuple[Measured, ...]
    notes: tuple[str, ...] = ()
    is_right: bool = True

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "right": self.is_right,
            "notes": list(self.notes),
            "figures": [
                {
                    "name": m.figure.name,
                    "unit": m.figure.unit,
                    "target": m.figure.target,
                    "better": m.figure.better,
                    "values": [round(value, 6) for value in m.values],
                    "median": None if m.median is None else round(m.median, 6),
                    "met": m.is_met,
                }
                for m in self.measured
            ],
        }

    def text(self) -> str:
        """The row as lines of a table: figure, median, least and greatest value, target, whether
        it is met.
        """
        lines = [f"{self.name}: {self.title}"]
        for m in self.measured:
            if m.median is None:
                continue
            spread = (
                f"{_number(min(m.values))} … {_number(max(m.values))}" if len(m.values) > 1 else ""
            )
            met = "" if m.is_met is None else "met" if m.is_met and self.is_right else "MISSED"
            value = f"{_number(m.median)} {m.figure.unit}".rstrip()
            lines.append(
                f"  {m.figure.name:32} {value:>12}   {spread:18} {m.figure.target_text:14} {met}".rstrip()
            )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class Worse:
    """A figure that got worse, by which share."""

    row: str
    figure: Figure
    now: float
    before: float

    @property
    def share(self) -> float:
        """How much worse, as a share of the figure before."""
        return (
            self.before - self.now if self.figure.better > 0 else self.now - self.before
        ) / self.before

    @property
    def text(self) -> str:
        unit = self.figure.unit
        now, before = (f"{_number(value)} {unit}".rstrip() for value in (self.now, self.before))
        return (
            f"{self.row}, {self.figure.name}: {now}, was {before} ({self.share:.0%} worse)".replace(
                "%", " %"
            )
        )


def worse(
    now: Mapping[str, Sequence[Measured]], before: Mapping[str, Mapping[str, float]]
) -> list[Worse]:
    """The figures by row that are worse than ``before`` (medians by row and name) by more than
    `TOLERATED`.
    """
    found = []
    for row, measured in now.items():
        for m in measured:
            old = before.get(row, {}).get(m.figure.name)
            if m.figure.better and m.median is not None and old:
                candidate = Worse(row, m.figure, m.median, old)
                if candidate.share > TOLERATED:
                    found.append(candidate)
    return found


def last_kept(folder: Path, machine: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The latest median of each figure, by row, in the files of ``folder`` that were measured on
    a machine like this one.

    Raises InputError for a file that is none of ours.
    """
    found: dict[str, dict[str, float]] = {}
    for path in sorted(folder.glob("*.json")):
        document = read_record(path)
        if not is_alike(document["machine"], machine):
            continue
        for row in document["rows"]:
            medians = {f["name"]: f["median"] for f in row["figures"] if f["median"] is not None}
            found.setdefault(row["name"], {}).update(medians)
    return found


def is_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether figures of two machines can be compared: the same processor and as many cores."""
    return all(one.get(name) == other.get(name) for name in ("processor", "cores"))


def read_record(path: Path) -> dict[str, Any]:
    """A run that was kept. Raises InputError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"schema_version {document['schema_version']}")
        _ = document["machine"], [(row["name"], row["figures"]) for row in document["rows"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not a benchmark run ({error!r})",
            "Keep only what `make bench` wrote in that folder.",
        ) from error
    return dict(document)


def _number(value: float) -> str:
    if value and abs(value) < 0.1:
        return f"{value:.3f}"
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 1000
        else f"{value:,.0f}"
    )

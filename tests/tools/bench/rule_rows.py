"""The row ``rules``: what a point of a stream costs with stream rules, beside clingo with the
windows' contents given.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from functools import partial

from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

_FOR_INFORMATION = 0
#: Points before windows are full, and what is made once is made, are left out.
_BEGINNING = 10
#: For each stream the CPU milliseconds of a point, how many times faster than clingo on each point
#: anew, and grounded once.
_RULE_TARGETS: Mapping[str, tuple[float | None, float | None, float | None]] = {
    "grid 30², published": (2.0, 40.0, 4.0),
    "grid 30², failing": (6.0, 40.0, 4.0),
    "grid 30², failing, near links": (None, None, None),
    "grid 20², failing": (None, 25.0, None),
    "dense join": (None, 15.0, None),
    "Heavy Join": (None, 10.0, None),
    "Content Caching": (None, 10.0, None),
}
#: Streams that long windows are measured on, by window; and those with constants that never come
#: again, few and many.
_WINDOWS: Mapping[int, str] = {60: "window [60]", 3600: "window [3600]"}
_CONSTANTS = ("constants in passing, few", "constants in passing")
#: All streams that the row measures, each one of `tests.tools.bench.rules.STREAMS`.
MEASURED = (*_RULE_TARGETS, *_WINDOWS.values(), *_CONSTANTS)


def _rules(repeat: Repeat) -> None:
    for stream in _RULE_TARGETS:
        used, ours = repeat.bench.ruled(stream, "shiq")
        cpu, wall = ours["cpu_ms"][_BEGINNING:], sorted(ours["wall_ms"][_BEGINNING:])
        mean = statistics.mean(cpu)
        repeat.values |= {
            stream: mean,
            f"{stream}: slowest, wall": wall[-1],
            f"{stream}: whole process": used.cpu_seconds,
        }
        repeat.values[f"{stream}: memory"] = used.peak_mb
        repeat.notes.append(
            f"{stream}: {len(ours['cpu_ms'])} points, all accepted; set up in {ours['setup_seconds']:.2f} CPU s"
        )
        for system, title in _CLINGO.items():
            if system == "fresh" or stream.startswith("grid"):
                repeat.attempt(
                    partial(_beside_clingo, repeat, stream, system, title, ours["derived"], mean)
                )
    _windows_and_constants(repeat)


def _beside_clingo(
    repeat: Repeat, stream: str, system: str, title: str, derived: list[list[int]], mean: float
) -> None:
    _, theirs = repeat.bench.ruled(stream, system)
    if theirs["derived"] != derived:
        repeat.wrong.append(f"{stream}: {title} derives something else")
    their_mean = statistics.mean(theirs["cpu_ms"][_BEGINNING:])
    repeat.values |= {
        f"{stream}: {title}": their_mean,
        f"{stream}: times {title}": their_mean / mean,
    }


def _windows_and_constants(repeat: Repeat) -> None:
    """What a long window costs, and what a million constants leave behind."""
    means = {
        window: statistics.mean(repeat.bench.ruled(name, "shiq")[1]["cpu_ms"][-500:])
        for window, name in _WINDOWS.items()
    }
    repeat.values |= {"window [3600]": means[3600], "window [3600] / [60]": means[3600] / means[60]}
    few, many = (repeat.bench.ruled(name, "shiq")[0].peak_mb for name in _CONSTANTS)
    repeat.values["a million constants: more memory than 50,000"] = many - few


_CLINGO = {"fresh": "clingo anew", "once": "clingo grounded once"}


def _rule_figures() -> Iterator[Figure]:
    for stream, (most, fresh, once) in _RULE_TARGETS.items():
        yield Figure(stream, "ms", most)
        for title, target in (("clingo anew", fresh), ("clingo grounded once", once)):
            if title == "clingo anew" or stream.startswith("grid"):
                yield Figure(f"{stream}: times {title}", "×", target, better=1)
                yield Figure(f"{stream}: {title}", "ms", better=_FOR_INFORMATION)
        yield Figure(f"{stream}: slowest, wall", "ms", better=_FOR_INFORMATION)
        yield Figure(f"{stream}: whole process", "s", better=_FOR_INFORMATION)
        yield Figure(f"{stream}: memory", "MiB")
    yield Figure("window [3600]", "ms")
    yield Figure("window [3600] / [60]", "×", 1.5)
    yield Figure("a million constants: more memory than 50,000", "MiB", 50)


RULE_ROWS = {
    "rules": Row(
        "rules",
        "stream rules, CPU of a point, beside clingo with the windows' contents given",
        tuple(_rule_figures()),
        _rules,
    )
}

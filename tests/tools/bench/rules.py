"""Stream rules beside clingo: ``python -m tests.tools.bench.rules TASK.json ANSWER.json``
evaluates one stream by one system.

The task: ``stream``, of `STREAMS`; ``system``: shiq, fresh (clingo on each point anew, with what
the windows hold as facts) or once (clingo, grounded once, inputs are externals; the grid alone).
The answer has CPU and wall milliseconds of each point, rows in to derived atoms out, how many
atoms of each predicate that were, and set-up seconds. Windows, and what of the grid's rules
looks back on derived atoms, are counted outside clingo and outside its time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shiq.jobs.evaluation.papers.rules import (
    evaluate_clingo_from_scratch,
    evaluate_clingo_once,
    evaluate_incrementally,
)
from shiq.jobs.evaluation.streams.rules import (
    ContentCaching,
    GeneratedRules,
    HeavyJoin,
    PhotovoltaicGrid,
)

#: Each stream: its recipe, the predicates that are compared, and whether texts go in and out.
STREAMS: dict[str, tuple[Callable[[], GeneratedRules], tuple[str, ...], bool]] = {
    "grid 30², published": (
        lambda: PhotovoltaicGrid(30, 60, 0.0).generate_stream(),
        ("reachable/2",),
        False,
    ),
    "grid 30², failing": (
        lambda: PhotovoltaicGrid(30, 60, 0.03).generate_stream(),
        ("reachable/2",),
        False,
    ),
    "grid 30², failing, near links": (
        lambda: PhotovoltaicGrid(30, 60, 0.03, "near").generate_stream(),
        ("reachable/2",),
        False,
    ),
    "grid 20², failing": (
        lambda: PhotovoltaicGrid(20, 60, 0.03).generate_stream(),
        ("reachable/2",),
        False,
    ),
    "dense join": (lambda: HeavyJoin().generate_stream(), ("a/2",), False),
    "Heavy Join": (lambda: HeavyJoin(values=0).generate_stream(), ("a/2",), True),
    "Content Caching": (
        lambda: ContentCaching().generate_stream(),
        ("rate/2", "popular/1", "cold/1", "random/0"),
        True,
    ),
    "window [60]": (lambda: _lately(60), ("p/1",), False),
    "window [3600]": (lambda: _lately(3600), ("p/1",), False),
    "constants in passing, few": (lambda: _passing(50), ("n/1",), True),
    "constants in passing": (lambda: _passing(1000), ("n/1",), True),
}


def _lately(window: int) -> GeneratedRules:
    """100 atoms a point, some of which are asked for within the window; more points than the
    longest window has.
    """
    dice = np.random.default_rng(0)
    points = (
        {"b/1": (dice.integers(0, 10_000, 100),), "q/1": (dice.integers(0, 10_000, 20),)}
        for _ in range(4200)
    )
    return GeneratedRules(f"p(X) :- b(X) in [{window}], q(X).\n", points)


def _passing(points: int) -> GeneratedRules:
    """1,000 texts a point that never come again."""
    numbers = ({"a/1": (np.arange(1000 * t, 1000 * t + 1000),)} for t in range(points))
    return GeneratedRules(
        "p(X) :- a(X) in [5], not b(X).\nn(N) :- #count{X: p(X)} = N.\n", numbers, "c"
    )


_SYSTEMS = {
    "shiq": evaluate_incrementally,
    "fresh": evaluate_clingo_from_scratch,
    "once": evaluate_clingo_once,
}


def run(stream: str, system: str) -> dict[str, Any]:
    """One stream by one system."""
    make, asked, texts = STREAMS[stream]
    setup, *points = _SYSTEMS[system](make(), asked, texts)
    return {
        "setup_seconds": setup.cpu / 1000,
        "cpu_ms": [point.cpu for point in points],
        "wall_ms": [point.wall for point in points],
        "derived": [point.atom_counts for point in points],
    }


def main(arguments: list[str]) -> int:
    """Does the task, and writes the answer; errors are left to Python."""
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    Path(arguments[1]).write_text(json.dumps(run(task["stream"], task["system"])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

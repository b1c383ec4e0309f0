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
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jobs.evaluation.streams.caching import Caching
from jobs.evaluation.streams.grid import Grid
from jobs.evaluation.streams.join import GeneratedJoin
from jobs.evaluation.streams.rules import GeneratedRules

#: Each stream: its recipe, the predicates that are compared, and whether texts go in and out.
STREAMS: dict[str, tuple[Callable[[], GeneratedRules], tuple[str, ...], bool]] = {
    "grid 30², published": (lambda: Grid(30, 60, 0.0).stream(), ("reachable/2",), False),
    "grid 30², failing": (lambda: Grid(30, 60, 0.03).stream(), ("reachable/2",), False),
    "grid 30², failing, near links": (
        lambda: Grid(30, 60, 0.03, "near").stream(),
        ("reachable/2",),
        False,
    ),
    "grid 20², failing": (lambda: Grid(20, 60, 0.03).stream(), ("reachable/2",), False),
    "dense join": (lambda: GeneratedJoin().stream(), ("a/2",), False),
    "Heavy Join": (lambda: GeneratedJoin(values=0).stream(), ("a/2",), True),
    "Content Caching": (
        lambda: Caching().stream(),
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


def shiq(
    stream: GeneratedRules, asked: tuple[str, ...], texts: bool
) -> Iterator[tuple[float, float, list[int]]]:
    """Ours: set-up first, then a point each."""
    from streams.rules import Program

    begun = time.process_time(), time.perf_counter()
    session = Program.parse(stream.rules).session()
    yield *_since(begun), []
    for t, rows in stream.lines() if texts else stream.events():
        begun = time.process_time(), time.perf_counter()
        (model,) = [*session.push(t, rows), *session.finish()]
        if texts:
            found: Any = model.derived
            used = _since(begun)
            yield (
                *used,
                [
                    sum(atom == name or atom.startswith(name + "(") for atom in found)
                    for name in _names(asked)
                ],
            )
        else:
            found = [model.columns(predicate) for predicate in asked]
            used = _since(begun)
            yield *used, [len(columns[0]) for columns in found]


def _since(begun: tuple[float, float]) -> tuple[float, float]:
    return 1000 * (time.process_time() - begun[0]), 1000 * (time.perf_counter() - begun[1])


def _names(asked: tuple[str, ...]) -> list[str]:
    return [predicate.rpartition("/")[0] for predicate in asked]


# --- clingo ---------------------------------------------------------------------------------------

#: For each predicate of input the window that the rules ask for, and the rules over what it holds:
#: q_(…, how often).
_WINDOWS = {"energyDelivered/2": 4, "b/2": 20, "c/2": 20, "request/2": 5, "alpha/1": 5}
_OVER_WINDOWS = (
    ("energyDelivered(P,W) at least 1 in [4]", "energyDelivered_(P,W,_)"),
    ("request(C,S) count N in [5]", "request_(C,S,N)"),
    ("request(C,S) in [5]", "request_(C,S,_)"),
    ("alpha(V) in [5]", "alpha_(V,_)"),
    ("b(X,Z) in [20]", "b_(X,Z,_)"),
    ("c(Z,Y) in [20]", "c_(Z,Y,_)"),
    # They look back on derived atoms, and cost nothing.
    ("regularFunctioning :- unlinked at most 2 in [3].\n", ""),
    ("alert :- not regularFunctioning.\n", ""),
    ("callMaintenance :- alert always in [5].\n", ""),
)


def windows(stream: GeneratedRules) -> Iterator[Counter[tuple[str, tuple[int, ...]]]]:
    """What the windows hold at each point, with how often."""
    held: Counter[tuple[str, tuple[int, ...]]] = Counter()
    past: dict[str, deque[set[tuple[str, tuple[int, ...]]]]] = {name: deque() for name in _WINDOWS}
    for _, rows in stream.events():
        for name, window in _WINDOWS.items():
            now = (
                {(name, row) for row in zip(*(column.tolist() for column in rows[name]))}
                if name in rows
                else set()
            )
            past[name].append(now)
            held.update(now)
            if len(past[name]) > window + 1:
                held.subtract(past[name].popleft())
        yield +held


def _over_windows(stream: GeneratedRules, asked: tuple[str, ...]) -> str:
    text = stream.rules
    for ours, theirs in _OVER_WINDOWS:
        text = text.replace(ours, theirs)
    return text + "".join(f"#show {predicate}.\n" for predicate in asked)


def fresh(
    stream: GeneratedRules, asked: tuple[str, ...], texts: bool
) -> Iterator[tuple[float, float, list[int]]]:
    """clingo on each point anew."""
    import clingo

    rules = _over_windows(stream, asked)
    yield 0.0, 0.0, []
    for held in windows(stream):
        facts = "".join(
            f"{name.partition('/')[0]}_({','.join(map(str, row))},{m}).\n"
            for (name, row), m in held.items()
        )
        begun = time.process_time(), time.perf_counter()
        control = clingo.Control(["--warn=none"])
        control.add("base", [], rules + facts)
        control.ground([("base", [])])
        shown = _solved(control, texts)
        used = _since(begun)
        yield *used, _counted(shown, asked)


def once(
    stream: GeneratedRules, asked: tuple[str, ...], texts: bool
) -> Iterator[tuple[float, float, list[int]]]:
    """clingo on the grid, grounded once: which panels have delivered enough is external."""
    import clingo

    text = _over_windows(stream, asked)
    text = (
        text.replace("energyDelivered_(P,W,_), energyThreshold(Et), W >= Et", "enough(P)")
        + "#external enough(P) : link(P,_), P != cea.\n"
    )
    begun = time.process_time(), time.perf_counter()
    control = clingo.Control(["--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    yield *_since(begun), []
    enough: set[int] = set()
    for held in windows(stream):
        now = {row[0] for name, row in held if name == "energyDelivered/2" and row[1] >= 10}
        begun = time.process_time(), time.perf_counter()
        for panel in now ^ enough:
            control.assign_external(clingo.Function("enough", [clingo.Number(panel)]), panel in now)
        shown = _solved(control, texts)
        used = _since(begun)
        enough = now
        yield *used, _counted(shown, asked)


def _solved(control: Any, texts: bool) -> list[Any]:
    with control.solve(yield_=True) as handle:
        shown = list(handle.model().symbols(shown=True))
    return (
        [(symbol.name, str(symbol)) for symbol in shown]
        if texts
        else [(symbol.name, symbol) for symbol in shown]
    )


def _counted(shown: list[Any], asked: tuple[str, ...]) -> list[int]:
    number = Counter(name for name, _ in shown)
    return [number[name] for name in _names(asked)]


_SYSTEMS = {"shiq": shiq, "fresh": fresh, "once": once}


def run(stream: str, system: str) -> dict[str, Any]:
    """One stream by one system."""
    make, asked, texts = STREAMS[stream]
    (setup, _, _), *points = list(_SYSTEMS[system](make(), asked, texts))
    return {
        "setup_seconds": setup / 1000,
        "cpu_ms": [cpu for cpu, _, _ in points],
        "wall_ms": [wall for _, wall, _ in points],
        "derived": [found for _, _, found in points],
    }


def main(arguments: list[str]) -> int:
    """Does the task, and writes the answer; errors are left to Python."""
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    Path(arguments[1]).write_text(json.dumps(run(task["stream"], task["system"])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The row ``discovery``: what a slide costs the exact miner, beside the reference and itemset miners, one process, CPU time.

A generated city with its five streams. A slide is all from one report to the next: reading, entailing, counting, mining. The
reference works everything out anew but for lines that it has read. In the ground language the mining alone is compared, on the
same transactions.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from jobs.evaluation.streams.dublin import generate
from jobs.evaluation.streams.dublin_city import RATES
from streams.discovery import RuleMiner
from streams.discovery.atomsets import text_of
from streams.discovery.ground import mine_ground
from streams.discovery.settings import Settings
from tests.tools.bench.process import NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

#: The city, its window, and the slides that are compared, with what the exact miner should be faster by.
ROADS, WINDOW = 60, 192
SLIDES = {"1/3": (WINDOW // 3, 2.5), "1/96": (WINDOW // 96, 10.0)}
#: Slides of the exact miner and windows of the reference that are timed.
TIMED, ANEW = 3, 1
#: Itemset miners enumerate what the ground language has of a city this small already.
GROUND_ROADS, GROUND_ATOMS, GROUND_TARGET = 4, 2, 20.0
_LIMITS: dict[str, Any] = {"max_atoms": 2, "max_variables": 2}

FIGURES = (
    *(Figure(f"a slide of {k}: exact over scratch", "×", target, better=1) for k, (_, target) in SLIDES.items()),
    *(Figure(f"a slide of {k}: {method}", "s", better=0) for k in SLIDES for method in ("exact", "scratch")),
    Figure("ground, a slide of 1/3: exact over mlxtend", "×", GROUND_TARGET, better=1),
    Figure("ground, a slide of 1/3: exact", "s", better=0),
    Figure("ground, a slide of 1/3: mlxtend", "s", better=0),
)


def _miner(city: Path, slide: int, **options: Any) -> RuleMiner:
    return RuleMiner(city / "tbox.ofn", static=city / "static.nt.gz", window=WINDOW, slide=slide, **{**_LIMITS, **options})


def _slides(miner: RuleMiner, city: Path, count: int) -> Iterator[tuple[float, dict[str, Any]]]:
    """The CPU seconds of some slides behind the first window, each with its report."""
    reports = miner.run([city / f"{name}.jsonl.gz" for name in RATES])
    next(reports)
    for _ in range(count):
        begun = process_time()
        report = next(reports)
        yield process_time() - begun, report.to_dict()


def _slide(repeat: Repeat, city: Path, k: str) -> None:
    slide = SLIDES[k][0]
    exact = list(_slides(_miner(city, slide), city, TIMED))
    anew = list(_slides(_miner(city, slide, method="scratch"), city, ANEW))
    for (_, ours), (_, theirs) in zip(exact, anew):
        if ours["rules"] != theirs["rules"]:
            repeat.wrong.append(f"a slide of {k}: the rules of {ours['window']} differ")
    seconds = [statistics.median(spent for spent, _ in timed) for timed in (exact, anew)]
    repeat.values |= {f"a slide of {k}: exact": seconds[0], f"a slide of {k}: scratch": seconds[1]}
    repeat.values[f"a slide of {k}: exact over scratch"] = seconds[1] / seconds[0]
    repeat.notes.append(f"a slide of {k}: {len(exact[0][1]['rules']):,} rules in {exact[0][1]['window']}")


def _ground(repeat: Repeat, city: Path) -> None:
    miner = _miner(city, SLIDES["1/3"][0], language="ground", max_atoms=GROUND_ATOMS, max_rules=10_000_000)
    (_,) = _slides(miner, city, 1)
    windows, settings = miner.windows, miner.settings
    begun = process_time()
    mined = mine_ground(windows.columns, windows.theory, settings.limits, WINDOW)
    ours = process_time() - begun
    repeat.values["ground, a slide of 1/3: exact"] = ours
    repeat.notes.append(f"ground: {len(mined.rules):,} rules, {GROUND_ROADS} roads, bodies of {GROUND_ATOMS}")

    def beside() -> None:
        theirs = _mlxtend(miner, settings)
        repeat.values["ground, a slide of 1/3: mlxtend"] = theirs
        repeat.values["ground, a slide of 1/3: exact over mlxtend"] = theirs / ours

    repeat.attempt(beside)


def _mlxtend(miner: RuleMiner, settings: Settings) -> float:
    """The CPU seconds in which mlxtend mines the window, items as columns of truth values, and tells its rules."""
    if importlib.util.find_spec("mlxtend") is None:
        raise NotMeasured("mlxtend is not installed")
    import pandas as pd  # type: ignore[import-untyped]
    from mlxtend.frequent_patterns import association_rules, fpgrowth  # type: ignore[import-not-found]

    snapshots, last = miner.windows.snapshots, miner.windows.last_end()
    assert last is not None
    entailed = [snapshots.entailed(index) or () for index in range(last - WINDOW + 1, last + 1)]
    rows = [{text_of([atom]): True for atom in atoms if len(atom) == 2} for atoms in entailed]
    table = pd.DataFrame(rows).fillna(value=False).astype(bool)
    begun = process_time()
    often = fpgrowth(table, min_support=settings.min_support, use_colnames=True, max_len=settings.max_atoms + 1)
    association_rules(often, metric="confidence", min_threshold=settings.min_confidence)
    return process_time() - begun


def _measure(repeat: Repeat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        city, small = Path(folder) / "city", Path(folder) / "small"
        generate(ROADS, WINDOW + SLIDES["1/3"][0] * TIMED, repeat.seed % 1_000_000, city)
        for k in SLIDES:
            repeat.bench.say(f"a slide of {k}")
            _slide(repeat, city, k)
        generate(GROUND_ROADS, WINDOW + SLIDES["1/3"][0], repeat.seed % 1_000_000, small)
        repeat.bench.say("ground language")
        _ground(repeat, small)


DISCOVERY_ROWS = {
    "discovery": Row("discovery", "a slide over a generated city of 60 roads, |w| 192, one process, CPU", FIGURES, _measure)
}

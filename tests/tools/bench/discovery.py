"""The row ``discovery``: what a slide costs the exact miner, beside the reference and itemset
miners, one process, CPU time.

A generated city with its five streams. A slide is all from one report to the next: reading,
entailing, counting, mining. The reference works everything out anew but for lines that it has
read. In the ground language the mining alone is compared, on the same transactions.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from jobs.evaluation.peers.install import MINERS, home
from jobs.evaluation.streams.dublin import generate
from jobs.evaluation.streams.dublin_city import RATES
from streams.discovery import RuleMiner
from streams.discovery.atomsets import text_of
from streams.discovery.ground import mine_ground
from tests.tools.bench.process import NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

#: The city, its window, and the slides that are compared, with what the exact miner should be
#: faster by.
ROADS, WINDOW = 60, 1000
SLIDES = {"1/3": (WINDOW // 3, 2.5), "1/100": (WINDOW // 100, 10.0)}
#: Slides of the exact miner and windows of the reference that are timed.
TIMED, ANEW = 3, 1
#: Itemset miners enumerate what the ground language has of a city this small already; the peers,
#: and how much slower they should be (one in C may be twice as fast).
GROUND_ROADS, GROUND_WINDOW, GROUND_ATOMS, GROUND_TARGETS = (
    4,
    1000,
    3,
    {"mlxtend": 20.0, "pyfim": 0.5},
)
_LIMITS: dict[str, Any] = {"max_atoms": 2, "max_variables": 2}

FIGURES = (
    *(
        Figure(f"a slide of {k}: exact over scratch", "×", target, better=1)
        for k, (_, target) in SLIDES.items()
    ),
    *(Figure(f"a slide of {k}: exact over exact begun anew", "×", better=1) for k in SLIDES),
    *(Figure(f"a slide of {k}: inkd, gate off, as a share of exact", "×", 1.5) for k in SLIDES),
    *(
        Figure(f"a slide of {k}: {method}", "s", better=0)
        for k in SLIDES
        for method in ("exact", "scratch")
    ),
    *(
        Figure(f"ground, a slide of 1/3: exact over {name}", "×", target, better=1)
        for name, target in GROUND_TARGETS.items()
    ),
    *(
        Figure(f"ground, a slide of 1/3: {name}", "s", better=0)
        for name in ("exact", *GROUND_TARGETS)
    ),
)


def _miner(city: Path, slide: int, window: int = WINDOW, **options: Any) -> RuleMiner:
    return RuleMiner(
        city / "tbox.ofn",
        static=city / "static.nt.gz",
        window=window,
        slide=slide,
        **{**_LIMITS, **options},
    )


def _slides(miner: RuleMiner, city: Path, count: int) -> Iterator[tuple[float, dict[str, Any]]]:
    """The CPU seconds of the first window and of some slides behind it, each with its report."""
    reports = miner.run([city / f"{name}.jsonl.gz" for name in RATES])
    for _ in range(count + 1):
        begun = process_time()
        report = next(reports)
        yield process_time() - begun, report.to_dict()


def _slide(repeat: Repeat, city: Path, k: str) -> None:
    slide = SLIDES[k][0]
    exact = list(_slides(_miner(city, slide), city, TIMED))
    inkd = list(_slides(_miner(city, slide, method="inkd", gate="off"), city, TIMED))
    scratch = list(_slides(_miner(city, slide, method="scratch"), city, ANEW))
    for (_, one), (_, other) in zip(exact, scratch):
        if one["rules"] != other["rules"]:
            repeat.wrong.append(f"a slide of {k}: the rules of {one['window']} differ")
    ours, approximate, theirs = (
        statistics.median(spent for spent, _ in timed[1:]) for timed in (exact, inkd, scratch)
    )
    repeat.values |= {f"a slide of {k}: exact": ours, f"a slide of {k}: scratch": theirs}
    repeat.values[f"a slide of {k}: exact over scratch"] = theirs / ours
    repeat.values[f"a slide of {k}: exact over exact begun anew"] = exact[0][0] / ours
    repeat.values[f"a slide of {k}: inkd, gate off, as a share of exact"] = approximate / ours
    repeat.notes.append(
        f"a slide of {k}: {len(exact[0][1]['rules']):,} rules in {exact[0][1]['window']}"
    )


def _ground(repeat: Repeat, city: Path) -> None:
    miner = _miner(city, GROUND_WINDOW // 3, GROUND_WINDOW, language="ground", max_atoms=1)
    list(_slides(miner, city, 1))
    windows, limits = (
        miner.windows,
        replace(miner.settings.limits, max_atoms=GROUND_ATOMS, max_rules=10_000_000),
    )
    begun = process_time()
    mined = mine_ground(windows.columns, windows.theory, limits, GROUND_WINDOW)
    ours = process_time() - begun
    repeat.values["ground, a slide of 1/3: exact"] = ours
    repeat.notes.append(
        f"ground: {len(mined.table):,} rules, {GROUND_ROADS} roads, bodies of {GROUND_ATOMS}"
    )

    def beside() -> None:
        for name, theirs in _itemset_miners(miner).items():
            repeat.values[f"ground, a slide of 1/3: {name}"] = theirs
            repeat.values[f"ground, a slide of 1/3: exact over {name}"] = theirs / ours

    repeat.attempt(beside)


def _itemset_miners(miner: RuleMiner) -> dict[str, float]:
    """The CPU seconds in which itemset miners mine the last window, and tell its rules."""
    program = home() / MINERS / "bin" / "python"
    if not program.is_file():
        raise NotMeasured("mlxtend and pyfim are not installed (make peers)")
    windows, last = miner.windows, miner.windows.last_end()
    assert last is not None
    names = set(windows.theory.classes)
    entailed = (
        windows.snapshots.entailed(index) or ()
        for index in range(last - GROUND_WINDOW + 1, last + 1)
    )
    transactions = [
        [text_of([atom]) for atom in atoms if len(atom) == 2 and atom[0] in names]
        for atoms in entailed
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(transactions, file)
        file.flush()
        shares = (
            str(miner.settings.min_support),
            str(miner.settings.min_confidence),
            str(GROUND_ATOMS),
        )
        call = [
            str(program),
            "-W",
            "ignore",
            str(Path(__file__).with_name("miners.py")),
            file.name,
            *shares,
        ]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"the itemset miners ended with {done.returncode}: {done.stderr[-300:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _measure(repeat: Repeat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        city, small = Path(folder) / "city", Path(folder) / "small"
        generate(ROADS, WINDOW + SLIDES["1/3"][0] * TIMED, repeat.seed % 1_000_000, city)
        for k in SLIDES:
            repeat.bench.say(f"a slide of {k}")
            _slide(repeat, city, k)
        generate(GROUND_ROADS, GROUND_WINDOW + GROUND_WINDOW // 3, repeat.seed % 1_000_000, small)
        repeat.bench.say("ground language")
        _ground(repeat, small)


DISCOVERY_ROWS = {
    "discovery": Row(
        "discovery",
        "a slide over a generated city of 60 roads, |w| 1000, one process, CPU",
        FIGURES,
        _measure,
    )
}

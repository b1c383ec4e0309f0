"""The row ``discovery``: what a slide costs the exact miner, beside the reference and itemset
miners, one process, CPU time.

A generated city with its five streams. A slide is all from one report to the next: reading,
entailing, counting, mining. The reference works everything out anew but for lines that it has
read. In the ground language the mining alone is compared, on the same transactions.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from shiq.jobs.evaluation.papers.discovery import (
    make_miner,
    mine_slides,
    time_ground_mining,
    time_itemset_miners,
)
from shiq.jobs.evaluation.streams.dublin import DublinRecipe, generate_city
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


def _slide(repeat: Repeat, city: Path, k: str) -> None:
    slide = SLIDES[k][0]
    exact = list(mine_slides(make_miner(city, slide, WINDOW), city, TIMED))
    inkd = list(
        mine_slides(make_miner(city, slide, WINDOW, method="inkd", gate="off"), city, TIMED)
    )
    scratch = list(mine_slides(make_miner(city, slide, WINDOW, method="scratch"), city, ANEW))
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
    miner = make_miner(city, GROUND_WINDOW // 3, GROUND_WINDOW, language="ground", max_atoms=1)
    list(mine_slides(miner, city, 1))
    ours, mined = time_ground_mining(miner, GROUND_ATOMS, GROUND_WINDOW)
    repeat.values["ground, a slide of 1/3: exact"] = ours
    repeat.notes.append(f"ground: {mined:,} rules, {GROUND_ROADS} roads, bodies of {GROUND_ATOMS}")

    def beside() -> None:
        for name, theirs in time_itemset_miners(miner, GROUND_ATOMS, GROUND_WINDOW).items():
            repeat.values[f"ground, a slide of 1/3: {name}"] = theirs
            repeat.values[f"ground, a slide of 1/3: exact over {name}"] = theirs / ours

    repeat.attempt(beside)


def _measure(repeat: Repeat) -> None:
    with tempfile.TemporaryDirectory() as folder:
        city, small = Path(folder) / "city", Path(folder) / "small"
        recipe = DublinRecipe(ROADS, WINDOW + SLIDES["1/3"][0] * TIMED, repeat.seed % 1_000_000)
        generate_city(recipe, city)
        for k in SLIDES:
            repeat.bench.say(f"a slide of {k}")
            _slide(repeat, city, k)
        recipe = DublinRecipe(
            GROUND_ROADS, GROUND_WINDOW + GROUND_WINDOW // 3, repeat.seed % 1_000_000
        )
        generate_city(recipe, small)
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

"""Generate programs of stream rules together with a stream; the same seed gives the same stream.

As files: ``program.lp`` and ``stream.log`` (a line for each time point: time, then atoms). In
memory: rows in columns, which are faster than texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.jobs.option_fields import Takes, option

Column: TypeAlias = npt.NDArray[np.int64]
#: The rows of a point: for each predicate its columns.
PointRows: TypeAlias = Mapping[str, tuple[Column, ...]]


@dataclass(frozen=True)
class GeneratedRules:
    """Generated benchmark for stream rules: a program, and its input stream as the rows of each
    time point from 0 on.

    letter: put before each number in texts
    """

    rules: str
    points: Iterable[PointRows]
    letter: str = ""

    def timed_rows(self) -> Iterator[tuple[int, PointRows]]:
        """Time and rows of each point, as `RuleSession.push` takes them."""
        return enumerate(self.points)

    def timed_atoms(self) -> Iterator[tuple[int, list[str]]]:
        """Yield time and atoms (as texts) of each point."""
        for t, rows in self.timed_rows():
            yield (
                t,
                [
                    atom
                    for predicate, columns in rows.items()
                    for atom in self._format_atoms(predicate, columns)
                ],
            )

    def write_files(self, folder: Path) -> tuple[str, str]:
        """Write program and stream to two files; return their names."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.lp").write_text(self.rules, encoding="utf-8")
        with (folder / "stream.log").open("w", encoding="utf-8") as file:
            file.writelines(f"{t} {'; '.join(atoms)}\n" for t, atoms in self.timed_atoms())
        return "program.lp", "stream.log"

    def _format_atoms(self, predicate: str, columns: tuple[Column, ...]) -> list[str]:
        """Format the rows of a predicate as atoms."""
        name, before = predicate.rpartition("/")[0], self.letter
        return [
            f"{name}({before}{f',{before}'.join(map(str, row))})"
            for row in zip(*(column.tolist() for column in columns))
        ]


# Content Caching: which strategy a cache should follow, by how popular contents were lately;
# with what is asked for, by content.
#
# The published program looks at one parameter; here each point also brings requests for many
# contents.


CACHING_RULES: Final = """rate(C,N) :- request(C,S) count N in [{w}].
popular(C) :- rate(C,N), N >= 3.
cold(C) :- content(C), not requested(C).
requested(C) :- request(C,S) in [{w}].
high :- alpha(V) in [{w}], V >= 18.
mid :- alpha(V) in [{w}], V >= 12, V < 18.
low :- alpha(V) in [{w}], V < 12.
lfu :- high, not low.
lru :- mid, not high.
fifo :- low, not mid.
done :- lfu.
done :- lru.
done :- fifo.
random :- not done.
"""


@dataclass(frozen=True)
class ContentCaching:
    """Settings of the Content Caching benchmark (rules that count the requests of each content and
    choose a replacement policy for a cache): at each time point ``events`` requests for some of
    ``contents``.

    sources: number of different requesters
    """

    events: int = option(500, "Requests of a point.", minimum=1)
    window: int = option(5, "", minimum=1)
    contents: int = 200
    sources: int = 20
    points: int = option(60, "", minimum=1)
    seed: int = option(0, "", minimum=0)

    def generate_stream(self) -> GeneratedRules:
        """Generate the program and the stream."""
        contents = "".join(f"content({number}).\n" for number in range(self.contents))
        return GeneratedRules(
            CACHING_RULES.format(w=self.window) + contents, self._generate_points()
        )

    def _generate_points(self) -> Iterator[PointRows]:
        """Yield the rows of each time point: random requests, and a random value of ``alpha``, by
        which the rules choose the cache's replacement policy.
        """
        dice = np.random.default_rng(self.seed)
        for _ in range(self.points):
            # Few contents are asked for often.
            asked = (self.contents * dice.random(self.events) ** 2).astype(np.int64)
            yield {
                "request/2": (asked, dice.integers(0, self.sources, self.events)),
                "alpha/1": (dice.integers(0, 30, 1),),
            }


# Heavy Join: pairs that meet within a window (docs/RULES.md).
#
# Published, it alternates two fixed sets of facts that join on one value only: half as many
# results as facts at the first point, then as many as facts. Dense, the facts are random pairs
# over few values, so that nearly all pairs meet, and other ones at each point.


@dataclass(frozen=True)
class HeavyJoin:
    """Settings of the Heavy Join benchmark (a program that joins two predicates): ``facts`` at each
    time point, half of them for each of the two predicates.

    values: number of different arguments; 0 gives the published stream
    """

    facts: int = option(500, "Facts of a point.", minimum=2)
    window: int = option(20, "", minimum=1)
    values: int = option(50, "Of an argument; 0: as published.", minimum=0)
    points: int = option(60, "", minimum=1)
    seed: int = option(0, "", minimum=0)

    def generate_stream(self) -> GeneratedRules:
        """Generate the program and the stream."""
        rules = f"a(X,Y) :- b(X,Z) in [{self.window}], c(Z,Y) in [{self.window}].\n"
        return GeneratedRules(
            rules,
            self._generate_dense_points() if self.values else self._generate_published_points(),
        )

    def _generate_dense_points(self) -> Iterator[PointRows]:
        """Yield the rows of each time point: random pairs over few values, so that nearly all facts
        join.
        """
        dice, size = np.random.default_rng(self.seed), self.facts // 2
        for _ in range(self.points):
            columns = [dice.integers(0, self.values, size) for _ in range(4)]
            yield {"b/2": (columns[0], columns[1]), "c/2": (columns[2], columns[3])}

    def _generate_published_points(self) -> Iterator[PointRows]:
        """Yield the rows of each time point as in the benchmark that I-DLV-sr's authors published:
        two alternating sets of facts that join on one value.
        """
        half = self.facts // 2
        for point in range(self.points):
            number, zeros = np.arange(half) + half * (point % 2), np.zeros(half, np.int64)
            # Each b(X,0) meets c(0,0) alone, which is of the first set.
            yield {"b/2": (number, zeros), "c/2": (number, zeros)}


# The photo-voltaic grid: which panels still reach the central one, from what each delivered
# lately (docs/RULES.md).
#
# Links as published (each pair of panels with probability 0.075: 11,970 links of 20², 60,682 of
# 30²), where all that works is reached in a few steps, or between panels at most four steps apart,
# where paths are long. Published panels never fail.


GRID_RULES: Final = """workingPanel(P) :- energyDelivered(P,W) at least 1 in [4], energyThreshold(Et), W >= Et.
reachable(cea,P2) :- link(cea,P2), workingPanel(P2).
reachable(P1,P3) :- reachable(P1,P2), link(P2,P3), workingPanel(P3).
unlinked :- workingPanel(P), not reachable(cea,P).
regularFunctioning :- unlinked at most 2 in [3].
alert :- not regularFunctioning.
callMaintenance :- alert always in [5].
energyThreshold(10).
"""
#: How far apart linked panels are at most, where links are near; the share of pairs, where they are
#: anywhere.
STEPS, SHARE = 4, 0.075
#: How many points a panel that fails delivers nothing; windows of five points forgive four.
DOWN = 6
#: The panels that are linked with the central one.
ENTRIES = 10


@dataclass(frozen=True)
class PhotovoltaicGrid:
    """Settings of the photovoltaic benchmark: a grid of ``side``² solar panels that are linked and
    can fail.

    failing: share of panels that begin to fail at each time point
    links: between random panels, or between near ones
    """

    side: int = option(20, "The square root of the panels.", minimum=1, maximum=100)
    points: int = option(60, "", minimum=1)
    failing: float = option(0.03, "Panels that fail at each point.", takes=Takes.FRACTION)
    links: str = option("random", "As published, or near.", choices=("random", "near"))
    seed: int = option(0, "", minimum=0)

    def generate_stream(self) -> GeneratedRules:
        """Generate the program and the stream."""
        first, second = (
            near_links(self.side) if self.links == "near" else random_links(self.side, self.seed)
        )
        entries = "".join(
            f"link(cea,{panel}).\n" for panel in range(1, min(ENTRIES, self.side**2) + 1)
        )
        links = "".join(f"link({a},{b}).\n" for a, b in zip(first.tolist(), second.tolist()))
        return GeneratedRules(GRID_RULES + entries + links, self._generate_points())

    def _generate_points(self) -> Iterator[PointRows]:
        """Yield the rows of each time point: the energy that each panel delivers."""
        dice = np.random.default_rng(self.seed)
        panels = np.arange(1, self.side**2 + 1)
        down = np.zeros(len(panels), np.int64)
        for _ in range(self.points):
            down = np.where(dice.random(len(panels)) < self.failing, DOWN, np.maximum(down - 1, 0))
            yield {
                "energyDelivered/2": (
                    panels,
                    np.where(down > 0, 0, dice.integers(10, 14, len(panels))),
                )
            }


def near_links(side: int) -> tuple[Column, Column]:
    """Links between all panels of the grid that are at most `STEPS` rows and columns apart. Returns
    two columns: the panel numbers at the one and the other end of each link.
    """
    x, y = np.divmod(np.arange(side * side), side)
    close = (
        (abs(x[:, None] - x) <= STEPS)
        & (abs(y[:, None] - y) <= STEPS)
        & (np.arange(side * side)[:, None] != np.arange(side * side))
    )
    first, second = np.nonzero(close)
    return first + 1, second + 1


def random_links(side: int, seed: int) -> tuple[Column, Column]:
    """Links between random panels, as many as in the published grid. Returns two columns: the panel
    numbers at the one and the other end of each link.
    """
    panels = side * side
    pairs = panels * (panels - 1)
    chosen = np.sort(
        np.random.default_rng(seed).choice(pairs, int(SHARE * pairs + 1e-9), replace=False)
    )
    first, second = np.divmod(chosen, panels - 1)
    return first + 1, second + (second >= first) + 1

"""What the chunks of a build leave out, each line and triple as it stands, in files that the
tasks write: however many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from jobs.spark.building.files import Scratch
from shiq.left_out import leftover_of, line_of
from shiq.rdf.judging import LEFT_OUT, moved
from shiq.verdict import Leftover


def keep(parts: Sequence[Iterator[Leftover]], folder: Scratch) -> tuple[str, ...]:
    """Writes what a chunk leaves out (``parts`` as `LEFT_OUT` names them) below ``folder``; the
    names of parts that are there.
    """
    kept = []
    for name, leftovers in zip(LEFT_OUT, parts):
        if (first := next(leftovers, None)) is not None:
            with _file(folder, name).placed() as temporary, temporary.open("wb") as file:
                file.writelines(map(line_of, chain([first], leftovers)))
            kept.append(name)
    return tuple(kept)


@dataclass(frozen=True)
class LeftOutFiles:
    """One part of what chunks left out, as often as it is asked for: by the folder of each that
    has some, in order, with the number of lines of its source before it.
    """

    part: str
    chunks: Sequence[tuple[Scratch, int]]

    def __iter__(self) -> Iterator[Leftover]:
        for folder, before in self.chunks:
            with _file(folder, self.part).path().open("rb") as lines:
                for line in lines:
                    yield moved(leftover_of(line), before)


def _file(folder: Scratch, part: str) -> Scratch:
    return folder / f"left-out-{part}"

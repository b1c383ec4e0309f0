"""Programs of stream rules with a stream, as generators make them: the same for the same seed.

``program.lp`` and ``stream.log`` (a line a point: time, then atoms), or rows in columns, for
whom texts would cost most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.int64]
#: The rows of a point: for each predicate its columns.
PointRows: TypeAlias = Mapping[str, tuple[Column, ...]]


@dataclass(frozen=True)
class GeneratedRules:
    """Rules with their facts, and the rows of each point from 0 on. ``letter``: stands before
    each number in texts.
    """

    rules: str
    points: Iterable[PointRows]
    letter: str = ""

    def events(self) -> Iterator[tuple[int, PointRows]]:
        """Points with their time, as `RuleSession.push` takes them."""
        return enumerate(self.points)

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Points with their time and atoms as texts."""
        for t, rows in self.events():
            yield (
                t,
                [
                    atom
                    for predicate, columns in rows.items()
                    for atom in self._atoms(predicate, columns)
                ],
            )

    def write(self, folder: Path) -> tuple[str, str]:
        """Writes both files; gives their names."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.lp").write_text(self.rules, encoding="utf-8")
        with (folder / "stream.log").open("w", encoding="utf-8") as file:
            file.writelines(f"{t} {'; '.join(atoms)}\n" for t, atoms in self.lines())
        return "program.lp", "stream.log"

    def _atoms(self, predicate: str, columns: tuple[Column, ...]) -> list[str]:
        name, before = predicate.rpartition("/")[0], self.letter
        return [
            f"{name}({before}{f',{before}'.join(map(str, row))})"
            for row in zip(*(column.tolist() for column in columns))
        ]

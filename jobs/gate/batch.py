"""The batch of a gate: its lines, which of them say an assertion, and the part that is left as
sources for a check.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

from jobs.gate.blocks import LineBlocks, is_structure
from jobs.gate.lines import Line, Triple, bare_name, file_of, is_plain, key_of, said_by, spaced_text
from shiq.conflict import Conflict
from shiq.formats import Format
from shiq.reading import Place
from shiq.result import Result
from shiq.sources import FileSource

#: The N-Triples lines of one assertion; those of several hang together by nodes that are named
#: after a hash of them.
Stated: TypeAlias = tuple[str, ...]
#: What is set aside together with a culprit: the triple alone, its row of a table, all triples with
#: its subject, its named graph, or its document.
UNITS: Final = ("triple", "row", "subject", "graph", "document")
_HASHED: Final = re.compile(r"_:n([0-9a-f]{24})\.\d+(?= )")


def assertions_in(texts: Iterable[str]) -> list[Stated]:
    """``texts``, line by line of N-Triples, as the assertions that they were made of."""
    found: dict[str, list[str]] = {}
    for text in texts:
        hashed = _HASHED.search(text)
        found.setdefault(hashed[1] if hashed else text, []).append(text)
    return list(map(tuple, found.values()))


class GateBatch:
    """Batch of a gate: the ``lines`` of the files ``names``. Lines go by their places in ``lines``."""

    def __init__(self, names: Sequence[str], lines: Sequence[Line]) -> None:
        self.names, self.lines = tuple(names), tuple(lines)

    # Of a batch of which nothing has to go, none of these is asked for.

    @cached_property
    def _blocks(self) -> LineBlocks:
        return LineBlocks(self.lines)

    @cached_property
    def _by_key(self) -> Mapping[tuple[int, Triple], Sequence[int]]:
        found: dict[tuple[int, Triple], list[int]] = defaultdict(list)
        for i, line in enumerate(self.lines):
            if line.triple:
                found[key_of(line)].append(i)
        return found

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, int], Sequence[int]]:
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, line in enumerate(self.lines):
            found[self.names[line.file], line.number].append(i)
        return found

    @cached_property
    def _is_plain(self) -> bool:
        return all(map(is_plain, self.names)) and not any(
            line.raw.endswith(b"\r") for line in self.lines
        )

    @cached_property
    def _structural(self) -> Sequence[int]:
        return [i for i, line in enumerate(self.lines) if is_structure(line)]

    def stated(
        self, assertion: Stated, inside: Collection[int], places: Collection[Place] = ()
    ) -> frozenset[int]:
        """The lines without which ``assertion`` is not said any more: where it stands by its
        text and by the ``places`` that a reader names; where none of these is ``inside``, what
        of OWL's vocabulary is about its individuals. Nothing where no line can have said it.
        """
        triple = said_by(assertion[0])
        found = set(
            self._by_key.get((file_of(assertion[0]), triple), ())
            if triple and len(assertion) == 1
            else ()
        )
        for place in places:
            found |= self.at(place)
        if found.isdisjoint(inside):
            found |= self._about(assertion)
        return self._blocks.around(found)

    def at(self, place: Place) -> set[int]:
        """The lines at ``place``: several only where a file was given several times."""
        return set(self._by_place.get((place.source, place.line), ()))

    def count_assertions(self, lines: Iterable[int]) -> int:
        """How many assertions ``lines`` hold: what stays together is one, and so is a line that
        cannot be read.
        """
        return len(
            {self._blocks.first(i) for i in lines if self.lines[i].triple or self.lines[i].problem}
        )

    def around(self, lines: Iterable[int], unit: str = "triple") -> frozenset[int]:
        """``lines``, with what stays together with them, and what is of the same ``unit``. Of a
        row that goes along, another row may say a triple again, and stays: it says nothing else
        that is wrong.
        """
        found = self._blocks.around(lines)
        if unit == "triple":
            return found
        units = {self._unit(self.lines[i], unit) for i in found}
        found = found.union(
            i for i, x in enumerate(self.lines) if x.triple and self._unit(x, unit) in units
        )
        return found if unit == "row" else self._blocks.around(found)

    def _unit(self, line: Line, unit: str) -> object:
        if unit == "graph":
            return (line.file, line.graph) if line.graph.startswith("_:") else line.graph
        if unit == "row":
            return line.file, line.table_row if line.row else -line.number
        if unit == "document" or not line.triple:
            return line.file
        return (line.file, line.triple[0]) if line.triple[0].startswith("_:") else line.triple[0]

    def _about(self, assertion: Stated) -> set[int]:
        """The lines of OWL's vocabulary in structures that mention an individual of ``assertion``."""
        named = {
            _named(file_of(text), term)
            for text in assertion
            if (said := said_by(text))
            for term in (said[0], said[2])
            if term.startswith(("<", "_:")) and not _HASHED.match(f"{term} ")
        }
        return {
            i
            for i in self._structural
            if any(self._mentions(self.lines[j], named) for j in self._blocks.of(i))
        }

    def _mentions(self, line: Line, named: Collection[object]) -> bool:
        file, (subject, _, value) = key_of(line)
        return _named(file, subject) in named or _named(file, value) in named

    def with_rows(self, result: Result) -> Result:
        """``result``, in which what a mapping made of a table stands at its row and column."""
        if not any(line.row for line in self.lines):
            return result
        leftovers = tuple(
            replace(x, line=lines[0].at) if (lines := self._lines_at(x.source, x.line)) else x
            for x in result.evidence.leftovers
        )
        conflicts = tuple(map(self.with_row, result.conflicts))
        return replace(
            result, conflicts=conflicts, evidence=replace(result.evidence, leftovers=leftovers)
        )

    def with_row(self, conflict: Conflict) -> Conflict:
        """``conflict``, in which what a mapping made of a table stands at its row and column."""

        def moved(place: Place) -> Place:
            lines = self._lines_at(place.source, place.line)
            return replace(place, line=lines[0].at, column=lines[0].column) if lines else place

        return replace(
            conflict, places=tuple(tuple(map(moved, places)) for places in conflict.places)
        )

    def _lines_at(self, source: str, number: int) -> list[Line]:
        return [self.lines[i] for i in self._by_place.get((source, number), ())]

    # --- sources for a check ----------------------------------------------------------------------

    def sources(self, inside: Collection[int], more: Sequence[Line] = ()) -> list[str | FileSource]:
        """The lines at the places ``inside`` as sources with the names of the files; ``more``:
        lines that stand below. A batch of lines of which none is out, and that all readers count
        alike, is read where it is; else from memory.
        """
        if len(inside) == len(self.lines) and not more and self._is_plain:
            return list(self.names)
        found: list[str | FileSource] = []
        for i, name in enumerate(self.names):
            last = max((line.number for line in self.lines if line.file == i), default=0) + 1
            below = [
                replace(line, number=last + n)
                for n, line in enumerate(x for x in more if x.file == i)
            ]
            kept = [self.lines[k] for k in sorted(inside) if self.lines[k].file == i]
            syntax = (
                Format.NTRIPLES
                if Path(bare_name(name)).suffix in (".nt", ".ntriples")
                else Format.NQUADS
            )
            found.append(
                FileSource(name, Path(name), syntax, content=b"".join(spaced_text((*kept, *below))))
            )
        return found


def _named(file: int, term: str) -> object:
    """What tells a term from those of other files."""
    return (file, term) if term.startswith("_:") else term

"""What the generators of benchmark data share: how the data is written, counted and reported."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from shiq.model import RDF

RDF_TYPE = f"<{RDF}type>"
#: Called with the parts (departments and the like) written and the parts in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class GenerationReport:
    """What a generator wrote. Counts are of distinct triples; the ``culprits`` are among the ``insertions``."""

    out: Path
    universities: int
    seed: int
    departments: int
    triples: int
    class_assertions: int
    role_assertions: int
    data_assertions: int
    insertions: int
    faults: int
    culprits: int
    files: tuple[str, ...]
    seconds: float


@dataclass
class TripleCounts:
    """Triples by kind, of N-Triples lines whose literals are plain strings."""

    triples: int = 0
    class_assertions: int = 0
    data_assertions: int = 0

    @property
    def role_assertions(self) -> int:
        return self.triples - self.class_assertions - self.data_assertions

    def add(self, lines: list[str]) -> None:
        self.triples += len(lines)
        self.class_assertions += sum(RDF_TYPE in line for line in lines)
        self.data_assertions += sum(line.endswith('" .\n') for line in lines)


def write_triples(path: Path, parts: Iterable[list[str]], total: int, progress: Progress | None) -> TripleCounts:
    """Writes N-Triples lines part by part, gzipped: the same bytes for the same lines, with the same zlib."""
    counts = TripleCounts()
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0) as file:
        for done, lines in enumerate(parts, 1):
            file.write("".join(lines).encode())
            counts.add(lines)
            if progress is not None:
                progress(done, total)
    return counts

"""The bases of the benchmark, and batches for them that nobody has seen before."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shiq.errors import InputError
from shiq.jobs.evaluation.evaluate.data import (
    FRACTION,
    Dataset,
    NumberedTriples,
    datasets,
    draw_random_batch,
    read_triples,
)
from shiq.jobs.evaluation.lubm.batch import BatchSampler
from shiq.jobs.evaluation.lubm.generate import generate_departments

#: Of the data that is generated; batches have seeds of their own.
DATA_SEED = 1


@dataclass(frozen=True)
class Base:
    """A data set with its assertions in one file of N-Triples, each once."""

    dataset: Dataset
    abox: Path
    store: Path

    @cached_property
    def triples(self) -> NumberedTriples:
        return read_triples(self.abox)

    def random_batch(self, seed: int, file: Path, count: int | None = None) -> Path:
        """Writes so many random insertions (default: 5 % of the base), as in the published
        evaluation, to ``file``.
        """
        lines = draw_random_batch(
            self.triples, count or max(1, round(len(self.triples) * FRACTION)), seed
        )
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return file

    def consistent_batch(self, seed: int, file: Path) -> Path:
        """Writes 5 % of insertions into generated LUBM data that contradict nothing to ``file``."""
        batch = BatchSampler(random.Random(f"bench {seed}"))
        assert self.dataset.universities
        with file.open("w", encoding="utf-8") as out:
            for made in generate_departments(self.dataset.universities, DATA_SEED):
                out.writelines(batch.draw_insertions(made, frozenset(), []))
        return file


def base(family: str, universities: int, variant: str, data: Path | None, folder: Path) -> Base:
    """The base called ``variant`` ("LUBM-5 with disjointness", …), below ``folder``. Raises
    UsageError where there is none.
    """
    found = next(
        d
        for d in datasets(family, (universities,), data, DATA_SEED, folder / "generated")
        if d.name == variant
    )
    name = variant.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    abox = folder / f"{name}.nt"
    abox.write_text(read_triples(*found.abox).join_lines(), encoding="utf-8")
    return Base(found, abox, folder / f"{name}.kg")


def sample(lines: Path, count: int, seed: int, file: Path) -> Path:
    """Writes ``count`` of the ``lines`` of a file, drawn evenly, to ``file``. Raises InputError
    where there are fewer.
    """
    with lines.open("rb") as given:
        total = sum(1 for _ in given)
    if total < count:
        raise InputError(
            f"{lines} has only {total} lines", f"Name data with a batch of at least {count}."
        )
    wanted = set(random.Random(f"bench {seed}").sample(range(total), count))
    with lines.open("rb") as given, file.open("wb") as out:
        out.writelines(line for i, line in enumerate(given) if i in wanted)
    return file


def swapped(triples: Path, count: int, seed: int, file: Path) -> Path:
    """Writes ``count`` insertions to ``file``: triples drawn evenly from a packed file of
    N-Triples, each with the object of another one on the same predicate. Raises InputError where
    there are too few.
    """
    rng = random.Random(f"bench {seed}")
    with gzip.open(triples, "rt", encoding="utf-8") as given:
        total = sum(1 for _ in given)
    wanted = set(rng.sample(range(total), min(total, 20 * count)))
    with gzip.open(triples, "rt", encoding="utf-8") as given:
        drawn = [
            line.removesuffix(" .\n").split(" ", 2) for i, line in enumerate(given) if i in wanted
        ]
    objects: dict[str, list[str]] = {}
    for _, predicate, value in drawn:
        objects.setdefault(predicate, []).append(value)
    rng.shuffle(drawn)
    made = {
        f"{subject} {predicate} {other} .\n": None
        for subject, predicate, value in drawn
        if (other := rng.choice(objects[predicate])) != value
    }
    if len(made) < count:
        raise InputError(
            f"{triples} gives only {len(made)} swapped objects",
            f"Name data with more than {20 * count} triples.",
        )
    file.write_text("".join(list(made)[:count]), encoding="utf-8")
    return file


def held_out(
    triples: Path, counts: Sequence[int], seed: int, rest: Path, files: Sequence[Path]
) -> None:
    """Draws the most of ``counts`` triples evenly from a packed file of N-Triples, and writes as
    many of them as each says to the ``files``, in the order of the data; the others go to
    ``rest``, packed. Raises InputError where there are too few.
    """
    with gzip.open(triples, "rb") as given:
        total = sum(1 for _ in given)
    if total < max(counts):
        raise InputError(
            f"{triples} has only {total} triples", f"Name data with more than {max(counts)}."
        )
    drawn = {
        line: place
        for place, line in enumerate(
            random.Random(f"bench {seed}").sample(range(total), max(counts))
        )
    }
    with ExitStack() as opened:
        given, others = (
            opened.enter_context(gzip.open(triples, "rb")),
            opened.enter_context(gzip.open(rest, "wb", 1)),
        )
        batches = [
            (opened.enter_context(file.open("wb")), count) for file, count in zip(files, counts)
        ]
        for i, line in enumerate(given):
            place = drawn.get(i)
            if place is None:
                others.write(line)
            else:
                for batch, count in batches:
                    if place < count:
                        batch.write(line)


def one_by_one(file: Path) -> Iterable[str]:
    """The lines of a file of N-Triples."""
    return file.read_text(encoding="utf-8").splitlines(keepends=True)

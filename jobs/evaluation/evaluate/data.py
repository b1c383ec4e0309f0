"""The data sets of an evaluation, and the batches that are inserted into each.

LUBM and UOBM come from the user's directory (the original ontologies, and data called L1.nt.gz,
U1.nt.gz), or are generated; NPD comes from the user's directory. TBoxes are whole: nothing is
trimmed, except in the variants that the published evaluation used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.evaluation.insertions import (
    FRACTION,
    NumberedTriples,
    random_batch,
    read_triples,
    slice_bounds,
)
from shiq.errors import UsageError

FAMILIES = ("lubm", "uobm", "npd")
#: Sizes of the small batches.
SMALL = (1000, 100, 1)
#: The data is cut into so many slices, each as large as the random batch.
SLICES = round(1 / FRACTION)
FIVE_PERCENT = "5 % random"
FAULTS = 12

_NO_NEGATION = "no axiom of LUBM's TBox can be contradicted by assertions without negation"


@dataclass(frozen=True)
class GivenBatch:
    """A batch that comes with the data; ``expected``: the verdict, known from how it was made."""

    name: str
    file: Path
    expected: str


@dataclass(frozen=True)
class Dataset:
    """A TBox with data. ``about``: one sentence for readers; ``allow``: kinds of leftovers that
    do not stand in the way; ``expected``: the verdict on every batch, where the TBox alone
    decides it, and ``why``.
    """

    name: str
    family: str
    about: str
    tbox: Path
    abox: tuple[Path, ...]
    allow: tuple[str, ...] = ()
    universities: int | None = None
    given: tuple[GivenBatch, ...] = ()
    expected: str | None = None


@dataclass(frozen=True)
class BatchFile:
    """Insertions as a file of N-Triples, and the base that they go into (a slice of the data
    goes into the rest of it).
    """

    name: str
    base: Path
    file: Path
    assertions: int
    insertions: int
    expected: str | None = None

    @property
    def is_slice(self) -> bool:
        return self.name.startswith("slice")


def datasets(
    family: str, universities: Sequence[int], data: Path | None, seed: int, folder: Path
) -> Iterator[Dataset]:
    """The data sets of ``family``, generated below ``folder`` where ``data`` does not have them.
    Raises UsageError.
    """
    if data is not None and (data / family).is_dir():
        data = data / family
    if family == "npd":
        if data is None:
            raise UsageError(
                "NPD's data is not generated", "Name the directory with your copy by --data."
            )
        yield from _npd(data)
        return
    for number in universities:
        yield from (_lubm if family == "lubm" else _uobm)(number, data, seed, folder)


def _lubm(number: int, data: Path | None, seed: int, folder: Path) -> Iterator[Dataset]:
    from jobs.evaluation.lubm.generate import generate

    found = _files(data, "univ-bench.owl", f"L{number}.nt.gz")
    origin = "original data"
    if found is None:
        plain = folder / f"lubm-{number}"
        generate(number, seed, plain)
        found, origin = (plain / "tbox.owl", plain / "abox.nt.gz"), f"generated, seed {seed}"
    about = f"LUBM with {_universities(number)} ({origin}), its whole TBox: {_NO_NEGATION}"
    name = f"LUBM-{number}"
    yield Dataset(
        name, "lubm", about, found[0], found[1:], universities=number, expected="consistent"
    )
    clean, faulty = (folder / f"lubm-{number}-{name}" for name in ("clean", "faulty"))
    generate(number, seed, clean, faults=0)
    generate(number, seed, faulty, faults=FAULTS)
    yield Dataset(
        f"LUBM-{number} with disjointness",
        "lubm",
        f"LUBM with {_universities(number)} (generated, seed {seed}); the TBox has disjoint classes, (inverse) functional "
        "roles and number restrictions besides, so that data can contradict it",
        clean / "tbox.owl",
        (clean / "abox.nt.gz",),
        universities=number,
        given=(
            GivenBatch("5 % consistent", clean / "insert.nt", "consistent"),
            GivenBatch(f"5 % with {FAULTS} faults", faulty / "insert.nt", "inconsistent"),
        ),
    )


def _uobm(number: int, data: Path | None, seed: int, folder: Path) -> Iterator[Dataset]:
    found = _files(data, "univ-bench-dl.owl", f"U{number}.nt.gz")
    origin = "original data"
    if found is None:
        from jobs.evaluation.uobm.generate import generate

        made = folder / f"uobm-{number}"
        generate(number, seed, made)
        found, origin = (made / "tbox.owl", made / "abox.nt.gz"), f"generated, seed {seed}"
    about = f"UOBM with {_universities(number)} ({origin})"
    # The original generator writes a class that the TBox does not know.
    yield Dataset(
        f"UOBM-{number}",
        "uobm",
        f"{about}, the TBox without nominals, as in the published evaluation",
        found[0],
        found[1:],
        ("undeclared",),
        number,
    )
    whole = _files(data, "univ-bench-dl.nominals.owl")
    if whole is not None:
        yield Dataset(
            f"UOBM-{number} whole",
            "uobm",
            f"{about}, the whole TBox: its nominals lie outside SHIQ(D), so we say `undetermined` unless the rest contradicts",
            whole[0],
            found[1:],
            ("undeclared",),
            number,
        )


def _npd(data: Path) -> Iterator[Dataset]:
    variants = (
        (
            "NPD",
            "npd-v2-complete.fixed.owl",
            "the whole TBox, less two axioms that the data contradicts",
        ),
        (
            "NPD paper's TBox",
            "npd-v2.paper.owl",
            "the TBox without general axioms, as in the published evaluation",
        ),
    )
    found_any = False
    for name, tbox, about in variants:
        found = _files(data, tbox, "npd.clean.nt.gz")
        if found is not None:
            found_any = True
            about = f"FactPages of the Norwegian Petroleum Directorate; {about}"
            yield Dataset(name, "npd", about, found[0], found[1:], ("punning", "malformed"))
    if not found_any:
        wanted = ", ".join(dict.fromkeys([*(tbox for _, tbox, _ in variants), "npd.clean.nt.gz"]))
        raise UsageError(f"{data} has no NPD data", f"It should hold {wanted}.")


def _universities(number: int) -> str:
    return f"{number} universit{'y' if number == 1 else 'ies'}"


def _files(data: Path | None, *names: str) -> tuple[Path, ...] | None:
    paths = tuple(data / name for name in names) if data is not None else ()
    return paths if paths and all(path.is_file() for path in paths) else None


def batches(dataset: Dataset, folder: Path, seed: int, slices: int) -> Iterator[BatchFile]:
    """Writes the batches of ``dataset``, and the bases that they go into, below ``folder``.

    The random 5 % and the given ones first, then smaller ones, then ``slices`` of the `SLICES`
    slices of the data itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    triples = read_triples(*dataset.abox)
    base = folder / "base.nt"
    base.write_text(triples.text(), encoding="utf-8")
    yield _random(
        FIVE_PERCENT, triples, max(1, round(len(triples) * FRACTION)), seed, dataset, base
    )
    for given in dataset.given:
        count = len(read_triples(given.file))
        yield BatchFile(given.name, base, given.file, len(triples), count, given.expected)
    for count in SMALL:
        if count < len(triples) * FRACTION:
            yield _random(f"{count:,}", triples, count, seed + count, dataset, base)
    for k in range(min(slices, SLICES)):
        number = (2 * k + 1) * SLICES // (2 * min(slices, SLICES))
        start, stop = slice_bounds(len(triples), SLICES, number)
        rest, part = folder / f"rest{number}.nt", folder / f"slice{number}.nt"
        rest.write_text(triples.text(0, start) + triples.text(stop), encoding="utf-8")
        part.write_text(triples.text(start, stop), encoding="utf-8")
        yield BatchFile(
            f"slice {number + 1} of {SLICES}",
            rest,
            part,
            len(triples) - (stop - start),
            stop - start,
            dataset.expected,
        )


def _random(
    name: str, triples: NumberedTriples, count: int, seed: int, dataset: Dataset, base: Path
) -> BatchFile:
    file = base.parent / f"random{count}.nt"
    file.write_text(
        "".join(f"{line}\n" for line in random_batch(triples, count, seed)), encoding="utf-8"
    )
    return BatchFile(name, base, file, len(triples), count, dataset.expected)

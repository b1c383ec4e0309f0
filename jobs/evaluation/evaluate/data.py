"""Benchmark data sets (LUBM, UOBM, NPD), and the batches of insertions that are checked against
each.

LUBM and UOBM come from the user's directory (the original ontologies, and data called L1.nt.gz,
U1.nt.gz), or are generated; NPD comes from the user's directory. TBoxes are whole: nothing is
trimmed, except in the variants that the published evaluation used.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.errors import InputError, UsageError
from shiq.model import RDF

# Insertion batches: random ones as in the published evaluation, and parts of the data itself.
#
# `draw_random_batch` draws assertions of the data evenly. Its subject becomes a fresh individual (half
# of the time) or any individual of the data, the object of a role assertion any individual; a
# class or a value stays. So the batch has the data's own mix of predicates, and is not made to fit
# the TBox: it may well contradict it.
#
# The same arguments give the same batch: the draws rest on the one generator of numpy whose
# sequence is frozen.


FRACTION = 0.05
FRESH = 0.5
#: A fresh individual is the subject of so many insertions on average.
PER_FRESH = 2
_FRESH_IRI = "<urn:shiq:evaluate:fresh:"
_TYPE = f"<{RDF}type>"
_LINE = (
    r"^[ \t]*(?P<s><[^>]*>|_:\S+)[ \t]+(?P<p><[^>]*>)[ \t]+(?P<o><[^>]*>|_:\S+|\".*)[ \t]*\.[ \t]*$"
)

Ints = Any  # numpy arrays of integers


@dataclass(frozen=True, eq=False)
class NumberedTriples:
    """Distinct triples as columns: ``subject``, ``predicate`` and ``object`` are (n,) int64 indexes
    into ``terms``.

    terms: N-Triples terms
    lines: the triples as lines of the file
    unread: number of lines that are no triples; comments and blank lines do not count
    """

    lines: Any
    terms: Any
    subject: Ints
    predicate: Ints
    object: Ints
    unread: int = 0

    def __len__(self) -> int:
        return len(self.subject)

    def join_lines(self, start: int = 0, stop: int | None = None) -> str:
        """Text of the lines ``start`` … ``stop``-1, each with its line end."""
        part = self.lines[start : len(self) if stop is None else stop].to_pylist()
        return "".join(f"{line}\n" for line in part)


def read_triples(*paths: Path) -> NumberedTriples:
    """Read the distinct triples of N-Triples files, gzipped or not. Raises: InputError."""
    text = b"\n".join(_read_bytes(path) for path in paths)
    lines = pa.array(text.decode("utf-8", "replace").split("\n"), pa.large_string())
    lines = lines.filter(
        pc.and_(pc.greater(pc.binary_length(lines), 0), pc.invert(pc.starts_with(lines, "#")))
    )
    lines = pc.unique(pc.utf8_rtrim(lines, " \t\r"))
    parts = pc.extract_regex(lines, _LINE)
    good = pc.is_valid(parts)
    unread = len(lines) - int(pc.sum(good).as_py() or 0)
    parts, lines = parts.filter(good), lines.filter(good)
    if not len(lines):
        raise InputError(
            f"{', '.join(map(str, paths))}: no line is a triple",
            "Name N-Triples files, gzipped or not.",
        )
    columns = [pc.struct_field(parts, name) for name in "spo"]
    columns[2] = pc.utf8_rtrim(columns[2], " \t")
    encoded = pa.concat_arrays(columns).dictionary_encode()
    s, p, o = np.split(encoded.indices.to_numpy(), 3)
    return NumberedTriples(
        lines,
        encoded.dictionary,
        s.astype(np.int64),
        p.astype(np.int64),
        o.astype(np.int64),
        unread,
    )


def _read_bytes(path: Path) -> bytes:
    """Read a file, unpacked if it is gzipped. Raises: InputError."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}", "Name a file that can be read.") from error


def draw_random_batch(
    triples: NumberedTriples, count: int, seed: int, fresh: float = FRESH
) -> list[str]:
    """Draw ``count`` random insertions as distinct N-Triples lines that are not in ``triples``; in
    the share ``fresh`` of them the subject is a fresh individual.

    Raises: InputError if there are not enough different ones.
    """
    rng = np.random.RandomState(seed)
    terms = len(triples.terms)
    type_id = pc.index(triples.terms, _TYPE).as_py()
    # IRIs and blank nodes.
    resources = pc.invert(pc.starts_with(triples.terms, '"')).to_numpy(zero_copy_only=False)
    is_role = resources[triples.object] & (triples.predicate != type_id)
    individuals = np.unique(np.concatenate([triples.subject, triples.object[is_role]]))
    pool = max(1, round(count * fresh / PER_FRESH))
    size = terms + pool

    def keys(s: Ints, p: Ints, o: Ints) -> Ints:
        return (s * terms + p) * size + o

    if terms * terms * size >= 2**63:
        raise InputError("too many terms for a random batch", "Draw it from a part of the data.")
    taken = np.sort(keys(triples.subject, triples.predicate, triples.object))
    drawn: list[Ints] = []
    found = 0
    for _ in range(20):
        many = (count - found) + (count - found) // 8 + 16
        template = _draw_indexes(rng, len(triples), many)
        is_fresh = rng.random_sample(many) < fresh
        subject = np.where(
            is_fresh,
            terms + _draw_indexes(rng, pool, many),
            individuals[_draw_indexes(rng, len(individuals), many)],
        )
        object = np.where(
            is_role[template],
            individuals[_draw_indexes(rng, len(individuals), many)],
            triples.object[template],
        )
        rows = np.stack([subject, triples.predicate[template], object])
        mine = keys(*rows)
        first = np.zeros(many, dtype=bool)
        first[np.unique(mine, return_index=True)[1]] = True
        at = np.minimum(np.searchsorted(taken, mine), len(taken) - 1)
        rows = rows[:, first & (taken[at] != mine)][:, : count - found]
        drawn.append(rows)
        found += rows.shape[1]
        if found == count:
            return _format_triples(np.concatenate(drawn, axis=1), triples.terms)
        taken = np.sort(np.concatenate([taken, keys(*rows)]))
    raise InputError(
        f"no {count} different insertions can be drawn from {len(triples)} triples",
        "Ask for fewer.",
    )


def slice_bounds(triples: int, slices: int, index: int) -> tuple[int, int]:
    """Start and stop index of slice ``index`` (from 0) when so many ``triples`` are cut into
    ``slices`` equal slices.

    >>> [slice_bounds(10, 3, i) for i in range(3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    return triples * index // slices, triples * (index + 1) // slices


def _draw_indexes(rng: np.random.RandomState, n: int, count: int) -> Ints:
    """Draw ``count`` random indexes below ``n``; an index may be drawn twice."""
    return (rng.random_sample(count) * n).astype(np.int64)


def _format_triples(rows: Ints, terms: Any) -> list[str]:
    """N-Triples lines of triples that are given as indexes into ``terms``; a subject index beyond
    its end stands for a fresh individual.

    rows: (3, n) indexes of subjects, predicates and objects
    """
    known = len(terms)
    is_fresh = rows[0] >= known
    subjects = terms.take(pa.array(np.where(is_fresh, 0, rows[0]))).to_pylist()
    predicates, objects = (terms.take(pa.array(row)).to_pylist() for row in rows[1:])
    return [
        f"{_FRESH_IRI}{number - known}> {p} {o} ." if fresh else f"{s} {p} {o} ."
        for number, fresh, s, p, o in zip(
            rows[0].tolist(), is_fresh.tolist(), subjects, predicates, objects, strict=True
        )
    ]


#: Sizes of the small batches.
SMALL = (1000, 100, 1)
#: The data is cut into so many slices, each as large as the random batch.
SLICES = round(1 / FRACTION)
FIVE_PERCENT = "5 % random"
FAULTS = 12

_NO_NEGATION = "no axiom of LUBM's TBox can be contradicted by assertions without negation"


@dataclass(frozen=True)
class GivenBatch:
    """Batch of insertions that comes with a data set; the right verdict on it is known from how it
    was generated.
    """

    name: str
    file: Path
    expected_verdict: str


@dataclass(frozen=True)
class Dataset:
    """Data set of a benchmark: files with its TBox and its data, and the batches of insertions that
    it brings along.

    summary: one sentence for readers
    allow: kinds of leftovers that do not make a verdict undetermined
    expected_verdict: verdict on every batch, if the TBox alone decides it
    """

    name: str
    family: str
    summary: str
    tbox: Path
    abox: tuple[Path, ...]
    allow: tuple[str, ...] = ()
    universities: int | None = None
    given_batches: tuple[GivenBatch, ...] = ()
    expected_verdict: str | None = None


@dataclass(frozen=True)
class BatchFile:
    """Batch of insertions as an N-Triples file, and the ``base`` that it is inserted into.

    The base of a slice of the data is the remaining data.
    assertions, insertions: numbers of triples in the base and in the batch
    """

    name: str
    base: Path
    file: Path
    assertions: int
    insertions: int
    expected_verdict: str | None = None

    @property
    def is_slice(self) -> bool:
        """Whether the batch is a slice of the data; otherwise it is a random or a generated one."""
        return self.name.startswith("slice")


def datasets(
    family: str, universities: Sequence[int], data: Path | None, seed: int, folder: Path
) -> Iterator[Dataset]:
    """Yield the data sets of a benchmark ``family``; those that ``data`` lacks are generated below
    ``folder``. Raises: UsageError.
    """
    if data is not None and (data / family).is_dir():
        data = data / family
    if family == "npd":
        if data is None:
            raise UsageError(
                "NPD's data is not generated", "Name the directory with your copy by --data."
            )
        yield from _npd_datasets(data)
        return
    for number in universities:
        yield from (_lubm_datasets if family == "lubm" else _uobm_datasets)(
            number, data, seed, folder
        )


def _lubm_datasets(
    universities: int, data: Path | None, seed: int, folder: Path
) -> Iterator[Dataset]:
    """Yield LUBM with ``universities`` universities, then its generated variant with disjointness and
    planted faults.
    """
    from shiq.jobs.evaluation.lubm.generate import generate_lubm_data

    found = _find_files(data, "univ-bench.owl", f"L{universities}.nt.gz")
    origin = "original data"
    if found is None:
        plain = folder / f"lubm-{universities}"
        generate_lubm_data(universities, seed, plain)
        found, origin = (plain / "tbox.owl", plain / "abox.nt.gz"), f"generated, seed {seed}"
    about = (
        f"LUBM with {_count_universities(universities)} ({origin}), its whole TBox: {_NO_NEGATION}"
    )
    name = f"LUBM-{universities}"
    yield Dataset(
        name,
        "lubm",
        about,
        found[0],
        found[1:],
        universities=universities,
        expected_verdict="consistent",
    )
    clean, faulty = (folder / f"lubm-{universities}-{name}" for name in ("clean", "faulty"))
    generate_lubm_data(universities, seed, clean, faults=0)
    generate_lubm_data(universities, seed, faulty, faults=FAULTS)
    yield Dataset(
        f"LUBM-{universities} with disjointness",
        "lubm",
        f"LUBM with {_count_universities(universities)} (generated, seed {seed}); the TBox has "
        "disjoint classes, (inverse) functional roles and number restrictions besides, so that data can contradict it",
        clean / "tbox.owl",
        (clean / "abox.nt.gz",),
        universities=universities,
        given_batches=(
            GivenBatch("5 % consistent", clean / "insert.nt", "consistent"),
            GivenBatch(f"5 % with {FAULTS} faults", faulty / "insert.nt", "inconsistent"),
        ),
    )


def _uobm_datasets(
    universities: int, data: Path | None, seed: int, folder: Path
) -> Iterator[Dataset]:
    """Yield UOBM with ``universities`` universities, without nominals and, if the user has it, with its
    whole TBox.
    """
    found = _find_files(data, "univ-bench-dl.owl", f"U{universities}.nt.gz")
    origin = "original data"
    if found is None:
        from shiq.jobs.evaluation.uobm.generate import generate_uobm_data

        made = folder / f"uobm-{universities}"
        generate_uobm_data(universities, seed, made)
        found, origin = (made / "tbox.owl", made / "abox.nt.gz"), f"generated, seed {seed}"
    about = f"UOBM with {_count_universities(universities)} ({origin})"
    # The original generator writes a class that the TBox does not know.
    yield Dataset(
        f"UOBM-{universities}",
        "uobm",
        f"{about}, the TBox without nominals, as in the published evaluation",
        found[0],
        found[1:],
        ("undeclared",),
        universities,
    )
    whole = _find_files(data, "univ-bench-dl.nominals.owl")
    if whole is not None:
        yield Dataset(
            f"UOBM-{universities} whole",
            "uobm",
            f"{about}, the whole TBox: its nominals lie outside SHIQ(D), so we say `undetermined` unless the rest contradicts",
            whole[0],
            found[1:],
            ("undeclared",),
            universities,
        )


def _npd_datasets(data: Path) -> Iterator[Dataset]:
    """Yield NPD with its whole TBox and with the TBox of the paper, as far as the folder ``data``
    has them. Raises: UsageError if it has neither.
    """
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
        found = _find_files(data, tbox, "npd.clean.nt.gz")
        if found is not None:
            found_any = True
            about = f"FactPages of the Norwegian Petroleum Directorate; {about}"
            yield Dataset(name, "npd", about, found[0], found[1:], ("punning", "malformed"))
    if not found_any:
        wanted = ", ".join(dict.fromkeys([*(tbox for _, tbox, _ in variants), "npd.clean.nt.gz"]))
        raise UsageError(f"{data} has no NPD data", f"It should hold {wanted}.")


def _count_universities(count: int) -> str:
    """Text such as "1 university" or "5 universities"."""
    return f"{count} universit{'y' if count == 1 else 'ies'}"


def _find_files(data: Path | None, *names: str) -> tuple[Path, ...] | None:
    """Paths of the files ``names`` in the folder ``data``; None if one is missing."""
    paths = tuple(data / name for name in names) if data is not None else ()
    return paths if paths and all(path.is_file() for path in paths) else None


def write_batches(dataset: Dataset, folder: Path, seed: int, slices: int) -> Iterator[BatchFile]:
    """Write all batches of a data set that are checked: random ones, slices of the data, and those
    that come with it. Each is written below ``folder`` with the base that it is inserted into.
    Yields the files of each.

    The random 5 % and the given ones first, then smaller ones, then ``slices`` of the `SLICES`
    slices of the data itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    triples = read_triples(*dataset.abox)
    base = folder / "base.nt"
    base.write_text(triples.join_lines(), encoding="utf-8")
    yield _write_random_batch(
        FIVE_PERCENT, triples, max(1, round(len(triples) * FRACTION)), seed, dataset, base
    )
    for given in dataset.given_batches:
        count = len(read_triples(given.file))
        yield BatchFile(given.name, base, given.file, len(triples), count, given.expected_verdict)
    for count in SMALL:
        if count < len(triples) * FRACTION:
            yield _write_random_batch(f"{count:,}", triples, count, seed + count, dataset, base)
    for k in range(min(slices, SLICES)):
        number = (2 * k + 1) * SLICES // (2 * min(slices, SLICES))
        start, stop = slice_bounds(len(triples), SLICES, number)
        rest, part = folder / f"rest{number}.nt", folder / f"slice{number}.nt"
        rest.write_text(triples.join_lines(0, start) + triples.join_lines(stop), encoding="utf-8")
        part.write_text(triples.join_lines(start, stop), encoding="utf-8")
        yield BatchFile(
            f"slice {number + 1} of {SLICES}",
            rest,
            part,
            len(triples) - (stop - start),
            stop - start,
            dataset.expected_verdict,
        )


def _write_random_batch(
    name: str, triples: NumberedTriples, count: int, seed: int, dataset: Dataset, base: Path
) -> BatchFile:
    """Draw a random batch of ``count`` insertions and write it to a file beside its base."""
    file = base.parent / f"random{count}.nt"
    file.write_text(
        "".join(f"{line}\n" for line in draw_random_batch(triples, count, seed)), encoding="utf-8"
    )
    return BatchFile(name, base, file, len(triples), count, dataset.expected_verdict)

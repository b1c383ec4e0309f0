"""Insertion batches: random ones as in the published evaluation, and parts of the data itself.

`random_batch` draws assertions of the data evenly. Its subject becomes a fresh individual (half
of the time) or any individual of the data, the object of a role assertion any individual; a
class or a value stays. So the batch has the data's own mix of predicates, and is not made to fit
the TBox: it may well contradict it.

The same arguments give the same batch: the draws rest on the one generator of numpy whose
sequence is frozen.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.errors import InputError
from shiq.model import RDF

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
    """Distinct triples as columns of numbers into ``terms``, which are N-Triples terms.
    ``lines``: as they stand in the file; ``unread``: how many lines are no triples, comments and
    blank lines apart.
    """

    lines: Any
    terms: Any
    subject: Ints
    predicate: Ints
    object: Ints
    unread: int = 0

    def __len__(self) -> int:
        return len(self.subject)

    def text(self, start: int = 0, stop: int | None = None) -> str:
        """The lines start … stop-1, each ended."""
        part = self.lines[start : len(self) if stop is None else stop].to_pylist()
        return "".join(f"{line}\n" for line in part)


def read_triples(*paths: Path) -> NumberedTriples:
    """The distinct triples of N-Triples files, gzipped or not. Raises InputError."""
    text = b"\n".join(_bytes(path) for path in paths)
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


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}", "Name a file that can be read.") from error


def random_batch(
    triples: NumberedTriples, count: int, seed: int, fresh: float = FRESH
) -> list[str]:
    """``count`` N-Triples lines that are not in ``triples``, no two alike; a share of ``fresh``
    of their subjects is fresh.

    Raises InputError where so many different ones cannot be found.
    """
    rng = np.random.RandomState(seed)
    terms = len(triples.terms)
    type_id = pc.index(triples.terms, _TYPE).as_py()
    is_role = _are_resources(triples.terms)[triples.object] & (triples.predicate != type_id)
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
        template = _below(rng, len(triples), many)
        is_fresh = rng.random_sample(many) < fresh
        subject = np.where(
            is_fresh,
            terms + _below(rng, pool, many),
            individuals[_below(rng, len(individuals), many)],
        )
        object = np.where(
            is_role[template],
            individuals[_below(rng, len(individuals), many)],
            triples.object[template],
        )
        rows = np.stack([subject, triples.predicate[template], object])
        mine = keys(*rows)
        first = np.zeros(many, dtype=bool)
        first[np.unique(mine, return_index=True)[1]] = True
        rows = rows[:, first & ~_contains(taken, mine)][:, : count - found]
        drawn.append(rows)
        found += rows.shape[1]
        if found == count:
            return _lines(np.concatenate(drawn, axis=1), triples.terms)
        taken = np.sort(np.concatenate([taken, keys(*rows)]))
    raise InputError(
        f"no {count} different insertions can be drawn from {len(triples)} triples",
        "Ask for fewer.",
    )


def slice_bounds(triples: int, slices: int, number: int) -> tuple[int, int]:
    """Where slice ``number`` (from 0) of so many equal slices begins and ends.

    >>> [slice_bounds(10, 3, i) for i in range(3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    return triples * number // slices, triples * (number + 1) // slices


def _below(rng: np.random.RandomState, n: int, many: int) -> Ints:
    return (rng.random_sample(many) * n).astype(np.int64)


def _contains(ordered: Ints, keys: Ints) -> Ints:
    at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return ordered[at] == keys


def _are_resources(terms: Any) -> Ints:
    return pc.invert(pc.starts_with(terms, '"')).to_numpy(zero_copy_only=False)


def _lines(rows: Ints, terms: Any) -> list[str]:
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

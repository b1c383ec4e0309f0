"""Instances of a body so far, as columns by variable: a row is an instance, as often as it was
derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shiq.columns.arrays import Ints, distinct, row_codes
from shiq.streams.rules.plan import COUNTED, SIGN, TRACE, Source, StreamingPattern
from shiq.streams.rules.relations import NONE, Flags, one_of_each


@dataclass(frozen=True)
class Bindings:
    """``count`` rows over the variables of ``columns``."""

    columns: Mapping[str, Ints]
    count: int

    def source(self, source: Source) -> Ints:
        """The column of a variable, or of a constant."""
        return (
            self.columns[source]
            if isinstance(source, str)
            else np.full(self.count, source, np.int64)
        )

    def take(self, rows: Ints, keep: frozenset[str]) -> Bindings:
        return Bindings(
            {name: column[rows] for name, column in self.columns.items() if name in keep}, len(rows)
        )

    def parts(self) -> Iterator[Bindings]:
        """The rows in a few parts, one after the other."""
        size = -(-self.count // 8)
        for first in range(0, self.count, size):
            columns = {name: column[first : first + size] for name, column in self.columns.items()}
            yield Bindings(columns, min(size, self.count - first))

    def joined(self, other: Bindings) -> Bindings:
        """The rows of both, over the same variables."""
        columns = {
            name: np.concatenate([column, other.columns[name]])
            for name, column in self.columns.items()
        }
        return Bindings(columns, self.count + other.count)

    def distinct(self) -> Bindings:
        """Each row once, with one trace of those that it has."""
        columns = [column for name, column in self.columns.items() if not name.startswith(TRACE)]
        example = one_of_each(columns) if columns else np.zeros(1, np.int64)
        return Bindings(
            {name: column[example] for name, column in self.columns.items()}, len(example)
        )

    def where(self, flags: Flags | None, keep: frozenset[str]) -> Bindings:
        if flags is None or flags.all():
            return Bindings(
                {name: column for name, column in self.columns.items() if name in keep}, self.count
            )
        return self.take(flags.nonzero()[0], keep)


def grouped(columns: Sequence[Ints], count: int) -> tuple[list[Ints], Ints]:
    """The distinct rows of columns, and which of them each of ``count`` rows is."""
    if not columns:
        return [], np.zeros(count, np.int64)
    if not count:
        return list(columns), NONE
    _, inverse, example = distinct(row_codes(*columns))
    return [column[example] for column in columns], inverse


def seeded(pattern: StreamingPattern, rows: Ints, keep: frozenset[str], gone: int = 0) -> Bindings:
    """The bindings that rows of a pattern give, of which the first ``gone`` are as they were."""
    view, relation = pattern.view, pattern.view.relation
    more: dict[str, Ints] = {}
    if pattern.trace in keep:
        more[pattern.trace] = rows
    if COUNTED in keep:
        more[COUNTED] = np.concatenate([view.was(rows[:gone]), view.counter.counts(rows[gone:])])
    if SIGN in keep:
        more[SIGN] = np.where(np.arange(len(rows)) < gone, -1, 1)
    place: dict[str, int] = {}
    fits: Flags | None = None
    for i, source in enumerate(pattern.arguments):
        column = relation.columns[i][rows]
        if isinstance(source, int):
            fits = both(fits, column == source)
        elif source in place:
            fits = both(fits, column == relation.columns[place[source]][rows])
        else:
            place[source] = i
    if fits is not None and not fits.all():
        rows, more = rows[fits], {name: column[fits] for name, column in more.items()}
    return Bindings(
        {name: relation.columns[i][rows] for name, i in place.items() if name in keep} | more,
        len(rows),
    )


def both(one: Flags | None, other: Flags | None) -> Flags | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other

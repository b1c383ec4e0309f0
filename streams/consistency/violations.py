"""Which labels of an individual contradict, minimally, and when: exactly, for the few
individuals that a strategy suspects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shiq.columns.arrays import Ints, ranges
from shiq.streams.consistency.dl_lite import Negative, display_label
from shiq.streams.consistency.events import IndividualNumbers
from shiq.streams.consistency.negative_inclusions import RootMasks, conflicts_below
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import Flags, Spans, run_starts
from shiq.streams.consistency.verdicts import Row

#: How many pairs of spans are looked at at once.
_AT_ONCE = 1 << 20


class Violations(NamedTuple):
    """Columns: the individual, the conflict (see `ViolationFinder.conflict_labels`), and when."""

    key: Ints
    conflict: Ints
    start: Ints
    end: Ints

    def select(self, rows: Flags) -> Violations:
        places = np.flatnonzero(rows)
        return Violations(*(column[places] for column in self))


def concatenate_violations(parts: list[Violations]) -> Violations:
    return (
        Violations(*map(np.concatenate, zip(*parts)))
        if parts
        else Violations(*(np.empty(0, np.int64) for _ in range(4)))
    )


@dataclass(frozen=True, eq=False)
class ViolationFinder:
    """Finds violations by the masks. A conflict of labels a ≤ b is the number a × labels + b;
    wider ones come behind.
    """

    masks: RootMasks
    _wide_conflicts: list[Negative] = field(default_factory=list)
    _conflict_cache: dict[frozenset[int], tuple[tuple[int, Negative], ...]] = field(
        default_factory=dict
    )

    def conflict_labels(self, number: int) -> Negative:
        """The labels that contradict."""
        labels = self.masks.labels
        if number >= len(labels) ** 2:
            return self._wide_conflicts[number - len(labels) ** 2]
        return frozenset((labels[number // len(labels)], labels[number % len(labels)]))

    def find(self, spans: Spans) -> Violations:
        """All violations within ``spans``, all that is live of some individuals: maximal spans
        of minimal conflicts.
        """
        key, label = self.masks.decode(spans.code)
        alone = self.masks.self_violating[label]
        own = Violations(
            key[alone],
            label[alone] * (len(self.masks.labels) + 1),
            spans.start[alone],
            spans.end[alone],
        )
        rest = spans.select(~alone)
        wide = [self._find_wide_violations(rest)] if self.masks.wide_roots else []
        return concatenate_violations([own, *self._find_pair_violations(rest), *wide])

    def _find_pair_violations(self, spans: Spans) -> Iterator[Violations]:
        number = len(self.masks.labels)
        key, label = self.masks.decode(spans.code)
        starts = run_starts(key)
        if not len(starts):
            return
        hits = self.masks.narrow_sides.violated_roots(label, starts)
        left, right = self.masks.narrow_sides.words
        run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(key))))
        meant: Flags = np.any((left | right)[:, label] & hits[:, run], axis=0)
        spans, key, label = spans.select(meant), key[meant], label[meant]
        starts = run_starts(key)
        begin = np.repeat(starts, np.diff(np.append(starts, len(key))))
        before = np.cumsum(np.arange(len(key)) - begin)
        cuts = np.searchsorted(
            before, np.arange(0, int(before[-1]) + 1 if len(before) else 0, _AT_ONCE), "left"
        )
        for low, high in zip(cuts, (*cuts[1:], len(key))):
            second = np.repeat(np.arange(low, high), np.arange(low, high) - begin[low:high])
            first = ranges(begin[low:high], np.arange(low, high))
            start = np.maximum(spans.start[first], spans.start[second])
            end = np.minimum(spans.end[first], spans.end[second])
            a, b = label[first], label[second]
            apart = ((left[:, a] & right[:, b]) | (right[:, a] & left[:, b])).any(axis=0) & (
                start <= end
            )
            yield Violations(key[first], a * number + b, start, end).select(apart)

    def _find_wide_violations(self, spans: Spans) -> Violations:
        """Those that roots of three and more labels make, individual by individual; such roots
        are few.
        """
        key, label = self.masks.decode(spans.code)
        rows: list[tuple[int, int, int, int]] = []
        for low, high in zip(starts := run_starts(key).tolist(), [*starts[1:], len(key)]):
            live: dict[int, list[tuple[int, int]]] = {}
            for n, start, end in zip(
                label[low:high].tolist(),
                spans.start[low:high].tolist(),
                spans.end[low:high].tolist(),
            ):
                live.setdefault(n, []).append((start, end))
            for number, conflict in self._minimal_wide_conflicts(frozenset(live)):
                parts = product(*(live[self.masks.numbers[member]] for member in conflict))
                times = ((max(s for s, _ in part), min(e for _, e in part)) for part in parts)
                rows += [
                    (int(key[low]), number, start, end) for start, end in times if start <= end
                ]
        return Violations(*np.array(rows, np.int64).reshape(-1, 4).T)

    def _minimal_wide_conflicts(self, labels: frozenset[int]) -> tuple[tuple[int, Negative], ...]:
        """The minimal conflicts among labels (none of which contradicts alone) that only wide
        roots make.
        """
        if labels not in self._conflict_cache:
            names = frozenset(self.masks.labels[n] for n in labels)
            found = set[Negative]().union(
                *(conflicts_below(self.masks.view, root, names) for root in self.masks.wide_roots)
            )
            minimal = [
                c for c in found if not any(other < c for other in found) and not self._has_pair(c)
            ]
            for conflict in minimal:
                if conflict not in self._wide_conflicts:
                    self._wide_conflicts.append(conflict)
            first = len(self.masks.labels) ** 2
            self._conflict_cache[labels] = tuple(
                (first + self._wide_conflicts.index(c), c) for c in sorted(minimal, key=sorted)
            )
        return self._conflict_cache[labels]

    def _has_pair(self, conflict: Negative) -> bool:
        """Whether two labels of it contradict by a root of two."""
        label = np.array([self.masks.numbers[name] for name in sorted(conflict)], np.int64)
        return bool(self.masks.narrow_sides.violated_roots(label, np.zeros(1, np.int64)).any())


# Violations as rows: final ones once each, and, where a stream is followed, a row when a
# conflict opens.


@dataclass
class ViolationRows:
    """Makes rows of violations. ``end``: where the stream ends, if that is known.
    What is open and was told is kept in ``open_starts``: by whom and which labels, where it begins.
    """

    plan: StreamPlan
    finder: ViolationFinder
    names: IndividualNumbers
    end: int | None
    open_starts: dict[str, list[int]] = field(default_factory=dict)
    _conflicts: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict)

    def final_rows(self, found: Violations) -> list[Row]:
        """Tells violations that nothing can change any more."""
        rows = self._rows(found, True)
        for row in rows if self.open_starts else ():
            who = _conflict_key(row)
            left = [
                start
                for start in self.open_starts.pop(who, ())
                if not row["from"] <= start <= row["to"]
            ]
            if left:
                self.open_starts[who] = left
        return rows

    def opening_rows(self, found: Violations, first: int, newest: int) -> list[Row]:
        """Tells those of violations that were not told yet; ``first``, ``newest``: the times of
        the stream so far.
        """
        static = found._replace(start=np.maximum(found.start, first))
        rows = []
        for row in self._rows(static, False):
            told = self.open_starts.setdefault(_conflict_key(row), [])
            if not any(row["from"] <= start <= row["to"] for start in told):
                told.append(row["from"])
                rows.append(row | {"to": min(row["to"], newest + self.plan.window)})
        return rows

    def _rows(self, found: Violations, final: bool) -> list[Row]:
        if self.end is not None:
            found = found._replace(end=np.minimum(found.end, self.end))
        return sorted(
            (
                self._row(*values, final=final)
                for values in zip(*(column.tolist() for column in found))
            ),
            key=row_order,
        )

    def _row(self, key: int, number: int, start: int, end: int, *, final: bool) -> Row:
        if number not in self._conflicts:
            conflict = self.finder.conflict_labels(number)
            self._conflicts[number] = (
                sorted(set(map(display_label, conflict))),
                list(self.plan.conflict_axioms(conflict)),
            )
        labels, axioms = self._conflicts[number]
        individual, other = self.names.pair_names(key)
        who = (
            {"individual": individual}
            if other is None
            else {"individual": individual, "other": other}
        )
        return {
            **who,
            "from": start,
            "to": end,
            "conflict": labels,
            "axioms": axioms,
            "final": final,
        }


def _conflict_key(row: Row) -> str:
    return "\0".join((row["individual"], row.get("other", ""), *row["conflict"]))


def row_order(row: Row) -> tuple[Any, ...]:
    """By time, then by name."""
    return row["from"], row["to"], row["individual"], row.get("other", ""), row["conflict"]

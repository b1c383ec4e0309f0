"""Find the minimal sets of labels that contradict for a suspected individual, and when; make output
rows of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from shiq.columns.arrays import Ints, concatenate_ranges
from shiq.streams.consistency.dl_lite import Negative, display_label
from shiq.streams.consistency.events import IndividualIds
from shiq.streams.consistency.negative_inclusions import RootMasks, find_conflicts_below
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import Flags, Spans, find_run_starts
from shiq.streams.consistency.verdicts import Row
from shiq.support import cached_method

#: How many pairs of spans are looked at at once.
_PAIRS_AT_ONCE = 1 << 20


class Violations(NamedTuple):
    """Columns of violations: individual id, conflict id (`ViolationFinder.conflict_labels`), first
    and last time.
    """

    key: Ints
    conflict: Ints
    start: Ints
    end: Ints

    def select_rows(self, rows: Flags) -> Violations:
        """Violations with a true flag."""
        places = np.flatnonzero(rows)
        return Violations(*(column[places] for column in self))


def concatenate_violations(parts: list[Violations]) -> Violations:
    """Concatenate tables of violations, column by column."""
    return (
        Violations(*map(np.concatenate, zip(*parts)))
        if parts
        else Violations(*(np.empty(0, np.int64) for _ in range(4)))
    )


@dataclass(frozen=True, eq=False)
class ViolationFinder:
    """Finder of violations: minimal sets of labels of an individual that contradict, with the
    periods in which all are live.

    A conflict of labels a ≤ b has the number a × labels + b; conflicts of more labels have numbers
    behind these.
    """

    masks: RootMasks
    _wide_conflicts: list[Negative] = field(default_factory=list)

    def conflict_labels(self, conflict_id: int) -> Negative:
        """Labels of the conflict with this id."""
        labels = self.masks.labels
        if conflict_id >= len(labels) ** 2:
            return self._wide_conflicts[conflict_id - len(labels) ** 2]
        return frozenset((labels[conflict_id // len(labels)], labels[conflict_id % len(labels)]))

    def find_violations(self, spans: Spans) -> Violations:
        """Find all violations within the live periods ``spans``: each minimal conflict in each
        maximal period.
        """
        key, label = self.masks.decode_codes(spans.code)
        alone = self.masks.self_violating_labels[label]
        own = Violations(
            key[alone],
            label[alone] * (len(self.masks.labels) + 1),
            spans.start[alone],
            spans.end[alone],
        )
        rest = spans.select_rows(~alone)
        wide = [self._find_wide_violations(rest)] if self.masks.wide_roots else []
        return concatenate_violations([own, *self._find_pair_violations(rest), *wide])

    def _find_pair_violations(self, spans: Spans) -> Iterator[Violations]:
        """Yield the violations of conflicts between two labels."""
        number = len(self.masks.labels)
        key, label = self.masks.decode_codes(spans.code)
        starts = find_run_starts(key)
        if not len(starts):
            return
        hits = self.masks.narrow_matrices.violated_roots(label, starts)
        left, right = self.masks.narrow_matrices.bit_matrices
        run = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(key))))
        meant: Flags = np.any((left | right)[:, label] & hits[:, run], axis=0)
        spans, key, label = spans.select_rows(meant), key[meant], label[meant]
        starts = find_run_starts(key)
        begin = np.repeat(starts, np.diff(np.append(starts, len(key))))
        before = np.cumsum(np.arange(len(key)) - begin)
        cuts = np.searchsorted(
            before, np.arange(0, int(before[-1]) + 1 if len(before) else 0, _PAIRS_AT_ONCE), "left"
        )
        for low, high in zip(cuts, (*cuts[1:], len(key))):
            second = np.repeat(np.arange(low, high), np.arange(low, high) - begin[low:high])
            first = concatenate_ranges(begin[low:high], np.arange(low, high))
            start = np.maximum(spans.start[first], spans.start[second])
            end = np.minimum(spans.end[first], spans.end[second])
            a, b = label[first], label[second]
            apart = ((left[:, a] & right[:, b]) | (right[:, a] & left[:, b])).any(axis=0) & (
                start <= end
            )
            yield Violations(key[first], a * number + b, start, end).select_rows(apart)

    def _find_wide_violations(self, spans: Spans) -> Violations:
        """Find the violations of conflicts between three or more labels, individual by individual."""
        key, label = self.masks.decode_codes(spans.code)
        rows: list[tuple[int, int, int, int]] = []
        for low, high in zip(starts := find_run_starts(key).tolist(), [*starts[1:], len(key)]):
            live: dict[int, list[tuple[int, int]]] = {}
            for n, start, end in zip(
                label[low:high].tolist(),
                spans.start[low:high].tolist(),
                spans.end[low:high].tolist(),
            ):
                live.setdefault(n, []).append((start, end))
            for number, conflict in self._find_minimal_wide_conflicts(frozenset(live)):
                parts = product(*(live[self.masks.label_indexes[member]] for member in conflict))
                times = ((max(s for s, _ in part), min(e for _, e in part)) for part in parts)
                rows += [
                    (int(key[low]), number, start, end) for start, end in times if start <= end
                ]
        return Violations(*np.array(rows, np.int64).reshape(-1, 4).T)

    @cached_method
    def _find_minimal_wide_conflicts(
        self, labels: frozenset[int]
    ) -> tuple[tuple[int, Negative], ...]:
        """Minimal conflicts of three or more labels among ``labels`` (label indexes), with their
        conflict ids.
        """
        names = frozenset(self.masks.labels[n] for n in labels)
        found = set[Negative]().union(
            *(find_conflicts_below(self.masks.view, root, names) for root in self.masks.wide_roots)
        )
        minimal = [
            c
            for c in found
            if not any(other < c for other in found) and not self._contains_pair_conflict(c)
        ]
        for conflict in minimal:
            if conflict not in self._wide_conflicts:
                self._wide_conflicts.append(conflict)
        first = len(self.masks.labels) ** 2
        return tuple(
            (first + self._wide_conflicts.index(c), c) for c in sorted(minimal, key=sorted)
        )

    def _contains_pair_conflict(self, conflict: Negative) -> bool:
        """Whether two labels of a conflict contradict already, so that it is not minimal."""
        label = np.array([self.masks.label_indexes[name] for name in sorted(conflict)], np.int64)
        return bool(self.masks.narrow_matrices.violated_roots(label, np.zeros(1, np.int64)).any())


# Violations as rows: final ones once each, and, where a stream is followed, a row when a
# conflict opens.


@dataclass
class ViolationRowMaker:
    """Converter of violations to output rows: one when a violation is final, and one when it begins
    if the stream is followed.

    A violation gives one final row and, in a followed stream, one row when it begins.

    end: end of the stream if it is known.
    open_starts: starts of the conflicts that were reported but are not final, by individual and
    labels.
    """

    plan: StreamPlan
    finder: ViolationFinder
    names: IndividualIds
    end: int | None
    open_starts: dict[str, list[int]] = field(default_factory=dict)
    _conflicts: dict[int, tuple[list[str], list[str]]] = field(default_factory=dict)

    def make_final_rows(self, found: Violations) -> list[Row]:
        """Make output rows of violations that cannot change any more."""
        rows = self._make_conflict_rows(found, True)
        for row in rows if self.open_starts else ():
            who = _make_conflict_key(row)
            left = [
                start
                for start in self.open_starts.pop(who, ())
                if not row["from"] <= start <= row["to"]
            ]
            if left:
                self.open_starts[who] = left
        return rows

    def make_opening_rows(self, found: Violations, first: int, newest: int) -> list[Row]:
        """Output rows of violations that were not reported before and may still get longer.

        first, newest: first and newest time of the stream.
        """
        static = found._replace(start=np.maximum(found.start, first))
        rows = []
        for row in self._make_conflict_rows(static, False):
            told = self.open_starts.setdefault(_make_conflict_key(row), [])
            if not any(row["from"] <= start <= row["to"] for start in told):
                told.append(row["from"])
                rows.append(row | {"to": min(row["to"], newest + self.plan.window)})
        return rows

    def _make_conflict_rows(self, found: Violations, final: bool) -> list[Row]:
        """Output rows of violations, sorted by time, then names. ``final``: whether they can no
        longer change.
        """
        if self.end is not None:
            found = found._replace(end=np.minimum(found.end, self.end))
        return sorted(
            (
                self._make_conflict_row(*values, final=final)
                for values in zip(*(column.tolist() for column in found))
            ),
            key=conflict_row_sort_key,
        )

    def _make_conflict_row(
        self, key: int, conflict_id: int, start: int, end: int, *, final: bool
    ) -> Row:
        """Output row of one violation. ``key``: individual id; ``conflict_id``: index of its labels
        in the finder.
        """
        if conflict_id not in self._conflicts:
            conflict = self.finder.conflict_labels(conflict_id)
            self._conflicts[conflict_id] = (
                sorted(set(map(display_label, conflict))),
                list(self.plan.conflict_axioms(conflict)),
            )
        labels, axioms = self._conflicts[conflict_id]
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


def _make_conflict_key(row: Row) -> str:
    """Key of an output row in `ViolationRowMaker.open_starts`: its individuals and contradicting
    labels.
    """
    return "\0".join((row["individual"], row.get("other", ""), *row["conflict"]))


def conflict_row_sort_key(row: Row) -> tuple[Any, ...]:
    """Sort key of conflict rows: time, then names."""
    return row["from"], row["to"], row["individual"], row.get("other", ""), row["conflict"]

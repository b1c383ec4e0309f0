"""Labels by number: the label calculus applied to arrays of label numbers.

Each result is computed once per distinct combination of labels. `EMPTY_ID` is the empty label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    CompiledClause,
    Label,
    LabelCalculus,
    clashes,
    is_satisfied,
    join,
)
from shiq.columns.arrays import (
    NONE,
    TINY,
    Ints,
    distinct_with_inverse,
    order_codes,
    row_codes,
    unique,
)
from shiq.model.roles import Role
from shiq.support import cached_method

Bools = npt.NDArray[np.bool_]

EMPTY_ID = 0
#: Labels that one label table can number.
_CAPACITY = 1 << 24


def apply_to_distinct(keys: Ints, value: Callable[[int], int]) -> Ints:
    """Apply the function ``value`` to each key, computing it once per distinct key."""
    if len(keys) <= TINY:
        values = {key: value(key) for key in sorted(set(keys.tolist()))}
        return np.array([values[key] for key in keys.tolist()], np.int64)
    found, inverse, _ = distinct_with_inverse(keys)
    return np.fromiter(map(value, found.tolist()), np.int64, len(found))[inverse]


class Memo:
    """Cache of a function of integers, looked up for many arguments at once."""

    def __init__(self) -> None:
        self._keys = NONE
        self._values = NONE

    def get_or_compute(self, keys: Ints, value: Callable[[int], int]) -> Ints:
        """Return the ``value`` of each of the distinct ``keys`` (ascending), computed if it is not
        cached.
        """
        known, at = self._cached_positions(keys)
        if not known.all():
            new = keys[~known]
            values = np.fromiter(map(value, new.tolist()), np.int64, len(new))
            all_keys, all_values = (
                np.concatenate([self._keys, new]),
                np.concatenate([self._values, values]),
            )
            order = all_keys.argsort(kind="stable")
            self._keys, self._values = all_keys[order], all_values[order]
            _, at = self._cached_positions(keys)
        return self._values[at]

    def _cached_positions(self, keys: Ints) -> tuple[Bools, Ints]:
        """Find the position of each key in the cache, and whether it is cached."""
        if not len(self._keys):
            return np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
        at = np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)
        known: Bools = self._keys[at] == keys
        return known, at


class LabelMemo:
    """Cache of a function of label ids, as an array."""

    def __init__(self) -> None:
        self._values = NONE

    def get_or_compute(self, ids: Ints, value: Callable[[int], int]) -> Ints:
        """Return ``value`` (never negative) of each of ``ids``, computed once per distinct id."""
        more = int(ids.max(initial=-1)) + 1 - len(self._values)
        if more > 0:
            self._values = np.concatenate([self._values, np.full(more, -1, np.int64)])
        found = self._values[ids]
        new = found < 0
        if new.any():
            for i in unique(ids[new]).tolist():
                self._values[i] = value(i)
            found = self._values[ids]
        return found


@dataclass
class LabelNumbers:
    """Ids of the labels of one `LabelCalculus`, in order of appearance, and its operations on
    arrays of ids. Results are cached.
    """

    space: LabelCalculus
    labels: list[Label] = field(default_factory=lambda: [EMPTY])

    def __post_init__(self) -> None:
        self._ids = {label: i for i, label in enumerate(self.labels)}
        #: The same for many at once, by the number of the mask and of the label.
        self._restrict_each_memo, self._masks = Memo(), dict[int, int]()
        self._restrict_to_memos: dict[int, LabelMemo] = {}
        self._is_clash = np.zeros(0, np.bool_)

    def id(self, label: Label) -> int:
        """The id of ``label``; assigned if it is new."""
        found = self._ids.get(label)
        if found is None:
            if len(self.labels) == _CAPACITY:
                raise OverflowError("more distinct labels than a label table can number")
            found = self._ids[label] = len(self.labels)
            self.labels.append(label)
        return found

    @property
    def clash_id(self) -> int:
        """The id of the label of a contradiction."""
        return self.id(self.space.clash)

    def ids(self, labels: Iterable[Label]) -> Ints:
        """The id of each of ``labels``."""
        return np.fromiter(map(self.id, labels), np.int64)

    # --- on arrays of numbers ---------------------------------------------------------------------

    def join(self, first: Ints, second: Ints) -> Ints:
        """Unite the literals of each pair of labels, given by id."""
        pairs, inverse = distinct_rows(first, second)
        return np.fromiter(
            (self._join_pair(a * _CAPACITY + b) for a, b in pairs), np.int64, len(pairs)
        )[inverse]

    def extend(self, label: int, more: int) -> int:
        """Close a label together with the literals of another one; return the id of the result."""
        return self._close_one(self._join_pair(label * _CAPACITY + more))

    def close(self, ids: Ints) -> Ints:
        """Close each label under the local clauses, by id."""
        return apply_to_distinct(ids, self._close_one)

    def restrict_each(self, ids: Ints, mask: Ints, masks: Sequence[int]) -> Ints:
        """Restrict each label to the atoms in its own mask, ``masks[mask[i]]``."""
        if len(ids) <= TINY:
            return np.array(
                [self.restrict_one(i, masks[m]) for i, m in zip(ids.tolist(), mask.tolist())],
                np.int64,
            )
        number = np.array([self._masks.setdefault(m, len(self._masks)) for m in masks], np.int64)
        # Codes as near to each other as the labels there are: a table over them is cheaper than
        # sorting them.
        size = len(self.labels)
        found, inverse, _ = distinct_with_inverse(number[mask] * size + ids)
        found = found // size * _CAPACITY + found % size
        listed = list(self._masks)
        return self._restrict_each_memo.get_or_compute(
            found, lambda key: self.restrict_one(key % _CAPACITY, listed[key // _CAPACITY])
        )[inverse]

    def restrict_all(self, ids: Ints, mask: int) -> Ints:
        """Restrict each label to the atoms in ``mask``."""
        return self._restrict_to_memos.setdefault(mask, LabelMemo()).get_or_compute(
            ids, lambda i: self.restrict_one(i, mask)
        )

    def drop_data_literals(self, ids: Ints) -> Ints:
        """Drop the data literals of each label (`LabelCalculus.drop_data_literals`)."""
        return apply_to_distinct(ids, self._drop_data_of_one)

    def clashes(self, ids: Ints) -> Bools:
        """Decide whether each label clashes."""
        known = len(self._is_clash)
        if known < len(self.labels):
            self._is_clash = np.concatenate(
                [
                    self._is_clash,
                    np.array([clashes(label) for label in self.labels[known:]], np.bool_),
                ]
            )
        return self._is_clash[ids]

    def test_labels(self, ids: Ints, test: Callable[[Label], bool]) -> Bools:
        """Decide whether each label satisfies ``test``."""
        return apply_to_distinct(ids, lambda i: test(self.labels[i])).astype(np.bool_)

    def accumulate(self, start: Ints, target: Ints, received: Ints) -> Ints:
        """Join every ``received[i]`` into the label at position ``target[i]`` of ``start``."""
        found = start.copy()
        if not len(target):
            return found
        pairs = unique(target * _CAPACITY + received)
        target, received = pairs // _CAPACITY, pairs % _CAPACITY
        first = np.concatenate([[True], target[1:] != target[:-1]]).nonzero()[0]
        length = np.diff(np.concatenate([first, [len(target)]]))
        for turn in range(int(length.max())):
            row = first[length > turn] + turn
            found[target[row]] = self.join(found[target[row]], received[row])
        return found

    @cached_method
    def restrict_one(self, i: int, mask: int) -> int:
        """Restrict one label to the atoms in ``mask``."""
        label = self.labels[i]
        return self.id((label[0] & mask, label[1] & mask))

    @cached_method
    def _join_pair(self, key: int) -> int:
        """Unite the literals of the pair of labels that ``key`` encodes; cached."""
        first, second = divmod(key, _CAPACITY)
        return self.id(join(self.labels[first], self.labels[second]))

    @cached_method
    def _close_one(self, i: int) -> int:
        """Close one label, cached."""
        return self.id(self.space.close(self.labels[i]))

    @cached_method
    def _drop_data_of_one(self, i: int) -> int:
        """Drop the data literals of one label, cached."""
        return self.id(self.space.drop_data_literals(self.labels[i]))


@dataclass
class RolePropagation:
    """Effects of role assertions, given by role id and label ids of both ends; cached.

    ``roles`` gives the role of each number.
    """

    table: LabelNumbers
    roles: Callable[[], Sequence[Role]]

    def __post_init__(self) -> None:
        self._masks: list[int] = []

    def send_one(self, role: int, subject: int, object: int) -> tuple[int, int]:
        """Compute the labels that one role assertion sends to its subject and to its object."""
        masks = self._role_masks()
        restrict = self.table.restrict_one
        return self._send_cached(
            role, restrict(subject, masks[role]), restrict(object, masks[role ^ 1])
        )

    def reduce_labels(self, role: Ints, label: Ints) -> Ints:
        """Restrict each label to the atoms that clauses on the role use at that end, so that fewer
        labels are distinct.
        """
        return self.table.restrict_each(label, role, self._role_masks())

    def _role_masks(self) -> list[int]:
        """For each role id, a bitmask of the atoms that clauses on the role use at that end."""
        for named in self.roles()[len(self._masks) :]:
            self._masks.append(self.table.space.atoms_at_subject(named))
        return self._masks

    def distinct_edges(
        self, role: Ints, subject: Ints, object: Ints
    ) -> tuple[list[tuple[int, ...]], Ints]:
        """Find the distinct (role, reduced labels of both ends), and the position of each role
        assertion among them.
        """
        return distinct_rows(
            role, self.reduce_labels(role, subject), self.reduce_labels(role ^ 1, object)
        )

    def send(self, role: Ints, subject: Ints, object: Ints) -> tuple[Ints, Ints]:
        """Compute the labels that each role assertion sends to its subject and to its object."""
        combination, inverse = self.distinct_edges(role, subject, object)
        sent = np.array([self._send_cached(*key) for key in combination], np.int64).reshape(-1, 2)
        return sent[inverse, 0], sent[inverse, 1]

    @cached_method
    def undecided_clauses(
        self, role: int, label: int, other: int
    ) -> tuple[tuple[CompiledClause, bool], ...]:
        """Find the clauses on a role assertion that neither label satisfies, each with whether the
        first end is its branch.
        """
        labels = self.table.labels
        return tuple(
            (clause, at_branch)
            for clause, at_branch, here, there in self.table.space.clause_ends(self.roles()[role])
            if not is_satisfied(here, labels[label]) and not is_satisfied(there, labels[other])
        )

    @cached_method
    def unmet_heads(self, role: int, label: int, other: int) -> int:
        """Collect the head atoms at the first end of the undecided u-type clauses: the ≥-atoms if
        there are any, else all.

        Returns a label.
        """
        space, mask = self.table.space, 0
        needs = sum(1 << i for i in space.at_least)
        for c, at_branch in self.undecided_clauses(role, label, other):
            if not c.n and not at_branch:
                mask |= c.head & needs or c.head & ~space.data_mask
            elif not c.n and not c.head & needs:
                mask |= c.branch_head
        return self.table.id((mask, 0))

    @cached_method
    def _send_cached(self, role: int, subject: int, object: int) -> tuple[int, int]:
        """The labels that one role assertion sends, cached."""
        labels = self.table.labels
        sent = self.table.space.send(self.roles()[role], labels[subject], labels[object])
        return self.table.id(sent.subject), self.table.id(sent.object)


def distinct_rows(*columns: Ints) -> tuple[list[tuple[int, ...]], Ints]:
    """Find the distinct rows of ``columns``, and the position of each row among them."""
    if len(columns[0]) <= TINY:
        rows = list(zip(*(column.tolist() for column in columns)))
        rank = {row: i for i, row in enumerate(sorted(set(rows)))}
        return list(rank), np.array([rank[row] for row in rows], np.int64)
    _, inverse, example = distinct_with_inverse(row_codes(*map(order_codes, columns)))
    return list(zip(*(column[example].tolist() for column in columns))), inverse

"""Count the data values of merge classes for data restrictions (THEORY, "The add set": data).

A merge class may hold most of the graph, so its values are gathered once. Each distinct value is
compared with a range once, each distinct label is asked for its needs once, and sums are made in
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.columns.arrays import Columns, Ints, distinct_pairs, distinct_with_inverse, is_in, unique
from shiq.model import DataRange, Literal
from shiq.model.clause import DataAtLeast, DataAtMost


class ClassValues:
    """Data assertions and labels of the members of some merge classes, to count values for data
    restrictions.

    Args:
        classes: the names of the merge classes.
        members: (class, element), a row for each member.
        labels: the label of each row of ``members``, by number.
        rows: the data assertions of all members: element, property, literal.
        literals: gives the literals by number.
    """

    def __init__(
        self,
        calculus: NumberedCalculus,
        classes: Ints,
        members: tuple[Ints, Ints],
        labels: Ints,
        rows: Columns,
        literals: Callable[[Ints], Sequence[Literal]],
    ) -> None:
        self._calculus, self._classes = calculus, classes
        self._members = members[1]
        self._place = classes.searchsorted(members[0])
        self._labels, self._label, _ = distinct_with_inverse(
            calculus.table.restrict_all(labels, calculus.data_clause_mask)
        )
        order = members[1].argsort()
        owner = order[members[1][order].searchsorted(rows["element"])]
        self._class_of_row, self._element = self._place[owner], rows["element"]
        self._property = rows["property"]
        numbers, self._literal, _ = distinct_with_inverse(rows["literal"])
        self._literals = literals(numbers)
        self._keys = self._value_numbers()
        self._counts: dict[DataAtMost, list[int]] = {}

    def count_values(self, atom: DataAtMost, class_: int) -> int:
        """Compute |V| + G of a merge class for ``atom``: the number of distinct asserted values in
        its range, and of values that may have to be generated.
        """
        if atom not in self._counts:
            self._counts[atom] = [
                v + g for v, g in zip(self._value_counts(atom), self._generated_counts(atom))
            ]
        return self._counts[atom][int(self._classes.searchsorted(class_))]

    def _value_numbers(self) -> Ints:
        """Number the values of all literals: equal numbers for identical values; an ill-typed
        literal has its own number.
        """
        theory, number = self._calculus.data.theory, dict[object, int]()
        keys = [
            literal if theory.is_ill_typed(literal) else theory.value(literal)
            for literal in self._literals
        ]
        return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)

    def _value_counts(self, atom: DataAtMost) -> list[int]:
        """Count the distinct values in the range of ``atom``, by merge class."""
        here = self._is_on_subproperty(atom.property).nonzero()[0]
        here = here[self._is_in_range(atom.range, self._literal[here], maybe=True)]
        class_, _ = distinct_pairs(self._class_of_row[here], self._keys[self._literal[here]])
        return self._count_by_class(class_)

    def _generated_counts(self, atom: DataAtMost) -> list[int]:
        """Count the values that may have to be generated below the property of ``atom``, by merge
        class.
        """
        data, table = self._calculus.data, self._calculus.table.labels
        total = [0] * len(self._classes)
        for i, need in data.needs_below(atom.property):
            in_force = np.array(
                [data.is_in_force(i, table[label]) for label in self._labels.tolist()], np.bool_
            )
            needing = in_force[self._label]
            if need.n == 1 and needing.any():
                needing &= ~is_in(self._members, self._elements_with_value(need))
            # Numbers of any size: not in columns.
            total = [
                t + need.n * k for t, k in zip(total, self._count_by_class(self._place[needing]))
            ]
        return total

    def _elements_with_value(self, need: DataAtLeast) -> Ints:
        """The elements that have an asserted value for ``need``."""
        here = self._is_on_subproperty(need.property).nonzero()[0]
        return unique(
            self._element[here[self._is_in_range(need.range, self._literal[here], maybe=False)]]
        )

    def _is_on_subproperty(self, property: str) -> Bools:
        """Decide whether each row is on ``property`` or one below it."""
        below = self._calculus.data.subproperties(property)
        return self._calculus.is_property_in(self._property, below)

    def _is_in_range(self, range: DataRange, literals: Ints, *, maybe: bool) -> Bools:
        """Decide whether each of the numbered ``literals`` lies in ``range``.

        ``maybe``: undecided ones count too.
        """
        numbers, which, _ = distinct_with_inverse(literals)
        contains = self._calculus.data.theory.contains
        answers = [contains(range, self._literals[i]) for i in numbers.tolist()]
        return np.array(
            [answer is True or (maybe and answer is None) for answer in answers], np.bool_
        )[which]

    def _count_by_class(self, positions: Ints) -> list[int]:
        """Count how often each merge class occurs in ``positions``, given by position."""
        return np.bincount(positions, minlength=len(self._classes)).tolist()

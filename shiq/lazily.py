"""Sequences that are made when somebody looks at what is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

V_co = TypeVar("V_co", covariant=True)


class Lazily(Sequence[V_co]):
    """``length`` values, which ``make`` gives, once, when the first of them is asked for.

    >>> squares = Lazily(3, lambda: [0, 1, 4])
    >>> len(squares), list(squares)
    (3, [0, 1, 4])
    """

    def __init__(self, length: int, make: Callable[[], Sequence[V_co]]) -> None:
        self._length, self._make = length, make
        self._made: Sequence[V_co] | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, i: int) -> V_co: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[V_co]: ...
    def __getitem__(self, i: int | slice) -> V_co | Sequence[V_co]:
        return self._values()[i]

    def _values(self) -> Sequence[V_co]:
        if self._made is None:
            self._made = self._make()
        return self._made

"""The budget that the automata of one question share.

Each automaton alone ends after its steps, but a question about m patterns has up to 2^m cells
with an automaton each. So what they may take together is bounded too.

>>> with shared_fuel() as outer, shared_fuel() as inner:
...     outer is inner
True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

#: Steps of one question: less than a second.
FUEL: Final = 400_000


class OutOfFuelError(Exception):
    """The question takes too many steps."""


class Fuel:
    """Steps that are left. ``is_spent``: a step was wanted that was not there any more;
    ``ran_out``: an automaton was given up, for these steps or for its share of them.
    """

    __slots__ = ("is_spent", "left", "ran_out")

    def __init__(self, steps: int = FUEL) -> None:
        self.left = steps
        self.is_spent = self.ran_out = False

    @property
    def used(self) -> int:
        """Steps taken, of those that one question has."""
        return FUEL - self.left

    def burn(self, steps: int, floor: int = 0) -> None:
        """Takes ``steps``. Raises OutOfFuelError where that leaves fewer than ``floor``."""
        self.left -= steps
        if self.left < floor:
            self.is_spent |= self.left < 0
            raise OutOfFuelError


_current: ContextVar[Fuel | None] = ContextVar("fuel", default=None)


def current_fuel() -> Fuel:
    """Get the budget of the question that is being asked, or a fresh one outside of questions."""
    return _current.get() or Fuel()


@contextmanager
def shared_fuel() -> Iterator[Fuel]:
    """Give one budget to all automata that are walked inside; a question within a question has
    the outer one's.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    token = _current.set(Fuel())
    try:
        yield current_fuel()
    finally:
        _current.reset(token)

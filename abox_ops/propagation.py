"""Unit propagation over local clauses, on bitmasks (THEORY.md 2.2).

A *literal* is a bit: that of its atom if it is positive, that of its atom + ``width`` if it is negative. A clause is the mask of
its literals, and a label the mask of the literals that it does not refute, so that what is left of a clause is one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: Up to so many literals, the clauses with any of them are looked up literal by literal.
_FEW = 8


class Propagation:
    """The ``clauses`` (head, body) over atoms below ``width``. ``clash``: what a clause without literals gives."""

    def __init__(self, width: int, clauses: Iterable[tuple[int, int]], clash: tuple[int, int]) -> None:
        self._width, self._low = width, (1 << width) - 1
        self._clauses = [head | body << width for head, body in clauses]
        self._clash = clash[0] | clash[1] << width
        #: By literal.
        self._with: dict[int, list[int]] = {}
        for clause in self._clauses:
            for literal in _literals(clause):
                self._with.setdefault(literal, []).append(clause)

    def units(self) -> list[int]:
        """The clauses of at most one literal."""
        return [clause for clause in self._clauses if not clause & (clause - 1)]

    def closure(
        self, label: tuple[int, int], closed: tuple[int, int], queue: Iterable[int] = (), *, to_clash: bool = False
    ) -> tuple[int, int]:
        """The closure of ``label``, of which ``closed`` is closed but for the clauses in ``queue``. With ``to_clash``, no more
        than it takes to find a clash.

        Stops because every step refutes a literal of finitely many.
        """
        width, low, clauses_with = self._width, self._low, self._with
        positive, negative = label
        # Names that no clause here speaks of.
        beyond = positive >> width << width, negative >> width << width
        refuted = negative & low | (positive & low) << width
        possible = ~refuted
        fresh = refuted & ~(closed[1] & low | (closed[0] & low) << width)
        todo = [*queue, *self._shortened(fresh, possible)]
        while todo:
            clause = todo.pop()
            open_ = clause & possible or clause or self._clash
            added = (open_ >> width | (open_ & low) << width) & possible
            if not added:
                continue
            possible ^= added
            if to_clash and (possible | possible >> width) & low != low:
                break
            if added & (added - 1):
                todo += self._shortened(added, possible)
                continue
            for clause in clauses_with.get(added, ()):
                open_ = clause & possible
                if not open_ & (open_ - 1):
                    todo.append(clause)
        refuted = ~possible
        return (refuted >> width) & low | beyond[0], refuted & low | beyond[1]

    def _shortened(self, refuted: int, possible: int) -> list[int]:
        """The clauses with a literal among the ``refuted``, and at most one that is ``possible`` and not certain by now."""
        width, low = self._width, self._low
        impossible = ~possible
        certain = ((impossible >> width) & low | (impossible & low) << width) & possible
        clauses: Iterable[int] = self._clauses
        if refuted.bit_count() <= _FEW:
            clauses = [clause for literal in _literals(refuted) for clause in self._with.get(literal, ())]
        return [
            clause
            for clause in clauses
            if clause & refuted and not clause & certain and not (open_ := clause & possible) & (open_ - 1)
        ]


def _literals(mask: int) -> Iterator[int]:
    while mask:
        literal = mask & -mask
        yield literal
        mask ^= literal

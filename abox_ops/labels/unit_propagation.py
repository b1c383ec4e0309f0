"""Unit propagation over the clauses of one individual (THEORY, "Told literals").

A *literal* is a position: that of its atom if it is positive, that of its atom + ``width`` if it
is negative. A label becomes the mask of the literals that it refutes. Over few atoms a clause is
the mask of its literals, so that what is left of it is one operation; over many, masks of so
many bits for as many clauses would be quadratic, and a clause is the tuple of its literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from shiq.support import bits, mask_of

#: From so many atoms on, clauses are tuples of literals: there, both cost about as much.
WIDE = 2048

#: Up to so many literals, the clauses with any of them are looked up literal by literal.
_FEW = 8


class Propagation(Protocol):
    """Protocol of unit propagation with the local clauses over atoms below a width."""

    def everywhere(self) -> tuple[int, int]:
        """The closure of the empty label: the literals of every individual."""

    def closure(
        self, label: tuple[int, int], closed: tuple[int, int], *, to_clash: bool = False
    ) -> tuple[int, int]:
        """Close ``label``, of which the part ``closed`` is closed already. With ``to_clash``, no
        more than it takes to find a clash.

        Stops because every step refutes a literal of finitely many.
        """


def make_propagation(
    width: int, clauses: Iterable[Sequence[int]], clash: tuple[int, int]
) -> Propagation:
    """Choose and build the propagation for ``clauses``, each given by its literals, over atoms
    below ``width``.

    ``clash``: what a clause without literals gives.
    """
    return (WidePropagation if width >= WIDE else MaskPropagation)(width, clauses, clash)


class MaskPropagation:
    """Propagation with clauses as bit masks, for few atoms."""

    def __init__(
        self, width: int, clauses: Iterable[Sequence[int]], clash: tuple[int, int]
    ) -> None:
        self._width, self._low = width, (1 << width) - 1
        self._clauses = [mask_of(clause) for clause in clauses]
        self._clash = clash[0] | clash[1] << width
        #: By literal.
        self._clauses_by_literal: dict[int, list[int]] = {}
        for clause in self._clauses:
            for literal in bits(clause):
                self._clauses_by_literal.setdefault(literal, []).append(clause)

    def everywhere(self) -> tuple[int, int]:
        """The closure of the empty label: the literals of every individual."""
        return self.closure(
            (0, 0), (0, 0), [clause for clause in self._clauses if not clause & (clause - 1)]
        )

    def closure(
        self,
        label: tuple[int, int],
        closed: tuple[int, int],
        queue: Iterable[int] = (),
        *,
        to_clash: bool = False,
    ) -> tuple[int, int]:
        """Close ``label``, whose part ``closed`` is closed but for the clauses in ``queue``. With
        ``to_clash``, stop at the first clash.
        """
        width, low, clauses_with = self._width, self._low, self._clauses_by_literal
        positive, negative = label
        # Names that no clause here speaks of.
        beyond = positive >> width << width, negative >> width << width
        refuted = negative & low | (positive & low) << width
        possible = ~refuted
        fresh = refuted & ~(closed[1] & low | (closed[0] & low) << width)
        todo = [*queue, *self._unit_clauses(fresh, possible)]
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
                todo += self._unit_clauses(added, possible)
                continue
            for clause in clauses_with.get(added.bit_length() - 1, ()):
                open_ = clause & possible
                if not open_ & (open_ - 1):
                    todo.append(clause)
        refuted = ~possible
        return (refuted >> width) & low | beyond[0], refuted & low | beyond[1]

    def _unit_clauses(self, refuted: int, possible: int) -> list[int]:
        """Select the clauses with a refuted literal and at most one literal that is still possible
        and not certain.
        """
        width, low = self._width, self._low
        impossible = ~possible
        certain = ((impossible >> width) & low | (impossible & low) << width) & possible
        clauses: Iterable[int] = self._clauses
        if refuted.bit_count() <= _FEW:
            clauses = [
                clause
                for literal in bits(refuted)
                for clause in self._clauses_by_literal.get(literal, ())
            ]
        return [
            clause
            for clause in clauses
            if clause & refuted
            and not clause & certain
            and not (open_ := clause & possible) & (open_ - 1)
        ]


class WidePropagation:
    """Propagation with clauses as tuples of literals, and a count of the literals not refuted, for
    many atoms.
    """

    def __init__(
        self, width: int, clauses: Iterable[Sequence[int]], clash: tuple[int, int]
    ) -> None:
        self._width, self._low = width, (1 << width) - 1
        self._clauses = [tuple(dict.fromkeys(clause)) for clause in clauses]
        self._clash = [*bits(clash[0] | clash[1] << width)]
        #: By literal, the places of its clauses.
        self._clauses_by_literal: dict[int, list[int]] = {}
        for i, clause in enumerate(self._clauses):
            for literal in clause:
                self._clauses_by_literal.setdefault(literal, []).append(i)

    def everywhere(self) -> tuple[int, int]:
        """The closure of the empty label: the literals of every individual."""
        return self.closure(
            (0, 0), (0, 0), [i for i, clause in enumerate(self._clauses) if len(clause) < 2]
        )

    def closure(
        self,
        label: tuple[int, int],
        closed: tuple[int, int],
        queue: Iterable[int] = (),
        *,
        to_clash: bool = False,
    ) -> tuple[int, int]:
        """Close ``label``, whose part ``closed`` is closed but for the clauses at the positions in
        ``queue``. With ``to_clash``, stop at the first clash.
        """
        width, low, clauses, clauses_with = (
            self._width,
            self._low,
            self._clauses,
            self._clauses_by_literal,
        )
        positive, negative = label
        # Names that no clause here speaks of.
        beyond = positive >> width << width, negative >> width << width
        mask = negative & low | (positive & low) << width
        refuted = bytearray(mask.to_bytes(width // 4 + 1, "little"))

        def possible_literals(i: int) -> list[int]:
            """The literals of a clause that are not refuted."""
            return [x for x in clauses[i] if not refuted[x >> 3] >> (x & 7) & 1]

        fresh = mask & ~(closed[1] & low | (closed[0] & low) << width)
        left = {
            i: len(possible_literals(i))
            for i in {i for x in bits(fresh) for i in clauses_with.get(x, ())}
        }
        todo = [*queue, *(i for i, count in left.items() if count < 2)]
        while todo:
            place = todo.pop()
            for literal in possible_literals(place) or clauses[place] or self._clash:
                x = literal - width if literal >= width else literal + width
                if refuted[x >> 3] >> (x & 7) & 1:
                    continue
                refuted[x >> 3] |= 1 << (x & 7)
                if to_clash and refuted[literal >> 3] >> (literal & 7) & 1:
                    todo.clear()
                    break
                for i in clauses_with.get(x, ()):
                    left[i] = left[i] - 1 if i in left else len(possible_literals(i))
                    if left[i] < 2:
                        todo.append(i)
        mask = int.from_bytes(refuted, "little")
        return (mask >> width) & low | beyond[0], mask & low | beyond[1]

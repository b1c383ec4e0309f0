"""The snapshots of a stream that still matter: what was asserted in each, and what that entails.

Source: docs/DISCOVERY.md: changes and Φ are of the union of a window, rarity and
support of its snapshots.

Changes, similarity and rarity of what a stream entails (docs/DISCOVERY.md, Definitions 2 to 5).

>>> changes({1, 2}, {2, 3, 4})
Changes(new=2, obsolete=1, invariant=1)
>>> changes({1, 2}, {2, 3, 4}).similarity
Fraction(1, 4)
>>> [rarity([{1, 2}, {2}], e) for e in (1, 2)]
[Fraction(1, 2), Fraction(1, 2)]
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from shiq import model as owl
from shiq.errors import UsageError
from shiq.streams.discovery.atomsets import Atom, Atoms
from shiq.streams.discovery.entailing import MinerKnowledge, UndecidedEntailmentError


class Changes(NamedTuple):
    """How many assertions are entailed in the second window alone, in the first alone, in both."""

    new: int
    obsolete: int
    invariant: int

    @property
    def similarity(self) -> Fraction | None:
        """Φ; None without a basis."""
        basis = sum(self)
        return Fraction(self.invariant, basis) if basis else None


def changes(before: Set[Hashable], after: Set[Hashable]) -> Changes:
    """Definition 2, of what two windows entail."""
    return Changes(len(after - before), len(before - after), len(after & before))


def counts(snapshots: Iterable[Collection[Hashable]]) -> dict[int, int]:
    """How many assertions exactly so many snapshots entail, by that number."""
    times = Counter(assertion for entailed in snapshots for assertion in entailed)
    return dict(sorted(Counter(times.values()).items()))


def rarity(snapshots: Iterable[Collection[Hashable]], e: int) -> Fraction | None:
    """ϱ_e: the share of assertions that exactly e snapshots entail; None if none entails any."""
    by_count = counts(snapshots)
    distinct = sum(by_count.values())
    return Fraction(by_count.get(e, 0), distinct) if distinct else None


#: What was asserted, each once.
Assertions = tuple[owl.Assertion, ...]


@dataclass
class Tally:
    """What the snapshots of a window have, ``values`` of each, by how many of them; from window
    to window what came and what left is counted.
    """

    values: Callable[[int], Iterable[Any] | None]
    times: Counter[Any] = field(default_factory=Counter)
    _held: dict[int, Any] = field(default_factory=dict)

    def over(self, window: Iterable[int]) -> Iterable[Any]:
        """What they have, each once."""
        now = {index: self.values(index) or () for index in window}
        gone = [index for index, held in self._held.items() if held is not now.get(index)]
        if len(gone) == len(self._held):
            self.times.clear()
            self._held.clear()
        for index in gone if self._held else ():
            self.times.subtract(self._held.pop(index))
        for index, values in now.items():
            if index not in self._held:
                self.times.update(values)
                self._held[index] = values
        for value in [value for value, times in self.times.items() if not times]:
            del self.times[value]
        return self.times


@dataclass
class Snapshots:
    """``knowledge`` is T and A. ``version``: by index, which state of a snapshot it is."""

    knowledge: MinerKnowledge
    told: dict[int, Assertions] = field(default_factory=dict)
    version: dict[int, int] = field(default_factory=dict)
    clock: int = 0
    #: Tuples: a set of thousands takes ten times as much.
    _entailed: dict[int, Atoms | None] = field(default_factory=dict)
    #: Those of which it is not known what they entail.
    _undecided: set[int] = field(default_factory=set)
    #: What windows entail of classes, by their ends and basis; what goes from window to window, by
    #: basis and length.
    _windows: dict[tuple[int, int, str], frozenset[Atom] | None] = field(default_factory=dict)
    _tallies: dict[tuple[str, int], Tally] = field(default_factory=dict)
    _same: dict[object, object] = field(default_factory=dict)
    _texts: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def put(self, index: int, assertions: Iterable[owl.Assertion]) -> None:
        """Unites a snapshot with ``assertions``."""
        same = self._same
        before = self.told.get(index, ())
        united = tuple(dict.fromkeys((*before, *(same.setdefault(a, a) for a in assertions))))
        if index in self.told and len(united) == len(before):
            return
        self.told[index] = united  # type: ignore[assignment]
        self.clock += 1
        self.version[index] = self.clock
        self._let_go(index)
        self._windows = {
            key: found for key, found in self._windows.items() if not key[0] <= index <= key[1]
        }

    def unite(self, *others: Snapshots) -> None:
        """Takes the snapshots of ``others``. Raises: UsageError for one that two of them have."""
        for other in others:
            both = self.told.keys() & other.told.keys()
            if both:
                raise UsageError(
                    f"both miners have snapshot {min(both)}", "Merge miners of disjoint snapshots."
                )
            for index, assertions in other.told.items():
                self.put(index, assertions)
                if index in other._entailed and index not in other._undecided:
                    self._entailed[index] = other._entailed[index]

    def text(self, index: int, texts_of: Callable[[Iterable[owl.Assertion]], list[str]]) -> bytes:
        """What a snapshot asserts, as N-Triples, packed; made once for each of its states."""
        known = self._texts.get(index)
        if known is None or known[0] != self.version[index]:
            whole = "\n".join(texts_of(self.told[index])).encode("utf-8", "surrogatepass")
            known = self._texts[index] = self.version[index], zlib.compress(whole, 1)
        return known[1]

    def forget(self, before: int) -> None:
        """Lets the snapshots before an index go."""
        gone = [index for index in self.told if index < before]
        for index in gone:
            del self.told[index]
            self._let_go(index)
            self.version.pop(index, None)
            self._texts.pop(index, None)
        self._windows = {key: found for key, found in self._windows.items() if key[0] >= before}
        if gone and len(self._same) > 100_000:
            live: set[object] = set().union(
                *self.told.values(), *(found for found in self._entailed.values() if found)
            )
            if 2 * len(live) < len(self._same):
                self._same = {value: value for value in live}

    def entailed(self, index: int) -> Atoms | None:
        """What a snapshot entails, with T ∪ A, besides what T ∪ A does; None if it is
        inconsistent or undecided. A missing one is empty.
        """
        if index not in self.told:
            return ()
        if index not in self._entailed:
            try:
                self.learn(index, self.knowledge.entailed(self.told[index]))
            except UndecidedEntailmentError as undecided:
                self.learn(index, None, undecided.reason)
        return self._entailed[index]

    def learn(
        self, index: int, entailed: Iterable[Atom] | None, undecided: str | None = None
    ) -> None:
        """Takes what a snapshot, as it is told now, entails; ``undecided``: why that is not known."""
        same = self._same
        if undecided is not None:
            self._undecided.add(index)
            self.knowledge.undecided[f"snapshot {index} is left out"] = undecided
        self._entailed[index] = (
            None if entailed is None else tuple(same.setdefault(a, a) for a in entailed)  # type: ignore[misc]
        )

    def again(self, window: range) -> None:
        """Forgets what was worked out of a window."""
        for index in window:
            self._let_go(index)
        self._windows.clear()

    def _let_go(self, index: int) -> None:
        self._entailed.pop(index, None)
        self._undecided.discard(index)

    def left_out(self, window: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The snapshots of a window that are inconsistent, and those that are undecided."""
        out = [index for index in window if self.entailed(index) is None]
        return tuple(i for i in out if i not in self._undecided), tuple(
            i for i in out if i in self._undecided
        )

    def consistent(self, window: Iterable[int]) -> list[int]:
        """The snapshots of a window that are consistent."""
        return [index for index in window if self.entailed(index) is not None]

    def union(self, window: range) -> frozenset[Atom] | None:
        """What the consistent snapshots of a window together entail of classes; None if they
        contradict each other, or that is undecided.
        """
        key = (*_ends(window), "union")
        if key not in self._windows:
            try:
                found = self.knowledge.entailed(
                    self._over("union", window, self._told_if_consistent)
                )
            except UndecidedEntailmentError as undecided:
                found = None
                self.knowledge.undecided[f"snapshots {key[0]} to {key[1]} are not united"] = (
                    undecided.reason
                )
            self._windows[key] = None if found is None else _of_classes(found)
        return self._windows[key]

    def _told_if_consistent(self, index: int) -> Assertions | None:
        return None if self.entailed(index) is None else self.told.get(index)

    def some(self, window: range) -> frozenset[Atom]:
        """What some consistent snapshot of a window entails of classes."""
        key = (*_ends(window), "snapshots")
        if key not in self._windows:
            self._windows[key] = _of_classes(self._over("snapshots", window, self.entailed))
        return self._windows[key] or frozenset()

    def _over(
        self, basis: str, window: Sequence[int], values: Callable[[int], Iterable[Any] | None]
    ) -> Iterable[Any]:
        return self._tallies.setdefault((basis, len(window)), Tally(values)).over(window)

    def each(self, window: Sequence[int]) -> list[frozenset[Atom]]:
        """What each consistent snapshot of a window entails of classes."""
        return [_of_classes(found) for found in map(self.entailed, window) if found is not None]

    def changes(self, before: range, after: range) -> tuple[Changes, str]:
        """From one window to another, and of what: of the ``union`` of each, or of what some of
        its ``snapshots`` entails where either union is inconsistent.
        """
        first, second = self.union(before), self.union(after)
        if first is None or second is None:
            return changes(self.some(before), self.some(after)), "snapshots"
        return changes(first, second), "union"


def _ends(window: range) -> tuple[int, int]:
    return (window[0], window[-1]) if window else (0, -1)


def _of_classes(atoms: Iterable[Atom]) -> frozenset[Atom]:
    return frozenset(atom for atom in atoms if len(atom) == 2)

"""The snapshots of a stream that still matter: what was asserted in each, and what that entails.

Source: SPEC 1: changes and Φ are of the union of a window, rarity and support of its snapshots.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.errors import UsageError
from streams.discovery.atomsets import Atom, Atoms
from streams.discovery.entailing import Knowledge, UndecidedEntailmentError
from streams.discovery.measures import Changes, changes

#: What was asserted, each once.
Assertions = tuple[owl.Assertion, ...]


@dataclass
class Snapshots:
    """``knowledge`` is T and A. ``version``: by index, which state of a snapshot it is."""

    knowledge: Knowledge
    told: dict[int, Assertions] = field(default_factory=dict)
    version: dict[int, int] = field(default_factory=dict)
    clock: int = 0
    #: Tuples: a set of thousands takes ten times as much.
    _entailed: dict[int, Atoms | None] = field(default_factory=dict)
    #: Those of which it is not known what they entail.
    _undecided: set[int] = field(default_factory=set)
    _unions: dict[tuple[int, int], frozenset[Atom] | None] = field(default_factory=dict)
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
        for window in [window for window in self._unions if window[0] <= index <= window[1]]:
            del self._unions[window]

    def unite(self, *others: Snapshots) -> None:
        """Takes the snapshots of ``others``. Raises: UsageError for one that two of them have."""
        for other in others:
            both = self.told.keys() & other.told.keys()
            if both:
                raise UsageError(f"both miners have snapshot {min(both)}", "Merge miners of disjoint snapshots.")
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
        self._unions = {window: found for window, found in self._unions.items() if window[0] >= before}
        if gone and len(self._same) > 100_000:
            live: set[object] = set().union(*self.told.values(), *(found for found in self._entailed.values() if found))
            if 2 * len(live) < len(self._same):
                self._same = {value: value for value in live}

    def entailed(self, index: int) -> Atoms | None:
        """What a snapshot entails, with T ∪ A, besides what T ∪ A does; None if it is inconsistent or undecided. A missing one is
        empty."""
        if index not in self.told:
            return ()
        if index not in self._entailed:
            try:
                self.learn(index, self.knowledge.entailed(self.told[index]))
            except UndecidedEntailmentError as undecided:
                self.learn(index, None, undecided.reason)
        return self._entailed[index]

    def learn(self, index: int, entailed: Iterable[Atom] | None, undecided: str | None = None) -> None:
        """Takes what a snapshot, as it is told now, entails; ``undecided``: why that is not known."""
        same = self._same
        if undecided is not None:
            self._undecided.add(index)
            self.knowledge.undecided[f"snapshot {index} is left out"] = undecided
        self._entailed[index] = None if entailed is None else tuple(same.setdefault(a, a) for a in entailed)  # type: ignore[misc]

    def again(self, window: range) -> None:
        """Forgets what was worked out of a window."""
        for index in window:
            self._let_go(index)
        self._unions.clear()

    def _let_go(self, index: int) -> None:
        self._entailed.pop(index, None)
        self._undecided.discard(index)

    def left_out(self, window: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The snapshots of a window that are inconsistent, and those that are undecided."""
        out = [index for index in window if self.entailed(index) is None]
        return tuple(i for i in out if i not in self._undecided), tuple(i for i in out if i in self._undecided)

    def consistent(self, window: Iterable[int]) -> list[int]:
        """The snapshots of a window that are consistent."""
        return [index for index in window if self.entailed(index) is not None]

    def union(self, window: range) -> frozenset[Atom] | None:
        """What the consistent snapshots of a window together entail of classes; None if they contradict each other, or that is
        undecided."""
        if not window:
            return frozenset()
        key = (window[0], window[-1])
        if key not in self._unions:
            told = dict.fromkeys(a for index in self.consistent(window) for a in self.told.get(index, ()))
            try:
                found = self.knowledge.entailed(told)
            except UndecidedEntailmentError as undecided:
                found = None
                self.knowledge.undecided[f"snapshots {key[0]} to {key[1]} are not united"] = undecided.reason
            self._unions[key] = None if found is None else frozenset(atom for atom in found if len(atom) == 2)
        return self._unions[key]

    def each(self, window: Sequence[int]) -> list[frozenset[Atom]]:
        """What each consistent snapshot of a window entails of classes."""
        return [frozenset(atom for atom in found if len(atom) == 2) for found in map(self.entailed, window) if found is not None]

    def changes(self, before: range, after: range) -> tuple[Changes, str]:
        """From one window to another, and of what: of the ``union`` of each, or of what some of its ``snapshots`` entails where
        either union is inconsistent."""
        first, second = self.union(before), self.union(after)
        if first is None or second is None:
            return changes(frozenset().union(*self.each(before)), frozenset().union(*self.each(after))), "snapshots"
        return changes(first, second), "union"

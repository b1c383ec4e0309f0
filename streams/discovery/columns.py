"""A bit for each ground atom and snapshot, in a ring: the last snapshots, one word for 64 of them.

The atoms that T ∪ A alone entails hold in every snapshot that is consistent; they are said once
(`begin`). Whoever keeps counts of some words asks which have changed since (`stale`).

Source: docs/DISCOVERY.md; THEORY, "Rules discovered in a stream".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.columns.arrays import Ints
from shiq.streams.discovery.atomsets import Atom

Bits: TypeAlias = npt.NDArray[np.uint64]
#: Atoms are forgotten that no snapshot has any more, once there are so many of them, and as many as
#: others.
_DEAD = 20_000


#: Before the names of atoms that heads are counted by, where these come from other streams.
HEAD = "\N{RIGHTWARDS ARROW}"


def tag_atom(tag: str, atom: Atom) -> Atom:
    """An atom with ``tag`` before its name."""
    return (tag + atom[0], *atom[1:])


class Extension(NamedTuple):
    """Individuals, ascending, and for each the snapshots in which something holds of it."""

    rows: Ints
    bits: Bits


class RootEdges(NamedTuple):
    """Role assertions by their end at the root, ascending; the other end; the snapshots."""

    root_ends: Ints
    other_ends: Ints
    bits: Bits


def popcount(bits: Bits) -> Any:
    """How many bits are set in each word."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(bits).astype(np.int64)
    return np.unpackbits(bits.view(np.uint8).reshape(*bits.shape, 8), axis=-1).sum(
        axis=-1, dtype=np.int64
    )


def row_counts(bits: Bits) -> Any:
    """How many bits are set in each row."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return popcount(bits).sum(axis=1)


def drop_empty_rows(rows: Ints, bits: Bits) -> Extension:
    """Without the individuals of which it never holds."""
    some = bits.any(axis=1)
    return Extension(rows, bits) if some.all() else Extension(rows[some], bits[some])


class SnapshotColumns:
    """The last ``size`` snapshots. The place of a snapshot is its index modulo ``size``."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.words = -(-size // 64)
        self.version = 0
        self.word_versions = np.zeros(self.words, np.int64)
        self.atoms: list[Atom] = []
        self.ids: dict[Atom, int] = {}
        self.static: Ints = np.empty(0, np.int64)
        self.atoms_by_place: dict[int, Ints] = {}
        self.individuals: list[str] = []
        self._numbers: dict[str, int] = {}
        self._ends: list[tuple[int, int]] = []
        self._atoms_by_name: dict[str, list[int]] = {}
        self._bits: Bits = np.zeros((1024, self.words), np.uint64)
        self._sorted_ends: dict[tuple[str, bool | None], tuple[int, Ints, Ints, Ints]] = {}

    def set_static(self, static: Iterable[Atom]) -> None:
        """Takes down what holds in every consistent snapshot."""
        self.static = self.numbers(static)

    def numbers(self, atoms: Iterable[Atom]) -> Ints:
        """The numbers of ``atoms``, new ones included."""
        ids = self.ids
        found = [
            self._add_atom(atom) if (number := ids.get(atom)) is None else number
            for atom in sorted(atoms)
        ]
        if len(self.atoms) > len(self._bits):
            more = np.zeros(
                (max(len(self.atoms), 2 * len(self._bits)) - len(self._bits), self.words), np.uint64
            )
            self._bits = np.concatenate([self._bits, more])
        return np.array(found, np.int64)

    def _add_atom(self, atom: Atom) -> int:
        number = self.ids[atom] = len(self.atoms)
        self.atoms.append(atom)
        ends = [self._numbers.setdefault(term, len(self._numbers)) for term in atom[1:]]
        for term, end in zip(atom[1:], ends):
            if end == len(self.individuals):
                self.individuals.append(term)
        self._ends.append((ends[0], ends[-1]))
        self._atoms_by_name.setdefault(atom[0], []).append(number)
        return number

    def put(self, index: int, atoms: Iterable[Atom] | None) -> None:
        """Snapshot ``index`` entails ``atoms`` besides what is static; None: it is inconsistent,
        and nothing is said of it.
        """
        place = index % self.size
        word, bit = place >> 6, np.uint64(1 << (place & 63))
        self.version += 1
        self.word_versions[word] = self.version
        self._bits[:, word] &= ~bit
        self.atoms_by_place.pop(place, None)
        if atoms is None:
            return
        held = self.atoms_by_place[place] = self.numbers(atoms)
        self._bits[held, word] |= bit
        self._bits[self.static, word] |= bit
        self._drop_dead_atoms()

    def mask(self, indices: Iterable[int]) -> Bits:
        """The bits of some snapshots."""
        mask = np.zeros(self.words, np.uint64)
        for index in indices:
            place = index % self.size
            mask[place >> 6] |= np.uint64(1 << (place & 63))
        return mask

    def changed_words(self, version: int) -> Ints:
        """The words that changed after ``version``."""
        return np.flatnonzero(self.word_versions > version)

    def _drop_dead_atoms(self) -> None:
        """Numbers the atoms anew, without those that no snapshot has any more."""
        if len(self.atoms) < _DEAD:
            return
        kept: npt.NDArray[np.bool_] = np.asarray(self._bits[: len(self.atoms)].any(axis=1))
        kept[self.static] = True
        if 2 * int(kept.sum()) > len(kept) or len(kept) - int(kept.sum()) < _DEAD:
            return
        numbers = np.cumsum(kept) - 1
        atoms, bits = self.atoms, self._bits[: len(kept)][kept]
        self.static = numbers[self.static]
        self.atoms_by_place = {place: numbers[held] for place, held in self.atoms_by_place.items()}
        self.atoms, self.ids, self.individuals, self._numbers, self._ends = [], {}, [], {}, []
        self._atoms_by_name, self._sorted_ends = {}, {}
        for number in np.flatnonzero(kept).tolist():
            self._add_atom(atoms[number])
        self._bits = bits

    # --- what is looked at ------------------------------------------------------------------------

    def class_atoms(self) -> Ints:
        """The numbers of assertions of classes that are not static."""
        numbers = np.array([i for i, atom in enumerate(self.atoms) if len(atom) == 2], np.int64)
        return numbers[~np.isin(numbers, self.static)]

    def case_count(self) -> int:
        """How many pairs there are of a snapshot and an individual that it says something of."""
        some, bits = np.zeros((len(self.individuals), self.words), np.uint64), self._bits
        for ends in np.array(self._ends, np.int64).reshape(-1, 2).T:
            order = np.argsort(ends, kind="stable")
            starts = np.flatnonzero(np.diff(ends[order], prepend=-1))
            some[ends[order][starts]] |= np.bitwise_or.reduceat(bits[order], starts, axis=0)
        return int(popcount(some).sum())

    def names(self) -> list[str]:
        """The classes and roles that something was said with."""
        return sorted(self._atoms_by_name)

    def class_extension(self, name: str, words: Ints) -> Extension:
        """The individuals of a class, in ``words``."""
        numbers, near, _ = self._atoms_named(name, None)
        return drop_empty_rows(near, self._bits[numbers[:, None], words])

    def role_edges(self, name: str, inverse: bool, words: Ints) -> RootEdges:
        """The edges of a role, from its objects if ``inverse``."""
        numbers, near, far = self._atoms_named(name, inverse)
        bits = self._bits[numbers[:, None], words]
        some = bits.any(axis=1)
        return RootEdges(near[some], far[some], bits[some])

    def atom_bits(self, numbers: Ints) -> Bits:
        """The snapshots of some atoms."""
        return self._bits[numbers]

    def _atoms_named(self, name: str, inverse: bool | None) -> tuple[Ints, Ints, Ints]:
        said = self._atoms_by_name.get(name, [])
        known = self._sorted_ends.get((name, inverse))
        if known is None or known[0] != len(said):
            numbers = np.array(said, np.int64)
            ends = np.array([self._ends[i] for i in said], np.int64).reshape(-1, 2)
            near, far = (ends[:, 1], ends[:, 0]) if inverse else (ends[:, 0], ends[:, 1])
            order = np.argsort(near, kind="stable")
            known = self._sorted_ends[name, inverse] = (
                len(said),
                numbers[order],
                near[order],
                far[order],
            )
        return known[1:]

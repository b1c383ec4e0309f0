"""Bit matrix of ground atoms (rows) and snapshots (columns): a ring over the last snapshots, 64 to
a word.

Atoms entailed by ontology and static data alone (T ∪ A) hold in every consistent snapshot; they are
stored once (`set_static`). `changed_words` tells holders of counts which words changed. Source:
docs/DISCOVERY.md; THEORY, "Rules discovered in a stream".
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
_LEAST_DEAD_ATOMS = 20_000


#: Before the names of atoms that heads are counted by, where these come from other streams.
HEAD_TAG = "\N{RIGHTWARDS ARROW}"


def tag_atom(tag: str, atom: Atom) -> Atom:
    """Copy of an atom with ``tag`` before its class or role name."""
    return (tag + atom[0], *atom[1:])


class Extension(NamedTuple):
    """Extension of a class or body: ids of individuals, ascending, each with the bits of the
    snapshots in which it is a member.
    """

    rows: Ints
    bits: Bits


class RootEdges(NamedTuple):
    """Edges of a role as columns, sorted by the first: individual at the root of a body, individual
    at the other end, bits of the snapshots with this edge.
    """

    root_ends: Ints
    other_ends: Ints
    bits: Bits


def count_bits(bits: Bits) -> Any:
    """Number of set bits in each word."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(bits).astype(np.int64)
    return np.unpackbits(bits.view(np.uint8).reshape(*bits.shape, 8), axis=-1).sum(
        axis=-1, dtype=np.int64
    )


def count_row_bits(bits: Bits) -> Any:
    """Number of set bits in each row."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return count_bits(bits).sum(axis=1)


def drop_empty_rows(rows: Ints, bits: Bits) -> Extension:
    """Make an extension of the individuals ``rows`` with the snapshot ``bits``, without those that
    have no set bit.
    """
    some = bits.any(axis=1)
    return Extension(rows, bits) if some.all() else Extension(rows[some], bits[some])


class SnapshotColumns:
    """Bit matrix of ground atoms by the last ``size`` snapshots; the column of a snapshot is its
    index modulo ``size``.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.words = -(-size // 64)
        self.version = 0
        self.word_versions = np.zeros(self.words, np.int64)
        self.atoms: list[Atom] = []
        self.ids: dict[Atom, int] = {}
        self.static_numbers: Ints = np.empty(0, np.int64)
        self.atoms_by_place: dict[int, Ints] = {}
        self.individuals: list[str] = []
        self._numbers: dict[str, int] = {}
        self._ends: list[tuple[int, int]] = []
        self._atoms_by_name: dict[str, list[int]] = {}
        self._bits: Bits = np.zeros((1024, self.words), np.uint64)
        self._sorted_ends: dict[tuple[str, bool | None], tuple[int, Ints, Ints, Ints]] = {}

    def set_static(self, static: Iterable[Atom]) -> None:
        """Set the static atoms, which hold in every consistent snapshot."""
        self.static_numbers = self.rows_of_atoms(static)

    def rows_of_atoms(self, atoms: Iterable[Atom]) -> Ints:
        """Row indexes of ``atoms``; a new atom gets a new row."""
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
        """Add an atom and return its row index."""
        number = self.ids[atom] = len(self.atoms)
        self.atoms.append(atom)
        ends = [self._numbers.setdefault(term, len(self._numbers)) for term in atom[1:]]
        for term, end in zip(atom[1:], ends):
            if end == len(self.individuals):
                self.individuals.append(term)
        self._ends.append((ends[0], ends[-1]))
        self._atoms_by_name.setdefault(atom[0], []).append(number)
        return number

    def store_snapshot(self, index: int, atoms: Iterable[Atom] | None) -> None:
        """Store the atoms that snapshot ``index`` entails besides static ones; None if it is
        inconsistent or undecided.
        """
        place = index % self.size
        word, bit = place >> 6, np.uint64(1 << (place & 63))
        self.version += 1
        self.word_versions[word] = self.version
        self._bits[:, word] &= ~bit
        self.atoms_by_place.pop(place, None)
        if atoms is None:
            return
        held = self.atoms_by_place[place] = self.rows_of_atoms(atoms)
        self._bits[held, word] |= bit
        self._bits[self.static_numbers, word] |= bit
        self._drop_dead_atoms()

    def snapshot_mask(self, indices: Iterable[int]) -> Bits:
        """Bit mask of the given snapshots' columns."""
        mask = np.zeros(self.words, np.uint64)
        for index in indices:
            place = index % self.size
            mask[place >> 6] |= np.uint64(1 << (place & 63))
        return mask

    def changed_words(self, version: int) -> Ints:
        """Indexes of the 64-bit words of columns that changed after version ``version`` of the
        matrix.
        """
        return np.flatnonzero(self.word_versions > version)

    def _drop_dead_atoms(self) -> None:
        """Drop the atoms that no snapshot has any more, and renumber the others."""
        if len(self.atoms) < _LEAST_DEAD_ATOMS:
            return
        kept: npt.NDArray[np.bool_] = np.asarray(self._bits[: len(self.atoms)].any(axis=1))
        kept[self.static_numbers] = True
        if 2 * int(kept.sum()) > len(kept) or len(kept) - int(kept.sum()) < _LEAST_DEAD_ATOMS:
            return
        numbers = np.cumsum(kept) - 1
        atoms, bits = self.atoms, self._bits[: len(kept)][kept]
        self.static_numbers = numbers[self.static_numbers]
        self.atoms_by_place = {place: numbers[held] for place, held in self.atoms_by_place.items()}
        self.atoms, self.ids, self.individuals, self._numbers, self._ends = [], {}, [], {}, []
        self._atoms_by_name, self._sorted_ends = {}, {}
        for number in np.flatnonzero(kept).tolist():
            self._add_atom(atoms[number])
        self._bits = bits

    # --- what is looked at ------------------------------------------------------------------------

    def class_assertion_rows(self) -> Ints:
        """Row indexes of the class assertions that are not static."""
        numbers = np.array([i for i, atom in enumerate(self.atoms) if len(atom) == 2], np.int64)
        return numbers[~np.isin(numbers, self.static_numbers)]

    def case_count(self) -> int:
        """Number of pairs of a snapshot and an individual with an atom in it."""
        some, bits = np.zeros((len(self.individuals), self.words), np.uint64), self._bits
        for ends in np.array(self._ends, np.int64).reshape(-1, 2).T:
            order = np.argsort(ends, kind="stable")
            starts = np.flatnonzero(np.diff(ends[order], prepend=-1))
            some[ends[order][starts]] |= np.bitwise_or.reduceat(bits[order], starts, axis=0)
        return int(count_bits(some).sum())

    def class_and_role_names(self) -> list[str]:
        """Classes and roles of all atoms."""
        return sorted(self._atoms_by_name)

    def class_extension(self, name: str, words: Ints) -> Extension:
        """Individuals of a class with the bits of snapshots in which they are members, only for the
        given 64-bit words of columns.
        """
        numbers, near, _ = self._sorted_atoms_of_name(name, None)
        return drop_empty_rows(near, self._bits[numbers[:, None], words])

    def role_edges(self, name: str, inverse: bool, words: Ints) -> RootEdges:
        """Edges of a role with the bits of their snapshots, only for the given 64-bit words of
        columns. With ``inverse`` the object is the root end.
        """
        numbers, near, far = self._sorted_atoms_of_name(name, inverse)
        bits = self._bits[numbers[:, None], words]
        some = bits.any(axis=1)
        return RootEdges(near[some], far[some], bits[some])

    def atom_bits(self, rows: Ints) -> Bits:
        """Bits of the snapshots that entail these atoms, a row for each."""
        return self._bits[rows]

    def _sorted_atoms_of_name(self, name: str, inverse: bool | None) -> tuple[Ints, Ints, Ints]:
        """Row indexes, root ends and other ends of the atoms with a class or role name, sorted by
        root end (with ``inverse`` the object).
        """
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

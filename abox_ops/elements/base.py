"""What an engine over columns holds of A: sorted tables with dictionaries, in memory, in a
store, or either less deletions.

Individuals are *nodes* (integers). A batch numbers its fresh individuals and its own literals
and complex assertions from `FRESH` on, so that both kinds go through the same columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from abox_ops.labels.numbered import Bools
from shiq.abox import ABox, Interner
from shiq.columns.arrays import (
    ArrayTable,
    Columns,
    Ints,
    Table,
    array_table,
    contained,
    distinct,
    is_in,
    take,
    unique,
    without,
)
from shiq.columns.rows import ROW_COLUMNS, Names, abox_rows, complex_rows, mentioned, positions_of
from shiq.columns.strings import are_strings, are_strings_in
from shiq.model import Assertion, Literal, TBox
from shiq.model_json import decode

FRESH = 1 << 48


class Base(Protocol):
    """A set of assertions, by node."""

    @property
    def names(self) -> Names: ...

    def __len__(self) -> int:
        """How many assertions."""

    def table(self, name: str) -> Table:
        """One of `shiq.columns.rows.ROW_COLUMNS`."""

    def nodes(self) -> Ints:
        """Every node, ascending."""

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each term; -1 where no assertion mentions it."""

    def terms_of(self, nodes: Ints) -> list[str]: ...

    def literals_of(self, literals: Ints) -> list[Literal]: ...
    def are_strings(self, literals: Ints) -> Bools: ...

    def complex_of(self, rows: Columns) -> list[Assertion]:
        """The assertion of each row of the table ``complex``."""

    def class_counts(self) -> Ints:
        """How many assertions each class name has."""


# --- in memory ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayBase:
    """An `ABox` as sorted arrays. A node is the position in ``terms``."""

    names: Names
    terms: list[str]
    literals: list[Literal]
    complex: tuple[Assertion, ...]
    tables: dict[str, ArrayTable]

    def __len__(self) -> int:
        halves = sum(len(self.tables[name]) for name in ("half_edges", "pairs"))
        return (
            len(self.tables["class_assertions"])
            + len(self.tables["data_assertions"])
            + halves // 2
            + len(self.complex)
        )

    def table(self, name: str) -> Table:
        return self.tables[name]

    def nodes(self) -> Ints:
        return np.arange(len(self.terms), dtype=np.int64)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {term: i for i, term in enumerate(self.terms)}

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        ids = self._ids
        return np.fromiter((ids.get(term, -1) for term in terms), np.int64, len(terms))

    def terms_of(self, nodes: Ints) -> list[str]:
        terms = self.terms
        return [terms[node] for node in nodes.tolist()]

    def literals_of(self, literals: Ints) -> list[Literal]:
        values = self.literals
        return [values[i] for i in literals.tolist()]

    def are_strings(self, literals: Ints) -> Bools:
        return are_strings(self.literals_of(literals))

    def complex_of(self, rows: Columns) -> list[Assertion]:
        return [self.complex[i] for i in rows["ordinal"].tolist()]

    def class_counts(self) -> Ints:
        return np.bincount(
            self.tables["class_assertions"].columns["class"], minlength=len(self.names.classes)
        )


def array_base(abox: ABox, order: Ints | None = None) -> ArrayBase:
    """``abox`` by node. ``order``: the positions of the mentioned individuals, as they are to be
    numbered.
    """
    order = mentioned(abox) if order is None else order
    node, literal = (
        _rank(len(abox.individuals), order),
        np.arange(len(abox.literals), dtype=np.int64),
    )
    complex_ = tuple(dict.fromkeys(abox.complex))
    rows = abox_rows(abox, node, literal)
    rows["complex"] = complex_rows(
        complex_, {term: int(node[i]) for term, i in positions_of(abox).items()}
    )
    return ArrayBase(
        Names(
            Interner(abox.classes), Interner(abox.object_properties), Interner(abox.data_properties)
        ),
        [abox.individuals[i] for i in order.tolist()],
        list(abox.literals),
        complex_,
        {name: array_table("node", columns) for name, columns in rows.items()},
    )


def _rank(count: int, order: Ints) -> Ints:
    """Where each of 0 … count-1 stands in ``order``; -1 if it does not."""
    rank = np.full(count, -1, np.int64)
    rank[order] = np.arange(len(order))
    return rank


# --- in a store -----------------------------------------------------------------------------------


class StoredTable(Table, Protocol):
    """A table of a store."""

    def all(self) -> Columns:
        """Every row, sorted by key."""


class StoredSnapshot(Protocol):
    """A snapshot of a store: its TBox, its tables by name, its dictionaries, and what its index
    says beside its tables.
    """

    @property
    def tbox(self) -> TBox: ...

    @property
    def classes(self) -> list[str]: ...

    @property
    def object_properties(self) -> list[str]: ...

    @property
    def data_properties(self) -> list[str]: ...

    @property
    def index_document(self) -> dict[str, Any]: ...

    @property
    def is_completed(self) -> bool: ...

    @property
    def class_counts(self) -> Ints: ...

    def __len__(self) -> int: ...
    def table(self, name: str) -> StoredTable: ...
    def nodes_of(self, terms: Sequence[str]) -> Ints: ...
    def terms_of(self, nodes: Ints) -> list[str]: ...
    def literals_of(self, literals: Ints) -> list[Literal]: ...
    def export(self) -> Iterator[Assertion]: ...


@dataclass(frozen=True, eq=False)
class StoreBase:
    """A snapshot of a store, as a base."""

    store: StoredSnapshot

    @cached_property
    def names(self) -> Names:
        store = self.store
        return Names(
            Interner(store.classes),
            Interner(store.object_properties),
            Interner(store.data_properties),
        )

    def __len__(self) -> int:
        return len(self.store)

    def table(self, name: str) -> Table:
        return self.store.table(name)

    def nodes(self) -> Ints:
        found: Ints = self.store.table("individuals").all()["node"]
        return found

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        return self.store.nodes_of(terms)

    def terms_of(self, nodes: Ints) -> list[str]:
        return self.store.terms_of(nodes)

    def literals_of(self, literals: Ints) -> list[Literal]:
        return self.store.literals_of(literals)

    def are_strings(self, literals: Ints) -> Bools:
        found, which, _ = distinct(literals)
        rows = self.store.table("literals").rows_of(found)
        if len(rows["literal"]) != len(found):
            return are_strings(self.store.literals_of(literals))
        return are_strings_in(rows["lexical"], rows["datatype"], rows["language"])[which]

    def complex_of(self, rows: Columns) -> list[Assertion]:
        return [decode(json.loads(value)) for value in rows["value"].to_pylist()]

    def class_counts(self) -> Ints:
        return self.store.class_counts


# --- less deletions -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LessTable:
    """A table less the ``removed`` rows (compared in ``columns``)."""

    table: Table
    columns: tuple[str, ...]
    removed: Columns
    key: str = "node"

    def __len__(self) -> int:
        return len(self.table) - len(self.removed["node"])

    def rows_of(self, keys: Ints) -> Columns:
        return self._left(self.table.rows_of(keys))

    def degrees(self, keys: Ints) -> Ints:
        return self.table.degrees(keys)

    def scan(self) -> Iterator[Columns]:
        return map(self._left, self.table.scan())

    def _left(self, rows: Columns) -> Columns:
        gone = contained(
            [rows[name] for name in self.columns], [self.removed[name] for name in self.columns]
        )
        return (
            {name: take(column, (~gone).nonzero()[0]) for name, column in rows.items()}
            if gone.any()
            else rows
        )


@dataclass(frozen=True, eq=False)
class OverBase:
    """A base laid over another one: every question is passed on to ``base``, but for those that
    a subclass answers itself.
    """

    base: Base

    @property
    def names(self) -> Names:
        return self.base.names

    def __len__(self) -> int:
        return len(self.base)

    def table(self, name: str) -> Table:
        return self.base.table(name)

    def nodes(self) -> Ints:
        return self.base.nodes()

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        return self.base.nodes_of(terms)

    def terms_of(self, nodes: Ints) -> list[str]:
        return self.base.terms_of(nodes)

    def literals_of(self, literals: Ints) -> list[Literal]:
        return self.base.literals_of(literals)

    def are_strings(self, literals: Ints) -> Bools:
        return self.base.are_strings(literals)

    def complex_of(self, rows: Columns) -> list[Assertion]:
        return self.base.complex_of(rows)

    def class_counts(self) -> Ints:
        return self.base.class_counts()


@dataclass(frozen=True, eq=False)
class LessBase(OverBase):
    """A base after deletions: ``base`` less the ``removed`` rows of each table, all of which it
    has.
    """

    removed: dict[str, Columns]

    def __len__(self) -> int:
        removed = {name: len(rows["node"]) for name, rows in self.removed.items()}
        halves = removed["half_edges"] + removed["pairs"]
        complex_ = len(unique(self.removed["complex"]["ordinal"]))
        return (
            len(self.base)
            - removed["class_assertions"]
            - removed["data_assertions"]
            - halves // 2
            - complex_
        )

    @cached_property
    def _tables(self) -> dict[str, LessTable]:
        return {
            name: LessTable(self.base.table(name), ROW_COLUMNS[name], rows)
            for name, rows in self.removed.items()
        }

    def table(self, name: str) -> Table:
        found = self._tables[name]
        return found if len(found.removed["node"]) else found.table

    @cached_property
    def vanished(self) -> Ints:
        """The nodes that no assertion mentions any more."""
        touched = unique(np.concatenate([rows["node"] for rows in self.removed.values()]))
        left = [self.table(name).rows_of(touched)["node"] for name in ROW_COLUMNS]
        return without(touched, np.concatenate(left))

    def nodes(self) -> Ints:
        return without(self.base.nodes(), self.vanished)

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        found = self.base.nodes_of(terms)
        return np.where(is_in(found, self.vanished), -1, found)

    def class_counts(self) -> Ints:
        gone = self.removed["class_assertions"]["class"]
        return self.base.class_counts() - np.bincount(gone, minlength=len(self.names.classes))

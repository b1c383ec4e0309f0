"""Tables of the assertions of A, with dictionaries: in memory, in a store, or either with unwritten
changes on top.

Individuals are *nodes* (integers). A batch numbers its fresh individuals, literals and complex
assertions from `FRESH` on, so that old and new ones share columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from shiq.abox_ops.labels.label_numbers import Bools
from shiq.columns.arrays import (
    NONE,
    ArrayTable,
    Columns,
    Ints,
    OverlayTable,
    Table,
    array_table,
    distinct_with_inverse,
    is_in,
    overlay_changes,
    set_difference,
    unique,
)
from shiq.columns.rows import (
    ROW_COLUMNS,
    NameNumbering,
    abox_rows,
    are_string_columns,
    are_strings,
    assertion_count,
    complex_rows,
    individual_positions,
    used_individuals,
)
from shiq.model import Assertion, Literal, TBox
from shiq.model.abox import ABox, Interner
from shiq.model.as_json import decode

V = TypeVar("V")

FRESH = 1 << 48
#: Nodes and literals of what is laid over a base are numbered from here on: above those of a base,
#: below those of a batch.
LAID = FRESH >> 1


class Base(Protocol):
    """The assertions of A as sorted tables, by node."""

    @property
    def names(self) -> NameNumbering:
        """Dictionaries of class and property names."""

    def __len__(self) -> int:
        """Number of assertions."""

    def table(self, name: str) -> Table:
        """The table of this name, one of `shiq.columns.rows.ROW_COLUMNS`."""

    def nodes(self) -> Ints:
        """The ids of all individuals (nodes) of A, ascending."""

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""

    def literals_of(self, literals: Ints) -> list[Literal]:
        """The literal with each of these ids."""

    def are_strings(self, literals: Ints) -> Bools:
        """Decide whether each literal, given by id, is a legal string."""

    def complex_of(self, rows: Columns) -> list[Assertion]:
        """The assertion of each row of the table ``complex``."""

    def class_counts(self) -> Ints:
        """Number of class assertions by class id."""


# --- in memory ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayBase:
    """An `ABox` as sorted arrays: a base in memory, or a batch with the ids of a base.

    first: the number of the first of ``terms``, ``literals`` and ``complex``: 0, or `FRESH` for a
        batch, whose rows have the lower numbers of the base too.
    """

    names: NameNumbering
    terms: list[str]
    literals: list[Literal]
    complex: tuple[Assertion, ...]
    tables: dict[str, ArrayTable]
    first: int = 0

    def __len__(self) -> int:
        return assertion_count({name: table.columns for name, table in self.tables.items()})

    def table(self, name: str) -> Table:
        """The table of this name, one of `shiq.columns.rows.ROW_COLUMNS`."""
        return self.tables[name]

    def nodes(self) -> Ints:
        """The ids of all individuals (nodes), ascending."""
        return self.first + np.arange(len(self.terms), dtype=np.int64)

    @cached_property
    def _node_by_term(self) -> dict[str, int]:
        """The node of each individual, by name."""
        return {term: i for i, term in enumerate(self.terms, self.first)}

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""
        ids = self._node_by_term
        return np.fromiter((ids.get(term, -1) for term in terms), np.int64, len(terms))

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""
        terms = self.terms
        return [terms[i] for i in (nodes - self.first).tolist()]

    def literals_of(self, literals: Ints) -> list[Literal]:
        """The literal with each of these ids."""
        values = self.literals
        return [values[i] for i in (literals - self.first).tolist()]

    def are_strings(self, literals: Ints) -> Bools:
        """Decide whether each literal, given by id, is a legal string."""
        return are_strings(self.literals_of(literals))

    def complex_of(self, rows: Columns) -> list[Assertion]:
        """The assertion of each row of the table ``complex``."""
        return [self.complex[i] for i in (rows["ordinal"] - self.first).tolist()]

    def class_counts(self) -> Ints:
        """Number of class assertions by class id."""
        return np.bincount(
            self.tables["class_assertions"].columns["class"], minlength=len(self.names.classes)
        )


def array_base(abox: ABox, order: Ints | None = None) -> ArrayBase:
    """Convert ``abox`` to sorted tables. ``order``: positions of the mentioned individuals, in the
    order of their node ids.
    """
    order = used_individuals(abox) if order is None else order
    return encode_abox(abox, order, np.arange(len(order)))


def encode_abox(
    abox: ABox, order: Ints, nodes: Ints, first: int = 0, names: NameNumbering | None = None
) -> ArrayBase:
    """Encode ``abox`` as tables, in which the individuals at the positions ``order`` are ``nodes``.

    first: the nodes from this number on are its own, and its literals and complex assertions are
        numbered from there on.
    names: dictionaries to which its class and property names are added; None: its own.
    """
    node = np.full(len(abox.individuals), -1, np.int64)
    node[order] = nodes
    rows = abox_rows(abox, node, first + np.arange(len(abox.literals), dtype=np.int64))
    if names is None:
        names = NameNumbering(
            Interner(abox.classes), Interner(abox.object_properties), Interner(abox.data_properties)
        )
    else:
        _renumber_names(rows, abox, names)
    complex_ = tuple(dict.fromkeys(abox.complex))
    rows["complex"] = complex_rows(
        complex_, {term: int(node[i]) for term, i in individual_positions(abox).items()}, first
    )
    return ArrayBase(
        names,
        [abox.individuals[i] for i in order[nodes >= first].tolist()],
        list(abox.literals),
        complex_,
        {name: array_table("node", columns) for name, columns in rows.items()},
        first,
    )


def _renumber_names(rows: dict[str, Columns], abox: ABox, names: NameNumbering) -> None:
    """Replace the ids of classes and properties in ``rows`` by those in ``names``, in place."""
    classes = np.array([names.classes.intern(name) for name in abox.classes], np.int64)
    roles = np.array(
        [names.object_properties.intern(name) for name in abox.object_properties], np.int64
    )
    properties = np.array(
        [names.data_properties.intern(name) for name in abox.data_properties], np.int64
    )
    rows["class_assertions"]["class"] = classes[rows["class_assertions"]["class"]]
    role = rows["half_edges"]["role"]
    rows["half_edges"]["role"] = roles[role // 2] * 2 + role % 2
    rows["data_assertions"]["property"] = properties[rows["data_assertions"]["property"]]


# --- in a store -----------------------------------------------------------------------------------


class StoredTable(Table, Protocol):
    """A table of a store."""

    def all(self) -> Columns:
        """Read every row, sorted by key."""


class StoredSnapshot(Protocol):
    """Protocol of a store's snapshot: its TBox, tables by name, dictionaries, and the document of
    its index.
    """

    @property
    def tbox(self) -> TBox:
        """The TBox of the snapshot."""

    @property
    def classes(self) -> list[str]:
        """Class names, by id."""

    @property
    def object_properties(self) -> list[str]:
        """Names of object properties, by id."""

    @property
    def data_properties(self) -> list[str]:
        """Names of data properties, by id."""

    @property
    def index_document(self) -> dict[str, Any]:
        """JSON document with the part of the index that is not in tables."""

    @property
    def is_completed(self) -> bool:
        """Whether the store holds a certified model."""

    @property
    def class_counts(self) -> Ints:
        """Number of class assertions by class id."""

    def __len__(self) -> int: ...
    def table(self, name: str) -> StoredTable:
        """The table of this name."""

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""

    def literals_of(self, literals: Ints) -> list[Literal]:
        """The literal with each of these ids."""

    def export(self) -> Iterator[Assertion]:
        """Iterate over all assertions."""


@dataclass(frozen=True, eq=False)
class StoreBase:
    """A snapshot of a store, as a base."""

    store: StoredSnapshot

    @cached_property
    def names(self) -> NameNumbering:
        """Dictionaries of class and property names."""
        store = self.store
        return NameNumbering(
            Interner(store.classes),
            Interner(store.object_properties),
            Interner(store.data_properties),
        )

    def __len__(self) -> int:
        return len(self.store)

    def table(self, name: str) -> Table:
        """The table of this name, one of `shiq.columns.rows.ROW_COLUMNS`."""
        return self.store.table(name)

    def nodes(self) -> Ints:
        """The ids of all individuals (nodes), ascending."""
        return self.store.table("individuals").all()["node"]

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""
        return self.store.nodes_of(terms)

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""
        return self.store.terms_of(nodes)

    def literals_of(self, literals: Ints) -> list[Literal]:
        """The literal with each of these ids."""
        return self.store.literals_of(literals)

    def are_strings(self, literals: Ints) -> Bools:
        """Decide whether each literal, given by id, is a legal string."""
        found, which, _ = distinct_with_inverse(literals)
        rows = self.store.table("literals").rows_of(found)
        if len(rows["literal"]) != len(found):
            return are_strings(self.store.literals_of(literals))
        return are_string_columns(rows["lexical"], rows["datatype"], rows["language"])[which]

    def complex_of(self, rows: Columns) -> list[Assertion]:
        """The assertion of each row of the table ``complex``."""
        return [decode(json.loads(value)) for value in rows["value"].to_pylist()]

    def class_counts(self) -> Ints:
        """Number of class assertions by class id."""
        return self.store.class_counts


# --- under changes that are not written ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OverlayBase:
    """A base with unwritten changes on top: deletions, and accepted insertions, none of them
    complex.

    names: dictionaries of classes and properties.
    terms, literals: those that `base` lacks; their numbers count from `LAID` on.
    tables: one for each of `ROW_COLUMNS`.
    vanished_nodes: the nodes that no assertion mentions any more.
    """

    base: Base
    names: NameNumbering
    terms: list[str]
    literals: list[Literal]
    tables: dict[str, OverlayTable]
    vanished_nodes: Ints

    @property
    def next_node(self) -> int:
        """The first free node id for individuals of a further overlay."""
        return LAID + len(self.terms)

    @property
    def removed_rows(self) -> dict[str, Columns]:
        """The rows of the underlying base that this overlay deletes, by table."""
        return {name: dict(table.removed_rows.columns) for name, table in self.tables.items()}

    def __len__(self) -> int:
        added = {name: table.added_rows.columns for name, table in self.tables.items()}
        return len(self.base) + assertion_count(added) - assertion_count(self.removed_rows)

    def table(self, name: str) -> Table:
        """The table of this name, as the overlay changes it."""
        found = self.tables[name]
        return found if len(found.added_rows) or len(found.removed_rows) else found.table

    def nodes(self) -> Ints:
        """The ids of all individuals (nodes), ascending."""
        new = [table.added_rows.columns["node"] for table in self.tables.values()]
        return set_difference(np.concatenate([self.base.nodes(), *new]), self.vanished_nodes)

    @cached_property
    def _added_nodes(self) -> dict[str, int]:
        """The nodes of individuals that only the overlay mentions, by name."""
        # A term comes again with another number after its first one has vanished.
        numbers = enumerate(self.terms, LAID)
        gone = set(self.vanished_nodes.tolist())
        return {term: node for node, term in numbers if node not in gone}

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""
        found = self.base.nodes_of(terms)
        found[is_in(found, self.vanished_nodes)] = -1
        for i in (found < 0).nonzero()[0].tolist():
            found[i] = self._added_nodes.get(terms[i], -1)
        return found

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""
        return lookup_values(nodes, self.base.terms_of, self.terms, LAID)

    def literals_of(self, literals: Ints) -> list[Literal]:
        """The literal with each of these ids."""
        return lookup_values(literals, self.base.literals_of, self.literals, LAID)

    def are_strings(self, literals: Ints) -> Bools:
        """Decide whether each literal, given by id, is a legal string."""
        return are_strings_at(literals, self.base.are_strings, self.literals, LAID)

    def complex_of(self, rows: Columns) -> list[Assertion]:
        """The assertion of each row of the table ``complex``."""
        return self.base.complex_of(rows)

    def class_counts(self) -> Ints:
        """Number of class assertions by class id."""
        table, count = self.tables["class_assertions"], len(self.names.classes)
        more, fewer = (
            np.bincount(rows.columns["class"], minlength=count)
            for rows in (table.added_rows, table.removed_rows)
        )
        counts = self.base.class_counts()
        more[: len(counts)] += counts
        return more - fewer


def as_overlay(base: Base) -> OverlayBase:
    """View ``base`` as an overlay without changes, unless it is one already."""
    if isinstance(base, OverlayBase):
        return base
    nothing = {name: dict.fromkeys(columns, NONE) for name, columns in ROW_COLUMNS.items()}
    tables = {name: overlay_changes(base.table(name), rows, rows) for name, rows in nothing.items()}
    return OverlayBase(base, base.names, [], [], tables, NONE)


def remove_rows(base: Base, removed: dict[str, Columns]) -> OverlayBase:
    """Lay an overlay over ``base`` that deletes the ``removed`` rows of each table. The base must
    have all of them.
    """
    under = as_overlay(base)
    tables = {
        name: overlay_changes(table, dict.fromkeys(ROW_COLUMNS[name], NONE), removed[name])
        for name, table in under.tables.items()
    }
    touched = unique(np.concatenate([rows["node"] for rows in removed.values()]))
    left = [table.rows_of(touched)["node"] for table in tables.values()]
    vanished = np.append(under.vanished_nodes, set_difference(touched, np.concatenate(left)))
    return replace(under, tables=tables, vanished_nodes=vanished)


def lookup_values(
    ids: Ints, old: Callable[[Ints], list[V]], new: Sequence[V], first: int = FRESH
) -> list[V]:
    """Look up values by id: in ``old`` for ids below ``first``, in ``new`` for the others."""
    is_new = ids >= first
    if not is_new.any():
        return old(ids) if len(ids) else []
    own = [new[i] for i in (ids[is_new] - first).tolist()]
    if len(own) == len(ids):
        return own
    found = np.empty(len(ids), object)
    found[is_new] = _object_array(own)
    found[~is_new] = _object_array(old(ids[~is_new]))
    return list(found)


def are_strings_at(
    literals: Ints, old: Callable[[Ints], Bools], new: Sequence[Literal], first: int = FRESH
) -> Bools:
    """Decide whether each literal, given by id, is a legal string: by ``old`` for ids below
    ``first``, in ``new`` for the others.

    See `shiq.columns.rows`.
    """
    is_new = literals >= first
    found = np.zeros(len(literals), np.bool_)
    found[is_new] = are_strings([new[i] for i in (literals[is_new] - first).tolist()])
    if not is_new.all():
        found[~is_new] = old(literals[~is_new])
    return found


def _object_array(values: Sequence[object]) -> Any:
    """Copy ``values`` to a numpy array of Python objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found

"""View of a base and a batch together: A ∪ A⁺, after the deletions, as one set of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.base import (
    FRESH,
    ArrayBase,
    Base,
    are_strings_at,
    encode_abox,
    lookup_values,
)
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.columns.arrays import (
    NONE,
    ArrayTable,
    Columns,
    Ints,
    insertion_points,
    is_row_in,
    unique,
)
from shiq.columns.rows import (
    ROW_COLUMNS,
    SAME,
    NameNumbering,
    assertion_count,
    literal_key,
    used_individuals,
)
from shiq.model.abox import ABox


def encode_batch(base: Base, abox: ABox, names: NameNumbering) -> ArrayBase:
    """Encode ``abox`` as tables with the ids of ``base``; new class and property names are added to
    ``names``.
    """
    known = used_individuals(abox)
    found = base.nodes_of([abox.individuals[i] for i in known.tolist()])
    is_fresh = found < 0
    found[is_fresh] = FRESH + np.arange(int(is_fresh.sum()))
    return encode_abox(abox, known, found, FRESH, names)


def split_known_rows(base: Base, batch: ArrayBase) -> tuple[dict[str, Columns], dict[str, Columns]]:
    """Split the rows of ``batch``, by table, into those that ``base`` has already (with its ids,
    each once) and the new ones.
    """
    has: dict[str, Columns] = {}
    lacks: dict[str, Columns] = {}
    for name, table in batch.tables.items():
        rows = dict(table.columns)
        if not len(table):
            has[name] = lacks[name] = rows
            continue
        if name == "half_edges":
            held = _are_edges_in_base(base, rows)
            has[name], lacks[name] = (
                {c: column[chosen] for c, column in rows.items()} for chosen in (held, ~held)
            )
            continue
        theirs = base.table(name).rows_of(rows["node"])
        if name == "data_assertions":
            rows["literal"] = _base_literals(base, batch, rows, theirs)
        elif name == "complex":
            rows["ordinal"] = _base_ordinals(base, batch, rows, theirs)
        columns = ROW_COLUMNS[name]
        held = is_row_in([rows[c] for c in columns], [theirs[c] for c in columns])
        has[name] = {c: column[held] for c, column in rows.items()}
        lacks[name] = {c: column[~held] for c, column in rows.items()}
    return has, lacks


def _are_edges_in_base(base: Base, rows: Columns) -> Bools:
    """Decide whether ``base`` has each half edge.

    A role assertion is looked up from the end with fewer of them, so hubs are not read.
    """
    node, role, neighbour = (rows[c] for c in ROW_COLUMNS["half_edges"])
    table = base.table("half_edges")
    nodes = unique(node)
    known = np.where(nodes < FRESH, nodes, -1)
    degree = np.zeros(len(nodes), np.int64)
    degree[known >= 0] = table.degrees(known[known >= 0])
    mine, other = (degree[insertion_points(nodes, end)] for end in (node, neighbour))
    forward = role % 2 == 0
    chosen = ((mine < other) | (mine == other) & forward).nonzero()[0]
    theirs = table.rows_of(node[chosen])
    columns = ROW_COLUMNS["half_edges"]
    held = chosen[is_row_in([rows[c][chosen] for c in columns], [theirs[c] for c in columns])]
    ends = np.where(forward, node, neighbour), role // 2, np.where(forward, neighbour, node)
    return is_row_in(ends, [end[held] for end in ends])


def _base_literals(base: Base, batch: ArrayBase, rows: Columns, base_rows: Columns) -> Ints:
    """Replace literal ids in ``rows`` by those of the base where it asserts the same value of the
    same node and property.
    """
    keys = ("node", "property")
    candidates = is_row_in([base_rows[k] for k in keys], [rows[k] for k in keys]).nonzero()[0]
    if len(candidates) and "hash" in base_rows:
        position = rows["literal"] - FRESH
        used = unique(
            position[is_row_in([rows[k] for k in keys], [base_rows[k][candidates] for k in keys])]
        )
        hashes = np.zeros(len(batch.literals), np.int64)
        hashes[used] = literal_key(batch.literals[i] for i in used.tolist())
        near = is_row_in(
            [base_rows[k][candidates] for k in (*keys, "hash")],
            [rows["node"], rows["property"], hashes[position]],
        )
        candidates = candidates[near]
    ours: Ints = rows["literal"]
    if not len(candidates):
        return ours
    values = base.literals_of(base_rows["literal"][candidates])
    known = {
        (node, property_, value): literal
        for node, property_, literal, value in zip(
            *(base_rows[c][candidates].tolist() for c in (*keys, "literal")), values
        )
    }
    literals = batch.literals
    return np.fromiter(
        (
            known.get((node, property_, literals[literal - FRESH]), literal)
            for node, property_, literal in zip(*(rows[c].tolist() for c in (*keys, "literal")))
        ),
        np.int64,
        len(ours),
    )


def _base_ordinals(base: Base, batch: ArrayBase, rows: Columns, base_rows: Columns) -> Ints:
    """Replace the ordinals of complex assertions in ``rows`` by those of the base, where it has the
    same assertion.
    """
    known = dict(zip(base.complex_of(base_rows), base_rows["ordinal"].tolist()))
    ours = (
        known.get(batch.complex[ordinal - FRESH], ordinal) for ordinal in rows["ordinal"].tolist()
    )
    return np.fromiter(ours, np.int64, len(rows["ordinal"]))


@dataclass(frozen=True, eq=False)
class UnionView:
    """View of A ∪ A⁺ as one base: the tables of the base with the batch's insertions.

    inserted_tables: the rows of ``batch`` that ``base`` does not have, by table.
    """

    base: Base
    batch: ArrayBase
    inserted_tables: dict[str, ArrayTable]

    @property
    def names(self) -> NameNumbering:
        """Dictionaries of class and property names."""
        return self.batch.names

    @property
    def insertion_count(self) -> int:
        r"""Number of insertions that A does not have: |A⁺ \ A|."""
        return assertion_count(
            {name: table.columns for name, table in self.inserted_tables.items()}
        )

    def has_rows(self, table: str) -> bool:
        """Decide whether a table has any row."""
        return bool(len(self.inserted_tables[table]) or len(self.base.table(table)))

    def rows_of(
        self, table: str, nodes: Ints, *, with_old: bool = True, with_inserted: bool = True
    ) -> Columns:
        """The rows of ``nodes`` in a table other than ``complex``, with a column ``inserted``."""
        columns = ROW_COLUMNS[table]
        theirs = self.base.table(table)
        old = theirs.rows_of(nodes[nodes < FRESH]) if with_old and len(theirs) else {}
        new = (
            self.inserted_tables[table].rows_of(nodes)
            if with_inserted and len(self.inserted_tables[table])
            else {}
        )
        return {
            **{
                c: np.concatenate([part[c] for part in (old, new) if part] or [nodes[:0]])
                for c in columns
            },
            "inserted": np.repeat(
                [False, True], [len(part["node"]) if part else 0 for part in (old, new)]
            ),
        }

    def complex_of(self, nodes: Ints) -> list[tuple[int, owl.Assertion, bool]]:
        """List (node, assertion, is inserted) for each complex assertion of ``nodes``."""
        found: list[tuple[int, owl.Assertion, bool]] = []
        theirs = self.base.table("complex")
        if len(theirs):
            rows = theirs.rows_of(nodes[nodes < FRESH])
            found += (
                (node, a, False)
                for node, a in zip(rows["node"].tolist(), self.base.complex_of(rows))
            )
        if len(self.inserted_tables["complex"]):
            rows = self.inserted_tables["complex"].rows_of(nodes)
            found += (
                (node, a, True)
                for node, a in zip(rows["node"].tolist(), self.batch.complex_of(rows))
            )
        return found

    def complex_insertions(self) -> list[owl.Assertion]:
        """The inserted complex assertions."""
        ordinals = unique(self.inserted_tables["complex"].columns["ordinal"])
        return self.batch.complex_of({"ordinal": ordinals})

    def sample_insertions(self, max_count: int) -> Iterator[owl.Assertion]:
        """Yield at most ``max_count`` inserted assertions of each kind."""
        rows = {
            name: {c: column[:max_count] for c, column in table.columns.items()}
            for name, table in self.inserted_tables.items()
        }
        names, text = self.names, self.terms_of
        types = rows["class_assertions"]
        for individual, cls in zip(text(types["node"]), types["class"].tolist()):
            yield owl.ClassAssertion(owl.Class(names.classes.values[cls]), individual)
        data = rows["data_assertions"]
        for individual, property_, literal in zip(
            text(data["node"]), data["property"].tolist(), self.literals_of(data["literal"])
        ):
            yield owl.DataPropertyAssertion(
                owl.DataProperty(names.data_properties.values[property_]), individual, literal
            )
        edges = self._forward_rows("half_edges", "role", max_count)
        for subject, role, value in zip(
            text(edges["node"]), edges["role"].tolist(), text(edges["neighbour"])
        ):
            yield owl.ObjectPropertyAssertion(
                owl.ObjectProperty(names.object_properties.values[role // 2]), subject, value
            )
        pairs = self._forward_rows("pairs", "kind", max_count)
        for subject, kind, value in zip(
            text(pairs["node"]), pairs["kind"].tolist(), text(pairs["neighbour"])
        ):
            yield (owl.SameIndividual if kind == SAME else owl.DifferentIndividuals)(subject, value)
        yield from self.complex_insertions()[:max_count]

    def _forward_rows(self, table: str, column: str, max_count: int) -> Columns:
        """Read at most ``max_count`` role assertions of a table, as written from the subject."""
        columns = self.inserted_tables[table].columns
        chosen = (columns[column] % 2 == 0).nonzero()[0][:max_count]
        return {name: values[chosen] for name, values in columns.items()}

    def nodes(self) -> Ints:
        """Every node of A ∪ A⁺."""
        new = [table.columns["node"] for table in self.inserted_tables.values()]
        return unique(np.concatenate([self.base.nodes(), *new]))

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        """The node of each individual; -1 where no assertion mentions it."""
        found = self.base.nodes_of(terms) if terms else NONE
        lacked = (found < 0).nonzero()[0]
        found[lacked] = self.batch.nodes_of([terms[i] for i in lacked.tolist()])
        return found

    def terms_of(self, nodes: Ints) -> list[str]:
        """The name (IRI or blank node) of each node."""
        return lookup_values(nodes, self.base.terms_of, self.batch.terms)

    def literals_of(self, literals: Ints) -> list[owl.Literal]:
        """The literal with each of these ids."""
        return lookup_values(literals, self.base.literals_of, self.batch.literals)

    def are_strings(self, literals: Ints) -> Bools:
        """Decide whether each literal, given by id, is a legal string."""
        return are_strings_at(literals, self.base.are_strings, self.batch.literals)

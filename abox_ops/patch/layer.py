"""A ∪ A⁺ as a base beside that of A, when a patch has accepted A⁺: nothing is written, nothing
of A is copied.

What a commit would write as the next snapshot (`jobs.store.snapshot_delta`, THEORY, "N in a
store, and its renewal") is laid over the tables of A: the rows of A⁺, told⁺, equalities, and N
renewed from the patch. Layers stack: each numbers what is new to it above what those below it
brought. Literals that told⁺ would send to elements which the patch did not look at are not among
the told ones; N has them. So it serves for checks under the criterion `model` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from abox_ops.elements.base import FRESH, Base, OverBase, StoreBase
from abox_ops.elements.partition import OverlaidPartition, StoredPartition, of_several
from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import Index, PatchedLabels
from abox_ops.labels.numbered import Bools
from abox_ops.patch.columns import Patch
from abox_ops.patch.outside_columns import OutsideCompletion
from abox_ops.patch.renewal import ElementRenames, renewed
from shiq.columns.arrays import (
    ArrayTable,
    Columns,
    Ints,
    Table,
    array_table,
    contained,
    is_in,
    least_by,
    unique,
)
from shiq.columns.rows import NODES, ROW_COLUMNS, Names
from shiq.model import Literal

#: Nodes and literals of what is laid over a base are numbered from here on: above those of a base,
#: below those of a batch.
LAID = FRESH >> 1


@dataclass(frozen=True, eq=False)
class LaidTable:
    """``table``, which has no keys from ``first`` on, less the ``removed`` rows, with those of
    ``added``, in the columns of ``added``.
    """

    table: Table
    added: ArrayTable
    removed: Columns
    first: int = LAID

    @property
    def key(self) -> str:
        return self.added.key

    def __len__(self) -> int:
        return len(self.table) + len(self.added) - len(self.removed[self.key])

    def rows_of(self, keys: Ints) -> Columns:
        mine = self.added.rows_of(keys)
        old = keys[keys < self.first]
        if not len(self.table) or not len(old):
            return mine
        theirs = self._left(self.table.rows_of(old))
        if not len(mine[self.key]):
            return theirs
        rows = {name: np.concatenate([theirs[name], mine[name]]) for name in mine}
        order = rows[self.key].argsort(kind="stable")
        return {name: column[order] for name, column in rows.items()}

    def degrees(self, keys: Ints) -> Ints:
        found = self.added.degrees(keys)
        old = (keys < self.first).nonzero()[0]
        if len(self.table):
            found[old] += self.table.degrees(keys[old])
        return found

    def scan(self) -> Iterator[Columns]:
        yield from map(self._left, self.table.scan())
        yield from self.added.scan()

    def _left(self, rows: Columns) -> Columns:
        names = list(self.added.columns)
        gone = contained([rows[name] for name in names], [self.removed[name] for name in names])
        return {name: np.asarray(rows[name])[~gone] for name in names}


@dataclass(frozen=True, eq=False)
class LaidBase(OverBase):
    """``base`` with the rows that ``whole`` brings to it, none of them complex, as one base."""

    whole: UnionView

    @cached_property
    def first_node(self) -> int:
        """The number of the first fresh individual that is laid here."""
        return self.base.next_node if isinstance(self.base, LaidBase) else LAID

    @cached_property
    def first_literal(self) -> int:
        """The number of the first literal that is laid here."""
        return self.base.next_literal if isinstance(self.base, LaidBase) else LAID

    @property
    def next_node(self) -> int:
        """The number of the first fresh individual of what is laid on top."""
        return self.first_node + len(self.whole.batch.terms)

    @property
    def next_literal(self) -> int:
        """The number of the first literal of what is laid on top."""
        return self.first_literal + len(self.whole.batch.literals)

    @property
    def names(self) -> Names:
        return self.whole.names

    def __len__(self) -> int:
        return len(self.base) + self.whole.insertions

    @cached_property
    def _tables(self) -> dict[str, Table]:
        found: dict[str, Table] = {"complex": self.base.table("complex")}
        for name in ROW_COLUMNS.keys() - found.keys():
            columns = self.whole.inserted[name].columns
            firsts = dict.fromkeys(NODES, self.first_node) | {"literal": self.first_literal}
            rows = {
                c: laid(columns[c], firsts[c]) if c in firsts else columns[c]
                for c in ROW_COLUMNS[name]
            }
            nothing = {c: column[:0] for c, column in rows.items()}
            found[name] = LaidTable(
                self.base.table(name), array_table("node", rows), nothing, self.first_node
            )
        return found

    def table(self, name: str) -> Table:
        return self._tables[name]

    def nodes(self) -> Ints:
        return unique(laid(self.whole.nodes(), self.first_node))

    @cached_property
    def _fresh(self) -> dict[str, int]:
        return {term: self.first_node + i for i, term in enumerate(self.whole.batch.terms)}

    def nodes_of(self, terms: Sequence[str]) -> Ints:
        found = self.base.nodes_of(terms)
        for i in (found < 0).nonzero()[0].tolist():
            found[i] = self._fresh.get(terms[i], -1)
        return found

    def terms_of(self, nodes: Ints) -> list[str]:
        return self.whole.terms_of(_of_batch(nodes, self.first_node))

    def literals_of(self, literals: Ints) -> list[Literal]:
        return self.whole.literals_of(_of_batch(literals, self.first_literal))

    def are_strings(self, literals: Ints) -> Bools:
        return self.whole.are_strings(_of_batch(literals, self.first_literal))

    def class_counts(self) -> Ints:
        more = np.bincount(
            self.whole.inserted["class_assertions"].columns["class"],
            minlength=len(self.names.classes),
        )
        counts = self.base.class_counts()
        more[: len(counts)] += counts
        return more


def laid(ids: Ints, first: int) -> Ints:
    """Numbers of a batch as those of a base that it is laid over, from ``first`` on; others as
    they are.
    """
    found: Ints = np.where(ids >= FRESH, ids - FRESH + first, ids)
    return found


def _of_batch(ids: Ints, first: int) -> Ints:
    found: Ints = np.where(ids >= first, ids - first + FRESH, ids)
    return found


def layer(
    index: Index, whole: UnionView, patch: Patch
) -> tuple[Base, Index, OutsideCompletion] | None:
    """(T, A ∪ A⁺) with its index and N, for ``whole`` = A ∪ A⁺ that ``patch`` has found
    consistent, over the ``index`` of A.

    None where that is no small change: A⁺ has complex assertions, brings axioms, or says of
    somebody that it is a ⊤ and no more; or A is less deletions, or without N.
    """
    calculus, graph, outside = patch.calculus, patch.graph, patch.outside
    # Numbers of labels that a store, or a layer, has are the same in each calculus.
    is_kept = isinstance(whole.base, StoreBase | LaidBase) and calculus.tbox is index.calculus.tbox
    over = index.labels.overrides
    plain = not len(whole.inserted["complex"]) and not len(index.detached)
    plain = plain and (isinstance(whole.base, LaidBase) or not len(over[0]))
    if not plain or not (calculus is index.calculus or is_kept) or not outside.is_guessed:
        return None
    base = LaidBase(whole.base, whole)
    first_node = base.first_node
    node, element = graph.member_node, graph.rep[graph.member_element]
    if not all(is_in(table.columns["node"], node).all() for table in whole.inserted.values()):
        return None
    name = least_by(element, laid(node, first_node), len(graph))
    reps, example = np.unique(element, return_index=True)
    old = (node < FRESH).nonzero()[0]
    key, first = np.unique(index.equal.of(node[old]), return_index=True)
    told, gone = graph.label[reps], key[~is_in(key, name[reps])]
    renewal = renewed(
        patch,
        calculus,
        ElementRenames(
            name[reps], told, node[example], key, name[element[old[first]]], gone, first_node
        ),
    )

    def table(which: str, key: str, before: Table) -> LaidTable:
        return LaidTable(
            before, array_table(key, renewal.added[which]), renewal.removed[which], first_node
        )

    def grouping(which: str, before: StoredPartition) -> StoredPartition:
        return StoredPartition(
            table(which, "member", before.by_member),
            table(f"{which}_members", "group", before.by_group),
        )

    completion = replace(
        outside,
        others=table("completed", "element", outside.others),
        classes=grouping("outside", outside.classes),
        modules=grouping("certified", outside.modules),
        known=calculus.table.labels.__getitem__,
    )
    mine = laid(node, first_node)
    equal = _over(index.equal.overrides, mine, *of_several(mine, name[element]))
    labels = _over(over, np.concatenate([gone, name[reps]]), name[reps], told)
    after = replace(
        index,
        calculus=calculus,
        equal=OverlaidPartition(index.equal.by_member, index.equal.by_group, *equal),
        labels=PatchedLabels(index.labels.table, *labels),
        stored_labels=len(calculus.table.labels),
    )
    return base, after, completion


def _over(before: tuple[Ints, Ints], known: Ints, keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    """The ``values`` of ``keys``, with those ``before`` of keys that are not ``known`` now; keys
    ascending.
    """
    stays = ~is_in(before[0], known)
    keys, values = (
        np.concatenate([before[0][stays], keys]),
        np.concatenate([before[1][stays], values]),
    )
    order = keys.argsort(kind="stable")
    return keys[order], values[order]

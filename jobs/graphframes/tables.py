"""A ∪ A⁺ (deletions already taken) as Spark tables: what a store has is read where it lies, a
batch comes from the driver.

Individuals are nodes (`abox_ops.elements.base`). Those that are asserted to be equal are one
element, named by its least node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import FRESH, ArrayBase, Base, LessTable, OverBase
from abox_ops.elements.union_view import Batch, UnionView
from jobs.graphframes.literals import NORMAL, WorkerRules, arrow_column
from jobs.graphframes.messages import GraphCalls
from jobs.graphframes.round_files import RoundFiles
from jobs.store.table import ParquetTable
from shiq.columns.arrays import NONE, Table, concatenate
from shiq.columns.rows import DIFFERENT, SAME
from shiq.model_json import encode

#: The parts of a literal, and all columns of the tables of a store that hold texts.
LITERAL = ("lexical", "datatype", "language")
_TEXTS = ("term", "value", *LITERAL)


def frame(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """A table of ``columns`` from the driver: arrays of numbers or flags, or lists of texts."""
    arrays = {
        name: pa.array(column, pa.string()) if isinstance(column, list) else pa.array(column)
        for name, column in columns.items()
    }
    return spark.createDataFrame(pa.table(arrays))


def rows_of(spark: SparkSession, table: Table, columns: Sequence[str]) -> DataFrame:
    """``columns`` of a table. The files of a store are read by Spark itself."""
    if isinstance(table, LessTable):
        removed = {name: table.removed[name] for name in table.columns}
        left = rows_of(spark, table.table, list(dict.fromkeys((*columns, *table.columns))))
        return left.join(
            F.broadcast(frame(spark, removed)), list(table.columns), "left_anti"
        ).select(*columns)
    if not isinstance(table, ParquetTable) or not table.version.files:
        parts = [{name: chunk[name] for name in columns} for chunk in table.scan()]
        return frame(spark, concatenate(parts, dict.fromkeys(columns, NONE)))
    identity = table.identity if table.version.removed else ()
    wanted = dict.fromkeys((*columns, *identity))
    read = [
        (table.paths(shared=False), "true"),
        (table.paths(shared=True), f"`table` = '{table.name}' AND NOT `removed`"),
    ]
    casts = [
        F.col(f"`{name}`").cast("string" if name in _TEXTS else "bigint").alias(name)
        for name in wanted
    ]
    frames = (
        spark.read.parquet(*paths).where(counts).select(*casts) for paths, counts in read if paths
    )
    rows = reduce(DataFrame.unionByName, frames)
    if identity:
        rows = rows.join(F.broadcast(frame(spark, table.removed)), list(identity), "left_anti")
    return rows.select(*columns)


@dataclass(frozen=True, eq=False)
class UnionTables:
    """The tables of ``whole``, read by ``rules``. ``inserted`` says of a row whether the batch
    brings it.
    """

    spark: SparkSession
    whole: UnionView
    rules: WorkerRules
    calls: GraphCalls
    files: RoundFiles

    def rows(self, table: str, *columns: str, with_old: bool = True) -> DataFrame:
        """``columns`` of a table of assertions, and ``inserted``; of the insertions alone, or
        ``with_old`` ones.
        """
        old, new = self.whole.base.table(table), self.whole.inserted[table]
        rows = frame(self.spark, {name: new.columns[name] for name in columns}).withColumn(
            "inserted", F.lit(True)
        )
        if not (with_old and len(old)):
            return rows
        return (
            rows_of(self.spark, old, columns).withColumn("inserted", F.lit(False)).unionByName(rows)
        )

    # --- elements ---------------------------------------------------------------------------------

    @cached_property
    def old_names(self) -> DataFrame | None:
        """(node, element) of the nodes that A alone makes one with another; None: there are none."""
        return self._components(
            self.rows("pairs", "node", "kind", "neighbour").filter("NOT inserted"),
            with_inserted=False,
        )

    @cached_property
    def names(self) -> DataFrame | None:
        """The same of A ∪ A⁺."""
        if not (self.whole.inserted["pairs"].columns["kind"] == SAME).any():
            return self.old_names
        return self._components(self.rows("pairs", "node", "kind", "neighbour"), with_inserted=True)

    def _components(self, pairs: DataFrame, *, with_inserted: bool) -> DataFrame | None:
        if not (with_inserted or len(self.whole.base.table("pairs"))):
            return None
        same = pairs.filter(F.col("kind") == SAME).select(
            F.col("node").alias("src"), F.col("neighbour").alias("dst")
        )
        edges = self.files.write(
            "now_equal" if with_inserted else "equal", same.filter("src != dst").distinct()
        )
        if edges.isEmpty():
            return None
        found = self.calls.components(edges, self.files).withColumnsRenamed(
            {"id": "node", "component": "element"}
        )
        return self.files.write("now_elements" if with_inserted else "elements", found)

    def named(self, rows: DataFrame, **columns: str) -> DataFrame:
        """``rows`` with a column for each of ``columns``: the element of A ∪ A⁺ of the node in
        the column that it names.
        """
        return _renamed(rows, self.names, columns)

    def old_named(self, rows: DataFrame, **columns: str) -> DataFrame:
        """The same with the elements of A alone."""
        return _renamed(rows, self.old_names, columns)

    def nodes_of(self, elements: DataFrame) -> DataFrame:
        """(node): the members of ``elements`` (id) of A ∪ A⁺."""
        alone = elements.select(F.col("id").alias("node"))
        if self.names is None:
            return alone
        return alone.union(
            self.names.join(elements.withColumnsRenamed({"id": "element"}), "element").select(
                "node"
            )
        ).distinct()

    @property
    def features(self) -> list[int]:
        """The numbers of the data properties that T or a negative assertion can see."""
        return [
            i for i, name in enumerate(self.rules.properties) if name in self.rules.rules.features
        ]

    # --- what assertions say ----------------------------------------------------------------------

    @cached_property
    def normal(self) -> DataFrame | None:
        """What complex and negative assertions come to: node, inserted, ordinal, value, and the
        fields of `literals.NORMAL`.
        """
        if not (len(self.whole.base.table("complex")) + len(self.whole.inserted["complex"])):
            return None
        values = self._texts("complex", "ordinal", "value").distinct()
        rows = (
            self.rows("complex", "node", "ordinal").join(values, "ordinal").join(self.terms, "node")
        )
        texts = arrow_column(self.rules.normal, F.col("value"), F.col("term"))
        return self.files.write("normal", rows.withColumn("plain", F.from_json(texts, NORMAL)))

    def _texts(self, table: str, *columns: str) -> DataFrame:
        """``columns`` of a table of texts, of A and of the batch."""
        base = _lowest(self.whole.base)
        new = frame(self.spark, _texts_of(table, FRESH, self.whole.batch))
        if isinstance(base, ArrayBase):
            return new.unionByName(frame(self.spark, _texts_of(table, 0, base)))
        return new.unionByName(rows_of(self.spark, base.table(table), columns))

    def plain(self, kind: str) -> DataFrame | None:
        """Those of `normal` of one kind, a row for each: node, inserted, and the fields."""
        if self.normal is None:
            return None
        return self.normal.select("node", "inserted", F.inline("plain")).filter(
            F.col("kind") == kind
        )

    def asserted(self) -> DataFrame:
        """(node, literal, inserted): what class assertions say."""
        known = [
            (i, literal)
            for i, literals in enumerate(self.rules.class_literals)
            for literal in literals
        ]
        classes, literals = (
            (np.array(column, np.int64) for column in zip(*known)) if known else (NONE, NONE)
        )
        meaning = F.broadcast(frame(self.spark, {"class": classes, "literal": literals}))
        found = (
            self.rows("class_assertions", "node", "class")
            .join(meaning, "class")
            .select("node", "literal", "inserted")
        )
        plain = self.plain("literal")
        return (
            found
            if plain is None
            else found.unionByName(plain.select("node", F.col("name").alias("literal"), "inserted"))
        )

    def values(self, rows: DataFrame) -> DataFrame:
        """Data assertions with the parts of their ``literal``: lexical, datatype, language."""
        return rows.join(self._texts("literals", "literal", *LITERAL), "literal")

    @cached_property
    def different(self) -> DataFrame | None:
        """(node, neighbour): those that are asserted to be different, as they are named."""
        if not (len(self.whole.base.table("pairs")) + len(self.whole.inserted["pairs"])):
            return None
        return (
            self.rows("pairs", "node", "kind", "neighbour")
            .filter(F.col("kind") == DIFFERENT)
            .select("node", "neighbour")
        )

    @cached_property
    def terms(self) -> DataFrame:
        """(node, term) of every individual."""
        return self._texts("individuals", "node", "term")

    @property
    def least_terms(self) -> DataFrame:
        """(id, node, term): the first of the terms of each element of A ∪ A⁺, and its node."""
        named = self.named(self.terms, id="node").groupBy("id")
        return named.agg(F.min_by("node", "term").alias("node"), F.min("term").alias("term"))


def union(*tables: DataFrame | None) -> DataFrame:
    """The rows of all ``tables`` that are there; a column that one lacks is null there."""
    there = [table for table in tables if table is not None]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), there)


def _texts_of(table: str, first: int, held: ArrayBase | Batch) -> dict[str, Any]:
    """The rows of a table of texts that ``held`` has, numbered from ``first``."""
    match table:
        case "individuals":
            number, columns = "node", {"term": held.terms}
        case "literals":
            number, columns = (
                "literal",
                {name: [getattr(value, name) for value in held.literals] for name in LITERAL},
            )
        case _:
            number, columns = (
                "ordinal",
                {"value": [json.dumps(encode(assertion)) for assertion in held.complex]},
            )
    return {number: first + np.arange(len(next(iter(columns.values()))), dtype=np.int64), **columns}


def _lowest(base: Base) -> Any:
    """The base below those that are laid over it."""
    while isinstance(base, OverBase):
        base = base.base
    return base if isinstance(base, ArrayBase) else base.store  # type: ignore[attr-defined]


def _renamed(rows: DataFrame, names: DataFrame | None, columns: Mapping[str, str]) -> DataFrame:
    for element, node in columns.items():
        if names is None:
            rows = rows.withColumn(element, F.col(node))
            continue
        other = names.select(F.col("node").alias(node), F.col("element").alias("_element"))
        rows = (
            rows.join(other, node, "left")
            .withColumn(element, F.coalesce("_element", node))
            .drop("_element")
        )
    return rows

"""A ∪ A⁺ (deletions already taken) as Spark tables: what a store has is read where it lies, a
batch comes from the driver.

Individuals are nodes (`abox_ops.elements.base`). Those that are asserted to be equal are one
element, named by its least node. A table of which nothing is there is filtered by false, so that
Spark leaves out whatever rests on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from jobs.spark.round_files import RoundFiles
from jobs.store.table import ParquetTable
from shiq.columns.arrays import NONE, Table, concatenate
from shiq.columns.rows import SAME
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
        rows = frame(self.spark, {name: new.columns[name] for name in columns})
        rows = rows.withColumn("inserted", F.lit(True)).filter(F.lit(len(new) > 0))
        if not with_old:
            return rows
        before = rows_of(self.spark, old, columns).withColumn("inserted", F.lit(False))
        return before.filter(F.lit(len(old) > 0)).unionByName(rows)

    # --- elements ---------------------------------------------------------------------------------

    @cached_property
    def old_names(self) -> DataFrame:
        """(node, element) of the nodes that A alone makes one with another."""
        return self._elements("old", self.pairs.filter("NOT inserted"))

    @cached_property
    def names(self) -> DataFrame:
        """The same of A ∪ A⁺."""
        brings = (self.whole.inserted["pairs"].columns["kind"] == SAME).any()
        return self._elements("new", self.pairs) if brings else self.old_names

    @property
    def pairs(self) -> DataFrame:
        """Equalities and inequalities: node, kind, neighbour, inserted."""
        return self.rows("pairs", "node", "kind", "neighbour")

    def _elements(self, name: str, pairs: DataFrame) -> DataFrame:
        same = pairs.filter(f"kind = {SAME} AND node <> neighbour").select("node", "neighbour")
        if same.isEmpty():
            return same.toDF("node", "element").filter("false")
        edges = self.files.write(f"equal_{name}", same.toDF("src", "dst").distinct())
        found = self.calls.components(edges, self.files).toDF("node", "element")
        return self.files.write(f"elements_{name}", found)

    @cached_property
    def first_names(self) -> DataFrame:
        """(element, node): the one of the first term, of the elements of several individuals."""
        members = self.names.join(self.terms, "node").groupBy("element")
        return members.agg(F.min_by("node", "term").alias("node"))

    @property
    def features(self) -> list[int]:
        """The numbers of the data properties that T or a negative assertion can see."""
        features = self.rules.rules.features
        return [i for i, name in enumerate(self.rules.properties) if name in features]

    # --- what assertions say ----------------------------------------------------------------------

    @cached_property
    def terms(self) -> DataFrame:
        """(node, term) of every individual."""
        return self._texts("individuals", "node", lambda of: {"term": of.terms})

    @property
    def literals(self) -> DataFrame:
        """(literal, its parts) of every literal."""
        return self._texts(
            "literals",
            "literal",
            lambda of: {name: [getattr(value, name) for value in of.literals] for name in LITERAL},
        )

    @cached_property
    def complex(self) -> DataFrame:
        """What complex and negative assertions come to: node, inserted, value, and the fields of
        `literals.NORMAL`, with a node for ``other``.
        """
        values = self._texts(
            "complex", "ordinal", lambda of: {"value": [json.dumps(encode(a)) for a in of.complex]}
        )
        rows = self.rows("complex", "node", "ordinal").join(values.distinct(), "ordinal")
        texts = arrow_column(self.rules.normal, F.col("value"), F.col("term"))
        rows = rows.join(self.terms, "node").withColumn("normal", F.from_json(texts, NORMAL))
        rows = rows.select("node", "inserted", "value", F.inline("normal"))
        others = self.terms.toDF("_other", "other")
        found = (
            rows.join(others, "other", "left").drop("other").withColumnRenamed("_other", "other")
        )
        is_there = len(self.whole.base.table("complex")) + len(self.whole.inserted["complex"])
        return self.files.write("complex", found) if is_there else found

    def asserted(self) -> DataFrame:
        """(node, literal, inserted): what class assertions say."""
        known = [(i, x) for i, literals in enumerate(self.rules.class_literals) for x in literals]
        columns = np.array(known, np.int64).reshape(-1, 2).T
        meaning = F.broadcast(frame(self.spark, dict(zip(("class", "literal"), columns))))
        classes = self.rows("class_assertions", "node", "class").join(meaning, "class")
        normal = self.complex.filter("kind = 'literal'").withColumnRenamed("name", "literal")
        columns_ = ("node", "literal", "inserted")
        return classes.select(*columns_).unionByName(normal.select(*columns_))

    def _texts(
        self, table: str, number: str, texts: Callable[[ArrayBase | Batch], dict[str, list[str]]]
    ) -> DataFrame:
        """A table of texts of A and of the batch, by their ``number``."""
        base: Base = self.whole.base
        while isinstance(base, OverBase):
            base = base.base
        here = [(FRESH, texts(self.whole.batch))]
        here += [(0, texts(base))] if isinstance(base, ArrayBase) else []
        found = []
        for first, columns in here:
            numbers = first + np.arange(len(next(iter(columns.values()))), dtype=np.int64)
            found.append(frame(self.spark, {number: numbers, **columns}))
        if not isinstance(base, ArrayBase):
            names = (number, *here[0][1])
            found.append(rows_of(self.spark, base.store.table(table), names))  # type: ignore[attr-defined]
        return union(*found)


def union(*tables: DataFrame) -> DataFrame:
    """The rows of all ``tables``; a column that one lacks is null there."""
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tables)


def renamed(rows: DataFrame, names: DataFrame, **columns: str) -> DataFrame:
    """``rows`` with a column for each of ``columns``: what ``names`` (before, after) have for the
    column that it says, or else that itself.
    """
    for after, before in columns.items():
        rows = rows.join(names.toDF(before, "_after"), before, "left")
        rows = rows.withColumn(after, F.coalesce("_after", before)).drop("_after")
    return rows

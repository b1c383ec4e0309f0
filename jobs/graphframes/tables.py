"""Read base and batch (deletions already taken) as Spark tables; stores are read in place.

Individuals are nodes (`shiq.abox_ops.elements.base`). Individuals asserted equal are one element,
named by its least node.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from shiq import model as owl
from shiq.abox_ops.elements.base import ArrayBase, Base, OverlayBase, StoreBase
from shiq.abox_ops.elements.union_view import UnionView
from shiq.columns.arrays import NONE, OverlayTable, Table, concatenate
from shiq.columns.rows import SAME
from shiq.jobs.graphframes.literals import NORMAL, WorkerRules, arrow_column, parse_label
from shiq.jobs.graphframes.messages import GraphCalls, look_up
from shiq.jobs.spark.session import TemporaryTables
from shiq.jobs.store.table import ParquetTable
from shiq.model.as_json import decode, encode
from shiq.model.clause_axioms import module_assertions
from shiq.reasoner.protocol import Module

#: The parts of a literal.
LITERAL_COLUMNS = ("lexical", "datatype", "language")


def driver_frame(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """Make a DataFrame of ``columns`` that the driver holds: arrays of numbers or flags, or lists
    of texts.
    """
    arrays = {
        name: pa.array(column, pa.string()) if isinstance(column, list) else pa.array(column)
        for name, column in columns.items()
    }
    return spark.createDataFrame(pa.table(arrays))


def table_rows(spark: SparkSession, table: Table, columns: Sequence[str]) -> DataFrame:
    """Read ``columns`` of a table; Spark itself reads the files of a store."""
    removed: Mapping[str, Any]
    if isinstance(table, OverlayTable) and not len(table.added_rows):
        removed = table.removed_rows.columns
        rows = table_rows(spark, table.table, [*dict.fromkeys((*columns, *removed))])
    elif isinstance(table, ParquetTable) and table.version.files:
        removed = table.removed_rows if table.version.removed else {}
        places = [
            (table.paths(shared=False), "true"),
            (table.paths(shared=True), f"`table` = '{table.name}' AND NOT `removed`"),
        ]
        wanted = dict.fromkeys((*columns, *removed))
        rows = union_rows(
            *(
                spark.read.parquet(*paths).where(own).select(*wanted)
                for paths, own in places
                if paths
            )
        )
    else:
        parts = [{name: chunk[name] for name in columns} for chunk in table.scan()]
        return driver_frame(spark, concatenate(parts, dict.fromkeys(columns, NONE)))
    if removed:
        rows = rows.join(F.broadcast(driver_frame(spark, removed)), [*removed], "left_anti")
    return rows.select(*columns)


@dataclass(frozen=True, eq=False)
class UnionTables:
    """Spark tables of base and batch together. The flag ``inserted`` marks rows of the batch.

    view: base and batch on the driver.
    rules: parse the assertions on the workers.
    """

    view: UnionView
    rules: WorkerRules
    calls: GraphCalls
    files: TemporaryTables

    def read_rows(self, table: str, *columns: str) -> DataFrame:
        """Read ``columns`` of one table of assertions, of base and batch, with the flag
        ``inserted``.
        """
        old, new = self.view.base.table(table), self.view.inserted_tables[table]
        before = table_rows(self.files.spark, old, columns).filter(F.lit(len(old) > 0))
        after = driver_frame(self.files.spark, {name: new.columns[name] for name in columns})
        return before.withColumn("inserted", F.lit(False)).unionByName(
            after.filter(F.lit(len(new) > 0)).withColumn("inserted", F.lit(True))
        )

    # --- elements ---------------------------------------------------------------------------------

    @cached_property
    def old_elements(self) -> DataFrame:
        """Table (node, element): the element (class of equal nodes) of each node that equalities of
        the base alone unite with others.
        """
        return self._unite_nodes("old", self.equality_pairs.filter("NOT inserted"))

    @cached_property
    def elements(self) -> DataFrame:
        """Table (node, element): the element (class of equal nodes) of each node that equalities of
        base and batch unite with others.
        """
        brings = (self.view.inserted_tables["pairs"].columns["kind"] == SAME).any()
        return self._unite_nodes("new", self.equality_pairs) if brings else self.old_elements

    @property
    def equality_pairs(self) -> DataFrame:
        """Table of equalities and inequalities: node, kind, neighbour, inserted."""
        return self.read_rows("pairs", "node", "kind", "neighbour")

    def _unite_nodes(self, name: str, pairs: DataFrame) -> DataFrame:
        """Unite the nodes that ``pairs`` make equal: (node, element), without nodes that stay
        alone. ``name``: of the temporary table.
        """
        same = pairs.filter(f"kind = {SAME} AND node <> neighbour").select("node", "neighbour")
        if same.isEmpty():
            return same.toDF("node", "element").filter("false")
        edges = self.files.write(f"equal_{name}", same.toDF("src", "dst").distinct())
        found = self.calls.components(edges, self.files).toDF("node", "element")
        return self.files.write(f"elements_{name}", found)

    @cached_property
    def first_nodes(self) -> DataFrame:
        """Table (element, node) with the node whose term comes first, for elements of several
        individuals.
        """
        named = self.elements.join(self.terms, "node").groupBy("element")
        return named.agg(F.min_by("node", "term").alias("node"))

    # --- what assertions say ----------------------------------------------------------------------

    @cached_property
    def terms(self) -> DataFrame:
        """Table (node, term) of all individuals."""
        return self.dictionary_rows("individuals", "node", lambda of: {"term": of.terms})

    @cached_property
    def complex_assertions(self) -> DataFrame:
        """Table of complex and negative assertions in normal form: node, inserted, value, and
        fields of `NORMAL`.
        """
        values = self.dictionary_rows(
            "complex", "ordinal", lambda of: {"value": [json.dumps(encode(a)) for a in of.complex]}
        )
        rows = self.read_rows("complex", "node", "ordinal").join(values.distinct(), "ordinal")
        normal = F.from_json(
            arrow_column(self.rules.normal_form, F.col("value"), F.col("term")), NORMAL
        )
        rows = rows.join(self.terms, "node").select("node", "inserted", "value", F.inline(normal))
        found = look_up(rows, self.terms.select("term", "node"), other="other")
        count = len(self.view.base.table("complex")) + len(self.view.inserted_tables["complex"])
        return self.files.write("complex", found) if count else found

    def asserted_literals(self) -> DataFrame:
        """Table (node, literal, inserted) of the literals that class assertions give."""
        # A class that only a deleted assertion names is no atom.
        atoms = self.rules.tbox.atom_ids.keys() | {owl.NOTHING.iri, owl.THING.iri}
        known = [
            (i, literal)
            for i, iri in enumerate(self.rules.classes)
            if iri in atoms
            for literal in self.rules.name_literals(iri, positive=True)
        ]
        meaning = self.files.spark.createDataFrame(known, "class bigint, literal bigint")
        classes = self.read_rows("class_assertions", "node", "class").join(
            F.broadcast(meaning), "class"
        )
        normal = self.complex_assertions.filter("kind = 'literal'").withColumnRenamed(
            "name", "literal"
        )
        return union_rows(classes.drop("class"), normal.select("node", "literal", "inserted"))

    def dictionary_rows(
        self, table: str, number: str, texts: Callable[[ArrayBase], dict[str, list[str]]]
    ) -> DataFrame:
        """Read a dictionary of base and batch: the key column ``number`` and text columns.
        ``texts``: makes the columns from a part on the driver.
        """
        base: Base = self.view.base
        if isinstance(base, OverlayBase):
            base = base.base
        found: list[DataFrame] = []
        for of in (self.view.batch, base):
            if isinstance(of, StoreBase):
                found.append(table_rows(self.files.spark, of.store.table(table), found[0].columns))
            elif isinstance(of, ArrayBase):
                columns = texts(of)
                numbers = of.first + np.arange(len(next(iter(columns.values()))), dtype=np.int64)
                found.append(driver_frame(self.files.spark, {number: numbers, **columns}))
        return union_rows(*found)


def union_rows(*tables: DataFrame) -> DataFrame:
    """Concatenate ``tables``; columns that one lacks are null there."""
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tables)


def rename_nodes(rows: DataFrame, names: DataFrame, **columns: str) -> DataFrame:
    """Look up new names of nodes in ``names`` (before, after). ``columns``: for each new column the
    column of nodes; nodes without a new name stay.
    """
    for after, before in columns.items():
        rows = look_up(rows, names, _after=before)
        rows = rows.withColumn(after, F.coalesce("_after", before)).drop("_after")
    return rows


#: Makes lines of assertions and of the individuals that are named first there.
LineWriter = Callable[[Sequence[owl.Assertion], Sequence[str]], list[str]]


def parse_assertions(rules: WorkerRules, row: Mapping[str, Any]) -> list[owl.Assertion]:
    """Parse the assertions that a ``row`` stands for: several for a row about an element, else one."""
    kind, name, term, other = (row[column] for column in ("kind", "name", "term", "other"))
    match kind:
        case "class":
            return [owl.ClassAssertion(owl.Class(rules.classes[name]), term)]
        case "role" | "no role":
            of_role = (
                owl.NegativeObjectPropertyAssertion
                if kind == "no role"
                else owl.ObjectPropertyAssertion
            )
            return [of_role(owl.ObjectProperty(rules.roles[name].iri), term, other)]
        case "data" | "no data":
            of_data = (
                owl.NegativeDataPropertyAssertion
                if kind == "no data"
                else owl.DataPropertyAssertion
            )
            return [of_data(owl.DataProperty(rules.properties[name]), term, parse_literal(row))]
        case "same" | "different":
            of_pair = owl.SameIndividual if kind == "same" else owl.DifferentIndividuals
            return [of_pair(term, other)]
        case "element":
            positive, negative = parse_label(row["lexical"])
            return module_assertions(rules.tbox, Module((positive,), (negative,)), [term])
        case "clash":
            return [owl.ClassAssertion(owl.NOTHING, term)]
    return [decode(json.loads(row["value"]))]


def parse_literal(row: Mapping[str, Any]) -> owl.Literal:
    """Make the literal whose lexical form, datatype and language are in ``row``."""
    return owl.Literal(*map(row.__getitem__, LITERAL_COLUMNS))


def write_lines(rules: WorkerRules, rows: DataFrame, write: LineWriter) -> DataFrame:
    """Format the assertions of ``rows`` on the workers by ``write``. Returns a DataFrame (line)."""

    def write_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found: list[str] = []
            for row in batch.to_pylist():
                named = {"element": "term", "clash": "term", "same": "other"}.get(row["kind"])
                found += write(parse_assertions(rules, row), [row[named]] if named else [])
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], ["line"])

    return rows.mapInArrow(write_batches, "line string")

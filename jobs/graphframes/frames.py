"""Assertions as Spark tables, and numbers to and from the driver."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import LessTable, StoreBase
from abox_ops.elements.partition import StoredPartition, components
from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import ElementLabels
from jobs.store.table import ParquetTable
from shiq.columns.arrays import NONE, Columns, Ints, Table, concatenate, is_in, positions, unique


def frame(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """A table of ``columns`` from the driver: arrays of numbers or flags, or lists of texts."""
    return _local(spark, columns).coalesce(_partitions(spark))


def lookup(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """The same, few enough for every task."""
    return F.broadcast(_local(spark, columns))


def _local(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    arrays = {
        name: pa.array(column, pa.string()) if isinstance(column, list) else pa.array(column) for name, column in columns.items()
    }
    return spark.createDataFrame(pa.table(arrays))


def settled(rows: DataFrame) -> DataFrame:
    """``rows``, computed once and cut off from what they were computed from: plans must not grow with the rounds."""
    return rows.coalesce(_partitions(rows.sparkSession)).localCheckpoint()


def _partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def collected(rows: DataFrame) -> dict[str, Any]:
    """The columns of ``rows`` on the driver: integers and flags as arrays, others as lists."""
    table = rows.toArrow()
    found: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        plain = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
        found[name] = column.to_numpy() if plain else column.to_pylist()
        if pa.types.is_integer(column.type):
            found[name] = found[name].astype(np.int64)
    return found


def rows_of(spark: SparkSession, table: Table, columns: Sequence[str]) -> DataFrame:
    """``columns`` of a table. The files of a store are read by Spark itself."""
    if isinstance(table, ParquetTable) and table.version.files:
        wanted = dict.fromkeys((*columns, *(table.identity if table.version.removed else ())))
        rows = spark.read.parquet(*table.paths).select(*(F.col(f"`{name}`").cast("bigint").alias(name) for name in wanted))
        if table.version.removed:
            rows = rows.join(lookup(spark, table.removed), list(table.identity), "left_anti")
        return rows.select(*columns)
    if isinstance(table, LessTable):
        removed = {name: table.removed[name] for name in table.columns}
        kept = rows_of(spark, table.table, list(dict.fromkeys((*columns, *table.columns))))
        return kept.join(lookup(spark, removed), list(table.columns), "left_anti").select(*columns)
    return frame(spark, scanned(table, columns))


def scanned(table: Table, columns: Sequence[str]) -> Columns:
    """``columns`` of all rows, on the driver."""
    parts = [{name: chunk[name] for name in columns} for chunk in table.scan()]
    return concatenate(parts, dict.fromkeys(columns, NONE))


def with_inserted(
    spark: SparkSession, whole: UnionView, table: str, columns: Sequence[str], *, with_old: bool = True
) -> DataFrame:
    """``columns`` of the rows of A ∪ A⁺ in a table, and whether each is inserted; or of those that are."""
    old, new = whole.base.table(table), whole.inserted[table]
    rows = frame(spark, {name: new.columns[name] for name in columns}).withColumn("inserted", F.lit(True))
    if not (with_old and len(old)):
        return rows
    told = rows_of(spark, old, columns).withColumn("inserted", F.lit(False))
    return told.unionByName(rows) if len(new) else told


def role_assertions(spark: SparkSession, whole: UnionView, roles: Collection[int]) -> DataFrame:
    """The role assertions of A ∪ A⁺ with one of ``roles`` (not inverted), each once: src, dst (nodes), role, inserted."""
    rows = with_inserted(spark, whole, "half_edges", ("node", "neighbour", "role")).filter(F.col("role").isin(list(roles)))
    return rows.withColumnsRenamed({"node": "src", "neighbour": "dst"})


def nodes(spark: SparkSession, whole: UnionView) -> DataFrame:
    """Every node of A: id."""
    base = whole.base
    if isinstance(base, StoreBase):
        return rows_of(spark, base.table("individuals"), ("node",)).withColumnRenamed("node", "id")
    return frame(spark, {"id": base.nodes()})


def labelled(spark: SparkSession, labels: ElementLabels) -> DataFrame:
    """(id, label) of every element."""
    rows = rows_of(spark, labels.table, ("element", "label")).withColumnRenamed("element", "id")
    element, label = labels.overrides
    if not len(element):
        return rows
    others = frame(spark, {"id": element, "label": label})
    return rows.join(F.broadcast(others.select("id")), "id", "left_anti").unionByName(others)


def members(groups: StoredPartition) -> tuple[Ints, Ints]:
    """(member, group) of ``groups``; some that are alone may be among them."""
    rows = scanned(groups.by_member, ("member", "group")) if len(groups) else {}
    if not rows:
        return groups.overrides
    member, group = groups.overrides
    stays = ~is_in(rows["member"], member)
    return np.concatenate([rows["member"][stays], member]), np.concatenate([rows["group"][stays], group])


def connected(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """(number, the least one that it is connected with) for all of ``first`` and ``second``, of which each pair is connected."""
    ids = unique(np.concatenate([first, second]))
    return ids, ids[components(len(ids), positions(ids, first), positions(ids, second))]


def renamed(rows: DataFrame, names: tuple[Ints, Ints], *columns: str) -> DataFrame:
    """``rows`` with each of ``columns`` by its name where ``names`` (members, their names; few) has one."""
    member, name = (column[names[0] != names[1]] for column in names)
    for column in columns if len(member) else ():
        other = lookup(rows.sparkSession, {column: member, "_name": name})
        rows = rows.join(other, column, "left").withColumn(column, F.coalesce("_name", column)).drop("_name")
    return rows

"""Assertions as Spark tables, and numbers to and from the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import LessTable, StoreBase
from abox_ops.elements.partition import StoredPartition
from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import ElementLabels
from jobs.store.table import ParquetTable
from shiq.columns.arrays import ArrayTable, Columns, Ints, Table, concatenate, is_in


def frame(spark: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """A table of ``columns`` from the driver: arrays of numbers or flags, or lists of texts."""
    arrays = {
        name: pa.array(column, pa.string()) if isinstance(column, list) else pa.array(column) for name, column in columns.items()
    }
    return spark.createDataFrame(pa.table(arrays)).coalesce(_partitions(spark))


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
            rows = rows.join(frame(spark, table.removed), list(table.identity), "left_anti")
        return rows.select(*columns)
    if isinstance(table, LessTable):
        removed = {name: table.removed[name] for name in table.columns}
        kept = rows_of(spark, table.table, list(dict.fromkeys((*columns, *table.columns))))
        return kept.join(frame(spark, removed).distinct(), list(table.columns), "left_anti").select(*columns)
    return frame(spark, scanned(table, columns))


def scanned(table: Table, columns: Sequence[str]) -> Columns:
    """``columns`` of all rows, on the driver."""
    none = np.zeros(0, np.int64)
    parts = [{name: chunk[name] for name in columns} for chunk in table.scan()]
    return concatenate(parts, dict.fromkeys(columns, none))


def role_assertions(spark: SparkSession, whole: UnionView) -> DataFrame:
    """Every role assertion of A ∪ A⁺ once: src, dst (nodes), role (not inverted), inserted."""
    names = ("node", "neighbour", "role")
    inserted: ArrayTable = whole.inserted["half_edges"]
    parts = []
    if len(whole.base.table("half_edges")):
        parts.append(rows_of(spark, whole.base.table("half_edges"), names).withColumn("inserted", F.lit(False)))
    if len(inserted) or not parts:
        parts.append(frame(spark, {name: inserted.columns[name] for name in names}).withColumn("inserted", F.lit(True)))
    rows = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
    return rows.filter("role % 2 = 0").withColumnsRenamed({"node": "src", "neighbour": "dst"})


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


def named(spark: SparkSession, groups: StoredPartition) -> DataFrame | None:
    """(member, name) of ``groups``; None if there is none."""
    member, name = members(groups)
    return frame(spark, {"member": member, "name": name}) if len(member) else None


def renamed(rows: DataFrame, names: DataFrame | None, *columns: str) -> DataFrame:
    """``rows`` with each of ``columns`` by its name where ``names`` (member, name; few) has one."""
    if names is None:
        return rows
    for column in columns:
        other = F.broadcast(names.withColumnsRenamed({"member": column, "name": "_name"}))
        rows = rows.join(other, column, "left").withColumn(column, F.coalesce("_name", column)).drop("_name")
    return rows

"""Modules: the connected components of what is kept, each laid out and named by its shape in a
task.

An element of which nothing but a label is kept is a module by itself; those are counted by their
labels, and never laid out.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from abox_ops.engine import NamedModule
from abox_ops.labels.calculus import Label
from abox_ops.modules.components import KeptAssertions, modules
from abox_ops.modules.shapes import Shapes
from jobs.graphframes.assertions import DATA, DIFFERENT, ELEMENT, NO_DATA, NO_ROLE, ROLE
from jobs.graphframes.certificate import CertificateError, certify_components
from jobs.graphframes.literals import WorkerRules, label_of
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import LITERAL, UnionTables, union
from jobs.spark.auditing import is_drawn
from jobs.spark.deciding import DRAWN, SHAPE, shape_name
from jobs.spark.imports import spare_imports
from jobs.spark.worker import kept
from shiq.model import Literal
from shiq.reasoner.protocol import Module

_LAID_OUT = "component bigint, label string, what string, text string, count bigint, body binary"
#: The columns of what modules are made of: the component, and those of
#: `jobs.graphframes.assertions`.
_PARTS = ("component", "kind", "term", "other", "name", *LITERAL)


@dataclass(frozen=True)
class ModuleTables:
    """``records``: a row (component or label, what, text: its shape, count, body) for each
    module of more than a label, and for each label that is one alone; ``rows``: what they are
    made of (`_PARTS`); ``members``: component, id, label of all of them; ``too_large``:
    component, size.
    """

    records: DataFrame
    rows: DataFrame
    members: DataFrame
    too_large: DataFrame

    def those(self, shapes: DataFrame) -> DataFrame:
        """(component, id) of the members of the modules that have one of ``shapes`` (text)."""
        records = self.records.filter(F.col("what") == SHAPE)
        linked = records.filter("component IS NOT NULL").select("component", "text")
        alone = self.members.join(linked, "component", "left_anti")
        labels = records.filter("label IS NOT NULL").join(shapes, "text").select("label")
        several = self.members.join(linked.join(shapes, "text"), "component").select(
            "component", "id"
        )
        return several.unionByName(alone.join(labels, "label").select("component", "id"))


def lay_out(tables: UnionTables, entered: EnteredTables, most: int, audit: float) -> ModuleTables:
    """The modules of what ``entered``, with those drawn for an ``audit`` of that share. Larger
    ones than ``most`` assertions are not laid out.
    """
    files = tables.files
    free = entered.vertices.filter("NOT clashes").select(
        "id", F.array_join("literals", ",").alias("label")
    )
    edges = files.write(
        "kept", entered.edges.filter("kept AND inside").select("src", "role", "dst").distinct()
    )
    named = tables.calls.components(edges.select("src", "dst"), files)
    certify_components(edges, named)
    placed = files.write(
        "placed",
        free.join(named, "id", "left").withColumn("component", F.coalesce("component", "id")),
    )
    terms = tables.least_terms
    parts = files.write(
        "parts",
        _parts(tables, entered, edges, placed.join(terms, "id").select("id", "component", "term")),
    )
    nodes = placed.join(terms, "id").select(
        "component",
        F.lit(ELEMENT).alias("kind"),
        "term",
        *_none("other", "name"),
        F.col("label").alias("lexical"),
        *_none(*LITERAL[1:]),
    )
    all_rows = files.write("rows", nodes.unionByName(parts))
    linked = parts.select("component").distinct()
    rows = all_rows.join(linked, "component", "left_semi")
    sizes = rows.groupBy("component").agg(F.count("*").alias("size"))
    too_large = files.write("too_large", sizes.filter(F.col("size") > most))
    small = rows.join(too_large, "component", "left_anti")
    rules = tables.rules
    # A function without type hints: Spark would read them.
    laid_out = small.groupBy("component").applyInArrow(
        lambda rows: _laid_out(rules, audit, rows), _LAID_OUT
    )
    alone = (
        placed.join(linked, "component", "left_anti")
        .groupBy("label")
        .agg(F.count("*").alias("count"))
    )
    records = laid_out.unionByName(alone.mapInArrow(partial(_alone, rules, audit), _LAID_OUT))
    records = files.write("records", records)
    if not records.filter("what = ''").isEmpty():
        raise CertificateError("components")
    return ModuleTables(records, all_rows, placed, too_large)


def _none(*names: str) -> list[Column]:
    """Columns that say nothing."""
    return [
        (F.lit(-1).cast("bigint") if name == "name" else F.lit("")).alias(name) for name in names
    ]


def _parts(
    tables: UnionTables, entered: EnteredTables, edges: DataFrame, placed: DataFrame
) -> DataFrame:
    """What is kept beside labels, in the columns `_PARTS`; ``placed``: id, component, term."""

    def pairs(rows: DataFrame | None, kind: str, a: str, b: str, name: Column) -> DataFrame | None:
        """Those of ``rows`` whose ends are in one module."""
        if rows is None:
            return None
        others = placed.withColumnsRenamed({"id": b, "component": "component_b", "term": "other"})
        within = (
            rows.join(placed.withColumnRenamed("id", a), a)
            .join(others, b)
            .filter("component = component_b")
        )
        number = name.cast("bigint").alias("name")
        return within.select(
            "component", F.lit(kind).alias("kind"), "term", "other", number, *_none(*LITERAL)
        ).distinct()

    def values(rows: DataFrame | None, kind: str, name: str) -> DataFrame | None:
        if rows is None:
            return None
        columns: list[Column | str] = [
            F.lit(kind).alias("kind"),
            "term",
            *_none("other"),
            F.col(name).alias("name"),
            *LITERAL,
        ]
        return rows.join(placed, "id").select("component", *columns).distinct()

    negative = tables.plain("role")
    if negative is not None:
        others = tables.terms.select(F.col("node").alias("neighbour"), F.col("term").alias("other"))
        negative = tables.named(
            negative.join(others, "other").drop("other"), src="node", dst="neighbour"
        )
    denied = tables.plain("data")
    different = (
        None
        if tables.different is None
        else tables.named(tables.different, src="node", dst="neighbour")
    )
    apart = pairs(different, DIFFERENT, "src", "dst", F.lit(-1))
    if apart is not None:
        ends = {"term": F.least("term", "other"), "other": F.greatest("term", "other")}
        apart = apart.withColumns(ends).distinct()
    data = entered.data.filter(F.col("property").isin(tables.features))
    return union(
        pairs(edges, ROLE, "src", "dst", F.col("role")),
        pairs(negative, NO_ROLE, "src", "dst", F.col("name")),
        apart,
        values(data, DATA, "property"),
        values(None if denied is None else tables.named(denied, id="node"), NO_DATA, "name"),
    )


# --- in tasks -------------------------------------------------------------------------------------


def _laid_out(rules: WorkerRules, audit: float, rows: pa.Table) -> pa.Table:
    """The record of the one module whose ``rows`` these are; one without ``what`` where they are
    not in one piece.
    """
    component = rows["component"][0].as_py()
    found = modules_of(rules, rows)
    if len(found) != 1:
        return _records([(component, None, "", "", 0, b"")])
    return _records(_named(rules, audit, (component, None), found[0].module, 1))


def _alone(
    rules: WorkerRules, audit: float, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = []
        for label, count in zip(
            batch.column("label").to_pylist(), batch.column("count").to_pylist()
        ):
            positive, negative = label_of(label)
            found += _named(rules, audit, (None, label), Module((positive,), (negative,)), count)
        yield from _records(found).to_batches()


_Record = tuple[int | None, str | None, str, str, int, bytes]


def _named(
    rules: WorkerRules,
    audit: float,
    where: tuple[int | None, str | None],
    module: Module,
    count: int,
) -> list[_Record]:
    spare_imports()
    shape = kept("shapes", rules.token, lambda: Shapes(rules.tbox)).shape(module)
    name, body = shape_name(shape), pickle.dumps(module)
    drawn = [(*where, DRAWN, name, count, body)] if is_drawn(shape, audit) else []
    return [(*where, SHAPE, name, count, body), *drawn]


def _records(rows: list[_Record]) -> pa.Table:
    kinds = (pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.binary())
    names = ("component", "label", "what", "text", "count", "body")
    columns = list(zip(*rows)) or [()] * len(names)
    return pa.table(
        {name: pa.array(column, kind) for name, column, kind in zip(names, columns, kinds)}
    )


def modules_of(rules: WorkerRules, rows: pa.Table) -> list[NamedModule]:
    """The modules whose parts are ``rows``: one, unless role assertions do not connect them all."""
    kept, labels = KeptAssertions({}), dict[str, Label]()
    for row in rows.to_pylist():
        term, other, name, literal = (
            row["term"],
            row["other"],
            row["name"],
            Literal(*map(row.__getitem__, LITERAL)),
        )
        match row["kind"]:
            case "element":
                labels[term] = label_of(row["lexical"])
            case "role":
                kept.edges.add((term, rules.roles[name], other))
            case "no role":
                kept.negative_edges.add((term, rules.roles[name], other))
            case "different":
                kept.different.add((term, other))
            case "data":
                kept.data.add((term, rules.properties[name], literal))
            case "no data":
                kept.negative_data.add((term, rules.properties[name], literal))
    kept.labels = labels
    return modules(kept)

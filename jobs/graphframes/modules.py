"""Modules: the connected components of what is kept, each laid out and named by its shape in a
task.

Elements of which nothing but a label is kept are modules by themselves, alike where their labels
are; one of each label is laid out.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.engine import NamedModule
from abox_ops.modules.components import KeptAssertions, modules
from abox_ops.modules.shapes import Shapes
from jobs.graphframes.certificate import CertificateError, certify_components
from jobs.graphframes.literals import WorkerRules, label_of
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import LITERAL, UnionTables, renamed, union
from jobs.spark.auditing import is_drawn
from jobs.spark.deciding import shape_name
from jobs.spark.imports import spare_imports
from jobs.spark.worker import kept
from shiq.columns.rows import DIFFERENT, SAME
from shiq.model import Literal

_LAID_OUT = "component bigint, shape string, is_drawn boolean, body binary"
_COLUMNS = ("kind", "name", *LITERAL)


@dataclass(frozen=True)
class ModuleTables:
    """``facts``: what assertions say of elements that enter: kind, node, other (a node), name,
    texts, whether it is of A_add (is_kept); and where it is of a module, component, term, other_term.
    ``rows``: what modules are made of, as `jobs.graphframes.assertions` reads it. ``members``:
    id, component, term. ``keys``: component, key; modules of one key are alike. ``records``: a
    row for each key: key, component (one of them), count, size, shape, is_drawn, body (null
    where it is larger than a task is given).
    """

    facts: DataFrame
    rows: DataFrame
    members: DataFrame
    keys: DataFrame
    records: DataFrame

    def members_of(self, shapes: DataFrame) -> DataFrame:
        """(component, id) of the members of the modules that have one of ``shapes`` (shape)."""
        keys = self.records.join(shapes, "shape").select("key")
        chosen = self.keys.join(keys, "key").select("component")
        return self.members.join(chosen, "component").select("component", "id")


def lay_out(tables: UnionTables, entered: EnteredTables, most: int, audit: float) -> ModuleTables:
    """The modules of what ``entered``, with those drawn for an ``audit`` of that share. Larger
    ones than ``most`` assertions are not laid out.
    """
    write, rules = tables.files.write, tables.rules
    free = entered.vertices.filter("NOT clashes").select("id")
    edges = entered.edges.filter(F.contains("outcome", F.lit("K")))
    for end in ("src", "dst"):
        edges = edges.join(free.toDF(end), end, "left_semi")
    edges = write("kept", edges.select("subject", "role", "object", "src", "dst"))
    named = tables.calls.components(edges, tables.files)
    certify_components(edges, named)
    members = renamed(
        entered.vertices.join(named, "id", "left"), tables.first_names, node="id"
    ).join(tables.terms, "node")
    component = F.expr("CASE WHEN NOT clashes THEN coalesce(component, id) END AS component")
    label = F.array_join("literals", ",").alias("label")
    members = write("members", members.select("id", component, "term", label))
    facts = write("facts", _facts(tables, entered, edges, members))
    elements = members.filter("component IS NOT NULL").selectExpr(
        "component", "'element' AS kind", "term", "label AS lexical"
    )
    parts = facts.filter("component IS NOT NULL")
    rows = union(elements, parts.selectExpr("component", "term", "other_term AS other", *_COLUMNS))
    sizes = rows.groupBy("component").agg(
        F.count("*").alias("size"),
        F.max(F.when(F.col("kind") == "element", F.col("lexical"))).alias("label"),
    )
    keys = sizes.withColumn(
        "key", F.expr("CASE WHEN size > 1 THEN concat('#', component) ELSE label END")
    )
    keys = write("keys", keys.select("component", "size", "key"))
    least = F.min("component").alias("component")
    groups = keys.groupBy("key").agg(
        least, F.count("*").alias("count"), F.max("size").alias("size")
    )
    chosen = groups.filter(F.col("size") <= most).select("component")
    # A function without type hints: Spark would read them.
    laid_out = (
        rows.join(chosen, "component", "left_semi")
        .groupBy("component")
        .applyInArrow(lambda rows: _laid_out(rules, audit, rows), _LAID_OUT)
    )
    shape = F.coalesce("shape", F.concat(F.lit("too large "), "component"))
    records = write(
        "records", groups.join(laid_out, "component", "left").withColumn("shape", shape)
    )
    if not records.filter("shape = ''").isEmpty():
        raise CertificateError("components")
    return ModuleTables(facts, rows, members, keys, records)


def _facts(
    tables: UnionTables, entered: EnteredTables, edges: DataFrame, members: DataFrame
) -> DataFrame:
    """See `ModuleTables`."""
    data = entered.data.filter(F.col("property").isin(tables.features))
    pairs = tables.pairs.filter("kind % 2 = 0").withColumnRenamed("kind", "code")
    said = union(
        tables.rows("class_assertions", "node", "class").selectExpr(
            "'class' AS kind", "node", "class AS name"
        ),
        edges.selectExpr("'role' AS kind", "subject AS node", "object AS other", "role AS name"),
        data.selectExpr("'data' AS kind", "node", "property AS name", *LITERAL),
        pairs.filter(f"code IN ({SAME}, {DIFFERENT})").selectExpr(
            f"CASE code WHEN {SAME} THEN 'same' ELSE 'different' END AS kind",
            "node",
            "neighbour AS other",
        ),
        tables.complex.filter("kind <> 'literal'").drop("inserted"),
    )
    said = renamed(said, tables.names, id="node", other_id="other")
    ends = members.drop("label")
    said = said.join(ends, "id").join(
        ends.toDF("other_id", "other_component", "other_term"), "other_id", "left"
    )
    within = (
        "component IS NOT NULL AND (other IS NULL OR coalesce(other_component = component, false))"
    )
    is_kept = f"""CASE WHEN kind IN ('class', 'same') THEN true WHEN kind IN ('role', 'data') THEN {within}
        WHEN kind IN ('different', 'value') THEN other IS NULL OR other_term IS NOT NULL ELSE false END"""
    is_part = f"{within} AND kind IN ('role', 'data', 'different', 'no role', 'no data')"
    apart = "kind = 'different' AND term > other_term"
    found = said.selectExpr(
        "node",
        "other",
        "value",
        *_COLUMNS,
        f"{is_kept} AS is_kept",
        f"CASE WHEN {is_part} THEN component END AS component",
        f"CASE WHEN {apart} THEN other_term ELSE term END AS term",
        f"CASE WHEN {apart} THEN term ELSE other_term END AS other_term",
    )
    return found.filter("is_kept OR component IS NOT NULL")


# --- in tasks -------------------------------------------------------------------------------------


def _laid_out(rules: WorkerRules, audit: float, rows: pa.Table) -> pa.Table:
    """The record of the one module whose ``rows`` these are; one without a shape where they are
    not in one piece.
    """
    spare_imports()
    name, drawn, body = "", False, b""
    if len(found := modules_of(rules, rows)) == 1:
        shape = kept("shapes", rules.token, lambda: Shapes(rules.tbox)).shape(found[0].module)
        name, drawn, body = shape_name(shape), is_drawn(shape, audit), pickle.dumps(found[0].module)
    values = (rows["component"][:1].combine_chunks(), [name], [drawn], [body])
    return pa.table(dict(zip(("component", "shape", "is_drawn", "body"), values)))


def modules_of(rules: WorkerRules, rows: pa.Table) -> list[NamedModule]:
    """The modules whose parts are ``rows``: one, unless role assertions do not connect them all."""
    found = KeptAssertions({})
    labels = {}
    for row in rows.to_pylist():
        term, other, name = row["term"], row["other"], row["name"]
        match row["kind"]:
            case "element":
                labels[term] = label_of(row["lexical"])
            case "role":
                found.edges.add((term, rules.roles[name], other))
            case "no role":
                found.negative_edges.add((term, rules.roles[name], other))
            case "different":
                found.different.add((term, other))
            case kind:
                data = found.data if kind == "data" else found.negative_data
                literal = Literal(*map(row.__getitem__, LITERAL))
                data.add((term, rules.properties[name], literal))
    found.labels = labels
    return modules(found)

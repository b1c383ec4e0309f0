"""Build modules as connected components of kept assertions; tasks compute the shape of each.

Elements of which only a label is kept are modules by themselves. One module of each such label is
laid out.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.modules.components import KeptAssertions, component_modules
from shiq.abox_ops.modules.shapes import Shapes
from shiq.columns.rows import DIFFERENT, SAME
from shiq.jobs.building.worker import cached_value, skip_repeated_imports
from shiq.jobs.graphframes.literals import WorkerRules, parse_label
from shiq.jobs.graphframes.messages import CertificateError, certify_components
from shiq.jobs.graphframes.procedure import ProcedureTables
from shiq.jobs.graphframes.tables import (
    LITERAL_COLUMNS,
    UnionTables,
    driver_frame,
    parse_literal,
    rename_nodes,
    union_rows,
)
from shiq.jobs.spark.executor_reasoner import shape_digest

_MODULE_DDL = "component bigint, shape string, body binary"
_COLUMNS = ("kind", "name", *LITERAL_COLUMNS)


@dataclass(frozen=True)
class ModuleTables:
    """Spark tables of the modules of one batch. A module is a connected component of kept
    assertions.

    facts: assertions about elements that the procedure reaches: kind, node, other (a node), name,
    texts, is_kept (in A_add); and in modules component, term, other_term
    rows: elements and assertions of the modules, as `parse_assertions` reads them
    members: id, component, term
    keys: component, key; modules with the same key have the same shape
    records: a row for each key: key, component (one of them), count, size, shape, body (null if the
    module is too large for a task)
    """

    facts: DataFrame
    rows: DataFrame
    members: DataFrame
    keys: DataFrame
    records: DataFrame

    def members_of(self, *shapes: str) -> DataFrame:
        """Select the rows of ``members`` whose module has one of ``shapes``."""
        wanted = driver_frame(self.keys.sparkSession, {"shape": [*shapes]})
        chosen = self.keys.join(self.records.join(wanted, "shape").select("key"), "key")
        return self.members.join(chosen.select("component"), "component")


def lay_out_modules(tables: UnionTables, entered: ProcedureTables, most: int) -> ModuleTables:
    """Divide the elements that the procedure reached, and their assertions, into modules; compute
    the shape of those with at most ``most`` assertions.
    """
    write, rules = tables.files.write, tables.rules
    free = entered.vertices.filter("NOT clashes").select("id")
    edges = (
        entered.edges.filter(F.contains("outcome", F.lit("K")))
        .join(free.toDF("src"), "src", "left_semi")
        .join(free.toDF("dst"), "dst", "left_semi")
    )
    edges = write("kept", edges.select("subject", "role", "object", "src", "dst"))
    named = tables.calls.components(edges, tables.files)
    certify_components(edges, named)
    members = entered.vertices.join(named, "id", "left").selectExpr(
        "id",
        "CASE WHEN NOT clashes THEN coalesce(component, id) END AS component",
        "array_join(literals, ',') AS label",
    )
    members = rename_nodes(members, tables.first_nodes, node="id").join(tables.terms, "node")
    members = write("members", members.drop("node"))
    facts = write("facts", _module_facts(tables, entered, edges, members))
    rows = union_rows(
        members.selectExpr("component", "'element' AS kind", "term", "label AS lexical"),
        facts.selectExpr("component", "term", "other_term AS other", *_COLUMNS),
    ).filter("component IS NOT NULL")
    label = F.max(F.when(F.col("kind") == "element", F.col("lexical"))).alias("label")
    sizes = rows.groupBy("component").agg(F.count("*").alias("size"), label)
    key = "CASE WHEN size > 1 THEN concat('#', component) ELSE label END AS key"
    keys = write("keys", sizes.selectExpr("component", "size", key))
    groups = keys.groupBy("key").agg(
        F.min("component").alias("component"),
        F.count("*").alias("count"),
        F.max("size").alias("size"),
    )
    # A function without type hints: Spark would read them.
    laid_out = (
        rows.join(groups.filter(F.col("size") <= most), "component", "left_semi")
        .groupBy("component")
        .applyInArrow(lambda rows: _lay_out_module(rules, rows), _MODULE_DDL)
    )
    shape = F.coalesce("shape", F.concat(F.lit("too large "), "component"))
    records = groups.join(laid_out, "component", "left")
    records = write("records", records.withColumn("shape", shape))
    if not records.filter("shape = ''").isEmpty():
        raise CertificateError("components")
    return ModuleTables(facts, rows, members, keys, records)


def _module_facts(
    tables: UnionTables, entered: ProcedureTables, edges: DataFrame, members: DataFrame
) -> DataFrame:
    """Collect the assertions about the elements of modules: the table ``facts`` of `ModuleTables`."""
    rules = tables.rules
    seen = [i for i, name in enumerate(rules.properties) if name in rules.rules.features]
    data = entered.data.filter(F.col("property").isin(seen))
    pairs = tables.equality_pairs.filter("kind % 2 = 0").withColumnRenamed("kind", "code")
    said = union_rows(
        tables.read_rows("class_assertions", "node", "class").selectExpr(
            "'class' AS kind", "node", "class AS name"
        ),
        edges.selectExpr("'role' AS kind", "subject AS node", "object AS other", "role AS name"),
        data.selectExpr("'data' AS kind", "node", "property AS name", *LITERAL_COLUMNS),
        pairs.filter(f"code IN ({SAME}, {DIFFERENT})").selectExpr(
            f"CASE code WHEN {SAME} THEN 'same' ELSE 'different' END AS kind",
            "node",
            "neighbour AS other",
        ),
        tables.complex_assertions.filter("kind <> 'literal'").drop("inserted"),
    )
    said = rename_nodes(said, tables.elements, id="node", other_id="other")
    members = members.select("id", "component", "term")
    others = members.toDF("other_id", "other_component", "other_term")
    said = said.join(members, "id").join(others, "other_id", "left")
    within = (
        "component IS NOT NULL AND (other IS NULL OR coalesce(other_component = component, false))"
    )
    is_kept = f"""CASE WHEN kind IN ('class', 'same') THEN true WHEN kind IN ('role', 'data') THEN {within}
        WHEN kind IN ('different', 'value') THEN other IS NULL OR other_term IS NOT NULL ELSE false END"""
    is_part = f"{within} AND kind IN ('role', 'data', 'different', 'no role', 'no data')"
    apart = "kind = 'different' AND term > other_term"
    said = said.selectExpr(
        "node",
        "other",
        "value",
        *_COLUMNS,
        f"{is_kept} AS is_kept",
        f"CASE WHEN {is_part} THEN component END AS component",
        f"CASE WHEN {apart} THEN other_term ELSE term END AS term",
        f"CASE WHEN {apart} THEN term ELSE other_term END AS other_term",
    )
    return said.filter("is_kept OR component IS NOT NULL")


# --- in tasks -------------------------------------------------------------------------------------


def _lay_out_module(rules: WorkerRules, rows: pa.Table) -> pa.Table:
    """Compute shape and pickled form of the one module that consists of ``rows``; the shape is ""
    if these are not connected.
    """
    skip_repeated_imports()
    name, body = "", b""
    if len(found := assemble_modules(rules, rows)) == 1:
        shapes = cached_value("shapes", rules.token, lambda: Shapes(rules.tbox))
        name, body = shape_digest(shapes.shape_of(found[0].module)), pickle.dumps(found[0].module)
    return pa.table({"component": rows["component"][:1], "shape": [name], "body": [body]})


def assemble_modules(rules: WorkerRules, rows: pa.Table) -> list[NamedModule]:
    """Build the module that consists of ``rows`` (elements and assertions); several if role
    assertions do not connect them.
    """
    labels: dict[str, Label] = {}
    parts: defaultdict[str, set[Any]] = defaultdict(set)
    for row in rows.to_pylist():
        term, other, name = row["term"], row["other"], row["name"]
        match row["kind"]:
            case "element":
                labels[term] = parse_label(row["lexical"])
            case "different" as kind:
                parts[kind].add((term, other))
            case "role" | "no role" as kind:
                parts[kind].add((term, rules.roles[name], other))
            case kind:
                parts[kind].add((term, rules.properties[name], parse_literal(row)))
    kinds = "role", "no role", "different", "data", "no data"
    return component_modules(KeptAssertions(labels, *(parts[kind] for kind in kinds)))

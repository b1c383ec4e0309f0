"""The published procedure (THEORY, "The procedure") as rounds of message passing on Spark tables.

A round takes the role assertions of the elements that entered in the round before. The asserted
labels of its ends decide about each: it is kept, or remedies replace it, and some of its ends
enter.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from shiq.columns.arrays import Ints
from shiq.columns.rows import DIFFERENT
from shiq.jobs.graphframes.literals import arrow_column
from shiq.jobs.graphframes.messages import certify_reached, look_up
from shiq.jobs.graphframes.tables import (
    LITERAL_COLUMNS,
    UnionTables,
    driver_frame,
    rename_nodes,
    union_rows,
)
from shiq.support import bits


@dataclass(frozen=True)
class ProcedureTables:
    """Spark tables with the result of the published procedure. An element is an individual, or
    several that are known to be equal.

    vertices: id (an element that the procedure reached), literals (asserted ones and remedies),
    clashes
    edges: role assertions that were decided: subject, object (nodes), src, dst (elements), role,
    outcome (`literals.WorkerRules.outcome`)
    remedies: id, literal (replaces a role assertion that is not kept), and whether it is asserted
    data: id, node, property, literal, its parts, ill_typed
    """

    vertices: DataFrame
    edges: DataFrame
    remedies: DataFrame
    data: DataFrame


def run_procedure(tables: UnionTables, changed: Ints, told: Ints) -> ProcedureTables:
    """Run the published procedure for one batch on Spark tables.

    changed: nodes of inserted assertions that are neither role nor data assertions
    told: nodes from which it starts (`shiq.abox_ops.published.procedure.initial_nodes`)
    """
    write, names, asserted = tables.files.write, tables.elements, tables.asserted_literals()
    entered, dealt = _run_rounds(tables, _labels_by_element(tables, asserted, changed), told)
    asserted = rename_nodes(asserted, names, id="node").select("id", "literal")
    placed = (
        dealt.select("src", "dst", F.explode(F.split("outcome", " ")).alias("part"))
        .filter("part RLIKE '^[sd]'")
        .selectExpr(
            "CASE WHEN part LIKE 's%' THEN src ELSE dst END AS id",
            "CAST(substring(part, 2) AS BIGINT) AS literal",
        )
        .distinct()
    )
    known = asserted.distinct().withColumn("asserted", F.lit(True))
    remedies = write("remedies", placed.join(known, ["id", "literal"], "left").fillna(False))
    values = tables.dictionary_rows(
        "literals",
        "literal",
        lambda of: {
            part: [getattr(value, part) for value in of.literals] for part in LITERAL_COLUMNS
        },
    )
    ill_typed = arrow_column(tables.rules.ill_typed, *map(F.col, LITERAL_COLUMNS)) != ""
    data = rename_nodes(
        tables.read_rows("data_assertions", "node", "property", "literal"), names, id="node"
    )
    data = data.join(entered, "id", "left_semi").join(values, "literal")
    data = write("data", data.withColumn("ill_typed", ill_typed))
    # What is asserted of those that enter, their remedies, and contradictions.
    apart = rename_nodes(tables.equality_pairs, names, id="node", other="neighbour")
    apart = apart.filter(f"kind = {DIFFERENT} AND id = other").select("id")
    clash = F.explode(F.array(*(F.lit(i).cast("bigint") for i in tables.rules.contradiction_text)))
    wrong = apart.union(data.filter("ill_typed").select("id")).withColumn("literal", clash)
    rows = union_rows(asserted, wrong, remedies.drop("asserted"))
    # None of an element without any: a set leaves nulls out.
    literals = F.sort_array(F.collect_set("literal")).alias("literals")
    found = entered.select("id").join(rows, "id", "left").groupBy("id").agg(literals)
    clashes = F.exists("literals", lambda x: F.array_contains("literals", x.bitwiseXOR(F.lit(1))))
    found = write("entered", found.withColumn("clashes", clashes))
    return ProcedureTables(found, dealt, remedies, data)


def _run_rounds(
    tables: UnionTables, labels: tuple[DataFrame, DataFrame], told: Ints
) -> tuple[DataFrame, DataFrame]:
    """Run rounds of messages along role assertions until the procedure reaches no further element.
    Returns (id, round) of the elements reached, and the role assertions with their outcomes.

    Stops because an element enters once.
    """
    write = tables.files.write
    half_edges = tables.read_rows("half_edges", "node", "role", "neighbour")
    rows, at = half_edges.filter("inserted"), rename_nodes(half_edges, tables.elements, id="node")
    fresh = rename_nodes(
        driver_frame(tables.files.spark, {"node": told}), tables.elements, id="node"
    ).select("id")
    edges: list[DataFrame] = []
    frontiers: list[DataFrame] = []
    while not frontiers or not frontiers[-1].isEmpty():
        number = len(frontiers)
        edges.append(
            write(
                f"edges{number}", _edge_outcomes(tables, *labels, _uninverted_edges(tables, rows))
            )
        )
        arcs = edges[-1].filter("outcome RLIKE '[SD]'").select("src", "dst", "outcome")
        reached = tables.calls.messages(
            arcs,
            F.max("MSG").alias("reached"),
            to_src=F.when(F.contains("edge.outcome", F.lit("S")), F.lit(True)),
            to_dst=F.when(F.contains("edge.outcome", F.lit("D")), F.lit(True)),
        ).select("id")
        fresh = (
            reached.join(union_rows(*frontiers), "id", "left_anti")
            if frontiers
            else reached.union(fresh).distinct()
        )
        frontiers.append(write(f"frontier{number}", fresh.withColumn("round", F.lit(number))))
        rows = at.join(frontiers[-1], "id", "left_semi")
    entered = union_rows(*frontiers)
    dealt = write("dealt", union_rows(*edges).dropDuplicates(["subject", "role", "object"]))
    rows = _uninverted_edges(tables, at.join(entered, "id", "left_semi"))
    certify_reached(frontiers[0].select("id"), entered, dealt, rows)
    return entered, dealt


def _uninverted_edges(tables: UnionTables, half_edges: DataFrame) -> DataFrame:
    """Select from ``half_edges`` the role assertions on roles that the rules use, each in forward
    direction: subject, role, object, inserted.
    """
    rules = tables.rules
    roles = [i for i, role in enumerate(rules.roles) if role in rules.rules.part_of]
    ends = "CASE WHEN role % 2 = 1 THEN {} ELSE {} END AS {}"
    return half_edges.filter(F.col("role").isin(roles)).selectExpr(
        ends.format("neighbour", "node", "subject"),
        "role - role % 2 AS role",
        ends.format("node", "neighbour", "object"),
        "inserted",
    )


def _labels_by_element(
    tables: UnionTables, asserted: DataFrame, changed: Ints
) -> tuple[DataFrame, DataFrame]:
    """Compute two tables (id, label): the label of each element with the batch, and the label
    without it of elements at the nodes ``changed``.

    Only literals that the rules read are included.
    """

    def by_element(rows: DataFrame, names: DataFrame) -> DataFrame:
        literals = F.array_join(F.sort_array(F.collect_set("literal")), ",")
        return rename_nodes(rows, names, id="node").groupBy("id").agg(literals.alias("label"))

    read = [2 * i + sign for i in bits(tables.rules.rules.relevant_atoms) for sign in (0, 1)]
    asserted = asserted.filter(F.col("literal").isin(read))
    touched = rename_nodes(
        driver_frame(tables.files.spark, {"node": changed}), tables.old_elements, id="node"
    )
    old = by_element(asserted.filter("NOT inserted"), tables.old_elements)
    before = touched.select("id").distinct().join(old, "id", "left").fillna("")
    return (
        tables.files.write("labels", by_element(asserted, tables.elements)),
        tables.files.write("before", before),
    )


def _edge_outcomes(
    tables: UnionTables, after: DataFrame, before: DataFrame, rows: DataFrame
) -> DataFrame:
    """Decide the role assertions ``rows`` by the labels of both ends ``after`` and ``before`` the
    batch. Returns them with elements (src, dst) and outcome.
    """
    rows = rename_nodes(rows, tables.elements, src="subject", dst="object")
    rows = look_up(rows, after, src_label="src", dst_label="dst").fillna("")
    rows = rename_nodes(rows, tables.old_elements, src_old="subject", dst_old="object")
    rows = look_up(rows, before, src_old="src_old", dst_old="dst_old")
    text = arrow_column(
        tables.rules.encode_edge_outcome,
        F.col("role"),
        F.col("src_label"),
        F.col("dst_label"),
        F.col("inserted").cast("int"),
        F.coalesce("src_old", "src_label"),
        F.coalesce("dst_old", "dst_label"),
    )
    return rows.select("subject", "object", "src", "dst", "role", text.alias("outcome"))

"""Modules: the connected components of what is kept, each laid out and named by its shape in a task.

An element of which nothing but a label is kept is a module by itself; those are counted by their labels, and never laid out.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from abox_ops.elements.partition import components
from abox_ops.modules.shapes import Shapes
from jobs.graphframes.certificate import CertificateError, certify_components
from jobs.graphframes.literals import WorkerRules, label_of
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import UnionTables, union
from jobs.spark.auditing import is_drawn
from jobs.spark.deciding import DRAWN, SHAPE, shape_name
from jobs.spark.imports import spare_imports
from jobs.spark.worker import kept
from shiq.columns.arrays import NONE, Ints, unique
from shiq.model import Literal
from shiq.reasoner.protocol import Module
from shiq.roles import Role

_LAID_OUT = "component bigint, label string, what string, text string, count bigint, body binary"
_PARTS = ("component", "kind", "a", "b", "name", "text", "datatype", "language")
_NODE, _EDGE, _NEGATIVE, _DIFFERENT, _DATA, _NEGATIVE_DATA = "node", "edge", "negative", "different", "data", "negative data"


@dataclass(frozen=True)
class ModuleTables:
    """``records``: a row (component or label, what, text: its shape, count, body) for each module of more than a label, and
    for each label that is one alone; ``members``: component, id, label of all of them; ``too_large``: component, size."""

    records: DataFrame
    members: DataFrame
    too_large: DataFrame

    def those(self, shapes: DataFrame) -> DataFrame:
        """(component, id) of the members of the modules that have one of ``shapes`` (text)."""
        records = self.records.filter(F.col("what") == SHAPE)
        linked = records.filter("component IS NOT NULL").select("component", "text")
        alone = self.members.join(linked, "component", "left_anti")
        labels = records.filter("label IS NOT NULL").join(shapes, "text").select("label")
        several = self.members.join(linked.join(shapes, "text"), "component").select("component", "id")
        return several.unionByName(alone.join(labels, "label").select("component", "id"))


def lay_out(tables: UnionTables, entered: EnteredTables, most: int, audit: float) -> ModuleTables:
    """The modules of what ``entered``, with those drawn for an ``audit`` of that share. Larger ones than ``most`` assertions are
    not laid out."""
    files = tables.files
    free = entered.vertices.filter("NOT clashes").select("id", F.array_join("literals", ",").alias("label"))
    edges = files.write("kept", entered.edges.filter("kept AND inside").select("src", "role", "dst").distinct())
    named = tables.calls.components(edges.select("src", "dst"), files)
    certify_components(edges, named)
    placed = files.write("placed", free.join(named, "id", "left").withColumn("component", F.coalesce("component", "id")))
    parts = files.write("parts", _parts(tables, entered, edges, placed.select("id", "component")))
    linked = parts.select("component").distinct()
    inside = placed.join(linked, "component", "left_semi").join(tables.least_terms, "id")
    nodes = inside.select(
        "component",
        F.lit(_NODE).alias("kind"),
        F.col("id").alias("a"),
        *_nothing("b", "name"),
        F.col("label").alias("text"),
        F.col("term").alias("datatype"),
        F.lit("").alias("language"),
    )
    rows = files.write("rows", nodes.unionByName(parts))
    sizes = rows.groupBy("component").agg(F.count("*").alias("size"))
    too_large = files.write("too_large", sizes.filter(F.col("size") > most))
    small = rows.join(too_large, "component", "left_anti")
    rules = tables.rules
    # A function without type hints: Spark would read them.
    laid_out = small.groupBy("component").applyInArrow(lambda rows: _laid_out(rules, audit, rows), _LAID_OUT)
    alone = placed.join(linked, "component", "left_anti").groupBy("label").agg(F.count("*").alias("count"))
    records = laid_out.unionByName(alone.mapInArrow(partial(_alone, rules, audit), _LAID_OUT))
    records = files.write("records", records)
    if not records.filter("what = ''").isEmpty():
        raise CertificateError("components")
    return ModuleTables(records, placed, too_large)


def _nothing(*names: str) -> list[Column]:
    return [F.lit(-1).cast("bigint").alias(name) for name in names]


def _parts(tables: UnionTables, entered: EnteredTables, edges: DataFrame, placed: DataFrame) -> DataFrame:
    """What is kept beside labels, by component, in the columns `_PARTS`."""
    no_text = [F.lit("").alias(name) for name in _PARTS[5:]]

    def pairs(rows: DataFrame | None, kind: str, a: str, b: str, name: Column) -> DataFrame | None:
        """Those of ``rows`` whose ends are in one module."""
        if rows is None:
            return None
        ends = [placed.withColumnsRenamed({"id": node, "component": at}) for node, at in ((a, "component"), (b, "component_b"))]
        within = rows.join(ends[0], a).join(ends[1], b).filter("component = component_b")
        columns = (F.col(a).alias("a"), F.col(b).alias("b"), name.cast("bigint").alias("name"))
        return within.select("component", F.lit(kind).alias("kind"), *columns, *no_text).distinct()

    def values(rows: DataFrame | None, kind: str, name: str) -> DataFrame | None:
        if rows is None:
            return None
        texts = (F.col("lexical").alias("text"), "datatype", "language")
        columns = (F.col("id").alias("a"), *_nothing("b"), F.col(name).alias("name"))
        return rows.join(placed, "id").select("component", F.lit(kind).alias("kind"), *columns, *texts).distinct()

    negative = tables.plain("role")
    if negative is not None:
        others = tables.terms.select(F.col("node").alias("neighbour"), F.col("term").alias("other"))
        negative = tables.named(negative.join(others, "other"), src="node", dst="neighbour")
    denied = tables.plain("data")
    different = None if tables.different is None else tables.named(tables.different, src="node", dst="neighbour")
    data = entered.data.filter(F.col("property").isin(tables.features))
    return union(
        pairs(edges, _EDGE, "src", "dst", F.col("role")),
        pairs(negative, _NEGATIVE, "src", "dst", F.col("name")),
        pairs(different, _DIFFERENT, "src", "dst", F.lit(-1)),
        values(data, _DATA, "property"),
        values(None if denied is None else tables.named(denied, id="node"), _NEGATIVE_DATA, "name"),
    )


# --- in tasks --------------------------------------------------------------------------------------


def _laid_out(rules: WorkerRules, audit: float, rows: pa.Table) -> pa.Table:
    """The record of the one module whose ``rows`` these are; one without ``what`` where they are not in one piece."""
    component = rows["component"][0].as_py()
    module, in_one_piece = module_of(rules, rows)
    if not in_one_piece:
        return _records([(component, None, "", "", 0, b"")])
    return _records(_named(rules, audit, (component, None), module, 1))


def _alone(rules: WorkerRules, audit: float, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = []
        for label, count in zip(batch.column("label").to_pylist(), batch.column("count").to_pylist()):
            positive, negative = label_of(label)
            found += _named(rules, audit, (None, label), Module((positive,), (negative,)), count)
        yield from _records(found).to_batches()


_Record = tuple[int | None, str | None, str, str, int, bytes]


def _named(rules: WorkerRules, audit: float, where: tuple[int | None, str | None], module: Module, count: int) -> list[_Record]:
    spare_imports()
    shape = kept("shapes", rules.token, lambda: Shapes(rules.tbox)).shape(module)
    name, body = shape_name(shape), pickle.dumps(module)
    drawn = [(*where, DRAWN, name, count, body)] if is_drawn(shape, audit) else []
    return [(*where, SHAPE, name, count, body), *drawn]


def _records(rows: list[_Record]) -> pa.Table:
    kinds = (pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.binary())
    names = ("component", "label", "what", "text", "count", "body")
    columns = list(zip(*rows)) or [()] * len(names)
    return pa.table({name: pa.array(column, kind) for name, column, kind in zip(names, columns, kinds)})


def module_of(rules: WorkerRules, rows: pa.Table) -> tuple[Module, bool]:
    """The module whose parts are ``rows``, with its nodes in the order of their terms; and whether its role assertions connect
    them all."""
    by_kind = {kind: rows.filter(pc.equal(rows["kind"], kind)) for kind in pc.unique(rows["kind"]).to_pylist()}
    nodes = by_kind[_NODE].sort_by("datatype")
    ids = nodes["a"].to_numpy()
    order = np.argsort(ids)

    def places(kind: str, column: str) -> Ints:
        found: Ints = order[np.searchsorted(ids[order], by_kind[kind][column].to_numpy())]
        return found

    ranks = np.argsort(sorted(range(len(rules.roles)), key=rules.roles.__getitem__))

    def triples(kind: str) -> tuple[tuple[int, Role, int], ...]:
        if kind not in by_kind:
            return ()
        a, role, b = places(kind, "a"), by_kind[kind]["name"].to_numpy(), places(kind, "b")
        sort = np.lexsort((b, ranks[role], a))
        return tuple((i, rules.roles[r], j) for i, r, j in zip(*(column[sort].tolist() for column in (a, role, b))))

    def values(kind: str) -> tuple[tuple[int, str, Literal], ...]:
        if kind not in by_kind:
            return ()
        columns = (by_kind[kind][name].to_pylist() for name in ("name", "text", "datatype", "language"))
        found = ((i, rules.properties[p], Literal(*value)) for i, p, *value in zip(places(kind, "a").tolist(), *columns))
        return tuple(sorted(found, key=repr))

    apart: set[tuple[int, int]] = set()
    if _DIFFERENT in by_kind:
        apart = {(min(x), max(x)) for x in zip(*(places(_DIFFERENT, end).tolist() for end in ("a", "b")))}
    labels = [label_of(text) for text in nodes["text"].to_pylist()]
    edges = triples(_EDGE)
    ends = [places(_EDGE, end) for end in ("a", "b")] if edges else [NONE, NONE]
    parts = (edges, triples(_NEGATIVE), tuple(sorted(apart)), values(_DATA), values(_NEGATIVE_DATA))
    module = Module(tuple(x[0] for x in labels), tuple(x[1] for x in labels), *parts)
    return module, len(unique(components(len(ids), *ends))) == 1

"""A_add where it lies: its rows as tables, written out as assertions when somebody looks."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from abox_ops.engine import NamedModule
from jobs.graphframes.literals import WorkerRules, label_of
from jobs.graphframes.modules import ModuleTables, lay_out
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import UnionTables, frame, union
from jobs.spark.deciding import SHAPE
from shiq import model as owl
from shiq.clause import ClausalTBox
from shiq.columns.arrays import Ints
from shiq.columns.rows import SAME
from shiq.model_json import decode
from shiq.ntriples import assertion_lines
from shiq.reasoner.protocol import Module

_REMEDY = "remedy"
#: The columns of A_add beside its kind: a node, a number (of a class, role, property or literal), another node, and texts.
_TEXTS = ("lexical", "datatype", "language", "value")


@dataclass(frozen=True, eq=False)
class GraphFramesAddSet:
    """A_add of one batch on tables; ``touched``: the nodes of its normalised insertions. The tables are there until the run's
    files are removed."""

    tables: UnionTables
    entered: EnteredTables
    touched: Ints
    most_module: int
    audit: float

    @property
    def tbox(self) -> ClausalTBox:
        return self.tables.rules.tbox

    @property
    def insertions(self) -> int:
        return self.tables.whole.insertions

    @cached_property
    def size(self) -> int:
        """How many assertions `kept` gives."""
        return self.rows.count()

    @cached_property
    def pulled_in(self) -> int:
        """How many elements entered that the batch does not touch."""
        touched = self.tables.named(frame(self.tables.spark, {"node": self.touched}), id="node")
        return self.entered.vertices.join(touched, "id", "left_anti").count()

    @cached_property
    def laid_out(self) -> ModuleTables:
        """The modules."""
        return lay_out(self.tables, self.entered, self.most_module, self.audit)

    # --- A_add -------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> DataFrame:
        """A_add, a row for each assertion: kind, node, name, other, and `_TEXTS`."""
        tables, entered = self.tables, self.entered
        seen = entered.vertices.select("id")
        free = entered.vertices.filter("NOT clashes").select("id")
        classes = tables.named(tables.rows("class_assertions", "node", "class"), id="node").join(seen, "id")
        roles = entered.edges.filter("kept AND inside")
        data = entered.data.filter(F.col("property").isin(tables.features)).join(free, "id")
        remedies = entered.remedies.join(self._asserted, ["id", "literal"], "left_anti")
        return union(
            _rows(classes, "class", "node", F.col("class")),
            _rows(roles, "role", "subject", F.col("role"), F.col("object")),
            _rows(data, "data", "node", F.col("property"), None, "lexical", "datatype", "language"),
            self._pairs(seen),
            self._values(seen),
            _rows(remedies, _REMEDY, "id", F.col("literal")),
        )

    @cached_property
    def _asserted(self) -> DataFrame:
        return self.tables.named(self.tables.asserted(), id="node").select("id", "literal").distinct()

    def _pairs(self, seen: DataFrame) -> DataFrame | None:
        if self.tables.different is None:
            return None
        rows = self.tables.rows("pairs", "node", "kind", "neighbour").filter(F.col("kind") % 2 == 0)
        rows = self.tables.named(rows, id="node", other="neighbour").join(seen, "id")
        is_same = F.col("kind") == SAME
        within = rows.join(seen.select(F.col("id").alias("other"), F.lit(True).alias("is_in")), "other", "left")
        chosen = within.filter(is_same | F.col("is_in")).withColumn("what", F.when(is_same, "same").otherwise("different"))
        return _rows(chosen, F.col("what"), "node", F.lit(-1), F.col("neighbour"))

    def _values(self, seen: DataFrame) -> DataFrame | None:
        """Complex and negative assertions: each at its one individual, or at its subject where both are there."""
        tables = self.tables
        if tables.normal is None:
            return None
        ends = F.from_json("value", "array<string>")
        rows = tables.named(tables.normal.select("node", "value", "term"), id="node").join(seen, "id")
        rows = rows.withColumns({"what": ends[0], "subject": ends[2], "other": F.get(ends, F.lit(3))})
        is_pair = F.col("what") == "NegativeObjectPropertyAssertion"
        others = tables.named(tables.terms, other_id="node").join(seen.withColumnsRenamed({"id": "other_id"}), "other_id")
        chosen = rows.join(others.select(F.col("term").alias("other"), F.lit(True).alias("is_in")), "other", "left")
        chosen = chosen.filter(~is_pair | (F.col("term") == F.col("subject")) & F.col("is_in"))
        return _rows(chosen, "value", "node", F.lit(-1), None, "value")

    def kept(self) -> Iterator[owl.Assertion]:
        """See `abox_ops.engine.AddSet.kept`; in no particular order."""
        assertion = partial(_assertion, self.tables.rules, *self._vocabulary)
        return (assertion(row.asDict()) for row in self._named_rows.toLocalIterator())

    def frame(self) -> DataFrame:
        """A_add as triples: a DataFrame of N-Triples terms s, p, o."""
        return self._named_rows.mapInArrow(
            partial(_triples, self.tables.rules, *self._vocabulary), "s string, p string, o string"
        )

    @property
    def _vocabulary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = self.tables.whole.names
        return tuple(names.classes.values), tuple(names.data_properties.values)

    @property
    def _named_rows(self) -> DataFrame:
        """`rows` with the terms of both nodes; a remedy is at the first of the terms of its element."""
        terms, least = self.tables.terms, self.tables.least_terms
        rows = self.rows.filter(F.col("kind") != _REMEDY).join(terms, "node")
        placed = self.rows.filter(F.col("kind") == _REMEDY).join(least.withColumnsRenamed({"id": "node"}), "node")
        others = terms.withColumnsRenamed({"node": "other", "term": "other_term"})
        return rows.unionByName(placed).join(others, "other", "left")

    # --- modules -----------------------------------------------------------------------------------

    @cached_property
    def contradictory(self) -> list[tuple[str, ...]]:
        """See `abox_ops.engine.AddSet.contradictory`."""
        clashing = self.entered.vertices.filter("clashes").select("id", F.col("id").alias("component"))
        return sorted(elements[0] for elements in self.elements_of(clashing).values())

    @cached_property
    def modules(self) -> Sequence[NamedModule]:
        """See `abox_ops.engine.AddSet.modules`; all of them, on the driver."""
        members = self.elements_of(self.laid_out.members.select("component", "id"))
        records = self.laid_out.records.filter(F.col("what") == SHAPE)
        linked = records.filter("component IS NOT NULL").select("component", "body")
        found = {row.component: pickle.loads(row.body) for row in linked.toLocalIterator()}
        alone = self.laid_out.members.join(linked.select("component"), "component", "left_anti")
        for row in alone.toLocalIterator():
            positive, negative = label_of(row.label)
            found[row.component] = Module((positive,), (negative,))
        return sorted((NamedModule(module, members[i]) for i, module in found.items()), key=lambda m: m.elements[0][0])

    def members(self) -> list[tuple[str, ...]]:
        """The individuals of each module."""
        found = self.elements_of(self.laid_out.members.select("component", "id"))
        return sorted(map(flat, found.values()))

    def elements_of(self, chosen: DataFrame) -> dict[int, tuple[tuple[str, ...], ...]]:
        """The elements of each component of ``chosen`` (component, id), in order, by the terms of their individuals."""
        terms = self.tables.named(self.tables.terms, id="node").join(chosen, "id")
        rows = terms.groupBy("component", "id").agg(F.sort_array(F.collect_set("term")).alias("terms"))
        found: dict[int, list[tuple[str, ...]]] = {}
        for row in rows.collect():
            found.setdefault(row.component, []).append(tuple(row.terms))
        return {component: tuple(sorted(elements)) for component, elements in found.items()}


def flat(elements: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The individuals of ``elements``, in order."""
    return tuple(individual for element in elements for individual in element)


def _rows(rows: DataFrame, kind: str | Column, node: str, name: Column, other: Column | None = None, *texts: str) -> DataFrame:
    """The rows of A_add of one kind, in the columns of `GraphFramesAddSet.rows`."""
    number = (column.cast("bigint") for column in (name, F.lit(-1) if other is None else other))
    named = (column.alias(called) for column, called in zip(number, ("name", "other")))
    what = (F.lit(kind) if isinstance(kind, str) else kind).alias("kind")
    filled = (F.col(text) if text in texts else F.lit("").alias(text) for text in _TEXTS)
    return rows.select(what, F.col(node).alias("node"), *named, *filled)


# --- in tasks --------------------------------------------------------------------------------------


def _triples(
    rules: WorkerRules, classes: tuple[str, ...], properties: tuple[str, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        assertions = (_assertion(rules, classes, properties, row) for row in batch.to_pylist())
        lines = [line.removesuffix(" .").split(" ", 2) for assertion in assertions for line in assertion_lines(assertion)]
        columns = zip(*lines) if lines else ((),) * 3
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], ["s", "p", "o"])


def _assertion(
    rules: WorkerRules, classes: tuple[str, ...], properties: tuple[str, ...], row: Mapping[str, Any]
) -> owl.Assertion:
    """The assertion that a row of A_add with its terms stands for."""
    name, term, other = row["name"], row["term"], row["other_term"]
    match row["kind"]:
        case "class":
            return owl.ClassAssertion(owl.Class(classes[name]), term)
        case "role":
            return owl.ObjectPropertyAssertion(owl.ObjectProperty(rules.roles[name].iri), term, other)
        case "data":
            value = owl.Literal(row["lexical"], row["datatype"], row["language"])
            return owl.DataPropertyAssertion(owl.DataProperty(properties[name]), term, value)
        case "same":
            return owl.SameIndividual(term, other)
        case "different":
            return owl.DifferentIndividuals(term, other)
        case "remedy":
            atom = owl.Class(str(rules.tbox.atoms[name // 2]))
            return owl.ClassAssertion(owl.ObjectComplementOf(atom) if name % 2 else atom, term)
    found: owl.Assertion = decode(json.loads(row["value"]))
    return found

"""A_add where it lies: its rows as tables, written out as assertions when somebody looks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from abox_ops.engine import NamedModule
from jobs.graphframes.assertions import (
    CLASH,
    CLASS,
    DATA,
    DIFFERENT,
    ELEMENT,
    REMEDY,
    ROLE,
    SAME,
    VALUE,
    RowReader,
    Write,
)
from jobs.graphframes.core import running
from jobs.graphframes.literals import label_of
from jobs.graphframes.modules import ModuleTables, lay_out
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import LITERAL, UnionTables, frame, union
from jobs.spark.deciding import SHAPE
from shiq import model as owl
from shiq.clause import ClausalTBox
from shiq.columns.arrays import Ints
from shiq.columns.rows import SAME as IS_SAME
from shiq.ntriples import assertion_lines
from shiq.reasoner.protocol import Module


@dataclass(frozen=True, eq=False)
class GraphFramesAddSet:
    """A_add of one batch on tables; ``touched``: the nodes of its normalised insertions. The
    tables are there until the run's files are removed.
    """

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

    # --- A_add ------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> DataFrame:
        """A_add, a row for each assertion: kind, node, name, other (a node), and texts."""
        tables, entered = self.tables, self.entered
        seen = entered.vertices.select("id")
        free = entered.vertices.filter("NOT clashes").select("id")
        classes = tables.named(tables.rows("class_assertions", "node", "class"), id="node").join(
            seen, "id"
        )
        roles = entered.edges.filter("kept AND inside")
        data = entered.data.filter(F.col("property").isin(tables.features)).join(free, "id")
        remedies = entered.remedies.join(self._asserted, ["id", "literal"], "left_anti").join(
            tables.least_terms, "id"
        )
        return union(
            _rows(classes, CLASS, "node", F.col("class")),
            _rows(roles, ROLE, "subject", F.col("role"), F.col("object")),
            _rows(data, DATA, "node", F.col("property"), None, *LITERAL),
            self._pairs(seen),
            self._values(seen),
            _rows(remedies, REMEDY, "node", F.col("literal")),
        )

    @cached_property
    def _asserted(self) -> DataFrame:
        return (
            self.tables.named(self.tables.asserted(), id="node").select("id", "literal").distinct()
        )

    def _pairs(self, seen: DataFrame) -> DataFrame | None:
        if self.tables.different is None:
            return None
        rows = self.tables.rows("pairs", "node", "kind", "neighbour").filter(F.col("kind") % 2 == 0)
        rows = self.tables.named(rows, id="node", other="neighbour").join(seen, "id")
        is_same = F.col("kind") == IS_SAME
        within = rows.join(
            seen.select(F.col("id").alias("other"), F.lit(True).alias("is_in")), "other", "left"
        )
        chosen = within.filter(is_same | F.col("is_in")).withColumn(
            "what", F.when(is_same, SAME).otherwise(DIFFERENT)
        )
        return _rows(chosen, F.col("what"), "node", F.lit(-1), F.col("neighbour"))

    def _values(self, seen: DataFrame) -> DataFrame | None:
        """Complex and negative assertions: each at its one individual, or at its subject where
        both are there.
        """
        tables = self.tables
        if tables.normal is None:
            return None
        ends = F.from_json("value", "array<string>")
        rows = tables.named(tables.normal.select("node", "value", "term"), id="node").join(
            seen, "id"
        )
        rows = rows.withColumns(
            {"what": ends[0], "subject": ends[2], "other": F.get(ends, F.lit(3))}
        )
        is_pair = F.col("what") == "NegativeObjectPropertyAssertion"
        others = tables.named(tables.terms, other_id="node").join(
            seen.withColumnsRenamed({"id": "other_id"}), "other_id"
        )
        chosen = rows.join(
            others.select(F.col("term").alias("other"), F.lit(True).alias("is_in")), "other", "left"
        )
        chosen = chosen.filter(~is_pair | (F.col("term") == F.col("subject")) & F.col("is_in"))
        return _rows(chosen, VALUE, "node", F.lit(-1), None, "value")

    def kept(self) -> Iterator[owl.Assertion]:
        """See `abox_ops.engine.AddSet.kept`; in no particular order."""
        return (
            a
            for row in self._named_rows.toLocalIterator()
            for a in self._reader.assertions(row.asDict())
        )

    def frame(self) -> DataFrame:
        """A_add as triples: a DataFrame of N-Triples terms s, p, o."""
        lines = self._reader.lines(
            self._named_rows, lambda found, _: [line for a in found for line in assertion_lines(a)]
        )
        return triples_of(lines)

    @property
    def _reader(self) -> RowReader:
        return RowReader(self.tables.rules, tuple(self.tables.whole.names.classes.values))

    @property
    def _named_rows(self) -> DataFrame:
        """`rows` with the terms of both nodes."""
        terms = self.tables.terms
        others = terms.select(F.col("node").alias("other"), F.col("term").alias("other_term"))
        named = self.rows.join(terms, "node").join(others, "other", "left").drop("other")
        return named.withColumnRenamed("other_term", "other")

    # --- the reduced ontology ---------------------------------------------------------------------

    def running(self) -> AbstractContextManager[None]:
        """See `jobs.reduced.FarAddSet`."""
        return running(self.tables.spark, len(self.tables.whole.base) + self.insertions)

    def reduced_sample(self) -> list[owl.Assertion]:
        """See `jobs.reduced.FarAddSet`."""
        names = (
            self.laid_out.rows.filter(F.col("kind") != ELEMENT)
            .select("kind", "name", "datatype")
            .distinct()
        )
        some = dict.fromkeys(("term", "other", "lexical", "language"), "")
        return [
            a for row in names.collect() for a in self._reader.assertions({**some, **row.asDict()})
        ]

    def reduced_lines(self, write: Write) -> DataFrame:
        """See `jobs.reduced.FarAddSet`."""
        least = self.tables.least_terms.drop("node")
        clashes = (
            self.entered.vertices.filter("clashes")
            .join(least, "id")
            .select(F.lit(CLASH).alias("kind"), "term")
        )
        same = None
        if self.tables.names is not None:
            members = self.tables.names.withColumnsRenamed({"element": "id"}).join(
                self.entered.vertices, "id", "left_semi"
            )
            others = members.join(
                self.tables.terms.withColumnRenamed("term", "other"), "node"
            ).join(least, "id")
            same = others.filter("term <> other").select(F.lit(SAME).alias("kind"), "term", "other")
        return self._reader.lines(union(self.laid_out.rows, clashes, same), write)

    # --- modules ----------------------------------------------------------------------------------

    @cached_property
    def contradictory(self) -> list[tuple[str, ...]]:
        """See `abox_ops.engine.AddSet.contradictory`."""
        clashing = self.entered.vertices.filter("clashes").select(
            "id", F.col("id").alias("component")
        )
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
        return sorted(
            (NamedModule(module, members[i]) for i, module in found.items()),
            key=lambda m: m.elements[0][0],
        )

    def shapes_frame(self, shapes: list[str]) -> DataFrame:
        """The names of ``shapes`` (text), for `ModuleTables.those`."""
        return frame(self.tables.spark, {"text": shapes})

    def members(self) -> list[tuple[str, ...]]:
        """The individuals of each module."""
        found = self.elements_of(self.laid_out.members.select("component", "id"))
        return sorted(map(flat, found.values()))

    def elements_of(self, chosen: DataFrame) -> dict[int, tuple[tuple[str, ...], ...]]:
        """The elements of each component of ``chosen`` (component, id), in order, by the terms
        of their individuals.
        """
        terms = self.tables.named(self.tables.terms, id="node").join(chosen, "id")
        rows = terms.groupBy("component", "id").agg(
            F.sort_array(F.collect_set("term")).alias("terms")
        )
        found: dict[int, list[tuple[str, ...]]] = {}
        for row in rows.collect():
            found.setdefault(row.component, []).append(tuple(row.terms))
        return {component: tuple(sorted(elements)) for component, elements in found.items()}


def flat(elements: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """The individuals of ``elements``, in order."""
    return tuple(individual for element in elements for individual in element)


def _rows(
    rows: DataFrame,
    kind: str | Column,
    node: str,
    name: Column,
    other: Column | None = None,
    *texts: str,
) -> DataFrame:
    """The rows of A_add of one kind, in the columns of `GraphFramesAddSet.rows`."""
    number = (column.cast("bigint") for column in (name, F.lit(-1) if other is None else other))
    named = (column.alias(called) for column, called in zip(number, ("name", "other")))
    what = (F.lit(kind) if isinstance(kind, str) else kind).alias("kind")
    filled = (
        F.col(text) if text in texts else F.lit("").alias(text) for text in (*LITERAL, "value")
    )
    return rows.select(what, F.col(node).alias("node"), *named, *filled)


def triples_of(lines: DataFrame) -> DataFrame:
    """The terms (s, p, o) of N-Triples ``lines`` (line)."""
    terms = F.split("line", " ", 3)
    return lines.select(
        terms[0].alias("s"), terms[1].alias("p"), F.regexp_replace(terms[2], r" \.$", "").alias("o")
    )

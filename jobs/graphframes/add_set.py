"""A_add of a batch (the assertions that its check needs) as Spark tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from shiq import model as owl
from shiq.jobs.graphframes.core import tuned_session
from shiq.jobs.graphframes.messages import look_up
from shiq.jobs.graphframes.modules import ModuleTables
from shiq.jobs.graphframes.procedure import ProcedureTables
from shiq.jobs.graphframes.tables import (
    LineWriter,
    UnionTables,
    parse_assertions,
    rename_nodes,
    union_rows,
    write_lines,
)
from shiq.model.clause import ClausalTBox
from shiq.model.ntriples import assertion_lines


@dataclass(frozen=True, eq=False)
class GraphFramesAddSet:
    """A_add of one batch (the assertions that its check needs) on Spark tables; see
    `shiq.abox_ops.engine.AddSet`.

    An element is an individual, or several that are known to be equal. The tables exist until the
    run's files are removed.
    """

    tables: UnionTables
    procedure_tables: ProcedureTables
    module_tables: ModuleTables
    tbox: ClausalTBox
    insertions: int
    size: int
    pulled_in: int

    # --- A_add ------------------------------------------------------------------------------------

    @property
    def _assertion_rows(self) -> DataFrame:
        """Rows of the assertions of A_add, with the columns that `parse_assertions` reads."""
        tables, remedies = self.tables, self.procedure_tables.remedies.filter("NOT asserted")
        rows = union_rows(
            self.module_tables.facts.filter("is_kept").drop("term"),
            rename_nodes(remedies, tables.first_nodes, node="id").selectExpr(
                "'element' AS kind", "node", "CAST(literal AS STRING) AS lexical"
            ),
        )
        return look_up(rows.join(tables.terms, "node"), tables.terms, other="other")

    def kept_assertions(self) -> Iterator[owl.Assertion]:
        """Iterate over the assertions of A_add, in no particular order."""
        rows = (row.asDict() for row in self._assertion_rows.toLocalIterator())
        return chain.from_iterable(parse_assertions(self.tables.rules, row) for row in rows)

    def frame(self) -> DataFrame:
        """A_add as a DataFrame of N-Triples terms s, p, o."""
        lines = write_lines(
            self.tables.rules,
            self._assertion_rows,
            lambda found, _: [line for a in found for line in assertion_lines(a)],
        )
        return parse_triples(lines)

    # --- the reduced ontology ---------------------------------------------------------------------

    def running(self) -> AbstractContextManager[None]:
        """Context manager: Spark settings that suit jobs over tables of this size."""
        return tuned_session(self.tables.files.spark, len(self.tables.view.base) + self.insertions)

    def reduced_sample(self) -> list[owl.Assertion]:
        """Sample of the add set's assertions with at least one for every property and datatype of
        the reduced ontology, from which these are declared.
        """
        rows = self.module_tables.rows.filter("kind <> 'element'")
        some = dict.fromkeys(("term", "other", "lexical", "language"), "")
        return [
            a
            for row in rows.select("kind", "name", "datatype").distinct().collect()
            for a in parse_assertions(self.tables.rules, {**some, **row.asDict()})
        ]

    def reduced_lines(self, write: LineWriter) -> DataFrame:
        """DataFrame with the column ``line``: the lines that ``write`` makes of the assertions of
        the reduced ontology.
        """
        tables, members = self.tables, self.module_tables.members
        clashes = members.filter("component IS NULL").selectExpr("'clash' AS kind", "term")
        names = tables.elements.toDF("node", "id").join(tables.terms.toDF("node", "other"), "node")
        same = names.join(members, "id").filter("term <> other").withColumn("kind", F.lit("same"))
        rows = union_rows(
            self.module_tables.rows.distinct(), clashes, same.select("kind", "term", "other")
        )
        return write_lines(tables.rules, rows, write)

    # --- modules ----------------------------------------------------------------------------------

    @cached_property
    def contradictory(self) -> list[tuple[str, ...]]:
        """Elements whose label contradicts itself, each as the terms of its individuals."""
        clashing = self.procedure_tables.vertices.filter("clashes").selectExpr(
            "id", "id AS component"
        )
        return sorted(elements[0] for elements in self.elements_of(clashing).values())

    def members(self) -> list[tuple[str, ...]]:
        """Individuals of each module, as N-Triples terms."""
        found = self.elements_of(self.module_tables.members.filter("component IS NOT NULL"))
        return sorted(tuple(chain(*elements)) for elements in found.values())

    def elements_of(self, chosen: DataFrame) -> dict[int, tuple[tuple[str, ...], ...]]:
        """Collect the elements of each component in ``chosen`` (component, id), each as the sorted
        terms of its individuals.
        """
        terms = F.sort_array(F.collect_set("term")).alias("terms")
        elements = F.sort_array(F.collect_list("terms")).alias("elements")
        named = rename_nodes(self.tables.terms, self.tables.elements, id="node")
        rows = named.join(chosen.select("component", "id"), "id")
        found = rows.groupBy("component", "id").agg(terms).groupBy("component").agg(elements)
        return {row.component: tuple(map(tuple, row.elements)) for row in found.collect()}


def parse_triples(lines: DataFrame) -> DataFrame:
    """Split the N-Triples ``lines`` (line) into their terms (s, p, o)."""
    terms = F.split("line", " ", 3)
    return lines.select(
        terms[0].alias("s"), terms[1].alias("p"), F.regexp_replace(terms[2], r" \.$", "").alias("o")
    )

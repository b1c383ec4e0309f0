"""A_add where it lies: its rows as tables, written out as assertions when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.graphframes.assertions import RowReader, Write
from jobs.graphframes.core import running
from jobs.graphframes.modules import ModuleTables, lay_out
from jobs.graphframes.procedure import EnteredTables
from jobs.graphframes.tables import UnionTables, frame, renamed, union
from shiq import model as owl
from shiq.clause import ClausalTBox
from shiq.columns.arrays import Ints
from shiq.ntriples import assertion_lines


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
        return self._rows.count()

    @cached_property
    def pulled_in(self) -> int:
        """How many elements entered that the batch does not touch."""
        touched = frame(self.tables.spark, {"node": self.touched})
        touched = renamed(touched, self.tables.names, id="node")
        return self.entered.vertices.join(touched, "id", "left_anti").count()

    @cached_property
    def laid_out(self) -> ModuleTables:
        """The modules."""
        return lay_out(self.tables, self.entered, self.most_module, self.audit)

    # --- A_add ------------------------------------------------------------------------------------

    @property
    def _rows(self) -> DataFrame:
        """A_add, a row for each assertion: kind, node, other (a node), name, and texts."""
        remedies = self.entered.remedies.filter("NOT asserted")
        remedies = renamed(remedies, self.tables.first_names, node="id")
        return union(
            self.laid_out.facts.filter("is_kept").drop("term"),
            remedies.selectExpr("'remedy' AS kind", "node", "literal AS name"),
        )

    @property
    def _named_rows(self) -> DataFrame:
        """`_rows` with the terms of both nodes."""
        terms = self.tables.terms
        named = self._rows.join(terms, "node").join(terms.toDF("other", "_other"), "other", "left")
        return named.drop("other").withColumnRenamed("_other", "other")

    def kept(self) -> Iterator[owl.Assertion]:
        """See `abox_ops.engine.AddSet.kept`; in no particular order."""
        rows = (row.asDict() for row in self._named_rows.toLocalIterator())
        return chain.from_iterable(map(self._reader.assertions, rows))

    def frame(self) -> DataFrame:
        """A_add as triples: a DataFrame of N-Triples terms s, p, o."""
        lines = self._reader.lines(
            self._named_rows, lambda found, _: [line for a in found for line in assertion_lines(a)]
        )
        return triples_of(lines)

    @property
    def _reader(self) -> RowReader:
        return RowReader(self.tables.rules, tuple(self.tables.whole.names.classes.values))

    # --- the reduced ontology ---------------------------------------------------------------------

    def running(self) -> AbstractContextManager[None]:
        """See `jobs.reduced.FarAddSet`."""
        return running(self.tables.spark, len(self.tables.whole.base) + self.insertions)

    def reduced_sample(self) -> list[owl.Assertion]:
        """See `jobs.reduced.FarAddSet`."""
        rows = self.laid_out.rows.filter("kind <> 'element'")
        names = rows.select("kind", "name", "datatype").distinct()
        some = dict.fromkeys(("term", "other", "lexical", "language"), "")
        return [
            a for row in names.collect() for a in self._reader.assertions({**some, **row.asDict()})
        ]

    def reduced_lines(self, write: Write) -> DataFrame:
        """See `jobs.reduced.FarAddSet`."""
        members = self.laid_out.members
        clashes = members.filter("component IS NULL").selectExpr("'clash' AS kind", "term")
        names = self.tables.names.toDF("node", "id").join(
            self.tables.terms.toDF("node", "other"), "node"
        )
        same = names.join(members, "id").filter("term <> other")
        same = same.selectExpr("'same' AS kind", "term", "other")
        return self._reader.lines(union(self.laid_out.rows.distinct(), clashes, same), write)

    # --- modules ----------------------------------------------------------------------------------

    @cached_property
    def contradictory(self) -> list[tuple[str, ...]]:
        """See `abox_ops.engine.AddSet.contradictory`."""
        clashing = self.entered.vertices.filter("clashes").selectExpr("id", "id AS component")
        return sorted(elements[0] for elements in self.elements_of(clashing).values())

    def members(self) -> list[tuple[str, ...]]:
        """The individuals of each module."""
        chosen = self.laid_out.members.filter("component IS NOT NULL").select("component", "id")
        return sorted(tuple(chain(*elements)) for elements in self.elements_of(chosen).values())

    def members_of(self, *shapes: str) -> DataFrame:
        """(component, id) of the members of the modules that have one of ``shapes``."""
        return self.laid_out.members_of(frame(self.tables.spark, {"shape": [*shapes]}))

    def elements_of(self, chosen: DataFrame) -> dict[int, tuple[tuple[str, ...], ...]]:
        """The elements of each component of ``chosen`` (component, id), in order, by the terms
        of their individuals.
        """
        terms = renamed(self.tables.terms, self.tables.names, id="node").join(chosen, "id")
        rows = terms.groupBy("component", "id").agg(
            F.sort_array(F.collect_set("term")).alias("terms")
        )
        found: dict[int, list[tuple[str, ...]]] = {}
        for row in rows.collect():
            found.setdefault(row.component, []).append(tuple(row.terms))
        return {component: tuple(sorted(elements)) for component, elements in found.items()}


def triples_of(lines: DataFrame) -> DataFrame:
    """The terms (s, p, o) of N-Triples ``lines`` (line)."""
    terms = F.split("line", " ", 3)
    return lines.select(
        terms[0].alias("s"), terms[1].alias("p"), F.regexp_replace(terms[2], r" \.$", "").alias("o")
    )

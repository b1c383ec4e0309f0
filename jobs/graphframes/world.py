"""A ∪ A⁺ as a graph of elements: vertices with labels, role assertions as edges; told literals and equalities at the fixpoint."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import FRESH
from abox_ops.elements.normal import normalise
from abox_ops.elements.partition import StoredPartition
from abox_ops.elements.union_view import UnionView
from abox_ops.labels.columns import Calculus, distinct_values
from abox_ops.labels.numbered import EMPTY_ID
from jobs.graphframes.components import components
from jobs.graphframes.equalities import entailed_equal
from jobs.graphframes.frames import frame, members, renamed, role_assertions, rows_of, settled
from jobs.graphframes.rules import NOTHING_TOLD, WorkerCalculus, joined_text, label_text
from jobs.graphframes.told import told
from shiq import model as owl
from shiq.columns.arrays import Columns, Ints, unique
from shiq.columns.rows import DIFFERENT, SAME
from shiq.roles import RoleBox


def _joined(labels: Column) -> Column:
    return F.udf(lambda texts: joined_text(texts), "string")(labels)  # noqa: PLW0108  (no type hints: Spark would read them)


class World:
    """``vertices``: id, label (told⁺ where active, else told), old (told in A), said (asserted or refuted by data beyond ``old``;
    null if nothing), active, fresh (a fresh individual is in it, or A⁺ made it of several elements of A).
    ``edges``: src, dst, role (not inverted), inserted; each once. An element is named by its least node.
    """

    def __init__(
        self,
        spark: SparkSession,
        whole: UnionView,
        roles: RoleBox,
        calculus: Calculus,
        equal: StoredPartition,
        vertices: DataFrame,
        *,
        all_said: bool,
        by_data: bool = True,
    ) -> None:
        """``vertices``: id, old of every element of A. ``all_said``: T says more than it did when ``old`` was made, or nothing is
        told yet, so what A asserts is looked at again. ``by_data``: data assertions say something too: what they refute."""
        self.spark, self.whole, self.roles, self.calculus = spark, whole, roles, calculus
        self.rules = WorkerCalculus(calculus.tbox, tuple(calculus.roles))
        self._names = {m: g for m, g in zip(*(column.tolist() for column in members(equal))) if m != g}
        fresh = unique(np.concatenate([t.columns["node"] for t in whole.inserted.values()]))
        fresh = fresh[fresh >= FRESH]
        said = self._said(all_said=all_said, by_data=by_data)
        vertices = vertices.select("id", "old", F.lit(False).alias("fresh"))
        if len(fresh):
            more = frame(spark, {"id": fresh}).select("id", F.lit(NOTHING_TOLD).alias("old"), F.lit(True).alias("fresh"))
            vertices = vertices.unionByName(more)
        if said is not None:
            said = renamed(said, self._frame(), "id").groupBy("id").agg(_joined(F.collect_set("said")).alias("said"))
            vertices = vertices.join(said, "id", "left")
        else:
            vertices = vertices.withColumn("said", F.lit(None).cast("string"))
        vertices = vertices.withColumn("label", F.col("old")).withColumn("active", F.lit(False))
        self.vertices = settled(vertices)
        self.edges = settled(self._quotient(role_assertions(spark, whole)))
        self._different = self._pairs_apart()
        pairs = whole.inserted["pairs"].columns
        same = pairs["kind"] == SAME
        self.merge(*components(spark, self.of(pairs["node"][same]), self.of(pairs["neighbour"][same])))

    # --- elements ----------------------------------------------------------------------------------

    def of(self, nodes: Ints) -> Ints:
        """The element of each node."""
        if not self._names:
            return nodes
        names = self._names
        return np.fromiter((names.get(n, n) for n in nodes.tolist()), np.int64, len(nodes))

    def classes(self) -> tuple[Ints, Ints]:
        """(node, element) for nodes that do not name their own element."""
        return np.array(list(self._names), np.int64), np.array(list(self._names.values()), np.int64)

    def _frame(self) -> DataFrame | None:
        if not self._names:
            return None
        member, name = self.classes()
        return frame(self.spark, {"member": member, "name": name})

    def ids(self, elements: Ints) -> DataFrame:
        """``elements`` as a table: id."""
        return frame(self.spark, {"id": unique(elements)})

    def _quotient(self, edges: DataFrame) -> DataFrame:
        edges = renamed(edges, self._frame(), "src", "dst")
        return edges.groupBy("src", "dst", "role").agg(F.max("inserted").alias("inserted"))

    def merge(self, element: Ints, name: Ints) -> None:
        """Makes each of ``element`` and ``name`` one, under that name; the whole is active."""
        apart = element != name
        if not apart.any():
            return
        new = dict(zip(element[apart].tolist(), name[apart].tolist()))
        self._names = {m: new.get(n, n) for m, n in self._names.items()} | new
        names = frame(self.spark, {"member": np.array(list(new), np.int64), "name": np.array(list(new.values()), np.int64)})
        grown = F.broadcast(names.select(F.col("name").alias("id")).distinct().withColumn("grown", F.lit(True)))
        vertices = renamed(self.vertices, names, "id").join(grown, "id", "left")
        together = (
            vertices.filter("grown")
            .groupBy("id")
            .agg(
                _joined(F.collect_set("old")).alias("old"),
                _joined(F.collect_set("label")).alias("label"),
                _joined(F.collect_set("said")).alias("said"),
            )
            .select("id", "old", "label", "said", F.lit(True).alias("active"), F.lit(True).alias("fresh"))
        )
        alone = vertices.filter("grown is null").select(*together.columns)
        self.vertices = settled(alone.unionByName(together))
        edges = renamed(self.edges, names, "src", "dst")
        self.edges = settled(edges.groupBy("src", "dst", "role").agg(F.max("inserted").alias("inserted")))

    # --- what is asserted --------------------------------------------------------------------------

    def _said(self, *, all_said: bool, by_data: bool) -> DataFrame | None:
        """(id: node, said: label) for class assertions, and what data refute; None if there is nothing."""
        spark, whole = self.spark, self.whole
        classes: Columns = dict(whole.inserted["class_assertions"].columns)
        parts: list[DataFrame] = []
        if all_said and len(whole.base.table("class_assertions")):
            parts.append(rows_of(spark, whole.base.table("class_assertions"), ("node", "class")))
        if len(classes["node"]):
            parts.append(frame(spark, {name: classes[name] for name in ("node", "class")}))
        found: list[DataFrame] = []
        for part in parts:
            found.append(part.join(F.broadcast(self._class_labels()), "class").select(F.col("node").alias("id"), "said"))
        refuted = self._refuted(all_said=all_said) if by_data else ()
        rare = [*refuted, *self._complex(all_said=all_said)]
        if rare:
            columns = {"id": np.array([node for node, _ in rare], np.int64), "said": [text for _, text in rare]}
            found.append(frame(spark, columns))
        if not found:
            return None
        rows = found[0]
        for more in found[1:]:
            rows = rows.unionByName(more)
        return rows

    def _class_labels(self) -> DataFrame:
        """(class, said) for the classes that T or an assertion knows."""
        calculus = self.calculus
        known: list[tuple[int, str]] = []
        for i in range(len(calculus.names.classes.values)):
            try:
                label = int(calculus.class_labels(np.array([i]))[0])
            except KeyError:  # named by an assertion that was deleted
                continue
            known.append((i, label_text(calculus.table.labels[label])))
        return frame(self.spark, {"class": np.array([i for i, _ in known], np.int64), "said": [text for _, text in known]})

    def _refuted(self, *, all_said: bool) -> Iterable[tuple[int, str]]:
        calculus, whole = self.calculus, self.whole
        chunks = whole.scan("data_assertions") if all_said else [dict(whole.inserted["data_assertions"].columns)]
        for rows in chunks:
            if not len(rows["node"]):
                continue
            values, inverse = distinct_values(rows)
            labels = calculus.refuted(values, whole.literals_of(values["literal"]))[inverse]
            said = labels != EMPTY_ID
            for node, label in zip(rows["node"][said].tolist(), labels[said].tolist()):
                yield node, label_text(calculus.table.labels[label])

    def _complex(self, *, all_said: bool) -> Iterable[tuple[int, str]]:
        """The literals that complex assertions come to."""
        assertions: dict[owl.Assertion, None] = {}
        for rows in self.whole.base.table("complex").scan() if all_said and len(self.whole.base.table("complex")) else ():
            assertions.update(dict.fromkeys(self.whole.base.complex_of(rows)))
        assertions.update(dict.fromkeys(self.whole.inserted_complex()))
        found: list[tuple[int, str]] = []
        for assertion in assertions:
            for plain in normalise(assertion, self.roles).assertions:
                match plain:
                    case owl.ClassAssertion(owl.Class(iri), individual):
                        literal = (iri, True)
                    case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), individual):
                        literal = (iri, False)
                    case _:
                        continue
                node = int(self.whole.nodes_of([individual])[0])
                found.append((node, label_text(self.calculus.table.labels[self.calculus.literal(*literal)])))
        return found

    def _pairs_apart(self) -> DataFrame | None:
        """(first, second): nodes that are asserted to be different."""
        base, inserted = self.whole.base.table("pairs"), self.whole.inserted["pairs"]
        names = ("node", "kind", "neighbour")
        parts = [rows_of(self.spark, base, names)] if len(base) else []
        parts += [frame(self.spark, {name: inserted.columns[name] for name in names})] if len(inserted) else []
        if not parts:
            return None
        rows = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
        rows = rows.filter(F.col("kind") == DIFFERENT).select(F.col("node").alias("first"), F.col("neighbour").alias("second"))
        rows = settled(rows)
        return None if rows.isEmpty() else rows

    # --- told⁺ -------------------------------------------------------------------------------------

    def activate(self, ids: DataFrame) -> None:
        """Makes the elements of ``ids`` active too."""
        chosen = ids.select("id").distinct().withColumn("chosen", F.lit(True))
        active = F.col("active") | F.coalesce("chosen", F.lit(False))
        self.vertices = settled(self.vertices.join(chosen, "id", "left").withColumn("active", active).drop("chosen"))

    def saturate(self) -> None:
        """Brings the labels of the active elements to the fixpoint, with the equalities that they entail:
        `abox_ops.told.reference`.

        Stops because labels grow within finitely many literals and elements only merge.
        """
        while True:
            active = self.taken_in().filter("active").select("id", "label")
            found = told(self.rules, active, self.edges)
            after = self.vertices.join(found.withColumnRenamed("label", "now"), "id", "left")
            self.vertices = settled(after.withColumn("label", F.coalesce("now", "label")).drop("now"))
            element, name = entailed_equal(self.spark, self.rules, self.vertices, self.edges)
            if not (element != name).any():
                return
            self.merge(element, name)

    def taken_in(self) -> DataFrame:
        """The vertices with what is asserted of them in their labels; a clash where two members are different."""
        vertices = self.vertices
        clash: list[DataFrame] = []
        if self._different is not None:
            rows = renamed(self._different, self._frame(), "first", "second")
            text = label_text(self.calculus.space.clash)
            clash = [rows.filter("first = second").select(F.col("first").alias("id"), F.lit(text).alias("clash")).distinct()]
        for rows in clash:
            vertices = vertices.join(rows, "id", "left")
        said = [F.col("said"), *([F.col("clash")] if clash else [])]
        label = F.when(F.coalesce(*said).isNotNull(), _joined(F.array("label", *said))).otherwise(F.col("label"))
        return vertices.withColumn("label", label)

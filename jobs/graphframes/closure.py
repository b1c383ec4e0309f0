"""A_add under the clausal criterion by message passing: the closure of `abox_ops.clausal.reference` (THEORY, "The add set"), step
by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.index.columns import Index
from abox_ops.index.touched import Touched
from abox_ops.labels.calculus import Label
from abox_ops.labels.seen import below, seen_roles
from jobs.graphframes.counting import as_frame, merge_classes
from jobs.graphframes.frames import collected, frame, settled
from jobs.graphframes.reach import both_ways, reached
from jobs.graphframes.rules import label_of
from jobs.graphframes.world import World
from shiq.columns.arrays import Columns, Ints, take, unique
from shiq.model import Literal


@dataclass(frozen=True)
class ClosureFrames:
    """A closure by element: ``seen`` (I), ``labels`` (told⁺ of I and of the touched, by element), ``touched``; ``edges``: role
    assertions of I that are kept (source, role, target); ``data``: data rows of I that are kept (node, property, literal);
    ``classes``: (node, element) of the nodes that do not name their own element."""

    seen: Ints
    labels: dict[int, Label]
    touched: Ints
    edges: Columns
    data: Columns
    classes: tuple[Ints, Ints]


class ClosureRun:
    """One run for one batch."""

    def __init__(self, index: Index, world: World, touched: Touched) -> None:
        self.world, self.touched = world, touched
        roles = world.calculus.tbox.roles
        self.axiom_roles = seen_roles(roles)
        self.negated_roles = below(index.negated_roles | touched.negated_roles, roles)
        properties = index.negated_properties | touched.negated_properties
        self.negated_properties = frozenset(q for p in properties for q in roles.data_subproperties(p))

    def run(self) -> ClosureFrames:
        """See `abox_ops.clausal.reference`: told⁺, merge classes, the start of I, its closure; again with what came in, until
        stable."""
        world = self.world
        world.activate(world.ids(world.of(self.touched.nodes)))
        seen = np.zeros(0, np.int64)
        while True:
            world.saturate()
            self.classes = merge_classes(world)
            edges = settled(self._edges())
            start = self._start(edges).union(world.ids(world.of(seen)))
            crossing = edges.filter(F.col("relevant") | (F.col("seen") & F.col("shares")))
            found = np.sort(collected(reached(start, both_ways(crossing)).select("id"))["id"])
            active = collected(world.vertices.filter("active").select("id"))["id"]
            if np.isin(found, active).all():
                # Once more, as the reference goes, would change nothing: no element has become active.
                return self._result(found, edges)
            seen = found
            world.activate(world.ids(seen))

    # --- role assertions ---------------------------------------------------------------------------

    def _edges(self) -> DataFrame:
        """The role assertions: src, dst, role, inserted; relevant; seen (by a disjointness, asymmetry or irreflexivity axiom or a
        negative assertion); shares (an end may be equal to another element)."""
        world, rules = self.world, self.world.rules
        ends = world.vertices.select("id", "label", (F.col("active") & F.col("fresh")).alias("shares"))
        noted = as_frame(world, self.classes)
        if noted is None:
            ends = ends.withColumn("full", F.lit(""))
        else:
            ends = ends.join(F.broadcast(noted), "id", "left").select(
                "id",
                "label",
                (F.col("shares") | F.coalesce("shared", F.lit(False))).alias("shares"),
                F.coalesce("full", F.lit("")).alias("full"),
            )
        edges = world.edges
        for end in ("src", "dst"):
            edges = edges.join(ends.withColumnsRenamed({"id": end, **{c: f"{end}_{c}" for c in ends.columns[1:]}}), end)
        relevant = rules.relevant(*(F.col(c) for c in ("role", "src_label", "src_full", "dst_label", "dst_full")))
        edges = edges.select(
            "src",
            "dst",
            "role",
            "inserted",
            relevant.alias("relevant"),
            F.col("role").isin(rules.numbers(self.axiom_roles)).alias("seen"),
            (F.col("src_shares") | F.col("dst_shares")).alias("shares"),
        )
        return self._negated(edges)

    def _negated(self, edges: DataFrame) -> DataFrame:
        """``edges``, those seen too that meet a negative role assertion between the merge classes of their ends."""
        world, rules = self.world, self.world.rules
        if not world.negative_edges:
            return edges
        place = {m: min(members) for m, members in self.classes.members.items()}
        met: set[tuple[int, int, int]] = set()
        for a, role, b in world.negative_edges:
            x, y = world.of(np.array([a, b], np.int64)).tolist()
            for r in rules.numbers(rules.tbox.roles.subroles(role)):
                met.add((place.get(x, x), r, place.get(y, y)))
        columns = list(zip(*sorted(met))) or [(), (), ()]
        names = ("src_class", "role", "dst_class")
        negative = frame(world.spark, {n: np.array(c, np.int64) for n, c in zip(names, columns)}).withColumn("met", F.lit(True))
        if place:
            columns_ = {"id": np.array(list(place), np.int64), "class": np.array(list(place.values()), np.int64)}
            names_ = frame(world.spark, columns_)
        for end in ("src", "dst"):
            if place:
                edges = edges.join(F.broadcast(names_.withColumnsRenamed({"id": end, "class": f"{end}_class"})), end, "left")
                edges = edges.withColumn(f"{end}_class", F.coalesce(f"{end}_class", end))
            else:
                edges = edges.withColumn(f"{end}_class", F.col(end))
        edges = edges.join(F.broadcast(negative), ["src_class", "role", "dst_class"], "left")
        return edges.withColumn("seen", F.col("seen") | F.coalesce("met", F.lit(False))).drop("met", "src_class", "dst_class")

    # --- I -----------------------------------------------------------------------------------------

    def _start(self, edges: DataFrame) -> DataFrame:
        """The touched elements that a check must see, and those that A⁺ makes or enlarges: id."""
        world = self.world
        changed = world.rules.visible_differs(F.col("label"), F.col("old"))
        started = world.vertices.filter("active").filter(F.col("fresh") | changed).select("id")
        kept = edges.filter(F.col("inserted") & (F.col("relevant") | F.col("seen")))
        started = started.union(kept.select(F.explode(F.array("src", "dst")).alias("id")))
        rows = self._undecided(self.touched.data)
        return started.union(world.ids(np.concatenate([world.of(self.touched.always), world.of(rows["node"])])))

    # --- data --------------------------------------------------------------------------------------

    def _undecided(self, rows: Columns) -> Columns:
        """The data ``rows`` that are not decided at their element (THEORY, "The add set": data)."""
        calculus, world = self.world.calculus, self.world
        names = calculus.names.data_properties.values
        never = calculus.data.disjoint | self.negated_properties
        asked = never | calculus.bounded_properties
        chosen = np.fromiter((p in asked for p in names), np.bool_, len(names))[rows["property"]]
        rows = {name: take(column, np.flatnonzero(chosen)) for name, column in rows.items()}
        if not len(rows["node"]):
            return rows
        elements = world.of(rows["node"])
        labels, values = self._about(elements)
        literals = world.whole.literals_of(rows["literal"])
        kept = []
        for element, p, literal in zip(elements.tolist(), rows["property"].tolist(), literals):
            members = self.classes.of(element)
            kept.append(
                not calculus.data.is_decided(
                    names[p],
                    literal,
                    labels[element],
                    lambda members=members: [(labels[m], values[m]) for m in members],  # type: ignore[misc]
                    self.negated_properties,
                )
            )
        return {name: take(column, np.flatnonzero(np.array(kept, np.bool_))) for name, column in rows.items()}

    def _about(self, elements: Ints) -> tuple[dict[int, Label], dict[int, set[tuple[str, Literal]]]]:
        """Label and data of every element of the merge classes of ``elements``."""
        world = self.world
        everyone = np.array(sorted({m for e in set(elements.tolist()) for m in self.classes.of(e)}), np.int64)
        rows = collected(world.vertices.join(F.broadcast(world.ids(everyone)), "id").select("id", "label"))
        labels = {e: label_of(text) for e, text in zip(rows["id"].tolist(), rows["label"])}
        values: dict[int, set[tuple[str, Literal]]] = {e: set() for e in everyone.tolist()}
        found = world.whole.rows_of("data_assertions", members_of(world.classes(), everyone))
        names = world.calculus.names.data_properties.values
        literals = world.whole.literals_of(found["literal"])
        for e, p, value in zip(world.of(found["node"]).tolist(), found["property"].tolist(), literals):
            values[e].add((names[p], value))
        return labels, values

    # --- A_add -------------------------------------------------------------------------------------

    def _result(self, seen: Ints, edges: DataFrame) -> ClosureFrames:
        world = self.world
        rows = collected(world.vertices.filter("active").select("id", "label"))
        labels = {e: label_of(text) for e, text in zip(rows["id"].tolist(), rows["label"])}
        inside = world.ids(seen)
        kept = edges.filter(F.col("relevant") | F.col("seen")).select("src", "role", "dst")
        for end in ("src", "dst"):
            kept = kept.join(inside.withColumnRenamed("id", end), end, "left_semi")
        found = collected(kept)
        nodes = members_of(world.classes(), seen)
        data = self._undecided(world.whole.rows_of("data_assertions", nodes)) if self._any_data() else no_data()
        return ClosureFrames(
            seen,
            labels,
            unique(world.of(self.touched.nodes)),
            {"source": found["src"], "role": found["role"], "target": found["dst"]},
            {name: data[name] for name in ("node", "property", "literal")},
            world.classes(),
        )

    def _any_data(self) -> bool:
        return bool(self.world.calculus.bounded_properties | self.world.calculus.data.disjoint | self.negated_properties)


def no_data() -> Columns:
    return {name: np.zeros(0, np.int64) for name in ("node", "property", "literal")}


def members_of(classes: tuple[Ints, Ints], elements: Ints) -> Ints:
    """The nodes of ``elements``, ascending. ``classes``: (node, element) of those that do not name their own."""
    node, element = classes
    return unique(np.concatenate([elements, node[np.isin(element, elements)]]))

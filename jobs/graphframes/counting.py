"""Merge classes (THEORY, "Irrelevant role assertions"): Spark finds where a ≤n may be broken at all, the reference counts there.

Which elements can be overfull by themselves is bounded from above by message counts, without asking which needs are met. From
those on, `abox_ops.counting.reference` is run over the neighbourhoods that matter, fetched as far as its classes reach: an
element whose neighbourhood was not fetched is alone in its class and within its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.counting.reference import Counts
from abox_ops.elements.reference import ElementGraph
from abox_ops.labels.calculus import EMPTY, Label
from abox_ops.labels.needs import Needs
from jobs.graphframes.frames import collected, frame, settled
from jobs.graphframes.rules import Rules, label_of
from jobs.graphframes.world import World


@dataclass(frozen=True)
class MergeClassFrames:
    """``members``: of every merge class that has more than one, by each of its elements; ``full``: the clauses (by index, sorted)
    that may be broken at an element, where any may."""

    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    full: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def of(self, element: int) -> tuple[int, ...]:
        """The members of the class of ``element``."""
        return self.members.get(element, (element,))


def merge_classes(world: World) -> MergeClassFrames:
    """The merge classes of A ∪ A⁺ under the present labels."""
    rules = world.rules
    if not rules.space.m_type:
        return MergeClassFrames()
    needs = Needs(rules.space)
    half = _half_edges(world)
    todo = _candidates(world, needs, half)
    known: set[int] = set()
    neighbours: dict[int, set[tuple[int, int]]] = {}
    labels: dict[int, Label] = {}
    while todo:
        _fetch(world, half, todo, neighbours, labels)
        known |= todo
        counts = _counts(rules, needs, neighbours, labels)
        classes = [tuple(int(m) for m in members) for _, members in counts.classes.classes()]
        todo = {m for members in classes for m in members} - known
    if not known:
        return MergeClassFrames()
    members = {m: found for found in classes for m in found}
    full = {
        element: broken
        for element in known
        if (broken := tuple(c.index for c in rules.space.m_type if not counts.is_within(_name(element), c)))
    }
    return MergeClassFrames(members, full)


def _half_edges(world: World) -> DataFrame:
    """(x, role, y), each role assertion from both ends, once; with the label of y."""
    edges = world.edges
    rows = edges.select(F.col("src").alias("x"), "role", F.col("dst").alias("y")).union(
        edges.select(F.col("dst").alias("x"), (F.col("role") + 1).alias("role"), F.col("src").alias("y"))
    )
    labels = world.vertices.select(F.col("id").alias("y"), "label")
    return settled(rows.join(labels, "y"))


def _candidates(world: World, needs: Needs, half: DataFrame) -> set[int]:
    """Elements where some m-type clause is active and E, with everything that might be generated, exceeds its bound."""
    rules, spark = world.rules, world.spark
    texts = collected(world.vertices.select("label").distinct())["label"]
    labels = [(text, label_of(text)) for text in texts]
    found: set[int] = set()
    for clause in rules.space.m_type:
        below = rules.below(clause)
        takers = [a for a in rules.space.at_least.values() if a.role.inverse in below]
        slack: list[tuple[str, int, bool]] = []
        for text, label in labels:
            if not clause.decided_at_centre(label):
                needed = needs.needed(label)
                more = sum(n.n for n in needed if n.role in below) + (sum(n.n for n in needed) if takers else 0)
                slack.append((text, more, bool(takers)))
        if not slack:
            continue
        counted = {text for text, label in labels if not clause.branch_body & label[1]}
        asking = {text for text, label in labels if takers and any(t in needs.needed(label) for t in takers)}
        roles = rules.numbers(below)
        flagged = {name: np.array([t in texts_ for t in texts]) for name, texts_ in (("counts", counted), ("asks", asking))}
        per_label = frame(spark, {"label": texts, **flagged})
        ends = half.join(F.broadcast(per_label), "label")
        element = F.when(F.col("role").isin(roles) & F.col("counts"), F.col("y"))
        near = ends.groupBy("x").agg(
            F.count_distinct(element).alias("told"),
            F.count_distinct(F.when(F.col("asks") & (F.col("x") != F.col("y")), F.col("y"))).alias("asking"),
        )
        active = frame(spark, {"label": [t for t, _, _ in slack], "slack": np.array([n for _, n, _ in slack], np.int64)})
        at = world.vertices.select(F.col("id").alias("x"), "label").join(F.broadcast(active), "label").join(near, "x", "left")
        total = F.col("slack") + F.coalesce("told", F.lit(0)) + F.coalesce("asking", F.lit(0))
        found |= set(collected(at.filter(total > clause.n).select("x"))["x"].tolist())
    return found


def _fetch(
    world: World, half: DataFrame, elements: set[int], neighbours: dict[int, set[tuple[int, int]]], labels: dict[int, Label]
) -> None:
    """The half-edges of ``elements``, the labels of both."""
    wanted = world.ids(np.array(sorted(elements), np.int64))
    rows = collected(half.join(F.broadcast(wanted.withColumnRenamed("id", "x")), "x"))
    for x, role, y, text in zip(rows["x"].tolist(), rows["role"].tolist(), rows["y"].tolist(), rows["label"]):
        neighbours.setdefault(x, set()).add((role, y))
        neighbours.setdefault(y, set()).add((role ^ 1, x))
        labels[y] = label_of(text)
    own = collected(world.vertices.join(F.broadcast(wanted), "id").select("id", "label"))
    for x, text in zip(own["id"].tolist(), own["label"]):
        neighbours.setdefault(x, set())
        labels[x] = label_of(text)


def _counts(rules: Rules, needs: Needs, neighbours: dict[int, set[tuple[int, int]]], labels: dict[int, Label]) -> Counts:
    graph = ElementGraph(rules.tbox)
    for x, found in neighbours.items():
        graph.individuals.add(_name(x))
        graph.half_edges[_name(x)] = {(rules.roles[r], _name(y)) for r, y in found}
    return Counts(rules.space, graph, lambda name: labels.get(int(name), EMPTY), needs)


def _name(element: int) -> str:
    """An element as the reference knows it: by a text."""
    return str(element)


def as_frame(world: World, classes: MergeClassFrames) -> DataFrame | None:
    """(id, full, shared): the clauses that may be broken, as a text, and whether the class has several elements; where either is
    of note."""
    ids = np.array(sorted(classes.members.keys() | classes.full.keys()), np.int64)
    if not len(ids):
        return None
    full = [" ".join(map(str, classes.full.get(i, ()))) for i in ids.tolist()]
    shared = np.array([i in classes.members for i in ids.tolist()])
    return frame(world.spark, {"id": ids, "full": full, "shared": shared})

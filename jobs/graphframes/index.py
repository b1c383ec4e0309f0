"""What is worked out of (T, A) once: equal individuals by components, told literals by message passing."""

from __future__ import annotations

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.base import Base
from abox_ops.elements.columns import Graph
from abox_ops.elements.partition import grouping
from abox_ops.index.columns import ElementLabels, Index, all_complex, alone, merge_classes, negated, vocabulary_of
from abox_ops.labels.columns import Calculus
from jobs.graphframes.equalities import asserted_equal
from jobs.graphframes.frames import collected, connected, members, nodes, renamed
from jobs.graphframes.rules import NOTHING_TOLD, label_of
from jobs.graphframes.world import World
from shiq.columns.arrays import array_table, unique
from shiq.model import TBox
from shiq.roles import RoleBox
from simplify import simplify


def build_index(spark: SparkSession, tbox: TBox, roles: RoleBox, base: Base) -> Index:
    """The index of (``tbox``, ``base``): what `abox_ops.index.columns.build_index` gives; merge classes are counted in
    columns."""
    complex_ = all_complex(base)
    extra = vocabulary_of(base.names, np.flatnonzero(base.class_counts()), complex_, roles)
    simplified = simplify(tbox, extra)
    calculus = Calculus(simplified.clauses, base.names)
    negated_roles, negated_properties = negated(complex_, roles)
    none = np.zeros(0, np.int64)
    nobody = grouping(none, none)
    if not len(base):
        labels = ElementLabels(array_table("element", {"element": none, "label": none}))
        return Index(
            extra,
            simplified,
            calculus,
            nobody,
            nobody,
            nobody,
            labels,
            negated_roles,
            negated_properties,
            contradictory=False,
            stored_labels=len(calculus.table.labels),
        )
    same = asserted_equal(spark, base)
    whole = alone(base)
    elements = renamed(nodes(spark, whole), members(same), "id").distinct()
    world = World(spark, whole, roles, calculus, same, elements.withColumn("label", F.lit(NOTHING_TOLD)), all_said=True)
    world.vertices = world.vertices.withColumn("active", F.lit(True))
    world.saturate()
    found = collected(world.vertices.select("id", "label"))
    numbers = {text: calculus.table.id(label_of(text)) for text in sorted(set(found["label"]))}
    order = np.argsort(found["id"])
    label = np.fromiter((numbers[text] for text in found["label"]), np.int64, len(order))[order]
    equal = grouping(*connected(*world.names))
    labels = ElementLabels(array_table("element", {"element": found["id"][order], "label": label}))
    graph = Graph(whole, roles, equal, labels.of)
    graph.expand(np.sort(graph.locate(unique(graph.keys_of(base.nodes())))))
    return Index(
        extra,
        simplified,
        calculus,
        same,
        equal,
        merge_classes(calculus, graph),
        labels,
        negated_roles,
        negated_properties,
        bool(calculus.table.clashes(label).any()),
        len(calculus.table.labels),
    )

"""What is worked out of (T, A) once: equal individuals by components, told literals by message passing."""

from __future__ import annotations

from functools import partial

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
from shiq.columns.arrays import NONE, array_table, unique
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
    told = partial(Index, extra, simplified, calculus)
    negated_roles, negated_properties = negated(complex_, roles)
    if not len(base):
        nobody, labels = grouping(NONE, NONE), ElementLabels(array_table("element", {"element": NONE, "label": NONE}))
        return told(nobody, nobody, nobody, labels, negated_roles, negated_properties, False, len(calculus.table.labels))
    same = asserted_equal(spark, base)
    whole = alone(base)
    elements = renamed(nodes(spark, whole), members(same), "id").distinct()
    world = World(spark, whole, roles, calculus, same, elements.withColumn("label", F.lit(NOTHING_TOLD)), all_said=True)
    world.activate(None)
    world.saturate()
    found = collected(world.active)
    numbers = {text: calculus.table.id(label_of(text)) for text in sorted(set(found["label"]))}
    order = np.argsort(found["id"])
    label = np.fromiter((numbers[text] for text in found["label"]), np.int64, len(order))[order]
    equal = grouping(*connected(*world.names))
    labels = ElementLabels(array_table("element", {"element": found["id"][order], "label": label}))
    graph = Graph(whole, roles, equal, labels.of)
    graph.expand(np.sort(graph.locate(unique(graph.keys_of(base.nodes())))))
    merged, contradictory = merge_classes(calculus, graph), bool(calculus.table.clashes(label).any())
    return told(same, equal, merged, labels, negated_roles, negated_properties, contradictory, len(calculus.table.labels))

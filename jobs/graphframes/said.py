"""What assertions say of single nodes, as labels: class assertions, complex ones, and what data refute."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import chain, repeat

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.normal import normalise
from abox_ops.elements.union_view import UnionView
from abox_ops.labels.columns import Calculus, distinct_values
from abox_ops.labels.numbered import EMPTY_ID
from jobs.graphframes.frames import frame, lookup, with_inserted
from jobs.graphframes.rules import label_text
from shiq import model as owl
from shiq.columns.rows import DIFFERENT
from shiq.roles import RoleBox


def said(
    spark: SparkSession, whole: UnionView, roles: RoleBox, calculus: Calculus, *, all_said: bool, by_data: bool
) -> DataFrame:
    """(id: node, said: label, inserted) for what is inserted, or ``all_said``; ``by_data``: what data refute too."""
    classes = with_inserted(spark, whole, "class_assertions", ("node", "class"), with_old=all_said)
    found = [classes.join(_class_labels(spark, calculus), "class").select(F.col("node").alias("id"), "said", "inserted")]
    rare = [
        *_complex(whole, roles, calculus, all_said=all_said),
        *(_refuted(whole, calculus, all_said=all_said) if by_data else ()),
    ]
    if rare:
        node, texts, inserted = zip(*rare)
        found.append(frame(spark, {"id": np.array(node, np.int64), "said": list(texts), "inserted": np.array(inserted)}))
    return reduce(DataFrame.unionByName, found)


def apart(spark: SparkSession, whole: UnionView) -> DataFrame | None:
    """(first, second, inserted): nodes that are asserted to be different; None if there are no pairs."""
    if not len(whole.base.table("pairs")) + len(whole.inserted["pairs"]):
        return None
    rows = with_inserted(spark, whole, "pairs", ("node", "kind", "neighbour")).filter(F.col("kind") == DIFFERENT)
    return rows.select(F.col("node").alias("first"), F.col("neighbour").alias("second"), "inserted")


def _class_labels(spark: SparkSession, calculus: Calculus) -> DataFrame:
    """(class, said) for the classes that T or an assertion knows."""
    known: list[tuple[int, str]] = []
    for i in range(len(calculus.names.classes.values)):
        try:
            label = int(calculus.class_labels(np.array([i]))[0])
        except KeyError:  # named by an assertion that was deleted
            continue
        known.append((i, label_text(calculus.table.labels[label])))
    return lookup(spark, {"class": np.array([i for i, _ in known], np.int64), "said": [text for _, text in known]})


def _refuted(whole: UnionView, calculus: Calculus, *, all_said: bool) -> Iterable[tuple[int, str, bool]]:
    old = whole.base.table("data_assertions").scan() if all_said else ()
    for rows, inserted in chain(zip(old, repeat(False)), [(dict(whole.inserted["data_assertions"].columns), True)]):
        if not len(rows["node"]):
            continue
        values, inverse = distinct_values(rows)
        labels = calculus.refuted(values, whole.literals_of(values["literal"]))[inverse]
        is_said = labels != EMPTY_ID
        for node, label in zip(rows["node"][is_said].tolist(), labels[is_said].tolist()):
            yield node, label_text(calculus.table.labels[label]), inserted


def _complex(whole: UnionView, roles: RoleBox, calculus: Calculus, *, all_said: bool) -> Iterable[tuple[int, str, bool]]:
    """The literals that complex assertions come to."""
    table = whole.base.table("complex")
    old = dict.fromkeys(a for rows in (table.scan() if all_said and len(table) else ()) for a in whole.base.complex_of(rows))
    for assertion, inserted in chain(zip(old, repeat(False)), zip(whole.inserted_complex(), repeat(True))):
        for plain in normalise(assertion, roles).assertions:
            match plain:
                case owl.ClassAssertion(owl.Class(iri), individual):
                    literal = (iri, True)
                case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), individual):
                    literal = (iri, False)
                case _:
                    continue
            node = int(whole.nodes_of([individual])[0])
            yield node, label_text(calculus.table.labels[calculus.literal(*literal)]), inserted

"""A_add as published, by message passing: `abox_ops.published.reference` (THEORY, "The procedure").

What becomes of a role assertion (kept, or which remedies stand for it, and whom these make enter) depends on the asserted labels
of its ends alone; so it is worked out once per distinct combination, and entering travels along the role assertions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from abox_ops.elements.union_view import UnionView
from abox_ops.index.columns import Index, alone
from abox_ops.index.touched import Touched
from abox_ops.labels.calculus import Label, join
from abox_ops.labels.columns import Calculus
from abox_ops.labels.seen import below, seen_roles
from abox_ops.published.parts import m_part, u_part
from abox_ops.published.remedy import Remedy, remedies
from jobs.graphframes.closure import ClosureFrames, members_of
from jobs.graphframes.frames import collected, frame, named, nodes, renamed, role_assertions, settled
from jobs.graphframes.reach import reached
from jobs.graphframes.rules import NOTHING_TOLD, label_of
from jobs.graphframes.world import World
from shiq.columns.arrays import Ints, distinct, take, unique
from shiq.roles import Role, RoleBox
from simplify import SimplifiedTBox, Universal

#: (kept, remedies as end + sign + name, whether the source enters, whether the target does)
Outcome = tuple[bool, list[str], bool, bool]
_OUTCOME = "struct<kept: boolean, remedies: array<string>, source: boolean, target: boolean>"


@dataclass(frozen=True)
class RemedyRules:
    """Definitions 6 and 7 for one TBox. ``roles``: by number; ``never``: the roles that are never irrelevant."""

    universals: tuple[Universal, ...]
    never: frozenset[Role]
    above: tuple[frozenset[Role], ...]
    atom_ids: dict[Any, int]
    roles: tuple[Role, ...]

    def outcome(self, role: int, a: str, b: str, inserted: bool, old_a: str, old_b: str) -> Outcome:
        """What becomes of a role assertion between elements with the asserted labels ``a``, ``b``; in A, ``old_a``, ``old_b``."""
        if self.roles[role] in self.never:
            return True, [], True, True
        forward = self._remedies(role, label_of(a), label_of(b))
        backward = self._remedies(role ^ 1, label_of(b), label_of(a))
        if forward is None or backward is None:
            return True, [], True, True
        found: list[str] = []
        enters = {"s": False, "t": False}
        for swapped, made in ((False, forward), (True, backward)):
            for remedy in made:
                end = "t" if remedy.at_branch != swapped else "s"
                found.append(f"{end}{'+' if remedy.positive else '-'}{remedy.name}")
                if inserted or not self._is_old(remedy, role, swapped, old_a, old_b):
                    enters[end] = True
        return False, found, enters["s"], enters["t"]

    def _axioms(self, role: int) -> list[Universal]:
        return [axiom for axiom in self.universals if axiom.role in self.above[role]]

    def _remedies(self, role: int, centre: Label, branch: Label) -> list[Remedy] | None:
        return remedies(self._axioms(role), centre, branch, self.atom_ids)

    def _is_old(self, remedy: Remedy, role: int, swapped: bool, old_a: str, old_b: str) -> bool:
        """Whether A gives the role assertion the same remedy."""
        number, centre, branch = (role ^ 1, old_b, old_a) if swapped else (role, old_a, old_b)
        return any(
            remedy in (remedies([axiom], label_of(centre), label_of(branch), self.atom_ids) or ())
            for axiom in self._axioms(number)
        )


def published(
    spark: SparkSession,
    index: Index,
    tbox: SimplifiedTBox,
    calculus: Calculus,
    whole: UnionView,
    roles: RoleBox,
    touched: Touched,
) -> tuple[ClosureFrames, list[tuple[int, str, bool]]]:
    """The closure by element, and its remedies (element, name, positive). See `abox_ops.published.reference`."""
    box = tbox.definition4_clauses.roles
    negated = below(index.negated_roles | touched.negated_roles, box)
    never = seen_roles(box) | negated | m_part(tbox)
    numbered = tuple(calculus.roles)
    rules = RemedyRules(
        tuple(tbox.universals), never, tuple(box.superroles(r) for r in numbered), tbox.definition4_clauses.atom_ids, numbered
    )
    world = _world(spark, index, whole, roles, calculus)
    asserted = settled(world.taken_in().select("id", "label"))
    before = _world(spark, index, alone(whole.base), roles, calculus).taken_in().select("id", "label")
    part = [i for i, r in enumerate(numbered) if i % 2 == 0 and (r in never or r in u_part(tbox))]
    edges = settled(_outcomes(world, rules, index, part, asserted, before))
    features = _features(index, tbox, touched)
    start = _start(world, edges, touched, features)
    arcs = edges.filter("target").select("src", "dst").union(edges.filter("source").select(_swapped("dst"), _swapped("src")))
    seen = np.sort(collected(reached(start, arcs.distinct()).select("id"))["id"])
    return _result(world, asserted, edges, seen, touched, features)


def _swapped(column: str) -> Any:
    return F.col(column).alias("src" if column == "dst" else "dst")


def _world(spark: SparkSession, index: Index, whole: UnionView, roles: RoleBox, calculus: Calculus) -> World:
    vertices = renamed(nodes(spark, whole), named(spark, index.same), "id").distinct().withColumn("old", F.lit(NOTHING_TOLD))
    return World(spark, whole, roles, calculus, index.same, vertices, all_said=True, by_data=False)


def _features(index: Index, tbox: SimplifiedTBox, touched: Touched) -> frozenset[str]:
    below_ = tbox.definition4_clauses.roles.data_subproperties
    negated = index.negated_properties | touched.negated_properties
    return frozenset(tbox.features | {q for p in negated for q in below_(p)})


def _outcomes(
    world: World, rules: RemedyRules, index: Index, part: list[int], asserted: DataFrame, before: DataFrame
) -> DataFrame:
    """The role assertions of ``part``: src, dst (elements), role, inserted, kept, remedies, source, target (who enters)."""
    spark = world.spark
    rows = role_assertions(spark, world.whole).filter(F.col("role").isin(part))
    old_names = named(spark, index.same)
    member, name = world.classes()
    names = frame(spark, {"member": member, "name": name}) if len(member) else None
    for end in ("src", "dst"):
        rows = rows.withColumn(f"{end}_old", F.col(end))
        rows = renamed(renamed(rows, old_names, f"{end}_old"), names, end)
        rows = rows.join(asserted.withColumnsRenamed({"id": end, "label": f"{end}_label"}), end)
        old = before.withColumnsRenamed({"id": f"{end}_old", "label": f"{end}_before"})
        rows = rows.join(old, f"{end}_old", "left").withColumn(f"{end}_before", F.coalesce(f"{end}_before", F.lit(NOTHING_TOLD)))

    # No type hints: Spark would read them.
    made = F.udf(lambda *ends: rules.outcome(*ends), _OUTCOME)(  # noqa: PLW0108
        "role", "src_label", "dst_label", "inserted", "src_before", "dst_before"
    )
    columns = ("src", "dst", "role", "inserted")
    return rows.select(*columns, made.alias("outcome")).select(*columns, "outcome.*")


def _start(world: World, edges: DataFrame, touched: Touched, features: frozenset[str]) -> DataFrame:
    """The elements that enter at once: id."""
    names = world.calculus.names.data_properties.values
    data = touched.data
    chosen = np.fromiter((p in features for p in names), np.bool_, len(names))[data["property"]]
    told = np.concatenate([touched.other, data["node"][chosen | _ill_typed(world, data["literal"])]])
    inserted = edges.filter("inserted")
    return world.ids(world.of(told)).union(inserted.filter("source").select("src")).union(inserted.filter("target").select("dst"))


def _ill_typed(world: World, literals: Ints) -> Any:
    values, which, _ = distinct(literals)
    return world.calculus.ill_typed(world.whole.literals_of(values))[which]


def _result(
    world: World, asserted: DataFrame, edges: DataFrame, seen: Ints, touched: Touched, features: frozenset[str]
) -> tuple[ClosureFrames, list[tuple[int, str, bool]]]:
    inside = world.ids(seen)
    marked = edges
    for end in ("src", "dst"):
        flag = F.broadcast(inside.select(F.col("id").alias(end), F.lit(True).alias(f"{end}_in")))
        marked = marked.join(flag, end, "left")
    dealt = settled(marked.filter(F.col("inserted") | F.col("src_in") | F.col("dst_in")))
    remedy = F.explode("remedies").alias("remedy")
    rows = collected(dealt.filter(~F.col("kept")).select("src", "dst", remedy).distinct())
    recorded = {
        (src if text[0] == "s" else dst, text[2:], text[1] == "+")
        for src, dst, text in zip(rows["src"].tolist(), rows["dst"].tolist(), rows["remedy"])
    }
    found = collected(dealt.filter("kept").select("src", "role", "dst").distinct())
    told = collected(asserted.join(inside, "id"))
    labels = {e: label_of(text) for e, text in zip(told["id"].tolist(), told["label"])}
    ids = world.calculus.tbox.atom_ids
    for element, name, positive in recorded:
        if element in labels:
            bit = 1 << ids[name]
            labels[element] = join(labels[element], (bit, 0) if positive else (0, bit))
    data = world.whole.rows_of("data_assertions", members_of(world.classes(), seen))
    for element in world.of(data["node"][_ill_typed(world, data["literal"])]).tolist():
        labels[element] = world.calculus.space.clash
    names = world.calculus.names.data_properties.values
    chosen = np.flatnonzero(np.fromiter((p in features for p in names), np.bool_, len(names))[data["property"]])
    closed = ClosureFrames(
        seen,
        labels,
        unique(world.of(touched.nodes)),
        {"source": found["src"], "role": found["role"], "target": found["dst"]},
        {name: take(data[name], chosen) for name in ("node", "property", "literal")},
        world.classes(),
    )
    return closed, sorted(recorded)

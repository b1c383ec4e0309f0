"""The engine `graphframes`: the published method (criterion `definition7`) from beginning to end
on Spark tables.

Individuals are vertices, role assertions edges. The rounds of the procedure are messages between
neighbours, and modules are connected components. Both are asked of GraphFrames, or of joins
where its core is not at hand (`jobs.graphframes.messages`). The driver holds the batch, T,
counts, and what contradicts. The engine `local` certifies a base that is given as files, and
explains conflicts.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeVar, cast

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.engine import AddSet, ModelKnowledgeBase
from abox_ops.index.touched import touched_by
from abox_ops.labels.calculus import EMPTY, Label
from abox_ops.labels.columns import Calculus
from abox_ops.local import LocalKnowledgeBase
from abox_ops.modules.decide import Decider
from abox_ops.modules.named import asked, inconsistent_groups
from abox_ops.published.columns import rules_of, told_nodes
from jobs.checking.answer import refuted_result
from jobs.checking.base import Explanation, Findings, OpenBase
from jobs.checking.deciding import (
    deadline_of,
    explaining_limit,
    has_disagreed,
    timed_batch,
    unmatched_deletions,
)
from jobs.checking.options import PUBLISHED, Clock, Options
from jobs.graphframes.add_set import GraphFramesAddSet
from jobs.graphframes.core import running, session
from jobs.graphframes.literals import WorkerRules, literals_in
from jobs.graphframes.messages import ends_of, graph_calls
from jobs.graphframes.procedure import enter
from jobs.graphframes.tables import UnionTables, union
from jobs.spark.auditing import DrawnShapes, examine
from jobs.spark.deciding import DDL, decide_rows
from jobs.spark.reasoners import Asking
from jobs.spark.round_files import RoundFiles, round_files
from jobs.spark.session import width_of
from shiq.abox import ABox, abox_of, individuals_of
from shiq.lazily import Lazily
from shiq.reasoner.protocol import Answer
from shiq.result import UndecidedModule
from shiq.verdict import Leftover, Verdict

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class GraphFramesKnowledgeBase(LocalKnowledgeBase):
    """(T, A) as a graph of tables; on the driver, that of the engine `local`. See
    `jobs.checking.base.DistributedEngine`.
    """

    _open: list[RoundFiles] = field(default_factory=list, repr=False)

    @classmethod
    def begin(cls, master: str | None) -> None:
        """Begin the session that all knowledge bases of this engine share, at ``master``, if
        none is active.
        """
        session(master)

    def close(self) -> None:
        """Remove the files of the results given so far."""
        while self._open:
            self._open.pop().remove()

    # --- one batch --------------------------------------------------------------------------------

    def graph_add_set(
        self,
        insertions: ABox,
        deletions: ABox,
        most_module: int = Options.most_module,
        audit: float = 0.0,
    ) -> GraphFramesAddSet:
        """A_add for ((A less ``deletions``) ∪ ``insertions``), as tables that are there until
        `close`.
        """
        spark = session()
        after = self.without(deletions, insertions)
        whole = after.whole(insertions)
        simplified = after.calculi.simplified_with(whole)
        calculus = after.calculi.of(simplified, PUBLISHED, whole.names)
        touched = touched_by(whole, after.roles)
        definitions = rules_of(after.index, simplified, touched)
        rules = WorkerRules(
            calculus.tbox,
            after.roles,
            definitions,
            _extended(calculus.roles, after.index.negated_roles | touched.negated_roles),
            _extended(
                whole.names.data_properties.values,
                after.index.negated_properties | touched.negated_properties,
            ),
            _class_literals(calculus),
        )
        files = round_files(spark)
        self._open.append(files)
        tables = UnionTables(spark, whole, rules, graph_calls(spark), files)
        told = told_nodes(calculus, whole, touched, definitions.features)
        return GraphFramesAddSet(
            tables, enter(tables, touched.other, told), touched.nodes, most_module, audit
        )

    def check(
        self,
        base: OpenBase,
        insertions: list[object],
        deletions: list[object],
        options: Options,
        decider: Decider,
        clock: Clock,
    ) -> tuple[Findings, Mapping[str, int], tuple[Leftover, ...]]:
        """See `jobs.checking.base.DistributedEngine.check`."""
        batch = timed_batch(base, insertions, deletions, options, clock)
        spark = session(options.master)
        with running(spark, len(self) + len(batch.insertions)):
            found = self._found(base, batch.insertions, batch.deletions, options, decider, clock)
            # Counted where what Spark raises is told as ours.
            _ = found.add_set.size, found.add_set.pulled_in
        places = (
            batch.places(a for raw in found.conflicts for a in raw.insertions)
            if found.conflicts
            else {}
        )
        unmatched = unmatched_deletions(self, batch.deletions, batch.deleted_at)
        return replace(found, places=places), batch.ledger, (*batch.leftovers, *unmatched)

    def _found(
        self,
        base: OpenBase,
        insertions: ABox,
        deletions: ABox,
        options: Options,
        decider: Decider,
        clock: Clock,
    ) -> Findings:
        _, left, _ = deadline_of(options, clock.begun)
        clock.doing = "message rounds"
        add_set = self.graph_add_set(insertions, deletions, options.most_module, options.audit)
        clashing = add_set.entered.vertices.filter("clashes").count()
        clock.stage("add set")
        clock.doing = "deciding modules"
        answers = answers_of(add_set, options, left())
        sums = answers.groupBy("verdict").agg(F.sum("modules"), F.count("used")).collect()
        decided = {verdict: modules for verdict, modules, _ in sums}
        asked_about = sum(shapes for *_, shapes in sums)
        inconsistent, open_ = (
            {row.shape: row.reason for row in answers.filter(F.col("verdict") == said).collect()}
            if said in decided
            else {}
            for said in (Verdict.INCONSISTENT.value, Verdict.UNDETERMINED.value)
        )
        clock.stage("deciding")
        if options.audit:
            examine(_drawn(add_set, answers), decider, left())
        refuted = clashing + decided.get(Verdict.INCONSISTENT.value, 0)
        explanation = Explanation(unexplained=refuted, complete=not refuted)
        if refuted and not has_disagreed(decider):
            if options.certain is not None and not base.tbox.has_readings:
                options.certain(refuted_result(base, {}, (), options, clock))
            if options.max_conflicts and options.explain_seconds != 0:
                clock.doing = "explaining"
                near = _near(add_set, inconsistent, options.max_conflicts)
                part = abox_of(a for a in insertions if not near.isdisjoint(individuals_of(a)))
                explanation = self._explained(
                    base, part, deletions, decider, options, left(), refuted
                )
        clock.stage("explaining")
        modules = sum(decided.values())
        return Findings(
            criterion=PUBLISHED,
            add_set=add_set,
            modules=Lazily(
                clashing + modules, lambda: [*add_set.contradictory, *add_set.members()]
            ),
            module_count=modules,
            contradictory=clashing,
            refuted=refuted,
            decided=decided,
            undecided=tuple(sorted({*open_.values()})[:100]),
            undetermined=Lazily(
                decided.get(Verdict.UNDETERMINED.value, 0),
                lambda: [
                    UndecidedModule(tuple(chain(*elements)), reason)
                    for shape, reason in open_.items()
                    for elements in add_set.elements_of(add_set.members_of(shape)).values()
                ],
            ),
            shapes=asked_about,
            calls=asked_about,
            conflicts=explanation.conflicts,
            unexplained=explanation.unexplained,
            complete=explanation.complete,
            ended=explanation.ended,
            audit=decider.audit,
            notes=(f"messages and components: {add_set.tables.calls.name}", *explanation.notes),
        )

    def _explained(
        self,
        base: OpenBase,
        part: ABox,
        deletions: ABox,
        decider: Decider,
        options: Options,
        seconds: float | None,
        refuted: int,
    ) -> Explanation:
        """The conflicts of the ``part`` of the insertions that says what contradicts, found by
        the engine `local`; ``refuted``: how many contradictions there are in all.
        """
        from jobs.checking.explaining import explained

        seconds, limit = explaining_limit(options, seconds)
        deadline, left, _ = deadline_of(replace(options, timeout=seconds), time.monotonic())

        def answered(
            part: ABox, stage: Callable[[str], None], onto: ModelKnowledgeBase | None = None
        ) -> tuple[AddSet, Sequence[Answer]]:
            found = self.add_set(part, deletions, PUBLISHED)
            return cast(AddSet, found), asked(
                found.modules, lambda distinct: decider.decide(found.tbox, distinct, left())
            )

        add_set, answers = answered(part, lambda _: None)
        groups = inconsistent_groups(add_set, answers)
        found = explained(base, part, add_set, groups, answered, decider, options, deadline, limit)
        others = max(0, refuted - len(groups))
        return replace(
            found, unexplained=found.unexplained + others, complete=found.complete and not others
        )


def _extended(numbered: Sequence[V], others: Iterable[V]) -> tuple[V, ...]:
    """``numbered`` and, after them, those of ``others`` that negative assertions alone name."""
    known = frozenset(numbered)
    return (*numbered, *sorted((x for x in others if x not in known), key=repr))


def _class_literals(calculus: Calculus) -> tuple[tuple[int, ...], ...]:
    """The literals that an assertion of each class number gives; none for a class that only a
    deleted assertion names.
    """
    found: list[tuple[int, ...]] = []
    for i in range(len(calculus.names.classes.values)):
        try:
            label: Label = calculus.table.labels[int(calculus.class_labels(np.array([i]))[0])]
        except KeyError:
            label = EMPTY
        found.append(tuple(literals_in(label)))
    return tuple(found)


def answers_of(add_set: GraphFramesAddSet, options: Options, seconds: float | None) -> DataFrame:
    """What executors answer of the modules' shapes, one of each: `jobs.spark.deciding.DDL`."""
    tables, records = add_set.tables, add_set.laid_out.records
    asking = Asking(options.reasoner, options.heap, seconds, options.audit)
    large = f"larger than a task is given (--most-module {add_set.most_module:,})"
    too_large = records.filter("body IS NULL").selectExpr(
        "shape",
        "count AS modules",
        f"'{Verdict.UNDETERMINED.value}' AS verdict",
        f"format_string('a module of %,d assertions is {large}', size) AS reason",
    )
    by_shape = records.filter("body IS NOT NULL").groupBy("shape")
    shapes = by_shape.agg(F.sum("count").alias("modules"), F.min("body").alias("body"))
    answered = shapes.repartition(width_of(tables.spark), "shape").mapInArrow(
        partial(decide_rows, pickle.dumps(add_set.tbox), asking), DDL
    )
    return tables.files.write("answers", union(answered, too_large))


def _drawn(add_set: GraphFramesAddSet, answers: DataFrame) -> DrawnShapes:
    """The shapes that are drawn for an audit, with their ``answers``."""
    bodies = add_set.laid_out.records.filter("is_drawn").groupBy("shape").agg(F.min("body"))
    rows = sorted(bodies.join(answers, "shape").select("shape", "min(body)", "verdict").collect())
    found = tuple((pickle.loads(body), verdict) for _, body, verdict in rows)
    return DrawnShapes(add_set.tbox, found)


def _near(add_set: GraphFramesAddSet, shapes: Iterable[str], most: int) -> frozenset[str]:
    """The individuals that say what contradicts, ``most`` times at least: those of clashing
    elements and of modules of one of ``shapes``, and those whose role assertions gave remedies
    there.
    """
    entered, modules = add_set.entered, add_set.members_of(*shapes)
    chosen = modules.select("component").distinct().limit(most)
    clashing = entered.vertices.filter("clashes").select("id").limit(most)
    bad = modules.join(chosen, "component").select("id").union(clashing).distinct()
    bad = add_set.tables.files.write("bad", bad)
    edges = entered.edges.filter(F.contains("outcome", F.lit(" "))).select("src", "dst")
    around = (ends_of(edges.join(bad.toDF(end), end, "left_semi")) for end in ("src", "dst"))
    ids = union(bad, *around).distinct().selectExpr("id", "id AS component")
    elements = chain.from_iterable(add_set.elements_of(ids).values())
    return frozenset(chain.from_iterable(elements))

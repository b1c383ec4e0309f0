"""Engine `graphframes`: the published method (criterion `definition7`) on Spark tables.

Individuals are vertices, role assertions edges. The rounds of the procedure are messages between
neighbours, and modules are connected components. Both use GraphFrames, or joins on DataFrames.
Certificates check what they give.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.index.index import TouchedNodes, touched_nodes
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider, audit_drawn_shapes, draw_shapes
from shiq.abox_ops.published.procedure import initial_nodes, make_definition7
from shiq.abox_ops.published.remedies import Definition7
from shiq.answers.result import UndecidedModule
from shiq.answers.verdict import Leftover, Verdict
from shiq.jobs.building.worker import ReasonerSettings
from shiq.jobs.checking.base import Explanation, Findings, InputBatch, ModuleFindings, OpenBase
from shiq.jobs.checking.deciders import has_disagreed
from shiq.jobs.checking.deciding import (
    announce_refuted,
    deadline_of,
    decide_and_explain,
    read_batch_timed,
    unmatched_deletions,
)
from shiq.jobs.checking.options import PUBLISHED, Clock, Options
from shiq.jobs.graphframes.add_set import GraphFramesAddSet
from shiq.jobs.graphframes.core import open_session, tuned_session
from shiq.jobs.graphframes.literals import WorkerRules
from shiq.jobs.graphframes.messages import edge_ends, graph_calls
from shiq.jobs.graphframes.modules import lay_out_modules
from shiq.jobs.graphframes.procedure import run_procedure
from shiq.jobs.graphframes.tables import UnionTables, driver_frame, rename_nodes, union_rows
from shiq.jobs.spark.executor_reasoner import DDL, decide_rows
from shiq.jobs.spark.session import TemporaryTables, task_count, temporary_tables
from shiq.model.abox import ABox, abox_of, individuals_of
from shiq.support import LazySequence


@dataclass(frozen=True, eq=False)
class GraphFramesKnowledgeBase(LocalKnowledgeBase):
    """(T, A) as Spark tables, for checks by message passing; questions on the driver are answered
    as by the engine `local`.

    See `shiq.jobs.checking.base.DistributedEngine`.
    """

    _open: list[TemporaryTables] = field(default_factory=list, repr=False)

    @classmethod
    def begin(cls, master: str | None) -> None:
        """Start the session that all knowledge bases of this engine share, unless one is active."""
        open_session(master)

    def close(self) -> None:
        """Delete the temporary tables of the add sets made so far."""
        while self._open:
            self._open.pop().remove()

    # --- one batch --------------------------------------------------------------------------------

    def graph_add_set(
        self,
        insertions: ABox,
        deletions: ABox,
        most_module: int = Options.most_module,
    ) -> GraphFramesAddSet:
        """Compute A_add of the base (A less ``deletions``) with ``insertions``, as tables that
        exist until `close`.
        """
        spark = open_session()
        after = self.after_deletions(deletions, insertions)
        whole = after.union_with(insertions)
        simplified = after.calculi.tbox_with_insertions(whole)
        calculus = after.calculi.calculus_for(simplified, PUBLISHED, whole.names)
        touched = touched_nodes(whole, after.roles)
        definitions = make_definition7(after.index, simplified, touched)
        rules = _make_worker_rules(after, whole, touched, calculus, definitions)
        files = temporary_tables(spark)
        self._open.append(files)
        tables = UnionTables(whole, rules, graph_calls(spark), files)
        told = initial_nodes(calculus, whole, touched, definitions.features)
        entered = run_procedure(tables, touched.non_edge_nodes, told)
        modules = lay_out_modules(tables, entered, most_module)
        kept, remedies = modules.facts.filter("is_kept"), entered.remedies.filter("NOT asserted")
        nodes = rename_nodes(
            driver_frame(spark, {"node": touched.nodes}), tables.elements, id="node"
        )
        return GraphFramesAddSet(
            tables,
            entered,
            modules,
            tbox=calculus.tbox,
            insertions=whole.insertion_count,
            size=kept.count() + remedies.count(),
            pulled_in=entered.vertices.join(nodes, "id", "left_anti").count(),
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
        """Check a batch against ``base`` on Spark tables. Returns the findings, the count of
        triples by how they were read, and the leftovers; see
        `shiq.jobs.checking.base.DistributedEngine.check`.
        """
        batch = read_batch_timed(base, insertions, deletions, options, clock)
        spark = open_session(options.master)
        with tuned_session(spark, len(self) + len(batch.insertions)):
            found = self._findings(base, batch.insertions, batch.deletions, options, decider, clock)
        places = (
            batch.places(a for raw in found.explanation.conflicts for a in raw.insertion_values)
            if found.explanation.conflicts
            else {}
        )
        unmatched = unmatched_deletions(self, batch.deletions, batch.deleted_at)
        return replace(found, places=places), batch.ledger, (*batch.leftovers, *unmatched)

    def _findings(
        self,
        base: OpenBase,
        insertions: ABox,
        deletions: ABox,
        options: Options,
        decider: Decider,
        clock: Clock,
    ) -> Findings:
        """Compute A_add, decide its modules in executors, and collect the findings."""
        _, left, _ = deadline_of(options, clock.start)
        clock.step = "message rounds"
        add_set = self.graph_add_set(insertions, deletions, options.most_module)
        clashing = add_set.procedure_tables.vertices.filter("clashes").count()
        clock.end_stage("add set")
        clock.step = "deciding modules"
        answers = executor_answers(add_set, options, left())
        sums = answers.groupBy("verdict").agg(F.sum("modules"), F.count("used")).collect()
        decided = {verdict: modules for verdict, modules, _ in sums}
        asked_about = sum(shapes for *_, shapes in sums)
        inconsistent, open_ = (
            {row.shape: row.reason for row in answers.filter(F.col("verdict") == said).collect()}
            if said in decided
            else {}
            for said in (Verdict.INCONSISTENT.value, Verdict.UNDETERMINED.value)
        )
        clock.end_stage("deciding")
        if options.audit:
            bodies = add_set.module_tables.records.filter("body IS NOT NULL").dropDuplicates(
                ["shape"]
            )
            rows = bodies.join(answers, "shape").select("body", "verdict").toLocalIterator()
            told = ((pickle.loads(body), verdict) for body, verdict in rows)
            audit_drawn_shapes(draw_shapes(add_set.tbox, told, options.audit), decider, left())
        refuted = clashing + decided.get(Verdict.INCONSISTENT.value, 0)
        modules = sum(decided.values())
        found = Findings(
            criterion=PUBLISHED,
            add_set=add_set,
            modules=ModuleFindings(
                members=LazySequence(
                    clashing + modules, lambda: [*add_set.contradictory, *add_set.members()]
                ),
                count=modules,
                contradictory_elements=clashing,
                shapes=asked_about,
                calls=asked_about,
            ),
            refuted_count=refuted,
            verdict_counts=decided,
            undecided_reasons=tuple(sorted({*open_.values()})[:100]),
            undetermined_modules=LazySequence(
                decided.get(Verdict.UNDETERMINED.value, 0),
                lambda: [
                    UndecidedModule(tuple(chain(*elements)), reason)
                    for shape, reason in open_.items()
                    for elements in add_set.elements_of(
                        add_set.module_tables.members_of(shape)
                    ).values()
                ],
            ),
            explanation=Explanation(unexplained_count=refuted, is_complete=not refuted),
            audit=decider.audit,
            notes=(f"messages and components: {add_set.tables.calls.name}",),
        )
        if refuted and not has_disagreed(decider):
            announce_refuted(base, {}, (), options, clock)
            if options.max_conflicts and options.explain_seconds != 0:
                clock.step = "explaining"
                near = _suspect_individuals(add_set, inconsistent, options.max_conflicts)
                part = abox_of(a for a in insertions if not near.isdisjoint(individuals_of(a)))
                read, asked = (
                    InputBatch(part, deletions, (), {}),
                    replace(options, criterion=PUBLISHED),
                )
                here, _, _ = decide_and_explain(
                    base, read, asked, decider, Clock(start=clock.start)
                )
                others = max(0, refuted - here.refuted_count)
                explained = replace(
                    here.explanation,
                    unexplained_count=here.explanation.unexplained_count + others,
                    is_complete=here.explanation.is_complete and not others,
                )
                found = replace(
                    found,
                    explanation=explained,
                    notes=(*found.notes, *here.notes),
                )
        clock.end_stage("explaining")
        return found


def _make_worker_rules(
    after: LocalKnowledgeBase,
    whole: UnionView,
    touched: TouchedNodes,
    calculus: NumberedCalculus,
    definitions: Definition7,
) -> WorkerRules:
    """Collect for Spark's workers what they need of the TBox: clauses, roles and the rules of the
    published procedure, with the names that the numbers in the tables stand for.
    """
    negated_roles = after.index.negated_roles | touched.negated_roles
    negated_properties = after.index.negated_properties | touched.negated_properties
    return WorkerRules(
        calculus.tbox,
        after.roles,
        definitions,
        # Last come those that negative assertions alone name: no table has a number for them.
        tuple(dict.fromkeys((*calculus.roles, *sorted(negated_roles, key=repr)))),
        tuple(dict.fromkeys((*whole.names.data_properties.values, *sorted(negated_properties)))),
        tuple(whole.names.classes.values),
    )


def executor_answers(
    add_set: GraphFramesAddSet, options: Options, seconds: float | None
) -> DataFrame:
    """Decide one module of each shape in Spark's executors. Returns the answers by shape:
    `shiq.jobs.spark.executor_reasoner.DDL`.
    """
    tables, records = add_set.tables, add_set.module_tables.records
    too_large = records.filter("body IS NULL").selectExpr(
        "shape",
        "count AS modules",
        f"'{Verdict.UNDETERMINED.value}' AS verdict",
        "format_string('a module of %,d assertions is larger than a task is given "
        f"(--most-module {options.most_module:,})', size) AS reason",
    )
    shapes = (
        records.filter("body IS NOT NULL")
        .groupBy("shape")
        .agg(F.sum("count").alias("modules"), F.min("body").alias("body"))
    )
    decide = partial(
        decide_rows,
        pickle.dumps(add_set.tbox),
        ReasonerSettings(options.reasoner, options.heap, seconds),
    )
    answered = shapes.repartition(task_count(tables.files.spark), "shape").mapInArrow(decide, DDL)
    return tables.files.write("answers", union_rows(answered, too_large))


def _suspect_individuals(
    add_set: GraphFramesAddSet, shapes: Iterable[str], most: int
) -> frozenset[str]:
    """Find individuals near contradictions: those of clashing elements and of modules with the
    given ``shapes``.

    The individuals at the other end of role assertions that the procedure replaced there are
    included. ``most``: limit of modules and of elements.
    """
    entered, modules = add_set.procedure_tables, add_set.module_tables.members_of(*shapes)
    chosen = modules.select("component").distinct().limit(most)
    clashing = entered.vertices.filter("clashes").select("id").limit(most)
    bad = add_set.tables.files.write(
        "bad", modules.join(chosen, "component").select("id").union(clashing).distinct()
    )
    edges = entered.edges.filter(F.contains("outcome", F.lit(" "))).select("src", "dst")
    around = (edge_ends(edges.join(bad.toDF(end), end, "left_semi")) for end in ("src", "dst"))
    ids = union_rows(bad, *around).distinct().selectExpr("id", "id AS component")
    return frozenset(chain(*chain(*add_set.elements_of(ids).values())))

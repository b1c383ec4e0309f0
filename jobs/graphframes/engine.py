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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeVar, cast

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from abox_ops.elements.base import StoredSnapshot
from abox_ops.engine import AddSet, KnowledgeBase, ModelKnowledgeBase
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
from jobs.graphframes.add_set import GraphFramesAddSet, flat
from jobs.graphframes.core import running, session
from jobs.graphframes.literals import WorkerRules, literals_in
from jobs.graphframes.messages import graph_calls
from jobs.graphframes.procedure import enter
from jobs.graphframes.round_files import RoundFiles, round_files
from jobs.graphframes.tables import UnionTables
from jobs.spark.auditing import examine
from jobs.spark.deciding import DecidedShapes, collected, decide, drawn
from jobs.spark.reasoners import Asking
from jobs.spark.session import width_of
from shiq.abox import ABox, abox_of, individuals_of
from shiq.lazily import Lazily
from shiq.model import Assertion, TBox
from shiq.reasoner.protocol import Answer
from shiq.result import UndecidedModule
from shiq.verdict import Leftover, Verdict
from simplify import SimplifiedTBox

V = TypeVar("V")


@dataclass(eq=False)
class GraphFramesKnowledgeBase:
    """(T, A) as a graph of tables. See `jobs.checking.base.DistributedEngine`.

    ``local``: the same on columns, for what is done on the driver.
    """

    local: LocalKnowledgeBase
    _held: list[RoundFiles] = field(default_factory=list, repr=False)

    @classmethod
    def begin(cls, master: str | None) -> None:
        """Begin the session that all knowledge bases of this engine share, at ``master``, if
        none is active.
        """
        session(master)

    @classmethod
    def build(cls, tbox: TBox, abox: ABox) -> GraphFramesKnowledgeBase:
        """Open (``tbox``, ``abox``) in memory; nothing is assumed of it but that its TBox lies
        in SHIQ(D).
        """
        return cls(LocalKnowledgeBase.build(tbox, abox))

    @classmethod
    def from_store(
        cls, store: StoredSnapshot, tbox: TBox | None = None
    ) -> GraphFramesKnowledgeBase:
        """Open the snapshot of ``store``; ``tbox``: see `LocalKnowledgeBase.from_store`."""
        return cls(LocalKnowledgeBase.from_store(store, tbox))

    def __len__(self) -> int:
        return len(self.local)

    @property
    def simplified(self) -> SimplifiedTBox:
        return self.local.simplified

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = PUBLISHED) -> AddSet:
        """See `abox_ops.engine.KnowledgeBase.add_set`; on the driver."""
        return cast(AddSet, self.local.add_set(insertions, deletions, criterion))

    def absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """See `abox_ops.engine.KnowledgeBase.absent`; on the driver."""
        return self.local.absent(deletions, most)

    def close(self) -> None:
        """Remove the files of the results given so far."""
        while self._held:
            self._held.pop().remove()

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
        after = self.local.without(deletions, insertions)
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
        self._held.append(files)
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
        unmatched = unmatched_deletions(self.local, batch.deletions, batch.deleted_at)
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
        clock.stage("deciding")
        if answers.drawn is not None:
            examine(answers.drawn, decider, left())
        large = [row.size for row in add_set.laid_out.too_large.select("size").collect()]
        refuted = clashing + answers.modules.get(Verdict.INCONSISTENT.value, 0)
        explanation = Explanation(unexplained=refuted, complete=not refuted)
        if refuted and not has_disagreed(decider):
            if options.certain is not None and not base.tbox.has_readings:
                options.certain(refuted_result(base, {}, (), options, clock))
            if options.max_conflicts and options.explain_seconds != 0:
                clock.doing = "explaining"
                near = _near(add_set, [*answers.inconsistent], options.max_conflicts)
                part = abox_of(a for a in insertions if not near.isdisjoint(individuals_of(a)))
                explanation = self._explained(
                    base, part, deletions, decider, options, left(), refuted
                )
        clock.stage("explaining")
        counts = dict(answers.modules)
        if large:
            counts[Verdict.UNDETERMINED.value] = counts.get(Verdict.UNDETERMINED.value, 0) + len(
                large
            )
        modules = sum(counts.values())
        return Findings(
            criterion=PUBLISHED,
            add_set=add_set,
            modules=Lazily(
                clashing + modules, lambda: [*add_set.contradictory, *add_set.members()]
            ),
            module_count=modules,
            contradictory=clashing,
            refuted=refuted,
            decided=counts,
            undecided=(
                *answers.reasons,
                *(_too_large(size, add_set.most_module) for size in large),
            ),
            undetermined=Lazily(
                counts.get(Verdict.UNDETERMINED.value, 0),
                lambda: list(_undecided(add_set, answers.undecided)),
            ),
            shapes=sum(answers.shapes.values()),
            calls=sum(answers.shapes.values()),
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
            found = self.local.add_set(part, deletions, PUBLISHED)
            return cast(AddSet, found), asked(
                found.modules, lambda distinct: decider.decide(found.tbox, distinct, left())
            )

        add_set, answers = answered(part, lambda _: None)
        groups = inconsistent_groups(add_set, answers)
        here = replace(base, knowledge_base=cast(KnowledgeBase, self.local))
        found = explained(here, part, add_set, groups, answered, decider, options, deadline, limit)
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


def answers_of(
    add_set: GraphFramesAddSet, options: Options, seconds: float | None
) -> DecidedShapes:
    """What executors answer of the modules' shapes, one of each."""
    tables, records, clauses = add_set.tables, add_set.laid_out.records, pickle.dumps(add_set.tbox)
    asking = Asking(options.reasoner, options.heap, seconds, options.audit)
    answers = tables.files.write(
        "answers", decide(records, clauses, asking, width_of(tables.spark))
    )
    found = collected(answers)
    return replace(found, drawn=drawn(records, clauses, answers)) if options.audit else found


def _near(add_set: GraphFramesAddSet, shapes: list[str], most: int) -> frozenset[str]:
    """The individuals that say what contradicts, ``most`` times at least: those of clashing
    elements and of modules of one of ``shapes``, and those whose role assertions gave remedies
    there.
    """
    tables, entered = add_set.tables, add_set.entered
    modules = add_set.laid_out.those(add_set.shapes_frame(shapes))
    chosen = modules.select("component").distinct().limit(most)
    clashing = entered.vertices.filter("clashes").select("id").limit(most)
    bad = tables.files.write(
        "bad", modules.join(chosen, "component").select("id").union(clashing).distinct()
    )
    edges = entered.edges.filter(F.contains("outcome", F.lit(" "))).select("src", "dst")
    around = [
        edges.join(bad.withColumnsRenamed({"id": a}), a).select(b)
        for a, b in (("src", "dst"), ("dst", "src"))
    ]
    ids = (
        reduce(DataFrame.union, around, bad).distinct().select("id", F.col("id").alias("component"))
    )
    return frozenset(
        term
        for elements in add_set.elements_of(ids).values()
        for element in elements
        for term in element
    )


def _undecided(add_set: GraphFramesAddSet, reasons: Mapping[str, str]) -> Iterator[UndecidedModule]:
    """The modules that were left undecided, with the reason of each shape."""
    for shape, reason in reasons.items():
        chosen = add_set.laid_out.those(add_set.shapes_frame([shape]))
        yield from (
            UndecidedModule(flat(elements), reason)
            for elements in add_set.elements_of(chosen).values()
        )
    laid_out = add_set.laid_out
    sizes = {row.component: row.size for row in laid_out.too_large.collect()}
    members = (
        laid_out.members.join(laid_out.too_large, "component", "left_semi").select(
            "component", "id"
        )
        if sizes
        else None
    )
    for component, elements in add_set.elements_of(members).items() if members is not None else ():
        yield UndecidedModule(flat(elements), _too_large(sizes[component], add_set.most_module))


def _too_large(size: int, most: int) -> str:
    return (
        f"a module of {size:,} assertions is larger than a task is given (--most-module {most:,})"
    )

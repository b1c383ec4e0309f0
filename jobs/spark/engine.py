"""The engine `spark`: what the engine `local` does on one machine, on many, with the same answers.

A base is a store in a folder that driver and executors share; the batch is read, grouped, closed and decided in tasks
(`jobs.spark.checking`). The engine `local` does the rest on the driver: certifying a base that is given as files, and explaining
conflicts.
"""

from __future__ import annotations

import atexit
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from abox_ops.engine import MODEL, AddSet, Inquiry
from abox_ops.local import LocalKnowledgeBase
from abox_ops.modules.decide import Decider
from abox_ops.modules.named import inconsistent_groups
from abox_ops.modules.shapes import Shapes
from jobs.checking.answer import refuted_result
from jobs.checking.base import Findings, OpenBase
from jobs.checking.deciding import has_disagreed, unmatched_deletions
from jobs.checking.inputs import catalog_of, is_read_by_form
from jobs.checking.options import Clock, Options, resolved
from jobs.spark.add_set import SparkAddSet, deletions_of
from jobs.store import Store
from jobs.store.upkeep import write_store
from shiq.abox import ABox, abox_of
from shiq.deadline import seconds_left
from shiq.errors import OperationalError
from shiq.extras import missing_package
from shiq.lazily import Lazily
from shiq.model import Assertion, TBox
from shiq.reading import Place
from shiq.reasoner.protocol import Answer
from shiq.verdict import Leftover, Verdict
from simplify import SimplifiedTBox

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jobs.spark.checking import BatchGroups, ClosedBatch, Figures
    from jobs.spark.costs import TaggedJobs
    from jobs.spark.deciding import DecidedShapes
    from jobs.spark.reading import BatchRows
    from jobs.spark.rows import Origins


#: Of more deletions than this it is not looked whether they match anything.
MOST_DELETIONS = 1_000_000


@dataclass(eq=False)
class SparkKnowledgeBase:
    """(T, A) as a store that every executor can open. See `jobs.checking.base.DistributedEngine`.

    ``figures``: what the last check cost.
    """

    local: LocalKnowledgeBase
    store: Store | None = None
    abox: ABox = field(default_factory=ABox)
    figures: Figures | None = None
    _temporary: tempfile.TemporaryDirectory[str] | None = None
    _held: list[Any] = field(default_factory=list)

    @classmethod
    def build(cls, tbox: TBox, abox: ABox) -> SparkKnowledgeBase:
        """Opens (``tbox``, ``abox``) in memory; it is made a store, in a temporary folder, when a batch is checked."""
        return cls(LocalKnowledgeBase.build(tbox, abox), None, abox)

    @classmethod
    def from_store(cls, store: Store, tbox: TBox | None = None) -> SparkKnowledgeBase:
        """Opens the snapshot of ``store``; ``tbox``: see `LocalKnowledgeBase.from_store`."""
        return cls(LocalKnowledgeBase.from_store(store, tbox), store)

    def __len__(self) -> int:
        return len(self.local)

    @property
    def simplified(self) -> SimplifiedTBox:
        return self.local.simplified

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = "clausal") -> AddSet:
        """See `abox_ops.engine.KnowledgeBase.add_set`; on the driver."""
        return cast(AddSet, self.local.add_set(insertions, deletions, criterion))

    @property
    def is_completed(self) -> bool:
        """See `abox_ops.engine.ModelKnowledgeBase`."""
        return self.local.is_completed

    def patched(self, insertions: ABox, deletions: ABox, inquiry: Inquiry) -> tuple[AddSet, Sequence[Answer]]:
        """See `abox_ops.engine.ModelKnowledgeBase.patched`; on the driver."""
        found, answers = self.local.patched(insertions, deletions, inquiry)
        return cast(AddSet, found), answers

    def absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """See `abox_ops.engine.KnowledgeBase.absent`; on the driver."""
        return self.local.absent(deletions, most)

    def close(self) -> None:
        """Lets go what Spark holds for the results given so far."""
        for batch in self._held:
            batch.release()
        self._held.clear()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary, self.store = None, None

    # --- one check --------------------------------------------------------------------------------

    def check(
        self, base: OpenBase, insertions: list[object], deletions: list[object], options: Options, decider: Decider, clock: Clock
    ) -> tuple[Findings, Mapping[str, int], tuple[Leftover, ...]]:
        """See `jobs.checking.base.DistributedEngine.check`.

        Raises: InputError, UsageError; OperationalError where no session can be started, or Spark gives a task up.
        """
        session = session_of(options)
        from jobs.spark.costs import TaggedJobs

        try:
            with TaggedJobs(session, "reading the batch") as jobs:
                return self._check(jobs, base, insertions, deletions, options, decider, clock)
        except Exception as error:
            raise _told(error, session) from error

    def _check(
        self,
        jobs: TaggedJobs,
        base: OpenBase,
        insertions: list[object],
        deletions: list[object],
        options: Options,
        decider: Decider,
        clock: Clock,
    ) -> tuple[Findings, Mapping[str, int], tuple[Leftover, ...]]:
        from jobs.spark.auditing import examine
        from jobs.spark.checking import Figures, batch_of, decided, planned, run_name
        from jobs.spark.costs import describe
        from jobs.spark.reading import read_batch
        from jobs.spark.reasoners import Asking
        from jobs.spark.session import hand_on
        from jobs.spark.worker import StoreKey

        store, session = self._stored(base), jobs.spark
        clock.stage("starting Spark")
        key = StoreKey(str(store.path.absolute()), store.manifest, is_read_by_form(base.tbox))
        hand_on(session, store.path)
        told = options.progress or (lambda stage, done, total: None)
        told("reading the batch", 0, 0)
        aside = "ill-typed" in options.allow
        read = partial(read_batch, session, tbox=base.tbox, store=key, catalog=catalog_of(options), ontologies=base.ontologies)
        added = read(insertions, scope=f"i{base.scope}", aside=aside)
        self._held.append(added)
        removed = read(deletions, scope=f"d{base.scope}", aside=False, by_label=True) if deletions else None
        if removed is not None:
            self._held.append(removed)
        gone = None if removed is None or removed.is_empty else removed
        options, notes = resolved(options, self, ABox() if gone is None else gone.others)
        asking = Asking(options.reasoner, options.heap, options.timeout, options.audit)
        plan = planned(self.local, key, added, gone, criterion=options.criterion, asking=asking)
        batch = batch_of(session, plan, added, gone, _last_node(store))
        self._held.append(batch)
        clock.stage("reading the batch")

        deadline = None if options.timeout is None else time.monotonic() + options.timeout
        told("closing groups", 0, len(batch.groups))
        closed = batch.close()
        total = closed.total
        clock.stage("add set")
        told("deciding shapes", 0, 0)
        answers, bad = decided(batch, closed)
        clock.stage("deciding")
        if answers.drawn is not None:
            examine(answers.drawn, decider, seconds_left(deadline))
            clock.stage("auditing")
        self.figures = Figures(
            closed.rounds,
            len(batch.groups),
            len(set(closed.joint.values())),
            max(closed.summaries[joint].given for joint in closed.joint.values()),
            added.rows + (removed.rows if removed else 0),
            closed.rows,
            total.cache_hits,
            total.cache_misses,
        )
        refuted = total.contradictory + answers.modules.get(Verdict.INCONSISTENT.value, 0)
        explained = None
        if refuted and not has_disagreed(decider):
            if options.certain is not None:
                options.certain(refuted_result(base, added.ledger, added.leftovers, options, clock))
            if options.max_conflicts and options.explain_seconds != 0:
                describe(session, "explaining conflicts")
                explained = _Explaining(self.local, base, batch, closed, answers, bad, added.origins)
                explained.run(decider, options, _earliest(deadline, options.explain_seconds), gone)
        clock.stage("explaining")
        found = Findings(
            criterion=options.criterion,
            add_set=SparkAddSet(batch, closed, self.local, self, replace(decider, audit=None), gone, bool(added.others.complex)),
            modules=Lazily(total.contradictory + total.modules, lambda: batch.modules(closed.joint)),
            module_count=total.modules,
            contradictory=total.contradictory,
            refuted=refuted,
            decided=answers.modules,
            undecided=answers.reasons,
            undetermined=Lazily(
                answers.modules.get(Verdict.UNDETERMINED.value, 0), lambda: batch.undecided(closed.joint, answers.undecided)
            ),
            shapes=sum(answers.shapes.values()),
            calls=sum(answers.shapes.values()),
            conflicts=explained.conflicts if explained else [],
            unexplained=explained.unexplained if explained else refuted,
            complete=explained.complete if explained else not refuted,
            places=_places(explained, added) if explained else {},
            run=run_name(plan, total),
            audit=decider.audit,
            notes=notes,
            cost={**self.figures.to_dict(), **jobs.cost()},
        )
        ledger = added.ledger + (removed.ledger if removed else Counter())
        told_of = () if gone is None else self._unmatched(gone)
        return found, ledger, (*added.leftovers, *(removed.leftovers if removed else ()), *told_of)

    def _unmatched(self, gone: Any) -> tuple[Leftover, ...]:
        """What to say of deletions that match nothing; nothing where there are too many to look at here."""
        from jobs.spark.rows import SCHEMA, abox_of_rows, assertions_of

        rows = gone.frame.select(SCHEMA.names).limit(MOST_DELETIONS + 1).toArrow()
        if len(rows) > MOST_DELETIONS:
            return ()

        def places(some: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
            wanted = {*some}
            by_tasks = {a: (place,) for a, place in [*assertions_of(rows, gone.origins)][::-1] if a in wanted}
            return {**by_tasks, **gone.places(wanted)}

        return unmatched_deletions(self.local, abox_of_rows(rows), places)

    def _stored(self, base: OpenBase) -> Store:
        if self.store is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="shiq-store-")
            self.store = write_store(Path(self._temporary.name) / "kg", base.tbox, self.abox)
            self.local = LocalKnowledgeBase.from_store(self.store)
        return self.store


def _earliest(deadline: float | None, seconds: float | None) -> float | None:
    """``deadline``, or in so many ``seconds``, whichever is sooner."""
    ends = [deadline, None if seconds is None else time.monotonic() + seconds]
    return min((end for end in ends if end is not None), default=None)


def _last_node(store: Store) -> int:
    from jobs.store.numbering import BLOCK, GAP

    count = int(store.manifest.facts["individuals"])
    return count + count // BLOCK * GAP


def session_of(options: Options, *, brief: bool = True) -> SparkSession:
    """The session that is active, or one for the rest of this process. Raises: OperationalError."""
    try:
        from jobs.spark.session import spark_session, stop
    except ImportError as error:
        raise missing_package(error) or error from error
    session, started = spark_session(master=options.master, brief=brief)
    if started:
        atexit.register(stop, session)
    return session


def _told(error: Exception, session: SparkSession) -> Exception:
    """``error``, or what to make of Spark's own: a task that failed for good, a session that was lost."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException | Py4JError):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in reversed(lines) if "Error: " in line or "Exception: " in line), lines[0] if lines else "")
    if "ModuleNotFoundError: " in cause:
        from jobs.spark.session import interpreter_of

        return OperationalError(
            f"Spark's workers lack a package: {cause.partition('ModuleNotFoundError: ')[2]}",
            f"They run {interpreter_of(session)}: install shiq there, or name another interpreter by PYSPARK_PYTHON.",
        )
    return OperationalError(
        f"Spark gave up: {cause[:500]}", "Look into Spark's log; can every executor open the store and the files of the batch?"
    )


def _places(explained: _Explaining, added: BatchRows) -> Mapping[Assertion, tuple[Place, ...]]:
    """Where the insertions in conflicts were read: what their rows tell, or the driver if it read them."""
    return {**explained.places, **added.places(a for raw in explained.conflicts for a in raw.insertions)}


# --- conflicts ------------------------------------------------------------------------------------


@dataclass
class _Explaining:
    """Explains the conflicts of the ``bad`` joint groups; see `jobs.spark.explaining`."""

    local: LocalKnowledgeBase
    base: OpenBase
    batch: BatchGroups
    closed: ClosedBatch
    answers: DecidedShapes
    bad: set[int]
    origins: Origins
    conflicts: Sequence[Any] = ()
    unexplained: int = 0
    complete: bool = True
    places: dict[Assertion, tuple[Place, ...]] = field(default_factory=dict)

    def run(self, decider: Decider, options: Options, deadline: float | None, removed: Any) -> None:
        from jobs.spark.explaining import FarExplainer
        from jobs.spark.reasoners import inquiry_until

        here = self._fetched(self.closed, self.bad)
        deletions = abox_of([]) if removed is None else deletions_of(removed)
        quiet = replace(decider, progress=None, audit=None)

        inquiry = inquiry_until(quiet, deadline)

        def check(part: ABox) -> tuple[AddSet, list[tuple[str, ...]]]:
            found: AddSet
            answers: Sequence[Answer]
            if options.criterion == MODEL:
                patch, answers = self.local.patched(part, deletions, inquiry)
                found = cast(AddSet, patch)
            else:
                found = cast(AddSet, self.local.add_set(part, deletions, options.criterion))
                modules = [m.module for m in found.modules]
                self._remember(quiet, found)
                answers = inquiry.decide(found.tbox, modules)
            explainer.unsure = explainer.unsure or any(a.verdict is Verdict.UNDETERMINED for a in answers)
            return found, inconsistent_groups(found, answers)

        explainer = FarExplainer(
            self.base.tbox, quiet, check, options.max_conflicts, deadline, options.progress, elsewhere=self._elsewhere
        )
        fetched = abox_of(here)
        add_set, groups = check(fetched)
        self.conflicts = explainer.run(fetched, add_set, groups)
        self.unexplained, self.complete = explainer.unexplained, explainer.complete

    def _remember(self, decider: Decider, found: AddSet) -> None:
        """Takes over what the executors said of shapes."""
        if self.batch.plan.whole or self.batch.plan.extra:
            return
        from jobs.spark.kernel import shape_name

        _, shapes, answers = decider.known.setdefault(id(found.tbox), (found.tbox, Shapes(found.tbox), {}))
        for module in found.modules:
            shape = shapes.shape(module.module)
            if shape not in answers:
                name = shape_name(shape)
                if name in self.answers.consistent:
                    answers[shape] = Answer(Verdict.CONSISTENT)
                elif name in self.answers.inconsistent:
                    answers[shape] = self.answers.inconsistent[name]

    def _fetched(self, closed: ClosedBatch, bad: set[int]) -> list[Assertion]:
        from jobs.spark.rows import assertions_of

        found: dict[Assertion, list[Place]] = {}
        for assertion, place in assertions_of(self.batch.insertions(closed.joint, bad), self.origins):
            found.setdefault(assertion, []).append(place)
        for assertion, places in found.items():
            self.places.setdefault(assertion, tuple(place for place in dict.fromkeys(places) if place != Place()))
        return list(found)

    def _elsewhere(self, removed: set[Assertion]) -> list[Assertion]:
        """The insertions of the groups that are inconsistent without ``removed``, where there are others than those fetched."""
        from jobs.spark.checking import decided
        from jobs.spark.rows import rows_of

        if set(self.closed.joint.values()) <= self.bad:
            return []
        closed = self.batch.close_without(self.closed, rows_of(abox_of(removed)))
        _, bad = decided(self.batch, closed)
        return self._fetched(closed, bad)

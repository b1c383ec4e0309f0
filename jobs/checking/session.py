"""Session: a store that stays open for several checks."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from shiq.abox_ops.engine import KnowledgeBase, LayeredKnowledgeBase
from shiq.answers.result import Result
from shiq.answers.verdict import Leftover, Verdict
from shiq.deadline import DeadlineExceeded
from shiq.errors import StoreError, fill_in_store
from shiq.inputs.reading import LeftoverSpool, Place, select_data_leftovers
from shiq.inputs.sources import Given
from shiq.jobs.checking.answer import run_in_time, with_note
from shiq.jobs.checking.base import DistributedEngine, InputBatch, OpenBase, mark_allowed
from shiq.jobs.checking.deciders import DeciderPool
from shiq.jobs.checking.deciding import check_batch, read_batch_timed
from shiq.jobs.checking.inputs import (
    blocks_beyond_hermit,
    input_sources,
    is_left_out,
    is_outside_shiq,
    read_batch,
    read_by_form,
    refuse_named_vocabularies,
    remove_deleted_assertions,
    with_source_notes,
)
from shiq.jobs.checking.options import (
    STORE,
    Clock,
    Options,
    import_by_name,
    import_engine,
    open_engine,
    option_arguments,
    takes_settings,
    unsliced_note,
)
from shiq.model import TBox
from shiq.support import supports

if TYPE_CHECKING:
    from shiq.abox_ops.modules.decide import Decider
    from shiq.inputs.reading import QuarantinedAssertion
    from shiq.simplify.locality import ReachableAxioms


#: Checks insertions on top of an accepted batch, in so many seconds (None: as long as it takes).
CheckAbove: TypeAlias = "Callable[[object, float | None], Result]"


#: Sees the result that is about to be committed; gives what is set aside beside the batch, or None
#: if it is not to be committed.
Approval = Callable[[Result], "Collection[QuarantinedAssertion] | None"]

#: Names of `Session`'s attributes before 0.2, until 0.3. Not ``read``, by which an object passes for
#: an open file.
_OLD_NAMES = {
    "above": "checker_above",
    "asides": "quarantine",
    "left": "blocking_leftovers",
}


class Session:
    """Store that stays open for several checks. Decisions about module shapes are remembered as
    long as the store does not change.

    Each check uses the store's newest snapshot, whichever process wrote it. A session opened on a
    numbered snapshot stays on it.
    """

    def __init__(self, path: str | Path, snapshot: int | None = None) -> None:
        keeper = import_by_name(STORE)
        self.path = keeper.parse_location(path)
        self._is_past = snapshot is not None
        self._opened: Any = keeper.open_store(self.path, snapshot)
        self._deciders = DeciderPool()
        self._knowledge_bases: dict[tuple[str, bool], KnowledgeBase] = {}
        self._reach: dict[object, ReachableAxioms] = {}
        self._bases: dict[tuple[str, frozenset[str]], OpenBase] = {}

    def __repr__(self) -> str:
        state = "closed" if self._opened is None else f"snapshot {self._opened.snapshot}"
        return f"<Session {self.path}: {state}>"

    if not TYPE_CHECKING:  # a typo is still an error for type checkers

        def __getattr__(self, name: str) -> Any:
            if name not in _OLD_NAMES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            message = (
                f"Session.{name} is Session.{_OLD_NAMES[name]} now; shiq 0.3 drops the old name"
            )
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(self, _OLD_NAMES[name])

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _store(self) -> Any:
        """The store. Raises: StoreError where it is closed."""
        if self._opened is None:
            raise StoreError(
                f"{self.path}: the store is closed", "Open it again with open_store()."
            )
        return self._opened

    def __len__(self) -> int:
        return len(self._store)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the TBox's terms, by IRI."""
        return self._store.term_labels

    def close(self) -> None:
        """Free the reasoners and the store. May be called twice."""
        self._deciders.close()
        self._forget_answers()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def check(
        self,
        insertions: Given = None,
        deletions: Given = None,
        *,
        options: Options | None = None,
        commit: bool = False,
        before_commit: Approval | None = None,
        taken: Mapping[str, int] | None = None,
        clock: Clock | None = None,
        **settings: Any,
    ) -> Result:
        """Check one batch against the store's newest snapshot (`Result.snapshot`); settings as in
        `check_insertions`.

        commit: if the verdict is CONSISTENT, write the batch to the store in one step; the session
            continues on the new snapshot (`Result.committed`).
        before_commit: callback, called with the result; returns ledger rows to write with the
            batch, or None to stop.
        taken: batch number by feed, recorded with the commit; a number never decreases (`taken`).
        clock: runs since the batch was first read, for the time limit; None: it begins here.

        Raises: StoreError if another process commits meanwhile (nothing is lost: check again), if
            the session is closed, or for a commit on a numbered snapshot.
        """
        leftovers = self._store.leftovers
        if commit and self._is_past:
            raise StoreError(
                f"{self.path}: a batch can only be committed onto the present snapshot, whatever its number",
                "Open the store without naming a snapshot.",
            )
        options = options or Options(**option_arguments(settings))
        refuse_named_vocabularies(options, self._store.ontologies)
        decider = self._deciders.lookup(options)
        clock = clock or Clock(progress=options.progress)
        coming: list[object] = []
        going: list[object] = []
        read: list[InputBatch] = []

        def run_check() -> Result:
            # A table may start a Spark session, which counts as time of the check.
            coming.extend(input_sources(insertions, options))
            going.extend(input_sources(deletions, options))
            self._reopen_if_newer()
            base = self._cached_base(options)
            clock.end_stage("opening the store")
            if commit:
                # What is committed is what was checked, so it is read once, here, whatever the
                # engine.
                read.append(read_batch_timed(base, coming, going, options, clock))
                return _check_unsliced(base, read[0], options, decider, clock)
            return check_batch(base, coming, going, options, decider, clock)

        result = with_source_notes(run_in_time(options, clock, run_check, leftovers), coming, going)
        if clock.is_over:
            # What was interrupted may be half updated.
            self._forget_answers()
            self._deciders.drop(options)
        if not commit or result.verdict is not Verdict.CONSISTENT:
            return result
        asides = before_commit(result) if before_commit else ()
        return (
            result
            if asides is None
            else self._commit(read[0], result, options, clock, asides, taken or {})
        )

    def checker_above(self, accepted: Result, **settings: Any) -> CheckAbove | None:
        """Make a function that checks insertions on top of the consistent batch of ``accepted``.

        Blank nodes are the same in both batches. Returns None if the batch cannot be laid over the
        base without a commit (`shiq.abox_ops.engine.LayeredKnowledgeBase.with_accepted`).
        """
        options = Options(**option_arguments(settings))
        self._reopen_if_newer()
        base = replace(self._cached_base(options), scope=f"{accepted.snapshot}.")
        if not accepted.committed:
            knowledge_base, add_set = base.knowledge_base, getattr(accepted.a_add, "add_set", None)
            if add_set is None or not supports(knowledge_base, LayeredKnowledgeBase):
                return None
            layered: Any = knowledge_base.with_accepted(add_set)
            if layered is None:
                return None
            base = replace(base, knowledge_base=layered)

        def check(insertions: object, seconds: float | None) -> Result:
            timed, clock = replace(options, timeout=seconds), Clock(progress=options.progress)
            decider = self._deciders.lookup(timed)
            is_whole = False
            try:
                found = run_in_time(
                    timed, clock, lambda: check_batch(base, insertions, None, timed, decider, clock)
                )
                is_whole = not clock.is_over
                return found
            finally:
                if not is_whole:
                    # What was interrupted may be half updated.
                    self._forget_answers()
                    self._deciders.drop(timed)

        return check

    def _commit(
        self,
        batch: InputBatch,
        result: Result,
        options: Options,
        clock: Clock,
        quarantine: Collection[QuarantinedAssertion],
        applied_batches: Mapping[str, int],
    ) -> Result:
        """Commit an accepted batch to the store. Returns the result with the new snapshot."""
        # Loaded where a batch is committed.
        from shiq.jobs.checking.certifying import make_certificate

        store = import_by_name(STORE)
        left_out = LeftoverSpool(select_data_leftovers(chain.from_iterable(batch.left_out)))
        opened, self._opened = self._store, None
        self._forget_answers()
        try:
            self._opened = store.commit(
                self.path,
                batch.insertions,
                batch.deletions,
                checked=opened.identity,
                certificate=make_certificate(result, options),
                opened=opened,
                patch=getattr(result.a_add, "patch", None),
                asides=quarantine,
                leftovers=_with_committed_leftovers(
                    _leftovers_after_batch(opened.data_leftovers, batch, options), left_out, options
                ),
                left_out=left_out,
                taken=applied_batches,
            )
        finally:
            # After a refusal the session goes on with what the store holds by now.
            self._opened = self._opened or store.open_store(self.path)
        clock.end_stage("committing")
        statistics = replace(result.statistics, seconds=clock.seconds)
        return replace(result, committed=self._store.snapshot, statistics=statistics)

    def read_batch(self, insertions: object, deletions: object = None) -> InputBatch:
        """Read a batch as `check` does."""
        options = Options()
        self._reopen_if_newer()
        return read_batch(self._cached_base(options), insertions, deletions, options)

    def blocking_leftovers(
        self, insertions: object, **settings: Any
    ) -> list[tuple[Leftover, tuple[Place, ...]]]:
        """List the leftovers of ``insertions`` that would block `consistent` under these settings,
        each with all its places.

        Leftovers outside SHIQ(D) are omitted where a check asks HermiT about them.
        """
        options = Options(**option_arguments(settings))
        self._reopen_if_newer()
        try:
            batch = read_batch(self._cached_base(options), insertions, None, options)
            found = batch.leftover_places()
        except DeadlineExceeded:
            # What was interrupted may be half updated.
            self._forget_answers()
            raise
        marked = [(options.known.mark((leftover,))[0], places) for leftover, places in found]
        return [
            (leftover, places)
            for leftover, places in marked
            if blocks_beyond_hermit(leftover, options)
        ]

    @property
    def taken(self) -> Mapping[str, int]:
        """Number of the last committed batch of each feed (a table or a streaming query whose
        batches are numbered).
        """
        self._reopen_if_newer()
        return dict(self._store.manifest.applied_batches)

    @property
    def quarantine(self) -> tuple[QuarantinedAssertion, ...]:
        """The quarantine ledger: assertions that were set aside because they contradict the store."""
        return tuple(self._store.quarantine)

    @property
    def tbox(self) -> TBox:
        """The TBox of the store."""
        return self._store.tbox

    @property
    def tbox_hash(self) -> str:
        """Hash of the TBox."""
        return str(self._store.tbox_hash)

    @property
    def identity(self) -> tuple[str, int]:
        """Pair (id of the store's build, snapshot number), unique among all snapshots of all
        stores.
        """
        return self._store.identity

    def knowledge_base(self, engine: str, tbox: TBox | None = None) -> KnowledgeBase:
        """Open the knowledge base of ``engine``. ``tbox``: used in place of the store's, with the
        same clauses.
        """
        key = engine, tbox is not None
        if key not in self._knowledge_bases:
            given = (self._store,) if tbox is None else (self._store, tbox)
            self._knowledge_bases[key] = import_engine(engine).from_store(*given)
        return self._knowledge_bases[key]

    def _reopen_if_newer(self) -> None:
        """Reopen the store if it has a newer snapshot. Does nothing in a session on a fixed
        snapshot number.
        """
        if self._is_past:
            return
        opened = self._store
        self._opened = import_by_name(STORE).reopen_if_changed(opened)
        if self._opened is not opened:
            self._forget_answers()
            opened.close()

    def _forget_answers(self) -> None:
        """Forget all remembered answers and caches, because they are about a previous snapshot."""
        self._deciders.forget_answers()
        for known in self._knowledge_bases.values():
            if isinstance(known, DistributedEngine):
                known.close()
        self._knowledge_bases.clear()
        self._reach.clear()
        self._bases.clear()

    def _cached_base(self, options: Options) -> OpenBase:
        """The open base for these options; it is opened once for each snapshot, engine and set of
        allowed kinds.
        """
        open_engine(options)
        key = options.engine, options.allow
        if key not in self._bases:
            self._bases[key] = self._open_base(options)
        return self._bases[key]

    def _open_base(self, options: Options) -> OpenBase:
        """Open the base for these options."""
        held = self._store.certificate
        certificate = held.to_dict() if held else {}
        tbox: TBox = read_by_form(
            self._store.tbox, options.allow.union(certificate.get("allowed", ()))
        )
        told: tuple[Leftover, ...] = ()
        path = str(self._store.path)
        if asides := self._store.quarantine:
            from shiq.inputs.reading import quarantine_notice

            told = quarantine_notice(asides, path)
        return OpenBase(
            tbox,
            self.knowledge_base(options.engine, None if tbox is self._store.tbox else tbox),
            (
                *(
                    replace(x, hint=fill_in_store(x.hint, path))
                    for x in mark_allowed(self._store.leftovers, certificate)
                ),
                *told,
            ),
            certificate,
            self._store.ontologies,
            f"{self._store.snapshot}.",
            lambda: self._store.term_labels,
            self._store.snapshot,
            self._store.export,
            self._store.vocabulary,
            self._reach,
            path,
        )


def _check_unsliced(
    base: OpenBase, batch: InputBatch, options: Options, decider: Decider, clock: Clock
) -> Result:
    """Check a batch that is to be committed as a whole, not in slices, since one patch must renew
    the certified model.
    """
    found = check_batch(
        base, None, None, replace(options, driver_rows=None), decider, clock, read=batch
    )
    rows = options.driver_rows if batch.distributed_work else None
    if rows is None or len(batch.insertions) <= rows:
        return found
    return with_note(found, unsliced_note(rows, "it is to be committed"))


def _leftovers_after_batch(
    base_leftovers: tuple[Leftover, ...], batch: InputBatch, options: Options
) -> tuple[Leftover, ...]:
    """Update the leftovers of A, ``base_leftovers``, by the batch: new ones added, deleted ones removed."""
    kept = [
        x
        for x in (remove_deleted_assertions(x, batch.deleted_left_out) for x in base_leftovers)
        if x is not None
    ]
    said = {v for x in kept for v in x.values}
    new = (x for x in batch.leftovers if is_left_out(x) and not said.issuperset(x.values))
    return (*kept, *(_record_permission(x, options) for x in new))


def _record_permission(leftover: Leftover, options: Options) -> Leftover:
    """Mark ``leftover`` for the store as allowed or waived, as the options of the commit say; not
    if HermiT is asked about it.
    """
    asked = leftover.kind not in options.allow
    who = "" if is_outside_shiq(leftover) or not asked else options.known.mark((leftover,))[0].known
    return replace(leftover, known=who, lapsed="", asked=asked)


def _with_committed_leftovers(
    base_leftovers: tuple[Leftover, ...], left_out: Iterable[Leftover], options: Options
) -> tuple[Leftover, ...]:
    """Add to ``base_leftovers`` the numbers, by kind, of the statements that the committed batch
    leaves out.
    """
    found = Counter[tuple[str, str]]()
    for leftover in left_out:
        who = (
            ""
            if leftover.kind in options.allow
            else options.known.mark((leftover,))[0].known or "who committed it"
        )
        found[leftover.kind, who] += leftover.number
    told = list(base_leftovers)
    for (kind, who), number in sorted(found.items()):
        now = Leftover(
            kind,
            _LEFT_OUT_OF_BATCHES,
            hint="`shiq export --store DIR --aside` prints it",
            agreed=not who,
            known=who,
            count=number,
        )
        before = next((i for i, x in enumerate(told) if replace(x, count=number) == now), len(told))
        told[before : before + 1] = [
            replace(now, count=number + sum(x.count for x in told[before : before + 1]))
        ]
    return tuple(told)


#: What is told of the base for what batches left out.
_LEFT_OUT_OF_BATCHES = "left out of batches that were committed"


@contextmanager
def session_of(store: str | Path | Session) -> Iterator[Session]:
    """Context manager: yield ``store`` if it is an open session; for a path, a new session that is
    closed at the end.
    """
    if isinstance(store, Session):
        yield store
    else:
        with open_store(store) as session:
            yield session


@takes_settings(Options)
def check(
    insertions: Given,
    store: str | Path | Session,
    deletions: Given = None,
    *,
    commit: bool = False,
    **settings: Any,
) -> Result:
    """Check a batch against a store.

    Args:
        insertions: as in `check_insertions`.
        deletions: likewise. They come first.
        store: the path of a store, or an open one.
        commit: take the batch into the store, in one step, if it stays consistent.

    Raises: UsageError, OperationalError.
    """
    with session_of(store) as session:
        return session.check(insertions, deletions, commit=commit, **settings)


def open_store(path: str | Path, snapshot: int | None = None) -> Session:
    """Open a store for several checks; a context manager. ``snapshot``: number of a kept snapshot."""
    return Session(path, snapshot)

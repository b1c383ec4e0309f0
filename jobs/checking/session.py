"""An open store, for several checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abox_ops.engine import KnowledgeBase
from jobs.checking.above import CheckAbove, checker_above
from jobs.checking.answer import in_time, with_note
from jobs.checking.base import DistributedEngine, InputBatch, OpenBase, agreed
from jobs.checking.deciding import DeciderPool, check_batch, timed_batch
from jobs.checking.inputs import (
    input_sources,
    is_outside,
    leaves_out,
    less,
    noted,
    read_batch,
    read_by_form,
    refuse_named,
    stands_whatever_hermit_says,
)
from jobs.checking.options import STORE, Clock, Options, begun, engine_named, load, settings_of
from shiq.errors import StoreError, at_store
from shiq.left_out import Spool, of_data
from shiq.model import TBox
from shiq.reading import Place
from shiq.result import Result
from shiq.verdict import Leftover, Verdict

if TYPE_CHECKING:
    from abox_ops.modules.decide import Decider
    from shiq.aside import Aside
    from simplify.locality import Reach

#: Sees the result that is about to be committed; gives what is set aside beside the batch, or None
#: if it is not to be committed.
Approval = Callable[[Result], "Collection[Aside] | None"]


class Session:
    """An open store. Shapes that were decided are remembered from one check to the next, while
    the store is not changed.

    Each check is about what the store holds when it begins, whoever wrote that; a session on a
    snapshot by its number stays there.
    """

    def __init__(self, path: str | Path, snapshot: int | None = None) -> None:
        keeper = load(STORE)
        self.path = keeper.place_of(path)
        self._is_past = snapshot is not None
        self._opened: Any = keeper.open_store(self.path, snapshot)
        self._deciders = DeciderPool()
        self._knowledge_bases: dict[tuple[str, bool], KnowledgeBase] = {}
        self._reach: dict[object, Reach] = {}
        self._bases: dict[tuple[str, frozenset[str]], OpenBase] = {}

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
        """What terms of the TBox are called."""
        found: Mapping[str, str] = self._store.term_labels
        return found

    def close(self) -> None:
        """Frees the reasoners and the store; it may be called twice."""
        self._deciders.close()
        self._forget()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def check(
        self,
        insertions: object = None,
        deletions: object = None,
        *,
        options: Options | None = None,
        commit: bool = False,
        before_commit: Approval | None = None,
        taken: Mapping[str, int] | None = None,
        **settings: Any,
    ) -> Result:
        """Checks one batch against what the store holds now, also where another process has
        committed since the last check (`Result.snapshot`); settings as in `check_insertions`.
        The store changes only with ``commit``, and only if the verdict is CONSISTENT: it takes
        the batch in, in one step, and the session goes on with the new snapshot
        (`Result.committed`). ``before_commit`` is shown the result first; it gives what is to be
        set aside beside the batch, or None to stop; ``taken``: see `taken`, told with the
        commit, which never takes a number back.

        Raises `StoreError` if another process commits while this check, which is to commit, is
        at work (nothing is lost: check again), if the session is closed, or if it was opened on
        a snapshot by its number and is to commit.
        """
        leftovers = self._store.leftovers
        if commit and self._is_past:
            raise StoreError(
                f"{self.path}: a batch can only be committed onto the present snapshot, whatever its number",
                "Open the store without naming a snapshot.",
            )
        options = options or Options(**settings_of(settings))
        refuse_named(options, self._store.ontologies)
        decider, clock = self._deciders.lookup(options), Clock(progress=options.progress)
        coming, going = input_sources(insertions, options), input_sources(deletions, options)
        read: list[InputBatch] = []

        def checked() -> Result:
            self._renew()
            base = self._base(options)
            clock.stage("opening the store")
            if commit:
                # What is committed is what was checked, so it is read once, here, whatever the
                # engine.
                read.append(timed_batch(base, coming, going, options, clock))
                return _in_one_piece(base, read[0], options, decider, clock)
            return check_batch(base, coming, going, options, decider, clock)

        result = noted(in_time(options, clock, checked, leftovers), coming, going)
        if clock.is_over:
            # What was interrupted may be half updated.
            self._forget()
            self._deciders.drop(options)
        if not commit or result.verdict is not Verdict.CONSISTENT:
            return result
        asides = before_commit(result) if before_commit else ()
        return (
            result
            if asides is None
            else self._commit(read[0], result, options, clock, asides, taken or {})
        )

    def above(self, accepted: Result, **settings: Any) -> CheckAbove | None:
        """A check of insertions on top of the batch that ``accepted`` found consistent here,
        whether it was committed or not; see `jobs.checking.above.checker_above`.
        """
        options = Options(**settings_of(settings))
        self._renew()
        return checker_above(self._base(options), accepted, options, self._deciders, self._forget)

    def _commit(
        self,
        batch: InputBatch,
        result: Result,
        options: Options,
        clock: Clock,
        asides: Collection[Aside],
        taken: Mapping[str, int],
    ) -> Result:
        # Loaded where a batch is committed.
        from jobs.checking.certifying import certificate_of

        store = load(STORE)
        left_out = Spool(of_data(chain.from_iterable(batch.left_out)))
        opened, self._opened = self._store, None
        self._forget()
        try:
            self._opened = store.commit(
                self.path,
                batch.insertions,
                batch.deletions,
                checked=opened.identity,
                certificate=certificate_of(result, options),
                opened=opened,
                patch=getattr(result.a_add, "patch", None),
                asides=asides,
                leftovers=_told(
                    _outside_now(opened.data_leftovers, batch, options), left_out, options
                ),
                left_out=left_out,
                taken=taken,
            )
        finally:
            # After a refusal the session goes on with what the store holds by now.
            self._opened = self._opened or store.open_store(self.path)
        clock.stage("committing")
        statistics = replace(result.statistics, seconds=clock.seconds)
        return replace(result, committed=self._store.snapshot, statistics=statistics)

    def read(self, insertions: object, deletions: object = None) -> InputBatch:
        """A batch as `check` reads it."""
        options = Options()
        self._renew()
        return read_batch(self._base(options), insertions, deletions, options)

    def left(self, insertions: object, **settings: Any) -> list[tuple[Leftover, tuple[Place, ...]]]:
        """What of ``insertions`` is not interpreted and keeps a check with these settings from
        `consistent`; each with all its places. What lies outside SHIQ(D) is none of it where a
        check asks about that.
        """
        options = Options(**settings_of(settings))
        self._renew()
        found = read_batch(self._base(options), insertions, None, options).left_at()
        marked = [(options.known.marked((leftover,))[0], places) for leftover, places in found]
        return [
            (leftover, places)
            for leftover, places in marked
            if stands_whatever_hermit_says(leftover, options)
        ]

    @property
    def taken(self) -> Mapping[str, int]:
        """The number of the last batch that was taken in, by feed, of those that told it."""
        self._renew()
        return dict(self._store.manifest.taken)

    @property
    def asides(self) -> tuple[Aside, ...]:
        """What belongs to the data of the store and is set aside, since it contradicts."""
        return tuple(self._store.asides)

    @property
    def tbox(self) -> TBox:
        found: TBox = self._store.tbox
        return found

    @property
    def tbox_hash(self) -> str:
        return str(self._store.tbox_hash)

    @property
    def identity(self) -> tuple[str, int]:
        """What no other state of any store shares."""
        found: tuple[str, int] = self._store.identity
        return found

    def knowledge_base(self, engine: str, tbox: TBox | None = None) -> KnowledgeBase:
        """The store as ``engine`` holds it for this session; ``tbox``: instead of its own, with
        the same clauses.
        """
        key = engine, tbox is not None
        if key not in self._knowledge_bases:
            given = (self._store,) if tbox is None else (self._store, tbox)
            self._knowledge_bases[key] = engine_named(engine).from_store(*given)
        return self._knowledge_bases[key]

    def _renew(self) -> None:
        """Goes on from what the store holds now, unless the session is on a snapshot by its number."""
        if self._is_past:
            return
        opened = self._store
        self._opened = load(STORE).renewed(opened)
        if self._opened is not opened:
            self._forget()
            opened.close()

    def _forget(self) -> None:
        self._deciders.forget_answers()
        for known in self._knowledge_bases.values():
            if isinstance(known, DistributedEngine):
                known.close()
        self._knowledge_bases.clear()
        self._reach.clear()
        self._bases.clear()

    def _base(self, options: Options) -> OpenBase:
        begun(options)
        key = options.engine, options.allow
        if key not in self._bases:
            self._bases[key] = self._base_for(options)
        return self._bases[key]

    def _base_for(self, options: Options) -> OpenBase:
        held = self._store.certificate
        certificate = held.to_dict() if held else {}
        tbox: TBox = read_by_form(
            self._store.tbox, options.allow.union(certificate.get("allowed", ()))
        )
        told: tuple[Leftover, ...] = ()
        path = str(self._store.path)
        if asides := self._store.asides:
            from shiq.aside import told_aside

            told = told_aside(asides, path)
        return OpenBase(
            tbox,
            self.knowledge_base(options.engine, None if tbox is self._store.tbox else tbox),
            (
                *(
                    replace(x, hint=at_store(x.hint, path))
                    for x in agreed(self._store.leftovers, certificate)
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


def _in_one_piece(
    base: OpenBase, batch: InputBatch, options: Options, decider: Decider, clock: Clock
) -> Result:
    """The check of a batch that is to be committed: never in slices, since N is renewed from one
    patch.
    """
    found = check_batch(
        base, None, None, replace(options, driver_rows=None), decider, clock, read=batch
    )
    rows = options.driver_rows if batch.far else None
    if rows is None or len(batch.insertions) <= rows:
        return found
    return with_note(
        found,
        f"the batch was taken whole, not in slices of {rows:,} insertions: it is to be committed",
    )


def _outside_now(
    held: tuple[Leftover, ...], batch: InputBatch, options: Options
) -> tuple[Leftover, ...]:
    """``held``, the leftovers of A, with what ``batch`` says that A leaves out, and without what
    it deletes there.
    """
    kept = [x for x in (less(x, batch.unsaid) for x in held) if x is not None]
    said = {v for x in kept for v in x.said}
    new = (x for x in batch.leftovers if leaves_out(x) and not said.issuperset(x.said))
    return (*kept, *(_taken_in(x, options) for x in new))


def _taken_in(leftover: Leftover, options: Options) -> Leftover:
    """``leftover`` as a store keeps it: what is asked about stays so; for the rest somebody has
    answered who committed it.
    """
    asked = leftover.kind not in options.allow
    who = "" if is_outside(leftover) or not asked else options.known.marked((leftover,))[0].known
    return replace(leftover, known=who, lapsed="", asked=asked)


def _told(
    held: tuple[Leftover, ...], left_out: Iterable[Leftover], options: Options
) -> tuple[Leftover, ...]:
    """``held`` with how much a batch leaves out, by kind: agreed when it was committed, so no
    check asks about it again.
    """
    found = Counter[tuple[str, str]]()
    for leftover in left_out:
        who = (
            ""
            if leftover.kind in options.allow
            else options.known.marked((leftover,))[0].known or "who committed it"
        )
        found[leftover.kind, who] += leftover.number
    told = list(held)
    for (kind, who), number in sorted(found.items()):
        now = Leftover(
            kind,
            _COMMITTED,
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
_COMMITTED = "left out of batches that were committed"


def open_store(path: str | Path, snapshot: int | None = None) -> Session:
    """Opens a store for several checks; a context manager. ``snapshot``: one that it keeps,
    instead of the present one.
    """
    return Session(path, snapshot)

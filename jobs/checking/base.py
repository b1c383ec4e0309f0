"""What is handed around in a check: an opened base, a batch, what was found of it, and what
engines give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from abox_ops.engine import KnowledgeBase
from abox_ops.modules.decide import Decider
from jobs.checking.options import Clock, Options
from shiq.abox import ABox
from shiq.model import Assertion, TBox
from shiq.reading import LeftAt, Place, Places, nothing_left, nowhere
from shiq.result import PulledIn, UndecidedModule
from shiq.verdict import Leftover, Verdict

if TYPE_CHECKING:
    from abox_ops.conflicts.raw_conflict import RawConflict
    from abox_ops.modules.audit import Audit
    from simplify.locality import Reach


@dataclass(frozen=True)
class OpenBase:
    """A base opened for checking: a certificate (empty: nothing was certified), what of it was
    not interpreted, the IRIs by which a batch may import its TBox, what sets the blank nodes of
    a batch apart from those of batches that went in before, and the labels of the TBox's terms;
    the ``snapshot`` of a store that it is, 0 for any other base; ``assertions``: A, where this
    process can list it, and ``vocabulary``: the classes and properties that A speaks of, or
    more; ``reach``: what of T was reached, kept for as long as T and A are the same
    (`jobs.checking.outside`); ``store``: the path of the store.
    """

    tbox: TBox
    knowledge_base: KnowledgeBase
    leftovers: tuple[Leftover, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=dict)
    ontologies: frozenset[str] = frozenset()
    scope: str = ""
    labels: Callable[[], Mapping[str, str]] = dict
    snapshot: int = 0
    assertions: Callable[[], Iterable[Assertion]] | None = tuple
    vocabulary: Callable[[], frozenset[str]] = frozenset
    reach: dict[object, Reach] = field(default_factory=dict)
    store: str = ""

    @property
    def is_certified(self) -> bool:
        return self.certificate.get("verdict") == Verdict.CONSISTENT.value


def agreed(leftovers: Iterable[Leftover], certificate: Mapping[str, Any]) -> tuple[Leftover, ...]:
    """``leftovers`` of a base, marked where its ``certificate`` was given with their kind
    allowed: what was decided then need not be decided at each check. One that was counted in
    when it came is not meant by what was allowed of others.
    """
    if certificate.get("verdict") != Verdict.CONSISTENT.value:
        return tuple(leftovers)
    allowed = frozenset(certificate.get("allowed", ()))
    return tuple(
        replace(x, agreed=True) if x.kind in allowed and not x.asked else x for x in leftovers
    )


class AddSetSize(Protocol):
    """The sizes of an add set (`abox_ops.engine.AddSet`) that a result tells."""

    @property
    def insertions(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def pulled_in(self) -> int: ...
    def kept(self) -> Iterator[Assertion]: ...


@dataclass(frozen=True)
class InputBatch:
    """A batch as it was read; ``ledger``: its triples by bucket; ``places``: where its
    insertions stand, and ``deleted_at`` its deletions; ``left_at``: where what was not
    interpreted of its insertions stands; ``unsaid``: what is deleted of what A leaves out;
    ``left_out``: each line, triple or assertion that is left out, as it stands; ``far``: what is
    done of the check away from this process.
    """

    insertions: ABox
    deletions: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Mapping[str, int]
    places: Places = nowhere
    deleted_at: Places = nowhere
    left_at: LeftAt = nothing_left
    unsaid: frozenset[Assertion] = frozenset()
    left_out: Sequence[Iterable[Leftover]] = ()
    far: FarWork | None = None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What an engine and a reasoner have found of a batch, by ``criterion``.

    ``refuted``: how many contradictory elements and inconsistent modules there are; ``decided``:
    modules by verdict; ``undecided``: why; ``places``: where insertions in conflicts were read;
    ``run``: names the run by its content; ``sent``, ``notes``: see `Evidence`; ``ended``,
    ``undetermined``: see `Result`; ``cost``: see `Statistics`.
    """

    criterion: str
    add_set: AddSetSize
    modules: Sequence[tuple[str, ...]]
    module_count: int
    decided: Mapping[str, int]
    shapes: int
    calls: int
    contradictory: int = 0
    refuted: int = 0
    undecided: tuple[str, ...] = ()
    conflicts: Sequence[RawConflict] = ()
    unexplained: int = 0
    complete: bool = True
    places: Mapping[Assertion, tuple[Place, ...]] = field(default_factory=dict)
    run: str = ""
    sent: Mapping[str, int] = field(default_factory=dict)
    audit: Audit | None = None
    notes: tuple[str, ...] = ()
    ended: bool = True
    undetermined: Sequence[UndecidedModule] = ()
    cost: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """What came of explaining an inconsistent batch: ``conflicts``; how many contradictions are
    left ``unexplained``; whether every minimal conflict is there (``complete``); ``ended``:
    false where it was interrupted; ``broken_off``: whether that, or the end of its time, came in
    its midst; ``notes``: what to say of that.
    """

    conflicts: Sequence[RawConflict] = ()
    unexplained: int = 0
    complete: bool = True
    ended: bool = True
    broken_off: bool = False
    notes: tuple[str, ...] = ()


class FarWork(Protocol):
    """Work of one check that is done away from this process, where its engine has that: reading
    the batch, and deciding shapes where these are many or hard.
    """

    def sources(self, given: Sequence[object]) -> list[object]:
        """``given``, to be read there as far as that can be. Raises: InputError."""

    def deciding(self, decider: Decider) -> AbstractContextManager[None]:
        """A context within which questions to ``decider`` may be asked there."""

    def run(self, insertions: ABox, deletions: ABox, criterion: str) -> str:
        """A name for the check of this batch, by its content."""

    def cost(self) -> Mapping[str, int]:
        """Counts of the work that was done there so far (`shiq.result.Statistics`)."""


@runtime_checkable
class DistributedEngine(Protocol):
    """A knowledge base whose engine reads batches and decides modules by itself, away from this
    process.
    """

    def check(
        self,
        base: OpenBase,
        insertions: list[object],
        deletions: list[object],
        options: Options,
        decider: Decider,
        clock: Clock,
    ) -> tuple[Findings, Mapping[str, int], tuple[Leftover, ...]]:
        """What is found of a batch, the ledger of reading it, and its leftovers. Which criterion
        `AUTO` is (`resolved`) is known when the deletions are read. ``decider`` is for
        explaining conflicts here.
        """

    def close(self) -> None:
        """Lets go what is held for the results given so far; they cannot be looked at any further."""


@runtime_checkable
class Telling(Protocol):
    """An add set that knows what pulled elements in."""

    def why_pulled(self) -> Sequence[PulledIn]:
        """Each reason once, with how many elements it pulled in, most first."""


class Asserting(Protocol):
    """The part of a knowledge base that tells of deletions
    (`abox_ops.engine.KnowledgeBase.absent`).
    """

    def absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]: ...

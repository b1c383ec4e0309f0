"""Values and protocols that the steps of a check share: opened base, batch, findings, engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from shiq.abox_ops.engine import KnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.result import PulledIn, UndecidedModule
from shiq.answers.verdict import Leftover, Verdict
from shiq.inputs.reading import LeftoverPlaces, Place, Places, no_leftover_places, no_positions
from shiq.jobs.checking.options import Clock, Options
from shiq.model import Assertion, TBox
from shiq.model.abox import ABox

if TYPE_CHECKING:
    from shiq.abox_ops.modules.decide import Audit
    from shiq.answers.result import Conflict
    from shiq.simplify.locality import ReachableAxioms


@dataclass(frozen=True)
class OpenBase:
    """Base (T, A) that is ready for checks: T, the indexed A (``knowledge_base``), leftovers and
    certificate.

    certificate: empty if nothing was certified.
    leftovers: what was not interpreted of T and A.
    ontologies: IRIs by which a batch may import the TBox.
    scope: prefix that keeps blank nodes of this batch apart from those of earlier batches.
    labels: labels of the TBox's terms, by IRI.
    snapshot: number of the store's snapshot; 0 for other bases.
    assertions: lists A; None if this process cannot.
    vocabulary: classes and properties of A, or a superset.
    reach: cache of the parts of T that data can reach (`shiq.jobs.checking.outside_shiq`); shared
        while T and A are the same.
    store: path of the store, else empty.
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
    reach: dict[object, ReachableAxioms] = field(default_factory=dict)
    store: str = ""

    @property
    def is_certified(self) -> bool:
        """Whether the certificate says that the base is consistent."""
        return self.certificate.get("verdict") == Verdict.CONSISTENT.value


def mark_allowed(
    leftovers: Iterable[Leftover], certificate: Mapping[str, Any]
) -> tuple[Leftover, ...]:
    """Mark the leftovers of a base whose kind was allowed when the base was certified, so that a
    check does not count them as blocking again.

    Leftovers with ``asked`` came with a later batch and are not covered by that permission.
    """
    if certificate.get("verdict") != Verdict.CONSISTENT.value:
        return tuple(leftovers)
    allowed = frozenset(certificate.get("allowed", ()))
    return tuple(
        replace(x, agreed=True) if x.kind in allowed and not x.asked else x for x in leftovers
    )


class AddSetSize(Protocol):
    """Protocol: sizes of an add set (`shiq.abox_ops.engine.AddSet`) that a result reports."""

    @property
    def insertions(self) -> int:
        """Number of insertions."""

    @property
    def size(self) -> int:
        """Number of assertions of A_add (those that the check had to read)."""

    @property
    def pulled_in(self) -> int:
        """Number of individuals in A_add that the batch does not mention."""

    def kept_assertions(self) -> Iterator[Assertion]:
        """Iterate over the assertions of A_add, which the check had to read."""


@dataclass(frozen=True)
class InputBatch:
    """A batch after reading: insertions, deletions and leftovers.

    ledger: number of triples by bucket.
    places, deleted_at: where insertions and deletions were read.
    leftover_places: where leftovers of the insertions were read.
    deleted_left_out: deleted assertions that A leaves out.
    left_out: leftovers in full, one for each line, triple or assertion.
    distributed_work: work outside this process, if the engine has any.
    """

    insertions: ABox
    deletions: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Mapping[str, int]
    places: Places = no_positions
    deleted_at: Places = no_positions
    leftover_places: LeftoverPlaces = no_leftover_places
    deleted_left_out: frozenset[Assertion] = frozenset()
    left_out: Sequence[Iterable[Leftover]] = ()
    distributed_work: DistributedWork | None = None


@dataclass(frozen=True)
class Explanation:
    """Outcome of the search for the conflicts of an inconsistent batch.

    conflicts: the minimal conflicts found.
    unexplained_count: number of contradictions without a conflict.
    is_complete: every minimal conflict is found.
    is_finished: False if the search was interrupted.
    was_interrupted: interruption or time limit stopped it in mid-step.
    notes: sentences about this for the user.
    """

    conflicts: Sequence[Conflict] = ()
    unexplained_count: int = 0
    is_complete: bool = True
    is_finished: bool = True
    was_interrupted: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModuleFindings:
    """Figures about the modules of a batch, and about deciding them.

    members: individuals of each contradictory element and each module.
    count: number of modules; contradictory_elements: number of contradictory elements.
    shapes, calls: number of different modules, and of questions to a reasoner.
    """

    members: Sequence[tuple[str, ...]]
    count: int
    shapes: int
    calls: int
    contradictory_elements: int = 0


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Findings of an engine and a reasoner about a batch, from which the result is made.

    criterion: the criterion that was used.
    verdict_counts: number of modules by verdict.
    refuted_count: number of contradictory elements and inconsistent modules.
    undecided_reasons: reasons of undetermined modules.
    places: where insertions in conflicts were read.
    check_id: id of the check by its content.
    sent_counts, notes: see `Evidence`. undetermined_modules: see `Result`. cost: see `Statistics`.
    """

    criterion: str
    add_set: AddSetSize
    modules: ModuleFindings
    verdict_counts: Mapping[str, int]
    refuted_count: int = 0
    undecided_reasons: tuple[str, ...] = ()
    explanation: Explanation = Explanation()
    places: Mapping[Assertion, tuple[Place, ...]] = field(default_factory=dict)
    check_id: str = ""
    sent_counts: Mapping[str, int] = field(default_factory=dict)
    audit: Audit | None = None
    notes: tuple[str, ...] = ()
    undetermined_modules: Sequence[UndecidedModule] = ()
    cost: Mapping[str, int] = field(default_factory=dict)


class DistributedWork(Protocol):
    """Protocol: the part of one check that runs outside this process, reading the batch and
    deciding many or hard shapes.
    """

    def distribute_sources(self, given: Sequence[object]) -> list[object]:
        """Replace sources by ones that are read outside this process, where possible. Raises:
        InputError.
        """

    def distribute_questions(self, decider: Decider) -> AbstractContextManager[None]:
        """Context manager: questions to ``decider`` may be answered outside this process."""

    def check_id(self, insertions: ABox, deletions: ABox, criterion: str) -> str:
        """Compute the id of the check of this batch from its content."""

    def cost(self) -> Mapping[str, int]:
        """Counts of the work done outside this process so far (`shiq.answers.result.Statistics`)."""


@runtime_checkable
class DistributedEngine(Protocol):
    """Protocol: a knowledge base whose engine reads batches and decides modules outside this
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
        """Check a batch. Returns the findings, the reading ledger and the leftovers.

        The criterion for `AUTO` (`resolve_criterion`) is chosen once the deletions are read.
        ``decider`` explains conflicts in this process.
        """

    def close(self) -> None:
        """Release the resources of earlier results; these cannot be read afterwards."""


@runtime_checkable
class AddSetWithReasons(Protocol):
    """Protocol: an add set that knows for which reasons elements were pulled in."""

    def why_pulled(self) -> Sequence[PulledIn]:
        """Count elements by the reason that pulled them in, most frequent first."""


class DeletionLookup(Protocol):
    """Protocol: a knowledge base that finds deletions which match no assertion
    (`shiq.abox_ops.engine.KnowledgeBase.find_absent`).
    """

    def find_absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """Count those of the ``deletions`` that are not in A, and list at most ``most`` of them."""

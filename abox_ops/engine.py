"""Interface of engines: a knowledge base opened for checking, and the add set that it computes for
a batch.

An engine holds a certified-consistent (T, A) in some form (dictionaries, columns, a Spark table)
and computes A_add for a batch. It never asks a reasoner. All engines give equal add sets for equal
inputs; `tests.spec.knowledge_base` is the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

from shiq.model import Assertion
from shiq.model.abox import ABox
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module
from shiq.simplify import SimplifiedTBox

#: The criteria by which an engine may decide what a check must see.
CRITERIA = ("clausal", "definition7", "none")
#: The criterion that asks a reasoner as it goes: of engines that are a `ModelKnowledgeBase`.
MODEL = "model"

#: Answers for modules over a clausal TBox, in order.
Decide: TypeAlias = Callable[[ClausalTBox, Sequence[Module]], Sequence[Answer]]

#: Told, perhaps more than once, that a batch is inconsistent, while the check of it goes on.
InconsistencyCallback: TypeAlias = Callable[[], object]


def ignore_inconsistency() -> None:
    """Default callback for a batch that is known to be inconsistent: do nothing."""


def never_over() -> bool:
    """Default deadline test: the time is never over."""
    return False


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Settings for deciding a batch by patching the certified model: reasoner, time limit, and when
    to stop.

    decide: answers modules; called as often as needed.
    attempt: answers modules with a small budget of the own reasoner. It is called where any answer
        but consistent only means to look at more (THEORY, "How much is asked, and how far I
        grows"). Without it ``decide`` is called.
    is_over: once it returns True, undecided questions stay undetermined.
    verdict_only: stop once the batch is known to be inconsistent.
    on_inconsistent: callback, called as soon as the batch is known to be inconsistent.
    """

    decide: Decide
    is_over: Callable[[], bool] = never_over
    verdict_only: bool = False
    on_inconsistent: InconsistencyCallback = ignore_inconsistency
    attempt: Decide | None = None

    @property
    def for_base(self) -> Inquiry:
        """Return these settings for certifying a base: no early stop, no callback, each question in
        full.
        """
        return replace(self, verdict_only=False, on_inconsistent=ignore_inconsistency, attempt=None)


@dataclass(frozen=True, slots=True)
class WideningFigures:
    """Statistics of the questions that were repeated because a module failed and its region was
    widened.

    rounds: rounds of questions.
    questions: questions about modules that were widened.
    elements: elements in these modules.
    closed: elements past the bound on both (`shiq.abox_ops.patch.effort`).
    """

    rounds: int = 0
    questions: int = 0
    elements: int = 0
    closed: int = 0

    def __add__(self, other: WideningFigures) -> WideningFigures:
        """Add the figures of two parts of a batch that were decided side by side."""
        counts = (
            self.questions + other.questions,
            self.elements + other.elements,
            self.closed + other.closed,
        )
        return WideningFigures(max(self.rounds, other.rounds), *counts)


NO_WIDENING = WideningFigures()


@runtime_checkable
class PatchAddSet(Protocol):
    """Protocol: A_add of a batch decided by patching the certified model, with the statistics of
    widening.
    """

    widening: WideningFigures


@dataclass(frozen=True, slots=True)
class NamedModule:
    """A module with the individuals of its nodes: ``elements[i]`` are the (equal) individuals of
    node i.
    """

    module: Module
    elements: tuple[tuple[str, ...], ...]


class AddSet(Protocol):
    r"""Protocol: A_add of one batch, split into modules.

    ``tbox``: the clauses that the modules' atoms refer to. ``contradictory``: elements (sorted
    members) that unit propagation alone refutes; they are in no module. ``insertions``: |A⁺ \
    A|; ``size``: |A_add| (THEORY, "The add set"); ``pulled_in``: how many elements entered
    without being touched by the batch.
    """

    tbox: ClausalTBox
    modules: Sequence[NamedModule]
    contradictory: Sequence[tuple[str, ...]]
    insertions: int
    size: int
    pulled_in: int

    def kept_assertions(self) -> Iterator[Assertion]:
        """Iterate over the assertions of A ∪ A⁺ that are kept, then the remedies; ``size`` of them,
        each once.
        """

    def all_assertions_about(self, individuals: Sequence[str]) -> Mapping[str, Sequence[Assertion]]:
        """Every assertion of (A less deletions) ∪ A⁺ that mentions each of ``individuals``, sorted,
        as model values; fetched together.
        """

    def labels(self, individuals: Sequence[str]) -> Sequence[tuple[int, int]]:
        """The told literals (positive, negative) of the element of each of ``individuals``, bitmasks
        over ``tbox.atoms``; fetched together.
        """

    def is_inserted(self, assertion: Assertion) -> bool:
        """Whether ``assertion`` is in A⁺ and not in A less deletions."""


@runtime_checkable
class ReleasableAddSet(Protocol):
    """Protocol: an add set with working memory that is needed only to continue the check, and can
    be freed.
    """

    def release_memory(self) -> AddSet:
        """Free that memory and return the add set without it. The original must not be used any
        more.
        """


class KnowledgeBase(Protocol):
    """Protocol: a knowledge base (T, A) opened by an engine for checks. Immutable: a check changes
    nothing.
    """

    simplified_tbox: SimplifiedTBox

    def __len__(self) -> int:
        """|A|, distinct assertions."""

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = "clausal") -> AddSet:
        """Compute A_add for ((A less ``deletions``) ∪ ``insertions``); the deletions come first."""

    def find_absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """Count the ``deletions`` that A does not contain, and list at most ``most`` of them."""


@runtime_checkable
class ModelKnowledgeBase(Protocol):
    """Protocol: a knowledge base whose engine has the criterion `model` (THEORY, "The criterion
    `model`"). ``is_completed``: whether the certified model of A is known, so that a check need not
    begin by looking at all of A.
    """

    is_completed: bool

    def decide_by_patch(
        self, insertions: ABox, deletions: ABox, inquiry: Inquiry
    ) -> tuple[AddSet, Sequence[Answer]]:
        """Compute A_add for ((A less ``deletions``) ∪ ``insertions``), with one answer for each of
        its modules.

        If no certified model is known, ``inquiry`` is asked for one first. A known model of A is
        used for A less ``deletions`` too, unless complex assertions are deleted (THEORY, "N in a
        store, and its renewal").
        """


@runtime_checkable
class LayeredKnowledgeBase(ModelKnowledgeBase, Protocol):
    """Protocol: a knowledge base that can put an accepted batch on top of A in memory, without
    writing it.
    """

    def with_accepted(self, add_set: AddSet) -> ModelKnowledgeBase | None:
        """Put an accepted batch on top: return the knowledge base of (T, A ∪ A⁺) for the criterion
        `model`; None where that needs a commit.

        ``add_set`` came of `decide_by_patch` by this, and all its answers are consistent. None
        where a deletion came first, or where a layer costs as much as checking A ∪ A⁺ anew.
        """

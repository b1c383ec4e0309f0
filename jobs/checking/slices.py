"""Check a large batch in slices, each on top of those before it, so that the memory needed depends
on the size of a slice (THEORY, "Slices").

If a slice is not consistent, or cannot be layered under the next one, the batch is checked whole
instead. So conflicts, undecided parts and quarantined lines do not depend on slices.
"""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from shiq.abox_ops.conflicts.identities import Identity, MergingAddSet, find_identities
from shiq.abox_ops.elements.base import Base
from shiq.abox_ops.engine import (
    MODEL,
    NO_WIDENING,
    AddSet,
    Inquiry,
    LayeredKnowledgeBase,
    PatchAddSet,
    WideningFigures,
)
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.modules.add_set import (
    NamedModules,
    count_verdicts,
    distinct_answers,
    individuals_in,
)
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.modules.shapes import Shape
from shiq.answers.result import PulledIn
from shiq.answers.verdict import Leftover, Verdict, is_blocking_kind
from shiq.columns.arrays import Ints, unique
from shiq.columns.rows import select_rows
from shiq.jobs.checking.answer import (
    OVERSIZE_KINDS,
    PARTIAL_NOTE,
    OversizeKey,
    count_oversize,
    oversize_leftovers,
)
from shiq.jobs.checking.base import (
    AddSetWithReasons,
    Explanation,
    Findings,
    InputBatch,
    ModuleFindings,
    OpenBase,
)
from shiq.jobs.checking.deciders import make_decider
from shiq.jobs.checking.options import Options, unsliced_note
from shiq.model import Assertion
from shiq.model.abox import ABox, int_array
from shiq.model.clause import ClausalTBox
from shiq.support import LazySequence, supports

#: After slices of so many insertions what they leave is collected, which takes as long as the
#: process has objects.
GARBAGE_ROWS = 10_000


@dataclass(frozen=True)
class SlicedAddSet:
    """Summed figures of the add sets of a batch's slices; their assertions are computed again when
    asked for.

    recompute: checks the slices again and yields their add sets.
    compute_unsliced: computes the add set of the whole batch at once.
    has_merges: some slice makes individuals equal.
    oversize: the largest elements and hubs of any slice.
    """

    recompute: Callable[[], Iterator[AddSet]]
    compute_unsliced: Callable[[], MergingAddSet]
    tbox: ClausalTBox | None = None
    has_merges: bool = False
    insertions: int = 0
    size: int = 0
    pulled_in: int = 0
    modules: int = 0
    widening: WideningFigures = NO_WIDENING
    reasons: tuple[PulledIn, ...] = ()
    verdict_counts: Counter[str] = field(default_factory=Counter)
    shapes: frozenset[Shape] = frozenset()
    oversize: Counter[OversizeKey] = field(default_factory=Counter)

    def with_slice(
        self, add_set: AddSet, decided: Counter[str], options: Options, decider: Decider
    ) -> SlicedAddSet:
        """This sum with the figures of one more slice added."""
        why = (
            add_set.why_pulled()
            if options.why_pulled and isinstance(add_set, AddSetWithReasons)
            else ()
        )
        shapes = decider.shape_keys(
            add_set.tbox, NamedModules.from_modules(add_set.modules).distinct
        )
        return replace(
            self,
            tbox=add_set.tbox,
            has_merges=self.has_merges
            or (supports(add_set, MergingAddSet) and bool(add_set.merged_elements())),
            insertions=self.insertions + add_set.insertions,
            size=self.size + add_set.size,
            pulled_in=self.pulled_in + add_set.pulled_in,
            modules=self.modules + len(add_set.modules),
            widening=self.widening
            + (add_set.widening if supports(add_set, PatchAddSet) else NO_WIDENING),
            reasons=_join_reasons(self.reasons, why),
            verdict_counts=self.verdict_counts + decided,
            shapes=self.shapes | shapes,
            oversize=self.oversize | count_oversize(add_set),
        )

    def kept_assertions(self) -> Iterator[Assertion]:
        """Iterate over the assertions that the check had to read, slice by slice."""
        return chain.from_iterable(add_set.kept_assertions() for add_set in self.recompute())

    def members(self) -> list[tuple[str, ...]]:
        """The individuals of each module, over all slices."""
        return [
            individuals_in(module) for add_set in self.recompute() for module in add_set.modules
        ]

    def identities(self) -> list[Identity]:
        """Individuals that the batch makes equal, with reasons; computed from the whole batch at
        once.
        """
        return find_identities(self.compute_unsliced()) if self.has_merges else []

    def why_pulled(self) -> Sequence[PulledIn]:
        """Count elements by the reason that pulled them in, over all slices."""
        return self.reasons


def _join_reasons(before: Sequence[PulledIn], more: Sequence[PulledIn]) -> tuple[PulledIn, ...]:
    """Sum the counts of equal reasons, most frequent first."""
    found: dict[tuple[str, str, tuple[str, ...]], PulledIn] = {}
    for reason in (*before, *more):
        key = reason.reason, reason.text, reason.axioms
        known = found.get(key)
        found[key] = reason if known is None else replace(known, count=known.count + reason.count)
    return tuple(sorted(found.values(), key=lambda x: (-x.count, x.reason, x.text)))


def slicing_obstacle(base: OpenBase, batch: InputBatch, options: Options) -> str:
    """Return the reason why a batch cannot be checked in slices; empty if it can."""
    insertions = batch.insertions
    if any(is_blocking_kind(kind, options.allow, options.fail_on) for kind in OVERSIZE_KINDS):
        return "--fail-on counts equal individuals and hubs over the whole batch"
    if options.criterion != MODEL or not supports(base.knowledge_base, LayeredKnowledgeBase):
        return "slices need the criterion model"
    if len(batch.deletions):
        return "it has deletions"
    if insertions.complex or insertions.same or len(insertions.different):
        return "it has negative or complex assertions, or says that individuals are equal or differ"
    return (
        "the TBox has properties that may be object or data properties"
        if base.tbox.signature.open_properties
        else ""
    )


def decide_by_slices(
    base: OpenBase,
    batch: InputBatch,
    options: Options,
    inquiry: Inquiry,
    decider: Decider,
) -> tuple[Findings | None, str, tuple[Leftover, ...]]:
    """Decide a batch slice by slice, each on top of the slices before it.

    Returns: the findings, or None if the batch must be checked in one piece; the reason for that;
        and leftovers about oversize elements.
    """
    rows = options.driver_rows or 1
    why = slicing_obstacle(base, batch, options)
    found = SlicedAddSet(
        partial(_recompute_slices, base, batch, rows, options),
        partial(_unsliced_add_set, base, batch, options),
    )
    for add_set, decided, found_so in () if why else _check_slices(base, batch, rows, inquiry):
        if found_so is Verdict.INCONSISTENT:
            inquiry.on_inconsistent()
            if options.verdict_only:
                found = found.with_slice(add_set, decided, options, decider)
                return (
                    replace(
                        _slice_findings(found, options, decider),
                        refuted_count=1,
                        explanation=Explanation(unexplained_count=1, is_complete=False),
                        notes=(PARTIAL_NOTE,),
                    ),
                    "",
                    oversize_leftovers(found.oversize),
                )
        if found_so is not None:
            why = _REASONS[found_so]
            break
        found = found.with_slice(add_set, decided, options, decider)
        del add_set
    if why:
        return None, unsliced_note(rows, why), ()
    return _slice_findings(found, options, decider), "", oversize_leftovers(found.oversize)


_NOT_LAYERED = "alone"
_REASONS = {
    Verdict.INCONSISTENT: "a slice contradicts, and conflicts are searched for in the whole batch",
    Verdict.UNDETERMINED: "a slice was not decided by itself",
    _NOT_LAYERED: "a slice changes more than can be passed on to the next one",
}


@contextmanager
def _open_inquiry(options: Options) -> Iterator[Inquiry]:
    """Context manager: an inquiry by a new decider, for figures that are asked for later."""
    with closing(make_decider(replace(options, audit=0.0, progress=None))) as decider:
        yield Inquiry(decider.decide, attempt=decider.attempt)


def _recompute_slices(
    base: OpenBase, batch: InputBatch, rows: int, options: Options
) -> Iterator[AddSet]:
    """Check the slices once more, all of which were consistent, and yield their add sets."""
    with _open_inquiry(options) as inquiry:
        yield from (add_set for add_set, _, _ in _check_slices(base, batch, rows, inquiry))


def _unsliced_add_set(base: OpenBase, batch: InputBatch, options: Options) -> MergingAddSet:
    """Compute the add set of the whole batch at once."""
    knowledge_base: Any = base.knowledge_base
    with _open_inquiry(options) as inquiry:
        return knowledge_base.decide_by_patch(batch.insertions, ABox(), inquiry)[0]


def _check_slices(
    base: OpenBase, batch: InputBatch, rows: int, inquiry: Inquiry
) -> Iterator[tuple[AddSet, Counter[str], object]]:
    """Check the slices in turn, each on top of those before it.

    Yields: the add set, the number of modules by verdict, and the reason to stop after this slice
        or None.
    """
    below: Any = base.knowledge_base
    for part in split_batch(below.base, batch.insertions, rows):
        add_set, answers = below.decide_by_patch(part, ABox(), inquiry)
        decided = Counter(
            {verdict.value: count for verdict, count in count_verdicts(answers).items()}
        )
        verdicts = {answer.verdict for answer in distinct_answers(answers)}
        if add_set.contradictory or Verdict.INCONSISTENT in verdicts:
            yield add_set, decided, Verdict.INCONSISTENT
            return
        if Verdict.UNDETERMINED in verdicts:
            yield add_set, decided, Verdict.UNDETERMINED
            return
        above = below.with_accepted(add_set)
        yield add_set, decided, None if above is not None else _NOT_LAYERED
        if above is None:
            return
        below = above
        del add_set, answers
        if rows >= GARBAGE_ROWS:
            # What worked on a slice refers to itself, and holds its columns.
            gc.collect()


def _slice_findings(found: SlicedAddSet, options: Options, decider: Decider) -> Findings:
    """Make the findings of the whole batch from the summed figures of its slices."""
    return Findings(
        criterion=options.criterion,
        add_set=found,
        modules=ModuleFindings(
            members=LazySequence(found.modules, found.members),
            count=found.modules,
            shapes=len(found.shapes),
            calls=decider.question_count,
        ),
        verdict_counts=found.verdict_counts,
        audit=decider.audit,
    )


def split_batch(base: Base, abox: ABox, rows: int) -> Iterator[ABox]:
    """Split ``abox``, which has atomic assertions only, into parts of about ``rows`` assertions.

    Assertions with one subject stay in one part. Subjects that are near each other in ``base``, or
    whose neighbours are, come into the same part where possible.
    """
    subjects = [
        np.asarray(column, np.int64)
        for column in (abox.class_rows.subject, abox.role_rows.subject, abox.data_rows.subject)
    ]
    order = _sort_keys(base, abox).argsort(kind="stable")
    counts = np.bincount(np.concatenate(subjects), minlength=len(abox.individuals))
    part_of = np.empty(len(order), np.int64)
    part_of[order] = np.maximum(counts[order].cumsum() - 1, 0) // rows
    for i in range(int(part_of.max(initial=-1)) + 1):
        found = _select_assertions(abox, [(part_of == i)[column] for column in subjects])
        if len(found):
            yield found


def _sort_keys(base: Base, abox: ABox) -> Ints:
    """Sort key of each individual: its node in ``base``; for a fresh individual the least node
    among its neighbours in the base, else the largest integer.

    Returns: (n,) int64, by individual.
    """
    nodes = base.nodes_of(abox.individuals)
    near = np.where(nodes < 0, np.iinfo(np.int64).max, nodes)
    ends = [
        np.asarray(column, np.int64) for column in (abox.role_rows.subject, abox.role_rows.object)
    ]
    for mine, other in (ends, ends[::-1]):
        fresh = (nodes[mine] < 0) & (nodes[other] >= 0)
        np.minimum.at(near, mine[fresh], nodes[other[fresh]])
    return near


def _select_assertions(abox: ABox, chosen: Sequence[Bools]) -> ABox:
    """Select the ``chosen`` class, role and data assertions of ``abox``, with their own numbering
    of names.
    """
    class_rows, role_rows, data_rows = select_rows(abox, chosen)
    individuals = unique(
        np.concatenate([class_rows.subject, role_rows.subject, role_rows.object, data_rows.subject])
    )
    literals = unique(np.asarray(data_rows.literal))

    def place(column: array[int]) -> array[int]:
        """Renumber a column of individuals."""
        return int_array(individuals.searchsorted(np.asarray(column)))

    return ABox(
        [abox.individuals[i] for i in individuals.tolist()],
        abox.classes,
        abox.object_properties,
        abox.data_properties,
        [abox.literals[i] for i in literals.tolist()],
        class_rows._replace(subject=place(class_rows.subject)),
        role_rows._replace(subject=place(role_rows.subject), object=place(role_rows.object)),
        data_rows._replace(
            subject=place(data_rows.subject),
            literal=int_array(literals.searchsorted(np.asarray(data_rows.literal))),
        ),
    )

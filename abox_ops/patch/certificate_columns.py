"""N of a consistent (T, A) in columns, read off a certificate: `tests.spec.certificate`
(THEORY, "Outside completion").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from abox_ops.counting.fine_columns import FineCounts
from abox_ops.elements.base import Base
from abox_ops.elements.columns import Graph
from abox_ops.elements.partition import StoredPartition, components, grouping
from abox_ops.engine import Inquiry
from abox_ops.index.columns import Index, alone
from abox_ops.index.touched import TouchedNodes
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools
from abox_ops.patch.columns import Patch
from abox_ops.patch.outside_columns import OutsideCompletion
from abox_ops.patch.state_columns import Named, PatchInput
from abox_ops.patch.widening import PatchOutcome, patched
from shiq.columns.arrays import NONE, Ints, array_table, least_by, unique
from shiq.roles import RoleBox
from shiq.stages import enter_stage


class Certification(Patch):
    """All of A, put into nothing: every element is in I, and new."""

    def _saturate(self) -> None:
        if self._first is None:
            self._first = np.arange(len(self.graph))
            self.active, self.inside = (np.ones(len(self.graph), np.bool_) for _ in range(2))

    def _asked_for(self) -> tuple[Ints, Ints, Ints]:
        return NONE, NONE, NONE

    def _new(self) -> Bools:
        return np.ones(len(self.graph), np.bool_)

    def _joined(self) -> Bools:
        return np.bincount(self.graph.rep[self.graph.member_element], minlength=len(self.graph)) > 1

    def _start(self) -> Ints:
        return NONE

    def _uncovered(self) -> Ints:
        return NONE


@dataclass(frozen=True, eq=False)
class BaseCertificate:
    """The certificate of a base: N, what was kept for it, and its modules with their answers."""

    completion: OutsideCompletion
    patch: Patch
    patched: PatchOutcome


def certified(
    index: Index, base: Base, roles: RoleBox, named: Callable[[Graph], Named], inquiry: Inquiry
) -> BaseCertificate:
    """(T, ``base``), which ``index`` belongs to, by itself. Where A turns out to be
    inconsistent, or is left undecided under an assumption, N says nothing beyond told.
    ``named``: see `PatchInput`.
    """
    enter_stage("certifying: completing the model")
    calculus = index.calculus
    graph = Graph(alone(base), roles, index.equal, index.labels.of)
    everyone = graph.locate(unique(graph.keys_of(base.nodes())))
    graph.expand(everyone)
    patch = Certification(
        PatchInput(index, calculus, graph, NOTHING_TOUCHED, of_told(calculus), named(graph))
    )
    refuted: list[bool] = []
    found = patched(patch, replace(inquiry, certain=lambda: refuted.append(True)))
    if index.contradictory or refuted or not found.is_consistent:
        enter_stage("certifying: counting neighbours")
        counts = FineCounts(calculus, graph, lambda: graph.label, np.ones(len(graph), np.bool_))
        return BaseCertificate(
            of_told(calculus, _grouped(graph, counts.classes(graph.reps()))), patch, found
        )
    completed = calculus.completions.of
    labels = calculus.table.labels
    expected = np.array(
        [
            calculus.table.id(completed(labels[i]))
            for i in range(int(graph.label.max(initial=-1)) + 1)
        ],
        np.int64,
    )
    other = (patch.mu != expected[graph.label]).nonzero()[0] if len(graph) else NONE
    edges = patch.found().edges
    completion = OutsideCompletion(
        True,
        array_table("element", {"element": graph.key[other], "label": patch.mu[other]}),
        _grouped(graph, patch.counts.classes(graph.reps())),
        _grouped(graph, components(len(graph), edges["source"], edges["target"])),
        labels.__getitem__,
        calculus.completions,
    )
    return BaseCertificate(completion, patch, found)


def of_told(calculus: Calculus, classes: StoredPartition | None = None) -> OutsideCompletion:
    """The N that says nothing beyond what is told, with its merge classes."""
    nobody = grouping(NONE, NONE)
    others = array_table("element", {"element": NONE, "label": NONE})
    known = calculus.table.labels.__getitem__
    return OutsideCompletion(False, others, classes or nobody, nobody, known, calculus.completions)


def _grouped(graph: Graph, group: Ints) -> StoredPartition:
    """The elements of ``graph`` by what ``group`` gives each of them, under their keys."""
    return grouping(graph.key, least_by(group, graph.key, int(group.max(initial=-1)) + 1)[group])


NOTHING_TOUCHED = TouchedNodes(NONE, NONE, NONE, {}, frozenset(), frozenset())

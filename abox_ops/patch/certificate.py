"""Certify a base: find a model of (T, A) and keep it as the certified model (THEORY, "Outside
completion"; `tests.spec.certificate`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shiq.abox_ops.counting.groups import CountedGraph
from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.elements.base import Base
from shiq.abox_ops.elements.graph import Graph
from shiq.abox_ops.elements.quotient import StoredPartition, component_minima, make_partition
from shiq.abox_ops.engine import InconsistencyCallback, Inquiry
from shiq.abox_ops.index.index import Index, TouchedNodes, view_without_batch
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.patch.assumptions import assume_labels_for
from shiq.abox_ops.patch.border_rules import find_crossings
from shiq.abox_ops.patch.certified_model import CertifiedModel
from shiq.abox_ops.patch.inside_region import PatchContext, PatchRegion, count_region
from shiq.abox_ops.patch.patch import Patch, RoundSteps
from shiq.abox_ops.patch.told_plus import report_told_clash
from shiq.abox_ops.patch.widening_loop import PatchOutcome, decide_patch
from shiq.columns.arrays import NONE, Ints, array_table, group_minimum, unique
from shiq.deadline import report_stage
from shiq.model.roles import RoleBox


def include_all_elements(
    region: PatchRegion, to_clash: bool, certain: InconsistencyCallback
) -> bool:
    """Put every element into the region I, in place of the first step of a round.

    The labels of the index are told⁺ already (`settle_told`).
    """
    if region.touched_elements is None:
        region.touched_elements = np.arange(len(region.graph))
        region.is_active, region.is_inside = (
            np.ones(len(region.graph), np.bool_) for _ in range(2)
        )
    if report_told_clash(region, to_clash, certain):
        return True
    region.effort.merge(region.graph.rep)
    return False


def assume_everywhere(region: PatchRegion) -> None:
    """Choose a label for every element of the region I where every element is new."""
    assume_labels_for(
        region, np.ones(len(region.graph), np.bool_), have_several_parts(region.graph)
    )


def have_several_parts(graph: Graph) -> Bools:
    """Decide for every element whether it is made of several individuals."""
    return np.bincount(graph.rep[graph.members.element], minlength=len(graph)) > 1


def bring_in_nothing(_: PatchRegion) -> Ints:
    """Return no elements, in place of a step that lets the region I grow: all elements are in the
    region I already.
    """
    return NONE


#: The round of all of A, put into nothing: every element is in I, and new.
CERTIFYING = RoundSteps(
    include_all_elements,
    assume_everywhere,
    count_region,
    find_crossings,
    bring_in_nothing,
    bring_in_nothing,
)


@dataclass(frozen=True, eq=False)
class BaseCertificate:
    """The certificate of a base: the certified model, the patch that found it, and its modules with
    their answers.
    """

    model: CertifiedModel
    patch: Patch
    outcome: PatchOutcome


def certify_base(
    index: Index,
    base: Base,
    roles: RoleBox,
    inquiry: Inquiry,
) -> BaseCertificate:
    """Certify (T, ``base``) by finding a model. ``index`` is its index.

    If A is inconsistent, or undecided under an assumption, the model contains told literals alone.
    """
    report_stage("certifying: completing the model")
    calculus = index.calculus
    graph = Graph(view_without_batch(base), roles, index.base_elements())
    everyone = graph.locate(unique(graph.base_elements.keys_of(base.nodes())))
    graph.fetch_edges(everyone)
    given = PatchContext(index, calculus, graph, NOTHING_TOUCHED, told_only_model(calculus))
    region = PatchRegion(given)
    patch = Patch(region, CERTIFYING)
    refuted: list[bool] = []
    found = decide_patch(patch, replace(inquiry, on_inconsistent=lambda: refuted.append(True)))
    if index.is_contradictory or refuted or not found.is_consistent:
        report_stage("certifying: counting neighbours")
        counted = CountedGraph(calculus, graph, lambda: graph.label)
        counts = MergeClasses(counted, np.ones(len(graph), np.bool_))
        return BaseCertificate(
            told_only_model(
                calculus, _partition_by_group(graph, counts.class_codes(graph.representatives()))
            ),
            patch,
            found,
        )
    completed = calculus.label_guesses.guess_model_label
    labels = calculus.table.labels
    expected = np.array(
        [
            calculus.table.id(completed(labels[i]))
            for i in range(int(graph.label.max(initial=-1)) + 1)
        ],
        np.int64,
    )
    other = (region.labels.mu != expected[graph.label]).nonzero()[0] if len(graph) else NONE
    edges = patch.add_set_columns().edges
    completion = CertifiedModel(
        True,
        array_table("element", {"element": graph.key[other], "label": region.labels.mu[other]}),
        _partition_by_group(graph, region.counts.class_codes(graph.representatives())),
        _partition_by_group(graph, component_minima(len(graph), edges["source"], edges["target"])),
        labels.__getitem__,
        calculus.label_guesses,
    )
    return BaseCertificate(completion, patch, found)


def told_only_model(
    calculus: NumberedCalculus, classes: StoredPartition | None = None
) -> CertifiedModel:
    """Make a certified model that says no more than told literals, with the merge classes
    ``classes``.
    """
    nobody = make_partition(NONE, NONE)
    others = array_table("element", {"element": NONE, "label": NONE})
    known = calculus.table.labels.__getitem__
    return CertifiedModel(False, others, classes or nobody, nobody, known, calculus.label_guesses)


def _partition_by_group(graph: Graph, group: Ints) -> StoredPartition:
    """Partition the elements of ``graph``, given by their keys, by equal values in ``group``."""
    return make_partition(
        graph.key, group_minimum(group, graph.key, int(group.max(initial=-1)) + 1)[group]
    )


NOTHING_TOUCHED = TouchedNodes(NONE, NONE, NONE, {}, frozenset(), frozenset())

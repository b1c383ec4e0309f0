"""One group of insertions under the criterion `model` or `clausal`, in one task: the patch of the engine `local`, and what it
rested on.

*Speculate, certify, merge*, as in `jobs.spark.kernel`: groups are patched as if each were the whole batch, under `model` with
modules decided on the way, and groups of which one read what the other changed are patched again as one. The executors read N, or
under `clausal` told and merge classes, from the store. What is read and changed of an element is told by kind (`KINDS`), and why
the patches together are that of the batch then is in THEORY, "Groups of a batch on Spark".
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from abox_ops.elements.columns import Graph, flags
from abox_ops.engine import Inquiry
from abox_ops.labels.numbered import EMPTY_ID, Bools
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.patch.columns import Patch
from jobs.spark.facts import counted_ends
from jobs.spark.plan import Plan, whole_of
from jobs.spark.reasoners import decider_of, inquiry_until
from shiq.abox import ABox
from shiq.columns.arrays import Ints
from shiq.reasoner.protocol import Answer


def patch_all(kb: LocalKnowledgeBase, insertions: ABox, deletions: ABox, plan: Plan) -> tuple[LocalAddSet, Sequence[Answer]]:
    """The patch of the whole batch, with this worker's reasoner."""
    return kb.patched(insertions, deletions, inquiry(plan))


def patch(
    kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan
) -> tuple[LocalAddSet, Sequence[Answer], Footprint]:
    """The patch of some insertions, with the vocabulary of the whole batch, and its footprint. ``known``: see `whole_of`."""
    whole, calculus = whole_of(kb, insertions, known, plan)
    add_set, answers = kb.patch_with(whole, calculus, plan.extra, inquiry(plan))
    # Counting what is kept looks at the far ends of inequalities too: they are read.
    _ = add_set.size
    assert add_set.patch is not None
    return add_set, answers, footprint(add_set.patch)


def plain_patch(kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan) -> tuple[LocalAddSet, Footprint]:
    """The same under `clausal`."""
    whole, calculus = whole_of(kb, insertions, known, plan)
    patch = kb.plain_patch(whole, calculus, plan.extra)
    add_set = kb.add_set_on(calculus, whole, patch.found())
    _ = add_set.size
    return add_set, footprint(patch)


def inquiry(plan: Plan) -> Inquiry:
    """This worker's reasoner, for as long as a task may ask it."""
    decider = decider_of(plan.asking, (plan.store.identity, plan.extra, plan.names))
    seconds = plan.asking.seconds
    return inquiry_until(decider, None if seconds is None else time.monotonic() + seconds)


# --- what it rested on ----------------------------------------------------------------------------

#: What groups read and change of an element: what it is (its label, of which part and class it is); the role assertions and the
#: values that a bound, an axiom or a negative assertion can see there; whether something may be sent to it.
KINDS = STATE, ROLES, VALUES, ACTIVE = "state", "roles", "values", "active"


@dataclass(frozen=True)
class Footprint:
    """By kind, and number of the graph of a run: which elements it ``read`` and which it ``changed``."""

    read: Mapping[str, Bools]
    changed: Mapping[str, Bools]


def footprint(patch: Patch) -> Footprint:
    """What ``patch`` rested on."""
    graph, rep = patch.graph, patch.graph.rep
    counted = counted_ends(patch.calculus, graph.whole)

    def everywhere(of: Bools) -> Bools:
        """Elements are made of all their numbers."""
        found: Bools = flags(len(graph), rep[of.nonzero()[0]])[rep]
        return found

    def ends(nodes: Ints) -> Bools:
        return everywhere(flags(len(graph), graph.locate_nodes(nodes)))

    changed = {
        STATE: changed_of(graph) | inside_of(patch)[rep],
        ROLES: ends(np.concatenate([counted.roles, seen_ends(patch)])),
        VALUES: ends(counted.values),
        ACTIVE: patch.active[rep],
    }
    read = {
        STATE: np.ones(len(graph), np.bool_),
        ROLES: everywhere(graph.expanded),
        VALUES: everywhere(graph.gathered),
        ACTIVE: everywhere(awaited(patch)),
    }
    return Footprint(read, changed)


def changed_of(graph: Graph) -> Bools:
    """By number: whether the element has another label than in A, is not one of A, or was made of several."""
    found: Bools = graph.is_new()[graph.rep] | (graph.label[graph.rep] != graph.old)
    return found


def awaited(patch: Patch) -> Bools:
    """By number: neighbours of changed elements that are not active, but would be sent something new, or send it back, or make
    the changed element and another neighbour one by a ≤1, if another group made them so."""
    graph, calculus = patch.graph, patch.calculus
    changed, join = changed_of(graph), calculus.table.join
    source, role, target = graph.half_edges()
    rows = changed[source] & patch.active[source] & ~patch.active[target]
    source, role, target = source[rows], role[rows], target[rows]
    told, known = np.where(graph.is_new()[source], EMPTY_ID, graph.old[source]), graph.old[target]
    back, there = calculus.role_calculus.sent(role, graph.label[source], graph.label[target])
    waits = (join(told, back) != told) | (join(known, there) != known)
    for clause in calculus.functional:
        is_met, was_met = (
            calculus.table.where(labels, lambda x, c=clause: not c.branch_body & ~x[0])  # type: ignore[misc]
            for labels in (graph.label[source], told)
        )
        waits |= is_met & ~was_met & calculus.in_force(known, clause) & calculus.among(role ^ 1, calculus.below(clause))
    return flags(len(graph), target[waits])


def inside_of(patch: Patch) -> Bools:
    """By number: whether it is in I."""
    return patch.inside


def seen_ends(patch: Patch) -> Ints:
    """The nodes of inserted role assertions that a disjointness, asymmetry or irreflexivity axiom, or some negative assertion,
    may see."""
    rows = patch.graph.whole.inserted["half_edges"].columns
    found: Ints = rows["node"][patch.calculus.among(rows["role"], patch.axiom_roles | patch.negated_roles)]
    return found

"""One group of insertions under the criterion `model` or `clausal`, in one task: the patch of the engine `local`, and what it
rested on.

*Speculate, certify, merge*, as in `jobs.spark.kernel`: groups are patched as if each were the whole batch, under `model` with
modules decided on the way, and groups of which one read what the other wrote are patched again as one. The executors read N, or
under `clausal` told and merge classes, from the store.

* read_set(g): all elements that the graph of g has located at the end, with all neighbours of what g touches: what another group
  changes there, it may send on.
* write_set(g): all elements with label⁺ ≠ told, fresh ones, those that A⁺ merges or enlarges, I, the ends of inserted role
  assertions that some ≤n can count or a disjointness, asymmetry or irreflexivity axiom or a negative assertion can see, and the
  subjects of inserted data assertions that some ≤n can count.

**Proposition.** If read_set(g) ∩ write_set(h) = ∅ for all g ≠ h, the patch of the batch gives the union of what the patches of
the groups give.

*Proof.* A patch (THEORY, "Inside", "Border rules" and "The loop"; under `clausal` closing alone) is a sequence of steps
(closing, asking, widening), each a function of I, the plain and the refuted elements, all of which only grow. In the joint
patch a group may have to wait, since coverage is looked at, and modules are asked, when nothing else changes anywhere; but a
step that finds nothing to do finds nothing when it is repeated. So it is enough that a step sees at its elements what it sees
when the group runs alone. told_N, the merge classes and the modules of the certificate (under `clausal` told, the stored
classes, none) are the same for all. Whatever an insertion of h is about, say x, is consulted by h, so x is not in write_set(g):
under g it has its label of A, is outside I, and not new; and if g consults x, it is not in write_set(h) either. What is left
are the rows of h at x, of which g reads:
(i) messages along R(x, y): x and y have their labels of A under g, so what is sent is sent under h as well, where both are
active, and would put its receiver into write_set(h), though g consults it;
(ii) rows that some ≤n counts, at an element outside or a neighbour of I (rules C and R, needs that are met, values): x is in
write_set(h) then;
(iii) what else is asserted of a pair about which g inserts something: it matters only if an axiom or a negative assertion
can see it, and then x is in write_set(h).
The sets I are disjoint, and so are their rows and modules. ∎
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from abox_ops.engine import Inquiry
from abox_ops.labels.numbered import Bools
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.patch.columns import Patch
from jobs.spark.facts import counted_ends
from jobs.spark.plan import Plan, whole_of
from jobs.spark.reasoners import decided_in_time, decider_of
from shiq.abox import ABox
from shiq.columns.arrays import Ints
from shiq.reasoner.protocol import Answer


def patch_all(kb: LocalKnowledgeBase, insertions: ABox, deletions: ABox, plan: Plan) -> tuple[LocalAddSet, Sequence[Answer]]:
    """The patch of the whole batch, with this worker's reasoner."""
    return kb.patched(insertions, deletions, _inquiry(plan))


def patch(
    kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan
) -> tuple[LocalAddSet, Sequence[Answer], Bools]:
    """The patch of some insertions, with the vocabulary of the whole batch; and which numbers of its graph were changed.
    ``known``: nodes of individuals."""
    whole, calculus = whole_of(kb, insertions, known, plan)
    add_set, answers = kb.patch_with(whole, calculus, plan.extra, _inquiry(plan), all_around=True)
    # Counting what is kept looks at the far ends of inequalities too: they are consulted.
    _ = add_set.size
    assert add_set.patch is not None
    return add_set, answers, write_set(add_set.patch)


def plain_patch(kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan) -> tuple[LocalAddSet, Bools]:
    """The same under `clausal`."""
    whole, calculus = whole_of(kb, insertions, known, plan)
    patch = kb.plain_patch(whole, calculus, plan.extra, all_around=True)
    add_set = kb.add_set_on(calculus, whole, patch.found())
    _ = add_set.size
    return add_set, write_set(patch)


def _inquiry(plan: Plan) -> Inquiry:
    decider = decider_of(plan.asking, (plan.store.identity, plan.extra, plan.names))
    return Inquiry(*decided_in_time(decider, plan.asking.seconds))


def write_set(patch: Patch) -> Bools:
    """By number: whether it is in changed, as the module says."""
    graph = patch.graph
    ends = graph.locate_nodes(np.concatenate([counted_ends(patch.calculus, graph.whole), seen_ends(patch)]))
    rep = graph.rep
    flags: Bools = graph.is_new()[rep] | (graph.label[rep] != graph.old) | inside_of(patch)[rep]
    flags[ends] = True
    return flags


def inside_of(patch: Patch) -> Bools:
    """By number: whether it is in I."""
    return patch.inside


def seen_ends(patch: Patch) -> Ints:
    """The nodes of inserted role assertions that a disjointness, asymmetry or irreflexivity axiom, or some negative assertion,
    may see."""
    rows = patch.graph.whole.inserted["half_edges"].columns
    found: Ints = rows["node"][patch.calculus.among(rows["role"], patch.axiom_roles | patch.negated_roles)]
    return found

"""The role assertions that lead out of I: what they bring in, and what keeps the others out
(THEORY, "Border rules").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiq.abox_ops.modules.add_set import ROLES, code_of
from shiq.abox_ops.patch.border import is_covered, residual_of
from shiq.abox_ops.patch.region import (
    KeptOut,
    PatchRegion,
    contradictory,
    may_clash,
    open_assertions,
)
from shiq.columns.arrays import NONE, Ints, is_row_in, unique


@dataclass(frozen=True)
class Crossings:
    """What the border asks for.

    source, target: role assertions, by their ends inside and outside, that bring in the target.
    unassumed: elements of I whose assumption leaves a clause unmet.
    kept_out: the other role assertions, with their residuals.
    """

    source: Ints
    target: Ints
    unassumed: Ints
    kept_out: KeptOut


def find_crossings(region: PatchRegion) -> Crossings:
    """Ask the border rules about the role assertions that leave I. Notes in ``pulled_in`` why
    elements come in.

    An element that contradicts itself settles the matter and asks for nothing. Role assertions
    between elements that are not stale ask for nothing, and keep their residuals.
    """
    graph, stale, effort = region.graph, region.stale, region.effort
    calm = region.inside & ~contradictory(region)
    if not region.inside.any():
        return Crossings(NONE, NONE, NONE, region.kept_out)
    source, role, target = graph.half_edges()
    rows = stale[source] | stale[target]
    rows[rows] = calm[source[rows]] & ~region.inside[target[rows]]
    source, role, target, inserted = (
        source[rows],
        role[rows],
        target[rows],
        graph.edges["inserted"][rows],
    )
    judged = open_assertions(region)
    seen = judged.seen(source, role, target).nonzero()[0]
    clash = seen[may_clash(region, source[seen], target[seen])]
    pulled, unassumed = [(source[clash], target[clash])], [NONE]
    region.pulled_in.note(target[clash], ROLES)
    left = np.ones(len(source), np.bool_)
    left[clash] = False
    source, role, target, inserted = source[left], role[left], target[left], inserted[left]
    asserted = ~inserted
    is_old = is_row_in([source, role, target], [source[asserted], role[asserted], target[asserted]])
    is_old &= ~region.is_new[source] & ~region.is_new[target]
    settled = ~region.stale[region.kept_out[0]] & ~region.stale[region.kept_out[1]]
    kept_out = [tuple(column[settled] for column in region.kept_out)]
    for clause, at_branch, open_ in judged.open_instances(source, role, target):
        a, b = source[open_], target[open_]
        uncovered = ~is_covered(region, clause, at_branch, a, b, is_old[open_])
        a, b = a[uncovered], b[uncovered]
        code = code_of(clause)
        is_plain = np.ones(len(a), np.bool_) if region.given.all_plain else effort.are_closed(a)
        pulled.append((a[is_plain], b[is_plain]))
        region.pulled_in.note(b[is_plain], code)
        a, b = a[~is_plain], b[~is_plain]
        if not len(a):
            continue
        residual = residual_of(region, clause, at_branch, region.labels.mu[a])
        has_residual = residual >= 0
        kept_out.append(
            (
                a[has_residual],
                b[has_residual],
                residual[has_residual],
                np.full(int(has_residual.sum()), code, np.int64),
            )
        )
        a, b = a[~has_residual], b[~has_residual]
        gives_up = residual_of(region, clause, at_branch, graph.label[a]) >= 0
        unassumed.append(a[gives_up])
        pulled.append((a[~gives_up], b[~gives_up]))
        region.pulled_in.note(b[~gives_up], code)
    here, out, residuals, codes = map(np.concatenate, zip(*kept_out))
    inner, outer = map(np.concatenate, zip(*pulled))
    return Crossings(inner, outer, unique(np.concatenate(unassumed)), (here, out, residuals, codes))

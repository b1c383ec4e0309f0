"""Border rules: which role assertions that lead out of I may be left out, and which elements the
others bring in (THEORY, "Border rules"; `tests.spec.border`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiq.abox_ops.elements.graph import flags
from shiq.abox_ops.labels.irrelevance import witness_survives
from shiq.abox_ops.labels.label_calculus import CompiledClause, Label, is_refuted
from shiq.abox_ops.labels.label_numbers import Bools, apply_to_distinct
from shiq.abox_ops.modules.add_set import ROLES, clause_code
from shiq.abox_ops.patch.inside_region import (
    KeptOut,
    PatchRegion,
    is_contradictory,
    may_clash,
    open_assertions,
)
from shiq.columns.arrays import NONE, Ints, is_row_in, unique
from shiq.model.roles import Role


def residual_labels(
    region: PatchRegion, clause: CompiledClause, at_branch: bool, labels: Ints
) -> Ints:
    """Compute the residual of ``clause`` at an end with each of ``labels``: the id of the label to
    assert there.

    -1 where all literals are refuted.
    """
    table, residuals = region.calculus.table, region.calculus.residuals

    def residual_number(i: int) -> int:
        """The number of the residual label for label ``i``."""
        found = residuals.residual_at(clause, at_branch, table.labels[i])
        return -1 if found is None else table.id(found)

    return apply_to_distinct(labels, residual_number)


def is_covered(
    region: PatchRegion, clause: CompiledClause, at_branch: bool, a: Ints, b: Ints, is_old: Bools
) -> Bools:
    """Decide whether rule R0, C or R covers ``clause`` on each role assertion from a (inside the
    region I) to b (outside).

    Then the certified model meets it, or counting bounds it.
    """
    table = region.calculus.table
    if clause.n and not at_branch:
        return region.counts.is_within_bound(a, clause)
    if clause.n:
        found = region.counts.is_within_bound(b, clause)
        rest = (~found & is_old).nonzero()[0]
        if len(rest):
            found[rest] = _is_covered_by_replacement(region, clause, a[rest], b[rest])
        return found
    here = clause.literals_at(at_branch)
    return is_old & table.test_labels(region.labels.model_label[a], lambda x: is_refuted(here, x))


def _is_covered_by_replacement(
    region: PatchRegion, clause: CompiledClause, a: Ints, b: Ints
) -> Bools:
    """Decide whether rule R covers ``clause``, a ≤n S.C with centre b outside: a takes the place it
    had among b's S-neighbours in the certified model.
    """
    calculus, table, graph = region.calculus, region.calculus.table, region.graph
    below = calculus.space.roles_below(clause)
    takers = [need for need in calculus.space.at_least.values() if need.role.inverse in below]

    def takes_no_witness(label: Label) -> bool:
        """Decide whether no need at a label may take a as a new witness."""
        ids = calculus.tbox.atom_ids
        return not any(
            need.filler is None or not label[1] >> ids[need.filler] & 1 for need in takers
        )

    found: Bools = region.counts.class_sizes(b) == 1
    found &= table.test_labels(region.labels.mu[b], takes_no_witness)
    found &= table.test_labels(
        region.labels.model_label[a], lambda x: not clause.branch_body & ~x[0]
    )
    rest = found.nonzero()[0]
    if not len(rest):
        return found
    graph.fetch_edges(unique(b[rest]))
    neighbours: dict[int, set[tuple[Role, int]]] = {}
    roles = calculus.roles
    for x, r, y in zip(
        *(column.tolist() for column in graph.edges.half_edges(flags(len(graph), b[rest])))
    ):
        neighbours.setdefault(x, set()).add((roles[r], y))
    labels = table.labels
    for i in rest.tolist():
        x, y = int(a[i]), int(b[i])
        mu, at_x = region.labels.mu, labels[int(region.labels.model_label[x])]
        near = {z for r, z in neighbours[y] if r in below and z != x}
        others = np.array(
            [z for z in sorted(near) if not clause.branch_body & labels[int(mu[z])][1]],
            np.int64,
        )
        apart = ~region.is_new[others] & are_different(
            region, np.full(len(others), x, np.int64), others
        )
        needs = [
            need for need in calculus.needs.possible_needs(labels[int(mu[y])]) if need.role in below
        ]
        met = {r for r, z in neighbours[y] if z == x}
        found[i] = apart.all() and all(
            witness_survives(calculus.tbox, need, at_x, labels[int(mu[x])], met) for need in needs
        )
    return found


def are_different(region: PatchRegion, first: Ints, second: Ints) -> Bools:
    """Decide whether the two elements of each pair are certified to be different."""
    if not len(first):
        return np.zeros(0, np.bool_)
    graph, table = region.graph, region.calculus.table
    found = table.clashes(
        table.join(region.labels.model_label[first], region.labels.model_label[second])
    )
    found |= region.input.model.are_in_different_modules(graph.key[first], graph.key[second])
    graph.fetch_members(first)
    told = ~graph.different["inserted"]
    source, target = (graph.rep[graph.different[end][told]] for end in ("source", "target"))
    return found | is_row_in([first, second], [source, target])


@dataclass(frozen=True)
class Crossings:
    """Result of the border rules for the role assertions that leave the region I: elements that
    enter it, and residuals that keep others out.

    source, target: role assertions, by their ends inside and outside, that bring in the target.
    unassumed_elements: elements of I whose assumption leaves a clause unmet.
    kept_out: the other role assertions, with their residuals.
    """

    source: Ints
    target: Ints
    unassumed_elements: Ints
    kept_out: KeptOut


def find_crossings(region: PatchRegion) -> Crossings:
    """Apply the border rules to the role assertions that lead out of the region I.

    Notes in ``pulled_in`` why elements come in.

    An element that contradicts itself settles the matter and asks for nothing. Role assertions
    between elements that are not stale ask for nothing, and keep their residuals.
    """
    graph, stale, effort = region.graph, region.is_stale, region.effort
    calm = region.is_inside & ~is_contradictory(region)
    if not region.is_inside.any():
        return Crossings(NONE, NONE, NONE, region.kept_out)
    source, role, target = graph.edges.half_edges()
    rows = stale[source] | stale[target]
    rows[rows] = calm[source[rows]] & ~region.is_inside[target[rows]]
    source, role, target, inserted = (
        source[rows],
        role[rows],
        target[rows],
        graph.edges.columns["inserted"][rows],
    )
    judged = open_assertions(region)
    seen = judged.is_constrained(source, role, target).nonzero()[0]
    clash = seen[may_clash(region, source[seen], target[seen])]
    pulled, unassumed = [(source[clash], target[clash])], [NONE]
    region.pulled_in.note(target[clash], ROLES)
    left = np.ones(len(source), np.bool_)
    left[clash] = False
    source, role, target, inserted = source[left], role[left], target[left], inserted[left]
    asserted = ~inserted
    is_old = is_row_in([source, role, target], [source[asserted], role[asserted], target[asserted]])
    is_old &= ~region.is_new[source] & ~region.is_new[target]
    settled = ~region.is_stale[region.kept_out[0]] & ~region.is_stale[region.kept_out[1]]
    kept_out = [tuple(column[settled] for column in region.kept_out)]
    for clause, at_branch, open_ in judged.open_instances(source, role, target):
        a, b = source[open_], target[open_]
        uncovered = ~is_covered(region, clause, at_branch, a, b, is_old[open_])
        a, b = a[uncovered], b[uncovered]
        code = clause_code(clause)
        is_plain = np.ones(len(a), np.bool_) if region.input.all_plain else effort.are_closed(a)
        pulled.append((a[is_plain], b[is_plain]))
        region.pulled_in.note(b[is_plain], code)
        a, b = a[~is_plain], b[~is_plain]
        if not len(a):
            continue
        residual = residual_labels(region, clause, at_branch, region.labels.mu[a])
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
        gives_up = residual_labels(region, clause, at_branch, graph.label[a]) >= 0
        unassumed.append(a[gives_up])
        pulled.append((a[~gives_up], b[~gives_up]))
        region.pulled_in.note(b[~gives_up], code)
    here, out, residuals, codes = map(np.concatenate, zip(*kept_out))
    inner, outer = map(np.concatenate, zip(*pulled))
    return Crossings(inner, outer, unique(np.concatenate(unassumed)), (here, out, residuals, codes))

"""What labels leave of clauses and role axioms: needs, residuals, and constrained roles (THEORY,
"Irrelevant role assertions" and "Inside").

Needs: the ≥k R.D that may have to be met at an element, by its label (THEORY, "Irrelevant role
    assertions").

Residuals: assertions at the inside end of a crossing role assertion, made instead of looking at the
    other end (THEORY, "Inside"). The residual of a clause at one end is the disjunction of its
    literals there that are not refuted. Several literals get a name Q with Q ⊑ the disjunction, so
    modules are decided over a TBox extended by these names.

Constrained roles: those that a disjointness, asymmetry or irreflexivity axiom, a negative assertion
or a class of loops can see (THEORY, "Beyond SHIQ(D), at no loss" and "Chains and loops").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from shiq.abox_ops.labels.label_calculus import (
    CompiledClause,
    Label,
    LabelCalculus,
    literal_count,
    unrefuted_literals,
)
from shiq.model.clause import AtLeast, ClausalTBox, Clause
from shiq.model.roles import Role, RoleBox
from shiq.support import bits, cached_method


@dataclass
class Needs:
    """The at-least restrictions that an element may have to meet, by its label; cached."""

    space: LabelCalculus

    def __post_init__(self) -> None:
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        self.heads: list[tuple[int, int, int]] = []
        at_least = sum(1 << i for i in self.space.at_least)
        for c in self.space.compiled:
            for i in bits(c.head & at_least):
                self.heads.append((i, c.body, c.head & names))

    @cached_method
    def possible_needs(self, label: Label) -> tuple[AtLeast, ...]:
        """The at-least restrictions that are told at ``label``, or in the head of a clause that no
        class name in ``label`` satisfies.
        """
        positive, negative = label
        ids = {
            i for i, body, names in self.heads if not body & negative and not names & positive
        } | {i for i in self.space.at_least if positive >> i & 1}
        return tuple(self.space.at_least[i] for i in sorted(ids))


def witness_survives(
    tbox: ClausalTBox, need: AtLeast, certified: Label, label: Label, roles: Collection[Role]
) -> bool:
    """Decide condition (wit) of border rule R: a can stay the witness of ``need`` at b, or was not
    used as one.

    The certified model did not use a, whose label there is ``certified``. Or one witness is asked
    for, and a with its new ``label`` still is one by the asserted ``roles`` from b.
    """
    bit = 0 if need.filler is None else 1 << tbox.atom_ids[need.filler]
    if bit & certified[1]:
        return True
    below = tbox.roles.subroles(need.role)
    return need.n == 1 and not bit & ~label[0] and any(r in below for r in roles)


RESIDUAL = "urn:shiq:fresh:residual:"


class Residuals:
    """Residuals of the clauses of one TBox: disjunctions that are asserted in place of role
    assertions. ``tbox``: that TBox with their names as further atoms.
    """

    def __init__(self, space: LabelCalculus) -> None:
        tbox = space.tbox
        made: list[Clause] = []
        self._name_ids: dict[tuple[int, bool], int] = {}
        for i, clause in enumerate(tbox.clauses):
            if clause.role is None:
                continue
            for at_branch in (False, True):
                body, head = (
                    (clause.branch_body, clause.branch_head)
                    if at_branch
                    else (clause.body, clause.head)
                )
                if len(body) + len(head) > 1:
                    self._name_ids[i, at_branch] = len(tbox.atoms) + len(made)
                    name = f"{RESIDUAL}{i}:{'branch' if at_branch else 'centre'}"
                    made.append(Clause((name, *body), head, origins=clause.origins))
        names = tuple(c.body[0] for c in made)
        self.tbox = replace(
            tbox,
            clauses=(*tbox.clauses, *made),
            atoms=(*tbox.atoms, *names),
            fresh=tbox.fresh | frozenset(names),
        )

    def residual_at(self, clause: CompiledClause, at_branch: bool, label: Label) -> Label | None:
        """Compute the label to assert at an end with ``label`` so that ``clause`` holds there; None
        if ``label`` refutes every literal.

        It has one literal, or the name of the disjunction, over the extended TBox.
        """
        found = unrefuted_literals(clause.literals_at(at_branch), label)
        count = literal_count(found)
        if count < 2:
            return found if count else None
        return (1 << self._name_ids[clause.index, at_branch], 0)


def constrained_roles(roles: RoleBox) -> frozenset[Role]:
    """The roles below one with a disjointness, asymmetry or irreflexivity axiom, or below one with
    relevant loops.

    Closed under inverses.
    """
    named = (
        {r for pair in roles.disjoint for r in pair}
        | roles.asymmetric
        | roles.irreflexive
        | {*map(Role, roles.relevant_loops)}
    )
    return roles_below_any(named, roles)


def roles_below_any(named: Iterable[Role], roles: RoleBox) -> frozenset[Role]:
    """The roles below one of ``named``, with their inverses."""
    found = {r for s in named for r in roles.subroles(s)}
    return frozenset(found | {r.inverse for r in found})


def violates_role_axioms(
    asserted: Collection[Role], negated: Collection[Role], is_loop: bool, roles: RoleBox
) -> bool:
    """Decide whether the roles ``asserted`` of one pair contradict the role axioms, or roles
    ``negated`` for the same pair.

    Roles are as seen from the first end.

    is_loop: whether both ends are one element; then relevant loops count as a contradiction too.
    """
    closed = {s for r in asserted for s in roles.superroles(r)}
    if is_loop:
        closed |= {s.inverse for s in closed}
    return (
        any(
            (r in closed and s in closed) or (r.inverse in closed and s.inverse in closed)
            for r, s in roles.disjoint
        )
        or any(r in closed and r.inverse in closed for r in roles.asymmetric)
        or (
            is_loop
            and (
                any(r in closed for r in roles.irreflexive)
                or any(r.iri in roles.relevant_loops for r in closed)
            )
        )
        or any(r in closed for r in negated)
    )

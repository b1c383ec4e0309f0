"""Which clauses a role assertion leaves open: the literal half of irrelevance (THEORY,
"Irrelevant role assertions").

A role assertion is tested at both ends and at every position of every clause that it matches.
What literals do not discharge is *open*: an open u-type clause makes the assertion relevant, an
open m-type clause leaves it to counting (`tests.spec.counting`).

Needs: which ≥k R.D may have to be met at an element, by its label (THEORY, "Irrelevant role
assertions").

Residuals: what is asserted at the inside end of a crossing role assertion instead of looking
at the other end (THEORY, "Inside").

The residual of a clause at one end is the disjunction of its literals there that are not
refuted. More than one of them need a name of their own: Q with Q ⊑ the disjunction, so the
modules are decided over a TBox that is extended by these names.

Which role assertions a disjointness, asymmetry, irreflexivity axiom or a negative assertion
can see (THEORY, "Beyond SHIQ(D), at no loss"), or a class that asks for loops (THEORY, "Chains
and loops").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from shiq.abox_ops.labels.calculus import CompiledClause, Label, LabelCalculus
from shiq.model.clause import AtLeast, ClausalTBox, Clause
from shiq.model.roles import Role, RoleBox
from shiq.support import bits


@dataclass
class Needs:
    """The ≥k R.D that may have to be met at an element, by label, memoised."""

    space: LabelCalculus

    def __post_init__(self) -> None:
        self._needs_memo: dict[Label, tuple[AtLeast, ...]] = {}
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        self.heads: list[tuple[int, int, int]] = []
        at_least = sum(1 << i for i in self.space.at_least)
        for c in self.space.compiled:
            for i in bits(c.head & at_least):
                self.heads.append((i, c.body, c.head & names))

    def possible_needs(self, label: Label) -> tuple[AtLeast, ...]:
        """≥k R.D told at ``label``, or in the head of a clause without a body name negated or a
        head name told there.
        """
        found = self._needs_memo.get(label)
        if found is None:
            positive, negative = label
            ids = {
                i for i, body, names in self.heads if not body & negative and not names & positive
            } | {i for i in self.space.at_least if positive >> i & 1}
            found = self._needs_memo[label] = tuple(self.space.at_least[i] for i in sorted(ids))
        return found


def witness_survives(
    tbox: ClausalTBox, need: AtLeast, certified: Label, label: Label, roles: Collection[Role]
) -> bool:
    """(wit) The model did not take a for a witness of ``need`` at b, or the one witness asked
    for may go on being a, which is ``certified``, has ``label`` and is reached from b by
    asserted ``roles``.
    """
    bit = 0 if need.filler is None else 1 << tbox.atom_ids[need.filler]
    if bit & certified[1]:
        return True
    below = tbox.roles.subroles(need.role)
    return need.n == 1 and not bit & ~label[0] and any(r in below for r in roles)


class OpenClauses(NamedTuple):
    """What a role assertion leaves open: ``relevant``: a u-type clause is open.
    ``at_subject``/``at_object``: m-type clauses open with their centre there.
    """

    is_relevant: bool
    at_subject: tuple[CompiledClause, ...]
    at_object: tuple[CompiledClause, ...]


@dataclass
class Irrelevance:
    """Open clauses by (role, label of subject, label of object), memoised."""

    space: LabelCalculus
    _open: dict[tuple[Role, Label, Label], OpenClauses] = field(default_factory=dict)

    def open_clauses(self, role: Role, subject: Label, object: Label) -> OpenClauses:
        """The clauses that an assertion of ``role`` between elements with these labels leaves open."""
        key = (role, subject, object)
        found = self._open.get(key)
        if found is None:
            forward = self.undecided_clauses(role, subject, object)
            backward = self.undecided_clauses(role.inverse, object, subject)
            found = self._open[key] = OpenClauses(
                any(not c.n for c in forward + backward),
                tuple(c for c in forward if c.n),
                tuple(c for c in backward if c.n),
            )
        return found

    def undecided_clauses(self, role: Role, centre: Label, branch: Label) -> list[CompiledClause]:
        """The clauses with their centre at the first of ``role``'s ends that neither end's label
        decides.
        """
        return [
            c
            for c in self.space.clauses_of(role)
            if not c.is_decided_at_centre(centre) and not c.is_decided_at_branch(branch)
        ]


RESIDUAL = "urn:shiq:fresh:residual:"


class Residuals:
    """The residuals of one clausal TBox. ``tbox``: that TBox with their names at the end; it has
    its atoms as a prefix.
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
        """What to assert at an end with ``label`` so that ``clause`` is met there; None if every
        literal there is refuted.

        A literal, or the name of the disjunction; as a label over the extended TBox.
        """
        body, head = (
            (clause.branch_body, clause.branch_head) if at_branch else (clause.body, clause.head)
        )
        head &= ~label[1]
        body &= ~label[0]
        open_literals = head.bit_count() + body.bit_count()
        if not open_literals:
            return None
        if open_literals == 1:
            return (head, body)
        return (1 << self._name_ids[clause.index, at_branch], 0)


def constrained_roles(roles: RoleBox) -> frozenset[Role]:
    """The roles, closed under inverses, that lie below a role of a disjointness, asymmetry or
    irreflexivity axiom, or below one for whose loops it matters whether they are there.
    """
    named = (
        {r for pair in roles.disjoint for r in pair}
        | roles.asymmetric
        | roles.irreflexive
        | {*map(Role, roles.relevant_loops)}
    )
    return roles_below(named, roles)


def roles_below(named: Iterable[Role], roles: RoleBox) -> frozenset[Role]:
    """All roles below one of ``named``, with their inverses."""
    found = {r for s in named for r in roles.subroles(s)}
    return frozenset(found | {r.inverse for r in found})


def is_violated(
    asserted: Collection[Role], negated: Collection[Role], is_loop: bool, roles: RoleBox
) -> bool:
    """Whether role assertions ``asserted`` of one pair contradict a disjointness, asymmetry or
    irreflexivity axiom, or a negative assertion ``negated`` of the same pair, or may contradict
    what T says of loops; all of them as seen from the first of the pair; ``is_loop``: it is one
    element.
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

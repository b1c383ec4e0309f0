"""Residuals: what is asserted at the inside end of a crossing role assertion instead of looking
at the other end (THEORY, "Inside").

The residual of a clause at one end is the disjunction of its literals there that are not
refuted. More than one of them need a name of their own: Q with Q ⊑ the disjunction, so the
modules are decided over a TBox that is extended by these names.
"""

from __future__ import annotations

from dataclasses import replace

from abox_ops.labels.calculus import CompiledClause, Label, LabelSpace
from shiq.clause import Clause

RESIDUAL = "urn:shiq:fresh:residual:"


class Residuals:
    """The residuals of one clausal TBox. ``tbox``: that TBox with their names at the end; it has
    its atoms as a prefix.
    """

    def __init__(self, space: LabelSpace) -> None:
        tbox = space.tbox
        made: list[Clause] = []
        self._named: dict[tuple[int, bool], int] = {}
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
                    self._named[i, at_branch] = len(tbox.atoms) + len(made)
                    name = f"{RESIDUAL}{i}:{'branch' if at_branch else 'centre'}"
                    made.append(Clause((name, *body), head, origins=clause.origins))
        names = tuple(c.body[0] for c in made)
        self.tbox = replace(
            tbox,
            clauses=(*tbox.clauses, *made),
            atoms=(*tbox.atoms, *names),
            fresh=tbox.fresh | frozenset(names),
        )

    def at(self, clause: CompiledClause, at_branch: bool, label: Label) -> Label | None:
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
        return (1 << self._named[clause.index, at_branch], 0)

"""What told⁺ alone brings into I (THEORY, "The loop": turns of told⁺).

A u-type clause that the label of an end in I leaves to the other end, whatever is guessed there,
and that the certified model does not meet: the border rules would pull the other end in when the
labels are next made. Doing so at once makes a chain of such elements a matter of told⁺.
"""

from __future__ import annotations

from abox_ops.labels.calculus import CompiledClause, Label, LabelSpace
from shiq.roles import Role


def asking_clause(
    space: LabelSpace,
    role: Role,
    inside: Label,
    outside: Label,
    before: Label | None,
    *,
    all_plain: bool,
) -> CompiledClause | None:
    """The first u-type clause on role(a, b), a in I and b not, that b has to come in for.
    ``inside``: told⁺ of a; ``outside``: told_N of b; ``before``: told_N of a where the assertion
    is one of A between elements as they are now, else None.
    """
    for named, at_branch in ((role, False), (role.inverse, True)):
        for c in space.clauses_of(named):
            here, there = (c.head, c.body), (c.branch_head, c.branch_body)
            if at_branch:
                here, there = there, here
            if c.n or _is_decided(here, inside) or _is_decided(there, outside):
                continue
            if (all_plain or _is_refuted(here, inside)) and not (
                before is not None and _is_refuted(here, before)
            ):
                return c
    return None


def _is_decided(literals: Label, label: Label) -> bool:
    """Whether a literal of one end of a clause holds by ``label``."""
    return bool(literals[0] & label[0] or literals[1] & label[1])


def _is_refuted(literals: Label, label: Label) -> bool:
    """Whether ``label`` refutes every literal of one end of a clause."""
    return not (literals[0] & ~label[1] or literals[1] & ~label[0])

"""Which clauses a role assertion leaves open: the literal half of irrelevance (THEORY,
"Irrelevant role assertions").

A role assertion is tested at both ends and at every position of every clause that it matches.
What literals do not discharge is *open*: an open u-type clause makes the assertion relevant, an
open m-type clause leaves it to counting (`tests.spec.counting`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from abox_ops.labels.calculus import CompiledClause, Label, LabelSpace
from shiq.roles import Role


class OpenClauses(NamedTuple):
    """What a role assertion leaves open: ``relevant``: a u-type clause is open.
    ``at_subject``/``at_object``: m-type clauses open with their centre there.
    """

    relevant: bool
    at_subject: tuple[CompiledClause, ...]
    at_object: tuple[CompiledClause, ...]


@dataclass
class Irrelevance:
    """Open clauses by (role, label of subject, label of object), memoised."""

    space: LabelSpace
    _open: dict[tuple[Role, Label, Label], OpenClauses] = field(default_factory=dict)

    def open(self, role: Role, subject: Label, object: Label) -> OpenClauses:
        """The clauses that an assertion of ``role`` between elements with these labels leaves open."""
        key = (role, subject, object)
        found = self._open.get(key)
        if found is None:
            forward = self.undecided(role, subject, object)
            backward = self.undecided(role.inverse, object, subject)
            found = self._open[key] = OpenClauses(
                any(not c.n for c in forward + backward),
                tuple(c for c in forward if c.n),
                tuple(c for c in backward if c.n),
            )
        return found

    def undecided(self, role: Role, centre: Label, branch: Label) -> list[CompiledClause]:
        """The clauses with their centre at the first of ``role``'s ends that neither end's label
        decides.
        """
        return [
            c
            for c in self.space.clauses_of(role)
            if not c.decided_at_centre(centre) and not c.decided_at_branch(branch)
        ]

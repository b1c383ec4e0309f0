"""Irrelevance by a literal: which clauses the labels of both ends leave undecided on a role assertion
(THEORY, "Irrelevant role assertions").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from shiq.abox_ops.labels.label_calculus import (
    CompiledClause,
    Label,
    LabelCalculus,
    is_satisfied,
)
from shiq.model.roles import Role


class OpenClauses(NamedTuple):
    """The clauses that the labels of both ends leave undecided on a role assertion.

    is_relevant: whether a u-type clause is open.
    at_subject, at_object: open m-type clauses with their centre there.
    """

    is_relevant: bool
    at_subject: tuple[CompiledClause, ...]
    at_object: tuple[CompiledClause, ...]


@dataclass
class Irrelevance:
    """Cache of the clauses left undecided, by (role, label of subject, label of object)."""

    space: LabelCalculus
    _open: dict[tuple[Role, Label, Label], OpenClauses] = field(default_factory=dict)

    def open_clauses(self, role: Role, subject: Label, object: Label) -> OpenClauses:
        """Find the clauses that the labels leave undecided on an assertion of ``role``."""
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
        """Find the clauses that an assertion of ``role``, its subject as centre, matches and that
        neither label satisfies.
        """
        return [
            c
            for c in self.space.clauses_on_role(role)
            if not is_satisfied(c.literals_at(False), centre)
            and not is_satisfied(c.literals_at(True), branch)
        ]

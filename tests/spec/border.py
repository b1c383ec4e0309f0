"""The border rules: when a role assertion between I and the outside may be left out of a check
(THEORY, "Border rules": rules 1 to 6).

For every clause that a crossing assertion matches, at either end and at every position, one of
these must hold: a literal decides it (told); the certified model met it at the outside end
already (R0); counting bounds it (C); the inside end stands where it stood (R); or a residual
asserted at the inside end meets it. If none does, the outside end is pulled in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from shiq.abox_ops.labels.irrelevance import Needs, witness_survives
from shiq.abox_ops.labels.label_calculus import CompiledClause, Label, LabelCalculus, is_satisfied
from shiq.model.clause import AtLeast
from shiq.model.roles import Role
from tests.spec.certified_model import CertifiedModel
from tests.spec.counting import Counting, Counts
from tests.spec.element_graph import ElementGraph


@dataclass(frozen=True, slots=True)
class UnmetClause:
    """A clause that nothing but the inside end can meet: there it is the ``clause``'s branch, or
    its centre.
    """

    clause: CompiledClause
    at_branch: bool


@dataclass
class Border:
    """The rules between ``inside`` (I) and the rest, for one I and one assignment of labels.

    ``label``: what holds at an element in the part that it belongs to, told_N outside.
    ``clash``: the elements of I that told⁺ contradicts, which are in no merge class.
    ``changed``: the elements of I that A does not have, or not as they are now. ``stood``:
    whether role(a, b), a inside, is an assertion of A between elements as they are now.
    ``counts``: the counts and merge classes of I.
    """

    space: LabelCalculus
    graph: ElementGraph
    model: CertifiedModel
    label: Callable[[str], Label]
    inside_elements: frozenset[str]
    contradictory_elements: frozenset[str]
    changed_elements: frozenset[str]
    was_asserted: Callable[[Role, str, str], bool]
    counts: Counts
    needs: Needs
    _answers: dict[tuple[str, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._counting = Counting(self.space, self.graph, self.label, self.needs)

    def unmet_clauses(self, role: Role, a: str, b: str) -> Iterator[UnmetClause]:
        """The clauses of role(a, b), a inside and b outside, that only a residual at a can meet."""
        la, lb = self.label(a), self.label(b)
        is_old = self.was_asserted(role, a, b)
        for c in self.space.clauses_on_role(role):
            if not is_satisfied(c.literals_at(False), la) and not is_satisfied(
                c.literals_at(True), lb
            ):
                if not (
                    self.counts.is_within_bound(a, c)
                    if c.n
                    else is_old and self._is_met_at_branch(c, a)
                ):
                    yield UnmetClause(c, False)
        for c in self.space.clauses_on_role(role.inverse):
            if not is_satisfied(c.literals_at(False), lb) and not is_satisfied(
                c.literals_at(True), la
            ):
                if c.n:
                    covered = self.is_within_bound_outside(b, c) or (
                        is_old and self._is_replaced(c, a, b)
                    )
                else:
                    covered = is_old and self._is_met_at_centre(c, a)
                if not covered:
                    yield UnmetClause(c, True)

    def is_covered_outside(self, role: Role, a: str, b: str) -> bool:
        """Whether an inserted role(a, b) between two elements outside holds in the certified
        model with nothing more to look at: every clause is decided by told_N or bounded by
        counting.
        """
        for r, centre, branch in ((role, a, b), (role.inverse, b, a)):
            at_centre, at_branch = self.label(centre), self.label(branch)
            for c in self.space.clauses_on_role(r):
                if not is_satisfied(c.literals_at(False), at_centre) and not is_satisfied(
                    c.literals_at(True), at_branch
                ):
                    if not c.n or not self.is_within_bound_outside(centre, c):
                        return False
        return True

    def is_within_bound_outside(self, b: str, clause: CompiledClause) -> bool:
        """Whether counting alone (rule C) covers ``clause`` at b, outside I: over b's merge
        class in the certified model, with the neighbours that A ∪ A⁺ has.
        """
        key = (self.model.classes.find(b), clause.index)
        found = self._answers.get(key)
        if found is None:
            members = [
                m
                for m in self.model.classes.members(b)
                if self.graph.elements.find(m) not in self.inside_elements
            ]
            found = self._answers[key] = self._counting.is_within_bound_together(members, clause)
        return found

    def _is_met_at_branch(self, clause: CompiledClause, a: str) -> bool:
        """Rule R0 with the centre inside: told_N(a) refutes every literal of the centre, so the
        model met the clause at b.
        """
        positive, negative = self.model.label(a)
        return not clause.head & ~negative and not clause.body & ~positive

    def _is_met_at_centre(self, clause: CompiledClause, a: str) -> bool:
        positive, negative = self.model.label(a)
        return not clause.branch_head & ~negative and not clause.branch_body & ~positive

    def _is_replaced(self, clause: CompiledClause, a: str, b: str) -> bool:
        """Rule R: ``clause`` is ≤n S.C at b outside; a stands where it stood among b's
        S-neighbours in the certified model.
        """
        return (
            sum(
                self.graph.elements.find(m) not in self.contradictory_elements
                for m in self.model.classes.members(b)
            )
            == 1
            and self._takes_nobody(clause, b)
            and self._has_filler(clause, a)
            and self._is_apart(clause, a, b)
            and all(self._witness_survives(need, a, b) for need in self._needs_below(clause, b))
        )

    def _takes_nobody(self, clause: CompiledClause, b: str) -> bool:
        """(inv) No element can take b for its witness and so become an S-neighbour of it."""
        return not self._counting.may_take(clause, self.label(b))

    def _has_filler(self, clause: CompiledClause, a: str) -> bool:
        """(fill) The model counted a: C is ⊤ or certified at a."""
        return not clause.branch_body & ~self.model.label(a)[0]

    def _is_apart(self, clause: CompiledClause, a: str, b: str) -> bool:
        """(neq) a is certified unequal to every other S-neighbour of b that may be C."""
        below = self.space.roles_below(clause)
        others = {
            y
            for r, y in self.graph.neighbours(b)
            if r in below and y != a and not clause.branch_body & self.label(y)[1]
        }
        return all(
            y not in self.changed_elements and self.model.are_different(a, y) for y in others
        )

    def _needs_below(self, clause: CompiledClause, b: str) -> Iterator[AtLeast]:
        below = self.space.roles_below(clause)
        return (need for need in self.needs.possible_needs(self.label(b)) if need.role in below)

    def _witness_survives(self, need: AtLeast, a: str, b: str) -> bool:
        roles = {r for r, y in self.graph.neighbours(b) if y == a}
        return witness_survives(self.space.tbox, need, self.model.label(a), self.label(a), roles)

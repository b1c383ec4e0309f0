"""A_add as published (Wu and Lécué, CIKM 2014, section 4), with what THEORY.md 1.4 puts right.

Put right beyond the print, each with a test:
* An individual that enters brings all its part-of role assertions, also where nothing is asserted of it by name (the print's
  step 2 waits for a concept assertion).
* A remedy that A alone does not entail, since its role assertion or its premise is inserted, makes its individual enter.
* What THEORY.md 2.6 adds (disjoint, asymmetric, irreflexive roles, negative assertions) is never irrelevant.
"""

from __future__ import annotations

from collections.abc import Iterable

from abox_ops.elements.reference import ElementGraph
from abox_ops.labels.calculus import EMPTY, Label, clashes, contradiction, join
from abox_ops.labels.seen import below, seen_roles
from abox_ops.modules.add_set import Closure
from abox_ops.modules.components import KeptAssertions
from abox_ops.published.parts import m_part, u_part
from abox_ops.published.remedy import Remedy, remedies
from shiq.abox import individuals_of
from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Assertion, DataPropertyAssertion, ObjectPropertyAssertion
from shiq.roles import Role, role_of
from simplify import SimplifiedTBox


def definition7(
    tbox: SimplifiedTBox, theory: DataTheory, old: ElementGraph, whole: ElementGraph, inserted: Iterable[Assertion]
) -> Closure:
    """A_add for normalised insertions ``inserted`` (= A⁺ \\ A, already in ``whole``); labels are asserted ones and remedies."""
    return _Definition7(tbox, theory, old, whole, list(inserted)).run()


class _Definition7:
    def __init__(
        self,
        tbox: SimplifiedTBox,
        theory: DataTheory,
        old: ElementGraph,
        whole: ElementGraph,
        inserted: list[Assertion],
    ) -> None:
        self.theory, self.old, self.whole, self.inserted = theory, old, whole, inserted
        clauses = tbox.definition4_clauses
        self.ids, self.roles = clauses.atom_ids, clauses.roles
        self.u_part, self.m_part = u_part(tbox), m_part(tbox)
        self.universals = tbox.universals
        negated = {role for table in whole.negative_edges.values() for role, _ in table}
        self.never = seen_roles(self.roles) | below(negated, self.roles) | self.m_part
        negated_data = {p for table in whole.negative_data.values() for p, _ in table}
        self.features = tbox.features | {q for p in negated_data for q in self.roles.data_subproperties(p)}
        self.inserted_edges = {
            (role_of(a.property), a.subject, a.object) for a in inserted if isinstance(a, ObjectPropertyAssertion)
        }
        self.entered: set[str] = set()
        self.stack: list[str] = []
        self.edges: set[tuple[str, Role, str]] = set()
        self.remedies: dict[str, Label] = {}
        self.recorded: set[tuple[str, str, bool]] = set()

    def run(self) -> Closure:
        find = self.whole.elements.find
        for assertion in self.inserted:
            match assertion:
                case ObjectPropertyAssertion(property, subject, object):
                    self._role_assertion(role_of(property), subject, object)
                case DataPropertyAssertion(property, subject, literal):
                    if property.iri in self.features or isinstance(self.theory.value(literal), IllTyped):
                        self._enter(find(subject))
                case _:
                    for individual in individuals_of(assertion):
                        self._enter(find(individual))
        while self.stack:
            element = self.stack.pop()
            for member in self.whole.elements.members(element):
                for role, other in self.whole.half_edges.get(member, ()):
                    self._role_assertion(role, member, other)
        return self._result()

    def _enter(self, element: str) -> None:
        if element not in self.entered:
            self.entered.add(element)
            self.stack.append(element)

    def _role_assertion(self, role: Role, subject: str, object: str) -> None:
        """Step 3: keep role(subject, object), or put its remedies in its place."""
        find = self.whole.elements.find
        a, b = find(subject), find(object)
        if role in self.never:
            self._keep(role, a, b)
        elif role in self.u_part:
            forward = self._remedies(role, a, b)
            backward = self._remedies(role.inverse, b, a)
            if forward is None or backward is None:
                self._keep(role, a, b)
            else:
                self._put(forward, role, subject, object)
                self._put(backward, role.inverse, object, subject)

    def _remedies(self, role: Role, a: str, b: str) -> list[Remedy] | None:
        above = self.roles.superroles(role)
        axioms = [axiom for axiom in self.universals if axiom.role in above]
        return remedies(axioms, self.whole.asserted(a), self.whole.asserted(b), self.ids)

    def _keep(self, role: Role, a: str, b: str) -> None:
        self.edges.add((b, role.inverse, a) if role.inverted else (a, role, b))
        self._enter(a)
        self._enter(b)

    def _put(self, found: list[Remedy], role: Role, subject: str, object: str) -> None:
        for remedy in found:
            element = self.whole.elements.find(object if remedy.at_branch else subject)
            bit = 1 << self.ids[remedy.name]
            self.remedies[element] = join(self.remedies.get(element, EMPTY), (bit, 0) if remedy.positive else (0, bit))
            self.recorded.add((element, remedy.name, remedy.positive))
            if not self._is_old(remedy, role, subject, object):
                self._enter(element)

    def _is_old(self, remedy: Remedy, role: Role, subject: str, object: str) -> bool:
        """Whether A less the deletions has the role assertion and gives it the same remedy."""
        forward = (role, subject, object)
        if forward in self.inserted_edges or (role.inverse, object, subject) in self.inserted_edges:
            return False
        old = self.old.elements.find
        above = self.roles.superroles(role)
        axioms = [axiom for axiom in self.universals if axiom.role in above]
        return any(
            remedy in (remedies([axiom], self.old.asserted(old(subject)), self.old.asserted(old(object)), self.ids) or ())
            for axiom in axioms
        )

    def _result(self) -> Closure:
        labels = {e: join(self.whole.asserted(e), self.remedies.get(e, EMPTY)) for e in self.entered}
        for element in self.entered:
            if any(isinstance(self.theory.value(v), IllTyped) for _, v in self.whole.values(element)):
                labels[element] = contradiction(self.whole.tbox)
        contradictory = {e for e in self.entered if clashes(labels[e])}
        rest = self.entered - contradictory
        kept = KeptAssertions({e: labels[e] for e in rest})
        kept.edges = {(a, r, b) for a, r, b in self.edges if a in rest and b in rest}
        for a in rest:
            kept.keep_negative(self.whole, a)
            kept.data |= {(a, p, v) for p, v in self.whole.values(a) if p in self.features}
        touched = {self.whole.elements.find(i) for x in self.inserted for i in individuals_of(x)}
        return Closure(
            frozenset(self.entered), labels, frozenset(touched), frozenset(contradictory), kept, frozenset(self.recorded)
        )

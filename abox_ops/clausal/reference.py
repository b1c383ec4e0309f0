"""A_add under the clausal criterion: the closure of THEORY, "The add set", plain and obvious.

`clausal` walks two element graphs: ``old`` for A less the deletions, with its told labels at the fixpoint, and ``whole`` for
that with A⁺. It decides which elements the check must see (I), and what of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from abox_ops.counting.reference import Counts
from abox_ops.elements.reference import ElementGraph
from abox_ops.labels.calculus import EMPTY, Label, LabelSpace, clashes
from abox_ops.labels.data import DataView
from abox_ops.labels.irrelevance import Irrelevance
from abox_ops.labels.needs import Needs
from abox_ops.labels.seen import below, seen_roles
from abox_ops.modules.add_set import Closure
from abox_ops.modules.components import KeptAssertions
from abox_ops.told.reference import saturate
from shiq import model as owl
from shiq.abox import individuals_of
from shiq.roles import Role, role_of


def clausal(
    space: LabelSpace,
    data: DataView,
    old: ElementGraph,
    old_labels: dict[str, Label],
    whole: ElementGraph,
    inserted: Iterable[owl.Assertion],
) -> Closure:
    """The closure for normalised insertions ``inserted`` (= A⁺ \\ A, already in ``whole``)."""
    return _Clausal(space, data, old, old_labels, whole, list(inserted)).run()


class _Clausal:
    def __init__(
        self,
        space: LabelSpace,
        data: DataView,
        old: ElementGraph,
        old_labels: dict[str, Label],
        whole: ElementGraph,
        inserted: list[owl.Assertion],
    ) -> None:
        self.space, self.data, self.old, self.old_labels, self.whole = space, data, old, old_labels, whole
        self.inserted = inserted
        self.irrelevance = Irrelevance(space)
        self.needs = Needs(space)
        self.axiom_roles = seen_roles(space.tbox.roles)
        self.negated_roles = below({role for table in whole.negative_edges.values() for role, _ in table}, space.tbox.roles)
        self.negated_properties = frozenset(
            q for table in whole.negative_data.values() for p, _ in table for q in space.tbox.roles.data_subproperties(p)
        )
        self.labels: dict[str, Label] = {}
        self.touched: set[str] = set()
        self.seen: set[str] = set()

    def run(self) -> Closure:
        """Saturates told⁺, starts I, closes it; again with the labels and equalities of the members that came in, until stable.

        Stops because I and the labels grow, and elements merge, within finite sets.
        """
        individuals = {i for a in self.inserted for i in individuals_of(a)}
        self.active = set(individuals)
        while True:
            self._saturate()
            self.counts = Counts(self.space, self.whole, self.label, self.needs)
            find = self.whole.elements.find
            self.touched = {find(i) for i in individuals}
            seen = {find(e) for e in self.seen} | self._start()
            seen = self._close(seen)
            if seen == self.seen and {find(e) for e in self.active} >= seen:
                break
            self.seen = seen
            self.active |= seen
        return self._result()

    # --- told⁺ -------------------------------------------------------------------------------------

    def _saturate(self) -> None:
        """told⁺ of the active elements, starting from told of their members."""
        find = self.whole.elements.find
        labels: dict[str, Label] = {}
        for element in {find(e) for e in self.active}:
            label = self.labels.get(element, EMPTY)
            for member in self.whole.elements.members(element):
                before = self.old_labels.get(self.old.elements.find(member), EMPTY)
                label = (label[0] | before[0], label[1] | before[1])
            labels[element] = label
        saturate(self.space, self.data, self.whole, labels, self.label_of_old)
        self.active, self.labels = set(labels), labels

    def label_of_old(self, element: str) -> Label:
        """told of an element that the batch did not change."""
        return self.old_labels.get(self.old.elements.find(element), EMPTY)

    def label(self, element: str) -> Label:
        """told⁺ of an active element, told of the others."""
        found = self.labels.get(element)
        return self.label_of_old(element) if found is None else found

    # --- I -----------------------------------------------------------------------------------------

    def _start(self) -> set[str]:
        """The touched elements that a check must see (THEORY, "The add set": the start of I), and those that A⁺ makes or
        enlarges."""
        find = self.whole.elements.find
        started = {e for e in self.active if self._is_new(e) or self._is_changed(e)}
        for assertion in self.inserted:
            match assertion:
                case (
                    owl.SameIndividual()
                    | owl.DifferentIndividuals()
                    | owl.NegativeObjectPropertyAssertion()
                    | owl.NegativeDataPropertyAssertion()
                ):
                    started |= {find(i) for i in individuals_of(assertion)}
                case owl.DataPropertyAssertion(property, subject, literal):
                    if not self._is_decided(find(subject), property.iri, literal):
                        started.add(find(subject))
                case owl.ObjectPropertyAssertion(property, subject, object):
                    a, b, role = find(subject), find(object), role_of(property)
                    if self._is_relevant(role, a, b) or self._is_seen(role, a, b):
                        started |= {a, b}
        return started

    def _is_changed(self, element: str) -> bool:
        return self.space.visible(self.label(element)) != self.space.visible(self.label_of_old(element))

    def _is_new(self, element: str) -> bool:
        """Whether the element is fresh, or its class was made or enlarged by A⁺."""
        members = self.whole.elements.members(element)
        if any(m not in self.old.individuals for m in members):
            return True
        return len({self.old.elements.find(m) for m in members}) > 1

    def _is_relevant(self, role: Role, a: str, b: str) -> bool:
        """Whether role(a, b) is not irrelevant (THEORY, "Irrelevant role assertions")."""
        found = self.irrelevance.open(role, self.label(a), self.label(b))
        return (
            found.relevant
            or any(not self.counts.is_within(a, c) for c in found.at_subject)
            or any(not self.counts.is_within(b, c) for c in found.at_object)
        )

    def _is_seen(self, role: Role, a: str, b: str) -> bool:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion can see role(a, b)."""
        if role in self.axiom_roles:
            return True
        return role in self.negated_roles and self._meets_negative(role, a, b)

    def _meets_negative(self, role: Role, a: str, b: str) -> bool:
        superroles = self.space.tbox.roles.superroles(role)
        target = self.counts.classes.find(b)
        return any(
            negated in superroles and self.counts.classes.find(other) == target
            for member in self.counts.classes.members(self.counts.classes.find(a))
            for negated, other in self.whole.negatives(member)
        )

    def _may_share(self, element: str) -> bool:
        """Whether the element may be equal to another one, or has become so by A⁺."""
        return len(self.counts.classes.members(self.counts.classes.find(element))) > 1 or (
            element in self.active and self._is_new(element)
        )

    def _crosses(self, role: Role, a: str, b: str) -> bool:
        """Whether role(a, b) pulls in the end that is outside I."""
        if self._is_relevant(role, a, b):
            return True
        return self._is_seen(role, a, b) and (self._may_share(a) or self._may_share(b))

    def _close(self, seen: set[str]) -> set[str]:
        closed = set(seen)
        stack = list(seen)
        while stack:
            a = stack.pop()
            for role, b in self.whole.neighbours(a):
                if b not in closed and self._crosses(role, a, b):
                    closed.add(b)
                    stack.append(b)
        return closed

    # --- A_add -------------------------------------------------------------------------------------

    def _is_decided(self, element: str, property: str, literal: owl.Literal) -> bool:
        return self.data.is_decided(
            property,
            literal,
            self.label(element),
            lambda: [
                (self.label(m), self.whole.values(m)) for m in self.counts.classes.members(self.counts.classes.find(element))
            ],
            self.negated_properties,
        )

    def _result(self) -> Closure:
        contradictory = {e for e in self.seen if clashes(self.label(e))}
        rest = self.seen - contradictory
        kept = KeptAssertions({e: self.space.visible(self.label(e)) for e in rest})
        for a in rest:
            for role, b in self.whole.neighbours(a):
                if not role.inverted and b in rest and (self._is_relevant(role, a, b) or self._is_seen(role, a, b)):
                    kept.edges.add((a, role, b))
            kept.keep_negative(self.whole, a)
            kept.data |= {(a, p, v) for p, v in self.whole.values(a) if not self._is_decided(a, p, v)}
        return Closure(frozenset(self.seen), self.labels, frozenset(self.touched), frozenset(contradictory), kept)

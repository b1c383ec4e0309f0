"""I of a patch, and the labels that hold at its elements and outside (THEORY, "Inside: assumed
and plain elements").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shiq import model as owl
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.irrelevance import (
    Needs,
    Residuals,
    constrained_roles,
    roles_below_any,
    violates_role_axioms,
)
from shiq.abox_ops.labels.label_calculus import Label, LabelCalculus, clashes, is_satisfied, join
from shiq.abox_ops.labels.label_guesses import LabelGuesses
from shiq.abox_ops.patch.effort import Effort
from shiq.abox_ops.patch.told_turns import asking_clause
from shiq.model.abox import individuals_of
from shiq.model.roles import Role
from tests.spec import efforts
from tests.spec.certified_model import CertifiedModel
from tests.spec.counting import Counting, Counts
from tests.spec.efforts import NO_EFFORT, greatest
from tests.spec.element_graph import ElementGraph
from tests.spec.irrelevance import Irrelevance
from tests.spec.told_plus import ToldPlus


@dataclass(frozen=True)
class PatchTools:
    """What does not change while one batch is patched. ``residuals``: over the clauses of
    ``space``; ``completions``: guesses.
    """

    space: LabelCalculus
    data: DataRestrictions
    residuals: Residuals
    completions: LabelGuesses
    needs: Needs

    @classmethod
    def build(cls, space: LabelCalculus, data: DataRestrictions) -> PatchTools:
        return cls(space, data, Residuals(space), LabelGuesses(space), Needs(space))


class PatchState:
    """I of one batch, growing. ``whole`` holds A ∪ A⁺ with the normalised insertions
    ``inserted`` (= A⁺ \\ A).

    ``all_plain``: the criterion `clausal`: nothing is assumed, and what no rule covers is pulled
    in (THEORY, "The add set").
    """

    counts: Counts

    def __init__(
        self,
        means: PatchTools,
        outside: CertifiedModel,
        whole: ElementGraph,
        inserted: Iterable[owl.Assertion],
        *,
        all_plain: bool = False,
    ) -> None:
        self.tools, self.space, self.model, self.graph = means, means.space, outside, whole
        self.all_plain = all_plain
        self.insertions = list(inserted)
        self.told_plus = ToldPlus(
            means.space, means.data, outside.graph, outside.told_labels, whole
        )
        self._touched = {i for a in self.insertions for i in individuals_of(a)}
        self._irrelevance = Irrelevance(means.space)
        self._axiom_roles = constrained_roles(means.space.tbox.roles)
        self._negated_roles = roles_below_any(
            {r for table in whole.negative_edges.values() for r, _ in table}, means.space.tbox.roles
        )
        self._negated_properties = frozenset(
            q
            for table in whole.negative_data.values()
            for p, _ in table
            for q in means.space.tbox.roles.data_subproperties(p)
        )
        self.inside_elements: set[str] = set()
        #: The elements of I that told⁺ contradicts, as this round has them: they are in no merge
        #: class.
        self.contradictory_elements: frozenset[str] = frozenset()
        self._plain_elements: set[str] = set()
        self._assumed_labels: dict[str, Label] = {}
        #: By element of I, where there was any.
        self.effort: dict[str, Effort] = {}
        self._classes: dict[tuple[bool, str], frozenset[str]] = {}
        self._unmet_heads: dict[tuple[Role, Label, Label], int] = {}
        #: By element of I: what is asserted there as residuals, and the elements outside that these
        #: keep out.
        self.residuals: dict[str, Label] = {}
        self.kept_out: dict[str, set[str]] = {}

    def label(self, element: str) -> Label:
        """What holds at an element in its part: told⁺ with what is assumed inside, told_N outside."""
        return (
            self._assumed_labels[element]
            if element in self.inside_elements
            else self.model.label(element)
        )

    def _told_plus_label(self, element: str) -> Label:
        found = self.told_plus.labels.get(element)
        return self.told_plus.base_label(element) if found is None else found

    def _merge(self) -> None:
        """I, what is plain, and efforts, by the elements that there are now."""
        find = self.graph.elements.find
        self.inside_elements = {find(e) for e in self.inside_elements}
        self._plain_elements = {find(e) for e in self._plain_elements}
        before, self.effort = self.effort, {}
        for e, effort in before.items():
            self._raise(find(e), effort)

    def _raise(self, element: str, effort: Effort) -> None:
        """Gives ``element`` the greater of its own effort and ``effort``; one that reaches
        farther is plain.
        """
        self.effort[element] = effort = greatest(self.effort.get(element, NO_EFFORT), effort)
        if effort.is_closed:
            self._plain_elements.add(element)

    def closed_count(self) -> int:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        return sum(1 for e in self.inside_elements if self.effort.get(e, NO_EFFORT).is_closed)

    def _was_asserted(self, role: Role, a: str, b: str) -> bool:
        """Whether role(a, b), a in I, is an assertion of A between elements as they are now."""
        return not self.told_plus.is_fresh_or_joined(a) and (
            role,
            b,
        ) in self.model.graph.neighbours(a)

    def _told_requests(self) -> dict[str, Effort]:
        """The elements outside of which told⁺ goes beyond told_N, or which a clause asks for
        whatever is guessed in I, with their efforts. An element that contradicts itself asks for
        nothing.
        """
        found = {
            e: NO_EFFORT
            for e in self.told_plus.labels
            if e not in self.inside_elements and self._exceeds_model(e)
        }
        for a in self.inside_elements - self.contradictory():
            for role, b in self.graph.neighbours(a):
                if b not in self.inside_elements:
                    before = self.model.label(a) if self._was_asserted(role, a, b) else None
                    labels = self._told_plus_label(a), self.model.label(b), before
                    if asking_clause(self.space, role, *labels, all_plain=self.all_plain):
                        found[b] = greatest(
                            found.get(b, NO_EFFORT),
                            efforts.without_depth(self.effort.get(a, NO_EFFORT)),
                        )
        return found

    def _exceeds_model(self, element: str) -> bool:
        """Whether told⁺ of an element goes beyond told_N, or the element is not one of A. Where
        every element is plain, a clash that A has by itself is nothing new: A is certified by
        nobody then.
        """
        if self.told_plus.is_fresh_or_joined(element):
            return True
        label = self.told_plus.labels[element]
        positive, negative = self.space.drop_data_literals(label)
        known = self.model.label(element)
        return (clashes(label) and not (self.all_plain and clashes(known))) or bool(
            positive & ~known[0] or negative & ~known[1]
        )

    def contradictory(self) -> set[str]:
        """The elements of I that told⁺ alone contradicts."""
        return {e for e in self.inside_elements if clashes(self._told_plus_label(e))}

    def _assume(self) -> None:
        """A label for every element of I: first without triggers, then with those of clauses
        that such labels leave overfull.
        """
        changed = self.changed_elements = frozenset(
            e for e in self.inside_elements if self.told_plus.is_fresh_or_joined(e)
        )
        labels = {e: self._told_plus_label(e) for e in self.inside_elements}
        if self.all_plain:
            self._assumed_labels = labels
            return
        guessed = {
            e for e, label in labels.items() if e not in self._plain_elements and not clashes(label)
        }
        starts: dict[str, Label] = {}
        for e in guessed:
            both = (
                labels[e]
                if e in changed
                else self.space.close(join(labels[e], self.model.label(e)))
            )
            starts[e] = labels[e] if clashes(both) else both
        self._assumed_labels = labels | {
            e: self.tools.completions.guess_model_label(start) for e, start in starts.items()
        }
        triggers = self._triggers(guessed)
        self._assumed_labels |= {
            e: self.tools.completions.guess_model_label(labels[e], mask)
            for e, mask in triggers.items()
        }

    def _triggers(self, elements: Iterable[str]) -> dict[str, int]:
        """The head atoms that are better tried as true at each element: of the clauses on its
        role assertions that the labels leave unmet, and of m-type clauses whose bound may be
        broken at the element by itself.
        """
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        bounded = [c for c in self.space.m_type if c.head & names]
        counting = Counting(self.space, self.graph, self.label, self.tools.needs)
        found: dict[str, int] = {}
        for e in elements:
            label = self._assumed_labels[e]
            mask = 0
            for role, y in self.graph.neighbours(e):
                mask |= self._unmet_head_atoms(role, label, self.label(y))
            for c in bounded:
                if not counting.is_within_bound_together([e], c):
                    mask |= c.head & names
            if mask:
                found[e] = mask
        return found

    def _unmet_head_atoms(self, role: Role, label: Label, other: Label) -> int:
        """The head atoms of one end, with ``label``, of the u-type clauses on role(it, the
        other) that the labels do not decide: ≥-atoms where there are any, else all.
        """
        key = (role, label, other)
        found = self._unmet_heads.get(key)
        if found is None:
            needs = sum(1 << i for i in self.space.at_least)
            found = 0
            for c in self.space.clauses_on_role(role):
                if (
                    not c.n
                    and not is_satisfied(c.literals_at(False), label)
                    and not is_satisfied(c.literals_at(True), other)
                ):
                    found |= c.head & needs or c.head & ~self.space.data_mask
            for c in self.space.clauses_on_role(role.inverse):
                if (
                    not c.n
                    and not is_satisfied(c.literals_at(False), other)
                    and not is_satisfied(c.literals_at(True), label)
                    and not c.head & needs
                ):
                    found |= c.branch_head
            self._unmet_heads[key] = found
        return found

    def _is_constrained(self, role: Role, a: str, b: str) -> bool:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion can
        see role(a, b).
        """
        if role in self._axiom_roles:
            return True
        if role not in self._negated_roles:
            return False
        superroles = self.space.tbox.roles.superroles(role)
        targets = self._class(b)
        return any(
            negated in superroles and other in targets
            for member in self._class(a)
            for negated, other in self.graph.negative_neighbours(member)
        )

    def _class(self, element: str) -> frozenset[str]:
        """The elements that may be equal to an element in its part; none of the contradictory
        ones but itself.
        """
        if element in self.contradictory_elements:
            return frozenset((element,))
        is_inside = element in self.inside_elements
        classes = self.counts.classes if is_inside else self.model.classes
        key = (is_inside, classes.find(element))
        found = self._classes.get(key)
        if found is None:
            find = self.graph.elements.find
            found = self._classes[key] = frozenset(
                m for m in classes.members(element) if find(m) not in self.contradictory_elements
            )
        return found

    def _may_clash(self, a: str, b: str) -> bool:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion may
        contradict what stands between a and b: either end may be one with another element, or
        what is asserted of the pair contradicts as it is.
        """
        if self._may_share(a) or self._may_share(b):
            return True
        asserted = {role for role, y in self.graph.neighbours(a) if y == b}
        negated = {role for role, y in self.graph.negative_neighbours(a) if y == b}
        return violates_role_axioms(asserted, negated, a == b, self.space.tbox.roles)

    def _may_share(self, element: str) -> bool:
        is_joined = len(
            self.graph.elements.members(element)
        ) > 1 and self.told_plus.is_fresh_or_joined(element)
        return is_joined or len(self._class(element)) > 1

    def _inner(self, a: str) -> set[str]:
        """The elements of I that role assertions of ``a`` lead to which told⁺ leaves open."""
        undecided, label = self._irrelevance.undecided_clauses, self._told_plus_label(a)
        return {
            b
            for role, b in self.graph.neighbours(a)
            if b in self.inside_elements
            and (
                undecided(role, label, self._told_plus_label(b))
                or undecided(role.inverse, self._told_plus_label(b), label)
            )
        }

    def _elements(self, individuals: Iterable[str]) -> set[str]:
        return {self.graph.elements.find(i) for i in individuals}

    def _guessed_elements(self, elements: set[str]) -> set[str]:
        """Those of which more is assumed than told."""
        return {
            e
            for e in elements & self.inside_elements - self._plain_elements
            if self._assumed_labels[e] != self._told_plus_label(e)
        }

    def _kept_out_of(self, elements: set[str]) -> set[str]:
        """What residuals of theirs kept out."""
        return {b for e in elements for b in self.kept_out.get(e, ())} - self.inside_elements

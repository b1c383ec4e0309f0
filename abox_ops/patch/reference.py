"""A_add under the criterion `model`: I, what is assumed at its elements, and what is kept (THEORY, "Inside"), plain and obvious.

An element of I is *assumed*: its label is told⁺ with a guess at the rest, which its module has to bear; or *plain*: its label is
told⁺ alone. All rules read these labels. `Patch.close` brings in what the border rules ask for; `abox_ops.patch.widening` asks
for the modules and, where one fails, takes assumptions back and pulls in the elements that residuals kept out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from abox_ops.counting.reference import Counting, Counts
from abox_ops.elements.reference import ElementGraph, SettledGraph
from abox_ops.engine import Certain, NamedModule, unheard
from abox_ops.labels.calculus import EMPTY, Label, LabelSpace, clashes, join
from abox_ops.labels.completion import Completions
from abox_ops.labels.data import DataView
from abox_ops.labels.irrelevance import Irrelevance
from abox_ops.labels.needs import Needs
from abox_ops.labels.residuals import Residuals
from abox_ops.labels.seen import below, is_violated, seen_roles
from abox_ops.modules.add_set import Closure
from abox_ops.modules.components import KeptAssertions, modules
from abox_ops.patch.border import Border
from abox_ops.patch.outside import OutsideCompletion
from abox_ops.told.told_plus import ToldPlus
from shiq import model as owl
from shiq.abox import individuals_of
from shiq.clause import ClausalTBox
from shiq.roles import Role, role_of


@dataclass(frozen=True)
class Patching:
    """What does not change while one batch is patched. ``residuals``: over the clauses of ``space``; ``completions``: guesses."""

    space: LabelSpace
    data: DataView
    residuals: Residuals
    completions: Completions
    needs: Needs

    @classmethod
    def of(cls, space: LabelSpace, data: DataView) -> Patching:
        return cls(space, data, Residuals(space), Completions(space), Needs(space))


class Patch:
    """I of one batch, growing. ``whole`` holds A ∪ A⁺ with the normalised insertions ``inserted`` (= A⁺ \\ A).

    ``all_plain``: the criterion `clausal`: nothing is assumed, and what no rule covers is pulled in (THEORY, "The add set").
    """

    def __init__(
        self,
        means: Patching,
        outside: OutsideCompletion,
        whole: ElementGraph,
        inserted: Iterable[owl.Assertion],
        *,
        all_plain: bool = False,
    ) -> None:
        self.means, self.space, self.outside, self.whole = means, means.space, outside, whole
        self.all_plain = all_plain
        self.inserted = list(inserted)
        self.told = ToldPlus(means.space, means.data, outside.graph, outside.told, whole)
        self._touched = {i for a in self.inserted for i in individuals_of(a)}
        self._irrelevance = Irrelevance(means.space)
        self._axiom_roles = seen_roles(means.space.tbox.roles)
        self._negated_roles = below({r for table in whole.negative_edges.values() for r, _ in table}, means.space.tbox.roles)
        self._negated_properties = frozenset(
            q for table in whole.negative_data.values() for p, _ in table for q in means.space.tbox.roles.data_subproperties(p)
        )
        self.inside: set[str] = set()
        self._plain: set[str] = set()
        self._assumed: dict[str, Label] = {}
        self._classes: dict[tuple[bool, str], frozenset[str]] = {}
        self._unmet_heads: dict[tuple[Role, Label, Label], int] = {}
        #: By element of I: what is asserted there as residuals, and the elements outside that these keep out.
        self.residuals: dict[str, Label] = {}
        self.kept_out: dict[str, set[str]] = {}

    # --- labels ------------------------------------------------------------------------------------

    def label(self, element: str) -> Label:
        """What holds at an element in its part: told⁺ with what is assumed inside, told_N outside."""
        return self._assumed[element] if element in self.inside else self.outside.label(element)

    def _told_plus(self, element: str) -> Label:
        found = self.told.labels.get(element)
        return self.told.before(element) if found is None else found

    def _assume(self) -> None:
        """A label for every element of I: first without triggers, then with those of clauses that such labels leave overfull."""
        changed = self.changed = frozenset(e for e in self.inside if self.told.is_fresh_or_joined(e))
        labels = {e: self._told_plus(e) for e in self.inside}
        if self.all_plain:
            self._assumed = labels
            return
        guessed = {e for e, label in labels.items() if e not in self._plain and not clashes(label)}
        starts: dict[str, Label] = {}
        for e in guessed:
            both = labels[e] if e in changed else self.space.close(join(labels[e], self.outside.label(e)))
            starts[e] = labels[e] if clashes(both) else both
        self._assumed = labels | {e: self.means.completions.of(start) for e, start in starts.items()}
        triggers = self._triggers(guessed)
        self._assumed |= {e: self.means.completions.of(labels[e], mask) for e, mask in triggers.items()}

    def _triggers(self, elements: Iterable[str]) -> dict[str, int]:
        """By element, the head atoms that are better tried as true there: of the clauses on its role assertions that the labels
        leave unmet, and of m-type clauses whose bound may be broken at the element by itself."""
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        bounded = [c for c in self.space.m_type if c.head & names]
        counting = Counting(self.space, self.whole, self.label, self.means.needs, fine=True)
        found: dict[str, int] = {}
        for e in elements:
            label = self._assumed[e]
            mask = 0
            for role, y in self.whole.neighbours(e):
                mask |= self._unmet(role, label, self.label(y))
            for c in bounded:
                if not counting.is_within_together([e], c):
                    mask |= c.head & names
            if mask:
                found[e] = mask
        return found

    def _unmet(self, role: Role, label: Label, other: Label) -> int:
        """The head atoms of one end, with ``label``, of the u-type clauses on role(it, the other) that the labels do not decide:
        ≥-atoms where there are any, else all."""
        key = (role, label, other)
        found = self._unmet_heads.get(key)
        if found is None:
            needs = sum(1 << i for i in self.space.at_least)
            found = 0
            for c in self.space.clauses_of(role):
                if not c.n and not c.decided_at_centre(label) and not c.decided_at_branch(other):
                    found |= c.head & needs or c.head & ~self.space.data_mask
            for c in self.space.clauses_of(role.inverse):
                if not c.n and not c.decided_at_centre(other) and not c.decided_at_branch(label) and not c.head & needs:
                    found |= c.branch_head
            self._unmet_heads[key] = found
        return found

    # --- I -----------------------------------------------------------------------------------------

    def close(self, *, to_clash: bool = False, certain: Certain = unheard) -> bool:
        """told⁺, the labels, the counts and the border rules afresh, until nothing more has to be pulled in. See
        `abox_ops.patch.widening.Patch`.

        Stops because I and the plain elements grow, and elements merge, within finite sets.
        """
        find = self.whole.elements.find
        while True:
            self.told.saturate({*self._touched, *self.inside})
            self.whole = SettledGraph(self.told.whole)
            self.inside = {find(e) for e in self.inside}
            self._plain = {find(e) for e in self._plain}
            if clashing := {e for e, label in self.told.labels.items() if clashes(label)}:
                certain()
                if to_clash:
                    self.inside, self._kept = clashing, (KeptAssertions({}), KeptAssertions({}))
                    return True
            self._assume()
            self._classes.clear()
            inside = frozenset(self.inside)
            self.counts = Counts(self.space, self.whole, self.label, self.means.needs, inside, fine=True)
            self.border = Border(
                self.space,
                self.whole,
                self.outside,
                self.label,
                inside,
                self.changed,
                self.counts,
                self.means.needs,
            )
            grown, unassumed = self._crossings()
            grown |= self._start()
            if grown <= inside and unassumed <= self._plain:
                # Last, since a pair that crosses by then has the border rules.
                grown = self._uncovered()
                if not grown:
                    self._kept = self._both()
                    return False
            self.inside |= grown
            self._plain |= unassumed

    def _start(self) -> set[str]:
        """The elements of which the insertions say what is not part of the certified model, role assertions apart."""
        find = self.whole.elements.find
        started = {e for e in self.told.labels if e not in self.inside and self._says_more(e)}
        for assertion in self.inserted:
            match assertion:
                case owl.SameIndividual() | owl.NegativeObjectPropertyAssertion() | owl.NegativeDataPropertyAssertion():
                    started |= {find(i) for i in individuals_of(assertion)}
                case owl.DifferentIndividuals(first, second):
                    a, b = find(first), find(second)
                    if not {a, b} <= self.inside and not self._are_old_and_different(a, b):
                        started |= {a, b}
                case owl.DataPropertyAssertion(property, subject, literal):
                    if find(subject) not in self.inside and not self.is_decided(find(subject), property.iri, literal):
                        started.add(find(subject))
        return started

    def _uncovered(self) -> set[str]:
        """The ends of inserted role assertions that no rule covers as things are."""
        find = self.whole.elements.find
        found: set[str] = set()
        for assertion in self.inserted:
            if isinstance(assertion, owl.ObjectPropertyAssertion):
                a, b, role = find(assertion.subject), find(assertion.object), role_of(assertion.property)
                if not {a, b} <= self.inside and not self._is_covered(role, a, b):
                    found |= {a, b}
        return found

    def _says_more(self, element: str) -> bool:
        """Whether told⁺ of an element goes beyond told_N, or the element is not one of A. Where every element is plain, a
        clash that A has by itself is nothing new: A is certified by nobody then."""
        if self.told.is_fresh_or_joined(element):
            return True
        label = self.told.labels[element]
        positive, negative = self.space.visible(label)
        known = self.outside.label(element)
        return (clashes(label) and not (self.all_plain and clashes(known))) or bool(positive & ~known[0] or negative & ~known[1])

    def _are_old_and_different(self, a: str, b: str) -> bool:
        return not any(self.told.is_fresh_or_joined(e) for e in (a, b)) and self.outside.are_different(a, b)

    def _is_covered(self, role: Role, a: str, b: str) -> bool:
        """Whether an inserted role(a, b) needs no more of its ends inside than there are: the border rules see to the others.

        Outside, a seen assertion must be the first of its pair, since the model may have given an older one further roles.
        """
        if self._is_seen(role, a, b) and self._may_clash(a, b):
            return False
        if a in self.inside or b in self.inside:
            return True
        if any(self.told.is_fresh_or_joined(e) for e in (a, b)):
            return False
        if self._is_seen(role, a, b) and any(y == b for _, y in self.outside.graph.neighbours(a)):
            return False
        return self.border.is_covered_outside(role, a, b)

    def _crossings(self) -> tuple[set[str], set[str]]:
        """The elements that must come in over role assertions, and the elements whose assumption leaves a clause unmet.

        Notes the residuals of the others. An element that contradicts itself settles the matter and asks for nothing.
        """
        self.residuals, self.kept_out = {}, {}
        pulled: set[str] = set()
        unassumed: set[str] = set()
        for a in self.inside - self.contradictory():
            for role, b in self.whole.neighbours(a):
                if b in self.inside:
                    continue
                if self._is_seen(role, a, b) and self._may_clash(a, b):
                    pulled.add(b)
                    continue
                for need in self.border.needs_at(role, a, b):
                    if self.all_plain:
                        pulled.add(b)
                        break
                    residual = self.means.residuals.at(need.clause, need.at_branch, self.label(a))
                    if residual is not None:
                        self.residuals[a] = join(self.residuals.get(a, EMPTY), residual)
                        self.kept_out.setdefault(a, set()).add(b)
                    elif self.means.residuals.at(need.clause, need.at_branch, self._told_plus(a)) is not None:
                        unassumed.add(a)
                    else:
                        pulled.add(b)
        return pulled, unassumed

    def _is_seen(self, role: Role, a: str, b: str) -> bool:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion can see role(a, b)."""
        if role in self._axiom_roles:
            return True
        if role not in self._negated_roles:
            return False
        superroles = self.space.tbox.roles.superroles(role)
        targets = self._class(b)
        return any(
            negated in superroles and other in targets
            for member in self._class(a)
            for negated, other in self.whole.negatives(member)
        )

    def _class(self, element: str) -> frozenset[str]:
        """The elements that may be equal to an element in its part."""
        is_inside = element in self.inside
        classes = self.counts.classes if is_inside else self.outside.classes
        key = (is_inside, classes.find(element))
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = frozenset(classes.members(element))
        return found

    def _may_clash(self, a: str, b: str) -> bool:
        """Whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion may contradict what stands between a
        and b: either end may be one with another element, or what is asserted of the pair contradicts as it is."""
        if self._may_share(a) or self._may_share(b):
            return True
        asserted = {role for role, y in self.whole.neighbours(a) if y == b}
        negated = {role for role, y in self.whole.negatives(a) if y == b}
        return is_violated(asserted, negated, a == b, self.space.tbox.roles)

    def _may_share(self, element: str) -> bool:
        is_joined = len(self.whole.elements.members(element)) > 1 and self.told.is_fresh_or_joined(element)
        return is_joined or len(self._class(element)) > 1

    # --- after a failure ---------------------------------------------------------------------------

    def give_up_assumptions(self, individuals: Iterable[str]) -> bool:
        """See `abox_ops.patch.widening.Patch`."""
        elements = {self.whole.elements.find(i) for i in individuals}
        taken = {e for e in elements if e in self.inside and self._assumed[e] != self._told_plus(e)} - self._plain
        self._plain |= taken
        return bool(taken)

    def pull_in_for(self, individuals: Iterable[str]) -> bool:
        """See `abox_ops.patch.widening.Patch`."""
        elements = {self.whole.elements.find(i) for i in individuals}
        pulled = {b for e in elements for b in self.kept_out.get(e, ())} - self.inside
        self.inside |= pulled
        return bool(pulled)

    # --- A_add -------------------------------------------------------------------------------------

    def contradictory(self) -> set[str]:
        """The elements of I that told⁺ alone contradicts."""
        return {e for e in self.inside if clashes(self._told_plus(e))}

    def is_decided(self, element: str, property: str, literal: owl.Literal) -> bool:
        return self.means.data.is_decided(
            property,
            literal,
            self.label(element),
            lambda: [(self.label(m), self.whole.values(m)) for m in self._class(element)],
            self._negated_properties,
        )

    @property
    def tbox(self) -> ClausalTBox:
        """See `abox_ops.patch.widening.Patch`."""
        return self.means.residuals.tbox

    def asked(self) -> list[NamedModule]:
        """See `abox_ops.patch.widening.Patch`."""
        return self._modules(self._kept[0])

    def bare(self) -> list[NamedModule]:
        """See `abox_ops.patch.widening.Patch`."""
        return self._modules(self._kept[1])

    def _modules(self, kept: KeptAssertions) -> list[NamedModule]:
        return modules(kept, {e: self.whole.elements.members(e) for e in kept.labels})

    def closure(self) -> Closure:
        """I and what is kept, as it was last closed."""
        return Closure(
            frozenset(self.inside), dict(self.told.labels), self.touched(), frozenset(self.contradictory()), self._kept[1]
        )

    def _both(self) -> tuple[KeptAssertions, KeptAssertions]:
        """A_add as it is asked, with assumptions and residuals, and bare: the same with told⁺ alone."""
        rest = self.inside - self.contradictory()
        bare = KeptAssertions({e: self.space.visible(self._told_plus(e)) for e in rest})
        for a in rest:
            inner = {(role, b) for role, b in self.whole.neighbours(a) if b in rest}
            linked = {b for role, b in inner if self._is_open(role, a, b)}
            bare.edges |= {
                (a, role, b)
                for role, b in inner
                if not role.inverted
                and (self._is_open(role, a, b) or (self._is_seen(role, a, b) and (b in linked or self._may_clash(a, b))))
            }
            bare.keep_negative(self.whole, a)
            bare.data |= {(a, p, v) for p, v in self.whole.values(a) if not self.is_decided(a, p, v)}
        asked = {e: join(self.space.visible(self.label(e)), self.residuals.get(e, EMPTY)) for e in rest}
        return KeptAssertions(asked, bare.edges, bare.negative_edges, bare.different, bare.data, bare.negative_data), bare

    def _is_open(self, role: Role, a: str, b: str) -> bool:
        """Whether role(a, b) inside I is left open by the labels and by counting."""
        found = self._irrelevance.open(role, self.label(a), self.label(b))
        return (
            found.relevant
            or any(not self.counts.is_within(a, c) for c in found.at_subject)
            or any(not self.counts.is_within(b, c) for c in found.at_object)
        )

    def touched(self) -> frozenset[str]:
        return frozenset(self.whole.elements.find(i) for i in self._touched)

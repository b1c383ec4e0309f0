"""A_add under the criterion `model`: I, what is assumed at its elements, and what is kept
(THEORY, "Inside"), plain and obvious.

An element of I is *assumed*: its label is told⁺ with a guess at the rest, which its module has
to bear; or *plain*: its label is told⁺ alone. All rules read these labels. `Patch.close` brings
in what the border rules ask for; `shiq.abox_ops.patch.widening` asks for the modules and, where one
fails, takes assumptions back and pulls in the elements that residuals kept out.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq import model as owl
from shiq.abox_ops.engine import Certain, NamedModule, unheard
from shiq.abox_ops.labels.calculus import EMPTY, clashes, join
from shiq.abox_ops.modules.components import Closure, KeptAssertions, modules
from shiq.abox_ops.patch.effort import NO_EFFORT, Effort, turn
from shiq.abox_ops.patch.stride import strides, surroundings
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, role_of
from tests.spec.border import Border
from tests.spec.counting import Counts
from tests.spec.graphs import SettledGraph
from tests.spec.patch_state import PatchState


class Patch(PatchState):
    """I of one batch, growing: the loop, the crossings and what is kept."""

    # --- I ----------------------------------------------------------------------------------------

    def close(self, *, to_clash: bool = False, certain: Certain = unheard) -> bool:
        """told⁺, the labels, the counts and the border rules afresh, until nothing more has to
        be pulled in. See `shiq.abox_ops.patch.widening.GrowingRegion`.

        Stops because I and the plain elements grow, and elements merge, within finite sets.
        """
        while True:
            if self._settle(to_clash, certain):
                return True
            self._assume()
            self._classes.clear()
            inside = frozenset(self.inside)
            self.clash = frozenset(self.contradictory())
            self.counts = Counts(
                self.space, self.whole, self.label, self.means.needs, inside - self.clash
            )
            self.border = Border(
                self.space,
                self.whole,
                self.outside,
                self.label,
                inside,
                self.clash,
                self.changed,
                self._was_asserted,
                self.counts,
                self.means.needs,
            )
            pulled, unassumed = self._crossings()
            grown = pulled.keys() | self._start()
            if grown <= inside and unassumed <= self._plain:
                # Last, since a pair that crosses by then has the border rules.
                grown = self._uncovered()
                if not grown:
                    self._kept = self._both()
                    return False
            further = [(e, effort) for e, effort, _ in strides(pulled, self._onward)]
            self.inside |= grown | {e for e, _ in further}
            self._plain |= unassumed
            for e, effort in (*pulled.items(), *further):
                self._raise(e, effort)

    def _settle(self, to_clash: bool, certain: Certain) -> bool:
        """Closes told⁺ and brings in what it alone asks for, in turn, until that is nothing.
        With ``to_clash``: see `close`.
        """
        while True:
            self.told.saturate({*self._touched, *self.inside})
            self.whole = SettledGraph(self.told.whole)
            self._merge()
            if clashing := {e for e, label in self.told.labels.items() if clashes(label)}:
                certain()
                if to_clash:
                    self.inside, self._kept = clashing, (KeptAssertions({}), KeptAssertions({}))
                    return True
            asked_for = self._asked_for()
            if not asked_for:
                return False
            self.inside |= asked_for.keys()
            for e, effort in asked_for.items():
                self._raise(e, effort)

    def _start(self) -> set[str]:
        """The elements of which the insertions say what is not part of the certified model, role
        assertions apart.
        """
        find = self.whole.elements.find
        started: set[str] = set()
        for assertion in self.inserted:
            match assertion:
                case (
                    owl.SameIndividual()
                    | owl.NegativeObjectPropertyAssertion()
                    | owl.NegativeDataPropertyAssertion()
                ):
                    started |= {find(i) for i in individuals_of(assertion)}
                case owl.DifferentIndividuals(first, second):
                    a, b = find(first), find(second)
                    if not {a, b} <= self.inside and not self._are_old_and_different(a, b):
                        started |= {a, b}
                case owl.DataPropertyAssertion(property, subject, literal):
                    if find(subject) not in self.inside and not self.is_decided(
                        find(subject), property.iri, literal
                    ):
                        started.add(find(subject))
        return started

    def _uncovered(self) -> set[str]:
        """The ends of inserted role assertions that no rule covers as things are. Those of
        contradictory elements ask for nothing.
        """
        find = self.whole.elements.find
        found: set[str] = set()
        for assertion in self.inserted:
            if isinstance(assertion, owl.ObjectPropertyAssertion):
                a, b, role = (
                    find(assertion.subject),
                    find(assertion.object),
                    role_of(assertion.property),
                )
                if (
                    not {a, b} <= self.inside
                    and self.clash.isdisjoint((a, b))
                    and not self._is_covered(role, a, b)
                ):
                    found |= {a, b}
        return found

    def _are_old_and_different(self, a: str, b: str) -> bool:
        return not any(
            self.told.is_fresh_or_joined(e) for e in (a, b)
        ) and self.outside.are_different(a, b)

    def _is_covered(self, role: Role, a: str, b: str) -> bool:
        """Whether an inserted role(a, b) needs no more of its ends inside than there are: the
        border rules see to the others.

        Outside, a seen assertion must be the first of its pair, since the model may have given
        an older one further roles.
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

    def _crossings(self) -> tuple[dict[str, Effort], set[str]]:
        """The elements that must come in over role assertions, with their efforts, and the
        elements whose assumption leaves a clause unmet.

        Notes the residuals of the others. An element that contradicts itself settles the matter
        and asks for nothing.
        """
        self.residuals, self.kept_out = {}, {}
        pulled: dict[str, Effort] = {}
        unassumed: set[str] = set()

        def pull(a: str, b: str) -> None:
            pulled[b] = pulled.get(b, NO_EFFORT).joined(self.effort.get(a, NO_EFFORT).deeper)

        for a in self.inside - self.contradictory():
            is_far = self.all_plain or self.effort.get(a, NO_EFFORT).is_closed
            for role, b in self.whole.neighbours(a):
                if b in self.inside:
                    continue
                if self._is_seen(role, a, b) and self._may_clash(a, b):
                    pull(a, b)
                    continue
                for need in self.border.needs_at(role, a, b):
                    if is_far:
                        pull(a, b)
                        break
                    residual = self.means.residuals.at(need.clause, need.at_branch, self.label(a))
                    if residual is not None:
                        self.residuals[a] = join(self.residuals.get(a, EMPTY), residual)
                        self.kept_out.setdefault(a, set()).add(b)
                    elif (
                        self.means.residuals.at(need.clause, need.at_branch, self._told_plus(a))
                        is not None
                    ):
                        unassumed.add(a)
                    else:
                        pull(a, b)
        return pulled, unassumed

    def _onward(self, a: str, is_plain: bool) -> set[str]:
        """See `shiq.abox_ops.patch.stride.Onward`."""
        undecided, label = (
            self._irrelevance.undecided,
            self._told_plus(a) if is_plain else self.outside.label(a),
        )
        return {
            b
            for role, b in self.whole.neighbours(a)
            if b not in self.inside
            and (
                undecided(role, label, self.label(b))
                or undecided(role.inverse, self.label(b), label)
            )
        }

    # --- after a failure --------------------------------------------------------------------------

    def can_widen(self, modules: Sequence[Sequence[str]]) -> list[bool]:
        """See `shiq.abox_ops.patch.widening.GrowingRegion`."""
        return [
            bool(self._guessed(elements) or self._kept_out_of(elements))
            for elements in map(self._elements, modules)
        ]

    def widen(self, modules: Sequence[Sequence[str]]) -> None:
        """See `shiq.abox_ops.patch.widening.GrowingRegion`."""
        pulled: dict[str, Effort] = {}
        failed = [self._elements(module) for module in modules]
        efforts = [
            turn((self.effort.get(e, NO_EFFORT) for e in elements), len(elements))
            for elements in failed
        ]
        for elements, effort in zip(failed, efforts):
            guessed = self._guessed(elements)
            for e in elements:
                self._raise(e, effort)
            self._plain |= guessed
            if effort.is_closed or not guessed:
                for b in self._kept_out_of(elements):
                    pulled[b] = pulled.get(b, NO_EFFORT).joined(effort)
        for elements, effort in zip(failed, efforts):
            around = surroundings(elements, effort, self._inner)
            self._plain.update(around.plain if effort.is_closed else ())
            for e in (*around.plain, *around.rim):
                self._raise(e, around.effort)
        self.inside |= pulled.keys()
        for b, effort in pulled.items():
            self._raise(b, effort)

    # --- A_add ------------------------------------------------------------------------------------

    def is_decided(self, element: str, property: str, literal: owl.Literal) -> bool:
        return self.means.data.is_decided(
            property,
            literal,
            self.label(element),
            lambda atom: self.means.data.count(
                atom, [(self.label(m), self.whole.values(m)) for m in self._class(element)]
            ),
            self._negated_properties,
        )

    @property
    def tbox(self) -> ClausalTBox:
        """See `shiq.abox_ops.patch.widening.GrowingRegion`."""
        return self.means.residuals.tbox

    def asked(self) -> list[NamedModule]:
        """See `shiq.abox_ops.patch.widening.GrowingRegion`."""
        return self._modules(self._kept[0])

    def bare(self) -> list[NamedModule]:
        """See `shiq.abox_ops.patch.widening.GrowingRegion`."""
        return self._modules(self._kept[1])

    def _modules(self, kept: KeptAssertions) -> list[NamedModule]:
        return modules(kept, {e: self.whole.elements.members(e) for e in kept.labels})

    def closure(self) -> Closure:
        """I and what is kept, as it was last closed."""
        return Closure(
            frozenset(self.inside),
            dict(self.told.labels),
            self.touched(),
            frozenset(self.contradictory()),
            self._kept[1],
        )

    def _both(self) -> tuple[KeptAssertions, KeptAssertions]:
        """A_add as it is asked, with assumptions and residuals, and bare: the same with told⁺
        alone.
        """
        rest = self.inside - self.contradictory()
        bare = KeptAssertions({e: self.space.visible(self._told_plus(e)) for e in rest})
        for a in rest:
            inner = {(role, b) for role, b in self.whole.neighbours(a) if b in rest}
            linked = {b for role, b in inner if self._is_open(role, a, b)}
            bare.edges |= {
                (a, role, b)
                for role, b in inner
                if not role.is_inverse
                and (
                    self._is_open(role, a, b)
                    or (self._is_seen(role, a, b) and (b in linked or self._may_clash(a, b)))
                )
            }
            bare.keep_negative(self.whole, a)
            bare.data |= {
                (a, p, v) for p, v in self.whole.values(a) if not self.is_decided(a, p, v)
            }
        asked = {
            e: join(self.space.visible(self.label(e)), self.residuals.get(e, EMPTY)) for e in rest
        }
        return KeptAssertions(
            asked, bare.edges, bare.negative_edges, bare.different, bare.data, bare.negative_data
        ), bare

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

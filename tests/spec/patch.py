"""A_add under the criterion `model`: I, what is assumed at its elements, and what is kept
(THEORY, "Inside"), plain and obvious.

An element of I is *assumed*: its label is told⁺ with a guess at the rest, which its module has
to bear; or *plain*: its label is told⁺ alone. All rules read these labels. `Patch.close` brings
in what the border rules ask for; `shiq.abox_ops.patch.widening_loop` asks for the modules and, where one
fails, takes assumptions back and pulls in the elements that residuals kept out.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq import model as owl
from shiq.abox_ops.engine import InconsistencyCallback, NamedModule, ignore_inconsistency
from shiq.abox_ops.labels.label_calculus import EMPTY, clashes, join
from shiq.abox_ops.modules.components import KeptAssertions, component_modules
from shiq.abox_ops.patch.effort import Effort
from shiq.abox_ops.patch.strides import elements_by_strides, surroundings
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, role_of
from tests.spec import efforts
from tests.spec.border import Border
from tests.spec.counting import Counts
from tests.spec.efforts import NO_EFFORT, greatest, widened_effort
from tests.spec.graphs import Closure, ReadOnlyGraph, keep_negative
from tests.spec.patch_state import PatchState
from tests.spec.values import count_values


class Patch(PatchState):
    """I of one batch, growing: the loop, the crossings and what is kept."""

    # --- I ----------------------------------------------------------------------------------------

    def close(
        self, *, to_clash: bool = False, certain: InconsistencyCallback = ignore_inconsistency
    ) -> bool:
        """told⁺, the labels, the counts and the border rules afresh, until nothing more has to
        be pulled in. See `shiq.abox_ops.patch.patch.Patch`.

        Stops because I and the plain elements grow, and elements merge, within finite sets.
        """
        while True:
            if self._settle(to_clash, certain):
                return True
            self._assume()
            self._classes.clear()
            inside = frozenset(self.inside_elements)
            self.contradictory_elements = frozenset(self.contradictory())
            self.counts = Counts(
                self.space,
                self.graph,
                self.label,
                self.tools.needs,
                inside - self.contradictory_elements,
            )
            self.border = Border(
                self.space,
                self.graph,
                self.model,
                self.label,
                inside,
                self.contradictory_elements,
                self.changed_elements,
                self._was_asserted,
                self.counts,
                self.tools.needs,
            )
            pulled, unassumed = self._crossings()
            grown = pulled.keys() | self._initial_region()
            if grown <= inside and unassumed <= self._plain_elements:
                # Last, since a pair that crosses by then has the border rules.
                grown = self._find_uncovered()
                if not grown:
                    self._kept = self._make_add_sets()
                    return False
            further = [(e, effort) for e, effort, _ in elements_by_strides(pulled, self._onward)]
            self.inside_elements |= grown | {e for e, _ in further}
            self._plain_elements |= unassumed
            for e, effort in (*pulled.items(), *further):
                self._raise(e, effort)

    def _settle(self, to_clash: bool, certain: InconsistencyCallback) -> bool:
        """Closes told⁺ and brings in what it alone asks for, in turn, until that is nothing.
        With ``to_clash``: see `close`.
        """
        while True:
            self.told_plus.saturate({*self._touched, *self.inside_elements})
            self.graph = ReadOnlyGraph(self.told_plus.graph)
            self._merge()
            if clashing := {e for e, label in self.told_plus.labels.items() if clashes(label)}:
                certain()
                if to_clash:
                    self.inside_elements, self._kept = (
                        clashing,
                        (KeptAssertions({}), KeptAssertions({})),
                    )
                    return True
            asked_for = self._told_requests()
            if not asked_for:
                return False
            self.inside_elements |= asked_for.keys()
            for e, effort in asked_for.items():
                self._raise(e, effort)

    def _initial_region(self) -> set[str]:
        """The elements of which the insertions say what is not part of the certified model, role
        assertions apart.
        """
        find = self.graph.elements.find
        started: set[str] = set()
        for assertion in self.insertions:
            match assertion:
                case (
                    owl.SameIndividual()
                    | owl.NegativeObjectPropertyAssertion()
                    | owl.NegativeDataPropertyAssertion()
                ):
                    started |= {find(i) for i in individuals_of(assertion)}
                case owl.DifferentIndividuals(first, second):
                    a, b = find(first), find(second)
                    if not {a, b} <= self.inside_elements and not self._are_old_and_different(a, b):
                        started |= {a, b}
                case owl.DataPropertyAssertion(property, subject, literal):
                    if find(subject) not in self.inside_elements and not self.is_decided(
                        find(subject), property.iri, literal
                    ):
                        started.add(find(subject))
        return started

    def _find_uncovered(self) -> set[str]:
        """The ends of inserted role assertions that no rule covers as things are. Those of
        contradictory elements ask for nothing.
        """
        find = self.graph.elements.find
        found: set[str] = set()
        for assertion in self.insertions:
            if isinstance(assertion, owl.ObjectPropertyAssertion):
                a, b, role = (
                    find(assertion.subject),
                    find(assertion.object),
                    role_of(assertion.property),
                )
                if (
                    not {a, b} <= self.inside_elements
                    and self.contradictory_elements.isdisjoint((a, b))
                    and not self._is_covered(role, a, b)
                ):
                    found |= {a, b}
        return found

    def _are_old_and_different(self, a: str, b: str) -> bool:
        return not any(
            self.told_plus.is_fresh_or_joined(e) for e in (a, b)
        ) and self.model.are_different(a, b)

    def _is_covered(self, role: Role, a: str, b: str) -> bool:
        """Whether an inserted role(a, b) needs no more of its ends inside than there are: the
        border rules see to the others.

        Outside, a seen assertion must be the first of its pair, since the model may have given
        an older one further roles.
        """
        if self._is_constrained(role, a, b) and self._may_clash(a, b):
            return False
        if a in self.inside_elements or b in self.inside_elements:
            return True
        if any(self.told_plus.is_fresh_or_joined(e) for e in (a, b)):
            return False
        if self._is_constrained(role, a, b) and any(
            y == b for _, y in self.model.graph.neighbours(a)
        ):
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
            pulled[b] = greatest(
                pulled.get(b, NO_EFFORT), efforts.one_deeper(self.effort.get(a, NO_EFFORT))
            )

        for a in self.inside_elements - self.contradictory():
            is_far = self.all_plain or self.effort.get(a, NO_EFFORT).is_closed
            for role, b in self.graph.neighbours(a):
                if b in self.inside_elements:
                    continue
                if self._is_constrained(role, a, b) and self._may_clash(a, b):
                    pull(a, b)
                    continue
                for need in self.border.unmet_clauses(role, a, b):
                    if is_far:
                        pull(a, b)
                        break
                    residual = self.tools.residuals.residual_at(
                        need.clause, need.at_branch, self.label(a)
                    )
                    if residual is not None:
                        self.residuals[a] = join(self.residuals.get(a, EMPTY), residual)
                        self.kept_out.setdefault(a, set()).add(b)
                    elif (
                        self.tools.residuals.residual_at(
                            need.clause, need.at_branch, self._told_plus_label(a)
                        )
                        is not None
                    ):
                        unassumed.add(a)
                    else:
                        pull(a, b)
        return pulled, unassumed

    def _onward(self, a: str, is_plain: bool) -> set[str]:
        """See `shiq.abox_ops.patch.strides.Onward`."""
        undecided, label = (
            self._irrelevance.undecided_clauses,
            self._told_plus_label(a) if is_plain else self.model.label(a),
        )
        return {
            b
            for role, b in self.graph.neighbours(a)
            if b not in self.inside_elements
            and (
                undecided(role, label, self.label(b))
                or undecided(role.inverse, self.label(b), label)
            )
        }

    # --- after a failure --------------------------------------------------------------------------

    def can_widen(self, modules: Sequence[Sequence[str]]) -> list[bool]:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        return [
            bool(self._guessed_elements(elements) or self._kept_out_of(elements))
            for elements in map(self._elements, modules)
        ]

    def widen(self, modules: Sequence[Sequence[str]]) -> None:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        pulled: dict[str, Effort] = {}
        failed = [self._elements(module) for module in modules]
        efforts = [
            widened_effort((self.effort.get(e, NO_EFFORT) for e in elements), len(elements))
            for elements in failed
        ]
        for elements, effort in zip(failed, efforts):
            guessed = self._guessed_elements(elements)
            for e in elements:
                self._raise(e, effort)
            self._plain_elements |= guessed
            if effort.is_closed or not guessed:
                for b in self._kept_out_of(elements):
                    pulled[b] = greatest(pulled.get(b, NO_EFFORT), effort)
        for elements, effort in zip(failed, efforts):
            around = surroundings(elements, effort, self._inner)
            self._plain_elements.update(around.plain if effort.is_closed else ())
            for e in (*around.plain, *around.rim):
                self._raise(e, around.effort)
        self.inside_elements |= pulled.keys()
        for b, effort in pulled.items():
            self._raise(b, effort)

    # --- A_add ------------------------------------------------------------------------------------

    def is_decided(self, element: str, property: str, literal: owl.Literal) -> bool:
        return self.tools.data.is_decided(
            property,
            literal,
            self.label(element),
            lambda atom: count_values(
                self.tools.data,
                atom,
                [(self.label(m), self.graph.values(m)) for m in self._class(element)],
            ),
            self._negated_properties,
        )

    @property
    def tbox(self) -> ClausalTBox:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        return self.tools.residuals.tbox

    def assumed_modules(self) -> list[NamedModule]:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        return self._modules(self._kept[0])

    def bare_modules(self) -> list[NamedModule]:
        """See `shiq.abox_ops.patch.patch.Patch`."""
        return self._modules(self._kept[1])

    def _modules(self, kept: KeptAssertions) -> list[NamedModule]:
        return component_modules(kept, {e: self.graph.elements.members(e) for e in kept.labels})

    def closure(self) -> Closure:
        """I and what is kept, as it was last closed."""
        return Closure(
            frozenset(self.inside_elements),
            dict(self.told_plus.labels),
            self.touched_elements(),
            frozenset(self.contradictory()),
            self._kept[1],
        )

    def _make_add_sets(self) -> tuple[KeptAssertions, KeptAssertions]:
        """A_add as it is asked, with assumptions and residuals, and bare: the same with told⁺
        alone.
        """
        rest = self.inside_elements - self.contradictory()
        bare = KeptAssertions(
            {e: self.space.drop_data_literals(self._told_plus_label(e)) for e in rest}
        )
        for a in rest:
            inner = {(role, b) for role, b in self.graph.neighbours(a) if b in rest}
            linked = {b for role, b in inner if self._is_open(role, a, b)}
            bare.edges |= {
                (a, role, b)
                for role, b in inner
                if not role.is_inverse
                and (
                    self._is_open(role, a, b)
                    or (self._is_constrained(role, a, b) and (b in linked or self._may_clash(a, b)))
                )
            }
            keep_negative(bare, self.graph, a)
            bare.data |= {
                (a, p, v) for p, v in self.graph.values(a) if not self.is_decided(a, p, v)
            }
        asked = {
            e: join(self.space.drop_data_literals(self.label(e)), self.residuals.get(e, EMPTY))
            for e in rest
        }
        return KeptAssertions(
            asked, bare.edges, bare.negative_edges, bare.different, bare.data, bare.negative_data
        ), bare

    def _is_open(self, role: Role, a: str, b: str) -> bool:
        """Whether role(a, b) inside I is left open by the labels and by counting."""
        found = self._irrelevance.open_clauses(role, self.label(a), self.label(b))
        return (
            found.is_relevant
            or any(not self.counts.is_within_bound(a, c) for c in found.at_subject)
            or any(not self.counts.is_within_bound(b, c) for c in found.at_object)
        )

    def touched_elements(self) -> frozenset[str]:
        return frozenset(self.graph.elements.find(i) for i in self._touched)

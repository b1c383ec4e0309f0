"""(T, A) on dictionaries: every fixpoint over all of A, nothing incremental. A criterion is one
list of steps: `SpecKnowledgeBase.add_set` and `patched`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shiq.abox_ops.elements.base import StoredSnapshot
from shiq.abox_ops.elements.normal_assertions import (
    collect_vocabulary,
    definition_name,
    literal_expression,
    name_literal,
    normalise,
)
from shiq.abox_ops.engine import CRITERIA, NO_WIDENING, Inquiry, NamedModule, WideningFigures
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.irrelevance import Needs
from shiq.abox_ops.labels.label_calculus import EMPTY, Label, LabelCalculus, clashes
from shiq.abox_ops.modules.components import component_modules, kept_assertions
from shiq.abox_ops.patch.widening_loop import decide_patch
from shiq.datatypes import DataTheory
from shiq.errors import UsageError
from shiq.model import Assertion, Class, ClassAssertion, SubClassOf, TBox
from shiq.model.abox import ABox, abox_of, individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import RoleBox, role_box
from shiq.partition import Partition
from shiq.reasoner.protocol import Answer
from shiq.simplify import SimplifiedTBox, simplify
from tests.spec.certificate import certify_model
from tests.spec.certified_model import CertifiedModel, regroup_after_deletion
from tests.spec.counting import Counts
from tests.spec.element_graph import ElementGraph
from tests.spec.graphs import Closure, ReadOnlyGraph, extend_graph
from tests.spec.patch import Patch
from tests.spec.patch_state import PatchTools
from tests.spec.published import asserted_closure, definition7
from tests.spec.told import told_labels


@dataclass(frozen=True, eq=False)
class SpecAddSet:
    """See `shiq.abox_ops.engine.AddSet`."""

    tbox: ClausalTBox
    base: SpecKnowledgeBase
    inserted_assertions: frozenset[Assertion]
    graph: ElementGraph
    closure: Closure
    decided_modules: Sequence[NamedModule] | None = None
    widening: WideningFigures = NO_WIDENING

    @cached_property
    def modules(self) -> Sequence[NamedModule]:
        if self.decided_modules is not None:
            return self.decided_modules
        members = {e: self.graph.elements.members(e) for e in self.closure.add_set.labels}
        return component_modules(self.closure.add_set, members)

    @property
    def contradictory(self) -> Sequence[tuple[str, ...]]:
        return sorted(self.graph.elements.members(e) for e in self.closure.contradictory)

    @property
    def insertions(self) -> int:
        return len(self.inserted_assertions)

    @cached_property
    def size(self) -> int:
        return sum(1 for _ in self.kept_assertions())

    @property
    def pulled_in(self) -> int:
        return len(self.closure.region - self.closure.touched_elements)

    def kept_assertions(self) -> Iterator[Assertion]:
        closure, members = self.closure, self.graph.elements.members
        yield from kept_assertions(
            closure.add_set, closure.region, self.graph.elements, self.assertions_about
        )
        asserted = {
            (element, *name_literal(plain.expression))
            for element in closure.region
            for individual in members(element)
            for assertion in self.assertions_about(individual)
            for plain in normalise(assertion, self.base.roles).assertions
            if isinstance(assertion, ClassAssertion) and isinstance(plain, ClassAssertion)
        }
        for element, name, positive in sorted(closure.remedies - asserted):
            yield ClassAssertion(literal_expression(name, positive), element)

    @cached_property
    def _inserted_about(self) -> dict[str, list[Assertion]]:
        return by_individual(self.inserted_assertions)

    def assertions_about(self, individual: str) -> Sequence[Assertion]:
        found = (
            *self.base.by_individual.get(individual, ()),
            *self._inserted_about.get(individual, ()),
        )
        return sorted(found, key=repr)

    def all_assertions_about(self, individuals: Sequence[str]) -> dict[str, Sequence[Assertion]]:
        return {individual: self.assertions_about(individual) for individual in individuals}

    def merged_elements(self) -> Sequence[tuple[tuple[str, ...], ...]]:
        """See `shiq.abox_ops.conflicts.identities.MergingAddSet`."""
        found, before = [], self.base.graph.elements
        for _, members in self.graph.elements.classes():
            parts: dict[str, list[str]] = {}
            for member in members:
                parts.setdefault(before.find(member), []).append(member)
            if len(parts) > 1:
                found.append(tuple(tuple(sorted(part)) for part in parts.values()))
        return found

    def label(self, individual: str) -> Label:
        element = self.graph.elements.find(individual)
        found = self.closure.labels.get(element)
        return (
            self.base.labels.get(self.base.graph.elements.find(individual), EMPTY)
            if found is None
            else found
        )

    def labels(self, individuals: Sequence[str]) -> list[Label]:
        """See `shiq.abox_ops.engine.AddSet.labels`."""
        return [self.label(individual) for individual in individuals]

    def is_inserted(self, assertion: Assertion) -> bool:
        return assertion in self.inserted_assertions


@dataclass(frozen=True, eq=False)
class SpecKnowledgeBase:
    """(T, A) on dictionaries. See `shiq.abox_ops.engine.KnowledgeBase`."""

    source: TBox
    assertions: frozenset[Assertion]
    extra: tuple[SubClassOf | Class, ...]
    simplified_tbox: SimplifiedTBox
    roles: RoleBox = field(default_factory=RoleBox)
    _models: list[tuple[PatchTools, CertifiedModel]] = field(default_factory=list)

    @classmethod
    def build(cls, tbox: TBox, abox: Iterable[Assertion]) -> SpecKnowledgeBase:
        """Opens (``tbox``, ``abox``); nothing is assumed of it but that its TBox lies in SHIQ(D)."""
        assertions = frozenset(abox)
        roles = role_box(tbox.axioms)
        extra = collect_vocabulary(assertions, roles)
        return cls(tbox, assertions, extra, simplify(tbox, extra), roles)

    @classmethod
    def from_store(cls, store: StoredSnapshot, tbox: TBox | None = None) -> SpecKnowledgeBase:
        """Opens the snapshot of ``store``; reads all of it. ``tbox``: instead of its own, with
        the same clauses.
        """
        return cls.build(tbox or store.tbox, store.export())

    def __len__(self) -> int:
        return len(self.assertions)

    @cached_property
    def by_individual(self) -> dict[str, list[Assertion]]:
        return by_individual(self.assertions)

    @cached_property
    def _asserted_graph(self) -> ElementGraph:
        """The graph by assertions alone, with sameAs."""
        return self._graph(self.simplified_tbox.clauses)

    @cached_property
    def _told_graph(self) -> tuple[ElementGraph, dict[str, Label]]:
        graph = extend_graph(self._asserted_graph, self.simplified_tbox.clauses, ())
        space = LabelCalculus(self.simplified_tbox.clauses)
        return graph, told_labels(space, DataRestrictions(space), graph)

    @property
    def graph(self) -> ElementGraph:
        """The element graph with entailed equalities."""
        return self._told_graph[0]

    @cached_property
    def merge_classes(self) -> Partition[str]:
        """The merge classes of A under told; contradictory elements are in none."""
        space, labels = LabelCalculus(self.simplified_tbox.clauses), self.labels
        sound = [element for element, label in labels.items() if not clashes(label)]
        return Counts(
            space, ReadOnlyGraph(self.graph), labels.__getitem__, Needs(space), sound
        ).classes

    def _merge_classes_after(self, less: SpecKnowledgeBase) -> Partition[str]:
        """Merge classes of ``less``, which is this less deletions: those of this, since a model
        of A is one of ``less`` too, but where there is none, or the deletions take definitions
        with them (THEORY, "N in a store, and its renewal").
        """
        if (
            less is self
            or abox_of(self.assertions - less.assertions).complex
            or any(map(clashes, self.labels.values()))
        ):
            return less.merge_classes
        return regroup_after_deletion(
            self.merge_classes, {e: self.graph.elements.find(e) for e in less.graph.element_names()}
        )

    @property
    def labels(self) -> dict[str, Label]:
        """told of every element."""
        return self._told_graph[1]

    def _graph(self, tbox: ClausalTBox) -> ElementGraph:
        graph = ElementGraph(tbox)
        for assertion in self.assertions:
            for plain in normalise(assertion, self.roles).assertions:
                graph.add(plain)
            graph.individuals.update(individuals_of(assertion))
        return graph

    def add_set(self, insertions: ABox, deletions: ABox, criterion: str = "clausal") -> SpecAddSet:
        """See `shiq.abox_ops.engine.KnowledgeBase.add_set`."""
        if criterion not in CRITERIA:
            raise UsageError(
                f"unknown criterion {criterion!r}", f"the criteria are {', '.join(CRITERIA)}"
            )
        base, inserted = self._after_deletions(insertions, deletions)
        return (
            base._insert_clausal(inserted, self._merge_classes_after(base))
            if criterion == "clausal"
            else base._insert(inserted, criterion)
        )

    def find_absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]:
        """See `shiq.abox_ops.engine.KnowledgeBase.find_absent`."""
        found = [a for a in dict.fromkeys(deletions) if a not in self.assertions]
        return len(found), found[:most]

    @property
    def is_completed(self) -> bool:
        """See `shiq.abox_ops.engine.ModelKnowledgeBase`."""
        return bool(self._models)

    def decide_by_patch(
        self, insertions: ABox, deletions: ABox, inquiry: Inquiry
    ) -> tuple[SpecAddSet, Sequence[Answer]]:
        """See `shiq.abox_ops.engine.ModelKnowledgeBase.decide_by_patch`."""
        base, inserted = self._after_deletions(insertions, deletions)
        return self._with_model(base)._patch(inserted, inquiry)

    def _with_model(self, less: SpecKnowledgeBase) -> SpecKnowledgeBase:
        """``less``, which is this less deletions, with the clauses and the completion that are
        known of this, if there is one and the deletions take no definitions with them.
        """
        known = next((outside for _, outside in self._models if outside.is_guessed), None)
        if less is self or known is None or abox_of(self.assertions - less.assertions).complex:
            return less
        return replace(
            less, _models=[(self._models[0][0], known.after_deletion(less.graph, less.labels))]
        )

    def _after_deletions(
        self, insertions: ABox, deletions: ABox
    ) -> tuple[SpecKnowledgeBase, frozenset[Assertion]]:
        """(T, A less the deletions), and A⁺ without what is in it."""
        batch = frozenset(insertions)
        removed = (frozenset(deletions) - batch) & self.assertions
        base = self._remove(removed) if removed else self
        return base, batch - base.assertions

    def _remove(self, removed: frozenset[Assertion]) -> SpecKnowledgeBase:
        """This less the ``removed`` assertions. Names that nothing else mentions stay names of
        A. Where definitions may go with them, or A contradicts itself, all is made anew.
        """
        less = self.assertions - removed
        if abox_of(removed).complex or any(map(clashes, self.labels.values())):
            return SpecKnowledgeBase.build(self.source, less)
        return replace(self, assertions=less, _models=[])

    def _extend_tbox(
        self, batch: Sequence[Assertion]
    ) -> tuple[SimplifiedTBox, list[SubClassOf | Class]]:
        """The TBox in the vocabulary of A and of ``batch``, and what of it A does not have."""
        known = set(self.extra)
        added = [x for x in collect_vocabulary(batch, self.roles) if x not in known]
        return (
            simplify(self.source, (*self.extra, *added)) if added else self.simplified_tbox
        ), added

    def _certified_model(self, inquiry: Inquiry) -> tuple[PatchTools, CertifiedModel]:
        """N of (T, A), certified on first use; one that time did not suffice for is not kept."""
        if self._models:
            return self._models[0]
        space = LabelCalculus(self.simplified_tbox.clauses)
        means = PatchTools.build(space, DataRestrictions(space))
        told = CertifiedModel.told_model(space, self.graph, self.labels)
        nothing = CertifiedModel.told_model(space, ElementGraph(space.tbox), {})
        plain = [
            p
            for a in sorted(self.assertions, key=repr)
            for p in normalise(a, self.roles).assertions
        ]
        patch = Patch(means, nothing, extend_graph(self.graph, space.tbox, ()), plain)
        found = (means, certify_model(told, patch, inquiry.for_base))
        if not inquiry.is_over():
            self._models.append(found)
        return found

    def _patch(
        self, inserted: frozenset[Assertion], inquiry: Inquiry
    ) -> tuple[SpecAddSet, Sequence[Answer]]:
        patch = self._new_patch(inserted, *self._certified_model(inquiry))
        found = decide_patch(patch, inquiry)
        add_set = SpecAddSet(
            patch.tbox, self, inserted, patch.graph, patch.closure(), found.modules, found.widening
        )
        return add_set, found.answers

    def _insert_clausal(self, inserted: frozenset[Assertion], merged: Partition[str]) -> SpecAddSet:
        """A_add under `clausal`: one patch onto N = told, in which every element is plain.
        ``merged``: merge classes.
        """
        space = LabelCalculus(self.simplified_tbox.clauses)
        means = PatchTools.build(space, DataRestrictions(space))
        outside = CertifiedModel.told_model(space, self.graph, self.labels, merged)
        patch = self._new_patch(inserted, means, outside, all_plain=True)
        patch.close()
        return SpecAddSet(patch.space.tbox, self, inserted, patch.graph, patch.closure())

    def _new_patch(
        self,
        inserted: frozenset[Assertion],
        means: PatchTools,
        outside: CertifiedModel,
        *,
        all_plain: bool = False,
    ) -> Patch:
        """The patch of a batch onto N, over the clauses of T with the vocabulary that the batch
        brings.
        """
        batch = sorted(inserted, key=repr)
        simplified, added = self._extend_tbox(batch)
        if added:
            space = LabelCalculus(simplified.clauses)
            means = PatchTools.build(space, DataRestrictions(space))
            known = self.simplified_tbox.clauses.atom_ids
            absent = {
                name
                for x in added
                if (name := x.iri if isinstance(x, Class) else definition_name(x.sub)) not in known
            }
            outside = outside.with_vocabulary(
                space, sum(1 << space.tbox.atom_ids[name] for name in absent)
            )
        plain = [p for a in batch for p in normalise(a, self.roles).assertions]
        whole = extend_graph(self.graph, simplified.clauses, plain)
        whole.individuals |= {i for a in batch for i in individuals_of(a)}
        return Patch(means, outside, whole, plain, all_plain=all_plain)

    def _insert(self, inserted: frozenset[Assertion], criterion: str) -> SpecAddSet:
        batch = sorted(inserted, key=repr)
        simplified, _ = self._extend_tbox(batch)
        plain = [p for a in batch for p in normalise(a, self.roles).assertions]
        tbox = simplified.definition4_clauses if criterion == "definition7" else simplified.clauses
        old = self._graph(tbox)
        whole = extend_graph(old, tbox, plain)
        whole.individuals |= {i for a in batch for i in individuals_of(a)}
        if criterion == "definition7":
            closure = definition7(simplified, _theory(tbox), old, whole, plain)
        else:
            everyone = frozenset(whole.element_names())
            edges = [(role, a, b) for a in everyone for role, b in whole.neighbours(a)]
            negated = {p for table in whole.negative_data.values() for p, _ in table}
            features = tbox.data_properties | tbox.roles.data_subproperties_of_any(negated)
            closure = asserted_closure(
                _theory(tbox), whole, plain, everyone, edges, features, frozenset()
            )
        return SpecAddSet(tbox, self, inserted, whole, closure)


def by_individual(assertions: Iterable[Assertion]) -> dict[str, list[Assertion]]:
    """``assertions`` by each individual that they mention."""
    found: dict[str, list[Assertion]] = {}
    for assertion in assertions:
        for individual in set(individuals_of(assertion)):
            found.setdefault(individual, []).append(assertion)
    return found


def _theory(tbox: ClausalTBox) -> DataTheory:
    return DataTheory(tbox.definitions, tbox.roles)

"""Find the part of (T, B ∪ E) that decides questions about the individuals of E, for T and B in
SHIQ(D) (THEORY, "Entailment").

All individuals of E are started in I: each is asserted to be of a class of its own that no
clause mentions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from shiq import model as owl
from shiq.abox_ops.engine import Inquiry, NamedModule
from shiq.abox_ops.entailment.premises import EventAssertions, Premises
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.add_set import distinct_answers
from shiq.answers.verdict import Verdict
from shiq.datatypes import DataTheory, IllTyped
from shiq.deadline import is_past
from shiq.model.abox import ABox, abox_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import role_of
from shiq.model.walk import entities
from shiq.reasoner.protocol import Answer
from shiq.simplify.inclusion import PREFIX

#: Asserted of whom E mentions; its one member in B makes it a name that the clauses have.
_MENTIONED = owl.Class(PREFIX + "entailment:mentioned")
_NOBODY = PREFIX + "entailment:nobody"


_OF_PAIRS = (owl.SameIndividual, owl.DifferentIndividuals)
#: Answers that rest on more individuals are taken to rest on any.
MOST_TOUCHED = 1_000


@dataclass(frozen=True)
class AskedVocabulary:
    """Names and inclusions added to T so that every question is about a literal on a name.

    A class C that is not named gets F with C ⊑ F. R(a,b) is entailed iff D_R(a) and N_R(b)
    contradict, with D_R ⊑ ∀R.¬N_R.

    static: questions include individuals that E does not mention.
    """

    classes: tuple[owl.ClassExpression, ...] | None = ()
    roles: tuple[str, ...] = ()
    static: bool = False

    @cached_property
    def names(self) -> dict[owl.ClassExpression, str]:
        """The class name that stands for each class that is asked about."""
        fresh = (f"{PREFIX}entailment:class:{i}" for i in range(len(self.classes or ())))
        return {
            c: c.iri if isinstance(c, owl.Class) else name
            for c, name in zip(self.classes or (), fresh)
        }

    def names_of_ends(self, role: str) -> tuple[str, str]:
        """The class names D_R and N_R that mark the two ends of a pair which a question denies for
        ``role``.
        """
        number = self.roles.index(role)
        return f"{PREFIX}entailment:from:{number}", f"{PREFIX}entailment:to:{number}"

    @cached_property
    def axioms(self) -> tuple[owl.Axiom, ...]:
        """The inclusions to be added to T."""
        found: list[owl.Axiom] = [
            owl.SubClassOf(c, owl.Class(name))
            for c, name in self.names.items()
            if not isinstance(c, owl.Class)
        ]
        for role in self.roles:
            start, end = map(owl.Class, self.names_of_ends(role))
            nowhere = owl.ObjectAllValuesFrom(owl.ObjectProperty(role), owl.ObjectComplementOf(end))
            found.append(owl.SubClassOf(start, nowhere))
        return tuple(found)


@dataclass(frozen=True)
class EventModules:
    """The modules whose consequences answer the questions about one event.

    clauses: the clauses of the modules.
    modules: None if told literals alone contradict.
    nodes: (module, node) by individual, those of E included.
    touches: all individuals that the closure read; None if counting or equality may reach any.
    changes: those of them that are in I, have more told literals, or are mentioned by E.
    """

    clauses: ClausalTBox
    modules: Sequence[NamedModule] | None
    nodes: dict[str, tuple[int, int]]
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None


class ModuleFinder:
    """Search for the modules that answer about events, over ``premises`` extended by the vocabulary
    ``asked``. Classes that events bring are added on the way.
    """

    #: How often all of B is indexed again for new names; further ones cost time at each event that
    #: has them.
    MOST_TIMES = 8

    def __init__(self, premises: Premises, asked: AskedVocabulary) -> None:
        self._premises = premises
        self._axioms = tuple(dict.fromkeys((*premises.tbox.axioms, *asked.axioms)))
        self._assertions = (*premises.abox, owl.ClassAssertion(_MENTIONED, _NOBODY))
        self._index_count = 0
        self._theory = DataTheory()
        self._open_with_names(())

    def _open_with_names(self, names: Iterable[str]) -> None:
        """Open the knowledge base anew, with further class ``names`` in its vocabulary."""
        more = tuple(owl.ClassAssertion(owl.Class(name), _NOBODY) for name in sorted(names))
        self._assertions = (*self._assertions, *more)
        self.knowledge_base = LocalKnowledgeBase.build(
            owl.TBox(self._axioms), abox_of(self._assertions)
        )
        self._index_count += 1
        used = {entity.iri for axiom in self._axioms for entity in entities(axiom)}
        names_of_b = self.knowledge_base.base.names
        used.update(entity.iri for a in self._premises.abox.complex for entity in entities(a))
        self._roles = used.union(
            names_of_b.object_properties.values, names_of_b.data_properties.values
        )
        self._classes = used.union(names_of_b.classes.values)

    def is_consistent(self, reasoners: Reasoners, deadline: float | None) -> Answer:
        """Decide whether (T, B) is consistent."""
        base = self.knowledge_base
        if base.index.is_contradictory:
            return Answer(Verdict.INCONSISTENT)
        decide, is_over = partial(reasoners.decide, deadline=deadline), partial(is_past, deadline)
        found = base.certify(Inquiry(decide, is_over, verdict_only=True))
        answers = distinct_answers(found.outcome.answers)
        refuted = next((a for a in answers if a.verdict is Verdict.INCONSISTENT), None)
        undecided = next((a for a in answers if a.verdict is Verdict.UNDETERMINED), None)
        return refuted or undecided or Answer(Verdict.CONSISTENT)

    def find_modules(self, event: EventAssertions, individuals: Sequence[str]) -> EventModules:
        """Find the modules that contain ``individuals``, among them those of ``event``."""
        inside = self._relevant_assertions(event.in_shiq)
        new = {
            a.expression.iri
            for a in inside
            if isinstance(a, owl.ClassAssertion) and isinstance(a.expression, owl.Class)
        }
        new -= self._classes
        if new and self._index_count < self.MOST_TIMES:
            self._open_with_names(new)
        mentioned = (owl.ClassAssertion(_MENTIONED, i) for i in individuals)
        found = self.knowledge_base.add_set(abox_of([*inside, *mentioned]), ABox())
        if found.contradictory:
            return EventModules(found.tbox, None, {})
        modules = found.modules
        nodes = {
            individual: (number, node)
            for number, named in enumerate(modules)
            for node, members in enumerate(named.elements)
            for individual in members
        }
        touches, changes = self._touched_individuals(found, inside)
        return EventModules(
            found.tbox,
            modules,
            nodes,
            touches,
            None if changes is None else changes.union(individuals),
        )

    def _touched_individuals(
        self, found: LocalAddSet, inside: Sequence[owl.Assertion]
    ) -> tuple[frozenset[str] | None, frozenset[str] | None]:
        """Find the individuals that the search read, and those among them that the event may
        change.

        None with counting or equality, which may reach far from E.
        """
        graph = found.columns.graph
        if (
            not self._reaches_only_nearby
            or len(graph) > MOST_TOUCHED
            or any(isinstance(a, _OF_PAIRS) for a in inside)
        ):
            return None, None
        terms = found.union.terms_of(graph.key)
        return frozenset(terms), frozenset(
            term for term, is_active in zip(terms, found.columns.has_label[graph.rep]) if is_active
        )

    @cached_property
    def _reaches_only_nearby(self) -> bool:
        """Decide whether an event affects only individuals linked to it: T has no counting, and B
        no (in)equalities.
        """
        clauses = self.knowledge_base.index.simplified_tbox.clauses.clauses
        return not (
            any(clause.at_most for clause in clauses)
            or any(isinstance(a, _OF_PAIRS) for a in self._premises.abox)
        )

    def _relevant_assertions(self, assertions: Sequence[owl.Assertion]) -> Sequence[owl.Assertion]:
        """Drop ``assertions`` on properties unknown to T and B, unless negative assertions or class
        expressions of the event may use these.
        """
        if abox_of(assertions).complex:
            return assertions
        return [a for a in assertions if self._is_on_known_property(a)]

    def _is_on_known_property(self, assertion: owl.Assertion) -> bool:
        """Decide whether an assertion is on a property that T or B has."""
        match assertion:
            case owl.ObjectPropertyAssertion(property, _, _):
                return role_of(property).iri in self._roles
            case owl.DataPropertyAssertion(property, _, literal):
                return property.iri in self._roles or isinstance(
                    self._theory.value(literal), IllTyped
                )
        return True

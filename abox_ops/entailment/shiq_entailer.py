"""Entailment for (T, B) in SHIQ(D): find the module of the event's individuals, and conclude there
(THEORY, "Entailment").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.abox_ops.entailment.chains_as_clauses import ClausalReading
from shiq.abox_ops.entailment.event_modules import AskedVocabulary, ModuleFinder
from shiq.abox_ops.entailment.module_questions import (
    AskedRole,
    Contradiction,
    ModuleQuestions,
    OpenQuestion,
)
from shiq.abox_ops.entailment.premises import (
    INCONSISTENT,
    Entailment,
    EventAssertions,
    Premises,
    RolePair,
    Types,
    class_text,
    named_classes,
    undetermined_entailment,
)
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.reasoner.protocol import Answer
from shiq.support import bits


def unite_or_any(sets: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """Unite sets of individuals, where None stands for any individual: the result is None if one of
    the ``sets`` is.
    """
    known = [*sets]
    return None if None in known else frozenset[str]().union(*filter(None, known))


@dataclass(frozen=True)
class Conclusions:
    """Entailed classes and role pairs of some individuals.

    types, pairs: entailed classes and role pairs.
    model_types: their classes in one model.
    touches, changes: see `EventModules`.
    """

    types: dict[str, frozenset[str]]
    pairs: frozenset[RolePair]
    model_types: dict[str, frozenset[str]]
    touches: frozenset[str] | None = None
    changes: frozenset[str] | None = None


class ShiqEntailer:
    """Entailment for premises in SHIQ(D), or rewritten into it by a ``reading``."""

    def __init__(
        self,
        premises: Premises,
        asked: AskedVocabulary,
        reasoners: Reasoners,
        reading: ClausalReading | None = None,
    ) -> None:
        self._premises, self._asked, self._reasoners, self._reading = (
            premises,
            asked,
            reasoners,
            reading,
        )
        self._finder = (
            ModuleFinder(premises, asked)
            if reading is None
            else ModuleFinder(reading.premises, AskedVocabulary())
        )
        self._questions = ModuleQuestions(reasoners)
        self._base_answer: Answer | None = None
        self._clauses: ClausalTBox | None = None
        self._texts: dict[int, frozenset[str]] = {}
        #: What (T, B) by itself entails of individuals that were met.
        self._base_types: dict[str, frozenset[str]] = {}
        self._base_touches: dict[str, frozenset[str] | None] = {}

    def entailment(self, event: EventAssertions, deadline: float | None = None) -> Entailment:
        """Compute what (T, B ∪ ``event``) entails of the individuals of ``event``."""
        base = self.is_consistent(deadline)
        if base.verdict is not Verdict.CONSISTENT:
            return (
                INCONSISTENT
                if base.verdict is Verdict.INCONSISTENT
                else undetermined_entailment(base.reason)
            )
        try:
            names = self.asked_names(event)
            mentioned = frozenset(event.individuals)
            found = self.conclude_about(
                event, event.individuals, names, deadline, alone=not self._asked.static
            )
            types, pairs, changes = found.types, found.pairs, found.changes
            if not self._asked.static:
                return Entailment(
                    Verdict.CONSISTENT, types, pairs, touches=found.touches, changes=changes
                )
            others = sorted(types.keys() - mentioned)
            known, pairs_before = self._conclude_from_base(others, names, mentioned, deadline)
        except Contradiction:
            return INCONSISTENT
        except OpenQuestion as question:
            return undetermined_entailment(str(question))
        own = {i: types[i] for i in event.individuals}
        more = {i: types[i] - known[i] for i in others if types[i] - known[i]}
        within = frozenset(pair for pair in pairs if mentioned.issuperset(pair[1:]))
        touched = unite_or_any([found.touches, *(self._base_touches[i] for i in others)])
        beyond = pairs - within - pairs_before
        return Entailment(
            Verdict.CONSISTENT, own, within, more, beyond, touches=touched, changes=changes
        )

    def changed_individuals(self, assertions: Sequence[owl.Assertion]) -> frozenset[str] | None:
        """Find the individuals whose classes or links may change by adding ``assertions``; None:
        any.
        """
        event = self._premises.split_event(assertions)
        said = self._read_event(event)
        if event.beyond_shiq or event.problems or said is None:
            return None
        return self._finder.find_modules(said, event.individuals).changes

    def _read_event(self, event: EventAssertions) -> EventAssertions | None:
        """Rewrite ``event`` as the premises were; None if loops may arise that no clause expresses."""
        if self._reading is None:
            return event
        said = self._reading.read_event(event.in_shiq)
        return None if said is None else EventAssertions(said)

    def can_read(self, event: EventAssertions) -> bool:
        """Whether this entailer can decide ``event``."""
        return not event.beyond_shiq and self._read_event(event) is not None

    def is_consistent(self, deadline: float | None = None) -> Answer:
        """Decide whether (T, B) is consistent; undetermined answers are not remembered."""
        if self._base_answer is None or self._base_answer.verdict is Verdict.UNDETERMINED:
            self._base_answer = self._finder.is_consistent(self._reasoners, deadline)
        return self._base_answer

    def _conclude_from_base(
        self,
        individuals: Sequence[str],
        names: frozenset[str],
        mentioned: frozenset[str],
        deadline: float | None,
    ) -> tuple[Types, frozenset[RolePair]]:
        """Conclude what (T, B) entails of ``individuals`` of B, with the role pairs between them
        and those ``mentioned``.
        """
        new = [i for i in individuals if i not in self._base_types]
        asked = sorted({*individuals, *mentioned}) if self._asked.roles else new
        pairs: frozenset[RolePair] = frozenset()
        if asked:
            found = self.conclude_about(
                EventAssertions(), asked, names | self._premises.class_names, deadline, alone=True
            )
            pairs = found.pairs
            self._base_types.update((i, found.types[i]) for i in new)
            self._base_touches.update((i, found.touches) for i in new)
        return self._base_types, pairs

    def conclude_about(
        self,
        event: EventAssertions,
        individuals: Sequence[str],
        names: frozenset[str],
        deadline: float | None,
        *,
        alone: bool,
    ) -> Conclusions:
        """Conclude the classes and role pairs of ``individuals``, which include those of ``event``.
        Unless ``alone``, those of all elements in the region I too. Raises: Contradiction,
        OpenQuestion.
        """
        said = self._read_event(event)
        if said is None:
            raise OpenQuestion(
                "an individual may become its own neighbour in a way that clauses cannot express"
            )
        found = self._finder.find_modules(said, individuals)
        if found.modules is None:
            raise Contradiction
        ids = found.clauses.atom_ids
        mask = sum(1 << ids[name] for name in names if name in ids)
        places = {i: found.nodes[i] for i in individuals} if alone else found.nodes
        at: dict[tuple[int, int], list[str]] = {}
        for individual, place in places.items():
            at.setdefault(place, []).append(individual)
        ends = [(Role(iri), self._asked.names_of_ends(iri)) for iri in self._asked.roles]
        box, is_seen = found.clauses.roles, self._reading is None
        roles = [AskedRole(r, box.is_simple(r), is_seen, (ids[a], ids[b])) for r, (a, b) in ends]
        types: dict[str, frozenset[str]] = {}
        held: dict[str, frozenset[str]] = {}
        pairs: set[RolePair] = set()
        for number, named in enumerate(found.modules):
            # A module of which nothing is asked must be consistent too.
            wanted = {node: mask for module, node in at if module == number}
            answer = self._questions.answer(found.clauses, named.module, wanted, roles, deadline)
            for node, atoms in answer.types.items():
                called = self._class_texts(found.clauses, atoms)
                types.update((i, called) for i in at[number, node])
                model = self._class_texts(found.clauses, answer.model_types[node])
                held.update((i, model) for i in at[number, node])
            for role, first, second in answer.pairs:
                pairs.update(
                    (self._asked.roles[role], a, b)
                    for a in at[number, first]
                    for b in at[number, second]
                )
        return Conclusions(types, frozenset(pairs), held, found.touches, found.changes)

    def asked_names(self, event: EventAssertions) -> frozenset[str]:
        """The class names that questions about an event are about."""
        if self._asked.classes is not None:
            return frozenset(self._asked.names.values())
        plain = (a.expression for a in event.in_shiq if isinstance(a, owl.ClassAssertion))
        return self._premises.class_names | named_classes(plain)

    def _class_texts(self, clauses: ClausalTBox, atoms: int) -> frozenset[str]:
        """Texts of the classes that the bitmask ``atoms`` contains."""
        if self._clauses is not clauses:
            self._clauses, self._texts = clauses, {}
        if atoms not in self._texts:
            texts = {name: class_text(c) for c, name in self._asked.names.items()}
            found = (clauses.atoms[a] for a in bits(atoms))
            self._texts[atoms] = frozenset(
                texts.get(name, name) for name in found if isinstance(name, str)
            )
        return self._texts[atoms]

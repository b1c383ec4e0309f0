"""Entailment for all of OWL 2 DL: bounds by the part in SHIQ(D), then grouped denials for a full
reasoner (THEORY, "Entailment").

Nominals are read as names, N_o for {o} with N_o(o); what else SHIQ(D) cannot say is left out. So
what follows below follows; what a model below denies is denied to the full reasoner, all at
once, and what it refuses is halved until each is settled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product

from shiq import model as owl
from shiq.abox_ops.entailment.chains_as_clauses import ClausalReading
from shiq.abox_ops.entailment.event_modules import AskedVocabulary
from shiq.abox_ops.entailment.module_questions import Contradiction, OpenQuestion
from shiq.abox_ops.entailment.premises import (
    INCONSISTENT,
    Entailment,
    EventAssertions,
    Premises,
    RolePair,
    asked_classes,
    class_text,
    denial,
    mentioned_individuals,
    undetermined_entailment,
)
from shiq.abox_ops.entailment.reasoners import FullQuestion, Reasoners
from shiq.abox_ops.entailment.shiq_entailer import Conclusions, ShiqEntailer
from shiq.answers.verdict import Verdict
from shiq.model.walk import parts, rewrite_parts
from shiq.reasoner.protocol import Answer
from shiq.simplify.chains import can_eliminate
from shiq.simplify.inclusion import PREFIX

#: What is denied, or assumed, in one question.
Denial = tuple[owl.ClassAssertion, ...]


class FullEntailer:
    """Entailment for premises or events outside SHIQ(D): a lower bound by the part in SHIQ(D), then
    questions to a full reasoner.
    """

    def __init__(self, premises: Premises, asked: AskedVocabulary, reasoners: Reasoners) -> None:
        self._premises, self._asked, self._reasoners = premises, asked, reasoners
        #: Classes that followed of somebody by the full reasoner alone, with what follows of them
        #: below.
        self._expected: set[tuple[str, frozenset[str]]] = set()

    def entailment(self, event: EventAssertions, deadline: float | None = None) -> Entailment:
        """Compute what (T, B ∪ ``event``) entails of the individuals of ``event``."""
        within = event.individuals
        try:
            if not self._asked.static:
                found = self._conclude_about(event, within, event, deadline)
                return Entailment(Verdict.CONSISTENT, found.types, found.pairs)
            everyone = tuple(
                sorted({*within, *mentioned_individuals(self._premises.all_assertions)})
            )
            found = self._conclude_about(event, everyone, event, deadline)
            before = self._conclude_about(EventAssertions(), everyone, event, deadline)
        except Contradiction:
            return INCONSISTENT
        except OpenQuestion as question:
            return undetermined_entailment(str(question))
        inner = frozenset(within)
        pairs = frozenset(pair for pair in found.pairs if inner.issuperset(pair[1:]))
        more = {
            i: found.types[i] - before.types[i]
            for i in everyone
            if i not in inner and found.types[i] - before.types[i]
        }
        return Entailment(
            Verdict.CONSISTENT,
            {i: found.types[i] for i in within},
            pairs,
            more,
            found.pairs - pairs - before.pairs,
        )

    def is_consistent(self, deadline: float | None = None) -> Answer:
        """Decide whether (T, B) is consistent."""
        if self._premises.problems:
            return Answer(Verdict.UNDETERMINED, self._premises.problems[0])
        return self._full_question(
            EventAssertions(), asked_classes(self._premises, EventAssertions(), self._asked.classes)
        ).ask((), deadline)

    def _conclude_about(
        self,
        event: EventAssertions,
        individuals: Sequence[str],
        asked_event: EventAssertions,
        deadline: float | None,
    ) -> Conclusions:
        """Conclude the classes and role pairs of ``individuals``.

        ``asked_event``: the event whose classes are asked about.
        """
        classes = asked_classes(self._premises, asked_event, self._asked.classes)
        low = self._lower_bound(event, individuals, deadline)
        whole = _DenialTester(self._full_question(event, classes), deadline)
        below = {i: low.types.get(i, frozenset()) for i in individuals}
        denied: tuple[dict[Denial, tuple[str, str]], ...] = ({}, {}, {})
        types = {i: {*known} for i, known in below.items()}
        for i, c in product(individuals, classes):
            text = class_text(c)
            if text not in types[i]:
                name = owl.Class(self._asked.names.get(c, text))
                rank = (
                    2 if (text, below[i]) in self._expected else text in low.model_types.get(i, ())
                )
                denied[rank][(denial(name, i),)] = i, text
        # What one model denies is asked first, and together; what is expected to follow by itself,
        # lest halving looks for it.
        for group in (*map(tuple, denied[:2]), *((each,) for each in denied[2])):
            for found in whole.entailed_denials(group):
                i, text = next(asked[found] for asked in denied if found in asked)
                types[i].add(text)
                self._expected.add((text, below[i]))
        if not any(denied):
            whole.require_consistent()
        return Conclusions(
            {i: frozenset(found) for i, found in types.items()},
            self._entailed_pairs(low, individuals, whole),
            low.model_types,
        )

    def _entailed_pairs(
        self, low: Conclusions, individuals: Sequence[str], tester: _DenialTester
    ) -> frozenset[RolePair]:
        """Find the entailed role pairs among ``individuals``: those of the lower bound ``low``, and
        those whose denial contradicts ``tester``.
        """
        found = set(low.pairs)
        for role in self._asked.roles:
            start, end = map(owl.Class, self._asked.names_of_ends(role))
            # Denials of one role together deny each start each end: those with the same ends that
            # are open are asked at once, mostly all.
            groups: dict[tuple[str, ...], list[str]] = {}
            for a in individuals:
                ends = tuple(b for b in individuals if (role, a, b) not in low.pairs)
                groups.setdefault(ends, []).append(a)
            for ends, starts in groups.items():
                denied: dict[Denial, RolePair] = {
                    (owl.ClassAssertion(start, a), owl.ClassAssertion(end, b)): (role, a, b)
                    for a, b in product(starts, ends)
                }
                found.update(denied[each] for each in tester.entailed_denials(tuple(denied)))
        return frozenset(found)

    def _full_question(
        self, event: EventAssertions, classes: Iterable[owl.ClassExpression]
    ) -> FullQuestion:
        """Make the question about the complete ontology, with ``classes`` mentioned."""
        # So that assertions on these names are not taken for what nothing can contradict.
        heard = (owl.SubClassOf(c, owl.THING) for c in classes if isinstance(c, owl.Class))
        axioms = dict.fromkeys([*self._premises.all_axioms, *self._asked.axioms, *heard])
        return self._reasoners.prepare_question(
            tuple(axioms), (*self._premises.all_assertions, *event.in_shiq, *event.beyond_shiq)
        )

    # --- below ------------------------------------------------------------------------------------

    def _lower_bound(
        self, event: EventAssertions, individuals: Sequence[str], deadline: float | None
    ) -> Conclusions:
        """Conclude what the part in SHIQ(D) entails; there may be more. Raises: Contradiction if
        that part alone is contradictory.
        """
        said = _name_nominals((*event.in_shiq, *event.beyond_shiq))
        for premises, entailer in self._lower_entailers:
            inside = premises.split_event(
                (*said, *_nominal_assertions((*event.in_shiq, *event.beyond_shiq)))
            )
            below = EventAssertions(inside.in_shiq)
            if not entailer.can_read(below):
                continue
            base = entailer.is_consistent(deadline)
            if base.verdict is Verdict.INCONSISTENT:
                raise Contradiction
            try:
                if base.verdict is Verdict.CONSISTENT:
                    return entailer.conclude_about(
                        below, individuals, entailer.asked_names(below), deadline, alone=True
                    )
            except OpenQuestion:
                continue
        return Conclusions({}, frozenset(), {})

    @cached_property
    def _lower_entailers(self) -> list[tuple[Premises, ShiqEntailer]]:
        """Make the entailers for parts of the premises in SHIQ(D): first with chains and loops as
        clauses, if possible, then without them.
        """
        whole = (*self._premises.all_axioms, *self._premises.all_assertions)
        axioms = [rewrite_parts(axiom, _name_nominal) for axiom in self._premises.all_axioms]
        said = [*_name_nominals(self._premises.all_assertions), *_nominal_assertions(whole)]
        split = Premises.build(axioms, said)
        without = Premises(split.tbox, split.abox)
        complex = frozenset(without.abox.complex)
        readable = Premises.build(
            filter(can_eliminate, axioms), (a for a in without.abox if a not in complex)
        )
        reading = (
            ClausalReading.build(readable, self._asked, is_below=True) if readable.axioms else None
        )
        found = [] if reading is None else [self._make_entailer(readable, reading)]
        return [*found, self._make_entailer(without)]

    def _make_entailer(
        self, premises: Premises, reading: ClausalReading | None = None
    ) -> tuple[Premises, ShiqEntailer]:
        """Make the entailer for a part of the premises."""
        # A class that the part cannot say is for the full reasoner alone.
        classes = self._asked.classes
        said = None if classes is None else tuple(c for c in classes if premises.can_express(c))
        return premises, ShiqEntailer(
            premises, AskedVocabulary(said, self._asked.roles), self._reasoners, reading
        )


class _DenialTester:
    """Test which denials (of a class or a role pair) contradict one ontology, so that the denied
    statement is entailed.
    """

    def __init__(self, question: FullQuestion, deadline: float | None) -> None:
        self._question, self._deadline = question, deadline
        self._is_consistent = False

    def entailed_denials(self, denied: Sequence[Denial]) -> list[Denial]:
        """Select the denials in ``denied`` that contradict the ontology: what they deny is
        entailed. They are asked about together, then by halves.

        Raises: Contradiction, OpenQuestion.
        """
        if not denied or self._is_possible([a for each in denied for a in each]):
            return []
        self.require_consistent()
        if len(denied) == 1:
            return list(denied)
        half = len(denied) // 2
        return [*self.entailed_denials(denied[:half]), *self.entailed_denials(denied[half:])]

    def require_consistent(self) -> None:
        """Check that the ontology itself is consistent. Raises: Contradiction, OpenQuestion."""
        if not self._is_consistent and not self._is_possible(()):
            raise Contradiction

    def _is_possible(self, more: Sequence[owl.ClassAssertion]) -> bool:
        """Ask whether the ontology is consistent with ``more``."""
        answer = self._question.ask(more, self._deadline)
        if answer.verdict is Verdict.UNDETERMINED:
            raise OpenQuestion(answer.reason)
        # A part of what is consistent is.
        self._is_consistent = self._is_consistent or answer.verdict is Verdict.CONSISTENT
        return answer.verdict is Verdict.CONSISTENT


def _nominal_class(individual: str) -> owl.Class:
    """The class name N_o that stands for the nominal {o} of an individual."""
    return owl.Class(f"{PREFIX}entailment:is:{individual}")


def _name_nominal(part: object) -> object | None:
    """Replace ``part``, if it is a nominal, by class names; None for other parts."""
    match part:
        case owl.ObjectOneOf(individuals):
            names = tuple(map(_nominal_class, dict.fromkeys(individuals)))
            return names[0] if len(names) == 1 else owl.ObjectUnionOf(names)
        case owl.ObjectHasValue(property, individual):
            return owl.ObjectSomeValuesFrom(property, _nominal_class(individual))
    return None


def _name_nominals(assertions: Iterable[owl.Assertion]) -> list[owl.Assertion]:
    """Replace the nominals in class assertions by class names N_o."""
    return [
        rewrite_parts(a, _name_nominal) if isinstance(a, owl.ClassAssertion) else a
        for a in assertions
    ]


def _nominal_assertions(values: Iterable[object]) -> list[owl.ClassAssertion]:
    """Make the assertion that each nominal's individual o is an instance of its class name N_o."""
    found: dict[str, None] = {}
    for value in values:
        if isinstance(value, owl.ClassAssertion) and isinstance(value.expression, owl.Class):
            continue
        for part in parts(value):
            if isinstance(part, owl.ObjectOneOf):
                found.update(dict.fromkeys(part.individuals))
            elif isinstance(part, owl.ObjectHasValue):
                found[part.individual] = None
    return [owl.ClassAssertion(_nominal_class(individual), individual) for individual in found]

"""The obvious way: each class and each role of each individual is denied by itself, beside all
of T, B and E.

C(a) is entailed by (T, B ∪ E) iff (T, B ∪ E ∪ {¬C(a)}) is inconsistent, R(a,b) iff (T, B ∪ E ∪
{¬R(a,b)}) is. Slow and plain: the other ways are compared with this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from shiq import model as owl
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
from shiq.abox_ops.entailment.reasoners import Reasoners, decide_consistency
from shiq.answers.verdict import Verdict
from shiq.reasoner.protocol import Answer


def denied_entailment(
    premises: Premises,
    assertions: Iterable[owl.Assertion],
    classes: Sequence[owl.ClassExpression] | None = None,
    roles: Sequence[str] = (),
    *,
    static: bool = False,
    reasoners: Reasoners | None = None,
    deadline: float | None = None,
) -> Entailment:
    """See `shiq.abox_ops.entailment.compute_entailment`."""
    event = premises.split_event(assertions)
    asked = asked_classes(premises, event, classes)
    denials = _Denials(premises, event, reasoners or Reasoners(), deadline)
    found = denials.entailment(asked, roles)
    if not static or found.verdict is not Verdict.CONSISTENT:
        return found
    others = sorted(mentioned_individuals(premises.all_assertions) - {*event.individuals})
    before = _Denials(premises, EventAssertions(), denials.reasoners, deadline)
    try:
        types, known = denials.types(others, asked), before.types(others, asked)
        everyone = (*event.individuals, *others)
        pairs = denials.pairs(everyone, roles) - found.pairs - before.pairs(everyone, roles)
    except _Open as undecided:
        return undetermined_entailment(str(undecided))
    more = {i: names - known[i] for i, names in types.items() if names - known[i]}
    return Entailment(found.verdict, found.types, found.pairs, more, pairs)


def is_consistent(
    premises: Premises,
    event: EventAssertions,
    reasoners: Reasoners,
    deadline: float | None = None,
    denied: Sequence[owl.Assertion] = (),
) -> Answer:
    """Whether (T, B ∪ E) is, with what is ``denied``."""
    unread = (*premises.problems, *event.problems)
    if unread:
        return Answer(Verdict.UNDETERMINED, unread[0])
    more = premises.split_event(denied)
    inside = (*premises.abox, *event.in_shiq, *more.in_shiq)
    outside = (*premises.assertions, *event.beyond_shiq, *more.beyond_shiq)
    if more.problems:
        return Answer(Verdict.UNDETERMINED, more.problems[0])
    if premises.is_in_shiq and not outside:
        return decide_consistency(premises.tbox, inside, reasoners, deadline)
    return reasoners.decide_ontology(premises.all_axioms, (*inside, *outside), deadline)


class _Open(Exception):
    """A question without an answer."""


@dataclass(frozen=True)
class _Denials:
    premises: Premises
    event: EventAssertions
    reasoners: Reasoners
    deadline: float | None

    def entailment(
        self, classes: Sequence[owl.ClassExpression], roles: Sequence[str]
    ) -> Entailment:
        """The entailment of the individuals of E."""
        answer = is_consistent(self.premises, self.event, self.reasoners, self.deadline)
        if answer.verdict is not Verdict.CONSISTENT:
            return (
                INCONSISTENT
                if answer.verdict is Verdict.INCONSISTENT
                else undetermined_entailment(answer.reason)
            )
        individuals = self.event.individuals
        try:
            return Entailment(
                answer.verdict, self.types(individuals, classes), self.pairs(individuals, roles)
            )
        except _Open as undecided:
            return undetermined_entailment(str(undecided))

    def types(
        self, individuals: Sequence[str], classes: Sequence[owl.ClassExpression]
    ) -> dict[str, frozenset[str]]:
        return {
            a: frozenset(class_text(c) for c in classes if self._follows(denial(c, a)))
            for a in individuals
        }

    def pairs(self, individuals: Sequence[str], roles: Sequence[str]) -> frozenset[RolePair]:
        return frozenset(
            (role, a, b)
            for role, a, b in product(roles, individuals, individuals)
            if self._follows(owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(role), a, b))
        )

    def _follows(self, denied: owl.Assertion) -> bool:
        answer = is_consistent(self.premises, self.event, self.reasoners, self.deadline, (denied,))
        if answer.verdict is Verdict.UNDETERMINED:
            raise _Open(answer.reason)
        return answer.verdict is Verdict.INCONSISTENT

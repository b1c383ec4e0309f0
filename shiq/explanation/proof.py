"""Prove the contradiction of a conflict from its assertions and axioms, step by step.

Forward chaining with the rules of OWL 2 RL, extended by witnesses for ∃ and ≥, and by cases for ⊔
and ≤. Conflicts that need more (data ranges without values, large conflicts) get no proof here;
they are right all the same.

Source: OWL 2 Web Ontology Language Profiles, section 4.3, tables 4 to 9, whose rule ids the steps
    carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.explanation.proof_rules import DerivedFacts, consequences
from shiq.explanation.proof_steps import Clash, Fact, Proof, Step

#: More facts than this are not derived, and no deeper cases or witnesses looked at.
MOST_FACTS = 600
MOST_ROUNDS = 40
DEEPEST = 3


def prove(
    assertions: Sequence[owl.Assertion],
    axioms: Sequence[owl.Axiom],
    depths: Sequence[int] = (0, 1, DEEPEST),
) -> Proof | None:
    """Search for a short proof that ``assertions`` and ``axioms`` contradict each other; None if
    none is found.
    """
    given = tuple(dict.fromkeys(turn_inverse(a) for a in assertions))
    if len(given) > MOST_FACTS // 4:
        return None
    theory = DataTheory(
        {a.datatype.iri: a.range for a in axioms if isinstance(a, owl.DatatypeDefinition)}
    )
    for depth in depths:
        facts = DerivedFacts(axioms, theory, depth)
        try:
            found = _chain_forward(facts, {a: Step(a, "") for a in given})
        except _LimitReached:
            return None  # deeper, there is even more to derive
        if found is not None:
            return found
    return None


def turn_inverse(assertion: owl.Assertion) -> owl.Assertion:
    """Rewrite an assertion on an inverse property to one on the property itself."""
    match assertion:
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, other):
            return owl.ObjectPropertyAssertion(property, other, subject)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), subject, other):
            return owl.NegativeObjectPropertyAssertion(property, other, subject)
    return assertion


class _LimitReached(Exception):
    """Signal: the proof search has derived too many facts, or taken too many rounds."""


def _chain_forward(
    facts: DerivedFacts, begun: dict[Fact, Step], assumed: owl.Assertion | None = None
) -> Proof | None:
    """Derive facts, round by round, until they contradict each other. Return the proof; None if
    nothing more follows.

    begun: the facts to start from, each with its step. assumed: the case of a disjunction that is
    assumed.
    """
    facts.steps = dict(begun)
    for _ in range(MOST_ROUNDS):
        facts.rebuild_indexes()
        new: dict[Fact, Step] = {}
        clashes: list[Step] = []
        for step in consequences(facts):
            if isinstance(step.fact, Clash):
                clashes.append(step)
            elif step.fact not in facts.steps:
                new.setdefault(step.fact, step)
        if clashes:
            proofs = (_proof_of(facts, step, assumed) for step in clashes)
            return min(proofs, key=lambda p: len(p.steps))
        if not new:
            return _prove_by_cases(facts, assumed) if facts.depth else None
        facts.steps.update(new)
        if len(facts.steps) > MOST_FACTS:
            break
    raise _LimitReached


def _proof_of(facts: DerivedFacts, clash: Step, assumed: owl.Assertion | None) -> Proof:
    """Collect the proof steps that ``clash`` depends on, premises first."""
    order: dict[Fact, None] = {}
    stack: list[tuple[Fact, bool]] = [(premise, False) for premise in reversed(clash.premises)]
    while stack:
        fact, ready = stack.pop()
        if ready:
            order[fact] = None
        elif fact not in order:
            stack.append((fact, True))
            stack.extend((premise, False) for premise in reversed(facts.steps[fact].premises))
    steps = tuple(facts.steps[fact] for fact in order)
    given = {
        step.fact: None
        for step in steps
        if not (step.premises or step.axiom or step.rule or isinstance(step.fact, Clash))
    }
    for case in clash.cases:
        given.update(dict.fromkeys(case.assertions))
    return Proof((*steps, clash), tuple(given), assumed)


def _prove_by_cases(facts: DerivedFacts, assumed: owl.Assertion | None) -> Proof | None:
    """Prove a contradiction by refuting each case of one disjunction; None if no disjunction allows
    that.
    """
    for fact in list(facts.steps):
        cases = _undecided_disjuncts(facts, fact)
        if len(cases) < 2:
            continue
        proofs: list[Proof] = []
        for case in cases:
            inner = DerivedFacts(facts.axioms, facts.theory, facts.depth - 1)
            inner.witnesses, inner.numbers = dict(facts.witnesses), dict(facts.numbers)
            try:
                found = _chain_forward(inner, {**facts.steps, case: Step(case, "assumed")}, case)
            except _LimitReached:
                break
            if found is None:
                break
            if case not in {step.fact for step in found.steps}:
                return found  # impossible whatever the case
            proofs.append(found)
        else:
            clash = Step(Clash((fact,)), "", (fact,), None, tuple(proofs))
            return _proof_of(facts, clash, assumed)
    return None


def _undecided_disjuncts(facts: DerivedFacts, fact: Fact) -> list[owl.Assertion]:
    """List the disjuncts that a fact leaves open; empty if one is known to hold, or the fact is no
    disjunction.
    """
    match fact:
        case owl.ClassAssertion(owl.ObjectUnionOf(operands), x):
            settled = any(facts.premises_for(x, operand) is not None for operand in operands)
            return [] if settled else [owl.ClassAssertion(operand, x) for operand in operands]
        case owl.ClassAssertion(owl.ObjectMaxCardinality(n, property, filler), x) if n > 1:
            others = [
                o
                for _, _, o in facts.role_assertions(property, x)
                if facts.premises_for(o, filler) is not None
            ]
            for several in combinations(dict.fromkeys(others), n + 1):
                pairs = [
                    (a, b) for a, b in combinations(several, 2) if facts.inequality(a, b) is None
                ]
                return [owl.SameIndividual(a, b) for a, b in pairs]
    return []

"""Steps of a proof, and the facts that they are about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from shiq import model as owl
from shiq.reasoner.structure import INDIVIDUAL_FIELDS

#: Individuals that nobody named begin with this.
WITNESS = "_:witness"


@dataclass(frozen=True, slots=True)
class Clash:
    """The conclusion of a proof of inconsistency: ``facts`` contradict each other."""

    facts: tuple[Any, ...]


Fact: TypeAlias = owl.Assertion | Clash


@dataclass(frozen=True, slots=True)
class Step:
    """One inference of a proof: a derived fact, the rule, its premises and its axiom.

    fact: the conclusion
    rule: of OWL 2 RL; "" if OWL 2 RL has no such rule
    premises: facts it uses
    axiom: the axiom it uses, if any
    cases: for a disjunction, the proof that each of its cases is impossible
    """

    fact: Fact
    rule: str
    premises: tuple[Fact, ...] = ()
    axiom: owl.Axiom | None = None
    cases: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof that assertions and axioms contradict each other.

    steps: premises before conclusions; the last one derives a `Clash`
    assertions: those the proof starts from, in their order
    assumption: the case that is assumed, in a proof by cases
    """

    steps: tuple[Step, ...]
    assertions: tuple[owl.Assertion, ...]
    assumption: owl.Assertion | None = None

    @property
    def last(self) -> Step:
        """Return the step that derives the contradiction."""
        return self.steps[-1]

    @property
    def axioms(self) -> tuple[owl.Axiom, ...]:
        """Return the axioms that the proof uses, each once."""
        found: dict[owl.Axiom, None] = {}
        for step in self.steps:
            if step.axiom is not None:
                found[step.axiom] = None
            for case in step.cases:
                found.update(dict.fromkeys(case.axioms))
        return tuple(found)


def inverse_of(property: Any) -> Any:
    """Return the inverse of a property, without a double inverse."""
    return (
        property.property
        if isinstance(property, owl.ObjectInverseOf)
        else owl.ObjectInverseOf(property)
    )


def role_assertion(property: Any, subject: str, other: str) -> owl.ObjectPropertyAssertion:
    """Make a role assertion; on an inverse property, subject and object change places."""
    if isinstance(property, owl.ObjectInverseOf):
        return owl.ObjectPropertyAssertion(property.property, other, subject)
    return owl.ObjectPropertyAssertion(property, subject, other)


def replace_individual(fact: owl.Assertion, this: str, that: str) -> owl.Assertion:
    """Replace the individual ``this`` by ``that`` in ``fact``."""
    names = INDIVIDUAL_FIELDS[type(fact)]
    changed: dict[str, Any] = {name: that for name in names if getattr(fact, name) == this}
    return replace(fact, **changed)


def inclusions_of(
    axiom: owl.Axiom,
) -> list[tuple[owl.ClassExpression, owl.ClassExpression, owl.Axiom]]:
    """Split a class axiom into inclusions: (sub, sup, the axiom)."""
    match axiom:
        case owl.SubClassOf(sub, sup):
            return [(sub, sup, axiom)]
        case owl.EquivalentClasses(members):
            return [(a, b, axiom) for a in members for b in members if a != b]
        case owl.DisjointUnion(cls, members):
            union = owl.ObjectUnionOf(members) if len(set(members)) > 1 else members[0]
            return [(cls, union, axiom), *((member, cls, axiom) for member in members)]
    return []


def inclusion_rule(axiom: owl.Axiom) -> str:
    """Return the name of the OWL 2 RL rule that applies a class inclusion."""
    return "cax-sco" if isinstance(axiom, owl.SubClassOf) else "cax-eqc1"


def max_rule(n: int, unqualified: bool) -> str:
    """Return the name of the rule that applies ≤n; OWL 2 RL has none for n > 1."""
    if n > 1:
        return ""
    if unqualified:
        return "cls-maxc1" if n == 0 else "cls-maxc2"
    return "cls-maxqc1" if n == 0 else "cls-maxqc3"


def is_positive(expression: owl.ClassExpression) -> bool:
    """Decide whether `DerivedFacts.premises_for` finds every way to be a member of ``expression``."""
    match expression:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            return all(map(is_positive, operands))
        case owl.ObjectSomeValuesFrom(_, filler) | owl.ObjectMinCardinality(_, _, filler):
            return is_positive(filler)
        case (
            owl.ObjectComplementOf()
            | owl.ObjectAllValuesFrom()
            | owl.ObjectMaxCardinality()
            | owl.ObjectExactCardinality()
            | owl.DataAllValuesFrom()
            | owl.DataMaxCardinality()
            | owl.DataExactCardinality()
        ):
            return False
    return True


def negation(expression: owl.ClassExpression) -> owl.ClassExpression:
    """Return ¬``expression``, with the negation pushed in by one level."""
    match expression:
        case owl.ObjectComplementOf(operand):
            return operand
        case owl.ObjectIntersectionOf(operands):
            return owl.ObjectUnionOf(tuple(map(negation, operands)))
        case owl.ObjectUnionOf(operands):
            return owl.ObjectIntersectionOf(tuple(map(negation, operands)))
        case owl.ObjectSomeValuesFrom(property, filler):
            return owl.ObjectAllValuesFrom(property, negation(filler))
        case owl.ObjectAllValuesFrom(property, filler):
            return owl.ObjectSomeValuesFrom(property, negation(filler))
        case owl.ObjectMinCardinality(n, property, filler) if n > 0:
            return owl.ObjectMaxCardinality(n - 1, property, filler)
        case owl.ObjectMaxCardinality(n, property, filler):
            return owl.ObjectMinCardinality(n + 1, property, filler)
        case owl.DataSomeValuesFrom(data_property, range):
            return owl.DataAllValuesFrom(data_property, owl.DataComplementOf(range))
        case owl.DataAllValuesFrom(data_property, range):
            return owl.DataSomeValuesFrom(data_property, owl.DataComplementOf(range))
    return owl.ObjectComplementOf(expression)

"""Few words for what is wrong in a proof, for a row of a table."""

from __future__ import annotations

from shiq.explanation.labels import Labels
from shiq.explanation.phrases import a, property_name, range_noun
from shiq.explanation.proof import Clash, Proof
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DataAllValuesFrom,
    DataPropertyAssertion,
    DataPropertyRange,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectPropertyAssertion,
)


def title(proof: Proof | None, core: Assertion | None, labels: Labels) -> str:
    """What is impossible, named after ``core``, the fact that it all comes from, if there is one."""
    if proof is None or not isinstance(proof.last.fact, Clash):
        return "contradiction"
    what = _what(proof, labels)
    match core:
        case ClassAssertion(Class(iri), _):
            return f"{labels.of(iri)}: {what}"
        case ClassAssertion():
            return what
    return what


def _what(proof: Proof, labels: Labels) -> str:
    last = proof.last
    assert isinstance(last.fact, Clash)
    names = list(
        dict.fromkeys(
            f"“{property_name(f.property, labels)}”"
            for f in last.fact.about
            if isinstance(
                f,
                ObjectPropertyAssertion | DataPropertyAssertion | NegativeObjectPropertyAssertion | NegativeDataPropertyAssertion,
            )
        )
    )
    if not names and last.premises:
        by_fact = {step.fact: step for step in proof.steps}
        made = by_fact.get(last.premises[0])
        of = [p for p in (made.premises if made else ()) if isinstance(p, ObjectPropertyAssertion)]
        names = [f"“{property_name(of[0].property, labels)}”"] if of else []
    name = " and ".join(names)
    classes = [f.expression for f in last.fact.about if isinstance(f, ClassAssertion)]
    named = [labels.of(c.iri) for c in classes if isinstance(c, Class)]
    match last.rule:
        case "cax-dw" | "cax-adc":
            return f"both {named[0]} and {named[1]}" if len(named) == 2 else "two classes that exclude each other"
        case "cls-com":
            return f"must not be {a(named[0])}, but is" if named else "a class and its opposite"
        case "cls-nothing2":
            return "cannot exist"
        case "dt-not-type":
            match last.axiom, *classes:
                case (DataPropertyRange(_, range), *_) | (None, DataAllValuesFrom(_, range)):
                    return f"{name}: not {range_noun(range, labels)}"
            return f"{name}: not a valid value"
        case "prp-irp":
            return f"{name} to itself"
        case "prp-asyp":
            return f"{name} in both directions"
        case "prp-pdw" | "prp-adp":
            return f"{name} at once"
        case "prp-npa1" | "prp-npa2":
            return f"{name}, though it is denied"
        case "eq-diff1":
            return "the same and different"
        case "prp-fp":
            return f"two values for {name}" if name else "two values where only one may be"
        case "prp-ifp":
            return f"one {name} from two things"
    if last.cases:
        return "no case is possible"
    return f"too many {name}" if name else "contradiction"

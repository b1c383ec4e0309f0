"""People who know each other, and companies that are none: a small ontology and as much data as
is asked for.
"""

from __future__ import annotations

from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
    TBox,
)

PERSON, COMPANY, KNOWS = (
    Class("urn:t#Person"),
    Class("urn:t#Company"),
    ObjectProperty("urn:t#knows"),
)
TBOX = TBox((DisjointClasses((PERSON, COMPANY)),))
#: The same, with its terms declared.
SIGNED = TBox(TBOX.axioms, Signature(frozenset((PERSON.iri, COMPANY.iri)), frozenset((KNOWS.iri,))))


def people(first: int, last: int) -> list[Assertion]:
    return [
        assertion
        for i in range(first, last)
        for assertion in (
            ClassAssertion(PERSON, f"urn:t#p{i}"),
            ObjectPropertyAssertion(KNOWS, f"urn:t#p{i}", f"urn:t#p{i * 7 % last}"),
        )
    ]

"""What is entailed of the individuals of an event."""

from __future__ import annotations

import time

import pytest

from abox_ops.entailment import Entailer, Premises, entailed
from abox_ops.entailment.reasoners import Reasoners
from shiq import model as owl
from shiq.verdict import Verdict
from tests.building import EVENTS, building

A, B, C = (owl.Class(f"urn:{name}") for name in "ABC")
R, S = (owl.ObjectProperty(f"urn:{name}") for name in "rs")
X, Y, Z, BLANK = "urn:x", "urn:y", "urn:z", "_:b"


@pytest.mark.parametrize("number", range(len(EVENTS)))
def test_the_building(number: int) -> None:
    event, expected = EVENTS[number]
    found = entailed(Premises.of(*building()), event)
    first = event[0]
    assert isinstance(first, owl.ClassAssertion)
    assert found.verdict is Verdict.CONSISTENT
    assert found.types[first.individual] == {f"urn:b:{name}" for name in {*expected, "Observation"}}
    if number in (0, 10):
        assert found.types[["urn:b:sensor1", "urn:b:x"][number > 0]] == {"urn:b:CO2Sensor", "urn:b:Sensor"}


def test_an_alarm_in_a_room_that_the_event_does_not_mention() -> None:
    found = entailed(Premises.of(*building()), EVENTS[0][0], static=True)
    assert found.static_types == {"urn:b:room1": {"urn:b:AlarmRoom"}}


def test_an_inconsistent_event_has_no_types() -> None:
    base = Premises.of([owl.DisjointClasses((A, B))], [owl.ClassAssertion(A, X)])
    found = entailed(base, [owl.ClassAssertion(B, X)])
    assert found.verdict is Verdict.INCONSISTENT
    assert not found.types


def test_an_inconsistent_base_says_so() -> None:
    base = Premises.of([owl.DisjointClasses((A, B))], [owl.ClassAssertion(A, X), owl.ClassAssertion(B, X)])
    with Entailer(base) as entailer:
        assert entailer.is_consistent().verdict is Verdict.INCONSISTENT
        assert entailer.of_base().verdict is Verdict.INCONSISTENT
        assert entailer.entailed([owl.ClassAssertion(A, Y)]).verdict is Verdict.INCONSISTENT


def test_what_nobody_may_be_asked_is_undetermined() -> None:
    base = Premises.of([owl.SubClassOf(A, owl.ObjectUnionOf((owl.ObjectOneOf((X, Y)), owl.ObjectOneOf((Z,)))))])
    with Entailer(base, reasoners=Reasoners("own")) as entailer:
        found = entailer.entailed([owl.ClassAssertion(A, BLANK)])
    assert found.verdict is Verdict.UNDETERMINED
    assert "outside SHIQ(D)" in found.reason


def test_after_the_deadline_it_is_undetermined() -> None:
    base = Premises.of([owl.SubClassOf(A, owl.ObjectUnionOf((B, C)))])
    with Entailer(base) as entailer:
        found = entailer.entailed([owl.ClassAssertion(A, X)], time.monotonic() - 1)
        assert (found.verdict, found.reason) == (Verdict.UNDETERMINED, "no answer within the time limit")
        assert entailer.entailed([owl.ClassAssertion(A, X)]).verdict is Verdict.CONSISTENT


def test_what_is_malformed_is_undetermined() -> None:
    broken = [owl.TransitiveObjectProperty(R), owl.SubClassOf(A, owl.ObjectMaxCardinality(1, R))]
    found = entailed(Premises.of(broken), [owl.ClassAssertion(A, X)])
    assert found.verdict is Verdict.UNDETERMINED
    assert "simple" in found.reason


def test_blank_nodes_roles_and_class_expressions() -> None:
    base = Premises.of(
        [owl.SubObjectPropertyOf(R, S), owl.SymmetricObjectProperty(S), owl.TransitiveObjectProperty(S), owl.SubClassOf(A, B)],
        [owl.ObjectPropertyAssertion(R, Y, Z)],
    )
    some = owl.ObjectSomeValuesFrom(S, B)
    event = [owl.ObjectPropertyAssertion(R, BLANK, Y), owl.ClassAssertion(A, Y)]
    found = entailed(base, event, [B, some, owl.THING], [R.iri, S.iri], static=True)
    assert found.types[BLANK] == {"ObjectSomeValuesFrom(<urn:s> <urn:B>)"}
    assert found.types[Y] == {"urn:B", "ObjectSomeValuesFrom(<urn:s> <urn:B>)"}
    assert found.pairs == {(R.iri, BLANK, Y)} | {(S.iri, a, b) for a in (BLANK, Y) for b in (BLANK, Y)}
    assert found.static_types == {Z: {"ObjectSomeValuesFrom(<urn:s> <urn:B>)"}}
    assert found.static_pairs == {(S.iri, BLANK, Z), (S.iri, Z, BLANK)}


def test_of_base_tells_of_everybody() -> None:
    with Entailer(Premises.of([owl.SubClassOf(A, B)], [owl.ClassAssertion(A, X), owl.ClassAssertion(C, Y)])) as entailer:
        assert entailer.of_base().types == {X: {A.iri, B.iri}, Y: {C.iri}}

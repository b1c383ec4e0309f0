"""What is entailed of the individuals of an event."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from shiq import model as owl
from shiq.abox_ops.entailment import Entailer, Premises, compute_entailment
from shiq.abox_ops.entailment.event_modules import AskedVocabulary, EventModules, ModuleFinder
from shiq.abox_ops.entailment.full_entailer import Denial, _DenialTester
from shiq.abox_ops.entailment.horn_entailer import HornEntailer
from shiq.abox_ops.entailment.horn_labels import HornLabels
from shiq.abox_ops.entailment.premises import EventAssertions
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.reasoner.hypertableau import questions
from shiq.reasoner.hypertableau.state import TableauState
from tests.building import EVENTS, building
from tests.horn_random import CLASSES, ROLES, expression, random_horn
from tests.outside_random import random_owl
from tests.spec.entailment import denied_entailment
from tests.tools.random_ontologies.kb import random_kb

A, B, C = (owl.Class(f"urn:{name}") for name in "ABC")
R, S = (owl.ObjectProperty(f"urn:{name}") for name in "rs")
X, Y, Z, BLANK = "urn:x", "urn:y", "urn:z", "_:b"


@pytest.mark.parametrize("number", range(len(EVENTS)))
def test_the_building(number: int) -> None:
    event, expected = EVENTS[number]
    found = compute_entailment(Premises.build(*building()), event)
    first = event[0]
    assert isinstance(first, owl.ClassAssertion)
    assert found.verdict is Verdict.CONSISTENT
    assert found.types[first.individual] == {f"urn:b:{name}" for name in {*expected, "Observation"}}
    if number in (0, 10):
        assert found.types[["urn:b:sensor1", "urn:b:x"][number > 0]] == {
            "urn:b:CO2Sensor",
            "urn:b:Sensor",
        }


def test_an_alarm_in_a_room_that_the_event_does_not_mention() -> None:
    found = compute_entailment(Premises.build(*building()), EVENTS[0][0], static=True)
    assert found.static_types == {"urn:b:room1": {"urn:b:AlarmRoom"}}


def test_an_inconsistent_event_has_no_types() -> None:
    base = Premises.build([owl.DisjointClasses((A, B))], [owl.ClassAssertion(A, X)])
    found = compute_entailment(base, [owl.ClassAssertion(B, X)])
    assert found.verdict is Verdict.INCONSISTENT
    assert not found.types


def test_an_inconsistent_base_says_so() -> None:
    base = Premises.build(
        [owl.DisjointClasses((A, B))], [owl.ClassAssertion(A, X), owl.ClassAssertion(B, X)]
    )
    with Entailer(base) as entailer:
        assert entailer.is_consistent().verdict is Verdict.INCONSISTENT
        assert entailer.base_entailment().verdict is Verdict.INCONSISTENT
        assert entailer.entailment([owl.ClassAssertion(A, Y)]).verdict is Verdict.INCONSISTENT


def test_what_nobody_may_be_asked_is_undetermined() -> None:
    base = Premises.build(
        [owl.SubClassOf(A, owl.ObjectUnionOf((owl.ObjectOneOf((X, Y)), owl.ObjectOneOf((Z,)))))]
    )
    with Entailer(base, reasoners=Reasoners("own")) as entailer:
        found = entailer.entailment([owl.ClassAssertion(A, BLANK)])
    assert found.verdict is Verdict.UNDETERMINED
    assert "outside SHIQ(D)" in found.reason


def test_after_the_deadline_it_is_undetermined() -> None:
    base = Premises.build([owl.SubClassOf(A, owl.ObjectUnionOf((B, C)))])
    with Entailer(base) as entailer:
        found = entailer.entailment([owl.ClassAssertion(A, X)], time.monotonic() - 1)
        assert (found.verdict, found.reason) == (
            Verdict.UNDETERMINED,
            "no answer within the time limit",
        )
        assert entailer.entailment([owl.ClassAssertion(A, X)]).verdict is Verdict.CONSISTENT


def test_what_is_malformed_is_undetermined() -> None:
    broken = [owl.TransitiveObjectProperty(R), owl.SubClassOf(A, owl.ObjectMaxCardinality(1, R))]
    found = compute_entailment(Premises.build(broken), [owl.ClassAssertion(A, X)])
    assert found.verdict is Verdict.UNDETERMINED
    assert "simple" in found.reason


def test_blank_nodes_roles_and_class_expressions() -> None:
    base = Premises.build(
        [
            owl.SubObjectPropertyOf(R, S),
            owl.SymmetricObjectProperty(S),
            owl.TransitiveObjectProperty(S),
            owl.SubClassOf(A, B),
        ],
        [owl.ObjectPropertyAssertion(R, Y, Z)],
    )
    some = owl.ObjectSomeValuesFrom(S, B)
    event = [owl.ObjectPropertyAssertion(R, BLANK, Y), owl.ClassAssertion(A, Y)]
    found = compute_entailment(base, event, [B, some, owl.THING], [R.iri, S.iri], static=True)
    assert found.types[BLANK] == {"ObjectSomeValuesFrom(<urn:s> <urn:B>)"}
    assert found.types[Y] == {"urn:B", "ObjectSomeValuesFrom(<urn:s> <urn:B>)"}
    assert found.pairs == {(R.iri, BLANK, Y)} | {
        (S.iri, a, b) for a in (BLANK, Y) for b in (BLANK, Y)
    }
    assert found.static_types == {Z: {"ObjectSomeValuesFrom(<urn:s> <urn:B>)"}}
    assert found.static_pairs == {(S.iri, BLANK, Z), (S.iri, Z, BLANK)}


def test_an_expression_of_an_event_sees_links_that_the_ontology_does_not() -> None:
    a, b, r = owl.Class("urn:A"), owl.Class("urn:B"), owl.ObjectProperty("urn:r")
    only = owl.ClassAssertion(owl.ObjectAllValuesFrom(r, a), "urn:x")
    event = [only, owl.ObjectPropertyAssertion(r, "urn:x", "urn:y")]
    for axiom in (owl.SubClassOf(a, b), owl.SubClassOf(a, owl.ObjectUnionOf((b, owl.NOTHING)))):
        assert compute_entailment(Premises.build([axiom]), event).types["urn:y"] == {
            "urn:A",
            "urn:B",
        }


def test_of_base_tells_of_everybody() -> None:
    with Entailer(
        Premises.build([owl.SubClassOf(A, B)], [owl.ClassAssertion(A, X), owl.ClassAssertion(C, Y)])
    ) as entailer:
        assert entailer.base_entailment().types == {X: {A.iri, B.iri}, Y: {C.iri}}


def _random_premises(
    seed: int,
) -> tuple[Premises, list[owl.Assertion], list[owl.ClassExpression] | None, list[str]]:
    """(T, B), an event, and what is asked: half the time all names, else some and a class
    expression; sometimes roles.
    """
    kb = random_kb(seed)
    premises = Premises.build(kb.tbox.axioms, kb.abox)
    roles = sorted(kb.tbox.signature.object_properties)
    names = sorted(premises.class_names)
    classes: list[owl.ClassExpression] | None = None
    if seed % 2 and names and roles:
        some = owl.ObjectSomeValuesFrom(owl.ObjectProperty(roles[0]), owl.Class(names[0]))
        classes = [*map(owl.Class, names[:4]), some]
    return premises, list(kb.insertions), classes, roles[:2] if seed % 3 == 0 else []


def _differences(seeds: range, *, static: bool = False) -> Iterator[int]:
    """The seeds at which the fast way and the obvious one tell different things."""
    reasoners = Reasoners("own")
    for seed in seeds:
        premises, event, classes, roles = _random_premises(seed)
        with Entailer(premises, classes, roles, static=static, reasoners=reasoners) as entailer:
            for assertions in (event, event[:1]):
                fast = entailer.entailment(assertions)
                slow = denied_entailment(
                    premises, assertions, classes, roles, static=static, reasoners=reasoners
                )
                if Verdict.UNDETERMINED not in (fast.verdict, slow.verdict) and fast != slow:
                    yield seed


def test_random_events_as_by_denying_each_class() -> None:
    assert not list(_differences(range(25)))
    assert not list(_differences(range(5_000, 5_003), static=True))


@pytest.mark.slow
def test_many_random_events_as_by_denying_each_class() -> None:
    assert not list(_differences(range(10_000, 13_000)))
    assert not list(_differences(range(20_000, 20_200), static=True))


_of = ModuleFinder.find_modules


def _starting_one(
    self: ModuleFinder, event: EventAssertions, individuals: Sequence[str]
) -> EventModules:
    found = _of(self, event, individuals[:1])
    return EventModules(
        found.clauses, found.modules, {i: found.nodes.get(i, (0, 0)) for i in individuals}
    )


def _all_that_holds(state: TableauState, x: int, atoms: int) -> tuple[int, int]:
    node, _ = state.resolve_merged(x)
    return state.pos[node] & atoms, state.pos[node] & atoms


def _beside_earlier_events(
    self: ModuleFinder, event: EventAssertions, individuals: Sequence[str]
) -> EventModules:
    kept = self.__dict__.setdefault("kept", [])
    kept.extend(event.in_shiq)
    return _of(self, EventAssertions(tuple(dict.fromkeys(kept))), individuals)


@pytest.mark.parametrize(
    ("place", "name", "bug", "first"),
    [
        (ModuleFinder, "find_modules", _starting_one, 54),
        (questions, "read_atoms", _all_that_holds, 0),
        (ModuleFinder, "find_modules", _beside_earlier_events, 0),
    ],
)
def test_the_comparison_sees_planted_bugs(
    place: object, name: str, bug: object, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, bug)
    assert next(_differences(range(first, first + 40)), None) is not None


def _horn_differences(seeds: range) -> Iterator[int]:
    """The seeds at which labels alone and the obvious way tell different things."""
    reasoners = Reasoners("own")
    for seed in seeds:
        axioms, static, events = random_horn(seed)
        classes = None if seed % 2 else [*CLASSES[:3], expression(Random(seed), 2)]
        roles = [role.iri for role in ROLES[:2]] if seed % 3 == 0 else []
        premises, is_static = Premises.build(axioms, static), seed % 5 == 0
        assert HornEntailer.build(premises, AskedVocabulary(None, ())) is not None
        with Entailer(premises, classes, roles, static=is_static, reasoners=reasoners) as entailer:
            for event in events:
                slow = denied_entailment(
                    premises, event, classes, roles, static=is_static, reasoners=reasoners
                )
                if entailer.entailment(event) != slow:
                    yield seed


def test_random_horn_events_as_by_denying_each_class() -> None:
    assert not list(_horn_differences(range(6)))


@pytest.mark.slow
def test_many_random_horn_events_as_by_denying_each_class() -> None:
    assert not list(_horn_differences(range(1_000, 2_000)))


def test_the_comparison_of_horn_events_sees_planted_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = HornLabels.send_along_role
    monkeypatch.setattr(
        HornLabels, "send_along_role", lambda self, role, a, b: (sent(self, role, a, b)[0], b)
    )
    assert next(_horn_differences(range(12)), None) is not None


def test_what_is_not_plain_is_answered_the_other_way() -> None:
    base = Premises.build([owl.SubClassOf(A, B)], [owl.ClassAssertion(A, Y)])
    with Entailer(base, static=True) as entailer:
        found = entailer.entailment([owl.SameIndividual(X, Y), owl.ClassAssertion(C, X)])
    assert found.types == {X: {A.iri, B.iri, C.iri}, Y: {A.iri, B.iri, C.iri}}
    ill_typed = owl.DataPropertyAssertion(
        owl.DataProperty("urn:d"), X, owl.Literal("x", owl.XSD + "integer")
    )
    assert compute_entailment(base, [ill_typed]).verdict is Verdict.INCONSISTENT


def _outside_differences(seeds: range) -> Iterator[int]:
    """The seeds at which grouped denials and the obvious way tell different things."""
    reasoners = Reasoners(timeout=30)
    for seed in seeds:
        axioms, static, event = random_owl(seed)
        premises, is_static = Premises.build(axioms, static), seed % 6 == 0
        roles = ["urn:t:r0"] if seed % 4 == 0 else []
        value = owl.ObjectHasValue(owl.ObjectProperty("urn:t:r1"), "urn:t:i0")
        classes = [owl.Class("urn:t:C0"), owl.Class("urn:t:C1"), value] if seed % 5 == 0 else None
        slow = denied_entailment(
            premises, event, classes, roles, static=is_static, reasoners=reasoners
        )
        fast = Entailer(premises, classes, roles, static=is_static, reasoners=reasoners).entailment(
            event
        )
        if Verdict.UNDETERMINED not in (slow.verdict, fast.verdict) and slow != fast:
            yield seed
    reasoners.close()


@pytest.mark.jvm
def test_random_events_of_owl_2_as_by_denying_each_class() -> None:
    assert not list(_outside_differences(range(6)))


@pytest.mark.slow
@pytest.mark.jvm
def test_many_random_events_of_owl_2_as_by_denying_each_class() -> None:
    assert not list(_outside_differences(range(100, 2_100)))


@pytest.mark.jvm
def test_the_comparison_beyond_shiq_sees_a_planted_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    # Denials that cannot be together are taken for entailed, each of them.
    def unhalved(self: _DenialTester, denied: Sequence[Denial]) -> list[Denial]:
        return [] if self._is_possible([a for each in denied for a in each]) else list(denied)

    monkeypatch.setattr(_DenialTester, "entailed_denials", unhalved)
    assert next(_outside_differences(range(20)), None) is not None

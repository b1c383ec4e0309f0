"""HermiT as a backend: right where verdicts are known by hand, and never an answer where
something failed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from shiq.answers.verdict import Verdict
from shiq.model import (
    NOTHING,
    THING,
    XSD,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    Datatype,
    DifferentIndividuals,
    DisjointClasses,
    DisjointObjectProperties,
    DisjointUnion,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.model.roles import Role, RoleBox
from shiq.reasoner import data_proxies
from shiq.reasoner import hermit as hermit_module
from shiq.reasoner import jvm as jvm_module
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.jvm import Jvm
from shiq.reasoner.ontology_text import OntologyText
from shiq.reasoner.protocol import Answer, Module

pytestmark = pytest.mark.jvm

CONSISTENT, INCONSISTENT, UNDETERMINED = (
    Verdict.CONSISTENT,
    Verdict.INCONSISTENT,
    Verdict.UNDETERMINED,
)

A, B, C, D = (Class(f"urn:{name}") for name in "ABCD")
R, S, T = (ObjectProperty(f"urn:{name}") for name in "rst")
F, G = DataProperty("urn:f"), DataProperty("urn:g")
r, s = Role(R.iri), Role(S.iri)
a, b, c, d = (f"urn:{name}" for name in ("a", "b", "c", "d"))
INTEGER, DATE = Datatype(XSD + "integer"), Datatype(XSD + "date")


@pytest.fixture(scope="module")
def hermit() -> Iterator[HermitReasoner]:
    reasoner = HermitReasoner("512m", 60.0)
    yield reasoner
    reasoner.close()


def _is(assertion_class: Class, *names: str) -> list[Assertion]:
    return [ClassAssertion(assertion_class, name) for name in names]


def _r(x: str, y: str, role: ObjectProperty = R) -> Assertion:
    return ObjectPropertyAssertion(role, x, y)


ONTOLOGIES: list[tuple[str, list[Axiom], list[Assertion], Verdict]] = [
    ("nothing said", [], [], CONSISTENT),
    ("disjoint classes", [DisjointClasses((A, B))], [*_is(A, a), *_is(B, a)], INCONSISTENT),
    ("disjoint classes, two individuals", [DisjointClasses((A, B))], [*_is(A, a), *_is(B, b)], CONSISTENT),
    ("owl:Nothing", [], _is(NOTHING, a), INCONSISTENT),
    ("domain", [ObjectPropertyDomain(R, A), DisjointClasses((A, B))], [_r(a, b), *_is(B, a)], INCONSISTENT),
    ("range through an inverse", [InverseObjectProperties(R, S), ObjectPropertyRange(R, A), DisjointClasses((A, B))],
     [_r(a, b, S), *_is(B, a)], INCONSISTENT),
    ("inverse assertion", [SubClassOf(A, ObjectAllValuesFrom(R, B)), DisjointClasses((B, C))],
     [ObjectPropertyAssertion(ObjectInverseOf(R), b, a), *_is(A, a), *_is(C, b)], INCONSISTENT),
    ("∀ and ∃", [SubClassOf(A, ObjectSomeValuesFrom(R, B)), SubClassOf(A, ObjectAllValuesFrom(R, ObjectComplementOf(B)))],
     _is(A, a), INCONSISTENT),
    ("an infinite model", [SubClassOf(A, ObjectSomeValuesFrom(R, A)), InverseFunctionalObjectProperty(R),
     SubClassOf(A, ObjectAllValuesFrom(ObjectInverseOf(R), A)), SubClassOf(B, ObjectMaxCardinality(0, ObjectInverseOf(R)))],
     [*_is(A, a), *_is(B, a)], CONSISTENT),
    ("≤1 merges", [FunctionalObjectProperty(R), DisjointClasses((A, B))],
     [_r(a, b), _r(a, c), *_is(A, b), *_is(B, c)], INCONSISTENT),
    ("no unique names", [FunctionalObjectProperty(R)], [_r(a, b), _r(a, c)], CONSISTENT),
    ("≤1 against ≠", [FunctionalObjectProperty(R)], [_r(a, b), _r(a, c), DifferentIndividuals(c, b)], INCONSISTENT),
    ("qualified ≤2 of three", [SubClassOf(THING, ObjectMaxCardinality(2, R, A)), DisjointUnion(A, (B, C, D))],
     [_r(a, b), _r(a, c), _r(a, d), *_is(B, b), *_is(C, c), *_is(D, d)], INCONSISTENT),
    ("qualified ≤2 of two and another", [SubClassOf(THING, ObjectMaxCardinality(2, R, A)), DisjointClasses((B, C, A))],
     [_r(a, b), _r(a, c), _r(a, d), *_is(A, b), *_is(A, c), *_is(B, d)], CONSISTENT),
    ("≥3 below ≤2", [SubObjectPropertyOf(S, R), SubClassOf(A, ObjectMinCardinality(3, S, B)),
     SubClassOf(A, ObjectMaxCardinality(2, R))], _is(A, a), INCONSISTENT),
    ("transitive", [TransitiveObjectProperty(R), SubClassOf(A, ObjectAllValuesFrom(R, B)), DisjointClasses((B, C))],
     [*_is(A, a), _r(a, b), _r(b, c), *_is(C, c)], INCONSISTENT),
    ("not transitive", [SubClassOf(A, ObjectAllValuesFrom(R, B)), DisjointClasses((B, C))],
     [*_is(A, a), _r(a, b), _r(b, c), *_is(C, c)], CONSISTENT),
    ('transitivity under a filler of ≤ (THEORY, "Deciding a shape without a JVM")',
     [TransitiveObjectProperty(R), SubClassOf(A, ObjectMaxCardinality(1, S, ObjectSomeValuesFrom(R, B)))],
     [*_is(A, a), _r(a, b, S), _r(a, c, S), DifferentIndividuals(b, c), _r(b, "urn:x"), _r("urn:x", d), _r(c, "urn:y"),
      _r("urn:y", d), *_is(B, d)], INCONSISTENT),
    ("¬R on a transitive role", [TransitiveObjectProperty(R)],
     [_r(a, c), _r(c, b), NegativeObjectPropertyAssertion(R, a, b)], INCONSISTENT),
    ("¬R", [SubObjectPropertyOf(S, R)], [_r(a, b, S), NegativeObjectPropertyAssertion(R, a, b)], INCONSISTENT),
    ("¬R the other way round", [SubObjectPropertyOf(S, R)], [_r(a, b, S), NegativeObjectPropertyAssertion(R, b, a)], CONSISTENT),
    ("symmetric", [SymmetricObjectProperty(R)], [_r(a, b), NegativeObjectPropertyAssertion(R, b, a)], INCONSISTENT),
    ("asymmetric", [AsymmetricObjectProperty(R)], [_r(a, b), _r(b, a)], INCONSISTENT),
    ("asymmetric, merged", [AsymmetricObjectProperty(R), FunctionalObjectProperty(S)],
     [_r(a, b), _r(d, b, S), _r(d, c, S), _r(c, a)], INCONSISTENT),
    ("irreflexive by sameAs", [IrreflexiveObjectProperty(R)], [_r(a, b), SameIndividual(b, a)], INCONSISTENT),
    ("disjoint roles", [DisjointObjectProperties((R, S))], [_r(a, b), _r(a, b, S)], INCONSISTENT),
    ("disjoint roles, turned", [DisjointObjectProperties((R, ObjectInverseOf(S)))], [_r(a, b), _r(a, b, S)], CONSISTENT),
    ("disjoint roles, an inverse", [DisjointObjectProperties((R, ObjectInverseOf(S)))], [_r(a, b), _r(b, a, S)], INCONSISTENT),
    ("sameAs and ≠", [], [SameIndividual(a, b), SameIndividual(b, c), DifferentIndividuals(a, c)], INCONSISTENT),
    ("blank nodes", [DisjointClasses((A, B))],
     [SameIndividual("_:1.x", "_:1.y"), *_is(A, "_:1.x"), *_is(B, "_:1.y")], INCONSISTENT),
    ("a nominal", [SubClassOf(A, ObjectOneOf((b,))), DisjointClasses((B, C))],
     [*_is(A, a), *_is(B, a), *_is(C, b)], INCONSISTENT),
    # What the OWL API's sets would lose:
    ("a class disjoint from itself", [DisjointClasses((A, A))], _is(A, a), INCONSISTENT),
    ("a class disjoint from itself and another", [DisjointClasses((A, A, B))], _is(A, a), INCONSISTENT),
    ("a role disjoint from itself", [DisjointObjectProperties((R, R))], [_r(a, b)], INCONSISTENT),
    ("a ≠ a", [], [DifferentIndividuals(a, a)], INCONSISTENT),
    ("a disjoint union of twice the same", [DisjointUnion(A, (B, B))], _is(A, a), INCONSISTENT),
    ("operands of one", [SubClassOf(ObjectIntersectionOf((A,)), ObjectUnionOf(()))], _is(A, a), INCONSISTENT),
]  # fmt: skip


@pytest.mark.parametrize(
    ("axioms", "assertions", "expected"),
    [o[1:] for o in ONTOLOGIES],
    ids=[o[0] for o in ONTOLOGIES],
)
@pytest.mark.contract
def test_ontologies(
    hermit: HermitReasoner, axioms: list[Axiom], assertions: list[Assertion], expected: Verdict
) -> None:
    assert hermit.decide_consistency(axioms, assertions) == Answer(expected)


@pytest.mark.contract
def test_what_hermit_refuses_is_undetermined(hermit: HermitReasoner) -> None:
    """A number restriction on a role that is not simple."""
    axioms: list[Axiom] = [TransitiveObjectProperty(R), SubClassOf(A, ObjectMaxCardinality(1, R))]
    answer = hermit.decide_consistency(axioms, _is(A, a))
    assert answer.verdict is UNDETERMINED
    assert "IllegalArgumentException" in answer.reason


@pytest.mark.contract
def test_names_that_hermit_takes_for_its_own_are_undetermined(hermit: HermitReasoner) -> None:
    answer = hermit.decide_consistency([SubClassOf(Class("internal:def#0"), A)], [])
    assert (answer.verdict, "reserves" in answer.reason) == (UNDETERMINED, True)
    tbox = ClausalTBox((Clause(head=("internal:def#0",)),), RoleBox(), atoms=("internal:def#0",))
    assert hermit.decide(tbox, [Module((1,), (0,))])[0].verdict is UNDETERMINED


# --- modules --------------------------------------------------------------------------------------

NAMES: tuple[Atom, ...] = (A.iri, B.iri, C.iri, AtLeast(2, r, B.iri), AtLeast(1, s.inverse))
TBOX = ClausalTBox(
    clauses=(
        Clause(body=(A.iri, C.iri)),
        Clause(body=(A.iri,), role=r, branch_head=(B.iri,)),
        Clause(body=(B.iri,), role=r, at_most=1, branch_body=(B.iri,)),
        Clause(role=s, branch_head=(C.iri,)),
        Clause(body=(B.iri, C.iri)),
    ),
    roles=RoleBox(
        inclusions=frozenset({(Role("urn:t"), r)}),
        disjoint=frozenset({(r, s)}),
        irreflexive=frozenset({s}),
    ),
    atoms=NAMES,
)
IS_A, IS_B, IS_C, TWO_R, ONE_S = 1, 2, 4, 8, 16

MODULES: list[tuple[str, Module, Verdict]] = [
    ("one node of which nothing is said", Module((0,), (0,)), CONSISTENT),
    ("names", Module((IS_A | IS_C,), (0,)), INCONSISTENT),
    ("a name and its negation", Module((IS_A,), (IS_A,)), INCONSISTENT),
    ("along a subrole", Module((IS_A, IS_C), (0, 0), ((0, Role("urn:t"), 1),)), INCONSISTENT),
    ("against the subrole", Module((IS_A, IS_C), (0, 0), ((1, Role("urn:t"), 0),)), CONSISTENT),
    ("an inverse edge", Module((IS_A, IS_C), (0, 0), ((1, Role("urn:t", True), 0),)), INCONSISTENT),
    ("≥2 against ≤1", Module((IS_B | TWO_R,), (0,)), INCONSISTENT),
    ("≥2 of a C", Module((IS_C | TWO_R,), (0,)), CONSISTENT),
    (
        "¬≥2 with two",
        Module((IS_A, 0, 0), (TWO_R, 0, 0), ((0, r, 1), (0, r, 2)), different=((2, 1),)),
        INCONSISTENT,
    ),
    (
        "¬≥2 with two that may be one",
        Module((IS_A, 0, 0), (TWO_R, 0, 0), ((0, r, 1), (0, r, 2))),
        CONSISTENT,
    ),
    ("∃s⁻ makes a C", Module((IS_B | ONE_S,), (0,)), INCONSISTENT),
    ("disjoint roles", Module((0, 0), (0, 0), ((0, r, 1), (0, s, 1))), INCONSISTENT),
    ("irreflexive", Module((0,), (0,), ((0, s, 0),)), INCONSISTENT),
    (
        "a negative edge",
        Module((0, 0), (0, 0), ((0, Role("urn:t"), 1),), negative_edges=((1, r.inverse, 0),)),
        INCONSISTENT,
    ),
    (
        "another negative edge",
        Module((0, 0), (0, 0), ((0, Role("urn:t"), 1),), negative_edges=((1, r, 0),)),
        CONSISTENT,
    ),
    ("i ≠ i", Module((0,), (0,), different=((0, 0),)), INCONSISTENT),
]


@pytest.mark.contract
def test_modules_all_at_once_and_one_by_one(hermit: HermitReasoner) -> None:
    modules = [module for _, module, _ in MODULES]
    expected = [Answer(verdict) for _, _, verdict in MODULES]
    assert hermit.decide(TBOX, modules) == expected
    assert [hermit.decide(TBOX, [module])[0] for module in modules] == expected


@pytest.mark.contract
def test_no_modules(hermit: HermitReasoner) -> None:
    assert hermit.decide(TBOX, []) == []


@pytest.mark.contract
def test_a_tbox_without_models(hermit: HermitReasoner) -> None:
    assert (
        hermit.decide(ClausalTBox((Clause(),), RoleBox()), [Module((0,), (0,))] * 3)
        == [Answer(INCONSISTENT)] * 3
    )


CHEAP = (
    Module((IS_A,), (0,)),
    Module((IS_C | TWO_R,), (0,)),
    Module((IS_A, IS_B), (0, 0), ((0, r, 1),)),
)
BAD = (
    Module((IS_A | IS_C,), (0,)),
    Module((IS_B | TWO_R,), (0,)),
    Module((IS_A, IS_C), (0, 0), ((0, r, 1),)),
)


@pytest.mark.parametrize("planted", [0, 1, 7, 100, 200])
def test_halving_finds_exactly_the_planted(hermit: HermitReasoner, planted: int) -> None:
    rng = random.Random(planted)
    culprits = frozenset(rng.sample(range(200), planted))
    modules = [rng.choice(BAD if i in culprits else CHEAP) for i in range(200)]
    answers = hermit.decide(TBOX, modules)
    assert (
        frozenset(i for i, answer in enumerate(answers) if answer.verdict is INCONSISTENT)
        == culprits
    )
    assert {answer.verdict for i, answer in enumerate(answers) if i not in culprits} <= {CONSISTENT}


def test_halving_asks_little(hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch) -> None:
    """One culprit among 128: the lot, then one half of each two, the other being known."""
    asked: list[int] = []
    original = HermitReasoner._ask_together

    def counting(
        self: HermitReasoner, prepared: object, lot: Sequence[object], *rest: object, **more: object
    ) -> Answer:
        asked.append(len(lot))
        return original(self, prepared, lot, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(HermitReasoner, "_ask_together", counting)
    answers = hermit.decide(TBOX, [*(CHEAP[:1] * 127), BAD[0]])
    assert [i for i, answer in enumerate(answers) if answer.verdict is INCONSISTENT] == [127]
    assert asked == [128, 64, 32, 16, 8, 4, 2, 1, 1]


def test_a_contradiction_of_hermit_with_itself_is_no_answer(
    hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inconsistent together, consistent one by one: that cannot be, so neither is believed of
    the last.
    """

    def fickle(self: Jvm, bases: object, question: OntologyText, timeout: object) -> bool:
        return question.text.count("ClassAssertion") == 1

    monkeypatch.setattr(Jvm, "is_consistent", fickle)
    answers = hermit.decide(TBOX, CHEAP[:1] * 4)
    assert answers[-1].verdict is UNDETERMINED
    assert "contradicts itself" in answers[-1].reason


@pytest.mark.contract
def test_the_tbox_is_parsed_once(hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch) -> None:
    hermit.decide(TBOX, CHEAP)
    texts: list[str] = []
    original = Jvm._exchange

    def noting(self: Jvm, request: bytes, deadline: float | None) -> str:
        texts.append(request.decode())
        return original(self, request, deadline)

    monkeypatch.setattr(Jvm, "_exchange", noting)
    hermit.decide(TBOX, CHEAP)
    hermit.decide(TBOX, CHEAP)
    assert len(texts) == 2
    assert all("SubClassOf" not in text for text in texts)


@pytest.mark.contract
def test_another_tbox_at_the_same_address_is_another(hermit: HermitReasoner) -> None:
    """Ids are reused: an answer about a TBox that is gone would be a wrong one."""
    for i in range(30):
        clauses = (Clause(body=(A.iri,)),) if i % 2 else ()
        tbox = ClausalTBox(clauses, RoleBox(), atoms=(A.iri,))
        assert hermit.decide(tbox, [Module((1,), (0,))])[0].verdict is (
            INCONSISTENT if i % 2 else CONSISTENT
        )
        del tbox


# --- nothing that failed looks like an answer -----------------------------------------------------


@pytest.mark.contract
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text.rstrip().removesuffix(")"),
        lambda text: text.replace("ClassAssertion", "ClasAssertion"),
        lambda text: text.replace("ClassAssertion(", "# ClassAssertion("),
        lambda text: "<html><body>Not found</body></html>",
        lambda text: text.replace("Ontology(", "Ontology(\nDisjointClasses(<urn:x> <urn:y>)", 1),
        lambda text: "\n".join(line for line in text.splitlines() if "urn:C" not in line),
        lambda text: text.replace("urn:C", "urn:A"),
        lambda text: text.replace("urn:A", "urn:C\u0301"),
    ],
)  # fmt: skip
def test_damaged_text_is_no_ontology(
    hermit: HermitReasoner, monkeypatch: pytest.MonkeyPatch, damage: object
) -> None:
    """Whatever becomes of the text on its way: without all axioms about all names there is no
    answer.
    """
    original = hermit_module.write_ontology_text

    def damaged(values: Sequence[Axiom | Assertion]) -> OntologyText:
        sent = original(values)
        return OntologyText(damage(sent.text), sent.axioms, sent.entities)  # type: ignore[operator]

    axioms, assertions = [SubClassOf(A, B), SubClassOf(C, D)], [*_is(A, a), *_is(C, a)]
    assert hermit.decide_consistency(axioms, assertions).verdict is CONSISTENT
    monkeypatch.setattr(hermit_module, "write_ontology_text", damaged)
    damaged_answer = hermit.decide_consistency(axioms, assertions)
    if "C\u0301" in damaged(axioms).text:
        assert damaged_answer.verdict is CONSISTENT, "only renamed: the same ontology"
    else:
        assert damaged_answer.verdict is UNDETERMINED
        assert damaged_answer.reason
    tbox = ClausalTBox(
        tuple(Clause(body=(x,), head=(y,)) for x, y in ((A.iri, B.iri), (C.iri, D.iri))),
        RoleBox(),
        atoms=(A.iri, C.iri),
    )
    verdicts = {
        answer.verdict for answer in hermit.decide(tbox, [Module((1,), (0,)), Module((2,), (0,))])
    }
    assert verdicts == {damaged_answer.verdict}


def _pigeonhole(holes: int) -> ClausalTBox:
    """⊤ says that one more pigeon than ``holes`` sits in a hole each of its own: refuted by
    nothing short of all the cases.
    """
    sits = [[f"urn:p{i}h{j}" for j in range(holes)] for i in range(holes + 1)]
    alone = [
        Clause(body=("urn:P", sits[i][j], sits[k][j]))
        for j in range(holes)
        for i in range(holes + 1)
        for k in range(i + 1, holes + 1)
    ]
    return ClausalTBox(
        (*(Clause(body=("urn:P",), head=tuple(row)) for row in sits), *alone),
        RoleBox(),
        atoms=("urn:P", "urn:Q"),
    )


EASY, HARD = Module((2,), (0,)), Module((1,), (0,))


@pytest.mark.contract
def test_a_small_pigeonhole_is_decided(hermit: HermitReasoner) -> None:
    assert hermit.decide(_pigeonhole(3), [HARD, EASY]) == [Answer(INCONSISTENT), Answer(CONSISTENT)]


@pytest.mark.slow
def test_a_time_out_is_undetermined_for_the_hard_module_alone() -> None:
    reasoner = HermitReasoner("512m", timeout=4.0)
    try:
        answers = reasoner.decide(_pigeonhole(10), [EASY, HARD, EASY])
        assert [answer.verdict for answer in answers] == [CONSISTENT, UNDETERMINED, CONSISTENT]
        assert "within 4 s" in answers[1].reason
        assert reasoner.decide(TBOX, CHEAP) == [Answer(CONSISTENT)] * 3, (
            "the next call has a new JVM"
        )
    finally:
        reasoner.close()


def test_the_time_limit_of_the_whole_call() -> None:
    reasoner = HermitReasoner("512m", timeout=None)
    try:
        reasoner.decide(TBOX, CHEAP)
        start = time.monotonic()
        answers = reasoner.decide(_pigeonhole(10), [HARD] * 50, timeout=1.5)
        assert time.monotonic() - start < 60, "one answer takes minutes"
        assert {answer.verdict for answer in answers} == {UNDETERMINED}
        assert all(
            "time limit" in answer.reason or "s; the JVM was killed" in answer.reason
            for answer in answers
        )
        assert reasoner.decide_consistency([], _is(A, a), timeout=30) == Answer(CONSISTENT)
    finally:
        reasoner.close()


def _kill_the_jvm_after(seconds: float) -> threading.Timer:
    def kill() -> None:
        for machine in jvm_module._shared.values():
            os.kill(machine.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


@pytest.mark.slow
def test_a_jvm_killed_in_mid_call() -> None:
    """The lot fails, then its modules are asked one by one on a fresh JVM: decided, or
    undetermined, never wrong.
    """
    reasoner = HermitReasoner("512m", timeout=4.0)
    try:
        reasoner.decide(TBOX, CHEAP)
        timer = _kill_the_jvm_after(0.7)
        answers = reasoner.decide(_pigeonhole(10), [EASY, HARD, EASY])
        timer.join()
        assert [answer.verdict for answer in answers] == [CONSISTENT, UNDETERMINED, CONSISTENT]
    finally:
        reasoner.close()


def test_a_jvm_that_is_killed_again_and_again() -> None:
    culprits = frozenset({3, 14, 19})
    modules = [BAD[0] if i in culprits else CHEAP[i % 3] for i in range(20)]
    reasoner = HermitReasoner("512m", timeout=20.0)
    done = threading.Event()

    def terror() -> None:
        rng = random.Random(1)
        for _ in range(4):
            if done.wait(0.5 + rng.random()):
                return
            for machine in [*jvm_module._shared.values()]:
                with suppress(ProcessLookupError):
                    os.kill(machine.pid, signal.SIGKILL)

    thread = threading.Thread(target=terror)
    thread.start()
    try:
        for _ in range(2):
            for i, answer in enumerate(reasoner.decide(TBOX, modules)):
                assert answer.verdict in (
                    UNDETERMINED,
                    INCONSISTENT if i in culprits else CONSISTENT,
                ), i
    finally:
        done.set()
        thread.join()
        reasoner.close()


@pytest.mark.slow
def test_one_module_that_kills_every_jvm_does_not_spoil_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """¬(≤n) with a very large n, which is not sent as a rule, does not fit into a small heap."""
    monkeypatch.setattr(data_proxies, "MOST_SENT", 1_000_000)
    tbox = ClausalTBox(
        (Clause(body=(A.iri, C.iri)),), RoleBox(), atoms=(A.iri, C.iri, AtLeast(400_000, r, A.iri))
    )
    reasoner = HermitReasoner("64m", timeout=30.0)
    try:
        answers = reasoner.decide(
            tbox, [Module((1,), (0,)), Module((4,), (0,)), Module((3,), (0,)), Module((2,), (0,))]
        )
        assert [answer.verdict for answer in answers] == [
            CONSISTENT,
            UNDETERMINED,
            INCONSISTENT,
            CONSISTENT,
        ]
        assert "out of memory" in answers[1].reason
    finally:
        reasoner.close()


def test_two_reasoners_share_a_jvm_and_closing_one_leaves_it_to_the_other() -> None:
    first, second = HermitReasoner("512m"), HermitReasoner("512m")
    first.decide(TBOX, CHEAP)
    second.decide(TBOX, CHEAP)
    (machine,) = jvm_module._shared.values()
    first.close()
    first.close()
    assert machine.is_alive
    assert second.decide(TBOX, BAD) == [Answer(INCONSISTENT)] * 3
    second.close()
    assert second.decide(TBOX, BAD) == [Answer(INCONSISTENT)] * 3, "a closed one opens again"
    second.close()


SCRIPT = """
from shiq.model.clause import ClausalTBox, Clause
from shiq.reasoner import create_reasoner
from shiq.reasoner.protocol import Module
from shiq.model.roles import RoleBox
tbox = ClausalTBox((Clause(body=("urn:A",)),), RoleBox(), atoms=("urn:A",))
print([answer.verdict.value for answer in create_reasoner("hermit").decide(tbox, [Module((1,), (0,)), Module((0,), (0,))])])
"""


def test_nothing_but_the_result_is_printed_and_the_exit_code_is_right() -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (
            0,
            "['inconsistent', 'consistent']\n",
            "",
        )

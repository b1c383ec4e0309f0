"""Large numbers are counted, not built (THEORY, "Large numbers"): by hand, beside built ones,
and with mistakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from clausal_random import Profile, random_case
from own_cases import Case, Not, R, S, at_most, disjoint, isa, only, some, sub
from premodels import check

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.jobs.checking.calls import check_insertions
from shiq.model.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.model.roles import RoleBox
from shiq.reasoner.auto import AutoReasoner
from shiq.reasoner.hypertableau import large_numbers
from shiq.reasoner.hypertableau.large_numbers import BuildingPolicy, SuccessorCountProgram
from shiq.reasoner.hypertableau.rules import TableauSearch
from shiq.reasoner.hypertableau.search import SearchOutcome, decide_module
from shiq.reasoner.hypertableau.state import TableauClash
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import LARGE_NUMBER, Module

G = 10**9
TYPES = ["C1", "C2", "C3", "C4", "C5"]


def split(n: int, *limits: int) -> Case:
    """≥n R.B, where each B is one of several disjoint types, and of the i-th there are at most
    ``limits[i]``.
    """
    types = TYPES[: len(limits)]
    clauses = [
        isa("B", then=types),
        *disjoint(*types),
        *(at_most(m, R, c) for m, c in zip(limits, types)),
    ]
    return Case(sum(limits) >= n, clauses, [[some(R, "B", n)]])


DECIDED = {
    "alone": Case(True, [], [[some(R, "B", G)]]),
    "beside a small limit": Case(False, [at_most(5, R)], [[some(R, "B", G)]]),
    "beside a small limit on others": Case(True, [at_most(5, R, "C")], [[some(R, "B", G)]]),
    "one too many": Case(False, [at_most(G - 1, R)], [[some(R, "B", G)]]),
    "just enough": Case(True, [at_most(G, R)], [[some(R, "B", G)]]),
    "one too many above": Case(False, [at_most(G - 1, S)], [[some(R, "B", G)]], roles=sub((R, S))),
    "all of a type": Case(
        False, [isa("B", then=["C"]), at_most(G - 1, R, "C")], [[some(R, "B", G)]]
    ),
    "its negation": Case(False, [], [[some(R, "B", G), Not(some(R, "B", G // 2))]]),
    "a larger negation": Case(True, [], [[some(R, "B", G), Not(some(R, "B", G + 1))]]),
    "for ever": Case(True, [isa("A", then=[some(R, "A", G)]), at_most(5, R.inverse)], [["A"]]),
    "sent back": Case(
        False, [isa("A", then=[some(R, "B", G)]), only("B", R.inverse, "C"), isa("A", "C")], [["A"]]
    ),
    "a large limit alone": Case(True, [at_most(G, R)], [[], [], []], [(0, R, 1), (0, R, 2)]),
    "met by the named": Case(
        True,
        [at_most(400, R)],
        [[some(R, "B", 350)], *([["B"]] * 400)],
        [(0, R, i) for i in range(1, 401)],
        different=[(i, j) for i in range(1, 401) for j in range(1, i)],
    ),
    "the named among them": Case(
        True,
        [at_most(G, S)],
        [[some(R, "B", G)], [], ["B"]],
        [(0, S, 1), (0, S, 2)],
        roles=sub((R, S)),
        different=[(1, 2)],
    ),
    "the named not among them": Case(
        True, [at_most(G + 1, R)], [[some(R, "B", G)], [Not("B")]], [(0, R, 1)]
    ),
    "two kinds": split(G, 6 * G // 10, 6 * G // 10),
    "two kinds, one of them few": split(G, 6, G - 6),
    "five kinds": split(10 * G, *[2 * G] * 5),
    "shared": Case(True, [at_most(G, R)], [[some(R, "B", G), some(R, "C", G)]]),
    "partly shared": Case(
        True, [at_most(G, R), at_most(G // 2, R, "C")], [[some(R, "B", G), some(R, "C", G // 2)]]
    ),
    "built, by choices": split(200, 100, 100),
}
#: Nothing here shows that they are inconsistent.
OPEN = {
    "all of a type whatever they choose": Case(
        False,
        [
            isa("B", then=["C", "D"]),
            isa("C", then=["E"]),
            isa("D", then=["E"]),
            at_most(G - 1, R, "E"),
        ],
        [[some(R, "B", G)]],
    ),
    "two kinds, too few": split(G, G // 3, G // 3),
    "apart": Case(
        False, [at_most(G, R), *disjoint("B", "C")], [[some(R, "B", G), some(R, "C", G)]]
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_a_large_number_is_decided(name: str) -> None:
    case = DECIDED[name]
    answer = OwnReasoner().decide(case.tbox, [case.module])[0]
    assert answer.verdict is (Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT), (
        answer.reason
    )


@pytest.mark.parametrize("name", OPEN)
def test_what_rests_on_alike_choices_is_undetermined(name: str) -> None:
    case = OPEN[name]
    answer = OwnReasoner().decide(case.tbox, [case.module])[0]
    assert answer.verdict is Verdict.UNDETERMINED
    assert answer.reason.startswith(LARGE_NUMBER)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**40])
def test_the_number_of_nodes_does_not_depend_on_the_number(n: int) -> None:
    case = Case(True, [isa("B", then=[some(S, "D", n)]), at_most(3, R, "C")], [[some(R, "B", n)]])
    outcome = decide_module(Tables(case.tbox), case.module, 10_000, None)
    assert outcome.model is not None
    assert len(outcome.model.pos) == 1 + 4 + 3  # all but one of the four are blocked
    assert sum(outcome.weights.get(y, 1) for y in range(1, 5)) == n


@pytest.mark.parametrize(
    ("size", "expected"), [(G, Verdict.CONSISTENT), (G - 1, Verdict.INCONSISTENT)]
)
def test_data_is_counted_too(size: int, expected: Verdict) -> None:
    integer = owl.XSD + "integer"
    bounds = (
        (owl.XSD + "minInclusive", owl.Literal("1", integer)),
        (owl.XSD + "maxInclusive", owl.Literal(str(size), integer)),
    )
    atoms = (
        DataAtLeast(G, "urn:p", owl.DatatypeRestriction(owl.Datatype(integer), bounds)),
        DataAtMost(G, "urn:p", owl.TOP_DATATYPE),
    )
    assert (
        OwnReasoner()
        .decide(ClausalTBox((), RoleBox(), atoms=atoms), [Module((3,), (0,))])[0]
        .verdict
        is expected
    )


def test_hermit_is_not_asked_about_large_numbers() -> None:
    asked = []
    auto = AutoReasoner(OwnReasoner, lambda: asked.append(1) or OwnReasoner())
    for case in OPEN.values():
        assert auto.decide(case.tbox, [case.module])[0].verdict is Verdict.UNDETERMINED
    assert asked == []


@pytest.mark.parametrize(
    ("batch", "verdict"),
    [
        ("ClassAssertion(:Fewer :a)", Verdict.INCONSISTENT),
        ("ClassAssertion(:Few :a)", Verdict.INCONSISTENT),
        ("ClassAssertion(:Few :d)", Verdict.INCONSISTENT),
        ("ClassAssertion(:Many :d)", Verdict.CONSISTENT),
        ("ClassAssertion(:Many :n)", Verdict.CONSISTENT),
        ("ClassAssertion(:Many :b) ObjectPropertyAssertion(:S :n :q)", Verdict.CONSISTENT),
    ],
)
@pytest.mark.parametrize("criterion", ["model", "clausal"])
def test_a_check_counts(criterion: str, batch: str, verdict: Verdict, tmp_path: Path) -> None:
    """In the base and its certificate, in the batch, in needs and limits, of objects and of data."""
    head = "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology("
    names = "".join(
        f"Declaration(Class(:{name}))" for name in ("Many", "Fewer", "Few", "B", "Full", "D")
    )
    tbox, base, inserted = (tmp_path / f"{name}.ofn" for name in ("t", "a", "i"))
    tbox.write_text(
        f"""{head}{names} Declaration(ObjectProperty(:R)) Declaration(ObjectProperty(:S)) Declaration(DataProperty(:p))
        SubObjectPropertyOf(:R :S) SubClassOf(:Many ObjectMinCardinality({G} :R :B))
        SubClassOf(:Fewer ObjectMaxCardinality({G - 1} :S :B)) SubClassOf(:Full ObjectMaxCardinality({G} :S))
        SubClassOf(:Few ObjectMaxCardinality(5 :R)) SubClassOf(:D DataMinCardinality({G} :p xsd:integer))
        SubClassOf(:Few DataMaxCardinality({G - 1} :p)))"""
    )
    base.write_text(
        f"""{head} ClassAssertion(:Many :a) ClassAssertion(:Full :a) ObjectPropertyAssertion(:R :a :b) ClassAssertion(:B :b)
        ClassAssertion(:D :d) DataPropertyAssertion(:p :d "1"^^xsd:integer)
        ClassAssertion(:Full :n) ObjectPropertyAssertion(:S :n :b))"""
    )
    inserted.write_text(f"{head} {batch})")
    result = check_insertions(
        [tbox], [base], [inserted], reasoner="auto", criterion=criterion, explain_seconds=0
    )
    assert result.verdict is verdict, result.reason


# --- against small numbers, which are built -------------------------------------------------------

#: Few types, and needs and limits up to 12 that are close to each other.
PROFILES = [
    Profile(
        names=3,
        roles=1,
        clauses=(5, 9),
        nodes=(1, 2),
        edges=1.0,
        max_n=12,
        weights=(
            ("disjunction", 4),
            ("disjoint", 2),
            ("at_least", 5),
            ("universal", 1),
            ("backward", 1),
            ("at_most", 7),
        ),
    ),
    Profile(
        names=4,
        roles=2,
        clauses=(7, 12),
        nodes=(1, 2),
        edges=1.5,
        max_n=12,
        weights=(
            ("disjunction", 4),
            ("disjoint", 3),
            ("exists", 1),
            ("at_least", 6),
            ("universal", 2),
            ("backward", 3),
            ("u_disjunction", 2),
            ("functional", 1),
            ("at_most", 8),
        ),
    ),
]
COUNTED = [
    BuildingPolicy(1, 2),
    BuildingPolicy(2, 3),
    BuildingPolicy(4, 3),
    BuildingPolicy(2, 3, 0),
    BuildingPolicy(2, 3, 1),
    BuildingPolicy(2, 3, 0, True),
]
BUILT = BuildingPolicy(large=G)


def ask(case: Case | tuple[ClausalTBox, Module], building: BuildingPolicy) -> SearchOutcome:
    tbox, module = (case.tbox, case.module) if isinstance(case, Case) else case
    return decide_module(Tables(tbox), module, 50_000, None, building)


def contradictions(seeds: range) -> Iterator[str]:
    """What is wrong with counted answers: another verdict than if all is built, or a model that
    is none.
    """
    for profile in PROFILES:
        for seed in seeds:
            tbox, module = random_case(seed, profile)
            built = ask((tbox, module), BUILT).answer.verdict
            for building in COUNTED:
                outcome = ask((tbox, module), building)
                if {outcome.answer.verdict, built} == {Verdict.CONSISTENT, Verdict.INCONSISTENT}:
                    yield f"{seed}: {outcome.answer.verdict.value}, not {built.value}"
                if outcome.model is not None:
                    try:
                        check(outcome.model, tbox, module, outcome.weights)
                    except AssertionError as broken:
                        yield f"{seed}: no model: {broken}"


def test_counting_never_contradicts_building() -> None:
    assert list(contradictions(range(150))) == []


def test_counting_decides_most_of_what_building_does() -> None:
    verdicts = Counter(
        ask(random_case(seed, profile), BuildingPolicy(2, 3)).answer.verdict
        for profile in PROFILES
        for seed in range(200)
    )
    assert verdicts[Verdict.UNDETERMINED] < 12
    assert min(verdicts[Verdict.CONSISTENT], verdicts[Verdict.INCONSISTENT]) > 80


def test_five_and_five() -> None:
    """Ten that choose alike cannot, five and five can."""
    for building in COUNTED:
        assert ask(split(10, 6, 6), building).answer.verdict is not Verdict.INCONSISTENT
    assert ask(split(10, 6, 6), COUNTED[1]).answer.verdict is Verdict.CONSISTENT


def _refuse_as_proof(search: TableauSearch, program: SuccessorCountProgram) -> None:
    raise TableauClash(program.dependency_set(), program.x)


def test_a_clash_taken_for_a_proof_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_numbers, "_refuse_pre_model", _refuse_as_proof)
    assert any("inconsistent, not consistent" in fault for fault in contradictions(range(60)))


def test_nodes_that_stand_for_one_only_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SuccessorCountProgram, "solve_weights", lambda program: {})
    assert any("no model" in fault for fault in contradictions(range(10)))


def test_choices_that_are_taken_for_those_of_all_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case, two = split(15, 6, 6, 6), BuildingPolicy(2, 2)
    assert ask(case, two).answer.verdict is Verdict.UNDETERMINED
    monkeypatch.setattr(SuccessorCountProgram, "_choices_below", lambda program, top: 0)
    assert ask(case, two).answer.verdict is Verdict.INCONSISTENT


def test_a_threshold_changes_no_verdict() -> None:
    for name, case in DECIDED.items():
        expected = Verdict.CONSISTENT if case.consistent else Verdict.INCONSISTENT
        assert ask(case, BuildingPolicy(large=2)).answer.verdict in (
            Verdict.UNDETERMINED,
            expected,
        ), name

"""What a patch asks where modules fail, and how far it grows (THEORY, "How much is asked, and
how far I grows"): by counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_model_columns import is_refuted, scratch

from shiq.abox_ops.engine import Inquiry, ModelKnowledgeBase
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import effort
from shiq.abox_ops.patch.effort import Effort, EffortColumns
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions, index, open_store
from shiq.functional import parse_functional
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    ObjectProperty,
    ObjectPropertyAssertion,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import RoleBox
from shiq.reasoner import create_reasoner, own_reasoner
from shiq.reasoner.protocol import Answer, Module
from tests.spec import efforts
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import random_kb

PREFIX = "Prefix(:=<urn:t#>)"
#: A chain of R below an A has no short refutation if its last element is to be none of A, B and C.
LONG = (
    "SubClassOf(:A ObjectAllValuesFrom(:R ObjectUnionOf(:A :C))) SubClassOf(:C ObjectAllValuesFrom(:R ObjectUnionOf(:A :B)))"
    "SubClassOf(:B ObjectAllValuesFrom(:R :A)) DisjointClasses(:A :B)"
)
#: Z is contradictory, but not by unit propagation.
HIDDEN = (
    "SubClassOf(:Z ObjectUnionOf(:P :Q)) SubClassOf(:P :G) SubClassOf(:P :H) SubClassOf(:Q :G) SubClassOf(:Q :H)"
    "DisjointClasses(:G :H)"
)
A, B, Z = (Class(f"urn:t#{name}") for name in "ABZ")
R = ObjectProperty("urn:t#R")


def tbox_of(text: str) -> TBox:
    reading = parse_functional(f"{PREFIX} Ontology({text})", "test", "t")
    assert not reading.leftovers
    return reading.tbox


def name(i: int) -> str:
    return f"urn:x{i:05}"


def links(kind: str, count: int) -> list[Assertion]:
    """Role assertions in a chain, tree, ring or grid."""
    side = max(2, round((count / 2) ** 0.5))
    pairs = {
        "chain": [(i, i + 1) for i in range(count)],
        "tree": [((i - 1) // 2, i) for i in range(1, count + 1)],
        "ring": [(i, (i + 1) % count) for i in range(count)],
        "grid": [
            (x * side + y, at)
            for x in range(side)
            for y in range(side)
            for at in ([(x + 1) * side + y] if x + 1 < side else [])
            + ([x * side + y + 1] if y + 1 < side else [])
        ],
    }
    return [ObjectPropertyAssertion(R, name(a), name(b)) for a, b in pairs[kind]]


def facts(base: ModelKnowledgeBase, batch: Sequence[Assertion], decider: Decider) -> dict[str, Any]:
    """All that a patch comes to, and what it asked in full."""
    full: list[Module] = []

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        full.extend(modules)
        return decider.decide(tbox, modules)

    base.decide_by_patch(abox_of([]), abox_of([]), Inquiry(decider.decide))
    found, answers = base.decide_by_patch(
        abox_of(batch), abox_of([]), Inquiry(decide, attempt=decider.attempt)
    )
    return {
        "kept": frozenset(found.kept_assertions()),
        "pulled in": found.pulled_in,
        "modules": sorted(
            ((m.elements, m.module, a.verdict.value) for m, a in zip(found.modules, answers)),
            key=repr,
        ),
        "widening": found.widening,  # type: ignore[attr-defined]
        "in full": full,
        "contradictory": sorted(found.contradictory),
    }


def both(
    tbox: TBox, base: Sequence[Assertion], batch: Sequence[Assertion], decider: Decider
) -> dict[str, Any]:
    """The same of both engines; they are equal."""
    local = facts(LocalKnowledgeBase.build(tbox, abox_of(base)), batch, decider)
    assert local == facts(SpecKnowledgeBase.build(tbox, base), batch, decider)
    return local


def verdict_of(found: dict[str, Any]) -> Verdict:
    verdicts = {Verdict(verdict) for _, _, verdict in found["modules"]}
    if found["contradictory"] or Verdict.INCONSISTENT in verdicts:
        return Verdict.INCONSISTENT
    return Verdict.UNDETERMINED if Verdict.UNDETERMINED in verdicts else Verdict.CONSISTENT


# --- how much is asked ----------------------------------------------------------------------------


def test_a_chain_takes_as_many_questions_whatever_its_length(decider: Decider) -> None:
    for count in (14, 50, 400):
        base = LocalKnowledgeBase.build(tbox_of(LONG), abox_of(links("chain", count)))
        found = facts(base, [ClassAssertion(A, name(0))], decider)
        assert verdict_of(found) is Verdict.CONSISTENT
        widening = found["widening"]
        assert (widening.rounds, widening.questions) == (3, 4) and widening.elements <= 4
        assert widening.closed == count + 1 and not found["in full"]


@pytest.mark.parametrize("kind", ["chain", "tree", "ring", "grid"])
def test_engines_agree_on_how_far_it_goes(
    kind: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in (effort.MOST_QUESTIONS, 6, 2):
        monkeypatch.setattr(effort, "MOST_QUESTIONS", most)
        for count in (9, 22):
            found = both(tbox_of(LONG), links(kind, count), [ClassAssertion(A, name(0))], decider)
            assert verdict_of(found) is Verdict.CONSISTENT
            contrary = [ClassAssertion(A, name(0)), ClassAssertion(B, name(0))]
            assert (
                verdict_of(both(tbox_of(LONG), links(kind, count), contrary, decider))
                is Verdict.INCONSISTENT
            )


def test_past_the_bound_elements_are_closed(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 6)
    found = both(tbox_of(LONG), links("chain", 40), [ClassAssertion(A, name(0))], decider)
    assert (found["widening"].questions, found["widening"].closed) == (8, 41)
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 16)
    monkeypatch.setattr(effort, "MOST_ELEMENTS", 10)
    found = both(tbox_of(LONG), links("chain", 40), [ClassAssertion(A, name(0))], decider)
    assert found["widening"].closed == 41 and found["widening"].elements < 40


def test_the_bound_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 4)
    given = tbox_of(LONG), abox_of(links("chain", 30)), abox_of([ClassAssertion(A, name(0))])
    result = check_insertions(*given, criterion="model", reasoner="own")
    assert result.verdict is Verdict.CONSISTENT and result.evidence.criterion == "model"
    assert result.to_dict()["statistics"]["widening"] == {
        "rounds": 4,
        "questions": 6,
        "elements": 7,
        "closed": 31,
    }
    assert any("everything that may matter was read" in note for note in result.evidence.notes)
    short = check_insertions(
        given[0], given[1], abox_of(links("chain", 1)), criterion="model", reasoner="own"
    )
    assert "widening" not in short.to_dict()["statistics"] and not short.evidence.notes


@pytest.mark.jvm
def test_another_reasoner_is_asked_in_full_alone() -> None:
    given = tbox_of(LONG), abox_of(links("chain", 3)), abox_of([ClassAssertion(A, name(0))])
    result = check_insertions(*given, criterion="model", reasoner="hermit")
    assert result.verdict is Verdict.CONSISTENT
    assert any("go to the reasoner own" in note for note in result.evidence.notes)


@pytest.mark.parametrize(
    ("kind", "count", "rounds"),
    [("chain", 400, 8), ("tree", 400, 5), ("ring", 400, 8), ("grid", 400, 6)],
)
def test_a_certificate_takes_rounds_by_the_logarithm(
    kind: str, count: int, rounds: int, decider: Decider
) -> None:
    """Where what fails goes from element to element of the base itself."""
    asked = list[int]()

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        asked.extend(len(module.positive) for module in modules)
        return decider.decide(tbox, modules)

    found = links(kind, count)
    base = LocalKnowledgeBase.build(tbox_of(LONG), abox_of([*found, ClassAssertion(A, name(0))]))
    certificate = base.certify(Inquiry(decide))
    assert certificate.model.is_guessed and certificate.outcome.widening.rounds <= rounds
    assert sum(asked) <= 4 * len(found)


def reach_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are closed from their first turn on."""
    monkeypatch.setattr(
        effort,
        "next_effort",
        lambda turns, elements, size: Effort(turns + 1, elements + size, True, effort.DEEP),
    )


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("kind", ["chain", "tree", "ring", "grid"])
def test_engines_agree_on_what_becomes_plain(
    kind: str, is_far: bool, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_far:
        reach_at_once(monkeypatch)
    for count in (5, 22):
        base = [*links(kind, count), ClassAssertion(A, name(0))]
        both(tbox_of(LONG), base, [ClassAssertion(B, name(count // 2))], decider)
        both(tbox_of(LONG), [], base, decider)


# --- how small the budget is makes no difference --------------------------------------------------


def open_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small budget that decides nothing."""
    monkeypatch.setattr(own_reasoner, "ATTEMPT_STEPS", 1)
    monkeypatch.setattr(own_reasoner, "ATTEMPT_STEPS_PER_NODE", 0)


def disagreement(seed: int, decider: Decider) -> str:
    kb = random_kb(seed)
    if scratch(kb.tbox, list(kb.abox), decider) is not Verdict.CONSISTENT:
        return ""
    found = verdict_of(both(kb.tbox, kb.abox, kb.insertions, decider))
    expected = scratch(kb.tbox, [*kb.abox, *kb.insertions], decider)
    return (
        ""
        if found is expected or expected is Verdict.UNDETERMINED
        else f"{seed}: {found.value}, not {expected.value}"
    )


@pytest.mark.parametrize("most", [0, 2, 16])
@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 1500), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_verdicts_and_engines_agree_within_any_bound(
    most: int, seeds: range, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_all(monkeypatch)
    monkeypatch.setattr(effort, "MOST_QUESTIONS", most)
    assert [wrong for seed in seeds if (wrong := disagreement(seed, decider))] == []


@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 1000), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_verdicts_and_engines_agree_where_much_becomes_plain(
    seeds: range, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_all(monkeypatch)
    reach_at_once(monkeypatch)
    assert [wrong for seed in seeds if (wrong := disagreement(seed, decider))] == []


def _remembering(
    self: Decider, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
) -> list[Answer]:
    """Takes the answers of a small budget for those in full."""
    shapes, _ = self._shapes_and_answers(tbox)
    known = self.attempts_by_tbox.get(id(tbox), {})
    told = [known.get(shapes.shape_of(module)) for module in modules]
    return [
        answer or _DECIDE(self, tbox, [module], timeout)[0] for answer, module in zip(told, modules)
    ]


def _keeping(self: EffortColumns, source: Any, target: Any, *, deeper: bool) -> None:
    self._lengthen(1 + int(max(source.max(initial=-1), target.max(initial=-1))))


_DECIDE = Decider.decide
PLANTED: dict[str, tuple[object, str, Any]] = {
    "answers of a small budget are remembered in full": (Decider, "decide", _remembering),
    "what closed elements pull in is not closed (reference)": (
        efforts,
        "one_deeper",
        lambda effort: replace(effort, is_closed=False, depth=effort.depth + 1),
    ),
    "what closed elements pull in is not closed": (EffortColumns, "pass_to_neighbours", _keeping),
    "closed elements have residuals": (
        EffortColumns,
        "are_closed",
        lambda self, elements: elements < 0,
    ),
    "what is closed is forgotten": (EffortColumns, "raise_to", lambda self, elements, effort: None),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_mistake_is_found(
    planted: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By random knowledge bases, most within a few dozens."""
    open_all(monkeypatch)
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 0)
    monkeypatch.setattr(*PLANTED[planted])
    with pytest.raises(AssertionError):
        for seed in range(300):
            assert not disagreement(seed, decider)


def test_what_a_small_budget_says_depends_on_the_shape_alone(
    decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = LocalKnowledgeBase.build(tbox_of(LONG), abox_of(links("chain", 12)))
    (module,) = base.add_set(abox_of([ClassAssertion(A, name(0))]), abox_of([])).modules
    tbox, given = base.index.calculus.tbox, module.module
    end = sum(1 << tbox.atom_ids[c.iri] for c in (A, B)) | 1 << tbox.atom_ids["urn:t#C"]
    given = replace(given, negative=(*given.negative[:-1], end))
    dice, order = random.Random(0), list(range(len(given.positive)))
    for steps in (100, 500, 2_000, 20_000):
        monkeypatch.setattr(own_reasoner, "ATTEMPT_STEPS", steps)
        verdicts = set()
        for _ in range(8):
            dice.shuffle(order)
            at = {n: i for i, n in enumerate(order)}
            edges = tuple(sorted((at[a], role, at[b]) for a, role, b in given.edges))
            renamed = Module(
                tuple(given.positive[n] for n in order),
                tuple(given.negative[n] for n in order),
                edges,
            )
            verdicts.add(Decider(create_reasoner("own")).attempt(tbox, [renamed])[0].verdict)
        assert len(verdicts) == 1, steps


def test_a_reasoner_that_leaves_out_answers_ends_the_question() -> None:
    class Silent(own_reasoner.OwnReasoner):
        """It answers nothing."""

        def decide(
            self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
        ) -> list[Answer]:
            return []

    with pytest.raises(KeyError):
        Decider(Silent()).decide(ClausalTBox((), RoleBox()), [Module((0,), (0,))])


def test_the_smallest_bare_module_left_open_is_asked_in_full(decider: Decider) -> None:
    """Where the last one is too much for whoever is asked in full."""
    tbox, asked = tbox_of(LONG + HIDDEN), list[int]()

    def decide(clauses: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        asked.extend(len(m.positive) for m in modules)
        told = decider.decide(clauses, modules)
        return [
            Answer(Verdict.UNDETERMINED, "large") if len(m.positive) > 5 else a
            for m, a in zip(modules, told)
        ]

    def attempt(clauses: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        return [Answer(Verdict.UNDETERMINED, "small")] * len(modules)

    for batch, verdicts in (([A, Z], {Verdict.INCONSISTENT}), ([A], {Verdict.UNDETERMINED})):
        for make in (LocalKnowledgeBase.build, SpecKnowledgeBase.build):
            base: ModelKnowledgeBase = make(tbox, abox_of(links("chain", 9)))  # type: ignore[operator]
            base.decide_by_patch(abox_of([]), abox_of([]), Inquiry(decider.decide))
            asked.clear()
            inquiry = Inquiry(decide, attempt=attempt)
            _, answers = base.decide_by_patch(
                abox_of(ClassAssertion(c, name(0)) for c in batch), abox_of([]), inquiry
            )
            assert {answer.verdict for answer in answers} == verdicts
            assert asked[0] == 10 and asked[-1] <= 5 and len(asked) == 2


# --- N -----------------------------------------------------------------------------------


def test_a_commit_past_the_bound_keeps_the_model(
    tmp_path: Path, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 2)
    more = [ObjectPropertyAssertion(R, f"urn:y{i}", f"urn:y{i + 1}") for i in range(5)]
    index(tbox_of(LONG), abox_of([*links("chain", 20), *more]), tmp_path / "kg", reasoner="own")
    with open_store(tmp_path / "kg") as session:
        first = session.check(abox_of([ClassAssertion(A, name(0))]), commit=True, reasoner="own")
        assert first.verdict is Verdict.CONSISTENT and first.statistics.widening["closed"] == 21
    assert not is_refuted(tmp_path / "kg", decider)
    for batch, verdict in (
        ([ClassAssertion(A, "urn:y0")], Verdict.CONSISTENT),
        ([ClassAssertion(B, name(0))], Verdict.INCONSISTENT),
        ([ClassAssertion(B, name(1)), ClassAssertion(B, name(2))], Verdict.INCONSISTENT),
    ):
        with open_store(tmp_path / "kg") as session:
            result = session.check(abox_of(batch), reasoner="own", max_conflicts=0)
        assert (result.verdict, result.evidence.criterion) == (verdict, "model")


# --- efforts --------------------------------------------------------------------------------------


def test_a_module_is_closed_past_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_QUESTIONS", 16)
    known, closed = Effort(), list[bool]()
    for _ in range(effort.MOST_QUESTIONS // 2 + 1):
        known = efforts.widened_effort([Effort(), known], 1)
        closed.append(known.is_closed)
    assert closed == [False] * 8 + [True]
    assert known.depth == effort.DEEP and efforts.without_depth(known) == replace(known, depth=0)


def test_efforts_in_columns_are_those_of_the_reference() -> None:
    dice, columns, reference = random.Random(1), EffortColumns(), dict[int, Effort]()
    steps: list[Callable[[], None]] = []

    def raise_() -> None:
        some, value = (
            dice.sample(range(9), 3),
            Effort(
                dice.randrange(4),
                dice.randrange(9),
                dice.random() < 0.3,
                dice.randrange(9),
            ),
        )
        columns.raise_to(np.array(some), value)
        reference.update((e, efforts.greatest(reference.get(e, Effort()), value)) for e in some)

    def hand_on() -> None:
        pairs, deeper = (
            [(dice.randrange(5), 5 + dice.randrange(5)) for _ in range(4)],
            dice.random() < 0.5,
        )
        columns.pass_to_neighbours(*np.array(pairs).T, deeper=deeper)
        before = dict(reference)
        for a, b in pairs:
            known = before.get(a, Effort())
            passed = efforts.one_deeper(known) if deeper else efforts.without_depth(known)
            reference[b] = efforts.greatest(reference.get(b, Effort()), passed)

    steps += [raise_, hand_on]
    for _ in range(60):
        dice.choice(steps)()
        for e in range(10):
            own_ = reference.get(e, Effort())
            assert bool(columns.are_closed(np.array([e]))[0]) == own_.is_closed
            assert columns.after_turn(np.array([e, 11])) == efforts.widened_effort([own_], 2)
            columns.pass_to_neighbours(np.array([e]), np.array([e]), deeper=False)
            assert columns.deep_elements(np.array([e])) == (
                {e: own_} if own_.depth >= effort.DEEP else {}
            )

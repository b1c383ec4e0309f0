"""What explaining costs, in counts, and what told literals say a contradiction rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from shiq import check_insertions
from shiq.abox_ops.conflicts import minimal_subsets
from shiq.abox_ops.conflicts.derivation import ToldDerivation, has_told_clash
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import LabelCalculus, clashes
from shiq.abox_ops.modules import from_scratch
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import index, open_store
from shiq.functional import ontology_text, parse_functional
from shiq.jobs.gate import gate
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    ObjectProperty,
    ObjectPropertyAssertion,
    SameIndividual,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from tests.spec.element_graph import ElementGraph
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.spec.told import told_labels
from tests.tools.random_ontologies.kb import random_kb

A, B, C, D = (Class(f"urn:x#{name}") for name in "ABCD")
R = ObjectProperty("urn:x#R")
PROPAGATION = "FunctionalObjectProperty(:R) DisjointClasses(:A :B) SubClassOf(:A ObjectAllValuesFrom(:R :A)) SubClassOf(:C :E)"
ALTERNATION = """SubClassOf(:A ObjectAllValuesFrom(:R ObjectUnionOf(:A :C)))
SubClassOf(:C ObjectAllValuesFrom(:R ObjectUnionOf(:A :B))) SubClassOf(:B ObjectAllValuesFrom(:R :A)) DisjointClasses(:A :B)
DisjointClasses(:A :D) DisjointClasses(:B :D) DisjointClasses(:C :D)"""


def tbox_of(axioms: str) -> TBox:
    return parse_functional(f"Prefix(:=<urn:x#>) Ontology({axioms})", "t", "").tbox


def a(individual: int, name: Class) -> Assertion:
    return ClassAssertion(name, f"urn:x#x{individual}")


def links(n: int) -> list[Assertion]:
    return [ObjectPropertyAssertion(R, f"urn:x#x{i}", f"urn:x#x{i + 1}") for i in range(n)]


def culprits(n: int) -> tuple[TBox, list[Assertion], list[Assertion]]:
    """A chain that hands a class on, and a contradiction at every second individual."""
    batch = [*(a(i, B) for i in range(0, n, 2)), *(a(i, C) for i in range(n))]
    return tbox_of(PROPAGATION), [*links(n), a(0, A)], batch


def clash_at_the_end(n: int) -> tuple[TBox, list[Assertion], list[Assertion]]:
    return tbox_of(PROPAGATION), [*links(n), a(n, B)], [a(0, A)]


def alternation(n: int) -> tuple[TBox, list[Assertion], list[Assertion]]:
    """A chain whose end refutes its head, by cases that double with each link unless told
    literals are looked at.
    """
    return tbox_of(ALTERNATION), [*links(n), a(n, D)], [a(0, A)]


@dataclass
class Costs:
    """Counts of one call: nodes of modules put to the own reasoner, modules put to HermiT,
    assertions laid out in graphs, and role assertions along which told literals were looked for.
    """

    nodes: int = 0
    handed_on: int = 0
    laid_out: int = 0
    sent: int = 0

    @contextmanager
    def counted(self) -> Iterator[Costs]:
        """Count inside the block; HermiT answers nothing."""

        def counting(
            method: Callable[..., Any], name: str, size: Callable[..., int]
        ) -> Callable[..., Any]:
            def call(*arguments: Any, **options: Any) -> Any:
                setattr(self, name, getattr(self, name) + size(*arguments))
                return method(*arguments, **options)

            return call

        def decline(
            reasoner: object, tbox: object, modules: Sequence[Module], timeout: float | None = None
        ) -> list[Answer]:
            return [Answer(Verdict.UNDETERMINED, "HermiT is not asked here")] * len(modules)

        def nodes(reasoner: object, tbox: object, modules: Sequence[Module], *more: object) -> int:
            return sum(len(module.positive) for module in modules)

        with (
            patch.object(OwnReasoner, "decide", counting(OwnReasoner.decide, "nodes", nodes)),
            patch.object(
                OwnReasoner, "decide_if_easy", counting(OwnReasoner.decide_if_easy, "nodes", nodes)
            ),
            patch.object(
                HermitReasoner, "decide", counting(decline, "handed_on", lambda *x: len(x[2]))
            ),
            patch.object(
                from_scratch,
                "fact_of_assertion",
                counting(from_scratch.fact_of_assertion, "laid_out", lambda *x: 1),
            ),
            patch.object(
                ToldDerivation,
                "_send_along",
                counting(ToldDerivation._send_along, "sent", lambda *x: 1),
            ),
        ):
            yield self

    @property
    def all(self) -> int:
        return self.nodes + self.laid_out + self.sent


def measured(world: tuple[TBox, Sequence[Assertion], Sequence[Assertion]]) -> tuple[Costs, Result]:
    tbox, base, batch = world
    with Costs().counted() as costs:
        result = check_insertions(tbox, abox_of(base), abox_of(batch), explain_seconds=None)
    assert result.verdict is Verdict.INCONSISTENT
    return costs, result


# --- costs ----------------------------------------------------------------------------------------


def test_many_culprits_on_a_chain_cost_no_more_than_their_derivations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice the chain has four times the assertions in its conflicts. Nothing is asked about
    each pair of culprits.
    """
    monkeypatch.setattr(minimal_subsets, "MOST_OF_ALL", 0)
    (small, _), (large, result) = measured(culprits(40)), measured(culprits(80))
    assert {conflict.insertions for conflict in result.conflicts} == {
        tuple(assertion_lines(a(i, B))) for i in range(0, 80, 2)
    }
    assert result.complete and not result.more_conflicts
    assert large.all < 4.5 * small.all


@pytest.mark.parametrize("world", [clash_at_the_end, alternation])
def test_a_clash_at_the_end_of_a_chain_is_explained_without_hermit(
    world: Callable[[int], tuple[TBox, list[Assertion], list[Assertion]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(minimal_subsets, "MOST", 2_000)
    (small, _), (large, result) = measured(world(100)), measured(world(400))
    assert not large.handed_on
    # What questions hold together is bounded; the rest is linear.
    assert large.all < 4.5 * small.all
    (conflict,) = result.conflicts
    assert conflict.insertions == tuple(assertion_lines(a(0, A)))
    assert len(conflict.base) == 401
    assert not conflict.is_minimal  # since nobody has shown it


@pytest.mark.parametrize("world", [clash_at_the_end, alternation])
def test_a_short_chain_is_shown_to_be_needed_as_a_whole(
    world: Callable[[int], tuple[TBox, list[Assertion], list[Assertion]]],
) -> None:
    _, result = measured(world(8))
    (conflict,) = result.conflicts
    assert conflict.is_minimal and len(conflict.base) == 9


def test_a_gate_sets_the_culprits_of_a_chain_aside(tmp_path: Path) -> None:
    """Which lines go does not hang on how much is asked to show that reasons are minimal."""
    tbox, base, batch = culprits(60)
    (tmp_path / "t.ofn").write_text(ontology_text(tbox.axioms, ()))
    for name, assertions in (("base.nt", base), ("batch.nt", batch)):
        (tmp_path / name).write_text(
            "".join(f"{line}\n" for x in assertions for line in assertion_lines(x))
        )
    index(tmp_path / "t.ofn", tmp_path / "base.nt", tmp_path / "kg")
    with open_store(tmp_path / "kg") as session, Costs().counted() as costs:
        gated = gate(session, [str(tmp_path / "batch.nt")], mode="split", explain_seconds=0)
    assert {x.line.text for x in gated.set_aside} == {
        line for x in batch if x.expression == B for line in assertion_lines(x)
    }  # type: ignore[union-attr]
    assert not costs.handed_on


# --- the derivation -------------------------------------------------------------------------------


def derivation_of(space: LabelCalculus, assertions: Iterable[Assertion]) -> ToldDerivation:
    found = ToldDerivation(space, DataRestrictions(space))
    found.add_assertions(assertions)
    return found


def reference_clash(space: LabelCalculus, assertions: Iterable[Assertion]) -> set[str]:
    """The individuals at which told literals clash, by the fixpoint over all of a graph."""
    graph = ElementGraph(space.tbox)
    for assertion in assertions:
        for plain in normalise(assertion, space.tbox.roles).assertions:
            graph.add(plain)
    labels = told_labels(space, DataRestrictions(space), graph)
    return {x for x in graph.individuals if clashes(labels[graph.elements.find(x)])}


@pytest.mark.parametrize(
    "seeds", [range(120), pytest.param(range(120, 1000), marks=pytest.mark.slow)]
)
def test_what_a_clash_rests_on_clashes_by_itself(seeds: range) -> None:
    """On random knowledge bases: what is told here is told by the reference, and each core is
    refuted by it.
    """
    seen = {"cores": 0, "smaller": 0, "same": 0}
    for seed in seeds:
        kb = random_kb(seed)
        assertions = list(kb.union())
        tbox = SpecKnowledgeBase.build(kb.tbox, abox_of(assertions)).simplified_tbox.clauses
        space = LabelCalculus(tbox)
        derivation = derivation_of(space, assertions)
        individuals = sorted(reference_clash(space, assertions))
        for x in individuals:
            if not derivation.has_clash(x):
                # Equalities that restrictions entail, and inequalities, are left to the reasoner.
                assert any(c.n == 1 for c in space.m_type) or any(
                    isinstance(y, SameIndividual) for y in assertions
                ), (seed, x)
                continue
            core = list(derivation.clash_core(x))
            assert set(core) <= set(assertions)
            assert x in reference_clash(space, core), (seed, x)
            seen["cores"] += 1
            seen["smaller"] += len(core) < len(assertions)
        assert all(x in individuals for x in derivation._clashes), seed
        seen["same"] += individuals == sorted(derivation._clashes)
    assert seen["cores"] > len(seeds) / 6 and seen["smaller"] > seen["cores"] // 2
    assert seen["same"] > len(seeds) * 5 / 6


def test_reasons_of_the_base_come_before_those_of_a_batch() -> None:
    """What was added first is a reason rather than what says it again."""
    tbox = SpecKnowledgeBase.build(
        tbox_of(PROPAGATION), abox_of([*links(3), a(0, A), a(2, A), a(3, B)])
    ).simplified_tbox.clauses
    derivation = ToldDerivation(LabelCalculus(tbox), DataRestrictions(LabelCalculus(tbox)))
    base = [*links(3), a(0, A)]
    derivation.add_assertions(base)
    derivation.add_assertions([a(2, A), a(3, B)])
    assert set(derivation.clash_core("urn:x#x3")) == {*base, a(3, B)}
    assert not has_told_clash(DataRestrictions(LabelCalculus(tbox)), [*base, a(2, A)])

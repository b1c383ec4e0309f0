"""How far a patch goes at once where rounds repeat (THEORY, "Strides"): by counts, and equal on
every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log2
from typing import Any

import pytest

from shiq.abox_ops.engine import Inquiry, ModelKnowledgeBase
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.patch import effort, patch, strides, told_plus
from shiq.abox_ops.patch.inside_region import PatchRegion
from shiq.functional import parse_functional
from shiq.model import Assertion
from shiq.model.abox import abox_of
from tests.spec import efforts
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.recurring import random_world

#: Two chains of a functional role; what is inserted may make their heads one.
TWINS = """Prefix(:=<urn:t#>) Ontology(
    FunctionalObjectProperty(:R) SubClassOf(owl:Thing ObjectMaxCardinality(2 :S))
    {links} ObjectPropertyAssertion(:S :h :x0) ObjectPropertyAssertion(:S :h :y0) ObjectPropertyAssertion(:S :h :new))"""


def deep_from(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (effort, strides, effort):
        monkeypatch.setattr(module, "DEEP", depth)


def facts(
    base: ModelKnowledgeBase, batch: Iterable[Assertion], criterion: str, decider: Decider
) -> tuple[Any, ...]:
    insertions, nothing = abox_of([*batch]), abox_of([])
    if criterion == "model":
        found, _ = base.decide_by_patch(
            insertions, nothing, Inquiry(decider.decide, attempt=decider.attempt)
        )
    else:
        found = base.add_set(insertions, nothing, criterion)
    return (
        found.size,
        found.pulled_in,
        sorted(found.contradictory),
        frozenset(found.kept_assertions()),
    )


@pytest.mark.parametrize(
    ("length", "criterion"),
    [
        (50, "model"),
        (500, "model"),
        pytest.param(5000, "model", marks=pytest.mark.slow),
        (500, "clausal"),
    ],
)
def test_twin_chains_take_rounds_by_the_logarithm_of_their_length(
    length: int, criterion: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds, steps = list[int](), patch.ROUND

    def counted(region: PatchRegion) -> Any:
        rounds.append(len(region.graph))
        return steps.find_crossings(region)

    monkeypatch.setattr(patch, "ROUND", steps._replace(find_crossings=counted))
    links = " ".join(
        f"ObjectPropertyAssertion(:R :{x}{i} :{x}{i + 1})" for x in "xy" for i in range(length)
    )
    reading = parse_functional(TWINS.format(links=links), "test", "t")
    *base, line = reading.abox
    knowledge_base = LocalKnowledgeBase.build(reading.tbox, abox_of(base))
    rounds.clear()
    _, pulled_in, _, _ = facts(knowledge_base, [line], criterion, decider)
    assert pulled_in == 2 * (length + 1)
    assert len(rounds) <= 12 + log2(length)


def test_a_stride_meets_a_hub(decider: Decider) -> None:
    """Elements with many role assertions, which no walk fetches, at the end of the chains."""
    chains = " ".join(
        f"ObjectPropertyAssertion(:R :{x}{i} :{x}{i + 1})" for x in "xy" for i in range(40)
    )
    spokes = " ".join(f"ObjectPropertyAssertion(:Q :s{i} :x30)" for i in range(600))
    reading = parse_functional(TWINS.format(links=f"{spokes} {chains}"), "test", "t")
    *base, line = reading.abox
    _, pulled_in, _, _ = facts(
        LocalKnowledgeBase.build(reading.tbox, abox_of(base)), [line], "model", decider
    )
    assert pulled_in == 82


def disagreements(seeds: Sequence[int], decider: Decider) -> Iterator[int]:
    for seed in seeds:
        world = random_world(seed, 10)
        local = LocalKnowledgeBase.build(world.tbox, abox_of(world.base))
        memory = SpecKnowledgeBase.build(world.tbox, list(world.base))
        for criterion in ("model", "clausal"):
            mine, theirs = (
                facts(kb, (*world.batch, world.line), criterion, decider) for kb in (local, memory)
            )
            if mine != theirs:
                yield seed


@pytest.mark.parametrize(
    "depth", [1, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (2, 4))]
)
def test_engines_agree_on_strides(
    depth: int, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep_from(depth, monkeypatch)
    made, stride_of = list[int](), patch.raise_stride_efforts

    def counted(state: Any, begun: Any) -> Any:
        found = stride_of(state, begun)
        made.append(len(found) - 2 * len(begun))
        return found

    monkeypatch.setattr(patch, "raise_stride_efforts", counted)
    assert not [*disagreements([*range(30), 103], decider)]
    assert any(more > 0 for more in made)


def _asked_for_what_is_read(region: PatchRegion) -> Any:
    region.is_new = region.graph.is_new()
    return region.memory.turns.take_turn(region)


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "told_N where an element is plain": (
        strides,
        "outer_neighbours",
        lambda of: lambda walk, key, is_plain: of(walk, key, not is_plain),
    ),
    "depth is not handed on": (
        efforts,
        "one_deeper",
        lambda _: efforts.without_depth,
    ),
    "role assertions of touched elements are not read for a turn": (
        told_plus,
        "find_told_requests",
        lambda _: _asked_for_what_is_read,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(
    name: str, decider: Decider, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep_from(1, monkeypatch)
    holder, attribute, changed = PLANTED[name]
    monkeypatch.setattr(holder, attribute, changed(getattr(holder, attribute)))
    assert next(disagreements([103, *range(60)], decider), None) is not None

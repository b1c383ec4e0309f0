"""How a TBox is to be watched: every count of the published example and of the two stand-ins,
and what lies outside DL-Lite.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from shiq import model as owl
from shiq.errors import UsageError
from shiq.streams.consistency import StreamPlan, plan
from shiq.streams.consistency.state import BoltStrategy
from shiq.streams.consistency.topology import (
    build_bolts,
    estimate_label_rates,
    estimate_pipeline_cost,
    list_cuts,
)


def name(word: str) -> owl.Class:
    return owl.Class("urn:" + word)


def below(sup: str, *subs: str) -> list[owl.Axiom]:
    return [owl.SubClassOf(name(sub), name(sup)) for sub in subs]


def apart(*words: str) -> owl.Axiom:
    return owl.DisjointClasses(tuple(map(name, words)))


P, Q = owl.ObjectProperty("urn:p"), owl.ObjectProperty("urn:q")
EXAMPLE = owl.TBox(
    (
        *below("Person", "Student", "Employee"),
        *below("Employee", "Faculty", "Admin"),
        *below("Publication", "Article", "Book"),
        apart("Person", "Publication", "Organization", "Work"),
        apart("Student", "Employee"),
        apart("Article", "Book"),
        apart("Faculty", "Admin"),
        apart("Student", "Faculty"),
    )
)


def tbox(*axioms: owl.Axiom) -> owl.TBox:
    return owl.TBox(axioms)


def sizes(groups: tuple[tuple[object, ...], ...]) -> list[int]:
    return [len(group) for group in groups]


def ltm(
    source: object, cut: tuple[int, ...], grouping: str = "printed", **options: object
) -> list[int]:
    found = plan(source, strategy="ltm", cut=cut, grouping=grouping, **options)  # type: ignore[arg-type]
    return [bolt.conjunctions for bolt in found.bolts]


def test_example() -> None:
    found = plan(EXAMPLE, grouping="depth")
    assert (len(found.positive), len(found.negative), found.closure, len(found.roots)) == (
        6,
        10,
        37,
        9,
    )
    assert ("urn:Faculty", "urn:Student") not in found.roots
    assert found.groups[0] == (("urn:Admin", "urn:Faculty"),)
    assert set(found.groups[1]) == {("urn:Employee", "urn:Student"), ("urn:Article", "urn:Book")}
    assert set(found.groups[2]) == set(
        combinations(("urn:Organization", "urn:Person", "urn:Publication", "urn:Work"), 2)
    )
    printed = plan(EXAMPLE).groups
    assert set(printed[0]) == {("urn:Admin", "urn:Faculty"), ("urn:Article", "urn:Book")}
    assert printed[1] == (("urn:Employee", "urn:Student"),)
    assert printed[2] == found.groups[2]


@pytest.mark.parametrize(
    ("grouping", "cut", "conjunctions"),
    [
        ("depth", (), [37]),
        ("depth", (1,), [1, 24]),
        ("depth", (1, 2), [1, 2, 6]),
        ("depth", (2,), [5, 6]),
        ("printed", (), [37]),
        ("printed", (1,), [2, 13]),
        ("printed", (1, 2), [2, 1, 6]),
        ("printed", (2,), [5, 6]),
    ],
)
def test_example_bolts(grouping: str, cut: tuple[int, ...], conjunctions: list[int]) -> None:
    assert ltm(EXAMPLE, cut, grouping) == conjunctions


def test_a_name_in_no_root_is_lifted_in_time() -> None:
    more = owl.TBox((*EXAMPLE.axioms, *below("Employee", "FemaleEmployee")))
    first, second, _ = plan(more, strategy="ltm", cut=(1, 2), grouping="depth").bolts
    assert first.lift["urn:FemaleEmployee"] == ("urn:Employee",)
    assert "urn:Employee" in second.arriving


def test_lubm_siblings(data_path: Path) -> None:
    source, options = data_path / "lubm" / "univ-bench.owl", {"assume": ("siblings-disjoint",)}
    found = plan(source, **options)  # type: ignore[arg-type]
    assert len(found.view.vocabulary) == 100
    assert (len(found.negative), len(found.roots), found.closure, found.lanes) == (84, 79, 3266, 2)
    assert sizes(found.groups) == [35, 18, 1, 15, 10]
    expected = [[0, 751], [84, 206], [149, 68], [188, 49], [326, 10], [3266, 0]]
    assert [ltm(source, (n,), **options) for n in range(6)] == expected


def test_npd(data_path: Path) -> None:
    source = data_path / "npd" / "npd-v2-complete.fixed.owl"
    found = plan(source)
    assert len(found.view.vocabulary) == 873
    assert (len(found.negative), len(found.roots), found.closure, found.lanes) == (49, 49, 35467, 1)
    assert sizes(found.groups) == [28, 13, 4, 3, 1]
    expected = [[0, 699], [753, 176], [1614, 35], [2024, 7], [10945, 1], [35467, 0]]
    pipelines = [build_bolts(found.view, found.root_groups, (n,)) for n in range(6)]
    assert [[bolt.conjunctions for bolt in pipeline] for pipeline in pipelines] == expected


def evaluations(found: StreamPlan, cut: tuple[int, ...]) -> tuple[float, float]:
    """What a cut is expected to evaluate, and what it does where a tuple of each label comes."""
    labels = [
        found.masks.label_indexes[label]
        for label in sorted(found.view.vocabulary)
        if label in found.masks.label_indexes
    ]
    one, pipeline = np.ones(len(labels), np.int64), build_bolts(found.view, found.root_groups, cut)
    strategy = BoltStrategy(found.masks.labels, pipeline, 1)
    strategy.process_assertions(one, np.array(labels), one, one)
    return sum(
        estimate_pipeline_cost(pipeline, estimate_label_rates(found.view, None)).evaluations
    ), strategy.evaluations


def test_what_is_expected_is_what_bolts_evaluate() -> None:
    found = plan(EXAMPLE, strategy="ltm")
    for cut in list_cuts(len(found.root_groups)):
        expected, evaluated = evaluations(found, cut)
        assert expected == evaluated > 0


def test_auto_minimises_time_and_not_evaluations(data_path: Path) -> None:
    """On NPD five bolts evaluate least; two, which take in and cache fewer tuples, cost less."""
    found = plan(data_path / "npd" / "npd-v2-complete.fixed.owl", strategy="ltm")
    assert found.cut == (2,)
    assert evaluations(found, (2,)) == (5828, 5828) and evaluations(found, (0, 1, 3, 4)) == (
        1562,
        1562,
    )
    rates = estimate_label_rates(found.view, None)
    two, five = (
        estimate_pipeline_cost(build_bolts(found.view, found.root_groups, cut), rates)
        for cut in ((2,), (0, 1, 3, 4))
    )
    assert (sum(two.arriving), sum(two.cached_tuples)) == (1336, 702) and (
        sum(five.arriving),
        sum(five.cached_tuples),
    ) == (2880, 939)
    assert two.total < five.total / 2


def test_the_role_step() -> None:
    """A ⊑ ∃P, ∃P⁻ ⊑ B, B ⊑ ⊥: A(a) alone contradicts, through a witness that nobody names."""
    some_p = owl.ObjectSomeValuesFrom(P, owl.THING)
    found = plan(
        owl.TBox(
            (
                owl.SubClassOf(name("A"), some_p),
                owl.ObjectPropertyRange(P, name("B")),
                owl.SubClassOf(name("B"), owl.NOTHING),
            ),
            owl.Signature(frozenset({"urn:A", "urn:B"}), frozenset({"urn:p"})),
        )
    )
    assert found.unsatisfiable == ("urn:A", "urn:B", "∃urn:p", "∃urn:p⁻")
    assert found.conflict_axioms(frozenset({"urn:A"})) == (
        f"SubClassOf(<urn:A> ObjectSomeValuesFrom(<urn:p> <{owl.OWL}Thing>))",
        "ObjectPropertyRange(<urn:p> <urn:B>)",
        f"SubClassOf(<urn:B> <{owl.OWL}Nothing>)",
    )


def test_an_empty_role_has_no_members() -> None:
    signature = owl.Signature(frozenset({"urn:A"}), frozenset({"urn:p", "urn:q"}))
    axioms = (
        owl.SubObjectPropertyOf(P, Q),
        owl.DisjointObjectProperties((P, Q)),
        owl.SubClassOf(name("A"), some(Q)),
    )
    assert plan(owl.TBox(axioms, signature)).unsatisfiable == (
        "urn:p",
        "urn:p⁻",
        "∃urn:p",
        "∃urn:p⁻",
    )


def some(role: owl.ObjectProperty, filler: owl.ClassExpression = owl.THING) -> owl.ClassExpression:
    return owl.ObjectSomeValuesFrom(role, filler)


def test_rules_unfold() -> None:
    both = owl.ObjectIntersectionOf((name("A"), name("B")))
    found = plan(tbox(owl.SubClassOf(both, name("C")), apart("C", "D"), *below("B", "B1")))
    assert found.horn == ((("urn:A", "urn:B"), "urn:C"),)
    assert set(found.roots) == {("urn:A", "urn:B", "urn:D"), ("urn:C", "urn:D")}
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("axiom", "reason"),
    [
        (owl.FunctionalObjectProperty(P), "number of successors"),
        (owl.SubClassOf(name("A"), owl.ObjectAllValuesFrom(P, name("B"))), "neighbours"),
        (owl.SubClassOf(name("A"), owl.ObjectUnionOf((name("B"), name("C")))), "choice"),
        (owl.SubClassOf(name("A"), owl.ObjectMinCardinality(2, P)), "several successors"),
        (owl.SubClassOf(owl.THING, name("A")), "every individual"),
        (owl.SubClassOf(some(P, name("B")), name("A")), "neighbours"),
        (
            owl.DisjointDataProperties((owl.DataProperty("urn:u"), owl.DataProperty("urn:v"))),
            "two data properties",
        ),
        (owl.SubObjectPropertyChain((P, P), Q), "chain"),
    ],
)
def test_left_out_aloud(axiom: owl.Axiom, reason: str) -> None:
    (item,) = plan(tbox(axiom)).left_out
    assert reason in item.reason.lower()


def test_qualified_existentials_are_inside() -> None:
    found = plan(
        tbox(
            owl.SubClassOf(name("A"), some(P, name("B"))),
            owl.ObjectPropertyRange(P, name("C")),
            apart("B", "C"),
        )
    )
    assert found.left_out == ()
    assert found.unsatisfiable == ("urn:A",)


@pytest.mark.parametrize(
    "options", [{"window": -1}, {"strategy": "best"}, {"grouping": "x"}, {"assume": ("y",)}]
)
def test_usage(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        plan(EXAMPLE, **options)  # type: ignore[arg-type]


def test_cuts() -> None:
    with pytest.raises(UsageError):
        plan(EXAMPLE, strategy="ltm", cut=(2, 1))
    with pytest.raises(UsageError):
        plan(EXAMPLE, strategy="ltm", cut=(4,))
    assert len(list_cuts(3)) == 16
    found = plan(EXAMPLE, strategy="ltm")
    every = [plan(EXAMPLE, strategy="ltm", cut=cut) for cut in list_cuts(3)]
    assert found.cut in list_cuts(3)
    assert max(bolt.expected_evaluations for bolt in found.bolts) <= max(
        b.expected_evaluations for b in every[0].bolts
    )

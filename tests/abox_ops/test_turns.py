"""Conflicts are explained cause by cause in turn, each with its own axioms."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from shiq import check_insertions
from shiq.abox_ops.conflicts.group_queue import GroupQueue
from shiq.answers.result import Result
from shiq.explanation import group
from shiq.functional import parse_functional
from shiq.model.abox import ABox

Label = tuple[int, int]


def turns_of(kinds: dict[str, Label], sizes: dict[str, int]) -> GroupQueue:
    groups = [(f"{kind}{i}",) for kind, size in sizes.items() for i in range(size)]
    return GroupQueue(groups, {name: kinds[name[0]] for (name,) in groups})


def drawn(turns: GroupQueue, count: int) -> list[str]:
    return [name[0] for (name,) in turns.take_groups(count)]


def test_the_largest_kind_comes_first_and_then_the_least_alike() -> None:
    kinds = {"a": (0b1111, 0), "b": (0b1110, 0), "c": (0, 0b1111), "d": (0b11110000, 0)}
    turns = turns_of(kinds, {"d": 1, "c": 1, "b": 1, "a": 3})
    order = drawn(turns, 4)
    assert (order[0], order[3], sorted(order)) == ("a", "b", ["a", "b", "c", "d"])
    assert (drawn(turns, 9), len(turns), turns.take_groups(1)) == (["a", "a"], 0, [])


def test_what_is_known_of_a_cause_counts_for_all_that_have_it() -> None:
    kinds = {"a": (0b0011, 0), "b": (0b0111, 0), "c": (0b1000, 0)}
    turns = turns_of(kinds, {"a": 5, "b": 5, "c": 5})
    [first] = turns.take_groups(1)
    turns.learn_cause(first, "one", (0b0011, 0))
    assert [turns.is_cause_known((f"{kind}1",)) for kind in "abc"] == [True, True, False]
    # The kind c had none; then both causes are drawn alike, and the first one's kinds take turns.
    assert drawn(turns, 1) == ["c"]
    turns.learn_cause(("c1",), "two", (0, 0))
    assert Counter(drawn(turns, 8)) == {"a": 2, "b": 2, "c": 4}
    assert sorted(drawn(turns, 99)) == ["a", "a", "b", "b", "b"]


def test_kinds_that_turn_out_to_have_one_cause_are_drawn_as_one() -> None:
    turns = turns_of({"a": (1, 0), "b": (2, 0), "c": (4, 0)}, {"a": 9, "b": 9, "c": 9})
    assert sorted(drawn(turns, 3)) == ["a", "b", "c"]
    for name, cause in (("a1", "one"), ("b1", "one"), ("c1", "two")):
        turns.learn_cause((name,), cause, (0, 0))
    # Two of the first cause were drawn already.
    assert drawn(turns, 1) == ["c"]
    assert Counter("c" if kind == "c" else "ab" for kind in drawn(turns, 8)) == {"ab": 4, "c": 4}


@pytest.mark.parametrize("seed", range(20))
def test_every_group_is_drawn_once(seed: int) -> None:
    """However turns are taken and whatever is learnt; of known causes none is two ahead of
    another that still waits.
    """
    r = random.Random(seed)
    groups = [(f"g{i}",) for i in range(r.randrange(60))]
    labels = {name: (r.randrange(8), r.randrange(2)) for (name,) in groups}
    turns, found, met = GroupQueue(groups, labels), list[tuple[str, ...]](), Counter[int]()
    cause = {label: r.randrange(3) for label in labels.values()}
    while len(turns):
        some = turns.take_groups(r.randrange(1, 5))
        found += some
        for one in some:
            met[cause[labels[one[0]]]] += 1
            if r.random() < 0.8 and not turns.is_cause_known(one):
                turns.learn_cause(one, cause[labels[one[0]]], (0, 0))
    assert (sorted(found), len(found)) == (sorted(groups), len(set(groups)))
    assert sum(met.values()) == len(groups)


#: Four causes. Members of K0 to K9 have labels of their own, and one cause.
AXIOMS = """DisjointClasses(:P :Q) SubClassOf(:K :P) FunctionalDataProperty(:id) ObjectPropertyRange(:r :P)
    SubClassOf(:S ObjectSomeValuesFrom(:f :P)) SubClassOf(:T ObjectSomeValuesFrom(:f :Q)) FunctionalObjectProperty(:f)
    SubClassOf(:M :N) SubClassOf(:M ObjectComplementOf(:N)) """ + " ".join(
    f"SubClassOf(:K{i} :K)" for i in range(10)
)


def checked(most: int, common: int) -> Result:
    """A batch with many conflicts of one cause, and a few of three others, of which ``most`` are
    explained.
    """
    facts = [
        f"ClassAssertion(:K{i % 10} :k{i:04}) ClassAssertion(:Q :k{i:04})" for i in range(common)
    ]
    facts += [
        f'DataPropertyAssertion(:id :x{i} "1") DataPropertyAssertion(:id :x{i} "2")'
        for i in range(3)
    ]
    facts += [f"ClassAssertion(:S :y{i}) ClassAssertion(:T :y{i})" for i in range(3)]
    facts += [f"ClassAssertion(:M :z{i})" for i in range(3)]
    tbox = parse_functional(f"Prefix(:=<urn:t#>) Ontology({AXIOMS})", "t", "").tbox
    batch = parse_functional(f"Prefix(:=<urn:t#>) Ontology({' '.join(facts)})", "i", "").abox
    return check_insertions(
        tbox, ABox(), batch, max_conflicts=most, reasoner="own", explain_seconds=600
    )


@pytest.mark.parametrize("most", [8, 16, 40])
def test_each_cause_gets_a_conflict_before_one_gets_many(most: int) -> None:
    """Of 200 conflicts of one cause and three of each of three others, in ``most`` that are
    explained.
    """
    found = checked(most, 200)
    groups = group(found.conflicts)
    assert len(groups) == 4
    sizes = sorted(len(one.conflicts) for one in groups)
    assert sizes[:3] == ([2, 2, 2] if most == 8 else [3, 3, 3])
    assert sum(sizes) == most == len(found.conflicts)
    assert found.more_conflicts == 209 - most
    assert all(one.is_minimal for one in found.conflicts)
    assert max(len(one.axioms) for one in found.conflicts) == 4


def test_a_cause_that_hides_behind_another_of_the_same_individual_is_found() -> None:
    """Of 40 individuals that contradict by their classes three do so by a role too, which shares
    a class with that.
    """
    axioms = "SubClassOf(:A :P) SubClassOf(:B :Q) DisjointClasses(:P :Q) ObjectPropertyDomain(:f :R) DisjointClasses(:R :Q)"
    facts = [f"ClassAssertion(:A :k{i}) ClassAssertion(:B :k{i})" for i in range(40)]
    facts += [f"ObjectPropertyAssertion(:f :k{i} :g{i})" for i in (7, 11, 12)]
    tbox = parse_functional(f"Prefix(:=<urn:t#>) Ontology({axioms})", "t", "").tbox
    batch = parse_functional(f"Prefix(:=<urn:t#>) Ontology({' '.join(facts)})", "i", "").abox
    found = check_insertions(
        tbox, ABox(), batch, max_conflicts=8, reasoner="own", explain_seconds=600
    )
    groups = group(found.conflicts)
    assert [len(one.conflicts) for one in groups] == [7, 1]
    assert all(one.is_minimal for one in found.conflicts) and len(found.conflicts) == 8
    assert sum("urn:t#f>" in line for one in found.conflicts for line in one.insertions) == 1


def test_all_are_explained_where_there_is_no_limit() -> None:
    found = checked(1000, 40)
    assert (len(found.conflicts), found.complete, len(group(found.conflicts))) == (49, True, 4)
